//! The files from a command to the disk that a newcomer reads in one sitting, as
//! `docs/architecture.md` lists them: each line count must be true, and the path short enough.
//!
//! A list is a table right below its marker (`<!-- write-path -->`); its first column has the file
//! in backticks, its second the lines.

use super::problem::{Problem, Text};

/// The document with the lists.
const DOCUMENT: &str = "docs/architecture.md";
/// The lists that it must have.
const MARKERS: [&str; 2] = ["<!-- write-path -->", "<!-- find-path -->"];
/// Files of a path at most.
const FILES_MAX: usize = 8;
/// Lines of all files of a path at most.
const LINES_MAX: usize = 2_500;

/// A path as it is.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ReadingPath {
    pub(super) marker: &'static str,
    pub(super) files: usize,
    pub(super) lines: usize,
}

/// What the check of the lists found.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) problems: Vec<Problem>,
    pub(super) paths: Vec<ReadingPath>,
    /// The document with true counts, where one is wrong.
    pub(super) mended: Option<Text>,
}

/// Compares the lists with the files.
pub(super) fn check(texts: &[Text]) -> Reading {
    let mut reading = Reading::default();
    let Some(document) = texts.iter().find(|text| text.name == DOCUMENT) else {
        return reading;
    };
    let mut lines: Vec<String> = document.content.lines().map(str::to_owned).collect();
    for marker in MARKERS {
        let Some(at) = lines.iter().position(|line| line.trim() == marker) else {
            reading.problems.push(Problem::new(
                DOCUMENT,
                1,
                format!("there is no table below a line {marker}"),
            ));
            continue;
        };
        check_path(texts, marker, at, &mut lines, &mut reading);
    }
    let mended = lines.join("\n") + "\n";
    reading.mended = (mended != document.content).then(|| Text::new(DOCUMENT, &mended));
    reading
}

fn check_path(
    texts: &[Text],
    marker: &'static str,
    at: usize,
    lines: &mut [String],
    reading: &mut Reading,
) {
    let mut path = ReadingPath { marker, ..ReadingPath::default() };
    let below =
        lines[at + 1..].iter_mut().enumerate().skip_while(|(_, line)| line.trim().is_empty());
    for (below, line) in below.take_while(|(_, line)| line.starts_with('|')) {
        let Some(row) = ListedFile::read(line) else {
            continue;
        };
        let number = at + 2 + below;
        let Some(counted) = count(texts, &row.file) else {
            reading.problems.push(Problem::new(
                DOCUMENT,
                number,
                format!("there is no file {}", row.file),
            ));
            continue;
        };
        path.files += 1;
        path.lines += counted;
        if row.lines != counted.to_string() {
            let message = format!("{} has {counted} lines: cargo xtask tidy --fix", row.file);
            reading.problems.push(Problem::new(DOCUMENT, number, message));
            *line = row.with(counted);
        }
    }
    if path.files == 0 || path.files > FILES_MAX || path.lines > LINES_MAX {
        let message = format!(
            "{marker}: {} files and {} lines; a path has at most {FILES_MAX} files and {LINES_MAX} lines",
            path.files, path.lines
        );
        reading.problems.push(Problem::new(DOCUMENT, at + 1, message));
    }
    reading.paths.push(path);
}

/// A row of a list: `| `file` | lines | what happens there |`.
struct ListedFile {
    before: String,
    file: String,
    lines: String,
    after: String,
}

impl ListedFile {
    fn read(line: &str) -> Option<Self> {
        let (before, rest) = line[1..].split_once('|')?;
        let (lines, after) = rest.split_once('|')?;
        let file = before.split('`').nth(1)?.to_owned();
        Some(Self {
            before: before.to_owned(),
            file,
            lines: lines.trim().replace(',', ""),
            after: after.to_owned(),
        })
    }

    fn with(&self, lines: usize) -> String {
        format!("|{}| {lines} |{}", self.before, self.after)
    }
}

/// The lines of a file; its path may leave out `crates/`.
fn count(texts: &[Text], file: &str) -> Option<usize> {
    let below_crates = format!("crates/{file}");
    let text = texts.iter().find(|text| text.name == file || text.name == below_crates)?;
    Some(text.content.lines().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(rows: &str) -> [Text; 3] {
        let document =
            format!("# Paths\n\n<!-- write-path -->\n{rows}\n<!-- find-path -->\n| `b.rs` | 1 |\n");
        [
            Text::new(DOCUMENT, &document),
            Text::new("crates/a.rs", &"line\n".repeat(1_200)),
            Text::new("b.rs", "one\n"),
        ]
    }

    fn check_rows(rows: &str, expected: &[&str]) -> Option<Text> {
        let reading = check(&texts(rows));
        let found: Vec<String> = reading.problems.iter().map(Problem::to_string).collect();
        assert_eq!(found, expected);
        reading.mended
    }

    #[test]
    fn true_counts_pass() {
        assert_eq!(
            check_rows("\n| file | lines | what |\n|---|--:|---|\n| `a.rs` | 1,200 | it |\n", &[]),
            None
        );
    }

    #[test]
    fn wrong_counts_fire_and_are_mended() {
        let message = "docs/architecture.md:4: a.rs has 1200 lines: cargo xtask tidy --fix";
        let mended = check_rows("| `a.rs` | 7 | it |\n", &[message]).expect("mended");
        assert!(mended.content.contains("| `a.rs` | 1200 | it |"), "{}", mended.content);
    }

    #[test]
    fn missing_files_and_long_paths_fire() {
        check_rows(
            "| `b.rs` | 1 |\n| `c.rs` | 1 |\n",
            &["docs/architecture.md:5: there is no file c.rs"],
        );
        let long = "| `a.rs` | 1200 |\n".repeat(3);
        let message = "docs/architecture.md:3: <!-- write-path -->: 3 files and 3600 lines; \
                       a path has at most 8 files and 2500 lines";
        check_rows(&long, &[message]);
    }
}
