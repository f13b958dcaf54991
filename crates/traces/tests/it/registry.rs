//! What was read is not read again.

use std::fs;
use std::time::{Duration, SystemTime};

use kapsa_memory::Trust;
use kapsa_memory::request::{FindRequest, TimelineRequest};
use kapsa_traces::{Extractor, FileState, SyncOptions, original_of};

use crate::support::{Place, actions, name_of, options, told};

#[test]
fn a_second_sync_changes_no_byte() {
    let place = Place::new();
    place.session("a", 1, &["preference: Ask before adding a dependency"]);
    place.session("b", 2, &["fact: The build machine has no network"]);
    place.sync();
    let before = place.bytes();
    let report = place.sync();
    assert_eq!((report.read, report.unchanged, report.sessions), (0, 2, 0));
    assert_eq!(place.bytes(), before);
    let forced = place.sync_with(&SyncOptions { force: true, ..options() });
    assert_eq!(actions(&forced), ["no_op", "no_op"]);
    assert_eq!(place.bytes(), before, "what is read again says nothing new");
}

#[test]
fn a_file_that_grew_is_read_again() {
    let place = Place::new();
    place.session("a", 1, &["preference: Ask before adding a dependency"]);
    place.sync();
    place.session(
        "a",
        1,
        &["preference: Ask before adding a dependency", "fact: The build machine has no network"],
    );
    let report = place.sync();
    assert_eq!(actions(&report), ["no_op", "add"]);
    assert_eq!(place.fact("Ask before").evidence_count, 1);
    let originals = place.location().notes(kapsa_memory::kinds::TRACE_SESSION).expect("notes");
    assert_eq!(originals.len(), 1, "the original of before is dropped");
}

#[test]
fn a_file_that_was_touched_is_read_no_further_than_its_hash() {
    let place = Place::new();
    let path = place.session("a", 1, &["preference: Ask before adding a dependency"]);
    place.sync();
    let file = fs::File::options().append(true).open(path).expect("it opens");
    file.set_modified(SystemTime::now() + Duration::from_secs(60)).expect("it can be touched");
    let report = place.sync();
    assert_eq!((report.read, report.unchanged), (0, 1));
    let before = place.bytes();
    assert_eq!(place.sync().unchanged, 1);
    assert_eq!(place.bytes(), before);
}

#[test]
fn a_newer_extractor_reads_everything_again() {
    let place = Place::new();
    place.session("a", 1, &["preference: Ask before adding a dependency"]);
    let without = place.sync_with(&SyncOptions { extracts: false, ..options() });
    assert_eq!((without.sessions, without.kept.len()), (1, 0));
    assert_eq!(place.sync().read, 1, "what was kept without memories is read for them");
    let newer = Extractor { version: 2, extract: &told };
    assert_eq!(place.sync_with(&SyncOptions { extractor: newer, ..options() }).read, 1);
    assert_eq!(place.sync_with(&SyncOptions { extractor: newer, ..options() }).read, 0);
    assert_eq!(place.sync().read, 0, "an older one knows nothing better");
    assert_eq!(place.sync_with(&SyncOptions { extracts: false, ..options() }).read, 0);
    assert_eq!(place.facts().len(), 1);
}

#[test]
fn what_is_kept_of_traces_is_in_no_list_and_no_search() {
    let place = Place::new();
    place.session("a", 1, &["The aardvark eats ants", "assistant: It does"]);
    place.sync();
    let reader = place.reader();
    assert_eq!(reader.timeline(&TimelineRequest::default()).expect("a list"), []);
    for words in ["aardvark", "session", "file"] {
        assert_eq!(reader.find(&FindRequest::new(words)).expect("a search").hits, []);
    }
    let registry = place.registry();
    let (file, session) = registry.sessions("a")[0];
    assert_eq!((name_of(&file.path).as_str(), file.state), ("a.jsonl", FileState::Read));
    let original = original_of(&place.location(), session).expect("read").expect("kept");
    assert_eq!(original["turns"][0]["text"], "The aardvark eats ants");
    assert_eq!(original["turns"][1]["at"], "2");
}

#[test]
fn a_dry_run_writes_nothing_and_says_what_would_be() {
    let place = Place::new();
    place.session("a", 1, &["preference: Ask before adding a dependency"]);
    place.session("b", 2, &["preference: Please ask before adding dependencies"]);
    let before = place.bytes();
    let report = place.sync_with(&SyncOptions { is_dry: true, ..options() });
    assert_eq!(actions(&report), ["add", "no_op"]);
    assert_eq!((report.originals, report.is_dry), (2, true));
    assert_eq!(place.bytes(), before);
    assert_eq!(actions(&place.sync()), ["add", "no_op"]);
}

#[test]
fn what_is_no_trace_is_counted_and_what_cannot_be_read_is_told() {
    let place = Place::new();
    place.session("a", 1, &["preference: Ask before adding a dependency"]);
    fs::write(place.traces().join("notes.txt"), "only notes").expect("written");
    fs::write(place.traces().join("broken.db"), b"SQLite format 3\0broken").expect("written");
    let report = place.sync();
    assert_eq!((report.read, report.others, report.failed.len()), (1, 1, 1));
    assert!(report.failed[0].path.ends_with("broken.db"));
    assert_eq!(place.live().len(), 1);
    let missing = place.try_sync(&[place.traces().join("none.jsonl")], &options());
    assert!(missing.is_err_and(|error| error.to_string().contains("none.jsonl")));
}

#[test]
fn what_its_program_deletes_soon_is_read_first() {
    let place = Place::new();
    let old = place.session("z", 1, &["fact: The build machine has no network"]);
    let file = fs::File::options().append(true).open(old).expect("it opens");
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_780_000_000);
    file.set_modified(long_ago).expect("it can be touched");
    for id in ["a", "b"] {
        let path = place.session(id, 2, &["hello"]);
        let file = fs::File::options().append(true).open(path).expect("it opens");
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000);
        file.set_modified(now).expect("it can be touched");
    }
    let report = place.sync_with(&SyncOptions { sessions_max: Some(1), ..options() });
    assert_eq!((report.expiring, report.left), (1, 2));
    assert_eq!(place.live(), ["The build machine has no network"]);
    assert_eq!(place.fact("The build").trust, Trust::Trace);
}
