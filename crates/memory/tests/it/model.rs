//! Random operations against a plain map: whatever the layout, the same answers.

use std::collections::BTreeMap;

use kapsa_memory::{Error, FindRequest, Reader, TimelineRequest};
use proptest::prelude::*;

use crate::{Fixture, named, uri};

#[derive(Clone, Debug)]
enum Operation {
    Put(u8, u16),
    Batch(Vec<(u8, u16)>),
    Forget(u8),
    Reopen,
    Optimize,
    Compact,
    Purge(u8),
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        8 => (0u8..12, any::<u16>()).prop_map(|(k, v)| Operation::Put(k, v)),
        3 => prop::collection::vec((0u8..12, any::<u16>()), 1..150).prop_map(Operation::Batch),
        3 => (0u8..12).prop_map(Operation::Forget),
        2 => Just(Operation::Reopen),
        1 => Just(Operation::Optimize),
        1 => Just(Operation::Compact),
        1 => (0u8..12).prop_map(Operation::Purge),
    ]
}

/// Every revision by sequence (none for a tombstone), and the newest sequence of each key.
#[derive(Default)]
struct Model {
    revisions: Vec<(u8, Option<String>)>,
    erased: Vec<u64>,
    to_erase: Vec<u64>,
}

impl Model {
    fn put(&mut self, key: u8, value: Option<String>) {
        self.revisions.push((key, value));
    }

    fn visible(&self) -> BTreeMap<u8, (u64, String)> {
        let mut visible = BTreeMap::new();
        for (index, (key, value)) in self.revisions.iter().enumerate() {
            match value {
                Some(value) => visible.insert(*key, (index as u64 + 1, value.clone())),
                None => visible.remove(key),
            };
        }
        visible
    }

    fn sequences_of(&self, key: u8) -> Vec<u64> {
        let numbered = (1u64..).zip(&self.revisions);
        numbered.filter(|(s, (k, _))| *k == key && !self.erased.contains(s)).map(|(s, _)| s).collect()
    }
}

fn text(value: u16) -> String {
    format!("common word and value{value}")
}

fn name(key: u8) -> String {
    format!("key/{key}")
}

fn apply(f: &Fixture, writer: &mut Option<kapsa_memory::Writer>, model: &mut Model, operation: &Operation) {
    let mut w = writer.take().unwrap_or_else(|| f.writer());
    match operation {
        Operation::Put(key, value) => {
            w.put(named(&name(*key), &text(*value))).expect("put");
            model.put(*key, Some(text(*value)));
        }
        Operation::Batch(pairs) => {
            w.put_many(pairs.iter().map(|(k, v)| named(&name(*k), &text(*v))).collect()).expect("put");
            pairs.iter().for_each(|(k, v)| model.put(*k, Some(text(*v))));
        }
        Operation::Forget(key) => match w.forget(&uri(&name(*key))) {
            Ok(_) => {
                assert!(model.visible().contains_key(key));
                model.put(*key, None);
            }
            Err(Error::UriNotFound { .. }) => assert!(!model.visible().contains_key(key)),
            Err(error) => panic!("{error}"),
        },
        Operation::Purge(key) => {
            let put = |s: &u64| model.revisions[*s as usize - 1].1.is_some();
            let erasable: Vec<u64> = model.sequences_of(*key).into_iter().filter(put).collect();
            match w.purge(&uri(&name(*key))) {
                Ok(count) => {
                    assert_eq!(count as usize, erasable.len());
                    model.to_erase.extend(model.sequences_of(*key));
                    model.put(*key, None);
                }
                Err(Error::UriNotFound { .. }) => assert!(erasable.is_empty()),
                Err(error) => panic!("{error}"),
            }
        }
        Operation::Reopen => return,
        Operation::Optimize => drop(w.optimize(&mut |_, _| {}).expect("optimises")),
        Operation::Compact => {
            w.compact(&mut |_, _| {}).expect("compacts");
            model.erased.append(&mut model.to_erase);
            return;
        }
    }
    *writer = Some(w);
}

fn check(reader: &Reader, model: &Model) {
    let visible = model.visible();
    for key in 0..12 {
        match (reader.get(&uri(&name(key))), visible.get(&key)) {
            (Ok(record), Some((sequence, value))) => assert_eq!((record.sequence, &record.text), (*sequence, value)),
            (Err(Error::UriNotFound { .. }), None) => {}
            (got, want) => panic!("key {key}: {got:?} instead of {want:?}"),
        }
        let history = reader.history(&uri(&name(key))).unwrap_or_default();
        assert_eq!(history.iter().map(|r| r.sequence).collect::<Vec<_>>(), model.sequences_of(key));
    }
    let mut sequences: Vec<u64> = visible.values().map(|(sequence, _)| *sequence).collect();
    sequences.sort_unstable();
    let listed = reader.timeline(&TimelineRequest { limit: 1000, ..TimelineRequest::default() }).expect("listed");
    assert_eq!(listed.iter().map(|r| r.sequence).collect::<Vec<_>>(), sequences);
    let found = reader.find(&FindRequest { k: 1000, ..FindRequest::new("common") }).expect("found");
    let mut hits: Vec<u64> = found.hits.iter().map(|h| h.record.sequence).collect();
    hits.sort_unstable();
    assert_eq!(hits, sequences);
    let stats = reader.stats(true).expect("counted");
    assert_eq!((stats.uri_count, stats.record_count), (Some(visible.len() as u64), model.revisions.len() as u64));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_capsule_answers_like_a_map(operations in prop::collection::vec(operation(), 1..40)) {
        let f = Fixture::new();
        let mut model = Model::default();
        let mut writer = None;
        for operation in &operations {
            apply(&f, &mut writer, &mut model, operation);
            check(&f.reader(), &model);
        }
        drop(writer);
        f.assert_whole();
    }
}
