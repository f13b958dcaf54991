//! Takes from a remote what is new there: to branches that follow its own, or, where nothing here
//! is missing there, straight to the branch itself.
//!
//! What is here already is known by its identity and never brought again. Each batch is committed
//! with the place reached, so that whoever was interrupted goes on from there.

use std::collections::{BTreeMap, HashSet};

use kapsa_capsule::commits_after;

use crate::error::{Result, misuse};
use crate::exchange::contents;
use crate::exchange::parcel::{Chunk, Offer, Parcel, Sender, carry_vectors};
use crate::exchange::peer::Peer;
use crate::exchange::remote::{Remote, named_in};
use crate::records::branch::{MAIN, Made};
use crate::records::identity::Identity;
use crate::records::record::BranchId;
use crate::tables::lineage::Lineage;
use crate::versions::branch::tracking_record;
use crate::versions::follow::{agreeing, lacking};
use crate::versions::join::Join;
use crate::view::{View, branches};
use crate::write::options::Progress;
use crate::write::pending::Pending;
use crate::write::writer::Writer;

/// Commits of a remote with nothing that travels after which the place is noted all the same.
const QUIET_COMMITS_MAX: u64 = 256;

/// What a fetch brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// Records that came.
    pub records: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
    /// Branches that they came to.
    pub branches: Vec<String>,
    /// Whether they went straight to the branch: nothing here was missing there.
    pub fast_forward: bool,
}

/// Brings what the remote `name` has and this capsule lacks to the branches that follow it.
///
/// # Errors
/// `InvalidOperation` when there is no such remote, or another capsule is in its place; what the
/// disks or the connection report. What came before stays, and the next fetch goes on after it.
pub fn fetch(
    writer: &mut Writer,
    name: &str,
    peer: &mut dyn Peer,
    progress: Progress<'_>,
) -> Result<Fetched> {
    bring(writer, name, None, peer, progress)
}

/// As [`fetch`], but where nothing of the branch is missing at the remote, its records go straight
/// to the branch.
///
/// # Errors
/// As there.
pub fn fast_forward(
    writer: &mut Writer,
    name: &str,
    branch: &str,
    peer: &mut dyn Peer,
    progress: Progress<'_>,
) -> Result<Fetched> {
    let remote = named_in(writer.view()?, name)?;
    let is_behind = is_behind(writer.view()?, &remote, branch, peer)?;
    bring(writer, name, is_behind.then_some(branch), peer, progress)
}

/// Whether the remote has everything of a branch here.
fn is_behind(view: &View, remote: &Remote, branch: &str, peer: &mut dyn Peer) -> Result<bool> {
    if !lacking(view, &remote.tracking(branch)?, branch)?.is_empty() {
        return Ok(false);
    }
    let mut after = match remote.sent.get(branch) {
        Some(sent) => *sent,
        None => common(view, peer)?,
    };
    loop {
        let spans = commits_after(view.store().snapshot(), after)?;
        let (parcels, done) = Sender::new(view).chunk(&spans, Some(branch))?;
        let offers = parcels.iter().map(Parcel::offer).collect::<Result<Vec<Offer>>>()?;
        if !offers.is_empty() && peer.lacks(branch, &offers)?.contains(&true) {
            return Ok(false);
        }
        match done {
            Some(done) if done.number < view.store().snapshot().commit().number => {
                after = done.number;
            }
            _ => return Ok(true),
        }
    }
}

/// Number of the newest commit that both have in common, found by halving: equal chains are of
/// equal histories.
pub(crate) fn common(view: &View, peer: &mut dyn Peer) -> Result<u64> {
    let ours = view.store().snapshot();
    let (mut low, mut high) = (0, ours.commit().number.min(peer.head()?.commit));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if ours.chain_of(middle)? == peer.chain(middle)? {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Ok(low)
}

/// Where to go on from, after the capsule there turned out to be the one of before.
pub(crate) fn start(view: &View, remote: &Remote, peer: &mut dyn Peer) -> Result<u64> {
    let Some(seen) = remote.seen else { return common(view, peer) };
    if peer.chain(seen.commit)? == Some(seen.chain) {
        return Ok(seen.commit);
    }
    Err(misuse(&format!(
        "{} is not the capsule that `{}` was, or lacks commits that it had; if that is right, \
         remove the remote and add it again",
        remote.location, remote.name
    )))
}

fn bring(
    writer: &mut Writer,
    name: &str,
    straight_to: Option<&str>,
    peer: &mut dyn Peer,
    progress: Progress<'_>,
) -> Result<Fetched> {
    let mut remote = named_in(writer.view()?, name)?;
    let mut at = start(writer.view()?, &remote, peer)?;
    let shared = if remote.seen.is_some() { None } else { Some(at) };
    let head = peer.head()?;
    let (is_first, mut is_noted) = (remote.seen.is_none(), false);
    let mut fetched = Fetched { fast_forward: straight_to.is_some(), ..Fetched::default() };
    while at < head.commit {
        let chunk = peer.news(at)?;
        if chunk.upto.commit <= at {
            return Err(misuse("the other capsule sent the same commits again"));
        }
        let noted = remote.seen.map_or(0, |seen| seen.commit);
        let is_quiet = chunk.parcels.is_empty();
        let is_long = chunk.upto.commit - noted > QUIET_COMMITS_MAX;
        let is_last = chunk.is_last;
        at = chunk.upto.commit;
        if !is_quiet || is_long {
            remote.seen = Some(chunk.upto);
            is_noted = true;
            fetched.bytes += contents::fetch(writer, &chunk.parcels, peer)?;
            let batch = Incoming { remote: &remote, straight_to, shared, is_last };
            batch.take(writer, chunk, &mut fetched)?;
        }
        progress(fetched.records, None);
        if is_last {
            break;
        }
    }
    if is_first || is_noted && straight_to.is_none() {
        remote.seen = remote.seen.or(Some(head));
        agree(writer, &mut remote, shared, peer)?;
    }
    Ok(fetched)
}

/// Notes that `main` here and there hold the same, where they do; the branch that follows it is
/// there from the first time on.
fn agree(
    writer: &mut Writer,
    remote: &mut Remote,
    shared: Option<u64>,
    peer: &mut dyn Peer,
) -> Result<()> {
    let tracking = remote.tracking(MAIN)?;
    let view = writer.view()?.clone();
    let commit = view.store().snapshot().commit();
    let known = branches::find(view.store(), &tracking)?;
    let pending = if is_behind(&view, remote, MAIN, peer)? {
        remote.sent.insert(MAIN.to_string(), commit.number);
        agreeing(&view, &tracking, &remote.name, MAIN, commit.next_sequence)?
    } else if known.is_some_and(|made| made.tracks && !made.archived) {
        return Ok(());
    } else {
        let fork = parted(&view, shared, commit.next_sequence)?;
        tracking_record(&tracking, &remote.name, BranchId::MAIN, fork)?
    };
    writer.write(vec![pending, remote.pending()])?;
    Ok(())
}

/// First sequence here that two do not share whose newest common commit is `shared`; `next` where
/// they met before.
fn parted(view: &View, shared: Option<u64>, next: u64) -> Result<u64> {
    let shared = match shared {
        None => return Ok(next),
        Some(0) => return Ok(1),
        Some(shared) => shared,
    };
    let after = commits_after(view.store().snapshot(), shared)?;
    Ok(after.first().map_or(next, |span| span.first_sequence))
}

/// One chunk on its way into the log.
struct Incoming<'a> {
    remote: &'a Remote,
    straight_to: Option<&'a str>,
    /// Number of the newest commit in common, where the two never met before.
    shared: Option<u64>,
    is_last: bool,
}

impl Incoming<'_> {
    fn take(&self, writer: &mut Writer, chunk: Chunk, fetched: &mut Fetched) -> Result<()> {
        let view = writer.view()?.clone();
        let mut by_branch: BTreeMap<&str, Vec<&Parcel>> = BTreeMap::new();
        for parcel in &chunk.parcels {
            by_branch.entry(&parcel.branch).or_default().push(parcel);
        }
        // The others leave it.
        let main = by_branch.remove_entry(MAIN);
        let (mut all, mut places) = (Vec::new(), Vec::new());
        let mut followed = None;
        for (branch, parcels) in main.into_iter().chain(by_branch) {
            let arrivals =
                parcels.iter().map(|parcel| parcel.arrival()).collect::<Result<Vec<_>>>()?;
            let first = view.store().snapshot().commit().next_sequence + all.len() as u64;
            let (joined, made) = if self.straight_to == Some(branch) {
                let id = branches::named(view.store(), branch)?.id;
                let target = view.with(view.store().lineage_of(id)?);
                let mut join = Join::new(&target, id, first);
                join.all(arrivals)?;
                (Joined::of(join), None)
            } else {
                let place = self.place(&view, branch, first, followed.as_ref())?;
                let next = first + u64::from(place.making.is_some());
                let target = view.with(place.lineage);
                let beside = counterpart(&view, branch)?;
                let mut join = Join::new(&target, place.id, next).known_beside(beside);
                join.all(arrivals)?;
                if branch == MAIN && join.brought > 0 {
                    followed = Some((place.id, target.lineage().clone()));
                }
                (Joined::of(join), place.making)
            };
            if joined.brought == 0 {
                continue;
            }
            fetched.records += joined.brought;
            fetched.bytes += joined.bytes(&parcels);
            let name = match self.straight_to {
                Some(straight) if straight == branch => branch.to_string(),
                _ => self.remote.tracking(branch)?,
            };
            if !fetched.branches.contains(&name) {
                fetched.branches.push(name);
            }
            all.extend(made);
            places.extend(joined.places);
            all.extend(joined.pending);
        }
        if let (Some(branch), true) = (self.straight_to, self.is_last && fetched.records > 0) {
            let next = view.store().snapshot().commit().next_sequence + all.len() as u64;
            let tracking = self.remote.tracking(branch)?;
            all.push(agreeing(&view, &tracking, &self.remote.name, branch, next)?);
        }
        all.push(self.remote.pending());
        writer.write(all)?;
        carry_vectors(writer, chunk.vectors, &chunk.parcels, &places)
    }

    /// Where records of a branch there go; `first` is the sequence that a new branch would have.
    fn place(
        &self,
        view: &View,
        branch: &str,
        first: u64,
        followed: Option<&(BranchId, Lineage)>,
    ) -> Result<Place> {
        let store = view.store();
        let name = self.remote.tracking(branch)?;
        let known = branches::find(store, &name)?;
        if let Some(made) = known.filter(|made| made.tracks && !made.archived) {
            let lineage = store.lineage_of(made.id)?;
            return Ok(Place { id: made.id, lineage, making: None });
        }
        let (parent, lineage, fork) = if branch == MAIN {
            (BranchId::MAIN, Lineage::main(), parted(view, self.shared, first)?)
        } else {
            let main = self.remote.tracking(MAIN)?;
            let open = branches::find(store, &main)?.filter(|made: &Made| !made.archived);
            match (followed, open) {
                (Some((id, lineage)), _) => (*id, lineage.clone(), first),
                (None, Some(made)) => (made.id, store.lineage_of(made.id)?, first),
                (None, None) => {
                    (BranchId::MAIN, Lineage::main(), parted(view, self.shared, first)?)
                }
            }
        };
        let making = tracking_record(&name, &self.remote.name, parent, fork)?;
        let id = BranchId(first);
        Ok(Place { id, lineage: lineage.child(id, fork), making: Some(making) })
    }
}

/// A branch that follows another.
struct Place {
    id: BranchId,
    lineage: Lineage,
    /// The record that makes it, where it is new.
    making: Option<Pending>,
}

/// What came of joining.
struct Joined {
    pending: Vec<Pending>,
    brought: u64,
    /// Sequences here, and the identities of what is there.
    places: Vec<(u64, Identity)>,
}

impl Joined {
    fn of(join: Join<'_>) -> Joined {
        Joined { pending: join.pending, brought: join.brought, places: join.places }
    }

    fn bytes(&self, parcels: &[&Parcel]) -> u64 {
        let here: HashSet<Identity> = self.places.iter().map(|(_, identity)| *identity).collect();
        let came = parcels.iter().filter(|parcel| here.contains(&parcel.identity));
        came.map(|parcel| parcel.body.len() as u64).sum()
    }
}

/// The branch here that has the name of one there, else `main`.
pub(crate) fn counterpart(view: &View, branch: &str) -> Result<Lineage> {
    match branches::find(view.store(), branch)? {
        Some(made) if !made.tracks => view.store().lineage_of(made.id),
        _ => Ok(Lineage::main()),
    }
}
