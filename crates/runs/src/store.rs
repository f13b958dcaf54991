//! The steps of a run: start, start a task, record, ask, finish, archive. The same for every
//! layout.

use std::path::{Path, PathBuf};

use kapsa_memory::checkpoint::{self, NewCheckpoint};
use kapsa_memory::merge::Mode;
use kapsa_memory::{
    Error, Micros, NewRecord, Put, Reader, Record, Result, WriteOptions, Writer, branch,
};

use super::config::STORE_EXTENSION;
use super::context::{self, Context, ContextRequest};
use super::layout::{Branches, Files, Layout};
use super::names::{Role, RunId, TaskId};
use super::notes::{Notes, taken};
use super::records::{self, RunInfo, Status, TaskInfo};
use super::state::{archived, newest_plan_of, no_run, outputs, refuse_archived, run_in};
use super::steps::{Finish, Finished, MergedInto, NewOutput, NewRun, NewTask, Part, Started};

/// A run, or why it cannot be read.
pub type ListedRun = (RunId, Result<RunInfo>);

/// Keeps runs, in one layout.
#[derive(Debug)]
pub struct RunStore {
    layout: Box<dyn Layout>,
    pub(super) options: WriteOptions,
    notes: Notes,
}

impl RunStore {
    /// Runs as branches of the capsule at `capsule`, which is made when the first run starts.
    #[must_use]
    pub fn branches(capsule: &Path, options: WriteOptions) -> RunStore {
        let layout = Branches { capsule: capsule.to_path_buf(), options: options.clone() };
        RunStore { layout: Box::new(layout), options, notes: Notes::default() }
    }

    /// Runs as folders below `folder`; finished ones are merged into the capsule at `workspace`.
    /// `stamp` writes a time as ISO 8601.
    #[must_use]
    pub fn files(
        folder: &Path,
        workspace: &Path,
        options: WriteOptions,
        stamp: fn(Micros) -> String,
    ) -> RunStore {
        RunStore::files_named(folder, workspace, STORE_EXTENSION, options, stamp)
    }

    /// As [`RunStore::files`], with stores whose names end in `extension`.
    #[must_use]
    pub fn files_named(
        folder: &Path,
        workspace: &Path,
        extension: &str,
        options: WriteOptions,
        stamp: fn(Micros) -> String,
    ) -> RunStore {
        let (folder, workspace) = (PathBuf::from(folder), PathBuf::from(workspace));
        let extension = extension.to_string();
        let layout = Files { folder, workspace, options: options.clone(), stamp, extension };
        RunStore { layout: Box::new(layout), options, notes: Notes::default() }
    }

    /// Failures beside steps that were done, since the last call: other tools may not know of those
    /// steps.
    #[must_use]
    pub fn warnings(&self) -> Vec<Error> {
        taken(&self.notes.warnings)
    }

    /// What was stored since the last call, each in a few words: of a step that failed, this stays.
    #[must_use]
    pub fn stored(&self) -> Vec<String> {
        taken(&self.notes.stored)
    }

    /// Where a run, or a task of it, is kept: a branch or a file.
    #[must_use]
    pub fn location(&self, run: &RunId, task: Option<&TaskId>) -> String {
        self.layout.location(run, task)
    }

    /// The capsule that an output of this role goes to.
    #[must_use]
    pub fn capsule(&self, run: &RunId, task: Option<&TaskId>, role: &Role) -> PathBuf {
        self.layout.capsule(run, task.filter(|_| *role != Role::planner()))
    }

    /// Starts a run, or goes on with it: what is new of its title and plan is recorded.
    ///
    /// # Errors
    /// `InvalidOperation` when it is archived; `InvalidRecord`; what the disk says.
    pub fn start(&self, run: &RunId, new: &NewRun) -> Result<Started> {
        // Nothing is made for what is refused.
        records::run_record(&self.info(run, None, &new.title))?.check()?;
        if let Some(plan) = new.plan.as_ref().filter(|plan| !plan.trim().is_empty()) {
            records::plan_record(run, None, &new.title, plan.clone()).check()?;
        }
        let (mut writer, is_new) = self.layout.begin_run(run)?;
        let mut records = Vec::new();
        let known = own_record(&mut writer, run)?;
        refuse_archived(run, known.as_ref())?;
        let info = self.info(run, known.as_ref(), &new.title);
        if known.as_ref().is_none_or(|known| records::run_info(known, run) != info) {
            records.push(records::run_record(&info)?);
        }
        if let Some(plan) = new.plan.as_ref().filter(|plan| !plan.trim().is_empty())
            && newest_plan_of(&branch::own(&mut writer)?, None)?
                .is_none_or(|newest| newest.text != *plan)
        {
            records.push(records::plan_record(run, None, &info.title, plan.clone()));
        }
        let changed = !records.is_empty();
        writer.put_many(records)?;
        if changed {
            self.notes.stored(format!("run {run} was started"));
            self.publish_state(&mut writer, run);
        }
        Ok(Started { existed: !is_new, location: self.layout.location(run, None) })
    }

    fn info(&self, run: &RunId, known: Option<&Record>, title: &str) -> RunInfo {
        let mut info = known.map_or_else(
            || RunInfo {
                id: run.clone(),
                title: String::new(),
                status: Status::Running,
                started_at: (self.options.clock)(),
                plans: 0,
                tasks: Vec::new(),
            },
            |record| records::run_info(record, run),
        );
        info.status = Status::Running;
        if !title.trim().is_empty() {
            info.title = title.to_string();
        }
        info
    }

    /// Starts a task, or goes on with it. Starts the run too when nobody has.
    ///
    /// # Errors
    /// As [`RunStore::start`].
    pub fn start_task(&self, run: &RunId, task: &TaskId, new: &NewTask) -> Result<Started> {
        let given = TaskInfo {
            title: new.title.clone(),
            description: new.description.clone(),
            ..new_task(task, (self.options.clock)())
        };
        records::task_record(&given, run)?.check()?;
        let mut writer = self.running(run)?;
        let mut info = task_in(&mut writer, run, task)?
            .unwrap_or_else(|| new_task(task, (self.options.clock)()));
        info.status = Status::Running;
        for (known, given) in
            [(&mut info.title, &new.title), (&mut info.description, &new.description)]
        {
            if !given.trim().is_empty() {
                known.clone_from(given);
            }
        }
        let is_new =
            self.layout.begin_task(&mut writer, run, task, records::task_record(&info, run)?)?;
        self.notes.stored(format!("task {task} was started"));
        self.publish_state(&mut writer, run);
        Ok(Started { existed: !is_new, location: self.layout.location(run, Some(task)) })
    }

    /// The writer of a run, which is started when nobody has.
    fn running(&self, run: &RunId) -> Result<Writer> {
        let (mut writer, _) = self.layout.begin_run(run)?;
        let known = own_record(&mut writer, run)?;
        refuse_archived(run, known.as_ref())?;
        if known.is_none() {
            writer.put(records::run_record(&self.info(run, None, ""))?)?;
            self.notes.stored(format!("run {run} was started"));
        }
        Ok(writer)
    }

    /// Records what an agent did: one put. Starts the run and the task when nobody has, so that
    /// nothing is lost.
    ///
    /// # Errors
    /// As [`RunStore::start`].
    pub fn record(&self, run: &RunId, output: NewOutput) -> Result<Put> {
        let is_plan = output.role == Role::planner() || output.role.as_str() == records::PLAN;
        self.put_output(run, output, is_plan)
    }

    fn put_output(&self, run: &RunId, output: NewOutput, is_plan: bool) -> Result<Put> {
        records::output_record(run, None, &output.role, "", output.confidence, output.text.clone())
            .check()?;
        let store = output.task.as_ref().filter(|_| !is_plan);
        let mut open = match self.layout.open(run, store)? {
            Some(open) => open,
            None => {
                match &output.task {
                    Some(task) if !is_plan => self.start_task(run, task, &NewTask::default())?,
                    _ => self.start(run, &NewRun::default())?,
                };
                let missing = || Error::InvalidOperation {
                    reason: format!("run {run} vanished while it was started"),
                };
                self.layout.open(run, store)?.ok_or_else(missing)?
            }
        };
        let task = output.task.as_ref();
        let record = if is_plan {
            let title = match task {
                Some(task) => {
                    task_in(&mut open.writer, run, task)?.map(|info| info.title).unwrap_or_default()
                }
                None => open.title,
            };
            records::plan_record(run, task, &title, output.text)
        } else {
            records::output_record(
                run,
                task,
                &output.role,
                &open.title,
                output.confidence,
                output.text,
            )
        };
        let record = NewRecord { confidence: output.confidence, agent: output.agent, ..record };
        let put = open.writer.put(record)?;
        self.notes.stored(format!("recorded as #{}", put.sequence));
        Ok(put)
    }

    /// What matters to an agent that is about to begin. Empty when there is nothing, also when
    /// there is no such run.
    ///
    /// # Errors
    /// When the run itself cannot be read. A sibling that cannot be read is listed in
    /// [`Context::skipped`].
    pub fn context(&self, run: &RunId, request: &ContextRequest<'_>) -> Result<Context> {
        context::gather(self.layout.as_ref(), self.options.clock, run, request)
    }

    /// A run with its tasks; `None` when there is none.
    ///
    /// # Errors
    /// When the run itself cannot be read. A task whose store cannot be read has no count of
    /// outputs.
    pub fn status(&self, run: &RunId) -> Result<Option<RunInfo>> {
        let Some(reader) = self.layout.run(run)? else { return Ok(None) };
        let Some(mut info) = self.info_in(&reader, run)? else { return Ok(None) };
        for (id, status) in self.layout.statuses(run).into_iter().flatten() {
            if let Some(task) = info.tasks.iter_mut().find(|task| task.id == id) {
                task.status = status;
            }
        }
        let known: Vec<TaskId> = info.tasks.iter().map(|task| task.id.clone()).collect();
        let Ok(stores) = self.layout.siblings(run, None, &known) else { return Ok(Some(info)) };
        info.tasks.iter_mut().for_each(|task| task.outputs = Some(0));
        for store in &stores.all {
            let Some(id) = &store.task else { continue };
            let counted = store.reader.as_ref().ok().and_then(|reader| outputs(reader, None).ok());
            match info.tasks.iter_mut().find(|task| task.id == *id) {
                Some(task) => task.outputs = counted,
                // A store that another tool made, or a start that was cut short.
                None => info
                    .tasks
                    .push(TaskInfo { outputs: counted, ..new_task(id, (self.options.clock)()) }),
            }
        }
        Ok(Some(info))
    }

    /// A run as its own records have it; one that has room and no record is under way, and has no
    /// title.
    fn info_in(&self, reader: &Reader, run: &RunId) -> Result<Option<RunInfo>> {
        if let Some(info) = run_in(reader, run)? {
            return Ok(Some(info));
        }
        let status = |archived| if archived { Status::Archived } else { Status::Running };
        Ok(self.layout.bare(run)?.map(|bare| RunInfo {
            id: run.clone(),
            title: String::new(),
            status: status(bare.archived),
            started_at: bare.created_at,
            plans: 0,
            tasks: Vec::new(),
        }))
    }

    /// At most `limit` runs, the newest first, without counts of outputs, and how many runs there
    /// are in all; of files, the ones that changed last. A run that cannot be read comes with its
    /// error.
    ///
    /// # Errors
    /// When the place of the runs cannot be read.
    pub fn newest_runs(&self, limit: usize) -> Result<(Vec<ListedRun>, usize)> {
        let mut runs = Vec::new();
        let (newest, count) = self.layout.runs(limit)?;
        for (run, reader) in newest {
            let info = reader
                .and_then(|reader| self.info_in(&reader, &run))
                .and_then(|info| info.ok_or_else(|| no_run(&run)));
            runs.push((run, info));
        }
        let newest = |info: &Result<RunInfo>| {
            std::cmp::Reverse(info.as_ref().map_or(0, |info| info.started_at))
        };
        runs.sort_by_key(|(run, info)| (newest(info), run.clone()));
        Ok((runs, count))
    }

    /// Ends a task. When it has no output yet, the best there is becomes one: what was built, what
    /// was planned, a summary. The summary of a task that failed is recorded in any case: why it
    /// did is what others need most. A task that nobody has started is started when there is
    /// something to record of it.
    ///
    /// # Errors
    /// `InvalidOperation` when there is no such task and nothing to record; as [`RunStore::start`].
    pub fn finish_task(&self, run: &RunId, task: &TaskId, finish: &Finish) -> Result<Finished> {
        let recorded = record_end(self, run, task, finish)?;
        let status = if finish.failed { Status::Failed } else { Status::Done };
        let mut writer = self.running(run)?;
        let info = task_in(&mut writer, run, task)?
            .unwrap_or_else(|| new_task(task, (self.options.clock)()));
        let record = records::task_record(&TaskInfo { status, ..info }, run)?;
        self.layout.begin_task(&mut writer, run, task, record)?;
        self.notes.stored(format!("task {task} is {}", status.name()));
        self.publish_state(&mut writer, run);
        drop(writer);
        let checkpoint = end_stage(self, run, Some(task), finish)?;
        let mut merged = Vec::new();
        if let Some(mode) = finish.merge {
            let done = self.layout.merge_task(run, task, Part::All, mode, finish)?;
            merged.push(self.notes.merged(done));
        }
        Ok(Finished { status, recorded, merged, checkpoint, left: Vec::new() })
    }

    /// Ends a run. With [`Finish::merge`], what its finished tasks recorded is merged into it
    /// first.
    ///
    /// # Errors
    /// `InvalidOperation` when there is no such run, or it is archived; what the disk says.
    pub fn finish(&self, run: &RunId, finish: &Finish) -> Result<Finished> {
        let reader = self.layout.run(run)?.ok_or_else(|| no_run(run))?;
        let info = self.info_in(&reader, run)?.ok_or_else(|| no_run(run))?;
        let recorded = match finish.summary.clone().filter(|text| !text.trim().is_empty()) {
            Some(text) => {
                let role = Role::parse("summary")?;
                Some(self.record(
                    run,
                    NewOutput { task: None, role, text, confidence: None, agent: String::new() },
                )?)
            }
            None => None,
        };
        let status = if finish.failed { Status::Failed } else { Status::Done };
        self.set_status(run, status)?;
        self.notes.stored(format!("run {run} is {}", status.name()));
        let checkpoint = end_stage(self, run, None, finish)?;
        let (mut merged, mut left, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        if let Some(mode) = finish.merge {
            for task in info.tasks {
                match part_of(task.status, finish) {
                    Some(part) => parts.push((task.id, part)),
                    None => left.push((task.id, task.status)),
                }
            }
            merged = self.merge_all(run, &parts, mode, finish)?;
        }
        Ok(Finished { status, recorded, merged, checkpoint, left })
    }

    /// Merges tasks into their run and that into the memory of the workspace, up to the first
    /// conflict.
    fn merge_all(
        &self,
        run: &RunId,
        tasks: &[(TaskId, Part)],
        mode: Mode,
        finish: &Finish,
    ) -> Result<Vec<MergedInto>> {
        let mut merged = Vec::new();
        for (task, part) in tasks {
            match self.layout.merge_task(run, task, *part, mode, finish) {
                // A task that was only ever written down has nothing to bring.
                Err(Error::BranchNotFound { .. }) => continue,
                done => merged.push(self.notes.merged(done?)),
            }
            if merged.last().is_some_and(|merged| !merged.conflicts.is_empty()) {
                return Ok(merged);
            }
        }
        merged.push(self.notes.merged(self.layout.merge_run(run, mode, finish)?));
        Ok(merged)
    }

    /// Closes a run: it can be read and not written any more.
    ///
    /// # Errors
    /// `InvalidOperation` when there is no such run, or it is archived already.
    pub fn archive(&self, run: &RunId) -> Result<()> {
        let reader = self.layout.run(run)?.ok_or_else(|| no_run(run))?;
        let info = self.info_in(&reader, run)?.ok_or_else(|| no_run(run))?;
        if info.status == Status::Archived {
            return Err(archived(run));
        }
        let tasks: Vec<TaskId> = info.tasks.iter().map(|task| task.id.clone()).collect();
        let closed = RunInfo { status: Status::Archived, ..info };
        self.layout.archive(run, &tasks, records::run_record(&closed)?)?;
        self.notes.warn_if_failed(self.layout.publish_state(&closed));
        Ok(())
    }

    fn set_status(&self, run: &RunId, status: Status) -> Result<()> {
        let mut writer = self.running(run)?;
        let known = own_record(&mut writer, run)?;
        let info = RunInfo { status, ..self.info(run, known.as_ref(), "") };
        writer.put(records::run_record(&info)?)?;
        self.publish_state(&mut writer, run);
        Ok(())
    }

    /// Publishes the state of the run for other tools, while its writer is held. The step is done
    /// even where that fails.
    fn publish_state(&self, writer: &mut Writer, run: &RunId) {
        if !self.layout.publishes_state() {
            return;
        }
        let mut publish = || -> Result<()> {
            let reader = branch::own(writer)?;
            run_in(&reader, run)?.map_or(Ok(()), |info| self.layout.publish_state(&info))
        };
        self.notes.warn_if_failed(publish());
    }
}

/// How much of a task a merge of its run brings; none where it is left out.
fn part_of(status: Status, finish: &Finish) -> Option<Part> {
    match status {
        Status::Done => Some(Part::All),
        Status::Running if finish.include_running => Some(Part::All),
        Status::Failed if finish.lessons => Some(Part::Lessons),
        _ => None,
    }
}

/// The record of the run whose writer this is.
fn own_record(writer: &mut Writer, run: &RunId) -> Result<Option<Record>> {
    branch::own(writer)?.raw().known(&records::run_uri(run)?)
}

/// The task, as the run's own records have it.
fn task_in(writer: &mut Writer, run: &RunId, task: &TaskId) -> Result<Option<TaskInfo>> {
    let record = branch::own(writer)?.raw().known(&records::task_uri(run, task)?)?;
    Ok(record.as_ref().and_then(records::task_info))
}

/// A task that begins now.
fn new_task(task: &TaskId, now: Micros) -> TaskInfo {
    TaskInfo {
        id: task.clone(),
        title: String::new(),
        description: String::new(),
        status: Status::Running,
        started_at: now,
        changed_at: now,
        outputs: None,
    }
}

/// Leaves the checkpoint of a stage that ended, and the event that comes with it, beside what
/// was recorded.
fn end_stage(
    store: &RunStore,
    run: &RunId,
    task: Option<&TaskId>,
    finish: &Finish,
) -> Result<Option<String>> {
    let Some(stage) = finish.stage.clone().filter(|stage| !stage.trim().is_empty()) else {
        return Ok(None);
    };
    let mut open = store.layout.open(run, task)?.ok_or_else(|| no_run(run))?;
    let new = NewCheckpoint {
        stage,
        spec: finish.spec.clone(),
        run: run.to_string(),
        ..NewCheckpoint::default()
    };
    let made = checkpoint::make(&mut open.writer, &new)?;
    store.notes.stored(format!("checkpoint {} was stored as #{}", made.id, made.sequence));
    Ok(Some(made.id))
}

/// Records why a task failed, or the best there is of one that has no output.
fn record_end(
    store: &RunStore,
    run: &RunId,
    task: &TaskId,
    finish: &Finish,
) -> Result<Option<Put>> {
    let reader = store.layout.task(run, task)?;
    let is_known = reader.is_some();
    let stored = reader.map_or(Ok(0), |reader| outputs(&reader, None))?;
    let why = finish.summary.clone().filter(|summary| finish.failed && !summary.trim().is_empty());
    let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    if let Some(text) = why {
        let output = |role, text| NewOutput {
            task: Some(task.clone()),
            role,
            text,
            confidence: Some(1.0),
            agent: finish.by.clone(),
        };
        if let (0, Some(built)) = (stored, given(&finish.text)) {
            store.put_output(run, output(Role::builder(), built), false)?;
        }
        let summary = output(Role::parse("summary")?, text);
        return Ok(Some(store.put_output(run, summary, false)?));
    }
    if stored > 0 {
        return Ok(None);
    }
    let plan = || -> Result<Option<String>> {
        let Some(reader) = store.layout.run(run)? else { return Ok(None) };
        Ok(newest_plan_of(&reader, Some(task))?.map(|plan| plan.text))
    };
    let (role, text) = match given(&finish.text) {
        Some(built) => (Role::builder(), Some(built)),
        None => match plan()? {
            Some(plan) => (Role::parse("plan")?, Some(plan)),
            None => (Role::parse("summary")?, given(&finish.summary)),
        },
    };
    let Some(text) = text else {
        let unknown =
            || Error::InvalidOperation { reason: format!("run {run} has no task {task}") };
        return if is_known { Ok(None) } else { Err(unknown()) };
    };
    let output = NewOutput {
        task: Some(task.clone()),
        role,
        text,
        confidence: Some(1.0),
        agent: String::new(),
    };
    Ok(Some(store.put_output(run, output, false)?))
}
