//! Libraries that are loaded into the program before the C library, to take the place of some of
//! its
//! functions. Knows nothing of what they do.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles `source` into `folder`; none where there is no C compiler.
pub(crate) fn compile(folder: &Path, name: &str, source: &str) -> Option<PathBuf> {
    let library = folder.join(format!("{name}.so"));
    let source_file = folder.join(format!("{name}.c"));
    // Why it cannot be written or compiled may be dropped: the caller says that it cannot run.
    std::fs::write(&source_file, source).ok()?;
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .arg(&source_file)
        .output()
        .ok()?;
    built.status.success().then_some(library)
}
