//! The identity of a revision, by which capsules tell what they have already. Knows nothing of
//! branches and views.

use std::fmt;

use base16ct::lower::encode_string;

/// Bytes of an identity.
pub(crate) const IDENTITY_BYTES: usize = 16;
/// Context of the hash.
const CONTEXT: &str = "kapsa revision identity v1";

/// What a revision is called in every capsule that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Identity(pub(crate) [u8; IDENTITY_BYTES]);

impl Identity {
    /// That of a record written here: of the hash of its body, which an erased record keeps, and
    /// its sequence. Copies of the commit have the same.
    pub(crate) fn of(body_hash: &[u8; 32], sequence: u64) -> Identity {
        let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
        hasher.update(body_hash);
        hasher.update(&sequence.to_le_bytes());
        let mut identity = [0; IDENTITY_BYTES];
        identity.copy_from_slice(&hasher.finalize().as_bytes()[..IDENTITY_BYTES]);
        Identity(identity)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&encode_string(&self.0))
    }
}
