//! The kinds of records that mean something to this crate. Every other kind is the caller's.

use crate::records::uri::Uri;

/// Makes or changes a branch.
pub(crate) const BRANCH: &str = "branch";
/// Names a place in the log.
pub(crate) const CHECKPOINT: &str = "checkpoint";
/// Something that happened.
pub(crate) const EVENT: &str = "event";
/// Signs the commit that it ends. No list shows it.
pub(crate) const SIGNATURE: &str = "signature";
/// Another capsule that this one exchanges records with, and how far. No list shows it.
pub(crate) const REMOTE: &str = "remote";
/// A piece of the content of files. No list shows it.
pub(crate) const BLOB: &str = "blob";
/// Who may know what, as the owner of a capsule says: it stays there.
pub(crate) const CLEARANCE: &str = "clearance";
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
/// A file that an agent keeps for itself.
pub const MEMORY_FILE: &str = "memory_file";
/// How often a fact was read: the capsule writes it about itself, and no search or list of memories
/// shows it.
pub const ACCESS: &str = "access";
/// A file of session traces that was read, and what became of it.
pub const TRACE_FILE: &str = "trace_file";
/// What a session said, bounded and without secrets.
pub const TRACE_SESSION: &str = "trace_session";
/// A file of session traces that waits to be read, is being read, or could not be read.
pub const TRACE_JOB: &str = "trace_job";
/// Which file of a folder a fact was written to last.
pub const TRACE_NOTE: &str = "trace_note";

/// Kinds of the notes that the memory keeps for itself beside the records, and how the names of
/// each begin. No search and no list of memories shows them.
const NOTES: [(&str, &str); 5] = [
    (ACCESS, "access/"),
    (TRACE_FILE, "kapsa/trace/file/"),
    (TRACE_SESSION, "kapsa/trace/session/"),
    (TRACE_JOB, "kapsa/trace/job/"),
    (TRACE_NOTE, "kapsa/trace/note/"),
];

/// Whether records of this kind are notes.
pub(crate) fn is_note(kind: &str) -> bool {
    NOTES.iter().any(|(note, _)| *note == kind)
}

/// The kind of the notes that are kept under such a URI.
pub(crate) fn noted_under(uri: &Uri) -> Option<&'static str> {
    let (kind, _) = NOTES.iter().find(|(_, begins)| {
        uri.short().strip_prefix(begins).is_some_and(|rest| !rest.is_empty())
    })?;
    Some(kind)
}

/// Whether records of this kind are searched for by parts of their text, so that the index needs
/// their trigrams.
pub(crate) fn is_searched_by_parts(kind: &str) -> bool {
    matches!(kind, FACT | INSIGHT)
}
