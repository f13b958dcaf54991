//! Searches and lists segments and tail as one.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use tantivy::DocId;

use crate::blob::Blob;
use crate::candidate::{Candidate, Origin};
use crate::directory::BlobIndex;
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::guard::{guard, guard_unless};
use crate::plan::plan;
use crate::query::Query;
use crate::reader::Reader;
use crate::scope::Scope;
use crate::score::SegmentSearch;
use crate::segment_bytes::SegmentBytes;
use crate::seqs::Sequences;
use crate::similar::Like;
use crate::tail::{TailDoc, TailWords};
use crate::tail_search::{TailGate, TailSearch};
use crate::top::{Hit, Top};

/// Documents a listing from the end of a segment looks at first; then four times as many, and so
/// on.
const LIST_WINDOW: u32 = 1024;

/// Most words that are returned for being like another.
pub const ALIKE_MAX: usize = 1024;
/// Most nodes of dictionaries that are read to find them.
const ALIKE_STEPS_MAX: usize = 50_000;

/// A segment and where it begins.
#[derive(Debug, Clone)]
pub struct Segment {
    /// Sequence number of its first document; the `n`th has this plus `n`.
    pub first_seq: u64,
    /// What [`SegmentBuilder::finish`](crate::SegmentBuilder::finish) or
    /// [`merge`](crate::merge) returned. Kept, not copied.
    pub bytes: SegmentBytes,
}

/// Segments and a tail, as they were when it was opened.
///
/// Opening checks heads only; a segment is opened when it is first needed.
pub struct Searcher {
    segments: Arc<Segments>,
    tail: Vec<TailDoc>,
}

/// The segments of searchers that differ in their tails alone.
struct Segments {
    index: BlobIndex,
    first_seqs: Vec<u64>,
    readers: Vec<OnceLock<Reader>>,
    /// Sequence after the last document.
    next_seq: u64,
}

/// The caller's rule, with a note of whether it is running, so that its panic stays its own.
struct Rule<'a> {
    accept: &'a mut dyn FnMut(Candidate<'_>) -> bool,
    running: &'a Cell<bool>,
}

impl Rule<'_> {
    fn accepts(&mut self, place: Origin<'_>) -> bool {
        self.running.set(true);
        let accepted = (self.accept)(Candidate(place));
        self.running.set(false);
        accepted
    }
}

/// Which documents to list, and in which direction.
struct Listing<'a> {
    query: &'a Query,
    filter: &'a Filter,
    newest_first: bool,
    seqs: Range<u64>,
    k: usize,
}

impl Searcher {
    /// Opens segments and tail, both in ascending order of sequence, the tail after the segments.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::Format`], [`Error::Analyser`], [`Error::Order`].
    pub fn open(segments: Vec<Segment>, tail: Vec<TailDoc>) -> Result<Searcher> {
        let mut blobs = Vec::with_capacity(segments.len());
        let mut first_seqs = Vec::with_capacity(segments.len());
        let mut next_seq = 0;
        for segment in segments {
            let blob = Blob::parse(segment.bytes)?;
            check_order(segment.first_seq, next_seq)?;
            let end = segment.first_seq.checked_add(u64::from(blob.documents));
            next_seq = end.ok_or(Error::Order { seq: segment.first_seq })?;
            first_seqs.push(segment.first_seq);
            blobs.push(blob);
        }
        let readers = first_seqs.iter().map(|_| OnceLock::new()).collect();
        let segments = Segments { index: BlobIndex::new(blobs)?, first_seqs, readers, next_seq };
        assert_eq!(
            segments.index.blobs().len(),
            segments.readers.len(),
            "a reader for each segment"
        );
        debug_assert!(segments.first_seqs.is_sorted(), "segments follow each other");
        Searcher { segments: Arc::new(segments), tail: Vec::new() }.with_tail(tail)
    }

    /// The same segments, and what was opened of them, before another tail.
    ///
    /// # Errors
    /// [`Error::Order`].
    pub fn with_tail(&self, tail: Vec<TailDoc>) -> Result<Searcher> {
        let mut next_seq = self.segments.next_seq;
        for doc in &tail {
            check_order(doc.seq(), next_seq)?;
            next_seq = doc.seq().saturating_add(1);
        }
        Ok(Searcher { segments: Arc::clone(&self.segments), tail })
    }

    /// The tail.
    #[must_use]
    pub fn tail(&self) -> &[TailDoc] {
        &self.tail
    }

    /// Documents in segments and tail.
    pub fn document_count(&self) -> u64 {
        let stored = self.segments.index.blobs().iter().map(|blob| u64::from(blob.documents));
        stored.sum::<u64>() + self.tail.len() as u64
    }

    /// The best `k` by score, then newest first.
    ///
    /// `accept` is asked only about documents that would enter the best `k`; those it refuses take
    /// no place. If the query [has phrases](Query::has_phrases), it must ask
    /// [`Query::phrases_match`]. A query without words to rank by returns the newest that pass,
    /// with score 0.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn search(
        &self,
        query: &Query,
        filter: &Filter,
        k: usize,
        accept: &mut dyn FnMut(Candidate<'_>) -> bool,
    ) -> Result<Vec<Hit>> {
        Ok(self.search_rated(query, filter, None, k, accept)?.0)
    }

    /// As [`Searcher::search`], with the [`Searcher::rarities`], none for a query that could find
    /// nothing. With a `scope`, scores and rarities depend on the documents in it alone.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn search_rated(
        &self,
        query: &Query,
        filter: &Filter,
        scope: Option<&dyn Scope>,
        k: usize,
        accept: &mut dyn FnMut(Candidate<'_>) -> bool,
    ) -> Result<(Vec<Hit>, Vec<f32>)> {
        if k == 0 || self.document_count() == 0 || query.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        if query.is_unranked() {
            let seqs = 0..u64::MAX;
            let listing = Listing { query, filter, newest_first: true, seqs, k };
            let seqs = self.list(&listing, accept)?;
            let hits = seqs.into_iter().map(|seq| Hit { seq, score: 0.0 }).collect();
            return Ok((hits, Vec::new()));
        }
        self.ranked(query, filter, scope, k, accept)
    }

    fn ranked(
        &self,
        query: &Query,
        filter: &Filter,
        scope: Option<&dyn Scope>,
        k: usize,
        accept: &mut dyn FnMut(Candidate<'_>) -> bool,
    ) -> Result<(Vec<Hit>, Vec<f32>)> {
        let running = Cell::new(false);
        let mut rule = Rule { accept, running: &running };
        let readers = self.readers(filter)?;
        let tail = analysed(&self.tail, query, filter);
        let (plan, infos) = guard(|| plan(query, filter, scope, &readers, &tail))?;
        assert_eq!(infos.len(), readers.len(), "the plan was made for these segments");
        let mut top = Top::new(k);
        let mut accept = |doc: &TailDoc| rule.accepts(Origin::Tail(doc));
        TailSearch::new(&plan).search(&tail, &mut top, &mut accept);
        for (reader, infos) in readers.iter().zip(&infos).rev() {
            let segment = SegmentSearch { plan: &plan, reader, infos };
            let mut accept = |reader: &Reader, doc| rule.accepts(Origin::Segment(reader, doc));
            guard_unless(&running, || segment.search(&mut top, &mut accept))?;
        }
        let rarities = query.terms().map(|term| plan.rarity(term)).collect();
        Ok((top.into_sorted(), rarities))
    }

    /// The newest `k` that pass the filter and `accept`, newest first, before sequence `before`.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn newest(
        &self,
        filter: &Filter,
        k: usize,
        before: Option<u64>,
        accept: &mut dyn FnMut(Candidate<'_>) -> bool,
    ) -> Result<Vec<u64>> {
        let seqs = 0..before.unwrap_or(u64::MAX);
        let query = &Query::default();
        self.list(&Listing { query, filter, newest_first: true, seqs, k }, accept)
    }

    /// The oldest `k` that pass the filter and `accept`, oldest first, after sequence `after`.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn oldest(
        &self,
        filter: &Filter,
        k: usize,
        after: Option<u64>,
        accept: &mut dyn FnMut(Candidate<'_>) -> bool,
    ) -> Result<Vec<u64>> {
        let seqs = after.map_or(0, |after| after.saturating_add(1))..u64::MAX;
        let query = &Query::default();
        self.list(&Listing { query, filter, newest_first: false, seqs, k }, accept)
    }

    /// The document with this number, if there is one.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn candidate(&self, seq: u64) -> Result<Option<Candidate<'_>>> {
        if let Some(ord) =
            self.segments.first_seqs.partition_point(|&first| first <= seq).checked_sub(1)
        {
            let doc = seq - self.segments.first_seqs[ord];
            if doc < u64::from(self.segments.index.blobs()[ord].documents) {
                debug_assert_eq!(
                    self.segments.first_seqs[ord] + u64::from(doc as DocId),
                    seq,
                    "a segment counts its documents in 32 bits"
                );
                return Ok(Some(Candidate(Origin::Segment(self.reader(ord)?, doc as DocId))));
            }
        }
        let at = self.tail.binary_search_by_key(&seq, TailDoc::seq);
        Ok(at.ok().map(|at| Candidate(Origin::Tail(&self.tail[at]))))
    }

    /// How much each of [`Query::terms`] tells: its inverse document frequency in scope.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn rarities(
        &self,
        query: &Query,
        filter: &Filter,
        scope: Option<&dyn Scope>,
    ) -> Result<Vec<f32>> {
        let readers = self.readers(filter)?;
        let tail = analysed(&self.tail, query, filter);
        let (plan, _) = guard(|| plan(query, filter, scope, &readers, &tail))?;
        Ok(query.terms().map(|term| plan.rarity(term)).collect())
    }

    /// Words of titles and texts that are like something, as they are indexed, the most alike
    /// first; at most [`ALIKE_MAX`]. Of records that nobody sees any more, too.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn words_like(&self, like: &Like, filter: &Filter) -> Result<Vec<String>> {
        self.alike(like, filter, |reader, steps, sink| reader.walk_words(like, steps, sink), {
            |doc, sink| doc.for_each_word(sink)
        })
    }

    /// Exact terms that begin so, as [`Searcher::words_like`].
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn exact_terms(&self, prefix: &str, filter: &Filter) -> Result<Vec<String>> {
        let like = &Like::Prefix(prefix.to_owned());
        self.alike(like, filter, |reader, steps, sink| reader.walk_terms(like, steps, sink), {
            |doc, sink| doc.for_each_term(sink)
        })
    }

    fn alike(
        &self,
        like: &Like,
        filter: &Filter,
        walk: impl Fn(&Reader, &mut usize, &mut dyn FnMut(&str) -> bool) -> Result<()>,
        read: impl Fn(&TailDoc, &mut dyn FnMut(&str)),
    ) -> Result<Vec<String>> {
        let mut found: BTreeSet<(usize, String)> = BTreeSet::new();
        let mut add = |word: &str| {
            if let Some(distance) = like.distance(word) {
                found.insert((distance, word.to_owned()));
            }
            found.len() < ALIKE_MAX
        };
        for doc in self.tail.iter().take_while(|doc| doc.seq() < filter.seqs_end()) {
            read(doc, &mut |word| {
                let row = word.bytes().try_fold(like.start(), |row, byte| like.step(&row, byte));
                if row.is_some_and(|row| like.accepts(&row)) {
                    add(word);
                }
            });
        }
        let mut steps_left = ALIKE_STEPS_MAX;
        for reader in self.readers(filter)? {
            guard(|| walk(reader, &mut steps_left, &mut add))?;
        }
        Ok(found.into_iter().map(|(_, word)| word).collect())
    }

    fn reader(&self, ord: usize) -> Result<&Reader> {
        if self.segments.readers[ord].get().is_none() {
            let blob = self.segments.index.blobs()[ord].clone();
            let opened = guard(|| {
                Reader::new(self.segments.first_seqs[ord], blob, &self.segments.index.segment(ord))
            });
            if self.segments.readers[ord].set(opened?).is_err() {
                // Another thread was faster; its reader is as good.
            }
        }
        Ok(self.segments.readers[ord].get().expect("set above"))
    }

    /// The segments that begin before the filter's numbers end.
    fn readers(&self, filter: &Filter) -> Result<Vec<&Reader>> {
        let count = self.segments_before(filter);
        let unopened = self.segments.readers[..count]
            .iter()
            .zip(self.segments.index.blobs())
            .filter(|(reader, _)| reader.get().is_none());
        unopened.for_each(|(_, blob)| blob.will_open());
        (0..count).map(|ord| self.reader(ord)).collect()
    }

    fn segments_before(&self, filter: &Filter) -> usize {
        self.segments.first_seqs.partition_point(|&first| first < filter.seqs_end())
    }
}

/// The documents of a tail before the filter's numbers end, as a query sees them.
fn analysed<'a>(tail: &'a [TailDoc], query: &Query, filter: &Filter) -> Vec<TailWords<'a>> {
    let before = tail.iter().take_while(|doc| doc.seq() < filter.seqs_end());
    before.map(|doc| doc.analysed(query, filter)).collect()
}

/// Listing.
impl Searcher {
    fn list(
        &self,
        listing: &Listing<'_>,
        accept: &mut dyn FnMut(Candidate<'_>) -> bool,
    ) -> Result<Vec<u64>> {
        let running = Cell::new(false);
        let mut rule = Rule { accept, running: &running };
        let mut found = Vec::new();
        let mut ords: Vec<usize> = (0..self.segments.readers.len()).collect();
        if listing.newest_first {
            self.list_tail(listing, &mut rule, &mut found)?;
            ords.reverse();
        }
        for ord in ords {
            if found.len() < listing.k && self.may_list(listing, ord) {
                let reader = self.reader(ord)?;
                let docs = self.listed_docs(listing, ord);
                let (plan, infos) =
                    guard(|| plan(listing.query, listing.filter, None, &[reader], &[]))?;
                assert_eq!(infos.len(), 1, "the plan was made for this segment");
                let segment = SegmentSearch { plan: &plan, reader, infos: &infos[0] };
                guard_unless(&running, || {
                    list_segment(&segment, listing, docs, &mut rule, &mut found)
                })?;
            }
        }
        if !listing.newest_first {
            self.list_tail(listing, &mut rule, &mut found)?;
        }
        assert!(found.len() <= listing.k, "no more are listed than were asked for");
        Ok(found)
    }

    /// Whether a segment can hold anything to list, as far as its numbers tell.
    fn may_list(&self, listing: &Listing<'_>, ord: usize) -> bool {
        let first = self.segments.first_seqs[ord];
        let span = first..first + u64::from(self.segments.index.blobs()[ord].documents);
        let allowed = |seqs: &Sequences| seqs.within(span).next().is_some();
        !self.listed_docs(listing, ord).is_empty()
            && listing.filter.seqs.as_ref().is_none_or(allowed)
    }

    /// The documents of a segment that are within the listing's sequence numbers.
    fn listed_docs(&self, listing: &Listing<'_>, ord: usize) -> Range<DocId> {
        let (first, documents) =
            (self.segments.first_seqs[ord], self.segments.index.blobs()[ord].documents);
        let doc = |seq: u64| seq.saturating_sub(first).min(u64::from(documents)) as DocId;
        doc(listing.seqs.start)..doc(listing.seqs.end)
    }

    fn list_tail(
        &self,
        listing: &Listing<'_>,
        rule: &mut Rule<'_>,
        found: &mut Vec<u64>,
    ) -> Result<()> {
        let tail = analysed(&self.tail, listing.query, listing.filter);
        let (plan, _) = guard(|| plan(listing.query, listing.filter, None, &[], &tail))?;
        let gate = TailGate::new(&plan);
        let mut list = |words: &TailWords<'_>| {
            let doc = words.doc;
            let listed = found.len() < listing.k && listing.seqs.contains(&doc.seq());
            if listed && gate.passes(words) && rule.accepts(Origin::Tail(doc)) {
                found.push(doc.seq());
            }
        };
        if listing.newest_first {
            tail.iter().rev().for_each(&mut list);
        } else {
            tail.iter().for_each(&mut list);
        }
        Ok(())
    }
}

/// Lists `docs` of a segment until there are enough.
fn list_segment(
    segment: &SegmentSearch<'_>,
    listing: &Listing<'_>,
    docs: Range<DocId>,
    rule: &mut Rule<'_>,
    found: &mut Vec<u64>,
) -> Result<()> {
    let mut windows = Windows { rest: docs, width: LIST_WINDOW, from_end: listing.newest_first };
    while let Some(window) = windows.next().filter(|_| found.len() < listing.k) {
        let Some(mut gate) = segment.gate()? else {
            return Ok(());
        };
        let next = |doc: DocId| Some(doc).filter(|doc| window.contains(doc));
        let mut passed = Vec::new();
        let mut doc = next(gate.next(window.start));
        while let Some(at) = doc {
            passed.push(at);
            doc = if at + 1 < window.end { next(gate.next(at + 1)) } else { None };
        }
        gate.finish()?;
        if listing.newest_first {
            passed.reverse();
        }
        for doc in passed {
            if found.len() < listing.k && rule.accepts(Origin::Segment(segment.reader, doc)) {
                found.push(segment.reader.seq(doc));
            }
        }
    }
    Ok(())
}

/// Cuts a range into pieces, each four times as wide as the one before, from one end on.
struct Windows {
    rest: Range<DocId>,
    width: u32,
    from_end: bool,
}

impl Iterator for Windows {
    type Item = Range<DocId>;

    fn next(&mut self) -> Option<Range<DocId>> {
        let Range { start, end } = self.rest.clone();
        if start >= end {
            return None;
        }
        let width = self.width.min(end - start);
        self.width = self.width.saturating_mul(4);
        let piece = if self.from_end { end - width..end } else { start..start + width };
        self.rest = if self.from_end { start..piece.start } else { piece.end..end };
        assert!(
            !piece.is_empty() && self.rest.len() + piece.len() == (end - start) as usize,
            "a piece is cut off the rest"
        );
        Some(piece)
    }
}

fn check_order(seq: u64, next: u64) -> Result<()> {
    if seq < next { Err(Error::Order { seq }) } else { Ok(()) }
}
