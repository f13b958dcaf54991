//! `cargo xtask soak`: many clients call a served memory for long, over pipes and over HTTP, and
//! clients and the server are killed on the way. No acknowledged write may be lost, and the
//! server's memory may not grow.

use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use serde_json::{Value, json};

use crate::harness::args::{Opt, Parsed, parse};
use crate::harness::session::Session;

const USAGE: &str = "usage: cargo xtask soak [OPTION...]

Serves a new memory over HTTP, and lets half of the clients call it; the others start servers of their own over pipes. One
call in ten writes, the rest search. Clients and the server are killed now and then and start again; at the end every
acknowledged write must be there, and in the server's longest life its own memory (without the pages of the capsule) may have grown by
5% at most from the first half to the second.

Needs Linux and python3.";

const OPTIONS: [Opt; 4] = [
    Opt::value("--calls", "N", "200000", "Calls of all clients together"),
    Opt::value("--clients", "N", "8", "Clients at once"),
    Opt::value(
        "--kills",
        "N",
        "5",
        "Kills: of 1,000 calls over pipes, and of 500 looks at the server",
    ),
    Opt::value("--port", "N", "8791", "Port of the server"),
];
const CLIENTS: &str = include_str!("../peers/mcp_soak.py");
/// By how much the memory may have grown from the first half of a life to the second.
const GROWTH_MAX: f64 = 1.05;

/// Runs the command.
pub(crate) fn run(repository: &Path, args: &[String]) -> Result<ExitCode, String> {
    let chosen = match parse(USAGE, &OPTIONS, args)? {
        Parsed::Help(text) => {
            println!("{text}");
            return Ok(ExitCode::SUCCESS);
        }
        Parsed::Run(chosen) => chosen,
    };
    let told = json!({
        "calls": chosen.number("--calls", 1..=100_000_000)?,
        "clients": chosen.number("--clients", 1..=1000)?,
        "kills": chosen.number("--kills", 0..=500)?,
        "port": chosen.number("--port", 1..=65_535)?,
    });
    let session = Session::begin("soak", repository, &chosen)?;
    let folder = session.path("memory");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let made = Command::new(&session.program).arg("init").current_dir(&folder).status();
    if !made.map_err(|error| error.to_string())?.success() {
        return Err("kapsa init failed".to_owned());
    }
    let clients = session.path("clients.py");
    std::fs::write(&clients, CLIENTS).map_err(|error| error.to_string())?;
    let mut told = told;
    told["program"] = json!(session.program);
    told["folder"] = json!(folder);
    let report = called(&clients, &told)?;
    let number = |name: &str| report[name].as_f64().unwrap_or_default();
    let (first, second) = (number("resident_kib_first_half"), number("resident_kib_second_half"));
    let is_flat = second <= first * GROWTH_MAX;
    let lost = number("lost");
    let people = format!(
        "{} of {} calls answered, {} writes acknowledged, {lost} lost, {} lives of the server\n\
         resident: {first} KiB, then {second} KiB\nms: p50 {}, p99 {}",
        report["answered"],
        report["calls"],
        report["acknowledged"],
        report["lives"],
        report["ms_p50"],
        report["ms_p99"],
    );
    Ok(session.end(lost == 0.0 && is_flat, &people, report))
}

/// Runs the clients to their end.
fn called(clients: &Path, told: &Value) -> Result<Value, String> {
    let mut child = Command::new("python3")
        .arg(clients)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start python3: {error}"))?;
    let mut input = child.stdin.take().ok_or("no pipe")?;
    writeln!(input, "{told}").map_err(|error| error.to_string())?;
    drop(input);
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout).map_err(|error| format!("the clients failed: {error}"))
}
