//! A write and its life: opened, filled, prepared, published. One commit, durable when it is
//! published.
//!
//! check → name (`pending`) → encode (`codec`) → sign (`signing`) → append → index when the tail is
//! full (`index_batch`) → commit (one sync). Nothing is on the disk until
//! [`Unpublished::publish`]; what is dropped before was never there.

use std::collections::HashMap;

use kapsa_capsule::{CommitInfo, SegmentDraft};

use super::ahead::{NewVectors, PlacedVectors};
use super::batch::may_hide;
use super::gather::{add_derived, detached};
use super::later::{Indexing, TAIL_RECORDS_MAX, TAIL_RECORDS_SHARED_MAX};
use super::screen::Screen;
use super::writer::Writer;
use crate::error::{Error, Result, misuse, not_found};
use crate::records::access::ClearanceProfile;
use crate::records::codec::{Envelope, Operation};
use crate::records::held::Reason;
use crate::records::kinds;
use crate::records::provenance::Trust;
use crate::records::record::{Micros, NewRecord, check_short};
use crate::records::request::{Change, Put};
use crate::records::uri::{Uri, refuse_reserved};
use crate::signing::commit::{CommitPlace, ToSign};
use crate::tables::segments::merge;
use crate::view::{View, blobs};
use crate::write::index_batch::{Entry, entries, index_batch};
use crate::write::maintain;
use crate::write::pending::{self, Name, Pending, What};

/// What is to be written in one commit, on the branch of its writer. Made by
/// [`Writer::transaction`].
#[derive(Debug)]
#[must_use = "nothing is written before it is prepared and published"]
pub struct Transaction<'w> {
    pub(super) writer: &'w mut Writer,
    pub(super) pending: Vec<Pending>,
    tail_max: u64,
    screen: Screen,
    /// Of whoever acts, unless that is the owner: what it may not know stays as it is.
    pub(super) profile: Option<ClearanceProfile>,
}

impl<'w> Transaction<'w> {
    pub(super) fn new(writer: &'w mut Writer) -> Transaction<'w> {
        Transaction {
            writer,
            pending: Vec::new(),
            tail_max: TAIL_RECORDS_MAX,
            screen: Screen::default(),
            profile: None,
        }
    }

    /// The same for a principal.
    pub(super) fn of(self, profile: &ClearanceProfile) -> Transaction<'w> {
        Transaction { profile: Some(profile.clone()), ..self }
    }

    /// Lets the tail grow as far as it may while several threads put at once.
    pub(super) fn shared(self) -> Transaction<'w> {
        Transaction { tail_max: TAIL_RECORDS_SHARED_MAX, ..self }
    }

    /// Adds a record, a new revision when its URI is known. For a principal it takes the place of
    /// what the principal may know: of revisions that contest each other, those that are hidden
    /// from it go on contesting the new one.
    ///
    /// # Errors
    /// `InvalidRecord`.
    pub fn put(&mut self, record: NewRecord) -> Result<()> {
        record.check()?;
        if let Some(content) = &record.content
            && !blobs::has_all(self.view()?.store(), content)?
        {
            return Err(Error::ContentMissing);
        }
        let envelope = self.writer.envelope_of(&record);
        let reasons = self.screened(&record, &envelope)?;
        if reasons.is_empty() {
            return self.add_put(record, envelope);
        }
        self.pending.push(Pending::held(record, &reasons, envelope));
        Ok(())
    }

    /// Why a record is kept for review instead; nothing when it is not.
    pub(super) fn screened(
        &mut self,
        record: &NewRecord,
        envelope: &Envelope,
    ) -> Result<Vec<Reason>> {
        // What the owner writes is never asked, and so costs nothing.
        if envelope.provenance.trust == Trust::Owner {
            return Ok(Vec::new());
        }
        let now = (self.writer.options.clock)();
        self.screen.reasons(self.writer.view()?, record, &envelope.provenance, now)
    }

    /// Adds a record as [`Transaction::put`]. Where it names no domain or no level, those of what
    /// it takes the place of stay: of revisions that contest each other, those of the highest
    /// level.
    ///
    /// # Errors
    /// `InvalidRecord`; what the disk reports.
    pub fn revise(&mut self, record: NewRecord) -> Result<()> {
        let record = self.keeping(record)?;
        self.put(record)
    }

    /// Forgets a URI: a tombstone, with the agent that forgets, if it is named; history stays.
    ///
    /// # Errors
    /// `UriNotFound` when nothing is visible under it, nor put by this transaction; `InvalidRecord`
    /// for a name that is too long; `InvalidOperation` where a rule asks for a review; what the
    /// disk reports.
    pub fn forget(&mut self, uri: &Uri, agent: &str) -> Result<()> {
        refuse_reserved(uri)?;
        check_short("agent", agent)?;
        let here = self.pending.iter().rev().find(|pending| pending.is_about(uri));
        let exists = match here.map(|pending| &pending.what) {
            Some(what) => !matches!(what, What::Bury { .. }),
            None => !self.view()?.counting(uri)?.is_empty(),
        };
        if !exists {
            return Err(not_found(uri));
        }
        let envelope = self.writer.envelope();
        may_hide(self, uri, &envelope)?;
        self.pending.push(Pending::bury_by(Operation::Tombstone, uri.clone(), agent, envelope));
        Ok(())
    }

    /// Lets `old` stand for `new`: whoever asks for the one gets the other.
    ///
    /// # Errors
    /// `UriNotFound` when nothing was visible under `new` before this transaction;
    /// `InvalidOperation` when `new` leads back to `old`, or is a name that only the capsule gives.
    pub fn alias(&mut self, old: &Uri, new: &Uri) -> Result<()> {
        refuse_reserved(old)?;
        let target = self.view()?.resolve(new)?.ok_or_else(|| not_found(new))?;
        refuse_reserved(&target)?;
        if target == *old {
            return Err(misuse(&format!("{new} leads to {old} itself")));
        }
        let envelope = self.writer.envelope();
        self.pending.push(Pending {
            name: Name::Given(old.clone()),
            what: What::Alias(target),
            envelope,
        });
        Ok(())
    }

    /// Adds what the memory notes of its own beside the records: how often a fact was read, which
    /// traces were. No search and no list of memories shows it, and since it is nobody's record, a
    /// principal's clearance does not apply to it.
    ///
    /// # Errors
    /// `InvalidRecord`; `InvalidOperation` for any other kind of record.
    pub fn note(&mut self, record: NewRecord) -> Result<()> {
        record.check()?;
        let noted = record.uri.as_ref().and_then(kinds::noted_under);
        if noted != Some(record.kind.as_str()) {
            return Err(misuse(NO_NOTE));
        }
        let envelope = Envelope { system: true, ..self.writer.envelope() };
        self.pending.push(Pending::put(record, envelope));
        Ok(())
    }

    /// Removes a note.
    ///
    /// # Errors
    /// `InvalidOperation` for the URI of anything else.
    pub fn remove_note(&mut self, uri: &Uri) -> Result<()> {
        if kinds::noted_under(uri).is_none() {
            return Err(misuse(NO_NOTE));
        }
        let envelope = Envelope { system: true, ..self.writer.envelope() };
        self.pending.push(Pending::bury(Operation::Tombstone, uri.clone(), envelope));
        Ok(())
    }

    /// Adds what was checked elsewhere: merges, events, branches and whatever else the crate itself
    /// writes.
    pub(crate) fn add(&mut self, pending: impl IntoIterator<Item = Pending>) {
        self.pending.extend(pending);
    }

    /// Gives each record its place and encodes it; a writer with a key adds their signature.
    ///
    /// # Errors
    /// `InvalidOperation` when the branch is archived; `SigningKey` when the key cannot be used;
    /// what the disk or a damaged file reports.
    pub fn prepare(mut self) -> Result<Unpublished<'w>> {
        if self.writer.is_archived {
            let own = self.writer.branch_id();
            if self
                .pending
                .iter()
                .any(|pending| pending.envelope.branch == own && !pending.is_branch())
            {
                return Err(archived(&self.writer.branch()?));
            }
        }
        let now = (self.writer.options.clock)();
        let mut pending = std::mem::take(&mut self.pending);
        let mut unpublished = Unpublished {
            writer: self.writer,
            entries: Vec::new(),
            puts: Vec::new(),
            now,
            tail_max: self.tail_max,
        };
        if pending.is_empty() {
            return Ok(unpublished);
        }
        let changes = changes(unpublished.writer.view()?, &mut pending)?;
        let snapshot = unpublished.writer.capsule.snapshot()?;
        let (first, id) = (snapshot.commit().next_sequence, snapshot.file().capsule_id);
        unpublished.entries = entries(first, pending, &id, now);
        let put = |(entry, change): (&Entry, Change)| Put {
            uri: entry.uri.clone(),
            sequence: entry.sequence,
            change,
        };
        unpublished.puts = unpublished.entries.iter().zip(changes).map(put).collect();
        unpublished.sign(&snapshot.commit())?;
        Ok(unpublished)
    }

    /// Prepares and publishes.
    ///
    /// # Errors
    /// As [`Transaction::prepare`] and [`Unpublished::publish`].
    pub fn commit(self) -> Result<Vec<Put>> {
        self.prepare()?.publish()
    }

    /// The branch as it is before this transaction.
    pub(super) fn view(&mut self) -> Result<&View> {
        self.writer.view()
    }
}

/// Records with their places, encoded, and not on the disk yet.
#[must_use = "nothing is written before it is published"]
pub struct Unpublished<'w> {
    writer: &'w mut Writer,
    /// What was added; then the signature, when there is one.
    entries: Vec<Entry>,
    puts: Vec<Put>,
    now: Micros,
    tail_max: u64,
}

impl std::fmt::Debug for Unpublished<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unpublished").field("puts", &self.puts).finish_non_exhaustive()
    }
}

impl Unpublished<'_> {
    /// What each record will change, in the order in which they were added.
    #[must_use]
    pub fn puts(&self) -> &[Put] {
        &self.puts
    }

    /// The records that were added, without their signature.
    pub(super) fn added(&self) -> &[Entry] {
        &self.entries[..self.puts.len()]
    }

    /// Ends the records with a signature of the commit that they are to be, when the writer has a
    /// key. Nobody else commits in between: the lock is held.
    fn sign(&mut self, before: &CommitInfo) -> Result<()> {
        let Some(key) = self.writer.options.signing.key()? else { return Ok(()) };
        let mut to_sign = ToSign::new(CommitPlace {
            chain_before: before.chain,
            number: before.number + 1,
            time_us: self.now,
            first_sequence: before.next_sequence,
            records: self.entries.len() as u64 + 1,
        });
        for entry in &self.entries {
            to_sign.record(blake3::hash(&entry.body).as_bytes());
        }
        let sequence = before.next_sequence + self.entries.len() as u64;
        self.entries.push(pending::signature(sequence, to_sign.sign(key)));
        Ok(())
    }

    /// Writes everything in one commit with one sync, durable when this returns.
    ///
    /// # Errors
    /// What the disk reports; then nothing was stored.
    pub fn publish(self) -> Result<Vec<Put>> {
        self.publish_with(None)
    }

    /// As [`Unpublished::publish`], with the vectors of these records in the same commit: those
    /// that were made for them before the lock was taken. Where the capsule is not what it was
    /// then, the records go alone and lack vectors. Returns whether they have them as well.
    ///
    /// # Errors
    /// As [`Unpublished::publish`].
    pub fn publish_with_vectors(self, vectors: NewVectors) -> Result<(Vec<Put>, bool)> {
        let Some(first) = self.entries.first().map(|entry| entry.sequence) else {
            return Ok((self.publish()?, true));
        };
        let (records, end) = (self.puts.len() as u64, first + self.entries.len() as u64);
        let store = self.writer.view()?.store();
        // Vectors never keep a record from the disk: those that cannot be placed can be made again.
        // What is kept for review gets its vectors when it is let in.
        let is_held = self.puts.iter().any(|put| put.change == Change::Held);
        let placed = match is_held {
            true => None,
            false => vectors.place(store, first..end, records).ok().flatten(),
        };
        let is_placed = placed.is_some();
        Ok((self.publish_with(placed)?, is_placed))
    }

    /// As [`Unpublished::publish`], with the records' vectors in the same commit.
    ///
    /// # Errors
    /// As there.
    fn publish_with(self, vectors: Option<PlacedVectors>) -> Result<Vec<Put>> {
        if self.entries.is_empty() {
            return Ok(self.puts);
        }
        let own = self.writer.branch_id();
        let closes = self
            .entries
            .iter()
            .filter_map(|entry| entry.made.as_ref())
            .any(|made| made.archived && made.id == own);
        commit(self.writer, self.tail_max, &self.entries, vectors, self.now)?;
        self.writer.is_archived |= closes;
        Ok(self.puts)
    }
}

/// Appends the entries and, when the tail would grow beyond its limits with small records, its
/// segment; their vectors are attached to them, or lie in a derived segment with those of the
/// tail. One commit, one sync. Only here records become durable.
fn commit(
    writer: &mut Writer,
    tail_max: u64,
    entries: &[Entry],
    vectors: Option<PlacedVectors>,
    now: Micros,
) -> Result<()> {
    let snapshot = writer.capsule.snapshot()?;
    let indexing = writer.later.indexing(&snapshot, entries, tail_max)?;
    let full = indexing == Indexing::Now;
    if full {
        writer.view()?;
    }
    // The view is of the state before this commit, so it is used up here in any case.
    let view = writer.view.take().filter(|_| full);
    let mut transaction = writer.capsule.begin()?;
    if let Some(view) = view {
        for segment in append_indexed(&mut transaction, &view, entries)? {
            transaction.add_segment(segment)?;
        }
        let derived = match vectors {
            Some(vectors) => vectors.with_tail(view.store()),
            None => detached(view.store(), view.store(), None),
        };
        // Vectors never keep a record from the disk: those that cannot be read can be made again.
        add_derived(&mut transaction, derived.unwrap_or_default())?;
    } else {
        append(&mut transaction, entries)?;
        let view = View::new(snapshot.clone());
        if let Some(range) = maintain::wants_small_merge(snapshot.segments()) {
            transaction.add_segment(merge(&view.store().tables().merge_sources(range)?)?)?;
        }
        if let Some(mut vectors) = vectors
            && !vectors.attach(&mut transaction)?
        {
            // Nor do those here: blocks that cannot be read leave the records without vectors.
            let derived = vectors.segment(view.store()).into_iter().collect();
            add_derived(&mut transaction, derived)?;
        }
    }
    transaction.commit(now)?;
    writer.later.note(indexing, || writer.capsule.snapshot());
    Ok(())
}

fn append(transaction: &mut kapsa_capsule::Transaction<'_>, entries: &[Entry]) -> Result<()> {
    for entry in entries {
        let sequence = transaction.append(&entry.body)?;
        assert_eq!(sequence, entry.sequence, "entries are numbered as they are appended");
    }
    Ok(())
}

/// Appends the entries while other threads index them together with the tail.
fn append_indexed(
    transaction: &mut kapsa_capsule::Transaction<'_>,
    view: &View,
    entries: &[Entry],
) -> Result<Vec<SegmentDraft>> {
    index_batch(view, entries, || append(transaction, entries))
}

/// What each will change, once it is written. A record put under an alias goes to what that stands
/// for.
fn changes(view: &View, all: &mut [Pending]) -> Result<Vec<Change>> {
    let mut known: HashMap<Uri, bool> = HashMap::new();
    let mut changes = Vec::with_capacity(all.len());
    for pending in all {
        let buries = matches!(pending.what, What::Bury { .. });
        let mut exists = false;
        let looked_up = pending.is_memory() && pending.envelope.branch == view.lineage().own();
        if let Name::Given(uri) = &mut pending.name {
            let found = match known.get(uri) {
                Some(&exists) => (uri.clone(), exists),
                None if looked_up => view.look_up(uri)?,
                None => (uri.clone(), false),
            };
            // What is merged, picked or brought back goes where it came from: an alias there is
            // what it replaces.
            let is_from =
                |envelope: &Envelope| envelope.origin.is_some() || envelope.identity.is_some();
            if matches!(pending.what, What::Put(_)) && !is_from(&pending.envelope) {
                if *uri != found.0 {
                    refuse_reserved(&found.0)?;
                }
                *uri = found.0;
            }
            exists = found.1;
            known.insert(uri.clone(), !buries);
        }
        if pending.is_held() {
            changes.push(Change::Held);
            continue;
        }
        changes.push(match (buries, exists) {
            (true, _) => Change::Forgotten,
            (false, true) => Change::Revised,
            (false, false) => Change::Added,
        });
    }
    Ok(changes)
}

const NO_NOTE: &str = "only counts of reads, and what is kept of traces, are notes";

fn archived(branch: &str) -> Error {
    misuse(&format!("branch {branch} is archived: it can be read and not written"))
}
