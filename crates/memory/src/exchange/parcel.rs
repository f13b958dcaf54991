//! Records on their way between capsules: what travels, how it is named there, and its bytes.
//!
//! Memories, events and checkpoints travel, branch by branch. What a capsule keeps for itself does
//! not: branches that follow others, remotes, notes, what waits for review, signatures of its
//! commits, clearances, and what was purged.

use std::collections::{HashMap, HashSet};

use kapsa_capsule::{CommitSpan, Stored};
use kapsa_index::Vectors;

use crate::error::{Result, misuse};
use crate::records::access::is_of_profile;
use crate::records::codec::{self, Body};
use crate::records::identity::{IDENTITY_BYTES, Identity};
use crate::records::kinds;
use crate::records::record::BranchId;
use crate::records::uri::Uri;
use crate::versions::ancestry::Ancestry;
use crate::versions::event::{self, EventRequest, EventType};
use crate::versions::join::{Arrival, is_tracking};
use crate::view::{View, branches};
use crate::write::carry::{blocks_of, carry};
use crate::write::writer::Writer;

/// Records of one chunk, at about which it ends; it always ends with a commit.
const CHUNK_RECORDS: usize = 4096;
/// Bytes of one chunk, at about which it ends.
const CHUNK_BYTES: usize = 8 << 20;
/// URIs whose revisions are kept in mind while records are sent.
const ANCESTRIES_MAX: usize = 1024;
/// Most revisions that one record may say it replaces.
const REPLACES_MAX: u64 = 1 << 20;
/// Longest body, name or list in a parcel, in bytes.
const PART_BYTES_MAX: u64 = 1 << 25;

/// A moment in a capsule's history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Number of a commit with records.
    pub commit: u64,
    /// The chain after it.
    pub chain: [u8; 32],
}

/// A record on its way to another capsule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parcel {
    pub(crate) branch: String,
    pub(crate) identity: Identity,
    pub(crate) replaces: Vec<Identity>,
    pub(crate) origin: Option<Identity>,
    /// Its sequence where it comes from.
    pub(crate) sequence: u64,
    /// Its body as it lies there.
    pub(crate) body: Vec<u8>,
}

/// What is asked about a record before it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub(crate) uri: Uri,
    pub(crate) identity: Identity,
}

/// Records of a capsule after a commit, in their order.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    pub(crate) parcels: Vec<Parcel>,
    /// Their vectors, in blocks, by their sequences there.
    pub(crate) vectors: Vec<Vec<u8>>,
    /// How far they go.
    pub(crate) upto: Point,
    /// Whether there is nothing after them.
    pub(crate) is_last: bool,
}

impl Parcel {
    /// What it holds, checked.
    pub(crate) fn arrival(&self) -> Result<Arrival> {
        let body = codec::decode(self.sequence, &self.body)?;
        let (identity, replaces) = (self.identity, self.replaces.clone());
        let arrival = Arrival { identity, replaces, body, origin: self.origin };
        arrival.check()?;
        Ok(arrival)
    }

    pub(crate) fn offer(&self) -> Result<Offer> {
        Ok(Offer { uri: self.arrival()?.body.record.uri, identity: self.identity })
    }

    /// Its bytes: each part after its length, numbers little-endian.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_part(out, self.branch.as_bytes());
        out.extend_from_slice(&self.identity.0);
        out.extend_from_slice(&self.sequence.to_le_bytes());
        out.extend_from_slice(&(self.replaces.len() as u64).to_le_bytes());
        self.replaces.iter().for_each(|one| out.extend_from_slice(&one.0));
        out.push(u8::from(self.origin.is_some()));
        out.extend(self.origin.iter().flat_map(|one| one.0));
        put_part(out, &self.body);
    }

    /// Reads one.
    pub(crate) fn decode(bytes: &mut &[u8]) -> Result<Parcel> {
        let branch = text(take_part(bytes)?)?;
        let identity = take_identity(bytes)?;
        let sequence = take_number(bytes)?;
        let count = take_number(bytes)?;
        if count > REPLACES_MAX {
            return Err(odd());
        }
        let replaces = (0..count).map(|_| take_identity(bytes)).collect::<Result<_>>()?;
        let origin = match take(bytes, 1)?[0] {
            0 => None,
            _ => Some(take_identity(bytes)?),
        };
        let body = take_part(bytes)?.to_vec();
        Ok(Parcel { branch, identity, replaces, origin, sequence, body })
    }
}

impl Offer {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.identity.0);
        put_part(out, self.uri.as_str().as_bytes());
    }

    pub(crate) fn decode(bytes: &mut &[u8]) -> Result<Offer> {
        let identity = take_identity(bytes)?;
        Ok(Offer { uri: Uri::parse(&text(take_part(bytes)?)?)?, identity })
    }
}

fn odd() -> crate::error::Error {
    misuse("the other capsule sent what no capsule would send")
}

pub(crate) fn put_part(out: &mut Vec<u8>, part: &[u8]) {
    out.extend_from_slice(&(part.len() as u64).to_le_bytes());
    out.extend_from_slice(part);
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count).ok_or_else(odd)?;
    *bytes = rest;
    Ok(taken)
}

pub(crate) fn take_number(bytes: &mut &[u8]) -> Result<u64> {
    Ok(u64::from_le_bytes(take(bytes, 8)?.try_into().expect("eight bytes")))
}

pub(crate) fn take_part<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = take_number(bytes)?;
    if length > PART_BYTES_MAX {
        return Err(odd());
    }
    take(bytes, length as usize)
}

fn take_identity(bytes: &mut &[u8]) -> Result<Identity> {
    Ok(Identity(take(bytes, IDENTITY_BYTES)?.try_into().expect("as many bytes")))
}

pub(crate) fn take_chain(bytes: &mut &[u8]) -> Result<[u8; 32]> {
    Ok(take(bytes, 32)?.try_into().expect("as many bytes"))
}

pub(crate) fn text(bytes: &[u8]) -> Result<String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| odd())
}

/// The vectors of these records.
pub(crate) fn vectors_of(view: &View, parcels: &[Parcel]) -> Vec<Vec<u8>> {
    let wanted: Vec<u64> = parcels.iter().map(|parcel| parcel.sequence).collect();
    // May be dropped: vectors that cannot be read keep no record back, and can be made again.
    blocks_of(view.store(), &wanted).unwrap_or_default()
}

/// Gives records that were just written the vectors that came with them.
pub(crate) fn carry_vectors(
    writer: &mut Writer,
    vectors: Vec<Vec<u8>>,
    parcels: &[Parcel],
    places: &[(u64, Identity)],
) -> Result<()> {
    let mut by_identity: HashMap<Identity, Vec<u64>> = HashMap::new();
    for (sequence, identity) in places {
        by_identity.entry(*identity).or_default().push(*sequence);
    }
    let there = parcels
        .iter()
        .filter_map(|parcel| Some((parcel.sequence, by_identity.get(&parcel.identity)?.clone())));
    let places: HashMap<u64, Vec<u64>> = there.collect();
    let opened = vectors.into_iter().map(|block| Vectors::open(block.into()));
    // Damaged ones are left out: vectors can be made again.
    let opened: Vec<Vectors> = opened.filter_map(std::result::Result::ok).collect();
    if places.is_empty() || opened.is_empty() {
        return Ok(());
    }
    carry(writer, &opened, &places)
}

/// What leaves a capsule.
pub(crate) struct Sender<'a> {
    view: &'a View,
    /// Names of branches; none for those whose records stay.
    names: HashMap<BranchId, Option<String>>,
    ancestries: HashMap<Uri, Ancestry>,
    /// Events that a merge brought to its branch, which went along with it.
    gone: HashSet<(String, Identity)>,
}

impl<'a> Sender<'a> {
    pub(crate) fn new(view: &'a View) -> Sender<'a> {
        Sender { view, names: HashMap::new(), ancestries: HashMap::new(), gone: HashSet::new() }
    }

    /// The records of these commits that travel, as many as fit a chunk. `only` is a branch.
    pub(crate) fn chunk(
        &mut self,
        spans: &[CommitSpan],
        only: Option<&str>,
    ) -> Result<(Vec<Parcel>, Option<CommitSpan>)> {
        let (mut parcels, mut bytes, mut done) = (Vec::new(), 0, None);
        let Some(first) = spans.first() else { return Ok((parcels, done)) };
        let mut ends = spans.iter();
        let mut end = ends.next();
        for stored in self.view.store().snapshot().records(first.first_sequence) {
            let stored = stored?;
            if let Some(span) = end.filter(|span| stored.sequence() >= span.next_sequence) {
                done = Some(*span);
                if parcels.len() >= CHUNK_RECORDS || bytes >= CHUNK_BYTES {
                    return Ok((parcels, done));
                }
                end = ends.next();
            }
            let Stored::Body(body) = stored.stored() else { continue };
            let before = parcels.len();
            self.add(stored.sequence(), body, only, &mut parcels)?;
            bytes += parcels[before..].iter().map(|one| one.body.len()).sum::<usize>();
        }
        Ok((parcels, spans.last().copied().or(done)))
    }

    fn add(
        &mut self,
        sequence: u64,
        bytes: &[u8],
        only: Option<&str>,
        parcels: &mut Vec<Parcel>,
    ) -> Result<()> {
        let body = codec::decode(sequence, bytes)?;
        let Some(branch) = self.branch(body.record.branch)? else { return Ok(()) };
        if only.is_some_and(|only| only != branch) || !travels(&body) {
            return Ok(());
        }
        if event_type(&body) == Some(EventType::BranchMerged) && body.identity.is_none() {
            self.merged_events(body.record.branch, &branch, sequence, parcels)?;
        }
        let parcel = self.parcel(sequence, bytes, body, branch)?;
        parcels.extend(parcel);
        Ok(())
    }

    /// The parcel of a record; none where it stays.
    fn parcel(
        &mut self,
        sequence: u64,
        bytes: &[u8],
        body: Body,
        branch: String,
    ) -> Result<Option<Parcel>> {
        let store = self.view.store();
        let record = &body.record;
        if !record.system && store.is_purged(&record.uri, sequence)? {
            return Ok(None);
        }
        let identity = codec::identity_of_stored(sequence, bytes);
        if self.gone.contains(&(branch.clone(), identity)) {
            return Ok(None);
        }
        let replaces = if body.identity.is_some() {
            body.replaces.clone()
        } else if body.fresh || record.system {
            Vec::new()
        } else {
            self.replaces(&record.uri, &identity)?
        };
        let origin = match &record.origin {
            Some(origin) if origin.sequence < sequence => Some(store.identity(origin.sequence)?),
            _ => None,
        };
        let origin = origin.filter(|origin| *origin != identity);
        Ok(Some(Parcel { branch, identity, replaces, origin, sequence, body: bytes.to_vec() }))
    }

    fn replaces(&mut self, uri: &Uri, identity: &Identity) -> Result<Vec<Identity>> {
        if !self.ancestries.contains_key(uri) {
            if self.ancestries.len() >= ANCESTRIES_MAX {
                self.ancestries.clear();
            }
            self.ancestries.insert(uri.clone(), Ancestry::of(self.view.store(), uri)?);
        }
        Ok(self.ancestries[uri].replaces(identity))
    }

    /// Events that a branch shows since something was merged into it.
    fn merged_events(
        &mut self,
        branch: BranchId,
        name: &str,
        merge: u64,
        parcels: &mut Vec<Parcel>,
    ) -> Result<()> {
        let lineage = self.view.store().lineage_of(branch)?.before(merge + 1);
        for event in event::seen(&self.view.with(lineage), &EventRequest::default())? {
            if event.sequence >= merge || event.branch == name {
                continue;
            }
            let stored = self.view.store().snapshot().record(event.sequence)?;
            let Stored::Body(bytes) = stored.stored() else { continue };
            let body = codec::decode(event.sequence, bytes)?;
            let parcel = self.parcel(event.sequence, bytes, body, name.to_string())?;
            self.gone.extend(parcel.iter().map(|one| (one.branch.clone(), one.identity)));
            parcels.extend(parcel);
        }
        Ok(())
    }

    /// Name of a branch; none where its records stay.
    fn branch(&mut self, branch: BranchId) -> Result<Option<String>> {
        if let Some(name) = self.names.get(&branch) {
            return Ok(name.clone());
        }
        let store = self.view.store();
        let stays = is_tracking(store, branch)?;
        let name = if stays { None } else { Some(branches::name_of(store, branch)?) };
        self.names.insert(branch, name.clone());
        Ok(name)
    }
}

/// Whether a record leaves its capsule.
pub(crate) fn travels(body: &Body) -> bool {
    let record = &body.record;
    if record.system {
        return matches!(record.kind.as_str(), kinds::EVENT | kinds::CHECKPOINT);
    }
    record.kind != kinds::CLEARANCE && !is_of_profile(&record.uri)
}

fn event_type(body: &Body) -> Option<EventType> {
    let is_event = body.record.system && body.record.kind == kinds::EVENT;
    body.record.tags.get("type").filter(|_| is_event).and_then(|name| EventType::named(name))
}
