//! Notes, for a role without a memory of its own. The first kind of memory that roles had: texts
//! under a key.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::prompt;
use kapsa_memory::Result;

/// Most notes that are put into a prompt.
pub const NOTES_MAX: usize = 100;

/// Texts that roles wrote down. They count only where a role has no memory of its own.
pub trait NoteSource: Send + Sync {
    /// The role's notes that have `query` in them, upper and lower case alike; all of its notes
    /// when none has.
    ///
    /// # Errors
    /// What keeps the notes says.
    fn recall(&self, role_id: &str, query: &str) -> Result<Vec<String>>;
}

/// Notes that live as long as the program.
#[derive(Debug, Default)]
pub struct Notes {
    /// By role, then key.
    notes: Mutex<BTreeMap<String, BTreeMap<String, String>>>,
}

impl Notes {
    /// No notes yet.
    #[must_use]
    pub fn new() -> Notes {
        Notes::default()
    }

    /// Writes a note down; one with the same key is replaced.
    pub fn store(
        &self,
        role_id: impl Into<String>,
        key: impl Into<String>,
        text: impl Into<String>,
    ) {
        self.lock().entry(role_id.into()).or_default().insert(key.into(), text.into());
    }

    /// What a thread that panicked left behind is whole: each change is one call.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, BTreeMap<String, String>>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NoteSource for Notes {
    fn recall(&self, role_id: &str, query: &str) -> Result<Vec<String>> {
        let query = query.to_lowercase();
        let all: Vec<String> =
            self.lock().get(role_id).into_iter().flat_map(BTreeMap::values).cloned().collect();
        let fitting: Vec<String> =
            all.iter().filter(|text| text.to_lowercase().contains(&query)).cloned().collect();
        Ok(if fitting.is_empty() { all } else { fitting })
    }
}

/// The part of a prompt that holds notes; empty without any.
pub(super) fn section(notes: &[String]) -> String {
    prompt::list("Relevant Memories", notes.iter().take(NOTES_MAX).map(String::as_str))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn notes_fit_or_are_all_told() {
        let notes = Notes::new();
        notes.store("cro", "b", "Webinar leads convert 2x");
        notes.store("cro", "a", "Emails go out on Tuesday");
        notes.store("cro", "a", "Emails go out on Monday");
        notes.store("cmo", "a", "Not for others");
        assert_eq!(notes.recall("cro", "WEBINAR").unwrap(), ["Webinar leads convert 2x"]);
        assert_eq!(
            notes.recall("cro", "Score: Acme").unwrap(),
            ["Emails go out on Monday", "Webinar leads convert 2x"]
        );
        assert_eq!(notes.recall("cfo", "").unwrap(), [""; 0]);
    }

    #[test]
    fn a_prompt_holds_so_many_notes() {
        assert_eq!(section(&[]), "");
        let many = vec!["x".to_owned(); NOTES_MAX + 1];
        assert_eq!(section(&many).lines().count(), 1 + NOTES_MAX);
    }
}
