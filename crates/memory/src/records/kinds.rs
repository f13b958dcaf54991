//! The kinds of records that mean something to this crate. Every other kind is the caller's.

/// Makes or changes a branch.
pub(crate) const BRANCH: &str = "branch";
/// Names a place in the log.
pub(crate) const CHECKPOINT: &str = "checkpoint";
/// Something that happened.
pub(crate) const EVENT: &str = "event";
/// Signs the commit that it ends. No list shows it.
pub(crate) const SIGNATURE: &str = "signature";
/// Something that waits for review.
pub const PENDING: &str = "pending";
/// Kinds of what the capsule writes about itself: shown when asked for by name.
pub(crate) const SYSTEM_KINDS: [&str; 4] = [BRANCH, CHECKPOINT, EVENT, PENDING];

/// Kinds of what verbs of the owner keep: runs with what is recorded in them, policies, relations,
/// and what is known about principals.
pub(crate) const OWNER_KINDS: [&str; 9] =
    ["artifact", "audit", "card", "clearance", "edge", "plan", "policy", "run", "task"];

/// A fact that a team shares.
pub const FACT: &str = "fact";
/// Something that an agent did; its own.
pub const EPISODE: &str = "episode";
/// Something that an agent learned; its own.
pub const INSIGHT: &str = "insight";
/// How often a fact was read: the capsule writes it about itself, and no search or list of memories
/// shows it.
pub const ACCESS: &str = "access";

/// Whether records of this kind are searched for by parts of their text, so that the index needs
/// their trigrams.
pub(crate) fn is_searched_by_parts(kind: &str) -> bool {
    matches!(kind, FACT | INSIGHT)
}
