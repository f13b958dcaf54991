//! Many calls in one process: as a script, and typed on a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;

use crate::support::{Run, Sandbox};
use crate::terminal::open_terminal;

fn script(sandbox: &Sandbox, args: &[&str], lines: &str) -> Run {
    sandbox.run_with(args, lines.as_bytes())
}

#[test]
fn a_script_puts_and_finds_as_single_calls_do() {
    let sandbox = Sandbox::empty();
    let lines = "# a comment\n\ninit\nput --text 'staging listens on port 5433' --uri fact/port\r\n  /find port  \nkapsa get fact/port --raw\n";
    let run = script(&sandbox, &["shell"], lines);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{run:?}");
    assert!(run.out.contains("fact/port  #1  added\n") && run.out.contains("port 5433"), "{run:?}");
    assert!(run.out.ends_with("staging listens on port 5433"), "{run:?}");
    assert_eq!(sandbox.ok(&["get", "fact/port", "--raw"]), "staging listens on port 5433");
}

#[test]
fn the_slash_twins_of_verbs_are_the_verbs() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--text", "x", "--uri", "note/x"]);
    for line in [
        "stats",
        "doctor",
        "commit --label one",
        "checkpoints",
        "resolve-uri note/x",
        "help",
        "branch list",
    ] {
        let run = script(&sandbox, &["shell"], &format!("/{line}\n"));
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{line}: {run:?}");
        assert!(!run.out.is_empty(), "{line}");
    }
}

#[test]
fn a_failing_line_is_told_by_its_number_and_the_others_run() {
    let sandbox = Sandbox::new();
    let lines = "put --text one --uri n/one\n# comment\nget n/none\nnonsense\nput --text 'open\nget n/one --raw";
    let run = script(&sandbox, &["shell"], lines);
    assert_eq!(run.code, Some(1));
    assert!(run.out.ends_with("one"), "the last line ran: {run:?}");
    for told in [
        "error: line 3: ",
        "hint: kapsa history n/none",
        "error: line 4: unrecognized subcommand",
        "error: line 5: a quote is not closed",
    ] {
        assert!(run.err.contains(told), "{told}: {run:?}");
    }
}

#[test]
fn the_exit_code_is_that_of_the_first_failing_line() {
    let sandbox = Sandbox::new();
    sandbox.write("bad.kapsa", "no capsule at all");
    std::fs::create_dir(sandbox.path("folder.kapsa")).expect("a folder");
    let system = sandbox.run(&["--capsule", "folder.kapsa", "stats"]).code;
    let code = |lines: &str, args: &[&str]| script(&sandbox, args, lines).code;
    assert_eq!(code("stats --capsule folder.kapsa\nget n/none\n", &["shell"]), system);
    assert_eq!(code("get n/none\nstats --capsule folder.kapsa\n", &["shell"]), Some(1));
    assert_eq!(code("svc nonsense\nget n/none\n", &["shell"]), Some(2), "a wrong call of svc");
    assert_eq!(code("stats\n", &["shell"]), Some(0));
    assert_eq!(code("", &["shell"]), Some(0));
}

#[test]
fn stop_ends_a_script_at_the_first_failure() {
    let sandbox = Sandbox::new();
    let lines = "put --text one --uri n/one\nget n/none\nput --text two --uri n/two\n";
    assert_eq!(script(&sandbox, &["shell", "--stop"], lines).code, Some(1));
    assert_eq!(sandbox.count(), 1);
    script(&sandbox, &["shell"], lines);
    assert_eq!(sandbox.count(), 2);
}

#[test]
fn exit_and_quit_end_a_script() {
    let sandbox = Sandbox::new();
    for end in ["exit", "quit", "/exit"] {
        let run = script(&sandbox, &["shell"], &format!("{end}\nput --text never\n"));
        assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(0), "", ""), "{end}");
    }
    assert_eq!(script(&sandbox, &["shell"], "get n/none\nexit\n").code, Some(1));
    assert_eq!(sandbox.count(), 0);
}

#[test]
fn the_flags_of_the_shell_hold_for_every_line() {
    let sandbox = Sandbox::empty();
    sandbox.ok(&["create", "a.kapsa"]);
    sandbox.ok(&["create", "b.kapsa"]);
    let lines = "put --text one --uri n/one\nget n/one\nget n/one --capsule b.kapsa\nget\n";
    let run = script(&sandbox, &["--capsule", "a.kapsa", "shell", "--json"], lines);
    let json = |text: &str| {
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect::<Vec<Value>>()
    };
    let (out, err) = (json(&run.out), json(&run.err));
    assert_eq!(out.len(), 2, "{run:?}");
    assert_eq!(out[1]["text"], "one");
    let told: Vec<_> = err
        .iter()
        .map(|line| (line["error"]["code"].as_str(), line["error"]["line"].as_u64()))
        .collect();
    assert_eq!(told, [(Some("uri_not_found"), Some(3)), (Some("usage"), Some(4))], "{run:?}");
    assert_eq!(run.code, Some(1));
}

#[test]
fn what_makes_no_sense_in_a_shell_is_refused() {
    let sandbox = Sandbox::new();
    for line in ["shell", "put", "put -", "put --plain", "svc put a.mv2"] {
        let run =
            script(&sandbox, &["shell"], &format!("{line}\nput --text after --uri n/after\n"));
        assert_eq!(run.code, Some(1), "{line}: {run:?}");
        assert!(run.err.contains("line 1: ") && run.out.starts_with("n/after "), "{line}: {run:?}");
    }
    assert_eq!(sandbox.count(), 1);
    let run = script(&sandbox, &["shell"], "purge note/x\n");
    assert_eq!(run.code, Some(1), "nobody is there to be asked: {run:?}");
}

#[test]
fn an_unwell_capsule_is_told_by_line() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--text", "some text to be damaged later"]);
    let mut bytes = crate::support::bytes(&sandbox.capsule());
    let at = bytes.windows(4).rposition(|part| part == b"text").expect("the text");
    bytes[at] ^= 1;
    std::fs::write(sandbox.capsule(), bytes).expect("a file");
    let alone = sandbox.run(&["verify"]).code;
    let run = script(&sandbox, &["shell"], "verify\n");
    assert_eq!(run.code, alone);
    assert_ne!(run.code, Some(0));
    assert!(run.err.contains("line 1: "), "{run:?}");
}

#[test]
fn a_script_leaves_no_history() {
    let sandbox = Sandbox::new();
    script(&sandbox, &["shell"], "stats\n");
    assert!(!sandbox.path("state").exists());
}

/// A shell on a terminal of its own.
struct Typist {
    keys: File,
    shown: Receiver<Vec<u8>>,
    seen: String,
    child: Child,
}

impl Typist {
    fn new(sandbox: &Sandbox) -> Typist {
        let (keys, end) = open_terminal();
        let mut command = sandbox.command();
        let copy = || end.try_clone().expect("a copy");
        command.arg("shell").stdin(copy()).stdout(copy()).stderr(copy());
        command
            .env("XDG_STATE_HOME", sandbox.path("state"))
            .env("TERM", "xterm")
            .env("NO_COLOR", "1");
        let child = command.spawn().expect("it starts");
        drop((command, end));
        let mut screen = keys.try_clone().expect("a copy");
        let (sender, shown) = channel();
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(read @ 1..) = screen.read(&mut part) {
                if sender.send(part[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        Typist { keys, shown, seen: String::new(), child }
    }

    fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("it reads");
    }

    /// Waits until the terminal has shown `text` since the last wait. The time only keeps a broken
    /// shell from waiting for ever.
    fn sees(&mut self, text: &str) {
        while !self.seen.contains(text) {
            let part = self.shown.recv_timeout(Duration::from_secs(120));
            let part =
                part.unwrap_or_else(|_| panic!("{text:?} was not shown, only {:?}", self.seen));
            self.seen.push_str(&String::from_utf8_lossy(&part));
        }
        let after = self.seen.find(text).map_or(0, |at| at + text.len());
        self.seen.drain(..after);
    }

    fn ends(mut self) -> Option<i32> {
        self.child.wait().expect("it ends").code()
    }
}

#[test]
fn tab_completes_and_the_history_is_the_owners() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--text", "what is remembered", "--uri", "note/first"]);
    let mut typist = Typist::new(&sandbox);
    typist.sees("kapsa workspace> ");
    typist.types("timel\t");
    typist.sees("timeline ");
    typist.types("--rev\t");
    typist.sees("--reverse ");
    typist.types("\r");
    typist.sees("what is remembered");
    typist.sees("kapsa workspace> ");
    typist.types("get note/f\t");
    typist.sees("note/first ");
    typist.types("--raw\r");
    typist.sees("what is remembered\r\n");
    typist.sees("kapsa workspace> ");
    typist.types(" stats\r");
    typist.sees("kapsa workspace> ");
    typist.types("\u{4}");
    assert_eq!(typist.ends(), Some(0));
    let file = sandbox.path("state/kapsa/history");
    let mode = |path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(&sandbox.path("state/kapsa"))), (0o600, 0o700));
    let kept = String::from_utf8(crate::support::bytes(&file)).expect("UTF-8");
    assert!(kept.contains("timeline --reverse") && kept.contains("get note/first --raw"), "{kept}");
    assert!(!kept.contains("stats"), "{kept}");
}

#[test]
fn a_typed_mistake_ends_nothing_and_the_prompt_names_the_branch() {
    let sandbox = Sandbox::new();
    sandbox.write("state", "a file where the history's folder would be");
    let mut typist = Typist::new(&sandbox);
    typist.sees("kapsa workspace> ");
    typist.types("nonsense\r");
    typist.sees("unrecognized subcommand");
    typist.sees("kapsa workspace> ");
    typist.types("put -\r");
    typist.sees("no standard input of its own");
    typist.sees("kapsa workspace> ");
    typist.types("branch create run/x --switch\r");
    typist.sees("kapsa workspace (run/x)> ");
    typist.types("half a line\u{3}");
    typist.sees("kapsa workspace (run/x)> ");
    typist.types("stats --branch ma\t");
    typist.sees("main ");
    typist.types("\u{3}");
    typist.sees("kapsa workspace (run/x)> ");
    typist.types("exit\r");
    assert_eq!(typist.ends(), Some(0));
}
