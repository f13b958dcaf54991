//! The file of the key that signs commits: where it lies, how it is made, and who may read it.

use std::env;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use kapsa_memory::{KeyError, SECRET_KEY_BYTES, SigningKey};

use crate::error::{CliError, Result};

/// Names the file; set to nothing, commits are not signed.
const VARIABLE: &str = "KAPSA_SIGNING_KEY";
/// The file, below the folder of the user's settings.
const FILE: &str = "kapsa/signing.key";
/// Largest key file, in bytes.
const FILE_BYTES_MAX: u64 = 256;
/// Permissions of anybody but the owner.
const OTHERS: u32 = 0o077;

/// Where the key is to lie.
enum KeyPlace {
    /// Signing is turned off.
    Off,
    /// Where the variable says: a key must be there.
    Named(PathBuf),
    /// Where keys lie by default, if there is one.
    Usual(PathBuf),
}

fn place() -> KeyPlace {
    if let Some(named) = env::var_os(VARIABLE) {
        return if named.is_empty() { KeyPlace::Off } else { KeyPlace::Named(named.into()) };
    }
    let folder = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let settings = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")));
    settings.map_or(KeyPlace::Off, |settings| KeyPlace::Usual(settings.join(FILE)))
}

/// The key that commits of this process are signed with; none when there is none.
pub(crate) fn load() -> Result<Option<SigningKey>, KeyError> {
    match place() {
        KeyPlace::Off => Ok(None),
        KeyPlace::Usual(path) => read(&path),
        KeyPlace::Named(path) => match read(&path)? {
            Some(key) => Ok(Some(key)),
            None => Err(KeyError {
                message: format!("there is no signing key at {}", path.display()),
                hint: format!("{VARIABLE} names it; set to nothing, it turns signing off"),
            }),
        },
    }
}

/// Where the key lies, or would.
pub(crate) fn path() -> Result<PathBuf> {
    match place() {
        KeyPlace::Usual(path) | KeyPlace::Named(path) => Ok(path),
        KeyPlace::Off => Err(CliError::user("no_signing_key", "signing is turned off")
            .hint(format!("unset {VARIABLE}, or name a file; without it, HOME must be set"))),
    }
}

/// The key in a file; none when there is no such file.
pub(crate) fn at(path: &Path) -> Result<Option<SigningKey>> {
    read(path).map_err(|error| CliError::user("signing_key", error.message).hint(error.hint))
}

fn read(path: &Path) -> Result<Option<SigningKey>, KeyError> {
    let unusable = |what: &str, hint: &str| {
        Err(KeyError {
            message: format!("the signing key {} {what}", path.display()),
            hint: format!("{hint}; {VARIABLE} set to nothing turns signing off"),
        })
    };
    // Nothing but a file is waited for.
    let opened =
        OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if is_absent(path, &error) => return Ok(None),
        Err(error) => return unusable(&format!("cannot be read: {error}"), "make it readable"),
    };
    let found = match file.metadata() {
        Ok(found) => found,
        Err(error) => return unusable(&format!("cannot be read: {error}"), "make it readable"),
    };
    if !found.is_file() {
        return unusable("is not a regular file", "name another file");
    }
    let mode = found.permissions().mode();
    if mode & OTHERS != 0 {
        let hint =
            format!("chmod 600 {}, or make a new one if anybody may have it", path.display());
        return unusable(&format!("is open to others (mode {:o})", mode & 0o777), &hint);
    }
    let mut text = String::new();
    match file.take(FILE_BYTES_MAX).read_to_string(&mut text) {
        // What is not text is not a key either.
        Err(error) if error.kind() != ErrorKind::InvalidData => {
            return unusable(&format!("cannot be read: {error}"), "make it readable");
        }
        Ok(_) | Err(_) => {}
    }
    match SigningKey::parse(&text) {
        Some(key) => Ok(Some(key)),
        None => {
            unusable("is damaged", "restore it from a copy, or move it away and run kapsa key init")
        }
    }
}

/// Whether a file that does not open is not there. Where the folder is closed to this user, there
/// is no key that could be its own.
fn is_absent(path: &Path, error: &io::Error) -> bool {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => path.symlink_metadata().is_err(),
        ErrorKind::PermissionDenied => path.symlink_metadata().is_err(),
        _ => false,
    }
}

/// Makes a key in a new file, which nobody else may read.
pub(crate) fn make(path: &Path) -> Result<SigningKey> {
    let failed =
        |error: io::Error| CliError::io(&format!("make the key {}", path.display()), &error);
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut secret = [0; SECRET_KEY_BYTES];
    getrandom::fill(&mut secret).map_err(|error| failed(io::Error::other(error.to_string())))?;
    let key = SigningKey::from_bytes(&secret);
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    // Whole or not at all, and for its owner only from the first moment on.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    writeln!(file, "{}", key.to_text()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    match file.persist_noclobber(path) {
        Ok(_) => {}
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => {
            let message = format!("{} already exists", path.display());
            return Err(CliError::user("exists", message)
                .hint("kapsa key show prints its public key; a key is never replaced")
                .field("path", path.display().to_string()));
        }
        Err(error) => return Err(failed(error.error)),
    }
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    Ok(key)
}
