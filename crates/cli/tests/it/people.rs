//! What people type and see: guessed verbs, colour, width, lists, differences, contested records
//! and files beside a capsule.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::Sandbox;
use crate::terminal::{on_a_terminal, on_a_terminal_of};

const BOLD: &str = "\u{1b}[1m";

#[test]
fn guessed_names_of_verbs_work() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["add", "--text", "a lock file", "--uri", "note/locks"]);
    assert_eq!(sandbox.ok(&["search", "lock"]), sandbox.ok(&["find", "lock"]));
    for list in ["list", "ls"] {
        assert_eq!(sandbox.ok(&[list]), sandbox.ok(&["timeline"]));
    }
    sandbox.ok(&["commit", "--label", "v1"]);
    assert!(sandbox.ok(&["checkpoints"]).contains("v1"));
    sandbox.ok(&["rm", "note/locks"]);
    sandbox.fails(&["get", "note/locks"], 1, "uri_not_found");
}

#[test]
fn text_given_as_a_path_is_answered_with_the_call_that_stores_it() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["put", "some text"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.err.contains("hint: ") && run.err.contains("kapsa put --text 'some text'"),
        "{run:?}"
    );
    let run = sandbox.run(&["put", &"long ".repeat(50)]);
    assert!(run.err.contains("kapsa put --text TEXT"), "{run:?}");
    let run = sandbox.run(&["put", "missing.md"]);
    assert!(run.err.contains("cannot read missing.md"), "{run:?}");
}

#[test]
fn a_branch_is_merged_by_its_name() {
    let sandbox = Sandbox::new();
    for (branch, by_flag) in [("one", false), ("two", true)] {
        sandbox.ok(&["branch", "create", branch]);
        sandbox.ok(&[
            "put",
            "--branch",
            branch,
            "--text",
            branch,
            "--uri",
            &format!("decision/{branch}"),
            "--kind",
            "decision",
        ]);
        let merge: &[&str] =
            if by_flag { &["merge", "--from", branch] } else { &["merge", branch] };
        assert!(
            sandbox.ok(merge).contains(&format!("from {branch}"))
                || sandbox.json(&["get", &format!("decision/{branch}")])["text"] == branch
        );
        assert_eq!(sandbox.json(&["get", &format!("decision/{branch}")])["text"], branch);
    }
    sandbox.fails(&["merge"], 1, "usage");
    sandbox.fails(&["merge", "one", "--from", "two"], 1, "usage");
}

#[test]
fn colour_is_used_on_a_terminal_or_when_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--text", "a lock file", "--uri", "note/locks"]);
    let piped = sandbox.ok(&["find", "lock"]);
    assert!(
        piped.contains("a lock file") && !piped.contains("**") && !piped.contains('\u{1b}'),
        "{piped:?}"
    );
    let forced = sandbox.ok(&["--color", "always", "find", "lock"]);
    assert!(forced.contains(&format!("a {BOLD}lock\u{1b}[0m file")), "{forced:?}");
    assert!(sandbox.ok(&["--color=always", "--help"]).contains(BOLD));
    for args in [&["find", "lock", "--color", "never"][..], &["--color", "never", "--help"]] {
        assert!(!on_a_terminal(&sandbox, args, false).contains('\u{1b}'), "{args:?}");
    }
    assert!(on_a_terminal(&sandbox, &["find", "lock"], false).contains(BOLD));
    assert!(!on_a_terminal(&sandbox, &["find", "lock"], true).contains('\u{1b}'), "NO_COLOR");
    sandbox.fails(&["find", "lock", "--color", "loud"], 1, "usage");
}

#[test]
fn output_fits_the_terminal_without_breaking_words() {
    let sandbox = Sandbox::new();
    let text = "fourteen seventeen nineteen ".repeat(20);
    sandbox.ok(&["put", "--text", &text, "--uri", "note/long", "--title", &text]);
    for columns in [40, 77] {
        for args in [&["get", "note/long"][..], &["find", "fourteen"], &["timeline"], &["log"]] {
            let shown = on_a_terminal_of(&sandbox, args, columns)
                .replace(BOLD, "")
                .replace("\u{1b}[2m", "")
                .replace("\u{1b}[0m", "");
            for line in shown.lines() {
                assert!(
                    line.chars().count() <= usize::from(columns),
                    "{args:?} in {columns}: {line:?}"
                );
                let words = line
                    .split_whitespace()
                    .filter(|word| word.starts_with("four") || word.starts_with("seven"));
                for word in words {
                    let whole = word.trim_end_matches('…');
                    assert!(
                        ["fourteen", "seventeen"].contains(&whole),
                        "{args:?} in {columns}: {line:?}"
                    );
                }
            }
        }
    }
    assert!(
        sandbox.ok(&["get", "note/long"]).contains(text.trim_end()),
        "a pipe gets lines as they are"
    );
}

#[test]
fn a_hit_shows_its_date_and_what_is_not_usual() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--text", "the port is 5433", "--uri", "note/port"]);
    sandbox.ok(&[
        "put",
        "--text",
        "the port was 80",
        "--uri",
        "fact/old",
        "--kind",
        "fact",
        "--created-at",
        "2020-02-03",
    ]);
    sandbox.ok(&["branch", "create", "feature"]);
    let found = sandbox.ok(&["find", "port", "--branch", "feature"]);
    let line = |uri: &str| {
        found
            .lines()
            .find(|line| line.contains(uri))
            .unwrap_or_else(|| panic!("{uri}: {found}"))
            .to_string()
    };
    assert!(
        line("fact/old").contains("created 2020-02-03, stored 20")
            && line("fact/old").contains("  fact  on main"),
        "{found}"
    );
    assert!(
        !line("note/port").contains("  note  ") && line("note/port").contains("  20"),
        "{found}"
    );
    assert!(!sandbox.ok(&["find", "port"]).contains("on main"));
}

#[test]
fn the_timeline_shows_the_newest_and_says_that_there_are_more() {
    let sandbox = Sandbox::new();
    let lines: String =
        (1..=60).map(|n| format!("{{\"text\":\"t{n}\",\"uri\":\"n/{n}\"}}\n")).collect();
    sandbox.json_with(&["put"], lines.as_bytes());
    let run = sandbox.run(&["timeline"]);
    let uris: Vec<_> = run
        .out
        .lines()
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with("n/")))
        .collect();
    assert_eq!(
        (uris.len(), uris.first(), uris.last()),
        (50, Some(&"n/11"), Some(&"n/60")),
        "{run:?}"
    );
    assert!(run.err.contains("newest 50") && run.err.contains("--oldest"), "{run:?}");
    let of = |args: &[&str]| {
        let out = sandbox.run(&[&["timeline", "--limit", "2"], args].concat()).out;
        out.lines()
            .filter_map(|line| {
                line.split_whitespace().find(|word| word.starts_with("n/")).map(str::to_string)
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&[]), ["n/59", "n/60"]);
    assert_eq!(of(&["--reverse"]), ["n/60", "n/59"]);
    assert_eq!(of(&["--oldest"]), ["n/1", "n/2"]);
    assert_eq!(of(&["--oldest", "--reverse"]), ["n/2", "n/1"]);
    assert_eq!(sandbox.run(&["timeline", "--limit", "60"]).err, "", "nothing more");
}

#[test]
fn created_and_committed_are_named_apart() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--text", "x", "--uri", "note/old", "--created-at", "2020-02-03"]);
    let shown = sandbox.ok(&["get", "note/old"]);
    assert!(
        shown.contains("created    2020-02-03 00:00:00\n") && shown.contains("\ncommitted  2"),
        "{shown}"
    );
    assert!(sandbox.ok(&["timeline"]).contains("created 2020-02-03"));
}

#[test]
fn a_difference_shows_changed_lines_only() {
    let sandbox = Sandbox::new();
    let text = |port: &str| {
        (1..=20)
            .map(|n| if n == 10 { format!("port {port}\n") } else { format!("line {n}\n") })
            .collect::<String>()
    };
    sandbox.ok(&["put", "--uri", "note/ports", "--text", &text("80")]);
    sandbox.ok(&["checkpoint", "--label", "v1"]);
    sandbox.ok(&["put", "--uri", "note/ports", "--text", &text("443"), "--kind", "fact"]);
    let shown = sandbox.ok(&["diff", "v1"]);
    assert!(shown.contains("   - port 80\n   + port 443\n"), "{shown}");
    assert!(
        shown.contains("     line 9\n")
            && !shown.contains("line 1\n")
            && !shown.contains("line 20"),
        "{shown}"
    );
    assert!(
        shown.contains("   - [kind] note\n") && shown.contains("   + [kind] fact\n"),
        "{shown}"
    );
    let coloured = sandbox.ok(&["diff", "v1", "--color", "always"]);
    assert!(
        coloured.contains("\u{1b}[31m   - port 80\u{1b}[0m")
            && coloured.contains("\u{1b}[32m   + port 443\u{1b}[0m"),
        "{coloured:?}"
    );
}

#[test]
fn a_contested_record_shows_every_side() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--uri", "note/port", "--text", "the port is 1"]);
    sandbox.ok(&["branch", "create", "feature"]);
    sandbox.ok(&["put", "--uri", "note/port", "--text", "the port is 2"]);
    sandbox.ok(&["put", "--uri", "note/port", "--text", "the port is 3", "--branch", "feature"]);
    sandbox.ok(&["merge", "feature", "--contested"]);
    let shown = sandbox.ok(&["get", "note/port"]);
    assert!(shown.contains("the port is 2") && shown.contains("the port is 3"), "{shown}");
    let contested = shown.lines().find(|line| line.starts_with("contested ")).expect("a line");
    let origin = shown.lines().find(|line| line.starts_with("origin ")).expect("a line");
    let number = |line: &str| line.rsplit('#').next().map(str::to_string);
    assert_ne!(number(contested), number(origin), "its own origin is not its rival: {shown}");
    assert!(shown.contains("contested by #"), "{shown}");
}

#[test]
fn a_conflict_is_edited_in_the_editor() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--uri", "note/port", "--text", "a\nport 1\nz", "--kind", "decision"]);
    sandbox.ok(&["branch", "create", "feature"]);
    sandbox.ok(&["put", "--uri", "note/port", "--text", "a\nport 2\nz", "--kind", "decision"]);
    sandbox.ok(&[
        "put",
        "--uri",
        "note/port",
        "--text",
        "a\nport 3\nz",
        "--kind",
        "decision",
        "--branch",
        "feature",
    ]);
    let script = "#!/bin/sh\ncp \"$2\" seen.txt\nprintf 'a\\nport 2 and 3\\nz\\n' > \"$2\"\n";
    let editor = sandbox.write("edit.sh", script);
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755))
        .expect("it may be run");
    let (mut master, slave) = crate::terminal::open_terminal();
    let mut command = sandbox.command();
    command
        .args(["merge", "feature"])
        .env("VISUAL", format!("{} --flag", editor.display()))
        .env("EDITOR", "false");
    let stdio = || Stdio::from(slave.try_clone().expect("a descriptor"));
    let mut child =
        command.stdin(stdio()).stdout(stdio()).stderr(stdio()).spawn().expect("it starts");
    std::io::Write::write_all(&mut master, b"e\nboth are used\n").expect("it is typed");
    drop(slave);
    drop(command);
    let reader = std::thread::spawn(move || {
        let mut seen = Vec::new();
        std::io::Read::read_to_end(&mut master, &mut seen).ok();
        String::from_utf8_lossy(&seen).into_owned()
    });
    let status = child.wait().expect("it ends");
    let shown = reader.join().expect("the reader ends");
    assert!(status.success(), "{shown}");
    assert_eq!(sandbox.json(&["get", "note/port"])["text"], "a\nport 2 and 3\nz");
    let seen = std::fs::read_to_string(sandbox.path("seen.txt")).expect("what the editor got");
    assert_eq!(seen, "a\n<<<<<<< ours\nport 2\n=======\nport 3\n>>>>>>> theirs\nz\n");
}

#[test]
fn an_unchanged_put_does_not_say_where_the_capsule_is() {
    let sandbox = Sandbox::new();
    sandbox.write("a.md", "# A\n\nOne passage.\n");
    assert!(sandbox.ok(&["put", "a.md"]).contains("now at #"));
    sandbox.ok(&["put", "--text", "another"]);
    let again = sandbox.ok(&["put", "a.md"]);
    assert!(again.contains("unchanged") && !again.contains("now at"), "{again}");
}

#[test]
fn a_missing_model_folder_is_the_users_error_with_a_hint() {
    let sandbox = Sandbox::new();
    let error = sandbox.fails(&["model", "add", "./missing"], 1, "invalid_model");
    assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("config.json")), "{error}");
    std::fs::create_dir(sandbox.path("empty")).expect("a folder");
    let error = sandbox.fails(&["model", "add", "./empty"], 1, "invalid_model");
    assert!(error["hint"].is_string(), "{error}");
}

#[test]
fn models_are_listed_without_a_home_folder() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    for name in ["HOME", "XDG_DATA_HOME", "LOCALAPPDATA", "KAPSA_MODELS"] {
        command.env_remove(name);
    }
    let output = command.args(["model", "list"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("bundled"));
}

#[test]
fn a_hint_names_clearance_only_where_it_would_help() {
    let sandbox = Sandbox::new();
    let hint = |args: &[&str]| {
        sandbox.fails(args, 1, "access_denied")["hint"].as_str().unwrap_or_default().to_string()
    };
    assert!(hint(&["--as", "cro", "branch", "list"]).contains("leave out --as"));
    assert!(
        hint(&["--as", "cro", "put", "--text", "x", "--domain", "hr"])
            .contains("kapsa clearance set")
    );
}

#[test]
fn a_sequence_is_a_plain_number() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--uri", "note/a", "--text", "first"]);
    sandbox.ok(&["put", "--uri", "note/a", "--text", "second"]);
    for at in ["1", "#1"] {
        assert_eq!(sandbox.json(&["get", "note/a", "--as-of", at])["text"], "first", "{at}");
    }
}

#[test]
fn an_explanation_does_not_call_a_guess_meaning() {
    let sandbox = Sandbox::new();
    sandbox.ok(&[
        "put",
        "--text",
        "the build needs cmake",
        "--uri",
        "note/build",
        "--embed",
        "now",
    ]);
    sandbox.ok(&[
        "put",
        "--text",
        "cmake is a build tool",
        "--uri",
        "note/tool",
        "--embed",
        "later",
    ]);
    let run = sandbox.run(&["find", "cmake build", "--mode", "explain"]);
    let tool: String =
        run.out.split("note/tool").nth(1).unwrap_or_default().lines().take(3).collect();
    assert!(tool.contains("no vector +") && !tool.contains("meaning +"), "{run:?}");
    let build: String =
        run.out.split("note/build").nth(1).unwrap_or_default().lines().take(3).collect();
    assert!(build.contains("meaning +"), "{run:?}");
}

#[test]
fn the_log_speaks_plainly_of_branches_checkpoints_and_merges() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--uri", "note/a", "--text", "one"]);
    sandbox.ok(&["branch", "create", "feature"]);
    sandbox.ok(&[
        "put",
        "--branch",
        "feature",
        "--uri",
        "decision/b",
        "--text",
        "two",
        "--kind",
        "decision",
    ]);
    sandbox.ok(&["merge", "feature"]);
    sandbox.ok(&["checkpoint", "--label", "v1"]);
    for args in [&["log", "--all"][..], &["checkpoints", "--all"], &["events"], &["timeline"]] {
        let shown = sandbox.ok(args);
        for word in ["_global", "_manual", "Unlock"] {
            assert!(!shown.contains(word), "{args:?}: {shown}");
        }
    }
    assert!(sandbox.ok(&["log"]).contains("merged feature into main"), "{}", sandbox.ok(&["log"]));
}

#[test]
fn git_does_not_list_the_lock_beside_a_capsule() {
    let sandbox = Sandbox::empty();
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .args(args)
            .current_dir(sandbox.path(""))
            .output()
            .expect("git runs");
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    git(&["init", "-q"]);
    sandbox.write(".gitignore", "target");
    sandbox.ok(&["create", "team.kapsa"]);
    sandbox.ok(&["create", "team.kapsa"]);
    sandbox.ok(&["put", "--capsule", "team.kapsa", "--text", "x"]);
    assert!(sandbox.path("team.kapsa.lock").exists());
    assert_eq!(git(&["status", "--porcelain"]), "?? .gitignore\n?? team.kapsa\n");
    assert_eq!(
        std::fs::read_to_string(sandbox.path(".gitignore")).expect("it is there"),
        "target",
        "untouched"
    );
    let exclude = std::fs::read_to_string(sandbox.path(".git/info/exclude")).expect("it is there");
    assert_eq!(exclude.matches("*.kapsa.lock").count(), 1, "{exclude}");
    sandbox.ok(&["init"]);
    assert_eq!(git(&["status", "--porcelain"]), "?? .gitignore\n?? team.kapsa\n");
    assert_eq!(sandbox.json(&["--capsule", "team.kapsa", "timeline"])["count"], json!(1));
}
