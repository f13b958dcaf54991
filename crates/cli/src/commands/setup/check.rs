//! `setup --check`: what works of what is set up, measured. Nothing is said to work that was not
//! tried.

use kapsa_setup::{CLIENTS, Client, Doors, Scope, doors};

use super::doors::Trying;
use super::places::Here;
use super::{SOME_FAILED, scope_name};
use crate::app::{App, Status};
use crate::args::SetupArgs;
use crate::error::{CliError, Result};
use crate::output::{Look, Piece};
use crate::wire::setup::{SetupAnswer, SetupCheckOut, SetupCheckedOut, SetupTrialOut};

/// Columns of what is tried, with the gap after it.
const WHAT_COLUMNS: usize = 24;

pub(crate) fn run(
    app: &mut App,
    args: &SetupArgs,
    here: &Here,
    named: &[&'static Client],
) -> Result<Status> {
    let clients: Vec<&'static Client> = match named.is_empty() {
        true => CLIENTS.iter().collect(),
        false => named.to_vec(),
    };
    let is_asked = |scope: &Scope| match scope {
        Scope::Global => !args.project,
        Scope::Project => !args.global,
    };
    let ledger = super::ledger(here)?;
    let mut programs = Vec::new();
    for client in clients {
        for scope in here.scopes().iter().filter(|scope| is_asked(scope)) {
            let is_known = ledger.knows(client, *scope, &here.places);
            let of = Checking { client, scope: *scope, is_known, is_named: !named.is_empty() };
            if let Some(checked) = check(app, here, of)? {
                tell(app, client, &checked)?;
                programs.push(checked);
            }
        }
    }
    if programs.is_empty() {
        let error = CliError::user("not_set_up", "no program is set up");
        return Err(error.hint("kapsa setup does that"));
    }
    let works = programs.iter().all(|checked| checked.trials.iter().all(|trial| trial.works));
    if app.out.is_json() {
        app.out.json(&SetupAnswer::Check(SetupCheckOut { works, programs }))?;
    } else {
        app.out.line(if works { "everything works" } else { "something does not work" })?;
    }
    Ok(if works { Status::Done } else { Status::Told(SOME_FAILED) })
}

/// What is looked at.
#[derive(Clone, Copy)]
struct Checking {
    client: &'static Client,
    scope: Scope,
    /// Whether the ledger says that it was set up: what is missing is told as well then.
    is_known: bool,
    /// Whether it was asked for by its name: what cannot be read is told as well then.
    is_named: bool,
}

/// Tries what is set up for a client; none where nothing is.
fn check(app: &App, here: &Here, of: Checking) -> Result<Option<SetupCheckedOut>> {
    let Checking { client, scope, is_known, is_named } = of;
    let trials = match doors(client, scope, &here.places, &here.program.path) {
        Ok(Some(doors)) if is_known || is_set_up(&doors) => {
            Trying::new(app, here, client, scope)?.all(&doors)
        }
        Ok(_) => return Ok(None),
        Err(_) if !is_known && !is_named => return Ok(None),
        Err(error) => vec![SetupTrialOut {
            what: "configuration".to_string(),
            works: false,
            detail: error.to_string(),
        }],
    };
    Ok(Some(SetupCheckedOut { program: client.name, scope: scope_name(scope), trials }))
}

/// Whether the client's own files say so. A passage alone does not: clients share its file.
fn is_set_up(doors: &Doors) -> bool {
    doors.server.is_some() || !doors.hooks.is_empty()
}

fn tell(app: &mut App, client: &Client, checked: &SetupCheckedOut) -> Result<()> {
    if app.out.is_json() {
        return Ok(());
    }
    let scope = Piece::faint(format!(" ({})", checked.scope));
    app.out.pieces(&[Piece::strong(client.title), scope], 0)?;
    for trial in &checked.trials {
        let (verdict, look) =
            if trial.works { ("works", Look::Plain) } else { ("fails", Look::Strong) };
        app.out.pieces(
            &[
                Piece::plain(format!("  {:WHAT_COLUMNS$}", trial.what)),
                Piece { text: format!("{verdict}  ").into(), look },
                Piece::faint(trial.detail.as_str()),
            ],
            WHAT_COLUMNS + 2,
        )?;
    }
    Ok(())
}
