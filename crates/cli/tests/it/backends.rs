//! Which store serves: by the file of settings, the state of the capsule and that of the daemon.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::memvid::{answering, helper, stand_in};
use crate::support::{Run, Sandbox, fifo, output};

/// How the daemon is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Daemon {
    Up,
    Slow,
    Down,
}

/// How the capsule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Capsule {
    Well,
    Missing,
    Corrupt,
}

/// Longer than the daemon may take.
const SLOW: Duration = Duration::from_millis(1500);

/// A daemon that counts its visitors.
pub(crate) struct StandIn {
    url: String,
    visitors: Arc<AtomicUsize>,
}

impl StandIn {
    pub(crate) fn start(daemon: Daemon) -> StandIn {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let visitors = Arc::new(AtomicUsize::new(0));
        let counted = visitors.clone();
        // One that is down leaves a port that nobody listens on.
        if daemon != Daemon::Down {
            thread::spawn(move || {
                for visitor in listener.incoming() {
                    let Ok(mut visitor) = visitor else { return };
                    counted.fetch_add(1, Ordering::SeqCst);
                    if daemon == Daemon::Slow {
                        thread::sleep(SLOW);
                    }
                    let mut asked = [0; 1024];
                    let read = visitor.read(&mut asked).unwrap_or(0);
                    let is_health = asked[..read].starts_with(b"GET /api/v1/health ");
                    let status = if is_health { "200 OK" } else { "404 Not Found" };
                    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\n{{}}");
                    // The caller may have gone.
                    visitor.write_all(answer.as_bytes()).ok();
                }
            });
        }
        StandIn { url, visitors }
    }

    /// Where it is.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    fn visitors(&self) -> usize {
        self.visitors.load(Ordering::SeqCst)
    }
}

/// A program that finds one note, stores any, and writes down what it was called with.
pub(crate) fn program(sandbox: &Sandbox) -> PathBuf {
    let found = json!({"success": true, "error": null, "data": {"results": [
        {"memory": {"id": "lm-1", "content": "From the daemon."}, "relevance_score": 0.9},
    ]}});
    let stored = json!({"success": true, "data": {"id": "lm-2"}});
    let got = json!({"success": true, "data": {"id": "lm-1", "content": "From the daemon."}});
    let calls = sandbox.path("calls");
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$*\" >>'{}'\ncase \"$1\" in\nsearch) echo '{found}';;\n\
         remember) echo '{stored}';;\nget) echo '{got}';;\nesac\n",
        calls.display()
    );
    let path = sandbox.write("bin/local-memory", script);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
    path
}

fn call(sandbox: &Sandbox, daemon: &StandIn, args: &[&str]) -> (Option<i32>, Value) {
    let mut command = sandbox.command();
    command
        .env("KAPSA_LOCAL_MEMORY_URL", &daemon.url)
        .env("KAPSA_LOCAL_MEMORY", sandbox.path("bin/local-memory"))
        .env("KAPSA_MEMVID", sandbox.path("bin/kapsa-memvid"))
        .args(args)
        .arg("--json");
    let run: Run = output(command, b"").into();
    let said = if run.out.is_empty() { &run.err } else { &run.out };
    (run.code, serde_json::from_str(said).unwrap_or_else(|error| panic!("{error}: {run:?}")))
}

fn configured(sandbox: &Sandbox, backend: &str, fallback: bool) {
    let text = format!("memory_backend = \"{backend}\"\nmemory_fallback = {fallback}\n");
    sandbox.write("kapsa.toml", text);
}

fn with_capsule(capsule: Capsule) -> Sandbox {
    let sandbox = Sandbox::empty();
    program(&sandbox);
    if capsule != Capsule::Missing {
        sandbox.ok(&["init"]);
        sandbox.ok(&["put", "--uri", "note/a", "--text", "From the capsule."]);
    }
    if capsule == Capsule::Corrupt {
        sandbox.write(".kapsa/workspace.kapsa", "spoilt");
    }
    sandbox
}

/// The text of the first hit, `nothing` without one, or the code of the error.
fn answer(told: &Value) -> String {
    let first = &told["hits"][0];
    if told["hits"].as_array().is_some_and(Vec::is_empty) {
        return "nothing".to_string();
    }
    let said = [&first["text"], &first["snippet"], &told["error"]["code"]];
    let said = said.into_iter().find_map(Value::as_str);
    said.unwrap_or_else(|| panic!("{told}")).to_string()
}

#[test]
fn the_store_that_serves_follows_from_setting_capsule_daemon_and_switch() {
    for backend in ["capsule", "local-memory", "memvid"] {
        for capsule in [Capsule::Well, Capsule::Missing, Capsule::Corrupt] {
            for daemon in [Daemon::Up, Daemon::Slow, Daemon::Down] {
                for fallback in [false, true] {
                    one_of_the_table(backend, capsule, daemon, fallback);
                }
            }
        }
    }
}

fn one_of_the_table(backend: &str, capsule: Capsule, daemon: Daemon, fallback: bool) {
    let what = format!("{backend}, {capsule:?}, {daemon:?}, fallback {fallback}");
    let sandbox = with_capsule(capsule);
    with_memvid(&sandbox, capsule);
    configured(&sandbox, backend, fallback);
    let stand_in = StandIn::start(daemon);
    let begun = Instant::now();
    let (code, told) = call(&sandbox, &stand_in, &["find", "from"]);
    let said = answer(&told);
    // A file of Memvid that is missing is one without texts, and a capsule is missed.
    let broken = match (backend, capsule) {
        (_, Capsule::Well) | ("memvid", Capsule::Missing) => None,
        ("capsule", Capsule::Missing) => Some("no_capsule"),
        ("capsule", Capsule::Corrupt) => Some("not_a_capsule"),
        _ => Some("memvid_failed"),
    };
    let falls_back = backend != "local-memory" && broken.is_some() && fallback;
    let expected = match (backend, broken, daemon) {
        ("local-memory", _, Daemon::Up) => "From the daemon.",
        ("local-memory", ..) => "backend_unavailable",
        (_, Some(_), Daemon::Up) if fallback => "From the daemon.",
        (_, Some(broken), _) => broken,
        ("memvid", None, _) if capsule == Capsule::Missing => "nothing",
        ("memvid", None, _) => "From Memvid.",
        (_, None, _) => "From the capsule.",
    };
    assert_eq!(said, expected, "{what}: {told}");
    assert_eq!(code == Some(0), told["error"].is_null(), "{what}");
    // Nobody is contacted for a capsule or a file, unless it is broken and the switch is on.
    let is_contacted = backend == "local-memory" || falls_back;
    let visitors = if is_contacted && daemon != Daemon::Down { 1 } else { 0 };
    assert_eq!(stand_in.visitors(), visitors, "{what}");
    let is_called = sandbox.path("calls").exists();
    assert_eq!(is_called, is_contacted && daemon == Daemon::Up, "{what}");
    let warned = told["warnings"][0]["code"] == "fallback_activated";
    assert_eq!(warned, falls_back && daemon == Daemon::Up, "{what}: {told}");
    let events = sandbox.path(".kapsa/workspace.kapsa.fallback.jsonl");
    assert_eq!(events.exists(), warned, "{what}");
    if warned {
        let event = std::fs::read_to_string(events).expect("the event");
        assert!(event.contains(&format!("\"from_backend\":\"{backend}\"")), "{what}: {event}");
    }
    assert!(begun.elapsed() < Duration::from_secs(60), "{what}: nothing waits for the daemon");
}

/// A file of Memvid in the same state as the capsule, and a program that knows whole ones.
fn with_memvid(sandbox: &Sandbox, capsule: Capsule) {
    match capsule {
        Capsule::Well => drop(sandbox.write(".kapsa/workspace.mv2", "MV2\0")),
        Capsule::Missing => {}
        Capsule::Corrupt => drop(sandbox.write(".kapsa/workspace.mv2", "spoilt")),
    }
    let hit = json!({"hit": {"uri": "mv2://a/b", "title": "T", "text": "From Memvid."}});
    let script = format!(
        "case \"$(head -c 3 \"$2\")\" in\nMV2) echo '{hit}'; echo '{}';;\n*) echo '{}'; exit 1;;\nesac",
        json!({"end": {}}),
        json!({"error": {"code": "damaged", "message": "no header"}}),
    );
    stand_in(sandbox, &script);
}

#[test]
fn the_event_of_a_fallback_comes_into_the_capsule_when_it_can_be_opened() {
    let sandbox = with_capsule(Capsule::Well);
    let whole = std::fs::read(sandbox.capsule()).expect("the capsule");
    configured(&sandbox, "capsule", true);
    let daemon = StandIn::start(Daemon::Up);
    sandbox.write(".kapsa/workspace.kapsa", "spoilt");
    let (_, told) = call(&sandbox, &daemon, &["put", "--text", "a note"]);
    assert_eq!((&told["backend"], &told["id"]), (&json!("local-memory"), &json!("lm-2")), "{told}");
    sandbox.write(".kapsa/workspace.kapsa", whole);
    let (_, told) = call(&sandbox, &daemon, &["find", "from"]);
    assert_eq!(answer(&told), "From the capsule.");
    let events = sandbox.json(&["events", "--type", "FallbackActivated"]);
    let payload = &events["events"][0]["payload"];
    assert_eq!(
        (&payload["from_backend"], &payload["operation"]),
        (&json!("capsule"), &json!("put"))
    );
    assert!(!sandbox.path(".kapsa/workspace.kapsa.fallback.jsonl").exists());
}

#[test]
fn flipping_back_restores_the_old_answers() {
    let sandbox = with_capsule(Capsule::Well);
    let daemon = StandIn::start(Daemon::Up);
    let before = sandbox.ok(&["find", "from", "--json"]);
    configured(&sandbox, "local-memory", false);
    let (_, told) = call(&sandbox, &daemon, &["find", "-from there"]);
    assert_eq!(answer(&told), "From the daemon.");
    let (_, told) = call(&sandbox, &daemon, &["put", "--title", "T", "--text", "a note"]);
    assert_eq!(told["id"], "lm-2");
    let (_, told) = call(&sandbox, &daemon, &["get", "lm-1"]);
    assert_eq!(told["text"], "From the daemon.");
    let calls = std::fs::read_to_string(sandbox.path("calls")).expect("the calls");
    assert_eq!(
        calls,
        "search  -from there --limit 10 --json\nremember T\na note --json\nget lm-1 --json\n"
    );
    configured(&sandbox, "capsule", false);
    let visitors = daemon.visitors();
    let after = call(&sandbox, &daemon, &["find", "from"]).1;
    assert_eq!(after["hits"], serde_json::from_str::<Value>(&before).expect("JSON")["hits"]);
    assert_eq!(daemon.visitors(), visitors);
}

#[test]
fn what_a_plain_store_cannot_do_is_refused_with_the_setting() {
    let sandbox = with_capsule(Capsule::Well);
    let daemon = StandIn::start(Daemon::Up);
    configured(&sandbox, "local-memory", false);
    for args in [
        &["timeline"][..],
        &["branch", "list"],
        &["put", "--text", "x", "--kind", "fact"],
        &["find", "x", "--as-of", "2024-01-01"],
        &["find", "x", "--as", "ann"],
        &["get", "note/a", "--seq", "1"],
    ] {
        let (code, told) = call(&sandbox, &daemon, args);
        assert_eq!(
            (code, &told["error"]["code"]),
            (Some(1), &json!("backend_unsupported")),
            "{told}"
        );
        assert!(told["error"]["hint"].as_str().is_some_and(|hint| hint.contains("memory_backend")));
    }
    let stats = sandbox.json(&["stats"]);
    assert_eq!(stats["memory_backend"], "local-memory");
    for unknown in ["postgres", "sqlite"] {
        configured(&sandbox, unknown, false);
        let (code, told) = call(&sandbox, &daemon, &["find", "x"]);
        assert_eq!((code, &told["error"]["code"]), (Some(1), &json!("invalid_config")), "{told}");
        let message = told["error"]["message"].as_str().expect("a message");
        assert!(message.contains(unknown), "{message}");
    }
}

#[test]
fn memvid_serves_through_its_program_and_says_what_was_measured() {
    let sandbox = with_capsule(Capsule::Well);
    let daemon = StandIn::start(Daemon::Down);
    configured(&sandbox, "memvid", false);
    sandbox.write(".kapsa/workspace.mv2", "MV2\0");
    let hit =
        json!({"hit": {"uri": "mv2://a/b", "title": "T", "text": "From Memvid.", "score": 2}});
    let end = json!({"end": {}});
    let script = format!("read asked\nprintf '%s' \"$asked\" >asked\necho '{hit}'\necho '{end}'");
    let helper = stand_in(&sandbox, &script);
    let mut command = sandbox.command();
    command.env("KAPSA_MEMVID", helper).args(["--json", "find", "a question"]);
    let run: Run = output(command, b"").into();
    let told: Value = serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{run:?}"));
    assert_eq!((answer(&told), &told["backend"]), ("From Memvid.".to_string(), &json!("memvid")));
    assert_eq!(told["warnings"][0]["code"], "memvid_backend");
    assert_eq!(daemon.visitors(), 0);
}

/// What a call with the program answers.
fn with_helper(sandbox: &Sandbox, helper: &PathBuf, args: &[&str]) -> Value {
    let mut command = sandbox.command();
    command.env("KAPSA_MEMVID", helper).args(args).arg("--json");
    let run: Run = output(command, b"").into();
    let said = if run.out.is_empty() { &run.err } else { &run.out };
    serde_json::from_str(said).unwrap_or_else(|error| panic!("{error}: {run:?}"))
}

#[test]
fn pages_of_a_revision_are_joined_and_those_of_another_are_not() {
    let sandbox = Sandbox::empty();
    configured(&sandbox, "memvid", false);
    sandbox.write(".kapsa/workspace.mv2", "MV2\0");
    let uri = "mv2://default/note/a";
    let frame = |id: u64, uri: &str, status: &str, text: &str, rest: Value| {
        json!({"frame": {"id": id, "uri": uri, "status": status, "text": text, "title": "made",
            "metadata": {"kapsa": rest.to_string()}}})
    };
    let page = |id: u64, number: u64, status: &str, text: &str| {
        let rest = json!({"part_of": uri, "part": number});
        frame(id, &format!("{uri}#page-{number}"), status, text, rest)
    };
    let document = |id: u64, status: &str, text: &str, parts: u64| {
        frame(id, uri, status, text, json!({"parts": parts, "title": ""}))
    };
    let mut lines = vec![
        document(0, "superseded", "old one, ", 3),
        page(1, 2, "superseded", "old two, "),
        page(2, 3, "deleted", "old three"),
        document(3, "active", "one, ", 2),
        page(4, 2, "active", "two"),
        json!({"end": {}}),
    ];
    let told = with_helper(&sandbox, &answering(&sandbox, &lines), &["get", "note/a"]);
    assert_eq!((&told["text"], &told["title"]), (&json!("one, two"), &json!("")), "{told}");
    sandbox.ok(&["init"]);
    let helper = answering(&sandbox, &lines);
    let file = sandbox.write("old.mv2", "MV2\0");
    let told = with_helper(&sandbox, &helper, &["import", file.to_str().expect("UTF-8")]);
    assert_eq!((&told["added"], &told["revisions"]), (&json!(1), &json!(1)), "{told}");
    configured(&sandbox, "capsule", false);
    let uri = sandbox.json(&["timeline"])["records"][0]["uri"].as_str().expect("one").to_string();
    let texts = sandbox.json(&["history", &uri])["records"].to_string();
    assert!(texts.contains("old one, old two, old three"), "{texts}");
    configured(&sandbox, "memvid", false);
    lines.remove(4);
    let told = with_helper(&sandbox, &answering(&sandbox, &lines), &["get", "note/a"]);
    assert_eq!(told["error"]["code"], "memvid_failed", "{told}");
    assert!(told["error"]["message"].as_str().is_some_and(|why| why.contains("1 of its 2 pages")));
}

#[test]
fn a_long_text_in_memvid_comes_back_whole_and_nothing_is_left_of_what_it_replaced() {
    let Some(helper) = helper("a_long_text_in_memvid_comes_back_whole") else { return };
    let sandbox = Sandbox::empty();
    configured(&sandbox, "memvid", false);
    let call = |args: &[&str]| with_helper(&sandbox, &helper, args);
    let put = |text: &str, more: &[&str]| {
        let told = call(&[&["put", "--uri", "note/long", "--text", text][..], more].concat());
        assert_eq!(told["id"], "mv2://default/note/long", "{told}");
    };
    let hits = |query: &str| call(&["find", query])["hits"].as_array().expect("hits").clone();
    let text = |lines: usize, last: &str| {
        let rows: String = (0..lines).map(|row| format!("Row {row} of it.\n\n")).collect();
        format!("{rows}| a table |\n\n  {last}\n")
    };
    let [first, second] = [text(500, "The walrus sleeps."), text(200, "The otter swims.")];
    put(&first, &["--title", "Long"]);
    let told = call(&["get", "note/long"]);
    assert_eq!((&told["text"], &told["title"]), (&json!(first), &json!("Long")));
    let found = hits("walrus");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0]["id"], &found[0]["title"]), (&told["id"], &json!("Long")));
    let shown = found[0]["text"].as_str().expect("a text");
    assert!(shown.ends_with("  The walrus sleeps.\n") && first.ends_with(shown), "{shown}");
    assert_eq!(hits("row").len(), 1, "pages of one text are one hit");

    put("A lynx.\n\n  It waits.", &[]);
    assert_eq!(call(&["get", "note/long"])["text"], "A lynx.\n\n  It waits.");
    assert_eq!(hits("lynx")[0]["text"], "A lynx.\n\n  It waits.");
    for gone in ["walrus", "table", "created_at", "kapsa"] {
        assert_eq!(hits(gone), Vec::<Value>::new(), "{gone}");
    }
    put(&second, &[]);
    assert_eq!(call(&["get", "note/long"])["text"], json!(second));
    assert_eq!((hits("otter").len(), hits("lynx").len(), hits("walrus").len()), (1, 0, 0));

    sandbox.ok(&["init"]);
    let told = call(&["import", ".kapsa/workspace.mv2"]);
    assert_eq!((&told["added"], &told["revisions"]), (&json!(1), &json!(2)), "{told}");
    configured(&sandbox, "capsule", false);
    let uri = sandbox.json(&["timeline"])["records"][0]["uri"].as_str().expect("one").to_string();
    let texts = sandbox.json(&["history", &uri]).to_string();
    for wanted in [&first, &second] {
        assert!(texts.contains(&wanted.replace('\n', "\\n")), "a revision is not whole");
    }
}

#[test]
fn a_candidate_that_answers_worse_fails_the_comparison() {
    let sandbox = with_capsule(Capsule::Well);
    let daemon = StandIn::start(Daemon::Up);
    let golden = |relevant: &str| {
        let line = json!({"query": "from", "relevant": [relevant]});
        sandbox.write("golden.jsonl", line.to_string());
    };
    let compare = |reference: &str, candidate: &str| {
        let stores = ["--reference", reference, "--candidate", candidate, "--p95", "600000"];
        let (code, told) = call(
            &sandbox,
            &daemon,
            &[&["backend", "compare", "golden.jsonl"][..], &stores].concat(),
        );
        (code.expect("no signal"), told)
    };
    golden("note/a");
    let (code, told) = compare("capsule", "capsule");
    assert_eq!((code, &told["passed"]), (0, &json!(true)), "{told}");
    assert_eq!(told["candidate"]["reciprocal_rank"], 1.0);
    let (code, told) = compare("capsule", "local-memory");
    assert_eq!((code, &told["passed"]), (1, &json!(false)), "{told}");
    assert_eq!(told["failures"].as_array().map(Vec::len), Some(3), "{told}");
    golden("the daemon");
    assert_eq!(compare("capsule", "local-memory").0, 0);
    assert_eq!(compare("local-memory", "capsule").0, 1);
    let slow = ["--reference", "local-memory", "--candidate", "local-memory", "--p95", "0"];
    let (code, told) =
        call(&sandbox, &daemon, &[&["backend", "compare", "golden.jsonl"][..], &slow].concat());
    assert_eq!((code, told["failures"].as_array().map(Vec::len)), (Some(1), Some(1)), "{told}");
    sandbox.write("golden.jsonl", "{\"query\": 5}");
    assert_eq!(compare("capsule", "capsule").1["error"]["code"], "invalid_json");
}

/// A call that answers people.
fn shown(sandbox: &Sandbox, daemon: &StandIn, args: &[&str]) -> Run {
    let mut command = sandbox.command();
    command
        .env("KAPSA_LOCAL_MEMORY_URL", &daemon.url)
        .env("KAPSA_LOCAL_MEMORY", sandbox.path("bin/local-memory"))
        .args(args);
    output(command, b"").into()
}

fn answering_always(sandbox: &Sandbox, answer: &Value) {
    let path = sandbox.write("bin/local-memory", format!("#!/bin/sh\necho '{answer}'\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
}

#[test]
fn a_text_without_an_id_is_not_told_as_stored_and_headlines_are_lines() {
    let sandbox = with_capsule(Capsule::Well);
    let daemon = StandIn::start(Daemon::Up);
    configured(&sandbox, "local-memory", false);
    for answer in [json!({"success": true}), json!({"success": true, "data": {"id": ""}})] {
        answering_always(&sandbox, &answer);
        let (code, told) = call(&sandbox, &daemon, &["put", "--text", "a note"]);
        let failed = (code, &told["error"]["code"]);
        assert_eq!(failed, (Some(1), &json!("backend_unavailable")), "{told}");
    }
    let memory = json!({"id": "lm-1", "title": "Ports", "content": "It is 5433."});
    answering_always(
        &sandbox,
        &json!({"success": true, "data": {"results": [
            {"memory": memory, "relevance_score": 0.9},
            {"memory": {"id": "lm-2", "content": "No title."}, "relevance_score": 0.1},
        ]}}),
    );
    let found = shown(&sandbox, &daemon, &["find", "port"]);
    assert_eq!(found.out, "1. lm-1  Ports\nIt is 5433.\n2. lm-2\nNo title.\n");
    answering_always(&sandbox, &json!({"success": true, "data": memory}));
    assert_eq!(shown(&sandbox, &daemon, &["get", "lm-1"]).out, "Ports\nIt is 5433.\n");
    let untitled = json!({"id": "lm-2", "content": "No title."});
    answering_always(&sandbox, &json!({"success": true, "data": untitled}));
    assert_eq!(shown(&sandbox, &daemon, &["get", "lm-2"]).out, "No title.\n");
}

#[test]
fn a_text_that_no_argument_holds_is_refused_for_its_length() {
    let sandbox = with_capsule(Capsule::Well);
    let daemon = StandIn::start(Daemon::Up);
    configured(&sandbox, "local-memory", false);
    // An argument of this program has the same limit: two make one that is longer.
    let half = "x".repeat(70_000);
    let (code, told) = call(&sandbox, &daemon, &["put", "--title", &half, "--text", &half]);
    assert_eq!((code, &told["error"]["code"]), (Some(1), &json!("too_large")), "{told}");
    assert!(!told["error"]["hint"].to_string().contains("memory_backend"), "{told}");
    let most = "x".repeat(131_070 - half.len() - 1);
    let (code, told) = call(&sandbox, &daemon, &["put", "--title", &half, "--text", &most]);
    assert_eq!((code, &told["id"]), (Some(0), &json!("lm-2")), "{told}");
}

#[test]
fn events_of_a_fallback_neither_leave_the_folder_nor_wait() {
    const EVENTS: &str = ".kapsa/workspace.kapsa.fallback.jsonl";
    let daemon = StandIn::start(Daemon::Up);
    for capsule in [Capsule::Corrupt, Capsule::Well] {
        for what in ["link", "inner link", "device", "pipe"] {
            let sandbox = with_capsule(capsule);
            configured(&sandbox, "capsule", true);
            let outside = tempfile::tempdir().expect("a folder");
            let victim = match what {
                "inner link" => sandbox.write("victim.txt", "as it was"),
                _ => outside.path().join("victim.txt"),
            };
            std::fs::write(&victim, "as it was").expect("written");
            let events = sandbox.path(EVENTS);
            let linked = match what {
                "pipe" => {
                    fifo(&events);
                    Ok(())
                }
                "device" => std::os::unix::fs::symlink("/dev/zero", &events),
                _ => std::os::unix::fs::symlink(&victim, &events),
            };
            linked.expect("linked");
            let (code, told) = call(&sandbox, &daemon, &["find", "from"]);
            assert_eq!(code, Some(0), "{capsule:?} {what}: {told}");
            let warning = &told["warnings"][0];
            let wanted = match capsule {
                Capsule::Corrupt => ("fallback_activated", "not recorded"),
                _ => ("event_not_recorded", ""),
            };
            assert_eq!(warning["code"], wanted.0, "{capsule:?} {what}: {told}");
            assert!(warning["message"].as_str().is_some_and(|it| it.contains(wanted.1)), "{told}");
            assert_eq!(std::fs::read_to_string(&victim).expect("read"), "as it was");
            assert!(events.symlink_metadata().is_ok(), "{capsule:?} {what}");
        }
    }
}

#[test]
fn a_file_of_memvid_beside_the_capsule_is_no_link_out_of_the_project() {
    for capsule in [Capsule::Well, Capsule::Missing] {
        for fallback in [false, true] {
            let sandbox = with_capsule(capsule);
            let daemon = StandIn::start(Daemon::Up);
            configured(&sandbox, "memvid", fallback);
            with_memvid(&sandbox, Capsule::Missing);
            let outside = tempfile::tempdir().expect("a folder");
            let victim = outside.path().join("theirs.mv2");
            std::fs::write(&victim, "MV2\0").expect("written");
            std::fs::create_dir_all(sandbox.path(".kapsa")).expect("a folder");
            let link = sandbox.path(".kapsa/workspace.mv2");
            std::os::unix::fs::symlink(&victim, &link).expect("linked");
            for args in [&["find", "x"][..], &["get", "note/a"], &["put", "--text", "x"]] {
                let (code, told) = call(&sandbox, &daemon, args);
                let failed = (code, &told["error"]["code"]);
                assert_eq!(failed, (Some(1), &json!("capsule_elsewhere")), "{args:?}: {told}");
            }
            // Within the project it may be anywhere.
            std::fs::remove_file(&link).expect("removed");
            sandbox.write("stores/a.mv2", "MV2\0");
            std::os::unix::fs::symlink("../stores/a.mv2", &link).expect("linked");
            let (_, told) = call(&sandbox, &daemon, &["find", "x"]);
            assert_eq!(answer(&told), "From Memvid.", "{told}");
        }
    }
}
