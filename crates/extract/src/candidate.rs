//! What is found in a session, before anybody decides whether it is kept.

use kapsa_ingest::{Place, Speaker};

use crate::types::MemoryType;

/// Most characters of a title.
pub const TITLE_CHARS_MAX: usize = 120;
/// Most characters of a body.
pub const BODY_CHARS_MAX: usize = 850;

/// Something that a later session may need.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// What it is.
    pub kind: MemoryType,
    /// It in one line, at most [`TITLE_CHARS_MAX`] characters, redacted.
    pub title: String,
    /// The rule, then why, then how to apply it: lines of plain text, at most [`BODY_CHARS_MAX`]
    /// characters, redacted.
    pub body: String,
    /// How sure it is, 0 to 1.
    pub confidence: f64,
    /// Whose words or results it rests on. A person's outrank a tool's, a tool's the assistant's.
    pub said_by: Speaker,
    /// Where in the trace it stands, in the order of the file.
    pub evidence: Vec<Place>,
    /// Microseconds since 1970 at which it was said, where the trace says.
    pub at: Option<i64>,
    /// Tags, in lower case.
    pub tags: Vec<String>,
    /// Whether a later turn of the same session took it back. Such a candidate is not kept.
    pub reversed: bool,
}

/// What a session leaves behind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extraction {
    /// What was said, in its order, then what tools showed, and what was taken back, marked.
    pub candidates: Vec<Candidate>,
}

/// A session in short.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// What it was about, in one line, redacted.
    pub title: String,
    /// That in a sentence, redacted.
    pub description: String,
    /// What was asked, done and left open: at most [`SUMMARY_WORDS_MAX`] words, redacted.
    pub text: String,
}

/// Most words of a summary.
pub const SUMMARY_WORDS_MAX: usize = 300;
