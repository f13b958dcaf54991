//! Exports, imports, mounts and gc, by real processes. The names of the acceptance tests are those
//! of the contract.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::support::{Run, Sandbox, bytes};

/// A memory with a run on a branch of its own, and one that only shares the capsule.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--uri", "config/port", "--text", "the port is 5433", "--kind", "fact"]);
    sandbox.ok(&["put", "--uri", "config/port", "--text", "the port is 5434", "--kind", "fact"]);
    sandbox.ok(&["alias", "config/old-port", "config/port"]);
    sandbox.ok(&["commit", "--label", "v1"]);
    for run in ["17", "18"] {
        let branch = format!("run/{run}");
        sandbox.ok(&["branch", "create", &branch]);
        let text = format!("the plan of run {run}");
        sandbox.ok(&[
            "--branch",
            &branch,
            "put",
            "--uri",
            &format!("S-1/{run}/artifact/plan.md"),
            "--text",
            &text,
            "--run",
            run,
        ]);
        sandbox
            .ok(&["--branch", &branch, "commit", "--stage", "plan", "--spec", "S-1", "--run", run]);
    }
    sandbox
}

fn with_passphrase(sandbox: &Sandbox, passphrase: &str, args: &[&str]) -> Run {
    sandbox
        .command()
        .env("KAPSA_PASSPHRASE", passphrase)
        .args(args)
        .output()
        .expect("the binary runs")
        .into()
}

fn value(run: &Run) -> Value {
    assert_eq!(run.code, Some(0), "{}", run.err);
    serde_json::from_str(&run.out).expect("JSON")
}

fn uris(found: &Value) -> Vec<&str> {
    found["hits"]
        .as_array()
        .expect("hits")
        .iter()
        .map(|hit| hit["uri"].as_str().expect("a URI"))
        .collect()
}

#[test]
fn test_export_determinism() {
    let sandbox = sandbox();
    for format in ["capsule", "jsonl", "markdown"] {
        let first = sandbox.json(&["export", "--format", format]);
        let again = sandbox.json(&["export", "--format", format, "--out", "again"]);
        assert_eq!(first["content_hash"], again["content_hash"], "{format}");
        for (name, wanted) in [("exported", true), ("safe_mode", true), ("encrypted", false)] {
            assert_eq!(first[name], wanted, "{name}");
        }
        assert_eq!((&first["format"], &first["checkpoint_count"]), (&format.into(), &1.into()));
        let path = first["output_path"].as_str().expect("a path");
        if format == "markdown" {
            assert!(sandbox.path("again/index.md").exists());
            fs::remove_dir_all(sandbox.path("again")).expect("removed");
        } else {
            assert!(bytes(path.as_ref()) == bytes(&sandbox.path("again")));
            assert_eq!(first["bytes_written"], bytes(path.as_ref()).len());
            fs::remove_file(sandbox.path("again")).expect("removed");
        }
    }
    sandbox.fails(&["export"], 1, "exists");
    sandbox.ok(&["export", "--force"]);
    sandbox.fails(&["export", "--out", ".kapsa/workspace.kapsa", "--force"], 1, "exists");
    sandbox.fails(&["export", "--out", "made/x.kapsa"], 1, "no_folder");
    sandbox.ok(&["verify", "--capsule", ".kapsa/exports/capsule.kapsa"]);
}

#[test]
fn test_export_filters_checkpoints_and_events_by_run() {
    let sandbox = sandbox();
    let done = sandbox.json(&["export", "--spec", "S-1", "--run", "17", "--no-encrypt"]);
    assert!(done["output_path"].as_str().expect("a path").ends_with(".kapsa/exports/S-1_17.kapsa"));
    assert_eq!(
        (&done["uri_count"], &done["checkpoint_count"], &done["event_count"]),
        (&1.into(), &1.into(), &1.into())
    );
    let export = ["--capsule", ".kapsa/exports/S-1_17.kapsa"];
    let call = |args: &[&str]| sandbox.json(&[args, &export].concat());
    assert_eq!(call(&["checkpoints"])["checkpoints"][0]["run"], "17");
    assert_eq!(call(&["events"])["events"][0]["run"], "17");
    assert_eq!(call(&["timeline"])["records"][0]["text"], "the plan of run 17");
    sandbox.fails(&["export", "--run", "99", "--no-encrypt"], 1, "invalid_operation");
}

#[test]
fn test_safe_export_excludes_full_io_model_calls() {
    let sandbox = sandbox();
    let call = |mode: &str| {
        format!(
            r#"{{"call_id":"c","model":"m","routing_mode":"r","capture_mode":"{mode}","prompt_hash":"p","response_hash":"q","success":true}}"#
        )
    };
    for mode in ["full_io", "prompts_only"] {
        sandbox.ok(&["event", "emit", "ModelCallEnvelope", "--payload", &call(mode)]);
    }
    sandbox.ok(&["event", "emit", "DebugTrace", "--payload", "{}"]);
    let put = br#"{"text":"passage","source":{"path":"/secret/folder/notes.md"}}"#;
    sandbox.json_with(&["put", "-"], put);
    let safe = sandbox.json(&["export", "--format", "jsonl"]);
    let text = fs::read_to_string(safe["output_path"].as_str().expect("a path")).expect("readable");
    assert!(
        !text.contains("full_io") && !text.contains("DebugTrace") && text.contains("prompts_only"),
        "{text}"
    );
    assert!(text.contains("\"notes.md\"") && !text.contains("secret"), "{text}");
    let all = sandbox.json(&["export", "--format", "jsonl", "--unsafe", "--force"]);
    let text = fs::read_to_string(all["output_path"].as_str().expect("a path")).expect("readable");
    assert!(
        text.contains("full_io")
            && text.contains("DebugTrace")
            && text.contains("/secret/folder/notes.md"),
        "{text}"
    );
    assert_eq!(all["safe_mode"], false);
}

#[test]
fn test_export_import_retrieval_parity() {
    let sandbox = sandbox();
    sandbox.ok(&["export", "--out", "all.kapsa"]);
    sandbox.json(&["import", "all.kapsa", "--mount-as", "copy"]);
    for query in ["port", "5434", "plan", "run 17"] {
        let (here, there) =
            (sandbox.json(&["find", query]), sandbox.json(&["find", query, "--mount", "copy"]));
        assert_eq!(uris(&here), uris(&there), "{query}");
        assert_eq!(
            uris(&here),
            uris(&sandbox.json(&["find", query, "--capsule", "all.kapsa"])),
            "{query}"
        );
    }
    assert_eq!(
        sandbox.ok(&["get", "config/old-port", "--raw", "--mount", "copy"]),
        "the port is 5434"
    );
    assert_eq!(
        sandbox.ok(&["resolve-uri", "config/port", "--mount", "copy", "--as-of", "1"]),
        "the port is 5433"
    );
    assert_eq!(sandbox.json(&["timeline", "--mount", "copy"])["count"], 1);
    let mut command = vec!["import", "all.kapsa", "--capsule", "sub/other.kapsa"];
    fs::create_dir(sandbox.path("sub")).expect("a folder");
    sandbox.ok(&["create", "sub/other.kapsa"]);
    sandbox.json(&command);
    command.splice(..2, ["resolve-uri", "config/port"]);
    assert_eq!(sandbox.json(&command)["preview"], "the port is 5434");
    assert_eq!(sandbox.run(&command).err, "warning: from the mount all\n");
    sandbox.ok(&["put", "--uri", "config/port", "--text", "ours", "--capsule", "sub/other.kapsa"]);
    assert_eq!(sandbox.json(&command)["preview"], "ours", "the capsule itself comes first");
    sandbox.ok(&["forget", "config/port", "--capsule", "sub/other.kapsa"]);
    sandbox.fails(&command, 1, "uri_not_found");
    sandbox.fails(&["find", "x", "--mount", "nobody"], 1, "mount_not_found");
    let mounts = sandbox.json(&["mounts"]);
    assert_eq!((&mounts["count"], &mounts["mounts"][0]["name"]), (&1.into(), &"copy".into()));
}

#[test]
fn lines_of_an_export_can_be_put_again() {
    let sandbox = sandbox();
    sandbox.ok(&["export", "--format", "jsonl", "--out", "all.jsonl"]);
    let lines = bytes(&sandbox.path("all.jsonl"));
    sandbox.ok(&["create", "other.kapsa"]);
    let done = sandbox.json_with(&["put", "-", "--capsule", "other.kapsa"], &lines);
    assert_eq!((&done["record_count"], &done["skipped"]), (&1.into(), &2.into()));
    assert_eq!(
        sandbox.ok(&["get", "config/port", "--raw", "--capsule", "other.kapsa"]),
        "the port is 5434"
    );
    sandbox.ok(&[
        "export",
        "--format",
        "jsonl",
        "--out",
        "again.jsonl",
        "--capsule",
        "other.kapsa",
    ]);
    let first = |name: &str| {
        fs::read_to_string(sandbox.path(name)).expect("readable").lines().next().map(str::to_string)
    };
    assert_eq!(first("all.jsonl"), first("again.jsonl"));
}

#[test]
fn a_run_is_sealed_unless_told_not_to_be() {
    let sandbox = sandbox();
    sandbox.fails(&["export", "--run", "17"], 1, "passphrase_required");
    assert!(!sandbox.path(".kapsa/exports").exists(), "nothing is left behind");
    sandbox.fails(&["export", "--run", "17", "--format", "markdown"], 1, "usage");
    let done = value(&with_passphrase(&sandbox, "right", &["export", "--run", "17", "--json"]));
    let path = done["output_path"].as_str().expect("a path");
    assert!(path.ends_with("17.kapsa.age") && done["encrypted"] == true, "{done}");
    assert!(bytes(path.as_ref()).starts_with(b"age-encryption.org/"));
    let plain = sandbox.json(&["export", "--run", "17", "--no-encrypt"]);
    assert_eq!(plain["content_hash"], done["content_hash"], "the hash is that of what was sealed");
    let wrong = with_passphrase(&sandbox, "wrong", &["import", path, "--json"]);
    assert!(wrong.code == Some(1) && wrong.err.contains("invalid_passphrase"), "{}", wrong.err);
    assert!(!sandbox.path(".kapsa/mounts").exists(), "nothing is left behind");
    let mounted = value(&with_passphrase(&sandbox, "right", &["import", path, "--json"]));
    assert_eq!(
        (&mounted["mount_name"], &mounted["content_hash"]),
        (&"17".into(), &done["content_hash"])
    );
}

#[test]
fn test_import_idempotent_same_hash_and_hash_conflict() {
    let sandbox = sandbox();
    sandbox.ok(&["export", "--out", "one.kapsa"]);
    sandbox.ok(&["export", "--run", "17", "--no-encrypt", "--out", "two.kapsa"]);
    let first = sandbox.json(&["import", "one.kapsa"]);
    assert_eq!(
        (&first["imported"], &first["existed"], &first["verification_passed"]),
        (&true.into(), &false.into(), &true.into())
    );
    let again = sandbox.json(&["import", "one.kapsa"]);
    assert_eq!((&again["existed"], &again["content_hash"]), (&true.into(), &first["content_hash"]));
    sandbox.fails(&["import", "two.kapsa", "--mount-as", "one"], 1, "mount_hash_conflict");
    let events = sandbox.json(&["events", "--type", "CapsuleImported"]);
    assert_eq!(
        (&events["count"], &events["events"][0]["payload"]["mount_name"]),
        (&1.into(), &"one".into())
    );
}

#[test]
fn test_import_invalid_mount_name_path_traversal() {
    let sandbox = sandbox();
    sandbox.ok(&["export", "--out", "my export.kapsa"]);
    for name in ["../x", "..", "a/b", "", "a.b"] {
        sandbox.fails(&["import", "my export.kapsa", "--mount-as", name], 1, "invalid_mount_name");
    }
    assert_eq!(sandbox.json(&["import", "my export.kapsa"])["mount_name"], "my-export");
    sandbox.fails(&["import", "missing.kapsa"], 1, "source_not_found");
    sandbox.fails(&["import", ".kapsa", "--mount-as", "x"], 1, "not_a_capsule");
    sandbox.fails(&["find", "x", "--mount", "../workspace"], 1, "invalid_mount_name");
}

#[test]
fn test_import_verification_failure_no_partial_mount() {
    let sandbox = sandbox();
    sandbox.ok(&["export", "--out", "x.kapsa"]);
    let mut damaged = bytes(&sandbox.path("x.kapsa"));
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    sandbox.write("x.kapsa", &damaged);
    sandbox.fails(&["import", "x.kapsa"], 2, "verification_failed");
    sandbox.write("junk.kapsa", "junk");
    let error = sandbox.fails(&["import", "junk.kapsa"], 1, "not_a_capsule");
    assert!(!error["message"].as_str().expect("text").contains("part"), "{error}");
    assert!(!sandbox.path(".kapsa/mounts").exists(), "nothing is left behind");
}

#[test]
fn an_export_does_not_wait_for_its_event() {
    let sandbox = sandbox();
    let mut holder = sandbox.hold_lock();
    let done = sandbox.json(&["export"]);
    assert!(
        done["exported"] == true
            && done["warning"].as_str().is_some_and(|warning| !warning.is_empty()),
        "{done}"
    );
    drop(holder.stdin.take());
    holder.wait().expect("it ends");
    sandbox.json(&["export", "--force"]);
    let events = sandbox.json(&["events", "--type", "CapsuleExported"]);
    assert_eq!(
        (&events["count"], &events["events"][0]["payload"]["destination"]),
        (&1.into(), &"capsule.kapsa".into())
    );
}

#[test]
fn test_gc_preserves_pinned_and_test_gc_audit_event_persisted() {
    let sandbox = sandbox();
    for name in ["old", "pinned", "new"] {
        let name = format!(".kapsa/exports/{name}.kapsa");
        let path = sandbox.write(&name, "12345");
        let age = Duration::from_secs(if name.contains("new") { 0 } else { 40 * 86_400 });
        fs::File::open(path)
            .and_then(|file| file.set_modified(SystemTime::now() - age))
            .expect("dated");
    }
    sandbox.write(".kapsa/exports/pinned.kapsa.pin", "");
    let dry = sandbox.json(&["gc", "--dry-run"]);
    assert_eq!((&dry["dry_run"], &dry["exports_deleted"]), (&true.into(), &1.into()));
    assert_eq!(
        sandbox.json(&["events", "--type", "GateDecision"])["count"],
        0,
        "a dry run changes nothing"
    );
    let done = sandbox.json(&["gc"]);
    assert_eq!(
        (&done["exports_deleted"], &done["exports_preserved"], &done["bytes_freed"]),
        (&1.into(), &2.into(), &5.into())
    );
    assert!(
        !sandbox.path(".kapsa/exports/old.kapsa").exists()
            && sandbox.path(".kapsa/exports/pinned.kapsa").exists()
    );
    let events = sandbox.json(&["events", "--type", "GateDecision", "--audit-only"]);
    let payload = &events["events"][0]["payload"];
    assert_eq!(
        (&payload["gate_name"], &payload["details"]["exports_deleted"]),
        (&"CapsuleGC".into(), &1.into())
    );
    assert_eq!(
        sandbox.json(&["gc", "--no-keep-pinned", "--retention-days", "0"])["exports_deleted"],
        2
    );
}

/// A run that remembers something.
fn seven() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--uri", "shared", "--text", "everybody knows this"]);
    sandbox.ok(&["branch", "create", "run/7"]);
    sandbox.ok(&[
        "--branch",
        "run/7",
        "put",
        "--uri",
        "S/7/artifact/plan.md",
        "--text",
        "# Plan\n\nwhat the run planned",
        "--run",
        "7",
    ]);
    sandbox.ok(&["--branch", "run/7", "commit", "--stage", "plan", "--run", "7"]);
    sandbox
}

#[test]
fn readable_exports_are_made_of_what_is_visible() {
    let sandbox = seven();
    sandbox.ok(&[
        "put",
        "--uri",
        "../../etc/passwd".trim_start_matches("../"),
        "--text",
        "a name like a path",
    ]);
    sandbox.ok(&["put", "--uri", "CON", "--text", "title: odd\n---\n`x`", "--tag", "a=b: [c]"]);
    sandbox.ok(&["forget", "shared"]);
    sandbox.ok(&["export", "--format", "markdown", "--out", "notes"]);
    let mut names: Vec<String> = std::fs::read_dir(sandbox.path("notes"))
        .expect("a folder")
        .map(|entry| entry.expect("listed").file_name().into_string().expect("plain"))
        .collect();
    names.sort();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names.iter().all(|name| name.ends_with(".md") && !name.contains("..")));
    sandbox.ok(&["export", "--format", "jsonl", "--out", "all.jsonl"]);
    sandbox.ok(&["create", "other.kapsa"]);
    let lines = std::fs::read(sandbox.path("all.jsonl")).expect("written");
    sandbox.json_with(&["put", "-", "--capsule", "other.kapsa"], &lines);
    assert_eq!(sandbox.json(&["get", "CON", "--capsule", "other.kapsa"])["tags"]["a"], "b: [c]");
    sandbox.fails(&["get", "shared", "--capsule", "other.kapsa"], 1, "uri_not_found");
    sandbox.fails(&["export", "--run", "nobody", "--no-encrypt"], 1, "invalid_operation");
    sandbox.fails(&["export", "--run", "7", "--format", "markdown"], 1, "usage");
}

#[test]
fn a_spoilt_mount_spoils_nothing_else() {
    let sandbox = seven();
    for register in [
        "garbage",
        r#"{"schema_version":1,"mounts":[{"name":"x","file":"../../y","content_hash":"","original_capsule_id":"",
        "imported_at":"","read_only":true}]}"#,
    ] {
        sandbox.write(".kapsa/mounts/mounts.json", register);
        sandbox.fails(&["get", "nothing"], 1, "uri_not_found");
        assert_eq!(sandbox.ok(&["get", "shared", "--raw"]), "everybody knows this");
    }
    sandbox.fails(&["find", "x", "--mount", "x"], 1, "capsule_not_found");
    sandbox.write(".kapsa/workspace.kapsa.branch", "../../x");
    let error = sandbox.fails(&["get", "shared"], 1, "invalid_operation");
    assert!(
        error["hint"].as_str().is_some_and(|hint| hint.contains("workspace.kapsa.branch")),
        "{error}"
    );
    sandbox.fails(&["get", "shared", "--branch", ""], 1, "invalid_operation");
}

/// A memory of mem0 as its list gives it.
fn mem0(sandbox: &Sandbox, text: &str, updated: Option<&str>) {
    let memory = serde_json::json!([{"id": "m1", "memory": text, "updated_at": updated}]);
    sandbox.write("memories.json", memory.to_string());
}

#[test]
fn what_was_changed_or_forgotten_here_is_not_undone_by_an_import() {
    let sandbox = Sandbox::new();
    let import = |more: &[&str]| {
        let run = sandbox.run(&[&["import", "mem0", "memories.json", "--json"], more].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        let answer: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
        ["added", "replaced", "unchanged"].map(|name| answer[name].as_u64().expect("a number"))
    };
    let text =
        || sandbox.json(&["get", "mem0/memory/m1"])["text"].as_str().expect("it").to_string();
    mem0(&sandbox, "likes tea", Some("2025-01-01T00:00:00Z"));
    assert_eq!(import(&["--dry-run"]), [1, 0, 0]);
    assert_eq!(import(&[]), [1, 0, 0]);
    assert_eq!(import(&[]), [0, 0, 1]);
    mem0(&sandbox, "likes coffee", Some("2025-02-01T00:00:00Z"));
    assert_eq!(import(&["--on-conflict", "skip"]), [0, 0, 0]);
    sandbox.fails(&["import", "mem0", "memories.json", "--on-conflict", "fail"], 1, "conflict");
    assert_eq!(text(), "likes tea");
    assert_eq!(import(&[]), [0, 1, 0], "it is newer");
    mem0(&sandbox, "likes milk", Some("2024-01-01T00:00:00Z"));
    assert_eq!(import(&[]), [0, 0, 0], "it is older");
    // Without a time the source counts, until somebody changes it here.
    mem0(&sandbox, "likes water", None);
    assert_eq!(import(&[]), [0, 1, 0]);
    sandbox.ok(&["put", "--uri", "mem0/memory/m1", "--text", "likes wine"]);
    assert_eq!(import(&[]), [0, 0, 0]);
    assert_eq!(text(), "likes wine");
    sandbox.ok(&["forget", "mem0/memory/m1"]);
    assert_eq!(import(&[]), [0, 0, 0], "it stays forgotten");
    assert_eq!(import(&["--on-conflict", "replace"]), [0, 1, 0]);
    assert_eq!(text(), "likes water");
}

#[test]
fn an_unknown_product_is_answered_with_the_known_ones() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["import", "mem1", "memories.json"]);
    assert!(run.code == Some(1) && run.err.contains("server-memory"), "{run:?}");
    sandbox.write("memories.json", "{}");
    sandbox.fails(&["import", "mem0", "memories.json"], 1, "foreign_source");
    sandbox.fails(&["import", "mem0", "memories.json", "--mount-as", "x"], 1, "usage");
}

#[test]
fn what_came_from_others_goes_back_to_them() {
    let sandbox = Sandbox::new();
    let lines = [
        r#"{"type":"entity","name":"Acme","entityType":"company","observations":[]}"#,
        r#"{"type":"entity","name":"Ada","entityType":"person","observations":["likes tea","is 40"]}"#,
        r#"{"type":"relation","from":"Ada","to":"Acme","relationType":"works_at"}"#,
    ];
    sandbox.write("memory.jsonl", lines.join("\n"));
    sandbox.ok(&["import", "server-memory", "memory.jsonl"]);
    let export = |format: &str, out: &str| {
        sandbox.ok(&["export", "--format", format, "--out", out]);
        sandbox.path(out)
    };
    let parsed = |text: &str| {
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        lines.collect::<Vec<_>>()
    };
    let back = fs::read_to_string(export("server-memory", "back.jsonl")).expect("a file");
    assert_eq!(parsed(&back), parsed(&lines.join("\n")));
    sandbox.ok(&[
        "put",
        "--uri",
        "note/a",
        "--title",
        "Port",
        "--text",
        "It is 5433.\n## Not a heading",
    ]);
    sandbox.ok(&["put", "--text", "Ada is tall.", "--entity", "Ada"]);
    let back = fs::read_to_string(export("server-memory", "more.jsonl")).expect("a file");
    let ada = parsed(&back).into_iter().find(|line| line["name"] == "Ada").expect("she");
    let all = serde_json::json!(["likes tea", "is 40", "Ada is tall."]);
    assert_eq!((&ada["observations"], &ada["entityType"]), (&all, &"person".into()));
    let file = fs::read_to_string(export("claude-md", "CLAUDE.md")).expect("a file");
    assert!(file.starts_with("# Memory\n\n## note\n\n- "), "{file}");
    assert!(file.contains("\n- Port. It is 5433. ## Not a heading\n"), "{file}");
    // Whoever reads notes of basic-memory has the same texts.
    export("basic-memory", "notes");
    let other = Sandbox::new();
    let notes = sandbox.path("notes");
    let run = other.run(&["import", "basic-memory", notes.to_str().expect("UTF-8")]);
    assert_eq!((run.code, run.err.contains("1 index of an export")), (Some(0), true), "{run:?}");
    assert_eq!(texts(&other), texts(&sandbox));
    // The list of what an export has is no memory, whoever reads the folder.
    export("markdown", "pages");
    let pages = sandbox.path("pages");
    let pages = pages.to_str().expect("UTF-8");
    let vault = Sandbox::new();
    let done = vault.json(&["import", "obsidian", pages]);
    assert_eq!(done["left"][0]["count"], 1, "{done}");
    assert_eq!(vault.count(), sandbox.count());
    let read = Sandbox::new();
    assert_eq!(read.json(&["put", pages])["skipped_by_kind"]["generated"], 1);
    // Of records with one title each stays one.
    sandbox.ok(&["put", "--uri", "note/b", "--title", "Port", "--text", "It is shut."]);
    sandbox.ok(&["put", "--uri", "note/c", "--title", "Ada", "--text", "A language."]);
    let back = fs::read_to_string(export("server-memory", "titles.jsonl")).expect("a file");
    let names: Vec<_> = parsed(&back).iter().map(|line| line["name"].clone()).collect();
    assert_eq!(names[..5], ["Acme", "Ada", "Ada (note/c)", "Port", "Port (note/b)"]);
    let again = Sandbox::new();
    again.ok(&["import", "server-memory", sandbox.path("titles.jsonl").to_str().expect("UTF-8")]);
    let of_both = |what: &str| texts(&again).iter().filter(|text| text.contains(what)).count();
    assert_eq!((of_both("It is shut."), of_both("It is 5433.")), (1, 1));
}

fn texts(of: &Sandbox) -> std::collections::BTreeSet<String> {
    let all = of.json(&["timeline", "--limit", "100"]);
    let records = all["records"].as_array().expect("a list").iter();
    records.map(|record| record["text"].as_str().expect("a text").to_string()).collect()
}

#[test]
fn an_export_that_people_read_is_harmless() {
    let sandbox = Sandbox::new();
    let hostile = "a\x1b]0;b\x07\u{9b}2J\u{202e}c\u{200b}\x7f\rd\u{e0041}";
    let lines = format!("one\r\ntwo\t{hostile}\nthree\n");
    for (uri, text) in [("note/a", hostile), ("note/b", &lines)] {
        let record = serde_json::json!({
            "uri": uri, "text": text, "title": hostile, "tags": {"t": hostile},
            "metadata": {hostile: hostile}, "entity": format!("{uri} {hostile}"),
        });
        sandbox.json_with(&["put", "-"], record.to_string().as_bytes());
    }
    let is_harmless = |file: &std::path::Path| {
        let text = fs::read_to_string(file).expect("UTF-8");
        let acts = |c: char| {
            c.is_control() && c != '\n' && c != '\t' || "\u{202e}\u{200b}\u{e0041}".contains(c)
        };
        // The end of a line, as some systems write it, does no more than that.
        assert!(!text.replace("\r\n", "\n").contains(acts), "{}: {text:?}", file.display());
        text
    };
    for format in ["markdown", "basic-memory", "json-dir"] {
        sandbox.ok(&["export", "--format", format, "--out", format]);
        let mut all = String::new();
        for entry in fs::read_dir(sandbox.path(format)).expect("a folder") {
            all += &is_harmless(&entry.expect("an entry").path());
        }
        assert!(all.contains("\\u202e"), "{all}");
        if format != "json-dir" {
            assert!(all.contains("one\r\ntwo\ta\\x1b]0;b\\x07\\x9b2J\\u{202e}c"), "{all}");
        }
    }
    for format in ["claude-md", "server-memory", "jsonl"] {
        sandbox.ok(&["export", "--format", format, "--out", format]);
        is_harmless(&sandbox.path(format));
    }
    // Programs get the same texts.
    let other = Sandbox::new();
    let lines = fs::read(sandbox.path("jsonl")).expect("a file");
    other.json_with(&["put", "-"], &lines);
    assert_eq!(texts(&other), texts(&sandbox));
}

#[test]
fn an_export_says_of_how_many_files_the_bytes_are_left_out() {
    let sandbox = Sandbox::new();
    for (uri, bytes) in [("file/a", "\0one"), ("file/a", "\0two"), ("file/b", "\0three")] {
        let file = sandbox.write("x.bin", bytes);
        sandbox.ok(&["put", "--uri", uri, file.to_str().expect("UTF-8")]);
    }
    sandbox.ok(&["forget", "file/b"]);
    let run = sandbox.run(&["export", "--format", "markdown", "--out", "pages"]);
    assert!(run.err.contains("the bytes of 1 file are left out"), "{}", run.err);
    sandbox.ok(&["forget", "file/a"]);
    let run = sandbox.run(&["export", "--format", "markdown", "--out", "none"]);
    assert!(!run.err.contains("left out"), "{}", run.err);
}

#[test]
fn an_export_makes_no_folders_for_the_place_that_is_named() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--text", "tea"]);
    for format in ["capsule", "jsonl", "markdown"] {
        sandbox.fails(&["export", "--format", format, "--out", "new/out"], 1, "no_folder");
    }
    assert!(!sandbox.path("new").exists());
    assert!(sandbox.ok(&["export"]).contains("exports"), "its own folder is made");
}

#[test]
fn gc_removes_what_a_killed_compaction_left() {
    use kapsa_memory::{FileSystem, Volume as _};

    let sandbox = sandbox();
    let capsule = sandbox.capsule();
    let whole = bytes(&capsule);
    let [left, held] = [FileSystem.temporary(&capsule), FileSystem.temporary(&capsule)];
    for file in [&left, &held] {
        fs::write(file, &whole[..100]).expect("written");
    }
    let lock = fs::File::open(&held).expect("a file");
    lock.lock().expect("held");
    let dry = sandbox.json(&["gc", "--dry-run"]);
    assert_eq!((&dry["temp_files_deleted"], &dry["bytes_freed"]), (&1.into(), &100.into()));
    assert!(left.exists());
    let done = sandbox.json(&["gc"]);
    assert_eq!((&done["temp_files_deleted"], &done["bytes_freed"]), (&1.into(), &100.into()));
    assert!(!left.exists() && held.exists(), "somebody works on the other one");
}

#[test]
fn an_export_of_a_run_has_its_place_and_can_be_streamed() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["branch", "create", "run/17"]);
    let on = ["--branch", "run/17"];
    sandbox.ok(&[&on[..], &["put", "--uri", "a", "--text", "of the run", "--run", "17"]].concat());
    sandbox.ok(&[&on[..], &["commit", "--stage", "plan", "--run", "17", "--spec", "S-1"]].concat());
    let mut command = sandbox.command();
    command.env("KAPSA_PASSPHRASE", "secret");
    command.args(["export", "--format", "mv2e", "--spec", "S-1", "--run", "run_17"]);
    let run = crate::support::Run::from(command.output().expect("it runs"));
    assert_eq!(run.code, Some(0), "{run:?}");
    let sealed = crate::support::bytes(&sandbox.path("docs/specs/S-1/runs/17/capsule.mv2e"));
    assert!(sealed.starts_with(b"age-encryption.org/v1"), "the standard format");
    sandbox.fails(&["export", "--format", "mv2e", "--no-encrypt"], 1, "usage");

    let mut command = sandbox.command();
    command.args(["export", "--run", "17", "--no-encrypt", "--out", "-"]);
    let streamed = command.output().expect("it runs").stdout;
    sandbox.write("streamed.kapsa", &streamed);
    sandbox.json(&["import", "streamed.kapsa", "--mount-as", "r17"]);
    let made = sandbox.json(&["checkpoints", "--mount", "r17"]);
    assert_eq!(made["checkpoints"][0]["stage"], "plan", "{made}");
    let told = sandbox.json(&["replay", "run", "--run", "17", "--mount", "r17"]);
    assert!(told["count"].as_u64() > Some(0), "{told}");
    assert!(sandbox.json(&["replay", "verify", "--run", "17", "--mount", "r17"])["passed"] == true);
}

/// The URIs, and the ids of checkpoints, that a JSON value has.
fn names(field: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) if text.starts_with("mv2://") => found.push(text.clone()),
        Value::String(text) if field.ends_with("checkpoint_id") => {
            found.push(format!("checkpoint/{text}"));
        }
        Value::Array(all) => all.iter().for_each(|one| names(field, one, found)),
        Value::Object(all) => all.iter().for_each(|(field, one)| names(field, one, found)),
        _ => {}
    }
}

#[test]
fn an_export_of_a_run_is_whole() {
    let sandbox = Sandbox::new();
    let embeds = |args: &[&str]| {
        let out = sandbox.command().env_remove("KAPSA_EMBED").args(args).output();
        Run::from(out.expect("the binary runs")).success(args)
    };
    for (uri, text) in [
        ("fact/pool", "The pool has eight connections."),
        ("fact/cat", "The cat sleeps on the sofa."),
    ] {
        embeds(&["put", "--uri", uri, "--text", text]);
    }
    let policy = sandbox.write("policy.json", r#"{"governance":{"review":true}}"#);
    embeds(&["run", "start", "--run", "5"]);
    embeds(&["--branch", "run/5", "policy", "capture", policy.to_str().expect("UTF-8")]);
    embeds(&["run", "task", "start", "task-1", "--run", "5", "--title", "Choose the port"]);
    embeds(&[
        "run",
        "record",
        "--run",
        "5",
        "--task",
        "task-1",
        "--role",
        "builder",
        "--text",
        "The service listens on port 5433.",
    ]);
    let payload = r#"{"request_id":"q1","hit_uris":["mv2://default/fact/pool"],"latency_ms":1}"#;
    sandbox.ok(&[
        "event",
        "emit",
        "RetrievalResponse",
        "--run",
        "5",
        "--spec",
        "S-1",
        "--payload",
        payload,
    ]);
    embeds(&[
        "run", "finish", "--run", "5", "--task", "task-1", "--stage", "build", "--spec", "S-1",
    ]);
    embeds(&[
        "run", "finish", "--run", "5", "--merge", "curated", "--by", "ana", "--stage", "ship",
    ]);

    let done = sandbox.json(&["export", "--run", "5", "--no-encrypt", "--out", "run5.kapsa"]);
    let imported = sandbox.json(&["import", "run5.kapsa", "--mount-as", "m"]);
    let stats = sandbox.json(&["stats", "--capsule", "run5.kapsa"]);
    for count in ["uri_count", "checkpoint_count", "event_count"] {
        assert_eq!(done[count], imported[count], "{count}");
        assert_eq!(done[count], stats[count], "{count}");
    }
    assert_eq!(done["record_count"], stats["record_count"]);
    // Everything that its events and checkpoints name is there.
    let mut named = Vec::new();
    names("", &sandbox.json(&["events", "--capsule", "run5.kapsa", "--limit", "1000"]), &mut named);
    let shown = sandbox.json(&["checkpoints", "--capsule", "run5.kapsa"]);
    names("", &shown, &mut named);
    assert!(named.iter().any(|uri| uri.contains("/policy/")), "{named:?}");
    assert!(named.iter().any(|uri| uri.starts_with("checkpoint/")), "{named:?}");
    assert!(named.contains(&"mv2://default/fact/pool".to_string()), "{named:?}");
    for uri in named {
        sandbox.ok(&["resolve-uri", &uri, "--mount", "m"]);
    }
    // A search by meaning answers as here.
    let found = |more: &[&str]| {
        let args = [&["find", "which number does the service use", "--mode", "sem"], more].concat();
        let found: Value =
            serde_json::from_str(&embeds(&[&args[..], &["--json"]].concat())).expect("JSON");
        found["hits"][0]["title"].clone()
    };
    assert_eq!(found(&[]), "Choose the port — Builder");
    assert_eq!(found(&["--mount", "m"]), found(&[]));
    // A replay shows the same, whether the run's branch is there or not.
    let steps = |more: &[&str]| {
        let shown = sandbox.json(&[&["replay", "run", "--run", "5"], more].concat());
        let of = |entry: &Value| (entry["event_type"].clone(), entry["uri"].clone());
        let entries = shown["entries"].as_array().expect("entries").iter();
        // The export itself is noted once it is done.
        let before = entries.filter(|entry| entry["event_type"] != "CapsuleExported");
        before.map(of).collect::<Vec<_>>()
    };
    assert_eq!(steps(&["--mount", "m"]), steps(&[]));
    assert!(!steps(&[]).is_empty());
}

#[test]
fn a_folder_of_json_has_everything_and_is_the_same_each_time() {
    let sandbox = sandbox();
    sandbox.write("a.bin", b"\xff\x00\xfe");
    sandbox.ok(&["put", "--uri", "file/a", "a.bin"]);
    let first = sandbox.json(&["export", "--format", "json-dir", "--out", "one"]);
    let again = sandbox.json(&["export", "--format", "json-dir", "--out", "two"]);
    assert_eq!(first["content_hash"], again["content_hash"]);
    let read = |name: &str| {
        let (one, two) =
            (bytes(&sandbox.path("one").join(name)), bytes(&sandbox.path("two").join(name)));
        assert!(one == two, "{name}");
        one
    };
    let parsed = |name: &str| serde_json::from_slice::<Value>(&read(name)).expect("JSON");
    let manifest = parsed("manifest.json");
    assert_eq!((&manifest["version"], &manifest["file_count"]), (&"1.0.0".into(), &1.into()));
    for (name, count) in [("events", "event_count"), ("checkpoints", "checkpoint_count")] {
        let document = parsed(&format!("{name}.json"));
        assert_eq!(
            document[name].as_array().map(Vec::len),
            manifest[count].as_u64().map(|n| n as usize)
        );
        assert_eq!(manifest[count], first[count]);
    }
    let mut files = manifest["files"].as_object().expect("files").keys();
    let file = files.find(|name| name.starts_with("file-")).expect("a file");
    assert_eq!(read(file), b"\xff\x00\xfe");
    assert!(String::from_utf8(read("records.jsonl")).expect("UTF-8").contains(file.as_str()));
    sandbox.fails(&["export", "--format", "json-dir", "--out", "one"], 1, "exists");
    sandbox.ok(&["export", "--format", "json-dir", "--out", "one", "--force"]);
}
