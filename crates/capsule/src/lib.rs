//! One append-only, crash-safe file of records, and the index segments and derived segments that
//! belong to them. Knows nothing of text, JSON, search or branches: what a record or a segment says
//! is the caller's business.
//!
//! A [`Writer`] appends records in transactions; a transaction is durable, with one sync, when its
//! commit returns, and leaves nothing before that. A [`Snapshot`] is a view of one moment: it takes
//! no lock and is never blocked. `docs/format.md` describes every byte.
//!
//! ```
//! use kapsa_capsule::{NewCapsule, Snapshot, Stored, Writer, WriterOptions, create};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("demo.kapsa");
//! let options = WriterOptions::default();
//! create(&path, NewCapsule { capsule_id: [7; 16], created_us: 0 }, &options)?;
//!
//! let mut writer = Writer::open(&path, &options)?;
//! let mut transaction = writer.begin()?;
//! let sequence = transaction.append(b"remember me")?;
//! transaction.commit(1_000_000)?; // on disk now
//!
//! let snapshot = Snapshot::open(&path)?;
//! assert_eq!(snapshot.record(sequence)?.stored(), Stored::Body(b"remember me"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod check;
mod create;
mod direct;
mod draft;
mod error;
#[cfg(test)]
mod forged;
mod format;
mod history;
mod holder;
mod lenient;
mod lock;
mod log;
mod map;
mod pack;
mod recent;
mod salvage;
mod sample;
mod section;
#[cfg_attr(not(feature = "seeded-faults"), allow(dead_code, unreachable_pub))]
mod seeded;
mod snapshot;
mod space;
mod storage;
mod temporary;
mod writer;

pub use check::{PROBLEMS_MAX, Problem, Report, verify, verify_in};
pub use create::{NewCapsule, create, create_unlocked};
pub use draft::{Buffers, COMMIT_RECORDS_MAX, DerivedDraft, SegmentDraft};
pub use error::{Error, Result};
pub use format::{
    BODY_BYTES_MAX, DERIVED_SEGMENTS_MAX, DICTIONARY_BYTES_MAX, FORMAT_VERSION, Hash, LOG_START,
    PAYLOAD_BYTES_MAX, READER_FEATURES, RECORD_BYTES_MAX, RECORDS_PER_FRAME_MAX, SECTIONS_MAX,
    SEGMENTS_MAX, SMALL_COMMIT_BYTES_MAX, SegmentMeta, Stored, TAIL_BYTES_MAX, TAIL_RECORDS_MAX,
    Tag, WRITER_FEATURES,
};
pub use history::{CommitSpan, commits_after, common};
pub use holder::Holder;
pub use lock::{Lock, LockState, WriterOptions, lock_path, lock_state};
pub use salvage::{Salvage, Salvaged};
pub use sample::sample;
pub use section::Section;
#[cfg(feature = "seeded-faults")]
pub use seeded::{Seeded, seed};
pub use snapshot::{Attachment, CommitInfo, FileInfo, Snapshot, StoredRecord, adopt};
pub use space::{Space, space};
pub use storage::{FileSystem, Storage, Volume};
pub use temporary::random_bits;
pub use writer::{Rewrite, Transaction, Unlocked, Writer};
