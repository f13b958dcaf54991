//! The file system's own answers.

use super::*;
use crate::forged::file;

#[test]
fn a_file_says_what_it_is() {
    let (empty, full) = (file(b""), file(b"full"));
    let open = |path: &Path| FileSystem.open(path, true).expect("opens");
    assert!(open(&empty.path).is_empty().expect("known"));
    assert!(!open(&full.path).is_empty().expect("known"));
    let map = open(&full.path).map(4).expect("mapped").expect("can be mapped");
    assert_eq!(&map[..], b"full");
    assert_eq!(FileSystem.names(&full.path).expect("known"), 1);
}

#[test]
fn what_is_missing_may_be_removed_and_what_is_no_file_may_not() {
    let made = file(b"");
    let folder = made.path.with_extension("folder");
    std::fs::create_dir(&folder).expect("made");
    FileSystem.remove(&made.path).expect("removed");
    FileSystem.remove(&made.path).expect("already gone");
    assert!(FileSystem.remove(&folder).is_err() && folder.exists());
    assert!(FileSystem.sync_folder(&folder.join("missing/m.kapsa")).is_err());
}

#[test]
fn a_file_is_replaced_as_a_whole() {
    let made = file(b"old");
    FileSystem.replace(&made.path, b"new").expect("replaced");
    assert_eq!(std::fs::read(&made.path).expect("there"), b"new");
    assert_eq!(FileSystem.leftovers(&made.path).expect("listed"), Vec::<PathBuf>::new());
}

#[test]
fn what_was_left_in_the_making_is_listed_and_swept() {
    let made = file(b"");
    let left = FileSystem.temporary(&made.path);
    std::fs::write(&left, b"").expect("written");
    assert_eq!(FileSystem.leftovers(&made.path).expect("listed"), [left.as_path()]);
    FileSystem.sweep(&made.path).expect("swept");
    assert!(!left.exists() && made.path.exists());
}

#[test]
fn the_folder_of_a_name_alone_is_the_current_one() {
    assert_eq!(folder_of(Path::new("m.kapsa")), Path::new("."));
    assert_eq!(folder_of(Path::new("a/m.kapsa")), Path::new("a"));
}

#[test]
fn a_link_is_resolved_and_one_that_leads_nowhere_is_named() {
    let made = file(b"");
    let link = made.path.with_extension("link");
    std::os::unix::fs::symlink(&made.path, &link).expect("linked");
    let target = std::fs::canonicalize(&made.path).expect("there");
    assert_eq!(FileSystem.resolve(&link).expect("resolved"), target);
    let relative = Path::new("../no-link.kapsa");
    assert_eq!(FileSystem.resolve(relative).expect("as it is"), relative);
    std::fs::remove_file(&made.path).expect("removed");
    let refused = FileSystem.open(&link, false).expect_err("it leads nowhere");
    assert_eq!(refused.to_string(), "it is a link that leads nowhere");
}

#[test]
fn access_rights_are_copied() {
    use std::os::unix::fs::PermissionsExt;
    let (from, to) = (file(b""), file(b""));
    std::fs::set_permissions(&from.path, PermissionsExt::from_mode(0o640)).expect("set");
    FileSystem.copy_access(&from.path, &to.path).expect("copied");
    assert_eq!(std::fs::metadata(&to.path).expect("there").permissions().mode() & 0o777, 0o640);
}
