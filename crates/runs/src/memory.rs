//! Run memory for a host that must not fail because of it: each step that fails is reported, and
//! the run goes on.

use std::fmt;

use super::config::{RunConfig, SIBLING_CHUNK_CHARS};
use super::context::{Context, ContextRequest, ModelSource};
use super::names::{Role, RunId, TaskId};
use super::steps::{Finish, Finished, NewOutput, NewRun, NewTask, Started};
use super::store::RunStore;
use kapsa_memory::record::Micros;
use kapsa_memory::request::Put;
use kapsa_memory::{Error, Result};

/// Called with the name of a step that failed, and why.
pub type Warn = Box<dyn Fn(&'static str, &Error) + Send + Sync>;

/// Run memory that never fails its host. Where it is not enabled, every step does nothing and
/// reports nothing.
///
/// ```
/// use kapsa_memory::WriteOptions;
/// use kapsa_runs::{NewOutput, NewTask, Role, RunConfig, RunId, RunMemory, RunStore, TaskId};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("memory.kapsa");
/// let store = RunStore::branches(&path, WriteOptions::new(|| 1_767_225_600_000_000));
/// let config = RunConfig { enabled: true, ..RunConfig::default() };
/// let memory = RunMemory::new(
///     config,
///     store,
///     Box::new(|step, error| eprintln!("memory: {step}: {error}")),
/// );
///
/// let run = RunId::parse("17")?;
/// let (first, second) = (TaskId::parse("task-1")?, TaskId::parse("task-2")?);
/// let titled = |title: &str| NewTask { title: title.into(), ..NewTask::default() };
/// memory.start(&run, &Default::default());
/// memory.start_task(&run, &first, &titled("Choose the port"));
/// memory.record(
///     &run,
///     NewOutput {
///         task: Some(first),
///         role: Role::builder(),
///         text: "Decided: the service listens on port 5433.".into(),
///         confidence: Some(0.9),
///         agent: String::new(),
///     },
/// );
///
/// memory.start_task(&run, &second, &titled("Write the client for the service's port"));
/// let context = memory.context(&run, Some(&second), &Role::builder());
/// let text = context.and_then(|context| context.text()).unwrap_or_default();
/// let decided = "[task-1 builder] Choose the port: Decided: the service listens on port 5433.";
/// assert!(text.contains(decided));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RunMemory {
    config: RunConfig,
    store: RunStore,
    warn: Warn,
}

impl fmt::Debug for RunMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunMemory")
            .field("config", &self.config)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

impl RunMemory {
    /// Run memory in `store`. `warn` is called for every step that fails.
    #[must_use]
    pub fn new(config: RunConfig, store: RunStore, warn: Warn) -> RunMemory {
        RunMemory { config, store, warn }
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &RunConfig {
        &self.config
    }

    /// The store, for questions whose failure matters.
    #[must_use]
    pub fn store(&self) -> &RunStore {
        &self.store
    }

    /// As [`RunStore::start`].
    pub fn start(&self, run: &RunId, new: &NewRun) -> Option<Started> {
        self.step("start", |store| store.start(run, new))
    }

    /// As [`RunStore::start_task`].
    pub fn start_task(&self, run: &RunId, task: &TaskId, new: &NewTask) -> Option<Started> {
        self.step("start task", |store| store.start_task(run, task, new))
    }

    /// As [`RunStore::record`].
    pub fn record(&self, run: &RunId, output: NewOutput) -> Option<Put> {
        self.step("record", |store| store.record(run, output))
    }

    /// As [`RunStore::context`], with what the settings say, by words. None when there is nothing
    /// to show.
    pub fn context(&self, run: &RunId, task: Option<&TaskId>, role: &Role) -> Option<Context> {
        self.context_with(run, &self.request(task, role, None))
            .filter(|context| !context.lines.is_empty())
    }

    /// The request that the settings make.
    #[must_use]
    pub fn request<'a>(
        &self,
        task: Option<&'a TaskId>,
        role: &'a Role,
        models: Option<ModelSource<'a>>,
    ) -> ContextRequest<'a> {
        let timeout = Micros::try_from(self.config.timeout.as_micros()).unwrap_or(Micros::MAX);
        ContextRequest {
            task,
            role,
            query: None,
            tokens_max: self.config.context_tokens,
            chunks_max: self.config.sibling_max_chunks,
            chunk_chars_max: SIBLING_CHUNK_CHARS,
            mode: self.config.search_mode,
            past_runs: false,
            models,
            deadline: Some((self.store.options.clock)().saturating_add(timeout)),
        }
    }

    /// As [`RunStore::context`]. Stores that could not be read are reported as failures too.
    pub fn context_with(&self, run: &RunId, request: &ContextRequest<'_>) -> Option<Context> {
        let context = self.step("context", |store| store.context(run, request))?;
        for skipped in &context.skipped {
            let reason = format!("{} was passed over: {}", skipped.store, skipped.reason);
            (self.warn)("context", &Error::InvalidOperation { reason });
        }
        Some(context)
    }

    /// As [`RunStore::finish_task`].
    pub fn finish_task(&self, run: &RunId, task: &TaskId, finish: &Finish) -> Option<Finished> {
        self.step("finish task", |store| store.finish_task(run, task, finish))
    }

    /// As [`RunStore::finish`].
    pub fn finish(&self, run: &RunId, finish: &Finish) -> Option<Finished> {
        self.step("finish", |store| store.finish(run, finish))
    }

    /// As [`RunStore::archive`].
    pub fn archive(&self, run: &RunId) -> Option<()> {
        self.step("archive", |store| store.archive(run))
    }

    fn step<T>(&self, name: &'static str, step: impl FnOnce(&RunStore) -> Result<T>) -> Option<T> {
        if !self.config.enabled {
            return None;
        }
        let done = step(&self.store).map_err(|error| (self.warn)(name, &error)).ok();
        let _only_a_failure_is_told = self.store.stored();
        self.store.warnings().iter().for_each(|error| (self.warn)(name, error));
        done
    }
}
