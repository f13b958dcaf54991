//! The number of records, and of URIs under which a memory is visible. Counted from the tables,
//! without reading every record.

use std::collections::HashSet;

use super::store::Store;
use super::{View, blobs};
use crate::error::Result;
use crate::records::codec::Operation;
use crate::records::request::{LIMIT_NONE, RecordCounts};
use crate::tables::segments::CONTESTED_TERM;

/// How many records there are: no blobs, and nothing that was erased.
pub(crate) fn records(store: &Store) -> Result<RecordCounts> {
    let blobs = blobs::sequences(store)?;
    let blobs_in = |span| blobs.within(span).map(|range| range.end - range.start).sum::<u64>();
    let tail = store.snapshot().tail();
    Ok(RecordCounts {
        records: held(store)?.saturating_sub(blobs_in(0..tail.end)),
        tail_records: in_tail(store)?.saturating_sub(blobs_in(tail.start..tail.end)),
    })
}

/// How many records of any kind there are that were not erased.
///
/// # Errors
/// What the disk or a damaged file reports.
pub(crate) fn held(store: &Store) -> Result<u64> {
    Ok(store.tables().record_count()? + in_tail(store)?)
}

fn in_tail(store: &Store) -> Result<u64> {
    Ok(store.tail_bodies()?.iter().flatten().count() as u64)
}

/// Under how many URIs a memory is visible.
pub(crate) fn uris(view: &View) -> Result<u64> {
    let filter = kapsa_index::Filter {
        all: vec![vec![CONTESTED_TERM.to_string()]],
        seqs: view.memories()?.cloned(),
        ..kapsa_index::Filter::default()
    };
    let mut more = 0;
    for sequence in view.store().searcher()?.oldest(&filter, LIMIT_NONE, None, &mut |_| true)? {
        let uri = view.store().record(sequence)?.uri;
        let Some(head) = view.newest(&uri)?.filter(|head| head.sequence == sequence) else {
            continue;
        };
        let mut memories = 0;
        for revision in view
            .revisions(&uri)?
            .into_iter()
            .filter(|&revision| head.all().any(|counts| counts == revision))
        {
            memories += u64::from(view.store().body(revision)?.operation == Operation::Put);
        }
        more += memories.saturating_sub(1);
    }
    Ok(visible_count(view)?.saturating_sub(more))
}

/// How many memories are visible.
fn visible_count(view: &View) -> Result<u64> {
    let tail = view.store().tail()?;
    let memories = view.memories()?;
    let seen = |sequence: u64| memories.is_none_or(|seen| seen.contains(sequence));
    let mut hidden = HashSet::new();
    for table in view.store().tables().replaced()? {
        let pairs = table
            .pairs()?
            .filter(|pair| seen(pair.old) && (pair.new == pair.old || seen(pair.new)));
        hidden.extend(pairs.map(|pair| pair.old));
    }
    let mut visible = 0;
    for body in tail.bodies.iter().flatten() {
        let record = &body.record;
        let counts = seen(record.sequence) && body.operation == Operation::Put;
        visible +=
            u64::from(counts && !tail.replaces(&record.uri, record.sequence, view.lineage()));
        let purge = body.operation == Operation::Purge;
        if body.fresh || !purge && !seen(record.sequence) {
            continue;
        }
        for sequence in view.store().revisions_under(&record.uri, view.lineage())? {
            if sequence < tail.first_sequence
                && seen(sequence)
                && tail.replaces(&record.uri, sequence, view.lineage())
            {
                hidden.insert(sequence);
            }
        }
    }
    let indexed = memories.map_or(tail.first_sequence - 1, |seen| {
        seen.within(0..tail.first_sequence).map(|range| range.end - range.start).sum()
    });
    Ok((indexed + visible).saturating_sub(hidden.len() as u64))
}
