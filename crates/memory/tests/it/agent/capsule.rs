//! What only stores in a capsule do: survive, keep a history, branch, and stay out of the way of other memories.

use std::time::Duration;

use kapsa_memory::agent::{
    CapsuleEpisodicStore, CapsuleFactStore, CapsuleHome, CapsuleInsightStore, EpisodeQuery, EpisodicStore, Fact, FactQuery,
    FactStore, InsightQuery, InsightStore, TOUCHES_UNSAVED_MAX,
};
use kapsa_memory::{Choice, Error, FindRequest, MergeRequest, MergeResult, NewRecord, TimelineRequest, WriteOptions, optimize};

use super::{DAY, Place, World, episode, fact, fact_ids, insight, writer};
use crate::{Fixture, clock, named, uri};

fn home(f: &Fixture) -> CapsuleHome {
    CapsuleHome::new(&f.path, WriteOptions::new(clock))
}

#[test]
fn everything_survives_reopening() {
    for place in [Place::Capsule, Place::Branch] {
        let world = World::new(&place);
        world.facts.store(&fact("f1", "Acme has 200 employees")).expect("stored");
        world.facts.touch(&["f1"], DAY * 9).expect("counted");
        world.episodes.store(&episode("e1", 5)).expect("stored");
        world.insights.store(&insight("i1", "x")).expect("stored");
        let world = world.reopened();
        let known = Fact { access_count: 1, last_accessed: Some(DAY * 9), ..fact("f1", "Acme has 200 employees") };
        assert_eq!(world.facts.get("f1").expect("asked"), Some(known), "{}", world.name);
        assert_eq!(world.episodes.query(&EpisodeQuery::of("cro")).expect("asked"), [episode("e1", 5)]);
        assert_eq!(world.insights.query(&InsightQuery::of("cro")).expect("asked"), [insight("i1", "x")]);
    }
}

#[test]
fn an_update_is_a_revision_and_a_removal_a_tombstone() {
    let f = Fixture::new();
    let facts = CapsuleFactStore::new(home(&f));
    facts.store(&fact("f1", "port 5433")).expect("stored");
    facts.update(&fact("f1", "port 5434")).expect("updated");
    facts.delete("f1").expect("deleted");
    let history = f.reader().history(&uri("fact/f1")).expect("kept");
    let told: Vec<(&str, bool)> = history.iter().map(|record| (record.text.as_str(), record.tombstone)).collect();
    assert_eq!(told, [("port 5433", false), ("port 5434", false), ("", true)]);
}

#[test]
fn a_fact_is_a_memory_like_any_other() {
    let f = Fixture::new();
    let facts = CapsuleFactStore::new(home(&f));
    let known = Fact { entity: "acme".into(), domain: "revenue".into(), source: "cro".into(), ..fact("f1", "The port is 5433.") };
    facts.store(&known).expect("stored");
    let record = f.reader().get(&uri("fact/f1")).expect("there");
    assert_eq!((record.kind.as_str(), record.text.as_str(), record.label.as_str()), ("fact", "The port is 5433.", "internal"));
    assert_eq!((record.entity.as_str(), record.domain.as_str(), record.agent.as_str()), ("acme", "revenue", "cro"));
    assert_eq!((record.confidence, record.created_at), (Some(1.0), DAY));
    assert_eq!(f.texts("which port?"), ["The port is 5433."]);
}

#[test]
fn counts_are_no_memories_and_cost_no_commit_of_their_own() {
    let f = Fixture::new();
    let facts = CapsuleFactStore::new(home(&f));
    facts.store(&fact("f1", "The port is 5433.")).expect("stored");
    let commits = || f.reader().stats(false).expect("counted").commit_count;
    let before = commits();
    for n in 1..TOUCHES_UNSAVED_MAX {
        facts.touch(&["f1"], n as i64).expect("counted");
    }
    assert_eq!(commits(), before);
    facts.touch(&["f1"], 0).expect("counted");
    assert_eq!(commits(), before + 1, "saved when there are many");
    facts.touch(&["f1"], 0).expect("counted");
    facts.store(&fact("f2", "x")).expect("stored");
    assert_eq!(commits(), before + 2, "saved with the next write");
    facts.flush().expect("nothing to save");
    assert_eq!(commits(), before + 2);
    let told = facts.get("f1").expect("asked").map(|fact| (fact.access_count, fact.last_accessed));
    assert_eq!(told, Some((TOUCHES_UNSAVED_MAX + 1, Some(TOUCHES_UNSAVED_MAX as i64 - 1))));
    let reader = f.reader();
    let kinds: Vec<String> = reader.timeline(&TimelineRequest::default()).expect("listed").into_iter().map(|r| r.kind).collect();
    assert_eq!(kinds, ["fact", "fact"], "no list shows counts");
    let found = reader.find(&FindRequest { fallback: true, ..FindRequest::new("257 access f1") }).expect("searched");
    assert!(found.hits.iter().all(|hit| hit.record.kind == "fact"), "no search finds them");
    assert_eq!(reader.history(&uri("fact/f1")).expect("kept").len(), 1, "the fact was not written again");
    assert_eq!(reader.stats(true).expect("counted").uri_count, Some(2));
    f.assert_whole();
}

#[test]
fn who_reads_does_not_wait_for_one_who_writes() {
    let f = Fixture::new();
    let facts = CapsuleFactStore::new(home(&f));
    facts.store(&fact("f1", "x")).expect("stored");
    let other = writer(&f.path);
    for _ in 0..TOUCHES_UNSAVED_MAX * 2 {
        facts.touch(&["f1"], DAY).expect("counted, to be saved later");
    }
    assert!(facts.flush().is_err(), "who asks for it is told");
    drop(other);
    facts.flush().expect("saved");
    let told = CapsuleFactStore::new(home(&f)).get("f1").expect("asked").map(|fact| fact.access_count);
    assert_eq!(told, Some(TOUCHES_UNSAVED_MAX * 2));
}

#[test]
fn a_branch_sees_what_it_left_and_main_what_is_merged() {
    let f = Fixture::new();
    let on_main = CapsuleFactStore::new(home(&f));
    on_main.store(&fact("f1", "one")).expect("stored");
    on_main.store(&fact("f2", "two")).expect("stored");
    writer(&f.path).create_branch("idea", "main", None).expect("made");
    let on_branch = CapsuleFactStore::new(home(&f).on("idea"));
    let contents = |store: &CapsuleFactStore| -> Vec<String> {
        store.query(&FactQuery::default()).expect("asked").into_iter().map(|fact| fact.content).collect()
    };
    on_branch.update(&fact("f1", "one, revised")).expect("updated");
    on_branch.store(&fact("f3", "three")).expect("stored");
    on_branch.touch(&["f1", "f2"], DAY).expect("counted");
    on_main.touch(&["f1", "f2"], DAY).expect("counted");
    on_branch.flush().expect("saved");
    on_main.flush().expect("saved");
    assert_eq!(contents(&on_branch), ["one, revised", "two", "three"]);
    assert_eq!(contents(&on_main), ["one", "two"]);
    let request = MergeRequest { from: "idea".into(), to: "main".into(), ..MergeRequest::default() };
    let merged = writer(&f.path).merge(&request).expect("merged");
    assert!(matches!(merged, MergeResult::Done(_)), "counts never conflict: {merged:?}");
    assert_eq!(contents(&on_main), ["one, revised", "two", "three"]);
    f.assert_whole();
}

#[test]
fn of_revisions_that_contest_each_other_the_newest_counts() {
    let f = Fixture::new();
    let on_main = CapsuleFactStore::new(home(&f));
    on_main.store(&fact("f1", "port 1")).expect("stored");
    writer(&f.path).create_branch("idea", "main", None).expect("made");
    CapsuleFactStore::new(home(&f).on("idea")).update(&fact("f1", "port 2")).expect("updated");
    on_main.update(&fact("f1", "port 3")).expect("updated");
    let rule = Some(Choice::Contested);
    let request = MergeRequest { from: "idea".into(), to: "main".into(), rule, ..MergeRequest::default() };
    assert!(matches!(writer(&f.path).merge(&request).expect("merged"), MergeResult::Done(_)));
    assert_eq!(f.texts("port").len(), 2, "both are visible as memories");
    let found = on_main.query(&FactQuery::default()).expect("asked");
    assert_eq!(fact_ids(&found), ["f1"], "one fact, one answer");
    assert_eq!(on_main.get("f1").expect("asked").as_ref(), found.first());
}

#[test]
fn a_capsule_that_is_not_there_holds_nothing_until_something_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("new.kapsa");
    let home = CapsuleHome::new(&path, WriteOptions::new(clock));
    let facts = CapsuleFactStore::new(home.clone());
    assert_eq!(facts.query(&FactQuery::default()).expect("asked"), []);
    assert_eq!(facts.get("f1").expect("asked"), None);
    facts.delete("f1").expect("nothing to delete");
    assert_eq!(CapsuleInsightStore::new(home.clone()).find_similar("cro", "a b c").expect("asked"), None);
    assert!(!path.exists(), "no question makes a file");
    facts.store(&fact("f1", "x")).expect("stored");
    assert!(path.exists());
    let missing = CapsuleEpisodicStore::new(home.on("missing"));
    assert!(matches!(missing.query(&EpisodeQuery::of("cro")), Err(Error::BranchNotFound { .. })));
    assert!(matches!(missing.store(&episode("e", 1)), Err(Error::BranchNotFound { .. })));
}

#[test]
fn records_of_other_tools_are_no_facts_unless_they_say_so() {
    let f = Fixture::new();
    let mut w = f.writer();
    w.put(named("fact/note", "a note")).expect("put");
    w.put(NewRecord { kind: "fact".into(), ..named("elsewhere/1", "a fact elsewhere") }).expect("put");
    w.put(NewRecord { kind: "fact".into(), ..named("fact/bare", "a bare fact") }).expect("put");
    let odd = NewRecord { kind: "fact".into(), label: "cosmic".into(), ..named("fact/odd", "an odd one") };
    w.put(odd).expect("put");
    drop(w);
    let facts = CapsuleFactStore::new(home(&f));
    let found = facts.query(&FactQuery::default()).expect("asked");
    assert_eq!(fact_ids(&found), ["bare", "odd"]);
    assert_eq!(found[1].classification, kapsa_memory::access::Classification::Restricted, "what is not understood is not shown");
    assert_eq!(facts.get("note").expect("asked"), None);
}

#[test]
fn threads_and_stores_share_one_capsule() {
    let f = Fixture::new();
    let patient = WriteOptions { lock_timeout: Duration::from_secs(30), ..WriteOptions::new(clock) };
    let home = CapsuleHome::new(&f.path, patient);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let home = home.clone();
            scope.spawn(move || {
                let (facts, insights) = (CapsuleFactStore::new(home.clone()), CapsuleInsightStore::new(home));
                for n in 0..5 {
                    facts.store(&fact(&format!("f{thread}-{n}"), "x")).expect("stored");
                    facts.touch(&[&format!("f{thread}-{n}")], DAY).expect("counted");
                    insights.store(&insight(&format!("i{thread}-{n}"), "x")).expect("stored");
                }
            });
        }
    });
    let facts = CapsuleFactStore::new(home);
    let found = facts.query(&FactQuery { limit: 100, ..FactQuery::default() }).expect("asked");
    assert_eq!(found.len(), 20);
    assert!(found.iter().all(|fact| fact.access_count == 1), "{found:?}");
    f.assert_whole();
}

#[test]
fn more_that_have_the_words_than_are_put_in_order() {
    let f = Fixture::new();
    let facts = CapsuleFactStore::new(home(&f));
    // The first ones are long: a search by words, which puts the short ones first, does not come to them.
    let long = |n: usize| fact(&format!("f{n}"), &format!("What all have in common is {}", "much ".repeat(50)));
    facts.store_many(&[long(0), long(1), long(2)]).expect("stored");
    optimize(&f.path, &WriteOptions::new(clock), &mut |_, _| {}).expect("optimised");
    let short: Vec<Fact> = (3..4200).map(|n| fact(&format!("f{n}"), &format!("What all have in common is {n}"))).collect();
    facts.store_many(&short).expect("stored");
    facts.update(&long(1)).expect("updated");
    let query = FactQuery { text: "all have in common is".into(), limit: 3, ..FactQuery::default() };
    assert_eq!(fact_ids(&facts.query(&query).expect("asked")), ["f0", "f1", "f2"]);
    let last = FactQuery { text: "all have in common is 4199".into(), ..query };
    assert_eq!(fact_ids(&facts.query(&last).expect("asked")), ["f4199"]);
}
