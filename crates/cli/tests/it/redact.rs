//! `redact` at the command line: whole files, lines of JSON, what is refused.

use crate::support::Sandbox;

/// A made-up token, in two parts so that no scanner of repositories takes it for a real one.
fn token() -> String {
    format!("{}_{}", "ghp", "q7Zk3Qm81xYtR5vB9cLw2NfHs6DgJp4aUe0o")
}

#[test]
fn a_text_is_printed_without_its_secrets_and_needs_no_capsule() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("a.txt"), format!("one\nmy {}.\r\nlast", token()))
        .expect("written");
    let run = sandbox.run(&["redact", "a.txt"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "one\nmy [REDACTED:github_token].\r\nlast"));
    assert_eq!(run.err, "1 github_token went (rules 2)\n");
    let run = sandbox.run(&["redact", "--check", "a.txt"]);
    assert_eq!(run.out, "2:4  github_token  40 bytes\n");
    assert!(!run.out.contains(&token()[..8]) && !run.err.contains(&token()[..8]));
}

#[test]
fn places_are_lines_and_columns() {
    let sandbox = Sandbox::new();
    let text = "é a@kapsa-memory.dev b@kapsa-memory.dev\nx\né\tc@kapsa-memory.dev";
    std::fs::write(sandbox.path("a.txt"), text).expect("written");
    let found = sandbox.json(&["redact", "--check", "a.txt"]);
    let found = found["found"].as_array().expect("a list");
    let places: Vec<(u64, u64)> = found
        .iter()
        .map(|one| [&one["line"], &one["column"]].map(|at| at.as_u64().expect("a number")))
        .map(|[line, column]| (line, column))
        .collect();
    assert_eq!(places, [(1, 3), (1, 22), (3, 3)]);
}

#[test]
fn lines_of_json_keep_their_other_bytes() {
    let sandbox = Sandbox::new();
    let lines = format!("{{\"a\" :1.0, \"text\":\"x\\n{0}\"}}\n\n{{\"cut\": \"{0}", token());
    std::fs::write(sandbox.path("a.jsonl"), &lines).expect("written");
    let run = sandbox.run(&["redact", "a.jsonl"]);
    let mark = "[REDACTED:github_token]";
    assert_eq!(
        run.out,
        format!("{{\"a\" :1.0, \"text\":\"x\\n{mark}\"}}\n\n{{\"cut\": \"{mark}\"")
    );
    let found = sandbox.json(&["redact", "--check", "a.jsonl"]);
    assert_eq!((&found["found"][1]["line"], &found["text"]), (&3.into(), &serde_json::Value::Null));
    assert_eq!(found["counts"]["github_token"], 2);
}

#[test]
fn bytes_that_are_no_text_do_no_harm() {
    let sandbox = Sandbox::new();
    let bytes = [b"\xff\xfe {\"a\": \"\x00", token().as_bytes(), b"\"}\xc3"].concat();
    for name in ["a.bin", "b.bin"] {
        let head: &[u8] = if name == "a.bin" { b"" } else { b"\xef\xbb\xbf{}\n" };
        std::fs::write(sandbox.path(name), [head, &bytes].concat()).expect("written");
        let run = sandbox.run(&["redact", name]);
        assert_eq!(run.code, Some(0), "{}", run.err);
        assert!(run.out.contains("[REDACTED:github_token]") && !run.out.contains(&token()[8..]));
    }
}

#[test]
fn what_cannot_be_read_is_named_and_principals_read_no_files() {
    let sandbox = Sandbox::new();
    let error = sandbox.fails(&["redact", "missing.txt"], 2, "io");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("missing.txt")));
    sandbox.run(&["init"]);
    std::fs::write(sandbox.path("a.txt"), "hidden").expect("written");
    sandbox.fails(&["redact", "a.txt", "--as", "guest"], 1, "access_denied");
}
