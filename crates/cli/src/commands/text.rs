//! Texts that are typed in words or read from standard input.

use std::io::{self, Read};

use kapsa_memory::record::TEXT_BYTES_MAX;

use crate::error::{CliError, Result};

/// Standard input as one text; more of it than a record may hold is left for the record's own check
/// to refuse.
pub(crate) fn plain_text() -> Result<String> {
    let mut bytes = Vec::new();
    let limit = TEXT_BYTES_MAX as u64 + 1;
    io::stdin()
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
