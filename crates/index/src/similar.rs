//! Words that are like a word: those that begin with it, and those that a typing error or two made
//! of it. Knows nothing of dictionaries: it says byte by byte whether a word may still become one.

/// Fewest characters of a word that is sought with a typing error.
pub const TYPO_CHARS_MIN: usize = 5;
/// Fewest characters of a word that is sought with two.
const TWO_TYPOS_CHARS_MIN: usize = 8;
/// Longest word that is sought with typing errors, in bytes.
const TYPO_BYTES_MAX: usize = 64;
/// Bytes that a typing error changes at most: two ASCII letters that change places.
const ERROR_BYTES: u8 = 2;
/// Most bytes that may differ in all: beyond them the walk through a dictionary gets long.
const DIFFERING_BYTES_MAX: u8 = 3;

/// Which words are sought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Like {
    /// Those that begin so.
    Prefix(String),
    /// Those that begin with the same letter and differ by few typing errors: a letter too many,
    /// one missing, a wrong one, two that changed places.
    Typo(String),
}

/// How far a word was read: of a beginning, how many of its bytes were met; else the edit distances
/// to each beginning of the sought word.
pub(crate) type Row = Vec<u8>;

impl Like {
    /// Words that `word` may be meant to be; none for one that is too short or too long for that.
    #[must_use]
    pub fn typo(word: &str) -> Option<Like> {
        let fits = word.chars().count() >= TYPO_CHARS_MIN
            && word.len() <= TYPO_BYTES_MAX
            && word.chars().all(char::is_alphabetic);
        fits.then(|| Like::Typo(word.to_owned()))
    }

    pub(crate) fn start(&self) -> Row {
        match self {
            Like::Prefix(_) => vec![0],
            Like::Typo(word) => (0..=word.len()).map(|at| at as u8).collect(),
        }
    }

    /// The row after one more byte; none when no word that goes on so is meant.
    pub(crate) fn step(&self, row: &Row, byte: u8) -> Option<Row> {
        match self {
            Like::Prefix(prefix) => {
                let at = usize::from(row[0]);
                match prefix.as_bytes().get(at) {
                    None => Some(row.clone()),
                    Some(&expected) => (expected == byte).then(|| vec![row[0] + 1]),
                }
            }
            Like::Typo(word) => {
                let word = word.as_bytes();
                if row[0] == 0 && word.first() != Some(&byte) {
                    return None;
                }
                let mut next = vec![row[0].saturating_add(1)];
                for (at, &expected) in word.iter().enumerate() {
                    let replaced = row[at] + u8::from(expected != byte);
                    next.push(replaced.min(next[at] + 1).min(row[at + 1] + 1));
                }
                (next.iter().min() <= Some(&differing(word))).then_some(next)
            }
        }
    }

    pub(crate) fn accepts(&self, row: &Row) -> bool {
        match self {
            Like::Prefix(prefix) => usize::from(row[0]) == prefix.len(),
            Like::Typo(word) => row[word.len()] <= differing(word.as_bytes()),
        }
    }

    /// How far a word that was accepted is from the sought one; none when it is another word.
    pub(crate) fn distance(&self, found: &str) -> Option<usize> {
        match self {
            Like::Prefix(prefix) => Some(found.len() - prefix.len().min(found.len())),
            Like::Typo(word) => {
                let two = word.chars().count() >= TWO_TYPOS_CHARS_MIN;
                let errors = typing_errors(word, found);
                let digits = found.contains(char::is_numeric);
                Some(errors).filter(|&errors| !digits && errors <= 1 + usize::from(two))
            }
        }
    }
}

fn differing(word: &[u8]) -> u8 {
    let wide = if word.is_ascii() { 0 } else { 1 };
    let two = u8::from(word.len() >= TWO_TYPOS_CHARS_MIN);
    (ERROR_BYTES + two + wide).min(DIFFERING_BYTES_MAX)
}

/// Edits between two words, two neighbours that changed places counting as one (optimal string
/// alignment).
pub fn typing_errors(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, &a) in one.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, &b) in other.iter().enumerate() {
            let mut least = (row[j] + usize::from(a != b)).min(next[j] + 1).min(row[j + 1] + 1);
            if i > 0 && j > 0 && a == other[j - 1] && one[i - 1] == b {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(like: &Like, word: &str) -> bool {
        let row = word.bytes().try_fold(like.start(), |row, byte| like.step(&row, byte));
        row.is_some_and(|row| like.accepts(&row)) && like.distance(word).is_some()
    }

    #[test]
    fn beginnings() {
        let like = Like::Prefix("conf".to_owned());
        for (word, expected) in
            [("conf", true), ("configur", true), ("con", false), ("xconf", false)]
        {
            assert_eq!(accepts(&like, word), expected, "{word}");
        }
    }

    #[test]
    fn typing_errors_are_few() {
        for (sought, word, expected) in [
            ("harbor", "harbor", true),
            ("harbro", "harbor", true),
            ("hrbor", "harbor", true),
            ("harrbor", "harbor", true),
            ("hqrbor", "harbor", true),
            ("hqrbro", "harbor", false),
            ("barbor", "harbor", false),
            ("confguratoin", "configuration", true),
            ("лампоcка", "лампочка", true),
            ("сереьро", "серебро", true),
            ("harbor", "harbo5", false),
        ] {
            let like = Like::typo(sought).expect("long enough");
            assert_eq!(accepts(&like, word), expected, "{sought} {word}");
        }
        assert_eq!(Like::typo("olga"), None);
        assert_eq!(Like::typo("cs0854"), None);
    }
}
