//! Answers a search: candidates by words, and by meaning where there are vectors; then what is no
//! longer true or says the same is left out, groups are made, and each hit gets its snippet and its
//! strength.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use kapsa_index::{Candidate, Query};
use kapsa_model::{Embedder, Purpose};
use xxhash_rust::xxh3::xxh3_128;

use super::around::around;
use super::lookup::shown;
use super::newer;
use super::question::Question;
use super::rerank::{Models, RERANKED, Reranking};
use super::standing::{is_wanted, standing};
use super::strength::{Strength, strength};
use crate::error::{Error, Result};
use crate::records::record::Record;
use crate::records::request::{
    FIND_K_MAX, Filter, FindRequest, Found, Grade, Hit, Means, SearchMode, Why,
};
use crate::records::turn::session;
use crate::search::fusion::{Fused, Fusion, Meaning, Ranked, allows, diverse};
use crate::search::groups::Groups;
use crate::view::View;
use crate::view::coverage::coverage;
use crate::view::vectors;
use crate::view::visibility::{Visibility, list};

/// Records that are looked at for each group or each text that says something new.
const GROUP_DEPTH: usize = 10;
/// How many more are looked at when too many of the first were left out.
pub(super) const POOL_GROWTH: usize = 4;
/// Records of a time that are put in the order of their making.
const TIMED_MAX: usize = 1000;
/// So many of the first hits show how much of a question can be answered at all.
const TOGETHER: usize = 5;
/// Points of a record that the query names.
const NAMED: f32 = 4.0;

/// Searches by words and by meaning, as far as the request wants and the capsule has vectors of
/// this model.
///
/// # Errors
/// `QueryTooLong`; `Embedding` when the model fails; `NoVectors` when meaning alone is wanted and
/// there are none.
pub(crate) fn find(view: &View, request: &FindRequest, models: Models<'_>) -> Result<Found> {
    let mut found = Search::of(view, request, request.plain)?.answer(models)?;
    if request.or_plain && found.hits.is_empty() && !found.read.operators.is_empty() {
        let plain = Search::of(view, request, true)?.answer(models)?;
        if !plain.hits.is_empty() {
            found = plain;
        }
    }
    if found.hits.is_empty() && request.fallback {
        let read = std::mem::take(&mut found.read);
        return Ok(Found { read, ..newest(view, request, &found.means)? });
    }
    Ok(found)
}

/// The hits of a search.
struct Best {
    hits: Vec<Hit>,
    /// Places of the asked words that none of them has.
    missing: Vec<usize>,
    /// Share of the asked words that the first [`TOGETHER`] have together.
    share: f32,
}

/// A search under way.
pub(super) struct Search<'a> {
    pub(super) view: &'a View,
    request: &'a FindRequest,
    pub(super) question: Question,
    pub(super) filter: kapsa_index::Filter,
    k: usize,
    /// Fewest hits that are looked for, though fewer are shown.
    depth_min: usize,
}

impl<'a> Search<'a> {
    fn of(view: &'a View, request: &'a FindRequest, plain: bool) -> Result<Search<'a>> {
        Ok(Search {
            view,
            request,
            question: Question::of(view, request, plain)?,
            filter: request.filter.within(view)?,
            k: request.k.min(FIND_K_MAX),
            depth_min: 0,
        })
    }

    fn answer(mut self, models: Models<'_>) -> Result<Found> {
        if let Some(found) = self.listed()? {
            return Ok(found);
        }
        let mut reranking = models.reranker.map(Reranking::by);
        self.depth_min = if reranking.is_some() { RERANKED } else { 0 };
        let meaning = if self.asks() { self.meaning(models.embedder)? } else { None };
        if meaning.is_none() && self.request.mode == SearchMode::Meaning {
            return Err(Error::NoVectors);
        }
        let mut means = meaning
            .as_ref()
            .map_or_else(|| Means { words: true, ..Means::default() }, |(_, means)| means.clone());
        let meaning = meaning.map(|(meaning, _)| meaning);
        let mut ranked = self.ranked(meaning.as_ref(), means.words)?;
        let mut best = self.best(&mut ranked, reranking.as_mut())?;
        let missing = &best.missing;
        if means.words && !missing.is_empty() && self.question.expand(self.view, missing)? {
            ranked = self.ranked(meaning.as_ref(), true)?;
            best = self.best(&mut ranked, reranking.as_mut())?;
        }
        if let Some(reranking) = reranking {
            reranking.report(&mut means);
        }
        Ok(self.found(best, means))
    }

    fn found(self, best: Best, means: Means) -> Found {
        let Best { hits, share, .. } = best;
        let grade = match hits.iter().any(|hit| !hit.is_weak()) {
            _ if hits.is_empty() => Grade::None,
            true => Grade::Good,
            false => Grade::Weak,
        };
        Found { hits, fallback: false, means, grade, share, read: self.question.read }
    }

    /// Whether meaning has a say.
    fn asks(&self) -> bool {
        let query = &self.question.query;
        match self.request.mode {
            SearchMode::Words => false,
            SearchMode::Meaning => true,
            SearchMode::Auto => query.terms().next().is_some(),
        }
    }

    /// The answer to a question that names nothing but a time, or asks for everything that passes
    /// the filter; none where it asks for more, or there is nothing.
    fn listed(&self) -> Result<Option<Found>> {
        // What is narrowed without being asked for asks for nothing.
        let asked = Filter { sessions_about: None, ..self.request.filter.clone() };
        let has_filter = asked != Filter::default();
        let spans = if self.question.is_everything(has_filter) {
            vec![kapsa_index::Filter::default()]
        } else if self.question.read.time_only && self.request.mode != SearchMode::Meaning {
            let times = self.question.read.times.iter();
            times
                .map(|span| kapsa_index::Filter {
                    since_us: span.from,
                    until_us: span.until,
                    ..kapsa_index::Filter::default()
                })
                .collect()
        } else {
            return Ok(None);
        };
        let mut fused = Vec::new();
        for span in spans {
            let filter = self.filter.with(self.question.query.filter()).with(&span);
            let mut visibility = Visibility::of(self.view);
            let mut accept = |candidate: Candidate<'_>| visibility.accepts(&candidate);
            let most = self.depth().max(TIMED_MAX);
            let searcher = self.view.store().searcher()?;
            let sequences = searcher.newest(&filter, most, None, &mut accept)?;
            visibility.finish()?;
            for sequence in sequences {
                fused.push(Fused {
                    record: self.view.store().record(sequence)?,
                    score: 1.0,
                    passage: None,
                    why: Why { points: vec![("time", 1.0)], ..Why::default() },
                    same_text: Vec::new(),
                });
            }
        }
        let newest =
            |fused: &Fused| std::cmp::Reverse((fused.record.created_at, fused.record.sequence));
        fused.sort_by_key(newest);
        fused.dedup_by_key(|fused| fused.record.sequence);
        let mut listed = Ranked::default();
        listed.append(fused);
        let mut hits = self.best(&mut listed, None)?.hits;
        hits.iter_mut().for_each(|hit| hit.strength = 1.0);
        if hits.is_empty() {
            return Ok(None);
        }
        let read = self.question.read.clone();
        let means = Means { words: true, ..Means::default() };
        Ok(Some(Found { hits, means, grade: Grade::Good, share: 1.0, read, ..Found::default() }))
    }

    /// Everything that may be a hit, best first: without what is not true any more, the same text
    /// once, and what the query names before all.
    fn ranked(&self, meaning: Option<&Meaning<'_>>, with_words: bool) -> Result<Ranked> {
        let mut ranked = match meaning {
            None => self.by_words()?,
            Some(meaning) => self.by_meaning(meaning, with_words)?,
        };
        let best = ranked.fused.iter().map(|fused| fused.score).fold(0.0, f32::max);
        for record in self.question.named.iter().rev() {
            if !allows(&self.filter, self.question.query.filter(), record) {
                continue;
            }
            let at = ranked.fused.iter().position(|fused| fused.record.sequence == record.sequence);
            let mut fused = match at {
                Some(at) => ranked.fused.remove(at),
                None => Fused {
                    record: record.clone(),
                    score: 0.0,
                    passage: None,
                    why: Why::default(),
                    same_text: Vec::new(),
                },
            };
            fused.score = best + NAMED;
            fused.why.points.push(("uri", NAMED));
            ranked.fused.insert(0, fused);
        }
        Ok(ranked)
    }

    fn by_meaning(&self, meaning: &Meaning<'_>, with_words: bool) -> Result<Ranked> {
        let Search { view, request, question, filter, .. } = self;
        let fusion = Fusion { view, request, question, filter, meaning };
        let mut count = self.depth();
        loop {
            let mut ranked = fusion.order(count, with_words)?;
            let is_all = ranked.fused.len() < count || count >= FIND_K_MAX;
            self.leave_out(&mut ranked.fused);
            if is_all || ranked.fused.len() >= self.depth() {
                return Ok(ranked);
            }
            count = count.saturating_mul(POOL_GROWTH).min(FIND_K_MAX);
        }
    }

    /// Leaves out what is not true any more, and what says the same as something before it.
    pub(super) fn leave_out(&self, fused: &mut Vec<Fused>) {
        let mut first: HashMap<u128, usize> = HashMap::new();
        let mut kept: Vec<Fused> = Vec::with_capacity(fused.len());
        for fused in fused.drain(..).filter(|fused| is_wanted(&fused.record, self.request)) {
            let next = kept.len();
            // What the capsule writes about itself says something each time.
            let stands_alone = self.request.duplicates || fused.record.system;
            let at = match stands_alone {
                true => next,
                false => *first.entry(what_it_says(&fused.record)).or_insert(next),
            };
            if at == next {
                kept.push(fused);
            } else {
                kept[at].same_text.push(fused.record.uri);
            }
        }
        *fused = kept;
    }

    /// The best `k` of what was found, or of each group, as the request wants them.
    fn best(&self, ranked: &mut Ranked, reranking: Option<&mut Reranking<'_>>) -> Result<Best> {
        let mut fused = std::mem::take(&mut ranked.fused);
        if let Some(reranking) = reranking {
            let Question { text, query, .. } = &self.question;
            reranking.order(&mut fused, text, query, ranked.by_words);
        }
        if self.request.diverse {
            fused = diverse(fused);
        }
        // A list by time is in the order of time.
        let older =
            if self.question.read.time_only { BTreeMap::new() } else { newer::first(&mut fused) };
        let mut groups = Groups::new(self.request.group);
        groups.gather(&mut fused);
        let measure = Strength::of(&self.question, &ranked.rarities);
        let asked = self.question.query.asked().len();
        let (mut together, mut all) = (vec![0.0f32; asked], vec![0.0f32; asked]);
        let mut hits = Vec::new();
        for fused in fused.into_iter().take(self.k) {
            let group_hits = groups.count(&fused.record);
            let newer = older.get(&fused.record.sequence).copied();
            let record = shown(self.view, fused.record)?;
            let found = measure.found_in(&record, &self.question);
            for (so_far, found) in all.iter_mut().zip(&found) {
                *so_far = so_far.max(*found);
            }
            if hits.len() < TOGETHER {
                together.clone_from(&all);
            }
            let query = Some(&self.question.query);
            let hit = present(record, fused.score, query, fused.passage, self.request);
            let why = Why {
                share: measure.share(&found),
                rarest: measure.has_rarest(&found),
                ..fused.why
            };
            let is_named = why.points.iter().any(|(what, _)| ["uri", "exact"].contains(what));
            let sure = strength(&why);
            hits.push(Hit {
                strength: if is_named { sure.max(1.0) } else { sure },
                why,
                group_hits,
                newer,
                around: around(self.view, &hit.record, self.request.around)?,
                same_text: fused.same_text,
                ..hit
            });
        }
        let missing = (0..asked).filter(|&at| all[at] == 0.0).collect();
        Ok(Best { hits, missing, share: measure.share(&together) })
    }

    /// How many records are looked at for `k` hits.
    pub(super) fn depth(&self) -> usize {
        if self.request.group.is_some() || self.request.diverse {
            self.k.saturating_mul(GROUP_DEPTH).min(FIND_K_MAX)
        } else {
            self.k.max(self.depth_min)
        }
    }

    /// The query as a vector, when there is something to compare it with.
    fn meaning(&self, embedder: Option<&dyn Embedder>) -> Result<Option<(Meaning<'a>, Means)>> {
        let Some(embedder) = embedder else { return Ok(None) };
        let blocks = vectors::of_model(self.view.store(), embedder.model())?;
        if blocks.iter().all(|block| block.is_empty()) {
            return Ok(None);
        }
        let mut vectors =
            embedder.embed(&[&self.request.query], Purpose::Query).map_err(Error::Embedding)?;
        let question = vectors.pop().filter(|vector| vector.len() == blocks[0].dimension());
        let Some(question) = question else { return Ok(None) };
        // How much there is in all, a principal may not know.
        let (covered, missing) = match self.view.is_guarded() {
            true => (0, 0),
            false => coverage(self.view.store()).map(|all| (all.covered, all.missing))?,
        };
        let means = Means {
            words: self.request.mode == SearchMode::Auto,
            model: Some(embedder.model().name.clone()),
            covered,
            missing,
            ..Means::default()
        };
        let model = embedder.model().clone();
        Ok(Some((Meaning { blocks, question, model }, means)))
    }
}

/// What a record says, as a number: its title and text, of whom or by whom, and in which
/// conversation.
fn what_it_says(record: &Record) -> u128 {
    let Record { title, text, entity, agent, kind, .. } = record;
    let session = session(record).unwrap_or_default();
    let parts: [&str; 6] = [title.trim(), text.trim(), entity, agent, session, kind];
    xxh3_128(parts.join("\0").as_bytes())
}

/// The newest records, for a search that matched nothing.
fn newest(view: &View, request: &FindRequest, means: &Means) -> Result<Found> {
    let k = request.k.min(FIND_K_MAX);
    let sequences = list(view, &request.filter, k, true)?;
    let present = |sequence| {
        Ok(present(shown(view, view.store().record(sequence)?)?, 0.0, None, None, request))
    };
    let hits = sequences.into_iter().map(present);
    let hits: Vec<Hit> = hits.collect::<Result<_>>()?;
    Ok(Found { fallback: !hits.is_empty(), hits, means: means.clone(), ..Found::default() })
}

fn present(
    record: Record,
    score: f32,
    query: Option<&Query>,
    passage: Option<Range<u32>>,
    request: &FindRequest,
) -> Hit {
    let passage = passage.map(|range| range.start as usize..range.end as usize);
    let passage = passage.filter(|range| record.text.get(range.clone()).is_some());
    let (mut snippet, mut marks) = (String::new(), Vec::new());
    if request.snippet_chars > 0 {
        let none = Query::default();
        let query = query.unwrap_or(&none);
        let mut cut = kapsa_index::snippet(&record.text, query, request.snippet_chars);
        // Where no word says which part fits best, meaning does.
        if let Some(passage) =
            passage.clone().filter(|passage| cut.highlights.is_empty() && passage.start > 0)
        {
            let text = &record.text[passage.clone()];
            cut = kapsa_index::snippet(text, query, request.snippet_chars);
            cut.range = cut.range.start + passage.start..cut.range.end + passage.start;
        }
        snippet = record.text[cut.range].to_string();
        marks = cut.highlights;
    }
    Hit {
        snippet,
        marks,
        score,
        why: Why::default(),
        passage,
        group_hits: 0,
        strength: 0.0,
        standing: standing(&record, request.valid_at),
        same_text: Vec::new(),
        around: Vec::new(),
        newer: None,
        record,
    }
}
