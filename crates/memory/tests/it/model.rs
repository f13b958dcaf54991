//! Random operations against a plain map: whatever the layout, whenever the power fails, the same
//! answers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kapsa_memory::{
    Error, FindRequest, Reader, TimelineRequest, WriteOptions, Writer, create_unlocked, purge,
    stats,
};
use kapsa_testkit::{Disk, Random, one_crash};

use crate::{clock, named, uri};

/// How many lists of operations are tried, and how long they are at most.
const LISTS: u64 = 5_000;
const OPERATIONS_MAX: u64 = 24;
/// Keys that records are put under.
const KEYS: u64 = 12;

#[derive(Clone, Debug)]
enum Operation {
    Put(u8, u16),
    Batch(Vec<(u8, u16)>),
    Forget(u8),
    Reopen,
    Optimize,
    Compact,
    Purge(u8),
    /// A reader opens now and is asked again later.
    Keep,
    /// The power fails after the operations so far, or in the middle of this one.
    Crash(Option<Box<Operation>>),
}

impl Operation {
    fn random(random: &mut Random) -> Operation {
        match random.below(26) {
            0..8 => Operation::Put(key(random), random.number() as u16),
            8..11 => Operation::batch(random),
            11..14 => Operation::Forget(key(random)),
            14..16 => Operation::Reopen,
            16 => Operation::Optimize,
            17 => Operation::Compact,
            18 => Operation::Purge(key(random)),
            19..22 => Operation::Keep,
            22 => Operation::Crash(None),
            _ => Operation::Crash(Some(Box::new(Operation::interrupted(random)))),
        }
    }

    fn batch(random: &mut Random) -> Operation {
        let most = if random.below(4) == 0 { 150 } else { 20 };
        let count = 1 + random.below(most);
        Operation::Batch((0..count).map(|_| (key(random), random.number() as u16)).collect())
    }

    /// Something that writes.
    fn interrupted(random: &mut Random) -> Operation {
        match random.below(6) {
            0 => Operation::batch(random),
            1 => Operation::Forget(key(random)),
            2 => Operation::Optimize,
            3 => Operation::Compact,
            _ => Operation::Put(key(random), random.number() as u16),
        }
    }
}

fn key(random: &mut Random) -> u8 {
    random.below(KEYS) as u8
}

/// Every revision by sequence (none for a tombstone), and the newest sequence of each key.
#[derive(Clone, Default)]
struct Model {
    revisions: Vec<(u8, Option<String>)>,
    erased: Vec<u64>,
    to_erase: Vec<u64>,
    /// What asked for erasure: it stays.
    markers: Vec<u64>,
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
        numbered
            .filter(|(s, (k, _))| *k == key && !self.erased.contains(s))
            .map(|(s, _)| s)
            .collect()
    }
}

fn text(value: u16) -> String {
    format!("common word and value{value}")
}

fn name(key: u8) -> String {
    format!("key/{key}")
}

fn path() -> &'static Path {
    Path::new("m.kapsa")
}

/// A capsule on a simulated disk, what it should hold, and readers of earlier moments.
struct World {
    disk: Disk,
    /// What was on disk when the power last came.
    start: BTreeMap<PathBuf, Vec<u8>>,
    model: Model,
    writer: Option<Writer>,
    kept: Vec<(Reader, Model)>,
}

impl World {
    fn new() -> World {
        let disk = Disk::default();
        create_unlocked(&disk, path(), &WriteOptions::new(clock)).expect("created");
        let start = disk.files();
        World {
            disk: Disk::with_files(&start),
            start,
            model: Model::default(),
            writer: None,
            kept: Vec::new(),
        }
    }

    fn reader(&self) -> Reader {
        Reader::open_in(&self.disk, path()).expect("opens")
    }

    fn writer(&mut self) -> Writer {
        let open = || {
            Writer::open_unlocked(Arc::new(self.disk.clone()), path(), WriteOptions::new(clock))
                .expect("opens")
        };
        self.writer.take().unwrap_or_else(open)
    }

    fn step(&mut self, operation: &Operation, random: &mut Random) {
        match operation {
            Operation::Keep => self.kept.push((self.reader(), self.model.clone())),
            Operation::Crash(None) => {
                let operations = self.disk.operations();
                self.power_fails(&operations, random);
            }
            Operation::Crash(Some(interrupted)) => {
                let before = self.model.clone();
                let from = self.disk.operations().len();
                let writer = self.writer();
                drop(apply(writer, &mut self.model, interrupted));
                let operations = self.disk.operations();
                let done = from + random.below((operations.len() - from) as u64 + 1) as usize;
                self.power_fails(&operations[..done], random);
                // Whole or not at all. Compaction erases what was purged, which the number of
                // records does not tell.
                let reader = self.reader();
                if !answers_like(&reader, &self.model) {
                    self.model = before;
                }
            }
            _ => {
                let writer = self.writer();
                self.writer = apply(writer, &mut self.model, operation);
            }
        }
    }

    fn power_fails(&mut self, operations: &[kapsa_testkit::Operation], random: &mut Random) {
        (self.writer, self.kept) = (None, Vec::new());
        self.start = one_crash(&self.start, operations, random);
        self.disk = Disk::with_files(&self.start);
    }
}

fn answers_like(reader: &Reader, model: &Model) -> bool {
    let count = stats(reader, false).expect("counted").last_sequence;
    let erased = |s: &u64| reader.record(*s).expect("readable").purged;
    count == model.revisions.len() as u64 && model.erased.iter().all(erased)
}

/// Does to the capsule what the operation says, and to the model what that means.
fn apply(mut w: Writer, model: &mut Model, operation: &Operation) -> Option<Writer> {
    match operation {
        Operation::Put(key, value) => {
            w.put(named(&name(*key), &text(*value))).expect("put");
            model.put(*key, Some(text(*value)));
        }
        Operation::Batch(pairs) => {
            w.put_many(pairs.iter().map(|(k, v)| named(&name(*k), &text(*v))).collect())
                .expect("put");
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
            match purge(&mut w, &uri(&name(*key))) {
                Ok(count) => {
                    assert_eq!(count as usize, erasable.len());
                    let erased =
                        model.sequences_of(*key).into_iter().filter(|s| !model.markers.contains(s));
                    model.to_erase.extend(erased.collect::<Vec<_>>());
                    model.put(*key, None);
                    model.markers.push(model.revisions.len() as u64);
                }
                Err(Error::UriNotFound { .. }) => assert!(erasable.is_empty()),
                Err(error) => panic!("{error}"),
            }
        }
        Operation::Reopen => return None,
        Operation::Keep | Operation::Crash(_) => unreachable!("the world does those"),
        Operation::Optimize => drop(w.optimize(&mut |_, _| {}).expect("optimises")),
        Operation::Compact => {
            w.compact(&mut |_, _| {}).expect("compacts");
            model.erased.append(&mut model.to_erase);
            return None;
        }
    }
    Some(w)
}

fn check(reader: &Reader, model: &Model) {
    let visible = model.visible();
    for key in 0..12 {
        match (reader.get(&uri(&name(key))), visible.get(&key)) {
            (Ok(record), Some((sequence, value))) => {
                assert_eq!((record.sequence, &record.text), (*sequence, value))
            }
            (Err(Error::UriNotFound { .. }), None) => {}
            (got, want) => panic!("key {key}: {got:?} instead of {want:?}"),
        }
        let history = reader.history(&uri(&name(key))).unwrap_or_default();
        assert_eq!(history.iter().map(|r| r.sequence).collect::<Vec<_>>(), model.sequences_of(key));
    }
    let mut sequences: Vec<u64> = visible.values().map(|(sequence, _)| *sequence).collect();
    sequences.sort_unstable();
    let listed = reader
        .timeline(&TimelineRequest { limit: 1000, ..TimelineRequest::default() })
        .expect("listed");
    assert_eq!(listed.iter().map(|r| r.sequence).collect::<Vec<_>>(), sequences);
    let found = reader
        .find(&FindRequest { k: 1000, duplicates: true, ..FindRequest::new("common") })
        .expect("found");
    let mut hits: Vec<u64> = found.hits.iter().map(|h| h.record.sequence).collect();
    hits.sort_unstable();
    assert_eq!(hits, sequences);
    let stats = stats(reader, true).expect("counted");
    assert_eq!(
        (stats.uri_count, stats.last_sequence),
        (Some(visible.len() as u64), model.revisions.len() as u64)
    );
}

/// One list of operations, checked after each.
fn run(seed: u64) {
    let mut random = Random::new(seed);
    let mut world = World::new();
    let count = 1 + random.below(OPERATIONS_MAX);
    for number in 0..count {
        let operation = Operation::random(&mut random);
        world.step(&operation, &mut random);
        if number + 1 == count || random.below(3) == 0 {
            check(&world.reader(), &world.model);
        }
        if let Some((reader, model)) = world.kept.first().filter(|_| random.below(4) == 0) {
            check(reader, model);
        }
    }
    world.kept.iter().for_each(|(reader, model)| check(reader, model));
    drop(world.writer);
    let report =
        kapsa_capsule::verify_in(&world.disk, path(), &mut |_, _| {}).expect("can be checked");
    let harmless = report.problems.iter().all(|p| p.what.contains("commit pointer"));
    assert!(harmless, "{:?}", report.problems);
}

#[test]
fn a_capsule_answers_like_a_map() {
    let first = std::env::var("KAPSA_MODEL_SEED")
        .map_or(1, |seed| seed.parse().expect("KAPSA_MODEL_SEED is a number"));
    let lists = std::env::var("KAPSA_MODEL_LISTS")
        .map_or(LISTS, |lists| lists.parse().expect("KAPSA_MODEL_LISTS is a number"));
    let next = AtomicU64::new(first);
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + lists {
                return;
            }
            let ran = std::panic::catch_unwind(|| run(seed));
            assert!(
                ran.is_ok(),
                "seed {seed} failed; KAPSA_MODEL_SEED={seed} KAPSA_MODEL_LISTS=1 repeats it"
            );
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    println!("{lists} lists from seed {first} on");
}
