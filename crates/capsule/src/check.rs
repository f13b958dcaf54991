//! Checks that every byte of a file is what was written: reads all of it and recomputes everything
//! that can be recomputed.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::format::commit::{Commit, chain_of};
use crate::format::commit_pointer::{CommitPointer, POINTER_BYTES, SLOTS};
use crate::format::frame::{FRAME_HEADER_BYTES, Frame, Kind, header_bytes};
use crate::format::header::Header;
use crate::format::manifest::Manifest;
use crate::format::records::Packed;
use crate::format::segment::{FIXED_BYTES, Layout, decode_sections};
use crate::format::small_commit::{SmallCommit, commit_of};
use crate::format::{
    FRAME_ALIGN, Hash, LOG_START, SegmentMeta, aligned, all_zero, hash, history, sum,
};
use crate::history::{FoldedChains, folded_spans};
use crate::lenient::{Lenient, PAGE_BYTES};
use crate::log::{Head, expect_torn, find_frame, follows, locate, read_header};
use crate::snapshot::{Snapshot, open_storage};
use crate::storage::{FileSystem, Storage, Volume, read_up_to};

/// Most problems that are listed; further ones are left out.
pub const PROBLEMS_MAX: usize = 1000;

/// Blocks of a segment that are read at once.
const BLOCKS_AT_ONCE: usize = 256;

/// What a full check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Frames read.
    pub frames: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Records whose hash was recomputed.
    pub records: u64,
    /// Commits whose chain was recomputed, folded ones included.
    pub commits: u64,
    /// Bytes after the newest commit.
    pub torn_bytes: u64,
    /// What is wrong, in file order; empty when all is well.
    pub problems: Vec<Problem>,
}

/// One damaged place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Offset of the damaged structure.
    pub offset: u64,
    /// Number of the frame, counted from 0 at the start of the log.
    pub frame: Option<u64>,
    /// What is wrong.
    pub what: String,
}

/// Checks the capsule at `path`. Damage is in the report; an error means that there was nothing to
/// check. `progress` is told the bytes read and the file's length.
///
/// # Errors
/// `NotFound`, `NotACapsule`, `VersionMismatch`, or what the system says.
pub fn verify(path: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Report> {
    verify_in(&FileSystem, path, progress)
}

/// Checks the capsule at `path` of `volume`.
///
/// # Errors
/// As [`verify`].
pub fn verify_in(
    volume: &dyn Volume,
    path: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Report> {
    let file = Lenient::over(open_storage(volume, path, false)?);
    let storage: Arc<dyn Storage> = file.clone();
    let prefix =
        read_up_to(&*storage, 0, LOG_START as usize).map_err(Error::unreadable(path, 0))?;
    let mut report = Report { bytes: prefix.len() as u64, ..Report::default() };
    let header = match read_header(&prefix, path) {
        Ok(header) => header,
        Err(Error::Corrupt { offset, what, .. }) => {
            report.problems.push(Problem { offset, frame: None, what });
            return Ok(report);
        }
        Err(error) => return Err(error),
    };
    let mut checker = Checker::new(storage, path, header, report)?;
    let pointers = SLOTS
        .iter()
        .filter_map(|&slot| CommitPointer::decode(prefix.get(slot as usize..)?, slot, &header));
    checker.pointers = pointers.collect();
    checker.check_log(progress)?;
    checker.check_pointers(&prefix);
    for page in file.unreadable() {
        checker.problem(page, None, format!("the disk does not give back {PAGE_BYTES} bytes"));
    }
    checker.report.problems.sort_by_key(|problem| problem.offset);
    Ok(checker.report)
}

struct Checker<'a> {
    storage: Arc<dyn Storage>,
    path: &'a Path,
    header: Header,
    file_len: u64,
    /// End of the newest commit, or of the file when that is not known.
    end: u64,
    /// For unpacking records; none when the file does not open.
    snapshot: Option<Snapshot>,
    report: Report,
    head: Head,
    transaction: Open,
    /// Digest and sum of the head of each segment seen, by offset.
    segments: HashMap<u64, (Hash, u64)>,
    /// Offsets of those that are damaged.
    damaged: HashSet<u64>,
    folded: Option<Bytes>,
    /// The valid commit pointers; those whose commits were met go.
    pointers: Vec<CommitPointer>,
}

/// The transaction being read.
#[derive(Default)]
struct Open {
    headers: blake3::Hasher,
    frames: u64,
    hashes: Vec<Hash>,
    /// Whether something in it is damaged, so that its hashes prove nothing.
    broken: bool,
}

impl<'a> Checker<'a> {
    fn new(
        storage: Arc<dyn Storage>,
        path: &'a Path,
        header: Header,
        report: Report,
    ) -> Result<Checker<'a>> {
        let file_len = storage.len().map_err(Error::io("read the length of", path))?;
        let located = locate(&*storage, path);
        let mut checker = Checker {
            storage,
            path,
            header,
            file_len,
            end: file_len,
            snapshot: None,
            report,
            head: Head::empty(),
            transaction: Open::default(),
            segments: HashMap::new(),
            damaged: HashSet::new(),
            folded: None,
            pointers: Vec::new(),
        };
        match located {
            Ok(located) => match expect_torn(&*checker.storage, path, &located) {
                // A writer may have gone on since the length was asked for.
                Ok(()) => {
                    checker.file_len = located.file_len;
                    checker.end = located.head.end;
                    checker.report.torn_bytes = located.file_len - located.head.end;
                }
                Err(Error::Corrupt { offset, what, .. }) => checker.problem(offset, None, what),
                Err(error) => return Err(error),
            },
            Err(Error::Truncated { len, expected, .. }) => {
                checker.problem(
                    len,
                    None,
                    format!("the file ends here, its newest known commit at byte {expected}"),
                );
            }
            Err(Error::Corrupt { offset, what, .. }) => checker.problem(offset, None, what),
            Err(error) => return Err(error),
        }
        Ok(checker)
    }

    fn problem(&mut self, offset: u64, frame: Option<u64>, what: impl Into<String>) {
        self.transaction.broken = true;
        if self.report.problems.len() < PROBLEMS_MAX {
            self.report.problems.push(Problem { offset, frame, what: what.into() });
        }
    }

    /// A commit's pointer goes to the disk with the next commit at the latest, so a slot can be
    /// unused only until then.
    fn check_pointers(&mut self, prefix: &[u8]) {
        for pointer in std::mem::take(&mut self.pointers) {
            self.problem(
                pointer.slot(),
                None,
                "the commit pointer names a commit that is not there",
            );
        }
        for (slot, first_serial) in SLOTS.into_iter().zip([2, 1]) {
            let Some(page) = prefix.get(slot as usize..(slot + 4096) as usize) else { continue };
            let unused =
                all_zero(&page[..POINTER_BYTES]) && self.head.commit.serial <= first_serial;
            if !unused && CommitPointer::decode(page, slot, &self.header).is_none()
                || !all_zero(&page[POINTER_BYTES..])
            {
                self.problem(
                    slot,
                    None,
                    "the commit pointer is damaged; the next two commits mend it",
                );
            }
        }
    }

    fn check_log(&mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        let mut offset = LOG_START;
        while offset < self.end {
            let next = match self.frame_at(offset)? {
                Ok(frame) => {
                    self.check_frame(&frame)?;
                    frame.end()
                }
                Err(what) => {
                    self.problem(offset, Some(self.report.frames), what);
                    self.resume_after(offset)?
                }
            };
            assert!(next > offset, "the check goes forward");
            offset = next;
            self.report.bytes = offset.min(self.file_len);
            progress(self.report.bytes, self.file_len);
        }
        Ok(())
    }

    fn read(&self, offset: u64, len: u64) -> Result<Vec<u8>> {
        read_up_to(&*self.storage, offset, len as usize)
            .map_err(Error::unreadable(self.path, offset))
    }

    fn frame_at(&self, offset: u64) -> Result<Result<Frame, &'static str>> {
        let bytes = self.read(offset, FRAME_HEADER_BYTES)?;
        let frame = Frame::decode(&bytes, offset, &self.header);
        Ok(frame.and_then(|f| {
            if f.end() <= self.end { Ok(f) } else { Err("the frame reaches past the end") }
        }))
    }

    /// The next place where a frame header checks out.
    fn resume_after(&self, offset: u64) -> Result<u64> {
        let rest = offset + FRAME_ALIGN..self.end;
        let found = find_frame(&*self.storage, &self.header, rest, |f| f.end() <= self.end);
        Ok(found.map_err(Error::unreadable(self.path, offset))?.unwrap_or(self.end))
    }

    fn check_frame(&mut self, frame: &Frame) -> Result<()> {
        debug_assert!(frame.offset >= self.head.end, "frames are checked in the order of the file");
        let number = self.report.frames;
        self.report.frames += 1;
        let found = if frame.kind == Kind::Segment {
            self.check_segment(frame)?
        } else {
            self.check_payload(frame)?
        };
        let broken = found.is_err();
        if let Err(what) = found {
            if frame.kind == Kind::Segment {
                self.damaged.insert(frame.offset);
            }
            self.problem(
                frame.offset,
                Some(number),
                format!("{} frame: {what}", frame.kind.name()),
            );
        }
        if frame.kind.makes_commit() {
            self.transaction = Open { broken, ..Open::default() };
        } else {
            self.transaction.headers.update(&header_bytes(frame, &self.header));
            self.transaction.frames += 1;
        }
        Ok(())
    }

    fn check_payload(&mut self, frame: &Frame) -> Result<Result<(), String>> {
        let filled = self.read(frame.payload_offset(), aligned(frame.payload_len))?;
        if hash(&filled) != frame.digest {
            return Ok(Err("its hash does not match".to_string()));
        }
        if !all_zero(&filled[frame.payload_len as usize..]) {
            return Ok(Err("its filling is not zero".to_string()));
        }
        let payload = Bytes::from(filled).slice(..frame.payload_len as usize);
        match frame.kind {
            Kind::Records => match Packed::decode(&payload) {
                Ok(records) => self.check_records(frame, &records),
                Err(what) => Ok(Err(what.to_string())),
            },
            Kind::SmallCommit => self.check_small_commit(frame, &payload),
            Kind::Commit => self.check_commit(frame, &payload),
            Kind::History => {
                self.folded = Some(payload);
                Ok(Ok(()))
            }
            Kind::Manifest | Kind::Dictionary | Kind::Segment => Ok(Ok(())),
        }
    }

    fn check_small_commit(&mut self, frame: &Frame, payload: &Bytes) -> Result<Result<(), String>> {
        let records = match SmallCommit::decode(frame, payload) {
            Ok(small) => self.check_records(frame, &small.records)?,
            Err(what) => Err(what.to_string()),
        };
        let commit = self.check_commit(frame, payload)?;
        Ok(records.and(commit))
    }

    fn check_records(&mut self, frame: &Frame, records: &Packed) -> Result<Result<(), String>> {
        if self.snapshot.is_none() {
            // Only for its unpacking: dictionaries come before the records that use them.
            let head = Head { end: self.end, ..Head::empty() };
            let located = crate::log::Located {
                header: self.header,
                head,
                named: false,
                pointed_end: LOG_START,
                file_len: self.file_len,
            };
            self.snapshot = Some(Snapshot::of(self.path, self.storage.clone(), &located)?);
        }
        let snapshot = self.snapshot.clone().expect("made above");
        let block = match snapshot.decode_block(frame.offset, records) {
            Ok(block) => block,
            Err(Error::Corrupt { what, .. }) => return Ok(Err(what)),
            Err(error) => return Err(error),
        };
        let expected = self.head.commit.next_sequence + self.transaction.hashes.len() as u64;
        if block.first_sequence != expected && !self.transaction.broken {
            return Ok(Err(format!(
                "it begins with record {}, not {expected}",
                block.first_sequence
            )));
        }
        self.transaction.hashes.extend(block.records().map(|r| r.hash()));
        self.report.records += block.len();
        Ok(Ok(()))
    }

    fn check_commit(&mut self, frame: &Frame, payload: &Bytes) -> Result<Result<(), String>> {
        let Ok(commit) = commit_of(frame, payload) else {
            return Ok(Err("its fields contradict each other".to_string()));
        };
        self.pointers.retain(|pointer| {
            (pointer.offset, pointer.end, pointer.digest)
                != (frame.offset, frame.end(), frame.digest)
        });
        let broken = self.transaction.broken;
        let result = if broken { Ok(()) } else { self.check_transaction(&commit) };
        let manifest = self.check_manifest(&commit)?;
        self.head = Head { commit, offset: frame.offset, end: frame.end(), digest: frame.digest };
        Ok(result.and(manifest))
    }

    fn check_transaction(&mut self, commit: &Commit) -> Result<(), String> {
        let open = &self.transaction;
        if !follows(&self.head, commit) {
            return Err("it does not continue the commit before it".to_string());
        }
        if commit.frames_hash != *open.headers.finalize().as_bytes()
            || commit.frame_count != open.frames
        {
            return Err("its frames are not the ones it was made for".to_string());
        }
        if commit.next_sequence - commit.first_sequence != open.hashes.len() as u64 {
            return Err("its records are not as many as it says".to_string());
        }
        let chain = if commit.history_offset != 0 && commit.serial == 1 {
            self.folded_chain(commit)?
        } else {
            self.next_chain(commit)
        };
        if chain == commit.chain {
            Ok(())
        } else {
            Err("the chain does not match its records".to_string())
        }
    }

    fn next_chain(&mut self, commit: &Commit) -> Hash {
        if self.transaction.hashes.is_empty() {
            return self.head.commit.chain;
        }
        self.report.commits += 1;
        chain_of(
            &self.head.commit.chain,
            commit.number,
            commit.time_us,
            commit.first_sequence,
            &self.transaction.hashes,
        )
    }

    /// The chain over all folded commits.
    fn folded_chain(&mut self, commit: &Commit) -> Result<Hash, String> {
        let payload = self.folded.take().ok_or("its history frame is missing")?;
        let spans = folded_spans(commit, &history::decode(&payload)?)?;
        let mut chains = FoldedChains::new(&spans);
        self.transaction.hashes.iter().try_for_each(|hash| chains.record(hash))?;
        self.report.commits += spans.len() as u64;
        Ok(*chains.finish()?.last().expect("a folded history is never empty"))
    }

    fn check_manifest(&mut self, commit: &Commit) -> Result<Result<(), String>> {
        let before = &self.head.commit;
        if commit.manifest_offset == before.manifest_offset {
            return Ok(if commit.indexed == before.indexed {
                Ok(())
            } else {
                Err("its manifest does not reach as far as it says".to_string())
            });
        }
        let Ok(frame) = self.frame_at(commit.manifest_offset)? else {
            return Ok(Err("its manifest is missing".to_string()));
        };
        let payload = self.read(frame.payload_offset(), frame.payload_len)?;
        let manifest = match Manifest::decode(&payload, commit) {
            Ok(manifest) if frame.kind == Kind::Manifest => manifest,
            Ok(_) => return Ok(Err("its manifest is another frame".to_string())),
            Err(what) => return Ok(Err(what.to_string())),
        };
        self.name_derived(&manifest.derived);
        Ok(self.expect_parts(&manifest))
    }

    /// Whether the segments that a manifest names, index and derived, are there, as it says or
    /// damaged.
    fn expect_parts(&self, manifest: &Manifest) -> Result<(), String> {
        let missing = |meta: &&SegmentMeta| {
            let as_named =
                self.segments.get(&meta.frame_offset) == Some(&(meta.digest, meta.head_sum));
            !as_named && !self.damaged.contains(&meta.frame_offset)
        };
        if manifest.segments.iter().any(|segment| missing(&segment)) {
            return Err("its manifest names segments that are not there".to_string());
        }
        match manifest.derived.iter().find(missing) {
            Some(derived) => {
                Err(format!("its manifest names {}, which is not there", derived_name(derived)))
            }
            None => Ok(()),
        }
    }

    /// Only the manifest distinguishes derived segments from index segments: names the damaged ones
    /// among those met so far.
    fn name_derived(&mut self, derived: &[SegmentMeta]) {
        for problem in &mut self.report.problems {
            if let Some(what) = problem.what.strip_prefix("segment frame: ")
                && let Some(derived) =
                    derived.iter().find(|derived| derived.frame_offset == problem.offset)
            {
                problem.what = format!("{}: {what}", derived_name(derived));
            }
        }
    }

    /// Streams a segment: its hash, and the sum of each of its blocks.
    fn check_segment(&mut self, frame: &Frame) -> Result<Result<(), String>> {
        let start = frame.payload_offset();
        let fixed = self.read(start, frame.payload_len.min(FIXED_BYTES as u64))?;
        let layout = match Layout::decode(&fixed, start, frame.payload_len) {
            Ok(layout) => layout,
            Err(what) => return Ok(Err(what.to_string())),
        };
        let head = self.read(start, layout.head_len())?;
        if let Err(what) = decode_sections(&head, &layout, frame.payload_len) {
            return Ok(Err(what.to_string()));
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(&head);
        for first in (0..layout.blocks()).step_by(BLOCKS_AT_ONCE) {
            let blocks = first..layout.blocks().min(first + BLOCKS_AT_ONCE as u64);
            let from = layout.block(blocks.start).start;
            let bytes = self.read(start + from, layout.block(blocks.end - 1).end - from)?;
            hasher.update(&bytes);
            let matches = |&index: &u64| {
                let block = layout.block(index);
                let block = bytes.get((block.start - from) as usize..(block.end - from) as usize);
                block.is_some_and(|bytes| sum(bytes) == layout.sum_of(&head, index))
            };
            if let Some(index) = blocks.clone().find(|index| !matches(index)) {
                return Ok(Err(format!("its block {index} does not match its sum")));
            }
        }
        hasher.update(
            &self
                .read(start + frame.payload_len, aligned(frame.payload_len) - frame.payload_len)?,
        );
        self.segments.insert(frame.offset, (frame.digest, sum(&head)));
        let matches = *hasher.finalize().as_bytes() == frame.digest;
        Ok(if matches { Ok(()) } else { Err("its hash does not match".to_string()) })
    }
}

fn derived_name(derived: &SegmentMeta) -> String {
    format!(
        "derived segment {} of records {} to {}",
        derived.id,
        derived.first_sequence,
        derived.next_sequence - 1
    )
}

#[cfg(test)]
mod tests;
