//! What is written before each power cut, and whether it is there afterwards.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::volume::{FileSystem, Volume};
use super::writers::{Mix, Site};
use crate::harness::breach::Breaches;
use crate::harness::kapsa::Kapsa;
use crate::harness::ledger::Ledger;
use crate::harness::progress::Progress;
use crate::harness::random::Random;
use crate::harness::session::Session;
use crate::harness::{aftermath, record, sys};

/// Cuts of one capsule, so that it stays small enough to be read after each.
const CUTS_PER_VOLUME: u64 = 40;
/// Processes that put one record each, at most.
const PUTTERS_MAX: u64 = 3;
/// Longest time until a cut; a bulk put acknowledges its first records late and gets more.
const TIME_MAX: Duration = Duration::from_millis(120);
const BULK_TIME_MAX: Duration = Duration::from_millis(600);

/// What the cuts of one file system showed.
#[derive(Default)]
pub(super) struct Cuts {
    pub(super) puts_alone: u64,
    pub(super) with_bulk: u64,
    pub(super) with_compaction: u64,
    /// Puts whose acknowledgement was read before a cut.
    pub(super) acknowledged: u64,
    pub(super) adopted: u64,
    pub(super) torn_tails: u64,
}

impl Cuts {
    pub(super) fn cuts(&self) -> u64 {
        self.puts_alone + self.with_bulk + self.with_compaction
    }
}

/// Cuts until there were `cuts`, or a promise is broken.
pub(super) fn run(
    file_system: FileSystem,
    session: &Session,
    cuts: u64,
    breaches: &Breaches,
) -> Result<Cuts, String> {
    let mut campaign = Cuts::default();
    let mut random = Random::new(session.seed, file_system.name());
    let (mut progress, names) = (Progress::new(), AtomicU64::new(0));
    while campaign.cuts() < cuts && breaches.is_empty() {
        let mut volume = Volume::new(file_system, session.folder(), file_system.name())?;
        let kapsa = Kapsa::new(&session.program, &volume.path("cut.kapsa"));
        kapsa.create()?;
        let (mut ledger, before) =
            (Ledger::new(session.seed), campaign.acknowledged + campaign.adopted);
        let of_this_volume = (cuts - campaign.cuts()).min(CUTS_PER_VOLUME);
        for _ in 0..of_this_volume {
            let mix = mix(&mut random);
            let time = random.moment(if mix.bulk { BULK_TIME_MAX } else { TIME_MAX });
            let power = volume.power()?;
            ledger = Site::new(&kapsa, breaches, &names, ledger)
                .write_until(mix, time, || power.cut())?;
            volume.mount_again()?;
            campaign.count(mix);
            campaign.look(&kapsa, &mut ledger, &mut random, breaches);
            campaign.acknowledged = before + ledger.acknowledged() - campaign.adopted;
            if !breaches.is_empty() {
                return Ok(campaign);
            }
            sys::go_on()?;
            let (name, acknowledged) = (file_system.name(), campaign.acknowledged);
            progress.show(|| {
                format!(
                    "{name}: {} of {cuts} cuts, {acknowledged} records acknowledged",
                    campaign.cuts()
                )
            });
        }
    }
    Ok(campaign)
}

/// Two fifths of all cuts meet puts alone, two fifths a compaction, the others a bulk put.
fn mix(random: &mut Random) -> Mix {
    let putters = 1 + random.below(PUTTERS_MAX);
    match random.below(5) {
        0 => Mix { putters: putters - 1, bulk: true, compaction: false },
        1 | 2 => Mix { putters, bulk: false, compaction: true },
        _ => Mix { putters, bulk: false, compaction: false },
    }
}

impl Cuts {
    fn count(&mut self, mix: Mix) {
        let count = match mix {
            Mix { bulk: true, .. } => &mut self.with_bulk,
            Mix { compaction: true, .. } => &mut self.with_compaction,
            _ => &mut self.puts_alone,
        };
        *count += 1;
    }

    fn look(
        &mut self,
        kapsa: &Kapsa,
        ledger: &mut Ledger,
        random: &mut Random,
        breaches: &Breaches,
    ) {
        let next = record::uri("n", self.cuts());
        let seen = aftermath::check(kapsa, ledger, random, &next, breaches);
        self.torn_tails += u64::from(seen.torn_bytes > 0);
        self.adopted += seen.adopted;
    }
}
