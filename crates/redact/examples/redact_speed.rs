//! How fast files are redacted:
//! `cargo run --release -p kapsa-redact --example redact_speed -- FILE…`.
//!
//! Prints for each file its size, the median of nine runs over its lines, and what was found.

use std::time::Instant;

fn main() -> std::io::Result<()> {
    for path in std::env::args_os().skip(1) {
        let bytes = std::fs::read(&path)?;
        let text = String::from_utf8_lossy(&bytes);
        let is_json = text.trim_start().starts_with(['{', '[']);
        let (mut times, mut found) = (Vec::new(), 0);
        for _ in 0..9 {
            let begun = Instant::now();
            found = match is_json {
                true => text
                    .split_inclusive('\n')
                    .map(|line| kapsa_redact::redact_json(line).spans.len())
                    .sum(),
                false => kapsa_redact::redact(&text).spans.len(),
            };
            times.push(begun.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        let (mb, seconds) = (text.len() as f64 / 1e6, times[times.len() / 2]);
        let name = std::path::Path::new(&path).display();
        println!(
            "{mb:.2} MB  {:.0} ms  {:.0} MB/s  {found} found  {name}",
            seconds * 1e3,
            mb / seconds
        );
    }
    Ok(())
}
