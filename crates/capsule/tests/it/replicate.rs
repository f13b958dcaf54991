//! What two capsules have in common, and how one catches up with the other.

use std::path::{Path, PathBuf};

use kapsa_capsule::{Error, NewCapsule, Snapshot, Stored, Writer, WriterOptions, common, create};

struct Capsule {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn capsule(id: u8) -> Capsule {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("c.kapsa");
    create(&path, NewCapsule { capsule_id: [id; 16], created_us: 0 }, &WriterOptions::default()).expect("created");
    Capsule { _folder: folder, path }
}

fn writer(path: &Path) -> Writer {
    Writer::open(path, &WriterOptions::default()).expect("opens")
}

fn commit(capsule: &Capsule, records: &[&str], time_us: i64) {
    let mut writer = writer(&capsule.path);
    let mut transaction = writer.begin().expect("begins");
    for record in records {
        transaction.append(record.as_bytes()).expect("appended");
    }
    transaction.commit(time_us).expect("committed");
}

/// Rewrites the file; the records of `purge` leave their hashes.
fn compact(capsule: &Capsule, purge: &[u64]) {
    let mut writer = writer(&capsule.path);
    let mut rewrite = writer.rewrite().expect("begins");
    let old = rewrite.old().clone();
    for record in old.records(1) {
        let record = record.expect("readable");
        let hash = record.stored().hash();
        let stored = if purge.contains(&record.sequence()) { Stored::Purged(&hash) } else { record.stored() };
        rewrite.append(stored).expect("appended");
    }
    rewrite.finish().expect("finished");
}

fn snapshot(capsule: &Capsule) -> Snapshot {
    Snapshot::open(&capsule.path).expect("opens")
}

/// Appends what `to` misses of `from`, commit by commit.
fn pull(from: &Capsule, to: &Capsule) -> Result<(), Error> {
    let source = snapshot(from);
    let mut writer = writer(&to.path);
    let have = common(&source, &writer.snapshot()?)?;
    let chains = source.chains()?;
    for span in source.commits()?.into_iter().filter(|span| span.number > have) {
        let mut transaction = writer.begin()?;
        for sequence in span.first_sequence..span.next_sequence {
            transaction.append_stored(source.record(sequence)?.stored())?;
        }
        transaction.commit_as(span.time_us, &chains[span.number as usize])?;
    }
    Ok(())
}

#[test]
fn a_prefix_a_copy_and_a_fork_are_told_apart_whatever_was_compacted() {
    for (compact_a, compact_b) in [(None, None), (Some(1), None), (None, Some(3)), (Some(2), Some(4)), (Some(5), Some(5))] {
        for shared in 0..5 {
            let (a, b) = (capsule(1), capsule(2));
            for at in 0..6 {
                commit(&a, &["a", &format!("record {at}")], at);
                if compact_a == Some(at) {
                    compact(&a, &[1]);
                }
                if at < shared {
                    commit(&b, &["a", &format!("record {at}")], at);
                } else if at > shared {
                    commit(&b, &["b"], at);
                }
                if compact_b == Some(at) {
                    compact(&b, &[]);
                }
            }
            let (a, b) = (snapshot(&a), snapshot(&b));
            assert_eq!(common(&a, &b).expect("whole"), shared as u64);
            assert_eq!(common(&b, &a).expect("whole"), shared as u64);
            assert_eq!(common(&a, &a).expect("whole"), 6);
            let chains = a.chains().expect("whole");
            assert_eq!((chains.len(), chains[0], chains[6]), (7, [0; 32], a.commit().chain));
            for (number, chain) in chains.iter().enumerate() {
                assert_eq!(a.chain_of(number as u64).expect("whole"), Some(*chain));
            }
            assert_eq!(a.chain_of(7).expect("whole"), None);
            let spans = a.commits().expect("whole");
            assert_eq!(spans.iter().map(|s| (s.number, s.time_us, s.next_sequence)).collect::<Vec<_>>()[5], (6, 5, 13));
        }
    }
}

#[test]
fn pulling_commit_by_commit_makes_the_same_history() {
    let (from, to) = (capsule(1), capsule(2));
    for at in 0..5 {
        commit(&from, &["one", &format!("record {at}"), "three"], at * 7 - 3);
        if at == 2 {
            compact(&from, &[2, 5]);
        }
        if at % 2 == 0 {
            pull(&from, &to).expect("pulled");
            assert_eq!(snapshot(&from).commit(), snapshot(&to).commit());
        }
    }
    assert!(matches!(snapshot(&to).record(5).expect("there").stored(), Stored::Purged(_)));
    pull(&from, &to).expect("nothing to do");
    assert_eq!(kapsa_capsule::verify(&to.path, &mut |_, _| {}).expect("checked").problems, []);
}

#[test]
fn another_record_or_time_is_refused_and_nothing_is_written() {
    let (from, to) = (capsule(1), capsule(2));
    commit(&from, &["one", "two"], 5);
    let chain = snapshot(&from).commit().chain;
    let before = std::fs::read(&to.path).expect("readable");
    for (records, time) in [(vec!["one", "two"], 6), (vec!["one", "too"], 5), (vec!["one"], 5), (vec!["two", "one"], 5)] {
        let mut writer = writer(&to.path);
        let mut transaction = writer.begin().expect("begins");
        for record in records {
            transaction.append(record.as_bytes()).expect("appended");
        }
        assert!(matches!(transaction.commit_as(time, &chain), Err(Error::Misuse { .. })));
        drop(writer);
        assert_eq!(std::fs::read(&to.path).expect("readable"), before);
    }
    pull(&from, &to).expect("pulled");
}

#[test]
fn a_damaged_record_under_a_folded_commit_is_an_error() {
    let capsule = capsule(1);
    let other = self::capsule(2);
    commit(&capsule, &["a record that is damaged later"], 1);
    commit(&capsule, &["another"], 2);
    commit(&other, &["something else"], 1);
    compact(&capsule, &[]);
    let mut bytes = std::fs::read(&capsule.path).expect("readable");
    let needle = b"a record that is damaged later";
    let at = bytes.windows(needle.len()).position(|window| window == needle).expect("stored plainly");
    bytes[at] ^= 1;
    std::fs::write(&capsule.path, &bytes).expect("written");
    assert!(matches!(common(&snapshot(&capsule), &snapshot(&other)), Err(Error::Corrupt { .. })));
}
