//! The valid capsules that structured inputs begin with: small ones that together hold every kind
//! of frame.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use kapsa_capsule::{NewCapsule, SegmentDraft, Stored, Writer, create_unlocked};
use kapsa_testkit::Disk;

use crate::layout::{FRAME_HEADER, LOG_START, POINTERS, frames_of, kind, put_u64, repair};

const NEW: NewCapsule = NewCapsule { capsule_id: [7; 16], created_us: 1 };
/// What records repeat, so that blocks of them are packed.
const SENTENCE: &str = "The staging database listens on port 5433. ";

/// A capsule and the offsets of its frames.
pub(crate) struct Sample {
    pub(crate) file: Vec<u8>,
    pub(crate) frames: Vec<usize>,
}

/// All samples.
pub(crate) fn samples() -> &'static [Sample; 5] {
    static SAMPLES: OnceLock<[Sample; 5]> = OnceLock::new();
    SAMPLES.get_or_init(|| {
        [written(|_| {}), written(puts), written(indexed), written(rewritten), with_dictionary()]
            .map(|file| {
                let frames = frames_of(&file);
                Sample { file, frames }
            })
    })
}

/// The file that `steps` leave of a new capsule.
fn written(steps: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let path = Path::new("sample.kapsa");
    let disk = Disk::default();
    create_unlocked(&disk, path, NEW).expect("an empty disk takes a capsule");
    let mut writer =
        Writer::open_unlocked(Arc::new(disk.clone()), path).expect("a new capsule opens");
    steps(&mut writer);
    disk.files().remove(path).expect("the capsule is there")
}

fn puts(writer: &mut Writer) {
    put(writer, &["first", "second"]);
    put(writer, &["third"]);
    put(writer, &[&SENTENCE.repeat(120)]);
}

fn indexed(writer: &mut Writer) {
    puts(writer);
    index(writer, 1, 4);
    put(writer, &["fifth", ""]);
    index(writer, 4, 6);
    put(writer, &["seventh"]);
}

fn rewritten(writer: &mut Writer) {
    puts(writer);
    index(writer, 1, 3);
    let mut rewrite = writer.rewrite().expect("a whole capsule can be rewritten");
    for record in rewrite.old().clone().records(1) {
        let record = record.expect("whole");
        let hash = record.stored().hash();
        let kept = if record.sequence() == 2 { Stored::Purged(&hash) } else { record.stored() };
        rewrite.append(kept).expect("the disk has room");
    }
    rewrite.add_segment(segment(1, 5)).expect("it covers what was appended");
    rewrite.finish(writer).expect("the disk does not fail");
    put(writer, &["fifth"]);
}

fn put(writer: &mut Writer, records: &[&str]) {
    let mut transaction = writer.begin().expect("a whole capsule takes a put");
    for record in records {
        transaction.append(record.as_bytes()).expect("the disk has room");
    }
    transaction.commit(1_000_000).expect("the disk does not fail");
}

fn index(writer: &mut Writer, first: u64, next: u64) {
    let mut transaction = writer.begin().expect("a whole capsule takes a segment");
    transaction.add_segment(segment(first, next)).expect("it joins the others");
    transaction.commit(2_000_000).expect("the disk does not fail");
}

fn segment(first_sequence: u64, next_sequence: u64) -> SegmentDraft {
    let sections = vec![
        (*b"test    ", vec![first_sequence as u8; 40]),
        (*b"uris    ", vec![next_sequence as u8; 24]),
    ];
    SegmentDraft { first_sequence, next_sequence, sections }
}

/// A capsule with a dictionary, which the writer makes of a mebibyte of text only: laid out by
/// hand, as the format says.
fn with_dictionary() -> Vec<u8> {
    let dictionary = SENTENCE.repeat(4).into_bytes();
    let mut file = written(|_| {});
    let record = SENTENCE.repeat(30);
    let plain = [&(record.len() as u32).to_le_bytes()[..], record.as_bytes()].concat();
    let mut packer = zstd::bulk::Compressor::with_dictionary(3, &dictionary)
        .expect("any bytes are a dictionary");
    let packed = packer.compress(&plain).expect("there is memory for a record");
    let words = [1, 1 | 1 << 32, LOG_START as u64, plain.len() as u64];
    let records = [words.map(u64::to_le_bytes).concat(), packed].concat();
    push_frame(&mut file, kind::DICTIONARY, &dictionary);
    let tail = push_frame(&mut file, kind::RECORDS, &records);
    let commit = push_frame(&mut file, kind::COMMIT, &[0; 256]);
    let fields = [
        (0, 1),
        (8, 1),
        (32, LOG_START),
        (40, 1),
        (48, 2),
        (64, tail),
        (72, 1),
        (80, record.len()),
        (224, 2),
    ];
    for (field, value) in fields.into_iter().chain([(232, LOG_START)]) {
        put_u64(&mut file, commit + FRAME_HEADER + field, value as u64);
    }
    let end = file.len();
    let pointer = &mut file[POINTERS[1]..];
    pointer[..8].copy_from_slice(b"KAPSHINT");
    for (field, value) in [(8, 1), (16, commit), (24, end)] {
        put_u64(pointer, field, value as u64);
    }
    let frames = frames_of(&file);
    repair(&mut file, &frames, 0);
    file
}

/// Appends a frame of the first transaction, its sums left to [`repair`]; returns its offset.
fn push_frame(file: &mut Vec<u8>, kind: u8, payload: &[u8]) -> usize {
    let offset = file.len();
    file.extend_from_slice(b"KFRM");
    file.push(kind);
    file.resize(offset + FRAME_HEADER, 0);
    for (field, value) in [(8, payload.len()), (16, offset), (24, 1)] {
        put_u64(file, offset + field, value as u64);
    }
    file.extend_from_slice(payload);
    file.resize(file.len().next_multiple_of(8), 0);
    offset
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exercise::{disk_with, path};
    use crate::layout::{skip, u64_at};
    use kapsa_capsule::{Report, verify_in};

    fn report(file: &[u8]) -> Report {
        verify_in(&disk_with(file), path(), &mut |_, _| {}).expect("it is a capsule")
    }

    #[test]
    fn samples_are_whole_and_repairing_them_changes_nothing() {
        let mut kinds = std::collections::BTreeSet::new();
        for sample in samples() {
            assert_eq!(report(&sample.file).problems, []);
            let mut repaired = sample.file.clone();
            repair(&mut repaired, &sample.frames, 0);
            assert!(repaired == sample.file, "the repairer and the writer differ");
            kinds.extend(sample.frames.iter().map(|&offset| sample.file[offset + 4]));
        }
        assert_eq!(kinds.into_iter().collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn the_packed_record_of_the_dictionary_sample_is_read() {
        let snapshot = kapsa_capsule::Snapshot::open_in(&disk_with(&samples()[4].file), path())
            .expect("whole");
        let record = snapshot.record(1).expect("it unpacks");
        assert_eq!(record.stored(), Stored::Body(SENTENCE.repeat(30).as_bytes()));
    }

    #[test]
    fn an_edited_record_is_repaired_up_to_the_chain() {
        let Sample { file, frames } = &samples()[1];
        let mut edited = file.clone();
        let body = edited.windows(5).position(|bytes| bytes == b"first").expect("not packed");
        assert!((frames[0] + FRAME_HEADER..frames[1]).contains(&body));
        edited[body] = b'F';
        assert_ne!(report(&edited).problems, []);
        let mut unchained = edited.clone();
        repair(&mut unchained, frames, skip::CHAIN);
        assert_eq!(report(&unchained).problems.len(), 1, "only the chain is wrong");
        repair(&mut edited, frames, 0);
        assert_eq!(report(&edited).problems, []);
        assert_ne!(
            u64_at(&edited, frames[0] + FRAME_HEADER + 8),
            u64_at(file, frames[0] + FRAME_HEADER + 8)
        );
    }
}
