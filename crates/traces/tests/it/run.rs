//! A run over one trace, and the folder that shows the memory.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

use kapsa_ingest::Session;
use kapsa_traces::{Error, Extractor, RunOptions, RunReport, SyncOptions, run};
use serde_json::Value;

use crate::support::{NOW, Place, options};

fn try_run(place: &Place, trace: &Path, mode: &str) -> kapsa_traces::Result<RunReport> {
    let options = RunOptions::new(options(), place.folder.path(), 0x00ab_cdef);
    run(&place.location(), trace, Some(&root(place)), None, mode, &options)
}

fn root(place: &Place) -> PathBuf {
    place.folder.path().join("memory")
}

fn runs(place: &Place) -> Vec<PathBuf> {
    let folder = place.folder.path().join(".acreta/workspace");
    let entries = fs::read_dir(folder).map(|all| all.map(|one| one.expect("an entry").path()));
    entries.map_or_else(|_| Vec::new(), Iterator::collect)
}

fn json_of(path: &Path) -> Value {
    let text = fs::read_to_string(path).expect("it is there");
    serde_json::from_str(&text).expect("JSON")
}

fn notes(place: &Place, folder: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(root(place).join(folder)) else { return Vec::new() };
    let mut all: Vec<PathBuf> = entries.map(|one| one.expect("an entry").path()).collect();
    all.sort();
    all
}

const RULE: &str = "constraint: Never edit files below generated";

#[test]
fn a_run_leaves_its_files_and_a_note_for_each_memory() {
    let place = Place::new();
    let trace = place.session("a", 1, &[RULE, "decision: Use Postgres | Why: joins."]);
    let report = try_run(&place, &trace, "sync").expect("it runs");
    assert_eq!(report.run_id, format!("sync-{}-abcdef", "20260921-141320"), "{NOW}");
    let extract = json_of(&report.artifacts["extract"]);
    assert_eq!(extract.as_array().map(Vec::len), Some(2));
    assert_eq!(
        (&extract[1]["primitive"], &extract[1]["title"]),
        (&"decision".into(), &"Use Postgres".into())
    );
    let summary = json_of(&report.artifacts["summary"]);
    assert_eq!(summary["summary_path"], report.summary_path.to_string_lossy().as_ref());
    let actions = json_of(&report.artifacts["memory_actions"]);
    assert_eq!((&actions["counts"]["add"], &actions["counts"]["no_op"]), (&2.into(), &0.into()));
    assert_eq!(report.written_memory_paths.len(), 2);
    assert_eq!((notes(&place, "decisions").len(), notes(&place, "learnings").len()), (1, 1));
    assert_eq!(notes(&place, "summaries").len(), 1);
    let log = fs::read_to_string(&report.artifacts["agent"]).expect("a log");
    for state in ["pending", "in_progress", "completed"] {
        assert_eq!(log.matches(&format!("\"to\":\"{state}\"")).count(), 7, "{state}: {log}");
    }
    let found = fs::read_to_string(&report.artifacts["subagents"]).expect("a log");
    assert_eq!(found.lines().count(), 2, "{found}");
    assert!(found.contains("\"action_hint\":\"add\""), "{found}");
}

#[test]
fn what_finds_candidates_is_asked_once_for_each_session() {
    let place = Place::new();
    let trace = place.session("a", 1, &[RULE]);
    let asked = Cell::new(0);
    let sync = options();
    let extract = |session: &Session| {
        asked.set(asked.get() + 1);
        (sync.extractor.extract)(session)
    };
    let extractor = Extractor { version: 1, extract: &extract };
    let options = RunOptions::new(
        SyncOptions { extractor, ..sync.clone() },
        place.folder.path(),
        0x00ab_cdef,
    );
    let report = run(&place.location(), &trace, Some(&root(&place)), None, "sync", &options);
    assert_eq!((report.expect("it runs").counts["add"], asked.get()), (1, 1));
}

#[test]
fn the_same_run_again_adds_a_summary_and_nothing_else() {
    let place = Place::new();
    let trace = place.session("a", 1, &[RULE]);
    try_run(&place, &trace, "sync").expect("it runs");
    let before = fs::read(&notes(&place, "learnings")[0]).expect("a note");
    let again = try_run(&place, &trace, "sync").expect("it runs");
    assert_eq!((again.counts["no_op"], again.counts["add"]), (1, 0));
    assert_eq!(again.written_memory_paths, [] as [PathBuf; 0]);
    assert_eq!(fs::read(&notes(&place, "learnings")[0]).expect("a note"), before);
    assert_eq!((notes(&place, "learnings").len(), notes(&place, "summaries").len()), (1, 2));
}

#[test]
fn an_update_changes_the_note_in_its_place() {
    let place = Place::new();
    let first = place.session("a", 1, &[RULE]);
    try_run(&place, &first, "cold").expect("it runs");
    let note = notes(&place, "learnings").remove(0);
    let before = fs::read_to_string(&note).expect("a note");
    let second =
        place.session("b", 2, &["constraint: Never edit files below the generated folder"]);
    let report = try_run(&place, &second, "hot").expect("it runs");
    assert_eq!(report.counts["update"], 1);
    assert_eq!(report.written_memory_paths, std::slice::from_ref(&note));
    let after = fs::read_to_string(&note).expect("a note");
    assert!(after.contains("generated folder"), "{after}");
    let created =
        |text: &str| text.lines().find(|line| line.starts_with("created")).map(String::from);
    assert_eq!(created(&before), created(&after));
    assert_eq!(notes(&place, "learnings"), [note]);
}

#[test]
fn what_a_person_edited_counts_and_is_not_overwritten() {
    let place = Place::new();
    let trace = place.session("a", 1, &[RULE]);
    try_run(&place, &trace, "sync").expect("it runs");
    let note = notes(&place, "learnings").remove(0);
    let text = fs::read_to_string(&note).expect("a note");
    let edited = text.replace("Never edit files below generated", "Generated files are read-only");
    fs::write(&note, &edited).expect("written");
    let report = try_run(&place, &trace, "sync").expect("it runs");
    assert_eq!(fs::read_to_string(&note).expect("a note"), edited);
    assert!(place.live()[0].starts_with("Generated files are read-only"), "{:?}", place.live());
    assert_eq!(report.counts["add"], 0, "{:#?}", report.report.kept);
    fs::write(
        root(&place).join("decisions/20260601-mine.md"),
        "---\nid: mine\ntitle: We ship on Tuesdays\ntags: []\n---\nWe ship on Tuesdays.\n",
    )
    .expect("written");
    try_run(&place, &trace, "sync").expect("it runs");
    assert!(place.live().contains(&"We ship on Tuesdays".to_string()), "{:?}", place.live());
    fs::remove_file(&note).expect("removed");
    try_run(&place, &trace, "sync").expect("it runs");
    assert!(!note.exists(), "what a person removed is not written again");
}

#[test]
fn a_note_shows_how_sure_its_memory_is_and_takes_what_a_person_says_of_that() {
    let place = Place::new();
    let first = place.session("a", 1, &[RULE]);
    try_run(&place, &first, "sync").expect("it runs");
    let note = notes(&place, "learnings").remove(0);
    let second = place.session("b", 2, &[RULE]);
    let report = try_run(&place, &second, "sync").expect("it runs");
    assert_eq!(report.counts["no_op"], 1, "another session confirms it");
    let text = fs::read_to_string(&note).expect("a note");
    assert!(text.contains("confidence: 0.8\n"), "{text}");
    fs::write(&note, text.replace("confidence: 0.8", "confidence: 0.3")).expect("written");
    try_run(&place, &second, "sync").expect("it runs");
    assert!((place.facts()[0].confidence - 0.3).abs() < 1e-9, "{:?}", place.facts());
    let edited = fs::read_to_string(&note).expect("a note").replace("Never edit", "Do not edit");
    fs::write(&note, edited).expect("written");
    try_run(&place, &second, "sync").expect("it runs");
    assert!((place.facts()[0].confidence - 0.3).abs() < 1e-9, "{:?}", place.facts());
}

#[test]
fn what_both_sides_changed_is_shown_and_left() {
    let place = Place::new();
    let first = place.session("a", 1, &[RULE]);
    try_run(&place, &first, "sync").expect("it runs");
    let note = notes(&place, "learnings").remove(0);
    let second =
        place.session("b", 2, &["constraint: Never edit files below the generated folder"]);
    place.sync();
    let edited = fs::read_to_string(&note).expect("a note").replace("Never", "Do not ever");
    fs::write(&note, &edited).expect("written");
    let report = try_run(&place, &second, "sync").expect("it runs");
    assert_eq!(report.viewed.conflicts, std::slice::from_ref(&note));
    assert_eq!(fs::read_to_string(&note).expect("a note"), edited);
    let beside = note.with_extension("conflict.md");
    assert!(fs::read_to_string(&beside).expect("a version").contains("generated folder"));
    fs::remove_file(&beside).expect("somebody decided");
    try_run(&place, &second, "sync").expect("it runs");
    assert!(place.live()[0].starts_with("Do not ever"), "{:?}", place.live());
}

#[test]
fn what_is_no_trace_makes_no_folder() {
    let place = Place::new();
    let missing = place.traces().join("none.jsonl");
    let error = try_run(&place, &missing, "sync").expect_err("it is missing");
    assert_eq!(error.to_string(), format!("trace_path_missing:{}", missing.display()));
    let trace = place.session("a", 1, &[RULE]);
    let error = try_run(&place, &trace, "warm").expect_err("no mode");
    assert_eq!(error.to_string(), "invalid_run_mode:warm");
    assert_eq!(runs(&place), [] as [PathBuf; 0]);
    fs::write(&trace, "").expect("written");
    assert!(matches!(try_run(&place, &trace, "sync"), Err(Error::EmptyTrace)));
}

#[test]
fn a_trace_without_candidates_starts_no_search() {
    let place = Place::new();
    let trace = place.session("a", 1, &["hello", "assistant: hi"]);
    let report = try_run(&place, &trace, "sync").expect("it runs");
    assert_eq!(fs::read(&report.artifacts["subagents"]).expect("a log"), b"");
    assert_eq!(json_of(&report.artifacts["extract"]), serde_json::json!([]));
    assert_eq!(notes(&place, "summaries").len(), 1);
}
