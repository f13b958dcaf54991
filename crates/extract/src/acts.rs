//! Speech acts: whether a sentence of a person states what holds beyond its moment, or asks for
//! something to be done now.
//!
//! A sentence is weighed by the cues in it. What is stated (an obligation, a ban, a choice, a
//! contrast, a correction) speaks for keeping it; a question, the order of a single piece of work,
//! small talk and a report of what was done speak against it. Knows nothing of sessions.

use std::sync::LazyLock;

use crate::patterns::Patterns;
use crate::types::MemoryType;

/// From this weight on a sentence is kept.
pub(crate) const WEIGHT_MIN: f64 = 2.0;

/// What a sentence does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Act {
    /// Says what must be, or must not.
    Obliges,
    /// Says how something is wanted.
    Wants,
    /// Bans something.
    Bans,
    /// Chooses between what could be done.
    Chooses,
    /// Says how to work, with which tool.
    Instructs,
    /// Says what is right where something else was done or said.
    Corrects,
    /// One thing and not another.
    Contrasts,
    /// Holds for all cases.
    Generalises,
    /// Gives a reason.
    Reasons,
    /// Says what is so.
    States,
    /// Asks that something be remembered.
    Remembers,
    /// Asks that something be left out of the memory.
    Withholds,
    /// Asks something.
    Asks,
    /// Orders a single piece of work.
    Orders,
    /// Lays out a piece of work, step by step or as a wish: no clause of it stands alone.
    Plans,
    /// Says what was done, or how it went.
    Reports,
    /// Speaks of the conversation itself.
    Chats,
    /// Takes back what was said before.
    Withdraws,
    /// Leaves something that it names, and says nothing else.
    Leaves,
    /// Says that a rule holds no more, and not which one.
    Lifts,
}

impl Act {
    const ALL: [Self; 20] = [
        Self::Obliges,
        Self::Wants,
        Self::Bans,
        Self::Chooses,
        Self::Instructs,
        Self::Corrects,
        Self::Contrasts,
        Self::Generalises,
        Self::Reasons,
        Self::States,
        Self::Remembers,
        Self::Withholds,
        Self::Asks,
        Self::Orders,
        Self::Plans,
        Self::Reports,
        Self::Chats,
        Self::Withdraws,
        Self::Leaves,
        Self::Lifts,
    ];

    /// Its name, in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Obliges => "obliges",
            Self::Wants => "wants",
            Self::Bans => "bans",
            Self::Chooses => "chooses",
            Self::Instructs => "instructs",
            Self::Corrects => "corrects",
            Self::Contrasts => "contrasts",
            Self::Generalises => "generalises",
            Self::Reasons => "reasons",
            Self::States => "states",
            Self::Remembers => "remembers",
            Self::Withholds => "withholds",
            Self::Asks => "asks",
            Self::Orders => "orders",
            Self::Plans => "plans",
            Self::Reports => "reports",
            Self::Chats => "chats",
            Self::Withdraws => "withdraws",
            Self::Leaves => "leaves",
            Self::Lifts => "lifts",
        }
    }
}

struct Cue {
    act: Act,
    weight: f64,
    pattern: &'static str,
}

/// The cues, and their patterns.
static CUES: LazyLock<(Vec<Cue>, Patterns)> = LazyLock::new(|| {
    let cues: Vec<Cue> = include_str!("tables/acts.txt").lines().filter_map(cue).collect();
    let patterns: Vec<&str> = cues.iter().map(|cue| cue.pattern).collect();
    let patterns = Patterns::new(&patterns);
    (cues, patterns)
});

/// A line of the table: an act, a weight, a pattern.
fn cue(line: &'static str) -> Option<Cue> {
    let (act, rest) = line.trim_end().split_once(' ').filter(|(act, _)| *act != "#")?;
    let (weight, pattern) = rest.trim_start().split_once(' ').expect("a row has three columns");
    let act = Act::ALL.into_iter().find(|one| one.name() == act).expect("the act exists");
    Some(Cue { act, weight: weight.parse().expect("a weight is a number"), pattern })
}

/// A sentence, and what it does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weighed {
    pub(crate) acts: Vec<Act>,
    pub(crate) weight: f64,
}

impl Weighed {
    pub(crate) fn does(&self, act: Act) -> bool {
        self.acts.contains(&act)
    }

    /// Whether all that speaks for it is that somebody wants something to be so; where nothing was
    /// said before, a correction is a wish as well.
    pub(crate) fn is_wish(&self, is_first: bool) -> bool {
        use Act::{Asks, Chats, Chooses, Generalises, Orders, Reasons, Reports, States, Wants};
        const OF_WISHES: [Act; 9] =
            [Asks, Chats, Chooses, Generalises, Orders, Reasons, Reports, States, Wants];
        let is_of_wishes = |act: &Act| OF_WISHES.contains(act) || is_first && *act == Act::Corrects;
        self.does(Wants) && self.acts.iter().all(is_of_wishes)
    }

    /// The type of memory that such a sentence is.
    pub(crate) fn kind(&self) -> MemoryType {
        let does = |act| self.does(act);
        if does(Act::Corrects) && (does(Act::Bans) || does(Act::Contrasts) || does(Act::States)) {
            MemoryType::Correction
        } else if does(Act::Chooses) {
            MemoryType::Decision
        } else if does(Act::Instructs) {
            MemoryType::Preference
        } else if does(Act::Bans) || does(Act::Obliges) {
            MemoryType::Constraint
        } else if does(Act::Wants) || does(Act::Contrasts) {
            MemoryType::Decision
        } else if does(Act::Corrects) {
            MemoryType::Correction
        } else {
            MemoryType::Fact
        }
    }
}

/// Lower case, straight quotes, one space between words.
pub(crate) fn folded(sentence: &str) -> String {
    let lower = sentence.to_lowercase().replace(['\u{2019}', '\u{2018}'], "'");
    let lower = lower.replace(['\u{201c}', '\u{201d}'], "\"").replace('_', " ");
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Words from which on a sentence is weighed clause by clause: people write on without a stop.
const RUN_ON_WORDS: usize = 26;

/// Weighs a sentence: as a whole, and one that runs on and on as the weightiest of its clauses,
/// unless it lays out a piece of work.
pub(crate) fn weigh(sentence: &str) -> Weighed {
    let text = folded(&without_quotes(sentence));
    let whole = weigh_folded(&text, shouts(sentence));
    if text.split(' ').count() < RUN_ON_WORDS || whole.does(Act::Plans) {
        return whole;
    }
    let clauses = text.split(", ").flat_map(|clause| clause.split(" but "));
    let each = clauses.map(|clause| weigh_folded(clause, false));
    each.fold(whole, |best, next| if next.weight > best.weight { next } else { best })
}

fn weigh_folded(text: &str, shouted: bool) -> Weighed {
    let (cues, patterns) = &*CUES;
    let mut acts = Vec::new();
    let mut weight = 0.0;
    for at in patterns.matching(text) {
        let cue = &cues[at];
        weight += cue.weight;
        if !acts.contains(&cue.act) {
            acts.push(cue.act);
        }
    }
    if shouted {
        weight += 1.0;
    }
    Weighed { acts, weight }
}

/// Words in double quotes from which on a quote is somebody else's sentence.
const QUOTED_WORDS_MIN: usize = 4;

/// A sentence without the sentences that it quotes: they are not what it says itself.
fn without_quotes(sentence: &str) -> String {
    let sentence = double_quoted(&sentence.replace(['\u{201c}', '\u{201d}'], "\""));
    let mut parts = sentence.split('"');
    let mut out = parts.next().unwrap_or_default().to_owned();
    let rest: Vec<&str> = parts.collect();
    for pair in rest.chunks(2) {
        match pair {
            [quoted, after] if quoted.split_whitespace().count() >= QUOTED_WORDS_MIN => {
                out.push_str("\"…\"");
                out.push_str(after);
            }
            _ => out.extend(pair.iter().flat_map(|part| ["\"", part])),
        }
    }
    out
}

/// A text whose single quotes around words are double ones; those within words stay.
fn double_quoted(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let is_word =
        |at: Option<usize>| at.and_then(|at| chars.get(at)).is_some_and(|c| c.is_alphanumeric());
    let mut is_open = false;
    let mut out = String::with_capacity(text.len());
    for (at, c) in chars.iter().enumerate() {
        let (before, after) = (is_word(at.checked_sub(1)), is_word(Some(at + 1)));
        let is_quote = *c == '\'' && if is_open { !after } else { !before && after };
        is_open ^= is_quote;
        out.push(if is_quote { '"' } else { *c });
    }
    out
}

/// Whether a sentence announces a list of questions, or of what might be.
pub(crate) fn wonders(sentence: &str) -> bool {
    let lower = folded(sentence);
    let asks = ["question", "what happens", "what if", "difference", "either:"];
    lower.ends_with([':', ';', ',']) && asks.iter().any(|word| lower.contains(word))
}

/// Whether a sentence announces a list of rules.
pub(crate) fn announces(sentence: &str) -> bool {
    const WORDS: [&str; 7] =
        ["following", "like so", "as follows", "such that", "these rules", "rules:", "like this:"];
    let lower = folded(sentence);
    lower.ends_with([':', ';']) && WORDS.iter().any(|word| lower.contains(word))
}

/// Whether somebody wrote with emphasis: several exclamation marks, or an order in capitals.
fn shouts(sentence: &str) -> bool {
    const WORDS: [&str; 9] =
        ["USE", "NOT", "NEVER", "ALWAYS", "MUST", "DON'T", "DO", "ONLY", "STOP"];
    let words = || sentence.split(|c: char| !c.is_alphabetic() && c != '\'');
    sentence.ends_with("!!") || words().any(|word| WORDS.contains(&word))
}
