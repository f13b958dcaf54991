//! Measures how fast the index is, compared with bare tantivy on the same corpus.
//!
//! `lexical_bench RECORDS [--prose] [DIRECTORY...]` recombines paragraphs of the `*.md` and,
//! without `--prose`, `*.rs` files below the directories into records of about 1 KB, and prints a
//! table. Without a directory the words are made up.

use std::fmt::Display;
use std::path::Path;
use std::time::{Duration, Instant};

use kapsa_index::{
    Document, Filter, Query, Searcher, Segment, SegmentBuilder, SegmentBytes, TailDoc, merge,
};
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, TermQuery};
use tantivy::schema::{FAST, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, IndexSettings, TantivyDocument, Term};

/// Bytes of text in a record.
const RECORD_BYTES: usize = 1000;
/// Source text is read up to this many bytes.
const SOURCE_BYTES_MAX: usize = 128 << 20;
const SEGMENT_RECORDS: usize = 65_536;
const MEMORY_BYTES: usize = 256 << 20;
const QUERIES: usize = 400;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % n as u64) as usize
    }
}

struct Corpus {
    paragraphs: Vec<String>,
    records: usize,
}

struct Record {
    title: String,
    text: String,
    terms: Vec<String>,
    number: u64,
}

impl Corpus {
    fn read(records: usize, prose: bool, directories: &[String]) -> Corpus {
        let mut paragraphs = Vec::new();
        let mut bytes = 0;
        for directory in directories {
            collect(Path::new(directory), prose, &mut paragraphs, &mut bytes);
        }
        if paragraphs.is_empty() {
            paragraphs = synthetic();
        }
        Corpus { paragraphs, records }
    }

    /// Record `number`, always the same.
    fn record(&self, number: usize) -> Record {
        let mut random = Random((number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut text = String::with_capacity(RECORD_BYTES + 300);
        while text.len() < RECORD_BYTES {
            text.push_str(&self.paragraphs[random.below(self.paragraphs.len())]);
            text.push('\n');
        }
        let title = text.split_whitespace().take(6).collect::<Vec<_>>().join(" ");
        let terms = vec![
            format!("percent:{}", random.below(100)),
            format!("permille:{}", random.below(1000)),
            format!("ten:{}", random.below(10)),
            format!("half:{}", random.below(2)),
            format!("uri:kapsa://record/{number}"),
        ];
        Record { title, text, terms, number: number as u64 }
    }

    fn all(&self) -> impl Iterator<Item = Record> {
        (0..self.records).map(|number| self.record(number))
    }
}

impl Record {
    fn document(&self) -> Document<'_> {
        Document {
            title: &self.title,
            text: &self.text,
            terms: &self.terms,
            key_hash: self.number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            time_us: 1_700_000_000_000_000 + self.number as i64 * 1_000_000,
        }
    }
}

fn collect(path: &Path, prose: bool, paragraphs: &mut Vec<String>, bytes: &mut usize) {
    let Ok(entries) = std::fs::read_dir(path) else { return };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if *bytes > SOURCE_BYTES_MAX {
            return;
        }
        if path.is_dir() {
            collect(&path, prose, paragraphs, bytes);
        } else if path.extension().is_some_and(|ext| ext == "md" || (ext == "rs" && !prose)) {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            for paragraph in text.split("\n\n").filter(|text| (80..600).contains(&text.len())) {
                *bytes += paragraph.len();
                paragraphs.push(paragraph.to_owned());
            }
        }
    }
}

fn synthetic() -> Vec<String> {
    let mut random = Random(42);
    let word = |random: &mut Random| {
        let rank = random.below(30_000);
        let number = format!("{:05}", random.below(rank + 1));
        number.bytes().map(|digit| char::from(digit - b'0' + b'a')).collect::<String>()
    };
    let paragraph =
        |random: &mut Random| (0..40).map(|_| word(random)).collect::<Vec<_>>().join(" ");
    (0..50_000).map(|_| paragraph(&mut random)).collect()
}

fn timed<T>(task: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = task();
    (result, start.elapsed())
}

fn row(what: &str, ours: impl Display, bare: impl Display, ratio: f64) {
    println!("{what:<34} {ours:>12} {bare:>12} {ratio:>8.2}");
}

fn micros(duration: Duration) -> String {
    format!("{:.0} µs", duration.as_secs_f64() * 1e6)
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

fn build(corpus: &Corpus) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut builder = SegmentBuilder::new(MEMORY_BYTES).expect("builder");
    let mut first_seq = 0;
    for record in corpus.all() {
        builder.add(&record.document()).expect("add");
        if builder.len() as usize == SEGMENT_RECORDS || record.number as usize + 1 == corpus.records
        {
            let next = SegmentBuilder::new(MEMORY_BYTES).expect("builder");
            let bytes = std::mem::replace(&mut builder, next).finish().expect("finish");
            segments.push(Segment { first_seq, bytes: bytes.into() });
            first_seq = record.number + 1;
        }
    }
    segments
}

/// Bare tantivy: one text field, two columns, the terms as strings, one thread, a segment each
/// time.
struct Bare {
    schema: Schema,
}

impl Bare {
    fn new() -> Bare {
        let mut schema = Schema::builder();
        let text = TextFieldIndexing::default()
            .set_tokenizer("en_stem")
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        schema.add_text_field("text", TextOptions::default().set_indexing_options(text));
        let terms = TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_fieldnorms(false)
            .set_index_option(IndexRecordOption::Basic);
        schema.add_text_field("terms", TextOptions::default().set_indexing_options(terms));
        schema.add_u64_field("key_hash", FAST);
        schema.add_i64_field("time_us", FAST);
        Bare { schema: schema.build() }
    }

    fn document(&self, record: &Record) -> TantivyDocument {
        let field = |name: &str| self.schema.get_field(name).expect("a field");
        let mut document = TantivyDocument::new();
        document.add_text(field("text"), &record.title);
        document.add_text(field("text"), &record.text);
        document.add_text(field("text"), &record.title);
        record.terms.iter().for_each(|term| document.add_text(field("terms"), term));
        document.add_u64(field("key_hash"), record.document().key_hash);
        document.add_i64(field("time_us"), record.document().time_us);
        document
    }

    fn build(&self, corpus: &Corpus) -> (usize, usize) {
        let mut bytes = 0;
        let mut number = 0;
        while number < corpus.records {
            let directory = tantivy::directory::RamDirectory::create();
            let settings = IndexSettings {
                docstore_compress_dedicated_thread: false,
                ..IndexSettings::default()
            };
            let mut writer = Index::builder()
                .schema(self.schema.clone())
                .settings(settings)
                .single_segment_index_writer(directory.clone(), MEMORY_BYTES)
                .expect("writer");
            let end = (number + SEGMENT_RECORDS).min(corpus.records);
            for record in (number..end).map(|number| corpus.record(number)) {
                writer.add_document(self.document(&record)).expect("add");
            }
            writer.finalize().expect("finalize");
            bytes += directory.total_mem_usage();
            number = end;
        }
        (bytes, number)
    }
}

/// Queries of 2 to 5 words that stand together in some record.
fn queries(corpus: &Corpus) -> Vec<Vec<String>> {
    let mut random = Random(99);
    let mut queries = Vec::new();
    while queries.len() < QUERIES {
        let record = corpus.record(random.below(corpus.records));
        let words: Vec<String> = record
            .text
            .split(|c: char| !c.is_ascii_alphabetic())
            .filter(|word| word.len() > 3 && word.bytes().all(|b| b.is_ascii_lowercase()))
            .map(str::to_owned)
            .collect();
        if words.len() > 10 {
            let count = 2 + random.below(4);
            queries.push((0..count).map(|_| words[random.below(words.len())].clone()).collect());
        }
    }
    queries
}

/// Median and 90th percentile over the queries, each the best of three.
fn latencies(queries: &[Query], mut search: impl FnMut(&Query) -> usize) -> (Duration, Duration) {
    let mut times: Vec<Duration> = queries
        .iter()
        .map(|query| (0..3).map(|_| timed(|| search(query)).1).min().expect("three"))
        .collect();
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() * 9 / 10])
}

/// Bare tantivy over the very same segments, its own searcher and collector.
mod same {
    use super::*;
    use tantivy::directory::RamDirectory;

    /// The blob's files in a directory of their own, with a list of segments.
    pub(super) fn open(segments: &[Segment]) -> tantivy::Searcher {
        let directory = RamDirectory::create();
        let mut metas = Vec::new();
        for (ord, segment) in segments.iter().enumerate() {
            let bytes = segment.bytes.bytes();
            let number = |at: usize| {
                u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight")) as usize
            };
            // The first file is not one of tantivy's.
            for (extension, index) in ["fast", "fieldnorm", "term", "idx"].iter().zip(1..) {
                let (start, len) = (number(32 + index * 24), number(40 + index * 24));
                write(&directory, &format!("{ord:032x}.{extension}"), &bytes[start..start + len]);
            }
            metas.push((ord, number(16) as u32));
        }
        finish(&directory, &metas)
    }

    fn write(directory: &RamDirectory, path: &str, bytes: &[u8]) {
        use std::io::Write;
        use tantivy::Directory;
        use tantivy::directory::TerminatingWrite;
        let mut file = directory.open_write(Path::new(path)).expect("new file");
        file.write_all(bytes).expect("in memory");
        file.terminate().expect("in memory");
    }

    fn finish(directory: &RamDirectory, metas: &[(usize, u32)]) -> tantivy::Searcher {
        use tantivy::Directory;
        let schema = schema();
        let empty = RamDirectory::create();
        let settings = IndexSettings {
            docstore_compression: tantivy::store::Compressor::None,
            docstore_compress_dedicated_thread: false,
            ..IndexSettings::default()
        };
        let mut writer = Index::builder()
            .schema(schema.clone())
            .settings(settings)
            .single_segment_index_writer::<TantivyDocument>(empty.clone(), 1 << 20)
            .expect("writer");
        let mut word = TantivyDocument::new();
        word.add_text(schema.get_field("text").expect("a field"), "word");
        word.add_text(schema.get_field("terms").expect("a field"), "word");
        writer.add_document(word).expect("add");
        let index = writer.finalize().expect("finalize");
        let meta = index.searchable_segment_metas().expect("metas").remove(0);
        let store = meta.relative_path(tantivy::index::SegmentComponent::Store);
        let store = empty.open_read(&store).expect("store").read_bytes().expect("bytes");
        let positions = meta.relative_path(tantivy::index::SegmentComponent::Positions);
        let positions =
            empty.open_read(&positions).expect("positions").read_bytes().expect("bytes");
        let json = empty.atomic_read(Path::new("meta.json")).expect("meta");
        let json = String::from_utf8(json).expect("text");
        let list: Vec<String> = metas
            .iter()
            .map(|(ord, max_doc)| {
                write(directory, &format!("{ord:032x}.store"), &store);
                write(directory, &format!("{ord:032x}.pos"), &positions);
                let id = format!("{ord:032x}");
                let id = [&id[..8], &id[8..12], &id[12..16], &id[16..20], &id[20..]].join("-");
                format!(r#"{{"segment_id":"{id}","max_doc":{max_doc},"deletes":null}}"#)
            })
            .collect();
        let start = json.find("\"segments\":").expect("segments") + "\"segments\":".len();
        let end = start + json[start..].find(']').expect("end") + 1;
        let json = format!("{}[{}]{}", &json[..start], list.join(","), &json[end..]);
        directory.atomic_write(Path::new("meta.json"), json.as_bytes()).expect("in memory");
        Index::open(directory.clone()).expect("open").reader().expect("reader").searcher()
    }

    fn schema() -> Schema {
        let mut schema = Schema::builder();
        let indexed = |tokenizer, record, norms| {
            let text = TextFieldIndexing::default()
                .set_tokenizer(tokenizer)
                .set_index_option(record)
                .set_fieldnorms(norms);
            TextOptions::default().set_indexing_options(text)
        };
        schema.add_text_field("text", indexed("default", IndexRecordOption::WithFreqs, true));
        schema.add_text_field("terms", indexed("raw", IndexRecordOption::Basic, false));
        schema.add_u64_field("key_hash", FAST);
        schema.add_i64_field("time_us", FAST);
        schema.build()
    }

    pub(super) fn query(searcher: &tantivy::Searcher, query: &Query, occur: Occur) -> BooleanQuery {
        let field = searcher.schema().get_field("text").expect("a field");
        let clauses = query.terms().map(|word| {
            let term =
                TermQuery::new(Term::from_field_text(field, word), IndexRecordOption::WithFreqs);
            (occur, Box::new(term) as Box<dyn tantivy::query::Query>)
        });
        BooleanQuery::new(clauses.collect())
    }
}

fn compare_search(name: &str, segments: &[Segment], texts: &[Vec<String>]) {
    let ours = Searcher::open(segments.to_vec(), Vec::new()).expect("open");
    let bare = same::open(segments);
    for (kind, sign, occur) in [("OR", "", Occur::Should), ("AND", "+", Occur::Must)] {
        let queries: Vec<Query> = texts
            .iter()
            .map(|words| words.iter().map(|word| format!("{sign}{word} ")).collect::<String>())
            .map(|text| Query::parse(&text).expect("short"))
            .collect();
        let none = Filter::default();
        let run = |filter: &Filter, query: &Query| {
            ours.search(query, filter, 10, &mut |_| true).expect("search").len()
        };
        let top = TopDocs::with_limit(10).order_by_score();
        let (bare50, bare90) = latencies(&queries, |query| {
            bare.search(&same::query(&bare, query, occur), &top).expect("search").len()
        });
        let (ours50, ours90) = latencies(&queries, |query| run(&none, query));
        row(
            &format!("{name} {kind} top-10 p50"),
            micros(ours50),
            micros(bare50),
            ratio(ours50, bare50),
        );
        row(
            &format!("{name} {kind} top-10 p90"),
            micros(ours90),
            micros(bare90),
            ratio(ours90, bare90),
        );
        let share = |term: &str| Filter { all: vec![vec![term.into()]], ..Filter::default() };
        let time = Filter {
            since_us: Some(1_700_000_000_000_000 + (bare.num_docs() as i64) * 990_000),
            ..Filter::default()
        };
        let filters = [
            ("0.1%", share("permille:7")),
            ("1%", share("percent:7")),
            ("10%", share("ten:3")),
            ("50%", share("half:1")),
            ("newest 1%", time),
        ];
        for (share, filter) in filters {
            let (p50, p90) = latencies(&queries, |query| run(&filter, query));
            row(
                &format!("{name} {kind} {share} filter p50"),
                micros(p50),
                micros(ours50),
                ratio(p50, ours50),
            );
            row(
                &format!("{name} {kind} {share} filter p90"),
                micros(p90),
                micros(ours90),
                ratio(p90, ours90),
            );
        }
    }
}

fn small_segments(corpus: &Corpus) {
    let small = |number: usize| -> SegmentBytes {
        let mut builder = SegmentBuilder::new(1 << 20).expect("builder");
        (number * 128..(number + 1) * 128)
            .for_each(|number| builder.add(&corpus.record(number).document()).expect("add"));
        builder.finish().expect("finish").into()
    };
    let records: Vec<Record> = (0..128).map(|number| corpus.record(number)).collect();
    let build = || {
        let mut builder = SegmentBuilder::new(1 << 20).expect("builder");
        records.iter().for_each(|record| builder.add(&record.document()).expect("add"));
        builder.finish().expect("finish")
    };
    let best = (0..20).map(|_| timed(build).1).min().expect("some");
    println!("a segment of 128 records           {:>12}", micros(best));
    let bytes: Vec<SegmentBytes> = (0..24).map(small).collect();
    println!("its bytes                          {:>12}", bytes[0].bytes().len());
    let best = (0..5).map(|_| timed(|| merge(&bytes[..8])).1).min().expect("some");
    println!("merge of 8 of them                 {:>12}", micros(best));
    let segments: Vec<Segment> = bytes
        .into_iter()
        .zip(0..)
        .map(|(bytes, n)| Segment { first_seq: n * 128, bytes })
        .collect();
    open_times(&segments);
    let tail = || {
        records.iter().zip(0..).map(|(record, seq)| TailDoc::new(seq, &record.document())).collect()
    };
    let best = (0..5).map(|_| timed::<Vec<TailDoc>>(tail).1).min().expect("some");
    println!("a tail document                    {:>12}", micros(best / 128));
    let searcher = Searcher::open(Vec::new(), tail()).expect("open");
    let query = Query::parse("what is the error in memory").expect("short");
    let search = || searcher.search(&query, &Filter::default(), 10, &mut |_| true).expect("search");
    let best = (0..20).map(|_| timed(search).1).min().expect("some");
    println!("search a tail of 128               {:>12}", micros(best));
}

fn open_times(segments: &[Segment]) {
    let count = segments.len() as u32;
    let open = || Searcher::open(segments.to_vec(), Vec::new()).expect("open");
    let best = (0..20).map(|_| timed(open).1).min().expect("some");
    println!("open {count} segments, each             {:>12}", micros(best / count));
    let query = Query::parse("qqqqz").expect("short");
    let first = || open().search(&query, &Filter::default(), 10, &mut |_| true).expect("search");
    let best = (0..20).map(|_| timed(first).1).min().expect("some");
    println!("open and search them, each         {:>12}", micros(best / count));
}

fn main() {
    let mut args = std::env::args().skip(1);
    let records = args.next().and_then(|count| count.parse().ok()).unwrap_or(100_000);
    let (flags, directories): (Vec<String>, Vec<String>) =
        args.partition(|arg| arg.starts_with("--"));
    let corpus = Corpus::read(records, flags.contains(&"--prose".to_owned()), &directories);
    let (raw, making) =
        timed(|| corpus.all().map(|record| record.text.len() + record.title.len()).sum::<usize>());
    println!("{records} records, {} MB of text, {} paragraphs", raw >> 20, corpus.paragraphs.len());
    println!("{:<34} {:>12} {:>12} {:>8}", "", "kapsa", "bare", "ratio");
    small_segments(&corpus);

    let (segments, ours) = timed(|| build(&corpus));
    let ((bare_bytes, _), bare) = timed(|| Bare::new().build(&corpus));
    let (ours, bare) = (ours - making, bare - making);
    let rate = |time: Duration| format!("{:.1} MB/s", raw as f64 / time.as_secs_f64() / 1e6);
    row("build, against en_stem", rate(ours), rate(bare), ratio(ours, bare));
    let bytes: usize = segments.iter().map(|segment| segment.bytes.bytes().len()).sum();
    let share = |bytes: usize| format!("{:.3}", bytes as f64 / raw as f64);
    row(
        "index bytes / text bytes",
        share(bytes),
        share(bare_bytes),
        bytes as f64 / bare_bytes as f64,
    );
    open_times(&segments);

    let texts = queries(&corpus);
    compare_search("many segments,", &segments, &texts);
    let all: Vec<SegmentBytes> = segments.iter().map(|segment| segment.bytes.clone()).collect();
    let (merged, time) = timed(|| merge(&all).expect("merge"));
    println!(
        "merge into one, each record        {:>12}",
        format!("{:.2} µs", time.as_secs_f64() * 1e6 / records as f64)
    );
    drop((segments, all));
    compare_search("one segment,", &[Segment { first_seq: 0, bytes: merged.into() }], &texts);
}
