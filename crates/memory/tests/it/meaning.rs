//! Vectors: who gets them, who sees them, and what outlives a change of model, a compaction and a
//! purge. The model is a stand-in whose vectors are plain to see: one number for each of a few
//! words.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use kapsa_memory::{
    Clock, EmbedRequest, Error, FindRequest, Grouping, NewRecord, NewVectors, Reader, SearchMode,
    TAIL_BYTES_MAX, TAIL_RECORDS_MAX, UnlockedWriter, Uri, WriteOptions, Writer, branch, create,
    embed, optimize, purge, stats,
};
use kapsa_model::{EmbedError, Embedder, Model, Pooling, Purpose};

const NOW: i64 = 1_800_000_000_000_000;
const DAY: i64 = 86_400_000_000;
const WORDS: [&str; 6] = ["cat", "feline", "dog", "hound", "red", "ship"];

/// Words that mean the same share a number.
pub(crate) struct Plain {
    model: Model,
    texts: AtomicUsize,
    floor: u8,
}

impl Plain {
    pub(crate) fn new(name: &str) -> Plain {
        let model = Model {
            name: name.to_string(),
            hash: [name.len() as u8; 32],
            dimension: 4,
            pooling: Pooling::Mean,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            tokens_max: 128,
            cosine_floor: 0,
        };
        Plain { model, texts: AtomicUsize::new(0), floor: 0 }
    }

    /// How many texts it was given.
    pub(crate) fn made(&self) -> usize {
        self.texts.load(Ordering::SeqCst)
    }

    /// The same meanings, but unrelated texts have a cosine of `floor` hundredths, which is
    /// declared or not.
    pub(crate) fn with_floor(name: &str, floor: u8, is_declared: bool) -> Plain {
        let mut plain = Plain::new(name);
        plain.floor = floor;
        plain.model.dimension += 1;
        plain.model.cosine_floor = if is_declared { floor } else { 0 };
        plain
    }
}

impl Embedder for Plain {
    fn model(&self) -> &Model {
        &self.model
    }

    fn embed(&self, texts: &[&str], _: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.texts.fetch_add(texts.len(), Ordering::SeqCst);
        let vector = |text: &&str| {
            if text.contains("broken") {
                return Err(EmbedError {
                    message: "this text breaks the model".into(),
                    hint: None,
                });
            }
            let text = text.to_lowercase();
            let mut vector = [0.01f32; 4];
            for (at, word) in WORDS.iter().enumerate() {
                vector[if at < 4 { at / 2 } else { at - 2 }] += text.matches(word).count() as f32;
            }
            let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            let floor = f32::from(self.floor) / 100.0;
            let own = vector.iter().map(|x| x / length * (1.0 - floor).sqrt());
            let common = (self.floor > 0).then(|| floor.sqrt());
            Ok(own.chain(common).collect())
        };
        texts.iter().map(vector).collect()
    }
}

pub(crate) fn options() -> WriteOptions {
    WriteOptions::new(|| NOW)
}

pub(crate) struct Capsule {
    pub(crate) path: std::path::PathBuf,
    _folder: tempfile::TempDir,
}

pub(crate) fn capsule() -> Capsule {
    let folder = tempfile::tempdir().expect("it works");
    let path = folder.path().join("a.kapsa");
    create(&path, &options()).expect("it works");
    Capsule { path, _folder: folder }
}

pub(crate) fn record(uri: &str, text: &str) -> NewRecord {
    NewRecord { uri: Some(Uri::parse(uri).expect("it works")), ..NewRecord::text(text) }
}

pub(crate) fn fill(path: &Path, embedder: &Plain) -> kapsa_memory::EmbedReport {
    embed(path, &options(), embedder, &EmbedRequest::default(), &mut |_, _| ()).expect("it works")
}

fn found(path: &Path, embedder: &Plain, request: &FindRequest) -> Vec<String> {
    let found =
        Reader::open(path).expect("it works").find_with(request, Some(embedder)).expect("it works");
    found.hits.iter().map(|hit| hit.record.uri.short().to_string()).collect()
}

fn by_meaning(query: &str) -> FindRequest {
    FindRequest { mode: SearchMode::Meaning, ..FindRequest::new(query) }
}

#[test]
fn what_means_the_same_is_found_without_its_words() {
    let capsule = capsule();
    let model = Plain::new("plain");
    let mut writer = Writer::open(&capsule.path, options()).expect("it works");
    writer
        .put_many(vec![
            record("a", "a cat sleeps"),
            record("b", "the dog barks"),
            record("c", "a red ship"),
        ])
        .expect("it works");
    drop(writer);
    assert_eq!(
        found(&capsule.path, &model, &FindRequest::new("feline")),
        [""; 0],
        "without vectors words decide"
    );
    let refused = Reader::open(&capsule.path)
        .expect("it works")
        .find_with(&by_meaning("feline"), Some(&model));
    assert!(matches!(refused, Err(Error::NoVectors)));
    let report = fill(&capsule.path, &model);
    assert_eq!((report.records, report.vectors, report.missing, report.in_force), (3, 3, 0, true));
    assert_eq!(found(&capsule.path, &model, &FindRequest::new("feline")), ["a"]);
    assert_eq!(found(&capsule.path, &model, &FindRequest::new("hound"))[0], "b");
    assert_eq!(
        found(
            &capsule.path,
            &model,
            &FindRequest { mode: SearchMode::Words, ..FindRequest::new("feline") }
        ),
        [""; 0]
    );
    // What is required is required.
    assert_eq!(found(&capsule.path, &model, &FindRequest::new("+feline")), [""; 0]);
    assert_eq!(found(&capsule.path, &model, &FindRequest::new("+\"the cat\"")), [""; 0]);
    assert_eq!(found(&capsule.path, &model, &FindRequest::new("\"the cat\"")), ["a"]);
    assert_eq!(fill(&capsule.path, &model).records, 0, "nothing is embedded twice");
}

#[test]
fn who_sees_a_record_sees_its_vector_and_nobody_else() {
    for after in ["tail", "optimised", "compacted"] {
        let capsule = capsule();
        let model = Plain::new("plain");
        let mut writer = Writer::open(&capsule.path, options()).expect("it works");
        writer
            .put_many(vec![record("a", "a cat sleeps"), record("b", "the dog barks")])
            .expect("it works");
        branch::create(&mut writer, "side", "main", None).expect("it works");
        writer
            .put(NewRecord { kind: "fact".into(), ..record("a", "a red ship, no animal") })
            .expect("it works");
        writer.switch("side").expect("it works");
        writer.put(record("s", "a feline of the side branch")).expect("it works");
        writer.switch("main").expect("it works");
        writer.forget(&Uri::parse("b").expect("it works")).expect("it works");
        drop(writer);
        fill(&capsule.path, &model);
        if after == "optimised" {
            optimize(&capsule.path, &options(), &mut |_, _| ()).expect("it works");
        } else if after == "compacted" {
            Writer::open(&capsule.path, options())
                .expect("it works")
                .compact(&mut |_, _| ())
                .expect("it works");
        }
        let reader = Reader::open(&capsule.path).expect("it works");
        let seen = |reader: &Reader, request: &FindRequest| -> Vec<String> {
            let found = reader.find_with(request, Some(&model)).expect("it works");
            found
                .hits
                .iter()
                .map(|hit| format!("{}#{}", hit.record.uri.short(), hit.record.sequence))
                .collect()
        };
        assert_eq!(
            seen(&reader, &by_meaning("cat")),
            [""; 0],
            "{after}: main has revised its cat and forgotten its dog"
        );
        assert_eq!(seen(&reader, &by_meaning("ship")), ["a#4"], "{after}");
        let side = reader.on("side", None).expect("it works");
        assert_eq!(seen(&side, &by_meaning("cat"))[..], ["s#5", "a#1"], "{after}");
        assert_eq!(seen(&side, &by_meaning("dog")), ["b#2"], "{after}");
        let before = reader.on("main", Some(&kapsa_memory::AsOf::Sequence(2))).expect("it works");
        assert_eq!(seen(&before, &by_meaning("cat")), ["a#1"], "{after}");
        let mut request = by_meaning("ship");
        request.filter.kinds = vec!["note".into()];
        assert_eq!(seen(&reader, &request), [""; 0], "{after}: filters hold");
        assert_eq!(seen(&reader, &by_meaning("ship kind:fact")), ["a#4"], "{after}");
    }
}

/// Every search reported branches and tombstones as records that lack vectors.
#[test]
fn what_has_nothing_to_embed_is_not_missing() {
    let capsule = capsule();
    let mut writer = Writer::open(&capsule.path, options()).expect("it works");
    writer.put_many(vec![record("a", "a cat"), record("b", "a dog")]).expect("it works");
    drop(writer);
    fill(&capsule.path, &Plain::new("plain"));
    let mut writer = Writer::open(&capsule.path, options()).expect("it works");
    branch::create(&mut writer, "side", "main", None).expect("it works");
    writer.forget(&Uri::parse("a").expect("it works")).expect("it works");
    let coverage = || Reader::open(&capsule.path).expect("it works").coverage().expect("it works");
    assert_eq!((coverage().covered, coverage().missing), (4, 0));
    writer.put(record("c", "a bird")).expect("it works");
    assert_eq!((coverage().covered, coverage().missing), (4, 1));
    drop(writer);
    optimize(&capsule.path, &options(), &mut |_, _| {}).expect("it works");
    assert_eq!((coverage().covered, coverage().missing), (4, 1), "in a segment, too");
}

#[test]
fn what_is_purged_has_no_vector_after_a_compaction() {
    let capsule = capsule();
    let model = Plain::new("plain");
    let mut writer = Writer::open(&capsule.path, options()).expect("it works");
    writer.put_many(vec![record("a", "a cat"), record("b", "a dog")]).expect("it works");
    drop(writer);
    fill(&capsule.path, &model);
    let mut writer = Writer::open(&capsule.path, options()).expect("it works");
    purge(&mut writer, &Uri::parse("a").expect("it works")).expect("it works");
    drop(writer);
    assert_eq!(found(&capsule.path, &model, &by_meaning("cat")), [""; 0]);
    assert_eq!(
        Reader::open(&capsule.path).expect("it works").coverage().expect("it works").vectors,
        2
    );
    Writer::open(&capsule.path, options())
        .expect("it works")
        .compact(&mut |_, _| ())
        .expect("it works");
    let coverage = Reader::open(&capsule.path).expect("it works").coverage().expect("it works");
    assert_eq!((coverage.vectors, coverage.missing), (1, 0), "the purge's marker needs none");
    assert_eq!(fill(&capsule.path, &model).vectors, 0);
    assert_eq!(found(&capsule.path, &model, &by_meaning("dog")), ["b"]);
}

#[test]
fn what_was_put_last_is_embedded_first() {
    let capsule = capsule();
    let model = Plain::new("plain");
    let mut writer = Writer::open(&capsule.path, options()).expect("it works");
    let texts = (0..200).map(|n| record(&format!("n/{n}"), &format!("number {n}: a cat")));
    writer.put_many(texts.collect()).expect("it works");
    drop(writer);
    let embed_some = |sequences, most| {
        let request =
            EmbedRequest { sequences, records_max: Some(most), ..EmbedRequest::default() };
        embed(&capsule.path, &options(), &model, &request, &mut |_, _| ()).expect("it works")
    };
    let every = FindRequest { k: 200, ..by_meaning("feline") };
    let known = || {
        let found = found(&capsule.path, &model, &every);
        let mut numbers: Vec<u32> =
            found.iter().map(|uri| uri[2..].parse().expect("a number")).collect();
        numbers.sort_unstable();
        numbers
    };
    assert_eq!(embed_some(None, 3).missing, 197);
    assert_eq!(known(), [197, 198, 199]);
    // Of a range too, and over the end of a batch.
    embed_some(Some(1..101), 2);
    assert_eq!(known(), [98, 99, 197, 198, 199]);
    embed_some(None, 70);
    assert_eq!(known()[..4], [98, 99, 127, 128]);
    assert_eq!(fill(&capsule.path, &model).missing, 0);
    assert_eq!(known().len(), 200);
}

#[test]
fn another_model_takes_over_when_it_has_all() {
    let capsule = capsule();
    let (old, new, other) = (Plain::new("old"), Plain::new("newer"), Plain::new("another"));
    let mut writer = Writer::open(&capsule.path, options()).expect("it works");
    writer
        .put_many((0..200).map(|n| record(&format!("n/{n}"), &format!("cat number {n}"))).collect())
        .expect("it works");
    drop(writer);
    fill(&capsule.path, &old);
    let refused = embed(&capsule.path, &options(), &new, &EmbedRequest::default(), &mut |_, _| ());
    assert!(matches!(refused, Err(Error::OtherModel { in_force, .. }) if in_force == "old"));
    let change =
        |records_max| EmbedRequest { change: true, records_max, ..EmbedRequest::default() };
    let part = embed(&capsule.path, &options(), &new, &change(Some(70)), &mut |_, _| ())
        .expect("it works");
    assert_eq!((part.records, part.missing, part.in_force), (70, 130, false));
    let coverage = Reader::open(&capsule.path).expect("it works").coverage().expect("it works");
    assert_eq!(
        (coverage.model.expect("it works").name.as_str(), coverage.covered, coverage.missing),
        ("old", 200, 0)
    );
    assert_eq!(
        coverage.next.map(|(model, covered)| (model.name, covered)),
        Some(("newer".into(), 70))
    );
    assert_eq!(
        found(&capsule.path, &old, &by_meaning("feline")).len(),
        10,
        "searches use the old one meanwhile"
    );
    // A third one puts the unfinished work of the second away.
    let part = embed(&capsule.path, &options(), &other, &change(Some(10)), &mut |_, _| ())
        .expect("it works");
    assert_eq!((part.records, part.missing), (10, 190));
    // A record that comes in between gets the vector of the model in force.
    Writer::open(&capsule.path, options())
        .expect("it works")
        .put(record("late", "a dog"))
        .expect("it works");
    assert_eq!(fill(&capsule.path, &old).records, 1);
    let whole =
        embed(&capsule.path, &options(), &other, &change(None), &mut |_, _| ()).expect("it works");
    assert_eq!((whole.records, whole.missing, whole.in_force), (191, 0, true));
    let coverage = Reader::open(&capsule.path).expect("it works").coverage().expect("it works");
    assert_eq!(
        (coverage.model.expect("it works").name.as_str(), coverage.covered, coverage.next),
        ("another", 201, None)
    );
    assert_eq!(found(&capsule.path, &other, &by_meaning("hound"))[0], "late");
    assert_eq!(
        found(&capsule.path, &old, &FindRequest::new("hound")),
        [""; 0],
        "the old model's vectors are gone"
    );
}

#[test]
fn the_same_text_is_embedded_once_and_a_failing_model_loses_nothing() {
    let capsule = capsule();
    let model = Plain::new("plain");
    let mut writer = Writer::open(&capsule.path, options()).expect("it works");
    writer
        .put_many(
            (0..150)
                .map(|n| record(&format!("n/{n}"), ["A cat!", "a  CAT", "a dog"][n % 3]))
                .collect(),
        )
        .expect("it works");
    drop(writer);
    let report = fill(&capsule.path, &model);
    assert_eq!((report.vectors, report.reused, model.texts.load(Ordering::SeqCst)), (150, 148, 2));
    let mut writer = Writer::open(&capsule.path, options()).expect("it works");
    writer.put(record("x", "a broken ship")).expect("it works");
    drop(writer);
    let failed = embed(&capsule.path, &options(), &model, &EmbedRequest::default(), &mut |_, _| ());
    assert!(matches!(failed, Err(Error::Embedding(_))));
    let reader = Reader::open(&capsule.path).expect("it works");
    let hits = reader.find_with(&FindRequest::new("ship"), Some(&model)).expect("it works");
    assert_eq!(
        (hits.hits[0].record.uri.short(), hits.means.missing),
        ("x", 1),
        "words find it, and it is said that vectors lack"
    );
}

#[test]
fn many_small_puts_leave_few_derived_segments() {
    let capsule = capsule();
    let model = Plain::new("plain");
    for n in 0..120 {
        Writer::open(&capsule.path, options())
            .expect("it works")
            .put(record(&format!("n/{n}"), &format!("cat {n}")))
            .expect("it works");
        fill(&capsule.path, &model);
    }
    let snapshot = kapsa_capsule::Snapshot::open(&capsule.path).expect("it works");
    assert!(snapshot.derived().len() <= 16, "{} derived segments", snapshot.derived().len());
    let coverage = Reader::open(&capsule.path).expect("it works").coverage().expect("it works");
    assert_eq!((coverage.vectors, coverage.missing), (120, 0));
    let report = Reader::open(&capsule.path)
        .expect("it works")
        .find_with(&FindRequest { k: 200, ..by_meaning("feline") }, Some(&model))
        .expect("it works");
    assert_eq!(report.hits.len(), 120);
}

#[test]
fn turns_are_found_through_their_neighbours_and_grouped_by_session() {
    let capsule = capsule();
    let model = Plain::new("plain");
    let mut writer = Writer::open(&capsule.path, options()).expect("it works");
    let turn = |session: &str, who: &str, text: &str| {
        let mut record = NewRecord { entity: who.into(), ..NewRecord::text(text) };
        record.tags.insert("session".into(), session.into());
        record
    };
    writer
        .put_many(vec![
            turn("1", "Ann", "Where did you put the quarterly figures?"),
            turn("1", "Bob", "In the blue folder upstairs."),
            turn("1", "Ann", "Thanks!"),
            turn("2", "Ann", "The figures of the team photo look nice."),
            turn("2", "Bob", "Lovely weather."),
        ])
        .expect("it works");
    drop(writer);
    fill(&capsule.path, &model);
    let reader = Reader::open(&capsule.path).expect("it works");
    let found = reader
        .find_with(&FindRequest::new("where are the quarterly figures"), Some(&model))
        .expect("it works");
    let texts: Vec<&str> = found.hits.iter().map(|hit| hit.record.text.as_str()).collect();
    assert!(texts.contains(&"In the blue folder upstairs."), "{texts:?}");
    let answer = found.hits.iter().find(|hit| hit.record.sequence == 2).expect("it works");
    assert!(
        answer.why.points.iter().any(|(what, points)| *what == "words_beside" && *points > 0.0)
    );
    let grouped = reader
        .find_with(
            &FindRequest {
                group: Some(Grouping::Session),
                ..FindRequest::new("quarterly figures")
            },
            Some(&model),
        )
        .expect("it works");
    let sessions: Vec<&str> =
        grouped.hits.iter().map(|hit| hit.record.tags["session"].as_str()).collect();
    assert_eq!(sessions, ["1", "2"]);
    assert!(grouped.hits[0].group_hits >= 2);
}

#[test]
fn identifiers_win_over_likeness_and_times_are_a_preference() {
    let capsule = capsule();
    let model = Plain::new("plain");
    let mut writer = Writer::open(&capsule.path, options()).expect("it works");
    let at = |days: i64, uri: &str, text: &str| NewRecord {
        created_at: Some(NOW - days * DAY),
        ..record(uri, text)
    };
    writer
        .put_many(vec![
            at(400, "old", "the cat ship error was fixed"),
            at(1, "new", "the cat ship error was fixed again"),
            at(9, "code", "CS0854 appeared in the build"),
            at(9, "like", "cat cat cat error cat in the feline build, CS08541"),
        ])
        .expect("it works");
    drop(writer);
    fill(&capsule.path, &model);
    assert_eq!(
        found(&capsule.path, &model, &FindRequest::new("cat feline error CS0854"))[0],
        "code"
    );
    let clock = || Some(Clock::utc(NOW));
    let timely =
        FindRequest { time: clock(), ..FindRequest::new("which ship error was fixed yesterday") };
    assert_eq!(found(&capsule.path, &model, &timely)[0], "new");
    let old =
        FindRequest { time: clock(), ..FindRequest::new("ship error fixed before 2026-06-01") };
    assert_eq!(NOW - 400 * DAY, 1_765_440_000_000_000, "11 December 2025");
    assert_eq!(found(&capsule.path, &model, &old)[0], "old");
    let recent =
        FindRequest { time: clock(), recency_days: Some(10.0), ..FindRequest::new("ship error") };
    assert_eq!(found(&capsule.path, &model, &recent)[0], "new");
}

#[test]
fn a_long_text_is_found_by_its_passage_and_alike_texts_come_last() {
    let capsule = capsule();
    let model = Plain::new("plain");
    let mut writer = Writer::open(&capsule.path, options()).expect("it works");
    let long = format!(
        "{} Somewhere in it a feline hides. {}",
        "Nothing here. ".repeat(300),
        "Nothing there. ".repeat(300)
    );
    writer
        .put_many(vec![
            record("long", &long),
            record("a", "the dog barks at the gate"),
            record("b", "the dog barks at the gate!"),
            record("c", "a dog sleeps"),
        ])
        .expect("it works");
    drop(writer);
    assert!(fill(&capsule.path, &model).vectors > 5);
    let reader = Reader::open(&capsule.path).expect("it works");
    let hits = reader.find_with(&by_meaning("cat"), Some(&model)).expect("it works").hits;
    let passage = hits[0].passage.clone().expect("it works");
    assert!(long[passage.clone()].contains("feline") && passage.len() < long.len() / 3);
    assert!(long[passage].contains(hits[0].snippet.trim_end_matches('…')));
    let diverse = FindRequest { diverse: true, ..FindRequest::new("dog") };
    let order = found(&capsule.path, &model, &diverse);
    assert!(["a", "b"].contains(&order.last().expect("it works").as_str()), "{order:?}");
}

#[test]
fn damaged_vectors_are_never_believed_and_a_compaction_leaves_them_behind() {
    let capsule = capsule();
    let model = Plain::new("plain");
    let mut writer = Writer::open(&capsule.path, options()).expect("it works");
    writer.put_many(vec![record("a", "a cat"), record("b", "a dog")]).expect("it works");
    drop(writer);
    fill(&capsule.path, &model);
    let mut bytes = std::fs::read(&capsule.path).expect("it works");
    let at = bytes.windows(8).position(|window| window == b"KAPSAVEC").expect("there are vectors");
    bytes[at + 100] ^= 4;
    std::fs::write(&capsule.path, bytes).expect("it works");
    let reader = Reader::open(&capsule.path).expect("it works");
    assert!(reader.find_with(&by_meaning("feline"), Some(&model)).is_err());
    assert_eq!(reader.find(&FindRequest::new("cat")).expect("words do").hits.len(), 1);
    drop(reader);
    Writer::open(&capsule.path, options())
        .expect("it works")
        .compact(&mut |_, _| ())
        .expect("it works");
    assert_eq!(fill(&capsule.path, &model).vectors, 2);
    assert_eq!(found(&capsule.path, &model, &by_meaning("feline")), ["a"]);
}

/// A put too large for one frame brings its vectors in a derived segment, and merges small ones
/// into it. Where one of those is damaged the records are stored all the same.
#[test]
fn damaged_vectors_keep_no_record_from_the_disk() {
    let capsule = capsule();
    let model = Plain::new("plain");
    for block in 0..7 {
        let mut writer = Writer::open(&capsule.path, options()).expect("it works");
        let records = (0..60).map(|n| record(&format!("{block}/{n}"), &format!("cat {block} {n}")));
        writer.put_many(records.collect()).expect("it works");
        drop(writer);
        fill(&capsule.path, &model);
    }
    // Metadata has no vectors: the records are large, and their vectors few.
    let padding = "x ".repeat(4000);
    let large = |n| {
        let mut large = record(&format!("l/{n}"), &format!("dog {n}"));
        large.metadata.insert("padding".into(), padding.as_str().into());
        large
    };
    let large: Vec<NewRecord> = (0..10).map(large).collect();
    let before = UnlockedWriter::open(&capsule.path, options()).expect("it works");
    let vectors = before.embed(&large, &model).expect("it works");
    drop(before);
    let mut bytes = std::fs::read(&capsule.path).expect("it works");
    let at = bytes.windows(8).position(|window| window == b"KAPSAVEC").expect("there are vectors");
    // On another page than the head, which is read when the vectors are opened.
    bytes[at + 5000] ^= 4;
    std::fs::write(&capsule.path, bytes).expect("it works");
    let writer = UnlockedWriter::open(&capsule.path, options()).expect("it works");
    put_ahead(writer, large, vectors);
    let reader = Reader::open(&capsule.path).expect("it works");
    assert_eq!(reader.find(&FindRequest::new("dog")).expect("by words").hits.len(), 10);
}

#[test]
fn many_who_embed_at_once_leave_each_vector_once() {
    let capsule = capsule();
    let mut writer = Writer::open(&capsule.path, options()).expect("it works");
    writer
        .put_many((0..300).map(|n| record(&format!("n/{n}"), &format!("cat {n}"))).collect())
        .expect("it works");
    drop(writer);
    let waiting = WriteOptions { lock_timeout: std::time::Duration::from_secs(30), ..options() };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let report = embed(
                    &capsule.path,
                    &waiting,
                    &Plain::new("plain"),
                    &EmbedRequest::default(),
                    &mut |_, _| (),
                );
                assert_eq!(report.expect("it works").missing, 0);
            });
        }
    });
    let coverage = Reader::open(&capsule.path).expect("it works").coverage().expect("it works");
    assert_eq!((coverage.vectors, coverage.covered, coverage.missing), (300, 300, 0));
}

/// Puts records with vectors that were made before the lock was taken. Returns whether they have
/// them.
fn put_ahead(capsule: UnlockedWriter, records: Vec<NewRecord>, vectors: NewVectors) -> bool {
    let mut writer = capsule.lock().expect("locked");
    let mut transaction = writer.transaction();
    records.into_iter().try_for_each(|record| transaction.put(record)).expect("added");
    let unpublished = transaction.prepare().expect("prepared");
    unpublished.publish_with_vectors(vectors).expect("published").1
}

fn turns(texts: &[&str]) -> Vec<NewRecord> {
    let turn = |text: &&str| {
        let mut record =
            NewRecord { title: "Pets".into(), agent: "ann".into(), ..NewRecord::text(*text) };
        record.tags.insert("session".into(), "s1".into());
        record
    };
    texts.iter().map(turn).collect()
}

#[test]
fn records_and_their_vectors_are_one_commit() {
    let capsule = capsule();
    let model = Plain::new("plain");
    for round in 1..=20u64 {
        let unlocked = UnlockedWriter::open(&capsule.path, options()).expect("opened");
        let records = turns(&[&format!("a cat sleeps {round}"), &format!("the dog barks {round}")]);
        let vectors = unlocked.embed(&records, &model).expect("embedded");
        put_ahead(unlocked, records, vectors);
        let reader = Reader::open(&capsule.path).expect("opened");
        assert_eq!(stats(&reader, false).expect("counted").commit_count, round);
        assert_eq!(
            reader.coverage().expect("read").missing,
            0,
            "records without a text are covered as well"
        );
        assert_eq!(
            found(&capsule.path, &model, &by_meaning("feline")).len(),
            10.min(round as usize),
            "a turn has no meaning of the turn before it"
        );
    }
}

#[test]
fn vectors_made_ahead_are_those_that_would_be_made_later() {
    let texts = ["a cat sleeps", "the dog barks at a red ship", "a hound"];
    let (ahead, later) = (capsule(), capsule());
    let model = Plain::new("plain");
    for text in texts {
        let unlocked = UnlockedWriter::open(&ahead.path, options()).expect("opened");
        let records = turns(&[text]);
        let vectors = unlocked.embed(&records, &model).expect("embedded");
        put_ahead(unlocked, records, vectors);
        Writer::open(&later.path, options())
            .expect("opened")
            .put_many(turns(&[text]))
            .expect("put");
    }
    fill(&later.path, &model);
    let scores = |path: &Path, query: &str| -> Vec<(u64, f32)> {
        let found = Reader::open(path)
            .expect("opened")
            .find_with(&by_meaning(query), Some(&model))
            .expect("found");
        found.hits.iter().map(|hit| (hit.record.sequence, hit.score)).collect()
    };
    for query in ["cat", "hound", "ship", "red dog"] {
        assert_eq!(scores(&ahead.path, query), scores(&later.path, query), "{query}");
    }
}

#[test]
fn vectors_made_ahead_follow_their_records_past_those_of_another_writer() {
    let capsule = capsule();
    let model = Plain::new("plain");
    let unlocked = UnlockedWriter::open(&capsule.path, options()).expect("opened");
    let vectors = unlocked.embed(&[record("mine", "a cat sleeps")], &model).expect("embedded");
    let mut other = Writer::open(&capsule.path, options()).expect("opened");
    other.put_many(vec![record("x", "a red ship"), record("y", "the dog barks")]).expect("put");
    drop(other);
    assert!(put_ahead(unlocked, vec![record("mine", "a cat sleeps")], vectors));
    assert_eq!(found(&capsule.path, &model, &by_meaning("feline")), ["mine"]);
    assert_eq!(
        Reader::open(&capsule.path).expect("opened").coverage().expect("read").missing,
        2,
        "those of the other"
    );
    assert_eq!(fill(&capsule.path, &model).records, 2);
}

#[test]
fn vectors_of_a_model_that_went_out_of_force_are_left_out_and_the_records_stored() {
    let capsule = capsule();
    let (old, new) = (Plain::new("plain"), Plain::new("another"));
    Writer::open(&capsule.path, options())
        .expect("opened")
        .put(record("a", "a cat sleeps"))
        .expect("put");
    fill(&capsule.path, &old);
    let unlocked = UnlockedWriter::open(&capsule.path, options()).expect("opened");
    let vectors = unlocked.embed(&[record("b", "the dog barks")], &old).expect("embedded");
    let change = EmbedRequest { change: true, ..EmbedRequest::default() };
    embed(&capsule.path, &options(), &new, &change, &mut |_, _| ()).expect("changed");
    assert!(!put_ahead(unlocked, vec![record("b", "the dog barks")], vectors));
    assert_eq!(Reader::open(&capsule.path).expect("opened").coverage().expect("read").missing, 1);
    assert_eq!(fill(&capsule.path, &new).records, 1);
    assert_eq!(found(&capsule.path, &new, &by_meaning("hound"))[0], "b");
    let unlocked = UnlockedWriter::open(&capsule.path, options()).expect("opened");
    let refused =
        unlocked.embed(&[record("c", "a ship")], &old).expect_err("another model is in force");
    assert!(matches!(refused, Error::OtherModel { .. }), "{refused}");
}

/// Puts one record with its vectors, as the command line does.
fn put_with_vectors(path: &Path, embedder: &Plain, text: &str) {
    let capsule = UnlockedWriter::open(path, options()).expect("it works");
    let records = vec![NewRecord::text(text)];
    let vectors = capsule.embed(&records, embedder).expect("it works");
    assert!(put_ahead(capsule, records, vectors), "the vectors are there as well: {text}");
}

/// Vectors are attached to small puts, and outlive the tail, whoever indexes it: a put that fills
/// it, a large record beside it, `optimize`, a compaction.
#[test]
fn vectors_of_single_puts_outlive_the_tail() {
    let capsule = capsule();
    let path = &capsule.path;
    let model = Plain::new("plain");
    let mut puts = 0;
    let mut put = |count: u64| {
        for _ in 0..count {
            puts += 1;
            put_with_vectors(path, &model, &format!("note {puts} on a cat"));
        }
        puts
    };
    let state = |puts: u64| {
        let reader = Reader::open(path).expect("it works");
        let coverage = reader.coverage().expect("it works");
        assert_eq!((coverage.vectors, coverage.missing), (puts, 0));
        let mut request = by_meaning("feline");
        request.k = 2 * TAIL_RECORDS_MAX as usize;
        assert_eq!(found(path, &model, &request).len() as u64, puts, "each is found once");
        stats(&reader, false).expect("it works").tail_records
    };
    assert_eq!(state(put(3)), 3);
    assert_eq!(state(put(TAIL_RECORDS_MAX - 2)), 0, "the tail was full");
    assert_eq!(state(put(2)), 2);
    optimize(path, &options(), &mut |_, _| ()).expect("it works");
    assert_eq!(state(put(0)), 0);
    put(2);
    let large = "x ".repeat(TAIL_BYTES_MAX as usize);
    let mut writer = Writer::open(path, options()).expect("it works");
    writer.put(NewRecord::text(&large)).expect("it works");
    assert!(writer.leaves_index());
    drop(writer);
    let reader = Reader::open(path).expect("it works");
    assert_eq!(stats(&reader, false).expect("it works").tail_records, 0);
    assert_eq!(reader.coverage().expect("it works").missing, 1, "the large one has none yet");
    fill(path, &model);
    let vectors = Reader::open(path).expect("it works").coverage().expect("it works").vectors;
    put(2);
    let writer = Writer::open(path, options()).expect("it works");
    writer.compact(&mut |_, _| ()).expect("it works");
    let coverage = Reader::open(path).expect("it works").coverage().expect("it works");
    assert_eq!((coverage.vectors, coverage.missing), (vectors + 2, 0));
}

/// A new model takes over although the old one's vectors are attached to the tail, and those go.
#[test]
fn a_new_model_takes_over_from_vectors_that_are_attached() {
    let capsule = capsule();
    let path = &capsule.path;
    let (old, new) = (Plain::new("plain"), Plain::new("another"));
    put_with_vectors(path, &old, "a cat sleeps");
    put_with_vectors(path, &old, "the dog barks");
    let request = EmbedRequest { change: true, ..EmbedRequest::default() };
    let report = embed(path, &options(), &new, &request, &mut |_, _| ()).expect("it works");
    assert!(report.in_force, "{report:?}");
    let coverage = Reader::open(path).expect("it works").coverage().expect("it works");
    let name = coverage.model.map(|model| model.name);
    assert_eq!((name.as_deref(), coverage.vectors, coverage.next), (Some("another"), 2, None));
    put_with_vectors(path, &new, "a red ship");
    assert_eq!(found(path, &new, &by_meaning("feline")).len(), 1);
    assert_eq!(found(path, &new, &by_meaning("red ship")).len(), 1);
}
