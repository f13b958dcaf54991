//! Keeps the capsule fast and small: small merges inside a put, all of them on `optimize`, a new
//! file on `compact`.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use kapsa_capsule::{Rewrite, SegmentDraft, SegmentMeta, Snapshot, Stored};

use crate::error::Result;
use crate::job::Job;
use crate::records::codec::{self, Operation};
use crate::records::record::Micros;
use crate::records::request::{LIMIT_NONE, MaintenanceReport};
use crate::tables::keys::Replacement;
use crate::tables::lineage::Lineage;
use crate::tables::revision_map::{Kept, RevisionMap};
use crate::tables::segments::{CONTENT_TERM, PURGE_TERM, Part, merge};
use crate::view::{View, blobs};
use crate::write::embedding;
use crate::write::gather::{add_derived, detached};
use crate::write::index_batch::index_batch;
use crate::write::later::index_beside;
use crate::write::options::{Progress, WriteOptions};

/// Neighbouring small segments that a put merges into one.
pub const SMALL_MERGE_SEGMENTS: usize = 4;
/// Most records that a merge inside a put touches: the work of one commit is bounded by it.
pub const SMALL_MERGE_RECORDS_MAX: u64 = 1024;
/// Most bytes of segments that a merge inside a put reads.
pub const SMALL_MERGE_BYTES_MAX: u64 = 2 << 20;
/// Most records in a segment that `optimize` makes.
pub const SEGMENT_RECORDS_MAX: u64 = 1 << 18;
/// From so many segments on a capsule is worth optimising.
pub const SEGMENTS_MANY: usize = 32;
/// Records that compaction indexes at a time.
const COMPACT_BATCH_RECORDS: u64 = 1 << 16;
/// Bytes of text that compaction indexes at a time.
const COMPACT_BATCH_BYTES: usize = 64 << 20;

/// The newest small segments, when there are enough of them to be merged within a put.
pub(crate) fn wants_small_merge(segments: &[SegmentMeta]) -> Option<Range<usize>> {
    let from = segments.len().checked_sub(SMALL_MERGE_SEGMENTS)?;
    let run = &segments[from..];
    let records: u64 = run.iter().map(records_of).sum();
    let bytes: u64 = run.iter().map(|s| s.payload_len).sum();
    let small = run
        .iter()
        .all(|s| records_of(s) <= SMALL_MERGE_RECORDS_MAX / SMALL_MERGE_SEGMENTS as u64 + 1);
    (small
        && records <= SMALL_MERGE_RECORDS_MAX + SMALL_MERGE_SEGMENTS as u64
        && bytes <= SMALL_MERGE_BYTES_MAX)
        .then_some(from..segments.len())
}

pub(super) fn records_of(segment: &SegmentMeta) -> u64 {
    segment.next_sequence - segment.first_sequence
}

/// Runs of segments that one merge each should join.
fn plan(segments: &[SegmentMeta]) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let (mut start, mut records) = (0, 0);
    for (index, segment) in segments.iter().enumerate() {
        if records + records_of(segment) > SEGMENT_RECORDS_MAX {
            runs.push(start..index);
            (start, records) = (index, 0);
        }
        records += records_of(segment);
    }
    runs.push(start..segments.len());
    runs.retain(|run| run.len() > 1);
    runs
}

/// Indexes the tail and merges index segments. The lock is taken only to publish what was built
/// without it.
///
/// # Errors
/// `LockedByWriter` when another writer does not end in time; what the disk says.
pub fn optimize(
    path: &Path,
    options: &WriteOptions,
    progress: Progress<'_>,
) -> Result<MaintenanceReport> {
    let capsule_options = options.capsule();
    let mut writer = kapsa_capsule::Writer::open(path, &capsule_options)?;
    let report = before(&writer.snapshot()?);
    drop(writer);
    index_beside(path, options, 0)?;
    let snapshot = Snapshot::open(path)?;
    let view = View::new(snapshot.clone());
    let runs = plan(snapshot.segments());
    for (done, run) in runs.iter().enumerate() {
        progress(done as u64, Some(runs.len() as u64));
        let draft = merge(&view.store().tables().merge_sources(run.clone())?)?;
        let mut writer = kapsa_capsule::Writer::open(path, &capsule_options)?;
        if is_still_wanted(&draft, &snapshot, &writer.snapshot()?) {
            publish(&mut writer, draft, (options.clock)())?;
        }
    }
    let mut writer = kapsa_capsule::Writer::open(path, &capsule_options)?;
    merge_vectors(&mut writer, (options.clock)())?;
    let after = writer.snapshot()?;
    Ok(finish(report, &after))
}

/// Merges derived segments of vectors, when there are many.
pub(super) fn merge_vectors(writer: &mut kapsa_capsule::Writer, now: Micros) -> Result<()> {
    let view = View::new(writer.snapshot()?);
    let drafts: Vec<_> = embedding::merged(view.store(), &|block| block.id.is_some(), &|_| false)?
        .into_iter()
        .filter(|(_, ids)| ids.len() > 1)
        .collect();
    if drafts.is_empty() {
        return Ok(());
    }
    let mut transaction = writer.begin()?;
    for (draft, ids) in drafts {
        transaction.add_derived(draft, &ids)?;
    }
    transaction.commit(now)?;
    Ok(())
}

/// Whether the segments that a merged one was built from `then` are the ones in force `now`.
pub(super) fn is_still_wanted(draft: &SegmentDraft, then: &Snapshot, now: &Snapshot) -> bool {
    let inside = |s: &&SegmentMeta| {
        s.first_sequence >= draft.first_sequence && s.next_sequence <= draft.next_sequence
    };
    let ids = |snapshot: &Snapshot| {
        snapshot.segments().iter().filter(inside).map(|s| s.id).collect::<Vec<_>>()
    };
    then.file().generation == now.file().generation && ids(then) == ids(now)
}

/// As [`optimize`], by a writer that holds the lock.
pub(crate) fn optimize_held(
    writer: &mut kapsa_capsule::Writer,
    now: Micros,
    progress: Progress<'_>,
) -> Result<MaintenanceReport> {
    let report = before(&writer.snapshot()?);
    index_tail(writer, now)?;
    let snapshot = writer.snapshot()?;
    let view = View::new(snapshot.clone());
    let runs = plan(snapshot.segments());
    for (done, run) in runs.iter().enumerate() {
        progress(done as u64, Some(runs.len() as u64));
        let draft = merge(&view.store().tables().merge_sources(run.clone())?)?;
        publish(writer, draft, now)?;
    }
    merge_vectors(writer, now)?;
    let after = writer.snapshot()?;
    Ok(finish(report, &after))
}

pub(super) fn before(snapshot: &Snapshot) -> MaintenanceReport {
    MaintenanceReport {
        segments_before: snapshot.segments().len(),
        bytes_before: snapshot.file().file_bytes,
        ..MaintenanceReport::default()
    }
}

pub(super) fn finish(report: MaintenanceReport, after: &Snapshot) -> MaintenanceReport {
    MaintenanceReport {
        segments_after: after.segments().len(),
        bytes_after: after.file().file_bytes,
        ..report
    }
}

pub(crate) fn index_tail(writer: &mut kapsa_capsule::Writer, now: Micros) -> Result<()> {
    let snapshot = writer.snapshot()?;
    if snapshot.tail().is_empty() {
        return Ok(());
    }
    let view = View::new(snapshot);
    let drafts = index_batch(&view, &[], || Ok(()))?;
    let mut transaction = writer.begin()?;
    for draft in drafts {
        transaction.add_segment(draft)?;
    }
    // Vectors never keep a tail from its segment: they can be made again.
    let vectors = detached(view.store(), view.store(), None);
    add_derived(&mut transaction, vectors.unwrap_or_default())?;
    transaction.commit(now)?;
    Ok(())
}

pub(super) fn publish(
    writer: &mut kapsa_capsule::Writer,
    draft: SegmentDraft,
    now: Micros,
) -> Result<()> {
    let mut transaction = writer.begin()?;
    transaction.add_segment(draft)?;
    transaction.commit(now)?;
    Ok(())
}

/// Writes a new file that holds every record but the purged ones' contents, packed, with fresh
/// segments.
pub(crate) fn compact(
    writer: &mut kapsa_capsule::Writer,
    progress: Progress<'_>,
) -> Result<MaintenanceReport> {
    let snapshot = writer.snapshot()?;
    let report = before(&snapshot);
    let view = View::new(snapshot.clone());
    let mut erase = purged(&view)?;
    let blobs: HashSet<u64> = unused_blobs(&view, &erase)?.into_iter().collect();
    erase.extend(&blobs);
    let total = snapshot.commit().next_sequence - 1;
    let mut rewrite = writer.rewrite()?;
    let mut copy = Copying { blobs, ..Copying::default() };
    copy.up_to(total, &snapshot, &mut rewrite, &erase, progress)?;
    add_vectors(&mut rewrite, &view, &erase)?;
    rewrite.finish(writer)?;
    let after = writer.snapshot()?;
    Ok(MaintenanceReport { purged: copy.erased, ..finish(report, &after) })
}

/// As [`compact`], while others write: the lock is taken only for what came meanwhile. Whether the
/// new file took the old one's place, which it does not where another one did before.
pub(super) fn compact_beside(
    path: &Path,
    options: &WriteOptions,
    progress: Progress<'_>,
) -> Result<bool> {
    let snapshot = Snapshot::open(path)?;
    let view = View::new(snapshot.clone());
    // A blob that no record has may get one before this ends: blobs stay for `compact`.
    let erase = purged(&view)?;
    let mut rewrite = Rewrite::beside(&snapshot)?;
    let mut copy = Copying::default();
    let total = snapshot.commit().next_sequence - 1;
    copy.up_to(total, &snapshot, &mut rewrite, &erase, progress)?;
    rewrite.sync()?;
    let mut writer = kapsa_capsule::Writer::open(path, &options.capsule())?;
    let current = writer.snapshot()?;
    if current.file().generation != snapshot.file().generation {
        return Ok(false);
    }
    let total = current.commit().next_sequence - 1;
    copy.up_to(total, &current, &mut rewrite, &erase, progress)?;
    add_vectors(&mut rewrite, &View::new(current), &erase)?;
    rewrite.finish(&mut writer)?;
    Ok(true)
}

/// Vectors that cannot be read are left behind: they can be made again.
fn add_vectors(rewrite: &mut Rewrite, view: &View, erase: &HashSet<u64>) -> Result<()> {
    let merged = embedding::merged(view.store(), &|_| true, &|seq| erase.contains(&seq));
    for (derived, _) in merged.unwrap_or_default() {
        rewrite.add_derived(derived, &[])?;
    }
    Ok(())
}

/// Copies records to a new file, with fresh segments.
#[derive(Default)]
struct Copying {
    revision_map: RevisionMap,
    /// Records that were copied.
    done: u64,
    /// Those of which only the hash was kept, and was not before, without blobs.
    erased: u64,
    /// The blobs that are left out.
    blobs: HashSet<u64>,
}

impl Copying {
    /// Goes on to the record `total`, that one included.
    fn up_to(
        &mut self,
        total: u64,
        snapshot: &Snapshot,
        rewrite: &mut Rewrite,
        erase: &HashSet<u64>,
        progress: Progress<'_>,
    ) -> Result<()> {
        while self.done < total {
            progress(self.done, Some(total));
            let next = self.done + 1;
            let batch = read_batch(snapshot, next, erase)?;
            let newly = batch.iter().zip(next..).filter(|(item, sequence)| {
                matches!(item, Kept::Erased { newly: true, .. }) && !self.blobs.contains(sequence)
            });
            self.erased += newly.count() as u64;
            let replaced = self.revision_map.replacements(&batch, next);
            let draft = std::thread::scope(|scope| {
                let indexer = Job::begin(scope, (&batch, &replaced), |(batch, replaced)| {
                    index(next, batch, replaced)
                });
                let appended =
                    batch.iter().try_for_each(|item| rewrite.append(item.stored()).map(drop));
                let draft = indexer.end();
                appended?;
                draft
            })?;
            rewrite.add_segment(draft)?;
            self.done += batch.len() as u64;
        }
        Ok(())
    }
}

fn read_batch(snapshot: &Snapshot, from: u64, erase: &HashSet<u64>) -> Result<Vec<Kept>> {
    let mut batch = Vec::new();
    let mut bytes = 0;
    for record in snapshot.records(from) {
        let record = record?;
        let stored = record.stored();
        batch.push(match stored {
            Stored::Body(body) if !erase.contains(&record.sequence()) => {
                bytes += body.len();
                Kept::Record {
                    bytes: body.to_vec(),
                    body: Box::new(codec::decode(record.sequence(), body)?),
                }
            }
            _ => Kept::Erased { hash: stored.hash(), newly: matches!(stored, Stored::Body(_)) },
        });
        if batch.len() as u64 >= COMPACT_BATCH_RECORDS || bytes >= COMPACT_BATCH_BYTES {
            break;
        }
    }
    Ok(batch)
}

pub(crate) fn index(
    first: u64,
    batch: &[Kept],
    replaced: &[Vec<Replacement>],
) -> Result<SegmentDraft> {
    let text_bytes = batch.iter().map(Kept::len).sum();
    let mut part = Part::new(first, text_bytes)?;
    for (kept, replaced) in batch.iter().zip(replaced) {
        match kept {
            Kept::Erased { .. } => part.add_erased()?,
            Kept::Record { body, .. } => part.add_body(body, replaced)?,
        }
    }
    part.finish()
}

/// Sequences of the blobs that no record has but those that are erased.
fn unused_blobs(view: &View, erase: &HashSet<u64>) -> Result<Vec<u64>> {
    let store = view.store();
    let filter = kapsa_index::Filter {
        all: vec![vec![CONTENT_TERM.to_string()]],
        ..kapsa_index::Filter::default()
    };
    let mut used = HashSet::new();
    for sequence in store.searcher()?.newest(&filter, LIMIT_NONE, None, &mut |_| true)? {
        if !erase.contains(&sequence) {
            used.extend(store.record(sequence)?.content.into_iter().flat_map(|one| one.blobs));
        }
    }
    let mut unused = Vec::new();
    for sequence in blobs::sequences(store)?.ranges().iter().cloned().flatten() {
        let id = store.record(sequence)?.uri.blob_id();
        if id.is_some_and(|id| !used.contains(&id)) {
            unused.push(sequence);
        }
    }
    Ok(unused)
}

/// Sequences whose content a purge marker asks to erase: all before it but other markers, which say
/// no more than the marker itself, and without which a branch would no longer know that something
/// was purged on it.
fn purged(view: &View) -> Result<HashSet<u64>> {
    let filter = kapsa_index::Filter {
        all: vec![vec![PURGE_TERM.to_string()]],
        ..kapsa_index::Filter::default()
    };
    let markers = view.store().searcher()?.newest(&filter, LIMIT_NONE, None, &mut |_| true)?;
    let mut erase = HashSet::new();
    for &marker in &markers {
        let body = view.store().body(marker)?;
        if body.operation == Operation::Purge {
            erase.extend(
                view.store().revisions_under(&body.record.uri, &Lineage::all().before(marker))?,
            );
        }
    }
    for marker in markers {
        if view.store().body(marker)?.operation == Operation::Purge {
            erase.remove(&marker);
        }
    }
    Ok(erase)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::records::record::NewRecord;
    use crate::search::reader::Reader;
    use crate::write::options::create;
    use crate::write::writer::Writer;

    fn capsule(folder: &tempfile::TempDir) -> (std::path::PathBuf, WriteOptions) {
        let path = folder.path().join("m.kapsa");
        let options =
            WriteOptions { lock_timeout: Duration::from_secs(30), ..WriteOptions::new(|| 1) };
        create(&path, &options).expect("created");
        let mut writer = Writer::open(&path, options.clone()).expect("opens");
        for n in 0..600 {
            writer.put(NewRecord::text(format!("thought number {n}"))).expect("put");
        }
        (path, options)
    }

    fn texts(path: &Path) -> Vec<String> {
        let reader = Reader::open(path).expect("opens");
        let all = (1..=reader.view().store().snapshot().commit().next_sequence - 1)
            .map(|sequence| reader.record(sequence).expect("there").text)
            .collect();
        let report = kapsa_capsule::verify(path, &mut |_, _| {}).expect("can be checked");
        assert_eq!(report.problems, []);
        all
    }

    #[test]
    fn a_new_file_holds_what_came_while_it_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, options) = capsule(&folder);
        let mut before = texts(&path);
        let mut meanwhile = Some("came meanwhile");
        let mut put = |_, _| {
            if let Some(text) = meanwhile.take() {
                let mut writer = Writer::open(&path, options.clone()).expect("nobody holds it");
                writer.put(NewRecord::text(text)).expect("put");
                before.push(text.to_string());
            }
        };
        assert!(compact_beside(&path, &options, &mut put).expect("written"));
        assert_eq!(texts(&path), before);
        let snapshot = Snapshot::open(&path).expect("opens");
        assert_eq!((snapshot.file().generation, snapshot.commit().number), (2, 601));
    }

    #[test]
    fn a_file_that_was_written_anew_meanwhile_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, options) = capsule(&folder);
        let before = texts(&path);
        let mut is_first = true;
        let mut overtake = |_, _| {
            if std::mem::take(&mut is_first) {
                let writer = Writer::open(&path, options.clone()).expect("nobody holds it");
                writer.compact(&mut |_, _| {}).expect("compacted");
            }
        };
        assert!(!compact_beside(&path, &options, &mut overtake).expect("given up"));
        assert_eq!(texts(&path), before);
        assert_eq!(Snapshot::open(&path).expect("opens").file().generation, 2);
        let names = std::fs::read_dir(folder.path()).expect("listed");
        let left = names.filter(|name| {
            let name = name.as_ref().expect("listed").file_name();
            !["m.kapsa", "m.kapsa.lock"].contains(&name.to_string_lossy().as_ref())
        });
        assert_eq!(left.count(), 0, "no temporary file is left");
    }
}
