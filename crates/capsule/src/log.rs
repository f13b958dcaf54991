//! Finds the newest commit: by the commit pointer, then a walk over frame lengths; never by a
//! search for patterns.

use std::ops::Range;
use std::path::Path;

use crate::error::{Error, Result};
use bytes::Bytes;

use crate::format::commit::Commit;
use crate::format::commit_pointer::CommitPointer;
use crate::format::frame::{FRAME_HEADER_BYTES, Frame, MAGIC as FRAME_MAGIC, header_bytes};
use crate::format::header::{FORMAT_VERSION, HEADER_BYTES, Header, MAGIC, READER_FEATURES};
use crate::format::small_commit::commit_of;
use crate::format::{FRAME_ALIGN, Hash, LOG_START, SMALL_COMMIT_BYTES_MAX, aligned};
use crate::seeded::{Seeded, holds};
use crate::storage::{Storage, read_exact_at, read_up_to};

/// Bytes read at once by a walk.
const WINDOW_BYTES: usize = 256 << 10;
/// Most bytes of a frame that makes a commit: a small one holds its records as well.
const COMMIT_FRAME_BYTES_MAX: u64 = FRAME_HEADER_BYTES + SMALL_COMMIT_BYTES_MAX as u64;
/// Bytes searched at once for a frame after the newest commit.
const SEARCH_BYTES: usize = 1 << 20;

/// The newest commit, or the state before the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) commit: Commit,
    /// Offset of the commit frame, 0 before the first.
    pub(crate) offset: u64,
    /// Offset past it: where the next transaction begins.
    pub(crate) end: u64,
    /// Hash of its payload.
    pub(crate) digest: Hash,
}

impl Head {
    /// The state of a capsule without commits.
    pub(crate) fn empty() -> Head {
        let commit = Commit {
            first_sequence: 1,
            next_sequence: 1,
            indexed: 1,
            tail_offset: LOG_START,
            ..Commit::default()
        };
        Head { commit, offset: 0, end: LOG_START, digest: [0; 32] }
    }
}

/// What opening a file finds.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    pub(crate) header: Header,
    pub(crate) head: Head,
    /// Whether a commit pointer says that the file's name is on disk.
    pub(crate) named: bool,
    /// End of the newest commit known to be on disk; [`LOG_START`] when no commit pointer is
    /// valid.
    pub(crate) pointed_end: u64,
    pub(crate) file_len: u64,
}

/// Finds the newest commit of the file.
pub(crate) fn locate(storage: &dyn Storage, path: &Path) -> Result<Located> {
    let prefix = read_up_to(storage, 0, LOG_START as usize).map_err(Error::unreadable(path, 0))?;
    let header = read_header(&prefix, path)?;
    let file_len = storage.len().map_err(Error::io("read the length of", path))?;
    let pointer = CommitPointer::newest(&prefix, &header);
    if file_len < LOG_START {
        return Err(Error::Truncated {
            path: path.to_path_buf(),
            len: file_len,
            expected: LOG_START,
        });
    }
    let (mut head, pointed_end) = match pointer {
        None => (Head::empty(), LOG_START),
        Some(pointer) => (pointed_head(storage, path, &header, &pointer, file_len)?, pointer.end),
    };
    let mut walk = Walk::new(storage, &header, file_len);
    while let Some(next) = walk.next_commit(&head).map_err(Error::unreadable(path, head.end))? {
        head = next;
    }
    let named = pointer.is_some_and(|pointer| pointer.named);
    let located = Located { header, head, named, pointed_end, file_len };
    assert!(
        pointed_end <= head.end && head.end <= file_len,
        "the newest commit is the one that a pointer names or a later one, and whole"
    );
    assert!(head.end.is_multiple_of(8), "a frame can follow the newest commit");
    if pointer.is_none() {
        // Compaction gives a file its name when its first commit and the pointer to it are on disk.
        if header.generation > 1 && head.offset == 0 {
            return Err(corrupt(
                path,
                head.end,
                "the first commit of this compacted file cannot be read",
            ));
        }
        expect_torn(storage, path, &located)?;
    }
    Ok(located)
}

/// Makes sure that what follows the newest commit was left by an interrupted write and is not a
/// damaged part of the log: a frame of the commit after the next one is written only once the next
/// one was acknowledged.
pub(crate) fn expect_torn(storage: &dyn Storage, path: &Path, located: &Located) -> Result<()> {
    let Located { header, head, file_len, .. } = located;
    assert!(head.end <= *file_len, "the newest commit lies in the file");
    let is_later = |frame: &Frame| frame.serial > head.commit.serial + 1;
    let found = find_frame(storage, header, head.end..*file_len, is_later);
    match found.map_err(Error::unreadable(path, head.end))? {
        None => Ok(()),
        Some(at) => {
            let what = format!("the log cannot be read here, and goes on at byte {at}");
            Err(corrupt(path, head.end, what))
        }
    }
}

/// The first place in a part of the file where a frame header checks out and is wanted: its sum
/// and its own offset make a chance match impossible.
pub(crate) fn find_frame(
    storage: &dyn Storage,
    header: &Header,
    part: Range<u64>,
    is_wanted: impl Fn(&Frame) -> bool,
) -> std::io::Result<Option<u64>> {
    let mut offset = part.start;
    while offset < part.end {
        let len = (part.end - offset).min(SEARCH_BYTES as u64) as usize;
        let window = read_up_to(storage, offset, len)?;
        if window.is_empty() {
            // A writer cut its torn tail meanwhile.
            break;
        }
        for step in (0..window.len()).step_by(FRAME_ALIGN as usize) {
            if !window[step..].starts_with(&FRAME_MAGIC) {
                continue;
            }
            let at = offset + step as u64;
            let bytes = read_up_to(storage, at, FRAME_HEADER_BYTES as usize)?;
            if Frame::decode(&bytes, at, header).is_ok_and(|frame| is_wanted(&frame)) {
                return Ok(Some(at));
            }
        }
        // A short read ends with the file: what is left of a frame there is too short for one.
        offset += window.len().next_multiple_of(FRAME_ALIGN as usize) as u64;
    }
    Ok(None)
}

/// Reads and judges the header.
pub(crate) fn read_header(prefix: &[u8], path: &Path) -> Result<Header> {
    if !prefix.starts_with(&MAGIC) {
        let found = foreign(prefix).to_string();
        return Err(Error::NotACapsule { path: path.to_path_buf(), found });
    }
    let too_new = |found: String| Error::VersionMismatch { path: path.to_path_buf(), found };
    // Another version may place its checksum elsewhere: the version is all that can be trusted to
    // be where it is.
    if let Some(version) = Header::version(prefix).filter(|&version| version != FORMAT_VERSION) {
        return Err(too_new(format!(
            "format version {version}, this build knows {FORMAT_VERSION}"
        )));
    }
    let header = Header::decode(prefix).map_err(|what| corrupt(path, 0, what))?;
    let unknown = header.reader_features & !READER_FEATURES;
    if unknown != 0 {
        return Err(too_new(format!("unknown reader features {unknown:#x}")));
    }
    Ok(header)
}

/// What a file that is not a capsule appears to be.
fn foreign(prefix: &[u8]) -> &'static str {
    match prefix {
        [] => "it is empty",
        [b'M', b'V', b'2', ..] => "it is a memvid store (.mv2)",
        [b'S', b'Q', b'L', b'i', b't', b'e', ..] => "it is an SQLite database",
        p if p.len() >= HEADER_BYTES && p[..8].iter().all(|&b| b == 0) => "it begins with zeros",
        _ => "its first bytes are not a capsule's",
    }
}

fn pointed_head(
    storage: &dyn Storage,
    path: &Path,
    header: &Header,
    pointer: &CommitPointer,
    file_len: u64,
) -> Result<Head> {
    if pointer.end > file_len {
        return Err(Error::Truncated {
            path: path.to_path_buf(),
            len: file_len,
            expected: pointer.end,
        });
    }
    let damaged = |what| corrupt(path, pointer.offset, what);
    let len = pointer.end.saturating_sub(pointer.offset);
    if pointer.offset < LOG_START || !(FRAME_HEADER_BYTES..=COMMIT_FRAME_BYTES_MAX).contains(&len) {
        return Err(damaged("the commit pointer names a place where no commit can be"));
    }
    let mut bytes = vec![0; len as usize];
    read_exact_at(storage, &mut bytes, pointer.offset)
        .map_err(Error::unreadable(path, pointer.offset))?;
    let frame = Frame::decode(&bytes, pointer.offset, header).map_err(damaged)?;
    let filled = Bytes::from(bytes).slice(FRAME_HEADER_BYTES as usize..);
    if frame.digest != pointer.digest
        || crate::format::hash(&filled) != frame.digest
        || frame.end() != pointer.end
    {
        return Err(damaged("the newest commit is not the one that was written"));
    }
    let payload = filled.slice(..frame.payload_len as usize);
    let commit = commit_of(&frame, &payload).map_err(damaged)?;
    // Only the serial distinguishes the pointer of this commit from the next one's; the first
    // commit's is 1.
    if commit.serial == 0 || commit.serial != pointer.serial {
        return Err(damaged("the commit pointer is another commit's"));
    }
    Ok(Head { commit, offset: pointer.offset, end: pointer.end, digest: frame.digest })
}

pub(crate) fn corrupt(path: &Path, offset: u64, what: impl Into<String>) -> Error {
    Error::Corrupt { path: path.to_path_buf(), offset, what: what.into() }
}

/// Reads forward over whole transactions.
pub(crate) struct Walk<'a> {
    storage: &'a dyn Storage,
    header: &'a Header,
    file_len: u64,
    window: Vec<u8>,
    window_offset: u64,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(storage: &'a dyn Storage, header: &'a Header, file_len: u64) -> Walk<'a> {
        Walk { storage, header, file_len, window: Vec::new(), window_offset: 0 }
    }

    /// The commit after `head`, if the bytes there are one whole transaction.
    pub(crate) fn next_commit(&mut self, head: &Head) -> std::io::Result<Option<Head>> {
        match self.try_next_commit(head) {
            // A writer cut its torn tail while we looked at it.
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
            other => other,
        }
    }

    fn try_next_commit(&mut self, head: &Head) -> std::io::Result<Option<Head>> {
        let mut offset = head.end;
        let mut headers = blake3::Hasher::new();
        let mut frames = 0;
        while let Some(frame) = self.frame_at(offset)? {
            let in_order = frame.serial == head.commit.serial + 1 && frame.end() <= self.file_len;
            if !in_order || !self.payload_matches(&frame)? {
                return Ok(None);
            }
            if frame.kind.makes_commit() {
                return self.check_commit(head, &frame, *headers.finalize().as_bytes(), frames);
            }
            headers.update(&header_bytes(&frame, self.header));
            frames += 1;
            offset = frame.end();
        }
        Ok(None)
    }

    fn check_commit(
        &mut self,
        head: &Head,
        frame: &Frame,
        frames_hash: Hash,
        frames: u64,
    ) -> std::io::Result<Option<Head>> {
        if frame.payload_len > SMALL_COMMIT_BYTES_MAX as u64 {
            return Ok(None);
        }
        let payload = self.bytes(frame.payload_offset(), frame.payload_len as usize)?;
        // Why it does not check out is for `verify` to say: the log ends before it.
        let Ok(commit) = commit_of(frame, &Bytes::copy_from_slice(payload)) else {
            return Ok(None);
        };
        debug_assert!(
            frame.offset >= head.end && frame.end() <= self.file_len,
            "a walk goes forward, and stays in the file"
        );
        let follows = follows(head, &commit)
            && commit.frames_hash == frames_hash
            && commit.frame_count == frames;
        Ok(follows.then_some(Head {
            commit,
            offset: frame.offset,
            end: frame.end(),
            digest: frame.digest,
        }))
    }

    /// The frame header at `offset`, if there is a valid one.
    pub(crate) fn frame_at(&mut self, offset: u64) -> std::io::Result<Option<Frame>> {
        if offset + FRAME_HEADER_BYTES > self.file_len {
            return Ok(None);
        }
        let header = self.header;
        let bytes = self.bytes(offset, FRAME_HEADER_BYTES as usize)?;
        Ok(Frame::decode(bytes, offset, header).ok())
    }

    /// Whether the payload and its filling hash to what the frame header says.
    pub(crate) fn payload_matches(&mut self, frame: &Frame) -> std::io::Result<bool> {
        let mut hasher = blake3::Hasher::new();
        let mut offset = frame.payload_offset();
        let end = offset + aligned(frame.payload_len);
        while offset < end {
            let len = (end - offset).min(WINDOW_BYTES as u64) as usize;
            hasher.update(self.bytes(offset, len)?);
            offset += len as u64;
        }
        Ok(holds(Seeded::PayloadUnchecked, *hasher.finalize().as_bytes() == frame.digest))
    }

    /// `len` bytes at `offset`, at most a window; fewer never: the caller checked the file's
    /// length.
    fn bytes(&mut self, offset: u64, len: usize) -> std::io::Result<&[u8]> {
        assert!(
            len <= WINDOW_BYTES && offset + len as u64 <= self.file_len,
            "whoever reads ahead checked the length of the file"
        );
        let inside = offset >= self.window_offset
            && offset + len as u64 <= self.window_offset + self.window.len() as u64;
        if !inside {
            let available = (self.file_len - offset).min(WINDOW_BYTES as u64) as usize;
            self.window.resize(available.max(len), 0);
            read_exact_at(self.storage, &mut self.window, offset)?;
            self.window_offset = offset;
        }
        let start = (offset - self.window_offset) as usize;
        Ok(&self.window[start..start + len])
    }
}

/// Whether `commit` continues the history that ends at `head`.
pub(crate) fn follows(head: &Head, commit: &Commit) -> bool {
    let previous = &head.commit;
    let base = previous.serial == 0 && commit.history_offset != 0;
    let continues = commit.number
        == previous.number + u64::from(commit.next_sequence > commit.first_sequence)
        && commit.prev_chain.is_none_or(|chain| chain == previous.chain)
        && commit.first_sequence == previous.next_sequence;
    let follows = commit.serial == previous.serial + 1
        && commit.prev_offset == head.offset
        && commit.prev_digest == head.digest
        && commit.begin == head.end
        && (base || continues);
    holds(Seeded::NoChain, follows)
}

#[cfg(test)]
mod tests;
