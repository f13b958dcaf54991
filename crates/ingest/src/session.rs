//! The normal form: what was said, by whom, and where it stands. Knows nothing of formats.

use serde_json::Value;

use crate::Skipped;

/// The program that wrote a trace, or the form of it where no program is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "names of programs")]
pub enum Agent {
    Claude,
    Codex,
    Gemini,
    OpenCode,
    Cursor,
    Copilot,
    Pi,
    Aider,
    SpecStory,
    ChatGpt,
    /// Messages with a role and a content, and nothing else in common.
    Plain,
    /// Spans with the attributes `gen_ai.*`.
    Otel,
    LangSmith,
}

impl Agent {
    /// Every agent.
    pub const ALL: [Self; 13] = [
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::OpenCode,
        Self::Cursor,
        Self::Copilot,
        Self::Pi,
        Self::Aider,
        Self::SpecStory,
        Self::ChatGpt,
        Self::Plain,
        Self::Otel,
        Self::LangSmith,
    ];

    /// The name by which commands know it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
            Self::Cursor => "cursor",
            Self::Copilot => "copilot",
            Self::Pi => "pi",
            Self::Aider => "aider",
            Self::SpecStory => "specstory",
            Self::ChatGpt => "chatgpt",
            Self::Plain => "plain",
            Self::Otel => "otel",
            Self::LangSmith => "langsmith",
        }
    }
}

/// One conversation with an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// What the format identifies it by; the stem of the file where the format does not.
    pub id: String,
    /// Who wrote it.
    pub agent: Agent,
    /// The folder that the agent worked in.
    pub cwd: Option<String>,
    /// The repository, as the trace names it: an address or `owner/name`.
    pub repo: Option<String>,
    /// The branch of the repository.
    pub branch: Option<String>,
    /// Microseconds since 1970 of the first record with a time.
    pub started: Option<i64>,
    /// Microseconds since 1970 of the last record with a time.
    pub ended: Option<i64>,
    /// The session whose agent started this one: nobody but that agent speaks to a sub-agent.
    pub parent: Option<String>,
    /// What was said and done, in the order of the file.
    pub turns: Vec<Turn>,
    /// What could not be used.
    pub skipped: Skipped,
}

/// Who is heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Speaker {
    /// A person.
    User,
    /// The model.
    Assistant,
    /// What a tool returned.
    Tool,
    /// What the program put in: instructions of a project, reminders, environment, expanded
    /// commands, summaries, the prompts that one agent gives another.
    Injected,
}

/// What a turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum TurnKind {
    Text,
    Reasoning,
    ToolCall,
    ToolResult,
}

/// One thing said or done.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// Who is heard.
    pub speaker: Speaker,
    /// What it is.
    pub kind: TurnKind,
    /// The words; of a result its head and its tail; of a call nothing.
    pub text: String,
    /// The call, of a [`TurnKind::ToolCall`].
    pub call: Option<Call>,
    /// What came of a call, of a [`TurnKind::ToolResult`].
    pub result: Option<ToolResult>,
    /// Microseconds since 1970.
    pub at: Option<i64>,
    /// Where it stands in its file.
    pub place: Place,
}

/// A tool that was called.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// By which its result names it; empty where the format has no ids.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments, decoded also where the trace holds them as a text.
    pub arguments: Value,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// The [`Call::id`] that it answers; empty where the format has no ids.
    pub call: String,
    /// Whether it worked.
    pub outcome: Outcome,
}

/// Whether a call worked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// It did.
    Ok,
    /// It did not.
    Failed {
        /// The exit code, of a command that has one.
        exit: Option<i32>,
    },
    /// The user, or a rule of theirs, did not allow it.
    Refused,
    /// The trace does not say.
    Unknown,
}

/// Where a turn stands in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Lines, counted from 1.
    Lines {
        /// The first line.
        first: u64,
        /// The last line.
        last: u64,
    },
    /// The message of a document or a database, counted from 0.
    Message(u64),
}

impl Place {
    /// One line, counted from 1.
    pub fn line(number: u64) -> Self {
        Self::Lines { first: number, last: number }
    }

    /// From the start of one to the end of the other.
    pub fn to(self, other: Self) -> Self {
        match (self, other) {
            (Self::Lines { first, .. }, Self::Lines { last, .. }) => Self::Lines { first, last },
            _ => self,
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Lines { first, last } if first == last => write!(f, "{first}"),
            Self::Lines { first, last } => write!(f, "{first}-{last}"),
            Self::Message(index) => write!(f, "m{index}"),
        }
    }
}
