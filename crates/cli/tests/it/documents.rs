//! `put` of files and folders.

use crate::support::{Sandbox, fifo};

const GUIDE: &str = "# Guide\n\nIntroduction to pockets.\n\n## Locks\n\nOne writer holds the lock.\n\n## Readers\n\nReaders never wait.\n";

#[test]
fn an_unchanged_document_adds_nothing_and_a_changed_one_only_what_changed() {
    let sandbox = Sandbox::new();
    sandbox.write("docs/guide.md", GUIDE);
    let first = sandbox.json(&["put", "docs"]);
    assert!(first["added"].as_u64().is_some_and(|added| added >= 2), "{first}");
    assert_eq!(first["source_count"], 1);
    let size = std::fs::metadata(sandbox.capsule()).expect("a capsule").len();
    let second = sandbox.json(&["put", "docs"]);
    assert_eq!(
        (&second["added"], &second["revised"], &second["commit_count"]),
        (&0.into(), &0.into(), &0.into())
    );
    assert_eq!(second["unchanged"], first["added"]);
    assert_eq!(std::fs::metadata(sandbox.capsule()).expect("a capsule").len(), size);
    sandbox.write("docs/guide.md", GUIDE.replace("never wait", "wait for nobody"));
    let third = sandbox.json(&["put", "docs"]);
    assert_eq!(third["record_count"], first["record_count"]);
    assert_eq!(third["commit_count"], 1);
    assert!(third["unchanged"].as_u64() > Some(0), "{third}");
}

#[test]
fn a_passage_that_is_gone_is_forgotten() {
    let sandbox = Sandbox::new();
    sandbox.write("guide.md", GUIDE);
    sandbox.json(&["put", "guide.md"]);
    let before = sandbox.count();
    sandbox.write("guide.md", GUIDE.split("## Readers").next().expect("a part"));
    let report = sandbox.json(&["put", "guide.md"]);
    assert!(report["forgotten"].as_u64() > Some(0), "{report}");
    assert!(sandbox.count() < before);
}

#[test]
fn a_hit_says_where_in_which_file_it_stands() {
    let sandbox = Sandbox::new();
    sandbox.write("docs/guide.md", GUIDE);
    sandbox.json(&["put", "docs", "--label", "manual", "--tag", "v=1"]);
    let found = sandbox.json(&["find", "writer holds lock"]);
    let hit = &found["hits"][0];
    assert_eq!(hit["source"]["path"], "docs/guide.md");
    let (from, to) = (hit["source"]["line_start"].as_u64(), hit["source"]["line_end"].as_u64());
    assert!(from <= Some(7) && to >= Some(7), "line 7 is between {from:?} and {to:?}");
    assert_eq!((&hit["label"], &hit["tags"]["v"]), (&"manual".into(), &"1".into()));
    assert!(sandbox.ok(&["find", "writer holds lock"]).contains("docs/guide.md:"));
}

#[test]
fn names_outside_the_folder_neither_climb_nor_leak() {
    let sandbox = Sandbox::new();
    let other = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(other.path().join("docs")).expect("a folder");
    std::fs::write(other.path().join("docs/far.md"), "# Far\n\nfar away\n").expect("a file");
    let file = other.path().join("docs/far.md");
    sandbox.ok(&["put", file.to_str().expect("UTF-8")]);
    sandbox.ok(&["put", other.path().join("docs").to_str().expect("UTF-8")]);
    let timeline = sandbox.json(&["timeline"]);
    let paths: Vec<_> = timeline["records"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|r| r["source"]["path"].clone())
        .collect();
    assert!(paths.contains(&"far.md".into()) && paths.contains(&"docs/far.md".into()), "{paths:?}");
    assert!(!timeline.to_string().contains(other.path().to_str().expect("UTF-8")));
}

#[test]
fn what_is_no_text_is_an_error_when_named_and_passed_over_in_a_folder() {
    let sandbox = Sandbox::new();
    sandbox.write("docs/good.md", "# Good\n\ntext\n");
    sandbox.write("docs/zero.md", b"a\0b");
    sandbox.write("docs/latin.txt", b"caf\xe9");
    sandbox.write("docs/target/made.md", "no");
    sandbox.write("docs/.hidden/x.md", "no");
    for name in ["docs/zero.md", "docs/latin.txt", "missing.md"] {
        sandbox.fails(&["put", name], 1, "source_unreadable");
    }
    let run = sandbox.run(&["put", "docs"]);
    assert_eq!(run.code, Some(0));
    assert_eq!(run.err.matches("skipped: ").count(), 2, "{}", run.err);
    let report = sandbox.json(&["put", "docs"]);
    assert_eq!((&report["source_count"], &report["skipped"]), (&1.into(), &2.into()));
}

#[test]
fn links_fifos_and_namesakes_are_not_read() {
    let sandbox = Sandbox::new();
    sandbox.write("docs/good.md", "# Good\n\ntext\n");
    fifo(&sandbox.path("docs/pipe.md"));
    std::os::unix::fs::symlink("/etc/hostname", sandbox.path("docs/link.md")).expect("a link");
    std::os::unix::fs::symlink(sandbox.path("docs"), sandbox.path("docs/loop")).expect("a link");
    assert_eq!(sandbox.json(&["put", "docs"])["source_count"], 1);
    sandbox.fails(&["put", "docs/pipe.md"], 1, "source_unreadable");
    sandbox.fails(&["put", "/dev/zero"], 1, "source_unreadable");
    let other = tempfile::tempdir().expect("a folder");
    for name in ["a", "b"] {
        std::fs::create_dir(other.path().join(name)).expect("a folder");
        std::fs::write(other.path().join(name).join("same.md"), name).expect("a file");
    }
    let path =
        |name: &str| other.path().join(name).join("same.md").to_str().expect("UTF-8").to_string();
    sandbox.fails(&["put", &path("a"), &path("b")], 1, "ambiguous_source");
}
