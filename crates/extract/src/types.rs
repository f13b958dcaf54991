//! The types of memories: the one place that says what they are, where their files lie, and how
//! they are called elsewhere.

/// What a memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "`definition` says it")]
pub enum MemoryType {
    Decision,
    Preference,
    Constraint,
    Correction,
    Fact,
    Procedure,
    Pitfall,
}

impl MemoryType {
    /// Every type.
    pub const ALL: [Self; 7] = [
        Self::Decision,
        Self::Preference,
        Self::Constraint,
        Self::Correction,
        Self::Fact,
        Self::Procedure,
        Self::Pitfall,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Decision => "decision",
            Self::Preference => "preference",
            Self::Constraint => "constraint",
            Self::Correction => "correction",
            Self::Fact => "fact",
            Self::Procedure => "procedure",
            Self::Pitfall => "pitfall",
        }
    }

    /// The one with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// What belongs to it.
    #[must_use]
    pub fn definition(self) -> &'static str {
        match self {
            Self::Decision => "A deliberate choice of the user or the project, with its reason.",
            Self::Preference => "How the user wants work to be done.",
            Self::Constraint => "What must or must not be done here, whatever the task.",
            Self::Correction => "What the agent did or believed, and what is right instead.",
            Self::Fact => "What was found to be so about the environment or the project.",
            Self::Procedure => "Commands or steps that were seen to work.",
            Self::Pitfall => "What fails here, why, and what works instead.",
        }
    }

    /// An example of its text.
    #[must_use]
    pub fn example(self) -> &'static str {
        match self {
            Self::Decision => "Dates are stored in UTC, because reports compare time zones.",
            Self::Preference => "Ask before adding a dependency.",
            Self::Constraint => "Never edit files below generated/.",
            Self::Correction => "The staging host is eu-2, not eu-1.",
            Self::Fact => "The build machine has no network.",
            Self::Procedure => "Run the migrations with `just migrate` before the tests.",
            Self::Pitfall => "`just test` fails while the emulator runs; stop it first.",
        }
    }

    /// Whether it is a `decision` or a `learning` where only these two are told apart.
    #[must_use]
    pub fn primitive(self) -> &'static str {
        match self {
            Self::Decision => "decision",
            _ => "learning",
        }
    }

    /// The kind of a learning where kinds are told apart; a decision has none.
    #[must_use]
    pub fn kind(self) -> Option<&'static str> {
        match self {
            Self::Decision => None,
            Self::Preference | Self::Constraint => Some("preference"),
            Self::Correction => Some("friction"),
            Self::Fact => Some("insight"),
            Self::Procedure => Some("procedure"),
            Self::Pitfall => Some("pitfall"),
        }
    }

    /// The folder of its files.
    #[must_use]
    pub fn folder(self) -> &'static str {
        match self {
            Self::Decision => "decisions",
            _ => "learnings",
        }
    }
}
