//! Passages of 60 words a second, as a capsule that is filled in bulk embeds them: `throughput
//! [MODEL] [--texts FILE]`. The texts are the lines of the file, or else the documentation of this
//! repository, cut every 60 words. `throughput --write FILE` writes those, for `peer.py`.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kapsa_embed::LocalEmbedder;
use kapsa_model::{Embedder, Purpose};

const WORDS: usize = 60;
const TEXTS_MAX: usize = 512;
const RUNS: usize = 5;
/// As many records are published in one commit.
const BATCH: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (model, texts) = match arguments[..] {
        [] => (None, passages()?),
        ["--write", file] => return Ok(fs::write(file, passages()?.join("\n"))?),
        ["--texts", file] => (None, lines(file)?),
        [model] => (Some(model), passages()?),
        [model, "--texts", file] => (Some(model), lines(file)?),
        _ => {
            return Err("usage: throughput [MODEL] [--texts FILE] | throughput --write FILE".into());
        }
    };
    let embedder = match model {
        Some(file) => LocalEmbedder::from_bytes(fs::read(file)?.into())?,
        None => LocalEmbedder::bundled()?,
    };
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    println!("{}: {} texts", embedder.model().name, texts.len());
    measure("all cores", &embedder, &texts)?;
    measure("one core", &embedder.with_threads(1), &texts)
}

/// Prints the median of some runs, and a hash of the vectors.
fn measure(what: &str, embedder: &LocalEmbedder, texts: &[&str]) -> Result<(), Box<dyn Error>> {
    let mut rates = Vec::new();
    let mut on_processor = Vec::new();
    let mut hash = blake3::Hasher::new();
    for run in 0..RUNS {
        let (begin, used) = (Instant::now(), processor_time());
        for batch in texts.chunks(BATCH) {
            let vectors = embedder.embed(batch, Purpose::Passage)?;
            if run == 0 {
                for number in vectors.iter().flatten() {
                    hash.update(&number.to_le_bytes());
                }
            }
        }
        rates.push(texts.len() as f64 / begin.elapsed().as_secs_f64());
        let used = used.zip(processor_time()).map(|(from, to)| (to - from).as_secs_f64());
        on_processor.extend(used.map(|used| texts.len() as f64 / used));
    }
    rates.sort_by(f64::total_cmp);
    on_processor.sort_by(f64::total_cmp);
    // Beside other programs a thread is not always on a processor.
    let on_processor = on_processor
        .get(RUNS / 2)
        .map_or(String::new(), |rate| format!(", {rate:.1} for each second of processor time"));
    let bits = &hash.finalize().to_hex()[..16];
    println!("{what}: {:.1} passages/s{on_processor}; vectors {bits}", rates[RUNS / 2]);
    Ok(())
}

/// What all threads of this process, ended ones included, used so far; in hundredths of a second.
/// Only where the system tells it in the way of Linux.
fn processor_time() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = stat.rsplit(')').next()?.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some(Duration::from_millis(10 * (ticks()? + ticks()?)))
}

fn lines(file: &str) -> Result<Vec<String>, Box<dyn Error>> {
    Ok(fs::read_to_string(file)?.lines().map(str::to_string).collect())
}

/// The documentation of this repository, cut every 60 words.
fn passages() -> Result<Vec<String>, Box<dyn Error>> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut files: Vec<PathBuf> = fs::read_dir(docs)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_, std::io::Error>>()?;
    files.retain(|file| file.extension().is_some_and(|end| end == "md"));
    files.sort();
    let texts: Vec<String> = files.iter().map(fs::read_to_string).collect::<Result<_, _>>()?;
    let words: Vec<&str> = texts.iter().flat_map(|text| text.split_whitespace()).collect();
    let step = (words.len() / WORDS / TEXTS_MAX).max(1);
    Ok(words
        .chunks_exact(WORDS)
        .step_by(step)
        .map(|words| words.join(" "))
        .take(TEXTS_MAX)
        .collect())
}
