//! The queries: two to five words of one record each, rare and common ones mixed, so that every
//! query has an answer.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::rng::Rng;
use kapsa_bench_common::record::Record;

/// Queries made for a corpus.
pub const QUERIES: usize = 1_000;
/// Records that words are counted in and taken from.
const SAMPLE_RECORDS_MAX: usize = 20_000;
/// Fractions of the sample that hold a rare word at most, a common word at least.
const RARE_MAX: f64 = 0.001;
const COMMON_MIN: f64 = 0.02;
/// Bytes of a word that people would type.
const WORD_BYTES: std::ops::RangeInclusive<usize> = 3..=20;
/// Words that engines may drop from a query; leaving them out keeps the engines comparable.
const STOP_WORDS: [&str; 36] = [
    "and", "are", "but", "for", "into", "not", "such", "that", "the", "their", "then", "there",
    "these", "they", "this", "was", "will", "with", "all", "any", "can", "from", "has", "have",
    "how", "its", "may", "our", "out", "what", "when", "where", "which", "who", "you", "your",
];

/// The distinct words of each sampled record, and in how many records a word is.
struct Sample {
    records: Vec<Vec<String>>,
    df: HashMap<String, usize>,
}

/// Makes [`QUERIES`] queries from the corpus at `path`; the same corpus and seed give the same
/// queries.
pub fn from_corpus(path: &Path, seed: u64) -> Result<Vec<String>> {
    let sample = Sample::read(path)?;
    let mut rng = Rng::new(seed, u64::MAX);
    let mut queries = Vec::with_capacity(QUERIES);
    // A record with too few words gives no query, so allow for some of them.
    for _ in 0..QUERIES * 100 {
        queries.extend(sample.query(&mut rng));
        if queries.len() == QUERIES {
            return Ok(queries);
        }
    }
    anyhow::bail!("the corpus at {} has too few words for queries", path.display())
}

impl Sample {
    fn read(path: &Path) -> Result<Self> {
        let lines = || -> Result<_> {
            let file =
                File::open(path).with_context(|| format!("failed to open {}", path.display()))?;
            Ok(BufReader::with_capacity(1 << 20, file).lines())
        };
        let step = lines()?.count().div_ceil(SAMPLE_RECORDS_MAX).max(1);
        let mut sample = Self { records: Vec::new(), df: HashMap::new() };
        for line in lines()?.step_by(step) {
            let record: Record = serde_json::from_str(&line?)?;
            sample.add(words(&record.text));
        }
        ensure!(!sample.records.is_empty(), "the corpus at {} is empty", path.display());
        Ok(sample)
    }

    fn add(&mut self, words: BTreeSet<String>) {
        for word in &words {
            *self.df.entry(word.clone()).or_default() += 1;
        }
        self.records.push(words.into_iter().collect());
    }

    fn query(&self, rng: &mut Rng) -> Option<String> {
        let words = rng.pick(&self.records);
        let len = 2 + rng.below(4);
        if words.len() < len {
            return None;
        }
        let mut chosen: Vec<&str> = Vec::with_capacity(len);
        while chosen.len() < len {
            let word = self.choose(words, rng);
            if !chosen.contains(&word) {
                chosen.push(word);
            }
        }
        Some(chosen.join(" "))
    }

    /// A word of the wanted class (a fifth rare, two fifths common), or any when the record has
    /// none of it.
    fn choose<'a>(&self, words: &'a [String], rng: &mut Rng) -> &'a str {
        let class = rng.unit();
        let wanted = |share: f64| match class {
            c if c < 0.2 => share <= RARE_MAX,
            c if c < 0.6 => share >= COMMON_MIN,
            _ => share > RARE_MAX && share < COMMON_MIN,
        };
        let share = |word: &str| self.df[word] as f64 / self.records.len() as f64;
        let tries = 8;
        let mut word = rng.pick(words);
        for _ in 0..tries {
            if wanted(share(word)) {
                break;
            }
            word = rng.pick(words);
        }
        word
    }
}

fn words(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| {
            WORD_BYTES.contains(&word.len()) && word.bytes().all(|b| b.is_ascii_alphabetic())
        })
        .map(str::to_ascii_lowercase)
        .filter(|word| !STOP_WORDS.contains(&word.as_str()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_two_to_five_distinct_words_and_repeat() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("corpus.jsonl");
        let text = "alpha beta gamma delta epsilon zeta theta kappa lambda the and";
        let record = kapsa_bench_common::peer::single(text.to_owned());
        std::fs::write(&path, serde_json::to_string(&record).expect("JSON")).expect("written");
        let queries = from_corpus(&path, 5).expect("queries");
        assert_eq!(queries.len(), QUERIES);
        for query in &queries {
            let distinct: BTreeSet<&str> = query.split(' ').collect();
            assert!((2..=5).contains(&distinct.len()), "{query}");
            assert!(!distinct.contains("the"));
        }
        assert_eq!(queries, from_corpus(&path, 5).expect("queries"));
    }
}
