//! The words of a text that carry what it is about.

/// Shortest word that says something.
const LETTERS_MIN: usize = 3;

/// Words that say nothing of what a sentence is about.
const EMPTY: &[&str] = &[
    "about", "actually", "after", "again", "all", "also", "always", "and", "any", "anything", "are",
    "because", "been", "before", "being", "but", "can", "can't", "could", "did", "does", "doesn't",
    "doing", "don't", "done", "each", "else", "even", "every", "everything", "few", "fine", "first",
    "for", "from", "get", "give", "going", "good", "great", "had", "has", "have", "here", "how",
    "i'd", "i'll", "i'm", "i've", "instead", "into", "isn't", "it's", "its", "just", "keep", "kind",
    "know", "leave", "let", "let's", "lets", "like", "look", "looks", "make", "maybe", "may",
    "mean", "meant", "more", "most", "much", "must", "need", "needs", "never", "nope", "not",
    "nothing", "now", "okay", "one", "only", "other", "our", "out", "over", "please", "possibly",
    "probably", "rather", "really", "right", "same", "see", "shall", "should", "shouldn't",
    "simply", "since", "some", "something", "sorry", "still", "such", "sure", "than", "that",
    "that's", "the", "them", "then", "there", "these", "they", "thing", "things", "think", "this",
    "those", "too", "try", "use", "used", "using", "very", "wait", "want", "was", "way", "well",
    "were", "what", "when", "where", "which", "while", "who", "why", "will", "with", "without",
    "work", "works", "would", "wrong", "yes", "yet", "you", "you're", "your",
];

/// The words that carry what a text is about, in lower case, each once, in their order. A plural
/// is its singular.
pub(crate) fn content(text: &str) -> Vec<String> {
    let lower = text.to_lowercase().replace('\u{2019}', "'");
    let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'' | '.' | '-' | '/');
    let mut words: Vec<String> = Vec::new();
    for word in lower.split(|c: char| !is_inner(c)) {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let has_letters = word.chars().filter(|c| c.is_alphanumeric()).count() >= LETTERS_MIN;
        let is_code = word.chars().any(|c| c.is_ascii_digit());
        if !(has_letters || is_code) || EMPTY.contains(&word) {
            continue;
        }
        let word = match word.strip_suffix('s') {
            Some(singular) if singular.len() > LETTERS_MIN && !singular.ends_with('s') => singular,
            _ => word,
        };
        if !words.iter().any(|other| other == word) {
            words.push(word.to_owned());
        }
    }
    words
}

/// How many words of `a` are in `b`.
pub(crate) fn shared(a: &[String], b: &[String]) -> usize {
    a.iter().filter(|word| b.contains(word)).count()
}
