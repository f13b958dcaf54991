//! The parts of a transaction at their limits.

use super::*;

fn sizes(lens: &[usize], target: usize) -> Vec<usize> {
    let pending: Vec<Pending> =
        lens.iter().map(|&len| Pending { bytes: vec![0; len], purged: false }).collect();
    group(&pending, target).into_iter().map(<[Pending]>::len).collect()
}

#[test]
fn a_frame_has_the_records_that_reach_the_target_and_no_more_than_it_may() {
    assert_eq!(sizes(&[], 6), [0; 0]);
    assert_eq!(sizes(&[3, 3, 3], 6), [2, 1]);
    assert_eq!(sizes(&[3, 3, 3], 7), [3]);
    assert_eq!(sizes(&[9, 1, 9], 6), [1, 2]);
    assert_eq!(sizes(&[5, 5, 5, 5], 5), [1, 1, 1, 1]);
    let most = RECORDS_PER_FRAME_MAX;
    assert_eq!(sizes(&vec![0; most], 6), [most]);
    assert_eq!(sizes(&vec![0; 2 * most + 1], 6), [most, most, 1]);
    assert_eq!(sizes(&[&[6], vec![0; most + 1].as_slice()].concat(), 6), [1, most, 1]);
}

/// A change of the commit that a transaction goes on from.
type Change = fn(&mut Commit, u64);

#[test]
fn no_transaction_goes_on_from_a_commit_near_the_end_of_the_numbers() {
    let header = Header::new([7; 16], 1, 1);
    let changes: [Change; 4] = [
        |commit, count| commit.serial = count,
        |commit, count| commit.number = count,
        |commit, count| commit.next_sequence = count,
        |commit, count| commit.tail_bytes = count,
    ];
    for (index, change) in changes.into_iter().enumerate() {
        for (count, expected) in [(COUNT_MAX / 2, true), (COUNT_MAX / 2 + 1, false)] {
            let mut base = Head::empty();
            change(&mut base.commit, count);
            let path = Path::new("m.kapsa");
            let draft = Draft::new(path, &header, &base, Manifest::default(), Buffers::default());
            assert_eq!(draft.expect_usable().is_ok(), expected, "change {index} to {count}");
        }
    }
}
