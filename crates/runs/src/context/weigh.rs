//! Weighs the passages of what was found: by how their records were found and by the words of the
//! query that they have.

use std::collections::HashSet;
use std::ops::Range;

use kapsa_memory::query::{Query, terms_in};
use kapsa_memory::{Record, tokens};

use super::passages::{self, Passage};
use super::{ContextRequest, Line, MARKER_BEGIN, MARKER_END};
use crate::names::{ROLE_BYTES_MAX, RunId, TaskId};
use crate::records::{self, Status, TaskInfo};

/// Each further line of one sibling counts for this much of what it would count as the first.
const NEXT_SHARE: f32 = 0.8;
/// An earlier output of a role counts for this much of a later one.
const EARLIER_SHARE: f32 = 0.7;
/// What a passage that states a decision counts for besides, when it has a word of the query.
const DECISION_BONUS: f32 = 0.15;
/// A passage that is worth less than this is not shown where there are better ones.
const SCORE_MIN: f32 = 0.1;
/// Share of the budget that the plan may take before others.
pub(super) const PLAN_SHARE: f32 = 0.4;
/// Longest title in a line, in characters.
const TITLE_CHARS_MAX: usize = 80;

/// A record that was found.
pub(super) struct Find {
    /// Which store.
    pub(super) group: usize,
    pub(super) record: Record,
    /// Its score as a share of the best that it can be compared with; 0 when nothing fits and it is
    /// just the newest.
    pub(super) share: f32,
    /// The part that is most like the query.
    pub(super) passage: Option<Range<usize>>,
}

/// Where finds come from.
pub(super) struct Group {
    pub(super) run: Option<RunId>,
    pub(super) task: Option<TaskId>,
    pub(super) is_plan: bool,
}

/// What was found in all stores.
pub(super) struct Findings<'a> {
    pub(super) run: &'a RunId,
    pub(super) request: &'a ContextRequest<'a>,
    pub(super) query: Query,
    /// Tasks that came to a bad end, of any run.
    pub(super) failed: HashSet<(RunId, TaskId)>,
    pub(super) groups: Vec<Group>,
    pub(super) finds: Vec<Find>,
}

/// A passage, and what decides whether it has room.
pub(super) struct Weighed {
    /// Which find it is of, and which store.
    pub(super) find: usize,
    pub(super) group: usize,
    /// Bytes of its record's text.
    pub(super) range: Range<usize>,
    /// Whether a later output of the same role was found.
    pub(super) earlier: bool,
    pub(super) score: f32,
    pub(super) rank: f32,
}

impl Findings<'_> {
    /// Every passage that may be shown, the most valuable first.
    pub(super) fn weighed(&self) -> Vec<Weighed> {
        let cut: Vec<Vec<Passage>> = self.finds.iter().map(|find| self.passages(find)).collect();
        let fitting = self
            .finds
            .iter()
            .zip(&cut)
            .filter(|(find, _)| find.share > 0.0)
            .flat_map(|(_, passages)| passages);
        let weights = passages::weights(fitting, self.query.terms().count());
        let worths: Vec<Vec<f32>> = self
            .finds
            .iter()
            .zip(&cut)
            .map(|(find, cut)| self.worths(find, cut, &weights))
            .collect();
        let best_of = |worths: &[f32]| worths.iter().copied().fold(0.0, f32::max);
        let best = worths.iter().map(|worths| best_of(worths)).fold(0.0, f32::max);
        let mut groups: Vec<Vec<Weighed>> = Vec::new();
        groups.resize_with(self.groups.len(), Vec::new);
        for (at, find) in self.finds.iter().enumerate() {
            let best_here = best_of(&worths[at]);
            for (passage, &worth) in cut[at].iter().zip(&worths[at]) {
                // Half by how its record was found, half by the words in the passage itself;
                // nothing for what is just the newest.
                let mut score = match find.share > 0.0 {
                    true => 0.5 * find.share * ratio(worth, best_here) + 0.5 * ratio(worth, best),
                    false if self.groups[find.group].is_plan => {
                        0.5 * worth / best.max(worth).max(f32::MIN_POSITIVE)
                    }
                    false => 0.0,
                };
                let earlier = self.has_later(find);
                score *= if earlier { EARLIER_SHARE } else { 1.0 };
                if score > 0.0
                    && !passage.terms.is_empty()
                    && passages::decides(&find.record.text[passage.range.clone()])
                {
                    score = (score + DECISION_BONUS).min(1.0);
                }
                groups[find.group].push(Weighed {
                    find: at,
                    group: find.group,
                    range: passage.range.clone(),
                    earlier,
                    score,
                    rank: score,
                });
            }
        }
        let mut flat: Vec<Weighed> =
            groups.into_iter().flat_map(|group| self.ranked(group)).collect();
        flat.sort_by(|a, b| b.rank.total_cmp(&a.rank).then(a.group.cmp(&b.group)));
        if flat.iter().any(|weighed| weighed.score >= SCORE_MIN) {
            flat.retain(|weighed| {
                weighed.score >= SCORE_MIN
                    || weighed.score == 0.0
                    || self.groups[weighed.group].is_plan
            });
        }
        flat
    }

    /// Whether a later output of the same role in the same store was found. Several notes of one
    /// agent are shown all the same.
    fn has_later(&self, find: &Find) -> bool {
        self.finds.iter().any(|other| {
            let is_same = other.group == find.group && other.record.label == find.record.label;
            is_same
                && other.record.label != records::PLAN
                && other.record.sequence > find.record.sequence
        })
    }

    fn worths(&self, find: &Find, passages: &[Passage], weights: &[f32]) -> Vec<f32> {
        let title = terms_in(&find.record.title, &self.query);
        passages.iter().map(|passage| passages::worth(passage, &title, weights)).collect()
    }

    /// The best passages of one store in order. Each further one ranks lower than it would as the
    /// first, so that one store does not drive out all others. A plan comes before all of them.
    fn ranked(&self, mut group: Vec<Weighed>) -> Vec<Weighed> {
        if group.first().is_some_and(|weighed| self.groups[weighed.group].is_plan) {
            return self.ranked_plan(group);
        }
        let newest =
            |weighed: &Weighed| std::cmp::Reverse(self.finds[weighed.find].record.sequence);
        group.sort_by(|a, b| {
            b.score
                .total_cmp(&a.score)
                .then(newest(a).cmp(&newest(b)))
                .then(a.range.start.cmp(&b.range.start))
        });
        group.truncate(self.request.chunks_max);
        let mut share = 1.0;
        for weighed in &mut group {
            weighed.rank = weighed.score * share;
            share *= NEXT_SHARE;
        }
        group
    }

    /// All of a plan where it takes no more than its share of the budget; else its beginning and
    /// what fits best come first, and the rest takes its chance among the others.
    fn ranked_plan(&self, mut plan: Vec<Weighed>) -> Vec<Weighed> {
        let is_first = |weighed: &Weighed| weighed.range.start == 0;
        plan.sort_by(|a, b| is_first(b).cmp(&is_first(a)).then(b.score.total_cmp(&a.score)));
        let mut room = (self.request.tokens_max.saturating_mul(tokens::TOKEN_BYTES) as f32
            * PLAN_SHARE) as usize;
        for (nth, weighed) in plan.iter_mut().enumerate() {
            let bytes = weighed.range.len();
            weighed.rank =
                if nth == 0 || bytes <= room { 2.0 + weighed.score } else { weighed.score };
            room = room.saturating_sub(bytes);
        }
        plan
    }

    /// The parts of a record that may be shown: those with a word of the query, the one that is
    /// most like it, or the first.
    fn passages(&self, find: &Find) -> Vec<Passage> {
        let mut all = passages::cut(&find.record.text, &self.query, self.request.chunk_chars_max);
        if self.groups[find.group].is_plan {
            return all;
        }
        let liked = |passage: &Passage| {
            find.passage.as_ref().is_some_and(|liked| passage.range.contains(&liked.start))
        };
        let wanted =
            |passage: &Passage| find.share > 0.0 && (!passage.terms.is_empty() || liked(passage));
        if all.iter().any(wanted) {
            all.retain(wanted);
        } else {
            all.truncate(1);
        }
        all
    }

    pub(super) fn line(&self, weighed: &Weighed) -> Line {
        let record = &self.finds[weighed.find].record;
        let Group { run, task, .. } = &self.groups[weighed.group];
        let of = run.as_ref().unwrap_or(self.run);
        let failed =
            task.as_ref().is_some_and(|task| self.failed.contains(&(of.clone(), task.clone())));
        let task = task
            .as_ref()
            .map(ToString::to_string)
            .or_else(|| records::task_of(record).map(name_of));
        let role = if record.label.is_empty() { &record.kind } else { &record.label };
        let title = tokens::one_line(records::bare_title(&record.title, &record.label));
        Line {
            run: run.clone(),
            task,
            failed,
            earlier: weighed.earlier,
            role: name_of(role),
            title: unmarked(tokens::first_chars(&title, TITLE_CHARS_MAX)),
            text: unmarked(&tokens::one_line(&record.text[weighed.range.clone()])),
            uri: record.uri.clone(),
            confidence: record.confidence,
            score: weighed.score,
        }
    }

    pub(super) fn know_failed(&mut self, run: &RunId, tasks: &[TaskInfo]) {
        let failed = tasks.iter().filter(|task| task.status == Status::Failed);
        self.failed.extend(failed.map(|task| (run.clone(), task.id.clone())));
    }

    pub(super) fn group(
        &mut self,
        run: Option<RunId>,
        task: Option<TaskId>,
        is_plan: bool,
    ) -> usize {
        self.groups.push(Group { run, task, is_plan });
        self.groups.len() - 1
    }
}

/// A text without the markers of the block, which ends where it ends. Taking one out may put
/// another one together.
fn unmarked(text: &str) -> String {
    let mut text = text.to_string();
    while let Some(marker) =
        [MARKER_END, MARKER_BEGIN].into_iter().find(|marker| text.contains(marker))
    {
        text = tokens::one_line(&text.replace(marker, " "));
    }
    text
}

/// A name that cannot be taken for more than one.
fn name_of(text: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '_' };
    tokens::first_chars(text, ROLE_BYTES_MAX).chars().map(plain).collect()
}

/// A score as a share of the best one, above 0.
pub(super) fn share(score: f32, best: f32) -> f32 {
    ratio(score, best).clamp(f32::MIN_POSITIVE, 1.0)
}

/// A part of a whole; all of it where the whole is nothing.
fn ratio(part: f32, whole: f32) -> f32 {
    if whole > 0.0 { part / whole } else { 1.0 }
}
