//! `cargo xtask kill`: no acknowledged write may be lost when the program is killed at random
//! moments.

mod campaign;

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::harness::args::{Opt, Parsed, parse};
use crate::harness::breach::{Breach, Breaches};
use crate::harness::kapsa::Kapsa;
use crate::harness::liar::{self, Lie};
use crate::harness::session::Session;
use campaign::{Action, Campaign};

const USAGE: &str = "usage: cargo xtask kill [OPTION...]

Starts a put, a bulk put, a compaction or an optimization and kills it (SIGKILL): at a random moment before its usual end, or
right after the file has begun to grow. Then every record acknowledged so far must be there with its contents, batches must be
whole, `kapsa verify` must be clean, readers must read, and the next put must work at once, without waiting for a lock. Ends at
the first broken promise.";

const OPTIONS: [Opt; 2] = [
    Opt::value("--kills", "N", "500", "Kills that hit the program while it runs"),
    Opt::switch("--self-test", "Only show that lying programs are caught"),
];

const LIES: [Lie; 6] = [
    ("honest", None),
    ("drop", Some(Breach::Lost)),
    ("alter", Some(Breach::Altered)),
    ("damage", Some(Breach::Damaged)),
    ("blind", Some(Breach::ReadFailed)),
    ("stuck", Some(Breach::WriteFailed)),
];
/// Kills of a self-test, for each lie: one put in ten is lied about, so that one is met for
/// certain.
const SELF_TEST_KILLS: u64 = 60;

/// Runs the command.
pub(crate) fn run(repository: &Path, args: &[String]) -> Result<ExitCode, String> {
    let chosen = match parse(USAGE, &OPTIONS, args)? {
        Parsed::Help(text) => {
            println!("{text}");
            return Ok(ExitCode::SUCCESS);
        }
        Parsed::Run(chosen) => chosen,
    };
    let kills = chosen.number("--kills", 1..=1_000_000)?;
    let session = Session::begin("kill", repository, &chosen)?;
    if chosen.has("--self-test") {
        return self_test(session);
    }
    let breaches = Breaches::default();
    let kapsa = Kapsa::new(&session.program, &session.path("killed.kapsa"));
    let mut campaign = Campaign::new(kapsa, session.folder(), session.seed, &breaches);
    campaign.run(kills)?;
    let (people, json) = (people(&campaign, &breaches), report(&campaign, &breaches));
    Ok(session.end(breaches.is_empty(), &people, json))
}

fn self_test(session: Session) -> Result<ExitCode, String> {
    let liar = liar::write(session.folder())?;
    let (caught, lines) = liar::all_caught(&LIES, |mode, breaches| {
        let kapsa = liar::kapsa(&liar, &session.program, mode);
        Campaign::new(kapsa, session.folder(), session.seed, breaches).run(SELF_TEST_KILLS)
    })?;
    Ok(session.end(caught, &lines.join("\n"), json!({"self_test": lines})))
}

fn people(campaign: &Campaign<'_>, breaches: &Breaches) -> String {
    let mut lines = vec!["action    started  killed  usual time".to_owned()];
    for action in Action::ALL {
        let counted = campaign.counted(action);
        // Large puts are not measured.
        let usual = if counted.usual.is_zero() {
            "-".to_owned()
        } else {
            format!("{:.1} ms", counted.usual.as_secs_f64() * 1e3)
        };
        lines.push(format!(
            "{:<8}  {:>7}  {:>6}  {usual:>10}",
            action.name(),
            counted.started,
            counted.killed
        ));
    }
    lines.push(String::new());
    lines.push(format!(
        "{} kills hit: {} records acknowledged, {} kept without an acknowledgement, {} torn tails seen, {} unfinished compactions; \
         longest next put {:.1} ms",
        campaign.kills(),
        campaign.acknowledged,
        campaign.adopted,
        campaign.torn_tails,
        campaign.unfinished_compactions,
        campaign.longest_next_put.as_secs_f64() * 1e3,
    ));
    lines.push(breaches.lines());
    lines.join("\n")
}

fn report(campaign: &Campaign<'_>, breaches: &Breaches) -> Value {
    let action = |action: Action| {
        let counted = campaign.counted(action);
        let usual_ms = counted.usual.as_secs_f64() * 1e3;
        json!({"action": action.name(), "started": counted.started, "killed": counted.killed, "usual_ms": usual_ms})
    };
    json!({
        "kills": campaign.kills(),
        "actions": Action::ALL.map(action),
        "acknowledged": campaign.acknowledged,
        "kept_unacknowledged": campaign.adopted,
        "torn_tails": campaign.torn_tails,
        "unfinished_compactions_left": campaign.unfinished_compactions,
        "longest_next_put_ms": campaign.longest_next_put.as_secs_f64() * 1e3,
        "breaches": breaches.json(),
    })
}
