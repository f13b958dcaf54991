//! The commits that the capsule has seen, and which of them another capsule has seen as well: the
//! folded ones from the history frame and the records, the others from their frames.

use crate::error::Result;
use crate::format::commit::{ChainHasher, Commit};
use crate::format::frame::Kind;
use crate::format::history::{PastCommit, decode};
use crate::format::small_commit::commit_of;
use crate::format::{Damage, Hash, LOG_START};
use crate::log::{Head, corrupt, follows};
use crate::snapshot::Snapshot;

const UNACCOUNTED: Damage = "its history does not account for every record";

/// One commit with records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitSpan {
    /// Its number: commits with records count from 1.
    pub number: u64,
    /// When it was made, microseconds since the Unix epoch.
    pub time_us: i64,
    /// Sequence of its first record.
    pub first_sequence: u64,
    /// Sequence after its last record.
    pub next_sequence: u64,
}

impl CommitSpan {
    fn records(&self) -> u64 {
        self.next_sequence - self.first_sequence
    }
}

/// The commits with records after commit `number`, oldest first. Reads no record, and no more
/// frames than there are commits after it.
///
/// # Errors
/// As [`Snapshot::commits`].
pub fn commits_after(snapshot: &Snapshot, number: u64) -> Result<Vec<CommitSpan>> {
    let mut newest_first = Vec::new();
    let mut head = *snapshot.head();
    while head.commit.serial > 0 && head.commit.number > number && !is_base(&head.commit) {
        let Commit { number, time_us, first_sequence, next_sequence, .. } = head.commit;
        if next_sequence > first_sequence {
            newest_first.push(CommitSpan { number, time_us, first_sequence, next_sequence });
        }
        head = before(snapshot, &head)?;
    }
    let is_folded = is_base(&head.commit) && head.commit.number > number;
    let mut commits = if is_folded { folded(snapshot, &head)? } else { Vec::new() };
    commits.retain(|span| span.number > number);
    commits.extend(newest_first.into_iter().rev());
    Ok(commits)
}

impl Snapshot {
    /// Every commit with records, oldest first, those that compaction folded away included. Reads
    /// no record.
    ///
    /// # Errors
    /// `Corrupt` when the commits do not continue each other; what the system says.
    pub fn commits(&self) -> Result<Vec<CommitSpan>> {
        let mut newest_first = Vec::new();
        let mut head = *self.head();
        while head.commit.serial > 0 && !is_base(&head.commit) {
            let Commit { number, time_us, first_sequence, next_sequence, .. } = head.commit;
            if next_sequence > first_sequence {
                newest_first.push(CommitSpan { number, time_us, first_sequence, next_sequence });
            }
            head = before(self, &head)?;
        }
        let mut commits = if is_base(&head.commit) { folded(self, &head)? } else { Vec::new() };
        commits.extend(newest_first.into_iter().rev());
        assert_eq!(
            commits.len() as u64,
            self.commit().number,
            "commits with records are numbered without gaps"
        );
        Ok(commits)
    }

    /// The chain after commit `number`: zeros for 0, none beyond the newest. The commit's frame has
    /// it. Where compaction folded the commit away, the records of all folded ones are read,
    /// once for this view.
    ///
    /// # Errors
    /// `Corrupt` when the commits do not continue each other, or the records do not give the chain;
    /// what the system says.
    pub fn chain_of(&self, number: u64) -> Result<Option<Hash>> {
        let exists = number <= self.commit().number;
        exists.then(|| Descent::new(self).chain(number)).transpose()
    }

    /// The chains after the commits from number `from` to the newest, in this order, for the price
    /// of the first.
    ///
    /// # Errors
    /// As [`Snapshot::chain_of`].
    pub fn chains(&self, from: u64) -> Result<Vec<Hash>> {
        let mut descent = Descent::new(self);
        let newest_first = (from..=self.commit().number).rev().map(|number| descent.chain(number));
        let mut chains = newest_first.collect::<Result<Vec<_>>>()?;
        debug_assert!(
            from != 0 || chains.last().is_none_or(|chain| *chain == [0; 32]),
            "before the first commit there is no chain"
        );
        chains.reverse();
        Ok(chains)
    }
}

/// Number of the newest commit that two capsules have in common; 0 when they have none.
///
/// All commits up to it are the same in both: the same records, by their hashes, in the same order
/// under the same sequences, made at the same times; whatever was compacted or purged since, and
/// whatever the ids of the capsules. That rests on BLAKE3, and for commits that were not folded
/// away on the chains in their frames, which `verify` holds against the records. The work grows
/// with the commits that are not in common; records are read only where such a one, or the newest
/// common one, was folded away.
///
/// # Errors
/// As [`Snapshot::chain_of`].
pub fn common(a: &Snapshot, b: &Snapshot) -> Result<u64> {
    let mut number = a.commit().number.min(b.commit().number);
    let (mut a, mut b) = (Descent::new(a), Descent::new(b));
    // A commit is reached from the one after it: bisecting would not spare the way there.
    while a.chain(number)? != b.chain(number)? {
        number -= 1;
    }
    Ok(number)
}

/// Looks chains up, from the newest to the oldest.
struct Descent<'a> {
    snapshot: &'a Snapshot,
    head: Head,
}

impl<'a> Descent<'a> {
    fn new(snapshot: &'a Snapshot) -> Descent<'a> {
        Descent { snapshot, head: *snapshot.head() }
    }

    /// The chain after commit `number`, no later one than was asked for before.
    fn chain(&mut self, number: u64) -> Result<Hash> {
        if number == 0 {
            return Ok([0; 32]);
        }
        while self.head.commit.number > number && !is_base(&self.head.commit) {
            self.head = before(self.snapshot, &self.head)?;
        }
        if self.head.commit.number == number {
            return Ok(self.head.commit.chain);
        }
        let chain = folded_chains(self.snapshot, &self.head)?.get(number as usize - 1);
        chain.copied().ok_or_else(|| {
            corrupt(self.snapshot.path(), self.head.offset, "the commits are not in order")
        })
    }
}

/// Every commit with records, oldest first, as a history frame tells of them.
pub(crate) fn past_commits(snapshot: &Snapshot) -> Result<Vec<PastCommit>> {
    let past = |span: CommitSpan| PastCommit { time_us: span.time_us, records: span.records() };
    Ok(snapshot.commits()?.into_iter().map(past).collect())
}

/// Whether the commit stands for all that compaction folded away.
fn is_base(commit: &Commit) -> bool {
    commit.serial == 1 && commit.history_offset != 0
}

/// The state before the commit at `head`.
fn before(snapshot: &Snapshot, head: &Head) -> Result<Head> {
    let mut previous = Head::empty();
    if head.commit.serial > 1 {
        let offset = head.commit.prev_offset;
        let (frame, payload) = snapshot.frame(offset, &[Kind::Commit, Kind::SmallCommit])?;
        let commit =
            commit_of(&frame, &payload).map_err(|what| corrupt(snapshot.path(), offset, what))?;
        previous = Head { commit, offset, end: frame.end(), digest: frame.digest };
    }
    let in_order = previous.commit.serial < head.commit.serial && follows(&previous, &head.commit);
    if in_order {
        Ok(previous)
    } else {
        Err(corrupt(snapshot.path(), head.offset, "the commits are not in order"))
    }
}

/// The commits that the one at `base` stands for.
fn folded(snapshot: &Snapshot, base: &Head) -> Result<Vec<CommitSpan>> {
    let offset = base.commit.history_offset;
    let (_, payload) = snapshot.frame(offset, &[Kind::History])?;
    let spans = decode(&payload).and_then(|past| folded_spans(&base.commit, &past));
    spans.map_err(|what| corrupt(snapshot.path(), offset, what))
}

/// The commits that `base` stands for, at least one.
pub(crate) fn folded_spans(base: &Commit, past: &[PastCommit]) -> Result<Vec<CommitSpan>, Damage> {
    let mut next_sequence = 1u64;
    let mut spans = Vec::with_capacity(past.len());
    for (number, past) in (1..).zip(past) {
        let first_sequence = next_sequence;
        next_sequence = first_sequence
            .checked_add(past.records)
            .filter(|&next| next > first_sequence)
            .ok_or(UNACCOUNTED)?;
        spans.push(CommitSpan { number, time_us: past.time_us, first_sequence, next_sequence });
    }
    debug_assert!(spans.iter().all(|span| span.records() > 0), "every folded commit has records");
    let whole = !spans.is_empty()
        && spans.len() as u64 == base.number
        && next_sequence == base.next_sequence;
    if whole { Ok(spans) } else { Err(UNACCOUNTED) }
}

/// The chains after the commits that the one at `base` stands for.
fn folded_chains<'a>(snapshot: &'a Snapshot, base: &Head) -> Result<&'a [Hash]> {
    if let Some(known) = snapshot.folded_chains().get() {
        return Ok(known);
    }
    let spans = folded(snapshot, base)?;
    let (mut chains, mut next) = (FoldedChains::new(&spans), 1);
    snapshot.each_block(LOG_START..base.offset, &mut |offset, block| {
        if block.first_sequence != next {
            return Err(corrupt(
                snapshot.path(),
                offset,
                format!("the records do not begin with {next}"),
            ));
        }
        next += block.len();
        let added = block.records().try_for_each(|record| chains.record(&record.hash()));
        added.map_err(|what| corrupt(snapshot.path(), offset, what))
    })?;
    let damaged = |what| corrupt(snapshot.path(), base.offset, what);
    let chains = chains.finish().map_err(damaged)?;
    if chains.last() != Some(&base.commit.chain) {
        return Err(damaged("the chain does not match its records"));
    }
    Ok(snapshot.folded_chains().get_or_init(|| chains))
}

/// Computes the chains of folded commits from the hashes of their records, which it is given in
/// order.
pub(crate) struct FoldedChains<'a> {
    /// The commits not yet done.
    rest: &'a [CommitSpan],
    /// The first of them, if some of its records were given, and how many are still to come.
    open: Option<(ChainHasher, u64)>,
    done: Vec<Hash>,
}

impl<'a> FoldedChains<'a> {
    pub(crate) fn new(spans: &'a [CommitSpan]) -> FoldedChains<'a> {
        FoldedChains { rest: spans, open: None, done: Vec::with_capacity(spans.len()) }
    }

    /// Adds the next record.
    pub(crate) fn record(&mut self, hash: &Hash) -> Result<(), Damage> {
        let (mut chain, missing) = match self.open.take() {
            Some(open) => open,
            None => self.begin()?,
        };
        assert!(missing > 0, "an open commit still lacks a record");
        chain.record(hash);
        if missing > 1 {
            self.open = Some((chain, missing - 1));
        } else {
            self.done.push(chain.finish());
            self.rest = &self.rest[1..];
        }
        Ok(())
    }

    fn begin(&self) -> Result<(ChainHasher, u64), Damage> {
        debug_assert!(self.open.is_none(), "one commit is open at a time");
        let span = self.rest.first().ok_or(UNACCOUNTED)?;
        let prev = self.done.last().copied().unwrap_or_default();
        Ok((
            ChainHasher::new(&prev, span.number, span.time_us, span.first_sequence, span.records()),
            span.records(),
        ))
    }

    /// The chain after each of the commits.
    pub(crate) fn finish(self) -> Result<Vec<Hash>, Damage> {
        if self.rest.is_empty() { Ok(self.done) } else { Err(UNACCOUNTED) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(number: u64, next_sequence: u64, records: &[u64]) -> Option<Vec<(u64, u64)>> {
        let past: Vec<_> =
            records.iter().map(|&records| PastCommit { time_us: 0, records }).collect();
        let base = Commit { number, next_sequence, ..Commit::default() };
        let spans = folded_spans(&base, &past).ok()?;
        Some(spans.iter().map(|span| (span.first_sequence, span.next_sequence)).collect())
    }

    #[test]
    fn a_folded_history_accounts_for_every_commit_and_record() {
        assert_eq!(spans(2, 6, &[2, 3]), Some(vec![(1, 3), (3, 6)]));
        assert_eq!(spans(3, 6, &[2, 3]), None, "a commit too few");
        assert_eq!(spans(1, 6, &[2, 3]), None, "a commit too many");
        assert_eq!(spans(2, 7, &[2, 3]), None, "a record too few");
        assert_eq!(spans(2, 5, &[2, 3]), None, "a record too many");
        assert_eq!(spans(2, 6, &[5, 0]), None, "a commit without records");
        assert_eq!(spans(2, 6, &[u64::MAX, 7]), None, "more records than can be counted");
        assert_eq!(spans(0, 1, &[]), None, "no commit at all");
    }
}
