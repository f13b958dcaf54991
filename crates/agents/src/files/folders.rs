//! What is in a folder: its list, counts, and the text of its index.

use std::collections::BTreeMap;

use super::MemoryFilesystem;
use super::error::FileError;
use super::own::OwnFile;
use super::path::{self, File, Folder, Node, SOUL};
use super::period::Period;
use crate::stores::{EpisodeQuery, FactQuery, InsightQuery};
use crate::types::{Episode, Fact, Insight};
use kapsa_memory::Result;
use kapsa_memory::tokens::first_chars;
use kapsa_memory::tokens::flowed;

/// Entries of a folder that are listed by default.
pub const ENTRIES_DEFAULT: usize = 50;
/// Most entries of a tree, over all its levels.
pub const TREE_ENTRIES_MAX: usize = 10_000;
/// Longest preview of a file, in characters.
pub const PREVIEW_CHARS_MAX: usize = 72;

/// What is in a folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// Path of the folder, with a slash at its end.
    pub path: String,
    /// The first of what is in it.
    pub entries: Vec<Entry>,
    /// How many more there are.
    pub more: usize,
}

/// A file or folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its name: the part of a path below the folder.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq)]
pub enum EntryKind {
    /// A folder.
    Folder {
        /// How many files are in it, at any depth, indexes not counted.
        file_count: usize,
        /// What is in it, when that was asked for.
        listing: Option<Listing>,
    },
    /// A file.
    File {
        /// How sure it is, 0 to 1, of what says that of itself.
        confidence: Option<f64>,
        /// How it begins, on one line.
        preview: String,
    },
}

impl Listing {
    /// The names in it.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.entries.iter().map(|entry| entry.name.as_str()).collect()
    }

    /// The text of the folder's index.
    fn index(&self) -> String {
        let mut lines: Vec<String> = self.entries.iter().map(Entry::line).collect();
        if self.entries.is_empty() {
            lines.push("(empty)".to_string());
        }
        if self.more > 0 {
            lines.push(format!("- and {} more", self.more));
        }
        format!("# {}\n\n{}\n", self.path, lines.join("\n"))
    }
}

impl Entry {
    fn folder(name: impl Into<String>, file_count: usize) -> Entry {
        Entry { name: name.into(), kind: EntryKind::Folder { file_count, listing: None } }
    }

    fn file(name: impl Into<String>, confidence: Option<f64>, text: &str) -> Entry {
        let preview = first_chars(&flowed(text), PREVIEW_CHARS_MAX).to_string();
        Entry { name: name.into(), kind: EntryKind::File { confidence, preview } }
    }

    fn line(&self) -> String {
        match &self.kind {
            EntryKind::Folder { file_count: 0, .. } => format!("- {}/ (empty)", self.name),
            EntryKind::Folder { file_count: 1, .. } => format!("- {}/ (1 file)", self.name),
            EntryKind::Folder { file_count, .. } => {
                format!("- {}/ ({file_count} files)", self.name)
            }
            EntryKind::File { confidence: Some(confidence), preview } => {
                format!("- {} ({confidence:.2}): {preview}", self.name)
            }
            EntryKind::File { confidence: None, preview } => format!("- {}: {preview}", self.name),
        }
    }
}

/// All that the stores have below a folder.
#[derive(Debug, Default)]
struct Shelves {
    insights: Vec<Insight>,
    episodes: Vec<Episode>,
    facts: Vec<Fact>,
    /// The agent's own files.
    own: Vec<OwnFile>,
}

impl MemoryFilesystem {
    pub(super) fn list(&self, node: &Node, depth: usize) -> Result<Listing, FileError> {
        let folder = match node {
            Node::Folder(folder) => folder,
            Node::File(File::Memory(names)) if self.own.is_folder(names)? => {
                &Folder::Memories(names.clone())
            }
            Node::Nowhere(..) => return Err(FileError::NoSuchFolder { path: node.to_string() }),
            Node::File(_) => {
                let path = node.to_string();
                return Err(match self.content(node) {
                    Ok(_) => FileError::IsFile { path },
                    Err(FileError::NoSuchFile { .. }) => FileError::NoSuchFolder { path },
                    Err(error) => error,
                });
            }
        };
        let shelves = self.shelves(folder)?;
        let mut room = TREE_ENTRIES_MAX;
        let listing = self.listing(folder, &shelves, depth, &mut room);
        // What holds nothing and is not always there is not there.
        let is_fixed =
            !matches!(folder, Folder::Domain(_) | Folder::Period(_) | Folder::Subject(_));
        if is_fixed || !listing.entries.is_empty() || listing.more > 0 {
            return Ok(listing);
        }
        Err(FileError::NoSuchFolder { path: folder.to_string() })
    }

    /// The text of a folder's index; none when there is no such folder.
    pub(super) fn index(&self, folder: &Folder) -> Result<Option<String>, FileError> {
        match self.list(&Node::Folder(folder.clone()), 1) {
            Ok(listing) => Ok(Some(listing.index())),
            Err(FileError::NoSuchFolder { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The agent's insights, the surest first.
    pub(super) fn insights(&self, domain: Option<&str>, text: &str) -> Result<Vec<Insight>> {
        let (domain, text) = (domain.map(str::to_string), text.to_string());
        let mut all = self.memory.recall_insights(&InsightQuery {
            domain,
            text,
            limit: usize::MAX,
            ..self.memory.insight_query()
        })?;
        all.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then_with(|| a.id.cmp(&b.id)));
        Ok(all)
    }

    /// The agent's episodes, the newest first.
    pub(super) fn episodes(&self, period: Option<Period>) -> Result<Vec<Episode>> {
        let since = period.map(Period::begin);
        let mut all = self.memory.recall_episodes(&EpisodeQuery {
            since,
            limit: usize::MAX,
            ..self.memory.episode_query()
        })?;
        all.retain(|episode| period.is_none_or(|period| period.holds(episode.timestamp)));
        Ok(all)
    }

    /// What the team shares and the agent may know, the surest first. Being listed is not being
    /// read.
    pub(super) fn facts(&self, domain: Option<&str>, text: &str) -> Result<Vec<Fact>> {
        let Some(workspace) = self.memory.workspace() else { return Ok(Vec::new()) };
        let (domain, text, clearance) =
            (domain.map(str::to_string), text.to_string(), Some(self.memory.clearance().clone()));
        let query =
            FactQuery { domain, text, clearance, limit: usize::MAX, ..FactQuery::default() };
        let mut all = workspace.store().query(&query)?;
        all.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then_with(|| a.id.cmp(&b.id)));
        Ok(all)
    }

    fn shelves(&self, folder: &Folder) -> Result<Shelves> {
        let mut shelves = Shelves::default();
        match folder {
            Folder::Root => {
                shelves.insights = self.insights(None, "")?;
                shelves.episodes = self.episodes(None)?;
                shelves.facts = self.facts(None, "")?;
                shelves.own = self.own.all()?;
            }
            Folder::Memories(_) => shelves.own = self.own.all()?,
            Folder::Identity | Folder::Goals => {}
            Folder::Knowledge => shelves.insights = self.insights(None, "")?,
            Folder::Domain(domain) => shelves.insights = self.insights(Some(domain), "")?,
            Folder::Experience => shelves.episodes = self.episodes(None)?,
            Folder::Period(period) => shelves.episodes = self.episodes(Some(*period))?,
            Folder::References => shelves.facts = self.facts(None, "")?,
            Folder::Subject(domain) => shelves.facts = self.facts(Some(domain), "")?,
        }
        Ok(shelves)
    }

    /// What is in a folder, out of shelves that have all of it. Each entry takes room.
    fn listing(
        &self,
        folder: &Folder,
        shelves: &Shelves,
        depth: usize,
        room: &mut usize,
    ) -> Listing {
        let mut inside = self.inside(folder, shelves);
        let shown = self.limit.unwrap_or(ENTRIES_DEFAULT).min(*room);
        let more = inside.len().saturating_sub(shown);
        inside.truncate(shown);
        *room -= inside.len();
        let entries = inside.into_iter().map(|(mut entry, below)| {
            if let (EntryKind::Folder { listing, .. }, Some(below)) = (&mut entry.kind, below)
                && depth > 1
            {
                *listing = Some(self.listing(&below, shelves, depth - 1, room));
            }
            entry
        });
        Listing { path: folder.to_string(), entries: entries.collect(), more }
    }

    /// All entries of a folder; each that is a folder comes with it.
    fn inside(&self, folder: &Folder, shelves: &Shelves) -> Vec<(Entry, Option<Folder>)> {
        let files = |entries: Vec<Entry>| entries.into_iter().map(|entry| (entry, None)).collect();
        match folder {
            Folder::Root => self.root(shelves),
            Folder::Memories(names) => own_in(names, &shelves.own),
            Folder::Identity if self.soul.is_empty() => Vec::new(),
            Folder::Identity => files(vec![Entry::file(SOUL, None, &self.soul)]),
            Folder::Goals => {
                let numbered = self.goals.iter().enumerate();
                files(
                    numbered
                        .map(|(at, goal)| Entry::file(path::goal_name(at + 1), None, goal))
                        .collect(),
                )
            }
            Folder::Knowledge => {
                by_domain(shelves.insights.iter().map(|insight| &insight.domain), Folder::Domain)
            }
            Folder::Domain(domain) => {
                let here = shelves.insights.iter().filter(|insight| insight.domain == *domain);
                files(
                    here.map(|i| Entry::file(path::part(&i.id), Some(i.confidence), &i.content))
                        .collect(),
                )
            }
            Folder::Experience => by_day(&shelves.episodes),
            Folder::Period(month @ Period::Month(_)) => {
                let mut days = by_day(&shelves.episodes);
                days.retain(
                    |(_, day)| matches!(day, Some(Folder::Period(day)) if month.holds(day.begin())),
                );
                days
            }
            Folder::Period(day) => {
                let here = shelves.episodes.iter().filter(|episode| day.holds(episode.timestamp));
                files(here.map(|e| Entry::file(path::part(&e.id), None, about(e))).collect())
            }
            Folder::References => {
                by_domain(shelves.facts.iter().map(|fact| &fact.domain), Folder::Subject)
            }
            Folder::Subject(domain) => {
                let here = shelves.facts.iter().filter(|fact| fact.domain == *domain);
                files(
                    here.map(|f| Entry::file(path::part(&f.id), Some(f.confidence), &f.content))
                        .collect(),
                )
            }
        }
    }

    /// Goals are there when the agent has some, the other folders always.
    fn root(&self, shelves: &Shelves) -> Vec<(Entry, Option<Folder>)> {
        let mut all = vec![(
            Entry::folder("identity", usize::from(!self.soul.is_empty())),
            Some(Folder::Identity),
        )];
        if !self.goals.is_empty() {
            all.push((Entry::folder("goals", self.goals.len()), Some(Folder::Goals)));
        }
        all.push((Entry::folder("knowledge", shelves.insights.len()), Some(Folder::Knowledge)));
        all.push((Entry::folder("experience", shelves.episodes.len()), Some(Folder::Experience)));
        all.push((Entry::folder("references", shelves.facts.len()), Some(Folder::References)));
        if !shelves.own.is_empty() {
            let entry = Entry::folder("memories", shelves.own.len());
            all.push((entry, Some(Folder::Memories(Vec::new()))));
        }
        all
    }
}

/// What of the agent's own files is in a folder of them, by name.
fn own_in(names: &[String], own: &[OwnFile]) -> Vec<(Entry, Option<Folder>)> {
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    let mut all: Vec<(Entry, Option<Folder>)> = Vec::new();
    for (file, text) in own.iter().filter(|(file, _)| file.starts_with(names)) {
        match file.get(names.len()..).unwrap_or_default() {
            [] => {}
            [name] => all.push((Entry::file(path::part(name), None, text), None)),
            [name, ..] => *counts.entry(name).or_default() += 1,
        }
    }
    all.extend(counts.into_iter().map(|(name, count)| {
        let within = [names, std::slice::from_ref(name)].concat();
        (Entry::folder(path::part(name), count), Some(Folder::Memories(within)))
    }));
    all.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
    all
}

/// How an episode is shown where there is room for little.
pub(super) fn about(episode: &Episode) -> &str {
    if episode.output_summary.is_empty() { &episode.action } else { &episode.output_summary }
}

fn by_domain<'a>(
    domains: impl Iterator<Item = &'a String>,
    folder: impl Fn(String) -> Folder,
) -> Vec<(Entry, Option<Folder>)> {
    let mut counts: BTreeMap<String, (usize, &String)> = BTreeMap::new();
    for domain in domains {
        counts.entry(path::domain_part(domain)).or_insert((0, domain)).0 += 1;
    }
    let entry = |(name, (count, domain)): (String, (usize, &String))| {
        (Entry::folder(name, count), Some(folder(domain.clone())))
    };
    counts.into_iter().map(entry).collect()
}

/// The newest first.
fn by_day(episodes: &[Episode]) -> Vec<(Entry, Option<Folder>)> {
    let mut counts: BTreeMap<Period, usize> = BTreeMap::new();
    for episode in episodes {
        *counts.entry(Period::day(episode.timestamp)).or_default() += 1;
    }
    let entry = |(day, count): (Period, usize)| {
        (Entry::folder(day.to_string(), count), Some(Folder::Period(day)))
    };
    counts.into_iter().rev().map(entry).collect()
}
