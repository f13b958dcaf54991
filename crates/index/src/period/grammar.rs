//! Reads times from the words of a query.

use std::ops::Range;

use jiff::civil::{Date, Weekday};

use super::calendar::{self, Days, Unit};
use super::token::{self, Gap, Token};

/// How deep a time may be told by another: "the day after the first Monday of early June".
const DEPTH_MAX: u8 = 4;
const ARTICLES: [&str; 3] = ["the", "a", "an"];
/// Words after which a time is no more and no less than that time.
const PLAIN: [&str; 11] =
    ["in", "on", "of", "during", "from", "within", "over", "at", "around", "throughout", "between"];
/// Words between the ends of a span.
const JOINTS: [&str; 6] = ["to", "through", "until", "till", "-", "–"];

/// A time in a query.
#[derive(Debug)]
pub(super) struct Expression {
    pub(super) from: Option<Date>,
    /// The day after it.
    pub(super) until: Option<Date>,
    /// Which words it is written with, at least one.
    pub(super) tokens: Range<usize>,
}

/// Some days that words stand for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) days: Days,
    /// The word after them.
    pub(super) end: usize,
    /// Whether they come again and again, so that only [`View::near`] decides which are meant.
    pub(super) floating: bool,
}

/// From where some words are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    /// The word that leads to them, in lower case; empty if there is none.
    pub(super) lead: &'a str,
    /// What comes again and again is the newest not after this day.
    pub(super) near: Date,
    /// Or the oldest not before it.
    pub(super) forward: bool,
    depth: u8,
}

/// Reads the words of a query at some moment.
pub(super) struct TimeReader<'a> {
    pub(super) tokens: &'a [Token],
    /// Now, in seconds since the epoch, both local.
    pub(super) second: i64,
    pub(super) today: Date,
    week_starts: Weekday,
}

impl Found {
    pub(super) fn fixed(days: Days, end: usize) -> Found {
        Found { days, end, floating: false }
    }

    pub(super) fn floating(days: Days, end: usize) -> Found {
        Found { days, end, floating: true }
    }
}

impl<'a> View<'a> {
    /// For words that begin after `lead`, a part of the same time.
    pub(super) fn after(self, lead: &'a str) -> View<'a> {
        View { lead, ..self }
    }
}

impl<'a> TimeReader<'a> {
    /// None if the calendar does not go so far.
    pub(super) fn new(
        tokens: &'a [Token],
        second: i64,
        week_starts: Weekday,
    ) -> Option<TimeReader<'a>> {
        Some(TimeReader { tokens, second, today: calendar::day_of(second)?, week_starts })
    }

    /// The unit of the reader's calendar that `day` is in.
    pub(super) fn around(&self, day: Date, unit: Unit) -> Option<Days> {
        if unit != Unit::Week {
            return Days::around(day, unit);
        }
        let since = i64::from(day.weekday().since(self.week_starts));
        Days::many(calendar::shift(day, Unit::Day, -since)?, Unit::Week, 1)
    }

    /// All times of the query, each the longest that begins where it does.
    pub(super) fn expressions(&self) -> impl Iterator<Item = Expression> {
        let mut at = 0;
        std::iter::from_fn(move || {
            while at < self.tokens.len() {
                let found = self.expression(at);
                let next = found.as_ref().map_or(at + 1, |found| found.tokens.end);
                assert!(
                    at < next && next <= self.tokens.len(),
                    "a time is told by words of the query"
                );
                at = next;
                if found.is_some() {
                    return found;
                }
            }
            None
        })
    }

    fn expression(&self, at: usize) -> Option<Expression> {
        let lead = self.word(at);
        let view = |lead| View { lead, near: self.today, forward: false, depth: DEPTH_MAX };
        let led = |from: fn(Days) -> Option<Date>, until: fn(Days) -> Option<Date>| {
            let Found { mut days, end, .. } =
                self.after(at).and_then(|next| self.point(next, view(lead)))?;
            if self.tokens[end - 1].possessive {
                // "after yesterday's outage" may be yesterday.
                days = match lead {
                    "after" => Days { first: days.first, end: days.first },
                    "before" => Days { first: days.end, end: days.end },
                    _ => days,
                };
            }
            Some(Expression { from: from(days), until: until(days), tokens: at..end })
        };
        match lead {
            "since" => led(|days| Some(days.first), |_| None),
            "after" => led(|days| Some(days.end), |_| None),
            "before" => led(|_| None, |days| Some(days.first)),
            "until" | "till" | "by" => led(|_| None, |days| Some(days.end)),
            _ => {
                let start = if PLAIN.contains(&lead) { self.after(at)? } else { at };
                let view = view(if start == at { "" } else { lead });
                let found = self.span(start, view);
                let Found { days, end, .. } =
                    found.or_else(|| self.point(start, view).filter(|_| lead != "between"))?;
                Some(Expression { from: Some(days.first), until: Some(days.end), tokens: at..end })
            }
        }
    }

    /// From one time to another: "March to May 2023"; the year may be told once.
    fn span(&self, at: usize, view: View<'_>) -> Option<Found> {
        let joint = |word: &str| {
            if view.lead == "between" { word == "and" } else { JOINTS.contains(&word) }
        };
        let within = View { lead: if view.lead.is_empty() { "" } else { "between" }, ..view };
        let Some(first) = self.point(at, within) else {
            return self.days_span(at, within, joint);
        };
        let second_at = self.after(first.end).filter(|_| joint(self.next(first.end)))?;
        let near_first = View { near: first.days.first, forward: true, ..within };
        let second = self.point(second_at, if first.floating { within } else { near_first })?;
        let near_second = View { near: second.days.first, forward: false, ..within };
        let first = if first.floating { self.point(at, near_second)? } else { first };
        let days = Days {
            first: first.days.first.min(second.days.first),
            end: first.days.end.max(second.days.end),
        };
        Some(Found { days, end: second.end, floating: first.floating && second.floating })
    }

    /// "between 5 and 10 March": the month is told once.
    fn days_span(&self, at: usize, view: View<'_>, joint: impl Fn(&str) -> bool) -> Option<Found> {
        let at = self.skip(at, &["the"]);
        let (day, _) = token::days(self.word(at)).filter(|_| !view.lead.is_empty())?;
        let second_at = self.after(at + 1).filter(|_| joint(self.next(at + 1)))?;
        let second =
            self.day_first(second_at, view).or_else(|| self.month_first(second_at, view))?;
        let first = second.days.first.with().day(day).build().ok()?;
        let days = Days { first, end: second.days.end };
        (first < days.end && second.days.count() == 1).then_some(Found { days, ..second })
    }

    /// One time, whatever it is told by.
    pub(super) fn point(&self, at: usize, view: View<'_>) -> Option<Found> {
        let view = View { depth: view.depth.checked_sub(1)?, ..view };
        self.beside(at, view)
            .or_else(|| self.part(at, view))
            .or_else(|| self.ago(at))
            .or_else(|| self.rolling(at, view))
            .or_else(|| self.turn(at))
            .or_else(|| self.near_day(at))
            .or_else(|| self.weekday(at, view))
            .or_else(|| self.date(at, view))
    }

    /// The word at `at` in lower case, empty after the last.
    pub(super) fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| &token.lower)
    }

    /// The same, empty also if more than white space is before it.
    pub(super) fn next(&self, at: usize) -> &str {
        self.tokens.get(at).filter(|token| token.gap == Gap::Space).map_or("", |token| &token.lower)
    }

    /// The same, though a comma may be before it.
    pub(super) fn tied(&self, at: usize) -> &str {
        self.tokens.get(at).filter(|token| token.gap != Gap::Break).map_or("", |token| &token.lower)
    }

    /// The place after `at`, if a word follows there at once.
    pub(super) fn after(&self, at: usize) -> Option<usize> {
        (!self.next(at + 1).is_empty()).then_some(at + 1)
    }

    /// The place after one of these words, or the same place.
    pub(super) fn skip(&self, at: usize, words: &[&str]) -> usize {
        if words.contains(&self.word(at)) { self.after(at).unwrap_or(at) } else { at }
    }

    pub(super) fn skip_article(&self, at: usize) -> usize {
        self.skip(at, &ARTICLES)
    }

    pub(super) fn is_capital(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.capital)
    }
}
