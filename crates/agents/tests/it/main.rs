//! Memories of agents: every kind of store against one suite, and the contract's own tests.

#![allow(clippy::too_many_lines, reason = "a test may tell a long story")]
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::new_without_default)]

mod capsule;
mod conformance;
mod context;
mod contract;
mod filesystem;
#[path = "../../../memory/tests/it/fixture.rs"]
mod fixture;
mod model;
mod reflection;
mod workspace;

use kapsa_agents::{
    CapsuleEpisodicStore, CapsuleFactStore, CapsuleInsightStore, Episode, EpisodicStore, Fact,
    FactStore, InMemoryEpisodicStore, InMemoryFactStore, InMemoryInsightStore, Insight,
    InsightStore, StoreLocation,
};
use kapsa_memory::{
    Choice, MergeRequest, MergeResult, WriteOptions, Writer, branch, merge, optimize,
};

pub use fixture::{Fixture, clock, named, uri};

/// A day of 2026, as a moment that no clock of a test comes to.
pub const DAY: i64 = 86_400_000_000;

/// Where stores keep their things.
pub enum Place {
    Memory,
    Capsule,
    Branch,
}

impl Place {
    pub const ALL: [Place; 3] = [Place::Memory, Place::Capsule, Place::Branch];
}

/// One store of each kind, all empty.
pub struct World {
    pub name: &'static str,
    pub facts: Box<dyn FactStore>,
    pub episodes: Box<dyn EpisodicStore>,
    pub insights: Box<dyn InsightStore>,
    capsule: Option<(Fixture, StoreLocation)>,
}

impl World {
    pub fn new(place: &Place) -> World {
        match place {
            Place::Memory => World {
                name: "in memory",
                facts: Box::new(InMemoryFactStore::new()),
                episodes: Box::new(InMemoryEpisodicStore::new()),
                insights: Box::new(InMemoryInsightStore::new()),
                capsule: None,
            },
            Place::Capsule => {
                let f = Fixture::new();
                let location = StoreLocation::new(&f.path, WriteOptions::new(clock));
                World::in_capsule("capsule", f, location)
            }
            Place::Branch => {
                let f = Fixture::new();
                branch::create(&mut f.writer(), "team/red", "main", None).expect("made");
                let location = StoreLocation::new(&f.path, WriteOptions::new(clock));
                disturb(&location);
                let location = location.on("team/red");
                World::in_capsule("capsule on a branch", f, location)
            }
        }
    }

    fn in_capsule(name: &'static str, fixture: Fixture, location: StoreLocation) -> World {
        World {
            name,
            facts: Box::new(CapsuleFactStore::new(location.clone())),
            episodes: Box::new(CapsuleEpisodicStore::new(location.clone())),
            insights: Box::new(CapsuleInsightStore::new(location.clone())),
            capsule: Some((fixture, location)),
        }
    }

    /// Each of them, and what they hold.
    pub fn each(check: impl Fn(&World)) {
        for place in Place::ALL {
            let world = World::new(&place);
            check(&world);
            world.assert_whole();
        }
    }

    /// As if another process went on with it.
    pub fn reopened(self) -> World {
        let World { name, facts, episodes, insights, capsule } = self;
        match capsule {
            None => World { name, facts, episodes, insights, capsule },
            Some((fixture, location)) => {
                drop((facts, episodes, insights));
                World::in_capsule(name, fixture, location)
            }
        }
    }

    /// Moves what was written so far into the index.
    pub fn settle(&self) {
        if let Some((fixture, _)) = &self.capsule {
            optimize(&fixture.path, &WriteOptions::new(clock), &mut |_, _| {}).expect("optimised");
        }
    }

    fn assert_whole(&self) {
        if let Some((fixture, _)) = &self.capsule {
            fixture.assert_whole();
        }
    }
}

/// On `main`, after the branch has left it: nothing of it may be seen there.
fn disturb(location: &StoreLocation) {
    let facts = CapsuleFactStore::new(location.clone());
    for id in ["f0", "f1", "f2"] {
        facts.store(&fact(id, "Acme was seen from main")).expect("stored");
    }
    CapsuleEpisodicStore::new(location.clone()).store(&episode("e0", 1)).expect("stored");
    CapsuleInsightStore::new(location.clone())
        .store(&insight("i0", "Acme was seen from main"))
        .expect("stored");
}

pub fn writer(path: &std::path::Path) -> Writer {
    Writer::open(path, WriteOptions::new(clock)).expect("opens for writing")
}

pub fn fact(id: &str, content: &str) -> Fact {
    Fact::new(id, content, DAY)
}

pub fn episode(id: &str, timestamp: i64) -> Episode {
    Episode {
        operator_id: "test_op".to_string(),
        node_name: "test_node".to_string(),
        action: "test_action".to_string(),
        input_summary: "input".to_string(),
        output_summary: "output".to_string(),
        duration_ms: 100,
        tokens_in: 10,
        tokens_out: 20,
        ..Episode::new(id, "cro", timestamp)
    }
}

pub fn insight(id: &str, content: &str) -> Insight {
    Insight { confidence: 0.8, evidence_count: 3, ..Insight::new(id, "cro", content, DAY) }
}

pub fn strings<const N: usize>(all: [&str; N]) -> Vec<String> {
    all.map(str::to_string).to_vec()
}

pub fn fact_ids(facts: &[Fact]) -> Vec<&str> {
    facts.iter().map(|fact| fact.id.as_str()).collect()
}

pub fn episode_ids(episodes: &[Episode]) -> Vec<&str> {
    episodes.iter().map(|episode| episode.id.as_str()).collect()
}

pub fn insight_ids(insights: &[Insight]) -> Vec<&str> {
    insights.iter().map(|insight| insight.id.as_str()).collect()
}

/// Merges a branch into `main`; where both sides changed something, both stay.
pub fn merge_contested(f: &Fixture, from: &str) {
    let rule = Some(Choice::Contested);
    let request =
        MergeRequest { from: from.into(), to: "main".into(), rule, ..MergeRequest::default() };
    let merged = merge::merge(&mut f.writer(), &request).expect("merged");
    assert!(matches!(merged, MergeResult::Done(_)), "{merged:?}");
}
