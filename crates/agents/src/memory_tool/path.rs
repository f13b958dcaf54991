//! Paths of the memory tool: `/memories` and what is below it. Knows no file.
//!
//! A path is compared part by part; a part that some program could take for another path is
//! refused, whatever is meant by it.

use std::fmt;

use kapsa_memory::owned::unescape;
use kapsa_memory::uri::is_invisible;

use super::{Refusal, told};

/// Longest path, in bytes.
pub const MEMORY_PATH_BYTES_MAX: usize = 512;
/// The directory in which everything is.
const ROOT: &str = "/memories";
/// Longest part of a refused path that is told, in characters.
const SHOWN_CHARS_MAX: usize = 100;
/// Encoded characters that make another path of one: `.`, `/` and `\`, and what is not seen.
const ENCODED: [&str; 6] = ["%2e", "%2f", "%5c", "%7f", "%0", "%1"];

/// A path below `/memories`, by its parts; none for `/memories` itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FilePath(Vec<String>);

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ROOT)?;
        self.0.iter().try_for_each(|part| write!(f, "/{part}"))
    }
}

impl FilePath {
    /// `/memories`.
    pub(super) fn root() -> FilePath {
        FilePath(Vec::new())
    }

    /// Reads a path; one slash at its end means nothing.
    pub(super) fn parse(text: &str) -> Result<FilePath, Refusal> {
        let shown = || -> String {
            let shown = |c: char| if c.is_control() || is_invisible(c) { '\u{fffd}' } else { c };
            text.chars().take(SHOWN_CHARS_MAX).map(shown).collect()
        };
        let outside = || told(format!("Path must start with {ROOT}, got: {}", shown()));
        let Some(below) = text.strip_prefix(ROOT) else { return outside() };
        if !below.is_empty() && !below.starts_with('/') {
            return outside();
        }
        if text.len() > MEMORY_PATH_BYTES_MAX {
            return told(too_long(&shown()));
        }
        let below = below.strip_suffix('/').unwrap_or(below);
        let parts: Vec<&str> = below.split('/').skip(1).collect();
        if parts.iter().any(|part| !is_name(part)) || is_encoded(below) {
            return told(format!("Path {} would escape {ROOT} directory", shown()));
        }
        Ok(FilePath(parts.into_iter().map(str::to_string).collect()))
    }

    /// The path that the rest of a URI stands for; none where it is none.
    pub(super) fn of_uri(rest: &str) -> Option<FilePath> {
        let parts: Option<Vec<String>> = rest.split('/').map(unescape).collect();
        parts.filter(|parts| parts.iter().all(|part| is_name(part))).map(FilePath)
    }

    pub(super) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    pub(super) fn is_below(&self, other: &FilePath) -> bool {
        self.0.len() > other.0.len() && self.0.starts_with(&other.0)
    }

    /// The directories in which it is, but for `/memories`.
    pub(super) fn above(&self) -> impl Iterator<Item = FilePath> + '_ {
        (1..self.0.len()).map(|count| FilePath(self.0[..count].to_vec()))
    }

    /// The parts that it has beyond those of a directory in which it is.
    pub(super) fn within(&self, directory: &FilePath) -> &[String] {
        self.0.get(directory.0.len()..).unwrap_or_default()
    }

    /// The path that has `count` parts more than this directory on the way to `file`.
    pub(super) fn towards(&self, file: &FilePath, count: usize) -> FilePath {
        FilePath(file.0.iter().take(self.0.len() + count).cloned().collect())
    }

    /// Where it is once `old`, which it is or in which it is, is called `new`.
    pub(super) fn moved(&self, old: &FilePath, new: &FilePath) -> Result<FilePath, Refusal> {
        let parts = new.0.iter().chain(self.within(old)).cloned();
        let moved = FilePath(parts.collect());
        if moved.to_string().len() > MEMORY_PATH_BYTES_MAX { moved.too_long() } else { Ok(moved) }
    }

    pub(super) fn too_long<T>(&self) -> Result<T, Refusal> {
        told(too_long(&self.to_string().chars().take(SHOWN_CHARS_MAX).collect::<String>()))
    }
}

fn too_long(shown: &str) -> String {
    format!("Error: Path {shown} is longer than {MEMORY_PATH_BYTES_MAX} bytes")
}

fn is_name(part: &str) -> bool {
    let is_odd = |c: char| c == '\\' || c == '/' || c.is_control() || is_invisible(c);
    !matches!(part, "" | "." | "..") && !part.contains(is_odd)
}

/// Whether something in it stands for a character that makes another path of it, encoded once or
/// several times.
fn is_encoded(text: &str) -> bool {
    let mut text = text.to_ascii_lowercase();
    // Each round is shorter than the one before.
    while text.contains("%25") {
        text = text.replace("%25", "%");
    }
    ENCODED.iter().any(|encoded| text.contains(encoded))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        match FilePath::parse(text) {
            Ok(path) => panic!("{text:?} is {path}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn paths_are_below_memories() {
        for text in [
            "/memories",
            "/memories/a.md",
            "/memories/a b/ž/日本.md",
            "/memories/.hidden",
            "/memories/100%",
            "/memories/a%20b",
            "/memories/...",
        ] {
            assert_eq!(FilePath::parse(text).expect("a path").to_string(), text);
        }
        assert_eq!(FilePath::parse("/memories/a/").expect("a path").to_string(), "/memories/a");
        assert!(FilePath::parse("/memories/").expect("a path").is_root());
        for text in [
            "",
            "/",
            "memories/a",
            "/memoriesX",
            "/memories.md",
            "/etc/passwd",
            "//memories",
            "/Memories/a",
        ] {
            assert!(refused(text).starts_with("Path must start with /memories, got: "), "{text}");
        }
    }

    #[test]
    fn what_could_lead_elsewhere_is_refused() {
        for text in [
            "/memories/..",
            "/memories/../etc/passwd",
            "/memories/a/../../b",
            "/memories/./a",
            "/memories//a",
            "/memories/a//",
            "/memories/%2e%2e/a",
            "/memories/%2E%2E%2fa",
            "/memories/%252e%252e%252fa",
            "/memories/%25252Fa",
            "/memories/a%2fb",
            "/memories/a%5Cb",
            "/memories/a%00b",
            "/memories/a\\b",
            "/memories/..\\b",
            "/memories/a\0b",
            "/memories/a\nb",
            "/memories/a\u{202e}b",
            "/memories/a\u{200b}b",
        ] {
            let words = refused(text);
            assert!(words.ends_with(" would escape /memories directory"), "{text:?}: {words}");
            assert!(!words.contains(['\0', '\n', '\u{202e}']), "{words:?}");
        }
        let long = format!("/memories/{}", "x".repeat(MEMORY_PATH_BYTES_MAX));
        assert!(refused(&long).ends_with("is longer than 512 bytes"));
    }
}
