//! Traces become memories: reads sessions, compares what they bring with what is known, writes and
//! reports. Knows no terminal, network, environment or wall clock: a clock is passed in.
//!
//! [`sync`] reads files and folders of traces in two passes. The first one reads every file that
//! is new or changed, keeps a bounded, redacted original of each session, and finds candidates.
//! The second one goes through the sessions in the order of time and decides what becomes of each
//! candidate ([`decide`]). What was read is noted last: a run that is stopped at any point is made
//! good by the next one, which finds what is there already and changes nothing of it.
//!
//! What could not be read is in the [`queue`], which says when it is tried again. Who watches
//! folders works through that queue ([`Claims`]), and learns from [`Debounce`] which files have
//! been left alone.

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod claims;
mod connected;
mod debounce;
mod decide;
mod error;
mod files;
mod known;
mod maintain;
mod original;
mod overlap;
mod pipelines;
mod places;
mod preview;
mod propose;
pub mod queue;
mod registry;
mod remember;
mod report;
mod repositories;
mod run;
mod sync;
mod turn;
mod view;

pub use claims::Claims;
pub use connected::{CONNECTED_MAX, connect, connected};
pub use debounce::{Debounce, WATCHED_CHANGES_MAX};
pub use decide::{Action, Decision, REVERSAL_MIN, REVERSAL_SHARED_MIN, Thresholds, decide};
pub use error::{Error, Result};
pub use files::{EXPIRES_SOON_US, PURGED_AFTER_DAYS, job_file};
pub use known::{Known, Offer};
pub use maintain::{CONFIDENCE_KEPT_MIN, MaintainOptions, Maintained, Upkept, maintain};
pub use original::{
    CALL_CHARS_MAX, Cut, INJECTED_CHARS_MAX, ORIGINAL_BYTES_MAX, OUTPUT_CHARS_MAX, Original,
    original_of,
};
pub use overlap::{Overlap, OverlapMeasure};
pub use pipelines::{
    Extracted, SessionMetadata, check_session_file, extract_trace, summarise_trace,
};
pub use places::{AgentPlace, Surroundings, places};
pub use propose::{Proposal, Proposed, Proposer, propose};
pub use registry::{FileState, Registry, SessionState, TraceFile};
pub use report::{FailedFile, Kept, KeptDecision, Report, Step};
pub use repositories::{repositories_in, repository_of};
pub use run::{EXPLORERS_MAX, RunOptions, RunReport, WORKSPACE_DEFAULT, run};
pub use sync::{Extractor, SyncOptions, is_own, sync, unread};
pub use view::{FolderView, Viewed};
