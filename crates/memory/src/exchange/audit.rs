//! Checks the signatures of a whole history, and looks for an anchor in it. Takes the chain from
//! the file: what makes it the records' own is [`crate::check::verify`], which comes before.

use std::path::Path;

use kapsa_capsule::{CommitSpan, Hash, Snapshot, Stored};

use crate::error::{Error, Result};
use crate::records::record::Micros;
use crate::signing::commit::{CommitPlace, Signed, ToSign};
use crate::signing::key::PublicKey;
use crate::write::options::Progress;

/// Most commits that a report names; further ones are counted.
pub const FAULTS_MAX: usize = 1000;

/// What the signatures of a history say, seen by somebody who trusts some keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignatureReport {
    /// Commits in the history.
    pub commits: u64,
    /// Commits that a trusted key has signed.
    pub signed: u64,
    /// Number of the first of them; it vouches for all commits before it.
    pub first_signed: Option<u64>,
    /// Commits after the first signed one that no trusted key has signed, oldest first: at most
    /// [`FAULTS_MAX`].
    pub faults: Vec<CommitFault>,
    /// How many there are in all.
    pub fault_count: u64,
}

impl SignatureReport {
    /// Whether trusted keys vouch for the whole history: its newest commit is signed, and so is
    /// each since the first signed one.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        self.first_signed.is_some() && self.fault_count == 0
    }

    fn take(&mut self, span: &CommitSpan, signed: Signed, trusted: &[PublicKey]) {
        let what = match signed {
            Signed::By(key) if trusted.contains(&key) => {
                self.signed += 1;
                self.first_signed.get_or_insert(span.number);
                return;
            }
            Signed::By(key) => Fault::OtherKey(key),
            Signed::Badly => Fault::BadSignature,
            Signed::Not => Fault::Unsigned,
        };
        if self.first_signed.is_none() {
            return;
        }
        self.fault_count += 1;
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(CommitFault { number: span.number, time_us: span.time_us, what });
        }
    }
}

/// A commit that no trusted key vouches for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitFault {
    /// Its number.
    pub number: u64,
    /// When it says that it was made.
    pub time_us: Micros,
    /// What is wrong.
    pub what: Fault,
}

/// What is wrong with the signature of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is none.
    Unsigned,
    /// It is not of this commit.
    BadSignature,
    /// A key that is not trusted made it.
    OtherKey(PublicKey),
}

/// Checks the signature of every commit of the capsule at `path`, folded ones included. `progress`
/// is how many commits are done.
///
/// # Errors
/// What the disk or a damaged file reports.
pub fn audit(
    path: &Path,
    trusted: &[PublicKey],
    progress: Progress<'_>,
) -> Result<SignatureReport> {
    let snapshot = Snapshot::open(path)?;
    let (spans, chains) = (snapshot.commits()?, snapshot.chains(0)?);
    assert_eq!(chains.len(), spans.len() + 1, "a chain before the first commit and after each");
    let mut records = snapshot.records(1);
    let mut report = SignatureReport { commits: spans.len() as u64, ..SignatureReport::default() };
    for (span, chain_before) in spans.iter().zip(&chains) {
        let count = span.next_sequence - span.first_sequence;
        let place = CommitPlace {
            chain_before: *chain_before,
            number: span.number,
            time_us: span.time_us,
            first_sequence: span.first_sequence,
            records: count,
        };
        let mut to_sign = ToSign::new(place);
        let mut missing = || Error::DamagedRecord {
            sequence: span.next_sequence - 1,
            reason: "its commit has fewer records than it says",
        };
        for _ in 1..count {
            let record = records.next().ok_or_else(&mut missing)??;
            to_sign.record(&record.stored().hash());
        }
        let last = records.next().ok_or_else(&mut missing)??;
        let signed = match last.stored() {
            Stored::Body(body) => to_sign.check(body),
            Stored::Purged(_) => Signed::Not,
        };
        report.take(span, signed, trusted);
        progress(span.number, Some(report.commits));
    }
    Ok(report)
}

/// A commit that is known by its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Its number; 0 for the state before the first.
    pub number: u64,
    /// Commits that came after it.
    pub later: u64,
}

/// The commit of the capsule at `path` whose chain this is; none when its history has no such
/// commit, because it was cut, replaced or written anew since.
///
/// # Errors
/// What the disk or a damaged file reports.
pub fn find_chain(path: &Path, chain: &Hash) -> Result<Option<Anchor>> {
    let chains = Snapshot::open(path)?.chains(0)?;
    let number = chains.iter().position(|known| known == chain);
    Ok(number
        .map(|number| Anchor { number: number as u64, later: (chains.len() - 1 - number) as u64 }))
}
