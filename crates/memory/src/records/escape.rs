//! Stored text is shown so that it can neither act on a terminal nor hide in a log or from a
//! reader.
//!
//! Stored bytes are never changed; only what is shown is. Control characters (C0, DEL, C1), bidi
//! controls and characters that are drawn as nothing become visible escapes.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::uri::is_invisible;

/// Text of several lines: newlines and tabs stay, everything else that is not plain is made
/// visible.
#[must_use]
pub fn body(text: &str) -> Cow<'_, str> {
    escape(text, |c| is_hidden(c) && c != '\n' && c != '\t')
}

/// Text for one line: newlines and tabs are made visible too.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    escape(text, is_hidden)
}

/// Whether text can be shown as it is, on one line.
#[must_use]
pub fn is_plain(text: &str) -> bool {
    !text.contains(is_hidden)
}

/// Whether a character acts, or is drawn as nothing.
#[must_use]
pub fn is_hidden(c: char) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\x1b[31m\u{9b}2J\u{202e}b\u{200b}\x07\u{7f}\u{e0041}\r";

    #[test]
    fn what_could_act_on_a_terminal_is_shown() {
        assert_eq!(line(HOSTILE), "a\\x1b[31m\\x9b2J\\u{202e}b\\u{200b}\\x07\\x7f\\u{e0041}\\r");
        assert_eq!(body("a\n\tb\x1b"), "a\n\tb\\x1b");
        assert_eq!(line("a\n\tb"), "a\\n\\tb");
        assert!(matches!(line("žluťoučký 日本 \\x1b"), Cow::Borrowed(_)));
    }
}
