//! The write path, from a new record to the disk, as a table of contents:
//! check → name (`pending`) → encode (`codec`) → append → index when the tail is full (`segments`) → commit (one sync).

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kapsa_capsule::{Holder, NewCapsule, SegmentDraft, Transaction, Volume, WriterOptions};

use crate::error::{Error, Result};
use crate::records::access::{self, Classification, Classified, ClearanceProfile};
use crate::records::branch::{self, Made};
use crate::records::codec::{Body, Envelope, Operation};
use crate::records::owned;
use crate::records::record::{BranchId, KIND_DEFAULT, Micros, NewRecord, Record, Source};
use crate::records::request::{Change, Filter, MaintenanceReport, Put, SourceReport};
use crate::records::uri::{Uri, refuse_reserved};
use crate::search::reader::Reader;
use crate::tables::lineage::Lineage;
use crate::tables::segments::merge;
use crate::versions::branch::{Branch, check_depth};
use crate::view::View;
use crate::view::as_of::AsOf;
use crate::write::index_batch::{Entry, index_batch};
use crate::write::maintain;
use crate::write::pending::{self, Name, Pending, What};

/// Records that the tail may hold: the next one brings a segment with it.
pub const TAIL_RECORDS_MAX: u64 = 128;
/// Records that the tail may hold while several threads put at once: an index segment costs milliseconds whatever its size,
/// so that building one for every few shared commits would be most of the work.
pub const TAIL_RECORDS_SHARED_MAX: u64 = 1024;
/// Bytes that the tail may hold.
pub const TAIL_BYTES_MAX: u64 = 256 << 10;
/// Most records that one call of [`Writer::put_many`] should bring: one commit each.
pub const BATCH_RECORDS_MAX: usize = 65_536;
/// Most bytes of text that one call of [`Writer::put_many`] should bring.
pub const BATCH_BYTES_MAX: usize = 64 << 20;
/// Most passages of one source that are compared when it is put again.
const SOURCE_PASSAGES_MAX: usize = 1 << 20;

/// How a capsule is opened for writing. The clock and the holder's name are passed in: this crate reads neither.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// The time now, for commits and for records that bring none.
    pub clock: fn() -> Micros,
    /// How long to wait for another writer; default not at all.
    pub lock_timeout: Duration,
    /// Who writes, for the message that another writer sees.
    pub holder: Holder,
}

impl WriteOptions {
    /// Options with this clock, no waiting and no name.
    #[must_use]
    pub fn new(clock: fn() -> Micros) -> WriteOptions {
        WriteOptions { clock, lock_timeout: Duration::ZERO, holder: Holder::default() }
    }

    pub(crate) fn capsule(&self) -> WriterOptions {
        WriterOptions { holder: self.holder.clone(), lock_timeout: self.lock_timeout }
    }
}

/// Progress of long work: items or bytes done, and the total where it is known.
pub type Progress<'a> = &'a mut dyn FnMut(u64, Option<u64>);

/// Whether [`create`] made the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// A new, empty capsule.
    New,
    /// A capsule was there already and opens.
    Existing,
}

/// Makes an empty capsule at `path`, or finds one there.
///
/// # Errors
/// `NotACapsule` when something else is there (it is not touched), or what the disk says.
pub fn create(path: &Path, options: &WriteOptions) -> Result<Created> {
    let new = NewCapsule { capsule_id: crate::records::ids::random_id(), created_us: (options.clock)() };
    let made = kapsa_capsule::create(path, new, &options.capsule())?;
    Ok(if made { Created::New } else { Created::Existing })
}

/// Makes an empty capsule in `volume` without a lock: for volumes that one process has to itself.
///
/// # Errors
/// As [`create`].
pub fn create_unlocked(volume: &dyn Volume, path: &Path, options: &WriteOptions) -> Result<Created> {
    let new = NewCapsule { capsule_id: crate::records::ids::random_id(), created_us: (options.clock)() };
    let made = kapsa_capsule::create_unlocked(volume, path, new)?;
    Ok(if made { Created::New } else { Created::Existing })
}

/// The one writer of a capsule. Holds the lock until dropped.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    options: WriteOptions,
    capsule: kapsa_capsule::Writer,
    /// The branch that is written to.
    branch: BranchId,
    /// Who writes; none for the owner, who may write everything.
    principal: Option<ClearanceProfile>,
    /// Whether that branch was archived by this writer.
    is_archived: bool,
    /// View of the newest commit on that branch; dropped by everything that commits.
    view: Option<View>,
}

/// Whether a URI is nobody's memory, or that of a principal; an agent's namespaces (`agent/namespace`) are its own.
fn is_own(uri: &Uri, principal: &str) -> bool {
    owned::owner_of(uri).is_none_or(|owner| owner.split('/').next() == Some(principal))
}

/// Kinds of what is known to the owner alone, about principals.
const OWN_KINDS: [&str; 2] = ["audit", "clearance"];

impl Writer {
    /// Opens a capsule for writing, waiting for another writer up to the timeout.
    ///
    /// # Errors
    /// `LockedByWriter`, `NotFound`, `NotACapsule`, `VersionMismatch`, `Truncated`, `Corrupt`, or what the system says.
    pub fn open(path: &Path, options: WriteOptions) -> Result<Writer> {
        let capsule = kapsa_capsule::Writer::open(path, &options.capsule())?;
        Ok(Writer::new(path, options, capsule))
    }

    fn new(path: &Path, options: WriteOptions, capsule: kapsa_capsule::Writer) -> Writer {
        let (branch, path) = (BranchId::MAIN, path.to_path_buf());
        Writer { path, options, capsule, branch, principal: None, is_archived: false, view: None }
    }

    /// Writes as a principal from now on: only what its profile allows it to know, and only to where it knows what is there. Everything
    /// but putting and forgetting records is the owner's.
    #[must_use]
    pub fn as_principal(mut self, profile: ClearanceProfile) -> Writer {
        self.principal = Some(profile);
        self
    }

    /// Opens a capsule of `volume` without a lock: for volumes that one process has to itself.
    ///
    /// # Errors
    /// As [`Writer::open`].
    pub fn open_unlocked(volume: Arc<dyn Volume>, path: &Path, options: WriteOptions) -> Result<Writer> {
        let capsule = kapsa_capsule::Writer::open_unlocked(volume, path)?;
        Ok(Writer::new(path, options, capsule))
    }

    /// Path of the capsule.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes to the branch `name` from now on.
    ///
    /// # Errors
    /// `BranchNotFound`; `InvalidOperation` when it is archived.
    pub fn switch(&mut self, name: &str) -> Result<()> {
        let may_know = |profile: &ClearanceProfile| profile.allows("", Classification::Internal, &[]);
        if self.principal.as_ref().is_some_and(|profile| !may_know(profile)) && branch::branch_name(name)? != branch::MAIN {
            return Err(Error::BranchNotFound { name: branch::branch_name(name)? });
        }
        let made = self.view()?.store().branch(name)?;
        if made.archived {
            return Err(archived(name));
        }
        (self.branch, self.is_archived, self.view) = (made.id, false, None);
        Ok(())
    }

    /// Name of the branch that is written to.
    ///
    /// # Errors
    /// What the disk says.
    pub fn branch(&mut self) -> Result<String> {
        self.for_owner("ask for a branch")?;
        let branch = self.branch;
        self.view()?.store().branch_name_of(branch)
    }

    /// Makes a branch that sees what `parent` sees now, or as of then. Costs what a put costs.
    ///
    /// # Errors
    /// `InvalidOperation` when the name is none, is taken, also by an archived branch, or the parent has too many ancestors;
    /// `BranchNotFound`; `UnknownAsOf`.
    pub fn create_branch(&mut self, name: &str, parent: &str, as_of: Option<&AsOf>) -> Result<Branch> {
        self.for_owner("make a branch")?;
        self.create_branch_with(name, parent, as_of, None)
    }

    /// As [`Writer::create_branch`], and puts a record on the parent in the same commit.
    ///
    /// # Errors
    /// As [`Writer::create_branch`]; `InvalidRecord`.
    pub fn create_branch_with(
        &mut self,
        name: &str,
        parent: &str,
        as_of: Option<&AsOf>,
        on_parent: Option<NewRecord>,
    ) -> Result<Branch> {
        let name = branch::branch_name(name)?;
        let view = self.view()?;
        if name == branch::MAIN || view.store().find_branch(&name)?.is_some() {
            return Err(misuse(&format!("there is a branch `{name}` already, and a name is never used again")));
        }
        let next = view.store().snapshot().commit().next_sequence;
        let parent_made = view.store().branch(parent)?;
        let lineage = view.store().lineage_of(parent_made.id)?;
        check_depth(&lineage)?;
        let fork = as_of.map_or(Ok(next), |as_of| view.with(lineage).position_after(as_of))?;
        let record = Made::record(&name, parent_made.id, fork, None, false)?;
        let mut all = vec![self.branch_record(record, parent_made.id, Some(fork))];
        let envelope = Envelope { branch: parent_made.id, ..Envelope::default() };
        all.extend(on_parent.map(|record| Pending::put(record, envelope)));
        let puts = self.write(all)?;
        let parent = self.view()?.store().branch_name_of(parent_made.id)?;
        let (id, created_at) = (BranchId(puts[0].sequence), self.capsule.snapshot()?.commit().time_us);
        Ok(Branch { id, name, parent: Some(parent), fork: fork.saturating_sub(1), created_at, archived: false })
    }

    /// Closes a branch: it can be read and not written any more, not by this writer either.
    ///
    /// # Errors
    /// `BranchNotFound`; `InvalidOperation` for `main` and for one that is archived already.
    pub fn archive_branch(&mut self, name: &str) -> Result<()> {
        self.for_owner("archive a branch")?;
        let name = branch::branch_name(name)?;
        let made = self.view()?.store().branch(&name)?;
        if made.id == BranchId::MAIN || made.archived {
            let reason = if made.archived { "it is already" } else { "main is always open" };
            return Err(misuse(&format!("branch {name} cannot be archived: {reason}")));
        }
        let record = Made::record(&name, made.parent, made.fork, Some(made.id), true)?;
        self.write(vec![self.branch_record(record, made.parent, None)])?;
        self.is_archived |= made.id == self.branch;
        Ok(())
    }

    /// Closes branches in one commit, those that are open, and puts a record on the current one first.
    ///
    /// # Errors
    /// `InvalidRecord`; what the disk says.
    pub fn archive_branches(&mut self, names: Vec<String>, record: NewRecord) -> Result<()> {
        let mut all = vec![Pending::put(record, self.envelope())];
        for name in names {
            let Some(made) = self.view()?.store().find_branch(&name)?.filter(|made| !made.archived) else { continue };
            let record = Made::record(&name, made.parent, made.fork, Some(made.id), true)?;
            all.push(self.branch_record(record, made.parent, None));
            self.is_archived |= made.id == self.branch;
        }
        let is_archived = std::mem::take(&mut self.is_archived);
        let written = self.write(all);
        self.is_archived = is_archived;
        written.map(drop)
    }

    /// The record that makes a branch, when it is told where that begins, or changes one.
    fn branch_record(&self, mut record: NewRecord, parent: BranchId, fork: Option<u64>) -> Pending {
        let name = Name::Given(record.uri.take().expect("a branch has a name"));
        let envelope = Envelope { branch: parent, system: true, ..Envelope::default() };
        let record = Box::new(record);
        let what = match fork {
            Some(fork) => What::Branch { record, parent, fork },
            None => What::Put(record),
        };
        Pending { name, what, envelope }
    }

    /// Lets `old` stand for `new` from now on: whoever asks for the one gets the other.
    ///
    /// # Errors
    /// `UriNotFound` when nothing is visible under `new`; `InvalidOperation` when `new` leads back to `old`.
    pub fn alias(&mut self, old: &Uri, new: &Uri) -> Result<Put> {
        self.for_owner("make an alias")?;
        refuse_reserved(old)?;
        let target = self.view()?.resolve(new)?.ok_or_else(|| not_found(new))?;
        if target == *old {
            return Err(misuse(&format!("{new} leads to {old} itself")));
        }
        let envelope = self.envelope();
        let pending = Pending { name: Name::Given(old.clone()), what: What::Alias(target), envelope };
        Ok(self.write(vec![pending])?.remove(0))
    }

    /// Puts one record: one commit, durable when this returns.
    ///
    /// # Errors
    /// `InvalidRecord`, or what the disk says; then nothing was stored.
    pub fn put(&mut self, record: NewRecord) -> Result<Put> {
        let mut puts = self.put_many(vec![record])?;
        Ok(puts.pop().expect("one record, one answer"))
    }

    /// Puts many records in one commit: all or none. See [`BATCH_RECORDS_MAX`].
    ///
    /// # Errors
    /// As [`Writer::put`].
    pub fn put_many(&mut self, records: Vec<NewRecord>) -> Result<Vec<Put>> {
        self.put_all(records, TAIL_RECORDS_MAX)
    }

    /// As [`Writer::put_many`], for records of several threads.
    pub(crate) fn put_shared(&mut self, records: Vec<NewRecord>) -> Result<Vec<Put>> {
        let tail_max = if records.len() > 1 { TAIL_RECORDS_SHARED_MAX } else { TAIL_RECORDS_MAX };
        self.put_all(records, tail_max)
    }

    fn put_all(&mut self, records: Vec<NewRecord>, tail_max: u64) -> Result<Vec<Put>> {
        records.iter().try_for_each(NewRecord::check)?;
        if records.is_empty() {
            return Ok(Vec::new());
        }
        for record in &records {
            self.may_put(record.uri.as_ref(), record)?;
            self.may_sign(None, record)?;
        }
        let envelope = self.envelope();
        let all = records.into_iter().map(|record| Pending::put(record, envelope.clone())).collect();
        self.write_within(tail_max, all)
    }

    fn envelope(&self) -> Envelope {
        Envelope { branch: self.branch, ..Envelope::default() }
    }

    /// Writes everything in one commit, and says what happened to each.
    pub(crate) fn write(&mut self, all: Vec<Pending>) -> Result<Vec<Put>> {
        self.write_within(TAIL_RECORDS_MAX, all)
    }

    /// Writes memories, and what the capsule notes beside them of its own, in one commit. A principal must be allowed to put and to
    /// forget those memories; the notes are none of its doing.
    pub(crate) fn write_noted(&mut self, all: Vec<Pending>) -> Result<Vec<Put>> {
        for pending in all.iter().filter(|pending| pending.is_memory()) {
            let uri = match &pending.name {
                Name::Given(uri) => Some(uri),
                Name::Fresh | Name::Event { .. } => None,
            };
            match (&pending.what, uri) {
                (What::Put(record), uri) => {
                    self.may_put(uri, record)?;
                    self.may_sign(uri, record)?;
                }
                (What::Bury(Operation::Tombstone), Some(uri)) => self.may_forget(uri)?,
                _ => self.for_owner("do more than put and forget records")?,
            }
        }
        let principal = self.principal.take();
        let written = self.write(all);
        self.principal = principal;
        written
    }

    /// Whether the principal knows all that counts under this name, and may end it.
    fn may_forget(&mut self, uri: &Uri) -> Result<()> {
        let principal = self.principal.clone();
        let view = self.view()?;
        let mut counting = view.counting(uri)?;
        if let Some(alias) = counting.last().and_then(|body| body.record.alias.clone()) {
            // Whoever may not know what a name stands for does not know of the name.
            counting.extend(view.look_up(&alias).map(|(target, _)| view.counting(&target))??);
        }
        let known = |body: &Body| {
            let is_alias = body.record.alias.is_some();
            principal.as_ref().is_none_or(|profile| is_alias || profile.can_access(&body.record))
        };
        if counting.is_empty() || !counting.iter().all(known) {
            return Err(not_found(uri));
        }
        match principal {
            Some(ClearanceProfile { principal, .. }) if !is_own(uri, &principal) => {
                Err(Error::AccessDenied { principal, what: "write into the memory of another agent" })
            }
            _ => Ok(()),
        }
    }

    fn write_within(&mut self, tail_max: u64, mut all: Vec<Pending>) -> Result<Vec<Put>> {
        if all.is_empty() {
            return Ok(Vec::new());
        }
        if all.iter().any(|pending| !pending.is_plain()) {
            self.for_owner("do more than put and forget records")?;
        }
        if self.is_archived && all.iter().any(|pending| pending.envelope.branch == self.branch && !pending.is_branch()) {
            return Err(archived(&self.branch()?));
        }
        let now = (self.options.clock)();
        let changes = self.changes(&mut all)?;
        let snapshot = self.capsule.snapshot()?;
        let (first, id) = (snapshot.commit().next_sequence, snapshot.file().capsule_id);
        let entries = pending::entries(first, all, &id, now);
        let put = |(entry, change): (&Entry, Change)| Put { uri: entry.uri.clone(), sequence: entry.sequence, change };
        let puts = entries.iter().zip(changes).map(put).collect();
        self.commit_within(tail_max, entries, now)?;
        Ok(puts)
    }

    /// Puts the passages of one document (made by [`crate::records::document::cut`]): unchanged passages are skipped, vanished
    /// ones forgotten, all in one commit.
    ///
    /// # Errors
    /// As [`Writer::put`].
    pub fn put_source(&mut self, source: &str, passages: Vec<NewRecord>) -> Result<SourceReport> {
        passages.iter().try_for_each(NewRecord::check)?;
        self.for_owner("put documents")?;
        let envelope = self.envelope();
        let mut report = SourceReport::default();
        let mut changed = Vec::new();
        let mut kept = HashSet::new();
        for passage in passages {
            let uri = passage.uri.clone().ok_or_else(|| misuse("a passage has no URI"))?;
            kept.insert(uri.clone());
            match self.unchanged(&uri, &passage)? {
                Some(sequence) => report.puts.push(Put { uri, sequence, change: Change::Unchanged }),
                None => changed.push(Pending::put(passage, envelope.clone())),
            }
        }
        let added = changed.len();
        let vanished = self.passages_of(source)?.into_iter().filter(|uri| !kept.contains(uri));
        changed.extend(vanished.map(|uri| Pending::bury(Operation::Tombstone, uri, envelope.clone())));
        let mut puts = self.write(changed)?;
        report.forgotten = puts.split_off(added.min(puts.len()));
        report.puts.extend(puts);
        Ok(report)
    }

    /// Forgets a URI: a tombstone; history stays.
    ///
    /// # Errors
    /// `UriNotFound` when nothing is visible under it; what the disk says.
    pub fn forget(&mut self, uri: &Uri) -> Result<Put> {
        refuse_reserved(uri)?;
        self.may_forget(uri)?;
        let envelope = self.envelope();
        Ok(self.write(vec![Pending::bury(Operation::Tombstone, uri.clone(), envelope)])?.remove(0))
    }

    /// Forgets a URI on every branch and marks every revision of it for true erasure at the next compaction. Returns how many.
    ///
    /// # Errors
    /// `UriNotFound` when there never was anything under it; what the disk says.
    pub fn purge(&mut self, uri: &Uri) -> Result<u64> {
        self.for_owner("purge")?;
        refuse_reserved(uri)?;
        let mut branches = vec![self.branch];
        let mut erasable = 0;
        for sequence in self.view()?.store().revisions_under(uri, &Lineage::all())? {
            let body = self.view()?.store().body(sequence)?;
            erasable += u64::from(body.operation == Operation::Put);
            branches.push(body.record.branch);
        }
        if erasable == 0 {
            return Err(not_found(uri));
        }
        branches.sort_unstable();
        branches.dedup();
        let marker = |branch| Pending::bury(Operation::Purge, uri.clone(), Envelope { branch, ..Envelope::default() });
        self.write(branches.into_iter().map(marker).collect())?;
        Ok(erasable)
    }

    /// Indexes the tail and merges all index segments into few, while the lock is held. [`crate::optimize`] holds it for moments only.
    ///
    /// # Errors
    /// What the disk says; the capsule is whole whatever happens.
    pub fn optimize(&mut self, progress: Progress<'_>) -> Result<MaintenanceReport> {
        // What follows commits past this type, so the view of before must not outlive it.
        self.view = None;
        maintain::optimize_held(&mut self.capsule, (self.options.clock)(), progress)
    }

    /// Writes a new, packed file without what was purged and renames it into place.
    ///
    /// # Errors
    /// What the disk says; the old file stays whole until the new one is.
    pub fn compact(mut self, progress: Progress<'_>) -> Result<MaintenanceReport> {
        maintain::compact(&mut self.capsule, progress)
    }

    /// Refuses what only the owner may do.
    pub(crate) fn for_owner(&self, what: &'static str) -> Result<()> {
        match &self.principal {
            Some(profile) => Err(Error::AccessDenied { principal: profile.principal.clone(), what }),
            None => Ok(()),
        }
    }

    /// Whether the principal may put a record: it must be cleared for its level in its domain, for what is public as for what is
    /// internal; and what the record would replace must be known to it and spread no less than the new one.
    fn may_put(&mut self, uri: Option<&Uri>, record: &NewRecord) -> Result<()> {
        let Some(profile) = self.principal.clone() else { return Ok(()) };
        let denied = |what| Err(Error::AccessDenied { principal: profile.principal.clone(), what });
        let access = record.access.clone().unwrap_or_default();
        let mut named = access.named.clone();
        named.push(profile.principal.clone());
        if !profile.allows(&record.domain, access.level.max(Classification::Internal), &named) {
            return denied("write at this level in this domain");
        }
        if OWN_KINDS.contains(&record.kind.as_str()) {
            return denied("write what only the owner writes");
        }
        let Some(uri) = uri else { return Ok(()) };
        if access::is_policy(uri) {
            return denied("write policies");
        }
        if !is_own(uri, &profile.principal) {
            return denied("write into the memory of another agent");
        }
        let Some(there) = self.view()?.newest(uri)? else { return Ok(()) };
        let mut there = there;
        if self.view()?.store().record(there.sequence)?.alias.is_some() {
            let (target, _) = self.view()?.look_up(uri)?;
            let Some(head) = self.view()?.newest(&target)? else { return Ok(()) };
            there = head;
        }
        for sequence in there.all() {
            // Whoever replaces what counts under a name replaces all of it.
            let there = self.view()?.store().record(sequence)?;
            if there.tombstone {
                continue;
            }
            if !profile.can_access(&there) {
                return denied("write under this name");
            }
            let widens =
                access.level == Classification::Restricted && !access.named.iter().all(|name| there.named().contains(name));
            if there.classification() > access.level || there.classification() == Classification::Restricted && widens {
                return denied("let this spread further than it does");
            }
        }
        Ok(())
    }

    /// Whether the principal may say that this agent wrote a record: itself, or whoever wrote the same words under this name before.
    fn may_sign(&mut self, uri: Option<&Uri>, record: &NewRecord) -> Result<()> {
        let Some(profile) = &self.principal else { return Ok(()) };
        if record.agent.is_empty() || record.agent == profile.principal {
            return Ok(());
        }
        let principal = profile.principal.clone();
        let there = uri.map(|uri| self.view()?.visible(uri)).transpose()?.flatten();
        let repeats = |there: &Body| there.record.agent == record.agent && there.record.text == record.text;
        if there.is_some_and(|there| repeats(&there)) {
            return Ok(());
        }
        Err(Error::AccessDenied { principal, what: "write in the name of another agent" })
    }

    /// The branch that is written to.
    pub(crate) fn branch_id(&self) -> BranchId {
        self.branch
    }

    /// The file itself, for those who commit past this type; they call [`Writer::forget_view`] first.
    pub(crate) fn capsule_mut(&mut self) -> &mut kapsa_capsule::Writer {
        &mut self.capsule
    }

    /// Lets go of the view of before a commit.
    pub(crate) fn forget_view(&mut self) {
        self.view = None;
    }

    /// An id that nothing else has, for what is about to be written.
    pub(crate) fn fresh_id(&mut self, text: &str) -> Result<String> {
        let snapshot = self.capsule.snapshot()?;
        let now = (self.options.clock)();
        Ok(crate::records::ids::fresh_id(&snapshot.file().capsule_id, snapshot.commit().next_sequence, now, text))
    }

    /// The branch as it is now.
    pub(crate) fn view(&mut self) -> Result<&View> {
        if self.view.is_none() {
            let main = View::new(self.capsule.snapshot()?);
            let lineage = main.store().lineage_of(self.branch)?;
            self.view = Some(main.with(lineage));
        }
        Ok(self.view.as_ref().expect("made above"))
    }

    /// The branch as it is now, for who writes.
    ///
    /// # Errors
    /// What the disk or a damaged file says.
    pub fn reader(&mut self) -> Result<Reader> {
        let profile = self.principal();
        let reader = Reader::of(self.view()?.clone());
        Ok(profile.map_or(reader.clone(), |profile| reader.as_principal(profile)))
    }

    /// What is written on the branch itself, without what it inherits.
    ///
    /// # Errors
    /// What the disk or a damaged file says.
    pub fn own_reader(&mut self) -> Result<Reader> {
        let branch = self.branch;
        Ok(self.reader()?.only([branch]))
    }

    /// Who writes; none for the owner.
    pub(crate) fn principal(&self) -> Option<ClearanceProfile> {
        self.principal.clone()
    }

    /// What each will change, once it is written. A record put under an alias goes to what that stands for.
    fn changes(&mut self, all: &mut [Pending]) -> Result<Vec<Change>> {
        let view = self.view()?;
        let mut known: HashMap<Uri, bool> = HashMap::new();
        let mut changes = Vec::with_capacity(all.len());
        for pending in all {
            let buries = matches!(pending.what, What::Bury(_));
            let mut exists = false;
            let looked_up = pending.is_memory() && pending.envelope.branch == view.lineage().own();
            if let Name::Given(uri) = &mut pending.name {
                let found = match known.get(uri) {
                    Some(&exists) => (uri.clone(), exists),
                    None if looked_up => view.look_up(uri)?,
                    None => (uri.clone(), false),
                };
                // What is merged, picked or brought back goes where it came from: an alias there is what it replaces.
                if matches!(pending.what, What::Put(_)) && pending.envelope.origin.is_none() {
                    *uri = found.0;
                }
                exists = found.1;
                known.insert(uri.clone(), !buries);
            }
            changes.push(match (buries, exists) {
                (true, _) => Change::Forgotten,
                (false, true) => Change::Revised,
                (false, false) => Change::Added,
            });
        }
        Ok(changes)
    }

    /// Sequence of the newest revision of `uri`, if it says the same as `passage`.
    fn unchanged(&mut self, uri: &Uri, passage: &NewRecord) -> Result<Option<u64>> {
        let view = self.view()?;
        let Some(head) = view.newest(uri)? else { return Ok(None) };
        let body = view.store().body(head.sequence)?;
        let same = body.operation == Operation::Put && head.conflicts_with.is_empty() && says_the_same(&body.record, passage);
        Ok(same.then_some(head.sequence))
    }

    /// URIs of the visible passages of a source.
    fn passages_of(&mut self, source: &str) -> Result<Vec<Uri>> {
        let view = self.view()?;
        let filter = Filter { sources: vec![source.to_string()], ..Filter::default() };
        let sequences = crate::view::visibility::list(view, &filter, SOURCE_PASSAGES_MAX, true)?;
        sequences.into_iter().map(|sequence| Ok(view.store().record(sequence)?.uri)).collect()
    }

    /// Appends the entries and, when the tail would grow beyond its limits, the segment that covers it; then one sync.
    fn commit_within(&mut self, tail_max: u64, entries: Vec<Entry>, now: Micros) -> Result<()> {
        let snapshot = self.capsule.snapshot()?;
        let records = snapshot.tail().end - snapshot.tail().start + entries.len() as u64;
        let bytes = snapshot.tail_bytes() + entries.iter().map(|e| e.body.len() as u64).sum::<u64>();
        let full = records > tail_max || bytes > TAIL_BYTES_MAX;
        if full {
            self.view()?;
        }
        // The view is of the state before this commit, so it is used up here in any case.
        let view = self.view.take().filter(|_| full);
        let mut transaction = self.capsule.begin()?;
        if let Some(view) = view {
            for segment in append_indexed(&mut transaction, &view, &entries)? {
                transaction.add_segment(segment)?;
            }
        } else {
            append(&mut transaction, &entries)?;
            if let Some(range) = maintain::wants_small_merge(snapshot.segments()) {
                transaction.add_segment(merge(&View::new(snapshot).store().sources(range)?)?)?;
            }
        }
        transaction.commit(now)?;
        Ok(())
    }
}

fn append(transaction: &mut Transaction<'_>, entries: &[Entry]) -> Result<()> {
    for entry in entries {
        let sequence = transaction.append(&entry.body)?;
        assert_eq!(sequence, entry.sequence, "entries are numbered as they are appended");
    }
    Ok(())
}

/// Appends the entries while other threads index them together with the tail.
fn append_indexed(transaction: &mut Transaction<'_>, view: &View, entries: &[Entry]) -> Result<Vec<SegmentDraft>> {
    index_batch(view, entries, || append(transaction, entries))
}

/// Whether a passage says what the record says. Lineage may have moved; who puts it, and when, does not count.
fn says_the_same(old: &Record, new: &NewRecord) -> bool {
    let origin = |source: &Option<Source>| source.as_ref().map(|s| (s.path.clone(), s.content_hash.clone()));
    let kind = if new.kind.is_empty() { KIND_DEFAULT } else { &new.kind };
    (&old.title, &old.text, old.kind.as_str(), &old.label) == (&new.title, &new.text, kind, &new.label)
        && (&old.tags, &old.metadata) == (&new.tags, &new.metadata)
        && (&old.entity, &old.domain, old.confidence) == (&new.entity, &new.domain, new.confidence)
        && origin(&old.source) == origin(&new.source)
}

pub(crate) fn not_found(uri: &Uri) -> Error {
    Error::UriNotFound { uri: uri.to_string() }
}

fn archived(branch: &str) -> Error {
    misuse(&format!("branch {branch} is archived: it can be read and not written"))
}

pub(crate) fn misuse(reason: &str) -> Error {
    Error::InvalidOperation { reason: reason.to_string() }
}
