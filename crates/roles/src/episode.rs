//! What is recorded of a step. Knows what an episode looks like, and nothing of where it goes.

use serde_json::{Map, Value};

use super::error::StepCause;
use super::memory::EpisodeRecorder;
use super::scope::Scope;
use kapsa_agents::{Episode, SUMMARY_CHARS_MAX, Secrets};
use kapsa_memory::Error;
use kapsa_memory::access::Classification;
use kapsa_memory::record::Micros;
use kapsa_memory::tokens;
use kapsa_model::Usage;

/// A step that is over.
pub(super) struct Step<'a> {
    pub(super) role: &'a str,
    pub(super) operator: &'a str,
    pub(super) node: &'a str,
    pub(super) started: Micros,
    pub(super) ended: Micros,
    pub(super) usage: Usage,
    pub(super) scope: Scope,
    /// The levels and domains of what the step knew.
    pub(super) secrets: Secrets,
    pub(super) input: &'a str,
    pub(super) result: Outcome,
}

/// What became of the episode of a step.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// Its id, if there is one now.
    pub(super) episode: Option<String>,
    /// Why there is none, where there should be.
    pub(super) problem: Option<Error>,
}

/// How a step ended.
pub(super) struct Outcome {
    pub(super) summary: String,
    pub(super) values: Map<String, Value>,
}

impl Outcome {
    pub(super) fn failed(cause: &StepCause) -> Outcome {
        let values = [("error".to_owned(), Value::from(cause.to_string()))].into_iter().collect();
        Outcome { summary: format!("failed: {cause}"), values }
    }
}

impl Step<'_> {
    /// How long it took, in milliseconds; nothing where the clock ran backwards.
    pub(super) fn duration_ms(&self) -> u64 {
        u64::try_from(self.ended.saturating_sub(self.started)).unwrap_or_default() / 1000
    }

    /// Has the step recorded, unless there is no recorder.
    pub(super) fn record(self, recorder: Option<&dyn EpisodeRecorder>) -> Recorded {
        let Some(recorder) = recorder else { return Recorded::default() };
        let episode = self.into_episode();
        let id = episode.id.clone();
        match recorder.record(episode) {
            Ok(()) => Recorded { episode: Some(id), problem: None },
            Err(error) => Recorded { episode: None, problem: Some(error) },
        }
    }

    fn into_episode(self) -> Episode {
        let duration_ms = self.duration_ms();
        let domain = self.secrets.domain_for(&self.scope.domain);
        Episode {
            id: fresh_id(),
            agent_id: self.role.to_owned(),
            operator_id: self.operator.to_owned(),
            node_name: self.node.to_owned(),
            timestamp: self.started,
            action: self.node.to_owned(),
            input_summary: summary(self.input),
            output_summary: summary(&self.result.summary),
            outcome: self.result.values,
            duration_ms,
            tokens_in: self.usage.tokens_in,
            tokens_out: self.usage.tokens_out,
            entity: self.scope.entity,
            // Whoever knew something secret may have disclosed it.
            classification: self.secrets.level_in(&domain).max(Classification::Internal),
            domain,
            tags: self.scope.tags,
        }
    }
}

fn summary(text: &str) -> String {
    tokens::first_chars(text, SUMMARY_CHARS_MAX).to_owned()
}

/// `ep_` and 128 random bits in hexadecimal.
fn fresh_id() -> String {
    format!("ep_{:032x}", u128::from_be_bytes(kapsa_memory::random_id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(started: Micros, ended: Micros) -> Step<'static> {
        let result = Outcome { summary: "ž".repeat(201), values: Map::new() };
        let usage = Usage { tokens_in: 1, tokens_out: 2 };
        Step {
            role: "cro",
            operator: "ops",
            node: "n",
            started,
            ended,
            usage,
            scope: Scope::default(),
            secrets: Secrets::default(),
            input: "日",
            result,
        }
    }

    #[test]
    fn summaries_are_cut_between_characters() {
        let episode = step(5_000_000, 5_002_999).into_episode();
        assert_eq!(
            (episode.input_summary.as_str(), episode.output_summary),
            ("日", "ž".repeat(SUMMARY_CHARS_MAX))
        );
        assert_eq!((episode.timestamp, episode.duration_ms), (5_000_000, 2));
        assert_eq!((episode.agent_id.as_str(), episode.action.as_str()), ("cro", "n"));
        assert_eq!(episode.classification, Classification::Internal);
    }

    /// A secret stays in its domain, and where that cannot be, with the role.
    #[test]
    fn what_a_step_knew_limits_its_episode() {
        let of = |domain: &str, secrets: &Secrets| {
            let scope = Scope { domain: domain.into(), ..Scope::default() };
            let episode = Step { scope, secrets: secrets.clone(), ..step(0, 0) }.into_episode();
            (episode.domain, episode.classification)
        };
        let mut secrets = Secrets::of("hr", Classification::Confidential);
        assert_eq!(of("hr", &secrets), ("hr".into(), Classification::Confidential));
        assert_eq!(of("", &secrets), ("hr".into(), Classification::Confidential));
        assert_eq!(of("sales", &secrets), ("sales".into(), Classification::Restricted));
        secrets.add("ops", Classification::Confidential);
        assert_eq!(of("", &secrets), (String::new(), Classification::Restricted));
        assert_eq!(
            of("sales", &Secrets::of("hr", Classification::Internal)),
            ("sales".into(), Classification::Internal)
        );
    }

    #[test]
    fn a_clock_that_ran_backwards_gives_no_time() {
        assert_eq!(step(10_000, 5_000).duration_ms(), 0);
        assert_eq!(step(Micros::MIN, Micros::MAX).duration_ms(), Micros::MAX as u64 / 1000);
    }

    #[test]
    fn ids_differ() {
        let (one, two) = (fresh_id(), fresh_id());
        assert_ne!(one, two);
        assert!(one.len() == 35 && one[3..].bytes().all(|byte| byte.is_ascii_hexdigit()), "{one}");
    }
}
