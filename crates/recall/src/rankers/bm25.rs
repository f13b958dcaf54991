//! Plain BM25 over the words of the text, each document by itself.

use std::collections::HashMap;

use super::{Ranker, best};
use crate::collection::{Result, Scope};
use crate::words::stems;

/// How soon further occurrences of a word stop to count.
const K1: f64 = 1.2;
/// How much long documents are held back, 0 to 1.
const B: f64 = 0.75;

/// An inverted index in memory.
#[derive(Default)]
pub(super) struct Bm25 {
    /// Document and count, for each stem.
    postings: HashMap<String, Vec<(usize, u32)>>,
    /// Stems of each document.
    lengths: Vec<f64>,
    /// Mean of the lengths.
    mean_length: f64,
}

impl Bm25 {
    fn weight(&self, documents: usize) -> f64 {
        let (all, documents) = (self.lengths.len() as f64, documents as f64);
        (1.0 + (all - documents + 0.5) / (documents + 0.5)).ln()
    }
}

impl Ranker for Bm25 {
    fn name(&self) -> String {
        "bm25".to_string()
    }

    fn prepare(&mut self, scope: &Scope) -> Result<u64> {
        *self = Bm25::default();
        for (at, document) in scope.documents.iter().enumerate() {
            let stems = stems(&document.text);
            self.lengths.push(stems.len() as f64);
            for stem in stems {
                let list = self.postings.entry(stem).or_default();
                match list.last_mut() {
                    Some((last, count)) if *last == at => *count += 1,
                    _ => list.push((at, 1)),
                }
            }
        }
        self.mean_length = self.lengths.iter().sum::<f64>() / self.lengths.len().max(1) as f64;
        let list_bytes = |list: &Vec<(usize, u32)>| size_of_val(list.as_slice());
        let bytes: usize =
            self.postings.iter().map(|(stem, list)| stem.len() + list_bytes(list)).sum();
        Ok((bytes + size_of_val(self.lengths.as_slice())) as u64)
    }

    fn rank(&mut self, _scope: &Scope, query: &str, k: usize) -> Result<Vec<usize>> {
        let mut words = stems(query);
        words.sort();
        words.dedup();
        let mut scores: HashMap<usize, f64> = HashMap::new();
        for list in words.iter().filter_map(|word| self.postings.get(word)) {
            let weight = self.weight(list.len());
            for &(document, count) in list {
                let count = f64::from(count);
                let held_back = K1 * (1.0 - B + B * self.lengths[document] / self.mean_length);
                *scores.entry(document).or_default() +=
                    weight * count * (K1 + 1.0) / (count + held_back);
            }
        }
        Ok(best(scores.into_iter().collect(), k, |a, b| a.cmp(&b)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collection::tests::doc;

    #[test]
    fn scores_worked_by_hand() {
        let texts = ["boat boat", "boat tree", "tree house door"];
        let documents = texts.iter().map(|text| doc(text, "", text)).collect();
        let scope = Scope { name: String::new(), documents, questions: Vec::new() };
        let mut bm25 = Bm25::default();
        bm25.prepare(&scope).expect("it needs nothing");
        // Two of three documents: ln(1 + 1.5 / 2.5). One of three: ln(1 + 2.5 / 1.5).
        assert!((bm25.weight(2) - 0.470_004).abs() < 1e-6);
        assert!((bm25.weight(1) - 0.980_829).abs() < 1e-6);
        assert_eq!(bm25.rank(&scope, "boats?", 9).expect("it needs nothing"), [0, 1]);
        assert_eq!(
            bm25.rank(&scope, "Is the door of the house near a boat?", 9).expect("as before"),
            [2, 0, 1]
        );
        assert_eq!(bm25.rank(&scope, "tree", 1).expect("as before"), [1], "the shorter one");
    }
}
