//! `setup` at the command line: what it finds, shows, writes, takes back and measures.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Run, Sandbox, output};

/// Calls with the sandbox's `home` as the home folder, and nothing of the machine on the path but
/// the usual tools.
fn at_home(sandbox: &Sandbox, args: &[&str]) -> Run {
    output(command(sandbox, "", args), b"").into()
}

/// As [`at_home`], in a folder of the sandbox.
fn in_folder(sandbox: &Sandbox, folder: &str, args: &[&str]) -> Run {
    output(command(sandbox, folder, args), b"").into()
}

fn command(sandbox: &Sandbox, folder: &str, args: &[&str]) -> std::process::Command {
    fs::create_dir_all(sandbox.path("home")).expect("a home");
    let mut command = sandbox.command();
    command.current_dir(sandbox.path(folder));
    for name in
        ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"]
    {
        command.env_remove(name);
    }
    command.env("HOME", sandbox.path("home")).env("PATH", "/usr/bin:/bin").arg("setup").args(args);
    command
}

/// Every file below a folder with its bytes; memories are left out.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            match entry.file_type().expect("a type") {
                kind if kind.is_dir() && path.ends_with(".kapsa") => {}
                kind if kind.is_dir() => folders.push(path),
                kind if kind.is_symlink() => {}
                _ => drop(files.insert(path.clone(), fs::read(&path).expect("a file"))),
            }
        }
    }
    files
}

/// A project in the sandbox.
fn project(sandbox: &Sandbox, name: &str) {
    fs::create_dir_all(sandbox.path(name).join(".git")).expect("a repository");
}

fn answer(sandbox: &Sandbox, code: i32, args: &[&str]) -> Value {
    let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    let run = at_home(sandbox, &args);
    assert_eq!(run.code, Some(code), "{args:?}: {run:?}");
    let text = if run.out.is_empty() { &run.err } else { &run.out };
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{args:?}: {error} in {text}"))
}

fn read(sandbox: &Sandbox, name: &str) -> String {
    fs::read_to_string(sandbox.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

const CLAUDE: &str = "{\n  \"numStartups\": 3\n}\n";
const CODEX: &str = "# mine\nmodel = \"gpt-5\"\n";

/// A home with two programs in it.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.write("home/.claude.json", CLAUDE);
    sandbox.write("home/.codex/config.toml", CODEX);
    sandbox
}

#[test]
fn a_dry_run_shows_each_change_and_writes_nothing() {
    let sandbox = sandbox();
    let run = at_home(&sandbox, &["--dry-run"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    for shown in [
        "Claude Code",
        "Codex",
        "+    \"kapsa\": {",
        "+[mcp_servers.kapsa]",
        "hook session-start",
        "kapsa:begin",
    ] {
        assert!(run.out.contains(shown), "{shown}: {}", run.out);
    }
    assert!(!run.out.contains("Zed"), "{}", run.out);
    assert!(run.err.contains("nothing was written"), "{}", run.err);
    assert_eq!(read(&sandbox, "home/.claude.json"), CLAUDE);
    let left: Vec<_> = fs::read_dir(sandbox.path("home")).expect("home").collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn what_is_installed_is_set_up_once_and_taken_back_byte_for_byte() {
    let sandbox = sandbox();
    let out = answer(&sandbox, 0, &[]);
    assert_eq!(out["memory"]["created"], json!(true));
    assert!(sandbox.path("home/.kapsa/workspace.kapsa").is_file());
    let programs: Vec<_> = out["programs"].as_array().expect("a list").iter().collect();
    assert_eq!(programs.len(), 2);
    assert!(programs[0]["files"][0]["diff"].as_str().is_some_and(|diff| diff.contains("\"mcp\"")));

    let state: Value = serde_json::from_str(&read(&sandbox, "home/.claude.json")).expect("JSON");
    let server = &state["mcpServers"]["kapsa"];
    assert_eq!(server["command"], json!(env!("CARGO_BIN_EXE_kapsa")));
    assert_eq!(server["args"], json!(["mcp"]));
    assert_eq!(state["numStartups"], json!(3));
    assert!(read(&sandbox, "home/.codex/config.toml").starts_with(CODEX));

    let again = answer(&sandbox, 0, &[]);
    assert_eq!(again["memory"]["created"], json!(false));
    for program in again["programs"].as_array().expect("a list") {
        for file in program["files"].as_array().expect("a list") {
            assert_eq!(file["change"], json!("unchanged"), "{file}");
        }
    }

    let undone = answer(&sandbox, 0, &["--undo"]);
    assert!(undone["files"].as_array().is_some_and(|files| files.len() == 6), "{undone}");
    assert_eq!(read(&sandbox, "home/.claude.json"), CLAUDE);
    assert_eq!(read(&sandbox, "home/.codex/config.toml"), CODEX);
    assert!(sandbox.path("home/.kapsa/workspace.kapsa").is_file(), "a memory is never deleted");
    assert!(!sandbox.path("home/.claude").exists(), "the folder was made by setup");
    let nothing = at_home(&sandbox, &["--undo"]);
    assert!(nothing.out.contains("nothing of Kapsa was found"), "{nothing:?}");
}

#[test]
fn one_file_that_cannot_be_read_keeps_its_program_out_and_no_other() {
    let sandbox = sandbox();
    sandbox.write("home/.codex/config.toml", "a = 1\nb =\n");
    let out = answer(&sandbox, 1, &[]);
    let failure = &out["programs"][1]["failure"];
    assert_eq!(failure["code"], json!("unreadable_config"));
    assert!(failure["message"].as_str().is_some_and(|text| text.contains("config.toml:2: ")));
    assert!(read(&sandbox, "home/.claude.json").contains("kapsa"));
    assert!(!sandbox.path("home/.codex/hooks.json").exists());
    let error = answer(&sandbox, 1, &["codex"]);
    assert_eq!(error["error"]["code"], json!("unreadable_config"));
}

#[test]
fn an_entry_of_somebody_else_is_replaced_by_force_only() {
    let sandbox = Sandbox::empty();
    let theirs = "{\"mcpServers\": {\"kapsa\": {\"command\": \"npx\"}}}\n";
    sandbox.write("home/.cursor/mcp.json", theirs);
    let error = answer(&sandbox, 1, &["cursor"]);
    assert_eq!(error["error"]["code"], json!("foreign_entry"));
    assert!(error["error"]["message"].as_str().is_some_and(|text| text.contains("npx")));
    answer(&sandbox, 0, &["cursor", "--force"]);
    assert!(!read(&sandbox, "home/.cursor/mcp.json").contains("npx"));
    answer(&sandbox, 0, &["--undo"]);
    assert_eq!(read(&sandbox, "home/.cursor/mcp.json"), theirs);
}

#[test]
fn a_project_gets_a_memory_of_its_own_and_files_without_paths_of_the_machine() {
    let sandbox = Sandbox::empty();
    fs::create_dir_all(sandbox.path(".git")).expect("a repository");
    let bin = sandbox.path("bin");
    fs::create_dir_all(&bin).expect("a folder");
    symlink(env!("CARGO_BIN_EXE_kapsa"), bin.join("kapsa")).expect("a link");
    let mut command = sandbox.command();
    command.env("HOME", sandbox.path("home")).env("PATH", &bin).env_remove("XDG_STATE_HOME");
    command.args(["setup", "claude-code", "cursor", "--project"]);
    let run: Run = output(command, b"").into();
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(sandbox.capsule().is_file());
    for name in [".mcp.json", ".cursor/mcp.json", ".claude/settings.json"] {
        let text = read(&sandbox, name);
        assert!(text.contains("kapsa") && !text.contains(&bin.display().to_string()), "{text}");
    }
    assert!(read(&sandbox, ".cursor/mcp.json").contains("${workspaceFolder}/.kapsa"));
    assert!(read(&sandbox, "AGENTS.md").contains("memory_search"));
}

#[test]
fn a_ledger_that_cannot_be_read_is_named_and_nothing_is_written() {
    let sandbox = sandbox();
    sandbox.write("home/.local/state/kapsa/setup.json", "{ nonsense");
    for args in [&["codex"][..], &["--undo"]] {
        let error = answer(&sandbox, 1, args);
        assert!(
            error["error"]["message"].as_str().is_some_and(|text| text.contains("setup.json:1"))
        );
        assert!(error["error"]["hint"].as_str().is_some_and(|text| text.contains("move it away")));
    }
    assert_eq!(read(&sandbox, "home/.codex/config.toml"), CODEX);
}

#[test]
fn the_home_folder_is_no_project() {
    let sandbox = sandbox();
    let mut command = sandbox.command();
    command.current_dir(sandbox.path("home")).env("HOME", sandbox.path("home"));
    command.args(["setup", "codex", "--project"]);
    let run: Run = output(command, b"").into();
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.err.contains("no project"), "{run:?}");
    assert_eq!(read(&sandbox, "home/.codex/config.toml"), CODEX);
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let sandbox = Sandbox::empty();
    for (code, args) in [
        ("no_program", &[][..]),
        ("no_project_file", &["windsurf", "--project"]),
        ("not_set_up", &["--check"]),
        ("usage", &["emacs"]),
        ("usage", &["--undo", "--check"]),
        ("usage", &["--global", "--project"]),
        ("access_denied", &["zed", "--as", "guest"]),
    ] {
        let error = answer(&sandbox, 1, args);
        assert_eq!(error["error"]["code"], json!(code), "{args:?}: {error}");
    }
    assert!(!sandbox.path("home/.kapsa").exists(), "nothing was made");
}

#[test]
fn check_measures_every_door_and_leaves_the_memory_alone() {
    let sandbox = sandbox();
    let programs = ["claude-code", "codex", "opencode", "zed", "vscode"];
    answer(&sandbox, 0, &programs);
    let out = answer(&sandbox, 0, &["--check"]);
    assert_eq!(out["works"], json!(true), "{out}");
    let checked = out["programs"].as_array().expect("a list");
    assert_eq!(checked.len(), programs.len());
    for program in checked {
        let trials = program["trials"].as_array().expect("a list");
        for what in ["memory", "server", "tools", "write", "find"] {
            assert!(trials.iter().any(|trial| trial["what"] == what), "{what}: {program}");
        }
        let hooks = trials
            .iter()
            .filter(|trial| trial["what"].as_str().is_some_and(|what| what.starts_with("hook ")));
        let has_hooks = ["claude-code", "codex"].map(Value::from).contains(&program["program"]);
        assert_eq!(hooks.count(), if has_hooks { 6 } else { 0 }, "{program}");
    }
    let capsule = sandbox.path("home/.kapsa/workspace.kapsa").display().to_string();
    assert_eq!(sandbox.json(&["--capsule", &capsule, "timeline"])["count"], json!(0));
}

#[test]
fn check_says_why_a_door_is_shut() {
    let sandbox = sandbox();
    answer(&sandbox, 0, &["codex"]);
    let file = "home/.codex/config.toml";
    let text = read(&sandbox, file).replace(env!("CARGO_BIN_EXE_kapsa"), "/gone/kapsa");
    sandbox.write(file, &text);
    sandbox.write("home/.config/opencode/opencode.json", "{}");
    answer(&sandbox, 0, &["opencode"]);
    let off = read(&sandbox, "home/.config/opencode/opencode.json");
    let off = off.replace("\"enabled\": true", "\"enabled\": false");
    sandbox.write("home/.config/opencode/opencode.json", off);
    let hooks = read(&sandbox, "home/.codex/hooks.json").replace(" stop ", " session-end ");
    sandbox.write("home/.codex/hooks.json", hooks);
    let out = answer(&sandbox, 1, &["--check"]);
    let detail = |program: usize, what: &str| {
        let trials = out["programs"][program]["trials"].as_array().expect("a list");
        let trial = trials.iter().find(|trial| trial["what"] == what).expect("it was tried");
        assert_eq!(trial["works"], json!(false), "{trial}");
        trial["detail"].as_str().expect("a reason").to_owned()
    };
    assert!(detail(0, "server").contains("there is no /gone/kapsa"));
    assert!(detail(0, "hook Stop").contains("run kapsa setup"));
    assert!(detail(1, "server").contains("turned off"));
}

#[test]
fn check_starts_no_other_program() {
    let sandbox = Sandbox::empty();
    let marker = sandbox.path("started");
    let other = sandbox.write("bin/kapsa", format!("#!/bin/sh\ntouch {}\n", marker.display()));
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).expect("permissions");
    let entry = json!({ "command": other, "args": ["mcp"] });
    let hook = format!("\"{}\" hook stop --client claude-code", other.display());
    sandbox.write("home/.claude.json", json!({ "mcpServers": { "kapsa": entry } }).to_string());
    let hooks =
        json!({ "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": hook }] }] } });
    sandbox.write("home/.claude/settings.json", hooks.to_string());
    let out = answer(&sandbox, 1, &["--check"]);
    assert_eq!(out["works"], json!(false));
    let trials = out["programs"][0]["trials"].as_array().expect("a list").clone();
    let of = |what: &str| {
        trials.iter().find(|trial| trial["what"] == what).cloned().expect("it was tried")
    };
    for what in ["server", "hook Stop"] {
        assert_eq!(of(what)["works"], json!(false));
        assert!(of(what)["detail"].as_str().is_some_and(|text| text.contains("another program")));
    }
    assert!(!marker.exists(), "another program was started");
}

#[test]
fn check_starts_nothing_in_a_strange_environment() {
    let sandbox = Sandbox::empty();
    let program = env!("CARGO_BIN_EXE_kapsa");
    let entry = json!({ "command": program, "args": ["mcp"], "env": { "LD_PRELOAD": "x.so" } });
    sandbox.write("home/.claude.json", json!({ "mcpServers": { "kapsa": entry } }).to_string());
    let out = answer(&sandbox, 1, &["--check"]);
    let trials = out["programs"][0]["trials"].as_array().expect("a list");
    let trial = trials.iter().find(|trial| trial["what"] == "server").expect("it was tried");
    assert!(
        trial["detail"].as_str().is_some_and(|text| text.contains("sets LD_PRELOAD")),
        "{trial}"
    );
}

#[test]
fn a_linked_folder_of_a_project_leads_nowhere_else() {
    for (link, client) in [(".kapsa", "cursor"), (".cursor", "cursor"), (".claude", "claude-code")]
    {
        let sandbox = Sandbox::empty();
        project(&sandbox, "cloned");
        fs::create_dir_all(sandbox.path("outside")).expect("a folder");
        symlink(sandbox.path("outside"), sandbox.path("cloned").join(link)).expect("a link");
        let before = files(&sandbox.path(""));
        let run = in_folder(&sandbox, "cloned", &[client, "--project"]);
        assert_eq!(run.code, Some(1), "{link}: {run:?}");
        for named in [link, "is a link that leads out of the project", "outside"] {
            assert!(run.err.contains(named), "{link}: {named}: {run:?}");
        }
        assert_eq!(files(&sandbox.path("")), before, "{link}");
        assert_eq!(fs::read_dir(sandbox.path("outside")).expect("a folder").count(), 0);
    }
    // The user's own files may be anywhere.
    let sandbox = Sandbox::empty();
    for folder in [".kapsa", ".claude"] {
        fs::create_dir_all(sandbox.path("home")).expect("a home");
        fs::create_dir_all(sandbox.path("dotfiles").join(folder)).expect("a folder");
        symlink(sandbox.path("dotfiles").join(folder), sandbox.path("home").join(folder))
            .expect("a link");
    }
    answer(&sandbox, 0, &["claude-code"]);
    assert!(sandbox.path("dotfiles/.claude/settings.json").is_file());
    assert_eq!(answer(&sandbox, 0, &["--check"])["works"], json!(true));
    answer(&sandbox, 0, &["--undo"]);
    assert!(!sandbox.path("dotfiles/.claude/settings.json").exists());
    assert!(sandbox.path("dotfiles/.kapsa/workspace.kapsa").is_file());
}

#[test]
fn many_setups_at_once_are_taken_back_byte_for_byte() {
    const ROUNDS: usize = 2;
    let sandbox = sandbox();
    project(&sandbox, "shop");
    sandbox.write("home/.cursor/mcp.json", "{\n  // mine\n  \"mcpServers\": {}\n}\n");
    sandbox.write("home/.config/zed/settings.json", "{ \"theme\": \"One\" }\n");
    sandbox.write("shop/AGENTS.md", "# Shop\n");
    let before = files(&sandbox.path(""));
    let calls: [&[&str]; 7] = [
        &["claude-code"],
        &["codex"],
        &["cursor", "zed"],
        &["codex", "claude-code"],
        &["codex", "cursor", "zed", "--project"],
        &["cursor", "copilot", "--project"],
        &["codex", "--undo"],
    ];
    let started: Vec<_> = (0..ROUNDS)
        .flat_map(|_| calls)
        .map(|args| {
            let args = [args, &["--lock-timeout", "120"]].concat();
            let mut command = command(&sandbox, "shop", &args);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
            (args, command.spawn().expect("the binary starts"))
        })
        .collect();
    for (args, child) in started {
        let run: Run = child.wait_with_output().expect("it ends").into();
        assert_eq!(run.code, Some(0), "{args:?}: {run:?}");
    }
    assert!(read(&sandbox, "shop/AGENTS.md").contains("kapsa:begin"));
    let run = in_folder(&sandbox, "shop", &["--undo", "--all"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(files(&sandbox.path("")), before);
}

#[test]
fn undo_takes_back_what_it_is_asked_for() {
    let sandbox = sandbox();
    for name in ["one", "two"] {
        project(&sandbox, name);
    }
    let before = files(&sandbox.path(""));
    answer(&sandbox, 0, &["codex"]);
    for name in ["one", "two"] {
        assert_eq!(in_folder(&sandbox, name, &["cursor", "--project"]).code, Some(0));
    }
    let is_set_up = |name: &str| read(&sandbox, name).contains("kapsa");
    // The user's, wherever it is called.
    let run = in_folder(&sandbox, "one", &["--undo"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.err.contains("kapsa setup --undo --all"), "{run:?}");
    assert!(!run.out.contains(".cursor"), "{run:?}");
    assert!(!is_set_up("home/.codex/config.toml"));
    assert!(is_set_up("one/.cursor/mcp.json") && is_set_up("two/.cursor/mcp.json"));
    // This project's.
    assert_eq!(in_folder(&sandbox, "one", &["--undo", "--project"]).code, Some(0));
    assert!(!sandbox.path("one/.cursor").exists() && is_set_up("two/.cursor/mcp.json"));
    assert_eq!(in_folder(&sandbox, "home", &["--undo", "--project"]).code, Some(1));
    // Everything, and all of it is listed first.
    answer(&sandbox, 0, &["codex"]);
    let set_up = files(&sandbox.path(""));
    let shown = in_folder(&sandbox, "home", &["--undo", "--all", "--dry-run"]);
    assert_eq!(files(&sandbox.path("")), set_up, "a dry run writes nothing");
    let run = in_folder(&sandbox, "home", &["--undo", "--all"]);
    assert_eq!((run.code, &run.out), (Some(0), &shown.out), "{run:?}");
    let after = files(&sandbox.path(""));
    assert_eq!(after, before);
    for path in set_up.keys().filter(|path| !after.contains_key(*path)) {
        let is_own_note = path.starts_with(sandbox.path("home/.local"));
        assert!(is_own_note || shown.out.contains(&path.display().to_string()), "{path:?}");
    }
    assert!(shown.out.contains("two/.cursor  removed once empty"), "{}", shown.out);
}

#[test]
fn check_goes_by_what_was_set_up_and_not_by_a_file_that_programs_share() {
    let sandbox = sandbox();
    project(&sandbox, "shop");
    assert_eq!(in_folder(&sandbox, "shop", &["cursor", "--project"]).code, Some(0));
    assert!(sandbox.path("shop/AGENTS.md").is_file());
    // A program that was never set up, whose file cannot be read.
    sandbox.write("home/.config/zed/settings.json", "{ nonsense");
    let checked = |code: i32, args: &[&str]| -> Value {
        let args = [&["--check", "--json"], args].concat();
        let run = in_folder(&sandbox, "shop", &args);
        assert_eq!(run.code, Some(code), "{run:?}");
        serde_json::from_str(&run.out).expect("JSON")
    };
    let out = checked(0, &[]);
    let programs = out["programs"].as_array().expect("a list");
    let names: Vec<_> = programs.iter().map(|one| (&one["program"], &one["scope"])).collect();
    assert_eq!(names, [(&json!("cursor"), &json!("project"))]);
    // What is missing of what was set up is told, and what was asked for by name.
    sandbox.write("shop/.cursor/mcp.json", "{}");
    let out = checked(1, &[]);
    let trials = out["programs"][0]["trials"].as_array().expect("a list");
    assert!(trials.iter().any(|trial| trial["what"] == "server" && trial["works"] == false));
    let out = checked(1, &["zed"]);
    assert_eq!(out["programs"][0]["trials"][0]["what"], json!("configuration"));
}

#[test]
fn where_no_program_can_be_set_up_nothing_is_made() {
    let sandbox = Sandbox::empty();
    sandbox.write("home/.claude.json", "{ nonsense");
    sandbox.write("home/.codex/config.toml", "a = 1\nb =\n");
    let before = files(&sandbox.path(""));
    let out = answer(&sandbox, 1, &[]);
    assert_eq!(out["memory"]["created"], json!(false));
    let run = at_home(&sandbox, &[]);
    assert!(run.err.contains("nothing was written") && !run.err.contains("memory:"), "{run:?}");
    assert!(!sandbox.path("home/.kapsa").exists(), "a memory was made");
    assert_eq!(files(&sandbox.path("")), before);
    // One is enough.
    sandbox.write("home/.codex/config.toml", CODEX);
    assert_eq!(answer(&sandbox, 1, &[])["memory"]["created"], json!(true));
    assert!(sandbox.path("home/.kapsa/workspace.kapsa").is_file());
}

#[test]
fn what_agents_are_told_to_call_is_what_the_server_offers() {
    let sandbox = sandbox();
    answer(&sandbox, 0, &["codex"]);
    let out = answer(&sandbox, 0, &["--check", "codex"]);
    let trials = out["programs"][0]["trials"].as_array().expect("a list").clone();
    let tools = trials.iter().find(|trial| trial["what"] == "tools").expect("it was tried");
    let offered = tools["detail"].as_str().expect("a list").to_string();
    let plugins = kapsa_setup::plugin_files("1.2.3");
    let texts = plugins.iter().map(|file| file.text.as_str()).chain([kapsa_setup::PASSAGE]);
    let named: Vec<String> = texts
        .flat_map(|text| text.split(|c: char| !c.is_ascii_lowercase() && c != '_'))
        .filter(|word| word.starts_with("memory_"))
        .map(str::to_string)
        .collect();
    assert!(named.iter().any(|name| name == "memory_propose"), "{named:?}");
    for name in named {
        assert!(offered.split([' ', ',']).any(|tool| tool == name), "{name}: {offered}");
    }
    let of_decisions = kapsa_setup::PASSAGE.split("\n- ").find(|item| item.contains("decision"));
    let of_decisions = of_decisions.expect("decisions are spoken of");
    assert!(of_decisions.contains("memory_propose") && !of_decisions.contains("memory_write"));
}

#[test]
fn git_is_told_of_backups_where_there_are_any_and_no_longer() {
    let sandbox = Sandbox::empty();
    project(&sandbox, "work");
    sandbox.write("work/.git/HEAD", "ref: refs/heads/main\n");
    sandbox.write("work/.git/info/exclude", "# rules\n*.o");
    sandbox.write("work/.mcp.json", "{\"mcpServers\": {}}\n");
    let before = files(&sandbox.path("work"));
    let call = |args: &[&str]| {
        let run = in_folder(&sandbox, "work", &[&["claude-code", "--project"], args].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        run
    };
    let shown = call(&["--dry-run"]);
    assert!(shown.err.contains("info/exclude would get a rule"), "{}", shown.err);
    assert_eq!(files(&sandbox.path("work")), before);
    let done = call(&[]);
    assert!(done.err.contains("info/exclude got a rule"), "{}", done.err);
    let rules = fs::read_to_string(sandbox.path("work/.git/info/exclude")).expect("the rules");
    assert_eq!(rules, "# rules\n*.o\n*.kapsa-backup*");
    let undone = call(&["--undo"]);
    assert!(undone.err.contains("info/exclude"), "{}", undone.err);
    assert_eq!(files(&sandbox.path("work")), before);
}
