//! How the evidence of a fact, and what is still to be decided about it, stand in its metadata.

use serde_json::{Map, Value, json};

use super::{moment_of, option_of, text_of, texts_of};
use crate::compare::Verdict;
use crate::types::{Evidence, Fact, FactDecision, Pending};
use kapsa_memory::Validity;

/// Writes what is not as it is by default.
pub(super) fn write(fact: &Fact, more: &mut Map<String, Value>) {
    let list = |texts: &[String]| (!texts.is_empty()).then(|| json!(texts));
    let evidence: Vec<Value> = fact.evidence.iter().map(written).collect();
    let spans: Vec<Value> =
        fact.interruptions.iter().map(|span| json!([span.from, span.until])).collect();
    let pending = fact.pending.as_ref().map(|pending| {
        let mut value = json!({"verdict": pending.verdict.name(), "reason": pending.reason});
        if !pending.features.is_empty() {
            value["features"] = json!(pending.features);
        }
        if !pending.proposed_by.is_empty() {
            value["proposed_by"] = json!(pending.proposed_by);
        }
        value
    });
    let decision = fact
        .decision
        .as_ref()
        .map(|decision| json!({"what": decision.what, "by": decision.by, "at": decision.at}));
    let fields = [
        ("evidence", (!evidence.is_empty()).then_some(Value::Array(evidence))),
        ("interruptions", (!spans.is_empty()).then_some(Value::Array(spans))),
        ("interrupted_by", list(&fact.interrupted_by)),
        ("pending", pending),
        ("pending_with", list(&fact.pending_with)),
        ("coexists", fact.coexists.then_some(Value::Bool(true))),
        ("decision", decision),
    ];
    more.extend(fields.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))));
}

fn written(evidence: &Evidence) -> Value {
    let mut value = json!({"text": evidence.text, "at": evidence.at});
    if !evidence.source.is_empty() {
        value["source"] = json!(evidence.source);
    }
    if !evidence.principal.is_empty() {
        value["principal"] = json!(evidence.principal);
    }
    if !evidence.tags.is_empty() {
        value["tags"] = json!(evidence.tags);
    }
    if !evidence.place.is_empty() {
        value["place"] = json!(evidence.place);
    }
    value
}

/// Reads it back. What cannot be read is as it is by default.
pub(super) fn read(fact: &mut Fact, more: &Map<String, Value>) {
    let objects = |name: &str| {
        let all = more.get(name).and_then(Value::as_array);
        all.into_iter().flatten().filter_map(Value::as_object).collect::<Vec<_>>()
    };
    fact.evidence = objects("evidence").into_iter().map(evidence).collect();
    fact.interruptions = Validity::of(more).interruptions;
    fact.interrupted_by = texts_of(more, "interrupted_by");
    fact.pending_with = texts_of(more, "pending_with");
    fact.coexists = more.get("coexists").and_then(Value::as_bool).unwrap_or(false);
    fact.pending = more.get("pending").and_then(Value::as_object).and_then(pending);
    fact.decision = more.get("decision").and_then(Value::as_object).map(|decision| FactDecision {
        what: text_of(decision, "what"),
        by: text_of(decision, "by"),
        at: moment_of(decision, "at").unwrap_or(0),
    });
}

fn evidence(value: &Map<String, Value>) -> Evidence {
    Evidence {
        text: text_of(value, "text"),
        source: text_of(value, "source"),
        principal: text_of(value, "principal"),
        tags: texts_of(value, "tags"),
        at: moment_of(value, "at").unwrap_or(0),
        place: text_of(value, "place"),
    }
}

fn pending(value: &Map<String, Value>) -> Option<Pending> {
    Some(Pending {
        verdict: Verdict::named(&option_of(value, "verdict")?)?,
        reason: text_of(value, "reason"),
        features: texts_of(value, "features"),
        proposed_by: text_of(value, "proposed_by"),
    })
}
