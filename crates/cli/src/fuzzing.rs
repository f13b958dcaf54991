//! What tests outside of this crate may see of it: how JSON that somebody else wrote becomes
//! records, as `put` does it.

use kapsa_memory::NewRecord;

pub use crate::json_input::JSON_DEPTH_MAX;
pub use crate::lines::LINE_BYTES_MAX;

use crate::json_input;
use crate::lines::{Pieces, located};

/// Why a stream of records was refused.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// Stable name of the failure.
    pub code: &'static str,
    /// What is wrong, for people.
    pub message: String,
    /// Line of the stream that is at fault, counted from 1, where there is one.
    pub line: Option<u64>,
}

/// The records of a stream up to the first fault, each with the line it begins on, and that fault.
#[must_use]
pub fn records(stream: &[u8]) -> (Vec<(u64, NewRecord)>, Option<Refusal>) {
    let mut pieces = Pieces::new(stream);
    let mut records = Vec::new();
    loop {
        let error = match pieces.next() {
            Ok(None) => return (records, None),
            Err(error) => error,
            Ok(Some(piece)) => match json_input::record(piece.bytes) {
                Ok(record) => {
                    records.push((piece.line, record));
                    continue;
                }
                Err(fault) => located(piece.line, fault),
            },
        };
        let line = error.fields.get("line").and_then(serde_json::Value::as_u64);
        return (records, Some(Refusal { code: error.code, message: error.message, line }));
    }
}
