//! The JSON of `review`.

use kapsa_memory::review::PendingRecord;
use kapsa_memory::{Reason, ReviewRule};
use schemars::JsonSchema;
use serde::Serialize;

use super::record::low_trust;
use super::{Extent, Time};

/// What waits for review.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PendingRecordsOut<'a> {
    #[serde(flatten)]
    extent: Extent,
    /// The records, the oldest first.
    pending: Vec<PendingRecordOut<'a>>,
}

impl<'a> PendingRecordsOut<'a> {
    pub(crate) fn of(items: &'a [PendingRecord], more: bool) -> PendingRecordsOut<'a> {
        let pending = items.iter().map(PendingRecordOut::from).collect();
        PendingRecordsOut { extent: Extent::cut(items.len(), more), pending }
    }
}

/// A record that waits for review.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PendingRecord")]
pub(crate) struct PendingRecordOut<'a> {
    /// Its URI while it waits.
    uri: &'a str,
    /// Its sequence.
    sequence: u64,
    /// Kind of the record that it is to become.
    kind: &'a str,
    /// URI of the record that it is to become, if it names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a str>,
    /// The text that is there now and would be replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaces: Option<String>,
    /// Title.
    #[serde(skip_serializing_if = "str::is_empty")]
    title: &'a str,
    /// The text.
    text: &'a str,
    /// What it is about.
    #[serde(skip_serializing_if = "str::is_empty")]
    entity: &'a str,
    /// Field of knowledge.
    #[serde(skip_serializing_if = "str::is_empty")]
    domain: &'a str,
    /// Who may read it once it is stored.
    #[schemars(extend("enum" = ["public", "internal", "confidential", "restricted"]))]
    classification: &'static str,
    /// The principal that brought it.
    #[serde(skip_serializing_if = "str::is_empty")]
    principal: &'a str,
    /// How far it is believed, by who brought it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["tool", "import", "trace", "model", "principal"]))]
    trust: Option<&'static str>,
    /// When it was brought.
    committed_at: Time,
    /// Why it waits.
    flags: Vec<ReasonOut<'a>>,
}

impl<'a> From<&'a PendingRecord> for PendingRecordOut<'a> {
    fn from(item: &'a PendingRecord) -> PendingRecordOut<'a> {
        use kapsa_memory::access::Classified;
        let record = &item.record;
        PendingRecordOut {
            uri: record.uri.as_str(),
            sequence: record.sequence,
            kind: kind_of(item),
            target: item.brought.uri.as_ref().map(kapsa_memory::Uri::as_str),
            replaces: None,
            title: &record.title,
            text: &record.text,
            entity: &record.entity,
            domain: &record.domain,
            classification: record.classification().name(),
            principal: &record.provenance.principal,
            trust: low_trust(record.provenance.trust),
            committed_at: Time(record.committed_at),
            flags: item.reasons.iter().map(ReasonOut::from).collect(),
        }
    }
}

impl PendingRecordOut<'_> {
    /// The same, with what it would replace.
    pub(crate) fn replacing(self, text: Option<String>) -> Self {
        PendingRecordOut { replaces: text, ..self }
    }
}

/// The kind of what waits, once it is stored.
pub(crate) fn kind_of(item: &PendingRecord) -> &str {
    match item.brought.kind.as_str() {
        "" => kapsa_memory::record::KIND_DEFAULT,
        kind => kind,
    }
}

/// A reason to read something before it is believed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ReviewReason")]
struct ReasonOut<'a> {
    /// Name of the flag: `instruction`, `tool_call`, `prompt_markup`, `hidden_characters`,
    /// `secret`, `oversize`, `stuffed`, `flood`, or `policy` where a rule asks for a review.
    flag: &'a str,
    /// What was seen.
    reason: &'a str,
}

impl<'a> From<&'a Reason> for ReasonOut<'a> {
    fn from(reason: &'a Reason) -> ReasonOut<'a> {
        ReasonOut { flag: &reason.flag, reason: &reason.reason }
    }
}

/// What became of a record that waited.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DecidedOut<'a> {
    /// The URI under which it waited.
    pub(crate) pending: &'a str,
    /// What was decided.
    #[schemars(extend("enum" = ["accepted", "rejected"]))]
    pub(crate) decision: &'static str,
    /// URI of the record that it became.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) uri: Option<String>,
    /// Who decided.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) by: &'a str,
}

/// The rules that say what has to wait.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RulesOut<'a> {
    #[serde(flatten)]
    extent: Extent,
    /// The rules.
    rules: Vec<RuleOut<'a>>,
}

impl<'a> RulesOut<'a> {
    pub(crate) fn of(rules: &'a [ReviewRule]) -> RulesOut<'a> {
        let out = rules.iter().map(RuleOut::from).collect();
        RulesOut { extent: Extent::whole(rules.len()), rules: out }
    }
}

/// A rule: what is given must hold.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ReviewRule")]
struct RuleOut<'a> {
    /// What becomes of the records that it is about.
    #[schemars(extend("enum" = ["direct", "flagged", "review"]))]
    admission: &'static str,
    /// Trusted no further than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<&'a str>,
    /// Written by this principal.
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<&'a str>,
    /// Of this domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<&'a str>,
    /// Of this kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'a str>,
}

impl<'a> From<&'a ReviewRule> for RuleOut<'a> {
    fn from(rule: &'a ReviewRule) -> RuleOut<'a> {
        RuleOut {
            admission: rule.admission.name(),
            trust: rule.scope.trust.as_deref(),
            principal: rule.scope.principal.as_deref(),
            domain: rule.scope.domain.as_deref(),
            kind: rule.scope.kind.as_deref(),
        }
    }
}
