//! The JSON of records: `get`, `timeline`, `history` and `find`.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use kapsa_memory::event::{RUN_NONE, SPEC_NONE};
use kapsa_memory::record::Source;
use kapsa_memory::request::{Expansion, Found, Hit, QueryRead, Standing, TimeSpan};
use kapsa_memory::{Content, Error, Record, Trust, Uri, Why};
use schemars::JsonSchema;
use serde::ser::{Error as _, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::versions::OriginOut;
use super::{Extent, Time};

/// Begins the names of tags that the program keeps for itself.
const INTERNAL_TAGS: &str = "kapsa.";

/// The tags of a record that somebody gave it; those that stand for no spec or no run are not.
pub(crate) fn own_tags(record: &Record) -> impl Iterator<Item = (&str, &str)> {
    let tags = record.tags.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    tags.filter(|(name, value)| {
        !name.starts_with(INTERNAL_TAGS) && ![SPEC_NONE, RUN_NONE].contains(value)
    })
}

/// A revision of a record. `put` takes it back, except for the fields that the capsule sets.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Record")]
pub(crate) struct RecordOut<'a> {
    /// Canonical URI, such as `mv2://default/note/locks`.
    uri: &'a str,
    /// Sequence of the revision: its place in the order of the capsule.
    sequence: u64,
    /// Kind, such as `note`, `fact` or `decision`.
    kind: &'a str,
    /// Title.
    #[serde(skip_serializing_if = "str::is_empty")]
    title: &'a str,
    /// The text. Lists of hits and `log` leave it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    /// Label, such as the role of the author.
    #[serde(skip_serializing_if = "str::is_empty")]
    label: &'a str,
    /// Tags with their values; the value of a plain tag is empty.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tags: BTreeMap<&'a str, &'a str>,
    /// Metadata, as it was given.
    #[serde(skip_serializing_if = "Map::is_empty")]
    metadata: &'a Map<String, Value>,
    /// What it is about.
    #[serde(skip_serializing_if = "str::is_empty")]
    entity: &'a str,
    /// Field of knowledge.
    #[serde(skip_serializing_if = "str::is_empty")]
    domain: &'a str,
    /// Who wrote it.
    #[serde(skip_serializing_if = "str::is_empty")]
    agent: &'a str,
    /// Run that it was written in.
    #[serde(skip_serializing_if = "str::is_empty")]
    run: &'a str,
    /// The principal that wrote the revision; left out for the owner.
    #[serde(skip_serializing_if = "str::is_empty")]
    principal: &'a str,
    /// How far it is believed, by who brought it; left out for what the owner wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["tool", "import", "trace", "model", "principal"]))]
    trust: Option<&'static str>,
    /// Who let it in, if it waited for review.
    #[serde(skip_serializing_if = "Option::is_none")]
    reviewed_by: Option<&'a str>,
    /// How sure the writer is, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
    /// Who may read it, where that was set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["public", "internal", "confidential", "restricted"]))]
    classification: Option<&'static str>,
    /// Principals that may read it while it is restricted.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    named: &'a [String],
    /// When it came about, as its writer says; else when it was put.
    created_at: Time,
    /// When the revision was committed to the capsule.
    committed_at: Time,
    /// Where it was read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<SourceOut<'a>>,
    /// The file whose bytes it has; `resolve-uri` gives them.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<FileBytesOut<'a>>,
    /// True for a revision that forgets the record.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tombstone: bool,
    /// True for a revision that was erased for good.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    purged: bool,
    /// Branch that the revision was written on.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<&'a str>,
    /// Sequences of revisions of the same URI that hold as much as this one: a merge left the
    /// conflict open.
    #[serde(skip_serializing_if = "<[u64]>::is_empty")]
    conflicts_with: &'a [u64],
    /// Where the revision comes from, if it was not simply put.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<OriginOut<'a>>,
    /// URI that this one stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    alias_of: Option<&'a str>,
}

impl<'a> RecordOut<'a> {
    /// The record with its text.
    pub(crate) fn whole(record: &'a Record) -> RecordOut<'a> {
        RecordOut { text: Some(&record.text), ..RecordOut::without_text(record) }
    }

    /// The record without its text.
    pub(crate) fn without_text(record: &'a Record) -> RecordOut<'a> {
        RecordOut {
            uri: record.uri.as_str(),
            sequence: record.sequence,
            kind: &record.kind,
            title: &record.title,
            text: None,
            label: &record.label,
            tags: own_tags(record).collect(),
            metadata: &record.metadata,
            entity: &record.entity,
            domain: &record.domain,
            agent: &record.agent,
            run: &record.run,
            principal: &record.provenance.principal,
            trust: low_trust(record.provenance.trust),
            reviewed_by: record.provenance.review.as_ref().map(|review| review.by.as_str()),
            confidence: record.confidence,
            classification: record.access.as_ref().map(|access| access.level.name()),
            named: record.access.as_ref().map_or(&[], |access| &access.named),
            created_at: Time(record.created_at),
            committed_at: Time(record.committed_at),
            source: record.source.as_ref().map(SourceOut::from),
            file: record.content.as_ref().map(FileBytesOut::from),
            tombstone: record.tombstone,
            purged: record.purged,
            branch: None,
            conflicts_with: &record.conflicts_with,
            origin: record.origin.as_ref().map(OriginOut::from),
            alias_of: record.alias.as_ref().map(Uri::as_str),
        }
    }

    /// The record with the name of its branch.
    pub(crate) fn on(self, branch: &'a str) -> RecordOut<'a> {
        RecordOut { branch: Some(branch), ..self }
    }
}

/// The name of a trust that is not the owner's.
pub(crate) fn low_trust(trust: Trust) -> Option<&'static str> {
    (trust != Trust::Owner).then(|| trust.name())
}

/// The document that a record was read from.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Source")]
pub(crate) struct SourceOut<'a> {
    /// Name under which the document was put.
    path: &'a str,
    /// First line, from 1; 0 where it is not known.
    line_start: u32,
    /// Last line.
    line_end: u32,
    /// Hash of the document.
    content_hash: &'a str,
}

impl<'a> From<&'a Source> for SourceOut<'a> {
    fn from(source: &'a Source) -> SourceOut<'a> {
        SourceOut {
            path: &source.path,
            line_start: source.line_start,
            line_end: source.line_end,
            content_hash: &source.content_hash,
        }
    }
}

/// The file whose bytes a record has.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "File")]
pub(crate) struct FileBytesOut<'a> {
    /// Name of the file, without folders.
    name: &'a str,
    /// Its media type.
    media_type: &'a str,
    /// Its size.
    size_bytes: u64,
    /// BLAKE3 of its bytes.
    hash: String,
}

impl<'a> From<&'a Content> for FileBytesOut<'a> {
    fn from(content: &'a Content) -> FileBytesOut<'a> {
        FileBytesOut {
            name: content.name(),
            media_type: content.media_type(),
            size_bytes: content.size_bytes(),
            hash: content.hash(),
        }
    }
}

/// A list of records.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Records<'a> {
    #[serde(flatten)]
    extent: Extent,
    /// The records, in the order that was asked for.
    #[schemars(with = "Vec<RecordOut<'a>>")]
    records: RecordStream<'a>,
}

impl<'a> Records<'a> {
    /// So many records, each read when it is written.
    pub(crate) fn of(
        records: impl Iterator<Item = Result<Record, Error>> + 'a,
        count: usize,
        more: bool,
    ) -> Records<'a> {
        Records { extent: Extent::cut(count, more), records: RecordStream::of(records) }
    }

    /// Why not all of them could be read, once they were written.
    pub(crate) fn failure(self) -> Option<Error> {
        self.records.failure.take()
    }
}

/// Records that are read while they are written.
struct RecordStream<'a> {
    left: RefCell<Box<dyn Iterator<Item = Result<Record, Error>> + 'a>>,
    failure: Cell<Option<Error>>,
}

impl<'a> RecordStream<'a> {
    fn of(records: impl Iterator<Item = Result<Record, Error>> + 'a) -> RecordStream<'a> {
        RecordStream { left: RefCell::new(Box::new(records)), failure: Cell::default() }
    }
}

impl Serialize for RecordStream<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for record in self.left.borrow_mut().by_ref() {
            match record {
                Ok(record) => list.serialize_element(&RecordOut::whole(&record))?,
                Err(error) => {
                    let message = error.to_string();
                    self.failure.set(Some(error));
                    return Err(S::Error::custom(message));
                }
            }
        }
        list.end()
    }
}

/// Every revision of one record, oldest first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HistoryOut<'a> {
    /// URI of the record.
    uri: &'a str,
    #[serde(flatten)]
    extent: Extent,
    /// The revisions.
    #[schemars(with = "Vec<RecordOut<'a>>")]
    records: RecordStream<'a>,
}

impl<'a> HistoryOut<'a> {
    /// Each revision is read when it is written.
    pub(crate) fn of(
        uri: &'a Uri,
        revisions: impl ExactSizeIterator<Item = Result<Record, Error>> + 'a,
    ) -> HistoryOut<'a> {
        let extent = Extent::whole(revisions.len());
        HistoryOut { uri: uri.as_str(), extent, records: RecordStream::of(revisions) }
    }

    /// Why not all of them could be read, once they were written.
    pub(crate) fn failure(self) -> Option<Error> {
        self.records.failure.take()
    }
}

/// What a search found, the best first. `more` says that as many hits as asked for were found, so
/// that there may be others.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FoundOut<'a> {
    /// The query, and how it was read.
    query: QueryOut<'a>,
    /// Whether there is an answer: `none`, no hits; `weak`, hits of which none probably answers;
    /// `good`.
    #[schemars(extend("enum" = ["none", "weak", "good"]))]
    found: &'static str,
    #[serde(flatten)]
    extent: Extent,
    /// True if nothing matched, and these are the newest records.
    fallback: bool,
    /// What the search went by: words, meaning or both.
    #[schemars(extend("enum" = ["lex", "sem", "auto"]))]
    mode: &'static str,
    /// Model whose vectors were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    /// Number of records of the capsule that have vectors or need none.
    #[serde(skip_serializing_if = "Option::is_none")]
    covered: Option<u64>,
    /// Number of records that lack vectors, so that only words find them.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<u64>,
    /// Re-ranker that put the best 20 hits in order; left out if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    reranked: Option<&'a str>,
    /// The hits.
    hits: Vec<HitOut<'a>>,
}

/// A query, and how it was read.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Query")]
struct QueryOut<'a> {
    /// The query as it was given.
    text: &'a str,
    /// What was taken as operators, as it is written.
    operators: &'a [String],
    /// What has the form of an operator, and was taken as plain text.
    literals: &'a [String],
    /// Phrases in quotes: what has them comes first.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    phrases: &'a [String],
    /// True if nothing was found with the operators, so that all of it was taken as plain text.
    plain: bool,
    /// True if it asks for nothing but the records of the times that it names.
    time_only: bool,
    /// The times that it names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    times: Vec<TimeSpanOut>,
    /// Words for which others were sought as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    expanded: Vec<ExpansionOut<'a>>,
}

/// A span of time.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TimeSpan")]
struct TimeSpanOut {
    /// Its first moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    starts_at: Option<Time>,
    /// The first moment after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    ends_at: Option<Time>,
}

/// A word for which others were sought as well.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Expansion")]
struct ExpansionOut<'a> {
    /// The word of the query.
    word: &'a str,
    /// The others, as they are indexed.
    to: &'a [String],
}

impl<'a> QueryOut<'a> {
    fn of(text: &'a str, read: &'a QueryRead) -> QueryOut<'a> {
        let span = |span: &TimeSpan| TimeSpanOut {
            starts_at: span.from.map(Time),
            ends_at: span.until.map(Time),
        };
        let expansion =
            |expansion: &'a Expansion| ExpansionOut { word: &expansion.word, to: &expansion.to };
        QueryOut {
            text,
            operators: &read.operators,
            literals: &read.literals,
            phrases: &read.phrases,
            plain: read.plain,
            time_only: read.time_only,
            times: read.times.iter().map(span).collect(),
            expanded: read.expanded.iter().map(expansion).collect(),
        }
    }
}

/// A record that was found.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Hit")]
struct HitOut<'a> {
    /// Place in the list, from 1.
    rank: usize,
    /// How well it fits; comparable within one answer only.
    score: f32,
    /// How sure it is that it answers, from 0 to 1; comparable between answers.
    strength: f32,
    /// True if it probably does not answer.
    weak: bool,
    /// What it is worth now.
    #[schemars(extend("enum" = ["current", "superseded", "expired", "scheduled", "contested", "pending"]))]
    standing: &'static str,
    /// Id of the fact that took its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<&'a str>,
    /// When its validity ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    expired_at: Option<Time>,
    /// From when on it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduled_at: Option<Time>,
    /// What contests it: facts by id, revisions of the same URI by sequence, such as `#12`.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    contested_by: &'a [String],
    /// Facts, by id, that somebody has to compare it with.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pending_with: &'a [String],
    /// URIs of other records that hold the same text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    same_text: Vec<&'a str>,
    /// The part of the text that fits best.
    snippet: &'a str,
    /// Byte ranges `[from, to]` of the matched words in `snippet`, in UTF-8.
    marks: Vec<[usize; 2]>,
    /// Byte range `[from, to]` of the text that is closest to the query in meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    passage: Option<[usize; 2]>,
    /// Number of hits in its group, with `--group`.
    #[serde(skip_serializing_if = "Option::is_none")]
    group_hits: Option<usize>,
    /// Sequence of a newer hit that gives another value of the same property: this one is older.
    #[serde(skip_serializing_if = "Option::is_none")]
    newer: Option<u64>,
    /// The turns before and after it in the same conversation, in their order, with `--around`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    around: Vec<RecordOut<'a>>,
    /// What speaks for it, with `--explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<WhyOut<'a>>,
    #[serde(flatten)]
    record: RecordOut<'a>,
}

impl<'a> FoundOut<'a> {
    pub(crate) fn of(
        query: &'a str,
        k: usize,
        found: &'a Found,
        full: bool,
        explain: bool,
    ) -> FoundOut<'a> {
        let hits = found
            .hits
            .iter()
            .enumerate()
            .map(|(at, hit)| HitOut::of(at + 1, hit, full, explain))
            .collect();
        let means = &found.means;
        let mode = match (&means.model, means.words) {
            (None, _) => "lex",
            (Some(_), false) => "sem",
            (Some(_), true) => "auto",
        };
        let counted = |count: u64| means.model.is_some().then_some(count);
        FoundOut {
            query: QueryOut::of(query, &found.read),
            found: found.grade.name(),
            extent: Extent::cut(found.hits.len(), found.hits.len() >= k),
            fallback: found.fallback,
            mode,
            model: means.model.as_deref(),
            covered: counted(means.covered),
            missing: counted(means.missing),
            reranked: means.reranked.as_deref(),
            hits,
        }
    }
}

impl<'a> HitOut<'a> {
    fn of(rank: usize, hit: &'a Hit, full: bool, explain: bool) -> HitOut<'a> {
        let record =
            if full { RecordOut::whole(&hit.record) } else { RecordOut::without_text(&hit.record) };
        let marks = hit.marks.iter().map(|mark| [mark.start, mark.end]).collect();
        let (mut superseded_by, mut expired_at, mut scheduled_at) = (None, None, None);
        let (mut contested_by, mut pending_with): (&[String], &[String]) = (&[], &[]);
        match &hit.standing {
            Standing::Current => {}
            Standing::Superseded { by } => superseded_by = Some(by.as_str()),
            Standing::Expired { at } => expired_at = Some(Time(*at)),
            Standing::Scheduled { from } => scheduled_at = Some(Time(*from)),
            Standing::Contested { with } => contested_by = with,
            Standing::Pending { with } => pending_with = with,
        }
        HitOut {
            rank,
            score: hit.score,
            strength: hit.strength,
            weak: hit.is_weak(),
            standing: hit.standing.name(),
            superseded_by,
            expired_at,
            scheduled_at,
            contested_by,
            pending_with,
            same_text: hit.same_text.iter().map(Uri::as_str).collect(),
            snippet: &hit.snippet,
            marks,
            passage: hit.passage.as_ref().map(|range| [range.start, range.end]),
            group_hits: Some(hit.group_hits).filter(|&count| count > 0),
            newer: hit.newer,
            around: hit.around.iter().map(RecordOut::whole).collect(),
            why: explain.then(|| WhyOut::of(&hit.why)),
            record,
        }
    }
}

/// What speaks for a hit.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Why")]
struct WhyOut<'a> {
    /// By words.
    #[serde(skip_serializing_if = "Option::is_none")]
    words: Option<WordsOut>,
    /// By meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    meaning: Option<MeaningOut>,
    /// Terms of the query that it has, as they are indexed.
    terms: &'a [String],
    /// Share of the query's words that it has, weighed by how rare they are.
    share: f32,
    /// What the score is the sum of, by name.
    points: BTreeMap<&'static str, f32>,
}

/// How well the words fit.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ByWords")]
struct WordsOut {
    /// Rank among all hits by words, from 1.
    rank: usize,
    /// BM25 score.
    score: f32,
}

/// How close the meaning is.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ByMeaning")]
struct MeaningOut {
    /// Rank among all hits by meaning, from 1; left out where meaning alone would not have found
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<usize>,
    /// Cosine of query and passage.
    cosine: f32,
}

impl WhyOut<'_> {
    fn of(why: &Why) -> WhyOut<'_> {
        WhyOut {
            words: why.words.map(|(rank, score)| WordsOut { rank, score }),
            meaning: why
                .cosine
                .map(|cosine| MeaningOut { rank: why.meaning.map(|(rank, _)| rank), cosine }),
            terms: &why.terms,
            share: why.share,
            points: why.points.iter().copied().collect(),
        }
    }
}
