//! A search within a scope is that of an index that holds nothing else, to the last bit.

use kapsa_index::{Filter, Hit, Query, Scope, Searcher};

use crate::corpus::{Random, Record, WORDS, records, searcher};

/// Which records count, by their places, from a sequence number on.
struct Places {
    base: u64,
    counting: Vec<bool>,
    /// How many count before each place, and in all.
    before: Vec<u64>,
}

impl Places {
    fn new(base: u64, counting: Vec<bool>) -> Places {
        let mut before = vec![0];
        for counts in &counting {
            before.push(before[before.len() - 1] + u64::from(*counts));
        }
        Places { base, counting, before }
    }
}

impl Scope for Places {
    fn counts(&self, seq: u64) -> bool {
        seq.checked_sub(self.base).is_some_and(|at| self.counting.get(at as usize) == Some(&true))
    }

    fn before(&self, seq: u64) -> u64 {
        self.before[seq.saturating_sub(self.base).min(self.counting.len() as u64) as usize]
    }
}

/// Hits with their scores' bits and their places among what counts; and the bits of the rarities.
fn found(searcher: &Searcher, scope: &Places, query: &str) -> (Vec<(u64, u32)>, Vec<u32>) {
    let query = Query::parse(query).expect("short");
    let mut accept = |candidate: kapsa_index::Candidate<'_>| scope.counts(candidate.seq());
    let (hits, rarities) = searcher
        .search_rated(&query, &Filter::default(), Some(scope), 20, &mut accept)
        .expect("search");
    let alone = searcher.rarities(&query, &Filter::default(), Some(scope)).expect("rarities");
    assert_eq!(rarities, alone);
    let place = |hit: Hit| (scope.before(hit.seq), hit.score.to_bits());
    (hits.into_iter().map(place).collect(), rarities.into_iter().map(f32::to_bits).collect())
}

fn ends(random: &mut Random, count: usize) -> Vec<usize> {
    let mut ends: Vec<usize> = (0..random.below(5)).map(|_| random.below(count + 1)).collect();
    // No more in the tail than a program leaves there.
    ends.push(count.saturating_sub(random.below(300)));
    ends.sort_unstable();
    ends
}

fn check(seed: u64, count: usize, queries: usize) {
    let mut random = Random::new(seed);
    let all = records(&mut random, count);
    // Hidden records have a word more often, and are longer.
    let hidden_percent = 5 + random.below(80);
    let (mut counting, mut mixed, mut known): (Vec<bool>, Vec<Record>, Vec<Record>) =
        Default::default();
    for record in all {
        let is_hidden = random.chance(hidden_percent);
        counting.push(!is_hidden);
        if is_hidden {
            let text = format!("{} mi mi go go", record.text);
            mixed.push(Record { text, ..record });
        } else {
            known.push(record.clone());
            mixed.push(record);
        }
    }
    let scope = Places::new(7, counting);
    let with_hidden = searcher(&mixed, &ends(&mut random, mixed.len()), 7);
    let without = searcher(&known, &ends(&mut random, known.len()), 1);
    let everything = Places::new(1, vec![true; known.len()]);
    for round in 0..queries {
        let words: Vec<String> = (0..1 + random.below(4))
            .map(|_| {
                let sign = if random.chance(15) { "+" } else { "" };
                format!("{sign}{}", WORDS[random.skewed(WORDS.len())])
            })
            .collect();
        let query = words.join(" ");
        let (got, want) =
            (found(&with_hidden, &scope, &query), found(&without, &everything, &query));
        assert_eq!(got, want, "seed {seed} round {round} {query:?}");
    }
}

#[test]
fn what_is_out_of_scope_changes_nothing() {
    for seed in 0..40 {
        check(seed, 1 + (seed as usize * 13) % 300, 30);
    }
}

/// More records, and more with a word, than are counted one by one.
#[test]
fn nor_where_figures_are_estimated() {
    check(77, 16_000, 40);
}
