//! What two capsules have in common, and how one takes over from the other what it misses.

use std::path::{Path, PathBuf};

use kapsa_capsule::{
    CommitInfo, CommitSpan, Error, Hash, NewCapsule, Snapshot, Stored, Transaction, WriterOptions,
    common, create,
};

use crate::{Fixture, assert_whole, fixture, segment, writer};

/// A history: for each commit its time and its records.
type History = Vec<(i64, Vec<Vec<u8>>)>;

const COMMITS: u64 = 6;

/// The commits `from..until` of a history that `branch` tells from others. Some have several
/// records, times go back.
fn history(branch: &str, from: u64, until: u64) -> History {
    let records = |n: u64| {
        (0..n % 3 + 1).map(|i| format!("{branch}: record {i} of commit {n}").into_bytes()).collect()
    };
    (from..until).map(|n| (100 - 7 * n as i64, records(n))).collect()
}

fn commit(
    mut transaction: Transaction<'_>,
    (time_us, records): &(i64, Vec<Vec<u8>>),
) -> CommitInfo {
    for record in records {
        transaction.append(record).expect("appends");
    }
    transaction.commit(*time_us).expect("commits")
}

/// Adds the history to the capsule, a commit without records after each second of its commits.
fn write(path: &Path, history: &History) {
    let mut w = writer(path);
    for (n, of_commit) in history.iter().enumerate() {
        let next = commit(w.begin().expect("begins"), of_commit).next_sequence;
        if n % 2 == 1 {
            let indexed = w.snapshot().expect("opens").tail().start;
            let mut index = w.begin().expect("begins");
            index.add_segment(segment(indexed, next, b"index")).expect("joins");
            index.commit(1).expect("commits");
        }
    }
}

/// Compacts the capsule; the records of `purged` keep their hashes only.
fn compact(path: &Path, purged: &[u64]) {
    let mut w = writer(path);
    let mut rewrite = w.rewrite().expect("begins");
    let old = rewrite.old().clone();
    for record in old.records(1) {
        let record = record.expect("readable");
        let hash = record.stored().hash();
        let purge = purged.contains(&record.sequence());
        rewrite
            .append(if purge { Stored::Purged(&hash) } else { record.stored() })
            .expect("appends");
    }
    rewrite.finish(&mut w).expect("finishes");
}

/// A capsule with these histories one after the other, compacted after the first where asked.
fn capsule(parts: &[&History], compacted: bool) -> Fixture {
    let f = fixture();
    for (n, part) in parts.iter().enumerate() {
        write(&f.path, part);
        if compacted && n == 0 {
            compact(&f.path, &[]);
        }
    }
    f
}

fn open(path: &Path) -> Snapshot {
    Snapshot::open(path).expect("opens")
}

/// What `common` says, asked both ways and of fresh views.
fn shared(a: &Path, b: &Path) -> u64 {
    let there = common(&open(a), &open(b)).expect("readable");
    assert_eq!(common(&open(b), &open(a)).expect("readable"), there);
    there
}

fn empty_beside(f: &Fixture, name: &str) -> PathBuf {
    let path = f.path.with_file_name(name);
    let new = NewCapsule { capsule_id: [8; 16], created_us: 99 };
    assert!(create(&path, new, &WriterOptions::default()).expect("created"));
    path
}

/// Adds the records of `span` to a transaction.
fn take_over(transaction: &mut Transaction<'_>, from: &Snapshot, span: &CommitSpan) {
    for record in
        from.records(span.first_sequence).take((span.next_sequence - span.first_sequence) as usize)
    {
        transaction.append_stored(record.expect("readable").stored()).expect("appends");
    }
}

/// Lets the capsule at `to` take over every commit of `from` that it misses.
fn pull(from: &Snapshot, to: &Path) {
    let base = common(from, &open(to)).expect("readable");
    let missing = from.commits().expect("readable").into_iter().filter(|span| span.number > base);
    let mut w = writer(to);
    for (span, chain) in missing.zip(from.chains(base + 1).expect("readable")) {
        let mut transaction = w.begin().expect("begins");
        take_over(&mut transaction, from, &span);
        if span.number % 2 == 0 {
            let first = transaction.segments().last().map_or(1, |s| s.next_sequence);
            transaction
                .add_segment(segment(first, span.next_sequence, b"of its own"))
                .expect("joins");
        }
        let made = transaction.commit_as(span.time_us, &chain).expect("the same");
        assert_eq!(
            (made.number, made.time_us, made.next_sequence),
            (span.number, span.time_us, span.next_sequence)
        );
    }
}

#[test]
fn commits_and_their_chains_are_the_same_after_compaction() {
    let whole = history("main", 0, COMMITS);
    let plain = capsule(&[&whole], false);
    let mut next = 1;
    let expected: Vec<CommitSpan> = (1..)
        .zip(&whole)
        .map(|(number, (time_us, records))| {
            let first_sequence = next;
            next += records.len() as u64;
            CommitSpan { number, time_us: *time_us, first_sequence, next_sequence: next }
        })
        .collect();
    let chains = open(&plain.path).chains(0).expect("readable");
    assert_eq!((chains.len() as u64, chains[0]), (COMMITS + 1, [0; 32]));
    for folded in 1..=COMMITS as usize {
        let f = capsule(&[&whole[..folded].to_vec(), &whole[folded..].to_vec()], true);
        let s = open(&f.path);
        assert_eq!(s.commits().expect("readable"), expected);
        for (number, chain) in (0..).zip(&chains) {
            assert_eq!(
                open(&f.path).chain_of(number).expect("readable"),
                Some(*chain),
                "of a fresh view"
            );
            assert_eq!(s.chain_of(number).expect("readable"), Some(*chain));
            assert_eq!(s.chains(number).expect("readable"), chains[number as usize..]);
        }
        assert_eq!(s.chain_of(COMMITS + 1).expect("readable"), None);
        assert_eq!(s.chains(COMMITS + 1).expect("readable"), [[0; 32]; 0]);
        assert_eq!(chains.last(), Some(&s.commit().chain));
    }
}

#[test]
fn forks_at_any_commit_are_found_before_and_after_compaction() {
    for fork in 0..=COMMITS {
        let trunk = history("main", 0, fork);
        let ends =
            [history("main", fork, COMMITS), history("other", fork, COMMITS + 2), History::new()];
        for (compact_a, compact_b) in [(false, false), (true, false), (false, true), (true, true)] {
            for (a, b, expected) in
                [(0, 1, fork), (0, 2, fork), (1, 2, fork), (0, 0, COMMITS), (2, 2, fork)]
            {
                let a = capsule(&[&trunk, &ends[a]], compact_a);
                let b = capsule(&[&trunk, &ends[b]], compact_b);
                assert_eq!(shared(&a.path, &b.path), expected);
                // Now the commits after the fork are folded away as well.
                compact(&a.path, &[]);
                assert_eq!(shared(&a.path, &b.path), expected);
                compact(&b.path, &[]);
                assert_eq!(shared(&a.path, &b.path), expected);
            }
        }
    }
}

#[test]
fn another_time_or_another_division_into_commits_is_another_history() {
    let whole = history("main", 0, COMMITS);
    let a = capsule(&[&whole], false);
    let mut later = whole.clone();
    later[3].0 += 1;
    assert_eq!(shared(&a.path, &capsule(&[&later], false).path), 3);
    let mut divided = whole.clone();
    let second = divided[2].1.split_off(1);
    divided.insert(3, (divided[2].0, second));
    let b = capsule(&[&divided], false);
    assert_eq!(shared(&a.path, &b.path), 2);
    compact(&b.path, &[]);
    assert_eq!(shared(&a.path, &b.path), 2);
}

#[test]
fn empty_and_unrelated_capsules_have_nothing_in_common() {
    let (empty, other) = (fixture(), capsule(&[&history("other", 0, 3)], false));
    let f = capsule(&[&history("main", 0, COMMITS)], true);
    let s = open(&empty.path);
    assert_eq!(s.commits().expect("readable"), []);
    assert_eq!(
        (s.chain_of(0).expect("readable"), s.chain_of(1).expect("readable")),
        (Some([0; 32]), None)
    );
    assert_eq!(shared(&empty.path, &fixture().path), 0);
    assert_eq!(shared(&empty.path, &f.path), 0);
    assert_eq!(shared(&other.path, &f.path), 0);
    compact(&other.path, &[]);
    compact(&empty.path, &[]);
    assert_eq!((shared(&other.path, &f.path), shared(&empty.path, &f.path)), (0, 0));
}

#[test]
fn an_index_segment_is_no_commit_of_the_history() {
    let f = capsule(&[&history("main", 0, 2)], false);
    let mut w = writer(&f.path);
    let s = w.snapshot().expect("opens");
    let mut index = w.begin().expect("begins");
    index.add_segment(segment(1, s.commit().next_sequence, b"merged")).expect("joins");
    let same = index.commit_as(55, &s.commit().chain).expect("the history stays");
    assert_eq!(same, s.commit());
    assert_eq!(
        w.snapshot().expect("opens").commits().expect("readable"),
        s.commits().expect("readable")
    );
}

#[test]
fn what_is_taken_over_commit_by_commit_is_the_same_history() {
    let whole = history("main", 0, COMMITS);
    for compacted in [false, true] {
        for (folded, present) in [(0, 0), (2, 0), (2, 1), (4, 3), (6, 2), (6, 6)] {
            let from = capsule(
                &[&whole[..folded].to_vec(), &whole[folded..].to_vec()],
                compacted && folded > 0,
            );
            let to = empty_beside(&from, "copy.kapsa");
            write(&to, &whole[..present].to_vec());
            if compacted && present % 2 == 1 {
                compact(&to, &[]);
            }
            let from = open(&from.path);
            pull(&from, &to);
            let copy = open(&to);
            assert_eq!(copy.commit(), from.commit());
            assert_eq!(copy.chains(0).expect("readable"), from.chains(0).expect("readable"));
            assert_eq!(copy.commits().expect("readable"), from.commits().expect("readable"));
            assert_eq!(crate::bodies(&copy), crate::bodies(&from));
            assert_ne!(
                copy.file().capsule_id,
                from.file().capsule_id,
                "a copy has an id of its own"
            );
            assert_eq!(common(&copy, &from).expect("readable"), COMMITS);
            assert_eq!(assert_whole(&to).commits, COMMITS);
        }
    }
}

#[test]
fn a_purged_record_counts_as_the_one_it_was() {
    let whole = history("main", 0, COMMITS);
    let (kept, purged) = (capsule(&[&whole], false), capsule(&[&whole], false));
    compact(&purged.path, &[2, 5]);
    assert_eq!(shared(&kept.path, &purged.path), COMMITS);
    let to = empty_beside(&purged, "copy.kapsa");
    pull(&open(&purged.path), &to);
    assert_eq!(shared(&kept.path, &to), COMMITS);
    let bodies = crate::bodies(&open(&to));
    assert_eq!((&bodies[1][..], &bodies[4][..]), (&b"purged"[..], &b"purged"[..]));
    assert_eq!(assert_whole(&to).commits, COMMITS);
}

/// Tries to commit these records as the commit that ends with `chain`.
fn try_as(
    w: &mut kapsa_capsule::Writer,
    records: &[&[u8]],
    time_us: i64,
    chain: &Hash,
) -> Result<CommitInfo, Error> {
    let mut transaction = w.begin()?;
    for record in records {
        transaction.append(record)?;
    }
    transaction.commit_as(time_us, chain)
}

#[test]
fn a_commit_that_would_be_another_one_is_refused_and_changes_no_byte() {
    let whole = history("main", 0, COMMITS);
    let from = open(&capsule(&[&whole], false).path);
    let f = capsule(&[&whole[..2].to_vec(), &whole[2..5].to_vec()], true);
    let (time_us, records) = &whole[5];
    let records: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
    assert_eq!(records.len(), 3);
    let chain = from.chain_of(6).expect("readable").expect("there");
    let before_it = from.chain_of(5).expect("readable").expect("there");
    let before = std::fs::read(&f.path).expect("there");
    let mut w = writer(&f.path);
    let others: [(&[&[u8]], i64, &Hash); 8] = [
        (&[records[0], b"made up", records[2]], *time_us, &chain),
        (&[records[1], records[0], records[2]], *time_us, &chain),
        (&records[..2], *time_us, &chain),
        (&[records[0], records[1], records[2], b""], *time_us, &chain),
        (&[], *time_us, &chain),
        (&records, *time_us + 1, &chain),
        (&records, *time_us, &before_it),
        (&records, *time_us, &[0; 32]),
    ];
    for (records, time_us, chain) in others {
        let refused = try_as(&mut w, records, time_us, chain);
        let number = 5 + u64::from(!records.is_empty());
        assert!(
            matches!(refused, Err(Error::ChainMismatch { number: n }) if n == number),
            "{refused:?}"
        );
        assert_eq!(std::fs::read(&f.path).expect("there"), before);
    }
    assert_eq!(try_as(&mut w, &records, *time_us, &chain).expect("the same").chain, chain);
    assert!(
        matches!(
            try_as(&mut w, &records, *time_us, &chain),
            Err(Error::ChainMismatch { number: 7 })
        ),
        "only once"
    );
    drop(w);
    assert_eq!(common(&open(&f.path), &from).expect("readable"), 6);
    assert_whole(&f.path);
}

#[test]
fn a_refused_commit_that_had_reached_the_file_in_part_leaves_nothing() {
    let f = capsule(&[&history("main", 0, 2)], false);
    let before = std::fs::read(&f.path).expect("there");
    let mut w = writer(&f.path);
    w.set_buffers(kapsa_capsule::Buffers { pending_bytes: 10, spill_bytes: 10 });
    let refused = try_as(&mut w, &[&[7; 5000], &[8; 5000]], 1, &[9; 32]);
    assert!(matches!(refused, Err(Error::ChainMismatch { number: 3 })));
    assert!(std::fs::metadata(&f.path).expect("there").len() > before.len() as u64, "it spilled");
    assert_eq!(open(&f.path).commit().number, 2);
    drop(w.begin().expect("begins"));
    assert_eq!(std::fs::read(&f.path).expect("there").len(), before.len());
    assert_eq!(assert_whole(&f.path).torn_bytes, 0);
}

#[test]
fn damage_under_a_folded_commit_gives_an_error_or_the_right_answer() {
    let whole = history("main", 0, COMMITS);
    let good = capsule(&[&whole], false);
    let f = capsule(&[&whole[..4].to_vec(), &whole[4..].to_vec()], true);
    let bytes = std::fs::read(&f.path).expect("there");
    let chains = open(&good.path).chains(0).expect("readable");
    let commits = open(&good.path).commits().expect("readable");
    let (mut refused, mut right) = (0, 0);
    for position in kapsa_capsule::LOG_START as usize..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[position] ^= 1 << (position % 8);
        std::fs::write(&f.path, &damaged).expect("written");
        let Ok(s) = Snapshot::open(&f.path) else { continue };
        for number in 0..=COMMITS {
            match s.chain_of(number) {
                Ok(chain) => {
                    assert_eq!(chain, Some(chains[number as usize]), "byte {position}");
                    right += 1;
                }
                Err(error) => {
                    assert!(matches!(error, Error::Corrupt { .. }), "byte {position}: {error}");
                    refused += 1;
                }
            }
        }
        assert!(s.commits().map_or(true, |found| found == commits), "byte {position}");
        assert!(
            common(&s, &open(&good.path)).map_or(true, |number| number == COMMITS),
            "byte {position}"
        );
    }
    assert!(refused > 500 && right > 500, "{refused} and {right}");
}

#[test]
fn a_damaged_record_of_a_folded_commit_is_no_chain() {
    let f = capsule(&[&history("main", 0, 4), &history("main", 4, COMMITS)], true);
    let mut bytes = std::fs::read(&f.path).expect("there");
    let text = b"main: record 0 of commit 1";
    let at = bytes.windows(text.len()).position(|window| window == text).expect("in the file");
    bytes[at] ^= 1;
    std::fs::write(&f.path, &bytes).expect("written");
    let s = open(&f.path);
    for number in 1..4 {
        assert!(matches!(s.chain_of(number), Err(Error::Corrupt { .. })));
        assert!(matches!(s.chains(number), Err(Error::Corrupt { .. })));
    }
    let other = capsule(&[&history("main", 0, 2)], false);
    assert!(matches!(common(&s, &open(&other.path)), Err(Error::Corrupt { .. })));
    // What lies in frames needs no record.
    assert!(s.chain_of(4).is_ok() && s.chain_of(5).is_ok() && s.commits().is_ok());
}

#[test]
fn records_of_another_history_are_not_believed_to_be_those_of_the_folded_commits() {
    let (f, other) =
        (capsule(&[&history("main", 0, 4)], true), capsule(&[&history("mine", 0, 4)], true));
    let mut bytes = std::fs::read(&f.path).expect("there");
    let others = std::fs::read(&other.path).expect("there");
    let commit = bytes.windows(5).position(|window| window == b"KFRM\x05").expect("in the file");
    let records = kapsa_capsule::LOG_START as usize..commit;
    // Every frame has its right sums: the capsules have one id and one generation.
    bytes[records.clone()].copy_from_slice(&others[records]);
    std::fs::write(&f.path, &bytes).expect("written");
    let s = open(&f.path);
    assert_eq!(crate::bodies(&s), crate::bodies(&open(&other.path)));
    assert!(matches!(s.chain_of(2), Err(Error::Corrupt { .. })));
}

#[test]
fn many_blocks_of_folded_records_are_read_one_after_the_other() {
    let mut random = kapsa_testkit::Random::new(1);
    let mut noise = |len: usize| (0..len).map(|_| random.number() as u8).collect::<Vec<u8>>();
    let whole: History =
        (0..5).map(|n| (n, (0..20).map(|i| noise(10_000 * (i % 7 + 1))).collect())).collect();
    let (plain, folded) = (capsule(&[&whole], false), capsule(&[&whole], true));
    assert!(std::fs::metadata(&folded.path).expect("there").len() > 3 << 20);
    assert_eq!(
        open(&folded.path).chains(0).expect("readable"),
        open(&plain.path).chains(0).expect("readable")
    );
}
