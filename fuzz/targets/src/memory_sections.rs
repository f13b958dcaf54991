//! Target: an index segment's URI table, access table and replacements, of any bytes, mislead a
//! reader into nothing worse than a wrong answer, and show a principal nothing that it may not
//! know.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use kapsa_capsule::{FileSystem, NewCapsule, SegmentDraft, Tag, create_unlocked};
use kapsa_index::{Document, SegmentBuilder};
use kapsa_memory::access::{Classification, ClearanceProfile};
use kapsa_memory::{
    CapsuleError, Error, FindRequest, NewRecord, Reader, Result, TimelineRequest, Uri,
};

use crate::input::Input;
use crate::memory_raw::folder;
use crate::seeds::bodies;

/// Records with their URIs; the last is in the tail.
const RECORDS: [(&str, &str); 5] = [
    ("note/a", "a fox"),
    ("note/b", "another fox"),
    ("note/a", "the fox again"),
    ("note/c", "no dog"),
    ("note/b", "a late fox"),
];
/// Records that the segment covers.
const INDEXED: usize = 4;

/// The first byte is the length of the URI table in fours, the table follows; then so for the table
/// of levels, which is missing when it is empty; the rest are the replacements.
pub fn memory_sections(data: &[u8]) {
    let mut input = Input::new(data);
    let len = usize::from(input.byte()) * 4;
    let uris = input.bytes(len).to_vec();
    let len = usize::from(input.byte()) * 4;
    let levels = input.bytes(len).to_vec();
    let folder = folder();
    let path = folder.path().join("fuzzed.kapsa");
    let mut sections = vec![
        (*b"uris    ", uris),
        (*b"lexical ", words().to_vec()),
        (*b"replaced", input.rest().to_vec()),
    ];
    if !levels.is_empty() {
        sections.push((*b"access  ", levels));
    }
    write(&path, sections);
    let reader = Reader::open(&path).expect("the frames are whole");
    examine(&reader);
    let cleared =
        reader.as_principal(ClearanceProfile::new("ana").with("", Classification::Internal));
    examine_guarded(&cleared);
    // Single reads go by the records alone.
    let stranger = reader.as_principal(ClearanceProfile::new("stranger"));
    assert!(
        RECORDS
            .iter()
            .all(|(uri, _)| settled(stranger.get(&Uri::parse(uri).expect("valid"))).is_none())
    );
    examine_guarded(&stranger);
}

/// Lists and searches may miss what a lying table hides.
fn examine_guarded(reader: &kapsa_memory::PrincipalReader) {
    let listed = settled(reader.timeline(&TimelineRequest::default())).unwrap_or_default();
    assert!(listed.len() <= RECORDS.len(), "{} records", listed.len());
    let found = settled(reader.find(&FindRequest::new("+fox late -dog")));
    assert!(found.is_none_or(|found| found.hits.len() < RECORDS.len()));
}

fn write(path: &Path, sections: Vec<(Tag, Vec<u8>)>) {
    create_unlocked(&FileSystem, path, NewCapsule { capsule_id: [7; 16], created_us: 0 })
        .expect("the folder is empty");
    let mut writer = kapsa_capsule::Writer::open_unlocked(Arc::new(FileSystem), path)
        .expect("the capsule is new");
    let mut transaction = writer.begin().expect("the disk does not fail");
    for body in records() {
        transaction.append(body).expect("the record is short");
    }
    let segment = SegmentDraft { first_sequence: 1, next_sequence: 1 + INDEXED as u64, sections };
    transaction.add_segment(segment).expect("it covers the first records");
    transaction.commit(1).expect("the disk does not fail");
}

fn records() -> &'static [Vec<u8>] {
    static BODIES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    BODIES.get_or_init(|| {
        let record = |(uri, text): (&str, &str)| NewRecord {
            uri: Uri::parse(uri).ok(),
            ..NewRecord::text(text)
        };
        bodies(|writer| vec![writer.put_many(RECORDS.map(record).to_vec()).map(|_| ())])
    })
}

/// The words of the indexed records.
fn words() -> &'static [u8] {
    static WORDS: OnceLock<Vec<u8>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let mut builder =
            SegmentBuilder::new(1 << 20).expect("there is memory for a small segment");
        for (uri, text) in &RECORDS[..INDEXED] {
            let key_hash = Uri::parse(uri).expect("valid").hash();
            let document = Document { title: "", text, terms: &[], key_hash, time_us: 0 };
            builder.add(&document).expect("a small segment has room");
        }
        builder.finish().expect("a small segment can be built")
    })
}

fn examine(reader: &Reader) {
    for (uri, _) in RECORDS {
        let uri = Uri::parse(uri).expect("valid");
        let got = settled(reader.get(&uri));
        assert!(got.is_none_or(|record| record.uri == uri), "another record than {uri}");
        let history = settled(reader.history(&uri)).unwrap_or_default();
        assert!(history.iter().all(|record| record.uri == uri), "another record than {uri}");
    }
    for reverse in [false, true] {
        let listed =
            settled(reader.timeline(&TimelineRequest { reverse, ..TimelineRequest::default() }))
                .unwrap_or_default();
        let ordered =
            |pair: &[kapsa_memory::Record]| (pair[0].sequence < pair[1].sequence) != reverse;
        assert!(
            listed.len() <= RECORDS.len() && listed.windows(2).all(ordered),
            "{} records",
            listed.len()
        );
    }
    if let Some(found) = settled(reader.find(&FindRequest::new("+fox late -dog"))) {
        assert!(found.hits.iter().all(|hit| hit.record.text.contains("fox")), "{found:?}");
        assert!(found.hits.len() < RECORDS.len(), "{found:?}");
    }
}

/// The value, or none after an error that such a table can be to blame for.
fn settled<T>(result: Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(
            Error::UriNotFound { .. }
            | Error::Capsule(CapsuleError::NoSuchRecord { .. })
            | Error::DamagedRecord { .. },
        ) => None,
        Err(other) => panic!("the tables do not explain this: {other}"),
    }
}
