//! Which documents of a segment score best?
//!
//! There are two ways. *Pruning* lets tantivy's block-max WAND walk the postings of all words, and
//! checks the gate only for documents whose score would be good enough. *Driving* walks what is
//! needed (a filter, a required clause) and looks into the other postings only there; without
//! anything needed, it walks those clauses that can lift a document over the threshold (MaxScore).
//! Pruning is for gates that let most documents through.

use tantivy::postings::{Postings, SegmentPostings};
use tantivy::query::{Bm25Weight, Scorer};
use tantivy::{DocId, DocSet, Score, TERMINATED};

use crate::Result;
use crate::directory::damaged;
use crate::gate::{Gate, seek};
use crate::plan::{Plan, PlannedClause, WordInfos};
use crate::query::Clause;
use crate::reader::Reader;
use crate::top::{Hit, Top};

/// What driving through one document costs, in postings that pruning walks or skips, measured with
/// a million documents: for optional and for required words.
const DRIVE_COST_SHOULD: u64 = 10;
const DRIVE_COST_MUST: u64 = 4;
/// Sums of the same numbers in another order differ by less than this factor.
const ROUNDING: Score = 1.0 - 1e-5;
/// Clauses whose scores have the same sum in any order.
const COMMUTATIVE_CLAUSES_MAX: usize = 2;

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
        let (musts, shoulds) = self.plan.clauses.split_at(self.plan.musts);
        let present = |planned: &PlannedClause| self.has_all_words(&planned.clause);
        if !musts.iter().all(present) || !musts.iter().chain(shoulds).any(present) {
            return Ok(());
        }
        let Some(gate) = self.gate()? else {
            return Ok(());
        };
        let narrow = gate.size().is_some_and(|size| u64::from(size) < self.drive_documents_max());
        if self.plan.pruning.is_some() && !narrow { self.prune(gate, top, accept) } else { self.drive(gate, top, accept) }
    }

    /// Documents that driving can go through at the price of pruning, which walks at most the
    /// postings of the rarest required word, or of all words.
    fn drive_documents_max(&self) -> u64 {
        let words = self.plan.clauses.iter().flat_map(|planned| &planned.clause.words);
        let doc_freqs = words.filter_map(|(_, word)| self.infos.get(word)).map(|info| u64::from(info.doc_freq));
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
        for clause in &self.plan.must_nots {
            if !self.has_all_words(clause) {
                continue;
            }
            if clause.is_phrase() {
                gate.forbid_phrase(self.phrase(clause)?);
            } else {
                gate.forbid_word(self.postings(clause)?);
            }
        }
        Ok(Some(gate))
    }

    fn has_all_words(&self, clause: &Clause) -> bool {
        clause.words.iter().all(|(_, word)| self.infos.contains_key(word))
    }

    /// Postings of a one-word clause that is in the segment.
    fn postings(&self, clause: &Clause) -> Result<SegmentPostings> {
        self.reader.word_postings(&self.infos[&clause.words[0].1])
    }

    fn phrase(&self, clause: &Clause) -> Result<Box<dyn Scorer>> {
        let weight = self.plan.phrase_weight(clause)?;
        weight.scorer(&self.reader.segment, 1.0).map_err(damaged)
    }

    /// Cursors over the clauses that are in the segment, the required ones first.
    fn cursors(&self) -> Result<Vec<Cursor>> {
        let clauses = self.plan.clauses.iter();
        let present = clauses.filter(|planned| self.has_all_words(&planned.clause));
        present.map(|planned| self.cursor(planned)).collect()
    }

    fn cursor(&self, planned: &PlannedClause) -> Result<Cursor> {
        let source = if planned.clause.is_phrase() {
            Source::Phrase(self.phrase(&planned.clause)?)
        } else {
            Source::Word(Box::new((self.postings(&planned.clause)?, planned.weight.clone())))
        };
        Ok(Cursor { source, score_max: planned.weight.max_score() })
    }

    fn prune(&self, mut gate: Gate<'_>, top: &mut Top, accept: &mut Accept<'_>) -> Result<()> {
        let weight = self.plan.pruning.as_ref().expect("the caller has seen it");
        let clauses = self.plan.clauses.iter();
        let exact = clauses.filter(|planned| self.has_all_words(&planned.clause)).count() <= COMMUTATIVE_CLAUSES_MAX;
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
        weight.for_each_pruning(start, &self.reader.segment, &mut offer).map_err(damaged)
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
        Ok(())
    }
}

/// `threshold` lowered so that a score equal to it still exceeds the result.
fn lowered(threshold: Score, factor: Score) -> Score {
    if threshold > 0.0 { (threshold * factor).next_down() } else { threshold }
}

/// Postings of a clause, with what is needed to score them.
struct Cursor {
    source: Source,
    /// No document scores more.
    score_max: Score,
}

enum Source {
    Word(Box<(SegmentPostings, Bm25Weight)>),
    Phrase(Box<dyn Scorer>),
}

impl Cursor {
    fn seek(&mut self, target: DocId) -> DocId {
        match &mut self.source {
            Source::Word(word) => seek(&mut word.0, target),
            Source::Phrase(phrase) => seek(phrase, target),
        }
    }

    /// Score of the document the cursor is at.
    fn score(&mut self, reader: &Reader) -> Score {
        match &mut self.source {
            Source::Word(word) => {
                let (postings, weight) = word.as_ref();
                weight.score(reader.norms.fieldnorm_id(postings.doc()), postings.term_freq())
            }
            Source::Phrase(phrase) => phrase.score(),
        }
    }

    fn size(&self) -> u32 {
        match &self.source {
            Source::Word(word) => word.0.doc_freq(),
            Source::Phrase(phrase) => phrase.size_hint(),
        }
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

    /// First document with a clause without which none reaches `floor`.
    fn seek_essential(&mut self, target: DocId, floor: Score) -> DocId {
        let essential = self.rest_max.partition_point(|&rest| rest >= floor);
        let ords = self.by_score[..essential].iter();
        ords.map(|&ord| self.cursors[ord].seek(target)).min().unwrap_or(TERMINATED)
    }

    /// Score of `doc`, if it can be enough. Looks at the weightiest clauses first and stops early.
    fn score(&mut self, reader: &Reader, doc: DocId, top: &Top) -> Option<Score> {
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
