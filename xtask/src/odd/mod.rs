//! `cargo xtask odd`: no command line, however strange, may end the program other than by an answer
//! or an error, nor change a capsule and say that it failed.

mod call;
mod campaign;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

use crate::harness::args::{Opt, Parsed, parse};
use crate::harness::session::Session;
use crate::harness::tree;
use campaign::OddRun;

const USAGE: &str = "usage: cargo xtask odd [OPTION...]

Calls every verb with strange arguments: values of the wrong kind, huge numbers, control characters, empty strings, missing
files, values that begin with a dash, too many and too few. No call may panic, end by a signal or by a code that is not
documented, run for a minute, print JSON that does not parse where JSON was asked for, or change the capsule and report a
failure that does not say so. `kapsa verify` must be clean all along.";

const OPTIONS: [Opt; 2] = [
    Opt::value("--calls", "N", "5000", "Calls, at most"),
    Opt::value("--seconds", "N", "600", "Time after which no further call is made"),
];

/// A verb that is not called: it takes many seconds, in a folder of its own.
const LEFT_OUT: &str = "tour";

/// Runs the command.
pub(crate) fn run(repository: &Path, args: &[String]) -> Result<ExitCode, String> {
    let chosen = match parse(USAGE, &OPTIONS, args)? {
        Parsed::Help(text) => {
            println!("{text}");
            return Ok(ExitCode::SUCCESS);
        }
        Parsed::Run(chosen) => chosen,
    };
    let calls = chosen.number("--calls", 1..=10_000_000)?;
    let longest = Duration::from_secs(chosen.number("--seconds", 1..=1_000_000)?);
    let session = Session::begin("odd", repository, &chosen)?;
    let mut verbs = tree::verbs(&session.program)?;
    verbs.retain(|verb| verb.path != [LEFT_OUT]);
    let mut campaign = OddRun::new(&session.program, session.folder(), session.seed, &verbs)?;
    campaign.run(calls, longest)?;
    let (counts, broken) = (campaign.counts(), campaign.broken().to_vec());
    let people = format!(
        "{} verbs, {} calls and {} verifications: {} answered, {} refused, {} failed\n{} broken promises",
        verbs.len(),
        counts.calls,
        (counts.answered + counts.refused + counts.failed).saturating_sub(counts.calls),
        counts.answered,
        counts.refused,
        counts.failed,
        broken.len()
    );
    let report = json!({
        "verbs": verbs.len(),
        "calls": counts.calls,
        "answered": counts.answered,
        "refused": counts.refused,
        "failed": counts.failed,
        "broken": broken,
    });
    Ok(session.end(broken.is_empty(), &people, report))
}
