//! What must be in the capsule and what may be, compared with what is.

use std::collections::{BTreeMap, HashMap};

use super::breach::{Breach, Breaches};
use super::kapsa::{Listed, by_name};
use super::record;

/// What a run has put, by name.
#[derive(Clone, Default)]
pub(crate) struct Ledger {
    seed: u64,
    /// The sequence that was acknowledged; none while the outcome is unknown.
    puts: BTreeMap<String, Option<u64>>,
    /// Records that were put as one batch.
    batches: Vec<Vec<String>>,
}

/// What a comparison found.
pub(crate) struct Kept {
    /// Acknowledged records that are there with their contents.
    pub(crate) kept: u64,
    /// Records that are there though their put never answered.
    pub(crate) adopted: u64,
}

impl Ledger {
    pub(crate) fn new(seed: u64) -> Ledger {
        Ledger { seed, ..Ledger::default() }
    }

    /// A new one with the same texts.
    pub(crate) fn emptied(&self) -> Ledger {
        Ledger::new(self.seed)
    }

    /// The text that belongs to a name.
    pub(crate) fn text(&self, uri: &str) -> String {
        record::text(self.seed, uri)
    }

    /// Notes that a put is about to be tried.
    pub(crate) fn attempt(&mut self, uri: &str) {
        self.puts.entry(uri.to_owned()).or_default();
    }

    /// Notes that a batch is about to be tried.
    pub(crate) fn attempt_batch(&mut self, uris: &[String]) {
        uris.iter().for_each(|uri| self.attempt(uri));
        self.batches.push(uris.to_vec());
    }

    /// Notes an acknowledgement.
    pub(crate) fn acknowledge(&mut self, uri: &str, sequence: u64) {
        self.puts.insert(uri.to_owned(), Some(sequence));
    }

    /// How many were acknowledged or adopted.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.puts.values().flatten().count() as u64
    }

    /// The `nth` acknowledged name, counted around.
    pub(crate) fn pick(&self, nth: u64) -> Option<&str> {
        let nth = usize::try_from(nth.checked_rem(self.acknowledged())?).ok()?;
        self.puts
            .iter()
            .filter(|(_, sequence)| sequence.is_some())
            .nth(nth)
            .map(|(uri, _)| uri.as_str())
    }

    /// Compares with what a reader sees. Records whose outcome was unknown are adopted when they
    /// are seen: a reader's word counts like an acknowledgement, so they must stay.
    pub(crate) fn compare(&mut self, listing: Vec<Listed>, breaches: &Breaches) -> Kept {
        let records = match by_name(listing) {
            Ok(records) => records,
            Err(message) => {
                breaches.add(Breach::Doubled, message);
                return Kept { kept: 0, adopted: 0 };
            }
        };
        let mut found = Kept { kept: 0, adopted: 0 };
        for record in records.values() {
            let Some(&sequence) = self.puts.get(&record.uri) else {
                breaches
                    .add(Breach::Phantom, format!("{} is there, and was never put", record.uri));
                continue;
            };
            if !self.is_as_put(record, sequence, breaches) {
                continue;
            }
            match sequence {
                Some(_) => found.kept += 1,
                None => {
                    found.adopted += 1;
                    self.acknowledge(&record.uri, record.sequence);
                }
            }
        }
        self.find_lost(&records, breaches);
        self.find_half_batches(&records, breaches);
        found
    }

    fn is_as_put(&self, record: &Listed, sequence: Option<u64>, breaches: &Breaches) -> bool {
        let Listed { uri, sequence: seen, text } = record;
        if let Some(sequence) = sequence.filter(|sequence| sequence != seen) {
            breaches.add(
                Breach::Doubled,
                format!("{uri} was acknowledged as #{sequence}, and is there as #{seen}"),
            );
            return false;
        }
        let same = *text == self.text(uri);
        if !same {
            breaches.add(Breach::Altered, format!("{uri} has other contents than were put"));
        }
        same
    }

    fn find_lost(&self, records: &HashMap<String, Listed>, breaches: &Breaches) {
        for (uri, sequence) in
            self.puts.iter().filter_map(|(uri, sequence)| Some((uri, (*sequence)?)))
        {
            if !records.contains_key(uri) {
                breaches.add(Breach::Lost, format!("{uri} was acknowledged as #{sequence}"));
            }
        }
    }

    fn find_half_batches(&self, records: &HashMap<String, Listed>, breaches: &Breaches) {
        for batch in &self.batches {
            let there = batch.iter().filter(|uri| records.contains_key(*uri)).count();
            if there != 0 && there != batch.len() {
                breaches.add(
                    Breach::HalfBatch,
                    format!("{there} of {} from {}", batch.len(), batch[0]),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> Ledger {
        let mut ledger = Ledger::new(1);
        ledger.attempt("w/1");
        ledger.acknowledge("w/1", 1);
        ledger.attempt_batch(&["b/1".to_owned(), "b/2".to_owned()]);
        ledger
    }

    fn seen(uri: &str, sequence: u64) -> Listed {
        Listed { uri: uri.to_owned(), sequence, text: record::text(1, uri) }
    }

    fn check(listing: Vec<Listed>, expected: Option<Breach>) -> Kept {
        let breaches = Breaches::quiet();
        let found = ledger().compare(listing, &breaches);
        match expected {
            Some(breach) => assert_eq!(breaches.count(breach), 1, "{}", breaches.line()),
            None => assert!(breaches.is_empty(), "{}", breaches.line()),
        }
        found
    }

    #[test]
    fn what_must_and_may_be_there_is_fine() {
        assert_eq!(check(vec![seen("w/1", 1)], None).kept, 1);
        let found = check(vec![seen("w/1", 1), seen("b/1", 2), seen("b/2", 3)], None);
        assert_eq!((found.kept, found.adopted), (1, 2));
    }

    #[test]
    fn every_difference_is_a_breach() {
        check(vec![], Some(Breach::Lost));
        check(vec![seen("w/1", 9)], Some(Breach::Doubled));
        check(vec![seen("w/1", 1), seen("w/1", 1)], Some(Breach::Doubled));
        check(vec![seen("w/1", 1), seen("x/1", 2)], Some(Breach::Phantom));
        check(vec![seen("w/1", 1), seen("b/2", 2)], Some(Breach::HalfBatch));
        check(vec![Listed { text: "other".to_owned(), ..seen("w/1", 1) }], Some(Breach::Altered));
    }

    #[test]
    fn acknowledged_names_are_picked_around() {
        assert_eq!(ledger().pick(0), Some("w/1"));
        assert_eq!(ledger().pick(5), Some("w/1"));
        assert_eq!(Ledger::new(1).pick(0), None);
    }
}
