//! The paragraphs that records are made of.

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

/// Paragraphs kept at most.
const PARAGRAPHS_MAX: usize = 400_000;
/// Paragraphs of source code kept at most, so that prose is not drowned.
const CODE_PARAGRAPHS_MAX: usize = PARAGRAPHS_MAX / 2;
/// Bytes of a file read at most; larger ones are skipped (they are tables, not prose).
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Bytes of a paragraph, both ends included.
const PARAGRAPH_BYTES: std::ops::RangeInclusive<usize> = 60..=4_000;

/// All paragraphs, in one string, neighbours of a document staying neighbours.
#[derive(Debug, Default)]
pub struct Pool {
    text: String,
    ends: Vec<usize>,
    seen: HashSet<u64>,
    code: usize,
}

impl Pool {
    /// Reads paragraphs from the text files below `sources`, in an order that depends on their
    /// names alone.
    pub fn read(sources: &[PathBuf]) -> Result<Self> {
        let mut files = Vec::new();
        for source in sources {
            walk(source, source, &mut files);
        }
        files.sort();
        let mut pool = Self::default();
        for (_, path) in &files {
            pool.add_file(path);
        }
        ensure!(!pool.is_empty(), "no text found below {sources:?}: pass --source DIR");
        Ok(pool)
    }

    /// The number of paragraphs.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True when no paragraph was found.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The paragraph at `index`.
    pub fn paragraph(&self, index: usize) -> &str {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[index]]
    }

    fn add_file(&mut self, path: &Path) {
        let code = path.extension().is_some_and(|extension| extension == "rs");
        // A file that cannot be read or is not UTF-8 has no paragraphs for us.
        let Ok(text) = fs::read_to_string(path) else {
            return;
        };
        for paragraph in text.split("\n\n").map(str::trim) {
            if self.len() < PARAGRAPHS_MAX && !(code && self.code >= CODE_PARAGRAPHS_MAX) {
                self.code += usize::from(self.add(paragraph) && code);
            }
        }
    }

    /// Adds a paragraph unless it is unfit or known; licences are in every folder.
    fn add(&mut self, paragraph: &str) -> bool {
        let fit = PARAGRAPH_BYTES.contains(&paragraph.len()) && mostly_letters(paragraph);
        if !fit || !self.seen.insert(hash(paragraph)) {
            return false;
        }
        self.text.push_str(paragraph);
        self.ends.push(self.text.len());
        true
    }
}

/// The folders read when none are named: those of these that exist.
pub fn default_sources() -> Vec<PathBuf> {
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo = cargo.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let registry = cargo.map(|cargo| cargo.join("registry/src"));
    let system = ["/usr/share/doc", "/usr/share/perl", "/usr/share/vim", "/usr/lib/python3"]
        .map(PathBuf::from);
    registry.into_iter().chain(system).filter(|path| path.is_dir()).collect()
}

/// Collects text files as (hash of the path inside its source, path); links are not followed.
fn walk(source: &Path, folder: &Path, files: &mut Vec<(u64, PathBuf)>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let path = entry.path();
        if kind.is_dir() {
            walk(source, &path, files);
        } else if kind.is_file() && is_text(&path) && small(&path) {
            files.push((hash(path.strip_prefix(source).unwrap_or(&path)), path));
        }
    }
}

fn is_text(path: &Path) -> bool {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some(extension) => matches!(extension, "md" | "rs" | "txt" | "rst" | "pod" | "pm" | "adoc"),
        None => true,
    }
}

fn small(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.len() <= FILE_BYTES_MAX)
}

fn mostly_letters(paragraph: &str) -> bool {
    let letters = paragraph.chars().filter(|c| c.is_alphabetic()).count();
    letters * 2 >= paragraph.chars().count()
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_split_filtered_and_kept_once() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let prose =
            "Postings of a common word are long, and a search must be able to skip most of them.";
        let body = format!("{prose}\n\ntoo short\n\n{}\n\n{prose}\n", "0123456789 ".repeat(20));
        fs::write(folder.path().join("a.md"), body).expect("written");
        fs::write(folder.path().join("b.bin"), prose.repeat(3)).expect("written");
        let pool = Pool::read(&[folder.path().to_path_buf()]).expect("one paragraph");
        assert_eq!(pool.len(), 1);
        assert_eq!(pool.paragraph(0), prose);
    }
}
