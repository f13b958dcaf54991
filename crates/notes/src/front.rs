//! The frontmatter of a note: names with values, in order, in YAML. What is not changed keeps its
//! bytes, comments included. Knows nothing of which keys a note has.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_saphyr::options::NonFiniteFloatPolicy;
use serde_saphyr::{Options, SerializerOptions};

use super::error::NoteError;

/// Longest frontmatter, in bytes.
pub const FRONT_BYTES_MAX: usize = 64 * 1024;
/// Most values, names and lists in a frontmatter, those of aliases included.
pub const FRONT_NODES_MAX: usize = 4096;
/// How deep lists and mappings may lie in each other.
const DEPTH_MAX: usize = 16;
/// Most anchors, and most uses of them.
const ANCHORS_MAX: usize = 64;
/// Longest reason of the reader of YAML that is passed on, in characters.
const REASON_CHARS_MAX: usize = 200;

/// Names with values, in order.
///
/// Numbers, truth values and nothing are those of YAML 1.2; what YAML 1.1 would read as such
/// (`no`, `2026-11-30`, `1e3`) is quoted when it is written, so that every reader finds the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Front {
    /// Comments and empty lines before the first name.
    head: String,
    entries: Vec<Entry>,
    /// The text as it was read, if its entries cannot be told apart by lines: anchors, one mapping
    /// in braces, or the like. Any change writes all entries anew.
    whole: Option<String>,
    /// Whether lines end as on Windows.
    has_crlf: bool,
}

/// A name with its value, and the lines that it stands on.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    key: String,
    value: Value,
    lines: String,
    /// Comments and empty lines behind it.
    tail: String,
}

impl Front {
    /// Reads YAML, without the lines `---` around it.
    ///
    /// # Errors
    /// [`NoteError::Frontmatter`] if it is no mapping of names, or beyond the limits.
    pub fn parse(yaml: &str) -> Result<Front, NoteError> {
        if yaml.len() > FRONT_BYTES_MAX {
            let reason = format!("longer than {FRONT_BYTES_MAX} bytes");
            return Err(NoteError::Frontmatter { reason });
        }
        let has_crlf = yaml.lines().count() > 0 && yaml.contains("\r\n");
        let pairs = pairs(yaml)?;
        let (head, chunks) = chunks(yaml);
        Ok(match entries(&pairs, &chunks) {
            Some(entries) => Front { head: head.to_owned(), entries, whole: None, has_crlf },
            None => Front {
                head: String::new(),
                entries: pairs.into_iter().map(|(key, value)| Entry::bare(key, value)).collect(),
                whole: Some(yaml.to_owned()),
                has_crlf,
            },
        })
    }

    /// The names, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.key.as_str())
    }

    /// The value of a name.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// A value as text. Numbers and truth values that somebody wrote without quotes are as they
    /// wrote them. None for lists, mappings and what is empty.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<String> {
        let entry = self.entry(key)?;
        match &entry.value {
            Value::String(text) => Some(text.clone()),
            value @ (Value::Number(_) | Value::Bool(_)) => {
                Some(entry.source().unwrap_or_else(|| value.to_string()))
            }
            _ => None,
        }
    }

    /// A value as a number.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<f64> {
        self.get(key).and_then(Value::as_f64)
    }

    /// A value as a list of texts. A single text is split at commas.
    #[must_use]
    pub fn list(&self, key: &str) -> Vec<String> {
        let text = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
            _ => None,
        };
        match self.get(key) {
            Some(Value::Array(values)) => values.iter().filter_map(text).collect(),
            Some(Value::String(text)) => text
                .split(',')
                .map(|part| part.trim().to_owned())
                .filter(|part| !part.is_empty())
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Sets a value. A new name comes last; one that has this value already keeps its bytes.
    ///
    /// # Errors
    /// [`NoteError::Unwritable`] for a value that would not be read back as it is.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) -> Result<(), NoteError> {
        let value = value.into();
        if self.get(key) == Some(&value) {
            return Ok(());
        }
        let lines = self.rendered(key, &value)?;
        let mut changed = self.clone();
        match changed.entries.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => (entry.value, entry.lines) = (value, lines),
            None => {
                let tail = String::new();
                changed.entries.push(Entry { key: key.to_owned(), value, lines, tail });
            }
        }
        *self = changed.settled(key)?;
        Ok(())
    }

    /// Removes a name, with the lines that it stands on.
    ///
    /// # Errors
    /// [`NoteError::Unwritable`] if the others cannot be written without it.
    pub fn remove(&mut self, key: &str) -> Result<(), NoteError> {
        if self.entry(key).is_some() {
            let mut changed = self.clone();
            changed.entries.retain(|entry| entry.key != key);
            *self = changed.settled(key)?;
        }
        Ok(())
    }

    /// The YAML: what was not changed is as it was read. Every line has its end.
    #[must_use]
    pub fn render(&self) -> String {
        if let Some(whole) = &self.whole {
            return whole.clone();
        }
        let mut yaml = self.head.clone();
        for entry in &self.entries {
            yaml.push_str(&entry.lines);
            yaml.push_str(&entry.tail);
        }
        yaml
    }

    /// Whether its lines end as on Windows.
    pub(crate) fn has_crlf(&self) -> bool {
        self.has_crlf
    }

    pub(crate) fn set_crlf(&mut self, has_crlf: bool) {
        self.has_crlf = has_crlf;
    }

    fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// These entries after `key` was changed, with lines that mean them: where the old ones do not,
    /// all are written anew.
    fn settled(mut self, key: &str) -> Result<Front, NoteError> {
        if self.whole.is_none() && self.means_its_entries() {
            return Ok(self);
        }
        self.whole = None;
        self.head.clear();
        let lines: Vec<String> = self
            .entries
            .iter()
            .map(|entry| self.rendered(&entry.key, &entry.value))
            .collect::<Result<_, _>>()?;
        for (entry, lines) in self.entries.iter_mut().zip(lines) {
            (entry.lines, entry.tail) = (lines, String::new());
        }
        if self.means_its_entries() {
            return Ok(self);
        }
        let reason = "all keys together would be read as others, or beyond the limits".to_owned();
        Err(NoteError::Unwritable { key: key.to_owned(), reason })
    }

    /// Whether what is written would be read as these entries.
    fn means_its_entries(&self) -> bool {
        let yaml = self.render();
        // May be dropped: what cannot be read does not mean them, which is all that is asked.
        let read = pairs(&yaml).unwrap_or_default();
        let same = |(pair, entry): (&(String, Value), &Entry)| {
            pair.0 == entry.key && pair.1 == entry.value
        };
        yaml.len() <= FRONT_BYTES_MAX
            && read.len() == self.entries.len()
            && read.iter().zip(&self.entries).all(same)
    }

    /// The lines of one entry. They are read back: what YAML cannot hold is an error, not a loss.
    fn rendered(&self, key: &str, value: &Value) -> Result<String, NoteError> {
        let unwritable = |reason: String| NoteError::Unwritable { key: key.to_owned(), reason };
        let mut lines =
            serde_saphyr::to_string_with_options(&Pair(key, value), serializer_options())
                .map_err(|error| unwritable(one_line(&error.to_string())))?;
        if !lines.ends_with('\n') {
            lines.push('\n');
        }
        let read = pairs(&lines).map_err(|error| unwritable(error.to_string()))?;
        if read != [(key.to_owned(), value.clone())] {
            return Err(unwritable("it would be read as another value".to_owned()));
        }
        Ok(if self.has_crlf { lines.replace('\n', "\r\n") } else { lines })
    }
}

impl Entry {
    fn bare(key: String, value: Value) -> Entry {
        Entry { key, value, lines: String::new(), tail: String::new() }
    }

    /// The value as it was written, if it is a single word or number.
    fn source(&self) -> Option<String> {
        let mut options = options();
        options.null_as_string = true;
        // May be dropped: lines that hold no single text have no source, which None says.
        let read: BTreeMap<String, String> =
            serde_saphyr::from_str_with_options(&self.lines, options).ok()?;
        read.into_values().next()
    }
}

/// The names and values of YAML, in order.
fn pairs(yaml: &str) -> Result<Vec<(String, Value)>, NoteError> {
    let has_content = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    if !yaml.lines().any(has_content) {
        return Ok(Vec::new());
    }
    match serde_saphyr::from_str_with_options::<Pairs>(yaml, options()) {
        Ok(Pairs(pairs)) => Ok(pairs),
        Err(error) => Err(NoteError::Frontmatter { reason: one_line(&error.to_string()) }),
    }
}

/// What comes before the first name, and the lines of each: a name begins a line.
fn chunks(yaml: &str) -> (&str, Vec<&str>) {
    let begins = |line: &str| {
        let first = line.chars().next();
        let is_item = line == "-" || line.starts_with("- ") || line.trim_end() == "-";
        first.is_some_and(|c| !c.is_whitespace() && c != '#') && !is_item
    };
    let mut starts = Vec::new();
    let mut at = 0;
    for line in yaml.split_inclusive('\n') {
        if begins(line) {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([yaml.len()]);
    let chunks = starts.iter().zip(ends).map(|(start, end)| &yaml[*start..end]).collect();
    (&yaml[..starts.first().copied().unwrap_or(yaml.len())], chunks)
}

/// The entries, if each chunk alone means what it means in the whole.
fn entries(pairs: &[(String, Value)], chunks: &[&str]) -> Option<Vec<Entry>> {
    if pairs.len() != chunks.len() {
        return None;
    }
    let mut entries = Vec::with_capacity(chunks.len());
    for (pair, chunk) in pairs.iter().zip(chunks) {
        // May be dropped: a chunk that means nothing alone is what the caller wants to know.
        let means_it = |lines: &str| {
            self::pairs(lines).is_ok_and(|alone| alone.len() == 1 && alone[0] == *pair)
        };
        if !means_it(chunk) {
            return None;
        }
        let (mut lines, mut tail) = split_tail(chunk);
        if !means_it(lines) {
            (lines, tail) = (*chunk, "");
        }
        let (key, value) = pair.clone();
        entries.push(Entry { key, value, lines: lines.to_owned(), tail: tail.to_owned() });
    }
    Some(entries)
}

/// A chunk without the comments and empty lines behind it, and those.
fn split_tail(chunk: &str) -> (&str, &str) {
    let mut end = chunk.len();
    for line in chunk.split_inclusive('\n').rev() {
        let is_tail = line.trim().is_empty() || line.starts_with('#');
        if !is_tail {
            break;
        }
        end -= line.len();
    }
    chunk.split_at(end)
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEPTH_MAX,
            max_nodes: FRONT_NODES_MAX,
            max_events: 4 * FRONT_NODES_MAX,
            max_anchors: ANCHORS_MAX,
            max_aliases: ANCHORS_MAX,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: FRONT_NODES_MAX,
        },
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    }
}

/// Texts of several lines become one line in double quotes, which every reader of YAML reads alike.
fn serializer_options() -> SerializerOptions {
    serde_saphyr::ser_options! { prefer_block_scalars: false }
}

/// A reason on one line, without what a terminal would act on.
fn one_line(reason: &str) -> String {
    let line: String = reason
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(REASON_CHARS_MAX)
        .collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A mapping of one name.
struct Pair<'a>(&'a str, &'a Value);

impl Serialize for Pair<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.0, self.1)?;
        map.end()
    }
}

/// A mapping in its order.
struct Pairs(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Pairs, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Pairs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping of names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}
