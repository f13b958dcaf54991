//! The signature of one commit: what is signed, and the record that holds it. The last record of
//! its commit, and of nothing else.

use blake3::Hasher;

use super::key::{PUBLIC_KEY_BYTES, PublicKey, SIGNATURE_BYTES, SigningKey};
use crate::records::codec;
use crate::records::record::Micros;
use crate::records::uri::Uri;

/// Sets what is signed here apart from all else that the key may sign.
const CONTEXT: &str = "kapsa signature v1";

/// What decides a commit, besides its records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommitPlace {
    /// Chain of the commit before it.
    pub(crate) chain_before: [u8; 32],
    /// Its number.
    pub(crate) number: u64,
    /// Its time.
    pub(crate) time_us: Micros,
    /// Sequence of its first record.
    pub(crate) first_sequence: u64,
    /// Number of its records, the signature included.
    pub(crate) records: u64,
}

impl CommitPlace {
    /// Sequence of its last record: of its signature.
    fn last_sequence(&self) -> u64 {
        self.first_sequence + self.records - 1
    }
}

/// Takes the hashes of the records of a commit, the signature excluded, in their order.
pub(crate) struct ToSign {
    place: CommitPlace,
    hasher: Hasher,
}

impl ToSign {
    pub(crate) fn new(place: CommitPlace) -> ToSign {
        let mut hasher = Hasher::new_derive_key(CONTEXT);
        hasher.update(&place.chain_before);
        let CommitPlace { number, time_us, first_sequence, records, .. } = place;
        for part in [
            number.to_le_bytes(),
            time_us.to_le_bytes(),
            first_sequence.to_le_bytes(),
            records.to_le_bytes(),
        ] {
            hasher.update(&part);
        }
        ToSign { place, hasher }
    }

    /// Adds the hash of the next record's body.
    pub(crate) fn record(&mut self, hash: &[u8; 32]) {
        self.hasher.update(hash);
    }

    /// The body of the record that signs the commit.
    pub(crate) fn sign(self, key: &SigningKey) -> Vec<u8> {
        let signature = key.sign(self.hasher.finalize().as_bytes());
        body(&self.place, &key.public(), &signature)
    }

    /// What the last record of the commit says, as its signature.
    pub(crate) fn check(self, last: &[u8]) -> Signed {
        let Some(field) = codec::signature_in(last) else { return Signed::Not };
        let parts = field.split_first_chunk::<PUBLIC_KEY_BYTES>();
        let key_and_signature = parts.and_then(|(key, rest)| {
            Some((PublicKey::from_bytes(key)?, <&[u8; SIGNATURE_BYTES]>::try_from(rest).ok()?))
        });
        let Some((key, signature)) = key_and_signature else { return Signed::Badly };
        // Nobody signs a signature's own record: it must be the one that can be made again.
        let is_exact = body(&self.place, &key, signature) == last;
        if is_exact && key.verifies(self.hasher.finalize().as_bytes(), signature) {
            Signed::By(key)
        } else {
            Signed::Badly
        }
    }
}

/// Whether a commit is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signed {
    /// Its last record is no signature.
    Not,
    /// Its last record is one of something else, or of nothing.
    Badly,
    /// By this key.
    By(PublicKey),
}

fn body(place: &CommitPlace, key: &PublicKey, signature: &[u8; SIGNATURE_BYTES]) -> Vec<u8> {
    let field = [&key.as_bytes()[..], signature].concat();
    codec::encode_signature(&Uri::signature(place.last_sequence()), place.time_us, &field)
}
