//! When a fact holds. The one place that decides what is current: whoever lists, searches or reads
//! facts asks it. Knows the fields of a fact that say so, and nothing of how they came there.

use serde_json::{Map, Value};

use crate::records::record::Micros;

/// A span of time; without a bound it is open on that side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Its first moment.
    pub from: Option<Micros>,
    /// The moment after its last one.
    pub until: Option<Micros>,
}

impl Span {
    /// Whether a moment lies in it.
    #[must_use]
    pub fn has(&self, at: Micros) -> bool {
        self.from.is_none_or(|from| from <= at) && self.until.is_none_or(|until| at < until)
    }
}

/// What says when a fact holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validity {
    /// When it says that it holds.
    pub span: Span,
    /// Id of the fact that took its place.
    pub superseded_by: Option<String>,
    /// Times at which another one holds in its stead; after them it holds again.
    pub interruptions: Vec<Span>,
}

/// Whether a fact holds at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holds {
    /// It does.
    Now,
    /// It does from this moment on.
    From(Micros),
    /// It did until this moment.
    Until(Micros),
    /// Another fact holds in its place: the one with this id, if it is named.
    Superseded(Option<String>),
}

impl Validity {
    /// What the metadata of a fact's record say.
    #[must_use]
    pub fn of(metadata: &Map<String, Value>) -> Validity {
        let moment = |name: &str| metadata.get(name).and_then(Value::as_i64);
        let interruptions = metadata.get("interruptions").and_then(Value::as_array);
        Validity {
            span: Span { from: moment("valid_from"), until: moment("valid_to") },
            superseded_by: metadata
                .get("superseded_by")
                .and_then(Value::as_str)
                .map(str::to_string),
            interruptions: interruptions.into_iter().flatten().map(span).collect(),
        }
    }

    /// Whether the fact holds at a moment. One that was superseded at the end of its validity held
    /// until then; one that was superseded without such an end never counts.
    #[must_use]
    pub fn at(&self, at: Micros) -> Holds {
        if self.superseded_by.is_some() && self.span.until.is_none_or(|until| until <= at) {
            return Holds::Superseded(self.superseded_by.clone());
        }
        match self.span {
            Span { from: Some(from), .. } if at < from => Holds::From(from),
            Span { until: Some(until), .. } if until <= at => Holds::Until(until),
            _ if self.interruptions.iter().any(|span| span.has(at)) => Holds::Superseded(None),
            _ => Holds::Now,
        }
    }

    /// Whether the fact is current at a moment.
    #[must_use]
    pub fn holds_at(&self, at: Micros) -> bool {
        self.at(at) == Holds::Now
    }
}

/// A span as it is written: its bounds, `null` for none.
fn span(value: &Value) -> Span {
    let bound = |n: usize| value.get(n).and_then(Value::as_i64);
    Span { from: bound(0), until: bound(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_holds_but_while_another_does() {
        let metadata = serde_json::json!({"valid_from": 10, "valid_to": 50, "interruptions": [[20, 30], [null, 12]]});
        let validity = Validity::of(metadata.as_object().expect("an object"));
        for (at, holds) in [
            (9, Holds::From(10)),
            (10, Holds::Superseded(None)),
            (12, Holds::Now),
            (20, Holds::Superseded(None)),
            (30, Holds::Now),
            (50, Holds::Until(50)),
        ] {
            assert_eq!(validity.at(at), holds, "{at}");
        }
        let gone = Validity { superseded_by: Some("f".into()), ..Validity::default() };
        assert_eq!(gone.at(5), Holds::Superseded(Some("f".into())));
        let ended = Validity { superseded_by: Some("f".into()), ..validity };
        assert!(ended.holds_at(40) && !ended.holds_at(60), "it held until its end");
    }
}
