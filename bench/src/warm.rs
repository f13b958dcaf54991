//! The cost of searches and reads inside one process, against tantivy on as many segments.
//!
//! Kapsa is called through its library here; this is the only module that depends on it. Its
//! searches return whole records with snippets, tantivy's only addresses.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use kapsa_memory::Reader;
use kapsa_memory::request::FindRequest;
use kapsa_memory::stats;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, ConstScoreQuery, Occur, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Index, Searcher, Term};

use crate::dataset::{Dataset, remove};
use crate::engine::{Engine, SAMPLE_TAG};
use crate::process::{Tools, run_within};
use crate::rng::Rng;
use crate::stats::Samples;
use crate::table::{Table, count, figure, ratio};
use kapsa_bench_common::peer::HITS;

/// Point reads and opens timed.
const READS: usize = 2_000;
const OPENS: usize = 50;
/// Building tantivy's segments longer than this is given up.
const BUILD_TIME_MAX: Duration = Duration::from_secs(600);

/// What a query asks for.
#[derive(Clone, Copy, PartialEq)]
enum Ask {
    Or,
    And,
    Sample,
}

/// Times searches, point reads and opens at the size of `dataset`.
pub fn measure(tools: &Tools, dataset: &Dataset, rebuild: bool) -> Result<Vec<Table>> {
    Engine::Kapsa.prepare(tools, dataset, rebuild)?;
    let store = dataset.store(Engine::Kapsa.store_name());
    let reader = Reader::open(&store)?;
    let segments = stats(&reader, false)?.segment_count.max(1);
    let bare = Bare::open(&tantivy_with(tools, dataset, segments)?)?;
    let queries = dataset.queries()?;
    Ok(vec![
        searches(&reader, &bare, &queries, dataset.n, segments)?,
        reads(&reader, &store, dataset.n)?,
    ])
}

fn searches(
    reader: &Reader,
    bare: &Bare,
    queries: &[String],
    n: u64,
    segments: usize,
) -> Result<Table> {
    let segments = format!("{segments} segments");
    let head = [
        "warm search, top 10",
        "records",
        segments.as_str(),
        "p50 ms",
        "p90",
        "p99",
        "to tantivy (p50)",
        "to OR (p50)",
    ];
    let mut table = Table::new(head);
    let mut or = [f64::NAN; 2];
    for (name, ask) in [("OR", Ask::Or), ("AND", Ask::And), ("OR, 1% filter", Ask::Sample)] {
        let [kapsa, tantivy] = alternate(reader, bare, queries, ask)?;
        if ask == Ask::Or {
            or = [kapsa.p50(), tantivy.p50()];
        }
        for (engine, s, or) in [("kapsa", &kapsa, or[0]), ("tantivy", &tantivy, or[1])] {
            let figures = [
                figure(s.p50()),
                figure(s.p90()),
                figure(s.p99()),
                ratio(s.p50(), tantivy.p50()),
                ratio(s.p50(), or),
            ];
            table.row([name.to_owned(), count(n), engine.to_owned()].into_iter().chain(figures));
        }
    }
    Ok(table)
}

/// Each query goes to both engines, twice around, and only the second round counts.
fn alternate(reader: &Reader, bare: &Bare, queries: &[String], ask: Ask) -> Result<[Samples; 2]> {
    let mut samples = [Samples::default(), Samples::default()];
    for round in 0..2 {
        for query in queries {
            let request = request(query, ask);
            let plan = bare.plan(query, ask)?;
            let kapsa = timed(|| Ok(reader.find(&request)?))?;
            let tantivy = timed(|| {
                Ok(bare.searcher.search(&plan, &TopDocs::with_limit(HITS).order_by_score())?)
            })?;
            if round == 1 {
                samples[0].push(kapsa);
                samples[1].push(tantivy);
            }
        }
    }
    Ok(samples)
}

fn request(query: &str, ask: Ask) -> FindRequest {
    let must = |word| format!("+{word}");
    let words = match ask {
        Ask::And => query.split(' ').map(must).collect::<Vec<_>>().join(" "),
        Ask::Or | Ask::Sample => query.to_owned(),
    };
    let mut request = FindRequest::new(words);
    request.k = HITS;
    if ask == Ask::Sample {
        let (key, value) = SAMPLE_TAG.split_once('=').expect("a tag is key=value");
        request.filter.tags.insert(key.to_owned(), value.to_owned());
    }
    request
}

fn reads(reader: &Reader, store: &Path, n: u64) -> Result<Table> {
    let mut rng = Rng::new(n, 0);
    let mut uris = Vec::with_capacity(READS);
    for _ in 0..READS {
        uris.push(reader.record(1 + rng.below(n as usize) as u64)?.uri);
    }
    let get: Samples =
        uris.iter().map(|uri| timed(|| Ok(reader.get(uri)?))).collect::<Result<_>>()?;
    let open: Samples =
        (0..OPENS).map(|_| timed(|| Ok(Reader::open(store)?))).collect::<Result<_>>()?;
    let mut table = Table::new(["warm, in process", "records", "p50 ms", "p90", "p99"]);
    for (name, s) in [("get by URI", &get), ("open", &open)] {
        table.row([name.to_owned(), count(n), figure(s.p50()), figure(s.p90()), figure(s.p99())]);
    }
    Ok(table)
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<f64> {
    let start = Instant::now();
    let done = black_box(work()?);
    let ms = start.elapsed().as_secs_f64() * 1e3;
    drop(done);
    Ok(ms)
}

/// A tantivy index of the corpus in `segments` segments, made when it is not there yet.
fn tantivy_with(tools: &Tools, dataset: &Dataset, segments: usize) -> Result<PathBuf> {
    let store = dataset.store(&format!("segments-{segments}.tantivy"));
    let done = dataset.store(&format!("segments-{segments}.done"));
    if !done.is_file() {
        remove(&store)?;
        let mut command = Engine::Tantivy.load(tools, &store)?;
        let records = (dataset.n as usize).div_ceil(segments);
        command.args(["stored=no".to_owned(), format!("segment={records}")]);
        let seconds = run_within(&mut command, &dataset.corpus(), BUILD_TIME_MAX)?;
        ensure!(
            seconds.is_some(),
            "tantivy took more than {BUILD_TIME_MAX:?} to make {segments} segments"
        );
        std::fs::write(done, "")?;
    }
    Ok(store)
}

/// Bare tantivy.
struct Bare {
    index: Index,
    searcher: Searcher,
    text: Field,
    tag: Field,
}

impl Bare {
    fn open(folder: &Path) -> Result<Self> {
        let index = Index::open_in_dir(folder)?;
        let searcher = index.reader()?.searcher();
        let (text, tag) = (index.schema().get_field("text")?, index.schema().get_field("tag")?);
        Ok(Self { index, searcher, text, tag })
    }

    fn plan(&self, query: &str, ask: Ask) -> Result<BooleanQuery> {
        let occur = if ask == Ask::And { Occur::Must } else { Occur::Should };
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        let mut analyser = self.index.tokenizer_for_field(self.text)?;
        analyser.token_stream(query).process(&mut |token| {
            let term = Term::from_field_text(self.text, &token.text);
            clauses.push((occur, Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))));
        });
        let words = BooleanQuery::new(clauses);
        if ask != Ask::Sample {
            return Ok(words);
        }
        let tag =
            TermQuery::new(Term::from_field_text(self.tag, SAMPLE_TAG), IndexRecordOption::Basic);
        let filter: Box<dyn Query> = Box::new(ConstScoreQuery::new(Box::new(tag), 0.0));
        let both: Vec<(Occur, Box<dyn Query>)> =
            vec![(Occur::Must, Box::new(words)), (Occur::Must, filter)];
        Ok(BooleanQuery::new(both))
    }
}
