//! Files in the making: beside their place, under names that nobody can guess, and known by a mark.
//!
//! A name is `.kapsa-<place>-<random>.tmp`: a hash of the name of the place, and 64 bits that are
//! drawn for each file. A leftover is a regular file with such a name that nobody has locked and
//! that is empty or begins as a capsule does. Only leftovers are ever removed.

use std::collections::hash_map::RandomState;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::hash::BuildHasher;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::format::header::MAGIC;
use crate::format::sum;
use crate::storage::folder_of;

const PREFIX: &str = ".kapsa-";
const ENDING: &str = ".tmp";
/// Digits of the hash of a place, and of what is drawn.
const DIGITS: (usize, usize) = (8, 16);

/// 64 random bits, for names that nobody can guess. The keys of the standard library's hasher come
/// from the system's source of random numbers.
#[must_use]
pub fn random_bits() -> u64 {
    RandomState::new().hash_one(ENDING)
}

/// A new path for what is to take the place of `path`.
pub(crate) fn path_for(path: &Path) -> PathBuf {
    let drawn = random_bits();
    folder_of(path).join(format!("{}{drawn:016x}{ENDING}", prefix_for(path)))
}

/// Whether a path has the name of a file in the making, whatever its place.
pub(crate) fn is_one(path: &Path) -> bool {
    path.file_name().and_then(OsStr::to_str).is_some_and(|name| {
        let middle = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(ENDING));
        middle
            .and_then(|middle| middle.split_once('-'))
            .is_some_and(|(place, drawn)| is_hex(place, DIGITS.0) && is_hex(drawn, DIGITS.1))
    })
}

/// What was left in the making for `path` by processes that were killed.
pub(crate) fn leftovers(path: &Path) -> io::Result<Vec<PathBuf>> {
    let prefix = prefix_for(path);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder_of(path))? {
        let entry = entry?;
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| name.starts_with(&prefix));
        if ours && is_one(&entry.path()) && hold(&entry.path())?.is_some() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Removes them.
pub(crate) fn sweep(path: &Path) -> io::Result<()> {
    for leftover in leftovers(path)? {
        // Held while it goes, so that nobody begins to use it.
        if let Some(_held) = hold(&leftover)? {
            fs::remove_file(&leftover)?;
        }
    }
    Ok(())
}

/// Locks a leftover; none when somebody is at work on it, or it is something else.
fn hold(path: &Path) -> io::Result<Option<File>> {
    if !path.symlink_metadata().is_ok_and(|found| found.is_file()) {
        return Ok(None);
    }
    let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let mut file = match opened {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound) => return Ok(None),
        // Whoever may not read a file did not leave it.
        Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied) => return Ok(None),
        opened => opened?,
    };
    if file.try_lock().is_err() {
        return Ok(None);
    }
    let mut first = Vec::new();
    Read::by_ref(&mut file).take(MAGIC.len() as u64).read_to_end(&mut first)?;
    Ok((first.is_empty() || first == MAGIC).then_some(file))
}

fn prefix_for(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    format!("{PREFIX}{:08x}-", sum(name) & u64::from(u32::MAX))
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_drawn_and_recognised() {
        let place = Path::new("folder/m.kapsa");
        let (one, other) = (path_for(place), path_for(place));
        assert!(one != other && is_one(&one) && is_one(&other), "{}", one.display());
        assert!(one.starts_with("folder"));
        for foreign in ["m.kapsa.tmp", ".kapsa-part-1", ".kapsa-0123abcd-.tmp", "m.kapsa"] {
            assert!(!is_one(Path::new(foreign)), "{foreign}");
        }
        let longest = "x".repeat(255);
        assert!(path_for(Path::new(&longest)).file_name().is_some_and(|name| name.len() < 64));
    }

    #[test]
    fn only_what_is_ours_and_idle_is_swept() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("m.kapsa");
        let made = |content: &[u8]| {
            let path = path_for(&place);
            fs::write(&path, content).expect("a file");
            path
        };
        let [empty, begun, foreign, busy] =
            [&b""[..], b"begun below", b"a stranger's", b""].map(made);
        let folder_like = path_for(&place);
        fs::create_dir(&folder_like).expect("a folder");
        let link = path_for(&place);
        std::os::unix::fs::symlink(&empty, &link).expect("a link");
        let other = path_for(&folder.path().join("other.kapsa"));
        fs::write(&other, b"").expect("a file");
        fs::write(&begun, MAGIC).expect("a file");
        let _held = File::open(&busy).and_then(|file| file.lock().map(|()| file)).expect("held");

        let mut expected = vec![empty.clone(), begun.clone()];
        expected.sort();
        assert_eq!(leftovers(&place).expect("listed"), expected);
        sweep(&place).expect("swept");
        assert!(!empty.exists() && !begun.exists());
        for kept in [&foreign, &busy, &folder_like, &link, &other] {
            assert!(kept.symlink_metadata().is_ok(), "{}", kept.display());
        }
    }
}
