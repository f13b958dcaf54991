//! What readers refuse, field by field, where every sum is right.

use super::commit::{COMMIT_BYTES, Commit};
use super::commit_pointer::{CommitPointer, POINTER_BYTES};
use super::frame::{FRAME_HEADER_BYTES, Frame, Kind, header_bytes};
use super::header::{HEADER_BYTES, Header, sealed};
use super::manifest::Manifest;
use super::records::{Block, Coding, RecordsHead, Stored, encode_plain};
use super::segment::{Layout, decode_sections, encode};
use super::{
    LOG_START, PAYLOAD_BYTES_MAX, RECORD_BYTES_MAX, SEGMENTS_MAX, SegmentMeta, all_zero, history,
    sum,
};

fn header() -> Header {
    Header::new([7; 16], 1, 2)
}

#[test]
fn zeros_are_zeros() {
    assert!(all_zero(&[]) && all_zero(&[0; 9]));
    assert!(!all_zero(&[1]) && !all_zero(&[0, 0, 1]) && !all_zero(&[1, 0, 0]));
}

#[test]
fn a_header_holds_zeros_where_nothing_is_said() {
    let good = header().encode();
    assert_eq!(Header::decode(&good), Ok(header()));
    for place in [12, 15, 64, 2000, HEADER_BYTES - 9] {
        let mut page = good.clone();
        page[place] = 1;
        let summed = sum(&page[..HEADER_BYTES - 8]).to_le_bytes();
        page[HEADER_BYTES - 8..].copy_from_slice(&summed);
        assert!(Header::decode(&page).is_err(), "byte {place}");
    }
}

#[test]
fn a_commit_pointer_is_believed_in_its_own_slot_and_file_only() {
    let pointer = CommitPointer {
        serial: 3,
        offset: LOG_START,
        end: LOG_START + 400,
        digest: [1; 32],
        named: true,
    };
    let good = pointer.encode(&header());
    let slot = pointer.slot();
    assert_eq!(CommitPointer::decode(&good, slot, &header()), Some(pointer));
    assert_eq!(CommitPointer::decode(&good, 12_288 - slot, &header()), None, "the other slot");
    let others = [Header { generation: 3, ..header() }, Header { capsule_id: [8; 16], ..header() }];
    others
        .iter()
        .for_each(|other| assert_eq!(CommitPointer::decode(&good, slot, other), None, "{other:?}"));
    let owner = CommitPointer::owner(&good).expect("it says so");
    assert_eq!((owner.capsule_id, owner.generation), ([7; 16], 2));
    for place in 0..POINTER_BYTES {
        let mut page = good;
        page[place] ^= 1;
        assert_eq!(CommitPointer::decode(&page, slot, &header()), None, "byte {place}");
        assert_eq!(CommitPointer::owner(&page), None, "byte {place}");
    }
    // What was sealed for this file by somebody else.
    for place in [0, 64, 72, 80] {
        let mut page = good;
        page[place] ^= 1;
        let seal = sealed(&page[..120], header().seed());
        page[120..].copy_from_slice(&seal);
        assert_eq!(CommitPointer::decode(&page, slot, &header()), None, "byte {place}, sealed");
    }
}

#[test]
fn a_frame_header_has_its_limits() {
    let frame = |payload_len| Frame {
        kind: Kind::Records,
        payload_len,
        offset: LOG_START,
        serial: 1,
        digest: [0; 32],
    };
    let read = |bytes: &[u8]| Frame::decode(bytes, LOG_START, &header());
    for (len, expected) in [(0, true), (PAYLOAD_BYTES_MAX, true), (PAYLOAD_BYTES_MAX + 1, false)] {
        let bytes = header_bytes(&frame(len), &header());
        assert_eq!(read(&bytes).is_ok(), expected, "{len}");
    }
    let good = header_bytes(&frame(9), &header());
    for (place, to) in [(4, 0), (4, 8), (5, 1), (7, 1), (16, 1)] {
        let mut bytes = good;
        bytes[place] = to;
        let seal = sealed(&bytes[..64], header().seed());
        bytes[64..].copy_from_slice(&seal);
        assert!(read(&bytes).is_err(), "{to} at {place}");
    }
    assert!(read(&good[..FRAME_HEADER_BYTES as usize - 1]).is_err());
}

#[test]
fn a_commits_sequences_agree() {
    let read = |first_sequence, next_sequence, indexed| {
        let commit = Commit { first_sequence, next_sequence, indexed, ..Commit::default() };
        Commit::decode(&commit.encode()).is_ok()
    };
    assert!(read(3, 5, 5) && read(5, 5, 1));
    assert!(!read(6, 5, 1) && !read(3, 5, 6) && !read(3, 5, 0));
    let good = Commit { next_sequence: 5, indexed: 1, ..Commit::default() }.encode();
    assert!(Commit::decode(&good).is_ok());
    for len in [0, COMMIT_BYTES - 1] {
        assert!(Commit::decode(&good[..len]).is_err(), "{len} bytes");
    }
    assert!(Commit::decode(&[good.as_slice(), &[0]].concat()).is_err());
    for place in [240, COMMIT_BYTES - 1] {
        let mut bytes = good;
        bytes[place] = 1;
        assert!(Commit::decode(&bytes).is_err(), "byte {place}");
    }
}

#[test]
fn a_history_is_as_long_as_its_count_says() {
    let of = |count: u64, rest: &[u8]| {
        history::decode(&[count.to_le_bytes().as_slice(), rest].concat()).map(|past| past.len())
    };
    assert_eq!(of(0, &[]), Ok(0));
    assert_eq!(of(1, &[2, 3]), Ok(1));
    for (count, rest) in [(0, [1].as_slice()), (1, &[]), (1, &[2]), (2, &[2, 3]), (1, &[2, 3, 4])] {
        assert!(of(count, rest).is_err(), "{count} in {rest:?}");
    }
    assert!(of(u64::MAX, &[2, 3]).is_err());
    for len in 0..8 {
        assert!(history::decode(&[0; 8][..len]).is_err(), "{len} bytes");
    }
}

fn meta(first_sequence: u64, next_sequence: u64) -> SegmentMeta {
    SegmentMeta {
        id: LOG_START,
        first_sequence,
        next_sequence,
        frame_offset: LOG_START,
        payload_len: 1,
        digest: [0; 32],
        head_sum: 0,
    }
}

#[test]
fn segments_in_force_leave_no_gap_and_are_not_too_many() {
    let read = |segments: Vec<SegmentMeta>| {
        let commit = Commit { indexed: 5, next_sequence: 5, ..Commit::default() };
        Manifest::decode(&Manifest { segments, derived: Vec::new() }.encode(), &commit).is_ok()
    };
    assert!(read(vec![meta(1, 3), meta(3, 5)]));
    for segments in [
        vec![meta(1, 2), meta(3, 5)],
        vec![meta(1, 4), meta(3, 5)],
        vec![meta(1, 1), meta(1, 5)],
        vec![meta(2, 5)],
    ] {
        assert!(!read(segments.clone()), "{segments:?}");
    }
    let most = SEGMENTS_MAX as u64;
    let full = Manifest { segments: (1..=most).map(|n| meta(n, n + 1)).collect(), derived: vec![] };
    let last = SEGMENTS_MAX - 1;
    assert_eq!(full.replaced(&(most..most + 1)), Ok(last..last + 1));
    assert!(full.replaced(&(most + 1..most + 2)).is_err(), "one too many");
}

#[test]
fn the_lengths_of_records_add_up() {
    let stored = [Stored::Body(b"one"), Stored::Body(b""), Stored::Purged(&[7; 32])];
    let plain = encode_plain(&stored);
    let read = |count: u32, plain: &[u8], said: usize| {
        let coding = Coding::Plain;
        let plain_len = said as u64;
        let head = RecordsHead { first_sequence: 1, count, coding, dictionary: 0, plain_len };
        Block::decode(&head, plain.to_vec().into()).map(|block| block.len())
    };
    assert_eq!(read(3, &plain, plain.len()), Ok(3));
    assert!(read(3, &plain, plain.len() - 1).is_err() && read(3, &plain, plain.len() + 1).is_err());
    let longer = [plain.as_slice(), &[0]].concat();
    assert!(read(3, &longer, longer.len()).is_err(), "bytes of no record");
    for len in 0..plain.len() {
        assert!(read(3, &plain[..len], len).is_err(), "{len} bytes");
    }
    assert_eq!(read(2, &[0; 8], 8), Ok(2), "empty ones");
    let purged = |len: u32| {
        let word = (1u32 << 31 | len).to_le_bytes();
        let plain = [word.as_slice(), &vec![0; len as usize]].concat();
        read(1, &plain, plain.len()).is_ok()
    };
    assert!(purged(32) && !purged(31) && !purged(33));
    for (len, expected) in [(RECORD_BYTES_MAX, true), (RECORD_BYTES_MAX + 1, false)] {
        let plain = [(len as u32).to_le_bytes().as_slice(), &vec![0; len]].concat();
        assert_eq!(read(1, &plain, plain.len()).is_ok(), expected, "{len}");
    }
}

#[test]
fn a_segments_head_fits_its_length_and_its_sections_lie_in_its_content() {
    let offset = LOG_START + FRAME_HEADER_BYTES;
    let good = encode(&[(*b"test    ", b"content!")], offset).payload;
    let len = good.len() as u64;
    let layout = |bytes: &[u8], len| Layout::decode(bytes, offset, len);
    assert!(layout(&good, len).is_ok());
    assert!(layout(&good, len - 1).is_err() && layout(&good, len + 1).is_err());
    assert!(layout(&good[..23], len).is_err());
    // Magic, length of the content, count of sections.
    for (place, to) in [(0, b'k'), (8, 9), (8, 7), (16, 0), (16, 2), (16, 65)] {
        let mut bytes = good.clone();
        bytes[place] = to;
        assert!(layout(&bytes, len).is_err(), "{to} at {place}");
    }
    let mut many = good.clone();
    many[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
    many[16] = 1;
    assert!(layout(&many, len).is_err());
    let found = layout(&good, len).expect("whole");
    let head = &good[..found.head_len() as usize];
    let sections = |at: u64, bytes: u64| {
        let mut head = head.to_vec();
        head[32..40].copy_from_slice(&at.to_le_bytes());
        head[40..48].copy_from_slice(&bytes.to_le_bytes());
        decode_sections(&head, &found, len).is_ok()
    };
    let start = found.head_len();
    assert!(sections(start, 8) && sections(start, 0) && sections(start + 8, 0));
    assert!(!sections(start, 9) && !sections(start + 8, 1) && !sections(start + 1, 1));
    assert!(!sections(start - 8, 8) && !sections(0, 1) && !sections(start, u64::MAX));
}
