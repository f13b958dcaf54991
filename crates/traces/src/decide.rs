//! What becomes of a candidate beside what is known, decided without a model: the same candidate
//! and the same memories give the same decision. Plain values in, plain values out.
//!
//! How much two texts overlap decides first ([`crate::Overlap`]); between the two thresholds the
//! comparer of facts is asked about the titles. Where it is not sure, nothing is lost and nothing
//! is changed: the candidate is kept as pending, and somebody decides.

use std::borrow::Cow;

use kapsa_agents::{Comparison, Fact, Preset, Verdict};
use kapsa_memory::Trust;

use crate::known::{Known, Offer, speaker_name, standing_of};
use crate::overlap::{Overlap, Words, affirmed, number_another};
use crate::turn::Turn;

/// From where on a text is taken for another one's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// From this overlap on two texts are about the same.
    pub update: f64,
    /// Below this one a text is new.
    pub compare: f64,
}

impl Default for Thresholds {
    fn default() -> Thresholds {
        Thresholds { update: 0.72, compare: 0.40 }
    }
}

/// Least overlap of two *titles* at which a later statement that takes an earlier one back is
/// noticed, although the whole texts have little in common: their reasons differ by nature.
pub const REVERSAL_MIN: f64 = 0.25;

/// Share of the words of the shorter of two titles that the other must have as well, where one of
/// them takes the other back: a ban that shares the subject alone is about something else.
pub const REVERSAL_SHARED_MIN: f64 = 0.6;

/// What is trusted further was written by a person: nothing takes its place by itself. Of what
/// sessions and models brought, the speaker and the time decide.
pub(crate) const TRUST_DECIDED_MAX: Trust = Trust::Model;

/// Known memories between the thresholds that the comparer is asked about, the most alike first.
const COMPARED_MAX: usize = 8;

/// What becomes of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is a memory of its own.
    Add,
    /// A known one says it, and gets what is new in it.
    Update,
    /// A known one says it already, or nobody can tell yet.
    NoOp,
    /// It takes the place of a known one.
    Supersede,
    /// It is older than the known one that says otherwise: kept as what was said before.
    Precede,
}

impl Action {
    /// Every action.
    pub const ALL: [Action; 5] =
        [Action::Add, Action::Update, Action::NoOp, Action::Supersede, Action::Precede];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Action::Add => "add",
            Action::Update => "update",
            Action::NoOp => "no_op",
            Action::Supersede => "supersede",
            Action::Precede => "precede",
        }
    }
}

/// A decision, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What is done.
    pub action: Action,
    /// Id of the memory that it is about.
    pub other: Option<String>,
    /// How much the two texts overlap, 0 to 1.
    pub score: f64,
    /// Why.
    pub reason: String,
    /// Whether the known memory gets one more piece of evidence.
    pub confirms: bool,
    /// What somebody has to decide: what the candidate would be to the known memory.
    pub proposed: Option<Comparison>,
}

impl Decision {
    fn new(action: Action, other: Option<&Known>, score: f64, reason: &str) -> Decision {
        Decision {
            action,
            other: other.map(|known| known.fact.id.clone()),
            score,
            reason: reason.to_string(),
            confirms: false,
            proposed: None,
        }
    }

    fn confirming(self) -> Decision {
        Decision { confirms: true, ..self }
    }

    /// That this session said it before.
    pub(crate) fn told_before(other: &str) -> Decision {
        Decision {
            other: Some(other.to_string()),
            ..Decision::new(Action::NoOp, None, 1.0, "this session said it before")
        }
    }
}

impl Decision {
    /// That somebody has forgotten what this session brought.
    pub(crate) fn forgotten(id: &str) -> Decision {
        Decision {
            reason: "it was forgotten since this session brought it".to_string(),
            score: 0.0,
            ..Decision::told_before(id)
        }
    }
}

/// A known memory beside a candidate.
struct Beside<'a> {
    known: &'a Known,
    overlap: Overlap,
    /// Overlap of the titles alone.
    titles: f64,
    /// Share of the words of the shorter title that the other one has as well.
    shared: f64,
    /// Whether the same message says both: neither takes the place of the other.
    is_of_message: bool,
}

/// What becomes of an offer beside these known memories, live ones of its repository and of none.
#[must_use]
pub fn decide(offer: &Offer, known: &[Known], thresholds: &Thresholds) -> Decision {
    let words = offer.words();
    let title = Words::of(&offer.title);
    if let Some(known) = known.iter().find(|known| known.was_told(offer)) {
        return Decision::told_before(&known.fact.id);
    }
    let mut all: Vec<Beside<'_>> = known
        .iter()
        .map(|known| {
            let other = Words::of(&known.title);
            Beside {
                known,
                overlap: words.overlap(&known.words),
                titles: title.overlap(&other).score,
                shared: title.within(&other).max(other.within(&title)),
                is_of_message: known.is_of_message(offer),
            }
        })
        .collect();
    // Of equal ones the first that was stored.
    all.sort_by(|a, b| b.overlap.score.total_cmp(&a.overlap.score));
    if let Some(same) = all.iter().find(|beside| is_exact(offer, beside.known)) {
        let reason = "the same type, title and body";
        return Decision::new(Action::NoOp, Some(same.known), 1.0, reason).confirming();
    }
    if let Some(decision) = taken_back(offer, &all) {
        return decision;
    }
    let is_about_the_same = |beside: &&Beside<'_>| {
        beside.overlap.score >= thresholds.update
            && !beside.overlap.differs
            && beside.known.has_primitive(offer.kind.primitive())
    };
    if let Some(same) = all.iter().find(is_about_the_same) {
        return restated(offer, same);
    }
    let between: Vec<&Beside<'_>> = all
        .iter()
        .filter(|beside| beside.overlap.score >= thresholds.compare)
        .take(COMPARED_MAX)
        .collect();
    if let Some(decision) = compared(offer, &between) {
        return decision;
    }
    // One title goes on where the other ends.
    if let Some(same) = between.iter().find(|beside| {
        beside.shared >= 1.0
            && !beside.overlap.differs
            && beside.known.has_primitive(offer.kind.primitive())
    }) {
        return restated(offer, same);
    }
    let nearest = all.first();
    let score = nearest.map_or(0.0, |beside| beside.overlap.score);
    reversed(offer, &all).unwrap_or_else(|| match nearest {
        Some(nearest) if score >= thresholds.compare => {
            Decision::new(Action::Add, Some(nearest.known), score, "it says something else")
        }
        _ => Decision::new(Action::Add, None, score, "nothing like it is known"),
    })
}

/// Whether a known memory is the same, word for word.
fn is_exact(offer: &Offer, known: &Known) -> bool {
    known.has_primitive(offer.kind.primitive())
        && known.title == offer.title
        && known.body == offer.body
}

/// What becomes of what a known memory says in about the same words.
fn restated(offer: &Offer, beside: &Beside<'_>) -> Decision {
    let score = beside.overlap.score;
    let decided = match merged(offer, beside.known) {
        Some(_) => {
            Decision::new(Action::Update, Some(beside.known), score, "about the same, and more")
        }
        None => {
            Decision::new(Action::NoOp, Some(beside.known), score, "about the same, nothing new")
        }
    };
    decided.confirming()
}

/// What the comparer of facts makes of the ones between the thresholds; none where it finds that
/// all of them are about something else.
fn compared(offer: &Offer, between: &[&Beside<'_>]) -> Option<Decision> {
    let verdicts: Vec<(&Beside<'_>, Comparison)> =
        between.iter().map(|beside| (*beside, compare(offer, beside.known))).collect();
    let is_same = |(_, comparison): &&(_, Comparison)| comparison.verdict == Verdict::Same;
    if let Some((beside, comparison)) = verdicts.iter().find(is_same) {
        let score = beside.overlap.score;
        let decision = Decision::new(Action::NoOp, Some(beside.known), score, comparison.reason);
        return Some(decision.confirming());
    }
    let apart = || verdicts.iter().filter(|(beside, _)| !beside.is_of_message);
    let first =
        |test: &dyn Fn(Verdict) -> bool| apart().find(|(_, comparison)| test(comparison.verdict));
    if let Some((beside, comparison)) = first(&Verdict::replaces) {
        return Some(replacing(offer, beside, comparison));
    }
    let is_unsure = |verdict| matches!(verdict, Verdict::Pending | Verdict::Contests);
    if let Some((beside, comparison)) = first(&is_unsure) {
        return Some(undecided(beside, comparison.clone(), comparison.reason));
    }
    let (beside, comparison) = apart().next()?;
    // It gives another value or denies what is known in nearly the same words, and the comparer
    // does not see that they are about one thing.
    let (later, earlier) = (&offer.title, &beside.known.title);
    let is_of_another =
        number_another(later, earlier) || Words::of(later).speaks_of_another(&Words::of(earlier));
    if beside.overlap.differs && !is_of_another && comparison.verdict == Verdict::New {
        let comparison = Comparison { proposed: Some(Verdict::Supersedes), ..comparison.clone() };
        return Some(undecided(beside, comparison, "nearly the same words, and another value"));
    }
    None
}

/// What leaves behind what was chosen, in whatever words; of several choices the most alike.
fn taken_back(offer: &Offer, all: &[Beside<'_>]) -> Option<Decision> {
    // A message may say first what comes and then what goes.
    let turn = Turn::of(&offer.title).or_else(|| Turn::of(&said_with(&offer.body)))?;
    let is_chosen =
        |beside: &&Beside<'_>| !beside.is_of_message && turn.takes_back(&beside.known.title);
    let beside = all.iter().find(is_chosen)?;
    let comparison = Comparison { verdict: Verdict::Supersedes, ..compare(offer, beside.known) };
    let comparison = Comparison { reason: "it leaves behind what was chosen", ..comparison };
    Some(replacing(offer, beside, &comparison))
}

/// Names of the lines of a body that are not its speaker's words about what is stated.
const OF_OTHERS: [&str; 5] = ["Taken up: ", "Question: ", "Before: ", "About: ", "Not chosen: "];

/// What a body says in its speaker's words.
fn said_with(body: &str) -> String {
    let is_own = |line: &&str| !OF_OTHERS.iter().any(|name| line.starts_with(name));
    body.lines().filter(is_own).collect::<Vec<_>>().join("\n")
}

/// What takes a statement back although the texts have little in common.
fn reversed(offer: &Offer, all: &[Beside<'_>]) -> Option<Decision> {
    let may_be = |beside: &&Beside<'_>| {
        beside.titles >= REVERSAL_MIN
            && beside.shared >= REVERSAL_SHARED_MIN
            && !beside.is_of_message
    };
    all.iter().filter(may_be).take(COMPARED_MAX).find_map(|beside| {
        let comparison = compare(offer, beside.known);
        comparison.verdict.replaces().then(|| replacing(offer, beside, &comparison))
    })
}

/// What becomes of what would take a known memory's place.
fn replacing(offer: &Offer, beside: &Beside<'_>, comparison: &Comparison) -> Decision {
    let known = beside.known;
    let score = beside.overlap.score;
    let proposed = Comparison { proposed: Some(comparison.verdict), ..comparison.clone() };
    if known.fact.entity != offer.repository {
        let reason = "it says otherwise for its repository alone";
        return Decision::new(Action::Add, Some(known), score, reason);
    }
    if known.fact.trust > TRUST_DECIDED_MAX {
        return undecided(beside, proposed, "what it would replace is trusted further");
    }
    if standing_of(speaker_name(offer.said_by)) < known.standing() {
        return undecided(beside, proposed, "what it would replace was said by somebody else");
    }
    // The same with more in it is no other memory.
    if comparison.verdict == Verdict::Refines && known.has_primitive(offer.kind.primitive()) {
        return restated(offer, beside);
    }
    if offer.at < known.said_at() {
        let reason = "a later session says otherwise";
        return Decision::new(Action::Precede, Some(known), score, reason);
    }
    Decision::new(Action::Supersede, Some(known), score, comparison.reason)
}

fn undecided(beside: &Beside<'_>, proposed: Comparison, reason: &str) -> Decision {
    let decision = Decision::new(Action::NoOp, Some(beside.known), beside.overlap.score, reason);
    Decision { proposed: Some(proposed), ..decision }
}

/// What the comparer of facts says of two titles. Both are taken for one person's words of one
/// repository: what a user says later holds.
fn compare(offer: &Offer, known: &Known) -> Comparison {
    let about = |id: &str, title: &str, at| Fact {
        entity: ABOUT.to_string(),
        source: ABOUT.to_string(),
        ..Fact::new(id, title, at)
    };
    // A title alone; the reasons below it are not what is stated.
    let (old, new) = (told(&known.title), told(&offer.title));
    let old = about(&known.fact.id, &old, known.said_at());
    let new = about(&offer.id, &new, offer.at.max(known.said_at()));
    Preset::Near.compare(&new, &[old])
}

/// A title that denies twice as what it says.
fn told(title: &str) -> String {
    let lower = title.to_lowercase();
    match affirmed(lower.trim_end_matches(['.', '!'])) {
        Cow::Owned(affirmed) => affirmed,
        Cow::Borrowed(_) => title.to_string(),
    }
}

/// Stands for the repository, which is the same for both.
const ABOUT: &str = "project";

/// The text of a known memory with what an offer adds to it; none where that is nothing, or does
/// not fit.
pub(crate) fn merged(offer: &Offer, known: &Known) -> Option<String> {
    // No person's words are changed.
    if known.fact.trust > TRUST_DECIDED_MAX {
        return None;
    }
    let words = offer.words();
    if known.words.within(&words) >= 1.0 {
        let is_more = words != known.words;
        return is_more.then(|| offer.content()).filter(|text| *text != known.fact.content);
    }
    known.with_news(&offer.title, &offer.body).filter(|text| *text != known.fact.content)
}
