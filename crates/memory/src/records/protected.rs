//! What belongs to one verb or to the memory itself, and so is not a principal's to write: names,
//! kinds, and the fields that hold what was counted and decided. Knows no clearance.

use crate::records::document;
use crate::records::kinds::{
    ACCESS, BLOB, BRANCH, CHECKPOINT, EPISODE, EVENT, FACT, INSIGHT, OWNER_KINDS, PENDING,
    SIGNATURE, is_note,
};
use crate::records::record::NewRecord;
use crate::records::uri::Uri;

/// First parts of the names that belong to verbs of the owner.
const NAMES: [&str; 5] = ["clearance", "kapsa", "policy", "run", ACCESS];
/// What the names of the memory's own tags begin with.
const TAGS: &str = "kapsa.";
/// What facts, episodes and insights say in their metadata that their verbs find out: counts, and
/// what became of them beside others.
const FOUND_OUT: [&str; 18] = [
    "access_count",
    "coexists",
    "contested_with",
    "decision",
    "evidence",
    "evidence_count",
    "interrupted_by",
    "interruptions",
    "last_accessed",
    "last_confirmed",
    "pending",
    "pending_with",
    "principal",
    "source_episode_ids",
    "status",
    "superseded_by",
    "supersedes",
    "updated_at",
];

/// Whether a name belongs to a verb of the owner: to a policy, a run, a count of reads, or to what
/// is named `<spec>/<run>/<type>/…` in a run.
pub(crate) fn is_owners_name(uri: &Uri) -> bool {
    let first = uri.path().split('/').next().unwrap_or_default();
    NAMES.contains(&first) || first != document::KIND && uri.in_run().is_some()
}

/// Whether records of this kind are written by verbs of the owner alone.
pub(crate) fn is_owners_kind(kind: &str) -> bool {
    [BLOB, BRANCH, CHECKPOINT, EVENT, PENDING, SIGNATURE].contains(&kind)
        || is_note(kind)
        || OWNER_KINDS.contains(&kind)
}

/// A field that is not filled in from outside, and why.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OwnField {
    pub(crate) name: String,
    pub(crate) why: &'static str,
}

/// The first field of a record that only the memory fills in: what it counted, what it decided, how
/// sure it is, and its own tags.
pub(crate) fn own_field(record: &NewRecord) -> Option<OwnField> {
    const COUNTED: &str = "the memory finds that out itself";
    if record.confidence.is_some() {
        return Some(OwnField { name: "confidence".to_string(), why: COUNTED });
    }
    if let Some(tag) = record.tags.keys().find(|tag| tag.starts_with(TAGS)) {
        let why = "tags that begin with `kapsa.` are the memory's own";
        return Some(OwnField { name: format!("tags.{tag}"), why });
    }
    if !is_knowledge(record) {
        return None;
    }
    let found = FOUND_OUT.into_iter().find(|name| record.metadata.contains_key(*name))?;
    Some(OwnField { name: format!("metadata.{found}"), why: COUNTED })
}

/// Whether a record is a fact, an episode or an insight, or could become one under its name.
fn is_knowledge(record: &NewRecord) -> bool {
    let kinds = [FACT, EPISODE, INSIGHT];
    let first = record.uri.as_ref().and_then(|uri| uri.short().split('/').next());
    kinds.contains(&record.kind.as_str()) || first.is_some_and(|first| kinds.contains(&first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_verbs_are_theirs_in_every_workspace() {
        for (name, is_owners) in [
            ("policy/x", true),
            ("run/17/task/t1", true),
            ("access/f1", true),
            ("kapsa/x", true),
            ("clearance/cro", true),
            ("mv2://other/policy/x", true),
            ("spec/r1/card/acme", true),
            ("spec/r1/artifact/plan.md", true),
            ("policies/x", false),
            ("note/run/17", false),
            ("fact/policy", false),
            ("doc/guide/policy/intro", false),
        ] {
            assert_eq!(is_owners_name(&Uri::parse(name).expect("a URI")), is_owners, "{name}");
        }
    }

    #[test]
    fn counts_are_the_memorys_where_something_reads_them() {
        let with = |kind: &str, key: &str| {
            let mut record = NewRecord { kind: kind.to_string(), ..NewRecord::text("x") };
            record.metadata.insert(key.to_string(), 9.into());
            own_field(&record).map(|field| field.name)
        };
        assert_eq!(with("fact", "evidence_count").as_deref(), Some("metadata.evidence_count"));
        assert_eq!(with("note", "evidence_count"), None, "anything of one's own");
        assert_eq!(with("fact", "colour"), None);
    }
}
