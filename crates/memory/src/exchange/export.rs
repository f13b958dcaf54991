//! Exports a part of a memory as a capsule of its own, made only of what is in it: the same
//! content, the same bytes.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use kapsa_capsule::{FileSystem, NewCapsule, SegmentDraft};
use kapsa_index::Sequences;

use crate::error::{Error, Result, misuse};
use crate::exchange::references;
use crate::records::access::is_of_profile;
use crate::records::codec::{self, Body, Envelope, Operation};
use crate::records::content::Content;
use crate::records::kinds;
use crate::records::record::{BranchId, Micros, Record};
use crate::records::uri::Uri;
use crate::search::contents;
use crate::search::reader::Reader;
use crate::tables::branch_table::Class;
use crate::tables::lineage::Lineage;
use crate::tables::revision_map::Kept;
use crate::tables::revision_map::RevisionMap;
use crate::versions::branch;
use crate::versions::event::{self, EventRequest, EventType, RUN_NONE};
use crate::view::raw::RawView;
use crate::view::{View, blobs, branches};
use crate::write::carry::copied;
use crate::write::maintain::index;
use crate::write::writer::{BATCH_BYTES_MAX, BATCH_RECORDS_MAX};

/// Most records that one export holds.
pub const EXPORT_RECORDS_MAX: usize = 1 << 20;

/// What is exported: everything that a reader sees, or what belongs to a spec, a run, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportRequest {
    /// Only what belongs to this spec.
    pub spec: Option<String>,
    /// Only what belongs to this run: written in it, on its branch, or under its URIs.
    pub run: Option<String>,
    /// Whether to leave nothing out: else no whole model calls, no debug traces, and of sources
    /// only the file's name.
    pub is_unsafe: bool,
}

/// What an export holds. Its records are read one after the other whenever they are needed: only
/// their sequences are kept.
#[derive(Clone, Debug)]
pub struct Export<'a> {
    view: &'a View,
    /// Of its records, ascending.
    sequences: Vec<u64>,
    is_unsafe: bool,
    /// The branch of the run that is exported, and the run. What was written there without a run
    /// belongs to it, which nothing else says where everything is on `main`.
    own: Option<(BranchId, String)>,
    /// When the newest of them was committed.
    newest_us: Micros,
    /// How many records it has of any kind, revisions and tombstones among them; the blobs of
    /// files do not count.
    pub record_count: u64,
    /// How many URIs of memories are alive at its end.
    pub uri_count: u64,
    /// How many URIs have the content of a file at its end.
    pub file_count: u64,
    /// How many are checkpoints.
    pub checkpoint_count: u64,
    /// How many are events.
    pub event_count: u64,
    /// BLAKE3 of all of it, 64 hexadecimal digits.
    pub content_hash: String,
}

/// Gathers what is to be exported.
///
/// # Errors
/// `InvalidOperation` when that is nothing, or more than [`EXPORT_RECORDS_MAX`]; what the disk or a
/// damaged file says.
pub fn gather<'a>(reader: &'a Reader, request: &ExportRequest) -> Result<Export<'a>> {
    let run = request.run.as_deref().map(branch::run_id).transpose()?;
    let own = match run {
        Some(run) => branches::find(reader.view().store(), &branch::run_branch(run)?)?,
        None => None,
    };
    let own = own.map(|made| made.id).zip(run.map(str::to_string));
    let sequences = select(reader.view(), request, own.as_ref().map(|(own, _)| *own))?;
    if sequences.is_empty() {
        return Err(misuse(
            "there is nothing to export: this branch has no record of that run or spec, or no record at all",
        ));
    }
    if sequences.len() > EXPORT_RECORDS_MAX {
        return Err(misuse(&format!("an export holds at most {EXPORT_RECORDS_MAX} records")));
    }
    Export::of(reader.view(), with_blobs(reader.view(), sequences)?, own, request.is_unsafe)
}

/// Which records are meant.
struct ExportScope<'a> {
    spec: Option<&'a str>,
    run: Option<&'a str>,
    /// The run's own branch.
    own: Option<BranchId>,
}

impl ExportScope<'_> {
    fn holds(&self, record: &Record) -> bool {
        let at = record.uri.in_run();
        let spec = self.spec.is_none_or(|spec| {
            at.is_some_and(|at| at.spec == spec)
                || record.tags.get("spec").is_some_and(|tagged| tagged == spec)
        });
        spec && self.run.is_none_or(|run| {
            let is = |named: &str| branch::run_id(named).is_ok_and(|named| named == run);
            let branches =
                [Some(record.branch), record.origin.as_ref().map(|origin| origin.branch)];
            is(&record.run)
                || at.is_some_and(|at| is(at.run))
                || branches.into_iter().flatten().any(|b| Some(b) == self.own)
        })
    }
}

/// A record that may have a part in an export.
struct Candidate {
    sequence: u64,
    uri_hash: u64,
    is_wanted: bool,
    /// A tombstone or an alias says nothing of its run; it goes where its URI goes.
    follows: bool,
}

/// The sequences of what is exported, ascending.
fn select(view: &View, request: &ExportRequest, own: Option<BranchId>) -> Result<Vec<u64>> {
    let run = request.run.as_deref().map(branch::run_id).transpose()?;
    let wanted = ExportScope { spec: request.spec.as_deref(), run, own };
    let mut all = Vec::new();
    for sequence in sequences(view, own)? {
        let record = view.store().record(sequence)?;
        let branches = record.system && record.kind == kinds::BRANCH;
        if record.purged
            || branches
            || record.is_signature()
            || !record.system && view.store().is_purged(&record.uri, sequence)?
        {
            continue;
        }
        if is_of_export(&record) || !request.is_unsafe && !is_safe(&record) {
            continue;
        }
        all.push(Candidate {
            sequence,
            uri_hash: record.uri.hash(),
            is_wanted: wanted.holds(&record),
            follows: record.tombstone || record.alias.is_some(),
        });
    }
    // Two URIs of one hash would take each other's tombstones along, which changes nothing.
    let uris: HashSet<u64> =
        all.iter().filter(|found| found.is_wanted).map(|found| found.uri_hash).collect();
    let is_in =
        |found: &Candidate| found.is_wanted || found.follows && uris.contains(&found.uri_hash);
    let mut sequences: Vec<u64> =
        all.iter().filter(|found| is_in(found)).map(|found| found.sequence).collect();
    let may_leave = |record: &Record| {
        may_be_named(record) && !is_of_export(record) && (request.is_unsafe || is_safe(record))
    };
    sequences.extend(references::of(view, &sequences, &may_leave)?);
    sequences.sort_unstable();
    Ok(sequences)
}

/// These sequences, and those of the blobs that they have.
fn with_blobs(view: &View, mut sequences: Vec<u64>) -> Result<Vec<u64>> {
    let mut ids = BTreeSet::new();
    for &sequence in &sequences {
        let record = view.store().record(sequence)?;
        for id in record.content.into_iter().flat_map(|content| content.blobs) {
            if !blobs::has(view.store(), &id)? {
                let uri = record.uri;
                return Err(misuse(&format!(
                    "a part of the file of {uri} was lost (blob {id}): put the same file again, \
                     or purge {uri}"
                )));
            }
            ids.insert(id);
        }
    }
    for id in ids {
        for found in view.store().revisions_under(&Uri::blob(&id), &Lineage::all())? {
            if view.store().is_own(found)? {
                sequences.push(found);
                break;
            }
        }
    }
    sequences.sort_unstable();
    Ok(sequences)
}

/// What the view sees, the events that came by merges, and what a run's own branch holds: a run is
/// one thing, merged or not.
fn sequences(view: &View, own: Option<BranchId>) -> Result<Vec<u64>> {
    let mut ranges = view.store().sequences(view.lineage(), Class::Both)?.ranges().to_vec();
    for event in event::seen(view, &EventRequest::default())? {
        ranges.push(event.sequence..event.sequence + 1);
    }
    if let Some(own) = own {
        let lineage = Lineage::alone(own).before(view.lineage().below());
        ranges.extend_from_slice(view.store().sequences(&lineage, Class::Both)?.ranges());
    }
    let sequences = Sequences::new(ranges).difference(&blobs::sequences(view.store())?);
    Ok(sequences.ranges().iter().flat_map(Clone::clone).collect())
}

/// Whether a record goes along because another names it: a memory, or what events refer to. What
/// waits for review, clearances and the capsule's own lists do not.
fn may_be_named(record: &Record) -> bool {
    match record.system {
        true => [kinds::EVENT, kinds::CHECKPOINT].contains(&record.kind.as_str()),
        false => !is_of_profile(&record.uri) && !record.uri.is_reserved(),
    }
}

/// Whether a record is the event of an export: each would change the next one.
fn is_of_export(record: &Record) -> bool {
    record.system
        && record.tags.get("type").is_some_and(|name| name == EventType::CapsuleExported.name())
}

/// Whether a record may leave without a second thought.
fn is_safe(record: &Record) -> bool {
    let event_type =
        record.tags.get("type").and_then(|name| EventType::named(name)).filter(|_| record.system);
    match event_type {
        Some(EventType::DebugTrace) => false,
        Some(EventType::ModelCallEnvelope) => {
            record.metadata.get("capture_mode").and_then(|mode| mode.as_str()) != Some("full_io")
        }
        _ => true,
    }
}

/// A path reveals the machine that it is on; the file's name does not.
fn make_safe(record: &mut Record) {
    if let Some(source) = &mut record.source
        && (source.path.starts_with(['/', '\\', '~']) || source.path.contains(":\\"))
    {
        source.path = source.path.rsplit(['/', '\\']).next().unwrap_or_default().to_string();
    }
}

impl<'a> Export<'a> {
    fn of(
        view: &'a View,
        sequences: Vec<u64>,
        own: Option<(BranchId, String)>,
        is_unsafe: bool,
    ) -> Result<Export<'a>> {
        let mut export = Export {
            view,
            sequences,
            is_unsafe,
            own,
            newest_us: 0,
            record_count: 0,
            uri_count: 0,
            file_count: 0,
            checkpoint_count: 0,
            event_count: 0,
            content_hash: String::new(),
        };
        let mut hasher = blake3::Hasher::new_derive_key("kapsa export v1");
        let mut alive = HashMap::new();
        let mut newest_us = 0;
        for sequence in export.sequences.clone() {
            let record = export.record(sequence)?;
            let body = export.body_of(&record)?;
            hasher.update(&(body.len() as u64).to_le_bytes()).update(&body);
            newest_us = newest_us.max(record.committed_at);
            export.record_count += u64::from(!record.is_blob());
            export.checkpoint_count += u64::from(record.system && record.kind == kinds::CHECKPOINT);
            export.event_count += u64::from(record.system && record.kind == kinds::EVENT);
            if !record.system {
                let is_alive = !record.tombstone && record.alias.is_none();
                alive.insert(record.uri.hash(), (is_alive, record.content.is_some()));
            }
        }
        export.newest_us = newest_us;
        for (is_alive, has_file) in alive.into_values() {
            export.uri_count += u64::from(is_alive);
            export.file_count += u64::from(is_alive && has_file);
        }
        export.content_hash = hasher.finalize().to_hex().to_string();
        Ok(export)
    }

    /// Its records, in the capsule's order: revisions, tombstones and aliases, checkpoints and
    /// events.
    pub fn records(&self) -> impl Iterator<Item = Result<Record>> + '_ {
        self.all().filter(|record| record.as_ref().map_or(true, |record| !record.is_blob()))
    }

    /// The same, with the blobs of their contents.
    fn all(&self) -> impl Iterator<Item = Result<Record>> + '_ {
        self.sequences.iter().map(|&sequence| self.record(sequence))
    }

    fn record(&self, sequence: u64) -> Result<Record> {
        let mut record = self.view.store().record(sequence)?;
        if !self.is_unsafe {
            make_safe(&mut record);
        }
        if let Some((own, run)) = &self.own
            && record.branch == *own
            && (record.run.is_empty() || record.run == RUN_NONE)
        {
            record.run.clone_from(run);
        }
        Ok(record)
    }

    /// Gives the bytes of a content of its records to `add`, one blob after the other.
    ///
    /// # Errors
    /// `ContentDamaged`; what the disk says, or `add`.
    pub(crate) fn copy_content(
        &self,
        content: &Content,
        add: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut reader = contents::open(RawView::of(self.view), content);
        loop {
            let blob = reader.next_blob()?;
            if blob.is_empty() {
                return Ok(());
            }
            add(&blob)?;
        }
    }

    /// Writes a new capsule that holds it, on `main`, in one commit, with the vectors that its
    /// records have. Its id and times come from the content, so that the same content makes the
    /// same bytes. `path` must not exist; nothing
    /// waits for it to be durable but the last sync.
    ///
    /// # Errors
    /// What the disk says.
    pub fn write_capsule(&self, path: &Path) -> Result<()> {
        let time_us = self.newest_us;
        let id = blake3::hash(self.content_hash.as_bytes());
        let capsule_id = id.as_bytes()[..16].try_into().expect("sixteen of thirty-two bytes");
        kapsa_capsule::create_unlocked(
            &FileSystem,
            path,
            NewCapsule { capsule_id, created_us: time_us },
        )?;
        let mut writer = kapsa_capsule::Writer::open_unlocked(Arc::new(FileSystem), path)?;
        let mut transaction = writer.begin()?;
        let mut batch = ExportBatch::default();
        for (record, sequence) in self.all().zip(1..) {
            let bytes = self.body_of(&record?)?;
            transaction.append(&bytes)?;
            batch.add(sequence, bytes)?;
            if batch.is_full() {
                transaction.add_segment(batch.take()?)?;
            }
        }
        if !batch.kept.is_empty() {
            transaction.add_segment(batch.take()?)?;
        }
        let places: HashMap<u64, Vec<u64>> =
            self.sequences.iter().zip(1..).map(|(&there, here)| (there, vec![here])).collect();
        if let Some(vectors) = copied(self.view.store(), &places)? {
            transaction.add_derived(vectors, &[])?;
        }
        transaction.commit(time_us)?;
        Ok(())
    }

    /// The body of a record in a capsule of its own, where everything is on `main` and nothing can
    /// name what stayed behind.
    fn body_of(&self, record: &Record) -> Result<Vec<u8>> {
        if let Some(id) = record.uri.blob_id().filter(|_| record.is_blob()) {
            let damaged = || Error::ContentDamaged {
                hash: id.to_string(),
                reason: "a part of it is missing",
            };
            let bytes = blobs::read(self.view.store(), &id)?.ok_or_else(damaged)?;
            return Ok(codec::encode_blob(&record.uri, record.committed_at, &bytes));
        }
        let place = |sequence: &u64| Some(self.sequences.binary_search(sequence).ok()? as u64 + 1);
        let conflicts_with = record.conflicts_with.iter().filter_map(place).collect();
        let envelope = Envelope {
            system: record.system,
            conflicts_with,
            provenance: record.provenance.clone(),
            ..Envelope::default()
        };
        let (uri, at) = (&record.uri, record.committed_at);
        Ok(if record.tombstone {
            codec::encode_tombstone(Operation::Tombstone, uri, &record.agent, at, &envelope)
        } else if let Some(target) = &record.alias {
            codec::encode_alias(uri, target, at, &envelope)
        } else {
            codec::encode(&record.as_new(), uri, false, at, &envelope)
        })
    }
}

/// Records of an export that become one segment.
#[derive(Default)]
struct ExportBatch {
    /// Sequence after the last of them.
    next: u64,
    kept: Vec<Kept>,
    bytes: usize,
    /// Every revision so far.
    revision_map: RevisionMap,
}

impl ExportBatch {
    fn add(&mut self, sequence: u64, bytes: Vec<u8>) -> Result<()> {
        self.next = sequence + 1;
        self.bytes += bytes.len();
        let body = Box::new(codec::decode(sequence, &bytes)?);
        self.kept.push(Kept::Record { bytes, body });
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.kept.len() >= BATCH_RECORDS_MAX || self.bytes >= BATCH_BYTES_MAX
    }

    fn take(&mut self) -> Result<SegmentDraft> {
        let kept = std::mem::take(&mut self.kept);
        self.bytes = 0;
        let first = self.next - kept.len() as u64;
        let replaced = self.revision_map.replacements(&kept, first);
        index(first, &kept, &replaced)
    }
}

/// Everything in a capsule that was exported, as its hash: what an import compares.
///
/// # Errors
/// What the disk or a damaged file says.
pub fn content_hash(path: &Path) -> Result<String> {
    let reader = Reader::open(path)?;
    let view = reader.view();
    let mut hasher = blake3::Hasher::new_derive_key("kapsa export v1");
    for record in view.store().snapshot().records(1) {
        let record = record?;
        if let kapsa_capsule::Stored::Body(body) = record.stored() {
            let _checked: Body = codec::decode(record.sequence(), body)?;
            hasher.update(&(body.len() as u64).to_le_bytes()).update(body);
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}
