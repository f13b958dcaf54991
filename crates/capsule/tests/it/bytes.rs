//! Hostile and damaged bytes: every bit flipped, every sector zeroed, swapped or doubled, every
//! length cut. All of it is found by `verify`; a read gives what was stored, or an error.

use std::sync::Arc;

use kapsa_capsule::{Error, Salvage, Salvaged, Snapshot, Stored, Writer, verify_in};
use kapsa_testkit::{Disk, Random};

use crate::harness::{Files, Scenario, Step, Verdict, World, guarded, path, read_all};

const SECTOR: usize = 512;

/// Capsules that differ in what their bytes mean.
pub const CAPSULES: [(&str, &[Step]); 4] = [
    ("of a few puts", &[Step::Create, Step::Put(2), Step::Put(1), Step::PutLarge]),
    (
        "with segments",
        &[
            Step::Create,
            Step::Put(3),
            Step::Index(1, 3),
            Step::Put(1),
            Step::Index(3, 5),
            Step::Put(2),
        ],
    ),
    (
        "with derived segments",
        &[
            Step::Create,
            Step::PutWithDerived(2),
            Step::PutWithDerived(1),
            Step::MergeDerived,
            Step::PutWithDerived(1),
            Step::Put(1),
        ],
    ),
    (
        "compacted",
        &[Step::Create, Step::Put(3), Step::Put(2), Step::Rewrite, Step::Put(1), Step::Put(1)],
    ),
];

pub fn capsule(steps: &'static [Step]) -> Verdict<Vec<u8>> {
    let world = World::before(&Scenario {
        name: "bytes",
        before: steps,
        steps: &[],
        small_buffers: false,
        lie: None,
    })?;
    Ok(world.start()[path()].clone())
}

/// What became of damaged bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub damages: u64,
    /// A full read met an error.
    pub refused: u64,
    /// Records that salvage brought back, and those that it could not.
    pub salvaged: u64,
    pub lost: u64,
    /// A full read gave everything, or an older state: the damage lies where such a read does not
    /// look.
    pub read: u64,
}

struct Judge {
    good: Vec<Vec<u8>>,
    files: Files,
    counts: Counts,
    /// Most records that salvage may lose to one damage.
    may_lose: u64,
}

impl Judge {
    fn new(bytes: &[u8], may_lose: u64) -> Verdict<Judge> {
        let files = Files::from([(path().to_path_buf(), bytes.to_vec())]);
        let good = read_all(&files).map_err(|e| e.to_string())?;
        Ok(Judge { good, files, counts: Counts::default(), may_lose })
    }

    /// Judges the bytes that `damage` makes of the good ones.
    fn try_damage(&mut self, damage: &dyn Fn(&mut Vec<u8>)) -> Verdict {
        let content = self.files.get_mut(path()).expect("the capsule");
        let before = content.clone();
        damage(content);
        let verdict = if *content == before { Ok(()) } else { guarded(|| self.judge()) };
        *self.files.get_mut(path()).expect("the capsule") = before;
        verdict
    }

    fn judge(&mut self) -> Verdict {
        self.counts.damages += 1;
        let disk = Disk::with_files(&self.files);
        let seen = verify_in(&disk, path(), &mut |_, _| {})
            .map_or(true, |report| !report.problems.is_empty());
        if !seen {
            return Err("verify did not see it".to_string());
        }
        match read_all(&self.files) {
            Err(_) => self.counts.refused += 1,
            // Without the newest commit pointer an older state may be the newest whole one.
            Ok(found) if self.good.starts_with(&found) => self.counts.read += 1,
            Ok(found) => return Err(format!("{} records were read, which is wrong", found.len())),
        }
        self.salvage(&disk)
    }

    /// Salvage brings back every record that is not itself damaged, and never another one.
    fn salvage(&mut self, disk: &Disk) -> Verdict {
        let salvage = match Salvage::open_in(disk, path(), &mut |_, _| {}) {
            Ok(salvage) => salvage,
            Err(error) => return Err(format!("salvage: {error}")),
        };
        let mut salvaged = 0;
        let visited = salvage.each(&mut |met| {
            let Salvaged::Record { sequence, stored } = met else { return Ok(()) };
            salvaged += 1;
            let expected = self.good.get(sequence as usize - 1).map(Vec::as_slice);
            let same = matches!(stored, Stored::Body(body) if Some(body) == expected);
            if same { Ok(()) } else { Err(Error::Misuse { reason: "salvage made a record up" }) }
        });
        visited.map_err(|e| e.to_string())?;
        let lost = self.good.len() as u64 - salvaged;
        self.counts.salvaged += salvaged;
        self.counts.lost += lost;
        if lost > self.may_lose { Err(format!("salvage lost {lost} records")) } else { Ok(()) }
    }
}

/// Records in the largest records frame of the capsules above: a flipped bit costs no more.
const FRAME_RECORDS: u64 = 5;

pub fn flip_every_bit(bytes: &[u8]) -> Verdict<Counts> {
    let mut judge = Judge::new(bytes, FRAME_RECORDS)?;
    for position in 0..bytes.len() {
        // Where zeros must be, one bit of each byte will do.
        let bits = if bytes[position] == 0 { position % 8..position % 8 + 1 } else { 0..8 };
        for bit in bits {
            let flipped = judge.try_damage(&|bytes| bytes[position] ^= 1 << bit);
            flipped.map_err(|what| format!("byte {position}, bit {bit}: {what}"))?;
        }
    }
    Ok(judge.counts)
}

pub fn damage_every_sector(bytes: &[u8]) -> Verdict<Counts> {
    let mut judge = Judge::new(bytes, u64::MAX)?;
    let mut random = Random::new(1);
    let sectors = bytes.len() / SECTOR;
    let range = |sector: usize| sector * SECTOR..(sector + 1) * SECTOR;
    for sector in 0..sectors {
        let context = |what| format!("sector {sector}: {what}");
        judge.try_damage(&|bytes| bytes[range(sector)].fill(0)).map_err(context)?;
        let noise = random.number();
        let garbage = |bytes: &mut Vec<u8>| {
            let mut random = Random::new(noise);
            bytes[range(sector)].iter_mut().for_each(|byte| *byte = random.number() as u8);
        };
        judge.try_damage(&garbage).map_err(context)?;
        for other in 0..sectors {
            let context = |what| format!("sectors {sector} and {other}: {what}");
            judge
                .try_damage(&|bytes| bytes.copy_within(range(sector), other * SECTOR))
                .map_err(context)?;
            let swap = |bytes: &mut Vec<u8>| {
                let kept = bytes[range(other)].to_vec();
                bytes.copy_within(range(sector), other * SECTOR);
                bytes[range(sector)].copy_from_slice(&kept);
            };
            judge.try_damage(&swap).map_err(context)?;
        }
    }
    Ok(judge.counts)
}

/// Two copies of one capsule go their own ways, in transactions of equal length; the second
/// transaction of one is put after the first of the other. Every byte has its right sum, and yet
/// this history never was.
pub fn splice_forks(steps: &'static [Step]) -> Verdict {
    let whole = capsule(steps)?;
    let files = Files::from([(path().to_path_buf(), whole.clone())]);
    let fork = |digit: u8| -> Result<(usize, Vec<u8>), Error> {
        let disk = Disk::with_files(&files);
        let mut writer = Writer::open_unlocked(Arc::new(disk.clone()), path())?;
        let mut first_end = 0;
        for _ in 0..2 {
            first_end = disk.files()[path()].len();
            let mut transaction = writer.begin()?;
            transaction.append(&[digit; 100])?;
            transaction.commit(1)?;
        }
        Ok((first_end, disk.files()[path()].clone()))
    };
    let (first_end, mut one) = fork(1).map_err(|e| e.to_string())?;
    let (_, other) = fork(2).map_err(|e| e.to_string())?;
    one.splice(first_end.., other[first_end..].iter().copied());
    // The newer commit pointer is the other's too: each commit pointer names a commit that is
    // there.
    let serial = |slot: &usize| {
        u64::from_le_bytes(other[slot + 8..slot + 16].try_into().expect("eight bytes"))
    };
    let newer = [4096, 8192].into_iter().max_by_key(serial).expect("two slots");
    one.splice(newer..newer + 4096, other[newer..newer + 4096].iter().copied());
    let mut unpointed = one.clone();
    unpointed[4096..12_288].fill(0);
    let disk = Disk::with_files(&Files::from([(path().to_path_buf(), one)]));
    let report = verify_in(&disk, path(), &mut |_, _| {}).map_err(|e| e.to_string())?;
    if report.problems.is_empty() {
        return Err("verify did not see a spliced history".to_string());
    }
    let walked = Snapshot::open_in(&disk, path()).and_then(|snapshot| snapshot.commits());
    if let Ok(commits) = walked {
        return Err(format!("{} commits of a spliced history were listed", commits.len()));
    }
    // Whoever walks from the start ends before the transaction of the other copy.
    match read_all(&Files::from([(path().to_path_buf(), unpointed)])) {
        Ok(bodies) if bodies.last().is_some_and(|body| *body == [2; 100]) => {
            Err("a spliced history was read".to_string())
        }
        _ => Ok(()),
    }
}

/// Cuts the file to every length: it says so, or there is an older whole state where no commit
/// pointer promises more.
pub fn cut_everywhere(bytes: &[u8]) -> Verdict<u64> {
    for len in 0..bytes.len() {
        let files = Files::from([(path().to_path_buf(), bytes[..len].to_vec())]);
        let told = guarded(|| match read_all(&files) {
            Err(Error::Truncated { .. } | Error::NotACapsule { .. } | Error::Corrupt { .. }) => {
                Ok(())
            }
            other => Err(format!("{:?}", other.map(|bodies| bodies.len()))),
        });
        told.map_err(|what| format!("cut to {len} bytes it was read: {what}"))?;
    }
    Ok(bytes.len() as u64)
}

#[test]
fn every_flipped_bit_is_found_and_never_read_as_something_else() {
    for (name, steps) in CAPSULES {
        let bytes = capsule(steps).expect("made");
        let counts = flip_every_bit(&bytes).unwrap_or_else(|what| panic!("{name}: {what}"));
        println!("{name}, {} bytes: {counts:?}", bytes.len());
        assert!(counts.refused > counts.damages / 8 && counts.read > 0, "{name}: {counts:?}");
    }
}

#[test]
fn every_zeroed_swapped_or_doubled_sector_is_found() {
    for (name, steps) in CAPSULES {
        let bytes = capsule(steps).expect("made");
        let counts = damage_every_sector(&bytes).unwrap_or_else(|what| panic!("{name}: {what}"));
        println!("{name}, {} bytes: {counts:?}", bytes.len());
        assert!(counts.refused > 0 && counts.read > 0, "{name}: {counts:?}");
    }
}

#[test]
fn a_history_spliced_from_two_is_found() {
    CAPSULES.iter().for_each(|(name, steps)| {
        splice_forks(steps).unwrap_or_else(|what| panic!("{name}: {what}"))
    });
}

#[test]
fn every_cut_is_found() {
    for (name, steps) in CAPSULES {
        let bytes = capsule(steps).expect("made");
        let cuts = cut_everywhere(&bytes).unwrap_or_else(|what| panic!("{name}: {what}"));
        println!("{name}: {cuts} cuts");
    }
}

/// Without commit pointers a damaged commit in the middle looks like a torn end, were it not for
/// what follows it.
#[test]
fn without_commit_pointers_damage_before_the_newest_commit_is_not_taken_for_a_torn_end() {
    for (name, steps) in CAPSULES {
        let mut bytes = capsule(steps).expect("made");
        let last = capsule(&steps[..steps.len() - 1]).expect("made").len();
        bytes[4096..12_288].fill(0);
        let good = read_all(&Files::from([(path().to_path_buf(), bytes.clone())]))
            .expect("readable without commit pointers");
        for position in (12_288..last).step_by(5) {
            let mut damaged = bytes.clone();
            damaged[position] ^= 0x10;
            let files = Files::from([(path().to_path_buf(), damaged)]);
            let read = guarded(|| read_all(&files).map_err(|e| e.to_string()));
            assert!(
                read.is_err() || read == Ok(good.clone()),
                "{name}, byte {position}: {:?}",
                read.map(|r| r.len())
            );
            let disk = Disk::with_files(&files);
            let put =
                Writer::open_unlocked(Arc::new(disk.clone()), path()).and_then(|mut writer| {
                    let mut transaction = writer.begin()?;
                    transaction.append(b"more")?;
                    transaction.commit(1)
                });
            let kept = disk.files()[path()].len() >= files[path()].len();
            assert!(put.is_err() || kept, "{name}, byte {position}: a put cut the log");
            let report = verify_in(&disk, path(), &mut |_, _| {}).expect("can be checked");
            assert!(
                !report.problems.is_empty() || put.is_ok(),
                "{name}, byte {position} went unseen"
            );
        }
    }
}

/// A commit pointer that was taken from another history is seen, even the older one of the two.
#[test]
fn a_commit_pointer_of_another_history_is_found() {
    let whole = capsule(CAPSULES[0].1).expect("made");
    let files = Files::from([(path().to_path_buf(), whole)]);
    let fork = |digit: u8| {
        let disk = Disk::with_files(&files);
        let mut writer = Writer::open_unlocked(Arc::new(disk.clone()), path()).expect("opens");
        for _ in 0..2 {
            let mut transaction = writer.begin().expect("begins");
            transaction.append(&[digit; 100]).expect("appends");
            transaction.commit(1).expect("commits");
        }
        disk.files()[path()].clone()
    };
    let (one, other) = (fork(1), fork(2));
    for slot in [4096..8192, 8192..12_288] {
        let mut mixed = one.clone();
        mixed.splice(slot.clone(), other[slot].iter().copied());
        let disk = Disk::with_files(&Files::from([(path().to_path_buf(), mixed)]));
        let report = verify_in(&disk, path(), &mut |_, _| {}).expect("can be checked");
        assert!(!report.problems.is_empty());
    }
}
