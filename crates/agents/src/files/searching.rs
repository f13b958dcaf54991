//! Search for words in files. Knows how well a text fits; where texts are is known to the folders.

use super::MemoryFilesystem;
use super::error::FileError;
use super::folders::about;
use super::path::{self, File, Folder, Node};
use super::period::Period;
use super::reading::output;
use crate::matching::fold;
use crate::types::Episode;
use kapsa_memory::{Error, Result};

/// Hits of a search by default.
pub const HITS_DEFAULT: usize = 10;
/// Longest query, in bytes.
pub const SEARCH_BYTES_MAX: usize = 1024;

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FilesFound {
    /// The best first: by score, then by confidence, then by path.
    pub hits: Vec<FileHit>,
    /// How many more there are.
    pub more: usize,
}

/// A file with the words in it.
#[derive(Clone, Debug, PartialEq)]
pub struct FileHit {
    /// Its path.
    pub path: String,
    /// What it says: an insight, a fact, or what came out of an episode in short.
    pub content: String,
    /// How well it fits, above 0 to 1: a half if it has the query in one piece, and up to a half
    /// for the share of its text that the words of the query make up.
    pub score: f64,
    /// How sure it is, 0 to 1; what happened, and who the agent is, is certain.
    pub confidence: f64,
}

/// What is looked for, folded.
struct Wanted {
    words: Vec<String>,
    /// The words as they were typed, one space between them.
    phrase: String,
}

impl Wanted {
    /// None without words.
    fn of(query: &str) -> Option<Wanted> {
        let folded = fold(query);
        let words: Vec<String> = folded.split_whitespace().map(str::to_string).collect();
        let phrase = words.join(" ");
        (!words.is_empty()).then_some(Wanted { words, phrase })
    }

    /// The longest word, which narrows most.
    fn longest(&self) -> &str {
        self.words.iter().max_by_key(|word| word.len()).map_or("", String::as_str)
    }

    /// How well a text fits; none when it lacks a word.
    fn score(&self, text: &str) -> Option<f64> {
        let text = fold(text).split_whitespace().collect::<Vec<_>>().join(" ");
        if !self.words.iter().all(|word| text.contains(word)) {
            return None;
        }
        let share = self.phrase.len() as f64 / text.len() as f64;
        let phrase = if text.contains(&self.phrase) { 0.5 } else { 0.0 };
        Some(phrase + share.min(1.0) / 2.0)
    }
}

/// Files that are asked one after the other.
struct Search<'a> {
    wanted: &'a Wanted,
    hits: Vec<FileHit>,
}

impl Search<'_> {
    /// A file is a hit if `text` fits, and is shown as `content`.
    fn ask(&mut self, path: impl FnOnce() -> String, text: &str, content: &str, confidence: f64) {
        if let Some(score) = self.wanted.score(text) {
            self.hits.push(FileHit {
                path: path(),
                content: content.to_string(),
                score,
                confidence,
            });
        }
    }
}

impl MemoryFilesystem {
    pub(super) fn look_for(&self, query: &str, within: &Node) -> Result<FilesFound, FileError> {
        let path = || within.to_string();
        let folder = match within {
            Node::Folder(folder) => folder,
            Node::File(File::Memory(names)) if self.own.is_folder(names)? => {
                &Folder::Memories(names.clone())
            }
            Node::File(_) => return Err(FileError::IsFile { path: path() }),
            Node::Nowhere(..) => return Err(FileError::NoSuchFolder { path: path() }),
        };
        if query.len() > SEARCH_BYTES_MAX {
            return Err(Error::QueryTooLong { limit: SEARCH_BYTES_MAX }.into());
        }
        let Some(wanted) = Wanted::of(query) else { return Ok(FilesFound::default()) };
        let mut search = Search { wanted: &wanted, hits: Vec::new() };
        self.ask_all(folder, &mut search)?;
        let mut hits = search.hits;
        hits.sort_by(|a, b| {
            let best =
                b.score.total_cmp(&a.score).then_with(|| b.confidence.total_cmp(&a.confidence));
            best.then_with(|| a.path.cmp(&b.path))
        });
        let more = hits.len().saturating_sub(self.limit.unwrap_or(HITS_DEFAULT));
        hits.truncate(hits.len() - more);
        self.count_hits(&hits)?;
        Ok(FilesFound { hits, more })
    }

    fn ask_all(&self, folder: &Folder, search: &mut Search<'_>) -> Result<()> {
        match folder {
            Folder::Root => {
                let all = [
                    Folder::Identity,
                    Folder::Goals,
                    Folder::Knowledge,
                    Folder::Experience,
                    Folder::References,
                    Folder::Memories(Vec::new()),
                ];
                all.iter().try_for_each(|folder| self.ask_all(folder, search))?;
            }
            Folder::Memories(names) => {
                for (file, text) in self.own.all()?.iter().filter(|(f, _)| f.starts_with(names)) {
                    search.ask(|| File::Memory(file.clone()).to_string(), text, text, 1.0);
                }
            }
            Folder::Identity => search.ask(|| File::Soul.to_string(), &self.soul, &self.soul, 1.0),
            Folder::Goals => {
                for (at, goal) in self.goals.iter().enumerate() {
                    search.ask(|| File::Goal(at + 1).to_string(), goal, goal, 1.0);
                }
            }
            Folder::Knowledge => self.ask_insights(None, search)?,
            Folder::Domain(domain) => self.ask_insights(Some(domain), search)?,
            Folder::Experience => self.ask_episodes(None, search)?,
            Folder::Period(period) => self.ask_episodes(Some(*period), search)?,
            Folder::References => self.ask_facts(None, search)?,
            Folder::Subject(domain) => self.ask_facts(Some(domain), search)?,
        }
        Ok(())
    }

    fn ask_insights(&self, domain: Option<&str>, search: &mut Search<'_>) -> Result<()> {
        for insight in self.insights(domain, search.wanted.longest())? {
            let path = || path::insight_path(&insight.domain, &insight.id);
            search.ask(path, &insight.content, &insight.content, insight.confidence);
        }
        Ok(())
    }

    fn ask_episodes(&self, period: Option<Period>, search: &mut Search<'_>) -> Result<()> {
        for episode in self.episodes(period)? {
            let path = || path::episode_path(Period::day(episode.timestamp), &episode.id);
            search.ask(path, &told_by(&episode), about(&episode), 1.0);
        }
        Ok(())
    }

    fn ask_facts(&self, domain: Option<&str>, search: &mut Search<'_>) -> Result<()> {
        for fact in self.facts(domain, search.wanted.longest())? {
            search.ask(
                || path::fact_path(&fact.domain, &fact.id),
                &fact.content,
                &fact.content,
                fact.confidence,
            );
        }
        Ok(())
    }

    /// Facts whose content is handed out count as read.
    fn count_hits(&self, hits: &[FileHit]) -> Result<()> {
        let fact = |hit: &FileHit| match Node::parse(&hit.path) {
            Ok(Node::File(File::Fact { id, .. })) => Some(id),
            _ => None,
        };
        let ids: Vec<String> = hits.iter().filter_map(fact).collect();
        self.count_as_read(&ids.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// All the words of an episode.
fn told_by(episode: &Episode) -> String {
    [&episode.action, &episode.input_summary, output(episode)].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(query: &str, text: &str) -> Option<f64> {
        Wanted::of(query)?.score(text)
    }

    #[test]
    fn every_word_must_be_there_and_one_piece_is_best() {
        assert_eq!(score("VP sponsor", "vp  Sponsor"), Some(1.0));
        let in_one = score("vp sponsor", "Deals need a VP sponsor").expect("a hit");
        let apart = score("sponsor vp", "Deals need a VP sponsor").expect("a hit");
        let longer =
            score("vp sponsor", "Enterprise deals need a VP sponsor by all means").expect("a hit");
        assert!(in_one > longer && longer > apart && apart > 0.0);
        assert_eq!(score("vp ceo", "Deals need a VP sponsor"), None);
        assert_eq!((score("", "x"), score(" \n", "x"), score("x", "")), (None, None, None));
        assert!(score("→", "a → b").is_some());
    }
}
