//! Texts within limits. Knows nothing of formats.

use kapsa_redact::redact;

/// The start of a text, of at most so many bytes, at a boundary of characters.
pub(crate) fn start(text: &str, bytes_max: usize) -> &str {
    let mut end = bytes_max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A text of at most so many characters: what is longer keeps its head and its tail, with a mark
/// that says how much is missing between them. Secrets are gone before: cut apart, the rest of one
/// is not known for what it is.
pub(crate) fn elided(text: &str, chars_max: usize) -> String {
    if text.len() <= chars_max {
        return text.to_owned();
    }
    let text = &*redact(text).text;
    let length = text.chars().count();
    if length <= chars_max {
        return text.to_owned();
    }
    let mark = format!("\n[… {} characters left out …]\n", length - chars_max);
    let kept = chars_max.saturating_sub(mark.chars().count());
    let tail = kept / 2;
    let head_end = text.char_indices().nth(kept - tail).map_or(text.len(), |(at, _)| at);
    let tail_start = text.char_indices().rev().nth(tail.max(1) - 1).map_or(0, |(at, _)| at);
    format!("{}{mark}{}", &text[..head_end], &text[tail_start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_keep_head_and_tail() {
        assert_eq!(elided("short", 100), "short");
        let long = format!("first {} last", "é".repeat(500));
        let short = elided(&long, 100);
        assert!(short.chars().count() <= 100, "{short}");
        assert!(short.starts_with("first é") && short.ends_with("é last"), "{short}");
        assert!(short.contains("characters left out"), "{short}");
        assert_eq!(elided(&"é".repeat(100), 100), "é".repeat(100));
    }

    #[test]
    fn starts_end_at_characters() {
        assert_eq!(start("aé", 2), "a");
        assert_eq!(start("aé", 9), "aé");
    }
}
