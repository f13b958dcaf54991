//! Days and months of times. Days are those of UTC, the same for all who share a memory.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;

use kapsa_memory::record::Micros;

/// A day or a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Period {
    /// The first day of the month stands for it.
    Month(Date),
    Day(Date),
}

impl Period {
    /// Reads `YYYY-MM-DD` or `YYYY-MM`, and nothing else.
    pub(super) fn parse(text: &str) -> Option<Period> {
        let period = match text.parse() {
            Ok(day) => Period::Day(day),
            Err(_) => Period::Month(format!("{text}-01").parse().ok()?),
        };
        (period.to_string() == text).then_some(period)
    }

    /// The day of a moment.
    pub(super) fn day(at: Micros) -> Period {
        Period::Day(Offset::UTC.to_datetime(timestamp(at)).date())
    }

    /// Whether a moment is in it.
    pub(super) fn holds(self, at: Micros) -> bool {
        let Period::Day(day) = Period::day(at) else { return false };
        match self {
            Period::Day(wanted) => day == wanted,
            Period::Month(first) => day.first_of_month() == first,
        }
    }

    /// The moment with which it begins.
    pub(super) fn begin(self) -> Micros {
        let (Period::Day(first) | Period::Month(first)) = self;
        // A day that begins before time does begins with it.
        Offset::UTC.to_timestamp(first.at(0, 0, 0, 0)).unwrap_or(Timestamp::MIN).as_microsecond()
    }
}

/// A moment as RFC 3339 has it.
pub(super) fn written(at: Micros) -> String {
    timestamp(at).to_string()
}

/// The moment, or the first or last one that has a date.
fn timestamp(at: Micros) -> Timestamp {
    let nearest = if at < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_microsecond(at).unwrap_or(nearest)
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Period::Day(day) => day.fmt(f),
            Period::Month(first) => {
                let day = first.to_string();
                f.write_str(day.strip_suffix("-01").unwrap_or(&day))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Micros = 86_400_000_000;

    #[test]
    fn days_and_months_are_read_and_printed() {
        for text in ["2026-02-17", "2026-02", "1969-12-31", "0001-01"] {
            assert_eq!(Period::parse(text).map(|period| period.to_string()).as_deref(), Some(text));
        }
        for odd in [
            "",
            "2026",
            "2026-02-30",
            "2026-13",
            "2026-2-1",
            "20260217",
            "2026-02-17T00",
            "today",
            "2026-02-17 ",
            "_",
        ] {
            assert_eq!(Period::parse(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_day_is_that_of_utc_to_the_microsecond() {
        let day = Period::day(0);
        assert_eq!(day.to_string(), "1970-01-01");
        assert_eq!(
            (day.begin(), Period::day(DAY - 1), Period::day(-1).to_string()),
            (0, day, "1969-12-31".to_string())
        );
        let month = Period::parse("1970-01").expect("a month");
        assert!(
            month.holds(0)
                && month.holds(31 * DAY - 1)
                && !month.holds(31 * DAY)
                && !month.holds(-1)
        );
        assert!(!day.holds(DAY));
    }

    #[test]
    fn every_moment_has_a_day() {
        for at in [Micros::MIN, Micros::MAX] {
            let day = Period::day(at);
            assert!(day.holds(at));
            assert_eq!(Period::parse(&day.to_string()), Some(day));
            assert!(day.begin() <= at || at == Micros::MIN);
        }
    }
}
