//! Which paths are files that may be read. Knows nothing of traces.

use std::path::Path;

/// Where the system shows itself as files: reading one may wait for ever, or do something.
const NO_FILES: [&str; 2] = ["/proc", "/sys"];

/// Whether a path is a regular file itself, wherever the folders on the way lead. What is in the
/// system's own folders only looks like one.
pub(super) fn is_regular(path: &Path) -> bool {
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    let is_system = |real: &Path| NO_FILES.iter().any(|folder| real.starts_with(folder));
    is_file && path.canonicalize().is_ok_and(|real| !is_system(&real))
}
