//! The seven steps of a run, each pending, in progress and completed, in this order. Each change is
//! a line of `agent.log`. Knows nothing of what a step does.

use serde_json::json;

use super::error::{Error, Result};
use super::report::Report;
use super::run_folder::{Artifact, Log, RunFolder};
use super::stamp::Stamp;

/// A step of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Trace, mode and folders are checked.
    ValidateInputs,
    /// Candidates are taken from the trace.
    Extract,
    /// The summary is written.
    Summarise,
    /// What is known already is looked up for each candidate.
    Explore,
    /// Each candidate is added, updates a note, or is known.
    Decide,
    /// Notes are written.
    Write,
    /// `memory_actions.json` is written.
    Report,
}

/// How far a step has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepState {
    /// It was not begun.
    Pending,
    /// It is being done.
    InProgress,
    /// It is done.
    Completed,
}

impl Step {
    /// All of them, in order.
    pub const ALL: [Step; 7] = [
        Step::ValidateInputs,
        Step::Extract,
        Step::Summarise,
        Step::Explore,
        Step::Decide,
        Step::Write,
        Step::Report,
    ];

    /// Its name in logs and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Step::ValidateInputs => "validate_inputs",
            Step::Extract => "extract",
            Step::Summarise => "summarise",
            Step::Explore => "explore",
            Step::Decide => "decide",
            Step::Write => "write",
            Step::Report => "report",
        }
    }
}

impl StepState {
    /// Its name in logs and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            StepState::Pending => "pending",
            StepState::InProgress => "in_progress",
            StepState::Completed => "completed",
        }
    }
}

/// The steps of one run.
#[derive(Clone, Debug)]
pub struct Todos {
    run: RunFolder,
    states: [StepState; Step::ALL.len()],
}

impl Todos {
    /// All steps pending; logs each.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn begin(run: &RunFolder, at: &Stamp) -> Result<Todos> {
        let todos = Todos { run: run.clone(), states: [StepState::Pending; Step::ALL.len()] };
        for step in Step::ALL {
            todos.log(step, None, StepState::Pending, at)?;
        }
        Ok(todos)
    }

    /// How far a step has come.
    #[must_use]
    pub fn state(&self, step: Step) -> StepState {
        self.states[step as usize]
    }

    /// Begins a step. All before it must be completed.
    ///
    /// # Errors
    /// [`Error::OutOfOrder`], [`Error::Io`].
    pub fn start(&mut self, step: Step, at: &Stamp) -> Result<()> {
        self.change(step, StepState::Pending, StepState::InProgress, at)
    }

    /// Completes a step that was begun.
    ///
    /// # Errors
    /// [`Error::OutOfOrder`], [`Error::Io`].
    pub fn complete(&mut self, step: Step, at: &Stamp) -> Result<()> {
        self.change(step, StepState::InProgress, StepState::Completed, at)
    }

    /// Writes the report, `memory_actions.json`, and completes the last step. In the report all
    /// steps are completed: it is there whole or not at all, and the last thing that a run makes.
    ///
    /// # Errors
    /// [`Error::OutOfOrder`] unless [`Step::Report`] is in progress, [`Error::OddPath`],
    /// [`Error::Io`]; then nothing was written.
    pub fn finish(&mut self, report: &Report, at: &Stamp) -> Result<()> {
        self.check(Step::Report, StepState::InProgress, StepState::Completed)?;
        let todo =
            |step: Step| json!({"content": step.name(), "status": StepState::Completed.name()});
        let report = report.to_json(Step::ALL.into_iter().map(todo).collect())?;
        self.run.write(Artifact::MemoryActions, &report)?;
        self.complete(Step::Report, at)
    }

    fn change(&mut self, step: Step, from: StepState, to: StepState, at: &Stamp) -> Result<()> {
        self.check(step, from, to)?;
        self.log(step, Some(from), to, at)?;
        self.states[step as usize] = to;
        Ok(())
    }

    /// Whether a step is in a state, and all before it completed.
    fn check(&self, step: Step, from: StepState, to: StepState) -> Result<()> {
        let refused =
            |reason: String| Err(Error::OutOfOrder { step: step.name(), to: to.name(), reason });
        let open = Step::ALL.into_iter().find(|one| self.state(*one) != StepState::Completed);
        match open {
            _ if self.state(step) != from => refused(format!("it is {}", self.state(step).name())),
            Some(open) if open != step => {
                refused(format!("`{}` is {}", open.name(), self.state(open).name()))
            }
            _ => Ok(()),
        }
    }

    fn log(&self, step: Step, from: Option<StepState>, to: StepState, at: &Stamp) -> Result<()> {
        let line = json!({
            "at": at.iso,
            "event": "todo",
            "step": step.name(),
            "from": from.map(StepState::name),
            "to": to.name(),
        });
        self.run.append(Log::Agent, &line)
    }
}
