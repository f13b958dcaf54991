//! Knows no record, capsule, network, terminal, environment or clock.
//!
//! Reads documents of common formats: the bytes of a file go in, its text comes out, in sections
//! that say under which headings and where they stand. What cannot be read is an error or a note,
//! never left out silently. The bytes may be anybody's: every reader works within [`Limits`], and
//! a text is data, never an instruction, a path or a link to follow.

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod charset;
mod code;
mod error;
mod format;
mod html;
mod limits;
mod mail;
mod office;
mod pdf;
mod table;
mod text;

pub use error::ReadError;
pub use format::{Format, Language};
pub use limits::Limits;
pub use text::{Place, Section, Text};

/// Reads a document.
///
/// # Errors
/// [`ReadError`]: the bytes are not of the format, are protected, hold no text, or meet a limit.
pub fn read(format: Format, bytes: &[u8], limits: &Limits) -> Result<Text, ReadError> {
    limits::expect_at_most(bytes.len(), limits.bytes, "bytes")?;
    let text = match format {
        Format::Pdf => pdf::read(bytes, limits),
        Format::Office => office::read(bytes, limits),
        Format::Html => html::read(bytes, limits),
        Format::Mail => mail::read(bytes, limits),
        Format::Mailbox => mail::read_box(bytes, limits),
        Format::Table(delimiter) => table::read(bytes, delimiter, limits),
        Format::Code(language) => code::read(bytes, language, limits),
    }?;
    if text.sections.is_empty() {
        return Err(ReadError::NoText);
    }
    Ok(text)
}
