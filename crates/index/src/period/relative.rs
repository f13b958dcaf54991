//! The days given in relation to today, or to another time.

use jiff::civil::Weekday;

use super::calendar::{Days, Unit, day_of, shift, weekday_near, yearly};
use super::grammar::{Found, TimeReader, View};
use super::token::{month, number, ordinal, season, unit, weekday};

/// How many "a few" are, at least and at most.
const FEW: (i64, i64) = (2, 5);
/// How many "several" are.
const SEVERAL: (i64, i64) = (3, 7);
/// Words after which "the last week" is the seven days up to now.
const ROLLING_LEADS: [&str; 5] = ["in", "over", "within", "during", "throughout"];
/// Words after which a weekday is a day and not a part of a name.
const WEEKDAY_LEADS: [&str; 9] =
    ["on", "of", "since", "before", "after", "until", "till", "by", "from"];

/// A number of units, at least and at most.
type Count = (i64, i64);

impl TimeReader<'_> {
    /// "two", "a few", "a couple of", and the place after it.
    fn count(&self, at: usize) -> Option<(Count, usize)> {
        let bare = self.skip(at, &["a"]);
        let (count, end) = match self.word(bare) {
            "couple" => ((2, 2), self.skip(bare + 1, &["of"])),
            "few" => (FEW, bare + 1),
            "several" => (SEVERAL, bare + 1),
            word if bare == at => (number(word).map(|number| (number, number))?, at + 1),
            _ => return None,
        };
        Some((count, end))
    }

    /// "two weeks", "a week", and the place after it.
    fn amount(&self, at: usize) -> Option<(Count, Unit, usize)> {
        if let Some((count, end)) = self.count(at) {
            return unit(self.next(end)).map(|(unit, _)| (count, unit, end + 1));
        }
        let bare = self.skip_article(at);
        let (unit, plural) = unit(self.word(bare))?;
        (!plural).then_some(((1, 1), unit, bare + 1))
    }

    /// "two weeks ago", "a year from now".
    pub(super) fn ago(&self, at: usize) -> Option<Found> {
        if self.word(at) == "the" {
            return None;
        }
        let ((low, high), unit, end) = self.amount(at)?;
        let (sign, end) = match self.next(end) {
            "ago" => (-1, end + 1),
            "from" if matches!(self.next(end + 1), "now" | "today") => (1, end + 2),
            _ => return None,
        };
        let around = |count: i64| match unit {
            Unit::Seconds(each) => {
                Days::one(day_of(self.second.checked_add(sign * count * each)?)?)
            }
            _ => self.around(shift(self.today, unit, sign * count)?, unit),
        };
        let (one, other) = (around(low)?, around(high)?);
        Some(Found::fixed(
            Days { first: one.first.min(other.first), end: one.end.max(other.end) },
            end,
        ))
    }

    /// "the last 10 days", "the past week", "the next two months".
    pub(super) fn rolling(&self, at: usize, view: View<'_>) -> Option<Found> {
        let start = self.skip(at, &["the", "these"]);
        let sign = match self.word(start) {
            "last" | "past" | "previous" => -1,
            "next" | "coming" => 1,
            _ => return None,
        };
        let counted = if self.next(start + 1) == "a" {
            None
        } else {
            self.after(start).and_then(|at| self.count(at))
        };
        let (count, unit, end) = if let Some(((_, high), end)) = counted {
            (high, unit(self.next(end))?.0, end + 1)
        } else {
            let (unit, plural) =
                unit(self.next(start + 1)).filter(|(unit, _)| *unit != Unit::Weekend)?;
            let led =
                start > at && ROLLING_LEADS.contains(&view.lead) && self.next(start + 2) != "of";
            let fits =
                !plural && (self.word(start) == "past" || (self.word(start) == "last" && led));
            (fits.then_some(1)?, unit, start + 2)
        };
        let edge = match unit {
            Unit::Seconds(each) => day_of(self.second.checked_add(sign * count * each)?)?,
            _ => shift(self.today, unit, sign * count)?,
        };
        let days = Days { first: edge.min(self.today), end: edge.max(self.today).tomorrow().ok()? };
        Some(Found::fixed(days, end))
    }

    /// "this week", "last Tuesday", "next March", "last night".
    pub(super) fn turn(&self, at: usize) -> Option<Found> {
        let start = self.skip(at, &["the"]);
        let (sign, only_units) = match self.word(start) {
            "last" => (-1, false),
            "this" => (0, false),
            "next" => (1, false),
            "previous" | "past" => (-1, true),
            "current" => (0, true),
            "coming" | "upcoming" => (1, true),
            _ => return None,
        };
        let (start, sign) = match (sign, self.next(start + 1)) {
            (0, "past") => (start + 1, -1),
            (0, "coming") => (start + 1, 1),
            _ => (start, sign),
        };
        let word = self.next(start + 1);
        let days = match unit(word) {
            Some((Unit::Seconds(_) | Unit::Day, _) | (_, true)) => return None,
            Some((unit, _)) => self
                .around(shift(self.today, unit, sign)?, unit)
                .filter(|_| !self.names_part(start)),
            None if only_units => None,
            None => self.turn_of_name(start + 1, sign),
        };
        Some(Found::fixed(days?, start + 2))
    }

    /// Whether it is the last week of something that is not a time, as in "the last week of the
    /// project".
    fn names_part(&self, start: usize) -> bool {
        let articled =
            start.checked_sub(1).is_some_and(|before| self.skip(before, &["the"]) == start);
        articled && self.next(start + 2) == "of"
    }

    fn turn_of_name(&self, at: usize, sign: i64) -> Option<Days> {
        let word = self.word(at);
        let month_first = self.today.first_of_month();
        if let Some((weekday, full)) = weekday(word) {
            let day = match sign {
                0 => self.weekday_of_week(0, weekday)?,
                _ => weekday_near(shift(self.today, Unit::Day, sign)?, sign > 0, weekday)?,
            };
            return Days::one(day).filter(|_| full || self.is_capital(at));
        }
        if month(word).is_some() {
            let month = self.led_month(at, if sign == 0 { "this" } else { "last" })?;
            return match sign {
                0 => Days::months(self.today.year(), month, 1),
                _ => yearly(shift(month_first, Unit::Day, sign)?, sign > 0, |year| {
                    Days::months(year, month, 1)
                }),
            };
        }
        if let Some(month) = season(word) {
            let of_year = |year| Days::months(year, month, 3);
            let wintry = month == 12 && self.today.month() <= 2;
            return match sign {
                0 => of_year(self.today.year() - i16::from(wintry)),
                1 => yearly(self.today.tomorrow().ok()?, true, of_year),
                _ => yearly(shift(self.today, Unit::Month, -3)?, false, of_year),
            };
        }
        match (sign, word) {
            (-1, "night" | "evening") => Days::one(self.today.yesterday().ok()?),
            (0, "morning" | "afternoon" | "evening") => Days::one(self.today),
            _ => None,
        }
    }

    /// "today" and the days about it.
    pub(super) fn near_day(&self, at: usize) -> Option<Found> {
        let day = match self.word(at) {
            "today" | "tonight" => self.today,
            "yesterday" => self.today.yesterday().ok()?,
            "tomorrow" => self.today.tomorrow().ok()?,
            _ => return None,
        };
        Some(Found::fixed(Days::one(day)?, at + 1))
    }

    /// "on Tuesday", "Tuesday last week", "Tuesday, 5 March 2024", "on the weekend".
    pub(super) fn weekday(&self, at: usize, view: View<'_>) -> Option<Found> {
        if self.word(at) == "the"
            && self.next(at + 1) == "weekend"
            && ["on", "at", "over", "during", "since"].contains(&view.lead)
        {
            let saturday = weekday_near(view.near, view.forward, Weekday::Saturday)?;
            return Some(Found::floating(Days::around(saturday, Unit::Weekend)?, at + 2));
        }
        let (weekday, full) = weekday(self.word(at))?;
        let of = self.skip(at + 1, &["of"]);
        let sign = match (self.tied(at + 1), self.next(of), self.next(of + 1)) {
            (_, "last", "week") => Some(-1),
            (_, "this", "week") => Some(0),
            (_, "next", "week") => Some(1),
            _ => None,
        };
        if let Some(sign) = sign {
            return Some(Found::fixed(Days::one(self.weekday_of_week(sign, weekday)?)?, of + 2));
        }
        let dated =
            if self.tied(at + 1).is_empty() { None } else { self.date(at + 1, view.after("")) };
        if let Some(found) = dated.filter(|found| found.days.count() == 1) {
            return Some(found);
        }
        let led = WEEKDAY_LEADS.contains(&view.lead) || view.lead == "between";
        let abbreviated = self.is_capital(at) && weekday != Weekday::Sunday;
        if !led || !(full || abbreviated) {
            return None;
        }
        Some(Found::floating(Days::one(weekday_near(view.near, view.forward, weekday)?)?, at + 1))
    }

    /// That day of this week, or of one so many weeks later.
    fn weekday_of_week(&self, weeks: i64, weekday: Weekday) -> Option<jiff::civil::Date> {
        let week = self.around(shift(self.today, Unit::Week, weeks)?, Unit::Week)?;
        weekday_near(week.first, true, weekday)
    }

    /// "the week before 9 June", "two days after X", "the Friday before X", "the week before last".
    pub(super) fn beside(&self, at: usize, view: View<'_>) -> Option<Found> {
        let bare = self.skip_article(at);
        let named = weekday(self.word(bare)).filter(|(_, full)| *full);
        let end = if named.is_some() { bare + 1 } else { self.amount(at)?.2 };
        let lead = self.next(end);
        let later = match lead {
            "before" => false,
            "after" => true,
            _ => return None,
        };
        let next = self.after(end)?;
        let Some(found) = self.point(next, view.after(lead)) else {
            return if lead == "before" && self.word(next) == "last" {
                before_last(self, at, next + 1)
            } else {
                None
            };
        };
        let days = found.days;
        let beside = if let Some((weekday, _)) = named {
            let near = if later { days.end } else { days.first.yesterday().ok()? };
            Days::one(weekday_near(near, later, weekday)?)
        } else {
            let (count, unit, _) = self.amount(at)?;
            counted_beside(days, count, unit, later)
        };
        Some(Found { days: beside?, ..found })
    }

    /// "early June", "the end of 2023", "the first week of March", "the week of 5 June".
    pub(super) fn part(&self, at: usize, view: View<'_>) -> Option<Found> {
        let start = self.skip(at, &["the"]);
        let word = self.word(start);
        let third = match word {
            "early" | "beginning" | "start" => Some(0),
            "mid" | "middle" => Some(1),
            "late" | "end" => Some(2),
            _ => None,
        };
        if let Some(third) = third {
            let adverb = matches!(word, "early" | "mid" | "late");
            let next =
                if adverb { self.skip(start + 1, &["in"]) } else { self.skip(start + 1, &["of"]) };
            if self.next(next).is_empty() || (!adverb && next == start + 1) {
                return None;
            }
            let found = self.point(next, view.after("early"))?;
            return Some(Found { days: found.days.piece(third, 3)?, ..found });
        }
        let place = if word == "last" { Some(-1) } else { ordinal(word) };
        if let Some(place) = place {
            let next =
                self.after(start + 2).filter(|_| matches!(self.next(start + 2), "of" | "in"))?;
            let piece = self.next(start + 1);
            let found = self.point(next, view.after("of"))?;
            let days =
                piece_of(found.days, piece, place).filter(|days| days.first < found.days.end)?;
            return Some(Found { days, ..found });
        }
        let next = self.after(start + 1).filter(|_| self.next(start + 1) == "of")?;
        let unit = unit(word).filter(|(_, plural)| !plural).map(|(unit, _)| unit);
        let unit = unit?;
        let found = self.point(next, view.after("of"))?;
        let days = self.around(found.days.first, unit)?;
        (found.days.end <= days.end).then_some(Found { days, ..found })
    }
}

/// The unit that lies so many units before or after some days.
fn counted_beside(days: Days, (low, high): Count, unit: Unit, later: bool) -> Option<Days> {
    let (from, steps) = if unit == Unit::Weekend {
        let near = if later { days.end } else { shift(days.first, Unit::Day, -2)? };
        let saturday = weekday_near(near, later, Weekday::Saturday)?;
        (saturday, if later { (low - 1, high - 1) } else { (1 - high, 1 - low) })
    } else if later {
        (days.end, (low - 1, high))
    } else {
        (days.first, (-high, 1 - low))
    };
    let (first, edge) = (shift(from, unit, steps.0)?, shift(from, unit, steps.1)?);
    let end = if unit == Unit::Weekend { Days::around(edge, unit)?.end } else { edge };
    Some(Days { first, end })
}

/// The numbered piece of some days, counted from 0; the last one is -1.
fn piece_of(days: Days, piece: &str, place: i64) -> Option<Days> {
    if piece == "half" {
        return days.piece(place.rem_euclid(2), 2).filter(|_| place < 2);
    }
    let weekend = piece == "weekend";
    let weekday =
        if weekend { Some(Weekday::Saturday) } else { weekday(piece).map(|(weekday, _)| weekday) };
    if let Some(weekday) = weekday {
        let edge = if place < 0 { days.end.yesterday().ok()? } else { days.first };
        let day = shift(weekday_near(edge, place >= 0, weekday)?, Unit::Week, place.max(0))?;
        return if weekend { Days::around(day, Unit::Weekend) } else { Days::one(day) };
    }
    let (unit, plural) =
        unit(piece).filter(|(unit, _)| !matches!(unit, Unit::Seconds(_) | Unit::Weekend))?;
    let first = shift(if place < 0 { days.end } else { days.first }, unit, place)?;
    Days::many(first, unit, 1).filter(|piece| !plural && days.first <= piece.first)
}

/// "the week before last".
fn before_last(reader: &TimeReader<'_>, at: usize, end: usize) -> Option<Found> {
    let (_, unit, _) = reader.amount(at)?;
    Some(Found::fixed(reader.around(shift(reader.today, unit, -2)?, unit)?, end))
}
