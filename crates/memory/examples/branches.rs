//! Measures what branches cost: a capsule with many of them beside one with as many records on
//! `main` alone.
//!
//! `cargo run --release -p kapsa-memory --example branches -- [BRANCHES] [RECORDS_EACH] [MERGED]
//! [FOLDER]`, by default 10,000, 100, 10,000 and a temporary folder; a folder that is given keeps
//! `many.kapsa` and `one.kapsa`, for measuring whole processes. Each measured thing is done in
//! turns in both capsules; medians and their ratio are printed.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kapsa_memory::{
    AsOf, FindRequest, MergeRequest, MergeResult, NewRecord, Reader, Uri, WriteOptions, Writer,
    branch, create, merge,
};

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

const WORDS: [&str; 24] = [
    "lock", "commit", "branch", "port", "staging", "deploy", "cache", "retry", "token", "schema",
    "index", "query", "merge", "review", "agent", "trace", "budget", "latency", "queue", "worker",
    "backup", "restore", "signal", "timeout",
];
const ROUNDS: usize = 41;
/// Branches between two mergers of the index, as a long-lived owner would order them.
const OPTIMISE_EVERY: u64 = 500;

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64)
}

fn text(number: u64) -> String {
    let word = |step: u64| {
        WORDS[(number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left((step * 5) as u32) % 24)
            as usize]
    };
    let words: Vec<&str> = (0..24).map(word).collect();
    format!("record {number}: {}", words.join(" "))
}

fn record(branch: u64, number: u64, each: u64) -> Result<NewRecord> {
    Ok(NewRecord {
        uri: Some(Uri::parse(&format!("b{branch}/r{number}"))?),
        ..NewRecord::text(text(branch * each + number))
    })
}

fn load(path: &Path, branches: u64, each: u64, apart: bool) -> Result<()> {
    create(path, &WriteOptions::new(now))?;
    let mut writer = Writer::open(path, WriteOptions::new(now))?;
    for branch in 0..branches {
        if apart {
            let name = format!("run/{branch}");
            branch::create(&mut writer, &name, "main", None)?;
            writer.switch(&name)?;
        }
        let records =
            (0..each).map(|number| record(branch, number, each)).collect::<Result<Vec<_>>>()?;
        writer.put_many(records)?;
        if branch % OPTIMISE_EVERY == 0 || branch + 1 == branches {
            writer.optimize(&mut |_, _| {})?;
        }
    }
    Ok(())
}

/// Both capsules, and which branch is looked at in the one that has many.
struct Pair {
    many: PathBuf,
    one: PathBuf,
    branches: u64,
}

impl Pair {
    fn sides(&self, round: usize) -> [(&Path, String); 2] {
        let branch = round as u64 * 7919 % self.branches;
        [(&self.many, format!("run/{branch}")), (&self.one, "main".to_string())]
    }

    /// Prints the medians of both and their ratio.
    fn measure(
        &self,
        name: &str,
        mut work: impl FnMut(&Path, &str, usize) -> Result<Duration>,
    ) -> Result<()> {
        let mut times = [Vec::new(), Vec::new()];
        for round in 0..ROUNDS {
            for (side, (path, branch)) in self.sides(round).into_iter().enumerate() {
                times[side].push(work(path, &branch, round)?);
            }
        }
        let [many, one] = times.map(median);
        println!(
            "{name:<34} {:>9.3} ms {:>9.3} ms   {:.2}x",
            ms(many),
            ms(one),
            many.as_secs_f64() / one.as_secs_f64()
        );
        Ok(())
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Duration)> {
    let start = Instant::now();
    let done = work()?;
    Ok((done, start.elapsed()))
}

fn writer_on(path: &Path, branch: &str) -> Result<Writer> {
    let mut writer = Writer::open(path, WriteOptions::new(now))?;
    writer.switch(branch)?;
    Ok(writer)
}

fn question(round: usize) -> FindRequest {
    FindRequest::new(format!(
        "{} {} {}",
        WORDS[round % 24],
        WORDS[round * 7 % 24],
        WORDS[round * 5 % 24]
    ))
}

fn main() -> Result<()> {
    let mut numbers = std::env::args().skip(1).map(|arg| arg.parse::<u64>());
    let mut number = |default| numbers.next().unwrap_or(Ok(default));
    let (branches, each, merged) = (number(10_000)?, number(100)?, number(10_000)?);
    let temporary = tempfile::tempdir_in(".")?;
    let folder =
        std::env::args().nth(4).map_or_else(|| temporary.path().to_path_buf(), PathBuf::from);
    let (many, one) = (folder.join("many.kapsa"), folder.join("one.kapsa"));
    load(&many, branches, each, true)?;
    load(&one, branches, each, false)?;
    let pair = Pair { many, one, branches };
    println!("{branches} branches of {each} records{:>12} {:>12}   many to one", "many", "one");
    pair.measure("open, as a process does", |path, branch, _| {
        Ok(timed(|| Ok(Reader::open(path)?.on(branch, None)?))?.1)
    })?;
    pair.measure("open and put one record", |path, branch, round| {
        Ok(timed(|| Ok(writer_on(path, branch)?.put(NewRecord::text(text(round as u64)))?))?.1)
    })?;
    pair.measure("open and get one record", |path, branch, round| {
        let name = branch
            .strip_prefix("run/")
            .map_or_else(|| (round as u64 * 7919 % branches).to_string(), str::to_string);
        let uri = Uri::parse(&format!("b{name}/r{}", round as u64 % each))?;
        Ok(timed(|| Ok(Reader::open(path)?.on(branch, None)?.get(&uri)?))?.1)
    })?;
    pair.measure("open and find, top 10", |path, branch, round| {
        Ok(timed(|| Ok(Reader::open(path)?.on(branch, None)?.find(&question(round))?))?.1)
    })?;
    let readers = [Reader::open(&pair.many)?, Reader::open(&pair.one)?];
    let open = |path: &Path| &readers[usize::from(path == pair.one)];
    pair.measure("find again in an open capsule", |path, branch, round| {
        let reader = open(path).on(branch, None)?;
        Ok(timed(|| Ok(reader.find(&question(round))?))?.1)
    })?;
    time_travel(&pair.one, branches * each)?;
    branch_and_put(&pair.many)?;
    merge(&temporary.path().join("merge.kapsa"), merged)
}

/// A search of the present beside one as of the middle and one as of almost the end.
fn time_travel(path: &Path, records: u64) -> Result<()> {
    let reader = Reader::open(path)?;
    let moment = |sequence| {
        Ok::<_, Box<dyn std::error::Error>>(reader.on("main", Some(&AsOf::Sequence(sequence)))?)
    };
    let views = [reader.on("main", None)?, moment(records / 2)?, moment(records - records / 20)?];
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        for (view, times) in views.iter().zip(&mut times) {
            times.push(timed(|| Ok(view.find(&question(round))?))?.1);
        }
    }
    let [now, half, late] = times.map(median);
    let ratio = |then: Duration| then.as_secs_f64() / now.as_secs_f64();
    println!(
        "find as of the middle, to now      {:.2}x; as of nineteen twentieths {:.2}x",
        ratio(half),
        ratio(late)
    );
    Ok(())
}

/// Making a branch beside putting a record, in turns, in one open writer.
fn branch_and_put(path: &Path) -> Result<()> {
    let mut writer = Writer::open(path, WriteOptions::new(now))?;
    let (mut branches, mut puts) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS as u64 {
        branches.push(
            timed(|| Ok(branch::create(&mut writer, &format!("made/{round}"), "main", None)?))?.1,
        );
        puts.push(timed(|| Ok(writer.put(NewRecord::text(text(round)))?))?.1);
    }
    let (branch, put) = (median(branches), median(puts));
    println!(
        "making a branch, to a put          {:.2}x ({:.3} ms)",
        branch.as_secs_f64() / put.as_secs_f64(),
        ms(branch)
    );
    Ok(())
}

/// A merge of many records, half of them new and half changed.
fn merge(path: &Path, records: u64) -> Result<()> {
    create(path, &WriteOptions::new(now))?;
    let mut writer = Writer::open(path, WriteOptions::new(now))?;
    writer.put_many(
        (0..records / 2).map(|number| record(0, number, records)).collect::<Result<_>>()?,
    )?;
    branch::create(&mut writer, "run/1", "main", None)?;
    writer.switch("run/1")?;
    let changed = (0..records).map(|number| {
        let new = record(0, number, records)?;
        Ok(NewRecord { text: format!("{} changed", new.text), ..new })
    });
    writer.put_many(changed.collect::<Result<_>>()?)?;
    let request = MergeRequest {
        from: "run/1".to_string(),
        to: "main".to_string(),
        ..MergeRequest::default()
    };
    let (result, time) = timed(|| Ok(merge::merge(&mut writer, &request)?))?;
    let MergeResult::Done(done) = result else { return Err("a conflict".into()) };
    println!("merge of {} records: {:.2} s", done.written, time.as_secs_f64());
    Ok(())
}
