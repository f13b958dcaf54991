//! A session in short.

use kapsa_ingest::Session;

use crate::candidate::Summary;

/// A session in short, without a model.
#[must_use]
pub fn summarise(session: &Session) -> Summary {
    let _ = session;
    Summary::default()
}
