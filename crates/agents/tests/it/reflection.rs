//! What an agent learns: from a model whose every word is doubted, or by counting; and what it
//! tells its team.

use std::sync::Arc;

use kapsa_agents::{
    AgentMemory, Episode, FactQuery, INSIGHT_CHARS_MAX, InMemoryEpisodicStore,
    InMemoryInsightStore, Insight, InsightQuery, InsightStatus, REFLECTED_EPISODES_MAX,
    ReflectError, Reflection, StoreLocation, WorkspaceMemory,
};
use kapsa_memory::WriteOptions;
use kapsa_memory::access::{Classification, ClearanceProfile};
use kapsa_model::{ChatReply, Message, ScriptedModel, Usage, block_on};
use serde_json::json;

use super::{episode, episode_ids, insight, strings};
use crate::{Fixture, clock};

fn told(id: &str, output: &str) -> Episode {
    Episode { domain: "revenue".into(), output_summary: output.into(), ..episode(id, clock()) }
}

fn memory(episodes: impl IntoIterator<Item = Episode>) -> AgentMemory {
    let mem = AgentMemory::new("cro", clock);
    episodes.into_iter().for_each(|episode| mem.record_episode(episode).expect("recorded"));
    mem
}

fn reflect(mem: &AgentMemory, reply: &str) -> Reflection {
    block_on(mem.reflect(Some(&ScriptedModel::new().then(ChatReply::text(reply))), ""))
        .expect("reflected")
}

fn count(mem: &AgentMemory) -> Reflection {
    block_on(mem.reflect(None, "")).expect("reflected")
}

fn contents(insights: &[Insight]) -> Vec<&str> {
    insights.iter().map(|insight| insight.content.as_str()).collect()
}

#[test]
fn a_model_is_asked_once_about_the_newest_fifty() {
    let mem = memory((0..60).map(|n| told(&format!("ep{n}"), &format!("score\n {n}"))));
    let model = ScriptedModel::new()
        .then(ChatReply { usage: Usage { tokens_in: 7, tokens_out: 3 }, ..ChatReply::text("[]") });
    let learned = block_on(mem.reflect(Some(&model), "You are the CRO.")).expect("reflected");
    assert_eq!((learned.usage.tokens_in, learned.new.len(), learned.problem), (7, 0, None));
    let requests = model.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(
        (requests[0].model.as_deref(), requests[0].temperature),
        (Some("sonnet"), Some(0.3))
    );
    assert!(
        requests[0].system.starts_with("You are the CRO.\nYou are reflecting"),
        "{}",
        requests[0].system
    );
    let Message::User(text) = &requests[0].messages[0] else { panic!("{requests:?}") };
    let shown: Vec<&str> = text.lines().filter(|line| line.starts_with("- ")).collect();
    assert_eq!(shown.len(), REFLECTED_EPISODES_MAX);
    assert_eq!(
        shown[0], "- ep10 [revenue] test_action: score 10",
        "the oldest first, each on one line"
    );
}

#[test]
fn fences_are_stripped_and_a_reply_without_json_is_mended_once() {
    let mem = memory([told("ep1", "x")]);
    let fenced = reflect(
        &mem,
        "Sure!\n```json\n[{\"content\": \"Fenced replies are common\"}]\n```\nAnything else?",
    );
    assert_eq!(contents(&fenced.new), ["Fenced replies are common"]);
    let model = ScriptedModel::new()
        .then(ChatReply::text("I see none."))
        .then(ChatReply::text("[{\"content\": \"Second try\"}]"));
    let mended = block_on(mem.reflect(Some(&model), "")).expect("reflected");
    assert_eq!((contents(&mended.new), model.requests().len()), (vec!["Second try"], 2));
    let model = ScriptedModel::new()
        .then(ChatReply::text("no"))
        .then(ChatReply::text("still no"))
        .then(ChatReply::text("[]"));
    let none = block_on(mem.reflect(Some(&model), "")).expect("no reason to fail");
    assert_eq!((none.new.len(), model.requests().len()), (0, 2));
    assert!(none.problem.is_some_and(|problem| problem.contains("twice")));
}

#[test]
fn a_model_that_does_not_answer_is_an_error_and_nothing_is_learned() {
    let mem = memory([told("ep1", "x")]);
    let error = block_on(mem.reflect(Some(&ScriptedModel::new()), "")).expect_err("no reply");
    assert!(matches!(error, ReflectError::Model(_)), "{error}");
    assert_eq!(mem.recall_insights(&mem.insight_query()).expect("recalled"), []);
}

#[test]
fn each_field_of_a_reply_is_checked() {
    let mem = memory([
        Episode { entity: "acme".into(), ..told("ep1", "x") },
        Episode { domain: "marketing".into(), entity: "acme".into(), ..told("ep2", "y") },
    ]);
    let reply = json!([
        {"content": "One is surer than sure", "confidence": 7, "domain": "marketing", "entity": "beta", "tags": ["a", 3, "a", " ", "b"]},
        {"content": "Two is worth less than nothing", "confidence": -1, "domain": "finance"},
        {"content": "Three has an odd confidence", "confidence": "high", "tags": "none", "episodes": ["ep1", "made up"]},
        {"content": "   "}, {"content": 5}, {"no": "content"}, "text", null,
        {"content": "x ".repeat(INSIGHT_CHARS_MAX)},
        {"content": "Three, it has an odd confidence!"},
    ]);
    let learned = reflect(&mem, &reply.to_string());
    let told: Vec<_> = learned
        .new
        .iter()
        .map(|i| (i.confidence, i.domain.as_str(), i.entity.as_str(), i.tags.len()))
        .collect();
    assert_eq!(
        told,
        [(1.0, "marketing", "acme", 2), (0.0, "", "acme", 0), (0.5, "revenue", "acme", 0)]
    );
    assert_eq!(learned.strengthened, [], "a reply that repeats itself proves nothing");
    assert_eq!(learned.new[0].source_episode_ids, ["ep1", "ep2"]);
    assert_eq!(learned.new[2].source_episode_ids, ["ep1"]);
    for insight in &learned.new {
        assert_eq!((insight.agent_id.as_str(), insight.evidence_count), ("cro", 1));
        let id = insight.id.strip_prefix("ins_").expect("an id of its own");
        assert!(id.len() == 8 && id.bytes().all(|b| b.is_ascii_hexdigit()), "{id}");
    }
    for odd in ["{\"insights\": 3}", "{}", "[[]]"] {
        assert_eq!(reflect(&mem, odd).new, []);
    }
    assert_eq!(
        contents(&reflect(&mem, "{\"insights\": [{\"content\": \"Wrapped\"}]}").new),
        ["Wrapped"]
    );
}

#[test]
fn only_new_episodes_strengthen_and_no_further_than_certain() {
    let mem = memory([told("ep1", "x")]);
    let reply = "[{\"content\": \"High scores predict conversion\", \"confidence\": 0.95}]";
    assert_eq!(reflect(&mem, reply).new.len(), 1);
    let again = reflect(&mem, reply);
    assert_eq!(
        (again.new.len(), again.strengthened.len()),
        (0, 0),
        "the same episodes prove nothing new"
    );
    mem.record_episode(told("ep2", "y")).expect("recorded");
    let again = reflect(&mem, reply);
    assert_eq!((again.new.len(), again.strengthened.len()), (0, 1));
    let known = &again.strengthened[0];
    assert_eq!((known.confidence, known.evidence_count), (1.0, 2));
    assert_eq!(known.source_episode_ids, ["ep1", "ep2"]);
    let short = "[{\"content\": \"Scores help\"}]";
    assert_eq!(
        (reflect(&mem, short).new.len(), reflect(&mem, short).new.len()),
        (1, 0),
        "a short one is told apart by all its words"
    );
}

#[test]
fn a_retired_insight_is_not_strengthened() {
    let mem = memory([told("ep1", "x")]);
    mem.store_insight(Insight {
        status: InsightStatus::Retired,
        ..insight("ins1", "High scores predict conversion")
    })
    .expect("stored");
    let learned = reflect(&mem, "[{\"content\": \"High scores predict conversion\"}]");
    assert_eq!((learned.new.len(), learned.strengthened.len()), (1, 0));
}

#[test]
fn an_insight_is_as_secret_as_the_most_secret_episode_that_was_shown() {
    let secret = Episode { classification: Classification::Confidential, ..told("ep2", "y") };
    let mem = memory([told("ep1", "x"), secret]);
    let learned = reflect(
        &mem,
        "[{\"content\": \"Only about the first\", \"episodes\": [\"ep1\"], \"classification\": \"public\"}]",
    );
    assert_eq!(learned.new[0].classification, Classification::Confidential);
}

#[test]
fn without_a_model_what_came_again_and_again_is_an_insight() {
    let done = |id: &str, entity: &str, output: &str| Episode {
        entity: entity.into(),
        ..told(id, output)
    };
    let mem = memory([
        done("ep1", "acme", "Lost the deal"),
        done("ep2", "acme", "lost  the DEAL"),
        done("ep3", "beta", "Lost the deal"),
        done("ep4", "acme", "won"),
        done("ep5", "acme", ""),
        done("ep6", "acme", ""),
        done("ep7", "acme", ""),
    ]);
    assert_eq!(count(&mem), Reflection::default(), "twice is no pattern");
    let secret = Episode {
        classification: Classification::Restricted,
        ..done("ep8", "acme", "lost the deal")
    };
    mem.record_episode(secret).expect("recorded");
    let learned = count(&mem);
    assert_eq!(
        contents(&learned.new),
        ["test_action for acme came to the same result again and again: lost the deal"]
    );
    let known = &learned.new[0];
    assert_eq!(
        (known.confidence, known.evidence_count, known.domain.as_str()),
        (0.6, 3, "revenue")
    );
    assert_eq!(
        (known.source_episode_ids.clone(), known.classification),
        (strings(["ep1", "ep2", "ep8"]), Classification::Restricted)
    );
    assert_eq!(count(&mem), Reflection::default(), "thinking again changes nothing");
    mem.record_episode(done("ep9", "acme", "Lost the deal")).expect("recorded");
    let again = count(&mem);
    assert_eq!((again.new.len(), again.strengthened.len()), (0, 1));
    assert_eq!((again.strengthened[0].confidence, again.strengthened[0].evidence_count), (0.7, 4));
    let outcome = json!({"score": 85}).as_object().cloned().unwrap_or_default();
    for n in 0..3 {
        let scored = Episode {
            action: "qualify".into(),
            outcome: outcome.clone(),
            ..done(&format!("s{n}"), "", "")
        };
        mem.record_episode(scored).expect("recorded");
    }
    assert_eq!(
        contents(&count(&mem).new),
        ["qualify came to the same result again and again: {\"score\":85}"]
    );
}

#[test]
fn an_agent_recalls_nothing_of_another() {
    let (episodes, insights) =
        (Arc::new(InMemoryEpisodicStore::new()), Arc::new(InMemoryInsightStore::new()));
    let agent =
        |id: &str| AgentMemory::new(id, clock).with_stores(episodes.clone(), insights.clone());
    let (cro, cmo) = (agent("cro"), agent("cmo"));
    cro.record_episode(told("ep1", "x")).expect("recorded");
    cro.store_insight(insight("ins1", "of the cro")).expect("stored");
    cmo.store_insight(insight("ins1", "of the cmo")).expect("stored");
    cmo.store("cro", "ins1", &json!("planted")).expect("stored");
    assert_eq!(
        contents(&cro.recall_insights(&InsightQuery::of("cmo")).expect("recalled")),
        ["of the cro"]
    );
    assert_eq!(cmo.recall_episodes(&cro.episode_query()).expect("recalled"), []);
    assert_eq!(
        cmo.recall("cro", "", 10).expect("recalled")[0].content,
        "planted",
        "its own shelf of that name"
    );
    assert_eq!(
        cro.insight("ins1").expect("asked").map(|insight| insight.content).as_deref(),
        Some("of the cro")
    );
}

#[test]
fn ten_episodes_are_recalled_the_newest_first() {
    let mem = memory((0..12).map(|n| told(&format!("ep{n}"), "x")));
    let recalled = mem.recall_episodes(&mem.episode_query()).expect("recalled");
    assert_eq!(episode_ids(&recalled)[..2], ["ep11", "ep10"]);
    assert_eq!(recalled.len(), 10);
}

#[test]
fn what_is_published_spreads_no_further_than_what_it_comes_from() {
    let ws = Arc::new(WorkspaceMemory::new(clock));
    let mem = AgentMemory::new("cro", clock).with_workspace(ws.clone());
    let of = |id: &str, classification| Insight {
        classification,
        domain: "revenue".into(),
        tags: strings(["t"]),
        ..insight(id, id)
    };
    for (id, level) in [
        ("i0", Classification::Internal),
        ("i1", Classification::Confidential),
        ("i2", Classification::Restricted),
    ] {
        mem.store_insight(of(id, level)).expect("stored");
    }
    mem.store_insight(Insight {
        status: InsightStatus::Retired,
        ..of("i3", Classification::Public)
    })
    .expect("stored");
    let published = mem.publish_to_workspace(0.5).expect("published");
    let told: Vec<_> = published
        .iter()
        .map(|fact| (fact.id.as_str(), fact.classification.name(), fact.named.len()))
        .collect();
    assert_eq!(
        told,
        [("pub_i0", "internal", 0), ("pub_i1", "confidential", 0), ("pub_i2", "restricted", 1)]
    );
    assert_eq!((published[0].domain.as_str(), published[0].tags.len()), ("revenue", 1));
    let seen = |who: &str, level| {
        let profile = ClearanceProfile::new(who).with("revenue", level);
        ws.query(&profile, &FactQuery::default()).expect("asked").len()
    };
    assert_eq!(seen("ceo", Classification::Internal), 1);
    assert_eq!(seen("ceo", Classification::Restricted), 2);
    assert_eq!(seen("cro", Classification::Restricted), 3);
    mem.store_insight(of("i1", Classification::Public)).expect("stored");
    let again = mem.publish_to_workspace(0.5).expect("published again");
    assert_eq!(again[1].classification, Classification::Confidential, "never lower than it was");
    assert_eq!(
        (again[0].access_count, again[0].created_at),
        (3, published[0].created_at),
        "it keeps what became of it"
    );
}

#[test]
fn two_agents_publish_under_the_same_id() {
    let ws = Arc::new(WorkspaceMemory::new(clock));
    let agent = |id: &str| AgentMemory::new(id, clock).with_workspace(ws.clone());
    let (cro, cmo) = (agent("cro"), agent("cmo"));
    cro.store_insight(insight("ins1", "of the cro")).expect("stored");
    cmo.store_insight(insight("ins1", "of the cmo")).expect("stored");
    let ids = |mem: &AgentMemory| mem.publish_to_workspace(0.5).expect("published").remove(0).id;
    assert_eq!(
        (ids(&cro), ids(&cmo), ids(&cmo)),
        ("pub_ins1".into(), "pub_cmo_ins1".into(), "pub_cmo_ins1".into())
    );
}

#[test]
fn all_of_it_in_a_capsule() {
    let f = Fixture::new();
    let location = StoreLocation::new(&f.path, WriteOptions::new(clock));
    let open = || {
        let ws = Arc::new(WorkspaceMemory::in_capsule(location.clone(), clock));
        AgentMemory::in_capsule("cro", &location, clock).with_workspace(ws)
    };
    let mem = open();
    for n in 0..3 {
        mem.record_episode(told(&format!("ep{n}"), "won the deal")).expect("recorded");
    }
    assert_eq!(count(&mem).new.len(), 1);
    drop(mem);
    let mem = open();
    assert_eq!(count(&mem), Reflection::default(), "known already");
    assert_eq!(mem.publish_to_workspace(0.5).expect("published").len(), 1);
    let cro = ClearanceProfile::new("cro").with("revenue", Classification::Internal);
    let read = |mem: &AgentMemory| {
        mem.workspace().expect("a team").query(&cro, &FactQuery::default()).expect("asked")
    };
    assert_eq!(read(&mem)[0].access_count, 1);
    drop(mem);
    assert_eq!(read(&open())[0].access_count, 2, "counts survive too");
    f.assert_whole();
}

/// A model has read all that it was shown: what it says in a domain may come of a secret of
/// another.
#[test]
fn what_is_learned_beside_a_secret_of_another_domain_is_restricted() {
    let of = |id: &str, domain: &str, classification| Episode {
        domain: domain.into(),
        classification,
        ..told(id, "x")
    };
    let learned = |episodes: &[Episode], reply: &str| {
        let learned = reflect(&memory(episodes.iter().cloned()), reply).new.remove(0);
        (learned.domain, learned.classification)
    };
    let in_sales =
        "[{\"content\": \"Staff is let go\", \"domain\": \"sales\", \"episodes\": [\"ep1\"]}]";
    let (internal, secret) = (Classification::Internal, Classification::Confidential);
    let mixed = [of("ep1", "sales", internal), of("ep2", "hr", secret)];
    assert_eq!(learned(&mixed, in_sales), ("sales".into(), Classification::Restricted));
    let in_hr = in_sales.replace("ep1", "ep2");
    assert_eq!(learned(&mixed, &in_hr), ("hr".into(), secret));
    let in_none = "[{\"content\": \"Staff is let go\"}]";
    assert_eq!(learned(&mixed, in_none), ("hr".into(), secret), "none was chosen");
    let open = [of("ep1", "sales", internal), of("ep2", "hr", internal)];
    assert_eq!(
        learned(&open, in_sales),
        ("sales".into(), internal),
        "what is internal changes nothing"
    );
    let two = [of("ep1", "ops", secret), of("ep2", "hr", secret)];
    assert_eq!(learned(&two, in_none), (String::new(), Classification::Restricted));

    let mem = memory([of("ep1", "sales", internal)]);
    assert_eq!(reflect(&mem, in_sales).new[0].classification, internal);
    for episode in [of("ep3", "sales", internal), of("ep2", "hr", secret)] {
        mem.record_episode(episode).expect("recorded");
    }
    let again = reflect(&mem, &in_sales.replace("ep1", "ep3")).strengthened;
    assert_eq!(
        (again[0].domain.as_str(), again[0].classification),
        ("sales", Classification::Restricted),
        "nor when seen again"
    );
}

/// What is counted rests on episodes of one domain alone.
#[test]
fn counting_keeps_domains_apart() {
    let of = |n: u32, domain: &str, classification| {
        let episode = told(&format!("ep_{domain}_{n}"), "won the deal");
        Episode { domain: domain.into(), classification, ..episode }
    };
    let secret = Classification::Confidential;
    let mem = memory(
        (0..3).flat_map(|n| [of(n, "hr", secret), of(n, "sales", Classification::Internal)]),
    );
    let learned = count(&mem).new;
    let told: Vec<_> =
        learned.iter().map(|insight| (insight.domain.as_str(), insight.classification)).collect();
    assert_eq!(told, [("hr", secret), ("sales", Classification::Internal)]);
}
