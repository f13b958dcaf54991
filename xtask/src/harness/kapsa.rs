//! The program under test: each verb as a process of its own, its answer read as a program reads
//! it.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::process::{self, Kill, Run};

/// What the program puts before the names it is given.
const URI_PREFIX: &str = "mv2://default/";
/// More records than any run makes.
const LIMIT: &str = "1000000000";
/// Code of the refusal because another writer holds the lock.
const LOCKED: &str = "locked_by_writer";
/// Code of the refusal because the file was compacted under a writer that had it open: it asks to
/// be called again.
const REPLACED: &str = "replaced";

/// The program, and the capsule it is tried on.
#[derive(Clone)]
pub(crate) struct Kapsa {
    /// The program and what runs it, such as a tracer.
    command_line: Vec<OsString>,
    variables: Vec<(&'static str, OsString)>,
    capsule: PathBuf,
    lock_timeout: Option<u64>,
}

/// Why the program did not do what it was asked.
#[derive(Debug)]
struct Failure {
    code: String,
    message: String,
}

/// How a call ended.
enum Answer {
    Done(Vec<Value>),
    Failed(Failure),
    /// It was killed; this much of its answer had been read.
    Killed(Vec<Value>),
}

/// What came of a put.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Put {
    /// Acknowledged. `added` is false when it became a new revision of something that was there.
    Stored {
        /// Its place in the order of all records.
        sequence: u64,
        /// Whether its name was new.
        added: bool,
    },
    /// Another writer held the lock for too long.
    Refused,
    /// It was killed before it answered.
    Killed,
    /// It failed.
    Failed(String),
}

/// What came of a bulk put.
pub(crate) struct PutMany {
    /// Names and sequences that were acknowledged, one by one.
    pub(crate) acknowledged: Vec<(String, u64)>,
    pub(crate) ended: Ended,
}

/// How a bulk put ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Done,
    Killed,
    Failed(String),
}

/// What `get` says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Got {
    /// The newest revision.
    Record(Listed),
    /// There is none.
    Absent,
    /// It failed.
    Failed(String),
}

/// One record as a reader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) uri: String,
    pub(crate) sequence: u64,
    pub(crate) text: String,
}

/// What came of `optimize` or `compact`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Maintained {
    Done,
    /// A writer held the lock for too long.
    Refused,
    /// A compaction exchanged the file meanwhile.
    Overtaken,
    Killed,
    Failed(String),
}

/// Counts that `stats` reports.
pub(crate) struct Stats {
    pub(crate) records: u64,
    pub(crate) torn_bytes: u64,
}

impl Kapsa {
    pub(crate) fn new(program: &Path, capsule: &Path) -> Kapsa {
        let (command_line, capsule) = (vec![program.as_os_str().to_owned()], capsule.to_path_buf());
        Kapsa { command_line, variables: Vec::new(), capsule, lock_timeout: None }
    }

    /// The same with a variable of the environment set.
    pub(crate) fn with_variable(mut self, name: &'static str, value: impl Into<OsString>) -> Kapsa {
        self.variables.push((name, value.into()));
        self
    }

    /// The same run by another program, such as a tracer.
    pub(crate) fn run_by(mut self, words: &[&str]) -> Kapsa {
        self.command_line.splice(0..0, words.iter().map(OsString::from));
        self
    }

    /// The same, waiting at most so many seconds for another writer.
    pub(crate) fn waiting(&self, seconds: u64) -> Kapsa {
        Kapsa { lock_timeout: Some(seconds), ..self.clone() }
    }

    pub(crate) fn capsule(&self) -> &Path {
        &self.capsule
    }

    /// The command for a verb, not started.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let (program, before) =
            self.command_line.split_first().expect("there is a program in every command line");
        let mut command = process::command(program);
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("KAPSA_"))
        {
            command.env_remove(name);
        }
        // These runs are about records; vectors can be made again.
        command
            .env("KAPSA_EMBED", "later")
            .args(before)
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.arg("--capsule").arg(&self.capsule).arg("--json");
        if let Some(seconds) = self.lock_timeout {
            command.args(["--lock-timeout", &seconds.to_string()]);
        }
        command.args(args);
        command
    }

    fn call(&self, args: &[&str], kill: Option<Kill>) -> (Answer, Duration) {
        self.call_on(args, Stdio::null(), kill)
    }

    fn call_on(&self, args: &[&str], input: Stdio, kill: Option<Kill>) -> (Answer, Duration) {
        match process::run(self.command(args), input, kill.as_ref()) {
            Ok(run) => (answer(&run), run.took),
            Err(error) => (failed("start", error.to_string()), Duration::ZERO),
        }
    }

    /// One JSON value, or what went wrong.
    fn ask(&self, args: &[&str]) -> Result<Value, String> {
        match self.call(args, None).0 {
            Answer::Done(mut values) if values.len() == 1 => Ok(values.remove(0)),
            Answer::Done(values) => Err(format!("{} answered {} values", args[0], values.len())),
            Answer::Failed(failure) => {
                Err(format!("{}: {}: {}", args[0], failure.code, failure.message))
            }
            Answer::Killed(_) => Err(format!("{} was killed", args[0])),
        }
    }

    /// Makes the capsule.
    pub(crate) fn create(&self) -> Result<(), String> {
        let path = self.capsule.to_str().ok_or("the temporary folder's name is not UTF-8")?;
        self.ask(&["create", path]).map(drop)
    }

    /// Puts one text under a name. Returns what came of it, and how long that took.
    pub(crate) fn put(&self, uri: &str, text: &str, kill: Option<Kill>) -> (Put, Duration) {
        let (answer, took) = self.call(&["put", "--uri", uri, "--text", text], kill);
        let put = match answer {
            Answer::Done(values) => values
                .first()
                .and_then(stored)
                .unwrap_or_else(|| Put::Failed("no answer".to_owned())),
            // An answer that was read before the kill is an acknowledgement like any other.
            Answer::Killed(values) => values.first().and_then(stored).unwrap_or(Put::Killed),
            Answer::Failed(failure) if failure.code == LOCKED => Put::Refused,
            Answer::Failed(failure) => {
                Put::Failed(format!("{}: {}", failure.code, failure.message))
            }
        };
        (put, took)
    }

    /// Puts records, one JSON object a line in `input`, `batch` to a commit.
    pub(crate) fn put_many(
        &self,
        input: File,
        batch: usize,
        kill: Option<Kill>,
    ) -> (PutMany, Duration) {
        let (answer, took) = self.call_on(
            &["put", "--each", "--batch", &batch.to_string(), "-"],
            input.into(),
            kill,
        );
        let acknowledged = |values: Vec<Value>| values.iter().filter_map(acknowledged).collect();
        let put = match answer {
            Answer::Done(values) => {
                PutMany { acknowledged: acknowledged(values), ended: Ended::Done }
            }
            Answer::Killed(values) => {
                PutMany { acknowledged: acknowledged(values), ended: Ended::Killed }
            }
            Answer::Failed(failure) => {
                let message = format!("put -: {}: {}", failure.code, failure.message);
                PutMany { acknowledged: Vec::new(), ended: Ended::Failed(message) }
            }
        };
        (put, took)
    }

    pub(crate) fn get(&self, uri: &str) -> Got {
        match self.call(&["get", uri], None).0 {
            Answer::Done(values) => match values.first().and_then(listed) {
                Some(record) => Got::Record(record),
                None => Got::Failed(format!("get {uri} answered no record")),
            },
            Answer::Failed(failure) if failure.code == "uri_not_found" => Got::Absent,
            Answer::Failed(failure) => {
                Got::Failed(format!("get {uri}: {}: {}", failure.code, failure.message))
            }
            Answer::Killed(_) => Got::Failed(format!("get {uri} was killed")),
        }
    }

    pub(crate) fn stats(&self) -> Result<Stats, String> {
        let value = self.ask(&["stats"])?;
        let number =
            |name: &str| value[name].as_u64().ok_or_else(|| format!("stats reports no {name}"));
        Ok(Stats { records: number("record_count")?, torn_bytes: number("torn_bytes")? })
    }

    /// Every live record, in order.
    pub(crate) fn listing(&self) -> Result<Vec<Listed>, String> {
        records(&self.ask(&["timeline", "--limit", LIMIT])?)
    }

    /// The newest records, newest first.
    pub(crate) fn newest(&self, limit: u64) -> Result<Vec<Listed>, String> {
        records(&self.ask(&["timeline", "--reverse", "--limit", &limit.to_string()])?)
    }

    /// How many revisions of a name there are.
    pub(crate) fn revisions(&self, uri: &str) -> Result<usize, String> {
        records(&self.ask(&["history", uri])?).map(|records| records.len())
    }

    /// The names of the records that hold the words, best first.
    pub(crate) fn find(&self, words: &str) -> Result<Vec<String>, String> {
        let value = self.ask(&["find", words])?;
        let hits = value["hits"].as_array().ok_or("find returns no hits")?;
        hits.iter().map(|hit| Ok(short(hit["uri"].as_str().ok_or("a hit has no uri")?))).collect()
    }

    /// Fails with the first problems when anything is damaged.
    pub(crate) fn verify(&self) -> Result<(), String> {
        let value = self.ask(&["verify"])?;
        let clean = value["ok"] == Value::Bool(true)
            && value["problems"].as_array().is_some_and(Vec::is_empty);
        if clean { Ok(()) } else { Err(format!("verify: {}", value["problems"])) }
    }

    /// Runs `optimize` or `compact`, with options behind it.
    pub(crate) fn maintain(&self, verb: &str, kill: Option<Kill>) -> (Maintained, Duration) {
        let words: Vec<&str> = verb.split(' ').collect();
        let (answer, took) = self.call(&words, kill);
        let maintained = match answer {
            Answer::Done(_) => Maintained::Done,
            Answer::Killed(_) => Maintained::Killed,
            Answer::Failed(failure) if failure.code == LOCKED => Maintained::Refused,
            Answer::Failed(failure) if failure.code == REPLACED => Maintained::Overtaken,
            Answer::Failed(failure) => {
                Maintained::Failed(format!("{verb}: {}: {}", failure.code, failure.message))
            }
        };
        (maintained, took)
    }
}

fn failed(code: &str, message: String) -> Answer {
    Answer::Failed(Failure { code: code.to_owned(), message })
}

fn answer(run: &Run) -> Answer {
    if run.killed {
        return Answer::Killed(values(&run.output.stdout));
    }
    if run.output.status.success() {
        return Answer::Done(values(&run.output.stdout));
    }
    Answer::Failed(failure(&run.output))
}

fn failure(output: &Output) -> Failure {
    let answer: Option<Value> = serde_json::from_slice(&output.stderr).ok();
    let error = answer.as_ref().map(|value| &value["error"]);
    let text = |name: &str| error.and_then(|error| error[name].as_str()).map(str::to_owned);
    match text("code") {
        Some(code) => Failure { code, message: text("message").unwrap_or_default() },
        // `verify` reports damage as its answer.
        None => {
            let said = [&output.stdout, &output.stderr]
                .map(|bytes| String::from_utf8_lossy(bytes).trim().to_owned());
            Failure {
                code: output.status.to_string(),
                message: said.join(" ").chars().take(500).collect(),
            }
        }
    }
}

/// The JSON values of all whole lines.
pub(crate) fn values(stdout: &[u8]) -> Vec<Value> {
    let whole = stdout.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let lines = stdout[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// The name as it was given.
fn short(uri: &str) -> String {
    uri.strip_prefix(URI_PREFIX).unwrap_or(uri).to_owned()
}

fn stored(value: &Value) -> Option<Put> {
    Some(Put::Stored { sequence: value["sequence"].as_u64()?, added: value["change"] == "added" })
}

/// The name and the sequence that a line of `put --each` acknowledges.
pub(crate) fn acknowledged(value: &Value) -> Option<(String, u64)> {
    Some((short(value["uri"].as_str()?), value["sequence"].as_u64()?))
}

/// A record as a line of a bulk put.
pub(crate) fn line(uri: &str, text: &str) -> String {
    format!("{}\n", serde_json::json!({"uri": uri, "text": text}))
}

fn listed(value: &Value) -> Option<Listed> {
    let uri = short(value["uri"].as_str()?);
    Some(Listed {
        uri,
        sequence: value["sequence"].as_u64()?,
        text: value["text"].as_str()?.to_owned(),
    })
}

fn records(value: &Value) -> Result<Vec<Listed>, String> {
    let records = value["records"].as_array().ok_or("the answer has no records")?;
    records
        .iter()
        .map(|record| listed(record).ok_or_else(|| format!("not a record: {record}")))
        .collect()
}

/// Records by name; the second of two with one name is an error.
pub(crate) fn by_name(listing: Vec<Listed>) -> Result<HashMap<String, Listed>, String> {
    let mut map = HashMap::with_capacity(listing.len());
    for record in listing {
        if let Some(first) = map.insert(record.uri.clone(), record) {
            return Err(format!("{} is listed twice", first.uri));
        }
    }
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_are_answers() {
        let check = |stdout: &str, expected: usize| {
            assert_eq!(values(stdout.as_bytes()).len(), expected, "{stdout:?}")
        };
        check("{\"sequence\":1}\n{\"sequence\":2}\n", 2);
        check("{\"sequence\":1}\n{\"sequence\":2}", 1);
        check("{\"sequence\":1}", 0);
        check("", 0);
    }

    #[test]
    fn acknowledgements_are_read() {
        let value =
            serde_json::json!({"uri": "mv2://default/w1/2", "sequence": 7, "change": "added"});
        assert_eq!(stored(&value), Some(Put::Stored { sequence: 7, added: true }));
        assert_eq!(acknowledged(&value), Some(("w1/2".to_owned(), 7)));
        assert_eq!(stored(&serde_json::json!({"change": "added"})), None);
    }

    #[test]
    fn a_name_listed_twice_is_an_error() {
        let record = Listed { uri: "w1/1".to_owned(), sequence: 1, text: String::new() };
        assert!(by_name(vec![record.clone()]).is_ok());
        assert!(by_name(vec![record.clone(), record]).is_err());
    }
}
