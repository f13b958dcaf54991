//! `kapsa run`: real processes, in both layouts.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::Sandbox;

const LAYOUTS: [&str; 2] = ["branches", "files"];

/// One sandbox for each layout; every call in it uses that layout.
fn both(test: impl Fn(&Sandbox, &str)) {
    for layout in LAYOUTS {
        let sandbox = Sandbox::empty();
        sandbox.write("kapsa.toml", format!("[run]\nlayout = '{layout}'\n"));
        test(&sandbox, layout);
    }
}

fn started(sandbox: &Sandbox) {
    sandbox.json(&["run", "start", "--run", "17", "--title", "The service"]);
    sandbox.json(&["run", "task", "start", "task-1", "--title", "Choose the port"]);
    sandbox.json(&[
        "run",
        "record",
        "--task",
        "task-1",
        "--role",
        "builder",
        "--text",
        "Decided: port 5433.",
    ]);
    sandbox.json(&["run", "task", "start", "task-2", "--title", "Write the client for the port"]);
}

#[test]
fn a_team_works_in_either_layout_with_the_same_answers() {
    both(|sandbox, layout| {
        let run = sandbox.json_with(
            &["run", "start", "--title", "The service", "--plan", "-"],
            b"Choose the port, then write the client.",
        );
        assert_eq!(
            (&run["ok"], &run["existed"], &run["layout"]),
            (&json!(true), &json!(false), &json!(layout))
        );
        let id = run["run"].as_str().expect("an id");
        assert_eq!(
            sandbox.json(&["run", "task", "start", "task-1", "--title", "Choose the port"])["task"],
            "task-1"
        );
        let put = sandbox.json_with(
            &["run", "record", "--task", "task-1", "--role", "Builder", "--confidence", "0.9"],
            b"Decided: port 5433.",
        );
        assert_eq!(
            (&put["ok"], &put["role"], &put["run"]),
            (&json!(true), &json!("builder"), &json!(id))
        );
        sandbox.ok(&[
            "run",
            "task",
            "start",
            "task-2",
            "--title",
            "Write the client (for the port)",
        ]);

        let text = sandbox.ok(&["run", "context", "--task", "task-2", "--role", "builder"]);
        let want = "--- Sibling Task Context ---\n  [run plan] The service: Choose the port, then write the client.\n  \
            [task-1 builder] Choose the port: Decided: port 5433.\n--- End Sibling Task Context ---\n";
        assert_eq!(text, want);
        let markdown = sandbox.ok(&[
            "run", "context", "--task", "task-2", "--role", "reviewer", "--format", "markdown",
        ]);
        assert_eq!(
            markdown,
            "## Sibling task context\n\n- [task-1 builder] Choose the port: Decided: port 5433.\n"
        );
        let json = sandbox.json(&["run", "context", "--task", "task-2", "--role", "builder"]);
        assert_eq!(
            (&json["text"], &json["query"]),
            (&json!(want), &json!("Write the client for port"))
        );
        assert_eq!(json["tokens"].as_u64(), Some(want.len().div_ceil(4) as u64));
        let line = &json["lines"][1];
        assert_eq!(
            (&line["from"], &line["confidence"], &line["text"]),
            (&json!("task-1 builder"), &json!(0.9), &json!("Decided: port 5433."))
        );

        let status = sandbox.json(&["run", "status"]);
        assert_eq!(
            (&status["run"], &status["status"], &status["plan_count"]),
            (&json!(id), &json!("running"), &json!(1))
        );
        assert_eq!(
            (&status["tasks"][0]["output_count"], &status["tasks"][1]["output_count"]),
            (&json!(1), &json!(0))
        );
        assert_eq!(sandbox.json(&["run", "finish", "--task", "task-1"])["status"], "done");
        let finished = sandbox.json(&["run", "finish", "--merge", "curated", "--by", "ana"]);
        assert_eq!(
            (&finished["ok"], &finished["merged"][1]["uris_merged"]),
            (&json!(true), &json!(2)),
            "{finished}"
        );
        assert_eq!(finished["left_out"], json!({ "task-2": "running" }));
        assert_eq!(
            sandbox.json(&["find", "port 5433"])["hits"][0]["title"],
            "Choose the port — Builder"
        );
        let runs = sandbox.json(&["run", "list"]);
        assert_eq!(runs["runs"][0]["task_counts"], json!({ "done": 1, "running": 1 }));
        assert_eq!(sandbox.json(&["run", "archive", "--run", id])["status"], "archived");
        assert_eq!(
            sandbox.json(&["run", "status"])["status"],
            "archived",
            "the last one, since none is under way"
        );
    });
}

#[test]
fn a_prompt_has_its_layers_in_order_and_the_siblings_last() {
    both(|sandbox, _| {
        started(sandbox);
        sandbox.write("rules.md", "Money is in cents.\n");
        let context =
            ["run", "context", "--task", "task-2", "--role", "builder", "--query", "port"];
        let plain = [&context[..], &["--layer", "project-rules=rules.md"]].concat();
        assert!(
            sandbox.error(&plain).1["hint"]
                .as_str()
                .is_some_and(|hint| hint.contains("--format prompt"))
        );
        let prompt = sandbox.ok(&[&plain[..], &["--format", "prompt"]].concat());
        let headings: Vec<&str> = prompt.lines().filter(|line| line.starts_with("# ")).collect();
        assert_eq!(
            headings,
            ["# Role", "# Task", "# Project rules", "# Sibling memory"],
            "{prompt}"
        );
        assert!(
            prompt.contains("Money is in cents.") && prompt.contains("Decided: port 5433."),
            "{prompt}"
        );
        let unknown = [&context[..], &["--format", "prompt", "--layer", "rules=rules.md"]].concat();
        assert!(
            sandbox.error(&unknown).1["message"]
                .as_str()
                .is_some_and(|message| message.contains("project-rules"))
        );
    });
}

#[test]
fn nothing_to_tell_is_nothing_printed() {
    both(|sandbox, _| {
        sandbox.ok(&["run", "start", "--run", "17"]);
        assert_eq!(sandbox.ok(&["run", "context", "--task", "t", "--role", "builder"]), "");
        let json = sandbox.json(&["run", "context", "--task", "t", "--role", "builder"]);
        assert_eq!(
            (&json["ok"], &json["text"], &json["lines"]),
            (&json!(true), &Value::Null, &json!([]))
        );
        assert_eq!(sandbox.ok(&["run", "context", "--run", "unknown", "--role", "builder"]), "");
    });
}

#[test]
fn which_run_is_meant_is_never_guessed() {
    both(|sandbox, _| {
        for verb in [
            &["run", "record", "--role", "builder", "--text", "x"][..],
            &["run", "context", "--role", "builder"],
        ] {
            let args: Vec<&str> = verb.iter().copied().chain(["--strict"]).collect();
            let (code, error) = sandbox.error(&args);
            assert_eq!((code, &error["message"]), (1, &json!("no run is active")));
            let run = sandbox.run(verb);
            assert_eq!(
                (run.code, run.out.as_str()),
                (Some(0), ""),
                "the run may have failed to start, which fails nothing: {run:?}"
            );
        }
        sandbox.ok(&["run", "start", "--run", "17"]);
        sandbox.ok(&["run", "start", "--run", "18"]);
        let (code, error) =
            sandbox.error(&["run", "record", "--role", "builder", "--text", "x", "--strict"]);
        assert_eq!((code, error["code"].as_str()), (1, Some("several_runs")), "{error}");
        let mut command = sandbox.command();
        command
            .args(["run", "record", "--role", "builder", "--text", "x", "--json"])
            .env("KAPSA_RUN", "run_18");
        assert_eq!(json_of(&mut command)["run"], "18");
        let mut command = sandbox.command();
        command.args([
            "run", "record", "--run", "18", "--role", "builder", "--text", "- a list", "--json",
        ]);
        let put = json_of(command.env("KAPSA_TASK", "").env("KAPSA_ROLE", "").env("KAPSA_RUN", ""));
        assert_eq!(
            (&put["run"], &put["task"]),
            (&json!("18"), &Value::Null),
            "an empty variable is none"
        );
        sandbox.json(&["run", "finish", "--run", "17"]);
        let mut command = sandbox.command();
        command
            .args(["run", "record", "--role", "builder", "--text", "lost?"])
            .env("KAPSA_RUN", "")
            .stdin(Stdio::null());
        let told = command.output().expect("it runs");
        assert!(
            told.status.success() && told.stdout.is_empty(),
            "a run that failed to start is no other run: {told:?}"
        );
        for call in [
            &["run", "record", "--run", "18", "--role", "b", "missing.md"][..],
            &["run", "start", "--plan", "missing.md"],
        ] {
            assert_eq!(sandbox.run(call).code, Some(1), "{call:?}");
        }
        for odd in [
            ["--run", "a/b"],
            ["--run", ".."],
            ["--role", ""],
            ["--run", "a b"],
            ["--task", "../x"],
            ["--role", "a/b"],
            ["--confidence", "2"],
        ] {
            let args: Vec<&str> = ["run", "record", "--role", "builder", "--text", "x"]
                .into_iter()
                .chain(odd)
                .collect();
            assert_eq!(sandbox.error(&args).0, 1, "{odd:?}");
        }
    });
}

fn json_of(command: &mut Command) -> Value {
    let output = command.stdin(Stdio::null()).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn a_run_goes_on_when_every_store_becomes_unreadable() {
    both(|sandbox, layout| {
        started(sandbox);
        for path in capsules(sandbox) {
            std::fs::write(path, "spoilt").expect("written");
        }
        let steps: [&[&str]; 7] = [
            &["run", "start", "--run", "17", "--title", "again"],
            &["run", "task", "start", "task-3", "--run", "17"],
            &[
                "run", "record", "--run", "17", "--task", "task-1", "--role", "builder", "--text",
                "more",
            ],
            &["run", "context", "--run", "17", "--task", "task-2", "--role", "builder"],
            &["run", "finish", "--run", "17", "--task", "task-1"],
            &["run", "finish", "--run", "17", "--merge", "full"],
            &["run", "archive", "--run", "17"],
        ];
        for step in steps {
            let run = sandbox.run(step);
            let out = if step[1] == "start" { "17\n" } else { "" };
            assert_eq!((run.code, run.out.as_str()), (Some(0), out), "{layout} {step:?}");
            assert!(run.err.contains("warning: run memory: "), "{layout} {step:?} {}", run.err);
            let args: Vec<&str> = step.iter().copied().chain(["--json"]).collect();
            let told = sandbox.run(&args);
            let value: Value = serde_json::from_str(&told.out).expect("JSON");
            if value["ok"] == true {
                // Files: the stores of all siblings are passed over, each told by name.
                assert_eq!(
                    (&value["text"], step[1], layout),
                    (&Value::Null, "context", "files"),
                    "{value}"
                );
                assert!(
                    value["skipped"].as_array().is_some_and(|skipped| skipped.len() >= 2),
                    "{value}"
                );
            } else {
                assert!(
                    value["error"]["message"].is_string() && told.err.contains("\"error\""),
                    "{value} {}",
                    told.err
                );
            }
            let strict: Vec<&str> = step.iter().copied().chain(["--strict"]).collect();
            if value["ok"] == false {
                assert!(matches!(sandbox.run(&strict).code, Some(1 | 2)), "{layout} {step:?}");
            }
        }
        assert!(
            matches!(sandbox.run(&["run", "status", "--run", "17"]).code, Some(1 | 2)),
            "a question fails"
        );
    });
}

fn capsules(sandbox: &Sandbox) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![sandbox.path(".kapsa")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("read").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "kapsa") {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn what_is_off_does_nothing_at_all() {
    let sandbox = Sandbox::empty();
    let off = |args: &[&str]| {
        let output = sandbox
            .command()
            .args(args)
            .env("KAPSA_RUN_ENABLED", "false")
            .stdin(Stdio::null())
            .output()
            .expect("it runs");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    for step in [
        &["run", "start", "--run", "17"][..],
        &["run", "task", "start", "t", "--run", "17"],
        &["run", "record", "--run", "17", "--role", "builder", "--text", "x"],
        &["run", "context", "--run", "17", "--role", "builder"],
        &["run", "finish", "--run", "17"],
        &["run", "archive", "--run", "17"],
    ] {
        assert_eq!(off(step), (Some(0), String::new(), String::new()), "{step:?}");
        let args: Vec<&str> = step.iter().copied().chain(["--json"]).collect();
        assert_eq!(off(&args).1, "{\"ok\":false,\"enabled\":false}\n");
    }
    assert!(!sandbox.path(".kapsa").exists(), "not even a folder is made");
    sandbox.write("kapsa.toml", "[run]\nsearch_mode = 'misspelt'\n");
    assert_eq!(
        off(&["run", "start"]),
        (Some(0), String::new(), String::new()),
        "and no other setting matters"
    );
    sandbox.write("kapsa.toml", "[run]\nenabled = false\n");
    assert_eq!(sandbox.ok(&["run", "start", "--run", "17"]), "");
    assert!(!sandbox.path(".kapsa").exists());
}

#[test]
fn settings_come_from_the_file_the_environment_and_flags() {
    let sandbox = Sandbox::empty();
    let config = sandbox.json(&["run", "config"]);
    assert_eq!(
        (&config["enabled"], &config["sibling_max_chunks"], &config["search_mode"]),
        (&json!(true), &json!(5), &json!("auto"))
    );
    assert_eq!(
        (&config["timeout_seconds"], &config["python_path"]),
        (&json!(30.0), &json!("python3"))
    );
    sandbox.write(
        "kapsa.toml",
        "[run]\nsibling_max_chunks = 3\nlayout = 'files'\ndir = 'memory'\n[role.x]\ny = 1\n",
    );
    let config = sandbox.json(&["run", "config"]);
    assert_eq!((&config["sibling_max_chunks"], &config["layout"]), (&json!(3), &json!("files")));
    assert!(
        config["dir"].as_str().is_some_and(|dir| dir.ends_with("/memory"))
            && config["file"].is_string()
    );
    let mut command = sandbox.command();
    command
        .args(["run", "config", "--json", "--layout", "branches"])
        .env("KAPSA_RUN_SIBLING_MAX_CHUNKS", "7");
    let config = json_of(&mut command);
    assert_eq!((&config["sibling_max_chunks"], &config["layout"]), (&json!(7), &json!("branches")));
    sandbox.write("kapsa.toml", "[run]\n\nenable = true\n");
    let (code, error) = sandbox.error(&["run", "config"]);
    let message = error["message"].as_str().expect("a message");
    assert!(code == 1 && message.contains("line 3") && message.contains("enable"), "{message}");
    let run = sandbox.run(&["run", "start"]);
    assert!(
        run.code == Some(0) && run.err.contains("line 3"),
        "a step is not failed by it: {run:?}"
    );
}

#[test]
fn every_working_tree_shares_one_memory_that_git_ignores() {
    for layout in LAYOUTS {
        let sandbox = Sandbox::empty();
        let git = |folder: &str, args: &[&str]| {
            let settings = [
                "-c",
                "user.name=x",
                "-c",
                "user.email=x@localhost",
                "-c",
                "init.defaultBranch=main",
            ];
            let output = Command::new("git")
                .current_dir(sandbox.path(folder))
                .args(settings)
                .args(args)
                .output()
                .expect("git runs");
            assert!(output.status.success(), "{args:?} {output:?}");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        std::fs::create_dir(sandbox.path("repo")).expect("made");
        git("repo", &["init", "-q"]);
        git("repo", &["commit", "-q", "--allow-empty", "-m", "first"]);
        git("repo", &["worktree", "add", "-q", "../tree"]);
        std::fs::create_dir(sandbox.path("tree/src")).expect("made");
        let call = |folder: &str, args: &[&str]| {
            let mut command = sandbox.command();
            command
                .current_dir(sandbox.path(folder))
                .args(args)
                .args(["--json"])
                .env("KAPSA_RUN_LAYOUT", layout);
            json_of(&mut command)
        };
        call("tree/src", &["run", "start", "--run", "17"]);
        call(
            "tree",
            &["run", "record", "--task", "a", "--role", "builder", "--text", "the port is 5433"],
        );
        let context = call("repo", &["run", "context", "--task", "b", "--role", "builder"]);
        assert_eq!(context["lines"][0]["text"], "the port is 5433", "{layout}");
        assert!(sandbox.path("repo/.kapsa").exists() && !sandbox.path("tree/.kapsa").exists());
        assert_eq!(
            git("repo", &["status", "--porcelain"]) + &git("tree", &["status", "--porcelain"]),
            ""
        );
        if layout == "branches" {
            assert_eq!(
                call("tree", &["stats"])["record_count"],
                call("repo", &["stats"])["record_count"],
                "other verbs find it too"
            );
        }
    }
}

#[test]
fn sixteen_workers_that_record_at_once_lose_nothing() {
    const WORKERS: usize = 16;
    const EACH: usize = 5;
    both(|sandbox, layout| {
        sandbox.ok(&["run", "start", "--run", "17"]);
        let worker = |worker: usize| {
            for n in 0..EACH {
                // Two workers share a task; nobody has started any.
                let (task, text) =
                    (format!("task-{}", worker / 2), format!("worker {worker} output {n}"));
                let args = [
                    "run", "record", "--run", "17", "--task", &task, "--role", "builder", "--text",
                    &text, "--strict",
                ];
                sandbox.ok(&args);
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> =
                (0..WORKERS).map(|number| scope.spawn(move || worker(number))).collect();
            workers.into_iter().for_each(|worker| worker.join().expect("no worker fails"));
        });
        let status = sandbox.json(&["run", "status"]);
        let outputs: Vec<u64> = status["tasks"]
            .as_array()
            .expect("tasks")
            .iter()
            .filter_map(|task| task["output_count"].as_u64())
            .collect();
        assert_eq!(outputs, [2 * EACH as u64; WORKERS / 2], "{layout} {status}");
    });
}

/// Each process once made the vectors of what all others had put meanwhile: eight together took
/// nine times as long as one by one.
#[test]
fn workers_make_the_vectors_of_their_own_records_only() {
    both(|sandbox, layout| {
        sandbox.ok(&["run", "start", "--run", "17"]);
        sandbox.ok(&["run", "task", "start", "t"]);
        let first = sandbox.json(&[
            "run", "record", "--task", "t", "--role", "builder", "--text", "left", "--embed",
            "later",
        ]);
        sandbox.ok(&[
            "run", "record", "--task", "t", "--role", "builder", "--text", "own", "--embed", "now",
        ]);
        let capsule = if layout == "files" {
            ".kapsa/runs/17/tasks/t.kapsa"
        } else {
            ".kapsa/workspace.kapsa"
        };
        let embedded = sandbox.json(&["--capsule", capsule, "embed"]);
        assert!(
            embedded["record_count"].as_u64() >= Some(1),
            "{layout} what another one left is left to it: {embedded} {first}"
        );
    });
}

#[test]
fn a_conflict_is_the_callers_to_decide() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--uri", "fact/port", "--text", "the port is 1"]);
    sandbox.ok(&["run", "start", "--run", "17"]);
    sandbox.ok(&["run", "task", "start", "t"]);
    sandbox.ok(&["put", "--branch", "run/17/t", "--uri", "fact/port", "--text", "the port is 2"]);
    sandbox.ok(&["put", "--uri", "fact/port", "--text", "the port is 3"]);
    sandbox.ok(&["run", "finish", "--task", "t"]);
    let run = sandbox.run(&["run", "finish", "--merge", "curated", "--json"]);
    let told: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(
        (run.code, &told["ok"], &told["merged"][1]["conflicts"][0]),
        (Some(1), &json!(false), &json!("mv2://default/fact/port"))
    );
    assert!(run.err.contains("merge_conflicts"), "{}", run.err);
    assert_eq!(sandbox.json(&["get", "fact/port"])["text"], "the port is 3");
    sandbox.ok(&["merge", "--from", "run/17", "--theirs"]);
    assert_eq!(sandbox.json(&["run", "finish", "--run", "17", "--merge", "curated"])["ok"], true);
}

#[test]
fn meaning_finds_a_sibling_in_other_words() {
    both(|sandbox, layout| {
        sandbox.ok(&["run", "start", "--run", "17"]);
        let record = |task: &str, text: &str| {
            sandbox.ok(&[
                "run", "record", "--task", task, "--role", "builder", "--text", text, "--embed",
                "now",
            ]);
        };
        record("a", "The invoice total is rounded to cents.");
        record("b", "A kitten napped on the couch.");
        let args = [
            "run",
            "context",
            "--task",
            "own",
            "--role",
            "builder",
            "--query",
            "cat asleep on the sofa",
            "--json",
        ];
        let lines =
            |args: &[&str]| -> Value { serde_json::from_str(&sandbox.ok(args)).expect("JSON") };
        let by_meaning = lines(&args);
        assert_eq!(by_meaning["lines"][0]["from"], "b builder", "{layout} {by_meaning}");
        for task in ["a", "b"] {
            sandbox.ok(&["run", "finish", "--task", task]);
        }
        sandbox.ok(&["run", "finish", "--run", "17", "--merge", "curated", "--embed", "now"]);
        let found = sandbox.json(&["find", "cat asleep on the sofa"]);
        assert_eq!(
            found["hits"][0]["snippet"], "A kitten napped on the couch.",
            "{layout} {found}"
        );
        assert!(by_meaning["lines"][0]["score"].as_f64() > Some(0.0), "{layout}");
    });
}

const RUN_NAMES: [&str; 3] = ["run_5", "run/5", "5"];

#[test]
fn a_run_is_the_same_run_however_its_id_is_written() {
    let sandbox = Sandbox::empty();
    sandbox.ok(&["run", "start", "--run", "run_5", "--title", "T"]);
    let task = ["run", "record", "--run", "run/5", "--task", "t1", "--role", "builder"];
    sandbox.ok(&[&task[..], &["--text", "the port is 5433"]].concat());
    let payload = r#"{"call_id":"c","tool_name":"x","input":{}}"#;
    for run in RUN_NAMES {
        sandbox.ok(&["event", "emit", "ToolCall", "--run", run, "--payload", payload]);
        sandbox.ok(&["put", "--run", run, "--text", &format!("a note about ports of {run}")]);
    }
    let answers = |run: &str| {
        let events = sandbox.json(&["events", "--run", run]);
        let out = format!("{}.kapsa", run.replace('/', "-"));
        let export = ["export", "--run", run, "--no-encrypt", "--out", &out];
        let exported = sandbox.json(&export);
        (
            events["events"].clone(),
            sandbox.json(&["find", "ports", "--run", run])["hits"].clone(),
            sandbox.json(&["merge", run, "--dry-run"]),
            exported["content_hash"].clone(),
            exported.get("warnings").cloned(),
        )
    };
    let first = answers(RUN_NAMES[0]);
    assert_eq!(first.0.as_array().map(Vec::len), Some(3), "{first:?}");
    assert_eq!(first.1.as_array().map(Vec::len), Some(3), "{first:?}");
    assert_eq!(first.4, None);
    for run in &RUN_NAMES[1..] {
        let next = answers(run);
        // The first export left an event of its own, which no export holds.
        let calls = |events: &Value| {
            let all = events.as_array().expect("a list").iter();
            all.filter(|event| event["event_type"] == "ToolCall").cloned().collect::<Vec<_>>()
        };
        assert_eq!(calls(&next.0), calls(&first.0), "{run}");
        assert_eq!((&next.1, &next.2, &next.3), (&first.1, &first.2, &first.3), "{run}");
    }
}

#[test]
fn a_merge_of_a_task_is_an_event_of_its_run() {
    let sandbox = Sandbox::empty();
    started(&sandbox);
    sandbox.ok(&["run", "finish", "--task", "task-1", "--merge", "curated"]);
    let events = sandbox.json(&["events", "--all"]);
    let merged = &events["events"][0];
    assert_eq!((&merged["event_type"], &merged["run"]), (&json!("BranchMerged"), &json!("17")));
    assert_eq!(merged["payload"]["from_branch"], "run/17/task-1");
    let made = sandbox.json(&["--branch", "run/17", "checkpoints"]);
    assert_eq!(made["checkpoints"][0]["run"], "17", "{made}");
}

#[test]
fn a_branch_of_a_run_made_by_hand_is_finished_as_a_run() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["branch", "create", "run/17"]);
    assert_eq!(sandbox.json(&["run", "list"])["runs"][0]["run"], "17", "nobody started it");
    assert_eq!(sandbox.json(&["run", "status", "--run", "run_17"])["status"], "running");
    sandbox.json(&["--branch", "run/17", "put", "--uri", "a", "--text", "the port is 5433"]);
    let finished = sandbox.json(&["run", "finish", "--run", "17", "--merge", "curated"]);
    assert_eq!((&finished["ok"], &finished["status"]), (&json!(true), &json!("done")));
    assert_eq!(sandbox.ok(&["get", "a"]).lines().last(), Some("the port is 5433"));
}

#[test]
fn a_variable_that_names_an_archived_run_starts_a_new_one() {
    both(|sandbox, _| {
        sandbox.ok(&["run", "start", "--run", "old"]);
        sandbox.ok(&["run", "archive", "--run", "old"]);
        let mut command = sandbox.command();
        command.args(["run", "start", "--title", "new"]).env("KAPSA_RUN", "old");
        let run = crate::support::Run::from(command.output().expect("it runs"));
        let id = run.out.trim();
        assert!(run.code == Some(0) && !id.is_empty() && id != "old", "{run:?}");
        assert!(run.err.contains("archived"), "{run:?}");
        assert_eq!(sandbox.json(&["run", "status", "--run", id])["title"], "new");
        let asked = sandbox.run(&["run", "start", "--run", "old"]);
        assert_eq!((asked.code, asked.out.as_str()), (Some(0), ""), "nothing to go on with");
    });
}

/// 971-A4: a run that completes a stage leaves a checkpoint of it.
#[test]
fn the_end_of_a_stage_leaves_a_checkpoint_and_its_event() {
    both(|sandbox, layout| {
        started(sandbox);
        let done = sandbox.json(&["run", "finish", "--task", "task-1", "--stage", "build"]);
        assert!(done["checkpoint_id"].is_string(), "{done}");
        let call = ["run", "finish", "--stage", "unlock", "--spec", "S-1", "--merge", "curated"];
        let finished = sandbox.json(&call);
        assert!(finished["checkpoint_id"].is_string(), "{finished}");
        if layout == "branches" {
            let on = ["--branch", "run/17", "checkpoints"];
            let made = sandbox.json(&on)["checkpoints"].clone();
            let stage =
                made.as_array().expect("a list").iter().find(|one| one["stage"] == "unlock");
            let stage = stage.unwrap_or_else(|| panic!("{made}"));
            assert_eq!((&stage["run"], &stage["spec"]), (&json!("17"), &json!("S-1")));
            let events = sandbox.json(&["events", "--type", "StageTransition", "--run", "17"]);
            let stages = events["events"].to_string();
            assert!(stages.contains("unlock"), "main sees what was merged into it: {stages}");
        }
    });
}

#[test]
fn what_a_merge_leaves_out_is_said_with_how_to_bring_it() {
    both(|sandbox, _| {
        started(sandbox);
        sandbox.ok(&["run", "task", "start", "bad", "--title", "Move the port"]);
        let built = ["run", "record", "--task", "bad", "--role", "builder", "--text"];
        sandbox.ok(&[&built[..], &["Port 5500 is open now."]].concat());
        let why = "The firewall blocks port 5500.";
        sandbox.ok(&["run", "finish", "--task", "bad", "--failed", "--summary", why]);
        let told = sandbox.ok(&["run", "finish", "--merge", "curated"]);
        for part in [
            "left out task-1: still running",
            "kapsa run finish --task task-1",
            "--include-running",
            "left out bad: failed",
            "--lessons",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert_eq!(sandbox.json(&["find", "port 5433 5500"])["count"], 0, "nothing was finished");
        let call = ["run", "finish", "--run", "17", "--merge", "curated", "--lessons"];
        let finished = sandbox.json(&[&call[..], &["--include-running"]].concat());
        assert_eq!(finished["left_out"], json!({}), "{finished}");
        let found = sandbox.json(&["find", "port 5433 5500", "--full"]).to_string();
        assert!(found.contains(why) && found.contains("Decided: port 5433."), "{found}");
        assert!(!found.contains("is open now"), "only the lessons of what failed: {found}");
    });
}

#[test]
fn a_long_plan_about_something_else_leaves_room_for_what_answers() {
    both(|sandbox, _| {
        let plan = "Ship the brochure about gardens and water its roses every week. ".repeat(60);
        sandbox.json_with(&["run", "start", "--run", "17", "--plan", "-"], plan.as_bytes());
        let task = ["run", "record", "--task", "t1", "--role", "builder", "--text"];
        sandbox.ok(&[&task[..], &["The client speaks TLS on port 5433."]].concat());
        let why = "The firewall blocks port 5500.";
        sandbox.ok(&["run", "task", "start", "bad", "--title", "Move the port"]);
        sandbox.ok(&["run", "finish", "--task", "bad", "--failed", "--summary", why]);
        sandbox.ok(&["run", "task", "start", "t2", "--title", "Write the client for the port"]);
        for budget in ["80", "100", "200"] {
            let ask = ["run", "context", "--task", "t2", "--role", "builder", "--budget", budget];
            let text = sandbox.ok(&ask);
            assert!(text.contains("port 5433"), "{budget}: {text}");
            assert!(text.len() <= 4 * budget.parse::<usize>().expect("a number"), "{text}");
            assert!(budget == "80" || text.contains(why), "{budget}: {text}");
        }
    });
}

#[test]
fn stores_of_runs_may_have_another_ending() {
    let sandbox = Sandbox::empty();
    sandbox.write("kapsa.toml", "[run]\nlayout = 'files'\nstore_extension = 'mv2'\n");
    sandbox.json_with(&["run", "start", "--run", "17", "--title", "T", "--plan", "-"], b"first");
    sandbox.json_with(&["run", "start", "--run", "17", "--plan", "-"], b"second");
    sandbox.ok(&["run", "record", "--task", "t1", "--role", "builder", "--text", "built"]);
    let of_task = sandbox.json(&["svc", "timeline", ".kapsa/runs/17/tasks/t1.mv2"]);
    assert_eq!(of_task["entries"][0]["text"], "built");
    let of_run = sandbox.json(&["svc", "timeline", ".kapsa/runs/17/run.mv2"]);
    let labels: Vec<_> = of_run["entries"].as_array().expect("a list").iter().collect();
    assert_eq!(labels.len(), 2, "one entry for each plan: {of_run}");
    assert!(labels.iter().all(|entry| entry["label"] == "plan"), "{of_run}");
    let found = sandbox.json(&["svc", "find", ".kapsa/runs/17/run.mv2", "--query", "T task t1"]);
    assert!(!found.to_string().contains("task t1\""), "tasks are no documents: {found}");
    sandbox.write("kapsa.toml", "[run]\nstore_extension = 'a/b'\n");
    assert_eq!(sandbox.error(&["run", "config"]).1["code"], "invalid_config");
}
