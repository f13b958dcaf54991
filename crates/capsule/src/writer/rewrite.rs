//! Writes every record again, into a new file that takes the place of the old one.

use std::sync::Arc;
use std::time::Duration;

use super::{Core, Writer};
use crate::create::{give_name, start_file};
use crate::draft::{Buffers, DerivedDraft, Draft, Ending, SegmentDraft};
use crate::error::{Error, Result};
use crate::format::LOG_START;
use crate::format::frame::Kind;
use crate::format::header::{Header, READER_FEATURES};
use crate::format::manifest::Manifest;
use crate::format::records::Stored;
use crate::log::{Head, Located};
use crate::snapshot::{CommitInfo, Snapshot};
use crate::storage::{FileSystem, Volume};

impl Writer {
    /// Begins a new file beside this one that is to take its place: every record must be appended
    /// again, in order.
    ///
    /// # Errors
    /// As [`Writer::begin`]; `Misuse` for a file with several names.
    pub fn rewrite(&mut self) -> Result<Rewrite> {
        self.expect_same_file()?;
        self.core.prepare(&*self.volume)?;
        let old = self.core.snapshot()?;
        let is_locked = self.lock.is_some();
        Rewrite::begin(Arc::clone(&self.volume), &old, self.core.buffers, is_locked)
    }
}

/// A new file in the making that will take the place of the old one.
#[derive(Debug)]
#[must_use = "nothing changes unless it is finished"]
pub struct Rewrite {
    volume: Arc<dyn Volume>,
    /// Of the new file; taken when it has its name.
    core: Option<Core>,
    draft: Draft,
    old: Snapshot,
}

impl Rewrite {
    /// Begins such a file while others may write: what they add has to be appended by whoever
    /// finishes it, with the lock.
    ///
    /// # Errors
    /// `Misuse` for a file with several names; what the system says.
    pub fn beside(old: &Snapshot) -> Result<Rewrite> {
        Rewrite::begin(Arc::new(FileSystem), old, Buffers::default(), true)
    }

    fn begin(
        volume: Arc<dyn Volume>,
        old: &Snapshot,
        buffers: Buffers,
        is_locked: bool,
    ) -> Result<Rewrite> {
        // The new file lies beside the file itself, wherever a link to it may be.
        let path = &volume.resolve(old.path()).map_err(Error::io("resolve", old.path()))?;
        if volume.names(path).map_err(Error::io("look at", path))? > 1 {
            return Err(Error::Misuse {
                reason: "the capsule has several names (hard links); a new file would take the place of one only",
            });
        }
        let header = Header {
            generation: generation_after(old),
            reader_features: READER_FEATURES,
            ..old.inner.header
        };
        let (temporary, storage) = start_file(&*volume, path, &header)?;
        volume
            .copy_access(path, &temporary)
            .map_err(Error::io("set the access rights of", &temporary))?;
        if is_locked && !storage.try_lock().map_err(Error::io("lock", &temporary))? {
            let (path, holder, waited) = (temporary, None, Duration::ZERO);
            return Err(Error::LockedByWriter { path, holder, waited });
        }
        let located = Located {
            header,
            head: Head::empty(),
            named: false,
            pointed_end: LOG_START,
            file_len: LOG_START,
        };
        let mut core = Core::new(&temporary, storage, &located);
        core.clean = true;
        core.buffers = buffers;
        let draft = Draft::new(&temporary, &header, &core.head, Manifest::default(), core.buffers);
        Ok(Rewrite { volume, core: Some(core), draft, old: old.clone() })
    }

    /// The view of the old file as of the beginning.
    #[must_use]
    pub fn old(&self) -> &Snapshot {
        &self.old
    }

    fn parts(&mut self) -> (&mut Core, &mut Draft) {
        (self.core.as_mut().expect("present until the end"), &mut self.draft)
    }

    /// Appends the next record, whole or purged; sequences go on from 1.
    ///
    /// # Errors
    /// What the system says.
    pub fn append(&mut self, record: Stored<'_>) -> Result<u64> {
        let (core, draft) = self.parts();
        core.append(draft, record)
    }

    /// Adds an index segment after the ones added so far.
    ///
    /// # Errors
    /// `Misuse` when it does not join the others; what the system says.
    pub fn add_segment(&mut self, segment: SegmentDraft) -> Result<()> {
        let (core, draft) = self.parts();
        core.add_segment(draft, segment)
    }

    /// Adds a derived segment, as [`crate::Transaction::add_derived`]; none of the old file's is in
    /// force here.
    ///
    /// # Errors
    /// As [`crate::Transaction::add_derived`], the records being those that were appended.
    pub fn add_derived(&mut self, derived: DerivedDraft, replaces: &[u64]) -> Result<()> {
        let (core, draft) = self.parts();
        core.add_derived(draft, derived, replaces)
    }

    /// Brings to the disk what is written so far, so that little is left for [`Rewrite::finish`],
    /// which others wait for.
    ///
    /// # Errors
    /// What the system says.
    pub fn sync(&mut self) -> Result<()> {
        let (core, _) = self.parts();
        core.storage.sync().map_err(Error::io("sync", &core.path))
    }

    /// Syncs the new file and puts it in the old one's place, which `writer` has open and goes on
    /// with. Readers of the old file keep it.
    ///
    /// # Errors
    /// `Misuse` when records are missing; `Replaced` when another new file took the old one's place
    /// meanwhile; what the system says. Either file is whole whatever happens.
    pub fn finish(mut self, writer: &mut Writer) -> Result<CommitInfo> {
        writer.expect_same_file()?;
        writer.core.prepare(&*writer.volume)?;
        let old = writer.core.snapshot()?;
        let generation = self.core.as_ref().expect("present until the end").header.generation;
        if old.inner.header.capsule_id != self.old.inner.header.capsule_id
            || generation_after(&old) != generation
        {
            return Err(Error::Replaced { path: writer.core.path.clone() });
        }
        let history = crate::history::past_commits(&old)?;
        let base = old.head().commit;
        if self.draft.next_sequence() != base.next_sequence {
            return Err(Error::Misuse { reason: "a rewritten capsule must hold every record" });
        }
        let (core, draft) = self.parts();
        if base.number > 0 {
            draft.flush(&mut core.packer, &*core.storage)?;
            draft.history_offset =
                draft.push(Kind::History, &crate::format::history::encode(&history)).offset;
            core.commit(
                draft,
                Ending::Base { number: base.number, time_us: base.time_us, chain: base.chain },
            )?;
        }
        core.storage.sync().map_err(Error::io("sync", &core.path))?;
        let (temporary, path) = (core.path.clone(), writer.core.path.clone());
        give_name(&*writer.volume, &temporary, &path)?;
        let mut core = self.core.take().expect("present until the end");
        let (new, clean) = (core.head.commit, core.clean);
        assert!(
            new.chain == base.chain && new.number == base.number && clean,
            "the new file goes on from the same history"
        );
        core.path = path;
        core.snapshot = None;
        core.named = true;
        writer.core = core;
        Ok(writer.core.info())
    }
}

/// The generation of a file that takes the place of another. A file without commits stays of its
/// generation: in a later one it is damage when no commit can be read.
fn generation_after(old: &Snapshot) -> u64 {
    old.inner.header.generation.saturating_add(u64::from(old.commit().number > 0))
}

impl Drop for Rewrite {
    fn drop(&mut self) {
        if let Some(core) = self.core.take() {
            // A stray temporary file is removed by the next creation or compaction as well.
            let _next_one_removes_it = self.volume.remove(&core.path);
        }
    }
}
