//! What is given to a step of a run, and what comes of it. Knows nothing of how runs are kept.

use kapsa_memory::merge::Mode;
use kapsa_memory::{Put, Uri};

use super::names::{Role, TaskId};
use super::records::Status;

/// What is known of a run when it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewRun {
    /// Title, may be empty.
    pub title: String,
    /// The plan, if there is one already.
    pub plan: Option<String>,
}

/// What is known of a task when it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewTask {
    /// Title, may be empty.
    pub title: String,
    /// Description, may be empty.
    pub description: String,
}

/// What an agent did.
#[derive(Clone, Debug, PartialEq)]
pub struct NewOutput {
    /// Its task; none for what belongs to the run as a whole.
    pub task: Option<TaskId>,
    /// Its role. What a planner records is a plan and goes to the run.
    pub role: Role,
    /// What it did.
    pub text: String,
    /// How sure it is, 0 to 1.
    pub confidence: Option<f64>,
    /// Who it is, may be empty.
    pub agent: String,
}

/// A run or a task that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// Whether it was there before.
    pub existed: bool,
    /// Where it is kept: a branch or a file.
    pub location: String,
}

/// How a run or a task ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finish {
    /// Whether it came to a bad end.
    pub failed: bool,
    /// What was built, recorded when the task has no output yet.
    pub text: Option<String>,
    /// A summary, recorded when the task has no output yet, nothing was built and nothing planned.
    pub summary: Option<String>,
    /// How much is merged into the run, or of the run into the memory of the workspace; nothing
    /// when none.
    pub merge: Option<Mode>,
    /// Who decided that, may be empty.
    pub by: String,
    /// Why, may be empty.
    pub note: String,
    /// Stage that ended with it: leaves a checkpoint and a `StageTransition` event.
    pub stage: Option<String>,
    /// Spec that the run works on, kept with the checkpoint and the merge; may be empty.
    pub spec: String,
    /// Whether what failed tasks learned is merged with the run: their summaries and lessons.
    pub lessons: bool,
    /// Whether tasks that are still running are merged with the run, too.
    pub include_running: bool,
}

/// How much of a task is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// What it recorded.
    All,
    /// Summaries and lessons.
    Lessons,
}

/// What a merge brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedInto {
    /// From where: a branch or a file.
    pub from: String,
    /// To where.
    pub to: String,
    /// Records written.
    pub written: u64,
    /// URIs that both sides changed. When there are any, nothing was merged.
    pub conflicts: Vec<Uri>,
}

/// A run or a task that was finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How.
    pub status: Status,
    /// The output that was recorded because there was none.
    pub recorded: Option<Put>,
    /// What was merged, in order. The first with conflicts is the last.
    pub merged: Vec<MergedInto>,
    /// Id of the checkpoint that the end of a stage left.
    pub checkpoint: Option<String>,
    /// Tasks that were left out of the merge, since they are not done.
    pub left: Vec<(TaskId, Status)>,
}
