//! What becomes of a note that is kept in two places: as a file that people edit, and in a capsule.
//! Knows neither: three hashes go in, what to do comes out.

/// The hashes ([`crate::hash`]) of the three versions of a note, as the bytes of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Versions<'a> {
    /// What was written to the file last, or taken from it last. None for a note that was never
    /// both in the file and in the capsule.
    pub last: Option<&'a str>,
    /// The file as it is. None where nothing lies.
    pub file: Option<&'a str>,
    /// The capsule's version as a file. None where the capsule has none, or retired it.
    pub capsule: Option<&'a str>,
    /// How far an earlier conflict of this note has come.
    pub conflict: ConflictState,
}

/// How far a conflict has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConflictState {
    /// There is none.
    #[default]
    None,
    /// The capsule's version lies beside the file, and nobody has decided.
    Open,
    /// Somebody deleted the version beside the file: what the file holds is their decision.
    Decided,
}

/// What to do with a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconciled {
    /// Nothing. Both sides agree; their hash is the last one from now on.
    Unchanged,
    /// Write the capsule's version to the file: nobody changed the file.
    WriteFile,
    /// Take the file's text into the capsule: only the file changed, or somebody decided for it.
    TakeEdit,
    /// Overwrite nothing: both changed. Write the capsule's version beside the file
    /// ([`crate::MemoryFolder::write_conflict`]) and show it.
    Conflict,
    /// Somebody removed the file. Retire the capsule's version if it is the one that they saw,
    /// else show it: they removed another text than the capsule has now.
    FileRemoved {
        /// Whether the capsule's version changed since it was in the file.
        capsule_changed: bool,
    },
    /// Move the file to the archive: the capsule retired the note, and nobody changed the file.
    ArchiveFile,
    /// A person wrote a note that the capsule has not.
    New,
    /// Neither side has it. Forget the last hash.
    Gone,
}

/// Decides about one note.
///
/// A changed file is never overwritten: where the capsule changed as well, or retired the note, it
/// is a conflict. While a conflict is open, nothing is written and nothing is taken.
#[must_use]
pub fn reconcile(versions: Versions) -> Reconciled {
    let Versions { last, file, capsule, conflict } = versions;
    match (file, capsule) {
        (None, None) => Reconciled::Gone,
        (None, Some(_)) if last.is_none() => Reconciled::WriteFile,
        (None, Some(_)) => Reconciled::FileRemoved { capsule_changed: capsule != last },
        (Some(_), Some(_)) if file == capsule => Reconciled::Unchanged,
        (Some(_), _) if conflict == ConflictState::Open => Reconciled::Conflict,
        (Some(_), _) if conflict == ConflictState::Decided => Reconciled::TakeEdit,
        (Some(_), None) if last.is_none() => Reconciled::New,
        (Some(_), None) if file == last => Reconciled::ArchiveFile,
        (Some(_), Some(_)) if last.is_some() && file == last => Reconciled::WriteFile,
        (Some(_), Some(_)) if last.is_some() && capsule == last => Reconciled::TakeEdit,
        (Some(_), _) => Reconciled::Conflict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Versions by single letters; `-` is none.
    fn check(last: &str, file: &str, capsule: &str, expected: Reconciled) {
        check_after(ConflictState::None, last, file, capsule, expected);
    }

    fn check_after(
        conflict: ConflictState,
        last: &str,
        file: &str,
        capsule: &str,
        expected: Reconciled,
    ) {
        fn version(text: &str) -> Option<&str> {
            Some(text).filter(|text| *text != "-")
        }
        let versions = Versions {
            last: version(last),
            file: version(file),
            capsule: version(capsule),
            conflict,
        };
        assert_eq!(reconcile(versions), expected, "{versions:?}");
    }

    #[test]
    fn one_side_that_changed_is_followed() {
        check("a", "a", "a", Reconciled::Unchanged);
        check("a", "a", "b", Reconciled::WriteFile);
        check("a", "b", "a", Reconciled::TakeEdit);
        check("a", "b", "b", Reconciled::Unchanged);
        check("a", "a", "-", Reconciled::ArchiveFile);
        check("a", "-", "a", Reconciled::FileRemoved { capsule_changed: false });
        check("a", "-", "-", Reconciled::Gone);
    }

    #[test]
    fn what_was_never_on_both_sides_is_new_to_the_other() {
        check("-", "-", "a", Reconciled::WriteFile);
        check("-", "a", "-", Reconciled::New);
        check("-", "a", "a", Reconciled::Unchanged);
        check("-", "-", "-", Reconciled::Gone);
    }

    #[test]
    fn a_changed_file_is_never_overwritten() {
        check("a", "b", "c", Reconciled::Conflict);
        check("-", "b", "c", Reconciled::Conflict);
        check("a", "b", "-", Reconciled::Conflict);
        check("a", "-", "b", Reconciled::FileRemoved { capsule_changed: true });
    }

    #[test]
    fn a_conflict_stays_until_somebody_decides() {
        for (file, capsule) in [("b", "c"), ("a", "c"), ("b", "a"), ("b", "-")] {
            check_after(ConflictState::Open, "a", file, capsule, Reconciled::Conflict);
            check_after(ConflictState::Decided, "a", file, capsule, Reconciled::TakeEdit);
        }
        check_after(ConflictState::Open, "a", "b", "b", Reconciled::Unchanged);
    }
}
