//! The power fails at every point of every write path, and again while the first crash is recovered
//! from; a process is killed at every point, its writes still in the cache, and the power fails
//! while the next one takes over.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use kapsa_testkit::{Crash, Operation, Random, crashes};
use xxhash_rust::xxh3::Xxh3;

use crate::harness::{
    Files, Ledger, RECOVERIES, SCENARIOS, Scenario, Step, Verdict, World, check, guarded,
};

/// States that were checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// After one crash.
    pub first: u64,
    /// After a second one, during recovery or the commit after it.
    pub second: u64,
    /// After a kill and a crash during the take-over.
    pub taken_over: u64,
}

impl Counts {
    pub fn sum(self) -> u64 {
        self.first + self.second + self.taken_over
    }
}

/// States that were found well under a ledger: nothing else decides, so that one look at each is
/// enough, however many crashes lead to it.
#[derive(Debug, Default)]
pub struct Known(HashSet<u128>);

impl Known {
    /// Whether this state is met for the first time.
    fn insert(&mut self, files: &Files, ledger: &Ledger) -> bool {
        let mut hasher = Xxh3::new();
        (files, ledger).hash(&mut hasher);
        self.0.insert(hasher.digest128())
    }
}

/// Every crash of `world`'s operations from `from` on, each checked. Returns their number, and
/// `each` one that is not `known`.
pub fn crash_everywhere(
    world: &World,
    from: usize,
    random: &mut Random,
    known: &mut Known,
    each: &mut dyn FnMut(Crash),
) -> Verdict<u64> {
    let mut verdict = Ok(());
    let count = crashes(world.start(), &world.disk.operations(), from, random, &mut |crash| {
        let ledger = &world.ledgers[crash.mark.unwrap_or(0)];
        if verdict.is_err() || !known.insert(&crash.files, ledger) {
            return;
        }
        match check(&crash.files, ledger) {
            Err(what) => verdict = Err(format!("crash after {}: {what}", crash.operations)),
            Ok(_) => each(crash),
        }
    });
    verdict.map(|()| count)
}

pub fn explore(scenario: &Scenario, seed: u64) -> Verdict<Counts> {
    let mut random = Random::new(seed);
    let mut counts = Counts::default();
    let mut known = Known::default();
    let mut world = World::before(scenario)?;
    world.run(scenario.steps).map_err(|what| format!("without a fault: {what}"))?;
    world.check()?;
    let mut firsts = Vec::new();
    counts.first =
        crash_everywhere(&world, 0, &mut random, &mut known, &mut |crash| firsts.push(crash))?;
    let mut recoveries = RECOVERIES.iter().cycle();
    let mut recovery = || *recoveries.next().expect("a cycle has no end");
    for crash in &firsts {
        let context = |what| format!("crash after {}, {what}", crash.operations);
        world.after_crash(crash).check_idempotent().map_err(context)?;
        counts.second +=
            recover_under_crashes(world.after_crash(crash), recovery(), &mut random, &mut known)
                .map_err(context)?;
    }
    for operations in kills(&world.disk.operations()) {
        let context = |what| format!("killed after {}, {what}", operations.len());
        let next = world.after_kill(&operations);
        next.check().map_err(context)?;
        counts.taken_over +=
            recover_under_crashes(next, recovery(), &mut random, &mut known).map_err(context)?;
    }
    Ok(counts)
}

/// Lets the next writer recover and go on, and the power fail at every point of that.
pub fn recover_under_crashes(
    mut world: World,
    recovery: &[Step],
    random: &mut Random,
    known: &mut Known,
) -> Verdict<u64> {
    let from = world.disk.operations().len();
    world.recover(recovery)?;
    world.check()?;
    crash_everywhere(&world, from, random, known, &mut |_| {})
}

/// What a process may have done when it is killed: any number of its operations, the last write
/// perhaps in part.
fn kills(operations: &[Operation]) -> Vec<Vec<Operation>> {
    let mut kills = Vec::new();
    for done in 0..=operations.len() {
        kills.push(operations[..done].to_vec());
        if let Some(Operation::Write { file, offset, bytes }) = operations.get(done)
            && bytes.len() > 1
        {
            let half = Operation::Write {
                file: *file,
                offset: *offset,
                bytes: bytes[..bytes.len() / 2].to_vec(),
            };
            kills.push([&operations[..done], &[half]].concat());
        }
    }
    kills
}

#[test]
fn no_crash_loses_or_tears_a_commit() {
    let (next, total) = (AtomicUsize::new(0), AtomicU64::new(0));
    let lines = Mutex::new(Vec::new());
    let work = || {
        while let Some(scenario) = SCENARIOS.get(next.fetch_add(1, Ordering::Relaxed)) {
            let counts = guarded(|| explore(scenario, 1));
            let counts = counts.unwrap_or_else(|what| panic!("{}: {what}", scenario.name));
            total.fetch_add(counts.sum(), Ordering::Relaxed);
            lines.lock().expect("no thread failed").push(format!("{}: {counts:?}", scenario.name));
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let total = total.into_inner();
    println!("{}\n{total} states", lines.into_inner().expect("no thread failed").join("\n"));
    assert!(total > 1_000_000, "the enumeration ran: {total}");
}
