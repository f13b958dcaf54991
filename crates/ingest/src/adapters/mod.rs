//! One reader for each format: records go in, sessions come out. Knows no file.

mod chatgpt;
mod claude;
mod codex;
mod copilot;
mod cursor;
pub(crate) mod database;
mod gemini;
mod langsmith;
mod markdown;
mod opencode;
mod otel;
mod pi;
mod plain;
mod threads;
mod vscode;

use std::path::PathBuf;

use crate::detect::Format;
use crate::output::Output;
use crate::session::Place;

/// A line, or an element of a list in a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'a> {
    pub(crate) text: &'a str,
    pub(crate) place: Place,
    /// The member of the document whose list it is in; empty for lines and top lists.
    pub(crate) list: &'a str,
}

/// What is known of a trace beside its bytes.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    /// Identifies the session where its format does not.
    pub(crate) stem: String,
    /// The folder in which outputs of its tools may be.
    pub(crate) outputs: Option<PathBuf>,
}

/// A record is not JSON, or not of the kind that the format has; nothing was taken from it.
#[derive(Debug)]
pub(crate) struct NotJson;

/// The reader of one format, for one file.
pub(crate) trait Adapter {
    /// Takes one record.
    fn record(&mut self, record: &Record<'_>, output: &mut Output<'_>) -> Result<(), NotJson>;

    /// Takes a member of the document that is not a list.
    fn member(&mut self, _name: &str, _text: &str, _output: &mut Output<'_>) {}

    /// There is no more.
    fn end(&mut self, output: &mut Output<'_>);
}

/// The reader of a format.
pub(crate) fn of(format: Format, context: Context) -> Box<dyn Adapter> {
    match format {
        Format::Claude => Box::new(claude::Claude::new(context)),
        Format::Codex | Format::CodexExec => Box::new(codex::Codex::new(context)),
        Format::Gemini => Box::new(gemini::Gemini::new(context)),
        Format::OpenCode => Box::new(opencode::OpenCode::new(context)),
        Format::Pi => Box::new(pi::Pi::new(context)),
        Format::Aider | Format::SpecStory | Format::CopilotMarkdown => {
            Box::new(markdown::Markdown::new(format, context))
        }
        Format::ChatGpt => Box::new(chatgpt::ChatGpt::new(context)),
        Format::Copilot => Box::new(copilot::Copilot::new(context)),
        Format::Cursor => Box::new(cursor::Cursor::new(context)),
        Format::CursorTranscript => Box::new(cursor::CursorTranscript::new(context)),
        Format::VsCode => Box::new(vscode::VsCode::new(context)),
        Format::Otel => Box::new(otel::Otel::new(context)),
        Format::LangSmith => Box::new(langsmith::LangSmith::new(context)),
        Format::Plain => Box::new(plain::Plain::new(context)),
    }
}
