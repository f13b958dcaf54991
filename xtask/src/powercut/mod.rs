//! `cargo xtask powercut`: no acknowledged write may be lost when the power of the file system is
//! cut.

mod campaign;
mod control;
mod volume;
mod writers;

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::harness::args::{Opt, Parsed, parse};
use crate::harness::breach::Breaches;
use crate::harness::session::Session;
use campaign::Cuts;
use control::{Control, NoSync};
use volume::FileSystem;

const USAGE: &str = "usage: cargo xtask powercut [OPTION...]

Writes to a capsule on a file system of its own, mounted from an image, and stops that file system at a random moment so that
nothing it holds in memory reaches the device. Mounted again, every put that was acknowledged before the cut must be there with
its contents, batches must be whole, `kapsa verify` must be clean, and the next put must work at once. A control run does the
same with syncs that do nothing: it must lose data, or the cuts are not real and the command fails.

Needs Linux, root, loop devices, and mkfs for each file system; where something is missing, that file system is skipped.";

const OPTIONS: [Opt; 3] = [
    Opt::value("--file-systems", "LIST", "ext4,xfs", "File systems to try"),
    Opt::value("--cuts", "N", "200", "Power cuts on each"),
    Opt::value("--control", "N", "10", "Power cuts without syncs on each"),
];

/// What came of one file system.
enum Tried {
    Skipped(String),
    Done { counted: Cuts, control: Control, breaches: Breaches },
}

impl Tried {
    fn kept(&self) -> bool {
        match self {
            Tried::Skipped(_) => true,
            Tried::Done { control, breaches, .. } => breaches.is_empty() && control.is_convincing(),
        }
    }
}

/// Runs the command.
pub(crate) fn run(repository: &Path, args: &[String]) -> Result<ExitCode, String> {
    let chosen = match parse(USAGE, &OPTIONS, args)? {
        Parsed::Help(text) => {
            println!("{text}");
            return Ok(ExitCode::SUCCESS);
        }
        Parsed::Run(chosen) => chosen,
    };
    let (cuts, controls) =
        (chosen.number("--cuts", 1..=1_000_000)?, chosen.number("--control", 1..=10_000)?);
    let names = chosen.text("--file-systems").unwrap_or_default().split(',');
    let file_systems = names.map(FileSystem::named).collect::<Result<Vec<_>, _>>()?;
    let missing: Vec<Option<String>> =
        file_systems.iter().map(|file_system| file_system.missing()).collect();
    if let Some(reasons) = missing.iter().cloned().collect::<Option<Vec<_>>>() {
        return Ok(skipped(&file_systems, &reasons, chosen.has("--json")));
    }
    let session = Session::begin("powercut", repository, &chosen)?;
    let no_sync = NoSync::prepare(session.folder(), &session.program)?;
    let mut tried = Vec::new();
    for (file_system, missing) in file_systems.iter().zip(missing) {
        let outcome = match missing {
            Some(reason) => Tried::Skipped(reason),
            None => attempt(*file_system, &session, &no_sync, cuts, controls)?,
        };
        if let Tried::Skipped(reason) = &outcome {
            eprintln!("{}: skipped: {reason}", file_system.name());
        }
        tried.push((*file_system, outcome));
    }
    let people: Vec<String> =
        tried.iter().map(|(file_system, tried)| people(*file_system, tried)).collect();
    let reports: Vec<Value> =
        tried.iter().map(|(file_system, tried)| report(*file_system, tried)).collect();
    let kept = tried.iter().all(|(_, tried)| tried.kept());
    let json = json!({"skipped": false, "file_systems": reports, "control_by": no_sync.name()});
    Ok(session.end(kept, &people.join("\n"), json))
}

/// The cuts of one file system, and then the control.
fn attempt(
    file_system: FileSystem,
    session: &Session,
    no_sync: &NoSync,
    cuts: u64,
    controls: u64,
) -> Result<Tried, String> {
    if let Err(reason) = volume::probe(file_system, session.folder()) {
        return Ok(Tried::Skipped(reason));
    }
    let breaches = Breaches::default();
    let counted = campaign::run(file_system, session, cuts, &breaches)?;
    let control = control::run(file_system, session, no_sync, controls)?;
    if !control.is_convincing() {
        eprintln!(
            "{}: the cuts are not real: without any sync nothing was lost",
            file_system.name()
        );
    }
    Ok(Tried::Done { counted, control, breaches })
}

fn skipped(file_systems: &[FileSystem], reasons: &[String], as_json: bool) -> ExitCode {
    let each: Vec<(&str, &String)> =
        file_systems.iter().map(|file_system| file_system.name()).zip(reasons).collect();
    each.iter().for_each(|(name, reason)| eprintln!("{name}: skipped: {reason}"));
    if as_json {
        let each: Vec<Value> = each
            .iter()
            .map(|(name, reason)| json!({"file_system": name, "skipped": reason}))
            .collect();
        println!("{}", json!({"ok": true, "skipped": true, "file_systems": each}));
    } else {
        println!("skipped");
    }
    ExitCode::SUCCESS
}

fn people(file_system: FileSystem, tried: &Tried) -> String {
    let name = file_system.name();
    match tried {
        Tried::Skipped(reason) => format!("{name}: skipped: {reason}"),
        Tried::Done { counted, control, breaches } => format!(
            "{name}: {} cuts ({} with puts alone, {} with a bulk put, {} with compaction), {} puts acknowledged before a cut, {} kept \
             without an acknowledgement, {} torn tails\n{name}: {}\n{name} control: {} of {} cuts without sync lost data, {} of {} \
             acknowledged puts; {} of {} puts synced before are there{}",
            counted.cuts(),
            counted.puts_alone,
            counted.with_bulk,
            counted.with_compaction,
            counted.acknowledged,
            counted.adopted,
            counted.torn_tails,
            breaches.lines(),
            control.lossy_cuts,
            control.cuts,
            control.lost,
            control.acknowledged,
            control.synced_kept,
            control.synced,
            if control.is_convincing() { "" } else { ": THE CUTS ARE NOT REAL" },
        ),
    }
}

fn report(file_system: FileSystem, tried: &Tried) -> Value {
    match tried {
        Tried::Skipped(reason) => json!({"file_system": file_system.name(), "skipped": reason}),
        Tried::Done { counted, control, breaches } => json!({
            "file_system": file_system.name(),
            "cuts": counted.cuts(),
            "cuts_with_puts_alone": counted.puts_alone,
            "cuts_with_bulk": counted.with_bulk,
            "cuts_with_compaction": counted.with_compaction,
            "acknowledged": counted.acknowledged,
            "kept_unacknowledged": counted.adopted,
            "torn_tails": counted.torn_tails,
            "breaches": breaches.json(),
            "control": {
                "cuts": control.cuts,
                "lossy_cuts": control.lossy_cuts,
                "acknowledged": control.acknowledged,
                "lost": control.lost,
                "synced": control.synced,
                "synced_kept": control.synced_kept,
            },
        }),
    }
}
