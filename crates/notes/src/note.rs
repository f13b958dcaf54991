//! A memory as one file: frontmatter in YAML, then a body in markdown. Knows no folder and no
//! clock.

use serde_json::Value;

use super::error::NoteError;
use super::front::Front;
use super::name;
use super::stamp::Stamp;

/// Longest note, in bytes.
pub const NOTE_BYTES_MAX: usize = 1024 * 1024;
/// Confidence of a memory that says none.
pub const CONFIDENCE_DEFAULT: f64 = 0.7;
/// Kinds of learnings.
pub const KINDS: [&str; 5] = ["insight", "procedure", "friction", "pitfall", "preference"];
/// Kind of a learning that says none.
pub const KIND_DEFAULT: &str = "insight";

const BOM: char = '\u{feff}';
const FENCE: &str = "---";
/// Keys that a decision or a learning must have. `confidence`, `kind` and `tags` have defaults.
const MEMORY_KEYS: [&str; 5] = ["id", "title", "created", "updated", "source"];
/// Keys that a summary must have.
const SUMMARY_KEYS: [&str; 12] = [
    "id",
    "title",
    "description",
    "date",
    "time",
    "coding_agent",
    "raw_trace_path",
    "run_id",
    "repo_name",
    "related",
    "created",
    "updated",
];
/// Keys that may be there without a value: nothing is known, or nothing related.
const MAY_BE_EMPTY: [&str; 3] = ["repo_name", "related", "coding_agent"];

/// What a note is, which decides its folder and its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Primitive {
    /// A deliberate choice.
    Decision,
    /// What was learnt.
    Learning,
    /// What happened in one session.
    Summary,
}

impl Primitive {
    /// All of them.
    pub const ALL: [Primitive; 3] = [Primitive::Decision, Primitive::Learning, Primitive::Summary];

    /// Its folder in a memory.
    #[must_use]
    pub fn folder(self) -> &'static str {
        match self {
            Primitive::Decision => "decisions",
            Primitive::Learning => "learnings",
            Primitive::Summary => "summaries",
        }
    }

    /// Its name, as candidates and reports have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Primitive::Decision => "decision",
            Primitive::Learning => "learning",
            Primitive::Summary => "summary",
        }
    }

    /// The one of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Primitive> {
        Primitive::ALL.into_iter().find(|primitive| primitive.name() == name)
    }

    /// The one of a folder.
    #[must_use]
    pub fn of_folder(folder: &str) -> Option<Primitive> {
        Primitive::ALL.into_iter().find(|primitive| primitive.folder() == folder)
    }

    /// The keys that its notes must have.
    #[must_use]
    pub fn required_keys(self) -> &'static [&'static str] {
        match self {
            Primitive::Decision | Primitive::Learning => &MEMORY_KEYS,
            Primitive::Summary => &SUMMARY_KEYS,
        }
    }
}

/// What is wrong with a key of a note.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// It is not there, or has no value.
    #[error("`{key}` is missing")]
    Missing {
        /// The key.
        key: &'static str,
    },
    /// Its value is of another type or outside of its range.
    #[error("`{key}` must be {expected}")]
    Odd {
        /// The key.
        key: &'static str,
        /// What it must be.
        expected: &'static str,
    },
}

/// A memory as a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// The keys.
    pub front: Front,
    /// Everything behind the line that ends the frontmatter, byte by byte.
    pub body: String,
    /// The lines around the frontmatter, as they were read: with a mark of the encoding before the
    /// first, blanks behind, either end of a line, or none at the end of the file.
    fences: [String; 2],
}

/// A decision or a learning to be written.
#[derive(Clone, Debug, Default)]
pub struct NewMemory<'a> {
    /// Any text; the id is made of it.
    pub title: &'a str,
    /// Markdown.
    pub body: &'a str,
    /// The run that found it.
    pub source: &'a str,
    /// From 0 to 1; none for [`CONFIDENCE_DEFAULT`].
    pub confidence: Option<f64>,
    /// Any texts.
    pub tags: &'a [String],
    /// One of [`KINDS`], for learnings; none for [`KIND_DEFAULT`].
    pub kind: Option<&'a str>,
}

/// A summary to be written.
#[derive(Clone, Debug, Default)]
pub struct NewSummary<'a> {
    /// Any text; the id is made of it.
    pub title: &'a str,
    /// One or two sentences.
    pub description: &'a str,
    /// Markdown.
    pub body: &'a str,
    /// The program whose session it was.
    pub coding_agent: &'a str,
    /// Where the trace lies.
    pub raw_trace_path: &'a str,
    /// The run that wrote it.
    pub run_id: &'a str,
    /// The repository that the session was about; empty if none is known.
    pub repo_name: &'a str,
    /// Ids of memories that came out of the same session.
    pub related: &'a [String],
    /// Any texts.
    pub tags: &'a [String],
}

/// What changes in a memory; what is none stays.
#[derive(Clone, Debug, Default)]
pub struct Revision<'a> {
    /// The new title. The id stays.
    pub title: Option<&'a str>,
    /// The new body.
    pub body: Option<&'a str>,
    /// The run that found it out.
    pub source: Option<&'a str>,
    /// From 0 to 1.
    pub confidence: Option<f64>,
    /// All tags from now on.
    pub tags: Option<&'a [String]>,
    /// One of [`KINDS`].
    pub kind: Option<&'a str>,
}

impl Note {
    /// A note of these parts.
    #[must_use]
    pub fn new(front: Front, body: String) -> Note {
        let fence = format!("{FENCE}\n");
        Note { front, body, fences: [fence.clone(), fence] }
    }

    /// A decision or a learning.
    ///
    /// # Errors
    /// [`NoteError::Unwritable`] naming a key whose value a note cannot hold.
    pub fn memory(
        primitive: Primitive,
        new: &NewMemory,
        created: &Stamp,
    ) -> Result<Note, NoteError> {
        let mut front = Front::default();
        front.set("id", name::slug(new.title))?;
        front.set("title", new.title)?;
        front.set("created", created.iso.as_str())?;
        front.set("updated", created.iso.as_str())?;
        front.set("source", new.source)?;
        front
            .set("confidence", checked_confidence(new.confidence.unwrap_or(CONFIDENCE_DEFAULT))?)?;
        front.set("tags", new.tags.to_vec())?;
        if primitive == Primitive::Learning {
            front.set("kind", checked_kind(new.kind.unwrap_or(KIND_DEFAULT))?)?;
        }
        Ok(Note::new(front, body_of(new.body)))
    }

    /// A summary. `source` is the run as well, so that all notes name it alike.
    ///
    /// # Errors
    /// [`NoteError::Unwritable`] naming a key whose value a note cannot hold.
    pub fn summary(new: &NewSummary, created: &Stamp) -> Result<Note, NoteError> {
        let mut front = Front::default();
        for (key, text) in [
            ("id", name::slug(new.title).as_str()),
            ("title", new.title),
            ("description", new.description),
            ("date", &created.date),
            ("time", &created.time),
            ("coding_agent", new.coding_agent),
            ("raw_trace_path", new.raw_trace_path),
            ("run_id", new.run_id),
            ("repo_name", new.repo_name),
        ] {
            front.set(key, text)?;
        }
        front.set("related", new.related.to_vec())?;
        front.set("created", created.iso.as_str())?;
        front.set("updated", created.iso.as_str())?;
        front.set("source", new.run_id)?;
        front.set("tags", new.tags.to_vec())?;
        Ok(Note::new(front, body_of(new.body)))
    }

    /// Reads a note.
    ///
    /// # Errors
    /// What [`NoteError`] lists: nothing is skipped or repaired.
    pub fn from_bytes(bytes: &[u8]) -> Result<Note, NoteError> {
        if bytes.len() > NOTE_BYTES_MAX {
            let (bytes, bytes_max) = (bytes.len() as u64, NOTE_BYTES_MAX as u64);
            return Err(NoteError::TooLarge { bytes, bytes_max });
        }
        let text = std::str::from_utf8(bytes)
            .map_err(|error| NoteError::NotText { at: error.valid_up_to() })?;
        Note::parse(text)
    }

    /// Reads a note from text.
    ///
    /// # Errors
    /// As [`Note::from_bytes`].
    pub fn parse(text: &str) -> Result<Note, NoteError> {
        let [open, yaml, close, body] = split(text)?;
        let mut front = Front::parse(yaml)?;
        front.set_crlf(open.ends_with("\r\n"));
        Ok(Note { front, body: body.to_owned(), fences: [open, close].map(str::to_owned) })
    }

    /// The file: what was read and not changed since is the same bytes.
    #[must_use]
    pub fn render(&self) -> String {
        let [open, close] = &self.fences;
        let is_ended = close.ends_with('\n') || self.body.is_empty();
        let end = if is_ended { "" } else { self.line_end() };
        format!("{open}{}{close}{end}{}", self.front.render(), self.body)
    }

    /// The body without the empty lines around it.
    #[must_use]
    pub fn text(&self) -> &str {
        self.body.trim()
    }

    /// Changes what a revision names, and `updated`. The id, `created`, the name of the file and
    /// all other keys stay.
    ///
    /// # Errors
    /// [`NoteError::Unwritable`] naming a key whose value a note cannot hold.
    pub fn revise(&mut self, revision: &Revision, now: &Stamp) -> Result<(), NoteError> {
        let mut front = self.front.clone();
        for (key, text) in [("title", revision.title), ("source", revision.source)] {
            if let Some(text) = text {
                front.set(key, text)?;
            }
        }
        if let Some(confidence) = revision.confidence {
            front.set("confidence", checked_confidence(confidence)?)?;
        }
        if let Some(tags) = revision.tags {
            front.set("tags", tags.to_vec())?;
        }
        if let Some(kind) = revision.kind {
            front.set("kind", checked_kind(kind)?)?;
        }
        front.set("updated", now.iso.as_str())?;
        self.front = front;
        if let Some(body) = revision.body.filter(|body| body.trim() != self.text()) {
            let body = body_of(body);
            self.body = body.replace('\n', self.line_end());
        }
        Ok(())
    }

    fn line_end(&self) -> &'static str {
        if self.front.has_crlf() { "\r\n" } else { "\n" }
    }

    /// What is wrong with its keys for a note of its kind.
    #[must_use]
    pub fn faults(&self, primitive: Primitive) -> Vec<KeyFault> {
        let is_there = |key: &&&str| match self.front.get(key) {
            None => false,
            Some(Value::Null) => MAY_BE_EMPTY.contains(*key),
            Some(Value::String(text)) => MAY_BE_EMPTY.contains(*key) || !text.trim().is_empty(),
            Some(_) => true,
        };
        let keys = primitive.required_keys().iter();
        let missing = keys.clone().filter(|key| !is_there(key));
        let mut faults: Vec<KeyFault> = missing.map(|key| KeyFault::Missing { key }).collect();
        let texts = keys.filter(|key| **key != "related");
        faults.extend(
            texts
                .filter(|key| is_structure(self.front.get(key)))
                .map(|key| KeyFault::Odd { key, expected: "a text" }),
        );
        faults.extend(self.odd_values(primitive));
        faults
    }

    fn odd_values(&self, primitive: Primitive) -> Vec<KeyFault> {
        let mut odd = Vec::new();
        if let Some(value) = self.front.get("confidence")
            && !value.as_f64().is_some_and(|confidence| (0.0..=1.0).contains(&confidence))
        {
            odd.push(KeyFault::Odd { key: "confidence", expected: "a number from 0 to 1" });
        }
        for key in ["tags", "related"] {
            if matches!(
                self.front.get(key),
                Some(Value::Object(_) | Value::Bool(_) | Value::Number(_))
            ) {
                odd.push(KeyFault::Odd { key, expected: "a list" });
            }
        }
        if primitive == Primitive::Learning
            && let Some(kind) = self.front.get("kind")
            && !kind.as_str().is_some_and(|kind| KINDS.contains(&kind))
        {
            let expected = "insight, procedure, friction, pitfall or preference";
            odd.push(KeyFault::Odd { key: "kind", expected });
        }
        odd
    }
}

fn is_structure(value: Option<&Value>) -> bool {
    matches!(value, Some(Value::Array(_) | Value::Object(_)))
}

fn checked_confidence(confidence: f64) -> Result<f64, NoteError> {
    if (0.0..=1.0).contains(&confidence) {
        return Ok(confidence);
    }
    let reason = format!("{confidence} is not from 0 to 1");
    Err(NoteError::Unwritable { key: "confidence".to_owned(), reason })
}

fn checked_kind(kind: &str) -> Result<&str, NoteError> {
    if KINDS.contains(&kind) {
        return Ok(kind);
    }
    let reason = format!("it is none of {}", KINDS.join(", "));
    Err(NoteError::Unwritable { key: "kind".to_owned(), reason })
}

/// A body with an empty line before it and the end of its last line.
fn body_of(text: &str) -> String {
    format!("\n{}\n", text.trim())
}

/// The line that begins the frontmatter, the YAML, the line that ends it, and the body: together
/// they are the text.
fn split(text: &str) -> Result<[&str; 4], NoteError> {
    let is_fence = |line: &str| line.trim_end() == FENCE;
    let mut lines = text.split_inclusive('\n');
    let begins = |line: &&str| is_fence(line.strip_prefix(BOM).unwrap_or(line));
    let open = lines.next().filter(begins).ok_or(NoteError::NoFrontmatter)?;
    let mut end = open.len();
    for line in lines {
        let body = end + line.len();
        if is_fence(line) {
            return Ok([open, &text[open.len()..end], line, &text[body..]]);
        }
        end = body;
    }
    Err(NoteError::UnclosedFrontmatter)
}
