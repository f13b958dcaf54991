//! How a capsule is opened for writing, and made. Knows nothing of records.

use std::path::Path;
use std::time::Duration;

use kapsa_capsule::{Holder, NewCapsule, Volume, WriterOptions};

use crate::error::Result;
use crate::records::ids;
use crate::records::provenance::Provenance;
use crate::records::record::Micros;
use crate::signing::key::KeySource;

/// How a capsule is opened for writing. The clock and the holder's name are passed in: this crate
/// reads neither.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// The time now, for commits and for records without a time of their own.
    pub clock: fn() -> Micros,
    /// How long to wait for another writer; default not at all.
    pub lock_timeout: Duration,
    /// Who writes, for the message that another writer sees.
    pub holder: Holder,
    /// The key that signs the commits; default none.
    pub signing: KeySource,
    /// What every record says of its writer; that it is the owner unless that is changed.
    pub provenance: Provenance,
    /// Called after the lock is given back when [`crate::upkeep`] has something to do: to start a
    /// process or a thread that calls it. Default none: segments wait for [`crate::optimize`].
    pub upkeep: Option<fn(&Path)>,
}

impl WriteOptions {
    /// Options with this clock, no waiting, no name and no key.
    #[must_use]
    pub fn new(clock: fn() -> Micros) -> WriteOptions {
        WriteOptions {
            clock,
            lock_timeout: Duration::ZERO,
            holder: Holder::default(),
            signing: KeySource::default(),
            provenance: Provenance::default(),
            upkeep: None,
        }
    }

    pub(crate) fn capsule(&self) -> WriterOptions {
        WriterOptions { holder: self.holder.clone(), lock_timeout: self.lock_timeout }
    }
}

/// Progress of long work: items or bytes done, and the total where it is known.
pub type Progress<'a> = &'a mut dyn FnMut(u64, Option<u64>);

/// Whether [`create`] made the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// A new, empty capsule.
    New,
    /// A capsule was there already and opens.
    Existing,
}

/// Makes an empty capsule at `path`, or finds one there.
///
/// # Errors
/// `NotACapsule` when something else is there (it is not touched), or what the disk reports.
pub fn create(path: &Path, options: &WriteOptions) -> Result<Created> {
    let new = NewCapsule { capsule_id: ids::random_id(), created_us: (options.clock)() };
    let made = kapsa_capsule::create(path, new, &options.capsule())?;
    Ok(if made { Created::New } else { Created::Existing })
}

/// Makes an empty capsule in `volume` without a lock: for volumes that only one process uses.
///
/// # Errors
/// As [`create`].
pub fn create_unlocked(
    volume: &dyn Volume,
    path: &Path,
    options: &WriteOptions,
) -> Result<Created> {
    let new = NewCapsule { capsule_id: ids::random_id(), created_us: (options.clock)() };
    let made = kapsa_capsule::create_unlocked(volume, path, new)?;
    Ok(if made { Created::New } else { Created::Existing })
}
