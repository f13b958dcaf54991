//! What no writer of ours leaves behind, salvaged.

use super::*;
use crate::forged::Log;
use crate::storage::FileSystem;

/// A sequence that the file has no room for would make a loss that takes for ever to report.
#[test]
fn sequences_that_were_never_given_are_not_believed() {
    for (first, expected) in [(1, 1), (1 << 40, 0)] {
        let mut log = Log::new();
        log.next_sequence = first;
        log.records(&[b"one"]);
        log.commit(|_| {});
        let file = log.file();
        let salvage = Salvage::open_in(&FileSystem, &file.path, &mut |_, _| {}).expect("readable");
        let mut met = 0;
        let visited = salvage.each::<Error>(&mut |_| {
            met += 1;
            Ok(())
        });
        visited.expect("readable");
        assert_eq!(met, 2 * expected, "the record and its commit, from {first} on");
    }
}
