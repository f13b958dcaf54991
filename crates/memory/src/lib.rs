//! A memory for agents on top of one capsule file.
pub mod check;
pub mod document;
mod error;
mod read;
pub mod record;
pub mod request;
pub mod uri;
mod write;

pub use error::{Error, Result};
pub use kapsa_capsule::{Error as CapsuleError, Holder};
pub use read::Reader;
pub use record::{Micros, NewRecord, Record, Source};
pub use uri::Uri;
pub use write::{Created, Progress, WriteOptions, Writer, create};
