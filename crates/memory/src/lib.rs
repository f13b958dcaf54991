//! A memory for agents on top of one capsule file: records under logical URIs, revisions, search.
//!
//! A [`Writer`] puts, revises and forgets records; each call is one commit, durable when it returns. A [`Reader`] sees the
//! capsule at one moment and is never blocked. This crate knows no network, terminal, environment or wall clock: a clock
//! and the writer's name are passed in.
//!
//! ```
//! use kapsa_memory::{FindRequest, NewRecord, Reader, Uri, WriteOptions, Writer, create};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("memory.kapsa");
//! let options = WriteOptions::new(|| 1_767_225_600_000_000);
//! create(&path, &options)?;
//!
//! let mut writer = Writer::open(&path, options)?;
//! let first = writer.put(NewRecord::text("The staging database listens on port 5433."))?;
//! let fact = NewRecord { uri: Some(first.uri.clone()), ..NewRecord::text("The staging database moved to port 5434.") };
//! writer.put(fact)?; // a new revision of the same URI
//!
//! let reader = Reader::open(&path)?;
//! let found = reader.find(&FindRequest::new("which port does the staging database use?"))?;
//! assert_eq!(found.hits[0].record.text, "The staging database moved to port 5434.");
//! assert_eq!(reader.history(&first.uri)?.len(), 2);
//! assert_eq!(reader.record(first.sequence)?.text, "The staging database listens on port 5433.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod access;
pub mod agent;
mod annals;
pub mod branch;
pub mod check;
pub mod checkpoint;
mod chronicle;
mod codec;
pub mod document;
mod embedding;
mod error;
pub mod event;
mod export;
pub mod fusion;
pub mod graph;
mod ids;
mod index_batch;
mod keys;
mod lanes;
mod levels;
mod lines;
mod maintain;
pub mod merge;
mod moment;
mod pending;
pub mod policy;
mod read;
pub mod record;
mod replay;
pub mod request;
pub mod role;
pub mod run;
mod salvage;
mod segments;
mod shared;
mod sync;
pub mod tokens;
pub mod transfer;
pub mod uri;
mod view;
mod write;

pub use annals::{Blame, Difference, Undo, Undone};
pub use branch::Branch;
pub use checkpoint::{Checkpoint, NewCheckpoint};
pub use embedding::{Coverage, EmbedReport, EmbedRequest, PASSAGES_MAX, embed};
pub use error::{Error, Result};
pub use event::{Event, EventRequest, EventType, NewEvent};
pub use export::{EXPORT_RECORDS_MAX, Export, ExportRequest, content_hash};
pub use kapsa_capsule::{Error as CapsuleError, FileSystem, Holder, Storage, Volume, lock_path};

pub use lines::BRANCH_DEPTH_MAX;
pub use maintain::{
    SEGMENT_RECORDS_MAX, SEGMENTS_MANY, SMALL_MERGE_BYTES_MAX, SMALL_MERGE_RECORDS_MAX, SMALL_MERGE_SEGMENTS, optimize,
};
pub use merge::{Choice, MergePlan, MergeRequest, MergeResult, Merged, Mode, Ruling, Selector};
pub use moment::AsOf;
pub use policy::{Captured, PolicySnapshot};
pub use read::Reader;
pub use record::{BranchId, Decision, Micros, NewRecord, Origin, Record, Source};
pub use replay::{REPLAY_STATEMENT, ReplayIssue, Replayed};
pub use request::{
    Change, Clock, Filter, FindRequest, Found, Grouping, Hit, MaintenanceReport, Means, Put, SalvageReport, SearchMode,
    SourceReport, Stats, TimelineRequest, VerifyReport, Why,
};
pub use salvage::salvage;
pub use shared::SharedWriter;
pub use sync::{Pulled, Relation, clone};
pub use uri::{InRun, Uri, UriType};
pub use write::{
    ALIASES_MAX, BATCH_BYTES_MAX, BATCH_RECORDS_MAX, Created, Progress, TAIL_BYTES_MAX, TAIL_RECORDS_MAX,
    TAIL_RECORDS_SHARED_MAX, WriteOptions, Writer, create, create_unlocked,
};
