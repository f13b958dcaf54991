//! Gives a remote what it lacks of a branch, where it has nothing that is missing here: afterwards
//! both branches hold the same revisions, and so show the same.

use kapsa_capsule::commits_after;

use crate::error::{Error, Result, misuse};
use crate::exchange::contents;
use crate::exchange::fetch::{common, start};
use crate::exchange::parcel::{Offer, Parcel, Point, Sender, vectors_of};
use crate::exchange::peer::Peer;
use crate::exchange::remote::{Remote, named_in};
use crate::records::branch::branch_name;
use crate::search::reader::Reader;
use crate::versions::follow::{agreeing, lacking};
use crate::versions::join::knows;
use crate::view::{View, branches};
use crate::write::options::Progress;
use crate::write::writer::Writer;

/// What a push gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// Records that the remote lacked.
    pub records: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
    /// The remote, and how far it is now.
    remote: Remote,
    branch: String,
    /// First sequence here that the push did not see.
    until: u64,
    is_noted: bool,
}

/// Gives a remote what it lacks of `branch`. Takes no lock here; [`note`] keeps how far it came.
///
/// # Errors
/// `InvalidOperation` when there is no such remote or branch, when it has something that is missing
/// here, or when another capsule is in its place; what the disks or the connection report.
pub fn push(
    reader: &Reader,
    name: &str,
    branch: &str,
    peer: &mut dyn Peer,
    progress: Progress<'_>,
) -> Result<Pushed> {
    let view = reader.view();
    let branch = branch_name(branch)?;
    let made = branches::named(view.store(), &branch)?;
    if made.tracks {
        return Err(misuse(&format!("branch {branch} follows another capsule: it is not pushed")));
    }
    let view = view.with(view.store().lineage_of(made.id)?);
    let mut remote = named_in(&view, name)?;
    let seen = check(&view, &remote, &branch, peer)?;
    let until = view.store().snapshot().commit().next_sequence;
    let mut after = match remote.sent.get(&branch) {
        Some(sent) => *sent,
        None => common(&view, peer)?,
    };
    let mut pushed =
        Pushed { records: 0, bytes: 0, remote: remote.clone(), branch, until, is_noted: false };
    let mut reached = None;
    let newest = view.store().snapshot().commit().number;
    let mut sender = Sender::new(&view);
    while after < newest {
        let spans = commits_after(view.store().snapshot(), after)?;
        let (parcels, done) = sender.chunk(&spans, Some(&pushed.branch))?;
        pushed.is_noted |= !parcels.is_empty();
        let offers = parcels.iter().map(Parcel::offer).collect::<Result<Vec<Offer>>>()?;
        let lacks = match offers.is_empty() {
            true => Vec::new(),
            false => peer.lacks(&pushed.branch, &offers)?,
        };
        let wanted = parcels.into_iter().zip(lacks).filter(|(_, lacks)| *lacks);
        let wanted: Vec<Parcel> = wanted.map(|(parcel, _)| parcel).collect();
        if !wanted.is_empty() {
            pushed.records += wanted.len() as u64;
            pushed.bytes += wanted.iter().map(|one| one.body.len() as u64).sum::<u64>();
            pushed.bytes += contents::push(&view, &wanted, peer)?;
            let vectors = vectors_of(&view, &wanted);
            reached = Some(peer.put(&pushed.branch, wanted, vectors)?);
            progress(pushed.records, None);
        }
        after = done.map_or(newest, |span| span.number);
    }
    let reached = reached.or(seen.point).filter(|_| seen.is_whole);
    pushed.is_noted |= reached.is_some();
    remote.seen = reached.or(remote.seen);
    remote.sent.insert(pushed.branch.clone(), newest);
    Ok(Pushed { remote, ..pushed })
}

/// Refuses a remote that has something which is missing here. Returns its newest commit where
/// nothing is left to fetch up to there, and something came since it was seen last.
fn check(view: &View, remote: &Remote, branch: &str, peer: &mut dyn Peer) -> Result<Reached> {
    let refused = |what: &str| Error::InvalidOperation {
        reason: format!(
            "`{name}` has {what} that {branch} lacks here: kapsa fetch {name}, then kapsa merge \
             {name}/{branch}",
            name = remote.name
        ),
    };
    if !lacking(view, &remote.tracking(branch)?, branch)?.is_empty() {
        return Err(refused("records, fetched already,"));
    }
    let head = peer.head()?;
    let mut at = start(view, remote, peer)?;
    let mut reached = Reached { point: None, is_whole: true };
    while at < head.commit {
        let chunk = peer.news(at)?;
        if chunk.upto.commit <= at {
            return Err(misuse("the other capsule sent the same commits again"));
        }
        for parcel in &chunk.parcels {
            if parcel.branch != branch {
                // It is fetched once somebody asks for it.
                reached.is_whole = false;
                continue;
            }
            let offer = parcel.offer()?;
            if !knows(view.store(), view.lineage(), &offer.uri, &offer.identity)? {
                return Err(refused("records"));
            }
            reached.point = Some(chunk.upto);
        }
        at = chunk.upto.commit;
        if chunk.is_last {
            break;
        }
    }
    Ok(reached)
}

/// How far a remote was read.
struct Reached {
    point: Option<Point>,
    /// Whether all of that is here.
    is_whole: bool,
}

/// Keeps how far a push came.
///
/// # Errors
/// `InvalidOperation` when the remote was removed in the meantime; what the disk reports.
pub fn note(writer: &mut Writer, pushed: &Pushed) -> Result<()> {
    if !pushed.is_noted {
        return Ok(());
    }
    let mut remote = named_in(writer.view()?, &pushed.remote.name)?;
    remote.seen = pushed.remote.seen;
    remote.sent.extend(pushed.remote.sent.clone());
    let mut all = vec![remote.pending()];
    if pushed.records > 0 {
        let tracking = remote.tracking(&pushed.branch)?;
        let view = writer.view()?;
        all.push(agreeing(view, &tracking, &remote.name, &pushed.branch, pushed.until)?);
    }
    writer.write(all)?;
    Ok(())
}
