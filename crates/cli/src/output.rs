//! The only place that prints. Data goes to standard output, everything else to standard error.
//!
//! Invariant: no byte of stored or typed text reaches a terminal except through [`crate::escape`].
//! Every method here escapes what it is given; callers cannot forget to.

use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use clap::ColorChoice;
use serde::Serialize;
use serde_json::json;

use crate::error::{CliError, Result};
use crate::escape::{self, SafeJson};
use crate::open_json::{self, End};
use crate::wire::{ErrorOut, WarningOut};

/// Most bytes of a message for programs, or of a usage text: a caller may well read standard error
/// only when standard output has ended, so all of it must fit a pipe, even when every byte of it is
/// written as an escape.
const MESSAGE_BYTES_MAX: usize = 8 << 10;

/// Narrowest terminal that lines are fitted to, in columns; a narrower one breaks them itself.
const COLUMNS_MIN: usize = 20;

/// How a piece of text stands out where colour may be used. Never the only sign of what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Plain,
    /// A name.
    Strong,
    /// What matters less.
    Faint,
    /// A matched word.
    Marked,
    /// A line that only the newer side has.
    Added,
    /// A line that only the older side has.
    Removed,
}

impl Look {
    fn style(self) -> Style {
        match self {
            Look::Plain => Style::new(),
            Look::Strong | Look::Marked => Style::new().bold(),
            Look::Faint => Style::new().dimmed(),
            Look::Added => AnsiColor::Green.on_default(),
            Look::Removed => AnsiColor::Red.on_default(),
        }
    }
}

/// Text for one line, and how it looks.
#[derive(Clone, Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) look: Look,
}

impl<'a> Piece<'a> {
    pub(crate) fn plain(text: impl Into<Cow<'a, str>>) -> Piece<'a> {
        Piece { text: text.into(), look: Look::Plain }
    }

    pub(crate) fn strong(text: impl Into<Cow<'a, str>>) -> Piece<'a> {
        Piece { text: text.into(), look: Look::Strong }
    }

    pub(crate) fn faint(text: impl Into<Cow<'a, str>>) -> Piece<'a> {
        Piece { text: text.into(), look: Look::Faint }
    }
}

/// Where a command's answer goes.
pub(crate) struct Output {
    json: bool,
    out: BufWriter<Stdout>,
    color: ColorChoice,
    styled: Option<bool>,
    columns: Option<Option<usize>>,
    /// End of the JSON that was printed last, withheld for the warnings to come.
    end: Option<End>,
    /// Warnings for programs that are not printed yet.
    warnings: Vec<WarningOut>,
}

impl Output {
    pub(crate) fn new(json: bool, color: ColorChoice) -> Output {
        let out = BufWriter::with_capacity(32 << 10, io::stdout());
        let warnings = Vec::new();
        Output { json, out, color, styled: None, columns: None, end: None, warnings }
    }

    /// Prints JSON from here on.
    pub(crate) fn say_json(&mut self) {
        self.json = true;
    }

    /// Whether the caller is a program.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether styles may be used: as asked, else on a terminal unless NO_COLOR is set. Looked up
    /// once, on demand.
    fn styled(&mut self) -> bool {
        let color = self.color;
        *self.styled.get_or_insert_with(|| match color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never,
        })
    }

    /// Columns of the terminal that standard output is; none when it is a file or a pipe.
    pub(crate) fn columns(&mut self) -> Option<usize> {
        *self.columns.get_or_insert_with(|| {
            let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
            Some(usize::from(width.0)).filter(|columns| *columns >= COLUMNS_MIN)
        })
    }

    /// Prints one JSON value and a newline. The end of an object is withheld: warnings may follow,
    /// and it holds them.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<()> {
        end_json(self)?;
        let end = open_json::write(&mut self.out, value);
        self.end = Some(end.map_err(|error| CliError::stdout(&error))?);
        Ok(())
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

    /// Prints text that stands out where styles may be used.
    pub(crate) fn strong(&mut self, text: &str) -> Result<()> {
        let styled = self.with_look(&escape::body(text), Look::Strong);
        self.bytes(styled.as_bytes())
    }

    /// Prints text that stands back where styles may be used.
    pub(crate) fn faint(&mut self, text: &str) -> Result<()> {
        let styled = self.with_look(&escape::body(text), Look::Faint);
        self.bytes(styled.as_bytes())
    }

    /// Prints pieces as one line. On a terminal it is broken between words, and what follows is
    /// indented.
    pub(crate) fn pieces(&mut self, pieces: &[Piece<'_>], indent: usize) -> Result<()> {
        let mut line = String::new();
        for piece in pieces {
            line.push_str(&self.with_look(&escape::line(&piece.text), piece.look));
        }
        let line = match self.columns() {
            Some(columns) => fitted(&line, columns, &" ".repeat(indent)),
            None => line,
        };
        self.bytes(line.as_bytes())?;
        self.bytes(b"\n")
    }

    /// Prints stored text of several lines, and ends the last one. On a terminal long lines are
    /// broken between words.
    pub(crate) fn body(&mut self, text: &str) -> Result<()> {
        let text = escape::body(text.strip_suffix('\n').unwrap_or(text));
        let Some(columns) = self.columns() else {
            self.bytes(text.as_bytes())?;
            return self.bytes(b"\n");
        };
        for line in text.split('\n') {
            let margin: String = line.chars().take_while(|c| *c == ' ').collect();
            self.bytes(fitted(line, columns, &margin).as_bytes())?;
            self.bytes(b"\n")?;
        }
        Ok(())
    }

    /// The text, which is harmless already, with its style around it where styles may be used.
    fn with_look(&mut self, text: &str, look: Look) -> String {
        let style = look.style();
        if self.styled() { format!("{style}{text}{style:#}") } else { text.to_string() }
    }

    /// Prints bytes exactly, for a file or a pipe; a terminal gets them escaped, and their last
    /// line ended: a prompt that follows on the same line may take its place.
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
        end_json(self)?;
        self.out.write_all(bytes).map_err(|error| CliError::stdout(&error))
    }

    /// Hands everything printed so far to the operating system; the last answer is whole.
    pub(crate) fn flush(&mut self) -> Result<()> {
        end_json(self)?;
        self.out.flush().map_err(|error| CliError::stdout(&error))
    }

    /// Says what was lost, left out or done in a lesser way: to people on standard error, to
    /// programs in the answer. The code is a stable name for it.
    pub(crate) fn warn(&mut self, code: &'static str, message: &str) {
        if self.json {
            self.warnings.push(WarningOut { code, message: message.to_string() });
        } else {
            complain(&format!("warning: {}\n", escape::line(message)));
        }
    }

    /// Ends the answer of a call that failed. Returns the warnings that no answer holds.
    pub(crate) fn fail(&mut self) -> Vec<WarningOut> {
        // The failure is what counts; that standard output is broken may well be it.
        let _reported_already = self.flush();
        std::mem::take(&mut self.warnings)
    }

    /// Prints something for people that is not the answer, to standard error.
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

/// Prints the end of the last JSON value, with the warnings so far.
fn end_json(output: &mut Output) -> Result<()> {
    let Some(end) = output.end.take() else { return Ok(()) };
    let warnings =
        if end.takes_fields() { std::mem::take(&mut output.warnings) } else { Vec::new() };
    end.write(&mut output.out, &warnings).map_err(|error| CliError::stdout(&error))
}

impl Drop for Output {
    fn drop(&mut self) {
        let left = self.fail();
        if !left.is_empty() {
            complain(&json_line(&json!({ "warnings": left })));
        }
    }
}

/// A line broken between words so that it fits. A word that is too long stays whole.
fn fitted(line: &str, columns: usize, margin: &str) -> String {
    let options = textwrap::Options::new(columns)
        .subsequent_indent(margin)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit);
    textwrap::fill(line, options)
}

/// The beginning of a text that fits so many columns, cut after a word; the cut is shown by `…`.
pub(crate) fn shortened_to(text: &str, columns: usize) -> String {
    if textwrap::core::display_width(text) <= columns {
        return text.to_string();
    }
    let room = columns.saturating_sub(1);
    let mut end = 0;
    for (at, _) in text.match_indices(' ').chain([(text.len(), "")]) {
        if textwrap::core::display_width(&text[..at]) > room {
            break;
        }
        end = at;
    }
    let kept = text[..end].trim_end();
    // A single word longer than the line is cut within.
    let kept = if kept.is_empty() { chars_that_fit(text, room) } else { kept };
    format!("{kept}…")
}

fn chars_that_fit(text: &str, columns: usize) -> &str {
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let end = ends.take_while(|end| textwrap::core::display_width(&text[..*end]) <= columns).last();
    &text[..end.unwrap_or(0)]
}

/// How errors are reported.
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
    complain(&error_text(error, style));
}

/// A failure as it is printed.
pub(crate) fn error_text(error: &CliError, style: ErrorStyle) -> String {
    match style {
        ErrorStyle::People => error_for_people(error),
        ErrorStyle::Json => json_line(&ErrorOut::from(error)),
        ErrorStyle::Svc => json_line(&json!({ "error": shortened(&error.message) })),
    }
}

fn error_for_people(error: &CliError) -> String {
    let mut text = format!("error: {}\n", escape::line(&error.message));
    if let Some(hint) = &error.hint {
        text.push_str(&format!("hint: {}\n", escape::line(hint)));
    }
    text
}

/// Says in one line why a call did nothing that ends well all the same.
pub(crate) fn failed_open(message: &str) {
    complain(&format!("{}\n", escape::line(&shortened(message))));
}

/// Asks for a line on the terminal.
pub(crate) fn prompt(question: &str) {
    complain(&escape::line(question));
}

/// Prints a text of several lines to standard error, such as how a command is called.
pub(crate) fn usage(text: &str) {
    complain(&escape::body(&shortened(text)));
}

/// A text without its middle where it is too long: what is wrong stands at its beginning or at its
/// end, what was typed between them.
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

/// Prints help or version. Made by this program, so its styles are kept where styles may be used.
pub(crate) fn help(text: &clap::builder::StyledStr, color: ColorChoice) -> Result<()> {
    let mut output = Output::new(false, color);
    let text = if output.styled() { text.ansi().to_string() } else { text.to_string() };
    output.own(text.as_bytes())?;
    output.flush()
}

fn json_line(value: &impl Serialize) -> String {
    let mut line = Vec::new();
    let written = write_json(&mut line, value);
    debug_assert!(written.is_ok(), "memory can be written to");
    String::from_utf8_lossy(&line).into_owned()
}

/// Writes to standard error. When that fails there is nowhere left to report it.
fn complain(text: &str) {
    let _nowhere_left_to_report = io::stderr().write_all(text.as_bytes());
}

/// Writes one JSON value and a newline, with nothing in it that acts on a terminal.
pub(crate) fn write_json(writer: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    value
        .serialize(&mut serde_json::Serializer::with_formatter(&mut *writer, SafeJson))
        .map_err(io::Error::from)?;
    writer.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(fitted("one two three four", 10, "  "), "one two\n  three\n  four");
        assert_eq!(fitted("a averyveryverylongword b", 10, ""), "a\naveryveryverylongword\nb");
        let styled = format!("{s}one two{s:#} three", s = Look::Strong.style());
        assert_eq!(fitted(&styled, 13, ""), styled, "styles take no room");
        assert_eq!(fitted("日本 語文 x", 6, ""), "日本\n語文 x");
    }

    #[test]
    fn a_text_is_cut_after_a_word() {
        assert_eq!(shortened_to("one two three", 13), "one two three");
        assert_eq!(shortened_to("one two three", 12), "one two…");
        assert_eq!(shortened_to("one two three", 8), "one two…");
        assert_eq!(shortened_to("one two three", 7), "one…");
        assert_eq!(shortened_to("averylongword", 5), "aver…");
        assert_eq!(shortened_to("日本語", 5), "日本…");
    }

    #[test]
    fn long_messages_lose_their_middle_and_fit_a_pipe() {
        assert_eq!(shortened("short"), "short");
        for long in ["a", "\u{1b}", "\u{202e}", "\u{10ffff}", "🐙"] {
            let text = format!("cannot open {}: it is too long", long.repeat(100_000));
            let short = shortened(&text);
            assert!(short.len() <= MESSAGE_BYTES_MAX + 8 && short.contains(" … "), "{long:?}");
            assert!(
                short.starts_with("cannot open ") && short.ends_with(": it is too long"),
                "{long:?}"
            );
            let mut json = Vec::new();
            write_json(&mut json, &short).expect("serialises");
            assert!(
                json.len() < 64 << 10 && escape::body(&short).len() < 64 << 10,
                "{long:?}: {}",
                json.len()
            );
        }
    }

    #[test]
    fn errors_are_escaped_in_every_style() {
        let error = CliError::user("x", "bad \x1b[31m").hint("try\n\u{202e}").field("line", 3);
        assert_eq!(error_for_people(&error), "error: bad \\x1b[31m\nhint: try\\n\\u{202e}\n");
        let mut json = Vec::new();
        write_json(&mut json, &ErrorOut::from(&error)).expect("serialises");
        let want = "{\"error\":{\"code\":\"x\",\"message\":\"bad \\u001b[31m\",\"hint\":\"try\\n\\u202e\",\"line\":3},";
        assert!(String::from_utf8_lossy(&json).starts_with(want));
    }
}
