//! Re-rankers that run on this machine, from files.

use std::thread;

use kapsa_model::{EmbedError, Model, Reranker};

use crate::cross::{self, Pair};
use crate::weights::{Scorer, Weights};
use crate::wordpiece::{self, Special};

/// A re-ranker that runs on this machine's processor, in this process.
pub struct LocalReranker {
    // Before the bytes that it borrows from: dropped first.
    weights: Weights<'static>,
    special: Special,
    threads: usize,
    _bytes: Box<[u8]>,
}

impl std::fmt::Debug for LocalReranker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalReranker").field("model", &self.weights.model).finish_non_exhaustive()
    }
}

impl LocalReranker {
    /// A model file that [`crate::convert`] made.
    ///
    /// # Errors
    /// When it is damaged, or makes vectors.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<LocalReranker, EmbedError> {
        let hash = *blake3::hash(&bytes).as_bytes();
        LocalReranker::new(bytes, hash)
    }

    /// As [`LocalReranker::from_bytes`], where the BLAKE3 hash of the bytes is known, in
    /// hexadecimal. It is a name of the model and nothing else: hashing a large file takes time.
    ///
    /// # Errors
    /// As there, and when it is no hash.
    pub fn with_hash(bytes: Vec<u8>, hash: &str) -> Result<LocalReranker, EmbedError> {
        let hash = blake3::Hash::from_hex(hash)
            .map_err(|error| EmbedError { message: format!("`{hash}`: {error}"), hint: None })?;
        LocalReranker::new(bytes, *hash.as_bytes())
    }

    fn new(bytes: Vec<u8>, hash: [u8; 32]) -> Result<LocalReranker, EmbedError> {
        let bytes = bytes.into_boxed_slice();
        // SAFETY: `bytes` lives in the same struct as what borrows from it, never changes, and is
        // on the heap, so it does not move.
        #[allow(unsafe_code)]
        let kept: &'static [u8] =
            unsafe { std::slice::from_raw_parts(bytes.as_ptr(), bytes.len()) };
        let weights = Weights::read(kept, hash)?;
        if weights.scorer.is_none() {
            return Err(EmbedError {
                message: format!("{} is a model for vectors, not a re-ranker", weights.model.name),
                hint: None,
            });
        }
        let special = Special::of(&weights)?;
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Ok(LocalReranker { weights, special, threads, _bytes: bytes })
    }

    /// The same, with at most `threads` threads for a call. Default: one for each processor.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> LocalReranker {
        LocalReranker { threads: threads.max(1), ..self }
    }

    fn scorer(&self) -> &Scorer<'static> {
        self.weights.scorer.as_ref().expect("it was looked for when the file was read")
    }

    fn pairs(&self, query: &str, texts: &[&str]) -> Vec<Pair> {
        let most = self.weights.model.tokens_max as usize;
        let numbers = |text: &str| wordpiece::numbers(&self.weights, self.special, text, most);
        let query = numbers(query);
        let pair = |text: &&str| wordpiece::pair(self.special, &query, &numbers(text), most);
        texts.iter().map(pair).collect()
    }
}

impl Reranker for LocalReranker {
    fn model(&self) -> &Model {
        &self.weights.model
    }

    fn score(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>, EmbedError> {
        let pairs = self.pairs(query, texts);
        Ok(cross::logits(&self.weights, self.scorer(), &pairs, self.threads))
    }
}
