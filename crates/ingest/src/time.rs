//! Times as traces write them: ISO texts, or numbers of seconds up to nanoseconds. Knows no clock.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Microseconds since 1970; a time without an offset is taken as UTC.
pub(crate) fn micros(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.as_microsecond());
    }
    if let Ok(number) = text.parse::<f64>() {
        return of_number(number);
    }
    let (date, _) = text.rsplit_once('Z').unwrap_or((text, ""));
    let date: DateTime = date.trim().parse().ok()?; // Not a time: the turn has none.
    TimeZone::UTC.to_timestamp(date).ok().map(Timestamp::as_microsecond)
}

/// Seconds, milliseconds, microseconds or nanoseconds, by their size: each is a time between 1973
/// and 5138.
fn of_number(number: f64) -> Option<i64> {
    let micros = match number.abs() {
        size if size < 1e8 => return None,
        size if size < 1e11 => number * 1e6,
        size if size < 1e14 => number * 1e3,
        size if size < 1e17 => number,
        size if size < 1e20 => number / 1e3,
        _ => return None,
    };
    Some(micros as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_all_kinds() {
        let expected = Some(1_700_000_000_000_000);
        for text in [
            "2023-11-14T22:13:20Z",
            "2023-11-14T22:13:20.000000+00:00",
            "2023-11-14 22:13:20",
            "2023-11-14 22:13Z",
            "1700000000",
            "1700000000000",
            "1.7e12",
            "1700000000000000000",
        ] {
            let found = micros(text);
            let seconds =
                if text.ends_with("13Z") { Some(1_699_999_980_000_000) } else { expected };
            assert_eq!(found, seconds, "{text}");
        }
        for text in ["", "soon", "12", "NaN", "inf", "1e300"] {
            assert_eq!(micros(text), None, "{text}");
        }
    }
}
