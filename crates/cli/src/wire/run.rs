//! JSON of `run`. A step that did what it was asked has `"ok":true`; one that run memory failed has `"ok":false` and `"error"`; where run
//! memory is off, `"ok":false,"enabled":false`.

use std::collections::BTreeMap;

use kapsa_memory::Uri;
use kapsa_runs::{Context, Finished, Line, MergedInto, RunInfo, Skipped, Started, TaskInfo};
use serde::Serialize;
use serde_json::{Value, json};

use crate::moment::rfc3339;

/// `run start`, `run task start`: `{"ok","run","task"?,"existed","layout","place"}`.
pub(crate) fn started(run: &str, task: Option<&str>, layout: &str, started: &Started) -> Value {
    let mut value = json!({ "ok": true, "run": run, "existed": started.existed, "layout": layout, "place": started.place });
    if let Some(task) = task {
        value["task"] = task.into();
    }
    value
}

/// `run context`: `{"ok","run","task"?,"role","query","context","lines","left_out","tokens","budget","skipped"}`; `context` is null when
/// there is nothing to tell.
#[derive(Debug, Serialize)]
pub(crate) struct ContextOut<'a> {
    pub(crate) ok: bool,
    pub(crate) run: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<&'a str>,
    pub(crate) role: &'a str,
    query: &'a str,
    context: Option<String>,
    lines: Vec<LineOut<'a>>,
    left_out: usize,
    tokens: usize,
    budget: usize,
    skipped: Vec<Value>,
}

#[derive(Debug, Serialize)]
struct LineOut<'a> {
    from: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<&'a str>,
    role: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    earlier: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    title: &'a str,
    text: &'a str,
    uri: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
    score: f32,
}

impl<'a> ContextOut<'a> {
    pub(crate) fn of(run: &'a str, task: Option<&'a str>, role: &'a str, context: &'a Context) -> ContextOut<'a> {
        let text = context.text();
        let tokens = text.as_deref().map_or(0, kapsa_memory::tokens::estimate);
        let skipped = |skipped: &Skipped| json!({ "store": skipped.store, "reason": skipped.reason });
        ContextOut {
            ok: true,
            run,
            task,
            role,
            query: &context.query,
            context: text,
            lines: context.lines.iter().map(line).collect(),
            left_out: context.left_out,
            tokens,
            budget: context.tokens_max,
            skipped: context.skipped.iter().map(skipped).collect(),
        }
    }
}

fn line(line: &Line) -> LineOut<'_> {
    LineOut {
        from: line.provenance(),
        run: line.run.as_ref().map(|run| run.as_str()),
        task: line.task.as_deref(),
        role: &line.role,
        failed: line.failed,
        earlier: line.earlier,
        title: &line.title,
        text: &line.text,
        uri: line.uri.as_str(),
        confidence: line.confidence,
        score: line.score,
    }
}

/// `run status`: `{"run","title"?,"status","started_at","plans","layout","place","tasks"}`, tasks
/// `{"task","title"?,"description"?,"status","started_at","changed_at","outputs"}` with null outputs where the store cannot be read.
pub(crate) fn status(info: &RunInfo, layout: &str, place: &str) -> Value {
    let mut value = summary(info);
    value["layout"] = layout.into();
    value["place"] = place.into();
    value["tasks"] = info.tasks.iter().map(task).collect();
    value
}

fn task(task: &TaskInfo) -> Value {
    let mut value = json!({
        "task": task.id.as_str(), "status": task.status.name(), "outputs": task.outputs,
        "started_at": rfc3339(task.started_at), "changed_at": rfc3339(task.changed_at),
    });
    for (name, text) in [("title", &task.title), ("description", &task.description)] {
        if !text.is_empty() {
            value[name] = text.as_str().into();
        }
    }
    value
}

/// One run of `run list`: as `run status`, but `"tasks"` is how many there are of each status.
pub(crate) fn listed(info: &RunInfo) -> Value {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    info.tasks.iter().for_each(|task| *counts.entry(task.status.name()).or_default() += 1);
    let mut value = summary(info);
    value["tasks"] = json!(counts);
    value
}

fn summary(info: &RunInfo) -> Value {
    let mut value = json!({
        "run": info.id.as_str(), "status": info.status.name(), "started_at": rfc3339(info.started_at), "plans": info.plans,
    });
    if !info.title.is_empty() {
        value["title"] = info.title.as_str().into();
    }
    value
}

/// `run finish`: `{"ok","run","task"?,"status","recorded"?,"merged":[{"from","to","written","conflicts"}],"left":{task: status}}`.
pub(crate) fn finished(run: &str, task: Option<&str>, finished: &Finished) -> Value {
    let merged = |merged: &MergedInto| {
        let conflicts: Vec<&str> = merged.conflicts.iter().map(Uri::as_str).collect();
        json!({ "from": merged.from, "to": merged.to, "written": merged.written, "conflicts": conflicts })
    };
    let conflicts = finished.merged.iter().any(|merged| !merged.conflicts.is_empty());
    let mut value = json!({
        "ok": !conflicts, "run": run, "status": finished.status.name(),
        "merged": finished.merged.iter().map(merged).collect::<Vec<_>>(),
        "left": finished.left.iter().map(|(task, status)| (task.as_str(), status.name())).collect::<BTreeMap<_, _>>(),
    });
    if let Some(task) = task {
        value["task"] = task.into();
    }
    if let Some(put) = &finished.recorded {
        value["recorded"] = put.uri.as_str().into();
    }
    value
}
