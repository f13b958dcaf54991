//! `setup`: gives the programs of agents a memory, takes that back, and proves that it works.

mod check;
mod doors;
mod places;
mod server;
mod turn;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use kapsa_memory::Created;
use kapsa_setup::{
    CLIENTS, Client, Error, FilePlan, Kept, Ledger, Scope, UndoPlan, Undone, apply, client, plan,
    plan_undo, undo, unified,
};

use self::places::Here;
use self::turn::SetupTurn;
use crate::app::{App, Status, did};
use crate::args::SetupArgs;
use crate::error::{CliError, Done, Result};
use crate::output::{Look, Piece};
use crate::wire::setup::{
    SetupAnswer, SetupFailureOut, SetupFileOut, SetupMemoryOut, SetupOut, SetupProgramOut,
    SetupUndoOut,
};
use crate::wire::show;
use crate::{git_exclude, locate};

use super::init::make_folder;

/// Exit code when one of several programs failed.
const SOME_FAILED: u8 = 1;

/// `kapsa setup`.
pub(crate) fn run(app: &mut App, args: &SetupArgs) -> Result<Status> {
    let here = Here::look()?;
    let clients: Vec<&'static Client> =
        args.clients.iter().filter_map(|name| client(name)).collect();
    match () {
        () if args.undo => take_back(app, args, &here, &clients),
        () if args.check => check::run(app, args, &here, &clients),
        () => set_up(app, args, &here, clients),
    }
}

fn scope_of(args: &SetupArgs) -> Scope {
    if args.project { Scope::Project } else { Scope::Global }
}

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Global => "global",
        Scope::Project => "project",
    }
}

fn set_up(
    app: &mut App,
    args: &SetupArgs,
    here: &Here,
    named: Vec<&'static Client>,
) -> Result<Status> {
    let scope = scope_of(args);
    expect_project(here, scope)?;
    let clients = if named.is_empty() { found(here, scope)? } else { named };
    if let Some(client) = clients.iter().find(|client| !reads(client, scope)) {
        let message = format!("{} reads no file of a project that lists servers", client.title);
        return Err(CliError::user("no_project_file", message).hint("use --global"));
    }
    let _turn = turn(app, args, here)?;
    let mut ledger = ledger(here)?;
    let planned = |client| plan(client, scope, &here.places, &here.program, args.force);
    if let [only] = clients.as_slice() {
        // Its failure is that of the call, and comes before anything is made.
        planned(only).map_err(failed)?;
    }
    // Where no program can be set up, none needs a memory.
    let is_needed = clients.iter().any(|client| planned(client).is_ok());
    let memory = memory(app, args, here, scope, is_needed)?;
    let mut programs = Vec::new();
    let (mut shown, mut git_excludes) = (BTreeSet::new(), BTreeSet::new());
    for client in clients {
        let planned = planned(client);
        let planned = planned.and_then(|plans| {
            if !args.dry_run {
                apply(&plans, &mut ledger, &here.ledger)?;
            }
            Ok(plans)
        });
        let out = program_out(client, scope, planned, &ledger, args.dry_run, &mut shown);
        tell_program(app, client, &out)?;
        if scope == Scope::Project {
            git_excludes.extend(exclude_backups(app, &out, args.dry_run));
        }
        if !args.dry_run && out.files.iter().any(|file| file.change != "unchanged") {
            did(app, Done::new(format!("set up {}", client.title)));
        }
        programs.push(out);
    }
    let failures = programs.iter().filter(|program| program.failure.is_some()).count();
    let git_exclude_paths: Vec<String> = git_excludes.iter().map(|path| show(path)).collect();
    if app.out.is_json() {
        let dry_run = args.dry_run;
        let out = SetupOut { dry_run, memory, programs, git_exclude_paths };
        app.out.json(&SetupAnswer::Setup(out))?;
    } else {
        let how = if args.dry_run { "would get" } else { "got" };
        for path in &git_exclude_paths {
            app.out.note(&format!("{path} {how} a rule, so that git does not list the backups"));
        }
        tell_end(app, args, Some(&memory).filter(|_| is_needed), &programs);
    }
    Ok(if failures > 0 { Status::Told(SOME_FAILED) } else { Status::Done })
}

fn expect_project(here: &Here, scope: Scope) -> Result<()> {
    if scope == Scope::Global || here.is_in_project() {
        return Ok(());
    }
    let message = "the home folder is no project; its files are those of the user";
    Err(CliError::user("no_project", message).hint("use --global, or go to a project"))
}

/// The turn of this call; none where it only shows what it would do.
fn turn(app: &App, args: &SetupArgs, here: &Here) -> Result<Option<SetupTurn>> {
    if args.dry_run {
        return Ok(None);
    }
    SetupTurn::wait(&here.ledger, &app.write_options(None)).map(Some)
}

/// What setup wrote before.
fn ledger(here: &Here) -> Result<Ledger> {
    Ledger::read(&here.ledger).map_err(|error| {
        failed(error).hint("move it away; kapsa setup --undo then goes by names and commands")
    })
}

fn reads(client: &Client, scope: Scope) -> bool {
    scope == Scope::Global || client.has_project_files()
}

/// The programs that are installed and have files of this scope.
fn found(here: &Here, scope: Scope) -> Result<Vec<&'static Client>> {
    let on_path = |name: &str| here.on_path(name);
    let clients: Vec<_> = CLIENTS
        .iter()
        .filter(|client| reads(client, scope) && client.found(&here.places, &on_path).is_some())
        .collect();
    if clients.is_empty() {
        let names: Vec<_> = CLIENTS.iter().map(|client| client.name).collect();
        let hint = format!("name one: kapsa setup {}", names.join("|"));
        return Err(CliError::user("no_program", "no program of agents was found").hint(hint));
    }
    Ok(clients)
}

/// The memory of a scope; made where it is needed and there is none.
fn memory(
    app: &mut App,
    args: &SetupArgs,
    here: &Here,
    scope: Scope,
    is_needed: bool,
) -> Result<SetupMemoryOut> {
    let path = memory_path(here, scope);
    if scope == Scope::Project {
        locate::expect_inside(&here.places.project)?;
    }
    let mut created = is_needed && !path.exists();
    if created && !args.dry_run {
        make_folder(&path)?;
        created = kapsa_memory::create(&path, &app.write_options(None))? == Created::New;
        if created {
            did(app, Done::new(format!("created {}", path.display())));
        }
    }
    Ok(SetupMemoryOut { capsule_path: show(&path), created })
}

fn memory_path(here: &Here, scope: Scope) -> PathBuf {
    let folder = match scope {
        Scope::Global => &here.places.home,
        Scope::Project => &here.places.project,
    };
    folder.join(locate::workspace())
}

fn program_out(
    client: &'static Client,
    scope: Scope,
    planned: Result<Vec<FilePlan>, Error>,
    ledger: &Ledger,
    dry_run: bool,
    shown: &mut BTreeSet<PathBuf>,
) -> SetupProgramOut {
    let (files, failure) = match planned {
        Ok(plans) => (plans, None),
        Err(error) => (Vec::new(), Some(failure_out(&error))),
    };
    let files: Vec<SetupFileOut> = files
        .iter()
        .map(|plan| {
            // In a dry run a file that clients share would be changed by each of them.
            let again = !shown.insert(plan.target.clone());
            file_out(plan, ledger, dry_run, again)
        })
        .collect();
    let next = client.after.filter(|_| files.iter().any(|file| file.change != "unchanged"));
    SetupProgramOut { program: client.name, scope: scope_name(scope), files, next, failure }
}

/// Keeps backups out of `git status`; what fails is reported and spoils nothing. Returns the files
/// of rules that were changed, or would be.
fn exclude_backups(app: &mut App, out: &SetupProgramOut, dry_run: bool) -> Vec<PathBuf> {
    let mut changed = Vec::new();
    for file in &out.files {
        let is_kept = file.backup_path.is_some() || dry_run && file.change == "changed";
        let target = Path::new(file.target_path.as_ref().unwrap_or(&file.file_path));
        let rules = match (is_kept, dry_run) {
            (false, _) => continue,
            (true, true) => git_exclude::lacks_backups(target),
            (true, false) => git_exclude::exclude_backups(target),
        };
        match rules {
            Ok(rules) => changed.extend(rules),
            Err(error) => {
                let what =
                    format!("git may list the backup of {} as untracked: {error}", file.file_path);
                app.out.warn("git_may_list", &what);
            }
        }
    }
    changed
}

/// Takes the rules for backups out again of repositories where none is left.
fn include_backups(
    plans: &[UndoPlan],
    ledger: &Ledger,
    dry_run: bool,
    failures: &mut Vec<SetupFailureOut>,
) -> BTreeSet<PathBuf> {
    let is_left = |repository: &Path| {
        let is_taken_back =
            |path: &PathBuf| dry_run && plans.iter().any(|plan| plan.target == *path);
        ledger.files.iter().any(|kept| {
            kept.backup.is_some()
                && !is_taken_back(&kept.path)
                && git_exclude::repository(&kept.path).is_some_and(|other| other == repository)
        })
    };
    let mut changed = BTreeSet::new();
    for plan in plans.iter().filter(|plan| !plan.backups.is_empty()) {
        let Some(repository) = git_exclude::repository(&plan.target) else { continue };
        if is_left(&repository) {
            continue;
        }
        let rules = match dry_run {
            true => git_exclude::holds_backups(&plan.target),
            false => git_exclude::include_backups(&plan.target),
        };
        match rules {
            Ok(rules) => changed.extend(rules),
            Err(error) => {
                let message =
                    format!("the rule for backups stays in {}: {error}", repository.display());
                failures.push(SetupFailureOut { code: "rule_stays", message });
            }
        }
    }
    changed
}

fn file_out(plan: &FilePlan, ledger: &Ledger, dry_run: bool, again: bool) -> SetupFileOut {
    let name = show(&plan.target);
    let is_change = plan.is_change() && !again;
    let backup = ledger.files.iter().find(|kept| kept.path == plan.target);
    let backup = backup.and_then(|kept| kept.backup.as_deref()).filter(|_| !dry_run && is_change);
    SetupFileOut {
        file_path: show(&plan.path),
        target_path: Some(name.clone()).filter(|_| plan.target != plan.path),
        holds: Some(plan.content.what()),
        change: match &plan.before {
            _ if !is_change => "unchanged",
            None => "created",
            Some(_) => "changed",
        },
        backup_path: backup.map(show),
        removed_paths: Vec::new(),
        emptied_paths: Vec::new(),
        diff: match is_change {
            true => unified(&name, plan.before.as_deref(), Some(&plan.after)),
            false => String::new(),
        },
    }
}

fn failure_out(error: &Error) -> SetupFailureOut {
    SetupFailureOut { code: error.code(), message: error.to_string() }
}

/// An error of a configuration file, as the caller sees it.
fn failed(error: Error) -> CliError {
    let message = error.to_string();
    match &error {
        Error::Io { source, action, path } => {
            CliError::io(&format!("{action} {}", path.display()), source)
        }
        _ if error.code() == "foreign_entry" => {
            CliError::user("foreign_entry", message).hint("--force replaces it")
        }
        _ => CliError::user(error.code(), message).hint("nothing of this program was written"),
    }
}

fn tell_program(app: &mut App, client: &Client, out: &SetupProgramOut) -> Result<()> {
    if app.out.is_json() {
        return Ok(());
    }
    app.out.pieces(&[Piece::strong(client.title)], 0)?;
    if let Some(failure) = &out.failure {
        return app.out.line(&format!("  not set up: {}", failure.message));
    }
    out.files.iter().try_for_each(|file| tell_file(app, file))
}

fn tell_file(app: &mut App, file: &SetupFileOut) -> Result<()> {
    let mut line = vec![Piece::plain(format!("  {}", file.file_path))];
    let holds = file.holds.map_or(String::new(), |holds| format!("{holds}, "));
    let change = file.change.replace('_', " ");
    line.push(Piece::faint(format!("  {holds}{change}")));
    if let Some(target) = &file.target_path {
        line.push(Piece::faint(format!(", a link to {target}")));
    }
    if let Some(backup) = &file.backup_path {
        line.push(Piece::faint(format!(", before: {backup}")));
    }
    app.out.pieces(&line, 4)?;
    let backups = file.removed_paths.iter().map(|path| format!("    {path}  removed"));
    let folders = file.emptied_paths.iter().map(|path| format!("    {path}  removed once empty"));
    for line in backups.chain(folders) {
        app.out.pieces(&[Piece::faint(line)], 4)?;
    }
    tell_diff(app, &file.diff)
}

fn tell_diff(app: &mut App, diff: &str) -> Result<()> {
    for line in diff.lines() {
        let look = match line.as_bytes().first() {
            Some(b'+') => Look::Added,
            Some(b'-') => Look::Removed,
            Some(b'@' | b'\\') => Look::Faint,
            _ => Look::Plain,
        };
        // A tab is shown as one: people compare the lines with their files.
        let line = line.trim_end_matches('\r').replace('\t', "    ");
        app.out.pieces(&[Piece { text: format!("    {line}").into(), look }], 4)?;
    }
    Ok(())
}

fn tell_end(
    app: &mut App,
    args: &SetupArgs,
    memory: Option<&SetupMemoryOut>,
    programs: &[SetupProgramOut],
) {
    for next in programs.iter().filter_map(|program| program.next) {
        app.out.note(next);
    }
    if let Some(memory) = memory {
        let made = match (memory.created, args.dry_run) {
            (true, true) => "would be created",
            (true, false) => "created",
            (false, _) => "there already",
        };
        app.out.note(&format!("memory: {}, {made}", memory.capsule_path));
    }
    let undo = if args.project { "kapsa setup --undo --project" } else { "kapsa setup --undo" };
    if args.dry_run {
        app.out.note("nothing was written; leave out --dry-run");
    } else if programs.iter().all(|program| program.failure.is_some()) {
        app.out.note("nothing was written");
    } else {
        app.out.note(&format!("kapsa setup --check proves that it works, {undo} takes it back"));
    }
}

fn take_back(
    app: &mut App,
    args: &SetupArgs,
    here: &Here,
    clients: &[&'static Client],
) -> Result<Status> {
    // What setup without flags writes, unless it is said otherwise.
    let scope = Some(scope_of(args)).filter(|_| !args.all);
    if let Some(scope) = scope {
        expect_project(here, scope)?;
    }
    let _turn = turn(app, args, here)?;
    let mut ledger = ledger(here)?;
    let (plans, errors) = plan_undo(&ledger, clients, scope, &here.places, &here.program);
    if !args.dry_run {
        undo(&plans, &mut ledger, &here.ledger).map_err(|error| {
            failed(error).hint("files before it are taken back; call it again for the others")
        })?;
    }
    let mut failures: Vec<SetupFailureOut> = errors.iter().map(failure_out).collect();
    let git_excludes = include_backups(&plans, &ledger, args.dry_run, &mut failures);
    let git_exclude_paths: Vec<String> = git_excludes.iter().map(|path| show(path)).collect();
    let files: Vec<SetupFileOut> = plans.iter().map(undone_out).collect();
    let others = others(&ledger, &plans);
    let scopes = here.scopes().iter().filter(|one| scope.is_none_or(|scope| scope == **one));
    let memories = scopes.map(|scope| memory_path(here, *scope)).filter(|path| path.exists());
    let capsule_paths: Vec<String> = memories.map(|path| show(&path)).collect();
    let status = if failures.is_empty() { Status::Done } else { Status::Told(SOME_FAILED) };
    if app.out.is_json() {
        let dry_run = args.dry_run;
        let out = SetupUndoOut { dry_run, files, capsule_paths, git_exclude_paths, failures };
        app.out.json(&SetupAnswer::Undo(out))?;
        return Ok(status);
    }
    files.iter().try_for_each(|file| tell_file(app, file))?;
    for failure in &failures {
        app.out.line(&format!("not taken back: {}", failure.message))?;
    }
    if files.is_empty() && failures.is_empty() {
        app.out.line(match scope {
            None => "nothing of Kapsa was found in any configuration",
            Some(Scope::Global) => "nothing of Kapsa was found in the user's configuration",
            Some(Scope::Project) => "nothing of Kapsa was found in this project's configuration",
        })?;
    }
    if others > 0 {
        app.out.note(&format!("{others} more files are set up: kapsa setup --undo --all"));
    }
    for path in &git_exclude_paths {
        app.out.note(&format!("the rule for backups goes from {path}"));
    }
    for path in &capsule_paths {
        app.out.note(&format!("the memory stays: {path}"));
    }
    if args.dry_run {
        app.out.note("nothing was written; leave out --dry-run");
    }
    Ok(status)
}

/// How many files that setup wrote are none of these.
fn others(ledger: &Ledger, plans: &[UndoPlan]) -> usize {
    let is_other = |kept: &&Kept| plans.iter().all(|plan| plan.target != kept.path);
    ledger.files.iter().filter(is_other).count()
}

fn undone_out(plan: &UndoPlan) -> SetupFileOut {
    let name = show(&plan.target);
    SetupFileOut {
        file_path: name.clone(),
        target_path: None,
        holds: None,
        change: match plan.how {
            Undone::Restored => "restored",
            Undone::Removed => "removed",
            Undone::OursRemoved => "ours_removed",
            Undone::Nothing => "unchanged",
            Undone::Shared => "kept",
        },
        backup_path: None,
        removed_paths: plan.backups.iter().map(|path| show(path)).collect(),
        emptied_paths: plan.folders.iter().map(|path| show(path)).collect(),
        diff: match plan.before == plan.after {
            true => String::new(),
            false => unified(&name, plan.before.as_deref(), plan.after.as_deref()),
        },
    }
}

/// Whether two paths lead to the same file.
fn same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}
