//! Knows no capsule, branch, network, terminal, environment or clock.
//!
//! Reads the memories that other products keep: files and folders become records that can be put.
//! Each record has a name that comes from the product's own id, so that what was imported once is
//! not brought again, and says where it comes from. What cannot be used is counted with a reason:
//! what is read and what is skipped are together what the source holds.

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod beads;
mod chats;
mod error;
mod graphiti;
mod input;
mod item;
mod letta;
mod local_memory;
mod markdown;
mod mem0;
mod memvid;
mod product;
mod server_memory;
mod time;

pub use error::Error;
pub use input::{DEPTH_MAX, FILE_BYTES_MAX, FILES_MAX, LINE_BYTES_MAX, SOURCE_BYTES_MAX};
pub use item::{Item, Skipped, Source};
pub use memvid::memvid_documents;
pub use product::{PRODUCTS, Product};
