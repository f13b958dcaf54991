//! The write path, from a new record to the disk, as a table of contents:
//! check → encode (`codec`) → append → index when the tail is full (`segments`) → commit (one sync).

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kapsa_capsule::{Holder, NewCapsule, SegmentDraft, Transaction, Volume, WriterOptions};

use crate::codec::{self, Operation};
use crate::error::{Error, Result};
use crate::index_batch::{Entry, index_batch};
use crate::maintain;
use crate::record::{KIND_DEFAULT, Micros, NewRecord, Record, Source};
use crate::request::{Change, Filter, MaintenanceReport, Put, SourceReport};
use crate::segments::{Indexed, merge};
use crate::uri::Uri;
use crate::view::View;

/// Records that the tail may hold: the next one brings a segment with it.
pub const TAIL_RECORDS_MAX: u64 = 128;
/// Records that the tail may hold while several threads put at once: an index segment costs milliseconds whatever its size,
/// so that building one for every few shared commits would be most of the work.
pub const TAIL_RECORDS_SHARED_MAX: u64 = 1024;
/// Bytes that the tail may hold.
pub const TAIL_BYTES_MAX: u64 = 256 << 10;
/// Most records that one call of [`Writer::put_many`] should bring: one commit each.
pub const BATCH_RECORDS_MAX: usize = 65_536;
/// Most bytes of text that one call of [`Writer::put_many`] should bring.
pub const BATCH_BYTES_MAX: usize = 64 << 20;
/// Fewest records that are encoded on two threads.
const PARALLEL_RECORDS_MIN: usize = 4096;
/// Most passages of one source that are compared when it is put again.
const SOURCE_PASSAGES_MAX: usize = 1 << 20;

/// How a capsule is opened for writing. The clock and the holder's name are passed in: this crate reads neither.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// The time now, for commits and for records that bring none.
    pub clock: fn() -> Micros,
    /// How long to wait for another writer; default not at all.
    pub lock_timeout: Duration,
    /// Who writes, for the message that another writer sees.
    pub holder: Holder,
}

impl WriteOptions {
    /// Options with this clock, no waiting and no name.
    #[must_use]
    pub fn new(clock: fn() -> Micros) -> WriteOptions {
        WriteOptions { clock, lock_timeout: Duration::ZERO, holder: Holder::default() }
    }

    fn capsule(&self) -> WriterOptions {
        WriterOptions { holder: self.holder.clone(), lock_timeout: self.lock_timeout }
    }
}

/// Progress of long work: items or bytes done, and the total where it is known.
pub type Progress<'a> = &'a mut dyn FnMut(u64, Option<u64>);

/// Whether [`create`] made the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// A new, empty capsule.
    New,
    /// A capsule was there already and opens.
    Existing,
}

/// Makes an empty capsule at `path`, or finds one there.
///
/// # Errors
/// `NotACapsule` when something else is there (it is not touched), or what the disk says.
pub fn create(path: &Path, options: &WriteOptions) -> Result<Created> {
    let new = NewCapsule { capsule_id: crate::ids::random_id(), created_us: (options.clock)() };
    let made = kapsa_capsule::create(path, new, &options.capsule())?;
    Ok(if made { Created::New } else { Created::Existing })
}

/// Makes an empty capsule in `volume` without a lock: for volumes that one process has to itself.
///
/// # Errors
/// As [`create`].
pub fn create_unlocked(volume: &dyn Volume, path: &Path, options: &WriteOptions) -> Result<Created> {
    let new = NewCapsule { capsule_id: crate::ids::random_id(), created_us: (options.clock)() };
    let made = kapsa_capsule::create_unlocked(volume, path, new)?;
    Ok(if made { Created::New } else { Created::Existing })
}

/// The one writer of a capsule. Holds the lock until dropped.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    options: WriteOptions,
    capsule: kapsa_capsule::Writer,
    /// View of the newest commit; dropped by everything that commits.
    view: Option<View>,
}

impl Writer {
    /// Opens a capsule for writing, waiting for another writer up to the timeout.
    ///
    /// # Errors
    /// `LockedByWriter`, `NotFound`, `NotACapsule`, `VersionMismatch`, `Truncated`, `Corrupt`, or what the system says.
    pub fn open(path: &Path, options: WriteOptions) -> Result<Writer> {
        let capsule = kapsa_capsule::Writer::open(path, &options.capsule())?;
        Ok(Writer { path: path.to_path_buf(), options, capsule, view: None })
    }

    /// Opens a capsule of `volume` without a lock: for volumes that one process has to itself.
    ///
    /// # Errors
    /// As [`Writer::open`].
    pub fn open_unlocked(volume: Arc<dyn Volume>, path: &Path, options: WriteOptions) -> Result<Writer> {
        let capsule = kapsa_capsule::Writer::open_unlocked(volume, path)?;
        Ok(Writer { path: path.to_path_buf(), options, capsule, view: None })
    }

    /// Path of the capsule.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts one record: one commit, durable when this returns.
    ///
    /// # Errors
    /// `InvalidRecord`, or what the disk says; then nothing was stored.
    pub fn put(&mut self, record: NewRecord) -> Result<Put> {
        let mut puts = self.put_many(vec![record])?;
        Ok(puts.pop().expect("one record, one answer"))
    }

    /// Puts many records in one commit: all or none. See [`BATCH_RECORDS_MAX`].
    ///
    /// # Errors
    /// As [`Writer::put`].
    pub fn put_many(&mut self, records: Vec<NewRecord>) -> Result<Vec<Put>> {
        self.put_all(records, TAIL_RECORDS_MAX)
    }

    /// As [`Writer::put_many`], for records of several threads.
    pub(crate) fn put_shared(&mut self, records: Vec<NewRecord>) -> Result<Vec<Put>> {
        let tail_max = if records.len() > 1 { TAIL_RECORDS_SHARED_MAX } else { TAIL_RECORDS_MAX };
        self.put_all(records, tail_max)
    }

    fn put_all(&mut self, records: Vec<NewRecord>, tail_max: u64) -> Result<Vec<Put>> {
        records.iter().try_for_each(NewRecord::check)?;
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let now = (self.options.clock)();
        let entries = self.entries(records, now)?;
        let puts = self.describe(&entries)?;
        self.commit_within(tail_max, entries, now)?;
        Ok(puts)
    }

    /// Puts the passages of one document (made by [`crate::document::cut`]): unchanged passages are skipped, vanished
    /// ones forgotten, all in one commit.
    ///
    /// # Errors
    /// As [`Writer::put`].
    pub fn put_source(&mut self, source: &str, passages: Vec<NewRecord>) -> Result<SourceReport> {
        passages.iter().try_for_each(NewRecord::check)?;
        let now = (self.options.clock)();
        let mut report = SourceReport::default();
        let mut changed = Vec::new();
        let mut kept = HashSet::new();
        for passage in passages {
            let uri = passage.uri.clone().ok_or_else(|| misuse("a passage has no URI"))?;
            kept.insert(uri.clone());
            match self.unchanged(&uri, &passage)? {
                Some(sequence) => report.puts.push(Put { uri, sequence, change: Change::Unchanged }),
                None => changed.push(passage),
            }
        }
        let vanished: Vec<Uri> = self.passages_of(source)?.into_iter().filter(|uri| !kept.contains(uri)).collect();
        let mut entries = self.entries(changed, now)?;
        let added = entries.len();
        let next = self.capsule.snapshot()?.commit().next_sequence + added as u64;
        entries.extend((next..).zip(&vanished).map(|(sequence, uri)| Entry::tombstone(Operation::Tombstone, sequence, uri, now)));
        let mut puts = self.describe(&entries)?;
        report.forgotten = puts.split_off(added);
        report.puts.extend(puts);
        self.commit(entries, now)?;
        Ok(report)
    }

    /// Forgets a URI: a tombstone; history stays.
    ///
    /// # Errors
    /// `UriNotFound` when nothing is visible under it; what the disk says.
    pub fn forget(&mut self, uri: &Uri) -> Result<Put> {
        self.visible(uri)?;
        self.bury(Operation::Tombstone, uri)
    }

    /// Forgets a URI and marks every revision of it for true erasure at the next compaction. Returns how many.
    ///
    /// # Errors
    /// `UriNotFound` when there never was anything under it; what the disk says.
    pub fn purge(&mut self, uri: &Uri) -> Result<u64> {
        let revisions = self.view()?.revisions(uri)?;
        let mut erasable = 0;
        for &sequence in &revisions {
            erasable += u64::from(self.view()?.body(sequence)?.operation == Operation::Put);
        }
        if erasable == 0 {
            return Err(Error::UriNotFound { uri: uri.to_string() });
        }
        self.bury(Operation::Purge, uri)?;
        Ok(erasable)
    }

    /// Indexes the tail and merges all index segments into few, while the lock is held. [`crate::optimize`] holds it for moments only.
    ///
    /// # Errors
    /// What the disk says; the capsule is whole whatever happens.
    pub fn optimize(&mut self, progress: Progress<'_>) -> Result<MaintenanceReport> {
        // What follows commits past this type, so the view of before must not outlive it.
        self.view = None;
        maintain::optimize_held(&mut self.capsule, (self.options.clock)(), progress)
    }

    /// Writes a new, packed file without what was purged and renames it into place.
    ///
    /// # Errors
    /// What the disk says; the old file stays whole until the new one is.
    pub fn compact(mut self, progress: Progress<'_>) -> Result<MaintenanceReport> {
        maintain::compact(&mut self.capsule, progress)
    }

    fn view(&mut self) -> Result<&View> {
        if self.view.is_none() {
            self.view = Some(View::new(self.capsule.snapshot()?));
        }
        Ok(self.view.as_ref().expect("made above"))
    }

    /// Encodes records, giving each its sequence and those without a URI a new one.
    fn entries(&mut self, records: Vec<NewRecord>, now: Micros) -> Result<Vec<Entry>> {
        let snapshot = self.capsule.snapshot()?;
        let first = snapshot.commit().next_sequence;
        let id = snapshot.file().capsule_id;
        Ok(in_parallel(first, records, &|sequence, record| Entry::put(sequence, record, &id, now)))
    }

    /// What will have happened to each record once they are committed.
    fn describe(&mut self, entries: &[Entry]) -> Result<Vec<Put>> {
        let mut known = HashMap::new();
        let mut puts = Vec::with_capacity(entries.len());
        for entry in entries {
            let exists = match known.get(&entry.uri) {
                _ if entry.fresh => false,
                Some(&exists) => exists,
                None => self.is_visible(&entry.uri)?,
            };
            let change = match (entry.tombstone, exists) {
                (true, _) => Change::Forgotten,
                (false, true) => Change::Revised,
                (false, false) => Change::Added,
            };
            if !entry.fresh {
                known.insert(&entry.uri, !entry.tombstone);
            }
            puts.push(Put { uri: entry.uri.clone(), sequence: entry.sequence, change });
        }
        Ok(puts)
    }

    fn is_visible(&mut self, uri: &Uri) -> Result<bool> {
        let view = self.view()?;
        Ok(match view.newest(uri)? {
            None => false,
            Some(sequence) => view.body(sequence)?.operation == Operation::Put,
        })
    }

    fn visible(&mut self, uri: &Uri) -> Result<()> {
        if self.is_visible(uri)? { Ok(()) } else { Err(Error::UriNotFound { uri: uri.to_string() }) }
    }

    /// Sequence of the newest revision of `uri`, if it says the same as `passage`.
    fn unchanged(&mut self, uri: &Uri, passage: &NewRecord) -> Result<Option<u64>> {
        let view = self.view()?;
        let Some(sequence) = view.newest(uri)? else { return Ok(None) };
        let body = view.body(sequence)?;
        let same = body.operation == Operation::Put && says_the_same(&body.record, passage);
        Ok(same.then_some(sequence))
    }

    /// URIs of the visible passages of a source.
    fn passages_of(&mut self, source: &str) -> Result<Vec<Uri>> {
        let view = self.view()?;
        let filter = Filter { sources: vec![source.to_string()], ..Filter::default() };
        let sequences = crate::read::list(view, &filter, SOURCE_PASSAGES_MAX, true)?;
        sequences.into_iter().map(|sequence| Ok(view.record(sequence)?.uri)).collect()
    }

    fn bury(&mut self, operation: Operation, uri: &Uri) -> Result<Put> {
        let now = (self.options.clock)();
        let sequence = self.capsule.snapshot()?.commit().next_sequence;
        self.commit(vec![Entry::tombstone(operation, sequence, uri, now)], now)?;
        Ok(Put { uri: uri.clone(), sequence, change: Change::Forgotten })
    }

    fn commit(&mut self, entries: Vec<Entry>, now: Micros) -> Result<()> {
        self.commit_within(TAIL_RECORDS_MAX, entries, now)
    }

    /// Appends the entries and, when the tail would grow beyond its limits, the segment that covers it; then one sync.
    fn commit_within(&mut self, tail_max: u64, entries: Vec<Entry>, now: Micros) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let snapshot = self.capsule.snapshot()?;
        let records = snapshot.tail().end - snapshot.tail().start + entries.len() as u64;
        let bytes = snapshot.tail_bytes() + entries.iter().map(|e| e.body.len() as u64).sum::<u64>();
        let full = records > tail_max || bytes > TAIL_BYTES_MAX;
        if full {
            self.view()?;
        }
        // The view is of the state before this commit, so it is used up here in any case.
        let view = self.view.take().filter(|_| full);
        let mut transaction = self.capsule.begin()?;
        if let Some(view) = view {
            for segment in append_indexed(&mut transaction, &view, &entries)? {
                transaction.add_segment(segment)?;
            }
        } else {
            append(&mut transaction, &entries)?;
            if let Some(range) = maintain::wants_small_merge(snapshot.segments()) {
                transaction.add_segment(merge(&View::new(snapshot).sources(range)?)?)?;
            }
        }
        transaction.commit(now)?;
        Ok(())
    }
}

/// Makes an entry of each record, on two threads when there are many.
fn in_parallel(first: u64, mut records: Vec<NewRecord>, make: &(dyn Fn(u64, NewRecord) -> Entry + Sync)) -> Vec<Entry> {
    let numbered = |first: u64, records: Vec<NewRecord>| (first..).zip(records).map(|(sequence, record)| make(sequence, record));
    if records.len() < PARALLEL_RECORDS_MIN {
        return numbered(first, records).collect();
    }
    let later = records.split_off(records.len() / 2);
    let middle = first + records.len() as u64;
    std::thread::scope(|scope| {
        let later = scope.spawn(move || numbered(middle, later).collect::<Vec<_>>());
        let mut entries: Vec<Entry> = numbered(first, records).collect();
        entries.extend(later.join().expect("encoding a checked record does not panic"));
        entries
    })
}

fn append(transaction: &mut Transaction<'_>, entries: &[Entry]) -> Result<()> {
    for entry in entries {
        let sequence = transaction.append(&entry.body)?;
        assert_eq!(sequence, entry.sequence, "entries are numbered as they are appended");
    }
    Ok(())
}

/// Appends the entries while other threads index them together with the tail.
fn append_indexed(transaction: &mut Transaction<'_>, view: &View, entries: &[Entry]) -> Result<Vec<SegmentDraft>> {
    index_batch(view, entries, || append(transaction, entries))
}

impl Entry {
    fn put(sequence: u64, record: NewRecord, capsule_id: &[u8; 16], now: Micros) -> Entry {
        let fresh = record.uri.is_none();
        let uri = match &record.uri {
            Some(uri) => uri.clone(),
            None => crate::ids::fresh_uri(capsule_id, sequence, now, &record.text),
        };
        let body = codec::encode(&record, &uri, fresh, now);
        let indexed = Indexed::of_new(&record, &uri, fresh, now);
        Entry { sequence, uri, fresh, tombstone: false, body, text: record.text, indexed }
    }

    fn tombstone(operation: Operation, sequence: u64, uri: &Uri, now: Micros) -> Entry {
        let body = codec::encode_tombstone(operation, uri, now);
        let decoded = codec::decode(sequence, &body).expect("just encoded");
        let indexed = Indexed::of_record(&decoded.record, false, operation == Operation::Purge);
        Entry { sequence, uri: uri.clone(), fresh: false, tombstone: true, body, text: String::new(), indexed }
    }
}

/// Whether a passage says what the record says. Lines may have moved; who puts it, and when, does not count.
fn says_the_same(old: &Record, new: &NewRecord) -> bool {
    let origin = |source: &Option<Source>| source.as_ref().map(|s| (s.path.clone(), s.content_hash.clone()));
    let kind = if new.kind.is_empty() { KIND_DEFAULT } else { &new.kind };
    (&old.title, &old.text, old.kind.as_str(), &old.label) == (&new.title, &new.text, kind, &new.label)
        && (&old.tags, &old.metadata) == (&new.tags, &new.metadata)
        && (&old.entity, &old.domain, old.confidence) == (&new.entity, &new.domain, new.confidence)
        && origin(&old.source) == origin(&new.source)
}

fn misuse(reason: &str) -> Error {
    Error::InvalidOperation { reason: reason.to_string() }
}
