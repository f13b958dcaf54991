//! The read path, from a request to records, as a table of contents:
//! snapshot → which revisions are visible (`view`) → search or list → decode → snippet.

use std::ops::Range;
use std::path::Path;

use kapsa_capsule::{Snapshot, Volume};
use kapsa_index::{Candidate, Query};
use kapsa_model::{Embedder, Purpose};

use crate::error::{Error, Result};
use crate::records::access::ClearanceProfile;
use crate::records::branch as names;
use crate::records::kinds;
use crate::records::owned;
use crate::records::record::{BranchId, Record};
use crate::records::request::{FIND_K_MAX, FindRequest, Found, Hit, Means, SearchMode, Stats, TimelineRequest, Why};
use crate::records::uri::{DEFAULT_WORKSPACE, SCHEME, Uri};
use crate::search::fusion::{Fused, Fusion, Meaning, diverse};
use crate::search::groups::Groups;
use crate::tables::branch_table::Class;
use crate::tables::lineage::Lineage;
use crate::versions::branch::Branch;
use crate::versions::event::{Event, EventRequest};
use crate::versions::history::{Blame, Difference};
use crate::versions::merge::{MergePlan, MergeRequest};
use crate::view::View;
use crate::view::as_of::AsOf;
use crate::view::checkpoints::Checkpoint;
use crate::view::raw::RawView;
use crate::view::vectors::Coverage;
use crate::view::visibility::{Visibility, list};

/// A consistent view of a capsule at one moment. Takes no lock, waits for nobody.
#[derive(Clone, Debug)]
pub struct Reader {
    view: View,
}

impl Reader {
    /// Opens a capsule for reading. Never creates or changes a file.
    ///
    /// # Errors
    /// `NotFound`, `NotACapsule`, `VersionMismatch`, `Truncated`, `Corrupt`, or what the system says.
    pub fn open(path: &Path) -> Result<Reader> {
        Ok(Reader { view: View::new(Snapshot::open(path)?) })
    }

    /// Opens a capsule of `volume` for reading.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn open_in(volume: &dyn Volume, path: &Path) -> Result<Reader> {
        Ok(Reader { view: View::new(Snapshot::open_in(volume, path)?) })
    }

    /// `main` of the capsule as it is now: what was read of it before is known still when nothing was written since.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn renewed(&self) -> Result<Reader> {
        let snapshot = self.view.store().snapshot().renewed()?;
        Ok(Reader { view: self.view.main_of(snapshot) })
    }

    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    /// What this reader sees, as it is stored; for crates that keep kinds of records of their own.
    #[must_use]
    pub fn raw(&self) -> RawView<'_> {
        RawView::of(&self.view)
    }

    /// What is written on these branches, without what they inherit.
    #[must_use]
    pub fn only(&self, branches: impl IntoIterator<Item = BranchId>) -> Reader {
        Reader { view: self.view.with(Lineage::several(branches)) }
    }

    /// A reader of what a view sees.
    pub(crate) fn of(view: View) -> Reader {
        Reader { view }
    }

    /// The same capsule at the same moment as a principal may know it: what its profile does not allow is not there, in searches,
    /// lists, counts and single reads alike, and questions that could tell of it are refused. Without a profile nothing but what is
    /// public is known.
    #[must_use]
    pub fn as_principal(&self, profile: ClearanceProfile) -> Reader {
        Reader { view: self.view.guarded(profile) }
    }

    /// The profile of a principal as it is now on `main`, whatever branch is seen; one that allows nothing but what is public when there
    /// is none.
    ///
    /// # Errors
    /// `InvalidUri`; what the disk or a damaged file says.
    pub fn clearance(&self, principal: &str) -> Result<ClearanceProfile> {
        self.for_owner("ask for profiles")?;
        let main = Reader::of(self.view.with(Lineage::main()));
        match main.get(&ClearanceProfile::uri(principal)?) {
            Ok(record) => Ok(ClearanceProfile { principal: principal.to_string(), ..ClearanceProfile::from_record(&record) }),
            Err(Error::UriNotFound { .. }) => Ok(ClearanceProfile::new(principal)),
            Err(error) => Err(error),
        }
    }

    /// Refuses what only the owner may ask.
    pub(crate) fn for_owner(&self, what: &'static str) -> Result<()> {
        match self.view.guard() {
            Some(guard) => Err(Error::AccessDenied { principal: guard.profile.principal.clone(), what }),
            None => Ok(()),
        }
    }

    /// A record as who looks may see it: nothing in it tells of what is hidden.
    fn shown(&self, mut record: Record) -> Result<Record> {
        if self.view.guard().is_none() {
            return Ok(record);
        }
        let mut beside = Vec::new();
        let all = record.conflicts_with.len();
        for sequence in std::mem::take(&mut record.conflicts_with) {
            if self.view.may_know(&self.view.store().record(sequence)?) {
                beside.push(sequence);
            }
        }
        if beside.len() < all {
            // How it came to stand beside what is hidden would tell that something is.
            record.origin = None;
        }
        record.conflicts_with = beside;
        if let Some(origin) = &record.origin
            && !self.view.may_know(&self.view.store().record(origin.sequence)?)
        {
            record.origin = None;
        }
        let known = |uri: &Uri| Ok(self.view.visible(uri)?.is_some_and(|body| self.view.may_know(&body.record)));
        owned::without_hidden(&mut record, known)?;
        Ok(record)
    }

    /// The same capsule at the same moment as seen from `branch`, as of then where that is given.
    ///
    /// # Errors
    /// `BranchNotFound`; `UnknownAsOf` when nothing is meant by `as_of` on that branch.
    pub fn on(&self, branch: &str, as_of: Option<&AsOf>) -> Result<Reader> {
        if !self.view.may_know_system() && names::branch_name(branch)? != names::MAIN {
            return Err(Error::BranchNotFound { name: names::branch_name(branch)? });
        }
        let lineage = self.view.lineage_named(branch)?;
        let view = self.view.with(lineage);
        let Some(as_of) = as_of else { return Ok(Reader { view }) };
        let below = self.position_after(&view, as_of)?;
        Ok(Reader { view: view.with(view.lineage().before(below)) })
    }

    /// First sequence that is later than a moment. Who may not know of checkpoints cannot tell one from a name that nobody gave, nor learn
    /// from an error how much there is.
    fn position_after(&self, view: &View, as_of: &AsOf) -> Result<u64> {
        let text = match as_of {
            _ if view.may_know_system() => return view.position_after(as_of),
            AsOf::Time(_) => return view.position_after(as_of),
            AsOf::Named { or: Some(time), .. } => return view.position_after(&AsOf::Time(*time)),
            AsOf::Named { name, .. } => name.clone(),
            AsOf::Sequence(sequence) => match view.position_after(as_of) {
                Ok(below) => return Ok(below),
                Err(Error::UnknownAsOf { .. }) => format!("#{sequence}"),
                Err(error) => return Err(error),
            },
        };
        let reason = "it is none".to_string();
        Err(Error::UnknownAsOf { text, branch: names::MAIN.to_string(), reason })
    }

    /// Name of the branch that is seen.
    ///
    /// # Errors
    /// What the disk or a damaged file says.
    pub fn branch(&self) -> Result<String> {
        self.view.store().branch_name_of(self.view.lineage().own())
    }

    /// Name of the branch that a record was written on.
    ///
    /// # Errors
    /// What the disk or a damaged file says.
    pub fn branch_of(&self, record: &Record) -> Result<String> {
        self.view.store().branch_name_of(record.branch)
    }

    /// The branch called `name`, archived or not.
    ///
    /// # Errors
    /// `BranchNotFound`.
    pub fn branch_info(&self, name: &str) -> Result<Branch> {
        self.for_owner("ask for a branch")?;
        self.view.branch_info(name)
    }

    /// Every branch in the order in which they were made, `main` first, archived ones included.
    ///
    /// # Errors
    /// What the disk or a damaged file says.
    pub fn branches(&self) -> Result<Vec<Branch>> {
        self.for_owner("list branches")?;
        self.view.branches()
    }

    /// Checkpoints made on this branch, or on all of them, oldest first.
    ///
    /// # Errors
    /// What the disk or a damaged file says.
    pub fn checkpoints(&self, all_branches: bool) -> Result<Vec<Checkpoint>> {
        self.for_owner("list checkpoints")?;
        self.view.checkpoints(all_branches)
    }

    /// The checkpoint with this id, URI or label that this view sees.
    ///
    /// # Errors
    /// `UnknownAsOf` when there is none.
    pub fn checkpoint(&self, name: &str) -> Result<Checkpoint> {
        self.for_owner("ask for a checkpoint")?;
        let below = self.view.position_after(&AsOf::checkpoint(name))?;
        self.view.checkpoint_at(below - 1)
    }

    /// Events of this branch and of those merged into it, oldest first.
    ///
    /// # Errors
    /// What the disk or a damaged file says.
    pub fn events(&self, request: &EventRequest) -> Result<Vec<Event>> {
        self.for_owner("list events")?;
        self.view.events(request)
    }

    /// What merging would do now, and where it would conflict.
    ///
    /// # Errors
    /// `BranchNotFound`; `InvalidOperation` for a wrong direction.
    pub fn plan_merge(&self, request: &MergeRequest) -> Result<MergePlan> {
        self.for_owner("plan a merge")?;
        crate::versions::merge::plan(&self.view, request)
    }

    /// How `other`, a view of the same reader, differs from this one, by URI.
    ///
    /// # Errors
    /// What the disk or a damaged file says.
    pub fn differences(&self, other: &Reader) -> Result<Vec<Difference>> {
        self.for_owner("compare views")?;
        self.view.differences(&other.view)
    }

    /// What was written on this branch and those that it left (or on all), newest first, the capsule's own records included.
    ///
    /// # Errors
    /// What the disk or a damaged file says.
    pub fn log(&self, limit: usize, all_branches: bool) -> Result<Vec<Record>> {
        self.for_owner("read the log")?;
        self.view.log(limit, all_branches)
    }

    /// The life of a URI, oldest first: who wrote each revision, where it came from, and how it was decided.
    ///
    /// # Errors
    /// `UriNotFound`.
    pub fn blame(&self, uri: &Uri) -> Result<Vec<Blame>> {
        self.for_owner("ask who wrote what")?;
        self.view.blame(uri)
    }

    /// The newest revision of a URI, or of what it is an alias of. When [`Record::beside`] is not empty, those are contested revisions
    /// that count as much.
    ///
    /// # Errors
    /// `UriNotFound` when there is none or it was forgotten.
    pub fn get(&self, uri: &Uri) -> Result<Record> {
        let missing = || Error::UriNotFound { uri: uri.to_string() };
        let mut record = self.view.visible(uri)?.ok_or_else(missing)?.record;
        if record.alias.is_some() {
            let target = self.view.resolve(uri)?.ok_or_else(missing)?;
            record = self.view.visible(&target)?.ok_or_else(missing)?.record;
        }
        if !self.view.may_know(&record) {
            return Err(missing());
        }
        self.shown(record)
    }

    /// One revision by its sequence. An erased one comes back without content and says so.
    ///
    /// # Errors
    /// `NoSuchRecord` outside the capsule.
    pub fn record(&self, sequence: u64) -> Result<Record> {
        let record = self.view.store().record(sequence)?;
        if self.view.guard().is_none() {
            return Ok(record);
        }
        // An erased record and a tombstone say nothing of whom they concern.
        if record.tombstone || record.alias.is_some() || !self.view.may_know(&record) {
            return Err(Error::Capsule(kapsa_capsule::Error::NoSuchRecord { sequence }));
        }
        self.shown(record)
    }

    /// Every revision of a URI, oldest first, tombstones included.
    ///
    /// # Errors
    /// `UriNotFound` when there never was one.
    pub fn history(&self, uri: &Uri) -> Result<Vec<Record>> {
        let mut records = Vec::new();
        for sequence in self.view.revisions(uri)? {
            let record = self.view.store().record(sequence)?;
            let is_shown =
                self.view.guard().is_none() || !record.tombstone && record.alias.is_none() && self.view.may_know(&record);
            if is_shown {
                records.push(self.shown(record)?);
            }
        }
        if records.is_empty() {
            return Err(Error::UriNotFound { uri: uri.to_string() });
        }
        Ok(records)
    }

    /// Searches by words. Any text is a valid query.
    ///
    /// # Errors
    /// Only what the disk or a damaged file says, or a query above its limit of bytes.
    pub fn find(&self, request: &FindRequest) -> Result<Found> {
        self.find_with(request, None)
    }

    /// Searches by words and by meaning, as far as the request wants and the capsule has vectors of this model.
    ///
    /// # Errors
    /// As [`Reader::find`]; `Embedding` when the model fails; `NoVectors` when meaning alone is wanted and there are none.
    pub fn find_with(&self, request: &FindRequest, embedder: Option<&dyn Embedder>) -> Result<Found> {
        let query = Query::parse(&short_uris(&request.query))?;
        let filter = request.filter.within(&self.view)?;
        let k = request.k.min(FIND_K_MAX);
        let asks = match request.mode {
            SearchMode::Words => false,
            SearchMode::Meaning => true,
            SearchMode::Auto => !query.is_strict() && query.terms().next().is_some(),
        };
        let meaning = if asks { self.meaning(request, embedder)? } else { None };
        let Some((meaning, means)) = meaning else {
            if request.mode == SearchMode::Meaning {
                return Err(Error::NoVectors);
            }
            return self.by_words(&query, &filter, k, request);
        };
        let fusion = Fusion { view: &self.view, request, query: &query, filter: &filter, meaning };
        let fused = fusion.order(self.depth(request, k), means.words)?;
        Ok(Found { hits: self.best(fused, k, &query, request)?, fallback: false, means })
    }

    /// The best `k` of what was found, or of each group, as the request wants them.
    fn best(&self, mut fused: Vec<Fused>, k: usize, query: &Query, request: &FindRequest) -> Result<Vec<Hit>> {
        if request.diverse {
            fused = diverse(fused);
        }
        let mut groups = Groups::new(request.group);
        groups.gather(&mut fused);
        let hits = fused.into_iter().take(k).map(|fused| {
            let group_hits = groups.count(&fused.record);
            let record = self.shown(fused.record)?;
            let hit = self.present(record, fused.score, Some(query), fused.passage, request);
            Ok(Hit { why: fused.why, group_hits, ..hit })
        });
        let mut hits: Vec<Hit> = hits.collect::<Result<_>>()?;
        if self.view.guard().is_some() {
            hits.iter_mut().zip(1..).for_each(|(hit, rank)| ranked_only(hit, rank));
        }
        Ok(hits)
    }

    /// How many records are looked at for `k` hits.
    fn depth(&self, request: &FindRequest, k: usize) -> usize {
        if request.group.is_some() || request.diverse { k.saturating_mul(GROUP_DEPTH).min(FIND_K_MAX) } else { k }
    }

    fn by_words(&self, query: &Query, filter: &kapsa_index::Filter, k: usize, request: &FindRequest) -> Result<Found> {
        let mut visibility = Visibility::of(&self.view);
        let mut accept = |candidate: Candidate<'_>| visibility.accepts(&candidate) && visibility.has_phrases(query, &candidate);
        let hits = self.view.store().searcher()?.search(query, filter, self.depth(request, k), &mut accept)?;
        visibility.finish()?;
        if hits.is_empty() && request.fallback {
            return self.newest(request, k);
        }
        let mut fused = Vec::with_capacity(hits.len());
        for (rank, hit) in hits.into_iter().enumerate() {
            let why = Why { words: Some((rank + 1, hit.score)), ..Why::default() };
            fused.push(Fused { record: self.view.store().record(hit.seq)?, score: hit.score, passage: None, why });
        }
        let hits = self.best(fused, k, query, request)?;
        Ok(Found { hits, fallback: false, means: Means { words: true, ..Means::default() } })
    }

    /// The query as a vector, when there is something to compare it with.
    fn meaning(&self, request: &FindRequest, embedder: Option<&dyn Embedder>) -> Result<Option<(Meaning<'_>, Means)>> {
        let Some(embedder) = embedder else { return Ok(None) };
        let blocks = self.view.store().vectors_of(embedder.model())?;
        if blocks.iter().all(|block| block.is_empty()) {
            return Ok(None);
        }
        let mut vectors = embedder.embed(&[&request.query], Purpose::Query).map_err(Error::Embedding)?;
        let question = vectors.pop().filter(|vector| vector.len() == blocks[0].dimension());
        let Some(question) = question else { return Ok(None) };
        let coverage = self.coverage()?;
        let means = Means {
            words: request.mode == SearchMode::Auto,
            model: Some(embedder.model().name.clone()),
            covered: coverage.covered,
            missing: coverage.missing,
        };
        Ok(Some((Meaning { blocks, question }, means)))
    }

    /// How much of the capsule has vectors, and of which model.
    ///
    /// # Errors
    /// What the disk or a damaged file says.
    pub fn coverage(&self) -> Result<Coverage> {
        let all = self.view.store().coverage()?;
        // How much there is in all is not told to those who may not know all of it.
        Ok(if self.view.guard().is_none() { all } else { Coverage { model: all.model, ..Coverage::default() } })
    }

    /// First sequence of the stretch without vectors that ends before `sequence`; that itself when there is none.
    ///
    /// # Errors
    /// What the disk or a damaged file says.
    pub fn uncovered_since(&self, sequence: u64) -> Result<u64> {
        self.for_owner("ask what lacks vectors")?;
        self.view.uncovered_since(sequence)
    }

    /// The newest records, for a search that matched nothing.
    fn newest(&self, request: &FindRequest, k: usize) -> Result<Found> {
        let sequences = list(&self.view, &request.filter, k, true)?;
        let present = |sequence| Ok(self.present(self.shown(self.view.store().record(sequence)?)?, 0.0, None, None, request));
        let hits = sequences.into_iter().map(present);
        let hits: Vec<Hit> = hits.collect::<Result<_>>()?;
        Ok(Found { fallback: !hits.is_empty(), hits, means: Means { words: true, ..Means::default() } })
    }

    fn present(
        &self,
        record: Record,
        score: f32,
        query: Option<&Query>,
        passage: Option<Range<u32>>,
        request: &FindRequest,
    ) -> Hit {
        let passage = passage.map(|range| range.start as usize..range.end as usize);
        let passage = passage.filter(|range| record.text.get(range.clone()).is_some());
        if request.snippet_chars == 0 {
            let (snippet, marks) = (String::new(), Vec::new());
            return Hit { snippet, marks, record, score, why: Why::default(), passage, group_hits: 0 };
        }
        let none = Query::default();
        let query = query.unwrap_or(&none);
        let mut cut = kapsa_index::snippet(&record.text, query, request.snippet_chars);
        // Where no word says which part fits best, meaning does.
        if let Some(passage) = passage.clone().filter(|passage| cut.highlights.is_empty() && passage.start > 0) {
            cut = kapsa_index::snippet(&record.text[passage.clone()], query, request.snippet_chars);
            cut.range = cut.range.start + passage.start..cut.range.end + passage.start;
        }
        let snippet = record.text[cut.range].to_string();
        Hit { snippet, marks: cut.highlights, record, score, why: Why::default(), passage, group_hits: 0 }
    }

    /// Lists visible records by sequence.
    ///
    /// # Errors
    /// Only what the disk or a damaged file says.
    pub fn timeline(&self, request: &TimelineRequest) -> Result<Vec<Record>> {
        let sequences = list(&self.view, &request.filter, request.limit, request.reverse)?;
        sequences.into_iter().map(|sequence| self.shown(self.view.store().record(sequence)?)).collect()
    }

    /// How many records of a kind the capsule has written about itself.
    fn count_system(&self, kind: &str) -> Result<u64> {
        let lineage = Lineage::all().before(self.view.lineage().below());
        let filter = kapsa_index::Filter {
            all: vec![vec![format!("kind:{kind}")]],
            seqs: Some(self.view.store().sequences(&lineage, Class::System)?),
            ..kapsa_index::Filter::default()
        };
        Ok(self.view.store().searcher()?.newest(&filter, usize::MAX >> 8, None, &mut |_| true)?.len() as u64)
    }

    /// Sizes and counts; `count_uris` reads the tables of the whole index.
    ///
    /// # Errors
    /// Only what the disk or a damaged file says.
    pub fn stats(&self, count_uris: bool) -> Result<Stats> {
        self.for_owner("count")?;
        let snapshot = self.view.store().snapshot();
        let (file, commit) = (snapshot.file(), snapshot.commit());
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        Ok(Stats {
            capsule_id: hex(&file.capsule_id),
            format_version: file.format_version,
            created_at: file.created_us,
            size_bytes: file.file_bytes,
            record_count: commit.next_sequence - 1,
            commit_count: commit.number,
            last_commit_at: (commit.number > 0).then_some(commit.time_us),
            chain: hex(&commit.chain),
            generation: file.generation,
            segment_count: snapshot.segments().len(),
            tail_records: snapshot.tail().end - snapshot.tail().start,
            index_bytes: snapshot.segments().iter().map(|s| s.payload_len).sum(),
            torn_bytes: file.file_bytes - file.committed_bytes,
            uri_count: if count_uris { Some(self.view.uri_count()?) } else { None },
            branch_count: if count_uris { Some(self.view.branches()?.len() as u64) } else { None },
            checkpoint_count: if count_uris { Some(self.count_system(kinds::CHECKPOINT)?) } else { None },
            event_count: if count_uris { Some(self.count_system(kinds::EVENT)?) } else { None },
        })
    }
}

/// Records that are looked at for each group or each text that says something new.
const GROUP_DEPTH: usize = 10;

/// Leaves of a hit's scores what its place tells: they are worked out from how often words occur in all records, hidden ones included.
fn ranked_only(hit: &mut Hit, rank: usize) {
    hit.score = 1.0 / rank as f32;
    let why = std::mem::take(&mut hit.why);
    hit.why = Why {
        words: why.words.map(|_| (rank, 0.0)),
        meaning: why.meaning,
        cosine: why.cosine,
        terms: why.terms,
        points: Vec::new(),
    };
}

/// URIs in a query in the form in which they are indexed.
fn short_uris(query: &str) -> String {
    query.replace(&format!("uri:{SCHEME}{DEFAULT_WORKSPACE}/"), "uri:")
}
