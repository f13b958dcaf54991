//! Every operation of the disk fails, once and for ever, in every way that a disk can fail; then
//! another while the writer recovers. Nothing acknowledged is lost, nothing refused comes back, the
//! next writer can always go on.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use kapsa_testkit::{Failure, Fault, Operation, Random};

use crate::crash::{Known, crash_everywhere};
use crate::harness::{SCENARIOS, Scenario, Step, Verdict, World, guarded};

const EINTR: i32 = 4;
const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const EDQUOT: i32 = 122;

const FAILURES: [Failure; 13] = [
    Failure::Refused(EIO),
    Failure::Refused(ENOSPC),
    Failure::Refused(EDQUOT),
    Failure::Refused(EINTR),
    Failure::TornWrite(EIO),
    Failure::TornWrite(ENOSPC),
    Failure::Short,
    Failure::SyncKeeps(EIO),
    Failure::SyncDrops(EIO),
    Failure::SyncDrops(ENOSPC),
    Failure::SyncKeeps(EDQUOT),
    Failure::ReadRefused(EIO),
    Failure::ReadRefused(EINTR),
];
/// Failures that the second fault, during recovery, is drawn from: one of each kind.
const SECOND: [Failure; 5] = [
    Failure::Refused(EIO),
    Failure::TornWrite(ENOSPC),
    Failure::SyncKeeps(EIO),
    Failure::SyncDrops(EIO),
    Failure::ReadRefused(EIO),
];

/// One in so many runs with two faults is followed by every crash: there are too many for all.
const CRASHED: u64 = 64;

/// What was run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub runs: u64,
    pub runs_with_two_faults: u64,
    /// States after a crash that followed a fault.
    pub states: u64,
}

/// Whether a failure for ever is one that no program can work with: reading on after EINTR never
/// ends.
fn endless(failure: Failure) -> bool {
    matches!(failure, Failure::Refused(EINTR) | Failure::ReadRefused(EINTR) | Failure::Short)
}

pub fn explore(scenario: &Scenario) -> Verdict<Counts> {
    let mut counts = Counts::default();
    let mut known = Known::default();
    for failure in FAILURES {
        for forever in [false, true] {
            if forever && endless(failure) {
                continue;
            }
            for nth in 0.. {
                let fault = Fault { nth, forever, failure };
                let context = |what| format!("{fault:?}: {what}");
                if !fail(scenario, fault, &mut counts, &mut known).map_err(context)? {
                    break;
                }
            }
        }
    }
    Ok(counts)
}

/// Runs the scenario with one fault. Returns whether it came to pass.
fn fail(
    scenario: &Scenario,
    fault: Fault,
    counts: &mut Counts,
    known: &mut Known,
) -> Verdict<bool> {
    let mut world = World::before(scenario)?;
    world.disk.set_fault(Some(fault));
    world.run_stubbornly(scenario.steps);
    let Some(from) = world.disk.failed_after() else { return Ok(false) };
    world.disk.set_fault(None);
    world.check()?;
    counts.runs += 1;
    let mut random = Random::new(fault.nth);
    counts.states += crash_everywhere(&world, from, &mut random, known, &mut |_| {})?;
    let operations = world.disk.operations();
    counts.states += take_over(&world, &operations, &mut random, known)?;
    if let Some(Operation::FailedSync { .. }) = operations.get(from) {
        // The writer died before it could take back what the sync had been for.
        let context = |what| format!("killed as the sync failed: {what}");
        counts.states +=
            take_over(&world, &operations[..=from], &mut random, known).map_err(context)?;
    }
    for failure in SECOND {
        for nth in 0.. {
            let mut next = world.after_kill(&operations);
            next.disk.set_fault(Some(Fault { nth, forever: false, failure }));
            let context = |what| format!("then {failure:?} at {nth}: {what}");
            next.run_stubbornly(&[Step::Put(1), Step::Put(1)]);
            let befell = next.disk.failed_after().is_some();
            next.disk.set_fault(None);
            next.check().map_err(context)?;
            counts.runs_with_two_faults += 1;
            if random.below(CRASHED) == 0 {
                counts.states +=
                    crash_everywhere(&next, operations.len(), &mut random, known, &mut |_| {})
                        .map_err(context)?;
            }
            next.recover(&[Step::Put(1)]).map_err(context)?;
            next.check().map_err(context)?;
            if !befell {
                break;
            }
        }
    }
    Ok(true)
}

/// The next writer finds what `operations` left, and goes on; then the power fails. Returns the
/// number of states.
fn take_over(
    world: &World,
    operations: &[Operation],
    random: &mut Random,
    known: &mut Known,
) -> Verdict<u64> {
    let mut next = world.after_kill(operations);
    next.recover(&[Step::Put(1)])?;
    next.check()?;
    crash_everywhere(&next, operations.len(), random, known, &mut |_| {})
}

#[test]
fn no_failure_of_the_disk_loses_an_acknowledged_record() {
    let scenarios: Vec<&Scenario> =
        SCENARIOS.iter().filter(|s| !s.name.starts_with("large")).collect();
    let next = AtomicUsize::new(0);
    let all = Mutex::new(BTreeMap::new());
    let work = || {
        while let Some(scenario) = scenarios.get(next.fetch_add(1, Ordering::Relaxed)) {
            let counts = guarded(|| explore(scenario))
                .unwrap_or_else(|what| panic!("{}: {what}", scenario.name));
            all.lock().expect("no thread failed").insert(scenario.name, counts);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let all = all.into_inner().expect("no thread failed");
    all.iter().for_each(|(name, counts)| println!("{name}: {counts:?}"));
    let runs: u64 = all.values().map(|c| c.runs + c.runs_with_two_faults).sum();
    println!("{runs} runs");
    assert!(runs > 5_000, "the faults were tried: {runs}");
}
