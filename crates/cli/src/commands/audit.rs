//! Denials: a record of kind `audit` for each, readable by the owner alone.
//!
//! A denial that cannot be recorded is a denial all the same, and looks the same to whoever it was
//! denied to.

use kapsa_memory::access::{Access, Classification};
use kapsa_memory::{NewRecord, Reader, Uri, Writer, kinds};
use serde_json::Map;

use super::EVENT_PATIENCE;
use crate::app::App;
use crate::error::Result;

/// Kind of these records.
const KIND: &str = "audit";

/// Name of the note that is kept of look-ups of what is not there.
const ABSENT: &str = "access/_/absent";

/// Records what a call of a principal was denied; of one that found nothing it leaves the same
/// trace. `code` is what it failed with.
pub(super) fn of_call(app: &App, principal: &str, what: &str, asked: Option<&str>, code: &str) {
    if code == "access_denied" || is_hidden(app, code, asked) {
        denied(app, principal, what, asked);
    } else if is_missing(code) && asked.is_some() {
        absent(app);
    }
}

/// Whether an error says that nothing is there.
fn is_missing(code: &str) -> bool {
    matches!(code, "uri_not_found" | "fact_not_found" | "file_not_found")
}

/// Whether an error says that nothing is there while something is hidden.
fn is_hidden(app: &App, code: &str, asked: Option<&str>) -> bool {
    if !is_missing(code) {
        return false;
    }
    // A capsule that cannot be read is what the caller was told of already; there is nothing to
    // record of it.
    let there = || -> Option<bool> {
        let reader = Reader::open(&app.capsule().ok()?).ok()?;
        Some(
            reader
                .history(&Uri::parse(asked?).ok()?)
                .is_ok_and(|records| records.iter().any(|record| !record.tombstone)),
        )
    };
    there().unwrap_or(false)
}

/// Records a denial.
pub(super) fn denied(app: &App, principal: &str, what: &str, asked: Option<&str>) {
    let mut metadata = Map::new();
    metadata.insert("principal".to_string(), principal.into());
    metadata.insert("verb".to_string(), what.into());
    let on = asked.map_or_else(String::new, |asked| format!(" {asked}"));
    if let Some(asked) = asked {
        metadata.insert("asked".to_string(), asked.into());
    }
    let record = NewRecord {
        kind: KIND.to_string(),
        agent: principal.to_string(),
        metadata,
        access: Some(Access::level(Classification::Restricted)),
        ..NewRecord::text(format!("{principal} was denied: {what}{on}"))
    };
    // A report that it could not be recorded would reveal that it was a denial.
    drop(writer(app).and_then(|mut writer| Ok(writer.put(record)?)));
}

/// Leaves of what is not there the trace that a denial leaves, which nobody is shown: one commit,
/// after the same wait. So neither the time nor the sequences distinguish the two.
fn absent(app: &App) {
    let note = || -> Result<()> {
        let record = NewRecord {
            uri: Some(Uri::parse(ABSENT)?),
            kind: kinds::ACCESS.to_string(),
            ..NewRecord::text("somebody looked for what is not there")
        };
        let mut writer = writer(app)?;
        let mut transaction = writer.transaction();
        transaction.note(record)?;
        transaction.commit()?;
        Ok(())
    };
    // As above.
    drop(note());
}

fn writer(app: &App) -> Result<Writer> {
    let mut options = app.write_options(None);
    options.lock_timeout = options.lock_timeout.min(EVENT_PATIENCE);
    Ok(Writer::open(&app.capsule()?, options)?)
}
