//! What a statement says of when it holds: from which day on, until which day, or only if something
//! else is so.

use jiff::ToSpan;
use jiff::civil::{Date, Weekday};

use super::cue::{Cue, Cues};
use super::statement::date_at;
use super::tables::{CalendarWord, calendar};
use super::token::Token;
use super::value::Value;

/// Words after which a day begins something.
const BEGINNING: [&[&str]; 16] = [
    &["from"],
    &["starting"],
    &["starting", "from"],
    &["starting", "on"],
    &["starting", "in"],
    &["beginning"],
    &["as", "of"],
    &["effective"],
    &["with", "effect", "from"],
    &["ab"],
    &["ab", "dem"],
    &["à", "partir", "du"],
    &["à", "partir", "de"],
    &["a", "partir", "del"],
    &["a", "partire", "dal"],
    &["vanaf"],
];
/// Words after which a day begins something that changes then.
const COMING: [&[&str]; 6] = [&["on"], &["in"], &["by"], &["am"], &["im"], &["el"]];
/// Words after which a day ends something.
const ENDING: [&[&str]; 10] = [
    &["until"],
    &["till"],
    &["through"],
    &["up", "to"],
    &["bis"],
    &["bis", "zum"],
    &["jusqu'", "au"],
    &["hasta"],
    &["hasta", "el"],
    &["tot"],
];

/// Verbs of which a day is the value, rather than the time at which something holds.
const DATED: [&str; 16] = [
    "start", "starts", "begin", "begins", "run", "runs", "last", "lasts", "valid", "end", "ends",
    "extended", "beginnt", "startet", "läuft", "gilt",
];

/// A day as a text names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A day of the calendar, or the first one of a month or of a year; without a year the next
    /// one to come.
    Day {
        /// The year.
        year: Option<i16>,
        /// The month, from 1.
        month: i8,
        /// The day, from 1; none when only the month is named.
        day: Option<i8>,
    },
    /// The next day of the week like this, Monday being 0.
    Weekday(u8),
    /// The day on which it is said.
    Today,
    /// The day after.
    Tomorrow,
    /// The first day of the next week, month, quarter or year.
    Next(Period),
}

/// A part of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// Seven days from a Monday on.
    Week,
    /// A month.
    Month,
    /// Three months.
    Quarter,
    /// A year.
    Year,
}

impl Moment {
    /// The day that is meant by it on the day `today`; none when there is none.
    #[must_use]
    pub fn first_day(self, today: Date) -> Option<Date> {
        match self {
            Moment::Today => Some(today),
            Moment::Tomorrow => today.tomorrow().ok(),
            Moment::Weekday(day) => {
                let weekday = Weekday::from_monday_zero_offset(day as i8).ok()?;
                today.nth_weekday(1, weekday).ok()
            }
            Moment::Next(period) => next(period, today),
            Moment::Day { year, month, day } => {
                let in_year = |year| Date::new(year, month, day.unwrap_or(1)).ok();
                match year {
                    Some(year) => in_year(year),
                    None => {
                        let date = in_year(today.year())?;
                        if date >= today { Some(date) } else { in_year(today.year() + 1) }
                    }
                }
            }
        }
    }

    /// The day after the last one that is meant by it.
    #[must_use]
    pub fn day_after(self, today: Date) -> Option<Date> {
        let first = self.first_day(today)?;
        let span = match self {
            Moment::Day { day: None, .. } => 1.month(),
            Moment::Next(Period::Week) => 1.week(),
            Moment::Next(Period::Month) => 1.month(),
            Moment::Next(Period::Quarter) => 3.months(),
            Moment::Next(Period::Year) => 1.year(),
            _ => 1.day(),
        };
        first.checked_add(span).ok()
    }
}

fn next(period: Period, today: Date) -> Option<Date> {
    let month = |month: i8| Date::new(today.year(), month, 1).ok();
    match period {
        Period::Week => today.nth_weekday(1, Weekday::Monday).ok(),
        Period::Month => month(today.month())?.checked_add(1.month()).ok(),
        Period::Quarter => month((today.month() - 1) / 3 * 3 + 1)?.checked_add(3.months()).ok(),
        Period::Year => Date::new(today.year() + 1, 1, 1).ok(),
    }
}

/// When a statement holds, as far as it says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct When {
    /// From the first moment of this day on.
    pub from: Option<Moment>,
    /// Until the last moment of this day.
    pub until: Option<Moment>,
    /// Whether it is about what is to come.
    pub is_future: bool,
    /// Whether it holds only if something else is so.
    pub is_conditional: bool,
}

/// What these words say of when they hold, and which of them only say that.
pub(crate) fn when(words: &[Token], cues: &Cues) -> (When, Vec<bool>) {
    let mut dated = vec![false; words.len()];
    let mut found = When {
        is_future: cues.has(Cue::Future),
        is_conditional: cues.has(Cue::Condition),
        ..When::default()
    };
    for at in 0..words.len() {
        let before = at.checked_sub(1).map_or("", |at| words[at].folded.as_str());
        if DATED.contains(&before) && !cues.has(Cue::Future) {
            continue;
        }
        if let Some((length, moment, count)) = after(&BEGINNING, words, at) {
            found.from.get_or_insert(moment);
            mark(&mut dated, at, length + count);
            let to = at + length + count;
            let joins = ["to", "until", "till", "bis", "au", "-", "–"];
            if words.get(to).is_some_and(|word| joins.contains(&word.folded.as_str()))
                && let Some((moment, count)) = moment_at(words, to + 1)
            {
                found.until.get_or_insert(moment);
                mark(&mut dated, to, count + 1);
            }
        }
        let is_coming = cues.has(Cue::Becoming) || cues.has(Cue::Future);
        if let Some((length, moment, count)) = after(&COMING, words, at).filter(|_| is_coming) {
            found.from.get_or_insert(moment);
            mark(&mut dated, at, length + count);
        }
        if let Some((length, moment, count)) = after(&ENDING, words, at) {
            found.until.get_or_insert(moment);
            mark(&mut dated, at, length + count);
        }
        between(words, at, &mut found, &mut dated);
        let Some((moment, count)) = relative(words, at) else { continue };
        match moment {
            Moment::Today => {
                found.until.get_or_insert(moment);
            }
            _ => {
                found.from.get_or_insert(moment);
            }
        }
        mark(&mut dated, at, count);
    }
    (found, dated)
}

/// `between 4 May and 9 May`.
fn between(words: &[Token], at: usize, found: &mut When, dated: &mut [bool]) {
    if !["between", "zwischen", "entre"].contains(&words[at].folded.as_str()) {
        return;
    }
    let Some((from, count)) = moment_at(words, at + 1) else { return };
    let Some((until, more)) = moment_at(words, at + 2 + count) else { return };
    found.from.get_or_insert(from);
    found.until.get_or_insert(until);
    mark(dated, at, 2 + count + more);
}

fn mark(dated: &mut [bool], at: usize, count: usize) {
    let end = (at + count).min(dated.len());
    dated[at..end].fill(true);
}

/// A day after one of these phrases: the words of the phrase, the day, and its words.
fn after(phrases: &[&[&str]], words: &[Token], at: usize) -> Option<(usize, Moment, usize)> {
    let longest_first = phrases.iter().rev();
    longest_first
        .filter(|phrase| {
            let said = words[at..].iter().map(|word| word.folded.as_str());
            said.take(phrase.len()).eq(phrase.iter().copied())
        })
        .find_map(|phrase| {
            let (moment, count) = moment_at(words, at + phrase.len())?;
            Some((phrase.len(), moment, count))
        })
}

/// A day that is named here, and its words; never a year alone.
fn moment_at(words: &[Token], at: usize) -> Option<(Moment, usize)> {
    let skipped = words
        .get(at)
        .is_some_and(|word| ["the", "on", "dem", "le", "el"].contains(&word.folded.as_str()));
    let at = at + usize::from(skipped);
    let rest = words.get(at..).filter(|rest| !rest.is_empty())?;
    if let Some((moment, count)) = relative(words, at) {
        return Some((moment, count + usize::from(skipped)));
    }
    if let Some(CalendarWord::Weekday(day)) = calendar(&rest[0].folded) {
        return Some((Moment::Weekday(day), 1 + usize::from(skipped)));
    }
    let (value, count) = date_at(rest, "from")?;
    let Value::Date { year, month, day } = value else { return None };
    let month = month.or(year.map(|_| 1))?;
    Some((Moment::Day { year, month, day }, count + usize::from(skipped)))
}

/// `tomorrow`, `today`, `next week`.
fn relative(words: &[Token], at: usize) -> Option<(Moment, usize)> {
    let word = |n: usize| words.get(at + n).map_or("", |word| word.folded.as_str());
    let next = ["next", "nächste", "nächsten", "nächster", "nächstes", "coming"];
    let period = match word(1) {
        "week" | "woche" => Some(Period::Week),
        "month" | "monat" => Some(Period::Month),
        "quarter" | "quartal" => Some(Period::Quarter),
        "year" | "jahr" => Some(Period::Year),
        _ => None,
    };
    if next.contains(&word(0)) {
        if let Some(period) = period {
            return Some((Moment::Next(period), 2));
        }
        if let Some(CalendarWord::Weekday(day)) = calendar(word(1)) {
            return Some((Moment::Weekday(day), 2));
        }
    }
    match word(0) {
        "tomorrow" | "morgen" | "demain" | "mañana" | "domani" | "amanhã" | "zítra" | "завтра" => {
            Some((Moment::Tomorrow, 1))
        }
        "today" | "tonight" | "heute" | "aujourd'hui" | "hoy" | "oggi" | "hoje" | "vandaag" => {
            Some((Moment::Today, 1))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cue::cues;
    use crate::token::tokens;

    fn of(text: &str) -> When {
        let words = tokens(text);
        let (cues, _) = cues(text, &words);
        when(&words, &cues).0
    }

    #[test]
    fn what_begins_and_ends_is_read_from_the_words() {
        let today = Date::constant(2030, 5, 15);
        let days = |text: &str| {
            let when = of(text);
            let from = when.from.and_then(|from| from.first_day(today));
            let until = when.until.and_then(|until| until.day_after(today));
            (from.map(|day| day.to_string()), until.map(|day| day.to_string()))
        };
        let is = |from: &str, until: &str| {
            let day = |day: &str| (!day.is_empty()).then(|| day.to_string());
            (day(from), day(until))
        };
        assert_eq!(days("From 1 June 2030 the fee is 4 EUR"), is("2030-06-01", ""));
        assert_eq!(days("As of next month Ida leads the team"), is("2030-06-01", ""));
        assert_eq!(
            days("The gate will be shut between 3 June and 5 June"),
            is("2030-06-03", "2030-06-06")
        );
        assert_eq!(days("The gate is shut today"), is("", "2030-05-16"));
        assert_eq!(days("The fee rises to 5 EUR on 2 July"), is("2030-07-02", ""));
        assert_eq!(days("The course starts from 1 June"), is("", ""));
        assert!(of("If it rains the gate is shut").is_conditional);
    }
}
