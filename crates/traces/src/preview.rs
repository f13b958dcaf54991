//! Facts as they would be: what is stored is kept aside, and read before what is there. Writes
//! nothing.

use std::collections::BTreeSet;

use kapsa_agents::{CapsuleFactStore, Fact, FactQuery, FactStore, InMemoryFactStore, Vocabulary};
use kapsa_memory::{Micros, Result};

/// A store that is read, with what would be stored in it.
pub(crate) struct PreviewStore {
    stored: CapsuleFactStore,
    aside: InMemoryFactStore,
}

impl PreviewStore {
    pub(crate) fn over(stored: CapsuleFactStore) -> PreviewStore {
        PreviewStore { stored, aside: InMemoryFactStore::new() }
    }

    /// What is there, where nothing else would be, and what would be.
    fn both(&self, stored: Vec<Fact>, aside: Vec<Fact>) -> Result<Vec<Fact>> {
        let everything = FactQuery { superseded: true, limit: usize::MAX, ..FactQuery::default() };
        let changed: BTreeSet<String> =
            self.aside.query(&everything)?.into_iter().map(|fact| fact.id).collect();
        let kept = stored.into_iter().filter(|fact| !changed.contains(&fact.id));
        Ok(kept.chain(aside).collect())
    }
}

impl FactStore for PreviewStore {
    fn store(&self, fact: &Fact) -> Result<()> {
        self.aside.store(fact)
    }

    fn query(&self, query: &FactQuery) -> Result<Vec<Fact>> {
        self.both(self.stored.query(query)?, self.aside.query(query)?)
    }

    fn likely(&self, query: &FactQuery, words: &str) -> Result<Vec<Fact>> {
        self.both(self.stored.likely(query, words)?, self.aside.likely(query, words)?)
    }

    fn near(&self, fact: &Fact) -> Result<Vec<Fact>> {
        self.both(self.stored.near(fact)?, self.aside.near(fact)?)
    }

    fn vocabulary(&self, fact: &Fact) -> Result<Vocabulary> {
        self.stored.vocabulary(fact)
    }

    fn get(&self, id: &str) -> Result<Option<Fact>> {
        match self.aside.get(id)? {
            Some(fact) => Ok(Some(fact)),
            None => self.stored.get(id),
        }
    }

    fn update(&self, fact: &Fact) -> Result<()> {
        self.aside.store(fact)
    }

    /// Nothing that came to be in a preview is ever removed.
    fn delete(&self, id: &str) -> Result<()> {
        self.aside.delete(id)
    }

    /// A preview is no reading.
    fn touch(&self, _ids: &[&str], _at: Micros) -> Result<()> {
        Ok(())
    }
}
