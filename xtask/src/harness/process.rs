//! How is a program run, and how is it killed in the middle?

use std::io;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

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

/// Runs a program on `input` to its end, or to `kill_after`, whichever comes first.
pub(crate) fn run(mut command: Command, input: Stdio, kill_after: Option<Duration>) -> io::Result<Run> {
    let start = Instant::now();
    let mut child = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(after) = kill_after {
        kill_at(&mut child, start + after)?;
    }
    let output = child.wait_with_output()?;
    Ok(Run { killed: kill_after.is_some() && was_killed(output.status), output, took: start.elapsed() })
}

/// Kills the child at that moment, unless it ends before.
pub(crate) fn kill_at(child: &mut Child, moment: Instant) -> io::Result<()> {
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
