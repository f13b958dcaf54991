//! Lines from a file or a pipe: no prompt, no history; a failing line is reported with its number.

use std::io::{self, BufRead, Read};

use super::line::{self, Ended};
use crate::app::{App, Status};
use crate::error::{CliError, Place, Result};
use crate::lines::LINE_BYTES_MAX;
use crate::output::ErrorStyle;

/// Runs all lines, or those up to the first that fails. The exit code is that of the first that
/// failed.
pub(super) fn run(app: &App, stop: bool) -> Result<Status> {
    let mut failed = None;
    let mut number = 0;
    loop {
        let bytes = match next_line(number + 1) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => break,
            Err(error) if failed.is_none() => return Err(error),
            // What failed first decides the exit code; that the rest cannot be read is told all the
            // same.
            Err(error) => {
                crate::fail(
                    &error,
                    if app.global.json { ErrorStyle::Json } else { ErrorStyle::People },
                );
                break;
            }
        };
        number += 1;
        match run_line(&bytes, app, Place(Some(number))) {
            Ended::Shell => break,
            Ended::Code(0) => continue,
            Ended::Code(code) => failed = failed.or(Some(code)),
        }
        if stop {
            break;
        }
    }
    Ok(failed.map_or(Status::Done, Status::Told))
}

fn run_line(bytes: &[u8], app: &App, place: Place) -> Ended {
    let Ok(text) = str::from_utf8(bytes) else {
        let style = if app.global.json { ErrorStyle::Json } else { ErrorStyle::People };
        return Ended::Code(crate::fail(
            &place.of(CliError::user("invalid_utf8", "not UTF-8 text")),
            style,
        ));
    };
    let text = text.trim();
    if text.starts_with('#') { Ended::Code(0) } else { line::run(text, &app.global, place) }
}

/// The next line. Standard input is let go of between two lines: a verb may ask whether it is a
/// terminal.
fn next_line(number: u64) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let limit = LINE_BYTES_MAX as u64 + 1;
    let read = io::stdin().lock().take(limit).read_until(b'\n', &mut bytes);
    read.map_err(|error| CliError::io("read standard input", &error))?;
    if bytes.len() > LINE_BYTES_MAX {
        return Err(Place(Some(number)).of(CliError::user("too_large", "it is longer than 64 MiB")));
    }
    Ok((!bytes.is_empty()).then_some(bytes))
}
