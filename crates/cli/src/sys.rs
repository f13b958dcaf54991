//! What must be asked of the operating system directly. The only module with `unsafe`.
#![allow(unsafe_code)]

/// Makes a write beyond the file-size limit fail with an error instead of ending the process.
pub(crate) fn ignore_file_size_signal() {
    // SAFETY: SIG_IGN is a valid disposition, no handler runs, and no other thread exists yet.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
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

/// The number of the user this process acts for.
pub(crate) fn user_id() -> u32 {
    // SAFETY: geteuid has no preconditions and cannot fail.
    unsafe { libc::geteuid() }
}
