//! Knows no fact, insight, role with a soul, language model, network, terminal, environment or wall
//! clock, and of a capsule only what `kapsa-memory` makes public.
//!
//! Run memory for teams of agents: what they planned, did and found out, and what of it matters to
//! the next of them.
//!
//! A *run* has a plan and *tasks*; agents in *roles* work on the tasks and record what they did.
//! [`RunStore`] keeps that in one of two layouts with the same operations and results: *branches*
//! of one capsule ([`RunStore::branches`]), or a folder of capsules for each run
//! ([`RunStore::files`]). [`RunStore::context`] gathers what siblings know for an agent that is
//! about to begin. [`RunMemory`] is the same for a host that must go on when its memory fails:
//! every failure is reported, none is returned.

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod config;
mod context;
mod layout;
mod memory;
mod names;
mod notes;
mod prompt;
mod records;
mod root;
mod state;
mod steps;
mod store;

pub use config::{LayoutKind, RunConfig, SIBLING_CHUNK_CHARS};
pub use context::{
    Context, ContextRequest, Line, MARKER_BEGIN, MARKER_END, ModelSource, PAST_RUNS_MAX, Skipped,
};
pub use memory::{RunMemory, Warn};
pub use names::{ID_BYTES_MAX, ROLE_BYTES_MAX, Role, RunId, TaskId};
pub use prompt::{Layer, PromptLayers};
pub use records::{RunInfo, Status, TaskInfo};
pub use root::shared_root;
pub use state::TASKS_MAX;
pub use steps::{Finish, Finished, MergedInto, NewOutput, NewRun, NewTask, Started};
pub use store::{ListedRun, RunStore};
