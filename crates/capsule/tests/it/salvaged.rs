//! What salvage meets, to the letter: each record, loss and commit, in order.

use kapsa_capsule::{Error, LOG_START, PROBLEMS_MAX, Salvage, Salvaged, Stored};
use kapsa_testkit::Disk;

use crate::harness::{Files, path};
use crate::put;
use crate::verdicts::{COMMIT_FRAME_BYTES, capsule, commits, find, noise};

fn salvage(bytes: &[u8]) -> Salvage {
    opened(bytes).expect("readable")
}

fn opened(bytes: &[u8]) -> Result<Salvage, Error> {
    let files = Files::from([(path().to_path_buf(), bytes.to_vec())]);
    Salvage::open_in(&Disk::with_files(&files), path(), &mut |_, _| {})
}

/// What is met: records by sequence and length.
fn met(salvage: &Salvage) -> Vec<String> {
    let mut met = Vec::new();
    let visited = salvage.each::<Error>(&mut |event| {
        met.push(match event {
            Salvaged::Record { sequence, stored: Stored::Body(body) } => {
                format!("{sequence}: {}", body.len())
            }
            Salvaged::Record { sequence, .. } => format!("{sequence}: purged"),
            Salvaged::Lost(range) => format!("lost {}..{}", range.start, range.end),
            Salvaged::Commit { time_us } => format!("at {time_us}"),
        });
        Ok(())
    });
    visited.expect("readable");
    met
}

fn problems(salvage: &Salvage) -> Vec<(u64, &str)> {
    salvage.problems().iter().map(|problem| (problem.offset, problem.what.as_str())).collect()
}

/// Two records at once, then one that is large, then one that is small.
fn three_commits() -> Vec<u8> {
    let (disk, mut writer) = capsule();
    for (time_us, bodies) in [
        (30, vec![b"a".to_vec(), b"bb".to_vec()]),
        (20, vec![noise(1)]),
        (10, vec![b"ccc".to_vec()]),
    ] {
        let mut transaction = writer.begin().expect("begins");
        for body in bodies {
            transaction.append(&body).expect("appends");
        }
        transaction.commit(time_us).expect("commits");
    }
    disk.files()[path()].clone()
}

const ALL: [&str; 7] = ["1: 1", "2: 2", "at 30", "3: 66536", "at 20", "4: 3", "at 10"];

#[test]
fn a_whole_capsule_is_met_record_by_record_and_commit_by_commit() {
    let whole = salvage(&three_commits());
    assert_eq!(met(&whole), ALL);
    assert_eq!((problems(&whole), whole.unfinished(), whole.misses_newest()), (vec![], 0, false));
    assert_eq!(whole.path(), path());
}

#[test]
fn a_compacted_capsule_is_met_as_it_was_before() {
    let (disk, mut writer) = capsule();
    for body in [b"one".as_slice(), b"three"] {
        put(&mut writer, &[body, b""]);
    }
    let before = met(&salvage(&disk.files()[path()]));
    assert_eq!(before, ["1: 3", "2: 0", "at 7", "3: 5", "4: 0", "at 7"]);
    crate::rewrite_all(&mut writer);
    put(&mut writer, &[b"five"]);
    let after = met(&salvage(&disk.files()[path()]));
    assert_eq!(after, [before, vec!["5: 4".to_string(), "at 7".to_string()]].concat());
}

#[test]
fn damage_costs_the_records_of_its_frame_and_is_told_where_it_lies() {
    let whole = three_commits();
    let start = &noise(1)[..16];
    let large = whole.windows(16).position(|window| window == start).expect("in the file");
    let mut bytes = whole.clone();
    bytes[large] ^= 1;
    let damaged = salvage(&bytes);
    assert_eq!(met(&damaged), [&ALL[..3], &["lost 3..4", "at 20"], &ALL[5..]].concat());
    let found = problems(&damaged);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].1, "the records frame's hash does not match");
    let frame = found[0].0 as usize;
    assert_eq!(whole[frame..frame + 5], *b"KFRM\x01");

    bytes[frame] ^= 1;
    let damaged = salvage(&bytes);
    assert_eq!(met(&damaged), [&ALL[..3], &["lost 3..4", "at 20"], &ALL[5..]].concat());
    assert_eq!(problems(&damaged), [(frame as u64, "no frame can be read here")]);

    let mut bytes = whole.clone();
    bytes[LOG_START as usize + 100] ^= 1;
    let damaged = salvage(&bytes);
    assert_eq!(met(&damaged), [&["lost 1..3"], &ALL[3..]].concat(), "its commit is lost with it");
}

#[test]
fn a_damaged_header_is_taken_from_a_commit_pointer_or_the_first_frame() {
    let whole = three_commits();
    let mut bytes = whole.clone();
    bytes[50] ^= 1;
    let mut unpointed = bytes.clone();
    unpointed[4096..LOG_START as usize].fill(0);
    for bytes in [&bytes, &unpointed] {
        let damaged = salvage(bytes);
        assert_eq!(met(&damaged), ALL);
        assert_eq!(problems(&damaged)[0], (0, "the header is damaged"));
    }
    // Without the id nothing tells whose frames they are.
    unpointed[33] ^= 1;
    assert!(matches!(opened(&unpointed), Err(Error::Corrupt { .. })));
    let mut renamed = whole;
    renamed[33] ^= 1;
    assert_eq!(met(&salvage(&renamed)), ALL, "the pointers have the id too");
}

#[test]
fn a_newest_commit_that_is_gone_is_missed_only_where_a_pointer_names_it() {
    let (bytes, lengths) = commits(&["one", "two", "three"]);
    let mut cut = bytes[..lengths[1]].to_vec();
    let missing = salvage(&cut);
    assert!(missing.misses_newest());
    assert_eq!(met(&missing), ["1: 3", "at 1", "2: 3", "at 1"]);
    let end = lengths[1] as u64;
    assert_eq!(
        problems(&missing),
        [(end, "the newest commit is gone, and perhaps records with it")]
    );
    cut[4096..LOG_START as usize].fill(0);
    let torn = salvage(&cut);
    assert!(!torn.misses_newest());
    assert_eq!(problems(&torn), []);
}

#[test]
fn records_of_a_transaction_that_did_not_end_are_left_out() {
    let (bytes, lengths) = commits(&[b"one".to_vec(), noise(1)]);
    let unfinished = &bytes[..bytes.len() - COMMIT_FRAME_BYTES];
    let mut before = unfinished.to_vec();
    // The pointers of the moment before.
    let (old, _) = commits(&["one"]);
    before[4096..LOG_START as usize].copy_from_slice(&old[4096..LOG_START as usize]);
    let left_out = salvage(&before);
    assert_eq!((left_out.unfinished(), left_out.misses_newest()), (1, false));
    assert_eq!(met(&left_out), ["1: 3", "at 1"]);
    assert_eq!(problems(&left_out), []);
    // With the newer pointer they were acknowledged, and only their commit is gone.
    let acknowledged = salvage(unfinished);
    assert_eq!((acknowledged.unfinished(), acknowledged.misses_newest()), (0, true));
    assert_eq!(met(&acknowledged), ["1: 3", "at 1", "2: 66536"]);
    assert!(lengths[0] < unfinished.len());
}

#[test]
fn no_more_problems_are_listed_by_salvage_than_the_limit() {
    let body = |n: usize| format!("marked-{n:05}");
    // The newest commit is whole: where it is gone, that is one problem more.
    let bodies: Vec<String> = (0..PROBLEMS_MAX + 2).map(body).collect();
    let (mut bytes, _) = commits(&bodies);
    let mut from = 0;
    for body in &bodies[..=PROBLEMS_MAX] {
        from += find(&bytes[from..], body);
        bytes[from] ^= 1;
    }
    assert_eq!(salvage(&bytes).problems().len(), PROBLEMS_MAX);
}
