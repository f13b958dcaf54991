//! One reader for each format: records go in, sessions come out. Knows no file.

mod adapter;
mod chatgpt;
mod claude;
mod codex;
mod copilot;
mod cursor;
mod cursor_text;
pub(crate) mod database;
mod gemini;
mod langsmith;
mod markdown;
mod opencode;
mod otel;
mod pi;
mod plain;
pub(crate) mod storage;
mod threads;
mod vscode;

pub(crate) use adapter::{Adapter, Context, Record};

use crate::detect::Format;

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
        Format::CursorText => Box::new(cursor_text::CursorText::new(context)),
        Format::VsCode => Box::new(vscode::VsCode::new(context)),
        Format::Otel => Box::new(otel::Otel::new(context)),
        Format::LangSmith => Box::new(langsmith::LangSmith::new(context)),
        Format::Plain => Box::new(plain::Plain::new(context)),
    }
}
