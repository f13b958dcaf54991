//! A record before it has its place in the log: what is to be written, and what the place will
//! decide.

use crate::records::branch::{Made, TRACKS, run_name};
use crate::records::codec::{self, Envelope, Operation};
use crate::records::held::{Reason, held};
use crate::records::record::{BranchId, Micros, NewRecord};
use crate::records::uri::Uri;
use crate::tables::segments::Indexed;
use crate::write::index_batch::Entry;

/// Where a record's URI comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Name {
    /// Given.
    Given(Uri),
    /// Made for this record.
    Fresh,
    /// The event's own: `<spec>/<run>/event/<sequence>`.
    Event { spec: String, run: String },
    /// That of what waits for review: `kapsa/pending/<sequence>`.
    Held,
}

/// What is to be written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    Put(Box<NewRecord>),
    /// Makes a branch that leaves `parent` before the sequence `fork`, or archives one.
    Branch {
        record: Box<NewRecord>,
        parent: BranchId,
        fork: u64,
        /// The branch that it archives; none when it makes one.
        archives: Option<BranchId>,
    },
    Bury {
        operation: Operation,
        /// Who forgets; empty where nobody is named.
        agent: String,
    },
    Alias(Uri),
    /// A piece of the content of files.
    Blob(Vec<u8>),
}

/// A record on its way to its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pending {
    pub(crate) name: Name,
    pub(crate) what: What,
    pub(crate) envelope: Envelope,
}

impl Pending {
    /// A memory, under the URI that it brings or a new one.
    pub(crate) fn put(mut record: NewRecord, envelope: Envelope) -> Pending {
        let name = record.uri.take().map_or(Name::Fresh, Name::Given);
        record.run = run_name(&record.run).to_string();
        Pending { name, what: What::Put(Box::new(record)), envelope }
    }

    /// What waits for review instead of being put.
    pub(crate) fn held(record: NewRecord, reasons: &[Reason], envelope: Envelope) -> Pending {
        let what = What::Put(Box::new(held(record, reasons)));
        Pending { name: Name::Held, what, envelope: Envelope { system: true, ..envelope } }
    }

    /// Whether it waits for review.
    pub(crate) fn is_held(&self) -> bool {
        self.name == Name::Held
    }

    /// What waits for review.
    pub(crate) fn held_record(&self) -> Option<&NewRecord> {
        match &self.what {
            What::Put(record) if self.is_held() => Some(record),
            _ => None,
        }
    }

    /// A tombstone.
    pub(crate) fn bury(operation: Operation, uri: Uri, envelope: Envelope) -> Pending {
        Pending::bury_by(operation, uri, "", envelope)
    }

    /// A tombstone, with the agent that forgets.
    pub(crate) fn bury_by(
        operation: Operation,
        uri: Uri,
        agent: &str,
        envelope: Envelope,
    ) -> Pending {
        let what = What::Bury { operation, agent: agent.to_string() };
        Pending { name: Name::Given(uri), what, envelope }
    }

    /// Whether it is something to be remembered, not what the capsule writes about itself.
    pub(crate) fn is_memory(&self) -> bool {
        !self.envelope.system
    }

    /// Whether it is a memory under this URI.
    pub(crate) fn is_about(&self, uri: &Uri) -> bool {
        self.is_memory() && matches!(&self.name, Name::Given(name) if name == uri)
    }

    /// Whether it makes or changes a branch.
    pub(crate) fn is_branch(&self) -> bool {
        matches!(&self.name, Name::Given(uri) if uri.branch_name().is_some())
    }

    /// What goes to disk under `sequence`.
    pub(crate) fn entry(self, sequence: u64, capsule_id: &[u8; 16], now: Micros) -> Entry {
        let Pending { name, what, envelope } = self;
        let fresh = name == Name::Fresh;
        let text = |what: &What| match what {
            What::Put(record) | What::Branch { record, .. } => record.text.clone(),
            What::Bury { .. } | What::Alias(_) | What::Blob(_) => String::new(),
        };
        let uri = match name {
            Name::Given(uri) => uri,
            Name::Fresh => crate::records::ids::fresh_uri(capsule_id, sequence, now, &text(&what)),
            Name::Event { spec, run } => Uri::event(&spec, &run, sequence),
            Name::Held => Uri::pending(sequence),
        };
        match what {
            What::Put(record) => put(sequence, *record, uri, fresh, now, envelope, None),
            What::Branch { record, parent, fork, archives } => {
                let id = archives.unwrap_or(BranchId(sequence));
                let tracks = record.metadata.contains_key(TRACKS);
                let made = Made { id, parent, fork, archived: archives.is_some(), tracks };
                put(sequence, *record, uri, false, now, envelope, Some(made))
            }
            What::Bury { operation, agent } => {
                let body = codec::encode_tombstone(operation, &uri, &agent, now, &envelope);
                bare(sequence, uri, operation, body, envelope)
            }
            What::Alias(target) => {
                let body = codec::encode_alias(&uri, &target, now, &envelope);
                bare(sequence, uri, Operation::Alias, body, envelope)
            }
            What::Blob(bytes) => {
                let body = codec::encode_blob(&uri, now, &bytes);
                Entry { fresh: true, ..bare(sequence, uri, Operation::Put, body, envelope) }
            }
        }
    }
}

fn put(
    sequence: u64,
    record: NewRecord,
    uri: Uri,
    fresh: bool,
    now: Micros,
    envelope: Envelope,
    made: Option<Made>,
) -> Entry {
    let body = codec::encode(&record, &uri, fresh, now, &envelope);
    let indexed = Indexed::of_new(&record, &uri, fresh, now, &envelope);
    Entry {
        sequence,
        uri,
        fresh,
        operation: Operation::Put,
        envelope,
        body,
        text: record.text,
        indexed,
        made,
    }
}

/// The record with this body, which signs the commit that it ends.
pub(crate) fn signature(sequence: u64, body: Vec<u8>) -> Entry {
    let envelope = Envelope { system: true, ..Envelope::default() };
    let uri = Uri::signature(sequence);
    Entry { fresh: true, ..bare(sequence, uri, Operation::Put, body, envelope) }
}

/// A record without content.
fn bare(sequence: u64, uri: Uri, operation: Operation, body: Vec<u8>, envelope: Envelope) -> Entry {
    let decoded = codec::decode(sequence, &body).expect("just encoded");
    let indexed = Indexed::of_record(&decoded.record, false, operation == Operation::Purge);
    Entry {
        sequence,
        uri,
        fresh: false,
        operation,
        envelope,
        body,
        text: decoded.record.text,
        indexed,
        made: None,
    }
}
