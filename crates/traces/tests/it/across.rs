//! Several sessions, in any order.

use kapsa_agents::Fact;
use kapsa_traces::SyncOptions;
use serde_json::json;

use crate::support::{Place, actions, options};

const BEFORE: &str = "decision: The job queue runs on Redis";
const AFTER: &str = "decision: The job queue no longer runs on Redis, it runs on Postgres now";

#[test]
fn a_decision_that_a_later_session_reverses_is_superseded_with_both_sessions_named() {
    let place = Place::new();
    // By name the later one comes first.
    place.session("b", 1, &[BEFORE]);
    place.session("a", 2, &[AFTER]);
    let report = place.sync();
    assert_eq!(actions(&report), ["add", "supersede"], "{:#?}", report.kept);
    let (old, new) = (place.fact("The job queue runs"), place.fact("The job queue no longer"));
    assert_eq!(old.superseded_by.as_deref(), Some(new.id.as_str()));
    assert_eq!(new.supersedes.as_deref(), Some(old.id.as_str()));
    assert_eq!((old.source.as_str(), new.source.as_str()), ("claude/b", "claude/a"));
    assert_eq!(place.live().len(), 1);
}

#[test]
fn a_rule_in_three_wordings_is_one_memory_of_three_sessions() {
    let place = Place::new();
    place.session("a", 1, &["preference: Please ask me before you add a dependency"]);
    place.session("b", 2, &["preference: Ask before adding new dependencies"]);
    place.session("c", 3, &["constraint: Don't add dependencies without asking me first"]);
    let report = place.sync();
    let sessions: Vec<u64> = place.facts().iter().map(|fact| fact.evidence_count).collect();
    assert_eq!(sessions, [3], "{:#?}", report.kept);
}

/// Codex names the address of the repository, Claude Code the folder alone.
#[test]
fn a_folder_is_the_repository_that_any_of_its_sessions_names() {
    let place = Place::new();
    place.session_in("shop", "a", 1, &["constraint: Never log addresses of customers"]);
    let of_codex = |payload: serde_json::Value, kind: &str| {
        format!(
            "{}\n",
            json!({"timestamp": "2026-06-02T10:00:00Z", "type": kind, "payload": payload})
        )
    };
    let git = json!({"repository_url": "git@host.example:acme/shop.git"});
    let head = json!({"id": "b", "cwd": "/src/shop", "git": git});
    let said =
        json!([{"type": "input_text", "text": "constraint: Never log addresses of customers"}]);
    let text = json!({"type": "message", "role": "user", "content": said});
    let trace = of_codex(head, "session_meta") + &of_codex(text, "response_item");
    std::fs::write(place.traces().join("rollout-b.jsonl"), trace).expect("written");
    place.sync();
    let known = |place: &Place| {
        let facts = place.facts().into_iter();
        facts.map(|fact| (fact.entity, fact.evidence_count)).collect::<Vec<_>>()
    };
    assert_eq!(known(&place), [("acme/shop".to_string(), 2)]);
    // A later session of the folder, or below it, is told so by what is noted.
    place.session_in("shop/web", "c", 3, &["constraint: Never log addresses of customers"]);
    place.sync();
    assert_eq!(known(&place), [("acme/shop".to_string(), 3)]);
}

#[test]
fn a_ban_that_shares_the_subject_alone_takes_nothing_back() {
    let place = Place::new();
    place.session(
        "a",
        1,
        &["decision: Job results stay in results.sqlite and the state in state.sqlite"],
    );
    place.session("b", 2, &["constraint: Do not turn those details into job results"]);
    place.session("c", 3, &["constraint: Never ship on fridays"]);
    place.session("d", 4, &["decision: We ship on mondays"]);
    assert_eq!(actions(&place.sync()), ["add"; 4]);
}

#[test]
fn an_older_session_that_is_read_later_supersedes_nothing() {
    let in_order = Place::new();
    in_order.session("b", 1, &[BEFORE]);
    in_order.session("a", 2, &[AFTER]);
    in_order.sync();

    let place = Place::new();
    place.session("a", 2, &[AFTER]);
    place.sync();
    place.session("b", 1, &[BEFORE]);
    let report = place.sync();
    assert_eq!(report.actions().get("supersede"), None, "{:#?}", report.kept);
    assert_eq!(place.live(), in_order.live());
}

#[test]
fn a_replay_of_a_session_is_no_second_witness() {
    let place = Place::new();
    let said = ["preference: Ask before adding a dependency"];
    let first = place.session("a", 1, &said);
    place.sync();
    // A fork: other ids, the same words at the same time.
    let fork = place.session("b", 1, &said);
    std::fs::rename(fork, place.traces().join("fork.jsonl")).expect("it can be moved");
    let report = place.sync();
    assert_eq!(actions(&report), ["no_op"]);
    assert_eq!(place.fact("Ask before").evidence_count, 1);
    assert!(first.is_file());
}

#[test]
fn files_in_any_order_make_the_same_memories() {
    let sessions = [
        ("a", 5, "preference: Ask before adding a dependency"),
        ("b", 3, "preference: Please ask before adding any dependencies"),
        ("c", 4, "fact: The build machine has no network"),
        ("d", 1, "fact: The build machine has no network access"),
        ("e", 2, "decision: Use Postgres for the queue"),
    ];
    let told = |names: [usize; 5]| {
        let place = Place::new();
        for at in names {
            let (id, day, said) = sessions[at];
            place.session(&format!("{}{id}", 5 - at), day, &[said]);
        }
        place.sync();
        texts(place.facts())
    };
    let once = told([0, 1, 2, 3, 4]);
    assert_eq!(once, told([4, 3, 2, 1, 0]));
    assert_eq!(once.len(), 3, "{once:?}");
}

fn texts(facts: Vec<Fact>) -> Vec<(String, u64)> {
    let mut all: Vec<(String, u64)> =
        facts.into_iter().map(|fact| (fact.content, fact.evidence_count)).collect();
    all.sort();
    all
}

#[test]
fn a_window_and_a_limit_leave_sessions_for_later() {
    let place = Place::new();
    place.session("a", 1, &["fact: The build machine has no network"]);
    place.session("b", 20, &["preference: Ask before adding a dependency"]);
    let june_10 = 1_781_049_600_000_000;
    let windowed = place.sync_with(&SyncOptions { until: Some(june_10), ..options() });
    assert_eq!((windowed.sessions, windowed.sessions_of_other_time), (1, 1));
    assert_eq!(place.live(), ["The build machine has no network"]);
    assert_eq!(place.sync().sessions, 1, "what was left is read by the next call");
    assert_eq!(place.live().len(), 2);
    let limited = Place::new();
    limited.session("a", 1, &["fact: The build machine has no network"]);
    limited.session("b", 2, &["preference: Ask before adding a dependency"]);
    let first = limited.sync_with(&SyncOptions { sessions_max: Some(1), ..options() });
    assert_eq!((first.sessions, first.left), (1, 1));
    assert_eq!(limited.sync().sessions, 1);
    assert_eq!(limited.live().len(), 2);
}

#[test]
fn the_programs_own_sessions_are_never_read() {
    let place = Place::new();
    let prompt = format!("{} Find memories", kapsa_extract::EXTRACTION_MARK);
    place.session("a", 1, &[&prompt, "fact: The build machine has no network"]);
    let report = place.sync();
    assert_eq!((report.sessions, report.sessions_own), (0, 1));
    assert_eq!(place.facts(), []);
}
