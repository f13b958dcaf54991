//! `trace extract` and `trace summarise` as the pipelines that other programs call: same flags,
//! same answers. Knows no capsule.

use std::fs;
use std::path::{Path, PathBuf};

use kapsa_traces::{
    Extractor, SessionMetadata, check_session_file, extract_trace, summarise_trace,
};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::app::App;
use crate::args::{PipelineArgs, SummariseArgs};
use crate::commands::traces::absolute;
use crate::error::{CliError, Result};
use crate::locate;
use crate::moment;
use crate::out_file::{OutFile, is_standard_output};
use crate::trace_config::TraceConfig;
use crate::wire::show;
use crate::wire::traces::{PipelineCandidateOut, SummarisedOut};

/// The candidates of a trace, as an array.
pub(crate) fn extract(app: &mut App, file: Option<&Path>, asked: &PipelineArgs) -> Result<()> {
    let trace = trace_of(file, asked)?;
    let answer = AnswerPlace::at(app, asked.output.as_deref())?;
    let found = extract_trace(&trace, &Extractor::default(), moment::now())?;
    let candidates: Vec<_> = found.iter().map(PipelineCandidateOut::from).collect();
    answer.give(app, &candidates)
}

/// `kapsa trace summarise`.
pub(crate) fn summarise(app: &mut App, args: &SummariseArgs) -> Result<()> {
    let Some(memory_root) = &args.memory_root else {
        return Err(CliError::usage("--memory-root is required: the summary is a file below it"));
    };
    if !TraceConfig::find()?.writes_memory {
        return Err(CliError::user("memory_write_off", TraceConfig::no_writes()));
    }
    let trace = trace_of(args.file.as_deref(), &args.pipeline)?;
    let answer = AnswerPlace::at(app, args.pipeline.output.as_deref())?;
    let metadata = metadata(args.pipeline.metadata_json.as_ref())?;
    let random = kapsa_memory::random_id();
    let chance = u32::from_le_bytes([random[0], random[1], random[2], random[3]]);
    let (extractor, now) = (Extractor::default(), moment::now());
    let memory_root = absolute(memory_root)?;
    let path = summarise_trace(&trace, &memory_root, &metadata, &extractor, now, chance)?;
    let is_for_people =
        matches!(answer, AnswerPlace::Standard) && args.file.is_some() && !app.out.is_json();
    if is_for_people {
        return app.out.line(&path.display().to_string());
    }
    answer.give(app, &SummarisedOut { summary_path: show(&path) })
}

/// The file that is read, by a path that means the same in every folder.
fn trace_of(file: Option<&Path>, asked: &PipelineArgs) -> Result<PathBuf> {
    let named = file.or(asked.trace_path.as_deref());
    let trace = named.ok_or_else(|| {
        CliError::usage("name a file of session traces, with --trace-path or alone")
    })?;
    check_session_file(trace)?;
    absolute(trace)
}

/// What is used of the metadata of a session. Other keys are passed over.
fn metadata(given: Option<&Map<String, Value>>) -> Result<SessionMetadata> {
    let text = |key: &str| match given.and_then(|given| given.get(key)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.trim().to_string()).filter(|it| !it.is_empty())),
        Some(_) => Err(CliError::usage(format!("--metadata-json: `{key}` must be a string"))),
    };
    Ok(SessionMetadata {
        run_id: text("run_id")?,
        repo_name: text("repo_name")?,
        coding_agent: text("coding_agent")?,
    })
}

/// Where an answer goes.
enum AnswerPlace {
    Standard,
    File(OutFile),
}

impl AnswerPlace {
    /// Looks at what is there now, so that a place that cannot be written costs nothing else.
    fn at(app: &App, output: Option<&Path>) -> Result<AnswerPlace> {
        let Some(output) = output.filter(|output| !is_standard_output(output)) else {
            return Ok(AnswerPlace::Standard);
        };
        if let Some(folder) = output.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)
                .map_err(|error| CliError::io(&format!("make {}", folder.display()), &error))?;
        }
        // May be dropped: without a capsule there is none to protect, and nothing else needs one.
        let capsule = app.capsule().unwrap_or_else(|_none| locate::WORKSPACE_FILE.into());
        Ok(AnswerPlace::File(OutFile::at(output, &capsule)?))
    }

    fn give(&self, app: &mut App, answer: &impl Serialize) -> Result<()> {
        let AnswerPlace::File(file) = self else { return app.out.json(answer) };
        let mut text = serde_json::to_vec_pretty(answer).map_err(|error| {
            CliError::system("internal", format!("the answer is no JSON: {error}"))
        })?;
        text.push(b'\n');
        file.write(&text)
    }
}
