//! The cost of opening a capsule and reporting on it, in time and memory.

use std::process::Command;

use anyhow::Result;

use crate::dataset::Dataset;
use crate::engine::Engine;
use crate::process::{Tools, run, run_with_peak};
use crate::stats::Samples;
use crate::table::{Table, count, figure, megabytes, ratio};

/// Times `runs` of `kapsa info` against a process that does nothing.
pub fn measure(tools: &Tools, dataset: &Dataset, runs: usize, rebuild: bool) -> Result<Table> {
    let mut info = Command::new(tools.require_kapsa()?);
    Engine::Kapsa.prepare(tools, dataset, rebuild)?;
    info.args(["info", "--json", "--capsule"]).arg(dataset.store(Engine::Kapsa.store_name()));
    let mut rows = [("process start and exit", tools.peer("bench-exit")?), ("kapsa info", info)];
    let mut samples = [Samples::default(), Samples::default()];
    for _ in 0..runs {
        for (at, (_, command)) in rows.iter_mut().enumerate() {
            samples[at].push(run(command)?.ms);
        }
    }
    let mut table =
        Table::new(["open", "records", "p50 ms", "p90", "max", "to bare", "peak RSS MB"]);
    for ((name, command), s) in rows.iter().zip(&samples) {
        let (_, peak) = run_with_peak(
            &tools.peer_path("bench-launch")?,
            command,
            &dataset.scratch("peak.txt")?,
            None,
        )?;
        let cells = [
            count(dataset.n),
            figure(s.p50()),
            figure(s.p90()),
            figure(s.max()),
            ratio(s.p50(), samples[0].p50()),
            megabytes(peak),
        ];
        table.row([(*name).to_owned()].into_iter().chain(cells));
    }
    Ok(table)
}
