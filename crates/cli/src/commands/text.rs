//! Texts that are typed in words or read from standard input.

use std::io::{self, Read, Stdin};
use std::sync::atomic::{AtomicBool, Ordering};

use kapsa_memory::record::TEXT_BYTES_MAX;

use crate::error::{CliError, Result};

/// Whether somebody else reads standard input to the end of the process.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// From now on no verb may read standard input: the shell reads its lines from it.
pub(crate) fn take_standard_input() {
    TAKEN.store(true, Ordering::Relaxed);
}

/// Standard input, unless the shell reads its lines from it.
pub(crate) fn standard_input() -> Result<Stdin> {
    if !TAKEN.load(Ordering::Relaxed) {
        return Ok(io::stdin());
    }
    let message = "a line of the shell has no standard input of its own";
    Err(CliError::usage(message).hint(
        "give the text itself or name a file; a pipe goes to a call of its own, as in kapsa put - < FILE",
    ))
}

/// Standard input as one text; more of it than a record may hold is left for the record's own check
/// to refuse.
pub(crate) fn plain_text() -> Result<String> {
    let mut bytes = Vec::new();
    let limit = TEXT_BYTES_MAX as u64 + 1;
    standard_input()?
        .lock()
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(|error| CliError::io("read standard input", &error))?;
    utf8(bytes, "standard input")
}

/// The text that was typed in words; `-` alone is standard input.
pub(crate) fn typed_text(words: &[String]) -> Result<String> {
    let text = if words == ["-"] { plain_text()?.trim_end().to_string() } else { words.join(" ") };
    if text.trim().is_empty() {
        return Err(CliError::usage("the text is empty"));
    }
    Ok(text)
}

/// The bytes of `name` as text.
pub(crate) fn utf8(bytes: Vec<u8>, name: &str) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CliError::user("invalid_utf8", format!("{name} is not UTF-8 text: invalid byte at {at}"))
            .field("offset", at)
    })
}
