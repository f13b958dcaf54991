//! A file with a bad sector, read around it.

use std::ops::Range;

use super::*;
use crate::forged::file;
use crate::storage::{FileSystem, Volume};

const EACCES: i32 = libc::EACCES;

/// A file with a part that gives an error, by the number of bytes that are asked for; 0 for none.
#[derive(Debug)]
struct Bad {
    file: Arc<dyn Storage>,
    part: Range<u64>,
    error: fn(usize) -> i32,
}

impl Storage for Bad {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let end = offset + buffer.len() as u64;
        let error = (self.error)(buffer.len());
        if error != 0 && offset < self.part.end && self.part.start < end {
            return Err(io::Error::from_raw_os_error(error));
        }
        self.file.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.file.write_at(bytes, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn read_medium(&self, offset: u64, len: usize) -> io::Result<Option<Vec<u8>>> {
        Ok(Some(vec![offset as u8; len]))
    }

    fn map(&self, len: u64) -> io::Result<Option<Bytes>> {
        self.file.map(len)
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.file.try_lock()
    }

    fn unlock(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn identity(&self) -> Option<(u64, u64)> {
        self.file.identity()
    }
}

/// Three pages and 100 bytes.
const BYTES: usize = 3 * PAGE_BYTES as usize + 100;

fn lenient(part: Range<u64>, error: fn(usize) -> i32) -> (crate::forged::File, Arc<Lenient>) {
    let made = file(&[7; BYTES]);
    let file = FileSystem.open(&made.path, true).expect("opens");
    (made, Lenient::over(Arc::new(Bad { file, part, error })))
}

#[test]
fn a_page_with_a_bad_sector_is_read_as_zeros_and_the_others_as_they_are() {
    let (_made, file) = lenient(5000..5001, |_| libc::EIO);
    let mut buffer = [1; BYTES];
    for (offset, len, expected) in
        [(100, 3996, 7), (4096, 4096, 0), (4100, 4092, 0), (8192, 4196, 7), (12_288, 100, 7)]
    {
        let read = file.read_at(&mut buffer, offset).expect("read around");
        assert_eq!((read, &buffer[..read]), (len, vec![expected; len].as_slice()), "{offset}");
    }
    assert_eq!(file.read_at(&mut buffer[..10], 6000).expect("read around"), 10);
    assert_eq!(file.unreadable(), [4096]);
}

#[test]
fn the_last_page_ends_with_the_file() {
    let (_made, file) = lenient(12_300..12_301, |_| libc::EIO);
    let mut buffer = [1; BYTES];
    assert_eq!(file.read_at(&mut buffer, 12_290).expect("read around"), 98);
    assert_eq!((&buffer[..98], buffer[98]), ([0; 98].as_slice(), 1));
    assert_eq!(file.unreadable(), [12_288]);
}

/// That nobody may read is no damage.
#[test]
fn another_error_is_not_read_around() {
    let errors: [fn(usize) -> i32; 3] = [
        |_| EACCES,
        |len| if len > PAGE_BYTES as usize { libc::EIO } else { EACCES },
        |len| if len > PAGE_BYTES as usize { EACCES } else { 0 },
    ];
    for error in errors {
        let (_made, file) = lenient(0..1, error);
        let refused = file.read_at(&mut [0; BYTES], 0).expect_err("nobody may");
        assert_eq!(refused.raw_os_error(), Some(EACCES));
        assert_eq!(file.unreadable(), [0; 0]);
    }
}

#[test]
fn everything_else_is_the_files_own() {
    let (made, file) = lenient(0..0, |_| libc::EIO);
    assert_eq!(file.write_at(b"new", 4).expect("written"), 3);
    assert_eq!(std::fs::read(&made.path).expect("there")[4..7], *b"new");
    file.set_len(9).expect("cut");
    assert_eq!(file.len().expect("known"), 9);
    assert!(file.sync().is_err() && file.unlock().is_err(), "what it says is passed on");
    assert_eq!(file.read_medium(3, 2).expect("read"), Some(vec![3; 2]));
    assert!(file.map(9).expect("not mapped").is_none());
    assert_eq!(file.identity(), FileSystem.identity(&made.path));
    let other = FileSystem.open(&made.path, true).expect("opens");
    assert!(file.try_lock().expect("locked") && !other.try_lock().expect("asked"));
}
