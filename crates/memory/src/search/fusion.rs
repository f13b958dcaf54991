//! Ranks by words and meaning together: candidates of both, each given points for what speaks for
//! it.
//!
//! | what | points, at most | why |
//! |---|---|---|
//! | words | [`WORDS`] | its BM25 score, as a share of the best |
//! | meaning | [`MEANING`] | its cosine, as a share of the best |
//! | no_vector | [`MEANING`] | it has no vector yet: the mean of the others' cosines stands in |
//! | before, after | [`BEFORE`], [`AFTER`] | the words of the turns beside it: an answer is found by its question |
//! | conversation | [`CONVERSATION`] | the words of its session as a whole: how many of the query's, how rare, in how many turns |
//! | speaker | [`SPEAKER`] | the query names who speaks, or whom it is about |
//! | asks | [`ASKS`] | a turn that only asks seldom answers |
//! | exact | [`EXACT`] | it has an identifier of the query, or a word with signs in it, as it is: fuzziness never overrules that |
//! | time | [`TIME`] | it is of the time that the query speaks of |
//! | recent, sure | [`RECENT`], [`SURE`] | only when asked for |
//!
//! The points were chosen on one half of a set of conversations and measured on the other, both
//! ways: `docs/benchmarks.md`, "Recall". A share of the best, rather than a rank, keeps what a
//! clear winner is worth: reciprocal ranks gave less in every trial.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use kapsa_index::{Near, Sequences, Vectors};

use super::question::Question;
use crate::error::Result;
use crate::records::record::Record;
use crate::records::request::{FindRequest, LIMIT_NONE, TimeSpan, Why};
use crate::records::uri::Uri;
use crate::view::View;
use crate::view::vectors::{session, speaker};
use crate::view::visibility::Visibility;

/// Points for the words.
pub const WORDS: f32 = 0.85;
/// Points for the meaning.
pub const MEANING: f32 = 1.0;
/// Points for the words of the turn before.
pub const BEFORE: f32 = 0.3;
/// Points for the words of the turn after.
pub const AFTER: f32 = 0.2;
/// Points for the words of the conversation.
pub const CONVERSATION: f32 = 0.85;
/// Points for a speaker whom the query names.
pub const SPEAKER: f32 = 0.3;
/// Points of a turn that asks.
pub const ASKS: f32 = -0.33;
/// Points for each identifier of the query.
pub const EXACT: f32 = 2.0;
/// Points for the right time.
pub const TIME: f32 = 0.5;
/// Points for a record that is new; half after each half-life.
pub const RECENT: f32 = 0.5;
/// Points for a record of full confidence.
pub const SURE: f32 = 0.3;

/// What has no word of the query must be at least so much like it, as a share of the best: there is
/// always a nearest, however far.
const LIKE_AT_LEAST: f32 = 0.3;
/// And so much in any case, as a cosine.
const COSINE_MIN: f32 = 0.05;
/// Candidates that words and meaning bring each, at least.
const CANDIDATES_MIN: usize = 64;
/// The best by words whose neighbours are candidates too.
const NEIGHBOURS_OF: usize = 16;
/// After so many turns with a word, further ones add little to what the word says of their
/// conversation (`k1` of BM25).
const SATURATION: f32 = 1.2;
/// Share of words that two texts have in common when one says nothing new.
const ALIKE: f32 = 0.8;
/// In place of a rank: it was found in another way than by the list.
const UNRANKED: usize = usize::MAX;
const DAY_US: f64 = 86_400e6;

/// Sequence and score of a record.
type Scored = (u64, f32);

/// A record that may answer.
struct FusionCandidate {
    record: Record,
    words: Option<(usize, f32)>,
    meaning: Option<(usize, f32)>,
    passage: Option<Range<u32>>,
    points: Vec<(&'static str, f32)>,
    /// Places of the query's terms that it has.
    terms: Vec<usize>,
}

impl FusionCandidate {
    fn new(record: Record) -> FusionCandidate {
        FusionCandidate {
            record,
            words: None,
            meaning: None,
            passage: None,
            points: Vec::new(),
            terms: Vec::new(),
        }
    }

    fn words(&self) -> f32 {
        self.words.map_or(0.0, |(_, score)| score)
    }

    /// Whether anything but a likeness of less than `least` speaks for it.
    fn speaks(&self, least: f32) -> bool {
        let beside = self
            .points
            .iter()
            .any(|(what, points)| ["before", "after", "exact"].contains(what) && *points > 0.0);
        self.words.is_some()
            || beside
            || self.meaning.is_some_and(|(_, cosine)| cosine >= least.max(COSINE_MIN))
    }

    fn total(&self) -> f32 {
        self.points.iter().map(|(_, points)| points).sum()
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
}

/// What the order is made of.
pub(crate) struct Fusion<'a> {
    pub(crate) view: &'a View,
    pub(crate) request: &'a FindRequest,
    pub(crate) question: &'a Question,
    pub(crate) filter: &'a kapsa_index::Filter,
    pub(crate) meaning: &'a Meaning<'a>,
}

/// Everything that was ranked, best first, and how much each term of the query tells.
pub(crate) struct Ranked {
    pub(crate) fused: Vec<Fused>,
    pub(crate) rarities: Vec<f32>,
    /// Whether scores are those of words alone, not points.
    pub(crate) by_words: bool,
}

impl Fusion<'_> {
    /// The best by everything, best first; at most `k`, or as many groups.
    pub(crate) fn order(&self, k: usize, with_words: bool) -> Result<Ranked> {
        let count = (3 * k).max(CANDIDATES_MIN);
        let spans = &self.question.read.times;
        let mut rarities = Vec::new();
        let mut all: BTreeMap<u64, FusionCandidate> = BTreeMap::new();
        let near = self.near(self.filter, count)?;
        for (rank, near) in near.into_iter().enumerate() {
            self.add_near(&mut all, Some(rank), near)?;
        }
        if with_words {
            let words;
            (words, rarities) = self.by_words(self.filter, count)?;
            for (rank, (sequence, score)) in words.iter().enumerate() {
                self.candidate(&mut all, *sequence)?.words = Some((rank, *score));
            }
            self.add_neighbours(&mut all, &words)?;
            self.add_of_time(&mut all, spans, count / 2)?;
        }
        let mut candidates: Vec<FusionCandidate> = all.into_values().collect();
        self.score(&mut candidates, spans, with_words.then_some(rarities.as_slice()))?;
        let best = candidates
            .iter()
            .filter_map(|candidate| Some(candidate.meaning?.1))
            .fold(0.0, f32::max);
        candidates.retain(|candidate| candidate.speaks(LIKE_AT_LEAST * best));
        candidates.sort_by(|a, b| {
            b.total().total_cmp(&a.total()).then(b.record.sequence.cmp(&a.record.sequence))
        });
        let fused = candidates.into_iter().map(|candidate| Fused {
            score: candidate.total(),
            passage: candidate.passage,
            why: Why {
                share: 0.0,
                rarest: 0.0,
                words: candidate
                    .words
                    .filter(|(rank, _)| *rank != UNRANKED)
                    .map(|(rank, score)| (rank + 1, score)),
                meaning: candidate
                    .meaning
                    .filter(|(rank, _)| *rank != UNRANKED)
                    .map(|(rank, cosine)| (rank + 1, cosine)),
                cosine: candidate.meaning.map(|(_, cosine)| cosine),
                terms: candidate
                    .terms
                    .iter()
                    .filter_map(|&term| self.question.query.terms().nth(term))
                    .map(str::to_string)
                    .collect(),
                points: candidate.points.into_iter().filter(|(_, points)| *points != 0.0).collect(),
            },
            record: candidate.record,
            same_text: Vec::new(),
        });
        Ok(Ranked { fused: fused.collect(), rarities, by_words: false })
    }

    fn candidate<'c>(
        &self,
        all: &'c mut BTreeMap<u64, FusionCandidate>,
        sequence: u64,
    ) -> Result<&'c mut FusionCandidate> {
        Ok(match all.entry(sequence) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                place.insert(FusionCandidate::new(self.view.store().record(sequence)?))
            }
        })
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

    /// Sequences and scores of the best by words, and how much each word tells.
    fn by_words(
        &self,
        filter: &kapsa_index::Filter,
        count: usize,
    ) -> Result<(Vec<Scored>, Vec<f32>)> {
        let query = &self.question.query;
        let mut visibility = Visibility::of(self.view);
        let mut accept = |candidate: kapsa_index::Candidate<'_>| {
            visibility.accepts(&candidate) && visibility.has_phrases(query, &candidate)
        };
        let searcher = self.view.store().searcher()?;
        let (hits, rarities) = searcher.search_rated(query, filter, count, &mut accept)?;
        visibility.finish()?;
        Ok((hits.into_iter().map(|hit| (hit.seq, hit.score)).collect(), rarities))
    }

    /// The nearest by meaning.
    fn near(&self, filter: &kapsa_index::Filter, count: usize) -> Result<Vec<Near>> {
        let filter = filter.with(self.question.query.filter());
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
            Ok(Some(candidate)) => visibility.accepts(&candidate),
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

    /// The turns before and after the best by words: an answer need not have a word of the
    /// question.
    fn add_neighbours(
        &self,
        all: &mut BTreeMap<u64, FusionCandidate>,
        words: &[Scored],
    ) -> Result<()> {
        let searcher = self.view.store().searcher()?;
        for &(sequence, _) in words.iter().take(NEIGHBOURS_OF) {
            let Some(session) = all
                .get(&sequence)
                .and_then(|candidate| session(&candidate.record))
                .map(str::to_string)
            else {
                continue;
            };
            for other in [sequence - 1, sequence + 1] {
                if other == 0 || all.contains_key(&other) || !self.filter.allows_seq(other) {
                    continue;
                }
                let Some(found) = searcher.candidate(other)? else { continue };
                let record = self.view.store().record(other)?;
                let mut visibility = Visibility::of(self.view);
                let seen =
                    self::session(&record) == Some(session.as_str()) && visibility.accepts(&found);
                visibility.finish()?;
                if seen && allows(self.filter, self.question.query.filter(), &record) {
                    all.insert(other, FusionCandidate::new(record));
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
                self.add_near(all, None, near)?;
            }
            for (sequence, score) in self.by_words(&filter, count)?.0 {
                let candidate = self.candidate(all, sequence)?;
                candidate.words.get_or_insert((UNRANKED, score));
            }
        }
        Ok(())
    }

    fn score(
        &self,
        candidates: &mut [FusionCandidate],
        spans: &[TimeSpan],
        rarities: Option<&[f32]>,
    ) -> Result<()> {
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
        let known: Vec<f32> =
            candidates.iter().filter_map(|candidate| Some(candidate.meaning?.1.max(0.0))).collect();
        let best_meaning = known.iter().copied().fold(1e-6, f32::max);
        // What has no vector yet is taken for middling.
        let unknown = known.iter().sum::<f32>() / known.len().max(1) as f32;
        for candidate in candidates.iter_mut() {
            let (name, cosine) = match candidate.meaning {
                Some((_, cosine)) => ("meaning", cosine.max(0.0)),
                None => ("no_vector", unknown),
            };
            candidate.points.push((name, MEANING * cosine / best_meaning));
        }
        let Some(rarities) = rarities else { return Ok(()) };
        self.score_words(candidates, rarities);
        self.score_exact(candidates);
        self.score_circumstances(candidates, spans);
        Ok(())
    }

    fn score_words(&self, candidates: &mut [FusionCandidate], rarities: &[f32]) {
        let best = candidates.iter().map(FusionCandidate::words).fold(1e-6, f32::max);
        for candidate in candidates.iter_mut().filter(|candidate| candidate.words.is_some()) {
            let Record { text, title, entity, .. } = &candidate.record;
            candidate.terms =
                kapsa_index::terms_in(&format!("{title} {entity} {text}"), &self.question.query);
        }
        let shares: Vec<f32> =
            candidates.iter().map(|candidate| candidate.words() / best).collect();
        let conversations = conversations(candidates, rarities);
        let best =
            conversations.values().map(|conversation| conversation.value).fold(1e-6, f32::max);
        let mut points: Vec<[f32; 3]> = Vec::with_capacity(candidates.len());
        for (at, candidate) in candidates.iter().enumerate() {
            let conversation = &conversations[&Talk::of(&candidate.record)];
            let beside = |places: &mut dyn Iterator<Item = &usize>| -> f32 {
                let near = places.map(|&other| {
                    (
                        candidate.record.sequence.abs_diff(candidates[other].record.sequence),
                        shares[other],
                    )
                });
                near.take_while(|(distance, _)| *distance <= 2)
                    .map(|(distance, share)| share / distance as f32)
                    .sum()
            };
            let place = conversation.turns.partition_point(|&turn| turn < at);
            let before = beside(&mut conversation.turns[..place].iter().rev());
            let after = beside(&mut conversation.turns[place + 1..].iter());
            points.push([conversation.value / best, before, after]);
        }
        for ((candidate, share), [conversation, before, after]) in
            candidates.iter_mut().zip(shares).zip(points)
        {
            candidate.points.push(("words", WORDS * share));
            candidate.points.push(("before", BEFORE * before));
            candidate.points.push(("after", AFTER * after));
            candidate.points.push(("conversation", CONVERSATION * conversation));
        }
    }

    fn score_exact(&self, candidates: &mut [FusionCandidate]) {
        for candidate in candidates.iter_mut() {
            let found = exact_words(&self.question.exact, &candidate.record);
            candidate.points.push(("exact", EXACT * found as f32));
        }
    }

    fn score_circumstances(&self, candidates: &mut [FusionCandidate], spans: &[TimeSpan]) {
        let query: HashSet<String> = words_of(&self.question.text);
        let is_named =
            |name: &str| !name.is_empty() && words_of(name).iter().all(|word| query.contains(word));
        let named: HashSet<String> = candidates
            .iter()
            .map(|c| speaker(&c.record))
            .filter(|name| is_named(name))
            .map(str::to_lowercase)
            .collect();
        for candidate in candidates.iter_mut() {
            let record = &candidate.record;
            let mut points = Vec::new();
            if named.len() == 1 && named.contains(&speaker(record).to_lowercase()) {
                points.push(("speaker", SPEAKER));
            }
            if session(record).is_some() && record.text.trim_end().ends_with(['?', '？']) {
                points.push(("asks", ASKS));
            }
            if spans.iter().any(|span| span.contains(record.created_at)) {
                points.push(("time", TIME));
            }
            if let (Some(days), Some(now)) =
                (self.request.recency_days, self.request.time.as_ref().map(|clock| clock.now))
            {
                let age = (now - record.created_at).max(0) as f64 / DAY_US;
                points.push((
                    "recent",
                    RECENT * (0.5f64).powf(age / f64::from(days.max(1e-3))) as f32,
                ));
            }
            if self.request.confidence {
                points
                    .push(("sure", SURE * record.confidence.unwrap_or(0.5).clamp(0.0, 1.0) as f32));
            }
            candidate.points.extend(points);
        }
    }
}

/// How many of these words a record has as they are.
pub(crate) fn exact_words(words: &[String], record: &Record) -> usize {
    let Record { text, title, .. } = record;
    let has = |word: &&String| {
        kapsa_index::has_code_word(text, word) || kapsa_index::has_code_word(title, word)
    };
    words.iter().filter(has).count()
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

/// A conversation, or a record that is part of none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Talk {
    Session(String),
    Alone(u64),
}

impl Talk {
    fn of(record: &Record) -> Talk {
        session(record)
            .map_or(Talk::Alone(record.sequence), |session| Talk::Session(session.to_string()))
    }
}

/// What the candidates tell of a conversation.
#[derive(Default)]
struct Conversation {
    /// Their places, ascending, as they are by sequence.
    turns: Vec<usize>,
    value: f32,
}

/// For each conversation the sum over the query's terms of rarity · n / (n + [`SATURATION`]), n
/// being the turns that have the term.
fn conversations(candidates: &[FusionCandidate], rarities: &[f32]) -> HashMap<Talk, Conversation> {
    let mut all: HashMap<Talk, Conversation> = HashMap::new();
    for (at, candidate) in candidates.iter().enumerate() {
        all.entry(Talk::of(&candidate.record)).or_default().turns.push(at);
    }
    for conversation in all.values_mut() {
        let mut turns_with = vec![0u32; rarities.len()];
        for term in conversation.turns.iter().flat_map(|&turn| &candidates[turn].terms) {
            turns_with[*term] += 1;
        }
        let value = |(n, rarity): (u32, &f32)| rarity * n as f32 / (n as f32 + SATURATION);
        conversation.value = turns_with.into_iter().zip(rarities).map(value).sum();
    }
    all
}

/// The words of a text in lower case.
pub(crate) fn words_of(text: &str) -> HashSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
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
