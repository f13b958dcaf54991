//! Tells a session something once, where two hooks are set up for one event: the user's and the
//! project's, or those of setup and of the plugin. Knows no capsule.
//!
//! Whoever is about to tell something notes its hash in the state folder. Where that cannot be
//! done it is told: twice is better than not at all.

use std::env;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use kapsa_memory::Micros;

use super::event::Event;
use crate::moment;

/// The file of what was told, below the state folder.
const TOLD: &str = "kapsa/told";
/// Two hooks of one event begin at once, or one after the other, and take 5 s at most.
const WINDOW_US: Micros = 10_000_000;
/// Longest wait for the lock of the file, and how often it is tried.
const LOCK_WAIT: Duration = Duration::from_millis(250);
const LOCK_LOOK: Duration = Duration::from_millis(2);
/// Most lines of the file. Older ones make room.
const LINES_MAX: usize = 64;
/// Most bytes that are read of it.
const FILE_BYTES_MAX: u64 = 16 * 1024;
/// Digits of a hash that are kept.
const DIGITS: usize = 32;

/// Whether this hook is the first that tells a session this at this event.
pub(super) fn is_first(name: &str, event: &Event, text: &str) -> bool {
    let Some(session) = &event.session else { return true };
    let Some(file) = file() else { return true };
    let mut hash = blake3::Hasher::new();
    for part in [session.as_str(), name, &event.source, &event.prompt, text] {
        hash.update(&part.len().to_le_bytes()).update(part.as_bytes());
    }
    let hash = hash.finalize().to_hex();
    // May be dropped: what cannot be noted is told.
    note(&file, &hash[..DIGITS], moment::now()).unwrap_or(true)
}

fn file() -> Option<PathBuf> {
    let folder = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?;
    Some(state.join(TOLD))
}

/// Notes a hash, unless somebody noted it a moment ago. Returns whether it did.
fn note(path: &Path, hash: &str, now: Micros) -> io::Result<bool> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    lock_soon(&file)?;
    let mut bytes = Vec::new();
    (&file).take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    let known = String::from_utf8_lossy(&bytes);
    let mut recent: Vec<&str> = known.lines().filter(|line| is_recent(line, now)).collect();
    if recent.iter().any(|line| line.ends_with(hash)) {
        return Ok(false);
    }
    let line = format!("{now} {hash}");
    recent.push(&line);
    let kept = recent[recent.len().saturating_sub(LINES_MAX)..].join("\n");
    file.set_len(0)?;
    file.write_all_at(kept.as_bytes(), 0)?;
    Ok(true)
}

/// Takes the lock of the file. Others hold it for a moment; who holds it longer is not waited for.
fn lock_soon(file: &File) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if begun.elapsed() < LOCK_WAIT => {
                thread::sleep(LOCK_LOOK);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn is_recent(line: &str, now: Micros) -> bool {
    let at = line.split_once(' ').and_then(|(at, _)| at.parse::<Micros>().ok());
    at.is_some_and(|at| (0..=WINDOW_US).contains(&now.saturating_sub(at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_a_moment_ago_is_not_noted_again() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("state/told");
        let noted = |hash: &str, now| note(&file, hash, now).expect("it can be noted");
        assert!(noted("aa", 1_000) && noted("bb", 2_000));
        assert!(!noted("aa", 3_000) && !noted("bb", WINDOW_US));
        assert!(noted("aa", WINDOW_US + 1_001), "a while later it is told again");
        assert!(noted("aa", 0), "a time to come is that of another clock");
        for number in 0..10 * LINES_MAX {
            assert!(noted(&format!("x{number}"), 5_000));
        }
        let text = fs::read_to_string(&file).expect("the file");
        assert_eq!(text.lines().count(), LINES_MAX);
        let held = File::open(&file).expect("the file");
        held.lock().expect("free");
        assert!(note(&file, "dd", 5_000).is_err(), "who holds it for long is not waited for");
        drop(held);
        fs::write(&file, b"\xff\n1 aa x\nnonsense").expect("written");
        assert!(noted("cc", 5_000));
    }
}
