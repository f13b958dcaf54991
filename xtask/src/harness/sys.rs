//! What only the operating system can do: interrupts, and the power cut of a mounted file system.

#![allow(unsafe_code, reason = "the C library is called here and nowhere else")]

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on an interrupt only sets a flag, so that the run ends by itself and cleans up after
/// itself.
#[cfg(unix)]
pub(crate) fn catch_interrupts() {
    extern "C" fn note(_signal: libc::c_int) {
        INTERRUPTED.store(true, Ordering::Relaxed);
    }
    let handler = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler only stores to an atomic, which is safe at any moment.
        unsafe { libc::signal(signal, handler) };
    }
}

/// Elsewhere an interrupt ends the program at once.
#[cfg(not(unix))]
pub(crate) fn catch_interrupts() {}

/// Whether somebody interrupted the run.
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Fails once the run is interrupted.
pub(crate) fn go_on() -> Result<(), String> {
    if interrupted() { Err("interrupted".to_owned()) } else { Ok(()) }
}

/// Whether this process may mount file systems.
#[cfg(unix)]
pub(crate) fn is_root() -> bool {
    // SAFETY: the call has no argument and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Nobody is root elsewhere.
#[cfg(not(unix))]
pub(crate) fn is_root() -> bool {
    false
}

/// Stops the file system that `folder` is the mount point of, as a power cut does: nothing that it
/// still holds in memory, its log included, reaches the device any more.
#[cfg(target_os = "linux")]
pub(crate) fn cut_power(folder: &std::fs::File) -> std::io::Result<()> {
    use std::os::fd::AsRawFd;
    // `_IOR('X', 125, __u32)`; ext4 and others have taken it over from XFS.
    const GOING_DOWN: u64 = 0x8004_587d;
    let without_log_flush: u32 = 2;
    let request = libc::Ioctl::try_from(GOING_DOWN).map_err(std::io::Error::other)?;
    // SAFETY: the descriptor is open for the call, and the argument points to the `u32` that this
    // request reads.
    let done = unsafe { libc::ioctl(folder.as_raw_fd(), request, &raw const without_log_flush) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Other systems have no such call.
#[cfg(not(target_os = "linux"))]
pub(crate) fn cut_power(_folder: &std::fs::File) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}
