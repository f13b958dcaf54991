//! A memory for agents on top of one capsule file: records under logical URIs, revisions, search.
//! Knows no network, terminal, environment or wall clock: a clock and the writer's name are passed
//! in.
//!
//! A [`Writer`] puts, revises and forgets records; each call is one commit, durable when it
//! returns. A [`Reader`] sees the capsule at one moment and is never blocked.
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
//! let moved = NewRecord::text("The staging database moved to port 5434.");
//! writer.put(NewRecord { uri: Some(first.uri.clone()), ..moved })?; // a new revision of the URI
//!
//! let reader = Reader::open(&path)?;
//! let found = reader.find(&FindRequest::new("which port does the staging database use?"))?;
//! assert_eq!(found.hits[0].record.text, "The staging database moved to port 5434.");
//! assert_eq!(reader.history(&first.uri)?.len(), 2);
//! assert_eq!(reader.record(first.sequence)?.text, "The staging database listens on port 5433.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod error;
mod exchange;
mod job;
mod records;
mod search;
mod signing;
mod tables;
mod versions;
mod view;
mod write;

pub use error::{Error, Result};
pub use exchange::audit::{Anchor, CommitFault, Fault, SignatureReport};
pub use exchange::export::{EXPORT_RECORDS_MAX, Export, ExportRequest, content_hash};
pub use exchange::parcel::{Chunk, Offer, Parcel, Point};
pub use exchange::peer::{LocalPeer, Peer};
pub use exchange::pipe::{PipePeer, serve};
pub use exchange::remote::Remote;
pub use exchange::salvage::salvage;
pub use exchange::sync::{Fetched, Pulled, Pushed, Relation, clone};
pub use exchange::{audit, check, export, remote, sync, transfer};
pub use job::Job;
pub use kapsa_capsule::{
    Error as CapsuleError, FileSystem, Holder, Lock, Storage, Volume, lock_path, random_bits,
};
pub use records::admission::{Admission, ReviewRule, ReviewScope};
pub use records::content::{BlobId, CONTENT_BYTES_MAX, Content};
pub use records::held::Reason;
pub use records::ids::random_id;
pub use records::integers::{WideInteger, wide_integer};
pub use records::provenance::{Provenance, Review, Trust};
pub use records::record::{BranchId, Decision, Micros, NewRecord, Origin, Record, Source};
pub use records::request::{
    Change, Clock, Filter, FindRequest, Found, Grade, Grouping, Hit, LIMIT_NONE, MaintenanceReport,
    Means, PROPOSED, Put, SalvageReport, SearchMode, SourceReport, Standing, Stats,
    TimelineRequest, VerifyReport, Why, is_elsewhere,
};
pub use records::uri::{InRun, Uri, UriType};
pub use records::validity::{Holds, Span, Validity};
pub use records::{
    access, document, escape, kinds, owned, provenance, record, request, tokens, uri,
};
pub use search::any::AnyReader;
pub use search::around::AROUND_MAX;
pub use search::contents::{ContentReader, open as open_content};
pub use search::listing::Listing;
pub use search::principal::PrincipalReader;
pub use search::query;
pub use search::reader::Reader;
pub use search::rerank::{LOGIT, Models, RERANKED};
pub use search::sources::{same_text, sources_under};
pub use search::standing::standing;
pub use search::trusted::trusted;
pub use signing::key::{KeyError, KeySource, PublicKey, SECRET_KEY_BYTES, SigningKey};
pub use tables::lineage::BRANCH_DEPTH_MAX;
pub use versions::branch::Branch;
pub use versions::checkpoint::NewCheckpoint;
pub use versions::event::{Event, EventRequest, EventType, NewEvent};
pub use versions::history::{Blame, Difference, Undo, Undone};
pub use versions::merge::{
    Choice, MergePlan, MergeRequest, MergeResult, Merged, Mode, Ruling, Selector,
};
pub use versions::policy::{Captured, PolicySnapshot};
pub use versions::replay::{REPLAY_STATEMENT, ReplayIssue, Replayed};
pub use versions::stats::{record_counts, revision_count, stats};
pub use versions::{branch, checkpoint, event, graph, history, merge, policy, replay, review};
pub use view::ALIASES_MAX;
pub use view::as_of::AsOf;
pub use view::checkpoints::Checkpoint;
pub use view::raw::{RawView, ScanFilter, Wanted};
pub use view::vectors::Coverage;
pub use write::ahead::{
    NewVectors, SMALL_PUT_BYTES_MAX, SMALL_PUT_RECORDS_MAX, is_small_put, left_without_vectors,
};
pub use write::any::AnyWriter;
pub use write::batch::Batch;
pub use write::contents::{Blobs, ContentNames, copy as copy_content, split as split_content};
pub use write::embedding::{EmbedReport, EmbedRequest, embed};
pub use write::later::{
    TAIL_BYTES_MAX, TAIL_LARGE_BYTES_MAX, TAIL_RECORDS_MAX, TAIL_RECORDS_SHARED_MAX,
};
pub use write::maintain::{
    SEGMENT_RECORDS_MAX, SEGMENTS_MANY, SMALL_MERGE_BYTES_MAX, SMALL_MERGE_RECORDS_MAX,
    SMALL_MERGE_SEGMENTS, optimize,
};
pub use write::options::{Created, Progress, WriteOptions, create, create_unlocked};
pub use write::principal::{PrincipalTransaction, PrincipalWriter};
pub use write::purge::purge;
pub use write::shared::SharedWriter;
pub use write::source::put_source;
pub use write::texts::PASSAGES_MAX;
pub use write::transaction::{Transaction, Unpublished};
pub use write::unlocked::UnlockedWriter;
pub use write::upkeep::{REPLACED_BYTES_MIN, UPKEEP_SEGMENTS_MAX, upkeep};
pub use write::writer::{BATCH_BYTES_MAX, BATCH_RECORDS_MAX, Writer};
