//! The times that a query speaks of.
//!
//! [`periods`] finds what follows from the calendar alone, [`anchors`] what depends on an event
//! that somebody must look up. Both read English, in any case, and know no clock: the caller passes
//! the time.
//!
//! | written | means |
//! |---|---|
//! | `yesterday`, `two days ago`, `a few weeks ago` | that day; that week, month or year of the
//! calendar |
//! | `this week`, `last month`, `next quarter` | of the calendar; weeks begin on a Monday unless
//! the calendar says otherwise |
//! | `the last 10 days`, `the past week` | from so many days ago to the end of today |
//! | `on Tuesday`, `in March`, `March 5`, `in Q2` | the newest that begins not after today |
//! | `last Tuesday`, `last March`, `last summer` | the newest before today, this month, this season
//! |
//! | `5 March 2023`, `2024-03-05`, `2024-03`, `Q2 2024` | what it says |
//! | `spring of 2022`, `winter 2023` | northern: from March, from December 2023 |
//! | `in 2023`, `early 2023`, `the 1990s` | a year counts only after a word such as `in` |
//! | `early June`, `the end of June` | the first, the last third |
//! | `the week before 9 June`, `the Friday after Q1 2023` | the seven days before; the first Friday
//! |
//! | `between March and May 2023`, `5-10 March` | from the first day to the last |
//! | `since X`, `after X`, `before X`, `until X` | from its first day; from the day after; up to
//! the day before; to its last day |
//!
//! Times of day are ignored. "after yesterday's outage" includes yesterday, since the outage was
//! then.
//!
//! A word that means something else more often than a time is one only with a sign of it: "may" and
//! "march" with a capital or beside a preposition or a number, a weekday after a word such as "on",
//! an abbreviation beside a number. In doubt nothing is found.

mod calendar;
mod grammar;
mod monthly;
mod relative;
#[cfg(test)]
mod tests;
mod token;

use std::ops::Range;

pub use token::is_stop_word;

use grammar::{Expression, TimeReader};
use jiff::Timestamp;
use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use token::{Gap, Token};

/// Most bytes of a query that are looked at.
pub const PERIOD_BYTES_MAX: usize = 4096;
/// Most periods, and most anchors, of a query; those after them are ignored.
pub const EXPRESSIONS_MAX: usize = 8;
/// Most words of the name of an anchor.
const NAME_WORDS_MAX: usize = 3;
const SECOND_US: i64 = 1_000_000;
/// Words for some time or other, which name nothing to look up.
const VAGUE: [&str; 17] = [
    "afternoon",
    "day",
    "days",
    "evening",
    "fact",
    "future",
    "hour",
    "month",
    "morning",
    "night",
    "past",
    "present",
    "quarter",
    "time",
    "week",
    "weekend",
    "year",
];

/// A span of time that a query speaks of, in microseconds since the Unix epoch, UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Period {
    /// Its first moment; none if it has no beginning.
    pub from_us: Option<i64>,
    /// The first moment after it; none if it has no end.
    pub until_us: Option<i64>,
    /// Bytes of the query that say so, with the preposition, on character boundaries.
    pub words: Range<usize>,
}

/// How a time lies to an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relation {
    /// Earlier than the event.
    Before,
    /// Later than the event.
    After,
    /// From the event to now.
    Since,
    /// Up to the event.
    Until,
    /// While the event lasts.
    During,
}

/// A time that a query tells by an event, as in "before the release": somebody must look it up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// How the time lies to the event.
    pub relation: Relation,
    /// Bytes of the query that say so, on character boundaries.
    pub words: Range<usize>,
    /// Those of them that name the event.
    pub name: Range<usize>,
}

/// How somebody reckons time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calendar {
    /// Where days begin at midnight.
    pub zone: TimeZone,
    /// The day with which weeks begin.
    pub week_starts: Weekday,
}

impl Default for Calendar {
    /// UTC, weeks from Monday on.
    fn default() -> Self {
        Calendar { zone: TimeZone::UTC, week_starts: Weekday::Monday }
    }
}

/// The times that a query speaks of, in its order, for somebody who reads it at `now_us` and
/// reckons by `calendar`.
///
/// Any text is a query; [`PERIOD_BYTES_MAX`] of it are looked at, [`EXPRESSIONS_MAX`] times found.
pub fn periods(query: &str, now_us: i64, calendar: &Calendar) -> Vec<Period> {
    // A moment beyond the calendar has no local time, and a query then no times.
    let Ok(now) = Timestamp::from_microsecond(now_us) else { return Vec::new() };
    let offset = i64::from(calendar.zone.to_offset(now).seconds());
    let tokens = token::tokens(considered(query));
    let second = now_us.div_euclid(SECOND_US) + offset;
    let Some(reader) = TimeReader::new(&tokens, second, calendar.week_starts) else {
        return Vec::new();
    };
    let moment = |day: Date| {
        let midnight = calendar.zone.to_timestamp(day.at(0, 0, 0, 0)).ok()?;
        Some(midnight.as_microsecond())
    };
    let found = reader.expressions().map(|Expression { from, until, tokens: run }| Period {
        from_us: from.and_then(moment),
        until_us: until.and_then(moment),
        words: tokens[run.start].range.start..tokens[run.end - 1].range.end,
    });
    found.take(EXPRESSIONS_MAX).collect()
}

/// The events that a query tells a time by, in its order: `before`, `after`, `since`, `until` or
/// `during`, then `the`, then up to three words that are neither stop words nor times.
pub fn anchors(query: &str) -> Vec<Anchor> {
    let tokens = token::tokens(considered(query));
    let mut timely = vec![false; tokens.len()];
    // What is a time does not hang on what time it is.
    let reader = TimeReader::new(&tokens, 0, Weekday::Monday);
    for Expression { tokens: run, .. } in reader.iter().flat_map(TimeReader::expressions) {
        timely[run].fill(true);
    }
    let names = |at: usize| {
        let token: &Token = &tokens[at];
        !timely[at] && token.gap == Gap::Space && names_something(&token.lower)
    };
    let mut found = Vec::new();
    for at in 0..tokens.len().saturating_sub(2) {
        let Some(relation) = relation(&tokens[at].lower) else {
            continue;
        };
        let first = at + 2;
        let the = &tokens[at + 1];
        if timely[at]
            || the.lower != "the"
            || the.gap != Gap::Space
            || !names(first)
            || VAGUE.contains(&&*tokens[first].lower)
        {
            continue;
        }
        let most = tokens.len().min(first + NAME_WORDS_MAX);
        let end = (first..most).find(|&at| !names(at)).unwrap_or(most);
        let name = tokens[first].range.start..tokens[end - 1].range.end;
        debug_assert!(
            !name.is_empty() && end - first <= NAME_WORDS_MAX,
            "a name has words, and few"
        );
        found.push(Anchor { relation, words: tokens[at].range.start..name.end, name });
        if found.len() == EXPRESSIONS_MAX {
            break;
        }
    }
    found
}

/// The beginning of a query, up to a white space.
fn considered(query: &str) -> &str {
    if query.len() <= PERIOD_BYTES_MAX {
        return query;
    }
    let within = query.char_indices().take_while(|(at, _)| *at <= PERIOD_BYTES_MAX);
    let end = within.filter(|(_, char)| char.is_whitespace()).last().map_or(0, |(at, _)| at);
    assert!(end <= PERIOD_BYTES_MAX, "no more is looked at");
    &query[..end]
}

fn relation(word: &str) -> Option<Relation> {
    match word {
        "before" => Some(Relation::Before),
        "after" => Some(Relation::After),
        "since" => Some(Relation::Since),
        "until" => Some(Relation::Until),
        "during" => Some(Relation::During),
        _ => None,
    }
}

/// Whether it can be a word of a name. Signs of the query's syntax, and words that only join
/// others, cannot.
fn names_something(word: &str) -> bool {
    let written = word.starts_with(char::is_alphanumeric) && !word.contains(':');
    written && !token::is_stop_word(word) && relation(word).is_none()
}
