//! Exports, imports, mounts and their removal, by real processes.

use std::process::Command;

use crate::support::{Run, Sandbox};

fn with_passphrase(sandbox: &Sandbox, passphrase: &str, args: &[&str]) -> Run {
    let mut command: Command = sandbox.command();
    command.env("KAPSA_PASSPHRASE", passphrase).args(args).output().expect("runs").into()
}

/// A run that remembers something.
fn sandbox() -> Sandbox {
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
fn a_run_is_sealed_unless_that_is_refused_and_opens_with_its_passphrase_only() {
    let sandbox = sandbox();
    sandbox.fails(&["export", "--run", "7"], 1, "passphrase_required");
    assert!(!sandbox.path(".kapsa/exports").join("7.kapsa.age").exists());
    let made = with_passphrase(&sandbox, "secret", &["export", "--run", "7", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&made.success("export")).expect("JSON");
    assert_eq!((&told["encrypted"], &told["safe_mode"], &told["checkpoint_count"]), (&true.into(), &true.into(), &1.into()));
    let path = told["output_path"].as_str().expect("a path");
    assert!(path.ends_with(".kapsa/exports/7.kapsa.age"), "{path}");
    let bytes = std::fs::read(sandbox.path(path)).expect("written");
    assert!(!bytes.windows(7).any(|window| window == b"planned"), "nothing is readable");
    let left: Vec<_> = std::fs::read_dir(sandbox.path(".kapsa/exports")).expect("listed").collect();
    assert_eq!(left.len(), 1, "nothing but the sealed file is left");
    let wrong = with_passphrase(&sandbox, "wrong", &["import", path, "--mount-as", "seven"]);
    assert_eq!((wrong.code, wrong.err.contains("passphrase")), (Some(1), true), "{wrong:?}");
    assert_eq!(sandbox.json(&["mounts"])["count"], 0);
    with_passphrase(&sandbox, "secret", &["import", path, "--mount-as", "seven"]).success("import");
    assert_eq!(sandbox.ok(&["get", "S/7/artifact/plan.md", "--raw", "--mount", "seven"]), "# Plan\n\nwhat the run planned");
    let resolved = sandbox.run(&["resolve-uri", "S/7/artifact/plan.md"]);
    assert_eq!((resolved.out.as_str(), resolved.err.as_str()), ("# Plan\n\nwhat the run planned", "from the mount seven\n"));
    assert_eq!(sandbox.json(&["find", "planned", "--mount", "seven"])["count"], 1);
    assert_eq!(sandbox.json(&["find", "planned"])["count"], 0);
    sandbox.fails(&["find", "x", "--mount", "eight"], 1, "mount_not_found");
}

#[test]
fn test_import_idempotent_same_hash_and_hash_conflict() {
    let sandbox = sandbox();
    let export = |name: &str| sandbox.json(&["export", "--run", "7", "--no-encrypt", "--out", name]);
    let (one, two) = (export("one.kapsa"), export("two.kapsa"));
    assert_eq!(one["content_hash"], two["content_hash"]);
    assert_eq!(std::fs::read(sandbox.path("one.kapsa")).expect("read"), std::fs::read(sandbox.path("two.kapsa")).expect("read"));
    sandbox.fails(&["export", "--run", "7", "--no-encrypt", "--out", "one.kapsa"], 1, "exists");
    let first = sandbox.json(&["import", "one.kapsa", "--mount-as", "seven"]);
    let again = sandbox.json(&["import", "two.kapsa", "--mount-as", "seven"]);
    assert_eq!((&first["already"], &again["already"]), (&false.into(), &true.into()));
    assert_eq!(sandbox.json(&["mounts"])["count"], 1);
    sandbox.ok(&["export", "--out", "all.kapsa"]);
    sandbox.fails(&["import", "all.kapsa", "--mount-as", "seven"], 1, "mount_hash_conflict");
    for odd in ["../x", "a/b", "", "a b", &"x".repeat(65)] {
        sandbox.fails(&["import", "one.kapsa", "--mount-as", odd], 1, "invalid_mount_name");
    }
    assert_eq!(sandbox.json(&["events", "--type", "CapsuleImported"])["count"], 1);
    assert_eq!(sandbox.json(&["events", "--type", "CapsuleExported"])["count"], 3);
}

#[test]
fn test_import_verification_failure_no_partial_mount() {
    let sandbox = sandbox();
    sandbox.ok(&["export", "--out", "all.kapsa"]);
    let mut bytes = std::fs::read(sandbox.path("all.kapsa")).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    sandbox.write("damaged.kapsa", &bytes);
    sandbox.write("foreign.kapsa", "this is no capsule, whatever its name says");
    sandbox.write("cut.kapsa", &bytes[..middle]);
    for (file, codes) in [("damaged.kapsa", 2), ("foreign.kapsa", 1), ("cut.kapsa", 2)] {
        let (code, error) = sandbox.error(&["import", file]);
        assert_eq!(code, codes, "{file} {error}");
        assert!(!error["message"].as_str().expect("text").contains(".part"), "{error}");
    }
    sandbox.fails(&["import", "missing.kapsa"], 1, "source_not_found");
    sandbox.fails(&["import", ".kapsa"], 1, "not_a_capsule");
    assert_eq!(sandbox.json(&["mounts"])["count"], 0);
    assert_eq!(std::fs::read_dir(sandbox.path(".kapsa/mounts")).expect("listed").count(), 0, "nothing is left behind");
}

#[test]
fn readable_exports_are_made_of_what_is_visible() {
    let sandbox = sandbox();
    sandbox.ok(&["put", "--uri", "../../etc/passwd".trim_start_matches("../"), "--text", "a name like a path"]);
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
    sandbox.run_with(&["put", "-", "--capsule", "other.kapsa"], &lines).success("put");
    assert_eq!(sandbox.json(&["get", "CON", "--capsule", "other.kapsa"])["tags"]["a"], "b: [c]");
    sandbox.fails(&["get", "shared", "--capsule", "other.kapsa"], 1, "uri_not_found");
    sandbox.fails(&["export", "--run", "nobody", "--no-encrypt"], 1, "invalid_operation");
    sandbox.fails(&["export", "--run", "7", "--format", "markdown"], 1, "usage");
}

#[test]
fn test_gc_preserves_pinned_and_leaves_an_audit_event() {
    let sandbox = sandbox();
    for name in ["old", "pinned"] {
        sandbox.ok(&["export", "--out", &format!(".kapsa/exports/{name}.kapsa")]);
    }
    sandbox.write(".kapsa/exports/pinned.kapsa.pin", "");
    sandbox.write(".kapsa/exports/notes.txt", "not ours");
    sandbox.write(".kapsa/mounts/x.kapsa.part", "left by an import");
    assert_eq!(sandbox.json(&["gc"])["exports_deleted"], 0, "they are young");
    sandbox.write(".kapsa/mounts/x.kapsa.part", "left by an import");
    let dry = sandbox.json(&["gc", "--retention-days", "0", "--dry-run"]);
    assert_eq!((&dry["exports_deleted"], &dry["temp_files_deleted"]), (&1.into(), &1.into()));
    assert!(sandbox.path(".kapsa/exports/old.kapsa").exists());
    let swept = sandbox.json(&["gc", "--retention-days", "0"]);
    assert_eq!((&swept["exports_preserved"], &swept["exports_skipped"]), (&1.into(), &1.into()));
    assert!(!sandbox.path(".kapsa/exports/old.kapsa").exists() && sandbox.path(".kapsa/exports/pinned.kapsa").exists());
    let audit = sandbox.json(&["events", "--type", "GateDecision"]);
    assert_eq!((&audit["count"], &audit["events"][0]["payload"]["gate_name"]), (&2.into(), &"CapsuleGC".into()));
}

#[test]
fn a_spoilt_mount_spoils_nothing_else() {
    let sandbox = sandbox();
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
    assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("workspace.kapsa.branch")), "{error}");
    sandbox.fails(&["get", "shared", "--branch", ""], 1, "invalid_operation");
}
