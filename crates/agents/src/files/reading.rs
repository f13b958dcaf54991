//! The text of each kind of file. What is below the text is one line each: no text can pass for it.

use serde_json::Value;

use super::MemoryFilesystem;
use super::error::FileError;
use super::path::{File, Node};
use super::period::{Period, written};
use crate::matching::counts;
use crate::relations::forget_hidden;
use crate::types::{Episode, Fact, Insight, InsightStatus};
use kapsa_memory::Result;
use kapsa_memory::tokens::one_line;

/// Name of the value of an outcome that is all of what was written to a file.
pub(super) const CONTENT: &str = "content";

impl MemoryFilesystem {
    pub(super) fn content(&self, node: &Node) -> Result<String, FileError> {
        let path = || node.to_string();
        let content = match node {
            Node::File(File::Memory(names)) if self.own.is_folder(names)? => {
                return Err(FileError::IsFolder { path: path() });
            }
            Node::File(file) => self.file(file)?,
            Node::Nowhere(..) => None,
            Node::Folder(folder) => {
                if self.index(folder)?.is_some() {
                    return Err(FileError::IsFolder { path: path() });
                }
                None
            }
        };
        content.ok_or_else(|| FileError::NoSuchFile { path: path() })
    }

    fn file(&self, file: &File) -> Result<Option<String>, FileError> {
        Ok(match file {
            File::Index(folder) => self.index(folder)?,
            File::Soul => Some(self.soul.clone()).filter(|soul| !soul.is_empty()),
            File::Goal(number) => number.checked_sub(1).and_then(|at| self.goals.get(at)).cloned(),
            File::Insight { domain, tags, id } => {
                let insight = self.live_insight(id)?.filter(|insight| insight.domain == *domain);
                insight
                    .filter(|insight| tags.iter().all(|tag| insight.tags.contains(tag)))
                    .as_ref()
                    .map(of_insight)
            }
            File::Episode { period, id } => {
                let is_of_it = |episode: &Episode| {
                    period.is_none_or(|period: Period| period.holds(episode.timestamp))
                };
                self.memory.episode(id)?.filter(is_of_it).as_ref().map(of_episode)
            }
            File::Fact { domain, id } => self.fact(domain, id)?.as_ref().map(of_fact),
            File::Memory(names) => {
                self.own.all()?.into_iter().find(|(file, _)| file == names).map(|(_, text)| text)
            }
        })
    }

    /// The agent's insight with this id that still counts.
    pub(super) fn live_insight(&self, id: &str) -> Result<Option<Insight>> {
        Ok(self.memory.insight(id)?.filter(counts))
    }

    /// A fact that the agent may know, without its relations to others. It counts as read.
    fn fact(&self, domain: &str, id: &str) -> Result<Option<Fact>> {
        let Some(workspace) = self.memory.workspace() else { return Ok(None) };
        let known = |id: &str| {
            Ok(workspace.store().get(id)?.filter(|fact| self.memory.clearance().can_access(fact)))
        };
        let is_there = |fact: &Fact| fact.superseded_by.is_none() && fact.domain == domain;
        let Some(mut fact) = known(id)?.filter(is_there) else { return Ok(None) };
        forget_hidden(&mut fact, |id| known(id).map(|other| other.is_some()))?;
        self.count_as_read(&[id])?;
        Ok(Some(fact))
    }

    /// Counts that facts were read, where that is wanted.
    pub(super) fn count_as_read(&self, ids: &[&str]) -> Result<()> {
        match self.memory.workspace() {
            Some(workspace) if self.counts && !ids.is_empty() => {
                workspace.store().touch(ids, self.memory.clock.now())
            }
            _ => Ok(()),
        }
    }
}

fn of_insight(insight: &Insight) -> String {
    let mut lines = vec![
        format!("Confidence: {:.2}", insight.confidence),
        format!("Evidence: {}", insight.evidence_count),
    ];
    if insight.status != InsightStatus::Active {
        lines.push(format!("Status: {}", insight.status.name()));
    }
    lines.extend(line("Entity", &insight.entity));
    lines.extend(line("Tags", &insight.tags.join(", ")));
    format!("{}\n\n{}", insight.content, lines.join("\n"))
}

fn of_episode(episode: &Episode) -> String {
    let (mut more, output) = (episode.outcome.clone(), output(episode).to_string());
    more.retain(|name, value| !(name == CONTENT && value.as_str() == Some(&output)));
    let outcome = if more.is_empty() { String::new() } else { Value::Object(more).to_string() };
    let lines = [
        line("Action", &episode.action).or_else(|| Some("Action:".to_string())),
        line("Input", &episode.input_summary),
        Some(format!("Output: {output}")),
        line("Outcome", &outcome),
        Some(format!("Duration: {}ms", episode.duration_ms)),
        Some(format!("Time: {}", written(episode.timestamp))),
        line("Domain", &episode.domain),
        line("Entity", &episode.entity),
        line("Tags", &episode.tags.join(", ")),
    ];
    lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// What came out: all that was written to the file of an episode, or else the summary.
pub(super) fn output(episode: &Episode) -> &str {
    episode.outcome.get(CONTENT).and_then(Value::as_str).unwrap_or(&episode.output_summary)
}

fn of_fact(fact: &Fact) -> String {
    let [from, to] = [fact.valid_from, fact.valid_to].map(|at| at.map(written).unwrap_or_default());
    let lines = [
        Some(format!("Confidence: {:.2}", fact.confidence)),
        Some(format!("Evidence: {}", fact.evidence_count)),
        line("Source", &fact.source),
        line("Entity", &fact.entity),
        line("Attribute", &fact.attribute),
        line("Tags", &fact.tags.join(", ")),
        line("Valid from", &from),
        line("Valid to", &to),
        line("Contested with", &fact.contested_with.join(", ")),
        line("Pending with", &fact.pending_with.join(", ")),
        line("Classification", fact.classification.name()),
    ];
    format!("{}\n\n{}", fact.content, lines.into_iter().flatten().collect::<Vec<_>>().join("\n"))
}

fn line(name: &str, value: &str) -> Option<String> {
    let value = one_line(value);
    (!value.is_empty()).then(|| format!("{name}: {value}"))
}
