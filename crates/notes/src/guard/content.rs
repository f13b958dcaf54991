//! What a file of the memory would hold after a tool has written it. Knows no places.

use std::path::Path;

use serde_json::Value;

use super::super::error::NoteError;
use super::super::folder;
use super::super::note::{KeyFault, Note, Primitive};
use super::Denial;

/// Most replacements of one edit.
const EDITS_MAX: usize = 1000;

/// Refuses what would not be a note with all its keys.
pub(super) fn check(
    tool_name: &str,
    input: &Value,
    path: &Path,
    primitive: Primitive,
) -> Result<(), Denial> {
    let text = match tool_name {
        "Write" => text_of(input, "content").map(str::to_owned),
        "Edit" => edited(path, std::slice::from_ref(input)),
        "MultiEdit" => input
            .get("edits")
            .and_then(Value::as_array)
            .filter(|edits| !edits.is_empty() && edits.len() <= EDITS_MAX)
            .and_then(|edits| edited(path, edits)),
        _ => None,
    };
    let text = text.ok_or(Denial::UnparseableFrontmatter)?;
    let note = Note::from_bytes(text.as_bytes()).map_err(|error| match error {
        NoteError::NoFrontmatter => Denial::MissingFrontmatter,
        _ => Denial::UnparseableFrontmatter,
    })?;
    let faults = note.faults(primitive);
    if faults.iter().any(|fault| matches!(fault, KeyFault::Missing { .. })) {
        return Err(Denial::MissingFrontmatter);
    }
    if faults.is_empty() { Ok(()) } else { Err(Denial::UnparseableFrontmatter) }
}

/// The file after its replacements. None where the tool might do something else than this: a text
/// that is not there, or is there more than once and only one is to be replaced.
fn edited(path: &Path, edits: &[Value]) -> Option<String> {
    // May be dropped: of what cannot be read it is not known what it would be, which is refused.
    let read = || String::from_utf8(folder::read_file(path).ok()?).ok();
    let mut text = if path.exists() { read()? } else { String::new() };
    for edit in edits {
        let (old, new) = (text_of(edit, "old_string")?, text_of(edit, "new_string")?);
        let all = edit.get("replace_all").and_then(Value::as_bool).unwrap_or_default();
        text = match text.matches(old).count() {
            _ if old.is_empty() && text.is_empty() => new.to_owned(),
            _ if old.is_empty() => return None,
            1 => text.replacen(old, new, 1),
            0 => return None,
            _ if all => text.replace(old, new),
            _ => return None,
        };
    }
    Some(text)
}

fn text_of<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}
