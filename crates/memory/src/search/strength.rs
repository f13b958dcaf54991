//! How sure it is that a hit answers: by the share of the asked words that it has, weighed by how
//! rare they are, and by its likeness in meaning. Unlike a score, it can be compared between
//! answers, and is low for the best of nothing.
//!
//! The weights were fitted on the questions of one half of a set of conversations, asked of their
//! own conversation and of another one, and measured on the other half: `docs/benchmarks.md`,
//! "Nothing is known".

use super::question::Question;
use crate::records::record::Record;
use crate::records::request::Why;

/// What a word counts that a hit has in another form than it was asked for.
const MEANT_SHARE: f32 = 0.8;

/// What a word counts whose rarity is not known.
const RARITY_UNKNOWN: f32 = 1.0;

/// A word that is asked for, and how rare it is.
struct AskedTerm {
    /// Its place in the terms of the query; none when it is not among them.
    place: Option<usize>,
    /// Places of words that may be meant by it.
    meant: Vec<usize>,
    weight: f32,
}

/// What the strength of hits is measured by, for one question.
pub(super) struct Strength {
    asked: Vec<AskedTerm>,
    total: f32,
}

impl Strength {
    /// `rarities` are those of the query's terms, as far as they are known.
    pub(super) fn of(question: &Question, rarities: &[f32]) -> Strength {
        let terms: Vec<&str> = question.query.terms().collect();
        let place = |term: &str| terms.iter().position(|other| *other == term);
        let asked: Vec<AskedTerm> = question
            .query
            .asked()
            .iter()
            .map(|word| {
                let meant = question.meant.iter().filter(|(term, _)| *term == word.term);
                let at = place(&word.term);
                let rarity = at.and_then(|at| rarities.get(at).copied());
                AskedTerm {
                    place: at,
                    meant: meant.flat_map(|(_, to)| to).filter_map(|to| place(to)).collect(),
                    weight: rarity.unwrap_or(RARITY_UNKNOWN).max(f32::MIN_POSITIVE),
                }
            })
            .collect();
        let total = asked.iter().map(|word| word.weight).sum();
        Strength { asked, total }
    }

    /// Which of the asked words a record has, each by how much.
    pub(super) fn found_in(&self, record: &Record, question: &Question) -> Vec<f32> {
        let Record { text, title, entity, .. } = record;
        let has = kapsa_index::terms_in(&format!("{title} {entity} {text}"), &question.query);
        let share = |word: &AskedTerm| {
            if word.place.is_some_and(|place| has.contains(&place)) {
                1.0
            } else if word.meant.iter().any(|place| has.contains(place)) {
                MEANT_SHARE
            } else {
                0.0
            }
        };
        self.asked.iter().map(share).collect()
    }

    /// The share of what was asked that these are.
    pub(super) fn share(&self, found: &[f32]) -> f32 {
        let sum: f32 = self.asked.iter().zip(found).map(|(word, found)| word.weight * found).sum();
        if self.total > 0.0 { sum / self.total } else { 0.0 }
    }

    /// Whether the rarest word is among them.
    pub(super) fn has_rarest(&self, found: &[f32]) -> f32 {
        let rarest =
            self.asked.iter().zip(found).max_by(|(a, _), (b, _)| a.weight.total_cmp(&b.weight));
        rarest.map_or(0.0, |(_, found)| *found)
    }
}

/// Weights of a hit that has a vector: the sum with nothing, and what the share of the words, the
/// rarest of them and the likeness add. The sum is 0 where 5% of the answerable questions are
/// below.
const WITH_MEANING: [f32; 4] = [-10.2, 7.9, 2.8, 20.5];
/// The same of a hit that only words are known of.
const BY_WORDS: [f32; 3] = [-3.2, 13.7, 1.7];

/// How sure it is that a hit answers, from 0 to 1.
pub(super) fn strength(why: &Why) -> f32 {
    let sum = match why.likeness {
        Some(likeness) => {
            let [none, share, rarest, like] = WITH_MEANING;
            none + share * why.share + rarest * why.rarest + like * likeness
        }
        None => {
            let [none, share, rarest] = BY_WORDS;
            none + share * why.share + rarest * why.rarest
        }
    };
    1.0 / (1.0 + (-sum).exp())
}
