//! A reader of the owner or of a principal, for programs that serve both: which of the two it is
//! stands in one place, and every question is asked of both in the same words.

use kapsa_model::Model;

use super::listing::Listing;
use super::principal::PrincipalReader;
use super::reader::Reader;
use super::rerank::Models;
use super::sources::same_text;
use crate::error::Result;
use crate::records::record::Record;
use crate::records::request::{Filter, FindRequest, Found, TimelineRequest, UnknownValue};
use crate::records::uri::Uri;

/// A reader of whoever acts.
#[derive(Debug)]
pub enum AnyReader {
    /// The owner's.
    Owner(Reader),
    /// A principal's.
    Principal(PrincipalReader),
}

impl AnyReader {
    /// As [`Reader::get`].
    ///
    /// # Errors
    /// The same.
    pub fn get(&self, uri: &Uri) -> Result<Record> {
        match self {
            AnyReader::Owner(reader) => reader.get(uri),
            AnyReader::Principal(reader) => reader.get(uri),
        }
    }

    /// As [`Reader::record`].
    ///
    /// # Errors
    /// The same.
    pub fn record(&self, sequence: u64) -> Result<Record> {
        match self {
            AnyReader::Owner(reader) => reader.record(sequence),
            AnyReader::Principal(reader) => reader.record(sequence),
        }
    }

    /// As [`crate::RawView::moment`].
    #[must_use]
    pub fn moment(&self) -> u64 {
        match self {
            AnyReader::Owner(reader) => reader.raw().moment(),
            AnyReader::Principal(reader) => reader.raw().moment(),
        }
    }

    /// As [`Reader::branch_of`].
    ///
    /// # Errors
    /// The same.
    pub fn branch_of(&self, record: &Record) -> Result<String> {
        match self {
            AnyReader::Owner(reader) => reader.branch_of(record),
            AnyReader::Principal(reader) => reader.branch_of(record),
        }
    }

    /// As [`Reader::branch`].
    ///
    /// # Errors
    /// The same.
    pub fn branch(&self) -> Result<String> {
        match self {
            AnyReader::Owner(reader) => reader.branch(),
            AnyReader::Principal(reader) => reader.branch(),
        }
    }

    /// As [`Reader::revisions`].
    ///
    /// # Errors
    /// The same.
    pub fn revisions(&self, uri: &Uri) -> Result<Listing<'_>> {
        match self {
            AnyReader::Owner(reader) => reader.revisions(uri),
            AnyReader::Principal(reader) => reader.revisions(uri),
        }
    }

    /// As [`Reader::find_by`].
    ///
    /// # Errors
    /// The same.
    pub fn find_by(&self, request: &FindRequest, models: Models<'_>) -> Result<Found> {
        match self {
            AnyReader::Owner(reader) => reader.find_by(request, models),
            AnyReader::Principal(reader) => reader.find_by(request, models),
        }
    }

    /// As [`crate::same_text`].
    ///
    /// # Errors
    /// The same.
    pub fn same_text(&self, text: &str) -> Result<Option<Record>> {
        match self {
            AnyReader::Owner(reader) => same_text(reader, text),
            AnyReader::Principal(reader) => reader.same_text(text),
        }
    }

    /// As [`Reader::unknown_values`].
    ///
    /// # Errors
    /// The same.
    pub fn unknown_values(&self, filter: &Filter) -> Result<Vec<UnknownValue>> {
        match self {
            AnyReader::Owner(reader) => reader.unknown_values(filter),
            AnyReader::Principal(reader) => reader.unknown_values(filter),
        }
    }

    /// As [`Reader::timeline`].
    ///
    /// # Errors
    /// The same.
    pub fn timeline(&self, request: &TimelineRequest) -> Result<Vec<Record>> {
        self.list(request)?.collect()
    }

    /// As [`Reader::list`].
    ///
    /// # Errors
    /// The same.
    pub fn list(&self, request: &TimelineRequest) -> Result<Listing<'_>> {
        match self {
            AnyReader::Owner(reader) => reader.list(request),
            AnyReader::Principal(reader) => reader.list(request),
        }
    }

    /// As [`crate::RawView::model`].
    ///
    /// # Errors
    /// The same.
    pub fn model(&self) -> Result<Option<Model>> {
        match self {
            AnyReader::Owner(reader) => reader.raw().model(),
            AnyReader::Principal(reader) => reader.raw().model(),
        }
    }
}
