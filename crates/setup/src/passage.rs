//! The passage for agents in a file of markdown, between markers. Texts only; knows no file.

use crate::content::Edited;
use crate::error::EditError;

/// The line that the passage begins with.
pub const PASSAGE_BEGIN: &str = "<!-- kapsa:begin -->";
/// The line that the passage ends with.
pub const PASSAGE_END: &str = "<!-- kapsa:end -->";
/// What it says.
pub const PASSAGE: &str = include_str!("../plugin/passage.md");

/// The text with the passage: in the place of an older one, else at the end.
pub(crate) fn add(text: &str) -> Result<Edited, EditError> {
    let found = found(text)?;
    let newline = newline(found.as_ref().map_or(text, |lines| &text[lines.start..]));
    let body = PASSAGE.trim_end().replace('\n', newline);
    let block = format!("{PASSAGE_BEGIN}{newline}{body}{newline}{PASSAGE_END}");
    let text = match found {
        Some(Lines { start, end, ended }) => {
            let ending = if ended { newline } else { "" };
            format!("{}{block}{ending}{}", &text[..start], &text[end..])
        }
        None if text.is_empty() => format!("{block}{newline}"),
        None => {
            let gap = match () {
                () if text.ends_with("\n\n") || text.ends_with("\r\n\r\n") => String::new(),
                () if text.ends_with('\n') => newline.to_string(),
                () => newline.repeat(2),
            };
            format!("{text}{gap}{block}{newline}")
        }
    };
    Ok(Edited { text, made: Vec::new() })
}

/// The text without the passage and the blank line before it.
pub(crate) fn remove(text: &str) -> Result<Option<String>, EditError> {
    let Some(Lines { start, end, .. }) = found(text)? else { return Ok(None) };
    let before = &text[..start];
    let shorter = ["\r\n\r\n", "\n\n"].iter().find_map(|blank| {
        let kept = before.strip_suffix(blank)?;
        Some(before.len() - blank.len() / 2).filter(|_| !kept.is_empty())
    });
    Ok(Some(format!("{}{}", &text[..shorter.unwrap_or(start)], &text[end..])))
}

/// The text without the passage, and without blank lines at its place.
pub(crate) fn without_ours(text: &str) -> Result<String, EditError> {
    let Some(Lines { start, end, .. }) = found(text)? else {
        return Ok(text.trim_end().to_string());
    };
    let (before, after) = (text[..start].trim_end(), text[end..].trim());
    Ok(if after.is_empty() { before.to_string() } else { format!("{before}\n\n{after}") })
}

/// How the first line of a text ends.
pub(crate) fn newline(text: &str) -> &'static str {
    let first = text.split_inclusive('\n').next().unwrap_or_default();
    if first.ends_with("\r\n") { "\r\n" } else { "\n" }
}

/// The lines of a passage in a text, as bytes.
struct Lines {
    start: usize,
    end: usize,
    /// Whether the last line ends with a newline.
    ended: bool,
}

fn found(text: &str) -> Result<Option<Lines>, EditError> {
    let mut begin = None;
    let mut lines = None;
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let number = number + 1;
        match line.trim() {
            PASSAGE_BEGIN if begin.is_some() || lines.is_some() => {
                return Err(EditError::at(number, format!("a second `{PASSAGE_BEGIN}`")));
            }
            PASSAGE_BEGIN => begin = Some((at, number)),
            PASSAGE_END => {
                let Some((start, _)) = begin.take() else {
                    let reason = format!("`{PASSAGE_END}` without `{PASSAGE_BEGIN}` before it");
                    return Err(EditError::at(number, reason));
                };
                let ended = line.ends_with('\n');
                lines = Some(Lines { start, end: at + line.len(), ended });
            }
            _ => {}
        }
        at += line.len();
    }
    match begin {
        Some((_, number)) => {
            Err(EditError::at(number, format!("`{PASSAGE_BEGIN}` without `{PASSAGE_END}`")))
        }
        None => Ok(lines),
    }
}
