//! Reads and reverts history: what changed, who changed it, and how it is undone.

use std::collections::BTreeSet;

use crate::error::{Result, misuse, not_found};
use crate::records::codec::{Envelope, Operation};
use crate::records::kinds::CHECKPOINT;
use crate::records::record::{BranchId, Decision, Origin, Record};
use crate::records::request::{Filter, LIMIT_NONE};
use crate::records::uri::Uri;
use crate::search::reader::Reader;
use crate::tables::branch_table::Class;
use crate::tables::lineage::Lineage;
use crate::versions::branch;
use crate::versions::merge::{same, together};
use crate::view::blobs;
use crate::view::checkpoints::{self, Checkpoint};
use crate::view::{View, branches};
use crate::write::pending::Pending;
use crate::write::writer::Writer;

/// How one URI differs between two views.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The URI.
    pub uri: Uri,
    /// What the first view has, none when nothing.
    pub a: Option<Record>,
    /// What the second view has.
    pub b: Option<Record>,
}

/// One revision in the life of a URI.
#[derive(Clone, Debug, PartialEq)]
pub struct Blame {
    /// The revision.
    pub record: Record,
    /// Branch that it was written on.
    pub branch: String,
    /// Whether it counts now, alone or beside others.
    pub current: bool,
    /// What it stands for, when it was merged, picked or brought back: the branch's name and the
    /// revision there.
    pub from: Option<(String, Record)>,
    /// The merge's checkpoint.
    pub checkpoint: Option<Checkpoint>,
}

/// What is to be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undo {
    /// Everything that was committed together with this record.
    Commit(u64),
    /// Everything that came from a run: written in it, or merged from its branch.
    Run(String),
    /// Everything that was read from a source.
    Source(String),
}

/// What undoing did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// URIs that have an earlier revision again.
    pub restored: Vec<Uri>,
    /// URIs that have nothing any more.
    pub removed: Vec<Uri>,
    /// URIs that somebody else has changed since: they stay as they are.
    pub kept: Vec<Uri>,
}

/// How `other`, a view of the same capsule, differs from the first, by URI.
///
/// # Errors
/// What the disk or a damaged file reports.
pub fn differences(reader: &Reader, other: &Reader) -> Result<Vec<Difference>> {
    let (view, other) = (reader.view(), other.view());
    let (mine, theirs) = (
        view.store().sequences(view.lineage(), Class::Memory)?,
        view.store().sequences(other.lineage(), Class::Memory)?,
    );
    let mut uris = BTreeSet::new();
    for seqs in [mine.difference(&theirs), theirs.difference(&mine)] {
        for sequence in seqs.ranges().iter().flat_map(std::clone::Clone::clone) {
            uris.insert(view.store().record(sequence)?.uri);
        }
    }
    let mut differences = Vec::new();
    for uri in uris {
        let (mut a, mut b) = (view.counting(&uri)?, other.counting(&uri)?);
        if !same(&a, &b) {
            differences.push(Difference {
                uri,
                a: a.pop().map(|a| a.record),
                b: b.pop().map(|b| b.record),
            });
        }
    }
    Ok(differences)
}

/// Characters of a text that a log has.
pub const LOG_TEXT_CHARS_MAX: usize = 1000;

/// What was written on this branch and those that it left (or on all), newest first, the capsule's
/// own records included, but for signatures. Of a text it has the beginning, at most
/// [`LOG_TEXT_CHARS_MAX`]: a log may be long.
///
/// # Errors
/// What the disk or a damaged file reports.
pub fn log(reader: &Reader, limit: usize, all_branches: bool) -> Result<Vec<Record>> {
    let view = reader.view();
    let lineage = if all_branches {
        Lineage::all().before(view.lineage().below())
    } else {
        view.lineage().clone()
    };
    let seqs = view.store().sequences(&lineage, Class::Both)?;
    let seqs = seqs.difference(&blobs::sequences(view.store())?);
    let newest = seqs.ranges().iter().rev().flat_map(|range| range.clone().rev());
    let records = newest.map(|sequence| view.store().record(sequence));
    let logged = |record: Result<Record>| {
        let record = record?;
        let text = match record.text.char_indices().nth(LOG_TEXT_CHARS_MAX) {
            Some((end, _)) => record.text[..end].to_string(),
            None => record.text,
        };
        Ok(Record { text, ..record })
    };
    let is_shown =
        |record: &Result<Record>| record.as_ref().map_or(true, |record| !is_bookkeeping(record));
    records.filter(is_shown).take(limit).map(logged).collect()
}

/// Whether a record is nothing that anybody did: a signature, or how far a remote was read.
fn is_bookkeeping(record: &Record) -> bool {
    record.is_signature() || record.uri.remote_name().is_some()
}

/// The life of a URI, oldest first: who wrote each revision, where it came from, and how it was
/// decided.
///
/// # Errors
/// `UriNotFound`.
pub fn blame(reader: &Reader, uri: &Uri) -> Result<Vec<Blame>> {
    let view = reader.view();
    let head = view.newest(uri)?.ok_or_else(|| not_found(uri))?;
    let current: Vec<u64> = head.all().collect();
    let mut lives = Vec::new();
    for sequence in view.revisions(uri)? {
        let record = view.store().record(sequence)?;
        let mut from = None;
        let mut checkpoint = None;
        if let Some(origin) = &record.origin {
            from = Some((
                branches::name_of(view.store(), origin.branch)?,
                view.store().record(origin.sequence)?,
            ));
            if !matches!(origin.decision, Decision::Picked | Decision::Reverted) {
                checkpoint = checkpoint_after(view, record.branch, sequence)?;
            }
        }
        let branch = branches::name_of(view.store(), record.branch)?;
        lives.push(Blame {
            current: current.contains(&sequence),
            branch,
            from,
            checkpoint,
            record,
        });
    }
    Ok(lives)
}

/// The first checkpoint on a branch after a record: a merge's, for what it merged.
fn checkpoint_after(view: &View, branch: BranchId, sequence: u64) -> Result<Option<Checkpoint>> {
    let filter = kapsa_index::Filter {
        all: vec![vec![format!("kind:{}", CHECKPOINT)]],
        seqs: Some(view.store().sequences(&Lineage::alone(branch), Class::System)?),
        ..kapsa_index::Filter::default()
    };
    let found = view.store().searcher()?.oldest(&filter, 1, Some(sequence), &mut |_| true)?;
    found.first().map(|&sequence| checkpoints::at(view, sequence)).transpose()
}

/// Undoes what came from one commit, run or source on the current branch: every URI gets back the
/// newest revision that did not come from there, with those that contested it, or is forgotten.
/// What somebody else has changed since stays. One commit; history keeps everything.
///
/// # Errors
/// `InvalidOperation` when nothing came from there.
pub fn revert(writer: &mut Writer, undo: &Undo, by: &str, note: &str) -> Result<Undone> {
    let branch = writer.branch_id();
    let view = writer.view()?;
    let undo = match undo {
        Undo::Run(run) => Undo::Run(branch::run_id(run)?.to_string()),
        other => other.clone(),
    };
    let spans = spans_of(view, &undo)?;
    let mut undone = Undone::default();
    let next = view.store().snapshot().commit().next_sequence;
    let envelope = |branch_there, sequence| Envelope {
        branch,
        origin: Some(Origin {
            branch: branch_there,
            sequence,
            decision: Decision::Reverted,
            by: by.to_string(),
            note: note.to_string(),
        }),
        ..Envelope::default()
    };
    let mut all: Vec<Pending> = Vec::new();
    for uri in touched(view, &undo, &spans)? {
        match earlier(view, &uri, &undo, &spans)? {
            Earlier::Nothing => {}
            Earlier::Kept => undone.kept.push(uri),
            Earlier::Back(sequence, back) if back.is_empty() => {
                all.push(Pending::bury(
                    Operation::Tombstone,
                    uri.clone(),
                    envelope(branch, sequence),
                ));
                undone.removed.push(uri);
            }
            Earlier::Back(_, back) => {
                let next = next + all.len() as u64;
                all.extend(together(back.iter(), next, Vec::new(), |record| {
                    envelope(record.branch, record.sequence)
                }));
                undone.restored.push(uri);
            }
        }
    }
    if all.is_empty() && undone.kept.is_empty() {
        return Err(misuse(
            "there is nothing to undo: no current record of this branch was written by that commit, run or source",
        ));
    }
    writer.write(all)?;
    Ok(undone)
}

/// Whether a revision is one of those to be undone.
fn is_undone(undo: &Undo, record: &Record, spans: &Spans) -> bool {
    match undo {
        Undo::Commit(_) => spans.commit.contains(&record.sequence),
        Undo::Run(run) => {
            let merged = record.origin.as_ref().map(|origin| origin.branch);
            branch::run_name(&record.run) == *run
                || [Some(record.branch), merged]
                    .into_iter()
                    .flatten()
                    .any(|b| Some(b) == spans.branch)
        }
        Undo::Source(source) => record.source.as_ref().is_some_and(|from| from.path == *source),
    }
}

/// URIs that may have to be restored.
fn touched(view: &View, undo: &Undo, spans: &Spans) -> Result<BTreeSet<Uri>> {
    let mut uris = BTreeSet::new();
    let mut filter = Filter::default();
    match undo {
        Undo::Commit(_) => {
            for sequence in spans.commit.clone() {
                let record = view.store().record(sequence)?;
                if !record.system && !record.purged && view.lineage().hold(record.branch, sequence)
                {
                    uris.insert(record.uri);
                }
            }
            return Ok(uris);
        }
        Undo::Run(run) => filter.runs.push(run.clone()),
        Undo::Source(source) => filter.sources.push(source.clone()),
    }
    let seqs = Some(view.store().sequences(view.lineage(), Class::Memory)?);
    let filter = kapsa_index::Filter { seqs, ..filter.to_index() };
    let mut sequences =
        view.store().searcher()?.oldest(&filter, LIMIT_NONE, None, &mut |_| true)?;
    if let Some(branch) = spans.branch {
        let own = view.store().sequences(&Lineage::alone(branch), Class::Memory)?;
        sequences.extend(own.ranges().iter().flat_map(std::clone::Clone::clone));
    }
    for sequence in sequences {
        let record = view.store().record(sequence)?;
        if !record.purged {
            uris.insert(record.uri);
        }
    }
    Ok(uris)
}

fn spans_of(view: &View, undo: &Undo) -> Result<Spans> {
    let mut spans = Spans { commit: 0..0, branch: None };
    match undo {
        Undo::Source(_) => {}
        Undo::Run(run) => {
            spans.branch =
                branches::find(view.store(), &branch::run_branch(run)?)?.map(|made| made.id)
        }
        Undo::Commit(sequence) => {
            // Fails for a sequence that does not exist.
            view.store().record(*sequence)?;
            let commits = view.store().snapshot().commits()?;
            let of = |commit: &&kapsa_capsule::CommitSpan| {
                (commit.first_sequence..commit.next_sequence).contains(sequence)
            };
            spans.commit = commits
                .iter()
                .find(of)
                .map_or(0..0, |commit| commit.first_sequence..commit.next_sequence);
        }
    }
    Ok(spans)
}

/// What is to count under a URI again, if something that counts is to be undone: what else counts,
/// or else what did before.
fn earlier(view: &View, uri: &Uri, undo: &Undo, spans: &Spans) -> Result<Earlier> {
    let Some(head) = view.newest(uri)? else { return Ok(Earlier::Nothing) };
    let heads =
        head.all().map(|sequence| view.store().record(sequence)).collect::<Result<Vec<_>>>()?;
    let (undone, others): (Vec<Record>, Vec<Record>) =
        heads.into_iter().partition(|record| is_undone(undo, record, spans));
    if undone.is_empty() {
        // What came back when it was undone is no change of somebody else.
        let is_reverted = |record: &Record| {
            record.origin.as_ref().is_some_and(|origin| origin.decision == Decision::Reverted)
        };
        if others.iter().all(is_reverted) {
            return Ok(Earlier::Nothing);
        }
        let any = view
            .revisions(uri)?
            .into_iter()
            .map(|s| view.store().record(s))
            .collect::<Result<Vec<_>>>()?;
        let touched = any.iter().any(|record| is_undone(undo, record, spans));
        return Ok(if touched { Earlier::Kept } else { Earlier::Nothing });
    }
    if !others.is_empty() {
        return Ok(Earlier::Back(head.sequence, others));
    }
    let mut back = Vec::new();
    for sequence in
        view.revisions(uri)?.into_iter().rev().filter(|sequence| *sequence < head.sequence)
    {
        let body = view.store().body(sequence)?;
        // What was purged does not come back, erased or not yet.
        if body.operation == Operation::Purge || view.store().is_purged(uri, sequence)? {
            break;
        }
        if !is_undone(undo, &body.record, spans) {
            back.extend(view.store().counting_with(&body)?.into_iter().map(|body| body.record));
            back.retain(|record| !is_undone(undo, record, spans));
            break;
        }
    }
    let gone = back.is_empty() && undone.iter().all(|record| record.tombstone);
    Ok(if gone { Earlier::Nothing } else { Earlier::Back(head.sequence, back) })
}

/// Where the revisions lie that are to be undone.
struct Spans {
    commit: std::ops::Range<u64>,
    branch: Option<BranchId>,
}

/// What is to become of a URI.
enum Earlier {
    Nothing,
    /// Changed since by somebody else.
    Kept,
    /// These come back in place of that revision; when there are none, the URI is forgotten.
    Back(u64, Vec<Record>),
}
