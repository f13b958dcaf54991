//! The results of each system, side by side.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::median;

/// What one round of one system showed.
pub(super) struct Counts {
    pub(super) acknowledged: u64,
    /// Acknowledged, and there with its contents.
    pub(super) kept: u64,
    pub(super) lost: u64,
    pub(super) doubled: u64,
    /// Not written because of a lock, for longer than the timeout.
    pub(super) refused: u64,
    /// Not written for another reason.
    pub(super) failed: u64,
    pub(super) wall: Duration,
    /// What to know besides: the first failure.
    pub(super) note: Option<String>,
}

/// All rounds of one system.
pub(super) struct Row {
    system: String,
    version: String,
    way: String,
    rounds: Vec<Counts>,
}

/// All systems, Kapsa first.
pub(in crate::torture) struct Table {
    pub(super) rows: Vec<Row>,
    pub(super) skipped: Vec<(String, String)>,
    pub(super) processes: u64,
    pub(super) puts: u64,
    pub(super) rounds: u64,
}

impl Row {
    pub(super) fn new(system: &str, version: String, way: &str) -> Row {
        Row { system: system.to_owned(), version, way: way.to_owned(), rounds: Vec::new() }
    }

    pub(super) fn add(&mut self, counts: Counts) {
        self.rounds.push(counts);
    }

    fn sum(&self, count: fn(&Counts) -> u64) -> u64 {
        self.rounds.iter().map(count).sum()
    }

    /// Acknowledged puts per second, the median of the rounds.
    fn rate(&self) -> f64 {
        let micro =
            |counts: &Counts| (counts.acknowledged as f64 * 1e6 / counts.wall.as_secs_f64()) as u64;
        median(&self.rounds.iter().map(micro).collect::<Vec<_>>()).unwrap_or_default() as f64 / 1e6
    }

    fn note(&self) -> Option<&str> {
        self.rounds.iter().find_map(|counts| counts.note.as_deref())
    }
}

impl Table {
    fn kapsa_rate(&self) -> f64 {
        self.rows.first().map_or(f64::NAN, Row::rate)
    }

    /// The table for people.
    pub(in crate::torture) fn people(&self) -> String {
        let mut lines = vec![
            format!(
                "{} processes x {} puts, {} rounds in turn; puts/s: median, to kapsa's",
                self.processes, self.puts, self.rounds
            ),
            format!(
                "{:<24} {:<12} {:>12} {:>6} {:>6} {:>7} {:>7} {:>6} {:>7}  how a put is made",
                "system",
                "version",
                "acknowledged",
                "kept",
                "lost",
                "doubled",
                "refused",
                "failed",
                "puts/s"
            ),
        ];
        for row in &self.rows {
            lines.push(format!(
                "{:<24} {:<12} {:>12} {:>6} {:>6} {:>7} {:>7} {:>6} {:>6.2}x  {}",
                row.system,
                row.version,
                row.sum(|c| c.acknowledged),
                row.sum(|c| c.kept),
                row.sum(|c| c.lost),
                row.sum(|c| c.doubled),
                row.sum(|c| c.refused),
                row.sum(|c| c.failed),
                row.rate() / self.kapsa_rate(),
                row.way,
            ));
        }
        lines.extend(
            self.rows.iter().filter_map(|row| Some(format!("{}: {}", row.system, row.note()?))),
        );
        lines.extend(
            self.skipped.iter().map(|(system, reason)| format!("{system}: skipped: {reason}")),
        );
        lines.join("\n")
    }

    /// The same for programs.
    pub(in crate::torture) fn json(&self) -> Value {
        let row = |row: &Row| {
            json!({
                "system": row.system,
                "version": row.version,
                "way": row.way,
                "acknowledged": row.sum(|c| c.acknowledged),
                "kept": row.sum(|c| c.kept),
                "lost": row.sum(|c| c.lost),
                "doubled": row.sum(|c| c.doubled),
                "refused": row.sum(|c| c.refused),
                "failed": row.sum(|c| c.failed),
                "puts_per_second": row.rate(),
                "puts_per_second_to_kapsa": row.rate() / self.kapsa_rate(),
                "note": row.note(),
            })
        };
        let skipped =
            |(system, reason): &(String, String)| json!({"system": system, "skipped": reason});
        json!({
            "processes": self.processes,
            "puts": self.puts,
            "rounds": self.rounds,
            "systems": self.rows.iter().map(row).chain(self.skipped.iter().map(skipped)).collect::<Vec<_>>(),
        })
    }
}
