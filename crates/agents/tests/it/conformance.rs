//! What every store must do, whoever implements it: the contract, point by point.

use kapsa_agents::{
    Episode, EpisodeQuery, Evidence, Fact, FactDecision, FactQuery, Insight, InsightQuery,
    InsightStatus, Pending, Verdict,
};
use kapsa_memory::access::{Classification, ClearanceProfile};
use kapsa_memory::{Error, Span};
use serde_json::json;

use super::{DAY, World, episode, episode_ids, fact, fact_ids, insight, insight_ids, strings};

/// Stores these facts and asks each question; the answers are ids.
fn check_facts(facts: &[Fact], questions: &[(FactQuery, &[&str])]) {
    World::each(|world| {
        facts.iter().for_each(|fact| world.facts.store(fact).expect("stored"));
        for settled in [false, true] {
            for (query, want) in questions {
                let found = world.facts.query(query).expect("answered");
                assert_eq!(fact_ids(&found), *want, "{}, settled {settled}: {query:?}", world.name);
            }
            world.settle();
        }
    });
}

fn text(text: &str) -> FactQuery {
    FactQuery { text: text.to_string(), ..FactQuery::default() }
}

#[test]
fn facts_come_back_as_they_were() {
    let full = Fact {
        entity: "acme".to_string(),
        attribute: "employees".to_string(),
        domain: "revenue".to_string(),
        tags: strings(["b", "a", "b", "k=v", "", "kapsa.place"]),
        confidence: 0.1 + 0.2,
        evidence_count: 4,
        importance: 0.1 + 0.2,
        last_accessed: Some(DAY * 3),
        access_count: 7,
        classification: Classification::Restricted,
        named: strings(["cro", "ceo"]),
        source: "revenue_ops".to_string(),
        valid_from: Some(-1),
        valid_to: Some(i64::MAX),
        updated_at: DAY * 2,
        supersedes: Some("f0".to_string()),
        superseded_by: Some("f2".to_string()),
        contested_with: strings(["f3"]),
        principal: "ana".into(),
        evidence: vec![Evidence {
            principal: "ben".into(),
            text: "200 people work at Acme".to_string(),
            source: "crm".to_string(),
            tags: strings(["t"]),
            at: DAY,
            place: "a.jsonl:3".to_string(),
        }],
        interruptions: vec![
            Span { from: None, until: Some(DAY) },
            Span { from: Some(DAY * 2), until: None },
        ],
        interrupted_by: strings(["f4"]),
        pending: Some(Pending {
            verdict: Verdict::Refines,
            reason: "it says more".to_string(),
            features: strings(["cue change"]),
            proposed_by: "model".to_string(),
        }),
        pending_with: strings(["f5"]),
        coexists: true,
        decision: Some(FactDecision { what: "same".into(), by: "ann".into(), at: DAY }),
        ..Fact::new("a/b ..ž\u{202e}%", "Acme has\n200 employees ", -5)
    };
    World::each(|world| {
        for fact in [
            &full,
            &Fact::new("..", "x", 0),
            &Fact { tags: strings(["a", "b"]), ..Fact::new("f", "y", 1) },
        ] {
            world.facts.store(fact).expect("stored");
            assert_eq!(
                world.facts.get(&fact.id).expect("asked").as_ref(),
                Some(fact),
                "{}",
                world.name
            );
        }
        let all = FactQuery { superseded: true, ..FactQuery::default() };
        assert_eq!(world.facts.query(&all).expect("asked")[0], full);
        assert_eq!(world.facts.get("missing").expect("asked"), None);
        assert_eq!(world.facts.get("").expect("asked"), None);
    });
}

#[test]
fn each_filter_of_facts_alone_and_together() {
    let facts = [
        Fact {
            entity: "acme".into(),
            domain: "revenue".into(),
            tags: strings(["a", "b"]),
            confidence: 0.5,
            ..fact("f0", "Port 5433")
        },
        Fact {
            entity: "acme".into(),
            attribute: "port".into(),
            tags: strings(["c"]),
            confidence: 0.9,
            ..fact("f1", "Port 5434")
        },
        Fact {
            entity: "beta".into(),
            domain: "revenue".into(),
            tags: strings(["k=v", "b"]),
            ..fact("f2", "The airport")
        },
        fact("f3", "nothing"),
    ];
    let all = FactQuery::default;
    check_facts(
        &facts,
        &[
            (all(), &["f0", "f1", "f2", "f3"]),
            (FactQuery { entity: Some("acme".into()), ..all() }, &["f0", "f1"]),
            (FactQuery { entity: Some("Acme, Inc.".into()), ..all() }, &["f0", "f1"]),
            (FactQuery { entity: Some("acme east".into()), ..all() }, &[]),
            (FactQuery { entity: Some(String::new()), ..all() }, &["f3"]),
            (FactQuery { attribute: Some("port".into()), ..all() }, &["f1"]),
            (FactQuery { domain: Some("revenue".into()), ..all() }, &["f0", "f2"]),
            (FactQuery { domain: Some(String::new()), ..all() }, &["f1", "f3"]),
            (FactQuery { tags: strings(["b"]), ..all() }, &["f0", "f2"]),
            (FactQuery { tags: strings(["c", "a", "none"]), ..all() }, &["f0", "f1"]),
            (FactQuery { tags: strings(["k=v"]), ..all() }, &["f2"]),
            (FactQuery { tags: strings(["k"]), ..all() }, &[]),
            (FactQuery { tags: strings(["k=v", "c"]), ..all() }, &["f1", "f2"]),
            (FactQuery { confidence_min: 0.5, ..all() }, &["f0", "f1", "f2", "f3"]),
            (FactQuery { confidence_min: 0.500_001, ..all() }, &["f1", "f2", "f3"]),
            (text("pOrT"), &["f0", "f1", "f2"]),
            (
                FactQuery {
                    entity: Some("acme".into()),
                    domain: Some("revenue".into()),
                    tags: strings(["b"]),
                    ..text("543")
                },
                &["f0"],
            ),
            (
                FactQuery {
                    entity: Some("acme".into()),
                    domain: Some("revenue".into()),
                    ..text("5434")
                },
                &[],
            ),
        ],
    );
}

#[test]
fn text_is_a_part_of_the_content_in_any_case() {
    let facts = [
        fact("f0", "An airport, 5433 isn't"),
        fact("f1", "The VP sponsor predicts conversion"),
        fact("f2", "MVP SPONSORS PREDICTED it"),
        fact("f3", "Ο ΛΌΓΟΣ του ΠΕΛΆΤΗ"),
        fact("f4", "getUserName_x or the_sponsor predicts a lot"),
        fact("f5", "東京都の天気"),
    ];
    let questions: &[(&str, &[&str])] = &[
        ("", &["f0", "f1", "f2", "f3", "f4", "f5"]),
        ("port, 5433 is", &["f0"]),
        ("VP sponsor", &["f1", "f2"]),
        ("vp sponsor predicts", &["f1"]),
        ("the vp sponsor predicts con", &["f1"]),
        (" sponsor ", &["f1"]),
        (" sponsors ", &["f2"]),
        ("sponsor predicts", &["f1", "f4"]),
        ("λόγος", &["f3"]),
        ("όγοσ ΤΟΥ πελ", &["f3"]),
        ("username_x OR the", &["f4"]),
        ("京都の", &["f5"]),
        ("x y", &[]),
        ("+sponsor", &[]),
        ("kind:fact", &[]),
        ("\"", &[]),
    ];
    let questions: Vec<_> = questions.iter().map(|(part, want)| (text(part), *want)).collect();
    check_facts(&facts, &questions);
}

#[test]
fn limits_come_after_every_filter() {
    let facts: Vec<Fact> = (0..30)
        .map(|n| {
            let level =
                if n % 10 == 9 { Classification::Public } else { Classification::Confidential };
            Fact {
                classification: level,
                domain: "revenue".into(),
                ..fact(&format!("f{n:02}"), "a thing to know")
            }
        })
        .collect();
    let marketing = ClearanceProfile::new("cmo").with("marketing", Classification::Restricted);
    let clear =
        |limit| FactQuery { clearance: Some(marketing.clone()), limit, ..FactQuery::default() };
    let first: Vec<String> = (0..10).map(|n| format!("f{n:02}")).collect();
    let first: Vec<&str> = first.iter().map(String::as_str).collect();
    check_facts(
        &facts,
        &[
            (FactQuery::default(), &first),
            (FactQuery { limit: 2, ..FactQuery::default() }, &["f00", "f01"]),
            (FactQuery { limit: 0, ..FactQuery::default() }, &[]),
            (clear(3), &["f09", "f19", "f29"]),
            (clear(2), &["f09", "f19"]),
            (FactQuery { limit: usize::MAX, ..clear(0) }, &["f09", "f19", "f29"]),
        ],
    );
}

#[test]
fn clearance_is_decided_in_the_store() {
    let known = |id: &str, domain: &str, classification, named: &[&str]| Fact {
        domain: domain.to_string(),
        classification,
        named: named.iter().map(|name| name.to_string()).collect(),
        ..fact(id, "x y z")
    };
    let facts = [
        known("public", "finance", Classification::Public, &[]),
        known("internal", "revenue", Classification::Internal, &[]),
        known("secret", "revenue", Classification::Confidential, &[]),
        known("mine", "revenue", Classification::Restricted, &["cro"]),
        known("yours", "revenue", Classification::Restricted, &["ceo"]),
        known("nowhere", "", Classification::Internal, &[]),
    ];
    let clear = |profile| FactQuery { clearance: Some(profile), ..FactQuery::default() };
    let cro = || ClearanceProfile::new("cro");
    check_facts(
        &facts,
        &[
            (clear(cro()), &["public"]),
            (clear(cro().with("revenue", Classification::Public)), &["public"]),
            (clear(cro().with("revenue", Classification::Internal)), &["public", "internal"]),
            (
                clear(cro().with("revenue", Classification::Restricted)),
                &["public", "internal", "secret", "mine"],
            ),
            (clear(cro().with("", Classification::Internal)), &["public", "nowhere"]),
            (clear(cro().with("finance", Classification::Restricted)), &["public"]),
        ],
    );
}

#[test]
fn facts_that_hold_and_facts_that_count() {
    let facts = [
        Fact { valid_from: Some(10), valid_to: Some(20), ..fact("f0", "x") },
        Fact { valid_from: Some(20), ..fact("f1", "x") },
        Fact { superseded_by: Some("f1".into()), ..fact("f2", "x") },
    ];
    let at = |moment| FactQuery { valid_at: Some(moment), ..FactQuery::default() };
    check_facts(
        &facts,
        &[
            (FactQuery::default(), &["f0", "f1"]),
            (FactQuery { superseded: true, ..FactQuery::default() }, &["f0", "f1", "f2"]),
            (at(9), &[]),
            (at(10), &["f0"]),
            (at(19), &["f0"]),
            (at(20), &["f1"]),
        ],
    );
}

#[test]
fn a_fact_stays_where_it_was_first_stored() {
    World::each(|world| {
        for id in ["f0", "f1", "f2", "f3"] {
            world.facts.store(&fact(id, "old")).expect("stored");
        }
        world.facts.update(&fact("f1", "new")).expect("updated");
        world.settle();
        world.facts.store(&fact("f0", "new")).expect("stored again");
        world.facts.update(&fact("f9", "new")).expect("an update of none stores it");
        world.facts.delete("f2").expect("deleted");
        world.facts.delete("f2").expect("nothing to delete is no error");
        world.facts.delete("missing").expect("nothing to delete is no error");
        world.facts.delete("").expect("nothing has no id");
        world.facts.store(&fact("f2", "back")).expect("stored");
        world.facts.update(&fact("f1", "newest")).expect("updated");
        let facts = world.facts.query(&FactQuery::default()).expect("asked");
        let told: Vec<(&str, &str)> =
            facts.iter().map(|fact| (fact.id.as_str(), fact.content.as_str())).collect();
        let want = [("f0", "new"), ("f1", "newest"), ("f3", "old"), ("f9", "new"), ("f2", "back")];
        assert_eq!(told, want, "{}", world.name);
        let first =
            world.facts.query(&FactQuery { limit: 2, ..FactQuery::default() }).expect("asked");
        assert_eq!(fact_ids(&first), ["f0", "f1"], "{}", world.name);
        assert_eq!(fact_ids(&world.facts.query(&text("new")).expect("asked")), ["f0", "f1", "f9"]);
    });
}

#[test]
fn many_facts_are_stored_in_their_order_each_once() {
    World::each(|world| {
        world.facts.store_many(&[fact("a", "1"), fact("b", "1"), fact("a", "2")]).expect("stored");
        world.facts.store_many(&[]).expect("nothing to do");
        let facts = world.facts.query(&FactQuery::default()).expect("asked");
        assert_eq!(fact_ids(&facts), ["a", "b"], "{}", world.name);
        assert_eq!(facts[0].content, "2");
        let refused = world.facts.store_many(&[fact("c", "fine"), fact("d", "")]);
        assert!(matches!(refused, Err(Error::InvalidRecord { field: "text", .. })), "{refused:?}");
        assert_eq!(world.facts.get("c").expect("asked"), None, "all or none");
    });
}

#[test]
fn reads_are_counted_and_nothing_else_changes() {
    World::each(|world| {
        world.facts.store(&fact("f0", "x")).expect("stored");
        world
            .facts
            .store(&Fact { access_count: 5, last_accessed: Some(DAY), ..fact("f1", "x") })
            .expect("stored");
        let counts = |id: &str| {
            world.facts.get(id).expect("asked").map(|fact| (fact.access_count, fact.last_accessed))
        };
        world.facts.touch(&["f0", "f1", "missing", ""], DAY * 5).expect("counted");
        world.facts.touch(&["f0"], DAY * 4).expect("counted");
        assert_eq!(counts("f0"), Some((2, Some(DAY * 5))), "{}", world.name);
        assert_eq!(counts("f1"), Some((6, Some(DAY * 5))));
        let told = world.facts.query(&FactQuery::default()).expect("asked");
        assert_eq!(
            told.iter().map(|fact| fact.access_count).collect::<Vec<_>>(),
            [2, 6],
            "{}",
            world.name
        );
        let seen = Fact { access_count: 2, last_accessed: Some(DAY * 5), ..fact("f0", "x") };
        assert_eq!(world.facts.get("f0").expect("asked"), Some(seen.clone()));
        world.facts.update(&Fact { content: "y".into(), ..seen }).expect("updated");
        assert_eq!(counts("f0"), Some((2, Some(DAY * 5))), "it brought its counts");
        world.facts.touch(&["f0"], DAY * 6).expect("counted");
        assert_eq!(counts("f0"), Some((3, Some(DAY * 6))));
        world.facts.store(&fact("f0", "x")).expect("stored anew");
        assert_eq!(
            counts("f0"),
            Some((0, None)),
            "{}: what is stored brings its own counts",
            world.name
        );
        world.facts.store(&fact("missing", "x")).expect("stored");
        assert_eq!(counts("missing"), Some((0, None)), "it was not there when it was touched");
        world.facts.touch(&["f1"], DAY * 7).expect("counted");
        world.facts.delete("f1").expect("deleted");
        world.facts.store(&fact("f1", "x")).expect("stored");
        assert_eq!(
            counts("f1"),
            Some((0, None)),
            "{}: what is gone took its counts along",
            world.name
        );
    });
}

#[test]
fn copies_go_in_and_copies_come_out() {
    World::each(|world| {
        let mut mine = Fact { tags: strings(["a"]), ..fact("f0", "x") };
        world.facts.store(&mine).expect("stored");
        mine.tags.push("b".into());
        mine.content = "changed".into();
        let mut told = world.facts.query(&FactQuery::default()).expect("asked");
        assert_eq!((told[0].content.as_str(), told[0].tags.len()), ("x", 1), "{}", world.name);
        told[0].access_count = 99;
        assert_eq!(world.facts.get("f0").expect("asked").map(|fact| fact.access_count), Some(0));
    });
}

#[test]
fn what_cannot_be_kept_is_refused_everywhere() {
    let odd = [
        (Fact { id: String::new(), ..fact("", "x") }, "id"),
        (fact(&"long/".repeat(200), "x"), "id"),
        (fact("f", ""), "text"),
        (Fact { confidence: 1.1, ..fact("f", "x") }, "confidence"),
        (Fact { confidence: f64::NAN, ..fact("f", "x") }, "confidence"),
        (Fact { importance: -0.1, ..fact("f", "x") }, "importance"),
        (Fact { entity: "e".repeat(5000), ..fact("f", "x") }, "entity"),
    ];
    World::each(|world| {
        for (fact, field) in &odd {
            let refused = world.facts.store(fact);
            assert!(
                matches!(refused, Err(Error::InvalidRecord { field: told, .. }) if told == *field),
                "{} {refused:?}",
                world.name
            );
        }
        assert_eq!(world.facts.query(&FactQuery::default()).expect("asked"), []);
        let nobody = Episode { agent_id: String::new(), ..episode("e", 1) };
        assert!(matches!(
            world.episodes.store(&nobody),
            Err(Error::InvalidRecord { field: "agent", .. })
        ));
        let unsure = Insight { confidence: -1.0, ..insight("i", "x") };
        assert!(matches!(
            world.insights.store(&unsure),
            Err(Error::InvalidRecord { field: "confidence", .. })
        ));
    });
}

#[test]
fn episodes_come_back_as_they_were() {
    let outcome = json!({"score": 85, "deep": {"list": [1, null, "ž"]}})
        .as_object()
        .cloned()
        .unwrap_or_default();
    let full = Episode {
        outcome,
        entity: "acme".into(),
        domain: "revenue".into(),
        tags: strings(["b", "a"]),
        classification: Classification::Confidential,
        ..episode("e/1", -7)
    };
    World::each(|world| {
        for episode in [&full, &Episode::new("bare", "an/agent", 0)] {
            world.episodes.store(episode).expect("stored");
            assert_eq!(
                world.episodes.get(&episode.agent_id, &episode.id).expect("asked").as_ref(),
                Some(episode),
                "{}",
                world.name
            );
        }
        assert_eq!(
            world.episodes.query(&EpisodeQuery::of("cro")).expect("asked"),
            std::slice::from_ref(&full)
        );
        assert_eq!(
            world.episodes.get("cro", "bare").expect("asked"),
            None,
            "it is another agent's"
        );
        assert_eq!(world.episodes.get("cro", "").expect("asked"), None);
    });
}

#[test]
fn each_filter_of_episodes_alone_and_together() {
    let episodes = [
        Episode {
            entity: "acme".into(),
            domain: "revenue".into(),
            tags: strings(["a"]),
            ..episode("e0", 10)
        },
        Episode { entity: "acme".into(), tags: strings(["b", "c"]), ..episode("e1", 30) },
        Episode { domain: "revenue".into(), tags: strings(["c"]), ..episode("e2", 20) },
        Episode { agent_id: "cmo".into(), ..episode("e3", 40) },
        episode("e4", 20),
    ];
    let cro = || EpisodeQuery::of("cro");
    let questions: [(EpisodeQuery, &[&str]); 12] = [
        (cro(), &["e1", "e4", "e2", "e0"]),
        (EpisodeQuery::of("cmo"), &["e3"]),
        (EpisodeQuery::of("ceo"), &[]),
        (EpisodeQuery { entity: Some("acme".into()), ..cro() }, &["e1", "e0"]),
        (EpisodeQuery { entity: Some(String::new()), ..cro() }, &["e4", "e2"]),
        (EpisodeQuery { domain: Some("revenue".into()), ..cro() }, &["e2", "e0"]),
        (EpisodeQuery { tags: strings(["a", "c"]), ..cro() }, &["e1", "e2", "e0"]),
        (EpisodeQuery { since: Some(20), ..cro() }, &["e1", "e4", "e2"]),
        (EpisodeQuery { since: Some(21), ..cro() }, &["e1"]),
        (EpisodeQuery { limit: 2, ..cro() }, &["e1", "e4"]),
        (EpisodeQuery { limit: 0, ..cro() }, &[]),
        (
            EpisodeQuery {
                domain: Some("revenue".into()),
                tags: strings(["c"]),
                since: Some(1),
                limit: 1,
                ..cro()
            },
            &["e2"],
        ),
    ];
    World::each(|world| {
        episodes.iter().for_each(|episode| world.episodes.store(episode).expect("stored"));
        for settled in [false, true] {
            for (query, want) in &questions {
                let found = world.episodes.query(query).expect("answered");
                assert_eq!(
                    episode_ids(&found),
                    *want,
                    "{}, settled {settled}: {query:?}",
                    world.name
                );
            }
            world.settle();
        }
    });
}

#[test]
fn fifty_episodes_unless_told_otherwise_and_one_of_each_id() {
    World::each(|world| {
        for n in 0..60 {
            world.episodes.store(&episode(&format!("e{n}"), n)).expect("stored");
        }
        let found = world.episodes.query(&EpisodeQuery::of("cro")).expect("asked");
        assert_eq!((found.len(), found[0].id.as_str()), (50, "e59"), "{}", world.name);
        world
            .episodes
            .store(&Episode { output_summary: "again".into(), ..episode("e3", 100) })
            .expect("stored again");
        let found = world
            .episodes
            .query(&EpisodeQuery { limit: 100, ..EpisodeQuery::of("cro") })
            .expect("asked");
        assert_eq!(
            (found.len(), found[0].output_summary.as_str()),
            (60, "again"),
            "{}",
            world.name
        );
    });
}

#[test]
fn insights_come_back_as_they_were() {
    let full = Insight {
        confidence: 0.1 + 0.2,
        source_episode_ids: strings(["e1", "e2"]),
        last_confirmed: Some(DAY * 2),
        status: InsightStatus::Weakening,
        entity: "acme".into(),
        domain: "revenue".into(),
        tags: strings(["z", "a"]),
        classification: Classification::Restricted,
        ..insight("i/1", "Webinar leads convert 2x")
    };
    World::each(|world| {
        for insight in [&full, &Insight::new("bare", "cmo", "x", 0)] {
            world.insights.store(insight).expect("stored");
            assert_eq!(
                world.insights.get(&insight.agent_id, &insight.id).expect("asked").as_ref(),
                Some(insight),
                "{}",
                world.name
            );
        }
        assert_eq!(
            world.insights.query(&InsightQuery::of("cro")).expect("asked"),
            std::slice::from_ref(&full)
        );
        assert_eq!(
            world.insights.get("cro", "bare").expect("asked"),
            None,
            "it is another agent's"
        );
        world
            .insights
            .store(&Insight { agent_id: "cmo".into(), content: "mine".into(), ..full.clone() })
            .expect("stored");
        assert_eq!(
            world.insights.get("cro", "i/1").expect("asked").as_ref(),
            Some(&full),
            "no agent replaces what another has"
        );
    });
}

#[test]
fn each_filter_of_insights_alone_and_together() {
    let insights = [
        Insight {
            entity: "acme".into(),
            domain: "revenue".into(),
            tags: strings(["a"]),
            ..insight("i0", "VP sponsor predicts conversion")
        },
        Insight {
            domain: "revenue".into(),
            confidence: 0.3,
            ..insight("i1", "Email timing matters")
        },
        Insight {
            tags: strings(["a", "b"]),
            status: InsightStatus::Weakening,
            ..insight("i2", "Cold email has low response")
        },
        Insight { status: InsightStatus::Retired, ..insight("i3", "Email is dead") },
        Insight { agent_id: "cmo".into(), ..insight("i4", "Email is fine") },
    ];
    let cro = || InsightQuery::of("cro");
    let email = || InsightQuery { text: "EMAIL".into(), ..cro() };
    let questions: [(InsightQuery, &[&str]); 13] = [
        (cro(), &["i0", "i1", "i2"]),
        (InsightQuery::of("cmo"), &["i4"]),
        (InsightQuery { retired: true, ..cro() }, &["i0", "i1", "i2", "i3"]),
        (InsightQuery { entity: Some("acme".into()), ..cro() }, &["i0"]),
        (InsightQuery { domain: Some("revenue".into()), ..cro() }, &["i0", "i1"]),
        (InsightQuery { domain: Some(String::new()), ..cro() }, &["i2"]),
        (InsightQuery { tags: strings(["a", "x"]), ..cro() }, &["i0", "i2"]),
        (InsightQuery { confidence_min: 0.8, ..cro() }, &["i0", "i2"]),
        (email(), &["i1", "i2"]),
        (InsightQuery { text: "cold email has low".into(), ..cro() }, &["i2"]),
        (InsightQuery { domain: Some("revenue".into()), confidence_min: 0.3, ..email() }, &["i1"]),
        (InsightQuery { limit: 1, ..email() }, &["i1"]),
        (InsightQuery { limit: 0, ..cro() }, &[]),
    ];
    World::each(|world| {
        insights.iter().for_each(|insight| world.insights.store(insight).expect("stored"));
        for settled in [false, true] {
            for (query, want) in &questions {
                let found = world.insights.query(query).expect("answered");
                assert_eq!(
                    insight_ids(&found),
                    *want,
                    "{}, settled {settled}: {query:?}",
                    world.name
                );
            }
            world.settle();
        }
        world
            .insights
            .update(&Insight { confidence: 0.9, ..insights[1].clone() })
            .expect("updated");
        world.insights.update(&insight("i5", "new")).expect("an update of none stores it");
        let found = world.insights.query(&cro()).expect("asked");
        assert_eq!(insight_ids(&found), ["i0", "i1", "i2", "i5"], "{}", world.name);
        assert_eq!(found[1].confidence, 0.9);
    });
}

#[test]
fn ten_insights_and_ten_facts_unless_told_otherwise() {
    World::each(|world| {
        for n in 0..12 {
            world.insights.store(&insight(&format!("i{n}"), "x")).expect("stored");
            world.facts.store(&fact(&format!("f{n}"), "x")).expect("stored");
        }
        assert_eq!(
            world.insights.query(&InsightQuery::of("cro")).expect("asked").len(),
            10,
            "{}",
            world.name
        );
        assert_eq!(
            world.facts.query(&FactQuery::default()).expect("asked").len(),
            10,
            "{}",
            world.name
        );
    });
}

#[test]
fn similar_are_insights_with_three_words_in_common() {
    World::each(|world| {
        let retired =
            Insight { status: InsightStatus::Retired, ..insight("i0", "webinar leads convert") };
        let others = Insight { agent_id: "cmo".into(), ..insight("i1", "webinar leads convert") };
        for insight in [
            &retired,
            &others,
            &insight("i2", "Webinar leads convert 2x vs. cold inbound!"),
            &insight("i3", "Leads convert"),
        ] {
            world.insights.store(insight).expect("stored");
        }
        world
            .insights
            .store(&insight("i4", "ΟΙ ΠΕΛΆΤΕΣ του webinar leads convert"))
            .expect("stored");
        let similar = |content: &str| {
            world.insights.find_similar("cro", content).expect("asked").map(|insight| insight.id)
        };
        for (content, want) in [
            ("webinar leads convert", Some("i2")),
            ("CONVERT, leads: webinar?", Some("i2")),
            ("leads convert twice when cold", Some("i2")),
            ("πελάτες του οι", Some("i4")),
            ("leads convert twice", None),
            ("leads convert", None),
            ("leads leads leads convert", None),
            ("", None),
            ("?!", None),
            ("something entirely different here", None),
        ] {
            assert_eq!(similar(content).as_deref(), want, "{}: {content}", world.name);
        }
        world.insights.update(&insight("i2", "Nothing of the kind")).expect("updated");
        world.settle();
        assert_eq!(similar("webinar leads convert").as_deref(), Some("i4"), "{}", world.name);
        assert_eq!(
            world.insights.find_similar("ceo", "webinar leads convert").expect("asked"),
            None
        );
    });
}
