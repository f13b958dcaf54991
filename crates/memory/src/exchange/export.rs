//! Exports a part of a memory as a capsule of its own, made only of what is in it: the same
//! content, the same bytes.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use kapsa_capsule::{FileSystem, NewCapsule};
use kapsa_index::Sequences;

use crate::error::{Result, misuse};
use crate::records::codec::{self, Body, Envelope, Operation};
use crate::records::kinds;
use crate::records::record::{BranchId, Record};
use crate::records::uri::Uri;
use crate::search::reader::Reader;
use crate::tables::branch_table::Class;
use crate::tables::lineage::Lineage;
use crate::tables::revision_map::Kept;
use crate::tables::revision_map::RevisionMap;
use crate::versions::branch;
use crate::versions::event::{self, EventRequest, EventType};
use crate::versions::merge::as_new;
use crate::view::{View, branches};
use crate::write::maintain::index;

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

/// What an export holds, in the capsule's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Export {
    /// Revisions, tombstones and aliases, checkpoints and events.
    pub records: Vec<Record>,
    /// How many of them are memories.
    pub artifact_count: u64,
    /// How many are checkpoints.
    pub checkpoint_count: u64,
    /// How many are events.
    pub event_count: u64,
    /// BLAKE3 of all of it, 64 hexadecimal digits.
    pub content_hash: String,
    bodies: Vec<Vec<u8>>,
}

/// Gathers what is to be exported.
///
/// # Errors
/// `InvalidOperation` when that is nothing, or more than [`EXPORT_RECORDS_MAX`]; what the disk or a
/// damaged file says.
pub fn gather(reader: &Reader, request: &ExportRequest) -> Result<Export> {
    let mut records = select(reader.view(), request)?;
    if records.is_empty() {
        return Err(misuse("nothing visible on this branch belongs to it"));
    }
    if records.len() > EXPORT_RECORDS_MAX {
        return Err(misuse(&format!("an export holds at most {EXPORT_RECORDS_MAX} records")));
    }
    if !request.is_unsafe {
        records.iter_mut().for_each(make_safe);
    }
    Ok(Export::of(records))
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

fn select(view: &View, request: &ExportRequest) -> Result<Vec<Record>> {
    let run = request.run.as_deref().map(branch::run_id).transpose()?;
    let own = match run {
        Some(run) => branches::find(view.store(), &branch::run_branch(run)?)?.map(|made| made.id),
        None => None,
    };
    let wanted = ExportScope { spec: request.spec.as_deref(), run, own };
    let mut all = Vec::new();
    for sequence in sequences(view, own)? {
        let record = view.store().record(sequence)?;
        let branches = record.system && record.kind == kinds::BRANCH;
        if record.purged
            || branches
            || !record.system && view.store().is_purged(&record.uri, sequence)?
        {
            continue;
        }
        all.push(record);
    }
    // A tombstone or an alias says nothing of its run; it goes where its URI goes.
    let uris: BTreeSet<Uri> =
        all.iter().filter(|record| wanted.holds(record)).map(|record| record.uri.clone()).collect();
    all.retain(|record| {
        wanted.holds(record)
            || (record.tombstone || record.alias.is_some()) && uris.contains(&record.uri)
    });
    all.retain(|record| !tells_of_export(record) && (request.is_unsafe || is_safe(record)));
    Ok(all)
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
    Ok(Sequences::new(ranges).ranges().iter().flat_map(Clone::clone).collect())
}

/// An export tells of others as little as of itself: else it would change with every one.
fn tells_of_export(record: &Record) -> bool {
    record.system
        && record.tags.get("type").is_some_and(|name| name == EventType::CapsuleExported.name())
}

/// Whether a record may leave without a second thought.
fn is_safe(record: &Record) -> bool {
    let told =
        record.tags.get("type").and_then(|name| EventType::named(name)).filter(|_| record.system);
    match told {
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

impl Export {
    fn of(records: Vec<Record>) -> Export {
        let places: HashMap<u64, u64> =
            records.iter().zip(1..).map(|(record, place)| (record.sequence, place)).collect();
        let bodies: Vec<Vec<u8>> = records.iter().map(|record| body_of(record, &places)).collect();
        let mut hasher = blake3::Hasher::new_derive_key("kapsa export v1");
        for body in &bodies {
            hasher.update(&(body.len() as u64).to_le_bytes()).update(body);
        }
        let count = |kind: &str| {
            records.iter().filter(|record| record.system && record.kind == kind).count() as u64
        };
        Export {
            artifact_count: records.iter().filter(|record| !record.system).count() as u64,
            checkpoint_count: count(kinds::CHECKPOINT),
            event_count: count(kinds::EVENT),
            content_hash: hasher.finalize().to_hex().to_string(),
            records,
            bodies,
        }
    }

    /// Writes a new capsule that holds it, on `main`, in one commit. Its id and times come from the
    /// content, so that the same content makes the same bytes. `path` must not exist; nothing
    /// waits for it to be durable but the last sync.
    ///
    /// # Errors
    /// What the disk says.
    pub fn write_capsule(&self, path: &Path) -> Result<()> {
        let time_us = self.records.iter().map(|record| record.committed_at).max().unwrap_or(0);
        let id = blake3::hash(self.content_hash.as_bytes());
        let capsule_id = id.as_bytes()[..16].try_into().expect("sixteen of thirty-two bytes");
        kapsa_capsule::create_unlocked(
            &FileSystem,
            path,
            NewCapsule { capsule_id, created_us: time_us },
        )?;
        let mut writer = kapsa_capsule::Writer::open_unlocked(Arc::new(FileSystem), path)?;
        let mut kept = Vec::with_capacity(self.bodies.len());
        let mut transaction = writer.begin()?;
        for (bytes, sequence) in self.bodies.iter().zip(1..) {
            transaction.append(bytes)?;
            kept.push(Kept::Record {
                bytes: bytes.clone(),
                body: Box::new(codec::decode(sequence, bytes)?),
            });
        }
        let replaced = RevisionMap::default().replacements(&kept, 1);
        transaction.add_segment(index(1, &kept, &replaced)?)?;
        transaction.commit(time_us)?;
        Ok(())
    }
}

/// The body of a record in a capsule of its own, where everything is on `main` and nothing can name
/// what stayed behind.
fn body_of(record: &Record, places: &HashMap<u64, u64>) -> Vec<u8> {
    let conflicts_with =
        record.conflicts_with.iter().filter_map(|sequence| places.get(sequence).copied()).collect();
    let envelope = Envelope { system: record.system, conflicts_with, ..Envelope::default() };
    if record.tombstone {
        codec::encode_tombstone(Operation::Tombstone, &record.uri, record.committed_at, &envelope)
    } else if let Some(target) = &record.alias {
        codec::encode_alias(&record.uri, target, record.committed_at, &envelope)
    } else {
        codec::encode(&as_new(record), &record.uri, false, record.committed_at, &envelope)
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
