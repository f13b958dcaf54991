//! The tables of words, read once. What a row means is said in the module that uses it.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use frostem::{Algorithm, Stemmer};

/// The stem of a word in lower case, by which its forms are one: that of English, which does little
/// to other languages.
pub(crate) fn stem(word: &str) -> String {
    static FORMS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
        let mut all = HashMap::new();
        for row in rows(include_str!("../tables/forms.txt")) {
            let first = row.split_whitespace().next().unwrap_or_default();
            all.extend(row.split_whitespace().map(|form| (form, first)));
        }
        all
    });
    let word = FORMS.get(word).copied().unwrap_or(word);
    static STEMMER: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::new(Algorithm::English));
    STEMMER.stem(word).to_string()
}

/// The rows of a table: what is neither empty nor a remark.
pub(crate) fn rows(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn words_of(table: &'static str) -> HashSet<&'static str> {
    rows(table).flat_map(str::split_whitespace).collect()
}

/// Whether a word says nothing of its own.
pub(crate) fn is_stop(word: &str) -> bool {
    static STOP: LazyLock<HashSet<&str>> =
        LazyLock::new(|| words_of(include_str!("../tables/stop.txt")));
    STOP.contains(word)
}

/// Whether a word only joins a thing with its value.
pub(crate) fn is_light(word: &str) -> bool {
    static LIGHT: LazyLock<HashSet<&str>> =
        LazyLock::new(|| words_of(include_str!("../tables/light.txt")));
    LIGHT.contains(word)
}

/// Whether a word names a property, of which a thing has one value.
pub(crate) fn is_property(word: &str) -> bool {
    static PROPERTIES: LazyLock<HashSet<&str>> =
        LazyLock::new(|| words_of(include_str!("../tables/properties.txt")));
    PROPERTIES.contains(word)
}

/// Whether a word stands for somebody or something that is not named.
pub(crate) fn is_indefinite(word: &str) -> bool {
    static INDEFINITE: LazyLock<HashSet<&str>> =
        LazyLock::new(|| words_of(include_str!("../tables/indefinite.txt")));
    INDEFINITE.contains(word)
}

/// Whether a word turns what it stands beside into something else.
pub(crate) fn is_modifier(word: &str) -> bool {
    static MODIFIERS: LazyLock<HashSet<&str>> =
        LazyLock::new(|| words_of(include_str!("../tables/modifiers.txt")));
    MODIFIERS.contains(word)
}

/// What number a word stands for.
pub(crate) fn number(word: &str) -> Option<f64> {
    static NUMBERS: LazyLock<HashMap<&str, f64>> = LazyLock::new(|| {
        let mut all = HashMap::new();
        for row in rows(include_str!("../tables/numbers.txt")) {
            let mut words = row.split_whitespace();
            let value = words.next().and_then(|value| value.parse().ok()).unwrap_or(0.0);
            for word in words {
                all.entry(word).or_insert(value);
            }
        }
        all
    });
    NUMBERS.get(word).copied()
}

/// A unit: its dimension, and how many base units it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    pub(crate) dimension: &'static str,
    pub(crate) factor: f64,
}

/// The unit that a word stands for: as it is written, or in lower case for one of several letters.
pub(crate) fn unit(word: &str) -> Option<Unit> {
    static UNITS: LazyLock<HashMap<&str, Unit>> = LazyLock::new(|| {
        let mut all = HashMap::new();
        for row in rows(include_str!("../tables/units.txt")) {
            let mut words = row.split_whitespace();
            let dimension = words.next().unwrap_or_default();
            let factor = words.next().and_then(|factor| factor.parse().ok()).unwrap_or(1.0);
            all.extend(words.map(|word| (word, Unit { dimension, factor })));
        }
        all
    });
    let exact = UNITS.get(word).copied();
    exact.or_else(|| {
        let lower = word.to_lowercase();
        UNITS.get(lower.as_str()).copied().filter(|_| lower.len() > 1)
    })
}

/// A word of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CalendarWord {
    /// A month, from 1.
    Month(i8),
    /// A day of the week, Monday being 0.
    Weekday(u8),
}

/// The month or the day of the week that a word in lower case stands for.
pub(crate) fn calendar(word: &str) -> Option<CalendarWord> {
    static CALENDAR: LazyLock<HashMap<&str, CalendarWord>> = LazyLock::new(|| {
        let mut all = HashMap::new();
        for row in rows(include_str!("../tables/calendar.txt")) {
            let mut words = row.split_whitespace();
            let is_month = words.next() == Some("m");
            let number: i8 = words.next().and_then(|n| n.parse().ok()).unwrap_or(0);
            let what = if is_month {
                CalendarWord::Month(number)
            } else {
                CalendarWord::Weekday(number.unsigned_abs())
            };
            all.extend(words.map(|word| (word, what)));
        }
        all
    });
    CALENDAR.get(word).copied()
}

/// Whether two words name states of which a thing is in one at a time.
pub(crate) fn exclude_each_other(a: &str, b: &str) -> bool {
    static STATES: LazyLock<HashMap<&str, usize>> = LazyLock::new(|| {
        let lines = rows(include_str!("../tables/states.txt")).enumerate();
        lines.flat_map(|(n, row)| row.split_whitespace().map(move |word| (word, n))).collect()
    });
    let denies = |a: &str, b: &str| {
        ["un", "in", "non", "dis"].iter().any(|prefix| a.strip_prefix(prefix) == Some(b))
    };
    let same_line = STATES.get(a).is_some_and(|line| STATES.get(b) == Some(line));
    a != b && (same_line || denies(a, b) || denies(b, a))
}
