//! A stream is cut into JSON records, one at a time, in bounded memory.
//!
//! Two forms are told apart by the first line: an object that is whole there is the first of many,
//! one per line (JSON Lines); an object that is not goes on over the following lines and is the
//! only one.

use std::io::{self, BufRead, Read};

use crate::error::{CliError, Result};
use crate::json_input::{Fault, Nesting};

/// Longest line, and longest object over several lines, in bytes (64 MiB).
pub const LINE_BYTES_MAX: usize = 64 << 20;
const HINT_ONE_PER_LINE: &str = "write several records one object per line, as jq -c does";

/// One record's JSON, and the line of the stream that it begins on.
#[derive(Debug)]
pub(crate) struct JsonPiece<'a> {
    pub(crate) line: u64,
    pub(crate) bytes: &'a [u8],
}

#[derive(Debug, PartialEq, Eq)]
enum Form {
    NotKnownYet,
    OnePerLine,
    OneInAll,
}

/// Cuts a stream into records.
#[derive(Debug)]
pub(crate) struct Pieces<R> {
    input: R,
    buffer: Vec<u8>,
    line: u64,
    form: Form,
    line_bytes_max: usize,
}

impl<R: BufRead> Pieces<R> {
    pub(crate) fn new(input: R) -> Pieces<R> {
        Pieces {
            input,
            buffer: Vec::new(),
            line: 0,
            form: Form::NotKnownYet,
            line_bytes_max: LINE_BYTES_MAX,
        }
    }

    /// The next record's JSON; none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<JsonPiece<'_>>> {
        self.buffer.clear();
        while self.read_line()? {
            if self.line == 1 && self.buffer.starts_with(b"\xef\xbb\xbf") {
                self.buffer.drain(..3);
            }
            if self.buffer.iter().all(u8::is_ascii_whitespace) {
                self.buffer.clear();
                continue;
            }
            let first = self.line;
            self.settle_form()?;
            return Ok(Some(JsonPiece { line: first, bytes: self.buffer.trim_ascii_end() }));
        }
        Ok(None)
    }

    fn settle_form(&mut self) -> Result<()> {
        match self.form {
            Form::OnePerLine => Ok(()),
            Form::OneInAll => {
                let fault = Fault::new("invalid_json", "unexpected content after the object")
                    .hint(HINT_ONE_PER_LINE);
                Err(located(self.line, fault))
            }
            Form::NotKnownYet => self.read_to_the_end_of_the_first(),
        }
    }

    fn read_to_the_end_of_the_first(&mut self) -> Result<()> {
        self.form = Form::OnePerLine;
        if self.buffer.trim_ascii_start().first() != Some(&b'{') {
            return Ok(());
        }
        let first = self.line;
        let mut nesting = Nesting::default();
        let mut seen = 0;
        while !nesting.feed(&self.buffer[seen..]).map_err(|fault| located(self.line, fault))? {
            self.form = Form::OneInAll;
            seen = self.buffer.len();
            if !self.read_line()? {
                break;
            }
            if self.buffer.len() > self.line_bytes_max {
                return Err(too_long(first, self.line_bytes_max));
            }
        }
        Ok(())
    }

    /// Appends one line to the buffer. `false` at the end of the stream.
    fn read_line(&mut self) -> Result<bool> {
        let limit = self.line_bytes_max as u64 + 1;
        let read = self
            .input
            .by_ref()
            .take(limit)
            .read_until(b'\n', &mut self.buffer)
            .map_err(unreadable)?;
        if read == 0 {
            return Ok(false);
        }
        self.line += 1;
        if read > self.line_bytes_max {
            return Err(too_long(self.line, self.line_bytes_max));
        }
        Ok(true)
    }
}

fn unreadable(error: io::Error) -> CliError {
    CliError::io("read standard input", &error)
}

fn too_long(line: u64, limit: usize) -> CliError {
    located(line, Fault::new("too_large", format!("the record is longer than {} MiB", limit >> 20)))
}

/// The error for a fault in the record that begins on `line` of the stream.
pub(crate) fn located(line: u64, fault: Fault) -> CliError {
    let line = line + fault.line.saturating_sub(1) as u64;
    let message = match fault.column {
        0 => format!("line {line}: {}", fault.message),
        column => format!("line {line}, column {column}: {}", fault.message),
    };
    let mut error = CliError::user(fault.code, message).field("line", line);
    error.hint = fault.hint;
    if fault.column > 0 { error.field("column", fault.column) } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Result<Vec<(u64, String)>> {
        let mut pieces = Pieces { line_bytes_max: 100, ..Pieces::new(text.as_bytes()) };
        let mut all = Vec::new();
        while let Some(piece) = pieces.next()? {
            all.push((piece.line, String::from_utf8_lossy(piece.bytes).trim().to_string()));
        }
        Ok(all)
    }

    #[test]
    fn objects_come_one_per_line_or_one_in_all() {
        assert_eq!(
            cut("{\"a\":1}\n\n{\"b\":\"}\"}").expect("two"),
            [(1, "{\"a\":1}".into()), (3, "{\"b\":\"}\"}".into())]
        );
        assert_eq!(
            cut("\u{feff}\n{\n\"a\": \"{\"\n}\n\n").expect("one"),
            [(2, "{\n\"a\": \"{\"\n}".into())]
        );
        assert_eq!(cut(" \n\n").expect("none"), []);
    }

    #[test]
    fn a_second_object_after_a_spread_one_is_refused() {
        let error = cut("{\n\"a\":1}\n{\"b\":2}\n").expect_err("two spread objects");
        assert_eq!(error.fields["line"], 3);
    }

    #[test]
    fn an_endless_object_or_line_meets_the_limit() {
        let long = "x".repeat(101);
        assert_eq!(cut(&long).expect_err("long line").code, "too_large");
        assert_eq!(cut(&format!("{{\"a\":1}}\n{long}")).expect_err("long line").fields["line"], 2);
        assert_eq!(cut(&"{\"a\":\n".repeat(50)).expect_err("long object").fields["line"], 1);
    }

    #[test]
    fn a_deep_object_is_refused_before_it_ends() {
        assert!(cut(&"{\"a\":".repeat(15)).is_ok());
        assert!(cut(&"[".repeat(90)).is_ok(), "an array is the parser's to refuse");
        let mut pieces = Pieces::new(io::BufReader::new(io::Cursor::new("{\"a\":".repeat(100))));
        assert!(pieces.next().is_err());
    }
}
