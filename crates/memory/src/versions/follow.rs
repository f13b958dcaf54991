//! Merges a branch that follows one of another capsule. What both sides hold decides, not how it
//! came there: its revisions are joined with the identities that they have, and only what a
//! rule or a reviewer decides is a revision of its own.

use std::collections::{BTreeMap, HashMap, HashSet};

use kapsa_index::Vectors;

use crate::error::Result;
use crate::records::codec::Envelope;
use crate::records::identity::Identity;
use crate::records::record::{BranchId, Decision, Origin, Record};
use crate::records::uri::Uri;
use crate::tables::branch_table::Class;
use crate::tables::lineage::Lineage;
use crate::versions::ancestry::Ancestry;
use crate::versions::branch::tracking_record;
use crate::versions::join::{Arrival, Join, knows};
use crate::versions::merge::{
    Choice, MergeItem, MergeOutcome, MergePlan, MergeRequest, Mode, copy, decided, wanted,
};
use crate::view::{View, branches};
use crate::write::carry::{blocks_of, carry};
use crate::write::pending::Pending;
use crate::write::writer::Writer;

/// Revisions of one commit of a merge, at about which it ends.
const COMMIT_RECORDS: usize = 16_384;

/// What the branch `tracking` holds of its own and `branch` lacks, in its order. Nothing where
/// there is no such branch.
pub(crate) fn lacking(view: &View, tracking: &str, branch: &str) -> Result<Vec<Arrival>> {
    let store = view.store();
    let Some(made) = branches::find(store, tracking)?.filter(|made| made.tracks) else {
        return Ok(Vec::new());
    };
    let lineage = store.lineage_of(branches::named(store, branch)?.id)?;
    let mut lacking = Vec::new();
    let own = store.sequences(&Lineage::alone(made.id), Class::Both)?;
    for sequence in own.ranges().iter().flat_map(Clone::clone) {
        let body = store.body(sequence)?;
        // What was written here, such as a purge, is on the branch itself as well.
        let Some(identity) = body.identity else { continue };
        if body.record.purged || knows(store, &lineage, &body.record.uri, &identity)? {
            continue;
        }
        if !body.record.system && store.is_purged(&body.record.uri, sequence)? {
            continue;
        }
        let origin = body.record.origin.as_ref().map(|origin| store.identity(origin.sequence));
        let (replaces, origin) = (body.replaces.clone(), origin.transpose()?);
        lacking.push(Arrival { identity, replaces, body, origin });
    }
    Ok(lacking)
}

/// The record by which a branch follows another from here on: it sees what `branch` holds before
/// `fork`, since both hold the same.
pub(crate) fn agreeing(
    view: &View,
    tracking: &str,
    remote: &str,
    branch: &str,
    fork: u64,
) -> Result<Pending> {
    let parent = branches::named(view.store(), branch)?.id;
    tracking_record(tracking, remote, parent, fork)
}

/// A merge of a branch that follows another, worked out.
pub(crate) struct Following {
    pub(crate) plan: MergePlan,
    from: BranchId,
    to: BranchId,
    /// What is joined, by URI: with what the plan lists, and what changes nothing to be seen.
    arrivals: BTreeMap<Uri, Vec<Arrival>>,
    /// Whether all that the branch holds is joined.
    is_whole: bool,
}

/// Works out what merging `request.from`, which follows another branch, would do.
pub(crate) fn plan(view: &View, request: &MergeRequest) -> Result<Following> {
    let store = view.store();
    let (from, to) =
        (branches::named(store, &request.from)?.id, branches::named(store, &request.to)?.id);
    let (theirs, ours) = (store.lineage_of(from)?, store.lineage_of(to)?);
    let mut arrivals: BTreeMap<Uri, Vec<Arrival>> = BTreeMap::new();
    let mut events = 0;
    for arrival in lacking(view, &request.from, &request.to)? {
        events += u64::from(!arrival.is_memory());
        arrivals.entry(arrival.body.record.uri.clone()).or_default().push(arrival);
    }
    let mut plan = MergePlan {
        from: branches::name_of(store, from)?,
        to: request.to.clone(),
        mode: Mode::Full,
        sequence: store.snapshot().commit().next_sequence - 1,
        items: Vec::new(),
        left_out: 0,
        same: 0,
        events,
    };
    let mut left_out = Vec::new();
    for (uri, arrivals) in &arrivals {
        let newest = &arrivals[arrivals.len() - 1];
        if !newest.is_memory() {
            continue;
        }
        let as_full = MergeRequest { mode: Mode::Full, ..request.clone() };
        if !wanted(&as_full, &newest.body.record) {
            left_out.push(uri.clone());
            continue;
        }
        match item(view, uri, arrivals, &ours, &theirs)? {
            Some(item) => plan.items.push(decided(item, request)?),
            None => plan.same += 1,
        }
    }
    let skipped = plan.items.iter().filter(|item| item.choice == Some(Choice::Skip));
    left_out.extend(skipped.map(|item| item.uri.clone()));
    plan.left_out = left_out.len() as u64;
    let is_whole = left_out.is_empty();
    for uri in left_out {
        arrivals.remove(&uri);
    }
    Ok(Following { plan, from, to, arrivals, is_whole })
}

/// What becomes of a URI; none where nothing that is seen changes.
fn item(
    view: &View,
    uri: &Uri,
    arrivals: &[Arrival],
    ours: &Lineage,
    theirs: &Lineage,
) -> Result<Option<MergeItem>> {
    let mut ancestry = Ancestry::of(view.store(), uri)?;
    let members = ancestry.members(ours);
    let mut all = members.clone();
    all.extend(arrivals.iter().map(|arrival| arrival.identity));
    for arrival in arrivals {
        ancestry.add(arrival.identity, arrival.replaces.clone(), arrival.body.clone());
    }
    let mut there = ancestry.members(theirs);
    there.extend(arrivals.iter().map(|arrival| arrival.identity));
    let visible = |among: &HashSet<Identity>| ancestry.visible(among);
    let (before, after, there) = (visible(&members), visible(&all), visible(&there));
    if after == before && (before.is_empty() || !there.is_empty()) {
        return Ok(None);
    }
    let is_conflict =
        if after == there { false } else { after.len() != 1 || one_forgot(&before, &there) };
    let outcome = if is_conflict {
        MergeOutcome::Conflict
    } else if after.is_empty() {
        MergeOutcome::Forgotten
    } else if before.is_empty() {
        MergeOutcome::Added
    } else {
        MergeOutcome::Changed
    };
    let record = |one: &Identity| ancestry.body(one).map(|body| body.record.clone());
    let newest = arrivals[arrivals.len() - 1].body.record.clone();
    let theirs = there.last().and_then(record).unwrap_or(newest);
    let ours = before.last().and_then(record);
    Ok(Some(MergeItem::followed(uri.clone(), outcome, theirs, ours)))
}

/// Whether one side forgot what the other went on with.
fn one_forgot(before: &[Identity], there: &[Identity]) -> bool {
    before.is_empty() != there.is_empty()
}

/// Writes what was planned, commit by commit. Returns how many records, and the last of them.
pub(crate) fn write(
    writer: &mut Writer,
    following: Following,
    request: &MergeRequest,
) -> Result<(MergePlan, u64, u64)> {
    let Following { plan, from, to, mut arrivals, is_whole } = following;
    let items: BTreeMap<&Uri, &MergeItem> =
        plan.items.iter().map(|item| (&item.uri, item)).collect();
    let (mut written, mut last) = (0, plan.sequence);
    loop {
        let view = writer.view()?;
        let target = view.with(view.store().lineage_of(to)?);
        let first = view.store().snapshot().commit().next_sequence;
        let mut all: Vec<Pending> = Vec::new();
        let mut places: HashMap<u64, Vec<u64>> = HashMap::new();
        while all.len() < COMMIT_RECORDS
            && let Some((uri, arrivals)) = arrivals.pop_first()
        {
            let mut join = Join::new(&target, to, first + all.len() as u64);
            let there: Vec<(Identity, u64)> = arrivals
                .iter()
                .map(|arrival| (arrival.identity, arrival.body.record.sequence))
                .collect();
            join.all(arrivals)?;
            for (here, identity) in &join.places {
                let from = there.iter().filter(|(known, _)| known == identity);
                from.for_each(|(_, from)| places.entry(*from).or_default().push(*here));
            }
            all.append(&mut join.pending);
            if let Some(item) = items.get(&uri) {
                all.extend(decision(item, from, to, &request.by));
            }
        }
        written += all.len() as u64;
        last = (first + all.len() as u64).saturating_sub(1).max(last);
        let is_last = arrivals.is_empty();
        if is_last && is_whole && written > 0 {
            let remote = plan.from.split('/').next().unwrap_or_default();
            let fork = first + all.len() as u64;
            if plan.from == format!("{remote}/{}", plan.to) {
                all.push(agreeing(&target, &plan.from, remote, &plan.to, fork)?);
            }
        }
        let wanted: Vec<u64> = places.keys().copied().collect();
        // May be dropped: vectors that cannot be read keep no record back, and can be made again.
        let blocks = blocks_of(target.store(), &wanted).unwrap_or_default();
        let blocks = blocks.into_iter().map(|block| Ok(Vectors::open(block.into())?));
        let blocks = blocks.collect::<Result<Vec<_>>>()?;
        writer.write(all)?;
        if !blocks.is_empty() {
            carry(writer, &blocks, &places)?;
        }
        if is_last {
            return Ok((plan, written, last));
        }
    }
}

/// The revision that a decision makes; none where both sides stay as they are.
fn decision(item: &MergeItem, from: BranchId, to: BranchId, by: &str) -> Option<Pending> {
    let (decision, says) = match item.choice.as_ref()? {
        Choice::Skip | Choice::Contested => return None,
        Choice::Ours => (Decision::Ours, item.ours.clone().unwrap_or_else(|| forgotten(item))),
        Choice::Theirs => (Decision::Theirs, item.theirs.clone()),
        Choice::Edited(text) => {
            let like = if item.theirs.tombstone { item.ours.as_ref()? } else { &item.theirs };
            (Decision::Edited, Record { text: text.clone(), ..like.clone() })
        }
    };
    let origin = Origin {
        branch: from,
        sequence: item.theirs.sequence,
        decision,
        by: by.to_string(),
        note: item.note.clone(),
    };
    Some(copy(&says, Envelope { branch: to, origin: Some(origin), ..Envelope::default() }))
}

/// What is here where nothing is.
fn forgotten(item: &MergeItem) -> Record {
    let uri = item.uri.clone();
    Record { uri, tombstone: true, ..crate::records::codec::blank(item.theirs.sequence) }
}
