//! Tests of the tests: each lie of the disk, and each fault planted in the store, must be found by
//! one of them.

use kapsa_testkit::Lie;

use crate::harness::{SCENARIOS, Scenario, Step, Verdict, World, guarded};
use crate::{crash, faults};

/// Searches `scenarios` on a disk that lies like this for a violation.
fn among(scenarios: &[&str], lie: Option<Lie>, search: &dyn Fn(&Scenario) -> Verdict) -> Verdict {
    let scenarios = SCENARIOS.iter().filter(|scenario| scenarios.contains(&scenario.name));
    scenarios.map(|scenario| Scenario { lie, ..*scenario }).try_for_each(|scenario| {
        guarded(|| search(&scenario)).map_err(|what| format!("{}: {what}", scenario.name))
    })
}

fn crashes(scenarios: &[&str], lie: Option<Lie>) -> Verdict {
    among(scenarios, lie, &|scenario| crash::explore(scenario, 1).map(drop))
}

type Search = (&'static str, fn(Option<Lie>) -> Verdict);

const FAILURES: Search = ("failing operations", |lie| {
    among(&["put"], lie, &|scenario| faults::explore(scenario).map(drop))
});
const CRASHES: Search = ("crashes", |lie| crashes(&["put", "first put", "create", "rewrite"], lie));

/// What searches a part of the scenarios, the likeliest to find the lie first: some are told only
/// when something fails.
fn searches(lie: Lie) -> [Search; 2] {
    match lie {
        Lie::ShortWriteHidden
        | Lie::FailedSyncRetried
        | Lie::CutNotSynced
        | Lie::FailedCutHidden
        | Lie::MediumIsCache => [FAILURES, CRASHES],
        _ => [CRASHES, FAILURES],
    }
}

/// The first of the searches that finds something wrong, and what it says.
fn found(searches: &[Search], lie: Option<Lie>) -> Option<String> {
    let failure = |(name, search): &Search| {
        let what = guarded(|| search(lie)).err()?;
        Some(format!("{name}: {}", what.chars().take(300).collect::<String>()))
    };
    searches.iter().find_map(failure)
}

/// Prints what was found of `fault`. Returns whether anything was.
fn report(fault: &impl std::fmt::Debug, found: Option<String>) -> bool {
    println!("{fault:?}: {}", found.as_deref().unwrap_or("NOT FOUND"));
    found.is_some()
}

/// Runs `work` without the messages of the panics that it is there to provoke.
fn quietly<T>(work: impl FnOnce() -> T) -> T {
    std::panic::set_hook(Box::new(|_| {}));
    let done = work();
    drop(std::panic::take_hook());
    done
}

#[test]
fn every_lie_of_the_disk_is_found() {
    let missed = quietly(|| {
        Lie::ALL
            .into_iter()
            .filter(|lie| !report(lie, found(&searches(*lie), Some(*lie))))
            .collect::<Vec<_>>()
    });
    assert!(missed.is_empty(), "nothing found {missed:?}");
}

#[cfg(feature = "seeded-faults")]
mod planted {
    use kapsa_capsule::{Seeded, seed};

    use super::{CRASHES, FAILURES, Search, crashes, found, quietly, report};
    use crate::harness::Verdict;
    use crate::{bytes, undo};

    const SEARCHES: [Search; 5] = [
        ("failed transactions", |_| undo::explore(0)),
        ("damaged bytes", |_| damages()),
        CRASHES,
        FAILURES,
        ("crashes of large transactions", |lie| crashes(&["bulk load given up"], lie)),
    ];

    fn damages() -> Verdict {
        for (name, steps) in bytes::CAPSULES {
            let whole = bytes::capsule(steps)?;
            let context = |what| format!("{name}: {what}");
            bytes::splice_forks(steps).map_err(context)?;
            bytes::damage_every_sector(&whole).map_err(context)?;
            bytes::flip_every_bit(&whole).map_err(context)?;
            bytes::cut_everywhere(&whole).map_err(context)?;
        }
        Ok(())
    }

    #[test]
    fn every_fault_planted_in_the_store_is_found() {
        let is_missed = |fault: &Seeded| {
            seed(Some(*fault));
            !report(fault, found(&SEARCHES, None))
        };
        let missed: Vec<Seeded> = quietly(|| Seeded::ALL.into_iter().filter(is_missed).collect());
        seed(None);
        assert!(missed.is_empty(), "nothing found {missed:?}");
    }
}

#[test]
fn a_store_without_a_fault_is_found_well() {
    let (before, steps) = (&[Step::Create, Step::Put(1)], &[Step::Put(1)]);
    let put = Scenario { name: "put", before, steps, small_buffers: false, lie: None };
    assert!(World::before(&put).is_ok_and(|world| world.check() == Ok(1)));
    assert_eq!(crash::explore(&put, 1).map(|counts| counts.sum() > 0), Ok(true));
}
