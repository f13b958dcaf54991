//! How is a batch indexed while it is being written? In slices, one thread each, one segment each.

use std::collections::HashMap;
use std::thread;

use kapsa_capsule::SegmentDraft;

use crate::codec::{Body, Operation};
use crate::error::Result;
use crate::segments::{Indexed, Part};
use crate::uri::Uri;
use crate::view::View;

/// Fewest records that are worth a thread and a segment of their own.
const SLICE_RECORDS_MIN: usize = 4096;
/// Most threads that index at once.
const THREADS_MAX: usize = 8;

/// A record on its way to the disk.
pub(crate) struct Entry {
    pub(crate) sequence: u64,
    pub(crate) uri: Uri,
    /// Whether the URI was made for this record.
    pub(crate) fresh: bool,
    pub(crate) tombstone: bool,
    pub(crate) body: Vec<u8>,
    pub(crate) text: String,
    pub(crate) indexed: Indexed,
}

/// One record of a segment to be: what to index, and which revision it replaces.
enum Item<'a> {
    Entry { entry: &'a Entry, replaces: Option<u64> },
    Tail { body: &'a Body, replaces: Option<u64> },
    Erased,
}

impl Item<'_> {
    fn add_to(&self, part: &mut Part) -> Result<()> {
        match self {
            Item::Erased => part.add_erased(),
            Item::Entry { entry, replaces } => {
                let document = entry.indexed.document(&entry.text, entry.uri.hash());
                part.add(&document, *replaces, entry.tombstone)
            }
            Item::Tail { body, replaces } => {
                let indexed = Indexed::of_record(&body.record, body.fresh, body.operation == Operation::Purge);
                let document = indexed.document(&body.record.text, body.record.uri.hash());
                part.add(&document, *replaces, body.record.tombstone)
            }
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

/// Finds for each record the revision that it replaces.
struct Revisions<'a> {
    view: &'a View,
    newest: HashMap<Uri, u64>,
}

impl Revisions<'_> {
    fn replaced_by(&mut self, uri: &Uri, sequence: u64, fresh: bool) -> Result<Option<u64>> {
        let in_batch = self.newest.insert(uri.clone(), sequence);
        match in_batch {
            Some(old) => Ok(Some(old)),
            None if fresh => Ok(None),
            None => self.view.newest_indexed(uri),
        }
    }
}

/// Indexes the tail of `view` and `entries`, and runs `meanwhile` on this thread at the same time.
pub(crate) fn index_batch(view: &View, entries: &[Entry], meanwhile: impl FnOnce() -> Result<()>) -> Result<Vec<SegmentDraft>> {
    let first = view.snapshot().indexed();
    let items = items(view, entries)?;
    let slice = slice_records(items.len());
    thread::scope(|scope| {
        let starts = (first..).step_by(slice);
        let workers: Vec<_> =
            starts.zip(items.chunks(slice)).map(|(start, items)| scope.spawn(move || index(start, items))).collect();
        let appended = meanwhile();
        let drafts = workers.into_iter().map(|worker| worker.join().expect("an indexing thread does not panic"));
        let drafts = drafts.collect::<Result<Vec<_>>>();
        appended.and(drafts)
    })
}

fn items<'a>(view: &'a View, entries: &'a [Entry]) -> Result<Vec<Item<'a>>> {
    let mut revisions = Revisions { view, newest: HashMap::new() };
    let mut items = Vec::with_capacity(entries.len());
    for body in view.tail_bodies()? {
        items.push(match body {
            None => Item::Erased,
            Some(body) => {
                let record = &body.record;
                Item::Tail { body, replaces: revisions.replaced_by(&record.uri, record.sequence, body.fresh)? }
            }
        });
    }
    for entry in entries {
        items.push(Item::Entry { entry, replaces: revisions.replaced_by(&entry.uri, entry.sequence, entry.fresh)? });
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
