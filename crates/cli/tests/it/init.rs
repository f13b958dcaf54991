//! `init` and `create`.

use crate::support::{Sandbox, bytes};

#[test]
fn init_makes_a_capsule_that_is_not_committed() {
    let sandbox = Sandbox::empty();
    let made = sandbox.json(&["init"]);
    assert_eq!(made["created"], true);
    assert_eq!(made["capsule_path"], ".kapsa/workspace.kapsa");
    assert_eq!(bytes(&sandbox.path(".kapsa/.gitignore")), b"*\n");
    assert!(sandbox.capsule().is_file());
}

#[test]
fn init_again_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--text", "kept"]);
    let before = bytes(&sandbox.capsule());
    let made = sandbox.json(&["init"]);
    assert_eq!((&made["created"], &made["exists"]), (&false.into(), &true.into()));
    assert!(made["message"].as_str().is_some_and(|message| !message.is_empty()));
    assert_eq!(bytes(&sandbox.capsule()), before);
    assert!(sandbox.ok(&["init"]).contains("exists"));
}

#[test]
fn init_force_never_loses_an_older_backup() {
    let sandbox = Sandbox::new();
    for (text, backup) in [("first", ".bak"), ("second", ".bak.1"), ("third", ".bak.2")] {
        sandbox.ok(&["put", "--text", text]);
        let before = bytes(&sandbox.capsule());
        let made = sandbox.json(&["init", "--force"]);
        let name = format!(".kapsa/workspace.kapsa{backup}");
        assert_eq!((&made["created"], &made["backup_path"]), (&true.into(), &name.as_str().into()));
        assert_eq!(bytes(&sandbox.path(&name)), before);
        assert_eq!(sandbox.count(), 0);
    }
    let old = sandbox.json(&["timeline", "--capsule", ".kapsa/workspace.kapsa.bak"]);
    assert_eq!(old["records"][0]["text"], "first");
}

#[test]
fn init_force_sets_a_damaged_capsule_aside() {
    let sandbox = Sandbox::new();
    sandbox.write(".kapsa/workspace.kapsa", "something else entirely");
    sandbox.fails(&["init"], 1, "not_a_capsule");
    sandbox.ok(&["init", "--force"]);
    assert_eq!(bytes(&sandbox.path(".kapsa/workspace.kapsa.bak")), b"something else entirely");
    assert_eq!(sandbox.count(), 0);
}

#[test]
fn create_is_idempotent_and_refuses_other_files() {
    let sandbox = Sandbox::empty();
    assert_eq!(sandbox.json(&["create", "a.kapsa"])["created"], true);
    let before = bytes(&sandbox.path("a.kapsa"));
    assert_eq!(sandbox.json(&["create", "a.kapsa"])["exists"], true);
    assert_eq!(bytes(&sandbox.path("a.kapsa")), before);
    let foreign = sandbox.write("notes.txt", "mine");
    sandbox.fails(&["create", "notes.txt"], 1, "not_a_capsule");
    assert_eq!(bytes(&foreign), b"mine");
}

#[test]
fn the_capsule_is_found_from_below_by_flag_and_by_variable() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--text", "above"]);
    std::fs::create_dir_all(sandbox.path("a/b")).expect("folders");
    let below = sandbox
        .command()
        .current_dir(sandbox.path("a/b"))
        .args(["timeline"])
        .output()
        .expect("it runs");
    assert!(String::from_utf8_lossy(&below.stdout).contains("above"));
    sandbox.ok(&["create", "other.kapsa"]);
    let other = sandbox
        .command()
        .env("KAPSA_CAPSULE", "other.kapsa")
        .args(["timeline", "--json"])
        .output()
        .expect("it runs");
    assert!(String::from_utf8_lossy(&other.stdout).contains("\"count\":0"));
    assert_eq!(sandbox.json(&["timeline", "--capsule", "other.kapsa"])["count"], 0);
}

#[test]
fn no_capsule_is_an_error_with_a_hint_and_makes_nothing() {
    let sandbox = Sandbox::empty();
    for verb in ["timeline", "stats", "verify", "optimize", "compact"] {
        let error = sandbox.fails(&[verb], 1, "no_capsule");
        assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("kapsa init")), "{error}");
    }
    sandbox.fails(&["--capsule", "missing.kapsa", "stats"], 1, "capsule_not_found");
    sandbox.fails(&["--capsule", "missing.kapsa", "put", "--text", "x"], 1, "capsule_not_found");
    let left = std::fs::read_dir(sandbox.path("")).expect("a folder").count();
    assert_eq!(left, 0, "a failed call makes no file");
}

#[test]
fn folders_are_made_and_kept_out_of_version_control() {
    let sandbox = Sandbox::empty();
    assert_eq!(sandbox.json(&["create", "new/deep/a.kapsa"])["created"], true);
    assert_eq!(bytes(&sandbox.path("new/deep/.gitignore")), b"*\n");
    assert_eq!(sandbox.json(&["--capsule", "other/b.kapsa", "init"])["created"], true);
    assert!(sandbox.path("other/b.kapsa").is_file());
    std::fs::create_dir(sandbox.path("mine")).expect("a folder");
    sandbox.ok(&["create", "mine/a.kapsa"]);
    assert!(!sandbox.path("mine/.gitignore").exists(), "a folder of somebody else's is left alone");
}
