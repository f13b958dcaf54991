//! How much two texts have in common, by their words alone: the same texts give the same number.
//! Knows nothing of memories.
//!
//! The measure is the **Jaccard index of normalised words**: of all different words of both texts,
//! the share that both have. Containment (the share of the shorter one's words) was not taken: a
//! short rule is contained in every long text about the same tool, and would be lost in it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use kapsa_memory::query::fold_case;

/// How texts are compared, for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverlapMeasure;

impl OverlapMeasure {
    /// Its name, as reports have it.
    pub const NAME: &'static str = "jaccard of normalised words of title and body";
}

/// Words that say nothing of what a text is about.
const FILLING: &[&str] = &[
    "a", "about", "again", "all", "also", "always", "am", "an", "and", "any", "anymore", "are",
    "as", "at", "be", "because", "been", "being", "but", "by", "can", "could", "did", "do", "does",
    "ever", "every", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is",
    "it", "its", "just", "let", "longer", "make", "may", "must", "my", "now", "of", "on", "or",
    "our", "please", "should", "since", "so", "still", "sure", "that", "the", "their", "them",
    "then", "there", "these", "they", "this", "to", "us", "was", "we", "were", "when", "will",
    "with", "would", "yet", "you", "your", "want", "need", "lets", // German.
    "ab", "alle", "auf", "bei", "bitte", "darf", "das", "dem", "den", "der", "des", "die", "ein",
    "eine", "einen", "es", "für", "haben", "hat", "ich", "im", "immer", "ist", "jetzt", "kann",
    "können", "mit", "muss", "müssen", "nun", "nur", "oder", "sind", "soll", "sollen", "und",
    "unser", "unsere", "vom", "von", "werden", "wir", "wird", "zu", "zum", "zur", "über",
];

/// Words that turn what follows them around.
const NEGATING: &[&str] = &[
    "no", "not", "never", "nobody", "without", "avoid", "stop", "cannot", "instead", "rather",
    "dont", // What an apostrophe leaves of "don't", and the end of "can't".
    "don", "doesn", "didn", "isn", "aren", "wasn", "weren", "won", "shouldn", "wouldn", "couldn",
    "mustn", "hasn", "haven", "hadn", "t", // German.
    "nicht", "nie", "niemals", "kein", "keine", "keinen", "ohne", "statt",
];

/// Verbs that say of a thing that it is there or in use, as they are stemmed.
const VERBS_OF_USE: &[&str] = &[
    "use", "used", "using", "run", "running", "listen", "set", "keep", "serv", "bind", "bound",
    "expos", "requir", "go", "work", "liv", "equal",
];

/// What a text says, as words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Words {
    /// All of them.
    all: BTreeSet<String>,
    /// Those that are said not to be so.
    negated: BTreeSet<String>,
}

/// How two texts compare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlap {
    /// The share of words that both have, 0 to 1.
    pub score: f64,
    /// Whether they give different values, or one denies what the other says: then they do not
    /// say the same, however many words they share.
    pub differs: bool,
}

impl Words {
    pub(crate) fn of(text: &str) -> Words {
        let folded = fold_case(text);
        let mut words = Words::default();
        let mut is_negated = false;
        for sentence in folded.split(['.', ';', ':', ',', '\n', '!', '?', '(', ')']) {
            is_negated &= sentence.trim().is_empty();
            let sentence = affirmed(sentence);
            for word in sentence.split(|c: char| !c.is_alphanumeric()) {
                if NEGATING.contains(&word) {
                    is_negated = true;
                } else if is_telling(word) {
                    let word = stem(word).to_string();
                    if is_negated {
                        words.negated.insert(word.clone());
                    }
                    words.all.insert(word);
                    is_negated = false;
                }
            }
        }
        words
    }

    /// All of them.
    pub(crate) fn all(&self) -> &BTreeSet<String> {
        &self.all
    }

    /// All of them.
    pub(crate) fn into_all(self) -> BTreeSet<String> {
        self.all
    }

    /// Whether one of them is this, and is not denied.
    pub(crate) fn affirms(&self, word: &str) -> bool {
        self.all.contains(word) && !self.negated.contains(word)
    }

    /// Those that are denied.
    pub(crate) fn denied(&self) -> &BTreeSet<String> {
        &self.negated
    }

    /// Whether each has a word of its own that is no number and no verb of mere use: they speak of
    /// different things, such as a staging and a production server.
    pub(crate) fn speaks_of_another(&self, other: &Words) -> bool {
        let has_own = |a: &Words, b: &Words| {
            a.all.difference(&b.all).any(|word| {
                let is_number = word.bytes().any(|byte| byte.is_ascii_digit());
                !is_number && !VERBS_OF_USE.contains(&word.as_str())
            })
        };
        has_own(self, other) && has_own(other, self)
    }

    /// The share of these words that the others have as well; 1 of none.
    pub(crate) fn within(&self, others: &Words) -> f64 {
        if self.all.is_empty() {
            return 1.0;
        }
        self.all.intersection(&others.all).count() as f64 / self.all.len() as f64
    }

    pub(crate) fn overlap(&self, other: &Words) -> Overlap {
        let both = self.all.intersection(&other.all).count();
        let either = self.all.len() + other.all.len() - both;
        let score = if either == 0 { 0.0 } else { both as f64 / either as f64 };
        Overlap { score, differs: self.denies(other) || self.has_other_values(other) }
    }

    /// Whether one says of a word what the other denies.
    fn denies(&self, other: &Words) -> bool {
        let denied = |a: &Words, b: &Words| {
            a.negated.iter().any(|word| b.all.contains(word) && !b.negated.contains(word))
        };
        denied(self, other) || denied(other, self)
    }

    /// Whether each has a number that the other lacks.
    fn has_other_values(&self, other: &Words) -> bool {
        let lacks = |a: &Words, b: &Words| {
            a.all.difference(&b.all).any(|word| word.bytes().any(|byte| byte.is_ascii_digit()))
        };
        lacks(self, other) && lacks(other, self)
    }
}

/// Whether two texts begin with the same word and other numbers, and give other numbers besides:
/// "worker 1 has 4 GB" and "worker 2 has 8 GB", but not "wait 30 seconds" and "wait 60 seconds".
pub(crate) fn number_another(a: &str, b: &str) -> bool {
    let is_number = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit());
    let read = |text: &str| {
        let folded = fold_case(text);
        let words = folded.split(|c: char| !c.is_alphanumeric());
        let mut words = words.filter(|word| is_telling(word)).map(str::to_string);
        let (name, number) = (words.next()?, words.next().filter(is_number)?);
        Some((name, number, words.filter(is_number).collect::<Vec<_>>()))
    };
    match (read(a), read(b)) {
        (Some((name, number, values)), Some((other_name, other_number, other_values))) => {
            name == other_name && number != other_number && values != other_values
        }
        _ => false,
    }
}

/// Whether a word says what a text is about: a number does, however short.
fn is_telling(word: &str) -> bool {
    let is_digit = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    !word.is_empty() && (word.len() > 1 || is_digit(word)) && !FILLING.contains(&word)
}

/// How a sentence may begin that denies.
const DENYING: [&str; 4] = ["do not ", "don't ", "dont ", "never "];

/// What a sentence of lower case says that denies twice: "never A without B" is "B before A".
pub(crate) fn affirmed(sentence: &str) -> Cow<'_, str> {
    let start = sentence.trim_start();
    let start = start.strip_prefix("please ").unwrap_or(start);
    let denied = DENYING.iter().find_map(|denying| start.strip_prefix(denying));
    match denied.and_then(|rest| rest.split_once(" without ")) {
        Some((act, condition)) => Cow::Owned(format!("{} before {act}", condition.trim_end())),
        None => Cow::Borrowed(sentence),
    }
}

/// A word without the ending of a plural or a verb, where enough of it is left.
fn stem(word: &str) -> &str {
    const LEFT_MIN: usize = 3;
    if !word.is_ascii() || word.bytes().any(|byte| byte.is_ascii_digit()) {
        return word;
    }
    for ending in ["ing", "ed", "es", "s", "e"] {
        if let Some(rest) = word.strip_suffix(ending).filter(|rest| rest.len() >= LEFT_MIN)
            && !(ending == "s" && rest.ends_with('s'))
        {
            return doubled(rest);
        }
    }
    word
}

/// `committ` is `commit`.
fn doubled(word: &str) -> &str {
    let bytes = word.as_bytes();
    match bytes {
        [.., a, b] if a == b && !matches!(b, b'l' | b's' | b'e') && bytes.len() > 3 => {
            &word[..word.len() - 1]
        }
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlap(a: &str, b: &str) -> Overlap {
        Words::of(a).overlap(&Words::of(b))
    }

    #[test]
    fn forms_and_filling_words_make_no_difference() {
        let same = overlap(
            "Always run the tests before committing",
            "Please run tests before you commit.",
        );
        assert_eq!(same, Overlap { score: 1.0, differs: false });
    }

    #[test]
    fn a_denial_differs_however_many_words_are_shared() {
        for (a, b) in [
            ("Use tabs in Makefiles", "Do not use tabs in Makefiles"),
            ("Use pnpm, not npm", "Use npm, not pnpm"),
            ("Wait 30 seconds for the server", "Wait 60 seconds for the server"),
            ("The queue runs on Redis", "The queue no longer runs on Redis"),
            ("You can push to main", "You can't push to main"),
            ("Tests need the database", "Tests don't need the database anymore"),
            ("The cache is shared", "The cache isn't shared"),
            ("Ask before adding packages", "Add packages without asking"),
        ] {
            assert!(overlap(a, b).differs, "{a} / {b}");
        }
        assert!(!overlap("Never push to main", "Never push to the main branch").differs);
        let twice = overlap("Ask before adding packages", "Don't add packages without asking");
        assert_eq!(twice, Overlap { score: 1.0, differs: false });
        assert!(!overlap("Wait 30 seconds", "Wait 30 seconds, at most 3 times").differs);
    }

    #[test]
    fn things_of_one_kind_are_told_apart() {
        for (a, b) in [
            ("The staging database is on port 5433", "The production database is on port 5432"),
            ("Tests run on Python 3.11", "The docs run on Python 3.12"),
        ] {
            assert!(Words::of(a).speaks_of_another(&Words::of(b)), "{a} / {b}");
        }
        for (a, b) in [
            ("Wait 30 seconds for the server", "Wait 60 seconds for the server"),
            ("The server runs on port 80", "The server listens on port 81"),
        ] {
            assert!(!Words::of(a).speaks_of_another(&Words::of(b)), "{a} / {b}");
        }
        assert!(number_another("Worker 1 has 4 GB of memory", "The worker 2 has 8 GB of memory"));
        assert!(!number_another("Wait 30 seconds", "Wait 60 seconds"));
        assert!(!number_another("Wait 30 seconds", "Retry 60 times, 2 at most"));
        let workers = overlap("Worker 1 has 4 GB of memory", "Worker 2 has 8 GB of memory");
        assert!(workers.differs && workers.score < 1.0, "{workers:?}");
    }

    #[test]
    fn texts_without_words_have_nothing_in_common() {
        assert_eq!(overlap("", "…").score, 0.0);
        assert_eq!(overlap("the of and", "use tabs").score, 0.0);
    }
}
