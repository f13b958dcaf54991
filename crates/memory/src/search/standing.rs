//! What a record that was found is worth now: whether something took its place, its time is over or
//! others contest it. Knows the fields of facts that say so, and nothing of how they came there.

use crate::records::kinds::FACT;
use crate::records::record::{Micros, Record};
use crate::records::request::{FindRequest, Standing};

/// What a record is worth at a moment; without one, its validity is not looked at.
pub(crate) fn standing(record: &Record, at: Option<Micros>) -> Standing {
    if record.kind == FACT {
        let text = |name: &str| record.metadata.get(name)?.as_str();
        let moment = |name: &str| record.metadata.get(name)?.as_i64();
        if let Some(by) = text("superseded_by") {
            return Standing::Superseded { by: by.to_string() };
        }
        if let (Some(at), Some(to)) = (at, moment("valid_to"))
            && to <= at
        {
            return Standing::Expired { at: to };
        }
        if let (Some(at), Some(from)) = (at, moment("valid_from"))
            && from > at
        {
            return Standing::Scheduled { from };
        }
        let contested = record.metadata.get("contested_with").and_then(|with| with.as_array());
        let with: Vec<String> = contested
            .into_iter()
            .flatten()
            .filter_map(|id| Some(id.as_str()?.to_string()))
            .collect();
        if !with.is_empty() {
            return Standing::Contested { with };
        }
    }
    if record.conflicts_with.is_empty() {
        return Standing::Current;
    }
    let with = record.conflicts_with.iter().map(|sequence| format!("#{sequence}")).collect();
    Standing::Contested { with }
}

/// Whether a search returns a record at all.
pub(crate) fn is_wanted(record: &Record, request: &FindRequest) -> bool {
    request.superseded
        || !matches!(
            standing(record, request.valid_at),
            Standing::Superseded { .. } | Standing::Expired { .. }
        )
}
