//! Models that run on this machine: the bundled one, and those from files.

use std::ops::Range;
use std::sync::Arc;
use std::thread;

use kapsa_model::{EmbedError, Embedder, Model, Piece, Purpose, cut};

use crate::kernel::Processor;
use crate::share::share;
use crate::weights::Weights;
use crate::wordpiece::{self, Special};
use crate::{bert, bulk};

/// The bundled model, as `cargo xtask model` made it.
static BUNDLED: &[u8] = include_bytes!("../assets/paraphrase-MiniLM-L3-v2.kmodel");
/// Its BLAKE3 hash: hashing 18 MB at each start would take longer than a question.
const BUNDLED_HASH: &str = "06f3c3e966de4a63461e805d602eeebb4638719aa2888d6e6324e8798c11e880";
/// Most tokens of a passage: these models were trained on as many, and the time grows with the
/// square.
const PASSAGE_TOKENS_MAX: usize = 126;
/// Tokens that a passage shares with the previous one.
const OVERLAP_TOKENS: usize = 24;
/// So many texts are never shared, each of them, by the threads: their waiting for each other would
/// take longer.
const TEXTS_FOR_ALL_MIN: usize = 8;
/// Texts that a thread cuts into tokens before it takes others.
const TEXTS_PER_PART: usize = 16;

/// A model that runs on this machine's processor, in this process.
pub struct LocalEmbedder {
    // Before the bytes that it borrows from: dropped first.
    weights: Weights<'static>,
    special: Special,
    threads: usize,
    _bytes: Option<Arc<[u8]>>,
}

impl std::fmt::Debug for LocalEmbedder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalEmbedder").field("model", &self.weights.model).finish_non_exhaustive()
    }
}

impl LocalEmbedder {
    /// The bundled model. Nothing is copied or unpacked: it is ready at once.
    ///
    /// # Errors
    /// Only when the program's own bytes are damaged.
    pub fn bundled() -> Result<LocalEmbedder, EmbedError> {
        let hash = blake3::Hash::from_hex(BUNDLED_HASH).map_or([0; 32], |hash| *hash.as_bytes());
        Self::new(Weights::read(BUNDLED, hash)?, None)
    }

    /// A model file that [`crate::convert`] made.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn from_bytes(bytes: Arc<[u8]>) -> Result<LocalEmbedder, EmbedError> {
        let hash = *blake3::hash(&bytes).as_bytes();
        // SAFETY: `bytes` lives in the same struct as what borrows from it, never changes, and is
        // on the heap, so it does not move.
        #[allow(unsafe_code)]
        let kept: &'static [u8] =
            unsafe { std::slice::from_raw_parts(bytes.as_ptr(), bytes.len()) };
        Self::new(Weights::read(kept, hash)?, Some(bytes))
    }

    fn new(
        weights: Weights<'static>,
        bytes: Option<Arc<[u8]>>,
    ) -> Result<LocalEmbedder, EmbedError> {
        if weights.scorer.is_some() {
            return Err(EmbedError {
                message: format!("{} is a re-ranker, it makes no vectors", weights.model.name),
                hint: Some("kapsa find --rerank uses it".into()),
            });
        }
        let special = Special::of(&weights)?;
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Ok(LocalEmbedder { weights, special, threads, _bytes: bytes })
    }

    /// The same, with at most `threads` threads for a call. Default: one for each processor.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> LocalEmbedder {
        LocalEmbedder { threads: threads.max(1), ..self }
    }

    fn tokens(&self, text: &str, prefix: &str) -> Vec<u32> {
        let most = self.weights.model.tokens_max as usize;
        wordpiece::framed(&self.weights, self.special, prefix, text, most)
    }
}

impl Embedder for LocalEmbedder {
    fn model(&self) -> &Model {
        &self.weights.model
    }

    fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let model = &self.weights.model;
        let prefix =
            if purpose == Purpose::Query { &model.query_prefix } else { &model.passage_prefix };
        let (weights, processor) = (&self.weights, Processor::best());
        if texts.len() < self.threads.min(TEXTS_FOR_ALL_MIN) {
            // Too few to give each thread its own: the threads share each of them.
            let one = |text: &&str| {
                bert::encode(processor, weights, &self.tokens(text, prefix), self.threads)
            };
            return Ok(texts.iter().map(one).collect());
        }
        let parts: Vec<&[&str]> = texts.chunks(TEXTS_PER_PART).collect();
        let cut = |(): &mut (), part: &&[&str]| -> Vec<Vec<u32>> {
            part.iter().map(|text| self.tokens(text, prefix)).collect()
        };
        let tokens = share(&parts, self.threads, || (), cut).concat();
        Ok(bulk::encode_all(processor, weights, &tokens, self.threads))
    }

    fn passages(&self, text: &str) -> Vec<Range<usize>> {
        let mut pieces: Vec<Piece> = Vec::new();
        wordpiece::tokens(&self.weights, self.special, text, &mut |token| {
            match pieces.last_mut() {
                Some(last) if last.range == token.word => last.tokens += 1,
                _ => pieces.push(Piece { range: token.word, tokens: 1 }),
            }
            true
        });
        cut(
            text,
            &pieces,
            PASSAGE_TOKENS_MAX
                .min((self.weights.model.tokens_max as usize).saturating_sub(2))
                .max(1),
            OVERLAP_TOKENS,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The larger embedder's file, where it is there: `cargo xtask model --embedder FILE`.
    const LARGER: &str = "KAPSA_TEST_EMBEDDER";

    fn bundled() -> LocalEmbedder {
        LocalEmbedder::bundled().expect("it works")
    }

    fn processors_and_threads() -> impl Iterator<Item = (usize, Processor)> {
        Processor::all()
            .into_iter()
            .flat_map(|processor| [1, 3].map(|threads| (threads, processor)))
    }

    fn dot(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn the_hash_is_of_the_model_that_comes_with_the_program() {
        assert_eq!(blake3::hash(BUNDLED).to_hex().as_str(), BUNDLED_HASH);
        let model = bundled();
        assert_eq!((model.model().dimension, model.model().tokens_max), (384, 256));
    }

    /// Numbers from the reference tokenizer of this vocabulary (`tokenizers` 0.22).
    #[test]
    fn texts_are_cut_into_the_tokens_of_the_reference() {
        let model = bundled();
        let right: [(&str, &[u32]); 8] = [
            (
                "don't stop; $5.00",
                &[101, 2123, 1005, 1056, 2644, 1025, 1002, 1019, 1012, 4002, 102],
            ),
            ("naïve CAFÉ", &[101, 15743, 7668, 102]),
            ("東京 tower", &[101, 1879, 1755, 3578, 102]),
            ("getUserName_42", &[101, 2131, 20330, 18442, 1035, 4413, 102]),
            ("🎉 ok", &[101, 100, 7929, 102]),
            ("unbelievableness\u{200b}x", &[101, 23653, 2791, 2595, 102]),
            (&"a".repeat(101), &[101, 100, 102]),
            (" \n", &[101, 102]),
        ];
        for (text, numbers) in right {
            assert_eq!(
                wordpiece::framed(&model.weights, model.special, "", text, 256),
                numbers,
                "{text}"
            );
        }
        assert_eq!(
            wordpiece::framed(&model.weights, model.special, "", &"word ".repeat(1000), 256).len(),
            256
        );
    }

    /// Cosines by the original model in 32-bit floating point (`onnxruntime` 1.23).
    #[test]
    fn vectors_are_near_those_of_the_original_model() {
        let right = [
            ("How do I reset my password?", "Steps to recover a forgotten login", 0.4989),
            ("How do I reset my password?", "The cat sleeps on the sofa", -0.0337),
            ("the build fails on the server", "CI is red since yesterday", 0.0884),
            ("Où est la bibliothèque?", "Where is the library?", 0.0628),
            ("getUserName() throws CS0854", "compiler error CS0854 in getUserName", 0.7930),
        ];
        let model = bundled();
        for (a, b, cosine) in right {
            let vectors = model.embed(&[a, b], Purpose::Passage).expect("it works");
            assert!((dot(&vectors[0], &vectors[0]) - 1.0).abs() < 1e-5);
            let found = dot(&vectors[0], &vectors[1]);
            assert!((found - cosine).abs() < 0.01, "{a} / {b}: {found}");
        }
    }

    /// Cosines of the same weights in 32-bit floating point (NumPy): the first token's vector of a
    /// question with its prefix, and of a passage. The original, whose activations have 8 bits for
    /// all tokens together (`onnxruntime` 1.32), is up to 0.014 away from them.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the file is not in the repository")]
    fn vectors_of_the_larger_embedder_are_near_those_of_the_original_model() {
        let Some(file) = std::env::var_os(LARGER) else { return };
        let model = LocalEmbedder::from_bytes(std::fs::read(file).expect("a file").into());
        let model = model.expect("it is whole");
        assert_eq!(model.model().cosine_floor, 42);
        let right = [
            ("How do I reset my password?", "Steps to recover a forgotten login", 0.7135),
            ("How do I reset my password?", "The cat sleeps on the sofa", 0.2588),
            ("the build fails on the server", "CI is red since yesterday", 0.4586),
            ("Où est la bibliothèque?", "Where is the library?", 0.6395),
            ("getUserName() throws CS0854", "compiler error CS0854 in getUserName", 0.9248),
        ];
        for (question, passage, cosine) in right {
            let [of_question, of_passage] =
                [(question, Purpose::Query), (passage, Purpose::Passage)].map(|(text, purpose)| {
                    model.embed(&[text], purpose).expect("it works").remove(0)
                });
            let found = dot(&of_question, &of_passage);
            assert!((found - cosine).abs() < 0.01, "{question} / {passage}: {found}");
        }
    }

    #[test]
    fn every_processor_and_every_number_of_threads_gives_the_same_bits() {
        let model = bundled().with_threads(3);
        let texts: Vec<String> = (1..20).map(|n| "who wrote the tests? ".repeat(n)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let together = model.embed(&texts, Purpose::Query).expect("it works");
        for (text, vector) in texts.iter().zip(&together) {
            let tokens = model.tokens(text, "");
            for (threads, processor) in processors_and_threads() {
                let alone = bert::encode(processor, &model.weights, &tokens, threads);
                assert_eq!(&alone, vector);
            }
        }
        let tokens: Vec<Vec<u32>> = texts.iter().map(|text| model.tokens(text, "")).collect();
        for (threads, processor) in processors_and_threads() {
            let all = bulk::encode_all(processor, &model.weights, &tokens, threads);
            assert_eq!(all, together, "{threads} threads");
        }
        let bytes: Vec<u8> = together.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(
            blake3::hash(&bytes).to_hex().as_str(),
            "7636dac52f6b74ca787836248553e399f14325a7463ee4aec8173dbe2bd9f5a5"
        );
    }

    #[test]
    fn a_damaged_model_file_is_refused() {
        let refused = |bytes: Vec<u8>| {
            LocalEmbedder::from_bytes(bytes.into()).expect_err("it is refused").message
        };
        assert!(refused(b"GGUF....".to_vec()).contains("it is not a model file"));
        assert!(refused(BUNDLED[..BUNDLED.len() - 1].to_vec()).contains("cut short"));
        assert!(refused([BUNDLED, b"x"].concat()).contains("longer than its head says"));
        let head = String::from_utf8_lossy(&BUNDLED[16..400]).into_owned();
        let at = 16 + head.find("\"heads\":12").expect("it works");
        let mut odd = BUNDLED.to_vec();
        odd[at + 8..at + 10].copy_from_slice(b"13");
        assert!(refused(odd).contains("do not fit"));
    }
}
