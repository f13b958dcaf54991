//! Whether a fact, an episode or an insight fits a query: the rules that all stores share. Knows
//! nothing of where things are kept.

use std::collections::BTreeSet;

use kapsa_memory::Validity;
pub(super) use kapsa_memory::query::fold_case as fold;
use kapsa_statement::slug;

use super::stores::{EpisodeQuery, FactQuery, InsightQuery};
use super::types::{Episode, Fact, Insight, InsightStatus, Note};

/// Different words that two texts must share to say about the same.
pub const SHARED_WORDS_MIN: usize = 3;

/// The words of a text in their order, folded: runs of letters and digits.
pub(super) fn words(text: &str) -> Vec<String> {
    let folded = fold(text);
    folded
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_string)
        .collect()
}

/// A text to be found in others.
#[derive(Clone, Debug)]
pub(super) struct Needle(String);

impl Needle {
    pub(super) fn new(text: &str) -> Needle {
        Needle(fold(text))
    }

    /// Whether it is a part of `content`; an empty one is part of everything.
    pub(super) fn is_in(&self, content: &str) -> bool {
        self.0.is_empty() || fold(content).contains(&self.0)
    }
}

/// Texts like this one: they share at least [`SHARED_WORDS_MIN`] different words.
#[derive(Clone, Debug)]
pub(super) struct Likeness(BTreeSet<String>);

impl Likeness {
    /// None for a text of fewer words, which nothing is like.
    pub(super) fn of(text: &str) -> Option<Likeness> {
        let words: BTreeSet<String> = words(text).into_iter().collect();
        (words.len() >= SHARED_WORDS_MIN).then_some(Likeness(words))
    }

    pub(super) fn holds(&self, text: &str) -> bool {
        let other: BTreeSet<String> = words(text).into_iter().collect();
        self.0.intersection(&other).take(SHARED_WORDS_MIN).count() == SHARED_WORDS_MIN
    }
}

/// A query, with what is worked out once for all that it is asked of.
pub(super) struct Rule<'a, Q> {
    query: &'a Q,
    text: Needle,
    /// Slugs of the entity that is asked for, by all its names; any when empty.
    entities: Vec<String>,
}

impl<'a, Q> Rule<'a, Q> {
    /// The rule of a query for an entity of this name, which has these slugs besides.
    fn of_entity(query: &'a Q, text: &str, entity: Option<&str>, aliases: &[String]) -> Self {
        let own = entity.map(slug);
        let entities = own.into_iter().chain(aliases.iter().cloned()).collect();
        Rule { query, text: Needle::new(text), entities }
    }

    fn is_about_entity(&self, entity: &str) -> bool {
        self.entities.is_empty() || self.entities.contains(&slug(entity))
    }
}

impl<'a> Rule<'a, FactQuery> {
    pub(super) fn of(query: &'a FactQuery) -> Self {
        Rule::<FactQuery>::about(query, &[])
    }

    /// The same, for an entity that has these slugs besides.
    pub(super) fn about(query: &'a FactQuery, aliases: &[String]) -> Self {
        Rule::of_entity(query, &query.text, query.entity.as_deref(), aliases)
    }

    pub(super) fn allows(&self, fact: &Fact) -> bool {
        let query = self.query;
        self.is_about_entity(&fact.entity)
            && query.attribute.as_deref().is_none_or(|name| slug(name) == slug(&fact.attribute))
            && is_about(query.domain.as_deref(), &fact.domain)
            && has_any(&query.tags, &fact.tags)
            && fact.confidence >= query.confidence_min
            && counts_at(fact, query.valid_at, query.superseded)
            && (!query.pending || !fact.pending_with.is_empty() || fact.pending.is_some())
            && (!query.contested || !fact.contested_with.is_empty())
            && !is_elsewhere(fact, query.sessions_about.as_deref())
            && query.clearance.as_ref().is_none_or(|profile| profile.can_access(fact))
            && self.text.is_in(&fact.content)
    }

    /// What a query asks of a note, which has no attribute, confidence or validity.
    pub(super) fn allows_note(&self, note: &Note) -> bool {
        let here = self.query.sessions_about.as_deref();
        let is_elsewhere =
            |here| kapsa_memory::is_elsewhere(&note.entity, note.trust, &note.source, here);
        self.is_about_entity(&note.entity)
            && is_about(self.query.domain.as_deref(), &note.domain)
            && has_any(&self.query.tags, &note.tags)
            && !here.is_some_and(is_elsewhere)
            && self.text.is_in(&note.content)
    }
}

/// Whether a session about something else left a fact.
fn is_elsewhere(fact: &Fact, here: Option<&[String]>) -> bool {
    let is_elsewhere =
        |here| kapsa_memory::is_elsewhere(&fact.entity, fact.trust, &fact.source, here);
    here.is_some_and(is_elsewhere)
}

impl<'a> Rule<'a, EpisodeQuery> {
    pub(super) fn of(query: &'a EpisodeQuery) -> Self {
        Rule::<EpisodeQuery>::about(query, &[])
    }

    /// The same, for an entity that has these slugs besides.
    pub(super) fn about(query: &'a EpisodeQuery, aliases: &[String]) -> Self {
        Rule::of_entity(query, "", query.entity.as_deref(), aliases)
    }

    pub(super) fn allows(&self, episode: &Episode) -> bool {
        let query = self.query;
        episode.agent_id == query.agent_id
            && self.is_about_entity(&episode.entity)
            && is_about(query.domain.as_deref(), &episode.domain)
            && has_any(&query.tags, &episode.tags)
            && query.since.is_none_or(|since| episode.timestamp >= since)
    }
}

impl<'a> Rule<'a, InsightQuery> {
    pub(super) fn of(query: &'a InsightQuery) -> Self {
        Rule::<InsightQuery>::about(query, &[])
    }

    /// The same, for an entity that has these slugs besides.
    pub(super) fn about(query: &'a InsightQuery, aliases: &[String]) -> Self {
        Rule::of_entity(query, &query.text, query.entity.as_deref(), aliases)
    }

    pub(super) fn allows(&self, insight: &Insight) -> bool {
        let query = self.query;
        insight.agent_id == query.agent_id
            && self.is_about_entity(&insight.entity)
            && is_about(query.domain.as_deref(), &insight.domain)
            && has_any(&query.tags, &insight.tags)
            && insight.confidence >= query.confidence_min
            && (query.retired || counts(insight))
            && self.text.is_in(&insight.content)
    }
}

/// Whether an insight still counts.
pub(super) fn counts(insight: &Insight) -> bool {
    insight.status != InsightStatus::Retired
}

fn is_about(wanted: Option<&str>, is: &str) -> bool {
    wanted.is_none_or(|wanted| wanted == is)
}

fn has_any(wanted: &[String], tags: &[String]) -> bool {
    wanted.is_empty() || wanted.iter().any(|tag| tags.contains(tag))
}

/// Whether a fact counts: at a moment when it holds then, else when nothing took its place.
fn counts_at(fact: &Fact, at: Option<i64>, superseded: bool) -> bool {
    match at {
        Some(at) if superseded => {
            let lasting = Validity { superseded_by: None, ..fact.validity() };
            lasting.holds_at(at)
        }
        Some(at) => fact.holds_at(at),
        None => superseded || fact.superseded_by.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_does_not_count_in_any_script() {
        for (content, text) in [
            ("Ελληνικός ΛΌΓΟΣ", "λόγος"),
            ("ΟΔΟΣ 5", "οδοσ"),
            ("Žluťoučký KŮŇ", "žLUŤ"),
            ("42 \u{212a}", "k"),
        ] {
            assert!(Needle::new(text).is_in(content), "{content} {text}");
        }
        assert!(Needle::new("ΟΣ").is_in("όσο ος"), "a sigma is a sigma wherever it stands");
        assert!(Needle::new("").is_in(""));
        assert!(!Needle::new("a b").is_in("ab"));
    }

    #[test]
    fn alike_are_texts_with_three_words_in_common() {
        let like = |a: &str, b: &str| Likeness::of(a).is_some_and(|like| like.holds(b));
        assert!(like("webinar leads convert", "Leads: a webinar converts, and convert they do"));
        for (a, b) in [
            ("", ""),
            ("webinar leads", "webinar leads"),
            ("a a a b", "a b a b"),
            ("one two three", "one two four"),
        ] {
            assert!(!like(a, b), "{a:?} {b:?}");
        }
    }
}
