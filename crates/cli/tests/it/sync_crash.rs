//! `kapsa sync` killed at any moment: the run after it ends where one that was never stopped does.
//! KAPSA_SYNC_KILLS raises the number of rounds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::support::Sandbox;
use crate::traces::write_session;

/// Sessions of a folder.
const SESSIONS: usize = 30;
/// Sessions that are run one by one with the memory as files.
const RUNS: usize = 8;
/// Folders that are synced, each with several kills.
const ROUNDS: usize = 4;
/// Kills of one folder.
const KILLS: usize = 4;
/// Most changes of the disk after which a run is killed.
const CHANGES_MAX: u64 = 48;
/// The same of a run over one session, which changes less.
const RUN_CHANGES_MAX: u64 = 16;
/// How often the disk is looked at.
const LOOK_EVERY: Duration = Duration::from_micros(100);
/// Folders that any write changes.
const DISK: [&str; 3] = [".kapsa", "memory", ".acreta"];
/// Folders of notes.
const NOTES: [&str; 2] = ["memory/decisions", "memory/learnings"];

/// What a rule is about, one for every five sessions.
const MODULES: [&str; SESSIONS / 5] = ["billing", "login", "search", "export", "mail", "invoice"];

/// Sessions that bring rules, say them again, change them, and bring nothing.
fn write_sessions(sandbox: &Sandbox, count: usize) {
    for at in 0..count {
        let rule = match at % 5 {
            0 => format!("Never edit the files in folder{at}/ by hand."),
            1 => format!("Never change the {} module without a test.", MODULES[at / 5]),
            2 => "Never push to the main branch directly.".to_string(),
            3 => format!("We use port {} for the staging server from now on.", 5000 + at),
            _ => "Show me the file".to_string(),
        };
        let said = ["Look at the code", "assistant: I did.", &rule, "assistant: Understood."];
        write_session(sandbox, &trace(at), &id(at), &said);
    }
}

fn id(at: usize) -> String {
    format!("5e55{at:04}")
}

fn trace(at: usize) -> String {
    format!("traces/{}.jsonl", id(at))
}

/// What somebody can see of the memory, without the times of the runs and the folder's own path.
fn memory(sandbox: &Sandbox) -> String {
    sandbox.ok(&["verify"]);
    let mut facts = sandbox.json(&["fact", "list", "--all"]);
    for fact in facts["facts"].as_array_mut().expect("a list") {
        fact.as_object_mut().expect("an object").remove("updated_at");
    }
    let mut status = sandbox.json(&["status"]);
    status.as_object_mut().expect("an object").remove("synced_at");
    let shown = sandbox.json(&["trace", "show", &id(0)]);
    let turns = &shown["original"]["turns"];
    let text = format!("{facts:#}\n{status:#}\n{turns:#}");
    let folder = sandbox.path("").canonicalize().expect("a folder");
    let shown = [folder.as_path(), Path::new(sandbox.path("").as_path())]
        .map(|path| path.display().to_string().trim_end_matches('/').to_string());
    shown.iter().fold(text, |text, path| text.replace(path, ""))
}

/// Files below some folders with their sizes, without those that are being written.
fn disk(sandbox: &Sandbox, folders: &[&str]) -> Vec<(PathBuf, u64)> {
    let mut folders: Vec<PathBuf> = folders.iter().map(|name| sandbox.path(name)).collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for entry in entries.flatten() {
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => folders.push(entry.path()),
                Ok(meta) if !entry.file_name().to_string_lossy().starts_with('.') => {
                    found.push((entry.path(), meta.len()));
                }
                // It has another name by now, or will have.
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// Starts a call and kills it after some folders changed so many times; whether it was still
/// running.
fn killed(sandbox: &Sandbox, args: &[&str], folders: &[&str], changes: u64) -> bool {
    let mut command: Command = sandbox.command();
    command.args(args).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let (mut seen, mut left) = (disk(sandbox, folders), changes);
    loop {
        if let Some(status) = child.try_wait().expect("it can be asked") {
            assert!(status.success(), "{args:?} ended by itself with {status}");
            return false;
        }
        let now = disk(sandbox, folders);
        if now != seen {
            seen = now;
            left = left.saturating_sub(1);
        }
        if left == 0 {
            child.kill().expect("it can be killed");
            return !child.wait().expect("it ends").success();
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Numbers that look drawn by chance and are the same in every run.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, most: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

fn rounds() -> usize {
    let asked = std::env::var("KAPSA_SYNC_KILLS").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(ROUNDS)
}

#[test]
fn a_sync_that_was_killed_anywhere_is_made_good_by_the_next_one() {
    let whole = Sandbox::new();
    write_sessions(&whole, SESSIONS);
    whole.ok(&["sync", "traces"]);
    let want = memory(&whole);
    let (mut drawn, mut hits) = (Drawn(1), 0);
    for round in 0..rounds() {
        let sandbox = Sandbox::new();
        write_sessions(&sandbox, SESSIONS);
        for _ in 0..KILLS {
            let changes = 1 + drawn.below(CHANGES_MAX / KILLS as u64);
            hits += usize::from(killed(&sandbox, &["sync", "traces"], &DISK, changes));
        }
        sandbox.ok(&["sync", "traces"]);
        assert_eq!(memory(&sandbox), want, "round {round}");
        let bytes = std::fs::read(sandbox.capsule()).expect("a capsule");
        sandbox.ok(&["sync", "traces"]);
        let again = std::fs::read(sandbox.capsule()).expect("a capsule");
        assert!(again == bytes, "round {round}: there was nothing left to do");
    }
    assert!(hits >= 2, "{hits} kills hit a sync at work");
}

/// Notes by their names, without what names the run that wrote them.
fn notes(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for folder in ["decisions", "learnings", "archived/decisions", "archived/learnings"] {
        let Ok(entries) = std::fs::read_dir(sandbox.path("memory").join(folder)) else { continue };
        for entry in entries {
            let entry = entry.expect("an entry");
            let name = entry.file_name().into_string().expect("a name");
            // A killed writer leaves its temporary file behind, which is no note.
            if name.starts_with('.') {
                continue;
            }
            let text = std::fs::read_to_string(entry.path()).expect("a note");
            let of_run = |line: &&str| line.starts_with("source:") || line.starts_with("updated:");
            let kept: Vec<&str> = text.lines().filter(|line| !of_run(line)).collect();
            all.insert(format!("{folder}/{name}"), kept.join("\n"));
        }
    }
    all
}

fn summaries(sandbox: &Sandbox) -> usize {
    let entries = std::fs::read_dir(sandbox.path("memory/summaries")).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    names.filter(|name| name.to_string_lossy().ends_with(".md")).count()
}

#[test]
fn a_run_that_was_killed_anywhere_leaves_the_same_files_after_the_next_one() {
    let whole = Sandbox::new();
    write_sessions(&whole, RUNS);
    for at in 0..RUNS {
        whole.ok(&["sync", "--memory-root", "memory", &trace(at)]);
    }
    let (want, files) = (memory(&whole), notes(&whole));
    assert!(files.len() > 2, "{files:?}");
    let (mut drawn, mut hits) = (Drawn(2), 0);
    for round in 0..rounds().div_ceil(2) {
        let sandbox = Sandbox::new();
        write_sessions(&sandbox, RUNS);
        let mut runs = 0;
        for at in 0..RUNS {
            let trace = trace(at);
            let call = ["sync", "--memory-root", "memory", &trace];
            // A note that is there and not known to the capsule yet is worth a kill of its own.
            hits += usize::from(killed(&sandbox, &call, &NOTES, 1));
            let changes = 1 + drawn.below(RUN_CHANGES_MAX);
            hits += usize::from(killed(&sandbox, &call, &DISK, changes));
            let run: Value = sandbox.json(&call);
            assert_eq!(run["run_mode"], "sync");
            runs += 1;
        }
        assert_eq!(notes(&sandbox), files, "round {round}");
        assert_eq!(memory(&sandbox), want, "round {round}");
        assert!(summaries(&sandbox) >= runs, "each run that ended left its summary");
    }
    // How many do is for the machine to say; without any, nothing was tried.
    assert!(hits >= 2, "{hits} kills hit a run at work");
}
