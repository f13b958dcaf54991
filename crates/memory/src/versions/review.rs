//! What waits for review: it is listed, accepted, changed or rejected, and the rules say what has
//! to wait. Each decision is a revision that names who made it; what was rejected stays in the
//! history.

use crate::error::{Result, not_found};
use crate::records::admission::{ReviewRule, ReviewRules, ReviewScope};
use crate::records::codec::{Envelope, Operation};
use crate::records::held::{self, Reason};
use crate::records::kinds::PENDING;
use crate::records::provenance::{Provenance, Review};
use crate::records::record::{BranchId, NewRecord, Record};
use crate::records::request::{Filter, Put, TimelineRequest};
use crate::records::uri::Uri;
use crate::search::reader::Reader;
use crate::view::trust::review_rules;
use crate::write::pending::Pending;
use crate::write::writer::Writer;

pub use crate::records::admission::{Admission, REVIEW_RULES_MAX};

/// Something that waits for review.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingRecord {
    /// The record that waits: what was brought is its text, and who brought it its provenance.
    pub record: Record,
    /// What it is to become.
    pub brought: NewRecord,
    /// Why it waits.
    pub reasons: Vec<Reason>,
}

impl PendingRecord {
    fn of(record: Record) -> PendingRecord {
        PendingRecord { brought: held::brought(&record), reasons: held::reasons(&record), record }
    }

    /// What the record says of its writer once `by` lets it in.
    #[must_use]
    pub fn reviewed(&self, by: &str) -> Provenance {
        let review = Some(Review { by: by.to_string(), item: self.record.sequence });
        Provenance { review, ..self.record.provenance.clone() }
    }
}

/// What waits on the reader's branch, the oldest first; at most `limit`.
///
/// # Errors
/// What the disk or a damaged file reports.
pub fn list(reader: &Reader, limit: usize) -> Result<Vec<PendingRecord>> {
    let filter = Filter { kinds: vec![PENDING.to_string()], ..Filter::default() };
    let records = reader.timeline(&TimelineRequest { filter, limit, reverse: false })?;
    Ok(records.into_iter().filter(|record| record.system).map(PendingRecord::of).collect())
}

/// What waits under this name.
///
/// # Errors
/// `UriNotFound` when nothing does; what the disk or a damaged file reports.
pub fn item(reader: &Reader, uri: &Uri) -> Result<PendingRecord> {
    let record = reader.get(uri)?;
    if !record.system || record.kind != PENDING {
        return Err(not_found(uri));
    }
    Ok(PendingRecord::of(record))
}

/// Puts what waits where it was to go, in the name of whoever brought it, with `by` as who let it
/// in; with another text where one is given. One commit.
///
/// # Errors
/// `UriNotFound`; as [`Writer::put`].
pub fn accept(writer: &mut Writer, uri: &Uri, by: &str, text: Option<String>) -> Result<Put> {
    let item = item(&writer.reader()?, uri)?;
    let mut record = item.brought.clone();
    record.text = text.unwrap_or(record.text);
    record.check()?;
    let provenance = item.reviewed(by);
    let envelope = Envelope { provenance, ..writer.envelope() };
    let all = vec![Pending::put(record, envelope), closing(writer, &item, by)];
    Ok(writer.write(all)?.remove(0))
}

/// Ends the wait of an item that was put by other means, or is rejected.
///
/// # Errors
/// `UriNotFound`; what the disk reports.
pub fn close(writer: &mut Writer, uri: &Uri, by: &str) -> Result<Put> {
    let item = item(&writer.reader()?, uri)?;
    let all = vec![closing(writer, &item, by)];
    Ok(writer.write(all)?.remove(0))
}

fn closing(writer: &Writer, item: &PendingRecord, by: &str) -> Pending {
    let review = Some(Review { by: by.to_string(), item: item.record.sequence });
    let own = writer.envelope();
    let provenance = Provenance { review, ..own.provenance.clone() };
    let envelope = Envelope { system: true, provenance, ..own };
    Pending::bury(Operation::Tombstone, item.record.uri.clone(), envelope)
}

/// The rules that are in force.
///
/// # Errors
/// `InvalidOperation` when they cannot be read; what the disk or a damaged file reports.
pub fn rules(reader: &Reader) -> Result<Vec<ReviewRule>> {
    Ok(review_rules(reader.view())?.rules)
}

/// Adds a rule, or replaces the one of the same scope. They lie on `main` and hold on every branch.
///
/// # Errors
/// `InvalidOperation` for a trust that does not exist, or too many rules; as [`Writer::put`].
pub fn set_rule(writer: &mut Writer, rule: ReviewRule) -> Result<()> {
    let all = review_rules(writer.view()?)?.with(rule)?;
    write(writer, &all)
}

/// Removes the rule of this scope. Returns whether there was one.
///
/// # Errors
/// As [`set_rule`].
pub fn remove_rule(writer: &mut Writer, scope: &ReviewScope) -> Result<bool> {
    let mut all = review_rules(writer.view()?)?;
    let before = all.rules.len();
    all.rules.retain(|rule| rule.scope != *scope);
    let is_removed = all.rules.len() < before;
    if is_removed {
        write(writer, &all)?;
    }
    Ok(is_removed)
}

fn write(writer: &mut Writer, all: &ReviewRules) -> Result<()> {
    let envelope = Envelope { branch: BranchId::MAIN, ..writer.envelope() };
    writer.write(vec![Pending::put(all.record(), envelope)])?;
    Ok(())
}
