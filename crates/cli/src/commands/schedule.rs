//! `role schedule`: roles do by themselves what `kapsa.toml` says, when it is due.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use kapsa_memory::access::{Access, Classification};
use kapsa_memory::owned::escape;
use kapsa_memory::{Error, Micros, NewRecord, Reader, Uri, WriteOptions, Writer};
use kapsa_model::block_on;
use kapsa_roles::{IntervalScheduler, Job, JobDone, JobRun, LastRuns, Scheduler, Work};

use super::role::{Acting, Target, failed};
use crate::app::{App, Status};
use crate::args::RoleSchedule;
use crate::error::{CliError, Result};
use crate::escape as shown;
use crate::moment::{self, readable};
use crate::render::counted;
use crate::role_config::{Declared, ScheduleTable};
use crate::typed_time;
use crate::wire::role::{JobOut, ScheduleOut};

/// Kind of the records that say when a job ran last.
const KIND: &str = "schedule";
/// Longest sleep before it is looked again what is due.
const SLEEP_MAX: Duration = Duration::from_secs(60);
/// Shortest sleep.
const SLEEP_MIN: Duration = Duration::from_secs(1);
/// What a job is called that learns.
const REFLECT: &str = "reflect";

/// `kapsa role schedule`.
pub(super) fn run(app: &mut App, declared: &Declared, args: &RoleSchedule) -> Result<Status> {
    let ids = scheduled(declared, args.id.as_deref())?;
    loop {
        let mut round = Round::default();
        for id in &ids {
            round.role(app, declared, id, args)?;
        }
        let (next, is_failed) = (round.next, round.is_failed);
        round.tell(app, args.watch)?;
        if !args.watch {
            return Ok(if is_failed { Status::Told(1) } else { Status::Done });
        }
        app.out.flush()?;
        let wait = next.map_or(SLEEP_MAX, |next| {
            let micros = u64::try_from(next.saturating_sub(moment::now())).unwrap_or_default();
            Duration::from_micros(micros)
        });
        thread::sleep(wait.clamp(SLEEP_MIN, SLEEP_MAX));
    }
}

/// The roles that do something by themselves: the one that was named, or all.
fn scheduled(declared: &Declared, named: Option<&str>) -> Result<Vec<String>> {
    let all: Vec<String> = match named {
        Some(id) => vec![id.to_string()],
        None => declared.ids().map(str::to_string).collect(),
    };
    let mut with_jobs = Vec::new();
    for id in all {
        if !declared.schedule(&id)?.is_empty() {
            with_jobs.push(id);
        }
    }
    if with_jobs.is_empty() {
        let who = named.map_or_else(|| "no role".to_string(), |id| format!("role {id} has"));
        let message = match named {
            Some(_) => format!("{who} no schedule"),
            None => format!("{who} has a schedule"),
        };
        let hint = "declare what is done when: [[role.ID.schedule]] with every = \"6h\" and run = \
                    \"reflect\" or a node (docs/agents.md)";
        return Err(CliError::user("no_schedule", message).hint(hint));
    }
    Ok(with_jobs)
}

/// What one look at the schedules did.
#[derive(Default)]
struct Round {
    jobs: Vec<JobOut>,
    /// When something is due next.
    next: Option<Micros>,
    is_failed: bool,
}

impl Round {
    /// Does what is due for one role, or only shows it.
    fn role(
        &mut self,
        app: &mut App,
        declared: &Declared,
        id: &str,
        args: &RoleSchedule,
    ) -> Result<()> {
        let scheduler = Arc::new(scheduler(app, declared, id)?);
        let now = moment::now();
        let mut runs = Vec::new();
        if !args.dry_run && !scheduler.due(now)?.is_empty() {
            let acting = Acting::scheduled(app, declared, id, &args.asking, scheduler.clone())?;
            runs = block_on(acting.run_due(now)).map_err(failed)?;
            acting.end(app);
        }
        for (job, at) in scheduler.planned(now)? {
            let ran = runs.iter().position(|run| run.job == *job);
            let ran = ran.map(|at| runs.swap_remove(at));
            self.next = Some(self.next.map_or(at, |next| next.min(at)));
            self.add(app, job, at, ran);
        }
        Ok(())
    }

    fn add(&mut self, app: &mut App, job: &Job, next: Micros, ran: Option<JobRun>) {
        let mut out = JobOut::planned(&job.role, job.name(), next);
        match ran.map(|run| run.result) {
            None => {}
            Some(Ok(JobDone::Learned(learned))) => out.learned(learned.new.len() as u64),
            Some(Ok(JobDone::Ran(nodes))) => out.ran(nodes.len() as u64),
            Some(Err(error)) => {
                let error = failed(error);
                let message = format!("{}: {} failed: {}", job.role, job.name(), error.message);
                app.out.warn("job_failed", &message);
                out.failed(error.message);
                self.is_failed = true;
            }
        }
        self.jobs.push(out);
    }

    fn tell(self, app: &mut App, watch: bool) -> Result<()> {
        let is_idle = watch && self.jobs.iter().all(|job| !job.ran);
        if is_idle {
            return Ok(());
        }
        if app.out.is_json() {
            return app.out.json(&ScheduleOut::of(self.jobs));
        }
        self.jobs.iter().filter(|job| !watch || job.ran).try_for_each(|job| line(app, job))
    }
}

/// `cro  deals.decide  ran 1 node, next 2026-11-29 18:00:00`.
fn line(app: &mut App, job: &JobOut) -> Result<()> {
    app.out.strong(&shown::line(&job.role))?;
    let what = match (job.ran, &job.error, job.nodes, job.learned) {
        (false, ..) if job.next_at.0 <= moment::now() => "due".to_string(),
        (false, ..) => format!("next {}", readable(job.next_at.0)),
        (_, Some(_), ..) => format!("failed, next {}", readable(job.next_at.0)),
        (_, _, Some(nodes), _) => {
            format!("ran {}, next {}", counted(nodes, "node"), readable(job.next_at.0))
        }
        (_, _, _, learned) => format!(
            "learned {}, next {}",
            counted(learned.unwrap_or_default(), "insight"),
            readable(job.next_at.0)
        ),
    };
    app.out.line(&shown::line(&format!("  {}  {what}", job.job)))
}

/// The jobs of a role, with when they ran last as the capsule knows it.
fn scheduler(app: &App, declared: &Declared, id: &str) -> Result<IntervalScheduler> {
    let last = RunsInCapsule { path: app.capsule()?, options: app.write_options(None) };
    let mut scheduler = IntervalScheduler::new(last);
    let spec = declared.spec(id)?;
    for table in declared.schedule(id)? {
        let every = typed_time::span(&table.every).filter(|every| *every > 0);
        let every = every.ok_or_else(|| {
            declared.wrong(id, &format!("`every = {:?}` is not a span such as 6h", table.every))
        })?;
        let work = if table.run == REFLECT { Work::Reflect } else { work(&spec, table)? };
        scheduler = scheduler.every(every, Job { role: id.to_string(), work });
    }
    Ok(scheduler)
}

fn work(spec: &kapsa_roles::RoleSpec, table: &ScheduleTable) -> Result<Work> {
    let Target { operator, node } = Target::find(spec, &table.run)?;
    Ok(Work::Run { operator, node, state: table.state.clone() })
}

/// When jobs ran last, as records that only the owner may read.
struct RunsInCapsule {
    path: PathBuf,
    options: WriteOptions,
}

fn uri(job: &Job) -> kapsa_memory::Result<Uri> {
    Uri::parse(&format!("kapsa/schedule/{}/{}", escape(&job.role), escape(&job.name())))
}

impl LastRuns for RunsInCapsule {
    fn last(&self, job: &Job) -> kapsa_memory::Result<Option<Micros>> {
        match Reader::open(&self.path)?.get(&uri(job)?) {
            Ok(record) => Ok(Some(record.created_at)),
            Err(Error::UriNotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn note(&self, job: &Job, now: Micros) -> kapsa_memory::Result<()> {
        let record = NewRecord {
            uri: Some(uri(job)?),
            kind: KIND.to_string(),
            created_at: Some(now),
            access: Some(Access::level(Classification::Restricted)),
            ..NewRecord::text(format!("{} began {}", job.role, job.name()))
        };
        Writer::open(&self.path, self.options.clone())?.put(record)?;
        Ok(())
    }
}
