//! A session: begins with a program, a folder and a seed, ends with a report and an exit code.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};

use super::args::Chosen;
use super::binary;
use super::scratch::Scratch;
use super::sys;

/// A run of one of the commands.
pub(crate) struct Session {
    scratch: Scratch,
    pub(crate) program: PathBuf,
    pub(crate) version: String,
    pub(crate) seed: u64,
    json: bool,
}

impl Session {
    /// Makes the folder and the program.
    pub(crate) fn begin(verb: &str, repository: &Path, chosen: &Chosen) -> Result<Session, String> {
        sys::catch_interrupts();
        let (seed, json) = (chosen.seed()?, chosen.has("--json"));
        let scratch = Scratch::new(verb)?;
        let program = binary::prepare(repository, chosen, scratch.path())?;
        let version = binary::version(&program)?;
        eprintln!("{verb}: {version}, seed {seed}");
        Ok(Session { scratch, program, version, seed, json })
    }

    /// Where files of this run go.
    pub(crate) fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// A path inside that folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Prints the result, for people or as JSON with the version and the seed, and keeps the files
    /// when a promise was broken.
    pub(crate) fn end(mut self, kept: bool, people: &str, mut report: Value) -> ExitCode {
        report["ok"] = json!(kept);
        report["seed"] = json!(self.seed);
        report["version"] = json!(self.version);
        if self.json {
            println!("{report}");
        } else {
            println!(
                "{people}\nseed {}, {}: {}",
                self.seed,
                self.version,
                if kept { "as promised" } else { "NOT AS PROMISED" }
            );
        }
        if kept {
            return ExitCode::SUCCESS;
        }
        self.scratch.keep();
        ExitCode::FAILURE
    }
}
