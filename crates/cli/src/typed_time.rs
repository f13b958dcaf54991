//! How moments are typed: RFC 3339, a date as a day of the user's calendar, seconds since 1970, a
//! span back from now.

use jiff::Timestamp;
use jiff::civil::Date;
use kapsa_memory::request::Calendar;
use kapsa_memory::{AsOf, Micros};

use crate::calendar;
use crate::moment::now;

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_MILLI: i64 = 1000;
/// Digits of a time of this century, counted in seconds, milliseconds and microseconds.
const SECONDS_DIGITS: usize = 10;
const MILLIS_DIGITS: usize = 13;
const MICROS_DIGITS: usize = 16;

/// Reads what `--as-of` says: a sequence, or a checkpoint, or else a time. A date is the end of
/// that day.
pub(crate) fn as_of(text: &str) -> AsOf {
    let digits = text.strip_prefix('#').unwrap_or(text);
    match digits.parse::<u64>().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit())) {
        Some(_) if digits.len() == text.len() && epoch(text).is_some() => {
            AsOf::Time(epoch(text).unwrap_or_default())
        }
        Some(sequence) => AsOf::Sequence(sequence),
        // What is not a time may be a checkpoint's name.
        None => AsOf::Named { name: text.to_string(), or: as_of_time(text).ok() },
    }
}

/// The last moment that a time given to `--as-of` includes.
pub(crate) fn as_of_time(text: &str) -> Result<Micros, String> {
    Ok(parse_end_arg(text)?.saturating_sub(i64::from(date(text).is_some())))
}

/// Reads a moment as it is typed: RFC 3339, a date, seconds or milliseconds since 1970, or a span
/// back from now.
pub(crate) fn parse_arg(text: &str) -> Result<Micros, String> {
    parse(text, now(), &calendar::of_user)
}

/// As [`parse_arg`], of the first moment that is too late: a date stands for all of its day.
pub(crate) fn parse_end_arg(text: &str) -> Result<Micros, String> {
    let Some(next) = date(text).and_then(|date| date.tomorrow().ok()) else {
        return parse_arg(text);
    };
    start_of(next, &calendar::of_user)
}

/// Where the calendar is looked up when a date is read.
type CalendarSource<'a> = &'a dyn Fn() -> Result<&'static Calendar, String>;

/// Reads RFC 3339 (`2026-11-01T10:00:00Z`), a date (its first moment), seconds, milliseconds or
/// microseconds since 1970 (10, 13 or 16 digits) or a span back from `now` (`90s`, `30m`, `12h`,
/// `7d`, `2w`).
fn parse(text: &str, now: Micros, calendar: CalendarSource<'_>) -> Result<Micros, String> {
    if let Ok(stamp) = text.parse::<Timestamp>() {
        return Ok(stamp.as_microsecond());
    }
    if let Some(back) = span(text) {
        return now.checked_sub(back).ok_or_else(|| "too far back".to_string());
    }
    if let Some(moment) = epoch(text) {
        return Ok(moment);
    }
    let Some(date) = date(text) else {
        return Err(
            "not a time; write 2026-11-01T10:00:00Z, 2026-11-01, an age such as 7d or 12h, \
            or seconds since 1970 (10 digits)"
                .to_string(),
        );
    };
    start_of(date, calendar)
}

/// A date as ISO 8601 writes it.
fn date(text: &str) -> Option<Date> {
    let looks_like_date = text.len() == "2026-11-01".len();
    // What is not a date may be something else.
    text.parse::<Date>().ok().filter(|_| looks_like_date)
}

/// The first moment of a day.
fn start_of(day: Date, calendar: CalendarSource<'_>) -> Result<Micros, String> {
    let start = calendar()?.zone.to_timestamp(day.at(0, 0, 0, 0));
    start.map(Timestamp::as_microsecond).map_err(|_| "beyond the calendar".to_string())
}

/// Seconds, milliseconds or microseconds since 1970, by the number of their digits.
fn epoch(text: &str) -> Option<Micros> {
    let number: i64 = text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())??;
    match text.len() {
        SECONDS_DIGITS => number.checked_mul(MICROS_PER_SECOND),
        MILLIS_DIGITS => number.checked_mul(MICROS_PER_MILLI),
        MICROS_DIGITS => Some(number),
        _ => None,
    }
}

/// A span such as `7d` or `12h`, in microseconds.
pub(crate) fn span(text: &str) -> Option<Micros> {
    let unit_at = text.len().checked_sub(1).filter(|&at| text.is_char_boundary(at))?;
    let (number, unit) = text.split_at(unit_at);
    let seconds: i64 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return None,
    };
    let count =
        number.bytes().all(|b| b.is_ascii_digit()).then(|| number.parse::<i64>().ok())??;
    count.checked_mul(seconds)?.checked_mul(MICROS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Micros = 1_800_000_000_000_000;

    fn parse(text: &str, now: Micros) -> Result<Micros, String> {
        static UTC: std::sync::LazyLock<Calendar> = std::sync::LazyLock::new(Calendar::default);
        super::parse(text, now, &|| Ok(&UTC))
    }

    #[test]
    fn numbers_are_taken_for_what_they_look_like() {
        for number in ["1700000000", "1700000000000", "1700000000000000"] {
            assert_eq!(parse(number, NOW), Ok(1_700_000_000_000_000), "{number}");
            assert_eq!(as_of(number), AsOf::Time(1_700_000_000_000_000));
        }
        assert!(parse("170000000000", NOW).is_err(), "neither seconds nor milliseconds");
        assert_eq!(as_of("17"), AsOf::Sequence(17));
        assert_eq!(as_of("#1700000000"), AsOf::Sequence(1_700_000_000));
    }

    #[test]
    fn moments_are_read_in_several_forms() {
        for (text, want) in [
            ("1970-01-01T00:00:01Z", 1_000_000),
            ("1970-01-01T01:00:00.5+01:00", 500_000),
            ("1970-01-02", 86_400_000_000),
            ("90s", NOW - 90_000_000),
            ("30m", NOW - 1_800_000_000),
            ("12h", NOW - 43_200_000_000),
            ("7d", NOW - 604_800_000_000),
            ("2w", NOW - 1_209_600_000_000),
        ] {
            assert_eq!(parse(text, NOW), Ok(want), "{text}");
        }
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "d",
            "7",
            "7y",
            "-7d",
            "7.5d",
            "yesterday",
            "2026-13-01",
            "2026-11-01T10:00:00",
            "9999999999999999999d",
            "7é",
            "99999999999999w",
        ] {
            assert!(parse(text, NOW).is_err(), "{text}");
        }
    }
}
