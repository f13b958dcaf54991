//! What nobody should do: each gets a clear error and the right exit code, and the capsule is
//! unchanged.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::{Run, Sandbox, bytes, fifo, output};

#[test]
fn bad_records_leave_the_capsule_as_it_was() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--text", "kept"]);
    let before = bytes(&sandbox.capsule());
    let deep = format!(
        "{{\"text\":\"x\",\"metadata\":{{\"a\":{}{}}}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let cases: [(&[u8], &str); 14] = [
        (b"", "empty_input"),
        (b"\n \n", "empty_input"),
        (b"not JSON", "invalid_json"),
        (b"{\"text\":\"x\"", "invalid_json"),
        (b"{\"text\":\"x\"}}", "invalid_json"),
        (b"[{\"text\":\"x\"}]", "invalid_json"),
        (b"{\"text\":\"\xff\xfe\"}", "invalid_json"),
        (b"{\"text\":\"\\ud800\"}", "invalid_json"),
        (deep.as_bytes(), "invalid_json"),
        (b"{\"text\":\"\"}", "invalid_record"),
        (b"{\"title\":\"no text\"}", "invalid_record"),
        (b"{\"text\":\"x\",\"confidence\":2}", "invalid_record"),
        (b"{\"text\":\"x\",\"uri\":\"a/../b\"}", "invalid_uri"),
        (b"{\"text\":\"x\",\"body\":1}", "unknown_field"),
    ];
    for (input, code) in cases {
        sandbox.fails_with(&["put"], input, 1, code);
    }
    assert_eq!(bytes(&sandbox.capsule()), before);
}

#[test]
fn bad_flags_and_uris_are_refused() {
    let sandbox = Sandbox::new();
    let before = bytes(&sandbox.capsule());
    sandbox.fails(&["put", "--text", ""], 1, "invalid_record");
    sandbox.fails_with(&["put", "--plain"], b"", 1, "invalid_record");
    sandbox.fails_with(&["put", "--plain"], b"caf\xe9", 1, "invalid_utf8");
    for uri in [
        "",
        "a//b",
        "..",
        "a/../../etc/passwd",
        "a b",
        "a\nb",
        "a\u{202e}b",
        "http://x/y",
        "mv2://ws",
        "a\\b",
        &"x".repeat(2000),
    ] {
        sandbox.fails(&["put", "--text", "x", "--uri", uri], 1, "invalid_uri");
        sandbox.fails(&["get", uri], 1, "invalid_uri");
    }
    let cases: [&[&str]; 8] = [
        &["put", "--text", "x", "--tag", "=v"],
        &["put", "--text", "x", "--meta", "[1]"],
        &["put", "--text", "x", "--meta", "{"],
        &["put", "--text", "x", "--confidence", "very"],
        &["put", "--text", "x", "--created-at", "soon"],
        &["put", "--nonsense"],
        &["--lock-timeout", "-1", "stats"],
        &["nonsense"],
    ];
    for case in cases {
        sandbox.fails(case, 1, "usage");
    }
    sandbox.fails(&["put", "--text", "x", "--title", &"t".repeat(5000)], 1, "invalid_record");
    sandbox.fails(&["put", "--text", "x", "--confidence", "2"], 1, "invalid_record");
    assert_eq!(bytes(&sandbox.capsule()), before);
}

#[test]
fn a_text_beyond_the_limit_is_refused_in_bounded_memory() {
    let sandbox = Sandbox::new();
    let long = vec![b'x'; 17 << 20];
    sandbox.fails_with(&["put", "--plain"], &long, 1, "invalid_record");
    let endless = vec![b'x'; 65 << 20];
    sandbox.fails_with(&["put"], &endless, 1, "too_large");
    assert_eq!(sandbox.count(), 0);
}

/// Where a name that a command makes leads elsewhere, the place it leads to is not touched.
#[test]
fn links_pipes_and_folders_in_the_way_are_neither_followed_nor_written() {
    let victim_names = ["workspace.kapsa.tmp", "workspace.kapsa.lock", "workspace.kapsa.bak"];
    for name in victim_names {
        for command in
            [vec!["put", "--text", "x"], vec!["compact"], vec!["optimize"], vec!["init", "--force"]]
        {
            let sandbox = Sandbox::new();
            sandbox.ok(&["put", "--text", "kept"]);
            let victim = sandbox.write("victim", "precious");
            let place = sandbox.path(&format!(".kapsa/{name}"));
            std::fs::remove_file(&place).ok();
            std::os::unix::fs::symlink(&victim, &place).expect("a link");
            let run = sandbox.run(&command);
            assert_eq!(bytes(&victim), b"precious", "{name}, {command:?}: {run:?}");
        }
    }
    for what in ["link", "dangling link", "pipe", "folder"] {
        let sandbox = Sandbox::new();
        sandbox.ok(&["put", "--text", "kept"]);
        let victim = sandbox.write("victim", "precious");
        let place = sandbox.path("new.kapsa");
        match what {
            "link" => std::os::unix::fs::symlink(&victim, &place).expect("a link"),
            "dangling link" => {
                std::os::unix::fs::symlink(sandbox.path("nowhere"), &place).expect("a link")
            }
            "pipe" => fifo(&place),
            _ => std::fs::create_dir(&place).expect("a folder"),
        }
        for command in [["salvage", "new.kapsa"], ["create", "new.kapsa"]] {
            let run = sandbox.run(&command);
            // A link that leads nowhere is replaced by the capsule, not followed.
            let replaced = what == "dangling link"
                && sandbox.path("new.kapsa").is_file()
                && !place.is_symlink();
            assert!(run.code != Some(0) || replaced, "{what}, {command:?}: {run:?}");
        }
        assert_eq!(bytes(&victim), b"precious", "{what}");
        assert!(!sandbox.path("nowhere").exists(), "{what}");
    }
}

#[test]
fn what_is_no_capsule_is_refused_untouched() {
    let sandbox = Sandbox::empty();
    std::fs::create_dir(sandbox.path("folder")).expect("a folder");
    fifo(&sandbox.path("fifo"));
    sandbox.write("foreign", "hello, I am a letter");
    sandbox.write("empty", "");
    for path in ["folder", "fifo", "foreign", "empty", "/dev/null"] {
        let calls: [&[&str]; 5] = [
            &["stats"],
            &["find", "x"],
            &["put", "--text", "x"],
            &["optimize"],
            &["forget", "note/a"],
        ];
        for call in calls {
            let args: Vec<_> =
                ["--capsule", path].into_iter().chain(call.iter().copied()).collect();
            sandbox.fails(&args, 1, "not_a_capsule");
        }
        sandbox.fails(&["create", path], 1, "not_a_capsule");
    }
    assert_eq!(bytes(&sandbox.path("foreign")), b"hello, I am a letter");
    assert_eq!(bytes(&sandbox.path("empty")), b"");
}

#[test]
fn a_newer_version_and_a_cut_file_say_so() {
    const VERSION_AT: usize = 8;
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--text", "x"]);
    let good = bytes(&sandbox.capsule());
    let mut newer = good.clone();
    newer[VERSION_AT] = 200;
    for (name, content) in [
        ("newer.kapsa", &newer[..]),
        ("cut.kapsa", &good[..good.len() / 2]),
        ("stump.kapsa", &good[..100]),
    ] {
        sandbox.write(name, content);
        let (code, error) = sandbox.error(&["--capsule", name, "put", "--text", "y"]);
        assert!(code == 1 || code == 2, "{name}: {error}");
        let allowed = ["version_mismatch", "truncated", "corrupt", "not_a_capsule"];
        assert!(allowed.contains(&error["code"].as_str().unwrap_or_default()), "{name}: {error}");
        assert_eq!(bytes(&sandbox.path(name)), content, "{name} is untouched");
    }
}

#[test]
fn a_place_that_cannot_be_written_is_the_systems_fault() {
    let sandbox = Sandbox::empty();
    let (code, error) = sandbox.error(&["create", "/proc/self/x.kapsa"]);
    assert_eq!((code, error["code"].as_str()), (2, Some("io")), "{error}");
    let folder = sandbox.path("locked");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o555)).expect("permissions");
    let probe = std::fs::write(folder.join("probe"), "").is_ok();
    if !probe {
        assert_eq!(sandbox.error(&["create", "locked/x.kapsa"]).0, 2);
        assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 0);
    }
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).expect("permissions");
}

#[test]
fn a_file_size_limit_is_an_error_and_not_a_kill() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--text", "kept", "--uri", "n/kept"]);
    let command = "ulimit -f 64; exec \"$0\" put --plain --json";
    let text: String =
        (0..40_000u64).map(|n| format!("{:x} ", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    sandbox.write("big.txt", text);
    let output = Command::new("bash")
        .args(["-c", command, env!("CARGO_BIN_EXE_kapsa")])
        .current_dir(sandbox.path(""))
        .stdin(std::fs::File::open(sandbox.path("big.txt")).expect("a file"))
        .output()
        .expect("bash starts");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("disk_full"), "{err}");
    assert_eq!(sandbox.json(&["get", "n/kept"])["text"], "kept");
    sandbox.ok(&["put", "--text", "after"]);
    assert_eq!(sandbox.json(&["verify"])["ok"], true);
}

#[test]
fn people_get_an_error_and_a_hint_line() {
    let sandbox = Sandbox::empty();
    let run = sandbox.run(&["stats"]);
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""));
    let lines: Vec<_> = run.err.lines().collect();
    assert!(lines[0].starts_with("error: ") && lines[1].starts_with("hint: "), "{lines:?}");
    assert!(lines.iter().all(|line| !line.ends_with('.')), "{lines:?}");
}

#[test]
fn nobody_asks_for_none() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--text", "x", "--uri", "note/x"]);
    let verbs: [&[&str]; 12] = [
        &["find", "x"],
        &["timeline"],
        &["log"],
        &["events"],
        &["fact", "list"],
        &["episode", "list", "--agent", "a"],
        &["insight", "list", "--agent", "a"],
        &["graph", "query"],
        &["embed"],
        &["reembed", "--model", "bundled"],
        &["fs", "ls", "/", "--agent", "a"],
        &["fs", "search", "x", "--agent", "a"],
    ];
    for verb in verbs {
        for none in ["0", "-1", "x", ""] {
            let limit = format!("--limit={none}");
            let args: Vec<&str> = verb.iter().copied().chain([limit.as_str()]).collect();
            let error = sandbox.fails(&args, 1, "usage");
            assert!(error["message"].as_str().is_some_and(|m| m.contains("--limit")), "{error}");
        }
    }
}

#[test]
fn a_dash_is_standard_output_or_refused() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--text", "content", "--uri", "note/x"]);
    assert_eq!(sandbox.ok(&["resolve-uri", "note/x", "--out", "-"]), "content");
    sandbox.ok(&["branch", "create", "work"]);
    let error = sandbox.fails(&["merge", "work", "--plan", "-"], 1, "usage");
    assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("./-")), "{error}");
    let lines = sandbox.ok(&["export", "--format", "jsonl", "--out", "-"]);
    assert!(lines.contains("\"content\""), "{lines}");
    sandbox.fails(&["export", "--format", "markdown", "--out", "-"], 1, "usage");
    sandbox.fails(&["export", "--format", "jsonl", "--out", "-", "--json"], 1, "usage");
    assert!(!sandbox.path("-").exists());
    sandbox.ok(&["export", "--format", "jsonl", "--out", "./-"]);
    assert!(sandbox.path("-").exists());
}

#[test]
fn an_empty_variable_is_not_set() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--text", "x", "--uri", "note/x"]);
    sandbox.ok(&["run", "start", "--run", "17", "--strict"]);
    let variables = [
        "CAPSULE",
        "BRANCH",
        "EMBED",
        "MODE",
        "MODEL",
        "MODELS",
        "EMBED_URL",
        "EMBED_KEY",
        "LLM",
        "LLM_URL",
        "LLM_KEY",
        "TASK",
        "ROLE",
        "PASSPHRASE",
        "COMPLETE",
        "RUN_ENABLED",
        "RUN_LAYOUT",
        "RUN_DIR",
        "RUN_REPO_ROOT_PATH",
        "RUN_STRICT",
        "RUN_CONTEXT_TOKENS",
    ];
    let calls: [&[&str]; 5] = [
        &["find", "x"],
        &["put", "--uri", "note/x", "--text", "y"],
        &["fact", "list"],
        &["run", "status"],
        &["run", "context", "--role", "builder", "--strict"],
    ];
    for args in calls {
        let mut command = sandbox.command();
        command.args(args);
        for name in variables {
            command.env(format!("KAPSA_{name}"), "");
        }
        let run: Run = output(command, b"").into();
        assert_eq!(run.code, Some(0), "{args:?}: {}", run.err);
    }
    // Whose name is missing would be taken for somebody else.
    for (name, args) in [
        ("KAPSA_PRINCIPAL", &["find", "x"][..]),
        ("KAPSA_AGENT", &["context"]),
        ("KAPSA_RUN", &["run", "context", "--role", "builder", "--strict"]),
    ] {
        let mut command = sandbox.command();
        command.args(args).env(name, "");
        let run: Run = output(command, b"").into();
        assert_eq!(run.code, Some(1), "{args:?}: {}", run.out);
        assert!(run.err.contains(name), "{args:?}: {}", run.err);
    }
}

#[test]
fn integers_beyond_64_bits_are_refused_by_name() {
    let sandbox = Sandbox::new();
    let before = bytes(&sandbox.capsule());
    let wide = r#"{"a":{"b":18446744073709551616}}"#;
    let named = |error: &serde_json::Value, field: &str| {
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains(&format!("`{field}` is an integer beyond 64 bits")), "{message}");
    };
    named(&sandbox.fails(&["put", "--text", "x", "--meta", wide], 1, "usage"), "a.b");
    let line = format!("{{\"text\":\"x\",\"metadata\":{wide}}}");
    let error = sandbox.fails_with(&["put"], line.as_bytes(), 1, "invalid_json");
    named(&error, "metadata.a.b");
    sandbox.write("policy.json", wide);
    named(&sandbox.fails(&["policy", "capture", "policy.json"], 1, "invalid_json"), "a.b");
    assert_eq!(bytes(&sandbox.capsule()), before);
    let widest = r#"{"a":18446744073709551615,"b":-9223372036854775808}"#;
    sandbox.ok(&["put", "--text", "x", "--uri", "note/x", "--meta", widest]);
    let metadata = sandbox.json(&["get", "note/x"])["metadata"].clone();
    assert_eq!(metadata.to_string(), widest);
}
