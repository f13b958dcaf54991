//! The memory of an agent as a file system: it lists folders, reads, searches and writes files, and
//! each call leaves a trace that others may observe.
//!
//! | path | what it is | |
//! |---|---|---|
//! | `/identity/soul.md` | who the agent is | read-only |
//! | `/goals/<n>.md` | what it is to achieve | read-only |
//! | `/knowledge/<domain>/<id>` | an insight | |
//! | `/experience/<YYYY-MM-DD>/<id>` | an episode, in the folder of its day, UTC | new ones, of today |
//! | `/references/<domain>/<id>` | a fact that the team shares, as far as the agent's clearance goes | read-only |
//! | `/memories/…/<name>` | one of the agent's own files ([`crate::MemoryTool`]), where there are such | |
//! | `.directory` in each folder | what is in it: counts and previews | read-only |
//!
//! `_` stands for no domain. `/experience/<YYYY-MM>` is a month. Retired insights, superseded facts
//! and what other agents have for themselves is not there. Nothing here is a file of any disk.
//!
//! A call reads what its folder holds, through the stores; what it returns is limited (see
//! [`ENTRIES_DEFAULT`], [`HITS_DEFAULT`]), and the number of the others is given.

mod error;
mod folders;
mod own;
mod path;
mod period;
mod reading;
mod searching;
mod traces;
mod writing;

use std::fmt;

pub use error::{FileError, PathFault};
pub use folders::{
    ENTRIES_DEFAULT, Entry, EntryKind, Listing, PREVIEW_CHARS_MAX, TREE_ENTRIES_MAX,
};
pub use path::{PATH_BYTES_MAX, PATH_PARTS_MAX};
pub use searching::{FileHit, FilesFound, HITS_DEFAULT, SEARCH_BYTES_MAX};
pub use traces::TRACES_MAX;
pub use writing::{Details, Written};

use self::own::OwnFiles;
use self::path::Node;
use self::traces::Traces;
use super::memory::AgentMemory;
use super::memory_tool::MemoryTool;
use super::types::{RetrievalTrace, TraceAction};
use kapsa_memory::tokens::{self, first_bytes};

/// The memory of an agent as a file system.
///
/// ```
/// use kapsa_agents::{AgentMemory, MemoryFilesystem};
///
/// let memory = AgentMemory::new("cro", || 1_767_225_600_000_000);
/// let files = MemoryFilesystem::new(memory).with_soul("You are the CRO.");
/// files.write("/knowledge/revenue/qualification/sponsor", "Enterprise deals need a VP sponsor")?;
/// assert_eq!(files.browse("/knowledge")?.names(), ["revenue"]);
/// let found = files.search("vp sponsor", "/knowledge")?;
/// assert_eq!(found.hits[0].path, "/knowledge/revenue/sponsor");
/// let text = files.read("/knowledge/revenue/sponsor")?;
/// assert!(text.starts_with("Enterprise deals need a VP sponsor\n"));
/// assert!(files.write("/identity/soul.md", "You are the CEO.").is_err());
/// assert_eq!(files.traces().len(), 5);
/// # Ok::<(), kapsa_agents::FileError>(())
/// ```
pub struct MemoryFilesystem {
    memory: AgentMemory,
    soul: String,
    goals: Vec<String>,
    limit: Option<usize>,
    counts: bool,
    is_agents: bool,
    own: OwnFiles,
    traces: Traces,
}

impl fmt::Debug for MemoryFilesystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryFilesystem").field("memory", &self.memory).finish_non_exhaustive()
    }
}

impl MemoryFilesystem {
    /// The memory of an agent without a soul and goals. Of what the team shares it shows what the
    /// agent may know ([`AgentMemory::with_clearance`]).
    #[must_use]
    pub fn new(memory: AgentMemory) -> MemoryFilesystem {
        MemoryFilesystem {
            memory,
            soul: String::new(),
            goals: Vec::new(),
            limit: None,
            counts: true,
            is_agents: false,
            own: OwnFiles::default(),
            traces: Traces::default(),
        }
    }

    /// The same for the agent itself, which writes within its clearance; through
    /// [`MemoryFilesystem::new`] somebody writes for the agent.
    #[must_use]
    pub fn of_agent(memory: AgentMemory) -> MemoryFilesystem {
        MemoryFilesystem { is_agents: true, ..MemoryFilesystem::new(memory) }
    }

    /// Who the agent is. Default: nothing.
    #[must_use]
    pub fn with_soul(self, soul: impl Into<String>) -> MemoryFilesystem {
        MemoryFilesystem { soul: soul.into(), ..self }
    }

    /// What the agent is to achieve. Default: nothing.
    #[must_use]
    pub fn with_goals(
        self,
        goals: impl IntoIterator<Item = impl Into<String>>,
    ) -> MemoryFilesystem {
        MemoryFilesystem { goals: goals.into_iter().map(Into::into).collect(), ..self }
    }

    /// The agent's own files, below `/memories`. Default: there are none.
    #[must_use]
    pub fn with_files(self, files: MemoryTool) -> MemoryFilesystem {
        MemoryFilesystem { own: OwnFiles(Some(files)), ..self }
    }

    /// Most entries of a folder and most hits of a search. Default: [`ENTRIES_DEFAULT`] and
    /// [`HITS_DEFAULT`].
    #[must_use]
    pub fn with_limit(self, limit: usize) -> MemoryFilesystem {
        MemoryFilesystem { limit: Some(limit), ..self }
    }

    /// Looks without leaving a mark on the facts: none counts as read. Default: those count whose
    /// content is handed out.
    #[must_use]
    pub fn uncounted(self) -> MemoryFilesystem {
        MemoryFilesystem { counts: false, ..self }
    }

    /// What is in a folder. Insights and facts come the surest first, days and episodes the newest
    /// first, and all else by name.
    ///
    /// # Errors
    /// [`FileError`]; a domain or a day of which there is nothing is not a folder.
    pub fn browse(&self, path: &str) -> Result<Listing, FileError> {
        self.tree(path, 1)
    }

    /// What is in a folder, and in the folders in it, `depth` levels deep: at most
    /// [`TREE_ENTRIES_MAX`] entries.
    ///
    /// # Errors
    /// As [`MemoryFilesystem::browse`].
    pub fn tree(&self, path: &str, depth: usize) -> Result<Listing, FileError> {
        let listed = |listing: &Listing| {
            let names = listing.names();
            (names.len(), tokens::estimate(&names.join("\n")))
        };
        self.traced(TraceAction::Browse, path, "", |node| self.list(node, depth), listed)
    }

    /// What is in a file.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn open(&self, path: &str) -> Result<String, FileError> {
        self.traced(
            TraceAction::Read,
            path,
            "",
            |node| self.content(node),
            |content| (1, tokens::estimate(content)),
        )
    }

    /// What is in a file; nothing when there is no such file.
    ///
    /// # Errors
    /// [`FileError`]; a folder is not a file.
    pub fn read(&self, path: &str) -> Result<String, FileError> {
        match self.open(path) {
            Err(FileError::NoSuchFile { .. }) => Ok(String::new()),
            opened => opened,
        }
    }

    /// Files below the folder `scope` that have every word of the query in them, the best first:
    /// see [`FileHit::score`]. Words are parts between white space, found as parts of what is
    /// there, upper and lower case alike. A query without words finds nothing.
    ///
    /// # Errors
    /// [`FileError`]; `QueryTooLong` above [`SEARCH_BYTES_MAX`].
    pub fn search(&self, query: &str, scope: &str) -> Result<FilesFound, FileError> {
        let found = |found: &FilesFound| {
            let tokens = found.hits.iter().map(|hit| tokens::estimate(&hit.content)).sum();
            (found.hits.len(), tokens)
        };
        self.traced(TraceAction::Search, scope, query, |node| self.look_for(query, node), found)
    }

    /// Writes an insight below `/knowledge` or an episode below `/experience`; the rest is
    /// read-only.
    ///
    /// `/knowledge/<domain>/<tag>/…/<id>`: an insight with these tags. One that is there keeps all
    /// that is not said anew: without tags in the path, its tags. An id that an insight of another
    /// domain has is taken. A retired insight is not there, and is replaced.
    ///
    /// `/experience/<day or month>/<id>` or `/experience/<id>`: an episode that happens now, so
    /// that the day must be today. Its output is cut to
    /// [`SUMMARY_CHARS_MAX`](crate::SUMMARY_CHARS_MAX), its outcome has all of it as `content`.
    /// What happened is not rewritten.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn write(&self, path: &str, content: &str) -> Result<Written, FileError> {
        self.write_with(path, content, &Details::default())
    }

    /// As [`MemoryFilesystem::write`], with more about it.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn write_with(
        &self,
        path: &str,
        content: &str,
        details: &Details,
    ) -> Result<Written, FileError> {
        self.traced(
            TraceAction::Write,
            path,
            "",
            |node| self.put(node, content, details),
            |_| (0, 0),
        )
    }

    /// What was done so far, failures too, the oldest first: one trace for each call, of which the
    /// newest [`TRACES_MAX`] are kept.
    #[must_use]
    pub fn traces(&self) -> Vec<RetrievalTrace> {
        self.traces.copy()
    }

    /// Forgets what was done.
    pub fn clear_traces(&self) {
        self.traces.clear();
    }

    /// Does something at a path, and leaves one trace of it. `weigh` returns how much was found,
    /// and its tokens.
    fn traced<T>(
        &self,
        action: TraceAction,
        path: &str,
        query: &str,
        act: impl FnOnce(&Node) -> Result<T, FileError>,
        weigh: impl FnOnce(&T) -> (usize, usize),
    ) -> Result<T, FileError> {
        let timestamp = self.memory.clock.now();
        let node = Node::parse(path);
        let path = node
            .as_ref()
            .map_or_else(|_| first_bytes(path, PATH_BYTES_MAX).to_string(), Node::to_string);
        let result = node.and_then(|node| act(&node));
        let (results_count, tokens_loaded) = result.as_ref().map(weigh).unwrap_or_default();
        let elapsed_us = self.memory.clock.now().saturating_sub(timestamp);
        self.traces.add(RetrievalTrace {
            query: first_bytes(query, SEARCH_BYTES_MAX).to_string(),
            results_count,
            tokens_loaded,
            duration_ms: u64::try_from(elapsed_us).unwrap_or_default() / 1000,
            ..RetrievalTrace::new(action, path, timestamp)
        });
        result
    }
}
