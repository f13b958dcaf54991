//! One module per verb or small family of verbs. Each is wiring: read the arguments, call the
//! library, print.

mod asked;
mod audit;
mod backend;
mod backlog;
mod bulk;
mod bytes;
mod capsule_store;
mod care;
mod clearance;
mod context;
mod defaults;
mod documents;
mod elsewhere;
mod embed;
mod entity;
mod episode;
mod events;
mod fact;
mod file;
mod find;
mod fs;
mod hook;
mod import;
mod init;
mod insight;
mod key;
mod knowledge;
mod known;
mod mcp;
mod memory_tool;
mod merge;
mod names;
mod pipelines;
mod put;
mod records;
mod redact;
mod review;
mod role;
mod run;
mod schedule;
mod setup;
mod shell;
mod svc;
mod sync;
mod text;
mod tour;
mod traces;
mod transfer;
mod turn;
mod upkeep;
mod verify;
mod versions;
mod watch;

use std::time::Duration;

use kapsa_memory::Error;

use crate::app::{App, Status, runs_as};
use crate::args::Verb;
use crate::config_file::ConfigFile;
use crate::error::{CliError, Result};

pub(crate) use hook::{fail_open, open_verb, tell_failed};
pub(crate) use text::take_standard_input;

/// How long what is recorded beside an answer may wait for another writer.
const EVENT_PATIENCE: Duration = Duration::from_secs(1);

/// Whether a verb says nothing of a capsule, whoever calls it. Each line of a shell is a call of
/// its own.
fn needs_no_capsule(verb: &Verb) -> bool {
    matches!(
        verb,
        Verb::Completions(_)
            | Verb::Man(_)
            | Verb::Tour
            | Verb::Shell(_)
            | Verb::Hook(_)
            | Verb::Mcp(_)
    )
}

/// Does what was asked.
pub(crate) fn run(app: &mut App, verb: Verb) -> Result<Status> {
    if let Err(error) = app.check_principal() {
        if let Some(principal) = runs_as() {
            audit::denied(app, &principal, "--as", None);
        }
        return Err(error);
    }
    elsewhere::expect_capsule(&verb, || name_of(&verb))?;
    tell_unknown_keys(app, &verb);
    let Some(principal) = app.principal().map(str::to_string) else { return call(app, verb) };
    if needs_no_capsule(&verb) {
        return call(app, verb);
    }
    let what = match &verb {
        Verb::Put(_) => "put",
        Verb::Get(_) => "get",
        Verb::Find(_) => "find",
        Verb::Timeline(_) => "timeline",
        Verb::Forget(_) => "forget",
        Verb::History(_) => "history",
        Verb::Fact(_) => "fact",
        Verb::Episode(_) => "episode",
        Verb::Insight(_) => "insight",
        Verb::Context(_) => "context",
        Verb::Fs(_) => "fs",
        Verb::MemoryTool(_) => "memory-tool",
        // Deny by default: what nobody has thought through for principals is the owner's.
        _ => {
            let error = Error::AccessDenied { principal: principal.clone(), what: "use this verb" };
            audit::denied(app, &principal, &name_of(&verb), asked_of(app, &verb).as_deref());
            return Err(error.into());
        }
    };
    let asked = asked_of(app, &verb);
    let done = call(app, verb).map_err(|error| without_holder(app, error));
    if let Err(error) = &done {
        audit::of_call(app, &principal, what, asked.as_deref(), error.code);
    }
    done
}

/// Warns of keys of `kapsa.toml` that nobody knows, as a misspelt one is.
fn tell_unknown_keys(app: &mut App, verb: &Verb) {
    if needs_no_capsule(verb) || matches!(verb, Verb::Svc(_)) {
        return;
    }
    // May be dropped: a file that cannot be read is an error of whoever needs a setting of it.
    let file = ConfigFile::nearest().ok().flatten();
    for told in file.iter().flat_map(ConfigFile::unknown_keys) {
        app.out.warn("unknown_key", &told);
    }
}

/// The URI that a verb is about.
fn asked_of(app: &App, verb: &Verb) -> Option<String> {
    match verb {
        Verb::Get(args) => Some(args.uri.clone()),
        Verb::Forget(args) | Verb::History(args) | Verb::Blame(args) => Some(args.uri.clone()),
        Verb::ResolveUri(args) => Some(args.uri.clone()),
        Verb::Purge(args) => Some(args.uri.clone()),
        Verb::CherryPick(args) => Some(args.uri.clone()),
        Verb::Alias(args) => Some(args.new.clone()),
        Verb::Put(args) => args.fields.uri.clone(),
        Verb::Fact(args) => fact::named(&args.verb).map(|id| format!("fact/{id}")),
        Verb::Fs(args) => fs::named(app, &args.verb),
        _ => None,
    }
}

/// An error without what it tells of the owner's work: which run holds the lock, and since when.
pub(super) fn without_holder(app: &App, error: CliError) -> CliError {
    if error.code != "locked_by_writer" {
        return error;
    }
    let capsule = app.capsule().unwrap_or_default();
    let message = format!("{} is locked by another writer", capsule.display());
    let hint = "wait for it to finish, or wait longer with --lock-timeout SECONDS";
    CliError {
        warnings: error.warnings,
        ..CliError::system("locked_by_writer", message).hint(hint)
    }
}

/// The name of a verb, as it is typed.
fn name_of(verb: &Verb) -> String {
    let debug = format!("{verb:?}");
    let name = debug.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let mut typed = String::new();
    for (at, letter) in name.char_indices() {
        typed.extend((at > 0 && letter.is_uppercase()).then_some('-'));
        typed.extend(letter.to_lowercase());
    }
    typed
}

fn call(app: &mut App, verb: Verb) -> Result<Status> {
    match verb {
        Verb::Verify(args) => return verify::run(app, &args),
        Verb::Sync(args) => return traces::sync(app, &args),
        Verb::Doctor => return care::doctor(app),
        Verb::Replay(args) => return knowledge::replay(app, args.verb),
        Verb::Salvage(args) => return care::salvage(app, &args),
        Verb::Run(args) => return run::run(app, args.verb),
        Verb::Setup(args) => return setup::run(app, &args),
        Verb::Import(args) => return transfer::import(app, &args),
        Verb::Backend(args) => return backend::run(app, &args.verb),
        Verb::Role(args) => return role::run(app, args.verb),
        Verb::Shell(args) => return crate::shell::run(app, &args),
        Verb::Init(args) => init::init(app, &args),
        Verb::Create(args) => init::create(app, &args),
        Verb::Put(args) => elsewhere::put(app, *args),
        Verb::Get(args) => elsewhere::get(app, &args),
        Verb::Find(args) => elsewhere::find(app, *args),
        Verb::Timeline(args) => records::timeline(app, *args),
        Verb::Forget(args) => records::forget(app, &args),
        Verb::History(args) => records::history(app, &args),
        Verb::Blame(args) => versions::blame(app, &args),
        Verb::Alias(args) => versions::alias(app, &args),
        Verb::ResolveUri(args) => versions::resolve_uri(app, &args),
        Verb::Branch(args) => versions::branch(app, args),
        Verb::Checkpoint(args) => versions::checkpoint(app, args),
        Verb::Checkpoints(args) => versions::checkpoints(app, &args),
        Verb::Merge(args) => merge::run(app, &args),
        Verb::Diff(args) => versions::diff(app, &args),
        Verb::Log(args) => versions::log(app, &args),
        Verb::Revert(args) => versions::revert(app, args),
        Verb::CherryPick(args) => versions::cherry_pick(app, args),
        Verb::Export(args) => transfer::export(app, &args),
        Verb::Mounts => transfer::mounts(app),
        Verb::Gc(args) => transfer::gc(app, &args),
        Verb::Policy(args) => knowledge::policy(app, args.verb),
        Verb::Graph(args) => knowledge::graph(app, args.verb),
        Verb::Events(args) => events::list(app, *args),
        Verb::Event(args) => events::event(app, args.verb),
        Verb::Fact(args) => fact::run(app, args.verb),
        Verb::Entity(args) => entity::run(app, args.verb),
        Verb::Episode(args) => episode::run(app, args.verb),
        Verb::Insight(args) => insight::run(app, args.verb),
        Verb::Context(args) => context::run(app, *args),
        Verb::Fs(args) => fs::run(app, args.verb),
        Verb::MemoryTool(args) => memory_tool::run(app, &args),
        Verb::Clearance(args) => clearance::run(app, args.verb),
        Verb::Review(args) => review::run(app, args.verb),
        Verb::Embed(args) => embed::embed(app, &args),
        Verb::Reembed(args) => embed::reembed(app, &args),
        Verb::Model(args) => embed::model(app, args.verb),
        Verb::Key(args) => key::run(app, args.verb),
        Verb::Redact(args) => redact::run(app, &args),
        Verb::Trace(args) => traces::trace(app, args.verb),
        Verb::Connect(args) => upkeep::connect(app, &args),
        Verb::Maintain(args) => upkeep::maintain(app, &args),
        Verb::Status => traces::status(app),
        Verb::Stats(args) => care::stats(app, &args),
        Verb::Compact => care::compact(app),
        Verb::Optimize(args) => care::optimize(app, &args),
        Verb::Purge(args) => care::purge(app, &args),
        Verb::Tour => tour::run(app),
        Verb::Hook(args) => hook::run(app, args.verb),
        Verb::Mcp(args) => mcp::run(app, &args),
        Verb::Svc(args) => svc::run(app, args.verb),
        Verb::Completions(args) => shell::completions(app, &args),
        Verb::Man(args) => shell::man(app, &args),
        verb => sync::run(app, verb),
    }?;
    Ok(Status::Done)
}
