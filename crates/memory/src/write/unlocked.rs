//! A capsule opened to be written to, before its lock is taken: where vectors are made while others
//! still write.

use std::path::Path;

use kapsa_capsule::Unlocked;
use kapsa_model::{Embedder, Model};

use super::ahead::NewVectors;
use super::options::WriteOptions;
use super::writer::{Writer, locked};
use crate::error::Result;
use crate::records::record::NewRecord;
use crate::view::View;
use crate::view::vectors;

/// A capsule whose file is open for writing and whose lock is not taken yet.
#[derive(Debug)]
pub struct UnlockedWriter {
    capsule: Unlocked,
    view: View,
    options: WriteOptions,
}

impl UnlockedWriter {
    /// Opens the capsule at `path`.
    ///
    /// # Errors
    /// `NotFound`, `NotACapsule`, `VersionMismatch`, `Truncated`, `Corrupt`, or what the system
    /// says.
    pub fn open(path: &Path, options: WriteOptions) -> Result<UnlockedWriter> {
        let capsule = Unlocked::open(path)?;
        let view = View::new(capsule.snapshot().clone());
        Ok(UnlockedWriter { capsule, view, options })
    }

    /// As [`crate::RawView::model`].
    ///
    /// # Errors
    /// The same.
    pub fn model(&self) -> Result<Option<Model>> {
        vectors::model(self.view.store())
    }

    /// Makes the vectors of records that are about to be put, in this order and nothing else.
    ///
    /// # Errors
    /// `OtherModel` when another model is in force; `Embedding` when the model fails; what a
    /// damaged file reports.
    pub fn embed(&self, records: &[NewRecord], embedder: &dyn Embedder) -> Result<NewVectors> {
        NewVectors::make(&self.view, records, embedder, (self.options.clock)())
    }

    /// Takes the lock, waiting for another writer up to the timeout.
    ///
    /// # Errors
    /// As [`Writer::open`].
    pub fn lock(self) -> Result<Writer> {
        let capsule = self.capsule.lock(&self.options.capsule())?;
        locked(capsule, self.options, &self.view)
    }
}
