//! What a URI stands for.

use super::{ALIASES_MAX, View};
use crate::error::{Error, Result};
use crate::records::codec::Operation;
use crate::records::uri::Uri;

impl View {
    /// The URI that a URI stands for, and whether a memory is visible under it.
    ///
    /// # Errors
    /// `InvalidOperation` when aliases lead in a circle or too far.
    pub(crate) fn look_up(&self, uri: &Uri) -> Result<(Uri, bool)> {
        let mut uri = uri.clone();
        for _ in 0..=ALIASES_MAX {
            let Some(head) = self.newest(&uri)? else { return Ok((uri, false)) };
            let body = self.store.body(head.sequence)?;
            match body.record.alias {
                Some(target) => uri = target,
                None => return Ok((uri, body.operation == Operation::Put)),
            }
        }
        let reason = format!(
            "{uri} is an alias that leads in a circle, or over more than {ALIASES_MAX} others"
        );
        Err(Error::InvalidOperation { reason })
    }

    /// The URI that a URI stands for, if a memory is visible under it.
    pub(crate) fn resolve(&self, uri: &Uri) -> Result<Option<Uri>> {
        let (uri, exists) = self.look_up(uri)?;
        Ok(exists.then_some(uri))
    }
}
