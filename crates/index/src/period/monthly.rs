//! The days given by a date, or by the name of a month, a season or a year.

use super::calendar::{Days, Unit, yearly};
use super::grammar::{Found, TimeReader, View};
use super::token::{Gap, days, is_stop_word, month, quarter, season, year};

/// Words after which the name of a month is a month.
const MONTH_LEADS: [&str; 17] = [
    "in",
    "of",
    "since",
    "until",
    "till",
    "before",
    "after",
    "last",
    "next",
    "this",
    "from",
    "during",
    "by",
    "between",
    "throughout",
    "early",
    "around",
];
/// Words after which four digits are a year, if they can be.
const YEAR_LEADS: [&str; 13] = [
    "in",
    "since",
    "before",
    "after",
    "until",
    "till",
    "during",
    "of",
    "from",
    "by",
    "between",
    "throughout",
    "early",
];
/// Names of months that are also names of people, or other words.
const AMBIGUOUS: [i8; 5] = [3, 4, 5, 6, 8];
/// Words before a name that does something, and is no month.
const AUXILIARIES: [&str; 21] = [
    "and", "are", "aunt", "can", "could", "did", "do", "does", "for", "had", "has", "have", "is",
    "on", "should", "to", "was", "were", "will", "with", "would",
];
/// Words after "may" that show that it is a verb.
const VERB_SIGNS: [&str; 18] = [
    "also", "be", "cause", "contain", "have", "he", "i", "it", "need", "never", "not", "only",
    "she", "still", "that", "they", "we", "you",
];
/// What is counted rather than dated, as in "before 2000 rows".
const COUNTED: [&str; 28] = [
    "bytes",
    "characters",
    "days",
    "dollars",
    "euros",
    "files",
    "gb",
    "hours",
    "items",
    "iterations",
    "kb",
    "km",
    "lines",
    "mb",
    "meters",
    "miles",
    "minutes",
    "ms",
    "people",
    "percent",
    "px",
    "records",
    "requests",
    "rows",
    "seconds",
    "steps",
    "times",
    "tokens",
];

impl TimeReader<'_> {
    /// A date, or a month, quarter, season or year.
    pub(super) fn date(&self, at: usize, view: View<'_>) -> Option<Found> {
        self.iso(at)
            .or_else(|| Some(Found::fixed(numeric(self.word(at))?, at + 1)))
            .or_else(|| self.day_first(at, view))
            .or_else(|| self.month_first(at, view))
            .or_else(|| self.quarter(at, view))
            .or_else(|| self.season(at, view))
            .or_else(|| self.year(at, view))
    }

    /// `2024-03-05`, with or without a time of day, `2024/03/05` or `2024-03`.
    fn iso(&self, at: usize) -> Option<Found> {
        let word = self.word(at);
        let (date, time) = word.split_once('t').unwrap_or((word, ""));
        let timely = time.starts_with(|char: char| char.is_ascii_digit());
        if word.contains('t') && !timely {
            return None;
        }
        let number = |piece: &str| {
            piece.parse::<i8>().ok().filter(|_| piece.len() == 2 && !piece.contains('+'))
        };
        let separator = if date.contains('-') { '-' } else { '/' };
        let pieces: Vec<&str> = date.split(separator).collect();
        let days = match pieces[..] {
            [y, m] if separator == '-' && !timely => Days::months(year(y)?, number(m)?, 1),
            [y, m, d] => number(d).and_then(|day| Days::of_month(year(y)?, number(m)?, (day, day))),
            _ => None,
        };
        Some(Found::fixed(days?, at + 1))
    }

    /// "5 March 2023", "the 5th of March".
    pub(super) fn day_first(&self, at: usize, view: View<'_>) -> Option<Found> {
        let at = self.skip(at, &["the"]);
        let days = days(self.word(at))?;
        let name = self.skip(at + 1, &["of"]);
        let (month, _) = month(self.next(name))?;
        if name == at + 1 && self.is_verb(name) {
            return None;
        }
        self.day_of_month(name + 1, month, days, view)
    }

    /// "March 5, 2023", "March the 5th", "March 2023", "in March".
    pub(super) fn month_first(&self, at: usize, view: View<'_>) -> Option<Found> {
        let (number, _) = month(self.word(at))?;
        let day = self.skip(at + 1, &["the"]);
        if let Some(days) = days(self.next(day)) {
            return self.day_of_month(day + 1, number, days, view);
        }
        if let Some((year, end)) = self.year_beside(at + 1) {
            return Some(Found::fixed(Days::months(year, number, 1)?, end));
        }
        if !self.is_month(at, view.lead) {
            return None;
        }
        Some(Found::floating(
            yearly(view.near, view.forward, |year| Days::months(year, number, 1))?,
            at + 1,
        ))
    }

    /// Days of a month, of the year that is written at `at`, if one is.
    fn day_of_month(&self, at: usize, month: i8, days: (i8, i8), view: View<'_>) -> Option<Found> {
        if let Some((year, end)) = self.year_beside(at) {
            return Some(Found::fixed(Days::of_month(year, month, days)?, end));
        }
        Some(Found::floating(
            yearly(view.near, view.forward, |year| Days::of_month(year, month, days))?,
            at,
        ))
    }

    /// The year right here, and the place after it: "2023", ", 2023", "of 2023".
    fn year_beside(&self, at: usize) -> Option<(i16, usize)> {
        if let Some(year) = year(self.tied(at)) {
            return Some((year, at + 1));
        }
        let of = self.after(at).filter(|_| self.next(at) == "of")?;
        Some((year(self.word(of))?, of + 1))
    }

    /// Whether this name of a month, with no day and no year beside it, is a month.
    fn is_month(&self, at: usize, lead: &str) -> bool {
        let Some((number, full)) = month(self.word(at)) else {
            return false;
        };
        if MONTH_LEADS.contains(&lead) {
            return self.led_month(at, lead).is_some();
        }
        full && (!AMBIGUOUS.contains(&number)
            || (self.is_capital(at) && !self.is_person_or_verb(at)))
    }

    /// The month at `at` after such a word, unless it is a verb or an abbreviation in small
    /// letters.
    pub(super) fn led_month(&self, at: usize, lead: &str) -> Option<i8> {
        let (number, full) = month(self.word(at))?;
        let verb = match lead {
            "this" => number == 5 && !self.is_capital(at) && !self.next(at + 1).is_empty(),
            "in" | "last" | "next" | "early" => false,
            _ => self.is_verb(at),
        };
        (!verb && (full || self.is_capital(at))).then_some(number)
    }

    /// Whether it is "may" with a verb or a subject after it.
    fn is_verb(&self, at: usize) -> bool {
        self.word(at) == "may" && !self.is_capital(at) && VERB_SIGNS.contains(&self.next(at + 1))
    }

    /// Whether "May" with a capital is the first word of a question, or the name of somebody.
    fn is_person_or_verb(&self, at: usize) -> bool {
        let next = self.next(at + 1);
        if self.tokens[at].gap == Gap::Break {
            return is_stop_word(next) || VERB_SIGNS.contains(&next);
        }
        let before = self.word(at.wrapping_sub(1));
        let named = self.is_capital(at.wrapping_sub(1))
            && self.tokens[at].gap == Gap::Space
            && !is_stop_word(before);
        named || AUXILIARIES.contains(&before) || VERB_SIGNS.contains(&next)
    }

    /// "Q2 2024", "2024 Q2", "in Q2", "H1 2024".
    fn quarter(&self, at: usize, view: View<'_>) -> Option<Found> {
        if let Some(year) = year(self.word(at)) {
            let (month, months) = quarter(self.next(at + 1))?;
            return Some(Found::fixed(Days::months(year, month, months)?, at + 2));
        }
        let (month, months) = quarter(self.word(at))?;
        if let Some((year, end)) = self.year_beside(at + 1) {
            return Some(Found::fixed(Days::months(year, month, months)?, end));
        }
        if months != 3 || !MONTH_LEADS.contains(&view.lead) {
            return None;
        }
        Some(Found::floating(
            yearly(view.near, view.forward, |year| Days::months(year, month, months))?,
            at + 1,
        ))
    }

    /// "summer 2023", "the spring of 2022", "in the summer".
    fn season(&self, at: usize, view: View<'_>) -> Option<Found> {
        let name = self.skip(at, &["the"]);
        let month = season(self.word(name))?;
        if let Some((year, end)) = self.year_beside(name + 1) {
            return Some(Found::fixed(Days::months(year, month, 3)?, end));
        }
        // "spring" and "fall" are more often something else.
        let alone = self.next(name + 1).is_empty() || is_stop_word(self.next(name + 1));
        let sure = matches!(self.word(name), "summer" | "autumn" | "winter")
            || (name > at && alone && self.next(name + 1) != "of");
        let led = matches!(view.lead, "in" | "during" | "over" | "since" | "throughout" | "early");
        if !led || !sure {
            return None;
        }
        Some(Found::floating(
            yearly(view.near, view.forward, |year| Days::months(year, month, 3))?,
            name + 1,
        ))
    }

    /// "in 2023", "the year 2023", "from 2020-2023", "in the 1990s".
    fn year(&self, at: usize, view: View<'_>) -> Option<Found> {
        let named = self.skip(self.skip(at, &["the"]), &["year"]);
        let led = YEAR_LEADS.contains(&view.lead) || (named > at && self.word(named - 1) == "year");
        let word = self.word(named);
        if let Some(first) = word.strip_suffix('s').and_then(year) {
            return Days::around(Days::year(first)?.first, Unit::Decade)
                .filter(|days| days.first.year() == first && led)
                .map(|days| Found::fixed(days, named + 1));
        }
        let articled = named > at && self.word(named - 1) == "the";
        if !led || articled || self.is_count(named, view.lead) {
            return None;
        }
        let days = match word.split_once(['-', '–']) {
            Some((first, last)) => {
                Days { first: Days::year(year(first)?)?.first, end: Days::year(year(last)?)?.end }
            }
            None => Days::year(year(word)?)?,
        };
        (days.first < days.end).then_some(Found::fixed(days, named + 1))
    }

    /// Whether the number at `at` is a count of something.
    fn is_count(&self, at: usize, lead: &str) -> bool {
        let next = self.next(at + 1);
        let plural = next.len() > 3
            && next.ends_with('s')
            && !next.ends_with("ss")
            && !is_stop_word(next)
            && next != "does";
        let dated = matches!(lead, "in" | "since" | "during" | "throughout" | "early");
        COUNTED.contains(&next) || (plural && !dated)
    }
}

/// `13.01.2024`, `13/01/2024`: the day comes first, unless only the other order is a date.
fn numeric(word: &str) -> Option<Days> {
    let separator = if word.contains('.') { '.' } else { '/' };
    let pieces: Vec<&str> = word.split(separator).collect();
    let [first, second, y] = pieces[..] else { return None };
    let number = |piece: &str| {
        let is_number = (1..=2).contains(&piece.len()) && !piece.contains('+');
        piece.parse::<i8>().ok().filter(|_| is_number)
    };
    let (year, first, second) = (year(y)?, number(first)?, number(second)?);
    Days::of_month(year, second, (first, first)).or_else(|| {
        let is_american = separator == '/';
        is_american.then(|| Days::of_month(year, first, (second, second))).flatten()
    })
}
