//! What must be asked of the operating system directly. The only module with `unsafe`.
#![allow(unsafe_code)]

use std::ffi::OsString;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};
use std::time::{Duration, Instant};

/// Makes a write beyond the file-size limit fail with an error instead of ending the process.
pub(crate) fn ignore_file_size_signal() {
    // SAFETY: SIG_IGN is a valid disposition, no handler runs, and no other thread exists yet.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Has the allocator give memory back that is free: for a process that lives long, and whose calls
/// come on many threads. Without it each thread would keep what its largest write needed once.
/// Elsewhere than with the GNU C library the allocator decides itself.
pub(crate) fn keep_memory_small() {
    /// Bytes from which on a block is mapped by itself, and free ones at the end of the heap go
    /// back to the system; named, they no longer grow by themselves.
    #[cfg(target_env = "gnu")]
    const BLOCK_BYTES: libc::c_int = 128 << 10;
    #[cfg(target_env = "gnu")]
    for (parameter, value) in [
        (libc::M_ARENA_MAX, 1),
        (libc::M_MMAP_THRESHOLD, BLOCK_BYTES),
        (libc::M_TRIM_THRESHOLD, BLOCK_BYTES),
    ] {
        // SAFETY: it sets a number within the allocator, under its own lock.
        unsafe { libc::mallopt(parameter, value) };
    }
}

/// Variables that mean something when they are empty: whose name is missing there would be taken
/// for somebody else, so that their verbs refuse it; and no key is not the usual key.
const MAY_BE_EMPTY: [&str; 4] =
    ["KAPSA_PRINCIPAL", "KAPSA_AGENT", "KAPSA_RUN", "KAPSA_SIGNING_KEY"];

/// Removes the variables of this program that are set to nothing: to most people that is "not set".
pub(crate) fn unset_empty_variables() {
    let is_empty = |(name, value): &(OsString, OsString)| {
        let ours = name
            .to_str()
            .is_some_and(|name| name.starts_with("KAPSA_") && !MAY_BE_EMPTY.contains(&name));
        ours && value.is_empty()
    };
    for (name, _) in std::env::vars_os().filter(is_empty) {
        // SAFETY: called first thing in `main`, no other thread exists yet.
        unsafe { std::env::remove_var(name) };
    }
}

/// What is printed when a page of a mapped file can no longer be read.
static LOST_PAGE: OnceLock<Vec<u8>> = OnceLock::new();
/// What is printed instead since the call has committed something; null before.
static LOST_PAGE_LATER: AtomicPtr<Vec<u8>> = AtomicPtr::new(ptr::null_mut());

/// Exit code of a process that lost a page.
static LOST_PAGE_CODE: AtomicI32 = AtomicI32::new(2);

/// A lost page ends the process with the exit code 0 from now on.
pub(crate) fn end_well_on_lost_page() {
    LOST_PAGE_CODE.store(0, Ordering::Release);
}

/// From now on a mapped page that can no longer be read ends the process with this message and
/// exit code 2, not with a signal. Bytes are checked when they are first read, so this concerns
/// only what is lost between that and a later read. The first message counts.
pub(crate) fn on_lost_page(message: impl FnOnce() -> Vec<u8>) {
    extern "C" fn end(_signal: libc::c_int) {
        // SAFETY: what the pointer is set to is never freed.
        let later = unsafe { LOST_PAGE_LATER.load(Ordering::Acquire).as_ref() };
        let message = later.or(LOST_PAGE.get()).map_or(&b""[..], Vec::as_slice);
        // SAFETY: both calls may be made in a signal handler, and the message is a live buffer that
        // was written before the handler was installed and never changes.
        unsafe {
            libc::write(libc::STDERR_FILENO, message.as_ptr().cast(), message.len());
            libc::_exit(LOST_PAGE_CODE.load(Ordering::Acquire));
        }
    }
    if LOST_PAGE.set(message()).is_ok() {
        let handler = end as extern "C" fn(libc::c_int);
        // SAFETY: the handler calls only what a signal handler may call, and does not return.
        unsafe { libc::signal(libc::SIGBUS, handler as libc::sighandler_t) };
    }
}

/// Has another message than that of [`on_lost_page`] printed from now on, or that one again. Where
/// lost pages end nothing, this does nothing. The message is never freed: it is small, and there is
/// one for each call that commits.
pub(crate) fn on_lost_page_later(message: Option<impl FnOnce() -> Vec<u8>>) {
    let message = message.filter(|_| LOST_PAGE.get().is_some());
    let message = message.map_or(ptr::null_mut(), |message| Box::into_raw(Box::new(message())));
    LOST_PAGE_LATER.store(message, Ordering::Release);
}

/// The machine's name, `unknown` when it has none.
pub(crate) fn host_name() -> String {
    let mut buffer = [0u8; 256];
    // SAFETY: the pointer and length describe a live, writable buffer; the last byte stays zero.
    let failed = unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len() - 1) } != 0;
    let name = buffer.split(|&byte| byte == 0).next().unwrap_or_default();
    if failed || name.is_empty() {
        return "unknown".to_string();
    }
    String::from_utf8_lossy(name).into_owned()
}

/// What the system says of a process.
pub(crate) struct Process {
    /// One letter: `R` running, `S` sleeping, `T` stopped, …
    pub(crate) state: char,
    /// When it started, in the system's own clock ticks: with the pid it names one process for
    /// good.
    pub(crate) start: String,
}

/// Looks up a process by its pid; none when there is none, or the system does not tell.
pub(crate) fn process(pid: u32) -> Option<Process> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything; the fields after it are the 3rd and on
    // (proc_pid_stat(5)).
    let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_ascii_whitespace().collect();
    let start = fields.get(19)?.to_string();
    fields
        .first()?
        .chars()
        .next()
        .filter(|&state| state != 'Z' && state != 'X')
        .map(|state| Process { state, start })
}

/// Identity of this process's pid namespace, where the system has such things.
pub(crate) fn pid_namespace() -> Option<String> {
    Some(std::fs::read_link("/proc/self/ns/pid").ok()?.to_str()?.to_string())
}

/// The number of the user this process acts for.
pub(crate) fn user_id() -> u32 {
    // SAFETY: geteuid has no preconditions and cannot fail.
    unsafe { libc::geteuid() }
}

/// Waits until something can be read, or the other side has ended, for at most so long. Returns
/// whether it can.
pub(crate) fn is_readable(descriptor: RawFd, longest: Duration) -> io::Result<bool> {
    let begun = Instant::now();
    loop {
        let left = longest.saturating_sub(begun.elapsed());
        let left = libc::c_int::try_from(left.as_millis()).unwrap_or(libc::c_int::MAX);
        let mut asked = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
        // SAFETY: the pointer is to one live `pollfd`, as the count says.
        match unsafe { libc::poll(&raw mut asked, 1, left) } {
            0 => return Ok(false),
            found if found > 0 => return Ok(true),
            _ => {}
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// How much a process in the background gives way to others.
const NICE: libc::c_int = 10;

/// Starts a process that outlives this one: of a session of its own, without input or output, and
/// behind others when they need the processor.
pub(crate) fn spawn_detached(command: &mut Command) -> io::Result<Child> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let leave = || {
        // SAFETY: both calls may be made between fork and exec, and take no pointers. A process
        // that leads a group already stays in its session, and one that may not be nicer is not.
        unsafe {
            libc::setsid();
            libc::nice(NICE);
        }
        Ok(())
    };
    // SAFETY: the closure allocates nothing and makes only calls that are safe after a fork.
    unsafe { command.pre_exec(leave) };
    command.spawn()
}

/// Whether there is no process of this number.
pub(crate) fn is_gone(process: i32) -> bool {
    // SAFETY: signal 0 sends nothing; it only asks whether the process is there.
    let failed = unsafe { libc::kill(process, 0) } == -1;
    failed && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}
