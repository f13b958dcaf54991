//! The report of a run, `memory_actions.json`: what was done with each candidate. Knows nothing of
//! how that was decided.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::error::{Error, Result};

/// What was done with a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ActionKind {
    /// A new note.
    Add,
    /// A note that was there says more now.
    Update,
    /// Nothing: a note says it already.
    NoOp,
}

impl ActionKind {
    /// All of them.
    pub const ALL: [ActionKind; 3] = [ActionKind::Add, ActionKind::Update, ActionKind::NoOp];

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ActionKind::Add => "add",
            ActionKind::Update => "update",
            ActionKind::NoOp => "no_op",
        }
    }

    /// The one of a name; `no-op` is accepted as well.
    #[must_use]
    pub fn named(name: &str) -> Option<ActionKind> {
        let name = if name == "no-op" { ActionKind::NoOp.name() } else { name };
        ActionKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// One action of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportAction {
    /// What was done.
    pub action: ActionKind,
    /// Everything else that is said of it: candidate, title, file, evidence. The name `action` is
    /// taken.
    pub details: Map<String, Value>,
}

/// What a run has done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The run: the name of its folder.
    pub run_id: String,
    /// An action for each candidate.
    pub actions: Vec<ReportAction>,
    /// Notes that were written, as absolute paths.
    pub written_memory_paths: Vec<PathBuf>,
    /// The trace.
    pub trace_path: PathBuf,
}

impl Report {
    /// How many actions are of a kind.
    #[must_use]
    pub fn count(&self, kind: ActionKind) -> usize {
        self.actions.iter().filter(|action| action.action == kind).count()
    }

    /// The report as JSON, with the to-do steps given.
    ///
    /// # Errors
    /// [`Error::OddPath`] for a path that is not absolute or not UTF-8.
    pub(crate) fn to_json(&self, todos: Vec<Value>) -> Result<Value> {
        let actions = self.actions.iter().map(|action| {
            let mut object = Map::new();
            object.insert("action".to_owned(), action.action.name().into());
            object.extend(action.details.clone().into_iter().filter(|(key, _)| key != "action"));
            Value::Object(object)
        });
        let counts: Map<String, Value> = ActionKind::ALL
            .into_iter()
            .map(|kind| (kind.name().to_owned(), self.count(kind).into()))
            .collect();
        let written: Vec<&str> =
            self.written_memory_paths.iter().map(|path| absolute(path)).collect::<Result<_>>()?;
        Ok(json!({
            "run_id": self.run_id,
            "todos": todos,
            "actions": actions.collect::<Vec<_>>(),
            "counts": counts,
            "written_memory_paths": written,
            "trace_path": absolute(&self.trace_path)?,
        }))
    }

    /// Reads a report; none if a key is missing or odd, or the counts are not those of the actions.
    #[must_use]
    pub fn from_json(value: &Value) -> Option<Report> {
        let text = |key: &str| value.get(key)?.as_str().map(str::to_owned);
        let path =
            |value: &Value| value.as_str().map(PathBuf::from).filter(|path| path.is_absolute());
        let report = Report {
            run_id: text("run_id")?,
            actions: value.get("actions")?.as_array()?.iter().map(action).collect::<Option<_>>()?,
            written_memory_paths: value
                .get("written_memory_paths")?
                .as_array()?
                .iter()
                .map(path)
                .collect::<Option<_>>()?,
            trace_path: path(value.get("trace_path")?)?,
        };
        let counts = value.get("counts")?;
        let agrees = |kind: ActionKind| {
            let counted = counts.get(kind.name()).and_then(Value::as_u64);
            counted == Some(report.count(kind) as u64)
        };
        let has_todos = value.get("todos").is_some_and(Value::is_array);
        (has_todos && ActionKind::ALL.into_iter().all(agrees)).then_some(report)
    }
}

fn action(value: &Value) -> Option<ReportAction> {
    let mut details = value.as_object()?.clone();
    let action = ActionKind::named(details.remove("action")?.as_str()?)?;
    Some(ReportAction { action, details })
}

fn absolute(path: &Path) -> Result<&str> {
    let odd = |reason| Error::OddPath { path: path.to_path_buf(), reason };
    if !path.is_absolute() {
        return Err(odd("not absolute"));
    }
    path.to_str().ok_or_else(|| odd("not UTF-8"))
}
