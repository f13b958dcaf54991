//! Finds the documents of the tail that score best, by the same rules as in a segment.

use tantivy::query::Bm25Weight;

use crate::plan::Plan;
use crate::tail::{TailDoc, TailWords, TermHash, hashed_term};
use crate::top::{Hit, Top};

/// A plan, ready for the tail.
pub(crate) struct TailSearch<'a> {
    plan: &'a Plan,
    gate: TailGate<'a>,
}

/// The filter and the exclusions, by hash.
pub(crate) struct TailGate<'a> {
    plan: &'a Plan,
    all: Vec<Vec<TermHash>>,
    none: Vec<TermHash>,
    must_nots: Vec<TermHash>,
}

impl<'a> TailSearch<'a> {
    pub(crate) fn new(plan: &'a Plan) -> TailSearch<'a> {
        TailSearch { plan, gate: TailGate::new(plan) }
    }

    /// Puts the tail's best into `top`.
    pub(crate) fn search(
        &self,
        tail: &[TailWords<'_>],
        top: &mut Top,
        accept: &mut dyn FnMut(&TailDoc) -> bool,
    ) {
        debug_assert!(
            tail.is_sorted_by(|one, other| one.doc.seq() <= other.doc.seq()),
            "the newest comes last"
        );
        for words in tail.iter().rev().filter(|words| self.gate.passes(words)) {
            let doc = words.doc;
            let Some(score) = self.score(words) else {
                continue;
            };
            let hit = Hit { seq: doc.seq(), score };
            if top.would_enter(hit) && accept(doc) {
                top.push(hit);
            }
        }
    }

    /// `None` if a required word is missing or none is there.
    fn score(&self, doc: &TailWords<'_>) -> Option<f32> {
        debug_assert!(
            self.plan.musts <= self.plan.words.len(),
            "required words are words of the plan"
        );
        let norm = doc.fieldnorm_id();
        let mut score = 0.0;
        for (ord, planned) in self.plan.words.iter().enumerate() {
            match doc.frequency(planned.hash) {
                0 if ord < self.plan.musts => return None,
                0 => {}
                frequency => score += Bm25Weight::score(&planned.weight, norm, frequency),
            }
        }
        (score > 0.0).then_some(score)
    }
}

impl<'a> TailGate<'a> {
    pub(crate) fn new(plan: &'a Plan) -> TailGate<'a> {
        let group = |group: &Vec<String>| group.iter().map(|term| hashed_term(term)).collect();
        TailGate {
            plan,
            all: plan.filter.all.iter().map(group).collect(),
            none: plan.filter.none.iter().map(|term| hashed_term(term)).collect(),
            must_nots: plan.must_nots.iter().map(|word| TermHash::of(word)).collect(),
        }
    }

    pub(crate) fn passes(&self, words: &TailWords<'_>) -> bool {
        self.plan.filter.passes_seq(words.doc.seq())
            && self.plan.filter.passes_time(words.doc.time_us())
            && self.all.iter().all(|group| group.iter().any(|term| words.has_term(*term)))
            && !self.none.iter().any(|term| words.has_term(*term))
            && !self.must_nots.iter().any(|word| words.has_word(*word))
    }
}
