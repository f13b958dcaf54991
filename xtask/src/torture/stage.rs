//! What the threads of a torture share: the plan, the capsule, and whether they should end.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::harness::breach::Breaches;
use crate::harness::kapsa::Kapsa;
use crate::harness::ledger::Ledger;
use crate::harness::sys;

/// Kills of maintenance to kills of puts: there are few maintenance runs, and each is worth
/// interrupting.
pub(super) const MAINTENANCE_KILLS: u64 = 5;

/// How much is done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) processes: u64,
    pub(super) puts: u64,
    pub(super) readers: u64,
    pub(super) kill_percent: u64,
    pub(super) maintenance: bool,
}

/// What the threads of a run share.
pub(super) struct Stage<'a> {
    pub(super) plan: Plan,
    pub(super) kapsa: &'a Kapsa,
    pub(super) breaches: &'a Breaches,
    pub(super) ledger: Mutex<Ledger>,
    /// Puts acknowledged so far.
    pub(super) acknowledged: AtomicU64,
    /// The workers have ended.
    pub(super) over: AtomicBool,
}

impl Stage<'_> {
    /// Whether readers and maintenance should end.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed) || sys::interrupted()
    }
}
