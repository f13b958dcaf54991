//! Notes as Markdown files with frontmatter: those of basic-memory, of an Obsidian vault, and the
//! plain ones that programs keep for agents. A note is a record; its frontmatter goes along as it
//! is, and is not repeated in the text.

use std::path::{Path, PathBuf};

use kapsa_memory::transfer::is_export_index;
use kapsa_notes::Front;
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::input::{FILE_BYTES_MAX, SOURCE_BYTES_MAX, bytes, markdown_files};
use crate::item::{Draft, Source};
use crate::time::of_text;

/// The line around frontmatter.
const FENCE: &str = "---";
/// What the list of an export is called, which is no note.
const INDEX: &str = "index of an export";
/// Names of the frontmatter that say when a note was written, the best first.
const TIMES: [&str; 6] = ["updated_at", "modified", "updated", "created_at", "created", "date"];
/// Most relations and observations of one note that are kept by themselves.
const PARTS_MAX: usize = 1000;

pub(crate) fn plain(product: &'static str, path: &Path) -> Result<Source, Error> {
    notes(product, path, &|_, _| {})
}

pub(crate) fn obsidian(product: &'static str, path: &Path) -> Result<Source, Error> {
    notes(product, path, &|draft, body| {
        let links = linked(body);
        if !links.is_empty() {
            draft.more.insert("links".to_string(), json!(links));
        }
    })
}

pub(crate) fn basic_memory(product: &'static str, path: &Path) -> Result<Source, Error> {
    notes(product, path, &|draft, body| {
        let (observations, relations) = parts(body);
        if !observations.is_empty() {
            draft.more.insert("observations".to_string(), json!(observations));
        }
        if !relations.is_empty() {
            draft.more.insert("relations".to_string(), json!(relations));
        }
    })
}

fn notes(
    product: &'static str,
    path: &Path,
    complete: &dyn Fn(&mut Draft, &str),
) -> Result<Source, Error> {
    notes_within(SOURCE_BYTES_MAX, product, path, complete)
}

/// Reads notes of at most so many bytes, all together.
fn notes_within(
    limit: u64,
    product: &'static str,
    path: &Path,
    complete: &dyn Fn(&mut Draft, &str),
) -> Result<Source, Error> {
    let (mut source, mut read) = (Source::default(), 0);
    let root = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    let mut indexes = 0;
    for file in markdown_files(path)? {
        if is_export_index(&file) {
            indexes += 1;
            continue;
        }
        let place = file.display().to_string();
        match bytes(&file, FILE_BYTES_MAX) {
            Ok(bytes) => {
                read += bytes.len() as u64;
                if read > limit {
                    return Err(Error::TooLarge { path: path.to_path_buf(), limit, of: "bytes" });
                }
                match String::from_utf8(bytes) {
                    Ok(text) => source.take(place, note(product, root, &file, &text, complete)),
                    Err(_) => source.skip(place, "it is not text in UTF-8"),
                }
            }
            Err(error) => source.skip(place, error.reason()),
        }
    }
    source.leave(INDEX, indexes);
    Ok(source)
}

fn note(
    product: &'static str,
    root: &Path,
    file: &Path,
    text: &str,
    complete: &dyn Fn(&mut Draft, &str),
) -> Draft {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (front, body) = split(text);
    let said = |name: &str| front.get(name).and_then(Value::as_str).unwrap_or_default();
    let heading = body.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default();
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let title = [said("title"), said("name"), heading, &stem]
        .into_iter()
        .find(|one| !one.trim().is_empty());
    let relative: PathBuf = file.strip_prefix(root).unwrap_or(file).to_path_buf();
    let id = match said("permalink") {
        "" => relative.with_extension("").to_string_lossy().into_owned(),
        permalink => permalink.to_string(),
    };
    let tags = tags(front.get("tags"));
    let at = TIMES.iter().find_map(|name| of_text(said(name)));
    let mut draft = Draft {
        product,
        what: "note",
        id,
        title: title.unwrap_or_default().to_string(),
        text: body.trim().to_string(),
        tags,
        at,
        ..Draft::default()
    };
    if front.is_empty() && draft.text.is_empty() {
        // The name of a file alone says nothing.
        draft.title.clear();
    }
    if !front.is_empty() {
        draft.more.insert("frontmatter".to_string(), Value::Object(front.clone()));
    }
    complete(&mut draft, body);
    draft
}

/// Frontmatter and body. What cannot be read as frontmatter is body.
fn split(text: &str) -> (Map<String, Value>, &str) {
    let nothing = (Map::new(), text);
    let Some(rest) = text.strip_prefix(FENCE) else { return nothing };
    let Some(rest) = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')) else {
        return nothing;
    };
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == FENCE {
            let Ok(front) = Front::parse(&rest[..end]) else { return nothing };
            let members =
                front.keys().filter_map(|name| Some((name.to_string(), front.get(name)?.clone())));
            return (members.collect(), &rest[end + line.len()..]);
        }
        end += line.len();
    }
    nothing
}

/// Tags: a list, or names parted by commas or blanks.
fn tags(value: Option<&Value>) -> Vec<(String, String)> {
    let names: Vec<&str> = match value {
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(text)) => text.split([',', ' ']).collect(),
        _ => Vec::new(),
    };
    let plain = |name: &str| name.trim().trim_start_matches('#').to_string();
    names
        .into_iter()
        .map(|name| (plain(name), String::new()))
        .filter(|(name, _)| !name.is_empty())
        .collect()
}

/// Observations (`- [category] text`) and relations (`- verb [[Target]]`) of a note of
/// basic-memory.
fn parts(body: &str) -> (Vec<Value>, Vec<Value>) {
    let (mut observations, mut relations) = (Vec::new(), Vec::new());
    for line in body.lines().filter_map(|line| line.trim_start().strip_prefix("- ")) {
        let line = line.trim();
        let categorised = line.strip_prefix('[').filter(|rest| !rest.starts_with('['));
        if let Some((category, text)) = categorised.and_then(|rest| rest.split_once(']'))
            // A box to be ticked is not a category.
            && !matches!(category.trim(), "" | "x" | "X" | "-")
            && !text.starts_with('(')
            && observations.len() < PARTS_MAX
        {
            observations.push(json!({ "category": category.trim(), "content": text.trim() }));
        } else if let Some((verb, rest)) = line.split_once("[[")
            && let Some((target, _)) = rest.split_once("]]")
            && relations.len() < PARTS_MAX
        {
            let verb = Some(verb.trim()).filter(|verb| !verb.is_empty()).unwrap_or("relates_to");
            relations.push(json!({ "type": verb, "to": target.trim() }));
        }
    }
    (observations, relations)
}

/// Notes that a text links to.
fn linked(body: &str) -> Vec<&str> {
    let ends = body.split("[[").skip(1).filter_map(|rest| Some(rest.split_once("]]")?.0));
    let mut links: Vec<&str> = ends
        .map(|link| link.split(['|', '#']).next().unwrap_or_default().trim())
        .filter(|link| !link.is_empty() && !link.contains('\n'))
        .take(PARTS_MAX)
        .collect();
    links.sort_unstable();
    links.dedup();
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_notes_together_have_a_limit() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, bytes) in [("a.md", &[b'a'; 60][..]), ("b.md", &[b'b'; 40]), ("c.md", &[])] {
            std::fs::write(folder.path().join(name), bytes).expect("written");
        }
        let read = |limit: u64| notes_within(limit, "obsidian", folder.path(), &|_, _| {});
        assert_eq!(read(100).expect("as many as may be").items.len(), 2);
        assert_eq!(read(99).expect_err("too many").code(), "source_too_large");
    }
}
