//! What the search must find, worked out the slow way.

use std::collections::HashSet;

use kapsa_index::{Filter, Hit};

use crate::corpus::Record;

const K1: f32 = 1.2;
const B: f32 = 0.75;

/// A query in pieces; a clause of several words is a phrase, and required wherever it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pieces {
    pub(crate) should: Vec<Vec<&'static str>>,
    pub(crate) must: Vec<Vec<&'static str>>,
    pub(crate) must_not: Vec<Vec<&'static str>>,
}

impl Pieces {
    /// As they are written: a phrase among the optional clauses is required all the same.
    pub(crate) fn text(&self) -> String {
        let quoted = |sign: &str, clause: &[&str]| format!("{sign}\"{}\"", clause.join(" "));
        let should = self.should.iter().map(|clause| match clause.as_slice() {
            [word] => (*word).to_owned(),
            phrase => quoted("", phrase),
        });
        let must = self.must.iter().map(|clause| quoted("+", clause));
        let must_not = self.must_not.iter().map(|clause| quoted("-", clause));
        should.chain(must).chain(must_not).collect::<Vec<_>>().join(" ")
    }

    /// Each word once, the required ones first, in the order of [`Pieces::text`].
    fn ranked_words(&self) -> Vec<&'static str> {
        let (phrases, optional): (Vec<_>, Vec<_>) =
            self.should.iter().partition(|clause| clause.len() > 1);
        let mut words = Vec::new();
        for &word in phrases.into_iter().chain(&self.must).chain(optional).flatten() {
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words
    }
}

/// Title, text, title: each value by itself, since phrases do not cross.
fn values(record: &Record) -> [Vec<&str>; 3] {
    [&record.title, &record.text, &record.title].map(|value| value.split_whitespace().collect())
}

fn frequency(record: &Record, clause: &[&str]) -> u32 {
    let runs = values(record);
    let found = runs.iter().flat_map(|words| words.windows(clause.len()));
    found.filter(|run| *run == clause).count() as u32
}

fn len(record: &Record) -> usize {
    values(record).iter().map(Vec::len).sum()
}

pub(crate) fn passes(record: &Record, seq: u64, filter: &Filter) -> bool {
    let titles = record.title.split_whitespace().map(|word| format!("title:{word}"));
    let terms: HashSet<String> = record.terms.iter().cloned().chain(titles).collect();
    filter.all.iter().all(|group| group.iter().any(|term| terms.contains(term)))
        && !filter.none.iter().any(|term| terms.contains(term))
        && filter.since_us.is_none_or(|since| record.time_us >= since)
        && filter.until_us.is_none_or(|until| record.time_us < until)
        && filter
            .seqs
            .as_ref()
            .is_none_or(|seqs| seqs.ranges().iter().any(|range| range.contains(&seq)))
}

/// Has `record` every required phrase and no excluded one?
fn has_phrases(record: &Record, pieces: &Pieces) -> bool {
    let has = |clause: &Vec<&str>| frequency(record, clause) > 0;
    let mut required =
        pieces.must.iter().chain(pieces.should.iter().filter(|clause| clause.len() > 1));
    required.all(has) && !pieces.must_not.iter().any(has)
}

/// All hits, best first, before `accept`.
pub(crate) fn search(records: &[Record], pieces: &Pieces, filter: &Filter, base: u64) -> Vec<Hit> {
    let documents = records.len() as u64;
    let tokens: usize = records.iter().map(len).sum();
    let mean = tokens as f32 / documents as f32;
    let idf = |word: &str| {
        let doc_freq =
            records.iter().filter(|record| frequency(record, &[word]) > 0).count() as u64;
        let x = ((documents - doc_freq) as f32 + 0.5) / (doc_freq as f32 + 0.5);
        (1.0 + x).ln()
    };
    let words = pieces.ranked_words();
    let weights: Vec<f32> = words.iter().map(|word| idf(word) * (1.0 + K1)).collect();
    let mut hits = Vec::new();
    for (record, seq) in records.iter().zip(base..) {
        if !passes(record, seq, filter) || !has_phrases(record, pieces) {
            continue;
        }
        let norm = K1 * (1.0 - B + B * len(record) as f32 / mean);
        let mut score = 0.0;
        for (word, weight) in words.iter().zip(&weights) {
            let frequency = frequency(record, &[word]) as f32;
            if frequency > 0.0 {
                score += weight * (frequency / (frequency + norm));
            }
        }
        if score > 0.0 {
            hits.push(Hit { seq, score });
        }
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.seq.cmp(&a.seq)));
    hits
}
