//! What a finished run has left behind, and what is wrong with it. Knows nothing of how a run does
//! its work.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::ContractError;
use super::paths;
use super::report::Report;
use super::run_folder::{Artifact, Log, RunFolder, RunMode};
use super::todos::{Step, StepState};

/// What a run left behind.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedRun {
    /// The summary of the session.
    pub summary_path: PathBuf,
    /// How many candidates there were.
    pub candidate_count: usize,
    /// What was done with them.
    pub report: Report,
}

/// Checks what a run needs before anything is made for it.
///
/// # Errors
/// [`ContractError::TracePathMissing`], [`ContractError::InvalidRunMode`].
pub fn check_inputs(trace_path: &Path, run_mode: &str) -> Result<RunMode, ContractError> {
    if !fs::metadata(trace_path).is_ok_and(|found| found.is_file()) {
        return Err(ContractError::TracePathMissing(trace_path.to_path_buf()));
    }
    RunMode::parse(run_mode)
}

/// Checks the folder of a run over a trace that says it is finished.
///
/// # Errors
/// The first [`ContractError`], in the order of the run's steps.
pub fn check_run(run: &RunFolder, memory_root: &Path) -> Result<CheckedRun, ContractError> {
    let extract = run.read(Artifact::Extract)?;
    let Some(candidates) = extract.as_array() else {
        return Err(ContractError::InvalidJsonArtifact(run.path_of(Artifact::Extract)));
    };
    let summary_path = check_summary(&run.read(Artifact::Summary)?, memory_root)?;
    let report_path = run.path_of(Artifact::MemoryActions);
    let shape = || ContractError::InvalidReportShape(report_path.clone());
    let value = run.read(Artifact::MemoryActions)?;
    let report = Report::from_json(&value).ok_or_else(shape)?;
    if report.run_id != run.id() || !has_all_todos(&value) {
        return Err(shape());
    }
    for path in &report.written_memory_paths {
        if !paths::is_within(path, memory_root) && !paths::is_within(path, run.path()) {
            return Err(ContractError::ReportPathOutsideAllowedRoots(path.clone()));
        }
    }
    for log in [Log::Agent, Log::Subagents] {
        run.read_log(log)?;
    }
    Ok(CheckedRun { summary_path, candidate_count: candidates.len(), report })
}

/// The path in the output of the summarisation, which must be that of a file of the memory.
///
/// # Errors
/// [`ContractError::MissingSummaryPath`], [`ContractError::SummaryPathOutsideMemoryRoot`],
/// [`ContractError::SummaryPathNotFound`].
pub fn check_summary(output: &Value, memory_root: &Path) -> Result<PathBuf, ContractError> {
    let named = output.get("summary_path").and_then(Value::as_str).filter(|path| !path.is_empty());
    let path = PathBuf::from(named.ok_or(ContractError::MissingSummaryPath)?);
    if !paths::is_within(&path, memory_root) {
        return Err(ContractError::SummaryPathOutsideMemoryRoot(path));
    }
    if !fs::metadata(&path).is_ok_and(|found| found.is_file()) {
        return Err(ContractError::SummaryPathNotFound(path));
    }
    Ok(path)
}

/// Whether all steps are there, in order and completed.
fn has_all_todos(report: &Value) -> bool {
    let todos = report.get("todos").and_then(Value::as_array).map(Vec::as_slice);
    let is_completed = |todo: &Value, step: Step| {
        todo.get("content").and_then(Value::as_str) == Some(step.name())
            && todo.get("status").and_then(Value::as_str) == Some(StepState::Completed.name())
    };
    todos.is_some_and(|todos| {
        todos.len() == Step::ALL.len()
            && todos.iter().zip(Step::ALL).all(|(todo, step)| is_completed(todo, step))
    })
}
