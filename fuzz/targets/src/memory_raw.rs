//! Target: arbitrary records in a well-formed capsule read as what they are, or as damaged.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kapsa_capsule::{FileSystem, NewCapsule, create_unlocked};
use kapsa_memory::request::FIND_K_MAX;
use kapsa_memory::{
    CapsuleError, Error, FindRequest, Found, Reader, Record, Result, TimelineRequest, WriteOptions,
    optimize, stats,
};
use tempfile::TempDir;

use crate::input::Input;

/// Most records of one input.
const RECORDS_MAX: usize = 24;
/// What is searched for besides the input's own words.
const QUERIES: [&str; 4] = ["the a", "-nothing", "kind:note \"a b\"", "+text uri:note/a"];
/// Longest query made of a record's text, in characters.
const QUERY_CHARS: usize = 40;
/// Longest snippet asked for, in characters.
const SNIPPET_CHARS: usize = 30;
/// Memory-backed where there is such a folder: no record is worth a disk's sync.
const MEMORY_FOLDER: &str = "/dev/shm";

/// The first byte says whether the records are indexed before they are read again; then come the
/// records, each after its length in two bytes.
pub fn memory_raw(data: &[u8]) {
    let mut input = Input::new(data);
    let indexed = input.byte().is_multiple_of(4);
    let mut bodies = Vec::new();
    while !input.is_empty() && bodies.len() < RECORDS_MAX {
        let len = usize::from(input.short());
        bodies.push(input.bytes(len));
    }
    let folder = folder();
    let path = write(&folder, &bodies);
    let before = examine(&path, bodies.len() as u64);
    if indexed && optimize(&path, &WriteOptions::new(|| 1), &mut |_, _| {}).is_ok() {
        let after = examine(&path, bodies.len() as u64);
        assert_eq!(before, after, "an index changes what is found");
    }
}

/// A folder for one capsule.
pub(crate) fn folder() -> TempDir {
    let made = if Path::new(MEMORY_FOLDER).is_dir() {
        TempDir::new_in(MEMORY_FOLDER)
    } else {
        TempDir::new()
    };
    made.expect("there is a place for temporary files")
}

fn write(folder: &TempDir, bodies: &[&[u8]]) -> PathBuf {
    let path = folder.path().join("fuzzed.kapsa");
    create_unlocked(&FileSystem, &path, NewCapsule { capsule_id: [7; 16], created_us: 0 })
        .expect("the folder is empty");
    let mut writer = kapsa_capsule::Writer::open_unlocked(Arc::new(FileSystem), &path)
        .expect("the capsule is new");
    let mut transaction = writer.begin().expect("the disk does not fail");
    for body in bodies {
        transaction.append(body).expect("the record is short");
    }
    transaction.commit(1).expect("the disk does not fail");
    path
}

/// What a reader says of a capsule; none when a record that it needs is damaged.
#[derive(Debug, PartialEq)]
struct Seen {
    visible: Vec<u64>,
    found: Vec<Vec<(u64, f32)>>,
}

fn examine(path: &Path, count: u64) -> Option<Seen> {
    let reader = Reader::open(path).expect("the frames are whole");
    let records: Vec<Option<Record>> =
        (1..=count).map(|sequence| settled(reader.record(sequence))).collect();
    let whole = records.iter().all(Option::is_some);
    for absent in [0, count + 1, u64::MAX].map(|sequence| reader.record(sequence)) {
        let told = matches!(absent, Err(Error::Capsule(CapsuleError::NoSuchRecord { .. })));
        assert!(told || absent.is_err() && !whole, "{absent:?}");
    }
    let all = TimelineRequest { limit: usize::MAX, ..TimelineRequest::default() };
    let timeline = settled(reader.timeline(&all));
    let queries = QUERIES.iter().map(|query| (*query).to_owned());
    let own =
        records.iter().flatten().map(|record| record.text.chars().take(QUERY_CHARS).collect());
    let found: Vec<_> = queries.chain(own).map(|query| find(&reader, &query)).collect();
    let read = records.iter().flatten().count();
    for record in records.iter().flatten() {
        check_history(&reader, record, read);
    }
    let visible = timeline?;
    check_visible(&reader, &visible);
    let sequences = visible.iter().map(|record| record.sequence).collect();
    let hits =
        |found: Found| found.hits.iter().map(|hit| (hit.record.sequence, hit.score)).collect();
    Some(Seen {
        visible: sequences,
        found: found.into_iter().map(|found| hits(found.expect("a timeline was read"))).collect(),
    })
}

/// Every revision of the record's URI is one, in order, and the newest is the one that is got.
fn check_history(reader: &Reader, record: &Record, read: usize) {
    let newest = settled(reader.get(&record.uri)).map(|newest| newest.sequence);
    let Some(history) = settled(reader.history(&record.uri)) else { return };
    assert!((1..=read).contains(&history.len()), "{} revisions of {read}", history.len());
    assert!(history.iter().all(|revision| revision.uri == record.uri));
    assert!(history.is_sorted_by_key(|revision| revision.sequence));
    let last = history.last().expect("it is not empty");
    assert_eq!(newest, (!last.tombstone).then_some(last.sequence), "{}", record.uri);
}

fn check_visible(reader: &Reader, visible: &[Record]) {
    let uris: HashSet<&str> = visible.iter().map(|record| record.uri.as_str()).collect();
    assert_eq!(uris.len(), visible.len(), "a URI is visible twice");
    assert!(visible.is_sorted_by_key(|record| record.sequence));
    for record in visible {
        assert_eq!(reader.get(&record.uri).expect("it is visible").sequence, record.sequence);
    }
    let stats = stats(reader, true).expect("a timeline was read");
    assert_eq!(stats.uri_count, Some(visible.len() as u64), "{stats:?}");
    let request =
        TimelineRequest { limit: usize::MAX, reverse: true, ..TimelineRequest::default() };
    let mut reversed = reader.timeline(&request).expect("it was read forwards");
    reversed.reverse();
    assert!(
        reversed
            .iter()
            .map(|record| record.sequence)
            .eq(visible.iter().map(|record| record.sequence))
    );
}

fn find(reader: &Reader, query: &str) -> Option<Found> {
    let request =
        FindRequest { k: FIND_K_MAX, snippet_chars: SNIPPET_CHARS, ..FindRequest::new(query) };
    let found = settled(reader.find(&request))?;
    assert!(found.hits.len() <= RECORDS_MAX && !found.fallback, "{} hits", found.hits.len());
    assert!(found.hits.windows(2).all(|pair| pair[0].score >= pair[1].score), "{query:?}");
    for hit in &found.hits {
        assert!(hit.score.is_finite() && hit.score >= 0.0, "{query:?}: {}", hit.score);
        assert!(!hit.record.tombstone, "{query:?} finds what was forgotten");
        assert!(
            hit.record.text.contains(&hit.snippet) && hit.snippet.chars().count() <= SNIPPET_CHARS,
            "{:?}",
            hit.snippet
        );
        assert!(
            hit.marks.iter().all(|mark| hit.snippet.get(mark.clone()).is_some()),
            "{:?} of {:?}",
            hit.marks,
            hit.snippet
        );
    }
    Some(found)
}

/// The value, or none after an error that a record's bytes can be to blame for.
fn settled<T>(result: Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(Error::DamagedRecord { .. } | Error::UriNotFound { .. }) => None,
        Err(other) => panic!("the records' bytes do not explain this: {other}"),
    }
}
