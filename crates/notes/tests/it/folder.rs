//! Folders of notes: everything is read or named, nothing is overwritten or lost.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use kapsa_notes::{
    Error, FRONT_BYTES_MAX, MemoryFolder, NOTE_BYTES_MAX, NewMemory, NewSummary, Note, NoteError,
    Primitive, Revision, Stamp, hash,
};
use tempfile::TempDir;

fn stamp() -> Stamp {
    Stamp::from_micros(1_796_033_700_000_000).expect("a date")
}

fn memory() -> (TempDir, MemoryFolder) {
    let temporary = tempfile::tempdir().expect("a folder");
    let memory = MemoryFolder::at(&temporary.path().join("memory"));
    (temporary, memory)
}

fn note(title: &str) -> Note {
    let new = NewMemory { title, body: "It is so.", source: "run", ..NewMemory::default() };
    Note::memory(Primitive::Decision, &new, &stamp()).expect("a note")
}

fn add(memory: &MemoryFolder, title: &str) -> PathBuf {
    memory.add(Primitive::Decision, note(title), &stamp()).expect("added").path
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_memory_that_is_not_there_is_empty() {
    let (_temporary, memory) = memory();
    let contents = memory.read().expect("contents");
    assert!(contents.notes.is_empty() && contents.unreadable.is_empty());
    memory.create().expect("made");
    assert_eq!(names(memory.root()), ["decisions", "learnings", "summaries"]);
}

#[test]
fn what_is_added_is_read_back_with_its_place_and_hash() {
    let (_temporary, memory) = memory();
    let added = memory.add(Primitive::Decision, note("Use port 5433"), &stamp()).expect("added");
    assert_eq!(added.path, memory.root().join("decisions/20261130-use-port-5433.md"));
    let contents = memory.read().expect("contents");
    assert_eq!(contents.notes, std::slice::from_ref(&added));
    assert_eq!(memory.read_note(&added.path).expect("a note"), added);
    assert_eq!(added.hash, hash(&fs::read(&added.path).expect("a file")));
    assert_eq!(memory.hash_now(&added.path).expect("a hash"), Some(added.hash));
}

#[test]
fn equal_titles_of_a_day_have_two_names_and_two_ids() {
    let (_temporary, memory) = memory();
    let first = memory.add(Primitive::Decision, note("Port"), &stamp()).expect("added");
    let second = memory.add(Primitive::Decision, note("Port"), &stamp()).expect("added");
    assert_eq!(names(&memory.root().join("decisions")), ["20261130-port-2.md", "20261130-port.md"]);
    assert_eq!(first.note.front.text("id").as_deref(), Some("port"));
    assert_eq!(second.note.front.text("id").as_deref(), Some("port-2"));
}

#[test]
fn summaries_lie_flat_and_never_replace_each_other() {
    let (_temporary, memory) = memory();
    let new = NewSummary { title: "A day", run_id: "run", ..NewSummary::default() };
    let summary = Note::summary(&new, &stamp()).expect("a note");
    for id in ["abcdef", "abcdef", "012345"] {
        memory.add_summary(summary.clone(), &stamp(), id).expect("added");
    }
    assert_eq!(
        names(&memory.root().join("summaries")),
        [
            "20261130-101500-a-day-012345.md",
            "20261130-101500-a-day-2-abcdef.md",
            "20261130-101500-a-day-abcdef.md"
        ]
    );
}

#[test]
fn an_update_stays_in_its_file() {
    let (_temporary, memory) = memory();
    let mut added = memory.add(Primitive::Decision, note("Port"), &stamp()).expect("added");
    fs::set_permissions(&added.path, fs::Permissions::from_mode(0o640)).expect("set");
    let revision = Revision { title: Some("Another title"), ..Revision::default() };
    added.note.revise(&revision, &stamp()).expect("revised");
    let written = memory.write(&added.path, &added.note, Some(&added.hash)).expect("written");
    assert_eq!(names(&memory.root().join("decisions")), ["20261130-port.md"]);
    assert_eq!(memory.read().expect("contents").notes, [written]);
    let mode = fs::metadata(&added.path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn what_somebody_changed_meanwhile_is_not_overwritten() {
    let (_temporary, memory) = memory();
    let added = memory.add(Primitive::Decision, note("Port"), &stamp()).expect("added");
    fs::write(&added.path, "by hand").expect("written");
    let refused = memory.write(&added.path, &added.note, Some(&added.hash));
    assert!(matches!(refused, Err(Error::Changed { .. })), "{refused:?}");
    let refused = memory.write(&added.path, &added.note, None);
    assert!(matches!(refused, Err(Error::Changed { .. })), "{refused:?}");
    fs::remove_file(&added.path).expect("removed");
    let refused = memory.write(&added.path, &added.note, Some(&added.hash));
    assert!(matches!(refused, Err(Error::Changed { .. })), "{refused:?}");
    memory.write(&added.path, &added.note, None).expect("written");
    assert_eq!(names(&memory.root().join("decisions")), ["20261130-port.md"]);
}

#[test]
fn what_could_not_be_read_again_is_not_written() {
    let (_temporary, memory) = memory();
    let mut large = note("Port");
    large.body = "x".repeat(NOTE_BYTES_MAX);
    let mut long = note("Port");
    long.front.set("mine", "x".repeat(FRONT_BYTES_MAX / 2)).expect("set");
    let before = long.clone();
    let refused = long.front.set("more", "x".repeat(FRONT_BYTES_MAX / 2));
    assert!(matches!(refused, Err(NoteError::Unwritable { .. })), "{refused:?}");
    assert_eq!(long, before);
    let refused = memory.add(Primitive::Decision, large, &stamp());
    assert!(matches!(refused, Err(Error::Note { .. })), "{refused:?}");
    assert_eq!(names(&memory.root().join("decisions")).len(), 0);
}

#[test]
fn whatever_cannot_be_read_is_named() {
    let (temporary, memory) = memory();
    memory.create().expect("made");
    let decisions = memory.root().join("decisions");
    let good = add(&memory, "Good");
    fs::write(decisions.join("a-no-front.md"), "# Text").expect("written");
    fs::write(decisions.join("b-open.md"), "---\nid: a\n").expect("written");
    fs::write(decisions.join("c-large.md"), vec![b'x'; NOTE_BYTES_MAX + 1]).expect("written");
    fs::write(decisions.join("d-bytes.md"), b"---\n\xff\n---\n").expect("written");
    symlink(&good, decisions.join("e-link.md")).expect("a link");
    fs::create_dir(decisions.join("f-folder.md")).expect("a folder");
    fs::write(decisions.join("notes.txt"), "no note").expect("written");
    fs::write(decisions.join(".hidden.md"), "no note").expect("written");
    let elsewhere = temporary.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    fs::write(elsewhere.join("x.md"), note("X").render()).expect("written");
    fs::remove_dir(memory.root().join("learnings")).expect("removed");
    symlink(&elsewhere, memory.root().join("learnings")).expect("a link");

    let contents = memory.read().expect("contents");
    assert_eq!(contents.notes.len(), 1);
    let mut named: Vec<(String, String)> = contents
        .unreadable
        .iter()
        .map(|one| {
            let name = one.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, one.reason.clone())
        })
        .collect();
    named.sort();
    let names: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "a-no-front.md",
            "b-open.md",
            "c-large.md",
            "d-bytes.md",
            "e-link.md",
            "f-folder.md",
            "learnings"
        ]
    );
    assert_eq!(named[4].1, "a link");
    assert_eq!(named[6].1, "a link");
    assert!(named[2].1.contains("at most"), "{}", named[2].1);
}

#[test]
fn paths_that_are_no_notes_of_the_memory_are_refused() {
    let (temporary, memory) = memory();
    memory.create().expect("made");
    let elsewhere = temporary.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    symlink(&elsewhere, memory.root().join("archived")).expect("a link");
    let root = memory.root();
    for path in [
        temporary.path().join("x.md"),
        root.join("x.md"),
        root.join("other/x.md"),
        root.join("decisions/x.txt"),
        root.join("decisions/.x.md"),
        root.join("decisions/x.conflict.md"),
        root.join("decisions/../../x.md"),
        root.join("decisions/deeper/x.md"),
        root.join("archived/decisions/x.md"),
        PathBuf::from("decisions/x.md"),
    ] {
        let refused = memory.write(&path, &note("X"), None);
        assert!(
            matches!(refused, Err(Error::NotOfMemory { .. })),
            "{}: {refused:?}",
            path.display()
        );
    }
    assert!(memory.archive(&add(&memory, "Port")).is_err(), "archived/ is a link");
    assert_eq!(names(&elsewhere).len(), 0);
}

#[test]
fn an_archived_note_is_moved_and_nothing_is_replaced() {
    let (_temporary, memory) = memory();
    let first = add(&memory, "Port");
    let text = fs::read(&first).expect("a file");
    let archived = memory.archive(&first).expect("archived");
    assert_eq!(archived, memory.root().join("archived/decisions/20261130-port.md"));
    assert_eq!(fs::read(&archived).expect("a file"), text);
    let second = memory.archive(&add(&memory, "Port")).expect("archived");
    assert_eq!(second, memory.root().join("archived/decisions/20261130-port-2.md"));
    let contents = memory.read().expect("contents");
    assert_eq!(contents.notes.iter().filter(|note| note.is_archived).count(), 2);
    assert!(matches!(memory.archive(&second), Err(Error::NotOfMemory { .. })));
}

#[test]
fn a_move_that_was_interrupted_is_completed() {
    let (_temporary, memory) = memory();
    let path = add(&memory, "Port");
    let target = memory.root().join("archived/decisions/20261130-port.md");
    fs::create_dir_all(target.parent().expect("a parent")).expect("made");
    fs::hard_link(&path, &target).expect("linked");
    assert_eq!(memory.archive(&path).expect("archived"), target);
    assert!(!path.exists());
    assert_eq!(names(&memory.root().join("archived/decisions")), ["20261130-port.md"]);
}

#[test]
fn a_conflict_lies_beside_its_note() {
    let (_temporary, memory) = memory();
    let path = add(&memory, "Port");
    fs::write(&path, "by hand").expect("written");
    let beside = memory.write_conflict(&path, &note("Other")).expect("written");
    assert_eq!(beside, memory.root().join("decisions/20261130-port.conflict.md"));
    assert_eq!(memory.write_conflict(&path, &note("Other")).expect("written"), beside);
    let third = memory.write_conflict(&path, &note("Third")).expect("written");
    assert_eq!(third, memory.root().join("decisions/20261130-port.conflict-2.md"));
    assert_eq!(fs::read_to_string(&path).expect("a file"), "by hand");
    let mut conflicts = memory.read().expect("contents").conflicts;
    conflicts.sort();
    assert_eq!(conflicts, [third.clone(), beside.clone()]);
    assert_eq!(memory.conflicts_of(&path).expect("conflicts"), [third, beside]);
}
