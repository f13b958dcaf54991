//! What a query comes to, given the statistics of all segments and the tail.
//!
//! The score of a document is the sum of its words' BM25 scores, in the order of the plan. That
//! order, and statistics over everything, make a record's score independent of where it is stored,
//! to the last bit.

use std::collections::HashMap;
use std::sync::LazyLock;

use tantivy::postings::TermInfo;
use tantivy::query::{Bm25StatisticsProvider, Bm25Weight, EnableScoring, TermQuery};
use tantivy::query::{BooleanQuery, Occur, Query as _, Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Index, ReloadPolicy, Term};

use crate::directory::damaged;
use crate::error::Result;
use crate::filter::Filter;
use crate::query::{QUERY_TERMS_MAX, Query};
use crate::reader::{Reader, text_term};
use crate::schema::SCHEMA;
use crate::scope::{Scope, Scoped};
use crate::tail::{TailWords, TermHash};
use crate::terms::{LookUp, finish};

/// A query against one state of the index.
pub(crate) struct Plan {
    /// Required words, then optional ones.
    pub(crate) words: Vec<PlannedWord>,
    /// How many of the words are required.
    pub(crate) musts: usize,
    pub(crate) must_nots: Vec<String>,
    pub(crate) filter: Filter,
    statistics: Statistics,
    /// All words as one tantivy query, if it can prune: all optional, or all required.
    pub(crate) pruning: Option<Box<dyn Weight>>,
}

pub(crate) struct PlannedWord {
    pub(crate) word: String,
    pub(crate) hash: TermHash,
    pub(crate) weight: Bm25Weight,
}

/// Where the words of a plan are in one segment, by word.
pub(crate) type WordInfos = HashMap<String, TermInfo>;

/// BM25 statistics over all segments and the tail, as far as they lie before a sequence number.
///
/// Counts of documents are exact. The tokens of a segment that goes beyond the number are taken to
/// be spread evenly.
pub(crate) struct Statistics {
    seqs_end: u64,
    pub(crate) documents: u64,
    pub(crate) tokens: u64,
    pub(crate) doc_freqs: HashMap<String, u64>,
}

/// Planning: the plan and, for each segment, where its words are. The statistics are those of the
/// documents in scope.
pub(crate) fn plan(
    query: &Query,
    filter: &Filter,
    scope: Option<&dyn Scope>,
    readers: &[&Reader],
    tail: &[TailWords<'_>],
) -> Result<(Plan, Vec<WordInfos>)> {
    let seqs_end = filter.seqs_end();
    let mut statistics = Statistics::new(seqs_end, readers, tail);
    let infos = statistics.count(query, readers, tail)?;
    if let Some(scope) = scope {
        statistics.narrow(&Scoped { scope, seqs_end, readers, tail }, &infos)?;
    }
    let shoulds = statistics.rarest(&query.should);
    let words: Result<Vec<PlannedWord>> =
        query.must.iter().chain(shoulds).map(|word| statistics.planned(word)).collect();
    let mut plan = Plan {
        words: words?,
        musts: query.must.len(),
        must_nots: query.must_not.clone(),
        filter: filter.and(&query.filter),
        statistics,
        pruning: None,
    };
    assert!(
        plan.musts <= plan.words.len() && infos.len() == readers.len(),
        "required words come first, places for each segment"
    );
    plan.pruning = plan.pruning_weight()?;
    Ok((plan, infos))
}

impl Statistics {
    fn new(seqs_end: u64, readers: &[&Reader], tail: &[TailWords<'_>]) -> Statistics {
        let (mut documents, mut tokens) =
            (tail.len() as u64, tail.iter().map(TailWords::tokens).sum::<u64>());
        for reader in readers {
            let before = u64::from(reader.documents_before(seqs_end));
            documents += before;
            tokens += (u128::from(reader.tokens()) * u128::from(before)
                / u128::from(reader.documents().max(1))) as u64;
        }
        Statistics { seqs_end, documents, tokens, doc_freqs: HashMap::new() }
    }

    /// Looks up every word of the query, everywhere.
    fn count(
        &mut self,
        query: &Query,
        readers: &[&Reader],
        tail: &[TailWords<'_>],
    ) -> Result<Vec<WordInfos>> {
        let mut words: Vec<&String> =
            query.must.iter().chain(&query.should).chain(&query.must_not).collect();
        words.sort_unstable();
        words.dedup();
        let look_ups =
            words.iter().flat_map(|word| readers.iter().map(|reader| reader.look_up(word)));
        let mut look_ups: Vec<LookUp<'_>> = look_ups.collect();
        finish(&mut look_ups)?;
        assert_eq!(
            look_ups.len(),
            words.len() * readers.len(),
            "each word is looked up in each segment"
        );
        let mut look_ups = look_ups.into_iter();
        let mut infos: Vec<WordInfos> = readers.iter().map(|_| HashMap::new()).collect();
        for word in words {
            let hash = TermHash::of(word);
            let mut doc_freq = tail.iter().filter(|doc| doc.has_word(hash)).count() as u64;
            for ((reader, infos), look_up) in readers.iter().zip(&mut infos).zip(look_ups.by_ref())
            {
                if let Some(info) = look_up.into_found() {
                    reader.will_read(&info);
                    doc_freq += u64::from(reader.doc_freq_before(&info, self.seqs_end)?);
                    infos.insert(word.clone(), info);
                }
            }
            self.doc_freqs.insert(word.clone(), doc_freq);
        }
        debug_assert!(look_ups.as_slice().is_empty(), "every look-up was used");
        Ok(infos)
    }

    /// The words that can match at all, at most [`QUERY_TERMS_MAX`], the rarest if there are more.
    fn rarest<'a>(&self, words: &'a [String]) -> impl Iterator<Item = &'a String> {
        let mut ranked: Vec<(u64, usize)> =
            words.iter().map(|word| self.doc_freqs[word]).zip(0..).collect();
        ranked.retain(|&(doc_freq, _)| doc_freq > 0);
        ranked.sort_unstable();
        ranked.truncate(QUERY_TERMS_MAX);
        debug_assert!(ranked.len() <= QUERY_TERMS_MAX, "no more words are ranked by");
        ranked.sort_unstable_by_key(|&(_, ord)| ord);
        ranked.into_iter().map(|(_, ord)| &words[ord])
    }

    fn planned(&self, word: &str) -> Result<PlannedWord> {
        let weight = Bm25Weight::for_terms(self, &[text_term(word)]).map_err(damaged)?;
        Ok(PlannedWord { word: word.to_owned(), hash: TermHash::of(word), weight })
    }

    fn scoring(&self) -> EnableScoring<'_> {
        EnableScoring::enabled_from_statistics_provider(self, &NO_SEARCHER)
    }
}

impl Plan {
    /// How much a word tells, from how few documents have it: the inverse document frequency of
    /// BM25 (Robertson and Zaragoza, 2009).
    pub(crate) fn rarity(&self, word: &str) -> f32 {
        let (all, with) = (
            self.statistics.documents as f32,
            *self.statistics.doc_freqs.get(word).unwrap_or(&0) as f32,
        );
        let rarity = (1.0 + (all - with + 0.5).max(0.0) / (with + 0.5)).ln();
        debug_assert!(rarity >= 0.0 && rarity.is_finite(), "no word tells less than nothing");
        rarity
    }

    pub(crate) fn mean_tokens(&self) -> f32 {
        self.statistics.tokens as f32 / self.statistics.documents.max(1) as f32
    }

    fn pruning_weight(&self) -> Result<Option<Box<dyn Weight>>> {
        let uniform = self.musts == 0 || self.musts == self.words.len();
        if self.words.is_empty() || !uniform {
            return Ok(None);
        }
        let occur = if self.musts == 0 { Occur::Should } else { Occur::Must };
        let queries = self.words.iter().map(|planned| {
            let query = TermQuery::new(text_term(&planned.word), IndexRecordOption::WithFreqs);
            (occur, Box::new(query) as Box<dyn tantivy::query::Query>)
        });
        let query = BooleanQuery::new(queries.collect());
        query.weight(self.statistics.scoring()).map(Some).map_err(damaged)
    }
}

impl Bm25StatisticsProvider for Statistics {
    fn total_num_tokens(&self, _field: Field) -> tantivy::Result<u64> {
        Ok(self.tokens)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.documents)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        let value = term.value();
        let word = value.as_str().unwrap_or_default();
        Ok(self.doc_freqs.get(word).copied().unwrap_or(0))
    }
}

/// tantivy asks for a searcher although [`Statistics`] answers everything; this one has nothing.
static NO_SEARCHER: LazyLock<tantivy::Searcher> = LazyLock::new(|| {
    let index = Index::create_in_ram(SCHEMA.clone());
    let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into();
    let reader: tantivy::IndexReader = reader.expect("an empty index in memory opens");
    reader.searcher()
});
