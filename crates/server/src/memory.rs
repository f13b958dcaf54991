//! What tools do, without any protocol: whose memory, which capsule, which branch, as of when.
//!
//! Calls come on many threads. Readers never wait. Writers of this process take turns here, those
//! of other processes at the capsule's lock; who waits says for whom.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kapsa_agents::StoreLocation;
use kapsa_memory::branch::MAIN;
use kapsa_memory::{
    AnyReader, AnyWriter, AsOf, CapsuleError, Error, Reader, UnlockedWriter, Uri, WriteOptions,
    Writer, review,
};
use kapsa_model::{Embedder, Model};

use crate::host::{Host, Problem};

/// How long a writer elsewhere is waited for before the client is told and may cancel.
const SLICE: Duration = Duration::from_millis(200);

/// How far a call has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Done so far; each step is further than the one before.
    pub done: f64,
    /// Of so many, where that is known.
    pub total: Option<f64>,
    /// What is being done.
    pub message: String,
}

/// Where a call says how far it is, and learns that nobody waits for it any more.
pub trait Progress {
    /// Says how far it is.
    fn step(&self, step: Step);

    /// Whether the caller has given up.
    fn is_cancelled(&self) -> bool;
}

/// Nobody listens, and nobody gives up.
impl Progress for () {
    fn step(&self, _: Step) {}

    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Who calls, and what they are bound to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// The folder of their workspace, where they named one.
    pub folder: Option<PathBuf>,
    /// All folders of their workspace.
    pub roots: Vec<PathBuf>,
    /// What their program calls itself; may be empty.
    pub client: String,
}

/// A capsule, and the folders of a workspace.
type Folders = (PathBuf, Vec<PathBuf>);

/// The memory that a process serves.
pub struct Memory {
    host: Arc<dyn Host>,
    /// Capsules as they were read last: whoever asks next checks only what is new.
    readers: Mutex<HashMap<PathBuf, Reader>>,
    embedders: Mutex<Vec<(Model, Arc<dyn Embedder>)>>,
    /// The repositories of workspaces, by capsule and folders, with the capsule's size then.
    here: Mutex<HashMap<Folders, (u64, Vec<String>)>>,
    /// Held by whoever writes.
    turn: Mutex<()>,
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

/// Where a call reads or writes.
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    /// The branch; none for `main`.
    pub(crate) branch: Option<String>,
}

impl Place {
    pub(crate) fn branch(&self) -> &str {
        self.branch.as_deref().unwrap_or(MAIN)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
    /// The memory that this host names.
    #[must_use]
    pub fn new(host: Arc<dyn Host>) -> Memory {
        Memory {
            host,
            readers: Mutex::default(),
            embedders: Mutex::default(),
            here: Mutex::default(),
            turn: Mutex::default(),
        }
    }

    /// The program around.
    #[must_use]
    pub fn host(&self) -> &dyn Host {
        self.host.as_ref()
    }

    pub(crate) fn shared_host(&self) -> &Arc<dyn Host> {
        &self.host
    }

    pub(crate) fn problem(&self, error: Error) -> Problem {
        self.host.problem(error)
    }

    /// The owner's view of a capsule as it is now.
    fn whole(&self, path: &Path) -> Result<Reader, Problem> {
        let known = lock(&self.readers).get(path).cloned();
        let opened = match known {
            Some(reader) => reader.renewed(),
            None => Reader::open(path),
        };
        let reader = opened.map_err(|error| self.problem(error))?;
        lock(&self.readers).insert(path.to_path_buf(), reader.clone());
        Ok(reader)
    }

    /// The capsule and the branch that a call means.
    pub(crate) fn place(&self, session: &Session, branch: Option<&str>) -> Result<Place, Problem> {
        let path = self.host.capsule(session.folder.as_deref())?;
        let named = branch.map(str::trim).filter(|name| !name.is_empty()).map(str::to_string);
        let branch = match (named, self.host.principal()) {
            (Some(named), _) => Some(named),
            (None, None) => self.host.branch(&path, None)?,
            (None, Some(principal)) => {
                let profile = self.whole(&path)?.clearance(principal);
                let profile = profile.map_err(|error| self.problem(error))?;
                self.host.branch(&path, Some(&profile))?
            }
        };
        Ok(Place { path, branch: branch.filter(|name| name != MAIN) })
    }

    /// What whoever acts may read there, as of then.
    pub(crate) fn reader(&self, place: &Place, as_of: Option<&AsOf>) -> Result<AnyReader, Problem> {
        self.acting(self.whole(&place.path)?, place, as_of).map_err(|error| self.problem(error))
    }

    fn acting(
        &self,
        reader: Reader,
        place: &Place,
        as_of: Option<&AsOf>,
    ) -> Result<AnyReader, Error> {
        let reader = match self.host.trust_min() {
            Some(least) => kapsa_memory::trusted(&reader, least),
            None => reader,
        };
        let is_placed = place.branch.is_some() || as_of.is_some();
        Ok(match self.host.principal() {
            None if is_placed => AnyReader::Owner(reader.on(place.branch(), as_of)?),
            None => AnyReader::Owner(reader),
            Some(principal) => {
                let profile = reader.clearance(principal)?;
                let guarded = reader.as_principal(profile);
                let is_placed = is_placed.then(|| guarded.on(place.branch(), as_of)).transpose()?;
                AnyReader::Principal(is_placed.unwrap_or(guarded))
            }
        })
    }

    /// The repository that is meant where a call names none: that of the caller's workspace, if the
    /// memory lies outside of it and is that of other workspaces as well; else empty.
    pub(crate) fn workspace_of(&self, session: &Session, place: &Place) -> Result<String, Problem> {
        if self.host.principal().is_some() {
            return Ok(String::new());
        }
        let folders = self.host.projects(session.folder.as_deref());
        let Some(root) = folders.last().filter(|root| !place.path.starts_with(root)) else {
            return Ok(String::new());
        };
        let Some(root) = root.to_str() else { return Ok(String::new()) };
        kapsa_traces::repository_of(&self.location(place)?, root)
            .map_err(|error| self.of_traces(error))
    }

    /// The repositories of the caller's workspace: what sessions in others left holds there. None
    /// where that is not known: no folder is named, or a principal acts, for whom what was read of
    /// sessions is not there.
    pub(crate) fn here(
        &self,
        session: &Session,
        place: &Place,
    ) -> Result<Option<Vec<String>>, Problem> {
        if self.host.principal().is_some() {
            return Ok(None);
        }
        let folders: Vec<PathBuf> = match session.roots.as_slice() {
            [] => self.host.projects(None),
            roots => roots.iter().flat_map(|root| self.host.projects(Some(root))).collect(),
        };
        if folders.is_empty() {
            return Ok(None);
        }
        // What sessions named is read anew when something was written.
        // May be dropped: what has no size is read each time.
        let size = std::fs::metadata(&place.path).map(|found| found.len()).unwrap_or_default();
        let key = (place.path.clone(), folders);
        let known = lock(&self.here).get(&key).filter(|(then, _)| *then == size).cloned();
        let names = match known {
            Some((_, names)) => names,
            None => {
                let named: Vec<&str> = key.1.iter().filter_map(|folder| folder.to_str()).collect();
                let location = self.location(&Place { path: place.path.clone(), branch: None })?;
                let names = kapsa_traces::repositories_in(&location, &named);
                let names = names.map_err(|error| self.of_traces(error))?;
                lock(&self.here).insert(key, (size, names.clone()));
                names
            }
        };
        Ok(Some(names).filter(|names| !names.is_empty()))
    }

    /// What an error of traces means to who asked.
    pub(crate) fn of_traces(&self, error: kapsa_traces::Error) -> Problem {
        match error {
            kapsa_traces::Error::Memory(error) => self.problem(error),
            other => Problem::new("traces", other.to_string()),
        }
    }

    /// Why something waits for review, in words.
    pub(crate) fn why_held(&self, place: &Place, item: &Uri) -> Result<String, Problem> {
        let reader = self.whole(&place.path)?;
        let item = reader
            .on(place.branch(), None)
            .and_then(|reader| review::item(&reader, item))
            .map_err(|error| self.problem(error))?;
        let reasons: Vec<String> =
            item.reasons.into_iter().map(|one| format!("{}: {}", one.flag, one.reason)).collect();
        Ok(reasons.join("; "))
    }

    /// The owner's reader, for what only the owner may ask.
    pub(crate) fn owner_reader(
        &self,
        place: &Place,
        what: &'static str,
    ) -> Result<Reader, Problem> {
        self.refuse_principals(what)?;
        self.whole(&place.path)
    }

    pub(crate) fn refuse_principals(&self, what: &'static str) -> Result<(), Problem> {
        match self.host.principal() {
            Some(principal) => {
                let principal = principal.to_string();
                Err(self.problem(Error::AccessDenied { principal, what }))
            }
            None => Ok(()),
        }
    }

    /// The model of a capsule, opened once.
    pub(crate) fn embedder(&self, model: Option<&Model>) -> Result<Arc<dyn Embedder>, Problem> {
        let known = |wanted: Option<&Model>| {
            let wanted = wanted?;
            let known = lock(&self.embedders);
            known.iter().find(|(model, _)| model == wanted).map(|(_, known)| Arc::clone(known))
        };
        if let Some(known) = known(model) {
            return Ok(known);
        }
        let embedder = self.host.embedder(model)?;
        let mut all = lock(&self.embedders);
        if !all.iter().any(|(model, _)| model == embedder.model()) {
            all.push((embedder.model().clone(), Arc::clone(&embedder)));
        }
        Ok(embedder)
    }

    /// Where stores of facts, episodes and insights keep theirs, as they are for whoever acts.
    pub(crate) fn location(&self, place: &Place) -> Result<StoreLocation, Problem> {
        let mut options = self.host.write_options();
        options.holder.branch.clone_from(&place.branch);
        let mut location = StoreLocation::new(&place.path, options).on(place.branch());
        if let Some(least) = self.host.trust_min() {
            location = location.trusted(least);
        }
        let Some(principal) = self.host.principal() else { return Ok(location) };
        let profile = self.whole(&place.path)?.clearance(principal);
        Ok(location.as_principal(profile.map_err(|error| self.problem(error))?))
    }

    /// Does `work` with the writer of whoever acts, in turn. `ahead` is done before the turn has
    /// come, with the capsule opened.
    ///
    /// A writer in another process is waited for as long as the host says; the caller is told who
    /// it is, and may give up.
    pub(crate) fn write<A, T>(
        &self,
        place: &Place,
        progress: &dyn Progress,
        ahead: impl FnOnce(&UnlockedWriter) -> Result<A, Problem>,
        work: impl FnOnce(&mut AnyWriter, A) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let options = self.host.write_options();
        let unlocked = UnlockedWriter::open(&place.path, self.named(&options, place));
        let made = ahead(&unlocked.map_err(|error| self.problem(error))?)?;
        let turn = self.turn(progress)?;
        let writer = self.locked(place, &options, progress)?;
        let mut writer = self.as_acting(writer, place).map_err(|error| self.problem(error))?;
        let done = work(&mut writer, made);
        drop(writer);
        drop(turn);
        done
    }

    fn named(&self, options: &WriteOptions, place: &Place) -> WriteOptions {
        let mut options = options.clone();
        options.holder.branch.clone_from(&place.branch);
        options
    }

    /// The turn among the writers of this process.
    pub(crate) fn turn(&self, progress: &dyn Progress) -> Result<MutexGuard<'_, ()>, Problem> {
        let turn = lock(&self.turn);
        if progress.is_cancelled() { Err(cancelled()) } else { Ok(turn) }
    }

    /// Waits for the capsule's lock, in slices between which the caller is told and asked.
    fn locked(
        &self,
        place: &Place,
        options: &WriteOptions,
        progress: &dyn Progress,
    ) -> Result<Writer, Problem> {
        let mut waited = Duration::ZERO;
        loop {
            let slice = SLICE.min(options.lock_timeout.saturating_sub(waited));
            let opened = Writer::open(
                &place.path,
                WriteOptions { lock_timeout: slice, ..self.named(options, place) },
            );
            waited += slice;
            match opened {
                Err(Error::Capsule(CapsuleError::LockedByWriter { path, holder, .. })) => {
                    let held = CapsuleError::LockedByWriter { path, holder, waited };
                    let problem = self.problem(held.into());
                    if waited >= options.lock_timeout {
                        return Err(problem);
                    }
                    progress.step(Step {
                        done: waited.as_secs_f64(),
                        total: Some(options.lock_timeout.as_secs_f64()),
                        message: problem.message,
                    });
                    if progress.is_cancelled() {
                        return Err(cancelled());
                    }
                }
                opened => return opened.map_err(|error| self.problem(error)),
            }
        }
    }

    fn as_acting(&self, mut writer: Writer, place: &Place) -> Result<AnyWriter, Error> {
        let Some(principal) = self.host.principal() else {
            if let Some(branch) = &place.branch {
                writer.switch(branch)?;
            }
            return Ok(AnyWriter::Owner(writer));
        };
        let profile = writer.reader()?.clearance(principal)?;
        let mut writer = writer.as_principal(profile);
        if let Some(branch) = &place.branch {
            writer.switch(branch)?;
        }
        Ok(AnyWriter::Principal(writer))
    }
}

pub(crate) fn cancelled() -> Problem {
    Problem::new("cancelled", "the call was cancelled; nothing was written")
}
