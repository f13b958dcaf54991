//! Proves that the checks can fail: a program that lies in a known way must be caught.

use std::fs;
use std::path::{Path, PathBuf};

use super::breach::{Breach, Breaches};
use super::kapsa::Kapsa;

const SCRIPT: &str = include_str!("../../peers/liar.sh");

/// A way to lie, and the breach that must be noticed. None is the honest program, of which nothing
/// may be noticed.
pub(crate) type Lie = (&'static str, Option<Breach>);

/// Writes the lying program into `folder`.
#[cfg(unix)]
pub(crate) fn write(folder: &Path) -> Result<PathBuf, String> {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join("liar");
    let written = fs::write(&path, SCRIPT)
        .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)));
    written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(path)
}

/// The lying program is a script for a Unix shell.
#[cfg(not(unix))]
pub(crate) fn write(_folder: &Path) -> Result<PathBuf, String> {
    Err("the self-test needs a Unix shell".to_owned())
}

/// The program that lies in the way of `mode`, on a capsule of its own.
pub(crate) fn kapsa(liar: &Path, real: &Path, mode: &str) -> Kapsa {
    let capsule = liar.with_file_name(format!("{mode}.kapsa"));
    Kapsa::new(liar, &capsule).with_variable("LIAR_REAL", real).with_variable("LIAR_MODE", mode)
}

/// Tries every lie with `attempt`, and returns whether all were noticed for what they are, with a
/// line on each.
pub(crate) fn all_caught(
    lies: &[Lie],
    mut attempt: impl FnMut(&str, &Breaches) -> Result<(), String>,
) -> Result<(bool, Vec<String>), String> {
    let (mut all, mut lines) = (true, Vec::new());
    for (mode, expected) in lies {
        let breaches = Breaches::quiet();
        attempt(mode, &breaches)?;
        let caught = expected.map_or(breaches.is_empty(), |breach| breaches.count(breach) > 0);
        all &= caught;
        lines.push(format!(
            "{mode:<8} {}: {}",
            if caught { "as it must be" } else { "NOT NOTICED" },
            breaches.line()
        ));
    }
    Ok((all, lines))
}
