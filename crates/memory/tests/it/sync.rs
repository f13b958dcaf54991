//! Clones, pulls and pushes between real capsules.

use std::path::Path;

use kapsa_memory::{
    MergeRequest, MergeResult, NewCheckpoint, Reader, Relation, WriteOptions, Writer, branch,
    checkpoint, clone, merge, stats, sync,
};

use crate::{Fixture, clock, named, uri};

fn text(path: &Path, branch: &str, name: &str) -> Option<String> {
    let reader = Reader::open(path).expect("opens").on(branch, None).expect("a branch");
    reader.get(&uri(name)).ok().map(|record| record.text)
}

fn writer(path: &Path) -> Writer {
    Writer::open(path, WriteOptions::new(clock)).expect("opens for writing")
}

fn pull(to: &Path, from: &Path) -> kapsa_memory::Pulled {
    sync::pull(&mut writer(to), from, "other", &mut |_, _| {}).expect("pulled")
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

#[test]
fn where_both_went_on_the_others_records_come_as_branches() {
    let (fixture, copy) = pair();
    fixture.writer().put(named("a", "fact a of here")).expect("put");
    let mut w = writer(&copy);
    w.put(named("a", "fact a of there")).expect("put");
    w.switch("run/1").expect("open");
    w.put(named("a", "fact a of the run there")).expect("put");
    branch::create(&mut w, "run/2", "run/1", None).expect("made");
    w.switch("run/2").expect("open");
    w.put(named("c", "fact c")).expect("put");
    branch::archive(&mut w, "run/2").expect("archived");
    drop(w);
    let pulled = pull(&fixture.path, &copy);
    assert_eq!((pulled.relation, pulled.records), (Relation::Forked, 5));
    assert_eq!(pulled.branches, ["other/main", "other/run/1", "other/run/2"]);
    let told = |branch: &str, name: &str| text(&fixture.path, branch, name);
    assert_eq!(told("main", "a").as_deref(), Some("fact a of here"));
    assert_eq!(told("other/main", "a").as_deref(), Some("fact a of there"));
    assert_eq!(told("other/run/1", "a").as_deref(), Some("fact a of the run there"));
    assert_eq!(told("other/run/2", "a").as_deref(), Some("fact a of the run there"));
    assert_eq!(told("other/run/2", "c").as_deref(), Some("fact c"));
    assert_eq!(told("run/1", "a").as_deref(), Some("fact a"));
    let reader = Reader::open(&fixture.path).expect("opens");
    let branches = branch::list(&reader).expect("listed");
    let run = branches.iter().find(|branch| branch.name == "other/run/2").expect("listed");
    assert_eq!((run.parent.as_deref(), run.archived), (Some("other/run/1"), true));

    let again = pull(&fixture.path, &copy);
    assert_eq!((again.relation, again.records), (Relation::UpToDate, 0));
    writer(&copy).put(named("d", "fact d")).expect("put");
    assert_eq!(pull(&fixture.path, &copy).records, 1, "only what is missing comes");
    assert_eq!(told("other/main", "d").as_deref(), Some("fact d"));
    let request = MergeRequest {
        from: "other/main".to_string(),
        to: "main".to_string(),
        ..MergeRequest::default()
    };
    let MergeResult::Conflicts(plan) =
        merge::merge(&mut fixture.writer(), &request).expect("planned")
    else {
        panic!("a conflict")
    };
    assert_eq!(plan.conflicts().count(), 1);
    assert_whole(&fixture.path);
}

#[test]
fn a_stranger_and_one_under_anothers_name_are_refused() {
    let (fixture, copy) = pair();
    let stranger = Fixture::new();
    stranger.writer().put(named("x", "fact x")).expect("put");
    assert!(sync::pull(&mut fixture.writer(), &stranger.path, "other", &mut |_, _| {}).is_err());
    let second = copy.with_file_name("second.kapsa");
    clone(&copy, &second, &mut |_, _| {}).expect("cloned");
    fixture.writer().put(named("a", "fact a of here")).expect("put");
    writer(&copy).put(named("a", "fact a of there")).expect("put");
    writer(&second).put(named("a", "fact a of elsewhere")).expect("put");
    pull(&fixture.path, &copy);
    let before = std::fs::read(&fixture.path).expect("readable");
    assert!(sync::pull(&mut fixture.writer(), &second, "other", &mut |_, _| {}).is_err());
    assert_eq!(std::fs::read(&fixture.path).expect("readable"), before);
    assert_eq!(
        sync::pull(&mut fixture.writer(), &second, "second", &mut |_, _| {})
            .expect("pulled")
            .relation,
        Relation::Forked
    );
    let empty = Fixture::new();
    let all = sync::pull(&mut empty.writer(), &copy, "other", &mut |_, _| {}).expect("pulled");
    assert_eq!(
        (all.relation, chain(&empty.path)),
        (Relation::FastForward, chain(&copy)),
        "an empty capsule takes a whole history"
    );
}
