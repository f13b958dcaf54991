//! What is kept for review instead of being put: what a rule of the owner or the text itself gives
//! a reason for. Knows nothing of who may write at all; what the owner writes is never asked.

use std::collections::HashSet;

use kapsa_index::Candidate;
use kapsa_statement::{Flag, FlagKind};
use serde_json::Value;

use crate::error::Result;
use crate::records::admission::{Admission, ReviewRules};
use crate::records::held::Reason;
use crate::records::kinds::EPISODE;
use crate::records::provenance::{Provenance, Trust};
use crate::records::record::{Micros, NewRecord};
use crate::records::request::Filter;
use crate::records::uri::Uri;
use crate::view::View;
use crate::view::trust::review_rules;
use crate::view::visibility::Visibility;

/// Newest memories of a writer that a new one is compared with.
const FLOOD_WINDOW: usize = 48;
/// Near copies among them that make a flood.
const FLOOD_COPIES_MAX: usize = 16;
/// Age up to which they count, in microseconds: a day.
const FLOOD_SPAN: Micros = 24 * 3600 * 1_000_000;
/// Fewest different words of a text that can be a near copy: shorter ones are alike by themselves.
const FLOOD_WORDS_MIN: usize = 5;
/// Words of a text that are compared: its first ones.
const FLOOD_WORDS_MAX: usize = 512;
/// Share of their words that near copies have in common.
const FLOOD_LIKENESS_MIN: f64 = 0.8;
/// Texts in the metadata of one record that are looked at.
const METADATA_TEXTS_MAX: usize = 256;

/// The reviews of one transaction: the rules are read once, and what it puts counts for floods.
#[derive(Debug, Default)]
pub(super) struct Screen {
    rules: Option<ReviewRules>,
    /// Words of the newest memories of the writer, by subject.
    recent: Option<Vec<Recent>>,
}

#[derive(Debug)]
struct Recent {
    about: String,
    words: HashSet<String>,
}

impl Screen {
    /// Why a record is kept for review; nothing when it is not.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub(super) fn reasons(
        &mut self,
        view: &View,
        record: &NewRecord,
        provenance: &Provenance,
        now: Micros,
    ) -> Result<Vec<Reason>> {
        if provenance.trust == Trust::Owner || provenance.review.is_some() {
            return Ok(Vec::new());
        }
        let rules = match &self.rules {
            Some(rules) => rules,
            None => self.rules.insert(review_rules(view)?),
        };
        let rule = rules.deciding(record, provenance);
        match rule.map(|rule| (rule.admission, &rule.scope)) {
            Some((Admission::Direct, _)) => return Ok(Vec::new()),
            Some((Admission::Review, scope)) => {
                let reason = format!("a rule asks for a review of {}", scope.in_words());
                return Ok(vec![Reason { flag: POLICY.to_string(), reason }]);
            }
            Some((Admission::Flagged, _)) | None => {}
        }
        let mut reasons = flags(record);
        if let Some(reason) = self.flood(view, record, provenance, now)? {
            reasons.push(reason);
        }
        Ok(reasons)
    }

    /// Whether a writer repeats itself about one thing.
    fn flood(
        &mut self,
        view: &View,
        record: &NewRecord,
        provenance: &Provenance,
        now: Micros,
    ) -> Result<Option<Reason>> {
        let words = words(&record.text);
        // What an agent did again and again is many episodes alike; a revision is no further copy.
        if words.len() < FLOOD_WORDS_MIN || record.kind == EPISODE || record.uri.is_some() {
            return Ok(None);
        }
        let recent = match &mut self.recent {
            Some(recent) => recent,
            None => self.recent.insert(recent_of(view, provenance, now)?),
        };
        let copies = recent
            .iter()
            .filter(|one| one.about == record.entity && alike(&one.words, &words))
            .count();
        recent.push(Recent { about: record.entity.clone(), words });
        let reason = format!("{copies} near copies of it came in one day");
        let flag = "flood".to_string();
        Ok((copies >= FLOOD_COPIES_MAX).then_some(Reason { flag, reason }))
    }
}

/// Flag of what a rule asks a review of.
pub(super) const POLICY: &str = "policy";

/// Flags of everything in a record that is text: of each kind the first.
fn flags(record: &NewRecord) -> Vec<Reason> {
    let mut found = flags_of(&texts(record));
    for name in names(record) {
        merge(&mut found, flags_of_name(name));
    }
    found.sort_by_key(|flag| flag.kind);
    found
        .into_iter()
        .map(|flag| Reason { flag: flag.kind.name().to_string(), reason: flag.reason })
        .collect()
}

/// Flags of a name: as it is, and as a sentence whose words hyphens, slashes and the like part.
pub(crate) fn flags_of_name(name: &str) -> Vec<Flag> {
    let mut found = kapsa_statement::flags(name);
    if !name.contains(|c: char| c.is_ascii_punctuation()) {
        return found;
    }
    let sentence: String =
        name.chars().map(|c| if c.is_ascii_punctuation() { ' ' } else { c }).collect();
    let orders = kapsa_statement::flags(&sentence);
    merge(&mut found, orders.into_iter().filter(|flag| flag.kind == FlagKind::Instruction));
    found
}

/// Flags of texts: of each kind the first.
fn flags_of(texts: &[&str]) -> Vec<Flag> {
    let mut found = Vec::new();
    for text in texts.iter().filter(|text| !text.is_empty()) {
        merge(&mut found, kapsa_statement::flags(text));
    }
    found
}

fn merge(found: &mut Vec<Flag>, more: impl IntoIterator<Item = Flag>) {
    for flag in more {
        if found.iter().all(|known| known.kind != flag.kind) {
            found.push(flag);
        }
    }
}

/// What names something or somebody: models read it like a text.
fn names(record: &NewRecord) -> impl Iterator<Item = &str> {
    let fixed = [&record.entity, &record.domain, &record.agent, &record.run, &record.kind];
    let named = record.access.iter().flat_map(|access| &access.named);
    let tags = record.tags.iter().flat_map(|(name, value)| [name, value]);
    let all = fixed.into_iter().chain(named).chain(tags).map(String::as_str);
    all.chain(record.uri.iter().map(Uri::short)).filter(|name| !name.is_empty())
}

fn texts(record: &NewRecord) -> Vec<&str> {
    let mut texts = vec![record.text.as_str(), &record.title, &record.label];
    texts.extend(record.source.iter().map(|source| source.path.as_str()));
    for (name, value) in &record.metadata {
        texts.push(name);
        texts_in(value, &mut texts);
    }
    texts
}

fn texts_in<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    if texts.len() >= METADATA_TEXTS_MAX {
        return;
    }
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(all) => all.iter().for_each(|value| texts_in(value, texts)),
        Value::Object(all) => all.iter().for_each(|(name, value)| {
            texts.push(name);
            texts_in(value, texts);
        }),
        _ => {}
    }
}

fn recent_of(view: &View, provenance: &Provenance, now: Micros) -> Result<Vec<Recent>> {
    let filter = Filter { recorded_since: Some(now - FLOOD_SPAN), ..Filter::default() };
    let mut filter = filter.within(view)?;
    filter.all.push(vec![by_term(provenance)]);
    let mut visibility = Visibility::of(view);
    let mut accept = |candidate: Candidate<'_>| visibility.accepts(&candidate);
    let sequences = view.store().searcher()?.newest(&filter, FLOOD_WINDOW, None, &mut accept)?;
    visibility.finish()?;
    sequences
        .into_iter()
        .map(|sequence| {
            let record = view.store().record(sequence)?;
            Ok(Recent { about: record.entity, words: words(&record.text) })
        })
        .collect()
}

/// The exact term of what a writer who is not the owner wrote.
fn by_term(provenance: &Provenance) -> String {
    if provenance.principal.is_empty() {
        return provenance.trust.term().unwrap_or_default();
    }
    format!("by:{}", provenance.principal)
}

fn words(text: &str) -> HashSet<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric());
    parts.filter(|word| !word.is_empty()).take(FLOOD_WORDS_MAX).map(str::to_lowercase).collect()
}

fn alike(a: &HashSet<String>, b: &HashSet<String>) -> bool {
    let common = a.intersection(b).count();
    let all = a.len() + b.len() - common;
    common as f64 >= FLOOD_LIKENESS_MIN * all as f64
}
