//! `cargo xtask attack`: principals with little clearance call every verb on three capsules that
//! differ only in what they may not read. No answer may differ, no hidden word may come out, and
//! nothing may be written that is not theirs.

mod allowed;
mod answer;
mod attempt;
mod build;
mod campaign;
mod rows;
mod values;
mod world;
mod written;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::args::{Opt, Parsed, parse};
use crate::harness::session::Session;
use crate::harness::{binary, preload, tree};
use build::Program;
use campaign::{Assault, Fault, Tally};
use rows::{ROWS, VerbRow};

const USAGE: &str = "usage: cargo xtask attack [OPTION...]

Calls every verb as principals with little clearance, on three capsules that hold the same records for them: one with secrets,
one with others, and one without. Exit code, output and errors must be the same, hidden words must not come out, and no record
may be written that is not the principal's. Layouts: tail, one segment, several, compacted, each with a clock that stands still,
and some with vectors. Names of hidden and of missing things, sequences, moments and nonsense are tried.

Needs Linux, cc, and a program that is linked dynamically.";

const OPTIONS: [Opt; 3] = [
    Opt::value("--attempts", "N", "20000", "Attempts: calls on all three capsules"),
    Opt::value("--seconds", "N", "7200", "Time after which no further attempts are begun"),
    Opt::switch("--self-test", "Check that faults on purpose are found"),
];
const CLOCK: &str = include_str!("../../peers/clock.c");
/// Attempts with each fault on purpose before it is looked at whether they found it.
const FAULT_ATTEMPTS: u64 = 48;
/// How often so many are made: which words an attempt tries is chance, and a verb that leaks one
/// record of many may well get past the first of them.
const FAULT_ROUNDS: u64 = 40;

/// Runs the command.
pub(crate) fn run(repository: &Path, args: &[String]) -> Result<ExitCode, String> {
    let chosen = match parse(USAGE, &OPTIONS, args)? {
        Parsed::Help(text) => {
            println!("{text}");
            return Ok(ExitCode::SUCCESS);
        }
        Parsed::Run(chosen) => chosen,
    };
    let attempts = chosen.number("--attempts", 1..=10_000_000)?;
    let longest = Duration::from_secs(chosen.number("--seconds", 1..=1_000_000)?);
    let session = Session::begin("attack", repository, &chosen)?;
    let clock = preload::compile(session.folder(), "clock", CLOCK);
    let (Some(clock), true) = (clock, binary::is_dynamic(&session.program).unwrap_or(false)) else {
        println!("skipped: it needs cc, and a program that is linked dynamically");
        return Ok(ExitCode::SUCCESS);
    };
    let verbs = tree::verbs(&session.program)?;
    rows::check(&ROWS.iter().collect::<Vec<_>>(), &verbs)?;
    let program = || Program { path: &session.program, clock: &clock };
    eprintln!("making the capsules");
    let stages = build::stages(&program(), &session.path("stages"))?;
    let campaign = |fault, round| Assault {
        program: program(),
        folder: session.folder(),
        stages: &stages,
        verbs: &verbs,
        seed: session.seed.wrapping_add(round),
        fault,
        longest,
    };
    if chosen.has("--self-test") {
        let (all, lines) = self_test(&verbs, campaign)?;
        let report = json!({ "faults": lines });
        return Ok(session.end(all, &lines.join("\n"), report));
    }
    let tally = campaign(Fault::None, 0).run(attempts)?;
    let (people, report) = (for_people(&tally), report(&tally));
    Ok(session.end(tally.findings.is_empty(), &people, report))
}

/// Faults on purpose: each must be found for what it is.
fn self_test<'a>(
    verbs: &[tree::Verb],
    campaign: impl Fn(Fault, u64) -> Assault<'a>,
) -> Result<(bool, Vec<String>), String> {
    let (mut all, mut lines) = (true, Vec::new());
    let mut say = |name: String, found: bool| {
        all &= found;
        lines.push(format!("{name}: {}", if found { "as it must be" } else { "NOT NOTICED" }));
    };
    for (verb, kind) in [
        ("timeline", "difference"),
        ("find", "hidden word"),
        ("fs tree", "hidden word"),
        ("put", "written"),
        ("stats", "owner's verb"),
    ] {
        let mut found = false;
        for round in 0..FAULT_ROUNDS {
            let tally = campaign(Fault::Owner(verb), round).run(FAULT_ATTEMPTS)?;
            found = tally.findings.iter().any(|finding| finding.kind == kind);
            if found {
                break;
            }
        }
        say(format!("{verb} by the owner"), found);
    }
    let fewer: Vec<&VerbRow> = ROWS.iter().filter(|row| row.verb != "find").collect();
    say("a verb without a row".to_owned(), rows::check(&fewer, verbs).is_err());
    let gone = VerbRow { verb: "no such verb", whose: rows::Whose::Owners, calls: &[] };
    say(
        "a row without a verb".to_owned(),
        rows::check(&ROWS.iter().chain([&gone]).collect::<Vec<_>>(), verbs).is_err(),
    );
    say(
        "nothing".to_owned(),
        campaign(Fault::None, 0).run(FAULT_ATTEMPTS * 4)?.findings.is_empty(),
    );
    Ok((all, lines))
}

/// How often each kind of finding was made with each verb.
fn kinds(tally: &Tally) -> BTreeMap<String, u64> {
    let mut kinds = BTreeMap::new();
    for finding in &tally.findings {
        *kinds.entry(format!("{} ({})", finding.kind, finding.verb)).or_default() += 1;
    }
    kinds
}

fn for_people(tally: &Tally) -> String {
    let mut lines = vec![format!(
        "{} attempts with {} verbs ({} calls): {} answered, {} wrote something",
        tally.attempts,
        tally.verbs.len(),
        tally.calls,
        tally.answered,
        tally.wrote
    )];
    for entry in allowed::ALLOWED {
        let count = tally.allowed.get(entry.name).copied().unwrap_or_default();
        lines.push(format!("allowed, {}: {count} ({})", entry.name, entry.reason));
    }
    lines.extend(kinds(tally).into_iter().map(|(kind, count)| format!("FOUND {kind}: {count}")));
    lines.push(format!("{} findings", tally.findings.len()));
    lines.join("\n")
}

fn report(tally: &Tally) -> Value {
    json!({
        "attempts": tally.attempts,
        "calls": tally.calls,
        "verbs": tally.verbs.len(),
        "answered": tally.answered,
        "wrote": tally.wrote,
        "allowed": tally.allowed,
        "found": kinds(tally),
        "findings": tally.findings.iter().map(|finding| &finding.line).collect::<Vec<_>>(),
    })
}
