//! A run that is stopped at any point is made good by the next one.

use std::collections::BTreeSet;

use kapsa_agents::Fact;
use kapsa_traces::queue::{JobHolder, JobQueue};
use kapsa_traces::{Claims, SyncOptions};

use crate::support::{Place, options};

fn filled() -> Place {
    let place = Place::new();
    place.session(
        "a",
        1,
        &[
            "preference: Ask before adding a dependency",
            "decision: The job queue runs on Redis",
            "constraint: Never edit files below generated",
        ],
    );
    place.session(
        "b",
        2,
        &[
            "preference: Please ask before adding dependencies",
            "constraint: Never edit files below the generated folder",
            "decision: The job queue no longer runs on Redis, it runs on Postgres now",
        ],
    );
    place.session(
        "c",
        3,
        &["preference: Use npm, not pnpm", "preference: Ask before adding a dependency"],
    );
    place.session("d", 4, &["preference: Use pnpm, not npm"]);
    place
}

/// Everything that is known, without where the folder is.
fn state(place: &Place) -> (Vec<Fact>, Vec<(String, usize, usize)>) {
    let folder = place.folder.path().to_string_lossy().into_owned();
    let mut facts = place.facts();
    for fact in &mut facts {
        fact.evidence.iter_mut().for_each(|one| one.place = one.place.replace(&folder, ""));
    }
    let registry = place.registry();
    let files = registry.files().map(|file| {
        let decisions = file.sessions.iter().map(|session| session.decisions.len()).sum();
        (file.path.replace(&folder, ""), file.sessions.len(), decisions)
    });
    let files = files.collect();
    (facts, files)
}

#[test]
fn a_run_stopped_at_any_step_ends_as_an_undisturbed_one() {
    let undisturbed = filled();
    undisturbed.sync();
    let wanted = state(&undisturbed);
    assert!(wanted.0.len() >= 5, "{:#?}", wanted.0);
    let mut steps = 0;
    loop {
        let place = filled();
        let stopped = SyncOptions { stops_after: Some(steps), ..options() };
        let done = place.try_sync(&[place.traces()], &stopped).is_ok();
        place.sync();
        assert_eq!(state(&place), wanted, "stopped after {steps}");
        let before = place.bytes();
        place.sync();
        assert_eq!(place.bytes(), before, "stopped after {steps}");
        if done {
            break;
        }
        steps += 1;
    }
    assert!(steps > 8, "there are {steps} steps");
}

#[test]
fn a_watch_stopped_at_any_step_is_made_good_by_a_sync() {
    let undisturbed = filled();
    undisturbed.sync();
    let wanted = state(&undisturbed);
    let mut steps = 0;
    loop {
        let place = filled();
        let holder = JobHolder { pid: 1, ..JobHolder::default() };
        let changed = BTreeSet::from([place.traces()]);
        let claims = Some(Claims { holder: &holder, changed: &changed });
        let stopped = SyncOptions { claims, stops_after: Some(steps), ..options() };
        let done = place.try_sync(&[place.traces()], &stopped).is_ok();
        place.sync();
        assert_eq!(state(&place), wanted, "stopped after {steps}");
        let queue = JobQueue::load(&place.location()).expect("it can be read");
        assert_eq!(queue.jobs().count(), 0, "stopped after {steps}");
        if done {
            break;
        }
        steps += 1;
    }
    assert!(steps > 8, "there are {steps} steps");
}
