//! The only place that prints. Data goes to standard output, everything else to standard error.
//!
//! Invariant: no byte of stored or typed text reaches a terminal except through [`crate::escape`]. Every method here escapes what it is given; callers cannot forget to.

use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use serde::Serialize;
use serde_json::json;

use crate::error::{CliError, Result};
use crate::escape::{self, SafeJson};
use crate::wire::ErrorOut;

/// Most bytes of a message for programs, or of how a command is called: a caller may well read standard error only when standard
/// output has ended, so all of it must fit a pipe, even when every byte of it is written as an escape.
const MESSAGE_BYTES_MAX: usize = 8 << 10;

/// Where a command's answer goes.
pub(crate) struct Output {
    json: bool,
    out: BufWriter<Stdout>,
    styled: Option<bool>,
}

impl Output {
    pub(crate) fn new(json: bool) -> Output {
        Output { json, out: BufWriter::with_capacity(32 << 10, io::stdout()), styled: None }
    }

    /// Prints JSON from here on.
    pub(crate) fn say_json(&mut self) {
        self.json = true;
    }

    /// Whether the caller is a program.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether standard output is a terminal that may be coloured. Looked up once, and only when asked.
    fn styled(&mut self) -> bool {
        *self
            .styled
            .get_or_insert_with(|| io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()))
    }

    /// Prints one JSON value and a newline.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<()> {
        write_json(&mut self.out, value).map_err(|error| CliError::stdout(&error))
    }

    /// Prints text that may hold newlines.
    pub(crate) fn text(&mut self, text: &str) -> Result<()> {
        self.bytes(escape::body(text).as_bytes())
    }

    /// Prints text and a newline.
    pub(crate) fn line(&mut self, text: &str) -> Result<()> {
        self.text(text)?;
        self.bytes(b"\n")
    }

    /// Prints text that stands out where the terminal can.
    pub(crate) fn strong(&mut self, text: &str) -> Result<()> {
        self.wrapped("\x1b[1m", text, "\x1b[0m", "")
    }

    /// Prints text that stands back where the terminal can.
    pub(crate) fn faint(&mut self, text: &str) -> Result<()> {
        self.wrapped("\x1b[2m", text, "\x1b[0m", "")
    }

    /// Prints a matched word: bold in a terminal, `**word**` elsewhere.
    pub(crate) fn marked(&mut self, text: &str) -> Result<()> {
        self.wrapped("\x1b[1m", text, "\x1b[0m", "**")
    }

    fn wrapped(&mut self, on: &str, text: &str, off: &str, plain: &str) -> Result<()> {
        let (before, after) = if self.styled() { (on, off) } else { (plain, plain) };
        self.bytes(before.as_bytes())?;
        self.text(text)?;
        self.bytes(after.as_bytes())
    }

    /// Prints bytes exactly, for a file or a pipe; a terminal gets them escaped, and their last line ended: a prompt that follows
    /// on the same line may take its place.
    pub(crate) fn exact(&mut self, text: &str) -> Result<()> {
        match text {
            _ if !io::stdout().is_terminal() => self.bytes(text.as_bytes()),
            "" => Ok(()),
            _ => self.line(text.strip_suffix('\n').unwrap_or(text)),
        }
    }

    /// Prints text that this program made itself, such as a manual page.
    pub(crate) fn own(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes(bytes)
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|error| CliError::stdout(&error))
    }

    /// Hands everything printed so far to the operating system.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.out.flush().map_err(|error| CliError::stdout(&error))
    }

    /// Tells people something that is not the answer.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.json {
            complain(&format!("{}\n", escape::line(text)));
        }
    }

    /// Asks on the terminal, yes or no. `None` when there is no terminal to ask on.
    pub(crate) fn ask(&mut self, question: &str) -> Option<bool> {
        if self.json || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return None;
        }
        complain(&format!("{} [y/N] ", escape::line(question)));
        let mut answer = String::new();
        io::stdin().read_line(&mut answer).ok()?;
        Some(matches!(answer.trim(), "y" | "Y" | "yes"))
    }
}

/// How errors are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorStyle {
    /// `error:` and `hint:` lines.
    People,
    /// `{"error":{"code","message",…}}`.
    Json,
    /// `{"error": message}`, as the clients of `svc` read it.
    Svc,
}

/// Prints a failure to standard error.
pub(crate) fn error(error: &CliError, style: ErrorStyle) {
    match style {
        ErrorStyle::People => complain(&error_for_people(error)),
        ErrorStyle::Json => complain_json(&ErrorOut::from(error)),
        ErrorStyle::Svc => complain_json(&json!({ "error": shortened(&error.message) })),
    }
}

fn error_for_people(error: &CliError) -> String {
    let mut text = format!("error: {}\n", escape::line(&error.message));
    if let Some(hint) = &error.hint {
        text.push_str(&format!("hint: {}\n", escape::line(hint)));
    }
    text
}

/// Asks for a line on the terminal.
pub(crate) fn prompt(question: &str) {
    complain(&escape::line(question));
}

/// Prints a text of several lines to standard error, such as how a command is called.
pub(crate) fn usage(text: &str) {
    complain(&escape::body(&shortened(text)));
}

/// A text without its middle where it is too long: what is wrong stands at its beginning or at its end, what was typed between them.
fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= MESSAGE_BYTES_MAX {
        return Cow::Borrowed(text);
    }
    let half = MESSAGE_BYTES_MAX / 2;
    let is_boundary = |at: &usize| text.is_char_boundary(*at);
    let head = (0..=half).rev().find(is_boundary).unwrap_or(0);
    let tail = (text.len() - half..text.len()).find(is_boundary).unwrap_or(text.len());
    Cow::Owned(format!("{} … {}", &text[..head], &text[tail..]))
}

/// Prints help or version. Made by this program, so its styles are kept for a terminal.
pub(crate) fn help(text: &clap::builder::StyledStr) -> Result<()> {
    let mut output = Output::new(false);
    let text = if output.styled() { text.ansi().to_string() } else { text.to_string() };
    output.own(text.as_bytes())?;
    output.flush()
}

fn complain_json(value: &impl Serialize) {
    let mut line = Vec::new();
    if write_json(&mut line, value).is_ok() {
        complain(&String::from_utf8_lossy(&line));
    }
}

/// Writes to standard error. Nobody is left to be told when that fails.
fn complain(text: &str) {
    let _nobody_is_left_to_be_told = io::stderr().write_all(text.as_bytes());
}

/// Writes one JSON value and a newline, with nothing in it that acts on a terminal.
pub(crate) fn write_json(writer: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut *writer, SafeJson)).map_err(io::Error::from)?;
    writer.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_lose_their_middle_and_fit_a_pipe() {
        assert_eq!(shortened("short"), "short");
        for long in ["a", "\u{1b}", "\u{202e}", "\u{10ffff}", "🐙"] {
            let text = format!("cannot open {}: it is too long", long.repeat(100_000));
            let short = shortened(&text);
            assert!(short.len() <= MESSAGE_BYTES_MAX + 8 && short.contains(" … "), "{long:?}");
            assert!(short.starts_with("cannot open ") && short.ends_with(": it is too long"), "{long:?}");
            let mut json = Vec::new();
            write_json(&mut json, &short).expect("serialises");
            assert!(json.len() < 64 << 10 && escape::body(&short).len() < 64 << 10, "{long:?}: {}", json.len());
        }
    }

    #[test]
    fn errors_are_escaped_in_every_style() {
        let error = CliError::user("x", "bad \x1b[31m").hint("try\n\u{202e}").field("line", 3);
        assert_eq!(error_for_people(&error), "error: bad \\x1b[31m\nhint: try\\n\\u{202e}\n");
        let mut json = Vec::new();
        write_json(&mut json, &ErrorOut::from(&error)).expect("serialises");
        let want = "{\"error\":{\"code\":\"x\",\"message\":\"bad \\u001b[31m\",\"hint\":\"try\\n\\u202e\",\"line\":3}}\n";
        assert_eq!(String::from_utf8_lossy(&json), want);
    }
}
