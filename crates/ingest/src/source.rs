//! The bytes of a file: decompressed, within the limits, line by line. Knows nothing of formats.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};

use crate::limits::{FILE_BYTES_MAX, HEAD_BYTES, RECORD_BYTES_MAX, ZSTD_WINDOW_LOG_MAX};

/// How compressed files begin.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Bytes that are read at once.
const BUFFER_BYTES: usize = 256 << 10;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The bytes of a trace, whose start can be looked at first.
pub(crate) struct Source<'a> {
    reader: Box<dyn BufRead + 'a>,
    /// The start, which the reader has behind it.
    head: Vec<u8>,
}

impl<'a> Source<'a> {
    /// Decompresses what needs it, and reads the start.
    pub(crate) fn new(file: impl Read + 'a) -> io::Result<Self> {
        let mut file = BufReader::with_capacity(BUFFER_BYTES, file);
        let compressed = file.fill_buf()?.starts_with(&ZSTD_MAGIC);
        let mut reader: Box<dyn BufRead + 'a> = if compressed {
            let mut decoder = zstd::Decoder::with_buffer(file)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder.take(FILE_BYTES_MAX)))
        } else {
            Box::new(file.take(FILE_BYTES_MAX))
        };
        let mut head = Vec::new();
        reader.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head)?;
        if head.starts_with(BYTE_ORDER_MARK) {
            head.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(Self { reader, head })
    }

    /// The start of the trace, without a byte order mark.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Everything, from the start.
    pub(crate) fn into_reader(self) -> impl BufRead + 'a {
        io::Cursor::new(self.head).chain(self.reader)
    }
}

/// Lines within [`RECORD_BYTES_MAX`], counted from 1.
pub(crate) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    number: u64,
}

/// One line.
pub(crate) struct Line<'a> {
    /// Counted from 1.
    pub(crate) number: u64,
    /// Without its end; nothing if it is too long.
    pub(crate) text: Option<Cow<'a, str>>,
    /// Whether a line end follows.
    pub(crate) is_whole: bool,
}

impl Line<'_> {
    /// Whether characters were replaced because they are not UTF-8.
    pub(crate) fn is_mended(&self) -> bool {
        matches!(self.text, Some(Cow::Owned(_)))
    }
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, buffer: Vec::new(), number: 0 }
    }

    /// The next line, as long as there is one.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.buffer.clear();
        let limit = RECORD_BYTES_MAX as u64 + 2;
        let read = self.reader.by_ref().take(limit).read_until(b'\n', &mut self.buffer)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        let mut is_whole = self.buffer.ends_with(b"\n");
        if is_whole {
            self.buffer.pop();
        } else if self.buffer.len() > RECORD_BYTES_MAX {
            is_whole = skip_line(&mut self.reader)?;
        }
        if self.buffer.ends_with(b"\r") {
            self.buffer.pop();
        }
        let fits = self.buffer.len() <= RECORD_BYTES_MAX;
        let text = fits.then(|| String::from_utf8_lossy(&self.buffer));
        Ok(Some(Line { number: self.number, text, is_whole }))
    }
}

/// Leaves the rest of a line unread; says whether a line end was found.
fn skip_line(reader: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let available = reader.fill_buf()?;
        if available.is_empty() {
            return Ok(false);
        }
        let end = available.iter().position(|&byte| byte == b'\n');
        let used = end.map_or(available.len(), |end| end + 1);
        reader.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<(u64, Option<String>, bool)> {
        let source = Source::new(bytes).expect("bytes");
        let mut lines = Lines::new(source.into_reader());
        let mut found = Vec::new();
        while let Some(line) = lines.next().expect("bytes") {
            found.push((line.number, line.text.map(Cow::into_owned), line.is_whole));
        }
        found
    }

    #[test]
    fn lines_of_any_bytes() {
        let found = lines(b"\xef\xbb\xbfone\r\n\n\xfftwo\nthree");
        let text = |text: &str| Some(text.to_owned());
        let expected = [
            (1, text("one"), true),
            (2, text(""), true),
            (3, text("\u{fffd}two"), true),
            (4, text("three"), false),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn long_lines_are_not_held() {
        let mut bytes = vec![b'x'; RECORD_BYTES_MAX + 100];
        bytes.extend_from_slice(b"\nnext\n");
        assert_eq!(lines(&bytes), [(1, None, true), (2, Some("next".to_owned()), true)]);
        let exact = vec![b'x'; RECORD_BYTES_MAX];
        assert!(lines(&exact)[0].1.is_some());
    }

    #[test]
    fn compressed_files_are_read() {
        let packed = zstd::encode_all(&b"one\ntwo\n"[..], 3).expect("bytes");
        assert_eq!(lines(&packed).len(), 2);
    }
}
