//! The plugin folders have the shapes that their clients read.

use kapsa_setup::{EVENTS, hooks_of, is_own_hook, plugin_files};
use serde_json::Value;

fn text(path: &str) -> String {
    let files = plugin_files("1.2.3");
    let file = files.iter().find(|file| file.path == path);
    file.unwrap_or_else(|| panic!("no {path}")).text.clone()
}

fn json(path: &str) -> Value {
    serde_json::from_str(&text(path)).expect("JSON")
}

#[test]
fn manifests_have_names_in_kebab_case_and_point_to_files() {
    for path in ["claude-code/.claude-plugin/plugin.json", "codex/.codex-plugin/plugin.json"] {
        let manifest = json(path);
        let name = manifest["name"].as_str().expect("a name");
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{name}");
        assert_eq!(manifest["version"], "1.2.3");
    }
    let manifest = json("codex/.codex-plugin/plugin.json");
    for (key, file) in [("skills", "skills/memory/SKILL.md"), ("mcpServers", ".mcp.json")] {
        let named = manifest[key].as_str().and_then(|path| path.strip_prefix("./"));
        assert!(file.starts_with(named.expect("a path")), "{key}");
        text(&format!("codex/{file}"));
    }
}

#[test]
fn catalogues_lead_to_the_plugins() {
    let claude = json(".claude-plugin/marketplace.json");
    let codex = json(".agents/plugins/marketplace.json");
    for (entry, source, manifest) in [
        (&claude["plugins"][0], &claude["plugins"][0]["source"], ".claude-plugin/plugin.json"),
        (&codex["plugins"][0], &codex["plugins"][0]["source"]["path"], ".codex-plugin/plugin.json"),
    ] {
        let folder = source.as_str().and_then(|path| path.strip_prefix("./")).expect("a folder");
        assert_eq!(json(&format!("{folder}/{manifest}"))["name"], entry["name"]);
    }
}

#[test]
fn hooks_are_those_of_setup() {
    for client in ["claude-code", "codex"] {
        let hooks = json(&format!("{client}/hooks/hooks.json"));
        let events = hooks["hooks"].as_object().expect("an object");
        assert_eq!(events.len(), EVENTS.len());
        for hook in hooks_of("kapsa", client) {
            let written = &hooks["hooks"][hook.event.name][0]["hooks"][0];
            assert_eq!(written["command"], Value::String(hook.command.clone()));
            assert_eq!(written["type"], "command");
            assert!(is_own_hook(&hook.command, &hook.event, client));
        }
    }
}

#[test]
fn skills_and_commands_begin_with_their_description() {
    for path in [
        "claude-code/skills/memory/SKILL.md",
        "codex/skills/memory/SKILL.md",
        "claude-code/commands/remember.md",
        "claude-code/commands/recall.md",
    ] {
        let text = text(path);
        let front = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
        let (front, body) = front.expect("front matter");
        assert!(front.lines().any(|line| line.starts_with("description: ")), "{path}");
        assert!(body.contains("memory_search"), "{path}");
    }
}

#[test]
fn a_path_is_one_word_for_a_shell() {
    for program in ["/a b/kapsa", "/a\"b/kapsa", "/$HOME/`x`/kapsa", "/a'b\\c/kapsa"] {
        let hook = &hooks_of(program, "codex")[0];
        let words = shlex::split(&hook.command).expect("words");
        assert_eq!(words[0], program);
    }
}
