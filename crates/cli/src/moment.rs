//! How moments are read and written: in UTC only, so that no time zone database is ever loaded.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use kapsa_memory::{AsOf, Micros};

const MICROS_PER_SECOND: i64 = 1_000_000;

/// The time now.
pub(crate) fn now() -> Micros {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// RFC 3339 in UTC, such as `2026-11-27T09:30:00.25Z`. A moment outside the calendar is given as a
/// number.
pub(crate) fn rfc3339(at: Micros) -> String {
    Timestamp::from_microsecond(at).map_or_else(|_| format!("{at}us"), |stamp| stamp.to_string())
}

/// For people: `2026-11-27 09:30:00`, UTC.
pub(crate) fn readable(at: Micros) -> String {
    let text = rfc3339(at.div_euclid(MICROS_PER_SECOND).saturating_mul(MICROS_PER_SECOND));
    text.trim_end_matches('Z').replacen('T', " ", 1)
}

/// Whether `at` lies in the calendar that [`rfc3339`] can write.
pub(crate) fn is_valid(at: Micros) -> bool {
    Timestamp::from_microsecond(at).is_ok()
}

/// Reads what `--as-of` says: a sequence, or a checkpoint, or else a time.
pub(crate) fn as_of(text: &str) -> AsOf {
    let digits = text.strip_prefix('#').unwrap_or(text);
    match digits.parse::<u64>().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit())) {
        Some(sequence) => AsOf::Sequence(sequence),
        None => AsOf::Named { name: text.to_string(), or: parse_arg(text).ok() },
    }
}

/// Reads a moment as it is typed: RFC 3339, a date, or a span back from now.
pub(crate) fn parse_arg(text: &str) -> Result<Micros, String> {
    parse(text, now())
}

/// Reads RFC 3339 (`2026-11-01T10:00:00Z`), a date (its first moment, UTC) or a span back from
/// `now` (`90s`, `30m`, `12h`, `7d`, `2w`).
pub(crate) fn parse(text: &str, now: Micros) -> Result<Micros, String> {
    if let Ok(stamp) = text.parse::<Timestamp>() {
        return Ok(stamp.as_microsecond());
    }
    if let Some(back) = span(text) {
        return now.checked_sub(back).ok_or_else(|| "too far back".to_string());
    }
    let looks_like_date = text.len() == "2026-11-01".len();
    let date = text.parse::<Date>().ok().filter(|_| looks_like_date);
    let start = date.and_then(|date| TimeZone::UTC.to_timestamp(date.at(0, 0, 0, 0)).ok());
    start.map(Timestamp::as_microsecond).ok_or_else(|| {
        "not a time; write 2026-11-01T10:00:00Z, 2026-11-01, or an age such as 7d or 12h"
            .to_string()
    })
}

fn span(text: &str) -> Option<Micros> {
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

    #[test]
    fn moments_are_read_in_three_forms() {
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

    #[test]
    fn moments_are_written_in_utc() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(1_500_000), "1970-01-01T00:00:01.5Z");
        assert_eq!(readable(1_500_000), "1970-01-01 00:00:01");
        assert_eq!(readable(-500_000), "1969-12-31 23:59:59");
        assert_eq!(rfc3339(i64::MAX), format!("{}us", i64::MAX));
    }
}
