//! The number of tokens in a text. An estimate, stated: a quarter of its bytes in UTF-8, rounded
//! up.
//!
//! Models cut texts differently and none of their vocabularies is carried along for this. English
//! prose and code come to about four bytes a token; scripts with more bytes a character also have
//! more tokens a character, so that bytes follow them better than characters do.

use crate::records::uri::is_invisible;

/// Bytes that count as one token.
pub const TOKEN_BYTES: usize = 4;

/// Estimate of the tokens of a text.
#[must_use]
pub fn estimate(text: &str) -> usize {
    text.len().div_ceil(TOKEN_BYTES)
}

/// At most `tokens_max` tokens of a text, cut after a whole line; none of it when not even its
/// first line fits.
#[must_use]
pub fn whole_lines(text: &str, tokens_max: usize) -> &str {
    let cut = first_bytes(text, tokens_max.saturating_mul(TOKEN_BYTES));
    if cut.len() == text.len() {
        return text;
    }
    // A line that ends exactly at the cut is whole.
    let end =
        if text.as_bytes()[cut.len()] == b'\n' { cut.len() } else { cut.rfind('\n').unwrap_or(0) };
    &text[..end]
}

/// At most `bytes_max` bytes of a text, cut between characters.
#[must_use]
pub fn first_bytes(text: &str, bytes_max: usize) -> &str {
    let end =
        (0..=bytes_max.min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    &text[..end]
}

/// At most `chars_max` characters of a text.
#[must_use]
pub fn first_chars(text: &str, chars_max: usize) -> &str {
    text.char_indices().nth(chars_max).map_or(text, |(end, _)| &text[..end])
}

/// A text on one line: white space becomes single spaces, and what acts on a terminal or is drawn
/// as nothing falls away. No line of a context can be forged by a text within it.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars().filter(|&c| c.is_whitespace() || !c.is_control() && !is_invisible(c)) {
        if !c.is_whitespace() {
            line.push(c);
        } else if !line.is_empty() && !line.ends_with(' ') {
            line.push(' ');
        }
    }
    line.truncate(line.trim_end().len());
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bytes_are_a_token() {
        for (text, tokens) in
            [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("žluť", 2), ("日本", 2)]
        {
            assert_eq!(estimate(text), tokens, "{text}");
        }
    }

    #[test]
    fn texts_are_cut_after_whole_lines_and_between_characters() {
        for (text, tokens, want) in [
            ("abc\ndef\n", 100, "abc\ndef\n"),
            ("abc\ndefghij\n", 1, "abc"),
            ("abcd\nefgh", 1, "abcd"),
            ("abcde\nf", 1, ""),
            ("žžž\nžž", 2, "žžž"),
            ("", 0, ""),
            ("a", 0, ""),
        ] {
            assert_eq!(whole_lines(text, tokens), want, "{text:?} {tokens}");
        }
        assert_eq!(
            (first_chars("žluť", 2), first_chars("žluť", 9), first_chars("a", 0)),
            ("žl", "žluť", "")
        );
    }

    #[test]
    fn a_text_within_a_line_stays_there() {
        let hostile = "a\r\n--- x\x1b[31m\u{202e}b\u{200b}\t c \n";
        assert_eq!(one_line(hostile), "a --- x[31mb c");
        assert_eq!(one_line(" \n"), "");
    }
}
