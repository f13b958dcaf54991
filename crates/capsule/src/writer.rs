//! Makes records durable: frames and commit frame in one write past the end, one sync, then the
//! commit pointer.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::create::expect_finished;
use crate::draft::{
    Buffers, COMMIT_RECORDS_MAX, DerivedDraft, Draft, Ending, Finished, SegmentDraft, Tail,
    add_derived, add_segment, attach, drop_derived, finish_small, is_small, is_small_with,
    writes_small_commits,
};
use crate::error::{Error, Result, expect_readable_tail};
use crate::format::commit_pointer::CommitPointer;
use crate::format::frame::Kind;
use crate::format::header::{HEADER_BYTES, Header, WRITER_FEATURES};
use crate::format::manifest::Manifest;
use crate::format::records::Stored;
use crate::format::{Hash, SegmentMeta};
use crate::lock::{Lock, WriterOptions};
use crate::log::{Head, Located, expect_torn, locate, read_header};
use crate::pack::Packer;
use crate::seeded::{self, Seeded};
use crate::snapshot::{CommitInfo, Snapshot, StoredRecord, open_storage};
use crate::storage::{FileSystem, Storage, Volume, read_exact_at, read_up_to, write_all_at};

mod rewrite;

pub use rewrite::Rewrite;

/// Pause between two tries for a file whose lock file somebody took away.
const LOCK_PAUSE: Duration = Duration::from_millis(5);
/// Bytes copied at once when a commit of unknown durability is written again.
const COPY_BYTES: u64 = 1 << 20;
/// Bytes of the tail from which a dictionary for small commits is learned.
const TRAIN_SMALL_BYTES: u64 = 16 << 10;

/// The one writer of a capsule; others wait or fail until it is dropped.
#[derive(Debug)]
pub struct Writer {
    core: Core,
    volume: Arc<dyn Volume>,
    /// Held until the last use of the file is over; none for a volume that nobody shares.
    lock: Option<Lock>,
}

/// An open file and what is known of its end.
#[derive(Debug)]
struct Core {
    path: PathBuf,
    storage: Arc<dyn Storage>,
    header: Header,
    head: Head,
    pointed_end: u64,
    packer: Packer,
    /// Whether the file ends at the head, and head and name are known to be on disk.
    clean: bool,
    /// Whether the name is. A commit pointer says so too: only a writer that knows writes one.
    named: bool,
    poisoned: bool,
    snapshot: Option<Snapshot>,
    buffers: Buffers,
    /// Whether commits leave their sync to the caller.
    deferred: bool,
}

impl Writer {
    /// Opens the capsule at `path` for writing.
    ///
    /// # Errors
    /// `LockedByWriter` when another writer does not end in time; otherwise as [`Snapshot::open`].
    pub fn open(path: &Path, options: &WriterOptions) -> Result<Writer> {
        expect_finished(path)?;
        Writer::open_in(Arc::new(FileSystem), path, Some(options))
    }

    /// Opens a capsule of `volume` without a lock: for volumes that one process has to itself.
    ///
    /// # Errors
    /// As [`Snapshot::open`].
    pub fn open_unlocked(volume: Arc<dyn Volume>, path: &Path) -> Result<Writer> {
        Writer::open_in(volume, path, None)
    }

    fn open_in(
        volume: Arc<dyn Volume>,
        path: &Path,
        options: Option<&WriterOptions>,
    ) -> Result<Writer> {
        let path = volume.resolve(path).map_err(Error::io("resolve", path))?;
        // A stranger's file gets no lock file beside it.
        let storage = open_storage(&*volume, &path, true)?;
        let page = read_up_to(&*storage, 0, HEADER_BYTES).map_err(Error::unreadable(&path, 0))?;
        may_write(&read_header(&page, &path)?, &path)?;
        Writer::lock_opened(volume, &path, storage, options)
    }

    /// Takes the lock of a file that is open already, and finds its newest commit once it is held.
    #[expect(clippy::disallowed_methods, reason = "the time is waited for, not stored")]
    fn lock_opened(
        volume: Arc<dyn Volume>,
        path: &Path,
        mut storage: Arc<dyn Storage>,
        options: Option<&WriterOptions>,
    ) -> Result<Writer> {
        let mut lock = None;
        if let Some(options) = options {
            let start = Instant::now();
            lock = Some(Lock::acquire(path, &options.holder, options.lock_timeout)?);
            lock_file_itself(&*volume, path, &mut storage, options.lock_timeout, start)?;
        }
        let located = locate(&*storage, path)?;
        may_write(&located.header, path)?;
        expect_torn(&*storage, path, &located)?;
        Ok(Writer { core: Core::new(path, storage, &located), volume, lock })
    }

    /// Whether a failure could not be undone, so that nobody knows what is on disk: the next writer
    /// finds out.
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.core.poisoned
    }

    /// From now on nothing is durable before [`Writer::sync`]: for a new file that nobody knows
    /// yet. After a crash such a file may be damaged.
    pub fn defer_syncs(&mut self) {
        self.core.deferred = true;
    }

    /// Makes everything committed durable, and every later commit by itself again.
    ///
    /// # Errors
    /// What the system says; then the file must be given up: a second sync would succeed and prove
    /// nothing.
    pub fn sync(&mut self) -> Result<()> {
        self.core.expect_usable()?;
        let synced = self.core.storage.sync().map_err(Error::io("sync", &self.core.path));
        self.core.poisoned = synced.is_err();
        self.core.deferred &= synced.is_err();
        synced
    }

    /// Changes how much of a transaction is held in memory; smaller ones need less and pack worse.
    pub fn set_buffers(&mut self, buffers: Buffers) {
        self.core.buffers = buffers;
    }

    /// The view of the newest commit.
    ///
    /// # Errors
    /// `Corrupt` when the manifest does not check out.
    pub fn snapshot(&mut self) -> Result<Snapshot> {
        self.core.snapshot()
    }

    /// Begins a transaction; dropped without [`Transaction::commit`], it leaves nothing.
    ///
    /// # Errors
    /// `Poisoned` after a failure that could not be undone, `Replaced`, or what the system says.
    pub fn begin(&mut self) -> Result<Transaction<'_>> {
        self.expect_same_file()?;
        self.core.prepare(&*self.volume)?;
        let manifest = match self.core.head.commit.manifest_offset {
            0 if self.core.head.commit.indexed == 1 => Manifest::default(),
            _ => self.core.snapshot()?.manifest().clone(),
        };
        let draft = Draft::new(
            &self.core.path,
            &self.core.header,
            &self.core.head,
            manifest,
            self.core.buffers,
        );
        Ok(Transaction { core: &mut self.core, draft, published: false })
    }

    /// What is written to a file that lost its name is lost, and a file put in another one's place
    /// destroys that one.
    fn expect_same_file(&self) -> Result<()> {
        if self.core.storage.identity() == self.volume.identity(&self.core.path) {
            return Ok(());
        }
        Err(Error::Replaced { path: self.core.path.clone() })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.lock.is_some() {
            // Snapshots may keep the file open for long. Closing it is what is left when this
            // fails.
            let _closing_gives_it_back = self.core.storage.unlock();
        }
    }
}

/// A capsule whose file is open for writing and whose lock is not taken yet: what is to be written
/// can be worked out from what it holds while others still write to it.
#[derive(Debug)]
pub struct Unlocked {
    volume: Arc<dyn Volume>,
    storage: Arc<dyn Storage>,
    snapshot: Snapshot,
}

impl Unlocked {
    /// Opens the file of the capsule at `path`.
    ///
    /// # Errors
    /// As [`Snapshot::open`]; `VersionMismatch` when this program may only read it.
    pub fn open(path: &Path) -> Result<Unlocked> {
        expect_finished(path)?;
        let volume: Arc<dyn Volume> = Arc::new(FileSystem);
        let path = volume.resolve(path).map_err(Error::io("resolve", path))?;
        let storage = open_storage(&*volume, &path, true)?;
        let located = locate(&*storage, &path)?;
        may_write(&located.header, &path)?;
        let snapshot = Snapshot::of(&path, storage.clone(), &located)?;
        Ok(Unlocked { volume, storage, snapshot })
    }

    /// The view of the commit that was the newest when the file was opened.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Takes the lock, waiting for another writer up to the timeout. The file is not opened again
    /// unless it was replaced in the meantime; the writer goes on with what the snapshot has
    /// read when nothing was committed since.
    ///
    /// # Errors
    /// As [`Writer::open`].
    pub fn lock(self, options: &WriterOptions) -> Result<Writer> {
        let path = self.snapshot.path().to_path_buf();
        let opened = self.storage.clone();
        let mut writer = Writer::lock_opened(self.volume, &path, self.storage, Some(options))?;
        if Arc::ptr_eq(&opened, &writer.core.storage) && self.snapshot.is_of(&writer.core.located())
        {
            writer.core.snapshot = Some(self.snapshot);
        }
        Ok(writer)
    }
}

/// Locks the file that has the name now: the one that was opened may have been replaced, by
/// compaction for one.
fn lock_file_itself(
    volume: &dyn Volume,
    path: &Path,
    storage: &mut Arc<dyn Storage>,
    timeout: Duration,
    start: Instant,
) -> Result<()> {
    loop {
        let locked = storage.try_lock().map_err(Error::io("lock", path))?;
        if volume.identity(path) != storage.identity() {
            *storage = open_storage(volume, path, true)?;
        } else if locked {
            return Ok(());
        } else if start.elapsed() >= timeout {
            return Err(Error::LockedByWriter {
                path: path.to_path_buf(),
                holder: None,
                waited: start.elapsed(),
            });
        } else {
            std::thread::sleep(LOCK_PAUSE);
        }
    }
}

fn may_write(header: &Header, path: &Path) -> Result<()> {
    match header.writer_features & !WRITER_FEATURES {
        0 => Ok(()),
        unknown => {
            let found = format!("unknown writer features {unknown:#x}; it can still be read");
            Err(Error::VersionMismatch { path: path.to_path_buf(), found })
        }
    }
}

impl Core {
    fn new(path: &Path, storage: Arc<dyn Storage>, located: &Located) -> Core {
        assert!(
            located.pointed_end <= located.head.end,
            "the newest commit is the one that a pointer names or a later one"
        );
        Core {
            path: path.to_path_buf(),
            storage,
            header: located.header,
            head: located.head,
            pointed_end: located.pointed_end,
            packer: Packer::default(),
            clean: located.named
                && located.file_len == located.head.end
                && located.pointed_end == located.head.end,
            named: located.named,
            poisoned: false,
            snapshot: None,
            buffers: Buffers::default(),
            deferred: false,
        }
    }

    fn located(&self) -> Located {
        Located {
            header: self.header,
            head: self.head,
            named: self.named,
            pointed_end: self.pointed_end,
            file_len: self.head.end,
        }
    }

    fn snapshot(&mut self) -> Result<Snapshot> {
        if let Some(snapshot) = &self.snapshot {
            return Ok(snapshot.clone());
        }
        let snapshot = Snapshot::of(&self.path, self.storage.clone(), &self.located())?;
        self.snapshot = Some(snapshot.clone());
        Ok(snapshot)
    }

    fn expect_usable(&self) -> Result<()> {
        if self.poisoned { Err(Error::Poisoned { path: self.path.clone() }) } else { Ok(()) }
    }

    /// Makes the file end at the head, and head and name durable, before anything is built on them.
    fn prepare(&mut self, volume: &dyn Volume) -> Result<()> {
        self.expect_usable()?;
        if self.clean {
            return Ok(());
        }
        self.storage
            .set_len(self.head.end)
            .map_err(Error::io("cut the torn end of", &self.path))?;
        let synced = self.storage.sync();
        // Commits that left their sync to the caller may be lost, and no later sync would say so.
        self.poisoned |= self.deferred && synced.is_err();
        synced.map_err(Error::io("sync", &self.path))?;
        if self.rewrite_missing()? {
            self.storage.sync().map_err(Error::io("sync", &self.path))?;
        }
        if !self.named {
            // Whoever gave the file its name may have died before the name was on disk.
            volume.sync_folder(&self.path).map_err(Error::io("sync the folder of", &self.path))?;
            self.named = true;
        }
        // A commit pointer that names the head already is not written again: a torn one would name
        // nothing.
        if self.pointed_end < self.head.end {
            self.write_pointer();
        }
        self.clean = true;
        assert!(
            self.named && !self.poisoned,
            "a transaction is built on a file whose name is on disk"
        );
        Ok(())
    }

    /// Writes those commits after the commit pointer again that are in the cache only: whoever
    /// wrote them may have died after a sync that failed and left pages that only seem clean.
    /// What is on the medium is left alone: writing it again would put records that were
    /// acknowledged at the risk of a torn sector. Returns whether anything was written.
    fn rewrite_missing(&self) -> Result<bool> {
        let mut offset = self.pointed_end;
        let mut written = false;
        while offset < self.head.end {
            let len = (self.head.end - offset).min(COPY_BYTES) as usize;
            let mut cached = vec![0; len];
            read_exact_at(&*self.storage, &mut cached, offset)
                .map_err(Error::unreadable(&self.path, offset))?;
            let medium = self
                .storage
                .read_medium(offset, len)
                .map_err(Error::io("read the medium of", &self.path))?;
            if medium.is_none_or(|medium| medium != cached) {
                write_all_at(&*self.storage, &cached, offset)
                    .map_err(Error::io("write", &self.path))?;
                written = true;
            }
            offset += len as u64;
        }
        Ok(written)
    }

    /// Names the head, whose sync has returned. A commit pointer that is not written costs the next
    /// open a longer walk, no more.
    fn write_pointer(&mut self) {
        let Head { commit, offset, end, digest } = self.head;
        if commit.serial == 0 {
            return;
        }
        let pointer =
            CommitPointer { serial: commit.serial, offset, end, digest, named: self.named };
        assert!(self.pointed_end <= end, "a commit pointer never goes back");
        if write_all_at(&*self.storage, &pointer.encode(&self.header), pointer.slot()).is_ok() {
            self.pointed_end = self.head.end;
        }
    }

    /// Publishes a finished draft: from here on it exists, or the file is cut back to where it was.
    fn publish(&mut self, finished: &Finished) -> Result<()> {
        let Finished { bytes, offset, head } = finished;
        assert!(self.clean && !self.poisoned, "only a writer that prepared the file publishes");
        assert!(*offset >= self.head.end, "nothing that was acknowledged is overwritten");
        assert_eq!(
            offset + bytes.len() as u64,
            head.end,
            "a transaction ends with its commit frame"
        );
        self.clean = false;
        let written =
            write_all_at(&*self.storage, bytes, *offset).map_err(Error::io("write", &self.path));
        let synced =
            written.and_then(|()| self.sync_commit().map_err(Error::io("sync", &self.path)));
        if let Err(error) = synced {
            self.cut_back();
            return Err(if self.poisoned {
                Error::Poisoned { path: self.path.clone() }
            } else {
                error
            });
        }
        self.head = *head;
        self.clean = true;
        self.snapshot = None;
        self.write_pointer();
        Ok(())
    }

    /// Never tried twice: after a failure the system believes that there is nothing left to sync.
    fn sync_commit(&self) -> std::io::Result<()> {
        if self.deferred { Ok(()) } else { self.storage.sync() }
    }

    /// After a failed write or sync: back to the last acknowledged end, durably, or never write
    /// again.
    fn cut_back(&mut self) {
        let cut = self.storage.set_len(self.head.end).and_then(|()| self.storage.sync());
        self.clean = cut.is_ok();
        self.poisoned = cut.is_err();
    }

    /// Takes back what a transaction that was not published changed here: the packer knows no
    /// dictionary that may be cut away, and what was spilled past the head is cut before
    /// anything is built on it.
    fn undo(&mut self, spilled: bool) {
        if !seeded::on(Seeded::DictionaryKept) {
            self.packer.reset();
        }
        self.clean &= !spilled || seeded::on(Seeded::SpillLeft);
    }

    /// Makes the dictionary in force known to the packer.
    fn load_dictionary(&mut self) -> Result<()> {
        let offset = self.head.commit.dictionary_offset;
        if offset != 0 && !self.packer.has_dictionary() {
            let (_, dictionary) = self.snapshot()?.frame(offset, &[Kind::Dictionary])?;
            self.packer.adopt(offset, &dictionary);
        }
        Ok(())
    }

    fn info(&self) -> CommitInfo {
        CommitInfo::from(&self.head.commit)
    }

    /// Ends `draft` and publishes it. Its owner undoes it when this fails.
    fn commit(&mut self, draft: &mut Draft, end: Ending) -> Result<CommitInfo> {
        draft.expect_usable()?;
        if let Ending::Next { time_us } = end
            && is_small(draft)
        {
            self.load_dictionary()?;
            let finished = finish_small(draft, time_us, &mut self.packer);
            return self.publish_readable(draft, &finished);
        }
        draft.flush(&mut self.packer, &*self.storage)?;
        let indexed = draft.manifest().indexed();
        let partial = indexed != self.head.commit.indexed && indexed < draft.next_sequence();
        let (mut places, mut lengths) = (Vec::new(), Vec::new());
        if partial && indexed < self.head.commit.next_sequence {
            let snapshot = self.snapshot()?;
            places = snapshot.places(snapshot.tail())?;
            for record in snapshot.records(snapshot.tail().start) {
                lengths.push(record?.stored().bytes().len() as u32);
            }
        }
        let tail =
            Tail { places: &places, first_sequence: self.head.commit.indexed, lengths: &lengths };
        let finished = draft.finish(end, tail);
        self.publish_readable(draft, &finished)
    }

    fn publish_readable(&mut self, draft: &Draft, finished: &Finished) -> Result<CommitInfo> {
        expect_readable_tail(&finished.head.commit)?;
        self.publish(finished)?;
        assert_eq!(
            self.head.commit.next_sequence,
            draft.next_sequence(),
            "every record that was promised exists"
        );
        Ok(self.info())
    }

    fn add_segment(&mut self, draft: &mut Draft, segment: SegmentDraft) -> Result<()> {
        draft.flush(&mut self.packer, &*self.storage)?;
        self.learn_from_tail(draft)?;
        let first_new = self.head.commit.next_sequence;
        let committed = if segment.first_sequence < first_new {
            self.snapshot()?.places(segment.first_sequence..segment.next_sequence)?
        } else {
            Vec::new()
        };
        add_segment(draft, segment, committed)?;
        draft.spill(&*self.storage)
    }

    /// Learns a first dictionary from the tail, which is about to get its segment, for the small
    /// commits to come.
    fn learn_from_tail(&mut self, draft: &mut Draft) -> Result<()> {
        let known = draft.dictionary_offset() != 0 || self.packer.has_dictionary();
        if known || !writes_small_commits(draft) {
            return Ok(());
        }
        let snapshot = self.snapshot()?;
        if snapshot.tail_bytes() < TRAIN_SMALL_BYTES {
            return Ok(());
        }
        let tail = snapshot.records(snapshot.tail().start).collect::<Result<Vec<_>>>()?;
        let stored: Vec<Stored<'_>> = tail.iter().map(StoredRecord::stored).collect();
        let samples: Vec<&[u8]> = stored.iter().map(Stored::bytes).collect();
        draft.learn(&samples, &mut self.packer);
        Ok(())
    }

    fn add_derived(
        &mut self,
        draft: &mut Draft,
        derived: DerivedDraft,
        replaces: &[u64],
    ) -> Result<()> {
        draft.flush(&mut self.packer, &*self.storage)?;
        add_derived(draft, derived, replaces)?;
        draft.spill(&*self.storage)
    }

    fn append(&mut self, draft: &mut Draft, record: Stored<'_>) -> Result<u64> {
        if draft.record_count() == 1 {
            self.load_dictionary()?;
        }
        draft.append(record, &mut self.packer, &*self.storage)
    }
}

/// Records, segments and derived segments that will exist together or not at all.
///
/// It is the guard of what it changes in the writer: unless it was published, dropping it takes
/// that back, however it ends: given up, failed at any step, or unwound by a panic.
#[derive(Debug)]
#[must_use = "a transaction leaves nothing unless it is committed"]
pub struct Transaction<'w> {
    core: &'w mut Core,
    draft: Draft,
    /// Whether the commit is durable.
    published: bool,
}

impl Transaction<'_> {
    /// Sequence that the next record will have.
    #[must_use]
    pub fn next_sequence(&self) -> u64 {
        self.draft.next_sequence()
    }

    /// The segments that will be in force.
    #[must_use]
    pub fn segments(&self) -> &[SegmentMeta] {
        &self.draft.manifest().segments
    }

    /// The derived segments that will be in force, oldest first.
    #[must_use]
    pub fn derived(&self) -> &[SegmentMeta] {
        &self.draft.manifest().derived
    }

    /// Adds a record and returns its sequence.
    ///
    /// # Errors
    /// `TooLarge` for a body above [`crate::RECORD_BYTES_MAX`] or more than [`COMMIT_RECORDS_MAX`]
    /// records; what the system says.
    pub fn append(&mut self, body: &[u8]) -> Result<u64> {
        self.append_stored(Stored::Body(body))
    }

    /// Adds a record as another capsule held it, whole or erased.
    ///
    /// # Errors
    /// As [`Transaction::append`].
    pub fn append_stored(&mut self, record: Stored<'_>) -> Result<u64> {
        if self.draft.record_count() >= COMMIT_RECORDS_MAX {
            let what = "the number of records in a transaction";
            return Err(Error::TooLarge { what, limit: COMMIT_RECORDS_MAX as u64 });
        }
        self.core.append(&mut self.draft, record)
    }

    /// Adds an index segment: after the ones in force, or in place of a run of them.
    ///
    /// # Errors
    /// `Misuse` when it does not join the others; what the system says.
    pub fn add_segment(&mut self, segment: SegmentDraft) -> Result<()> {
        self.core.add_segment(&mut self.draft, segment)
    }

    /// Adds a derived segment in place of those with the ids `replaces`, which may be none. It may
    /// cover any records up to the ones of this transaction, whatever the others cover.
    ///
    /// # Errors
    /// `Misuse` when it covers a record that does not exist, when no derived segment in force has
    /// one of the ids, when there would be more than [`crate::DERIVED_SEGMENTS_MAX`], or when
    /// its sections are too many or one is `recdir  `; what the system says.
    pub fn add_derived(&mut self, derived: DerivedDraft, replaces: &[u64]) -> Result<()> {
        self.core.add_derived(&mut self.draft, derived, replaces)
    }

    /// Whether the transaction, as it stands, is written as one small frame, and can have an
    /// attachment of so many bytes.
    #[must_use]
    pub fn is_small_with(&self, attachment_bytes: usize) -> bool {
        is_small_with(&self.draft, attachment_bytes)
    }

    /// Attaches data derived from the records of this transaction, which are all by then. It costs
    /// its own bytes and no more, and is in force until an index segment covers the records:
    /// whoever adds that one keeps the data as a derived segment.
    ///
    /// # Errors
    /// `Misuse` for no bytes, or unless [`Transaction::is_small_with`].
    pub fn attach(&mut self, bytes: Vec<u8>) -> Result<()> {
        attach(&mut self.draft, bytes)
    }

    /// Takes the derived segments with these ids out of force.
    ///
    /// # Errors
    /// `Misuse` when no derived segment in force has one of the ids.
    pub fn drop_derived(&mut self, ids: &[u64]) -> Result<()> {
        drop_derived(&mut self.draft, ids)
    }

    /// Makes everything durable with one sync. When it returns an error, nothing of the transaction
    /// exists.
    ///
    /// # Errors
    /// What the system says; `Misuse` when an earlier call of this transaction failed to write.
    pub fn commit(mut self, time_us: i64) -> Result<CommitInfo> {
        let info = self.core.commit(&mut self.draft, Ending::Next { time_us })?;
        self.published = true;
        Ok(info)
    }

    /// Repeats a commit of another capsule: as [`Transaction::commit`], if the chain after it comes
    /// out as `expected_chain`. Then it and all before it are the same as there.
    ///
    /// # Errors
    /// `ChainMismatch` when it would be another commit: nothing of the transaction exists, as if it
    /// had been dropped. Otherwise what the system says.
    pub fn commit_as(self, time_us: i64, expected_chain: &Hash) -> Result<CommitInfo> {
        if self.draft.chain(time_us) != *expected_chain {
            return Err(Error::ChainMismatch { number: self.draft.number() });
        }
        self.commit(time_us)
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.published {
            self.core.undo(self.draft.spilled());
        }
    }
}

#[cfg(test)]
mod tests;
