//! What do two capsules have in common, and what does one miss of the other?
//!
//! The chain after a commit is made of every record and time before it, so equal chains prove equal histories up to there: whoever
//! could make two histories of one chain could break BLAKE3.

use crate::error::Result;
use crate::format::Hash;
use crate::format::commit::chain_of;
use crate::history::{Past, past};
use crate::log::corrupt;
use crate::snapshot::Snapshot;

/// A commit with records: what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitSpan {
    /// Which one of the history, from 1.
    pub number: u64,
    /// When it was made, microseconds since the Unix epoch.
    pub time_us: i64,
    /// Sequence of its first record.
    pub first_sequence: u64,
    /// Sequence after its last record.
    pub next_sequence: u64,
}

impl Snapshot {
    /// Every commit with records, oldest first, also those that compaction folded away.
    ///
    /// # Errors
    /// `Corrupt`, or what the system says.
    pub fn commits(&self) -> Result<Vec<CommitSpan>> {
        Ok(spans(&past(self)?))
    }

    /// The chain after each commit, by its number; before the first it is all zeros. For what compaction folded away it is computed
    /// anew from the records.
    ///
    /// # Errors
    /// `Corrupt` when a record does not check out or the history does not fit; what the system says.
    pub fn chains(&self) -> Result<Vec<Hash>> {
        let past = past(self)?;
        let mut chains = self.folded_chains(&past)?;
        chains.extend_from_slice(&past.chains[1..]);
        Ok(chains)
    }

    /// The chain after commit `number`; none when there is no such commit.
    ///
    /// # Errors
    /// As [`Snapshot::chains`].
    pub fn chain_of(&self, number: u64) -> Result<Option<Hash>> {
        let past = past(self)?;
        let Ok(number) = usize::try_from(number) else { return Ok(None) };
        match number.checked_sub(past.folded) {
            Some(at) => Ok(past.chains.get(at).copied()),
            None => Ok(self.folded_chains(&past)?.get(number).copied()),
        }
    }

    /// Chains from before the first commit to after the last folded one.
    fn folded_chains(&self, past: &Past) -> Result<Vec<Hash>> {
        let mut chains = vec![[0; 32]];
        let mut records = self.records(1);
        for span in spans(past).into_iter().take(past.folded) {
            let count = (span.next_sequence - span.first_sequence) as usize;
            let hashes: Vec<Hash> =
                records.by_ref().take(count).map(|record| Ok(record?.stored().hash())).collect::<Result<_>>()?;
            if hashes.len() != count {
                return Err(corrupt(self.path(), 0, "its history counts more records than there are"));
            }
            let before = chains.last().expect("it begins with one");
            chains.push(chain_of(before, span.number, span.time_us, span.first_sequence, &hashes));
        }
        if chains.last() == past.chains.first() {
            Ok(chains)
        } else {
            Err(corrupt(self.path(), 0, "its records do not make the chain of its first commit"))
        }
    }
}

fn spans(past: &Past) -> Vec<CommitSpan> {
    let mut next_sequence = 1;
    let span = |(number, commit): (u64, &crate::format::history::PastCommit)| {
        let first_sequence = next_sequence;
        next_sequence += commit.records;
        CommitSpan { number, time_us: commit.time_us, first_sequence, next_sequence }
    };
    (1..).zip(&past.commits).map(span).collect()
}

/// Number of the newest commit that both have in common, 0 for none: up to there their histories are the same.
///
/// # Errors
/// As [`Snapshot::chains`].
pub fn common(a: &Snapshot, b: &Snapshot) -> Result<u64> {
    let (short, long) = if a.commit().number <= b.commit().number { (a, b) } else { (b, a) };
    if long.chain_of(short.commit().number)? == Some(short.commit().chain) {
        return Ok(short.commit().number);
    }
    let (short, long) = (short.chains()?, long.chains()?);
    // Once two histories differ they differ for ever.
    let same = short.iter().zip(&long).take_while(|(a, b)| a == b).count();
    Ok(same.saturating_sub(1) as u64)
}
