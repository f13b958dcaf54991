//! What a put of folders passed over, counted by kind.

use std::collections::BTreeMap;
use std::path::Path;

/// Most kinds of files that are told apart by their endings.
const ENDINGS_MAX: usize = 32;
/// Longest ending that is a kind, in characters.
const ENDING_CHARS_MAX: usize = 8;

/// Why something was passed over. The names of kinds are part of the JSON interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SkipKind {
    /// A rule of `.gitignore` or `.ignore` names it.
    Ignored,
    /// Its name begins with a dot.
    Hidden,
    /// A folder of what tools made.
    Generated,
    /// A symbolic link.
    Link,
    /// Neither a file nor a folder.
    Special,
    /// It should be text and is not.
    NotText,
    /// It is larger than a document may be.
    TooLarge,
    /// The disk does not give it.
    Unreadable,
    /// It is not what its name says, or is damaged.
    Damaged,
    /// A password protects it.
    Protected,
    /// It holds no text.
    NoText,
}

impl SkipKind {
    fn name(self) -> &'static str {
        match self {
            SkipKind::Ignored => "ignored",
            SkipKind::Hidden => "hidden",
            SkipKind::Generated => "generated",
            SkipKind::Link => "link",
            SkipKind::Special => "special",
            SkipKind::NotText => "not_text",
            SkipKind::TooLarge => "too_large",
            SkipKind::Unreadable => "unreadable",
            SkipKind::Damaged => "damaged",
            SkipKind::Protected => "protected",
            SkipKind::NoText => "no_text",
        }
    }
}

/// What was passed over.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Skipped {
    /// Files that are meant and could not be read.
    unread: u64,
    kinds: BTreeMap<&'static str, u64>,
    /// Files of formats that are not read, by their endings.
    endings: BTreeMap<String, u64>,
    /// Files without an ending, or with one that says nothing.
    others: u64,
}

impl Skipped {
    pub(super) fn count(&mut self, kind: SkipKind) {
        *self.kinds.entry(kind.name()).or_default() += 1;
    }

    /// Counts a file that is meant and could not be read.
    pub(super) fn count_unread(&mut self, kind: SkipKind) {
        self.unread += 1;
        self.count(kind);
    }

    /// Counts a file of a format that is not read.
    pub(super) fn count_format(&mut self, path: &Path) {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let is_kind = |ending: &String| {
            let count = ending.chars().count();
            count <= ENDING_CHARS_MAX && ending.chars().all(char::is_alphanumeric)
        };
        match ending.filter(is_kind) {
            Some(ending)
                if self.endings.len() < ENDINGS_MAX || self.endings.contains_key(&ending) =>
            {
                *self.endings.entry(ending).or_default() += 1;
            }
            _ => self.others += 1,
        }
    }

    pub(super) fn unread(&self) -> u64 {
        self.unread
    }

    /// How many of each kind; a format that is not read is `.` and its ending.
    pub(super) fn by_kind(&self) -> BTreeMap<String, u64> {
        let kinds = self.kinds.iter().map(|(name, count)| ((*name).to_string(), *count));
        let endings = self.endings.iter().map(|(ending, count)| (format!(".{ending}"), *count));
        let others = (self.others > 0).then(|| ("unknown".to_string(), self.others));
        kinds.chain(endings).chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_passed_over_is_counted_by_kind() {
        let mut skipped = Skipped::default();
        skipped.count(SkipKind::Hidden);
        skipped.count_unread(SkipKind::NotText);
        for name in ["a.PNG", "b.png", "LICENSE", "c.averylongending", "d.a\u{1b}"] {
            skipped.count_format(Path::new(name));
        }
        let kinds: Vec<_> = skipped.by_kind().into_iter().collect();
        let want = [(".png", 2), ("hidden", 1), ("not_text", 1), ("unknown", 3)];
        assert_eq!(kinds, want.map(|(kind, count)| (kind.to_string(), count)));
        assert_eq!(skipped.unread(), 1);
    }
}
