//! The result of a run of `torture`, in words and in JSON.

use std::time::Duration;

use serde_json::{Value, json};

use super::Outcome;
use super::stage::Plan;
use super::worker::Worked;
use crate::harness::breach::Breaches;
use crate::harness::median;

/// The result for people: a table of the workers, and what was counted over all.
pub(super) fn people(plan: &Plan, outcome: &Outcome, breaches: &Breaches) -> String {
    let sum = |count: fn(&Worked) -> u64| outcome.workers.iter().map(count).sum::<u64>();
    let mut lines =
        vec!["worker  acknowledged  refused  kills  median wait  longest wait   total".to_owned()];
    for (number, worked) in outcome.workers.iter().enumerate() {
        let (middle, longest) = (
            median(&worked.waits).unwrap_or_default(),
            worked.waits.iter().max().copied().unwrap_or_default(),
        );
        lines.push(format!(
            "{number:>6}  {:>12}  {:>7}  {:>5}  {:>8.1} ms  {:>9.1} ms  {:>4.1} s",
            worked.acknowledged,
            worked.refused,
            worked.kills,
            millis(middle),
            millis(longest),
            worked.total.as_secs_f64(),
        ));
    }
    let (Outcome { reads, maintenance, checked, .. }, wall) = (outcome, outcome.wall.as_secs_f64());
    lines.push(String::new());
    lines.push(format!(
        "{} processes x {} puts: {} acknowledged, {} found after a kill, {} kept, {} refused by the lock's timeout, {} puts killed",
        plan.processes,
        plan.puts,
        sum(|w| w.acknowledged),
        sum(|w| w.found_after_kill),
        checked.kept,
        sum(|w| w.refused),
        sum(|w| w.kills),
    ));
    lines.push(format!(
        "{:.0} puts/s in {wall:.1} s; slowest worker to fastest {:.2}; torn at the end: {} bytes",
        puts_per_second(outcome),
        fairness(&outcome.workers),
        checked.torn_bytes,
    ));
    lines.push(format!(
        "meanwhile {} compactions, {} optimizations ({} killed, {} refused, {} overtaken by a compaction) and {} reads",
        maintenance.compactions,
        maintenance.optimizations,
        maintenance.kills,
        maintenance.refused,
        maintenance.overtaken,
        reads.total(),
    ));
    lines.push(breaches.lines());
    lines.join("\n")
}

/// The same for programs. Times in milliseconds.
pub(super) fn json(plan: &Plan, outcome: &Outcome, breaches: &Breaches) -> Value {
    let worker = |worked: &Worked| {
        json!({
            "acknowledged": worked.acknowledged,
            "found_after_kill": worked.found_after_kill,
            "refused": worked.refused,
            "kills": worked.kills,
            "median_wait_ms": median(&worked.waits).map(millis),
            "longest_wait_ms": worked.waits.iter().max().copied().map(millis),
            "total_ms": millis(worked.total),
        })
    };
    let Outcome { workers, reads, maintenance, checked, wall } = outcome;
    json!({
        "processes": plan.processes,
        "puts": plan.puts,
        "acknowledged": workers.iter().map(|worked| worked.acknowledged).sum::<u64>(),
        "found_after_kill": workers.iter().map(|worked| worked.found_after_kill).sum::<u64>(),
        "kept": checked.kept,
        "refused": workers.iter().map(|worked| worked.refused).sum::<u64>(),
        "puts_killed": workers.iter().map(|worked| worked.kills).sum::<u64>(),
        "puts_per_second": puts_per_second(outcome),
        "wall_ms": millis(*wall),
        "slowest_to_fastest": fairness(workers),
        "torn_bytes": checked.torn_bytes,
        "workers": workers.iter().map(worker).collect::<Vec<_>>(),
        "reads": {"find": reads.finds, "get": reads.gets, "stats": reads.stats, "timeline": reads.timelines},
        "maintenance": {
            "compactions": maintenance.compactions,
            "optimizations": maintenance.optimizations,
            "killed": maintenance.kills,
            "refused": maintenance.refused,
            "overtaken": maintenance.overtaken,
        },
        "breaches": breaches.json(),
    })
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn puts_per_second(outcome: &Outcome) -> f64 {
    let acknowledged: u64 = outcome.workers.iter().map(|worked| worked.acknowledged).sum();
    acknowledged as f64 / outcome.wall.as_secs_f64()
}

/// The slowest worker's time to the fastest's, for as many puts.
fn fairness(workers: &[Worked]) -> f64 {
    let totals = || workers.iter().map(|worked| worked.total.as_secs_f64());
    totals().fold(0.0, f64::max) / totals().fold(f64::INFINITY, f64::min)
}
