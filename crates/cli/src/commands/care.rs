//! `stats`, `doctor`, `salvage`, `compact`, `optimize` and `purge`: the capsule as a thing to be
//! cared for.

use std::path::Path;

use kapsa_memory::check::LostFile;
use kapsa_memory::request::{
    Diagnosis, Level, MaintenanceReport, RecordCounts, SalvageReport, Stats,
};
use kapsa_memory::{Coverage, Reader, check, checkpoint, policy, record_counts};

use crate::app::{self, App, Status, did};
use crate::args;
use crate::backend_kind::BackendKind;
use crate::backends::BackendSettings;
use crate::error::{CliError, Done, Result};
use crate::moment::readable;
use crate::out_file::expect_folder_of;
use crate::output::Output;
use crate::progress::Progress;
use crate::render::{counted, size};
use crate::wire::care::{
    self as wire, DoctorOut, MaintenanceOut, PurgeOut, SalvageOut, StatsOut, level_name,
};
use crate::{escape, locate, models};

/// Up to so many records everything is counted, asked for or not: that takes a moment.
const COUNTED_RECORDS_MAX: u64 = 10_000;
/// Line of `stats` that the counts come before.
const COUNTS_AT: usize = 7;

/// `kapsa stats`.
pub(crate) fn stats(app: &mut App, args: &args::Stats) -> Result<()> {
    let path = app.capsule()?;
    let reader = app.owner_reader_when(&args.when)?;
    let mut stats = kapsa_memory::stats(&reader, args.count)?;
    if !args.count && stats.last_sequence <= COUNTED_RECORDS_MAX {
        stats = kapsa_memory::stats(&reader, true)?;
    }
    let counts = record_counts(&reader)?;
    let coverage = reader.coverage()?;
    let settings = BackendSettings::find()?;
    if app.out.is_json() {
        let (backend, has_fallback) = (settings.backend.name(), settings.fallback);
        return app.out.json(&StatsOut::of(
            &path,
            (&stats, counts),
            &coverage,
            backend,
            has_fallback,
        ));
    }
    let lines =
        stats_for_people(&path, &stats, counts).into_iter().chain(vectors_for_people(&coverage));
    for (name, value) in lines.chain(backend_for_people(settings)) {
        app.out.faint(&format!("{name:<13}"))?;
        app.out.line(&value)?;
    }
    Ok(())
}

/// Which store serves the plain verbs; nothing where it is the capsule, as usual.
fn backend_for_people(settings: BackendSettings) -> Vec<(&'static str, String)> {
    let told = match (settings.backend, settings.fallback) {
        (BackendKind::Capsule, false) => return Vec::new(),
        (BackendKind::Capsule, true) => "capsule, else local-memory".to_string(),
        (backend, _) => format!("{}: put, find and get do not use this capsule", backend.name()),
    };
    vec![("backend", told)]
}

fn vectors_for_people(coverage: &Coverage) -> Vec<(&'static str, String)> {
    let Some(model) = &coverage.model else { return Vec::new() };
    let Coverage { covered, missing, bytes, .. } = coverage;
    let of = counted(covered + missing, "record");
    let mut lines = vec![(
        "vectors",
        format!("{covered} of {of}, {}, {}", escape::line(&model.name), size(*bytes)),
    )];
    if let Some((next, covered)) = &coverage.next {
        lines.push((
            "next model",
            format!("{}, {covered} of {of} (kapsa reembed continues)", escape::line(&next.name)),
        ));
    }
    lines
}

fn stats_for_people(
    path: &Path,
    stats: &Stats,
    counts: RecordCounts,
) -> Vec<(&'static str, String)> {
    let last = stats.last_commit_at.map_or_else(|| "never".to_string(), readable);
    let mut lines = vec![
        ("capsule", path.display().to_string()),
        ("id", stats.capsule_id.clone()),
        ("format", stats.format_version.to_string()),
        ("created", readable(stats.created_at)),
        ("last commit", last),
        ("size", size(stats.size_bytes)),
        ("records", counts.records.to_string()),
        ("commits", stats.commit_count.to_string()),
        (
            "index",
            format!(
                "{} in {}, {} not indexed yet",
                size(stats.index_bytes),
                counted(stats.segment_count as u64, "segment"),
                counts.tail_records
            ),
        ),
        ("compacted", counted(stats.generation.saturating_sub(1), "time")),
        ("chain", stats.chain.clone()),
    ];
    if let Some(text) = stats.text_bytes.filter(|&bytes| bytes > 0) {
        let times = stats.size_bytes as f64 / text as f64;
        lines.push(("text", format!("{}; the file is {times:.1} times as large", size(text))));
    }
    if let Some(ratio) = stats.dedup_ratio.filter(|ratio| *ratio > 1.0) {
        lines.push(("repeated", format!("{ratio:.2} times the size of distinct texts")));
    }
    if stats.torn_bytes > 0 {
        lines.push((
            "torn",
            format!("{} after the newest commit, removed by the next put", size(stats.torn_bytes)),
        ));
    }
    let counts = [
        ("live URIs", stats.uri_count),
        ("branches", stats.branch_count),
        ("checkpoints", stats.checkpoint_count),
        ("events", stats.event_count),
    ];
    for (at, (name, count)) in counts.into_iter().enumerate() {
        if let Some(count) = count {
            lines.insert(COUNTS_AT + at, (name, count.to_string()));
        }
    }
    lines
}

/// `kapsa doctor`.
pub(crate) fn doctor(app: &mut App) -> Result<Status> {
    let path = match app.capsule() {
        Err(error) if error.code == "no_capsule" => locate::workspace(),
        found => found?,
    };
    let mut findings = check::doctor(&path);
    findings.extend(last_checkpoint(&path));
    findings.extend(lacking_vectors(&path));
    findings.extend(lacking_model(&path));
    findings.extend(changed_policies(&path));
    if app.out.is_json() {
        app.out.json(&DoctorOut::of(&path, &findings))?;
    } else {
        doctor_for_people(&mut app.out, &path, &findings)?;
    }
    let unwell = findings.iter().any(|found| found.level == Level::Error);
    Ok(if unwell { Status::Unwell } else { Status::Done })
}

/// The newest checkpoint that can be read, to go back to. A capsule that cannot be read is
/// diagnosed
/// elsewhere.
fn last_checkpoint(path: &Path) -> Option<Diagnosis> {
    let last = checkpoint::list(&Reader::open(path).ok()?, true).ok()?.pop()?;
    let label = if last.label.is_empty() { String::new() } else { format!(" ({})", last.label) };
    let message = format!(
        "the last good checkpoint is {}{label}, #{} on {}",
        last.id, last.sequence, last.branch
    );
    Some(Diagnosis {
        level: Level::Info,
        code: "last_checkpoint",
        message: escape::line(&message).into_owned(),
        hint: None,
    })
}

/// Records that search by meaning does not see yet. A capsule that cannot be read is diagnosed
/// elsewhere.
fn lacking_vectors(path: &Path) -> Option<Diagnosis> {
    let coverage = Reader::open(path).ok()?.coverage().ok()?;
    if coverage.missing == 0 {
        return None;
    }
    let of = counted(coverage.covered + coverage.missing, "record");
    let message = format!("{} of {of} lack vectors: only words find them", coverage.missing);
    Some(Diagnosis {
        level: Level::Info,
        code: "vectors_missing",
        message,
        hint: Some("run kapsa embed".to_string()),
    })
}

/// The model of the vectors, if it is not on this machine: then only words find anything. A capsule
/// that cannot be read is diagnosed elsewhere.
fn lacking_model(path: &Path) -> Option<Diagnosis> {
    let model = Reader::open(path).ok()?.raw().model().ok()??;
    let CliError { code, message, hint, .. } = models::expect_installed(&model).err()?;
    Some(Diagnosis { level: Level::Warning, code, message, hint })
}

/// Policies that are not what was captured. A capsule that cannot be read is diagnosed elsewhere.
fn changed_policies(path: &Path) -> Vec<Diagnosis> {
    let changed = Reader::open(path).and_then(|reader| policy::changed(&reader));
    let diagnosis = |id: String| Diagnosis {
        level: Level::Error,
        code: "policy_changed",
        message: format!("policy {id} was changed after it was captured"),
        hint: Some(format!("kapsa history policy/{id} shows its revisions")),
    };
    changed.unwrap_or_default().into_iter().map(diagnosis).collect()
}

fn doctor_for_people(out: &mut Output, path: &Path, findings: &[Diagnosis]) -> Result<()> {
    out.line(&format!("{}: {}", path.display(), wire::status(findings)))?;
    for found in findings {
        out.line(&format!("  {} ({}): {}", level_name(found.level), found.code, found.message))?;
        if let Some(hint) = &found.hint {
            out.line(&format!("    hint: {hint}"))?;
        }
    }
    Ok(())
}

/// `kapsa salvage`.
pub(crate) fn salvage(app: &mut App, args: &args::Salvage) -> Result<Status> {
    let path = app.capsule()?;
    expect_folder_of(&args.to)?;
    let mut progress = Progress::new("salvaging", &app.out);
    let options = app.write_options(None);
    let report = kapsa_memory::salvage(&path, &args.to, &options, &mut |done, total| {
        progress.set(done, total)
    })?;
    drop(progress);
    let incomplete = check::lost_files(&args.to)?;
    did(app, Done::new(format!("salvaged {}", counted(report.records, "record"))));
    if app.out.is_json() {
        app.out.json(&SalvageOut::of(&path, &args.to, &report, &incomplete))?;
    } else {
        incomplete_for_people(&mut app.out, &incomplete)?;
        salvage_for_people(&mut app.out, &args.to, &report)?;
    }
    Ok(if report.lost_records == 0 && !report.incomplete { Status::Done } else { Status::Unwell })
}

/// Names the files of which a part is missing.
pub(crate) fn incomplete_for_people(out: &mut Output, files: &[LostFile]) -> Result<()> {
    for LostFile { uri, sequence } in files {
        out.line(&format!(
            "incomplete: a part of the file of {uri} (#{sequence}) is missing; put the file again"
        ))?;
    }
    Ok(())
}

fn salvage_for_people(out: &mut Output, to: &Path, report: &SalvageReport) -> Result<()> {
    for problem in &report.problems {
        out.line(&format!("damaged: byte {}: {}", problem.offset, problem.what))?;
    }
    for lost in &report.lost {
        let last = lost.end - 1;
        let which = if lost.start == last {
            format!("record {last}")
        } else {
            format!("records {} to {last}", lost.start)
        };
        out.line(&format!("lost: {which}"))?;
    }
    if report.unfinished > 0 {
        out.line(&format!(
            "left out: {} of a write that was never finished",
            counted(report.unfinished, "record")
        ))?;
    }
    let records = counted(report.records, "record");
    let more = if report.incomplete { "; newer records may be missing too" } else { "" };
    out.line(&format!("{}: {records} copied, {} lost{more}", to.display(), report.lost_records))
}

/// `kapsa optimize`.
pub(crate) fn optimize(app: &mut App, args: &args::Optimize) -> Result<()> {
    let path = app.capsule()?;
    let mut progress = Progress::new("optimising", &app.out);
    let options = app.write_options(None);
    let mut set = |done, total| progress.set(done, total);
    let replaced_min = args.replaced_min.unwrap_or(kapsa_memory::REPLACED_BYTES_MIN);
    let report = match args.due {
        true => kapsa_memory::upkeep(&path, &options, replaced_min, &mut set),
        false => kapsa_memory::optimize(&path, &options, &mut set),
    }?;
    drop(progress);
    maintained(app, &path, &report)
}

/// `kapsa compact`.
pub(crate) fn compact(app: &mut App) -> Result<()> {
    let path = app.capsule()?;
    let mut progress = Progress::new("compacting", &app.out);
    let report = app.keeper(&path)?.compact(&mut |done, total| progress.set(done, total))?;
    drop(progress);
    maintained(app, &path, &report)
}

fn maintained(app: &mut App, path: &Path, report: &MaintenanceReport) -> Result<()> {
    did(app, Done::new(format!("rewrote {}", path.display())));
    if app.out.is_json() {
        return app.out.json(&MaintenanceOut::of(path, report));
    }
    app.out.line(&format!(
        "file      {} -> {}",
        size(report.bytes_before),
        size(report.bytes_after)
    ))?;
    app.out.line(&format!("segments  {} -> {}", report.segments_before, report.segments_after))?;
    if report.purged > 0 {
        app.out.line(&format!("erased    {}", counted(report.purged, "record")))?;
    }
    Ok(())
}

/// `kapsa purge`.
pub(crate) fn purge(app: &mut App, args: &args::Purge) -> Result<()> {
    let uri = app::uri(&args.uri)?;
    let path = app.capsule()?;
    if !args.yes && !confirmed(&mut app.out, uri.short())? {
        app.out.note("nothing was erased");
        return Ok(());
    }
    let revisions = kapsa_memory::purge(&mut app.owner_writer(&path, None)?, &uri)?;
    did(app, Done::new(format!("marked {} for erasure", counted(revisions, "revision"))));
    if app.out.is_json() {
        return app.out.json(&PurgeOut { uri: uri.as_str(), revision_count: revisions });
    }
    app.out.line(&format!(
        "{}  {} marked for erasure; kapsa compact erases what is marked",
        uri.short(),
        counted(revisions, "revision")
    ))
}

fn confirmed(out: &mut Output, uri: &str) -> Result<bool> {
    let question = format!("erase every revision of {uri} for good?");
    out.ask(&question).ok_or_else(|| {
        CliError::user("confirmation_required", "purge erases for good and must be confirmed")
            .hint(format!("kapsa purge {uri} --yes"))
    })
}
