//! How is a record searched that is not in a segment yet?
//!
//! A tail document keeps a 64-bit hash of each term instead of the term: the tail holds a few
//! hundred documents, so two of their terms sharing a hash is not a case worth bytes.

use std::sync::Arc;

use tantivy::fieldnorm::FieldNormReader;
use xxhash_rust::xxh3::xxh3_64;

use crate::analyser::with_analyser;
use crate::query::Clause;
use crate::schema::{Document, exact_term};

/// Positions left free between title and text, as tantivy does between two values of a field.
const POSITION_GAP: u32 = 1;

/// Hash by which a tail document knows a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TermHash(u64);

impl TermHash {
    pub(crate) fn of(term: &str) -> TermHash {
        TermHash(xxh3_64(term.as_bytes()))
    }
}

/// A record that is not in a segment yet, analysed once. Cloning is cheap.
///
/// The tail is searched in full by every query: keep it to a few hundred records.
#[derive(Debug, Clone)]
pub struct TailDoc(Arc<Prepared>);

#[derive(Debug)]
struct Prepared {
    seq: u64,
    /// Terms of title and text with their positions, sorted.
    words: Vec<(TermHash, u32)>,
    /// Exact terms, sorted.
    terms: Vec<TermHash>,
    key_hash: u64,
    time_us: i64,
}

impl TailDoc {
    /// Analyses the record with sequence number `seq`.
    pub fn new(seq: u64, document: &Document<'_>) -> TailDoc {
        let mut words = Vec::new();
        let mut start = 0;
        for value in document.text_values() {
            let mut end = start;
            with_analyser(|analyser| {
                analyser.analyse(value, &mut |term| {
                    let position = start + term.position;
                    words.push((TermHash::of(term.text), position));
                    end = end.max(position + 1);
                });
            });
            start = end + POSITION_GAP;
        }
        words.sort_unstable();
        let mut terms = Vec::new();
        document.for_each_term(|term| terms.push(TermHash::of(term)));
        terms.sort_unstable();
        let Document { key_hash, time_us, .. } = *document;
        TailDoc(Arc::new(Prepared { seq, words, terms, key_hash, time_us }))
    }

    /// Its sequence number.
    pub fn seq(&self) -> u64 {
        self.0.seq
    }

    pub(crate) fn key_hash(&self) -> u64 {
        self.0.key_hash
    }

    pub(crate) fn time_us(&self) -> i64 {
        self.0.time_us
    }

    /// Terms in title and text.
    pub(crate) fn tokens(&self) -> u64 {
        self.0.words.len() as u64
    }

    pub(crate) fn fieldnorm_id(&self) -> u8 {
        FieldNormReader::fieldnorm_to_id(u32::try_from(self.0.words.len()).unwrap_or(u32::MAX))
    }

    pub(crate) fn has_word(&self, word: TermHash) -> bool {
        !self.positions(word).is_empty()
    }

    pub(crate) fn has_term(&self, term: TermHash) -> bool {
        self.0.terms.binary_search(&term).is_ok()
    }

    /// How often the words of `clause` occur, in their order.
    pub(crate) fn frequency(&self, words: &[(u32, TermHash)]) -> u32 {
        let Some((&(first_offset, first), rest)) = words.split_first() else {
            return 0;
        };
        let follows = |start: u32| {
            rest.iter().all(|&(offset, word)| {
                let position = start + (offset - first_offset);
                self.0.words.binary_search(&(word, position)).is_ok()
            })
        };
        self.positions(first).iter().filter(|&&(_, start)| follows(start)).count() as u32
    }

    fn positions(&self, word: TermHash) -> &[(TermHash, u32)] {
        let words = &self.0.words;
        let start = words.partition_point(|&(other, _)| other < word);
        let len = words[start..].partition_point(|&(other, _)| other == word);
        &words[start..start + len]
    }
}

/// The words of a clause by hash.
pub(crate) fn hashed(clause: &Clause) -> Vec<(u32, TermHash)> {
    clause.words.iter().map(|(offset, word)| (*offset, TermHash::of(word))).collect()
}

/// The hash of an exact term.
pub(crate) fn hashed_term(term: &str) -> TermHash {
    TermHash::of(&exact_term(term))
}
