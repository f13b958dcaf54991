//! Lexical search over immutable segments of bytes and a tail of records not in one yet.
//! Opens no file; knows no network, clock or capsule, and no tantivy type is part of its interface.
//!
//! A [`SegmentBuilder`] turns documents into bytes; [`merge`] concatenates such bytes; a
//! [`Searcher`] searches any number of them, together with [`TailDoc`]s, as one. Searching is exact
//! at every moment: a record scores the same in the tail and in a segment.
//!
//! Damaged bytes are never believed when the segments come with [`Checks`].
//!
//! Texts are not kept: a hit is a sequence number and a score. Nor are positions of words: for a
//! query with phrases, the caller asks [`Query::phrases_match`] about the text of a candidate.
//!
//! ```
//! use kapsa_index::{Document, Filter, Query, Searcher, Segment, SegmentBuilder, TailDoc};
//!
//! let document = |text| Document { title: "", text, terms: &[], key_hash: 0, time_us: 0 };
//! let mut builder = SegmentBuilder::new(1 << 20)?;
//! builder.add(&document("The quick brown fox"))?;
//! let segment = Segment { first_seq: 1, bytes: builder.finish()?.into() };
//! let tail = vec![TailDoc::new(2, &document("foxes, foxes everywhere"))];
//!
//! let searcher = Searcher::open(vec![segment], tail)?;
//! let query = Query::parse("where is the fox?")?;
//! let hits = searcher.search(&query, &Filter::default(), 10, &mut |_| true)?;
//! assert_eq!(hits.iter().map(|hit| hit.seq).collect::<Vec<_>>(), [2, 1]);
//! # Ok::<(), kapsa_index::Error>(())
//! ```

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod analyser;
mod blob;
mod candidate;
mod code;
mod directory;
mod error;
mod filter;
mod fold;
mod gate;
#[cfg(test)]
mod growth;
mod guard;
mod parts;
mod period;
mod phrase;
mod plan;
mod query;
mod reader;
mod schema;
mod scope;
mod score;
mod searcher;
mod segment;
mod segment_bytes;
mod seqs;
mod shared_bytes;
mod similar;
mod snippet;
mod spelling;
mod stem;
mod steps;
mod tail;
mod tail_search;
mod terms;
mod top;
mod vectors;

pub use analyser::TOKEN_BYTES_MAX;
pub use blob::verify;
pub use candidate::Candidate;
pub use code::{code_words, has_code_word, symbol_words};
pub use error::{CheckError, Error, Result};
pub use filter::Filter;
pub use parts::{PART_TEXT_BYTES_MAX, fold_case, part_terms};
pub use period::{
    Anchor, Calendar, EXPRESSIONS_MAX, PERIOD_BYTES_MAX, Period, Relation, anchors, is_stop_word,
    periods,
};
pub use query::{AskedWord, Operator, QUERY_BYTES_MAX, QUERY_TERMS_MAX, Query, Sign};
pub use schema::{Document, TERM_BYTES_MAX};
pub use scope::Scope;
pub use searcher::{ALIKE_MAX, Searcher, Segment};
pub use segment::{SEGMENT_DOCUMENTS_MAX, SEGMENT_MEMORY_BYTES_MAX, SegmentBuilder, merge};
pub use segment_bytes::{Checks, SegmentBytes};
pub use seqs::Sequences;
pub use similar::{Like, TYPO_CHARS_MIN, typing_errors};
pub use snippet::{Snippet, TermPlace, highlight, snippet, term_places, terms_in};
pub use tail::TailDoc;
pub use top::Hit;
pub use vectors::{
    DIMENSION_MAX, Entry, LABEL_BYTES_MAX, Near, VECTORS_MAX, Vectors, VectorsBuilder, nearest,
    similarity,
};
