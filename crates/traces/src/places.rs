//! Where agents keep their traces on a machine. Looks whether a place is there; reads nothing of
//! it, and takes the home folder and the variables that move it from its caller.

use std::path::{Path, PathBuf};

use kapsa_ingest::Agent;

/// A place where an agent keeps its traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentPlace {
    /// The agent.
    pub agent: Agent,
    /// The folder or file.
    pub path: PathBuf,
}

/// What decides where places are.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The folder of the person, if it is known.
    pub home: Option<PathBuf>,
    /// The folder of the project: some agents keep their traces in it.
    pub project: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`, in place of `~/.claude`.
    pub claude: Option<PathBuf>,
    /// `CODEX_HOME`, in place of `~/.codex`.
    pub codex: Option<PathBuf>,
    /// `XDG_DATA_HOME`, in place of `~/.local/share`.
    pub data: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`, in place of `~/.config`.
    pub config: Option<PathBuf>,
}

/// The places that are there, in a fixed order.
#[must_use]
pub fn places(around: &Surroundings) -> Vec<AgentPlace> {
    let home = |path: &str| around.home.as_ref().map(|home| home.join(path));
    let in_or = |given: &Option<PathBuf>, usual: &str, rest: &str| {
        given.clone().or_else(|| home(usual)).map(|folder| folder.join(rest))
    };
    let project = |name: &str| around.project.as_ref().map(|project| project.join(name));
    let cursor = "Cursor/User/globalStorage/state.vscdb";
    let all = [
        (Agent::Claude, in_or(&around.claude, ".claude", "projects")),
        (Agent::Codex, in_or(&around.codex, ".codex", "sessions")),
        (Agent::Codex, in_or(&around.codex, ".codex", "archived_sessions")),
        (Agent::Gemini, home(".gemini/tmp")),
        (Agent::OpenCode, in_or(&around.data, ".local/share", "opencode/opencode.db")),
        (Agent::OpenCode, in_or(&around.data, ".local/share", "opencode/storage")),
        (Agent::Cursor, in_or(&around.config, ".config", cursor)),
        (Agent::Cursor, home(&format!("Library/Application Support/{cursor}"))),
        (Agent::Copilot, home(".copilot/session-state")),
        (Agent::Pi, home(".pi/agent/sessions")),
        (Agent::SpecStory, project(".specstory/history")),
        (Agent::Aider, project(".aider.chat.history.md")),
    ];
    all.into_iter()
        .filter_map(|(agent, path)| {
            Some(AgentPlace { agent, path: path.filter(|path| is_there(path))? })
        })
        .collect()
}

/// Whether something is there. A link is followed: people move such folders to other disks.
fn is_there(path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn places_are_those_that_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for path in
            ["home/.claude/projects", "home/.pi/agent/sessions", "project", "codex/sessions"]
        {
            fs::create_dir_all(at(path)).unwrap();
        }
        fs::write(at("project/.aider.chat.history.md"), "").unwrap();
        let mut around = Surroundings {
            home: Some(at("home")),
            project: Some(at("project")),
            ..Surroundings::default()
        };
        let found = |around: &Surroundings| -> Vec<(Agent, PathBuf)> {
            places(around).into_iter().map(|place| (place.agent, place.path)).collect()
        };
        assert_eq!(
            found(&around),
            [
                (Agent::Claude, at("home/.claude/projects")),
                (Agent::Pi, at("home/.pi/agent/sessions")),
                (Agent::Aider, at("project/.aider.chat.history.md")),
            ]
        );
        around.codex = Some(at("codex"));
        around.claude = Some(at("elsewhere"));
        assert_eq!(found(&around)[0], (Agent::Codex, at("codex/sessions")));
        assert_eq!(found(&Surroundings::default()), []);
    }
}
