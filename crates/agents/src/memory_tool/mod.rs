//! The memory tool of Anthropic's API (`memory_20250818`): six commands over files of an agent,
//! answered in the documented words. Each file is a record, each edit a revision of it.
//!
//! Invariants: a command that is refused writes nothing; what a command reads and what it writes is
//! one transaction, so that nobody's edit in between is lost; no name of a file leads anywhere but
//! below the agent's own part of the memory. There are no links.

mod listing;
mod path;
mod text;

use std::fmt;

use kapsa_memory::access::{Access, Classification};
use kapsa_memory::kinds::MEMORY_FILE;
use kapsa_memory::owned::{NOBODY, escape};
use kapsa_memory::{Batch, Error, LIMIT_NONE, NewRecord, RawView, Record, Result, ScanFilter, Uri};
use serde_json::Value;

pub use path::MEMORY_PATH_BYTES_MAX;
pub use text::{MEMORY_FILE_BYTES_MAX, MEMORY_FILE_LINES_MAX};

use path::FilePath;
use text::{Edited, too_large};

use super::location::StoreLocation;

/// What of a record's URI stands between the agent and the path.
const FILES: &str = "files";
/// Field of a file that was renamed: the URI that it had.
const SOURCE: &str = "source";
/// Field of a file that holds nothing, which a record cannot.
const IS_EMPTY: &str = "is_empty";
/// The text of such a record.
const EMPTY: &str = "\n";

/// A command, as a model sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryCommand {
    /// Shows a file, or what is in a directory.
    View {
        /// The file or directory.
        path: String,
        /// First and last line, counted from 1; -1 is the end.
        view_range: Option<[i64; 2]>,
    },
    /// Makes a file that is not there yet.
    Create {
        /// The file.
        path: String,
        /// All that is in it.
        file_text: String,
    },
    /// Puts another text in the place of one that is there once.
    StrReplace {
        /// The file.
        path: String,
        /// The text that is there.
        old_str: String,
        /// The text that takes its place.
        new_str: String,
    },
    /// Puts lines after a line.
    Insert {
        /// The file.
        path: String,
        /// The line after which they come; 0 is before the first.
        insert_line: i64,
        /// The lines.
        insert_text: String,
    },
    /// Deletes a file, or a directory with all that is in it.
    Delete {
        /// The file or directory.
        path: String,
    },
    /// Gives a file or a directory another name.
    Rename {
        /// Its name.
        old_path: String,
        /// Its new name.
        new_path: String,
    },
}

/// Why a command did nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The command cannot be carried out; these are the documented words.
    #[error("{0}")]
    Told(String),
    /// The memory cannot be read or written.
    #[error("Error: the memory cannot be used: {0}")]
    Memory(#[source] Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        match error {
            Error::HeldForReview { reasons, .. } => Refusal::Told(format!(
                "Error: nothing was changed yet: the owner of the memory reviews it first ({reasons})"
            )),
            error => Refusal::Memory(error),
        }
    }
}

fn told<T>(words: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Told(words.into()))
}

/// The files of an agent, or of the owner, for a model that has the memory tool.
///
/// ```
/// use kapsa_agents::{MemoryCommand, MemoryTool, StoreLocation};
/// use kapsa_memory::{WriteOptions, create};
///
/// # let folder = tempfile::tempdir()?;
/// # let capsule = folder.path().join("notes.kapsa");
/// let options = WriteOptions::new(|| 1_767_225_600_000_000);
/// create(&capsule, &options)?;
/// let tool = MemoryTool::new(StoreLocation::new(&capsule, options), "ann");
/// let (path, file_text) = ("/memories/todo.md".to_string(), "Ship it\n".to_string());
/// let answer = tool.call(&MemoryCommand::Create { path, file_text })?;
/// assert_eq!(answer, "File created successfully at: /memories/todo.md");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MemoryTool {
    location: StoreLocation,
    agent: String,
    domain: String,
}

impl fmt::Debug for MemoryTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryTool").field("agent", &self.agent).finish_non_exhaustive()
    }
}

/// A file that is there.
struct KeptFile {
    path: FilePath,
    record: Record,
}

impl KeptFile {
    fn text(&self) -> &str {
        let is_empty = self.record.metadata.get(IS_EMPTY).is_some_and(|empty| *empty == true);
        if is_empty { "" } else { &self.record.text }
    }
}

impl MemoryTool {
    /// The files of an agent; without a name, the owner's.
    #[must_use]
    pub fn new(location: StoreLocation, agent: impl Into<String>) -> MemoryTool {
        let domain = location.domain_unnamed();
        MemoryTool { location, agent: agent.into(), domain }
    }

    /// The same, whose new files are of this field of knowledge. Default: none, and for a principal
    /// that may not write there and is cleared for one only, that one.
    #[must_use]
    pub fn in_domain(self, domain: impl Into<String>) -> MemoryTool {
        MemoryTool { domain: domain.into(), ..self }
    }

    /// Carries out a command. Returns what the model is told.
    ///
    /// # Errors
    /// [`Refusal`], whose words are for the model as well. Nothing was written then.
    pub fn call(&self, command: &MemoryCommand) -> Result<String, Refusal> {
        match command {
            MemoryCommand::View { path, view_range } => self.view(path, *view_range),
            MemoryCommand::Create { path, file_text } => {
                let path = FilePath::parse(path)?;
                self.change(|files| files.create(&path, file_text))
            }
            MemoryCommand::StrReplace { path, old_str, new_str } => {
                let path = FilePath::parse(path)?;
                self.change(|files| {
                    files.edit(
                        &path,
                        |text| text::replaced(&path, text, old_str, new_str),
                        missing_for_edit,
                    )
                })
            }
            MemoryCommand::Insert { path, insert_line, insert_text } => {
                let path = FilePath::parse(path)?;
                self.change(|files| {
                    files.edit(
                        &path,
                        |text| text::inserted(&path, text, *insert_line, insert_text),
                        missing,
                    )
                })
            }
            MemoryCommand::Delete { path } => {
                let path = FilePath::parse(path)?;
                self.change(|files| files.delete(&path))
            }
            MemoryCommand::Rename { old_path, new_path } => {
                let (old, new) = (FilePath::parse(old_path)?, FilePath::parse(new_path)?);
                self.change(|files| files.rename(&old, &new))
            }
        }
    }

    /// All files, by their names, with their texts.
    pub(crate) fn all(&self) -> Result<Vec<(Vec<String>, String)>> {
        let Some(reader) = self.location.reader()? else { return Ok(Vec::new()) };
        let files = Files { tool: self, view: reader.raw(), batch: &mut Batch::default() };
        let below = files.below(&FilePath::root())?;
        let named = |file: KeptFile| {
            (file.path.parts().map(str::to_string).collect(), file.text().to_string())
        };
        Ok(below.into_iter().map(named).collect())
    }

    /// Makes a file, or revises it. Returns whether it was there.
    pub(crate) fn put(&self, names: &[String], text: &str) -> Result<bool, Refusal> {
        let path = FilePath::parse(&format!("{}/{}", FilePath::root(), names.join("/")))?;
        let mut existed = false;
        self.change(|files| {
            let there = files.file(&path)?;
            existed = there.is_some();
            files.check_above(&path)?;
            let record = files.new_record(&path, text, there.as_ref().map(|file| &file.record))?;
            files.batch.put(record);
            Ok(String::new())
        })?;
        Ok(existed)
    }

    fn view(&self, path: &str, range: Option<[i64; 2]>) -> Result<String, Refusal> {
        let path = FilePath::parse(path)?;
        let reader = self.location.reader()?;
        let Some(reader) = reader else { return listing::of(&path, &[]) };
        let files = Files { tool: self, view: reader.raw(), batch: &mut Batch::default() };
        if let Some(file) = files.file(&path)? {
            return text::viewed(&path, file.text(), range);
        }
        let below = files.below(&path)?;
        let sizes = below.iter().map(|file| (file.path.clone(), file.text().len() as u64));
        listing::of(&path, &sizes.collect::<Vec<_>>())
    }

    /// Reads and writes as one: what is refused writes nothing.
    fn change(
        &self,
        work: impl FnOnce(&mut Files<'_>) -> Result<String, Refusal>,
    ) -> Result<String, Refusal> {
        let mut answer = None;
        self.location.write(|view, batch| {
            let mut drafted = Batch::default();
            let done = work(&mut Files { tool: self, view, batch: &mut drafted });
            if done.is_ok() {
                *batch = drafted;
            }
            answer = Some(done);
            Ok(())
        })?;
        answer.unwrap_or_else(|| told("Error: the memory did not take its turn"))
    }

    /// What the URIs of this agent's files begin with.
    fn prefix(&self) -> String {
        let agent = match self.agent.as_str() {
            "" => NOBODY.to_string(),
            // A name that nobody is called by.
            NOBODY => "%5F".to_string(),
            agent => escape(agent),
        };
        format!("memories/{agent}/{FILES}/")
    }

    fn uri(&self, path: &FilePath) -> Result<Uri, Refusal> {
        let parts: Vec<String> = path.parts().map(escape).collect();
        let uri = format!("{}{}", self.prefix(), parts.join("/"));
        Uri::parse(&uri).or_else(|_| path.too_long())
    }
}

fn missing(path: &FilePath) -> String {
    format!("Error: The path {path} does not exist")
}

fn missing_for_edit(path: &FilePath) -> String {
    format!("Error: The path {path} does not exist. Please provide a valid path.")
}

/// The files as one command sees and changes them.
struct Files<'a> {
    tool: &'a MemoryTool,
    view: RawView<'a>,
    batch: &'a mut Batch,
}

impl Files<'_> {
    fn file(&self, path: &FilePath) -> Result<Option<KeptFile>, Refusal> {
        if path.is_root() {
            return Ok(None);
        }
        let record = self.view.known(&self.tool.uri(path)?)?.filter(is_file);
        Ok(record.map(|record| KeptFile { path: path.clone(), record }))
    }

    /// The files below a directory, in the order of their paths.
    fn below(&self, path: &FilePath) -> Result<Vec<KeptFile>> {
        let mut all = vec![vec![format!("kind:{MEMORY_FILE}")]];
        if !self.tool.agent.is_empty() {
            all.push(vec![format!("agent:{}", self.tool.agent)]);
        }
        let filter = ScanFilter { all, ..ScanFilter::default() };
        let prefix = self.tool.prefix();
        let mut found = Vec::new();
        self.view.oldest(&filter, LIMIT_NONE, &mut |sequence| {
            let Some(record) = self.view.known_record(sequence)?.filter(is_file) else {
                return Ok(false);
            };
            let of_tool = record.uri.short().strip_prefix(&prefix).and_then(FilePath::of_uri);
            let Some(file) = of_tool.filter(|file| file.is_below(path)) else { return Ok(false) };
            if self.view.is_newest(&record)? {
                found.push(KeptFile { path: file, record });
            }
            Ok(true)
        })?;
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    fn is_taken(&self, path: &FilePath) -> Result<bool, Refusal> {
        if path.is_root() || self.view.known(&self.tool.uri(path)?)?.is_some() {
            return Ok(true);
        }
        Ok(!self.below(path)?.is_empty())
    }

    /// Refuses what would lie below a file.
    fn check_above(&self, path: &FilePath) -> Result<(), Refusal> {
        for above in path.above() {
            if self.file(&above)?.is_some() {
                return told(format!("Error: {above} is a file, not a directory"));
            }
        }
        Ok(())
    }

    fn create(&mut self, path: &FilePath, text: &str) -> Result<String, Refusal> {
        if self.is_taken(path)? {
            return told(format!("Error: File {path} already exists"));
        }
        self.check_above(path)?;
        let record = self.new_record(path, text, None)?;
        self.batch.put(record);
        Ok(format!("File created successfully at: {path}"))
    }

    fn edit(
        &mut self,
        path: &FilePath,
        edited: impl FnOnce(&str) -> Result<Edited, Refusal>,
        missing: fn(&FilePath) -> String,
    ) -> Result<String, Refusal> {
        let Some(file) = self.file(path)? else { return told(missing(path)) };
        let edited = edited(file.text())?;
        let record = self.new_record(path, &edited.text, Some(&file.record))?;
        self.batch.put(record);
        Ok(edited.answer)
    }

    fn delete(&mut self, path: &FilePath) -> Result<String, Refusal> {
        if path.is_root() {
            return told("Error: Cannot delete the /memories directory itself");
        }
        let gone = self.file_or_below(path)?;
        if gone.is_empty() {
            return told(missing(path));
        }
        gone.into_iter().for_each(|file| self.batch.forget(file.record.uri));
        Ok(format!("Successfully deleted {path}"))
    }

    fn rename(&mut self, old: &FilePath, new: &FilePath) -> Result<String, Refusal> {
        if old.is_root() {
            return told("Error: Cannot rename the /memories directory itself");
        }
        let moved = self.file_or_below(old)?;
        if moved.is_empty() {
            return told(missing(old));
        }
        if self.is_taken(new)? {
            return told(format!("Error: The destination {new} already exists"));
        }
        if new.is_below(old) {
            return told(format!("Error: Cannot rename {old} to {new}, which is in it"));
        }
        self.check_above(new)?;
        for file in moved {
            let path = file.path.moved(old, new)?;
            let mut record = self.new_record(&path, file.text(), Some(&file.record))?;
            record.metadata.insert(SOURCE.to_string(), file.record.uri.short().into());
            self.batch.put(record);
            self.batch.forget(file.record.uri);
        }
        Ok(format!("Successfully renamed {old} to {new}"))
    }

    fn file_or_below(&self, path: &FilePath) -> Result<Vec<KeptFile>, Refusal> {
        match self.file(path)? {
            Some(file) => Ok(vec![file]),
            None => Ok(self.below(path)?),
        }
    }

    /// The record of a file. What takes the place of another one spreads no further than that.
    fn new_record(
        &self,
        path: &FilePath,
        text: &str,
        before: Option<&Record>,
    ) -> Result<NewRecord, Refusal> {
        if let Some(words) = too_large(path, text) {
            return told(words);
        }
        let mut record = NewRecord {
            uri: Some(self.tool.uri(path)?),
            kind: MEMORY_FILE.to_string(),
            title: path.to_string(),
            agent: self.tool.agent.clone(),
            domain: before.map_or_else(|| self.tool.domain.clone(), |there| there.domain.clone()),
            access: before.map_or_else(
                || Some(Access { level: Classification::Internal, named: Vec::new() }),
                |there| there.access.clone(),
            ),
            ..NewRecord::text(if text.is_empty() { EMPTY } else { text })
        };
        if text.is_empty() {
            record.metadata.insert(IS_EMPTY.to_string(), Value::Bool(true));
        }
        if let Some(source) = before.and_then(|there| there.metadata.get(SOURCE)) {
            record.metadata.insert(SOURCE.to_string(), source.clone());
        }
        Ok(record)
    }
}

fn is_file(record: &Record) -> bool {
    record.kind == MEMORY_FILE && !record.tombstone && !record.purged && record.alias.is_none()
}
