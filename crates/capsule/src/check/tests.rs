//! What no writer of ours leaves behind, checked.

use super::*;
use crate::forged::Log;

fn problems(log: &Log) -> Vec<String> {
    let report = verify(&log.file().path, &mut |_, _| {}).expect("can be checked");
    report.problems.into_iter().map(|problem| problem.what).collect()
}

#[test]
fn a_manifest_in_a_frame_of_another_kind_is_a_problem() {
    let forged = |kind| {
        let mut log = Log::new();
        let manifest = log.push(kind, &Manifest::default().encode());
        log.commit(|commit| commit.manifest_offset = manifest.offset);
        problems(&log)
    };
    assert_eq!(forged(Kind::Manifest), [""; 0]);
    assert_eq!(forged(Kind::Dictionary), ["commit frame: its manifest is another frame"]);
}

/// A segment without sections, whose content is as long as no writer of ours makes it.
#[test]
fn the_filling_of_a_segment_is_a_part_of_its_frame() {
    let mut log = Log::new();
    let content = b"odd".as_slice();
    let mut payload = b"KAPSASEG".to_vec();
    payload.extend_from_slice(&(content.len() as u64).to_le_bytes());
    payload.extend_from_slice(&0u64.to_le_bytes());
    payload.extend_from_slice(&sum(content).to_le_bytes());
    payload.extend_from_slice(&0u64.to_le_bytes());
    payload.extend_from_slice(content);
    let frame = log.push(Kind::Segment, &payload);
    log.commit(|_| {});
    // What a commit follows is not a torn end.
    log.commit(|_| {});
    let damaged = "segment frame: its hash does not match".to_string();
    assert!(!problems(&log).contains(&damaged), "{:?}", problems(&log));
    log.bytes[(frame.payload_offset() + frame.payload_len) as usize] = 1;
    assert!(problems(&log).contains(&damaged), "{:?}", problems(&log));
}
