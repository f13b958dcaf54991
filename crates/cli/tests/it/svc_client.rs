//! Tests that a client behaving as the contract says gets along with the program, whatever comes
//! between them.
//!
//! The client below does what items 14 to 21 of the contract ask for: one process for each call, an
//! argument vector without a shell, both outputs drained at once, a timeout that is kept. It is
//! tested first, against scripts; then it is the witness.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{Sandbox, bytes};

/// For calls that are expected to end.
const PATIENT: Duration = Duration::from_secs(60);
/// For calls that are expected not to.
const SHORT: Duration = Duration::from_millis(300);
const MIB: usize = 1 << 20;

/// How the two outputs are read.
#[derive(Clone, Copy)]
enum Drain {
    /// Both at once, as item 19 wants it.
    Together,
    /// Standard output to its end and only then standard error, as the first design did.
    InTurn,
}

/// The contract's client.
struct Client<'a> {
    program: Box<dyn Fn() -> Command + Send + Sync + 'a>,
    timeout: Duration,
    drain: Drain,
}

#[derive(Serialize)]
struct Document<'a> {
    title: &'a str,
    label: &'a str,
    text: &'a str,
    metadata: Option<BTreeMap<&'a str, &'a str>>,
}

#[derive(Deserialize)]
struct Created {
    ok: bool,
    created: String,
}

/// The first client keeps it in 32 bits.
#[derive(Deserialize)]
struct Stored {
    frame_id: i32,
}

#[derive(Deserialize)]
struct Results {
    results: Vec<FoundEntry>,
}

#[derive(Deserialize)]
struct FoundEntry {
    title: String,
    text: String,
    score: f64,
}

#[derive(Deserialize)]
struct Entries {
    entries: Vec<Entry>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Entry {
    title: String,
    label: String,
    text: String,
}

#[derive(Deserialize)]
struct Info {
    path: String,
    frames: u64,
    size_bytes: u64,
}

/// What the client raises.
#[derive(Debug, PartialEq)]
struct Failure(String);

/// How a process ended.
#[derive(Clone, Debug, Default, PartialEq)]
struct Reply {
    /// None when a signal ended it.
    code: Option<i32>,
    out: String,
    err: String,
}

enum Event {
    Out(Vec<u8>),
    Err(Vec<u8>),
    Ended(Option<i32>),
}

/// A call under way.
struct Running {
    pid: u32,
    stdin: Option<ChildStdin>,
    /// Ends when the process has ended and nobody holds its outputs any more.
    events: Receiver<Event>,
    started: Instant,
}

fn arguments(command: &str, rest: &[&str]) -> Vec<String> {
    ["-m", "src", command].iter().chain(rest).map(ToString::to_string).collect()
}

impl<'a> Client<'a> {
    fn of(sandbox: &'a Sandbox) -> Client<'a> {
        Client { program: Box::new(|| sandbox.command()), timeout: PATIENT, drain: Drain::Together }
    }

    /// A client whose program is a script, for which its arguments are.
    fn of_script(script: &'a str, timeout: Duration, drain: Drain) -> Client<'a> {
        let program = move || {
            let mut command = Command::new("bash");
            command.args(["-c", script, "bash"]);
            command
        };
        Client { program: Box::new(program), timeout, drain }
    }

    fn create(&self, path: &str) -> Result<String, Failure> {
        let created: Created = self.ask("create", &[path], None)?;
        assert!(created.ok);
        Ok(created.created)
    }

    fn put(&self, path: &str, document: &Document<'_>) -> Result<i32, Failure> {
        let stdin = serde_json::to_vec(document).expect("it is plain data");
        Ok(self.ask::<Stored>("put", &[path], Some(stdin))?.frame_id)
    }

    fn find(
        &self,
        path: &str,
        query: &str,
        k: usize,
        mode: &str,
    ) -> Result<Vec<FoundEntry>, Failure> {
        let k = k.to_string();
        Ok(self
            .ask::<Results>("find", &[path, "--query", query, "--k", &k, "--mode", mode], None)?
            .results)
    }

    fn timeline(&self, path: &str, limit: usize) -> Result<Vec<Entry>, Failure> {
        Ok(self.ask::<Entries>("timeline", &[path, "--limit", &limit.to_string()], None)?.entries)
    }

    fn info(&self, path: &str) -> Result<Info, Failure> {
        self.ask("info", &[path], None)
    }

    fn ask<T: DeserializeOwned>(
        &self,
        command: &str,
        rest: &[&str],
        stdin: Option<Vec<u8>>,
    ) -> Result<T, Failure> {
        let value = answer(&self.call(command, rest, stdin)?)?;
        serde_json::from_value(value).map_err(|error| Failure(format!("{command}: {error}")))
    }

    /// Without a document standard input stays open: nothing but `put` may wait for it.
    fn call(&self, command: &str, rest: &[&str], stdin: Option<Vec<u8>>) -> Result<Reply, Failure> {
        let mut running = self.start(command, rest);
        if let Some(stdin) = stdin {
            running.feed(stdin);
        }
        running.finish(self.timeout)
    }

    fn start(&self, command: &str, rest: &[&str]) -> Running {
        let mut process = (self.program)();
        process.args(arguments(command, rest)).process_group(0);
        process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = process.spawn().expect("the program starts");
        let (pid, stdin) = (child.id(), child.stdin.take());
        let (out, err) =
            (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
        let (sender, events) = channel();
        match self.drain {
            Drain::Together => {
                let (of_out, of_err) = (sender.clone(), sender.clone());
                thread::spawn(move || drain(out, Event::Out, &of_out));
                thread::spawn(move || drain(err, Event::Err, &of_err));
            }
            Drain::InTurn => {
                let of_both = sender.clone();
                thread::spawn(move || {
                    drain(out, Event::Out, &of_both);
                    drain(err, Event::Err, &of_both);
                });
            }
        }
        thread::spawn(move || sender.send(Event::Ended(child.wait().expect("it is ours").code())));
        Running { pid, stdin, events, started: Instant::now() }
    }
}

fn drain(mut pipe: impl Read, event: fn(Vec<u8>) -> Event, events: &Sender<Event>) {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes).expect("a pipe can be read");
    events.send(event(bytes)).ok();
}

impl Running {
    /// Writes standard input and closes it, beside everything else. What the program does not want
    /// to read is its business.
    fn feed(&mut self, bytes: Vec<u8>) {
        let mut pipe = self.stdin.take().expect("it was not fed before");
        thread::spawn(move || pipe.write_all(&bytes).ok());
    }

    /// What it answered; it is killed with all that it started if it has not ended by then.
    fn finish(self, timeout: Duration) -> Result<Reply, Failure> {
        let mut reply = Reply::default();
        let text = |bytes| String::from_utf8(bytes).expect("the outputs are UTF-8");
        loop {
            match self.events.recv_timeout(timeout.saturating_sub(self.started.elapsed())) {
                Ok(Event::Out(bytes)) => reply.out = text(bytes),
                Ok(Event::Err(bytes)) => reply.err = text(bytes),
                Ok(Event::Ended(code)) => reply.code = code,
                Err(RecvTimeoutError::Disconnected) => return Ok(reply),
                Err(RecvTimeoutError::Timeout) => break,
            }
        }
        self.kill();
        self.until_nothing_is_left();
        Err(Failure(format!("no answer within {} ms", timeout.as_millis())))
    }

    /// Comes back when the process has the lock file open, which it has from its first try until it
    /// has the lock and is done.
    #[cfg(target_os = "linux")]
    fn waits_for_lock(&self) {
        let opened = || {
            let descriptors =
                std::fs::read_dir(format!("/proc/{}/fd", self.pid)).into_iter().flatten().flatten();
            let mut files =
                descriptors.filter_map(|descriptor| std::fs::read_link(descriptor.path()).ok());
            files.any(|file| file.extension().is_some_and(|end| end == "lock"))
        };
        while !opened() {
            assert!(self.started.elapsed() < PATIENT, "it does not try to take the lock");
            thread::yield_now();
        }
    }

    /// Comes back when nobody holds an output any more, neither the process nor what it started.
    fn until_nothing_is_left(&self) {
        loop {
            match self.events.recv_timeout(PATIENT) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => panic!("something outlived the kill"),
            }
        }
    }

    fn kill(&self) {
        // It fails when the group is gone already, which is what is wanted.
        Command::new("bash")
            .args(["-c", "kill -KILL -- -$0", &self.pid.to_string()])
            .output()
            .expect("bash is there");
    }
}

/// The exit code first, then the message on standard error, then standard output.
fn answer(reply: &Reply) -> Result<Value, Failure> {
    if reply.code != Some(0) {
        let told = serde_json::from_str::<Value>(&reply.err)
            .ok()
            .and_then(|value| value["error"].as_str().map(str::to_string));
        let ended = reply
            .code
            .map_or_else(|| "ended by a signal".to_string(), |code| format!("exit code {code}"));
        let text = reply.err.trim();
        return Err(Failure(
            told.unwrap_or_else(|| if text.is_empty() { ended } else { text.to_string() }),
        ));
    }
    let value: Value =
        serde_json::from_str(&reply.out).map_err(|error| Failure(format!("no JSON: {error}")))?;
    match &value["error"] {
        _ if value.is_null() => Err(Failure("nothing was answered".into())),
        Value::Null => Ok(value),
        error => Err(Failure(error.as_str().map_or_else(|| error.to_string(), str::to_string))),
    }
}

fn document<'a>(title: &'a str, text: &'a str) -> Document<'a> {
    let metadata = BTreeMap::from([
        ("task_id", "t1"),
        ("role", "builder"),
        ("confidence", "0.90"),
        ("run_id", ""),
    ]);
    Document { title, label: "builder", text, metadata: Some(metadata) }
}

// The client itself.

#[test]
fn item_15_arguments_are_a_list_and_no_shell_reads_them() {
    assert_eq!(arguments("create", &["t.mv2"]), ["-m", "src", "create", "t.mv2"]);
    let sandbox = Sandbox::empty();
    let odd = "a  b; $(touch x) `touch x` '\"*\n\\.mv2";
    let client = Client::of_script("printf '<%s>' \"$@\"", PATIENT, Drain::Together);
    assert_eq!(
        client.call("create", &[odd], None).expect("it ends").out,
        format!("<-m><src><create><{odd}>")
    );
    assert_eq!(Client::of(&sandbox).create(odd), Ok(odd.to_string()));
    assert!(sandbox.path(odd).exists() && !sandbox.path("x").exists());
}

#[test]
fn items_17_and_20_what_a_reply_means() {
    let reply =
        |code, out: &str, err: &str| answer(&Reply { code, out: out.into(), err: err.into() });
    let raises = |reply: Result<Value, Failure>| reply.expect_err("it raises").0;
    assert_eq!(
        reply(Some(0), "{\"ok\":true,\"error\":null}\n", ""),
        Ok(json!({ "ok": true, "error": null }))
    );
    assert_eq!(raises(reply(Some(0), "{\"error\":\"no room\"}\n", "")), "no room");
    assert_eq!(raises(reply(Some(1), "", "{\"error\":\"no room\"}\n")), "no room");
    assert_eq!(
        raises(reply(Some(2), "{\"ok\":true}", "usage: …\n")),
        "usage: …",
        "the exit code comes first"
    );
    assert_eq!(raises(reply(Some(7), "", "")), "exit code 7");
    assert_eq!(raises(reply(None, "", " \n")), "ended by a signal");
    assert_eq!(raises(reply(Some(0), "null", "")), "nothing was answered");
    assert!(raises(reply(Some(0), "", "")).starts_with("no JSON"));
}

#[test]
fn item_18_at_the_timeout_everything_that_was_started_is_killed() {
    for script in ["sleep 600", "sleep 600 & wait", "(sleep 600 & sleep 600) & exit 0", "cat"] {
        let client = Client::of_script(script, SHORT, Drain::Together);
        assert_eq!(
            client.create("t.mv2"),
            Err(Failure("no answer within 300 ms".into())),
            "{script}"
        );
    }
}

#[test]
fn item_19_both_outputs_are_drained_at_once() {
    let script = "head -c 1048576 /dev/zero | tr '\\0' e >&2; printf '\"'; head -c 1048576 /dev/zero | tr '\\0' o; printf '\"'";
    let client = Client::of_script(script, PATIENT, Drain::Together);
    let reply = client.call("info", &["t.mv2"], None).expect("it ends");
    assert!(
        (reply.err.len(), answer(&reply)) == (MIB, Ok(Value::String("o".repeat(MIB)))),
        "all of both"
    );
    // Reading in turn is what hangs; the tests of our program below rely on noticing it.
    let client = Client::of_script(script, SHORT, Drain::InTurn);
    assert_eq!(
        client.call("info", &["t.mv2"], None),
        Err(Failure("no answer within 300 ms".into()))
    );
}

// The program, as this client meets it.

#[test]
fn items_14_and_16_a_store_from_its_making_to_its_reading() {
    let sandbox = Sandbox::empty();
    let client = Client::of(&sandbox);
    assert_eq!(
        client.create("run/tasks/t1.mv2"),
        Ok("run/tasks/t1.mv2".to_string()),
        "item 21: the path, not a truth value"
    );
    let first = client
        .put("run/tasks/t1.mv2", &document("Lock — Builder", "built the lock"))
        .expect("stored");
    let unlabelled =
        Document {
            label: "", metadata: None, ..document("Lock — Reviewer", "the lock is sound")
        };
    assert!(client.put("run/tasks/t1.mv2", &unlabelled).expect("stored") > first);
    for mode in ["lex", "sem", "auto"] {
        let found = client.find("run/tasks/t1.mv2", "who built it", 1, mode).expect("found");
        let (title, text) = (found[0].title.as_str(), found[0].text.as_str());
        assert_eq!(
            (found.len(), title, text, found[0].score > 0.0),
            (1, "Lock — Builder", "built the lock", true),
            "{mode}"
        );
    }
    let entries = client.timeline("run/tasks/t1.mv2", 5).expect("listed");
    let entry = |title: &str, label: &str, text: &str| Entry {
        title: title.into(),
        label: label.into(),
        text: text.into(),
    };
    let expected = [
        entry("Lock — Builder", "builder", "built the lock"),
        entry("Lock — Reviewer", "", "the lock is sound"),
    ];
    assert_eq!(entries, expected);
    let info = client.info("run/tasks/t1.mv2").expect("told");
    assert_eq!(
        (info.path.as_str(), info.frames, info.size_bytes > 0),
        ("run/tasks/t1.mv2", 2, true)
    );
}

/// What is on standard error.
enum Told {
    Nothing,
    /// `{"error": message}` and a newline; the message has this in it.
    Error(&'static str),
    /// How the command is called, for people.
    Usage,
}

/// One call of a transcript.
struct Step {
    /// What follows `-m src`.
    call: &'static [&'static str],
    stdin: Option<&'static [u8]>,
    code: i32,
    /// What standard output is like; none when it is empty. See [`fits`].
    out: Option<Value>,
    err: Told,
}

fn gives(call: &'static [&'static str], out: Value) -> Step {
    Step { call, stdin: None, code: 0, out: Some(out), err: Told::Nothing }
}

fn stores(call: &'static [&'static str], stdin: &'static str) -> Step {
    Step { stdin: Some(stdin.as_bytes()), ..gives(call, json!({ "frame_id": "<integer>" })) }
}

fn fails(call: &'static [&'static str], message: &'static str) -> Step {
    Step { call, stdin: None, code: 1, out: None, err: Told::Error(message) }
}

fn refuses(call: &'static [&'static str], stdin: &'static [u8], message: &'static str) -> Step {
    Step { stdin: Some(stdin), ..fails(call, message) }
}

fn misuses(call: &'static [&'static str]) -> Step {
    Step { call, stdin: None, code: 2, out: None, err: Told::Usage }
}

/// Whether a value is like a shape: the same, save that `<integer>` and the like stand for any of
/// their kind.
fn fits(shape: &Value, value: &Value) -> bool {
    match (shape, value) {
        (Value::String(kind), value) if kind.starts_with('<') => match kind.as_str() {
            "<integer>" => value.is_u64(),
            "<positive>" => value.as_f64() > Some(0.0),
            "<text>" => value.as_str().is_some_and(|text| !text.is_empty()),
            kind => panic!("{kind} is no kind of value"),
        },
        (Value::Array(shapes), Value::Array(values)) => {
            shapes.len() == values.len()
                && shapes.iter().zip(values).all(|(shape, value)| fits(shape, value))
        }
        (Value::Object(shapes), Value::Object(values)) => {
            shapes.len() == values.len()
                && shapes
                    .iter()
                    .all(|(key, shape)| values.get(key).is_some_and(|value| fits(shape, value)))
        }
        (shape, value) => shape == value,
    }
}

/// Makes the calls one after another and holds each against what the transcript says.
fn follow(client: &Client<'_>, transcript: &[Step]) {
    for Step { call, stdin, code, out, err } in transcript {
        let reply = client.call(call[0], &call[1..], stdin.map(<[u8]>::to_vec)).expect("it ends");
        assert_eq!(reply.code, Some(*code), "{call:?}: {reply:?}");
        match out {
            Some(shape) => {
                assert_eq!(
                    reply.out.find('\n'),
                    Some(reply.out.len() - 1),
                    "{call:?}: one line: {reply:?}"
                );
                let value = serde_json::from_str(&reply.out).expect("JSON");
                assert!(fits(shape, &value), "{call:?}: {value} is not like {shape}");
            }
            None => assert_eq!(reply.out, "", "{call:?}"),
        }
        match err {
            Told::Nothing => assert_eq!(reply.err, "", "{call:?}"),
            Told::Error(part) => {
                assert_eq!(
                    reply.err.find('\n'),
                    Some(reply.err.len() - 1),
                    "{call:?}: one line: {reply:?}"
                );
                let told: Value = serde_json::from_str(&reply.err).expect("JSON");
                assert!(fits(&json!({ "error": "<text>" }), &told), "{call:?}: {told}");
                assert!(
                    told["error"].as_str().is_some_and(|message| message.contains(part)),
                    "{call:?}: {told}"
                );
            }
            Told::Usage => {
                assert!(reply.err.contains("Usage: kapsa svc"), "{call:?}: {reply:?}");
                assert!(serde_json::from_str::<Value>(&reply.err).is_err(), "{call:?}: plain text");
            }
        }
        assert_eq!(answer(&reply).is_ok(), *code == 0, "{call:?}: {reply:?}");
    }
}

/// A result of `find` that matched.
fn hit(title: &str, label: &str, text: &str) -> Value {
    json!({ "title": title, "label": label, "text": text, "score": "<positive>" })
}

/// A result of `find` that is only recent.
fn recent(title: &str, label: &str, text: &str) -> Value {
    json!({ "title": title, "label": label, "text": text, "score": 0.0, "fallback": true })
}

fn entry(title: &str, label: &str, text: &str) -> Value {
    json!({ "title": title, "label": label, "text": text })
}

const OCTOPUS: &str = "Chobotnice 🐙 žluťoučká: 日本語, עברית, e\u{301}, 👩\u{200d}👩\u{200d}👧, \u{2028}\u{1b}[31m\u{202e}";

#[test]
fn a_transcript_of_every_command() {
    let sandbox = Sandbox::empty();
    let made = json!({ "ok": true, "path": "t.mv2", "created": "t.mv2" });
    let plan = || hit("Plan", "plan", "first the lock, then the door");
    let by_words = json!([{ "store": "t.mv2", "error": "<text>" }]);
    let transcript = [
        gives(&["create", "t.mv2"], made.clone()),
        gives(&["create", "t.mv2"], made),
        gives(
            &["info", "t.mv2"],
            json!({ "path": "t.mv2", "frames": 0, "size_bytes": "<positive>" }),
        ),
        gives(&["timeline", "t.mv2"], json!({ "entries": [] })),
        gives(&["find", "t.mv2", "--query", "lock"], json!({ "results": [] })),
        stores(
            &["put", "t.mv2"],
            r#"{"title":"Plan","label":"plan","text":"first the lock, then the door","metadata":{"task_id":"t1","run_id":""}}"#,
        ),
        stores(
            &["put", "t.mv2", "--strict"],
            r#"{"title":"Plan","label":"plan","text":"","text":"the window","metadata":null}"#,
        ),
        stores(&["put", "t.mv2", "--stdin"], r#"{"text":"only text"}"#),
        gives(&["find", "t.mv2", "--query", "lock"], json!({ "results": [plan()] })),
        gives(
            &["find", "t.mv2", "--query", "lock", "--mode", "auto"],
            json!({ "results": [plan()] }),
        ),
        gives(
            &["find", "t.mv2", "--query", "lock", "--mode", "lex"],
            json!({ "results": [plan()] }),
        ),
        gives(
            &["find", "t.mv2", "--query", "lock", "--mode", "sem"],
            json!({ "results": [plan()], "by_words": by_words }),
        ),
        gives(&["find", "t.mv2", "--query", "the", "--k", "1"], json!({ "results": [plan()] })),
        gives(&["find", "t.mv2", "--query", "lock", "--k", "0"], json!({ "results": [] })),
        gives(&["find", "t.mv2", "--query", "xylophone", "--k", "2"], json!({ "results": [] })),
        gives(
            &["find", "t.mv2", "--query", "", "--k", "2"],
            json!({ "results": [recent("", "", "only text"), recent("Plan", "plan", "the window")] }),
        ),
        gives(
            &["timeline", "t.mv2", "--limit", "2"],
            json!({ "entries": [entry("Plan", "plan", "first the lock, then the door"), entry("Plan", "plan", "the window")] }),
        ),
        gives(&["timeline", "t.mv2", "--limit", "0"], json!({ "entries": [] })),
        gives(
            &["info", "t.mv2"],
            json!({ "path": "t.mv2", "frames": 3, "size_bytes": "<positive>" }),
        ),
    ];
    follow(&Client::of(&sandbox), &transcript);
    sandbox.ok(&["--capsule", "t.mv2", "embed"]);
    let transcript = [
        gives(
            &["find", "t.mv2", "--query", "bolt at entrance", "--k", "1"],
            json!({ "results": [plan()] }),
        ),
        gives(
            &["find", "t.mv2", "--query", "bolt at entrance", "--k", "1", "--mode", "auto"],
            json!({ "results": [plan()] }),
        ),
        gives(
            &["find", "t.mv2", "--query", "bolt at entrance", "--k", "1", "--mode", "sem"],
            json!({ "results": [plan()] }),
        ),
        gives(
            &["find", "t.mv2", "--query", "bolt at entrance", "--k", "1", "--mode", "lex"],
            json!({ "results": [] }),
        ),
    ];
    follow(&Client::of(&sandbox), &transcript);
}

#[test]
fn a_transcript_of_every_failure() {
    let sandbox = Sandbox::empty();
    sandbox.write("foreign.mv2", "MV2\0 something else");
    Client::of(&sandbox).create("t.mv2").expect("made");
    let before = bytes(&sandbox.path("t.mv2"));
    let transcript = [
        refuses(&["put", "t.mv2", "--strict"], br#"{"text":"x"}"#, "title"),
        refuses(&["put", "t.mv2", "--strict"], br#"{"title":"t","text":"x"}"#, "label"),
        refuses(&["put", "t.mv2", "--strict"], br#"{"title":"t","label":"l"}"#, "text"),
        refuses(&["put", "t.mv2"], br#"{"title":"t","label":"l"}"#, "text"),
        refuses(&["put", "t.mv2"], b"not json", "JSON"),
        refuses(&["put", "t.mv2"], b"", "JSON"),
        refuses(&["put", "t.mv2"], br#"{"text":"x""#, "JSON"),
        refuses(&["put", "t.mv2"], b"{\"text\":\"\xff\"}", "JSON"),
        refuses(&["put", "t.mv2"], br#"{"text":"\ud800"}"#, "JSON"),
        refuses(&["put", "t.mv2"], br#"{"text":7}"#, "text"),
        refuses(&["put", "gone.mv2"], br#"{"text":"x"}"#, "gone.mv2"),
        fails(&["info", "gone.mv2"], "gone.mv2"),
        fails(&["timeline", "gone.mv2"], "gone.mv2"),
        fails(&["find", "gone.mv2", "--query", "x"], "gone.mv2"),
        refuses(&["put", "foreign.mv2"], br#"{"text":"x"}"#, "foreign.mv2"),
        fails(&["create", "foreign.mv2"], "foreign.mv2"),
        fails(&["info", "foreign.mv2"], "foreign.mv2"),
        fails(&["timeline", "foreign.mv2"], "foreign.mv2"),
        fails(&["find", "foreign.mv2", "--query", "x", "--mode", "sem"], "foreign.mv2"),
        fails(&["create", "foreign.mv2/t.mv2"], "foreign.mv2"),
        misuses(&["find", "t.mv2"]),
        misuses(&["find", "--query", "x"]),
        misuses(&["find", "t.mv2", "--query", "x", "--mode", "wild"]),
        misuses(&["find", "t.mv2", "--query", "x", "--k", "many"]),
        misuses(&["timeline", "t.mv2", "--limit", "-1"]),
        misuses(&["info", "t.mv2", "more"]),
        misuses(&["put"]),
        misuses(&["remove", "t.mv2"]),
    ];
    follow(&Client::of(&sandbox), &transcript);
    assert!(bytes(&sandbox.path("t.mv2")) == before, "nothing was written");
    assert_eq!(bytes(&sandbox.path("foreign.mv2")), b"MV2\0 something else");
    assert!(!sandbox.path("gone.mv2").exists());
}

#[test]
fn text_of_any_script_comes_back_as_it_was() {
    let sandbox = Sandbox::empty();
    let client = Client::of(&sandbox);
    let store = "žluť/🐙.mv2";
    assert_eq!(client.create(store), Ok(store.to_string()));
    client.put(store, &Document { label: "日本", ..document(OCTOPUS, OCTOPUS) }).expect("stored");
    // As a client writes it that escapes whatever is not ASCII.
    let escaped: String = OCTOPUS.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    client
        .ask::<Stored>("put", &[store], Some(format!("{{\"text\":\"{escaped}\"}}").into()))
        .expect("stored");
    let entry = |title: &str, label: &str| Entry {
        title: title.into(),
        label: label.into(),
        text: OCTOPUS.into(),
    };
    assert_eq!(client.timeline(store, 5).expect("listed"), [entry(OCTOPUS, "日本"), entry("", "")]);
    for mode in ["lex", "sem", "auto"] {
        let found = client.find(store, "ŽLUŤOUČKÁ 🐙", 2, mode).expect("found");
        assert!(
            found.len() == 2 && found.iter().all(|hit| hit.text == OCTOPUS && hit.score > 0.0),
            "{mode}"
        );
    }
}

/// A text of so many bytes, in lines of words.
fn long_text(bytes_count: usize) -> String {
    let line = "the writer takes the lock, žlutě, and gives it back\n";
    let mut text = line.repeat(bytes_count / line.len());
    text.extend(std::iter::repeat_n('.', bytes_count - text.len()));
    text
}

#[test]
fn a_text_of_ten_mebibytes_goes_in_and_comes_out() {
    let sandbox = Sandbox::empty();
    let client = Client::of(&sandbox);
    client.create("t.mv2").expect("made");
    let text = long_text(10 * MIB);
    client.put("t.mv2", &document("Long", &text)).expect("stored");
    assert!(client.timeline("t.mv2", 1).expect("listed")[0].text == text);
    assert!(client.find("t.mv2", "writer", 1, "auto").expect("found")[0].text == text);
    let before = bytes(&sandbox.path("t.mv2"));
    // One that is longer than a record may be, and one that is longer than what is read at all:
    // nobody takes the rest of it.
    for mebibytes in [17, 65] {
        let refused = client.put("t.mv2", &document("Too long", &long_text(mebibytes * MIB)));
        let told = refused.expect_err("it is too long").0;
        assert!(told.contains("16 MiB") || told.contains("64 MiB"), "{told}");
    }
    assert!(bytes(&sandbox.path("t.mv2")) == before, "nothing was written");
}

#[test]
fn a_reply_of_mebibytes_reaches_who_reads_together_and_who_reads_in_turn() {
    let sandbox = Sandbox::empty();
    let together = Client::of(&sandbox);
    together.create("t.mv2").expect("made");
    let texts: Vec<_> = (0..6).map(|n| format!("{n} {}", long_text(MIB))).collect();
    for text in &texts {
        together.put("t.mv2", &document("Long", text)).expect("stored");
    }
    let in_turn = Client { drain: Drain::InTurn, ..Client::of(&sandbox) };
    for client in [&together, &in_turn] {
        let entries = client.timeline("t.mv2", 50).expect("listed");
        assert!(entries.iter().map(|entry| &entry.text).eq(&texts));
    }
}

/// The program never writes more to standard error than a pipe holds, whatever it is called with.
#[test]
fn a_client_that_reads_in_turn_never_hangs() {
    let sandbox = Sandbox::empty();
    let client = Client { drain: Drain::InTurn, ..Client::of(&sandbox) };
    client.create("t.mv2").expect("made");
    for long in ["a".repeat(120_000), "\u{1b}".repeat(120_000), "\u{202e}".repeat(40_000)] {
        let flag = format!("--{long}");
        let calls: [(&str, &[&str], i32); 9] = [
            ("create", &[&long], 1),
            ("info", &[&long], 1),
            ("find", &[&long, "--query", "x"], 1),
            ("put", &[&long], 1),
            ("find", &["t.mv2", "--query", "x", "--mode", &long], 2),
            ("find", &["t.mv2", "--query", "x", "--k", &long], 2),
            ("info", &["t.mv2", &flag], 2),
            ("info", &["t.mv2", &long], 2),
            (&long, &[], 2),
        ];
        for (command, rest, code) in calls {
            let stdin = (command == "put").then(|| br#"{"text":"x"}"#.to_vec());
            let reply = client.call(command, rest, stdin).expect("it ends");
            assert_eq!((reply.code, reply.out.as_str()), (Some(code), ""));
            assert_eq!(
                code == 1,
                serde_json::from_str::<Value>(&reply.err).is_ok(),
                "JSON is not cut"
            );
            assert_eq!(
                code == 2,
                reply.err.contains("Usage: "),
                "nor is how it is called: {}",
                reply.err
            );
            assert!(answer(&reply).expect_err("it fails").0.len() < 64 << 10);
        }
    }
}

#[test]
fn several_processes_at_once_are_all_answered() {
    let sandbox = Sandbox::empty();
    let client = Client::of(&sandbox);
    let texts: Vec<_> = (0..8).map(|n| format!("part {n}")).collect();
    let work = |text: &String| {
        client.create("run/t.mv2").expect("made by one, found by the others");
        let id = client.put("run/t.mv2", &document("Part", text)).expect("stored");
        let found = client.find("run/t.mv2", text, 50, "auto").expect("found");
        assert!(found.iter().any(|hit| hit.text == *text), "what is acknowledged is found");
        id
    };
    let ids: BTreeSet<_> = thread::scope(|scope| {
        let calls: Vec<_> = texts.iter().map(|text| scope.spawn(|| work(text))).collect();
        calls.into_iter().map(|call| call.join().expect("it was answered")).collect()
    });
    assert_eq!(ids.len(), texts.len(), "each has its own number: {ids:?}");
    let stored: BTreeSet<_> = client
        .timeline("run/t.mv2", 50)
        .expect("listed")
        .into_iter()
        .map(|entry| entry.text)
        .collect();
    assert!(stored.iter().eq(&texts), "{stored:?}");
    assert_eq!(client.info("run/t.mv2").expect("told").frames, 8);
}

/// A document, as `put` reads it.
fn stdin(text: &str) -> Option<Vec<u8>> {
    Some(json!({ "text": text }).to_string().into())
}

#[test]
fn a_put_that_waits_for_its_document_holds_nothing_and_leaves_nothing() {
    let sandbox = Sandbox::empty();
    let client = Client::of(&sandbox);
    client.create("t.mv2").expect("made");
    let mut endless = client.start("put", &["t.mv2"]);
    let mut pipe = endless.stdin.take().expect("a pipe");
    // More than a pipe holds: once it is written, the program has read most of it and waits for
    // more.
    pipe.write_all(format!("{{\"text\":\"{}", "x".repeat(MIB)).as_bytes())
        .expect("the program reads");
    let at_once = ["t.mv2", "--lock-timeout", "0"];
    client.ask::<Stored>("put", &at_once, stdin("meanwhile")).expect("the lock is free");
    assert_eq!(endless.finish(SHORT), Err(Failure("no answer within 300 ms".into())));
    drop(pipe);
    client.ask::<Stored>("put", &at_once, stdin("afterwards")).expect("and is free now");
    sandbox.ok(&["--capsule", "t.mv2", "verify"]);
    let texts: Vec<_> =
        client.timeline("t.mv2", 5).expect("listed").into_iter().map(|entry| entry.text).collect();
    assert_eq!(texts, ["meanwhile", "afterwards"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_put_that_waits_for_the_lock_longer_than_its_client_leaves_nothing() {
    let sandbox = Sandbox::new();
    let client = Client::of(&sandbox);
    let store = ".kapsa/workspace.kapsa";
    let mut holder = sandbox.hold_lock();
    let waiting = |text| {
        let mut put = client.start("put", &[store, "--lock-timeout", "100"]);
        put.feed(stdin(text).expect("a document"));
        put.waits_for_lock();
        put
    };
    assert_eq!(waiting("killed").finish(SHORT), Err(Failure("no answer within 300 ms".into())));
    let refused = client
        .ask::<Stored>("put", &[store, "--lock-timeout", "0"], stdin("refused"))
        .map(|stored| stored.frame_id);
    assert!(refused.as_ref().is_err_and(|failure| failure.0.contains("lock")), "{refused:?}");
    let patient = waiting("patient");
    drop(holder.stdin.take());
    assert!(holder.wait().expect("it ends").success());
    answer(&patient.finish(PATIENT).expect("it has its turn")).expect("stored");
    let texts: Vec<_> =
        client.timeline(store, 5).expect("listed").into_iter().map(|entry| entry.text).collect();
    assert_eq!(texts, ["held", "waiting", "patient"]);
    sandbox.ok(&["verify"]);
}
