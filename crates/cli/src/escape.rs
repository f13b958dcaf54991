//! JSON that is harmless to a terminal; of text the same is made by the library.

use std::io;

use kapsa_memory::escape::is_hidden;
pub(crate) use kapsa_memory::escape::{body, is_plain, line};
use serde_json::ser::Formatter;

/// Compact JSON in which characters that act or are drawn as nothing are written by their number,
/// as `\u001b`: the same value to a parser, harmless to a terminal.
pub(crate) struct SafeJson;

impl Formatter for SafeJson {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(is_hidden) {
            let (plain, tail) = rest.split_at(at);
            writer.write_all(plain.as_bytes())?;
            let c = tail.chars().next().expect("find points at a character");
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = &tail[c.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;

    const HOSTILE: &str = "a\x1b[31m\u{9b}2J\u{202e}b\u{200b}\x07\u{7f}\u{e0041}\r";

    #[test]
    fn json_is_harmless_and_says_the_same() {
        let mut out = Vec::new();
        HOSTILE
            .serialize(&mut serde_json::Serializer::with_formatter(&mut out, SafeJson))
            .expect("serialises");
        let text = String::from_utf8(out).expect("UTF-8");
        assert!(text.chars().all(|c| !is_hidden(c)), "{text:?}");
        assert!(text.contains("\\udb40\\udc41") && text.contains("\\u202e"), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).expect("valid JSON"), HOSTILE);
    }
}
