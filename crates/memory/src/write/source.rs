//! Puts a document again: unchanged passages are skipped, vanished ones forgotten, all in one
//! commit.

use std::collections::HashSet;

use super::pending::Pending;
use super::writer::Writer;
use crate::error::{Result, misuse};
use crate::records::access::Classified;
use crate::records::codec::Operation;
use crate::records::record::{KIND_DEFAULT, NewRecord, Record, Source};
use crate::records::request::{Change, Filter, Put, SourceReport};
use crate::records::uri::Uri;
use crate::view::View;
use crate::view::visibility::list;

/// Most passages of one source that are compared when it is put again.
const SOURCE_PASSAGES_MAX: usize = 1 << 20;

/// Puts the passages of one document (made by [`crate::document::cut`]): unchanged passages are
/// skipped, vanished ones forgotten, all in one commit. Where they name no domain or no level,
/// those of the document stay.
///
/// # Errors
/// As [`Writer::put`].
pub fn put_source(
    writer: &mut Writer,
    source: &str,
    passages: Vec<NewRecord>,
) -> Result<SourceReport> {
    let passages = keeping(writer, source, passages)?;
    let envelope = writer.envelope();
    let view = writer.view()?;
    let mut report = SourceReport::default();
    let mut changed = Vec::new();
    let mut kept = HashSet::new();
    for passage in passages {
        let uri = passage.uri.clone().ok_or_else(|| misuse("a passage has no URI"))?;
        kept.insert(uri.clone());
        match unchanged(view, &uri, &passage)? {
            Some(sequence) => report.puts.push(Put { uri, sequence, change: Change::Unchanged }),
            None => changed.push(Pending::put(passage, envelope.clone())),
        }
    }
    let added = changed.len();
    let there = passages_of(view, source)?.into_iter().map(|passage| passage.uri);
    let vanished = there.filter(|uri| !kept.contains(uri));
    changed.extend(vanished.map(|uri| Pending::bury(Operation::Tombstone, uri, envelope.clone())));
    let mut puts = writer.write(changed)?;
    report.forgotten = puts.split_off(added.min(puts.len()));
    report.puts.extend(puts);
    Ok(report)
}

/// Sequence of the newest revision of `uri`, if it says the same as `passage`.
fn unchanged(view: &View, uri: &Uri, passage: &NewRecord) -> Result<Option<u64>> {
    let Some(head) = view.newest(uri)? else { return Ok(None) };
    let body = view.store().body(head.sequence)?;
    let same = body.operation == Operation::Put
        && head.conflicts_with.is_empty()
        && says_the_same(&body.record, passage);
    Ok(same.then_some(head.sequence))
}

/// The passages with the domain and level of what each takes the place of, or else of the document,
/// where they name none.
fn keeping(writer: &mut Writer, source: &str, passages: Vec<NewRecord>) -> Result<Vec<NewRecord>> {
    let there = passages_of(writer.view()?, source)?;
    let widest = there.into_iter().max_by_key(Classified::classification);
    let mut transaction = writer.transaction();
    let keeping = |passage: NewRecord| {
        let mut passage = transaction.keeping(passage)?;
        if let Some(widest) = &widest {
            if passage.domain.is_empty() {
                passage.domain.clone_from(&widest.domain);
            }
            passage.access = passage.access.or_else(|| widest.access.clone());
        }
        Ok(passage)
    };
    passages.into_iter().map(keeping).collect()
}

/// The visible passages of a source.
fn passages_of(view: &View, source: &str) -> Result<Vec<Record>> {
    let filter = Filter { sources: vec![source.to_string()], ..Filter::default() };
    let sequences = list(view, &filter, SOURCE_PASSAGES_MAX, true)?;
    sequences.into_iter().map(|sequence| view.store().record(sequence)).collect()
}

/// Whether a passage says what the record says. Lineage may have moved; who puts it, and when, does
/// not count.
fn says_the_same(old: &Record, new: &NewRecord) -> bool {
    let origin =
        |source: &Option<Source>| source.as_ref().map(|s| (s.path.clone(), s.content_hash.clone()));
    let kind = if new.kind.is_empty() { KIND_DEFAULT } else { &new.kind };
    (&old.title, &old.text, old.kind.as_str(), &old.label)
        == (&new.title, &new.text, kind, &new.label)
        && (&old.tags, &old.metadata) == (&new.tags, &new.metadata)
        && (&old.entity, &old.domain, old.confidence) == (&new.entity, &new.domain, new.confidence)
        && origin(&old.source) == origin(&new.source)
        && old.content == new.content
}
