//! What is visible? The one place that decides which revision of a URI counts, for a branch, as of a moment.

use std::collections::HashMap;
use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use kapsa_capsule::{Section, Snapshot, Stored, Tag};
use kapsa_index::{Candidate, Checks, Searcher, Segment, SegmentBytes, Sequences, TailDoc};

use crate::access::{self, Classification, ClearanceProfile, Term};
use crate::branch::Made;
use crate::codec::{self, Body, Operation};
use crate::embedding::Block;
use crate::error::{Error, Result};
use crate::keys::{KeyTable, ReplacedTable};
use crate::lanes::{Class, LaneTable};
use crate::levels::{AccessTable, Allowed};
use crate::lines::{BRANCH_DEPTH_MAX, Lines};
use crate::record::{BranchId, Record};
use crate::segments::{ACCESS, CONTESTED_TERM, Indexed, LANES, LEXICAL, REPLACED, Source, URIS};
use crate::uri::Uri;
use crate::write::ALIASES_MAX;

/// Who may know less than this part of all records is shown them by looking for them.
const NARROW_DIVISOR: u64 = 16;
/// Segments whose heads are asked for at once when a URI is looked for in one after the other.
const HEADS_AT_ONCE: usize = 8;
/// What the words of a segment begin with, besides a byte for each record, in bytes.
const LEXICAL_HEAD_BYTES: u64 = 4096;

/// A snapshot with its tables, each read when it is first needed. Knows every record, and nothing of who sees it.
pub(crate) struct Store {
    snapshot: Snapshot,
    keys: Vec<OnceLock<KeyTable>>,
    lanes: Vec<OnceLock<LaneTable>>,
    levels: Vec<OnceLock<Option<AccessTable>>>,
    replaced: OnceLock<Vec<ReplacedTable>>,
    tail: OnceLock<Tail>,
    searcher: OnceLock<Searcher>,
    vectors: OnceLock<Vec<Block>>,
    /// What the branches met so far see.
    lines: Mutex<HashMap<BranchId, Lines>>,
}

/// A branch as of a moment, in a store that other views share.
#[derive(Clone)]
pub(crate) struct View {
    store: Arc<Store>,
    lines: Lines,
    /// Who looks; none for the owner, who sees everything.
    guard: Option<Arc<Guard>>,
    /// Sequences of the memories seen; none when that is all of them.
    memories: OnceLock<Option<Sequences>>,
}

/// A principal who looks: its profile, and the terms of which a record must have one.
#[derive(Debug)]
pub(crate) struct Guard {
    pub(crate) profile: ClearanceProfile,
    /// Sorted.
    terms: Vec<Term>,
    /// What it may know of each segment; none of one that must be read to know.
    allowed: Vec<OnceLock<Option<Allowed>>>,
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").field("snapshot", &self.store.snapshot).field("lines", &self.lines).finish_non_exhaustive()
    }
}

/// A view knows all that its store knows.
impl Deref for View {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

/// The newest revision of a URI that a view sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) sequence: u64,
    /// Revisions that it did not replace.
    pub(crate) beside: Vec<u64>,
}

impl Head {
    /// Every revision that counts.
    pub(crate) fn all(&self) -> impl Iterator<Item = u64> + '_ {
        self.beside.iter().copied().chain([self.sequence])
    }
}

/// The records that no segment covers yet.
#[derive(Debug, Default)]
struct Tail {
    first_sequence: u64,
    /// None where the content was erased.
    bodies: Vec<Option<Body>>,
    /// Revisions of each URI in the tail, ascending, by the URI's hash.
    revisions: HashMap<u64, Vec<u64>>,
    /// Whether all are memories on `main`.
    plain: bool,
}

impl Tail {
    fn body(&self, sequence: u64) -> Option<&Body> {
        let index = sequence.checked_sub(self.first_sequence)?;
        self.bodies.get(usize::try_from(index).ok()?)?.as_ref()
    }

    /// Revisions of `uri` in the tail, newest first, on any branch.
    fn revisions<'a>(&'a self, uri: &'a Uri) -> impl Iterator<Item = &'a Body> {
        let sequences = self.revisions.get(&uri.hash()).map(Vec::as_slice).unwrap_or_default();
        sequences.iter().rev().filter_map(|&s| self.body(s)).filter(move |body| body.record.uri == *uri)
    }

    /// Newest revision of `uri` that `lines` see.
    fn newest(&self, uri: &Uri, lines: &Lines) -> Option<Head> {
        let body = self.revisions(uri).find(|body| lines.hold(body.record.branch, body.record.sequence))?;
        Some(Head { sequence: body.record.sequence, beside: body.record.beside.clone() })
    }

    /// Whether the revision `sequence` of `uri` was replaced, or purged, by one in the tail.
    fn replaces(&self, uri: &Uri, sequence: u64, lines: &Lines) -> bool {
        self.revisions(uri).take_while(|body| body.record.sequence > sequence).any(|body| {
            let record = &body.record;
            let seen = lines.hold(record.branch, record.sequence) && !record.beside.contains(&sequence);
            seen || body.operation == Operation::Purge
        })
    }
}

impl View {
    /// `main`, as it is in the snapshot.
    pub(crate) fn new(snapshot: Snapshot) -> View {
        View::of(Arc::new(Store::new(snapshot)), Lines::main())
    }

    fn of(store: Arc<Store>, lines: Lines) -> View {
        View { store, lines, guard: None, memories: OnceLock::new() }
    }

    /// Another view of the same store.
    pub(crate) fn with(&self, lines: Lines) -> View {
        View { guard: self.guard.clone(), ..View::of(Arc::clone(&self.store), lines) }
    }

    /// The same, as a principal sees it.
    pub(crate) fn guarded(&self, profile: ClearanceProfile) -> View {
        let mut terms = access::terms_for(&profile);
        terms.sort_unstable();
        let guard = Guard { terms, profile, allowed: empty_cells(self.levels.len()) };
        View { guard: Some(Arc::new(guard)), ..View::of(Arc::clone(&self.store), self.lines.clone()) }
    }

    /// Who looks; none for the owner.
    pub(crate) fn guard(&self) -> Option<&Guard> {
        self.guard.as_deref()
    }

    /// Whether a record may be known to who looks.
    pub(crate) fn may_know(&self, record: &Record) -> bool {
        self.guard().is_none_or(|guard| guard.profile.can_access(record))
    }

    /// What of a segment may be known to a principal; none when its records must be read to know.
    fn allowed<'a>(&self, guard: &'a Guard, index: usize) -> Result<Option<&'a Allowed>> {
        let cell = &guard.allowed[index];
        if let Some(allowed) = cell.get() {
            return Ok(allowed.as_ref());
        }
        let allowed = self.levels(index)?.map(|table| table.allowed(&guard.terms)).transpose()?;
        Ok(cell.get_or_init(|| allowed).as_ref())
    }

    /// Whether an indexed record may be known to who looks.
    fn may_know_indexed(&self, sequence: u64) -> Result<bool> {
        let Some(guard) = self.guard() else { return Ok(true) };
        let segments = self.snapshot.segments();
        let Some(index) = segments.partition_point(|meta| meta.first_sequence <= sequence).checked_sub(1) else {
            return Ok(false);
        };
        match (self.allowed(guard, index)?, self.levels(index)?) {
            (Some(allowed), Some(table)) => {
                let group = table.group_of((sequence - segments[index].first_sequence) as usize)?;
                Ok(allowed.groups.get(group).copied().unwrap_or(false))
            }
            _ => Ok(guard.profile.can_access(&self.record(sequence)?)),
        }
    }

    /// The exact terms that narrow a search down to what may be known to who looks, where that is so little that looking for it pays;
    /// none where it is enough to ask of each record that comes up.
    pub(crate) fn narrowing_terms(&self) -> Result<Option<Vec<String>>> {
        let Some(guard) = self.guard() else { return Ok(None) };
        let mut known = 0;
        for index in 0..self.levels.len() {
            match self.allowed(guard, index)? {
                Some(allowed) => known += allowed.records,
                // There may be records without terms.
                None => return Ok(None),
            }
        }
        let all = self.tail()?.first_sequence - 1;
        Ok((known < all / NARROW_DIVISOR).then(|| guard.terms.iter().map(access::exact).collect()))
    }

    /// Whether what the capsule writes about itself, branches and the like, may be known to who looks.
    pub(crate) fn may_know_system(&self) -> bool {
        self.guard().is_none_or(|guard| guard.profile.allows("", Classification::Internal, &[]))
    }

    /// What this view sees.
    pub(crate) fn lines(&self) -> &Lines {
        &self.lines
    }

    /// Newest revision of a URI, tombstones included.
    pub(crate) fn newest(&self, uri: &Uri) -> Result<Option<Head>> {
        if uri.is_reserved() {
            // The capsule's own names are each given once, wherever that was.
            return self.newest_under(uri, &Lines::all().before(self.lines.below()));
        }
        let head = self.newest_under(uri, &self.lines)?;
        match &head {
            // Whoever purges leaves a marker on every branch that wrote the URI, but not on those that only inherit it.
            Some(newest) if self.lines != Lines::main() && self.is_purged(uri, newest.sequence)? => Ok(None),
            _ => Ok(head),
        }
    }

    /// The URI that a URI stands for, and whether a memory is visible under it.
    ///
    /// # Errors
    /// `InvalidOperation` when aliases lead in a circle or too far.
    pub(crate) fn look_up(&self, uri: &Uri) -> Result<(Uri, bool)> {
        let mut uri = uri.clone();
        for _ in 0..=ALIASES_MAX {
            let Some(head) = self.newest(&uri)? else { return Ok((uri, false)) };
            let body = self.body(head.sequence)?;
            match body.record.alias {
                Some(target) => uri = target,
                None => return Ok((uri, body.operation == Operation::Put)),
            }
        }
        let reason = format!("{uri} is an alias that leads in a circle, or over more than {ALIASES_MAX} others");
        Err(Error::InvalidOperation { reason })
    }

    /// The URI that a URI stands for, if a memory is visible under it.
    pub(crate) fn resolve(&self, uri: &Uri) -> Result<Option<Uri>> {
        let (uri, exists) = self.look_up(uri)?;
        Ok(exists.then_some(uri))
    }

    /// The newest visible revision under exactly this URI, an alias included.
    pub(crate) fn visible(&self, uri: &Uri) -> Result<Option<Body>> {
        let Some(head) = self.newest(uri)? else { return Ok(None) };
        Ok(Some(self.body(head.sequence)?).filter(|body| !body.record.tombstone))
    }

    /// What counts under exactly this URI, the newest last: all that contest each other, an alias included; nothing when it is forgotten
    /// or purged.
    pub(crate) fn counting(&self, uri: &Uri) -> Result<Vec<Body>> {
        let Some(head) = self.newest(uri)? else { return Ok(Vec::new()) };
        self.counting_with(&self.body(head.sequence)?)
    }

    /// Every revision of a URI that this view sees, ascending.
    pub(crate) fn revisions(&self, uri: &Uri) -> Result<Vec<u64>> {
        self.revisions_under(uri, &self.lines)
    }

    /// Sequences of the memories that this view sees, replaced ones included; none when that is all of them.
    pub(crate) fn memories(&self) -> Result<Option<&Sequences>> {
        if let Some(known) = self.memories.get() {
            return Ok(known.as_ref());
        }
        let all = self.lines == Lines::main() && self.is_plain()?;
        let memories = if all { None } else { Some(self.sequences(&self.lines, Class::Memory)?) };
        Ok(self.memories.get_or_init(|| memories).as_ref())
    }

    /// Whether a memory that this view sees is a newest revision of its URI, no tombstone, and may be known to who looks.
    pub(crate) fn is_visible(&self, candidate: &Candidate<'_>) -> Result<bool> {
        let sequence = candidate.seq();
        let tail = self.tail()?;
        if sequence >= tail.first_sequence {
            let Some(body) = tail.body(sequence) else { return Ok(false) };
            let counts = body.operation == Operation::Put && !tail.replaces(&body.record.uri, sequence, &self.lines);
            return Ok(counts && self.may_know(&body.record));
        }
        if !self.may_know_indexed(sequence)? || self.is_replaced(sequence)? {
            return Ok(false);
        }
        if tail.revisions.is_empty() || !tail.revisions.contains_key(&candidate.key_hash()?) {
            return Ok(true);
        }
        Ok(!tail.replaces(&self.record(sequence)?.uri, sequence, &self.lines))
    }

    /// Whether a revision that this view sees took the place of the indexed record `sequence`.
    fn is_replaced(&self, sequence: u64) -> Result<bool> {
        let memories = self.memories()?;
        for table in self.replaced()? {
            for new in table.replacements(sequence)? {
                let new = new?;
                if new == sequence || memories.is_none_or(|seen| seen.contains(new)) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Under how many URIs a memory is visible.
    pub(crate) fn uri_count(&self) -> Result<u64> {
        let filter = kapsa_index::Filter {
            all: vec![vec![CONTESTED_TERM.to_string()]],
            seqs: self.memories()?.cloned(),
            ..kapsa_index::Filter::default()
        };
        let mut more = 0;
        for sequence in self.searcher()?.oldest(&filter, usize::MAX >> 8, None, &mut |_| true)? {
            let uri = self.record(sequence)?.uri;
            let Some(head) = self.newest(&uri)?.filter(|head| head.sequence == sequence) else { continue };
            let mut memories = 0;
            for revision in self.revisions(&uri)?.into_iter().filter(|&revision| head.all().any(|counts| counts == revision)) {
                memories += u64::from(self.body(revision)?.operation == Operation::Put);
            }
            more += memories.saturating_sub(1);
        }
        Ok(self.visible_count()?.saturating_sub(more))
    }

    /// How many memories are visible.
    fn visible_count(&self) -> Result<u64> {
        let tail = self.tail()?;
        let memories = self.memories()?;
        let seen = |sequence: u64| memories.is_none_or(|seen| seen.contains(sequence));
        let mut hidden = std::collections::HashSet::new();
        for table in self.replaced()? {
            let pairs = table.pairs()?.filter(|pair| seen(pair.old) && (pair.new == pair.old || seen(pair.new)));
            hidden.extend(pairs.map(|pair| pair.old));
        }
        let mut visible = 0;
        for body in tail.bodies.iter().flatten() {
            let record = &body.record;
            let counts = seen(record.sequence) && body.operation == Operation::Put;
            visible += u64::from(counts && !tail.replaces(&record.uri, record.sequence, &self.lines));
            let purge = body.operation == Operation::Purge;
            if body.fresh || !purge && !seen(record.sequence) {
                continue;
            }
            for sequence in self.revisions_under(&record.uri, &self.lines)? {
                if sequence < tail.first_sequence && seen(sequence) && tail.replaces(&record.uri, sequence, &self.lines) {
                    hidden.insert(sequence);
                }
            }
        }
        let indexed = memories.map_or(tail.first_sequence - 1, |seen| {
            seen.within(0..tail.first_sequence).map(|range| range.end - range.start).sum()
        });
        Ok((indexed + visible).saturating_sub(hidden.len() as u64))
    }
}

impl Store {
    fn new(snapshot: Snapshot) -> Store {
        let count = snapshot.segments().len();
        Store {
            snapshot,
            keys: empty_cells(count),
            lanes: empty_cells(count),
            levels: empty_cells(count),
            replaced: OnceLock::new(),
            tail: OnceLock::new(),
            searcher: OnceLock::new(),
            vectors: OnceLock::new(),
            lines: Mutex::default(),
        }
    }

    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Decodes one revision; an erased one comes back blank.
    pub(crate) fn body(&self, sequence: u64) -> Result<Body> {
        if sequence >= self.snapshot.indexed()
            && let Some(body) = self.tail()?.body(sequence)
        {
            return Ok(body.clone());
        }
        let stored = self.snapshot.record(sequence)?;
        match stored.stored() {
            Stored::Body(bytes) => codec::decode(sequence, bytes),
            Stored::Purged(_) => Ok(erased(sequence)),
        }
    }

    pub(crate) fn record(&self, sequence: u64) -> Result<Record> {
        Ok(self.body(sequence)?.record)
    }

    /// What counts when `newest` is the newest revision: those that it is beside, then itself; nothing when it is a tombstone.
    pub(crate) fn counting_with(&self, newest: &Body) -> Result<Vec<Body>> {
        if newest.record.tombstone {
            return Ok(Vec::new());
        }
        let beside = newest.record.beside.iter().map(|&sequence| self.body(sequence));
        beside.chain([Ok(newest.clone())]).collect()
    }

    /// Newest revision of a URI that `lines` see, tombstones and purged ones included.
    pub(crate) fn newest_under(&self, uri: &Uri, lines: &Lines) -> Result<Option<Head>> {
        if !self.snapshot.tail().is_empty()
            && let Some(head) = self.tail()?.newest(uri, lines)
        {
            return Ok(Some(head));
        }
        self.newest_indexed(uri, lines)
    }

    /// Every revision of a URI that `lines` see, ascending.
    pub(crate) fn revisions_under(&self, uri: &Uri, lines: &Lines) -> Result<Vec<u64>> {
        let mut all = Vec::new();
        for index in 0..self.keys.len() {
            all.extend(self.in_segment(index, uri, lines)?.into_iter().map(|head| head.sequence));
        }
        let tail = self.tail()?.revisions(uri).map(|body| &body.record);
        let mut tail: Vec<u64> = tail.filter(|r| lines.hold(r.branch, r.sequence)).map(|r| r.sequence).collect();
        tail.reverse();
        all.extend(tail);
        Ok(all)
    }

    /// Revisions of a URI in one segment that `lines` see, ascending.
    fn in_segment(&self, index: usize, uri: &Uri, lines: &Lines) -> Result<Vec<Head>> {
        let first = self.snapshot.segments()[index].first_sequence;
        let mut found = Vec::new();
        if first >= lines.below() {
            return Ok(found);
        }
        for place in self.keys(index)?.find(uri.hash())? {
            let sequence = first + u64::from(place);
            if self.lanes(index)?.holds(lines, Class::Both, sequence)? {
                found.extend(self.head_at(sequence, uri)?);
            }
        }
        Ok(found)
    }

    /// The revision `sequence`, if it is one of `uri`.
    fn head_at(&self, sequence: u64, uri: &Uri) -> Result<Option<Head>> {
        let record = self.snapshot.record(sequence)?;
        let Stored::Body(bytes) = record.stored() else { return Ok(None) };
        let brief = codec::brief(bytes).filter(|brief| brief.uri == uri.as_str().as_bytes());
        Ok(brief.map(|brief| Head { sequence, beside: brief.beside }))
    }

    /// Whether the content of a revision is to be erased, on whatever branch that was said.
    pub(crate) fn is_purged(&self, uri: &Uri, sequence: u64) -> Result<bool> {
        match self.body(sequence)?.operation {
            Operation::Put => {}
            Operation::Alias => return self.is_purged_after(uri, sequence),
            Operation::Tombstone | Operation::Purge => return Ok(false),
        }
        let mut in_tail = self.tail()?.revisions(uri).take_while(|body| body.record.sequence > sequence);
        if in_tail.any(|body| body.operation == Operation::Purge) {
            return Ok(true);
        }
        for table in self.replaced()? {
            for new in table.replacements(sequence)? {
                if new? == sequence {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether a purge of the URI came after a sequence. Segments do not tell of an alias whether it was purged: none is ever listed.
    fn is_purged_after(&self, uri: &Uri, sequence: u64) -> Result<bool> {
        for later in self.revisions_under(uri, &Lines::all())?.into_iter().rev().take_while(|&later| later > sequence) {
            if self.body(later)?.operation == Operation::Purge {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Which records of a segment are whose.
    fn lanes(&self, index: usize) -> Result<&LaneTable> {
        let cell = &self.lanes[index];
        if let Some(table) = cell.get() {
            return Ok(table);
        }
        let meta = &self.snapshot.segments()[index];
        let table = LaneTable::new(self.snapshot.section(index, LANES)?, meta.first_sequence..meta.next_sequence)?;
        Ok(cell.get_or_init(|| table))
    }

    /// Who may know the records of a segment; none of one that does not tell.
    fn levels(&self, index: usize) -> Result<Option<&AccessTable>> {
        let cell = &self.levels[index];
        if let Some(table) = cell.get() {
            return Ok(table.as_ref());
        }
        let meta = &self.snapshot.segments()[index];
        let section = self.snapshot.section(index, ACCESS)?;
        let records = meta.next_sequence - meta.first_sequence;
        let table = section.map(|bytes| AccessTable::new(bytes, meta.first_sequence, records)).transpose()?;
        Ok(cell.get_or_init(|| table).as_ref())
    }

    /// Whether there is nothing but memories on `main`.
    fn is_plain(&self) -> Result<bool> {
        for index in 0..self.lanes.len() {
            if !self.lanes(index)?.is_plain() {
                return Ok(false);
            }
        }
        Ok(self.tail()?.plain)
    }

    /// Sequences that `lines` see, replaced ones included.
    pub(crate) fn sequences(&self, lines: &Lines, class: Class) -> Result<Sequences> {
        let mut ranges = Vec::new();
        for index in 0..self.lanes.len() {
            ranges.extend(self.lanes(index)?.sequences(lines, class)?);
        }
        for body in self.tail()?.bodies.iter().flatten() {
            let record = &body.record;
            if class.holds(record.system) && lines.hold(record.branch, record.sequence) {
                ranges.push(record.sequence..record.sequence + 1);
            }
        }
        Ok(Sequences::new(ranges))
    }

    /// What a branch sees. One whose record is lost sees itself only.
    ///
    /// # Errors
    /// Damage; a chain of branches deeper than [`BRANCH_DEPTH_MAX`], which nobody can have made.
    pub(crate) fn lines_of(&self, branch: BranchId) -> Result<Lines> {
        let mut unknown = Vec::new();
        let mut at = branch;
        let mut lines = loop {
            if at == BranchId::MAIN {
                break Lines::main();
            }
            if let Some(known) = self.known_lines(at) {
                break known;
            }
            if unknown.len() > BRANCH_DEPTH_MAX {
                return Err(Error::DamagedRecord { sequence: branch.0, reason: "its branch has too many ancestors" });
            }
            match self.made(at)? {
                Some(made) => {
                    at = made.parent;
                    unknown.push(made);
                }
                None => break Lines::alone(at),
            }
        };
        for made in unknown.into_iter().rev() {
            lines = lines.child(made.id, made.fork);
            self.lines.lock().unwrap_or_else(PoisonError::into_inner).insert(made.id, lines.clone());
        }
        Ok(lines)
    }

    fn known_lines(&self, branch: BranchId) -> Option<Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).get(&branch).cloned()
    }

    /// How a branch was made; none when its record is lost.
    pub(crate) fn made(&self, branch: BranchId) -> Result<Option<Made>> {
        if branch.0 >= self.snapshot.commit().next_sequence {
            return Ok(None);
        }
        Ok(Made::of(&self.record(branch.0)?).filter(|made| made.id == branch))
    }

    fn keys(&self, index: usize) -> Result<&KeyTable> {
        let cell = &self.keys[index];
        if let Some(table) = cell.get() {
            return Ok(table);
        }
        let table = KeyTable::new(self.section(index, URIS)?);
        Ok(cell.get_or_init(|| table))
    }

    /// A section that every segment has.
    fn section(&self, index: usize, tag: Tag) -> Result<Section> {
        let sequence = self.snapshot.segments()[index].first_sequence;
        let missing = Error::DamagedRecord { sequence, reason: "its segment lacks a section" };
        self.snapshot.section(index, tag)?.ok_or(missing)
    }

    fn replaced(&self) -> Result<&[ReplacedTable]> {
        if let Some(tables) = self.replaced.get() {
            return Ok(tables);
        }
        let mut tables = Vec::new();
        for index in 0..self.keys.len() {
            tables.extend(self.snapshot.section(index, REPLACED)?.map(ReplacedTable::new));
        }
        tables.retain(|table| !table.is_empty());
        Ok(self.replaced.get_or_init(|| tables))
    }

    fn tail(&self) -> Result<&Tail> {
        if let Some(tail) = self.tail.get() {
            return Ok(tail);
        }
        let tail = self.load_tail()?;
        Ok(self.tail.get_or_init(|| tail))
    }

    fn load_tail(&self) -> Result<Tail> {
        let range = self.snapshot.tail();
        let mut tail = Tail { first_sequence: range.start, plain: true, ..Tail::default() };
        if range.is_empty() {
            return Ok(tail);
        }
        for stored in self.snapshot.records(range.start) {
            let stored = stored?;
            let body = match stored.stored() {
                Stored::Body(bytes) => Some(codec::decode(stored.sequence(), bytes)?),
                Stored::Purged(_) => None,
            };
            if let Some(body) = &body {
                tail.revisions.entry(body.record.uri.hash()).or_default().push(stored.sequence());
                tail.plain &= !body.record.system && body.record.branch == BranchId::MAIN;
            }
            tail.bodies.push(body);
        }
        Ok(tail)
    }

    /// Bodies of the tail, oldest first; none where the content was erased.
    pub(crate) fn tail_bodies(&self) -> Result<&[Option<Body>]> {
        Ok(&self.tail()?.bodies)
    }

    /// The search over everything in the snapshot.
    pub(crate) fn searcher(&self) -> Result<&Searcher> {
        if let Some(searcher) = self.searcher.get() {
            return Ok(searcher);
        }
        let mut segments = Vec::new();
        self.read_ahead_for_search();
        for (index, meta) in self.snapshot.segments().iter().enumerate() {
            segments.push(Segment { first_seq: meta.first_sequence, bytes: self.lexical(index)? });
        }
        let searcher = Searcher::open(segments, self.tail_documents()?)?;
        Ok(self.searcher.get_or_init(|| searcher))
    }

    /// The vectors in the snapshot, of all models.
    pub(crate) fn vector_blocks(&self) -> Result<&[Block]> {
        if let Some(blocks) = self.vectors.get() {
            return Ok(blocks);
        }
        let blocks = self.read_vector_blocks()?;
        Ok(self.vectors.get_or_init(|| blocks))
    }

    /// What a search reads of every segment in any case, asked for at once: the disk answers many requests sooner than one
    /// after the other.
    fn read_ahead_for_search(&self) {
        for (index, meta) in self.snapshot.segments().iter().enumerate() {
            let records = meta.next_sequence - meta.first_sequence;
            self.snapshot.will_read_segment(index, LEXICAL_HEAD_BYTES + records);
        }
    }

    /// The words of a segment.
    fn lexical(&self, index: usize) -> Result<SegmentBytes> {
        let section = self.section(index, LEXICAL)?;
        let bytes = section.unchecked();
        Ok(SegmentBytes::checked_by(Arc::new(CheckedSection(section)), bytes))
    }

    fn tail_documents(&self) -> Result<Vec<TailDoc>> {
        let tail = self.tail()?;
        let blank = kapsa_index::Document { title: "", text: "", terms: &[], key_hash: 0, time_us: 0 };
        let document = |(offset, body): (usize, &Option<Body>)| {
            let sequence = tail.first_sequence + offset as u64;
            let Some(body) = body else { return TailDoc::new(sequence, &blank) };
            let indexed = Indexed::of_record(&body.record, body.fresh, body.operation == Operation::Purge);
            TailDoc::new(sequence, &indexed.document(&body.record.text, body.record.uri.hash()))
        };
        Ok(tail.bodies.iter().enumerate().map(document).collect())
    }

    /// Newest revision of a URI that a segment covers and `lines` see.
    pub(crate) fn newest_indexed(&self, uri: &Uri, lines: &Lines) -> Result<Option<Head>> {
        for index in (0..self.keys.len()).rev() {
            if (self.keys.len() - 1 - index).is_multiple_of(HEADS_AT_ONCE) {
                (index.saturating_sub(HEADS_AT_ONCE - 1)..=index).for_each(|index| self.snapshot.will_read_segment(index, 0));
            }
            if let Some(head) = self.in_segment(index, uri, lines)?.pop() {
                return Ok(Some(head));
            }
        }
        Ok(None)
    }

    /// What merging the segments `range` reads.
    pub(crate) fn sources(&self, range: Range<usize>) -> Result<Vec<Source>> {
        range
            .map(|index| {
                let meta = &self.snapshot.segments()[index];
                Ok(Source {
                    first_sequence: meta.first_sequence,
                    next_sequence: meta.next_sequence,
                    lexical: self.lexical(index)?,
                    keys: self.keys(index)?.clone(),
                    replaced: self.snapshot.section(index, REPLACED)?.map(ReplacedTable::new),
                    lanes: self.lanes(index)?.clone(),
                    access: self.levels(index)?.cloned(),
                })
            })
            .collect()
    }
}

/// Checks what lies in a section by the capsule's sums.
#[derive(Debug)]
pub(crate) struct CheckedSection(pub(crate) Section);

impl Checks for CheckedSection {
    fn check(&self, range: Range<usize>) -> Result<(), String> {
        self.0.check(range).map_err(|error| error.to_string())
    }

    fn will_read(&self, range: Range<usize>) -> bool {
        self.0.will_read(range)
    }
}

fn empty_cells<T>(count: usize) -> Vec<OnceLock<T>> {
    std::iter::repeat_with(OnceLock::new).take(count).collect()
}

fn erased(sequence: u64) -> Body {
    let mut record = codec::blank(sequence);
    record.purged = true;
    record.tombstone = true;
    Body { operation: Operation::Tombstone, fresh: false, record }
}
