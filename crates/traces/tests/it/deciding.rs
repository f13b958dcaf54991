//! What becomes of a candidate beside what is known.

use kapsa_agents::{Fact, WorkspaceMemory};
use kapsa_memory::access::Classification;
use kapsa_memory::request::FindRequest;
use kapsa_memory::{Admission, ReviewRule, ReviewScope, Trust, WriteOptions, Writer, review};

use crate::support::{NOW, Place, actions, now, options};

#[test]
fn what_is_new_is_added_with_its_session_and_its_lines() {
    let place = Place::new();
    place.session(
        "a",
        1,
        &["hello", "decision: Use Postgres for the queue | Why: reports join it with orders."],
    );
    let report = place.sync();
    assert_eq!(actions(&report), ["add"]);
    let fact = place.fact("Use Postgres");
    assert_eq!(fact.content, "Use Postgres for the queue\nWhy: reports join it with orders.");
    assert_eq!((fact.entity.as_str(), fact.source.as_str()), ("shop", "claude/a"));
    assert_eq!(fact.tags, ["decision"]);
    assert_eq!(fact.trust, Trust::Trace);
    assert_eq!(fact.evidence.len(), 1);
    assert!(fact.evidence[0].place.ends_with("traces/a.jsonl:2"), "{}", fact.evidence[0].place);
    let found = place.reader().find(&FindRequest::new("postgres queue")).expect("it is found");
    assert_eq!(found.hits.len(), 1);
}

#[test]
fn the_same_words_of_another_session_are_evidence_and_no_memory() {
    let place = Place::new();
    for (day, id) in [(1, "a"), (2, "b"), (3, "c")] {
        place.session(id, day, &["preference: Ask before adding a dependency"]);
    }
    let report = place.sync();
    assert_eq!(actions(&report), ["add", "no_op", "no_op"]);
    let fact = place.fact("Ask before");
    assert_eq!((fact.evidence_count, fact.evidence.len()), (3, 3));
    let sources: Vec<&str> = fact.evidence.iter().map(|one| one.source.as_str()).collect();
    assert_eq!(sources, ["claude/a", "claude/b", "claude/c"]);
    assert!(fact.confidence > 0.89, "{}", fact.confidence);
}

#[test]
fn a_session_that_repeats_itself_is_one_witness() {
    let place = Place::new();
    let said = "preference: Ask before adding a dependency";
    place.session(
        "a",
        1,
        &[said, "assistant: ok", said, "preference: Please ask before adding dependencies"],
    );
    let report = place.sync();
    assert_eq!(actions(&report), ["add", "no_op", "no_op"]);
    let fact = place.fact("Ask before");
    assert_eq!((fact.evidence_count, fact.confidence), (1, 0.7));
}

#[test]
fn about_the_same_updates_where_something_is_new() {
    let place = Place::new();
    place.session("a", 1, &["constraint: Never edit files below generated"]);
    place.session("b", 2, &["constraint: Never edit files below the generated folder"]);
    place.session("c", 3, &["constraint: Never edit the files below generated, please"]);
    let report = place.sync();
    assert_eq!(actions(&report), ["add", "update", "no_op"]);
    let fact = place.fact("Never edit");
    assert_eq!(fact.content, "Never edit files below the generated folder");
    assert_eq!(fact.evidence_count, 3);
    let score = report.kept[1].decision.score;
    assert_eq!(score, 800, "four words of five");
}

#[test]
fn a_reason_that_is_new_is_added_below() {
    let place = Place::new();
    place.session(
        "a",
        1,
        &["constraint: Run the migrations before the tests of the billing service"],
    );
    place.session(
        "b",
        2,
        &["constraint: Run migrations before tests of billing service | Tests need tables."],
    );
    place.sync();
    let fact = place.fact("Run ");
    assert!(fact.content.contains("Tests need tables."), "{}", fact.content);
    assert_eq!(place.facts().len(), 1);
}

#[test]
fn what_is_about_something_else_is_added() {
    let place = Place::new();
    place.session("a", 1, &["preference: Ask before adding a dependency"]);
    place.session("b", 2, &["preference: Write commit messages in the imperative"]);
    assert_eq!(actions(&place.sync()), ["add", "add"]);
}

#[test]
fn other_repositories_are_not_compared() {
    let place = Place::new();
    place.session_in("shop", "a", 1, &["preference: Ask before adding a dependency"]);
    place.session_in("blog", "b", 2, &["preference: Ask before adding a dependency"]);
    assert_eq!(actions(&place.sync()), ["add", "add"]);
}

#[test]
fn what_nobody_can_tell_is_pending_and_somebody_decides() {
    let place = Place::new();
    place.session("a", 1, &["preference: Use pnpm, not npm"]);
    place.session("b", 2, &["preference: Use npm, not pnpm"]);
    let report = place.sync();
    let decided = actions(&report);
    assert!(
        decided == ["add", "no_op+pending"] || decided == ["add", "supersede"],
        "{decided:?}: {:?}",
        report.kept[1].decision
    );
    if decided[1] == "no_op+pending" {
        let pending = place.fact("Use npm");
        assert!(pending.pending.is_some());
        let memory = WorkspaceMemory::in_capsule(place.location(), now);
        memory.decide(&pending.id, kapsa_agents::Answer::Accept, "jo").expect("somebody decides");
        assert_eq!(place.live(), ["Use npm, not pnpm"]);
    }
}

#[test]
fn what_the_owner_wrote_is_not_changed_by_a_trace() {
    let place = Place::new();
    let memory = WorkspaceMemory::in_capsule(place.location(), now);
    let fact =
        Fact { entity: "shop".into(), ..Fact::new("f1", "Never edit files below generated", NOW) };
    memory.store_fact(&fact).expect("it is stored");
    place.session("a", 1, &["constraint: Never edit files below the generated folder"]);
    let report = place.sync();
    assert_eq!(actions(&report), ["no_op"]);
    let known = place.fact("Never edit");
    assert_eq!((known.content.as_str(), known.trust), (fact.content.as_str(), Trust::Owner));
    assert_eq!(known.evidence_count, 2);
}

#[test]
fn what_has_to_wait_is_counted_and_the_rest_goes_on() {
    let place = Place::new();
    let rule = ReviewRule {
        scope: ReviewScope { trust: Some("trace".to_string()), ..ReviewScope::default() },
        admission: Admission::Review,
    };
    let mut writer = Writer::open(&place.capsule(), WriteOptions::new(now)).expect("it opens");
    review::set_rule(&mut writer, rule).expect("a rule");
    drop(writer);
    place.session(
        "a",
        1,
        &["preference: Ask before adding a dependency", "fact: The build machine has no network"],
    );
    let report = place.sync();
    assert_eq!(actions(&report), ["add+held", "add+held"]);
    assert_eq!(place.facts(), []);
    assert_eq!(review::list(&place.reader(), 10).expect("a list").len(), 2);
    let again = place.sync_with(&kapsa_traces::SyncOptions { force: true, ..options() });
    assert_eq!(again.held(), 2);
    assert_eq!(review::list(&place.reader(), 10).expect("a list").len(), 2, "nothing waits twice");
}

#[test]
fn secrets_are_not_stored() {
    let place = Place::new();
    let secret = "ghp_0123456789abcdefABCDEF0123456789abcd";
    place.session("a", 1, &[&format!("fact: The deploy token is {secret}")]);
    place.sync();
    let fact = place.fact("The deploy");
    assert!(!fact.content.contains(secret), "{}", fact.content);
    assert_eq!(fact.classification, Classification::Internal);
    let reader = place.reader();
    drop(reader);
    let registry = place.registry();
    let (_, session) = registry.sessions("a")[0];
    let original = kapsa_traces::original_of(&place.location(), session)
        .expect("it can be read")
        .expect("it is kept");
    let text = serde_json::Value::Object(original).to_string();
    assert!(text.contains("[REDACTED:") && !text.contains(secret), "{text}");
}

#[test]
fn what_a_session_took_back_since_ends() {
    let place = Place::new();
    place.session("a", 1, &["preference: Ask before adding a dependency"]);
    place.sync();
    place.session(
        "a",
        1,
        &["reversed preference: Ask before adding a dependency", "assistant: fine"],
    );
    let report = place.sync();
    assert_eq!(report.taken_back, 1);
    assert!(place.fact("Ask before").valid_to.is_some());
}
