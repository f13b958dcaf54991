//! `sync --watch` as a process: sessions that are written while it runs, its end, its neighbours.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::traces::write_session;

/// Longest wait for anything: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);
const RULE: &str = "Never edit the files in generated/ by hand.";
const OTHER_RULE: &str = "Never commit to main directly.";

/// A watch, which is killed at the end of its test.
struct Watch<'a> {
    sandbox: &'a Sandbox,
    child: Child,
}

impl Watch<'_> {
    /// Starts one with `--idle 1s`, and waits until it looks at the files.
    fn begin<'a>(sandbox: &'a Sandbox, args: &[&str]) -> Watch<'a> {
        let file = |name: &str| File::create(sandbox.path(name)).expect("a file");
        let mut command = sandbox.command();
        command
            .args(["sync", "--watch", "--idle", "1s"])
            .args(args)
            .stdin(Stdio::null())
            .stdout(file("watch.out"))
            .stderr(file("watch.err"));
        let child = command.spawn().expect("the binary starts");
        Watch { sandbox, child }
    }

    fn out(&self) -> String {
        fs::read_to_string(self.sandbox.path("watch.out")).expect("readable")
    }

    fn err(&self) -> String {
        fs::read_to_string(self.sandbox.path("watch.err")).expect("readable")
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status().expect("kill starts");
        assert!(sent.success());
    }

    fn ended(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it can be asked") {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "it goes on: {}{}", self.out(), self.err());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn waits_for(&self, what: &str, mut is_there: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !is_there() {
            let said = (self.out(), self.err());
            assert!(begun.elapsed() < PATIENCE, "{what} in vain: {said:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        // May be dropped: most have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn memories(sandbox: &Sandbox) -> usize {
    sandbox.json(&["fact", "list", "--all"])["facts"].as_array().expect("a list").len()
}

fn line(said: &str) -> String {
    let line = json!({
        "type": "user",
        "uuid": said,
        "sessionId": "aa11",
        "cwd": "/src/shop",
        "timestamp": "2026-06-01T11:00:00.000Z",
        "message": {"role": "user", "content": said},
    });
    format!("{line}\n")
}

fn append(sandbox: &Sandbox, name: &str, text: &str) {
    let mut file = OpenOptions::new().append(true).open(sandbox.path(name)).expect("it opens");
    file.write_all(text.as_bytes()).expect("written");
}

fn folder() -> Sandbox {
    let sandbox = Sandbox::new();
    write_session(&sandbox, "traces/aa11.jsonl", "aa11", &["Rename it", "assistant: Done.", RULE]);
    sandbox
}

#[test]
fn what_is_said_while_a_watch_runs_becomes_a_memory() {
    let sandbox = folder();
    let mut watch = Watch::begin(&sandbox, &["traces"]);
    watch.waits_for("the first sync", || memories(&sandbox) == 1);
    // A line that is still being written is none.
    let (said, rest) = (line(OTHER_RULE), line("Thanks"));
    let (head, tail) = said.split_at(said.len() / 2);
    append(&sandbox, "traces/aa11.jsonl", head);
    let is_waiting = || sandbox.json(&["status"])["waiting_count"] == 1;
    watch.waits_for("a cut line", is_waiting);
    assert_eq!(memories(&sandbox), 1);
    append(&sandbox, "traces/aa11.jsonl", &format!("{tail}{rest}"));
    watch.waits_for("the rest", || memories(&sandbox) == 2);
    write_session(
        &sandbox,
        "traces/new/folder/bb22.jsonl",
        "bb22",
        &["Always use pnpm, never npm, in this repository."],
    );
    watch.waits_for("a new folder", || memories(&sandbox) == 3);
    watch.waits_for("a line of each", || watch.out().lines().count() >= 4);
    assert!(watch.out().lines().all(|line| line.contains("1 session")), "{}", watch.out());
    assert!(watch.err().contains("watching"), "{}", watch.err());
    let (out, before) = (watch.out(), crate::support::bytes(&sandbox.capsule()));
    sandbox.write("traces/notes.txt", "no trace");
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!((watch.out(), crate::support::bytes(&sandbox.capsule())), (out, before));
    assert_eq!(sandbox.json(&["status"])["jobs"], json!([]));
    watch.signal("TERM");
    assert_eq!(watch.ended().code(), Some(0));
    assert_eq!(sandbox.json(&["sync", "traces"])["files"]["read_count"], 0);
}

#[test]
fn a_capsule_has_one_watch_and_a_dead_one_keeps_nobody_away() {
    let sandbox = folder();
    let mut watch = Watch::begin(&sandbox, &["traces"]);
    watch.waits_for("the first sync", || memories(&sandbox) == 1);
    let error = sandbox.fails(&["sync", "--watch", "traces"], 4, "already_watched");
    assert_eq!(error["pid"], watch.child.id());
    let said = error["message"].as_str().expect("a message");
    assert!(said.contains(&watch.child.id().to_string()), "{said}");
    sandbox.ok(&["put", "--text", "others write meanwhile", "--lock-timeout", "0"]);
    watch.child.kill().expect("it can be killed");
    watch.ended();
    let mut next = Watch::begin(&sandbox, &["traces"]);
    append(&sandbox, "traces/aa11.jsonl", &line(OTHER_RULE));
    next.waits_for("the next watch", || memories(&sandbox) == 2);
    next.signal("INT");
    assert_eq!(next.ended().code(), Some(0));
}

#[test]
fn what_a_killed_watch_left_is_made_good() {
    const SESSIONS: usize = 40;
    let sandbox = Sandbox::new();
    for number in 0..SESSIONS {
        let id = format!("s{number}");
        let rule = format!("Never call service{number} without a timeout{number}.");
        write_session(&sandbox, &format!("traces/{id}.jsonl"), &id, &[&rule]);
    }
    let mut watch = Watch::begin(&sandbox, &["traces"]);
    watch.waits_for("some memories", || memories(&sandbox) > 0);
    watch.child.kill().expect("it can be killed");
    watch.ended();
    sandbox.ok(&["sync", "traces"]);
    let known = memories(&sandbox);
    let undisturbed = Sandbox::new();
    fs::rename(sandbox.path("traces"), undisturbed.path("traces")).expect("moved");
    undisturbed.ok(&["sync", "traces"]);
    assert_eq!(known, memories(&undisturbed));
    assert_eq!(sandbox.json(&["status"])["jobs"], json!([]));
    sandbox.ok(&["verify"]);
}

#[test]
fn another_writer_is_waited_for() {
    let sandbox = folder();
    let watch = Watch::begin(&sandbox, &["traces", "--lock-timeout", "0"]);
    watch.waits_for("the first sync", || memories(&sandbox) == 1);
    let mut writer = sandbox.hold_lock();
    append(&sandbox, "traces/aa11.jsonl", &line(OTHER_RULE));
    watch.waits_for("a word about the writer", || watch.err().contains("another writer"));
    drop(writer.stdin.take());
    assert!(writer.wait().expect("it ends").success());
    watch.waits_for("its turn", || memories(&sandbox) == 2);
}

#[test]
fn connected_places_are_watched_by_looking_at_them_and_told_to_programs() {
    let sandbox = folder();
    let mark = "[kapsa extraction v1] Propose what is kept.";
    write_session(&sandbox, "traces/own.jsonl", "own", &[mark, "assistant: {}"]);
    sandbox.ok(&["sync", "traces"]);
    let error = sandbox.fails(&["sync", "--watch"], 2, "usage");
    assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("kapsa connect")), "{error}");
    let mut connect = sandbox.command();
    connect.args(["connect", "traces"]).env("HOME", sandbox.path("home"));
    for name in ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME"] {
        connect.env_remove(name);
    }
    assert!(connect.output().expect("the binary starts").status.success());
    let mut watch = Watch::begin(&sandbox, &["--poll", "--json"]);
    let kept = || sandbox.json(&["status"])["session_count"].as_u64();
    let before = kept();
    write_session(&sandbox, "traces/own2.jsonl", "own2", &[mark, "assistant: {}"]);
    append(&sandbox, "traces/aa11.jsonl", &line(OTHER_RULE));
    watch.waits_for("a memory", || memories(&sandbox) == 2);
    watch.waits_for("a line", || !watch.out().is_empty());
    watch.signal("TERM");
    assert_eq!(watch.ended().code(), Some(0));
    assert_eq!(kept(), before, "its own sessions are left out");
    for line in watch.out().lines() {
        let told: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(
            (&told["sessions"]["read_count"], told["synced_at"].is_string()),
            (&json!(1), true)
        );
    }
    assert_eq!(watch.err(), "");
}

#[test]
fn what_is_read_when_a_watch_is_stopped_is_left_to_the_next_one() {
    let sandbox = folder();
    // A program that answers as a model once a file is there.
    let script = "cat > asked; while ! test -e go; do sleep 0.1; done; echo '[]'";
    sandbox.write("model.sh", script);
    sandbox.run(&["sync", "traces"]);
    let (go, asked) = (sandbox.path("go"), sandbox.path("asked"));
    fs::write(&go, "").expect("written");
    let mut watch = Watch::begin(&sandbox, &["--model", "command:sh model.sh", "traces"]);
    watch.waits_for("the first sync", || !watch.out().is_empty());
    fs::remove_file(&go).and_then(|()| fs::remove_file(&asked)).expect("removed");
    append(&sandbox, "traces/aa11.jsonl", &line(OTHER_RULE));
    watch.waits_for("a question", || asked.exists());
    let job = sandbox.json(&["status"])["jobs"][0].clone();
    assert_eq!((&job["state"], &job["pid"]), (&json!("running"), &json!(watch.child.id())));
    assert!(sandbox.ok(&["status"]).contains("read by process"));
    watch.signal("TERM");
    fs::write(&go, "").expect("written");
    assert_eq!(watch.ended().code(), Some(0));
    assert_eq!(watch.out().lines().count(), 1, "{}", watch.out());
    let job = sandbox.json(&["status"])["jobs"][0].clone();
    assert_eq!((&job["state"], &job["attempt_count"]), (&json!("pending"), &json!(0)));
    sandbox.ok(&["sync", "traces"]);
    assert_eq!((memories(&sandbox), &sandbox.json(&["status"])["jobs"]), (2, &json!([])));
}

#[test]
fn a_broken_file_is_tried_three_times_and_status_says_so() {
    let sandbox = folder();
    sandbox.write("traces/broken.db", b"SQLite format 3\0broken\x1b[31m");
    for attempt in 1..=3 {
        assert_eq!(sandbox.run(&["sync", "traces"]).code, Some(3));
        let job = sandbox.json(&["status"])["jobs"][0].clone();
        assert_eq!(job["attempt_count"], attempt);
        assert_eq!(job["state"], if attempt < 3 { "failed" } else { "dead_letter" });
        assert_eq!(job["next_at"].is_string(), attempt < 3);
        assert!(job["path"].as_str().is_some_and(|path| path.ends_with("broken.db")), "{job}");
        assert!(job["message"].as_str().is_some_and(|why| !why.is_empty()), "{job}");
        let said = if attempt < 3 { "next attempt" } else { "given up after 3 attempts" };
        assert!(sandbox.ok(&["status"]).contains(said));
    }
    let before = crate::support::bytes(&sandbox.capsule());
    let run = sandbox.run(&["sync", "traces"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.out.contains("1 given up") && run.err.contains("--force"), "{run:?}");
    assert_eq!(crate::support::bytes(&sandbox.capsule()), before);
    assert_eq!(sandbox.run(&["sync", "--force", "traces"]).code, Some(3));
    write_session(&sandbox, "traces/broken.db", "cc33", &[OTHER_RULE]);
    assert_eq!(sandbox.run(&["sync", "traces"]).code, Some(0));
    assert_eq!((memories(&sandbox), &sandbox.json(&["status"])["jobs"]), (2, &json!([])));
}

#[test]
fn a_watch_is_asked_for_rightly() {
    let sandbox = folder();
    for wrong in [
        &["sync", "--watch", "--idle", "soon", "traces"][..],
        &["sync", "--watch", "--idle", "0s", "traces"],
        &["sync", "--idle", "1s", "traces"],
        &["sync", "--poll", "traces"],
        &["sync", "--watch", "--dry-run", "traces"],
        &["sync", "--watch", "--force", "traces"],
    ] {
        sandbox.fails(wrong, 2, "usage");
    }
    sandbox.fails(&["sync", "--watch", "missing"], 1, "trace_not_found");
    sandbox.fails(&["sync", "--watch", "traces", "--as", "intern"], 1, "access_denied");
}
