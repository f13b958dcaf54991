//! What was not used, counted by reason and kind. Knows nothing of formats.

use std::collections::BTreeMap;
use std::fmt;

use crate::limits::{NAME_BYTES_MAX, SKIPPED_KINDS_MAX};
use crate::text;

/// Why a record, or a part of one, was not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// A type of record that nobody knew when this was written.
    UnknownType,
    /// A type of record that holds nothing said or done.
    NotDialogue,
    /// Not JSON, even after control characters in texts were escaped.
    NotJson,
    /// Not UTF-8: read all the same, with `U+FFFD` in place of what is not.
    NotUtf8,
    /// Longer than [`RECORD_BYTES_MAX`](crate::RECORD_BYTES_MAX).
    TooLong,
    /// The last line, which ends before its record does.
    Cut,
    /// Read before, from this or another file.
    Replayed,
    /// The user went back to before it.
    TakenBack,
    /// Beyond one of the limits of a session or a file.
    OverLimit,
    /// No format that is known.
    UnknownFormat,
}

impl Reason {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::UnknownType => "unknown type",
            Self::NotDialogue => "not dialogue",
            Self::NotJson => "not JSON",
            Self::NotUtf8 => "not UTF-8, read with replacements",
            Self::TooLong => "too long",
            Self::Cut => "cut off at the end",
            Self::Replayed => "read before",
            Self::TakenBack => "taken back",
            Self::OverLimit => "over a limit",
            Self::UnknownFormat => "unknown format",
        }
    }
}

/// How many records of which kind were not used, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    counts: BTreeMap<Reason, BTreeMap<String, u64>>,
}

/// The kind under which those are counted that come after [`SKIPPED_KINDS_MAX`].
const OTHERS: &str = "others";

impl Skipped {
    /// Counts one more.
    pub fn count(&mut self, reason: Reason, kind: &str) {
        self.add(reason, kind, 1);
    }

    /// Adds what another one counted.
    pub fn merge(&mut self, other: &Self) {
        for (reason, kind, count) in other.iter() {
            self.add(reason, kind, count);
        }
    }

    /// Every count with its reason and kind.
    pub fn iter(&self) -> impl Iterator<Item = (Reason, &str, u64)> {
        self.counts.iter().flat_map(|(reason, kinds)| {
            kinds.iter().map(|(kind, count)| (*reason, kind.as_str(), *count))
        })
    }

    /// How many there are for one reason.
    pub fn of(&self, reason: Reason) -> u64 {
        self.counts.get(&reason).map_or(0, |kinds| kinds.values().sum())
    }

    /// Whether nothing was skipped.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    fn add(&mut self, reason: Reason, kind: &str, count: u64) {
        let kinds = self.counts.entry(reason).or_default();
        if let Some(known) = kinds.get_mut(kind) {
            *known += count;
        } else if kinds.len() < SKIPPED_KINDS_MAX {
            kinds.insert(text::start(kind, NAME_BYTES_MAX).to_owned(), count);
        } else {
            *kinds.entry(OTHERS.to_owned()).or_default() += count;
        }
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (reason, kind, count)) in self.iter().enumerate() {
            let separator = if number == 0 { "" } else { ", " };
            write!(f, "{separator}{count} × {} ({})", kind.escape_debug(), reason.words())?;
        }
        Ok(())
    }
}
