//! Searches the stores of a run: all at once where they lie in one capsule, otherwise one by one.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use kapsa_memory::query::{QUERY_BYTES_MAX, Query, plain_query};
use kapsa_memory::request::{FIND_K_MAX, Filter, FindRequest, Found, SearchMode};
use kapsa_memory::{BranchId, Error, Job, Micros, Reader, Record, Result, tokens};
use kapsa_model::{Embedder, Model};

use super::fit::{Spot, fit};
use super::weigh::{Find, Findings, Weighed, share};
use super::{Context, ContextRequest, PAST_RUNS_MAX, Skipped};
use crate::layout::{Layout, Sibling, Siblings};
use crate::names::{Role, RunId, TaskId};
use crate::records::{self, TaskInfo};
use crate::state::{newest_plan_of, run_in};

/// So many times as many lines as fit are found, for the weighing to choose from.
const CHOICE: usize = 4;
/// So many times as many records of the run itself are looked at as may be shown: plans and what
/// was merged are among them.
const OWN_LOOKED_AT: usize = 4;
/// Most threads that search stores.
const THREADS_MAX: usize = 8;
/// Most records that one search over all siblings gives.
const TOGETHER_MAX: usize = 512;

/// Gathers what [`RunStore::context`](crate::RunStore::context) is asked for.
pub(crate) fn gather(
    layout: &dyn Layout,
    clock: fn() -> Micros,
    run: &RunId,
    request: &ContextRequest<'_>,
) -> Result<Context> {
    let mut skipped = Vec::new();
    let own = own_records(layout, run, &mut skipped);
    let tasks = own.as_ref().map_or(&[][..], |(_, tasks)| tasks);
    let query = match request.query {
        Some(query) => tokens::first_bytes(query, QUERY_BYTES_MAX).to_string(),
        None => {
            let task = tasks.iter().find(|task| Some(&task.id) == request.task);
            task.map_or_else(String::new, |task| plain_query(&task.title, &task.description))
        }
    };
    let known: Vec<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
    let mut search = Search::new(layout, clock, run, request, query, skipped)?;
    search.findings.know_failed(run, tasks);
    if let Some((reader, _)) = &own {
        search.own(reader, wants_plan(request.role));
    }
    let mut unreadable = None;
    match layout.siblings(run, request.task, &known) {
        Ok(siblings) => search.all(siblings, true),
        Err(error) => unreadable = Some(error),
    }
    if request.past_runs {
        match layout.past(run, PAST_RUNS_MAX) {
            Ok(past) => search.all(past, false),
            Err(error) => search
                .skipped
                .push(Skipped { store: "earlier runs".to_string(), reason: error.to_string() }),
        }
    }
    // That is a failure only where nothing at all was found.
    match unreadable {
        Some(error) if search.findings.finds.is_empty() => Err(error),
        Some(error) => {
            search
                .skipped
                .push(Skipped { store: layout.location(run, None), reason: error.to_string() });
            Ok(search.finish())
        }
        None => Ok(search.finish()),
    }
}

/// The run's own records and its tasks. None when there are none, or they cannot be read: the
/// tasks' stores may be readable all the same.
fn own_records(
    layout: &dyn Layout,
    run: &RunId,
    skipped: &mut Vec<Skipped>,
) -> Option<(Reader, Vec<TaskInfo>)> {
    let read = || -> Result<Option<(Reader, Vec<TaskInfo>)>> {
        let Some(reader) = layout.run(run)? else { return Ok(None) };
        let tasks = run_in(&reader, run)?.map_or_else(Vec::new, |info| info.tasks);
        Ok(Some((reader, tasks)))
    };
    let read = read().map_err(|error| {
        skipped.push(Skipped { store: layout.location(run, None), reason: error.to_string() })
    });
    read.ok().flatten()
}

/// Planners make the plan and reviewers judge what was done; all others work by it.
fn wants_plan(role: &Role) -> bool {
    *role != Role::planner() && *role != Role::reviewer()
}

/// The models met so far; none where one is not at hand.
type Models = Mutex<Vec<(Model, Option<Arc<dyn Embedder>>)>>;

/// A search under way.
struct Search<'a> {
    layout: &'a dyn Layout,
    clock: fn() -> Micros,
    findings: Findings<'a>,
    query: String,
    models: Models,
    /// Why meaning had no say where it was to have one: words answered instead.
    by_words: Mutex<BTreeSet<String>>,
    skipped: Vec<Skipped>,
}

impl<'a> Search<'a> {
    fn new(
        layout: &'a dyn Layout,
        clock: fn() -> Micros,
        run: &'a RunId,
        request: &'a ContextRequest<'a>,
        query: String,
        skipped: Vec<Skipped>,
    ) -> Result<Search<'a>> {
        let (failed, groups, finds) = (HashSet::new(), Vec::new(), Vec::new());
        let findings =
            Findings { run, request, query: Query::parse(&query)?, failed, groups, finds };
        let (models, by_words) = (Mutex::default(), Mutex::default());
        Ok(Search { layout, clock, findings, query, models, by_words, skipped })
    }

    /// Searches what the run itself holds: outputs that are of no task, and the plans where they
    /// are wanted.
    fn own(&mut self, reader: &Reader, wants_plan: bool) {
        if wants_plan {
            self.plan(reader);
        }
        let group = self.findings.group(None, None, false);
        let is_own = |record: &Record| {
            is_output(record)
                && record.label != records::PLAN
                && record.origin.is_none()
                && records::task_of(record).is_none()
        };
        let filter = Filter { kinds: vec![records::OUTPUT.to_string()], ..Filter::default() };
        match self.find(
            reader,
            filter,
            self.findings.request.chunks_max.saturating_mul(OWN_LOOKED_AT),
        ) {
            Ok(found) => self.take(group, found, None, true, &is_own),
            Err(error) => self.skip_own(&error),
        }
    }

    /// Takes the newest plan of the run, and of the plans of other tasks what fits.
    fn plan(&mut self, reader: &Reader) {
        match newest_plan_of(reader, None) {
            Ok(Some(plan)) => {
                let group = self.findings.group(None, None, true);
                self.findings.finds.push(Find { group, record: plan, share: 0.0, passage: None });
            }
            Ok(None) => {}
            Err(error) => self.skip_own(&error),
        }
        let group = self.findings.group(None, None, false);
        let filter = Filter { labels: vec![records::PLAN.to_string()], ..Filter::default() };
        let own = self.findings.request.task.map(TaskId::as_str);
        let is_wanted = |record: &Record| {
            let task = records::task_of(record);
            record.origin.is_none() && task.is_some() && task != own
        };
        match self.find(
            reader,
            filter,
            self.findings.request.chunks_max.saturating_mul(OWN_LOOKED_AT),
        ) {
            Ok(found) => self.take(group, found, None, false, &is_wanted),
            Err(error) => self.skip_own(&error),
        }
    }

    fn skip_own(&mut self, error: &Error) {
        self.skipped.push(Skipped {
            store: self.layout.location(self.findings.run, None),
            reason: error.to_string(),
        });
    }

    /// Searches stores: all at once where they lie together, and one by one those of which that
    /// found nothing. With `fallback`, a store without anything that fits gives its newest records.
    fn all(&mut self, siblings: Siblings, fallback: bool) {
        let first = self.findings.groups.len();
        for sibling in siblings.all.iter().filter(|sibling| sibling.task.is_none()) {
            // An earlier run says how its tasks ended. One that cannot be read is listed below.
            let info = sibling
                .reader
                .as_ref()
                .ok()
                .and_then(|reader| run_in(reader, &sibling.run).ok()?);
            self.findings
                .know_failed(&sibling.run, &info.map(|info| info.tasks).unwrap_or_default());
        }
        for sibling in &siblings.all {
            let run = (sibling.run != *self.findings.run).then(|| sibling.run.clone());
            self.findings.group(run, sibling.task.clone(), false);
        }
        let together = siblings
            .together
            .as_ref()
            .and_then(|reader| self.find_together(reader, &siblings.all, first));
        let enough =
            together.is_some() && (!fallback || self.findings.finds.len() >= self.lines_max());
        let found: HashSet<usize> = self.findings.finds.iter().map(|find| find.group).collect();
        let wanted = |(_, group): &(Sibling, usize)| {
            !enough && (together.is_none() || !found.contains(group))
        };
        let alone: Vec<(Sibling, usize)> =
            siblings.all.into_iter().zip(first..).filter(wanted).collect();
        for ((sibling, group), answer) in alone.iter().zip(self.each_alone(&alone)) {
            match answer {
                Ok(found) => {
                    let (own, run) =
                        (self.findings.request.task.map(TaskId::as_str), sibling.run.as_str());
                    // A copy of another store, or of the task's own, is shown under that one's name
                    // only.
                    let is_theirs = |record: &Record| {
                        let of = records::run_of(record);
                        let is_own = sibling.run == *self.findings.run
                            && own.is_some()
                            && records::task_of(record) == own;
                        // What was merged into a run is shown under the task that it came from.
                        let is_copy = sibling.task.is_none()
                            && record.label != records::PLAN
                            && records::task_of(record).is_some();
                        is_output(record) && !is_own && !is_copy && (of.is_empty() || of == run)
                    };
                    self.take(*group, found, together, fallback, &is_theirs);
                }
                Err(reason) => self.skipped.push(Skipped { store: sibling.name.clone(), reason }),
            }
        }
    }

    /// Lines that may fit into the budget, and some more for the weighing to choose from.
    fn lines_max(&self) -> usize {
        let bytes_max = self.findings.request.tokens_max.saturating_mul(tokens::TOKEN_BYTES);
        (bytes_max / self.findings.request.chunk_chars_max.max(1))
            .saturating_mul(CHOICE)
            .saturating_add(CHOICE)
    }

    /// The best score of all; none when they cannot be searched at once.
    fn find_together(
        &mut self,
        reader: &Reader,
        siblings: &[Sibling],
        first: usize,
    ) -> Option<f32> {
        let branch_of = |sibling: &Sibling| Some(sibling.reader.as_ref().ok()?.raw().branch());
        let groups: HashMap<BranchId, usize> = siblings
            .iter()
            .zip(first..)
            .filter_map(|(sibling, group)| Some((branch_of(sibling)?, group)))
            .collect();
        let chunks = siblings.len().saturating_mul(self.findings.request.chunks_max);
        let k = chunks.min(self.lines_max().max(siblings.len())).clamp(1, TOGETHER_MAX);
        // Why it failed comes out when the stores are searched one by one.
        let found = self.find(reader, Filter::default(), k).ok()?;
        if found.fallback {
            return Some(0.0);
        }
        let best = found.hits.first().map_or(0.0, |hit| hit.score);
        let mut taken: HashMap<usize, usize> = HashMap::new();
        for hit in found
            .hits
            .into_iter()
            .filter(|hit| is_output(&hit.record) && hit.record.origin.is_none())
        {
            let Some(&group) = groups.get(&hit.record.branch) else { continue };
            let taken = taken.entry(group).or_default();
            if *taken < self.findings.request.chunks_max {
                *taken += 1;
                self.findings.finds.push(Find {
                    group,
                    share: share(hit.score, best),
                    passage: hit.passage,
                    record: hit.record,
                });
            }
        }
        Some(best)
    }

    /// Searches each of some stores, several at a time.
    fn each_alone(&self, stores: &[(Sibling, usize)]) -> Vec<Result<Found, String>> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
        let ask = |(sibling, _): &(Sibling, usize)| {
            let reader = sibling.reader.as_ref().map_err(ToString::to_string)?;
            if self.is_late() {
                return Err("the time was up".to_string());
            }
            // The run's own store holds records of tasks as well, which are not shown.
            let k = self.findings.request.chunks_max.saturating_mul(2);
            self.find(reader, Filter::default(), k).map_err(|error| error.to_string())
        };
        std::thread::scope(|scope| {
            let shares = stores.chunks(stores.len().div_ceil(threads).max(1));
            let all: Vec<_> = shares
                .map(|share| {
                    Job::begin(scope, share, |share| share.iter().map(ask).collect::<Vec<_>>())
                })
                .collect();
            all.into_iter().flat_map(Job::end).collect()
        })
    }

    /// Takes what was found in one store.
    fn take(
        &mut self,
        group: usize,
        found: Found,
        together: Option<f32>,
        fallback: bool,
        is_theirs: &dyn Fn(&Record) -> bool,
    ) {
        if found.fallback && !fallback {
            return;
        }
        let best = together.unwrap_or_else(|| found.hits.first().map_or(0.0, |hit| hit.score));
        let is_fallback = found.fallback;
        let theirs = found
            .hits
            .into_iter()
            .filter(|hit| is_theirs(&hit.record))
            .take(self.findings.request.chunks_max);
        self.findings.finds.extend(theirs.map(|hit| {
            let share = if is_fallback { 0.0 } else { share(hit.score, best) };
            Find { group, share, passage: hit.passage, record: hit.record }
        }));
    }

    /// Searches one store, by meaning too where it has vectors of a model that is at hand; by words
    /// where the model fails.
    fn find(&self, reader: &Reader, filter: Filter, k: usize) -> Result<Found> {
        let (k, mode) = (k.min(FIND_K_MAX), self.findings.request.mode);
        let request = FindRequest {
            filter,
            k,
            fallback: true,
            mode,
            snippet_chars: 0,
            ..FindRequest::new(&self.query)
        };
        let words = FindRequest { mode: SearchMode::Words, ..request.clone() };
        let Some(embedder) = self.embedder(reader)? else { return reader.find(&words) };
        match reader.find_with(&request, Some(embedder.as_ref())) {
            Err(Error::NoVectors) => reader.find(&words),
            Err(Error::Embedding(error)) => {
                self.note_by_words(error.message);
                reader.find(&words)
            }
            found => found,
        }
    }

    fn embedder(&self, reader: &Reader) -> Result<Option<Arc<dyn Embedder>>> {
        let Some(source) = self
            .findings
            .request
            .models
            .filter(|_| self.findings.request.mode != SearchMode::Words)
        else {
            return Ok(None);
        };
        let Some(model) = reader.raw().model()? else { return Ok(None) };
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = models.iter().find(|(known, _)| *known == model) {
            return Ok(known.clone());
        }
        let made = source(&model).map_err(|reason| self.note_by_words(reason));
        let embedder: Option<Arc<dyn Embedder>> = made.ok().map(Arc::from);
        models.push((model, embedder.clone()));
        Ok(embedder)
    }

    fn note_by_words(&self, reason: String) {
        self.by_words.lock().unwrap_or_else(PoisonError::into_inner).insert(reason);
    }

    fn is_late(&self) -> bool {
        self.findings.request.deadline.is_some_and(|deadline| (self.clock)() > deadline)
    }

    /// Weighs what was found, and keeps what has room.
    fn finish(mut self) -> Context {
        let reasons =
            std::mem::take(self.by_words.get_mut().unwrap_or_else(PoisonError::into_inner));
        let by_meaning = |reason| Skipped { store: "search by meaning".to_string(), reason };
        self.skipped.extend(reasons.into_iter().map(by_meaning));
        let findings = self.findings;
        let spot = |weighed: &Weighed| Spot {
            group: weighed.group,
            sequence: findings.finds[weighed.find].record.sequence,
            start: weighed.range.start,
            is_plan: findings.groups[weighed.group].is_plan,
        };
        let lines =
            findings.weighed().into_iter().map(|weighed| (spot(&weighed), findings.line(&weighed)));
        let mut seen = HashSet::new();
        let lines =
            lines.filter(|(spot, line)| seen.insert((spot.group, line.text.clone()))).collect();
        let tokens_max = findings.request.tokens_max;
        let (lines, left_out) = fit(lines, tokens_max);
        Context { query: self.query, lines, left_out, tokens_max, skipped: self.skipped }
    }
}

fn is_output(record: &Record) -> bool {
    record.kind != records::RUN && record.kind != records::TASK
}
