//! What one file shall hold, and the two edits: adding it, and taking it out again. Functions from
//! text to text; knows no file.

use crate::error::EditError;
use crate::hooks::Hook;
use crate::server::{Form, Server};
use crate::{json, passage, tables};

/// The mark that some editors begin a text with.
const BOM: &str = "\u{feff}";

/// What a file shall hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The entry of a server.
    Server {
        /// How it is written.
        form: Form,
        /// What it starts.
        server: Server,
    },
    /// Hooks.
    Hooks(Vec<Hook>),
    /// The passage for agents.
    Passage,
}

/// A text with what was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// The text.
    pub text: String,
    /// The containers that were not there before, such as `mcpServers` or `hooks/Stop`.
    pub made: Vec<String>,
}

/// Which empty containers go with what was in them.
#[derive(Clone, Copy, Debug)]
pub enum Prune<'a> {
    /// These, which setup made.
    Made(&'a [String]),
    /// None: which of them setup made was forgotten.
    Kept,
}

impl Prune<'_> {
    pub(crate) fn takes(self, container: &str) -> bool {
        match self {
            Prune::Made(made) => made.iter().any(|made| made == container),
            Prune::Kept => false,
        }
    }
}

impl Content {
    /// The text with this in it. `program` is how our own entries are recognised, beside their
    /// name; with `force` an entry of the same name that is not ours is replaced.
    ///
    /// # Errors
    ///
    /// [`EditError`]: the text cannot be read, the place is taken, or more would change.
    pub fn add(&self, text: &str, program: &str, force: bool) -> Result<Edited, EditError> {
        let (bom, text) = split_bom(text);
        let mut edited = match self {
            Content::Server { form: Form::Toml, server } => {
                tables::add(text, server, program, force)
            }
            Content::Server { form, server } => {
                json::add_server(text, *form, server, program, force)
            }
            Content::Hooks(hooks) => json::add_hooks(text, hooks, program),
            Content::Passage => passage::add(text),
        }?;
        edited.text.insert_str(0, bom);
        Ok(edited)
    }

    /// The text without this; none where it holds none of it.
    ///
    /// # Errors
    ///
    /// [`EditError`]: the text cannot be read, or more would change.
    pub fn remove(
        &self,
        text: &str,
        program: &str,
        prune: Prune<'_>,
    ) -> Result<Option<String>, EditError> {
        let (bom, text) = split_bom(text);
        let removed = match self {
            Content::Server { form: Form::Toml, .. } => tables::remove(text, program),
            Content::Server { form, .. } => json::remove_server(text, *form, program, prune),
            Content::Hooks(_) => json::remove_hooks(text, program, prune),
            Content::Passage => passage::remove(text),
        }?;
        Ok(removed.map(|text| format!("{bom}{text}")))
    }

    /// Whether two texts say the same but for what is ours.
    pub(crate) fn same_but_ours(&self, one: &str, other: &str, program: &str) -> bool {
        let (one, other) = (split_bom(one).1, split_bom(other).1);
        let without = |text: &str| match self {
            Content::Server { form: Form::Toml, .. } => tables::without_ours(text, program),
            Content::Server { form, .. } => json::without_server(text, *form, program),
            Content::Hooks(_) => json::without_hooks(text, program),
            Content::Passage => passage::without_ours(text).map(serde_json::Value::String),
        };
        matches!((without(one), without(other)), (Ok(one), Ok(other)) if one == other)
    }

    /// Whether a text is what setup makes of an original, whichever version of setup did, and
    /// whatever a person changed within what is ours.
    pub(crate) fn is_made_of(&self, text: &str, original: &str, program: &str) -> bool {
        let made = |text: &str| self.add(text, program, true).map(|edited| edited.text);
        matches!((made(text), made(original)), (Ok(now), Ok(then)) if now == then)
    }

    /// The containers that setup makes in an original.
    pub(crate) fn made_in(&self, original: &str, program: &str) -> Result<Vec<String>, EditError> {
        self.add(original, program, true).map(|edited| edited.made)
    }

    /// Whether nothing is left in a text.
    pub(crate) fn is_empty(&self, text: &str) -> bool {
        let text = split_bom(text).1.trim();
        match self {
            Content::Server { form: Form::Toml, .. } | Content::Passage => text.is_empty(),
            Content::Server { .. } | Content::Hooks(_) => {
                text.is_empty() || text.split_whitespace().collect::<String>() == "{}"
            }
        }
    }

    /// A name for it in sentences.
    #[must_use]
    pub fn what(&self) -> &'static str {
        match self {
            Content::Server { .. } => "server",
            Content::Hooks(_) => "hooks",
            Content::Passage => "passage",
        }
    }
}

pub(crate) fn split_bom(text: &str) -> (&str, &str) {
    match text.strip_prefix(BOM) {
        Some(rest) => (BOM, rest),
        None => ("", text),
    }
}
