//! Exports: what is in them, what is not, and that they are made of nothing else.

use kapsa_memory::record::Source;
use kapsa_memory::{
    EventRequest, EventType, ExportRequest, FindRequest, NewCheckpoint, NewEvent, NewRecord,
    Reader, Record, branch, checkpoint, content_hash, event, export,
};

use crate::{Fixture, named, uri};

fn request(run: Option<&str>) -> ExportRequest {
    ExportRequest { run: run.map(str::to_string), ..ExportRequest::default() }
}

/// A memory with a run, its events and checkpoints, and things that are not the run's.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let mut w = fixture.writer();
    w.put(named("a", "a fact of everybody")).expect("put");
    checkpoint::make(
        &mut w,
        &NewCheckpoint { label: "everybodys".to_string(), ..NewCheckpoint::default() },
    )
    .expect("made");
    branch::create(&mut w, "run/7", "main", None).expect("made");
    w.switch("run/7").expect("open");
    let source = Source {
        path: "/a/folder/notes.md".to_string(),
        line_start: 1,
        line_end: 2,
        content_hash: "0".repeat(32),
    };
    w.put(NewRecord {
        run: "7".to_string(),
        source: Some(source),
        ..named("b", "a fact of the run")
    })
    .expect("put");
    w.put(named("b", "a later fact of the run")).expect("put");
    w.put(named("gone", "forgotten by the run")).expect("put");
    w.forget(&uri("gone")).expect("forgotten");
    w.alias(&uri("old-b"), &uri("b")).expect("aliased");
    checkpoint::make(
        &mut w,
        &NewCheckpoint {
            stage: "plan".to_string(),
            run: "7".to_string(),
            ..NewCheckpoint::default()
        },
    )
    .expect("made");
    let call = |mode: &str| {
        let payload = format!(
            r#"{{"call_id":"c","model":"m","routing_mode":"r","capture_mode":"{mode}","prompt_hash":"p","response_hash":"q","success":true}}"#
        );
        let payload = serde_json::from_str(&payload).expect("JSON");
        NewEvent { run: "7".to_string(), payload, ..NewEvent::new(EventType::ModelCallEnvelope) }
    };
    event::emit(
        &mut w,
        vec![
            call("full_io"),
            call("prompts_only"),
            NewEvent { run: "7".to_string(), ..NewEvent::new(EventType::DebugTrace) },
        ],
    )
    .expect("told");
    drop(w);
    fixture
}

fn records(export: &export::Export<'_>) -> Vec<Record> {
    export.records().collect::<Result<_, _>>().expect("readable")
}

fn on_run(fixture: &Fixture) -> Reader {
    fixture.reader().on("run/7", None).expect("a branch")
}

#[test]
fn test_export_determinism() {
    let fixture = fixture();
    let write = |name: &str| {
        let path = fixture.path.with_file_name(name);
        let reader = on_run(&fixture);
        let export = export::gather(&reader, &request(Some("7"))).expect("gathered");
        export.write_capsule(&path).expect("written");
        assert_eq!(content_hash(&path).expect("readable"), export.content_hash);
        std::fs::read(path).expect("readable")
    };
    let first = write("one.kapsa");
    fixture.writer().put(named("elsewhere", "not of the run")).expect("put");
    fixture.writer().compact(&mut |_, _| {}).expect("compacts");
    assert!(first == write("two.kapsa"), "the same content makes the same bytes, wherever it lay");
}

#[test]
fn test_export_filters_checkpoints_and_events_by_run() {
    let fixture = fixture();
    let reader = on_run(&fixture);
    let export = export::gather(&reader, &request(Some("run_7"))).expect("gathered");
    assert!(records(&export).iter().all(|record| record.uri != uri("a")));
    assert_eq!((export.record_count, export.checkpoint_count, export.event_count), (8, 1, 2));
    let whole = export::gather(&reader, &request(None)).expect("gathered");
    assert_eq!((whole.record_count - whole.event_count, whole.checkpoint_count), (8, 2));
    assert!(export::gather(&on_run(&fixture), &request(Some("8"))).is_err(), "nothing of that run");
}

#[test]
fn test_safe_export_excludes_full_io_model_calls() {
    let fixture = fixture();
    let reader = on_run(&fixture);
    let export = export::gather(&reader, &request(Some("7"))).expect("gathered");
    let found = records(&export);
    let types: Vec<&str> =
        found.iter().filter_map(|record| record.tags.get("type")).map(String::as_str).collect();
    assert_eq!(types, ["StageTransition", "ModelCallEnvelope"]);
    let sources: Vec<&str> =
        found.iter().filter_map(|record| record.source.as_ref()).map(|s| s.path.as_str()).collect();
    assert_eq!(sources, ["notes.md"]);
    let all = export::gather(&reader, &ExportRequest { is_unsafe: true, ..request(Some("7")) })
        .expect("gathered");
    assert_eq!(all.event_count, 4);
}

#[test]
fn test_export_import_retrieval_parity() {
    let fixture = fixture();
    let path = fixture.path.with_file_name("export.kapsa");
    export::gather(&on_run(&fixture), &ExportRequest { is_unsafe: true, ..request(None) })
        .expect("gathered")
        .write_capsule(&path)
        .expect("written");
    let (before, after) = (on_run(&fixture), Reader::open(&path).expect("opens"));
    for query in ["fact", "later run", "everybody", "forgotten"] {
        let hits = |reader: &Reader| {
            let found = reader.find(&FindRequest::new(query)).expect("found");
            found.hits.into_iter().map(|hit| (hit.record.uri, hit.record.text)).collect::<Vec<_>>()
        };
        assert_eq!(hits(&before), hits(&after), "{query}");
    }
    assert_eq!(after.get(&uri("old-b")).expect("resolves").text, "a later fact of the run");
    assert_eq!(after.history(&uri("b")).expect("kept").len(), 2);
    assert!(after.get(&uri("gone")).is_err());
    assert_eq!(checkpoint::list(&after, false).expect("listed").len(), 2);
    let events = event::list(&after, &EventRequest::default()).expect("listed");
    assert_eq!(events.len(), 4);
    assert_eq!(after.get(&events[0].uri).expect("resolves").kind, "event");
    assert_eq!(kapsa_memory::check::verify(&path, &mut |_, _| {}).expect("checked").problems, []);
}

#[test]
fn what_events_name_goes_along_only_if_it_is_there_and_theirs() {
    let fixture = fixture();
    let mut w = fixture.writer();
    for name in ["purged", "forgotten", "alive"] {
        w.put(named(name, &format!("text of {name}"))).expect("put");
    }
    w.alias(&uri("old"), &uri("purged")).expect("aliased");
    branch::create(&mut w, "run/10", "main", None).expect("made");
    w.switch("run/10").expect("open");
    w.put(named("elsewhere", "text of elsewhere")).expect("put");
    w.switch("run/7").expect("open");
    let names = ["purged", "forgotten", "alive", "elsewhere"];
    let uris: Vec<String> = names.map(|name| uri(name).as_str().to_string()).to_vec();
    let payload = serde_json::json!({"request_id": "r", "hit_uris": uris});
    let payload = payload.as_object().expect("an object").clone();
    let search =
        NewEvent { run: "7".to_string(), payload, ..NewEvent::new(EventType::RetrievalResponse) };
    event::emit(&mut w, vec![search]).expect("told");
    w.switch("main").expect("open");
    w.forget(&uri("forgotten")).expect("forgotten");
    kapsa_memory::purge(&mut w, &uri("purged")).expect("marked");
    drop(w);
    for (reader, run) in [(on_run(&fixture), Some("7")), (fixture.reader(), None)] {
        let export = export::gather(&reader, &request(run)).expect("gathered");
        let texts: Vec<String> = records(&export).into_iter().map(|record| record.text).collect();
        let has = |name: &str| texts.iter().any(|text| *text == format!("text of {name}"));
        assert!(has("alive"), "{texts:?}");
        assert!(!has("purged") && !has("elsewhere"), "{texts:?}");
        assert!(run.is_none() || !has("forgotten"), "its tombstone is not of the run: {texts:?}");
    }
}
