//! The files that an agent keeps for itself, as the file system shows them. Knows no paths.

use super::error::FileError;
use super::writing::Written;
use crate::memory_tool::{MemoryTool, Refusal};
use kapsa_memory::Result;

/// The agent's own files; none where nobody said where they are.
#[derive(Debug, Default)]
pub(super) struct OwnFiles(pub(super) Option<MemoryTool>);

/// A file by its names, with its text.
pub(super) type OwnFile = (Vec<String>, String);

impl OwnFiles {
    /// All of them, in the order of their names.
    pub(super) fn all(&self) -> Result<Vec<OwnFile>> {
        self.0.as_ref().map_or_else(|| Ok(Vec::new()), MemoryTool::all)
    }

    /// Whether these are the names of a folder of them.
    pub(super) fn is_folder(&self, names: &[String]) -> Result<bool> {
        let is_below = |(file, _): &OwnFile| file.len() > names.len() && file.starts_with(names);
        Ok(self.all()?.iter().any(is_below))
    }

    /// Makes a file, or revises it.
    pub(super) fn put(
        &self,
        path: &str,
        names: &[String],
        content: &str,
    ) -> Result<Written, FileError> {
        let read_only = || FileError::ReadOnly { path: path.to_string() };
        let own = self.0.as_ref().ok_or_else(read_only)?;
        match own.put(names, content) {
            Ok(existed) => Ok(Written { path: path.to_string(), existed }),
            Err(Refusal::Memory(error)) => Err(error.into()),
            // A file where a folder would have to be, or a name that is too long.
            Err(Refusal::Told(_)) => Err(read_only()),
        }
    }
}
