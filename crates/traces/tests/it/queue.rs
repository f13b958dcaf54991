//! What could not be read is tried again, and given up; who watches reads what it has claimed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use kapsa_memory::Micros;
use kapsa_traces::queue::{ATTEMPTS_MAX, JobHolder, JobQueue, JobState, RETRY_FIRST_US, STALE_US};
use kapsa_traces::{Claims, Report, SyncOptions, sync, unread};

use crate::support::{NOW, Place, options};

const RULE: &str = "preference: Ask before adding a dependency";
const BROKEN: &[u8] = b"SQLite format 3\0broken";

fn queue(place: &Place) -> JobQueue {
    JobQueue::load(&place.location()).expect("it can be read")
}

/// State and failed attempts of the jobs, by the names of their files.
fn jobs(place: &Place) -> Vec<(String, JobState, u32)> {
    let queue = queue(place);
    let job = |job: &kapsa_traces::queue::Job| {
        (crate::support::name_of(&job.path), job.state, job.attempts)
    };
    queue.jobs().map(job).collect()
}

fn holder(pid: u32) -> JobHolder {
    JobHolder { pid, host: "here".to_string(), start: "1".to_string() }
}

/// A round of a watch, of process `pid` at `now`, in which these changed.
fn round(place: &Place, pid: u32, now: Micros, changed: &[PathBuf]) -> Report {
    try_round(place, pid, now, changed, None).expect("it syncs")
}

fn try_round(
    place: &Place,
    pid: u32,
    now: Micros,
    changed: &[PathBuf],
    stops_after: Option<u64>,
) -> kapsa_traces::Result<Report> {
    let changed: BTreeSet<PathBuf> = changed.iter().cloned().collect();
    let holder = holder(pid);
    let claims = Some(Claims { holder: &holder, changed: &changed });
    let clock = (move || now).into();
    let options = SyncOptions { claims, clock, stops_after, ..options() };
    sync(&place.location(), &[place.traces()], &options, &mut |_| ())
}

#[test]
fn a_broken_file_is_tried_three_times_and_costs_nothing_then() {
    let place = Place::new();
    place.session("a", 1, &[RULE]);
    let broken = place.traces().join("broken.db");
    fs::write(&broken, BROKEN).expect("written");
    for attempt in 1..=ATTEMPTS_MAX {
        assert_eq!(place.sync().failed.len(), 1);
        let state = if attempt < ATTEMPTS_MAX { JobState::Failed } else { JobState::DeadLetter };
        assert_eq!(jobs(&place), [("broken.db".to_string(), state, attempt)]);
    }
    let before = place.bytes();
    let report = place.sync();
    assert_eq!((report.failed.len(), report.given_up, report.unchanged), (0, 1, 1));
    assert_eq!(place.bytes(), before);
    let forced = place.sync_with(&SyncOptions { force: true, ..options() });
    assert_eq!((forced.failed.len(), forced.given_up), (1, 0));
    let newer = kapsa_traces::Extractor { version: 2, ..options().extractor };
    let newer = SyncOptions { extractor: newer, ..options() };
    assert_eq!(place.sync_with(&newer).failed.len(), 1, "another reader may know better");
    assert_eq!(place.sync_with(&newer).given_up, 1);
    assert_eq!(place.sync().given_up, 1, "an older one knows no better");
}

#[test]
fn a_change_of_a_file_that_was_given_up_has_it_read_again() {
    let place = Place::new();
    let path = place.traces().join("a.jsonl");
    fs::write(&path, BROKEN).expect("written");
    (0..ATTEMPTS_MAX).for_each(|_| assert_eq!(place.sync().failed.len(), 1));
    fs::write(&path, [BROKEN, b"more"].concat()).expect("written");
    assert_eq!(place.sync().failed.len(), 1);
    assert_eq!(jobs(&place), [("a.jsonl".to_string(), JobState::Failed, 1)]);
    place.session("a", 1, &[RULE]);
    let report = place.sync();
    assert_eq!((report.read, report.failed.len()), (1, 0));
    assert_eq!((jobs(&place), place.live().len()), (vec![], 1));
}

#[test]
fn a_file_that_is_gone_leaves_the_queue() {
    let place = Place::new();
    let broken = place.traces().join("broken.db");
    fs::write(&broken, BROKEN).expect("written");
    place.sync();
    fs::remove_file(broken).expect("removed");
    place.sync();
    assert_eq!(jobs(&place), []);
}

#[test]
fn a_watch_reads_what_changed_and_nothing_else() {
    let place = Place::new();
    let a = place.session("a", 1, &[RULE]);
    place.session("b", 2, &["fact: The build machine has no network"]);
    fs::write(place.traces().join("notes.txt"), "only notes").expect("written");
    let report = round(&place, 1, NOW, &[a]);
    assert_eq!((report.read, report.others, place.live().len()), (1, 0, 1));
    let before = place.bytes();
    let report = round(&place, 1, NOW, &[place.traces().join("notes.txt")]);
    assert_eq!((report.read, report.others), (0, 0), "what is no trace is no job");
    assert_eq!(place.bytes(), before);
    let seen = unread(&place.location(), &[place.traces()], &options()).expect("a look");
    assert_eq!(
        seen.iter().map(|path| path.file_name()).collect::<Vec<_>>(),
        [Some("b.jsonl".as_ref())]
    );
    assert_eq!(round(&place, 1, NOW, &[place.traces()]).read, 1, "a folder is all below it");
    assert_eq!((jobs(&place), place.live().len()), (vec![], 2));
    assert!(unread(&place.location(), &[place.traces()], &options()).expect("a look").is_empty());
}

#[test]
fn a_watch_tries_again_when_it_is_time() {
    let place = Place::new();
    let broken = place.traces().join("broken.db");
    fs::write(&broken, BROKEN).expect("written");
    let mut now = NOW;
    assert_eq!(round(&place, 1, now, &[broken]).failed.len(), 1);
    let before = place.bytes();
    assert_eq!(round(&place, 1, now + RETRY_FIRST_US - 1, &[]).failed.len(), 0);
    assert_eq!(place.bytes(), before);
    for pause in [RETRY_FIRST_US, 2 * RETRY_FIRST_US] {
        now += pause;
        assert_eq!(queue(&place).next_due(0), Some(now));
        assert_eq!(round(&place, 1, now, &[]).failed.len(), 1);
    }
    assert_eq!(jobs(&place), [("broken.db".to_string(), JobState::DeadLetter, 3)]);
    assert_eq!(queue(&place).next_due(0), None);
}

#[test]
fn what_a_watch_claimed_when_it_was_killed_is_read_by_the_next_one() {
    let place = Place::new();
    let a = place.session("a", 1, &[RULE]);
    let killed = try_round(&place, 1, NOW, std::slice::from_ref(&a), Some(1));
    assert!(killed.is_err());
    assert_eq!(jobs(&place), [("a.jsonl".to_string(), JobState::Running, 0)]);
    assert_eq!(round(&place, 2, NOW + STALE_US, &[]).read, 0, "it may still be read");
    assert_eq!(round(&place, 2, NOW + STALE_US + 1, &[]).read, 1);
    assert_eq!((jobs(&place), place.live().len()), (vec![], 1));
    assert!(place.registry().file(&a.to_string_lossy()).is_some());
}

#[test]
fn two_who_claim_at_once_get_different_files() {
    let place = Place::new();
    for id in ["a", "b", "c"] {
        place.session(id, 1, &[RULE]);
    }
    let claim = |pid: u32, wanted: &'static str| {
        let location = place.location();
        let claimed = JobQueue::change(&location, |queue| {
            for id in ["a", "b", "c"] {
                let path = place.traces().join(format!("{id}.jsonl")).to_string_lossy().into();
                queue.add(&kapsa_traces::queue::JobFile { path, size: 1, changed: 1 }, NOW);
            }
            queue.claim(&holder(pid), NOW, &|path| wanted.contains(file_stem(path)))
        });
        claimed.expect("claimed").len()
    };
    assert_eq!((claim(1, "a"), claim(2, "ab"), claim(3, "abc")), (1, 1, 1));
}

fn file_stem(path: &str) -> &str {
    Path::new(path).file_stem().and_then(|stem| stem.to_str()).expect("a name")
}

#[test]
fn a_watch_that_is_stopped_leaves_its_jobs_to_the_next_one() {
    let place = Place::new();
    let a = place.session("a", 1, &[RULE]);
    let stop = std::sync::atomic::AtomicBool::new(true);
    let changed = BTreeSet::from([a]);
    let holder = holder(1);
    let claims = Some(Claims { holder: &holder, changed: &changed });
    let options = SyncOptions { claims, stop: Some(&stop), ..options() };
    let report = sync(&place.location(), &[place.traces()], &options, &mut |_| ());
    assert_eq!(report.expect("it syncs").read, 0);
    assert_eq!(jobs(&place), [("a.jsonl".to_string(), JobState::Pending, 0)]);
    assert_eq!(round(&place, 2, NOW, &[]).read, 1);
    assert_eq!(jobs(&place), []);
}
