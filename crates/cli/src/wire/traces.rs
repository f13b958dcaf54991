//! What `sync`, `trace`, `status`, `connect` and `maintain` answer.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kapsa_extract::Candidate;
use kapsa_ingest::Speaker;
use kapsa_traces::queue::{Job, JobState};
use kapsa_traces::{
    Extracted, FileState, Kept, OverlapMeasure, Report, RunReport, SessionState, TraceFile, Upkept,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::Time;

/// What a sync did, or would do.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Sync")]
pub(crate) struct SyncOut<'a> {
    /// Whether nothing was stored.
    pub(crate) dry_run: bool,
    /// When it was done, with `--watch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) synced_at: Option<Time>,
    /// How texts were compared.
    pub(crate) overlap: &'static str,
    /// Files, by what became of them.
    pub(crate) files: SyncFilesOut,
    /// Sessions, by what became of them.
    pub(crate) sessions: SyncSessionsOut,
    /// Candidates, by what became of them.
    pub(crate) memories: SyncMemoriesOut,
    /// What was skipped in the files.
    pub(crate) skipped: Vec<SkippedRecordsOut>,
    /// Every candidate, in the order of time.
    pub(crate) candidates: Vec<SyncedOut<'a>>,
    /// Files whose last record is still being written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) waiting: Vec<String>,
    /// Files that could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) failed: Vec<FailedFileOut>,
    /// Why the records have no vectors, if that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) embedding: Option<String>,
    /// What a language model was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<SyncModelOut>,
}

/// Files of a sync.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SyncFiles")]
pub(crate) struct SyncFilesOut {
    /// Files with traces that were read.
    read_count: u64,
    /// Files that have not changed since they were read.
    unchanged_count: u64,
    /// Files that hold no traces.
    other_count: u64,
    /// Files left for another call, by a limit or a window of time.
    left_count: u64,
    /// Of those that were read, files that their program will delete soon.
    expiring_count: u64,
    /// Files that could not be read.
    failed_count: u64,
    /// Files that are not tried any more, until they change.
    given_up_count: u64,
}

/// Sessions of a sync.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SyncSessions")]
pub(crate) struct SyncSessionsOut {
    /// Sessions that were read.
    read_count: u64,
    /// Sessions left out because they are the program's own extraction.
    own_count: u64,
    /// Sessions left out because they are of another agent.
    other_agent_count: u64,
    /// Sessions left out because they are of another time.
    other_time_count: u64,
    /// Originals that were new.
    original_count: u64,
    /// Of those, originals of which something was left out.
    cut_count: u64,
}

/// What became of the candidates of a sync.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SyncMemories")]
pub(crate) struct SyncMemoriesOut {
    /// Memories that are new.
    add_count: u64,
    /// Known memories that got something new.
    update_count: u64,
    /// Candidates that were known, or that somebody decides about.
    no_op_count: u64,
    /// Memories that took the place of known ones.
    supersede_count: u64,
    /// Memories older than the known one that says otherwise.
    precede_count: u64,
    /// Memories that their session took back.
    taken_back_count: u64,
    /// Candidates that somebody decides about (`kapsa fact list --pending`).
    pending_count: u64,
    /// Candidates that wait for review (`kapsa review`).
    held_count: u64,
}

/// Records that were skipped.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Skipped")]
pub(crate) struct SkippedRecordsOut {
    /// Why.
    reason: &'static str,
    /// What they are.
    kind: String,
    /// How many.
    count: u64,
}

/// A file that could not be read.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FailedFile")]
pub(crate) struct FailedFileOut {
    /// Its path.
    path: String,
    /// Why.
    message: String,
}

/// A candidate, and what became of it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Synced")]
pub(crate) struct SyncedOut<'a> {
    /// Id of the fact that is known now.
    id: &'a str,
    /// Its type.
    #[serde(rename = "type")]
    kind: &'static str,
    /// It in one line.
    title: &'a str,
    /// The repository that it is about.
    #[serde(skip_serializing_if = "str::is_empty")]
    entity: &'a str,
    /// The session, as `agent/id`.
    source: &'a str,
    /// The file with its lines.
    place: &'a str,
    /// When it was said.
    said_at: Time,
    /// How sure it is, from 0 to 1.
    confidence: f64,
    /// What was done.
    #[schemars(extend("enum" = ["add", "update", "no_op", "supersede", "precede"]))]
    action: &'a str,
    /// Id of the known memory that it is about.
    #[serde(skip_serializing_if = "str::is_empty")]
    other: &'a str,
    /// How much the two texts overlap, from 0 to 1.
    score: f64,
    /// Why.
    reason: &'a str,
    /// Whether the known memory got one more witness.
    confirms: bool,
    /// Whether somebody has to decide.
    pending: bool,
    /// Whether it waits for review.
    held: bool,
}

const THOUSANDTHS: f64 = 1000.0;

impl<'a> SyncOut<'a> {
    pub(crate) fn of(report: &'a Report, embedding: Option<String>) -> SyncOut<'a> {
        let actions = report.actions();
        let count = |name: &str| actions.get(name).copied().unwrap_or_default();
        SyncOut {
            dry_run: report.is_dry,
            synced_at: None,
            overlap: OverlapMeasure::NAME,
            files: SyncFilesOut {
                read_count: report.read,
                unchanged_count: report.unchanged,
                other_count: report.others,
                left_count: report.left + report.over,
                expiring_count: report.expiring,
                failed_count: report.failed.len() as u64,
                given_up_count: report.given_up,
            },
            sessions: SyncSessionsOut {
                read_count: report.sessions,
                own_count: report.sessions_own,
                other_agent_count: report.sessions_of_others,
                other_time_count: report.sessions_of_other_time,
                original_count: report.originals,
                cut_count: report.originals_cut,
            },
            memories: SyncMemoriesOut {
                add_count: count("add"),
                update_count: count("update"),
                no_op_count: count("no_op"),
                supersede_count: count("supersede"),
                precede_count: count("precede"),
                taken_back_count: report.taken_back,
                pending_count: report.pending(),
                held_count: report.held(),
            },
            skipped: report
                .skipped
                .iter()
                .map(|(reason, kind, count)| SkippedRecordsOut {
                    reason: reason.words(),
                    kind: kind.to_string(),
                    count,
                })
                .collect(),
            candidates: report.kept.iter().map(SyncedOut::from).collect(),
            waiting: report.waiting.iter().map(|path| path.display().to_string()).collect(),
            failed: report
                .failed
                .iter()
                .map(|failed| FailedFileOut {
                    path: failed.path.display().to_string(),
                    message: failed.message.clone(),
                })
                .collect(),
            embedding,
            model: None,
        }
    }
}

impl<'a> From<&'a Kept> for SyncedOut<'a> {
    fn from(kept: &'a Kept) -> SyncedOut<'a> {
        let decision = &kept.decision;
        SyncedOut {
            id: &decision.id,
            kind: kept.kind,
            title: &kept.title,
            entity: &kept.repository,
            source: &kept.source,
            place: &kept.place,
            said_at: Time(kept.at),
            confidence: kept.confidence,
            action: &decision.action,
            other: &decision.other,
            score: f64::from(decision.score) / THOUSANDTHS,
            reason: &decision.reason,
            confirms: kept.confirms,
            pending: decision.pending,
            held: decision.held,
        }
    }
}

/// What `sync` answers: what it did, or with `--memory-root` what a run did.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[allow(clippy::large_enum_variant, reason = "there is one, and it is printed at once")]
pub(crate) enum SyncAnswer<'a> {
    Sync(SyncOut<'a>),
    Run(TraceRunOut<'a>),
}

/// What a run over one trace did.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TraceRun")]
pub(crate) struct TraceRunOut<'a> {
    /// The run: the name of its folder.
    run: &'a str,
    /// Its folder.
    run_folder: String,
    /// What it was for.
    run_mode: &'static str,
    /// The files of the run, by their names without endings.
    artifacts: BTreeMap<&'a str, String>,
    /// How many candidates were added, updated a memory, or were known.
    counts: BTreeMap<&'static str, usize>,
    /// Files that were written in the memory's folder.
    written_memory_paths: Vec<String>,
    /// The summary of the session.
    summary_path: String,
    /// The trace.
    trace_path: String,
    /// The folder of the memory.
    memory_root: String,
    /// The folder of the runs.
    workspace_root: String,
    /// Why the records have no vectors, if that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    embedding: Option<String>,
}

impl<'a> TraceRunOut<'a> {
    pub(crate) fn of(done: &'a RunReport, embedding: Option<String>) -> TraceRunOut<'a> {
        let shown = |path: &PathBuf| path.display().to_string();
        TraceRunOut {
            run: &done.run_id,
            run_folder: shown(&done.run_folder),
            run_mode: done.run_mode.name(),
            artifacts: done
                .artifacts
                .iter()
                .map(|(name, path)| (name.as_str(), shown(path)))
                .collect(),
            counts: done.counts.clone(),
            written_memory_paths: done.written_memory_paths.iter().map(shown).collect(),
            summary_path: shown(&done.summary_path),
            trace_path: shown(&done.trace_path),
            memory_root: shown(&done.memory_root),
            workspace_root: shown(&done.workspace_root),
            embedding,
        }
    }
}

/// What a trace holds for later sessions.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Extracted")]
pub(crate) struct ExtractedOut<'a> {
    /// In the order in which they were said.
    pub(crate) candidates: Vec<CandidateOut<'a>>,
}

/// A candidate as the extraction pipeline puts it out: its names are those of its clients.
#[derive(Debug, Serialize)]
pub(crate) struct PipelineCandidateOut<'a> {
    primitive: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    title: &'a str,
    body: &'a str,
    confidence: f64,
    tags: &'a [String],
}

impl<'a> From<&'a Extracted> for PipelineCandidateOut<'a> {
    fn from(candidate: &'a Extracted) -> PipelineCandidateOut<'a> {
        PipelineCandidateOut {
            primitive: candidate.primitive,
            kind: candidate.kind,
            title: &candidate.title,
            body: &candidate.body,
            confidence: candidate.confidence,
            tags: &candidate.tags,
        }
    }
}

/// A summary that was written.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Summarised")]
pub(crate) struct SummarisedOut {
    /// The file.
    pub(crate) summary_path: String,
}

/// Something that a later session may need.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Candidate")]
pub(crate) struct CandidateOut<'a> {
    /// Whether it is a decision or something learned.
    #[schemars(extend("enum" = ["decision", "learning"]))]
    primitive: &'static str,
    /// What kind of learning it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["insight", "procedure", "friction", "pitfall", "preference"]))]
    kind: Option<&'static str>,
    /// Its type.
    #[serde(rename = "type")]
    memory_type: &'static str,
    /// It in one line.
    title: &'a str,
    /// The rule, why, and how to apply it.
    text: &'a str,
    /// How sure it is, from 0 to 1.
    confidence: f64,
    /// Tags.
    tags: &'a [String],
    /// Whose words it rests on.
    #[schemars(extend("enum" = ["user", "assistant", "tool", "injected"]))]
    said_by: &'static str,
    /// Lines of the file that hold it, such as `12` or `12-14`; `m3` is a message of a document.
    evidence: Vec<String>,
    /// When it was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    said_at: Option<Time>,
    /// Whether a later turn of the session took it back.
    reversed: bool,
}

impl<'a> From<&'a Candidate> for CandidateOut<'a> {
    fn from(candidate: &'a Candidate) -> CandidateOut<'a> {
        CandidateOut {
            primitive: candidate.kind.primitive(),
            kind: candidate.kind.kind(),
            memory_type: candidate.kind.name(),
            title: &candidate.title,
            text: &candidate.body,
            confidence: candidate.confidence,
            tags: &candidate.tags,
            said_by: match candidate.said_by {
                Speaker::User => "user",
                Speaker::Assistant => "assistant",
                Speaker::Tool => "tool",
                Speaker::Injected => "injected",
            },
            evidence: candidate.evidence.iter().map(ToString::to_string).collect(),
            said_at: candidate.at.map(Time),
            reversed: candidate.reversed,
        }
    }
}

/// A session as it is kept.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "KeptSession")]
pub(crate) struct KeptSessionOut<'a> {
    /// Its id.
    pub(crate) session: &'a str,
    /// Who wrote it.
    pub(crate) agent: &'a str,
    /// The file that it was read from.
    pub(crate) path: &'a str,
    /// What became of what it offered.
    pub(crate) decisions: Vec<SessionDecisionOut<'a>>,
    /// The session: where it ran, and its `turns` in the order of the file.
    pub(crate) original: &'a Map<String, Value>,
}

/// What became of a candidate of a session.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SessionDecision")]
pub(crate) struct SessionDecisionOut<'a> {
    /// Id of the fact that it would be.
    id: &'a str,
    /// What was done.
    #[schemars(extend("enum" = ["add", "update", "no_op", "supersede", "precede"]))]
    action: &'a str,
    /// Id of the known memory that it is about.
    #[serde(skip_serializing_if = "str::is_empty")]
    other: &'a str,
    /// How much the two texts overlap, from 0 to 1.
    score: f64,
    /// Why.
    reason: &'a str,
    /// Whether somebody has to decide.
    pending: bool,
    /// Whether it waits for review.
    held: bool,
}

impl<'a> SessionDecisionOut<'a> {
    pub(crate) fn all_of(session: &'a SessionState) -> Vec<SessionDecisionOut<'a>> {
        let one = |decision: &'a kapsa_traces::KeptDecision| SessionDecisionOut {
            id: &decision.id,
            action: &decision.action,
            other: &decision.other,
            score: f64::from(decision.score) / THOUSANDTHS,
            reason: &decision.reason,
            pending: decision.pending,
            held: decision.held,
        };
        session.decisions.iter().map(one).collect()
    }
}

/// What was synced.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SyncStatus")]
pub(crate) struct SyncStatusOut<'a> {
    /// Files that were read whole.
    pub(crate) read_count: usize,
    /// Files whose last record was still being written.
    pub(crate) waiting_count: usize,
    /// Files that could not be read.
    pub(crate) failed_count: usize,
    /// Sessions in all of them.
    pub(crate) session_count: usize,
    /// When a file was read last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) synced_at: Option<Time>,
    /// Files that are waiting or failed.
    pub(crate) files: Vec<SyncedFileOut<'a>>,
    /// The queue: files that are to be read, are being read, or could not be read.
    pub(crate) jobs: Vec<SyncJobOut<'a>>,
}

/// A file in the queue.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SyncJob")]
pub(crate) struct SyncJobOut<'a> {
    /// Its path.
    path: &'a str,
    /// How it stands. A dead letter is tried again when the file changes, or with `--force`.
    #[schemars(extend("enum" = ["pending", "running", "failed", "dead_letter"]))]
    state: &'static str,
    /// Attempts that failed.
    attempt_count: u32,
    /// Why the last one did.
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    /// When it is read, at the earliest.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_at: Option<Time>,
    /// Process that reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    /// The machine of that process.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a str>,
    /// When that process was seen at work last.
    #[serde(skip_serializing_if = "Option::is_none")]
    heartbeat_at: Option<Time>,
}

impl<'a> From<&'a Job> for SyncJobOut<'a> {
    fn from(job: &'a Job) -> SyncJobOut<'a> {
        let is_to_come = matches!(job.state, JobState::Pending | JobState::Failed);
        SyncJobOut {
            path: &job.path,
            state: job.state.name(),
            attempt_count: job.attempts,
            message: &job.error,
            next_at: is_to_come.then_some(Time(job.due_at)),
            pid: job.holder.as_ref().map(|holder| holder.pid),
            host: job.holder.as_ref().map(|holder| holder.host.as_str()),
            heartbeat_at: job.holder.as_ref().map(|_| Time(job.heartbeat_at)),
        }
    }
}

/// A file that was synced.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SyncedFile")]
pub(crate) struct SyncedFileOut<'a> {
    /// Its path.
    path: &'a str,
    /// How it stands.
    #[schemars(extend("enum" = ["read", "waiting", "failed"]))]
    state: &'static str,
    /// Why it could not be read.
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    /// When it was read.
    read_at: Time,
}

impl<'a> From<&'a TraceFile> for SyncedFileOut<'a> {
    fn from(file: &'a TraceFile) -> SyncedFileOut<'a> {
        SyncedFileOut {
            path: &file.path,
            state: match file.state {
                FileState::Read => "read",
                FileState::Waiting => "waiting",
                FileState::Failed => "failed",
            },
            message: &file.error,
            read_at: Time(file.read_at),
        }
    }
}

/// Where session traces are read.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Connect")]
pub(crate) struct ConnectOut {
    /// Whether nothing was remembered.
    pub(crate) dry_run: bool,
    /// The places, in the order in which they are read.
    pub(crate) connected: Vec<ConnectedOut>,
}

/// A place where session traces are read.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Connected")]
pub(crate) struct ConnectedOut {
    /// The file or folder.
    pub(crate) path: String,
    /// The agent that it was found for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<&'static str>,
    /// Whether it was not connected before.
    pub(crate) is_new: bool,
}

/// What upkeep did, or would do.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Maintain")]
pub(crate) struct MaintainOut<'a> {
    /// Whether nothing was changed.
    pub(crate) dry_run: bool,
    /// Memories that say what another one says, and are part of it now.
    pub(crate) merged: Vec<UpkeptOut<'a>>,
    /// Memories of one title whose texts became one.
    pub(crate) consolidated: Vec<UpkeptOut<'a>>,
    /// Memories that hold no more.
    pub(crate) archived: Vec<UpkeptOut<'a>>,
    /// Memories that were left alone.
    pub(crate) unchanged_count: u64,
}

/// A memory that upkeep changed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Upkept")]
pub(crate) struct UpkeptOut<'a> {
    /// Id of the fact.
    id: &'a str,
    /// It in one line.
    title: &'a str,
    /// Id of the fact that it is part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    into: Option<&'a str>,
    /// How much the two texts overlap, 0 to 1.
    score: f64,
    /// Why.
    reason: &'a str,
}

impl<'a> From<&'a Upkept> for UpkeptOut<'a> {
    fn from(upkept: &'a Upkept) -> UpkeptOut<'a> {
        UpkeptOut {
            id: &upkept.id,
            title: &upkept.title,
            into: upkept.into.as_deref(),
            score: upkept.score,
            reason: upkept.reason,
        }
    }
}

/// What a language model was asked in a sync.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SyncModel")]
pub(crate) struct SyncModelOut {
    /// The model.
    pub(crate) name: String,
    /// Requests that were made.
    pub(crate) request_count: u64,
    /// Tokens of the requests; of a program that counts none, estimated from their bytes.
    pub(crate) token_in_count: u64,
    /// Tokens of the answers, likewise.
    pub(crate) token_out_count: u64,
    /// Sessions that were read by rules because the model failed or its budget was used up.
    pub(crate) by_rules_count: u64,
    /// Why the model was given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failed: Option<String>,
}
