//! The records that are not in a segment yet, in a form that can be searched.
//!
//! A tail document keeps a 64-bit hash of each term instead of the term: the tail holds a few
//! hundred documents, so two of their terms sharing a hash is not a case worth bytes.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

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
/// begin. Where many queries read the same document, all its words are kept.
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
    /// How many queries have read its words.
    reads: AtomicU32,
    words: OnceLock<WordCounts>,
    /// Its exact terms, sorted.
    hashed_terms: OnceLock<Vec<TermHash>>,
}

/// WordCounts of title and text.
#[derive(Debug)]
struct WordCounts {
    /// Each with how often it occurs, sorted.
    times: Vec<(TermHash, u32)>,
    tokens: u32,
}

impl WordCounts {
    /// How often a word occurs.
    fn frequency(&self, word: TermHash) -> u32 {
        let times = &self.times;
        times.binary_search_by_key(&word, |&(hash, _)| hash).map_or(0, |at| times[at].1)
    }
}

/// Queries that take a document's words apart, each those it may ask for; the next one keeps all.
const READS_MAX: u32 = 3;

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
            reads: AtomicU32::new(0),
            words: OnceLock::new(),
            hashed_terms: OnceLock::new(),
        }))
    }

    fn document(&self) -> Document<'_> {
        let Held { title, text, terms, key_hash, time_us, .. } = &*self.0;
        Document { title, text, terms, key_hash: *key_hash, time_us: *time_us }
    }

    /// What `query` may ask of it.
    pub(crate) fn analysed(&self, query: &Query, filter: &Filter) -> TailWords<'_> {
        let asked = || query.must.iter().chain(&query.should).chain(&query.must_not);
        let mut times: Vec<_> = asked().map(|word| (TermHash::of(word), 0)).collect();
        times.sort_unstable();
        times.dedup();
        let words = match self.words() {
            Some(all) => {
                times.iter_mut().for_each(|(word, times)| *times = all.frequency(*word));
                WordCounts { times, tokens: all.tokens }
            }
            None => self.count(times, &Wanted::like(asked().map(String::as_str))),
        };
        let is_filtered = !(query.filter.is_empty() && filter.is_empty());
        let terms = if is_filtered { self.hashed_terms() } else { &[] };
        TailWords { doc: self, words, terms }
    }

    /// Counts the words of `times`, which are among those wanted, and all tokens.
    fn count(&self, mut times: Vec<(TermHash, u32)>, wanted: &Wanted) -> WordCounts {
        let document = self.document();
        let mut tokens = 0;
        with_analyser(|analyser| {
            for (value, weight) in document.weighted_texts() {
                let mut sent = 0;
                let skipped = analyser.analyse_wanted(value, wanted, &mut |term| {
                    sent += 1;
                    let hash = TermHash::of(term.text);
                    if let Ok(at) = times.binary_search_by_key(&hash, |&(hash, _)| hash) {
                        times[at].1 += weight;
                    }
                });
                tokens += (sent + skipped) * weight;
            }
        });
        WordCounts { times, tokens }
    }

    /// All its words, once enough queries have read it.
    fn words(&self) -> Option<&WordCounts> {
        if let Some(words) = self.0.words.get() {
            return Some(words);
        }
        (self.0.reads.fetch_add(1, Ordering::Relaxed) >= READS_MAX).then(|| {
            self.0.words.get_or_init(|| {
                let mut all = Vec::new();
                self.for_each_word(&mut |word| all.push((TermHash::of(word), 0)));
                all.sort_unstable();
                all.dedup();
                let counted = self.count(all, &Wanted::all());
                assert!(counted.times.iter().all(|&(_, times)| times > 0), "each word is there");
                counted
            })
        })
    }

    fn hashed_terms(&self) -> &[TermHash] {
        self.0.hashed_terms.get_or_init(|| {
            let mut terms = Vec::new();
            self.for_each_term(|term| terms.push(TermHash::of(term)));
            terms.sort_unstable();
            terms
        })
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
    /// The query's words.
    words: WordCounts,
    /// Exact terms, sorted; none when nothing asks for them.
    terms: &'a [TermHash],
}

impl TailWords<'_> {
    /// Terms in title and text.
    pub(crate) fn tokens(&self) -> u64 {
        u64::from(self.words.tokens)
    }

    pub(crate) fn fieldnorm_id(&self) -> u8 {
        FieldNormReader::fieldnorm_to_id(self.words.tokens)
    }

    pub(crate) fn has_word(&self, word: TermHash) -> bool {
        self.frequency(word) > 0
    }

    pub(crate) fn has_term(&self, term: TermHash) -> bool {
        self.terms.binary_search(&term).is_ok()
    }

    /// How often a word occurs.
    pub(crate) fn frequency(&self, word: TermHash) -> u32 {
        self.words.frequency(word)
    }
}

/// The hash of an exact term.
pub(crate) fn hashed_term(term: &str) -> TermHash {
    TermHash::of(&exact_term(term))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_says_the_same_however_often_it_is_read() {
        let terms = ["kind:note".to_owned()];
        let document = Document {
            title: "Crane and crane",
            text: "The harbour's crane lifts getUserName() ropes; rope, rope 東京都 5433.",
            terms: &terms,
            key_hash: 1,
            time_us: 2,
        };
        let filter = Filter { all: vec![vec!["kind:note".to_owned()]], ..Filter::default() };
        let often = TailDoc::new(7, &document);
        let queries = ["rope", "crane +harbour", "getUserName -tide", "東京", "absent 5433", ""];
        for query in queries.iter().cycle().take(4 * queries.len()) {
            let query = Query::parse(query).expect("a query");
            let once = TailDoc::new(7, &document);
            let (once, often) = (once.analysed(&query, &filter), often.analysed(&query, &filter));
            assert_eq!(once.words.times, often.words.times);
            assert_eq!((once.tokens(), once.terms), (often.tokens(), often.terms));
        }
        assert!(often.0.words.get().is_some(), "its words are kept");
    }
}
