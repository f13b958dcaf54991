//! The peer tantivy: an index in a directory, a commit per put, merges waited for.
//!
//! `load` takes options: `threads=N` (default 2), `analyser=en_stem|default`, `stored=yes|no`
//! (whether bodies are kept), and `segment=N` (one thread, a segment for every N records, nothing
//! merged).

use std::path::Path;

use anyhow::{Context, Result, bail};
use kapsa_bench_common::peer::{HITS, Request, records, single};
use kapsa_bench_common::record::Record;
use tantivy::collector::TopDocs;
use tantivy::merge_policy::NoMergePolicy;
use tantivy::query::{BooleanQuery, ConstScoreQuery, Occur, Query, TermQuery};
use tantivy::schema::{
    IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions, Value,
};
use tantivy::{Index, IndexWriter, TantivyDocument, Term, doc};

/// Memory for each indexing thread, in bytes.
const THREAD_BYTES: usize = 128 << 20;
/// Memory for the thread of a single put: the least that tantivy accepts.
const PUT_BYTES: usize = 15_000_000;

fn main() -> Result<()> {
    match Request::from_args()? {
        Request::Load(store, options) => load(&store, &Options::parse(&options)?),
        Request::Put(store, text) => put(&store, &single(text)),
        Request::Find(store, query, tag) => find(&store, &query, tag.as_deref()),
    }
}

struct Options {
    threads: usize,
    analyser: String,
    stored: bool,
    segment: Option<usize>,
}

impl Options {
    fn parse(words: &[String]) -> Result<Self> {
        let mut options =
            Self { threads: 2, analyser: "en_stem".to_owned(), stored: true, segment: None };
        for word in words {
            match word.split_once('=').context("options are key=value")? {
                ("threads", n) => options.threads = n.parse()?,
                ("analyser", name) => options.analyser = name.to_owned(),
                ("stored", answer) => options.stored = answer == "yes",
                ("segment", n) => options.segment = Some(n.parse()?),
                (key, _) => bail!("unknown option {key}"),
            }
        }
        Ok(options)
    }

    fn schema(&self) -> Schema {
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(&self.analyser)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        schema.add_text_field("text", TextOptions::default().set_indexing_options(indexing));
        schema.add_text_field("tag", STRING);
        if self.stored {
            schema.add_text_field("body", STORED);
        }
        schema.build()
    }
}

fn load(store: &Path, options: &Options) -> Result<()> {
    std::fs::create_dir_all(store)?;
    let index = Index::create_in_dir(store, options.schema())?;
    let threads = if options.segment.is_some() { 1 } else { options.threads };
    let mut writer = index.writer_with_num_threads(threads, THREAD_BYTES * options.threads)?;
    if options.segment.is_some() {
        writer.set_merge_policy(Box::new(NoMergePolicy));
    }
    for (at, record) in records().enumerate() {
        if options.segment.is_some_and(|records| at > 0 && at % records == 0) {
            writer.commit()?;
        }
        add(&index, &writer, &record?)?;
    }
    writer.commit()?;
    Ok(writer.wait_merging_threads()?)
}

fn put(store: &Path, record: &Record) -> Result<()> {
    let index = Index::open_in_dir(store)?;
    let mut writer = index.writer_with_num_threads(1, PUT_BYTES)?;
    add(&index, &writer, record)?;
    writer.commit()?;
    Ok(writer.wait_merging_threads()?)
}

fn add(index: &Index, writer: &IndexWriter, record: &Record) -> Result<()> {
    let schema = index.schema();
    let (text, tag) = (schema.get_field("text")?, schema.get_field("tag")?);
    let mut document = doc!(text => record.title.as_str(), text => record.text.as_str());
    for term in record.tag_terms() {
        document.add_text(tag, term);
    }
    if let Ok(body) = schema.get_field("body") {
        document.add_text(body, serde_json::to_string(record)?);
    }
    writer.add_document(document)?;
    Ok(())
}

fn find(store: &Path, words: &str, tag: Option<&str>) -> Result<()> {
    let index = Index::open_in_dir(store)?;
    let query = any_of(&index, words, tag)?;
    let searcher = index.reader()?.searcher();
    let body = index.schema().get_field("body")?;
    for (_, address) in searcher.search(&query, &TopDocs::with_limit(HITS).order_by_score())? {
        let document: TantivyDocument = searcher.doc(address)?;
        let body = document.get_first(body).and_then(|body| body.as_str()).unwrap_or_default();
        println!("{}", serde_json::from_str::<Record>(body)?.title);
    }
    Ok(())
}

/// Any of the words, ranked; all hits carry the tag when there is one.
fn any_of(index: &Index, words: &str, tag: Option<&str>) -> Result<BooleanQuery> {
    let (text, tags) = (index.schema().get_field("text")?, index.schema().get_field("tag")?);
    let mut analyser = index.tokenizer_for_field(text)?;
    let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
    analyser.token_stream(words).process(&mut |token| {
        let term = Term::from_field_text(text, &token.text);
        clauses.push((Occur::Should, Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))));
    });
    let Some(tag) = tag else {
        return Ok(BooleanQuery::new(clauses));
    };
    let filter = TermQuery::new(Term::from_field_text(tags, tag), IndexRecordOption::Basic);
    let filter = ConstScoreQuery::new(Box::new(filter), 0.0);
    let both: Vec<(Occur, Box<dyn Query>)> =
        vec![(Occur::Must, Box::new(BooleanQuery::new(clauses))), (Occur::Must, Box::new(filter))];
    Ok(BooleanQuery::new(both))
}
