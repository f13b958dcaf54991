//! A reader while others write: every question must be answered, and nothing may go back.

use std::iter::Sum;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::stage::Stage;
use crate::harness::breach::Breach;
use crate::harness::kapsa::Got;
use crate::harness::random::Random;
use crate::harness::record;

/// Records that `timeline` is asked for.
const NEWEST: u64 = 5;

/// What readers counted.
#[derive(Default)]
pub(super) struct Reads {
    pub(super) finds: u64,
    pub(super) gets: u64,
    pub(super) stats: u64,
    pub(super) timelines: u64,
}

impl Reads {
    pub(super) fn total(&self) -> u64 {
        self.finds + self.gets + self.stats + self.timelines
    }
}

impl Sum for Reads {
    fn sum<I: Iterator<Item = Reads>>(reads: I) -> Reads {
        reads.fold(Reads::default(), |all, one| Reads {
            finds: all.finds + one.finds,
            gets: all.gets + one.gets,
            stats: all.stats + one.stats,
            timelines: all.timelines + one.timelines,
        })
    }
}

/// Reads until the run is over.
pub(super) fn read(stage: &Stage<'_>, number: u64) -> Reads {
    let mut reader = Reader {
        stage,
        random: Random::new(stage.plan.seed, &format!("reader{number}")),
        records: 0,
        newest: 0,
    };
    let mut reads = Reads::default();
    while !stage.is_over() {
        let done = match reader.random.below(4) {
            0 => {
                reads.stats += 1;
                reader.stats()
            }
            1 => {
                reads.timelines += 1;
                reader.timeline()
            }
            2 => {
                reads.gets += 1;
                reader.get()
            }
            _ => {
                reads.finds += 1;
                reader.find()
            }
        };
        if let Err(message) = done {
            stage.breaches.add(Breach::ReadFailed, message);
        }
    }
    reads
}

struct Reader<'a> {
    stage: &'a Stage<'a>,
    random: Random,
    /// Most records seen so far.
    records: u64,
    /// Highest sequence seen so far.
    newest: u64,
}

impl Reader<'_> {
    fn stats(&mut self) -> Result<(), String> {
        let before = self.stage.acknowledged.load(Ordering::SeqCst);
        let records = self.stage.kapsa.stats()?.records;
        let least = self.records.max(before);
        if records < least {
            self.stage.breaches.add(
                Breach::WentBack,
                format!("stats reports {records} records, and there were {least}"),
            );
        }
        self.records = self.records.max(records);
        Ok(())
    }

    fn timeline(&mut self) -> Result<(), String> {
        let newest = self.stage.kapsa.newest(NEWEST)?;
        if !newest.is_sorted_by(|a, b| a.sequence > b.sequence) {
            return Err("timeline --reverse is not newest first".to_owned());
        }
        let highest = newest.first().map_or(0, |record| record.sequence);
        if highest < self.newest {
            self.stage.breaches.add(
                Breach::WentBack,
                format!("the newest record was #{}, and is #{highest}", self.newest),
            );
        }
        self.newest = self.newest.max(highest);
        Ok(())
    }

    fn get(&mut self) -> Result<(), String> {
        let Some((uri, text)) = self.pick() else { return Ok(()) };
        match self.stage.kapsa.get(&uri) {
            Got::Record(record) if record.text == text => {}
            Got::Record(_) => {
                self.stage.breaches.add(Breach::Altered, format!("get {uri} shows other contents"))
            }
            Got::Absent => self
                .stage
                .breaches
                .add(Breach::WentBack, format!("get {uri} finds nothing, and it was acknowledged")),
            Got::Failed(message) => return Err(message),
        }
        Ok(())
    }

    fn find(&mut self) -> Result<(), String> {
        let Some((uri, _)) = self.pick() else { return Ok(()) };
        let hits = self.stage.kapsa.find(&record::own_word(&uri))?;
        if hits.contains(&uri) {
            Ok(())
        } else {
            Err(format!("find does not find {uri} by its own word, only {hits:?}"))
        }
    }

    /// A record that is acknowledged by now, with its text.
    fn pick(&mut self) -> Option<(String, String)> {
        let nth = self.random.next();
        let ledger = self.stage.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        ledger.pick(nth).map(|uri| (uri.to_owned(), ledger.text(uri)))
    }
}
