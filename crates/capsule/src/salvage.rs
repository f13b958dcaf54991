//! Reads what is left of a damaged capsule: every records frame that checks out, wherever the
//! damage lies.
//!
//! Frames are found by their lengths and, after damage, by the next header that checks out: its
//! sum, seeded with the capsule's id, and its own offset keep record text from being taken for one.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use crate::check::{PROBLEMS_MAX, Problem};
use crate::error::{Error, Result};
use crate::format::commit_pointer::{CommitPointer, SLOTS};
use crate::format::frame::{FRAME_HEADER_BYTES, Frame, Kind};
use crate::format::header::{HEADER_BYTES, Header};
use crate::format::records::{Block, Stored};
use crate::format::small_commit::{commit_of, records_of};
use crate::format::{FRAME_ALIGN, LOG_START, aligned, hash, history};
use crate::lenient::{Lenient, PAGE_BYTES};
use crate::log::{Head, Located, corrupt, find_frame, read_header};
use crate::snapshot::{Snapshot, open_storage};
use crate::storage::{Storage, Volume, read_up_to};

/// Records that a byte of a capsule can hold at most: packed ones of no content take an eighth of a
/// byte each. A sequence beyond what the file's length allows was never given.
const RECORDS_PER_BYTE_MAX: u64 = 16;

/// A readable records frame.
#[derive(Clone, Copy, Debug)]
struct FoundFrame {
    first_sequence: u64,
    count: u64,
    serial: u64,
    frame_offset: u64,
}

/// What salvage meets, in the order of sequences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Salvaged<'a> {
    /// A record that checks out.
    Record {
        /// Its sequence.
        sequence: u64,
        /// Its body, or what erasure left of it.
        stored: Stored<'a>,
    },
    /// Records that are gone.
    Lost(Range<u64>),
    /// The records so far, since the previous commit, were one.
    Commit {
        /// When it was made, microseconds since the Unix epoch.
        time_us: i64,
    },
}

/// The readable parts of a capsule, damaged or not.
#[derive(Debug)]
pub struct Salvage {
    path: PathBuf,
    snapshot: Snapshot,
    places: Vec<FoundFrame>,
    /// Sequence after the last record and time of each commit, ascending.
    commits: Vec<(u64, i64)>,
    problems: Vec<Problem>,
    unfinished: u64,
    misses_newest: bool,
}

impl Salvage {
    /// Looks through the file at `path` of `volume`. `progress` is told the bytes seen and the
    /// file's length.
    ///
    /// # Errors
    /// `NotFound`, `NotACapsule`, `VersionMismatch`; `Corrupt` when nothing tells whose capsule it
    /// was; what the system says.
    pub fn open_in(
        volume: &dyn Volume,
        path: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Salvage> {
        let file = Lenient::over(open_storage(volume, path, false)?);
        let storage: Arc<dyn Storage> = file.clone();
        let prefix =
            read_up_to(&*storage, 0, LOG_START as usize).map_err(Error::unreadable(path, 0))?;
        let mut problems = Vec::new();
        let header = match read_header(&prefix, path) {
            Ok(header) => header,
            Err(error) => {
                let header = header_of(&*storage, &prefix).ok_or(error)?;
                problems.push(Problem {
                    offset: 0,
                    frame: None,
                    what: "the header is damaged".to_string(),
                });
                header
            }
        };
        let file_len = storage.len().map_err(Error::io("read the length of", path))?;
        let head = Head { end: file_len, ..Head::empty() };
        let located = Located { header, head, named: false, pointed_end: LOG_START, file_len };
        let snapshot = Snapshot::of(path, Arc::clone(&storage), &located)?;
        let pointed = SLOTS
            .iter()
            .filter_map(|&slot| CommitPointer::decode(prefix.get(slot as usize..)?, slot, &header));
        let pointed = pointed.map(|pointer| pointer.serial).max().unwrap_or(0);
        let mut scan = Scan {
            storage,
            path,
            header,
            file_len,
            pointed,
            newest: 0,
            places: Vec::new(),
            commits: Vec::new(),
            problems,
        };
        scan.run(progress)?;
        for page in file.unreadable() {
            scan.problem(page, &format!("the disk does not give back {PAGE_BYTES} bytes"));
        }
        Ok(scan.finish(snapshot))
    }

    /// What is damaged, in file order, up to [`PROBLEMS_MAX`] of them; then that the newest commit
    /// is gone, if so.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Records of a transaction that was never acknowledged; they are left out.
    #[must_use]
    pub fn unfinished(&self) -> u64 {
        self.unfinished
    }

    /// Whether a commit pointer names a newer commit than any that was found: nobody knows how many
    /// records are gone with it.
    #[must_use]
    pub fn misses_newest(&self) -> bool {
        self.misses_newest
    }

    /// Calls `visit` for everything there is, in the order of sequences.
    ///
    /// # Errors
    /// What `visit` returns, and what the system says.
    pub fn each<E: From<Error>>(
        &self,
        visit: &mut dyn FnMut(Salvaged<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut next = 1;
        let mut commits = self.commits.iter().peekable();
        for place in &self.places {
            if place.first_sequence < next {
                continue;
            }
            let Ok(block) = self.block(place.frame_offset) else { continue };
            lose(&mut next, place.first_sequence, &mut commits, visit)?;
            for (sequence, stored) in (block.first_sequence..).zip(block.records()) {
                debug_assert!(
                    sequence >= next,
                    "records are reported in the order of their sequences"
                );
                visit(Salvaged::Record { sequence, stored })?;
                next = sequence + 1;
                end_commits(next, &mut commits, visit)?;
            }
        }
        let last = self.commits.last().map_or(next, |commit| commit.0.max(next));
        lose(&mut next, last, &mut commits, visit)
    }

    fn block(&self, offset: u64) -> Result<Block> {
        let (frame, payload) = self.snapshot.frame(offset, &[Kind::Records, Kind::SmallCommit])?;
        let records =
            records_of(&frame, &payload).map_err(|what| corrupt(&self.path, offset, what))?;
        let (records, _) = records.expect("both kinds hold records");
        self.snapshot.decode_block(offset, &records)
    }

    /// Path it was opened by.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

type Commits<'a> = std::iter::Peekable<std::slice::Iter<'a, (u64, i64)>>;

/// Reports the sequences from `next` up to `until` as lost, commit by commit.
fn lose<E>(
    next: &mut u64,
    until: u64,
    commits: &mut Commits<'_>,
    visit: &mut dyn FnMut(Salvaged<'_>) -> Result<(), E>,
) -> Result<(), E> {
    while *next < until {
        let end = commits.peek().map_or(until, |commit| commit.0.clamp(*next + 1, until));
        assert!(*next < end && end <= until, "salvage goes forward, and reports nothing twice");
        visit(Salvaged::Lost(*next..end))?;
        *next = end;
        end_commits(end, commits, visit)?;
    }
    Ok(())
}

/// Reports the commits that end before the record `next`.
fn end_commits<E>(
    next: u64,
    commits: &mut Commits<'_>,
    visit: &mut dyn FnMut(Salvaged<'_>) -> Result<(), E>,
) -> Result<(), E> {
    while let Some((_, time_us)) = commits.next_if(|commit| commit.0 <= next) {
        visit(Salvaged::Commit { time_us: *time_us })?;
    }
    Ok(())
}

/// The header of a capsule whose own does not check out: as a commit pointer gives it, or as it
/// stands if the first frame agrees. None when this is no capsule of ours, or one of a newer
/// format.
fn header_of(storage: &dyn Storage, prefix: &[u8]) -> Option<Header> {
    let page = prefix.get(..HEADER_BYTES)?;
    if Header::decode(page).is_ok() {
        return None;
    }
    let mut pointers =
        SLOTS.iter().filter_map(|&slot| CommitPointer::owner(prefix.get(slot as usize..)?));
    pointers.next().or_else(|| {
        let header = Header::decode_unchecked(page);
        let frame = read_up_to(storage, LOG_START, FRAME_HEADER_BYTES as usize).ok()?;
        Frame::decode(&frame, LOG_START, &header).ok().map(|_| header)
    })
}

/// The first pass: finds where everything is.
struct Scan<'a> {
    storage: Arc<dyn Storage>,
    path: &'a Path,
    header: Header,
    file_len: u64,
    /// Highest serial that a commit pointer names.
    pointed: u64,
    /// Highest serial of a commit that was found.
    newest: u64,
    places: Vec<FoundFrame>,
    commits: Vec<(u64, i64)>,
    problems: Vec<Problem>,
}

impl Scan<'_> {
    fn run(&mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        let mut offset = LOG_START;
        let mut folded = Vec::new();
        while offset < self.file_len {
            let next = match self.frame_at(offset)? {
                Some(frame) => {
                    self.note(&frame, &mut folded)?;
                    frame.end()
                }
                None => {
                    self.problem(offset, "no frame can be read here");
                    self.resume_after(offset)?
                }
            };
            assert!(next > offset, "the scan goes forward");
            offset = next.min(self.file_len);
            progress(offset, self.file_len);
        }
        Ok(())
    }

    fn read(&self, offset: u64, len: u64) -> Result<Vec<u8>> {
        read_up_to(&*self.storage, offset, len as usize)
            .map_err(Error::unreadable(self.path, offset))
    }

    fn problem(&mut self, offset: u64, what: &str) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(Problem { offset, frame: None, what: what.to_string() });
        }
    }

    /// The frame header at `offset`, if it checks out and its payload lies within the file.
    fn frame_at(&self, offset: u64) -> Result<Option<Frame>> {
        let bytes = self.read(offset, FRAME_HEADER_BYTES)?;
        // Why it does not check out is `verify`'s to say: salvage looks for the next one that does.
        let Ok(frame) = Frame::decode(&bytes, offset, &self.header) else { return Ok(None) };
        Ok(Some(frame).filter(|frame| frame.end() <= self.file_len))
    }

    fn resume_after(&self, offset: u64) -> Result<u64> {
        let rest = offset + FRAME_ALIGN..self.file_len;
        let found = find_frame(&*self.storage, &self.header, rest, |f| f.end() <= self.file_len);
        Ok(found.map_err(Error::unreadable(self.path, offset))?.unwrap_or(self.file_len))
    }

    /// Notes what a frame is good for. Segments are not read: they are built anew.
    fn note(&mut self, frame: &Frame, folded: &mut Vec<history::PastCommit>) -> Result<()> {
        if matches!(frame.kind, Kind::Segment | Kind::Manifest) {
            return Ok(());
        }
        let payload = self.read(frame.payload_offset(), aligned(frame.payload_len))?;
        if hash(&payload) != frame.digest {
            self.problem(
                frame.offset,
                &format!("the {} frame's hash does not match", frame.kind.name()),
            );
            return Ok(());
        }
        let payload = Bytes::from(payload).slice(..frame.payload_len as usize);
        match frame.kind {
            Kind::Records => self.note_records(frame, &payload),
            Kind::History => *folded = history::decode(&payload).unwrap_or_default(),
            Kind::Commit => self.note_commit(frame, &payload, std::mem::take(folded)),
            Kind::SmallCommit => {
                self.note_records(frame, &payload);
                self.note_commit(frame, &payload, Vec::new());
            }
            _ => {}
        }
        Ok(())
    }

    fn note_records(&mut self, frame: &Frame, payload: &Bytes) {
        match records_of(frame, payload) {
            Ok(records) => self.places.extend(records.map(|(records, _)| FoundFrame {
                first_sequence: records.head.first_sequence,
                count: u64::from(records.head.count),
                serial: frame.serial,
                frame_offset: frame.offset,
            })),
            Err(what) => self.problem(frame.offset, what),
        }
    }

    fn note_commit(&mut self, frame: &Frame, payload: &Bytes, folded: Vec<history::PastCommit>) {
        // What its fields should have been is lost with it; the records have their own frames.
        let Ok(commit) = commit_of(frame, payload) else { return };
        self.newest = self.newest.max(commit.serial);
        if commit.serial == 1 && commit.history_offset != 0 {
            let mut next = 1u64;
            for past in folded {
                next = next.saturating_add(past.records);
                self.commits.push((next, past.time_us));
            }
        }
        if commit.next_sequence > commit.first_sequence {
            self.commits.push((commit.next_sequence, commit.time_us));
        }
    }

    fn finish(mut self, snapshot: Snapshot) -> Salvage {
        let made_until = self.newest.max(self.pointed);
        let made = |place: &FoundFrame| place.serial <= made_until;
        let unfinished =
            self.places.iter().filter(|place| !made(place)).map(|place| place.count).sum();
        let limit = self.file_len.saturating_mul(RECORDS_PER_BYTE_MAX);
        self.places.retain(|place| {
            place.serial <= made_until && place.first_sequence.saturating_add(place.count) <= limit
        });
        self.places.sort_by_key(|place| place.first_sequence);
        self.commits.retain(|commit| commit.0 <= limit);
        self.commits.sort_unstable();
        self.commits.dedup_by_key(|commit| commit.0);
        let misses_newest = self.pointed > self.newest;
        let Scan { path, places, commits, mut problems, file_len, .. } = self;
        if misses_newest {
            let what = "the newest commit is gone, and perhaps records with it".to_string();
            problems.push(Problem { offset: file_len, frame: None, what });
        }
        Salvage {
            path: path.to_path_buf(),
            snapshot,
            places,
            commits,
            problems,
            unfinished,
            misses_newest,
        }
    }
}

#[cfg(test)]
mod tests;
