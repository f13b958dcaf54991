//! The JSON of a warning.

use schemars::JsonSchema;
use serde::Serialize;

/// Something that was lost, left out or done in a lesser way, though the call did not fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Warning")]
pub(crate) struct WarningOut {
    /// A stable name of the warning, such as `searched_by_words`.
    pub(crate) code: &'static str,
    /// The warning in one line, for people.
    pub(crate) message: String,
}
