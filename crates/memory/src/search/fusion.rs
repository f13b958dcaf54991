//! Ranks by words and meaning together: pools of candidates of both, each given
//! [points](super::points) for what speaks for it.
//!
//! Pools have fixed sizes, and what a larger pool brings comes after what a smaller one had: the
//! order of hits does not depend on how many are wanted.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use kapsa_index::{Near, Query, Sequences, Vectors};
use kapsa_model::Model;

use super::points::{Points, words_of};
use super::question::Question;
use crate::error::Result;
use crate::records::record::Record;
use crate::records::request::{FIND_K_MAX, FindRequest, LIMIT_NONE, TimeSpan, Why};
use crate::records::turn::{Role, role, session};
use crate::records::uri::Uri;
use crate::view::View;
use crate::view::known::{self, KnownRecords};
use crate::view::visibility::Visibility;

/// What has no word of the query must be at least so much like it, as a share of the best: there is
/// always a nearest, however far.
const LIKE_AT_LEAST: f32 = 0.3;
/// And so much in any case.
const LIKENESS_MIN: f32 = 0.05;
/// Candidates that words and meaning each bring to the first pool.
const POOL: usize = 64;
/// Most bytes of text in a pool, but for the first candidates.
pub(super) const POOL_BYTES_MAX: usize = 64 << 20;
/// Candidates that are kept however large they are.
const LARGE_CANDIDATES_MIN: usize = 4;
/// How many times as many they bring to the next one.
const POOL_GROWTH: usize = 4;
/// The best by words and by meaning whose neighbours are candidates too.
const NEIGHBOURS_OF: usize = 16;
/// Turns on each side of them that are.
const NEIGHBOURS: u64 = 2;
/// Most records with the words that are required among which meaning looks.
const REQUIRED_MAX: usize = 4096;
/// Share of words that two texts have in common when one says nothing new.
const ALIKE: f32 = 0.8;
/// In place of a rank: it was found in another way than by the list.
const UNRANKED: usize = usize::MAX;

/// Sequence and score of a record.
type Scored = (u64, f32);

/// A record that may answer.
pub(super) struct FusionCandidate {
    pub(super) record: Record,
    /// Where it stands among the records that whoever asks may know.
    pub(super) place: u64,
    pub(super) role: Option<Role>,
    words: Option<(usize, f32)>,
    pub(super) meaning: Option<(usize, f32)>,
    passage: Option<Range<u32>>,
    points: Vec<(&'static str, f32)>,
    /// Places of the query's terms that it has.
    pub(super) terms: Vec<usize>,
}

impl FusionCandidate {
    fn new(record: Record, place: u64) -> FusionCandidate {
        FusionCandidate {
            place,
            role: role(&record),
            record,
            words: None,
            meaning: None,
            passage: None,
            points: Vec::new(),
            terms: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, what: &'static str, points: f32) {
        if points != 0.0 {
            self.points.push((what, points));
        }
    }

    /// How like the question it is by a model.
    fn likeness(&self, model: &Model) -> Option<f32> {
        self.meaning.map(|(_, cosine)| model.likeness(cosine))
    }

    /// Whether anything but a likeness of less than `least` speaks for it.
    fn speaks(&self, least: f32, model: &Model) -> bool {
        let other =
            self.points.iter().any(|(what, _)| ["words_beside", "exact", "phrase"].contains(what));
        self.words.is_some()
            || other
            || self.likeness(model).is_some_and(|likeness| likeness >= least.max(LIKENESS_MIN))
    }

    fn total(&self) -> f32 {
        self.points.iter().map(|(_, points)| points).sum()
    }

    fn fused(self, question: &Question, model: &Model) -> Fused {
        let ranked = |place: Option<(usize, f32)>| {
            place.filter(|(rank, _)| *rank != UNRANKED).map(|(rank, score)| (rank + 1, score))
        };
        let likeness = self.likeness(model);
        let terms = self.terms.iter().filter_map(|&term| question.query.terms().nth(term));
        Fused {
            score: self.total(),
            passage: self.passage,
            why: Why {
                share: 0.0,
                rarest: 0.0,
                words: ranked(self.words),
                meaning: ranked(self.meaning),
                cosine: self.meaning.map(|(_, cosine)| cosine),
                likeness,
                terms: terms.map(str::to_string).collect(),
                points: self.points,
            },
            record: self.record,
            same_text: Vec::new(),
        }
    }
}

/// A record in the common order.
pub(crate) struct Fused {
    pub(crate) record: Record,
    pub(crate) score: f32,
    pub(crate) passage: Option<Range<u32>>,
    pub(crate) why: Why,
    /// Others that hold the same text.
    pub(crate) same_text: Vec<Uri>,
}

/// A question as a vector, and the vectors it can be compared with.
pub(crate) struct Meaning<'a> {
    pub(crate) blocks: Vec<&'a Vectors>,
    pub(crate) question: Vec<f32>,
    /// The model that made both.
    pub(crate) model: Model,
}

/// What the order is made of.
pub(crate) struct Fusion<'a> {
    pub(crate) view: &'a View,
    pub(crate) request: &'a FindRequest,
    pub(crate) question: &'a Question,
    pub(crate) filter: &'a kapsa_index::Filter,
    pub(crate) meaning: &'a Meaning<'a>,
}

/// Everything that was ranked, best first, and how rare each term of the query is.
#[derive(Default)]
pub(crate) struct Ranked {
    pub(crate) fused: Vec<Fused>,
    pub(crate) rarities: Vec<f32>,
    /// Whether scores are those of words alone, not points.
    pub(crate) by_words: bool,
    /// Sequences of all that were ever in it.
    seen: HashSet<u64>,
}

impl Ranked {
    /// Adds what was not in it yet, behind everything that is.
    pub(crate) fn append(&mut self, fused: impl IntoIterator<Item = Fused>) {
        let lowest = self.fused.last().map_or(f32::MAX, |fused| fused.score);
        let new = fused.into_iter().filter(|fused| self.seen.insert(fused.record.sequence));
        self.fused.extend(new.map(|fused| Fused { score: fused.score.min(lowest), ..fused }));
    }
}

/// Candidates, best first.
struct Pool {
    candidates: Vec<FusionCandidate>,
    /// How rare each term of the query is.
    rarities: Vec<f32>,
    /// Whether neither words nor meaning would bring more.
    is_all: bool,
}

impl Fusion<'_> {
    /// The best by everything, best first: at least `count` if there are so many.
    pub(crate) fn order(&self, count: usize, with_words: bool) -> Result<Ranked> {
        let mut all = Ranked::default();
        let mut pool = POOL;
        loop {
            let Pool { candidates, rarities, is_all } = self.pool(pool, with_words)?;
            let fused =
                |candidate: FusionCandidate| candidate.fused(self.question, &self.meaning.model);
            all.append(candidates.into_iter().map(fused));
            all.rarities = rarities;
            if is_all || pool >= FIND_K_MAX || all.fused.len() >= count {
                return Ok(all);
            }
            pool = pool.saturating_mul(POOL_GROWTH).min(FIND_K_MAX);
        }
    }

    /// The candidates of one pool, best first.
    fn pool(&self, count: usize, with_words: bool) -> Result<Pool> {
        let spans = &self.question.read.times;
        let mut rarities = Vec::new();
        let mut all: BTreeMap<u64, FusionCandidate> = BTreeMap::new();
        let near = self.near(self.filter, count)?;
        let mut is_all = near.len() < count;
        let mut best: Vec<u64> = near.iter().take(NEIGHBOURS_OF).map(|near| near.seq).collect();
        let mut words = Vec::new();
        if with_words {
            (words, rarities) = self.by_words(&self.question.query, self.filter, count)?;
            is_all &= words.len() < count;
        }
        // Rank by rank, so that texts of many megabytes leave out the last ones of both.
        for rank in 0..near.len().max(words.len()) {
            if is_large(&all) {
                break;
            }
            if let Some(near) = near.get(rank) {
                self.add_near(&mut all, Some(rank), near.clone())?;
            }
            if let Some((sequence, score)) = words.get(rank) {
                self.candidate(&mut all, *sequence)?.words = Some((rank, *score));
            }
        }
        if with_words {
            for phrase in &self.question.phrases {
                let query = self.question.query.clone().and_required(phrase);
                for (sequence, score) in self.by_words(&query, self.filter, count)?.0 {
                    self.candidate(&mut all, sequence)?.words.get_or_insert((UNRANKED, score));
                }
            }
            best.extend(words.iter().take(NEIGHBOURS_OF).map(|(sequence, _)| *sequence));
            self.add_neighbours(&mut all, &best)?;
            self.add_of_time(&mut all, spans, count / 2)?;
        }
        let mut candidates: Vec<FusionCandidate> = all.into_values().collect();
        self.compare(&mut candidates)?;
        let words = with_words.then_some(rarities.as_slice());
        Points { fusion: self, rarities: words, spans }.give(&mut candidates);
        let model = &self.meaning.model;
        let best =
            candidates.iter().filter_map(|candidate| candidate.likeness(model)).fold(0.0, f32::max);
        candidates.retain(|candidate| candidate.speaks(LIKE_AT_LEAST * best, model));
        candidates.sort_by(|a, b| {
            b.total().total_cmp(&a.total()).then(b.record.sequence.cmp(&a.record.sequence))
        });
        Ok(Pool { candidates, rarities, is_all })
    }

    fn candidate<'c>(
        &self,
        all: &'c mut BTreeMap<u64, FusionCandidate>,
        sequence: u64,
    ) -> Result<&'c mut FusionCandidate> {
        Ok(match all.entry(sequence) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(self.new_candidate(sequence)?),
        })
    }

    fn new_candidate(&self, sequence: u64) -> Result<FusionCandidate> {
        let record = self.view.store().record(sequence)?;
        Ok(FusionCandidate::new(record, known::place(self.view.scope()?, sequence)))
    }

    fn add_near(
        &self,
        all: &mut BTreeMap<u64, FusionCandidate>,
        rank: Option<usize>,
        near: Near,
    ) -> Result<()> {
        let candidate = self.candidate(all, near.seq)?;
        if candidate.meaning.is_none() {
            candidate.meaning = Some((rank.unwrap_or(UNRANKED), near.score));
            candidate.passage = Some(near.passage);
        }
        Ok(())
    }

    /// Sequences and scores of the best by words, and how rare each word is.
    fn by_words(
        &self,
        query: &Query,
        filter: &kapsa_index::Filter,
        count: usize,
    ) -> Result<(Vec<Scored>, Vec<f32>)> {
        let mut visibility = Visibility::of(self.view);
        let mut accept = |candidate: kapsa_index::Candidate<'_>| {
            visibility.accepts(&candidate) && visibility.has_phrases(query, &candidate)
        };
        let scope = self.view.scope()?.map(KnownRecords::as_scope);
        let searcher = self.view.store().searcher()?;
        let (hits, rarities) = searcher.search_rated(query, filter, scope, count, &mut accept)?;
        visibility.finish()?;
        Ok((hits.into_iter().map(|hit| (hit.seq, hit.score)).collect(), rarities))
    }

    /// The nearest by meaning of what has everything that is required.
    fn near(&self, filter: &kapsa_index::Filter, count: usize) -> Result<Vec<Near>> {
        let query = &self.question.query;
        let mut filter = filter.with(query.filter());
        if let Some(required) = query.required() {
            let found = self.by_words(&required, &filter, REQUIRED_MAX)?.0;
            let mut seqs: Vec<u64> = found.into_iter().map(|(sequence, _)| sequence).collect();
            seqs.sort_unstable();
            let seqs = Sequences::new(seqs.into_iter().map(|seq| seq..seq + 1).collect());
            filter = kapsa_index::Filter { seqs: Some(seqs), ..kapsa_index::Filter::default() };
        }
        let listed;
        let seqs = if filter.is_only_seqs() {
            filter.seqs.as_ref()
        } else {
            let mut passing =
                self.view.store().searcher()?.oldest(&filter, LIMIT_NONE, None, &mut |_| true)?;
            passing.dedup();
            listed = Sequences::new(passing.into_iter().map(|seq| seq..seq + 1).collect());
            Some(&listed)
        };
        let searcher = self.view.store().searcher()?;
        let mut visibility = Visibility::of(self.view);
        let mut accept = |seq: u64| match searcher.candidate(seq) {
            Ok(Some(candidate)) => {
                visibility.accepts(&candidate)
                    && (!query.is_strict()
                        || visibility.fits(&candidate, &mut |record| self.fits(record)))
            }
            Ok(None) => false,
            Err(error) => visibility.fail(error.into()),
        };
        let near = kapsa_index::nearest(
            &self.meaning.blocks,
            &self.meaning.question,
            count,
            seqs,
            &mut accept,
        )?;
        visibility.finish()?;
        Ok(near)
    }

    /// Whether a record has what is required, and nothing that is excluded.
    fn fits(&self, record: &Record) -> bool {
        let title = crate::tables::segments::Indexed::of_record(record, false, false).title;
        self.question.query.fits(&title, &record.text)
    }

    /// The turns before and after the best: an answer need not have a word of the question.
    fn add_neighbours(&self, all: &mut BTreeMap<u64, FusionCandidate>, best: &[u64]) -> Result<()> {
        let searcher = self.view.store().searcher()?;
        for &sequence in best {
            let Some(session) = all
                .get(&sequence)
                .and_then(|candidate| session(&candidate.record))
                .map(str::to_string)
            else {
                continue;
            };
            for other in known::beside(self.view.scope()?, sequence, NEIGHBOURS) {
                if is_large(all) {
                    return Ok(());
                }
                if all.contains_key(&other) || !self.filter.allows_seq(other) {
                    continue;
                }
                let Some(found) = searcher.candidate(other)? else { continue };
                let record = self.view.store().record(other)?;
                let mut visibility = Visibility::of(self.view);
                let seen =
                    self::session(&record) == Some(session.as_str()) && visibility.accepts(&found);
                visibility.finish()?;
                let is_allowed = allows(self.filter, self.question.query.filter(), &record);
                if seen && is_allowed && self.fits(&record) {
                    let place = known::place(self.view.scope()?, other);
                    all.insert(other, FusionCandidate::new(record, place));
                }
            }
        }
        Ok(())
    }

    /// The best of the time that is preferred.
    fn add_of_time(
        &self,
        all: &mut BTreeMap<u64, FusionCandidate>,
        spans: &[TimeSpan],
        count: usize,
    ) -> Result<()> {
        for span in spans {
            let within = kapsa_index::Filter {
                since_us: span.from,
                until_us: span.until,
                ..Default::default()
            };
            let filter = self.filter.with(&within);
            for near in self.near(&filter, count)? {
                if is_large(all) {
                    return Ok(());
                }
                self.add_near(all, None, near)?;
            }
            for (sequence, score) in self.by_words(&self.question.query, &filter, count)?.0 {
                if is_large(all) {
                    return Ok(());
                }
                let candidate = self.candidate(all, sequence)?;
                candidate.words.get_or_insert((UNRANKED, score));
            }
        }
        Ok(())
    }

    /// Compares those with the question that meaning did not bring.
    fn compare(&self, candidates: &mut [FusionCandidate]) -> Result<()> {
        for candidate in candidates.iter_mut().filter(|candidate| candidate.meaning.is_none()) {
            let near = kapsa_index::similarity(
                &self.meaning.blocks,
                &self.meaning.question,
                candidate.record.sequence,
            )?;
            if let Some(near) = near {
                candidate.meaning = Some((UNRANKED, near.score));
                candidate.passage = Some(near.passage);
            }
        }
        Ok(())
    }
}

/// Whether the texts of candidates take as much memory as they may.
fn is_large(all: &BTreeMap<u64, FusionCandidate>) -> bool {
    all.len() > LARGE_CANDIDATES_MIN
        && all.values().map(|candidate| candidate.record.text.len()).sum::<usize>() > POOL_BYTES_MAX
}

/// Whether a record that the index did not search for passes two filters.
pub(crate) fn allows(
    one: &kapsa_index::Filter,
    other: &kapsa_index::Filter,
    record: &Record,
) -> bool {
    let terms = crate::tables::segments::Indexed::of_record(record, false, false);
    let filter = one.with(other);
    filter.allows_seq(record.sequence) && filter.allows(terms.terms(), record.created_at)
}

/// Moves what says nothing new behind everything that does, and keeps the order otherwise.
pub(crate) fn diverse(fused: Vec<Fused>) -> Vec<Fused> {
    let mut seen: Vec<HashSet<String>> = Vec::new();
    let (mut first, mut last) = (Vec::new(), Vec::new());
    for fused in fused {
        let words = words_of(&fused.record.text);
        let alike = |other: &HashSet<String>| {
            let shared = words.intersection(other).count() as f32;
            shared >= ALIKE * (words.len() + other.len()) as f32 / (1.0 + ALIKE)
        };
        if seen.iter().any(alike) {
            last.push(fused);
        } else {
            seen.push(words);
            first.push(fused);
        }
    }
    first.extend(last);
    first
}
