//! Encodes a batch on two threads, and indexes it while it is being written: in slices, one thread
//! each, one segment each.

use std::collections::HashMap;
use std::sync::Mutex;
use std::thread;

use kapsa_capsule::SegmentDraft;

use crate::error::Result;
use crate::job::Job;
use crate::records::branch::Made;
use crate::records::codec::{Body, Envelope, Operation};
use crate::records::record::{BranchId, Micros};
use crate::records::uri::Uri;
use crate::tables::branch_table::BranchKey;
use crate::tables::keys::Replacement;
use crate::tables::lineage::Lineage;
use crate::tables::segments::{Indexed, Part};
use crate::view::{Head, View};
use crate::write::pending::Pending;

/// Fewest records that are worth a thread and a segment of their own.
const SLICE_RECORDS_MIN: usize = 4096;
/// Most threads that index at once.
const THREADS_MAX: usize = 8;

/// Fewest records that are encoded on two threads.
const PARALLEL_RECORDS_MIN: usize = 4096;

/// A record on its way to the disk.
pub(crate) struct Entry {
    pub(crate) sequence: u64,
    pub(crate) uri: Uri,
    /// Whether the URI was made for this record.
    pub(crate) fresh: bool,
    pub(crate) operation: Operation,
    pub(crate) envelope: Envelope,
    pub(crate) body: Vec<u8>,
    pub(crate) text: String,
    pub(crate) indexed: Indexed,
    /// The branch that this record makes, if it makes one.
    pub(crate) made: Option<Made>,
}

/// One record of a segment to be: what to index, and which revisions it replaces.
enum Item<'a> {
    Entry { entry: &'a Entry, replaced: Vec<Replacement> },
    Tail { body: &'a Body, replaced: Vec<Replacement> },
    Erased,
}

impl Item<'_> {
    fn add_to(&self, part: &mut Part) -> Result<()> {
        match self {
            Item::Erased => part.add_erased(),
            Item::Entry { entry, replaced } => {
                let branch_key = BranchKey::new(entry.envelope.branch, entry.envelope.system);
                part.add(&entry.indexed, &entry.text, &entry.uri, branch_key, replaced)
            }
            Item::Tail { body, replaced } => part.add_body(body, replaced),
        }
    }

    fn text_bytes(&self) -> usize {
        match self {
            Item::Entry { entry, .. } => entry.text.len(),
            Item::Tail { body, .. } => body.record.text.len(),
            Item::Erased => 0,
        }
    }
}

/// What decides which revisions a record replaces.
struct NewRevision<'a> {
    sequence: u64,
    uri: &'a Uri,
    fresh: bool,
    operation: Operation,
    branch: BranchId,
    conflicts_with: &'a [u64],
}

/// Finds for each record the revisions that it replaces: those that its branch saw as the newest.
struct BatchRevisions<'a> {
    view: &'a View,
    /// Revisions of this batch, oldest first.
    batch: HashMap<Uri, Vec<(BranchId, Head)>>,
    /// Branches of this batch.
    made: HashMap<BranchId, Lineage>,
}

impl BatchRevisions<'_> {
    fn lineage(&self, branch: BranchId) -> Result<Lineage> {
        self.made
            .get(&branch)
            .map_or_else(|| self.view.store().lineage_of(branch), |lineage| Ok(lineage.clone()))
    }

    fn learn(&mut self, made: Option<&Made>, sequence: u64) -> Result<()> {
        if let Some(made) = made.filter(|made| made.id.0 == sequence) {
            let lineage = self.lineage(made.parent)?.child(made.id, made.fork);
            self.made.insert(made.id, lineage);
        }
        Ok(())
    }

    fn replaced_by(&mut self, new: &NewRevision<'_>) -> Result<Vec<Replacement>> {
        let mut old: Vec<u64> = Vec::new();
        if new.operation == Operation::Purge {
            old.extend(self.everywhere_before(new.uri, new.sequence)?);
        } else if !new.fresh {
            let lineage = self.lineage(new.branch)?;
            old.extend(
                self.head(new.uri, &lineage)?
                    .iter()
                    .flat_map(Head::all)
                    .filter(|old| !new.conflicts_with.contains(old)),
            );
        }
        // What is purged is hidden from everyone, those who do not see the marker included.
        let replacement = |old| Replacement {
            old,
            new: if new.operation == Operation::Purge { old } else { new.sequence },
        };
        let mut pairs: Vec<Replacement> = old.into_iter().map(replacement).collect();
        if new.operation != Operation::Put {
            pairs.push(Replacement { old: new.sequence, new: new.sequence });
        }
        self.note(new);
        Ok(pairs)
    }

    /// Nothing in a batch can revise what gets its URI in it.
    fn note(&mut self, new: &NewRevision<'_>) {
        if new.fresh && new.sequence >= self.view.store().snapshot().commit().next_sequence {
            return;
        }
        let head = Head { sequence: new.sequence, conflicts_with: new.conflicts_with.to_vec() };
        self.batch.entry(new.uri.clone()).or_default().push((new.branch, head));
    }

    fn head(&self, uri: &Uri, lineage: &Lineage) -> Result<Option<Head>> {
        let batch = self.batch.get(uri).map(Vec::as_slice).unwrap_or_default();
        match batch.iter().rev().find(|(branch, head)| lineage.hold(*branch, head.sequence)) {
            Some((_, head)) => Ok(Some(head.clone())),
            None => self.view.store().tables().newest(uri, lineage),
        }
    }

    fn everywhere_before(&self, uri: &Uri, sequence: u64) -> Result<Vec<u64>> {
        let mut all = self.view.store().revisions_under(uri, &Lineage::all().before(sequence))?;
        all.extend(self.batch.get(uri).into_iter().flatten().map(|(_, head)| head.sequence));
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }
}

/// Indexes the tail of `view` and `entries`, and runs `meanwhile` on this thread at the same time.
pub(crate) fn index_batch(
    view: &View,
    entries: &[Entry],
    meanwhile: impl FnOnce() -> Result<()>,
) -> Result<Vec<SegmentDraft>> {
    let first = view.store().snapshot().tail().start;
    let items = items(view, entries)?;
    let slice = slice_records(items.len());
    thread::scope(|scope| {
        let starts = (first..).step_by(slice);
        let workers: Vec<_> = starts
            .zip(items.chunks(slice))
            .map(|slice| Job::begin(scope, slice, |(start, items)| index(start, items)))
            .collect();
        let appended = meanwhile();
        let drafts = workers.into_iter().map(Job::end).collect::<Result<Vec<_>>>();
        appended.and(drafts)
    })
}

fn items<'a>(view: &'a View, entries: &'a [Entry]) -> Result<Vec<Item<'a>>> {
    let mut revisions = BatchRevisions { view, batch: HashMap::new(), made: HashMap::new() };
    let mut items = Vec::with_capacity(entries.len());
    for body in view.store().tail_bodies()? {
        let Some(body) = body else {
            items.push(Item::Erased);
            continue;
        };
        let record = &body.record;
        let revision = NewRevision {
            sequence: record.sequence,
            uri: &record.uri,
            fresh: body.fresh,
            operation: body.operation,
            branch: record.branch,
            conflicts_with: &record.conflicts_with,
        };
        items.push(Item::Tail { body, replaced: revisions.replaced_by(&revision)? });
    }
    for entry in entries {
        revisions.learn(entry.made.as_ref(), entry.sequence)?;
        let revision = NewRevision {
            sequence: entry.sequence,
            uri: &entry.uri,
            fresh: entry.fresh,
            operation: entry.operation,
            branch: entry.envelope.branch,
            conflicts_with: &entry.envelope.conflicts_with,
        };
        items.push(Item::Entry { entry, replaced: revisions.replaced_by(&revision)? });
    }
    Ok(items)
}

fn slice_records(total: usize) -> usize {
    let threads = thread::available_parallelism().map_or(1, |n| n.get().min(THREADS_MAX));
    total.div_ceil(threads).max(SLICE_RECORDS_MIN)
}

fn index(first_sequence: u64, items: &[Item<'_>]) -> Result<SegmentDraft> {
    let text_bytes = items.iter().map(Item::text_bytes).sum();
    let mut part = Part::new(first_sequence, text_bytes)?;
    items.iter().try_for_each(|item| item.add_to(&mut part))?;
    part.finish()
}

/// Gives each its place, on two threads when there are many.
pub(crate) fn entries(
    first: u64,
    mut all: Vec<Pending>,
    capsule_id: &[u8; 16],
    now: Micros,
) -> Vec<Entry> {
    let numbered = |first: u64, all: Vec<Pending>| {
        (first..)
            .zip(all)
            .map(|(sequence, pending)| pending.entry(sequence, capsule_id, now))
            .collect::<Vec<Entry>>()
    };
    if all.len() < PARALLEL_RECORDS_MIN {
        return numbered(first, all);
    }
    let later = all.split_off(all.len() / 2);
    let middle = first + all.len() as u64;
    let later = Mutex::new(later);
    thread::scope(|scope| {
        let take = |all: &Mutex<_>| std::mem::take(&mut *all.lock().expect("it is taken once"));
        let later = Job::begin(scope, &later, move |later| numbered(middle, take(later)));
        let mut entries = numbered(first, all);
        entries.extend(later.end());
        entries
    })
}
