//! Lets in what waited for review and is more than a record: a fact is compared with what is known
//! by now. Knows nothing of who decides.

use kapsa_memory::review::PendingRecord;
use kapsa_memory::{Result, Uri};

use super::acting::ActingReader;
use super::location::StoreLocation;
use super::records;
use super::types::Fact;
use super::workspace::WorkspaceMemory;

/// Stores a fact that waited, in the name of whoever brought it, as one that is added now; with
/// another text where one is given. None for anything else, which is put as it is. Returns the URI
/// of the fact that is known then.
///
/// # Errors
/// What the store says.
pub fn accept(
    location: &StoreLocation,
    item: &PendingRecord,
    by: &str,
    text: Option<String>,
) -> Result<Option<Uri>> {
    let Some(fact) = brought(item) else { return Ok(None) };
    let fact = Fact { content: text.unwrap_or(fact.content), ..fact };
    let location = location.brought_by(item.reviewed(by));
    let memory = WorkspaceMemory::in_capsule(location.clone(), location.clock());
    let (asked, fact) = (fact.supersedes.clone(), Fact { supersedes: None, ..fact });
    if let Some(old) = asked
        && let Some(known) = memory.store().get(&old)?
        && known.superseded_by.is_none()
    {
        return records::fact_uri(&memory.supersede(&old, fact)?.id).map(Some);
    }
    records::fact_uri(&memory.remember(fact)?.fact.id).map(Some)
}

/// What waits for review on the branch, the oldest first; at most `limit`, and nothing for a
/// principal.
///
/// # Errors
/// What the disk or a damaged file reports.
pub fn awaiting_review(location: &StoreLocation, limit: usize) -> Result<Vec<PendingRecord>> {
    match location.reader()? {
        Some(ActingReader::Owner(reader)) => kapsa_memory::review::list(&reader, limit),
        _ => Ok(Vec::new()),
    }
}

/// The fact that an item is, without what it was to be beside others when it was brought.
fn brought(item: &PendingRecord) -> Option<Fact> {
    let mut record = item.record.clone();
    record.uri = item.brought.uri.clone()?;
    record.kind.clone_from(&item.brought.kind);
    record.metadata.clone_from(&item.brought.metadata);
    let fact = records::fact(&record)?;
    Some(Fact {
        entity: fact.entity,
        attribute: fact.attribute,
        domain: fact.domain,
        tags: fact.tags,
        confidence: fact.confidence,
        importance: fact.importance,
        classification: fact.classification,
        named: fact.named,
        source: fact.source,
        valid_from: fact.valid_from,
        valid_to: fact.valid_to,
        supersedes: fact.supersedes,
        ..Fact::new(fact.id, fact.content, fact.created_at)
    })
}
