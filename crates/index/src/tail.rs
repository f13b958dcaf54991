//! The records that are not in a segment yet, in a form that can be searched.
//!
//! A tail document keeps a 64-bit hash of each term instead of the term: the tail holds a few
//! hundred documents, so two of their terms sharing a hash is not a case worth bytes.

use std::sync::Arc;

use tantivy::fieldnorm::FieldNormReader;
use xxhash_rust::xxh3::xxh3_64;

use crate::analyser::{Wanted, with_analyser};
use crate::filter::Filter;
use crate::query::Query;
use crate::schema::{Document, exact_term};

/// Hash by which a tail document knows a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TermHash(u64);

impl TermHash {
    pub(crate) fn of(term: &str) -> TermHash {
        TermHash(xxh3_64(term.as_bytes()))
    }
}

/// A record that is not in a segment yet. Cloning is cheap.
///
/// The tail is read in full by every query: keep it to a few hundred records. Only words that may
/// be the query's are taken apart, so that reading costs little more than finding where words
/// begin.
#[derive(Debug, Clone)]
pub struct TailDoc(Arc<Held>);

#[derive(Debug)]
struct Held {
    seq: u64,
    title: String,
    text: String,
    terms: Vec<String>,
    key_hash: u64,
    time_us: i64,
}

impl TailDoc {
    /// Keeps the record with sequence number `seq`.
    pub fn new(seq: u64, document: &Document<'_>) -> TailDoc {
        let Document { title, text, terms, key_hash, time_us } = *document;
        TailDoc(Arc::new(Held {
            seq,
            title: title.to_owned(),
            text: text.to_owned(),
            terms: terms.to_vec(),
            key_hash,
            time_us,
        }))
    }

    fn document(&self) -> Document<'_> {
        let Held { title, text, terms, key_hash, time_us, .. } = &*self.0;
        Document { title, text, terms, key_hash: *key_hash, time_us: *time_us }
    }

    /// What `query` may ask of it.
    pub(crate) fn analysed(&self, query: &Query, filter: &Filter) -> TailWords<'_> {
        let asked = || query.must.iter().chain(&query.should).chain(&query.must_not);
        let wanted = Wanted::like(asked().map(String::as_str));
        let mut words: Vec<_> = asked().map(|word| (TermHash::of(word), 0)).collect();
        words.sort_unstable();
        words.dedup();
        let document = self.document();
        let mut tokens = 0;
        with_analyser(|analyser| {
            for (value, times) in document.weighted_texts() {
                let mut sent = 0;
                let skipped = analyser.analyse_wanted(value, &wanted, &mut |term| {
                    sent += 1;
                    let hash = TermHash::of(term.text);
                    if let Ok(at) = words.binary_search_by_key(&hash, |&(hash, _)| hash) {
                        words[at].1 += times;
                    }
                });
                tokens += (sent + skipped) * times;
            }
        });
        let mut terms = Vec::new();
        if !(query.filter.is_empty() && filter.is_empty()) {
            document.for_each_term(|term| terms.push(TermHash::of(term)));
        }
        terms.sort_unstable();
        TailWords { doc: self, words, tokens, terms }
    }

    /// Calls `sink` with each word of title and text, as it is indexed.
    pub(crate) fn for_each_word(&self, sink: &mut dyn FnMut(&str)) {
        with_analyser(|analyser| {
            for (value, _) in self.document().weighted_texts() {
                analyser.analyse(value, &mut |term| sink(term.text));
            }
        });
    }

    /// Calls `sink` with each exact term, as it is indexed.
    pub(crate) fn for_each_term(&self, sink: impl FnMut(&str)) {
        self.document().for_each_term(sink);
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
}

/// A tail document as one query sees it.
pub(crate) struct TailWords<'a> {
    pub(crate) doc: &'a TailDoc,
    /// The query's words, with how often they occur in title and text, sorted.
    words: Vec<(TermHash, u32)>,
    tokens: u32,
    /// Exact terms, sorted; none when nothing asks for them.
    terms: Vec<TermHash>,
}

impl TailWords<'_> {
    /// Terms in title and text.
    pub(crate) fn tokens(&self) -> u64 {
        u64::from(self.tokens)
    }

    pub(crate) fn fieldnorm_id(&self) -> u8 {
        FieldNormReader::fieldnorm_to_id(self.tokens)
    }

    pub(crate) fn has_word(&self, word: TermHash) -> bool {
        self.frequency(word) > 0
    }

    pub(crate) fn has_term(&self, term: TermHash) -> bool {
        self.terms.binary_search(&term).is_ok()
    }

    /// How often a word occurs.
    pub(crate) fn frequency(&self, word: TermHash) -> u32 {
        let words = &self.words;
        words.binary_search_by_key(&word, |&(hash, _)| hash).map_or(0, |at| words[at].1)
    }
}

/// The hash of an exact term.
pub(crate) fn hashed_term(term: &str) -> TermHash {
    TermHash::of(&exact_term(term))
}
