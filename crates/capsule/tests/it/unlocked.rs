//! A file that is opened before its lock is taken: read first, locked later, and never a second
//! open in between.

use kapsa_capsule::{Error, NewCapsule, Unlocked, Writer, WriterOptions, create};

fn new_capsule() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("m.kapsa");
    create(&path, NewCapsule { capsule_id: [7; 16], created_us: 1 }, &WriterOptions::default())
        .expect("a capsule");
    (folder, path)
}

fn put(writer: &mut Writer, body: &[u8]) -> u64 {
    let mut transaction = writer.begin().expect("a transaction");
    let sequence = transaction.append(body).expect("a record");
    transaction.commit(2).expect("a commit");
    sequence
}

#[test]
fn what_was_committed_before_the_lock_was_taken_is_built_on() {
    let (_folder, path) = new_capsule();
    let unlocked = Unlocked::open(&path).expect("opened");
    assert_eq!(unlocked.snapshot().commit().next_sequence, 1);
    put(&mut Writer::open(&path, &WriterOptions::default()).expect("a writer"), b"first");
    let mut writer = unlocked.lock(&WriterOptions::default()).expect("locked");
    assert_eq!(put(&mut writer, b"second"), 2, "the record of the other writer is before this one");
}

#[test]
fn what_was_read_before_the_lock_is_known_to_the_writer_unless_somebody_committed() {
    let (_folder, path) = new_capsule();
    put(&mut Writer::open(&path, &WriterOptions::default()).expect("a writer"), b"first");
    for commits in [false, true] {
        let unlocked = Unlocked::open(&path).expect("opened");
        let read = unlocked.snapshot().clone();
        if commits {
            put(&mut Writer::open(&path, &WriterOptions::default()).expect("a writer"), b"more");
        }
        let mut writer = unlocked.lock(&WriterOptions::default()).expect("locked");
        assert_eq!(writer.snapshot().expect("a view").is_same(&read), !commits);
    }
}

#[test]
fn the_lock_of_another_is_waited_for() {
    let (_folder, path) = new_capsule();
    let unlocked = Unlocked::open(&path).expect("opened beside a writer");
    let writer = Writer::open(&path, &WriterOptions::default()).expect("a writer");
    let refused = unlocked.lock(&WriterOptions::default()).expect_err("another one writes");
    assert!(matches!(refused, Error::LockedByWriter { .. }), "{refused}");
    drop(writer);
    Unlocked::open(&path).expect("opened").lock(&WriterOptions::default()).expect("free again");
}

#[test]
fn a_file_that_took_the_place_of_the_opened_one_is_the_one_that_is_written_to() {
    let (folder, path) = new_capsule();
    let unlocked = Unlocked::open(&path).expect("opened");
    let other = folder.path().join("other.kapsa");
    create(&other, NewCapsule { capsule_id: [8; 16], created_us: 1 }, &WriterOptions::default())
        .expect("a capsule");
    std::fs::rename(&other, &path).expect("replaced");
    let mut writer = unlocked.lock(&WriterOptions::default()).expect("locked");
    assert_eq!(writer.snapshot().expect("a view").file().capsule_id, [8; 16]);
    put(&mut writer, b"in the file that has the name");
    drop(writer);
    let read = kapsa_capsule::Snapshot::open(&path).expect("opened");
    assert_eq!(read.commit().next_sequence, 2);
}
