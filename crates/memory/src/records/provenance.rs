//! Who brought a revision, how far that is believed, and who let it in. Knows neither profiles nor
//! transactions: it says what was the case when the revision came in, and is never changed.

use std::fmt;

/// How far what came in is believed: by who brings it, and how. Ascending.
///
/// It is fixed when a revision is written, and no tag, text or field of the record changes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trust {
    /// The output of a tool: a page, a file of somebody else, an answer of a service.
    Tool,
    /// Taken over from another product or an export.
    Import,
    /// Taken from the trace of a session.
    Trace,
    /// Written by a language model.
    Model,
    /// Written by a principal itself.
    Principal,
    /// Written by the owner of the capsule.
    #[default]
    Owner,
}

impl Trust {
    /// All of them, ascending; the place of each is its number on disk.
    pub const ALL: [Trust; 6] =
        [Trust::Tool, Trust::Import, Trust::Trace, Trust::Model, Trust::Principal, Trust::Owner];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Trust::Tool => "tool",
            Trust::Import => "import",
            Trust::Trace => "trace",
            Trust::Model => "model",
            Trust::Principal => "principal",
            Trust::Owner => "owner",
        }
    }

    /// The one with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Trust> {
        Trust::ALL.into_iter().find(|trust| trust.name() == name)
    }

    /// The exact term of records of this trust; those of the owner have none.
    pub(crate) fn term(self) -> Option<String> {
        (self != Trust::Owner).then(|| format!("trust:{}", self.name()))
    }

    /// The terms that a record which is trusted at least as far as this does not have.
    pub(crate) fn terms_below(self) -> Vec<String> {
        Trust::ALL.into_iter().filter(|trust| *trust < self).filter_map(Trust::term).collect()
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where a revision comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// How far it is believed.
    pub trust: Trust,
    /// The principal that wrote it; empty for the owner.
    pub principal: String,
    /// Who let it in, if it had to be reviewed.
    pub review: Option<Review>,
}

/// A review that let a record in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Review {
    /// Who decided; may be empty.
    pub by: String,
    /// Sequence of the pending record that it was.
    pub item: u64,
}

impl Provenance {
    /// What a principal writes itself.
    #[must_use]
    pub fn principal(name: impl Into<String>) -> Provenance {
        Provenance { trust: Trust::Principal, principal: name.into(), review: None }
    }

    /// Of the same writer, trusted at most so far.
    #[must_use]
    pub fn at_most(&self, trust: Option<Trust>) -> Provenance {
        let trust = trust.map_or(self.trust, |trust| trust.min(self.trust));
        Provenance { trust, ..self.clone() }
    }
}
