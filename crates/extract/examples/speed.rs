//! How fast traces become candidates: `cargo run --release -p kapsa-extract --example speed --
//! [--runs N] TRACE…`.
//!
//! Prints the size of all traces and the median time of each step: reading them, redacting
//! everything in them, and extracting. One core.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use kapsa_extract::extract;
use kapsa_redact::redact;

const RUNS_DEFAULT: usize = 5;

fn main() {
    let mut traces: Vec<String> = std::env::args().skip(1).collect();
    let mut runs = RUNS_DEFAULT;
    if traces.first().is_some_and(|arg| arg == "--runs") {
        runs = traces[1].parse().expect("a number of runs");
        traces.drain(..2);
    }
    let bytes: u64 = traces.iter().map(|trace| size(trace)).sum();
    let (mut reading, mut redacting, mut extracting) = (Vec::new(), Vec::new(), Vec::new());
    let mut candidates = 0;
    for _ in 0..runs {
        candidates = 0;
        let begun = Instant::now();
        let (mut in_redact, mut in_extract) = (Duration::ZERO, Duration::ZERO);
        for trace in &traces {
            let read = kapsa_ingest::sessions(Path::new(trace), &mut |session| {
                let start = Instant::now();
                for turn in &session.turns {
                    let call = turn.call.as_ref().map(|call| call.arguments.to_string());
                    let _ = (
                        redact(&turn.text).spans.len(),
                        call.map(|text| redact(&text).spans.len()),
                    );
                }
                in_redact += start.elapsed();
                let start = Instant::now();
                candidates += extract(&session).candidates.len();
                in_extract += start.elapsed();
                ControlFlow::Continue(())
            });
            if let Err(error) = read {
                println!("error: {error}");
            }
        }
        reading.push(begun.elapsed() - in_redact - in_extract);
        redacting.push(in_redact);
        extracting.push(in_extract);
    }
    let (mb, parts) = (bytes as f64 / 1e6, [reading, redacting, extracting].map(median));
    let all: f64 = parts.iter().sum();
    println!("{mb:.1} MB, {} traces, {candidates} candidates: {:.1} MB/s", traces.len(), mb / all);
    for (name, seconds) in ["read", "redact", "extract"].iter().zip(parts) {
        println!("  {name:<8} {:.0} ms", seconds * 1e3);
    }
}

fn size(trace: &str) -> u64 {
    std::fs::metadata(trace).expect("the trace can be read").len()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64()
}
