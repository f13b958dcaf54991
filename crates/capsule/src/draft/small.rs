//! A transaction that has a few records and nothing else: it is written as one small commit.

use bytes::Bytes;

use super::{Draft, Ending, Finished, Pending, Tail, pack};
use crate::error::{Error, Result};
use crate::format::frame::Kind;
use crate::format::header::SMALL_COMMITS;
use crate::format::records::Stored;
use crate::format::small_commit::SmallCommit;
use crate::format::{SMALL_COMMIT_BYTES_MAX, hash};
use crate::log::follows;
use crate::pack::Packer;

/// Bytes that a small commit may take beside its records and what is attached to them.
const FIELDS_BYTES: usize = 1 << 10;

/// Whether small transactions of this file are written as small commits.
pub(crate) fn writes_small_commits(draft: &Draft) -> bool {
    draft.header.reader_features & SMALL_COMMITS != 0
}

/// Whether the transaction can be written as a small commit with an attachment of so many bytes.
pub(crate) fn is_small_with(draft: &Draft, attachment_bytes: usize) -> bool {
    let bytes = draft.pending_bytes + draft.pending.len() * size_of::<u32>();
    writes_small_commits(draft)
        && !draft.pending.is_empty()
        && draft.frame_count == 0
        && !draft.manifest_changed
        && bytes.saturating_add(attachment_bytes).saturating_add(FIELDS_BYTES)
            <= SMALL_COMMIT_BYTES_MAX
}

/// Whether it is one as it stands.
pub(crate) fn is_small(draft: &Draft) -> bool {
    is_small_with(draft, draft.attachment.as_ref().map_or(0, Vec::len))
}

/// Attaches data to the records, which must be all by now.
pub(crate) fn attach(draft: &mut Draft, bytes: Vec<u8>) -> Result<()> {
    draft.expect_usable()?;
    expect_open(draft)?;
    if bytes.is_empty() || !is_small_with(draft, bytes.len()) {
        return Err(Error::Misuse { reason: "only a small transaction has an attachment" });
    }
    draft.attachment = Some(bytes);
    Ok(())
}

/// Refuses to add to a transaction that was complete with its attachment.
pub(super) fn expect_open(draft: &Draft) -> Result<()> {
    if draft.attachment.is_none() {
        return Ok(());
    }
    Err(Error::Misuse { reason: "nothing can be added after an attachment" })
}

/// Ends the transaction as a small commit.
pub(crate) fn finish_small(draft: &mut Draft, time_us: i64, packer: &mut Packer) -> Finished {
    assert!(
        is_small(draft) && !draft.incomplete,
        "only a small transaction is written as a small commit"
    );
    let attachment = Bytes::from(draft.attachment.take().unwrap_or_default());
    let pending = std::mem::take(&mut draft.pending);
    let records: Vec<Stored<'_>> = pending.iter().map(Pending::stored).collect();
    let first_sequence = draft.base.commit.next_sequence;
    let records = pack(first_sequence, &records, packer, draft.pending_bytes);
    let committed = Tail { places: &[], first_sequence: 0, lengths: &[] };
    let mut commit = draft.commit_fields(&Ending::Next { time_us }, committed);
    commit.dictionary_offset = draft.dictionary_offset;
    commit.frames_hash = hash(&[]);
    commit.prev_chain = None;
    let encoded = SmallCommit { commit, records, attachment }.encode();
    assert!(follows(&draft.base, &commit), "whoever opens the file finds it after its base");
    draft.end_with(Kind::SmallCommit, commit, &encoded)
}
