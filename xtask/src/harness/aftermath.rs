//! What must hold after a crash, whatever crashed: everything acknowledged is there, nothing is
//! damaged, readers read, and the next put works at once.

use std::time::Duration;

use super::breach::{Breach, Breaches};
use super::kapsa::{Got, Kapsa, Put};
use super::ledger::Ledger;
use super::random::Random;
use super::record;

/// What was found.
pub(crate) struct Aftermath {
    /// Bytes that the crash left after the newest commit.
    pub(crate) torn_bytes: u64,
    /// Records that are there though their put never answered. From now on they must stay.
    pub(crate) adopted: u64,
    /// How long the next put took.
    pub(crate) next_put: Duration,
}

/// Reads on what the crash left, checks it, and puts the record named `next`.
pub(crate) fn check(
    kapsa: &Kapsa,
    ledger: &mut Ledger,
    random: &mut Random,
    next: &str,
    breaches: &Breaches,
) -> Aftermath {
    let torn_bytes = match kapsa.stats() {
        Ok(stats) => stats.torn_bytes,
        Err(message) => {
            breaches.add(Breach::ReadFailed, message);
            0
        }
    };
    ask_for_one(kapsa, ledger, random, breaches);
    let adopted = match kapsa.listing() {
        Ok(listing) => ledger.compare(listing, breaches).adopted,
        Err(message) => {
            breaches.add(Breach::ReadFailed, message);
            0
        }
    };
    if let Err(message) = kapsa.verify() {
        breaches.add(Breach::Damaged, message);
    }
    ledger.attempt(next);
    // No waiting for a lock: nobody can hold it.
    let (put, next_put) = kapsa.waiting(0).put(next, &ledger.text(next), None);
    match put {
        Put::Stored { sequence, added: true } => ledger.acknowledge(next, sequence),
        other => breaches.add(Breach::WriteFailed, format!("the next put, {next}: {other:?}")),
    }
    Aftermath { torn_bytes, adopted, next_put }
}

/// Asks for one acknowledged record by its name and by its words.
fn ask_for_one(kapsa: &Kapsa, ledger: &Ledger, random: &mut Random, breaches: &Breaches) {
    let Some(uri) = ledger.pick(random.next()) else { return };
    match kapsa.get(uri) {
        Got::Record(record) if record.text == ledger.text(uri) => {}
        Got::Record(_) => breaches.add(Breach::Altered, format!("get {uri} shows other contents")),
        Got::Absent => breaches.add(Breach::Lost, format!("get {uri} finds nothing")),
        Got::Failed(message) => breaches.add(Breach::ReadFailed, message),
    }
    match kapsa.find(&record::own_word(uri)) {
        Ok(hits) if hits.iter().any(|hit| hit == uri) => {}
        Ok(hits) => breaches.add(
            Breach::ReadFailed,
            format!("find does not find {uri} by its own word, only {hits:?}"),
        ),
        Err(message) => breaches.add(Breach::ReadFailed, message),
    }
}
