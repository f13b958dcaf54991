//! Runs a program, or kills it in the middle.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

/// Pause between two looks at a child that is to be killed at a certain moment.
const LOOK: Duration = Duration::from_micros(100);

/// A program that has ended.
pub(crate) struct Run {
    pub(crate) output: Output,
    /// Whether it was killed while it ran.
    pub(crate) killed: bool,
    /// From before its start until after its end.
    pub(crate) took: Duration,
}

/// When a running program is killed.
#[derive(Clone, Debug)]
pub(crate) enum Kill {
    /// So long after its start.
    After(Duration),
    /// So long after this file has grown, or what is in the making in this folder: in the middle of
    /// its write, or between the write and what follows it.
    Grown(PathBuf, Duration),
}

/// A command that an interrupt of this run does not reach: it would look as if the program had
/// failed by itself.
#[cfg(unix)]
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(program);
    command.process_group(0);
    command
}

/// Elsewhere an interrupt ends this run as well.
#[cfg(not(unix))]
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}

/// Runs a program on `input` to its end, or until it is killed, whichever comes first.
pub(crate) fn run(mut command: Command, input: Stdio, kill: Option<&Kill>) -> io::Result<Run> {
    let bytes_before = match kill {
        Some(Kill::Grown(path, _)) => bytes(path),
        _ => 0,
    };
    let start = Instant::now();
    let mut child = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    // A child whose output nobody reads waits for ever once the pipe is full.
    let (stdout, stderr) = (read_beside(child.stdout.take()), read_beside(child.stderr.take()));
    match kill {
        Some(Kill::After(after)) => kill_at(&mut child, start + *after)?,
        Some(Kill::Grown(path, after)) => {
            while bytes(path) <= bytes_before && child.try_wait()?.is_none() {
                std::hint::spin_loop();
            }
            kill_at(&mut child, Instant::now() + *after)?;
        }
        None => {}
    }
    let status = child.wait()?;
    let output = Output { status, stdout: joined(stdout)?, stderr: joined(stderr)? };
    Ok(Run { killed: kill.is_some() && was_killed(output.status), output, took: start.elapsed() })
}

/// Reads a pipe to its end, on a thread.
fn read_beside(pipe: Option<impl io::Read + Send + 'static>) -> JoinHandle<io::Result<Vec<u8>>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            pipe.read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    })
}

fn joined(reader: JoinHandle<io::Result<Vec<u8>>>) -> io::Result<Vec<u8>> {
    reader.join().map_err(|_| io::Error::other("the reader of a pipe failed"))?
}

/// The size of a file, or of all files in the making in a folder; 0 when there is none.
pub(crate) fn bytes(path: &Path) -> u64 {
    let size = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
    let Ok(entries) = fs::read_dir(path) else { return size(path) };
    let making = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        name.to_str().is_some_and(|name| name.starts_with(".kapsa-") && name.ends_with(".tmp"))
    });
    making.map(|entry| size(&entry.path())).sum()
}

/// Kills the child at that moment, unless it ends before.
fn kill_at(child: &mut Child, moment: Instant) -> io::Result<()> {
    loop {
        let left = moment.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return child.kill();
        }
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        thread::sleep(left.min(LOOK));
    }
}

/// Whether SIGKILL ended the process.
#[cfg(unix)]
pub(crate) fn was_killed(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(libc::SIGKILL)
}

/// Whether the process was ended from outside.
#[cfg(not(unix))]
pub(crate) fn was_killed(status: ExitStatus) -> bool {
    !status.success()
}
