//! Compares a new fact with the known ones. One comparer, without a model: the same facts get the
//! same answer.
//!
//! Two facts are compared when the same people may know them: same domain, same level, same names.
//! What only one of two readers may know is kept for each by itself, and no answer gives away what
//! its reader may not know.
//!
//! Texts are compared by their words, folded. Their likeness is the share of the words of both that
//! both have (Jaccard). Likeness alone would call `listens on port 5433` and `listens on port 5434`
//! the same; a restatement must therefore also keep the numbers, the negations and the order of
//! what is shared, and not put words in the place of others. In doubt a text is a new one: what is
//! there twice can be seen, what was taken for something else is lost.

use std::collections::BTreeSet;

use super::matching::{holds_at, words};
use super::types::Fact;

/// Likeness of texts that have all their words in common.
pub const LIKENESS_EXACT: f64 = 1.0;
/// Least likeness of a restatement, for [`Preset::NEAR`].
pub const LIKENESS_NEAR: f64 = 0.72;
/// Least likeness of a restatement, for [`Preset::WIDE`].
pub const LIKENESS_WIDE: f64 = 0.7;
/// Least likeness at which a new fact names the one that comes nearest.
pub const LIKENESS_RELATED: f64 = 0.4;

/// Words that turn a text into its opposite, into a thing of the past or of the future, or into
/// something less than certain; `t` is that of `isn't`. In English, and the plainest of the
/// languages around it: for others a restatement may be taken for one too often.
const NEGATIONS: &[&str] = &[
    "not",
    "no",
    "never",
    "none",
    "nobody",
    "nothing",
    "neither",
    "nor",
    "cannot",
    "without",
    "t",
    "former",
    "formerly",
    "previously",
    "was",
    "were",
    "had",
    "did",
    "will",
    "would",
    "should",
    "could",
    "can",
    "may",
    "might",
    "must",
    "rarely",
    "seldom",
    "hardly",
    "barely",
    "scarcely",
    "almost",
    "nearly",
    "sometimes",
    "often",
    "always",
    "only",
    "except",
    "until",
    "unless",
    "if",
    "before",
    "after",
    "refused",
    "refuses",
    "denied",
    "denies",
    "failed",
    "fails",
    "stopped",
    "ended",
    "cancelled",
    "canceled",
    "rejected",
    "broken",
    "wrong",
    "false",
    "untrue",
    "allegedly",
    "reportedly",
    "maybe",
    "perhaps",
    "possibly",
    "probably",
    "unlikely",
    "less",
    "more",
    "nicht",
    "kein",
    "keine",
    "keinen",
    "nie",
    "niemals",
    "ohne",
    "ne",
    "pas",
    "jamais",
    "aucun",
    "sans",
    "non",
    "mai",
    "senza",
    "nunca",
    "sin",
    "não",
    "sem",
    "niet",
    "geen",
    "nooit",
    "ikke",
    "aldrig",
    "inte",
    "ei",
    "nem",
    "není",
    "nejsou",
    "nikdy",
    "bez",
    "ani",
    "не",
    "нет",
    "никогда",
    "без",
];
/// Words that say nothing of their own.
const FILLERS: [&str; 9] = ["a", "an", "the", "is", "are", "be", "has", "have", "that"];
/// Signs that enclose a word, and those that end a sentence or a part of it.
const ENCLOSING: [char; 11] = ['"', '\'', '(', ')', '[', ']', '“', '”', '„', '‘', '’'];
const ENDING: [char; 7] = ['.', ',', ';', ':', '!', '?', '…'];

/// What a new fact is to what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Known in the same words: there is nothing to write.
    Same,
    /// Known in other words: one more reason to believe it.
    Restated,
    /// Another value of the same property, in whose place it comes.
    Supersedes,
    /// Another value of the same property, and nothing decides which one holds.
    Contests,
    /// Not known.
    New,
}

impl Verdict {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Same => "same",
            Verdict::Restated => "restated",
            Verdict::Supersedes => "supersedes",
            Verdict::Contests => "contests",
            Verdict::New => "new",
        }
    }

    /// Which of several counts: what is known already before what is in doubt, and that before what
    /// is decided.
    fn weight(self) -> u8 {
        match self {
            Verdict::Same => 4,
            Verdict::Restated => 3,
            Verdict::Contests => 2,
            Verdict::Supersedes => 1,
            Verdict::New => 0,
        }
    }
}

/// A verdict, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The verdict.
    pub verdict: Verdict,
    /// Id of the fact that it is about; of a new one the one that comes nearest, if any does.
    pub other: Option<String>,
    /// How much alike the two texts are, 0 to 1.
    pub likeness: f64,
    /// The reason.
    pub reason: &'static str,
}

/// How much alike texts must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Least likeness of a restatement.
    pub restated_min: f64,
    /// Least likeness at which a new fact names the one that comes nearest.
    pub related_min: f64,
}

impl Preset {
    /// A restatement has the same words, but for fillers that both have anyway.
    pub const EXACT: Preset =
        Preset { name: "exact", restated_min: LIKENESS_EXACT, related_min: LIKENESS_EXACT };
    /// The usual one.
    pub const NEAR: Preset =
        Preset { name: "near", restated_min: LIKENESS_NEAR, related_min: LIKENESS_RELATED };
    /// For texts that are shorter or less alike.
    pub const WIDE: Preset =
        Preset { name: "wide", restated_min: LIKENESS_WIDE, related_min: LIKENESS_RELATED };
    /// All of them.
    pub const ALL: [Preset; 3] = [Preset::EXACT, Preset::NEAR, Preset::WIDE];

    /// The one with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Preset> {
        Preset::ALL.into_iter().find(|preset| preset.name == name)
    }

    /// What `new` is to all that is known: the verdict that counts most, of equal ones that about
    /// the text most like it, then the first.
    #[must_use]
    pub fn compare(&self, new: &Fact, known: &[Fact]) -> Comparison {
        strongest(&self.compare_each(new, known))
    }

    /// What `new` is to each fact of `known` that it is compared with, in their order. Facts whose
    /// place another took, those that other people may know, and the fact itself are passed over.
    #[must_use]
    pub fn compare_each(&self, new: &Fact, known: &[Fact]) -> Vec<Comparison> {
        let ours = Text::of(&new.content);
        let compared = known.iter().filter(|old| {
            old.id != new.id && old.superseded_by.is_none() && has_same_readers(new, old)
        });
        compared.map(|old| self.compare_one(new, &ours, old)).collect()
    }

    fn compare_one(&self, new: &Fact, ours: &Text, old: &Fact) -> Comparison {
        let theirs = Text::of(&old.content);
        let likeness = ours.likeness(&theirs);
        let is_about_the_same = new.entity == old.entity && new.attribute == old.attribute;
        let is_about_the_same =
            is_about_the_same && hold_alike(new, old) && ours.marks == theirs.marks;
        let (verdict, reason) =
            if is_about_the_same && ours.order == theirs.order && !ours.is_empty() {
                (Verdict::Same, "it has the same words")
            } else if is_about_the_same && likeness >= self.restated_min && ours.restates(&theirs) {
                (
                    Verdict::Restated,
                    "it says nearly the same: the same numbers, and no word replaced by another",
                )
            } else {
                change(new, old)
            };
        let other =
            (verdict != Verdict::New || likeness >= self.related_min).then(|| old.id.clone());
        Comparison { verdict, other, likeness, reason }
    }
}

/// The one that counts most.
pub(super) fn strongest(all: &[Comparison]) -> Comparison {
    let none =
        Comparison { verdict: Verdict::New, other: None, likeness: 0.0, reason: NOTHING_LIKE_IT };
    all.iter().fold(none, |best, next| {
        let stronger =
            (next.verdict.weight(), next.likeness) > (best.verdict.weight(), best.likeness);
        if stronger { next.clone() } else { best }
    })
}

const NOTHING_LIKE_IT: &str = "no known fact of this entity, domain and level says the same, or gives another value of the same property";

/// Whether the same people may know both.
pub(super) fn has_same_readers(a: &Fact, b: &Fact) -> bool {
    let names = |fact: &Fact| fact.named.iter().cloned().collect::<BTreeSet<String>>();
    (&a.domain, a.classification) == (&b.domain, b.classification) && names(a) == names(b)
}

/// What a fact is to another that says something else.
fn change(new: &Fact, old: &Fact) -> (Verdict, &'static str) {
    let same_property = !new.entity.is_empty() && !new.attribute.is_empty();
    if !same_property || (&new.entity, &new.attribute) != (&old.entity, &old.attribute) {
        return (Verdict::New, NOTHING_LIKE_IT);
    }
    if !hold_at_once(new, old) {
        return (Verdict::New, "it is valid at another time than the known value");
    }
    if new.valid_from > old.valid_from {
        return (
            Verdict::Supersedes,
            "another value of the same property, which holds from a later moment on",
        );
    }
    if new.valid_from < old.valid_from {
        return (
            Verdict::Contests,
            "another value of the same property, which holds from an earlier moment on",
        );
    }
    if new.source != old.source {
        return (Verdict::Contests, "another value of the same property, stated by another source");
    }
    if new.confidence < old.confidence {
        return (
            Verdict::Contests,
            "another value of the same property, stated with less confidence",
        );
    }
    if new.updated_at < old.updated_at {
        return (Verdict::Contests, "another value of the same property, and an older one");
    }
    (
        Verdict::Supersedes,
        "another value of the same property, newer and stated by the same source with no less confidence",
    )
}

/// Whether a fact says of the same time what another says: it names the same, or none while the
/// other holds.
fn hold_alike(new: &Fact, old: &Fact) -> bool {
    if (new.valid_from, new.valid_to) == (None, None) {
        return holds_at(old, new.created_at);
    }
    (new.valid_from, new.valid_to) == (old.valid_from, old.valid_to)
}

/// Whether there is a moment at which both hold.
fn hold_at_once(a: &Fact, b: &Fact) -> bool {
    let ends_before = |a: &Fact, b: &Fact| {
        a.valid_to.is_some_and(|to| b.valid_from.is_some_and(|from| to <= from))
    };
    !ends_before(a, b) && !ends_before(b, a)
}

/// The words of a text.
struct Text {
    order: Vec<String>,
    set: BTreeSet<String>,
    /// What words leave out although it says something: signs that are not punctuation, and words
    /// whose capitals do not begin a sentence.
    marks: Vec<String>,
}

impl Text {
    fn of(text: &str) -> Text {
        let order = words(text);
        Text { set: order.iter().cloned().collect(), order, marks: marks(text) }
    }

    fn is_empty(&self) -> bool {
        self.order.is_empty() && self.marks.is_empty()
    }

    /// Share of the words of both that both have; 0 for texts without words.
    fn likeness(&self, other: &Text) -> f64 {
        let shared = self.set.intersection(&other.set).count();
        let all = self.set.len() + other.set.len() - shared;
        if all == 0 { 0.0 } else { shared as f64 / all as f64 }
    }

    /// Whether it says nothing else, as far as words show.
    fn restates(&self, other: &Text) -> bool {
        let kept =
            |word: &&String| word.contains(char::is_numeric) || NEGATIONS.contains(&word.as_str());
        let same_values = self.set.iter().filter(kept).eq(other.set.iter().filter(kept));
        let replaces = adds(self, other) && adds(other, self);
        same_values && !replaces && self.shared_order(other) == other.shared_order(self)
    }

    /// The words that both have, in the order of this one, each where it stands first.
    fn shared_order(&self, other: &Text) -> Vec<&String> {
        let mut seen = BTreeSet::new();
        self.order.iter().filter(|word| other.set.contains(*word) && seen.insert(*word)).collect()
    }
}

/// Signs and capitals that distinguish texts of the same words: `-5` from `5`, `a < b` from `a >
/// b`, `C++` from `C`, `aBc` from `AbC`. A sign at the edge of a word that only ends or encloses
/// something says nothing.
fn marks(text: &str) -> Vec<String> {
    let mut marks = Vec::new();
    for part in text.split_whitespace() {
        let bare = part
            .trim_start_matches(ENCLOSING)
            .trim_end_matches(|c| ENCLOSING.contains(&c) || ENDING.contains(&c));
        let signs: String = bare.chars().filter(|c| !c.is_alphanumeric()).collect();
        let has_inner_capital =
            bare.chars().skip(1).any(char::is_uppercase) && bare.chars().any(char::is_lowercase);
        if has_inner_capital {
            marks.push(bare.to_string());
        } else if !signs.is_empty() {
            // With what stands around them: signs of one word are not those of another.
            marks.push(words(bare).join(" ") + &signs);
        }
    }
    marks
}

/// Whether a text has words of its own that say something.
fn adds(text: &Text, other: &Text) -> bool {
    text.set.difference(&other.set).any(|word| !FILLERS.contains(&word.as_str()))
}

/// Whether one text says something that another does not, as far as words show.
pub(super) fn says_more(text: &str, than: &str) -> bool {
    adds(&Text::of(text), &Text::of(than))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kapsa_memory::access::Classification;

    fn fact(id: &str, content: &str) -> Fact {
        Fact::new(id, content, 100)
    }

    fn port(id: &str, value: u32) -> Fact {
        Fact {
            entity: "db".into(),
            attribute: "port".into(),
            ..fact(id, &format!("The database listens on port {value}"))
        }
    }

    /// Verdicts on a new text, by what is known.
    fn check(known: &str, new: &str, want: Verdict) {
        let comparison = Preset::NEAR.compare(&fact("new", new), &[fact("old", known)]);
        assert_eq!(comparison.verdict, want, "{known:?} {new:?}: {comparison:?}");
        let named = comparison.other.is_some();
        assert_eq!(
            named,
            want != Verdict::New || comparison.likeness >= LIKENESS_RELATED,
            "{known:?} {new:?}"
        );
    }

    #[test]
    fn texts_that_say_the_same() {
        check("The port is 5433.", "the PORT is: 5433", Verdict::Same);
        check("ΛΌΓΟΣ x", "λόγοσ X", Verdict::Same);
        check(
            "The release train leaves every Tuesday",
            "The release train leaves every single Tuesday",
            Verdict::Restated,
        );
        check(
            "A release train leaves every Tuesday at noon",
            "The release train leaves every Tuesday at noon",
            Verdict::Restated,
        );
    }

    #[test]
    fn texts_that_only_look_alike() {
        for (known, new) in [
            (
                "The staging database listens on port 5433",
                "The staging database listens on port 5434",
            ),
            (
                "The release train leaves every Tuesday",
                "The release train never leaves every Tuesday",
            ),
            (
                "The release train leaves every Tuesday now",
                "The release train leaves every Monday now",
            ),
            ("Alice reports to Bob", "Bob reports to Alice"),
            ("Acme is a big customer of ours", "Acme is a former big customer of ours"),
            ("", "?!"),
            ("the and of", "something else"),
        ] {
            check(known, new, Verdict::New);
        }
    }

    #[test]
    fn the_thresholds_are_inclusive() {
        // 18 of 25 words are shared: 0.72.
        let shared: Vec<String> = (0..18).map(|n| format!("w{}", char::from(b'a' + n))).collect();
        let more: Vec<String> = (0..7).map(|n| format!("x{}", char::from(b'a' + n))).collect();
        let (short, long) = (shared.join(" "), [shared.join(" "), more.join(" ")].join(" "));
        check(&short, &long, Verdict::Restated);
        check(&long, &short, Verdict::Restated);
        check(&short, &format!("{long} y"), Verdict::New);
        let wide = Preset::WIDE.compare(&fact("n", &format!("{long} y")), &[fact("o", &short)]);
        assert_eq!(wide.verdict, Verdict::New, "18 of 26 is less than 0.7: {wide:?}");
        let exact = Preset::EXACT.compare(&fact("n", &long), &[fact("o", &short)]);
        assert_eq!((exact.verdict, exact.other), (Verdict::New, None));
    }

    #[test]
    fn another_value_supersedes_when_a_rule_decides() {
        let old = port("old", 5433);
        let verdict = |new: Fact| Preset::NEAR.compare(&new, std::slice::from_ref(&old)).verdict;
        let new = || port("new", 5434);
        assert_eq!(verdict(new()), Verdict::Supersedes);
        assert_eq!(verdict(Fact { confidence: 0.9, ..new() }), Verdict::Contests);
        assert_eq!(verdict(Fact { source: "ops".into(), ..new() }), Verdict::Contests);
        assert_eq!(verdict(Fact { updated_at: 99, ..new() }), Verdict::Contests);
        let later = Fact { valid_from: Some(1), confidence: 0.1, source: "ops".into(), ..new() };
        assert_eq!(verdict(later), Verdict::Supersedes, "a later moment decides alone");
        assert_eq!(verdict(Fact { attribute: "host".into(), ..new() }), Verdict::New);
        assert_eq!(verdict(Fact { entity: "cache".into(), ..new() }), Verdict::New);
        assert_eq!(verdict(Fact { attribute: String::new(), ..new() }), Verdict::New);
    }

    #[test]
    fn values_of_different_times_do_not_meet() {
        let old = Fact { valid_from: Some(10), valid_to: Some(20), ..port("old", 5433) };
        let compare = |new: Fact| Preset::NEAR.compare(&new, std::slice::from_ref(&old));
        let of = |from, to| Fact { valid_from: from, valid_to: to, ..port("new", 5434) };
        assert_eq!(compare(of(Some(20), None)).verdict, Verdict::New);
        assert_eq!(compare(of(None, Some(10))).verdict, Verdict::New);
        assert_eq!(compare(of(Some(19), None)).verdict, Verdict::Supersedes);
        assert_eq!(compare(of(Some(5), None)).verdict, Verdict::Contests);
    }

    #[test]
    fn facts_for_other_readers_are_others() {
        let old = Fact {
            domain: "revenue".into(),
            classification: Classification::Confidential,
            ..port("old", 5433)
        };
        let verdict = |new: &Fact| Preset::NEAR.compare(new, std::slice::from_ref(&old)).verdict;
        let mut new = Fact { id: "new".into(), ..old.clone() };
        assert_eq!(verdict(&new), Verdict::Same);
        new.classification = Classification::Internal;
        assert_eq!(verdict(&new), Verdict::New);
        new.classification = Classification::Confidential;
        new.domain = "marketing".into();
        assert_eq!(verdict(&new), Verdict::New);
        new.domain = "revenue".into();
        new.named = vec!["cro".into()];
        assert_eq!(verdict(&new), Verdict::New);
    }

    #[test]
    fn of_many_the_verdict_that_counts_most() {
        let new = port("new", 5434);
        let gone = Fact { superseded_by: Some("x".into()), ..port("gone", 5434) };
        let contested = Fact { source: "ops".into(), ..port("contested", 5435) };
        let all = [port("old", 5433), contested, gone, port("new", 5434)];
        let comparison = Preset::NEAR.compare(&new, &all);
        assert_eq!(
            (comparison.verdict, comparison.other.as_deref()),
            (Verdict::Contests, Some("contested"))
        );
        assert_eq!(Preset::NEAR.compare_each(&new, &all).len(), 2);
        let known = [all[0].clone(), port("same", 5434)];
        assert_eq!(Preset::NEAR.compare(&new, &known).other.as_deref(), Some("same"));
        assert_eq!(Preset::NEAR.compare(&new, &[]).verdict, Verdict::New);
        for preset in Preset::ALL {
            assert_eq!(Preset::named(preset.name), Some(preset));
        }
    }
}
