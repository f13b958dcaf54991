//! Keeps a capsule fast and small by itself: merges segments when there are more than a few, and
//! writes the file anew when most of it was replaced. Meant for a process or a thread in the
//! background: others write meanwhile, and it may be killed at any byte.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kapsa_capsule::{Error as CapsuleError, Lock, SegmentMeta, Snapshot, space};

use super::maintain::{
    SEGMENT_RECORDS_MAX, before, compact_beside, finish, is_still_wanted, merge_vectors, publish,
    records_of,
};
use super::options::{Progress, WriteOptions};
use crate::error::Result;
use crate::records::request::MaintenanceReport;
use crate::tables::segments::merge;
use crate::view::View;

/// Segments that may follow the full ones. A full one has more than half of the records that a
/// segment may have.
pub const UPKEEP_SEGMENTS_MAX: usize = 3;
/// A merge takes in the next older segment, too, when that has at most so many times its records.
const OLDER_TO_NEWER_MAX: u64 = 8;
/// Derived segments from which on they are merged.
const DERIVED_MANY: usize = 8;
/// Replaced bytes for which a file is not written anew, unless something else is asked for.
pub const REPLACED_BYTES_MIN: u64 = 16 << 20;
/// Merges of one call, at most.
const MERGES_MAX: usize = 64;

/// The neighbours that one merge should join, if there are too many segments, which have so many
/// `records` each.
fn due(records: &[u64]) -> Option<Range<usize>> {
    let mut start = 0;
    for end in 0..=records.len() {
        let is_end = end == records.len();
        if !is_end && records[end] <= SEGMENT_RECORDS_MAX / 2 {
            continue;
        }
        let most = if is_end { UPKEEP_SEGMENTS_MAX } else { 1 };
        if end - start > most {
            return Some(newest_alike(records, start..end, most));
        }
        start = end + 1;
    }
    None
}

/// The newest of a run of segments, as many as one segment can hold and as are worth it: so many
/// that at most `most` are left, and older ones as long as they are not much larger.
fn newest_alike(records: &[u64], run: Range<usize>, most: usize) -> Range<usize> {
    let mut from = run.end - 1;
    let mut sum = records[from];
    while from > run.start {
        let older = records[from - 1];
        let left = from - run.start + 1;
        let is_wanted = left > most || older <= sum.saturating_mul(OLDER_TO_NEWER_MAX);
        if !is_wanted || sum + older > SEGMENT_RECORDS_MAX {
            break;
        }
        (from, sum) = (from - 1, sum + older);
    }
    from..run.end
}

fn due_in(segments: &[SegmentMeta]) -> Option<Range<usize>> {
    due(&segments.iter().map(records_of).collect::<Vec<_>>())
}

/// Whether [`upkeep`] would merge segments.
pub(crate) fn is_due(segments: &[SegmentMeta]) -> bool {
    due_in(segments).is_some()
}

/// Ending of the name whose lock keeps any other upkeep of the same capsule away.
const ENDING: &str = ".upkeep";

/// The lock of the only upkeep of a capsule; none while somebody else does it.
fn alone(path: &Path, options: &WriteOptions) -> Result<Option<Lock>> {
    let mut name = path.as_os_str().to_owned();
    name.push(ENDING);
    match Lock::acquire(&PathBuf::from(name), &options.holder, Duration::ZERO) {
        Ok(lock) => Ok(Some(lock)),
        Err(CapsuleError::LockedByWriter { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Does what is due: merges of segments, and a new file when more of this one was replaced than is
/// in force, and more than `replaced_min` bytes. The lock is taken only to publish what was built
/// without it. Does nothing while another upkeep of this capsule is under way.
///
/// # Errors
/// `LockedByWriter` when another writer does not end in time; what the disk says. What was done
/// until then stays.
pub fn upkeep(
    path: &Path,
    options: &WriteOptions,
    replaced_min: u64,
    progress: Progress<'_>,
) -> Result<MaintenanceReport> {
    let report = before(&Snapshot::open(path)?);
    let Some(_alone) = alone(path, options)? else {
        return Ok(finish(report, &Snapshot::open(path)?));
    };
    for _ in 0..MERGES_MAX {
        let snapshot = Snapshot::open(path)?;
        let Some(run) = due_in(snapshot.segments()) else { break };
        let view = View::new(snapshot.clone());
        let draft = merge(&view.store().tables().merge_sources(run)?)?;
        let mut writer = kapsa_capsule::Writer::open(path, &options.capsule())?;
        if is_still_wanted(&draft, &snapshot, &writer.snapshot()?) {
            publish(&mut writer, draft, (options.clock)())?;
        }
    }
    if Snapshot::open(path)?.derived().len() > DERIVED_MANY {
        let mut writer = kapsa_capsule::Writer::open(path, &options.capsule())?;
        merge_vectors(&mut writer, (options.clock)())?;
    }
    let used = space(&Snapshot::open(path)?)?;
    if used.replaced_bytes > used.live_bytes.max(replaced_min) {
        compact_beside(path, options, progress)?;
    }
    Ok(finish(report, &Snapshot::open(path)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_segments_stay_and_full_ones_are_not_touched() {
        const FULL: u64 = SEGMENT_RECORDS_MAX;
        for few in [&[][..], &[9], &[9, 9, 9], &[FULL, FULL, FULL, FULL, 9, 9, 9]] {
            assert_eq!(due(few), None, "{few:?}");
        }
        assert_eq!(due(&[256, 256, 256, 256]), Some(0..4));
        assert_eq!(due(&[FULL, 256, 256, 256, 256]), Some(1..5));
        assert_eq!(due(&[9, 9, FULL]), Some(0..2), "what a full one follows");
    }

    #[test]
    fn much_larger_ones_wait() {
        assert_eq!(due(&[100_000, 256, 256, 256]), Some(1..4));
        assert_eq!(due(&[100_000, 12_000, 256, 256]), Some(2..4));
        assert_eq!(due(&[6000, 500, 256, 256]), Some(0..4));
        assert_eq!(due(&[131_000, 131_000, 131_000, 131_000]), Some(2..4), "no more than fit");
    }

    /// However many records come one by one, few segments are left and each record is merged few
    /// times.
    #[test]
    fn a_hundred_thousand_puts_leave_few_segments() {
        const PUTS: u64 = 100_000;
        const TAIL: u64 = 256;
        let (mut all, mut touched) = (Vec::new(), 0);
        for _ in 0..PUTS / TAIL {
            all.push(TAIL);
            while let Some(run) = due(&all) {
                let sum: u64 = all[run.clone()].iter().sum();
                touched += sum;
                all.splice(run, [sum]);
            }
            assert!(all.len() <= UPKEEP_SEGMENTS_MAX, "{all:?}");
        }
        assert!(touched / PUTS <= 25, "each record is merged {} times", touched / PUTS);
    }
}
