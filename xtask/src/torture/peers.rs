//! The same puts on other stores. Each system is used as its documentation says; only what it
//! acknowledged and does not have afterwards counts as lost.

mod table;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use super::stage::Plan;
use super::torture;
use crate::harness::breach::{Breach, Breaches};
use crate::harness::kapsa::Kapsa;
use crate::harness::session::Session;
use crate::harness::{binary, process, sys};
pub(super) use table::Table;
use table::{Counts, Row};

/// What the processes of one round may take together.
const ROUND_MAX: Duration = Duration::from_secs(600);

/// A system that is compared.
struct Peer {
    name: &'static str,
    /// How a put reaches it.
    way: &'static str,
    script: &'static str,
    python: PathBuf,
    variables: Vec<(&'static str, PathBuf)>,
}

/// Puts as `plan` says, `rounds` times on every system in turn.
pub(super) fn compare(
    repository: &Path,
    session: &Session,
    plan: Plan,
    rounds: u64,
    breaches: &Breaches,
) -> Result<Table, String> {
    let plan = Plan { readers: 0, kill_percent: 0, maintenance: false, ..plan };
    let (peers, mut skipped) = prepare(repository);
    let mut kapsa = Row::new("kapsa", session.version.clone(), "a process each");
    let mut rows: Vec<Row> = Vec::new();
    let mut tried = Vec::new();
    for peer in &peers {
        match peer.version(repository) {
            Ok(version) => {
                rows.push(Row::new(peer.name, version, peer.way));
                tried.push(peer);
            }
            Err(reason) => skipped.push((peer.name.to_owned(), reason)),
        }
    }
    for round in 0..rounds {
        kapsa.add(kapsa_round(session, plan, round, breaches)?);
        for (peer, row) in tried.iter().zip(&mut rows) {
            sys::go_on()?;
            eprintln!("round {} of {rounds}: {}", round + 1, peer.name);
            let folder = session.path(&format!("{}-{round}", peer.name.replace(' ', "-")));
            fs::create_dir(&folder)
                .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
            row.add(peer.round(repository, &folder.join("store"), plan)?);
        }
    }
    rows.insert(0, kapsa);
    Ok(Table { rows, skipped, processes: plan.processes, puts: plan.puts, rounds })
}

fn kapsa_round(
    session: &Session,
    plan: Plan,
    round: u64,
    breaches: &Breaches,
) -> Result<Counts, String> {
    let broken = || [Breach::Doubled, Breach::WriteFailed].map(|breach| breaches.count(breach));
    let before = broken();
    let outcome = torture(
        plan,
        &Kapsa::new(&session.program, &session.path(&format!("peer-{round}.kapsa"))),
        breaches,
    )?;
    let [doubled, failed] = broken();
    let acknowledged: u64 = outcome.workers.iter().map(|worked| worked.acknowledged).sum();
    Ok(Counts {
        acknowledged,
        kept: outcome.checked.kept,
        lost: acknowledged.saturating_sub(outcome.checked.kept),
        doubled: doubled - before[0],
        refused: outcome.workers.iter().map(|worked| worked.refused).sum(),
        failed: failed - before[1],
        wall: outcome.wall,
        note: None,
    })
}

/// Installs what can be, into a folder below cargo's, so that the next run finds it. Returns what
/// can be tried and what not.
fn prepare(repository: &Path) -> (Vec<Peer>, Vec<(String, String)>) {
    let folder = binary::target(repository).join("peers");
    let python = PathBuf::from("python3");
    let sqlite = |name, mode: &str| Peer {
        name,
        way: "a connection each, in a running Python",
        script: "sqlite.py",
        python: python.clone(),
        variables: vec![("JOURNAL_MODE", PathBuf::from(mode))],
    };
    let mut peers = vec![sqlite("SQLite WAL", "wal"), sqlite("SQLite rollback journal", "delete")];
    let mut skipped = Vec::new();
    match install_memory_server(&folder.join("npm")) {
        Ok(server) => peers.push(Peer {
            name: "server-memory",
            way: "a call each, to a running server a writer",
            script: "memory_server.py",
            python,
            variables: vec![("SERVER_FOLDER", server)],
        }),
        Err(reason) => skipped.push(("server-memory".to_owned(), reason)),
    }
    match install_memvid(&folder.join("venv")) {
        Ok(python) => peers.push(Peer {
            name: "memvid",
            way: "open, put, close each, in a running Python",
            script: "memvid.py",
            python,
            variables: vec![
                ("MEMVID_OFFLINE", PathBuf::from("1")),
                ("MEMVID_TELEMETRY", PathBuf::from("0")),
            ],
        }),
        Err(reason) => skipped.push(("memvid".to_owned(), reason)),
    }
    (peers, skipped)
}

fn install_memory_server(folder: &Path) -> Result<PathBuf, String> {
    const PACKAGE: &str = "@modelcontextprotocol/server-memory";
    if !folder.join("node_modules").join(PACKAGE).is_dir() {
        eprintln!("installing {PACKAGE}");
        fs::create_dir_all(folder)
            .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        finish(
            Command::new("npm")
                .args(["install", "--silent", "--no-fund", "--no-audit", "--prefix"])
                .arg(folder)
                .arg(PACKAGE),
        )?;
    }
    Ok(folder.to_path_buf())
}

fn install_memvid(folder: &Path) -> Result<PathBuf, String> {
    let python = folder.join("bin").join("python");
    if finish(Command::new(&python).args(["-c", "import memvid_sdk"])).is_err() {
        eprintln!("installing memvid-sdk");
        finish(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
        finish(Command::new(&python).args(["-m", "pip", "install", "--quiet", "memvid-sdk"]))?;
    }
    Ok(python)
}

/// Runs a command to its end; the error holds the end of what it said.
fn finish(command: &mut Command) -> Result<Output, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run {name}: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "{name} failed ({}): {}",
        output.status,
        said.trim().lines().next_back().unwrap_or_default()
    ))
}

impl Peer {
    fn command(&self, repository: &Path, args: &[&str]) -> Command {
        let mut command = process::command(&self.python);
        command.arg(repository.join("xtask").join("peers").join(self.script)).args(args);
        command
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    fn version(&self, repository: &Path) -> Result<String, String> {
        let output = finish(&mut self.command(repository, &["version"]))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Lets all writers put at the same time, and reads back what there is.
    fn round(&self, repository: &Path, store: &Path, plan: Plan) -> Result<Counts, String> {
        let store = store.to_str().ok_or("the temporary folder's name is not UTF-8")?;
        finish(&mut self.command(repository, &["init", store]))?;
        let mut writers = Vec::new();
        for worker in 0..plan.processes {
            let mut command = self.command(
                repository,
                &["write", store, &worker.to_string(), &plan.puts.to_string()],
            );
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
            writers.push(Writer(
                command.spawn().map_err(|error| format!("cannot start {}: {error}", self.name))?,
            ));
        }
        let (lines, wall) = write_together(&mut writers)?;
        let there = finish(&mut self.command(repository, &["read", store]));
        Ok(count(&lines, there, wall))
    }
}

/// A writing process, ended when it is dropped.
struct Writer(Child);

impl Drop for Writer {
    fn drop(&mut self) {
        // It has ended by itself when these fail.
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// Waits until every writer is ready, lets them go, and returns what they said and how long they
/// took.
fn write_together(writers: &mut [Writer]) -> Result<(Vec<String>, Duration), String> {
    let mut outputs = Vec::new();
    for Writer(child) in writers.iter_mut() {
        let mut output = BufReader::new(child.stdout.take().expect("it was started with a pipe"));
        let mut line = String::new();
        let read = output.read_line(&mut line);
        if read.is_err() || line.trim() != "ready" {
            return Err(format!("a writer does not start: {line:?}"));
        }
        outputs.push(output);
    }
    let start = Instant::now();
    for Writer(child) in writers.iter_mut() {
        let sent = child.stdin.as_mut().expect("it was started with a pipe").write_all(b"go\n");
        sent.map_err(|error| format!("a writer does not listen: {error}"))?;
    }
    let lines = thread::scope(|scope| {
        let readers: Vec<_> = outputs
            .into_iter()
            .map(|output| {
                scope.spawn(move || output.lines().map_while(Result::ok).collect::<Vec<_>>())
            })
            .collect();
        while readers.iter().any(|reader| !reader.is_finished()) {
            thread::sleep(Duration::from_millis(1));
            if sys::interrupted() || start.elapsed() > ROUND_MAX {
                // They end when this fails.
                writers.iter_mut().for_each(|Writer(child)| drop(child.kill()));
            }
        }
        let wall = start.elapsed();
        let lines: Vec<String> = readers.into_iter().flat_map(super::joined).collect();
        (lines, wall)
    });
    sys::go_on()?;
    Ok(lines)
}

/// Compares what was acknowledged to the writers with what is there.
fn count(lines: &[String], there: Result<Output, String>, wall: Duration) -> Counts {
    let names = |word: &str| {
        let of = |line: &String| {
            line.strip_prefix(word)
                .and_then(|rest| rest.split_whitespace().next())
                .map(str::to_owned)
        };
        lines.iter().filter_map(of).collect::<Vec<_>>()
    };
    let (output, unreadable) = match there {
        Ok(output) => (String::from_utf8_lossy(&output.stdout).into_owned(), None),
        Err(reason) => (String::new(), Some(format!("unreadable at the end: {reason}"))),
    };
    let mut have: HashMap<&str, u64> = HashMap::new();
    for name in output.lines().filter_map(|line| line.strip_prefix("have ")) {
        *have.entry(name).or_default() += 1;
    }
    let acknowledged = names("acknowledged ");
    let kept = acknowledged.iter().filter(|name| have.contains_key(name.as_str())).count() as u64;
    let failure = lines.iter().find(|line| line.starts_with("failed ")).cloned();
    Counts {
        acknowledged: acknowledged.len() as u64,
        kept,
        lost: acknowledged.len() as u64 - kept,
        doubled: have.values().filter(|count| **count > 1).count() as u64,
        refused: names("refused ").len() as u64,
        failed: names("failed ").len() as u64,
        wall,
        note: unreadable.or(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_counted_by_what_they_said() {
        let lines =
            ["acknowledged w0/0", "acknowledged w0/1", "refused w0/2", "failed w0/3 OSError: x"]
                .map(str::to_owned);
        let output = Command::new("printf").arg("have w0/0\\nhave w0/0\\nhave w0/3\\n").output();
        let counts =
            count(&lines, output.map_err(|error| error.to_string()), Duration::from_secs(1));
        assert_eq!((counts.acknowledged, counts.kept, counts.lost, counts.doubled), (2, 1, 1, 1));
        assert_eq!((counts.refused, counts.failed), (1, 1));
        assert!(counts.note.is_some_and(|note| note.contains("OSError")));
    }

    #[test]
    fn what_cannot_be_read_is_lost() {
        let counts = count(
            &["acknowledged w0/0".to_owned()],
            Err("broken".to_owned()),
            Duration::from_secs(1),
        );
        assert_eq!((counts.kept, counts.lost), (0, 1));
        assert!(counts.note.is_some_and(|note| note.contains("unreadable")));
    }
}
