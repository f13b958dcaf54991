//! What only stores in a capsule do: survive, keep a history, branch, and stay out of the way of
//! other memories.

use std::time::Duration;

use kapsa_agents::{
    CapsuleEpisodicStore, CapsuleFactStore, CapsuleInsightStore, Episode, EpisodeQuery,
    EpisodicStore, Fact, FactQuery, FactStore, Insight, InsightQuery, InsightStore, StoreLocation,
    TOUCHES_UNSAVED_MAX,
};
use kapsa_memory::access::{Access, Classification, ClearanceProfile};
use kapsa_memory::{
    AsOf, Error, FindRequest, MergeRequest, MergeResult, NewRecord, TimelineRequest, WriteOptions,
    branch, merge, optimize, stats,
};

use super::{DAY, Place, World, episode, fact, fact_ids, insight, writer};
use crate::{Fixture, clock, named, uri};

fn location(f: &Fixture) -> StoreLocation {
    StoreLocation::new(&f.path, WriteOptions::new(clock))
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
        let known = Fact {
            access_count: 1,
            last_accessed: Some(DAY * 9),
            ..fact("f1", "Acme has 200 employees")
        };
        assert_eq!(world.facts.get("f1").expect("asked"), Some(known), "{}", world.name);
        assert_eq!(
            world.episodes.query(&EpisodeQuery::of("cro")).expect("asked"),
            [episode("e1", 5)]
        );
        assert_eq!(
            world.insights.query(&InsightQuery::of("cro")).expect("asked"),
            [insight("i1", "x")]
        );
    }
}

#[test]
fn an_update_is_a_revision_and_a_removal_a_tombstone() {
    let f = Fixture::new();
    let facts = CapsuleFactStore::new(location(&f));
    facts.store(&fact("f1", "port 5433")).expect("stored");
    facts.update(&fact("f1", "port 5434")).expect("updated");
    facts.delete("f1").expect("deleted");
    let history = f.reader().history(&uri("fact/f1")).expect("kept");
    let told: Vec<(&str, bool)> =
        history.iter().map(|record| (record.text.as_str(), record.tombstone)).collect();
    assert_eq!(told, [("port 5433", false), ("port 5434", false), ("", true)]);
}

#[test]
fn a_fact_is_a_memory_like_any_other() {
    let f = Fixture::new();
    let facts = CapsuleFactStore::new(location(&f));
    let known = Fact {
        entity: "acme".into(),
        domain: "revenue".into(),
        source: "cro".into(),
        ..fact("f1", "The port is 5433.")
    };
    facts.store(&known).expect("stored");
    let record = f.reader().get(&uri("fact/f1")).expect("there");
    assert_eq!(
        (record.kind.as_str(), record.text.as_str(), &record.access),
        ("fact", "The port is 5433.", &None)
    );
    assert_eq!(
        (record.entity.as_str(), record.domain.as_str(), record.agent.as_str()),
        ("acme", "revenue", "cro")
    );
    assert_eq!((record.confidence, record.created_at), (Some(1.0), DAY));
    assert_eq!(f.texts("which port?"), ["The port is 5433."]);
}

#[test]
fn counts_are_no_memories_and_cost_no_commit_of_their_own() {
    let f = Fixture::new();
    let facts = CapsuleFactStore::new(location(&f));
    facts.store(&fact("f1", "The port is 5433.")).expect("stored");
    let commits = || stats(&f.reader(), false).expect("counted").commit_count;
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
    let kinds: Vec<String> = reader
        .timeline(&TimelineRequest::default())
        .expect("listed")
        .into_iter()
        .map(|r| r.kind)
        .collect();
    assert_eq!(kinds, ["fact", "fact"], "no list shows counts");
    let found = reader
        .find(&FindRequest { fallback: true, ..FindRequest::new("257 access f1") })
        .expect("searched");
    assert!(found.hits.iter().all(|hit| hit.record.kind == "fact"), "no search finds them");
    assert_eq!(
        reader.history(&uri("fact/f1")).expect("kept").len(),
        1,
        "the fact was not written again"
    );
    assert_eq!(stats(&reader, true).expect("counted").uri_count, Some(2));
    f.assert_whole();
}

#[test]
fn who_reads_does_not_wait_for_one_who_writes() {
    let f = Fixture::new();
    let facts = CapsuleFactStore::new(location(&f));
    facts.store(&fact("f1", "x")).expect("stored");
    let other = writer(&f.path);
    for _ in 0..TOUCHES_UNSAVED_MAX * 2 {
        facts.touch(&["f1"], DAY).expect("counted, to be saved later");
    }
    assert!(facts.flush().is_err(), "who asks for it is told");
    drop(other);
    facts.flush().expect("saved");
    let told =
        CapsuleFactStore::new(location(&f)).get("f1").expect("asked").map(|fact| fact.access_count);
    assert_eq!(told, Some(TOUCHES_UNSAVED_MAX * 2));
}

#[test]
fn a_branch_sees_what_it_left_and_main_what_is_merged() {
    let f = Fixture::new();
    let on_main = CapsuleFactStore::new(location(&f));
    on_main.store(&fact("f1", "one")).expect("stored");
    on_main.store(&fact("f2", "two")).expect("stored");
    branch::create(&mut writer(&f.path), "idea", "main", None).expect("made");
    let on_branch = CapsuleFactStore::new(location(&f).on("idea"));
    let contents = |store: &CapsuleFactStore| -> Vec<String> {
        store
            .query(&FactQuery::default())
            .expect("asked")
            .into_iter()
            .map(|fact| fact.content)
            .collect()
    };
    on_branch.update(&fact("f1", "one, revised")).expect("updated");
    on_branch.store(&fact("f3", "three")).expect("stored");
    on_branch.touch(&["f1", "f2"], DAY).expect("counted");
    on_main.touch(&["f1", "f2"], DAY).expect("counted");
    on_branch.flush().expect("saved");
    on_main.flush().expect("saved");
    assert_eq!(contents(&on_branch), ["one, revised", "two", "three"]);
    assert_eq!(contents(&on_main), ["one", "two"]);
    let request =
        MergeRequest { from: "idea".into(), to: "main".into(), ..MergeRequest::default() };
    let merged = merge::merge(&mut writer(&f.path), &request).expect("merged");
    assert!(matches!(merged, MergeResult::Done(_)), "counts never conflict: {merged:?}");
    assert_eq!(contents(&on_main), ["one, revised", "two", "three"]);
    f.assert_whole();
}

#[test]
fn of_revisions_that_contest_each_other_the_newest_counts() {
    let f = Fixture::new();
    let on_main = CapsuleFactStore::new(location(&f));
    on_main.store(&fact("f1", "port 1")).expect("stored");
    branch::create(&mut writer(&f.path), "idea", "main", None).expect("made");
    CapsuleFactStore::new(location(&f).on("idea")).update(&fact("f1", "port 2")).expect("updated");
    on_main.update(&fact("f1", "port 3")).expect("updated");
    crate::merge_contested(&f, "idea");
    assert_eq!(f.texts("port").len(), 2, "both are visible as memories");
    let found = on_main.query(&FactQuery::default()).expect("asked");
    assert_eq!(fact_ids(&found), ["f1"], "one fact, one answer");
    assert_eq!(on_main.get("f1").expect("asked").as_ref(), found.first());
}

#[test]
fn a_capsule_that_is_not_there_holds_nothing_until_something_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("new.kapsa");
    let location = StoreLocation::new(&path, WriteOptions::new(clock));
    let facts = CapsuleFactStore::new(location.clone());
    assert_eq!(facts.query(&FactQuery::default()).expect("asked"), []);
    assert_eq!(facts.get("f1").expect("asked"), None);
    facts.delete("f1").expect("nothing to delete");
    assert_eq!(
        CapsuleInsightStore::new(location.clone()).find_similar("cro", "a b c").expect("asked"),
        None
    );
    assert!(!path.exists(), "no question makes a file");
    facts.store(&fact("f1", "x")).expect("stored");
    assert!(path.exists());
    let missing = CapsuleEpisodicStore::new(location.on("missing"));
    assert!(matches!(missing.query(&EpisodeQuery::of("cro")), Err(Error::BranchNotFound { .. })));
    assert!(matches!(missing.store(&episode("e", 1)), Err(Error::BranchNotFound { .. })));
}

#[test]
fn records_of_other_tools_are_no_facts_unless_they_say_so() {
    let f = Fixture::new();
    let mut w = f.writer();
    w.put(named("fact/note", "a note")).expect("put");
    w.put(NewRecord { kind: "fact".into(), ..named("elsewhere/1", "a fact elsewhere") })
        .expect("put");
    w.put(NewRecord { kind: "fact".into(), ..named("fact/bare", "a bare fact") }).expect("put");
    let secret = NewRecord {
        access: Some(Access::level(Classification::Confidential)),
        ..named("fact/secret", "a secret one")
    };
    w.put(NewRecord { kind: "fact".into(), ..secret }).expect("put");
    drop(w);
    let facts = CapsuleFactStore::new(location(&f));
    let found = facts.query(&FactQuery::default()).expect("asked");
    assert_eq!(fact_ids(&found), ["bare", "secret"]);
    let levels: Vec<Classification> = found.iter().map(|fact| fact.classification).collect();
    assert_eq!(
        levels,
        [Classification::Internal, Classification::Confidential],
        "the level is the record's own"
    );
    assert_eq!(facts.get("note").expect("asked"), None);
}

#[test]
fn threads_and_stores_share_one_capsule() {
    let f = Fixture::new();
    let patient =
        WriteOptions { lock_timeout: Duration::from_secs(30), ..WriteOptions::new(clock) };
    let location = StoreLocation::new(&f.path, patient);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let location = location.clone();
            scope.spawn(move || {
                let (facts, insights) =
                    (CapsuleFactStore::new(location.clone()), CapsuleInsightStore::new(location));
                for n in 0..5 {
                    facts.store(&fact(&format!("f{thread}-{n}"), "x")).expect("stored");
                    facts.touch(&[&format!("f{thread}-{n}")], DAY).expect("counted");
                    insights.store(&insight(&format!("i{thread}-{n}"), "x")).expect("stored");
                }
            });
        }
    });
    let facts = CapsuleFactStore::new(location);
    let found = facts.query(&FactQuery { limit: 100, ..FactQuery::default() }).expect("asked");
    assert_eq!(found.len(), 20);
    assert!(found.iter().all(|fact| fact.access_count == 1), "{found:?}");
    f.assert_whole();
}

#[test]
fn more_that_have_the_words_than_are_put_in_order() {
    let f = Fixture::new();
    let facts = CapsuleFactStore::new(location(&f));
    // The first ones are long: a search by words, which puts the short ones first, does not come to
    // them.
    let long = |n: usize| {
        fact(&format!("f{n}"), &format!("What all have in common is {}", "much ".repeat(50)))
    };
    facts.store_many(&[long(0), long(1), long(2)]).expect("stored");
    optimize(&f.path, &WriteOptions::new(clock), &mut |_, _| {}).expect("optimised");
    let short: Vec<Fact> = (3..4200)
        .map(|n| fact(&format!("f{n}"), &format!("What all have in common is {n}")))
        .collect();
    facts.store_many(&short).expect("stored");
    facts.update(&long(1)).expect("updated");
    let query =
        FactQuery { text: "all have in common is".into(), limit: 3, ..FactQuery::default() };
    assert_eq!(fact_ids(&facts.query(&query).expect("asked")), ["f0", "f1", "f2"]);
    let last = FactQuery { text: "all have in common is 4199".into(), ..query };
    assert_eq!(fact_ids(&facts.query(&last).expect("asked")), ["f4199"]);
}

/// What facts, episodes and insights are to principals is decided by the capsule, whichever way
/// they ask.
#[test]
fn levels_of_facts_are_those_of_records() {
    let f = Fixture::new();
    let of = |id: &str, domain: &str, classification, named: &[&str]| Fact {
        domain: domain.into(),
        classification,
        named: named.iter().map(ToString::to_string).collect(),
        ..fact(id, &format!("Acme is {id}"))
    };
    let facts = CapsuleFactStore::new(location(&f));
    let all = [
        of("public", "hr", Classification::Public, &[]),
        of("internal", "revenue", Classification::Internal, &[]),
        of("secret", "revenue", Classification::Confidential, &[]),
        of("board", "revenue", Classification::Restricted, &["cfo"]),
        of("salary", "hr", Classification::Internal, &[]),
    ];
    facts.store_many(&all).expect("stored");
    let own = Episode {
        domain: "revenue".into(),
        classification: Classification::Confidential,
        ..episode("e1", 1)
    };
    CapsuleEpisodicStore::new(location(&f)).store(&own).expect("stored");
    CapsuleInsightStore::new(location(&f))
        .store(&Insight {
            domain: "revenue".into(),
            classification: Classification::Restricted,
            ..insight("i1", "x")
        })
        .expect("stored");
    for settled in [false, true] {
        for (level, known, own) in [
            (Classification::Internal, vec!["public", "internal"], 0),
            (Classification::Confidential, vec!["public", "internal", "secret"], 1),
            (Classification::Restricted, vec!["public", "internal", "secret", "board"], 1),
        ] {
            let profile = ClearanceProfile::new("cfo").with("revenue", level);
            let guarded = location(&f).as_principal(profile.clone());
            let seen = CapsuleFactStore::new(guarded.clone());
            assert_eq!(
                fact_ids(&seen.query(&FactQuery::default()).expect("asked")),
                known,
                "{settled} {level}"
            );
            let narrowed = FactQuery { clearance: Some(profile.clone()), ..FactQuery::default() };
            assert_eq!(
                fact_ids(&facts.query(&narrowed).expect("asked")),
                known,
                "the same without a guard"
            );
            for fact in &all {
                let told = seen.get(&fact.id).expect("asked");
                assert_eq!(
                    told.is_some(),
                    known.contains(&fact.id.as_str()),
                    "{level} {}",
                    fact.id
                );
            }
            let episodes = CapsuleEpisodicStore::new(guarded.clone());
            assert_eq!(episodes.query(&EpisodeQuery::of("cro")).expect("asked").len(), own);
            assert_eq!(episodes.get("cro", "e1").expect("asked").is_some(), own == 1);
            let insights = CapsuleInsightStore::new(guarded);
            assert_eq!(
                insights.query(&InsightQuery::of("cro")).expect("asked"),
                [],
                "it names the agent, not the reader"
            );
            assert_eq!(insights.get("cro", "i1").expect("asked"), None);
        }
        optimize(&f.path, &WriteOptions::new(clock), &mut |_, _| {}).expect("optimised");
        assert!(!settled || stats(&f.reader(), false).expect("counted").segment_count > 0);
    }
}

#[test]
fn a_principal_writes_what_it_may_know_and_nothing_else() {
    let f = Fixture::new();
    let secret = Fact {
        domain: "revenue".into(),
        classification: Classification::Confidential,
        ..fact("secret", "x")
    };
    let facts = CapsuleFactStore::new(location(&f));
    facts.store(&secret).expect("stored");
    let guarded = CapsuleFactStore::new(
        location(&f)
            .as_principal(ClearanceProfile::new("cro").with("revenue", Classification::Internal)),
    );
    let is_denied = |result: Result<(), Error>| matches!(result, Err(Error::AccessDenied { .. }));
    let told = |id: &str| Fact { domain: "revenue".into(), ..fact(id, "told by cro") };
    guarded.store(&told("f1")).expect("stored");
    assert!(
        is_denied(
            guarded.store(&Fact { classification: Classification::Confidential, ..told("f2") })
        ),
        "above its level"
    );
    assert!(
        is_denied(guarded.store(&Fact { domain: "hr".into(), ..told("f2") })),
        "of another domain"
    );
    assert!(is_denied(guarded.store(&told("secret"))), "over what it may not know");
    guarded.delete("secret").expect("nothing is there for it");
    guarded.touch(&["secret", "f1"], DAY).expect("counted");
    guarded.flush().expect("saved");
    assert_eq!(facts.get("secret").expect("asked"), Some(secret), "nor was it counted as read");
    assert_eq!(facts.get("f1").expect("asked").map(|fact| fact.access_count), Some(1));
    assert_eq!(facts.get("f2").expect("asked"), None);
    guarded.delete("f1").expect("deleted");
    assert_eq!(facts.get("f1").expect("asked"), None);
    f.assert_whole();
}

/// What did we believe on Monday about June?
#[test]
fn two_times_are_asked_for_apart() {
    let f = Fixture::new();
    let (june, july) = (DAY * 150, DAY * 180);
    let facts = CapsuleFactStore::new(location(&f));
    facts.store(&Fact { valid_from: Some(june), ..fact("price", "It costs 10") }).expect("stored");
    let monday = stats(&f.reader(), false).expect("counted").last_sequence;
    let until =
        Fact { valid_from: Some(june), valid_to: Some(july), ..fact("price", "It cost 12") };
    facts.update(&until).expect("updated");
    let believed = |location: StoreLocation, valid_at| -> Vec<String> {
        let query = FactQuery { valid_at: Some(valid_at), ..FactQuery::default() };
        CapsuleFactStore::new(location)
            .query(&query)
            .expect("asked")
            .into_iter()
            .map(|fact| fact.content)
            .collect()
    };
    let then = location(&f).at(AsOf::Sequence(monday));
    assert_eq!(believed(then.clone(), june), ["It costs 10"]);
    assert_eq!(believed(then.clone(), july), ["It costs 10"], "on Monday nobody knew of its end");
    assert_eq!(believed(location(&f), june), ["It cost 12"]);
    assert_eq!(believed(location(&f), july), [""; 0]);
    assert_eq!(believed(then.clone(), june - 1), [""; 0]);
    let past = CapsuleFactStore::new(then);
    past.touch(&["price"], DAY).expect("not counted");
    let refused = past.store(&fact("f2", "x")).expect_err("refused");
    assert_eq!(refused.to_string(), "a past state cannot be written to");
}

/// The index knows the parts of short texts; a long one is read whenever it could have the part.
#[test]
fn parts_of_long_texts_are_found_too() {
    let f = Fixture::new();
    let facts = CapsuleFactStore::new(location(&f));
    let long = format!("{} needle {}", "hay ".repeat(1000), "hay ".repeat(1000));
    facts
        .store_many(&[fact("long", &long), fact("short", "a Needle too"), fact("none", "nothing")])
        .expect("stored");
    for settled in [false, true] {
        for (text, want) in [
            ("eedl", vec!["long", "short"]),
            ("needle hay", vec!["long"]),
            ("ne", vec!["long", "short"]),
            ("needles", vec![]),
        ] {
            let query = FactQuery { text: text.into(), ..FactQuery::default() };
            assert_eq!(fact_ids(&facts.query(&query).expect("asked")), want, "{text} {settled}");
        }
        optimize(&f.path, &WriteOptions::new(clock), &mut |_, _| {}).expect("optimised");
    }
}
