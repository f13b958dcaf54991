//! The number of tokens in a text. An estimate, stated: a quarter of its bytes in UTF-8, rounded
//! up.
//!
//! Models cut texts differently and none of their vocabularies is carried along for this. English
//! prose and code come to about four bytes a token; scripts with more bytes a character also have
//! more tokens a character, so that bytes follow them better than characters do.

use super::escape::seen;

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
    for (c, _) in seen(text).filter(|&(c, seen)| seen || c.is_whitespace()) {
        if !c.is_whitespace() {
            line.push(c);
        } else if !line.is_empty() && !line.ends_with(' ') {
            line.push(' ');
        }
    }
    line.truncate(line.trim_end().len());
    line
}

/// How a title ends that was cut, and how a body begins that goes on from there.
const CUT: char = '…';

/// A title and what stands below it, on one line ([`one_line`]) that reads as prose: with a stop
/// between them, where neither a sentence nor a cut title goes on; and without a title that the
/// body begins with.
#[must_use]
pub fn flowed(text: &str) -> String {
    let Some((title, body)) = text.trim().split_once('\n') else { return one_line(text) };
    let (title, body) = (one_line(title), one_line(body));
    let stem = title.trim_end_matches(CUT).trim_end();
    if body.is_empty() {
        return title;
    }
    if stem.is_empty() || body.starts_with(stem) {
        return body;
    }
    if stem.len() < title.len()
        && let Some(rest) = body.strip_prefix(CUT)
    {
        return format!("{stem} {}", rest.trim_start());
    }
    let is_ended = title.ends_with(|c: char| !c.is_alphanumeric() && !")]}\"'`»”’".contains(c));
    let begins = body.chars().next().unwrap_or_default();
    let stop = match begins {
        _ if is_ended || begins.is_lowercase() => " ",
        '-' | '*' | '•' => ": ",
        _ => ". ",
    };
    format!("{title}{stop}{body}")
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
        assert_eq!(one_line("می\u{200c}خواهم ❤\u{fe0f}\u{fe0f}"), "می\u{200c}خواهم ❤\u{fe0f}");
    }

    #[test]
    fn a_title_and_its_body_read_as_prose() {
        for (text, line) in [
            ("Use valkey\nWe switched in May.", "Use valkey. We switched in May."),
            ("Use valkey.\nWe switched.", "Use valkey. We switched."),
            ("Use `valkey`\nWe switched.", "Use `valkey`. We switched."),
            ("Use valkey\n\nbecause of its licence", "Use valkey because of its licence"),
            ("Steps\n- build\n- test", "Steps: - build - test"),
            ("Use valkey, since it…\n…is free", "Use valkey, since it is free"),
            ("Use valkey, since it…\nUse valkey, since it is free", "Use valkey, since it is free"),
            ("Use valkey, si\nUse valkey, since it is free", "Use valkey, since it is free"),
            ("Use valkey\n", "Use valkey"),
            ("  one line ", "one line"),
            ("…\nalone", "alone"),
            ("", ""),
        ] {
            assert_eq!(flowed(text), line);
        }
    }
}
