//! Random histories of branches against a plain list of records: whatever the layout, whenever the
//! power fails, the same answers.
//!
//! The model keeps every record in order and works out by brute force what a branch sees, from the
//! definition alone: its own records up to then, its parent's up to where it left, and so on; of a
//! URI the newest of these counts, with those that it is conflicts_with.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kapsa_memory::{
    AsOf, Choice, Error, EventRequest, EventType, ExportRequest, FindRequest, MergeRequest,
    MergeResult, NewCheckpoint, NewEvent, NewRecord, Reader, TimelineRequest, Undo, WriteOptions,
    Writer, branch, checkpoint, create_unlocked, event, export, history, merge, stats,
};
use kapsa_testkit::{Disk, Random, one_crash};

use crate::{clock, named, uri};

const LISTS: u64 = 5_000;
const OPERATIONS_MAX: u64 = 26;
const KEYS: u64 = 6;
const BRANCHES_MAX: usize = 6;
/// Lists of which one is exported to a real file in the end.
const EXPORT_EVERY: u64 = 10;

#[derive(Clone, Debug, PartialEq)]
enum What {
    Put(String),
    Tombstone,
    Purge,
    /// Branches, checkpoints and events: they take a place, and are not seen as memories.
    System,
}

#[derive(Clone, Debug)]
struct Entry {
    branch: usize,
    key: u8,
    what: What,
    conflicts_with: Vec<u64>,
    /// Branch and sequence that it stands for.
    origin: Option<(usize, u64)>,
    run: String,
}

#[derive(Clone, Debug)]
struct Branch {
    name: String,
    parent: usize,
    /// First sequence of the parent that is not seen.
    fork: u64,
}

#[derive(Clone)]
struct Model {
    entries: Vec<Entry>,
    branches: Vec<Branch>,
    /// Branch, label, sequence.
    checkpoints: Vec<(usize, String, u64)>,
    events: Vec<(usize, u64)>,
    /// Contents erased by compaction.
    erased: BTreeSet<u64>,
}

impl Model {
    fn new() -> Model {
        let main = Branch { name: "main".to_string(), parent: 0, fork: 0 };
        Model {
            entries: Vec::new(),
            branches: vec![main],
            checkpoints: Vec::new(),
            events: Vec::new(),
            erased: BTreeSet::new(),
        }
    }

    fn next(&self) -> u64 {
        self.entries.len() as u64 + 1
    }

    fn entry(&self, sequence: u64) -> &Entry {
        &self.entries[sequence as usize - 1]
    }

    fn push(&mut self, branch: usize, key: u8, what: What) -> u64 {
        self.add(Entry {
            branch,
            key,
            what,
            conflicts_with: Vec::new(),
            origin: None,
            run: String::new(),
        })
    }

    fn add(&mut self, entry: Entry) -> u64 {
        self.entries.push(entry);
        self.next() - 1
    }

    /// Whether a branch, as of before `below`, sees a record.
    fn sees(&self, branch: usize, below: u64, sequence: u64) -> bool {
        let owner = self.entry(sequence).branch;
        let (mut at, mut below) = (branch, below);
        loop {
            if at == owner {
                return sequence < below;
            }
            if at == 0 {
                return false;
            }
            below = below.min(self.branches[at].fork);
            at = self.branches[at].parent;
        }
    }

    /// Whether a content is to be erased, whoever looks.
    fn is_purged(&self, sequence: u64) -> bool {
        let entry = self.entry(sequence);
        let later = self.entries[sequence as usize..].iter();
        entry.what != What::System
            && later.into_iter().any(|later| later.key == entry.key && later.what == What::Purge)
    }

    /// The revisions of a key that a branch sees, ascending.
    fn revisions(&self, branch: usize, below: u64, key: u8) -> Vec<u64> {
        let is = |s: &u64| {
            let entry = self.entry(*s);
            entry.what != What::System && entry.key == key && self.sees(branch, below, *s)
        };
        (1..self.next()).filter(is).collect()
    }

    /// The revisions of a key that count.
    fn heads(&self, branch: usize, below: u64, key: u8) -> Vec<u64> {
        match self.revisions(branch, below, key).last() {
            None => Vec::new(),
            Some(&newest) => {
                self.entry(newest).conflicts_with.iter().copied().chain([newest]).collect()
            }
        }
    }

    /// Nothing when the newest is a text that was purged elsewhere.
    fn unpurged(&self, heads: Vec<u64>) -> Vec<u64> {
        let purged =
            |head: u64| matches!(self.entry(head).what, What::Put(_)) && self.is_purged(head);
        if heads.last().is_some_and(|&head| purged(head)) { Vec::new() } else { heads }
    }

    /// The memories that a branch shows: key, sequence and text.
    fn visible(&self, branch: usize, below: u64) -> BTreeMap<u64, (u8, String)> {
        let mut visible = BTreeMap::new();
        for key in 0..KEYS as u8 {
            for head in self.heads(branch, below, key) {
                if let What::Put(text) = &self.entry(head).what
                    && !self.is_purged(head)
                {
                    visible.insert(head, (key, text.clone()));
                }
            }
        }
        visible
    }

    fn numbered(&self) -> Vec<(u64, &Entry)> {
        (1..).zip(&self.entries).collect()
    }

    /// The revisions that count when this one is the newest: none when it is forgotten or purged.
    fn counting(&self, newest: u64) -> Vec<u64> {
        let entry = self.entry(newest);
        if !matches!(entry.what, What::Put(_)) || self.is_purged(newest) {
            return Vec::new();
        }
        entry.conflicts_with.iter().copied().chain([newest]).collect()
    }

    /// The revisions of a key that count and are no tombstones.
    fn alive(&self, branch: usize, below: u64, key: u8) -> Vec<u64> {
        self.revisions(branch, below, key)
            .last()
            .map(|&newest| self.counting(newest))
            .unwrap_or_default()
    }

    /// What revisions say: the newest, and in any order those conflicts_with it.
    fn says(&self, heads: &[u64]) -> Option<(What, BTreeSet<String>)> {
        let text = |head: &u64| match &self.entry(*head).what {
            What::Put(text) => text.clone(),
            _ => panic!("only texts count"),
        };
        let (newest, conflicts_with) = heads.split_last()?;
        Some((self.entry(*newest).what.clone(), conflicts_with.iter().map(text).collect()))
    }

    /// What both sides had last: the newest that was brought over, or else what the branch saw when
    /// it left.
    fn base(&self, from: usize, key: u8) -> Vec<u64> {
        let Branch { parent: to, fork, .. } = self.branches[from];
        let since = self
            .revisions(to, u64::MAX, key)
            .into_iter()
            .filter(|s| *s >= fork && !self.erased.contains(s));
        let origins = since.filter_map(|s| self.entry(s).origin);
        match origins.filter(|(branch, _)| *branch == from).map(|(_, there)| there).max() {
            Some(there) => self.counting(there),
            None => self.alive(to, fork, key),
        }
    }

    /// What a merge of `from` into its parent does to each key: the branch's newest revision, and
    /// whether that is a conflict.
    fn merge_plan(&self, from: usize) -> Vec<(u8, u64, bool)> {
        let to = self.branches[from].parent;
        let mut plan = Vec::new();
        let mut own: BTreeMap<String, (u8, u64)> = BTreeMap::new();
        for (sequence, entry) in (1..).zip(&self.entries) {
            if entry.branch == from
                && entry.what != What::System
                && !self.erased.contains(&sequence)
            {
                own.insert(name(entry.key), (entry.key, sequence));
            }
        }
        for (key, tip) in own.into_values() {
            if self.entry(tip).what == What::Purge {
                continue;
            }
            let [theirs, ours, base] =
                [self.counting(tip), self.alive(to, u64::MAX, key), self.base(from, key)]
                    .map(|heads| self.says(&heads));
            if theirs != ours && theirs != base {
                plan.push((key, tip, ours != base));
            }
        }
        plan
    }

    fn merge(&mut self, from: usize, rule: &Choice) {
        let to = self.branches[from].parent;
        for (key, tip, conflict) in self.merge_plan(from) {
            let theirs = self.entry(tip).clone();
            let heads = self.unpurged(self.heads(to, u64::MAX, key));
            let live = |model: &Model, s: u64| matches!(model.entry(s).what, What::Put(_));
            let copy = |model: &mut Model, of: &Entry, conflicts_with: Vec<u64>| {
                let what = if of.what == What::Purge { What::Tombstone } else { of.what.clone() };
                model.add(Entry {
                    branch: to,
                    key,
                    what,
                    conflicts_with,
                    origin: Some((from, tip)),
                    run: of.run.clone(),
                })
            };
            let all = |model: &mut Model, mut conflicts_with: Vec<u64>| {
                for rival in theirs.conflicts_with.clone() {
                    let rival = model.entry(rival).clone();
                    let made = copy(model, &rival, conflicts_with.clone());
                    conflicts_with.push(made);
                }
                copy(model, &theirs, conflicts_with);
            };
            match rule {
                _ if !conflict => all(self, Vec::new()),
                Choice::Ours => {
                    let ours =
                        heads.last().map_or(theirs.clone(), |&head| self.entry(head).clone());
                    copy(self, &ours, ours.conflicts_with.clone());
                }
                Choice::Contested
                    if live(self, tip) && heads.last().is_some_and(|&head| live(self, head)) =>
                {
                    all(self, heads)
                }
                Choice::Contested => match heads.last().filter(|&&head| live(self, head)) {
                    Some(&ours) => {
                        let ours = self.entry(ours).clone();
                        copy(self, &ours, ours.conflicts_with.clone());
                    }
                    None => all(self, Vec::new()),
                },
                _ => all(self, Vec::new()),
            }
        }
        let checkpoint = self.push(to, 0, What::System);
        self.checkpoints.push((to, format!("merge:{}", self.branches[from].name), checkpoint));
        let event = self.push(to, 0, What::System);
        self.events.push((to, event));
    }
}

fn name(key: u8) -> String {
    format!("key/{key}")
}

fn text(value: u64) -> String {
    format!("common word and value{value}")
}

fn path() -> &'static Path {
    Path::new("m.kapsa")
}

#[derive(Clone, Debug)]
enum Operation {
    Put(usize, u8, u64),
    Batch(usize, Vec<(u8, u64)>),
    Forget(usize, u8),
    Purge(usize, u8),
    Branch {
        parent: usize,
        then: Option<u64>,
    },
    Checkpoint(usize, u64),
    Event(usize),
    Merge(usize, Choice),
    Revert(usize, u64),
    /// From a branch, to a branch.
    Pick(usize, usize, u8),
    Optimize,
    Compact,
    Reopen,
    Crash,
    Interrupted(Box<Operation>),
}

struct World {
    disk: Disk,
    start: BTreeMap<PathBuf, Vec<u8>>,
    model: Model,
}

impl World {
    fn new() -> World {
        let disk = Disk::default();
        create_unlocked(&disk, path(), &WriteOptions::new(clock)).expect("created");
        let start = disk.files();
        World { disk: Disk::with_files(&start), start, model: Model::new() }
    }

    fn operation(&self, random: &mut Random) -> Operation {
        let branch = random.below(self.model.branches.len() as u64) as usize;
        let key = random.below(KEYS) as u8;
        match random.below(34) {
            0..9 => Operation::Put(branch, key, random.below(9)),
            9..12 => {
                let most = if random.below(3) == 0 { 150 } else { 8 };
                let count = 1 + random.below(most);
                Operation::Batch(
                    branch,
                    (0..count).map(|_| (random.below(KEYS) as u8, random.below(9))).collect(),
                )
            }
            12..14 => Operation::Forget(branch, key),
            14 => Operation::Purge(branch, key),
            15..18 => {
                let then = (random.below(3) == 0 && self.model.next() > 1)
                    .then(|| 1 + random.below(self.model.next() - 1));
                Operation::Branch { parent: branch, then }
            }
            18 => Operation::Checkpoint(branch, random.below(3)),
            19 => Operation::Event(branch),
            20..25 => {
                let rules = [Choice::Ours, Choice::Theirs, Choice::Contested];
                Operation::Merge(branch, rules[random.below(3) as usize].clone())
            }
            25 => Operation::Revert(branch, 1 + random.below(self.model.next())),
            26 => Operation::Optimize,
            27 => Operation::Compact,
            28 => Operation::Reopen,
            29 => Operation::Crash,
            30..32 => Operation::Pick(
                random.below(self.model.branches.len() as u64) as usize,
                branch,
                key,
            ),
            _ => match self.operation(random) {
                inner @ (Operation::Reopen | Operation::Crash | Operation::Interrupted(_)) => inner,
                inner => Operation::Interrupted(Box::new(inner)),
            },
        }
    }

    fn writer(&self, branch: usize) -> Writer {
        let mut writer =
            Writer::open_unlocked(Arc::new(self.disk.clone()), path(), WriteOptions::new(clock))
                .expect("opens");
        writer.switch(&self.model.branches[branch].name).expect("a branch");
        writer
    }

    fn reader(&self) -> Reader {
        Reader::open_in(&self.disk, path()).expect("opens")
    }

    fn step(&mut self, operation: &Operation, random: &mut Random) {
        match operation {
            Operation::Reopen => {}
            Operation::Crash => {
                let operations = self.disk.operations();
                self.power_fails(&operations, random);
            }
            Operation::Interrupted(inner) => {
                let before = self.model.clone();
                let from = self.disk.operations().len();
                self.apply(inner);
                let operations = self.disk.operations();
                let done = from + random.below((operations.len() - from) as u64 + 1) as usize;
                self.power_fails(&operations[..done], random);
                let reader = self.reader();
                let count = stats(&reader, false).expect("counted").last_sequence;
                let erased = |s: &u64| reader.record(*s).expect("readable").purged;
                if count != self.model.entries.len() as u64 || !self.model.erased.iter().all(erased)
                {
                    assert_eq!(
                        count,
                        before.entries.len() as u64,
                        "whole or not at all: {inner:?}"
                    );
                    self.model = before;
                }
            }
            _ => self.apply(operation),
        }
    }

    fn power_fails(&mut self, operations: &[kapsa_testkit::Operation], random: &mut Random) {
        self.start = one_crash(&self.start, operations, random);
        self.disk = Disk::with_files(&self.start);
    }

    fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Put(branch, key, value) => self.put(*branch, &[(*key, *value)]),
            Operation::Batch(branch, pairs) => self.put(*branch, pairs),
            Operation::Forget(branch, key) => {
                let alive = !self.keys(*branch, u64::MAX, *key).is_empty();
                let forgotten = self.writer(*branch).forget(&uri(&name(*key)));
                assert_eq!(forgotten.is_ok(), alive, "{forgotten:?}");
                if alive {
                    self.model.push(*branch, *key, What::Tombstone);
                }
            }
            Operation::Purge(branch, key) => self.purge(*branch, *key),
            Operation::Branch { parent, then } => self.branch(*parent, *then),
            Operation::Checkpoint(branch, number) => {
                let label = format!("label {number}");
                let taken = self
                    .model
                    .checkpoints
                    .iter()
                    .any(|(on, known, _)| on == branch && *known == label);
                let made = checkpoint::make(
                    &mut self.writer(*branch),
                    &NewCheckpoint { label: label.clone(), ..NewCheckpoint::default() },
                );
                assert_eq!(made.is_ok(), !taken, "{made:?}");
                if made.is_ok() {
                    let sequence = self.model.push(*branch, 0, What::System);
                    self.model.checkpoints.push((*branch, label, sequence));
                }
            }
            Operation::Event(branch) => {
                event::emit(
                    &mut self.writer(*branch),
                    vec![NewEvent::new(EventType::IntakeCompleted)],
                )
                .expect("told");
                let sequence = self.model.push(*branch, 0, What::System);
                self.model.events.push((*branch, sequence));
            }
            Operation::Merge(from, rule) => self.merge(*from, rule),
            Operation::Revert(branch, sequence) => self.revert(*branch, *sequence),
            Operation::Pick(from, to, key) => {
                let counting = self.model.alive(*from, u64::MAX, *key);
                let from = self.model.branches[*from].name.clone();
                let picked =
                    merge::cherry_pick(&mut self.writer(*to), &uri(&name(*key)), &from, "", "");
                assert_eq!(picked.is_ok(), !counting.is_empty(), "{picked:?}");
                self.copy(*to, *key, &counting);
            }
            Operation::Optimize => {
                self.writer(0).optimize(&mut |_, _| {}).expect("optimises");
            }
            Operation::Compact => {
                self.writer(0).compact(&mut |_, _| {}).expect("compacts");
                let erased =
                    |s: &u64| self.model.is_purged(*s) && self.model.entry(*s).what != What::Purge;
                self.model.erased = (1..self.model.next()).filter(erased).collect();
            }
            Operation::Reopen | Operation::Crash | Operation::Interrupted(_) => {
                unreachable!("the world does those")
            }
        }
    }

    /// Texts that count under a key.
    fn keys(&self, branch: usize, below: u64, key: u8) -> Vec<String> {
        self.model
            .visible(branch, below)
            .into_values()
            .filter(|(k, _)| *k == key)
            .map(|(_, text)| text)
            .collect()
    }

    fn put(&mut self, branch: usize, pairs: &[(u8, u64)]) {
        let records: Vec<NewRecord> =
            pairs.iter().map(|(key, value)| named(&name(*key), &text(*value))).collect();
        self.writer(branch).put_many(records).expect("put");
        for (key, value) in pairs {
            self.model.push(branch, *key, What::Put(text(*value)));
        }
    }

    fn purge(&mut self, branch: usize, key: u8) {
        let mut on = BTreeSet::from([branch]);
        let mut erasable = 0;
        for (sequence, entry) in (1..).zip(&self.model.entries) {
            if entry.what != What::System
                && entry.key == key
                && !self.model.erased.contains(&sequence)
            {
                on.insert(entry.branch);
                erasable += u64::from(matches!(entry.what, What::Put(_)));
            }
        }
        match kapsa_memory::purge(&mut self.writer(branch), &uri(&name(key))) {
            Ok(count) => assert_eq!(count, erasable),
            Err(Error::UriNotFound { .. }) => assert_eq!(erasable, 0),
            Err(error) => panic!("{error}"),
        }
        if erasable > 0 {
            for branch in on {
                self.model.push(branch, key, What::Purge);
            }
        }
    }

    fn branch(&mut self, parent: usize, then: Option<u64>) {
        if self.model.branches.len() >= BRANCHES_MAX {
            return;
        }
        let made = format!("b{}", self.model.branches.len());
        let as_of = then.map(AsOf::Sequence);
        let parent_name = self.model.branches[parent].name.clone();
        branch::create(&mut self.writer(0), &made, &parent_name, as_of.as_ref()).expect("made");
        assert!(
            branch::create(&mut self.writer(0), &made, "main", None).is_err(),
            "a name is never used again"
        );
        let fork = then.map_or(self.model.next(), |then| then + 1);
        self.model.push(parent, 0, What::System);
        self.model.branches.push(Branch { name: made, parent, fork });
    }

    fn merge(&mut self, from: usize, rule: &Choice) {
        let (branch, to) = (
            &self.model.branches[from],
            self.model.branches[self.model.branches[from].parent].name.clone(),
        );
        let request = MergeRequest { from: branch.name.clone(), to, ..MergeRequest::default() };
        if from == 0 {
            assert!(merge::merge(&mut self.writer(0), &request).is_err());
            return;
        }
        let plan = self.model.merge_plan(from);
        let told = merge::plan(&self.reader(), &request).expect("planned");
        let conflicts = |conflict: bool| {
            plan.iter()
                .filter(|item| item.2 == conflict)
                .map(|item| name(item.0))
                .collect::<Vec<_>>()
        };
        let reported: Vec<String> =
            told.conflicts().map(|item| item.uri.short().to_string()).collect();
        assert_eq!(
            reported,
            conflicts(true),
            "{plan:?} {:?} {:?}",
            self.model.branches,
            self.model.numbered()
        );
        assert_eq!(told.items.len(), plan.len(), "{plan:?} {told:?}");
        if plan.iter().any(|item| item.2) {
            let before = self.disk.operations().len();
            assert!(matches!(
                merge::merge(&mut self.writer(0), &request).expect("planned"),
                MergeResult::Conflicts(_)
            ));
            let wrote = self.disk.operations()[before..]
                .iter()
                .any(|operation| format!("{operation:?}").starts_with("Write"));
            assert!(
                !wrote
                    || stats(&self.reader(), false).expect("told").last_sequence
                        == self.model.entries.len() as u64
            );
        }
        let request = MergeRequest { rule: Some(rule.clone()), ..request };
        let MergeResult::Done(_) = merge::merge(&mut self.writer(0), &request).expect("merged")
        else {
            panic!("a rule decides")
        };
        self.model.merge(from, rule);
        assert_eq!(self.model.merge_plan(from), [], "merging again brings nothing: {request:?}");
        assert_eq!(merge::plan(&self.reader(), &request).expect("planned").items.len(), 0);
    }

    /// Undoes one commit; what that is to restore is worked out from the model.
    fn revert(&mut self, branch: usize, sequence: u64) {
        if sequence >= self.model.next() {
            return;
        }
        let times = |s: u64| self.reader().record(s).expect("readable");
        if times(sequence).purged {
            return;
        }
        let time = times(sequence).committed_at;
        let inside: BTreeSet<u64> = (1..self.model.next())
            .filter(|&s| times(s).committed_at == time && !times(s).purged)
            .collect();
        if inside
            .iter()
            .any(|&s| self.model.is_purged(s) || self.model.entry(s).what == What::Purge)
        {
            return;
        }
        let mut restored = Vec::new();
        let mut any = false;
        let touched = inside.iter().map(|&s| self.model.entry(s).clone()).zip(&inside);
        let touched: BTreeSet<(String, u8)> = touched
            .filter(|(entry, s)| {
                entry.what != What::System && self.model.sees(branch, u64::MAX, **s)
            })
            .map(|(entry, _)| (name(entry.key), entry.key))
            .collect();
        for (_, key) in touched {
            any = true;
            let heads = self.model.heads(branch, u64::MAX, key);
            if !heads.iter().any(|head| inside.contains(head)) {
                continue;
            }
            // What is contested and not undone stays; else what counted before comes back, as far
            // as it is not undone.
            let mut back: Vec<u64> =
                heads.iter().copied().filter(|head| !inside.contains(head)).collect();
            let newest = *heads.last().expect("one is inside");
            if back.is_empty() {
                let before = self.model.revisions(branch, newest, key).into_iter().rev();
                let alive =
                    |s: &u64| self.model.entry(*s).what != What::Purge && !self.model.is_purged(*s);
                let earlier = before.take_while(alive).find(|s| !inside.contains(s));
                back.extend(earlier.map(|s| self.model.counting(s)).unwrap_or_default());
                back.retain(|s| !inside.contains(s));
            }
            let gone = heads.iter().all(|head| self.model.entry(*head).what == What::Tombstone);
            if back.is_empty() && gone {
                continue;
            }
            restored.push((key, newest, back));
        }
        let undone = history::revert(&mut self.writer(branch), &Undo::Commit(sequence), "", "");
        assert!(undone.is_ok() || restored.is_empty(), "{undone:?} {any}");
        for (key, newest, back) in restored {
            if back.is_empty() {
                let origin = Some((branch, newest));
                self.model.add(Entry {
                    branch,
                    key,
                    what: What::Tombstone,
                    conflicts_with: Vec::new(),
                    origin,
                    run: String::new(),
                });
            }
            self.copy(branch, key, &back);
        }
    }

    /// Writes on a branch what these say, each conflicts_with those before it.
    fn copy(&mut self, branch: usize, key: u8, revisions: &[u64]) {
        let mut conflicts_with = Vec::new();
        for &revision in revisions {
            let Entry { branch: there, what, run, .. } = self.model.entry(revision).clone();
            let origin = Some((there, revision));
            conflicts_with.push(self.model.add(Entry {
                branch,
                key,
                what,
                conflicts_with: conflicts_with.clone(),
                origin,
                run,
            }));
        }
    }

    fn check(&self, random: &mut Random) {
        let reader = self.reader();
        assert_eq!(
            stats(&reader, false).expect("counted").last_sequence,
            self.model.entries.len() as u64
        );
        for branch in 0..self.model.branches.len() {
            self.check_view(
                &reader.on(&self.model.branches[branch].name, None).expect("a branch"),
                branch,
                u64::MAX,
            );
            if self.model.next() > 1 {
                let sequence = 1 + random.below(self.model.next() - 1);
                let then = reader
                    .on(&self.model.branches[branch].name, Some(&AsOf::Sequence(sequence)))
                    .expect("known");
                self.check_view(&then, branch, sequence + 1);
            }
            self.check_checkpoints(&reader, branch);
        }
        let listed =
            event::list(&reader, &EventRequest { all_branches: true, ..EventRequest::default() })
                .expect("listed");
        assert_eq!(
            listed.iter().map(|event| event.sequence).collect::<Vec<_>>(),
            self.model.events.iter().map(|(_, sequence)| *sequence).collect::<Vec<_>>()
        );
    }

    fn check_view(&self, view: &Reader, branch: usize, below: u64) {
        let visible = self.model.visible(branch, below);
        let context = || {
            format!("{} below {below}: {:?}", self.model.branches[branch].name, self.model.entries)
        };
        for key in 0..KEYS as u8 {
            let newest = visible
                .iter()
                .filter(|(_, (k, _))| *k == key)
                .map(|(s, (_, text))| (*s, text.clone()))
                .next_back();
            match (view.get(&uri(&name(key))), newest) {
                (Ok(record), Some((sequence, text))) => {
                    assert_eq!((record.sequence, record.text), (sequence, text))
                }
                (Err(Error::UriNotFound { .. }), None) => {}
                (got, want) => panic!("key {key}: {got:?} instead of {want:?}; {}", context()),
            }
        }
        let sequences: Vec<u64> = visible.keys().copied().collect();
        let listed = view
            .timeline(&TimelineRequest { limit: 1000, ..TimelineRequest::default() })
            .expect("listed");
        assert_eq!(
            listed.iter().map(|r| r.sequence).collect::<Vec<_>>(),
            sequences,
            "{}",
            context()
        );
        let found = view
            .find(&FindRequest { k: 1000, duplicates: true, ..FindRequest::new("common") })
            .expect("found");
        let mut hits: Vec<u64> = found.hits.iter().map(|hit| hit.record.sequence).collect();
        hits.sort_unstable();
        assert_eq!(hits, sequences, "{}", context());
        let keys: BTreeSet<u8> = visible.values().map(|(key, _)| *key).collect();
        assert_eq!(
            stats(view, true).expect("counted").uri_count,
            Some(keys.len() as u64),
            "{}",
            context()
        );
    }

    /// What a branch shows is what its export shows.
    fn check_export(&self, branch: usize) {
        let view = self.reader().on(&self.model.branches[branch].name, None).expect("a branch");
        let visible = self.model.visible(branch, u64::MAX);
        let Ok(export) =
            export::gather(&view, &ExportRequest { is_unsafe: true, ..ExportRequest::default() })
        else {
            assert!(visible.is_empty(), "something is there to be exported");
            return;
        };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("export.kapsa");
        export.write_capsule(&file).expect("written");
        let exported = Reader::open(&file).expect("opens");
        let all = TimelineRequest { limit: 1000, ..TimelineRequest::default() };
        let listed: Vec<(String, String)> = exported
            .timeline(&all)
            .expect("listed")
            .into_iter()
            .map(|r| (r.uri.short().to_string(), r.text))
            .collect();
        let shown: Vec<(String, String)> =
            visible.into_values().map(|(key, text)| (name(key), text)).collect();
        assert_eq!(listed, shown);
        let names: BTreeSet<&String> = shown.iter().map(|(name, _)| name).collect();
        assert_eq!(stats(&exported, true).expect("counted").uri_count, Some(names.len() as u64));
    }

    fn check_checkpoints(&self, reader: &Reader, branch: usize) {
        let view = reader.on(&self.model.branches[branch].name, None).expect("a branch");
        let own: Vec<u64> = self
            .model
            .checkpoints
            .iter()
            .filter(|(on, ..)| *on == branch)
            .map(|(.., s)| *s)
            .collect();
        assert_eq!(
            checkpoint::list(&view, false)
                .expect("listed")
                .iter()
                .map(|c| c.sequence)
                .collect::<Vec<_>>(),
            own
        );
        for (on, label, sequence) in &self.model.checkpoints {
            let newest = self
                .model
                .checkpoints
                .iter()
                .rev()
                .find(|(_, known, s)| known == label && self.model.sees(branch, u64::MAX, *s));
            match (checkpoint::named(&view, label), newest) {
                (Ok(found), Some((.., sequence))) => assert_eq!(found.sequence, *sequence),
                (Err(Error::UnknownAsOf { .. }), None) => {}
                (got, want) => panic!("{label} on {on} {sequence}: {got:?} instead of {want:?}"),
            }
        }
    }
}

fn run(seed: u64) {
    let mut random = Random::new(seed);
    let mut world = World::new();
    let count = 1 + random.below(OPERATIONS_MAX);
    for number in 0..count {
        let operation = world.operation(&mut random);
        if std::env::var_os("KAPSA_MODEL_SHOW").is_some() {
            println!("{} {operation:?}", world.model.next());
        }
        world.step(&operation, &mut random);
        if number + 1 == count || random.below(5) == 0 {
            world.check(&mut random);
        }
    }
    if seed.is_multiple_of(EXPORT_EVERY) {
        world.check_export(random.below(world.model.branches.len() as u64) as usize);
    }
    let report =
        kapsa_capsule::verify_in(&world.disk, path(), &mut |_, _| {}).expect("can be checked");
    let harmless = report.problems.iter().all(|p| p.what.contains("commit pointer"));
    assert!(harmless, "{:?}", report.problems);
}

#[test]
fn branches_answer_like_a_list_of_records() {
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
    };
    let (first, lists) = (number("KAPSA_MODEL_SEED", 1), number("KAPSA_MODEL_LISTS", LISTS));
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
}
