//! Writes what was planned for a client, all of it or nothing.

use std::path::{Path, PathBuf};

use crate::content::Prune;
use crate::error::Error;
use crate::evidence::Evidence;
use crate::ledger::{Kept, Ledger, hash};
use crate::plan::FilePlan;
use crate::read::read;
use crate::recover::{swaps, without_ours};
use crate::write::{backup_name, make_folders, remove, remove_folders, replace};

/// A file that was written.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The file itself.
    pub target: PathBuf,
    /// What it was before, beside it.
    pub backup: Option<PathBuf>,
}

/// Writes the files of a client and keeps in the ledger what they were. When one fails, those
/// before it are put back.
///
/// # Errors
///
/// [`Error`]: a file cannot be written, or somebody changed it since it was read.
pub fn apply(
    plans: &[FilePlan],
    ledger: &mut Ledger,
    ledger_path: &Path,
) -> Result<Vec<Applied>, Error> {
    let before = ledger.clone();
    let mut done: Vec<Step<'_>> = Vec::new();
    for plan in plans {
        let mut step = Step { plan, folders: Vec::new(), backup: None, written: false };
        let stepped = step.run(ledger, ledger_path);
        done.push(step);
        if let Err(error) = stepped {
            return Err(match put_back(&done, &before, ledger, ledger_path) {
                Ok(()) => error,
                Err(again) => Error::refused(
                    &plan.target,
                    format!("was not written ({error}), and what was is not back: {again}"),
                ),
            });
        }
    }
    Ok(done
        .into_iter()
        .filter(|step| step.written)
        .map(|step| Applied {
            target: step.plan.target.clone(),
            backup: ledger.of(&step.plan.target).and_then(|kept| kept.backup.clone()),
        })
        .collect())
}

/// One file on its way.
struct Step<'a> {
    plan: &'a FilePlan,
    folders: Vec<PathBuf>,
    /// The backup that was made, and what it replaced.
    backup: Option<(PathBuf, Option<String>)>,
    written: bool,
}

impl Step<'_> {
    fn run(&mut self, ledger: &mut Ledger, ledger_path: &Path) -> Result<(), Error> {
        let plan = self.plan;
        if !plan.is_change() {
            let kept = ledger.of_mut(&plan.target);
            if let Some(kept) = kept.filter(|kept| !has(&kept.clients, plan.client)) {
                kept.clients.push(plan.client.to_string());
                ledger.write(ledger_path)?;
            }
            return Ok(());
        }
        if read(&plan.target, None)?.text != plan.before {
            return Err(Error::refused(&plan.path, "changed while it was being read"));
        }
        self.folders = make_folders(&plan.target)?;
        let kept = self.keep(ledger)?;
        ledger.forget(&plan.target);
        ledger.files.push(kept);
        ledger.write(ledger_path)?;
        replace(&plan.target, &plan.after, plan.mode)?;
        self.written = true;
        Ok(())
    }

    /// What the ledger keeps of the file. Makes its backup.
    fn keep(&mut self, ledger: &Ledger) -> Result<Kept, Error> {
        let plan = self.plan;
        let known = ledger.of(&plan.target);
        let (original, found) = self.original(known)?;
        // What the ledger knows may have become somebody's own since.
        let made = plan
            .content
            .made_in(original.as_deref().unwrap_or_default(), &plan.program)
            .map_err(|error| Error::edit(&plan.path, error))?;
        let mut kept = Kept {
            path: plan.target.clone(),
            clients: known.map(|known| known.clients.clone()).unwrap_or_default(),
            scope: plan.scope,
            project: plan.project.clone(),
            what: plan.content.what().to_string(),
            existed: original.is_some(),
            before: hash(original.as_deref().unwrap_or_default()),
            after: hash(&plan.after),
            backup: None,
            made,
            folders: known.map(|known| known.folders.clone()).unwrap_or_default(),
            swaps: swaps(original.as_deref().unwrap_or_default(), &plan.after),
        };
        kept.folders.extend(self.folders.iter().cloned());
        if !has(&kept.clients, plan.client) {
            kept.clients.push(plan.client.to_string());
        }
        let Some(original) = original else { return Ok(kept) };
        let backup = match known.and_then(|known| known.backup.clone()).or(found) {
            Some(backup) => backup,
            None => backup_name(&plan.target)?,
        };
        let there = read(&backup, None)?.text;
        if there.as_ref() != Some(&original) {
            self.backup = Some((backup.clone(), there));
            replace(&backup, &original, plan.mode)?;
        }
        kept.backup = Some(backup);
        Ok(kept)
    }

    /// What the file was before setup: the backup, or, where a person changed the file since, what
    /// it is without ours. With the backup that says so, where the ledger was lost.
    fn original(&self, known: Option<&Kept>) -> Result<(Option<String>, Option<PathBuf>), Error> {
        let plan = self.plan;
        let Some(before) = &plan.before else { return Ok((None, None)) };
        let Some(known) = known else {
            let evidence = Evidence::of(&plan.target);
            return Ok(match evidence.exact(&plan.content, before, &plan.program) {
                Some((original, backup)) => (Some(original), Some(backup)),
                None => (Some(before.clone()), None),
            });
        };
        if hash(before) == known.after {
            let Some(backup) = &known.backup else { return Ok((None, None)) };
            let kept = read(backup, None)?.text;
            if let Some(kept) = kept.filter(|kept| hash(kept) == known.before) {
                return Ok((Some(kept), None));
            }
        }
        let prune = Prune::Made(&known.made);
        let without = without_ours(&plan.content, before, &known.swaps, &plan.program, prune)
            .map_err(|error| Error::edit(&plan.path, error))?;
        let original = without.unwrap_or_else(|| before.clone());
        let is_ours = !known.existed && plan.content.is_empty(&original);
        Ok((Some(original).filter(|_| !is_ours), None))
    }
}

fn has(clients: &[String], client: &str) -> bool {
    clients.iter().any(|known| known == client)
}

/// Brings files, backups, folders and the ledger back to what they were.
fn put_back(
    done: &[Step<'_>],
    before: &Ledger,
    ledger: &mut Ledger,
    ledger_path: &Path,
) -> Result<(), Error> {
    for step in done.iter().rev() {
        if step.written {
            match &step.plan.before {
                Some(text) => replace(&step.plan.target, text, step.plan.mode)?,
                None => remove(&step.plan.target)?,
            }
        }
        match &step.backup {
            Some((path, Some(text))) => replace(path, text, step.plan.mode)?,
            Some((path, None)) => remove(path)?,
            None => {}
        }
        remove_folders(&step.folders);
    }
    *ledger = before.clone();
    ledger.write(ledger_path)
}
