//! How often one put waits for the disk: exactly once, or the design is broken.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::dataset::Dataset;
use crate::engine::Engine;
use crate::process::{Tools, run};
use crate::table::Table;

/// The calls that wait for the disk.
const SYNC_CALLS: &str = "fsync,fdatasync,sync_file_range,msync";

/// Counts the syncs of one put of each engine; fails unless that of kapsa makes exactly one.
pub fn measure(
    tools: &Tools,
    dataset: &Dataset,
    engines: &[Engine],
    rebuild: bool,
) -> Result<Table> {
    ensure!(
        run(Command::new("strace").arg("-V")).is_ok(),
        "counting syncs needs strace, which is not here"
    );
    let texts = dataset.extra_texts()?;
    let mut table = Table::new(["one put", "syncs", "calls"]);
    let mut kapsa = None;
    for &engine in engines {
        if !engine.prepare(tools, dataset, rebuild)? {
            continue;
        }
        let store = dataset.working_copy(engine.store_name())?;
        // The first put after a copy may repair or claim something; the second is the common case.
        run(&mut engine.put(tools, &store, &texts[0])?)?;
        let (syncs, calls) = count(&engine.put(tools, &store, &texts[1])?, dataset)?;
        kapsa = if engine == Engine::Kapsa { Some(syncs) } else { kapsa };
        table.row([engine.name().to_owned(), syncs.to_string(), calls]);
    }
    if let Some(syncs) = kapsa.filter(|&syncs| syncs != 1) {
        println!("{table}");
        anyhow::bail!("a put of kapsa must sync exactly once, this one did {syncs} times");
    }
    Ok(table)
}

fn count(command: &Command, dataset: &Dataset) -> Result<(u64, String)> {
    let report = dataset.scratch("strace.txt")?;
    let mut traced = Command::new("strace");
    traced.args(["-f", "-c", "-e", &format!("trace={SYNC_CALLS}"), "-o"]).arg(&report);
    run(traced.arg(command.get_program()).args(command.get_args()))?;
    parse(&fs::read_to_string(&report)?)
}

/// Reads the summary of `strace -c`: `% time  seconds  usecs/call  calls  [errors]  syscall`.
fn parse(report: &str) -> Result<(u64, String)> {
    let (mut total, mut calls) = (0, Vec::new());
    for line in report.lines() {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let Some(name) =
            cells.last().filter(|name| SYNC_CALLS.split(',').any(|call| call == **name))
        else {
            continue;
        };
        let times: u64 = cells
            .get(3)
            .and_then(|cell| cell.parse().ok())
            .context("strace prints calls in its fourth column")?;
        total += times;
        calls.push(format!("{name} {times}"));
    }
    Ok((total, calls.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_of_strace_are_read() {
        let report = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 90.00    0.001000         500         2           fdatasync
 10.00    0.000100         100         1         1 fsync
------ ----------- ----------- --------- --------- ----------------
100.00    0.001100         366         3         1 total
";
        assert_eq!(parse(report).expect("read"), (3, "fdatasync 2, fsync 1".to_owned()));
        assert_eq!(parse("").expect("read"), (0, String::new()));
    }
}
