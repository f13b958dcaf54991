//! Exercises a capsule file, whatever its bytes: open, read, verify and put keep their promises.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use kapsa_capsule::{
    Error, PROBLEMS_MAX, Result, SECTIONS_MAX, SEGMENTS_MAX, Snapshot, Stored, Tag, Writer,
    verify_in,
};
use kapsa_testkit::Disk;

/// Records that are read one by one; a damaged commit may claim any number of them.
const RECORDS_READ_MAX: u64 = 256;
/// Segments whose sections are read.
const SEGMENTS_READ_MAX: usize = 64;
/// Sections that a capsule or the layers above it may have.
const SECTIONS: [Tag; 5] = [*b"recdir  ", *b"uris    ", *b"replaced", *b"lexical ", *b"test    "];
/// What is put.
const BODY: &[u8] = b"put by the test";

/// Where the file lies on its disk.
pub(crate) fn path() -> &'static Path {
    Path::new("fuzzed.kapsa")
}

/// A disk that holds `file` and nothing else.
pub(crate) fn disk_with(file: &[u8]) -> Disk {
    Disk::with_files(&BTreeMap::from([(path().to_path_buf(), file.to_vec())]))
}

/// What the checksums of a file are worth.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sums {
    /// They are as they were found: what they vouch for was written by a writer.
    Found,
    /// They were made to match: frames that each check out may contradict each other.
    Forged,
}

/// Opens, reads, verifies and writes the file.
pub(crate) fn exercise(file: &[u8], sums: Sums) {
    let disk = disk_with(file);
    let (before, whole) = read(&disk).unwrap_or_default();
    let sound = verify(&disk, file.len() as u64);
    assert_eq!(disk.files()[path()], file, "reading changes nothing");
    let put = settled(put(&disk));
    let (after, _) = read(&disk).unwrap_or_default();
    // Of two frames that claim the same record, either may be read.
    if sound || sums == Sums::Found {
        for (sequence, record) in &before {
            assert!(
                after.get(sequence) == Some(record),
                "record {sequence} was lost by a put that ended with {put:?}"
            );
        }
    }
    if let Some(sequence) = put {
        let snapshot = Snapshot::open_in(&disk, path()).expect("a capsule that took a put opens");
        let record = settled(snapshot.record(sequence));
        // A put does not read what was there: behind a damaged tail, what it put cannot be read
        // either.
        assert!(record.is_some() || !whole || !sound, "an acknowledged record cannot be read");
        assert!(
            record.is_none_or(|record| record.stored() == Stored::Body(BODY)),
            "record {sequence} is another"
        );
        verify(&disk, disk.files()[path()].len() as u64);
    }
}

/// A record as it was read, and whether it was erased.
type Seen = (bool, Vec<u8>);

/// The records that can be read, among the first ones, and whether those are all that there are.
fn read(disk: &Disk) -> Option<(BTreeMap<u64, Seen>, bool)> {
    let snapshot = settled(Snapshot::open_in(disk, path()))?;
    let mut records = BTreeMap::new();
    let next = snapshot.commit().next_sequence;
    for sequence in 1..next.min(RECORDS_READ_MAX) {
        if let Some(record) = settled(snapshot.record(sequence)) {
            assert_eq!(record.sequence(), sequence);
            records.insert(sequence, seen(record.stored()));
        }
    }
    read_in_a_row(&snapshot, &records);
    read_sections(&snapshot);
    for outside in [0, next, u64::MAX] {
        assert!(
            matches!(snapshot.record(outside), Err(Error::NoSuchRecord { .. })),
            "record {outside} of {next}"
        );
    }
    let whole = records.len() as u64 + 1 == next;
    Some((records, whole))
}

fn seen(stored: Stored<'_>) -> Seen {
    match stored {
        Stored::Body(body) => (false, body.to_vec()),
        Stored::Purged(hash) => (true, hash.to_vec()),
    }
}

/// Up to the first that cannot be read, they come one after the other as well.
fn read_in_a_row(snapshot: &Snapshot, records: &BTreeMap<u64, Seen>) {
    let readable = (1..).take_while(|sequence| records.contains_key(sequence));
    for (sequence, record) in readable.zip(snapshot.records(1)) {
        let record = settled(record);
        assert!(
            record.is_none_or(|record| record.sequence() == sequence),
            "record {sequence} is another"
        );
    }
}

fn read_sections(snapshot: &Snapshot) {
    let segments = snapshot.segments();
    assert!(segments.len() <= SEGMENTS_MAX, "{} segments", segments.len());
    for (index, meta) in segments.iter().enumerate().take(SEGMENTS_READ_MAX) {
        let lens =
            SECTIONS.iter().filter_map(|&tag| settled(snapshot.section(index, tag)).flatten());
        let total = lens.map(|bytes| bytes.len() as u64).sum::<u64>();
        assert!(
            total <= meta.payload_len.saturating_mul(SECTIONS_MAX as u64),
            "{total} bytes of sections in {}",
            meta.payload_len
        );
    }
}

/// Whether no problem was found.
fn verify(disk: &Disk, len: u64) -> bool {
    let mut progress =
        |done, total| assert!(done <= total && total == len, "{done} of {total} bytes of {len}");
    let Some(report) = settled(verify_in(disk, path(), &mut progress)) else { return false };
    assert!(report.problems.len() <= PROBLEMS_MAX, "{} problems", report.problems.len());
    assert!(report.bytes <= len && report.torn_bytes <= len, "{report:?} of {len} bytes");
    if report.problems.is_empty() {
        let snapshot = Snapshot::open_in(disk, path()).expect("a file without a problem opens");
        assert_eq!(snapshot.commit().next_sequence, report.records + 1, "{report:?}");
    }
    report.problems.is_empty()
}

/// Puts one record and returns its sequence.
fn put(disk: &Disk) -> Result<u64> {
    let mut writer = Writer::open_unlocked(Arc::new(disk.clone()), path())?;
    let mut transaction = writer.begin()?;
    let sequence = transaction.append(BODY)?;
    transaction.commit(1)?;
    Ok(sequence)
}

/// The value, or none after an error that bytes can be to blame for: this disk never fails.
fn settled<T>(result: Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(
            Error::NotACapsule { .. }
            | Error::VersionMismatch { .. }
            | Error::Truncated { .. }
            | Error::Corrupt { .. }
            | Error::TooLarge { .. },
        ) => None,
        Err(other) => panic!("the file's bytes do not explain this: {other}"),
    }
}
