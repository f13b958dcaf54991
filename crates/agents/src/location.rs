//! Where stores keep their records: on a branch of a capsule, read at its newest commit and written
//! in turns.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use kapsa_memory::access::{Classification, Classified, ClearanceProfile};
use kapsa_memory::branch::MAIN;
use kapsa_memory::{
    AsOf, Batch, CapsuleError, Error, Micros, NewRecord, Provenance, RawView, Reader, Record,
    Result, Trust, Uri, WriteOptions, Writer, create,
};

use super::acting::{ActingReader, ActingWriter};

/// A capsule, and the branch of it, that stores keep their records in. Copies share one queue of
/// writes; writers of other processes are waited for as the options say.
///
/// The capsule is made by the first write. Until then there is nothing in it.
#[derive(Clone, Debug)]
pub struct StoreLocation {
    path: PathBuf,
    options: WriteOptions,
    branch: String,
    as_of: Option<AsOf>,
    principal: Option<ClearanceProfile>,
    /// What is trusted less far is left out of what is read.
    trust_min: Trust,
    queue: Arc<Mutex<()>>,
    /// The capsule as it was read last: whoever asks next need not read and check the same again.
    last: Arc<Mutex<Option<Reader>>>,
    /// The writer of a turn that is not over, and the thread whose turn it is.
    held: Arc<Mutex<Option<(ThreadId, ActingWriter)>>>,
}

/// Ends a turn, however its work ended.
struct Turn<'a>(&'a StoreLocation);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *lock(&self.0.held) = None;
    }
}

impl StoreLocation {
    /// The branch `main` of the capsule at `path`.
    #[must_use]
    pub fn new(path: &Path, options: WriteOptions) -> StoreLocation {
        let (path, branch) = (path.to_path_buf(), MAIN.to_string());
        StoreLocation {
            path,
            options,
            branch,
            as_of: None,
            principal: None,
            trust_min: Trust::ALL[0],
            queue: Arc::default(),
            last: Arc::default(),
            held: Arc::default(),
        }
    }

    /// Another branch of the same capsule. It must exist when something is asked of it or written
    /// to it.
    #[must_use]
    pub fn on(&self, branch: impl Into<String>) -> StoreLocation {
        StoreLocation { branch: branch.into(), held: Arc::default(), ..self.clone() }
    }

    /// The branch as it was at a moment. Nothing can be written there.
    #[must_use]
    pub fn at(&self, as_of: AsOf) -> StoreLocation {
        StoreLocation { as_of: Some(as_of), held: Arc::default(), ..self.clone() }
    }

    /// Whether it is at a past moment.
    pub(crate) fn is_past(&self) -> bool {
        self.as_of.is_some()
    }

    /// The same as a principal may know it: what its profile does not allow is not there, and it
    /// writes what it may know and nothing else. See [`Reader::as_principal`] and
    /// [`Writer::as_principal`].
    #[must_use]
    pub fn as_principal(&self, profile: ClearanceProfile) -> StoreLocation {
        StoreLocation { principal: Some(profile), held: Arc::default(), ..self.clone() }
    }

    /// The same, where what is written says this of its writer.
    #[must_use]
    pub fn brought_by(&self, provenance: Provenance) -> StoreLocation {
        let options = WriteOptions { provenance, ..self.options.clone() };
        StoreLocation { options, held: Arc::default(), ..self.clone() }
    }

    /// The same without what is trusted less far, in all that is asked of many records.
    #[must_use]
    pub fn trusted(&self, trust_min: Trust) -> StoreLocation {
        StoreLocation { trust_min, held: Arc::default(), ..self.clone() }
    }

    /// The same, where a write does not wait for other writers: it fails.
    #[must_use]
    pub fn impatient(&self) -> StoreLocation {
        let options = WriteOptions { lock_timeout: Duration::ZERO, ..self.options.clone() };
        StoreLocation { options, held: Arc::default(), ..self.clone() }
    }

    /// The time now, as its writers know it.
    pub(crate) fn clock(&self) -> fn() -> Micros {
        self.options.clock
    }

    /// The principal in whose name is written; empty for the owner.
    pub(crate) fn principal(&self) -> String {
        let acting = self.principal.as_ref().map(|profile| profile.principal.clone());
        acting.unwrap_or_else(|| self.options.provenance.principal.clone())
    }

    /// The domain of what is written without naming one: for a principal that may not write what
    /// has none, the only one that it is cleared for.
    pub(crate) fn domain_unnamed(&self) -> String {
        let Some(profile) = &self.principal else { return String::new() };
        if profile.allows("", Classification::Internal, &[]) {
            return String::new();
        }
        let mut domains = profile.domains.keys();
        match (domains.next(), domains.next()) {
            (Some(only), None) => only.clone(),
            _ => String::new(),
        }
    }

    /// What the branch holds now, or held then; none when there is no capsule yet.
    pub(crate) fn reader(&self) -> Result<Option<ActingReader>> {
        let Some(reader) = self.whole()? else { return Ok(None) };
        let reader = kapsa_memory::trusted(&reader, self.trust_min);
        let reader = ActingReader::new(reader, self.principal.as_ref());
        if self.branch == MAIN && self.as_of.is_none() {
            return Ok(Some(reader));
        }
        reader.on(&self.branch, self.as_of.as_ref()).map(Some)
    }

    /// `main`, as it is now, for the owner.
    fn whole(&self) -> Result<Option<Reader>> {
        let mut last = lock(&self.last);
        let now = last.as_ref().map_or_else(|| Reader::open(&self.path), Reader::renewed);
        let now = match now {
            Err(Error::Capsule(CapsuleError::NotFound { .. })) => {
                *last = None;
                return Ok(None);
            }
            now => now?,
        };
        let reader = now.clone();
        *last = Some(now);
        Ok(Some(reader))
    }

    /// Writes what `change` makes of the branch as it is: one commit, or none when that is nothing.
    pub(crate) fn write(
        &self,
        change: impl FnOnce(RawView<'_>, &mut Batch) -> Result<()>,
    ) -> Result<()> {
        if self.as_of.is_some() {
            return Err(Error::InvalidOperation {
                reason: "a past state cannot be written to".to_string(),
            });
        }
        if let Some((_, writer)) =
            lock(&self.held).as_mut().filter(|(whose, _)| *whose == thread::current().id())
        {
            return writer.change(change);
        }
        let _turn = lock(&self.queue);
        let mut writer = self.acting()?;
        writer.change(change)
    }

    /// Has the capsule's lock to itself while `work` reads and writes: nobody changes in between
    /// what it has read. A turn within a turn of the same location is a part of it. At a past
    /// moment, where nothing can be written, there are no turns.
    pub(crate) fn in_turn(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let is_mine =
            lock(&self.held).as_ref().is_some_and(|(whose, _)| *whose == thread::current().id());
        if is_mine || self.as_of.is_some() {
            return work();
        }
        let _turn = lock(&self.queue);
        let writer = self.acting()?;
        *lock(&self.held) = Some((thread::current().id(), writer));
        let _end = Turn(self);
        work()
    }

    /// A writer of the branch, as it is for who acts.
    fn acting(&self) -> Result<ActingWriter> {
        let mut writer = ActingWriter::new(self.writer()?, self.principal.as_ref());
        if self.branch != MAIN {
            writer.switch(&self.branch)?;
        }
        Ok(writer)
    }

    fn writer(&self) -> Result<Writer> {
        let last = lock(&self.last).clone();
        let opened = match &last {
            Some(reader) => Writer::open_after(reader, self.options.clone()),
            None => Writer::open(&self.path, self.options.clone()),
        };
        match opened {
            Err(Error::Capsule(CapsuleError::NotFound { .. })) => {}
            opened => return opened,
        }
        create(&self.path, &self.options)?;
        Writer::open(&self.path, self.options.clone())
    }

    /// What the memory keeps for itself of this kind ([`kapsa_memory::kinds`]), the newest first;
    /// nothing for a principal.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub fn notes(&self, kind: &str) -> Result<Vec<Record>> {
        match self.reader()? {
            Some(reader) => reader.raw().notes(kind),
            None => Ok(Vec::new()),
        }
    }

    /// What the memory keeps for itself under a name; nothing for a principal.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub fn noted(&self, uri: &Uri) -> Result<Option<Record>> {
        match self.reader()?.filter(|_| self.principal.is_none()) {
            Some(reader) => reader.raw().noted(uri),
            None => Ok(None),
        }
    }

    /// Keeps notes and removes others, in one commit.
    ///
    /// # Errors
    /// `InvalidOperation` for what is no note, and at a past moment; `AccessDenied` for a
    /// principal; `LockedByWriter`; what the disk says.
    pub fn change_notes(&self, kept: Vec<NewRecord>, removed: Vec<Uri>) -> Result<()> {
        self.write(|_, batch| {
            kept.into_iter().for_each(|note| batch.note(note));
            removed.into_iter().for_each(|uri| batch.forget_note(uri));
            Ok(())
        })
    }

    pub(crate) fn put(&self, record: NewRecord) -> Result<()> {
        record.check()?;
        self.write(|_, batch| {
            batch.put(record);
            Ok(())
        })
    }
}

/// Whether whoever writes at a location may change something that is there.
pub(crate) fn may_change(location: &StoreLocation, thing: &impl Classified) -> bool {
    location.principal.as_ref().is_none_or(|profile| profile.may_change(thing))
}

/// What a thread that panicked left behind is whole: a change is one assignment or one call.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
