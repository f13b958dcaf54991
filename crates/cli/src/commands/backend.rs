//! `backend compare`: the same questions to two stores, and whether the second one answers as well
//! as the first, and fast enough.

use std::time::{Duration, Instant};

use kapsa_memory::Uri;
use serde::Deserialize;

use super::capsule_store::CapsuleStore;
use crate::app::{App, Status};
use crate::args::{BackendVerb, CompareBackends};
use crate::backend_kind::BackendKind;
use crate::backends::{self, Backend, StoredText};
use crate::config_file::read_text;
use crate::error::{CliError, Result};
use crate::render::counted;
use crate::wire::backend::{ComparedOut, MeasuredOut};

/// How much of the reference's precision, recall and reciprocal rank the candidate must reach.
const SHARE_MIN: f64 = 0.95;
/// Largest file of questions, in bytes.
const GOLDEN_BYTES_MAX: u64 = 16 << 20;
/// Exit code of a candidate that is worse.
const WORSE: u8 = 1;

/// A question with what answers it: ids, or parts of texts.
#[derive(Deserialize)]
struct Golden {
    query: String,
    relevant: Vec<String>,
}

/// What was measured of a store.
struct Measured {
    precision: f64,
    recall: f64,
    reciprocal_rank: f64,
    p95: Duration,
}

/// `kapsa backend`.
pub(crate) fn run(app: &mut App, verb: &BackendVerb) -> Result<Status> {
    let BackendVerb::Compare(args) = verb;
    let questions = questions(args)?;
    let reference = measured(&*opened(app, args.reference)?, &questions, args.k)?;
    let candidate = measured(&*opened(app, args.candidate)?, &questions, args.k)?;
    let failures = failures(&reference, &candidate, Duration::from_millis(args.p95));
    let status = if failures.is_empty() { Status::Done } else { Status::Told(WORSE) };
    if app.out.is_json() {
        app.out.json(&ComparedOut {
            query_count: questions.len() as u64,
            limit: args.k as u64,
            passed: failures.is_empty(),
            failures,
            reference: shown(args.reference.name(), &reference),
            candidate: shown(args.candidate.name(), &candidate),
        })?;
        return Ok(status);
    }
    app.out.line(&counted(questions.len() as u64, "question"))?;
    for (name, measured) in
        [(args.reference.name(), &reference), (args.candidate.name(), &candidate)]
    {
        app.out.line(&format!(
            "{name:<13} P@{k} {:.3}  R@{k} {:.3}  MRR {:.3}  p95 {} ms",
            measured.precision,
            measured.recall,
            measured.reciprocal_rank,
            measured.p95.as_millis(),
            k = args.k
        ))?;
    }
    for failure in &failures {
        app.out.line(failure)?;
    }
    Ok(status)
}

fn opened(app: &App, kind: BackendKind) -> Result<Box<dyn Backend + '_>> {
    match backends::other(app, kind)? {
        Some(backend) => Ok(backend),
        None => Ok(Box::new(CapsuleStore::open(app)?)),
    }
}

fn questions(args: &CompareBackends) -> Result<Vec<Golden>> {
    let text = read_text(&args.golden, GOLDEN_BYTES_MAX)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let questions = lines.map(|(at, line)| {
        serde_json::from_str(line).map_err(|error| {
            let message = format!("{}, line {}: {error}", args.golden.display(), at + 1);
            CliError::user("invalid_json", message)
                .hint(r#"a line is {"query": "…", "relevant": ["an id, or a part of a text"]}"#)
        })
    });
    let questions: Vec<Golden> = questions.collect::<Result<_>>()?;
    if questions.iter().all(|golden| golden.relevant.is_empty()) {
        let message = format!("{} has no question with an answer", args.golden.display());
        return Err(CliError::user("invalid_json", message));
    }
    Ok(questions)
}

fn measured(backend: &dyn Backend, questions: &[Golden], k: usize) -> Result<Measured> {
    let (mut precision, mut recall, mut reciprocal_rank) = (0.0, 0.0, 0.0);
    let (mut times, mut count) = (Vec::new(), 0);
    for golden in questions.iter().filter(|golden| !golden.relevant.is_empty()) {
        let begun = Instant::now();
        let hits = backend.find(&golden.query, k)?;
        times.push(begun.elapsed());
        count += 1;
        let answers = |hit: &StoredText| golden.relevant.iter().any(|wanted| is_meant(hit, wanted));
        let found = hits.iter().filter(|hit| answers(hit)).count();
        let wanted = golden.relevant.iter();
        let reached = wanted.filter(|wanted| hits.iter().any(|hit| is_meant(hit, wanted))).count();
        precision += ratio(found, k);
        recall += ratio(reached, golden.relevant.len());
        let first = hits.iter().position(answers);
        reciprocal_rank += first.map_or(0.0, |at| ratio(1, at + 1));
    }
    times.sort();
    let at = (times.len() * 95).div_ceil(100).saturating_sub(1);
    let mean = |sum: f64| sum / f64::from(count);
    Ok(Measured {
        precision: mean(precision),
        recall: mean(recall),
        reciprocal_rank: mean(reciprocal_rank),
        p95: times.get(at).copied().unwrap_or_default(),
    })
}

#[expect(clippy::cast_precision_loss, reason = "hits are counted")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// Whether a hit is one that was named: by its id, however short, or by a part of its text.
fn is_meant(hit: &StoredText, wanted: &str) -> bool {
    let canonical = || Uri::parse(wanted).is_ok_and(|uri| uri.as_str() == hit.id);
    !wanted.is_empty() && (hit.id == wanted || hit.text.contains(wanted) || canonical())
}

/// What the candidate does not reach.
fn failures(reference: &Measured, candidate: &Measured, p95_max: Duration) -> Vec<String> {
    let parts = [
        ("precision", reference.precision, candidate.precision),
        ("recall", reference.recall, candidate.recall),
        ("reciprocal rank", reference.reciprocal_rank, candidate.reciprocal_rank),
    ];
    let worse = parts.into_iter().filter(|(_, least, is)| *is < least * SHARE_MIN);
    let mut failures: Vec<String> = worse
        .map(|(what, least, is)| format!("{what} {is:.3} is below {SHARE_MIN} of {least:.3}"))
        .collect();
    if candidate.p95 >= p95_max {
        let (is, most) = (candidate.p95.as_millis(), p95_max.as_millis());
        failures.push(format!("95 of 100 answers take up to {is} ms, not under {most} ms"));
    }
    failures
}

fn shown(backend: &'static str, measured: &Measured) -> MeasuredOut {
    MeasuredOut {
        backend,
        precision: measured.precision,
        recall: measured.recall,
        reciprocal_rank: measured.reciprocal_rank,
        p95_ms: measured.p95.as_secs_f64() * 1e3,
    }
}
