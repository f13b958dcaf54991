//! `embed`, `reembed` and `model`: how records get vectors, and of which model.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use kapsa_embed::{ConvertOptions, LocalEmbedder, LocalReranker, convert, is_reranker};
use kapsa_memory::request::Put;
use kapsa_memory::{
    EmbedReport, EmbedRequest, FileSystem, NewRecord, NewVectors, Reader, SMALL_PUT_RECORDS_MAX,
    UnlockedWriter, embed as embed_records, is_small_put, left_without_vectors,
};
use kapsa_model::{EmbedError, Embedder, Model, Reranker};

use crate::app::{App, did};
use crate::args::{self, EmbedWhen, ModelVerb};
use crate::error::{CliError, Done, Result};
use crate::escape;
use crate::models::{self, Added};
use crate::moment;
use crate::progress::Progress;
use crate::render::counted;
use crate::sys;
use crate::wire::model::{EmbeddedOut, ModelInfoOut, ModelKind, ModelOut, ModelsOut, RemovedModel};

const HINT_MODEL_FOLDER: &str = "give a model file, or the folder of a model: config.json, vocab.txt or tokenizer.json, and model.safetensors or an ONNX file";

/// `kapsa embed`.
pub(crate) fn embed(app: &mut App, args: &args::Embed) -> Result<()> {
    let embedder = models::for_capsule(Reader::open(&app.capsule()?)?.raw().model()?.as_ref())?;
    let request = EmbedRequest {
        records_max: args.limit.map(|limit| limit as u64),
        ..EmbedRequest::default()
    };
    let report = run(app, embedder.as_ref(), &request)?;
    tell(app, embedder.as_ref(), &report)
}

/// `kapsa reembed`.
pub(crate) fn reembed(app: &mut App, args: &args::Reembed) -> Result<()> {
    let embedder = models::named(&args.model)?;
    let request = EmbedRequest {
        change: true,
        records_max: args.limit.map(|limit| limit as u64),
        ..EmbedRequest::default()
    };
    let report = run(app, embedder.as_ref(), &request)?;
    tell(app, embedder.as_ref(), &report)
}

fn run(app: &App, embedder: &dyn Embedder, request: &EmbedRequest) -> Result<EmbedReport> {
    let mut progress = Progress::new("embedding", &app.out);
    let mut step = |done, total| progress.set(done, total);
    Ok(embed_records(&app.capsule()?, &app.write_options(None), embedder, request, &mut step)?)
}

fn tell(app: &mut App, embedder: &dyn Embedder, report: &EmbedReport) -> Result<()> {
    let model = &embedder.model().name;
    let EmbedReport { records, vectors, reused, missing, in_force } = *report;
    let what = format!("stored {}", counted(vectors, "vector"));
    did(app, (vectors > 0).then(|| Done::new(what)));
    if !in_force {
        let message = "searches use the old model until every record is done; run the same command to continue";
        app.out.warn("old_model_in_use", message);
    }
    if app.out.is_json() {
        return app.out.json(&EmbeddedOut::of(model, report));
    }
    let left = if missing > 0 { format!(", {missing} to do") } else { String::new() };
    let of = counted(vectors, "vector");
    app.out.line(&format!(
        "{} checked, {of} by {} ({reused} reused){left}",
        counted(records, "record"),
        escape::line(model)
    ))
}

/// The vectors of records that are about to be put: made before the lock is taken, so that nobody
/// waits for them.
pub(crate) struct Ahead {
    vectors: Option<NewVectors>,
    state: AheadState,
    when: Option<EmbedWhen>,
    records: u64,
}

enum AheadState {
    /// Made, or to be made later as was asked for.
    Settled,
    /// Too many, or made for a capsule that others have changed since.
    LeftForLater,
    Failed(CliError),
}

impl Ahead {
    /// Makes them, if the records are few or it is wanted.
    pub(crate) fn make(
        when: Option<EmbedWhen>,
        capsule: &UnlockedWriter,
        records: &[NewRecord],
    ) -> Ahead {
        let (vectors, state) = match when {
            Some(EmbedWhen::Later) => (None, AheadState::Settled),
            Some(EmbedWhen::Background) => (None, AheadState::LeftForLater),
            None if !is_small_put(records.iter().map(|record| record.text.as_str())) => {
                (None, AheadState::LeftForLater)
            }
            None | Some(EmbedWhen::Now) => match ahead(capsule, records) {
                Ok(vectors) => (Some(vectors), AheadState::Settled),
                Err(error) => (None, AheadState::Failed(error)),
            },
        };
        Ahead { vectors, state, when, records: records.len() as u64 }
    }

    /// The vectors, to be published with the records.
    pub(crate) fn take(&mut self) -> Option<NewVectors> {
        self.vectors.take()
    }

    /// Notes whether they could be published: somebody may have changed the capsule meanwhile.
    pub(crate) fn placed(&mut self, (puts, is_placed): (Vec<Put>, bool)) -> Vec<Put> {
        if !is_placed {
            self.state = AheadState::LeftForLater;
        }
        puts
    }

    /// Says what the records lack, now that they are stored. Returns what failed, for programs.
    pub(crate) fn report(self, app: &mut App) -> Option<String> {
        match self.state {
            AheadState::Settled => None,
            AheadState::LeftForLater => left_for_later(app, self.when, self.records),
            AheadState::Failed(error) => Some(without_vectors(app, &error)),
        }
    }
}

fn ahead(capsule: &UnlockedWriter, records: &[NewRecord]) -> Result<NewVectors> {
    let embedder = models::for_capsule(capsule.model()?.as_ref())?;
    Ok(capsule.embed(records, embedder.as_ref())?)
}

/// How long the bundled model takes for a record of usual length, in milliseconds.
const RECORD_MS: u64 = 12;

/// Tells how long the vectors of so many records take, for people.
pub(crate) fn time_for(records: u64) -> String {
    let seconds = (records * RECORD_MS).div_ceil(1000);
    match seconds {
        0..=90 => format!("about {} s", seconds.max(1)),
        91..=5400 => format!("about {} min", seconds.div_ceil(60)),
        _ => format!("about {} h", seconds.div_ceil(3600)),
    }
}

/// Says that records have no vectors yet, or starts the process that makes them. Returns why that
/// could not be started.
fn left_for_later(app: &mut App, when: Option<EmbedWhen>, records: u64) -> Option<String> {
    let time = time_for(records);
    if when != Some(EmbedWhen::Background) {
        let message = format!(
            "stored without vectors: only words find them until `kapsa embed` runs ({time}; \
             --embed now does it at once, --embed background after the command)"
        );
        app.out.warn("vectors_later", &message);
        return None;
    }
    match start_embedding(app) {
        Ok(()) => {
            app.out.note(&format!("a process in the background makes the vectors ({time})"));
            None
        }
        Err(error) => Some(without_vectors(app, &error)),
    }
}

/// Starts `kapsa embed` in a process that outlives this one, and gives way to others.
fn start_embedding(app: &App) -> Result<()> {
    let failed = |error: std::io::Error| CliError::io("start a process that embeds", &error);
    let program = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(program);
    command.arg("--capsule").arg(app.capsule()?).arg("embed");
    sys::spawn_detached(&mut command).map(drop).map_err(failed)
}

fn without_vectors(app: &mut App, error: &CliError) -> String {
    app.out.warn("vectors_failed", &format!("stored, without vectors: {}", error.message));
    format!("failed: {}", error.message)
}

/// The records of a capsule, before and after a put.
pub(crate) struct New {
    when: Option<EmbedWhen>,
    before: u64,
    /// The last record of the put, where that is known: what others put at the same time is theirs
    /// to embed.
    last: Option<u64>,
    /// Whether records before it that lack vectors get some however young they are.
    with_left: bool,
}

impl New {
    /// Before the put.
    pub(crate) fn begin(app: &App, when: Option<EmbedWhen>) -> Result<New> {
        let before = match when {
            Some(EmbedWhen::Later) => 0,
            _ => Reader::open(&app.capsule()?)?.raw().moment(),
        };
        Ok(New { when, before, last: None, with_left: false })
    }

    /// As [`New::end`], of a put that went on although it could not be seen what was there before.
    pub(crate) fn end_of(begun: Result<New>, app: &mut App) -> Option<String> {
        match begun {
            Ok(new) => new.end(app),
            Err(error) => Some(without_vectors(app, &error)),
        }
    }

    /// Of a put that was done already: it wrote the records from `first` on.
    pub(crate) fn since(when: Option<EmbedWhen>, first: u64) -> New {
        New { when, before: first.saturating_sub(1), last: None, with_left: false }
    }

    /// Whoever merges or finishes is not in the middle of something: what was left without vectors
    /// gets some.
    pub(crate) fn with_left(self) -> New {
        New { with_left: true, ..self }
    }

    /// Of a put that was one record.
    pub(crate) fn one(when: Option<EmbedWhen>, sequence: u64) -> New {
        New { last: Some(sequence), ..New::since(when, sequence) }
    }

    /// After it: the new records get vectors, if they are few or it is wanted. What they were put
    /// for is done; nothing here undoes it. Returns what failed, for a field of the answer.
    pub(crate) fn end(self, app: &mut App) -> Option<String> {
        if self.when == Some(EmbedWhen::Later) {
            return None;
        }
        let error = self.embed(app).err()?;
        Some(without_vectors(app, &error))
    }

    /// First of the records before the new ones that get vectors along with them.
    fn left_before(&self, reader: &Reader, new: Range<u64>) -> Result<u64> {
        if self.with_left && reader.coverage()?.missing <= SMALL_PUT_RECORDS_MAX as u64 {
            return Ok(1);
        }
        Ok(left_without_vectors(reader, new.start, moment::now())?.start)
    }

    fn embed(self, app: &mut App) -> Result<()> {
        let reader = Reader::open(&app.capsule()?)?;
        let mut new: Range<u64> =
            self.before + 1..self.last.unwrap_or_else(|| reader.raw().moment()) + 1;
        let count = new.end.saturating_sub(new.start);
        if count == 0 {
            return Ok(());
        }
        let is_later = match self.when {
            None => !are_few(&reader, new.clone())?,
            when => when == Some(EmbedWhen::Background),
        };
        if is_later {
            // What could not be started is said by a warning.
            let _failed = left_for_later(app, self.when, count);
            return Ok(());
        }
        new.start = self.left_before(&reader, new.clone())?;
        let embedder = models::for_capsule(reader.raw().model()?.as_ref())?;
        drop(reader);
        run(
            app,
            embedder.as_ref(),
            &EmbedRequest { sequences: Some(new), ..EmbedRequest::default() },
        )?;
        Ok(())
    }
}

/// Whether the vectors of these records take no longer than a person waits for.
fn are_few(reader: &Reader, new: Range<u64>) -> Result<bool> {
    if new.end - new.start > SMALL_PUT_RECORDS_MAX as u64 {
        return Ok(false);
    }
    let texts: Vec<String> =
        new.map(|sequence| Ok(reader.record(sequence)?.text)).collect::<Result<_>>()?;
    Ok(is_small_put(texts.iter().map(String::as_str)))
}

/// `kapsa model`.
pub(crate) fn model(app: &mut App, verb: ModelVerb) -> Result<()> {
    match verb {
        ModelVerb::List => list(app),
        ModelVerb::Add { path, name, query_prefix, passage_prefix, cosine_floor } => {
            let options = ConvertOptions {
                name,
                query_prefix,
                passage_prefix,
                cosine_floor: cosine_floor.unwrap_or_default(),
                ..ConvertOptions::default()
            };
            let listed = add(model_bytes(&path, &options)?)?;
            did(app, Done::new(format!("added {}", listed.name)));
            show(app, &[listed])
        }
        ModelVerb::Info { name } => info(app, name.as_deref()),
        ModelVerb::Remove { name } => {
            let name = name.strip_prefix("local:").unwrap_or(&name).to_string();
            let all = models::added()?;
            let Some(Added { path, .. }) =
                all.into_iter().find(|added| added.name == name || added.hash == name)
            else {
                return Err(CliError::usage(format!("no model `{name}` was added"))
                    .hint("kapsa model list shows the added models"));
            };
            fs::remove_file(&path).map_err(|error| CliError::io("remove the model", &error))?;
            did(app, Done::new(format!("removed {name}")));
            match fs::remove_file(path.with_extension("name")) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(CliError::io("remove the model's name", &error));
                }
                _ => {}
            }
            if app.out.is_json() {
                app.out.json(&RemovedModel { removed: &name })
            } else {
                app.out.line(&format!("removed {}", escape::line(&name)))
            }
        }
    }
}

/// A model file as it is, or made of a folder.
fn model_bytes(path: &Path, options: &ConvertOptions) -> Result<Vec<u8>> {
    let refused = |message: String, hint: Option<String>| {
        let hint = hint.unwrap_or_else(|| HINT_MODEL_FOLDER.to_string());
        CliError::user("invalid_model", message).hint(hint)
    };
    let ConvertOptions { name, query_prefix, passage_prefix, cosine_floor, .. } = options;
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => {
            convert(path, options).map_err(|error| refused(error.message, error.hint))
        }
        Ok(meta) if meta.is_file() => {
            let has_text = [name, query_prefix, passage_prefix].iter().any(|text| text.is_some());
            if has_text || *cosine_floor > 0 {
                return Err(CliError::usage("a model file has its name, prefixes and floor in it")
                    .hint("they can be given for a folder"));
            }
            let bytes = fs::read(path).map_err(|error| CliError::io("read the model", &error))?;
            checked(&bytes).map_err(|error| refused(error.message, error.hint))?;
            Ok(bytes)
        }
        _ => {
            let message = format!("{} is neither a folder nor a model file", path.display());
            Err(refused(message, None))
        }
    }
}

/// The model that the bytes of a model file are.
fn checked(bytes: &[u8]) -> Result<Model, EmbedError> {
    if is_reranker(bytes) {
        return Ok(LocalReranker::from_bytes(bytes.to_vec())?.model().clone());
    }
    Ok(LocalEmbedder::from_bytes(bytes.into())?.model().clone())
}

/// `kapsa model info`.
fn info(app: &mut App, name: Option<&str>) -> Result<()> {
    let plain = name.map(|name| name.strip_prefix("local:").unwrap_or(name));
    let added = models::added()?.into_iter();
    let reranker = added
        .filter(|added| added.is_reranker)
        .find(|added| [Some(added.name.as_str()), Some(added.hash.as_str())].contains(&plain));
    let model = match (name, &reranker) {
        (_, Some(reranker)) => reranker.reranker()?.model().clone(),
        (Some(name), None) if name == models::BUNDLED || name.contains(':') => {
            models::named(name)?.model().clone()
        }
        (Some(name), None) => models::named(&format!("local:{name}"))?.model().clone(),
        (None, None) => match Reader::open(&app.capsule()?)?.raw().model()? {
            Some(model) => model,
            None => {
                return Err(CliError::user("no_vectors", "this capsule has no vectors yet, and so no model")
                    .hint("run `kapsa embed`; `kapsa model info bundled` shows the model it uses by default"));
            }
        },
    };
    let hash = model.hash_hex();
    let tokens_max = (model.tokens_max != u32::MAX).then_some(model.tokens_max);
    if app.out.is_json() {
        let kind = ModelKind::of(reranker.is_some());
        return app.out.json(&ModelInfoOut::of(&model, kind, &hash, tokens_max));
    }
    let floor = if model.cosine_floor == 0 {
        String::new()
    } else {
        format!("unrelated texts have a cosine of about 0.{:02}", model.cosine_floor)
    };
    let lines = [
        ("name", model.name),
        ("kind", ModelKind::of(reranker.is_some()).label().to_string()),
        ("dimension", model.dimension.to_string()),
        (
            "tokens",
            tokens_max.map_or_else(
                || "as the service allows".to_string(),
                |most| format!("at most {most}"),
            ),
        ),
        ("pooling", model.pooling.as_str().to_string()),
        ("query", model.query_prefix),
        ("passage", model.passage_prefix),
        ("floor", floor),
        ("hash", hash),
    ];
    for (name, value) in lines.into_iter().filter(|(_, value)| !value.is_empty()) {
        app.out.faint(&format!("{name:<10}"))?;
        app.out.line(&escape::line(&value))?;
    }
    Ok(())
}

/// Stores a model file under its hash, whole or not at all.
fn add(bytes: Vec<u8>) -> Result<ModelOut> {
    let failed = |error: std::io::Error| CliError::io("store the model", &error);
    let size = bytes.len() as u64;
    let model = checked(&bytes).map_err(CliError::from)?;
    let hash = model.hash_hex();
    let folder = models::folder()?;
    fs::create_dir_all(&folder).map_err(failed)?;
    let path = folder.join(format!("{hash}.kmodel"));
    let name = path.with_extension("name");
    // The name first: a model that is there has one.
    FileSystem
        .replace(&name, model.name.as_bytes())
        .and_then(|()| FileSystem.replace(&path, &bytes))
        .map_err(|error| {
            if !path.exists() {
                let _the_first_error_counts = fs::remove_file(&name);
            }
            failed(error)
        })?;
    Ok(ModelOut {
        name: format!("local:{}", model.name),
        kind: ModelKind::of(is_reranker(&bytes)),
        dimension: model.dimension,
        size_bytes: size,
        hash,
        in_force: false,
    })
}

fn list(app: &mut App) -> Result<()> {
    let in_force = app
        .capsule()
        .ok()
        .and_then(|path| Reader::open(&path).ok())
        .and_then(|reader| reader.raw().model().ok()?);
    let used = in_force.as_ref().map(|model| model.hash_hex());
    let bundled = LocalEmbedder::bundled().map_err(CliError::from)?;
    let mut all = vec![ModelOut {
        name: models::BUNDLED.to_string(),
        kind: ModelKind::Embedder,
        dimension: bundled.model().dimension,
        size_bytes: 0,
        hash: bundled.model().hash_hex(),
        in_force: false,
    }];
    for added in models::added()? {
        let bytes = fs::read(&added.path).map_err(|error| CliError::io("read a model", &error))?;
        let model = match checked(&bytes) {
            Ok(model) => model,
            Err(error) => {
                let message = format!("skipped the model {}: {}", added.name, error.message);
                app.out.warn("model_skipped", &message);
                continue;
            }
        };
        all.push(ModelOut {
            name: format!("local:{}", added.name),
            kind: ModelKind::of(added.is_reranker),
            dimension: model.dimension,
            size_bytes: added.bytes,
            hash: added.hash,
            in_force: false,
        });
    }
    all.iter_mut().for_each(|listed| listed.in_force = used.as_ref() == Some(&listed.hash));
    show(app, &all)
}

fn show(app: &mut App, all: &[ModelOut]) -> Result<()> {
    if app.out.is_json() {
        return app.out.json(&ModelsOut::of(all));
    }
    for listed in all {
        let used = if listed.in_force { "  used by this capsule" } else { "" };
        let size = if listed.size_bytes == 0 {
            "built in".to_string()
        } else {
            format!("{} KB", listed.size_bytes >> 10)
        };
        let dimensions = match listed.kind {
            ModelKind::Embedder => format!("  {} dimensions", listed.dimension),
            ModelKind::Reranker => String::new(),
        };
        let (name, kind) = (escape::line(&listed.name), listed.kind.label());
        app.out.line(&format!("{name}  {kind}{dimensions}  {size}{used}"))?;
    }
    Ok(())
}
