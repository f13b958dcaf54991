//! Which one of several things of a kind a sentence is about: `room 3`, `gate-B`, `端口2`. Knows
//! nothing of what the sentence says of it. The table `subjects.txt` lists the words around.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::tables::{CalendarWord, calendar, is_stop, rows, stem};
use super::token::{Token, is_han};

/// Digits of the longest number that tells things apart; longer ones are values.
const INDEX_DIGITS_MAX: usize = 5;
/// Words of the longest part of a sentence that is looked at.
const SUBJECT_WORDS_MAX: usize = 12;

/// One of several things of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Indexed {
    /// The stem of the noun.
    kind: String,
    index: String,
}

/// The numbered things that a sentence is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Subject {
    things: Vec<Indexed>,
    /// Whether the sentence says what part the thing plays, rather than what it is like.
    names_role: bool,
}

impl Subject {
    /// That of a text of these words.
    pub(crate) fn of(words: &[Token]) -> Subject {
        let longest = words.len().min(SUBJECT_WORDS_MAX);
        let Some(verb) = (1..longest).find(|&at| is_verb(words, at)) else {
            return Subject::default();
        };
        let things = (0..verb).filter_map(|at| thing(&words[..verb], at));
        let things = things.filter(|thing| !is_in("successive", &thing.kind)).collect();
        let mut after = words[verb + 1..].iter().take(2);
        let names_role = after.any(|word| is_in("roles", &word.folded));
        Subject { things, names_role }
    }

    /// Whether two sentences are about different things of one kind.
    pub(crate) fn is_other_than(&self, other: &Subject) -> bool {
        self.things.iter().any(|thing| {
            let same_kind = |its: &&Indexed| its.kind == thing.kind;
            let mut of_kind = other.things.iter().filter(same_kind).peekable();
            of_kind.peek().is_some() && of_kind.all(|its| its.index != thing.index)
        })
    }

    /// Whether it plays a part that another thing can take over.
    pub(crate) fn names_role(&self) -> bool {
        self.names_role
    }
}

fn table() -> &'static HashMap<&'static str, HashSet<&'static str>> {
    static TABLE: LazyLock<HashMap<&str, HashSet<&str>>> = LazyLock::new(|| {
        let mut all: HashMap<&str, HashSet<&str>> = HashMap::new();
        let mut list = "";
        for row in rows(include_str!("../tables/subjects.txt")) {
            match row.strip_prefix('[').and_then(|row| row.strip_suffix(']')) {
                Some(name) => list = name,
                None => all.entry(list).or_default().extend(row.split_whitespace()),
            }
        }
        all
    });
    &TABLE
}

fn is_in(list: &str, word: &str) -> bool {
    table().get(list).is_some_and(|all| all.contains(word))
}

/// Whether a verb stands here. Where spaces do not part words, one may only begin here.
fn is_verb(words: &[Token], at: usize) -> bool {
    let word = words[at].folded.as_str();
    let first = word.chars().next().filter(|first| is_han(*first) || is_kana(*first));
    let begins = first.is_some_and(|first| is_in("verbs", first.encode_utf8(&mut [0; 4])));
    begins || is_in("verbs", word) || hangul_particle(&words[at - 1].folded).is_some()
}

fn is_kana(c: char) -> bool {
    ('ぁ'..='ゟ').contains(&c)
}

/// `1은` as `1`.
fn hangul_particle(word: &str) -> Option<&str> {
    let end = word.find(|c: char| ('\u{ac00}'..='\u{d7af}').contains(&c))?;
    let digits = &word[..end];
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then_some(digits)
}

/// The numbered thing that ends at a word.
fn thing(words: &[Token], at: usize) -> Option<Indexed> {
    let word = &words[at];
    if let Some((kind, index)) = word.folded.rsplit_once(['-', '_']) {
        // The same sign parts what is written, of which the lower case may be longer or shorter.
        let written = word.written.rsplit_once(['-', '_']).map_or("", |(_, written)| written);
        return is_index(written).then(|| indexed(kind, index)).flatten();
    }
    let written = hangul_particle(&word.folded).unwrap_or(&word.written);
    let noun = words.get(at.checked_sub(1)?)?;
    // What a number is a number of stands after it.
    let counts = words.get(at + 1).is_some_and(|next| !is_stop(&next.folded));
    if !is_index(written) || counts || noun.before_comma {
        return None;
    }
    indexed(&noun.folded, &written.to_lowercase())
}

fn indexed(kind: &str, index: &str) -> Option<Indexed> {
    let is_month = matches!(calendar(kind), Some(CalendarWord::Month(_)));
    let is_noun = kind.chars().any(char::is_alphabetic) && !is_stop(kind) && !is_month;
    is_noun.then(|| Indexed { kind: stem(kind), index: index.to_string() })
}

/// Whether a word tells things apart: a short number, or one capital.
fn is_index(written: &str) -> bool {
    let is_number =
        written.len() <= INDEX_DIGITS_MAX && written.bytes().all(|b| b.is_ascii_digit());
    let mut letters = written.chars();
    let is_letter = letters.next().is_some_and(char::is_uppercase) && letters.next().is_none();
    !written.is_empty() && (is_number || is_letter)
}

#[cfg(test)]
mod tests {
    use super::super::token::tokens;
    use super::*;

    fn of(text: &str) -> Subject {
        Subject::of(&tokens(text))
    }

    #[test]
    fn numbered_things_are_told_apart() {
        for (a, b) in [
            ("Pump 1 is loud", "Pump 2 is loud"),
            ("The lid of box 7 is red", "The lid of box 8 is red"),
            ("Hall A is cold", "Hall B is cold"),
            ("Pump-3 is loud", "pump-4 is loud"),
            ("泵1 是红的", "泵2 是红的"),
            ("ポンプ1は静か", "ポンプ2は静か"),
            ("펌프 1은 조용하다", "펌프 2는 조용하다"),
            ("Zimmer 3 ist leer", "Zimmer 4 ist leer"),
        ] {
            assert!(of(a).is_other_than(&of(b)), "{a:?} {b:?} {:?} {:?}", of(a), of(b));
            assert!(!of(a).is_other_than(&of(a)), "{a:?}");
        }
    }

    #[test]
    fn numbers_that_are_values_tell_nothing_apart() {
        for (a, b) in [
            ("Version 1 is out", "Version 2 is out"),
            ("The tank has 2 pumps", "The tank has 3 pumps"),
            ("Ida bought 2 lamps and is happy", "Ida bought 3 lamps and is happy"),
            ("The fair of May 3 was small", "The fair of May 4 was small"),
            ("Pump 1 is loud", "Fan 2 is loud"),
        ] {
            assert!(!of(a).is_other_than(&of(b)), "{a:?} {b:?} {:?} {:?}", of(a), of(b));
        }
    }
}
