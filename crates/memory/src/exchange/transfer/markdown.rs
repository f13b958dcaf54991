//! A memory for a person with a text editor: a folder with a file for each memory, and an index.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use super::folder::Files;
use super::{Written, current};
use crate::error::Result;
use crate::exchange::export::Export;
use crate::records::escape::{self, is_hidden};
use crate::records::kinds;
use crate::records::record::{KIND_DEFAULT, Micros, Record};
use crate::records::uri::Uri;

/// The file that lists the others.
pub(super) const INDEX: &str = "index.md";
/// How that file begins; by it an export is known again.
pub(super) const MARK: &str = "<!-- kapsa export -->\n";
/// Longest part of a file's name that describes it, in bytes.
const NAME_BYTES_MAX: usize = 80;
/// Digits of the URI's hash in a file's name.
const HASH_DIGITS: usize = 12;

/// A record as a file, with times as that function writes them.
type Page = fn(&Record, fn(Micros) -> String) -> String;

pub(super) fn write(
    export: &Export<'_>,
    to: &Path,
    time: fn(Micros) -> String,
    page: Page,
) -> Result<Written> {
    let current = current(export)?;
    let mut files = Files::begin(to)?;
    let mut index = format!("{MARK}# Memories\n\n");
    let [mut aliases, mut checkpoints, mut events] = [const { Vec::new() }; 3];
    for record in export.records() {
        let record = record?;
        if record.system && record.kind == kinds::CHECKPOINT {
            checkpoints.push(entry(&record, &record.label, record.committed_at, time));
        } else if record.system && record.kind == kinds::EVENT {
            let what = entry(&record, &record.text, record.created_at, time);
            events.push(format!("{what} {}", Value::Object(record.metadata.clone())));
        }
        if !current.contains(&record.sequence) {
            continue;
        }
        if let Some(alias) = &record.alias {
            aliases.push(format!("{} -> {}", record.uri.short(), alias.short()));
            continue;
        }
        let name = name_in(&files.hashes, &record.uri);
        let title = match record.title.as_str() {
            "" => String::new(),
            title => format!(": {}", inline(title)),
        };
        let _writing_to_a_string =
            writeln!(index, "- [{}]({name}){title}", inline(record.uri.short()));
        files.put(name, page(&record, time).as_bytes())?;
    }
    section(&mut index, "Aliases", &aliases);
    section(&mut index, "Checkpoints", &checkpoints);
    section(&mut index, "Events", &events);
    files.put(INDEX.to_string(), index.as_bytes())?;
    files.finish()
}

fn section(index: &mut String, title: &str, lines: &[String]) {
    for (at, line) in lines.iter().enumerate() {
        if at == 0 {
            let _writing_to_a_string = write!(index, "\n# {title}\n\n");
        }
        let _writing_to_a_string = writeln!(index, "- {}", inline(line));
    }
}

fn entry(record: &Record, what: &str, at: Micros, time: fn(Micros) -> String) -> String {
    format!("{} {what} ({})", time(at), record.uri.short())
}

/// A name that no other URI has, whatever the file system thinks of case, of accents and of certain
/// words.
fn name_in(taken: &BTreeMap<String, blake3::Hash>, uri: &Uri) -> String {
    let mut name = String::new();
    for c in uri.short().chars().flat_map(char::to_lowercase) {
        if name.len() >= NAME_BYTES_MAX {
            break;
        }
        if c.is_ascii_alphanumeric() || c == '_' {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    let hash = blake3::hash(uri.as_str().as_bytes()).to_hex();
    let stem = format!("{}-{}", name.trim_end_matches('-'), &hash[..HASH_DIGITS]);
    let numbered = (2..).map(|number| format!("{stem}-{number}.md"));
    let mut names = std::iter::once(format!("{stem}.md")).chain(numbered);
    names.find(|name| !taken.contains_key(name)).expect("there is always another number")
}

/// A note of basic-memory: its title, type, permalink and tags, and the text.
pub(super) fn note(record: &Record, time: fn(Micros) -> String) -> String {
    let title = match record.title.trim() {
        "" => record.uri.short(),
        title => title,
    };
    let mut note = "---\n".to_string();
    let kind = if record.kind.is_empty() { KIND_DEFAULT } else { &record.kind };
    for (name, value) in [("title", title), ("type", kind), ("permalink", record.uri.short())] {
        let _writing_to_a_string = writeln!(note, "{name}: {}", yaml(value));
    }
    let _writing_to_a_string = writeln!(note, "created: {}", yaml(&time(record.created_at)));
    if !record.tags.is_empty() {
        let tags: Vec<String> = record.tags.keys().map(|name| yaml(name)).collect();
        let _writing_to_a_string = writeln!(note, "tags: [{}]", tags.join(", "));
    }
    let _writing_to_a_string = write!(note, "---\n\n{}", ended(&record.text));
    note
}

pub(super) fn page(record: &Record, time: fn(Micros) -> String) -> String {
    let mut page = "---\n".to_string();
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            let _writing_to_a_string = writeln!(page, "{name}: {value}");
        }
    };
    let quoted = |text: &str| if text.is_empty() { String::new() } else { yaml(text) };
    line("uri", &quoted(record.uri.as_str()));
    for (name, text) in [("title", &record.title), ("kind", &record.kind), ("label", &record.label)]
    {
        line(name, &quoted(text));
    }
    line("created_at", &quoted(&time(record.created_at)));
    line("committed_at", &quoted(&time(record.committed_at)));
    let tags: Vec<String> = record
        .tags
        .iter()
        .map(|(name, value)| format!("{}: {}", yaml(name), yaml(value)))
        .collect();
    line("tags", &if tags.is_empty() { String::new() } else { format!("{{{}}}", tags.join(", ")) });
    let texts = [
        ("entity", &record.entity),
        ("domain", &record.domain),
        ("agent", &record.agent),
        ("run", &record.run),
    ];
    texts.into_iter().for_each(|(name, text)| line(name, &quoted(text)));
    line("confidence", &record.confidence.map(|sure| sure.to_string()).unwrap_or_default());
    if let Some(source) = &record.source {
        let lines = format!("{}-{}", source.line_start, source.line_end);
        line("source", &format!("{{\"path\": {}, \"lines\": \"{lines}\"}}", yaml(&source.path)));
    }
    if !record.metadata.is_empty() {
        line("metadata", &yaml_json(&Value::Object(record.metadata.clone()).to_string()));
    }
    page.push_str("---\n\n");
    page.push_str(&ended(&record.text));
    page
}

/// A text in whole lines, harmless to whoever prints the file: what acts on a terminal or is drawn
/// as nothing is written as an escape that is seen.
fn ended(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 1);
    for line in text.split_inclusive('\n') {
        // The end of a line, as some systems write it.
        match line.strip_suffix("\r\n") {
            Some(line) => out.extend([&*escape::body(line), "\r\n"]),
            None => out.push_str(&escape::body(line)),
        }
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// A text as YAML takes it in any version: quoted as in JSON, and nothing in it that cannot be
/// seen.
fn yaml(text: &str) -> String {
    yaml_json(&Value::from(text).to_string())
}

fn yaml_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if !is_hidden(c) {
            out.push(c);
        } else if u32::from(c) <= 0xffff {
            let _writing_to_a_string = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            let _writing_to_a_string = write!(out, "\\U{:08x}", u32::from(c));
        }
    }
    out
}

/// A text within a line of Markdown.
fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if is_hidden(c) => out.push(' '),
            '[' | ']' | '<' | '>' | '\\' | '`' | '*' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_and_differ() {
        let mut files = BTreeMap::new();
        for uri in [
            "note/a",
            "note/A",
            "note-a",
            "con",
            "nul.txt",
            "x/日本",
            "x/本日",
            "mv2://other/a",
            "note/a",
            "a/...",
            "a/%2e%2e",
        ] {
            let name = name_in(&files, &Uri::parse(uri).expect("valid"));
            let safe =
                |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
            assert!(name.strip_suffix(".md").is_some_and(|stem| stem.chars().all(safe)), "{name}");
            assert!(files.insert(name, blake3::hash(b"")).is_none(), "{uri}");
        }
        assert!(name_in(&files, &Uri::parse(&"x".repeat(900)).expect("valid")).len() < 128);
    }

    #[test]
    fn front_matter_holds_no_surprise() {
        assert_eq!(yaml("a: \"b\"\n---\u{7f}\u{202e}"), "\"a: \\\"b\\\"\\n---\\u007f\\u202e\"");
        assert_eq!(inline("[x](y) \u{1b}`*"), "\\[x\\](y)  \\`\\*");
    }
}
