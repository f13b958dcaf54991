//! `clone`, `remote`, `fetch`, `pull` and `push`: a capsule, its copies and others.

use std::path::{Path, PathBuf};

use kapsa_memory::branch::MAIN;
use kapsa_memory::uri::slug;
use kapsa_memory::{
    Error, Fetched, LocalPeer, MergePlan, MergeRequest, MergeResult, Peer, Reader, Relation,
    Remote, merge, remote as remotes, serve as answer, sync,
};

use crate::app::{App, did};
use crate::args::{CloneArgs, Exchange, RemoteVerb, ServeArgs, Verb};
use crate::error::{CliError, Done, Result};
use crate::escape;
use crate::locate::{WORKSPACE_FILE, WORKSPACE_FOLDER};
use crate::out_file::expect_folder_of;
use crate::progress::Progress;
use crate::render::counted;
use crate::ssh::{self, SshLocation};
use crate::wire::exchange::{ExchangedOut, RemoteOut, RemotesOut};
use crate::wire::show;
use crate::wire::transfer::CloneOut;

/// The verbs about copies of a capsule and other ones.
pub(crate) fn run(app: &mut App, verb: Verb) -> Result<()> {
    match verb {
        Verb::Clone(args) => clone(app, &args),
        Verb::Remote(args) => remote(app, args.verb),
        Verb::Fetch(args) => fetch(app, &args),
        Verb::Pull(args) => pull(app, &args),
        Verb::Push(args) => push(app, &args),
        Verb::ServeExchange(args) => serve(app, &args),
        other => unreachable!("{other:?} is called elsewhere"),
    }
}

/// `kapsa clone`.
fn clone(app: &mut App, args: &CloneArgs) -> Result<()> {
    let from = app.capsule()?;
    expect_folder_of(&args.to)?;
    let mut progress = Progress::new("copying", &app.out);
    kapsa_memory::clone(&from, &args.to, &mut |done, total| progress.set(done, total))?;
    drop(progress);
    did(app, Done::new(format!("cloned to {}", args.to.display())));
    let to = args.to.display().to_string();
    if app.out.is_json() {
        return app.out.json(&CloneOut { cloned: true, capsule_path: show(&from), clone_path: to });
    }
    app.out.line(&format!("cloned to {to}"))
}

/// `kapsa remote`.
fn remote(app: &mut App, verb: Option<RemoteVerb>) -> Result<()> {
    let path = app.capsule()?;
    let (remote, what) = match verb.unwrap_or(RemoteVerb::List) {
        RemoteVerb::List => return list(app, &path),
        RemoteVerb::Add { name, location } => {
            let location = settled(&location)?;
            (remotes::add(&mut app.keeper(&path)?, &name, &location)?, "added")
        }
        RemoteVerb::Remove { name } => {
            (remotes::remove(&mut app.keeper(&path)?, &name)?, "removed")
        }
        RemoteVerb::Rename { name, to } => {
            (remotes::rename(&mut app.keeper(&path)?, &name, &to)?, "renamed")
        }
    };
    did(app, Done::new(format!("remote {} was {what}", remote.name)));
    if app.out.is_json() {
        return app.out.json(&RemoteOut::from(&remote));
    }
    app.out.line(&escape::line(&format!("{what} {}  {}", remote.name, remote.location)))
}

fn list(app: &mut App, path: &Path) -> Result<()> {
    let remotes = remotes::list(&Reader::open(path)?)?;
    if app.out.is_json() {
        return app.out.json(&RemotesOut::of(&remotes));
    }
    let line = |remote: &Remote| {
        escape::line(&format!("{}  {}", remote.name, remote.location)).into_owned()
    };
    remotes.iter().try_for_each(|remote| app.out.line(&line(remote)))
}

/// A location as it is kept: wherever the next command is called from, it means the same.
fn settled(location: &str) -> Result<String> {
    if ssh::is_ssh(location) {
        return Ok(SshLocation::parse(location)?.to_string());
    }
    let path = capsule_at(Path::new(location));
    let whole = std::path::absolute(&path)
        .map_err(|error| CliError::io(&format!("find {}", path.display()), &error))?;
    let text = whole.to_str().map(str::to_string);
    text.ok_or_else(|| CliError::user("invalid_argument", "the path is not UTF-8"))
}

/// The capsule that a path means: itself, or that of a folder.
fn capsule_at(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(WORKSPACE_FOLDER).join(WORKSPACE_FILE) } else { path.into() }
}

/// The remote that is meant by its name or its location; none where it is only a path.
fn known(here: &Path, asked: &str) -> Result<Option<Remote>> {
    let reader = Reader::open(here)?;
    let all = remotes::list(&reader)?;
    if let Some(named) = all.iter().find(|remote| remote.name == asked) {
        return Ok(Some(named.clone()));
    }
    let location = settled(asked)?;
    Ok(all.into_iter().find(|remote| remote.location == location))
}

/// The remote that is meant, added where a path is none yet.
fn known_or_added(app: &App, here: &Path, args: &Exchange) -> Result<Remote> {
    if let Some(remote) = known(here, &args.remote)? {
        return Ok(remote);
    }
    let location = settled(&args.remote)?;
    if !ssh::is_ssh(&location) {
        // A name that is mistyped is no path either.
        Reader::open(Path::new(&location))?;
    }
    let name = args.name.clone().unwrap_or_else(|| name_of(&location));
    Ok(remotes::add(&mut app.keeper(here)?, &name, &location)?)
}

/// A name for a capsule: its project's folder, or its own file name.
fn name_of(location: &str) -> String {
    let path = Path::new(location);
    let folder = path.parent();
    let is_workspace = path.file_name().is_some_and(|name| name == WORKSPACE_FILE);
    let project = folder
        .filter(|folder| is_workspace && folder.ends_with(WORKSPACE_FOLDER))
        .and_then(Path::parent);
    let named = project.and_then(Path::file_name).or_else(|| path.file_stem());
    let name = named.map_or_else(String::new, |name| slug(&name.to_string_lossy()));
    if remotes::remote_name(&name).is_ok() { name } else { "other".to_string() }
}

/// What a remote is asked through.
fn peer(app: &App, remote: &Remote, write: bool) -> Result<Box<dyn Peer>> {
    if ssh::is_ssh(&remote.location) {
        return ssh::connect(&SshLocation::parse(&remote.location)?, write);
    }
    let path = Path::new(&remote.location);
    if write {
        return Ok(Box::new(LocalPeer::of(app.keeper(path)?)?));
    }
    Ok(Box::new(LocalPeer::open(path)?))
}

/// `kapsa fetch`.
fn fetch(app: &mut App, args: &Exchange) -> Result<()> {
    let here = app.capsule()?;
    let remote = known_or_added(app, &here, args)?;
    let mut peer = peer(app, &remote, false)?;
    let fetched = bring(app, |app, progress| {
        Ok(sync::fetch(&mut app.keeper(&here)?, &remote.name, peer.as_mut(), progress)?)
    })?;
    let relation = if fetched.records == 0 { "up_to_date" } else { "fetched" };
    tell(app, &exchanged(relation, &remote, &fetched))
}

/// Fetches, and says what is durable when it fails.
fn bring(
    app: &mut App,
    fetch: impl FnOnce(&App, kapsa_memory::Progress<'_>) -> Result<Fetched>,
) -> Result<Fetched> {
    let mut progress = Progress::new("copying", &app.out);
    let mut durable = 0;
    let fetched = fetch(app, &mut |done, total| {
        durable = done;
        progress.set(done, total);
    });
    drop(progress);
    let records = fetched.as_ref().map_or(durable, |fetched| fetched.records);
    did(app, (records > 0).then(|| copied(records)));
    fetched
}

fn copied(records: u64) -> Done {
    Done::new(format!("copied {}", counted(records, "record")))
}

fn exchanged(relation: &'static str, remote: &Remote, fetched: &Fetched) -> ExchangedOut {
    ExchangedOut {
        relation,
        remote: Some(remote.name.clone()),
        record_count: fetched.records,
        byte_count: Some(fetched.bytes),
        branches: fetched.branches.clone(),
    }
}

/// `kapsa pull`.
fn pull(app: &mut App, args: &Exchange) -> Result<()> {
    let here = app.capsule()?;
    if known(&here, &args.remote)?.is_none() && !ssh::is_ssh(&args.remote) {
        let there = PathBuf::from(settled(&args.remote)?);
        if catch_up(app, &there, &here)? {
            return Ok(());
        }
    }
    let remote = known_or_added(app, &here, args)?;
    let branch = app.branch(&here)?.unwrap_or_else(|| MAIN.to_string());
    let mut peer = peer(app, &remote, false)?;
    let fetched = bring(app, |app, progress| {
        let mut writer = app.keeper(&here)?;
        Ok(sync::fetch_straight(&mut writer, &remote.name, &branch, peer.as_mut(), progress)?)
    })?;
    drop(peer);
    if fetched.fast_forward {
        let relation = if fetched.records == 0 { "up_to_date" } else { "fast_forward" };
        return tell(app, &exchanged(relation, &remote, &fetched));
    }
    let request = MergeRequest {
        from: format!("{}/{branch}", remote.name),
        to: branch,
        ..MergeRequest::default()
    };
    let written = match merge::merge(&mut app.keeper(&here)?, &request) {
        Ok(MergeResult::Done(merged)) => merged.written,
        Ok(MergeResult::Conflicts(plan)) => return Err(conflicts(&plan)),
        // The remote has nothing on such a branch.
        Err(Error::BranchNotFound { .. }) => 0,
        Err(error) => return Err(error.into()),
    };
    let relation = match (written, fetched.records) {
        (0, 0) => "up_to_date",
        (0, _) => "fetched",
        _ => "merged",
    };
    tell(app, &exchanged(relation, &remote, &fetched))
}

fn conflicts(plan: &MergePlan) -> CliError {
    let count = plan.conflicts().count() as u64;
    let message = format!("nothing was merged: {} to resolve", counted(count, "conflict"));
    let hint = format!(
        "kapsa merge {from} shows them; --ours, --theirs or --contested decides all",
        from = plan.from
    );
    CliError::user("merge_conflicts", message).hint(hint).field("conflict_count", count)
}

/// `kapsa push`.
fn push(app: &mut App, args: &Exchange) -> Result<()> {
    let here = app.capsule()?;
    if known(&here, &args.remote)?.is_none() && !ssh::is_ssh(&args.remote) {
        let there = PathBuf::from(settled(&args.remote)?);
        if catch_up(app, &here, &there)? {
            return Ok(());
        }
    }
    let remote = known_or_added(app, &here, args)?;
    let branch = app.branch(&here)?.unwrap_or_else(|| MAIN.to_string());
    let mut peer = peer(app, &remote, true)?;
    let mut progress = Progress::new("copying", &app.out);
    let mut durable = 0;
    let pushed = {
        let reader = Reader::open(&here)?;
        sync::push(&reader, &remote.name, &branch, peer.as_mut(), &mut |done, total| {
            durable = done;
            progress.set(done, total);
        })
    };
    drop((progress, peer));
    did(app, (durable > 0).then(|| copied(durable)));
    let pushed = pushed?;
    sync::note(&mut app.keeper(&here)?, &pushed)?;
    let fetched = Fetched {
        records: pushed.records,
        bytes: pushed.bytes,
        branches: if pushed.records == 0 { Vec::new() } else { vec![branch] },
        fast_forward: false,
    };
    let relation = if pushed.records == 0 { "up_to_date" } else { "pushed" };
    tell(app, &exchanged(relation, &remote, &fetched))
}

/// Brings `to` to where `from` is, if it is a copy that is merely behind. Whether that is all that
/// there was to do.
fn catch_up(app: &mut App, from: &Path, to: &Path) -> Result<bool> {
    let mut progress = Progress::new("copying", &app.out);
    let mut durable = 0;
    let pulled = sync::catch_up(&mut app.keeper(to)?, from, &mut |done, total| {
        durable = done;
        progress.set(done, total);
    });
    drop(progress);
    if pulled.is_err() {
        did(app, (durable > 0).then(|| copied(durable)));
    }
    let pulled = pulled?;
    let relation = match pulled.relation {
        Relation::UpToDate => "up_to_date",
        Relation::FastForward => "fast_forward",
        Relation::Diverged => return Ok(false),
        Relation::Unrelated => {
            let message = "the two capsules share no history";
            let hint = "kapsa remote add NAME PATH exchanges records with it all the same; \
                        kapsa import mounts it read-only";
            return Err(CliError::user("invalid_operation", message).hint(hint));
        }
    };
    did(app, (pulled.records > 0).then(|| copied(pulled.records)));
    tell(app, &ExchangedOut { relation, record_count: pulled.records, ..ExchangedOut::default() })?;
    Ok(true)
}

fn tell(app: &mut App, exchanged: &ExchangedOut) -> Result<()> {
    if app.out.is_json() {
        return app.out.json(exchanged);
    }
    let records = counted(exchanged.record_count, "record");
    let remote = exchanged.remote.as_deref().unwrap_or_default();
    match exchanged.relation {
        "up_to_date" => app.out.line("up to date"),
        "fetched" => {
            let to = exchanged.branches.join(", ");
            app.out.line(&escape::line(&format!("fetched {records} to {to}")))?;
            app.out.note(&format!("merge them with kapsa merge {remote}/{MAIN}"));
            Ok(())
        }
        "merged" => app.out.line(&format!("fetched {records} from {remote} and merged them")),
        "pushed" => app.out.line(&format!("pushed {records} to {remote}")),
        _ if remote.is_empty() => {
            app.out.line(&format!("copied {records}; both now have the same history"))
        }
        _ => app.out.line(&format!("copied {records} from {remote}")),
    }
}

/// `kapsa serve-exchange`, which the other side of an `ssh` runs.
fn serve(app: &mut App, args: &ServeArgs) -> Result<()> {
    let path = capsule_at(&args.path);
    let mut peer = match args.write {
        true => LocalPeer::of(app.keeper(&path)?)?,
        false => LocalPeer::open(&path)?,
    };
    Ok(answer(&mut peer, std::io::stdin().lock(), std::io::stdout().lock())?)
}
