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
fn a_file_outside_of_the_project_has_its_whole_path_for_a_name() {
    let sandbox = Sandbox::new();
    let other = tempfile::tempdir().expect("a folder");
    let folder = other.path().canonicalize().expect("a folder").join("docs");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::write(folder.join("far.md"), "# Far\n\nfar away\n").expect("a file");
    let folder = folder.to_str().expect("UTF-8");
    sandbox.ok(&["put", &format!("{folder}/far.md")]);
    let again = sandbox.json(&["put", folder]);
    assert_eq!((&again["unchanged"], &again["added"]), (&1.into(), &0.into()));
    assert_eq!(sources(&sandbox), [format!("{folder}/far.md")]);
}

/// The sources of all records, each once.
fn sources(sandbox: &Sandbox) -> Vec<String> {
    let timeline = sandbox.json(&["timeline", "--limit", "1000"]);
    let records = timeline["records"].as_array().expect("a list");
    let name = |record: &serde_json::Value| Some(record["source"]["path"].as_str()?.to_string());
    let mut found: Vec<String> = records.iter().filter_map(name).collect();
    found.sort();
    found.dedup();
    found
}

/// A call in a folder below the sandbox's.
fn run_in(sandbox: &Sandbox, folder: &str, args: &[&str]) {
    let done =
        sandbox.command().args(args).current_dir(sandbox.path(folder)).output().expect("it runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn a_file_has_one_name_from_whatever_folder_it_is_put() {
    let sandbox = Sandbox::new();
    sandbox.write("docs/sub/a.md", "# Alpha\n\nwhales\n");
    sandbox.write("docs/b.md", "# Beta\n\nseals\n");
    sandbox.ok(&["put", "docs"]);
    let count = sandbox.count();
    for (folder, source) in [
        ("docs", "."),
        ("docs/sub", "a.md"),
        ("docs/sub", "../b.md"),
        (".kapsa", "../docs"),
        (".", "."),
    ] {
        run_in(&sandbox, folder, &["put", source]);
        assert_eq!(sandbox.count(), count, "{folder} {source}");
    }
    assert_eq!(sources(&sandbox), ["docs/b.md", "docs/sub/a.md"]);
}

#[test]
fn working_trees_of_a_repository_share_the_names_of_files() {
    let sandbox = Sandbox::empty();
    sandbox.write("main/docs/a.md", "# Alpha\n\nwhales\n");
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(args);
        let done = command.current_dir(sandbox.path("main")).output().expect("git runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    git(&["init", "-q"]);
    git(&["add", "docs"]);
    git(&["commit", "-qm", "x"]);
    git(&["worktree", "add", "-q", "../tree"]);
    run_in(&sandbox, "main", &["init"]);
    // A repository in another is a folder of it.
    for tree in ["main", "tree"] {
        sandbox.write(&format!("{tree}/inner/.git/HEAD"), "ref: refs/heads/main\n");
        sandbox.write(&format!("{tree}/inner/b.md"), "# Beta\n\nseals\n");
    }
    for (folder, source) in [
        ("main", "docs"),
        ("tree", "docs"),
        ("tree/docs", "a.md"),
        ("main", "inner"),
        ("main/inner", "b.md"),
        ("tree/inner", "b.md"),
    ] {
        let capsule = sandbox.path("main/.kapsa/workspace.kapsa");
        let capsule = capsule.to_str().expect("UTF-8");
        run_in(&sandbox, folder, &["put", source, "--capsule", capsule]);
    }
    let listed = sandbox.json(&["timeline", "--capsule", "main/.kapsa/workspace.kapsa"]);
    let records = listed["records"].as_array().expect("a list");
    let mut names: Vec<_> = records.iter().map(|record| &record["source"]["path"]).collect();
    names.sort_by_key(|name| name.to_string());
    assert_eq!(names, ["docs/a.md", "inner/b.md"]);
}

#[test]
fn a_document_under_an_older_name_gets_the_one_of_now() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("docs/a.md", "# Alpha\n\nwhales\n\n## Food\n\nkrill\n");
    // As it was stored when names were relative to the folder that a file was put from.
    sandbox.ok(&["put", "docs", "--classification", "confidential", "--domain", "sea"]);
    let lines = sandbox.ok(&["export", "--format", "jsonl", "--out", "-"]);
    let old = lines.replace("docs/a.md", "a.md");
    let older = Sandbox::new();
    older.write("docs/a.md", std::fs::read(file).expect("a file"));
    older.run_with(&["put", "-"], old.as_bytes()).success("put");
    assert_eq!(sources(&older), ["a.md"]);
    let count = older.count();
    let run = older.run(&["put", "docs"]);
    assert!(run.err.contains("a.md is called docs/a.md now"), "{}", run.err);
    assert_eq!((older.count(), sources(&older)), (count, vec!["docs/a.md".to_string()]));
    let led = older.json(&["get", "doc/a.md/food"]);
    assert_eq!((&led["source"]["path"], &led["domain"]), (&"docs/a.md".into(), &"sea".into()));
    assert_eq!(led["classification"], "confidential");
    let again = older.json(&["put", "docs"]);
    assert_eq!((&again["added"], &again["forgotten"]), (&0.into(), &0.into()));
    // A file that is called so now keeps what is its own.
    older.write("a.md", "# Alpha\n\nporpoises\n");
    older.ok(&["put", "a.md"]);
    older.ok(&["put", "docs"]);
    let again = older.json(&["put", "a.md", "docs"]);
    assert_eq!((&again["added"], &again["revised"]), (&0.into(), &0.into()));
    assert_eq!(sources(&older), ["a.md", "docs/a.md"]);
}

#[test]
fn what_is_gone_is_forgotten_where_it_is_asked_for() {
    let sandbox = Sandbox::new();
    for name in ["a", "sub/b", "sub/deep/c", "draft", "kept"] {
        sandbox.write(&format!("docs/{name}.md"), format!("# {name}\n\ntext of {name}\n"));
    }
    sandbox.write("other/d.md", "# D\n\ntext\n");
    sandbox.ok(&["put", "docs", "other"]);
    sandbox.json_with(
        &["put", "-"],
        br#"{"uri":"note/x","text":"not from a file","source":{"path":"docs/gone.md"}}"#,
    );
    std::fs::remove_dir_all(sandbox.path("docs/sub")).expect("removed");
    std::fs::remove_file(sandbox.path("other/d.md")).expect("removed");
    std::fs::rename(sandbox.path("docs/a.md"), sandbox.path("docs/new.md")).expect("renamed");
    // A file that is there and not read any more is not gone.
    sandbox.write("docs/.ignore", "draft.md\n");
    let told = sandbox.json(&["put", "docs"]);
    let warnings = told["warnings"].as_array().expect("warnings");
    let gone: Vec<&str> = warnings
        .iter()
        .map(|warning| warning["message"].as_str().expect("a message"))
        .map(|message| message.split(' ').next().expect("a name"))
        .collect();
    assert_eq!(gone, ["docs/a.md", "docs/sub/b.md", "docs/sub/deep/c.md"]);
    assert_eq!(told["skipped_by_kind"]["ignored"], 1);
    assert_eq!(sandbox.json(&["put", "docs", "--prune"])["forgotten"], 3);
    assert_eq!(
        sources(&sandbox),
        ["docs/draft.md", "docs/gone.md", "docs/kept.md", "docs/new.md", "other/d.md"]
    );
}

#[test]
fn what_a_folder_holds_and_is_not_read_is_counted_by_kind() {
    let sandbox = Sandbox::new();
    sandbox.write("p/.gitignore", "*.log\nbuild/\n!keep.log\n");
    sandbox.write("p/.git/HEAD", "ref: refs/heads/main\n");
    for (name, bytes) in [
        ("good.md", &b"# Good\n\ntext\n"[..]),
        ("zero.md", b"a\0b"),
        ("logo.png", b"\x89PNG"),
        ("photo.png", b"\x89PNG"),
        ("archive.zip", b"PK"),
        ("LICENSE", b"text"),
        ("trace.log", b"text"),
        ("build/out.md", b"text"),
        ("broken.pdf", b"not a PDF"),
        ("empty.html", b"<p></p>"),
        ("target/made.md", b"text"),
    ] {
        sandbox.write(&format!("p/{name}"), bytes);
    }
    let told = sandbox.json(&["put", "p"]);
    assert_eq!((&told["source_count"], &told["skipped"]), (&1.into(), &3.into()), "{told}");
    let want = serde_json::json!({
        ".png": 2, ".zip": 1, "damaged": 1, "generated": 1, "hidden": 2, "ignored": 2,
        "no_text": 1, "not_text": 1, "unknown": 1
    });
    assert_eq!(told["skipped_by_kind"], want);
    let run = sandbox.run(&["put", "p"]);
    assert!(run.out.contains("skipped: 2 .png, 1 .zip, 1 damaged, 1 generated"), "{}", run.out);
    assert!(run.err.contains("broken.pdf: not a PDF"), "{}", run.err);
    let run = sandbox.fails(&["put", "p/broken.pdf"], 1, "source_unreadable");
    assert!(run.to_string().contains("its own program"), "{run}");
}

/// Files of formats that programs made; the tests of the reader say with what.
const SAMPLES: [(&str, &[u8]); 8] = [
    ("harbour.pdf", include_bytes!("../../../documents/tests/it/samples/harbour.pdf")),
    ("lamp.docx", include_bytes!("../../../documents/tests/it/samples/lamp.docx")),
    ("berths.xlsx", include_bytes!("../../../documents/tests/it/samples/berths.xlsx")),
    ("storm.pptx", include_bytes!("../../../documents/tests/it/samples/storm.pptx")),
    ("tide.odt", include_bytes!("../../../documents/tests/it/samples/tide.odt")),
    ("sailors.epub", include_bytes!("../../../documents/tests/it/samples/sailors.epub")),
    ("crane.eml", include_bytes!("../../../documents/tests/it/samples/crane.eml")),
    ("box.mbox", include_bytes!("../../../documents/tests/it/samples/box.mbox")),
];

#[test]
fn documents_of_common_formats_become_passages() {
    let sandbox = Sandbox::new();
    for (name, bytes) in SAMPLES {
        sandbox.write(&format!("docs/{name}"), bytes);
    }
    sandbox.write("docs/page.html", "<title>Knots</title><h1>Bowline</h1><p>It never slips.");
    sandbox.write("docs/fleet.csv", "ship,port\nGull,Bergen\nTern,Stavanger\n");
    sandbox.write(
        "docs/lamp.rs",
        "//! Lamps.\n\n/// Turns it on.\npub fn ignite(lamp: &Lamp) -> bool {\n    lamp.on\n}\n",
    );
    let told = sandbox.json(&["put", "docs"]);
    assert_eq!((&told["source_count"], &told["skipped"]), (&11.into(), &0.into()), "{told}");
    assert_eq!(told["warnings"][0]["code"], "partly_read");
    for (query, uri, title) in [
        ("crane lifts forty tonnes", "doc/docs/harbour.pdf/page-1", "Harbour plan › page 1"),
        ("rape oil litres", "doc/docs/lamp.docx/oil", "Lamp manual › Oil"),
        ("Gull berth", "doc/docs/berths.xlsx/berths-rows-2-3", "Berths › rows 2-3"),
        ("check fenders", "doc/docs/storm.pptx/storm-season", "Storm season"),
        ("neap rises two", "doc/docs/tide.odt/neap", "Tide notes › Spring tide › Neap"),
        ("left at dawn", "doc/docs/sailors.epub/departure", "Sailors › Departure"),
        (
            "inspector comes Thursday",
            "doc/docs/crane.eml/crane-inspection-thursday",
            "Crane inspection – Thursday",
        ),
        ("ropes hang by the door", "doc/docs/box.mbox/ropes", "Ropes"),
        ("bowline never slips", "doc/docs/page.html/bowline", "Knots › Bowline"),
        ("Tern Stavanger", "doc/docs/fleet.csv/rows-2-3", "rows 2-3"),
        ("ignite lamp on", "doc/docs/lamp.rs/ignite", "pub fn ignite(lamp: &Lamp) -> bool"),
    ] {
        let found = sandbox.json(&["find", query, "--mode", "lex"]);
        let hit = &found["hits"][0];
        assert_eq!(hit["uri"], format!("mv2://default/{uri}"), "{query}: {found}");
        assert_eq!(hit["title"], title, "{query}");
    }
    let page = sandbox.json(&["get", "doc/docs/harbour.pdf/page-2"]);
    assert_eq!(
        (&page["metadata"]["place"], &page["metadata"]["author"]),
        (&"page 2".into(), &"Ann Lee".into())
    );
    let mail = sandbox.json(&["get", "doc/docs/crane.eml/crane-inspection-thursday"]);
    assert_eq!(mail["metadata"]["from"], "Ann Lee <ann@example.org>");
    assert_eq!(mail["created_at"], "2026-03-03T09:00:00Z");
    let code = sandbox.json(&["get", "doc/docs/lamp.rs/ignite"]);
    assert_eq!(
        (&code["source"]["line_start"], &code["source"]["line_end"]),
        (&3.into(), &6.into())
    );
    let again = sandbox.json(&["put", "docs"]);
    assert_eq!(
        (&again["added"], &again["revised"], &again["commit_count"]),
        (&0.into(), &0.into(), &0.into())
    );
    sandbox.write("docs/lamp.rs", "//! Lamps.\nuse std::fmt;\n\n/// Turns it on.\npub fn ignite(lamp: &Lamp) -> bool {\n    lamp.on\n}\n");
    let edited = sandbox.json(&["put", "docs"]);
    assert_eq!(
        (&edited["revised"], &edited["added"], &edited["forgotten"]),
        (&1.into(), &0.into(), &0.into()),
        "{edited}"
    );
    let run = sandbox.ok(&["find", "crane lifts forty", "--mode", "lex"]);
    assert!(run.contains("docs/harbour.pdf"), "{run}");
}

#[test]
fn a_document_that_cannot_be_read_is_an_error_that_says_what_to_do() {
    let sandbox = Sandbox::new();
    let locked = include_bytes!("../../../documents/tests/it/samples/locked.pdf");
    for (name, bytes, why, hint) in [
        ("locked.pdf", &locked[..], "a password protects it", "without the password"),
        ("cut.docx", &SAMPLES[1].1[..900], "not an archive", "its own program"),
        ("blank.html", b"<script>x</script>", "it holds no text", "its text in a file"),
        ("old.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1", "before 2007", "its own program"),
    ] {
        sandbox.write(name, bytes);
        let failed = sandbox.fails(&["put", name], 1, "source_unreadable").to_string();
        assert!(failed.contains(why) && failed.contains(hint), "{failed}");
    }
    assert_eq!(sandbox.count(), 0);
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
fn links_and_fifos_are_not_read() {
    let sandbox = Sandbox::new();
    sandbox.write("docs/good.md", "# Good\n\ntext\n");
    fifo(&sandbox.path("docs/pipe.md"));
    std::os::unix::fs::symlink("/etc/hostname", sandbox.path("docs/link.md")).expect("a link");
    std::os::unix::fs::symlink(sandbox.path("docs"), sandbox.path("docs/loop")).expect("a link");
    assert_eq!(sandbox.json(&["put", "docs"])["source_count"], 1);
    sandbox.fails(&["put", "docs/pipe.md"], 1, "source_unreadable");
    sandbox.fails(&["put", "/dev/zero"], 1, "source_unreadable");
}

#[test]
fn files_whose_names_are_alike_keep_passages_of_their_own() {
    let sandbox = Sandbox::new();
    for (name, text) in [
        ("s/README.md", "upper"),
        ("s/readme.md", "lower"),
        ("s/a b.md", "space"),
        ("s/a-b.md", "dash"),
    ] {
        sandbox.write(name, format!("# Usage\n\nOf the {text} file.\n"));
    }
    if std::fs::read_dir(sandbox.path("s")).expect("a folder").count() < 4 {
        return; // This file system does not tell them apart either.
    }
    assert_eq!(sandbox.json(&["put", "s"])["added"], 4);
    for text in ["upper", "lower", "space", "dash"] {
        let found = sandbox.json(&["find", text]);
        assert!(
            found["hits"][0]["snippet"].as_str().is_some_and(|hit| hit.contains(text)),
            "{found}"
        );
    }
    let again = sandbox.json(&["put", "s"]);
    assert_eq!((&again["unchanged"], &again["added"]), (&4.into(), &0.into()), "{again}");
}

#[test]
fn a_document_that_was_emptied_has_no_passages() {
    let sandbox = Sandbox::new();
    sandbox.write("src/quay.py", "def moor():\n    return 1\n");
    sandbox.ok(&["put", "src"]);
    sandbox.write("src/quay.py", "\n");
    assert!(sandbox.json(&["put", "src"])["forgotten"].as_u64() > Some(0));
    assert_eq!(sandbox.count(), 0);
}

#[test]
fn what_came_from_a_folder_that_is_gone_can_be_forgotten() {
    let sandbox = Sandbox::new();
    for name in ["docs/a.md", "docs/sub/deep/b.md", "docs-2/c.md", "d.md"] {
        sandbox.write(name, format!("# {name}\n\ntext of {name}\n"));
    }
    sandbox.ok(&["put", "docs", "docs-2", "d.md"]);
    std::fs::remove_dir_all(sandbox.path("docs")).expect("removed");
    std::fs::remove_file(sandbox.path("d.md")).expect("removed");
    let error = sandbox.fails(&["put", "docs"], 1, "source_unreadable");
    assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("--prune")), "{error}");
    sandbox.fails(&["put", "never", "--prune"], 1, "source_unreadable");
    assert_eq!(sources(&sandbox), ["d.md", "docs-2/c.md", "docs/a.md", "docs/sub/deep/b.md"]);
    run_in(&sandbox, "docs-2", &["put", "../docs/sub", "--prune"]);
    assert_eq!(sources(&sandbox), ["d.md", "docs-2/c.md", "docs/a.md"]);
    assert_eq!(sandbox.json(&["put", "docs", "d.md", "--prune"])["forgotten"], 2);
    assert_eq!(sources(&sandbox), ["docs-2/c.md"]);
}

#[test]
fn passages_that_other_records_hold_are_left_out_where_only_new_ones_are_wanted() {
    let sandbox = Sandbox::new();
    sandbox.write("guide.md", GUIDE);
    let first = sandbox.json(&["put", "--if-new", "guide.md"]);
    let count = first["added"].as_u64().expect("a number");
    let again = sandbox.json(&["put", "--if-new", "guide.md"]);
    assert_eq!((&again["added"], &again["unchanged"]), (&0.into(), &count.into()));
    sandbox.write("copy.md", format!("{GUIDE}\n## More\n\nA passage of its own.\n"));
    let copy = sandbox.json(&["put", "--if-new", "copy.md"]);
    assert_eq!((&copy["added"], &copy["unchanged"]), (&1.into(), &count.into()), "{copy}");
    assert_eq!(sandbox.count(), count + 1);
    let copy = sandbox.json(&["put", "--if-new", "copy.md"]);
    assert_eq!((&copy["added"], &copy["forgotten"]), (&0.into(), &0.into()), "{copy}");
}

#[test]
fn a_document_that_cannot_be_stored_does_not_stop_those_after_it() {
    let sandbox = Sandbox::new();
    // Each heading is wide enough for a title of nine to be longer than a field.
    let headings: String = (1..=9)
        .map(|level| format!("<h outline-level='{level}'>{level} {}</h>", "語".repeat(190)))
        .collect();
    let content = format!("<d>{headings}<p>moored</p></d>");
    sandbox.write("docs/a.odt", office("content.xml", &content));
    let long = "name/".repeat(40) + "long.txt";
    sandbox.write(&format!("docs/{long}"), "x\n\n".repeat(10));
    sandbox.write("docs/b.csv", "n\n".to_string() + &"1\n".repeat(5));
    sandbox.write("docs/z.md", "# Last\n\nsails\n");
    let run = sandbox.run(&["put", "docs"]);
    run.success("put");
    assert!(sandbox.ok(&["find", "sails"]).contains("docs/z.md"));
    let hit = &sandbox.json(&["find", "moored"])["hits"][0];
    assert_eq!(hit["source"]["path"], "docs/a.odt", "{hit}");
    assert!(hit["title"].as_str().is_some_and(|title| title.len() <= 4096 && title.len() > 4000));
    // More passages than one commit holds.
    let mut many = String::new();
    for at in 0..(1 << 16) + 2 {
        many.push_str(&format!("# h{at}\n\nx\n\n"));
    }
    sandbox.write("more/a.md", many);
    sandbox.write("more/b.md", "# After\n\nanchors\n");
    let told = sandbox.json(&["put", "more"]);
    assert_eq!((&told["skipped"], &told["source_count"]), (&1.into(), &1.into()), "{told}");
    assert_eq!(told["skipped_by_kind"]["too_large"], 1, "{told}");
    let warning = told["warnings"][0]["message"].as_str().expect("a warning");
    assert!(warning.contains("more/a.md") && warning.contains("passages"), "{warning}");
    assert!(sandbox.ok(&["find", "anchors"]).contains("more/b.md"));
    let named = sandbox.run(&["put", "more/a.md"]);
    assert!(named.code == Some(1) && named.err.contains("more/a.md"), "{named:?}");
}

/// An archive of one part, which is not packed.
fn office(name: &str, content: &str) -> Vec<u8> {
    let crc = content.bytes().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
    });
    let (crc, size) = ((!crc).to_le_bytes(), (content.len() as u32).to_le_bytes());
    let named = (name.len() as u16).to_le_bytes();
    let about =
        [&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &crc, &size, &size, &named, &[0, 0]].concat();
    let mut bytes = [b"PK\x03\x04", &about[..], name.as_bytes(), content.as_bytes()].concat();
    let start = bytes.len() as u32;
    bytes.extend([b"PK\x01\x02", &[20, 0][..], &about, &[0; 14], name.as_bytes()].concat());
    let length = bytes.len() as u32 - start;
    bytes.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    bytes.extend([length.to_le_bytes(), start.to_le_bytes()].concat());
    bytes.extend([0, 0]);
    bytes
}

#[test]
fn a_file_of_the_same_name_takes_nothing_of_one_that_is_gone() {
    let sandbox = Sandbox::new();
    let licence = "## Licence\n\nDo as you please with it.\n";
    let deploy = "## Deploy\n\nPush to the harbour.\n";
    let readme = sandbox.write("README.md", format!("# One\n\n{licence}\n{deploy}"));
    sandbox.ok(&["put", "README.md"]);
    std::fs::remove_file(readme).expect("removed");
    sandbox.write("sub/README.md", format!("# Two\n\n{licence}\n## Other\n\nelse\n"));
    let told = sandbox.json(&["put", "sub/README.md"]);
    assert_eq!(told["forgotten"], 0, "{told}");
    assert!(sandbox.ok(&["find", "push harbour"]).contains("README.md"));
    assert_eq!(sources(&sandbox), ["README.md", "sub/README.md"]);
    // Most of it is in the other file: that moves, and what is not there stays.
    let old = sandbox.write("notes.md", format!("# A\n\n{licence}\n{deploy}\n## Own\n\nwalrus\n"));
    sandbox.ok(&["put", "notes.md"]);
    std::fs::remove_file(old).expect("removed");
    sandbox.write("sub/notes.md", format!("# A\n\n{licence}\n{deploy}"));
    let told = sandbox.json(&["put", "sub/notes.md"]);
    assert_eq!((&told["forgotten"], &told["added"]), (&3.into(), &3.into()), "{told}");
    assert!(sandbox.ok(&["find", "walrus"]).contains("notes.md"));
}
