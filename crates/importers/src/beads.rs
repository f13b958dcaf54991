//! Issues of beads: one a line, closed ones too.

use std::path::Path;

use serde_json::Value;

use crate::error::Error;
use crate::input::{file_in, json_lines, others, text};
use crate::item::{Draft, Source};
use crate::time::moment;

/// Where the issues are: in a project, and in its `.beads`.
const NAMES: [&str; 4] =
    ["issues.jsonl", "beads.jsonl", ".beads/issues.jsonl", ".beads/beads.jsonl"];
/// Parts of an issue that are prose, with what stands above them.
const PROSE: [(&str, &str); 5] = [
    ("description", ""),
    ("design", "Design"),
    ("acceptance_criteria", "Acceptance criteria"),
    ("notes", "Notes"),
    ("close_reason", "Closed"),
];

pub(crate) fn read(product: &'static str, path: &Path) -> Result<Source, Error> {
    let file = file_in(path, &NAMES)?;
    let mut source = Source::default();
    let mut memories = 0;
    for (number, line) in json_lines(&file)? {
        let place = format!("{}:{number}", file.display());
        match line {
            Err(reason) => source.skip(place, reason),
            Ok(line) if text(&line, "id").is_empty() => match line.get("_type") {
                Some(_) => memories += 1,
                None => source.skip(place, "the issue has no id"),
            },
            Ok(line) => source.take(place, draft(product, &line)),
        }
    }
    source.leave("lines of the tool's own", memories);
    Ok(source)
}

fn draft(product: &'static str, issue: &Value) -> Draft {
    let prose = PROSE.iter().filter_map(|(name, above)| {
        let said = text(issue, name);
        let said = said.trim();
        match (said.is_empty(), above.is_empty()) {
            (true, _) => None,
            (false, true) => Some(said.to_string()),
            (false, false) => Some(format!("{above}: {said}")),
        }
    });
    let comments = issue.get("comments").and_then(Value::as_array).into_iter().flatten();
    let comments = comments.map(|comment| match comment {
        Value::String(text) => text.clone(),
        comment => format!("{}: {}", text(comment, "author"), text(comment, "text")),
    });
    let labels = issue.get("labels").and_then(Value::as_array).into_iter().flatten();
    let mut tags: Vec<(String, String)> =
        labels.filter_map(Value::as_str).map(|label| (label.to_string(), String::new())).collect();
    for name in ["status", "issue_type"] {
        tags.extend(
            Some((name.to_string(), text(issue, name))).filter(|(_, value)| !value.is_empty()),
        );
    }
    let taken = ["description", "design", "acceptance_criteria", "notes", "comments", "title"];
    Draft {
        product,
        what: "issue",
        id: text(issue, "id"),
        title: text(issue, "title"),
        text: prose.chain(comments).collect::<Vec<_>>().join("\n\n"),
        kind: "todo",
        agent: text(issue, "assignee"),
        tags,
        more: others(issue, &taken),
        at: moment(issue.get("updated_at")).or_else(|| moment(issue.get("created_at"))),
        ..Draft::default()
    }
}
