//! What is in a directory, as the memory tool shows it. Knows names and sizes.

use std::collections::BTreeMap;

use super::path::FilePath;
use super::{Refusal, told};

/// Levels of a directory that are shown.
const LEVELS: usize = 2;
/// A directory that is not shown.
const NODE_MODULES: &str = "node_modules";
/// What a file takes up is a multiple of this, in bytes; a directory takes up as much by itself.
const BLOCK_BYTES: u64 = 4096;
/// Letters of sizes, each 1,024 times the one before.
const UNITS: [char; 5] = ['K', 'M', 'G', 'T', 'P'];

/// What is shown of a directory with these files below it, each with its size in bytes.
pub(super) fn of(path: &FilePath, files: &[(FilePath, u64)]) -> Result<String, Refusal> {
    if files.is_empty() && !path.is_root() {
        return told(format!("The path {path} does not exist. Please provide a valid path."));
    }
    let mut sizes: BTreeMap<FilePath, u64> = BTreeMap::from([(path.clone(), BLOCK_BYTES)]);
    for (file, bytes) in files {
        let depth = file.within(path).len();
        for level in 0..=depth {
            let is_directory = level < depth;
            let own = if is_directory { BLOCK_BYTES } else { 0 };
            *sizes.entry(path.towards(file, level)).or_insert(own) +=
                bytes.div_ceil(BLOCK_BYTES) * BLOCK_BYTES;
        }
    }
    // A directory that is counted takes up a block where it is.
    let directories: Vec<FilePath> = sizes.keys().cloned().collect();
    for directory in directories.iter().filter(|one| *one != path) {
        let is_directory = files.iter().all(|(file, _)| file != directory);
        if is_directory {
            for level in 0..directory.within(path).len() {
                if let Some(size) = sizes.get_mut(&path.towards(directory, level)) {
                    *size += BLOCK_BYTES;
                }
            }
        }
    }
    let is_shown = |entry: &FilePath| {
        let within = entry.within(path);
        let is_hidden = |part: &String| part.starts_with('.') || part == NODE_MODULES;
        within.len() <= LEVELS && !within.iter().any(is_hidden)
    };
    let lines = sizes.iter().filter(|(entry, _)| is_shown(entry));
    let lines: Vec<String> =
        lines.map(|(entry, bytes)| format!("{}\t{entry}", human(*bytes))).collect();
    Ok(format!(
        "Here're the files and directories up to {LEVELS} levels deep in {path}, excluding hidden \
         items and node_modules:\n{}",
        lines.join("\n")
    ))
}

/// A size as `du -h` writes it, rounded up: `0`, `4.0K`, `12K`, `1.1M`.
fn human(bytes: u64) -> String {
    const STEP: u64 = 1024;
    const TENTHS: u64 = 10;
    if bytes == 0 {
        return "0".to_string();
    }
    let (mut unit, mut letter) = (STEP, 0);
    while bytes.div_ceil(unit) >= STEP && letter + 1 < UNITS.len() {
        unit *= STEP;
        letter += 1;
    }
    let tenths = (bytes * TENTHS).div_ceil(unit);
    match tenths {
        0..100 => format!("{}.{}{}", tenths / TENTHS, tenths % TENTHS, UNITS[letter]),
        _ => format!("{}{}", bytes.div_ceil(unit), UNITS[letter]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> FilePath {
        FilePath::parse(text).expect("a path")
    }

    #[test]
    fn sizes_are_written_as_by_du() {
        for (bytes, want) in [
            (0, "0"),
            (4096, "4.0K"),
            (8192, "8.0K"),
            (10 * 1024, "10K"),
            (12288, "12K"),
            (1023 * 1024, "1023K"),
            (1024 * 1024, "1.0M"),
            (1024 * 1024 + 1, "1.1M"),
            (5 << 30, "5.0G"),
        ] {
            assert_eq!(human(bytes), want);
        }
    }

    #[test]
    fn two_levels_are_shown_without_what_is_hidden() {
        let files = [
            ("/memories/a.md", 10),
            ("/memories/b/c.md", 5000),
            ("/memories/b/d/e.md", 1),
            ("/memories/b/d/f/g.md", 0),
            ("/memories/.secret", 1),
            ("/memories/b/.git/x", 1),
            ("/memories/node_modules/x/y", 1),
        ];
        let files: Vec<(FilePath, u64)> =
            files.into_iter().map(|(file, bytes)| (path(file), bytes)).collect();
        let shown = of(&path("/memories"), &files).expect("a directory");
        let want = "Here're the files and directories up to 2 levels deep in /memories, excluding \
                    hidden items and node_modules:\n\
                    56K\t/memories\n\
                    4.0K\t/memories/a.md\n\
                    32K\t/memories/b\n\
                    8.0K\t/memories/b/c.md\n\
                    12K\t/memories/b/d";
        assert_eq!(shown, want);
        assert!(
            of(&path("/memories"), &[])
                .expect("it is always there")
                .ends_with(":\n4.0K\t/memories")
        );
        let missing = of(&path("/memories/x"), &[]).expect_err("nothing is there").to_string();
        assert_eq!(missing, "The path /memories/x does not exist. Please provide a valid path.");
    }
}
