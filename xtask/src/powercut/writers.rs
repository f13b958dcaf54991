//! Writers at the time of a cut: processes that put one record each, a bulk put, and compaction.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::harness::breach::{Breach, Breaches};
use crate::harness::kapsa::{self, Kapsa, Maintained, Put};
use crate::harness::ledger::Ledger;
use crate::harness::{record, sys};

/// Records of one commit of the bulk put, and of all of it.
const BATCH_RECORDS: usize = 8;
const BULK_RECORDS: usize = 4000;

/// Who writes in a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mix {
    pub(super) putters: u64,
    pub(super) bulk: bool,
    pub(super) compaction: bool,
}

/// What the writers share with the one who cuts the power.
pub(super) struct Site<'a> {
    pub(super) kapsa: &'a Kapsa,
    pub(super) breaches: &'a Breaches,
    /// Names given so far.
    pub(super) names: &'a AtomicU64,
    log: Mutex<Log>,
}

/// What was acknowledged. Once the power is cut nothing counts any more: an answer read later may
/// have been given for nothing.
struct Log {
    ledger: Ledger,
    cut: bool,
}

impl<'a> Site<'a> {
    pub(super) fn new(
        kapsa: &'a Kapsa,
        breaches: &'a Breaches,
        names: &'a AtomicU64,
        ledger: Ledger,
    ) -> Site<'a> {
        Site { kapsa, breaches, names, log: Mutex::new(Log { ledger, cut: false }) }
    }

    /// Lets the writers write for `time`, and then does `cut`, which they notice. Returns what
    /// counts.
    pub(super) fn write_until(
        self,
        mix: Mix,
        time: Duration,
        cut: impl FnOnce() -> Result<(), String>,
    ) -> Result<Ledger, String> {
        let site = &self;
        let done = thread::scope(|scope| {
            for _ in 0..mix.putters {
                scope.spawn(move || site.put());
            }
            if mix.compaction {
                scope.spawn(move || site.compact());
            }
            if mix.bulk {
                scope.spawn(move || site.put_many());
            }
            thread::sleep(time);
            // Held during the cut: what has been counted was read before.
            let mut log = site.log();
            log.cut = true;
            cut()
        });
        done?;
        sys::go_on()?;
        Ok(self.log.into_inner().unwrap_or_else(PoisonError::into_inner).ledger)
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_cut(&self) -> bool {
        self.log().cut || sys::interrupted()
    }

    fn name(&self, series: &str) -> String {
        record::uri(series, self.names.fetch_add(1, Ordering::Relaxed))
    }

    /// Notes an acknowledgement, if it came in time.
    fn acknowledge(&self, uri: &str, sequence: u64) {
        let mut log = self.log();
        if !log.cut {
            log.ledger.acknowledge(uri, sequence);
        }
    }

    /// A write may fail when the power is cut, and not before.
    fn failed(&self, message: String) {
        if !self.is_cut() {
            self.breaches.add(Breach::WriteFailed, message);
        }
    }

    /// One process after the other puts one record each.
    fn put(&self) {
        while !self.is_cut() {
            let uri = self.name("p");
            let text = {
                let ledger = &mut self.log().ledger;
                ledger.attempt(&uri);
                ledger.text(&uri)
            };
            match self.kapsa.put(&uri, &text, None).0 {
                Put::Stored { sequence, .. } => self.acknowledge(&uri, sequence),
                other => self.failed(format!("put {uri}: {other:?}")),
            }
        }
    }

    fn compact(&self) {
        while !self.is_cut() {
            match self.kapsa.maintain("compact", None).0 {
                Maintained::Failed(message) => self.failed(message),
                Maintained::Done
                | Maintained::Refused
                | Maintained::Overtaken
                | Maintained::Killed => {}
            }
        }
    }

    /// One long process puts batch after batch.
    fn put_many(&self) {
        let batch = BATCH_RECORDS.to_string();
        let mut command = self.kapsa.command(&["put", "--each", "--batch", &batch, "-"]);
        let started =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = match started {
            Ok(child) => child,
            Err(error) => return self.failed(format!("put -: {error}")),
        };
        let (input, output) = (child.stdin.take(), child.stdout.take());
        thread::scope(|scope| {
            scope.spawn(move || input.map(|input| self.feed(input)));
            scope.spawn(move || output.map(|output| self.read(output)));
            self.wait(&mut child);
        });
    }

    /// Ends the process once the power is cut; it may also be done before.
    fn wait(&self, child: &mut Child) {
        const LOOK: Duration = Duration::from_millis(1);
        while !self.is_cut() && matches!(child.try_wait(), Ok(None)) {
            thread::sleep(LOOK);
        }
        // It has ended by itself when this fails.
        let _ended_already = child.kill();
        match child.wait() {
            Ok(status) if status.success() => {}
            ended => self.failed(format!("put - ended with {ended:?}")),
        }
    }

    fn feed(&self, mut input: ChildStdin) {
        for _ in 0..BULK_RECORDS / BATCH_RECORDS {
            let uris: Vec<String> = (0..BATCH_RECORDS).map(|_| self.name("b")).collect();
            let lines: String = {
                let ledger = &mut self.log().ledger;
                ledger.attempt_batch(&uris);
                uris.iter().map(|uri| kapsa::line(uri, &ledger.text(uri))).collect()
            };
            // The process is gone when this fails; how it ended is looked at elsewhere.
            if input.write_all(lines.as_bytes()).is_err() || self.is_cut() {
                return;
            }
        }
    }

    fn read(&self, output: ChildStdout) {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            let value = serde_json::from_slice(&line).ok();
            if let Some((uri, sequence)) = value.as_ref().and_then(kapsa::acknowledged) {
                self.acknowledge(&uri, sequence);
            }
        }
    }
}
