//! What siblings know that matters to an agent that is about to begin. Searched in every store of
//! the run but the agent's own, weighed alike wherever it lies, and shown in whole lines within a
//! budget, each with where it comes from.
//!
//! Invariants: never the task's own output; a store that cannot be read is listed and takes nothing
//! from the others; the same stores and the same request make the same lines; a text stays on its
//! line, whatever the text holds.

mod fit;
mod passages;
mod search;
mod weigh;

use kapsa_memory::request::SearchMode;
use kapsa_memory::{Micros, Uri};
use kapsa_model::{Embedder, Model};

use crate::names::{Role, RunId, TaskId};

pub(super) use search::gather;

/// First line of the block that goes into a prompt.
pub const MARKER_BEGIN: &str = "--- Sibling Task Context ---";
/// Last line of it.
pub const MARKER_END: &str = "--- End Sibling Task Context ---";
/// Most earlier runs that are searched.
pub const PAST_RUNS_MAX: usize = 50;
/// Below this an output's confidence is shown with it.
const CONFIDENCE_LOW: f64 = 0.5;

/// Makes the model that a store has vectors of, or says why it is not at hand.
pub type ModelSource<'a> = &'a (dyn Fn(&Model) -> Result<Box<dyn Embedder>, String> + Sync);

/// What is asked of a run.
#[derive(Clone, Copy)]
pub struct ContextRequest<'a> {
    /// The task that is about to begin: nothing of it is shown. None for an agent of the run as a
    /// whole.
    pub task: Option<&'a TaskId>,
    /// The role that is about to begin.
    pub role: &'a Role,
    /// What is asked for instead of the task's title and description.
    pub query: Option<&'a str>,
    /// Most tokens of the block, by the estimate of [`kapsa_memory::tokens`].
    pub tokens_max: usize,
    /// Most passages of one sibling.
    pub chunks_max: usize,
    /// Most characters of one passage.
    pub chunk_chars_max: usize,
    /// What the search goes by.
    pub mode: SearchMode,
    /// Whether earlier runs are searched too.
    pub past_runs: bool,
    /// For search by meaning; without it words alone count.
    pub models: Option<ModelSource<'a>>,
    /// Stores that are not read by then, by the clock of the store, are passed over.
    pub deadline: Option<Micros>,
}

/// One passage that was found, as a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The earlier run that it is of; none for this run.
    pub run: Option<RunId>,
    /// The task that it is of; none for what belongs to the run as a whole.
    pub task: Option<String>,
    /// Role of who wrote it, or `plan`.
    pub role: String,
    /// Whether its task came to a bad end.
    pub failed: bool,
    /// Whether a later output of the same role was found.
    pub earlier: bool,
    /// Title of the task or record, may be empty.
    pub title: String,
    /// The passage on one line.
    pub text: String,
    /// Where all of it can be read.
    pub uri: Uri,
    /// How sure the writer was.
    pub confidence: Option<f64>,
    /// What it is worth, 0 to 1; 0 for one that is shown because its store has nothing that fits
    /// better.
    pub score: f32,
}

impl Line {
    /// Where it comes from: `task-3 builder`, with `, failed` of a task that failed, `, earlier`
    /// where the same role said something later, and a low confidence.
    #[must_use]
    pub fn provenance(&self) -> String {
        let within = self.task.as_deref().unwrap_or("run");
        let mut from = match &self.run {
            Some(run) => format!("{run}/{within} {}", self.role),
            None => format!("{within} {}", self.role),
        };
        for (mark, holds) in [(", failed", self.failed), (", earlier", self.earlier)] {
            from.push_str(if holds { mark } else { "" });
        }
        if let Some(confidence) = self.confidence.filter(|confidence| *confidence < CONFIDENCE_LOW)
        {
            from.push_str(&format!(", confidence {confidence:.2}"));
        }
        from
    }

    fn body(&self) -> String {
        let title = if self.title.is_empty() { String::new() } else { format!("{}: ", self.title) };
        format!("[{}] {title}{}", self.provenance(), self.text)
    }
}

/// A store that could not be read, or the search by meaning where its model failed and words
/// answered instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The store: a branch or a file.
    pub store: String,
    /// Why.
    pub reason: String,
}

/// What siblings know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// What was searched for.
    pub query: String,
    /// The lines: the plan first, then sibling by sibling, those with the best line first.
    pub lines: Vec<Line>,
    /// Passages that had no room.
    pub left_out: usize,
    /// The budget, in tokens.
    pub tokens_max: usize,
    /// Stores that could not be read.
    pub skipped: Vec<Skipped>,
}

impl Context {
    /// The block for a prompt; none when there are no lines.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let lines = self.lines.iter().map(|line| format!("  {}\n", line.body()));
        self.block(&format!("{MARKER_BEGIN}\n"), lines, &format!("{MARKER_END}\n"), "  ")
    }

    /// The same as a section of Markdown; none when there are no lines.
    #[must_use]
    pub fn markdown(&self) -> Option<String> {
        let lines = self.lines.iter().map(|line| format!("- {}\n", line.body()));
        self.block("## Sibling task context\n\n", lines, "", "- ")
    }

    fn block(
        &self,
        begin: &str,
        lines: impl Iterator<Item = String>,
        end: &str,
        indent: &str,
    ) -> Option<String> {
        let lines: String = lines.collect();
        if lines.is_empty() {
            return None;
        }
        let note = self.note().map_or_else(String::new, |note| format!("{indent}{note}\n"));
        Some(format!("{begin}{lines}{note}{end}"))
    }

    fn note(&self) -> Option<String> {
        (self.left_out > 0).then(|| note(self.left_out, self.tokens_max))
    }
}

fn note(left_out: usize, tokens_max: usize) -> String {
    format!("[{left_out} more left out: the budget is {tokens_max} tokens]")
}
