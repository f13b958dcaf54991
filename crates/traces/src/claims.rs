//! The queue as one sync sees it: what it has claimed, and what became of it. Knows no format.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use kapsa_agents::StoreLocation;
use kapsa_memory::{Micros, NewRecord, Uri};

use crate::error::Result;
use crate::files::Found;
use crate::queue::{Job, JobFile, JobHolder, JobQueue};
use crate::registry::{FileState, TraceFile};

/// Which files are read by somebody who works through the queue.
#[derive(Clone, Copy, Debug)]
pub struct Claims<'a> {
    /// Who claims them.
    pub holder: &'a JobHolder,
    /// What has changed: files, and folders for all that is below them. What failed before is read
    /// as well, once it is due.
    pub changed: &'a BTreeSet<PathBuf>,
}

impl Claims<'_> {
    /// Whether a file has changed, or is below what has.
    pub(crate) fn names(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.changed.contains(above))
    }
}

/// The jobs of a capsule, as they were when they were looked at last.
pub(crate) struct Jobs {
    location: StoreLocation,
    queue: JobQueue,
}

impl Jobs {
    pub(crate) fn load(location: &StoreLocation) -> Result<Jobs> {
        Ok(Jobs { location: location.clone(), queue: JobQueue::load(location)? })
    }

    pub(crate) fn job(&self, file: &Found) -> Option<&Job> {
        self.queue.job(&file.name())
    }

    /// Whether something waits whose time has come.
    pub(crate) fn are_due(&self, now: Micros) -> bool {
        self.queue.next_due(Micros::MIN).is_some_and(|due| due <= now)
    }

    pub(crate) fn are_held_by(&self, holder: &JobHolder) -> bool {
        self.queue.is_held_by(holder)
    }

    /// Takes up what is new, and claims what is due of the files that were found. Returns what was
    /// claimed, and how many files found no place in the queue.
    pub(crate) fn claim(
        &mut self,
        files: &[Found],
        news: &[JobFile],
        holder: &JobHolder,
        now: Micros,
    ) -> Result<(Vec<Found>, u64)> {
        let found: BTreeSet<String> = files.iter().map(Found::name).collect();
        let (claimed, left) = self.change(|queue| {
            let left = news.iter().filter(|file| !queue.add(file, now)).count();
            (queue.claim(holder, now, &|path| found.contains(path)), left as u64)
        })?;
        let claimed: BTreeSet<String> = claimed.into_iter().map(|job| job.path).collect();
        let claimed = files.iter().filter(|file| claimed.contains(&file.name()));
        Ok((claimed.cloned().collect(), left))
    }

    /// Ends the jobs that were claimed and of which nothing was noted.
    pub(crate) fn release(&mut self, holder: &JobHolder, is_stopped: bool) -> Result<()> {
        self.change(|queue| queue.release(holder, is_stopped))
    }

    /// Jobs of files that were below what was looked at, and are gone.
    pub(crate) fn gone(&self, paths: &[PathBuf], files: &[Found]) -> Vec<String> {
        if self.queue.jobs().next().is_none() {
            return Vec::new();
        }
        let found: BTreeSet<String> = files.iter().map(Found::name).collect();
        let is_gone = |path: &String| {
            let was_below = paths.iter().any(|folder| Path::new(path).starts_with(folder));
            was_below && !found.contains(path) && !Path::new(path).exists()
        };
        self.queue.jobs().map(|job| job.path.clone()).filter(is_gone).collect()
    }

    pub(crate) fn forget(&mut self, paths: &[String]) -> Result<()> {
        self.change(|queue| paths.iter().for_each(|path| queue.done(path)))
    }

    /// Has `write` note files, with what becomes of their jobs, in one commit. Files that were read
    /// and have no job need none.
    pub(crate) fn settle(
        &mut self,
        noted: Vec<TraceFile>,
        now: Micros,
        mut write: impl FnMut(Vec<TraceFile>, Vec<NewRecord>, Vec<Uri>) -> Result<()>,
    ) -> Result<()> {
        let has_job = |file: &&TraceFile| {
            file.state == FileState::Failed || self.queue.job(&file.path).is_some()
        };
        let settled: Vec<TraceFile> = noted.iter().filter(has_job).cloned().collect();
        if settled.is_empty() {
            return write(noted, Vec::new(), Vec::new());
        }
        let mut noted = Some(noted);
        self.queue = JobQueue::change_with(
            &self.location,
            |queue| {
                for file in &settled {
                    match file.state {
                        FileState::Failed => queue.failed(&job_file(file), &file.error, now),
                        FileState::Read | FileState::Waiting => queue.done(&file.path),
                    }
                }
                queue.clone()
            },
            |kept, removed| write(noted.take().unwrap_or_default(), kept, removed),
        )?;
        Ok(())
    }

    fn change<T>(&mut self, mut work: impl FnMut(&mut JobQueue) -> T) -> Result<T> {
        let (done, queue) = JobQueue::change(&self.location, |queue| {
            let done = work(queue);
            (done, queue.clone())
        })?;
        self.queue = queue;
        Ok(done)
    }
}

fn job_file(file: &TraceFile) -> JobFile {
    JobFile { path: file.path.clone(), size: file.size, changed: file.changed }
}
