//! Reads what is on the medium, whatever the page cache holds: direct reads, where the system has
//! them.

use std::fs::File;
use std::io;

/// What offset, length and memory of a direct read must be multiples of, whatever the device.
#[cfg(target_os = "linux")]
const ALIGN: usize = 4096;

/// Up to `len` bytes of `file` at `offset`, past the page cache; none where the file system cannot
/// do that.
#[cfg(target_os = "linux")]
pub(crate) fn read(file: &File, offset: u64, len: usize) -> io::Result<Option<Vec<u8>>> {
    use std::fs::OpenOptions;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;

    // By its descriptor: the name may lead to another file by now.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let opened =
        OpenOptions::new().read(true).custom_flags(libc::O_DIRECT | libc::O_CLOEXEC).open(path);
    let Ok(direct) = opened else { return Ok(None) };
    let start = offset - offset % ALIGN as u64;
    let skip = (offset - start) as usize;
    match read_aligned(&direct, start, skip + len) {
        Ok(mut bytes) => Ok(Some(bytes.split_off(skip.min(bytes.len())))),
        Err(e) if e.kind() == io::ErrorKind::InvalidInput => Ok(None),
        Err(e) => Err(e),
    }
}

#[cfg(target_os = "linux")]
fn read_aligned(direct: &File, start: u64, len: usize) -> io::Result<Vec<u8>> {
    use std::os::unix::fs::FileExt;

    let whole = len.next_multiple_of(ALIGN);
    let mut memory = vec![0; whole + ALIGN];
    let from = memory.as_ptr().align_offset(ALIGN);
    assert!(
        start.is_multiple_of(ALIGN as u64) && from < ALIGN,
        "offset and memory of a direct read are aligned"
    );
    let buffer = &mut memory[from..from + whole];
    let mut filled = 0;
    while filled < len {
        match direct.read_at(&mut buffer[filled..], start + filled as u64) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        }
        // A read that ends within a block has met the end of the file.
        if !filled.is_multiple_of(ALIGN) {
            break;
        }
    }
    Ok(buffer[..filled.min(len)].to_vec())
}

/// No such thing here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn read(_file: &File, _offset: u64, _len: usize) -> io::Result<Option<Vec<u8>>> {
    Ok(None)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write;

    #[test]
    fn reads_what_was_synced_at_any_offset_or_says_that_it_cannot() {
        let mut file = tempfile::tempfile().expect("a file");
        let content: Vec<u8> = (0..10_000u32).map(|n| n as u8).collect();
        file.write_all(&content).expect("written");
        file.sync_all().expect("synced");
        for (offset, len) in
            [(0, 10), (4095, 2), (4096, 4096), (5000, 5000), (9_990, 100), (20_000, 5)]
        {
            let expected = content.get(offset..).unwrap_or_default();
            let expected = &expected[..expected.len().min(len)];
            let read = super::read(&file, offset as u64, len).expect("readable");
            assert!(read.is_none_or(|bytes| bytes == expected), "{len} bytes at {offset}");
        }
    }
}
