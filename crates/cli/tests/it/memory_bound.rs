//! Every verb within the memory that `docs/reliability.md` states, under the system's own limit.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::support::Sandbox;

/// Most memory that a verb takes for a file of at most 64 MB, in KiB: 600 MB.
const MEMORY_KIB: u64 = 600 << 10;
/// Texts of 15 MB that pack well: together they are far more than the limit.
const RECORDS: usize = 44;
const TEXT_BYTES: usize = 15 << 20;

/// The program, with no more address space than is allowed.
fn bounded(sandbox: &Sandbox, args: &[&str], memory_kib: u64) -> Command {
    let kapsa = sandbox.command();
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("ulimit -v {memory_kib}; exec \"$0\" \"$@\""))
        .arg(kapsa.get_program())
        .args(args)
        .current_dir(sandbox.path(""))
        // What malloc reserves for each processor is address space and not memory.
        .env("MALLOC_ARENA_MAX", "2");
    for (name, value) in kapsa.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// Runs a verb whose answer is of no interest, and may be huge.
fn run(sandbox: &Sandbox, args: &[&str], input: impl FnOnce(&mut dyn Write)) -> Output {
    let mut command = bounded(sandbox, args, MEMORY_KIB);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    input(&mut pipe);
    drop(pipe);
    child.wait_with_output().expect("it ends")
}

#[track_caller]
fn succeeds(sandbox: &Sandbox, args: &[&str], input: impl FnOnce(&mut dyn Write)) {
    let output = run(sandbox, args, input);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {:?} {said}", output.status);
}

#[test]
fn records_that_unpack_to_more_than_the_limit_are_put_read_and_exported() {
    let sandbox = Sandbox::new();
    // Few words, so that the time goes into what is measured here.
    let text = format!("The harbour keeps its lanterns lit. {}", "- ".repeat(TEXT_BYTES / 2));
    succeeds(&sandbox, &["put", "-"], |pipe| {
        for number in 0..RECORDS {
            write!(pipe, "{{\"uri\":\"note/{number}\",\"text\":\"{number} ").expect("it reads");
            pipe.write_all(text.as_bytes()).expect("it reads");
            pipe.write_all(b"\"}\n").expect("it reads");
        }
    });
    let file = std::fs::metadata(sandbox.capsule()).expect("there").len();
    assert!(file < 64 << 20, "{file} bytes");
    for args in [
        &["stats"][..],
        &["get", "note/7"],
        &["find", "lanterns", "--limit", "3"],
        &["find", "lanterns", "--limit", "3", "--json"],
        &["timeline", "--limit", "1000000"],
        &["timeline", "--limit", "1000000", "--json"],
        &["history", "note/7"],
        &["log"],
        &["verify"],
        &["doctor"],
        &["export", "--out", "part.kapsa"],
        &["export", "--format", "jsonl", "--out", "part.jsonl"],
        &["export", "--format", "markdown", "--out", "notes"],
        &["import", "part.kapsa"],
        &["clone", "copy.kapsa"],
        &["salvage", "saved.kapsa"],
        &["optimize"],
        &["compact"],
        &["put", "--text", "one more"],
    ] {
        succeeds(&sandbox, args, |_| {});
        // These are as large as all texts together.
        std::fs::remove_file(sandbox.path("part.jsonl")).ok();
        std::fs::remove_dir_all(sandbox.path("notes")).ok();
    }
}

#[test]
fn a_document_of_headings_alone_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("endless.md", "# a\n".repeat(4 << 20));
    let output = run(&sandbox, &["put", "endless.md", "--json"], |_| {});
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("passages"), "{said}");
    assert_eq!(sandbox.count(), 0);
}

#[test]
fn revisions_are_read_one_at_a_time() {
    let sandbox = Sandbox::new();
    let text = "- ".repeat(TEXT_BYTES / 2);
    let lines: String = (0..24)
        .map(|number| format!("{{\"uri\":\"note/a\",\"text\":\"{number} {text}\"}}\n"))
        .collect();
    sandbox.run_with(&["put", "-", "--batch", "4"], lines.as_bytes()).success("put");
    for args in [&["history", "note/a"][..], &["history", "note/a", "--json"]] {
        let mut command = bounded(&sandbox, args, MEMORY_KIB / 2);
        let output = command.stdout(Stdio::null()).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {:?} {said}", output.status);
    }
}
