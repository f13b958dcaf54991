//! Do the tests find what they are for? Each fault put into the store on purpose must be found by one of them.

use kapsa_capsule::{Seeded, seed};

use crate::harness::{SCENARIOS, Scenario, Step, Verdict, World, guarded};
use crate::{bytes, crash, faults};

/// Searches `scenarios` for a violation.
fn among(scenarios: &[&str], search: &dyn Fn(&Scenario) -> Verdict) -> Verdict {
    let mut scenarios = SCENARIOS.iter().filter(|scenario| scenarios.contains(&scenario.name));
    scenarios.try_for_each(|scenario| guarded(|| search(scenario)).map_err(|what| format!("{}: {what}", scenario.name)))
}

fn crashes(scenarios: &[&str]) -> Verdict {
    among(scenarios, &|scenario| crash::explore(scenario, 1).map(drop))
}

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

/// Which of the searches finds the fault that is in the store now, and what it says. A part of each is enough.
fn found() -> Option<(&'static str, String)> {
    let searches: [(&str, fn() -> Verdict); 4] = [
        ("crashes", || crashes(&["put", "first put", "create", "rewrite"])),
        ("failing operations", || among(&["put"], &|scenario| faults::explore(scenario).map(drop))),
        ("damaged bytes", damages),
        ("crashes of large transactions", || crashes(&["bulk load given up"])),
    ];
    searches.iter().find_map(|(name, search)| guarded(search).err().map(|what| (*name, what)))
}

#[test]
fn every_fault_put_in_on_purpose_is_found() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut missed = Vec::new();
    for fault in Seeded::ALL {
        seed(Some(fault));
        match found() {
            Some((search, what)) => println!("{fault:?}: {search}: {}", &what[..what.floor_char_boundary(300)]),
            None => missed.push(fault),
        }
    }
    seed(None);
    drop(std::panic::take_hook());
    assert!(missed.is_empty(), "nothing found {missed:?}");
}

#[test]
fn a_store_without_a_fault_is_found_well() {
    let put = Scenario { name: "put", before: &[Step::Create, Step::Put(1)], steps: &[Step::Put(1)], small_buffers: false };
    assert!(World::before(&put).is_ok_and(|world| world.check() == Ok(1)));
    assert_eq!(crash::explore(&put, 1).map(|counts| counts.sum() > 0), Ok(true));
}
