//! `tour`: the main job from end to end, on real documents, in a temporary folder.
//!
//! It uses nothing that the other verbs do not; what it shows can be typed again afterwards, since
//! the capsule is kept.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kapsa_embed::LocalEmbedder;
use kapsa_memory::request::{FindRequest, Hit, Put, VerifyReport};
use kapsa_memory::{
    EmbedRequest, NewRecord, Reader, Record, Uri, check, document, embed, put_source, stats,
};
use kapsa_model::Embedder;

use crate::app::App;
use crate::commands::documents::{self, Project, Skipped};
use crate::error::{CliError, Result};
use crate::moment::readable;
use crate::output::{Output, Piece};
use crate::progress::Progress;
use crate::render::{self, counted, headline, place, size};
use crate::wire::care::VerifyOut;
use crate::wire::tour::{DocumentOut, QuestionOut, Step, TourHitOut, TourOut};
use crate::wire::{PutOut, RecordOut, show};

/// What is asked of the documents.
const QUESTIONS: [&str; 4] = [
    "what happens when the power fails in the middle of a write",
    "can readers and a writer work at the same time",
    "how is a record erased for good",
    "+capsule \"one file\"",
];
const HITS_PER_QUESTION: usize = 2;
/// Longest passage shown, so that a line stays below 90 columns.
const SNIPPET_CHARS: usize = 72;
/// Longest heading shown beside the place it stands at.
const HEADING_CHARS_MAX: usize = 44;
const TITLE_WIDTH: usize = 66;
/// Longest document that is remembered; what is longer is a reference for programs.
const DOCUMENT_BYTES_MAX: usize = 64 << 10;
/// What is remembered when no documents lie in the current folder.
const EMBEDDED: [(&str, &str); 2] = [
    ("README.md", include_str!(concat!(env!("OUT_DIR"), "/README.md"))),
    ("CHANGELOG.md", include_str!(concat!(env!("OUT_DIR"), "/CHANGELOG.md"))),
];
const NOTE_URI: &str = "note/tour";
const FIRST_THOUGHT: &str = "The tour asks four questions.";
const SECOND_THOUGHT: &str =
    "The tour asks four questions, then changes its mind about this record and proves that it did.";

/// `kapsa tour`.
pub(crate) fn run(app: &mut App) -> Result<()> {
    let folder = make_folder()?;
    let path = folder.join("tour.kapsa");
    let mut report = Report::default();
    make(app, &path, &mut report)?;
    remember(app, &path, &mut report)?;
    let embedder = understand(app, &path, &mut report)?;
    ask(app, &path, &embedder, &mut report)?;
    let puts = revise(app, &path, &mut report)?;
    look_back(app, &path, &puts, &mut report)?;
    prove(app, &path, &mut report)?;
    farewell(app, &path, &report)
}

/// What the steps did and took.
#[derive(Debug, Default)]
struct Report {
    steps: Vec<Step>,
    documents: Vec<DocumentOut>,
    answers: Vec<TourAnswer>,
    history: Vec<Record>,
    verified: VerifyReport,
}

/// What was found for a question.
#[derive(Debug)]
struct TourAnswer {
    query: &'static str,
    hits: Vec<Hit>,
    took: Duration,
}

impl Report {
    /// What programs are shown.
    fn out<'a>(&'a self, path: &Path, next: &'a [String]) -> TourOut<'a> {
        let question = |answer: &'a TourAnswer| QuestionOut {
            query: answer.query,
            duration_ms: milliseconds(answer.took),
            hits: answer.hits.iter().map(TourHitOut::from).collect(),
        };
        TourOut {
            capsule_path: show(path),
            steps: &self.steps,
            documents: &self.documents,
            questions: self.answers.iter().map(question).collect(),
            history: self.history.iter().map(RecordOut::whole).collect(),
            verify: VerifyOut::of(path, &self.verified, &[]),
            next,
        }
    }

    /// Notes a step that is done, and shows it to people.
    fn step(
        &mut self,
        out: &mut Output,
        name: &'static str,
        title: &str,
        took: Duration,
    ) -> Result<()> {
        self.steps.push(Step { name, duration_ms: milliseconds(took) });
        if out.is_json() {
            return Ok(());
        }
        let number = self.steps.len();
        let title = format!("{number}. {title}");
        out.text("\n")?;
        out.strong(&format!("{title:<TITLE_WIDTH$}"))?;
        out.faint(&format!("{:>12}", duration(took)))?;
        out.text("\n")
    }
}

fn milliseconds(took: Duration) -> f64 {
    (took.as_secs_f64() * 1e6).round() / 1e3
}

fn duration(took: Duration) -> String {
    format!("{:.2} ms", took.as_secs_f64() * 1e3)
}

/// Prints a line below a step, to people only.
fn say(out: &mut Output, text: &str) -> Result<()> {
    if out.is_json() { Ok(()) } else { out.line(&format!("   {text}")) }
}

/// A new folder that nobody else can write to.
fn make_folder() -> Result<PathBuf> {
    let made = tempfile::Builder::new().prefix("kapsa-tour-").tempdir();
    Ok(made.map_err(|error| CliError::io("make a temporary folder", &error))?.keep())
}

fn make(app: &mut App, path: &Path, report: &mut Report) -> Result<()> {
    let begun = Instant::now();
    kapsa_memory::create(path, &app.write_options(None))?;
    report.step(
        &mut app.out,
        "create",
        "Make a capsule: one file, nothing to install or run",
        begun.elapsed(),
    )?;
    say(&mut app.out, &show(path))
}

fn remember(app: &mut App, path: &Path, report: &mut Report) -> Result<()> {
    let (texts, from) = sources()?;
    let begun = Instant::now();
    let mut writer = app.keeper(path)?;
    for (name, text) in &texts {
        let put = put_source(&mut writer, name, document::cut(name, text)?)?;
        report.documents.push(DocumentOut { name: name.clone(), passage_count: put.puts.len() });
    }
    drop(writer);
    let title = format!(
        "Remember {}, cut at headings and paragraphs",
        counted(texts.len() as u64, "document")
    );
    report.step(&mut app.out, "remember", &title, begun.elapsed())?;
    say(&mut app.out, from)?;
    let width = report.documents.iter().map(|d| d.name.chars().count()).max().unwrap_or(0);
    for document in &report.documents {
        say(
            &mut app.out,
            &format!("{:<width$}  {:>5} passages", document.name, document.passage_count),
        )?;
    }
    Ok(())
}

/// The documents of the current folder where it has some, else those that this program carries.
fn sources() -> Result<(Vec<(String, String)>, &'static str)> {
    let candidates = ["README.md", "CHANGELOG.md", "docs"].map(PathBuf::from);
    let present: Vec<_> = candidates.into_iter().filter(|path| path.exists()).collect();
    let (project, mut skipped) = (Project::at(Path::new(".")), Skipped::default());
    let found = documents::gather(&present, &project, &mut skipped)?;
    // What cannot be read, or is a reference rather than something to read, has no part in a tour.
    let texts: Vec<_> = found
        .into_iter()
        .filter_map(|d| Some((d.name, documents::read(&d.path).ok()?)))
        .filter(|(_, text)| text.len() <= DOCUMENT_BYTES_MAX)
        .collect();
    if texts.is_empty() {
        let own = EMBEDDED.map(|(name, text)| (name.to_string(), text.to_string()));
        return Ok((
            own.to_vec(),
            "this folder has no README.md, CHANGELOG.md or docs, so Kapsa's own are taken",
        ));
    }
    Ok((texts, "from this folder"))
}

/// Makes vectors with the model that comes with the program.
fn understand(app: &mut App, path: &Path, report: &mut Report) -> Result<LocalEmbedder> {
    let begun = Instant::now();
    let embedder = LocalEmbedder::bundled().map_err(CliError::from)?;
    let mut progress = Progress::new("embedding", &app.out);
    let mut step = |done, total| progress.set(done, total);
    let made =
        embed(path, &app.write_options(None), &embedder, &EmbedRequest::default(), &mut step)?;
    drop(progress);
    report.step(
        &mut app.out,
        "embed",
        "Understand it: a vector for each passage, no key, no network",
        begun.elapsed(),
    )?;
    say(
        &mut app.out,
        &format!("{} by {}", counted(made.vectors, "vector"), embedder.model().name),
    )?;
    Ok(embedder)
}

fn ask(app: &mut App, path: &Path, embedder: &LocalEmbedder, report: &mut Report) -> Result<()> {
    let begun = Instant::now();
    let reader = Reader::open(path)?;
    for query in QUESTIONS {
        let asked = Instant::now();
        let request = FindRequest {
            k: HITS_PER_QUESTION,
            snippet_chars: SNIPPET_CHARS,
            ..FindRequest::new(query)
        };
        let hits = reader.find_with(&request, Some(embedder))?.hits;
        report.answers.push(TourAnswer { query, hits, took: asked.elapsed() });
    }
    report.step(&mut app.out, "find", "Ask it", begun.elapsed())?;
    report.answers.iter().try_for_each(|answer| show_answer(&mut app.out, answer))
}

fn whereabouts(record: &Record) -> String {
    record.source.as_ref().map_or_else(|| record.uri.short().to_string(), place)
}

fn show_answer(out: &mut Output, answer: &TourAnswer) -> Result<()> {
    let TourAnswer { query, hits, took } = answer;
    if out.is_json() {
        return Ok(());
    }
    out.text("   ? ")?;
    out.strong(&format!("{query:<width$}", width = TITLE_WIDTH - 5))?;
    out.faint(&format!("{:>12}", duration(*took)))?;
    out.text("\n")?;
    if hits.is_empty() {
        return say(out, "  nothing in these documents");
    }
    for hit in hits {
        let title = innermost(&headline(&hit.record), HEADING_CHARS_MAX);
        say(out, &format!("  {}  {title}  (score {:.1})", whereabouts(&hit.record), hit.score))?;
        let mut passage = vec![Piece::plain("       ")];
        passage.extend(render::snippet(hit));
        out.pieces(&passage, 7)?;
    }
    Ok(())
}

/// A heading whole where it fits, else its innermost part.
fn innermost(heading: &str, chars_max: usize) -> String {
    match heading.rsplit_once(" › ") {
        Some((_, last)) if heading.chars().count() > chars_max => {
            format!("… › {}", render::shortened(last, chars_max - 4))
        }
        _ => render::shortened(heading, chars_max),
    }
}

fn revise(app: &mut App, path: &Path, report: &mut Report) -> Result<[Put; 2]> {
    let note = |text: &str| NewRecord { uri: Uri::parse(NOTE_URI).ok(), ..NewRecord::text(text) };
    let begun = Instant::now();
    let mut writer = app.keeper(path)?;
    let puts = [writer.put(note(FIRST_THOUGHT))?, writer.put(note(SECOND_THOUGHT))?];
    drop(writer);
    report.step(
        &mut app.out,
        "revise",
        "Change your mind: two durable writes to one URI",
        begun.elapsed(),
    )?;
    for put in &puts {
        let put = PutOut::from(put);
        say(&mut app.out, &format!("{NOTE_URI}  #{}  {}", put.sequence, put.change))?;
    }
    Ok(puts)
}

fn look_back(app: &mut App, path: &Path, puts: &[Put; 2], report: &mut Report) -> Result<()> {
    let begun = Instant::now();
    let reader = Reader::open(path)?;
    let newest = reader.get(&puts[0].uri)?;
    let old = reader.record(puts[0].sequence)?;
    let history = reader.history(&puts[0].uri)?;
    report.step(
        &mut app.out,
        "history",
        "Nothing is overwritten: the old revision reads back",
        begun.elapsed(),
    )?;
    say(&mut app.out, &format!("now         {}", headline(&newest)))?;
    say(&mut app.out, &format!("as of #{:<4} {}", old.sequence, headline(&old)))?;
    for revision in &history {
        say(
            &mut app.out,
            &format!("history     #{}  {}", revision.sequence, readable(revision.committed_at)),
        )?;
    }
    report.history = history;
    Ok(())
}

fn prove(app: &mut App, path: &Path, report: &mut Report) -> Result<()> {
    let begun = Instant::now();
    let verified = check::verify(path, &mut |_, _| {})?;
    report.step(
        &mut app.out,
        "verify",
        "Prove it: every checksum, every link of the chain",
        begun.elapsed(),
    )?;
    say(&mut app.out, &verdict(&verified))?;
    report.verified = verified;
    let chain = stats(&Reader::open(path)?, false)?.chain;
    say(&mut app.out, &format!("chain {chain}"))
}

fn verdict(report: &VerifyReport) -> String {
    let word = if report.problems.is_empty() { "intact" } else { "damaged" };
    format!(
        "{word}: {}, {}, {}",
        counted(report.commits, "commit"),
        counted(report.records, "record"),
        size(report.bytes)
    )
}

fn next_steps(path: &Path) -> Vec<String> {
    let mut steps = vec![
        format!("export KAPSA_CAPSULE={}", path.display()),
        "kapsa find \"your own question\"".to_string(),
        "kapsa put --text \"something worth keeping\" --kind fact".to_string(),
        "kapsa timeline --reverse --limit 5".to_string(),
        "unset KAPSA_CAPSULE; kapsa init      (a capsule of your own, in this folder)".to_string(),
    ];
    if !is_installed()
        && let Ok(program) = std::env::current_exe()
    {
        steps.insert(0, format!("alias kapsa={}", program.display()));
    }
    steps
}

/// Whether typing `kapsa` would find a program.
fn is_installed() -> bool {
    std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join("kapsa").is_file())
    })
}

fn farewell(app: &mut App, path: &Path, report: &Report) -> Result<()> {
    let next = next_steps(path);
    if app.out.is_json() {
        return app.out.json(&report.out(path, &next));
    }
    app.out.text("\n")?;
    app.out.strong("The capsule is kept. Try it:\n")?;
    next.iter().try_for_each(|step| say(&mut app.out, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_heading_keeps_its_innermost_part() {
        assert_eq!(innermost("Guide › Locks", 20), "Guide › Locks");
        assert_eq!(innermost("A very long guide to everything › Locks", 20), "… › Locks");
        assert_eq!(innermost("One heading that is very long indeed", 11), "One headin…");
    }
}
