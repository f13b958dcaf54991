//! What a record that was found is worth now: whether something took its place, its time is over or
//! others contest it. When a fact holds decides [`Validity`].

use crate::records::kinds::FACT;
use crate::records::record::{Micros, Record};
use crate::records::request::{FindRequest, Standing};
use crate::records::validity::{Holds, Validity};

/// What a record is worth at a moment; without one, its validity is not looked at.
pub(crate) fn standing(record: &Record, at: Option<Micros>) -> Standing {
    if record.kind == FACT {
        let validity = Validity::of(&record.metadata);
        let holds = match (at, &validity.superseded_by) {
            (Some(at), _) => validity.at(at),
            (None, Some(by)) => Holds::Superseded(Some(by.clone())),
            (None, None) => Holds::Now,
        };
        match holds {
            Holds::Superseded(by) => {
                return Standing::Superseded { by: by.unwrap_or_else(|| interrupting(record)) };
            }
            Holds::Until(at) => return Standing::Expired { at },
            Holds::From(from) => return Standing::Scheduled { from },
            Holds::Now => {}
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

/// The fact that last came to hold in the stead of another for a time; empty when it is not named.
fn interrupting(record: &Record) -> String {
    let all = record.metadata.get("interrupted_by").and_then(|by| by.as_array());
    let last = all.and_then(|all| all.last()?.as_str());
    last.unwrap_or_default().to_string()
}

/// Whether a search returns a record at all.
pub(crate) fn is_wanted(record: &Record, request: &FindRequest) -> bool {
    request.superseded
        || !matches!(
            standing(record, request.valid_at),
            Standing::Superseded { .. } | Standing::Expired { .. }
        )
}
