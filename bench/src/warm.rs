//! The cost of searches and reads inside one process, against tantivy on as many segments.
//!
//! Kapsa is called through its library here. Its searches return whole records with snippets.
//! tantivy is measured twice: returning addresses alone, and returning the same: the stored record
//! of each hit, read, with a snippet of its text.

use std::collections::{HashMap, HashSet};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use kapsa_memory::Reader;
use kapsa_memory::request::FindRequest;
use kapsa_memory::stats;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, ConstScoreQuery, Occur, PhraseQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Value};
use tantivy::snippet::SnippetGenerator;
use tantivy::{Index, Searcher, TantivyDocument, Term};

use crate::dataset::{Dataset, remove};
use crate::engine::{Engine, SAMPLE_TAG};
use crate::process::{Tools, run_within};
use crate::rng::Rng;
use crate::stats::Samples;
use crate::table::{Table, count, figure, ratio};
use kapsa_bench_common::peer::HITS;
use kapsa_bench_common::record::Record;

/// Point reads and opens timed.
const READS: usize = 2_000;
const OPENS: usize = 50;
/// Building tantivy's segments longer than this is given up.
const BUILD_TIME_MAX: Duration = Duration::from_secs(600);

/// Characters of tantivy's snippets: about as many as kapsa's have.
const SNIPPET_CHARS: usize = 200;
/// Phrases asked for, and the share of the records that has each of their words.
const PHRASES: usize = 100;
const FREQUENT_MIN: f64 = 0.05;

/// What a query asks for.
#[derive(Clone, Copy, PartialEq)]
enum Ask {
    Or,
    And,
    Sample,
    Phrase,
}

/// Times searches, point reads and opens at the size of `dataset`.
pub fn measure(tools: &Tools, dataset: &Dataset, rebuild: bool) -> Result<Vec<Table>> {
    Engine::Kapsa.prepare(tools, dataset, rebuild)?;
    let store = dataset.store(Engine::Kapsa.store_name());
    let reader = Reader::open(&store)?;
    let segments = stats(&reader, false)?.segment_count.max(1);
    let bare = Bare::open(&tantivy_with(tools, dataset, segments)?)?;
    let queries = [dataset.queries()?, phrases(&dataset.extra_texts()?)];
    Ok(vec![
        searches(&reader, &bare, &queries, dataset.n, segments)?,
        reads(&reader, &store, dataset.n)?,
    ])
}

fn searches(
    reader: &Reader,
    bare: &Bare,
    [queries, phrases]: &[Vec<String>; 2],
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
        "kapsa to this (p50)",
        "to OR (p50)",
    ];
    let mut table = Table::new(head);
    let mut or = [f64::NAN; 3];
    let asks = [
        ("OR", Ask::Or, queries),
        ("AND", Ask::And, queries),
        ("OR, 1% filter", Ask::Sample, queries),
        ("phrase of two frequent words", Ask::Phrase, phrases),
    ];
    for (name, ask, queries) in asks {
        let samples = alternate(reader, bare, queries, ask)?;
        if ask == Ask::Or {
            or = std::array::from_fn(|at| samples[at].p50());
        }
        let engines = ["kapsa", "tantivy, addresses", "tantivy, records and snippets"];
        for ((engine, s), or) in engines.into_iter().zip(&samples).zip(or) {
            let figures = [
                figure(s.p50()),
                figure(s.p90()),
                figure(s.p99()),
                ratio(samples[0].p50(), s.p50()),
                ratio(s.p50(), or),
            ];
            table.row([name.to_owned(), count(n), engine.to_owned()].into_iter().chain(figures));
        }
    }
    Ok(table)
}

/// Each query goes to all, twice around, and only the second round counts.
fn alternate(reader: &Reader, bare: &Bare, queries: &[String], ask: Ask) -> Result<[Samples; 3]> {
    let mut samples = [Samples::default(), Samples::default(), Samples::default()];
    for round in 0..2 {
        for query in queries {
            let request = request(query, ask);
            let plan = bare.plan(query, ask)?;
            let times = [
                timed(|| Ok(reader.find(&request)?))?,
                timed(|| bare.addresses(&*plan))?,
                timed(|| bare.records(&*plan))?,
            ];
            for (samples, ms) in samples.iter_mut().zip(times).filter(|_| round == 1) {
                samples.push(ms);
            }
        }
    }
    Ok(samples)
}

/// Pairs of frequent words as they follow one another in these texts.
fn phrases(texts: &[String]) -> Vec<String> {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_ascii_alphabetic());
        words.filter(|word| word.len() > 2).map(str::to_ascii_lowercase).collect()
    };
    let mut counts: HashMap<String, usize> = HashMap::new();
    for text in texts {
        let distinct: HashSet<String> = words(text).into_iter().collect();
        distinct.into_iter().for_each(|word| *counts.entry(word).or_default() += 1);
    }
    let least = FREQUENT_MIN * texts.len() as f64;
    let is_frequent = |word: &String| counts[word] as f64 >= least;
    let (mut seen, mut all) = (HashSet::new(), Vec::new());
    for text in texts {
        // Words that only others stand between are no phrase: they must follow at once.
        let found = words(text);
        let pairs = found.windows(2).filter(|pair| pair.iter().all(is_frequent));
        for phrase in pairs.map(|pair| pair.join(" ")) {
            if text.to_ascii_lowercase().contains(&phrase) && seen.insert(phrase.clone()) {
                all.push(phrase);
            }
        }
    }
    all.truncate(PHRASES);
    all
}

fn request(query: &str, ask: Ask) -> FindRequest {
    let must = |word| format!("+{word}");
    let words = match ask {
        Ask::And => query.split(' ').map(must).collect::<Vec<_>>().join(" "),
        Ask::Or | Ask::Sample => query.to_owned(),
        Ask::Phrase => format!("\"{query}\""),
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
    let store = dataset.store(&format!("stored-segments-{segments}.tantivy"));
    let done = dataset.store(&format!("stored-segments-{segments}.done"));
    if !done.is_file() {
        remove(&store)?;
        let mut command = Engine::Tantivy.load(tools, &store)?;
        let records = (dataset.n as usize).div_ceil(segments);
        command.args(["stored=yes".to_owned(), format!("segment={records}")]);
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
    body: Field,
}

impl Bare {
    fn open(folder: &Path) -> Result<Self> {
        let index = Index::open_in_dir(folder)?;
        let searcher = index.reader()?.searcher();
        let schema = index.schema();
        let [text, tag, body] =
            [schema.get_field("text")?, schema.get_field("tag")?, schema.get_field("body")?];
        Ok(Self { index, searcher, text, tag, body })
    }

    /// Where the best hits are.
    fn addresses(&self, plan: &dyn Query) -> Result<usize> {
        let best = TopDocs::with_limit(HITS).order_by_score();
        Ok(black_box(self.searcher.search(plan, &best)?).len())
    }

    /// The best hits with what kapsa returns of them.
    fn records(&self, plan: &dyn Query) -> Result<Vec<(Record, String)>> {
        let best = TopDocs::with_limit(HITS).order_by_score();
        let mut snippets = SnippetGenerator::create(&self.searcher, plan, self.text)?;
        snippets.set_max_num_chars(SNIPPET_CHARS);
        let read = |(_, address)| {
            let document: TantivyDocument = self.searcher.doc(address)?;
            let body = document.get_first(self.body).and_then(|body| body.as_str());
            let record: Record = serde_json::from_str(body.unwrap_or_default())?;
            let snippet = snippets.snippet(&record.text).to_html();
            Ok((record, snippet))
        };
        self.searcher.search(plan, &best)?.into_iter().map(read).collect()
    }

    fn plan(&self, query: &str, ask: Ask) -> Result<Box<dyn Query>> {
        let occur = if ask == Ask::And { Occur::Must } else { Occur::Should };
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        let mut terms = Vec::new();
        let mut analyser = self.index.tokenizer_for_field(self.text)?;
        analyser.token_stream(query).process(&mut |token| {
            let term = Term::from_field_text(self.text, &token.text);
            terms.push(term.clone());
            clauses.push((occur, Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))));
        });
        if ask == Ask::Phrase && terms.len() > 1 {
            return Ok(Box::new(PhraseQuery::new(terms)));
        }
        let words = BooleanQuery::new(clauses);
        if ask != Ask::Sample {
            return Ok(Box::new(words));
        }
        let tag =
            TermQuery::new(Term::from_field_text(self.tag, SAMPLE_TAG), IndexRecordOption::Basic);
        let filter: Box<dyn Query> = Box::new(ConstScoreQuery::new(Box::new(tag), 0.0));
        let both: Vec<(Occur, Box<dyn Query>)> =
            vec![(Occur::Must, Box::new(words)), (Occur::Must, filter)];
        Ok(Box::new(BooleanQuery::new(both)))
    }
}
