//! Finding: words, filters, fallback, snippets, odd queries.

use std::collections::BTreeMap;

use kapsa_memory::{Filter, FindRequest, NewRecord, TimelineRequest};

use crate::{Fixture, named};

fn team() -> Fixture {
    let f = Fixture::new();
    let record = |name: &str, text: &str, kind: &str, agent: &str, at: i64| NewRecord {
        kind: kind.to_string(),
        agent: agent.to_string(),
        created_at: Some(at),
        tags: BTreeMap::from([
            ("lang".to_string(), "rust".to_string()),
            (agent.to_string(), String::new()),
        ]),
        ..named(name, text)
    };
    let records = vec![
        record("d/1", "We decided to use tokio for the async runtime.", "decision", "ann", 100),
        record(
            "d/2",
            "The parser fails with error CS0854 on optional arguments.",
            "bug",
            "bob",
            200,
        ),
        record("d/3", "Retry the upload three times, then give up.", "decision", "bob", 300),
        record("d/4", "日本語のメモも検索できる。", "note", "ann", 400),
    ];
    f.writer().put_many(records).expect("put");
    f
}

#[test]
fn long_questions_find_what_they_ask_about() {
    let f = team();
    let question = "Could you please tell me what it was that we decided some weeks ago about which async runtime the service should use?";
    assert_eq!(f.texts(question)[0], "We decided to use tokio for the async runtime.");
    assert!(f.texts("what about the CS0854 error?")[0].contains("CS0854"));
    assert_eq!(f.texts("検索").len(), 1);
}

#[test]
fn the_query_language_narrows() {
    let f = team();
    for (query, want) in [
        ("+\"async runtime\"", 1),
        ("+\"runtime async\"", 0),
        ("+decided +upload", 0),
        ("kind:decision", 2),
        ("kind:decision agent:bob", 1),
        ("upload -three", 0),
        ("tag:lang=rust parser", 1),
        ("uri:d/3", 1),
        ("uri:mv2://default/d/3", 1),
        ("zebra", 0),
        ("\"unbalanced async", 1),
        ("((()) && || ***", 0),
    ] {
        assert_eq!(f.texts(query).len(), want, "{query}");
    }
}

#[test]
fn filters_are_exact() {
    let f = team();
    let find = |filter: Filter| {
        let request = TimelineRequest { filter, ..TimelineRequest::default() };
        f.reader()
            .timeline(&request)
            .expect("listed")
            .into_iter()
            .map(|r| r.sequence)
            .collect::<Vec<_>>()
    };
    let strings = |values: &[&str]| values.iter().map(|v| (*v).to_string()).collect::<Vec<_>>();
    assert_eq!(
        find(Filter { kinds: strings(&["decision", "bug"]), ..Filter::default() }),
        [1, 2, 3]
    );
    assert_eq!(
        find(Filter { agents: strings(&["ann"]), kinds: strings(&["note"]), ..Filter::default() }),
        [4]
    );
    assert_eq!(
        find(Filter {
            tags: BTreeMap::from([("bob".to_string(), String::new())]),
            ..Filter::default()
        }),
        [2, 3]
    );
    assert_eq!(find(Filter { since: Some(200), until: Some(400), ..Filter::default() }), [2, 3]);
    assert_eq!(find(Filter { kinds: strings(&["deci"]), ..Filter::default() }), [0u64; 0]);
}

#[test]
fn timeline_goes_both_ways() {
    let f = team();
    let list = |limit, reverse| {
        let request = TimelineRequest { limit, reverse, ..TimelineRequest::default() };
        f.reader()
            .timeline(&request)
            .expect("listed")
            .into_iter()
            .map(|r| r.sequence)
            .collect::<Vec<_>>()
    };
    assert_eq!((list(2, false), list(2, true), list(0, true)), (vec![1, 2], vec![4, 3], vec![]));
}

#[test]
fn the_fallback_is_marked_and_only_when_asked_for() {
    let f = team();
    let request = FindRequest { fallback: true, k: 2, ..FindRequest::new("zebra crossing") };
    let found = f.reader().find(&request).expect("answered");
    assert!(found.fallback);
    assert_eq!(found.hits.iter().map(|h| h.record.sequence).collect::<Vec<_>>(), [4, 3]);
    let empty = Fixture::new().reader().find(&request).expect("answered");
    assert!(!empty.fallback && empty.hits.is_empty());
}

#[test]
fn snippets_mark_the_words_on_character_borders() {
    let f = Fixture::new();
    let text = format!(
        "{} žluťoučký kůň and the Needle in it {}",
        "ěščř ".repeat(200),
        "日本 ".repeat(200)
    );
    f.writer().put(NewRecord::text(text)).expect("put");
    let request = FindRequest { snippet_chars: 40, ..FindRequest::new("needles") };
    let hit = f.reader().find(&request).expect("found").hits.remove(0);
    assert!(hit.snippet.chars().count() <= 40, "{}", hit.snippet);
    assert_eq!(hit.marks.iter().map(|m| &hit.snippet[m.clone()]).collect::<Vec<_>>(), ["Needle"]);
}

#[test]
fn any_query_is_answered() {
    let f = team();
    for query in [
        "",
        " ",
        "the of and",
        "\"",
        "-",
        "+",
        ":",
        "tag:",
        "-decided",
        &"word ".repeat(10_000),
        "\u{0}\u{1b}[31m",
        "a:b:c",
        "\"\"\"\"\"",
    ] {
        f.reader().find(&FindRequest::new(query)).unwrap_or_else(|e| panic!("{query:?}: {e}"));
    }
    assert_eq!(f.texts("the of and").len(), 3, "stop words alone are searched for");
}

#[test]
fn scores_do_not_depend_on_where_a_record_lies() {
    let f = team();
    let scores = || -> Vec<(u64, f32)> {
        let found =
            f.reader().find(&FindRequest::new("async error upload decided")).expect("found");
        found.hits.iter().map(|h| (h.record.sequence, h.score)).collect()
    };
    let in_tail = scores();
    f.writer().optimize(&mut |_, _| {}).expect("optimises");
    assert_eq!(scores(), in_tail);
    f.writer().compact(&mut |_, _| {}).expect("compacts");
    assert_eq!(scores(), in_tail);
}
