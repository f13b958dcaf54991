//! The writer's lock: the operating system's lock on `<capsule>.lock` is the truth; the JSON in it
//! only informs.
//!
//! The lock file is never deleted, so that two writers can never lock two different files of one
//! name. It is opened without following a link, readable for its owner only, and checked to be
//! still the file of that name once locked.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::holder::Holder;

/// How a capsule is opened for writing.
#[derive(Clone, Debug, Default)]
pub struct WriterOptions {
    /// Who writes; shown to other writers.
    pub holder: Holder,
    /// How long to wait for another writer; default not at all.
    pub lock_timeout: Duration,
}

/// Bytes of the record in the lock file: always the same, so that writing it never changes the
/// file's length.
const RECORD_BYTES: usize = 1024;
const NOT_A_FILE: &str = "it is not a regular file";
/// Longest value that the record holds, in characters.
const VALUE_CHARS_MAX: usize = 96;
/// First and longest pause between two tries for the lock.
const PAUSE: (Duration, Duration) = (Duration::from_micros(200), Duration::from_millis(5));
/// What every record begins with, and nothing else does.
const RECORD_START: &str = "{\"schema_version\":1,\"state\":";

/// What the lock file tells without taking the lock for longer than the look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockState {
    /// Nobody holds it, and whoever held it last gave it back.
    Free,
    /// A writer holds it.
    Held(Holder),
    /// Nobody holds it, but its last holder ended without giving it back.
    Stale(Holder),
}

/// Path of the lock file that belongs to a capsule.
#[must_use]
pub fn lock_path(capsule: &Path) -> PathBuf {
    let mut name = OsString::from(capsule.as_os_str());
    name.push(".lock");
    PathBuf::from(name)
}

/// A lock, held until dropped: of a capsule by its writer, or of any other name beside it that one
/// process may have to itself.
#[derive(Debug)]
pub struct Lock {
    file: File,
    holder: Holder,
}

impl Lock {
    /// Takes the lock of `capsule`, a file that need not be there, trying for at most `timeout`.
    ///
    /// # Errors
    /// `LockedByWriter` when somebody else has it; `ForeignLock` for what is no lock file; what the
    /// disk says.
    #[expect(clippy::disallowed_methods, reason = "the time is waited for, not stored")]
    pub fn acquire(capsule: &Path, holder: &Holder, timeout: Duration) -> Result<Lock> {
        let path = lock_path(capsule);
        let start = Instant::now();
        let mut pause = PAUSE.0;
        loop {
            let file = open_lock_file(&path)?;
            match file.try_lock() {
                Ok(()) if is_still_named(&file, &path) => return Ok(Lock::held(file, holder)),
                // The one that was locked has lost its name: another try finds the new one.
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(source)) => {
                    return Err(Error::Io { operation: "lock", path, source });
                }
            }
            let waited = start.elapsed();
            if waited >= timeout {
                let holder = read_record(&file).map(|(holder, _)| Box::new(holder));
                return Err(Error::LockedByWriter { path: capsule.to_path_buf(), holder, waited });
            }
            std::thread::sleep(pause.min(timeout - waited));
            pause = (pause * 2).min(PAUSE.1);
        }
    }

    fn held(file: File, holder: &Holder) -> Lock {
        let lock = Lock { file, holder: holder.clone() };
        lock.write_record("held");
        lock
    }

    /// The record informs only: a disk too full for it must not keep anybody from writing or
    /// reading.
    fn write_record(&self, state: &str) {
        let _informs_only = self.file.write_all_at(&encode_record(&self.holder, state), 0);
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.write_record("free");
    }
}

fn open_lock_file(path: &Path) -> Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK)
        .open(path)
        .map_err(unopened(path))?;
    expect_own(&file, path)?;
    Ok(file)
}

/// Refuses a file that is not a lock file of this program: writing to it would overwrite it.
fn expect_own(file: &File, path: &Path) -> Result<()> {
    let failed = Error::io("look at the lock file", path);
    let found = match file.metadata() {
        Ok(found) => found,
        Err(error) => return Err(failed(error)),
    };
    if !found.is_file() {
        return Err(foreign(path, NOT_A_FILE));
    }
    if found.nlink() > 1 {
        return Err(foreign(path, "it has another name as well (a hard link)"));
    }
    if is_own(file).map_err(failed)? {
        Ok(())
    } else {
        Err(foreign(path, "it holds something else"))
    }
}

/// Why a lock file could not be opened: it may be something else.
fn unopened(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| match path.symlink_metadata() {
        Ok(found) if !found.is_file() => foreign(path, NOT_A_FILE),
        _ => Error::io("open the lock file", path)(source),
    }
}

fn foreign(path: &Path, found: &'static str) -> Error {
    Error::ForeignLock { path: path.to_path_buf(), found }
}

/// Whether a file is empty or holds a record, be it cut short by a full disk.
fn is_own(file: &File) -> io::Result<bool> {
    let mut bytes = vec![0; RECORD_BYTES + 1];
    let len = file.read_at(&mut bytes, 0)?;
    let common = len.min(RECORD_START.len());
    let begins = bytes[..common] == RECORD_START.as_bytes()[..common];
    Ok(len <= RECORD_BYTES && begins)
}

fn is_still_named(file: &File, path: &Path) -> bool {
    let named = std::fs::symlink_metadata(path);
    let opened = file.metadata();
    matches!((named, opened), (Ok(a), Ok(b)) if a.dev() == b.dev() && a.ino() == b.ino())
}

/// Looks at the lock of `capsule` without creating anything. For the moment of the look it holds a
/// shared lock, which a writer that does not wait takes for another writer.
///
/// # Errors
/// When the lock file is there but cannot be opened, or is something else than a lock file.
pub fn lock_state(capsule: &Path) -> Result<LockState> {
    let path = lock_path(capsule);
    let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(LockState::Free),
        opened => opened.map_err(unopened(&path))?,
    };
    expect_own(&file, &path)?;
    // While the look holds it nobody rewrites the record.
    let busy = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    let record = read_record(&file);
    Ok(match (busy, record) {
        (true, record) => LockState::Held(record.map(|(holder, _)| holder).unwrap_or_else(unknown)),
        (false, Some((holder, state))) if state == "held" => LockState::Stale(holder),
        _ => LockState::Free,
    })
}

fn unknown() -> Holder {
    let unknown = || "unknown".to_string();
    Holder { host: unknown(), user: unknown(), started_at: unknown(), ..Holder::default() }
}

fn encode_record(holder: &Holder, state: &str) -> Vec<u8> {
    let mut out = format!("{RECORD_START}\"{state}\",\"pid\":{}", holder.pid);
    let optional = |value: &Option<String>| value.clone().unwrap_or_default();
    let fields = [
        ("host", holder.host.clone()),
        ("user", holder.user.clone()),
        ("started_at", holder.started_at.clone()),
        ("pid_namespace", optional(&holder.pid_namespace)),
        ("process_start", optional(&holder.process_start)),
        ("run_id", optional(&holder.run_id)),
        ("spec_id", optional(&holder.spec_id)),
        ("branch", optional(&holder.branch)),
    ];
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
        out.push_str(&format!(",\"{name}\":\"{}\"", plain(value)));
    }
    out.push('}');
    let mut bytes = out.into_bytes();
    assert!(
        bytes.len() < RECORD_BYTES && bytes.is_ascii(),
        "values are cut so that the record fits"
    );
    bytes.resize(RECORD_BYTES - 1, b' ');
    bytes.push(b'\n');
    bytes
}

/// A value as it may stand in the record: printable ASCII that needs no escape, cut to its limit.
fn plain(value: &str) -> String {
    let keep =
        |c: char| if c.is_ascii_graphic() && c != '"' && c != '\\' || c == ' ' { c } else { '?' };
    value.chars().take(VALUE_CHARS_MAX).map(keep).collect()
}

fn read_record(file: &File) -> Option<(Holder, String)> {
    let mut bytes = vec![0; RECORD_BYTES];
    let len = file.read_at(&mut bytes, 0).ok()?;
    let text = std::str::from_utf8(&bytes[..len]).ok()?;
    let field = |name: &str| field_of(text, name);
    let holder = Holder {
        pid: field("pid")?.parse().ok()?,
        host: field("host").unwrap_or_default(),
        user: field("user").unwrap_or_default(),
        started_at: field("started_at").unwrap_or_default(),
        pid_namespace: field("pid_namespace"),
        process_start: field("process_start"),
        run_id: field("run_id"),
        spec_id: field("spec_id"),
        branch: field("branch"),
    };
    Some((holder, field("state").unwrap_or_default()))
}

/// The value of one field of a record that [`encode_record`] wrote: flat, without escapes.
fn field_of(text: &str, name: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("\"{name}\":"))?;
    let value = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => rest.split([',', '}']).next()?.trim(),
    };
    Some(plain(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_record_fits() {
        let long = || "x".repeat(500);
        let holder = Holder {
            pid: u32::MAX,
            host: long(),
            user: long(),
            started_at: long(),
            pid_namespace: Some(long()),
            process_start: Some(long()),
            run_id: Some(long()),
            spec_id: Some(long()),
            branch: Some(long()),
        };
        let bytes = encode_record(&holder, "held");
        assert!(bytes.trim_ascii_end().ends_with(b"\"}"), "cut short");
    }

    #[test]
    fn record_is_flat_json_of_one_length_and_reads_back() {
        let holder = Holder {
            pid: 42,
            host: "h\u{1b}[31m\"x\\".to_string(),
            user: "u".repeat(500),
            started_at: "2026-01-01T00:00:00Z".to_string(),
            run_id: Some("r1".to_string()),
            ..Holder::default()
        };
        let bytes = encode_record(&holder, "held");
        assert_eq!(bytes.len(), RECORD_BYTES);
        let text = String::from_utf8(bytes).expect("ASCII");
        assert!(text.chars().all(|c| c.is_ascii_graphic() || c == ' ' || c == '\n'));
        assert_eq!(field_of(&text, "pid").as_deref(), Some("42"));
        assert_eq!(field_of(&text, "run_id").as_deref(), Some("r1"));
        assert_eq!(field_of(&text, "branch"), None);
    }

    fn lock_file(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let capsule = folder.path().join("m.kapsa");
        std::fs::write(lock_path(&capsule), content).expect("written");
        (folder, capsule)
    }

    fn acquire(capsule: &Path) -> Result<Lock> {
        Lock::acquire(capsule, &Holder::default(), Duration::ZERO)
    }

    fn is_foreign<T>(result: Result<T>) -> bool {
        matches!(result, Err(Error::ForeignLock { .. }))
    }

    #[test]
    fn a_record_without_its_writer_is_stale_and_a_lock_without_a_record_is_somebodys() {
        let holder = Holder { pid: 7, host: "h".to_string(), ..Holder::default() };
        let (_folder, capsule) = lock_file(&encode_record(&holder, "held"));
        assert_eq!(lock_state(&capsule).expect("readable"), LockState::Stale(holder.clone()));
        let (_folder, capsule) = lock_file(&encode_record(&holder, "free"));
        assert_eq!(lock_state(&capsule).expect("readable"), LockState::Free);
        let (_folder, capsule) = lock_file(b"");
        assert_eq!(lock_state(&capsule).expect("readable"), LockState::Free);
        let locked = File::open(lock_path(&capsule)).expect("opens");
        locked.lock().expect("locked");
        let LockState::Held(unknown) = lock_state(&capsule).expect("readable") else {
            panic!("it is locked")
        };
        let unknowns = [&unknown.host, &unknown.user, &unknown.started_at];
        assert_eq!((unknown.pid, unknowns), (0, ["unknown"; 3].map(|_| &unknown.host)));
        assert_eq!(unknown.host, "unknown");
        drop(locked);
        std::fs::remove_file(lock_path(&capsule)).expect("removed");
        assert_eq!(lock_state(&capsule).expect("there is none"), LockState::Free);
    }

    #[test]
    fn a_file_of_somebody_else_is_not_taken_for_a_lock_file() {
        let record = encode_record(&Holder::default(), "free");
        let longer = [record.as_slice(), b"x"].concat();
        for content in [b"precious".as_slice(), b"{\"schema_version\":2", &longer] {
            let (_folder, capsule) = lock_file(content);
            assert!(is_foreign(acquire(&capsule)) && is_foreign(lock_state(&capsule)));
            assert_eq!(std::fs::read(lock_path(&capsule)).expect("there"), content);
        }
        for content in [b"".as_slice(), &RECORD_START.as_bytes()[..9], &record] {
            let (_folder, capsule) = lock_file(content);
            assert!(acquire(&capsule).is_ok() && lock_state(&capsule).is_ok());
        }
    }

    #[test]
    fn a_second_name_a_link_or_a_folder_is_not_a_lock_file() {
        let (folder, capsule) = lock_file(b"");
        let lock = lock_path(&capsule);
        let other = folder.path().join("other");
        std::fs::hard_link(&lock, &other).expect("linked");
        assert!(is_foreign(acquire(&capsule)) && is_foreign(lock_state(&capsule)));
        std::fs::remove_file(&lock).expect("removed");
        std::os::unix::fs::symlink(&other, &lock).expect("linked");
        assert!(is_foreign(acquire(&capsule)) && is_foreign(lock_state(&capsule)));
        assert!(std::fs::read(&other).expect("there").is_empty());
        std::fs::remove_file(&lock).expect("removed");
        std::fs::create_dir(&lock).expect("made");
        assert!(is_foreign(acquire(&capsule)) && is_foreign(lock_state(&capsule)));
        std::fs::remove_dir(&lock).expect("removed");
        let nowhere = folder.path().join("missing/m.kapsa");
        assert!(matches!(acquire(&nowhere), Err(Error::Io { .. })));
    }

    #[test]
    fn a_lock_file_that_lost_its_name_is_not_the_one_of_that_name() {
        let (_folder, capsule) = lock_file(b"");
        let path = lock_path(&capsule);
        let file = File::open(&path).expect("opens");
        assert!(is_still_named(&file, &path));
        std::fs::remove_file(&path).expect("removed");
        assert!(!is_still_named(&file, &path));
        std::fs::write(&path, b"").expect("written");
        assert!(!is_still_named(&file, &path));
    }
}
