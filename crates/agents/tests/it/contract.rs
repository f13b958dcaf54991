//! The contract's own tests of types, stores, access, workspace and agent memory, under the names
//! they have there.

use std::sync::Arc;

use kapsa_agents::{
    AgentMemory, Episode, EpisodeQuery, EpisodicStore, Fact, FactQuery, FactStore,
    InMemoryEpisodicStore, InMemoryFactStore, InMemoryInsightStore, Insight, InsightQuery,
    InsightStatus, InsightStore, MemoryEntry, RetrievalTrace, TraceAction, WorkspaceMemory,
};
use kapsa_memory::access::{AccessFilter, Classification, ClearanceProfile};
use kapsa_model::{ChatReply, ScriptedModel, block_on};
use serde_json::json;

use super::{DAY, World, episode, fact, insight, strings};
use crate::clock;

mod memory_types {
    use super::*;

    #[test]
    fn classification_values() {
        let names = Classification::ALL.map(Classification::name);
        assert_eq!(names, ["public", "internal", "confidential", "restricted"]);
    }

    #[test]
    fn fact_creation() {
        let f = Fact::new("f1", "Acme has 200 employees", DAY);
        assert_eq!((f.id.as_str(), f.content.as_str()), ("f1", "Acme has 200 employees"));
        assert_eq!((f.entity.as_str(), f.domain.as_str(), f.tags.len()), ("", "", 0));
        assert_eq!(
            (f.confidence, f.importance, f.access_count, f.last_accessed),
            (1.0, 0.0, 0, None)
        );
        assert_eq!((f.classification, f.source.as_str()), (Classification::Internal, ""));
        assert_eq!((f.created_at, f.updated_at, f.supersedes), (DAY, DAY, None));
    }

    #[test]
    fn fact_with_addressing() {
        let f = Fact {
            entity: "acme_corp".into(),
            domain: "revenue".into(),
            tags: strings(["qualification", "scoring"]),
            classification: Classification::Confidential,
            source: "revenue_ops".into(),
            ..Fact::new("f2", "Acme scored 85", DAY)
        };
        assert_eq!((f.entity.as_str(), f.domain.as_str()), ("acme_corp", "revenue"));
        assert_eq!(f.tags, ["qualification", "scoring"]);
        assert_eq!(
            (f.classification, f.source.as_str()),
            (Classification::Confidential, "revenue_ops")
        );
    }

    #[test]
    fn episode_creation() {
        let e = episode("ep1", DAY);
        assert_eq!((e.id.as_str(), e.agent_id.as_str(), e.timestamp), ("ep1", "cro", DAY));
        assert_eq!(
            (e.entity.as_str(), e.domain.as_str(), e.tags.len(), e.outcome.len()),
            ("", "", 0, 0)
        );
    }

    #[test]
    fn episode_with_addressing() {
        let e =
            Episode { entity: "acme_corp".into(), domain: "revenue".into(), ..episode("ep2", DAY) };
        assert_eq!((e.entity.as_str(), e.domain.as_str()), ("acme_corp", "revenue"));
    }

    #[test]
    fn insight_creation() {
        let i = insight("ins1", "Webinar leads convert 2x vs cold");
        assert_eq!((i.content.as_str(), i.confidence), ("Webinar leads convert 2x vs cold", 0.8));
        assert_eq!(i.status.name(), "active");
    }

    #[test]
    fn insight_defaults() {
        let i = Insight::new("ins2", "cro", "test", DAY);
        assert_eq!((i.last_confirmed, i.status), (None, InsightStatus::Active));
        assert_eq!((i.entity.as_str(), i.domain.as_str(), i.tags.len()), ("", "", 0));
    }

    #[test]
    fn retrieval_trace() {
        let t = RetrievalTrace {
            action: TraceAction::Search,
            path: "/knowledge/sales/".into(),
            query: "VP sponsor".into(),
            results_count: 2,
            tokens_loaded: 340,
            timestamp: DAY,
            duration_ms: 0,
        };
        assert_eq!(
            (t.action.name(), t.path.as_str(), t.duration_ms),
            ("search", "/knowledge/sales/", 0)
        );
    }
}

mod store_protocols {
    use super::*;

    #[test]
    fn the_stores_are_protocols_that_the_classes_keep() {
        let _facts: Arc<dyn FactStore> = Arc::new(InMemoryFactStore::new());
        let _episodes: Arc<dyn EpisodicStore> = Arc::new(InMemoryEpisodicStore::new());
        let _insights: Arc<dyn InsightStore> = Arc::new(InMemoryInsightStore::new());
    }
}

mod stores {
    use super::*;

    fn found(world: &World, query: &FactQuery) -> usize {
        world.facts.query(query).expect("asked").len()
    }

    #[test]
    fn fact_store_and_get() {
        World::each(|w| {
            w.facts
                .store(&Fact { entity: "acme".into(), ..fact("f1", "Acme has 200 employees") })
                .expect("stored");
            let content = w.facts.get("f1").expect("asked").map(|fact| fact.content);
            assert_eq!(content.as_deref(), Some("Acme has 200 employees"));
            assert_eq!(w.facts.get("missing").expect("asked"), None);
        });
    }

    #[test]
    fn fact_store_query_by_entity_domain_tags_text_and_confidence() {
        World::each(|w| {
            let one = Fact {
                entity: "acme".into(),
                domain: "revenue".into(),
                tags: strings(["qualification", "lead"]),
                confidence: 0.9,
                ..fact("f1", "VP sponsor predicts conversion")
            };
            let two = Fact {
                entity: "beta".into(),
                domain: "marketing".into(),
                tags: strings(["competitor"]),
                confidence: 0.3,
                ..fact("f2", "Cold email has low response")
            };
            [one, two].iter().for_each(|fact| w.facts.store(fact).expect("stored"));
            let all = FactQuery::default;
            assert_eq!(found(w, &FactQuery { entity: Some("acme".into()), ..all() }), 1);
            assert_eq!(found(w, &FactQuery { domain: Some("revenue".into()), ..all() }), 1);
            assert_eq!(found(w, &FactQuery { tags: strings(["qualification"]), ..all() }), 1);
            assert_eq!(found(w, &FactQuery { text: "VP sponsor".into(), ..all() }), 1);
            assert_eq!(found(w, &FactQuery { confidence_min: 0.5, ..all() }), 1);
        });
    }

    #[test]
    fn fact_store_query_limit() {
        World::each(|w| {
            let facts: Vec<Fact> =
                (0..20).map(|n| fact(&format!("f{n}"), &format!("fact {n}"))).collect();
            w.facts.store_many(&facts).expect("stored");
            assert_eq!(found(w, &FactQuery { limit: 5, ..FactQuery::default() }), 5);
        });
    }

    #[test]
    fn fact_store_update_and_delete() {
        World::each(|w| {
            w.facts.store(&fact("f1", "Original")).expect("stored");
            w.facts.update(&fact("f1", "Updated")).expect("updated");
            assert_eq!(
                w.facts.get("f1").expect("asked").map(|fact| fact.content).as_deref(),
                Some("Updated")
            );
            w.facts.delete("f1").expect("deleted");
            assert_eq!(w.facts.get("f1").expect("asked"), None);
        });
    }

    #[test]
    fn episodic_store_and_query_since_with_a_limit() {
        World::each(|w| {
            for n in 0..20 {
                w.episodes.store(&episode(&format!("ep{n}"), n * DAY)).expect("stored");
            }
            w.episodes
                .store(&Episode { agent_id: "cmo".into(), ..episode("ep20", 0) })
                .expect("stored");
            let count = |query: EpisodeQuery| w.episodes.query(&query).expect("asked").len();
            assert_eq!(count(EpisodeQuery::of("cro")), 20);
            assert_eq!(count(EpisodeQuery { since: Some(15 * DAY), ..EpisodeQuery::of("cro") }), 5);
            assert_eq!(count(EpisodeQuery { limit: 5, ..EpisodeQuery::of("cro") }), 5);
        });
    }

    #[test]
    fn insight_store_query_update_and_find_similar() {
        World::each(|w| {
            let one = Insight {
                domain: "revenue".into(),
                ..insight("ins1", "Webinar leads convert 2x vs cold inbound")
            };
            w.insights.store(&one).expect("stored");
            w.insights.store(&insight("ins2", "Completely different")).expect("stored");
            let count = |query: InsightQuery| w.insights.query(&query).expect("asked").len();
            assert_eq!(count(InsightQuery::of("cro")), 2);
            assert_eq!(
                count(InsightQuery { domain: Some("revenue".into()), ..InsightQuery::of("cro") }),
                1
            );
            assert_eq!(
                count(InsightQuery { text: "webinar".into(), ..InsightQuery::of("cro") }),
                1
            );
            w.insights.update(&Insight { confidence: 0.9, ..one }).expect("updated");
            assert_eq!(
                w.insights.query(&InsightQuery::of("cro")).expect("asked")[0].confidence,
                0.9
            );
            let similar = |text: &str| {
                w.insights.find_similar("cro", text).expect("asked").map(|insight| insight.id)
            };
            assert_eq!(similar("webinar leads convert").as_deref(), Some("ins1"));
            assert_eq!(similar("webinar leads"), None);
        });
    }
}

mod access_control {
    use super::*;

    fn known(domain: &str, classification: Classification) -> Fact {
        Fact { domain: domain.into(), classification, ..fact("f1", "x") }
    }

    #[test]
    fn classification_rank_order() {
        assert_eq!(Classification::ALL.map(Classification::rank), [0, 1, 2, 3]);
    }

    #[test]
    fn clearance_public_always_accessible() {
        assert!(ClearanceProfile::new("cro").can_access(&known("", Classification::Public)));
    }

    #[test]
    fn clearance_by_domain_and_level() {
        let profile = ClearanceProfile::new("cro").with("revenue", Classification::Confidential);
        assert!(profile.can_access(&known("revenue", Classification::Internal)));
        assert!(profile.can_access(&known("revenue", Classification::Confidential)));
        let cmo = ClearanceProfile::new("cmo").with("marketing", Classification::Confidential);
        assert!(!cmo.can_access(&known("revenue", Classification::Confidential)));
        assert!(
            !cmo.can_access(&known("revenue", Classification::Internal)),
            "clearance in another domain never helps"
        );
        let low = ClearanceProfile::new("cro").with("revenue", Classification::Internal);
        assert!(!low.can_access(&known("revenue", Classification::Confidential)));
    }

    #[test]
    fn access_filter() {
        let profile = ClearanceProfile::new("cro").with("revenue", Classification::Confidential);
        let facts = vec![
            known("", Classification::Public),
            known("marketing", Classification::Confidential),
            known("revenue", Classification::Internal),
        ];
        let left = AccessFilter::new(profile).filter(facts);
        assert_eq!(
            left.iter().map(|fact| fact.domain.as_str()).collect::<Vec<_>>(),
            ["", "revenue"]
        );
    }
}

mod workspace_memory {
    use super::*;

    fn public(id: &str, content: &str) -> Fact {
        Fact { classification: Classification::Public, ..fact(id, content) }
    }

    fn nobody() -> ClearanceProfile {
        ClearanceProfile::new("cro")
    }

    #[test]
    fn store_and_query() {
        let ws = WorkspaceMemory::new(clock);
        ws.store_fact(&Fact { domain: "revenue".into(), ..fact("f1", "Acme data") })
            .expect("stored");
        let profile = nobody().with("revenue", Classification::Confidential);
        let query = FactQuery { domain: Some("revenue".into()), ..FactQuery::default() };
        let results = ws.query(&profile, &query).expect("asked");
        assert_eq!(
            results.iter().map(|fact| fact.content.as_str()).collect::<Vec<_>>(),
            ["Acme data"]
        );
    }

    #[test]
    fn query_filters_by_clearance() {
        let ws = WorkspaceMemory::new(clock);
        ws.store_fact(&public("f1", "Public info")).expect("stored");
        let secret = Fact {
            domain: "revenue".into(),
            classification: Classification::Confidential,
            ..fact("f2", "Revenue secret")
        };
        ws.store_fact(&secret).expect("stored");
        let cmo = ClearanceProfile::new("cmo").with("marketing", Classification::Internal);
        let results = ws.query(&cmo, &FactQuery::default()).expect("asked");
        assert_eq!(results.iter().map(|fact| fact.id.as_str()).collect::<Vec<_>>(), ["f1"]);
    }

    #[test]
    fn query_by_entity() {
        let ws = WorkspaceMemory::new(clock);
        for (id, entity) in [("f1", "acme"), ("f2", "beta")] {
            ws.store_fact(&Fact { entity: entity.into(), ..public(id, "info") }).expect("stored");
        }
        let query = FactQuery { entity: Some("acme".into()), ..FactQuery::default() };
        assert_eq!(ws.query(&nobody(), &query).expect("asked").len(), 1);
    }

    #[test]
    fn query_tracks_access() {
        let ws = WorkspaceMemory::new(clock);
        ws.store_fact(&public("f1", "tracked")).expect("stored");
        let results = ws.query(&nobody(), &FactQuery::default()).expect("asked");
        assert_eq!(results[0].access_count, 1);
        assert!(results[0].last_accessed.is_some());
        let kept = ws.store().get("f1").expect("asked");
        assert_eq!(kept.as_ref(), results.first(), "what is kept is what was shown");
    }

    #[test]
    fn update_fact() {
        let ws = WorkspaceMemory::new(clock);
        ws.store_fact(&public("f1", "Original")).expect("stored");
        ws.update_fact(&public("f1", "Updated")).expect("updated");
        let query = FactQuery { text: "Updated".into(), ..FactQuery::default() };
        assert_eq!(ws.query(&nobody(), &query).expect("asked").len(), 1);
    }

    #[test]
    fn query_respects_limit() {
        let ws = WorkspaceMemory::new(clock);
        for n in 0..20 {
            ws.store_fact(&public(&format!("f{n}"), "a fact")).expect("stored");
        }
        let query = FactQuery { limit: 5, ..FactQuery::default() };
        assert_eq!(ws.query(&nobody(), &query).expect("asked").len(), 5);
    }
}

mod agent_memory {
    use super::*;

    fn told(id: &str, domain: &str, output: &str) -> Episode {
        Episode { domain: domain.into(), output_summary: output.into(), ..episode(id, clock()) }
    }

    fn reply(value: serde_json::Value) -> ChatReply {
        ChatReply::text(value.to_string())
    }

    #[test]
    fn record_episode() {
        let mem = AgentMemory::new("cro", clock);
        mem.record_episode(Episode { agent_id: "cmo".into(), ..episode("ep1", 1) })
            .expect("recorded");
        let results = mem.recall_episodes(&mem.episode_query()).expect("recalled");
        assert_eq!(results.iter().map(|e| e.agent_id.as_str()).collect::<Vec<_>>(), ["cro"]);
    }

    #[test]
    fn recall_episodes_by_domain() {
        let mem = AgentMemory::new("cro", clock);
        mem.record_episode(told("ep1", "revenue", "x")).expect("recorded");
        mem.record_episode(told("ep2", "marketing", "x")).expect("recorded");
        let query = EpisodeQuery { domain: Some("revenue".into()), ..mem.episode_query() };
        assert_eq!(mem.recall_episodes(&query).expect("recalled").len(), 1);
    }

    #[test]
    fn store_and_recall_insights() {
        let mem = AgentMemory::new("cro", clock);
        let learned = Insight {
            agent_id: String::new(),
            domain: "revenue".into(),
            ..insight("ins1", "Webinar leads convert 2x")
        };
        mem.store_insight(learned).expect("stored");
        let query = InsightQuery { domain: Some("revenue".into()), ..mem.insight_query() };
        let results = mem.recall_insights(&query).expect("recalled");
        assert_eq!(results.iter().map(|i| i.agent_id.as_str()).collect::<Vec<_>>(), ["cro"]);
    }

    #[test]
    fn recall_insights_by_query() {
        let mem = AgentMemory::new("cro", clock);
        mem.store_insight(insight("ins1", "VP sponsor predicts conversion")).expect("stored");
        mem.store_insight(insight("ins2", "Email timing matters")).expect("stored");
        let query = InsightQuery { text: "VP sponsor".into(), ..mem.insight_query() };
        assert_eq!(mem.recall_insights(&query).expect("recalled").len(), 1);
    }

    #[test]
    fn reflect_extracts_insights() {
        let mem = AgentMemory::new("cro", clock);
        mem.record_episode(told("ep1", "revenue", "lead qualified at 85")).expect("recorded");
        mem.record_episode(told("ep2", "revenue", "lead qualified at 90")).expect("recorded");
        let model = ScriptedModel::new().then(reply(json!([
            {"content": "High scores predict conversion", "confidence": 0.7, "domain": "revenue", "tags": ["qualification"]},
        ])));
        let learned = block_on(mem.reflect(Some(&model), "")).expect("reflected");
        assert_eq!(
            learned.new.iter().map(|i| i.content.as_str()).collect::<Vec<_>>(),
            ["High scores predict conversion"]
        );
        assert_eq!(mem.recall_insights(&mem.insight_query()).expect("recalled"), learned.new);
    }

    #[test]
    fn reflect_strengthens_existing() {
        let mem = AgentMemory::new("cro", clock);
        let known = Insight {
            confidence: 0.5,
            evidence_count: 2,
            ..insight("ins1", "High scores predict conversion")
        };
        mem.store_insight(known).expect("stored");
        mem.record_episode(told("ep1", "revenue", "another high score")).expect("recorded");
        let again = json!([{"content": "high scores predict conversion", "confidence": 0.7, "domain": "", "tags": []}]);
        let learned = block_on(mem.reflect(Some(&ScriptedModel::new().then(reply(again))), ""))
            .expect("reflected");
        assert_eq!((learned.new.len(), learned.strengthened.len()), (0, 1));
        let stored = mem.recall_insights(&mem.insight_query()).expect("recalled");
        assert_eq!(stored, learned.strengthened);
        assert_eq!((stored[0].confidence, stored[0].evidence_count), (0.6, 3));
        assert!(stored[0].last_confirmed.is_some());
    }

    #[test]
    fn reflect_no_episodes() {
        let mem = AgentMemory::new("cro", clock);
        let model = ScriptedModel::new();
        let learned = block_on(mem.reflect(Some(&model), "")).expect("nothing to do");
        assert_eq!((learned.new.len(), model.requests().len()), (0, 0));
    }

    #[test]
    fn publish_to_workspace() {
        let ws = Arc::new(WorkspaceMemory::new(clock));
        let mem = AgentMemory::new("cro", clock).with_workspace(Arc::clone(&ws));
        mem.store_insight(Insight {
            confidence: 0.9,
            ..insight("ins1", "High confidence insight")
        })
        .expect("stored");
        mem.store_insight(Insight { confidence: 0.3, ..insight("ins2", "Low confidence") })
            .expect("stored");
        let published = mem.publish_to_workspace(0.5).expect("published");
        assert_eq!(published.len(), 1);
        let fact = &published[0];
        assert_eq!(
            (fact.id.as_str(), fact.content.as_str(), fact.source.as_str()),
            ("pub_ins1", "High confidence insight", "cro")
        );
        assert_eq!((fact.classification, fact.confidence), (Classification::Internal, 0.9));
        assert_eq!(ws.store().get("pub_ins1").expect("asked").as_ref(), Some(fact));
    }

    #[test]
    fn publish_no_workspace() {
        let mem = AgentMemory::new("cro", clock);
        mem.store_insight(insight("ins1", "x")).expect("stored");
        assert_eq!(mem.publish_to_workspace(0.5).expect("nothing to do"), []);
    }

    #[test]
    fn v1_compat_store_and_recall() {
        let mem = AgentMemory::new("cro", clock);
        mem.store("cro", "k1", &json!("webinar leads convert 2x")).expect("stored");
        let entry = MemoryEntry {
            key: "k1".into(),
            content: "webinar leads convert 2x".into(),
            namespace: "cro".into(),
        };
        assert_eq!(
            mem.recall("cro", "webinar", 10).expect("recalled"),
            std::slice::from_ref(&entry)
        );
        assert_eq!(
            mem.recall("cro", "which channel is best?", 10).expect("recalled"),
            vec![entry],
            "all, when nothing fits"
        );
        assert_eq!(mem.insight("k1").expect("asked").map(|insight| insight.confidence), Some(1.0));
    }

    #[test]
    fn v1_compat_recall_empty() {
        let mem = AgentMemory::new("cro", clock);
        assert_eq!(mem.recall("cro", "nothing", 10).expect("recalled"), []);
    }

    #[test]
    fn v1_compat_delete_noop() {
        let mem = AgentMemory::new("cro", clock);
        mem.store("cro", "k1", &json!({"a": 1})).expect("stored");
        mem.delete("cro", "k1");
        assert_eq!(mem.recall("cro", "", 10).expect("recalled")[0].content, "{\"a\":1}");
    }
}
