//! One worker: put after put, each a process of its own, until each is there.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::stage::Stage;
use crate::harness::breach::Breach;
use crate::harness::kapsa::{Got, Put};
use crate::harness::process::Kill;
use crate::harness::random::Random;
use crate::harness::record;
use crate::harness::sys;

/// Failures of one put after which it is given up.
const FAILURES_MAX: u64 = 3;

/// What a worker counted.
#[derive(Default)]
pub(super) struct Worked {
    /// Sequences of its records, in the order it put them.
    pub(super) sequences: Vec<u64>,
    /// How long each acknowledged put took.
    pub(super) waits: Vec<Duration>,
    pub(super) total: Duration,
    pub(super) acknowledged: u64,
    /// Killed before the answer, and found afterwards.
    pub(super) found_after_kill: u64,
    pub(super) refused: u64,
    pub(super) kills: u64,
}

/// The series of a worker's records.
pub(super) fn series(number: u64) -> String {
    format!("w{number}")
}

/// Puts all records of worker `number`.
pub(super) fn work(stage: &Stage<'_>, number: u64) -> Worked {
    let (mut worked, mut random) =
        (Worked::default(), Random::new(stage.plan.seed, &series(number)));
    let start = Instant::now();
    for index in 0..stage.plan.puts {
        if sys::interrupted() {
            break;
        }
        let uri = record::uri(&series(number), index);
        if let Some(sequence) = put_once(stage, &uri, &mut worked, &mut random) {
            worked.sequences.push(sequence);
        }
    }
    worked.total = start.elapsed();
    worked
}

/// Puts until the record is there, and returns its sequence; none when that failed too often or the
/// run is interrupted.
fn put_once(stage: &Stage<'_>, uri: &str, worked: &mut Worked, random: &mut Random) -> Option<u64> {
    let text = locked(stage, |ledger| {
        ledger.attempt(uri);
        ledger.text(uri)
    });
    let mut failures = 0;
    while failures < FAILURES_MAX && !sys::interrupted() {
        let kill = random
            .percent(stage.plan.kill_percent)
            .then(|| Kill::After(random.moment(usual_wait(worked) * 2)));
        let (put, took) = stage.kapsa.put(uri, &text, kill);
        let sequence = match put {
            Put::Stored { sequence, added } => {
                if !added {
                    stage.breaches.add(
                        Breach::Doubled,
                        format!("{uri} became a second revision, #{sequence}"),
                    );
                }
                worked.acknowledged += 1;
                worked.waits.push(took);
                Some(sequence)
            }
            Put::Killed => {
                worked.kills += 1;
                let sequence = look(stage, uri);
                worked.found_after_kill += u64::from(sequence.is_some());
                sequence
            }
            Put::Refused => {
                worked.refused += 1;
                if look(stage, uri).is_some() {
                    stage.breaches.add(Breach::Phantom, format!("{uri} was refused, and is there"));
                }
                None
            }
            Put::Failed(message) => {
                failures += 1;
                stage.breaches.add(Breach::WriteFailed, format!("{uri}: {message}"));
                None
            }
        };
        if let Some(sequence) = sequence {
            locked(stage, |ledger| ledger.acknowledge(uri, sequence));
            stage.acknowledged.fetch_add(1, Ordering::SeqCst);
            return Some(sequence);
        }
    }
    None
}

/// The sequence of the record of that name, if there is one.
fn look(stage: &Stage<'_>, uri: &str) -> Option<u64> {
    match stage.kapsa.get(uri) {
        Got::Record(record) => Some(record.sequence),
        Got::Absent => None,
        Got::Failed(message) => {
            stage.breaches.add(Breach::ReadFailed, message);
            None
        }
    }
}

/// What a put has taken lately; a guess before the first.
fn usual_wait(worked: &Worked) -> Duration {
    const GUESS: Duration = Duration::from_millis(10);
    const LATELY: usize = 16;
    let lately = &worked.waits[worked.waits.len().saturating_sub(LATELY)..];
    crate::harness::median(lately).unwrap_or(GUESS)
}

/// Works on the ledger, which stays whole even when a thread panics over it.
fn locked<T>(stage: &Stage<'_>, work: impl FnOnce(&mut crate::harness::ledger::Ledger) -> T) -> T {
    work(&mut stage.ledger.lock().unwrap_or_else(PoisonError::into_inner))
}
