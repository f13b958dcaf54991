//! Which words of a query are identifiers?

/// The words of a query that are meant exactly.
pub fn code_words(query: &str) -> Vec<&str> {
    let is_code = |word: &&str| {
        word.contains('_') || word.bytes().any(|b| b.is_ascii_digit()) && word.bytes().any(|b| b.is_ascii_alphabetic())
    };
    query.split_whitespace().filter(is_code).collect()
}

/// Whether a text has the word as it is.
pub fn has_code_word(text: &str, word: &str) -> bool {
    text.to_lowercase().contains(&word.to_lowercase())
}
