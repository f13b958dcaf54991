//! The history frame: the commits that compaction folded away.

use super::primitives::{Damage, push_leb128, take_leb128, u64_at};

/// Time and record count of one commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PastCommit {
    pub(crate) time_us: i64,
    pub(crate) records: u64,
}

pub(crate) fn encode(commits: &[PastCommit]) -> Vec<u8> {
    let mut out = (commits.len() as u64).to_le_bytes().to_vec();
    let mut previous = 0i64;
    for commit in commits {
        let delta = commit.time_us.wrapping_sub(previous);
        push_leb128(&mut out, ((delta << 1) ^ (delta >> 63)) as u64);
        push_leb128(&mut out, commit.records);
        previous = commit.time_us;
    }
    debug_assert_eq!(
        decode(&out).as_deref(),
        Ok(commits),
        "whoever opens the file reads the history that was written"
    );
    out
}

pub(crate) fn decode(payload: &[u8]) -> Result<Vec<PastCommit>, Damage> {
    const DAMAGE: Damage = "the history is cut short or too long";
    if payload.len() < 8 {
        return Err(DAMAGE);
    }
    let count = u64_at(payload, 0);
    let mut rest = &payload[8..];
    if count > rest.len() as u64 {
        return Err(DAMAGE);
    }
    let mut commits = Vec::with_capacity(count as usize);
    let mut previous = 0i64;
    for _ in 0..count {
        let zigzag = take_leb128(&mut rest).ok_or(DAMAGE)?;
        let records = take_leb128(&mut rest).ok_or(DAMAGE)?;
        previous = previous.wrapping_add((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64));
        commits.push(PastCommit { time_us: previous, records });
    }
    if rest.is_empty() { Ok(commits) } else { Err(DAMAGE) }
}
