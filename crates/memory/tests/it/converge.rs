//! Random histories of two to five capsules that put, forget, purge, merge, compact and exchange,
//! in rings, stars, chains and at random: all end with the same state.
//!
//! In plain histories a model knows what each capsule must show at any time: every write is an
//! operation that replaces what its writer held, a capsule holds a set of operations, and what no
//! held one replaces is shown. In wild histories, with branches, decisions and aliases, only the
//! end is compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use kapsa_memory::{
    Choice, EventRequest, EventType, LocalPeer, MergeRequest, MergeResult, NewCheckpoint, NewEvent,
    Reader, TimelineRequest, WriteOptions, Writer, branch, checkpoint, clone, event, merge, remote,
    sync,
};
use kapsa_testkit::Random;

use crate::{Fixture, clock, named, uri};

const HISTORIES: u64 = 120;
const HISTORIES_MANY: u64 = 2_000;
const STEPS_MAX: u64 = 40;
const KEYS: u64 = 5;

type Operation = usize;

/// One write of a plain history.
#[derive(Clone, Debug)]
struct Written {
    key: u64,
    /// None: it forgets.
    text: Option<String>,
    replaces: BTreeSet<Operation>,
}

struct Capsule {
    path: PathBuf,
    held: BTreeSet<Operation>,
    /// By remote, what was fetched from it.
    fetched: BTreeMap<usize, BTreeSet<Operation>>,
}

struct World {
    _folder: Fixture,
    random: Random,
    capsules: Vec<Capsule>,
    edges: Vec<(usize, usize)>,
    written: Vec<Written>,
    is_plain: bool,
    label: u64,
}

fn options() -> WriteOptions {
    WriteOptions::new(clock)
}

impl World {
    fn new(seed: u64) -> World {
        let mut random = Random::new(seed);
        let folder = Fixture::new();
        let count = 2 + random.below(4) as usize;
        let is_shared = random.below(2) == 0;
        if is_shared {
            let mut writer = folder.writer();
            writer.put(named("shared", "fact shared")).expect("put");
        }
        let capsules = (0..count).map(|at| {
            let path = folder.path.with_file_name(format!("c{at}.kapsa"));
            if is_shared {
                clone(&folder.path, &path, &mut |_, _| {}).expect("cloned");
            } else {
                kapsa_memory::create(&path, &options()).expect("created");
            }
            Capsule { path, held: BTreeSet::new(), fetched: BTreeMap::new() }
        });
        let capsules: Vec<Capsule> = capsules.collect();
        let edges: Vec<(usize, usize)> = match random.below(4) {
            0 => (0..count).map(|at| (at, (at + 1) % count)).collect(),
            1 => (1..count).map(|at| (at, 0)).collect(),
            2 => (1..count).map(|at| (at - 1, at)).collect(),
            _ => (1..count).map(|at| (at, random.below(at as u64) as usize)).collect(),
        };
        let world = World {
            _folder: folder,
            random,
            capsules,
            edges,
            written: Vec::new(),
            is_plain: seed.is_multiple_of(2),
            label: 0,
        };
        for (from, to) in world.edges.clone() {
            let location = world.capsules[to].path.display().to_string();
            remote::add(&mut world.writer(from), &format!("c{to}"), &location).expect("added");
        }
        world
    }

    fn writer(&self, at: usize) -> Writer {
        Writer::open(&self.capsules[at].path, options()).expect("opens for writing")
    }

    fn reader(&self, at: usize) -> Reader {
        Reader::open(&self.capsules[at].path).expect("opens")
    }

    fn key(&mut self) -> u64 {
        self.random.below(KEYS)
    }

    fn fresh(&mut self) -> String {
        self.label += 1;
        format!("fact v{}", self.label)
    }

    /// Every operation that a set of them holds or replaces.
    fn closure(&self, held: &BTreeSet<Operation>) -> BTreeSet<Operation> {
        let below = held.iter().flat_map(|&one| self.written[one].replaces.iter().copied());
        held.iter().copied().chain(below).collect()
    }

    fn write(&mut self, at: usize, key: u64, text: Option<String>) {
        let closure = self.closure(&self.capsules[at].held);
        let replaces = closure.into_iter().filter(|&one| self.written[one].key == key).collect();
        self.written.push(Written { key, text, replaces });
        let operation = self.written.len() - 1;
        self.capsules[at].held.insert(operation);
    }

    /// A purge also erases what was fetched and not merged.
    fn purge(&mut self, at: usize, key: u64) {
        self.write(at, key, None);
        let capsule = &self.capsules[at];
        let seen: BTreeSet<Operation> = capsule.fetched.values().flatten().copied().collect();
        let erased = self.closure(&seen).into_iter();
        let erased: Vec<Operation> = erased.filter(|&one| self.written[one].key == key).collect();
        self.written.last_mut().expect("just written").replaces.extend(erased);
    }

    /// What the model says that a capsule shows of a key: the texts of the heads.
    fn wanted(&self, at: usize, key: u64) -> BTreeSet<String> {
        let held = &self.capsules[at].held;
        let below: BTreeSet<Operation> =
            held.iter().flat_map(|&one| self.written[one].replaces.iter().copied()).collect();
        let heads = held.iter().filter(|one| !below.contains(one));
        let heads = heads.map(|&one| &self.written[one]).filter(|one| one.key == key);
        heads.filter_map(|one| one.text.clone()).collect()
    }

    fn step(&mut self) {
        let at = self.random.below(self.capsules.len() as u64) as usize;
        let key = self.key();
        let name = format!("k{key}");
        match self.random.below(20) {
            0..=6 => {
                let text = self.fresh();
                self.writer(at).put(named(&name, &text)).expect("put");
                self.write(at, key, Some(text));
            }
            7 => {
                if self.writer(at).forget(&uri(&name)).is_ok() {
                    self.write(at, key, None);
                }
            }
            8 => {
                if kapsa_memory::purge(&mut self.writer(at), &uri(&name)).is_ok() {
                    self.purge(at, key);
                }
            }
            9 => drop(self.writer(at).compact(&mut |_, _| {}).expect("compacted")),
            10 => {
                let text = self.fresh();
                let payload = serde_json::json!({ "text": text });
                let payload = payload.as_object().expect("an object").clone();
                let new = NewEvent { payload, ..NewEvent::new(EventType::DebugTrace) };
                event::emit(&mut self.writer(at), vec![new]).expect("emitted");
                let label = self.fresh();
                let new = NewCheckpoint { label, ..NewCheckpoint::default() };
                checkpoint::make(&mut self.writer(at), &new).expect("made");
            }
            11 if !self.is_plain => self.branch(at),
            12 if !self.is_plain => {
                let other = self.key();
                // An alias of nothing, or of itself, is refused.
                let _refused = self.writer(at).alias(&uri(&name), &uri(&format!("k{other}")));
            }
            _ => self.exchange(),
        }
    }

    /// A branch that is written to and merged.
    fn branch(&mut self, at: usize) {
        let on = self.fresh().replace("fact ", "run/");
        let (key, text) = (self.key(), self.fresh());
        let mut writer = self.writer(at);
        branch::create(&mut writer, &on, "main", None).expect("made");
        if self.random.below(2) == 0 {
            writer.put(named(&format!("k{key}"), &self.fresh())).expect("put");
        }
        writer.switch(&on).expect("open");
        writer.put(named(&format!("k{key}"), &text)).expect("put");
        let payload = serde_json::json!({ "text": text });
        let payload = payload.as_object().expect("an object").clone();
        let new = NewEvent { payload, ..NewEvent::new(EventType::ErrorEvent) };
        // Some types ask for more than this.
        let _refused = event::emit(&mut writer, vec![new]);
        drop(writer);
        let rule = self.rule();
        let request = MergeRequest {
            from: on,
            to: "main".to_string(),
            rule: Some(rule),
            ..MergeRequest::default()
        };
        merge::merge(&mut self.writer(at), &request).expect("merged");
    }

    fn rule(&mut self) -> Choice {
        if self.is_plain {
            return Choice::Contested;
        }
        match self.random.below(4) {
            0 => Choice::Ours,
            1 => Choice::Theirs,
            2 => Choice::Edited(self.fresh()),
            _ => Choice::Contested,
        }
    }

    fn exchange(&mut self) {
        let edge = self.edges[self.random.below(self.edges.len() as u64) as usize];
        match self.random.below(4) {
            0 => drop(self.fetch(edge)),
            1 => {
                let rule = self.rule();
                self.merge(edge, rule);
            }
            2 => self.pull(edge),
            _ => drop(self.push(edge)),
        }
        let (from, to) = edge;
        self.assert_shown(from);
        self.assert_shown(to);
    }

    fn peer(&self, to: usize) -> LocalPeer {
        LocalPeer::open(&self.capsules[to].path).expect("opens")
    }

    fn fetch(&mut self, (from, to): (usize, usize)) -> u64 {
        let name = format!("c{to}");
        let mut peer = self.peer(to);
        let fetched =
            sync::fetch(&mut self.writer(from), &name, &mut peer, &mut |_, _| {}).expect("fetched");
        let theirs = self.capsules[to].held.clone();
        self.capsules[from].fetched.entry(to).or_default().extend(theirs);
        fetched.records
    }

    fn merge(&mut self, (from, to): (usize, usize), rule: Choice) -> u64 {
        let request = MergeRequest {
            from: format!("c{to}/main"),
            to: "main".to_string(),
            rule: Some(rule),
            ..MergeRequest::default()
        };
        let result = match merge::merge(&mut self.writer(from), &request) {
            Ok(result) => result,
            // Nothing was fetched yet.
            Err(kapsa_memory::Error::BranchNotFound { .. }) => return 0,
            Err(error) => panic!("{error}"),
        };
        let MergeResult::Done(merged) = result else { panic!("a rule decides all") };
        let capsule = &mut self.capsules[from];
        let theirs = capsule.fetched.get(&to).cloned().unwrap_or_default();
        capsule.held.extend(theirs);
        merged.written
    }

    fn pull(&mut self, (from, to): (usize, usize)) {
        let (name, mut peer) = (format!("c{to}"), self.peer(to));
        let fetched =
            sync::fetch_straight(&mut self.writer(from), &name, "main", &mut peer, &mut |_, _| {})
                .expect("pulled");
        let theirs = self.capsules[to].held.clone();
        self.capsules[from].fetched.entry(to).or_default().extend(theirs.clone());
        if fetched.fast_forward {
            self.capsules[from].held.extend(theirs);
        } else {
            self.merge((from, to), Choice::Contested);
        }
    }

    /// Bytes that were pushed; none when that was refused.
    fn push(&mut self, (from, to): (usize, usize)) -> Option<(u64, u64)> {
        let mut peer = LocalPeer::of(self.writer(to)).expect("opens");
        let (reader, name) = (self.reader(from), format!("c{to}"));
        let pushed = sync::push(&reader, &name, "main", &mut peer, &mut |_, _| {});
        drop(peer);
        let (ours, theirs) = (&self.capsules[from].held, &self.capsules[to].held);
        let lacks = theirs.difference(&self.closure(ours)).next().is_some();
        if lacks {
            assert!(pushed.is_err(), "what {to} has is missing at {from}");
        }
        let pushed = pushed.ok()?;
        let ours = ours.clone();
        self.capsules[to].held.extend(ours);
        sync::note(&mut self.writer(from), &pushed).expect("noted");
        Some((pushed.records, pushed.bytes))
    }

    /// Everything that a capsule shows on its main branch.
    fn shown(&self, at: usize) -> Vec<String> {
        let reader = self.reader(at);
        let request = TimelineRequest { limit: 10_000, ..TimelineRequest::default() };
        let mut shown: Vec<String> = reader
            .timeline(&request)
            .expect("listed")
            .into_iter()
            .map(|record| format!("{}: {}", record.uri.short(), record.text))
            .collect();
        for key in 0..KEYS {
            let Ok(record) = reader.get(&uri(&format!("k{key}"))) else { continue };
            shown.push(format!("first of k{key} is {}: {}", record.uri.short(), record.text));
        }
        let request =
            EventRequest { types: vec![EventType::DebugTrace], ..EventRequest::default() };
        let events = event::list(&reader, &request).expect("listed");
        shown.extend(events.into_iter().map(|event| format!("event {:?}", event.payload)));
        let checkpoints = checkpoint::list(&reader, false).expect("listed");
        shown.extend(checkpoints.into_iter().map(|one| format!("checkpoint {}", one.label)));
        shown.sort();
        shown
    }

    fn assert_shown(&self, at: usize) {
        if !self.is_plain {
            return;
        }
        let reader = self.reader(at);
        for key in 0..KEYS {
            let name = format!("k{key}");
            let wanted = self.wanted(at, key);
            let shown: BTreeSet<String> = match reader.get(&uri(&name)) {
                Err(_) => BTreeSet::new(),
                Ok(record) => {
                    let others = record.conflicts_with.iter();
                    let others = others.map(|&one| reader.record(one).expect("there").text);
                    others.chain([record.text.clone()]).collect()
                }
            };
            assert_eq!(shown, wanted, "k{key} of c{at}");
            let request = TimelineRequest { limit: 10_000, ..TimelineRequest::default() };
            let listed = reader.timeline(&request).expect("listed").into_iter();
            let mut listed: Vec<String> = listed
                .filter(|record| record.uri == uri(&name))
                .map(|record| record.text)
                .collect();
            listed.sort();
            assert_eq!(listed, wanted.into_iter().collect::<Vec<_>>(), "list of k{key} of c{at}");
        }
    }

    fn size(&self) -> u64 {
        let size = |one: &Capsule| std::fs::metadata(&one.path).expect("there").len();
        self.capsules.iter().map(size).sum()
    }

    /// Everybody exchanges with everybody they know. Whether anything moved.
    fn round(&mut self) -> bool {
        let mut moved = 0;
        for edge in self.edges.clone() {
            moved += self.fetch(edge);
            moved += self.merge(edge, Choice::Contested);
            let (records, bytes) = self.push(edge).expect("nothing is missing after a merge");
            moved += records + bytes;
        }
        moved > 0
    }

    fn converge(&mut self) {
        let mut rounds = 0;
        while self.round() {
            rounds += 1;
            assert!(rounds <= 2 * self.capsules.len() + 1, "they never come to an end");
        }
        let first = self.shown(0);
        for at in 0..self.capsules.len() {
            self.assert_shown(at);
            assert_eq!(self.shown(at), first, "c{at}");
        }
        // Once the places are noted, an exchange writes nothing at all.
        self.round();
        let before = self.size();
        assert!(!self.round());
        assert_eq!(self.size(), before, "a round that moves nothing writes nothing");
    }
}

fn history(seed: u64) {
    let mut world = World::new(seed);
    let steps = 6 + world.random.below(STEPS_MAX);
    for _ in 0..steps {
        world.step();
    }
    world.converge();
    for capsule in &world.capsules {
        let report = kapsa_memory::check::verify(&capsule.path, &mut |_, _| {}).expect("checked");
        assert_eq!(report.problems, []);
    }
}

fn histories(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let ended = std::panic::catch_unwind(|| history(seed));
        if let Err(panic) = ended {
            eprintln!("in the history of seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn capsules_converge_whatever_they_did_and_whoever_they_know() {
    histories(0..HISTORIES);
}

#[test]
#[ignore = "takes minutes: cargo test -p kapsa-memory --test it two_thousand -- --ignored"]
fn two_thousand_histories_converge() {
    histories(0..HISTORIES_MANY);
}
