//! The size of a capsule, and how much is in it.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use kapsa_capsule::Stored;

use crate::error::Result;
use crate::records::request::{LIMIT_NONE, RecordCounts, Stats};
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
    let texts = if count_uris { Some(texts(view)?) } else { None };
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    Ok(Stats {
        capsule_id: hex(&file.capsule_id),
        format_version: file.format_version,
        created_at: file.created_us,
        size_bytes: file.file_bytes,
        last_sequence: commit.next_sequence - 1,
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
        text_bytes: texts.map(|texts| texts.bytes),
        dedup_ratio: texts.map(Texts::ratio),
        event_count: if count_uris { Some(count_system(view, kinds::EVENT)?) } else { None },
    })
}

/// How many records a capsule holds: revisions of memories, tombstones, and what the capsule writes
/// about itself. The blobs of files are parts of records, and what was erased is none any more.
///
/// # Errors
/// Only what the disk or a damaged file reports.
pub fn record_counts(reader: &Reader) -> Result<RecordCounts> {
    counts::records(reader.view().store())
}

/// How many revisions of memories a capsule holds, without what it writes about itself.
///
/// # Errors
/// Only what the disk or a damaged file reports.
pub fn revision_count(reader: &Reader) -> Result<u64> {
    let store = reader.view().store();
    let system = store.sequences(&Lineage::all(), Class::System)?;
    let of_the_capsule: u64 = system.ranges().iter().map(|range| range.end - range.start).sum();
    Ok(counts::held(store)? - of_the_capsule)
}

/// Bytes of everything that was ever written by somebody and not erased.
#[derive(Clone, Copy, Default)]
struct Texts {
    bytes: u64,
    /// Those of texts that differ.
    distinct: u64,
}

impl Texts {
    fn ratio(self) -> f64 {
        if self.distinct == 0 { 1.0 } else { self.bytes as f64 / self.distinct as f64 }
    }
}

fn texts(view: &View) -> Result<Texts> {
    let snapshot = view.store().snapshot();
    let (mut texts, mut seen) = (Texts::default(), HashSet::new());
    for stored in snapshot.records(1) {
        let stored = stored?;
        if let Stored::Body(body) = stored.stored() {
            let record = codec::decode(stored.sequence(), body)?.record;
            let bytes = (record.title.len() + record.text.len()) as u64;
            texts.bytes += bytes;
            let mut hasher = DefaultHasher::new();
            (&record.title, &record.text).hash(&mut hasher);
            texts.distinct += if seen.insert(hasher.finish()) { bytes } else { 0 };
        }
    }
    Ok(texts)
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
