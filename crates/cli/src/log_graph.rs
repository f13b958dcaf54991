//! The branches drawn beside a log: one column for each branch that is under way, newest record
//! first.

use kapsa_memory::Record;

/// What stands before each line. A column begins where a branch has its newest record and ends
/// where the branch was made.
pub(crate) fn lanes(lines: &[(String, Record)]) -> Vec<String> {
    let mut columns: Vec<Option<&str>> = Vec::new();
    let mut drawn = Vec::with_capacity(lines.len());
    for (at, (branch, record)) in lines.iter().enumerate() {
        let column = column_of(&mut columns, branch);
        let mut text = String::new();
        for (index, open) in columns.iter().enumerate() {
            text.push_str(match (index == column, open) {
                (true, _) => mark(record),
                (false, Some(_)) => "│ ",
                (false, None) => "  ",
            });
        }
        drawn.push(text);
        if !lines[at + 1..].iter().any(|(later, _)| later == branch) {
            columns[column] = None;
        }
        while columns.last() == Some(&None) {
            columns.pop();
        }
    }
    let width = drawn.iter().map(|text| text.chars().count()).max().unwrap_or(0);
    drawn.into_iter().map(|text| format!("{text:<width$}")).collect()
}

fn column_of<'a>(columns: &mut Vec<Option<&'a str>>, branch: &'a str) -> usize {
    if let Some(known) = columns.iter().position(|open| *open == Some(branch)) {
        return known;
    }
    let free = columns.iter().position(Option::is_none).unwrap_or(columns.len());
    if free == columns.len() {
        columns.push(None);
    }
    columns[free] = Some(branch);
    free
}

fn mark(record: &Record) -> &'static str {
    match record.kind.as_str() {
        "branch" if record.system => "┬ ",
        "checkpoint" if record.system => "◆ ",
        "event" if record.system => "· ",
        _ if record.origin.is_some() => "◂ ",
        _ => "● ",
    }
}
