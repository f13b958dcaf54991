//! Faults put into the store on purpose, so that the tests can prove that they find such faults.
//!
//! Without the feature `seeded-faults` none of it is compiled: [`on`] is then the constant `false`.

/// A mistake that a store could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seeded {
    /// A commit is acknowledged without a sync.
    NoSync,
    /// The hint is written before the sync.
    HintBeforeSync,
    /// A write that was done in part counts as done.
    ShortWriteIgnored,
    /// A failed sync is tried again, and its second answer believed.
    SyncRetried,
    /// After a failed commit the file is cut back, but the cut is not synced.
    CutNotSynced,
    /// A writer whose cut failed goes on.
    FailedCutIgnored,
    /// A writer appends without cutting a torn tail.
    TailNotCut,
    /// A writer builds on a commit of which nobody knows whether its sync returned.
    UnhintedTrusted,
    /// A transaction given up leaves the bytes it had written.
    SpillLeft,
    /// A new file gets its name before its content is synced.
    RenameBeforeSync,
    /// A new file's name is not synced.
    FolderNotSynced,
    /// A payload is believed without its hash.
    PayloadUnchecked,
    /// A frame header is believed without its sum.
    FrameSumUnchecked,
    /// A hint is believed without its sum.
    HintSumUnchecked,
    /// The header is believed without its sum.
    HeaderSumUnchecked,
    /// A segment's blocks are believed without their sums.
    SegmentUnchecked,
    /// A commit need not continue the one before it.
    NoChain,
}

impl Seeded {
    /// All of them.
    pub const ALL: [Seeded; 17] = [
        Seeded::NoSync,
        Seeded::HintBeforeSync,
        Seeded::ShortWriteIgnored,
        Seeded::SyncRetried,
        Seeded::CutNotSynced,
        Seeded::FailedCutIgnored,
        Seeded::TailNotCut,
        Seeded::UnhintedTrusted,
        Seeded::SpillLeft,
        Seeded::RenameBeforeSync,
        Seeded::FolderNotSynced,
        Seeded::PayloadUnchecked,
        Seeded::FrameSumUnchecked,
        Seeded::HintSumUnchecked,
        Seeded::HeaderSumUnchecked,
        Seeded::SegmentUnchecked,
        Seeded::NoChain,
    ];
}

/// Whether the store has this fault now.
#[cfg(not(feature = "seeded-faults"))]
pub(crate) const fn on(_fault: Seeded) -> bool {
    false
}

#[cfg(feature = "seeded-faults")]
pub(crate) use chosen::on;
#[cfg(feature = "seeded-faults")]
pub use chosen::seed;

#[cfg(feature = "seeded-faults")]
mod chosen {
    use std::cell::Cell;

    use super::Seeded;

    thread_local! {
        static CHOSEN: Cell<Option<Seeded>> = const { Cell::new(None) };
    }

    /// Gives the store a fault, on this thread only, or takes it away.
    pub fn seed(fault: Option<Seeded>) {
        CHOSEN.set(fault);
    }

    pub(crate) fn on(fault: Seeded) -> bool {
        CHOSEN.get() == Some(fault)
    }
}
