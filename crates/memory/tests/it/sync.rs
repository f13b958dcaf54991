//! Clones, pulls and pushes between real capsules.

use std::path::Path;

use kapsa_memory::{
    BlobId, Choice, Chunk, FindRequest, LocalPeer, MergeRequest, MergeResult, NewCheckpoint, Offer,
    Parcel, Peer, Point, Reader, Relation, SearchMode, WriteOptions, Writer, branch, checkpoint,
    clone, merge, remote, stats, sync,
};

use crate::meaning::{Plain, fill};
use crate::{Fixture, clock, named, uri};

fn text(path: &Path, branch: &str, name: &str) -> Option<String> {
    let reader = Reader::open(path).expect("opens").on(branch, None).expect("a branch");
    reader.get(&uri(name)).ok().map(|record| record.text)
}

fn writer(path: &Path) -> Writer {
    Writer::open(path, WriteOptions::new(clock)).expect("opens for writing")
}

fn pull(to: &Path, from: &Path) -> kapsa_memory::Pulled {
    sync::catch_up(&mut writer(to), from, &mut |_, _| {}).expect("pulled")
}

fn chain(path: &Path) -> String {
    stats(&Reader::open(path).expect("opens"), false).expect("told").chain
}

fn assert_whole(path: &Path) {
    assert_eq!(
        kapsa_memory::check::verify(path, &mut |_, _| {}).expect("can be checked").problems,
        []
    );
}

/// A capsule with some history, and a clone of it.
fn pair() -> (Fixture, std::path::PathBuf) {
    let fixture = Fixture::new();
    let mut w = fixture.writer();
    w.put(named("a", "fact a")).expect("put");
    branch::create(&mut w, "run/1", "main", None).expect("made");
    w.put(named("b", "fact b")).expect("put");
    drop(w);
    let copy = fixture.path.with_file_name("copy.kapsa");
    clone(&fixture.path, &copy, &mut |_, _| {}).expect("cloned");
    (fixture, copy)
}

#[test]
fn a_clone_is_the_same_history_and_takes_nobodys_place() {
    let (fixture, copy) = pair();
    assert_eq!(chain(&copy), chain(&fixture.path));
    assert_eq!(text(&copy, "main", "b").as_deref(), Some("fact b"));
    let before = std::fs::read(&copy).expect("readable");
    assert!(clone(&fixture.path, &copy, &mut |_, _| {}).is_err());
    assert_eq!(std::fs::read(&copy).expect("readable"), before);
    let mut bytes = before;
    let middle = bytes.len() - 300;
    bytes[middle] ^= 1;
    let damaged = copy.with_file_name("damaged.kapsa");
    std::fs::write(&damaged, bytes).expect("written");
    let target = copy.with_file_name("new.kapsa");
    assert!(clone(&damaged, &target, &mut |_, _| {}).is_err());
    assert!(!target.exists() && !target.with_file_name("new.kapsa.clone").exists());
}

#[test]
fn whoever_is_behind_gets_the_missing_commits_as_they_are() {
    let (fixture, copy) = pair();
    assert_eq!(pull(&copy, &fixture.path).relation, Relation::UpToDate);
    let mut w = fixture.writer();
    for round in 0..4 {
        w.put_many((0..50).map(|at| named(&format!("r{round}/{at}"), "fact of many")).collect())
            .expect("put");
    }
    w.switch("run/1").expect("open");
    w.put(named("a", "fact a of the run")).expect("put");
    checkpoint::make(
        &mut w,
        &NewCheckpoint { label: "v1".to_string(), ..NewCheckpoint::default() },
    )
    .expect("made");
    drop(w);
    let pulled = pull(&copy, &fixture.path);
    assert_eq!((pulled.relation, pulled.records), (Relation::FastForward, 202));
    assert_eq!(chain(&copy), chain(&fixture.path));
    assert_eq!(text(&copy, "run/1", "a").as_deref(), Some("fact a of the run"));
    assert_eq!(pull(&fixture.path, &copy).relation, Relation::UpToDate);
    assert_whole(&copy);
}

/// Fetches from a remote, and merges what came.
fn fetch_and_merge(writer: &mut Writer, name: &str, from: &Path) -> u64 {
    let mut peer = LocalPeer::open(from).expect("opens");
    let fetched = sync::fetch(writer, name, &mut peer, &mut |_, _| {}).expect("fetched");
    let request = MergeRequest {
        from: format!("{name}/main"),
        to: "main".to_string(),
        rule: Some(Choice::Contested),
        ..MergeRequest::default()
    };
    match merge::merge(writer, &request).expect("merged") {
        MergeResult::Done(_) => fetched.records,
        MergeResult::Conflicts(_) => panic!("a rule decides all"),
    }
}

fn push(from: &Path, name: &str, to: &Path) -> kapsa_memory::Result<u64> {
    let mut peer = LocalPeer::of(writer(to)).expect("opens");
    let reader = Reader::open(from).expect("opens");
    let pushed = sync::push(&reader, name, "main", &mut peer, &mut |_, _| {})?;
    sync::note(&mut writer(from), &pushed)?;
    Ok(pushed.records)
}

#[test]
fn where_both_went_on_the_others_branches_are_followed() {
    let (fixture, copy) = pair();
    fixture.writer().put(named("a", "fact a of here")).expect("put");
    let mut w = writer(&copy);
    w.put(named("a", "fact a of there")).expect("put");
    w.switch("run/1").expect("open");
    w.put(named("a", "fact a of the run there")).expect("put");
    branch::create(&mut w, "run/2", "run/1", None).expect("made");
    w.switch("run/2").expect("open");
    w.put(named("c", "fact c")).expect("put");
    drop(w);
    let verbatim = pull(&fixture.path, &copy);
    assert_eq!((verbatim.relation, verbatim.records), (Relation::Diverged, 0));
    let mut here = fixture.writer();
    remote::add(&mut here, "laptop", &copy.display().to_string()).expect("added");
    let mut peer = LocalPeer::open(&copy).expect("opens");
    let fetched = sync::fetch(&mut here, "laptop", &mut peer, &mut |_, _| {}).expect("fetched");
    assert_eq!(fetched.records, 3);
    assert_eq!(fetched.branches, ["laptop/main", "laptop/run/1", "laptop/run/2"]);
    drop(here);
    let told = |branch: &str, name: &str| text(&fixture.path, branch, name);
    assert_eq!(told("main", "a").as_deref(), Some("fact a of here"));
    assert_eq!(told("laptop/main", "a").as_deref(), Some("fact a of there"));
    assert_eq!(told("laptop/run/1", "a").as_deref(), Some("fact a of the run there"));
    assert_eq!(told("laptop/run/2", "c").as_deref(), Some("fact c"));
    assert_eq!(told("run/1", "a").as_deref(), Some("fact a"));
    let refused = fixture.writer().switch("laptop/main").expect_err("it follows another");
    assert!(refused.to_string().contains("follows another capsule"), "{refused}");

    let mut here = fixture.writer();
    let again = sync::fetch(&mut here, "laptop", &mut peer, &mut |_, _| {}).expect("fetched");
    assert_eq!(again.records, 0);
    let request = MergeRequest {
        from: "laptop/main".to_string(),
        to: "main".to_string(),
        ..MergeRequest::default()
    };
    let MergeResult::Conflicts(plan) = merge::merge(&mut here, &request).expect("planned") else {
        panic!("a conflict")
    };
    assert_eq!(plan.conflicts().count(), 1);
    assert_whole(&fixture.path);
}

#[test]
fn a_push_is_refused_until_what_is_there_was_merged() {
    let (fixture, copy) = pair();
    remote::add(&mut fixture.writer(), "laptop", "copy").expect("added");
    fixture.writer().put(named("mine", "fact mine")).expect("put");
    writer(&copy).put(named("yours", "fact yours")).expect("put");
    let refused = push(&fixture.path, "laptop", &copy).expect_err("something is missing here");
    assert!(refused.to_string().contains("kapsa fetch laptop"), "{refused}");
    let mut here = fixture.writer();
    let mut peer = LocalPeer::open(&copy).expect("opens");
    sync::fetch(&mut here, "laptop", &mut peer, &mut |_, _| {}).expect("fetched");
    drop(here);
    let refused = push(&fixture.path, "laptop", &copy).expect_err("it is not merged yet");
    assert!(refused.to_string().contains("kapsa merge laptop/main"), "{refused}");
    fetch_and_merge(&mut fixture.writer(), "laptop", &copy);
    assert_eq!(push(&fixture.path, "laptop", &copy).expect("pushed"), 1);
    assert_eq!(push(&fixture.path, "laptop", &copy).expect("pushed"), 0);
    assert_eq!(text(&copy, "main", "mine").as_deref(), Some("fact mine"));
    assert_eq!(text(&copy, "main", "yours").as_deref(), Some("fact yours"));
    // What the other was given comes back to nobody.
    remote::add(&mut writer(&copy), "desk", "m").expect("added");
    assert_eq!(fetch_and_merge(&mut writer(&copy), "desk", &fixture.path), 0);
    assert_eq!(fetch_and_merge(&mut fixture.writer(), "laptop", &copy), 0);
    let branches = branch::list(&Reader::open(&copy).expect("opens")).expect("listed");
    let names: Vec<&str> = branches.iter().map(|branch| branch.name.as_str()).collect();
    assert_eq!(names, ["main", "run/1", "desk/main"], "what is followed stays where it is");
}

#[test]
fn what_was_purged_never_comes_back_and_arrives_as_forgotten() {
    let (fixture, copy) = pair();
    remote::add(&mut fixture.writer(), "laptop", "copy").expect("added");
    kapsa_memory::purge(&mut fixture.writer(), &uri("a")).expect("purged");
    fixture.writer().compact(&mut |_, _| {}).expect("compacted");
    let third = copy.with_file_name("third.kapsa");
    kapsa_memory::create(&third, &WriteOptions::new(clock)).expect("created");
    // Somebody else has it from the copy, and brings it again under another sequence.
    remote::add(&mut writer(&third), "copy", "copy").expect("added");
    fetch_and_merge(&mut writer(&third), "copy", &copy);
    assert_eq!(text(&third, "main", "a").as_deref(), Some("fact a"));
    remote::add(&mut fixture.writer(), "third", "third").expect("added");
    assert_eq!(fetch_and_merge(&mut fixture.writer(), "third", &third), 0);
    assert_eq!(fetch_and_merge(&mut fixture.writer(), "laptop", &copy), 0);
    assert_eq!(text(&fixture.path, "main", "a"), None);
    assert_eq!(push(&fixture.path, "third", &third).expect("pushed"), 1);
    assert_eq!(text(&third, "main", "a"), None);
    assert_whole(&fixture.path);
}

#[test]
fn one_under_anothers_name_is_refused() {
    let (fixture, copy) = pair();
    let second = copy.with_file_name("second.kapsa");
    clone(&copy, &second, &mut |_, _| {}).expect("cloned");
    writer(&copy).put(named("a", "fact a of there")).expect("put");
    writer(&second).put(named("a", "fact a of elsewhere")).expect("put");
    let mut here = fixture.writer();
    remote::add(&mut here, "laptop", "copy").expect("added");
    fetch_and_merge(&mut here, "laptop", &copy);
    let mut peer = LocalPeer::open(&second).expect("opens");
    let before = std::fs::read(&fixture.path).expect("readable");
    let refused = sync::fetch(&mut here, "laptop", &mut peer, &mut |_, _| {});
    assert!(refused.expect_err("another capsule").to_string().contains("is not the capsule"));
    assert_eq!(std::fs::read(&fixture.path).expect("readable"), before);
    remote::add(&mut here, "second", "second").expect("added");
    assert_eq!(fetch_and_merge(&mut here, "second", &second), 1);
    let empty = Fixture::new();
    let all = pull(&empty.path, &copy);
    assert_eq!(
        (all.relation, chain(&empty.path)),
        (Relation::FastForward, chain(&copy)),
        "an empty capsule takes a whole history"
    );
}

/// What a pull costs grows with what is new: prints how long a thousand records over a million
/// take.
#[test]
#[ignore = "measures: cargo test -p kapsa-memory a_thousand_over -- --ignored --nocapture"]
fn a_thousand_over_a_million() {
    const MANY: usize = 1_000_000;
    const NEW: usize = 1_000;
    let fixture = Fixture::new();
    let texts = |range: std::ops::Range<usize>| {
        range.map(|at| named(&format!("r/{at}"), &format!("fact {at} of a great many"))).collect()
    };
    let mut there = fixture.writer();
    for first in (0..MANY).step_by(50_000) {
        let last = (first + 50_000).min(MANY);
        there.put_many(texts(first..last)).expect("put");
    }
    let copy = fixture.path.with_file_name("copy.kapsa");
    clone(&fixture.path, &copy, &mut |_, _| {}).expect("cloned");
    let mut here = writer(&copy);
    here.put(named("mine", "fact mine")).expect("put");
    remote::add(&mut here, "far", "far").expect("added");
    for round in 0..3 {
        let first = MANY + round * NEW;
        there.put_many(texts(first..first + NEW)).expect("put");
        let began = std::time::Instant::now();
        let records = fetch_and_merge(&mut here, "far", &fixture.path);
        println!("{records} records fetched and merged in {:?}", began.elapsed());
        let began = std::time::Instant::now();
        assert_eq!(fetch_and_merge(&mut here, "far", &fixture.path), 0);
        println!("nothing fetched and merged in {:?}", began.elapsed());
    }
}

/// A capsule whose connection breaks after so many answers, or which sends other blobs than it is
/// asked for.
struct Breaking {
    inner: LocalPeer,
    left: usize,
    lies: bool,
}

impl Breaking {
    fn count(&mut self) -> kapsa_memory::Result<()> {
        let broken = || kapsa_memory::Error::InvalidOperation { reason: "it broke".to_string() };
        self.left = self.left.checked_sub(1).ok_or_else(broken)?;
        Ok(())
    }
}

impl Peer for Breaking {
    fn head(&mut self) -> kapsa_memory::Result<Point> {
        self.count()?;
        self.inner.head()
    }

    fn chain(&mut self, commit: u64) -> kapsa_memory::Result<Option<[u8; 32]>> {
        self.count()?;
        self.inner.chain(commit)
    }

    fn news(&mut self, after: u64) -> kapsa_memory::Result<Chunk> {
        self.count()?;
        self.inner.news(after)
    }

    fn lacks(&mut self, branch: &str, offers: &[Offer]) -> kapsa_memory::Result<Vec<bool>> {
        self.count()?;
        self.inner.lacks(branch, offers)
    }

    fn put(
        &mut self,
        branch: &str,
        parcels: Vec<Parcel>,
        vectors: Vec<Vec<u8>>,
    ) -> kapsa_memory::Result<Point> {
        // The other side has done it, and its answer is lost.
        let done = self.inner.put(branch, parcels, vectors);
        self.count()?;
        done
    }

    fn blobs(&mut self, ids: &[BlobId]) -> kapsa_memory::Result<Vec<Vec<u8>>> {
        self.count()?;
        if self.lies {
            return Ok(vec![b"something else".to_vec(); ids.len()]);
        }
        self.inner.blobs(ids)
    }

    fn lacks_blobs(&mut self, ids: &[BlobId]) -> kapsa_memory::Result<Vec<bool>> {
        self.count()?;
        if self.lies {
            return Ok(vec![false; ids.len()]);
        }
        self.inner.lacks_blobs(ids)
    }

    fn put_blobs(&mut self, blobs: Vec<Vec<u8>>) -> kapsa_memory::Result<()> {
        self.inner.put_blobs(blobs)?;
        self.count()
    }
}

#[test]
fn an_interrupted_exchange_goes_on_and_doubles_nothing() {
    let (here, there) = (Fixture::new(), Fixture::new());
    let mut w = there.writer();
    for batch in 0..3 {
        // Each batch fills a chunk.
        let text = format!("note {batch} {}", "word ".repeat(400_000));
        for at in 0..5 {
            w.put(named(&format!("n/{batch}/{at}"), &text)).expect("put");
        }
    }
    drop(w);
    here.writer().put(named("own", "of here")).expect("put");
    remote::add(&mut here.writer(), "other", &there.path.display().to_string()).expect("added");
    let mut came = 0;
    let mut tries = 0;
    for left in 1.. {
        let inner = LocalPeer::open(&there.path).expect("opens");
        let mut peer = Breaking { inner, left, lies: false };
        let before = stats(&here.reader(), false).expect("told").last_sequence;
        tries += 1;
        let fetched = sync::fetch(&mut here.writer(), "other", &mut peer, &mut |_, _| {});
        let after = stats(&here.reader(), false).expect("told").last_sequence;
        came += u64::from(after > before);
        if fetched.is_ok() {
            break;
        }
    }
    assert!(tries > 3 && came > 1, "{tries} tries, {came} of which brought something");
    let followed = here.reader().on("other/main", None).expect("there");
    for batch in 0..3 {
        for at in 0..5 {
            let uri = uri(&format!("n/{batch}/{at}"));
            assert_eq!(followed.history(&uri).expect("known").len(), 1, "{uri} came once");
        }
    }
    // A push whose answers are lost.
    fetch_and_merge(&mut here.writer(), "other", &there.path);
    for left in 0.. {
        let inner = LocalPeer::of(writer(&there.path)).expect("opens");
        let mut peer = Breaking { inner, left, lies: false };
        let reader = here.reader();
        let pushed = sync::push(&reader, "other", "main", &mut peer, &mut |_, _| {});
        if let Ok(pushed) = pushed {
            sync::note(&mut here.writer(), &pushed).expect("noted");
            break;
        }
    }
    assert_eq!(there.reader().history(&uri("own")).expect("known").len(), 1);
    assert_eq!(push(&here.path, "other", &there.path).expect("pushed"), 0, "nothing is left");
    assert_whole(&here.path);
    assert_whole(&there.path);
}

#[test]
fn vectors_travel_with_their_records() {
    let (here, there) = (Fixture::new(), Fixture::new());
    let model = Plain::new("plain");
    there
        .writer()
        .put_many(vec![named("a", "a cat sleeps"), named("b", "a red ship")])
        .expect("put");
    fill(&there.path, &model);
    here.writer().put(named("c", "the dog barks")).expect("put");
    fill(&here.path, &model);
    let made = model.made();
    remote::add(&mut here.writer(), "other", &there.path.display().to_string()).expect("added");
    fetch_and_merge(&mut here.writer(), "other", &there.path);
    let coverage = here.reader().coverage().expect("counted");
    assert_eq!(coverage.missing, 0, "{coverage:?}");
    assert_eq!(model.made(), made, "none was made anew");
    let by_meaning = FindRequest { mode: SearchMode::Meaning, ..FindRequest::new("feline") };
    let found = here.reader().find_with(&by_meaning, Some(&model)).expect("found");
    assert_eq!(found.hits[0].record.uri, uri("a"));
    // The other way.
    push(&here.path, "other", &there.path).expect("pushed");
    let coverage = there.reader().coverage().expect("counted");
    assert_eq!((coverage.missing, coverage.vectors), (0, 3), "{coverage:?}");
}

/// Puts a file of two bytes.
fn put_file(fixture: &Fixture) {
    let mut w = fixture.writer();
    let names = kapsa_memory::ContentNames::default();
    let content =
        kapsa_memory::split_content(names, &mut &[0xff, 0][..], &mut |_| {}, &mut |blobs| {
            blobs.store(&mut w).map(drop)
        });
    let content = Some(content.expect("stored"));
    w.put(kapsa_memory::NewRecord { content, ..named("file/a", "a file") }).expect("put");
}

#[test]
fn a_record_whose_file_did_not_come_is_refused() {
    let (here, there) = (Fixture::new(), Fixture::new());
    put_file(&here);
    remote::add(&mut here.writer(), "other", &there.path.display().to_string()).expect("added");
    let push = |lies| {
        let inner = LocalPeer::of(there.writer()).expect("opens");
        let mut peer = Breaking { inner, left: usize::MAX, lies };
        sync::push(&here.reader(), "other", "main", &mut peer, &mut |_, _| {})
    };
    let refused = push(true).expect_err("it says that it has the blobs, and has none");
    assert!(matches!(refused, kapsa_memory::Error::ContentMissing), "{refused}");
    assert!(there.reader().get(&uri("file/a")).is_err(), "nothing came");
    push(false).expect("pushed");
    assert!(there.reader().get(&uri("file/a")).expect("there").content.is_some());
}

#[test]
fn blobs_that_were_not_asked_for_are_refused() {
    let (here, there) = (Fixture::new(), Fixture::new());
    put_file(&there);
    remote::add(&mut here.writer(), "other", &there.path.display().to_string()).expect("added");
    let fetch = |lies| {
        let inner = LocalPeer::open(&there.path).expect("opens");
        let mut peer = Breaking { inner, left: usize::MAX, lies };
        sync::fetch(&mut here.writer(), "other", &mut peer, &mut |_, _| {})
    };
    assert!(fetch(true).expect_err("refused").to_string().contains("something else than the blob"));
    assert!(here.reader().on("other/main", None).is_err(), "nothing came");
    assert_eq!(fetch(false).expect("fetched").records, 1);
}
