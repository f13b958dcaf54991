//! A re-ranker at a search: it changes the order of the best hits, and nothing else. The model is a
//! stand-in that looks for one word.

use std::sync::Mutex;

use kapsa_memory::access::{Classification, ClearanceProfile};
use kapsa_memory::{
    FindRequest, Found, LOGIT, Models, NewRecord, RERANKED, Reader, SearchMode, Uri,
};
use kapsa_model::{EmbedError, Model, Pooling, Reranker};

use crate::Fixture;

/// Gives a high logit to what has the word `gold`, and notes what it reads.
struct Gold {
    model: Model,
    read: Mutex<Vec<String>>,
    is_broken: bool,
}

impl Gold {
    fn new() -> Gold {
        let model = Model {
            name: "gold".into(),
            hash: [7; 32],
            dimension: 1,
            pooling: Pooling::First,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            tokens_max: 512,
            cosine_floor: 0,
        };
        Gold { model, read: Mutex::default(), is_broken: false }
    }

    fn read(&self) -> Vec<String> {
        self.read.lock().expect("one thread").clone()
    }
}

impl Reranker for Gold {
    fn model(&self) -> &Model {
        &self.model
    }

    fn score(&self, _: &str, texts: &[&str]) -> Result<Vec<f32>, EmbedError> {
        if self.is_broken {
            return Err(EmbedError { message: "out of gold".into(), hint: None });
        }
        self.read.lock().expect("one thread").extend(texts.iter().map(ToString::to_string));
        Ok(texts.iter().map(|text| if text.contains("gold") { 9.0 } else { -9.0 }).collect())
    }
}

/// Turns that words rank in the order of their making: the later, the longer.
fn capsule(count: usize, gold: &[usize]) -> Fixture {
    let fixture = Fixture::new();
    let mut writer = fixture.writer();
    for number in 0..count {
        let word = if gold.contains(&number) { "gold" } else { "iron" };
        let filler: String = (0..number).map(|at| format!(" w{number}x{at}")).collect();
        let record = NewRecord {
            entity: "ana".into(),
            domain: "mine".into(),
            tags: [("session".to_string(), "s1".to_string())].into(),
            ..NewRecord::text(format!("harbour {word}{filler}"))
        };
        writer.put(record).expect("put");
    }
    fixture
}

fn by(reader: &Reader, request: &FindRequest, reranker: &Gold) -> Found {
    let models = Models { reranker: Some(reranker), ..Models::default() };
    reader.find_by(request, models).expect("answered")
}

fn sequences(found: &Found) -> Vec<u64> {
    found.hits.iter().map(|hit| hit.record.sequence).collect()
}

#[test]
fn a_reranker_orders_the_best_hits_and_leaves_the_others() {
    let fixture = capsule(30, &[15, 25]);
    let reader = fixture.reader();
    let request = FindRequest { k: 30, ..FindRequest::new("harbour") };
    let plain = reader.find(&request).expect("answered");
    assert_eq!((plain.hits.len(), &plain.means.reranked), (30, &None));
    let gold = Gold::new();
    let found = by(&reader, &request, &gold);
    assert_eq!(found.means.reranked.as_deref(), Some("gold"));
    let (before, after) = (sequences(&plain), sequences(&found));
    let expected: Vec<u64> = [before[15]]
        .into_iter()
        .chain(before[..15].iter().copied())
        .chain(before[16..].iter().copied())
        .collect();
    assert_eq!(after, expected, "the sixteenth comes first; the twenty-sixth is not looked at");
    assert_eq!(gold.read().len(), RERANKED);
    assert!(found.hits[0].why.points.contains(&("rerank", 9.0 * LOGIT)));
    assert!(found.hits[1].why.points.contains(&("rerank", -9.0 * LOGIT)));
    assert!(!found.hits[RERANKED].why.points.iter().any(|(what, _)| *what == "rerank"));
    assert!(found.hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
    // The order does not depend on how many are shown.
    let few = by(&reader, &FindRequest { k: 3, ..request }, &Gold::new());
    assert_eq!(sequences(&few), expected[..3]);
}

#[test]
fn a_reranker_that_fails_leaves_the_order() {
    let fixture = capsule(12, &[8]);
    let request = FindRequest::new("harbour");
    let broken = Gold { is_broken: true, ..Gold::new() };
    let plain = fixture.reader().find(&request).expect("answered");
    let mut found = by(&fixture.reader(), &request, &broken);
    assert_eq!(found.means.rerank_error.take().as_deref(), Some("out of gold"));
    assert_eq!(found, plain);
}

#[test]
fn a_reranker_reads_who_speaks_and_the_passage_of_a_long_text() {
    let fixture = Fixture::new();
    let long = format!("{} the harbour is closed. {}", "north ".repeat(400), "south ".repeat(400));
    let mut writer = fixture.writer();
    writer.put(NewRecord { agent: "cfo".into(), ..NewRecord::text(long) }).expect("put");
    writer.put(NewRecord::text("a harbour")).expect("put");
    let gold = Gold::new();
    let _found = by(&fixture.reader(), &FindRequest::new("harbour closed"), &gold);
    let read = gold.read();
    let long = read.iter().find(|text| text.len() > 20).expect("the long one");
    assert!(long.starts_with("cfo: ") && long.contains("the harbour is closed"), "{long}");
    assert!(long.len() < 620, "{}", long.len());
    assert!(read.iter().any(|text| text == "a harbour"), "{read:?}");
}

#[test]
fn what_a_query_names_or_holds_as_it_is_stays_before_what_a_model_prefers() {
    let fixture = Fixture::new();
    let mut writer = fixture.writer();
    let uri = |text: &str| Some(Uri::parse(text).expect("a URI"));
    for (name, text) in [
        ("note/a", "errors of the harbour"),
        ("note/b", "harbour errors are worth gold"),
        ("note/c", "the harbour fails with ERR_4711-X"),
    ] {
        let tags = [("session".to_string(), "s1".to_string())].into();
        writer.put(NewRecord { uri: uri(name), tags, ..NewRecord::text(text) }).expect("put");
    }
    let first = |query: &str| {
        let found = by(&fixture.reader(), &FindRequest::new(query), &Gold::new());
        found.hits[0].record.uri.to_string()
    };
    assert!(first("harbour errors").ends_with("note/b"));
    assert!(first("harbour errors mv2://default/note/a").ends_with("note/a"));
    assert!(first("harbour errors ERR_4711-X").ends_with("note/c"));
}

#[test]
fn a_principal_has_what_it_may_know_put_in_order() {
    let fixture = capsule(12, &[8]);
    let reader = fixture.reader();
    let gold = Gold::new();
    let models = Models { reranker: Some(&gold), ..Models::default() };
    let profile = ClearanceProfile::new("cro").with("mine", Classification::Internal);
    let request = FindRequest { mode: SearchMode::Words, ..FindRequest::new("harbour") };
    let own = reader.as_principal(profile).find_by(&request, models).expect("answered");
    assert_eq!(sequences(&own), sequences(&by(&reader, &request, &gold)));
    let is_moved =
        |hit: &kapsa_memory::Hit| hit.why.points.iter().any(|(what, _)| *what == "rerank");
    assert!(own.hits.iter().any(is_moved));
    // What it may not know is not read for it.
    let gold = Gold::new();
    let models = Models { reranker: Some(&gold), ..Models::default() };
    let nobody = reader.as_principal(ClearanceProfile::new("nobody"));
    assert!(nobody.find_by(&request, models).expect("answered").hits.is_empty());
    assert_eq!(gold.read(), Vec::<String>::new());
}
