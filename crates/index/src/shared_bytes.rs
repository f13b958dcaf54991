//! Gives tantivy bytes that somebody else owns, such as a memory map, without a copy.
#![allow(unsafe_code)]

use std::ops::Deref;

use bytes::Bytes;
use stable_deref_trait::StableDeref;
use tantivy::directory::OwnedBytes;

struct SharedBytes(Bytes);

impl Deref for SharedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

// SAFETY: `Bytes` is a pointer and a length into a buffer that it keeps alive and that nobody
// mutates; moving the `Bytes` moves neither. `SharedBytes` gives no mutable access to it.
unsafe impl StableDeref for SharedBytes {}

/// The same bytes in tantivy's terms.
pub(crate) fn owned_bytes(bytes: Bytes) -> OwnedBytes {
    OwnedBytes::new(SharedBytes(bytes))
}
