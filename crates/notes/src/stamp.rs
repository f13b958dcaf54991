//! A time as notes and run folders write it, in UTC. Knows no clock: times come in.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::error::{Error, Result};

/// A moment in the forms that names and keys of notes need, all in UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// `20261130`.
    pub compact_date: String,
    /// `101500`.
    pub compact_time: String,
    /// `2026-11-30`.
    pub date: String,
    /// `10:15:00`.
    pub time: String,
    /// `2026-11-30T10:15:00Z`.
    pub iso: String,
}

impl Stamp {
    /// A moment, in microseconds since 1970.
    ///
    /// # Errors
    /// [`Error::NoDate`] outside of the years −9999 to 9999.
    pub fn from_micros(micros: i64) -> Result<Stamp> {
        let time = Timestamp::from_microsecond(micros)
            .map_err(|_out_of_range| Error::NoDate { micros })?;
        let utc = TimeZone::UTC.to_datetime(time);
        let form = |format: &str| utc.strftime(format).to_string();
        Ok(Stamp {
            compact_date: form("%Y%m%d"),
            compact_time: form("%H%M%S"),
            date: form("%Y-%m-%d"),
            time: form("%H:%M:%S"),
            iso: form("%Y-%m-%dT%H:%M:%SZ"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_one_form_of_each_kind() {
        let stamp = Stamp::from_micros(1_796_033_700_999_999).expect("a date");
        assert_eq!(
            stamp,
            Stamp {
                compact_date: "20261130".to_owned(),
                compact_time: "101500".to_owned(),
                date: "2026-11-30".to_owned(),
                time: "10:15:00".to_owned(),
                iso: "2026-11-30T10:15:00Z".to_owned(),
            }
        );
        assert!(matches!(Stamp::from_micros(i64::MAX), Err(Error::NoDate { .. })));
    }
}
