//! Makes the calls, one after the other, and judges how each ends.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::call::Call;
use crate::harness::process::{self, Kill, Run};
use crate::harness::progress::Progress;
use crate::harness::random::Random;
use crate::harness::sys;
use crate::harness::tree::Verb;

/// A call that takes longer is taken to hang.
const LONGEST_CALL: Duration = Duration::from_secs(60);
/// Calls on one capsule, before it is verified and another one is taken.
const CALLS_PER_CAPSULE: u64 = 40;
/// Exit codes of the program: done, the caller's mistake, the system's or the file's fault.
const CODES: [i32; 3] = [0, 1, 2];
/// Verbs that answer in a form of their own, whatever `--json` says.
const OWN_FORM: [&str; 4] = ["svc", "shell", "man", "completions"];
/// Verbs whose exit code is a part of the answer.
const ANSWERS_BY_CODE: [&str; 5] = ["doctor", "verify", "replay", "role", "salvage"];
/// Broken promises after which the run ends.
const BROKEN_MAX: usize = 20;
/// Bytes of what a call printed that are repeated.
const SHOWN_BYTES: usize = 600;

/// How many calls ended how.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Endings {
    pub(super) calls: u64,
    pub(super) answered: u64,
    /// The caller's mistake.
    pub(super) refused: u64,
    /// Anything else.
    pub(super) failed: u64,
}

/// A run of many calls.
pub(super) struct OddRun<'a> {
    program: &'a Path,
    folder: PathBuf,
    random: Random,
    verbs: &'a [Verb],
    counts: Endings,
    broken: Vec<String>,
}

impl<'a> OddRun<'a> {
    /// A campaign in `folder`, whose calls cannot lead out of it.
    pub(super) fn new(
        program: &'a Path,
        folder: &Path,
        seed: u64,
        verbs: &'a [Verb],
    ) -> Result<OddRun<'a>, String> {
        let folder = folder.join("a/b/c");
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let (random, counts, broken) = (Random::new(seed, "odd"), Endings::default(), Vec::new());
        Ok(OddRun { program, folder, random, verbs, counts, broken })
    }

    pub(super) fn counts(&self) -> Endings {
        self.counts
    }

    pub(super) fn broken(&self) -> &[String] {
        &self.broken
    }

    /// Makes so many calls, or as many as there is time for.
    pub(super) fn run(&mut self, calls: u64, longest: Duration) -> Result<(), String> {
        let (start, mut progress) = (Instant::now(), Progress::new());
        while self.counts.calls < calls
            && start.elapsed() < longest
            && self.broken.len() < BROKEN_MAX
        {
            if self.counts.calls.is_multiple_of(CALLS_PER_CAPSULE) {
                self.fresh()?;
            }
            let call = Call::random(&mut self.random, self.verbs);
            self.judge(&call)?;
            self.counts.calls += 1;
            if (self.counts.calls + 1).is_multiple_of(CALLS_PER_CAPSULE) {
                self.verify()?;
            }
            sys::go_on()?;
            progress.show(|| format!("{} of {calls} calls", self.counts.calls));
        }
        Ok(())
    }

    fn capsule(&self) -> PathBuf {
        self.folder.join(".kapsa/workspace.kapsa")
    }

    /// Begins anew with a capsule that has something of most things.
    fn fresh(&self) -> Result<(), String> {
        let failed = |error: std::io::Error| error.to_string();
        fs::remove_dir_all(&self.folder).map_err(failed)?;
        fs::create_dir_all(self.folder.join("notes")).map_err(failed)?;
        for file in ["lantern.md", "notes/harbour.md"] {
            fs::write(self.folder.join(file), "# A harbour\n\nwith a lantern\n").map_err(failed)?;
        }
        let calls: [&[&str]; 10] = [
            &["init"],
            &["put", "--uri", "note/1", "--text", "the harbour"],
            &["put", "--uri", "note/2", "--text", "a lantern", "--run", "17"],
            &["put", "--uri", "note/1", "--text", "the harbour at night"],
            &["branch", "create", "work"],
            &["put", "--branch", "work", "--uri", "note/3", "--text", "on a branch"],
            &["fact", "add", "Acme pays late", "--id", "fact", "--compare", "none"],
            &["clearance", "set", "cro", "sales=internal"],
            &["run", "start", "--run", "17", "--strict"],
            &["clone", "other.kapsa"],
        ];
        for words in calls {
            let words = words.iter().map(Into::into).collect();
            let call = Call { words, input: Vec::new(), json: true };
            let run = self.call(&call)?;
            if !run.output.status.success() {
                return Err(format!("{}: {}", call.typed(), shown(&run.output)));
            }
        }
        Ok(())
    }

    fn call(&self, call: &Call) -> Result<Run, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", call.typed());
        let input = self.folder.join("../input");
        fs::write(&input, &call.input).map_err(failed)?;
        let mut command = process::command(self.program);
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("KAPSA_"))
        {
            command.env_remove(name);
        }
        command
            .current_dir(&self.folder)
            .env("HOME", &self.folder)
            .env("KAPSA_MODELS", self.folder.join("models"))
            .env("KAPSA_PASSPHRASE", "a passphrase")
            .env("EDITOR", "true")
            .env("VISUAL", "true")
            .args(&call.words);
        let input = File::open(&input).map_err(failed)?;
        process::run(command, input.into(), Some(&Kill::After(LONGEST_CALL))).map_err(failed)
    }

    fn judge(&mut self, call: &Call) -> Result<(), String> {
        let before = fs::read(self.capsule()).ok();
        let run = self.call(call)?;
        let has_changed = fs::read(self.capsule()).ok() != before;
        match run.output.status.code() {
            Some(0) => self.counts.answered += 1,
            Some(1) => self.counts.refused += 1,
            _ => self.counts.failed += 1,
        }
        if let Some(why) = broken(call, &run, has_changed) {
            let message = format!("{why}: {}\n    {}", call.typed(), shown(&run.output));
            eprintln!("BROKEN {message}");
            self.broken.push(message);
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), String> {
        let words = ["--json".into(), "verify".into(), "--capsule".into(), self.capsule().into()];
        let call = Call { words: words.to_vec(), input: Vec::new(), json: true };
        // A capsule may have been moved away.
        if self.capsule().exists() {
            self.judge(&call)?;
        }
        Ok(())
    }
}

/// What promise a call broke, if it broke one.
fn broken(call: &Call, run: &Run, has_changed: bool) -> Option<String> {
    if run.killed {
        return Some("it ran for a minute".to_owned());
    }
    let Output { status, stdout, stderr } = &run.output;
    let Some(code) = status.code() else { return Some(format!("it ended by {status}")) };
    if !CODES.contains(&code) {
        return Some(format!("exit code {code}"));
    }
    let said = [stdout, stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    if said.iter().any(|text| text.contains("panicked at") || text.contains("RUST_BACKTRACE")) {
        return Some("it panicked".to_owned());
    }
    let is_verb = |names: &[&str]| {
        call.words.iter().take(2).any(|word| names.iter().any(|name| word == name))
    };
    if !call.json || is_verb(&OWN_FORM) {
        return None;
    }
    let answers = lines(stdout);
    if code == 0 || is_verb(&ANSWERS_BY_CODE) && !stdout.is_empty() {
        return answers.is_none().then(|| "its answer is not JSON".to_owned());
    }
    let error = lines(stderr).and_then(|mut values| values.pop());
    let Some(error) = error.filter(|error| error["error"]["code"].is_string()) else {
        return Some("its error is not JSON".to_owned());
    };
    if answers.is_none() {
        return Some("what it printed before its error is not JSON".to_owned());
    }
    // Who was denied what is noted in the capsule, and nothing else of the call is.
    let is_said = error["error"]["stored"] == true
        || error["error"]["code"] == "access_denied"
        || error["error"]["committed"].as_u64().is_some_and(|count| count > 0);
    (has_changed && !is_said).then(|| "it changed the capsule and does not say so".to_owned())
}

/// The JSON values of all lines; none when one is something else.
fn lines(bytes: &[u8]) -> Option<Vec<Value>> {
    let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).ok()).collect()
}

fn shown(output: &Output) -> String {
    let text = |bytes: &[u8]| {
        String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES)]).trim().to_owned()
    };
    format!(
        "{}; printed {:?}; said {:?}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    )
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    fn ended(status: i32, stdout: &str, stderr: &str) -> Run {
        let output = Output {
            status: ExitStatus::from_raw(status),
            stdout: stdout.into(),
            stderr: stderr.into(),
        };
        Run { output, killed: false, took: Duration::ZERO }
    }

    #[test]
    fn each_broken_promise_is_seen() {
        let call = Call { words: vec!["--json".into(), "find".into()], input: vec![], json: true };
        let error = r#"{"error":{"code":"x"}}"#;
        let stored = r#"{"error":{"code":"x","stored":true}}"#;
        for (status, stdout, stderr, has_changed, want) in [
            (0, "{}\n", "", true, ""),
            (0, "text\n", "", false, "not JSON"),
            (1 << 8, "", error, false, ""),
            (1 << 8, "", "error: x", false, "error is not JSON"),
            (2 << 8, "", error, true, "changed"),
            (2 << 8, "", stored, true, ""),
            (1 << 8, "", r#"{"error":{"code":"access_denied"}}"#, true, ""),
            (3 << 8, "", error, false, "exit code 3"),
            (11, "", "", false, "signal"),
            (1 << 8, "", "thread 'main' panicked at src/x.rs", false, "panicked"),
        ] {
            let found = broken(&call, &ended(status, stdout, stderr), has_changed);
            let found = found.unwrap_or_default();
            assert_eq!(found.is_empty(), want.is_empty(), "{status} {stderr}: {found}");
            assert!(found.contains(want), "{found}");
        }
    }
}
