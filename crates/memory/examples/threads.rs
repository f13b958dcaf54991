//! Measures how many durable puts a second 16 threads make on one writer, and how many one makes.
//!
//! `cargo run --release -p kapsa-memory --example threads [THREADS] [SECONDS] [ROUNDS]`

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kapsa_memory::{NewRecord, Reader, SharedWriter, WriteOptions, Writer, create, stats};

fn clock() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64)
}

/// Puts a second of so many threads.
fn rate(threads: usize, time: Duration) -> Result<f64, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir_in(".")?;
    let path = folder.path().join("threads.kapsa");
    create(&path, &WriteOptions::new(clock))?;
    let shared = SharedWriter::new(Writer::open(&path, WriteOptions::new(clock))?);
    let (count, start) = (AtomicU64::new(0), Instant::now());
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (shared, count) = (&shared, &count);
            scope.spawn(move || {
                while start.elapsed() < time {
                    let number = count.fetch_add(1, Ordering::Relaxed);
                    shared
                        .put(NewRecord::text(format!(
                            "Thread {thread} remembers that {number} came next."
                        )))
                        .expect("put");
                }
            });
        }
    });
    let rate = count.into_inner() as f64 / start.elapsed().as_secs_f64();
    let commits = stats(&Reader::open(&path)?, false)?;
    println!(
        "{threads:>3} threads: {rate:>8.0} puts/s, {} records in {} commits",
        commits.last_sequence, commits.commit_count
    );
    Ok(rate)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let number = |nth: usize, default: u64| {
        std::env::args().nth(nth).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (threads, time, rounds) =
        (number(1, 16) as usize, Duration::from_secs(number(2, 2)), number(3, 5));
    let mut ratios = Vec::new();
    for _ in 0..rounds {
        let one = rate(1, time)?;
        ratios.push(rate(threads, time)? / one);
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "{threads} threads to one: median of {rounds} rounds {:.1} times",
        ratios[ratios.len() / 2]
    );
    Ok(())
}
