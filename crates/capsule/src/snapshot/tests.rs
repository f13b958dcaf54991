//! What no writer of ours leaves behind, read.

use super::*;
use crate::forged::Log;
use crate::lock::WriterOptions;
use crate::writer::Writer;

/// What reading says is wrong.
fn wrong<T>(read: Result<T>) -> String {
    match read {
        Err(Error::Corrupt { what, .. }) => what,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was read"),
    }
}

fn two_records() -> Log {
    let mut log = Log::new();
    log.records(&[b"one", b"two"]);
    log
}

#[test]
fn frames_lie_in_the_log_where_frames_can_be() {
    let mut log = two_records();
    let head = log.commit(|_| {});
    let (_file, opened) = log.open();
    let s = opened.expect("opens");
    assert!(s.frame(LOG_START, &[Kind::Records]).is_ok());
    assert!(s.frame(head.offset, &[Kind::Commit]).is_ok(), "the last one");
    for offset in [0, 4096, LOG_START - 8, LOG_START + 4, head.end, head.end + 8] {
        let what = wrong(s.frame(offset, &[Kind::Records]));
        assert_eq!(what, "no records frame can be here", "{offset}");
    }
    let other = wrong(s.frame(LOG_START, &[Kind::Manifest]));
    assert_eq!(other, "no whole manifest frame is here");
}

#[test]
fn a_frame_that_is_longer_than_most_is_read_whole() {
    let mut log = Log::new();
    let body: Vec<u8> = (0..30_000u32).map(|n| (n % 251) as u8).collect();
    let frame = log.records(&[&body]);
    log.commit(|_| {});
    let (_file, opened) = log.open();
    let read = opened.expect("opens").frame(LOG_START, &[Kind::Records]).expect("whole");
    assert_eq!(read.0, frame);
    assert_eq!(&read.1[read.1.len() - body.len()..], body);
}

/// The writer's newest commit lies before a frame's end only where somebody made the frame up.
#[test]
fn a_frame_that_reaches_past_the_newest_commit_is_not_whole() {
    let mut log = two_records();
    let before = log.commit(|_| {});
    log.records(&[&[1; 100]]);
    log.commit(|_| {});
    let (_file, opened) = log.open();
    let mut inner = Arc::into_inner(opened.expect("opens").inner).expect("the only one");
    inner.head.end = before.end + 80;
    let reaching = Snapshot { inner: Arc::new(inner) };
    let what = wrong(reaching.frame(before.end, &[Kind::Records]));
    assert_eq!(what, "no whole records frame is here");
    let range = LOG_START..before.end + 80;
    let what = wrong(reaching.each_block(range, &mut |_, _| Ok(())));
    assert_eq!(what, "a frame reaches past the commit it was made for");
    assert!(reaching.each_block(LOG_START..before.end, &mut |_, _| Ok(())).is_ok());
}

#[test]
fn a_tail_offset_lies_in_the_log() {
    let opened_with = |tail_offset: u64| {
        let mut log = two_records();
        log.commit(|commit| commit.tail_offset = tail_offset);
        let (_file, opened) = log.open();
        opened.and_then(|s| s.record(1).map(drop))
    };
    assert!(opened_with(LOG_START).is_ok());
    let end = two_records().end();
    for offset in [0, LOG_START - 8, end + 8] {
        let what = wrong(opened_with(offset));
        assert_eq!(what, "the commit's tail offset is outside the log", "{offset}");
    }
    assert_eq!(wrong(opened_with(end)), "the tail misses records");
}

#[test]
fn a_commit_that_has_indexed_records_names_a_manifest() {
    let mut log = two_records();
    log.commit(|commit| commit.indexed = 2);
    let (file, opened) = log.open();
    assert_eq!(wrong(opened), "the commit names no manifest");
    let mut writer = Writer::open(&file.path, &WriterOptions::default()).expect("opens");
    assert_eq!(wrong(writer.begin()), "the commit names no manifest");
}

#[test]
fn a_segment_that_lies_outside_the_log_is_damage() {
    for (frame_offset, payload_len) in [(4096, 100), (LOG_START, 1 << 20)] {
        let mut log = two_records();
        let (digest, head_sum) = ([0; 32], 0);
        let (first_sequence, next_sequence) = (1, 3);
        let id = frame_offset;
        let meta = SegmentMeta {
            id,
            first_sequence,
            next_sequence,
            frame_offset,
            payload_len,
            digest,
            head_sum,
        };
        let manifest = Manifest { segments: vec![meta], derived: Vec::new() };
        let manifest = log.push(Kind::Manifest, &manifest.encode());
        log.commit(|commit| (commit.manifest_offset, commit.indexed) = (manifest.offset, 3));
        let (_file, opened) = log.open();
        let s = opened.expect("opens");
        assert_eq!(wrong(s.section(0, *b"test    ")), "the segment lies outside the log");
    }
}

#[test]
fn records_that_do_not_unpack_are_damaged_and_no_lack_of_memory() {
    let mut log = Log::new();
    log.coded(1, Coding::Zstd, 0, 100, b"made up");
    log.commit(|_| {});
    let (_file, opened) = log.open();
    assert_eq!(wrong(opened.expect("opens").record(1)), "the records do not unpack");
}

#[test]
fn a_dictionary_is_no_longer_than_the_limit() {
    for len in [DICTIONARY_BYTES_MAX, DICTIONARY_BYTES_MAX + 1] {
        let mut log = Log::new();
        let dictionary = log.push(Kind::Dictionary, &vec![1; len]).offset;
        log.commit(|_| {});
        let (_file, opened) = log.open();
        let read = opened.expect("opens").inner.dictionary(dictionary);
        if len > DICTIONARY_BYTES_MAX {
            assert_eq!(wrong(read), "the dictionary breaks its limit");
        } else {
            assert_eq!(read.expect("whole").len(), len);
        }
    }
}

#[test]
fn a_snapshot_is_named_by_its_file_and_commit() {
    let mut log = two_records();
    log.commit(|_| {});
    let (file, opened) = log.open();
    let shown = format!("{:?}", opened.expect("opens"));
    assert_eq!(shown, format!("Snapshot {{ path: {:?}, head: 1 }}", file.path));
}
