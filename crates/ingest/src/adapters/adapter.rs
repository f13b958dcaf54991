//! What every reader of a format is: records go in. Knows no format and no file.

use std::path::PathBuf;

use crate::output::Output;
use crate::session::Place;

/// A line, or an element of a list in a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'a> {
    pub(crate) text: &'a str,
    pub(crate) place: Place,
    /// The member of the document whose list it is in; empty for lines and top lists.
    pub(crate) list: &'a str,
}

/// What is known of a trace beside its bytes.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    /// Identifies the session where its format does not.
    pub(crate) stem: String,
    /// The folder in which outputs of its tools may be.
    pub(crate) outputs: Option<PathBuf>,
}

/// A record is not JSON, or not of the kind that the format has; nothing was taken from it.
#[derive(Debug)]
pub(crate) struct NotJson;

/// The reader of one format, for one file.
pub(crate) trait Adapter {
    /// Takes one record.
    fn record(&mut self, record: &Record<'_>, output: &mut Output<'_>) -> Result<(), NotJson>;

    /// Takes a member of the document that is not a list.
    fn member(&mut self, _name: &str, _text: &str, _output: &mut Output<'_>) {}

    /// There is no more.
    fn end(&mut self, output: &mut Output<'_>);
}
