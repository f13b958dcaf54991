//! What a layout must be able to do for runs to be kept in it.

use std::fmt::Debug;
use std::path::PathBuf;

use kapsa_memory::merge::Mode;
use kapsa_memory::{CapsuleError, Error, Micros, NewRecord, Reader, Result, Writer};

use super::names::{RunId, TaskId};
use super::records::{RunInfo, Status};
use super::steps::{Finish, MergedInto, Part};

mod branches;
mod files;

pub(crate) use branches::Branches;
pub(crate) use files::Files;

/// A writer of one run, or of one task of it, and the title of that.
pub(super) struct OpenStore {
    pub(super) writer: Writer,
    pub(super) title: String,
}

/// A store of a task, to be read.
pub(super) struct Sibling {
    /// What a person calls it.
    pub(super) name: String,
    pub(super) run: RunId,
    /// None for the run's own store.
    pub(super) task: Option<TaskId>,
    /// What it holds, or why it cannot be read.
    pub(super) reader: Result<Reader>,
}

/// Stores to be searched.
#[derive(Default)]
pub(super) struct Siblings {
    pub(super) all: Vec<Sibling>,
    /// Sees what all of them hold, where they lie in one capsule.
    pub(super) together: Option<Reader>,
}

/// A run that was made by other means than a start of it.
pub(super) struct Bare {
    pub(super) created_at: Micros,
    pub(super) archived: bool,
}

/// A run with its own records, or why they cannot be read.
pub(super) type OpenedRun = (RunId, Result<Reader>);

/// A layout of runs: as branches of one capsule, or as files.
pub(super) trait Layout: Debug + Send + Sync {
    /// Where a run, or a task of it, is kept, for people.
    fn location(&self, run: &RunId, task: Option<&TaskId>) -> String;

    /// The capsule that holds a run's own records, or those of a task of it.
    fn capsule(&self, run: &RunId, task: Option<&TaskId>) -> PathBuf;

    /// Makes room for a run unless it has some, and opens it. Says whether it is new.
    fn begin_run(&self, run: &RunId) -> Result<(Writer, bool)>;

    /// Puts a task's record, and makes room for the task unless it has some. `writer` is the run's.
    /// Says whether the room is new.
    fn begin_task(
        &self,
        writer: &mut Writer,
        run: &RunId,
        task: &TaskId,
        record: NewRecord,
    ) -> Result<bool>;

    /// Opens what a run's or a task's outputs go to. None when that has no room yet.
    fn open(&self, run: &RunId, task: Option<&TaskId>) -> Result<Option<OpenStore>>;

    /// The run's own records. None when there is no such run.
    fn run(&self, run: &RunId) -> Result<Option<Reader>>;

    /// Records of one task. None when it has no room.
    fn task(&self, run: &RunId, task: &TaskId) -> Result<Option<Reader>>;

    /// Every task that has room but `own`; `known` are those that have a record.
    fn siblings(&self, run: &RunId, own: Option<&TaskId>, known: &[TaskId]) -> Result<Siblings>;

    /// The stores of other runs and of their tasks, the newest `runs_max` runs.
    fn past(&self, run: &RunId, runs_max: usize) -> Result<Siblings>;

    /// Whether [`Layout::publish_state`] writes anything.
    fn publishes_state(&self) -> bool {
        false
    }

    /// Writes the state of a run for other tools, after it changed and while its writer is held.
    fn publish_state(&self, _info: &RunInfo) -> Result<()> {
        Ok(())
    }

    /// The newest runs, at most so many, with their own records, and how many runs there are in
    /// all. Only these are opened.
    fn runs(&self, limit: usize) -> Result<(Vec<OpenedRun>, usize)>;

    /// What is known of a run that has room and no record yet: when it was made, and whether it is
    /// closed. None when there is no such room.
    fn bare(&self, _run: &RunId) -> Result<Option<Bare>> {
        Ok(None)
    }

    /// Brings what a task recorded, or a part of it, to its run.
    fn merge_task(
        &self,
        run: &RunId,
        task: &TaskId,
        part: Part,
        mode: Mode,
        finish: &Finish,
    ) -> Result<MergedInto>;

    /// Brings what a run recorded to the memory of the workspace.
    fn merge_run(&self, run: &RunId, mode: Mode, finish: &Finish) -> Result<MergedInto>;

    /// The status of tasks by the file that other tools read and write, where the layout has one
    /// that can be read.
    fn statuses(&self, _run: &RunId) -> Option<Vec<(TaskId, Status)>> {
        None
    }

    /// Closes a run and its tasks, and puts the run's record, which says so.
    fn archive(&self, run: &RunId, tasks: &[TaskId], record: NewRecord) -> Result<()>;
}

/// The answer, or none when the capsule is not there yet.
pub(super) fn unless_missing<T>(opened: Result<T>) -> Result<Option<T>> {
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(Error::Capsule(CapsuleError::NotFound { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}
