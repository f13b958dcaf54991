//! A capsule on a simulated disk, and a ledger of what its callers were told.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kapsa_capsule::{
    Buffers, DerivedDraft, Error, Hash, NewCapsule, SegmentDraft, SegmentMeta, Snapshot, Stored,
    Writer, create_unlocked, verify_in,
};
use kapsa_testkit::{Crash, Disk, Lie, Operation, Random};

pub type Files = BTreeMap<PathBuf, Vec<u8>>;
/// A violated promise, in words.
pub type Verdict<T = ()> = Result<T, String>;

const NEW: NewCapsule = NewCapsule { capsule_id: [1; 16], created_us: 0 };

pub fn path() -> &'static Path {
    Path::new("c.kapsa")
}

/// One thing that a caller does.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Create,
    /// So many records in one commit.
    Put(u64),
    /// One record of some kilobytes.
    PutLarge,
    /// So many records in one commit, the repetition of one that a copy of the capsule has made.
    Replicate(u64),
    /// A segment over the records `.0` to `.1`, the latter excluded.
    Index(u64, u64),
    /// So many records in one commit, with a derived segment over them.
    PutWithDerived(u64),
    /// So many records in one commit, with data attached to them.
    PutAttached(u64),
    /// One derived segment over all records in place of all derived segments.
    MergeDerived,
    /// The oldest derived segment goes.
    DropDerived,
    /// A transaction of so many records, given up.
    GiveUp(u64),
    /// A new file in place of the old one.
    Rewrite,
    /// The writer goes and another one comes.
    Reopen,
}

/// A way of writing, on a capsule that `before` made.
#[derive(Clone, Copy)]
pub struct Scenario {
    pub name: &'static str,
    pub before: &'static [Step],
    pub steps: &'static [Step],
    /// Whether a transaction reaches the file in parts, as a large one does.
    pub small_buffers: bool,
    /// How the disk lies while the steps are run, and whatever follows them.
    pub lie: Option<Lie>,
}

/// What writers do after a crash, in turn.
pub const RECOVERIES: [&[Step]; 8] = [
    &[Step::Put(1)],
    &[Step::PutLarge],
    &[Step::Put(1)],
    &[Step::Put(2), Step::Put(1)],
    &[Step::Put(1)],
    &[Step::Rewrite, Step::Put(1)],
    &[Step::Put(1)],
    &[Step::GiveUp(1), Step::Put(5)],
];

const PREPARED: &[Step] = &[Step::Create, Step::Put(2), Step::Put(1)];
const INDEXED: &[Step] =
    &[Step::Create, Step::Put(2), Step::Put(1), Step::Index(1, 3), Step::Index(3, 4)];
const WITH_DERIVED: &[Step] =
    &[Step::Create, Step::Put(1), Step::PutWithDerived(2), Step::PutWithDerived(1)];

const fn scenario(name: &'static str, before: &'static [Step], steps: &'static [Step]) -> Scenario {
    Scenario { name, before, steps, small_buffers: false, lie: None }
}

pub const SCENARIOS: &[Scenario] = &[
    scenario("create", &[], &[Step::Create, Step::Put(1)]),
    scenario("first put", &[Step::Create], &[Step::Put(1)]),
    scenario("put", PREPARED, &[Step::Put(1)]),
    scenario("puts of one writer", PREPARED, &[Step::Put(1), Step::Put(1), Step::Put(1)]),
    scenario(
        "puts of many writers",
        PREPARED,
        &[Step::Put(1), Step::Reopen, Step::Put(1), Step::Reopen, Step::Put(1)],
    ),
    scenario("batch", PREPARED, &[Step::Put(9)]),
    scenario(
        "puts with attachments",
        PREPARED,
        &[Step::PutAttached(1), Step::Reopen, Step::PutAttached(2), Step::Index(1, 5)],
    ),
    scenario("large put", PREPARED, &[Step::PutLarge]),
    scenario("large puts", PREPARED, &[Step::PutLarge, Step::Put(1), Step::PutLarge]),
    scenario(
        "large puts of two writers",
        PREPARED,
        &[Step::PutLarge, Step::Reopen, Step::PutLarge],
    ),
    scenario("tail to segment", PREPARED, &[Step::Index(1, 4), Step::Put(1)]),
    scenario("segment merge", INDEXED, &[Step::Index(1, 4), Step::Put(1)]),
    scenario(
        "derived segments",
        PREPARED,
        &[Step::PutWithDerived(2), Step::PutWithDerived(1), Step::MergeDerived, Step::DropDerived],
    ),
    scenario(
        "derived segments of many writers",
        WITH_DERIVED,
        &[Step::MergeDerived, Step::Reopen, Step::PutWithDerived(1), Step::DropDerived],
    ),
    scenario(
        "rewrite with derived segments",
        WITH_DERIVED,
        &[Step::Index(1, 4), Step::Rewrite, Step::Put(1)],
    ),
    scenario("replication", PREPARED, &[Step::Replicate(1), Step::Replicate(2)]),
    scenario("rewrite", PREPARED, &[Step::Rewrite, Step::Put(1)]),
    scenario(
        "rewrite of an indexed capsule",
        INDEXED,
        &[Step::Put(1), Step::Rewrite, Step::Put(1)],
    ),
    Scenario {
        small_buffers: true,
        ..scenario("bulk load", PREPARED, &[Step::Put(6), Step::Put(6)])
    },
    Scenario {
        small_buffers: true,
        ..scenario("bulk load given up", PREPARED, &[Step::GiveUp(8), Step::Put(1)])
    },
];

/// Number of a body; no two attempts to store one have the same.
type Body = u64;

/// Bodies whose number this divides are large.
const LARGE: u64 = 1000;

pub fn body(number: Body) -> Vec<u8> {
    let mut random = Random::new(number);
    let len = if number.is_multiple_of(LARGE) { 4_000 } else { number % 7 * 80 };
    let noise = (0..len).map(|_| b' ' + random.below(64) as u8);
    format!("body {number} ").into_bytes().into_iter().chain(noise).collect()
}

fn segment(first_sequence: u64, next_sequence: u64) -> SegmentDraft {
    let content = vec![(first_sequence * 16 + next_sequence) as u8; 300];
    SegmentDraft { first_sequence, next_sequence, sections: vec![(*b"test    ", content)] }
}

/// The bytes of a derived segment tell what it covers.
fn derived(first_sequence: u64, next_sequence: u64) -> DerivedDraft {
    let content = vec![(first_sequence * 16 + next_sequence) as u8 ^ 0xa5; 200];
    DerivedDraft { first_sequence, next_sequence, sections: vec![(*b"annex   ", content)] }
}

/// What is attached to records tells which they are.
fn attached(first_sequence: u64, next_sequence: u64) -> Vec<u8> {
    vec![(first_sequence * 16 + next_sequence) as u8 ^ 0x3c; 60]
}

/// What the derived segments cover, oldest first.
type Ranges = Vec<(u64, u64)>;
/// With the number of records.
type Coverage = (usize, Ranges);

fn ranges(derived: &[SegmentMeta]) -> Ranges {
    derived.iter().map(|derived| (derived.first_sequence, derived.next_sequence)).collect()
}

/// What callers were told, and what may be on disk besides.
#[derive(Clone, Debug, Default, Hash)]
pub struct Ledger {
    created: bool,
    /// Acknowledged, by sequence.
    safe: Vec<Body>,
    /// Commits that may follow the safe ones: one of these lists, or the beginning of one.
    may: Vec<Vec<Vec<Body>>>,
    /// The derived segments that there may be; none means none with any records.
    covered: Vec<Coverage>,
}

impl Ledger {
    /// The commits that make `count` records beyond the safe ones.
    fn beyond(&self, count: usize) -> Option<Vec<Vec<Body>>> {
        let fitting = |list: &Vec<Vec<Body>>| {
            (0..=list.len())
                .map(|len| list[..len].to_vec())
                .find(|part| part.iter().map(Vec::len).sum::<usize>() == count)
        };
        if count == 0 { Some(Vec::new()) } else { self.may.iter().find_map(fitting) }
    }

    /// Whether a capsule of so many records may have these derived segments.
    fn allows_derived(&self, found: &Coverage) -> bool {
        self.covered.contains(found) || (self.covered.is_empty() && found.1.is_empty())
    }

    /// Whether a capsule may hold this.
    fn allows(&self, found: &[Vec<u8>]) -> bool {
        let is = |numbers: &[Body], found: &[Vec<u8>]| {
            numbers.iter().zip(found).all(|(&number, f)| body(number) == *f)
        };
        if found.len() < self.safe.len() || !is(&self.safe, found) {
            return false;
        }
        let rest = &found[self.safe.len()..];
        let fits = |list: &Vec<Vec<Body>>| {
            (0..=list.len()).any(|len| {
                let part = list[..len].concat();
                part.len() == rest.len() && is(&part, rest)
            })
        };
        rest.is_empty() || self.may.iter().any(fits)
    }
}

/// A disk, the writer at work on it, and the ledgers of all moments, by mark.
pub struct World {
    pub disk: Disk,
    start: Files,
    pub ledgers: Vec<Ledger>,
    next_body: Body,
    writer: Option<Writer>,
    setting: Setting,
}

/// What stays the same from one world to the next.
#[derive(Clone, Copy, Default)]
pub struct Setting {
    buffers: Buffers,
    lie: Option<Lie>,
}

impl World {
    /// A world in which `files` are on disk and `ledger` is what was told so far.
    pub fn new(files: &Files, ledger: Ledger, next_body: Body, setting: Setting) -> World {
        World::resume(files, &[], vec![ledger], next_body, setting)
    }

    /// The world after `operations` on a disk that held `files`, its writer killed.
    pub fn resume(
        files: &Files,
        operations: &[Operation],
        ledgers: Vec<Ledger>,
        next_body: Body,
        setting: Setting,
    ) -> World {
        let disk = Disk::after(files, operations);
        disk.mark(last_mark(operations));
        disk.set_lie(setting.lie);
        World { disk, start: files.clone(), ledgers, next_body, writer: None, setting }
    }

    /// What the scenario finds.
    pub fn before(scenario: &Scenario) -> Verdict<World> {
        let buffers = if scenario.small_buffers {
            Buffers { pending_bytes: 150, spill_bytes: 300 }
        } else {
            Buffers::default()
        };
        let mut world =
            World::new(&Files::new(), Ledger::default(), 1, Setting { buffers, lie: None });
        world.run(scenario.before)?;
        let ledger = world.ledger().clone();
        Ok(World::new(
            &world.disk.files(),
            ledger,
            world.next_body,
            Setting { buffers, lie: scenario.lie },
        ))
    }

    /// Runs the steps, all of which must succeed and leave nothing after the newest commit.
    pub fn run(&mut self, steps: &[Step]) -> Verdict {
        for step in steps {
            self.step(*step).map_err(|e| format!("{step:?}: {e}"))?;
        }
        if steps.is_empty() {
            return Ok(());
        }
        let report = verify_in(&self.disk, path(), &mut |_, _| {})
            .map_err(|e| format!("verify failed: {e}"))?;
        if report.torn_bytes == 0 {
            Ok(())
        } else {
            Err(format!("{} torn bytes were left", report.torn_bytes))
        }
    }

    /// Runs the steps as a stubborn caller: whatever fails, the next one is tried.
    pub fn run_stubbornly(&mut self, steps: &[Step]) {
        for step in steps {
            let _failed_as_it_should = self.step(*step);
        }
    }

    pub fn start(&self) -> &Files {
        &self.start
    }

    /// The ledger of this moment.
    pub fn ledger(&self) -> &Ledger {
        let mark = last_mark(&self.disk.operations());
        &self.ledgers[mark]
    }

    /// The next world: another power supply, the same callers.
    pub fn after_crash(&self, crash: &Crash) -> World {
        let ledger = self.ledgers[crash.mark.unwrap_or(0)].clone();
        World::new(&crash.files, ledger, self.next_body, self.setting)
    }

    /// The same moment seen by the next process.
    pub fn after_kill(&self, operations: &[Operation]) -> World {
        World::resume(&self.start, operations, self.ledgers.clone(), self.next_body, self.setting)
    }

    fn note(&mut self, ledger: Ledger) {
        self.ledgers.push(ledger);
        self.disk.mark(self.ledgers.len() - 1);
    }

    fn step(&mut self, step: Step) -> Result<(), Error> {
        match step {
            Step::Create => {
                create_unlocked(&self.disk, path(), NEW)?;
                let ledger = Ledger { created: true, ..self.ledger().clone() };
                self.note(ledger);
                Ok(())
            }
            Step::Reopen => {
                self.writer = None;
                Ok(())
            }
            _ => {
                let mut writer = match self.writer.take() {
                    Some(writer) => writer,
                    None => self.open()?,
                };
                let done = match step {
                    Step::Put(count) => self.put(&mut writer, count, Put::Plain),
                    Step::PutWithDerived(count) => self.put(&mut writer, count, Put::WithDerived),
                    Step::PutAttached(count) => self.put(&mut writer, count, Put::Attached),
                    Step::Replicate(count) => self.put(&mut writer, count, Put::Replicated),
                    Step::MergeDerived => self.change_derived(&mut writer, false),
                    Step::DropDerived => self.change_derived(&mut writer, true),
                    Step::PutLarge => {
                        self.next_body = self.next_body.next_multiple_of(LARGE);
                        self.put(&mut writer, 1, Put::Plain)
                    }
                    Step::GiveUp(count) => self.give_up(&mut writer, count),
                    Step::Index(first, next) => index(&mut writer, first, next),
                    _ => rewrite(&mut writer),
                };
                // A writer that can go on does.
                self.writer = writer.begin().map(drop).is_ok().then_some(writer);
                done
            }
        }
    }

    fn open(&self) -> Result<Writer, Error> {
        let mut writer = Writer::open_unlocked(Arc::new(self.disk.clone()), path())?;
        writer.set_buffers(self.setting.buffers);
        Ok(writer)
    }

    fn bodies(&mut self, count: u64) -> Vec<Body> {
        self.next_body += count;
        (self.next_body - count..self.next_body).collect()
    }

    fn put(&mut self, writer: &mut Writer, count: u64, how: Put) -> Result<(), Error> {
        let bodies = self.bodies(count);
        let mut transaction = writer.begin()?;
        let chain = (how == Put::Replicated)
            .then(|| chain_in_a_copy(&self.disk.files(), &bodies))
            .transpose()?;
        let mut ledger = self.ledger().clone();
        let beyond = (transaction.next_sequence() - 1) as usize - ledger.safe.len();
        let seen = ledger.beyond(beyond).unwrap_or_default();
        ledger.may.push([seen.clone(), vec![bodies.clone()]].concat());
        let first = transaction.next_sequence();
        let covered_before: Coverage = (first as usize - 1, ranges(transaction.derived()));
        let new_derived = (how == Put::WithDerived).then_some((first, first + count));
        let covered: Coverage = (
            covered_before.0 + bodies.len(),
            covered_before.1.iter().copied().chain(new_derived).collect(),
        );
        ledger.covered.extend([covered_before.clone(), covered.clone()]);
        self.note(ledger.clone());
        let mut committed =
            bodies.iter().try_for_each(|&number| transaction.append(&body(number)).map(drop));
        if let Some((first, next)) = new_derived {
            committed = committed.and_then(|()| transaction.add_derived(derived(first, next), &[]));
        }
        if how == Put::Attached {
            committed = committed.and_then(|()| transaction.attach(attached(first, first + count)));
        }
        committed = committed.and_then(|()| match chain {
            Some(chain) => transaction.commit_as(1, &chain).map(drop),
            None => transaction.commit(1).map(drop),
        });
        match committed {
            Ok(()) => {
                ledger.safe.extend(seen.into_iter().flatten().chain(bodies));
                ledger.may.clear();
                ledger.covered = vec![covered];
                self.note(ledger);
            }
            // The writer has cut back to what it saw, durably.
            Err(_) if !writer.is_poisoned() && self.is_synced() => {
                ledger.may = vec![seen];
                ledger.covered = vec![covered_before];
                self.note(ledger);
            }
            // It failed before anything was published: what it saw is not cut yet, and what an
            // earlier writer left in doubt still is.
            Err(_) if !writer.is_poisoned() => {
                ledger.may.pop();
                ledger.may.push(seen);
                self.note(ledger);
            }
            Err(_) => {}
        }
        committed
    }

    /// Whether everything that was done to the disk so far is on it.
    fn is_synced(&self) -> bool {
        let operations = self.disk.operations();
        let last =
            operations.iter().rev().find(|operation| !matches!(operation, Operation::Mark(_)));
        matches!(last, Some(Operation::Sync { .. }))
    }

    /// Drops the oldest derived segment, or puts one over everything in place of all.
    fn change_derived(&mut self, writer: &mut Writer, drop_oldest: bool) -> Result<(), Error> {
        let mut transaction = writer.begin()?;
        let mut ledger = self.ledger().clone();
        let next = transaction.next_sequence();
        let ids: Vec<u64> = transaction.derived().iter().map(|derived| derived.id).collect();
        let before: Coverage = (next as usize - 1, ranges(transaction.derived()));
        if drop_oldest {
            transaction.drop_derived(&ids[..ids.len().min(1)])?;
        } else {
            transaction.add_derived(derived(1, next), &ids)?;
        }
        let after: Coverage = (before.0, ranges(transaction.derived()));
        ledger.covered.extend([before.clone(), after.clone()]);
        self.note(ledger.clone());
        let committed = transaction.commit(1).map(drop);
        if committed.is_ok() || !writer.is_poisoned() {
            let seen = ledger.beyond(before.0 - ledger.safe.len()).unwrap_or_default();
            if committed.is_ok() {
                ledger.safe.extend(seen.into_iter().flatten());
                ledger.may.clear();
            } else {
                ledger.may = vec![seen];
            }
            ledger.covered = vec![if committed.is_ok() { after } else { before }];
            self.note(ledger);
        }
        committed
    }

    fn give_up(&mut self, writer: &mut Writer, count: u64) -> Result<(), Error> {
        let bodies = self.bodies(count);
        let mut transaction = writer.begin()?;
        bodies.iter().try_for_each(|&number| transaction.append(&body(number)).map(drop))
    }

    /// What the next writer does on whatever it finds: all of it must succeed.
    pub fn recover(&mut self, steps: &[Step]) -> Verdict {
        self.writer = None;
        if let Err(Error::NotFound { .. }) = self.open()
            && !self.ledger().created
        {
            self.step(Step::Create).map_err(|e| format!("creation failed: {e}"))?;
        }
        self.run(steps).map_err(|what| format!("recovery failed: {what}"))
    }

    /// What is in the cache now.
    pub fn check(&self) -> Verdict<usize> {
        check(&self.disk.files(), self.ledger())
    }

    /// Whether recovery alone keeps what there is, and does nothing the second time.
    pub fn check_idempotent(&self) -> Verdict {
        let before = self.check()?;
        let prepare = || self.open().and_then(|mut writer| writer.begin().map(drop));
        match prepare() {
            Err(Error::NotFound { .. }) if before == 0 => return Ok(()),
            other => other.map_err(|e| format!("recovery failed: {e}"))?,
        }
        let once = self.disk.files();
        let kept = self.check()?;
        if kept != before {
            return Err(format!("recovery left {kept} of {before} records"));
        }
        prepare().map_err(|e| format!("the second recovery failed: {e}"))?;
        if self.disk.files() == once {
            Ok(())
        } else {
            Err("a second recovery changed the file".to_string())
        }
    }
}

/// How records are put.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Put {
    Plain,
    WithDerived,
    Attached,
    Replicated,
}

/// The chain after a commit of `bodies` that is made in a copy.
fn chain_in_a_copy(files: &Files, bodies: &[Body]) -> Result<Hash, Error> {
    let mut copy = Writer::open_unlocked(Arc::new(Disk::with_files(files)), path())?;
    let mut transaction = copy.begin()?;
    bodies.iter().try_for_each(|&number| transaction.append(&body(number)).map(drop))?;
    transaction.commit(1).map(|commit| commit.chain)
}

fn index(writer: &mut Writer, first: u64, next: u64) -> Result<(), Error> {
    let mut transaction = writer.begin()?;
    transaction.add_segment(segment(first, next))?;
    transaction.commit(1).map(drop)
}

fn rewrite(writer: &mut Writer) -> Result<(), Error> {
    let mut rewrite = writer.rewrite()?;
    let old = rewrite.old().clone();
    for record in old.records(1) {
        rewrite.append(record?.stored())?;
    }
    if old.commit().next_sequence > 1 {
        rewrite.add_segment(segment(1, old.commit().next_sequence))?;
    }
    for (first, next) in ranges(old.derived()) {
        rewrite.add_derived(derived(first, next), &[])?;
    }
    rewrite.finish(writer).map(drop)
}

fn last_mark(operations: &[Operation]) -> usize {
    let mark = |operation: &Operation| {
        if let Operation::Mark(mark) = operation { Some(*mark) } else { None }
    };
    operations.iter().rev().find_map(mark).unwrap_or(0)
}

/// Every record of the capsule in `files`, each of its segments and derived segments read as well;
/// none when there is no capsule.
pub fn read_all(files: &Files) -> Result<Vec<Vec<u8>>, Error> {
    read_with_derived(files).map(|(bodies, _)| bodies)
}

/// What the derived segments cover as well.
fn read_with_derived(files: &Files) -> Result<(Vec<Vec<u8>>, Ranges), Error> {
    let disk = Disk::with_files(files);
    let snapshot = Snapshot::open_in(&disk, path())?;
    let mut bodies = Vec::new();
    for record in snapshot.records(1) {
        bodies.push(match record?.stored() {
            Stored::Body(body) => body.to_vec(),
            Stored::Purged(_) => Vec::new(),
        });
    }
    for (number, meta) in snapshot.segments().iter().enumerate() {
        let expected = segment(meta.first_sequence, meta.next_sequence);
        let section = snapshot
            .section(number, *b"test    ")?
            .map(|section| section.read_all())
            .transpose()?;
        assert_eq!(
            section.as_deref(),
            Some(&expected.sections[0].1[..]),
            "a segment was read as something else"
        );
    }
    for (number, meta) in snapshot.derived().iter().enumerate() {
        let expected = derived(meta.first_sequence, meta.next_sequence);
        let section = snapshot
            .derived_section(number, *b"annex   ")?
            .map(|section| section.read_all())
            .transpose()?;
        assert_eq!(
            section.as_deref(),
            Some(&expected.sections[0].1[..]),
            "a derived segment was read as something else"
        );
    }
    for attachment in snapshot.attachments()? {
        let expected = attached(attachment.first_sequence, attachment.next_sequence);
        assert_eq!(attachment.bytes, expected, "an attachment was read as something else");
    }
    Ok((bodies, ranges(snapshot.derived())))
}

/// Whether everything acknowledged is there, nothing half-visible and nothing else. Returns the
/// number of records.
pub fn check(files: &Files, ledger: &Ledger) -> Verdict<usize> {
    let (found, derived) = match read_with_derived(files) {
        Err(Error::NotFound { .. }) if !ledger.created => return Ok(0),
        read => read.map_err(|e| format!("unreadable: {e}"))?,
    };
    if !ledger.allows(&found) {
        let shown = found
            .iter()
            .map(|f| String::from_utf8_lossy(&f[..f.len().min(10)]).into_owned())
            .collect::<Vec<_>>();
        return Err(format!("the capsule holds {shown:?}, which {ledger:?} does not allow"));
    }
    let covered = (found.len(), derived);
    if !ledger.allows_derived(&covered) {
        return Err(format!(
            "the capsule has {covered:?}, which {:?} do not allow",
            ledger.covered
        ));
    }
    let disk = Disk::with_files(files);
    let report =
        verify_in(&disk, path(), &mut |_, _| {}).map_err(|e| format!("verify failed: {e}"))?;
    let harmless = report.problems.iter().all(|p| p.what.contains("commit pointer"));
    if harmless { Ok(found.len()) } else { Err(format!("verify found {:?}", report.problems)) }
}

/// Runs `work`, a panic of the store being a violation as well.
pub fn guarded<T>(work: impl FnOnce() -> Verdict<T>) -> Verdict<T> {
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    caught.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        Err(format!(
            "panic: {}",
            text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()))
                .unwrap_or_default()
        ))
    })
}
