//! Broken promises: which, how often, and how each showed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};

use super::sys;

/// How a promise can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Breach {
    /// Acknowledged, and not there.
    Lost,
    /// There more often than it was put.
    Doubled,
    /// There with other contents than were put.
    Altered,
    /// There though nobody put it, or though it was refused.
    Phantom,
    /// A batch that is there only in part.
    HalfBatch,
    /// A worker's later put has an earlier sequence.
    OutOfOrder,
    /// `verify` complains.
    Damaged,
    /// A read failed, or did not answer as it must.
    ReadFailed,
    /// A read saw less than an earlier read, or than was acknowledged before it began.
    WentBack,
    /// A write failed other than by the lock's timeout.
    WriteFailed,
}

impl Breach {
    const ALL: [Breach; 10] = [
        Breach::Lost,
        Breach::Doubled,
        Breach::Altered,
        Breach::Phantom,
        Breach::HalfBatch,
        Breach::OutOfOrder,
        Breach::Damaged,
        Breach::ReadFailed,
        Breach::WentBack,
        Breach::WriteFailed,
    ];

    fn name(self) -> &'static str {
        match self {
            Breach::Lost => "lost",
            Breach::Doubled => "doubled",
            Breach::Altered => "altered",
            Breach::Phantom => "phantom",
            Breach::HalfBatch => "half_batches",
            Breach::OutOfOrder => "out_of_order",
            Breach::Damaged => "damaged",
            Breach::ReadFailed => "failed_reads",
            Breach::WentBack => "went_back",
            Breach::WriteFailed => "failed_writes",
        }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Messages that are kept as examples.
const EXAMPLES_MAX: usize = 20;

/// Every breach of a run. Shared by its threads.
#[derive(Default)]
pub(crate) struct Breaches {
    found: Mutex<Broken>,
    quiet: bool,
}

#[derive(Default)]
struct Broken {
    counts: BTreeMap<Breach, u64>,
    examples: Vec<String>,
}

impl Breaches {
    /// A list that grows silently, for runs that are expected to go wrong.
    pub(crate) fn quiet() -> Breaches {
        Breaches { quiet: true, ..Breaches::default() }
    }

    /// Adds one; the first ones are printed at once. An interrupt may end programs as well, through
    /// no fault of theirs: once there was one nothing counts, and the run has no result.
    pub(crate) fn add(&self, breach: Breach, message: impl fmt::Display) {
        if sys::interrupted() {
            return;
        }
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        *found.counts.entry(breach).or_default() += 1;
        if found.examples.len() < EXAMPLES_MAX {
            let example = format!("{breach}: {message}");
            if !self.quiet {
                eprintln!("BROKEN {example}");
            }
            found.examples.push(example);
        }
    }

    /// How many of one kind.
    pub(crate) fn count(&self, breach: Breach) -> u64 {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.counts.get(&breach).copied().unwrap_or_default()
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).counts.is_empty()
    }

    /// `{"lost":0,…,"examples":[…]}`.
    pub(crate) fn json(&self) -> Value {
        let mut map: Map<String, Value> =
            Breach::ALL.iter().map(|b| (b.name().to_owned(), json!(self.count(*b)))).collect();
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        map.insert("examples".to_owned(), json!(found.examples));
        Value::Object(map)
    }

    /// The line of counts, and an example of what was broken on a line each.
    pub(crate) fn lines(&self) -> String {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let examples: Vec<String> =
            found.examples.iter().map(|example| format!("\n  {example}")).collect();
        drop(found);
        format!("{}{}", self.line(), examples.concat())
    }

    /// One line for people, with every kind that was checked.
    pub(crate) fn line(&self) -> String {
        let parts: Vec<String> = Breach::ALL
            .iter()
            .map(|b| format!("{} {}", self.count(*b), b.name().replace('_', " ")))
            .collect();
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breaches_are_counted_and_shown() {
        let breaches = Breaches::quiet();
        assert!(breaches.is_empty());
        for n in 0..30 {
            breaches.add(Breach::Lost, n);
        }
        breaches.add(Breach::Damaged, "a byte");
        assert!(!breaches.is_empty());
        assert_eq!((breaches.count(Breach::Lost), breaches.count(Breach::Damaged)), (30, 1));
        assert_eq!(breaches.json()["lost"], 30);
        assert_eq!(breaches.json()["examples"].as_array().map(Vec::len), Some(EXAMPLES_MAX));
        assert!(breaches.line().starts_with("30 lost, 0 doubled"), "{}", breaches.line());
        assert_eq!(breaches.lines().lines().count(), 1 + EXAMPLES_MAX);
    }
}
