//! What do siblings know that matters to an agent that is about to begin? Searched in every store of the run but the agent's own, weighed
//! alike wherever it lies, and told in whole lines within a budget, each with where it comes from.
//!
//! Invariants: never the task's own output; a store that cannot be read is told of and takes nothing from the others; the same stores and
//! the same request make the same lines; what is told stays on its line, whatever the text holds.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use kapsa_memory::query::{QUERY_BYTES_MAX, Query, plain_query};
use kapsa_model::{Embedder, Model};

use super::home::{Sibling, Siblings};
use super::names::{ROLE_BYTES_MAX, Role, RunId, TaskId};
use super::passages::{self, Passage};
use super::records::{self, Status, TaskInfo};
use super::store::{RunStore, newest_plan_of, state};
use kapsa_memory::Reader;
use kapsa_memory::record::{BranchId, Micros, Record};
use kapsa_memory::request::{FIND_K_MAX, Filter, FindRequest, Found, SearchMode};
use kapsa_memory::tokens;
use kapsa_memory::uri::Uri;
use kapsa_memory::{Error, Result};

/// First line of the block that goes into a prompt.
pub const MARKER_BEGIN: &str = "--- Sibling Task Context ---";
/// Last line of it.
pub const MARKER_END: &str = "--- End Sibling Task Context ---";
/// Most earlier runs that are searched.
pub const PAST_RUNS_MAX: usize = 50;
/// Each further line of one sibling counts for this much of what it would count as the first.
const NEXT_SHARE: f32 = 0.8;
/// So many times as many lines as fit are found, for the weighing to choose from.
const CHOICE: usize = 4;
/// So many times as many records of the run itself are looked at as may be told: plans and what was merged are among them.
const OWN_LOOKED_AT: usize = 4;
/// Below this an output's confidence is told with it.
const CONFIDENCE_LOW: f64 = 0.5;
/// An earlier output of a role counts for this much of a later one.
const EARLIER_SHARE: f32 = 0.7;
/// What a passage that tells of a decision counts for besides, when it has a word of the query.
const DECISION_BONUS: f32 = 0.15;
/// A passage that is worth less than this is not told where there are better ones.
const SCORE_MIN: f32 = 0.1;
/// Share of the budget that the plan may take before others.
const PLAN_SHARE: f32 = 0.4;
/// Stands at the end of a passage that was cut to fit.
const CUT_MARK: &str = " …";
/// Fewest characters of a passage that are worth telling.
const CUT_CHARS_MIN: usize = 40;
/// Most threads that search stores.
const THREADS_MAX: usize = 8;
/// Most records that one search over all siblings tells.
const TOGETHER_MAX: usize = 512;
/// What stands around a line: two characters before it and its end.
const LINE_FRAME_BYTES: usize = 3;
/// Longest title in a line, in characters.
const TITLE_CHARS_MAX: usize = 80;

/// Makes the model that a store has vectors of, or says why it is not at hand.
pub type ModelSource<'a> = &'a (dyn Fn(&Model) -> Result<Box<dyn Embedder>, String> + Sync);

/// What is asked of a run.
#[derive(Clone, Copy)]
pub struct ContextRequest<'a> {
    /// The task that is about to begin: nothing of it is told. None for an agent of the run as a whole.
    pub task: Option<&'a TaskId>,
    /// The role that is about to begin.
    pub role: &'a Role,
    /// What is asked for instead of the task's title and description.
    pub query: Option<&'a str>,
    /// Most tokens of the block, by the estimate of [`kapsa_memory::tokens`].
    pub tokens_max: usize,
    /// Most passages of one sibling.
    pub chunks_max: usize,
    /// Most characters of one passage.
    pub chunk_chars_max: usize,
    /// What the search goes by.
    pub mode: SearchMode,
    /// Whether earlier runs are searched too.
    pub past_runs: bool,
    /// For search by meaning; without it words alone count.
    pub models: Option<ModelSource<'a>>,
    /// Stores that are not read by then, by the clock of the store, are passed over.
    pub deadline: Option<Micros>,
}

/// One passage that was found, as a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The earlier run that it is of; none for this run.
    pub run: Option<RunId>,
    /// The task that it is of; none for what belongs to the run as a whole.
    pub task: Option<String>,
    /// Role of who wrote it, or `plan`.
    pub role: String,
    /// Whether its task came to a bad end.
    pub failed: bool,
    /// Whether a later output of the same role was found.
    pub earlier: bool,
    /// Title of the task or record, may be empty.
    pub title: String,
    /// The passage on one line.
    pub text: String,
    /// Where all of it can be read.
    pub uri: Uri,
    /// How sure the writer was.
    pub confidence: Option<f64>,
    /// What it is worth, 0 to 1; 0 for one that is told because its store has nothing that fits better.
    pub score: f32,
}

impl Line {
    /// Where it comes from: `task-3 builder`, with `, failed` of a task that failed, `, earlier` where the same role said something later,
    /// and a low confidence.
    #[must_use]
    pub fn provenance(&self) -> String {
        let within = self.task.as_deref().unwrap_or("run");
        let mut from = match &self.run {
            Some(run) => format!("{run}/{within} {}", self.role),
            None => format!("{within} {}", self.role),
        };
        for (mark, holds) in [(", failed", self.failed), (", earlier", self.earlier)] {
            from.push_str(if holds { mark } else { "" });
        }
        if let Some(confidence) = self.confidence.filter(|confidence| *confidence < CONFIDENCE_LOW) {
            from.push_str(&format!(", confidence {confidence:.2}"));
        }
        from
    }

    fn body(&self) -> String {
        let title = if self.title.is_empty() { String::new() } else { format!("{}: ", self.title) };
        format!("[{}] {title}{}", self.provenance(), self.text)
    }
}

/// A store that could not be read, or the search by meaning where its model failed and words answered instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The store: a branch or a file.
    pub store: String,
    /// Why.
    pub reason: String,
}

/// What siblings know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// What was searched for.
    pub query: String,
    /// The lines: the plan first, then sibling by sibling, those with the best line first.
    pub lines: Vec<Line>,
    /// Passages that had no room.
    pub left_out: usize,
    /// The budget, in tokens.
    pub tokens_max: usize,
    /// Stores that could not be read.
    pub skipped: Vec<Skipped>,
}

impl Context {
    /// The block for a prompt; none when there is nothing to tell.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let lines = self.lines.iter().map(|line| format!("  {}\n", line.body()));
        self.block(&format!("{MARKER_BEGIN}\n"), lines, &format!("{MARKER_END}\n"), "  ")
    }

    /// The same as a section of Markdown; none when there is nothing to tell.
    #[must_use]
    pub fn markdown(&self) -> Option<String> {
        let lines = self.lines.iter().map(|line| format!("- {}\n", line.body()));
        self.block("## Sibling task context\n\n", lines, "", "- ")
    }

    fn block(&self, begin: &str, lines: impl Iterator<Item = String>, end: &str, indent: &str) -> Option<String> {
        let lines: String = lines.collect();
        if lines.is_empty() {
            return None;
        }
        let note = self.note().map_or_else(String::new, |note| format!("{indent}{note}\n"));
        Some(format!("{begin}{lines}{note}{end}"))
    }

    fn note(&self) -> Option<String> {
        (self.left_out > 0).then(|| note(self.left_out, self.tokens_max))
    }
}

fn note(left_out: usize, tokens_max: usize) -> String {
    format!("[{left_out} more left out: the budget is {tokens_max} tokens]")
}

/// Gathers what [`RunStore::context`] is asked for.
pub(super) fn gather(store: &RunStore, run: &RunId, request: &ContextRequest<'_>) -> Result<Context> {
    let mut skipped = Vec::new();
    let own = own_records(store, run, &mut skipped);
    let tasks = own.as_ref().map_or(&[][..], |(_, tasks)| tasks);
    let query = match request.query {
        Some(query) => tokens::first_bytes(query, QUERY_BYTES_MAX).to_string(),
        None => {
            let task = tasks.iter().find(|task| Some(&task.id) == request.task);
            task.map_or_else(String::new, |task| plain_query(&task.title, &task.description))
        }
    };
    let known: Vec<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
    let mut search = Search::new(store, run, request, query, skipped)?;
    search.know_failed(run, tasks);
    if let Some((reader, _)) = &own {
        search.own(reader, wants_plan(request.role));
    }
    let mut unreadable = None;
    match store.home.siblings(run, request.task, &known) {
        Ok(siblings) => search.all(siblings, true),
        Err(error) => unreadable = Some(error),
    }
    if request.past_runs {
        match store.home.past(run, PAST_RUNS_MAX) {
            Ok(past) => search.all(past, false),
            Err(error) => search.skipped.push(Skipped { store: "earlier runs".to_string(), reason: error.to_string() }),
        }
    }
    // Only where nothing at all could be told is that a failure.
    match unreadable {
        Some(error) if search.finds.is_empty() => Err(error),
        Some(error) => {
            search.skipped.push(Skipped { store: store.home.place(run, None), reason: error.to_string() });
            Ok(search.finish())
        }
        None => Ok(search.finish()),
    }
}

/// The run's own records and its tasks. None when there are none, or they cannot be read: the tasks' stores may be readable all the same.
fn own_records(store: &RunStore, run: &RunId, skipped: &mut Vec<Skipped>) -> Option<(Reader, Vec<TaskInfo>)> {
    let read = || -> Result<Option<(Reader, Vec<TaskInfo>)>> {
        let Some(reader) = store.home.run(run)? else { return Ok(None) };
        let tasks = state(&reader, run)?.map_or_else(Vec::new, |info| info.tasks);
        Ok(Some((reader, tasks)))
    };
    let read = read().map_err(|error| skipped.push(Skipped { store: store.home.place(run, None), reason: error.to_string() }));
    read.ok().flatten()
}

/// Planners make the plan and reviewers judge what was done; all others work by it.
fn wants_plan(role: &Role) -> bool {
    *role != Role::planner() && *role != Role::reviewer()
}

/// A record that a store told.
struct Find {
    /// Which store.
    group: usize,
    record: Record,
    /// Its score as a share of the best that it can be compared with; 0 when nothing fits and it is just the newest.
    share: f32,
    /// The part that is most like the query.
    passage: Option<Range<usize>>,
}

/// Where finds come from.
struct Group {
    run: Option<RunId>,
    task: Option<TaskId>,
    is_plan: bool,
}

/// The models met so far; none where one is not at hand.
type Models = Mutex<Vec<(Model, Option<Arc<dyn Embedder>>)>>;

/// A search under way.
struct Search<'a> {
    store: &'a RunStore,
    run: &'a RunId,
    request: &'a ContextRequest<'a>,
    query: String,
    parsed: Query,
    models: Models,
    /// Why meaning had no say where it was to have one: words answered instead.
    by_words: Mutex<BTreeSet<String>>,
    /// Tasks that came to a bad end, of any run.
    failed: HashSet<(RunId, TaskId)>,
    groups: Vec<Group>,
    finds: Vec<Find>,
    skipped: Vec<Skipped>,
}

impl<'a> Search<'a> {
    fn new(
        store: &'a RunStore,
        run: &'a RunId,
        request: &'a ContextRequest<'a>,
        query: String,
        skipped: Vec<Skipped>,
    ) -> Result<Search<'a>> {
        let parsed = Query::parse(&query)?;
        let (models, by_words, failed) = (Mutex::default(), Mutex::default(), HashSet::new());
        let (groups, finds) = (Vec::new(), Vec::new());
        Ok(Search { store, run, request, query, parsed, models, by_words, failed, groups, finds, skipped })
    }

    /// Searches what the run itself holds: outputs that are of no task, and the plans where they are wanted.
    fn own(&mut self, reader: &Reader, wants_plan: bool) {
        if wants_plan {
            self.plan(reader);
        }
        let group = self.group(None, None, false);
        let is_own = |record: &Record| {
            is_output(record) && record.label != records::PLAN && record.origin.is_none() && records::task_of(record).is_none()
        };
        let filter = Filter { kinds: vec![records::OUTPUT.to_string()], ..Filter::default() };
        match self.find(reader, filter, self.request.chunks_max.saturating_mul(OWN_LOOKED_AT)) {
            Ok(found) => self.take(group, found, None, true, &is_own),
            Err(error) => self.skip_own(&error),
        }
    }

    /// Takes the newest plan of the run, and of the plans of other tasks what fits.
    fn plan(&mut self, reader: &Reader) {
        match newest_plan_of(reader, None) {
            Ok(Some(plan)) => {
                let group = self.group(None, None, true);
                self.finds.push(Find { group, record: plan, share: 0.0, passage: None });
            }
            Ok(None) => {}
            Err(error) => self.skip_own(&error),
        }
        let group = self.group(None, None, false);
        let filter = Filter { labels: vec![records::PLAN.to_string()], ..Filter::default() };
        let own = self.request.task.map(TaskId::as_str);
        let is_wanted = |record: &Record| {
            let task = records::task_of(record);
            record.origin.is_none() && task.is_some() && task != own
        };
        match self.find(reader, filter, self.request.chunks_max.saturating_mul(OWN_LOOKED_AT)) {
            Ok(found) => self.take(group, found, None, false, &is_wanted),
            Err(error) => self.skip_own(&error),
        }
    }

    fn skip_own(&mut self, error: &Error) {
        self.skipped.push(Skipped { store: self.store.home.place(self.run, None), reason: error.to_string() });
    }

    /// Searches stores: all at once where they lie together, and one by one those of which that found nothing. With `fallback`, a store
    /// without anything that fits tells its newest records.
    fn all(&mut self, siblings: Siblings, fallback: bool) {
        let first = self.groups.len();
        for sibling in siblings.all.iter().filter(|sibling| sibling.task.is_none()) {
            // An earlier run tells how its tasks ended. One that cannot be read is told of below.
            let info = sibling.reader.as_ref().ok().and_then(|reader| state(reader, &sibling.run).ok()?);
            self.know_failed(&sibling.run, &info.map(|info| info.tasks).unwrap_or_default());
        }
        for sibling in &siblings.all {
            let run = (sibling.run != *self.run).then(|| sibling.run.clone());
            self.group(run, sibling.task.clone(), false);
        }
        let together = siblings.together.as_ref().and_then(|reader| self.find_together(reader, &siblings.all, first));
        let enough = together.is_some() && (!fallback || self.finds.len() >= self.lines_max());
        let found: HashSet<usize> = self.finds.iter().map(|find| find.group).collect();
        let wanted = |(_, group): &(Sibling, usize)| !enough && (together.is_none() || !found.contains(group));
        let alone: Vec<(Sibling, usize)> = siblings.all.into_iter().zip(first..).filter(wanted).collect();
        for ((sibling, group), answer) in alone.iter().zip(self.each_alone(&alone)) {
            match answer {
                Ok(found) => {
                    let (own, run) = (self.request.task.map(TaskId::as_str), sibling.run.as_str());
                    // A copy of another store, or of the task's own, is told by nobody's name but its own.
                    let is_theirs = |record: &Record| {
                        let of = records::run_of(record);
                        let is_own = sibling.run == *self.run && own.is_some() && records::task_of(record) == own;
                        // What was merged into a run is told by the task that it came from.
                        let is_copy =
                            sibling.task.is_none() && record.label != records::PLAN && records::task_of(record).is_some();
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
        let bytes_max = self.request.tokens_max.saturating_mul(tokens::TOKEN_BYTES);
        (bytes_max / self.request.chunk_chars_max.max(1)).saturating_mul(CHOICE).saturating_add(CHOICE)
    }

    /// The best score of all; none when they cannot be searched at once.
    fn find_together(&mut self, reader: &Reader, siblings: &[Sibling], first: usize) -> Option<f32> {
        let branch_of = |sibling: &Sibling| Some(sibling.reader.as_ref().ok()?.raw().branch());
        let groups: HashMap<BranchId, usize> =
            siblings.iter().zip(first..).filter_map(|(sibling, group)| Some((branch_of(sibling)?, group))).collect();
        let chunks = siblings.len().saturating_mul(self.request.chunks_max);
        let k = chunks.min(self.lines_max().max(siblings.len())).clamp(1, TOGETHER_MAX);
        // Why it failed is told by the stores themselves, which are asked one by one then.
        let found = self.find(reader, Filter::default(), k).ok()?;
        if found.fallback {
            return Some(0.0);
        }
        let best = found.hits.first().map_or(0.0, |hit| hit.score);
        let mut taken: HashMap<usize, usize> = HashMap::new();
        for hit in found.hits.into_iter().filter(|hit| is_output(&hit.record) && hit.record.origin.is_none()) {
            let Some(&group) = groups.get(&hit.record.branch) else { continue };
            let taken = taken.entry(group).or_default();
            if *taken < self.request.chunks_max {
                *taken += 1;
                self.finds.push(Find { group, share: share(hit.score, best), passage: hit.passage, record: hit.record });
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
            // The run's own store holds records of tasks as well, which are not told.
            let k = self.request.chunks_max.saturating_mul(2);
            self.find(reader, Filter::default(), k).map_err(|error| error.to_string())
        };
        std::thread::scope(|scope| {
            let shares = stores.chunks(stores.len().div_ceil(threads).max(1));
            let all: Vec<_> = shares.map(|share| scope.spawn(move || share.iter().map(ask).collect::<Vec<_>>())).collect();
            all.into_iter().flat_map(|thread| thread.join().expect("a search does not panic")).collect()
        })
    }

    /// Takes what one store told.
    fn take(&mut self, group: usize, found: Found, together: Option<f32>, fallback: bool, is_theirs: &dyn Fn(&Record) -> bool) {
        if found.fallback && !fallback {
            return;
        }
        let best = together.unwrap_or_else(|| found.hits.first().map_or(0.0, |hit| hit.score));
        let is_fallback = found.fallback;
        let told = found.hits.into_iter().filter(|hit| is_theirs(&hit.record)).take(self.request.chunks_max);
        self.finds.extend(told.map(|hit| {
            let share = if is_fallback { 0.0 } else { share(hit.score, best) };
            Find { group, share, passage: hit.passage, record: hit.record }
        }));
    }

    /// Searches one store, by meaning too where it has vectors of a model that is at hand; by words where the model fails.
    fn find(&self, reader: &Reader, filter: Filter, k: usize) -> Result<Found> {
        let (k, mode) = (k.min(FIND_K_MAX), self.request.mode);
        let request = FindRequest { filter, k, fallback: true, mode, snippet_chars: 0, ..FindRequest::new(&self.query) };
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
        let Some(source) = self.request.models.filter(|_| self.request.mode != SearchMode::Words) else { return Ok(None) };
        let Some(model) = reader.coverage()?.model else { return Ok(None) };
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

    fn know_failed(&mut self, run: &RunId, tasks: &[TaskInfo]) {
        let failed = tasks.iter().filter(|task| task.status == Status::Failed);
        self.failed.extend(failed.map(|task| (run.clone(), task.id.clone())));
    }

    fn group(&mut self, run: Option<RunId>, task: Option<TaskId>, is_plan: bool) -> usize {
        self.groups.push(Group { run, task, is_plan });
        self.groups.len() - 1
    }

    fn is_late(&self) -> bool {
        self.request.deadline.is_some_and(|deadline| (self.store.options.clock)() > deadline)
    }

    /// Weighs what was found, and keeps what has room.
    fn finish(mut self) -> Context {
        let reasons = std::mem::take(self.by_words.get_mut().unwrap_or_else(PoisonError::into_inner));
        let by_meaning = |reason| Skipped { store: "search by meaning".to_string(), reason };
        self.skipped.extend(reasons.into_iter().map(by_meaning));
        let mut told = HashSet::new();
        let spot = |weighed: &Weighed| Spot {
            group: weighed.group,
            sequence: self.finds[weighed.find].record.sequence,
            start: weighed.range.start,
        };
        let lines = self.weighed().into_iter().map(|weighed| (spot(&weighed), self.line(&weighed)));
        let lines = lines.filter(|(spot, line)| told.insert((spot.group, line.text.clone()))).collect();
        let (lines, left_out) = fit(lines, self.request.tokens_max);
        Context { query: self.query, lines, left_out, tokens_max: self.request.tokens_max, skipped: self.skipped }
    }

    /// Every passage that may be told, the most valuable first.
    fn weighed(&self) -> Vec<Weighed> {
        let cut: Vec<Vec<Passage>> = self.finds.iter().map(|find| self.passages(find)).collect();
        let told = self.finds.iter().zip(&cut).filter(|(find, _)| find.share > 0.0).flat_map(|(_, passages)| passages);
        let weights = passages::weights(told, self.parsed.terms().count());
        let worths: Vec<Vec<f32>> = self.finds.iter().zip(&cut).map(|(find, cut)| self.worths(find, cut, &weights)).collect();
        let best_of = |worths: &[f32]| worths.iter().copied().fold(0.0, f32::max);
        let best = worths.iter().map(|worths| best_of(worths)).fold(0.0, f32::max);
        let mut groups: Vec<Vec<Weighed>> = Vec::new();
        groups.resize_with(self.groups.len(), Vec::new);
        for (at, find) in self.finds.iter().enumerate() {
            let best_here = best_of(&worths[at]);
            for (passage, &worth) in cut[at].iter().zip(&worths[at]) {
                // Half by how its record was found, half by the words in the passage itself; nothing for what is just the newest.
                let mut score = match find.share > 0.0 {
                    true => 0.5 * find.share * ratio(worth, best_here) + 0.5 * ratio(worth, best),
                    false if self.groups[find.group].is_plan => 0.5 * worth / best.max(worth).max(f32::MIN_POSITIVE),
                    false => 0.0,
                };
                let earlier = self.has_later(find);
                score *= if earlier { EARLIER_SHARE } else { 1.0 };
                if score > 0.0 && !passage.terms.is_empty() && passages::decides(&find.record.text[passage.range.clone()]) {
                    score = (score + DECISION_BONUS).min(1.0);
                }
                groups[find.group].push(Weighed {
                    find: at,
                    group: find.group,
                    range: passage.range.clone(),
                    earlier,
                    score,
                    rank: score,
                });
            }
        }
        let mut flat: Vec<Weighed> = groups.into_iter().flat_map(|group| self.ranked(group)).collect();
        flat.sort_by(|a, b| b.rank.total_cmp(&a.rank).then(a.group.cmp(&b.group)));
        if flat.iter().any(|weighed| weighed.score >= SCORE_MIN) {
            flat.retain(|weighed| weighed.score >= SCORE_MIN || weighed.score == 0.0 || self.groups[weighed.group].is_plan);
        }
        flat
    }

    /// Whether a later output of the same role in the same store was found. Several notes of one agent are told all the same.
    fn has_later(&self, find: &Find) -> bool {
        self.finds.iter().any(|other| {
            let is_same = other.group == find.group && other.record.label == find.record.label;
            is_same && other.record.label != records::PLAN && other.record.sequence > find.record.sequence
        })
    }

    fn worths(&self, find: &Find, passages: &[Passage], weights: &[f32]) -> Vec<f32> {
        let title = kapsa_memory::query::terms_in(&find.record.title, &self.parsed);
        passages.iter().map(|passage| passages::worth(passage, &title, weights)).collect()
    }

    /// The best passages of one store in order. Each further one ranks lower than it would as the first, so that one store does not drive
    /// out all others. A plan comes before all of them.
    fn ranked(&self, mut group: Vec<Weighed>) -> Vec<Weighed> {
        if group.first().is_some_and(|weighed| self.groups[weighed.group].is_plan) {
            return self.ranked_plan(group);
        }
        let newest = |weighed: &Weighed| std::cmp::Reverse(self.finds[weighed.find].record.sequence);
        group.sort_by(|a, b| b.score.total_cmp(&a.score).then(newest(a).cmp(&newest(b))).then(a.range.start.cmp(&b.range.start)));
        group.truncate(self.request.chunks_max);
        let mut share = 1.0;
        for weighed in &mut group {
            weighed.rank = weighed.score * share;
            share *= NEXT_SHARE;
        }
        group
    }

    /// All of a plan where it takes no more than its share of the budget; else its beginning and what fits best come first, and the rest
    /// takes its chance among the others.
    fn ranked_plan(&self, mut plan: Vec<Weighed>) -> Vec<Weighed> {
        let is_first = |weighed: &Weighed| weighed.range.start == 0;
        plan.sort_by(|a, b| is_first(b).cmp(&is_first(a)).then(b.score.total_cmp(&a.score)));
        let mut room = (self.request.tokens_max.saturating_mul(tokens::TOKEN_BYTES) as f32 * PLAN_SHARE) as usize;
        for (nth, weighed) in plan.iter_mut().enumerate() {
            let bytes = weighed.range.len();
            weighed.rank = if nth == 0 || bytes <= room { 2.0 + weighed.score } else { weighed.score };
            room = room.saturating_sub(bytes);
        }
        plan
    }

    /// The parts of a record that may be told: those with a word of the query, the one that is most like it, or the first.
    fn passages(&self, find: &Find) -> Vec<Passage> {
        let mut all = passages::cut(&find.record.text, &self.parsed, self.request.chunk_chars_max);
        if self.groups[find.group].is_plan {
            return all;
        }
        let liked = |passage: &Passage| find.passage.as_ref().is_some_and(|liked| passage.range.contains(&liked.start));
        let wanted = |passage: &Passage| find.share > 0.0 && (!passage.terms.is_empty() || liked(passage));
        if all.iter().any(wanted) {
            all.retain(wanted);
        } else {
            all.truncate(1);
        }
        all
    }

    fn line(&self, weighed: &Weighed) -> Line {
        let record = &self.finds[weighed.find].record;
        let Group { run, task, .. } = &self.groups[weighed.group];
        let of = run.as_ref().unwrap_or(self.run);
        let failed = task.as_ref().is_some_and(|task| self.failed.contains(&(of.clone(), task.clone())));
        let task = task.as_ref().map(ToString::to_string).or_else(|| records::task_of(record).map(name_of));
        let role = if record.label.is_empty() { &record.kind } else { &record.label };
        let title = tokens::one_line(records::bare_title(&record.title, &record.label));
        Line {
            run: run.clone(),
            task,
            failed,
            earlier: weighed.earlier,
            role: name_of(role),
            title: unmarked(tokens::first_chars(&title, TITLE_CHARS_MAX)),
            text: unmarked(&tokens::one_line(&record.text[weighed.range.clone()])),
            uri: record.uri.clone(),
            confidence: record.confidence,
            score: weighed.score,
        }
    }
}

/// A passage, and what decides whether it has room.
struct Weighed {
    /// Which find it is of, and which store.
    find: usize,
    group: usize,
    /// Bytes of its record's text.
    range: Range<usize>,
    /// Whether a later output of the same role was found.
    earlier: bool,
    score: f32,
    rank: f32,
}

/// Where a line comes from.
#[derive(Clone, Copy, Debug)]
struct Spot {
    group: usize,
    sequence: u64,
    start: usize,
}

/// Titles that were told already: each is told once in its store.
#[derive(Default)]
struct Titles(HashSet<(usize, String)>);

impl Titles {
    /// The line as it is told after those before it.
    fn told(&mut self, group: usize, line: Line) -> Line {
        let is_new = self.0.insert((group, line.title.clone()));
        Line { title: if is_new { line.title } else { String::new() }, ..line }
    }
}

/// The lines that fit, in the order in which they are told, and how many do not. They come the most valuable first.
fn fit(lines: Vec<(Spot, Line)>, tokens_max: usize) -> (Vec<Line>, usize) {
    let bytes_max = tokens_max.saturating_mul(tokens::TOKEN_BYTES);
    let frame = MARKER_BEGIN.len() + MARKER_END.len() + 2;
    let bytes = |line: &Line| line.body().len() + LINE_FRAME_BYTES;
    let count = lines.len();
    let all = frame + lines.iter().map(|(_, line)| bytes(line)).sum::<usize>();
    let mut room = bytes_max.saturating_sub(frame);
    if all > bytes_max {
        room = room.saturating_sub(note(count, tokens_max).len() + LINE_FRAME_BYTES);
    }
    let mut kept: Vec<(usize, Spot, Line)> = Vec::new();
    let mut titles = Titles::default();
    // Stores stand where their best line would, and what they say stands in its own order, the newest record first.
    let mut places: HashMap<usize, usize> = HashMap::new();
    for (spot, mut line) in lines {
        if kept.is_empty() && bytes(&line) > room {
            line = shortened(line, room);
        }
        let is_titled = titles.0.contains(&(spot.group, line.title.clone()));
        let needed = bytes(&line) - if is_titled && !line.title.is_empty() { line.title.len() + 2 } else { 0 };
        if needed <= room {
            room -= needed;
            titles.0.insert((spot.group, line.title.clone()));
            let next = places.len();
            kept.push((*places.entry(spot.group).or_insert(next), spot, line));
        }
    }
    let left_out = count - kept.len();
    kept.sort_by_key(|(place, spot, _)| (*place, std::cmp::Reverse(spot.sequence), spot.start));
    let mut titles = Titles::default();
    (kept.into_iter().map(|(_, spot, line)| titles.told(spot.group, line)).collect(), left_out)
}

/// The best line in part, where it has no room as a whole: that says more than a lesser one. As it is where too little would be left.
fn shortened(line: Line, room: usize) -> Line {
    let over = (line.body().len() + LINE_FRAME_BYTES + CUT_MARK.len()).saturating_sub(room);
    let text = tokens::first_bytes(&line.text, line.text.len().saturating_sub(over)).trim_end();
    match text.chars().count() < CUT_CHARS_MIN {
        true => line,
        false => Line { text: format!("{text}{CUT_MARK}"), ..line },
    }
}

/// A text without the markers of the block, which ends where it ends. Taking one out may put another one together.
fn unmarked(text: &str) -> String {
    let mut text = text.to_string();
    while let Some(marker) = [MARKER_END, MARKER_BEGIN].into_iter().find(|marker| text.contains(marker)) {
        text = tokens::one_line(&text.replace(marker, " "));
    }
    text
}

/// A name that cannot be taken for more than one.
fn name_of(text: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '_' };
    tokens::first_chars(text, ROLE_BYTES_MAX).chars().map(plain).collect()
}

fn is_output(record: &Record) -> bool {
    record.kind != records::RUN && record.kind != records::TASK
}

/// A score as a share of the best one, above 0.
fn share(score: f32, best: f32) -> f32 {
    ratio(score, best).clamp(f32::MIN_POSITIVE, 1.0)
}

/// A part of a whole; all of it where the whole is nothing.
fn ratio(part: f32, whole: f32) -> f32 {
    if whole > 0.0 { part / whole } else { 1.0 }
}
