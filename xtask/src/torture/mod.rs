//! `cargo xtask torture`: many processes write to one capsule, and no acknowledged write may be
//! lost, doubled or out of order.

mod check;
mod maintenance;
mod peers;
mod reader;
mod report;
mod stage;
mod worker;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::args::{Chosen, Opt, Parsed, parse};
use crate::harness::breach::{Breach, Breaches};
use crate::harness::kapsa::Kapsa;
use crate::harness::ledger::Ledger;
use crate::harness::liar::{self, Lie};
use crate::harness::progress::Progress;
use crate::harness::session::Session;
use crate::harness::sys;
use check::Checked;
use maintenance::Maintenance;
use reader::Reads;
use stage::{Plan, Stage};
use worker::Worked;

const USAGE: &str = "usage: cargo xtask torture [OPTION...]

Many processes put records into one capsule at once: one-shot `kapsa put`s, so that the writer's lock is contended all the
time. Meanwhile readers read, the index is merged, the file is compacted, and random processes are killed. At the end every
acknowledged record must be there once, with its contents, in order, and `kapsa verify` must be clean.";

const OPTIONS: [Opt; 10] = [
    Opt::value("--processes", "N", "8", "Processes that put at the same time"),
    Opt::value("--puts", "N", "250", "Puts of each, one after the other"),
    Opt::value("--readers", "N", "2", "Readers at the same time"),
    Opt::value(
        "--kill-percent",
        "N",
        "5",
        "Puts of 100 that are killed at a random moment (maintenance: five times as many)",
    ),
    Opt::switch("--no-kills", "Kill nothing"),
    Opt::switch("--no-compact", "Neither optimize nor compact"),
    Opt::switch(
        "--peers",
        "Then the same puts, undisturbed, on Kapsa, SQLite, server-memory and memvid",
    ),
    Opt::value("--peer-puts", "N", "25", "Puts of each process in that comparison"),
    Opt::value("--peer-rounds", "N", "3", "Rounds of that comparison"),
    Opt::switch("--self-test", "Only show that lying programs are caught"),
];

/// Everything that a run counted.
struct Outcome {
    workers: Vec<Worked>,
    reads: Reads,
    maintenance: Maintenance,
    checked: Checked,
    wall: Duration,
}

/// Runs the command.
pub(crate) fn run(repository: &Path, args: &[String]) -> Result<ExitCode, String> {
    let chosen = match parse(USAGE, &OPTIONS, args)? {
        Parsed::Help(text) => {
            println!("{text}");
            return Ok(ExitCode::SUCCESS);
        }
        Parsed::Run(chosen) => chosen,
    };
    let session = Session::begin("torture", repository, &chosen)?;
    if chosen.has("--self-test") {
        return self_test(session);
    }
    let plan = plan(&chosen, session.seed)?;
    let (peer_puts, peer_rounds) =
        (chosen.number("--peer-puts", 1..=10_000)?, chosen.number("--peer-rounds", 1..=100)?);
    let breaches = Breaches::default();
    let outcome =
        torture(plan, &Kapsa::new(&session.program, &session.path("tortured.kapsa")), &breaches)?;
    let mut people = report::people(&plan, &outcome, &breaches);
    let mut json = report::json(&plan, &outcome, &breaches);
    if chosen.has("--peers") {
        let table = peers::compare(
            repository,
            &session,
            Plan { puts: peer_puts, ..plan },
            peer_rounds,
            &breaches,
        )?;
        people = format!("{people}\n\n{}", table.people());
        json["peers"] = table.json();
    }
    Ok(session.end(breaches.is_empty(), &people, json))
}

fn plan(chosen: &Chosen, seed: u64) -> Result<Plan, String> {
    Ok(Plan {
        seed,
        processes: chosen.number("--processes", 1..=256)?,
        puts: chosen.number("--puts", 1..=1_000_000)?,
        readers: chosen.number("--readers", 0..=64)?,
        kill_percent: if chosen.has("--no-kills") {
            0
        } else {
            chosen.number("--kill-percent", 0..=20)?
        },
        maintenance: !chosen.has("--no-compact"),
    })
}

/// Runs the workers with everything that disturbs them, and checks what they leave.
fn torture(plan: Plan, kapsa: &Kapsa, breaches: &Breaches) -> Result<Outcome, String> {
    kapsa.create()?;
    let stage = Stage {
        plan,
        kapsa,
        breaches,
        ledger: Mutex::new(Ledger::new(plan.seed)),
        acknowledged: AtomicU64::new(0),
        over: AtomicBool::new(false),
    };
    let (start, shared) = (Instant::now(), &stage);
    let (workers, wall, reads, maintenance) = thread::scope(|scope| {
        let workers: Vec<_> = (0..plan.processes)
            .map(|number| scope.spawn(move || worker::work(shared, number)))
            .collect();
        let readers: Vec<_> = (0..plan.readers)
            .map(|number| scope.spawn(move || reader::read(shared, number)))
            .collect();
        let verbs = if plan.maintenance { &maintenance::VERBS[..] } else { &[] };
        let maintenance: Vec<_> = verbs
            .iter()
            .map(|verb| scope.spawn(move || maintenance::maintain(shared, verb)))
            .collect();
        watch(shared, || workers.iter().all(|worker| worker.is_finished()));
        let wall = start.elapsed();
        shared.over.store(true, Ordering::Relaxed);
        let workers: Vec<Worked> = workers.into_iter().map(joined).collect();
        (
            workers,
            wall,
            readers.into_iter().map(joined).sum(),
            maintenance.into_iter().map(joined).sum(),
        )
    });
    sys::go_on()?;
    eprintln!("checking");
    let mut ledger = stage.ledger.into_inner().map_err(|_| "a worker panicked")?;
    let checked = check::check(&plan, kapsa, &mut ledger, &workers, breaches);
    Ok(Outcome { workers, reads, maintenance, checked, wall })
}

/// A panic of a thread is one of the whole run.
fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Reports how far the workers are until they have ended.
fn watch(stage: &Stage<'_>, ended: impl Fn() -> bool) {
    let (mut progress, all) = (Progress::new(), stage.plan.processes * stage.plan.puts);
    while !ended() {
        thread::sleep(Duration::from_millis(2));
        progress.show(|| {
            format!("{} of {all} puts acknowledged", stage.acknowledged.load(Ordering::Relaxed))
        });
    }
}

const LIES: [Lie; 7] = [
    ("honest", None),
    ("drop", Some(Breach::Lost)),
    ("double", Some(Breach::Doubled)),
    ("alter", Some(Breach::Altered)),
    ("damage", Some(Breach::Damaged)),
    ("forget", Some(Breach::WentBack)),
    ("blind", Some(Breach::ReadFailed)),
];

/// Small runs with programs that lie: each lie must be noticed.
fn self_test(session: Session) -> Result<ExitCode, String> {
    let liar = liar::write(session.folder())?;
    let plan = Plan {
        seed: session.seed,
        processes: 2,
        puts: 30,
        readers: 1,
        kill_percent: 0,
        maintenance: false,
    };
    let (caught, lines) = liar::all_caught(&LIES, |mode, breaches| {
        torture(plan, &liar::kapsa(&liar, &session.program, mode), breaches).map(drop)
    })?;
    Ok(session.end(caught, &lines.join("\n"), json!({"self_test": lines})))
}
