//! The records that are put: name and text follow from the seed, so that a checker can compute them
//! again.

use super::random::Random;

const WORDS: [&str; 24] = [
    "lock", "writer", "commit", "segment", "deploy", "staging", "port", "build", "cache", "index",
    "reader", "torn", "frame", "agent", "memory", "kernel", "sync", "batch", "query", "token",
    "remember", "quickly", "naïve", "日本",
];
/// One record in this many is long enough to fill several disk blocks.
const LONG_EVERY: u64 = 16;

/// The name of the record `index` of a series such as `w3`.
pub(crate) fn uri(series: &str, index: u64) -> String {
    format!("{series}/{index}")
}

/// A word that only the record of this name holds. Letters only, and no vowel among them: words
/// with digits are searched by their parts as well, and words with vowels by their stems.
pub(crate) fn own_word(uri: &str) -> String {
    const DIGITS: [char; 10] = ['b', 'c', 'd', 'f', 'g', 'h', 'j', 'k', 'm', 'q'];
    let letter = |c: char| {
        c.to_digit(10).and_then(|digit| DIGITS.get(usize::try_from(digit).ok()?)).copied()
    };
    uri.chars().map(|c| letter(c).unwrap_or(if c == '/' { 'x' } else { c })).collect()
}

/// The series whose records are large.
pub(crate) const LARGE: &str = "large";
/// Bytes of a large record's text. Five of them are more than a commit keeps in memory, even
/// compressed.
const LARGE_BYTES: usize = 3 << 20;
/// What large texts are made of: signs without words, which compress badly and cost the index
/// nothing.
const SIGNS: &[u8] = b"!#$%&()*+,-./:;<=>?@[]^`{|}~ ";

/// The text put under a name.
pub(crate) fn text(seed: u64, uri: &str) -> String {
    let mut random = Random::new(seed, uri);
    if uri.starts_with(LARGE) {
        let signs = (0..LARGE_BYTES)
            .map(|_| random.index(SIGNS.len()).map_or(' ', |at| char::from(SIGNS[at])));
        return format!("{} {}", own_word(uri), signs.collect::<String>());
    }
    let words =
        if random.below(LONG_EVERY) == 0 { 400 + random.below(1200) } else { 3 + random.below(60) };
    let mut text = own_word(uri);
    for _ in 0..words {
        text.push(' ');
        text.push_str(random.index(WORDS.len()).map_or("", |at| WORDS[at]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_repeat_and_differ() {
        assert_eq!(text(1, "w1/2"), text(1, "w1/2"));
        assert_ne!(text(1, "w1/2"), text(2, "w1/2"));
        assert!(text(1, &uri("w1", 2)).starts_with("wcxd "));
        let lengths: Vec<usize> = (0..200).map(|i| text(1, &uri("w", i)).len()).collect();
        assert!(text(1, &uri(LARGE, 1)).len() > LARGE_BYTES);
        assert!(
            lengths.iter().any(|len| *len > 4096) && lengths.iter().any(|len| *len < 200),
            "{lengths:?}"
        );
    }
}
