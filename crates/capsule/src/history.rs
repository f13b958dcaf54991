//! Which commits has the capsule seen? The folded ones from the history frame, the others from their frames.

use crate::error::Result;
use crate::format::commit::Commit;
use crate::format::frame::Kind;
use crate::format::history::{PastCommit, decode};
use crate::log::corrupt;
use crate::snapshot::Snapshot;

/// Every commit with records, oldest first.
pub(crate) fn past_commits(snapshot: &Snapshot) -> Result<Vec<PastCommit>> {
    let mut newest_first = Vec::new();
    let mut commit = snapshot.head().commit;
    let folded = loop {
        if commit.serial <= 1 && commit.history_offset != 0 {
            break folded(snapshot, commit.history_offset)?;
        }
        if commit.next_sequence > commit.first_sequence {
            newest_first.push(PastCommit { time_us: commit.time_us, records: commit.next_sequence - commit.first_sequence });
        }
        if commit.serial <= 1 {
            break Vec::new();
        }
        let offset = commit.prev_offset;
        let (_, payload) = snapshot.frame(offset, Kind::Commit)?;
        let previous = Commit::decode(&payload).map_err(|what| corrupt(snapshot.path(), offset, what))?;
        if previous.serial + 1 != commit.serial {
            return Err(corrupt(snapshot.path(), offset, "the commits are not in order"));
        }
        commit = previous;
    };
    let mut commits = folded;
    commits.extend(newest_first.into_iter().rev());
    Ok(commits)
}

fn folded(snapshot: &Snapshot, offset: u64) -> Result<Vec<PastCommit>> {
    let (_, payload) = snapshot.frame(offset, Kind::History)?;
    decode(&payload).map_err(|what| corrupt(snapshot.path(), offset, what))
}
