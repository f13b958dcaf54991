//! The peak memory of a process: `bench-launch REPORT PROGRAM [ARG...]` runs it and writes the KiB
//! to REPORT.
//!
//! On Linux a child inherits the peak of the process that spawned it, so a large benchmark cannot
//! ask for itself; this program is as small as a Rust program gets, and its own size is the floor
//! of what it can report.

use std::io::{self, Error};
use std::process::{Command, exit};

fn main() -> io::Result<()> {
    let mut args = std::env::args_os().skip(1);
    let usage = || Error::other("usage: bench-launch REPORT PROGRAM [ARG...]");
    let report = args.next().ok_or_else(usage)?;
    let program = args.next().ok_or_else(usage)?;
    let status = Command::new(program).args(args).status()?;
    std::fs::write(report, peak_of_children_kib()?.to_string())?;
    exit(status.code().unwrap_or(1))
}

/// The largest peak among the children waited for; here there is one.
#[allow(unsafe_code, reason = "the standard library does not report the resources of a child")]
fn peak_of_children_kib() -> io::Result<i64> {
    // SAFETY: rusage is plain integers, for which all zeros is a value, and the pointer is valid
    // for the call.
    let (result, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage), usage)
    };
    if result == 0 { Ok(usage.ru_maxrss) } else { Err(Error::last_os_error()) }
}
