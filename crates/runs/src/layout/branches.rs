//! Runs as branches of one capsule: `run/<run>` leaves `main`, `run/<run>/<task>` leaves that.
//!
//! A run's own branch holds its record, its tasks' records and the plans; a task's branch holds
//! what its agents recorded. What branches inherit is never looked at here: a sibling is what was
//! written on its branch, and nothing else.

use std::path::PathBuf;

use super::{Bare, Layout, OpenStore, OpenedRun, Sibling, Siblings, unless_missing};
use crate::names::{RunId, TaskId};
use crate::records;
use crate::state::refuse_archived;
use crate::steps::{Finish, MergedInto, Part};

use kapsa_memory::Reader;
use kapsa_memory::branch::{self, MAIN, RUN_PREFIX};
use kapsa_memory::merge::{self, MergeRequest, MergeResult, Mode, Selector};
use kapsa_memory::{BranchId, NewRecord};
use kapsa_memory::{Error, Result};
use kapsa_memory::{WriteOptions, Writer, create};

#[derive(Debug)]
pub(crate) struct Branches {
    pub(crate) capsule: PathBuf,
    pub(crate) options: WriteOptions,
}

impl Branches {
    fn writer(&self) -> Result<Writer> {
        Writer::open(&self.capsule, self.options.clone())
    }

    /// What is written on one branch, without what it inherits; none when there is no such branch,
    /// or no capsule.
    fn alone(&self, branch: &str) -> Result<Option<Reader>> {
        let Some(reader) = unless_missing(Reader::open(&self.capsule))? else { return Ok(None) };
        Ok(reader.raw().find_branch(branch)?.map(|id| reader.only([id])))
    }

    fn merge(
        &self,
        from: String,
        to: String,
        part: Part,
        mode: Mode,
        finish: &Finish,
    ) -> Result<MergedInto> {
        let exclude = match mode {
            Mode::Curated => vec![
                Selector::Kind(records::RUN.to_string()),
                Selector::Kind(records::TASK.to_string()),
            ],
            Mode::Full => Vec::new(),
        };
        let include = match part {
            Part::All => Vec::new(),
            Part::Lessons => {
                records::LESSONS.map(|label| Selector::Label(label.to_string())).to_vec()
            }
        };
        let (by, note) = (finish.by.clone(), finish.note.clone());
        let request = MergeRequest {
            from: from.clone(),
            to: to.clone(),
            mode,
            include,
            exclude,
            by,
            note,
            spec: finish.spec.clone(),
            ..MergeRequest::default()
        };
        let mut writer = self.writer()?;
        let plan = merge::plan(&writer.reader()?, &request)?;
        let conflicts: Vec<_> = plan.conflicts().map(|item| item.uri.clone()).collect();
        let mut merged = MergedInto { from, to, written: 0, conflicts };
        // A merge that brings nothing would leave a checkpoint all the same.
        if plan.items.is_empty() || !merged.conflicts.is_empty() {
            return Ok(merged);
        }
        match merge::merge(&mut writer, &request)? {
            MergeResult::Done(done) => merged.written = done.written,
            MergeResult::Conflicts(plan) => {
                merged.conflicts = plan.conflicts().map(|item| item.uri.clone()).collect()
            }
        }
        Ok(merged)
    }
}

fn unless_no_branch(switched: Result<()>) -> Result<bool> {
    match switched {
        Ok(()) => Ok(true),
        Err(Error::BranchNotFound { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// A branch of a run or of a task of it.
struct RunBranch {
    run: RunId,
    task: Option<TaskId>,
    id: BranchId,
}

/// Stores as branches of one capsule.
fn together(reader: &Reader, all: Vec<RunBranch>) -> Siblings {
    let together = reader.only(all.iter().map(|branch| branch.id));
    let sibling = |RunBranch { run, task, id }| {
        let name = task.as_ref().map_or_else(|| run.branch(), |task: &TaskId| task.branch(&run));
        Sibling { name, run, task, reader: Ok(reader.only([id])) }
    };
    Siblings { all: all.into_iter().map(sibling).collect(), together: Some(together) }
}

impl Layout for Branches {
    fn location(&self, run: &RunId, task: Option<&TaskId>) -> String {
        task.map_or_else(|| run.branch(), |task| task.branch(run))
    }

    fn capsule(&self, _run: &RunId, _task: Option<&TaskId>) -> PathBuf {
        self.capsule.clone()
    }

    fn begin_run(&self, run: &RunId) -> Result<(Writer, bool)> {
        let mut writer = match unless_missing(self.writer())? {
            Some(writer) => writer,
            None => {
                create(&self.capsule, &self.options)?;
                self.writer()?
            }
        };
        let branch = run.branch();
        let is_new = writer.reader()?.raw().find_branch(&branch)?.is_none();
        if is_new {
            branch::create(&mut writer, &branch, MAIN, None)?;
        }
        writer.switch(&branch)?;
        Ok((writer, is_new))
    }

    fn begin_task(
        &self,
        writer: &mut Writer,
        run: &RunId,
        task: &TaskId,
        record: NewRecord,
    ) -> Result<bool> {
        let branch = task.branch(run);
        let is_new = writer.reader()?.raw().find_branch(&branch)?.is_none();
        if is_new {
            branch::create_with(writer, &branch, &run.branch(), None, Some(record))?;
        } else {
            writer.put(record)?;
        }
        Ok(is_new)
    }

    fn open(&self, run: &RunId, task: Option<&TaskId>) -> Result<Option<OpenStore>> {
        let Some(mut writer) = unless_missing(self.writer())? else { return Ok(None) };
        if !unless_no_branch(writer.switch(&run.branch()))? {
            return Ok(None);
        }
        let own = branch::own(&mut writer)?;
        let of_run = own.raw().known(&records::run_uri(run)?)?;
        let of_task =
            task.map(|task| own.raw().known(&records::task_uri(run, task)?)).transpose()?;
        // What has room and no record was made by hand, or by a start that was cut short; it is
        // started again.
        let (Some(of_run), Some(of_task)) = (of_run.clone(), of_task.unwrap_or(of_run)) else {
            return Ok(None);
        };
        refuse_archived(run, Some(&of_run))?;
        let title = of_task.title;
        if let Some(task) = task
            && !unless_no_branch(writer.switch(&task.branch(run)))?
        {
            return Ok(None);
        }
        Ok(Some(OpenStore { writer, title }))
    }

    fn run(&self, run: &RunId) -> Result<Option<Reader>> {
        self.alone(&run.branch())
    }

    fn task(&self, run: &RunId, task: &TaskId) -> Result<Option<Reader>> {
        self.alone(&task.branch(run))
    }

    fn siblings(&self, run: &RunId, own: Option<&TaskId>, known: &[TaskId]) -> Result<Siblings> {
        let Some(reader) = unless_missing(Reader::open(&self.capsule))? else {
            return Ok(Siblings::default());
        };
        let mut all = Vec::new();
        for task in known.iter().filter(|task| own != Some(task)) {
            if let Some(id) = reader.raw().find_branch(&task.branch(run))? {
                all.push(RunBranch { run: run.clone(), task: Some(task.clone()), id });
            }
        }
        Ok(together(&reader, all))
    }

    fn past(&self, run: &RunId, runs_max: usize) -> Result<Siblings> {
        let Some(reader) = unless_missing(Reader::open(&self.capsule))? else {
            return Ok(Siblings::default());
        };
        let mut all = Vec::new();
        let mut runs: Vec<RunId> = Vec::new();
        // A branch comes after the one that it left, so that the newest branches are not all of the
        // newest runs.
        for branch in branch::list(&reader)?.into_iter().rev() {
            let Some((id, task)) = parts(&branch.name).filter(|(id, _)| id != run) else {
                continue;
            };
            if !runs.contains(&id) {
                if runs.len() == runs_max || !is_run(&reader, &id)? {
                    continue;
                }
                runs.push(id.clone());
            }
            all.push(RunBranch { run: id, task, id: branch.id });
        }
        Ok(together(&reader, all))
    }

    fn runs(&self, limit: usize) -> Result<(Vec<OpenedRun>, usize)> {
        let Some(reader) = unless_missing(Reader::open(&self.capsule))? else {
            return Ok((Vec::new(), 0));
        };
        // A branch that somebody made by hand is a run as well, whatever is recorded in it.
        let of_run = |branch: branch::Branch| match parts(&branch.name) {
            Some((run, None)) => Some((branch.id, run)),
            _ => None,
        };
        let mut runs: Vec<_> = branch::list(&reader)?.into_iter().filter_map(of_run).collect();
        runs.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
        let count = runs.len();
        let newest = runs.into_iter().take(limit);
        Ok((newest.map(|(id, run)| (run, Ok(reader.only([id])))).collect(), count))
    }

    fn bare(&self, run: &RunId) -> Result<Option<Bare>> {
        let Some(reader) = unless_missing(Reader::open(&self.capsule))? else { return Ok(None) };
        match branch::named(&reader, &run.branch()) {
            Ok(made) => Ok(Some(Bare { created_at: made.created_at, archived: made.archived })),
            Err(Error::BranchNotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn merge_task(
        &self,
        run: &RunId,
        task: &TaskId,
        part: Part,
        mode: Mode,
        finish: &Finish,
    ) -> Result<MergedInto> {
        self.merge(task.branch(run), run.branch(), part, mode, finish)
    }

    fn merge_run(&self, run: &RunId, mode: Mode, finish: &Finish) -> Result<MergedInto> {
        self.merge(run.branch(), MAIN.to_string(), Part::All, mode, finish)
    }

    fn archive(&self, run: &RunId, tasks: &[TaskId], record: NewRecord) -> Result<()> {
        let mut writer = self.writer()?;
        writer.switch(&run.branch())?;
        let branches = tasks.iter().map(|task| task.branch(run)).chain([run.branch()]).collect();
        branch::archive_all(&mut writer, branches, record)
    }
}

/// Whether the branch of a run holds the run's record. One without was made by hand, or by a start
/// that was cut short.
fn is_run(reader: &Reader, run: &RunId) -> Result<bool> {
    let Some(id) = reader.raw().find_branch(&run.branch())? else { return Ok(false) };
    let record = reader.only([id]).raw().known(&records::run_uri(run)?)?;
    Ok(record.is_some_and(|record| record.kind == records::RUN))
}

/// The run and the task that a branch is of; none when it is of no run, or of something else below
/// one.
fn parts(branch: &str) -> Option<(RunId, Option<TaskId>)> {
    let rest = branch.strip_prefix(RUN_PREFIX)?;
    let (run, task) = rest.split_once('/').map_or((rest, None), |(run, task)| (run, Some(task)));
    let id = RunId::parse(run).ok().filter(|id| id.as_str() == run)?;
    Some((id, task.map(TaskId::parse).transpose().ok()?))
}
