//! Signed history: commits that end with a signature, and the check of all of them.
//!
//! Whoever may write the file can recompute every checksum and the chain; a signature takes the
//! secret key. The key is passed in: nothing here reads a file or the environment.

pub mod audit;
pub(crate) mod commit;
pub(crate) mod key;
