//! Optimizes and compacts the file again and again while it is written to, and kills that as well.

use std::iter::Sum;
use std::thread;
use std::time::Duration;

use super::stage::{MAINTENANCE_KILLS, Stage};
use crate::harness::breach::Breach;
use crate::harness::kapsa::Maintained;
use crate::harness::process::Kill;
use crate::harness::random::Random;

/// Longest pause between two runs.
const PAUSE_MAX: Duration = Duration::from_millis(300);

/// What was run, and how it ended.
#[derive(Default)]
pub(super) struct Maintenance {
    pub(super) compactions: u64,
    pub(super) optimizations: u64,
    pub(super) kills: u64,
    pub(super) refused: u64,
    /// Optimizations that a compaction overtook.
    pub(super) overtaken: u64,
}

impl Sum for Maintenance {
    fn sum<I: Iterator<Item = Maintenance>>(all: I) -> Maintenance {
        all.fold(Maintenance::default(), |sum, one| Maintenance {
            compactions: sum.compactions + one.compactions,
            optimizations: sum.optimizations + one.optimizations,
            kills: sum.kills + one.kills,
            refused: sum.refused + one.refused,
            overtaken: sum.overtaken + one.overtaken,
        })
    }
}

/// What runs beside the writers: the last one is what a put starts in the background, with a new
/// file each time.
pub(super) const VERBS: [&str; 3] = ["optimize", "compact", "optimize --due --replaced-min 0"];

/// Runs `verb` again and again until the run is over.
pub(super) fn maintain(stage: &Stage<'_>, verb: &str) -> Maintenance {
    let (mut done, mut random) = (Maintenance::default(), Random::new(stage.plan.seed, verb));
    let mut usual = Duration::from_millis(20);
    while !stage.is_over() {
        thread::sleep(random.moment(PAUSE_MAX));
        let kill = random
            .percent(stage.plan.kill_percent * MAINTENANCE_KILLS)
            .then(|| Kill::After(random.moment(usual * 2)));
        match stage.kapsa.maintain(verb, kill) {
            (Maintained::Done, took) => {
                usual = took;
                let compacts = verb != "optimize";
                let count = if compacts { &mut done.compactions } else { &mut done.optimizations };
                *count += 1;
            }
            (Maintained::Killed, _) => done.kills += 1,
            (Maintained::Refused, _) => done.refused += 1,
            (Maintained::Overtaken, _) => done.overtaken += 1,
            (Maintained::Failed(message), _) => stage.breaches.add(Breach::WriteFailed, message),
        }
    }
    done
}
