//! Runs as folders of capsules, for tools that hand files around:
//!
//! ```text
//! <folder>/<run>/run.kapsa         the run's record, its tasks' records, the plans
//! <folder>/<run>/tasks/<id>.kapsa  what the agents of one task recorded
//! <folder>/<run>/meta.json         run_id, task_id, langfuse_trace_id, created_at, title, status,
//!                                  tasks: {id: status}
//! ```
//!
//! Invariants: every file of a run lies in the folder of that run. `meta.json` says what the
//! capsules say and is replaced as a whole, while the writer of `run.kapsa` is held. A store that
//! cannot be read takes nothing from the others.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::{Layout, OpenStore, OpenedRun, Sibling, Siblings, unless_missing};
use crate::names::{RunId, TaskId};
use crate::records::{self, RunInfo, Status};
use crate::state::{archived, kind_request};
use crate::steps::{Finish, MergedInto, Part};

use kapsa_memory::{CapsuleError, FileSystem};
use serde_json::{Map, Value, json};

use kapsa_memory::Reader;
use kapsa_memory::merge::{Mode, UNCURATED_KINDS};
use kapsa_memory::record::{Micros, NewRecord, Record};
use kapsa_memory::request::TimelineRequest;
use kapsa_memory::{Error, Result};
use kapsa_memory::{WriteOptions, Writer, create};

/// Most bytes of a `meta.json` that are read.
const META_BYTES_MAX: u64 = 16 << 20;
/// Most records that are brought from one store to another.
const MERGE_RECORDS_MAX: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Files {
    /// Holds a folder for each run.
    pub(crate) folder: PathBuf,
    /// Capsule that finished runs are merged into.
    pub(crate) workspace: PathBuf,
    pub(crate) options: WriteOptions,
    /// How a time is written.
    pub(crate) stamp: fn(Micros) -> String,
    /// What names of stores end in, without the dot.
    pub(crate) extension: String,
}

impl Files {
    fn run_folder(&self, run: &RunId) -> PathBuf {
        self.folder.join(run.as_str())
    }

    fn run_store(&self, run: &RunId) -> PathBuf {
        self.run_folder(run).join(format!("run.{}", self.extension))
    }

    fn tasks_folder(&self, run: &RunId) -> PathBuf {
        self.run_folder(run).join("tasks")
    }

    fn task_store(&self, run: &RunId, task: &TaskId) -> PathBuf {
        self.tasks_folder(run).join(format!("{task}.{}", self.extension))
    }

    fn meta(&self, run: &RunId) -> PathBuf {
        self.run_folder(run).join("meta.json")
    }

    fn writer(&self, path: &Path) -> Result<Writer> {
        Writer::open(path, self.options.clone())
    }

    /// Makes the folders of a run, and keeps what they hold out of version control.
    fn make_folders(&self, run: &RunId) -> Result<()> {
        let tasks = self.tasks_folder(run);
        fs::create_dir_all(&tasks).map_err(|source| failed("make", &tasks, source))?;
        let ignore = self.run_folder(run).join(".gitignore");
        match OpenOptions::new().write(true).create_new(true).open(&ignore) {
            Ok(mut file) => file.write_all(b"*\n").map_err(|source| {
                // One that is cut short would be left as it is by the next call.
                let _the_first_error_counts = fs::remove_file(&ignore);
                failed("write", &ignore, source)
            }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(source) => Err(failed("make", &ignore, source)),
        }
    }

    /// The record of a run; none when its store has none. Where two ids share a folder, as where
    /// letters of both cases are the same in file names, the second one is refused.
    fn own_record(&self, run: &RunId, reader: &Reader) -> Result<Option<Record>> {
        match reader.get(&records::run_uri(run)?) {
            Ok(record) => return Ok(Some(record)),
            Err(Error::UriNotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        let request = TimelineRequest { limit: 1, ..kind_request(records::RUN) };
        let foreign = reader
            .timeline(&request)?
            .into_iter()
            .find(|record| records::run_of(record) != run.as_str());
        foreign.map_or(Ok(None), |record| {
            let reason =
                format!("the folder of run {run} is that of run {}", records::run_of(&record));
            Err(Error::InvalidOperation { reason })
        })
    }

    fn run_ids(&self) -> Result<Vec<RunId>> {
        let named = |name: String| RunId::parse(&name).ok().filter(|run| run.as_str() == name);
        let mut runs: Vec<RunId> = names_in(&self.folder)?.into_iter().filter_map(named).collect();
        runs.retain(|run| self.run_store(run).is_file());
        runs.sort();
        Ok(runs)
    }

    /// The runs, the one that changed last first.
    fn changed_last(&self) -> Result<Vec<RunId>> {
        let changed =
            |run: &RunId| self.run_store(run).metadata().and_then(|meta| meta.modified()).ok();
        let mut runs: Vec<_> =
            self.run_ids()?.into_iter().map(|run| (changed(&run), run)).collect();
        runs.sort();
        Ok(runs.into_iter().rev().map(|(_, run)| run).collect())
    }

    /// Tasks that have a store, in the order of their ids. A file of another kind of name is none.
    fn task_ids(&self, run: &RunId) -> Result<Vec<TaskId>> {
        // May be dropped: a file of such a name belongs to nobody's task.
        let named = |name: String| {
            TaskId::parse(name.strip_suffix(&self.extension)?.strip_suffix('.')?).ok()
        };
        let mut ids: Vec<TaskId> =
            names_in(&self.tasks_folder(run))?.into_iter().filter_map(named).collect();
        ids.sort();
        Ok(ids)
    }

    fn sibling(&self, run: &RunId, task: Option<&TaskId>) -> Sibling {
        let path = self.capsule(run, task);
        Sibling {
            name: path.display().to_string(),
            run: run.clone(),
            task: task.cloned(),
            reader: Reader::open(&path),
        }
    }

    /// Brings what one capsule holds to another, under the same URIs. What was changed there on its
    /// own is a conflict; then nothing is brought.
    fn merge(
        &self,
        from: &Path,
        to: &Path,
        part: Part,
        mode: Mode,
        task: Option<&TaskId>,
    ) -> Result<MergedInto> {
        let mut merged = MergedInto {
            from: from.display().to_string(),
            to: to.display().to_string(),
            written: 0,
            conflicts: Vec::new(),
        };
        let Some(source) = unless_missing(Reader::open(from))? else { return Ok(merged) };
        let limit = MERGE_RECORDS_MAX + 1;
        let request = TimelineRequest { limit, ..TimelineRequest::default() };
        let wanted = |record: &Record| {
            let left = [records::RUN, records::TASK].contains(&record.kind.as_str());
            let in_part = part == Part::All || records::LESSONS.contains(&record.label.as_str());
            let is_curated = !left && !UNCURATED_KINDS.contains(&record.kind.as_str());
            in_part && (mode == Mode::Full || is_curated)
        };
        let mut all = Vec::new();
        let mut writer = self.writer(to)?;
        let target = writer.reader()?;
        let there = source.timeline(&request)?;
        if there.len() > MERGE_RECORDS_MAX {
            let reason = format!("more than {MERGE_RECORDS_MAX} records are to be merged at once");
            return Err(Error::InvalidOperation { reason });
        }
        for record in there.into_iter().filter(wanted) {
            match standing(&source, &record, &target)? {
                Standing::New => all.push(brought(&record, task)),
                Standing::Same => {}
                Standing::Changed => merged.conflicts.push(record.uri),
            }
        }
        if merged.conflicts.is_empty() {
            merged.written = all.len() as u64;
            for content in all.iter().filter_map(|record| record.content.as_ref()) {
                kapsa_memory::copy_content(source.raw(), content, &mut writer)?;
            }
            for batch in all.chunks(kapsa_memory::BATCH_RECORDS_MAX) {
                writer.put_many(batch.to_vec())?;
            }
        }
        Ok(merged)
    }
}

/// A record as it is brought to another capsule: what it is of is written on it.
fn brought(record: &Record, task: Option<&TaskId>) -> NewRecord {
    let mut new = NewRecord { uri: Some(record.uri.clone()), ..record.as_new() };
    if let Some(task) = task {
        new.metadata.entry("task_id").or_insert_with(|| task.as_str().into());
    }
    new
}

/// What a record is to the capsule that it is brought to.
enum Standing {
    /// Nothing there, or an earlier revision of it.
    New,
    /// There already, or forgotten there after it had been.
    Same,
    /// Something else is there.
    Changed,
}

fn standing(source: &Reader, record: &Record, target: &Reader) -> Result<Standing> {
    let says =
        |record: &Record| (record.title.clone(), record.text.clone(), record.content.clone());
    let Some(there) = target.raw().known(&record.uri)? else {
        let known = match target.history(&record.uri) {
            Err(Error::UriNotFound { .. }) => Vec::new(),
            known => known?,
        };
        return Ok(if known.iter().any(|known| says(known) == says(record)) {
            Standing::Same
        } else {
            Standing::New
        });
    };
    if says(&there) == says(record) {
        return Ok(Standing::Same);
    }
    let earlier =
        source.history(&record.uri)?.iter().any(|revision| says(revision) == says(&there));
    Ok(if earlier { Standing::New } else { Standing::Changed })
}

fn failed(operation: &'static str, path: &Path, source: io::Error) -> Error {
    Error::Capsule(CapsuleError::Io { operation, path: path.to_path_buf(), source })
}

/// Names of what lies in a folder, as far as they are texts; nothing when there is no folder.
fn names_in(folder: &Path) -> Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(failed("read", folder, source)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|source| failed("read", folder, source))?;
        names.extend(entry.file_name().into_string().ok());
    }
    Ok(names)
}

impl Layout for Files {
    fn location(&self, run: &RunId, task: Option<&TaskId>) -> String {
        self.capsule(run, task).display().to_string()
    }

    fn capsule(&self, run: &RunId, task: Option<&TaskId>) -> PathBuf {
        task.map_or_else(|| self.run_store(run), |task| self.task_store(run, task))
    }

    fn begin_run(&self, run: &RunId) -> Result<(Writer, bool)> {
        let path = self.run_store(run);
        if let Some(writer) = unless_missing(self.writer(&path))? {
            self.own_record(run, &Reader::open(&path)?)?;
            return Ok((writer, false));
        }
        self.make_folders(run)?;
        let is_new = create(&path, &self.options)? == kapsa_memory::Created::New;
        Ok((self.writer(&path)?, is_new))
    }

    fn begin_task(
        &self,
        writer: &mut Writer,
        run: &RunId,
        task: &TaskId,
        record: NewRecord,
    ) -> Result<bool> {
        writer.put(record)?;
        let path = self.task_store(run, task);
        self.make_folders(run)?;
        Ok(create(&path, &self.options)? == kapsa_memory::Created::New)
    }

    fn open(&self, run: &RunId, task: Option<&TaskId>) -> Result<Option<OpenStore>> {
        // Whether the run was archived is asked once nobody else can write.
        let store = task.map_or_else(|| self.run_store(run), |task| self.task_store(run, task));
        let Some(writer) = unless_missing(self.writer(&store))? else { return Ok(None) };
        let Some(reader) = unless_missing(Reader::open(&self.run_store(run)))? else {
            return Ok(None);
        };
        let Some(own) = self.own_record(run, &reader)? else { return Ok(None) };
        if records::run_info(&own, run).status == Status::Archived {
            return Err(archived(run));
        }
        let Some(task) = task else {
            return Ok(Some(OpenStore { writer, title: own.title }));
        };
        let title = reader.get(&records::task_uri(run, task)?).map(|record| record.title);
        let title = match title {
            // Another tool made the store, or a start was cut short; it is started again.
            Err(Error::UriNotFound { .. }) => return Ok(None),
            title => title?,
        };
        Ok(Some(OpenStore { writer, title }))
    }

    fn run(&self, run: &RunId) -> Result<Option<Reader>> {
        let reader = unless_missing(Reader::open(&self.run_store(run)))?;
        reader.as_ref().map_or(Ok(None), |reader| self.own_record(run, reader))?;
        Ok(reader)
    }

    fn task(&self, run: &RunId, task: &TaskId) -> Result<Option<Reader>> {
        unless_missing(Reader::open(&self.task_store(run, task)))
    }

    fn siblings(&self, run: &RunId, own: Option<&TaskId>, known: &[TaskId]) -> Result<Siblings> {
        let mut tasks = self.task_ids(run)?;
        // In the order in which they began, as on branches; what other tools brought comes after.
        let places: HashMap<&TaskId, usize> = known.iter().zip(0..).collect();
        tasks.sort_by_key(|task| places.get(task).copied().unwrap_or(usize::MAX));
        let tasks = tasks.into_iter().filter(|task| own != Some(task));
        Ok(Siblings {
            all: tasks.map(|task| self.sibling(run, Some(&task))).collect(),
            together: None,
        })
    }

    fn past(&self, run: &RunId, runs_max: usize) -> Result<Siblings> {
        let others = self.changed_last()?.into_iter().filter(|other| other != run);
        let mut all = Vec::new();
        for other in others.take(runs_max) {
            // A folder that is a copy of another run's, or lost its tasks, shows what it has.
            let own = self.sibling(&other, None);
            let own = Sibling {
                reader: own
                    .reader
                    .and_then(|reader| self.own_record(&other, &reader).map(|_| reader)),
                ..own
            };
            if own.reader.is_ok() {
                all.extend(
                    self.task_ids(&other)
                        .unwrap_or_default()
                        .iter()
                        .map(|task| self.sibling(&other, Some(task))),
                );
            }
            all.push(own);
        }
        Ok(Siblings { all, together: None })
    }

    fn publishes_state(&self) -> bool {
        true
    }

    fn publish_state(&self, info: &RunInfo) -> Result<()> {
        let path = self.meta(&info.id);
        let mut tasks = Map::new();
        tasks
            .extend(info.tasks.iter().map(|task| (task.id.to_string(), task.status.name().into())));
        let first = info.tasks.first().map_or("", |task| task.id.as_str());
        let meta = json!({
            "run_id": info.id.as_str(),
            "task_id": first,
            "langfuse_trace_id": info.id.as_str(),
            "created_at": (self.stamp)(info.started_at),
            "title": info.title,
            "status": info.status.name(),
            "tasks": tasks,
        });
        replace(&path, &format!("{meta:#}\n"))
    }

    fn runs(&self, limit: usize) -> Result<(Vec<OpenedRun>, usize)> {
        let opened = |run: &RunId| {
            let reader = Reader::open(&self.run_store(run))?;
            self.own_record(run, &reader).map(|_| reader)
        };
        let all = self.changed_last()?;
        let newest = all.iter().take(limit).map(|run| (run.clone(), opened(run)));
        Ok((newest.collect(), all.len()))
    }

    fn merge_task(
        &self,
        run: &RunId,
        task: &TaskId,
        part: Part,
        mode: Mode,
        _finish: &Finish,
    ) -> Result<MergedInto> {
        self.merge(&self.task_store(run, task), &self.run_store(run), part, mode, Some(task))
    }

    fn merge_run(&self, run: &RunId, mode: Mode, _finish: &Finish) -> Result<MergedInto> {
        create(&self.workspace, &self.options)?;
        self.merge(&self.run_store(run), &self.workspace, Part::All, mode, None)
    }

    fn archive(&self, run: &RunId, _tasks: &[TaskId], record: NewRecord) -> Result<()> {
        self.writer(&self.run_store(run))?.put(record).map(drop)
    }

    fn statuses(&self, run: &RunId) -> Option<Vec<(TaskId, Status)>> {
        let path = self.meta(run);
        let mut text = String::new();
        path.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
        File::open(&path).ok()?.take(META_BYTES_MAX).read_to_string(&mut text).ok()?;
        let meta: Value = serde_json::from_str(&text).ok()?;
        let status = |(id, status): (&String, &Value)| {
            Some((TaskId::parse(id).ok()?, Status::named(status.as_str()?)))
        };
        Some(meta["tasks"].as_object()?.iter().filter_map(status).collect())
    }
}

/// Puts a text in the place of a file, all at once.
fn replace(path: &Path, text: &str) -> Result<()> {
    FileSystem.replace(path, text.as_bytes()).map_err(|source| failed("replace", path, source))
}
