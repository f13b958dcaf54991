//! A JSON document, element by element: whatever its size, only one element is held. Knows nothing
//! of formats.

use std::io::{self, BufRead};

use crate::limits::RECORD_BYTES_MAX;

/// A piece of a document.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DocumentPiece {
    /// The member of the top object; empty for the elements of a top list.
    pub(crate) name: String,
    /// The place in the list, where the member is one.
    pub(crate) index: Option<u64>,
    /// The JSON of the value; nothing if it is too long.
    pub(crate) value: Option<Vec<u8>>,
}

/// Splits the top object into its members, and lists in it, or a top list, into their elements.
pub(crate) struct Pieces<R> {
    bytes: Bytes<R>,
    state: State,
    name: String,
    index: u64,
}

enum State {
    Start,
    Object,
    List { in_object: bool },
    End,
}

/// The document ends too early, or is not JSON.
#[derive(Debug)]
pub(crate) enum Broken {
    Cut,
    NotJson,
    Io(io::Error),
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl<R: BufRead> Pieces<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { bytes: Bytes { reader }, state: State::Start, name: String::new(), index: 0 }
    }

    /// The next piece, as long as there is one.
    pub(crate) fn next(&mut self) -> Result<Option<DocumentPiece>, Broken> {
        loop {
            let byte = match self.state {
                State::End => return Ok(None),
                _ => self.bytes.next_but_space()?,
            };
            match (&self.state, byte) {
                (State::Start, b'{') => self.state = State::Object,
                (State::Start, b'[') => self.state = State::List { in_object: false },
                (State::Object | State::List { .. }, b',') => {}
                (State::Object, b'}') => self.state = State::End,
                (State::Object, b'"') => {
                    if let Some(piece) = self.member()? {
                        return Ok(Some(piece));
                    }
                }
                (State::List { in_object }, b']') => {
                    self.state = if *in_object { State::Object } else { State::End };
                }
                (State::List { .. }, byte) => {
                    let value = self.bytes.value(byte)?;
                    self.index += 1;
                    let index = Some(self.index - 1);
                    return Ok(Some(DocumentPiece { name: self.name.clone(), index, value }));
                }
                _ => return Err(Broken::NotJson),
            }
        }
    }

    /// A member whose name begins; nothing if its value is a list, which is entered.
    fn member(&mut self) -> Result<Option<DocumentPiece>, Broken> {
        let name = self.bytes.value(b'"')?.unwrap_or_default();
        self.name = serde_json::from_slice(&name).map_err(|_| Broken::NotJson)?;
        if self.bytes.next_but_space()? != b':' {
            return Err(Broken::NotJson);
        }
        let byte = self.bytes.next_but_space()?;
        if byte == b'[' {
            self.state = State::List { in_object: true };
            self.index = 0;
            return Ok(None);
        }
        let value = self.bytes.value(byte)?;
        Ok(Some(DocumentPiece { name: self.name.clone(), index: None, value }))
    }
}

struct Bytes<R> {
    reader: R,
}

impl<R: BufRead> Bytes<R> {
    fn peek(&mut self) -> Result<u8, Broken> {
        self.reader.fill_buf()?.first().copied().ok_or(Broken::Cut)
    }

    fn next_but_space(&mut self) -> Result<u8, Broken> {
        loop {
            let byte = self.peek()?;
            self.reader.consume(1);
            if !byte.is_ascii_whitespace() && byte != 0 {
                return Ok(byte);
            }
        }
    }

    /// The value that begins with a byte that was read; nothing if it is too long.
    fn value(&mut self, first: u8) -> Result<Option<Vec<u8>>, Broken> {
        let mut scan = Scanner { depth: 0, in_string: false, escaped: false };
        let mut value = vec![first];
        let mut length = 1;
        if scan.step(first) {
            return Ok(Some(value));
        }
        loop {
            let available = self.reader.fill_buf()?;
            if available.is_empty() {
                return Err(Broken::Cut);
            }
            let end = if scan.is_word(first) {
                // A number or a word ends before what cannot be part of it.
                available.iter().position(|byte| b",]} \n\r\t".contains(byte))
            } else {
                available.iter().position(|&byte| scan.step(byte)).map(|at| at + 1)
            };
            let used = end.unwrap_or(available.len());
            length += used;
            if length <= RECORD_BYTES_MAX {
                value.extend_from_slice(&available[..used]);
            }
            self.reader.consume(used);
            if end.is_some() {
                return Ok((length <= RECORD_BYTES_MAX).then_some(value));
            }
        }
    }
}

struct Scanner {
    depth: u64,
    in_string: bool,
    escaped: bool,
}

impl Scanner {
    /// Takes a byte; says whether the value ends with it.
    fn step(&mut self, byte: u8) -> bool {
        if self.in_string {
            let was_escaped = std::mem::take(&mut self.escaped);
            match byte {
                b'\\' if !was_escaped => self.escaped = true,
                b'"' if !was_escaped => {
                    self.in_string = false;
                    return self.depth == 0;
                }
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }

    fn is_word(&self, first: u8) -> bool {
        !matches!(first, b'"' | b'{' | b'[')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> (Vec<String>, bool) {
        let mut pieces = Pieces::new(text.as_bytes());
        let mut found = Vec::new();
        loop {
            match pieces.next() {
                Ok(Some(piece)) => {
                    let value =
                        piece.value.map(|value| String::from_utf8_lossy(&value).into_owned());
                    let index = piece.index.map_or(String::new(), |index| format!("[{index}]"));
                    found.push(format!("{}{index}={}", piece.name, value.unwrap_or_default()));
                }
                Ok(None) => return (found, true),
                Err(_) => return (found, false),
            }
        }
    }

    #[test]
    fn documents_fall_into_pieces() {
        let text = r#" {"a": 1, "list":[{"x":"}]"}, 2 ,"s\""], "o":{"p":[1]},"e":[]} "#;
        let expected =
            ["a=1", r#"list[0]={"x":"}]"}"#, "list[1]=2", r#"list[2]="s\"""#, r#"o={"p":[1]}"#];
        let (found, whole) = pieces(text);
        assert_eq!(found, expected);
        assert!(whole);
        assert_eq!(pieces("[1,{}]").0, ["[0]=1", "[1]={}"]);
    }

    #[test]
    fn a_cut_document_gives_what_it_has() {
        let (found, whole) = pieces(r#"{"a":"b","list":[{"x":1},{"y":"#);
        assert_eq!(found, [r#"a="b""#, r#"list[0]={"x":1}"#]);
        assert!(!whole);
        for text in ["", "{", "x", "{]", "{\"a\"", "[", "{\"a\" 1}", "[}"] {
            assert!(!pieces(text).1, "{text}");
        }
    }

    #[test]
    fn long_elements_are_not_held() {
        let text = format!("[\"{}\",1]", "x".repeat(RECORD_BYTES_MAX));
        assert_eq!(pieces(&text).0, ["[0]=", "[1]=1"]);
    }
}
