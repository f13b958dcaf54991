//! Takes a memory out of its capsule, in one of three forms, whole or not at all, and into another,
//! as a mount.
//!
//! What an export holds is `export`'s business. Here is what it looks like as a file or a folder
//! ([`Export::write`]), how that gets its name ([`Stage`]), how a capsule is taken in beside
//! another ([`Mounts`]), and what is thrown away ([`gc`]).

mod folder;
mod gc;
mod json_dir;
mod jsonl;
mod markdown;
mod mounts;
mod others;
mod stage;

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::Path;

pub use folder::is_export_index;
pub use gc::{GcReport, GcRequest, gc};
pub use mounts::{
    Import, MOUNT_NAME_CHARS_MAX, Mount, Mounted, Mounts, check_mount_name, mount_path,
};
pub use stage::Stage;

use crate::error::Result;
use crate::exchange::export::Export;
use crate::exchange::sync::failed;
use crate::records::record::Micros;

/// Folder for exports, in the folder of the capsule.
pub const EXPORTS_FOLDER: &str = "exports";

/// What an export looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// A capsule with every revision.
    #[default]
    Capsule,
    /// One JSON record on each line, as it is now.
    JsonLines,
    /// A folder with events, checkpoints, records and files, for programs.
    JsonFolder,
    /// A folder with one readable file for each memory, as it is now.
    Markdown,
    /// The same, as basic-memory reads it.
    BasicMemory,
    /// A file as the MCP memory server reads it, as it is now.
    ServerMemory,
    /// A file of instructions for agents, as it is now.
    Instructions,
}

impl Format {
    /// Its name, as people type it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::Capsule => "capsule",
            Format::JsonLines => "jsonl",
            Format::JsonFolder => "json-dir",
            Format::Markdown => "markdown",
            Format::BasicMemory => "basic-memory",
            Format::ServerMemory => "server-memory",
            Format::Instructions => "claude-md",
        }
    }

    /// What its names end with.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Format::Capsule => "kapsa",
            Format::JsonLines | Format::ServerMemory => "jsonl",
            Format::JsonFolder => "json-dir",
            Format::Markdown | Format::BasicMemory => "markdown",
            Format::Instructions => "md",
        }
    }

    /// Whether it is a folder.
    #[must_use]
    pub fn is_folder(self) -> bool {
        matches!(self, Format::JsonFolder | Format::Markdown | Format::BasicMemory)
    }

    /// Whether the bytes of files are in it.
    #[must_use]
    pub fn has_files(self) -> bool {
        matches!(self, Format::Capsule | Format::JsonFolder)
    }
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// How many bytes, in all files.
    pub bytes: u64,
    /// BLAKE3 of the file; of a folder, of a list with a line `<hash>  <name>` for each file, by
    /// name. 64 hexadecimal digits.
    pub content_hash: String,
}

impl Export<'_> {
    /// Writes it to `to`, where nothing may be yet. `time` is how moments are written. The same
    /// content makes the same bytes.
    ///
    /// # Errors
    /// What the disk says; then a part may be left at `to`, which is why it is best a place in a
    /// [`Stage`].
    pub fn write(&self, format: Format, to: &Path, time: fn(Micros) -> String) -> Result<Written> {
        match format {
            Format::Capsule => self.write_capsule(to)?,
            Format::JsonLines => jsonl::write(self, to, time)?,
            Format::JsonFolder => return json_dir::write(self, to, time),
            Format::Markdown => return markdown::write(self, to, time, markdown::page),
            Format::BasicMemory => return markdown::write(self, to, time, markdown::note),
            Format::ServerMemory => others::write_server_memory(self, to)?,
            Format::Instructions => others::write_instructions(self, to)?,
        }
        let bytes = fs::metadata(to).map_err(|source| failed("read", to, source))?.len();
        Ok(Written { bytes, content_hash: hash_file(to)? })
    }
}

/// BLAKE3 of a file, 64 hexadecimal digits.
pub(crate) fn hash_file(path: &Path) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    let read = File::open(path).and_then(|file| hasher.update_reader(file).map(drop));
    read.map_err(|source| failed("read", path, source))?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// Sequences of the memories and aliases of an export that count at its end.
fn current(export: &Export<'_>) -> Result<HashSet<u64>> {
    let mut heads: HashMap<blake3::Hash, Vec<u64>> = HashMap::new();
    for record in export.records() {
        let record = record?;
        if record.system {
            continue;
        }
        let heads = heads.entry(blake3::hash(record.uri.as_str().as_bytes())).or_default();
        heads.retain(|sequence| record.conflicts_with.contains(sequence));
        if !record.tombstone {
            heads.push(record.sequence);
        }
    }
    Ok(heads.into_values().flatten().collect())
}
