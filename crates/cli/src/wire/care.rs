//! The JSON of caring for a capsule: `stats`, `verify`, `doctor`, `salvage`, `compact`, `optimize`
//! and `purge`.

use std::path::Path;

use kapsa_memory::check::LostFile;
use kapsa_memory::request::{
    Diagnosis, Level, MaintenanceReport, Problem, RecordCounts, SalvageReport, Stats, VerifyReport,
};
use kapsa_memory::{Anchor, Coverage, SignatureReport};
use schemars::JsonSchema;
use serde::Serialize;

use super::key::{ExpectedChainOut, SignaturesOut};
use super::{Time, Versions, show};

/// Sizes and counts of a capsule.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StatsOut<'a> {
    /// The capsule.
    capsule_path: String,
    /// The store that serves `put --text`, `find` and `get`.
    #[schemars(extend("enum" = ["capsule", "local-memory", "memvid"]))]
    memory_backend: &'static str,
    /// Whether local-memory serves where the store cannot be opened.
    memory_fallback: bool,
    /// Its id: 32 hexadecimal digits. Copies have the same.
    capsule_id: &'a str,
    /// Version of the file format.
    format_version: u32,
    /// When it was created.
    created_at: Time,
    /// Size of the file.
    size_bytes: u64,
    /// Number of records: revisions of memories, tombstones, and what the capsule writes about
    /// itself. Blobs of files and what was erased do not count.
    record_count: u64,
    /// Number of commits.
    commit_count: u64,
    /// Number of live URIs, with `--count` or in a small capsule.
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_count: Option<u64>,
    /// Number of branches, `main` and archived ones included, with `--count` or in a small capsule.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch_count: Option<u64>,
    /// Number of checkpoints on all branches, with `--count` or in a small capsule.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint_count: Option<u64>,
    /// Number of events on all branches, with `--count` or in a small capsule.
    #[serde(skip_serializing_if = "Option::is_none")]
    event_count: Option<u64>,
    /// Bytes of the titles and texts of all revisions that were not erased, with `--count` or in a
    /// small capsule.
    #[serde(skip_serializing_if = "Option::is_none")]
    text_bytes: Option<u64>,
    /// `text_bytes` as a multiple of what distinct texts take; 1 if no text was written twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    dedup_ratio: Option<f64>,
    /// How far the index is; `behind` is no loss, since searches read the rest as well.
    #[schemars(extend("enum" = ["empty", "current", "behind"]))]
    index_status: &'static str,
    /// When the newest commit was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    committed_at: Option<Time>,
    /// Hash of the whole history: 64 hexadecimal digits.
    chain: &'a str,
    /// Number of index segments.
    segment_count: usize,
    /// Number of records that are not in an index segment yet.
    tail_record_count: u64,
    /// Size of the index.
    index_bytes: u64,
    /// Bytes that an interrupted write left behind; harmless.
    torn_bytes: u64,
    /// How often the file was compacted, plus one.
    generation: u64,
    /// Its vectors, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    vectors: Option<VectorsOut<'a>>,
    #[serde(flatten)]
    versions: Versions,
}

/// The vectors of a capsule.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Vectors")]
struct VectorsOut<'a> {
    /// Name of the model in force.
    model: &'a str,
    /// Numbers of each vector.
    dimension: u32,
    /// Number of records that have vectors or need none.
    covered: u64,
    /// Number of records that lack vectors.
    missing: u64,
    /// Number of vectors.
    vector_count: u64,
    /// Size of the vectors.
    size_bytes: u64,
    /// Model that is about to take over: `reembed` is not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_model: Option<&'a str>,
    /// Number of records that have vectors of that model.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_covered: Option<u64>,
}

impl<'a> VectorsOut<'a> {
    fn of(coverage: &'a Coverage) -> Option<VectorsOut<'a>> {
        let model = coverage.model.as_ref()?;
        let next = coverage.next.as_ref();
        Some(VectorsOut {
            model: &model.name,
            dimension: model.dimension,
            covered: coverage.covered,
            missing: coverage.missing,
            vector_count: coverage.vectors,
            size_bytes: coverage.bytes,
            next_model: next.map(|(model, _)| model.name.as_str()),
            next_covered: next.map(|(_, covered)| *covered),
        })
    }
}

impl<'a> StatsOut<'a> {
    pub(crate) fn of(
        path: &Path,
        (stats, counts): (&'a Stats, RecordCounts),
        coverage: &'a Coverage,
        backend: &'static str,
        has_fallback: bool,
    ) -> StatsOut<'a> {
        StatsOut {
            capsule_path: show(path),
            memory_backend: backend,
            memory_fallback: has_fallback,
            capsule_id: &stats.capsule_id,
            format_version: stats.format_version,
            created_at: Time(stats.created_at),
            size_bytes: stats.size_bytes,
            record_count: counts.records,
            commit_count: stats.commit_count,
            uri_count: stats.uri_count,
            branch_count: stats.branch_count,
            checkpoint_count: stats.checkpoint_count,
            event_count: stats.event_count,
            text_bytes: stats.text_bytes,
            dedup_ratio: stats.dedup_ratio,
            index_status: match (stats.last_sequence, stats.tail_records) {
                (0, _) => "empty",
                (_, 0) => "current",
                _ => "behind",
            },
            committed_at: stats.last_commit_at.map(Time),
            chain: &stats.chain,
            segment_count: stats.segment_count,
            tail_record_count: counts.tail_records,
            index_bytes: stats.index_bytes,
            torn_bytes: stats.torn_bytes,
            generation: stats.generation,
            vectors: VectorsOut::of(coverage),
            versions: Versions::OURS,
        }
    }
}

/// What a check of every byte found. With problems, without the trusted signatures or without the
/// expected chain the exit code is 2.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Verification")]
pub(crate) struct VerifyOut<'a> {
    /// Whether there are no problems, and the history is as expected.
    ok: bool,
    /// The capsule.
    capsule_path: String,
    /// Number of frames read.
    frame_count: u64,
    /// Number of bytes read.
    size_bytes: u64,
    /// Number of records whose hash was recomputed.
    record_count: u64,
    /// Number of commits whose chain was recomputed.
    commit_count: u64,
    /// Bytes that an interrupted write left behind; harmless.
    torn_bytes: u64,
    /// What is damaged.
    problems: Vec<ProblemOut<'a>>,
    /// Revisions whose file is not there as a whole, unless something is damaged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    incomplete_files: Vec<LostFileOut<'a>>,
    /// Chain of the newest commit, unless something is damaged: 64 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    chain: Option<&'a str>,
    /// The signatures, with `--trust`, unless something is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    signatures: Option<SignaturesOut>,
    /// The expected chain, with `--expect-chain`, unless something is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_chain: Option<ExpectedChainOut>,
}

/// A damaged place.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
struct ProblemOut<'a> {
    /// Number of the frame, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<u64>,
    /// Byte offset.
    offset: u64,
    /// What is wrong there.
    message: &'a str,
}

/// A revision of a file of which a part is missing.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "IncompleteFile")]
struct LostFileOut<'a> {
    /// URI of the file.
    uri: &'a str,
    /// The revision.
    sequence: u64,
}

impl<'a> From<&'a LostFile> for LostFileOut<'a> {
    fn from(file: &'a LostFile) -> LostFileOut<'a> {
        LostFileOut { uri: &file.uri, sequence: file.sequence }
    }
}

impl<'a> VerifyOut<'a> {
    pub(crate) fn of(path: &Path, report: &'a VerifyReport, lost: &'a [LostFile]) -> VerifyOut<'a> {
        VerifyOut {
            ok: report.problems.is_empty() && lost.is_empty(),
            capsule_path: show(path),
            frame_count: report.frames,
            size_bytes: report.bytes,
            record_count: report.records,
            commit_count: report.commits,
            torn_bytes: report.torn_bytes,
            problems: report.problems.iter().map(ProblemOut::from).collect(),
            incomplete_files: lost.iter().map(LostFileOut::from).collect(),
            chain: None,
            signatures: None,
            expected_chain: None,
        }
    }

    /// The same, with the newest chain.
    pub(crate) fn with_chain(self, chain: Option<&'a str>) -> VerifyOut<'a> {
        VerifyOut { chain, ..self }
    }

    /// The same, with what was found out about signatures.
    pub(crate) fn with_signatures(self, report: Option<&SignatureReport>) -> VerifyOut<'a> {
        let ok = self.ok && report.is_none_or(SignatureReport::is_trusted);
        VerifyOut { ok, signatures: report.map(SignaturesOut::from), ..self }
    }

    /// The same, with the commit of the expected chain, where one was expected.
    pub(crate) fn with_anchor(self, anchor: Option<Option<Anchor>>) -> VerifyOut<'a> {
        let ok = self.ok && anchor.is_none_or(|found| found.is_some());
        VerifyOut { ok, expected_chain: anchor.map(ExpectedChainOut::from), ..self }
    }
}

impl<'a> From<&'a Problem> for ProblemOut<'a> {
    fn from(problem: &'a Problem) -> ProblemOut<'a> {
        ProblemOut { frame: problem.frame, offset: problem.offset, message: &problem.what }
    }
}

/// What was copied out of a damaged capsule. With records lost the exit code is 2.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SalvageOut<'a> {
    /// The damaged capsule, which was not changed.
    capsule_path: String,
    /// The new capsule.
    salvaged_path: String,
    /// Number of records copied.
    record_count: u64,
    /// Number of records lost.
    lost_count: u64,
    /// Which records were lost.
    lost: Vec<LostOut>,
    /// Whether newer records may be missing, too.
    incomplete: bool,
    /// Number of records of a write that never finished; they were left out.
    unfinished: u64,
    /// What is damaged.
    problems: Vec<ProblemOut<'a>>,
    /// Revisions whose file is not there as a whole in the new capsule.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    incomplete_files: Vec<LostFileOut<'a>>,
}

/// A range of sequences, both ends included.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Range")]
struct LostOut {
    /// First sequence.
    first: u64,
    /// Last sequence.
    last: u64,
}

impl<'a> SalvageOut<'a> {
    pub(crate) fn of(
        path: &Path,
        to: &Path,
        report: &'a SalvageReport,
        incomplete: &'a [LostFile],
    ) -> SalvageOut<'a> {
        SalvageOut {
            capsule_path: show(path),
            salvaged_path: show(to),
            record_count: report.records,
            lost_count: report.lost_records,
            lost: report
                .lost
                .iter()
                .map(|range| LostOut { first: range.start, last: range.end - 1 })
                .collect(),
            incomplete: report.incomplete,
            unfinished: report.unfinished,
            problems: report.problems.iter().map(ProblemOut::from).collect(),
            incomplete_files: incomplete.iter().map(LostFileOut::from).collect(),
        }
    }
}

/// What is wrong with a capsule and how to fix it. With an error the exit code is 2.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DoctorOut<'a> {
    /// The worst of all findings.
    #[schemars(extend("enum" = ["ok", "warning", "error"]))]
    status: &'static str,
    /// The capsule.
    capsule_path: String,
    /// The findings.
    diagnostics: Vec<DiagnosisOut<'a>>,
    #[serde(flatten)]
    versions: Versions,
}

/// A finding about a capsule.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Diagnosis")]
pub(crate) struct DiagnosisOut<'a> {
    /// How bad it is.
    #[schemars(extend("enum" = ["info", "warning", "error"]))]
    level: &'static str,
    /// A stable name of the finding, such as `stale_lock`.
    code: &'static str,
    /// The finding, for people.
    message: &'a str,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

impl<'a> DoctorOut<'a> {
    pub(crate) fn of(path: &Path, findings: &'a [Diagnosis]) -> DoctorOut<'a> {
        DoctorOut {
            status: status(findings),
            capsule_path: show(path),
            diagnostics: findings.iter().map(DiagnosisOut::from).collect(),
            versions: Versions::OURS,
        }
    }
}

impl<'a> From<&'a Diagnosis> for DiagnosisOut<'a> {
    fn from(found: &'a Diagnosis) -> DiagnosisOut<'a> {
        DiagnosisOut {
            level: level_name(found.level),
            code: found.code,
            message: &found.message,
            hint: found.hint.as_deref(),
        }
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

/// What compacting or optimizing did.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MaintenanceOut {
    /// The capsule.
    capsule_path: String,
    /// Number of index segments before.
    segments_before: usize,
    /// Number of index segments after.
    segments_after: usize,
    /// Size of the file before.
    bytes_before: u64,
    /// Size of the file after.
    bytes_after: u64,
    /// Number of records that were erased.
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

/// A record that was marked for erasure. Its bytes go at the next `compact`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PurgeOut<'a> {
    /// URI of the record.
    pub(crate) uri: &'a str,
    /// Number of revisions marked.
    pub(crate) revision_count: u64,
}
