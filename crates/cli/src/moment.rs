//! How moments are written: in UTC. Knows nothing of how they are typed.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use kapsa_memory::Micros;

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_MILLI: i64 = 1000;
/// From which number on seconds since 1970 are meant (1973), milliseconds (1973) and microseconds.
const SECONDS_MIN: u64 = 100_000_000;
const MILLIS_MIN: u64 = 100_000_000_000;
const MICROS_MIN: u64 = 100_000_000_000_000;

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

/// Microseconds of a number of a program, which may count seconds, milliseconds or microseconds.
/// None for one that counts none of them: it would lie in the first days of 1970.
pub(crate) fn from_number(number: i64) -> Option<Micros> {
    match number.unsigned_abs() {
        ..SECONDS_MIN => None,
        SECONDS_MIN..MILLIS_MIN => Some(number * MICROS_PER_SECOND),
        MILLIS_MIN..MICROS_MIN => Some(number * MICROS_PER_MILLI),
        _ => Some(number),
    }
}

/// As [`from_number`], of seconds or milliseconds with a fraction.
pub(crate) fn from_fraction(number: f64) -> Option<Micros> {
    let whole = number.abs();
    if !(SECONDS_MIN as f64..MICROS_MIN as f64).contains(&whole) {
        return None;
    }
    let unit = if whole < MILLIS_MIN as f64 { MICROS_PER_SECOND } else { MICROS_PER_MILLI };
    Some((number * unit as f64).round() as Micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_programs_count_seconds_milliseconds_or_microseconds() {
        for number in [1_700_000_000, 1_700_000_000_000, 1_700_000_000_000_000] {
            assert_eq!(from_number(number), Some(1_700_000_000_000_000));
        }
        assert_eq!(from_number(5), None, "in no unit a time that anybody means");
        for number in [1_700_000_000.25, 1_700_000_000_250.0] {
            assert_eq!(from_fraction(number), Some(1_700_000_000_250_000));
        }
        assert_eq!((from_fraction(1.5), from_fraction(f64::NAN)), (None, None));
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
