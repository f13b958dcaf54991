//! How is a file's synced part lent out as memory? The only `unsafe` of this crate.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;

use bytes::Bytes;
use memmap2::{Advice, MmapOptions};

/// Maps the first `len` bytes of `file`, read-only.
pub(crate) fn map_file(file: &File, len: u64) -> io::Result<Bytes> {
    let len = usize::try_from(len).map_err(|_| io::ErrorKind::FileTooLarge)?;
    if len == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: a map must not change or shrink while it is read. The range mapped ends at a commit that is hinted,
    // and no writer of this crate writes or cuts below the end of a hinted commit (the hints themselves lie in the
    // first 12 KiB, which nobody reads through the map). A stranger that edits the file in place is outside of
    // what memory mapping can bear, as for every engine that maps files; `docs/format.md` says so.
    let map = unsafe { MmapOptions::new().len(len).map(file)? };
    // Read-ahead around each random probe of an index costs more than it brings (measured: ten times on a cold cache).
    // Advice that is refused changes the speed only.
    let _refused_is_fine = map.advise(Advice::Random);
    Ok(Bytes::from_owner(map))
}

/// Begins to read a part of `file` into the page cache.
#[cfg(target_os = "linux")]
pub(crate) fn will_read(file: &File, offset: u64, len: u64) {
    // SAFETY: the call takes no pointer, and the descriptor is open as long as `file` is. Advice that is refused changes
    // the speed only, so what it returns is of no interest.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), offset as libc::off_t, len as libc::off_t, libc::POSIX_FADV_WILLNEED) };
}

/// Where there is no such advice, pages are read when they are needed.
#[cfg(not(target_os = "linux"))]
pub(crate) fn will_read(_file: &File, _offset: u64, _len: u64) {}
