//! Facts, episodes and insights as records. The only module that knows their kinds, URIs, tags and
//! metadata.
//!
//! Fields that a record has itself (entity, domain, confidence, agent, tags, time) stand there, so
//! that they can be searched and filtered by; all else is metadata, where what has its default is
//! left out. What comes back equals what went in.

mod truth;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::types::{Episode, Fact, Insight, InsightStatus, Note};
use kapsa_memory::access::{Access, Classification, Classified};
pub(super) use kapsa_memory::kinds::{ACCESS, EPISODE, FACT, INSIGHT};
pub(super) use kapsa_memory::owned::{escape, unescape};
use kapsa_memory::record::{FIELD_BYTES_MAX, Micros, NewRecord, Record};
use kapsa_memory::tokens::first_bytes;
use kapsa_memory::uri::Uri;
use kapsa_memory::{Error, Result};
use kapsa_statement::{initials, slug};

/// Kinds of what agents write down as it is: by default, and what they name most.
pub(super) const NOTE_KINDS: [&str; 6] =
    ["note", "decision", "lesson", "preference", "todo", "warning"];

/// Begins the names of tags that are this module's own.
const OWN_TAGS: &str = "kapsa.";
/// Tag of a revision, with the sequence of the first one: its place in the order in which things
/// were first stored.
pub(super) const PLACE_TAG: &str = "kapsa.place";

/// Tag of a fact, with its attribute.
pub(super) const ATTRIBUTE_TAG: &str = "kapsa.attribute";

/// Tag of a fact whose entity is not spelled like its slug, with the slug.
pub(super) const ENTITY_TAG: &str = "kapsa.entity";

/// Tag of a fact about an entity of several words, with their first letters.
pub(super) const INITIALS_TAG: &str = "kapsa.initials";

/// An id that nothing else has: a prefix, and 64 random bits in hexadecimal.
#[must_use]
pub fn fresh_id(prefix: &str) -> String {
    let random = u128::from_be_bytes(kapsa_memory::random_id());
    format!("{prefix}{:016x}", random as u64)
}

/// URI of a fact.
pub(super) fn fact_uri(id: &str) -> Result<Uri> {
    uri_of(FACT, &[("id", id)])
}

/// URI of the counts of a fact.
pub(super) fn access_uri(id: &str) -> Result<Uri> {
    uri_of(ACCESS, &[("id", id)])
}

/// URI of an agent's episode or insight.
pub(super) fn agent_uri(kind: &str, agent_id: &str, id: &str) -> Result<Uri> {
    uri_of(kind, &[("agent", agent_id), ("id", id)])
}

fn uri_of(kind: &str, parts: &[(&'static str, &str)]) -> Result<Uri> {
    let mut path = kind.to_string();
    for (field, part) in parts {
        if part.is_empty() {
            return Err(Error::InvalidRecord { field, reason: "it is empty" });
        }
        path = format!("{path}/{}", escape(part));
    }
    let too_long =
        |_| Error::InvalidRecord { field: "id", reason: "it is too long for a URI of 1024 bytes" };
    Uri::parse(&path).map_err(too_long)
}

/// What a URI names: a kind, and the ids after it; none when it cannot be one of this module's.
pub(super) fn named(uri: &Uri) -> Option<(String, Vec<String>)> {
    let (kind, path) = uri.short().split_once('/')?;
    let parts: Option<Vec<String>> = path.split('/').map(unescape).collect();
    Some((kind.to_string(), parts?))
}

/// What the parts after the kind stand for.
fn ids<const N: usize>(record: &Record, kind: &str) -> Option<[String; N]> {
    named(&record.uri).filter(|(named, _)| named == kind)?.1.try_into().ok()
}

/// Whether a tag can be a tag of the record, by which the index finds it.
pub(super) fn is_indexed(tag: &str) -> bool {
    !tag.is_empty() && !tag.contains('=') && !tag.starts_with(OWN_TAGS)
}

/// Sequence of a record's first revision.
pub(super) fn place(record: &Record) -> u64 {
    record.tags.get(PLACE_TAG).and_then(|place| place.parse().ok()).unwrap_or(record.sequence)
}

/// The record of a fact, whose first revision has the sequence `place` if there is one.
pub(super) fn of_fact(fact: &Fact, place: Option<u64>) -> Result<NewRecord> {
    check_share("importance", fact.importance)?;
    if fact.attribute.len() > FIELD_BYTES_MAX {
        return Err(Error::InvalidRecord {
            field: "attribute",
            reason: "it is longer than 4096 bytes",
        });
    }
    let attribute = Some(&fact.attribute).filter(|attribute| !attribute.is_empty());
    let mut more = Metadata::default();
    more.tags(&fact.tags);
    more.count("evidence_count", fact.evidence_count, 1);
    more.float("importance", fact.importance);
    more.moment("last_accessed", fact.last_accessed);
    more.count("access_count", fact.access_count, 0);
    more.moment("valid_from", fact.valid_from);
    more.moment("valid_to", fact.valid_to);
    more.moment("updated_at", (fact.updated_at != fact.created_at).then_some(fact.updated_at));
    more.option("supersedes", fact.supersedes.as_deref());
    more.option("superseded_by", fact.superseded_by.as_deref());
    more.texts("contested_with", &fact.contested_with);
    more.text("principal", &fact.principal);
    truth::write(fact, &mut more.0);
    Ok(NewRecord {
        uri: Some(fact_uri(&fact.id)?),
        kind: FACT.to_string(),
        access: spread(fact.classification, &fact.named),
        tags: tags(&fact.tags, place)
            .into_iter()
            .chain(attribute.map(|name| (ATTRIBUTE_TAG.to_string(), name.clone())))
            .chain(entity_tags(&fact.entity))
            .collect(),
        metadata: more.0,
        entity: fact.entity.clone(),
        domain: fact.domain.clone(),
        agent: fact.source.clone(),
        confidence: Some(fact.confidence),
        created_at: Some(fact.created_at),
        ..NewRecord::text(&fact.content)
    })
}

/// The fact that a record is; none when it is none.
pub(super) fn fact(record: &Record) -> Option<Fact> {
    let [id] = ids(record, FACT).filter(|_| is(record, FACT))?;
    let more = &record.metadata;
    let mut fact = Fact {
        attribute: record.tags.get(ATTRIBUTE_TAG).cloned().unwrap_or_default(),
        entity: record.entity.clone(),
        domain: record.domain.clone(),
        tags: tags_of(record),
        confidence: record.confidence.unwrap_or(1.0),
        evidence_count: count_of(more, "evidence_count").unwrap_or(1),
        importance: float_of(more, "importance").unwrap_or(0.0),
        last_accessed: moment_of(more, "last_accessed"),
        access_count: count_of(more, "access_count").unwrap_or(0),
        classification: record.classification(),
        named: record.named().to_vec(),
        source: record.agent.clone(),
        principal: text_of(more, "principal"),
        trust: record.provenance.trust,
        valid_from: moment_of(more, "valid_from"),
        valid_to: moment_of(more, "valid_to"),
        updated_at: moment_of(more, "updated_at").unwrap_or(record.created_at),
        supersedes: option_of(more, "supersedes"),
        superseded_by: option_of(more, "superseded_by"),
        contested_with: texts_of(more, "contested_with"),
        ..Fact::new(id, &record.text, record.created_at)
    };
    truth::read(&mut fact, more);
    Some(fact)
}

/// What is written down, from its record.
pub(super) fn note(record: &Record) -> Note {
    let content = match record.title.trim() {
        "" => record.text.clone(),
        title => format!("{title}\n{}", record.text),
    };
    Note {
        uri: record.uri.clone(),
        content,
        entity: record.entity.clone(),
        domain: record.domain.clone(),
        tags: tags_of(record),
        classification: record.classification(),
        source: record.agent.clone(),
        trust: record.provenance.trust,
        created_at: record.created_at,
    }
}

/// Tags by which an entity is found under other spellings of its name.
fn entity_tags(entity: &str) -> impl Iterator<Item = (String, String)> {
    let slug = Some(slug(entity)).filter(|slug| !slug.is_empty() && slug != entity);
    let initials = Some(entity).filter(|entity| !entity.is_empty()).and_then(initials);
    let tag = |name: &str, value: Option<String>| value.map(|value| (name.to_string(), value));
    tag(ENTITY_TAG, slug).into_iter().chain(tag(INITIALS_TAG, initials))
}

/// The record of an episode. Its text is what went in and what came out, which is what one looks
/// for.
pub(super) fn of_episode(episode: &Episode) -> Result<NewRecord> {
    let mut more = Metadata::default();
    more.tags(&episode.tags);
    more.text("operator_id", &episode.operator_id);
    more.text("node_name", &episode.node_name);
    more.text("action", &episode.action);
    more.text("input_summary", &episode.input_summary);
    more.text("output_summary", &episode.output_summary);
    if !episode.outcome.is_empty() {
        more.0.insert("outcome".to_string(), Value::Object(episode.outcome.clone()));
    }
    more.count("duration_ms", episode.duration_ms, 0);
    more.count("tokens_in", episode.tokens_in, 0);
    more.count("tokens_out", episode.tokens_out, 0);
    let summaries = [&episode.input_summary, &episode.output_summary]
        .into_iter()
        .filter(|text| !text.is_empty());
    let mut text = summaries.map(String::as_str).collect::<Vec<_>>().join("\n");
    if text.is_empty() {
        text = if episode.action.is_empty() {
            format!("episode {}", episode.id)
        } else {
            episode.action.clone()
        };
    }
    Ok(NewRecord {
        uri: Some(agent_uri(EPISODE, &episode.agent_id, &episode.id)?),
        kind: EPISODE.to_string(),
        title: first_bytes(&episode.action, FIELD_BYTES_MAX).to_string(),
        access: own(episode.classification, &episode.agent_id),
        tags: tags(&episode.tags, None),
        metadata: more.0,
        entity: episode.entity.clone(),
        domain: episode.domain.clone(),
        agent: episode.agent_id.clone(),
        created_at: Some(episode.timestamp),
        ..NewRecord::text(text)
    })
}

/// The episode that a record is; none when it is none.
pub(super) fn episode(record: &Record) -> Option<Episode> {
    let [agent_id, id] = ids(record, EPISODE).filter(|_| is(record, EPISODE))?;
    let more = &record.metadata;
    Some(Episode {
        operator_id: text_of(more, "operator_id"),
        node_name: text_of(more, "node_name"),
        action: text_of(more, "action"),
        input_summary: text_of(more, "input_summary"),
        output_summary: text_of(more, "output_summary"),
        outcome: more.get("outcome").and_then(Value::as_object).cloned().unwrap_or_default(),
        duration_ms: count_of(more, "duration_ms").unwrap_or(0),
        tokens_in: count_of(more, "tokens_in").unwrap_or(0),
        tokens_out: count_of(more, "tokens_out").unwrap_or(0),
        entity: record.entity.clone(),
        domain: record.domain.clone(),
        tags: tags_of(record),
        classification: record.classification(),
        ..Episode::new(id, agent_id, record.created_at)
    })
}

/// The record of an insight, whose first revision has the sequence `place` if there is one.
pub(super) fn of_insight(insight: &Insight, place: Option<u64>) -> Result<NewRecord> {
    let mut more = Metadata::default();
    more.tags(&insight.tags);
    more.count("evidence_count", insight.evidence_count, 1);
    more.texts("source_episode_ids", &insight.source_episode_ids);
    more.moment("last_confirmed", insight.last_confirmed);
    if insight.status != InsightStatus::Active {
        more.text("status", insight.status.name());
    }
    Ok(NewRecord {
        uri: Some(agent_uri(INSIGHT, &insight.agent_id, &insight.id)?),
        kind: INSIGHT.to_string(),
        access: own(insight.classification, &insight.agent_id),
        tags: tags(&insight.tags, place),
        metadata: more.0,
        entity: insight.entity.clone(),
        domain: insight.domain.clone(),
        agent: insight.agent_id.clone(),
        confidence: Some(insight.confidence),
        created_at: Some(insight.created_at),
        ..NewRecord::text(&insight.content)
    })
}

/// The insight that a record is; none when it is none.
pub(super) fn insight(record: &Record) -> Option<Insight> {
    let [agent_id, id] = ids(record, INSIGHT).filter(|_| is(record, INSIGHT))?;
    let more = &record.metadata;
    Some(Insight {
        confidence: record.confidence.unwrap_or(0.5),
        evidence_count: count_of(more, "evidence_count").unwrap_or(1),
        source_episode_ids: texts_of(more, "source_episode_ids"),
        last_confirmed: moment_of(more, "last_confirmed"),
        status: InsightStatus::named(&text_of(more, "status")).unwrap_or_default(),
        entity: record.entity.clone(),
        domain: record.domain.clone(),
        tags: tags_of(record),
        classification: record.classification(),
        ..Insight::new(id, agent_id, &record.text, record.created_at)
    })
}

/// How often a fact was read, and when last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reads {
    pub(super) count: u64,
    pub(super) last: Option<Micros>,
}

impl Reads {
    pub(super) fn add(&mut self, other: Reads) {
        self.count = self.count.saturating_add(other.count);
        self.last = self.last.max(other.last);
    }
}

/// The record of the counts of a fact.
pub(super) fn of_access(id: &str, access: Reads) -> Result<NewRecord> {
    let mut more = Metadata::default();
    more.count("access_count", access.count, 0);
    more.moment("last_accessed", access.last);
    let text = access.count.to_string();
    Ok(NewRecord {
        uri: Some(access_uri(id)?),
        kind: ACCESS.to_string(),
        metadata: more.0,
        ..NewRecord::text(text)
    })
}

/// The counts that a record holds; none when it holds none.
pub(super) fn access(record: &Record) -> Option<Reads> {
    let of = |more| Reads {
        count: count_of(more, "access_count").unwrap_or(0),
        last: moment_of(more, "last_accessed"),
    };
    is(record, ACCESS).then(|| of(&record.metadata))
}

fn is(record: &Record, kind: &str) -> bool {
    record.kind == kind && !record.tombstone && !record.purged && record.alias.is_none()
}

/// How far a record may spread; none for what is so unless something else is said.
fn spread(level: Classification, named: &[String]) -> Option<Access> {
    let access = Access { level, named: named.to_vec() };
    (access != Access::default()).then_some(access)
}

/// How far something of an agent's own may spread: what is restricted is restricted to the agent.
fn own(level: Classification, agent_id: &str) -> Option<Access> {
    let named =
        if level == Classification::Restricted { vec![agent_id.to_string()] } else { Vec::new() };
    spread(level, &named)
}

fn tags(tags: &[String], place: Option<u64>) -> BTreeMap<String, String> {
    let given = tags.iter().filter(|tag| is_indexed(tag)).map(|tag| (tag.clone(), String::new()));
    given.chain(place.map(|place| (PLACE_TAG.to_string(), place.to_string()))).collect()
}

/// The list in the metadata, or else the names of the tags.
fn tags_of(record: &Record) -> Vec<String> {
    if record.metadata.contains_key("tags") {
        return texts_of(&record.metadata, "tags");
    }
    record.tags.keys().filter(|name| !name.starts_with(OWN_TAGS)).cloned().collect()
}

/// Metadata in the making.
#[derive(Default)]
struct Metadata(Map<String, Value>);

impl Metadata {
    fn text(&mut self, name: &str, value: &str) {
        self.option(name, Some(value).filter(|value| !value.is_empty()));
    }

    fn option(&mut self, name: &str, value: Option<&str>) {
        self.0.extend(value.map(|value| (name.to_string(), value.into())));
    }

    fn texts(&mut self, name: &str, values: &[String]) {
        if !values.is_empty() {
            self.0.insert(name.to_string(), values.into());
        }
    }

    fn moment(&mut self, name: &str, value: Option<Micros>) {
        self.0.extend(value.map(|value| (name.to_string(), value.into())));
    }

    fn count(&mut self, name: &str, value: u64, default: u64) {
        if value != default {
            self.0.insert(name.to_string(), value.into());
        }
    }

    /// A number as text: JSON's reader may be off by the last bit.
    fn float(&mut self, name: &str, value: f64) {
        if value != 0.0 {
            self.0.insert(name.to_string(), value.to_string().into());
        }
    }

    /// The list of tags, unless those of the record say it all: they have no order and each is
    /// there once.
    fn tags(&mut self, tags: &[String]) {
        if !tags.is_sorted_by(|a, b| a < b) || !tags.iter().all(|tag| is_indexed(tag)) {
            self.texts("tags", tags);
        }
    }
}

fn text_of(more: &Map<String, Value>, name: &str) -> String {
    option_of(more, name).unwrap_or_default()
}

fn option_of(more: &Map<String, Value>, name: &str) -> Option<String> {
    more.get(name).and_then(Value::as_str).map(str::to_string)
}

fn texts_of(more: &Map<String, Value>, name: &str) -> Vec<String> {
    let all = more.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    all.iter().filter_map(Value::as_str).map(str::to_string).collect()
}

fn moment_of(more: &Map<String, Value>, name: &str) -> Option<Micros> {
    more.get(name).and_then(Value::as_i64)
}

fn count_of(more: &Map<String, Value>, name: &str) -> Option<u64> {
    more.get(name).and_then(Value::as_u64)
}

fn float_of(more: &Map<String, Value>, name: &str) -> Option<f64> {
    let value = more.get(name)?;
    value.as_f64().or_else(|| value.as_str()?.parse().ok()).filter(|value| value.is_finite())
}

fn check_share(field: &'static str, value: f64) -> Result<()> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(Error::InvalidRecord { field, reason: "it is not between 0 and 1" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_has_a_uri_and_comes_back_from_it() {
        for id in [
            "f1",
            ".",
            "..",
            "...",
            "a/b",
            "a%2Fb",
            "ž b\u{202e}\n",
            "日本",
            "%",
            "a\\b",
            "event/1",
            "A",
            "a",
        ] {
            let uri = fact_uri(id).expect("possible");
            let part = uri.short().strip_prefix("fact/").expect("a fact");
            assert_eq!(unescape(part).as_deref(), Some(id), "{part}");
            assert!(!uri.is_reserved());
        }
        for odd in ["%", "%2", "%zz", "%2f", "%41", "%ff", "%+1"] {
            assert_eq!(unescape(odd), None, "{odd}: no two URIs stand for one id");
        }
    }

    #[test]
    fn impossible_ids_are_refused_with_a_reason() {
        let error_of = |id: &str| fact_uri(id).map_err(|error| error.to_string());
        assert_eq!(error_of(""), Err("invalid id: it is empty".to_string()));
        assert_eq!(
            error_of(&"/".repeat(400)),
            Err("invalid id: it is too long for a URI of 1024 bytes".to_string())
        );
        assert!(
            agent_uri(EPISODE, "", "e")
                .is_err_and(|error| error.to_string() == "invalid agent: it is empty")
        );
    }
}
