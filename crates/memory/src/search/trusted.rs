//! Reads only what is trusted as far as is asked.

use super::reader::Reader;
use crate::records::provenance::Trust;
use crate::view::trust;

/// The same capsule without what is trusted less far, in searches and lists. A record is trusted as
/// its newest revision is.
#[must_use]
pub fn trusted(reader: &Reader, trust_min: Trust) -> Reader {
    Reader::of(trust::trusted(reader.view(), trust_min))
}
