//! What speaks for a record that may answer, in points.
//!
//! | what | points, at most | why |
//! |---|---|---|
//! | words | [`WORDS`] | the BM25 score of its best passage, as a share of the best |
//! | meaning | [`MEANING`] | its cosine, as a share of the best |
//! | no_vector | [`MEANING`] | it has no vector yet: the mean of the others' cosines stands in |
//! | window | [`WINDOW`] | the words of the turns beside it: an answer is found by its question |
//! | near | [`NEAR`] | the cosines of the turns beside a short turn, which says little by itself |
//! | conversation | [`CONVERSATION`] | the words of its session as a whole: how many of the query's, how rare, in how many turns |
//! | role | [`USER`] | a user says what is so; assistants and tools repeat it at length |
//! | speaker | [`SPEAKER`] | the query names who speaks, or whom it is about |
//! | asks | [`ASKS`] | a turn that only asks seldom answers |
//! | exact | [`EXACT`] | it has an identifier of the query, or a word with signs in it, as it is: fuzziness never overrules that |
//! | phrase | [`PHRASE`] | it has a quoted phrase of the query as it is |
//! | time | [`TIME`] | it is of the time that the query speaks of, or names that day |
//! | recent, sure | [`RECENT`], [`SURE`] | only when asked for |
//!
//! The points were chosen on one half of two kinds of conversation, between people and with
//! assistants, and measured on the other half: `docs/benchmarks.md`, "Recall". A share of the best,
//! rather than a rank, keeps what a clear winner is worth: reciprocal ranks gave less in every
//! trial.

use std::collections::{HashMap, HashSet};

use kapsa_index::TermPlace;

use super::fusion::{Candidate, Fusion};
use super::question::Question;
use crate::records::record::Record;
use crate::records::request::TimeSpan;
use crate::records::tokens::first_bytes;
use crate::records::turn::{Role, role, session, speaker};

pub(super) fn tune(name: &str, default: f32) -> f32 {
    use std::sync::{LazyLock, Mutex};
    static SET: LazyLock<Mutex<HashMap<String, f32>>> = LazyLock::new(Mutex::default);
    let mut set = SET.lock().unwrap();
    *set.entry(name.to_string()).or_insert_with(|| {
        std::env::var(format!("T_{name}")).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
    })
}

/// Points for the words.
pub(super) const WORDS: f32 = 0.85;
/// Points for the meaning.
pub(super) const MEANING: f32 = 1.0;
/// Points for the words of the turns beside it.
pub(super) const WINDOW: f32 = 0.4;
/// Points for the cosines of the turns beside a short turn.
pub(super) const NEAR: f32 = 0.0;
/// Points for the words of the conversation.
pub(super) const CONVERSATION: f32 = 0.85;
/// Points for a turn of the user.
pub(super) const USER: f32 = 0.3;
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
    pub(super) fn give(&self, candidates: &mut [Candidate]) {
        score_meaning(candidates);
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

    fn score_circumstances(&self, candidates: &mut [Candidate]) {
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
            if session(record).is_some() && record.text.trim_end().ends_with(['?', '？']) {
                points.push(("asks", tune("ASKS", ASKS)));
            }
            if let Some(role) = candidate.role {
                points.push(("role", role_points(role)));
            }
            if self.spans.iter().any(|span| span.contains(record.created_at)) {
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
}

fn role_points(role: Role) -> f32 {
    match role {
        Role::User => tune("USER", USER),
        Role::Assistant => tune("ASSISTANT", 0.0),
        Role::Tool => tune("TOOL", 0.0),
    }
}

/// Meaning, and that of the turns beside a short turn.
fn score_meaning(candidates: &mut [Candidate]) {
    let cosine = |candidate: &Candidate| candidate.meaning.map(|(_, cosine)| cosine.max(0.0));
    let known: Vec<f32> = candidates.iter().filter_map(cosine).collect();
    let best = known.iter().copied().fold(1e-6, f32::max);
    // What has no vector yet is taken for middling.
    let unknown = known.iter().sum::<f32>() / known.len().max(1) as f32;
    let beside: Vec<f32> = (0..candidates.len())
        .map(|at| {
            let turns = beside(candidates, at).filter_map(|(_, other)| cosine(&candidates[other]));
            turns.fold(0.0, f32::max)
        })
        .collect();
    for (candidate, beside) in candidates.iter_mut().zip(beside) {
        let (name, cosine) = match cosine(candidate) {
            Some(cosine) => ("meaning", cosine),
            None => ("no_vector", unknown),
        };
        candidate.add(name, tune("MEANING", MEANING) * cosine / best);
        if candidate.record.text.len() <= SHORT_BYTES_MAX {
            candidate.add("near", tune("NEAR", NEAR) * beside / best);
        }
    }
}

/// The turns of the same conversation at most [`WINDOW_TURNS`] before or after the one at `at`, with
/// how far each is. Not the user's turns before a reply, which is not what it says.
fn beside(candidates: &[Candidate], at: usize) -> impl Iterator<Item = (i64, usize)> + '_ {
    let own = &candidates[at];
    let near = move |other: &usize| {
        let other = &candidates[*other];
        other.record.sequence.abs_diff(own.record.sequence) <= WINDOW_TURNS
    };
    let before = (0..at).rev().take_while(near);
    let after = (at + 1..candidates.len()).take_while(near);
    let is_reply = matches!(own.role, Some(Role::Assistant | Role::Tool));
    before.chain(after).filter_map(move |other| {
        let turn = &candidates[other];
        let distance = turn.record.sequence as i64 - own.record.sequence as i64;
        let is_inherited = is_reply && distance < 0 && turn.role == Some(Role::User);
        let is_same = session(&turn.record).is_some()
            && session(&turn.record) == session(&own.record);
        (is_same && !is_inherited).then_some((distance, other))
    })
}

fn words(candidates: &[Candidate], question: &Question, rarities: &[f32]) -> Vec<Words> {
    let places: Vec<(Vec<TermPlace>, Vec<usize>, usize)> = candidates
        .iter()
        .map(|candidate| {
            let Record { text, title, .. } = &candidate.record;
            let title = format!("{title} {}", speaker(&candidate.record));
            let in_title = kapsa_index::terms_in(&title, &question.query);
            let bytes = title.len() + text.len().min(2 * BLOCK_BYTES);
            let compared = first_bytes(text, COMPARED_BYTES_MAX);
            (kapsa_index::term_places(compared, &question.query), in_title, bytes)
        })
        .collect();
    let sum: usize = places.iter().map(|(_, _, bytes)| bytes).sum();
    let average = sum as f32 / places.len().max(1) as f32;
    let all = candidates.iter().zip(places);
    all.map(|(candidate, (places, in_title, bytes))| {
        let len = candidate.record.text.len().min(COMPARED_BYTES_MAX);
        Words {
            score: best_passage(&places, &in_title, len, bytes as f32 / average, rarities),
            terms: {
                let mut terms: Vec<usize> = places.iter().map(|place| place.term).collect();
                terms.extend(in_title);
                terms.sort_unstable();
                terms.dedup();
                terms
            },
        }
    })
    .collect()
}

/// BM25 of the best passage of a text of so many bytes, whose `length` is that of a passage as a
/// multiple of the average one.
fn best_passage(
    places: &[TermPlace],
    in_title: &[usize],
    bytes: usize,
    length: f32,
    rarities: &[f32],
) -> f32 {
    let norm = K1 * (1.0 - B + B * length);
    let blocks = bytes.div_ceil(BLOCK_BYTES).max(1);
    let score = |from: usize, until: usize| {
        let mut counts = vec![0.0f32; rarities.len()];
        in_title.iter().for_each(|&term| counts[term] += TITLE_WEIGHT);
        let first = places.partition_point(|place| place.at < from);
        let inside = places[first..].iter().take_while(|place| place.at < until);
        inside.for_each(|place| counts[place.term] += 1.0);
        let terms = counts.iter().zip(rarities);
        terms.map(|(count, rarity)| rarity * count * (K1 + 1.0) / (count + norm)).sum::<f32>()
    };
    if tune("WHOLE", 0.0) > 0.0 { return score(0, usize::MAX); }
    (0..blocks.saturating_sub(1).max(1))
        .map(|block| score(block * BLOCK_BYTES, (block + 2) * BLOCK_BYTES))
        .fold(0.0, f32::max)
}

fn score_words(candidates: &mut [Candidate], words: &[Words], rarities: &[f32]) {
    let best = words.iter().map(|words| words.score).fold(1e-6, f32::max);
    let index_best = candidates.iter().map(Candidate::words).fold(1e-6, f32::max);
    let conversations = conversations(candidates, words, rarities);
    let best_conversation = conversations.values().copied().fold(1e-6, f32::max);
    let windows: Vec<f32> = (0..candidates.len())
        .map(|at| {
            let mut turns = vec![0.0f32; rarities.len()];
            for (distance, other) in beside(candidates, at) {
                let weight = match distance { -1 => tune("W_B1", 1.0), 1 => tune("W_A1", 1.0), -2 => tune("W_B2", 0.5), _ => tune("W_A2", 0.5) };
                words[other].terms.iter().for_each(|&term| turns[term] += weight);
            }
            let terms = turns.iter().zip(rarities);
            terms.map(|(n, rarity)| rarity * n / (n + SATURATION)).sum()
        })
        .collect();
    let best_window = windows.iter().copied().fold(1e-6, f32::max);
    let shares: Vec<f32> = words.iter().map(|words| words.score / best).collect();
    let olds: Vec<f32> = (0..candidates.len())
        .map(|at| {
            beside(candidates, at).map(|(distance, other)| {
                let share = shares[other] / distance.unsigned_abs() as f32;
                share * if distance < 0 { tune("BEFORE", 0.0) } else { tune("AFTER", 0.0) }
            }).sum::<f32>()
        })
        .collect();
    for (at, candidate) in candidates.iter_mut().enumerate() {
        let conversation = conversations[&Talk::of(&candidate.record)];
        let index = candidate.words() / index_best;
        let mix = tune("PASSAGES", 1.0);
        candidate.add("words", tune("WORDS", WORDS) * (mix * shares[at] + (1.0 - mix) * index));
        candidate.add("window", tune("WINDOW", WINDOW) * windows[at] / best_window);
        candidate.add("beside", olds[at]);
        candidate.add("conversation", tune("CONVERSATION", CONVERSATION) * conversation / best_conversation);
    }
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
    candidates: &[Candidate],
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
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

