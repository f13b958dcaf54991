//! How much of a file is still in force, so that somebody can tell when to write it anew.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::format::LOG_START;
use crate::format::frame::Kind;
use crate::log::{Walk, corrupt};
use crate::snapshot::Snapshot;

/// What the bytes of a file are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// Bytes of frames that hold records, and of segments in force.
    pub live_bytes: u64,
    /// Bytes of what others took the place of: segments, and the manifests that named them.
    pub replaced_bytes: u64,
}

/// Adds up the frames of a file; reads their headers only.
///
/// # Errors
/// `Corrupt` where a header does not check out; what the system says.
pub fn space(snapshot: &Snapshot) -> Result<Space> {
    let in_force: HashSet<u64> = snapshot
        .segments()
        .iter()
        .chain(snapshot.derived())
        .map(|meta| meta.frame_offset)
        .collect();
    let end = snapshot.file().committed_bytes;
    let mut walk = Walk::new(&*snapshot.inner.storage, &snapshot.inner.header, end);
    let mut space = Space::default();
    let mut offset = LOG_START;
    while offset < end {
        let frame = walk
            .frame_at(offset)
            .map_err(Error::unreadable(snapshot.path(), offset))?
            .ok_or_else(|| corrupt(snapshot.path(), offset, "no frame begins here"))?;
        let bytes = frame.end() - offset;
        let is_live = match frame.kind {
            Kind::Segment => in_force.contains(&offset),
            Kind::Manifest => false,
            Kind::Records | Kind::SmallCommit | Kind::Commit | Kind::Dictionary | Kind::History => {
                true
            }
        };
        if is_live {
            space.live_bytes += bytes;
        } else {
            space.replaced_bytes += bytes;
        }
        offset = frame.end();
    }
    Ok(space)
}
