//! The days meant by a unit of time, a weekday, a month or a season.

use jiff::Span;
use jiff::civil::{Date, Weekday};

/// The day from which seconds are counted.
const EPOCH: Date = Date::constant(1970, 1, 1);
const DAY_SECONDS: i64 = 24 * 60 * 60;
/// Most years between two days of the same month and number: 29 February around 1900.
const SAME_DAY_YEARS_MAX: i16 = 8;

/// Whole days, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Days {
    pub(super) first: Date,
    /// The day after the last.
    pub(super) end: Date,
}

/// What time is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// So many of them: a second, a minute or an hour.
    Seconds(i64),
    Day,
    /// Begins on a Monday.
    Week,
    /// The Saturday and the Sunday of a week.
    Weekend,
    Month,
    Quarter,
    Year,
    Decade,
}

impl Days {
    pub(super) fn one(day: Date) -> Option<Days> {
        Days::many(day, Unit::Day, 1)
    }

    /// `count` units from `first` on.
    pub(super) fn many(first: Date, unit: Unit, count: i64) -> Option<Days> {
        Some(Days { first, end: shift(first, unit, count)? })
    }

    /// The unit of the calendar that `day` is in.
    pub(super) fn around(day: Date, unit: Unit) -> Option<Days> {
        let (year, month) = (day.year(), day.month());
        if unit == Unit::Weekend {
            let end = Days::around(day, Unit::Week)?.end;
            return Some(Days { first: shift(end, Unit::Day, -2)?, end });
        }
        let first = match unit {
            Unit::Seconds(_) | Unit::Day => day,
            Unit::Week | Unit::Weekend => {
                shift(day, Unit::Day, -i64::from(day.weekday().to_monday_zero_offset()))?
            }
            Unit::Month => day.first_of_month(),
            Unit::Quarter => Date::new(year, (month - 1) / 3 * 3 + 1, 1).ok()?,
            Unit::Year => day.first_of_year(),
            Unit::Decade => Date::new(year.div_euclid(10) * 10, 1, 1).ok()?,
        };
        Days::many(first, unit, 1)
    }

    pub(super) fn year(year: i16) -> Option<Days> {
        Days::many(Date::new(year, 1, 1).ok()?, Unit::Year, 1)
    }

    pub(super) fn months(year: i16, month: i8, count: i64) -> Option<Days> {
        Days::many(Date::new(year, month, 1).ok()?, Unit::Month, count)
    }

    /// From one day of a month to another, both included.
    pub(super) fn of_month(year: i16, month: i8, days: (i8, i8)) -> Option<Days> {
        let (first, last) =
            (Date::new(year, month, days.0).ok()?, Date::new(year, month, days.1).ok()?);
        (first <= last).then_some(Days { first, end: last.tomorrow().ok()? })
    }

    pub(super) fn count(self) -> i64 {
        days_between(self.first, self.end)
    }

    /// How many whole months these are, if they are.
    fn whole_months(self) -> Option<i64> {
        let number = |day: Date| i64::from(day.year()) * 12 + i64::from(day.month());
        (self.first.day() == 1 && self.end.day() == 1)
            .then(|| number(self.end) - number(self.first))
    }

    /// One of `pieces` equal pieces: whole months where that is possible, whole days otherwise.
    pub(super) fn piece(self, at: i64, pieces: i64) -> Option<Days> {
        if let Some(months) = self.whole_months().filter(|months| months % pieces == 0) {
            return Days::many(
                shift(self.first, Unit::Month, at * (months / pieces))?,
                Unit::Month,
                months / pieces,
            );
        }
        debug_assert!((0..pieces).contains(&at), "one of the pieces");
        let days = self.count();
        let cut = |at: i64| {
            if at == pieces {
                Some(self.end)
            } else {
                shift(self.first, Unit::Day, days * at / pieces)
            }
        };
        (days >= pieces).then_some(Days { first: cut(at)?, end: cut(at + 1)? })
    }
}

/// The day `count` units later, or earlier; the last of the month if that has no such day. None,
/// and so not a time, for one beyond the calendar: why it is beyond is of no interest.
pub(super) fn shift(day: Date, unit: Unit, count: i64) -> Option<Date> {
    // May be dropped: too many months lead beyond the calendar, and a day there is not a time.
    let months = |each: i64| Span::new().try_months(count.checked_mul(each)?).ok();
    let span = match unit {
        Unit::Seconds(_) => return None,
        Unit::Day => Span::new().try_days(count).ok()?,
        Unit::Week | Unit::Weekend => Span::new().try_weeks(count).ok()?,
        Unit::Month => months(1)?,
        Unit::Quarter => months(3)?,
        Unit::Year => months(12)?,
        Unit::Decade => months(120)?,
    };
    day.checked_add(span).ok()
}

fn days_between(first: Date, end: Date) -> i64 {
    end.duration_since(first).as_secs() / DAY_SECONDS
}

/// The day of a second since the epoch, both local.
pub(super) fn day_of(second: i64) -> Option<Date> {
    shift(EPOCH, Unit::Day, second.div_euclid(DAY_SECONDS))
}

/// Something that comes once a year: the newest that begins not after `near`, or, if `forward`, the
/// oldest that begins not before it.
pub(super) fn yearly(
    near: Date,
    forward: bool,
    of_year: impl Fn(i16) -> Option<Days>,
) -> Option<Days> {
    let year = near.year();
    if forward {
        (year..=year + SAME_DAY_YEARS_MAX).filter_map(of_year).find(|days| days.first >= near)
    } else {
        (year - SAME_DAY_YEARS_MAX..=year).rev().filter_map(of_year).find(|days| days.first <= near)
    }
}

/// The newest such weekday that is not after `near`, or, if `forward`, the oldest not before it.
pub(super) fn weekday_near(near: Date, forward: bool, weekday: Weekday) -> Option<Date> {
    let days = if forward { near.weekday().until(weekday) } else { -near.weekday().since(weekday) };
    debug_assert!((-6..=6).contains(&days), "a weekday comes once in seven days");
    shift(near, Unit::Day, i64::from(days))
}
