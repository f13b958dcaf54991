//! What tools showed: commands that are blocked, that failed until something around them was
//! changed, and that check the work.
//!
//! A failure that was mended in the code itself is the work, not a lesson. Knows nothing of what
//! people said.

use std::collections::HashMap;
use std::sync::LazyLock;

use kapsa_ingest::{Outcome, Place, Session, Speaker, TurnKind};
use regex_automata::meta::Regex;

use crate::patterns::built;
use crate::prose::sentences;
use crate::runs::{Run, Work};
use crate::types::MemoryType;
use crate::words::{content, shared};

/// What tools showed, before it is a candidate.
pub(crate) struct Shown {
    pub(crate) kind: MemoryType,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) confidence: f64,
    pub(crate) evidence: Vec<Place>,
    pub(crate) said_by: Speaker,
}

/// Most lessons that the tools of one session give.
pub const LESSONS_MAX: usize = 3;
/// Failures of one session that are looked at.
const FAILURES_MAX: usize = 256;
/// Confidence of a failure with its cure.
const CONFIDENCE_CURED: f64 = 0.6;
/// Confidence of a command that was blocked.
const CONFIDENCE_BLOCKED: f64 = 0.55;
/// Confidence of the commands that check the work.
const CONFIDENCE_CHECKS: f64 = 0.5;
/// Longest command that is shown, in characters.
const COMMAND_CHARS_MAX: usize = 160;
/// Longest line of an error that is shown, in characters.
const ERROR_CHARS_MAX: usize = 200;
/// Lines of output that are searched for the error, from its start and from its end.
const OUTPUT_LINES_MAX: usize = 200;
/// Runs of a check from which on it is the check of the project.
const CHECKED_MIN: usize = 2;

/// Longest line of commands that is looked at for checks, in bytes.
const CHECKED_BYTES_MAX: usize = 2000;
/// Longest command that is a check, in bytes.
const CHECK_BYTES_MAX: usize = 80;
/// Checks that are named.
const CHECKS_MAX: usize = 4;

/// What the tools of a session showed.
pub(crate) fn lessons(session: &Session, work: &Work<'_>) -> Vec<Shown> {
    let mut lessons: Vec<Shown> = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    let failures = work
        .runs
        .iter()
        .enumerate()
        .filter(|(_, run)| matches!(run.outcome, Outcome::Failed { .. }))
        .take(FAILURES_MAX);
    for (at, failed) in failures {
        if lessons.len() == LESSONS_MAX {
            break;
        }
        let Some(error) = error_line(failed.output) else { continue };
        let stem = failed.stem.clone();
        if seen.contains(&stem) || seen.contains(&error) {
            continue;
        }
        let lesson = match is_blocked(&error) {
            true => Some(blocked(failed, &error)),
            false => cured(session, work, at, &error),
        };
        if let Some(lesson) = lesson {
            seen.extend([stem, error]);
            lessons.push(lesson);
        }
    }
    lessons
}

static BLOCKED: LazyLock<Regex> = LazyLock::new(|| {
    built(&[
        r"(?i)\b(blocked|protected (directory|file|branch|path)|not permitted|permission denied|read-only file system|access denied)\b",
        r"(?i)\bsandbox\b.{0,40}\b(denied|blocked|violation)\b",
    ])
});

fn is_blocked(error: &str) -> bool {
    BLOCKED.is_match(error)
}

fn blocked(failed: &Run<'_>, error: &str) -> Shown {
    let command = short(&failed.command, COMMAND_CHARS_MAX);
    Shown {
        kind: MemoryType::Pitfall,
        title: format!("Blocked here: {error}"),
        body: format!("`{command}` is not allowed to run: {error}"),
        confidence: CONFIDENCE_BLOCKED,
        evidence: vec![failed.place],
        said_by: Speaker::Tool,
    }
}

/// A command that failed, what was done about it, and the same command that worked.
fn cured(session: &Session, work: &Work<'_>, at: usize, error: &str) -> Option<Shown> {
    let failed = &work.runs[at];
    let later = work.runs[at + 1..].iter();
    let passed = later
        .filter(|run| run.outcome == Outcome::Ok && run.stem == failed.stem)
        .find(|run| !run.output.contains(error))?;
    let between = failed.at..passed.at;
    let edits: Vec<_> = work.edits.iter().filter(|edit| between.contains(&edit.at)).collect();
    let is_code = |path: &str| !is_configuration(path);
    if edits.iter().any(|edit| is_code(edit.path)) {
        return None;
    }
    let cures: Vec<String> = work.runs[at + 1..]
        .iter()
        .filter(|run| between.contains(&run.at) && run.outcome == Outcome::Ok && acts(&run.command))
        .map(|run| format!("`{}`", short(&run.command, COMMAND_CHARS_MAX)))
        .chain(edits.iter().map(|edit| shown_edit(edit.path, edit.change)))
        .take(3)
        .collect();
    let is_same = failed.command == passed.command;
    if cures.is_empty() && is_same {
        return None;
    }
    let command = short(&failed.command, COMMAND_CHARS_MAX);
    let mut body = format!("`{command}` fails: {error}");
    if let Some(cause) = cause(session, between.start, passed.at, error) {
        body.push_str(&format!("\nWhy: {cause}"));
    }
    if cures.is_empty() {
        body.push_str(&format!("\nInstead: `{}`", short(&passed.command, COMMAND_CHARS_MAX)));
    } else {
        body.push_str(&format!("\nWhat helped: {}", cures.join(", ")));
    }
    Some(Shown {
        kind: MemoryType::Pitfall,
        title: format!("`{}` fails: {error}", failed.stem),
        body,
        confidence: CONFIDENCE_CURED,
        evidence: vec![failed.place, passed.place],
        said_by: Speaker::Tool,
    })
}

/// Files that say how things are built and run, not what they do.
fn is_configuration(path: &str) -> bool {
    const ENDINGS: [&str; 9] =
        [".toml", ".yaml", ".yml", ".json", ".ini", ".cfg", ".env", "Makefile", "Dockerfile"];
    ENDINGS.iter().any(|ending| path.ends_with(ending))
}

fn shown_edit(path: &str, change: Option<(&str, &str)>) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    match change {
        Some((old, new)) if old.len() + new.len() <= COMMAND_CHARS_MAX => {
            format!("in {name}: `{}` became `{}`", one_line(old), one_line(new))
        }
        _ => format!("an edit of {name}"),
    }
}

/// Whether a command changes something around it.
fn acts(command: &str) -> bool {
    static ACTS: LazyLock<Regex> = LazyLock::new(|| {
        built(&[
            r"\brm -|\b(install|add|upgrade|update|uninstall|remove|clean|reset|prune|init|migrate|use|unset|kill|pkill|restart|start|stop|link|approve-builds|rebuild)\b",
            r"\b(chmod|chown|export|mkdir|ln|touch|nvm|mv|cp)\b",
        ])
    });
    ACTS.is_match(command)
}

/// How somebody explains why something failed.
static CAUSE: LazyLock<Regex> = LazyLock::new(|| {
    built(&[
        r"(?i)\b(because|due to|caused by|the (issue|problem|error|cause|reason) (is|was|here)|root cause|stale|requires?|incompatib\w+|no longer|does not support|doesn't support|needs? to be|instead of|missing|is called|must be)\b",
    ])
});

/// Whether a sentence says why something failed.
pub(crate) fn is_cause(sentence: &str) -> bool {
    CAUSE.is_match(sentence)
}

/// The sentence of the assistant that explains an error, between it and its cure.
fn cause(session: &Session, from: usize, to: usize, error: &str) -> Option<String> {
    let about = content(error);
    let turns = session.turns.get(from..to)?.iter();
    let said = turns.filter(|turn| {
        turn.speaker == Speaker::Assistant
            && matches!(turn.kind, TurnKind::Text | TurnKind::Reasoning)
    });
    let mut best: Option<(usize, String)> = None;
    for sentence in said.flat_map(|turn| sentences(&turn.text)) {
        let common = shared(&about, &content(&sentence));
        let fits = common > 0 && sentence.chars().count() <= ERROR_CHARS_MAX + 60;
        if fits && CAUSE.is_match(&sentence) && best.as_ref().is_none_or(|(most, _)| common > *most)
        {
            best = Some((common, sentence));
        }
    }
    best.map(|(_, sentence)| sentence)
}

static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    built(&[
        r"(?i)\b(error|fatal|failed|failure|cannot|can't|not found|no such|denied|blocked|unknown|invalid|unsupported|missing|not set|not installed|timed out|too many requests|refused|protected|deprecated|requires)\b",
        r"(Error|Exception)\b",
    ])
});

/// The line of an output that says what went wrong.
pub(crate) fn error_line(output: &str) -> Option<String> {
    let lines = output.lines().take(OUTPUT_LINES_MAX);
    let line = lines
        .map(str::trim)
        .find(|line| line.len() > 12 && !line.starts_with("Exit code") && ERROR.is_match(line))?;
    Some(short(&line.split_whitespace().collect::<Vec<_>>().join(" "), ERROR_CHARS_MAX))
}

fn short(text: &str, chars_max: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// How often a check ran, and how it ended last.
struct Checked {
    runs: usize,
    passed: bool,
    place: Place,
}

/// The commands that checked the work again and again, and passed in the end.
pub(crate) fn checks(work: &Work<'_>) -> Option<Shown> {
    if work.edits.is_empty() {
        return None;
    }
    let mut by_command: HashMap<&str, Checked> = HashMap::new();
    let mut order: Vec<&str> = Vec::new();
    for run in work.runs.iter().filter(|run| run.command.len() <= CHECKED_BYTES_MAX) {
        for part in parts(&run.command) {
            let checked = by_command.entry(part).or_insert_with(|| {
                order.push(part);
                Checked { runs: 0, passed: false, place: run.place }
            });
            checked.runs += 1;
            checked.passed = run.outcome == Outcome::Ok;
            checked.place = run.place;
        }
    }
    let is_check = |part: &str| {
        let checked = &by_command[part];
        checked.passed
            && checked.runs >= CHECKED_MIN
            && part.len() <= CHECK_BYTES_MAX
            && says_check(part)
    };
    let mut found: Vec<(&str, Place)> = order
        .into_iter()
        .filter(|part| is_check(part))
        .map(|part| (part, by_command[part].place))
        .collect();
    if found.is_empty() {
        return None;
    }
    found.truncate(CHECKS_MAX);
    let list: Vec<String> = found.iter().map(|(command, _)| format!("`{command}`")).collect();
    let list = list.join(", ");
    Some(Shown {
        kind: MemoryType::Procedure,
        title: format!("Check the work with {list}"),
        body: "Run again and again after changes, and passed in the end.".to_string(),
        confidence: CONFIDENCE_CHECKS,
        evidence: found.iter().map(|(_, place)| *place).collect(),
        said_by: Speaker::Tool,
    })
}

/// Programs and tasks that check.
const CHECKS: [&str; 24] = [
    "test",
    "tests",
    "lint",
    "fmt",
    "format",
    "check",
    "check-types",
    "typecheck",
    "type-check",
    "tsc",
    "clippy",
    "vet",
    "ruff",
    "mypy",
    "pyright",
    "pytest",
    "vitest",
    "jest",
    "eslint",
    "prettier",
    "verify",
    "validate",
    "rspec",
    "phpunit",
];
/// Programs whose arguments are files, whatever those are called.
const NO_CHECKS: [&str; 18] = [
    "rm", "mv", "cp", "cat", "ls", "cd", "echo", "grep", "rg", "find", "sed", "awk", "head",
    "tail", "mkdir", "touch", "git", "curl",
];

/// Whether a command names a check in its first words: `npm run test:unit`, `go test ./...`.
fn says_check(command: &str) -> bool {
    let mut words = command.split_whitespace().take(3).peekable();
    let is_other = words.peek().is_some_and(|program| NO_CHECKS.contains(program));
    let is_check = |word: &str| {
        let task = word.split(':').next().unwrap_or(word);
        CHECKS.contains(&task.to_lowercase().as_str())
    };
    !is_other && words.any(is_check)
}

/// The commands that one line runs one after the other, without what their output goes through.
fn parts(command: &str) -> impl Iterator<Item = &str> {
    command
        .split("&&")
        .map(|part| part.split(['|', '>']).next().unwrap_or(part))
        .map(|part| part.trim().trim_end_matches("2").trim())
        .filter(|part| !part.is_empty() && !part.starts_with("cd "))
}
