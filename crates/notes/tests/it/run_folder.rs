//! Run folders: their names, their files, the steps in them, what of them is kept and what a
//! finished run must hold.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use kapsa_notes::{
    ActionKind, Artifact, ContractError, Error, Log, Report, ReportAction, RunFolder, RunMode,
    Stamp, Step, StepState, Todos, check_inputs, check_run, retain_runs,
};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

const CREATED: i64 = 1_796_033_700_000_000;
const SECOND: i64 = 1_000_000;

fn stamp() -> Stamp {
    Stamp::from_micros(CREATED).expect("a date")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// A workspace, a memory and a trace.
struct World {
    temporary: TempDir,
}

impl World {
    fn new() -> World {
        let world = World { temporary: tempfile::tempdir().expect("a folder") };
        fs::create_dir_all(world.memory().join("summaries")).expect("made");
        fs::create_dir_all(world.memory().join("decisions")).expect("made");
        fs::write(world.trace(), "{}\n").expect("written");
        world
    }

    fn workspace(&self) -> PathBuf {
        self.temporary.path().join("workspace")
    }

    fn memory(&self) -> PathBuf {
        self.temporary.path().join("memory")
    }

    fn trace(&self) -> PathBuf {
        self.temporary.path().join("trace.jsonl")
    }

    fn run(&self, mode: RunMode) -> RunFolder {
        RunFolder::create(&self.workspace(), mode, &stamp(), 0xabcdef).expect("a run")
    }

    /// A run with everything that it must leave behind.
    fn finished(&self) -> RunFolder {
        let run = self.run(RunMode::Sync);
        let note = self.memory().join("decisions/a.md");
        let summary = self.memory().join("summaries/a.md");
        fs::write(&note, "a note").expect("written");
        fs::write(&summary, "a summary").expect("written");
        run.write(Artifact::Extract, &json!([{"title": "a"}, {"title": "b"}])).expect("written");
        run.write(Artifact::Summary, &json!({"summary_path": summary})).expect("written");
        let mut todos = Todos::begin(&run, &stamp()).expect("begun");
        for step in Step::ALL {
            todos.start(step, &stamp()).expect("started");
            if step != Step::Report {
                todos.complete(step, &stamp()).expect("completed");
            }
        }
        todos.finish(&self.report(&run, note), &stamp()).expect("finished");
        run
    }

    fn report(&self, run: &RunFolder, written: PathBuf) -> Report {
        let action = |action, title: &str| {
            let details = Map::from_iter([("title".to_owned(), Value::from(title))]);
            ReportAction { action, details }
        };
        Report {
            run_id: run.id().to_owned(),
            actions: vec![action(ActionKind::Add, "a"), action(ActionKind::NoOp, "b")],
            written_memory_paths: vec![written],
            trace_path: self.trace(),
        }
    }
}

#[test]
fn a_run_folder_is_flat_and_named_by_mode_time_and_chance() {
    let world = World::new();
    let run = world.run(RunMode::Hot);
    assert_eq!(run.id(), "hot-20261130-101500-abcdef");
    assert_eq!((run.short_id(), run.mode()), ("abcdef", RunMode::Hot));
    assert_eq!(names(run.path()), ["agent.log", "subagents.log"]);
    assert_eq!(RunFolder::open(run.path()), Some(run.clone()));
    let second = world.run(RunMode::Hot);
    assert_eq!(second.id(), "hot-20261130-101500-abcdf0");
}

#[test]
fn a_missing_trace_or_an_odd_mode_is_named_and_makes_no_folder() {
    let world = World::new();
    let missing = world.temporary.path().join("missing.jsonl");
    let error = check_inputs(&missing, "sync").expect_err("missing");
    assert_eq!(error.to_string(), format!("trace_path_missing:{}", missing.display()));
    let folder = world.memory();
    let error = check_inputs(&folder, "sync").expect_err("a folder");
    assert_eq!(error.to_string(), format!("trace_path_missing:{}", folder.display()));
    for odd in ["warm", "", "Sync", "sync ", "maintain-x"] {
        let error = check_inputs(&world.trace(), odd).expect_err("no mode");
        assert_eq!(error.to_string(), format!("invalid_run_mode:{odd}"));
    }
    assert_eq!(check_inputs(&world.trace(), "cold"), Ok(RunMode::Cold));
    assert!(!world.workspace().exists());
}

#[test]
fn artefacts_are_replaced_whole_and_logs_grow() {
    let world = World::new();
    let run = world.run(RunMode::Sync);
    for value in [json!([1]), json!([])] {
        run.write(Artifact::Extract, &value).expect("written");
        assert_eq!(run.read(Artifact::Extract), Ok(value));
    }
    run.append(Log::Session, &json!({"path": "a\nb"})).expect("written");
    run.append(Log::Session, &json!({"path": "c"})).expect("written");
    let text = fs::read_to_string(run.log_path(Log::Session)).expect("a log");
    assert_eq!(text, "{\"path\":\"a\\nb\"}\n{\"path\":\"c\"}\n");
    assert_eq!(names(run.path()), ["agent.log", "extract.json", "session.log", "subagents.log"]);
}

#[test]
fn links_in_a_run_folder_are_not_followed() {
    let world = World::new();
    let run = world.run(RunMode::Sync);
    let elsewhere = world.temporary.path().join("elsewhere");
    fs::write(&elsewhere, "{}").expect("written");
    symlink(&elsewhere, run.path_of(Artifact::Extract)).expect("a link");
    symlink(&elsewhere, run.log_path(Log::Session)).expect("a link");
    let invalid = ContractError::InvalidJsonArtifact(run.path_of(Artifact::Extract));
    assert_eq!(run.read(Artifact::Extract), Err(invalid));
    assert!(run.append(Log::Session, &json!(1)).is_err());
    run.write(Artifact::Extract, &json!([])).expect("written");
    assert_eq!(fs::read_to_string(&elsewhere).expect("a file"), "{}");
    let link = world.workspace().join("sync-20261130-101501-000000");
    symlink(run.path(), &link).expect("a link");
    assert_eq!(RunFolder::open(&link), None);
}

#[test]
fn each_step_is_seen_pending_in_progress_and_completed_in_order() {
    let world = World::new();
    let run = world.finished();
    let lines = run.read_log(Log::Agent).expect("a log");
    for step in Step::ALL {
        let states: Vec<&str> = lines
            .iter()
            .filter(|line| line["event"] == "todo" && line["step"] == step.name())
            .filter_map(|line| line["to"].as_str())
            .collect();
        assert_eq!(states, ["pending", "in_progress", "completed"], "{}", step.name());
    }
    let begun: Vec<&str> = lines
        .iter()
        .filter(|line| line["to"] == "in_progress")
        .filter_map(|line| line["step"].as_str())
        .collect();
    assert_eq!(
        begun,
        ["validate_inputs", "extract", "summarise", "explore", "decide", "write", "report"]
    );
}

#[test]
fn a_step_out_of_order_is_refused() {
    let world = World::new();
    let run = world.run(RunMode::Sync);
    let mut todos = Todos::begin(&run, &stamp()).expect("begun");
    let at = &stamp();
    let refused = |todos: &mut Todos, step, is_start| {
        let changed = if is_start { todos.start(step, at) } else { todos.complete(step, at) };
        assert!(matches!(changed, Err(Error::OutOfOrder { .. })), "{step:?}");
    };
    refused(&mut todos, Step::Extract, true);
    refused(&mut todos, Step::ValidateInputs, false);
    todos.start(Step::ValidateInputs, at).expect("started");
    refused(&mut todos, Step::ValidateInputs, true);
    refused(&mut todos, Step::Extract, true);
    todos.complete(Step::ValidateInputs, at).expect("completed");
    refused(&mut todos, Step::ValidateInputs, true);
    refused(&mut todos, Step::ValidateInputs, false);
    let report = world.report(&run, world.memory().join("a.md"));
    assert!(matches!(todos.finish(&report, at), Err(Error::OutOfOrder { .. })));
    assert!(!run.path_of(Artifact::MemoryActions).exists());
    assert_eq!(todos.state(Step::Extract), StepState::Pending);
}

#[test]
fn a_finished_run_has_a_report_of_the_agreed_keys() {
    let world = World::new();
    let run = world.finished();
    let report = run.read(Artifact::MemoryActions).expect("a report");
    let keys: Vec<&String> = report.as_object().expect("an object").keys().collect();
    assert_eq!(
        keys,
        ["actions", "counts", "run_id", "todos", "trace_path", "written_memory_paths"]
    );
    assert_eq!(report["counts"], json!({"add": 1, "update": 0, "no_op": 1}));
    assert_eq!(report["actions"][1], json!({"action": "no_op", "title": "b"}));
    assert_eq!(report["todos"][6], json!({"content": "report", "status": "completed"}));
    let checked = check_run(&run, &world.memory()).expect("checked");
    assert_eq!(checked.candidate_count, 2);
    assert_eq!(checked.summary_path, world.memory().join("summaries/a.md"));
    assert_eq!(checked.report, world.report(&run, world.memory().join("decisions/a.md")));
}

#[test]
fn a_report_names_absolute_paths_only() {
    let world = World::new();
    let run = world.run(RunMode::Sync);
    let mut todos = Todos::begin(&run, &stamp()).expect("begun");
    for step in Step::ALL {
        todos.start(step, &stamp()).expect("started");
        if step != Step::Report {
            todos.complete(step, &stamp()).expect("completed");
        }
    }
    let report = world.report(&run, PathBuf::from("decisions/a.md"));
    assert!(matches!(todos.finish(&report, &stamp()), Err(Error::OddPath { .. })));
    assert_eq!(todos.state(Step::Report), StepState::InProgress);
}

/// Breaks a finished run and says what is found.
fn broken(change: impl Fn(&World, &RunFolder)) -> String {
    let world = World::new();
    let run = world.finished();
    change(&world, &run);
    let error = check_run(&run, &world.memory()).expect_err("a broken run").to_string();
    error.replace(&*world.temporary.path().to_string_lossy(), "T").replace(run.id(), "RUN")
}

fn with_report(run: &RunFolder, change: impl Fn(&mut Value)) {
    let mut report = run.read(Artifact::MemoryActions).expect("a report");
    change(&mut report);
    run.write(Artifact::MemoryActions, &report).expect("written");
}

#[test]
fn what_a_run_did_not_leave_behind_is_named() {
    for file in
        ["extract.json", "summary.json", "memory_actions.json", "agent.log", "subagents.log"]
    {
        let found = broken(|_, run| fs::remove_file(run.path().join(file)).expect("removed"));
        assert_eq!(found, format!("missing_artifact:T/workspace/RUN/{file}"));
        let found = broken(|_, run| fs::write(run.path().join(file), "{").expect("written"));
        assert_eq!(found, format!("invalid_json_artifact:T/workspace/RUN/{file}"));
    }
    let found = broken(|_, run| run.write(Artifact::Extract, &json!({})).expect("written"));
    assert_eq!(found, "invalid_json_artifact:T/workspace/RUN/extract.json");
}

#[test]
fn a_summary_elsewhere_or_nowhere_is_named() {
    for odd in [json!({}), json!([]), json!({"summary_path": 1}), json!({"summary_path": ""})] {
        let found = broken(|_, run| run.write(Artifact::Summary, &odd).expect("written"));
        assert_eq!(found, "missing_summary_path_in_pipeline_output");
    }
    let named = |world: &World, run: &RunFolder, path: &str| {
        let path = world.memory().join(path);
        run.write(Artifact::Summary, &json!({"summary_path": path})).expect("written");
    };
    let found = broken(|world, run| named(world, run, "../trace.jsonl"));
    assert_eq!(found, "summary_path_outside_memory_root:T/memory/../trace.jsonl");
    let found = broken(|_, run| {
        run.write(Artifact::Summary, &json!({"summary_path": "summaries/a.md"})).expect("written");
    });
    assert_eq!(found, "summary_path_outside_memory_root:summaries/a.md");
    let found = broken(|world, run| {
        symlink(world.trace(), world.memory().join("summaries/b.md")).expect("a link");
        named(world, run, "summaries/b.md");
    });
    assert_eq!(found, "summary_path_outside_memory_root:T/memory/summaries/b.md");
    let found = broken(|world, run| named(world, run, "summaries/c.md"));
    assert_eq!(found, "summary_path_not_found:T/memory/summaries/c.md");
    let found = broken(|world, run| named(world, run, "summaries"));
    assert_eq!(found, "summary_path_not_found:T/memory/summaries");
}

#[test]
fn a_report_without_its_shape_is_named() {
    let changes: [fn(&mut Value); 10] = [
        |report| *report = json!([]),
        |report| report["run_id"] = json!("another"),
        |report| report["todos"][3]["status"] = json!("in_progress"),
        |report| drop(report["todos"].as_array_mut().expect("a list").pop()),
        |report| report["actions"][0]["action"] = json!("remove"),
        |report| report["counts"]["add"] = json!(2),
        |report| report["counts"]["add"] = json!("1"),
        |report| report["written_memory_paths"][0] = json!("decisions/a.md"),
        |report| report["trace_path"] = json!(null),
        |report| drop(report.as_object_mut().expect("an object").remove("actions")),
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let found = broken(|_, run| with_report(run, change));
        assert_eq!(found, "invalid_report_shape:T/workspace/RUN/memory_actions.json", "{at}");
    }
}

#[test]
fn a_report_of_files_elsewhere_is_named() {
    let found = broken(|world, run| {
        let path = world.memory().join("../trace.jsonl");
        with_report(run, |report| report["written_memory_paths"][0] = json!(path));
    });
    assert_eq!(found, "report_path_outside_allowed_roots:T/memory/../trace.jsonl");
}

#[test]
fn a_hyphen_in_no_op_is_accepted() {
    let world = World::new();
    let run = world.finished();
    with_report(&run, |report| report["actions"][1]["action"] = json!("no-op"));
    let checked = check_run(&run, &world.memory()).expect("checked");
    assert_eq!(checked.report.count(ActionKind::NoOp), 1);
}

#[test]
fn only_the_newest_runs_of_a_mode_are_kept() {
    let world = World::new();
    let workspace = world.workspace();
    for (at, mode) in [RunMode::Sync, RunMode::Sync, RunMode::Hot, RunMode::Sync].iter().enumerate()
    {
        let at = Stamp::from_micros(CREATED + i64::try_from(at).expect("few") * SECOND);
        RunFolder::create(&workspace, *mode, &at.expect("a date"), 7).expect("a run");
    }
    let others = [
        "sync-20200101-000000-abcde",
        "sync-20200101-000000-ABCDEF",
        "sync-2020010a-000000-abcdef",
        "sync-20200101-000000-abcdef-x",
        "xsync-20200101-000000-abcdef",
        "notes",
    ];
    for other in others {
        fs::create_dir(workspace.join(other)).expect("made");
    }
    fs::write(workspace.join("sync-20200101-000000-abcdee"), "a file").expect("written");
    symlink(world.memory(), workspace.join("sync-20200101-000000-abcdef")).expect("a link");
    // Old, and holds what no run writes.
    let odd = workspace.join("sync-20200101-000001-abcdef");
    fs::create_dir(&odd).expect("made");
    fs::write(odd.join("agent.log"), "").expect("written");
    fs::write(odd.join("mine.txt"), "kept").expect("written");
    let deep = workspace.join("sync-20200101-000002-abcdef");
    fs::create_dir_all(deep.join("extract.json")).expect("made");

    let retained = retain_runs(&workspace, RunMode::Sync, 2).expect("retained");
    assert_eq!(retained.removed, [workspace.join("sync-20261130-101500-000007")]);
    assert_eq!(retained.left, [deep.clone(), odd.clone()]);
    assert!(workspace.join("sync-20261130-101501-000007").exists());
    assert!(workspace.join("hot-20261130-101502-000007").exists());
    assert_eq!(names(&odd), ["agent.log", "mine.txt"]);
    assert!(others.iter().all(|other| workspace.join(other).exists()));
    assert!(world.memory().join("decisions").exists());
    let none = retain_runs(&workspace.join("missing"), RunMode::Hot, 0).expect("retained");
    assert_eq!((none.removed.len(), none.left.len()), (0, 0));
}
