//! What the server is told by the program that runs it: whose memory, where, and what time it is.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kapsa_agents::{AgentMemory, StoreLocation};
use kapsa_memory::access::ClearanceProfile;
use kapsa_memory::request::Clock;
use kapsa_memory::{AsOf, Error, Micros, Trust, WriteOptions};
use kapsa_model::{Embedder, Model};

/// Why something could not be done, in words that whoever asked can act on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// A stable name, such as `uri_not_found`.
    pub code: String,
    /// What is wrong, in one line.
    pub message: String,
    /// What to do instead.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem without a hint.
    #[must_use]
    pub fn new(code: &str, message: impl Into<String>) -> Problem {
        Problem { code: code.to_string(), message: message.into(), hint: None }
    }

    /// The same with what to do instead.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Problem {
        Problem { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, " ({hint})"))
    }
}

/// The program around the server. Every answer may be asked for on any thread.
pub trait Host: Send + Sync {
    /// Name and version of the program.
    fn version(&self) -> &str;

    /// The capsule that is meant in a folder: of the client's workspace, or the program's own.
    ///
    /// # Errors
    /// When there is none.
    fn capsule(&self, folder: Option<&Path>) -> Result<PathBuf, Problem>;

    /// The folders whose repositories are meant in a folder of the client's: that folder, and the
    /// root of the repository that it lies in. Without a folder the one in which the program was
    /// started, if that lies in a repository and the client started the program; else none.
    fn projects(&self, folder: Option<&Path>) -> Vec<PathBuf>;

    /// Who acts; none for the owner.
    fn principal(&self) -> Option<&str>;

    /// What is trusted less far is left out of what is read; none for nothing.
    fn trust_min(&self) -> Option<Trust>;

    /// The branch that is meant where a call names none.
    ///
    /// # Errors
    /// When the one that the capsule was switched to cannot be read.
    fn branch(
        &self,
        capsule: &Path,
        profile: Option<&ClearanceProfile>,
    ) -> Result<Option<String>, Problem>;

    /// How the capsule is opened for writing; how long another writer is waited for included.
    fn write_options(&self) -> WriteOptions;

    /// The model that made the vectors of a capsule, or that makes those of a new one.
    ///
    /// # Errors
    /// When it cannot be used.
    fn embedder(&self, model: Option<&Model>) -> Result<Arc<dyn Embedder>, Problem>;

    /// The memory of an agent with what it may know of its team's.
    ///
    /// # Errors
    /// When its clearance cannot be read.
    fn agent(
        &self,
        capsule: &Path,
        location: &StoreLocation,
        agent: &str,
    ) -> Result<AgentMemory, Problem>;

    /// The time, as the user reckons days where a query speaks of any.
    ///
    /// # Errors
    /// When the user's time zone is not known.
    fn clock(&self, query: &str) -> Result<Clock, Problem>;

    /// The time now, in microseconds since 1970.
    fn now(&self) -> Micros;

    /// Reads a moment as it is typed.
    ///
    /// # Errors
    /// What a moment looks like.
    fn time(&self, text: &str) -> Result<Micros, Problem>;

    /// Reads what a view is asked for as of.
    fn as_of(&self, text: &str) -> AsOf;

    /// A moment as it is shown, in RFC 3339.
    fn shown_time(&self, at: Micros) -> String;

    /// What an error of the memory means to who asked.
    fn problem(&self, error: Error) -> Problem;

    /// Told of each call that failed before its answer goes out: denials are recorded, and whoever
    /// may not know of something learns nothing of it. Returns what is answered.
    fn failed(
        &self,
        capsule: Option<&Path>,
        tool: &str,
        asked: Option<&str>,
        problem: Problem,
    ) -> Problem;
}
