//! The programs of agents: their files, and what an entry looks like in them. Data; knows no file.

use std::path::PathBuf;

use crate::server::Form;

/// Whose configuration is edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// That of the user, for every project.
    Global,
    /// That of one project, which its repository may share.
    Project,
}

/// The operating systems whose folders differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// Linux and what is like it.
    Linux,
    /// macOS.
    Mac,
}

/// The folders that files are looked for in.
#[derive(Clone, Debug)]
pub struct Places {
    /// The operating system.
    pub system: System,
    /// The home folder.
    pub home: PathBuf,
    /// `XDG_CONFIG_HOME`.
    pub config_home: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`.
    pub claude_config_dir: Option<PathBuf>,
    /// `CODEX_HOME`.
    pub codex_home: Option<PathBuf>,
    /// `COPILOT_HOME`.
    pub copilot_home: Option<PathBuf>,
    /// The project's folder.
    pub project: PathBuf,
}

/// A folder that a file is named from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    Home,
    /// `~/.config`, wherever it was moved.
    Config,
    /// Where programs with windows keep their settings.
    Application,
    /// `~/.claude`, wherever it was moved.
    Claude,
    /// The folder of `.claude.json`: home, unless the other was moved.
    ClaudeState,
    /// `~/.codex`, wherever it was moved.
    Codex,
    /// `~/.copilot`, wherever it was moved.
    Copilot,
    Project,
}

/// A file, from a folder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place(pub(crate) Base, pub(crate) &'static str);

impl Places {
    pub(crate) fn path(&self, Place(base, name): Place) -> PathBuf {
        let folder = self.folder(base);
        if name.is_empty() { folder } else { folder.join(name) }
    }

    fn folder(&self, base: Base) -> PathBuf {
        let or = |moved: &Option<PathBuf>, usual: &str| {
            moved.clone().unwrap_or_else(|| self.home.join(usual))
        };
        match base {
            Base::Home => self.home.clone(),
            Base::Config => or(&self.config_home, ".config"),
            Base::Application if self.system == System::Mac => {
                self.home.join("Library/Application Support")
            }
            Base::Application => or(&self.config_home, ".config"),
            Base::Claude => or(&self.claude_config_dir, ".claude"),
            Base::ClaudeState => self.claude_config_dir.clone().unwrap_or(self.home.clone()),
            Base::Codex => or(&self.codex_home, ".codex"),
            Base::Copilot => or(&self.copilot_home, ".copilot"),
            Base::Project => self.project.clone(),
        }
    }
}

/// The files of a client in one scope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Files {
    /// The file that lists servers, the first that exists, else the first.
    pub(crate) server: &'static [Place],
    pub(crate) hooks: Option<Place>,
    pub(crate) passage: Option<Place>,
}

/// A program of agents.
#[derive(Debug)]
pub struct Client {
    /// Its name, as it is typed.
    pub name: &'static str,
    /// Its name, as people write it.
    pub title: &'static str,
    /// What its entries look like.
    pub form: Form,
    /// Whether it may start servers in another folder than the project's, and does not tell them
    /// which it is.
    pub(crate) elsewhere: bool,
    /// What stands for the project's folder in its entries.
    pub workspace: Option<&'static str>,
    /// Commands that show that it is installed.
    pub(crate) programs: &'static [&'static str],
    /// Folders and files that show that it is installed.
    pub(crate) signs: &'static [Place],
    pub(crate) global: Files,
    /// None where it reads no file of a project.
    pub(crate) project: Option<Files>,
    /// What its user has to do once, if anything.
    pub after: Option<&'static str>,
}

impl Client {
    pub(crate) fn files(&self, scope: Scope) -> Option<&Files> {
        match scope {
            Scope::Global => Some(&self.global),
            Scope::Project => self.project.as_ref(),
        }
    }

    /// Whether it reads files of a project.
    #[must_use]
    pub fn has_project_files(&self) -> bool {
        self.project.is_some()
    }

    /// Whether its hooks are set up.
    #[must_use]
    pub fn has_hooks(&self) -> bool {
        self.global.hooks.is_some()
    }

    /// What shows that it is installed: a command that `on_path` finds, or a folder of its own.
    pub fn found(
        &self,
        places: &Places,
        on_path: &dyn Fn(&str) -> Option<PathBuf>,
    ) -> Option<PathBuf> {
        let sign = self.signs.iter().map(|sign| places.path(*sign)).find(|path| path.exists());
        sign.or_else(|| self.programs.iter().find_map(|program| on_path(program)))
    }
}

/// The client of a name.
#[must_use]
pub fn client(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.name == name)
}

const NO_PASSAGE: Option<Place> = None;
const AGENTS: Option<Place> = Some(Place(Base::Project, "AGENTS.md"));

/// The programs that are known, in the order in which they are shown.
pub const CLIENTS: [Client; 10] = [
    Client {
        name: "claude-code",
        title: "Claude Code",
        form: Form::Plain { key: "mcpServers" },
        elsewhere: false,
        workspace: None,
        programs: &["claude"],
        signs: &[Place(Base::Claude, ""), Place(Base::ClaudeState, ".claude.json")],
        global: Files {
            server: &[Place(Base::ClaudeState, ".claude.json")],
            hooks: Some(Place(Base::Claude, "settings.json")),
            passage: Some(Place(Base::Claude, "CLAUDE.md")),
        },
        project: Some(Files {
            server: &[Place(Base::Project, ".mcp.json")],
            hooks: Some(Place(Base::Project, ".claude/settings.json")),
            passage: Some(Place(Base::Project, "CLAUDE.md")),
        }),
        after: None,
    },
    Client {
        name: "codex",
        title: "Codex",
        form: Form::Toml,
        elsewhere: false,
        workspace: None,
        programs: &["codex"],
        signs: &[Place(Base::Codex, "")],
        global: Files {
            server: &[Place(Base::Codex, "config.toml")],
            hooks: Some(Place(Base::Codex, "hooks.json")),
            passage: Some(Place(Base::Codex, "AGENTS.md")),
        },
        project: Some(Files {
            server: &[Place(Base::Project, ".codex/config.toml")],
            hooks: Some(Place(Base::Project, ".codex/hooks.json")),
            passage: AGENTS,
        }),
        after: Some("Codex runs new hooks once you trust them: type /hooks in it"),
    },
    Client {
        name: "cursor",
        title: "Cursor",
        form: Form::Plain { key: "mcpServers" },
        elsewhere: false,
        workspace: Some("${workspaceFolder}"),
        programs: &["cursor", "cursor-agent"],
        signs: &[Place(Base::Home, ".cursor")],
        global: Files {
            server: &[Place(Base::Home, ".cursor/mcp.json")],
            hooks: None,
            passage: NO_PASSAGE,
        },
        project: Some(Files {
            server: &[Place(Base::Project, ".cursor/mcp.json")],
            hooks: None,
            passage: AGENTS,
        }),
        after: None,
    },
    Client {
        name: "gemini",
        title: "Gemini CLI",
        form: Form::Plain { key: "mcpServers" },
        elsewhere: false,
        workspace: None,
        programs: &["gemini"],
        signs: &[Place(Base::Home, ".gemini/settings.json"), Place(Base::Home, ".gemini/tmp")],
        global: Files {
            server: &[Place(Base::Home, ".gemini/settings.json")],
            hooks: None,
            passage: Some(Place(Base::Home, ".gemini/GEMINI.md")),
        },
        project: Some(Files {
            server: &[Place(Base::Project, ".gemini/settings.json")],
            hooks: None,
            passage: Some(Place(Base::Project, "GEMINI.md")),
        }),
        after: None,
    },
    Client {
        name: "opencode",
        title: "OpenCode",
        form: Form::OpenCode,
        elsewhere: false,
        workspace: None,
        programs: &["opencode"],
        signs: &[Place(Base::Config, "opencode")],
        global: Files {
            server: &[
                Place(Base::Config, "opencode/opencode.json"),
                Place(Base::Config, "opencode/opencode.jsonc"),
            ],
            hooks: None,
            passage: Some(Place(Base::Config, "opencode/AGENTS.md")),
        },
        project: Some(Files {
            server: &[
                Place(Base::Project, "opencode.json"),
                Place(Base::Project, "opencode.jsonc"),
            ],
            hooks: None,
            passage: AGENTS,
        }),
        after: None,
    },
    Client {
        name: "windsurf",
        title: "Windsurf",
        form: Form::Plain { key: "mcpServers" },
        elsewhere: true,
        workspace: None,
        programs: &["windsurf"],
        signs: &[Place(Base::Home, ".codeium/windsurf")],
        global: Files {
            server: &[Place(Base::Home, ".codeium/windsurf/mcp_config.json")],
            hooks: None,
            passage: Some(Place(Base::Home, ".codeium/windsurf/memories/global_rules.md")),
        },
        project: None,
        after: None,
    },
    Client {
        name: "vscode",
        title: "VS Code",
        form: Form::Stdio { key: "servers" },
        elsewhere: false,
        workspace: Some("${workspaceFolder}"),
        programs: &["code"],
        signs: &[Place(Base::Application, "Code/User")],
        global: Files {
            server: &[Place(Base::Application, "Code/User/mcp.json")],
            hooks: None,
            passage: NO_PASSAGE,
        },
        project: Some(Files {
            server: &[Place(Base::Project, ".vscode/mcp.json")],
            hooks: None,
            passage: AGENTS,
        }),
        after: None,
    },
    Client {
        name: "zed",
        title: "Zed",
        form: Form::Zed,
        elsewhere: true,
        workspace: None,
        programs: &["zed", "zeditor"],
        signs: &[Place(Base::Config, "zed")],
        global: Files {
            server: &[Place(Base::Config, "zed/settings.json")],
            hooks: None,
            passage: NO_PASSAGE,
        },
        project: Some(Files {
            server: &[Place(Base::Project, ".zed/settings.json")],
            hooks: None,
            passage: AGENTS,
        }),
        after: None,
    },
    Client {
        name: "copilot",
        title: "Copilot CLI",
        form: Form::Local { key: "mcpServers" },
        elsewhere: false,
        workspace: None,
        programs: &["copilot"],
        signs: &[Place(Base::Copilot, "")],
        global: Files {
            server: &[Place(Base::Copilot, "mcp-config.json")],
            hooks: None,
            passage: Some(Place(Base::Copilot, "copilot-instructions.md")),
        },
        project: Some(Files {
            server: &[Place(Base::Project, ".github/mcp.json")],
            hooks: None,
            passage: AGENTS,
        }),
        after: None,
    },
    Client {
        name: "claude-desktop",
        title: "Claude Desktop",
        form: Form::Plain { key: "mcpServers" },
        elsewhere: true,
        workspace: None,
        programs: &["claude-desktop"],
        signs: &[Place(Base::Application, "Claude")],
        global: Files {
            server: &[Place(Base::Application, "Claude/claude_desktop_config.json")],
            hooks: None,
            passage: NO_PASSAGE,
        },
        project: None,
        after: None,
    },
];
