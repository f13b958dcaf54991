//! `clone`, `pull` and `push`: a capsule and its copies.

use std::path::Path;

use kapsa_memory::uri::slug;
use kapsa_memory::{Pulled, Relation, sync};

use crate::app::{App, did};
use crate::args::{CloneArgs, Exchange};
use crate::error::{Done, Result};
use crate::locate::{WORKSPACE_FILE, WORKSPACE_FOLDER};
use crate::out_file::expect_folder_of;
use crate::progress::Progress;
use crate::render::counted;
use crate::wire::show;
use crate::wire::transfer::{CloneOut, PulledOut};

/// `kapsa clone`.
pub(crate) fn clone(app: &mut App, args: &CloneArgs) -> Result<()> {
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

/// `kapsa pull`.
pub(crate) fn pull(app: &mut App, args: &Exchange) -> Result<()> {
    let here = app.capsule()?;
    exchange(app, &args.path, &here, args.name.as_deref())
}

/// `kapsa push`.
pub(crate) fn push(app: &mut App, args: &Exchange) -> Result<()> {
    let here = app.capsule()?;
    exchange(app, &here, &args.path, args.name.as_deref())
}

fn exchange(app: &mut App, from: &Path, to: &Path, name: Option<&str>) -> Result<()> {
    let name = name.map_or_else(|| name_of(from), str::to_string);
    let mut progress = Progress::new("copying", &app.out);
    let mut durable = 0;
    let pulled = sync::pull(&mut app.keeper(to)?, from, &name, &mut |done, total| {
        durable = done;
        progress.set(done, total);
    });
    drop(progress);
    let what = |records| Done::new(format!("copied {}", counted(records, "record")));
    if pulled.is_err() {
        did(app, (durable > 0).then(|| what(durable)));
    }
    let pulled = pulled?;
    did(app, (pulled.relation != Relation::UpToDate).then(|| what(pulled.records)));
    tell(app, &pulled)
}

/// A name for a capsule: its project's folder, or its own file name.
fn name_of(capsule: &Path) -> String {
    let capsule = capsule.canonicalize().unwrap_or_else(|_| capsule.to_path_buf());
    let folder = capsule.parent();
    let is_workspace = capsule.file_name().is_some_and(|name| name == WORKSPACE_FILE);
    let project = folder
        .filter(|folder| is_workspace && folder.ends_with(WORKSPACE_FOLDER))
        .and_then(Path::parent);
    let named = project.and_then(Path::file_name).or_else(|| capsule.file_stem());
    named.map_or_else(|| "other".to_string(), |name| slug(&name.to_string_lossy()))
}

fn tell(app: &mut App, pulled: &Pulled) -> Result<()> {
    if app.out.is_json() {
        return app.out.json(&PulledOut::from(pulled));
    }
    let records = counted(pulled.records, "record");
    match pulled.relation {
        Relation::UpToDate => app.out.line("nothing is missing"),
        Relation::FastForward => {
            app.out.line(&format!("copied {records}; both now have the same history"))
        }
        Relation::Forked => {
            app.out
                .line(&format!("copied {records} as branches, since the histories diverged:"))?;
            pulled.branches.iter().try_for_each(|branch| app.out.line(&format!("  {branch}")))?;
            app.out.note("merge them with kapsa merge BRANCH");
            Ok(())
        }
    }
}
