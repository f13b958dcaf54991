//! Finds the documents of a segment that score best.
//!
//! There are two ways. *Pruning* lets tantivy's block-max WAND walk the postings of all words, and
//! checks the gate only for documents whose score would be good enough. *Driving* walks what is
//! needed (a filter, a required word) and looks into the other postings only there; without
//! anything needed, it walks those words that can lift a document over the threshold (MaxScore).
//! Pruning is for gates that let most documents through.

use tantivy::postings::{Postings, SegmentPostings};
use tantivy::query::Bm25Weight;
use tantivy::{DocId, DocSet, Score, TERMINATED};

use crate::directory::damaged;
use crate::error::Result;
use crate::gate::{Gate, seek};
use crate::plan::{Plan, PlannedWord, WordInfos};
use crate::reader::Reader;
use crate::top::{Hit, Top};

/// What driving through one document costs, in postings that pruning walks or skips, measured with
/// a million documents: for optional and for required words.
const DRIVE_COST_SHOULD: u64 = 10;
const DRIVE_COST_MUST: u64 = 4;
/// Sums of the same numbers in another order differ by less than this factor.
const ROUNDING: Score = 1.0 - 1e-5;
/// Words whose scores have the same sum in any order.
const COMMUTATIVE_WORDS_MAX: usize = 2;

/// What decides about a document that scores well enough.
pub(crate) type Accept<'a> = dyn FnMut(&Reader, DocId) -> bool + 'a;

/// One segment under a plan.
pub(crate) struct SegmentSearch<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) reader: &'a Reader,
    pub(crate) infos: &'a WordInfos,
}

impl<'a> SegmentSearch<'a> {
    /// Puts the segment's best into `top`.
    pub(crate) fn search(&self, top: &mut Top, accept: &mut Accept<'_>) -> Result<()> {
        assert!(self.plan.musts <= self.plan.words.len(), "required words are words of the plan");
        let (musts, shoulds) = self.plan.words.split_at(self.plan.musts);
        let present = |planned: &PlannedWord| self.infos.contains_key(&planned.word);
        if !musts.iter().all(present) || !musts.iter().chain(shoulds).any(present) {
            return Ok(());
        }
        let Some(gate) = self.gate()? else {
            return Ok(());
        };
        let narrow = gate.size().is_some_and(|size| u64::from(size) < self.drive_documents_max());
        if self.plan.pruning.is_some() && !narrow {
            self.prune(gate, top, accept)
        } else {
            self.drive(gate, top, accept)
        }
    }

    /// Documents that driving can go through at the price of pruning, which walks at most the
    /// postings of the rarest required word, or of all words.
    fn drive_documents_max(&self) -> u64 {
        let infos = self.plan.words.iter().filter_map(|planned| self.infos.get(&planned.word));
        let doc_freqs = infos.map(|info| u64::from(info.doc_freq));
        if self.plan.musts > 0 {
            doc_freqs.min().unwrap_or(0) / DRIVE_COST_MUST
        } else {
            doc_freqs.sum::<u64>() / DRIVE_COST_SHOULD
        }
    }

    /// The filter and the exclusions of the plan.
    pub(crate) fn gate(&self) -> Result<Option<Gate<'a>>> {
        let Some(mut gate) = Gate::new(self.reader, &self.plan.filter)? else {
            return Ok(None);
        };
        for info in self.plan.must_nots.iter().filter_map(|word| self.infos.get(word)) {
            gate.forbid(self.reader.word_postings(info)?);
        }
        Ok(Some(gate))
    }

    /// Cursors over the words that are in the segment, the required ones first.
    fn cursors(&self) -> Result<Vec<Cursor>> {
        let words = self.plan.words.iter();
        let present = words.filter_map(|planned| Some((planned, self.infos.get(&planned.word)?)));
        let cursors = present.map(|(planned, info)| {
            let postings = self.reader.word_postings(info)?;
            Ok(Cursor {
                postings,
                weight: planned.weight.clone(),
                score_max: planned.weight.max_score(),
            })
        });
        cursors.collect()
    }

    fn prune(&self, mut gate: Gate<'_>, top: &mut Top, accept: &mut Accept<'_>) -> Result<()> {
        let weight = self.plan.pruning.as_ref().expect("the caller has seen it");
        let present =
            self.plan.words.iter().filter(|planned| self.infos.contains_key(&planned.word));
        let exact = present.count() <= COMMUTATIVE_WORDS_MAX;
        let mut cursors = if exact { Vec::new() } else { self.cursors()? };
        let slack = self.pruning_slack();
        let start = lowered(top.threshold(), slack);
        let mut offer = |doc: DocId, score: Score| {
            if score >= lowered(top.threshold(), ROUNDING) && gate.passes(doc) {
                let score = if exact { score } else { self.score(&mut cursors, doc) };
                self.offer(doc, score, top, accept);
            }
            lowered(top.threshold(), slack)
        };
        weight.for_each_pruning(start, &self.reader.segment, &mut offer).map_err(damaged)?;
        gate.finish()
    }

    /// Factor by which pruning may underestimate the best score in a block.
    ///
    /// Each block of postings names the document that scores best with the segment's own mean
    /// length. With mean `b` instead of `a`, `x` in the score `1 / (1 + x)` changes by a factor
    /// between 1 and `a / b`, so another document can be better by at most that factor.
    fn pruning_slack(&self) -> Score {
        let (here, everywhere) = (self.reader.mean_tokens, self.plan.mean_tokens());
        let slack = (here / everywhere).min(everywhere / here);
        if slack.is_finite() { slack * ROUNDING } else { 0.0 }
    }

    fn offer(&self, doc: DocId, score: Score, top: &mut Top, accept: &mut Accept<'_>) {
        let hit = Hit { seq: self.reader.seq(doc), score };
        if top.would_enter(hit) && accept(self.reader, doc) {
            top.push(hit);
        }
    }

    /// Score of `doc`, summed in the order of the plan.
    fn score(&self, cursors: &mut [Cursor], doc: DocId) -> Score {
        let scores = cursors.iter_mut().map(|cursor| match cursor.seek(doc) == doc {
            true => cursor.score(self.reader),
            false => 0.0,
        });
        scores.sum()
    }

    fn drive(&self, gate: Gate<'_>, top: &mut Top, accept: &mut Accept<'_>) -> Result<()> {
        let mut drive = Drive::new(gate, self.cursors()?, self.plan.musts);
        let mut doc = drive.seek(0, top);
        while doc != TERMINATED {
            if let Some(score) = drive.score(self.reader, doc, top)
                && drive.gate.allows(doc)
            {
                self.offer(doc, score, top, accept);
            }
            doc = drive.seek(doc + 1, top);
        }
        drive.gate.finish()
    }
}

/// `threshold` lowered so that a score equal to it still exceeds the result.
fn lowered(threshold: Score, factor: Score) -> Score {
    debug_assert!((0.0..=1.0).contains(&factor), "a threshold is never raised");
    if threshold > 0.0 { (threshold * factor).next_down() } else { threshold }
}

/// Postings of a word, with what is needed to score them.
struct Cursor {
    postings: SegmentPostings,
    weight: Bm25Weight,
    /// No document scores more.
    score_max: Score,
}

impl Cursor {
    fn seek(&mut self, target: DocId) -> DocId {
        seek(&mut self.postings, target)
    }

    /// Score of the document the cursor is at.
    fn score(&self, reader: &Reader) -> Score {
        let norm = reader.norms.fieldnorm_id(self.postings.doc());
        self.weight.score(norm, self.postings.term_freq())
    }

    fn size(&self) -> u32 {
        self.postings.doc_freq()
    }
}

/// Walks the documents that have what is needed.
struct Drive<'a> {
    gate: Gate<'a>,
    cursors: Vec<Cursor>,
    /// Required cursors, rarest first.
    musts: Vec<usize>,
    /// All cursors, the highest possible score first.
    by_score: Vec<usize>,
    /// What the cursors from each place of `by_score` on can add at most.
    rest_max: Vec<Score>,
    /// Scores of one document by cursor.
    scores: Vec<Score>,
}

impl<'a> Drive<'a> {
    fn new(gate: Gate<'a>, cursors: Vec<Cursor>, musts: usize) -> Drive<'a> {
        assert!(musts <= cursors.len(), "a segment without a required word is not walked");
        let mut by_size: Vec<usize> = (0..musts).collect();
        by_size.sort_by_key(|&ord| cursors[ord].size());
        let mut by_score: Vec<usize> = (0..cursors.len()).collect();
        by_score.sort_by(|&a, &b| cursors[b].score_max.total_cmp(&cursors[a].score_max));
        let mut rest_max: Vec<Score> = by_score.iter().map(|&ord| cursors[ord].score_max).collect();
        for place in (1..rest_max.len()).rev() {
            rest_max[place - 1] += rest_max[place];
        }
        let scores = vec![0.0; cursors.len()];
        Drive { gate, cursors, musts: by_size, by_score, rest_max, scores }
    }

    /// First candidate at or after `target`.
    fn seek(&mut self, mut target: DocId, top: &Top) -> DocId {
        let floor = lowered(top.threshold(), ROUNDING);
        if self.rest_max.first().is_none_or(|&max| max < floor) {
            return TERMINATED;
        }
        let led = !self.musts.is_empty() || self.gate.leads();
        loop {
            let mut doc = self.gate.seek_needed(target);
            for &ord in &self.musts {
                doc = doc.max(self.cursors[ord].seek(doc));
            }
            if !led && doc != TERMINATED {
                doc = self.seek_essential(doc, floor);
            }
            if doc == target || doc == TERMINATED {
                return doc;
            }
            target = doc;
        }
    }

    /// First document with a word without which none reaches `floor`.
    fn seek_essential(&mut self, target: DocId, floor: Score) -> DocId {
        let essential = self.rest_max.partition_point(|&rest| rest >= floor);
        let ords = self.by_score[..essential].iter();
        ords.map(|&ord| self.cursors[ord].seek(target)).min().unwrap_or(TERMINATED)
    }

    /// Score of `doc`, if it can be enough. Looks at the weightiest words first and stops early.
    fn score(&mut self, reader: &Reader, doc: DocId, top: &Top) -> Option<Score> {
        debug_assert_eq!(self.scores.len(), self.cursors.len(), "a score for each word");
        let floor = lowered(top.threshold(), ROUNDING);
        let mut sum = 0.0;
        for (&ord, &rest) in self.by_score.iter().zip(&self.rest_max) {
            if sum + rest < floor {
                return None;
            }
            let cursor = &mut self.cursors[ord];
            self.scores[ord] = if cursor.seek(doc) == doc { cursor.score(reader) } else { 0.0 };
            sum += self.scores[ord];
        }
        // In the order of the plan.
        Some(self.scores.iter().sum()).filter(|&score| score > 0.0)
    }
}
