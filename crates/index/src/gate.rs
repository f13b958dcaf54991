//! The documents of a segment that pass the filter and the exclusions, in ascending order.

use std::collections::VecDeque;
use std::ops::Range;

use tantivy::postings::SegmentPostings;
use tantivy::{DocId, DocSet, TERMINATED};

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::parts;
use crate::reader::Reader;

/// Ranges that hold less than this part of a segment's documents lead a search.
const DENSE_DIVISOR: u32 = 16;

/// Ascending cursors over what is needed and what is forbidden. Every target given to it must be
/// at least the one before.
pub(crate) struct Gate<'a> {
    reader: &'a Reader,
    needed: Vec<Needed>,
    forbidden: Vec<SegmentPostings>,
    /// Times are checked one by one.
    times: Option<&'a Filter>,
    /// Why a document could not be judged; from then on none passes.
    failed: Option<Error>,
}

enum Needed {
    /// At least one term of a group.
    Any(Vec<SegmentPostings>),
    /// To be in a zone that may have the right time, or to have the right number.
    Ranges(VecDeque<Range<DocId>>),
}

impl<'a> Gate<'a> {
    /// `None` if no document of the segment can pass.
    pub(crate) fn new(reader: &'a Reader, filter: &'a Filter) -> Result<Option<Gate<'a>>> {
        let mut gate =
            Gate { reader, needed: Vec::new(), forbidden: Vec::new(), times: None, failed: None };
        for group in &filter.all {
            let postings: Result<Vec<_>> =
                group.iter().filter_map(|term| reader.exact(term).transpose()).collect();
            gate.needed.push(Needed::Any(postings?));
        }
        for part in &filter.parts {
            gate.add_part(part)?;
        }
        for term in &filter.none {
            gate.forbidden.extend(reader.exact(term)?);
        }
        gate.add_seqs(filter);
        gate.add_time(filter);
        gate.needed.sort_by_key(Needed::size);
        let open = gate.needed.first().is_none_or(|rarest| rarest.size() > 0);
        Ok(open.then_some(gate))
    }

    /// The rarest trigrams decide; that documents too long for trigrams pass is asked for with
    /// each.
    fn add_part(&mut self, part: &str) -> Result<()> {
        let wanted = parts::wanted(part);
        if wanted.is_empty() {
            return Ok(());
        }
        let found: Result<Vec<_>> = wanted.iter().map(|term| self.reader.exact(term)).collect();
        let mut found = found?;
        found.sort_by_key(|postings| postings.as_ref().map_or(0, SegmentPostings::doc_freq));
        for postings in found.into_iter().take(parts::ASKED_MAX) {
            let long = self.reader.exact(parts::long_term())?;
            self.needed.push(Needed::Any(postings.into_iter().chain(long).collect()));
        }
        Ok(())
    }

    fn add_seqs(&mut self, filter: &Filter) {
        let Some(seqs) = &filter.seqs else { return };
        let first = self.reader.first_seq;
        let end = first + u64::from(self.reader.documents());
        let doc = |seq: u64| (seq - first) as DocId;
        let ranges: VecDeque<_> =
            seqs.within(first..end).map(|range| doc(range.start)..doc(range.end)).collect();
        debug_assert!(
            ranges.back().is_none_or(|last| last.end <= self.reader.documents()),
            "ranges are of the segment's documents"
        );
        if ranges.front() != Some(&(0..self.reader.documents())) {
            self.needed.push(Needed::Ranges(ranges));
        }
    }

    fn add_time(&mut self, filter: &'a Filter) {
        let mut zones: VecDeque<Range<DocId>> = VecDeque::new();
        let mut check = false;
        for (docs, first, last) in self.reader.zones() {
            let since = filter.since_us.is_none_or(|since| since <= last);
            if !since || filter.until_us.is_some_and(|until| until <= first) {
                continue;
            }
            debug_assert!(
                zones.back().is_none_or(|before| before.end <= docs.start),
                "zones follow each other"
            );
            check |= !filter.passes_time(first) || !filter.passes_time(last);
            match zones.back_mut() {
                Some(before) if before.end == docs.start => before.end = docs.end,
                _ => zones.push_back(docs),
            }
        }
        if zones.front() != Some(&(0..self.reader.documents())) {
            self.needed.push(Needed::Ranges(zones));
        }
        self.times = check.then_some(filter);
    }

    pub(crate) fn forbid(&mut self, postings: SegmentPostings) {
        self.forbidden.push(postings);
    }

    /// At most this many documents pass, if anything is needed.
    pub(crate) fn size(&self) -> Option<u32> {
        self.needed.first().map(Needed::size)
    }

    /// Whether there is something to be led by. Ranges of most documents are too dense for that.
    pub(crate) fn leads(&self) -> bool {
        let sparse = |needed: &Needed| needed.size() < self.reader.documents() / DENSE_DIVISOR;
        self.needed.iter().any(|needed| matches!(needed, Needed::Any(_)) || sparse(needed))
    }

    /// First document at or after `target` that has what is needed; it may still be forbidden.
    pub(crate) fn seek_needed(&mut self, mut target: DocId) -> DocId {
        let mut agreed = 0;
        while agreed < self.needed.len() && target != TERMINATED {
            let doc = self.needed[agreed].seek(target);
            assert!(doc >= target, "a cursor never goes back");
            agreed = if doc == target { agreed + 1 } else { 0 };
            target = doc;
        }
        if target < self.reader.documents() { target } else { TERMINATED }
    }

    /// Whether `doc` is not forbidden.
    pub(crate) fn allows(&mut self, doc: DocId) -> bool {
        self.passes_time(doc)
            && !self.forbidden.iter_mut().any(|postings| seek(postings, doc) == doc)
    }

    fn passes_time(&mut self, doc: DocId) -> bool {
        let Some(filter) = self.times else {
            return true;
        };
        match self.reader.time_us(doc) {
            Ok(time_us) => self.failed.is_none() && filter.passes_time(time_us),
            Err(error) => {
                self.failed.get_or_insert(error);
                false
            }
        }
    }

    /// Must be asked in the end: what passed is all only if nothing failed.
    pub(crate) fn finish(self) -> Result<()> {
        self.failed.map_or(Ok(()), Err)
    }

    /// Whether `doc` passes altogether.
    pub(crate) fn passes(&mut self, doc: DocId) -> bool {
        self.needed.iter_mut().all(|needed| needed.seek(doc) == doc) && self.allows(doc)
    }

    /// First document at or after `target` that passes altogether.
    pub(crate) fn next(&mut self, mut target: DocId) -> DocId {
        loop {
            let doc = self.seek_needed(target);
            if doc == TERMINATED || self.allows(doc) {
                return doc;
            }
            target = doc + 1;
        }
    }
}

impl Needed {
    fn size(&self) -> u32 {
        match self {
            Needed::Any(postings) => {
                postings.iter().fold(0, |sum, postings| sum.saturating_add(postings.doc_freq()))
            }
            Needed::Ranges(zones) => zones.iter().map(|zone| zone.end - zone.start).sum(),
        }
    }

    fn seek(&mut self, target: DocId) -> DocId {
        match self {
            Needed::Any(postings) => {
                let mut first = TERMINATED;
                for postings in postings {
                    first = first.min(seek(postings, target));
                    if first == target {
                        break;
                    }
                }
                first
            }
            Needed::Ranges(zones) => {
                while zones.front().is_some_and(|zone| zone.end <= target) {
                    zones.pop_front();
                }
                zones.front().map_or(TERMINATED, |zone| zone.start.max(target))
            }
        }
    }
}

/// First document of `set` at or after `target`; the set stays where it is if it is further.
///
/// A damaged set may go backwards or too far; for it to end instead keeps every loop here finite.
pub(crate) fn seek(set: &mut SegmentPostings, target: DocId) -> DocId {
    let mut doc = set.doc();
    if doc < target {
        doc = set.seek(target);
    }
    if (target..TERMINATED).contains(&doc) { doc } else { TERMINATED }
}
