//! The other capsules that this one knows by name, and how far it has exchanged records with each.
//!
//! All of it is a system record under `kapsa/remote/<name>`, which stays in this capsule.

use std::collections::BTreeMap;

use base16ct::lower;
use serde_json::{Map, Value};

use crate::error::{Error, Result, misuse};
use crate::exchange::parcel::Point;
use crate::records::branch::branch_name;
use crate::records::codec::{Envelope, Operation};
use crate::records::kinds::REMOTE;
use crate::records::record::{NewRecord, Record};
use crate::records::request::LIMIT_NONE;
use crate::records::uri::Uri;
use crate::search::reader::Reader;
use crate::tables::branch_table::Class;
use crate::tables::lineage::Lineage;
use crate::view::{Store, View, branches};
use crate::write::pending::{Name, Pending, What};
use crate::write::writer::Writer;

/// Longest location of a remote, in bytes.
pub const LOCATION_BYTES_MAX: usize = 4096;

/// Another capsule that this one knows by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remote {
    /// Its name; its branches are called `<name>/<branch>` here.
    pub name: String,
    /// Where it is: a path, or `ssh://host/path`.
    pub location: String,
    /// How far its records have come here; none before the first fetch.
    pub seen: Option<Point>,
    /// Number of the commit here up to which it has the records of a branch.
    pub(crate) sent: BTreeMap<String, u64>,
}

impl Remote {
    /// Under which name here one of its branches is followed.
    pub(crate) fn tracking(&self, branch: &str) -> Result<String> {
        branch_name(&format!("{}/{branch}", self.name))
    }

    /// What is written about it.
    pub(crate) fn pending(&self) -> Pending {
        let mut metadata = Map::new();
        metadata.insert("location".to_string(), self.location.clone().into());
        if let Some(seen) = &self.seen {
            metadata.insert("commit".to_string(), seen.commit.into());
            metadata.insert("chain".to_string(), lower::encode_string(&seen.chain).into());
        }
        let sent: Map<String, Value> =
            self.sent.iter().map(|(branch, commit)| (branch.clone(), (*commit).into())).collect();
        metadata.insert("sent".to_string(), sent.into());
        let record = NewRecord {
            kind: REMOTE.to_string(),
            metadata,
            ..NewRecord::text(format!("remote {}", self.name))
        };
        let envelope = Envelope { system: true, ..Envelope::default() };
        let name = Name::Given(Uri::remote(&self.name));
        Pending { name, what: What::Put(Box::new(record)), envelope }
    }

    fn of(record: &Record) -> Option<Remote> {
        let name = record.uri.remote_name().filter(|_| record.system)?;
        let text = |field: &str| record.metadata.get(field).and_then(Value::as_str);
        let mut chain = [0; 32];
        let is_chain = text("chain").is_some_and(|hex| {
            hex.len() == 2 * chain.len() && lower::decode(hex, &mut chain).is_ok()
        });
        let commit = record.metadata.get("commit").and_then(Value::as_u64).filter(|_| is_chain);
        let sent = record.metadata.get("sent").and_then(Value::as_object);
        let sent = sent.into_iter().flatten();
        Some(Remote {
            name: name.to_string(),
            location: text("location").unwrap_or_default().to_string(),
            seen: commit.map(|commit| Point { commit, chain }),
            sent: sent
                .filter_map(|(branch, commit)| Some((branch.clone(), commit.as_u64()?)))
                .collect(),
        })
    }
}

/// The remotes of a capsule, by name.
///
/// # Errors
/// What the disk or a damaged file reports.
pub fn list(reader: &Reader) -> Result<Vec<Remote>> {
    let view = reader.view();
    let filter = kapsa_index::Filter {
        all: vec![vec![format!("kind:{REMOTE}")]],
        seqs: Some(view.store().sequences(&Lineage::main(), Class::System)?),
        ..kapsa_index::Filter::default()
    };
    let mut names = BTreeMap::new();
    for sequence in view.store().searcher()?.oldest(&filter, LIMIT_NONE, None, &mut |_| true)? {
        let record = view.store().record(sequence)?;
        names.extend(record.uri.remote_name().map(|name| (name.to_string(), ())));
    }
    let remotes = names.into_keys().map(|name| find(view.store(), &name));
    Ok(remotes.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// The remote called `name`.
///
/// # Errors
/// `InvalidOperation` when there is none.
pub fn named(reader: &Reader, name: &str) -> Result<Remote> {
    named_in(reader.view(), name)
}

pub(crate) fn named_in(view: &View, name: &str) -> Result<Remote> {
    find(view.store(), name)?.ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> Error {
    misuse(&format!("there is no remote `{name}`; add it with kapsa remote add {name} PATH"))
}

fn find(store: &Store, name: &str) -> Result<Option<Remote>> {
    let Some(head) = store.newest_under(&Uri::remote(name), &Lineage::main())? else {
        return Ok(None);
    };
    let record = store.record(head.sequence)?;
    Ok(if record.tombstone { None } else { Remote::of(&record) })
}

/// A name as remotes have: that of a branch without a slash, as its branches are called after it.
///
/// # Errors
/// `InvalidOperation` when it is not one.
pub fn remote_name(text: &str) -> Result<String> {
    let name = branch_name(text)?;
    if name.contains('/') || name == crate::records::branch::MAIN || name == "run" {
        return Err(misuse(&format!("`{name}` cannot name a remote")));
    }
    Ok(name)
}

/// Adds a remote.
///
/// # Errors
/// `InvalidOperation` when the name is none, taken by a remote, or begins the name of a branch.
pub fn add(writer: &mut Writer, name: &str, location: &str) -> Result<Remote> {
    let name = remote_name(name)?;
    check_location(location)?;
    if find(writer.view()?.store(), &name)?.is_some() {
        return Err(misuse(&format!("there is a remote `{name}` already")));
    }
    let prefix = format!("{name}/");
    for branch in crate::versions::branch::in_view(writer.view()?)? {
        if branch.name.starts_with(&prefix) && branch.remote.is_none() {
            let reason = format!("branch {} would look like one of `{name}`", branch.name);
            return Err(misuse(&reason));
        }
    }
    let remote = Remote { name, location: location.to_string(), ..Remote::default() };
    writer.write(vec![remote.pending()])?;
    Ok(remote)
}

fn check_location(location: &str) -> Result<()> {
    let is_odd = location.trim().is_empty() || location.contains(char::is_control);
    if is_odd || location.len() > LOCATION_BYTES_MAX {
        return Err(misuse("the location of a remote is empty, too long, or has odd characters"));
    }
    Ok(())
}

/// Forgets a remote. Branches that follow it stay, archived.
///
/// # Errors
/// `InvalidOperation` when there is none.
pub fn remove(writer: &mut Writer, name: &str) -> Result<Remote> {
    let remote = named_in(writer.view()?, name)?;
    let envelope = Envelope { system: true, ..Envelope::default() };
    let uri = Uri::remote(&remote.name);
    let mut all = vec![Pending::bury(Operation::Tombstone, uri, envelope)];
    for branch in crate::versions::branch::in_view(writer.view()?)? {
        if branch.remote.as_deref() == Some(&remote.name) && !branch.archived {
            let made = branches::named(writer.view()?.store(), &branch.name)?;
            all.push(crate::versions::branch::archiving(&branch.name, &made)?);
        }
    }
    writer.write(all)?;
    Ok(remote)
}

/// Calls a remote otherwise. Its branches are fetched anew under the new name; those under the old
/// one stay, archived.
///
/// # Errors
/// `InvalidOperation` when there is none, or the new name is taken or none.
pub fn rename(writer: &mut Writer, name: &str, to: &str) -> Result<Remote> {
    let remote = named_in(writer.view()?, name)?;
    let added = add(writer, to, &remote.location)?;
    remove(writer, name)?;
    Ok(added)
}
