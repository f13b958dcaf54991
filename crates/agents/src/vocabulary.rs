//! The vocabulary of a capsule: what an entity is also called, and of which attributes an entity
//! can have many values. Each is a record with a history, as all else.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use kapsa_memory::record::{NewRecord, Record};
use kapsa_memory::uri::Uri;
use kapsa_memory::{Error, RawView, Result};
use kapsa_statement::slug;

use super::compare::Vocabulary;
use super::kind_index::{Clauses, KindIndex};
use super::location::StoreLocation;
use super::records::escape;
use super::types::Fact;

/// Kind of the records of a vocabulary.
pub const VOCABULARY: &str = "vocabulary";
/// Most entities or attributes that are listed.
pub const VOCABULARY_MAX: usize = 10_000;
/// Most names of one entity.
pub const ALIASES_MAX: usize = 256;

/// An entity with its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityNames {
    /// Its name.
    pub name: String,
    /// What it is also called.
    pub aliases: Vec<String>,
}

impl EntityNames {
    /// Whether this is one of its names, however it is spelled.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let key = slug(name);
        std::iter::once(&self.name).chain(&self.aliases).any(|own| slug(own) == key)
    }
}

/// What is declared of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeDeclared {
    /// Its name.
    pub name: String,
    /// Field of knowledge in which that holds, may be empty.
    pub domain: String,
    /// Whether an entity can have many values of it.
    pub many: bool,
}

/// The vocabulary of a capsule.
#[derive(Debug)]
pub struct VocabularyStore {
    location: StoreLocation,
}

impl VocabularyStore {
    /// The vocabulary of a capsule.
    #[must_use]
    pub fn new(location: StoreLocation) -> VocabularyStore {
        VocabularyStore { location }
    }

    /// Declares that an entity is also called by these names. One that was that of another entity
    /// is no longer. Returns the entity as it is now.
    ///
    /// # Errors
    /// What the capsule says; `InvalidOperation` for an empty name or too many.
    pub fn alias(&self, name: &str, aliases: &[String]) -> Result<EntityNames> {
        let mut entity = self.entity(name)?;
        let own = slug(&entity.name);
        for alias in aliases {
            let (other, key) = (self.entity(alias)?, slug(alias));
            if key.is_empty() || own.is_empty() {
                return Err(misuse("the name of an entity is empty"));
            }
            let is_known = key == own || entity.aliases.iter().any(|known| slug(known) == key);
            if is_known {
                continue;
            }
            if slug(&other.name) == key && !other.aliases.is_empty() {
                // What the other was called, this one is called now.
                entity.aliases.extend(other.aliases.clone());
                self.put_entity(&EntityNames { aliases: Vec::new(), ..other.clone() })?;
            } else if slug(&other.name) != key {
                self.put_entity(&without(&other, &key))?;
            }
            entity.aliases.push(alias.trim().to_string());
        }
        if entity.aliases.len() > ALIASES_MAX {
            return Err(misuse("an entity has at most 256 names"));
        }
        self.put_entity(&entity)?;
        Ok(entity)
    }

    /// Declares that an entity is not called by these names. Returns the entity as it is now.
    ///
    /// # Errors
    /// What the capsule says.
    pub fn unalias(&self, name: &str, aliases: &[String]) -> Result<EntityNames> {
        let mut entity = self.entity(name)?;
        for alias in aliases {
            let key = slug(alias);
            if entity.aliases.iter().any(|known| slug(known) == key) {
                self.location.put(record_of_alias(alias, None)?)?;
            }
            entity = without(&entity, &key);
        }
        self.put_entity(&entity)?;
        Ok(entity)
    }

    /// The entity that has this name, with all its names.
    ///
    /// # Errors
    /// What the capsule says.
    pub fn entity(&self, name: &str) -> Result<EntityNames> {
        let alone = EntityNames { name: name.trim().to_string(), aliases: Vec::new() };
        let Some(reader) = self.location.reader()? else { return Ok(alone) };
        Ok(entity_in(reader.raw(), name)?.unwrap_or(alone))
    }

    /// The ways in which records may spell the name of an entity: as it is given, the names that
    /// the capsule declares, and the slug of each.
    ///
    /// # Errors
    /// What the capsule says.
    pub fn spellings(&self, name: &str) -> Result<Vec<String>> {
        let entity = self.entity(name)?;
        let mut all = vec![name.to_string()];
        for name in [name.to_string(), entity.name].into_iter().chain(entity.aliases) {
            for spelling in [slug(&name), name] {
                if !spelling.is_empty() && !all.contains(&spelling) {
                    all.push(spelling);
                }
            }
        }
        Ok(all)
    }

    /// Entities with further names.
    ///
    /// # Errors
    /// What the capsule says.
    pub fn entities(&self) -> Result<Vec<EntityNames>> {
        self.all(&|record| entity_of(record).filter(|entity| !entity.aliases.is_empty()))
    }

    /// Declares whether an entity can have many values of an attribute.
    ///
    /// # Errors
    /// What the capsule says; `InvalidOperation` for an empty name.
    pub fn declare(&self, attribute: &AttributeDeclared) -> Result<()> {
        if slug(&attribute.name).is_empty() {
            return Err(misuse("the name of an attribute is empty"));
        }
        let AttributeDeclared { name, domain, many } = attribute;
        let count = if *many { "many values" } else { "one value" };
        let text = format!("{name}: an entity has {count}");
        self.location.put(NewRecord {
            uri: Some(attribute_uri(name, domain)?),
            kind: VOCABULARY.to_string(),
            title: name.clone(),
            domain: domain.clone(),
            metadata: object(json!({"attribute": name, "many": many})),
            ..NewRecord::text(text)
        })
    }

    /// Declared attributes.
    ///
    /// # Errors
    /// What the capsule says.
    pub fn attributes(&self) -> Result<Vec<AttributeDeclared>> {
        self.all(&attribute_of)
    }

    fn all<T>(&self, read: &dyn Fn(&Record) -> Option<T>) -> Result<Vec<T>> {
        let Some(reader) = self.location.reader()? else { return Ok(Vec::new()) };
        let index = KindIndex { view: reader.raw(), kinds: &[VOCABULARY] };
        index.first(&Clauses::default(), VOCABULARY_MAX, read)
    }

    fn put_entity(&self, entity: &EntityNames) -> Result<()> {
        let mut text = entity.name.clone();
        if !entity.aliases.is_empty() {
            text = format!("{text}: also called {}", entity.aliases.join(", "));
        }
        let aliases: BTreeSet<&String> = entity.aliases.iter().collect();
        self.location.put(NewRecord {
            uri: Some(entity_uri(&entity.name)?),
            kind: VOCABULARY.to_string(),
            title: entity.name.clone(),
            metadata: object(json!({"entity": entity.name, "aliases": entity.aliases})),
            ..NewRecord::text(text)
        })?;
        for alias in aliases {
            self.location.put(record_of_alias(alias, Some(&entity.name))?)?;
        }
        Ok(())
    }
}

/// What a view says of the entity and the attribute of a fact.
pub(super) fn of_fact(view: RawView<'_>, fact: &Fact) -> Result<Vocabulary> {
    let mut found = Vocabulary { aliases: slugs_of(view, &fact.entity)?, many: None };
    if fact.attribute.is_empty() {
        return Ok(found);
    }
    for domain in [fact.domain.as_str(), ""] {
        let record = view.known(&attribute_uri(&fact.attribute, domain)?)?;
        found.many = found.many.or(record.as_ref().and_then(attribute_of).map(|its| its.many));
    }
    Ok(found)
}

/// Slugs of all names of the entity that has this one.
pub(super) fn slugs_of(view: RawView<'_>, name: &str) -> Result<Vec<String>> {
    if name.is_empty() {
        return Ok(Vec::new());
    }
    let entity = entity_in(view, name)?;
    let names = entity
        .into_iter()
        .flat_map(|entity| std::iter::once(entity.name).chain(entity.aliases).collect::<Vec<_>>());
    Ok(names.map(|name| slug(&name)).collect())
}

fn entity_in(view: RawView<'_>, name: &str) -> Result<Option<EntityNames>> {
    let Ok(uri) = entity_uri(name) else { return Ok(None) };
    let Some(record) = view.known(&uri)? else { return Ok(None) };
    let Some(of) = record.metadata.get("alias_of").and_then(Value::as_str) else {
        return Ok(entity_of(&record));
    };
    Ok(view.known(&entity_uri(of)?)?.as_ref().and_then(entity_of))
}

fn entity_of(record: &Record) -> Option<EntityNames> {
    let name = record.metadata.get("entity").and_then(Value::as_str);
    let aliases = record.metadata.get("aliases").and_then(Value::as_array);
    Some(EntityNames {
        name: name.filter(|_| record.kind == VOCABULARY)?.to_string(),
        aliases: aliases
            .into_iter()
            .flatten()
            .filter_map(|alias| Some(alias.as_str()?.to_string()))
            .collect(),
    })
}

fn attribute_of(record: &Record) -> Option<AttributeDeclared> {
    let name = record.metadata.get("attribute").and_then(Value::as_str);
    Some(AttributeDeclared {
        name: name.filter(|_| record.kind == VOCABULARY)?.to_string(),
        domain: record.domain.clone(),
        many: record.metadata.get("many").and_then(Value::as_bool)?,
    })
}

fn without(entity: &EntityNames, key: &str) -> EntityNames {
    let kept = entity.aliases.iter().filter(|alias| slug(alias) != key);
    EntityNames { name: entity.name.clone(), aliases: kept.cloned().collect() }
}

/// The record under a name that is an alias, or was one.
fn record_of_alias(alias: &str, of: Option<&str>) -> Result<NewRecord> {
    let (text, metadata) = match of {
        Some(of) => (format!("{alias}: {of}"), json!({"alias_of": of})),
        None => (alias.to_string(), json!({"entity": alias, "aliases": []})),
    };
    Ok(NewRecord {
        uri: Some(entity_uri(alias)?),
        kind: VOCABULARY.to_string(),
        title: alias.to_string(),
        metadata: object(metadata),
        ..NewRecord::text(text)
    })
}

fn object(value: Value) -> serde_json::Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

fn entity_uri(name: &str) -> Result<Uri> {
    uri(&format!("{VOCABULARY}/entity/{}", escape(&slug(name))))
}

fn attribute_uri(name: &str, domain: &str) -> Result<Uri> {
    let domain = if domain.is_empty() { "_" } else { domain };
    uri(&format!("{VOCABULARY}/attribute/{}/{}", escape(domain), escape(&slug(name))))
}

fn uri(path: &str) -> Result<Uri> {
    Uri::parse(path).map_err(|_| misuse("the name is too long"))
}

fn misuse(reason: &str) -> Error {
    Error::InvalidOperation { reason: reason.to_string() }
}
