//! The other side of an exchange behind the user's own ssh: where it is, and the program that is
//! run to reach it.

use std::fmt;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use kapsa_memory::{BlobId, Chunk, Offer, Parcel, Peer, PipePeer, Point};

use crate::error::{CliError, Result};

const SCHEME: &str = "ssh://";
/// Names the program to run instead of `ssh`.
const PROGRAM_VARIABLE: &str = "KAPSA_SSH";
/// Names the program to run on the other side instead of `kapsa`.
const THERE_VARIABLE: &str = "KAPSA_SSH_COMMAND";

/// Whether a location is behind ssh.
pub(crate) fn is_ssh(location: &str) -> bool {
    location.starts_with(SCHEME)
}

/// Where a capsule is behind ssh: `ssh://[user@]host[:port]/path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SshLocation {
    /// Host, with the user where that is given.
    host: String,
    port: Option<u16>,
    /// Absolute, or below the home folder: `~/…`.
    path: String,
}

impl SshLocation {
    /// Reads a location strictly: nothing of it can become an option of ssh, or a word of the shell
    /// on the other side.
    pub(crate) fn parse(location: &str) -> Result<SshLocation> {
        let odd = |what: &str| {
            Err(CliError::user("invalid_argument", format!("{location}: {what}"))
                .hint("ssh://[user@]host[:port]/path, or ssh://host/~/path below the home folder"))
        };
        let rest = location.strip_prefix(SCHEME).unwrap_or_default();
        let Some((authority, path)) = rest.split_once('/') else { return odd("it has no path") };
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => match port.parse() {
                Ok(port) => (host, Some(port)),
                Err(_) => return odd("its port is not one"),
            },
            _ => (authority, None),
        };
        let is_name = |name: &str| {
            let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            !name.is_empty() && !name.starts_with('-') && name.chars().all(fits)
        };
        let (user, name) = match host.split_once('@') {
            Some((user, name)) => (Some(user), name),
            None => (None, host),
        };
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        let is_address = bare.is_some_and(|bare| bare.parse::<std::net::Ipv6Addr>().is_ok());
        if !(is_name(name) || is_address) || user.is_some_and(|user| !is_name(user)) {
            return odd("its host or user is not one");
        }
        if path.is_empty() || path.contains(char::is_control) {
            return odd("its path is empty or has odd characters");
        }
        let path = if path.starts_with("~/") { path.to_string() } else { format!("/{path}") };
        Ok(SshLocation { host: host.to_string(), port, path })
    }

    /// What the shell on the other side is given.
    fn command(&self, program: &str, write: bool) -> String {
        let write = if write { " --write" } else { "" };
        let path = match self.path.strip_prefix("~/") {
            Some(below) => format!("~/{}", quoted(below)),
            None => quoted(&self.path),
        };
        format!("{program} serve-exchange{write} -- {path}")
    }
}

impl fmt::Display for SshLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", self.host)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        let slash = if self.path.starts_with('/') { "" } else { "/" };
        write!(f, "{slash}{}", self.path)
    }
}

/// One word of a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Runs ssh, and asks through it.
pub(crate) fn connect(location: &SshLocation, write: bool) -> Result<Box<dyn Peer>> {
    let variable = |name: &str, or: &str| {
        std::env::var(name).ok().filter(|value| !value.is_empty()).unwrap_or_else(|| or.into())
    };
    let program = variable(PROGRAM_VARIABLE, "ssh");
    let mut command = Command::new(&program);
    if let Some(port) = location.port {
        command.arg("-p").arg(port.to_string());
    }
    let there = location.command(&variable(THERE_VARIABLE, "kapsa"), write);
    let bare = location.host.replace(['[', ']'], "");
    command.arg("-T").arg("--").arg(bare).arg(there);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child =
        command.spawn().map_err(|error| CliError::io(&format!("run {program}"), &error))?;
    let ends = child.stdout.take().zip(child.stdin.take());
    let (from, to) = ends.expect("both were asked for");
    let pipe = PipePeer::open(from, to)?;
    Ok(Box::new(SshPeer { pipe: Some(pipe), child }))
}

/// A capsule behind a running ssh.
struct SshPeer<R: Read, W: Write> {
    /// None once it is being closed.
    pipe: Option<PipePeer<R, W>>,
    child: Child,
}

impl SshPeer<ChildStdout, ChildStdin> {
    fn pipe(&mut self) -> &mut PipePeer<ChildStdout, ChildStdin> {
        self.pipe.as_mut().expect("it is closed when this is dropped")
    }
}

impl<R: Read, W: Write> Drop for SshPeer<R, W> {
    fn drop(&mut self) {
        // The other side ends when nothing can come any more, and lets its lock go.
        self.pipe = None;
        // May be dropped: whatever ssh says in the end, everything was answered.
        let _ = self.child.wait();
    }
}

impl Peer for SshPeer<ChildStdout, ChildStdin> {
    fn head(&mut self) -> kapsa_memory::Result<Point> {
        self.pipe().head()
    }

    fn chain(&mut self, commit: u64) -> kapsa_memory::Result<Option<[u8; 32]>> {
        self.pipe().chain(commit)
    }

    fn news(&mut self, after: u64) -> kapsa_memory::Result<Chunk> {
        self.pipe().news(after)
    }

    fn lacks(&mut self, branch: &str, offers: &[Offer]) -> kapsa_memory::Result<Vec<bool>> {
        self.pipe().lacks(branch, offers)
    }

    fn put(
        &mut self,
        branch: &str,
        parcels: Vec<Parcel>,
        vectors: Vec<Vec<u8>>,
    ) -> kapsa_memory::Result<Point> {
        self.pipe().put(branch, parcels, vectors)
    }

    fn blobs(&mut self, ids: &[BlobId]) -> kapsa_memory::Result<Vec<Vec<u8>>> {
        self.pipe().blobs(ids)
    }

    fn lacks_blobs(&mut self, ids: &[BlobId]) -> kapsa_memory::Result<Vec<bool>> {
        self.pipe().lacks_blobs(ids)
    }

    fn put_blobs(&mut self, blobs: Vec<Vec<u8>>) -> kapsa_memory::Result<()> {
        self.pipe().put_blobs(blobs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_read_strictly() {
        for whole in
            ["ssh://host/a/b", "ssh://ana@host.example:2222/a b", "ssh://h/~/p", "ssh://[::1]:22/p"]
        {
            let location = SshLocation::parse(whole).expect("a location");
            assert_eq!(location.to_string(), whole);
        }
        for odd in [
            "ssh://-oProxyCommand=x/p",
            "ssh://ana@-x/p",
            "ssh://-a@host/p",
            "ssh://host",
            "ssh://host/",
            "ssh:///p",
            "ssh://ho st/p",
            "ssh://host:0x/p",
            "ssh://host;id/p",
            "ssh://host/a\nb",
            "ssh://[zz]/p",
        ] {
            assert!(SshLocation::parse(odd).is_err(), "{odd:?}");
        }
    }

    #[test]
    fn nothing_of_a_path_is_a_word_of_its_own_on_the_other_side() {
        let command = |location: &str| {
            SshLocation::parse(location).expect("a location").command("kapsa", false)
        };
        assert_eq!(command("ssh://h/a b"), "kapsa serve-exchange -- '/a b'");
        assert_eq!(command("ssh://h/~/a;id"), "kapsa serve-exchange -- ~/'a;id'");
        assert_eq!(command("ssh://h/it's"), r"kapsa serve-exchange -- '/it'\''s'");
    }
}
