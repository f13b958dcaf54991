//! Moments as other products write them.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use kapsa_memory::Micros;
use serde_json::Value;

/// Numbers up to here are seconds since 1970: the year 5138.
const SECONDS_MAX: f64 = 1e11;
/// Numbers up to here are milliseconds, larger ones microseconds.
const MILLIS_MAX: f64 = 1e14;
/// Largest number of microseconds: the year 5138.
const MICROS_MAX: f64 = 1e17;

/// A moment: RFC 3339, a date and time without a zone (taken for UTC), or a number since 1970. None
/// for everything else, nothing above all.
pub(crate) fn moment(value: Option<&Value>) -> Option<Micros> {
    match value? {
        Value::String(text) => of_text(text.trim()),
        Value::Number(number) => of_number(number.as_f64()?),
        _ => None,
    }
}

pub(crate) fn of_text(text: &str) -> Option<Micros> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.as_microsecond());
    }
    if let Ok(time) = text.parse::<DateTime>() {
        return Some(TimeZone::UTC.to_timestamp(time).ok()?.as_microsecond());
    }
    of_number(text.parse().ok()?)
}

fn of_number(number: f64) -> Option<Micros> {
    let micros = match number {
        number if !(0.0..=MICROS_MAX).contains(&number) || number == 0.0 => return None,
        number if number <= SECONDS_MAX => number * 1e6,
        number if number <= MILLIS_MAX => number * 1e3,
        number => number,
    };
    #[expect(clippy::cast_possible_truncation, reason = "it is at most MICROS_MAX")]
    Some(micros.round() as Micros)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn moments_are_read_in_every_writing_and_nothing_is_the_year_1970() {
        let then = Some(1_700_000_000_000_000);
        for value in [
            json!("2023-11-14T22:13:20Z"),
            json!("2023-11-14T23:13:20+01:00"),
            json!("2023-11-14 22:13:20"),
            json!("2023-11-14T22:13:20.000000"),
            json!(1_700_000_000),
            json!(1_700_000_000.0),
            json!(1_700_000_000_000_i64),
            json!(1_700_000_000_000_000_i64),
            json!("1700000000"),
        ] {
            assert_eq!(moment(Some(&value)), then, "{value}");
        }
        for value in [json!(null), json!(""), json!(0), json!(-5), json!("yesterday"), json!({})] {
            assert_eq!(moment(Some(&value)), None, "{value}");
        }
        assert_eq!(moment(None), None);
    }
}
