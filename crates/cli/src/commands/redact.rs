//! `redact`: a file without its secrets and addresses of mail, or what would go from it.
//!
//! Knows no capsule. Files of JSON, or of lines of it, are read line by line, whatever their size;
//! any other text is read whole, since a key has many lines.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use kapsa_redact::{RULES_VERSION, Redacted, redact, redact_json};

use crate::app::App;
use crate::args::Redact;
use crate::error::{CliError, Result};
use crate::output::Piece;
use crate::wire::redact::{RedactOut, RedactionFoundOut};

use super::text::standard_input;

/// Longest line of JSON, and longest text that is no JSON, in bytes.
const PART_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Read ahead, in bytes.
const BUFFER_BYTES: usize = 256 * 1024;

/// `kapsa redact`.
pub(crate) fn run(app: &mut App, args: &Redact) -> Result<()> {
    let name = if args.file == "-" { "standard input" } else { &args.file };
    let mut source = open(args)?;
    let mut findings =
        Findings { json: app.out.is_json(), check: args.check, ..Findings::default() };
    let is_json = is_json(source.fill_buf().map_err(|error| unreadable(name, &error))?);
    let mut line = 1;
    while let Some(part) = next_part(&mut *source, name, line, is_json)? {
        let redacted = if is_json { redact_json(&part) } else { redact(&part) };
        findings.add(app, &part, &redacted, line)?;
        line += lines_of(&part);
    }
    findings.finish(app, name)
}

fn open(args: &Redact) -> Result<Box<dyn BufRead>> {
    if args.file == "-" {
        return Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, standard_input()?)));
    }
    let file = File::open(&args.file).map_err(|error| unreadable(&args.file, &error))?;
    Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, file)))
}

fn unreadable(name: &str, error: &std::io::Error) -> CliError {
    CliError::io(&format!("read {name}"), error)
}

/// Whether a file that begins like this holds JSON or lines of it.
fn is_json(beginning: &[u8]) -> bool {
    let beginning = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning);
    matches!(beginning.trim_ascii_start().first(), Some(b'{' | b'['))
}

/// The next line of JSON with its end, or all of any other text; bytes that are no text are
/// replaced by the sign for that.
fn next_part(
    source: &mut dyn BufRead,
    name: &str,
    line: usize,
    is_json: bool,
) -> Result<Option<String>> {
    let mut bytes = Vec::new();
    let mut limited = source.take(PART_BYTES_MAX as u64 + 1);
    let read = match is_json {
        true => limited.read_until(b'\n', &mut bytes),
        false => limited.read_to_end(&mut bytes),
    };
    read.map_err(|error| unreadable(name, &error))?;
    if bytes.len() > PART_BYTES_MAX {
        let mib = PART_BYTES_MAX / (1024 * 1024);
        let what = if is_json { format!("line {line} of {name}") } else { name.to_string() };
        let message = format!("{what} is longer than {mib} MiB");
        return Err(CliError::user("too_large", message).hint("split it and redact its parts"));
    }
    let text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Ok(Some(text).filter(|text| !text.is_empty()))
}

fn lines_of(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// What was found so far.
#[derive(Default)]
struct Findings {
    json: bool,
    check: bool,
    text: String,
    found: Vec<RedactionFoundOut>,
    counts: BTreeMap<&'static str, usize>,
}

impl Findings {
    fn add(&mut self, app: &mut App, part: &str, redacted: &Redacted, line: usize) -> Result<()> {
        let (mut at, mut line, mut column) = (0, line, 1);
        for span in &redacted.spans {
            *self.counts.entry(span.rule).or_default() += 1;
            // On from the last one: a line may be long, and hold many.
            let between = &part[at..span.range.start];
            line += lines_of(between);
            column = match between.rsplit_once('\n') {
                Some((_, begun)) => begun.chars().count() + 1,
                None => column + between.chars().count(),
            };
            at = span.range.start;
            let found =
                RedactionFoundOut { line, column, rule: span.rule, bytes: span.range.len() };
            if self.json {
                self.found.push(found);
            } else if self.check {
                app.out.pieces(
                    &[
                        Piece::strong(format!("{line}:{column}")),
                        Piece::plain(format!("  {}", found.rule)),
                        Piece::faint(format!("  {} bytes", found.bytes)),
                    ],
                    2,
                )?;
            }
        }
        match (self.check, self.json) {
            (true, _) => Ok(()),
            (false, true) => {
                self.text.push_str(&redacted.text);
                Ok(())
            }
            (false, false) => app.out.exact(&redacted.text),
        }
    }

    fn finish(self, app: &mut App, name: &str) -> Result<()> {
        if self.json {
            return app.out.json(&RedactOut {
                source: name,
                rules_version: RULES_VERSION,
                counts: self.counts,
                found: self.found,
                text: (!self.check).then_some(self.text),
            });
        }
        let counts: Vec<String> =
            self.counts.iter().map(|(rule, count)| format!("{count} {rule}")).collect();
        let verb = if self.check { "would go" } else { "went" };
        let what = if counts.is_empty() { "nothing".to_string() } else { counts.join(", ") };
        app.out.note(&format!("{what} {verb} (rules {RULES_VERSION})"));
        Ok(())
    }
}
