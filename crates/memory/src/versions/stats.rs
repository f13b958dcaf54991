//! The size of a capsule, and how much is in it.

use kapsa_capsule::Stored;

use crate::error::Result;
use crate::records::request::{LIMIT_NONE, Stats};
use crate::records::{codec, kinds};
use crate::search::reader::Reader;
use crate::tables::branch_table::Class;
use crate::tables::lineage::Lineage;
use crate::versions::branch;
use crate::view::{View, counts};

/// Sizes and counts; `count_uris` reads the tables of the whole index.
///
/// # Errors
/// Only what the disk or a damaged file reports.
pub fn stats(reader: &Reader, count_uris: bool) -> Result<Stats> {
    let view = reader.view();
    let snapshot = view.store().snapshot();
    let (file, commit) = (snapshot.file(), snapshot.commit());
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    Ok(Stats {
        capsule_id: hex(&file.capsule_id),
        format_version: file.format_version,
        created_at: file.created_us,
        size_bytes: file.file_bytes,
        record_count: commit.next_sequence - 1,
        commit_count: commit.number,
        last_commit_at: (commit.number > 0).then_some(commit.time_us),
        chain: hex(&commit.chain),
        generation: file.generation,
        segment_count: snapshot.segments().len(),
        tail_records: snapshot.tail().end - snapshot.tail().start,
        index_bytes: snapshot.segments().iter().map(|s| s.payload_len).sum(),
        torn_bytes: file.file_bytes - file.committed_bytes,
        uri_count: if count_uris { Some(counts::uris(view)?) } else { None },
        branch_count: if count_uris { Some(branch::list(reader)?.len() as u64) } else { None },
        checkpoint_count: if count_uris {
            Some(count_system(view, kinds::CHECKPOINT)?)
        } else {
            None
        },
        text_bytes: if count_uris { Some(text_bytes(view)?) } else { None },
        event_count: if count_uris { Some(count_system(view, kinds::EVENT)?) } else { None },
    })
}

/// How many revisions of memories were ever written, without what the capsule writes about itself.
///
/// # Errors
/// Only what the disk or a damaged file reports.
pub fn revision_count(reader: &Reader) -> Result<u64> {
    let store = reader.view().store();
    let system = store.sequences(&Lineage::all(), Class::System)?;
    let of_the_capsule: u64 = system.ranges().iter().map(|range| range.end - range.start).sum();
    Ok(store.snapshot().commit().next_sequence - 1 - of_the_capsule)
}

/// Bytes of everything that was ever written by somebody and not erased.
fn text_bytes(view: &View) -> Result<u64> {
    let snapshot = view.store().snapshot();
    let mut bytes = 0;
    for stored in snapshot.records(1) {
        let stored = stored?;
        if let Stored::Body(body) = stored.stored() {
            let record = codec::decode(stored.sequence(), body)?.record;
            bytes += (record.title.len() + record.text.len()) as u64;
        }
    }
    Ok(bytes)
}

/// How many records of a kind the capsule has written about itself.
fn count_system(view: &View, kind: &str) -> Result<u64> {
    let lineage = Lineage::all().before(view.lineage().below());
    let filter = kapsa_index::Filter {
        all: vec![vec![format!("kind:{kind}")]],
        seqs: Some(view.store().sequences(&lineage, Class::System)?),
        ..kapsa_index::Filter::default()
    };
    Ok(view.store().searcher()?.newest(&filter, LIMIT_NONE, None, &mut |_| true)?.len() as u64)
}
