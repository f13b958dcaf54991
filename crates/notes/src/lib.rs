//! A memory as files: markdown with frontmatter, folders of runs, and the guard of both. Knows no
//! capsule, record, trace, model, network, terminal or clock.
//!
//! [`Note`] is one file. It is read and written with everything that a person added to it.
//! [`MemoryFolder`] is a folder of them; [`reconcile()`] decides what becomes of one that is kept
//! elsewhere as well. [`RunFolder`] holds what one run leaves behind, [`Todos`] its steps,
//! [`check_run`] whether all of it is there; [`decide`] what an
//! agent may write meanwhile.

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod atomic;
mod contract;
mod error;
mod folder;
mod front;
mod guard;
mod log;
mod name;
mod note;
mod paths;
mod reconcile;
mod report;
mod run_folder;
mod stamp;
mod todos;

pub use contract::{CheckedRun, check_inputs, check_run, check_summary};
pub use error::{ContractError, Error, NoteError, Result};
pub use folder::{ARCHIVED, Contents, FOLDER_FILES_MAX, MemoryFolder, StoredNote, Unreadable};
pub use front::{FRONT_BYTES_MAX, FRONT_NODES_MAX, Front};
pub use guard::{Denial, Roots, Verdict, decide, decide_reserved, denied_count, log_denied};
pub use name::{SLUG_CHARS_MAX, hash, memory_file_name, slug, summary_file_name};
pub use note::{
    CONFIDENCE_DEFAULT, KIND_DEFAULT, KINDS, KeyFault, NOTE_BYTES_MAX, NewMemory, NewSummary, Note,
    Primitive, Revision,
};
pub use reconcile::{ConflictState, Reconciled, Versions, reconcile};
pub use report::{ActionKind, Report, ReportAction};
pub use run_folder::{
    ARTIFACT_BYTES_MAX, Artifact, Log, RUNS_KEPT_DEFAULT, Retained, RunFolder, RunMode, retain_runs,
};
pub use stamp::Stamp;
pub use todos::{Step, StepState, Todos};
