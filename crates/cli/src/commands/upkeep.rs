//! `connect` and `maintain`: where session traces are found, and upkeep of what they brought.

use std::path::{Component, Path, PathBuf};

use kapsa_traces::{AgentPlace, CONNECTED_MAX, MaintainOptions, Surroundings, Upkept, places};

use crate::app::{App, did};
use crate::args::{ConnectArgs, MaintainArgs};
use crate::error::{CliError, Done, Result};
use crate::moment;
use crate::output::Piece;
use crate::render::counted;
use crate::wire::show;
use crate::wire::traces::{ConnectOut, ConnectedOut, MaintainOut, UpkeptOut};

/// Columns of the agent's name, and of what was done.
const NAME_COLUMNS: usize = 13;

/// `kapsa connect`.
pub(crate) fn connect(app: &mut App, args: &ConnectArgs) -> Result<()> {
    let location = app.location()?;
    let before = kapsa_traces::connected(&location)?;
    let forgotten = absolute_all(&args.forget)?;
    if let Some(unknown) = forgotten.iter().find(|path| !before.contains(*path)) {
        let message = format!("{} is not connected", unknown.display());
        return Err(CliError::user("not_connected", message).hint("kapsa connect lists what is"));
    }
    let given = absolute_all(&args.paths)?;
    if let Some(missing) = given.iter().find(|path| !path.exists()) {
        let message = format!("{} does not exist", missing.display());
        return Err(CliError::user("not_found", message));
    }
    let is_search = args.forget.is_empty() && args.paths.is_empty();
    let found = if is_search { places(&surroundings()) } else { Vec::new() };
    let mut all: Vec<PathBuf> =
        before.iter().filter(|path| !forgotten.contains(path)).cloned().collect();
    for path in found.iter().map(|place| &place.path).chain(&given) {
        if !all.contains(path) {
            all.push(path.clone());
        }
    }
    if all.len() > CONNECTED_MAX {
        let message = format!("a memory reads at most {CONNECTED_MAX} files and folders");
        return Err(CliError::user("too_many", message).hint("connect a folder that holds them"));
    }
    if !args.dry_run {
        kapsa_traces::connect(&location, &all)?;
        did(app, Done::new(format!("connected with {}", counted(all.len() as u64, "place"))));
    }
    answer(app, &all, &before, &found, args.dry_run)
}

fn answer(
    app: &mut App,
    all: &[PathBuf],
    before: &[PathBuf],
    found: &[AgentPlace],
    dry_run: bool,
) -> Result<()> {
    let agent_of =
        |path: &Path| found.iter().find(|place| place.path == path).map(|place| place.agent.name());
    let connected: Vec<ConnectedOut> = all
        .iter()
        .map(|path| ConnectedOut {
            path: show(path),
            agent: agent_of(path),
            is_new: !before.contains(path),
        })
        .collect();
    if app.out.is_json() {
        return app.out.json(&ConnectOut { dry_run, connected });
    }
    for place in &connected {
        let agent = place.agent.unwrap_or("");
        let new = if place.is_new { "  new" } else { "" };
        app.out.pieces(
            &[
                Piece::strong(format!("{agent:<NAME_COLUMNS$}")),
                Piece::plain(place.path.as_str()),
                Piece::faint(new),
            ],
            NAME_COLUMNS,
        )?;
    }
    match (connected.is_empty(), dry_run) {
        (true, _) => app.out.note("no traces were found; kapsa connect FOLDER names them"),
        (_, true) => app.out.note("nothing was remembered; leave out --dry-run"),
        _ => app.out.note("kapsa sync reads them"),
    }
    Ok(())
}

/// What decides where agents keep their traces.
pub(super) fn surroundings() -> Surroundings {
    let variable =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    Surroundings {
        home: variable("HOME").or_else(|| variable("USERPROFILE")),
        // May be dropped: without a folder to work in there is no project.
        project: std::env::current_dir().ok(),
        claude: variable("CLAUDE_CONFIG_DIR"),
        codex: variable("CODEX_HOME"),
        data: variable("XDG_DATA_HOME"),
        config: variable("XDG_CONFIG_HOME"),
    }
}

fn absolute_all(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let absolute = |path: &PathBuf| {
        let goes_up = path.components().any(|part| part == Component::ParentDir);
        // One folder has one name; what is gone is known by what it was called.
        match path.canonicalize() {
            Ok(path) if goes_up => Ok(path),
            _ => std::path::absolute(path),
        }
        .map_err(|error| CliError::io(&format!("find {}", path.display()), &error))
    };
    paths.iter().map(absolute).collect()
}

fn shown(list: &[Upkept]) -> Vec<UpkeptOut<'_>> {
    list.iter().map(UpkeptOut::from).collect()
}

/// `kapsa maintain`.
pub(crate) fn maintain(app: &mut App, args: &MaintainArgs) -> Result<()> {
    let options = MaintainOptions {
        repository: args.repository.clone(),
        is_dry: !args.apply,
        provenance: app.write_options(None).provenance,
        ..MaintainOptions::new(moment::now)
    };
    let done = kapsa_traces::maintain(&app.location()?, &options)?;
    let changed = done.merged.len() + done.consolidated.len() + done.archived.len();
    if args.apply {
        did(app, Done::new(format!("maintained {}", counted(changed as u64, "fact"))));
    }
    if app.out.is_json() {
        return app.out.json(&MaintainOut {
            dry_run: done.is_dry,
            merged: shown(&done.merged),
            consolidated: shown(&done.consolidated),
            archived: shown(&done.archived),
            unchanged_count: done.unchanged,
        });
    }
    let lists =
        [("merge", &done.merged), ("consolidate", &done.consolidated), ("archive", &done.archived)];
    for (what, list) in lists {
        for upkept in list {
            let why = match &upkept.into {
                Some(into) => format!("  {} as {into} ({:.2})", upkept.reason, upkept.score),
                None => format!("  {}", upkept.reason),
            };
            app.out.pieces(
                &[
                    Piece::strong(format!("{what:<NAME_COLUMNS$}")),
                    Piece::plain(upkept.title.as_str()),
                    Piece::faint(why),
                ],
                NAME_COLUMNS,
            )?;
        }
    }
    app.out.note(&format!("{} left alone", counted(done.unchanged, "fact")));
    if done.is_dry && changed > 0 {
        app.out.note("nothing was changed; kapsa maintain --apply does it");
    }
    Ok(())
}
