//! The names in a capsule that a line may continue with.

use clap::Arg;
use kapsa_memory::Record;
use kapsa_memory::branch::{self, RUN_PREFIX};
use kapsa_memory::checkpoint;
use kapsa_memory::request::TimelineRequest;

use crate::app::App;
use crate::args::Global;
use crate::error::Result;
use crate::escape;

/// Newest records whose names are looked at.
const SCANNED_MAX: usize = 1000;
/// Most names of one sort that are offered at a time.
const OFFERED_MAX: usize = 50;

/// What an argument names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameKind {
    /// A branch that can be worked on.
    Branch,
    /// A record.
    Uri,
    /// A run.
    Run,
    /// A checkpoint, by its label.
    Checkpoint,
    /// A branch or a checkpoint.
    Side,
    /// The label of a record.
    Label,
}

impl NameKind {
    /// What the values of an argument name, known by how the tree of arguments calls it.
    pub(crate) fn by(argument: &Arg) -> Option<NameKind> {
        let value = argument
            .get_value_names()
            .and_then(|names| names.first())
            .map_or("", |name| name.as_str());
        match (argument.get_long().unwrap_or_default(), value, argument.get_id().as_str()) {
            ("branch", ..) | (_, "BRANCH", _) => Some(NameKind::Branch),
            ("uri", ..) | (_, "URI", _) | (_, _, "uri") => Some(NameKind::Uri),
            ("run", ..) => Some(NameKind::Run),
            ("as-of" | "since-checkpoint", ..) | (_, "COMMIT", _) => Some(NameKind::Checkpoint),
            (_, "BRANCH|POINT", _) => Some(NameKind::Side),
            ("label", "LABEL", _) => Some(NameKind::Label),
            _ => None,
        }
    }
}

/// Names of a capsule. One that cannot be read has none.
pub(crate) trait Names {
    /// Names of this sort that begin with `prefix`.
    fn beginning(&self, what: NameKind, prefix: &str) -> Vec<String>;
}

/// The capsule that is worked on, opened anew for each question: it may have grown or been switched
/// since.
pub(crate) struct CapsuleNames {
    held: Global,
}

impl CapsuleNames {
    pub(crate) fn new(held: &Global) -> CapsuleNames {
        CapsuleNames { held: held.clone() }
    }

    /// Whoever acts: somebody who runs as one principal completes as no other one.
    fn app(&self) -> Result<App> {
        let app = App::new(self.held.clone());
        app.check_principal()?;
        Ok(app)
    }

    fn newest(&self) -> Result<Vec<Record>> {
        let request =
            TimelineRequest { limit: SCANNED_MAX, reverse: true, ..TimelineRequest::default() };
        Ok(self.app()?.reader()?.timeline(&request)?)
    }

    fn branches(&self) -> Result<Vec<String>> {
        let branches = branch::list(&self.app()?.whole_reader()?)?;
        Ok(branches
            .into_iter()
            .filter(|branch| !branch.archived)
            .map(|branch| branch.name)
            .collect())
    }

    /// Labels of the checkpoints, newest first.
    fn checkpoints(&self) -> Result<Vec<String>> {
        let checkpoints = checkpoint::list(&self.app()?.owner_reader()?, false)?;
        Ok(checkpoints.into_iter().rev().map(|checkpoint| checkpoint.label).collect())
    }

    /// Runs that have a branch, then those that records name.
    fn runs(&self) -> Result<Vec<String>> {
        let on_branches = self.branches().unwrap_or_default().into_iter().filter_map(|branch| {
            Some(branch.strip_prefix(RUN_PREFIX)?.split('/').next()?.to_string())
        });
        let in_records = self.newest()?.into_iter().map(|record| record.run);
        Ok(on_branches.chain(in_records).collect())
    }

    fn all(&self, what: NameKind, prefix: &str) -> Result<Vec<String>> {
        match what {
            NameKind::Branch => self.branches(),
            NameKind::Checkpoint => self.checkpoints(),
            NameKind::Side => {
                Ok(self.branches().into_iter().chain(self.checkpoints()).flatten().collect())
            }
            NameKind::Run => self.runs(),
            NameKind::Label => Ok(self.newest()?.into_iter().map(|record| record.label).collect()),
            NameKind::Uri => {
                Ok(self.newest()?.iter().filter_map(|record| form_of(record, prefix)).collect())
            }
        }
    }
}

/// The short or the whole form of a record's URI, whichever begins with `prefix`.
fn form_of(record: &Record, prefix: &str) -> Option<String> {
    let forms = [record.uri.short(), record.uri.as_str()];
    forms.into_iter().find(|form| form.starts_with(prefix)).map(str::to_string)
}

impl Names for CapsuleNames {
    fn beginning(&self, what: NameKind, prefix: &str) -> Vec<String> {
        let mut offered: Vec<String> = Vec::new();
        for name in self.all(what, prefix).unwrap_or_default() {
            if offered.len() == OFFERED_MAX {
                break;
            }
            if !name.is_empty()
                && name.starts_with(prefix)
                && escape::is_plain(&name)
                && !offered.contains(&name)
            {
                offered.push(name);
            }
        }
        offered
    }
}
