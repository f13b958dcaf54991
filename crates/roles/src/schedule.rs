//! What roles do by themselves, at intervals. Knows no clock and no file: the time is passed in,
//! and who keeps when something ran last is a trait.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::error::RoleError;
use super::operator_runtime::{ChainError, NodeRun};
use super::runtime::RoleRuntime;
use super::text::State;
use kapsa_agents::Reflection;
use kapsa_memory::Result;
use kapsa_memory::record::Micros;

/// Something that a role does by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The role.
    pub role: String,
    /// What it does.
    pub work: Work,
}

/// What a job does.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Learns from the newest episodes.
    Reflect,
    /// Runs a node of an operator, or all its nodes in their order, from this state.
    Run {
        /// The operator.
        operator: String,
        /// The node; all of them when none.
        node: Option<String>,
        /// The state that it begins with.
        state: State,
    },
}

impl Job {
    /// What it does, in a word: `reflect`, `deals` or `deals.decide`.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.work {
            Work::Reflect => "reflect".to_owned(),
            Work::Run { operator, node: None, .. } => operator.clone(),
            Work::Run { operator, node: Some(node), .. } => format!("{operator}.{node}"),
        }
    }
}

/// Decides what is due.
pub trait Scheduler: Send + Sync {
    /// What is due now, in the order in which it is to be done.
    ///
    /// # Errors
    /// What whoever keeps the last runs says.
    fn due(&self, now: Micros) -> Result<Vec<Job>>;

    /// Notes that a job was begun: it is not due again before its time, however it ends.
    ///
    /// # Errors
    /// As [`Scheduler::due`].
    fn begun(&self, job: &Job, now: Micros) -> Result<()>;
}

/// Keeps when jobs ran last.
pub trait LastRuns: Send + Sync {
    /// When a job ran last; none when it never did.
    ///
    /// # Errors
    /// What the store says.
    fn last(&self, job: &Job) -> Result<Option<Micros>>;

    /// Notes that it runs now.
    ///
    /// # Errors
    /// As [`LastRuns::last`].
    fn note(&self, job: &Job, now: Micros) -> Result<()>;
}

/// The last runs of this process.
#[derive(Debug, Default)]
pub struct RunsOfProcess(Mutex<BTreeMap<(String, String), Micros>>);

impl LastRuns for RunsOfProcess {
    fn last(&self, job: &Job) -> Result<Option<Micros>> {
        let runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(runs.get(&(job.role.clone(), job.name())).copied())
    }

    fn note(&self, job: &Job, now: Micros) -> Result<()> {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        runs.insert((job.role.clone(), job.name()), now);
        Ok(())
    }
}

/// A scheduler of jobs that are due at intervals, counted from when each ran last. A job that never
/// ran is due at once; one that was missed is due once, not as often as it was missed.
pub struct IntervalScheduler {
    jobs: Vec<(Job, Micros)>,
    last: Box<dyn LastRuns>,
}

impl IntervalScheduler {
    /// No jobs, with this memory of the last runs.
    #[must_use]
    pub fn new(last: impl LastRuns + 'static) -> IntervalScheduler {
        IntervalScheduler { jobs: Vec::new(), last: Box::new(last) }
    }

    /// A further job, due every so many microseconds.
    #[must_use]
    pub fn every(mut self, interval: Micros, job: Job) -> IntervalScheduler {
        self.jobs.push((job, interval));
        self
    }

    /// The jobs, with when each is due: the time now for what never ran.
    ///
    /// # Errors
    /// As [`LastRuns::last`].
    pub fn planned(&self, now: Micros) -> Result<Vec<(&Job, Micros)>> {
        let next = |(job, interval): &(Job, Micros)| -> Result<Micros> {
            let last = self.last.last(job)?;
            Ok(last.map_or(now, |last| last.saturating_add(*interval)))
        };
        self.jobs.iter().map(|entry| Ok((&entry.0, next(entry)?))).collect()
    }
}

impl Scheduler for IntervalScheduler {
    fn due(&self, now: Micros) -> Result<Vec<Job>> {
        let planned = self.planned(now)?;
        Ok(planned.into_iter().filter(|(_, at)| *at <= now).map(|(job, _)| job.clone()).collect())
    }

    fn begun(&self, job: &Job, now: Micros) -> Result<()> {
        self.last.note(job, now)
    }
}

/// What became of a job.
#[derive(Debug)]
pub struct JobRun {
    /// The job.
    pub job: Job,
    /// What it did, or what broke it.
    pub result: Result<JobDone, RoleError>,
}

/// What a job did.
#[derive(Debug)]
pub enum JobDone {
    /// What was learned.
    Learned(Reflection),
    /// The nodes that ran.
    Ran(Vec<NodeRun>),
}

impl RoleRuntime {
    /// Does what is due by the scheduler of the runtime, one job after the other; without one,
    /// nothing. A job that fails does not keep the others from running.
    ///
    /// # Errors
    /// [`RoleError::Memory`] when the scheduler cannot say what is due.
    pub async fn run_due(&self, now: Micros) -> Result<Vec<JobRun>, RoleError> {
        let Some(scheduler) = self.scheduler() else { return Ok(Vec::new()) };
        let failed = |role: &str| {
            let role = role.to_owned();
            move |source| RoleError::Memory { role, source }
        };
        let mut runs = Vec::new();
        for job in scheduler.due(now).map_err(failed("(scheduler)"))? {
            scheduler.begun(&job, now).map_err(failed(&job.role))?;
            let result = self.run_job(&job).await;
            runs.push(JobRun { job, result });
        }
        Ok(runs)
    }

    async fn run_job(&self, job: &Job) -> Result<JobDone, RoleError> {
        let role = self.role(&job.role)?;
        let Work::Run { operator, node, state } = &job.work else {
            return role.reflect().await.map(JobDone::Learned);
        };
        let operator = role.operator(operator)?;
        let mut state = state.clone();
        let ran = match node {
            Some(node) => operator.run_chain(&[node], &mut state).await,
            None => operator.run_all(&mut state).await,
        };
        ran.map(JobDone::Ran).map_err(|ChainError { error, .. }| error)
    }
}
