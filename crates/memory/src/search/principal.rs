//! What a principal may read. Its methods are all that a principal may call: what belongs to the
//! owner is not here, so that a forgotten check does not compile. What it is not cleared for, its
//! view hides.

use kapsa_model::Embedder;

use super::listing::Listing;
use super::question::same_text;
use super::rerank::Models;
use super::{find, lookup, near_values};
use crate::error::Result;
use crate::records::provenance::Trust;
use crate::records::record::Record;
use crate::records::request::{Filter, FindRequest, Found, TimelineRequest, UnknownValue};
use crate::records::uri::Uri;
use crate::view::as_of::AsOf;
use crate::view::raw::RawView;
use crate::view::{View, branches, trust};

/// A capsule at one moment, as one principal may know it. Made by [`crate::Reader::as_principal`].
///
/// The owner's questions take a [`crate::Reader`], which this is not:
///
/// ```compile_fail,E0308
/// # fn f(reader: &kapsa_memory::PrincipalReader) {
/// kapsa_memory::history::log(reader, 10, true);
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PrincipalReader {
    /// Always guarded.
    view: View,
}

impl PrincipalReader {
    pub(crate) fn of(view: View) -> PrincipalReader {
        assert!(view.is_guarded(), "a principal sees through its guard");
        PrincipalReader { view }
    }

    /// What this reader sees, as it is stored; for crates that keep kinds of records of their own.
    #[must_use]
    pub fn raw(&self) -> RawView<'_> {
        RawView::of(&self.view)
    }

    /// As [`crate::trusted`].
    #[must_use]
    pub fn trusted(&self, trust_min: Trust) -> PrincipalReader {
        PrincipalReader::of(trust::trusted(&self.view, trust_min))
    }

    /// As [`crate::Reader::on`]. A branch, a checkpoint and the size of the capsule are not shown
    /// to a principal that may not know what the capsule writes about itself.
    ///
    /// # Errors
    /// As there.
    pub fn on(&self, branch: &str, as_of: Option<&AsOf>) -> Result<PrincipalReader> {
        Ok(PrincipalReader::of(lookup::on(&self.view, branch, as_of)?))
    }

    /// Name of the branch that is seen.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub fn branch(&self) -> Result<String> {
        branches::name_of(self.view.store(), self.view.lineage().own())
    }

    /// Name of the branch that a record was written on.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub fn branch_of(&self, record: &Record) -> Result<String> {
        branches::name_of(self.view.store(), record.branch)
    }

    /// As [`crate::Reader::get`]; what the principal may not know, was forgotten or never was gives
    /// the same error.
    ///
    /// # Errors
    /// `UriNotFound`.
    pub fn get(&self, uri: &Uri) -> Result<Record> {
        lookup::get(&self.view, uri)
    }

    /// One revision by its sequence; never an erased one, a tombstone or an alias: those do not say
    /// whom they concern.
    ///
    /// # Errors
    /// `NoSuchRecord`.
    pub fn record(&self, sequence: u64) -> Result<Record> {
        lookup::record(&self.view, sequence)
    }

    /// Every revision of a URI that the principal may know, oldest first.
    ///
    /// # Errors
    /// `UriNotFound` when there is none.
    pub fn history(&self, uri: &Uri) -> Result<Vec<Record>> {
        self.revisions(uri)?.collect()
    }

    /// As [`PrincipalReader::history`], where each revision is read when it is asked for.
    ///
    /// # Errors
    /// As there.
    pub fn revisions(&self, uri: &Uri) -> Result<Listing<'_>> {
        lookup::revisions(&self.view, uri)
    }

    /// As [`crate::Reader::find`]. Words are weighed over the records that the principal may know:
    /// hidden ones change no figure.
    ///
    /// # Errors
    /// As there.
    pub fn find(&self, request: &FindRequest) -> Result<Found> {
        find::find(&self.view, request, Models::default())
    }

    /// As [`crate::Reader::find_with`].
    ///
    /// # Errors
    /// As there.
    pub fn find_with(
        &self,
        request: &FindRequest,
        embedder: Option<&dyn Embedder>,
    ) -> Result<Found> {
        find::find(&self.view, request, Models { embedder, reranker: None })
    }

    /// As [`crate::Reader::find_with`], and a re-ranker puts the best hits in order. One that fails
    /// leaves them as they are, and [`Means::rerank_error`](crate::Means) says why.
    ///
    /// # Errors
    /// As there.
    pub fn find_by(&self, request: &FindRequest, models: Models<'_>) -> Result<Found> {
        find::find(&self.view, request, models)
    }

    /// The values of a filter that no record has, with those like them that records have.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub fn unknown_values(&self, filter: &Filter) -> Result<Vec<UnknownValue>> {
        near_values::unknown_values(&self.view, filter)
    }

    /// The newest record that holds exactly this text, white space around it aside.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub fn same_text(&self, text: &str) -> Result<Option<Record>> {
        same_text(&self.view, text)
    }

    /// Lists the records that the principal may know, by sequence.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub fn timeline(&self, request: &TimelineRequest) -> Result<Vec<Record>> {
        lookup::timeline(&self.view, request)
    }

    /// As [`crate::Reader::timeline`], each record read when it is asked for.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub fn list(&self, request: &TimelineRequest) -> Result<Listing<'_>> {
        Listing::of(&self.view, request)
    }
}
