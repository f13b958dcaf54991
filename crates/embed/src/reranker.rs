//! Re-rankers that run on this machine, from files.

use std::thread;

use kapsa_model::{EmbedError, Model, Reranker};

use crate::cross::{self, Pair};
use crate::kernel::Processor;
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
        Ok(cross::logits(Processor::best(), &self.weights, self.scorer(), &pairs, self.threads))
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use kapsa_model::{Embedder, Purpose};

    use super::*;
    use crate::LocalEmbedder;
    use crate::weights::{Full, FullLayer, FullScorer, Head, Matrix, Norm};

    const WIDTH: usize = 32;
    /// The real model's file, where it is there: `cargo xtask model --reranker FILE`.
    const REAL: &str = "KAPSA_TEST_RERANKER";

    fn matrix(rows: usize, columns: usize, value: impl FnMut(usize) -> f32) -> Matrix<'static> {
        let values: Vec<f32> = (0..rows * columns).map(value).collect();
        Matrix { rows, columns, values: Cow::Owned(values), step: None }
    }

    /// A model file with two layers of made-up weights.
    fn tiny(reranker: bool) -> Vec<u8> {
        let vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "cat", "dog", "the", "##s", "barks"];
        let vocabulary: Vec<String> = vocabulary.map(str::to_string).to_vec();
        let mut state = 7u32;
        let mut next = |_: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state as f32 / u32::MAX as f32 - 0.5
        };
        let norm = || Norm { weight: vec![1.0; WIDTH], bias: vec![0.1; WIDTH] };
        let mut linear = |rows, columns| (matrix(rows, columns, &mut next), vec![0.05f32; columns]);
        let mut layer = || FullLayer {
            attention: std::array::from_fn(|_| linear(WIDTH, WIDTH)),
            attention_norm: norm(),
            up: linear(WIDTH, 2 * WIDTH),
            down: linear(2 * WIDTH, WIDTH),
            output_norm: norm(),
        };
        let layers = vec![layer(), layer()];
        let pooler = linear(WIDTH, WIDTH);
        let scorer = FullScorer {
            second: (0..WIDTH).map(&mut next).collect(),
            pooler,
            weights: (0..WIDTH).map(&mut next).collect(),
            bias: 0.25,
        };
        let head = Head {
            name: "tiny".into(),
            origin: String::new(),
            query_prefix: String::new(),
            passage_prefix: String::new(),
            hidden: WIDTH,
            layers: 2,
            heads: 4,
            intermediate: 2 * WIDTH,
            vocabulary: vocabulary.len(),
            positions: 16,
            epsilon: 1e-12,
            pooling: "first".into(),
            lower_case: true,
            cosine_floor: 0,
            reranker,
        };
        Full {
            words: matrix(vocabulary.len(), WIDTH, &mut next),
            positions: (0..16 * WIDTH).map(&mut next).collect(),
            embedding_norm: norm(),
            layers,
            scorer: reranker.then_some(scorer),
            vocabulary,
            head,
        }
        .encode()
    }

    fn reranker() -> LocalReranker {
        LocalReranker::from_bytes(tiny(true)).expect("it is whole")
    }

    #[test]
    fn a_question_and_a_text_become_one_sequence() {
        let model = reranker();
        let pairs = model.pairs("the cat", &["dogs barks", "", &"cat ".repeat(30)]);
        assert_eq!(pairs[0].tokens, [2, 6, 4, 3, 5, 7, 8, 3]);
        assert_eq!(pairs[0].second, 4, "the text begins behind the first [SEP]");
        assert_eq!(pairs[1].tokens, [2, 6, 4, 3, 3]);
        assert_eq!((pairs[2].tokens.len(), pairs[2].second), (16, 4));
        // Of a long question too there is no more than half, where the text needs the rest.
        let long = "dog ".repeat(30);
        let both = model.pairs(&long, &[&"cat ".repeat(30), "cat"]);
        assert_eq!((both[0].tokens.len(), both[0].second), (16, 8));
        assert_eq!((both[1].tokens.len(), both[1].second), (16, 14));
    }

    #[test]
    fn a_logit_depends_on_nothing_but_its_pair() {
        let texts = ["dog", "the cat barks", "cats", "", "the dog the dog the dog barks", "zebra"];
        let model = reranker();
        let alone: Vec<f32> = texts
            .iter()
            .map(|text| model.score("the cat", &[text]).expect("it works")[0])
            .collect();
        assert!(alone.iter().all(|logit| logit.is_finite()));
        assert_ne!(alone[0], alone[1]);
        let pairs = model.pairs("the cat", &texts);
        for threads in 1..5 {
            for processor in Processor::all() {
                let (weights, scorer) = (&model.weights, model.scorer());
                let together = cross::logits(processor, weights, scorer, &pairs, threads);
                assert_eq!(together, alone, "{threads} threads");
            }
        }
        assert_ne!(model.score("dog", &["the"]).expect("it works"), [alone[0]]);
        assert!(model.score("the cat", &[]).expect("nothing to do").is_empty());
    }

    /// Read as 32-bit numbers, step by step and without any of what makes it fast.
    #[test]
    fn the_head_makes_the_logit_of_the_first_token() {
        let model = reranker();
        let scorer = model.scorer();
        assert_eq!((model.model().dimension, scorer.bias, scorer.weights.len()), (1, 0.25, WIDTH));
        // Twice the bias and the weights: twice the logit.
        let once = model.score("the cat", &["dog barks"]).expect("it works")[0];
        let mut bytes = tiny(true);
        let numbers = 4 * (WIDTH + 1);
        let at = bytes.len() - numbers;
        for number in bytes[at..].as_chunks_mut::<4>().0 {
            *number = (2.0 * f32::from_le_bytes(*number)).to_le_bytes();
        }
        let twice = LocalReranker::from_bytes(bytes).expect("it is whole");
        let twice = twice.score("the cat", &["dog barks"]).expect("it works")[0];
        assert!((twice - 2.0 * once).abs() < 1e-5, "{twice} is not twice {once}");
    }

    #[test]
    fn a_model_for_vectors_is_no_reranker_and_the_other_way_round() {
        let (embedder, bytes) = (tiny(false), tiny(true));
        assert!(!crate::is_reranker(&embedder) && crate::is_reranker(&bytes));
        let error = LocalReranker::from_bytes(embedder.clone()).expect_err("it makes vectors");
        assert!(error.message.contains("is a model for vectors"), "{error}");
        let error = LocalEmbedder::from_bytes(bytes.clone().into()).expect_err("it makes none");
        assert!(error.message.contains("is a re-ranker"), "{error}");
        let embedder = LocalEmbedder::from_bytes(embedder.into()).expect("it is whole");
        assert_eq!(embedder.embed(&["cat"], Purpose::Query).expect("it works")[0].len(), WIDTH);
        let cut = bytes[..bytes.len() - 4].to_vec();
        let error = LocalReranker::from_bytes(cut).expect_err("it is cut");
        assert!(error.message.contains("cut short"), "{error}");
        let mut other = bytes;
        other[8] = 1;
        let error = LocalReranker::from_bytes(other).expect_err("its version is another");
        assert!(error.message.contains("does not fit its version"), "{error}");
    }

    /// Logits of the same weights in 32-bit floating point (`onnxruntime` 1.32); the original,
    /// whose activations have 8 bits for all tokens together, is up to 0.9 away from them.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the file is not in the repository")]
    fn logits_are_near_those_of_the_original_model() {
        let Some(file) = std::env::var_os(REAL) else { return };
        let model = LocalReranker::from_bytes(std::fs::read(file).expect("a file"));
        let model = model.expect("it is whole");
        let right = [
            (
                "which port does the staging database use?",
                "Staging listens on port 5434 since Monday.",
                6.1475,
            ),
            (
                "When did Melanie paint a sunrise?",
                "Melanie: Yeah, I painted that lake sunrise last year! It's special to me.",
                5.0022,
            ),
            ("why is CI red", "red is my favourite colour", -8.0417),
            (
                "which port does the staging database use?",
                "ana: the cat sleeps on the sofa",
                -11.3023,
            ),
        ];
        for (query, text, logit) in right {
            let found = model.score(query, &[text]).expect("it works")[0];
            assert!((found - logit).abs() < 0.15, "{query} / {text}: {found}");
        }
    }
}
