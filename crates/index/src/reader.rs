//! What does an open segment offer: postings, lengths, columns?

use std::ops::Range;
use std::sync::Arc;

use tantivy::columnar::ColumnValues;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{SegmentPostings, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, InvertedIndexReader, SegmentReader, Term};

use crate::Result;
use crate::blob::{Blob, ZONE_DOCUMENTS};
use crate::directory::damaged;
use crate::schema::{KEY_HASH_NAME, TERMS, TEXT, TIME_US_NAME, exact_term};

/// A segment, opened.
pub(crate) struct Reader {
    pub(crate) first_seq: u64,
    pub(crate) segment: SegmentReader,
    pub(crate) norms: FieldNormReader,
    /// Mean number of terms in this segment's texts, at least a little.
    pub(crate) mean_tokens: f32,
    blob: Blob,
    text: Arc<InvertedIndexReader>,
    terms: Arc<InvertedIndexReader>,
    key_hashes: Arc<dyn ColumnValues<u64>>,
    times_us: Arc<dyn ColumnValues<i64>>,
}

impl Reader {
    pub(crate) fn new(first_seq: u64, blob: Blob, segment: SegmentReader) -> Result<Reader> {
        let open = move |segment: SegmentReader| -> tantivy::Result<Reader> {
            let text = segment.inverted_index(TEXT)?;
            let columns = segment.fast_fields();
            Ok(Reader {
                first_seq,
                norms: segment.get_fieldnorms_reader(TEXT)?,
                mean_tokens: text.total_num_tokens() as f32 / segment.max_doc().max(1) as f32,
                terms: segment.inverted_index(TERMS)?,
                key_hashes: columns.column_first_or_default(KEY_HASH_NAME)?,
                times_us: columns.column_first_or_default(TIME_US_NAME)?,
                text,
                blob,
                segment,
            })
        };
        open(segment).map_err(damaged)
    }

    pub(crate) fn documents(&self) -> u32 {
        self.segment.max_doc()
    }

    pub(crate) fn seq(&self, doc: DocId) -> u64 {
        self.first_seq + u64::from(doc)
    }

    pub(crate) fn key_hash(&self, doc: DocId) -> u64 {
        self.key_hashes.get_val(doc)
    }

    pub(crate) fn time_us(&self, doc: DocId) -> i64 {
        self.times_us.get_val(doc)
    }

    /// Documents of each zone, with the least and the greatest time.
    pub(crate) fn zones(&self) -> impl Iterator<Item = (Range<DocId>, i64, i64)> {
        self.blob.zones().zip(0..).map(|((first, last), zone)| {
            let start = zone * ZONE_DOCUMENTS;
            let end = (start + ZONE_DOCUMENTS).min(self.documents());
            (start..end, first, last)
        })
    }

    /// Where a word of the text field is, if it is in this segment.
    pub(crate) fn word(&self, word: &str) -> Result<Option<TermInfo>> {
        self.text.get_term_info(&text_term(word)).map_err(damaged)
    }

    pub(crate) fn word_postings(&self, info: &TermInfo) -> Result<SegmentPostings> {
        let freqs = IndexRecordOption::WithFreqs;
        self.text.read_postings_from_terminfo(info, freqs).map_err(damaged)
    }

    /// Documents with an exact term.
    pub(crate) fn exact(&self, term: &str) -> Result<Option<SegmentPostings>> {
        let term = Term::from_field_text(TERMS, &exact_term(term));
        self.terms.read_postings(&term, IndexRecordOption::Basic).map_err(damaged)
    }
}

/// `word`, which is already analysed, as tantivy knows it.
pub(crate) fn text_term(word: &str) -> Term {
    Term::from_field_text(TEXT, word)
}
