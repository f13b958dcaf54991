//! A home folder of its own, with the programs' files in it.

use std::fs;
use std::path::{Path, PathBuf};

use kapsa_setup::{
    Client, Error, FilePlan, Ledger, Places, Program, Scope, System, UndoPlan, apply, client, plan,
    plan_undo, undo,
};
use tempfile::TempDir;

/// The program's path in these tests; it has a space.
pub(crate) const PROGRAM: &str = "/opt/with space/kapsa";

pub(crate) struct World {
    pub(crate) root: TempDir,
    pub(crate) places: Places,
    pub(crate) program: Program,
    pub(crate) ledger: Ledger,
}

impl World {
    pub(crate) fn new() -> World {
        let root = tempfile::tempdir().expect("a temporary folder");
        let home = root.path().join("home");
        let project = home.join("project");
        fs::create_dir_all(&project).expect("folders");
        let places = Places {
            system: System::Linux,
            home,
            config_home: None,
            claude_config_dir: None,
            codex_home: None,
            copilot_home: None,
            project,
        };
        let program = Program { path: PROGRAM.to_string(), shared: "kapsa".to_string() };
        World { root, places, program, ledger: Ledger::default() }
    }

    pub(crate) fn ledger_path(&self) -> PathBuf {
        self.root.path().join("state/kapsa/setup.json")
    }

    pub(crate) fn plans(&self, name: &str, scope: Scope) -> Result<Vec<FilePlan>, Error> {
        plan(named(name), scope, &self.places, &self.program, false)
    }

    /// Sets a client up.
    pub(crate) fn set_up(&mut self, name: &str, scope: Scope) -> Result<Vec<FilePlan>, Error> {
        let plans = self.plans(name, scope)?;
        let path = self.ledger_path();
        apply(&plans, &mut self.ledger, &path)?;
        Ok(plans)
    }

    /// Undoes everything; nothing may fail.
    pub(crate) fn undo(&mut self) -> Vec<UndoPlan> {
        let (plans, errors) = plan_undo(&self.ledger, &[], None, &self.places, &self.program);
        assert!(errors.is_empty(), "{errors:?}");
        let path = self.ledger_path();
        undo(&plans, &mut self.ledger, &path).expect("it is undone");
        plans
    }

    /// The file of a client that holds the server, hooks or passage.
    pub(crate) fn file(&self, name: &str, what: &str) -> PathBuf {
        let plans = self.plans(name, Scope::Global).expect("plans");
        let plan = plans.iter().find(|plan| plan.content.what() == what);
        plan.unwrap_or_else(|| panic!("{name} has no {what}")).path.clone()
    }

    /// Every file below the home folder with its bytes.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        let mut folders = vec![self.places.home.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.push((path.clone(), fs::read(&path).unwrap_or_default()));
                }
            }
        }
        files.sort();
        files
    }
}

pub(crate) fn named(name: &str) -> &'static Client {
    client(name).unwrap_or_else(|| panic!("no client {name}"))
}

pub(crate) fn put(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
    fs::write(path, bytes).expect("a file");
}
