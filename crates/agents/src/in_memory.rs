//! Facts, episodes and insights that live as long as the process. For tests and for memories that
//! nobody wants to keep.
//!
//! Copies go in and copies come out: nobody changes what is stored by changing what it was given.
//! What the stores in a capsule refuse is refused here too, so that a program that works with the
//! one works with the other.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::matching::{Likeness, Rule, counts};
use super::records;
use super::stores::{
    EpisodeQuery, EpisodicStore, FactQuery, FactStore, InsightQuery, InsightStore,
};
use super::types::{Episode, Fact, Insight};
use kapsa_memory::Result;
use kapsa_memory::record::Micros;

/// Facts in memory, in the order in which they were first stored.
#[derive(Debug, Default)]
pub struct InMemoryFactStore {
    facts: Mutex<Vec<Fact>>,
}

impl InMemoryFactStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> InMemoryFactStore {
        InMemoryFactStore::default()
    }
}

impl FactStore for InMemoryFactStore {
    fn store(&self, fact: &Fact) -> Result<()> {
        self.store_many(std::slice::from_ref(fact))
    }

    fn store_many(&self, facts: &[Fact]) -> Result<()> {
        facts.iter().try_for_each(|fact| records::of_fact(fact, None)?.check())?;
        let mut all = lock(&self.facts);
        facts.iter().for_each(|fact| replace(&mut all, fact, |old| old.id == fact.id));
        Ok(())
    }

    fn query(&self, query: &FactQuery) -> Result<Vec<Fact>> {
        let rule = Rule::<FactQuery>::of(query);
        Ok(lock(&self.facts)
            .iter()
            .filter(|fact| rule.allows(fact))
            .take(query.limit)
            .cloned()
            .collect())
    }

    fn get(&self, id: &str) -> Result<Option<Fact>> {
        Ok(lock(&self.facts).iter().find(|fact| fact.id == id).cloned())
    }

    fn update(&self, fact: &Fact) -> Result<()> {
        self.store(fact)
    }

    fn delete(&self, id: &str) -> Result<()> {
        lock(&self.facts).retain(|fact| fact.id != id);
        Ok(())
    }

    fn touch(&self, ids: &[&str], at: Micros) -> Result<()> {
        let mut facts = lock(&self.facts);
        for id in ids {
            if let Some(fact) = facts.iter_mut().find(|fact| fact.id == *id) {
                fact.access_count = fact.access_count.saturating_add(1);
                fact.last_accessed = fact.last_accessed.max(Some(at));
            }
        }
        Ok(())
    }
}

/// Episodes in memory.
#[derive(Debug, Default)]
pub struct InMemoryEpisodicStore {
    /// In the order in which they were last stored.
    episodes: Mutex<Vec<Episode>>,
}

impl InMemoryEpisodicStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> InMemoryEpisodicStore {
        InMemoryEpisodicStore::default()
    }
}

impl EpisodicStore for InMemoryEpisodicStore {
    fn store(&self, episode: &Episode) -> Result<()> {
        records::of_episode(episode)?.check()?;
        let mut episodes = lock(&self.episodes);
        episodes.retain(|old| (&old.agent_id, &old.id) != (&episode.agent_id, &episode.id));
        episodes.push(episode.clone());
        Ok(())
    }

    fn query(&self, query: &EpisodeQuery) -> Result<Vec<Episode>> {
        let rule = Rule::<EpisodeQuery>::of(query);
        let mut found: Vec<Episode> = lock(&self.episodes)
            .iter()
            .rev()
            .filter(|episode| rule.allows(episode))
            .cloned()
            .collect();
        found.sort_by_key(|episode| std::cmp::Reverse(episode.timestamp));
        found.truncate(query.limit);
        Ok(found)
    }

    fn get(&self, agent_id: &str, id: &str) -> Result<Option<Episode>> {
        Ok(lock(&self.episodes)
            .iter()
            .find(|episode| episode.agent_id == agent_id && episode.id == id)
            .cloned())
    }
}

/// Insights in memory, in the order in which they were first stored.
#[derive(Debug, Default)]
pub struct InMemoryInsightStore {
    insights: Mutex<Vec<Insight>>,
}

impl InMemoryInsightStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> InMemoryInsightStore {
        InMemoryInsightStore::default()
    }
}

impl InsightStore for InMemoryInsightStore {
    fn store(&self, insight: &Insight) -> Result<()> {
        records::of_insight(insight, None)?.check()?;
        let mut all = lock(&self.insights);
        replace(&mut all, insight, |old| {
            (&old.agent_id, &old.id) == (&insight.agent_id, &insight.id)
        });
        Ok(())
    }

    fn query(&self, query: &InsightQuery) -> Result<Vec<Insight>> {
        let rule = Rule::<InsightQuery>::of(query);
        Ok(lock(&self.insights)
            .iter()
            .filter(|insight| rule.allows(insight))
            .take(query.limit)
            .cloned()
            .collect())
    }

    fn get(&self, agent_id: &str, id: &str) -> Result<Option<Insight>> {
        Ok(lock(&self.insights)
            .iter()
            .find(|insight| insight.agent_id == agent_id && insight.id == id)
            .cloned())
    }

    fn update(&self, insight: &Insight) -> Result<()> {
        self.store(insight)
    }

    fn find_similar(&self, agent_id: &str, content: &str) -> Result<Option<Insight>> {
        let Some(likeness) = Likeness::of(content) else { return Ok(None) };
        let is_similar = |insight: &&Insight| {
            insight.agent_id == agent_id && counts(insight) && likeness.holds(&insight.content)
        };
        Ok(lock(&self.insights).iter().find(is_similar).cloned())
    }
}

/// Puts a copy where the old one is, or at the end.
fn replace<T: Clone>(all: &mut Vec<T>, new: &T, is_old: impl Fn(&T) -> bool) {
    match all.iter_mut().find(|old| is_old(old)) {
        Some(old) => *old = new.clone(),
        None => all.push(new.clone()),
    }
}

/// What a thread that panicked left behind is whole: each change is one assignment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
