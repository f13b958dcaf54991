//! Stored text is shown so that it can neither act on a terminal nor hide in a log.
//!
//! Stored bytes are never changed; only what is printed is. Control characters (C0, DEL, C1), bidi
//! controls and characters that are drawn as nothing become visible escapes.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io;

use kapsa_memory::uri::is_invisible;
use serde_json::ser::Formatter;

/// Text of several lines: newlines and tabs stay, everything else that is not plain is made
/// visible.
pub(crate) fn body(text: &str) -> Cow<'_, str> {
    escape(text, |c| hidden(c) && c != '\n' && c != '\t')
}

/// Text for one line: newlines and tabs are made visible too.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    escape(text, hidden)
}

/// Whether text can be shown as it is, on one line.
pub(crate) fn is_plain(text: &str) -> bool {
    !text.contains(hidden)
}

fn hidden(c: char) -> bool {
    c.is_control() || is_invisible(c)
}

fn escape(text: &str, dangerous: impl Fn(char) -> bool) -> Cow<'_, str> {
    let Some(first) = text.find(&dangerous) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    for c in text[first..].chars() {
        if dangerous(c) { push_visible(&mut out, c) } else { out.push(c) }
    }
    Cow::Owned(out)
}

fn push_visible(out: &mut String, c: char) {
    let written = match c {
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        c if (c as u32) < 0x100 => write!(out, "\\x{:02x}", c as u32),
        c => write!(out, "\\u{{{:x}}}", c as u32),
    };
    written.expect("writing to a String cannot fail");
}

/// Compact JSON in which the same characters are written by their number, as `\u001b`: the same
/// value to a parser, harmless to a terminal.
pub(crate) struct SafeJson;

impl Formatter for SafeJson {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(hidden) {
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
    fn what_could_act_on_a_terminal_is_shown() {
        assert_eq!(line(HOSTILE), "a\\x1b[31m\\x9b2J\\u{202e}b\\u{200b}\\x07\\x7f\\u{e0041}\\r");
        assert_eq!(body("a\n\tb\x1b"), "a\n\tb\\x1b");
        assert_eq!(line("a\n\tb"), "a\\n\\tb");
        assert!(matches!(line("žluťoučký 日本 \\x1b"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_is_harmless_and_says_the_same() {
        let mut out = Vec::new();
        HOSTILE
            .serialize(&mut serde_json::Serializer::with_formatter(&mut out, SafeJson))
            .expect("serialises");
        let text = String::from_utf8(out).expect("UTF-8");
        assert!(text.chars().all(|c| !hidden(c)), "{text:?}");
        assert!(text.contains("\\udb40\\udc41") && text.contains("\\u202e"), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).expect("valid JSON"), HOSTILE);
    }
}
