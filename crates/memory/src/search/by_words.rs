//! Ranks by words alone: BM25, and what else speaks for what words found.

use kapsa_index::Candidate;

use super::find::{POOL_GROWTH, Search};
use super::fusion::{Fused, POOL_BYTES_MAX, Ranked};
use super::points::{EXACT, PHRASE, TIME, exact_words};
use crate::error::Result;
use crate::records::request::{FIND_K_MAX, Why};
use crate::view::known::KnownRecords;
use crate::view::visibility::Visibility;

/// Records of the first pool: more than words may decide their order, and the newer of two notes
/// comes first among the best 20.
const POOL_MIN: usize = 24;

impl Search<'_> {
    /// The best by words, at least as many as are looked for, if there are so many.
    pub(super) fn by_words(&self) -> Result<Ranked> {
        let mut all = Ranked::default();
        let mut count = POOL_MIN;
        loop {
            let pool = self.pool_of_words(count)?;
            let is_all = pool.fused.len() < count || count >= FIND_K_MAX;
            (all.rarities, all.by_words) = (pool.rarities, true);
            all.append(pool.fused);
            self.leave_out(&mut all.fused);
            if is_all || all.fused.len() >= self.depth() {
                return Ok(all);
            }
            count = count.saturating_mul(POOL_GROWTH).min(FIND_K_MAX);
        }
    }

    /// The best by words, and what else speaks for them.
    fn pool_of_words(&self, count: usize) -> Result<Ranked> {
        let searcher = self.view.store().searcher()?;
        let mut pool = Ranked::default();
        let phrases = self.question.phrases.iter();
        let with_phrases = phrases.map(|one| self.question.query.clone().and_required(one));
        for query in std::iter::once(self.question.query.clone()).chain(with_phrases) {
            let mut visibility = Visibility::of(self.view);
            let mut accept = |candidate: Candidate<'_>| {
                visibility.accepts(&candidate) && visibility.has_phrases(&query, &candidate)
            };
            let (hits, rarities) = searcher.search_rated(
                &query,
                &self.filter,
                self.view.scope()?.map(KnownRecords::as_scope),
                count,
                &mut accept,
            )?;
            visibility.finish()?;
            if pool.rarities.is_empty() {
                pool.rarities = rarities;
            }
            let mut bytes = 0;
            for (rank, hit) in hits.into_iter().enumerate() {
                // Of texts of many megabytes no more are read than are wanted.
                if bytes > POOL_BYTES_MAX && rank >= self.depth() {
                    break;
                }
                let why = Why { words: Some((rank + 1, hit.score)), ..Why::default() };
                let record = self.view.store().record(hit.seq)?;
                bytes += record.text.len();
                let fused =
                    Fused { record, score: hit.score, passage: None, why, same_text: Vec::new() };
                pool.append([fused]);
            }
        }
        self.add_points(&mut pool.fused);
        Ok(pool)
    }

    /// What else than words speaks for what words found, as shares of the best.
    fn add_points(&self, fused: &mut [Fused]) {
        let best = fused.first().map_or(0.0, |fused| fused.score);
        let times = &self.question.read.times;
        for fused in fused.iter_mut() {
            let exact = EXACT * exact_words(&self.question.exact, &fused.record) as f32;
            let is_timely = times.iter().any(|span| span.contains(fused.record.created_at));
            let phrases = PHRASE * self.question.phrases_in(&fused.record) as f32;
            let time = if is_timely { TIME } else { 0.0 };
            let points = [("exact", exact), ("phrase", phrases), ("time", time)];
            for (what, points) in points.into_iter().filter(|(_, points)| *points > 0.0) {
                fused.score += best * points;
                fused.why.points.push((what, points));
            }
        }
        // What has the same points stays in the order of words.
        fused.sort_by(|a, b| b.score.total_cmp(&a.score));
    }
}
