//! What speaks for a record that may answer, in points.
//!
//! | what | points, at most | why |
//! |---|---|---|
//! | words | [`WORDS`] | the BM25 score of its best passage, as a share of the best |
//! | meaning | [`MEANING`] | its cosine, as a share of the best |
//! | no_vector | [`MEANING`] | it has no vector yet: the mean of the others' cosines stands in |
//! | words_beside | [`BEFORE`], [`AFTER`], [`ANSWERS`] | the words of the turns beside it: an answer is found by its question |
//! | meaning_beside | [`MEANING_BEFORE`], [`MEANING_AFTER`], [`ANSWERS`], [`SHORT`] | their cosines, likewise; a short turn says little by itself |
//! | conversation | [`CONVERSATION`] | the words of its session as a whole: how many of the query's, how rare, in how many turns |
//! | role | [`USER`], [`TOOL`] | a user says what is so; a tool says a lot at length |
//! | speaker | [`SPEAKER`] | the query names who speaks, or whom it is about |
//! | asks | [`ASKS`] | a turn that only asks seldom answers |
//! | exact | [`EXACT`] | it has an identifier of the query, or a word with signs in it, as it is: fuzziness never overrules that |
//! | phrase | [`PHRASE`] | it has a quoted phrase of the query as it is |
//! | time | [`TIME`] | it is of the time that the query speaks of, or names that day |
//! | recent, sure | [`RECENT`], [`SURE`] | only when asked for |
//!
//! Where the cosines of a model have a floor, the candidates' median takes the place of 0:
//! what is like the query only as much as the others are has no points for it.
//!
//! The points were chosen on one half of two kinds of conversation, between people and with
//! assistants, and measured on the other half: `docs/benchmarks.md`, "Recall". A share of the best,
//! rather than a rank, keeps what a clear winner is worth: reciprocal ranks gave less in every
//! trial.

use std::collections::{HashMap, HashSet};

use kapsa_index::TermPlace;
use kapsa_model::Model;

use super::fusion::{Fusion, FusionCandidate};
use super::question::Question;
use crate::records::record::Record;
use crate::records::request::TimeSpan;
use crate::records::tokens::first_bytes;
use crate::records::turn::{Role, session, speaker};

/// Points for the words.
pub(super) const WORDS: f32 = 0.85;
/// Points for the meaning.
pub(super) const MEANING: f32 = 1.0;
/// Points for the words of the turn before, and of the one after; half for those two away.
pub(super) const BEFORE: f32 = 0.3;
pub(super) const AFTER: f32 = 0.2;
/// Points for the words, and for the cosine, of the turn before where that asks: this one answers.
pub(super) const ANSWERS: f32 = 0.3;
/// Points for the cosine of the turn before, as far as it exceeds the turn's own.
pub(super) const MEANING_BEFORE: f32 = 0.4;
/// Points for the cosine of the turn after.
pub(super) const MEANING_AFTER: f32 = 0.2;
/// Points by which the cosine of the turn before stands in for that of a short turn.
pub(super) const SHORT: f32 = 0.15;
/// Points for the words of the conversation.
pub(super) const CONVERSATION: f32 = 0.85;
/// Points for a turn of the user.
pub(super) const USER: f32 = 0.5;
/// Points for what a tool says.
pub(super) const TOOL: f32 = -0.3;
/// Points for a speaker whom the query names.
pub(super) const SPEAKER: f32 = 0.3;
/// Points of a turn that asks.
pub(super) const ASKS: f32 = -0.33;
/// Points for each identifier of the query.
pub(super) const EXACT: f32 = 2.0;
/// Points for each quoted phrase.
pub(super) const PHRASE: f32 = 2.0;
/// Points for the right time.
pub(super) const TIME: f32 = 0.5;
/// Points for a record that is new; half after each half-life.
pub(super) const RECENT: f32 = 0.5;
/// Points for a record of full confidence.
pub(super) const SURE: f32 = 0.3;

/// How fast further occurrences of a word count less, and how much length counts (`k1` and `b` of
/// BM25: Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009).
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// A passage is two blocks of so many bytes.
const BLOCK_BYTES: usize = 400;
/// Bytes of a text whose passages are compared; of more, its beginning.
const COMPARED_BYTES_MAX: usize = 32 << 10;
/// How often a word of a title counts, as in the index.
const TITLE_WEIGHT: f32 = 2.0;
/// After so many turns with a word, further ones add little to what the word says of their
/// conversation.
const SATURATION: f32 = 1.2;
/// Turns on each side that are looked at.
const WINDOW_TURNS: u64 = 2;
/// Most bytes of a turn that says little by itself: about twelve words.
const SHORT_BYTES_MAX: usize = 72;
/// Bytes of a text that are looked through for dates.
const DATED_BYTES_MAX: usize = 2 << 10;
/// Fewest candidates whose cosines have a median that says what is common.
const MEDIAN_OF_MIN: usize = 16;
const DAY_US: f64 = 86_400e6;

/// What the words of a query find in a record.
#[derive(Default)]
pub(super) struct Words {
    /// BM25 score of the best passage.
    score: f32,
    /// Places of the query's terms that it has, ascending.
    pub(super) terms: Vec<usize>,
}

/// Gives candidates, ascending by sequence, their points.
pub(super) struct Points<'a> {
    pub(super) fusion: &'a Fusion<'a>,
    /// How rare each term of the query is; none when words have no say.
    pub(super) rarities: Option<&'a [f32]>,
    pub(super) spans: &'a [TimeSpan],
}

impl Points<'_> {
    pub(super) fn give(&self, candidates: &mut [FusionCandidate]) {
        let zero = zero(candidates, &self.fusion.meaning.model);
        score_meaning(candidates, zero, self.rarities.is_some());
        let Some(rarities) = self.rarities else { return };
        let Fusion { question, .. } = self.fusion;
        let words = words(candidates, question, rarities);
        score_words(candidates, &words, rarities);
        for (candidate, words) in candidates.iter_mut().zip(words) {
            candidate.terms = words.terms;
            let exact = exact_words(&question.exact, &candidate.record);
            candidate.add("exact", EXACT * exact as f32);
            let phrases = question.phrases_in(&candidate.record);
            candidate.add("phrase", PHRASE * phrases as f32);
        }
        self.score_circumstances(candidates);
    }

    fn score_circumstances(&self, candidates: &mut [FusionCandidate]) {
        let query: HashSet<String> = words_of(&self.fusion.question.text);
        let is_named =
            |name: &str| !name.is_empty() && words_of(name).iter().all(|word| query.contains(word));
        let named: HashSet<String> = candidates
            .iter()
            .map(|c| speaker(&c.record))
            .filter(|name| is_named(name))
            .map(str::to_lowercase)
            .collect();
        let request = self.fusion.request;
        for candidate in candidates.iter_mut() {
            let record = &candidate.record;
            let mut points = Vec::new();
            if named.len() == 1 && named.contains(&speaker(record).to_lowercase()) {
                points.push(("speaker", SPEAKER));
            }
            if session(record).is_some() && asks(record) {
                points.push(("asks", ASKS));
            }
            if let Some(role) = candidate.role {
                points.push(("role", role_points(role)));
            }
            let is_of_it = self.spans.iter().any(|span| span.contains(record.created_at));
            if is_of_it || self.names_time(record) {
                points.push(("time", TIME));
            }
            if let (Some(days), Some(now)) =
                (request.recency_days, request.time.as_ref().map(|clock| clock.now))
            {
                let age = (now - record.created_at).max(0) as f64 / DAY_US;
                points.push((
                    "recent",
                    RECENT * (0.5f64).powf(age / f64::from(days.max(1e-3))) as f32,
                ));
            }
            if request.confidence {
                points
                    .push(("sure", SURE * record.confidence.unwrap_or(0.5).clamp(0.0, 1.0) as f32));
            }
            points.into_iter().for_each(|(name, points)| candidate.add(name, points));
        }
    }

    /// Whether a record names a time within those that are asked for. What it says is as of when it
    /// came about.
    fn names_time(&self, record: &Record) -> bool {
        let Some(clock) = self.fusion.request.time.as_ref().filter(|_| !self.spans.is_empty())
        else {
            return false;
        };
        let text = first_bytes(&record.text, DATED_BYTES_MAX);
        let named = kapsa_index::periods(text, record.created_at, &clock.calendar);
        named.iter().any(|period| {
            let is_within = |span: &TimeSpan| match (period.from_us, period.until_us) {
                (Some(from), Some(until)) => span.contains(from) && span.contains(until - 1),
                _ => false,
            };
            self.spans.iter().any(is_within)
        })
    }
}

fn role_points(role: Role) -> f32 {
    match role {
        Role::User => USER,
        Role::Assistant => 0.0,
        Role::Tool => TOOL,
    }
}

/// Whether a turn asks.
fn asks(record: &Record) -> bool {
    record.text.trim_end().ends_with(['?', '？'])
}

/// The cosine that is worth nothing: of a model with a floor the median of the candidates', or the
/// floor where they are too few for one.
fn zero(candidates: &[FusionCandidate], model: &Model) -> f32 {
    if model.cosine_floor == 0 {
        return 0.0;
    }
    let cosines = candidates.iter().filter_map(|candidate| Some(candidate.meaning?.1));
    let mut cosines: Vec<f32> = cosines.collect();
    if cosines.len() < MEDIAN_OF_MIN {
        return f32::from(model.cosine_floor) / 100.0;
    }
    let middle = cosines.len() / 2;
    *cosines.select_nth_unstable_by(middle, f32::total_cmp).1
}

/// Meaning, and that of the turns beside a turn.
fn score_meaning(candidates: &mut [FusionCandidate], zero: f32, with_neighbours: bool) {
    let cosine =
        |candidate: &FusionCandidate| candidate.meaning.map(|(_, cosine)| (cosine - zero).max(0.0));
    let known: Vec<f32> = candidates.iter().filter_map(cosine).collect();
    let best = known.iter().copied().fold(1e-6, f32::max);
    // What has no vector yet is taken for middling.
    let unknown = known.iter().sum::<f32>() / known.len().max(1) as f32;
    let own = |candidate: &FusionCandidate| cosine(candidate).unwrap_or(unknown) / best;
    let beside: Vec<f32> = if with_neighbours {
        (0..candidates.len()).map(|at| meaning_beside(candidates, at, &own)).collect()
    } else {
        vec![0.0; candidates.len()]
    };
    for (candidate, beside) in candidates.iter_mut().zip(beside) {
        let name = if candidate.meaning.is_some() { "meaning" } else { "no_vector" };
        candidate.add(name, MEANING * own(candidate));
        candidate.add("meaning_beside", beside);
    }
}

/// Points for the cosines of the turns right beside one; `own` is a turn's own, as a share.
fn meaning_beside(
    candidates: &[FusionCandidate],
    at: usize,
    own: &dyn Fn(&FusionCandidate) -> f32,
) -> f32 {
    let turn = &candidates[at];
    let mut points = 0.0;
    for Beside { distance, at } in beside(candidates, at) {
        let other = own(&candidates[at]);
        match distance {
            -1 => {
                let more = other - own(turn);
                points += MEANING_BEFORE * more.max(0.0);
                if asks(&candidates[at].record) {
                    points += ANSWERS * other;
                }
                if turn.record.text.len() <= SHORT_BYTES_MAX {
                    points += SHORT * more;
                }
            }
            1 => points += MEANING_AFTER * other,
            _ => {}
        }
    }
    points
}

/// A turn beside another.
struct Beside {
    /// How many records after the other it is; negative before.
    distance: i64,
    /// Its place among the candidates.
    at: usize,
}

/// The turns of the same conversation at most [`WINDOW_TURNS`] before or after the one at `at`. Not
/// the user's turns before a reply, which is not what it says.
fn beside(candidates: &[FusionCandidate], at: usize) -> impl Iterator<Item = Beside> + '_ {
    let own = &candidates[at];
    let near = move |other: &usize| {
        let other = &candidates[*other];
        other.place.abs_diff(own.place) <= WINDOW_TURNS
    };
    let before = (0..at).rev().take_while(near);
    let after = (at + 1..candidates.len()).take_while(near);
    let is_reply = matches!(own.role, Some(Role::Assistant | Role::Tool));
    before.chain(after).filter_map(move |other| {
        let turn = &candidates[other];
        let distance = turn.place as i64 - own.place as i64;
        let is_inherited = is_reply && distance < 0 && turn.role == Some(Role::User);
        let is_same =
            session(&turn.record).is_some() && session(&turn.record) == session(&own.record);
        (is_same && !is_inherited).then_some(Beside { distance, at: other })
    })
}

/// A text's places of terms.
struct TermsFound {
    in_text: Vec<TermPlace>,
    /// Terms of the title and the speaker.
    in_title: Vec<usize>,
    /// Bytes of the title and a passage.
    bytes: usize,
}

fn words(candidates: &[FusionCandidate], question: &Question, rarities: &[f32]) -> Vec<Words> {
    let found: Vec<TermsFound> = candidates
        .iter()
        .map(|candidate| {
            let Record { text, title, .. } = &candidate.record;
            let title = format!("{title} {}", speaker(&candidate.record));
            let compared = first_bytes(text, COMPARED_BYTES_MAX);
            TermsFound {
                in_text: kapsa_index::term_places(compared, &question.query),
                in_title: kapsa_index::terms_in(&title, &question.query),
                bytes: title.len() + text.len().min(2 * BLOCK_BYTES),
            }
        })
        .collect();
    let sum: usize = found.iter().map(|found| found.bytes).sum();
    let average = sum.max(1) as f32 / found.len().max(1) as f32;
    let all = candidates.iter().zip(found);
    all.map(|(candidate, found)| {
        let bytes = candidate.record.text.len().min(COMPARED_BYTES_MAX);
        let score = best_passage(&found, bytes, found.bytes as f32 / average, rarities);
        let mut terms: Vec<usize> = found.in_text.iter().map(|place| place.term).collect();
        terms.extend(found.in_title);
        terms.sort_unstable();
        terms.dedup();
        Words { score, terms }
    })
    .collect()
}

/// BM25 of the best passage of a text of so many bytes, whose `length` is that of a passage as a
/// multiple of the average one.
fn best_passage(found: &TermsFound, bytes: usize, length: f32, rarities: &[f32]) -> f32 {
    let norm = K1 * (1.0 - B + B * length);
    let score = |from: usize, until: usize| {
        let mut counts = vec![0.0f32; rarities.len()];
        found.in_title.iter().for_each(|&term| counts[term] += TITLE_WEIGHT);
        let first = found.in_text.partition_point(|place| place.at < from);
        let inside = found.in_text[first..].iter().take_while(|place| place.at < until);
        inside.for_each(|place| counts[place.term] += 1.0);
        let terms = counts.iter().zip(rarities);
        terms.map(|(count, rarity)| rarity * count * (K1 + 1.0) / (count + norm)).sum::<f32>()
    };
    let blocks = bytes.div_ceil(BLOCK_BYTES).max(1);
    (0..blocks.saturating_sub(1).max(1))
        .map(|block| score(block * BLOCK_BYTES, (block + 2) * BLOCK_BYTES))
        .fold(0.0, f32::max)
}

fn score_words(candidates: &mut [FusionCandidate], words: &[Words], rarities: &[f32]) {
    let best = words.iter().map(|words| words.score).fold(1e-6, f32::max);
    let shares: Vec<f32> = words.iter().map(|words| words.score / best).collect();
    let conversations = conversations(candidates, words, rarities);
    let best_conversation = conversations.values().copied().fold(1e-6, f32::max);
    let beside: Vec<f32> =
        (0..candidates.len()).map(|at| words_beside(candidates, at, &shares)).collect();
    for (at, candidate) in candidates.iter_mut().enumerate() {
        let conversation = conversations[&Talk::of(&candidate.record)] / best_conversation;
        candidate.add("words", WORDS * shares[at]);
        candidate.add("words_beside", beside[at]);
        candidate.add("conversation", CONVERSATION * conversation);
    }
}

/// Points for the words of the turns beside one.
fn words_beside(candidates: &[FusionCandidate], at: usize, shares: &[f32]) -> f32 {
    beside(candidates, at)
        .map(|Beside { distance, at }| {
            let weight = if distance < 0 { BEFORE } else { AFTER };
            let answers = distance == -1 && asks(&candidates[at].record);
            let near = weight / distance.unsigned_abs() as f32;
            shares[at] * (near + if answers { ANSWERS } else { 0.0 })
        })
        .sum()
}

/// How many of these words a record has as they are.
pub(super) fn exact_words(words: &[String], record: &Record) -> usize {
    let Record { text, title, .. } = record;
    let has = |word: &&String| {
        kapsa_index::has_code_word(text, word) || kapsa_index::has_code_word(title, word)
    };
    words.iter().filter(has).count()
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

/// For each conversation the sum over the query's terms of rarity · n / (n + [`SATURATION`]), n
/// being the turns that have the term.
fn conversations(
    candidates: &[FusionCandidate],
    words: &[Words],
    rarities: &[f32],
) -> HashMap<Talk, f32> {
    let mut turns: HashMap<Talk, Vec<f32>> = HashMap::new();
    for (candidate, words) in candidates.iter().zip(words) {
        let turns =
            turns.entry(Talk::of(&candidate.record)).or_insert_with(|| vec![0.0; rarities.len()]);
        words.terms.iter().for_each(|&term| turns[term] += 1.0);
    }
    let value = |turns: Vec<f32>| {
        let terms = turns.iter().zip(rarities);
        terms.map(|(n, rarity)| rarity * n / (n + SATURATION)).sum()
    };
    turns.into_iter().map(|(talk, turns)| (talk, value(turns))).collect()
}

/// The words of a text in lower case.
pub(super) fn words_of(text: &str) -> HashSet<String> {
    words_in(text).collect()
}

/// The words of a text in lower case, in their order.
pub(super) fn words_in(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase)
}
