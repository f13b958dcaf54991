//! The queue of files that are to be read: which one waits, who reads which, what failed and when
//! it is tried again. Kept as notes of the capsule, which no search and no list shows. Knows no
//! format, and no clock: every change says when it happens.
//!
//! A file that is read well leaves no job behind, so a capsule holds as many of them as files are
//! waiting, being read, or broken.

use std::collections::{BTreeMap, BTreeSet};

use kapsa_agents::{CapsuleFactStore, FactStore, StoreLocation};
use kapsa_memory::kinds::TRACE_JOB;
use kapsa_memory::{Micros, NewRecord, Record, Uri};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Result;

const SECOND_US: Micros = 1_000_000;
/// Attempts after which a file is given up until it changes.
pub const ATTEMPTS_MAX: u32 = 3;
/// Pause in microseconds before the second attempt: 30 s. Each later one is twice as long.
pub const RETRY_FIRST_US: Micros = 30 * SECOND_US;
/// Longest pause in microseconds: an hour.
pub const RETRY_MAX_US: Micros = 3600 * SECOND_US;
/// How often in microseconds whoever reads for long says that it still does: 15 s.
pub const HEARTBEAT_US: Micros = 15 * SECOND_US;
/// Age of a heartbeat in microseconds from which on its job is taken for abandoned: 60 s.
pub const STALE_US: Micros = 60 * SECOND_US;
/// Most jobs of a capsule. The files beyond are read as well, without a job.
pub const JOBS_MAX: usize = 10_000;
/// Most jobs that one holder claims at once.
pub const CLAIMS_MAX: usize = 64;
/// Characters of an error that are kept.
pub const JOB_ERROR_CHARS_MAX: usize = 500;
/// Bytes of a path; a file with a longer one is read without a job.
pub const JOB_PATH_BYTES_MAX: usize = 4096;
/// Characters of a holder's host, and of when it started.
const HOLDER_CHARS_MAX: usize = 96;

/// What an attempt failed with whose reader is gone.
const ABANDONED: &str = "whoever read it ended before it was read";

/// How a job stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It waits for its turn.
    #[default]
    Pending,
    /// Its holder reads the file.
    Running,
    /// The file was read. Such a job is not kept.
    Done,
    /// An attempt failed; there is another one later.
    Failed,
    /// All attempts failed; only a change of the file brings it back.
    DeadLetter,
}

impl JobState {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            JobState::Pending => "pending",
            JobState::Running => "running",
            JobState::Done => "done",
            JobState::Failed => "failed",
            JobState::DeadLetter => "dead_letter",
        }
    }
}

/// Who reads a file: one process, whatever pid others have later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobHolder {
    /// Its process.
    pub pid: u32,
    /// The machine.
    pub host: String,
    /// What tells this process from others with its pid.
    pub start: String,
}

/// A file as it looks from outside when a job is made of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFile {
    /// Its path.
    pub path: String,
    /// Its size, in bytes.
    pub size: u64,
    /// When it was changed last.
    pub changed: Micros,
}

/// A file that is to be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Job {
    /// Its path. A name: nothing follows it.
    pub path: String,
    /// Its size, in bytes.
    pub size: u64,
    /// When it was changed last.
    pub changed: Micros,
    /// How it stands.
    pub state: JobState,
    /// Attempts that failed.
    pub attempts: u32,
    /// When it may be read, at the earliest.
    pub due_at: Micros,
    /// Who reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<JobHolder>,
    /// When its holder was seen at work last.
    #[serde(skip_serializing_if = "is_zero")]
    pub heartbeat_at: Micros,
    /// Why the last attempt failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(at: &Micros) -> bool {
    *at == 0
}

/// The pause in microseconds after so many failed attempts.
#[must_use]
pub fn retry_after(attempts: u32) -> Micros {
    let doublings = attempts.saturating_sub(1);
    let factor = 1_i64.checked_shl(doublings).filter(|factor| *factor > 0).unwrap_or(i64::MAX);
    RETRY_FIRST_US.saturating_mul(factor).min(RETRY_MAX_US)
}

impl Job {
    fn of(file: &JobFile, now: Micros) -> Job {
        Job {
            path: file.path.clone(),
            size: file.size,
            changed: file.changed,
            due_at: now,
            ..Job::default()
        }
    }

    /// Whether the file is as it was when the job was made.
    #[must_use]
    pub fn is_of(&self, file: &JobFile) -> bool {
        (self.size, self.changed) == (file.size, file.changed)
    }

    /// Whether the file was given up, and has not changed since.
    #[must_use]
    pub fn is_given_up(&self, file: &JobFile) -> bool {
        self.state == JobState::DeadLetter && self.is_of(file)
    }

    /// Whether its holder has not been seen for too long.
    fn is_stale(&self, now: Micros) -> bool {
        // A heartbeat from the future is that of another clock, and says nothing either.
        let age = now.saturating_sub(self.heartbeat_at);
        self.state == JobState::Running && !(-STALE_US..=STALE_US).contains(&age)
    }

    fn is_due(&self, now: Micros) -> bool {
        matches!(self.state, JobState::Pending | JobState::Failed) && self.due_at <= now
    }

    fn fail(&mut self, error: &str, now: Micros) {
        self.attempts = self.attempts.saturating_add(1);
        self.error = error.chars().take(JOB_ERROR_CHARS_MAX).collect();
        self.due_at = now.saturating_add(retry_after(self.attempts));
        let is_last = self.attempts >= ATTEMPTS_MAX;
        self.rest(if is_last { JobState::DeadLetter } else { JobState::Failed });
    }

    /// Nobody reads it any more.
    fn rest(&mut self, state: JobState) {
        self.state = state;
        self.holder = None;
        self.heartbeat_at = 0;
    }

    fn of_note(record: &Record) -> Option<Job> {
        let job: Job = serde_json::from_value(Value::Object(record.metadata.clone())).ok()?;
        (job.path.len() <= JOB_PATH_BYTES_MAX && job.state != JobState::Done).then_some(job)
    }

    fn uri_of(path: &str) -> kapsa_memory::Result<Uri> {
        const DIGITS: usize = 32;
        let hash = blake3::hash(path.as_bytes()).to_hex();
        Uri::parse(&format!("kapsa/trace/job/{}", &hash[..DIGITS]))
    }

    fn note(&self) -> kapsa_memory::Result<NewRecord> {
        let metadata = match serde_json::to_value(self) {
            Ok(Value::Object(metadata)) => metadata,
            _ => Map::new(),
        };
        Ok(NewRecord {
            uri: Some(Job::uri_of(&self.path)?),
            kind: TRACE_JOB.to_string(),
            metadata,
            ..NewRecord::text("job")
        })
    }
}

/// Every job that is not done.
#[derive(Clone, Debug, Default)]
pub struct JobQueue {
    jobs: BTreeMap<String, Job>,
    /// Jobs that differ from their notes.
    changed: BTreeSet<String>,
}

impl JobQueue {
    /// What the capsule has noted.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub fn load(location: &StoreLocation) -> Result<JobQueue> {
        let notes = location.notes(TRACE_JOB)?;
        let jobs = notes.iter().filter_map(Job::of_note);
        let jobs = jobs.map(|job| (job.path.clone(), job)).collect();
        Ok(JobQueue { jobs, changed: BTreeSet::new() })
    }

    /// Changes the queue as it is now while nobody else writes, in one commit, or none when nothing
    /// changes.
    ///
    /// # Errors
    /// `LockedByWriter`; the capsule cannot be read or written.
    pub fn change<T>(location: &StoreLocation, work: impl FnMut(&mut JobQueue) -> T) -> Result<T> {
        Self::change_with(location, work, |kept, removed| {
            match kept.is_empty() && removed.is_empty() {
                true => Ok(()),
                false => Ok(location.change_notes(kept, removed)?),
            }
        })
    }

    /// As [`JobQueue::change`], where `write` writes the notes that are kept and removed, in the
    /// same turn.
    pub(crate) fn change_with<T>(
        location: &StoreLocation,
        mut work: impl FnMut(&mut JobQueue) -> T,
        mut write: impl FnMut(Vec<NewRecord>, Vec<Uri>) -> Result<()>,
    ) -> Result<T> {
        let mut answer = None;
        CapsuleFactStore::new(location.clone()).in_turn(&mut || {
            let mut change = || {
                let mut queue = JobQueue::load(location)?;
                let done = work(&mut queue);
                let (kept, removed) = queue.notes()?;
                write(kept, removed)?;
                Ok(done)
            };
            // The store's own errors are of another type: what failed in here is handed out below.
            answer = Some(change());
            Ok(())
        })?;
        answer.expect("a turn that ended well did its work")
    }

    /// The notes that make the capsule's queue this one: those to keep, and those to remove.
    fn notes(&mut self) -> Result<(Vec<NewRecord>, Vec<Uri>)> {
        let (mut kept, mut removed) = (Vec::new(), Vec::new());
        for path in std::mem::take(&mut self.changed) {
            match self.jobs.get(&path).filter(|job| job.state != JobState::Done) {
                Some(job) => kept.push(job.note()?),
                None => {
                    self.jobs.remove(&path);
                    removed.push(Job::uri_of(&path)?);
                }
            }
        }
        Ok((kept, removed))
    }

    /// The jobs, by their paths.
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.values()
    }

    /// The job of the file with this path.
    #[must_use]
    pub fn job(&self, path: &str) -> Option<&Job> {
        self.jobs.get(path)
    }

    /// The paths of jobs that can be claimed now: that wait, that failed and are tried again, and
    /// that are taken for abandoned.
    pub fn due(&self, now: Micros) -> impl Iterator<Item = &str> {
        let due = self.jobs.values().filter(move |job| job.is_due(now) || job.is_stale(now));
        due.map(|job| job.path.as_str())
    }

    /// When something is to be done next, at `since` or later: a job is due, or taken for
    /// abandoned.
    #[must_use]
    pub fn next_due(&self, since: Micros) -> Option<Micros> {
        let due = self.jobs.values().filter_map(|job| match job.state {
            JobState::Pending | JobState::Failed => Some(job.due_at),
            JobState::Running => Some(job.heartbeat_at.saturating_add(STALE_US + 1)),
            JobState::Done | JobState::DeadLetter => None,
        });
        due.filter(|due| *due >= since).min()
    }

    /// Whether this holder reads anything.
    #[must_use]
    pub fn is_held_by(&self, holder: &JobHolder) -> bool {
        let holder = Some(bounded(holder));
        self.jobs.values().any(|job| job.holder == holder)
    }

    /// Takes up a file. One that is new here, or that failed and has changed since, is pending with
    /// all attempts before it; a change of a file that is pending or being read is noted. Returns
    /// whether there is a job of it.
    pub fn add(&mut self, file: &JobFile, now: Micros) -> bool {
        let is_refused = self.is_full() || file.path.len() > JOB_PATH_BYTES_MAX;
        match self.jobs.get_mut(&file.path) {
            Some(job) if job.is_of(file) => {}
            Some(job) if matches!(job.state, JobState::Pending | JobState::Running) => {
                (job.size, job.changed) = (file.size, file.changed);
                self.changed.insert(file.path.clone());
            }
            Some(job) => {
                *job = Job::of(file, now);
                self.changed.insert(file.path.clone());
            }
            None if is_refused => return false,
            None => {
                self.jobs.insert(file.path.clone(), Job::of(file, now));
                self.changed.insert(file.path.clone());
            }
        }
        true
    }

    fn is_full(&self) -> bool {
        self.jobs.len() >= JOBS_MAX
    }

    /// Claims jobs that are due among those whose path `takes` says yes to: what never failed
    /// before comes first, up to [`CLAIMS_MAX`] at once; what failed before is claimed one by one,
    /// so that a file that ends its reader takes no others with it. Abandoned jobs have failed once
    /// more.
    pub fn claim(
        &mut self,
        holder: &JobHolder,
        now: Micros,
        takes: &dyn Fn(&str) -> bool,
    ) -> Vec<Job> {
        self.reclaim(holder, now);
        let mut due: Vec<(u32, Micros, Micros, &String)> = self
            .jobs
            .values()
            .filter(|job| job.is_due(now) && takes(&job.path))
            .map(|job| (job.attempts, job.due_at, job.changed, &job.path))
            .collect();
        due.sort();
        let is_fresh = due.first().is_some_and(|(attempts, ..)| *attempts == 0);
        let most = if is_fresh { CLAIMS_MAX } else { 1 };
        let due = due.into_iter().filter(|(attempts, ..)| !is_fresh || *attempts == 0);
        let paths: Vec<String> = due.take(most).map(|(.., path)| path.clone()).collect();
        paths.into_iter().filter_map(|path| self.begin(&path, holder, now)).collect()
    }

    fn begin(&mut self, path: &str, holder: &JobHolder, now: Micros) -> Option<Job> {
        let job = self.jobs.get_mut(path)?;
        job.state = JobState::Running;
        job.holder = Some(bounded(holder));
        job.heartbeat_at = now;
        self.changed.insert(path.to_string());
        Some(job.clone())
    }

    /// Takes back what nobody reads any more: an abandoned job has failed once more; one that this
    /// holder left behind, which reads nothing while it claims, is pending.
    fn reclaim(&mut self, holder: &JobHolder, now: Micros) {
        let holder = bounded(holder);
        for (path, job) in &mut self.jobs {
            if job.holder.as_ref() == Some(&holder) {
                job.rest(JobState::Pending);
            } else if job.is_stale(now) {
                job.fail(ABANDONED, job.heartbeat_at.min(now));
            } else {
                continue;
            }
            self.changed.insert(path.clone());
        }
    }

    /// Says that this holder still reads what it has claimed.
    pub fn beat(&mut self, holder: &JobHolder, now: Micros) {
        self.change_held(holder, |job| job.heartbeat_at = now);
    }

    /// Ends what this holder still has: what it was claimed for came to an end without a word, as
    /// of a file that holds no trace. With `is_stopped` it was not begun, and is pending.
    pub fn release(&mut self, holder: &JobHolder, is_stopped: bool) {
        let state = if is_stopped { JobState::Pending } else { JobState::Done };
        self.change_held(holder, |job| job.rest(state));
    }

    fn change_held(&mut self, holder: &JobHolder, change: impl Fn(&mut Job)) {
        let holder = Some(bounded(holder));
        for (path, job) in &mut self.jobs {
            if job.holder == holder {
                change(job);
                self.changed.insert(path.clone());
            }
        }
    }

    /// The file was read, or is gone.
    pub fn done(&mut self, path: &str) {
        if let Some(job) = self.jobs.get_mut(path) {
            job.rest(JobState::Done);
            self.changed.insert(path.to_string());
        }
    }

    /// The file could not be read.
    pub fn failed(&mut self, file: &JobFile, error: &str, now: Micros) {
        if !self.add(file, now) {
            return;
        }
        if let Some(job) = self.jobs.get_mut(&file.path) {
            job.fail(error, now);
            self.changed.insert(file.path.clone());
        }
    }
}

/// A holder within the limits of a note.
fn bounded(holder: &JobHolder) -> JobHolder {
    let cut = |text: &str| text.chars().take(HOLDER_CHARS_MAX).collect();
    JobHolder { pid: holder.pid, host: cut(&holder.host), start: cut(&holder.start) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Micros = 1_790_000_000 * SECOND_US;

    fn file(path: &str) -> JobFile {
        JobFile { path: path.to_string(), size: 10, changed: 1 }
    }

    fn holder(pid: u32) -> JobHolder {
        JobHolder { pid, host: "here".to_string(), start: "1".to_string() }
    }

    fn all(_: &str) -> bool {
        true
    }

    /// A queue with these files.
    fn queue(paths: &[&str]) -> JobQueue {
        let mut queue = JobQueue::default();
        for path in paths {
            assert!(queue.add(&file(path), NOW));
        }
        queue
    }

    fn claimed(queue: &mut JobQueue, pid: u32, now: Micros) -> Vec<String> {
        queue.claim(&holder(pid), now, &all).into_iter().map(|job| job.path).collect()
    }

    fn state(queue: &JobQueue, path: &str) -> (JobState, u32) {
        let job = queue.job(path).expect("a job");
        (job.state, job.attempts)
    }

    #[test]
    fn pauses_double_up_to_an_hour() {
        let seconds: Vec<i64> = (1..=9).map(|n| retry_after(n) / SECOND_US).collect();
        assert_eq!(seconds, [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]);
        assert_eq!(retry_after(u32::MAX), RETRY_MAX_US);
    }

    #[test]
    fn a_file_that_is_read_leaves_no_note() {
        let mut queue = queue(&["a"]);
        assert_eq!(state(&queue, "a"), (JobState::Pending, 0));
        assert_eq!(claimed(&mut queue, 1, NOW), ["a"]);
        assert_eq!(state(&queue, "a"), (JobState::Running, 0));
        queue.done("a");
        assert_eq!(state(&queue, "a"), (JobState::Done, 0));
        let (kept, removed) = queue.notes().expect("notes");
        assert_eq!((kept.len(), removed.len()), (0, 1));
        assert_eq!(queue.jobs().count(), 0);
        let (kept, removed) = queue.notes().expect("notes");
        assert_eq!((kept.len(), removed.len()), (0, 0), "it is written once");
    }

    #[test]
    fn a_file_that_fails_is_tried_three_times_and_given_up() {
        let mut queue = queue(&["a"]);
        let mut now = NOW;
        for (attempt, pause) in [(1, 30), (2, 60)] {
            assert_eq!(claimed(&mut queue, 1, now), ["a"]);
            queue.failed(&file("a"), "it is broken", now);
            assert_eq!(state(&queue, "a"), (JobState::Failed, attempt));
            assert_eq!(queue.next_due(0), Some(now + pause * SECOND_US));
            let early = now + pause * SECOND_US - 1;
            assert!(claimed(&mut queue, 1, early).is_empty(), "not before its time");
            now = early + 1;
        }
        assert_eq!(claimed(&mut queue, 1, now), ["a"]);
        queue.failed(&file("a"), "it is broken", now);
        assert_eq!(state(&queue, "a"), (JobState::DeadLetter, 3));
        assert_eq!(
            (queue.next_due(0), queue.job("a").map(|job| job.holder.clone())),
            (None, Some(None))
        );
        assert!(claimed(&mut queue, 1, now + 10 * RETRY_MAX_US).is_empty());
        assert!(queue.job("a").is_some_and(|job| job.is_given_up(&file("a"))));
    }

    #[test]
    fn a_change_brings_back_what_failed_with_all_attempts() {
        let mut queue = queue(&["a"]);
        for _ in 0..ATTEMPTS_MAX {
            queue.failed(&file("a"), "it is broken", NOW);
        }
        assert!(queue.add(&file("a"), NOW));
        assert_eq!(state(&queue, "a"), (JobState::DeadLetter, 3), "it has not changed");
        let longer = JobFile { size: 11, ..file("a") };
        assert!(queue.add(&longer, NOW));
        assert_eq!(state(&queue, "a"), (JobState::Pending, 0));
        queue.failed(&longer, "it is broken", NOW);
        queue.failed(&JobFile { size: 12, ..file("a") }, "it is broken", NOW);
        assert_eq!(state(&queue, "a"), (JobState::Failed, 1), "a failed one as well");
    }

    #[test]
    fn two_claimants_get_different_jobs() {
        let mut queue = queue(&["a", "b"]);
        let first = queue.claim(&holder(1), NOW, &|path| path == "a");
        assert_eq!(first.len(), 1);
        assert_eq!(claimed(&mut queue, 2, NOW), ["b"]);
        assert!(claimed(&mut queue, 3, NOW).is_empty());
        assert_eq!(queue.job("a").and_then(|job| job.holder.clone()), Some(holder(1)));
    }

    #[test]
    fn a_heartbeat_keeps_a_job_and_its_absence_fails_it() {
        let mut queue = queue(&["a"]);
        assert_eq!(claimed(&mut queue, 1, NOW), ["a"]);
        let later = NOW + HEARTBEAT_US;
        queue.beat(&holder(1), later);
        queue.beat(&holder(2), later + STALE_US);
        assert!(claimed(&mut queue, 2, later + STALE_US).is_empty(), "60 s are not too long");
        assert_eq!(queue.next_due(0), Some(later + STALE_US + 1));
        assert_eq!(claimed(&mut queue, 2, later + STALE_US + 1), ["a"]);
        assert_eq!(state(&queue, "a"), (JobState::Running, 1), "a crash is an attempt");
        assert_eq!(queue.job("a").map(|job| job.error.as_str()), Some(ABANDONED));
    }

    #[test]
    fn a_file_that_ends_every_reader_is_given_up() {
        let mut queue = queue(&["a", "b"]);
        let mut now = NOW;
        assert_eq!(claimed(&mut queue, 1, now), ["a", "b"], "new ones are claimed together");
        now += STALE_US + 1;
        assert_eq!(claimed(&mut queue, 2, now), ["a"], "what failed is claimed alone");
        now += STALE_US + 1;
        assert_eq!(claimed(&mut queue, 3, now), ["b"], "the other failed less often");
        queue.done("b");
        assert_eq!(claimed(&mut queue, 3, now), ["a"]);
        now += STALE_US + 1;
        assert!(claimed(&mut queue, 4, now).is_empty());
        assert_eq!(state(&queue, "a"), (JobState::DeadLetter, 3));
    }

    #[test]
    fn what_a_holder_left_behind_is_pending_for_itself() {
        let mut queue = queue(&["a"]);
        assert_eq!(claimed(&mut queue, 1, NOW), ["a"]);
        assert_eq!(claimed(&mut queue, 1, NOW + 1), ["a"]);
        assert_eq!(state(&queue, "a"), (JobState::Running, 0));
        queue.release(&holder(1), true);
        assert_eq!(state(&queue, "a"), (JobState::Pending, 0));
        assert_eq!(claimed(&mut queue, 2, NOW + 1), ["a"]);
        queue.release(&holder(2), false);
        assert_eq!(state(&queue, "a"), (JobState::Done, 0));
    }

    #[test]
    fn texts_and_numbers_of_jobs_are_bounded() {
        let mut queue = queue(&[]);
        let long = JobFile { path: "x".repeat(JOB_PATH_BYTES_MAX + 1), ..file("") };
        assert!(!queue.add(&long, NOW));
        queue.failed(&long, "it is broken", NOW);
        assert_eq!(queue.jobs().count(), 0);
        queue.failed(&file("a"), &"é".repeat(JOB_ERROR_CHARS_MAX + 1), NOW);
        let chars = queue.job("a").map(|job| job.error.chars().count());
        assert_eq!(chars, Some(JOB_ERROR_CHARS_MAX));
        for number in 1..JOBS_MAX {
            assert!(queue.add(&file(&number.to_string()), NOW));
        }
        assert!(!queue.add(&file("one more"), NOW));
        let loud = JobHolder { host: "x".repeat(HOLDER_CHARS_MAX + 1), ..holder(1) };
        let jobs = queue.claim(&loud, NOW, &all);
        assert_eq!(jobs.len(), CLAIMS_MAX);
        assert!(
            jobs.iter().flat_map(|job| &job.holder).all(|held| held.host.len() == HOLDER_CHARS_MAX)
        );
        queue.release(&loud, false);
        assert_eq!(queue.jobs().filter(|job| job.state == JobState::Done).count(), CLAIMS_MAX);
    }
}
