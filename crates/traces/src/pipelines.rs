//! The two pipelines of a run, each by itself: what a trace holds for later sessions, and its
//! summary as a file of the memory. Knows no capsule, and decides nothing.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use kapsa_extract::{Candidate, legible};
use kapsa_ingest::Session;
use kapsa_memory::Micros;
use kapsa_notes::{MemoryFolder, NewSummary, Note, RunFolder, RunMode, Stamp};
use kapsa_redact::redact;

use crate::error::{Error, Result};
use crate::known::{Offer, Origin};
use crate::repositories::Repositories;
use crate::sync::{Extractor, is_own, source_of};
use crate::view::stamp;

/// What a trace holds for later sessions, as the extraction pipeline puts it out.
#[derive(Clone, Debug, PartialEq)]
pub struct Extracted {
    /// `decision` or `learning`.
    pub primitive: &'static str,
    /// What kind of learning it is; none for a decision.
    pub kind: Option<&'static str>,
    /// It in one line, redacted.
    pub title: String,
    /// The rule, why, and how to apply it, redacted; never empty.
    pub body: String,
    /// How sure it is, 0 to 1.
    pub confidence: f64,
    /// Tags.
    pub tags: Vec<String>,
}

/// What is said of a session by whoever asks for its summary; what is none is read from the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionMetadata {
    /// The run that asks; otherwise the summary gets a name of its own.
    pub run_id: Option<String>,
    /// The repository that the session was about.
    pub repo_name: Option<String>,
    /// The program whose session it was.
    pub coding_agent: Option<String>,
}

/// The candidates of a trace, without those that it takes back itself. An empty file has none.
///
/// # Errors
/// [`Error::SessionFileMissing`], also for a folder; [`Error::NoTrace`]; [`Error::Trace`].
pub fn extract_trace(
    trace: &Path,
    extractor: &Extractor<'_>,
    now: Micros,
) -> Result<Vec<Extracted>> {
    let held = read(trace, extractor, now)?;
    let one = |(candidate, offer): &(Candidate, Offer)| Extracted {
        primitive: offer.kind.primitive(),
        kind: offer.kind.kind(),
        title: offer.title.clone(),
        body: body_of(candidate),
        confidence: offer.confidence,
        tags: offer.tags.clone(),
    };
    Ok(held.offers.iter().map(one).collect())
}

/// Writes the summary of a trace as a new file below `memory_root`, and returns where it is.
/// `chance` is any number, by which a summary is named that no run asks for.
///
/// # Errors
/// As [`extract_trace`]; [`Error::EmptyTrace`]; what the folder reports.
pub fn summarise_trace(
    trace: &Path,
    memory_root: &Path,
    metadata: &SessionMetadata,
    extractor: &Extractor<'_>,
    now: Micros,
    chance: u32,
) -> Result<PathBuf> {
    let held = read(trace, extractor, now)?;
    let at = stamp(now)?;
    let own_id = RunFolder::id_of(RunMode::Sync, &at, chance);
    let repository = metadata.repo_name.clone().unwrap_or_else(|| held.repository.clone());
    let origin = SummaryOrigin {
        trace_path: trace,
        run_id: metadata.run_id.as_deref().unwrap_or(&own_id),
        repository: &repository,
        coding_agent: metadata.coding_agent.as_deref(),
    };
    let short_id = own_id.rsplit('-').next().unwrap_or_default();
    held.write_summary(&MemoryFolder::at(memory_root), &origin, &at, short_id)
}

/// Whether a file can be given to a pipeline at all.
///
/// # Errors
/// [`Error::SessionFileMissing`].
pub fn check_session_file(trace: &Path) -> Result<()> {
    match fs::metadata(trace).is_ok_and(|found| found.is_file()) {
        true => Ok(()),
        false => Err(Error::SessionFileMissing { path: trace.to_path_buf() }),
    }
}

/// What a trace holds.
#[derive(Default)]
pub(crate) struct Held {
    sessions: Vec<Session>,
    /// The repository of the first one.
    pub(crate) repository: String,
    pub(crate) offers: Vec<(Candidate, Offer)>,
    /// What each session was found to hold, by its id, what it takes back included.
    pub(crate) found: BTreeMap<String, Vec<Candidate>>,
}

/// Where a summary comes from.
pub(crate) struct SummaryOrigin<'a> {
    pub(crate) trace_path: &'a Path,
    pub(crate) run_id: &'a str,
    pub(crate) repository: &'a str,
    /// None where the trace tells.
    pub(crate) coding_agent: Option<&'a str>,
}

/// Reads a trace whole.
pub(crate) fn held_by(
    trace: &Path,
    extractor: &Extractor<'_>,
    repositories: &Repositories,
    now: Micros,
) -> Result<Held> {
    Ok(gathered(trace, extractor, repositories, now)?.0)
}

/// Reads a trace whole; what is empty holds nothing, and what is none is named.
fn read(trace: &Path, extractor: &Extractor<'_>, now: Micros) -> Result<Held> {
    check_session_file(trace)?;
    if is_blank(trace)? {
        return Ok(Held::default());
    }
    match gathered(trace, extractor, &Repositories::default(), now)? {
        (_, false) => Err(Error::NoTrace { path: trace.to_path_buf() }),
        (held, true) => Ok(held),
    }
}

/// What a trace holds, and whether its format is known.
fn gathered(
    trace: &Path,
    extractor: &Extractor<'_>,
    repositories: &Repositories,
    now: Micros,
) -> Result<(Held, bool)> {
    let mut held = Held::default();
    let path = trace.to_string_lossy().into_owned();
    let reading = kapsa_ingest::sessions(trace, &mut |session| {
        if is_own(&session) {
            return ControlFlow::Continue(());
        }
        let (source, repository) = (source_of(&session), repositories.name(&session));
        if held.sessions.is_empty() {
            held.repository.clone_from(&repository);
        }
        let origin = Origin {
            source: &source,
            repository: &repository,
            path: &path,
            at: session.started.unwrap_or(now),
        };
        let found = (extractor.extract)(&session);
        held.offers.extend(found.iter().filter(|one| !one.reversed).map(|one| {
            let offer = Offer::of(one, &origin);
            (one.clone(), offer)
        }));
        held.found.entry(session.id.clone()).or_default().extend(found);
        held.sessions.push(session);
        ControlFlow::Continue(())
    })?;
    Ok((held, reading.format.is_some()))
}

/// Whether there is nothing in a file but blanks.
fn is_blank(path: &Path) -> Result<bool> {
    let failed = |source| {
        let path = path.to_path_buf();
        Error::Notes(kapsa_notes::Error::Io { action: "read", path, source })
    };
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    loop {
        let bytes = file.fill_buf().map_err(failed)?;
        if bytes.is_empty() {
            return Ok(true);
        }
        if !bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(false);
        }
        let read = bytes.len();
        file.consume(read);
    }
}

/// The whole text of a candidate; candidates are redacted where they are found, and looked at once
/// more.
pub(crate) fn body_of(candidate: &Candidate) -> String {
    let body = candidate.body.trim();
    let body = redact(if body.is_empty() { &candidate.title } else { body }).text;
    legible(&body).into_owned()
}

impl Held {
    /// The session that tells what a trace was about: the longest one that no agent started.
    fn told_by(&self) -> Option<&Session> {
        self.sessions.iter().max_by_key(|session| (session.parent.is_none(), session.turns.len()))
    }

    /// Writes the summary as a new file.
    pub(crate) fn write_summary(
        &self,
        folder: &MemoryFolder,
        origin: &SummaryOrigin<'_>,
        now: &Stamp,
        short_id: &str,
    ) -> Result<PathBuf> {
        let session = self.told_by().ok_or(Error::EmptyTrace)?;
        let summary = kapsa_extract::summarise(session);
        let title = match summary.title.is_empty() {
            true => format!("Session {}", session.id),
            false => summary.title,
        };
        let related: Vec<String> =
            self.offers.iter().map(|(_, offer)| kapsa_notes::slug(&offer.title)).collect();
        let path = origin.trace_path.to_string_lossy();
        let new = NewSummary {
            title: &title,
            description: if summary.description.is_empty() { &title } else { &summary.description },
            body: if summary.text.is_empty() { &title } else { &summary.text },
            coding_agent: origin.coding_agent.unwrap_or_else(|| session.agent.name()),
            raw_trace_path: &path,
            run_id: origin.run_id,
            repo_name: origin.repository,
            related: &related,
            tags: &[],
        };
        let note = Note::summary(&new, now).map_err(|source| {
            Error::from(kapsa_notes::Error::Note { path: folder.root().to_path_buf(), source })
        })?;
        Ok(folder.add_summary(note, now, short_id)?.path)
    }
}
