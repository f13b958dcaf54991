//! What an agent may write while it works on a memory: notes of the memory, and files of its run's
//! folder. Decides before a tool is used; knows nothing of how it is asked.

mod content;
mod reserved;
mod shell;

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};
use unicode_normalization::UnicodeNormalization;

use super::error::{ContractError, Result};
use super::log;
use super::note::Primitive;
use super::paths;
use super::run_folder::{Log, RunFolder};
use super::stamp::Stamp;

pub use reserved::decide_reserved;

/// Tools that write a file, and where their input names it.
const WRITERS: [(&str, &str); 4] = [
    ("Write", "file_path"),
    ("Edit", "file_path"),
    ("MultiEdit", "file_path"),
    ("NotebookEdit", "notebook_path"),
];
/// Tools that write no file: they read, plan, or start agents that are asked themselves.
const READERS: [&str; 10] = [
    "Read",
    "Grep",
    "Glob",
    "LS",
    "NotebookRead",
    "Task",
    "Agent",
    "TodoWrite",
    "TodoRead",
    "BashOutput",
];
/// The tool that runs commands of a shell.
const SHELL: &str = "Bash";
/// Endings of files of a run folder.
const RUN_EXTENSIONS: [&str; 5] = ["md", "json", "jsonl", "log", "txt"];
/// The ending of notes.
const NOTE_EXTENSION: &str = "md";
/// Encoded parts of a path that some programs decode: `.`, `/`, `\` and the end of a text.
const ENCODED: [&str; 5] = ["%2e", "%2f", "%5c", "%00", "%25"];
/// The event of a line about a denied use of a tool.
const DENIED: &str = "write_denied";
/// Longest path that is looked at, in bytes.
const PATH_BYTES_MAX: usize = 4096;

/// Where an agent may write.
#[derive(Clone, Debug)]
pub struct Roots {
    /// The memory.
    pub memory: PathBuf,
    /// The folder of this run.
    pub run: PathBuf,
}

/// Whether a tool may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may.
    Allow,
    /// It may not.
    Deny(Denial),
}

/// Why a tool may not be used. What is shown is exactly what other programs compare.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// A tool that writes a file names none.
    #[error("missing_file_path_for_write")]
    MissingFilePath,
    /// The path is, or leads, neither into the memory nor into the run's folder.
    #[error("write_outside_allowed_roots:{0}")]
    OutsideAllowedRoots(String),
    /// The run's folder holds no such files; the ending has its dot.
    #[error("disallowed_file_extension:{0}")]
    DisallowedExtension(String),
    /// The memory holds markdown only.
    #[error("memory_write_not_markdown")]
    NotMarkdown,
    /// Notes lie in `decisions/` and `learnings/`, not deeper and not elsewhere.
    #[error("memory_write_outside_primitive_folder")]
    OutsidePrimitiveFolder,
    /// Summaries are not written by agents.
    #[error("summary_write_reserved_for_pipeline")]
    SummaryReserved,
    /// The file would not be a note, or what it would be is not known.
    #[error("memory_write_unparseable_frontmatter")]
    UnparseableFrontmatter,
    /// The note would lack a key.
    #[error("memory_write_missing_frontmatter")]
    MissingFrontmatter,
    /// The command is not one of those that are known to write nothing.
    #[error("shell_write_denied:{0}")]
    ShellWrite(String),
    /// The path is, or leads to, a capsule or what lies in its folder.
    #[error("capsule_write_reserved:{0}")]
    CapsuleReserved(String),
    /// No tool that is known to write nothing.
    #[error("tool_not_allowed:{0}")]
    ToolNotAllowed(String),
}

/// Decides about one use of a tool. `cwd` is where the tool works: relative paths begin there.
///
/// Paths are followed through links and `..` as the system does, and by their words alone as some
/// programs do: both must lead to the same file. `~`, encoded dots and characters that look like
/// dots and slashes are never expanded, and never allowed.
///
/// Whoever can change links in between can still be elsewhere by the time the tool writes.
#[must_use]
pub fn decide(tool_name: &str, tool_input: &Value, roots: &Roots, cwd: &Path) -> Verdict {
    let decided = match WRITERS.iter().find(|(name, _)| *name == tool_name) {
        Some((_, key)) => decide_write(tool_name, tool_input, key, roots, cwd),
        None if tool_name == SHELL => shell::decide(tool_input).map_err(Denial::ShellWrite),
        None if READERS.contains(&tool_name) => Ok(()),
        None => Err(Denial::ToolNotAllowed(printable(tool_name))),
    };
    match decided {
        Ok(()) => Verdict::Allow,
        Err(denial) => Verdict::Deny(denial),
    }
}

/// Adds a line about a denied use of a tool to `agent.log` in a run's folder.
///
/// # Errors
/// [`Error::Io`](super::error::Error::Io).
pub fn log_denied(run: &Path, tool_name: &str, denial: &Denial, at: &Stamp) -> Result<()> {
    let line = json!({
        "at": at.iso,
        "event": DENIED,
        "tool": printable(tool_name),
        "reason": denial.to_string(),
    });
    log::append(&run.join(Log::Agent.file_name()), &line)
}

/// How many uses of tools were denied in a run.
///
/// # Errors
/// As [`RunFolder::read_log`].
pub fn denied_count(run: &RunFolder) -> std::result::Result<usize, ContractError> {
    let lines = run.read_log(Log::Agent)?;
    Ok(lines.iter().filter(|line| line["event"] == DENIED).count())
}

fn decide_write(
    tool_name: &str,
    input: &Value,
    key: &str,
    roots: &Roots,
    cwd: &Path,
) -> std::result::Result<(), Denial> {
    let named = input.get(key).and_then(Value::as_str).filter(|path| !path.trim().is_empty());
    let named = named.ok_or(Denial::MissingFilePath)?;
    let outside = |path: &str| Denial::OutsideAllowedRoots(printable(path));
    if is_odd(named) {
        return Err(outside(named));
    }
    let path = cwd.join(named);
    let resolved = paths::resolve(&path).map_err(|_unknown| outside(named))?;
    let by_words = paths::resolve(&paths::by_words(&path)).map_err(|_unknown| outside(named))?;
    let outside = || outside(&resolved.to_string_lossy());
    let place = Place::of(&resolved, roots).ok_or_else(outside)?;
    if resolved != by_words {
        return Err(Denial::OutsideAllowedRoots(printable(&by_words.to_string_lossy())));
    }
    let primitive = place.check(&outside)?;
    primitive.map_or(Ok(()), |primitive| content::check(tool_name, input, &resolved, primitive))
}

/// Where a path leads.
struct Place {
    root: Root,
    /// The whole path, without links.
    path: PathBuf,
    /// The part below the root.
    within: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Root {
    Memory,
    Run,
}

impl Place {
    /// The place of a resolved path. Where one root lies in the other, the inner one counts.
    fn of(path: &Path, roots: &Roots) -> Option<Place> {
        let within = |root: Root, folder: &Path| {
            // May be dropped: a root that cannot be resolved allows nothing.
            let folder = paths::resolve(folder).ok()?;
            let within = path.strip_prefix(&folder).ok().filter(|rest| rest.as_os_str() != "")?;
            Some(Place { root, path: path.to_path_buf(), within: within.to_path_buf() })
        };
        let places = [within(Root::Memory, &roots.memory), within(Root::Run, &roots.run)];
        places.into_iter().flatten().min_by_key(|place| place.within.components().count())
    }

    /// What any file there must be: of an ending, in a folder, and of one name only. Returns what
    /// it is, in the memory.
    fn check(
        &self,
        outside: &impl Fn() -> Denial,
    ) -> std::result::Result<Option<Primitive>, Denial> {
        let extension = self.path.extension().map(|ending| ending.to_string_lossy().into_owned());
        let extension = extension.unwrap_or_default();
        let primitive = match self.root {
            Root::Memory if extension != NOTE_EXTENSION => return Err(Denial::NotMarkdown),
            Root::Memory => Some(check_note_place(&self.within)?),
            Root::Run => {
                if !RUN_EXTENSIONS.iter().any(|one| extension.eq_ignore_ascii_case(one)) {
                    let dot = if extension.is_empty() { "" } else { "." };
                    return Err(Denial::DisallowedExtension(printable(&format!(
                        "{dot}{extension}"
                    ))));
                }
                // The folder is flat.
                if self.within.components().count() != 1 {
                    return Err(outside());
                }
                None
            }
        };
        match fs::symlink_metadata(&self.path) {
            // A second name may lie anywhere.
            Ok(found) if found.is_file() && found.nlink() == 1 => Ok(primitive),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(primitive),
            _ => Err(outside()),
        }
    }
}

/// The folder of a note, by the part of its path below the memory.
fn check_note_place(within: &Path) -> std::result::Result<Primitive, Denial> {
    let names: Vec<&str> = within
        .components()
        .map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect::<Option<_>>()
        .ok_or(Denial::OutsidePrimitiveFolder)?;
    if names.first() == Some(&Primitive::Summary.folder()) {
        return Err(Denial::SummaryReserved);
    }
    match names[..] {
        [folder, file] if !file.starts_with('.') => {
            Primitive::of_folder(folder).ok_or(Denial::OutsidePrimitiveFolder)
        }
        _ => Err(Denial::OutsidePrimitiveFolder),
    }
}

/// A path that some program may take for another one: with a home folder, encoded or look-alike
/// dots and slashes, or characters that are not seen.
fn is_odd(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let looks_like = |c: char| {
        !c.is_ascii() && [c].into_iter().nfkc().any(|c| matches!(c, '.' | '/' | '\\' | '%' | '~'))
    };
    path.len() > PATH_BYTES_MAX
        || path.trim() != path
        || path.starts_with('~')
        || path.contains('\\')
        || ENCODED.iter().any(|encoded| lower.contains(encoded))
        || path.chars().any(|c| c.is_control() || is_unseen(c) || looks_like(c))
}

/// Characters without a width, overrides of the direction, tags and odd spaces.
fn is_unseen(c: char) -> bool {
    let odd_space = c.is_whitespace() && c != ' ';
    odd_space
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{2044}' | '\u{2215}' | '\u{29f8}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// What is shown of a text that came from outside: without what a terminal acts on or nobody sees.
fn printable(text: &str) -> String {
    let shown = |c: char| if c.is_control() || is_unseen(c) { '\u{fffd}' } else { c };
    text.chars().take(PATH_BYTES_MAX).map(shown).collect()
}
