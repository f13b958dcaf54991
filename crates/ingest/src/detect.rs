//! The format of a trace by its content. Knows the marks of formats, and no path.

use crate::peek::{Peek, peek};
use crate::session::Agent;

/// A form in which a program writes its sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Claude Code, and programs that write as it does.
    Claude,
    /// Rollouts of Codex.
    Codex,
    /// The events that `codex exec --json` prints.
    CodexExec,
    /// Gemini CLI: a document, or lines with patches.
    Gemini,
    /// An export of OpenCode, or its database.
    OpenCode,
    /// Records of Cursor: lines, or its database.
    Cursor,
    /// Transcripts of Cursor's agent.
    CursorTranscript,
    /// The same as text.
    CursorText,
    /// Events of Copilot's command line.
    Copilot,
    /// A chat of VS Code: a document, or a journal of changes.
    VsCode,
    /// A chat of VS Code, copied as Markdown.
    CopilotMarkdown,
    /// Sessions of pi.
    Pi,
    /// The history that aider keeps in Markdown.
    Aider,
    /// The histories that SpecStory keeps in Markdown.
    SpecStory,
    /// An export of ChatGPT.
    ChatGpt,
    /// Messages with a role and a content.
    Plain,
    /// OpenTelemetry spans of generative models.
    Otel,
    /// Runs of LangSmith.
    LangSmith,
}

impl Format {
    /// Who writes it.
    pub fn agent(self) -> Agent {
        match self {
            Self::Claude => Agent::Claude,
            Self::Codex | Self::CodexExec => Agent::Codex,
            Self::Gemini => Agent::Gemini,
            Self::OpenCode => Agent::OpenCode,
            Self::Cursor | Self::CursorTranscript | Self::CursorText => Agent::Cursor,
            Self::Copilot | Self::VsCode | Self::CopilotMarkdown => Agent::Copilot,
            Self::Pi => Agent::Pi,
            Self::Aider => Agent::Aider,
            Self::SpecStory => Agent::SpecStory,
            Self::ChatGpt => Agent::ChatGpt,
            Self::Plain => Agent::Plain,
            Self::Otel => Agent::Otel,
            Self::LangSmith => Agent::LangSmith,
        }
    }
}

impl Format {
    /// Whether its lines are text, not JSON.
    pub(crate) fn is_markdown(self) -> bool {
        matches!(self, Self::Aider | Self::SpecStory | Self::CopilotMarkdown | Self::CursorText)
    }
}

/// How the records of a format lie in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shape {
    /// One record a line.
    Lines,
    /// One JSON value.
    Document,
    /// An SQLite database; which program's it is, its tables say.
    Database,
    /// The record of a session, whose messages are in files of their own.
    Folder,
}

/// The line with which the user begins to speak in a transcript of Cursor's agent as text.
pub(crate) const CURSOR_USER: &str = "user:";
/// Before what the user typed there.
pub(crate) const CURSOR_QUERY: &str = "<user_query>";
/// How databases begin.
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";
/// Lines at the start of a file of which one must be known.
const LINES_LOOKED_AT: usize = 200;

/// The format and shape of a trace, by the start of its (decompressed) bytes; no format for a
/// database.
pub fn detect(head: &[u8]) -> Option<(Option<Format>, Shape)> {
    if head.starts_with(SQLITE_MAGIC) {
        return Some((None, Shape::Database));
    }
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\0' || c == '\u{feff}');
    match text.as_bytes().first()? {
        b'{' | b'[' => of_json(text),
        _ if is_cursor_text(text) => Some((Some(Format::CursorText), Shape::Lines)),
        _ => of_lines(text),
    }
}

fn is_cursor_text(text: &str) -> bool {
    let mut lines = text.lines().take(LINES_LOOKED_AT).map(str::trim_end);
    lines.next() == Some(CURSOR_USER) && lines.any(|line| line == CURSOR_QUERY)
}

fn of_json(text: &str) -> Option<(Option<Format>, Shape)> {
    let first = peek(text);
    if is_stored(&first) {
        return Some((Some(Format::OpenCode), Shape::Folder));
    }
    if let Some(format) = of_members(&first)
        && is_document(&first, text, format)
    {
        return Some((Some(format), Shape::Document));
    }
    of_lines(text).or_else(|| Some((Some(of_cut(&first)?), Shape::Lines)))
}

/// Whether it is the record of a session in OpenCode's folders.
fn is_stored(first: &Peek) -> bool {
    first.value("id").is_some_and(|id| id.starts_with("ses_"))
        && first.has("projectID")
        && first.has("time")
}

/// Types that only Codex gives to its records.
const CODEX_TYPES: [&str; 4] = ["session_meta", "response_item", "event_msg", "turn_context"];

/// The format of a record that is cut before it shows all that tells formats apart, by what only
/// one program writes.
fn of_cut(found: &Peek) -> Option<Format> {
    let kind = found.value("type").unwrap_or_default();
    if found.end.is_some() {
        None
    } else if CODEX_TYPES.contains(&kind) {
        Some(Format::Codex)
    } else if found.has("parentUuid") || CLAUDE_TYPES.contains(&kind) && !SHARED.contains(&kind) {
        Some(Format::Claude)
    } else {
        None
    }
}

/// The first line that belongs to a format; plain messages only if no line is of another one.
fn of_lines(text: &str) -> Option<(Option<Format>, Shape)> {
    let mut plain = None;
    for line in text.lines().take(LINES_LOOKED_AT) {
        let line = line.trim_start_matches('\0').trim_start();
        let found = if line.starts_with('{') { of_members(&peek(line)) } else { of_markdown(line) };
        match found {
            Some(Format::Plain) => plain = found,
            Some(format) => return Some((Some(format), Shape::Lines)),
            None => {}
        }
    }
    plain.map(|format| (Some(format), Shape::Lines))
}

/// Whether the whole is one value: a list, or an object over several lines, or one whose records
/// are members of it and that nothing follows.
fn is_document(first: &Peek, text: &str, format: Format) -> bool {
    if first.is_list || first.is_spread {
        return true;
    }
    let has_more = first.end.is_some_and(|end| text[end..].trim_start().starts_with('{'));
    let has_records = match format {
        Format::Gemini | Format::OpenCode | Format::Plain => first.has("messages"),
        Format::VsCode => first.has("requests"),
        Format::Claude => first.has("loglines"),
        Format::ChatGpt => true,
        _ => false,
    };
    has_records && !has_more
}

/// Types of Claude Code's records that have no message.
const CLAUDE_TYPES: [&str; 18] = [
    "agent-name",
    "agent-setting",
    "ai-title",
    "assistant",
    "attachment",
    "bridge-session",
    "custom-title",
    "file-history-snapshot",
    "human",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "summary",
    "system",
    "user",
];
/// Those of them that others write as well.
const SHARED: [&str; 3] = ["assistant", "system", "user"];
/// Members of which a record of Claude Code has one.
const CLAUDE_MEMBERS: [&str; 8] = [
    "sessionId",
    "uuid",
    "leafUuid",
    "messageId",
    "message",
    "parentUuid",
    "isSidechain",
    "operation",
];

/// The format of a record, or of a document, by its members.
fn of_members(found: &Peek) -> Option<Format> {
    let has = |name: &str| found.has(name);
    let kind = found.value("type").unwrap_or_default();
    let format = match kind {
        "session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted"
        | "world_state"
            if has("payload") =>
        {
            Format::Codex
        }
        "message" if has("message") && has("id") => Format::Pi,
        "session" if has("id") && has("timestamp") => Format::Pi,
        "function_call" | "function_call_output" | "reasoning"
            if has("call_id") || has("summary") =>
        {
            Format::Codex
        }
        "message" if has("role") && has("content") => Format::Codex,
        _ if kind.starts_with("thread.") || is_exec_event(kind, found) => Format::CodexExec,
        _ if has("data") && is_copilot_event(kind) => Format::Copilot,
        _ if has("$set") || has("$rewindTo") || (has("sessionId") && has("projectHash")) => {
            Format::Gemini
        }
        "user" | "gemini" | "info" if has("id") && has("content") && !has("message") => {
            Format::Gemini
        }
        _ if has("run_type") && (has("inputs") || has("outputs")) => Format::LangSmith,
        _ if CLAUDE_TYPES.contains(&kind) && CLAUDE_MEMBERS.iter().any(|name| has(name)) => {
            Format::Claude
        }
        _ => return of_other_members(found),
    };
    Some(format)
}

/// Members that hold lists of spans or log records.
const SPAN_LISTS: [&str; 5] =
    ["resourceSpans", "resource_spans", "scopeSpans", "resourceLogs", "scopeLogs"];
/// Members of which a span or a log record has one.
const SPAN_IDS: [&str; 4] = ["traceId", "trace_id", "spanId", "context"];

/// The same, of what has no type.
fn of_other_members(found: &Peek) -> Option<Format> {
    let has = |name: &str| found.has(name);
    if has("loglines") || (has("parentUuid") && has("sessionId")) {
        Some(Format::Claude)
    } else if SPAN_LISTS.iter().any(|name| has(name))
        || (has("attributes") && SPAN_IDS.iter().any(|name| has(name)))
    {
        Some(Format::Otel)
    } else if has("mapping") && (has("current_node") || has("create_time") || has("title")) {
        Some(Format::ChatGpt)
    } else if (has("requests") && (has("responderUsername") || has("version") || has("sessionId")))
        || (has("kind") && has("v") && found.value("kind").is_some_and(|k| k.len() == 1))
    {
        Some(Format::VsCode)
    } else if has("messages") && has("info") {
        Some(Format::OpenCode)
    } else if has("sessionId") && has("messages") && (has("startTime") || has("lastUpdated")) {
        Some(Format::Gemini)
    } else if has("bubbleId") || has("composerId") || has("fullConversationHeadersOnly") {
        Some(Format::Cursor)
    } else if has("role") && has("message") {
        Some(Format::CursorTranscript)
    } else if has("messages") || has("conversation") || (has("role") && has("content")) {
        Some(Format::Plain)
    } else {
        None
    }
}

fn is_exec_event(kind: &str, found: &Peek) -> bool {
    (kind.starts_with("item.") && found.has("item"))
        || ["turn.started", "turn.completed", "turn.failed"].contains(&kind)
}

fn is_copilot_event(kind: &str) -> bool {
    ["session.", "user.", "assistant.", "tool.", "system.", "hook.", "subagent."]
        .iter()
        .any(|start| kind.starts_with(start))
}

fn of_markdown(line: &str) -> Option<Format> {
    if line.starts_with("# aider chat started at") {
        Some(Format::Aider)
    } else if line.starts_with("_**User") || line.contains("Generated by SpecStory") {
        Some(Format::SpecStory)
    } else if line.starts_with("**GitHub Copilot:**") || line.starts_with("GitHub Copilot: ") {
        Some(Format::CopilotMarkdown)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_found_by_content() {
        use Format as F;
        use Shape::{Document, Folder, Lines};
        for (head, format, shape) in [
            (r#"{"type":"summary","leafUuid":"x"}"#, F::Claude, Lines),
            (
                r#"{"type":"new"}
{"type":"user","uuid":"1","message":{"#,
                F::Claude,
                Lines,
            ),
            (r#"{"timestamp":"t","type":"session_meta","payload":{"id":"#, F::Codex, Lines),
            (r#"{"type":"thread.started","thread_id":"x"}"#, F::CodexExec, Lines),
            (
                r#"{"sessionId":"a","projectHash":"b"}
{"$set":{}}"#,
                F::Gemini,
                Lines,
            ),
            (r#"{"sessionId":"a","projectHash":"b","messages":["#, F::Gemini, Document),
            ("{\n \"info\": {}, \"messages\": []}", F::OpenCode, Document),
            (
                r#"{"messages":[]}
{"messages":[]}"#,
                F::Plain,
                Lines,
            ),
            (r#"{"messages":[]}"#, F::Plain, Document),
            (r#"[{"role":"user","content":""}]"#, F::Plain, Document),
            (r#"{"role":"user","content":"a"}"#, F::Plain, Lines),
            (r#"[{"title":"t","mapping":{"a":{}}}]"#, F::ChatGpt, Document),
            (r#"{"type":"session","version":3,"id":"a","timestamp":"t"}"#, F::Pi, Lines),
            (r#"{"type":"user.message","data":{}}"#, F::Copilot, Lines),
            (r#"{"kind":0,"v":{}}"#, F::VsCode, Lines),
            (r#"{"_v":3,"bubbleId":"a"}"#, F::Cursor, Lines),
            (r#"{"role":"user","message":{}}"#, F::CursorTranscript, Lines),
            (r#"{"resourceSpans":[]}"#, F::Otel, Lines),
            (r#"{"timestamp":"t","type":"response_item","payl"#, F::Codex, Lines),
            (r#"{"parentUuid":"u","isSidech"#, F::Claude, Lines),
            (r#"{"type":"summary","summary":"the user wa"#, F::Claude, Lines),
            (r#"{"id":"ses_1","version":"1","projectID":"p","time":{}}"#, F::OpenCode, Folder),
            (r#"{"id":"a","run_type":"llm","inputs":{}}"#, F::LangSmith, Lines),
            ("user:\n<user_query>\nwhy?\n</user_query>\n", F::CursorText, Lines),
            ("\n# aider chat started at 2024-01-01 00:00:00\n", F::Aider, Lines),
            ("<!-- Generated by SpecStory -->", F::SpecStory, Lines),
            ("# me: do it\n\n**GitHub Copilot:** done", F::CopilotMarkdown, Lines),
        ] {
            assert_eq!(detect(head.as_bytes()), Some((Some(format), shape)), "{head}");
        }
        assert_eq!(detect(b"SQLite format 3\0..."), Some((None, Shape::Database)));
        let others = [
            "",
            "hello",
            "{}",
            "[]",
            "{\"a\":1}",
            "\u{0}",
            "{\"type\":\"user\",\"te",
            "user:\nhi\n",
        ];
        for head in others {
            assert_eq!(detect(head.as_bytes()), None, "{head}");
        }
    }
}
