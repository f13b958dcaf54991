//! Where this call is: the folders that configuration files are in, and the program itself.

use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use kapsa_setup::{Places, Program, SERVER_NAME, Scope, System};

use super::same_file;
use crate::error::{CliError, Result};

/// The folder that shows where a project begins.
const REPOSITORY: &str = ".git";
/// Permissions of which one makes a file a program.
const EXECUTABLE: u32 = 0o111;

/// Where this call is.
#[derive(Debug)]
pub(crate) struct Here {
    pub(crate) places: Places,
    pub(crate) program: Program,
    /// The file of what setup wrote.
    pub(crate) ledger: PathBuf,
}

impl Here {
    /// Looks around.
    pub(crate) fn look() -> Result<Here> {
        let home = folder("HOME").ok_or_else(|| {
            CliError::user("no_home", "HOME names no folder, and configurations are in it")
        })?;
        let here =
            env::current_dir().map_err(|error| CliError::io("find the current folder", &error))?;
        let state = folder("XDG_STATE_HOME").unwrap_or_else(|| home.join(".local/state"));
        let program = program()?;
        Ok(Here {
            ledger: state.join("kapsa/setup.json"),
            program,
            places: Places {
                system: if cfg!(target_os = "macos") { System::Mac } else { System::Linux },
                config_home: folder("XDG_CONFIG_HOME"),
                claude_config_dir: folder("CLAUDE_CONFIG_DIR"),
                codex_home: folder("CODEX_HOME"),
                copilot_home: folder("COPILOT_HOME"),
                project: project(&here),
                home,
            },
        })
    }

    /// Whether there is a project: the home folder is none.
    pub(crate) fn is_in_project(&self) -> bool {
        self.places.project != self.places.home
            && !same_file(&self.places.project, &self.places.home)
    }

    /// The scopes that there are files of.
    pub(crate) fn scopes(&self) -> &'static [Scope] {
        if self.is_in_project() { &[Scope::Global, Scope::Project] } else { &[Scope::Global] }
    }

    /// The program that a name on the search path leads to.
    pub(crate) fn on_path(&self, name: &str) -> Option<PathBuf> {
        on_path(name)
    }
}

fn folder(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The folder of the repository, else this one.
fn project(here: &Path) -> PathBuf {
    let repository = here.ancestors().find(|folder| folder.join(REPOSITORY).exists());
    repository.unwrap_or(here).to_path_buf()
}

/// This program, as files shall call it. A name on the search path outlives an update, which may
/// put the program itself in another folder.
fn program() -> Result<Program> {
    let running = env::current_exe().map_err(|error| CliError::io("find this program", &error))?;
    let named = on_path(SERVER_NAME).filter(|path| same_file(path, &running));
    let path = named.as_ref().unwrap_or(&running);
    let path = path.to_str().filter(|path| !path.contains(char::is_control)).ok_or_else(|| {
        let message = format!("the path of this program cannot be written: {}", path.display());
        CliError::user("bad_path", message).hint("install it in a folder with a plain name")
    })?;
    let shared = if named.is_some() { SERVER_NAME } else { path };
    Ok(Program { path: path.to_string(), shared: shared.to_string() })
}

fn on_path(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & EXECUTABLE != 0)
}
