//! What a query asks of what a view sees: which of it are operators, what is meant as it is
//! written, which times and records it names, and which other words it may mean.
//!
//! An operator is one only where that is unmistakable: a field clause if some record has the value,
//! a signed word unless some record has it with its sign. What a principal may not know has no part
//! in it.

use kapsa_index::{Like, Operator, QUERY_BYTES_MAX, Query, Relation, Sequences, Sign};

use super::lookup;
use super::near_values::is_known;
use crate::error::{Error, Result};
use crate::records::record::{Micros, Record};
use crate::records::request::{Expansion, FindRequest, QueryRead, TimeSpan};
use crate::records::tokens::first_bytes;
use crate::records::uri::{DEFAULT_WORKSPACE, SCHEME, Uri};
use crate::tables::branch_table::Class;
use crate::view::View;
use crate::view::checkpoints::{self, Checkpoint};
use crate::view::known::KnownRecords;
use crate::view::present::newest_in_tail;
use crate::view::visibility::Visibility;

/// Most records whose texts are looked through for a signed word, or for a whole text.
const VERBATIM_RECORDS_MAX: usize = 64;
/// Most words that a beginning of words stands for.
const PREFIX_WORDS_MAX: usize = 32;
/// Most words that one word may be meant to be.
const TYPO_WORDS_MAX: usize = 3;
/// Most words of a query that are looked up as names of records.
const NAMES_MAX: usize = 8;
/// Most words of a query for which others are sought.
const EXPANDED_WORDS_MAX: usize = 8;
/// Most letters of a word for which others are sought: each place is tried where it may be two.
const EXPANDED_CHARS_MAX: usize = 40;
/// Fewest characters of each half of a word that is written as two.
const HALF_CHARS_MIN: usize = 3;
/// Words by which a record of the same text is found.
const SAME_TEXT_WORDS: usize = 4;
/// A day, in microseconds.
const DAY_US: i64 = 86_400_000_000;

/// Words that ask for records and say nothing of which, besides the common ones.
const FILLERS: [&str; 40] = [
    "all",
    "any",
    "anything",
    "did",
    "do",
    "does",
    "done",
    "else",
    "entries",
    "entry",
    "everything",
    "find",
    "get",
    "give",
    "got",
    "happen",
    "happened",
    "happening",
    "happens",
    "latest",
    "list",
    "made",
    "memories",
    "memory",
    "new",
    "news",
    "note",
    "noted",
    "notes",
    "please",
    "record",
    "recorded",
    "records",
    "saved",
    "see",
    "show",
    "something",
    "stored",
    "tell",
    "things",
];

/// A query, read against a view.
pub(crate) struct Question {
    pub(crate) query: Query,
    /// What is asked, without what is excluded or names a field.
    pub(crate) text: String,
    /// What is meant as it is written: identifiers, words with signs in them.
    pub(crate) exact: Vec<String>,
    pub(crate) read: QueryRead,
    /// Phrases in quotes: what has them comes first, and nothing must.
    pub(crate) phrases: Vec<Query>,
    /// Records that it names.
    pub(crate) named: Vec<Record>,
    /// For a word that is asked for, by its term: words that may be meant.
    pub(crate) meant: Vec<(String, Vec<String>)>,
}

impl Question {
    /// Reads a request; as `plain` without operators.
    pub(crate) fn of(view: &View, request: &FindRequest, plain: bool) -> Result<Question> {
        let text = short_uris(&request.query);
        let (mut failed, mut verbatim, mut quoted) = (None, Vec::new(), Vec::new());
        let mut is_operator = |operator: &Operator<'_>| {
            if plain {
                return false;
            }
            if operator.is_phrase() && !request.strict {
                quoted.push(operator.written.to_string());
                return false;
            }
            let is_one = is_operator(view, operator).unwrap_or_else(|error| {
                failed.get_or_insert(error);
                false
            });
            if !is_one && operator.sign != Sign::None {
                verbatim.push(operator.written.to_string());
            }
            is_one
        };
        let query = Query::parse_with(&text, &mut is_operator)?;
        if let Some(error) = failed {
            return Err(error);
        }
        let written = |ranges: &[std::ops::Range<usize>]| {
            ranges.iter().map(|range| text[range.clone()].to_string()).collect()
        };
        let is_quoted =
            |range: &&std::ops::Range<usize>| !quoted.contains(&text[(*range).clone()].to_string());
        let literals: Vec<_> = query.literals().iter().filter(is_quoted).cloned().collect();
        let mut read = QueryRead {
            operators: written(query.operators()),
            literals: written(&literals),
            phrases: quoted.clone(),
            plain,
            ..QueryRead::default()
        };
        let asked = without_operators(&text, &query);
        let times = times(view, request, &asked)?;
        read.time_only = !times.is_empty() && is_time_only(&asked, &times);
        read.times = times.into_iter().map(|time| time.span).collect();
        let mut exact: Vec<String> =
            kapsa_index::code_words(&asked).into_iter().map(str::to_string).collect();
        let symbols = kapsa_index::symbol_words(&asked).into_iter().map(str::to_string);
        for word in symbols.chain(verbatim) {
            if !exact.contains(&word) {
                exact.push(word);
            }
        }
        let named = named(view, &asked)?;
        let phrases = quoted.iter().map(|phrase| Query::parse(phrase)).collect::<Result<_, _>>()?;
        let meant = Vec::new();
        let mut question = Question { query, text: asked, exact, read, phrases, named, meant };
        question.add_prefixes(view)?;
        Ok(question)
    }

    /// Whether it asks for everything that the filter leaves.
    pub(crate) fn is_everything(&self, has_filter: bool) -> bool {
        let text = self.text.trim();
        text == "*" || text.is_empty() && has_filter && self.query.is_empty()
    }

    /// How many of the quoted phrases a record has.
    pub(crate) fn phrases_in(&self, record: &Record) -> usize {
        let has = |phrase: &&Query| phrase.fits(&record.title, &record.text);
        self.phrases.iter().filter(has).count()
    }

    fn add_prefixes(&mut self, view: &View) -> Result<()> {
        for prefix in self.query.prefixes().to_vec() {
            let like = Like::Prefix(prefix.clone());
            let words = seen_words(view, &like, PREFIX_WORDS_MAX, false)?;
            self.query = std::mem::take(&mut self.query).with_words(words.clone());
            // Whoever has one of them has what was asked for.
            let bare = Query::parse(&prefix)?;
            self.meant.extend(bare.asked().iter().map(|word| (word.term.clone(), words.clone())));
            self.read.expanded.push(Expansion { word: format!("{prefix}*"), to: words });
        }
        Ok(())
    }

    /// Looks for what may be meant by words that none of the hits has: those that a typing error
    /// made, that are written as two or that are the halves of one. Returns whether there is any.
    pub(crate) fn expand(&mut self, view: &View, missing: &[usize]) -> Result<bool> {
        let asked = self.query.asked().to_vec();
        let mut found: Vec<(String, String, Vec<String>)> = Vec::new();
        for &at in missing.iter().take(EXPANDED_WORDS_MAX) {
            let word = &asked[at];
            let letters = word.raw.chars().filter(|c| c.is_alphabetic()).count();
            let is_word = (HALF_CHARS_MIN..=EXPANDED_CHARS_MAX).contains(&letters);
            if !is_word || letters < word.raw.chars().count() {
                continue;
            }
            let beside = [at.checked_sub(1).map(|before| (before, at)), Some((at, at + 1))];
            for (one, other) in
                beside.into_iter().flatten().filter(|(_, other)| *other < asked.len())
            {
                let joined = format!("{}{}", asked[one].raw, asked[other].raw);
                let term = term_of(&joined)?;
                if is_seen(view, std::slice::from_ref(&term))? {
                    let word = format!("{} {}", asked[one].raw, asked[other].raw);
                    found.extend(
                        [one, other]
                            .map(|at| (asked[at].term.clone(), word.clone(), vec![term.clone()])),
                    );
                }
            }
            if is_seen(view, std::slice::from_ref(&word.term))? {
                continue;
            }
            let mut to = match Like::typo(&word.term) {
                Some(like) => seen_words(view, &like, TYPO_WORDS_MAX, true)?,
                None => Vec::new(),
            };
            if to.is_empty() {
                to = halves(view, &word.raw)?;
            }
            if !to.is_empty() {
                found.push((word.term.clone(), word.raw.clone(), to));
            }
        }
        for (term, word, to) in &found {
            self.query = std::mem::take(&mut self.query).with_words(to.clone());
            self.meant.push((term.clone(), to.clone()));
            let expansion = Expansion { word: word.clone(), to: to.clone() };
            if !self.read.expanded.contains(&expansion) {
                self.read.expanded.push(expansion);
            }
        }
        Ok(!found.is_empty())
    }
}

/// Whether what has the form of an operator is one.
fn is_operator(view: &View, operator: &Operator<'_>) -> Result<bool> {
    let is_phrase = operator.written.trim_start_matches(['+', '-']).starts_with('"');
    match (operator.field, operator.sign) {
        (Some(_), Sign::MustNot) => Ok(true),
        (Some(_), _) => {
            let mut terms = operator.terms().into_iter();
            terms.try_fold(true, |known, term| Ok(known && is_known(view, term)?))
        }
        (None, Sign::None) => Ok(true),
        _ if is_phrase => Ok(true),
        _ => Ok(!is_verbatim(view, operator)?),
    }
}

/// Whether a record has a word together with the sign before it, among the best that have the word.
fn is_verbatim(view: &View, operator: &Operator<'_>) -> Result<bool> {
    let terms: Vec<String> =
        Query::parse(operator.text)?.asked().iter().map(|word| word.term.clone()).collect();
    for sequence in having(view, terms, VERBATIM_RECORDS_MAX, u64::MAX)? {
        let record = view.store().record(sequence)?;
        if kapsa_index::has_code_word(&record.text, operator.written) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a visible record has all of these words.
fn is_seen(view: &View, terms: &[String]) -> Result<bool> {
    Ok(!having(view, terms.to_vec(), 1, u64::MAX)?.is_empty())
}

/// The best visible records before the sequence `end` that have all of these words.
fn having(view: &View, terms: Vec<String>, most: usize, end: u64) -> Result<Vec<u64>> {
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    let query = Query::requiring(terms);
    let mut filter = crate::records::request::Filter::default().within(view)?;
    if end < u64::MAX {
        let before = Sequences::from(0..end);
        let within = filter.seqs.take().map(|seqs| seqs.intersection(&before));
        filter.seqs = Some(within.unwrap_or(before));
    }
    let mut visibility = Visibility::of(view);
    let mut accept = |candidate: kapsa_index::Candidate<'_>| visibility.accepts(&candidate);
    let searcher = view.store().searcher()?;
    let scope = view.scope()?.map(KnownRecords::as_scope);
    let (hits, _) = searcher.search_rated(&query, &filter, scope, most, &mut accept)?;
    visibility.finish()?;
    Ok(hits.into_iter().map(|hit| hit.seq).collect())
}

/// The newest visible record that holds exactly this text, white space around it aside.
pub(crate) fn same_text(view: &View, text: &str) -> Result<Option<Record>> {
    // Every short put asks: to analyse the tail would be most of what it costs.
    let is_same = |record: &Record| record.text.trim() == text.trim();
    let (found, tail) = newest_in_tail(view, &is_same)?;
    if found.is_some() || tail <= 1 {
        return Ok(found);
    }
    let query = Query::parse_with(first_bytes(text, QUERY_BYTES_MAX), &mut |_| false)?;
    let mut words: Vec<&kapsa_index::AskedWord> = query.asked().iter().collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.raw.len()));
    let terms: Vec<String> =
        words.iter().take(SAME_TEXT_WORDS).map(|word| word.term.clone()).collect();
    let mut found = None::<Record>;
    for sequence in having(view, terms, VERBATIM_RECORDS_MAX, tail)? {
        let record = view.store().record(sequence)?;
        let is_newer = found.as_ref().is_none_or(|found| found.sequence < record.sequence);
        if is_newer && is_same(&record) {
            found = Some(record);
        }
    }
    Ok(found)
}

/// The words that are like something and that visible records have; only the `nearest` where that
/// is wanted.
fn seen_words(view: &View, like: &Like, most: usize, nearest: bool) -> Result<Vec<String>> {
    let filter = crate::records::request::Filter::default().within(view)?;
    let mut seen: Vec<String> = Vec::new();
    for word in view.store().searcher()?.words_like(like, &filter)? {
        let farther = |first: &String| match like {
            Like::Typo(sought) => {
                kapsa_index::typing_errors(sought, first)
                    < kapsa_index::typing_errors(sought, &word)
            }
            Like::Prefix(_) => false,
        };
        if seen.len() == most || nearest && seen.first().is_some_and(farther) {
            break;
        }
        if is_seen(view, std::slice::from_ref(&word))? {
            seen.push(word);
        }
    }
    Ok(seen)
}

/// The two words that a word is made of, if some record has both.
fn halves(view: &View, word: &str) -> Result<Vec<String>> {
    let places: Vec<usize> = word.char_indices().map(|(at, _)| at).collect();
    let splits = places.len().saturating_sub(2 * HALF_CHARS_MIN - 1);
    for &split in places.iter().skip(HALF_CHARS_MIN).take(splits) {
        let (first, second) = word.split_at(split);
        // German joins words with an `s`.
        let without =
            second.strip_prefix('s').filter(|rest| rest.chars().count() >= HALF_CHARS_MIN);
        for second in [Some(second), without].into_iter().flatten() {
            let terms = vec![term_of(first)?, term_of(second)?];
            if is_seen(view, &terms)? {
                return Ok(terms);
            }
        }
    }
    Ok(Vec::new())
}

/// A word as it is indexed.
fn term_of(word: &str) -> Result<String> {
    let query = Query::parse(word)?;
    Ok(query.asked().first().map_or_else(|| word.to_string(), |word| word.term.clone()))
}

/// The text with its operators left out, but for the words and phrases that they require.
fn without_operators(text: &str, query: &Query) -> String {
    let mut out = text.to_string();
    for range in query.operators() {
        let written = &text[range.clone()];
        let is_asked = written.starts_with(['+', '"']) && !written.contains(':');
        if !is_asked {
            out.replace_range(range.clone(), &" ".repeat(range.len()));
        } else if written.starts_with('+') {
            out.replace_range(range.start..range.start + 1, " ");
        }
    }
    out
}

/// A time that a query speaks of, and the bytes that say so.
struct Time {
    span: TimeSpan,
    words: std::ops::Range<usize>,
}

/// The times that a text speaks of, by the calendar or by a checkpoint that it names.
fn times(view: &View, request: &FindRequest, text: &str) -> Result<Vec<Time>> {
    let Some(clock) = request.time.as_ref().filter(|_| request.read_times) else {
        return Ok(Vec::new());
    };
    let mut times: Vec<Time> = kapsa_index::periods(text, clock.now, &clock.calendar)
        .into_iter()
        .map(|period| Time {
            span: TimeSpan { from: period.from_us, until: period.until_us },
            words: period.words,
        })
        .collect();
    let anchors = kapsa_index::anchors(text);
    if anchors.is_empty() || !view.may_know_system() {
        return Ok(times);
    }
    let has_checkpoints =
        !view.store().sequences(view.lineage(), Class::System)?.ranges().is_empty();
    let checkpoints = if has_checkpoints { checkpoints::list(view, true)? } else { Vec::new() };
    for anchor in anchors {
        let name = text[anchor.name.clone()].to_lowercase();
        let named = |checkpoint: &&Checkpoint| checkpoint.label.to_lowercase().contains(&name);
        let found = checkpoints.iter().rev().find(named).map(|checkpoint| checkpoint.timestamp);
        times.extend(
            found.map(|at| Time { span: beside(anchor.relation, at), words: anchor.words }),
        );
    }
    Ok(times)
}

fn beside(relation: Relation, at: Micros) -> TimeSpan {
    match relation {
        Relation::Before | Relation::Until => TimeSpan { from: None, until: Some(at) },
        Relation::After | Relation::Since => TimeSpan { from: Some(at), until: None },
        Relation::During => TimeSpan { from: Some(at - DAY_US), until: Some(at + DAY_US) },
    }
}

/// Whether a text asks for nothing but the records of some times.
fn is_time_only(text: &str, times: &[Time]) -> bool {
    let mut rest = text.to_string();
    for Time { words, .. } in times {
        rest.replace_range(words.clone(), &" ".repeat(words.len()));
    }
    let words = rest
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .map(|word| word.trim_end_matches("'s").trim_matches('\'').to_lowercase());
    let mut words = words.filter(|word| !word.is_empty());
    words.all(|word| {
        FILLERS.contains(&word.as_str()) || kapsa_index::is_stop_word(&word) || word == "s"
    })
}

/// The records that the words of a query name by their URIs, and those that the last part of one
/// names if there is nothing else in the query.
fn named(view: &View, text: &str) -> Result<Vec<Record>> {
    let around = |c: char| "\"'`()<>[],;!?".contains(c);
    let words: Vec<&str> = text
        .split_whitespace()
        .map(|word| word.trim_matches(around).trim_end_matches(['.', ':']))
        .collect();
    let mut found: Vec<Record> = Vec::new();
    for word in words.iter().filter(|word| word.contains('/')).take(NAMES_MAX) {
        found.extend(named_record(view, word)?);
    }
    if let ([only], true) = (words.as_slice(), found.is_empty()) {
        for name in [only.to_string(), format!("note/{only}")] {
            found.extend(named_record(view, &name)?);
        }
    }
    found.dedup_by_key(|record| record.sequence);
    Ok(found)
}

/// The memory under a URI, if it is one and there is one.
fn named_record(view: &View, name: &str) -> Result<Option<Record>> {
    // What is not a URI names no record.
    let Ok(uri) = Uri::parse(name) else { return Ok(None) };
    match lookup::get(view, &uri) {
        Ok(record) => Ok(Some(record).filter(|record| !record.system && !record.tombstone)),
        Err(Error::UriNotFound { .. } | Error::InvalidOperation { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// URIs in a query in the form in which they are indexed.
fn short_uris(query: &str) -> String {
    query.replace(&format!("uri:{SCHEME}{DEFAULT_WORKSPACE}/"), "uri:")
}
