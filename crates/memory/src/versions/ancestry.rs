//! Which revisions of a URI replaced which, wherever they were written, and so which of them count.
//!
//! A revision replaces what its writer had seen. One that was written here replaces whatever its
//! branch held before it, save what it conflicts with; of one that came from elsewhere, its body
//! says what. What no other replaces is a **head**. The heads follow from the set of revisions
//! alone, so two capsules that hold the same revisions agree on them, in whatever order they came.

use std::collections::{HashMap, HashSet};

use crate::error::Result;
use crate::records::codec::{Body, Operation};
use crate::records::identity::Identity;
use crate::records::record::{BranchId, Micros};
use crate::records::uri::Uri;
use crate::tables::lineage::Lineage;
use crate::versions::merge::says_the_same;
use crate::view::Store;

/// One revision, of which there may be several copies.
struct Node {
    identity: Identity,
    replaces: Vec<Identity>,
    /// The revision of another branch that it stands for, which it replaces as well.
    origin: Option<Identity>,
    /// What it says.
    body: Body,
    /// Branch and sequence of each copy here, ascending.
    copies: Vec<(BranchId, u64)>,
}

impl Node {
    fn is_live(&self) -> bool {
        matches!(self.body.operation, Operation::Put | Operation::Alias) && !self.body.record.purged
    }

    /// Order of heads that contest each other; the last is shown first. Tombstones and aliases keep
    /// no time of their own on their way.
    fn key(&self) -> (Micros, Identity) {
        let is_put = self.body.operation == Operation::Put;
        (if is_put { self.body.record.created_at } else { 0 }, self.identity)
    }
}

/// The revisions of one URI on all branches of a capsule.
pub(crate) struct Ancestry {
    nodes: Vec<Node>,
    places: HashMap<Identity, usize>,
}

impl Ancestry {
    /// Those that a capsule holds.
    pub(crate) fn of(store: &Store, uri: &Uri) -> Result<Ancestry> {
        let mut ancestry = Ancestry { nodes: Vec::new(), places: HashMap::new() };
        let mut log = SeenLog::default();
        for sequence in store.revisions_under(uri, &Lineage::all())? {
            let body = store.body(sequence)?;
            let identity = store.identity(sequence)?;
            let lineage = store.lineage_of(body.record.branch)?;
            let (mut replaces, mut origin) = (body.replaces.clone(), None);
            if body.identity.is_none() {
                replaces = log.seen_by(&lineage, &body.record.conflicts_with);
                origin = stands_for(store, uri, &body, identity)?.filter(|origin| {
                    // What its writer left beside it counts, whatever the branch had seen.
                    let beside = log.at(&body.record.conflicts_with);
                    let below = ancestry.below(std::iter::once(*origin));
                    !beside.iter().any(|one| one == origin || below.contains(one))
                });
            }
            log.note(&body, identity, &replaces);
            let at = ancestry.add_copy(identity, replaces, body);
            ancestry.nodes[at].origin = ancestry.nodes[at].origin.or(origin);
        }
        Ok(ancestry)
    }

    fn add_copy(&mut self, identity: Identity, replaces: Vec<Identity>, body: Body) -> usize {
        let copy = (body.record.branch, body.record.sequence);
        let at = self.add(identity, replaces, body);
        self.nodes[at].copies.push(copy);
        at
    }

    /// Adds a revision that has no place here yet. Returns its place among the nodes.
    pub(crate) fn add(&mut self, identity: Identity, replaces: Vec<Identity>, body: Body) -> usize {
        if let Some(&at) = self.places.get(&identity) {
            return at;
        }
        self.places.insert(identity, self.nodes.len());
        self.nodes.push(Node { identity, replaces, origin: None, body, copies: Vec::new() });
        self.nodes.len() - 1
    }

    /// The revisions that a lineage holds.
    pub(crate) fn members(&self, lineage: &Lineage) -> HashSet<Identity> {
        let held = |node: &&Node| node.copies.iter().any(|&(on, at)| lineage.hold(on, at));
        self.nodes.iter().filter(held).map(|node| node.identity).collect()
    }

    /// The same, with those that were erased.
    pub(crate) fn known(&self, lineage: &Lineage) -> HashSet<Identity> {
        let mut known = self.members(lineage);
        let bodies: Vec<&Body> = known.iter().filter_map(|one| self.body(one)).collect();
        known.extend(bodies.into_iter().flat_map(|body| body.erased.iter().copied()));
        known
    }

    fn node(&self, identity: &Identity) -> Option<&Node> {
        self.places.get(identity).map(|&at| &self.nodes[at])
    }

    fn replaced_by(&self, identity: &Identity) -> impl Iterator<Item = Identity> + '_ {
        let node = self.node(identity).into_iter();
        node.flat_map(|node| {
            node.replaces.iter().chain(&node.origin).chain(&node.body.erased).copied()
        })
    }

    /// Whether a revision has no place here yet.
    pub(crate) fn is_new(&self, identity: &Identity) -> bool {
        self.node(identity).is_none_or(|node| node.copies.is_empty())
    }

    /// Whether a revision says something, and is no tombstone.
    pub(crate) fn is_live(&self, identity: &Identity) -> bool {
        self.node(identity).is_some_and(Node::is_live)
    }

    /// What a revision says.
    pub(crate) fn body(&self, identity: &Identity) -> Option<&Body> {
        self.node(identity).map(|node| &node.body)
    }

    /// Everything that these replace, directly or not.
    fn below(&self, of: impl Iterator<Item = Identity>) -> HashSet<Identity> {
        let mut below = HashSet::new();
        let mut open = Vec::new();
        of.for_each(|one| open.extend(self.replaced_by(&one)));
        while let Some(one) = open.pop() {
            if below.insert(one) {
                open.extend(self.replaced_by(&one));
            }
        }
        below
    }

    /// The revisions among these that none of them replaces.
    fn heads(&self, among: &HashSet<Identity>) -> Vec<&Node> {
        let below = self.below(among.iter().copied());
        let heads = among.iter().filter(|one| !below.contains(one));
        let mut heads: Vec<&Node> = heads.filter_map(|one| self.node(one)).collect();
        heads.sort_unstable_by_key(|node| node.key());
        heads
    }

    /// What counts where these are held: the heads that are alive, of those that say the same one.
    /// The last is the one that is shown. Nothing where all were forgotten.
    pub(crate) fn visible(&self, among: &HashSet<Identity>) -> Vec<Identity> {
        let mut visible: Vec<&Node> = Vec::new();
        for head in self.heads(among).into_iter().filter(|node| node.is_live()) {
            visible.retain(|other| !is_same(&other.body, &head.body));
            visible.push(head);
        }
        visible.into_iter().map(|node| node.identity).collect()
    }

    /// A head that forgets, where nothing is visible.
    pub(crate) fn forgotten_by(&self, among: &HashSet<Identity>) -> Option<Identity> {
        self.heads(among).last().map(|node| node.identity)
    }

    /// The fewest revisions that say what this one replaces.
    pub(crate) fn replaces(&self, identity: &Identity) -> Vec<Identity> {
        let Some(node) = self.node(identity) else { return Vec::new() };
        if node.body.identity.is_some() {
            return node.replaces.clone();
        }
        let below = self.below(node.replaces.iter().copied());
        let mut least: Vec<Identity> =
            node.replaces.iter().copied().filter(|one| !below.contains(one)).collect();
        // It may never come where this goes, so nothing is left to it to say.
        least.extend(node.origin);
        least.sort_unstable();
        least.dedup();
        least
    }
}

/// What counts as one where two wrote it at the same time.
fn is_same(a: &Body, b: &Body) -> bool {
    says_the_same(a, b) && a.record.access == b.record.access && a.record.alias == b.record.alias
}

/// The revision that a merge or a pick stands for, if it is one of this URI.
fn stands_for(store: &Store, uri: &Uri, body: &Body, own: Identity) -> Result<Option<Identity>> {
    let Some(origin) = &body.record.origin else { return Ok(None) };
    if origin.sequence >= body.record.sequence || store.record(origin.sequence)?.uri != *uri {
        return Ok(None);
    }
    Ok(Some(store.identity(origin.sequence)?).filter(|identity| *identity != own))
}

/// The log of a URI as it is walked: what each branch has seen so far.
#[derive(Default)]
struct SeenLog {
    entries: Vec<(BranchId, u64, Identity)>,
    /// Of a URI that only one branch wrote so far: what nothing replaced. Spares the walk.
    heads: Vec<(u64, Identity)>,
    is_forked: bool,
}

impl SeenLog {
    /// The revisions at these sequences.
    fn at(&self, sequences: &[u64]) -> Vec<Identity> {
        if sequences.is_empty() {
            return Vec::new();
        }
        let listed = self.entries.iter().filter(|(_, sequence, _)| sequences.contains(sequence));
        listed.map(|(_, _, identity)| *identity).collect()
    }

    /// What `lineage` held so far, save what is at these sequences.
    fn seen_by(&self, lineage: &Lineage, except: &[u64]) -> Vec<Identity> {
        let left_out = self.at(except);
        let wanted = |identity: &Identity| !left_out.contains(identity);
        let own = self.entries.first().is_none_or(|(branch, _, _)| *branch == lineage.own());
        if !self.is_forked && own {
            return self.heads.iter().map(|(_, one)| *one).filter(wanted).collect();
        }
        let seen = self.entries.iter().filter(|(on, at, _)| lineage.hold(*on, *at));
        seen.map(|(_, _, identity)| *identity).filter(wanted).collect()
    }

    fn note(&mut self, body: &Body, identity: Identity, replaces: &[Identity]) {
        let (branch, sequence) = (body.record.branch, body.record.sequence);
        self.is_forked |= self.entries.first().is_some_and(|(first, _, _)| *first != branch);
        self.entries.push((branch, sequence, identity));
        // What is left in here too long is named without need, and never wrongly.
        self.heads.retain(|(_, head)| !replaces.contains(head) && *head != identity);
        self.heads.push((sequence, identity));
    }
}
