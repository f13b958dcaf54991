//! Output of tools that stands in files of its own, beside a session: read only where it belongs.
//! Knows nothing of formats.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes of an output that are read.
const OUTPUT_BYTES_MAX: u64 = 4 << 20;

/// The folder that may hold outputs of the session in `file`, if there is one.
pub(crate) fn folder(file: &Path) -> Option<PathBuf> {
    let beside = file.with_extension("");
    let folder = beside.join("tool-results");
    // A link would make another folder the one that may be read.
    let is_real = |path: &Path| path.symlink_metadata().is_ok_and(|about| about.is_dir());
    if !is_real(&beside) || !is_real(&folder) {
        return None;
    }
    folder.canonicalize().ok() // It was there a moment ago.
}

/// An output, if its file really lies in `folder`.
pub(crate) fn read(folder: &Path, path: &str) -> Option<String> {
    // What a link leads to counts; a file that is gone is as good as one that is elsewhere.
    let path = folder.join(path).canonicalize().ok()?;
    if !path.starts_with(folder) || !path.is_file() {
        return None;
    }
    start(&path).ok() // The trace still holds the start of it.
}

/// What an output begins with. It is shortened later, when what must not be kept is gone: a tail
/// that is read alone may be that of a key.
fn start(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes)?;
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
            let elsewhere = root.path().join("t");
            std::fs::create_dir(&elsewhere).expect("a folder");
            std::os::unix::fs::symlink(root.path(), elsewhere.join("tool-results"))
                .expect("a link");
            assert_eq!(super::folder(&root.path().join("t.jsonl")), None);
            let link = outputs.join("link.txt");
            std::os::unix::fs::symlink(root.path().join("secret.txt"), link).expect("a link");
            assert_eq!(read(&folder, "link.txt"), None);
        }
    }

    #[test]
    fn long_outputs_are_read_to_their_limit() {
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().join("a.txt");
        std::fs::write(&path, format!("first{}last", "x".repeat(5 << 20))).expect("a file");
        let text = start(&path).expect("a file");
        assert!(text.starts_with("first") && text.len() as u64 == OUTPUT_BYTES_MAX);
    }
}
