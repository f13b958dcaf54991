//! `svc`: the subprocess interface for programs that keep one store per run and task.
//!
//! Each call prints one JSON line. A failure is `{"error": message}` on standard error with nothing
//! on standard output. Reading is lenient: unknown keys are passed over, other values than strings
//! in `metadata` are taken as their JSON text.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use kapsa_memory::request::{
    FIND_K_MAX, FindRequest, Found, Hit, Means, Put, QUERY_BYTES_MAX, SearchMode, TimelineRequest,
    Why,
};
use kapsa_memory::tokens::first_bytes;
use kapsa_memory::{
    Filter, Models, NewRecord, Reader, Record, UnlockedWriter, revision_count, stats,
};
use serde_json::{Map, Value};

use crate::app::{AnyReader, AnyWriter, App, did};
use crate::args::{EmbedWhen, Mode, SvcVerb};
use crate::commands::asked::Asked;
use crate::commands::embed::Ahead;
use crate::commands::find;
use crate::commands::text::standard_input;
use crate::error::{CliError, Done, Result};
use crate::json_input;
use crate::lines::LINE_BYTES_MAX;
use crate::wire::show;
use crate::wire::svc::{
    CreatedOut, EntriesOut, InfoOut, ResultOut, ResultsOut, StoreErrorOut, StoredOut, SvcEntryOut,
};

/// Metadata that can be searched by: these become tags too.
const METADATA_TAGS: [&str; 3] = ["task_id", "run_id", "role"];
/// What is stored of a document whose text is empty: no record is without text.
const NO_TEXT: &str = "\n";
/// The keys that `--strict` asks for, in the order they are looked for.
const STRICT_KEYS: [&str; 3] = ["title", "label", "text"];

/// Kinds of the records that runs and their tasks are, beside the documents of their stores.
const BOOKKEEPING_KINDS: [&str; 2] = ["run", "task"];
/// Most of them in one store.
const BOOKKEEPING_MAX: usize = 1 << 20;

/// `kapsa svc …`.
pub(crate) fn run(app: &mut App, verb: SvcVerb) -> Result<()> {
    match verb {
        SvcVerb::Create { path } => create(app, &path),
        SvcVerb::Put { path, stdin: _, strict } => put(app, &path, strict),
        SvcVerb::Find { paths, query, k, mode } => find(app, &paths, &request(&query, k, mode)),
        SvcVerb::Timeline { path, limit } => timeline(app, &path, limit),
        SvcVerb::Info { path } => info(app, &path),
    }
}

/// Idempotent, so that two tasks that make the same store at once both succeed.
fn create(app: &mut App, path: &Path) -> Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)
            .map_err(|error| CliError::io(&format!("make {}", folder.display()), &error))?;
    }
    kapsa_memory::create(path, &app.write_options(None))?;
    let path = show(path);
    app.out.json(&CreatedOut { created: &path, ok: true, path: &path })
}

fn put(app: &mut App, path: &Path, strict: bool) -> Result<()> {
    let mut bytes = Vec::new();
    let limit = LINE_BYTES_MAX as u64 + 1;
    standard_input()?
        .lock()
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(|error| CliError::io("read standard input", &error))?;
    if bytes.len() > LINE_BYTES_MAX {
        return Err(CliError::user("too_large", "standard input holds more than 64 MiB"));
    }
    let record = document(&bytes, strict)?;
    record.check()?;
    let put = put_embedded(app, path, record)?;
    did(app, Done::put(&put));
    app.out.json(&StoredOut { frame_id: put.sequence })
}

/// Puts a record with its vectors, in one commit; alone where no vectors can be made, which nothing
/// in the answer can tell.
fn put_embedded(app: &App, path: &Path, record: NewRecord) -> Result<Put> {
    let capsule = UnlockedWriter::open(path, app.write_options(Some(&record.run)))?;
    let records = vec![record];
    let mut ahead = Ahead::make(EmbedWhen::of_environment(), &capsule, &records);
    let mut writer = AnyWriter::Owner(capsule.lock()?);
    let mut puts = match ahead.take() {
        Some(vectors) => writer.put_embedded(records, vectors)?.0,
        None => writer.put_many(records)?,
    };
    Ok(puts.remove(0))
}

/// The record that a client's document stands for.
fn document(bytes: &[u8], strict: bool) -> Result<NewRecord> {
    let mut object = json_input::object(bytes).map_err(|fault| {
        let place = if fault.column > 0 {
            format!(" at line {}, column {}", fault.line, fault.column)
        } else {
            String::new()
        };
        CliError::user(
            fault.code,
            format!("invalid JSON on standard input: {}{place}", fault.message),
        )
    })?;
    let required: &[&str] = if strict { &STRICT_KEYS } else { &["text"] };
    if let Some(key) = required.iter().find(|key| !object.contains_key(**key)) {
        return Err(CliError::user("missing_key", format!("missing key: {key}")));
    }
    let metadata = metadata(object.remove("metadata"))?;
    let mut text = |key: &'static str| string(key, object.remove(key));
    let mut record = NewRecord {
        title: text("title")?,
        label: text("label")?,
        text: Some(text("text")?)
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| NO_TEXT.to_string()),
        ..NewRecord::default()
    };
    record.tags = tags(&metadata);
    record.run = metadata.get("run_id").and_then(Value::as_str).unwrap_or_default().to_string();
    record.metadata = metadata;
    Ok(record)
}

fn string(key: &str, value: Option<Value>) -> Result<String> {
    match value {
        Some(Value::String(text)) => Ok(text),
        None | Some(Value::Null) => Ok(String::new()),
        Some(_) => Err(CliError::user("invalid_record", format!("{key} is not a string"))),
    }
}

fn metadata(value: Option<Value>) -> Result<Map<String, Value>> {
    let map = match value {
        Some(Value::Object(map)) => map,
        None | Some(Value::Null) => Map::new(),
        Some(_) => return Err(CliError::user("invalid_record", "metadata is not an object")),
    };
    let as_text = |value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    Ok(map.into_iter().map(|(name, value)| (name, Value::String(as_text(value)))).collect())
}

fn tags(metadata: &Map<String, Value>) -> BTreeMap<String, String> {
    let named =
        METADATA_TAGS.into_iter().filter_map(|name| Some((name, metadata.get(name)?.as_str()?)));
    named
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect()
}

/// A query is text: nothing in it is an operator. One beyond the limit is cut, not refused: a
/// client
/// asks with whole task descriptions. The newest entries stand in only where nothing is asked for.
fn request(query: &str, k: usize, mode: Mode) -> FindRequest {
    let mode = match mode {
        Mode::Lex => SearchMode::Words,
        Mode::Sem => SearchMode::Meaning,
        Mode::Auto => SearchMode::Auto,
    };
    FindRequest {
        k: k.min(FIND_K_MAX),
        mode,
        fallback: !query.contains(char::is_alphanumeric),
        plain: true,
        duplicates: true,
        ..FindRequest::new(first_bytes(query, QUERY_BYTES_MAX))
    }
}

fn find(app: &mut App, paths: &[PathBuf], request: &FindRequest) -> Result<()> {
    let stores = expand(paths)?;
    let told = |store: &Path, error: &CliError| StoreErrorOut {
        error: error.message.clone(),
        store: show(store),
    };
    let (mut answers, mut last_error) = (Vec::new(), None);
    let (mut asked, mut out) = (Asked::default(), ResultsOut::default());
    for store in &stores {
        match search(&mut asked, store, request) {
            Ok((found, failed)) => {
                out.by_words.extend(failed.map(|error| told(store, &error)));
                answers.push((store.as_path(), found));
            }
            Err(error) => {
                out.skipped.push(told(store, &error));
                last_error = Some(error);
            }
        }
    }
    if let Some(error) = last_error.filter(|_| answers.is_empty()) {
        return Err(error);
    }
    out.results = if stores.len() > 1 { of_several(answers, request.k) } else { of_one(answers) };
    app.out.json(&out)
}

/// What one store answers, and what kept meaning from having a say. Words answer where meaning has
/// nothing.
fn search(
    asked: &mut Asked,
    store: &Path,
    request: &FindRequest,
) -> Result<(Found, Option<CliError>)> {
    let reader = AnyReader::Owner(Reader::open(store)?);
    if request.k == 0 {
        return Ok((Found::default(), None));
    }
    // Where nothing is asked for, nothing is like it.
    let failed = match request.fallback {
        true => None,
        false => {
            match documents(request, |request| find::by_meaning(asked, &reader, request, None)) {
                Ok(found) if !found.hits.is_empty() => return Ok((found, None)),
                answer => answer.err(),
            }
        }
    };
    let by_words = FindRequest { mode: SearchMode::Words, ..request.clone() };
    let ask = |request: &FindRequest| Ok(reader.find_by(request, Models::default())?);
    Ok((documents(&by_words, ask)?, failed))
}

/// Hits that are asked for beyond those that are wanted, at first; then four times as many.
const BESIDE: usize = 16;

/// The first of what is found but for the records that runs and tasks are: those are no documents,
/// and take no place of one.
fn documents(
    request: &FindRequest,
    mut ask: impl FnMut(&FindRequest) -> Result<Found>,
) -> Result<Found> {
    let mut k = request.k.saturating_add(BESIDE);
    loop {
        let mut found = ask(&FindRequest { k, ..request.clone() })?;
        let is_all = found.hits.len() < k;
        found.hits.retain(|hit| !is_bookkeeping(&hit.record));
        if is_all || found.hits.len() >= request.k {
            found.hits.truncate(request.k);
            return Ok(found);
        }
        k = k.saturating_mul(4);
    }
}

/// Whether a record only says that there is a run or a task.
fn is_bookkeeping(record: &Record) -> bool {
    BOOKKEEPING_KINDS.contains(&record.kind.as_str())
}

fn of_one(answers: Vec<(&Path, Found)>) -> Vec<ResultOut> {
    let results = |(_, found): (_, Found)| {
        found.hits.into_iter().map(move |hit| result(&hit, hit.score, found.fallback))
    };
    answers.into_iter().flat_map(results).collect()
}

/// The best `k` of all stores. What matched drives out what is only recent.
fn of_several(mut answers: Vec<(&Path, Found)>, k: usize) -> Vec<ResultOut> {
    let fallback = answers.iter().all(|(_, found)| found.fallback || found.hits.is_empty());
    let mut hits: Vec<(&Path, f32, Hit)> = Vec::new();
    if fallback {
        hits.extend(
            answers.into_iter().flat_map(|(store, found)| {
                found.hits.into_iter().map(move |hit| (store, 0.0, hit))
            }),
        );
        hits.sort_by_key(|(_, _, hit)| std::cmp::Reverse(hit.record.committed_at));
    } else {
        answers.retain(|(_, found)| !found.fallback);
        let best = Best::of(answers.iter().map(|(_, found)| found));
        for (store, found) in answers {
            let scores = best.scores(&found.means, found.hits.iter().map(|hit| &hit.why));
            hits.extend(scores.into_iter().zip(found.hits).map(|(score, hit)| (store, score, hit)));
        }
        hits.sort_by(|(_, a, _), (_, b, _)| b.total_cmp(a));
    }
    let in_store = |(store, score, hit): (&Path, f32, Hit)| ResultOut {
        store: Some(show(store)),
        ..result(&hit, score, fallback)
    };
    hits.into_iter().take(k).map(in_store).collect()
}

/// What hits of several stores are measured by.
///
/// Their scores are of different kinds: of words alone, without a bound; of meaning alone, at most
/// 1; of both, a sum of shares of what is best in that store, however poor that is. BM25 and the
/// likeness, which all of them are made of, can be compared. So a hit counts by its share of the
/// best BM25 and of the greatest likeness of all stores: the mean of both, or the one that its
/// store can know.
struct Best {
    words: f32,
    /// By model: they differ in size.
    likenesses: HashMap<String, f32>,
}

impl Best {
    fn of<'a>(all: impl Iterator<Item = &'a Found>) -> Best {
        let mut best = Best { words: f32::MIN_POSITIVE, likenesses: HashMap::new() };
        for found in all {
            for hit in &found.hits {
                best.words = best.words.max(words(&hit.why));
                if let (Some(model), Some(likeness)) = (&found.means.model, hit.why.likeness) {
                    let most = best.likenesses.entry(model.clone()).or_insert(f32::MIN_POSITIVE);
                    *most = most.max(likeness);
                }
            }
        }
        best
    }

    /// Scores of what a store found, never rising: the store knows more of its own hits than is
    /// compared here, so its order stays.
    fn scores<'a>(&self, means: &Means, whys: impl Iterator<Item = &'a Why>) -> Vec<f32> {
        let mut least = f32::INFINITY;
        let next = |why| {
            least = least.min(self.score(means, why));
            least
        };
        whys.map(next).collect()
    }

    fn score(&self, means: &Means, why: &Why) -> f32 {
        let by_words = means.words.then(|| words(why) / self.words);
        let best = means.model.as_ref().and_then(|model| self.likenesses.get(model));
        let by_meaning = why.likeness.zip(best).map(|(likeness, best)| likeness.max(0.0) / best);
        let shares = [by_words, by_meaning];
        let known = shares.iter().flatten().count().max(1) as f32;
        // An identifier that was asked for and is there is worth more than any share: fuzziness
        // never overrules it.
        let exact =
            why.points.iter().find(|(what, _)| *what == "exact").map_or(0.0, |(_, points)| *points);
        shares.into_iter().flatten().sum::<f32>() / known + exact
    }
}

/// BM25 of a hit.
fn words(why: &Why) -> f32 {
    why.words.map_or(0.0, |(_, score)| score)
}

fn result(hit: &Hit, score: f32, fallback: bool) -> ResultOut {
    let record = &hit.record;
    ResultOut {
        fallback,
        label: record.label.clone(),
        score: score.into(),
        store: None,
        text: text_of(record).to_string(),
        title: record.title.clone(),
    }
}

/// The text of a document, as it was given.
fn text_of(record: &Record) -> &str {
    if record.text == NO_TEXT { "" } else { &record.text }
}

/// The stores meant by paths that may hold `*` and `?` in their last part. A path that exists is
/// never taken for a pattern.
fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut stores = Vec::new();
    for path in paths {
        let pattern = path
            .file_name()
            .and_then(|name| name.to_str())
            .filter(|name| name.contains(['*', '?']));
        match pattern {
            Some(pattern) if fs::symlink_metadata(path).is_err() => {
                stores.extend(matching(path, pattern)?)
            }
            _ => stores.push(path.clone()),
        }
    }
    let mut met = HashSet::new();
    stores.retain(|store| met.insert(store.clone()));
    Ok(stores)
}

fn matching(path: &Path, pattern: &str) -> Result<Vec<PathBuf>> {
    let parent = path.parent().unwrap_or(Path::new(""));
    let folder = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let entries = fs::read_dir(folder)
        .map_err(|error| CliError::io(&format!("read {}", folder.display()), &error))?;
    let names =
        entries.filter_map(Result::ok).filter_map(|entry| entry.file_name().into_string().ok());
    let mut found: Vec<_> = names
        .filter(|name| is_store_name(name) && matches(pattern, name))
        .map(|name| parent.join(name))
        .collect();
    if found.is_empty() {
        return Err(CliError::user("no_store", format!("no store matches {}", path.display())));
    }
    found.sort();
    Ok(found)
}

/// Locks and hidden files lie beside stores and are none.
fn is_store_name(name: &str) -> bool {
    !name.starts_with('.') && !name.ends_with(".lock")
}

/// Whether `name` fits `pattern`, in which `*` stands for any characters and `?` for one.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    let mut star = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == '?' || c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                p = at + 1;
                n = taken + 1;
            }
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

fn timeline(app: &mut App, path: &Path, limit: usize) -> Result<()> {
    let reader = Reader::open(path)?;
    let kinds = BOOKKEEPING_KINDS.map(str::to_string).to_vec();
    let beside = Filter { kinds, ..Filter::default() };
    let more = reader.raw().count(&beside, BOOKKEEPING_MAX)?;
    let request =
        TimelineRequest { limit: limit.saturating_add(more), ..TimelineRequest::default() };
    let mut records = reader.timeline(&request)?;
    records.retain(|record| !is_bookkeeping(record));
    let entry = |record| SvcEntryOut { text: text_of(record), ..SvcEntryOut::from(record) };
    app.out.json(&EntriesOut { entries: records.iter().take(limit).map(entry).collect() })
}

fn info(app: &mut App, path: &Path) -> Result<()> {
    let reader = Reader::open(path)?;
    let stats = stats(&reader, false)?;
    app.out.json(&InfoOut {
        frames: revision_count(&reader)?,
        path: &show(path),
        size_bytes: stats.size_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str, strict: bool) -> Result<NewRecord> {
        document(json.as_bytes(), strict)
    }

    #[test]
    fn text_is_all_that_is_needed_unless_strict() {
        assert_eq!(read(r#"{"text":"x"}"#, false).map(|r| r.text).ok(), Some("x".into()));
        assert_eq!(
            read(r#"{"text":"x"}"#, true).expect_err("strict").message,
            "missing key: title"
        );
        assert_eq!(
            read(r#"{"title":"x","label":""}"#, true).expect_err("strict").message,
            "missing key: text"
        );
        assert!(read("{}", false).is_err());
        assert!(read(r#"{"text":5}"#, false).is_err());
        assert!(read("not json", false).expect_err("no JSON").message.contains("JSON"));
        assert!(read(r#"{"text":"x","#, false).expect_err("cut").message.contains("line 1"));
    }

    #[test]
    fn metadata_is_strings_and_three_of_it_are_tags() {
        let record = read(
            r#"{"text":"x","extra":1,"metadata":{"task_id":"t1","run_id":"r","role":"","n":1.5,"o":{"a":null}}}"#,
            false,
        );
        let record = record.unwrap_or_else(|error| panic!("{error:?}"));
        assert_eq!(record.metadata["n"], "1.5");
        assert_eq!(record.metadata["o"], r#"{"a":null}"#);
        assert_eq!(
            record.tags,
            BTreeMap::from([("task_id".into(), "t1".into()), ("run_id".into(), "r".into())])
        );
        assert_eq!(record.run, "r");
        assert!(read(r#"{"text":"x","metadata":[]}"#, false).is_err());
    }

    #[test]
    fn scores_of_stores_are_shares_of_the_best_and_a_stores_own_order_stays() {
        let best = Best { words: 4.0, likenesses: HashMap::from([("m".to_string(), 0.8)]) };
        let why = |words: Option<f32>, likeness| Why {
            words: words.map(|score| (1, score)),
            likeness,
            ..Why::default()
        };
        let model = Some("m".to_string());
        let both = Means { words: true, model: model.clone(), ..Means::default() };
        let found = [
            why(Some(1.0), Some(0.8)),
            why(Some(4.0), Some(0.4)),
            why(None, Some(0.4)),
            why(Some(1.0), None),
        ];
        assert_eq!(
            best.scores(&both, found.iter()),
            [0.625, 0.625, 0.25, 0.25],
            "the second is worth 0.75, but not to its store"
        );
        let meaning = Means { words: false, ..both };
        assert_eq!(
            best.scores(&meaning, [why(None, Some(0.4)), why(None, Some(-0.1))].iter()),
            [0.5, 0.0]
        );
        let words = Means { model: None, ..Means { words: true, ..meaning } };
        assert_eq!(
            best.scores(&words, [why(Some(4.0), None), why(Some(1.0), None)].iter()),
            [1.0, 0.25]
        );
        let exact = Why { points: vec![("words", 0.1), ("exact", 2.0)], ..why(Some(1.0), None) };
        assert_eq!(best.scores(&words, [exact].iter()), [2.25]);
    }

    #[test]
    fn patterns() {
        for (pattern, name, fits) in [
            ("*.mv2", "a.mv2", true),
            ("*.mv2", "a.mv2.lock", false),
            ("t?.mv2", "t1.mv2", true),
            ("t?.mv2", "t12.mv2", false),
            ("a*b*c", "a-b-b-c", true),
            ("*", "", true),
            ("?", "é", true),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
