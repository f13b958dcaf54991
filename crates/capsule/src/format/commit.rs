//! The commit: which frames exist, what the state is after them, and how the chain goes on.

use super::primitives::{COUNT_MAX, Damage, Hash, all_zero, hash_at, u64_at};

/// Bytes of a commit's payload.
pub(crate) const COMMIT_BYTES: usize = 256;
/// Where its numbers lie, those of time aside.
const WORDS: [usize; 13] = [0, 8, 24, 32, 40, 48, 56, 64, 72, 80, 88, 224, 232];
const CHAIN_CONTEXT: &str = "kapsa chain v1";

/// A commit's fields, named as in `docs/format.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) serial: u64,
    pub(crate) number: u64,
    pub(crate) time_us: i64,
    pub(crate) prev_offset: u64,
    pub(crate) begin: u64,
    pub(crate) first_sequence: u64,
    pub(crate) next_sequence: u64,
    pub(crate) manifest_offset: u64,
    pub(crate) tail_offset: u64,
    pub(crate) indexed: u64,
    pub(crate) tail_bytes: u64,
    pub(crate) history_offset: u64,
    pub(crate) frames_hash: Hash,
    /// None of a small commit, which does not store it.
    pub(crate) prev_chain: Option<Hash>,
    pub(crate) chain: Hash,
    pub(crate) prev_digest: Hash,
    pub(crate) frame_count: u64,
    pub(crate) dictionary_offset: u64,
}

impl Commit {
    pub(crate) fn encode(&self) -> [u8; COMMIT_BYTES] {
        let mut out = [0; COMMIT_BYTES];
        let words = [
            self.serial,
            self.number,
            self.time_us as u64,
            self.prev_offset,
            self.begin,
            self.first_sequence,
            self.next_sequence,
            self.manifest_offset,
            self.tail_offset,
            self.indexed,
            self.tail_bytes,
            self.history_offset,
        ];
        for (slot, word) in out.chunks_exact_mut(8).zip(words) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        out[96..128].copy_from_slice(&self.frames_hash);
        out[128..160].copy_from_slice(&self.prev_chain.unwrap_or_default());
        out[160..192].copy_from_slice(&self.chain);
        out[192..224].copy_from_slice(&self.prev_digest);
        out[224..232].copy_from_slice(&self.frame_count.to_le_bytes());
        out[232..240].copy_from_slice(&self.dictionary_offset.to_le_bytes());
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Commit, Damage> {
        if bytes.len() != COMMIT_BYTES || !all_zero(&bytes[240..]) {
            return Err("the commit has a wrong length or bytes where zeros belong");
        }
        if WORDS.into_iter().any(|word| u64_at(bytes, word) > COUNT_MAX) {
            return Err("the commit breaks a limit");
        }
        let commit = Commit {
            serial: u64_at(bytes, 0),
            number: u64_at(bytes, 8),
            time_us: u64_at(bytes, 16) as i64,
            prev_offset: u64_at(bytes, 24),
            begin: u64_at(bytes, 32),
            first_sequence: u64_at(bytes, 40),
            next_sequence: u64_at(bytes, 48),
            manifest_offset: u64_at(bytes, 56),
            tail_offset: u64_at(bytes, 64),
            indexed: u64_at(bytes, 72),
            tail_bytes: u64_at(bytes, 80),
            history_offset: u64_at(bytes, 88),
            frames_hash: hash_at(bytes, 96),
            prev_chain: Some(hash_at(bytes, 128)),
            chain: hash_at(bytes, 160),
            prev_digest: hash_at(bytes, 192),
            frame_count: u64_at(bytes, 224),
            dictionary_offset: u64_at(bytes, 232),
        };
        if commit.first_sequence > commit.next_sequence
            || commit.indexed > commit.next_sequence
            || commit.indexed == 0
        {
            return Err("the commit's sequences contradict each other");
        }
        Ok(commit)
    }
}

/// The chain after a commit of records that have these hashes.
pub(crate) fn chain_of(
    prev: &Hash,
    number: u64,
    time_us: i64,
    first_sequence: u64,
    hashes: &[Hash],
) -> Hash {
    let mut chain = ChainHasher::new(prev, number, time_us, first_sequence, hashes.len() as u64);
    hashes.iter().for_each(|hash| chain.record(hash));
    chain.finish()
}

/// Computes the chain of one commit from the hashes of its records.
pub(crate) struct ChainHasher(blake3::Hasher);

impl ChainHasher {
    pub(crate) fn new(
        prev: &Hash,
        number: u64,
        time_us: i64,
        first_sequence: u64,
        count: u64,
    ) -> ChainHasher {
        let mut hasher = blake3::Hasher::new_derive_key(CHAIN_CONTEXT);
        hasher.update(prev);
        hasher.update(&number.to_le_bytes());
        hasher.update(&time_us.to_le_bytes());
        hasher.update(&first_sequence.to_le_bytes());
        hasher.update(&count.to_le_bytes());
        ChainHasher(hasher)
    }

    pub(crate) fn record(&mut self, record_hash: &Hash) {
        self.0.update(record_hash);
    }

    pub(crate) fn finish(self) -> Hash {
        *self.0.finalize().as_bytes()
    }
}
