//! A memory as files: markdown with frontmatter, folders of runs, and the guard of both. Knows no
//! capsule, record, trace, model, network, terminal or clock.
//!
//! [`Note`] is one file. It is read and written with everything that a person added to it.
//! [`MemoryFolder`] is a folder of them; [`reconcile()`] decides what becomes of one that is kept
//! elsewhere as well.

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod atomic;
mod error;
mod folder;
mod front;
mod name;
mod note;
mod reconcile;
mod stamp;

pub use error::{Error, NoteError, Result};
pub use folder::{ARCHIVED, Contents, FOLDER_FILES_MAX, MemoryFolder, StoredNote, Unreadable};
pub use front::{FRONT_BYTES_MAX, FRONT_NODES_MAX, Front};
pub use name::{SLUG_CHARS_MAX, hash, memory_file_name, slug, summary_file_name};
pub use note::{
    CONFIDENCE_DEFAULT, KIND_DEFAULT, KINDS, KeyFault, NOTE_BYTES_MAX, NewMemory, NewSummary, Note,
    Primitive, Revision,
};
pub use reconcile::{ConflictState, Reconciled, Versions, reconcile};
pub use stamp::Stamp;
