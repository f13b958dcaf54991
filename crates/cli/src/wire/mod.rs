//! The JSON that programs read: every answer of `--json`, as a type. Knows nothing of how an answer
//! comes about.
//!
//! The shapes here are a contract; the types of the memory are not. Their documentation comments
//! are published: `cargo xtask schema` turns them into `docs/json.md` and `docs/schema/`.
//!
//! Names: a thing has one name everywhere, listed at the top of `docs/json.md`; a plural names a
//! list, and how many there are ends in `_count`. An empty or unknown field is left out. Characters
//! that could act on a terminal are escaped, as in `\u001b`.

pub(crate) mod access;
pub(crate) mod agent;
pub(crate) mod backend;
pub(crate) mod care;
pub(crate) mod error;
pub(crate) mod exchange;
pub(crate) mod fs;
pub(crate) mod hook;
pub(crate) mod key;
pub(crate) mod knowledge;
pub(crate) mod memory_tool;
pub(crate) mod merge;
pub(crate) mod model;
pub(crate) mod put;
pub(crate) mod record;
pub(crate) mod redact;
pub(crate) mod review;
pub(crate) mod role;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod setup;
pub(crate) mod shell;
pub(crate) mod svc;
pub(crate) mod tour;
pub(crate) mod traces;
pub(crate) mod transfer;
pub(crate) mod versions;
pub(crate) mod warning;

use std::borrow::Cow;
use std::path::Path;

use kapsa_memory::Micros;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::moment::rfc3339;

pub(crate) use error::ErrorOut;
pub(crate) use put::{Made, PutOut, Tally};
pub(crate) use record::{FoundOut, RecordOut, Records};
pub(crate) use warning::WarningOut;

/// A time: RFC 3339, in UTC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time(pub(crate) Micros);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&rfc3339(self.0))
    }
}

impl JsonSchema for Time {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

/// What made an answer.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) struct Versions {
    /// Version of the JSON of these answers. It changes when a field changes its meaning.
    schema_version: u32,
    /// Version of kapsa.
    tool_version: &'static str,
}

impl Versions {
    pub(crate) const OURS: Versions =
        Versions { schema_version: 1, tool_version: env!("CARGO_PKG_VERSION") };
}

/// How much of a list an answer holds.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) struct Extent {
    /// Number of items in this answer.
    count: usize,
    /// Whether there are items beyond this answer.
    more: bool,
    /// Number of items in all, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
}

impl Extent {
    /// A whole list.
    pub(crate) fn whole(count: usize) -> Extent {
        Extent { count, more: false, total: Some(count) }
    }

    /// A list that a limit may have cut off.
    pub(crate) fn cut(count: usize, more: bool) -> Extent {
        Extent { count, more, total: (!more).then_some(count) }
    }

    /// The first of a list whose length is known.
    pub(crate) fn of(count: usize, total: usize) -> Extent {
        Extent { count, more: count < total, total: Some(total) }
    }
}

/// Cuts a list that was fetched with one item above its limit. Returns whether there are more.
pub(crate) fn cut<T>(items: &mut Vec<T>, limit: usize) -> bool {
    let more = items.len() > limit;
    items.truncate(limit);
    more
}

/// A text that is there.
fn given(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// A path as JSON and people see it. Never opened again from this form.
pub(crate) fn show(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
