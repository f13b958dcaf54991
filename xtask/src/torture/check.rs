//! Checks that everything is there at the end, once, in order and undamaged, through the command
//! line only.

use super::stage::Plan;
use super::worker::{self, Worked};
use crate::harness::breach::{Breach, Breaches};
use crate::harness::kapsa::{Got, Kapsa};
use crate::harness::ledger::Ledger;
use crate::harness::record;
use crate::harness::sys;

/// What the check counted.
#[derive(Default)]
pub(super) struct Checked {
    /// Records that are there as they were put.
    pub(super) kept: u64,
    /// Bytes after the newest commit: what a killed put left.
    pub(super) torn_bytes: u64,
}

/// Compares the capsule with what was acknowledged to the workers.
pub(super) fn check(
    plan: &Plan,
    kapsa: &Kapsa,
    ledger: &mut Ledger,
    workers: &[Worked],
    breaches: &Breaches,
) -> Checked {
    if let Err(message) = kapsa.verify() {
        breaches.add(Breach::Damaged, message);
    }
    for (number, worked) in workers.iter().enumerate() {
        for pair in worked.sequences.windows(2).filter(|pair| pair[0] >= pair[1]) {
            breaches.add(
                Breach::OutOfOrder,
                format!("worker {number} got #{} and then #{}", pair[0], pair[1]),
            );
        }
    }
    let mut checked = Checked::default();
    let listed = match kapsa.listing() {
        Ok(listing) => {
            let listed = listing.len();
            checked.kept = ledger.compare(listing, breaches).kept;
            listed
        }
        Err(message) => {
            breaches.add(Breach::ReadFailed, message);
            0
        }
    };
    match kapsa.stats() {
        Ok(stats) => {
            checked.torn_bytes = stats.torn_bytes;
            if usize::try_from(stats.records) != Ok(listed) {
                let message =
                    format!("stats reports {} records, and timeline shows {listed}", stats.records);
                breaches.add(
                    if stats.records > listed as u64 { Breach::Doubled } else { Breach::WentBack },
                    message,
                );
            }
        }
        Err(message) => breaches.add(Breach::ReadFailed, message),
    }
    check_each(plan, kapsa, ledger, breaches);
    checked
}

/// Asks for every record by its name: one revision, and the contents that were put.
fn check_each(plan: &Plan, kapsa: &Kapsa, ledger: &Ledger, breaches: &Breaches) {
    let series =
        |number| (0..plan.puts).map(move |index| record::uri(&worker::series(number), index));
    for uri in (0..plan.processes).flat_map(series) {
        if sys::interrupted() {
            return;
        }
        match kapsa.get(&uri) {
            Got::Record(record) if record.text == ledger.text(&uri) => {}
            Got::Record(_) => {
                breaches.add(Breach::Altered, format!("get {uri} shows other contents"))
            }
            Got::Absent => breaches.add(Breach::Lost, format!("get {uri} finds nothing")),
            Got::Failed(message) => breaches.add(Breach::ReadFailed, message),
        }
        match kapsa.revisions(&uri) {
            Ok(1) => {}
            Ok(count) => breaches.add(Breach::Doubled, format!("{uri} has {count} revisions")),
            Err(message) => breaches.add(Breach::ReadFailed, message),
        }
    }
}
