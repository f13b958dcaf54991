//! Many processes that write to one store: how long each waits for its turn, and what they get done
//! together.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::dataset::Dataset;
use crate::engine::Engine;
use crate::process::{Tools, run, sync_all};
use crate::stats::Samples;
use crate::table::{Table, figure, ratio};

/// Processes that put at the same time, for what they get done together.
const TOGETHER: usize = 16;
/// Puts of each of these callers, and of one that is alone.
const PUTS_EACH: usize = 20;
const PUTS_ALONE: usize = 100;

/// Starts `processes` puts at once, `rounds` times, and then lets one and [`TOGETHER`] callers put
/// in loops. An engine that lets a writer fail for waiting too long shows it here.
pub fn measure(
    tools: &Tools,
    dataset: &Dataset,
    engines: &[Engine],
    processes: usize,
    rounds: usize,
) -> Result<Vec<Table>> {
    let texts = dataset.extra_texts()?;
    // A text that is there already costs less, so each is put once.
    let needed = processes * rounds + PUTS_ALONE + TOGETHER * PUTS_EACH;
    ensure!(needed <= texts.len(), "there are texts for {} puts, not for {needed}", texts.len());
    let (rushed, texts) = texts.split_at(processes * rounds);
    let (alone, texts) = texts.split_at(PUTS_ALONE);
    let mut fair = Table::new([
        "processes that put at once",
        "processes",
        "to be done, p50 ms",
        "slowest ms",
        "slowest to p50",
        "failed",
        "rounds",
    ]);
    let mut together = Table::new(["callers in a loop", "puts/s, one", "puts/s, 16", "16 to one"]);
    for &engine in engines {
        if !engine.prepare(tools, dataset, false)? {
            continue;
        }
        let store = dataset.working_copy(engine.store_name())?;
        fair.row(rush(tools, engine, &store, rushed, processes)?);
        let one = loops(tools, engine, &store, &[alone])?;
        let callers: Vec<&[String]> = texts.chunks_exact(PUTS_EACH).take(TOGETHER).collect();
        let many = loops(tools, engine, &store, &callers)?;
        together.row([engine.name().to_owned(), figure(one), figure(many), ratio(many, one)]);
    }
    Ok(vec![fair, together])
}

/// A row of the first table. The slowest and the median are of the same round; the row shows the
/// round whose ratio is the median.
fn rush(
    tools: &Tools,
    engine: Engine,
    store: &Path,
    texts: &[String],
    processes: usize,
) -> Result<[String; 7]> {
    let mut seen = Vec::new();
    let mut failed = 0;
    for round in texts.chunks_exact(processes) {
        sync_all();
        let commands = round.iter().map(|text| engine.put(tools, store, text));
        let commands = commands.collect::<Result<Vec<_>>>()?;
        let (samples, lost) = at_once(commands)?;
        failed += lost;
        seen.push((samples.max() / samples.p50(), samples));
    }
    seen.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (to_median, samples) = seen.get(seen.len() / 2).context("no round was asked for")?;
    Ok([
        engine.name().to_owned(),
        processes.to_string(),
        figure(samples.p50()),
        figure(samples.max()),
        format!("{}×", figure(*to_median)),
        failed.to_string(),
        seen.len().to_string(),
    ])
}

/// Starts all and waits for each: the time from before the first start to each one's end, and how
/// many failed.
fn at_once(commands: Vec<Command>) -> Result<(Samples, usize)> {
    let begin = Instant::now();
    let mut waiting: Vec<Child> = Vec::new();
    for mut command in commands {
        waiting.push(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
    }
    let ended: Vec<Result<(f64, bool)>> = std::thread::scope(|scope| {
        let wait = |mut child: Child| {
            move || {
                let status = child.wait()?;
                Ok((begin.elapsed().as_secs_f64() * 1e3, status.success()))
            }
        };
        let threads: Vec<_> = waiting.into_iter().map(|child| scope.spawn(wait(child))).collect();
        let joined = |thread: std::thread::ScopedJoinHandle<'_, Result<(f64, bool)>>| {
            thread.join().map_err(|_| anyhow::anyhow!("a waiting thread panicked"))?
        };
        threads.into_iter().map(joined).collect()
    });
    let mut samples = Samples::default();
    let mut failed = 0;
    for ended in ended {
        let (ms, is_done) = ended?;
        samples.push(ms);
        failed += usize::from(!is_done);
    }
    Ok((samples, failed))
}

/// Puts per second of callers who each put their texts with one process after the other.
fn loops(tools: &Tools, engine: Engine, store: &Path, callers: &[&[String]]) -> Result<f64> {
    let begin = Instant::now();
    let put = |texts: &[String]| -> Result<()> {
        texts.iter().try_for_each(|text| {
            run(&mut engine.put(tools, store, text)?)?;
            Ok(())
        })
    };
    let put = &put;
    let ended: Vec<Result<()>> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            callers.iter().map(|&texts| scope.spawn(move || put(texts))).collect();
        let panicked = |_| anyhow::anyhow!("a caller panicked");
        threads.into_iter().map(|thread| thread.join().map_err(panicked)?).collect()
    });
    if let Some(Err(error)) = ended.into_iter().find(Result::is_err) {
        ensure!(engine != Engine::Kapsa, "a put of kapsa failed: {error:#}");
        eprintln!("stopped: {} with {} callers: {error:#}", engine.name(), callers.len());
        return Ok(f64::NAN);
    }
    let puts: usize = callers.iter().map(|texts| texts.len()).sum();
    Ok(puts as f64 / begin.elapsed().as_secs_f64())
}
