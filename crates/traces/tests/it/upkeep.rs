//! Upkeep of what traces brought.

use kapsa_agents::{CapsuleFactStore, Evidence, Fact, FactStore};
use kapsa_memory::{Provenance, Trust};
use kapsa_traces::{MaintainOptions, Maintained, maintain};

use crate::support::{NOW, Place, now};

/// A memory that one session brought.
fn memory(id: &str, text: &str, session: &str, confidence: f64) -> Fact {
    let source = format!("claude/{session}");
    Fact {
        entity: "shop".to_string(),
        tags: vec!["preference".to_string()],
        confidence,
        evidence: vec![Evidence {
            text: text.to_string(),
            source: source.clone(),
            at: NOW,
            ..Evidence::default()
        }],
        source,
        trust: Trust::Trace,
        ..Fact::new(id, text, NOW)
    }
}

fn store(place: &Place) -> CapsuleFactStore {
    let brought = Provenance::default().at_most(Some(Trust::Trace));
    CapsuleFactStore::new(place.location().brought_by(brought))
}

fn maintained(place: &Place, is_dry: bool) -> Maintained {
    let options = MaintainOptions { is_dry, ..MaintainOptions::new(now) };
    maintain(&place.location(), &options).expect("it works")
}

fn ids(list: &[kapsa_traces::Upkept]) -> Vec<(&str, Option<&str>)> {
    list.iter().map(|upkept| (upkept.id.as_str(), upkept.into.as_deref())).collect()
}

#[test]
fn what_says_the_same_becomes_one_with_the_evidence_of_both() {
    let place = Place::new();
    let all = [
        memory("a", "Deploy with the release script", "s1", 0.6),
        memory("b", "Deploy with the release script", "s2", 0.6),
        memory("c", "Deploy with the release script\nIt tags the commit", "s3", 0.6),
        memory("d", "Invoices are numbered without gaps", "s4", 0.6),
    ];
    store(&place).store_many(&all).expect("it stores");
    let shown = maintained(&place, true);
    assert_eq!(ids(&shown.merged).first(), Some(&("b", Some("a"))), "{shown:?}");
    assert_eq!(store(&place).get("b").expect("it reads"), Some(all[1].clone()), "only shown");

    let done = maintained(&place, false);
    let joined: Vec<_> = [ids(&done.merged), ids(&done.consolidated)].concat();
    assert_eq!(joined, [("b", Some("a")), ("c", Some("a"))]);
    assert_eq!(done.unchanged, 2);
    let one = store(&place).get("a").expect("it reads").expect("it is there");
    assert_eq!((one.evidence.len(), one.evidence_count), (3, 3));
    assert!(one.confidence > 0.6 && one.content.contains("It tags the commit"), "{one:?}");
    assert_eq!(one.trust, Trust::Trace, "upkeep makes nothing more trusted");
    let two = store(&place).get("b").expect("it reads").expect("it is there");
    assert_eq!(two.superseded_by.as_deref(), Some("a"), "nothing is deleted");
    let again = maintained(&place, false);
    assert_eq!(again.unchanged, 2, "there is nothing left to do: {again:?}");
}

#[test]
fn what_nobody_needs_is_archived_and_what_is_trusted_further_is_left() {
    let place = Place::new();
    let doubtful = memory("a", "The lamp in the hall may be broken", "s1", 0.1);
    let confirmed =
        Fact { evidence_count: 2, ..memory("b", "Perhaps the cache is cold", "s2", 0.1) };
    let empty = memory("c", "Ok", "s3", 0.9);
    store(&place).store_many(&[doubtful, confirmed, empty]).expect("it stores");
    let owners = Fact { trust: Trust::Owner, ..memory("d", "Hm", "s4", 0.1) };
    CapsuleFactStore::new(place.location()).store(&owners).expect("it stores");
    let done = maintained(&place, false);
    assert_eq!(ids(&done.archived), [("a", None), ("c", None)]);
    let ended = store(&place).get("a").expect("it reads").expect("it is there");
    assert_eq!(ended.valid_to, Some(NOW));
    let left = store(&place).get("d").expect("it reads").expect("it is there");
    assert_eq!(left.valid_to, None);
}

#[test]
fn one_repository_alone_is_looked_through_where_it_is_named() {
    let place = Place::new();
    let other = Fact { entity: "mill".to_string(), ..memory("a", "Ok", "s1", 0.9) };
    store(&place).store(&other).expect("it stores");
    let options = MaintainOptions {
        repository: Some("shop".to_string()),
        is_dry: false,
        ..MaintainOptions::new(now)
    };
    assert_eq!(maintain(&place.location(), &options).expect("it works").archived, []);
}
