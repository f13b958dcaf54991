//! The checks that take too long for every change: what they are, and one command that runs them.

use std::env;
use std::process::Command;

/// A check that runs on a schedule.
struct Scheduled {
    name: &'static str,
    about: &'static str,
    /// What `cargo xtask` is called with.
    call: &'static [&'static str],
}

const SCHEDULED: [Scheduled; 15] = [
    Scheduled {
        name: "deny",
        about: "licences, sources, bans and advisories of dependencies",
        call: &["deny"],
    },
    Scheduled {
        name: "conformance",
        about: "the official suite for MCP servers; needs npm",
        call: &["conformance"],
    },
    Scheduled {
        name: "memvid",
        about: "files exchanged with the SDKs of Memvid; needs python3, node and npm",
        call: &["peers", "memvid"],
    },
    Scheduled {
        name: "oldest",
        about: "the program with the oldest compiler that is supported",
        call: &["oldest"],
    },
    Scheduled {
        name: "fuzz",
        about: "every fuzz target for ten minutes",
        call: &["fuzz", "--seconds", "600"],
    },
    Scheduled {
        name: "mutants",
        about: "mutations of the capsule that no test notices",
        call: &["mutants"],
    },
    Scheduled {
        name: "soak",
        about: "many processes on one capsule",
        call: &["torture", "--puts", "2000"],
    },
    Scheduled {
        name: "served",
        about: "200,000 calls of a served memory, with kills",
        call: &["soak"],
    },
    Scheduled { name: "kill", about: "10,000 killed writers", call: &["kill", "--kills", "10000"] },
    Scheduled {
        name: "odd",
        about: "20,000 strange calls",
        call: &["odd", "--calls", "20000", "--seconds", "1800"],
    },
    Scheduled {
        name: "attack",
        about: "20,000 calls by principals with little clearance",
        call: &["attack"],
    },
    Scheduled {
        name: "powercut",
        about: "1,000 power cuts",
        call: &["powercut", "--cuts", "1000"],
    },
    Scheduled { name: "bench", about: "time and size, beside a bare append", call: &["bench"] },
    Scheduled { name: "recall", about: "how well answers are found", call: &["recall"] },
    Scheduled { name: "extract", about: "what is kept of sessions", call: &["extract"] },
];

/// Runs the checks that `args` name, each of them for `all`; lists them where nothing is named.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let named =
        |scheduled: &&Scheduled| args.iter().any(|arg| arg == scheduled.name || arg == "all");
    if let Some(unknown) =
        args.iter().find(|arg| *arg != "all" && !SCHEDULED.iter().any(|check| check.name == **arg))
    {
        return Err(format!("no scheduled check is called {unknown}\n{}", list()));
    }
    if args.is_empty() {
        println!("{}", list());
        return Ok(());
    }
    let failed: Vec<&str> = SCHEDULED
        .iter()
        .filter(named)
        .filter(|check| !passes(check))
        .map(|check| check.name)
        .collect();
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}

fn list() -> String {
    let line = |check: &Scheduled| {
        format!("  {:<9} {} (cargo xtask {})", check.name, check.about, check.call.join(" "))
    };
    let lines: Vec<String> = SCHEDULED.iter().map(line).collect();
    format!("usage: cargo xtask scheduled all | NAME...\n\n{}", lines.join("\n"))
}

/// Runs one check as a process of its own, so that one that breaks down does not end the others.
fn passes(check: &Scheduled) -> bool {
    println!("== {}: {}", check.name, check.about);
    let program = env::current_exe().map(Command::new);
    let status = program.and_then(|mut program| program.args(check.call).status());
    status.is_ok_and(|status| status.success())
}
