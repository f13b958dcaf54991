//! Brings files back: byte for byte where they are as setup left them, else without what is ours.

use std::path::{Path, PathBuf};

use crate::clients::{CLIENTS, Client, Places, Scope, client};
use crate::content::{Content, Prune};
use crate::error::Error;
use crate::evidence::{self, Evidence};
use crate::ledger::{Kept, Ledger, hash};
use crate::plan::{Program, contents};
use crate::read::{Found, expect_writable, read};
use crate::recover::without_ours;
use crate::server::Server;
use crate::write::{remove, remove_folders, replace};

/// How a file comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undone {
    /// Its original bytes are there again.
    Restored,
    /// The file was not there before, and is gone.
    Removed,
    /// A person changed it since: only what is ours is gone.
    OursRemoved,
    /// Nothing of ours was in it any more.
    Nothing,
    /// Another client needs it.
    Shared,
}

/// What undoing would do to one file.
#[derive(Clone, Debug)]
pub struct UndoPlan {
    /// The file itself.
    pub target: PathBuf,
    /// The clients that it was written for.
    pub clients: Vec<String>,
    /// How it comes back.
    pub how: Undone,
    /// What it holds; none where it is gone.
    pub before: Option<String>,
    /// What it would hold; none where there would be no file.
    pub after: Option<String>,
    /// Its backups, which go.
    pub backups: Vec<PathBuf>,
    /// Folders that setup made, which go where nothing else is in them.
    pub folders: Vec<PathBuf>,
    mode: Option<u32>,
    /// Clients that it stays for.
    staying: Vec<String>,
}

/// What is undone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Which<'a> {
    /// The clients; all where there are none.
    pub(crate) clients: &'a [&'static Client],
    /// The files of one scope only.
    pub(crate) scope: Option<Scope>,
}

/// What undoing would do, and which files it could not handle. Files that the ledger does not know
/// are looked through for entries that setup writes.
#[must_use]
pub fn plan_undo(
    ledger: &Ledger,
    clients: &[&'static Client],
    scope: Option<Scope>,
    places: &Places,
    program: &Program,
) -> (Vec<UndoPlan>, Vec<Error>) {
    let which = Which { clients, scope };
    let (mut plans, mut errors) = (Vec::new(), Vec::new());
    for kept in ledger.files.iter().filter(|kept| which.takes(kept, places)) {
        match known(kept, which, program) {
            Ok(plan) => plans.push(plan),
            Err(error) => errors.push(error),
        }
    }
    let asked: Vec<&Client> = match clients.is_empty() {
        true => CLIENTS.iter().collect(),
        false => clients.to_vec(),
    };
    // The files of the home folder are those of the user.
    let both = [Scope::Global, Scope::Project];
    let scopes = if places.project == places.home { &both[..1] } else { &both[..] };
    for scope in scopes.iter().copied().filter(|one| scope.is_none_or(|scope| scope == *one)) {
        for client in &asked {
            for (path, content) in contents(client, scope, places, program) {
                match unknown(&path, &content, client, scope, places, ledger, program) {
                    Ok(Some(plan)) if plans.iter().all(|one| one.target != plan.target) => {
                        plans.push(plan);
                    }
                    Ok(_) => {}
                    // A file that is no concern of the ledger's may be in any state.
                    Err(_) if clients.is_empty() => {}
                    Err(error) => errors.push(error),
                }
            }
        }
    }
    (plans, errors)
}

impl Which<'_> {
    fn takes(self, kept: &Kept, places: &Places) -> bool {
        let of_client =
            self.clients.is_empty() || self.clients.iter().any(|client| kept.is_of(client));
        of_client && self.scope.is_none_or(|scope| kept.is_in(scope, places))
    }
}

/// A file that the ledger knows.
fn known(kept: &Kept, which: Which<'_>, program: &Program) -> Result<UndoPlan, Error> {
    let found = read(&kept.path, kept.project.as_deref())?;
    let staying: Vec<String> = kept
        .clients
        .iter()
        .filter(|name| {
            !which.clients.is_empty() && which.clients.iter().all(|client| client.name != **name)
        })
        .cloned()
        .collect();
    let plan = |how, after: Option<String>| UndoPlan {
        target: kept.path.clone(),
        clients: kept.clients.clone(),
        how,
        before: found.text.clone(),
        after,
        backups: kept.backup.iter().filter(|_| staying.is_empty()).cloned().collect(),
        folders: kept.folders.iter().filter(|_| staying.is_empty()).cloned().collect(),
        mode: found.mode,
        staying: staying.clone(),
    };
    let Some(text) = found.text.clone() else { return Ok(plan(Undone::Nothing, None)) };
    if !staying.is_empty() {
        return Ok(plan(Undone::Shared, Some(text)));
    }
    let now = hash(&text);
    if kept.existed && now == kept.before {
        return Ok(plan(Undone::Nothing, Some(text)));
    }
    let planned = if now == kept.after && !kept.existed {
        plan(Undone::Removed, None)
    } else if let Some(original) = original(kept).filter(|_| now == kept.after) {
        plan(Undone::Restored, Some(original))
    } else {
        match ours_removed(kept, &text, program)? {
            None => plan(Undone::Nothing, Some(text)),
            Some((content, left)) if !kept.existed && content.is_empty(&left) => {
                plan(Undone::Removed, None)
            }
            Some((_, left)) => plan(Undone::OursRemoved, Some(left)),
        }
    };
    expect_writable(&kept.path, &found)?;
    Ok(planned)
}

fn original(kept: &Kept) -> Option<String> {
    let backup = kept.backup.as_ref()?;
    // May be dropped: without its backup a file comes back by taking out what is ours.
    let text = read(backup, None).ok()?.text?;
    Some(text).filter(|text| hash(text) == kept.before)
}

fn ours_removed(
    kept: &Kept,
    text: &str,
    program: &Program,
) -> Result<Option<(Content, String)>, Error> {
    let content = kept.clients.iter().find_map(|name| client(name)).and_then(|client| {
        match kept.what.as_str() {
            "server" => {
                let server = Server::new(program.path.as_str());
                Some(Content::Server { form: client.form, server })
            }
            "hooks" => Some(Content::Hooks(Vec::new())),
            "passage" => Some(Content::Passage),
            _ => None,
        }
    });
    let content = content.ok_or_else(|| {
        Error::refused(&kept.path, format!("is noted as `{}`, which is not known", kept.what))
    })?;
    let prune = Prune::Made(&kept.made);
    let left = without_ours(&content, text, &kept.swaps, &program.path, prune)
        .map_err(|error| Error::edit(&kept.path, error))?;
    Ok(left.map(|left| (content, left)))
}

/// A file that the ledger does not know; none where nothing of ours is in it.
fn unknown(
    path: &Path,
    content: &Content,
    client: &Client,
    scope: Scope,
    places: &Places,
    ledger: &Ledger,
    program: &Program,
) -> Result<Option<UndoPlan>, Error> {
    let project = (scope == Scope::Project).then_some(places.project.as_path());
    let found: Found = read(path, project)?;
    let Some(text) = found.text.clone() else { return Ok(None) };
    if ledger.of(&found.target).is_some() {
        return Ok(None);
    }
    let evidence = Evidence::of(&found.target);
    let back =
        evidence.back(content, &text, &program.path).map_err(|error| Error::edit(path, error))?;
    let (how, after) = match back {
        None => return Ok(None),
        Some(evidence::Recovered::Original(original)) => (Undone::Restored, Some(original)),
        Some(evidence::Recovered::Nothing) => (Undone::Removed, None),
        Some(evidence::Recovered::Left(left)) => (Undone::OursRemoved, Some(left)),
    };
    expect_writable(path, &found)?;
    Ok(Some(UndoPlan {
        target: found.target,
        clients: vec![client.name.to_string()],
        how,
        before: Some(text),
        after,
        backups: evidence.paths(),
        folders: Vec::new(),
        mode: found.mode,
        staying: Vec::new(),
    }))
}

/// Does what was planned, file by file; the ledger forgets each that is done.
///
/// # Errors
///
/// [`Error`]: a file cannot be written, or somebody changed it since it was read. Those before it
/// are done.
pub fn undo(plans: &[UndoPlan], ledger: &mut Ledger, ledger_path: &Path) -> Result<(), Error> {
    let mut folders = Vec::new();
    let undone = plans.iter().try_for_each(|plan| {
        let kept = undo_one(plan, ledger, ledger_path)?;
        folders.extend(kept.into_iter().flat_map(|kept| kept.folders));
        Ok(())
    });
    leave_folders(folders, ledger, ledger_path)?;
    undone
}

/// Undoes one file. Returns what the ledger kept of it.
fn undo_one(
    plan: &UndoPlan,
    ledger: &mut Ledger,
    ledger_path: &Path,
) -> Result<Option<Kept>, Error> {
    if read(&plan.target, None)?.text != plan.before {
        return Err(Error::refused(&plan.target, "changed while it was being read"));
    }
    if !plan.staying.is_empty() {
        if let Some(kept) = ledger.of_mut(&plan.target) {
            kept.clients.clone_from(&plan.staying);
            ledger.write(ledger_path)?;
        }
        return Ok(None);
    }
    match &plan.after {
        Some(after) if plan.before.as_ref() != Some(after) => {
            replace(&plan.target, after, plan.mode)?;
        }
        None if plan.before.is_some() => remove(&plan.target)?,
        _ => {}
    }
    let kept = ledger.of(&plan.target).cloned();
    if kept.is_some() {
        ledger.forget(&plan.target);
        ledger.write(ledger_path)?;
    }
    plan.backups.iter().try_for_each(|backup| remove(backup))?;
    Ok(kept)
}

/// Removes the folders that setup made, as far as they are empty. One that holds another file of
/// the ledger goes with that file.
fn leave_folders(
    mut folders: Vec<PathBuf>,
    ledger: &mut Ledger,
    ledger_path: &Path,
) -> Result<(), Error> {
    folders.sort_unstable();
    folders.dedup();
    remove_folders(&folders);
    folders.retain(|folder| folder.is_dir());
    let mut handed_on = false;
    for folder in folders {
        let inside = ledger.files.iter_mut().find(|kept| kept.path.starts_with(&folder));
        if let Some(kept) = inside.filter(|kept| !kept.folders.contains(&folder)) {
            kept.folders.push(folder);
            kept.folders.sort_unstable();
            handed_on = true;
        }
    }
    if handed_on { ledger.write(ledger_path) } else { Ok(()) }
}
