//! Files of any bytes, put under a URI.

use serde_json::Value;

use crate::support::{Sandbox, bytes, fifo};

/// The smallest PNG: one transparent pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xff\xff?\0\x05\xfe\x02\xfe\xa35\x81\x84\0\0\0\0IEND\xaeB`\x82";

/// Bytes that look like nothing and repeat nowhere.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[test]
fn a_file_of_any_bytes_comes_back_as_it_was() {
    let sandbox = Sandbox::new();
    let large = noise(5 << 20);
    for (name, content) in [("dot.png", PNG), ("dump.bin", &large), ("empty", b"")] {
        let file = sandbox.write(name, content);
        let uri = format!("file/{name}");
        let put = sandbox.json(&["put", "--uri", &uri, file.to_str().expect("UTF-8")]);
        assert_eq!(put["change"], "added");
        let back = sandbox.path("back");
        sandbox.ok(&["resolve-uri", &uri, "--out", back.to_str().expect("UTF-8")]);
        assert!(bytes(&back) == content, "{name}");
        let mut command = sandbox.command();
        let raw = command.args(["get", &uri, "--raw"]).output().expect("the binary runs");
        assert!(raw.status.success() && raw.stdout == content, "{name}");
        let again = sandbox.json(&["put", "--uri", &uri, file.to_str().expect("UTF-8")]);
        assert_eq!((&again["change"], &again["sequence"]), (&"unchanged".into(), &put["sequence"]));
    }
    let image = sandbox.json(&["get", "file/dot.png"]);
    let content = &image["file"];
    assert_eq!(
        (&content["name"], &content["media_type"]),
        (&"dot.png".into(), &"image/png".into())
    );
    assert_eq!(content["size_bytes"], PNG.len());
    assert_eq!((&image["kind"], &image["title"]), (&"file".into(), &"dot.png".into()));
    assert!(sandbox.ok(&["get", "file/dot.png"]).contains("dot.png, image/png, "));
    assert_eq!(sandbox.json(&["find", "dot.png"])["hits"][0]["uri"], "mv2://default/file/dot.png");
    let resolved = sandbox.json(&["resolve-uri", "file/dot.png"]);
    assert_eq!(resolved["size_bytes"], PNG.len());
    assert!(resolved["preview"].as_str().is_some_and(|preview| preview.contains("PNG")));
    let log = sandbox.ok(&["log", "--all"]);
    assert!(log.contains("file/dot.png") && !log.contains("kapsa/blob"), "{log}");
    sandbox.ok(&["compact"]);
    assert!(sandbox.ok(&["verify"]).contains("intact"), "{}", sandbox.ok(&["verify"]));
}

#[test]
fn a_document_is_found_by_its_words_and_kept_as_it_was() {
    let sandbox = Sandbox::new();
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../documents/tests/it/samples");
    for (name, words) in [("harbour.pdf", "harbour"), ("lamp.docx", "lamp")] {
        let path = format!("{samples}/{name}");
        let uri = format!("file/{name}");
        sandbox.ok(&["put", "--uri", &uri, &path]);
        let text = sandbox.json(&["get", &uri])["text"].as_str().expect("a text").to_string();
        assert!(text.lines().count() > 1 && text.to_lowercase().contains(words), "{text}");
        let back = sandbox.path("back");
        sandbox.ok(&["resolve-uri", &uri, "--out", back.to_str().expect("UTF-8")]);
        assert!(bytes(&back) == bytes(path.as_ref()), "{name}");
    }
}

#[test]
fn text_is_the_text_of_its_record() {
    let sandbox = Sandbox::new();
    let text = "# Plan\r\n\r\nMove the queue to NATS.\n";
    let file = sandbox.write("plan.md", text);
    sandbox.ok(&["put", "--uri", "S-1/17/artifact/plan.md", file.to_str().expect("UTF-8")]);
    let plan = sandbox.json(&["get", "S-1/17/artifact/plan.md"]);
    assert_eq!((&plan["text"], &plan["title"]), (&text.into(), &"plan.md".into()));
    assert_eq!(plan["file"], Value::Null);
    let again = ["put", "--uri", "S-1/17/artifact/plan.md", file.to_str().expect("UTF-8")];
    assert_eq!(sandbox.json(&again)["change"], "unchanged");
    // A PDF may be all letters, and is no text.
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../documents/tests/it/samples");
    sandbox.ok(&["put", "--uri", "file/columns", &format!("{samples}/columns.pdf")]);
    assert_eq!(sandbox.json(&["get", "file/columns"])["file"]["media_type"], "application/pdf");
    // What cannot be read is stored and told.
    let cut = sandbox.write("cut.pdf", "%PDF-1.7\nnothing more");
    let run = sandbox.run(&["put", "--uri", "file/cut", cut.to_str().expect("UTF-8")]);
    assert!(run.code == Some(0) && run.err.contains("found by its name alone"), "{}", run.err);
    assert_eq!(sandbox.ok(&["resolve-uri", "S-1/17/artifact/plan.md"]), text);
}

#[test]
fn a_new_version_of_a_file_is_a_revision() {
    let sandbox = Sandbox::new();
    let (first, second) = (noise(100), [noise(100), b"more".to_vec()].concat());
    let file = sandbox.write("x.bin", &first);
    let path = file.to_str().expect("UTF-8");
    sandbox.ok(&["put", "--uri", "file/x", path]);
    sandbox.ok(&["commit", "--label", "v1"]);
    sandbox.write("x.bin", &second);
    assert_eq!(sandbox.json(&["put", "--uri", "file/x", path])["change"], "revised");
    let back = sandbox.path("back");
    let out = back.to_str().expect("UTF-8");
    sandbox.ok(&["resolve-uri", "file/x", "--as-of", "v1", "--out", out]);
    assert_eq!(bytes(&back), first);
    sandbox.ok(&["resolve-uri", "file/x", "--out", out]);
    assert_eq!(bytes(&back), second);
}

#[test]
fn what_is_no_file_is_refused_and_nothing_is_stored() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("folder");
    std::fs::create_dir(&folder).expect("a folder");
    let pipe = sandbox.path("pipe");
    fifo(&pipe);
    for path in [&folder, &pipe, &sandbox.path("nothing")] {
        let path = path.to_str().expect("UTF-8");
        sandbox.fails(&["put", "--uri", "file/x", path], 1, "source_unreadable");
    }
    assert_eq!(sandbox.count(), 0);
    let missing = sandbox.error(&["put", "--uri", "file/x", "nothing"]).1;
    assert!(missing["hint"].as_str().is_some_and(|hint| hint.contains("put --text nothing")));
    let folder = sandbox.error(&["put", "--uri", "file/x", "folder"]).1;
    assert!(folder["hint"].as_str().is_some_and(|hint| hint.contains("leave out --uri")));
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_the_system_makes_up_is_told_apart() {
    let sandbox = Sandbox::new();
    for args in [&["put", "/proc/self/status"][..], &["put", "--uri", "x", "/proc/self/status"]] {
        let error = sandbox.fails(args, 1, "source_unreadable");
        assert!(error["message"].as_str().is_some_and(|told| told.contains("makes it up")));
    }
    assert_eq!(sandbox.count(), 0);
}

#[test]
fn a_file_that_is_there_already_is_not_new() {
    let sandbox = Sandbox::new();
    let paths = [("a.bin", noise(100)), ("b.bin", noise(100)), ("c.bin", noise(101))]
        .map(|(name, bytes)| sandbox.write(name, bytes).to_str().expect("UTF-8").to_string());
    let put = |uri: &str, path: &str, more: &[&str]| {
        let put = sandbox.json(&[&["put", "--if-new", "--uri", uri, path], more].concat());
        (put["change"].clone(), put["uri"].clone())
    };
    let there = ("unchanged".into(), "mv2://default/file/a".into());
    assert_eq!(put("file/a", &paths[0], &[]).0, "added");
    assert_eq!(put("file/a", &paths[0], &["--title", "T"]), there);
    assert_eq!(put("file/b", &paths[1], &[]), there, "under another name");
    assert_eq!(put("file/b", &paths[2], &[]).0, "added");
    let text = sandbox.write("a.md", "tea").to_str().expect("UTF-8").to_string();
    assert_eq!(put("note/a", &text, &[]).0, "added");
    assert_eq!(put("note/a", &text, &["--title", "T"]).0, "unchanged");
    assert_eq!(put("note/b", &text, &[]).1, "mv2://default/note/a");
}

#[test]
fn the_blobs_of_a_file_are_no_records() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("x.bin", noise(5 << 20));
    sandbox.ok(&["put", "--text", "tea"]);
    sandbox.ok(&["put", "--uri", "file/x", file.to_str().expect("UTF-8")]);
    let counts = || {
        let stats = sandbox.json(&["stats"]);
        ["record_count", "tail_record_count"].map(|name| stats[name].as_u64().expect("a number"))
    };
    // The segment that came with the blobs holds the text that was there.
    assert_eq!(counts(), [2, 1]);
    assert!(sandbox.ok(&["stats"]).contains("records      2\n"));
    sandbox.ok(&["optimize"]);
    assert_eq!(counts(), [2, 0]);
    sandbox.ok(&["purge", "file/x", "--yes"]);
    let before = counts()[0];
    assert_eq!(sandbox.json(&["compact"])["purged"], 1, "the record, and no blob");
    assert_eq!(counts()[0], before - 1);
}

#[test]
fn a_principal_reads_the_files_that_it_may_know_and_stores_none() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["clearance", "set", "cro", "sales=internal"]);
    let image = sandbox.write("dot.png", PNG);
    let path = image.to_str().expect("UTF-8");
    sandbox.ok(&["put", "--uri", "file/open", "--domain", "sales", path]);
    sandbox.ok(&[
        "put",
        "--uri",
        "file/closed",
        "--domain",
        "hr",
        "--classification",
        "confidential",
        path,
    ]);
    let raw = |uri: &str| {
        sandbox.command().args(["--as", "cro", "get", uri, "--raw"]).output().expect("runs")
    };
    assert_eq!(raw("file/open").stdout, PNG);
    assert!(!raw("file/closed").status.success());
    for blob in ["kapsa/blob/x", &format!("kapsa/blob/{}", "0".repeat(64))] {
        sandbox.fails(&["--as", "cro", "get", blob], 1, "uri_not_found");
    }
    sandbox.fails(
        &["--as", "cro", "put", "--uri", "file/new", "--domain", "sales", path],
        1,
        "access_denied",
    );
    sandbox.fails(
        &["put", "--uri", &format!("kapsa/blob/{}", "0".repeat(64)), "--text", "x"],
        1,
        "invalid_operation",
    );
}

#[test]
fn an_export_of_records_as_text_says_that_files_stay() {
    let sandbox = Sandbox::new();
    let image = sandbox.write("dot.png", PNG);
    sandbox.ok(&["put", "--uri", "file/dot", image.to_str().expect("UTF-8")]);
    let lines = sandbox.path("all.jsonl");
    let run =
        sandbox.run(&["export", "--format", "jsonl", "--out", lines.to_str().expect("UTF-8")]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.contains("the bytes of 1 file are left out"), "{}", run.err);
    let capsule = sandbox.path("all.kapsa");
    let run = sandbox.run(&["export", "--out", capsule.to_str().expect("UTF-8")]);
    assert_eq!((run.code, run.err.contains("left out")), (Some(0), false), "{}", run.err);
    sandbox.json(&["import", capsule.to_str().expect("UTF-8"), "--mount-as", "m"]);
    let back = sandbox.path("back");
    sandbox.ok(&[
        "resolve-uri",
        "file/dot",
        "--mount",
        "m",
        "--out",
        back.to_str().expect("UTF-8"),
    ]);
    assert_eq!(bytes(&back), PNG);
}
