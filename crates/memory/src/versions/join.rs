//! Joins revisions from elsewhere to a branch: what it lacks is appended, and what counts
//! afterwards follows from all revisions together ([`Ancestry`]), so that whoever joins the same
//! revisions has the same state.
//!
//! A log shows the newest revision of a URI and those that it conflicts with. Where the newest is
//! not what should be shown first, or where something that counts was replaced in this log only,
//! it is written once more, with the identity that it has.

use std::collections::{HashMap, HashSet};

use crate::error::{Error, Result};
use crate::records::access::is_of_profile;
use crate::records::branch::Made;
use crate::records::codec::{Body, Envelope, Operation};
use crate::records::identity::Identity;
use crate::records::kinds;
use crate::records::record::{BranchId, Origin, Record};
use crate::records::uri::{OWN_MARK_CHARS, Uri, UriType};
use crate::tables::lineage::Lineage;
use crate::versions::ancestry::Ancestry;
use crate::versions::event::EventType;
use crate::view::{Store, View};
use crate::write::pending::{Name, Pending, What};

/// A revision on its way to a branch.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) identity: Identity,
    pub(crate) replaces: Vec<Identity>,
    /// What it says; where it lies elsewhere means nothing here.
    pub(crate) body: Body,
    /// The revision that its origin names.
    pub(crate) origin: Option<Identity>,
}

impl Arrival {
    /// Whether it is something to be remembered, not what a capsule writes about itself.
    pub(crate) fn is_memory(&self) -> bool {
        !self.body.record.system
    }

    /// Refuses what no capsule would have written.
    pub(crate) fn check(&self) -> Result<()> {
        let record = &self.body.record;
        let refused = |reason| {
            Err(Error::InvalidOperation {
                reason: format!("{} of the other capsule {reason}", record.uri),
            })
        };
        let puts = self.body.operation == Operation::Put;
        if record.system {
            return match record.kind.as_str() {
                kinds::EVENT if puts && is_event(record) => record.as_new().check_fields(),
                kinds::CHECKPOINT if puts && record.uri.checkpoint_id().is_some() => {
                    record.as_new().check_fields()
                }
                _ => refused("is nothing that capsules exchange"),
            };
        }
        if is_of_profile(&record.uri) || record.kind == kinds::CLEARANCE {
            return refused("says who may know what, which only the owner of this one does");
        }
        if record.uri.is_reserved() {
            return refused("has a name that only the capsule itself gives");
        }
        if puts { record.as_new().check_fields() } else { Ok(()) }
    }
}

/// Whether a record has the name and the type of an event.
fn is_event(record: &Record) -> bool {
    let is_named =
        record.uri.is_reserved() && record.uri.in_run().is_some_and(|at| at.kind == UriType::Event);
    is_named && record.tags.get("type").is_some_and(|name| EventType::named(name).is_some())
}

/// Records on their way to one branch, in one commit.
pub(crate) struct Join<'a> {
    /// The branch as it is.
    view: &'a View,
    branch: BranchId,
    /// Where it is known already as well: a branch that `view` follows the news of.
    beside: Option<Lineage>,
    /// Sequence of the next record.
    next: u64,
    /// What is to be written.
    pub(crate) pending: Vec<Pending>,
    /// Revisions among it that are new here.
    pub(crate) brought: u64,
    /// By sequence here, the identity of each record that is new here.
    pub(crate) places: Vec<(u64, Identity)>,
    tracking: HashMap<BranchId, bool>,
}

impl<'a> Join<'a> {
    /// To the branch of `view`, as the records from `next` on.
    pub(crate) fn new(view: &'a View, branch: BranchId, next: u64) -> Join<'a> {
        Join {
            view,
            branch,
            beside: None,
            next,
            pending: Vec::new(),
            brought: 0,
            places: Vec::new(),
            tracking: HashMap::new(),
        }
    }

    /// What this lineage holds is known as well, and not brought.
    pub(crate) fn known_beside(mut self, beside: Lineage) -> Join<'a> {
        self.beside = Some(beside);
        self
    }

    fn store(&self) -> &'a Store {
        self.view.store()
    }

    /// Joins revisions in their order, each after those that it replaces.
    pub(crate) fn all(&mut self, arrivals: Vec<Arrival>) -> Result<()> {
        let mut order: Vec<Uri> = Vec::new();
        let mut by_uri: HashMap<Uri, Vec<Arrival>> = HashMap::new();
        for arrival in arrivals {
            arrival.check()?;
            if !arrival.is_memory() {
                self.own(arrival)?;
                continue;
            }
            let uri = arrival.body.record.uri.clone();
            let of_uri = by_uri.entry(uri.clone()).or_default();
            if of_uri.is_empty() {
                order.push(uri);
            }
            of_uri.push(arrival);
        }
        for uri in order {
            let arrivals = by_uri.remove(&uri).unwrap_or_default();
            self.uri(&uri, arrivals)?;
        }
        Ok(())
    }

    /// Joins what another capsule wrote about itself: it is there once, whatever else has its name.
    fn own(&mut self, arrival: Arrival) -> Result<()> {
        let [uri, other] = own_names(&arrival.body.record.uri, &arrival.identity)?;
        if self.has_own(&uri, &arrival.identity)? || self.has_own(&other, &arrival.identity)? {
            return Ok(());
        }
        let taken = self.store().newest_under(&uri, &Lineage::all())?.is_some()
            || self.pending.iter().any(|p| p.name == Name::Given(uri.clone()));
        let is_twice = self.places.iter().any(|(_, known)| *known == arrival.identity);
        if !is_twice {
            let name = if taken { other } else { uri };
            let origin = None;
            self.push(name, &arrival.body, arrival.identity, arrival.replaces, &[], origin);
            self.brought += 1;
        }
        Ok(())
    }

    fn has_own(&mut self, uri: &Uri, identity: &Identity) -> Result<bool> {
        for sequence in self.store().revisions_under(uri, &Lineage::all())? {
            let branch = self.store().record(sequence)?.branch;
            let counts = branch == self.branch || !self.is_tracking(branch)?;
            if counts && self.store().identity(sequence)? == *identity {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_tracking(&mut self, branch: BranchId) -> Result<bool> {
        if let Some(&known) = self.tracking.get(&branch) {
            return Ok(known);
        }
        let is_tracking = is_tracking(self.store(), branch)?;
        self.tracking.insert(branch, is_tracking);
        Ok(is_tracking)
    }

    /// Joins revisions of one URI.
    fn uri(&mut self, uri: &Uri, arrivals: Vec<Arrival>) -> Result<()> {
        let mut ancestry = Ancestry::of(self.store(), uri)?;
        let mut members = ancestry.members(self.view.lineage());
        let mut known = ancestry.known(self.view.lineage());
        if let Some(beside) = &self.beside {
            known.extend(ancestry.known(beside));
        }
        let mut shown = Shown::of(self.store(), self.view.lineage(), uri)?;
        let mut is_changed = false;
        for arrival in arrivals {
            let Arrival { identity, replaces, body, origin } = arrival;
            if known.contains(&identity) {
                continue;
            }
            let origin = translated(self.store(), uri, &body, origin)?;
            known.insert(identity);
            known.extend(&body.erased);
            members.insert(identity);
            ancestry.add(identity, replaces.clone(), body.clone());
            shown.keep(&ancestry.visible(&members));
            let sequence =
                self.push(uri.clone(), &body, identity, replaces, &shown.sequences(), origin);
            shown.0.push((identity, sequence));
            self.brought += 1;
            is_changed = true;
        }
        if is_changed {
            self.settle(uri, &ancestry, &members, shown);
        }
        Ok(())
    }

    /// Writes once more what the log would not show as it should.
    fn settle(
        &mut self,
        uri: &Uri,
        ancestry: &Ancestry,
        members: &HashSet<Identity>,
        mut shown: Shown,
    ) {
        let visible = ancestry.visible(members);
        let again = |this: &mut Self, one: Identity, shown: &mut Shown| {
            let Some(body) = ancestry.body(&one) else { return };
            shown.keep(&visible);
            shown.0.retain(|(other, _)| *other != one);
            let replaces = ancestry.replaces(&one);
            let origin = body.record.origin.clone().filter(|_| !ancestry.is_new(&one));
            let sequence = this.push(uri.clone(), body, one, replaces, &shown.sequences(), origin);
            shown.0.push((one, sequence));
        };
        let Some((&first, others)) = visible.split_last() else {
            // Where all is forgotten, a tombstone comes last.
            let newest = shown.0.last().map(|(one, _)| *one);
            let is_live = newest.is_some_and(|one| ancestry.is_live(&one));
            if let Some(one) = ancestry.forgotten_by(members).filter(|_| is_live) {
                again(self, one, &mut shown);
            }
            return;
        };
        for &other in others {
            if !shown.has(other) {
                again(self, other, &mut shown);
            }
        }
        let is_shown =
            shown.0.last().is_some_and(|(one, _)| *one == first) && shown.0.len() == visible.len();
        if !is_shown {
            again(self, first, &mut shown);
        }
    }

    fn push(
        &mut self,
        uri: Uri,
        body: &Body,
        identity: Identity,
        replaces: Vec<Identity>,
        conflicts_with: &[u64],
        origin: Option<Origin>,
    ) -> u64 {
        let record = &body.record;
        let envelope = Envelope {
            branch: self.branch,
            system: record.system,
            conflicts_with: conflicts_with.to_vec(),
            origin,
            provenance: record.provenance.clone(),
            identity: Some(identity),
            replaces,
            erased: body.erased.clone(),
        };
        let what = match (body.operation, &record.alias) {
            (_, Some(target)) => What::Alias(target.clone()),
            (Operation::Put | Operation::Alias, None) => What::Put(Box::new(record.as_new())),
            // What was purged elsewhere is forgotten here; whether it is erased here is for the
            // owner of this capsule to say.
            (Operation::Tombstone | Operation::Purge, None) => {
                What::Bury { operation: Operation::Tombstone, agent: record.agent.clone() }
            }
        };
        let sequence = self.next;
        self.next += 1;
        self.pending.push(Pending { name: Name::Given(uri), what, envelope });
        self.places.push((sequence, identity));
        sequence
    }
}

/// What the log shows of a URI: its newest revision last, before it those that it conflicts with.
struct Shown(Vec<(Identity, u64)>);

impl Shown {
    fn of(store: &Store, lineage: &Lineage, uri: &Uri) -> Result<Shown> {
        let Some(head) = store.newest_under(uri, lineage)? else { return Ok(Shown(Vec::new())) };
        let identified = |sequence| Ok((store.identity(sequence)?, sequence));
        head.all().map(identified).collect::<Result<_>>().map(Shown)
    }

    fn keep(&mut self, visible: &[Identity]) {
        self.0.retain(|(one, _)| visible.contains(one));
    }

    fn has(&self, identity: Identity) -> bool {
        self.0.iter().any(|(one, _)| *one == identity)
    }

    fn sequences(&self) -> Vec<u64> {
        let mut sequences: Vec<u64> = self.0.iter().map(|(_, sequence)| *sequence).collect();
        sequences.sort_unstable();
        sequences
    }
}

/// Where an origin lies here; none where what it names did not come.
fn translated(
    store: &Store,
    uri: &Uri,
    body: &Body,
    origin: Option<Identity>,
) -> Result<Option<Origin>> {
    let (Some(there), Some(wanted)) = (&body.record.origin, origin) else { return Ok(None) };
    for sequence in store.revisions_under(uri, &Lineage::all())? {
        if store.identity(sequence)? == wanted {
            let branch = store.record(sequence)?.branch;
            return Ok(Some(Origin { branch, sequence, ..there.clone() }));
        }
    }
    Ok(None)
}

/// What a record that a capsule wrote about itself may be called: as where it was written, and with
/// a mark where that name is taken by another.
fn own_names(uri: &Uri, identity: &Identity) -> Result<[Uri; 2]> {
    let mark = identity.to_string();
    let mark = &mark[..OWN_MARK_CHARS];
    let bare = uri.as_str().strip_suffix(&format!("-{mark}")).unwrap_or(uri.as_str());
    Ok([Uri::parse(bare)?, Uri::parse(&format!("{bare}-{mark}"))?])
}

/// Whether a branch follows one of another capsule.
pub(crate) fn is_tracking(store: &Store, branch: BranchId) -> Result<bool> {
    Ok(branch != BranchId::MAIN && store.made(branch)?.is_some_and(|made: Made| made.tracks))
}

/// Whether a lineage holds a revision, or knows that it was erased.
pub(crate) fn knows(
    store: &Store,
    lineage: &Lineage,
    uri: &Uri,
    identity: &Identity,
) -> Result<bool> {
    let names = match uri.is_reserved() {
        true => own_names(uri, identity)?.to_vec(),
        false => vec![uri.clone()],
    };
    for name in names {
        for sequence in store.revisions_under(&name, &Lineage::all())? {
            let body = store.body(sequence)?;
            let branch = body.record.branch;
            let counts = match body.record.system {
                true => !is_tracking(store, branch)? || branch == lineage.own(),
                false => lineage.hold(branch, sequence),
            };
            let is_it = || -> Result<bool> {
                Ok(store.identity(sequence)? == *identity || body.erased.contains(identity))
            };
            if counts && is_it()? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
