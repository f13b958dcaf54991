//! Output of tools that stands in files of its own, beside a session: read only where it belongs.
//! Knows nothing of formats.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::limits::RESULT_CHARS_MAX;

/// Bytes that are read at the start and at the end: a character has at most four.
const END_BYTES: u64 = RESULT_CHARS_MAX as u64 * 4;

/// The folder that may hold outputs of the session in `file`, if there is one.
pub(crate) fn folder(file: &Path) -> Option<PathBuf> {
    let folder = file.with_extension("").join("tool-results");
    folder.canonicalize().ok() // Most sessions have none.
}

/// Head and tail of an output, if its file really lies in `folder`.
pub(crate) fn read(folder: &Path, path: &str) -> Option<String> {
    // What a link leads to counts; a file that is gone is as good as one that is elsewhere.
    let path = folder.join(path).canonicalize().ok()?;
    if !path.starts_with(folder) || !path.is_file() {
        return None;
    }
    ends(&path).ok() // The trace still holds the start of it.
}

fn ends(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    if length <= 2 * END_BYTES {
        file.take(2 * END_BYTES).read_to_end(&mut bytes)?;
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    file.by_ref().take(END_BYTES).read_to_end(&mut bytes)?;
    bytes.extend_from_slice(b"\n");
    file.seek(SeekFrom::Start(length - END_BYTES))?;
    file.take(END_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_inside_are_read() {
        let root = tempfile::tempdir().expect("a folder");
        let outputs = root.path().join("s/tool-results");
        std::fs::create_dir_all(&outputs).expect("a folder");
        std::fs::write(outputs.join("a.txt"), "inside").expect("a file");
        std::fs::write(root.path().join("secret.txt"), "outside").expect("a file");
        let folder = folder(&root.path().join("s.jsonl")).expect("a folder");
        assert_eq!(read(&folder, "a.txt").as_deref(), Some("inside"));
        let whole = outputs.join("a.txt");
        assert_eq!(read(&folder, &whole.to_string_lossy()).as_deref(), Some("inside"));
        for path in ["../../secret.txt", "/etc/hostname", "missing.txt", "", "."] {
            assert_eq!(read(&folder, path), None, "{path}");
        }
        #[cfg(unix)]
        {
            let link = outputs.join("link.txt");
            std::os::unix::fs::symlink(root.path().join("secret.txt"), link).expect("a link");
            assert_eq!(read(&folder, "link.txt"), None);
        }
    }

    #[test]
    fn long_outputs_keep_their_ends() {
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().join("a.txt");
        std::fs::write(&path, format!("first{}last", "x".repeat(100_000))).expect("a file");
        let text = ends(&path).expect("a file");
        assert!(text.starts_with("first") && text.ends_with("last") && text.len() < 40_000);
    }
}
