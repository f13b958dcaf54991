//! A list of records, each read when it is asked for: a long list takes no more memory than its
//! sequences.

use std::vec::IntoIter;

use super::lookup::shown;
use crate::error::Result;
use crate::records::record::Record;
use crate::records::request::TimelineRequest;
use crate::view::View;
use crate::view::visibility::list;

/// Records that a request lists, in its order.
#[derive(Debug)]
pub struct Listing<'a> {
    view: &'a View,
    sequences: IntoIter<u64>,
}

impl<'a> Listing<'a> {
    pub(crate) fn of(view: &'a View, request: &TimelineRequest) -> Result<Listing<'a>> {
        let sequences = list(view, &request.filter, request.limit, request.reverse)?;
        Ok(Listing::of_sequences(view, sequences))
    }

    /// These records, which whoever looks may know.
    pub(super) fn of_sequences(view: &'a View, sequences: Vec<u64>) -> Listing<'a> {
        Listing { view, sequences: sequences.into_iter() }
    }

    /// Keeps the first `count` of those that are left. Returns whether there were more.
    pub fn truncate(&mut self, count: usize) -> bool {
        let more = self.len() > count;
        if more {
            let mut kept = std::mem::take(&mut self.sequences).collect::<Vec<_>>();
            kept.truncate(count);
            self.sequences = kept.into_iter();
        }
        more
    }

    /// The sequences of those that are left, in their order.
    #[must_use]
    pub fn sequences(&self) -> &[u64] {
        self.sequences.as_slice()
    }

    /// The highest sequence of those that are left.
    #[must_use]
    pub fn last_sequence(&self) -> Option<u64> {
        self.sequences.as_slice().iter().max().copied()
    }

    fn read(&self, sequence: u64) -> Result<Record> {
        shown(self.view, self.view.store().record(sequence)?)
    }
}

impl Iterator for Listing<'_> {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Result<Record>> {
        self.sequences.next().map(|sequence| self.read(sequence))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.sequences.size_hint()
    }
}

impl DoubleEndedIterator for Listing<'_> {
    fn next_back(&mut self) -> Option<Result<Record>> {
        self.sequences.next_back().map(|sequence| self.read(sequence))
    }
}

impl ExactSizeIterator for Listing<'_> {}
