//! What the capsule holds at one moment. A reader's view: takes no lock, never changes, waits for
//! nobody.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use zstd::bulk::Decompressor;

use crate::create::expect_finished;
use crate::error::{Error, Result};
use crate::format::commit::Commit;
use crate::format::frame::{FRAME_HEADER_BYTES, Frame, Kind};
use crate::format::header::Header;
use crate::format::manifest::Manifest;
use crate::format::records::{Block, Coding, Packed, RecordsHead, Stored};
use crate::format::segment::{
    PLACE_BYTES, RECORD_DIRECTORY, RecordsPlace, Tag, decode_place, find_place, head_len_about,
};
use crate::format::small_commit::records_of;
use crate::format::{
    DICTIONARY_BYTES_MAX, Hash, LOG_START, SegmentMeta, TAIL_PLAIN_BYTES_MAX, aligned, hash,
};
use crate::log::{Head, Located, corrupt, locate};
use crate::map;
use crate::recent::RecentBlocks;
use crate::section::{Payload, Section};
use crate::seeded::{Seeded, holds};
use crate::storage::{FileSystem, Storage, Volume, read_up_to};

/// Bytes read at once for a frame of unknown length: enough for a packed block of records.
const FRAME_GUESS_BYTES: usize = 8 << 10;

/// Facts about a capsule's newest commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitInfo {
    /// How many commits with records the history has.
    pub number: u64,
    /// When it was made, microseconds since the Unix epoch; 0 before the first.
    pub time_us: i64,
    /// Sequence after the newest record; records count from 1.
    pub next_sequence: u64,
    /// Hash that names the whole history up to here.
    pub chain: Hash,
}

impl From<&Commit> for CommitInfo {
    fn from(commit: &Commit) -> CommitInfo {
        let Commit { number, time_us, next_sequence, chain, .. } = *commit;
        CommitInfo { number, time_us, next_sequence, chain }
    }
}

/// Facts about a capsule file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileInfo {
    /// Random id, kept for the capsule's life.
    pub capsule_id: [u8; 16],
    /// Version of its format.
    pub format_version: u32,
    /// When it was created, microseconds since the Unix epoch.
    pub created_us: i64,
    /// How often it was compacted, plus one.
    pub generation: u64,
    /// Bytes of the file up to the newest commit.
    pub committed_bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
}

/// A consistent view of a capsule. Cheap to clone.
#[derive(Clone)]
pub struct Snapshot {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    path: PathBuf,
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) header: Header,
    head: Head,
    pointed_end: u64,
    file_len: u64,
    manifest: Manifest,
    /// Of the index segments, then of the derived ones.
    payloads: Vec<OnceLock<Arc<Payload>>>,
    /// Whether a mapped segment, index or derived, is on the disk and not in memory: asked once,
    /// by its first pages.
    on_disk: Vec<OnceLock<bool>>,
    map: OnceLock<Option<Bytes>>,
    tail: OnceLock<ReadTail>,
    /// The chains of the commits that compaction folded away.
    folded_chains: OnceLock<Vec<Hash>>,
    unpackers: Mutex<HashMap<u64, Decompressor<'static>>>,
    recent: RecentBlocks,
}

/// The records that no segment covers, and what is attached to them.
struct ReadTail {
    blocks: Vec<Arc<Block>>,
    attachments: Vec<Attachment>,
}

/// What a transaction attached to its records: data derived from them, in force until a segment
/// covers them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// First record of the transaction.
    pub first_sequence: u64,
    /// Sequence after its last record.
    pub next_sequence: u64,
    /// What was attached.
    pub bytes: Bytes,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("path", &self.inner.path)
            .field("head", &self.inner.head.commit.serial)
            .finish()
    }
}

/// One record of a snapshot.
#[derive(Clone, Debug)]
pub struct StoredRecord {
    block: Arc<Block>,
    index: usize,
}

impl StoredRecord {
    /// Its body or what erasure left of it.
    #[must_use]
    pub fn stored(&self) -> Stored<'_> {
        self.block.get(self.index).expect("made for an index of the block")
    }

    /// Its sequence.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.block.first_sequence + self.index as u64
    }
}

impl Snapshot {
    /// Opens the capsule at `path` for reading.
    ///
    /// # Errors
    /// `NotFound`, `NotACapsule`, `VersionMismatch`, `Truncated`, `Corrupt`, or what the system
    /// says.
    pub fn open(path: &Path) -> Result<Snapshot> {
        expect_finished(path)?;
        Snapshot::open_in(&FileSystem, path)
    }

    /// Opens the capsule at `path` of `volume` for reading.
    ///
    /// # Errors
    /// As [`Snapshot::open`].
    pub fn open_in(volume: &dyn Volume, path: &Path) -> Result<Snapshot> {
        let storage = open_storage(volume, path, false)?;
        let located = locate(&*storage, path)?;
        Snapshot::of(path, storage, &located)
    }

    pub(crate) fn of(
        path: &Path,
        storage: Arc<dyn Storage>,
        located: &Located,
    ) -> Result<Snapshot> {
        assert!(located.head.end <= located.file_len, "a view ends in the file");
        let mut inner = Inner {
            path: path.to_path_buf(),
            storage,
            header: located.header,
            head: located.head,
            pointed_end: located.pointed_end,
            file_len: located.file_len,
            manifest: Manifest::default(),
            payloads: Vec::new(),
            on_disk: Vec::new(),
            map: OnceLock::new(),
            tail: OnceLock::new(),
            folded_chains: OnceLock::new(),
            unpackers: Mutex::default(),
            recent: RecentBlocks::default(),
        };
        inner.manifest = inner.read_manifest()?;
        let count = inner.manifest.segments.len() + inner.manifest.derived.len();
        inner.payloads.resize_with(count, OnceLock::new);
        inner.on_disk.resize_with(count, OnceLock::new);
        Ok(Snapshot { inner: Arc::new(inner) })
    }

    /// Whether both are one snapshot, so that what was read through one is known to the other. A
    /// commit without records, such as one of derived segments, makes another snapshot with the
    /// same [`CommitInfo`].
    #[must_use]
    pub fn is_same(&self, other: &Snapshot) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Whether this is the view of a file that ends with its newest commit, as found there.
    pub(crate) fn is_of(&self, located: &Located) -> bool {
        let Inner { header, head, pointed_end, file_len, .. } = &*self.inner;
        (header, head, *pointed_end, *file_len)
            == (&located.header, &located.head, located.pointed_end, located.head.end)
    }

    /// The capsule as it is now: this snapshot itself, with all that it has read and checked, when
    /// nothing was committed since; else a new one. It looks at the file's ends only.
    ///
    /// # Errors
    /// As [`Snapshot::open`].
    pub fn renewed(&self) -> Result<Snapshot> {
        let storage = open_storage(&FileSystem, &self.inner.path, false)?;
        let located = locate(&*storage, &self.inner.path)?;
        if (&located.header, &located.head) == (&self.inner.header, &self.inner.head) {
            Ok(self.clone())
        } else {
            Snapshot::of(&self.inner.path, storage, &located)
        }
    }

    /// The payload of each segment, index and derived, its head checked.
    pub(crate) fn payloads(&self) -> impl Iterator<Item = Result<&Payload>> {
        (0..self.inner.payloads.len()).map(|index| Ok(&**self.inner.segment(index)?))
    }

    /// Path it was opened by.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The newest commit.
    #[must_use]
    pub fn commit(&self) -> CommitInfo {
        CommitInfo::from(&self.inner.head.commit)
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> FileInfo {
        let header = &self.inner.header;
        FileInfo {
            capsule_id: header.capsule_id,
            format_version: header.version,
            created_us: header.created_us,
            generation: header.generation,
            committed_bytes: self.inner.head.end,
            file_bytes: self.inner.file_len.max(self.inner.head.end),
        }
    }

    /// The index segments in force, ascending, without gaps from sequence 1 to
    /// the start of [`Snapshot::tail`].
    #[must_use]
    pub fn segments(&self) -> &[SegmentMeta] {
        &self.inner.manifest.segments
    }

    /// The derived segments in force, oldest first: over any ranges of records up to the newest.
    #[must_use]
    pub fn derived(&self) -> &[SegmentMeta] {
        &self.inner.manifest.derived
    }

    /// Sequences of the tail: the records that no segment covers.
    #[must_use]
    pub fn tail(&self) -> Range<u64> {
        self.inner.head.commit.indexed..self.commit().next_sequence
    }

    /// Bytes of record bodies in the tail.
    #[must_use]
    pub fn tail_bytes(&self) -> u64 {
        self.inner.head.commit.tail_bytes
    }

    /// What is attached to records of the tail, in their order.
    ///
    /// # Errors
    /// `Corrupt` when the tail does not check out; what the system says.
    pub fn attachments(&self) -> Result<&[Attachment]> {
        Ok(&self.inner.tail()?.attachments)
    }

    /// A section of the segment at `index` of [`Snapshot::segments`], without copying where the
    /// file can be mapped. Only the segment's head is checked; the section checks its parts
    /// when asked.
    ///
    /// # Errors
    /// `Corrupt` when the head's checksum fails; what the system says.
    ///
    /// # Panics
    /// When there is no such segment.
    pub fn section(&self, index: usize, tag: Tag) -> Result<Option<Section>> {
        assert!(index < self.segments().len(), "an index of the segments");
        Ok(self.inner.segment(index)?.section(tag))
    }

    /// A section of the derived segment at `index` of [`Snapshot::derived`], as
    /// [`Snapshot::section`] gives those of segments.
    ///
    /// # Errors
    /// As [`Snapshot::section`].
    ///
    /// # Panics
    /// When there is no such derived segment.
    pub fn derived_section(&self, index: usize, tag: Tag) -> Result<Option<Section>> {
        Ok(self.inner.segment(self.segments().len() + index)?.section(tag))
    }

    /// Says that the segment at `index`, and of its sections the first `bytes`, is about to be
    /// read. Only a hint.
    pub fn will_read_segment(&self, index: usize, bytes: u64) {
        self.inner.will_read(index, bytes);
    }

    /// The record with this sequence.
    ///
    /// # Errors
    /// `NoSuchRecord` outside the snapshot, `Corrupt` when its bytes do not check out.
    pub fn record(&self, sequence: u64) -> Result<StoredRecord> {
        let block = self.block_of(sequence)?;
        let index = sequence.checked_sub(block.first_sequence).filter(|&i| i < block.len());
        let index = index.ok_or_else(|| {
            self.inner.corrupt(0, format!("the directory does not lead to record {sequence}"))
        })?;
        let record = StoredRecord { block, index: index as usize };
        debug_assert_eq!(record.sequence(), sequence, "the record that was asked for is given");
        Ok(record)
    }

    /// Every record from `from` on, ascending.
    pub fn records(&self, from: u64) -> impl Iterator<Item = Result<StoredRecord>> + '_ {
        let end = self.commit().next_sequence;
        let mut next = from.max(1);
        let mut current: Option<Arc<Block>> = None;
        std::iter::from_fn(move || {
            if next >= end {
                return None;
            }
            let sequence = next;
            next += 1;
            let here = |b: &Arc<Block>| {
                sequence >= b.first_sequence && sequence - b.first_sequence < b.len()
            };
            let block = match current.take().filter(here) {
                Some(block) => block,
                None => match self.block_of(sequence) {
                    Ok(block) => block,
                    Err(error) => {
                        next = end;
                        return Some(Err(error));
                    }
                },
            };
            let index =
                sequence.checked_sub(block.first_sequence).filter(|&index| index < block.len());
            current = Some(block.clone());
            Some(match index {
                Some(index) => Ok(StoredRecord { block, index: index as usize }),
                None => Err(self
                    .inner
                    .corrupt(0, format!("the directory does not lead to record {sequence}"))),
            })
        })
    }

    fn block_of(&self, sequence: u64) -> Result<Arc<Block>> {
        if sequence == 0 || sequence >= self.commit().next_sequence {
            return Err(Error::NoSuchRecord { sequence });
        }
        if sequence >= self.tail().start {
            let blocks = &self.inner.tail()?.blocks;
            let at = blocks.partition_point(|b| b.first_sequence <= sequence);
            let block = at.checked_sub(1).map(|i| blocks[i].clone());
            return block.ok_or_else(|| {
                self.inner.corrupt(self.inner.head.commit.tail_offset, "the tail misses records")
            });
        }
        self.inner.indexed_block(sequence)
    }

    /// Where the records frames of the range lie; the range is one that segments or the tail cover.
    pub(crate) fn places(&self, range: Range<u64>) -> Result<Vec<RecordsPlace>> {
        let mut places = Vec::new();
        for (index, segment) in self.segments().iter().enumerate() {
            if segment.first_sequence >= range.start && segment.next_sequence <= range.end {
                let directory = self.inner.record_directory(index)?.read_all()?;
                places.extend(directory.chunks_exact(PLACE_BYTES).map(decode_place));
            }
        }
        if range.end > self.tail().start {
            places.extend(self.inner.tail_places()?);
        }
        Ok(places)
    }

    pub(crate) fn head(&self) -> &Head {
        &self.inner.head
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        &self.inner.manifest
    }

    /// Reads and checks a whole frame of one of these kinds.
    pub(crate) fn frame(&self, offset: u64, kinds: &[Kind]) -> Result<(Frame, Bytes)> {
        self.inner.frame(offset, kinds)
    }

    /// Calls `each` for every records frame in a range of the file, unpacked; none is kept.
    pub(crate) fn each_block(
        &self,
        range: Range<u64>,
        each: &mut dyn FnMut(u64, &Block) -> Result<()>,
    ) -> Result<()> {
        self.inner.walk_records(range, &mut |offset, records, _| {
            each(offset, &self.inner.decode_block(offset, &records)?)
        })
    }

    /// Where the chains of the folded commits are kept once they are known.
    pub(crate) fn folded_chains(&self) -> &OnceLock<Vec<Hash>> {
        &self.inner.folded_chains
    }

    /// Unpacks and checks the records of the frame at `offset`.
    pub(crate) fn decode_block(&self, offset: u64, records: &Packed) -> Result<Block> {
        self.inner.decode_block(offset, records)
    }
}

/// Has a snapshot take over what an earlier one has read and checked of segments that are still in
/// force. False, and nothing is taken over, when its history does not begin with the earlier one.
/// If it does, every record of the earlier one is a record of this one: a file is only added to,
/// and one that is written anew counts as another.
///
/// # Errors
/// What the system says.
pub fn adopt(now: &Snapshot, earlier: &Snapshot) -> Result<bool> {
    let (now, earlier) = (&*now.inner, &*earlier.inner);
    let Manifest { segments, derived } = &now.manifest;
    assert_eq!(now.payloads.len(), segments.len() + derived.len(), "a payload for each segment");
    if !continues(now, earlier)? {
        return Ok(false);
    }
    let known: HashMap<u64, usize> =
        (0..earlier.payloads.len()).map(|at| (earlier.meta(at).id, at)).collect();
    for (at, cell) in now.payloads.iter().enumerate() {
        let same =
            known.get(&now.meta(at).id).filter(|&&known| earlier.meta(known) == now.meta(at));
        if let Some(payload) = same.and_then(|&known| earlier.payloads[known].get()) {
            // One that was read in the meantime is as good.
            let _already_read = cell.set(Arc::clone(payload));
        }
    }
    Ok(true)
}

/// Whether the newest commit of an earlier snapshot is in this one's file where it was then.
fn continues(now: &Inner, earlier: &Inner) -> Result<bool> {
    let then = &earlier.head;
    if now.header != earlier.header || then.offset == 0 || then.end > now.head.end {
        return Ok(false);
    }
    let bytes = now.read(then.offset, FRAME_HEADER_BYTES as usize)?;
    let frame = Frame::decode(&bytes, then.offset, &now.header);
    Ok(frame.is_ok_and(|frame| frame.digest == then.digest))
}

/// Whether zstd had no memory for its own tables: of all that it reports this alone says nothing of
/// the bytes.
fn is_no_memory(error: &std::io::Error) -> bool {
    error.to_string().contains("not enough memory")
}

/// Opens a file; the error names what the path is if it is not a file.
pub(crate) fn open_storage(
    volume: &dyn Volume,
    path: &Path,
    write: bool,
) -> Result<Arc<dyn Storage>> {
    volume.open(path, write).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Error::NotFound { path: path.to_path_buf() },
        std::io::ErrorKind::IsADirectory => not_a_file(path, "it is a folder"),
        std::io::ErrorKind::InvalidInput => not_a_file(path, &e.to_string()),
        _ => Error::io("open", path)(e),
    })
}

fn not_a_file(path: &Path, found: &str) -> Error {
    Error::NotACapsule { path: path.to_path_buf(), found: found.to_string() }
}

/// Takes the offset of a frame with records, the records, and what is attached to them.
type EachRecords<'a> = dyn FnMut(u64, Packed, Bytes) -> Result<()> + 'a;

impl Inner {
    fn corrupt(&self, offset: u64, what: impl Into<String>) -> Error {
        corrupt(&self.path, offset, what)
    }

    fn read_manifest(&self) -> Result<Manifest> {
        let commit = &self.head.commit;
        if commit.manifest_offset == 0 {
            return if commit.indexed == 1 {
                Ok(Manifest::default())
            } else {
                Err(self.corrupt(self.head.offset, "the commit names no manifest"))
            };
        }
        let (_, payload) = self.frame(commit.manifest_offset, &[Kind::Manifest])?;
        let manifest = Manifest::decode(&payload, commit);
        manifest.map_err(|what| self.corrupt(commit.manifest_offset, what))
    }

    /// Reads a frame of one of `kinds` at `offset` and checks every byte of it.
    fn frame(&self, offset: u64, kinds: &[Kind]) -> Result<(Frame, Bytes)> {
        let limit = self.head.end;
        let kind = kinds.first().expect("the caller wants a kind of frame");
        if offset < LOG_START || offset >= limit || !offset.is_multiple_of(8) {
            return Err(self.corrupt(offset, format!("no {} frame can be here", kind.name())));
        }
        let guess = FRAME_GUESS_BYTES.min((limit - offset) as usize);
        let mut bytes = self.read(offset, guess)?;
        let frame = Frame::decode(&bytes, offset, &self.header)
            .map_err(|what| self.corrupt(offset, what))?;
        if !kinds.contains(&frame.kind) || frame.end() > limit {
            return Err(self.corrupt(offset, format!("no whole {} frame is here", kind.name())));
        }
        let total = (frame.end() - offset) as usize;
        if total > bytes.len() {
            let rest = self.read(offset + bytes.len() as u64, total - bytes.len())?;
            bytes.extend_from_slice(&rest);
        }
        bytes.truncate(total);
        let payload = Bytes::from(bytes).slice(FRAME_HEADER_BYTES as usize..);
        if !holds(Seeded::PayloadUnchecked, hash(&payload) == frame.digest) {
            return Err(
                self.corrupt(offset, format!("the {} frame's hash does not match", kind.name()))
            );
        }
        debug_assert!(
            kinds.contains(&frame.kind) && frame.payload_len as usize <= payload.len(),
            "a whole frame is given"
        );
        Ok((frame, payload.slice(..frame.payload_len as usize)))
    }

    fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        let bytes = read_up_to(&*self.storage, offset, len)
            .map_err(Error::unreadable(&self.path, offset))?;
        if bytes.len() == len {
            Ok(bytes)
        } else {
            Err(self.corrupt(offset, "the file ends too early"))
        }
    }

    /// Unpacks a records frame.
    fn block(&self, offset: u64) -> Result<Arc<Block>> {
        if let Some(block) = self.recent.get(offset) {
            return Ok(block);
        }
        let (frame, payload) = self.frame(offset, &[Kind::Records, Kind::SmallCommit])?;
        let records = records_of(&frame, &payload).map_err(|what| self.corrupt(offset, what))?;
        let (records, _) = records.expect("both kinds hold records");
        let block = Arc::new(self.decode_block(offset, &records)?);
        self.recent.add(offset, block.clone());
        Ok(block)
    }

    fn decode_block(&self, offset: u64, records: &Packed) -> Result<Block> {
        let Packed { head, body } = records;
        let plain = match head.coding {
            Coding::Plain => body.clone(),
            Coding::Zstd => self.unpack(head, body, offset)?,
        };
        Block::decode(head, plain).map_err(|what| self.corrupt(offset, what))
    }

    fn unpack(&self, head: &RecordsHead, body: &[u8], offset: u64) -> Result<Bytes> {
        let mut unpackers = self.unpackers.lock().unwrap_or_else(PoisonError::into_inner);
        let unpacker = match unpackers.entry(head.dictionary) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(self.unpacker(head.dictionary)?),
        };
        let no_memory =
            || Error::NoMemory { path: self.path.clone(), offset, bytes: head.plain_len };
        let mut plain = Vec::new();
        plain.try_reserve_exact(head.plain_len as usize).map_err(|_| no_memory())?;
        match unpacker.decompress_to_buffer(body, &mut plain) {
            Ok(_) => Ok(Bytes::from(plain)),
            Err(error) if is_no_memory(&error) => Err(no_memory()),
            Err(_) => Err(self.corrupt(offset, "the records do not unpack")),
        }
    }

    fn unpacker(&self, dictionary: u64) -> Result<Decompressor<'static>> {
        let bytes = self.dictionary(dictionary)?;
        Decompressor::with_dictionary(&bytes)
            .map_err(|_| self.corrupt(dictionary, "the dictionary does not load"))
    }

    fn dictionary(&self, offset: u64) -> Result<Bytes> {
        if offset == 0 {
            return Ok(Bytes::new());
        }
        let (frame, payload) = self.frame(offset, &[Kind::Dictionary])?;
        if frame.payload_len > DICTIONARY_BYTES_MAX as u64 {
            return Err(self.corrupt(offset, "the dictionary breaks its limit"));
        }
        Ok(payload)
    }

    fn indexed_block(&self, sequence: u64) -> Result<Arc<Block>> {
        let at = self.manifest.segments.partition_point(|s| s.next_sequence <= sequence);
        let directory = self.record_directory(at)?;
        let place = |index| {
            Ok(decode_place(directory.read(index * PLACE_BYTES..(index + 1) * PLACE_BYTES)?))
        };
        let found = find_place(directory.len() / PLACE_BYTES, sequence, |index| {
            Ok(place(index)?.first_sequence)
        })?;
        let missing = || format!("the directory does not lead to record {sequence}");
        let index = found.ok_or_else(|| self.corrupt(self.meta(at).frame_offset, missing()))?;
        self.block(place(index)?.frame_offset)
    }

    fn record_directory(&self, index: usize) -> Result<Section> {
        let missing =
            || self.corrupt(self.meta(index).frame_offset, "the segment has no record directory");
        self.segment(index)?.section(RECORD_DIRECTORY).ok_or_else(missing)
    }

    /// A segment by its index, or a derived segment by its own after the segments'.
    fn meta(&self, index: usize) -> &SegmentMeta {
        let Manifest { segments, derived } = &self.manifest;
        segments.get(index).unwrap_or_else(|| &derived[index - segments.len()])
    }

    /// The payload of a segment, index or derived: mapped where that is safe, else read.
    fn segment(&self, index: usize) -> Result<&Arc<Payload>> {
        debug_assert_eq!(
            self.payloads.len(),
            self.on_disk.len(),
            "each segment has both, index and derived"
        );
        let cell = self.payloads.get(index).expect("an index of a segment, index or derived");
        if let Some(ready) = cell.get() {
            return Ok(ready);
        }
        let ready = Arc::new(self.load_segment(index)?);
        Ok(cell.get_or_init(|| ready))
    }

    fn load_segment(&self, index: usize) -> Result<Payload> {
        let meta = self.meta(index);
        let start = meta.frame_offset + FRAME_HEADER_BYTES;
        let (bytes, on_disk) = match self.mapped_payload(index)? {
            Some(map) => (map.clone(), self.read_ahead(index, &map, 0)),
            None => (Bytes::from(self.read(start, meta.payload_len as usize)?), false),
        };
        Payload::open(bytes, start, meta, on_disk.then(|| self.storage.clone()), self.path.clone())
    }

    fn will_read(&self, index: usize, bytes: u64) {
        if self.on_disk[index].get().is_none()
            && let Ok(Some(map)) = self.mapped_payload(index)
        {
            self.read_ahead(index, &map, bytes);
        }
    }

    /// The payload of a segment, if it is one of those that can be mapped.
    fn mapped_payload(&self, index: usize) -> Result<Option<Bytes>> {
        let meta = self.meta(index);
        let start = meta.frame_offset + FRAME_HEADER_BYTES;
        let end = start
            .checked_add(aligned(meta.payload_len))
            .filter(|&end| meta.frame_offset >= LOG_START && end <= self.head.end);
        let end =
            end.ok_or_else(|| self.corrupt(meta.frame_offset, "the segment lies outside the log"))?;
        let map = self.mapped()?.filter(|map| end <= map.len() as u64);
        Ok(map.map(|map| map.slice(start as usize..(start + meta.payload_len) as usize)))
    }

    /// Asks, the first time, for the head and so many bytes of the content of a segment that is
    /// mapped as `payload`, unless they are in memory. Whether they are decides if anything
    /// else of the segment will be asked for: a request costs microseconds even when there is
    /// nothing to do.
    fn read_ahead(&self, index: usize, payload: &[u8], content_bytes: u64) -> bool {
        *self.on_disk[index].get_or_init(|| {
            let meta = self.meta(index);
            let bytes = meta.payload_len.min(head_len_about(meta.payload_len) + content_bytes);
            let absent = !map::is_in_memory(&payload[..bytes as usize]);
            if absent {
                self.storage.will_read(meta.frame_offset + FRAME_HEADER_BYTES, bytes);
            }
            absent
        })
    }

    /// The part of the file that no writer will ever cut, mapped.
    fn mapped(&self) -> Result<Option<&Bytes>> {
        if let Some(map) = self.map.get() {
            return Ok(map.as_ref());
        }
        let len = self.pointed_end.min(self.head.end);
        let map = self.storage.map(len).map_err(Error::io("map", &self.path))?;
        debug_assert!(
            map.as_ref().is_none_or(|map| map.len() as u64 <= len),
            "nothing that may be cut is mapped"
        );
        Ok(self.map.get_or_init(|| map).as_ref())
    }

    fn tail(&self) -> Result<&ReadTail> {
        if let Some(tail) = self.tail.get() {
            return Ok(tail);
        }
        let mut tail = ReadTail { blocks: Vec::new(), attachments: Vec::new() };
        let mut bytes = 0;
        self.walk_tail(&mut |offset, records, attached| {
            let head = &records.head;
            bytes += head.plain_len;
            if bytes > TAIL_PLAIN_BYTES_MAX {
                return Err(self.corrupt(offset, "the records without an index exceed their limit"));
            }
            let (first_sequence, count) = (head.first_sequence, u64::from(head.count));
            if first_sequence + count <= self.head.commit.indexed {
                return Ok(());
            }
            if !attached.is_empty() {
                let next_sequence = first_sequence + count;
                tail.attachments.push(Attachment {
                    first_sequence,
                    next_sequence,
                    bytes: attached,
                });
            }
            tail.blocks.push(Arc::new(self.decode_block(offset, &records)?));
            Ok(())
        })?;
        Ok(self.tail.get_or_init(|| tail))
    }

    fn tail_places(&self) -> Result<Vec<RecordsPlace>> {
        let mut places = Vec::new();
        self.walk_tail(&mut |frame_offset, records, _| {
            let head = &records.head;
            if head.first_sequence + u64::from(head.count) > self.head.commit.indexed {
                places.push(RecordsPlace { first_sequence: head.first_sequence, frame_offset });
            }
            Ok(())
        })?;
        Ok(places)
    }

    /// Calls `each` for every frame with records from the tail's offset to the end.
    fn walk_tail(&self, each: &mut EachRecords<'_>) -> Result<()> {
        let offset = self.head.commit.tail_offset;
        if offset < LOG_START || offset > self.head.end {
            return Err(
                self.corrupt(self.head.offset, "the commit's tail offset is outside the log")
            );
        }
        self.walk_records(offset..self.head.end, each)
    }

    /// Calls `each` for every frame with records in a range of the file that ends with a frame.
    fn walk_records(&self, range: Range<u64>, each: &mut EachRecords<'_>) -> Result<()> {
        // One read serves a whole tail: it is bounded, and frames that are not records are skipped
        // by their length.
        let window = self.read_window(&range)?;
        let mut offset = range.start;
        while offset < range.end {
            let frame = self.frame_header(offset, &window)?;
            if frame.end() > range.end {
                return Err(self.corrupt(offset, "a frame reaches past the commit it was made for"));
            }
            if matches!(frame.kind, Kind::Records | Kind::SmallCommit) {
                let payload = self.frame_in(&frame, &window)?;
                let records =
                    records_of(&frame, &payload).map_err(|what| self.corrupt(offset, what))?;
                let (records, attachment) = records.expect("both kinds hold records");
                each(offset, records, attachment)?;
            }
            offset = frame.end();
        }
        Ok(())
    }

    fn read_window(&self, range: &Range<u64>) -> Result<(u64, Bytes)> {
        const WINDOW_BYTES: u64 = 1 << 20;
        assert!(LOG_START <= range.start && range.start <= range.end, "the log is read forward");
        let len = (range.end - range.start).min(WINDOW_BYTES) as usize;
        Ok((range.start, Bytes::from(self.read(range.start, len)?)))
    }

    fn frame_header(&self, offset: u64, (start, window): &(u64, Bytes)) -> Result<Frame> {
        debug_assert!(offset >= *start, "a walk goes forward from its window");
        let at = (offset - start) as usize;
        let decoded = match window.get(at..at + FRAME_HEADER_BYTES as usize) {
            Some(bytes) => Frame::decode(bytes, offset, &self.header),
            None => Frame::decode(
                &self.read(offset, FRAME_HEADER_BYTES as usize)?,
                offset,
                &self.header,
            ),
        };
        decoded.map_err(|what| self.corrupt(offset, what))
    }

    fn frame_in(&self, frame: &Frame, (start, window): &(u64, Bytes)) -> Result<Bytes> {
        let at = (frame.payload_offset() - start) as usize;
        let filled = aligned(frame.payload_len) as usize;
        if at + filled > window.len() {
            return Ok(self.frame(frame.offset, &[frame.kind])?.1);
        }
        let payload = window.slice(at..at + filled);
        if !holds(Seeded::PayloadUnchecked, hash(&payload) == frame.digest) {
            return Err(self.corrupt(frame.offset, "the records frame's hash does not match"));
        }
        Ok(payload.slice(..frame.payload_len as usize))
    }
}

#[cfg(test)]
mod tests;
