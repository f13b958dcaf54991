//! What the commands that try to make Kapsa lose something have in common.
//!
//! A program to run, a temporary folder, records whose contents can be computed again, a ledger of
//! what was acknowledged and a list of the promises that were broken.

pub(crate) mod aftermath;
pub(crate) mod args;
pub(crate) mod binary;
pub(crate) mod breach;
pub(crate) mod kapsa;
pub(crate) mod ledger;
pub(crate) mod liar;
pub(crate) mod preload;
pub(crate) mod process;
pub(crate) mod progress;
pub(crate) mod random;
pub(crate) mod record;
pub(crate) mod scratch;
pub(crate) mod session;
pub(crate) mod sys;
pub(crate) mod tree;

/// The middle of `values`; none when there are none.
pub(crate) fn median<T: Copy + Ord>(values: &[T]) -> Option<T> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}
