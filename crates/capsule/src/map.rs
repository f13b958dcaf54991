//! Lends out a file's synced part as memory. The only `unsafe` of this crate.
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
    // SAFETY: a map must not change or shrink while it is read. The range mapped ends at a commit
    // that is hinted, and no writer of this crate writes or cuts below the end of a commit that
    // a pointer names (the pointers themselves lie in the first 12 KiB, which nobody reads
    // through the map). A stranger that edits the file in place is outside of what memory
    // mapping can bear, as for every engine that maps files; `docs/format.md` says so.
    let map = unsafe { MmapOptions::new().len(len).map(file)? };
    assert_eq!(map.len(), len, "a map is as long as it was asked for");
    // Read-ahead around each random probe of an index costs more than it brings (measured: ten
    // times on a cold cache). Advice that is refused changes the speed only.
    let _refused_is_fine = map.advise(Advice::Random);
    Ok(Bytes::from_owner(map))
}

/// Reads the pages of a mapped `part` into memory, so that a sector that cannot be read, or a file
/// that was cut, is an error here and not the signal that ends a process which touches them.
#[cfg(target_os = "linux")]
pub(crate) fn populate(part: &[u8]) -> io::Result<()> {
    let page = page_bytes();
    let start = part.as_ptr() as usize / page * page;
    let len = part.as_ptr() as usize + part.len() - start;
    // SAFETY: the call reads pages that are mapped as long as `part` is borrowed, and changes
    // nothing of them.
    let failed =
        unsafe { libc::madvise(start as *mut libc::c_void, len, libc::MADV_POPULATE_READ) != 0 };
    if !failed {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        // Before Linux 5.14 there is no such advice: the pages are read when they are touched.
        Some(libc::EINVAL) => Ok(()),
        _ => Err(error),
    }
}

/// Where there is no such call, pages are read when they are touched.
#[cfg(not(target_os = "linux"))]
pub(crate) fn populate(_part: &[u8]) -> io::Result<()> {
    Ok(())
}

/// Begins to read a part of `file` into the page cache.
#[cfg(target_os = "linux")]
pub(crate) fn will_read(file: &File, offset: u64, len: u64) {
    // SAFETY: the call takes no pointer, and the descriptor is open as long as `file` is. Advice
    // that is refused changes the speed only, so what it returns is of no interest.
    unsafe {
        libc::posix_fadvise(
            file.as_raw_fd(),
            offset as libc::off_t,
            len as libc::off_t,
            libc::POSIX_FADV_WILLNEED,
        )
    };
}

/// Where there is no such advice, pages are read when they are needed.
#[cfg(not(target_os = "linux"))]
pub(crate) fn will_read(_file: &File, _offset: u64, _len: u64) {}

/// Pages that [`is_in_memory`] looks at; more are as the first ones are, mostly.
#[cfg(target_os = "linux")]
const PAGES_MAX: usize = 64;

/// Whether the pages of a mapped `part` are in memory, so that reading it waits for no disk.
#[cfg(target_os = "linux")]
pub(crate) fn is_in_memory(part: &[u8]) -> bool {
    let page = page_bytes();
    let start = part.as_ptr() as usize / page * page;
    let pages = (part.as_ptr() as usize + part.len()).div_ceil(page) - start / page;
    let pages = pages.min(PAGES_MAX);
    let mut present = [0u8; PAGES_MAX];
    assert!(
        start.is_multiple_of(page) && pages <= present.len(),
        "the system answers for whole pages, each in a byte of its own"
    );
    // SAFETY: the call only writes one byte for each page, and there are as many; the address is
    // that of a page and need not even be mapped. When it fails nothing is known, and to wait
    // is no harm.
    let failed = unsafe {
        libc::mincore(start as *mut libc::c_void, pages * page, present.as_mut_ptr()) != 0
    };
    failed || present[..pages].iter().all(|page| page & 1 == 1)
}

/// Where nobody can be asked, reading is left to page faults.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_in_memory(_part: &[u8]) -> bool {
    true
}

#[cfg(target_os = "linux")]
fn page_bytes() -> usize {
    // SAFETY: the call takes no pointer.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).expect("every system has pages")
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_mapped_is_the_file_and_what_was_cut_off_it_is_an_error() {
        let page = page_bytes();
        let file = tempfile::tempfile().expect("a file");
        let content: Vec<u8> = (0..4 * page).map(|n| (n / page) as u8 + 1).collect();
        std::os::unix::fs::FileExt::write_all_at(&file, &content, 0).expect("written");
        let map = map_file(&file, content.len() as u64).expect("mapped");
        assert_eq!(map, content);
        assert!(map_file(&file, 0).expect("nothing").is_empty());
        assert!(is_in_memory(&map), "it was just written");
        assert!(is_in_memory(&map[page + 1..page + 2]));
        for part in [0..page, 1..2, page - 1..page + 1, 0..4 * page] {
            populate(&map[part.clone()]).unwrap_or_else(|error| panic!("{part:?}: {error}"));
        }
        file.set_len(2 * page as u64).expect("cut");
        assert!(populate(&map[..2 * page]).is_ok());
        for part in [2 * page..2 * page + 1, page..3 * page, 3 * page + 5..3 * page + 9] {
            assert!(populate(&map[part.clone()]).is_err(), "{part:?}");
        }
    }
}
