//! What the owner of a capsule may read: everything. The answers themselves are in `lookup` and
//! `find`.

use std::path::Path;

use kapsa_capsule::{Snapshot, Volume};
use kapsa_model::Embedder;

use super::listing::Listing;
use super::principal::PrincipalReader;
use super::rerank::Models;
use super::{find, lookup, near_values};
use crate::error::{Error, Result};
use crate::records::access::ClearanceProfile;
use crate::records::record::{BranchId, Record};
use crate::records::request::{Filter, FindRequest, Found, TimelineRequest, UnknownValue};
use crate::records::uri::Uri;
use crate::tables::lineage::Lineage;
use crate::view::as_of::AsOf;
use crate::view::coverage::coverage;
use crate::view::raw::RawView;
use crate::view::vectors::Coverage;
use crate::view::{View, branches};

/// A consistent view of a capsule at one moment, for its owner. Takes no lock and never waits.
///
/// What else an owner may ask is a function of the module that it is about:
/// [`crate::branch::list`], [`crate::history::log`], [`crate::event::list`] and so on take a
/// `Reader`.
#[derive(Clone, Debug)]
pub struct Reader {
    view: View,
}

impl Reader {
    /// Opens a capsule for reading. Never creates or changes a file.
    ///
    /// # Errors
    /// `NotFound`, `NotACapsule`, `VersionMismatch`, `Truncated`, `Corrupt`, or what the system
    /// reports.
    pub fn open(path: &Path) -> Result<Reader> {
        Ok(Reader { view: View::new(Snapshot::open(path)?) })
    }

    /// Opens a capsule of `volume` for reading.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn open_in(volume: &dyn Volume, path: &Path) -> Result<Reader> {
        Ok(Reader { view: View::new(Snapshot::open_in(volume, path)?) })
    }

    /// `main` of the capsule as it is now. Shares what was read before when nothing was written
    /// since.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn renewed(&self) -> Result<Reader> {
        let snapshot = self.view.store().snapshot().renewed()?;
        Ok(Reader { view: self.view.main_of(snapshot)? })
    }

    /// What this reader sees, as it is stored; for crates that keep kinds of records of their own.
    #[must_use]
    pub fn raw(&self) -> RawView<'_> {
        RawView::of(&self.view)
    }

    /// What is written on these branches, without what they inherit.
    #[must_use]
    pub fn only(&self, branches: impl IntoIterator<Item = BranchId>) -> Reader {
        Reader { view: self.view.with(Lineage::several(branches)) }
    }

    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    /// A reader of what an owner's view sees.
    pub(crate) fn of(view: View) -> Reader {
        debug_assert!(!view.is_guarded(), "a guarded view is a principal's");
        Reader { view }
    }

    /// The same capsule at the same moment as a principal may know it: what its profile does not
    /// allow is not there, in searches, lists, counts and single reads alike. Without a profile
    /// only what is public is known.
    #[must_use]
    pub fn as_principal(&self, profile: ClearanceProfile) -> PrincipalReader {
        PrincipalReader::of(self.view.guarded(profile))
    }

    /// The profile of a principal as it is now on `main`, whatever branch is seen; one that allows
    /// only what is public when there is none.
    ///
    /// # Errors
    /// `InvalidUri`; what the disk or a damaged file reports.
    pub fn clearance(&self, principal: &str) -> Result<ClearanceProfile> {
        let main = self.view.with(Lineage::main());
        match lookup::get(&main, &ClearanceProfile::uri(principal)?) {
            Ok(record) => Ok(ClearanceProfile {
                principal: principal.to_string(),
                ..ClearanceProfile::from_record(&record)
            }),
            Err(Error::UriNotFound { .. }) => Ok(ClearanceProfile::new(principal)),
            Err(error) => Err(error),
        }
    }

    /// The same capsule at the same moment as seen from `branch`, as of then where that is given.
    ///
    /// # Errors
    /// `BranchNotFound`; `UnknownAsOf` when `as_of` names nothing on that branch.
    pub fn on(&self, branch: &str, as_of: Option<&AsOf>) -> Result<Reader> {
        Ok(Reader { view: lookup::on(&self.view, branch, as_of)? })
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

    /// The newest revision of a URI, or of what it is an alias of. When [`Record::conflicts_with`]
    /// is not empty, it names contested revisions that count as much.
    ///
    /// # Errors
    /// `UriNotFound` when there is none or it was forgotten.
    pub fn get(&self, uri: &Uri) -> Result<Record> {
        lookup::get(&self.view, uri)
    }

    /// One revision by its sequence. An erased one comes back without content and is marked so.
    ///
    /// # Errors
    /// `NoSuchRecord` outside the capsule.
    pub fn record(&self, sequence: u64) -> Result<Record> {
        lookup::record(&self.view, sequence)
    }

    /// Every revision of a URI, oldest first, tombstones included.
    ///
    /// # Errors
    /// `UriNotFound` when there never was one.
    pub fn history(&self, uri: &Uri) -> Result<Vec<Record>> {
        self.revisions(uri)?.collect()
    }

    /// As [`Reader::history`], where each revision is read when it is asked for.
    ///
    /// # Errors
    /// As there.
    pub fn revisions(&self, uri: &Uri) -> Result<Listing<'_>> {
        lookup::revisions(&self.view, uri)
    }

    /// Searches by words. Any text is a valid query.
    ///
    /// # Errors
    /// Only what the disk or a damaged file reports, or a query above its limit of bytes.
    pub fn find(&self, request: &FindRequest) -> Result<Found> {
        find::find(&self.view, request, Models::default())
    }

    /// Searches by words and by meaning, as far as the request wants and the capsule has vectors of
    /// this model.
    ///
    /// # Errors
    /// As [`Reader::find`]; `Embedding` when the model fails; `NoVectors` when only meaning is
    /// wanted and there are none.
    pub fn find_with(
        &self,
        request: &FindRequest,
        embedder: Option<&dyn Embedder>,
    ) -> Result<Found> {
        find::find(&self.view, request, Models { embedder, reranker: None })
    }

    /// As [`Reader::find_with`], and a re-ranker puts the best hits in order. One that fails leaves
    /// them as they are, and [`Means::rerank_error`](crate::Means) says why.
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

    /// Lists visible records by sequence.
    ///
    /// # Errors
    /// Only what the disk or a damaged file reports.
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

    /// How much of the capsule has vectors, and of which model.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub fn coverage(&self) -> Result<Coverage> {
        coverage(self.view.store()).cloned()
    }
}
