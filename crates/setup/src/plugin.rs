//! The plugin folders of Claude Code and Codex, from one source. Texts only; writes no file.

use serde_json::{Value, json};

use crate::hooks::hooks_of;
use crate::server::{SERVER_NAME, Server};

/// What teaches an agent when to read and write.
const SKILL: &str = include_str!("../plugin/skill.md");
const REMEMBER: &str = include_str!("../plugin/remember.md");
const RECALL: &str = include_str!("../plugin/recall.md");
const DESCRIPTION: &str = "A memory that outlives sessions, in one file on this machine.";

/// A file of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginFile {
    /// Its path below the folder of all plugins.
    pub path: String,
    /// What it holds.
    pub text: String,
}

/// The files of both plugins, each below a folder with the client's name, and the catalogues that
/// lead to them.
#[must_use]
pub fn plugin_files(version: &str) -> Vec<PluginFile> {
    let file =
        |path: &str, text: &str| PluginFile { path: path.to_string(), text: text.to_string() };
    let claude = "claude-code/.claude-plugin/plugin.json";
    let codex = "codex/.codex-plugin/plugin.json";
    let mut codex_manifest = manifest(version);
    codex_manifest["skills"] = json!("./skills/");
    codex_manifest["mcpServers"] = json!("./.mcp.json");
    let mut files = vec![
        file(claude, &pretty(&manifest(version))),
        file("claude-code/commands/remember.md", REMEMBER),
        file("claude-code/commands/recall.md", RECALL),
        file(codex, &pretty(&codex_manifest)),
        file(".claude-plugin/marketplace.json", &pretty(&claude_catalogue())),
        file(".agents/plugins/marketplace.json", &pretty(&codex_catalogue())),
    ];
    for client in ["claude-code", "codex"] {
        let file = |path: &str, text: &str| file(&format!("{client}/{path}"), text);
        files.push(file("skills/memory/SKILL.md", SKILL));
        files.push(file("hooks/hooks.json", &pretty(&hooks(client))));
        files.push(file(".mcp.json", &pretty(&servers())));
    }
    files
}

fn manifest(version: &str) -> Value {
    json!({ "name": SERVER_NAME, "version": version, "description": DESCRIPTION })
}

/// What Claude Code calls a marketplace: a list of plugins in one folder.
fn claude_catalogue() -> Value {
    json!({
        "name": SERVER_NAME,
        "owner": { "name": "Kapsa" },
        "plugins": [
            { "name": SERVER_NAME, "source": "./claude-code", "description": DESCRIPTION },
        ],
    })
}

/// The same of Codex.
fn codex_catalogue() -> Value {
    json!({
        "name": SERVER_NAME,
        "interface": { "displayName": "Kapsa" },
        "plugins": [{
            "name": SERVER_NAME,
            "source": { "source": "local", "path": "./codex" },
            "policy": { "installation": "AVAILABLE", "authentication": "ON_INSTALL" },
            "category": "Productivity",
        }],
    })
}

fn servers() -> Value {
    let Server { command, args, .. } = Server::new(SERVER_NAME);
    json!({ "mcpServers": { SERVER_NAME: { "command": command, "args": args } } })
}

fn hooks(client: &str) -> Value {
    let mut events = serde_json::Map::new();
    for hook in hooks_of(SERVER_NAME, client) {
        let timeout = hook.event.timeout_seconds;
        let command = json!({ "type": "command", "command": hook.command, "timeout": timeout });
        events.insert(hook.event.name.to_string(), json!([{ "hooks": [command] }]));
    }
    json!({ "hooks": events })
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}
