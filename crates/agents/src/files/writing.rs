//! Writing files: they become insights and episodes of the agent. Everything else is read-only.

use super::MemoryFilesystem;
use super::error::FileError;
use super::path::{self, File, Folder, Node};
use super::period::Period;
use super::reading::CONTENT;
use crate::bounds;
use crate::stores::result_of;
use crate::types::{Episode, Insight, InsightStatus, SUMMARY_CHARS_MAX};
use kapsa_memory::Error;
use kapsa_memory::access::Classification;
use kapsa_memory::tokens::first_chars;

/// What else is said of something that is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// How sure an insight is, 0 to 1. None: as it was, or 0.5.
    pub confidence: Option<f64>,
    /// What it is about. None: what it was about, or nothing.
    pub entity: Option<String>,
    /// How far it may spread; never further than what was there. None: as that, or internal.
    pub classification: Option<Classification>,
    /// Field of knowledge of an episode; that of an insight is in its path.
    pub domain: String,
    /// The operator that an episode belongs to.
    pub operator_id: String,
    /// The step that an episode is of.
    pub node_name: String,
}

impl Details {
    /// Refuses what would be dropped silently.
    fn check(&self, node: &Node) -> Result<(), Error> {
        let is_episode = matches!(node, Node::File(File::Episode { .. }));
        let wrong = [
            ("confidence", is_episode && self.confidence.is_some(), "an episode is certain"),
            ("domain", !is_episode && !self.domain.is_empty(), "that of an insight is in its path"),
            ("operator", !is_episode && !self.operator_id.is_empty(), "an insight has none"),
            ("node", !is_episode && !self.node_name.is_empty(), "an insight has none"),
        ];
        match wrong.into_iter().find(|(_, is_wrong, _)| *is_wrong) {
            Some((field, _, reason)) => Err(Error::InvalidRecord { field, reason }),
            None => Ok(()),
        }
    }
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where it is read from now on.
    pub path: String,
    /// Whether it was there before.
    pub existed: bool,
}

impl MemoryFilesystem {
    pub(super) fn put(
        &self,
        node: &Node,
        content: &str,
        details: &Details,
    ) -> Result<Written, FileError> {
        let path = node.to_string();
        let names: Vec<&String> = match node {
            Node::File(File::Insight { domain, tags, id }) => {
                tags.iter().chain([domain, id]).collect()
            }
            Node::File(File::Episode { id, .. }) => vec![id],
            Node::File(File::Memory(names)) if self.own.0.is_some() => {
                if names.is_empty() || self.own.is_folder(names)? {
                    return Err(FileError::IsFolder { path });
                }
                names.iter().collect()
            }
            Node::Folder(
                Folder::Knowledge | Folder::Domain(_) | Folder::Experience | Folder::Period(_),
            ) => {
                return Err(FileError::IsFolder { path });
            }
            Node::Nowhere(Folder::Root, _) => return Err(FileError::NoSuchFolder { path }),
            Node::Nowhere(Folder::Experience, _) => {
                return Err(FileError::OtherDay { path, today: today(self).to_string() });
            }
            _ => return Err(FileError::ReadOnly { path }),
        };
        // What is there already may have any name; what is new gets one that people see.
        if let Some(fault) = names.into_iter().find_map(|name| path::check(name).err()) {
            return Err(FileError::InvalidPath { path, fault });
        }
        if content.trim().is_empty() {
            return Err(Error::InvalidRecord { field: "content", reason: "it is empty" }.into());
        }
        details.check(node)?;
        match node {
            Node::File(File::Insight { domain, tags, id }) => {
                let put = || self.put_insight(&path, domain, tags, id, content, details);
                result_of(|work| self.memory.in_turn(work), put)
            }
            Node::File(File::Memory(names)) => self.own.put(&path, names, content),
            Node::File(File::Episode { period, id }) => {
                self.put_episode(&path, *period, id, content, details)
            }
            _ => Err(FileError::ReadOnly { path }),
        }
    }

    fn put_insight(
        &self,
        path: &str,
        domain: &str,
        tags: &[String],
        id: &str,
        content: &str,
        details: &Details,
    ) -> Result<Written, FileError> {
        let there = self.memory.insight(id)?;
        let least = there.as_ref().map_or(Classification::Public, |insight| insight.classification);
        let live = there.filter(|insight| insight.status != InsightStatus::Retired);
        if let Some(other) = live.as_ref().filter(|insight| insight.domain != domain) {
            let by = path::insight_path(&other.domain, id);
            return Err(FileError::Taken { path: path.to_string(), by });
        }
        let existed = live.is_some();
        let mut insight = live.unwrap_or_else(|| {
            let new = Insight::new(id, self.memory.agent_id(), "", self.memory.clock.now());
            Insight { domain: domain.to_string(), ..new }
        });
        insight.content = content.to_string();
        insight.confidence = details.confidence.unwrap_or(insight.confidence);
        insight.entity = details.entity.clone().unwrap_or(insight.entity);
        insight.classification =
            details.classification.unwrap_or(insight.classification).max(least);
        if !tags.is_empty() {
            insight.tags = each_once(tags);
        }
        may_write(self, &insight.domain, insight.classification)?;
        self.memory.store_insight(insight)?;
        Ok(Written { path: path::insight_path(domain, id), existed })
    }

    fn put_episode(
        &self,
        path: &str,
        period: Option<Period>,
        id: &str,
        content: &str,
        details: &Details,
    ) -> Result<Written, FileError> {
        let now = self.memory.clock.now();
        if period.is_some_and(|period| !period.holds(now)) {
            return Err(FileError::OtherDay {
                path: path.to_string(),
                today: Period::day(now).to_string(),
            });
        }
        if let Some(other) = self.memory.episode(id)? {
            let by = path::episode_path(Period::day(other.timestamp), id);
            return Err(FileError::Taken { path: path.to_string(), by });
        }
        let episode = Episode {
            operator_id: details.operator_id.clone(),
            node_name: details.node_name.clone(),
            action: id.to_string(),
            output_summary: first_chars(content, SUMMARY_CHARS_MAX).to_string(),
            outcome: [(CONTENT.to_string(), content.into())].into_iter().collect(),
            domain: details.domain.clone(),
            entity: details.entity.clone().unwrap_or_default(),
            classification: details.classification.unwrap_or(Classification::Internal),
            ..Episode::new(id, self.memory.agent_id(), now)
        };
        may_write(self, &episode.domain, episode.classification)?;
        self.memory.record_episode(episode)?;
        Ok(Written { path: path::episode_path(Period::day(now), id), existed: false })
    }
}

fn today(files: &MemoryFilesystem) -> Period {
    Period::day(files.memory.clock.now())
}

/// Whether this may be written, where the agent itself writes.
fn may_write(files: &MemoryFilesystem, domain: &str, level: Classification) -> Result<(), Error> {
    if files.is_agents { bounds::may_write(&files.memory, domain, level) } else { Ok(()) }
}

fn each_once(tags: &[String]) -> Vec<String> {
    let mut each: Vec<String> = Vec::with_capacity(tags.len());
    for tag in tags {
        if !each.contains(tag) {
            each.push(tag.clone());
        }
    }
    each
}
