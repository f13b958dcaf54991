//! The owner's rules for what comes in at once and what waits for review, and the record that holds
//! them. Knows no text of what comes in, and no view.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::records::access::{Access, Classification};
use crate::records::provenance::{Provenance, Trust};
use crate::records::record::{KIND_DEFAULT, NewRecord, Record};
use crate::records::uri::Uri;

/// Name of the record that holds the rules.
const NAME: &str = "kapsa/review";
/// Its kind.
const KIND: &str = "review-rules";
const RULES: &str = "rules";
/// Most rules.
pub const REVIEW_RULES_MAX: usize = 1024;

/// How something comes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Admission {
    /// At once, whatever its text is like.
    Direct,
    /// At once, unless its text is flagged: what holds without a rule.
    #[default]
    Flagged,
    /// After a review.
    Review,
}

impl Admission {
    /// All of them.
    pub const ALL: [Admission; 3] = [Admission::Direct, Admission::Flagged, Admission::Review];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Admission::Direct => "direct",
            Admission::Flagged => "flagged",
            Admission::Review => "review",
        }
    }
}

/// What a rule is about: everything that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReviewScope {
    /// How far it is trusted, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<String>,
    /// Who writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// In which domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Records of which kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

impl ReviewScope {
    fn holds(&self, record: &NewRecord, provenance: &Provenance) -> bool {
        let kind = if record.kind.is_empty() { KIND_DEFAULT } else { &record.kind };
        let is = |wanted: &Option<String>, value: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == value)
        };
        let is_trusted_less = || {
            let at_most = self.trust.as_deref().map(Trust::named);
            at_most.is_none_or(|most| most.is_some_and(|most| provenance.trust <= most))
        };
        is(&self.principal, &provenance.principal)
            && is(&self.domain, &record.domain)
            && is(&self.kind, kind)
            && is_trusted_less()
    }

    /// What it is about, in words: `trust up to tool, kind note`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let parts = [
            ("trust up to", &self.trust),
            ("principal", &self.principal),
            ("domain", &self.domain),
            ("kind", &self.kind),
        ];
        let given = parts.into_iter().filter_map(|(name, value)| {
            let value = value.as_ref()?;
            Some(format!("{name} {value}"))
        });
        let given: Vec<String> = given.collect();
        if given.is_empty() { "everything but the owner's".to_string() } else { given.join(", ") }
    }

    /// How much it says: the rule that says most decides.
    fn weight(&self) -> usize {
        let given = [&self.principal, &self.kind, &self.domain, &self.trust];
        given.into_iter().filter(|part| part.is_some()).count()
    }
}

/// One rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewRule {
    /// What it is about.
    #[serde(flatten)]
    pub scope: ReviewScope,
    /// How that comes in.
    pub admission: Admission,
}

/// All rules, in the order in which they were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReviewRules {
    /// The rules; no two have the same scope.
    pub(crate) rules: Vec<ReviewRule>,
}

impl ReviewRules {
    /// Name of the record that holds them.
    pub(crate) fn uri() -> Uri {
        Uri::parse(NAME).expect("a URI")
    }

    /// The rules that a record holds.
    ///
    /// # Errors
    /// `InvalidOperation` when it is not one that [`ReviewRules::record`] makes: then nothing may
    /// be let in that is not the owner's.
    pub(crate) fn from_record(record: &Record) -> Result<ReviewRules> {
        let rules = record.metadata.get(RULES).cloned().unwrap_or(Value::Null);
        let rules = serde_json::from_value(rules).map_err(|error| Error::InvalidOperation {
            reason: format!("the rules of review in {NAME} cannot be read: {error}"),
        })?;
        Ok(ReviewRules { rules })
    }

    /// The record that holds them, for the owner alone.
    pub(crate) fn record(&self) -> NewRecord {
        let mut record = NewRecord {
            uri: Some(ReviewRules::uri()),
            kind: KIND.to_string(),
            access: Some(Access::level(Classification::Restricted)),
            ..NewRecord::text(format!("rules of review: {}", self.rules.len()))
        };
        let rules = serde_json::to_value(&self.rules).expect("rules are plain data");
        record.metadata.insert(RULES.to_string(), rules);
        record
    }

    /// With a rule added, or in the place of the one of the same scope.
    ///
    /// # Errors
    /// `InvalidOperation` for a trust that does not exist, or too many rules.
    pub(crate) fn with(mut self, rule: ReviewRule) -> Result<ReviewRules> {
        let trust = rule.scope.trust.as_deref();
        if let Some(trust) = trust.filter(|name| Trust::named(name).is_none()) {
            return Err(Error::InvalidOperation { reason: format!("no trust is called {trust}") });
        }
        self.rules.retain(|known| known.scope != rule.scope);
        self.rules.push(rule);
        if self.rules.len() > REVIEW_RULES_MAX {
            let reason = format!("there are more than {REVIEW_RULES_MAX} rules of review");
            return Err(Error::InvalidOperation { reason });
        }
        Ok(self)
    }

    /// The rule that decides how a record comes in, if any does. Of several that hold it is the one
    /// with most conditions, of those the strictest.
    #[must_use]
    pub(crate) fn deciding(
        &self,
        record: &NewRecord,
        provenance: &Provenance,
    ) -> Option<&ReviewRule> {
        let holds = self.rules.iter().filter(|rule| rule.scope.holds(record, provenance));
        holds.max_by_key(|rule| (rule.scope.weight(), rule.admission as u8))
    }
}
