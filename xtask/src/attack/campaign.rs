//! Makes the attempts, on as many threads as there are processors, and judges what came of each.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::allowed::{self, GAPS};
use super::answer::Reply;
use super::attempt::Attempt;
use super::build::{CAPSULE, FILES, NOW, Program, Trio, threads};
use super::rows::{COMPLETION, ROWS, VerbRow, Whose};
use super::world::{Marker, Side, markers};
use super::written::Before;
use crate::harness::process::{self, Kill};
use crate::harness::progress::Progress;
use crate::harness::random::Random;
use crate::harness::sys;
use crate::harness::tree::Verb;

/// Attempts in a row on one stage.
const BLOCK: u64 = 48;
/// A call that takes longer is taken to hang.
const LONGEST_CALL: Duration = Duration::from_secs(60);
/// Findings after which the run ends.
const FINDINGS_MAX: usize = 200;
/// Every so many attempts that wrote something, everything is compared.
const WHOLE_EVERY: u64 = 10;
/// One in so many attempts is on a verb of the owner.
const OWNERS_PERCENT: u64 = 25;

/// A fault of the harness on purpose, which the checks must notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// The verb is called by the owner.
    Owner(&'static str),
}

/// A promise that was broken.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub(super) kind: &'static str,
    pub(super) verb: &'static str,
    pub(super) line: String,
}

/// What a run came to.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) attempts: u64,
    pub(super) calls: u64,
    pub(super) answered: u64,
    /// Attempts that wrote something other than that they were denied.
    pub(super) wrote: u64,
    pub(super) verbs: BTreeSet<&'static str>,
    pub(super) allowed: BTreeMap<&'static str, u64>,
    pub(super) findings: Vec<Finding>,
}

/// What all threads share.
pub(super) struct Assault<'a> {
    pub(super) program: Program<'a>,
    pub(super) folder: &'a Path,
    pub(super) stages: &'a [Trio],
    pub(super) verbs: &'a [Verb],
    pub(super) seed: u64,
    pub(super) fault: Fault,
    /// After so long no further attempts are begun.
    pub(super) longest: Duration,
}

impl Assault<'_> {
    /// Makes so many attempts.
    pub(super) fn run(&self, attempts: u64) -> Result<Tally, String> {
        let (tally, next) = (Mutex::new(Tally::default()), AtomicU64::new(0));
        let start = Instant::now();
        let work = |thread: usize| {
            let site = self.folder.join(format!("site-{thread}"));
            let mut progress = Progress::new();
            loop {
                let block = next.fetch_add(1, Ordering::Relaxed);
                let first = block * BLOCK;
                if first >= attempts
                    || start.elapsed() >= self.longest
                    || tally.lock().expect("no thread panics").findings.len() >= FINDINGS_MAX
                {
                    return Ok(());
                }
                let place =
                    usize::try_from(block).map_err(|error| error.to_string())? % self.stages.len();
                let mut site = Ground::new(self, &site, &self.stages[place])?;
                for attempt in first..(first + BLOCK).min(attempts) {
                    site.attempt(attempt, &tally)?;
                    sys::go_on()?;
                }
                progress.show(|| {
                    format!(
                        "{} of {attempts} attempts",
                        tally.lock().expect("no thread panics").attempts
                    )
                });
            }
        };
        thread::scope(|scope| {
            let work = &work;
            let running: Vec<_> =
                (0..threads()).map(|thread| scope.spawn(move || work(thread))).collect();
            let ended = running
                .into_iter()
                .map(|one| one.join().map_err(|_| "a thread panicked".to_owned())?);
            ended.collect::<Result<(), String>>()
        })?;
        tally.into_inner().map_err(|error| error.to_string())
    }

    /// The row of an attempt: first each once, then those of everybody more often.
    fn row(&self, attempt: u64, random: &mut Random) -> &'static VerbRow {
        if let Fault::Owner(verb) = self.fault {
            return ROWS.iter().find(|row| row.verb == verb).expect("a verb of the table");
        }
        let all = || ROWS.iter().chain([&COMPLETION]);
        let of =
            |is_owners: bool| all().filter(move |row| (row.whose == Whose::Owners) == is_owners);
        if let Some(row) = usize::try_from(attempt).ok().and_then(|attempt| all().nth(attempt)) {
            return row;
        }
        let is_owners = random.percent(OWNERS_PERCENT);
        let index = random.index(of(is_owners).count()).expect("there are rows");
        of(is_owners).nth(index).expect("an index of the list")
    }
}

/// Where a thread makes its attempts: a folder for each of the three capsules.
struct Ground<'a> {
    campaign: &'a Assault<'a>,
    stage: &'a Trio,
    folders: Vec<PathBuf>,
    before: Vec<Before>,
    wrote: u64,
}

/// What says whether a file was written since.
type Stamp = (u64, Option<SystemTime>);

fn stamp(path: &Path) -> Stamp {
    fs::metadata(path).map_or((0, None), |metadata| (metadata.len(), metadata.modified().ok()))
}

impl<'a> Ground<'a> {
    fn new(
        campaign: &'a Assault<'a>,
        folder: &Path,
        stage: &'a Trio,
    ) -> Result<Ground<'a>, String> {
        let failed = |error: std::io::Error| error.to_string();
        let folders: Vec<PathBuf> = ["a", "b", "c"].iter().map(|name| folder.join(name)).collect();
        let mut site = Ground { campaign, stage, folders, before: Vec::new(), wrote: 0 };
        for (at, folder) in site.folders.iter().enumerate() {
            if folder.exists() {
                fs::remove_dir_all(folder).map_err(failed)?;
            }
            fs::create_dir_all(folder.join(".kapsa")).map_err(failed)?;
            for (name, text) in FILES {
                fs::write(folder.join(name), text).map_err(failed)?;
            }
            site.restore(at)?;
        }
        for folder in &site.folders {
            site.before.push(Before::read(&campaign.program, folder)?);
        }
        Ok(site)
    }

    /// Puts the capsule of a side back as it was.
    fn restore(&self, side: usize) -> Result<(), String> {
        let target = self.folders[side].join(CAPSULE);
        fs::copy(&self.stage.sides[side].path, &target).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn attempt(&mut self, number: u64, tally: &Mutex<Tally>) -> Result<(), String> {
        let mut random = Random::new(self.campaign.seed, &format!("attack {number}"));
        let row = self.campaign.row(number, &mut random);
        let verb = self.campaign.verbs.iter().find(|verb| verb.path.join(" ") == row.verb);
        let attempt = Attempt::random(&mut random, self.stage, row, verb);
        let stamps: Vec<Stamp> =
            self.folders.iter().map(|folder| stamp(&folder.join(CAPSULE))).collect();
        let outputs = Side::ALL.map(|side| self.call(&attempt, side));
        let [a, b, c] = outputs;
        let outputs = [a?, b?, c?];
        let mut judged = self.judged(&attempt, &outputs);
        let is_done = outputs[0].status.success();
        let mut calls = 3;
        for side in Side::ALL {
            let at = side.index();
            self.strangers(&attempt, at, &mut judged.findings)?;
            if stamp(&self.folders[at].join(CAPSULE)) == stamps[at] {
                continue;
            }
            if side == Side::Hidden || is_done || random.percent(25) {
                self.judge_written(&attempt, at, is_done, &mut judged.findings)?;
                calls += 1;
            }
        }
        if is_done && stamp(&self.folders[0].join(CAPSULE)) != stamps[0] {
            judged.wrote = true;
            calls += self.after(&attempt, &mut judged)?;
        }
        for (at, before) in stamps.iter().enumerate() {
            if stamp(&self.folders[at].join(CAPSULE)) != *before {
                self.restore(at)?;
            }
        }
        let mut tally = tally.lock().expect("no thread panics");
        tally.attempts += 1;
        tally.calls += calls;
        tally.answered += u64::from(is_done);
        tally.wrote += u64::from(judged.wrote);
        tally.verbs.insert(row.verb);
        for name in judged.allowed {
            *tally.allowed.entry(name).or_default() += 1;
        }
        for finding in judged.findings {
            eprintln!("FOUND {} ({}): {}", finding.kind, finding.verb, finding.line);
            tally.findings.push(finding);
        }
        Ok(())
    }

    fn call(&self, attempt: &Attempt<'_>, side: Side) -> Result<Output, String> {
        let folder = &self.folders[side.index()];
        let failed = |error: std::io::Error| format!("{}: {error}", attempt.typed());
        let input = folder.with_extension("input");
        fs::write(&input, &attempt.input).map_err(failed)?;
        let mut command = self.campaign.program.command(folder, NOW);
        if self.stage.layout.has_vectors() {
            command.env("KAPSA_EMBED", "now");
        }
        if self.campaign.fault != Fault::Owner(attempt.row.verb) {
            command.env("KAPSA_PRINCIPAL", attempt.principal.name);
        }
        command
            .envs(attempt.variables.iter().map(|(name, value)| (name, value)))
            .args(attempt.words(side));
        let input = File::open(&input).map_err(failed)?;
        let run = process::run(command, input.into(), Some(&Kill::After(LONGEST_CALL)))
            .map_err(failed)?;
        if run.killed {
            Err(format!("{}: it ran for a minute", attempt.typed()))
        } else {
            Ok(run.output)
        }
    }

    /// Judges the answers.
    fn judged(&self, attempt: &Attempt<'_>, outputs: &[Output; 3]) -> Judged {
        let mut judged = Judged::default();
        let mut found = |kind, line: String| {
            let line = format!("{} [{:?}]\n    {line}", attempt.typed(), self.stage.layout);
            judged.findings.push(Finding { kind, verb: attempt.row.verb, line });
        };
        let raw = Side::ALL.map(|side| Reply::raw(&outputs[side.index()], &self.name(side)));
        let answers = Side::ALL.map(|side| self.answer(attempt, side, &outputs[side.index()]));
        for side in Side::ALL {
            let answer = &raw[side.index()];
            let hidden = markers(side)
                .into_iter()
                .filter(|marker| !attempt.principal.may_read(&marker.place));
            let came_out =
                |marker: &Marker| answer.contains(&marker.word) && !attempt.names(&marker.word);
            if let Some(marker) = hidden.into_iter().find(came_out) {
                found("hidden word", answer.around(&marker.word));
            }
            let is_refused = answer.code != Some(0) && answer.out.is_empty();
            if attempt.row.whose == Whose::Owners && !is_refused {
                found("owner's verb", format!("{} {}", answer.out, answer.err));
            }
        }
        let [a, b, c] = &answers;
        if a == b && b == c {
            if raw[0] != raw[2] {
                judged.allowed.push(GAPS.name);
            }
        } else if let Some(entry) = allowed::explained(attempt, &answers) {
            judged.allowed.push(entry.name);
        } else {
            let other = if a == c { b } else { a };
            found("difference", other.difference(c));
        }
        judged
    }

    fn name(&self, side: Side) -> String {
        self.folders[side.index()].display().to_string()
    }

    fn answer(&self, attempt: &Attempt<'_>, side: Side, output: &Output) -> Reply {
        let sequences = &self.stage.sides[side.index()].sequences;
        Reply::of(output, &self.name(side), sequences, &attempt.given(side))
    }

    /// Notes what was written that is not the principal's to write.
    fn judge_written(
        &mut self,
        attempt: &Attempt<'_>,
        at: usize,
        is_done: bool,
        findings: &mut Vec<Finding>,
    ) -> Result<(), String> {
        let (program, folder) = (&self.campaign.program, &self.folders[at]);
        let last = self.stage.sides[at].sequences.last;
        let mut wrong = self.before[at].forbidden(program, folder, attempt.principal, last)?;
        self.wrote += u64::from(is_done);
        if !wrong.is_empty() || is_done && self.wrote.is_multiple_of(WHOLE_EVERY) {
            wrong.extend(self.before[at].lost(program, folder, attempt.principal)?);
        }
        findings.extend(wrong.into_iter().map(|why| {
            let line = format!("{} [{:?}]\n    {why}", attempt.typed(), self.stage.layout);
            Finding { kind: "written", verb: attempt.row.verb, line }
        }));
        Ok(())
    }

    /// What the principal sees after it has written something must be the same as well.
    fn after(&self, attempt: &Attempt<'_>, judged: &mut Judged) -> Result<u64, String> {
        if !judged.allowed.iter().all(|name| *name == GAPS.name) || !judged.findings.is_empty() {
            return Ok(0);
        }
        let mut answers = Vec::new();
        for side in Side::ALL {
            let mut command = self.campaign.program.command(&self.folders[side.index()], NOW);
            command
                .env("KAPSA_PRINCIPAL", attempt.principal.name)
                .args(["timeline", "--limit", "1000", "--json"]);
            let output = command.output().map_err(|error| error.to_string())?;
            answers.push(self.answer(attempt, side, &output));
        }
        if let Some(other) = answers.iter().find(|answer| **answer != answers[2]) {
            let line = format!(
                "{} [{:?}], then timeline\n    {}",
                attempt.typed(),
                self.stage.layout,
                other.difference(&answers[2])
            );
            judged.findings.push(Finding { kind: "difference", verb: attempt.row.verb, line });
        }
        Ok(3)
    }

    /// Notes and removes files that a call left.
    fn strangers(
        &self,
        attempt: &Attempt<'_>,
        at: usize,
        findings: &mut Vec<Finding>,
    ) -> Result<(), String> {
        let entries = fs::read_dir(&self.folders[at]).map_err(|error| error.to_string())?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            if name == ".kapsa" || FILES.iter().any(|(known, _)| name == *known) {
                continue;
            }
            let removed = if entry.path().is_dir() {
                fs::remove_dir_all(entry.path())
            } else {
                fs::remove_file(entry.path())
            };
            removed.map_err(|error| error.to_string())?;
            if attempt.row.whose != Whose::Nobodys {
                let line = format!("{}\n    it left {}", attempt.typed(), name.display());
                findings.push(Finding { kind: "file", verb: attempt.row.verb, line });
            }
        }
        Ok(())
    }
}

/// What one attempt came to.
#[derive(Default)]
struct Judged {
    findings: Vec<Finding>,
    allowed: Vec<&'static str>,
    wrote: bool,
}
