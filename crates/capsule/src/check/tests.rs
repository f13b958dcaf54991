//! What no writer of ours leaves behind, put together by hand.

use super::*;
use crate::create::{NewCapsule, create};
use crate::draft::SegmentDraft;
use crate::format::frame::push_frame;
use crate::lock::WriterOptions;
use crate::writer::Writer;

/// The whole log again, each frame of the kind that `kind_of` gives it, with every sum right and
/// without commit pointers: there is one commit.
fn with_kinds(bytes: &[u8], header: &Header, kind_of: impl Fn(Kind) -> Kind) -> Vec<u8> {
    let mut out = bytes[..LOG_START as usize].to_vec();
    out[SLOTS[0] as usize..].fill(0);
    let mut headers = blake3::Hasher::new();
    while out.len() < bytes.len() {
        let rest = &bytes[out.len()..];
        let frame = Frame::decode(rest, out.len() as u64, header).expect("a frame");
        let payload = &rest[FRAME_HEADER_BYTES as usize..][..frame.payload_len as usize];
        let frames_hash = *headers.finalize().as_bytes();
        let commit = Commit::decode(payload).map(|commit| Commit { frames_hash, ..commit });
        let encoded = commit.map(|commit| commit.encode());
        let payload = encoded.as_ref().map_or(payload, |encoded| encoded.as_slice());
        let pushed = push_frame(&mut out, 0, kind_of(frame.kind), frame.serial, header, payload);
        headers.update(&header_bytes(&pushed, header));
    }
    out
}

#[test]
fn a_manifest_in_a_frame_of_another_kind_is_a_problem() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("m.kapsa");
    let options = WriterOptions::default();
    let new = NewCapsule { capsule_id: [7; 16], created_us: 1 };
    create(&path, new, &options).expect("created");
    let mut writer = Writer::open(&path, &options).expect("opens");
    let mut transaction = writer.begin().expect("begins");
    transaction.append(b"one").expect("appends");
    let sections = vec![(*b"test    ", b"index".to_vec())];
    let segment = SegmentDraft { first_sequence: 1, next_sequence: 2, sections };
    transaction.add_segment(segment).expect("joins");
    transaction.commit(1).expect("commits");
    drop(writer);
    let bytes = std::fs::read(&path).expect("there");
    let header = read_header(&bytes, &path).expect("whole");
    let problems = |kind_of: fn(Kind) -> Kind| {
        std::fs::write(&path, with_kinds(&bytes, &header, kind_of)).expect("written");
        let report = verify(&path, &mut |_, _| {}).expect("can be checked");
        report.problems.into_iter().map(|problem| problem.what).collect::<Vec<_>>()
    };
    assert_eq!(problems(|kind| kind), [""; 0]);
    let elsewhere = |kind| if kind == Kind::Manifest { Kind::Dictionary } else { kind };
    assert_eq!(problems(elsewhere), ["commit frame: its manifest is another frame"]);
}
