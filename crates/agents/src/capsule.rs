//! Facts, episodes and insights in a capsule, where they survive, branch and have a history.
//!
//! Each is a record with a URI of its own, an update is a revision, a removal a tombstone. Every
//! query is about the capsule as it is at that moment, so that stores in different processes see
//! what each other wrote. What a query costs is stated in [`super::kind_index`].
//!
//! How often a fact was read is counted beside it, under `access/<id>`: reading must neither
//! rewrite what is read nor cost a commit of its own. Counts are gathered in memory and go to the
//! disk with the next write, after [`TOUCHES_UNSAVED_MAX`] reads, or when the store is dropped; a
//! crash loses at most those. They belong to the branch on which was read, no merge carries them
//! over, and none can conflict because of them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;

use kapsa_memory::{Batch, Micros, RawView, Record, Result};

use super::acting::ActingReader;
use super::compare::Vocabulary;
use super::kind_index::{Clauses, KindIndex, Placed};
use super::location::{StoreLocation, lock, may_change};
use super::matching::{Likeness, Rule, counts, words};
use super::records::{self, ACCESS, EPISODE, FACT, INSIGHT, NOTE_KINDS, Reads};
use super::relations::{forget_hidden, keep_hidden};
use super::stores::{
    EpisodeQuery, EpisodicStore, FactQuery, FactStore, InsightQuery, InsightStore,
};
use super::types::{Episode, Fact, Insight, Note};
use super::vocabulary;

/// Reads of facts that are counted in memory before the counts go to the disk.
pub const TOUCHES_UNSAVED_MAX: u64 = 256;

/// Most facts of one attribute that a new one is compared with: the first ones.
pub const NEAR_BY_ATTRIBUTE_MAX: usize = 256;
/// Most facts that a new one is compared with because of their words.
pub const NEAR_BY_WORDS_MAX: usize = 64;

/// Facts in a capsule.
pub struct CapsuleFactStore {
    location: StoreLocation,
    unsaved: Mutex<UnsavedReads>,
}

/// Reads that are not on the disk yet.
#[derive(Clone, Debug, Default)]
struct UnsavedReads {
    by_id: BTreeMap<String, Reads>,
    /// Reads since the counts were last saved, or could not be.
    count: u64,
}

impl fmt::Debug for CapsuleFactStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CapsuleFactStore").field("location", &self.location).finish_non_exhaustive()
    }
}

impl CapsuleFactStore {
    /// The facts of a capsule.
    #[must_use]
    pub fn new(location: StoreLocation) -> CapsuleFactStore {
        CapsuleFactStore { location, unsaved: Mutex::default() }
    }

    /// Saves how often facts were read.
    ///
    /// # Errors
    /// What the disk says; `LockedByWriter`. The counts are kept for the next time.
    pub fn flush(&self) -> Result<()> {
        self.save(&mut lock(&self.unsaved))
    }

    /// Saves all counts, or keeps them.
    fn save(&self, unsaved: &mut UnsavedReads) -> Result<()> {
        unsaved.count = 0;
        if !unsaved.by_id.is_empty() {
            self.location.write(|view, batch| count(view, batch, &unsaved.by_id))?;
            unsaved.by_id.clear();
        }
        Ok(())
    }

    /// The facts as they are now, and the reads that they do not know of. Both are of one moment:
    /// no read is counted twice or not at all.
    fn now(&self) -> Result<Option<(ActingReader, UnsavedReads)>> {
        let unsaved = lock(&self.unsaved);
        Ok(self.location.reader()?.map(|reader| (reader, unsaved.clone())))
    }
}

/// Saves the counts as far as that is possible: a drop cannot report an error.
impl Drop for CapsuleFactStore {
    fn drop(&mut self) {
        let _lost_when_it_cannot_be_saved = self.flush();
    }
}

impl FactStore for CapsuleFactStore {
    fn principal(&self) -> String {
        self.location.principal()
    }

    fn may_change(&self, fact: &Fact) -> bool {
        may_change(&self.location, fact)
    }

    fn store(&self, fact: &Fact) -> Result<()> {
        self.store_many(std::slice::from_ref(fact))
    }

    fn store_many(&self, facts: &[Fact]) -> Result<()> {
        facts.iter().try_for_each(|fact| records::of_fact(fact, None)?.check())?;
        let mut unsaved = lock(&self.unsaved);
        // A fact that is stored brings its counts.
        let mut others = unsaved.by_id.clone();
        others.retain(|id, _| facts.iter().all(|fact| fact.id != *id));
        self.location.write(|view, batch| {
            count(view, batch, &others)?;
            for fact in each_once(facts) {
                let uri = records::fact_uri(&fact.id)?;
                let old = view.known(&uri)?.filter(|record| record.kind == FACT);
                let mut fact = fact.clone();
                if let Some(old) =
                    old.as_ref().filter(|_| view.is_guarded()).and_then(records::fact)
                {
                    keep_hidden(&mut fact, &old, |id| {
                        Ok(view.known(&records::fact_uri(id)?)?.is_some())
                    })?;
                }
                let mut record = records::of_fact(&fact, old.as_ref().map(records::place))?;
                // What is around a text does not change how far the text is trusted.
                let old = old.filter(|old| old.text == record.text);
                record.trust = old.map(|old| old.provenance.trust);
                batch.put(record);
                forget_count(view, batch, &fact.id)?;
            }
            Ok(())
        })?;
        *unsaved = UnsavedReads::default();
        Ok(())
    }

    fn query(&self, query: &FactQuery) -> Result<Vec<Fact>> {
        let Some((reader, unsaved)) = self.now()? else { return Ok(Vec::new()) };
        // A principal's reader is guarded by its own profile, and the rule applies the query's.
        let reader = reader.cleared(query.clearance.as_ref());
        let view = reader.raw();
        let aliases = aliases(view, query.entity.as_deref())?;
        let rule = Rule::<FactQuery>::about(query, &aliases);
        let read = |record: &_| records::fact(record).filter(|fact| rule.allows(fact));
        let clauses = fact_clauses(query, &aliases);
        let mut facts = KindIndex { view, kinds: &[FACT] }.first(&clauses, query.limit, &read)?;
        facts.iter_mut().try_for_each(|fact| complete(view, &unsaved, fact))?;
        Ok(facts)
    }

    fn near(&self, fact: &Fact) -> Result<Vec<Fact>> {
        let Some((reader, unsaved)) = self.now()? else { return Ok(Vec::new()) };
        let view = reader.raw();
        let index = KindIndex { view, kinds: &[FACT] };
        let aliases = self.vocabulary(fact)?.aliases;
        let about = Clauses::default()
            .near_entity(&fact.entity, &aliases)
            .field("domain", Some(&fact.domain))
            .readers_of(fact);
        // Entities are compared afterwards: one may be short for another.
        let query = FactQuery { domain: Some(fact.domain.clone()), ..FactQuery::default() };
        let rule = Rule::<FactQuery>::of(&query);
        let read = |record: &_| records::fact(record).filter(|fact| rule.allows(fact));
        let mut found = index.alike(&about, &words(&fact.content), NEAR_BY_WORDS_MAX, &read)?;
        if !fact.attribute.is_empty() {
            let same = index.first_placed(
                &about.attribute(Some(&fact.attribute)),
                NEAR_BY_ATTRIBUTE_MAX,
                &read,
            )?;
            found.extend(same);
        }
        found.sort_by_key(|found| found.place);
        found.dedup_by_key(|found| found.place);
        let mut found: Vec<Fact> = found.into_iter().map(|Placed { thing, .. }| thing).collect();
        found.iter_mut().try_for_each(|fact| complete(view, &unsaved, fact))?;
        Ok(found)
    }

    fn vocabulary(&self, fact: &Fact) -> Result<Vocabulary> {
        let Some(reader) = self.location.reader()? else { return Ok(Vocabulary::default()) };
        vocabulary::of_fact(reader.raw(), fact)
    }

    /// Without how often they were read: nobody chooses by it.
    fn likely(&self, query: &FactQuery, words: &str) -> Result<Vec<Fact>> {
        let Some(reader) = self.location.reader()? else { return Ok(Vec::new()) };
        // A principal's reader is guarded by its own profile, and the rule applies the query's.
        let reader = reader.cleared(query.clearance.as_ref());
        let view = reader.raw();
        let aliases = aliases(view, query.entity.as_deref())?;
        let rule = Rule::<FactQuery>::about(query, &aliases);
        let read = |record: &Record| {
            let mut fact = records::fact(record).filter(|fact| rule.allows(fact))?;
            // Another revision of it counts as well, which says otherwise; so does one that cannot
            // be read.
            let is_contested = record
                .conflicts_with
                .iter()
                .any(|&other| view.known_record(other).map_or(true, |other| other.is_some()));
            fact.contested_with.extend(is_contested.then(|| fact.id.clone()));
            Some(fact)
        };
        let clauses = fact_clauses(query, &aliases);
        KindIndex { view, kinds: &[FACT] }.likely(&clauses, words, query.limit, &read)
    }

    fn likely_notes(&self, query: &FactQuery, words: &str) -> Result<Vec<Note>> {
        let Some(reader) = self.location.reader()? else { return Ok(Vec::new()) };
        let reader = reader.cleared(query.clearance.as_ref());
        let view = reader.raw();
        let aliases = aliases(view, query.entity.as_deref())?;
        let rule = Rule::<FactQuery>::about(query, &aliases);
        let read = |record: &_| Some(records::note(record)).filter(|note| rule.allows_note(note));
        let clauses = fact_clauses(query, &aliases);
        KindIndex { view, kinds: &NOTE_KINDS }.likely(&clauses, words, query.limit, &read)
    }

    fn get(&self, id: &str) -> Result<Option<Fact>> {
        // An impossible id names nothing.
        let (Ok(uri), Some((reader, unsaved))) = (records::fact_uri(id), self.now()?) else {
            return Ok(None);
        };
        let view = reader.raw();
        let mut fact = view.known(&uri)?.as_ref().and_then(records::fact);
        fact.iter_mut().try_for_each(|fact| complete(view, &unsaved, fact))?;
        Ok(fact)
    }

    fn update(&self, fact: &Fact) -> Result<()> {
        self.store(fact)
    }

    fn in_turn(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.location.in_turn(work)
    }

    fn delete(&self, id: &str) -> Result<()> {
        let Ok(uri) = records::fact_uri(id) else { return Ok(()) };
        let mut unsaved = lock(&self.unsaved);
        unsaved.by_id.remove(id);
        if self.location.reader()?.is_none() {
            return Ok(());
        }
        self.location.write(|view, batch| {
            if view.known(&uri)?.is_none_or(|record| record.kind != FACT) {
                return Ok(());
            }
            batch.forget(uri);
            forget_count(view, batch, id)
        })
    }

    fn touch(&self, ids: &[&str], at: Micros) -> Result<()> {
        if self.location.is_past() {
            // What was read of the past does not count as reading what is there now.
            return Ok(());
        }
        let mut unsaved = lock(&self.unsaved);
        for id in ids {
            unsaved
                .by_id
                .entry((*id).to_string())
                .or_default()
                .add(Reads { count: 1, last: Some(at) });
            unsaved.count += 1;
        }
        if unsaved.count < TOUCHES_UNSAVED_MAX {
            return Ok(());
        }
        // Counts are hints: what was read was read, whether they can be saved now or, as after so
        // many more reads, later.
        let _saved_now_or_later = self.save(&mut unsaved);
        Ok(())
    }
}

/// Slugs of the other names of the entity that is asked for.
fn aliases(view: RawView<'_>, entity: Option<&str>) -> Result<Vec<String>> {
    entity.map_or(Ok(Vec::new()), |name| vocabulary::slugs_of(view, name))
}

fn fact_clauses(query: &FactQuery, aliases: &[String]) -> Clauses {
    Clauses::default()
        .entity(query.entity.as_deref(), aliases)
        .field("domain", query.domain.as_deref())
        .attribute(query.attribute.as_deref())
        .tags(&query.tags)
        .text(&query.text)
}

fn insight_clauses(query: &InsightQuery, aliases: &[String]) -> Clauses {
    CapsuleInsightStore::of_agent(&query.agent_id)
        .entity(query.entity.as_deref(), aliases)
        .field("domain", query.domain.as_deref())
        .tags(&query.tags)
        .text(&query.text)
}

/// Of facts with the same id the last, where the first one was.
fn each_once(facts: &[Fact]) -> Vec<&Fact> {
    let mut each: Vec<&Fact> = Vec::with_capacity(facts.len());
    let mut at = BTreeMap::new();
    for fact in facts {
        match at.get(&fact.id) {
            Some(&at) => each[at] = fact,
            None => {
                at.insert(&fact.id, each.len());
                each.push(fact);
            }
        }
    }
    each
}

/// Adds these reads to the counts of facts that are there.
fn count(view: RawView<'_>, batch: &mut Batch, unsaved: &BTreeMap<String, Reads>) -> Result<()> {
    for (id, reads) in unsaved {
        let Ok(uri) = records::fact_uri(id) else { continue };
        let Some(fact) = view.known(&uri)?.as_ref().and_then(records::fact) else { continue };
        let mut access = saved(view, &fact)?;
        access.add(*reads);
        batch.note(records::of_access(id, access)?);
    }
    Ok(())
}

/// Forgets a fact's counts, if it has any.
fn forget_count(view: RawView<'_>, batch: &mut Batch, id: &str) -> Result<()> {
    let uri = records::access_uri(id)?;
    if view.noted(&uri)?.is_some_and(|record| record.kind == ACCESS) {
        batch.forget_note(uri);
    }
    Ok(())
}

/// The counts on the disk: those beside the fact, or else those that it brought.
fn saved(view: RawView<'_>, fact: &Fact) -> Result<Reads> {
    let beside =
        view.noted(&records::access_uri(&fact.id)?)?.and_then(|record| records::access(&record));
    Ok(beside.unwrap_or(Reads { count: fact.access_count, last: fact.last_accessed }))
}

/// Adds the counts to a fact, and leaves out its relations to facts that are hidden.
fn complete(view: RawView<'_>, unsaved: &UnsavedReads, fact: &mut Fact) -> Result<()> {
    let mut access = saved(view, fact)?;
    access.add(unsaved.by_id.get(&fact.id).copied().unwrap_or_default());
    (fact.access_count, fact.last_accessed) = (access.count, access.last);
    if view.is_guarded() {
        forget_hidden(fact, |id| Ok(view.known(&records::fact_uri(id)?)?.is_some()))?;
    }
    Ok(())
}

/// Episodes in a capsule.
#[derive(Debug)]
pub struct CapsuleEpisodicStore {
    location: StoreLocation,
}

impl CapsuleEpisodicStore {
    /// The episodes of a capsule.
    #[must_use]
    pub fn new(location: StoreLocation) -> CapsuleEpisodicStore {
        CapsuleEpisodicStore { location }
    }
}

impl EpisodicStore for CapsuleEpisodicStore {
    fn store(&self, episode: &Episode) -> Result<()> {
        self.location.put(records::of_episode(episode)?)
    }

    fn query(&self, query: &EpisodeQuery) -> Result<Vec<Episode>> {
        let Some(reader) = self.location.reader()? else { return Ok(Vec::new()) };
        let aliases = aliases(reader.raw(), query.entity.as_deref())?;
        let rule = Rule::<EpisodeQuery>::about(query, &aliases);
        let clauses = Clauses::default()
            .field("agent", Some(&query.agent_id))
            .entity(query.entity.as_deref(), &aliases)
            .field("domain", query.domain.as_deref())
            .tags(&query.tags)
            .since(query.since);
        let read = |record: &_| records::episode(record).filter(|episode| rule.allows(episode));
        KindIndex { view: reader.raw(), kinds: &[EPISODE] }.newest(&clauses, query.limit, &read)
    }

    fn get(&self, agent_id: &str, id: &str) -> Result<Option<Episode>> {
        let (Ok(uri), Some(reader)) =
            (records::agent_uri(EPISODE, agent_id, id), self.location.reader()?)
        else {
            return Ok(None);
        };
        Ok(reader.raw().known(&uri)?.as_ref().and_then(records::episode))
    }
}

/// Insights in a capsule.
#[derive(Debug)]
pub struct CapsuleInsightStore {
    location: StoreLocation,
}

impl CapsuleInsightStore {
    /// The insights of a capsule.
    #[must_use]
    pub fn new(location: StoreLocation) -> CapsuleInsightStore {
        CapsuleInsightStore { location }
    }

    fn of_agent(agent_id: &str) -> Clauses {
        Clauses::default().field("agent", Some(agent_id))
    }
}

impl InsightStore for CapsuleInsightStore {
    fn store(&self, insight: &Insight) -> Result<()> {
        records::of_insight(insight, None)?.check()?;
        let uri = records::agent_uri(INSIGHT, &insight.agent_id, &insight.id)?;
        self.location.write(|view, batch| {
            let old = view.known(&uri)?.filter(|record| record.kind == INSIGHT);
            let record = records::of_insight(insight, old.map(|record| records::place(&record)))?;
            batch.put(record);
            Ok(())
        })
    }

    fn query(&self, query: &InsightQuery) -> Result<Vec<Insight>> {
        let Some(reader) = self.location.reader()? else { return Ok(Vec::new()) };
        let aliases = aliases(reader.raw(), query.entity.as_deref())?;
        let rule = Rule::<InsightQuery>::about(query, &aliases);
        let read = |record: &_| records::insight(record).filter(|insight| rule.allows(insight));
        KindIndex { view: reader.raw(), kinds: &[INSIGHT] }.first(
            &insight_clauses(query, &aliases),
            query.limit,
            &read,
        )
    }

    fn likely(&self, query: &InsightQuery, words: &str) -> Result<Vec<Insight>> {
        let Some(reader) = self.location.reader()? else { return Ok(Vec::new()) };
        let aliases = aliases(reader.raw(), query.entity.as_deref())?;
        let rule = Rule::<InsightQuery>::about(query, &aliases);
        let read = |record: &_| records::insight(record).filter(|insight| rule.allows(insight));
        KindIndex { view: reader.raw(), kinds: &[INSIGHT] }.likely(
            &insight_clauses(query, &aliases),
            words,
            query.limit,
            &read,
        )
    }

    fn get(&self, agent_id: &str, id: &str) -> Result<Option<Insight>> {
        let (Ok(uri), Some(reader)) =
            (records::agent_uri(INSIGHT, agent_id, id), self.location.reader()?)
        else {
            return Ok(None);
        };
        Ok(reader.raw().known(&uri)?.as_ref().and_then(records::insight))
    }

    fn update(&self, insight: &Insight) -> Result<()> {
        self.store(insight)
    }

    fn in_turn(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.location.in_turn(work)
    }

    fn find_similar(&self, agent_id: &str, content: &str) -> Result<Option<Insight>> {
        let (Some(likeness), Some(reader)) = (Likeness::of(content), self.location.reader()?)
        else {
            return Ok(None);
        };
        let is_similar = |insight: &Insight| {
            insight.agent_id == agent_id && counts(insight) && likeness.holds(&insight.content)
        };
        let read = |record: &_| records::insight(record).filter(is_similar);
        let index = KindIndex { view: reader.raw(), kinds: &[INSIGHT] };
        Ok(index.first(&CapsuleInsightStore::of_agent(agent_id), 1, &read)?.pop())
    }
}
