//! The documents that count for the statistics of a search, where that is not all of them. A score
//! depends on nothing of any other document.
//!
//! What would take a walk over all documents is estimated from the first of those that count: the
//! mean length from the first [`LENGTHS_MAX`], the frequency of a word from the first
//! [`WITH_WORD_MAX`] that have it. Where those are stored makes no difference.

use tantivy::fieldnorm::FieldNormReader;
use tantivy::{DocSet, TERMINATED};

use crate::error::Result;
use crate::plan::{Statistics, WordInfos};
use crate::reader::Reader;
use crate::tail::{TailWords, TermHash};

/// Documents by whose lengths the mean length is estimated.
const LENGTHS_MAX: u64 = 256;
/// Documents with a word after which those that follow are taken to have it as often.
const WITH_WORD_MAX: u64 = 1024;

/// Says which documents count for the statistics of a search.
pub trait Scope {
    /// Whether the document with this sequence number counts.
    fn counts(&self, seq: u64) -> bool;

    /// How many documents that count come before a sequence number.
    fn before(&self, seq: u64) -> u64;
}

/// Everything before a sequence number, as far as it is in scope.
pub(crate) struct Scoped<'a> {
    pub(crate) scope: &'a dyn Scope,
    pub(crate) seqs_end: u64,
    pub(crate) readers: &'a [&'a Reader],
    pub(crate) tail: &'a [TailWords<'a>],
}

impl Scoped<'_> {
    pub(crate) fn documents(&self) -> u64 {
        self.scope.before(self.seqs_end)
    }

    /// Tokens of all documents, as rounded as the index keeps them.
    pub(crate) fn tokens(&self) -> u64 {
        let documents = self.documents();
        let wanted = documents.min(LENGTHS_MAX);
        let (mut seen, mut sum) = (0, 0);
        for reader in self.readers {
            let mut docs = 0..reader.documents_before(self.seqs_end);
            while seen < wanted {
                let Some(doc) = docs.find(|&doc| self.scope.counts(reader.seq(doc))) else { break };
                seen += 1;
                sum += u64::from(reader.norms.fieldnorm(doc));
            }
        }
        let tail = self.tail.iter().filter(|words| self.scope.counts(words.doc.seq()));
        for words in tail.take((wanted - seen) as usize) {
            seen += 1;
            sum += u64::from(FieldNormReader::id_to_fieldnorm(words.fieldnorm_id()));
        }
        debug_assert_eq!(seen, wanted, "as many count as the scope says");
        (u128::from(sum) * u128::from(documents) / u128::from(seen.max(1))) as u64
    }

    /// How many documents have a word, whose places in each segment are in `infos`.
    pub(crate) fn doc_freq(&self, word: &str, infos: &[WordInfos]) -> Result<u64> {
        let mut found = 0;
        for (reader, infos) in self.readers.iter().zip(infos) {
            let Some(info) = infos.get(word) else { continue };
            let mut postings = reader.word_postings(info)?;
            let end = reader.documents_before(self.seqs_end);
            while postings.doc() != TERMINATED && postings.doc() < end {
                let seq = reader.seq(postings.doc());
                found += u64::from(self.scope.counts(seq));
                if found == WITH_WORD_MAX {
                    return Ok(self.extrapolated(found, seq));
                }
                postings.advance();
            }
        }
        let hash = TermHash::of(word);
        for words in self.tail.iter().filter(|words| words.has_word(hash)) {
            found += u64::from(self.scope.counts(words.doc.seq()));
            if found == WITH_WORD_MAX {
                return Ok(self.extrapolated(found, words.doc.seq()));
            }
        }
        Ok(found)
    }

    /// How many of all documents have what `found` of those up to `seq` have.
    fn extrapolated(&self, found: u64, seq: u64) -> u64 {
        let (seen, all) = (self.scope.before(seq + 1), self.documents());
        assert!(found <= seen && seen <= all, "a document is before those after it");
        (u128::from(found) * u128::from(all) / u128::from(seen)) as u64
    }
}

impl Statistics {
    /// Makes them those of the documents in scope.
    pub(crate) fn narrow(&mut self, scoped: &Scoped<'_>, infos: &[WordInfos]) -> Result<()> {
        (self.documents, self.tokens) = (scoped.documents(), scoped.tokens());
        for (word, count) in &mut self.doc_freqs {
            *count = scoped.doc_freq(word, infos)?;
        }
        Ok(())
    }
}
