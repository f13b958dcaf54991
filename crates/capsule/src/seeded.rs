//! Faults planted in the store on purpose, so that the tests can prove that they find such faults.
//!
//! Only what no disk can do is planted here: a reader that does not hold bytes to their checksum, a
//! writer that does not take back what a failed transaction changed in memory. Every other fault (a
//! sync left out, a rename too early) is a disk that lies, `kapsa_testkit::Lie`, and has no branch
//! in this crate. Without the feature `seeded-faults` none of it is compiled: [`on`] is the
//! constant `false`.

/// A mistake that a store could make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seeded {
    /// A transaction that failed or was given up leaves the bytes it had written.
    SpillLeft,
    /// A transaction that failed or was given up leaves its dictionary in use.
    DictionaryKept,
    /// A payload is believed without its hash.
    PayloadUnchecked,
    /// A frame header is believed without its sum.
    FrameSumUnchecked,
    /// A commit pointer is believed without its sum.
    PointerSumUnchecked,
    /// The header is believed without its sum.
    HeaderSumUnchecked,
    /// A segment's blocks are believed without their sums.
    SegmentUnchecked,
    /// A commit need not continue the one before it.
    NoChain,
}

impl Seeded {
    /// All of them.
    pub const ALL: [Seeded; 8] = [
        Seeded::SpillLeft,
        Seeded::DictionaryKept,
        Seeded::PayloadUnchecked,
        Seeded::FrameSumUnchecked,
        Seeded::PointerSumUnchecked,
        Seeded::HeaderSumUnchecked,
        Seeded::SegmentUnchecked,
        Seeded::NoChain,
    ];
}

/// Whether what a reader checks holds; a planted fault makes it believe that it does.
pub(crate) fn holds(fault: Seeded, held: bool) -> bool {
    held || on(fault)
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

    /// Plants a fault in the store, on this thread only, or removes it.
    pub fn seed(fault: Option<Seeded>) {
        CHOSEN.set(fault);
    }

    pub(crate) fn on(fault: Seeded) -> bool {
        CHOSEN.get() == Some(fault)
    }
}
