//! What can be asked of a memory, and what comes back. Plain data, no behaviour.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::records::kinds::FACT;
use crate::records::provenance::Trust;
use crate::records::record::{Micros, Record};
use crate::records::uri::Uri;

/// What a check of every byte found, as the capsule reports it.
pub use kapsa_capsule::{Problem, Report as VerifyReport};
pub use kapsa_index::{Calendar, QUERY_BYTES_MAX};

/// Hits that [`crate::Reader::find`] returns unless told otherwise.
pub const FIND_K_DEFAULT: usize = 10;
/// Most hits that one search returns.
pub const FIND_K_MAX: usize = 10_000;
/// The limit that means "all": no capsule holds so many records, and sums with it do not overflow.
pub const LIMIT_NONE: usize = usize::MAX >> 8;
/// Entries that a timeline returns unless told otherwise.
pub const TIMELINE_LIMIT_DEFAULT: usize = 50;

/// Which records may be returned at all. Empty fields allow everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// One of these kinds.
    pub kinds: Vec<String>,
    /// One of these labels.
    pub labels: Vec<String>,
    /// All of these tags, name and value.
    pub tags: BTreeMap<String, String>,
    /// One of these agents.
    pub agents: Vec<String>,
    /// One of these runs.
    pub runs: Vec<String>,
    /// One of these entities.
    pub entities: Vec<String>,
    /// One of these domains.
    pub domains: Vec<String>,
    /// Read from one of these sources (a document's name).
    pub sources: Vec<String>,
    /// Created at or after.
    pub since: Option<Micros>,
    /// Created before.
    pub until: Option<Micros>,
    /// Committed to the capsule at or after.
    pub recorded_since: Option<Micros>,
    /// Committed to the capsule before.
    pub recorded_until: Option<Micros>,
    /// Of what was taken from sessions, only what is about one of these entities (repositories) or
    /// about nothing; everything when none.
    pub sessions_about: Option<Vec<String>>,
}

/// Source of what a model proposes in its session; a name of the session may follow it after `/`.
pub const PROPOSED: &str = "mcp";

/// Whether something of this trust and source about this entity was left by a session about
/// something else than these: it holds there.
#[must_use]
pub fn is_elsewhere(entity: &str, trust: Trust, source: &str, here: &[String]) -> bool {
    let proposed = || source.split('/').next() == Some(PROPOSED);
    let is_of_session = trust == Trust::Trace || trust == Trust::Model && proposed();
    is_of_session && !entity.is_empty() && here.iter().all(|name| name != entity)
}

impl Filter {
    /// Whether a record is left out because a session about something else left it.
    pub(crate) fn is_elsewhere(&self, record: &Record) -> bool {
        let trust = record.provenance.trust;
        // A fact is of the agent or session that stated it.
        let source = if record.kind == FACT { record.agent.as_str() } else { "" };
        let here = self.sessions_about.as_deref();
        here.is_some_and(|here| is_elsewhere(&record.entity, trust, source, here))
    }

    /// The fields of which a record must have one of these values, where there are any.
    pub(crate) fn fields(&self) -> [(&'static str, &[String]); 7] {
        [
            ("kind", &self.kinds),
            ("label", &self.labels),
            ("agent", &self.agents),
            ("run", &self.runs),
            ("entity", &self.entities),
            ("domain", &self.domains),
            ("source", &self.sources),
        ]
    }

    /// Every value that a record must have, by the name of its field; of a tag its name and value.
    pub fn values(&self) -> impl Iterator<Item = FilterValue<'_>> {
        let of_fields = self.fields().into_iter().flat_map(|(field, values)| {
            values.iter().map(move |value| FilterValue { field, name: None, value })
        });
        let of_tags = self.tags.iter().map(|(name, value)| FilterValue {
            field: "tag",
            name: Some(name),
            value,
        });
        of_fields.chain(of_tags)
    }
}

/// One value that a filter asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterValue<'a> {
    /// The field.
    pub field: &'static str,
    /// The name of a tag.
    pub name: Option<&'a str>,
    /// The value; empty for a tag of any value.
    pub value: &'a str,
}

impl FilterValue<'_> {
    /// The exact term that a record with this value has.
    #[must_use]
    pub fn term(&self) -> String {
        match self.name {
            None => format!("{}:{}", self.field, self.value),
            Some(name) if self.value.is_empty() => format!("tag:{name}"),
            Some(name) => format!("tag:{name}={}", self.value),
        }
    }
}

/// A value of a filter that no record has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownValue {
    /// The field, or the name of the tag.
    pub field: String,
    /// The value; empty for a tag of any value.
    pub value: String,
    /// Values like it that records have, the most like first.
    pub near: Vec<String>,
}

/// What a search goes by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchMode {
    /// Words, and meaning where there are vectors and the query does not require or exclude words.
    #[default]
    Auto,
    /// Words alone.
    Words,
    /// Meaning alone.
    Meaning,
}

/// What hits are put together by: of each group the best one is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// The tag `session`.
    Session,
    /// The document they were read from.
    Source,
}

/// What time it is for who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Now.
    pub now: Micros,
    /// How they reckon days and weeks.
    pub calendar: Calendar,
}

impl Clock {
    /// A clock in UTC, with weeks from Monday on.
    #[must_use]
    pub fn utc(now: Micros) -> Clock {
        Clock { now, calendar: Calendar::default() }
    }
}

/// A search.
#[derive(Clone, Debug, PartialEq)]
pub struct FindRequest {
    /// Words, "phrases", +must, -not, field:value; any text is a valid query.
    pub query: String,
    /// Which records may match.
    pub filter: Filter,
    /// Most hits wanted, at most [`FIND_K_MAX`]; default [`FIND_K_DEFAULT`].
    pub k: usize,
    /// Whether to answer with the newest records, marked as such, when nothing matches; default
    /// no.
    pub fallback: bool,
    /// Longest snippet, in characters; default 200. Without one, 0, the texts are not looked
    /// through again.
    pub snippet_chars: usize,
    /// What it goes by.
    pub mode: SearchMode,
    /// Whether only the best hit of each group is wanted; default no.
    pub group: Option<Grouping>,
    /// Whether texts that say nothing new come last; default no.
    pub diverse: bool,
    /// The time, for "last week" and the like in the query to mean something; without it they are
    /// only words. Needs vectors.
    pub time: Option<Clock>,
    /// Whether the query's words for times mean times; default yes, where the time is known.
    pub read_times: bool,
    /// Prefers new records, by half after so many days; needs [`FindRequest::time`]; default no.
    pub recency_days: Option<f32>,
    /// Prefers records of high confidence; default no.
    pub confidence: bool,
    /// Whether facts that were superseded, or whose validity has ended, are found as well; default
    /// no.
    pub superseded: bool,
    /// How many turns of the same conversation are wanted before and after each hit; default none.
    pub around: usize,
    /// Whether records of the same text are hits of their own; default no: the best of them is one,
    /// and names the others.
    pub duplicates: bool,
    /// Whether phrases in quotes are required; default no: what has them comes first.
    pub strict: bool,
    /// Whether a query of which nothing is found is taken as plain text, without its operators;
    /// default no.
    pub or_plain: bool,
    /// Whether the query is plain text, in which nothing is an operator; default no.
    pub plain: bool,
    /// When a fact must hold for its validity not to have ended; without it that is not looked at.
    pub valid_at: Option<Micros>,
}

impl FindRequest {
    /// A search for `query` with every default.
    #[must_use]
    pub fn new(query: impl Into<String>) -> FindRequest {
        FindRequest {
            query: query.into(),
            filter: Filter::default(),
            k: FIND_K_DEFAULT,
            fallback: false,
            snippet_chars: 200,
            mode: SearchMode::Auto,
            group: None,
            diverse: false,
            time: None,
            read_times: true,
            recency_days: None,
            confidence: false,
            superseded: false,
            around: 0,
            duplicates: false,
            strict: false,
            or_plain: false,
            plain: false,
            valid_at: None,
        }
    }
}

/// One hit of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The record found.
    pub record: Record,
    /// BM25 score, cosine or sum of points, by what the search went by; for a principal one by the
    /// rank; 0 for a hit of the fallback.
    pub score: f32,
    /// The part of the text that fits best.
    pub snippet: String,
    /// Byte ranges of the matched words in `snippet`.
    pub marks: Vec<Range<usize>>,
    /// What speaks for it.
    pub why: Why,
    /// The bytes of the text that are most like the query, when meaning had a say.
    pub passage: Option<Range<usize>>,
    /// How many hits of its group were found, itself included; 0 without grouping.
    pub group_hits: usize,
    /// How sure it is that it answers, from 0 to 1: comparable between answers, unlike `score`.
    pub strength: f32,
    /// What it is worth today.
    pub standing: Standing,
    /// URIs of other records that hold the same text, which take no places of their own.
    pub same_text: Vec<Uri>,
    /// The turns before and after it in the same conversation, in their order, when they are
    /// wanted.
    pub around: Vec<Record>,
    /// Sequence of a newer hit that gives another value of the same; none when it is the newest.
    pub newer: Option<u64>,
}

impl Hit {
    /// Whether it probably does not answer.
    #[must_use]
    pub fn is_weak(&self) -> bool {
        self.strength < STRENGTH_GOOD_MIN
    }
}

/// From this strength on a hit probably answers: at most 5% of the questions that have an answer
/// find nothing so strong (`cargo xtask recall --unanswerable`).
pub const STRENGTH_GOOD_MIN: f32 = 0.5;

/// What a record is worth now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// Nothing speaks against it.
    #[default]
    Current,
    /// Another fact took its place.
    Superseded {
        /// Id of that fact.
        by: String,
    },
    /// Its validity has ended.
    Expired {
        /// When.
        at: Micros,
    },
    /// It holds only later.
    Scheduled {
        /// From when on.
        from: Micros,
    },
    /// Others contest it, and nobody has decided.
    Contested {
        /// The facts, by id, or the revisions of the same URI, by sequence.
        with: Vec<String>,
    },
    /// Somebody has to decide what it is to others.
    Pending {
        /// Those facts, by id.
        with: Vec<String>,
    },
}

impl Standing {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Standing::Current => "current",
            Standing::Superseded { .. } => "superseded",
            Standing::Expired { .. } => "expired",
            Standing::Scheduled { .. } => "scheduled",
            Standing::Contested { .. } => "contested",
            Standing::Pending { .. } => "pending",
        }
    }
}

/// Whether an answer was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grade {
    /// There are no hits.
    #[default]
    None,
    /// There are hits, and none that probably answers.
    Weak,
    /// The answer is probably among the hits.
    Good,
}

impl Grade {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Grade::None => "none",
            Grade::Weak => "weak",
            Grade::Good => "good",
        }
    }
}

/// How a query was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryRead {
    /// What was taken as operators, as it is written.
    pub operators: Vec<String>,
    /// What has the form of an operator and was taken as plain text.
    pub literals: Vec<String>,
    /// Phrases in quotes that are preferred, not required.
    pub phrases: Vec<String>,
    /// Whether nothing was found with its operators, so that all of it was taken as plain text.
    pub plain: bool,
    /// Words for which others were sought as well.
    pub expanded: Vec<Expansion>,
    /// The times that it speaks of.
    pub times: Vec<TimeSpan>,
    /// Whether it asks for nothing but the records of those times.
    pub time_only: bool,
}

/// A word for which others were sought as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    /// The word of the query.
    pub word: String,
    /// The others, as they are indexed.
    pub to: Vec<String>,
}

/// A span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSpan {
    /// Its first moment; none when it has no beginning.
    pub from: Option<Micros>,
    /// The first moment after it; none when it has no end.
    pub until: Option<Micros>,
}

impl TimeSpan {
    /// Whether a moment lies in it.
    #[must_use]
    pub fn contains(&self, moment: Micros) -> bool {
        self.from.is_none_or(|from| from <= moment) && self.until.is_none_or(|until| moment < until)
    }
}

/// Why a record was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Why {
    /// Rank by words, from 1, and BM25 score.
    pub words: Option<(usize, f32)>,
    /// Rank by meaning, from 1, and cosine.
    pub meaning: Option<(usize, f32)>,
    /// Cosine, also of a record that meaning alone would not have found.
    pub cosine: Option<f32>,
    /// The same as one of a model whose unrelated texts have a cosine of 0: what comes from
    /// different models is compared by this.
    pub likeness: Option<f32>,
    /// Terms of the query that it has, as they are indexed.
    pub terms: Vec<String>,
    /// The share of the query's words that it has, weighed by how rare each is; for a principal
    /// all weigh the same.
    pub share: f32,
    /// Whether it has the rarest word: 1, or less if it has another form of it, or 0.
    pub rarest: f32,
    /// What the score is the sum of, when words and meaning were put together.
    pub points: Vec<(&'static str, f32)>,
}

/// What a search went by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Means {
    /// Whether words counted.
    pub words: bool,
    /// The model whose vectors counted.
    pub model: Option<String>,
    /// Records of the capsule that have vectors, or need none, when vectors counted.
    pub covered: u64,
    /// Records that lack them, which only words can find.
    pub missing: u64,
    /// The re-ranker that put the best hits in order.
    pub reranked: Option<String>,
    /// Why one that was asked for did not.
    pub rerank_error: Option<String>,
}

/// Answer to a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Hits, best first.
    pub hits: Vec<Hit>,
    /// Whether nothing matched and the hits are simply the newest records.
    pub fallback: bool,
    /// What the search went by.
    pub means: Means,
    /// Whether it is an answer.
    pub grade: Grade,
    /// Share of the query's words that the best few hits have together, as [`Why::share`].
    pub share: f32,
    /// How the query was read.
    pub read: QueryRead,
}

/// A walk through time.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineRequest {
    /// Which records to show.
    pub filter: Filter,
    /// Most entries; default [`TIMELINE_LIMIT_DEFAULT`].
    pub limit: usize,
    /// Newest first instead of oldest first; default no. Either way the *newest* `limit` entries
    /// are meant when `reverse`, the oldest otherwise.
    pub reverse: bool,
}

impl Default for TimelineRequest {
    fn default() -> Self {
        TimelineRequest { filter: Filter::default(), limit: TIMELINE_LIMIT_DEFAULT, reverse: false }
    }
}

/// What happened to one record that was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A new URI.
    Added,
    /// A new revision of a known URI.
    Revised,
    /// The same content was the newest revision already; nothing was written.
    Unchanged,
    /// The URI was forgotten.
    Forgotten,
    /// Kept for review, under a name of its own, and hidden until then.
    Held,
}

/// Acknowledgement of one record, durable when it is returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put {
    /// Logical URI.
    pub uri: Uri,
    /// Sequence of the revision (of the existing one when unchanged).
    pub sequence: u64,
    /// What happened.
    pub change: Change,
}

/// Sizes and counts of a capsule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// 128-bit id, 32 hexadecimal digits.
    pub capsule_id: String,
    /// Format version of the file.
    pub format_version: u32,
    /// When it was made.
    pub created_at: Micros,
    /// Bytes of the file.
    pub size_bytes: u64,
    /// The newest sequence: as many records were ever written, blobs and erased ones included.
    pub last_sequence: u64,
    /// Commits.
    pub commit_count: u64,
    /// Time of the newest commit, none when empty.
    pub last_commit_at: Option<Micros>,
    /// Hash that names the whole history, 64 hexadecimal digits.
    pub chain: String,
    /// How often the file was compacted, plus one.
    pub generation: u64,
    /// Index segments.
    pub segment_count: usize,
    /// Records that wait in the tail for their segment, blobs included.
    pub tail_records: u64,
    /// Bytes of index segments in use.
    pub index_bytes: u64,
    /// Bytes after the newest commit, left by an interrupted write.
    pub torn_bytes: u64,
    /// Live URIs of the view; counted only when asked for, as the counts below, since it reads the
    /// whole index.
    pub uri_count: Option<u64>,
    /// Branches, `main` included, archived ones too.
    pub branch_count: Option<u64>,
    /// Checkpoints on any branch, as far as the view goes.
    pub checkpoint_count: Option<u64>,
    /// Events on any branch, as far as the view goes.
    pub event_count: Option<u64>,
    /// Bytes of titles and texts of all revisions that were not erased; every record is read for
    /// it.
    pub text_bytes: Option<u64>,
    /// [`Stats::text_bytes`] as a multiple of what distinct texts take: 1 when no text was written
    /// twice.
    pub dedup_ratio: Option<f64>,
}

/// How many records a capsule holds; the blobs of files and what was erased do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordCounts {
    /// All of them.
    pub records: u64,
    /// Those that wait in the tail for their segment.
    pub tail_records: u64,
}

/// What salvage brought into a new capsule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SalvageReport {
    /// Records copied.
    pub records: u64,
    /// Records that are gone; each left an erased one in its place.
    pub lost_records: u64,
    /// Their sequences, ascending, up to a thousand ranges.
    pub lost: Vec<std::ops::Range<u64>>,
    /// Whether the newest commits are gone as well: nobody knows how many records they held.
    pub incomplete: bool,
    /// Records of a write that was never acknowledged; left out.
    pub unfinished: u64,
    /// The damage that was met, in file order.
    pub problems: Vec<Problem>,
}

/// How bad a diagnosis is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Worth knowing.
    Info,
    /// Works, but look at it.
    Warning,
    /// Does not work.
    Error,
}

/// One finding of the doctor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// How bad.
    pub level: Level,
    /// Stable name: `ok`, `missing`, `locked`, `stale_lock`, `corrupt`, `truncated`, `torn_tail`,
    /// `version_mismatch`, `foreign`, `unreadable`, `unoptimized`, `leftover`.
    pub code: &'static str,
    /// What was found.
    pub message: String,
    /// The step that mends it.
    pub hint: Option<String>,
}

/// What optimising or compacting did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MaintenanceReport {
    /// Segments before.
    pub segments_before: usize,
    /// Segments after.
    pub segments_after: usize,
    /// Bytes of the file before.
    pub bytes_before: u64,
    /// Bytes of the file after.
    pub bytes_after: u64,
    /// Records erased for good; the blobs of files do not count.
    pub purged: u64,
}

/// What putting a document did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceReport {
    /// Passages put, in order of the document; unchanged ones included.
    pub puts: Vec<Put>,
    /// URIs of passages that the document no longer holds, now forgotten.
    pub forgotten: Vec<Put>,
}
