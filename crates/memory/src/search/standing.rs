//! What a record is worth at a moment: whether something took its place, its time is over, others
//! contest it or somebody has to decide about it. When a fact holds decides [`Validity`].

use crate::records::kinds::FACT;
use crate::records::record::{Micros, Record};
use crate::records::request::{FindRequest, Standing};
use crate::records::validity::{Holds, Validity};

/// What a record is worth at a moment; without one, its validity is not looked at.
#[must_use]
pub fn standing(record: &Record, at: Option<Micros>) -> Standing {
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
        let with = named(record, "contested_with");
        if !with.is_empty() {
            return Standing::Contested { with };
        }
    }
    if !record.conflicts_with.is_empty() {
        let with = record.conflicts_with.iter().map(|sequence| format!("#{sequence}")).collect();
        return Standing::Contested { with };
    }
    let with = if record.kind == FACT { named(record, "pending_with") } else { Vec::new() };
    if with.is_empty() { Standing::Current } else { Standing::Pending { with } }
}

/// The facts that a fact names in a list of its metadata, by id.
fn named(record: &Record, list: &str) -> Vec<String> {
    let all = record.metadata.get(list).and_then(|all| all.as_array());
    all.into_iter().flatten().filter_map(|id| Some(id.as_str()?.to_string())).collect()
}

/// The fact that last came to hold in the stead of another for a time; empty when it is not named.
fn interrupting(record: &Record) -> String {
    let all = record.metadata.get("interrupted_by").and_then(|by| by.as_array());
    let last = all.and_then(|all| all.last()?.as_str());
    last.unwrap_or_default().to_string()
}

/// Whether a search returns a record at all.
pub(crate) fn is_wanted(record: &Record, request: &FindRequest) -> bool {
    let counts = request.superseded
        || !matches!(
            standing(record, request.valid_at),
            Standing::Superseded { .. } | Standing::Expired { .. }
        );
    counts && !request.filter.is_elsewhere(record)
}
