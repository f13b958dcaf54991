//! How the user reckons time: the zone in which days begin, and the day with which weeks begin.
//! From the environment (`TZ`), then the table `time` of `kapsa.toml`, then the system. Looked up
//! only when a day is asked for, since the zone is a file of its own.

use std::env;
use std::sync::OnceLock;

use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use kapsa_memory::request::Calendar;
use serde::Deserialize;

use crate::config_file::ConfigFile;

/// Variable that names the time zone, as everywhere.
const VARIABLE: &str = "TZ";

/// The table `time` of the file, as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TimeTable {
    zone: Option<String>,
    week_starts: Option<Day>,
}

/// A day of the week.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Day {
    Monday,
    Saturday,
    Sunday,
}

#[derive(Debug, Default, Deserialize)]
struct TimeDocument {
    #[serde(default)]
    time: TimeTable,
}

/// The user's calendar, or why it is not known.
pub(crate) fn of_user() -> Result<&'static Calendar, String> {
    static CALENDAR: OnceLock<Result<Calendar, String>> = OnceLock::new();
    CALENDAR.get_or_init(read).as_ref().map_err(Clone::clone)
}

fn read() -> Result<Calendar, String> {
    let file = ConfigFile::nearest().map_err(|error| error.message)?;
    let document = file.map(|file| file.parse::<TimeDocument>()).transpose();
    let TimeTable { zone, week_starts } =
        document.map_err(|error| error.message)?.unwrap_or_default().time;
    let week_starts = match week_starts {
        Some(Day::Sunday) => Weekday::Sunday,
        Some(Day::Saturday) => Weekday::Saturday,
        Some(Day::Monday) | None => Weekday::Monday,
    };
    let of_environment = env::var(VARIABLE).ok().filter(|zone| !zone.is_empty());
    let zone = match (of_environment, zone) {
        (None, None) => TimeZone::try_system().unwrap_or(TimeZone::UTC),
        (None, Some(zone)) => named(&zone, "zone in kapsa.toml")?,
        (Some(zone), _) => named(&zone, VARIABLE)?,
    };
    Ok(Calendar { zone, week_starts })
}

/// A zone by its name, or as POSIX writes its rules.
fn named(name: &str, what: &str) -> Result<TimeZone, String> {
    let bare = name.trim_start_matches(':');
    if bare == "UTC" {
        return Ok(TimeZone::UTC);
    }
    TimeZone::get(bare).or_else(|_| TimeZone::posix(bare)).map_err(|_| {
        format!("{what}: {name} is not a time zone of this system, such as Europe/Berlin")
    })
}
