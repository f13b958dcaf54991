//! Puts the best of a search in the order that a re-ranker gives them: it reads each of them
//! together with the question. What is found stays the same.
//!
//! `cargo xtask recall` measures it where `KAPSA_RERANKER` names a model file.

use std::collections::HashMap;
use std::fmt;

use kapsa_index::Query;
use kapsa_model::{Embedder, Reranker};

use super::fusion::Fused;
use crate::records::request::Means;
use crate::records::turn::speaker;

/// Hits that a re-ranker puts in order: the best ones before it.
pub const RERANKED: usize = 20;
/// Points for each unit of a logit, where words and meaning give points; where words alone rank,
/// the same share of the best score.
pub const LOGIT: f32 = 0.2;
/// Most characters of a text that are read: of a longer one the passage that fits best.
const TEXT_CHARS_MAX: usize = 600;
/// What speaks for a hit whose place no model overrules: the query names the record.
const NAMED: &str = "uri";
/// It has an identifier of the query; what no model has seen before, none judges well.
const EXACT: &str = "exact";

/// The models that a search may use, each where it is given.
#[derive(Clone, Copy, Default)]
pub struct Models<'a> {
    /// Makes the vector of the query.
    pub embedder: Option<&'a dyn Embedder>,
    /// Puts the best [`RERANKED`] hits in order.
    pub reranker: Option<&'a dyn Reranker>,
}

impl fmt::Debug for Models<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let embedder = self.embedder.map(|embedder| &embedder.model().name);
        let reranker = self.reranker.map(|reranker| &reranker.model().name);
        f.debug_struct("Models").field("embedder", &embedder).field("reranker", &reranker).finish()
    }
}

/// A re-ranker at one question.
pub(super) struct Reranking<'a> {
    reranker: &'a dyn Reranker,
    /// By sequence: a search that looks again asks only for what is new.
    logits: HashMap<u64, f32>,
    error: Option<String>,
}

impl<'a> Reranking<'a> {
    pub(super) fn by(reranker: &'a dyn Reranker) -> Reranking<'a> {
        Reranking { reranker, logits: HashMap::new(), error: None }
    }

    /// Puts the best in order. `by_words` says that scores are those of words alone. A model that
    /// fails leaves the order as it is.
    pub(super) fn order(
        &mut self,
        fused: &mut [Fused],
        question: &str,
        query: &Query,
        by_words: bool,
    ) {
        let first = fused.iter().take_while(|fused| has(fused, NAMED)).count();
        let count = fused.len().min(first + RERANKED);
        let best = &mut fused[first..count];
        if question.trim().is_empty() || best.len() < 2 || !self.ask(best, question, query) {
            return;
        }
        let by_word = |fused: &Fused| fused.why.words.map_or(0.0, |(_, score)| score);
        let unit = if by_words { best.iter().map(by_word).fold(0.0, f32::max) } else { 1.0 };
        let least = |best: &[Fused]| best.iter().map(|fused| fused.score).fold(f32::MAX, f32::min);
        let least_before = least(best);
        for fused in best.iter_mut() {
            let logit = self.logits.get(&fused.record.sequence).copied().unwrap_or_default();
            let points = LOGIT * if has(fused, EXACT) { logit.max(0.0) } else { logit };
            fused.score += unit * points;
            fused.why.points.push(("rerank", points));
        }
        // All move together, so that scores stay positive and fall along the list.
        let shift = least_before - least(best);
        best.iter_mut().for_each(|fused| fused.score += shift);
        best.sort_by(|a, b| b.score.total_cmp(&a.score));
    }

    /// Asks for the logits that are not known yet. Whether all are known now.
    fn ask(&mut self, fused: &[Fused], question: &str, query: &Query) -> bool {
        if self.error.is_some() {
            return false;
        }
        let new: Vec<&Fused> =
            fused.iter().filter(|new| !self.logits.contains_key(&new.record.sequence)).collect();
        let texts: Vec<String> = new.iter().map(|fused| text_of(fused, query)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        match self.reranker.score(question, &texts) {
            Ok(logits) if logits.len() == texts.len() && logits.iter().all(|x| x.is_finite()) => {
                let sequences = new.iter().map(|fused| fused.record.sequence);
                self.logits.extend(sequences.zip(logits));
            }
            Ok(_) => self.error = Some("the re-ranker gave no logit for some text".into()),
            Err(error) => self.error = Some(error.message),
        }
        self.error.is_none()
    }

    /// Says what it did.
    pub(super) fn report(self, means: &mut Means) {
        match self.error {
            Some(error) => means.rerank_error = Some(error),
            None if self.logits.is_empty() => {}
            None => means.reranked = Some(self.reranker.model().name.clone()),
        }
    }
}

fn has(fused: &Fused, what: &str) -> bool {
    fused.why.points.iter().any(|(name, _)| *name == what)
}

/// What the model reads of a hit: who speaks, and the text, or the best passage of a long one.
fn text_of(fused: &Fused, query: &Query) -> String {
    let text = &fused.record.text;
    let passage = fused.passage.as_ref().map(|range| range.start as usize..range.end as usize);
    let part = match passage.and_then(|range| text.get(range)) {
        // A passage of a part of a document is as long as the text.
        Some(passage) if passage.chars().nth(TEXT_CHARS_MAX).is_none() => passage,
        _ => &text[kapsa_index::snippet(text, query, TEXT_CHARS_MAX).range],
    };
    match speaker(&fused.record) {
        "" => part.to_string(),
        speaker => format!("{speaker}: {part}"),
    }
}
