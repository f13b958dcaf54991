//! A writer of the owner or of a principal, for programs that serve both.

use super::ahead::NewVectors;
use super::principal::PrincipalWriter;
use super::transaction::Unpublished;
use super::writer::Writer;
use crate::error::Result;
use crate::records::record::NewRecord;
use crate::records::request::Put;
use crate::records::uri::Uri;

/// A writer of whoever acts.
#[derive(Debug)]
pub enum AnyWriter {
    /// The owner's.
    Owner(Writer),
    /// A principal's.
    Principal(PrincipalWriter),
}

impl AnyWriter {
    /// Puts records in one commit. Where one names no domain or no level, those of what it takes
    /// the place of stay.
    ///
    /// # Errors
    /// As [`Writer::put_many`].
    pub fn put_many(&mut self, records: Vec<NewRecord>) -> Result<Vec<Put>> {
        self.prepared(records)?.publish()
    }

    /// As [`AnyWriter::put_many`], with the vectors that were made of these records, all in one
    /// commit. Returns whether they have them as well.
    ///
    /// # Errors
    /// As [`Writer::put_many`].
    pub fn put_embedded(
        &mut self,
        records: Vec<NewRecord>,
        vectors: NewVectors,
    ) -> Result<(Vec<Put>, bool)> {
        self.prepared(records)?.publish_with_vectors(vectors)
    }

    fn prepared(&mut self, records: Vec<NewRecord>) -> Result<Unpublished<'_>> {
        match self {
            AnyWriter::Owner(writer) => {
                let mut transaction = writer.transaction();
                records.into_iter().try_for_each(|record| transaction.revise(record))?;
                transaction.prepare()
            }
            AnyWriter::Principal(writer) => {
                let mut transaction = writer.transaction();
                records.into_iter().try_for_each(|record| transaction.put(record))?;
                transaction.prepare()
            }
        }
    }

    /// Whether a large record is indexed when this writer is dropped.
    #[must_use]
    pub fn leaves_index(&self) -> bool {
        match self {
            AnyWriter::Owner(writer) => writer.leaves_index(),
            AnyWriter::Principal(writer) => writer.leaves_index(),
        }
    }

    /// As [`Writer::forget`].
    ///
    /// # Errors
    /// The same.
    pub fn forget(&mut self, uri: &Uri) -> Result<Put> {
        self.forget_by(uri, "")
    }

    /// As [`AnyWriter::forget`], with the agent that forgets. A principal forgets in its own name.
    ///
    /// # Errors
    /// The same.
    pub fn forget_by(&mut self, uri: &Uri, agent: &str) -> Result<Put> {
        match self {
            AnyWriter::Owner(writer) => {
                let mut transaction = writer.transaction();
                transaction.forget(uri, agent)?;
                Ok(transaction.commit()?.remove(0))
            }
            AnyWriter::Principal(writer) => writer.forget(uri),
        }
    }
}
