//! When a dictionary is learned, and what is packed.

use super::*;

fn with_dictionary(bytes: usize) -> Packer {
    let mut packer = Packer::default();
    packer.adopt(LOG_START, &vec![7; bytes]);
    packer
}

/// Bytes that do not pack.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u8
    };
    (0..len).map(|_| next()).collect()
}

#[test]
fn a_large_dictionary_is_wanted_once_and_of_enough_bytes() {
    assert!(!Packer::default().wants_dictionary(TRAIN_BYTES - 1));
    assert!(Packer::default().wants_dictionary(TRAIN_BYTES));
    let half = DICTIONARY_BYTES / 2;
    for (bytes, expected) in [(1, true), (half, true), (half + 1, false)] {
        let packer = with_dictionary(bytes);
        assert_eq!(packer.wants_dictionary(TRAIN_BYTES), expected, "{bytes} bytes");
        assert!(!packer.wants_dictionary(TRAIN_BYTES - 1));
    }
}

#[test]
fn a_dictionary_is_known_until_it_is_forgotten() {
    let mut packer = with_dictionary(100);
    assert!(packer.has_dictionary() && packer.dictionary_offset() == LOG_START);
    packer.reset();
    assert!(!packer.has_dictionary() && packer.dictionary_offset() == 0);
    assert!(!Packer::default().has_dictionary());
}

#[test]
fn a_dictionary_is_a_part_of_what_it_is_learned_from() {
    let texts: Vec<String> =
        (0..400).map(|n| format!("Note {n}: service {} is in region {}.", n % 7, n % 5)).collect();
    let samples: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
    let total: usize = samples.iter().map(|sample| sample.len()).sum();
    let learned = Packer::default().train(&samples).expect("they have much in common");
    assert!(learned.len() <= total / SAMPLES_PER_DICTIONARY, "{} of {total}", learned.len());
    assert_eq!(Packer::default().train(&[]), None);
}

#[test]
fn blocks_are_small_where_a_dictionary_helps() {
    let none = Packer::default();
    let some = with_dictionary(100);
    for (packer, total, expected) in [
        (&none, BULK_BYTES, BLOCK_BYTES.1),
        (&none, 1, BLOCK_BYTES.1),
        (&some, BULK_BYTES - 1, BLOCK_BYTES.1),
        (&some, BULK_BYTES, BLOCK_BYTES.0),
    ] {
        assert_eq!(packer.target_bytes(total), expected, "{total}");
    }
}

#[test]
fn what_is_short_or_hardly_gets_shorter_is_not_packed() {
    let mut packer = Packer::default();
    let zeros = vec![0; SMALL_BYTES];
    assert!(packer.pack(&zeros, SMALL_BYTES).is_some());
    assert!(packer.pack(&zeros[1..], SMALL_BYTES - 1).is_none(), "short");
    assert!(packer.pack(&zeros[1..], BULK_BYTES).is_some(), "short and many");
    assert!(with_dictionary(100).pack(&zeros[1..], SMALL_BYTES - 1).is_some());
    // 17 of 18 parts are noise, or 13 of 14: what is gained is less than a sixteenth, or more.
    for (parts, expected) in [(18, false), (14, true)] {
        let part = SMALL_BYTES / 2;
        let plain = [noise((parts - 1) * part), vec![0; part]].concat();
        let packed = packer.pack(&plain, plain.len());
        assert_eq!(packed.is_some(), expected, "{parts} parts");
    }
    let shown = format!("{:?}", with_dictionary(1));
    assert_eq!(shown, "Packer { dictionary: Some(12288) }");
}
