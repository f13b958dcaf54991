//! Proves that the cuts are real: the same puts with syncs that do nothing must be lost.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::volume::{FileSystem, Volume};
use crate::harness::kapsa::{Got, Kapsa, Put};
use crate::harness::random::Random;
use crate::harness::session::Session;
use crate::harness::{binary, preload, record, sys};

const SOURCE: &str = include_str!("../../peers/nosync.c");
/// Every call that makes data durable.
const SYNCS: &str = "fsync,fdatasync,sync_file_range,syncfs,msync";
/// Puts with real syncs before the others, so that the cut cannot simply take the file away.
const REAL_PUTS: u64 = 3;
/// Puts without, and the time they get: a traced program is slow.
const PUTS: u64 = 20;
const TIME_MAX: Duration = Duration::from_secs(5);
/// The kernel writes by itself after many seconds; a cut comes long before.
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// How syncs are made to do nothing.
pub(super) enum NoSync {
    /// By a library that is loaded before the C library; for programs that are linked dynamically.
    Preload(PathBuf),
    /// By a tracer that answers in the kernel's place.
    Trace,
}

impl NoSync {
    /// Chooses what works for this program.
    pub(super) fn prepare(folder: &Path, program: &Path) -> Result<NoSync, String> {
        let preloads = binary::is_dynamic(program).unwrap_or(false);
        if let (true, Some(library)) = (preloads, preload::compile(folder, "nosync", SOURCE)) {
            return Ok(NoSync::Preload(library));
        }
        let traces =
            Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success());
        if traces {
            Ok(NoSync::Trace)
        } else {
            Err("the control run needs cc (and a dynamically linked kapsa) or strace".to_owned())
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            NoSync::Preload(_) => "preloaded library",
            NoSync::Trace => "strace",
        }
    }

    fn applied_to(&self, kapsa: &Kapsa) -> Kapsa {
        match self {
            NoSync::Preload(library) => kapsa.clone().with_variable("LD_PRELOAD", library),
            NoSync::Trace => {
                let (trace, inject) =
                    (format!("trace={SYNCS}"), format!("inject={SYNCS}:retval=0"));
                kapsa.clone().run_by(&[
                    "strace",
                    "-f",
                    "-qq",
                    "-o",
                    "/dev/null",
                    "-e",
                    &trace,
                    "-e",
                    &inject,
                ])
            }
        }
    }
}

/// What cuts without syncs showed.
#[derive(Default)]
pub(super) struct Control {
    pub(super) cuts: u64,
    /// Cuts after which an acknowledged put was missing.
    pub(super) lossy_cuts: u64,
    pub(super) acknowledged: u64,
    pub(super) lost: u64,
    /// Puts with real syncs before the others, and those that are still there.
    pub(super) synced: u64,
    pub(super) synced_kept: u64,
}

impl Control {
    /// Whether data was lost, as it must be.
    pub(super) fn is_convincing(&self) -> bool {
        self.lossy_cuts > 0
    }
}

/// Cuts `cuts` times, each time on a new capsule.
pub(super) fn run(
    file_system: FileSystem,
    session: &Session,
    no_sync: &NoSync,
    cuts: u64,
) -> Result<Control, String> {
    let mut control = Control::default();
    let mut random = Random::new(session.seed, &format!("control {}", file_system.name()));
    let mut volume =
        Volume::new(file_system, session.folder(), &format!("{}-control", file_system.name()))?;
    for number in 0..cuts {
        sys::go_on()?;
        let kapsa = Kapsa::new(&session.program, &volume.path(&format!("{number}.kapsa")));
        kapsa.create()?;
        let synced = put(&kapsa, "real", REAL_PUTS, session.seed)?;
        let power = volume.power()?;
        let acknowledged = put(&no_sync.applied_to(&kapsa), "c", PUTS, session.seed)?;
        thread::sleep(random.moment(PAUSE_MAX));
        power.cut()?;
        volume.mount_again()?;
        let there = |uris: &[String]| {
            uris.iter().filter(|uri| is_there(&kapsa, uri, session.seed)).count() as u64
        };
        let lost = acknowledged.len() as u64 - there(&acknowledged);
        control.cuts += 1;
        control.lossy_cuts += u64::from(lost > 0);
        control.acknowledged += acknowledged.len() as u64;
        control.lost += lost;
        control.synced += synced.len() as u64;
        control.synced_kept += there(&synced);
    }
    Ok(control)
}

/// Puts up to `count` records and returns the names of those that were acknowledged.
fn put(kapsa: &Kapsa, series: &str, count: u64, seed: u64) -> Result<Vec<String>, String> {
    let (start, mut acknowledged) = (Instant::now(), Vec::new());
    for index in 0..count {
        let uri = record::uri(series, index);
        match kapsa.put(&uri, &record::text(seed, &uri), None).0 {
            Put::Stored { .. } => acknowledged.push(uri),
            other => return Err(format!("a put before any cut failed: {other:?}")),
        }
        if start.elapsed() > TIME_MAX {
            break;
        }
    }
    Ok(acknowledged)
}

/// A record that cannot be read any more is lost as well.
fn is_there(kapsa: &Kapsa, uri: &str, seed: u64) -> bool {
    matches!(kapsa.get(uri), Got::Record(record) if record.text == record::text(seed, uri))
}
