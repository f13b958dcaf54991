//! What is killed, when, and what is checked afterwards.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::harness::breach::{Breach, Breaches};
use crate::harness::kapsa::{self, Ended, Kapsa, Maintained, Put};
use crate::harness::ledger::Ledger;
use crate::harness::process::{Kill, bytes};
use crate::harness::progress::Progress;
use crate::harness::random::Random;
use crate::harness::{aftermath, median, record, sys};

/// What the program is doing when it is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Put,
    /// Many small records in several commits.
    Bulk,
    /// One commit of large records, which is written in pieces.
    Large,
    Compact,
    Optimize,
}

impl Action {
    pub(super) const ALL: [Action; 5] =
        [Action::Put, Action::Bulk, Action::Large, Action::Compact, Action::Optimize];

    pub(super) fn name(self) -> &'static str {
        match self {
            Action::Put => "put",
            Action::Bulk => "bulk",
            Action::Large => "large",
            Action::Compact => "compact",
            Action::Optimize => "optimize",
        }
    }

    /// Half of all are puts; an optimization of a small file is over too soon to be worth more.
    fn random(random: &mut Random) -> Action {
        match random.below(20) {
            0..10 => Action::Put,
            10..14 => Action::Bulk,
            14 => Action::Large,
            15..18 => Action::Compact,
            _ => Action::Optimize,
        }
    }
}

/// Records of a bulk put, and of one of its commits.
const BULK_RECORDS: (u64, usize) = (64, 8);
/// The same of large ones.
const LARGE_RECORDS: (u64, usize) = (5, 5);
/// Undisturbed runs of each action, to know how long it takes.
const MEASURED: usize = 5;
/// Kills come until this much of the usual time has passed, in percent, so that the very end is hit
/// as well.
const KILL_UNTIL_PERCENT: u32 = 110;
/// Kills that wait for the file to grow, of 100; they come until so long after that. Large puts are
/// killed sooner: what is written is read again after each kill, and few of them are enough.
const KILL_ON_GROWTH_PERCENT: u64 = 40;
const KILL_AFTER_GROWTH: Duration = Duration::from_millis(2);
const KILL_LARGE_AFTER_GROWTH: Duration = Duration::from_micros(300);

/// A capsule that has grown to this size is followed by a new one, because all of it is read after
/// each kill.
const CAPSULE_BYTES_MAX: u64 = 16 << 20;

/// Counts of one action.
#[derive(Clone, Copy, Default)]
pub(super) struct Counted {
    pub(super) started: u64,
    pub(super) killed: u64,
    /// What it takes undisturbed.
    pub(super) usual: Duration,
}

/// A series of kills on one capsule.
pub(super) struct Campaign<'a> {
    kapsa: Kapsa,
    folder: PathBuf,
    /// What was acknowledged or adopted in capsules before this one.
    records_before: u64,
    random: Random,
    ledger: Ledger,
    breaches: &'a Breaches,
    /// Names given so far.
    names: u64,
    counted: [Counted; Action::ALL.len()],
    pub(super) acknowledged: u64,
    pub(super) adopted: u64,
    pub(super) torn_tails: u64,
    /// Kills that left the file a compaction was writing; the next one removes it.
    pub(super) unfinished_compactions: u64,
    pub(super) longest_next_put: Duration,
}

impl<'a> Campaign<'a> {
    /// `folder` takes the bulk puts' input.
    pub(super) fn new(
        kapsa: Kapsa,
        folder: &Path,
        seed: u64,
        breaches: &'a Breaches,
    ) -> Campaign<'a> {
        Campaign {
            kapsa,
            folder: folder.to_path_buf(),
            records_before: 0,
            random: Random::new(seed, "kill"),
            ledger: Ledger::new(seed),
            breaches,
            names: 0,
            counted: <[Counted; Action::ALL.len()]>::default(),
            acknowledged: 0,
            adopted: 0,
            torn_tails: 0,
            unfinished_compactions: 0,
            longest_next_put: Duration::ZERO,
        }
    }

    pub(super) fn counted(&self, action: Action) -> Counted {
        self.counted[action as usize]
    }

    /// Kills that hit.
    pub(super) fn kills(&self) -> u64 {
        self.counted.iter().map(|counted| counted.killed).sum()
    }

    /// Kills until `kills` have hit, or a promise is broken.
    pub(super) fn run(&mut self, kills: u64) -> Result<(), String> {
        self.kapsa.create()?;
        self.measure()?;
        let mut progress = Progress::new();
        while self.kills() < kills && self.breaches.is_empty() {
            sys::go_on()?;
            let action = Action::random(&mut self.random);
            self.act_and_count(action)?;
            self.look();
            if fs::metadata(self.kapsa.capsule()).is_ok_and(|file| file.len() > CAPSULE_BYTES_MAX)
                && self.breaches.is_empty()
            {
                self.begin_another()?;
            }
            progress.show(|| {
                format!(
                    "{} of {kills} kills, {} records acknowledged",
                    self.kills(),
                    self.acknowledged
                )
            });
        }
        Ok(())
    }

    fn begin_another(&mut self) -> Result<(), String> {
        self.records_before += self.ledger.acknowledged();
        self.ledger = self.ledger.emptied();
        let removed = fs::remove_file(self.kapsa.capsule());
        removed.map_err(|error| {
            format!("cannot remove {}: {error}", self.kapsa.capsule().display())
        })?;
        self.kapsa.create()
    }

    /// Measures what each action takes when nothing disturbs it. Large puts are left out: they
    /// would stay, and slow down every check; they are killed by the growth of the file.
    fn measure(&mut self) -> Result<(), String> {
        for action in Action::ALL.into_iter().filter(|action| *action != Action::Large) {
            let mut times = Vec::new();
            for _ in 0..MEASURED {
                times.push(self.act(action, None)?.0);
            }
            self.counted[action as usize].usual = median(&times).unwrap_or_default();
        }
        Ok(())
    }

    /// Starts an action, kills it, and learns from whether that hit. The file grows, and with it
    /// what a compaction takes.
    fn act_and_count(&mut self, action: Action) -> Result<(), String> {
        let kill = self.kill(action);
        let at_a_time = matches!(kill, Kill::After(_));
        let (took, killed) = self.act(action, Some(kill))?;
        let counted = &mut self.counted[action as usize];
        counted.started += 1;
        counted.killed += u64::from(killed);
        if at_a_time {
            counted.usual =
                if killed { counted.usual * 101 / 100 } else { counted.usual.min(took) };
        }
        let unfinished = bytes(&folder(self.kapsa.capsule())) > 0;
        self.unfinished_compactions += u64::from(killed && action == Action::Compact && unfinished);
        Ok(())
    }

    /// When to kill the action.
    fn kill(&mut self, action: Action) -> Kill {
        if action == Action::Large || self.random.percent(KILL_ON_GROWTH_PERCENT) {
            let capsule = self.kapsa.capsule();
            let grows =
                if action == Action::Compact { folder(capsule) } else { capsule.to_path_buf() };
            let longest =
                if action == Action::Large { KILL_LARGE_AFTER_GROWTH } else { KILL_AFTER_GROWTH };
            return Kill::Grown(grows, self.random.moment(longest));
        }
        Kill::After(self.random.moment(self.counted(action).usual * KILL_UNTIL_PERCENT / 100))
    }

    /// Returns how long the action took, and whether it was killed before its end.
    fn act(&mut self, action: Action, kill: Option<Kill>) -> Result<(Duration, bool), String> {
        match action {
            Action::Put => Ok(self.put(kill)),
            Action::Bulk => self.put_many("b", BULK_RECORDS, kill),
            Action::Large => self.put_many(record::LARGE, LARGE_RECORDS, kill),
            Action::Compact | Action::Optimize => Ok(self.maintain(action, kill)),
        }
    }

    fn put(&mut self, kill: Option<Kill>) -> (Duration, bool) {
        let uri = self.name("p");
        self.ledger.attempt(&uri);
        let (put, took) = self.kapsa.put(&uri, &self.ledger.text(&uri), kill);
        match put {
            Put::Stored { sequence, .. } => self.ledger.acknowledge(&uri, sequence),
            Put::Killed => return (took, true),
            other => self.breaches.add(Breach::WriteFailed, format!("put {uri}: {other:?}")),
        }
        (took, false)
    }

    fn put_many(
        &mut self,
        series: &str,
        (records, batch): (u64, usize),
        kill: Option<Kill>,
    ) -> Result<(Duration, bool), String> {
        let uris: Vec<String> = (0..records).map(|_| self.name(series)).collect();
        uris.chunks(batch).for_each(|batch| self.ledger.attempt_batch(batch));
        let lines: String =
            uris.iter().map(|uri| kapsa::line(uri, &self.ledger.text(uri))).collect();
        let path = self.folder.join("bulk.jsonl");
        let input = fs::write(&path, lines).and_then(|()| File::open(&path));
        let input =
            input.map_err(|error| format!("cannot write the input of a bulk put: {error}"))?;
        let (put, took) = self.kapsa.put_many(input, batch, kill);
        put.acknowledged.iter().for_each(|(uri, sequence)| self.ledger.acknowledge(uri, *sequence));
        if let Ended::Failed(message) = &put.ended {
            self.breaches.add(Breach::WriteFailed, message);
        }
        Ok((took, put.ended == Ended::Killed))
    }

    fn maintain(&mut self, action: Action, kill: Option<Kill>) -> (Duration, bool) {
        let (maintained, took) = self.kapsa.maintain(action.name(), kill);
        match maintained {
            Maintained::Done => (took, false),
            Maintained::Killed => (took, true),
            other => {
                self.breaches.add(Breach::WriteFailed, format!("{}: {other:?}", action.name()));
                (took, false)
            }
        }
    }

    /// Checks what the kill left. Whatever was seen, a put must work at once.
    fn look(&mut self) {
        let next = self.name("n");
        let seen =
            aftermath::check(&self.kapsa, &mut self.ledger, &mut self.random, &next, self.breaches);
        self.torn_tails += u64::from(seen.torn_bytes > 0);
        self.adopted += seen.adopted;
        self.longest_next_put = self.longest_next_put.max(seen.next_put);
        self.acknowledged = self.records_before + self.ledger.acknowledged() - self.adopted;
    }

    fn name(&mut self, series: &str) -> String {
        self.names += 1;
        record::uri(series, self.names)
    }
}

/// Where a compaction writes: beside the capsule, under a name that nobody can guess.
fn folder(capsule: &Path) -> PathBuf {
    capsule.parent().unwrap_or(Path::new(".")).to_path_buf()
}
