//! The words of a query, as far as time is concerned.

use std::ops::Range;

use jiff::civil::Weekday;

use super::calendar::Unit;
use crate::code::MONTHS;
use crate::query::STOP_WORDS;

/// Stop words whose indexed form looks different.
const STOP_WORDS_STEMMED: [&str; 3] = ["any", "does", "why"];
const NUMBERS: [(&str, i64); 18] = [
    ("one", 1),
    ("two", 2),
    ("three", 3),
    ("four", 4),
    ("five", 5),
    ("six", 6),
    ("seven", 7),
    ("eight", 8),
    ("nine", 9),
    ("ten", 10),
    ("eleven", 11),
    ("twelve", 12),
    ("fifteen", 15),
    ("twenty", 20),
    ("thirty", 30),
    ("sixty", 60),
    ("ninety", 90),
    ("hundred", 100),
];

/// What is between a word and the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    Space,
    Comma,
    /// The end of a sentence, a bracket, a quote, or nothing at all.
    Break,
}

/// A word of a query.
#[derive(Debug)]
pub(super) struct Token {
    /// ASCII letters in lower case.
    pub(super) lower: String,
    /// Whether it is one capital letter and then small ones.
    pub(super) capital: bool,
    /// Whether there was an `'s` after it.
    pub(super) possessive: bool,
    pub(super) gap: Gap,
    /// Bytes of the query.
    pub(super) range: Range<usize>,
}

/// Words are apart by white space, commas and whatever else ends a clause. Any other sign is a part
/// of the word, so that `v2.2024`, `#2024`, `-yesterday` and `kind:today` are no times.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut gap = Gap::Break;
    let mut start = 0;
    for (at, char) in text.char_indices().chain([(text.len(), '\n')]) {
        let Some(found) = gap_of(char) else {
            continue;
        };
        gap = push(&mut tokens, text, start..at, gap).max(found);
        start = at + char.len_utf8();
    }
    tokens
}

impl Gap {
    fn max(self, other: Gap) -> Gap {
        match (self, other) {
            (Gap::Break, _) | (_, Gap::Break) => Gap::Break,
            (Gap::Comma, _) | (_, Gap::Comma) => Gap::Comma,
            _ => Gap::Space,
        }
    }
}

fn gap_of(char: char) -> Option<Gap> {
    match char {
        ',' => Some(Gap::Comma),
        ';' | '!' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | '"' | '“' | '”' | '…'
        | '—' | '|' | '*' | '`' => Some(Gap::Break),
        _ if char.is_whitespace() => Some(Gap::Space),
        _ => None,
    }
}

/// Adds the word at `range`, if there is one, and tells the gap after it as far as it is known.
fn push(tokens: &mut Vec<Token>, text: &str, range: Range<usize>, gap: Gap) -> Gap {
    if range.is_empty() {
        return gap;
    }
    let raw = &text[range.clone()];
    let mut word = raw.trim_end_matches(['.', ':', '\'', '’']);
    let ended = raw[word.len()..].contains(['.', ':']);
    let opened = word.trim_start_matches(['\'', '‘']);
    if opened.starts_with(char::is_alphabetic) {
        word = opened;
    }
    let start = range.start + raw.find(word).unwrap_or(0);
    let owner = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s"));
    word = owner.unwrap_or(word);
    if word.is_empty() {
        return if ended { Gap::Break } else { gap };
    }
    let mut from = 0;
    for cut in cuts(word).into_iter().chain([word.len()]) {
        let piece = &word[from..cut];
        let gap = if from == 0 { gap } else { Gap::Space };
        tokens.push(Token {
            lower: piece.to_ascii_lowercase(),
            capital: piece.len() > 1
                && piece.starts_with(char::is_uppercase)
                && piece.chars().skip(1).all(char::is_lowercase),
            possessive: owner.is_some() && cut == word.len(),
            gap,
            range: start + from..start + cut,
        });
        from = cut + 1;
    }
    let short = tokens.last().is_some_and(|token| abbreviation(&token.lower));
    let as_written = |token: &Token| text[token.range.clone()].eq_ignore_ascii_case(&token.lower);
    debug_assert!(tokens.last().is_some_and(as_written), "a word lies where it was found");
    if ended && !short { Gap::Break } else { Gap::Space }
}

/// Where the hyphens and strokes are that only join the words of a date: `mid-June`, `5-Mar-2024`,
/// `2024-Q2`.
fn cuts(word: &str) -> Vec<usize> {
    let lower = word.to_ascii_lowercase();
    let pieces: Vec<&str> = lower.split(['-', '/']).collect();
    let joined = match pieces[..] {
        ["early" | "mid" | "late", after] => !after.is_empty(),
        [first, second] => {
            (quarter(first).is_some() && year(second).is_some())
                || (year(first).is_some() && quarter(second).is_some())
        }
        [first, second, third] => {
            day(first).is_some() && month(second).is_some() && year(third).is_some()
        }
        _ => false,
    };
    if joined { word.match_indices(['-', '/']).map(|(at, _)| at).collect() } else { Vec::new() }
}

/// Whether it is written with a full stop at its end.
fn abbreviation(lower: &str) -> bool {
    month(lower).is_some_and(|(_, full)| !full) || weekday(lower).is_some_and(|(_, full)| !full)
}

/// Whether a word in lower case is too common to say what a query is about.
pub fn is_stop_word(lower: &str) -> bool {
    STOP_WORDS.contains(&lower)
        || STOP_WORDS_STEMMED.contains(&lower)
        || lower.ends_with("n't")
        || lower.ends_with("n’t")
}

/// A month and whether its name is written in full.
pub(super) fn month(lower: &str) -> Option<(i8, bool)> {
    let fits = |name: &str| {
        name == lower || lower == &name[..3] || (lower == "sept" && name == "september")
    };
    let (number, name) = (1..).zip(MONTHS).find(|(_, name)| fits(name))?;
    Some((number, name == lower))
}

/// A weekday and whether its name is written in full.
pub(super) fn weekday(lower: &str) -> Option<(Weekday, bool)> {
    let (weekday, full) = match lower {
        "monday" | "mon" => (Weekday::Monday, "monday"),
        "tuesday" | "tue" | "tues" => (Weekday::Tuesday, "tuesday"),
        "wednesday" | "wed" => (Weekday::Wednesday, "wednesday"),
        "thursday" | "thu" | "thur" | "thurs" => (Weekday::Thursday, "thursday"),
        "friday" | "fri" => (Weekday::Friday, "friday"),
        "saturday" | "sat" => (Weekday::Saturday, "saturday"),
        "sunday" | "sun" => (Weekday::Sunday, "sunday"),
        _ => return None,
    };
    Some((weekday, lower == full))
}

/// The month with which a northern season begins.
pub(super) fn season(lower: &str) -> Option<i8> {
    match lower {
        "spring" => Some(3),
        "summer" => Some(6),
        "autumn" | "fall" => Some(9),
        "winter" => Some(12),
        _ => None,
    }
}

/// The month with which a quarter or a half of a year begins, and how many months it has.
pub(super) fn quarter(lower: &str) -> Option<(i8, i64)> {
    match lower {
        "q1" => Some((1, 3)),
        "q2" => Some((4, 3)),
        "q3" => Some((7, 3)),
        "q4" => Some((10, 3)),
        "h1" => Some((1, 6)),
        "h2" => Some((7, 6)),
        _ => None,
    }
}

/// A unit, and whether it is written in the plural.
pub(super) fn unit(lower: &str) -> Option<(Unit, bool)> {
    let single = lower.strip_suffix('s').unwrap_or(lower);
    let unit = match single {
        "second" => Unit::Seconds(1),
        "minute" => Unit::Seconds(60),
        "hour" => Unit::Seconds(3600),
        "day" => Unit::Day,
        "week" => Unit::Week,
        "weekend" => Unit::Weekend,
        "month" => Unit::Month,
        "quarter" => Unit::Quarter,
        "year" => Unit::Year,
        "decade" => Unit::Decade,
        _ => return None,
    };
    Some((unit, single != lower))
}

fn digits(lower: &str, most: usize) -> Option<i64> {
    let fits = (1..=most).contains(&lower.len()) && lower.bytes().all(|byte| byte.is_ascii_digit());
    if fits { lower.parse().ok() } else { None }
}

/// A number of units.
pub(super) fn number(lower: &str) -> Option<i64> {
    let named = || NUMBERS.iter().find(|(name, _)| *name == lower).map(|&(_, number)| number);
    digits(lower, 4).filter(|&number| number > 0).or_else(named)
}

/// A year of four digits.
pub(super) fn year(lower: &str) -> Option<i16> {
    let year = if lower.len() == 4 { digits(lower, 4)? } else { return None };
    i16::try_from(year).ok().filter(|year| (1900..=2199).contains(year))
}

/// A day of a month.
fn day(lower: &str) -> Option<i8> {
    let bare = ["st", "nd", "rd", "th"]
        .iter()
        .find_map(|ending| lower.strip_suffix(ending))
        .unwrap_or(lower);
    i8::try_from(digits(bare, 2)?).ok().filter(|day| (1..=31).contains(day))
}

/// A day of a month, or from one to another as in `5-10`.
pub(super) fn days(lower: &str) -> Option<(i8, i8)> {
    match lower.split_once(['-', '–']) {
        Some((first, last)) => Some((day(first)?, day(last)?)).filter(|(first, last)| first < last),
        None => day(lower).map(|day| (day, day)),
    }
}

/// How the numbered one of several is called, counted from 0.
pub(super) fn ordinal(lower: &str) -> Option<i64> {
    match lower {
        "first" | "1st" => Some(0),
        "second" | "2nd" => Some(1),
        "third" | "3rd" => Some(2),
        "fourth" | "4th" => Some(3),
        _ => None,
    }
}
