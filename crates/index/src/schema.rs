//! The fields of a segment, and how a document is put into them.

use std::borrow::Cow;
use std::sync::LazyLock;

use tantivy::TantivyDocument;
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer, TokenizerManager};
use xxhash_rust::xxh3::xxh3_128;

use crate::analyser::{TextTokenizer, with_analyser};

/// Longest exact term in bytes; a longer one is replaced by a hash of it, here and in queries.
pub const TERM_BYTES_MAX: usize = 255;

/// What is indexed of one record.
#[derive(Debug, Clone, Copy)]
pub struct Document<'a> {
    /// Its title: counted twice as heavy as the text.
    pub title: &'a str,
    /// Its text.
    pub text: &'a str,
    /// Exact terms for filters, such as `kind:fact` or `tag:lang=rust`; opaque here.
    /// `title:<word>` terms are added by this crate.
    pub terms: &'a [String],
    /// Hash of the record's URI.
    pub key_hash: u64,
    /// Microseconds since the Unix epoch, may be negative.
    pub time_us: i64,
}

/// Words of title and text, with frequencies.
pub(crate) const TEXT: Field = Field::from_field_id(0);
/// Exact terms.
pub(crate) const TERMS: Field = Field::from_field_id(1);

const TEXT_TOKENIZER: &str = "text";
const TERMS_TOKENIZER: &str = "terms";
/// Begins the exact terms of a title.
const TITLE_PREFIX: &str = "title:";
/// Separates the exact terms of a document.
const TERM_SEPARATOR: char = '\0';

/// The one schema of all segments.
pub(crate) static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let mut schema = Schema::builder();
    let indexed = |tokenizer, record, norms| {
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(tokenizer)
            .set_index_option(record)
            .set_fieldnorms(norms);
        TextOptions::default().set_indexing_options(indexing)
    };
    let fields = [
        schema.add_text_field("text", indexed(TEXT_TOKENIZER, IndexRecordOption::WithFreqs, true)),
        schema.add_text_field("terms", indexed(TERMS_TOKENIZER, IndexRecordOption::Basic, false)),
    ];
    assert_eq!(fields, [TEXT, TERMS], "the fields have the numbers that segments were built with");
    schema.build()
});

pub(crate) fn tokenizers() -> TokenizerManager {
    let manager = TokenizerManager::new();
    manager.register(TEXT_TOKENIZER, TextTokenizer);
    manager.register(TERMS_TOKENIZER, TermsTokenizer::default());
    // Every field needs one of this name, even a number.
    manager.register("default", TermsTokenizer::default());
    manager
}

impl<'a> Document<'a> {
    pub(crate) fn to_tantivy(self) -> TantivyDocument {
        let mut document = TantivyDocument::new();
        for (value, times) in self.weighted_texts() {
            (0..times).for_each(|_| document.add_text(TEXT, value));
        }
        let mut terms = String::new();
        self.for_each_term(|term| {
            terms.push_str(term);
            terms.push(TERM_SEPARATOR);
        });
        document.add_text(TERMS, terms);
        document
    }

    /// The texts that are indexed, and how often each.
    pub(crate) fn weighted_texts(self) -> [(&'a str, u32); 2] {
        [(self.title, 2), (self.text, 1)]
    }

    /// Calls `sink` with each exact term, as it is indexed.
    pub(crate) fn for_each_term(self, mut sink: impl FnMut(&str)) {
        for term in self.terms {
            let term = exact_term(term);
            debug_assert!(
                term.len() <= TERM_BYTES_MAX && !term.contains(TERM_SEPARATOR),
                "terms can be told apart again"
            );
            sink(&term);
        }
        with_analyser(|analyser| {
            let mut exact = String::from(TITLE_PREFIX);
            analyser.analyse(self.title, &mut |term| {
                exact.truncate(TITLE_PREFIX.len());
                exact.push_str(term.text);
                sink(&exact);
            });
        });
    }
}

/// The form in which an exact term is indexed and searched.
pub(crate) fn exact_term(term: &str) -> Cow<'_, str> {
    if term.len() > TERM_BYTES_MAX || term.contains(TERM_SEPARATOR) {
        Cow::Owned(format!("\u{1}{:032x}", xxh3_128(term.as_bytes())))
    } else {
        Cow::Borrowed(term)
    }
}

/// Cuts at [`TERM_SEPARATOR`].
#[derive(Clone, Default)]
struct TermsTokenizer {
    token: Token,
}

struct TermsStream<'a> {
    rest: &'a str,
    token: &'a mut Token,
}

impl Tokenizer for TermsTokenizer {
    type TokenStream<'a> = TermsStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> TermsStream<'a> {
        self.token.reset();
        TermsStream { rest: text, token: &mut self.token }
    }
}

impl TokenStream for TermsStream<'_> {
    fn advance(&mut self) -> bool {
        let Some((term, rest)) = self.rest.split_once(TERM_SEPARATOR) else {
            return false;
        };
        self.token.text.clear();
        self.token.text.push_str(term);
        self.token.position = self.token.position.wrapping_add(1);
        self.rest = rest;
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}
