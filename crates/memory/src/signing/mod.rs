//! Signed history: the key, and the signature that a commit ends with.
//!
//! Whoever may write the file can recompute every checksum and the chain; a signature takes the
//! secret key. The key is passed in: nothing here reads a file or the environment.

pub(crate) mod commit;
pub(crate) mod key;
