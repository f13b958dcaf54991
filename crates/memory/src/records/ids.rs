//! Derives new names from what is being named, so that nothing but the capsule's own id is drawn at
//! random.

use kapsa_capsule::random_bits;

use crate::records::record::Micros;
use crate::records::uri::Uri;

/// Letters of an id: digits and lower-case letters without i, l, o, u.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Letters of an id: 65 bits.
const ID_LETTERS: usize = 13;

/// 128 random bits.
#[must_use]
pub fn random_id() -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    for _ in 0..2 {
        hasher.update(&random_bits().to_le_bytes());
    }
    hasher.finalize().as_bytes()[..16].try_into().expect("sixteen of thirty-two bytes")
}

/// A URI that no other record has.
pub(crate) fn fresh_uri(capsule_id: &[u8; 16], sequence: u64, now: Micros, text: &str) -> Uri {
    Uri::from_segments(["note", &fresh_id(capsule_id, sequence, now, text)])
}

/// An id that no other record has: made of the capsule, the place, the moment and the text.
pub(crate) fn fresh_id(capsule_id: &[u8; 16], sequence: u64, now: Micros, text: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(capsule_id)
        .update(&sequence.to_le_bytes())
        .update(&now.to_le_bytes())
        .update(text.as_bytes());
    let hash = hasher.finalize();
    let letter = |byte: &u8| char::from(ALPHABET[usize::from(byte & 31)]);
    hash.as_bytes()[..ID_LETTERS].iter().map(letter).collect()
}
