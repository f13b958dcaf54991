//! One module per verb or small family of verbs. Each is wiring: read the arguments, call the library, print.

mod care;
mod documents;
mod find;
mod init;
mod put;
mod records;
mod shell;
mod svc;
mod tour;

use crate::app::{App, Status};
use crate::args::Verb;
use crate::error::Result;

/// Does what was asked.
pub(crate) fn run(app: &mut App, verb: Verb) -> Result<Status> {
    match verb {
        Verb::Verify => return care::verify(app),
        Verb::Doctor => return care::doctor(app),
        Verb::Salvage(args) => return care::salvage(app, &args),
        Verb::Init(args) => init::init(app, &args),
        Verb::Create(args) => init::create(app, &args),
        Verb::Put(args) => put::run(app, *args),
        Verb::Get(args) => records::get(app, &args),
        Verb::Find(args) => find::run(app, *args),
        Verb::Timeline(args) => records::timeline(app, *args),
        Verb::Forget(args) => records::forget(app, &args),
        Verb::History(args) => records::history(app, &args),
        Verb::Stats(args) => care::stats(app, &args),
        Verb::Compact => care::compact(app),
        Verb::Optimize => care::optimize(app),
        Verb::Purge(args) => care::purge(app, &args),
        Verb::Tour => tour::run(app),
        Verb::Svc(args) => svc::run(app, args.verb),
        Verb::Completions(args) => shell::completions(app, &args),
        Verb::Man(args) => shell::man(app, &args),
    }?;
    Ok(Status::Done)
}
