//! Which commits has the capsule seen? The folded ones from the history frame, the others from their frames.

use crate::error::Result;
use crate::format::Hash;
use crate::format::commit::Commit;
use crate::format::frame::Kind;
use crate::format::history::{PastCommit, decode};
use crate::log::corrupt;
use crate::snapshot::Snapshot;

/// Every commit with records, oldest first.
pub(crate) fn past_commits(snapshot: &Snapshot) -> Result<Vec<PastCommit>> {
    Ok(past(snapshot)?.commits)
}

/// The commits of a capsule, and the chains that its frames tell.
pub(crate) struct Past {
    /// Every commit with records, oldest first.
    pub(crate) commits: Vec<PastCommit>,
    /// How many of them compaction folded away: only the chain after the last of these is known.
    pub(crate) folded: usize,
    /// The chains after the last folded commit and after each later one.
    pub(crate) chains: Vec<Hash>,
}

/// Walks the commits from the newest back.
pub(crate) fn past(snapshot: &Snapshot) -> Result<Past> {
    let (mut newest_first, mut chains) = (Vec::new(), Vec::new());
    let mut commit = snapshot.head().commit;
    let folded = loop {
        if commit.serial <= 1 && commit.history_offset != 0 {
            chains.push(commit.chain);
            break folded(snapshot, commit.history_offset)?;
        }
        if commit.next_sequence > commit.first_sequence {
            newest_first.push(PastCommit { time_us: commit.time_us, records: commit.next_sequence - commit.first_sequence });
            chains.push(commit.chain);
        }
        if commit.serial <= 1 {
            chains.push([0; 32]);
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
    chains.reverse();
    let count = folded.len();
    let mut commits = folded;
    commits.extend(newest_first.into_iter().rev());
    Ok(Past { commits, folded: count, chains })
}

fn folded(snapshot: &Snapshot, offset: u64) -> Result<Vec<PastCommit>> {
    let (_, payload) = snapshot.frame(offset, Kind::History)?;
    decode(&payload).map_err(|what| corrupt(snapshot.path(), offset, what))
}
