//! A file of the repository, and what is wrong with one. Knows no rule.

use std::fmt;

/// Something against a rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) file: String,
    /// Counted from 1.
    pub(super) line: usize,
    pub(super) message: String,
}

impl Problem {
    pub(super) fn new(file: &str, line: usize, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

/// A file of the repository.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) name: String,
    pub(super) content: String,
}

impl Text {
    pub(super) fn new(name: &str, content: &str) -> Self {
        Self { name: name.to_owned(), content: content.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_read_as_places() {
        assert_eq!(Problem::new("a.rs", 3, "no").to_string(), "a.rs:3: no");
    }
}
