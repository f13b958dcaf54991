//! How are facts, episodes and insights kept in a capsule, where they survive, branch and have a history?
//!
//! Each is a record with a URI of its own, an update is a revision, a removal a tombstone. Every question is about the capsule as it is at
//! that moment, so that stores in different processes see what each other wrote. What a question costs is told at [`super::kind_index`].
//!
//! How often a fact was read is counted beside it, under `access/<id>`: reading must neither rewrite what is read nor cost a commit of
//! its own. Counts are gathered in memory and go to the disk with the next write, after [`TOUCHES_UNSAVED_MAX`] reads, or when the
//! store is dropped; a crash loses at most those. They belong to the branch on which was read, no merge carries them over, and none
//! can conflict because of them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use super::kind_index::{Clauses, KindIndex, Placed};
use super::matching::{Likeness, Rule, counts, words};
use super::records::{self, ACCESS, Access, EPISODE, FACT, INSIGHT};
use super::stores::{EpisodeQuery, EpisodicStore, FactQuery, FactStore, InsightQuery, InsightStore};
use super::types::{Episode, Fact, Insight};
use super::workspace::{forget_hidden, keep_hidden};
use kapsa_memory::AsOf;
use kapsa_memory::access::ClearanceProfile;
use kapsa_memory::branch::MAIN;
use kapsa_memory::record::{Micros, NewRecord, Record};
use kapsa_memory::{Batch, RawView, Reader};
use kapsa_memory::{Error, Result};
use kapsa_memory::{WriteOptions, Writer, create};

/// Reads of facts that are counted in memory before the counts go to the disk.
pub const TOUCHES_UNSAVED_MAX: u64 = 256;

/// Most facts of one attribute that a new one is compared with: the first ones.
pub const NEAR_BY_ATTRIBUTE_MAX: usize = 256;
/// Most facts that a new one is compared with because of their words.
pub const NEAR_BY_WORDS_MAX: usize = 64;

/// A capsule, and the branch of it, that stores keep their things in. Copies share one queue of writes; writers of other processes are
/// waited for as the options say.
///
/// The capsule is made by the first write. Until then there is nothing in it.
#[derive(Clone, Debug)]
pub struct CapsuleHome {
    path: PathBuf,
    options: WriteOptions,
    branch: String,
    as_of: Option<AsOf>,
    principal: Option<ClearanceProfile>,
    queue: Arc<Mutex<()>>,
    /// The capsule as it was read last: whoever asks next need not read and check the same again.
    last: Arc<Mutex<Option<Reader>>>,
    /// The writer of a turn that is not over, and the thread whose turn it is.
    held: Arc<Mutex<Option<(ThreadId, Writer)>>>,
}

/// Ends a turn, however its work ended.
struct Turn<'a>(&'a CapsuleHome);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *lock(&self.0.held) = None;
    }
}

impl CapsuleHome {
    /// The branch `main` of the capsule at `path`.
    #[must_use]
    pub fn new(path: &Path, options: WriteOptions) -> CapsuleHome {
        let (path, branch) = (path.to_path_buf(), MAIN.to_string());
        CapsuleHome {
            path,
            options,
            branch,
            as_of: None,
            principal: None,
            queue: Arc::default(),
            last: Arc::default(),
            held: Arc::default(),
        }
    }

    /// Another branch of the same capsule. It must exist when something is asked of it or written to it.
    #[must_use]
    pub fn on(&self, branch: impl Into<String>) -> CapsuleHome {
        CapsuleHome { branch: branch.into(), held: Arc::default(), ..self.clone() }
    }

    /// The branch as it was at a moment. Nothing can be written there.
    #[must_use]
    pub fn at(&self, as_of: AsOf) -> CapsuleHome {
        CapsuleHome { as_of: Some(as_of), held: Arc::default(), ..self.clone() }
    }

    /// The same as a principal may know it: what its profile does not allow is not there, and it writes what it may know and nothing
    /// else. See [`Reader::as_principal`] and [`Writer::as_principal`].
    #[must_use]
    pub fn as_principal(&self, profile: ClearanceProfile) -> CapsuleHome {
        CapsuleHome { principal: Some(profile), held: Arc::default(), ..self.clone() }
    }

    /// What the branch holds now, or held then; none when there is no capsule yet.
    fn reader(&self) -> Result<Option<Reader>> {
        let Some(mut reader) = self.whole()? else { return Ok(None) };
        if let Some(profile) = &self.principal {
            reader = reader.as_principal(profile.clone());
        }
        if self.branch == MAIN && self.as_of.is_none() {
            return Ok(Some(reader));
        }
        reader.on(&self.branch, self.as_of.as_ref()).map(Some)
    }

    /// `main`, as it is now, for the owner.
    fn whole(&self) -> Result<Option<Reader>> {
        let mut last = lock(&self.last);
        let now = last.as_ref().map_or_else(|| Reader::open(&self.path), Reader::renewed);
        let now = match now {
            Err(Error::Capsule(kapsa_memory::CapsuleError::NotFound { .. })) => {
                *last = None;
                return Ok(None);
            }
            now => now?,
        };
        let reader = now.clone();
        *last = Some(now);
        Ok(Some(reader))
    }

    /// Writes what `change` makes of the branch as it is: one commit, or none when that is nothing.
    fn write(&self, change: impl FnOnce(RawView<'_>, &mut Batch) -> Result<()>) -> Result<()> {
        if self.as_of.is_some() {
            return Err(Error::InvalidOperation { reason: "nothing can be written to a moment that is past".to_string() });
        }
        if let Some((_, writer)) = lock(&self.held).as_mut().filter(|(whose, _)| *whose == thread::current().id()) {
            return writer.change(change).map(drop);
        }
        let _turn = lock(&self.queue);
        let mut writer = self.acting()?;
        writer.change(change).map(drop)
    }

    /// Has the capsule's lock to itself while `work` reads and writes: nobody changes in between what it has read. A turn within a turn
    /// of the same home is a part of it. At a past moment, where nothing can be written, there are no turns.
    fn in_turn(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let is_mine = lock(&self.held).as_ref().is_some_and(|(whose, _)| *whose == thread::current().id());
        if is_mine || self.as_of.is_some() {
            return work();
        }
        let _turn = lock(&self.queue);
        let writer = self.acting()?;
        *lock(&self.held) = Some((thread::current().id(), writer));
        let _end = Turn(self);
        work()
    }

    /// A writer of the branch, as it is for who acts.
    fn acting(&self) -> Result<Writer> {
        let mut writer = self.writer()?;
        if let Some(profile) = &self.principal {
            writer = writer.as_principal(profile.clone());
        }
        if self.branch != MAIN {
            writer.switch(&self.branch)?;
        }
        Ok(writer)
    }

    fn writer(&self) -> Result<Writer> {
        match Writer::open(&self.path, self.options.clone()) {
            Err(Error::Capsule(kapsa_memory::CapsuleError::NotFound { .. })) => {}
            opened => return opened,
        }
        create(&self.path, &self.options)?;
        Writer::open(&self.path, self.options.clone())
    }

    fn put(&self, record: NewRecord) -> Result<()> {
        record.check()?;
        self.write(|_, batch| {
            batch.put(record);
            Ok(())
        })
    }
}

/// Facts in a capsule.
pub struct CapsuleFactStore {
    home: CapsuleHome,
    touched: Mutex<Touched>,
}

/// Reads that are not on the disk yet.
#[derive(Clone, Debug, Default)]
struct Touched {
    by_id: BTreeMap<String, Access>,
    /// Reads since the counts were last saved, or could not be.
    count: u64,
}

impl fmt::Debug for CapsuleFactStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CapsuleFactStore").field("home", &self.home).finish_non_exhaustive()
    }
}

impl CapsuleFactStore {
    /// The facts of a capsule.
    #[must_use]
    pub fn new(home: CapsuleHome) -> CapsuleFactStore {
        CapsuleFactStore { home, touched: Mutex::default() }
    }

    /// Saves how often facts were read.
    ///
    /// # Errors
    /// What the disk says; `LockedByWriter`. The counts are kept for the next time.
    pub fn flush(&self) -> Result<()> {
        self.save(&mut lock(&self.touched))
    }

    /// Saves all counts, or keeps them.
    fn save(&self, touched: &mut Touched) -> Result<()> {
        touched.count = 0;
        if !touched.by_id.is_empty() {
            self.home.write(|view, batch| count(view, batch, &touched.by_id))?;
            touched.by_id.clear();
        }
        Ok(())
    }

    /// The reader that a query's clearance asks for. Who is guarded by another profile already is by both: the rule asks the one of the
    /// query.
    fn cleared(&self, reader: Reader, query: &FactQuery) -> Reader {
        match (&self.home.principal, &query.clearance) {
            (None, Some(profile)) => reader.as_principal(profile.clone()),
            _ => reader,
        }
    }

    /// The facts as they are now, and the reads that they do not know of. Both are of one moment: no read is counted twice or not at all.
    fn now(&self) -> Result<Option<(Reader, Touched)>> {
        let touched = lock(&self.touched);
        Ok(self.home.reader()?.map(|reader| (reader, touched.clone())))
    }
}

/// What was not saved until now is saved, as far as that is possible: nobody is there who could be told.
impl Drop for CapsuleFactStore {
    fn drop(&mut self) {
        let _lost_when_it_cannot_be_saved = self.flush();
    }
}

impl FactStore for CapsuleFactStore {
    fn store(&self, fact: &Fact) -> Result<()> {
        self.store_many(std::slice::from_ref(fact))
    }

    fn store_many(&self, facts: &[Fact]) -> Result<()> {
        facts.iter().try_for_each(|fact| records::of_fact(fact, None)?.check())?;
        let mut touched = lock(&self.touched);
        // A fact that is stored brings its counts.
        let mut others = touched.by_id.clone();
        others.retain(|id, _| facts.iter().all(|fact| fact.id != *id));
        self.home.write(|view, batch| {
            count(view, batch, &others)?;
            for fact in each_once(facts) {
                let uri = records::fact_uri(&fact.id)?;
                let old = view.known(&uri)?.filter(|record| record.kind == FACT);
                let mut fact = fact.clone();
                if let Some(old) = old.as_ref().filter(|_| view.is_guarded()).and_then(records::fact) {
                    keep_hidden(&mut fact, &old, |id| Ok(view.known(&records::fact_uri(id)?)?.is_some()))?;
                }
                batch.put(records::of_fact(&fact, old.as_ref().map(records::place))?);
                forget_count(view, batch, &fact.id)?;
            }
            Ok(())
        })?;
        *touched = Touched::default();
        Ok(())
    }

    fn query(&self, query: &FactQuery) -> Result<Vec<Fact>> {
        let Some((reader, touched)) = self.now()? else { return Ok(Vec::new()) };
        let reader = self.cleared(reader, query);
        let view = reader.raw();
        let rule = Rule::<FactQuery>::of(query);
        let read = |record: &_| records::fact(record).filter(|fact| rule.allows(fact));
        let mut facts = KindIndex { view, kind: FACT }.first(&fact_clauses(query), query.limit, &read)?;
        facts.iter_mut().try_for_each(|fact| complete(view, &touched, fact))?;
        Ok(facts)
    }

    fn near(&self, fact: &Fact) -> Result<Vec<Fact>> {
        let Some((reader, touched)) = self.now()? else { return Ok(Vec::new()) };
        let view = reader.raw();
        let index = KindIndex { view, kind: FACT };
        let about = Clauses::default().field("entity", Some(&fact.entity)).field("domain", Some(&fact.domain)).readers_of(fact);
        let (entity, domain) = (Some(fact.entity.clone()), Some(fact.domain.clone()));
        let query = FactQuery { entity, domain, ..FactQuery::default() };
        let rule = Rule::<FactQuery>::of(&query);
        let read = |record: &_| records::fact(record).filter(|fact| rule.allows(fact));
        let mut found = index.alike(&about, &words(&fact.content), NEAR_BY_WORDS_MAX, &read)?;
        if !fact.attribute.is_empty() {
            let same = index.first_placed(&about.attribute(Some(&fact.attribute)), NEAR_BY_ATTRIBUTE_MAX, &read)?;
            found.extend(same);
        }
        found.sort_by_key(|found| found.place);
        found.dedup_by_key(|found| found.place);
        let mut found: Vec<Fact> = found.into_iter().map(|Placed { thing, .. }| thing).collect();
        found.iter_mut().try_for_each(|fact| complete(view, &touched, fact))?;
        Ok(found)
    }

    /// How often they were read is not told: nobody chooses by it.
    fn likely(&self, query: &FactQuery, words: &str) -> Result<Vec<Fact>> {
        let Some(reader) = self.home.reader()? else { return Ok(Vec::new()) };
        let reader = self.cleared(reader, query);
        let view = reader.raw();
        let rule = Rule::<FactQuery>::of(query);
        let read = |record: &Record| {
            let mut fact = records::fact(record).filter(|fact| rule.allows(fact))?;
            // Another revision of it counts as well, which says otherwise.
            let is_contested =
                record.conflicts_with.iter().any(|&other| view.known_record(other).is_ok_and(|other| other.is_some()));
            fact.contested_with.extend(is_contested.then(|| fact.id.clone()));
            Some(fact)
        };
        KindIndex { view, kind: FACT }.likely(&fact_clauses(query), words, query.limit, &read)
    }

    fn get(&self, id: &str) -> Result<Option<Fact>> {
        // An id that is none names nothing.
        let (Ok(uri), Some((reader, touched))) = (records::fact_uri(id), self.now()?) else { return Ok(None) };
        let view = reader.raw();
        let mut fact = view.known(&uri)?.as_ref().and_then(records::fact);
        fact.iter_mut().try_for_each(|fact| complete(view, &touched, fact))?;
        Ok(fact)
    }

    fn update(&self, fact: &Fact) -> Result<()> {
        self.store(fact)
    }

    fn in_turn(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.home.in_turn(work)
    }

    fn delete(&self, id: &str) -> Result<()> {
        let Ok(uri) = records::fact_uri(id) else { return Ok(()) };
        let mut touched = lock(&self.touched);
        touched.by_id.remove(id);
        if self.home.reader()?.is_none() {
            return Ok(());
        }
        self.home.write(|view, batch| {
            if view.known(&uri)?.is_none_or(|record| record.kind != FACT) {
                return Ok(());
            }
            batch.forget(uri);
            forget_count(view, batch, id)
        })
    }

    fn touch(&self, ids: &[&str], at: Micros) -> Result<()> {
        if self.home.as_of.is_some() {
            // What was read of the past is no reading of what is there now.
            return Ok(());
        }
        let mut touched = lock(&self.touched);
        for id in ids {
            touched.by_id.entry((*id).to_string()).or_default().add(Access { count: 1, last: Some(at) });
            touched.count += 1;
        }
        if touched.count < TOUCHES_UNSAVED_MAX {
            return Ok(());
        }
        // Counts are hints: what was read was read, whether they can be saved now or, as after so many more reads, later.
        let _saved_now_or_later = self.save(&mut touched);
        Ok(())
    }
}

fn fact_clauses(query: &FactQuery) -> Clauses {
    Clauses::default()
        .field("entity", query.entity.as_deref())
        .field("domain", query.domain.as_deref())
        .attribute(query.attribute.as_deref())
        .tags(&query.tags)
        .text(&query.text)
}

fn insight_clauses(query: &InsightQuery) -> Clauses {
    CapsuleInsightStore::of_agent(&query.agent_id)
        .field("entity", query.entity.as_deref())
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
fn count(view: RawView<'_>, batch: &mut Batch, touched: &BTreeMap<String, Access>) -> Result<()> {
    for (id, reads) in touched {
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
fn saved(view: RawView<'_>, fact: &Fact) -> Result<Access> {
    let beside = view.noted(&records::access_uri(&fact.id)?)?.and_then(|record| records::access(&record));
    Ok(beside.unwrap_or(Access { count: fact.access_count, last: fact.last_accessed }))
}

/// Completes what a record says of a fact by its counts, and leaves out what in it tells of facts that are hidden.
fn complete(view: RawView<'_>, touched: &Touched, fact: &mut Fact) -> Result<()> {
    let mut access = saved(view, fact)?;
    access.add(touched.by_id.get(&fact.id).copied().unwrap_or_default());
    (fact.access_count, fact.last_accessed) = (access.count, access.last);
    if view.is_guarded() {
        forget_hidden(fact, |id| Ok(view.known(&records::fact_uri(id)?)?.is_some()))?;
    }
    Ok(())
}

/// Episodes in a capsule.
#[derive(Debug)]
pub struct CapsuleEpisodicStore {
    home: CapsuleHome,
}

impl CapsuleEpisodicStore {
    /// The episodes of a capsule.
    #[must_use]
    pub fn new(home: CapsuleHome) -> CapsuleEpisodicStore {
        CapsuleEpisodicStore { home }
    }
}

impl EpisodicStore for CapsuleEpisodicStore {
    fn store(&self, episode: &Episode) -> Result<()> {
        self.home.put(records::of_episode(episode)?)
    }

    fn query(&self, query: &EpisodeQuery) -> Result<Vec<Episode>> {
        let Some(reader) = self.home.reader()? else { return Ok(Vec::new()) };
        let rule = Rule::<EpisodeQuery>::of(query);
        let clauses = Clauses::default()
            .field("agent", Some(&query.agent_id))
            .field("entity", query.entity.as_deref())
            .field("domain", query.domain.as_deref())
            .tags(&query.tags)
            .since(query.since);
        let read = |record: &_| records::episode(record).filter(|episode| rule.allows(episode));
        KindIndex { view: reader.raw(), kind: EPISODE }.newest(&clauses, query.limit, &read)
    }

    fn get(&self, agent_id: &str, id: &str) -> Result<Option<Episode>> {
        let (Ok(uri), Some(reader)) = (records::agent_uri(EPISODE, agent_id, id), self.home.reader()?) else { return Ok(None) };
        Ok(reader.raw().known(&uri)?.as_ref().and_then(records::episode))
    }
}

/// Insights in a capsule.
#[derive(Debug)]
pub struct CapsuleInsightStore {
    home: CapsuleHome,
}

impl CapsuleInsightStore {
    /// The insights of a capsule.
    #[must_use]
    pub fn new(home: CapsuleHome) -> CapsuleInsightStore {
        CapsuleInsightStore { home }
    }

    fn of_agent(agent_id: &str) -> Clauses {
        Clauses::default().field("agent", Some(agent_id))
    }
}

impl InsightStore for CapsuleInsightStore {
    fn store(&self, insight: &Insight) -> Result<()> {
        records::of_insight(insight, None)?.check()?;
        let uri = records::agent_uri(INSIGHT, &insight.agent_id, &insight.id)?;
        self.home.write(|view, batch| {
            let old = view.known(&uri)?.filter(|record| record.kind == INSIGHT);
            let record = records::of_insight(insight, old.map(|record| records::place(&record)))?;
            batch.put(record);
            Ok(())
        })
    }

    fn query(&self, query: &InsightQuery) -> Result<Vec<Insight>> {
        let Some(reader) = self.home.reader()? else { return Ok(Vec::new()) };
        let rule = Rule::<InsightQuery>::of(query);
        let read = |record: &_| records::insight(record).filter(|insight| rule.allows(insight));
        KindIndex { view: reader.raw(), kind: INSIGHT }.first(&insight_clauses(query), query.limit, &read)
    }

    fn likely(&self, query: &InsightQuery, words: &str) -> Result<Vec<Insight>> {
        let Some(reader) = self.home.reader()? else { return Ok(Vec::new()) };
        let rule = Rule::<InsightQuery>::of(query);
        let read = |record: &_| records::insight(record).filter(|insight| rule.allows(insight));
        KindIndex { view: reader.raw(), kind: INSIGHT }.likely(&insight_clauses(query), words, query.limit, &read)
    }

    fn get(&self, agent_id: &str, id: &str) -> Result<Option<Insight>> {
        let (Ok(uri), Some(reader)) = (records::agent_uri(INSIGHT, agent_id, id), self.home.reader()?) else { return Ok(None) };
        Ok(reader.raw().known(&uri)?.as_ref().and_then(records::insight))
    }

    fn update(&self, insight: &Insight) -> Result<()> {
        self.store(insight)
    }

    fn in_turn(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.home.in_turn(work)
    }

    fn find_similar(&self, agent_id: &str, content: &str) -> Result<Option<Insight>> {
        let (Some(likeness), Some(reader)) = (Likeness::of(content), self.home.reader()?) else { return Ok(None) };
        let is_similar = |insight: &Insight| insight.agent_id == agent_id && counts(insight) && likeness.holds(&insight.content);
        let read = |record: &_| records::insight(record).filter(is_similar);
        let index = KindIndex { view: reader.raw(), kind: INSIGHT };
        Ok(index.first(&CapsuleInsightStore::of_agent(agent_id), 1, &read)?.pop())
    }
}

/// What a thread that panicked left behind is whole: counts are added one by one, and the queue holds nothing.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
