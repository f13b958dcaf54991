//! Stored and typed text never acts on a terminal, and a reader that goes away is no failure.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::process::Stdio;

use serde_json::json;

use crate::support::Sandbox;

const HOSTILE: &str =
    "lock\u{1b}[31m\u{1b}]52;c;x\u{7}\u{9b}2J\u{7f}\u{202e}\u{200b}\u{feff}\u{e0041}\r";

fn is_harmless(text: &str) -> bool {
    let hidden =
        |c: char| (c.is_control() && c != '\n' && c != '\t') || kapsa_memory::uri::is_invisible(c);
    !text.contains(hidden)
}

fn hostile_capsule() -> Sandbox {
    let sandbox = Sandbox::new();
    let record = json!({
        "uri": "n/x", "title": HOSTILE, "text": format!("{HOSTILE}\nsecond line"), "label": HOSTILE, "kind": HOSTILE, "tags": {HOSTILE: HOSTILE},
        "metadata": {HOSTILE: HOSTILE}, "entity": HOSTILE, "domain": HOSTILE, "agent": HOSTILE, "run": HOSTILE
    });
    sandbox.json_with(&["put"], record.to_string().as_bytes());
    sandbox
}

#[test]
fn stored_text_is_shown_escaped_to_people_and_programs() {
    let sandbox = hostile_capsule();
    let calls: [&[&str]; 5] = [
        &["get", "n/x"],
        &["history", "n/x"],
        &["timeline"],
        &["find", "lock"],
        &["find", "zzz", "--fallback"],
    ];
    for call in calls {
        for json in [false, true] {
            let args: Vec<_> = call.iter().copied().chain(json.then_some("--json")).collect();
            let run = sandbox.run(&args);
            assert_eq!(run.code, Some(0), "{args:?}");
            assert!(is_harmless(&run.out) && is_harmless(&run.err), "{args:?}: {run:?}");
        }
    }
    assert!(sandbox.ok(&["get", "n/x"]).contains("\\x1b[31m"));
    assert_eq!(sandbox.json(&["get", "n/x"])["title"], HOSTILE);
    assert_eq!(
        sandbox.ok(&["get", "n/x", "--raw"]),
        format!("{HOSTILE}\nsecond line"),
        "a pipe gets the bytes"
    );
}

#[test]
fn typed_text_comes_back_escaped() {
    let sandbox = Sandbox::new();
    let name = HOSTILE.replace('\u{feff}', "");
    let calls: [&[&str]; 8] = [
        &[&name],
        &["get", &name],
        &["put", &name],
        &["put", "--text", "x", "--created-at", &name],
        &["--capsule", &name, "stats"],
        &["create", &name, &name],
        &["svc", "info", &name],
        &["svc", "find", "x", "--query", "x", "--mode", &name],
    ];
    for call in calls {
        for json in [false, true] {
            let args: Vec<_> = call.iter().copied().chain(json.then_some("--json")).collect();
            let run = sandbox.run(&args);
            assert_ne!(run.code, Some(0), "{args:?}");
            assert!(is_harmless(&run.out) && is_harmless(&run.err), "{args:?}: {run:?}");
        }
    }
}

#[test]
fn a_bad_line_is_quoted_escaped() {
    let sandbox = Sandbox::new();
    for input in [
        json!({ "text": "x", HOSTILE: 1 }).to_string(),
        json!({ "text": "x", "created_at": HOSTILE }).to_string(),
    ] {
        let run = sandbox.run_with(&["put"], input.as_bytes());
        assert_eq!(run.code, Some(1));
        assert!(is_harmless(&run.err), "{run:?}");
    }
}

#[test]
fn file_names_are_shown_escaped() {
    let sandbox = Sandbox::new();
    sandbox.write(&format!("docs/{}.md", HOSTILE.replace('\r', "")), b"a\0b");
    sandbox.write(&format!("docs/good{}.md", HOSTILE.replace('\r', "")), "# Lock\n\nA lock.\n");
    for args in [["put", "docs"], ["find", "lock"]] {
        let run = sandbox.run(&args);
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(is_harmless(&run.out) && is_harmless(&run.err), "{run:?}");
    }
}

/// A new terminal: the side that a person would be on, and the side that a program is on.
pub(crate) fn open_terminal() -> (File, File) {
    let (mut master, mut slave) = (0, 0);
    // SAFETY: both pointers are to live integers, and null stands for the defaults of the others.
    let opened = unsafe {
        libc::openpty(
            &raw mut master,
            &raw mut slave,
            std::ptr::null_mut(),
            std::ptr::null(),
            std::ptr::null(),
        )
    };
    assert_eq!(opened, 0, "a terminal opens");
    // SAFETY: openpty gave both descriptors to us alone.
    unsafe { (File::from_raw_fd(master), File::from_raw_fd(slave)) }
}

/// Runs with standard output on a terminal of its own; gives what the terminal received.
pub(crate) fn on_a_terminal(sandbox: &Sandbox, args: &[&str], no_color: bool) -> String {
    shown_on(sandbox, args, no_color, open_terminal())
}

/// As [`on_a_terminal`], on one of so many columns.
pub(crate) fn on_a_terminal_of(sandbox: &Sandbox, args: &[&str], columns: u16) -> String {
    let (master, slave) = open_terminal();
    let size = libc::winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the descriptor is open, and the pointer is to a live structure of the type that the
    // call reads.
    let set = unsafe {
        libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(&slave), libc::TIOCSWINSZ, &raw const size)
    };
    assert_eq!(set, 0, "the size is set");
    shown_on(sandbox, args, false, (master, slave))
}

fn shown_on(
    sandbox: &Sandbox,
    args: &[&str],
    no_color: bool,
    (mut master, slave): (File, File),
) -> String {
    let mut command = sandbox.command();
    command
        .args(args)
        .stdin(Stdio::null())
        .stdout(slave)
        .stderr(Stdio::null())
        .env("TERM", "xterm");
    if no_color {
        command.env("NO_COLOR", "1");
    }
    let mut child = command.spawn().expect("it starts");
    drop(command);
    let mut seen = Vec::new();
    master.read_to_end(&mut seen).ok();
    child.wait().expect("it ends");
    String::from_utf8(seen).expect("UTF-8").replace("\r\n", "\n")
}

#[test]
fn a_terminal_gets_bold_words_and_never_raw_text() {
    let sandbox = hostile_capsule();
    let shown = on_a_terminal(&sandbox, &["find", "lock"], false);
    assert!(shown.contains("\u{1b}[1mlock\u{1b}[0m"), "{shown:?}");
    let plain = on_a_terminal(&sandbox, &["find", "lock"], true);
    assert!(plain.contains("lock") && is_harmless(&plain), "{plain:?}");
    for args in [&["get", "n/x"][..], &["get", "n/x", "--raw"], &["timeline"]] {
        let styles_removed = on_a_terminal(&sandbox, args, false)
            .replace("\u{1b}[1m", "")
            .replace("\u{1b}[2m", "")
            .replace("\u{1b}[0m", "");
        assert!(is_harmless(&styles_removed), "{args:?}: {styles_removed:?}");
    }
    assert!(is_harmless(&on_a_terminal(&sandbox, &["get", "n/x", "--json"], false)));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let sandbox = Sandbox::new();
    let lines: String =
        (0..2000).map(|n| format!("{{\"text\":\"{n} {}\"}}\n", "word ".repeat(100))).collect();
    sandbox.json_with(&["put"], lines.as_bytes());
    for args in [
        &["timeline", "--limit", "2000", "--json"][..],
        &["completions", "zsh"],
        &["timeline", "--limit", "2000"],
    ] {
        let mut child = sandbox
            .command()
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    }
}

#[test]
fn a_full_standard_output_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--text", "x"]);
    let full = File::options().write(true).open("/dev/full").expect("/dev/full");
    let output = sandbox.command().args(["timeline"]).stdout(full).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("standard output"));
}
