//! An open segment: postings, lengths, columns.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::SegmentComponent;
use tantivy::postings::{SegmentPostings, TermInfo};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, InvertedIndexReader, Segment, SegmentReader, Term};

use crate::blob::{Blob, Times, ZONE_DOCUMENTS};
use crate::directory::damaged;
use crate::error::Result;
use crate::schema::{TERMS, TEXT, exact_term};
use crate::segment_bytes::SegmentBytes;
use crate::similar::Like;
use crate::terms::{LookUp, Terms, finish};

/// Where the postings of the text field begin in their file, after a count of tokens. Only a hint
/// depends on it.
const TEXT_POSTINGS_AT: usize = 8;

/// A segment, opened.
pub(crate) struct Reader {
    pub(crate) first_seq: u64,
    pub(crate) segment: SegmentReader,
    pub(crate) norms: FieldNormReader,
    /// Mean number of terms in this segment's texts, at least a little.
    pub(crate) mean_tokens: f32,
    blob: Blob,
    postings: SegmentBytes,
    text: FieldTerms,
    /// Opened when there is a filter.
    terms: OnceLock<FieldTerms>,
    source: Segment,
    /// Least and greatest time of each zone.
    zones: Vec<(i64, i64)>,
    times_us: Times,
}

/// The terms of one field, and their postings.
struct FieldTerms {
    terms: Terms,
    index: Arc<InvertedIndexReader>,
}

impl FieldTerms {
    fn open(
        blob: &Blob,
        segment: &Segment,
        reader: &SegmentReader,
        field: Field,
    ) -> Result<FieldTerms> {
        let kept = "the terms are a file of the blob";
        let slice = segment.open_read(SegmentComponent::Terms).map_err(damaged)?;
        // In this order: the one checks what the other reads.
        let terms =
            Terms::open(blob.component(&SegmentComponent::Terms).expect(kept), &slice, field)?;
        Ok(FieldTerms { terms, index: reader.inverted_index(field).map_err(damaged)? })
    }
}

impl Reader {
    pub(crate) fn new(first_seq: u64, blob: Blob, segment: &Segment) -> Result<Reader> {
        let reader = SegmentReader::open(segment).map_err(damaged)?;
        assert_eq!(
            reader.max_doc(),
            blob.documents,
            "tantivy was told how many documents there are"
        );
        let text = FieldTerms::open(&blob, segment, &reader, TEXT)?;
        let zones = blob.zones()?;
        Ok(Reader {
            first_seq,
            norms: reader.get_fieldnorms_reader(TEXT).map_err(damaged)?,
            mean_tokens: text.index.total_num_tokens() as f32 / reader.max_doc().max(1) as f32,
            terms: OnceLock::new(),
            source: segment.clone(),
            times_us: blob.times(&zones),
            postings: blob
                .component(&SegmentComponent::Postings)
                .expect("the postings are a file of the blob"),
            zones,
            text,
            blob,
            segment: reader,
        })
    }

    pub(crate) fn documents(&self) -> u32 {
        self.segment.max_doc()
    }

    pub(crate) fn seq(&self, doc: DocId) -> u64 {
        self.first_seq + u64::from(doc)
    }

    pub(crate) fn key_hash(&self, doc: DocId) -> Result<u64> {
        self.blob.key_hash(doc)
    }

    pub(crate) fn time_us(&self, doc: DocId) -> Result<i64> {
        self.times_us.get(doc)
    }

    /// Documents of each zone, with the least and the greatest time.
    pub(crate) fn zones(&self) -> impl Iterator<Item = (Range<DocId>, i64, i64)> {
        self.zones.iter().zip(0..).map(|(&(first, last), zone)| {
            let start = zone * ZONE_DOCUMENTS;
            let end = (start + ZONE_DOCUMENTS).min(self.documents());
            debug_assert!(start < end, "a zone has documents");
            (start..end, first, last)
        })
    }

    /// Begins to look up a word of the text field. No word is looked up another way, by tantivy
    /// neither.
    pub(crate) fn look_up<'a>(&'a self, word: &'a str) -> LookUp<'a> {
        self.text.terms.look_up(word.as_bytes())
    }

    /// Says that the postings of a word are about to be read.
    pub(crate) fn will_read(&self, info: &TermInfo) {
        let Range { start, end } = info.postings_range;
        self.postings.will_read(TEXT_POSTINGS_AT + start..TEXT_POSTINGS_AT + end);
    }

    pub(crate) fn word_postings(&self, info: &TermInfo) -> Result<SegmentPostings> {
        let freqs = IndexRecordOption::WithFreqs;
        self.text.index.read_postings_from_terminfo(info, freqs).map_err(damaged)
    }

    /// Documents before the sequence number `end`.
    pub(crate) fn documents_before(&self, end: u64) -> u32 {
        end.saturating_sub(self.first_seq).min(u64::from(self.documents())) as u32
    }

    /// Documents with a word before the sequence number `end`.
    pub(crate) fn doc_freq_before(&self, info: &TermInfo, end: u64) -> Result<u32> {
        let documents = self.documents_before(end);
        let all = info.doc_freq.min(self.documents());
        if documents == self.documents() || all == 0 {
            return Ok(all);
        }
        let mut postings = self.word_postings(info)?;
        let mut count = 0;
        while count < all && postings.doc() < documents {
            count += 1;
            postings.advance();
        }
        Ok(count)
    }

    /// Tokens of all texts.
    pub(crate) fn tokens(&self) -> u64 {
        self.blob.tokens
    }

    /// Documents with an exact term.
    pub(crate) fn exact(&self, term: &str) -> Result<Option<SegmentPostings>> {
        let term = Term::from_field_text(TERMS, &exact_term(term));
        let words = self.terms()?;
        let mut look_up = words.terms.look_up(term.serialized_value_bytes());
        finish(std::slice::from_mut(&mut look_up))?;
        let postings =
            |info| words.index.read_postings_from_terminfo(&info, IndexRecordOption::Basic);
        look_up.into_found().map(postings).transpose().map_err(damaged)
    }

    /// Calls `sink` with words of the text field that are like something; see [`Terms::walk`].
    pub(crate) fn walk_words(
        &self,
        like: &Like,
        steps_left: &mut usize,
        sink: &mut dyn FnMut(&str) -> bool,
    ) -> Result<()> {
        self.text.terms.walk(like, steps_left, sink)
    }

    /// Calls `sink` with exact terms that are like something; see [`Terms::walk`].
    pub(crate) fn walk_terms(
        &self,
        like: &Like,
        steps_left: &mut usize,
        sink: &mut dyn FnMut(&str) -> bool,
    ) -> Result<()> {
        self.terms()?.terms.walk(like, steps_left, sink)
    }

    fn terms(&self) -> Result<&FieldTerms> {
        if let Some(terms) = self.terms.get() {
            return Ok(terms);
        }
        let terms = FieldTerms::open(&self.blob, &self.source, &self.segment, TERMS)?;
        Ok(self.terms.get_or_init(|| terms))
    }
}

/// `word`, which is already analysed, as tantivy knows it.
pub(crate) fn text_term(word: &str) -> Term {
    Term::from_field_text(TEXT, word)
}
