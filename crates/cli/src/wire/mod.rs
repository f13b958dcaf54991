//! What does the JSON look like that programs read? The shapes here are the contract of `--json`; the types of the memory are not.
//!
//! Rules that hold everywhere: times are RFC 3339 in UTC; URIs are canonical (`mv2://default/note/x`); an empty or unknown field is left out; fields may be added, never renamed. Characters that could act on a terminal are written by their number, as `\u001b`.

pub(crate) mod agent;
pub(crate) mod fs;
pub(crate) mod role;
pub(crate) mod run;
pub(crate) mod transfer;
pub(crate) mod versions;

use std::collections::BTreeMap;
use std::path::Path;

use kapsa_memory::record::Source;
use kapsa_memory::request::{
    Change, Diagnosis, Found, Hit, Level, MaintenanceReport, Problem, Put, SalvageReport, Stats, VerifyReport,
};
use kapsa_memory::{Coverage, Micros, Record, Uri, Why};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::CliError;
use crate::moment::rfc3339;

/// A failure, on standard error: `{"error":{"code","message","hint"?, …}}`. Codes are stable; further fields depend on the code.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorOut<'a> {
    pub(crate) error: ErrorBody<'a>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ErrorBody<'a> {
    code: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    #[serde(flatten)]
    fields: &'a Map<String, Value>,
}

impl<'a> From<&'a CliError> for ErrorOut<'a> {
    fn from(error: &'a CliError) -> ErrorOut<'a> {
        let hint = error.hint.as_deref();
        ErrorOut { error: ErrorBody { code: error.code, message: &error.message, hint, fields: &error.fields } }
    }
}

/// `init`, `create`: `{"created","exists","capsule_path","message"?,"backup_path"?}`.
#[derive(Debug, Serialize)]
pub(crate) struct Made {
    pub(crate) created: bool,
    pub(crate) exists: bool,
    pub(crate) capsule_path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) backup_path: Option<String>,
}

/// `put` of one record, `put --each`, `forget`: `{"uri","sequence","change","embedding"?}`, change one of `added`, `revised`, `unchanged`, `forgotten`; `embedding` says why a stored record has no vectors.
#[derive(Debug, Serialize)]
pub(crate) struct PutOut<'a> {
    pub(crate) uri: &'a str,
    pub(crate) sequence: u64,
    pub(crate) change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) embedding: Option<&'a str>,
}

impl<'a> From<&'a Put> for PutOut<'a> {
    fn from(put: &'a Put) -> PutOut<'a> {
        PutOut { uri: put.uri.as_str(), sequence: put.sequence, change: change_name(put.change), embedding: None }
    }
}

/// The name of a change, for people and programs alike.
pub(crate) fn change_name(change: Change) -> &'static str {
    match change {
        Change::Added => "added",
        Change::Revised => "revised",
        Change::Unchanged => "unchanged",
        Change::Forgotten => "forgotten",
    }
}

/// `put` of many: `{"added","revised","unchanged","forgotten","records","commits","last_sequence","sources"?,"skipped"?,"embedding"?}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Tally {
    pub(crate) added: u64,
    pub(crate) revised: u64,
    pub(crate) unchanged: u64,
    pub(crate) forgotten: u64,
    /// Records given, unchanged ones included.
    pub(crate) records: u64,
    pub(crate) commits: u64,
    pub(crate) last_sequence: u64,
    /// Documents read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sources: Option<u64>,
    /// Files in folders that are no text or cannot be read; lines of an export that are no records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) skipped: Option<u64>,
    /// Why the records, which are stored, have no vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) embedding: Option<String>,
}

impl Tally {
    /// Counts what one commit did.
    pub(crate) fn count<'a>(&mut self, puts: impl IntoIterator<Item = &'a Put>) {
        let mut written = false;
        for put in puts {
            self.last_sequence = self.last_sequence.max(put.sequence);
            self.records += u64::from(put.change != Change::Forgotten);
            written |= put.change != Change::Unchanged;
            *self.slot(put.change) += 1;
        }
        self.commits += u64::from(written);
    }

    fn slot(&mut self, change: Change) -> &mut u64 {
        match change {
            Change::Added => &mut self.added,
            Change::Revised => &mut self.revised,
            Change::Unchanged => &mut self.unchanged,
            Change::Forgotten => &mut self.forgotten,
        }
    }
}

/// A record: `get`, and in `timeline`, `history`, `find`. `put` takes it back, less the fields that the capsule gives.
#[derive(Debug, Serialize)]
pub(crate) struct RecordOut<'a> {
    uri: &'a str,
    sequence: u64,
    kind: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    label: &'a str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tags: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    metadata: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "str::is_empty")]
    entity: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    domain: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    agent: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    run: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
    /// How far it may spread, where that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    classification: Option<&'static str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    named: &'a [String],
    created_at: String,
    committed_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<SourceOut<'a>>,
    /// Present and true for a revision that forgets.
    #[serde(skip_serializing_if = "is_false")]
    tombstone: bool,
    /// Present and true for a revision that was erased for good.
    #[serde(skip_serializing_if = "is_false")]
    purged: bool,
    /// Branch that it was written on, where that is not the one asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<&'a str>,
    /// Sequences of the revisions of the same URI that count as much as this one.
    #[serde(skip_serializing_if = "<[u64]>::is_empty")]
    contested_with: &'a [u64],
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<versions::OriginOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alias_of: Option<&'a str>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
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
            tags: &record.tags,
            metadata: &record.metadata,
            entity: &record.entity,
            domain: &record.domain,
            agent: &record.agent,
            run: &record.run,
            confidence: record.confidence,
            classification: record.access.as_ref().map(|access| access.level.name()),
            named: record.access.as_ref().map_or(&[], |access| &access.named),
            created_at: rfc3339(record.created_at),
            committed_at: rfc3339(record.committed_at),
            source: record.source.as_ref().map(SourceOut::from),
            tombstone: record.tombstone,
            purged: record.purged,
            branch: None,
            contested_with: &record.conflicts_with,
            origin: record.origin.as_ref().map(versions::OriginOut::from),
            alias_of: record.alias.as_ref().map(Uri::as_str),
        }
    }

    /// The record with the name of its branch.
    pub(crate) fn on(self, branch: &'a str) -> RecordOut<'a> {
        RecordOut { branch: Some(branch), ..self }
    }
}

/// Where a passage was read: `{"path","line_start","line_end","content_hash"}`.
#[derive(Debug, Serialize)]
pub(crate) struct SourceOut<'a> {
    path: &'a str,
    line_start: u32,
    line_end: u32,
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

/// `timeline`: `{"count","records":[record]}`; `history` adds `uri`.
#[derive(Debug, Serialize)]
pub(crate) struct Records<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) uri: Option<&'a str>,
    pub(crate) count: usize,
    pub(crate) records: Vec<RecordOut<'a>>,
}

impl<'a> Records<'a> {
    pub(crate) fn of(uri: Option<&'a str>, records: &'a [Record]) -> Records<'a> {
        Records { uri, count: records.len(), records: records.iter().map(RecordOut::whole).collect() }
    }
}

/// `find`: `{"query","count","fallback","mode","model"?,"covered"?,"missing"?,"hits":[{"rank","score","snippet","marks":[[from,to]],
/// "passage"?,"group_hits"?,"why"?, …record}]}`. `mode`: `lex`, `sem` or `auto`. A passage is a byte range of the text.
/// Marks are byte ranges of the matched words in the snippet's UTF-8. `fallback` true: nothing matched, these are the newest.
#[derive(Debug, Serialize)]
pub(crate) struct FoundOut<'a> {
    query: &'a str,
    count: usize,
    fallback: bool,
    mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    covered: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<u64>,
    hits: Vec<HitOut<'a>>,
}

#[derive(Debug, Serialize)]
struct HitOut<'a> {
    rank: usize,
    score: f32,
    snippet: &'a str,
    marks: Vec<[usize; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    passage: Option<[usize; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_hits: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<WhyOut<'a>>,
    #[serde(flatten)]
    record: RecordOut<'a>,
}

impl<'a> FoundOut<'a> {
    pub(crate) fn of(query: &'a str, found: &'a Found, full: bool, explain: bool) -> FoundOut<'a> {
        let hits = found.hits.iter().enumerate().map(|(at, hit)| HitOut::of(at + 1, hit, full, explain)).collect();
        let means = &found.means;
        let mode = match (&means.model, means.words) {
            (None, _) => "lex",
            (Some(_), false) => "sem",
            (Some(_), true) => "auto",
        };
        let counted = |count: u64| means.model.is_some().then_some(count);
        FoundOut {
            query,
            count: found.hits.len(),
            fallback: found.fallback,
            mode,
            model: means.model.as_deref(),
            covered: counted(means.covered),
            missing: counted(means.missing),
            hits,
        }
    }
}

impl<'a> HitOut<'a> {
    fn of(rank: usize, hit: &'a Hit, full: bool, explain: bool) -> HitOut<'a> {
        let record = if full { RecordOut::whole(&hit.record) } else { RecordOut::without_text(&hit.record) };
        let marks = hit.marks.iter().map(|mark| [mark.start, mark.end]).collect();
        HitOut {
            rank,
            score: hit.score,
            snippet: &hit.snippet,
            marks,
            passage: hit.passage.as_ref().map(|range| [range.start, range.end]),
            group_hits: Some(hit.group_hits).filter(|&count| count > 0),
            why: explain.then(|| WhyOut::of(&hit.why)),
            record,
        }
    }
}

/// `{"words":{"rank","score"}?,"meaning":{"rank"?,"cosine"}?,"terms":[…],"points":{name: points}}`.
#[derive(Debug, Serialize)]
struct WhyOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    words: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    meaning: Option<Value>,
    terms: &'a [String],
    points: Map<String, Value>,
}

impl WhyOut<'_> {
    fn of(why: &Why) -> WhyOut<'_> {
        let meaning = why.cosine.map(|cosine| match why.meaning {
            Some((rank, _)) => json!({ "rank": rank, "cosine": cosine }),
            None => json!({ "cosine": cosine }),
        });
        WhyOut {
            words: why.words.map(|(rank, score)| json!({ "rank": rank, "score": score })),
            meaning,
            terms: &why.terms,
            points: why.points.iter().map(|(what, points)| ((*what).to_string(), json!(points))).collect(),
        }
    }
}

/// `stats`.
#[derive(Debug, Serialize)]
pub(crate) struct StatsOut<'a> {
    capsule_path: String,
    capsule_id: &'a str,
    format_version: u32,
    created_at: String,
    size_bytes: u64,
    record_count: u64,
    commit_count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_commit_at: Option<String>,
    chain: &'a str,
    segment_count: usize,
    tail_records: u64,
    index_bytes: u64,
    torn_bytes: u64,
    generation: u64,
    /// `{"model","dimension","covered","missing","vectors","bytes","next_model"?,"next_covered"?}`, where there are vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    vectors: Option<Value>,
}

fn vectors(coverage: &Coverage) -> Option<Value> {
    let model = coverage.model.as_ref()?;
    let mut told = json!({
        "model": model.name, "dimension": model.dimension, "covered": coverage.covered, "missing": coverage.missing,
        "vectors": coverage.vectors, "bytes": coverage.bytes,
    });
    if let Some((next, covered)) = &coverage.next {
        told["next_model"] = next.name.clone().into();
        told["next_covered"] = (*covered).into();
    }
    Some(told)
}

impl<'a> StatsOut<'a> {
    pub(crate) fn of(path: &Path, stats: &'a Stats, coverage: &Coverage) -> StatsOut<'a> {
        StatsOut {
            capsule_path: show(path),
            capsule_id: &stats.capsule_id,
            format_version: stats.format_version,
            created_at: rfc3339(stats.created_at),
            size_bytes: stats.size_bytes,
            record_count: stats.record_count,
            commit_count: stats.commit_count,
            uri_count: stats.uri_count,
            branch_count: stats.branch_count,
            checkpoint_count: stats.checkpoint_count,
            event_count: stats.event_count,
            last_commit_at: stats.last_commit_at.map(rfc3339 as fn(Micros) -> String),
            chain: &stats.chain,
            segment_count: stats.segment_count,
            tail_records: stats.tail_records,
            index_bytes: stats.index_bytes,
            torn_bytes: stats.torn_bytes,
            generation: stats.generation,
            vectors: vectors(coverage),
        }
    }
}

/// `verify`: `ok` is false, and the exit code 2, when there are problems.
#[derive(Debug, Serialize)]
pub(crate) struct VerifyOut<'a> {
    ok: bool,
    capsule_path: String,
    frames: u64,
    bytes: u64,
    records: u64,
    commits: u64,
    torn_bytes: u64,
    problems: Vec<ProblemOut<'a>>,
}

#[derive(Debug, Serialize)]
struct ProblemOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<u64>,
    offset: u64,
    message: &'a str,
}

impl<'a> VerifyOut<'a> {
    pub(crate) fn of(path: &Path, report: &'a VerifyReport) -> VerifyOut<'a> {
        VerifyOut {
            ok: report.problems.is_empty(),
            capsule_path: show(path),
            frames: report.frames,
            bytes: report.bytes,
            records: report.records,
            commits: report.commits,
            torn_bytes: report.torn_bytes,
            problems: report.problems.iter().map(ProblemOut::from).collect(),
        }
    }
}

impl<'a> From<&'a Problem> for ProblemOut<'a> {
    fn from(problem: &'a Problem) -> ProblemOut<'a> {
        ProblemOut { frame: problem.frame, offset: problem.offset, message: &problem.message }
    }
}

/// `salvage`: `{"capsule_path","salvaged_path","records","lost_records","lost":[{"first","last"}],"incomplete","unfinished","problems":[{"offset","message"}]}`.
#[derive(Debug, Serialize)]
pub(crate) struct SalvageOut<'a> {
    capsule_path: String,
    salvaged_path: String,
    records: u64,
    lost_records: u64,
    lost: Vec<LostOut>,
    incomplete: bool,
    unfinished: u64,
    problems: Vec<ProblemOut<'a>>,
}

/// Sequences, both ends included.
#[derive(Debug, Serialize)]
struct LostOut {
    first: u64,
    last: u64,
}

impl<'a> SalvageOut<'a> {
    pub(crate) fn of(path: &Path, to: &Path, report: &'a SalvageReport) -> SalvageOut<'a> {
        SalvageOut {
            capsule_path: show(path),
            salvaged_path: show(to),
            records: report.records,
            lost_records: report.lost_records,
            lost: report.lost.iter().map(|range| LostOut { first: range.start, last: range.end - 1 }).collect(),
            incomplete: report.incomplete,
            unfinished: report.unfinished,
            problems: report.problems.iter().map(ProblemOut::from).collect(),
        }
    }
}

/// `doctor`: `{"status","capsule_path","diagnostics":[{"level","code","message","hint"?}]}`; status and level one of `ok`, `warning`, `error` (a level may be `info`).
#[derive(Debug, Serialize)]
pub(crate) struct DoctorOut<'a> {
    status: &'static str,
    capsule_path: String,
    diagnostics: Vec<DiagnosisOut<'a>>,
}

#[derive(Debug, Serialize)]
struct DiagnosisOut<'a> {
    level: &'static str,
    code: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

impl<'a> DoctorOut<'a> {
    pub(crate) fn of(path: &Path, findings: &'a [Diagnosis]) -> DoctorOut<'a> {
        DoctorOut {
            status: status(findings),
            capsule_path: show(path),
            diagnostics: findings.iter().map(DiagnosisOut::from).collect(),
        }
    }
}

impl<'a> From<&'a Diagnosis> for DiagnosisOut<'a> {
    fn from(found: &'a Diagnosis) -> DiagnosisOut<'a> {
        DiagnosisOut { level: level_name(found.level), code: found.code, message: &found.message, hint: found.hint.as_deref() }
    }
}

/// The name of a level.
pub(crate) fn level_name(level: Level) -> &'static str {
    match level {
        Level::Info => "info",
        Level::Warning => "warning",
        Level::Error => "error",
    }
}

/// The worst of all findings, as one word.
pub(crate) fn status(findings: &[Diagnosis]) -> &'static str {
    match findings.iter().map(|found| found.level).max() {
        Some(Level::Error) => "error",
        Some(Level::Warning) => "warning",
        Some(Level::Info) | None => "ok",
    }
}

/// `optimize`, `compact`.
#[derive(Debug, Serialize)]
pub(crate) struct MaintenanceOut {
    capsule_path: String,
    segments_before: usize,
    segments_after: usize,
    bytes_before: u64,
    bytes_after: u64,
    purged: u64,
}

impl MaintenanceOut {
    pub(crate) fn of(path: &Path, report: &MaintenanceReport) -> MaintenanceOut {
        MaintenanceOut {
            capsule_path: show(path),
            segments_before: report.segments_before,
            segments_after: report.segments_after,
            bytes_before: report.bytes_before,
            bytes_after: report.bytes_after,
            purged: report.purged,
        }
    }
}

/// `purge`: `{"uri","revisions"}`; the bytes go at the next compaction.
#[derive(Debug, Serialize)]
pub(crate) struct PurgeOut<'a> {
    pub(crate) uri: &'a str,
    pub(crate) revisions: u64,
}

/// A path as JSON and people see it. Never opened again from this form.
pub(crate) fn show(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use kapsa_memory::Uri;

    use super::*;

    fn put(sequence: u64, change: Change) -> Put {
        Put { uri: Uri::parse("note/a").expect("valid"), sequence, change }
    }

    #[test]
    fn a_tally_counts_changes_and_commits() {
        let mut tally = Tally::default();
        tally.count(&[put(1, Change::Added), put(2, Change::Revised)]);
        tally.count(&[put(1, Change::Unchanged)]);
        tally.count(&[put(3, Change::Forgotten)]);
        let want = Tally {
            added: 1,
            revised: 1,
            unchanged: 1,
            forgotten: 1,
            records: 3,
            commits: 2,
            last_sequence: 3,
            ..Tally::default()
        };
        assert_eq!(tally, want);
    }

    #[test]
    fn an_acknowledgement_has_three_fields() {
        let json = serde_json::to_string(&PutOut::from(&put(7, Change::Added))).expect("serialises");
        assert_eq!(json, r#"{"uri":"mv2://default/note/a","sequence":7,"change":"added"}"#);
    }
}
