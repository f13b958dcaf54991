//! The branches of a capsule. Each is a record that says where it left its parent; everything else
//! follows from it.

use serde_json::Value;

use crate::error::{Error, Result, misuse};
use crate::records::branch::{Made, TRACKS};
use crate::records::codec::Envelope;
use crate::records::kinds::BRANCH;
use crate::records::provenance::Trust;
use crate::records::record::{BranchId, Micros, NewRecord, Record};
use crate::records::request::LIMIT_NONE;
use crate::search::reader::Reader;
use crate::tables::branch_table::Class;
use crate::tables::lineage::{BRANCH_DEPTH_MAX, Lineage};
use crate::view::as_of::{self, AsOf};
use crate::view::{View, branches};
use crate::write::pending::{Name, Pending, What};
use crate::write::screen::flags_of_name;
use crate::write::whole;
use crate::write::writer::Writer;

pub use crate::records::branch::{
    BRANCH_NAME_BYTES_MAX, MAIN, RUN_PREFIX, branch_name, run_branch, run_id, run_name,
    run_of_branch,
};

/// A branch as listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Its number: the sequence of the record that made it.
    pub id: BranchId,
    /// Its name.
    pub name: String,
    /// Name of the branch that it left, none for `main`.
    pub parent: Option<String>,
    /// Last sequence of the parent that it sees.
    pub fork: u64,
    /// When it was made; 0 for `main`.
    pub created_at: Micros,
    /// Whether it was archived: it can be read and not written.
    pub archived: bool,
    /// The remote of which it follows a branch, if it does: fetch writes it, and nobody else.
    pub remote: Option<String>,
}

/// Every branch in the order in which they were made, `main` first, archived ones included.
///
/// # Errors
/// What the disk or a damaged file reports.
pub fn list(reader: &Reader) -> Result<Vec<Branch>> {
    in_view(reader.view())
}

/// As [`list`], in a view.
pub(crate) fn in_view(view: &View) -> Result<Vec<Branch>> {
    let main = Branch {
        id: BranchId::MAIN,
        name: MAIN.to_string(),
        parent: None,
        fork: 0,
        created_at: 0,
        archived: false,
        remote: None,
    };
    let mut branches = vec![main];
    let filter = kapsa_index::Filter {
        all: vec![vec![format!("kind:{BRANCH}")]],
        seqs: Some(view.store().sequences(&Lineage::all(), Class::System)?),
        ..kapsa_index::Filter::default()
    };
    for sequence in view.store().searcher()?.oldest(&filter, LIMIT_NONE, None, &mut |_| true)? {
        let record = view.store().record(sequence)?;
        let Some(made) = Made::of(&record) else { continue };
        if made.id.0 != sequence {
            if let Ok(at) = branches.binary_search_by_key(&made.id, |branch| branch.id) {
                branches[at].archived = made.archived;
            }
            continue;
        }
        let name = record.uri.branch_name().unwrap_or_default().to_string();
        // One that follows another leaves its parent anew whenever the two agree.
        branches.retain(|earlier| earlier.name != name);
        branches.push(Branch {
            id: made.id,
            remote: remote_of(&record),
            name,
            parent: Some(branches::name_of(view.store(), made.parent)?),
            fork: made.fork.saturating_sub(1),
            created_at: record.committed_at,
            archived: made.archived,
        });
    }
    Ok(branches)
}

/// The branch called `name`, archived or not.
///
/// # Errors
/// `BranchNotFound`.
pub fn named(reader: &Reader, name: &str) -> Result<Branch> {
    let view = reader.view();
    let made = branches::named(view.store(), name)?;
    let main = made.id == BranchId::MAIN;
    Ok(Branch {
        id: made.id,
        name: branches::name_of(view.store(), made.id)?,
        parent: if main { None } else { Some(branches::name_of(view.store(), made.parent)?) },
        fork: made.fork.saturating_sub(1),
        created_at: if main { 0 } else { view.store().record(made.id.0)?.committed_at },
        archived: made.archived,
        remote: if main { None } else { remote_of(&view.store().record(made.id.0)?) },
    })
}

/// The branch that a name means: the one called so, else the branch of the run with this id.
///
/// # Errors
/// `BranchNotFound` when there is neither.
pub fn meant(reader: &Reader, text: &str) -> Result<String> {
    let store = reader.view().store();
    if text.trim() == MAIN {
        return Ok(MAIN.to_string());
    }
    // May be dropped: what is no name of the one kind may be one of the other.
    for name in [branch_name(text), run_branch(text)].into_iter().flatten() {
        if branches::find(store, &name)?.is_some() {
            return Ok(name);
        }
    }
    named(reader, text).map(|branch| branch.name)
}

/// Makes a branch that sees what `parent` sees now, or as of then. Costs what a put costs.
///
/// # Errors
/// `InvalidOperation` when the name is invalid, is taken, also by an archived branch, or the parent
/// has too many ancestors; `BranchNotFound`; `UnknownAsOf`.
pub fn create(
    writer: &mut Writer,
    name: &str,
    parent: &str,
    as_of: Option<&AsOf>,
) -> Result<Branch> {
    create_with(writer, name, parent, as_of, None)
}

/// As [`create`], and puts a record on the parent in the same commit.
///
/// # Errors
/// As there; `InvalidRecord`.
pub fn create_with(
    writer: &mut Writer,
    name: &str,
    parent: &str,
    as_of: Option<&AsOf>,
    on_parent: Option<NewRecord>,
) -> Result<Branch> {
    let name = branch_name(name)?;
    refuse_flagged(writer, &name)?;
    let view = writer.view()?;
    if name == MAIN || branches::find(view.store(), &name)?.is_some() {
        return Err(misuse(&format!(
            "there is a branch `{name}` already, and a name is never used again"
        )));
    }
    let next = view.store().snapshot().commit().next_sequence;
    let parent_made = branches::named(view.store(), parent)?;
    let lineage = view.store().lineage_of(parent_made.id)?;
    check_depth(&lineage)?;
    let fork = as_of.map_or(Ok(next), |as_of| as_of::position_after(&view.with(lineage), as_of))?;
    let record = Made::record(&name, parent_made.id, fork, None, false)?;
    let mut all = vec![branch_record(record, parent_made.id, fork, None)];
    let envelope = Envelope { branch: parent_made.id, ..Envelope::default() };
    all.extend(on_parent.map(|record| Pending::put(record, envelope)));
    let parent = branches::name_of(view.store(), parent_made.id)?;
    let records = whole::write(writer, all)?;
    Ok(Branch {
        id: BranchId(records[0].sequence),
        name,
        parent: Some(parent),
        fork: fork.saturating_sub(1),
        created_at: records[0].committed_at,
        archived: false,
        remote: None,
    })
}

/// Refuses a name of somebody else than the owner that reads like an order: a branch waits for no
/// review.
fn refuse_flagged(writer: &Writer, name: &str) -> Result<()> {
    if writer.envelope().provenance.trust == Trust::Owner {
        return Ok(());
    }
    match flags_of_name(name).first() {
        None => Ok(()),
        Some(flag) => Err(misuse(&format!("no branch may be called so: {}", flag.reason))),
    }
}

/// Closes a branch: it can be read and not written any more, not by this writer either.
///
/// # Errors
/// `BranchNotFound`; `InvalidOperation` for `main` and for one that is archived already.
pub fn archive(writer: &mut Writer, name: &str) -> Result<()> {
    let name = branch_name(name)?;
    let made = branches::named(writer.view()?.store(), &name)?;
    if made.id == BranchId::MAIN || made.archived {
        let reason = if made.archived { "it is already" } else { "main is always open" };
        return Err(misuse(&format!("branch {name} cannot be archived: {reason}")));
    }
    writer.write(vec![archiving(&name, &made)?])?;
    Ok(())
}

/// The record that archives a branch.
pub(crate) fn archiving(name: &str, made: &Made) -> Result<Pending> {
    let record = Made::record(name, made.parent, made.fork, Some(made.id), true)?;
    Ok(branch_record(record, made.parent, made.fork, Some(made.id)))
}

/// The record that makes a branch which follows one of a remote.
pub(crate) fn tracking_record(
    name: &str,
    remote: &str,
    parent: BranchId,
    fork: u64,
) -> Result<Pending> {
    let mut record = Made::record(name, parent, fork, None, false)?;
    record.metadata.insert(TRACKS.to_string(), remote.into());
    Ok(branch_record(record, parent, fork, None))
}

/// The remote of which a branch follows another.
fn remote_of(record: &Record) -> Option<String> {
    record.metadata.get(TRACKS).and_then(Value::as_str).map(str::to_string)
}

/// Archives the branches among these that are open, and puts a record on the current one first, in
/// one commit.
///
/// # Errors
/// As [`archive`].
pub fn archive_all(writer: &mut Writer, names: Vec<String>, record: NewRecord) -> Result<()> {
    let mut all = vec![Pending::put(record, writer.envelope())];
    for name in names {
        let open = branches::find(writer.view()?.store(), &name)?.filter(|made| !made.archived);
        let Some(made) = open else { continue };
        all.push(archiving(&name, &made)?);
    }
    writer.write(all).map(drop)
}

/// The record that makes a branch, or archives one.
pub(crate) fn branch_record(
    mut record: NewRecord,
    parent: BranchId,
    fork: u64,
    archives: Option<BranchId>,
) -> Pending {
    let name = Name::Given(record.uri.take().expect("a branch has a name"));
    let envelope = Envelope { branch: parent, system: true, ..Envelope::default() };
    Pending {
        name,
        what: What::Branch { record: Box::new(record), parent, fork, archives },
        envelope,
    }
}

/// What is written on the writer's branch itself, without what it inherits.
///
/// # Errors
/// What the disk or a damaged file reports.
pub fn own(writer: &mut Writer) -> Result<Reader> {
    let branch = writer.branch_id();
    Ok(writer.reader()?.only([branch]))
}

/// Refuses a branch that would have too many ancestors.
fn check_depth(parent: &Lineage) -> Result<()> {
    if parent.depth() < BRANCH_DEPTH_MAX {
        return Ok(());
    }
    let reason = format!("a branch may have at most {BRANCH_DEPTH_MAX} ancestors");
    Err(Error::InvalidOperation { reason })
}
