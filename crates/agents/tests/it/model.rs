//! Any sequence of changes and questions: every store answers as a plain list does.

use kapsa_agents::{Fact, FactQuery};
use kapsa_memory::access::{Classification, ClearanceProfile};
use kapsa_testkit::Random;

use super::{DAY, Place, World, fact};

const SEEDS: u64 = 4;
const STEPS: usize = 220;
const IDS: u64 = 24;

const WORDS: [&str; 8] = ["port", "airport", "Sponsor", "the", "5433", "É", "moved to", "x_y"];

/// Facts as a list, written down as the contract says it.
#[derive(Default)]
struct Model(Vec<Fact>);

impl Model {
    fn store(&mut self, fact: &Fact) {
        match self.0.iter().position(|old| old.id == fact.id) {
            Some(at) => self.0[at] = fact.clone(),
            None => self.0.push(fact.clone()),
        }
    }

    fn query(&self, q: &FactQuery) -> Vec<Fact> {
        let mut found = Vec::new();
        for fact in &self.0 {
            let wrong = q.entity.as_ref().is_some_and(|entity| *entity != fact.entity)
                || q.domain.as_ref().is_some_and(|domain| *domain != fact.domain)
                || !q.tags.is_empty() && !q.tags.iter().any(|tag| fact.tags.contains(tag))
                || !fact.content.to_lowercase().contains(&q.text.to_lowercase())
                || fact.confidence < q.confidence_min
                || fact.superseded_by.is_some()
                || q.clearance.as_ref().is_some_and(|profile| !profile.can_access(fact));
            if !wrong && found.len() < q.limit {
                found.push(fact.clone());
            }
        }
        found
    }
}

fn pick<'a>(random: &mut Random, of: &[&'a str]) -> &'a str {
    of[random.below(of.len() as u64) as usize]
}

fn phrase(random: &mut Random, words: u64) -> String {
    (0..words)
        .map(|_| pick(random, &WORDS))
        .collect::<Vec<_>>()
        .join(pick(random, &[" ", " ", ", "]))
}

fn some(random: &mut Random, of: &[&str]) -> Option<String> {
    (random.below(3) == 0).then(|| pick(random, of).to_string())
}

fn random_fact(random: &mut Random) -> Fact {
    let tags = (0..random.below(3)).map(|_| pick(random, &["a", "b", "k=v"]).to_string()).collect();
    let words = 1 + random.below(5);
    Fact {
        entity: pick(random, &["", "acme", "beta"]).to_string(),
        domain: pick(random, &["", "revenue", "marketing"]).to_string(),
        tags,
        confidence: random.below(11) as f64 / 10.0,
        classification: Classification::ALL[random.below(4) as usize],
        named: vec!["cro".to_string()],
        superseded_by: some(random, &["f1"]).filter(|_| random.below(4) == 0),
        ..fact(&format!("f{}", random.below(IDS)), &phrase(random, words))
    }
}

fn random_query(random: &mut Random) -> FactQuery {
    let words = random.below(4);
    let mut text = phrase(random, words).to_uppercase();
    if random.below(3) == 0 && text.is_ascii() && text.len() > 4 {
        text = text[1..text.len() - 1].to_string();
    }
    let profile = ClearanceProfile::new(pick(random, &["cro", "cmo"]));
    let level = Classification::ALL[random.below(4) as usize];
    let profile = profile.with(pick(random, &["revenue", "marketing", ""]), level);
    FactQuery {
        entity: some(random, &["", "acme"]),
        domain: some(random, &["", "revenue"]),
        tags: some(random, &["a", "b", "k=v"]).into_iter().collect(),
        text,
        confidence_min: random.below(6) as f64 / 10.0,
        clearance: (random.below(2) == 0).then_some(profile),
        limit: [0, 1, 3, 10, usize::MAX][random.below(5) as usize],
        ..FactQuery::default()
    }
}

fn run(seed: u64, place: &Place) {
    let mut random = Random::new(seed);
    let (mut world, mut model) = (World::new(place), Model::default());
    for step in 0..STEPS {
        match random.below(20) {
            0..10 => {
                let fact = random_fact(&mut random);
                world.facts.store(&fact).expect("stored");
                model.store(&fact);
            }
            10..12 => {
                let id = format!("f{}", random.below(IDS));
                world.facts.delete(&id).expect("deleted");
                model.0.retain(|fact| fact.id != id);
            }
            12..16 => {
                let id = format!("f{}", random.below(IDS));
                let at = DAY + step as i64;
                world.facts.touch(&[&id], at).expect("counted");
                for fact in model.0.iter_mut().filter(|fact| fact.id == id) {
                    (fact.access_count, fact.last_accessed) = (fact.access_count + 1, Some(at));
                }
            }
            16 => world.settle(),
            17 => world = world.reopened(),
            _ => {}
        }
        let query = random_query(&mut random);
        let found = world.facts.query(&query).expect("answered");
        assert_eq!(
            found,
            model.query(&query),
            "seed {seed}, step {step}, {}: {query:?}",
            world.name
        );
    }
}

#[test]
fn every_store_answers_as_a_plain_list_does() {
    for seed in 1..=SEEDS {
        Place::ALL.iter().for_each(|place| run(seed, place));
    }
}
