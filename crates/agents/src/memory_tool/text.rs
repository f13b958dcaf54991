//! What commands of the memory tool make of a file's text, and how they show it. Knows no records.

use super::path::FilePath;
use super::{Refusal, told};

/// Most bytes of a file: 1 MiB.
pub const MEMORY_FILE_BYTES_MAX: usize = 1 << 20;
/// Most lines of a file.
pub const MEMORY_FILE_LINES_MAX: usize = 999_999;
/// Lines that are shown before and after an edit.
const SNIPPET_LINES: usize = 4;

/// A text after an edit, and what the model is told of it.
#[derive(Debug)]
pub(super) struct Edited {
    pub(super) text: String,
    pub(super) answer: String,
}

/// Why a text is no file's; none where it may be one.
pub(super) fn too_large(path: &FilePath, text: &str) -> Option<String> {
    if text.lines().count() > MEMORY_FILE_LINES_MAX {
        return Some(format!("File {path} exceeds maximum line limit of 999,999 lines."));
    }
    let is_long = text.len() > MEMORY_FILE_BYTES_MAX;
    is_long.then(|| format!("File {path} exceeds maximum size of 1,048,576 bytes."))
}

/// A file with the numbers of its lines, or those of a range.
pub(super) fn viewed(
    path: &FilePath,
    text: &str,
    range: Option<[i64; 2]>,
) -> Result<String, Refusal> {
    if let Some(words) = too_large(path, text) {
        return told(words);
    }
    let lines: Vec<&str> = lines_of(text);
    let (first, last) = match range {
        None => (1, lines.len()),
        Some(range) => ranged(range, lines.len())?,
    };
    let header = format!("Here's the content of {path} with line numbers:");
    Ok(format!("{header}\n{}", numbered(&lines, first, last)))
}

/// The lines, of which a line break at the end of the text makes no further one.
fn lines_of(text: &str) -> Vec<&str> {
    if text.is_empty() {
        return Vec::new();
    }
    text.strip_suffix('\n').unwrap_or(text).split('\n').collect()
}

fn ranged([first, last]: [i64; 2], count: usize) -> Result<(usize, usize), Refusal> {
    let refused = |why: String| {
        told(format!("Error: Invalid `view_range` parameter: [{first}, {last}]. {why}"))
    };
    let begin = usize::try_from(first).unwrap_or(0);
    if begin == 0 || begin > count.max(1) {
        return refused(format!(
            "It should begin within the range of lines of the file: [1, {count}]"
        ));
    }
    let end = match last {
        -1 => count,
        last => match usize::try_from(last) {
            Ok(last) if last >= begin => last.min(count),
            _ => return refused("Its end should be -1, or not before its beginning".to_string()),
        },
    };
    Ok((begin, end))
}

/// Lines `first` to `last`, counted from 1, each after its number.
fn numbered(lines: &[&str], first: usize, last: usize) -> String {
    let numbered = lines.iter().enumerate().map(|(at, line)| (at + 1, line));
    let numbered = numbered.filter(|(number, _)| (first..=last).contains(number));
    let lines: Vec<String> =
        numbered.map(|(number, line)| format!("{number:>6}\t{line}")).collect();
    lines.join("\n")
}

/// Puts `new` in the place of `old`, which must be there once.
pub(super) fn replaced(
    path: &FilePath,
    text: &str,
    old: &str,
    new: &str,
) -> Result<Edited, Refusal> {
    let places = places_of(text, old);
    let at = match places[..] {
        [at] => at,
        [] => {
            return told(format!(
                "No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
            ));
        }
        _ => {
            let lines: Vec<String> =
                places.iter().map(|at| line_at(text, *at).to_string()).collect();
            return told(format!(
                "No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {}. \
                 Please ensure it is unique",
                lines.join(", ")
            ));
        }
    };
    let edited = format!("{}{new}{}", &text[..at], &text[at + old.len()..]);
    let lines = lines_of(&edited);
    let first = line_at(&edited, at).saturating_sub(SNIPPET_LINES).max(1);
    let last = line_at(&edited, at + new.len()) + SNIPPET_LINES;
    let answer = format!("The memory file has been edited.\n{}", numbered(&lines, first, last));
    Ok(Edited { answer, text: edited })
}

/// Where a text is, those places too that overlap; nowhere for an empty one.
fn places_of(text: &str, old: &str) -> Vec<usize> {
    let mut places = Vec::new();
    let Some(first) = old.chars().next() else { return places };
    let mut from = 0;
    while let Some(at) = text[from..].find(old) {
        places.push(from + at);
        from += at + first.len_utf8();
    }
    places
}

/// The number of the line of a byte.
fn line_at(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Puts lines after a line; 0 is before the first.
pub(super) fn inserted(
    path: &FilePath,
    text: &str,
    line: i64,
    new: &str,
) -> Result<Edited, Refusal> {
    let lines = lines_of(text);
    let count = lines.len();
    let Some(after) = usize::try_from(line).ok().filter(|after| *after <= count) else {
        return told(format!(
            "Error: Invalid `insert_line` parameter: {line}. It should be within the range of \
             lines of the file: [0, {count}]"
        ));
    };
    let at: usize = lines[..after].iter().map(|line| line.len() + 1).sum();
    // The last line may not have ended.
    let (before, rest) = text.split_at(at.min(text.len()));
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    let ends = rest.is_empty() && gap == "\n" || new.ends_with('\n');
    let end = if ends { "" } else { "\n" };
    let text = format!("{before}{gap}{new}{end}{rest}");
    Ok(Edited { text, answer: format!("The file {path} has been edited.") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> FilePath {
        FilePath::parse("/memories/a").expect("a path")
    }

    #[test]
    fn lines_are_inserted_as_lines_wherever_the_text_ends() {
        for (text, line, new, want) in [
            ("", 0, "x", "x\n"),
            ("", 0, "x\n", "x\n"),
            ("a\nb\n", 0, "x", "x\na\nb\n"),
            ("a\nb\n", 1, "x\ny", "a\nx\ny\nb\n"),
            ("a\nb\n", 2, "x\n", "a\nb\nx\n"),
            ("a\nb", 2, "x", "a\nb\nx"),
            ("a\nb", 1, "x", "a\nx\nb"),
            ("a\n\n", 2, "x", "a\n\nx\n"),
            ("a\n", 1, "", "a\n\n"),
        ] {
            let edited = inserted(&path(), text, line, new).expect("in range");
            assert_eq!(edited.text, want, "{text:?} {line} {new:?}");
        }
        for line in [-1, 3, i64::MAX, i64::MIN] {
            let words = inserted(&path(), "a\nb\n", line, "x").expect_err("out of range");
            assert_eq!(
                words.to_string(),
                format!(
                    "Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: [0, 2]"
                )
            );
        }
    }

    #[test]
    fn a_text_is_replaced_only_where_it_is_there_once() {
        let edited = replaced(&path(), "one\ntwo\nthree\n", "two", "2\n2").expect("once");
        assert_eq!(edited.text, "one\n2\n2\nthree\n");
        assert_eq!(
            edited.answer,
            "The memory file has been edited.\n     1\tone\n     2\t2\n     3\t2\n     4\tthree"
        );
        let long: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let edited = replaced(&path(), &long, "line 10\n", "ten\n").expect("once");
        let shown: Vec<&str> = edited.answer.lines().skip(1).collect();
        assert_eq!((shown.len(), shown[0], shown[4]), (10, "     6\tline 6", "    10\tten"));
        for (text, old, lines) in
            [("a\nb\na\n", "a", "1, 3"), ("aaa", "aa", "1, 1"), ("日日日", "日日", "1, 1")]
        {
            let words = replaced(&path(), text, old, "x").expect_err("several").to_string();
            assert_eq!(
                words,
                format!(
                    "No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. Please ensure it is unique"
                )
            );
        }
        for old in ["", "nothing", "A"] {
            let words = replaced(&path(), "a\n", old, "x").expect_err("nowhere").to_string();
            assert!(words.ends_with("did not appear verbatim in /memories/a."), "{words}");
        }
    }

    #[test]
    fn ranges_are_of_lines_that_are_there() {
        let view = |range| viewed(&path(), "a\nb\nc\n", range).map_err(|error| error.to_string());
        let shown = |lines: &str| {
            Ok(format!("Here's the content of /memories/a with line numbers:\n{lines}"))
        };
        assert_eq!(view(None), shown("     1\ta\n     2\tb\n     3\tc"));
        assert_eq!(view(Some([2, -1])), shown("     2\tb\n     3\tc"));
        assert_eq!(view(Some([2, 2])), shown("     2\tb"));
        assert_eq!(view(Some([1, 99])), view(None));
        for range in [[0, 1], [-1, 2], [4, 5], [2, 1], [1, 0], [2, -2], [i64::MIN, i64::MAX]] {
            let [first, last] = range;
            let words = view(Some(range)).expect_err("out of range");
            let begin = format!("Error: Invalid `view_range` parameter: [{first}, {last}]. ");
            assert!(words.starts_with(&begin), "{words}");
        }
        assert_eq!(
            viewed(&path(), "", None).expect("empty"),
            "Here's the content of /memories/a with line numbers:\n"
        );
    }

    #[test]
    fn files_have_limits() {
        let lines = "\n".repeat(MEMORY_FILE_LINES_MAX);
        assert_eq!(too_large(&path(), &lines), None);
        assert_eq!(
            too_large(&path(), &format!("{lines}\n")),
            Some("File /memories/a exceeds maximum line limit of 999,999 lines.".to_string())
        );
        assert_eq!(too_large(&path(), &"x".repeat(MEMORY_FILE_BYTES_MAX)), None);
        assert!(too_large(&path(), &"x".repeat(MEMORY_FILE_BYTES_MAX + 1)).is_some());
    }
}
