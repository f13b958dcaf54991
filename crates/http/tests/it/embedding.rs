//! Embedding services: what is asked, which answers are rejected, and what an error says.

use std::net::TcpListener;
use std::time::Duration;

use kapsa_http::{EmbeddingOptions, Key, ServiceEmbedder, Settings};
use kapsa_model::{EmbedError, Embedder, Pooling, Purpose};
use kapsa_testkit::stub::{Reply, Request, Stub};
use serde_json::{Value, json};

use crate::samples::KEY;

/// A service at a path of the stub, with a key.
fn at(stub: &Stub, path: &str) -> Settings {
    let base_url = Some(format!("{}{path}", stub.url()));
    let timeout = Some(Duration::from_secs(20));
    Settings { base_url, key: Some(Key::new(KEY).unwrap()), timeout, ..Settings::default() }
}

/// Options with which nothing is asked before the first text.
fn silent() -> EmbeddingOptions {
    EmbeddingOptions { dimensions: Some(3), ..EmbeddingOptions::default() }
}

fn open(stub: &Stub, options: EmbeddingOptions) -> Result<ServiceEmbedder, EmbedError> {
    ServiceEmbedder::open("openai:small", &at(stub, "/v1/"), options)
}

fn openai(stub: &Stub) -> ServiceEmbedder {
    open(stub, silent()).unwrap()
}

fn ollama(stub: &Stub) -> Result<ServiceEmbedder, EmbedError> {
    ServiceEmbedder::open("ollama:nomic", &at(stub, ""), EmbeddingOptions::default())
}

/// Three numbers that depend on the length of the text.
fn vector(text: &str) -> Value {
    json!([text.len(), 1, 0.0])
}

fn expected(text: &str) -> Vec<f32> {
    let length = (text.len() as f64).hypot(1.0);
    vec![(text.len() as f64 / length) as f32, (1.0 / length) as f32, 0.0]
}

/// What OpenAI would answer, the last text first.
fn openai_answer(request: &Request) -> Reply {
    let rows = request.texts().into_iter().enumerate();
    let rows = rows
        .map(|(at, text)| json!({"object": "embedding", "index": at, "embedding": vector(&text)}));
    let rows: Vec<Value> = rows.rev().collect();
    Reply::json(
        &json!({"object": "list", "data": rows, "model": "small", "usage": {"total_tokens": 1}}),
    )
}

fn ollama_answer(request: &Request) -> Reply {
    if request.path == "/api/show" {
        let file = format!("FROM /models/blobs/sha256-{}", "ab".repeat(32));
        return Reply::json(
            &json!({"modelfile": file, "model_info": {"bert.context_length": 2048}}),
        );
    }
    let vectors: Vec<Value> = request.texts().iter().map(|text| vector(text)).collect();
    Reply::json(&json!({"model": "nomic", "embeddings": vectors}))
}

/// An embedder that was made without a request, and what it says about the answer to two texts.
fn complaint(
    handler: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static,
) -> (Stub, EmbedError) {
    let stub = Stub::start(handler);
    let embedder = openai(&stub);
    let problem = embedder.embed(&["one", "two"], Purpose::Passage).unwrap_err();
    let shown = format!("{problem} {problem:?} {embedder:?}");
    assert!(!shown.contains(KEY), "{shown}");
    (stub, problem)
}

fn data(rows: &Value) -> Reply {
    Reply::json(&json!({ "data": rows }))
}

#[test]
fn vectors_of_openai_are_put_in_order() {
    let stub = Stub::start(|_, request| openai_answer(request));
    let embedder: Box<dyn Embedder> = Box::new(open(&stub, EmbeddingOptions::default()).unwrap());
    let model = embedder.model().clone();
    assert_eq!(
        (model.name.as_str(), model.dimension, model.pooling),
        ("openai/small", 3, Pooling::Remote)
    );

    let texts = ["a", "bb", "", "dddd \"quoted\" é\n"];
    let vectors = embedder.embed(&texts, Purpose::Query).unwrap();
    assert_eq!(vectors, texts.map(expected));

    let requests = stub.requests();
    assert_eq!(requests.len(), 2, "a probe and the texts");
    assert_eq!(requests[1].path, "/v1/embeddings");
    assert_eq!(requests[1].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(requests[1].header("content-type"), Some("application/json"));
    assert_eq!(
        requests[1].body,
        json!({"model": "small", "input": texts, "encoding_format": "float"})
    );
}

#[test]
fn given_dimensions_are_asked_for_without_a_probe() {
    let stub = Stub::start(|_, request| openai_answer(request));
    let keyless = Settings { key: None, ..at(&stub, "/v1") };
    let embedder = ServiceEmbedder::open("openai:small", &keyless, silent()).unwrap();
    assert_eq!(embedder.embed(&[], Purpose::Query).unwrap(), Vec::<Vec<f32>>::new());
    assert!(stub.requests().is_empty(), "nothing to ask");
    embedder.embed(&["x"], Purpose::Query).unwrap();
    assert_eq!(stub.requests()[0].body["dimensions"], 3);
    assert_eq!(stub.requests()[0].header("authorization"), None);
    for wrong in [0, 4097] {
        let problem =
            open(&stub, EmbeddingOptions { dimensions: Some(wrong), ..silent() }).unwrap_err();
        assert!(problem.message.contains("1 to 4096"), "{problem}");
    }
    for wrong in ["openai: ", "openai", "anthropic:x", "small", ""] {
        assert!(ServiceEmbedder::open(wrong, &at(&stub, "/v1"), silent()).is_err(), "{wrong}");
    }
}

#[test]
fn ollama_says_what_its_model_is() {
    let stub = Stub::start(|_, request| ollama_answer(request));
    let embedder = ollama(&stub).unwrap();
    let model = embedder.model().clone();
    assert_eq!((model.name.as_str(), model.dimension, model.tokens_max), ("ollama/nomic", 3, 2048));
    assert_eq!(embedder.embed(&["a", "bb"], Purpose::Passage).unwrap(), ["a", "bb"].map(expected));
    let requests = stub.requests();
    assert_eq!(
        requests.iter().map(|request| request.path.as_str()).collect::<Vec<_>>(),
        ["/api/show", "/api/embed", "/api/embed"]
    );
    assert_eq!(requests[0].body, json!({"model": "nomic"}));
    assert_eq!(
        requests[2].body,
        json!({"model": "nomic", "input": ["a", "bb"], "truncate": false})
    );

    let moved = Stub::start(|_, request| ollama_answer(request));
    let tagged =
        ServiceEmbedder::open("ollama:nomic:latest", &at(&moved, ""), EmbeddingOptions::default());
    assert_eq!(tagged.unwrap().model(), &model, "a server that moved serves the same model");
}

#[test]
fn ollama_without_show_is_known_by_its_name() {
    let stub = Stub::start(|_, request| match request.path.as_str() {
        "/api/show" => Reply::status(404, "404 page not found"),
        _ => ollama_answer(request),
    });
    let unknown = ollama(&stub).unwrap();
    let known = Stub::start(|_, request| ollama_answer(request));
    let known = ollama(&known).unwrap();
    assert_ne!(unknown.model().hash, known.model().hash);
    assert_eq!(unknown.model().tokens_max, u32::MAX);
}

#[test]
fn a_text_that_is_too_long_is_reported_and_not_sent_again() {
    for status in [400, 500] {
        let stub = Stub::start(move |number, request| match number {
            0 | 1 => ollama_answer(request),
            _ => {
                Reply::status(status, r#"{"error":"the input length exceeds the context length"}"#)
            }
        });
        let embedder = ollama(&stub).unwrap();
        let problem = embedder.embed(&["short", "long"], Purpose::Passage).unwrap_err();
        let start = "one of the texts 1 to 2 of 2: longer than nomic reads at once";
        assert!(problem.message.starts_with(start), "{problem}");
        assert!(problem.hint.unwrap().contains("send less text"));
        assert_eq!(stub.requests().len(), 3);
    }
}

#[test]
fn a_model_that_is_not_there_can_be_pulled() {
    let stub = Stub::start(|_, _| {
        Reply::status(404, r#"{"error":"model \"nomic\" not found, try pulling it first"}"#)
    });
    let problem = ollama(&stub).unwrap_err();
    assert!(problem.message.contains("404 Not Found: model \"nomic\" not found"), "{problem}");
    assert_eq!(problem.hint.as_deref(), Some("try `ollama pull nomic`"));
}

#[test]
fn the_prefix_is_of_the_purpose() {
    let stub = Stub::start(|_, request| openai_answer(request));
    let prefixes = EmbeddingOptions {
        query_prefix: "q: ".to_owned(),
        passage_prefix: "p: ".to_owned(),
        ..EmbeddingOptions::default()
    };
    let embedder =
        open(&stub, EmbeddingOptions { dimensions: Some(3), ..prefixes.clone() }).unwrap();
    embedder.embed(&["x"], Purpose::Query).unwrap();
    embedder.embed(&["x", "y"], Purpose::Passage).unwrap();
    assert_eq!(stub.requests()[0].texts(), ["q: x"]);
    assert_eq!(stub.requests()[1].texts(), ["p: x", "p: y"]);

    let stub = Stub::start(|_, request| ollama_answer(request));
    let embedder = ServiceEmbedder::open("ollama:nomic", &at(&stub, ""), prefixes).unwrap();
    embedder.embed(&["x"], Purpose::Query).unwrap();
    assert_eq!(stub.requests()[2].texts(), ["q: x"]);
    let model = embedder.model();
    assert_eq!((model.query_prefix.as_str(), model.passage_prefix.as_str()), ("q: ", "p: "));
}

#[test]
fn many_texts_go_in_several_requests() {
    let stub = Stub::start(|_, request| openai_answer(request));
    let embedder = openai(&stub);
    let texts: Vec<String> = (0..150).map(|number| "x".repeat(number)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = embedder.embed(&texts, Purpose::Passage).unwrap();
    assert_eq!(vectors, texts.iter().map(|text| expected(text)).collect::<Vec<_>>());
    let counts: Vec<usize> = stub.requests().iter().map(|request| request.texts().len()).collect();
    assert_eq!(counts, [64, 64, 22]);

    let stub = Stub::start(|_, request| openai_answer(request));
    let embedder = openai(&stub);
    let big = "\"\u{1}é".repeat(20_000);
    embedder.embed(&[big.as_str(); 7], Purpose::Passage).unwrap();
    let requests = stub.requests();
    assert_eq!(
        requests.iter().map(|request| request.texts().len()).collect::<Vec<_>>(),
        [2, 2, 2, 1]
    );
    assert!(requests.iter().all(|request| request.bytes < 513 * 1024));
}

#[test]
fn a_failure_of_a_later_request_leaves_no_vectors_and_says_where() {
    let (_, problem) = {
        let stub = Stub::start(|number, request| match number {
            0 => openai_answer(request),
            _ => Reply::status(400, "no"),
        });
        let embedder = openai(&stub);
        let problem = embedder.embed(&["x"; 70], Purpose::Passage).unwrap_err();
        (stub, problem)
    };
    assert!(problem.message.contains("400 Bad Request: no"), "{problem}");
    let stub = Stub::start(|number, request| match number {
        0 => openai_answer(request),
        _ => data(&json!(vec![json!({"embedding": [0, 0, 0]}); 6])),
    });
    let embedder = openai(&stub);
    let problem = embedder.embed(&["x"; 70], Purpose::Passage).unwrap_err();
    assert!(problem.message.contains("the vector of text 65 of 70 has no direction"), "{problem}");
}

#[test]
fn transient_failures_are_tried_again() {
    let stub = Stub::start(|number, request| match number {
        0 => Reply::status(429, "slow down"),
        1 => Reply::Close,
        2 => Reply::Half("{\"data\":[".to_owned()),
        _ => openai_answer(request),
    });
    let embedder = openai(&stub);
    assert_eq!(embedder.embed(&["a"], Purpose::Query).unwrap(), [expected("a")]);
    assert_eq!(stub.requests().len(), 4);
}

#[test]
fn a_failure_that_stays_is_given_up() {
    let (stub, problem) = complaint(|_, _| Reply::status(500, "<h1>broken</h1>"));
    assert!(
        problem.message.ends_with("500 Internal Server Error after 4 tries: <h1>broken</h1>"),
        "{problem}"
    );
    assert_eq!(stub.requests().len(), 4);
}

#[test]
fn a_connection_that_is_always_closed_is_given_up() {
    let (stub, problem) = complaint(|_, _| Reply::Close);
    assert!(problem.message.contains("closed the connection after 4 tries"), "{problem}");
    assert_eq!(stub.requests().len(), 4);
}

#[test]
fn a_long_wait_is_reported_instead_of_waited() {
    let (stub, problem) =
        complaint(|_, _| Reply::Full(429, "retry-after: 120\r\n".to_owned(), String::new()));
    assert!(problem.message.ends_with("429 Too Many Requests and asks to wait 120 s"), "{problem}");
    assert_eq!(stub.requests().len(), 1);
}

#[test]
fn a_wrong_key_is_not_shown() {
    let said = json!({"error": {"message": format!("Incorrect API key: {KEY}\u{1b}[2J.\n{}", "x".repeat(500))}}).to_string();
    let (stub, problem) = complaint(move |_, _| Reply::status(401, &said));
    assert!(
        problem.message.contains("401 Unauthorized: Incorrect API key: (key)[2J. xxx"),
        "{problem}"
    );
    assert!(
        problem.message.len() < 400 && !problem.message.contains(char::is_control),
        "{problem}"
    );
    assert_eq!(
        problem.hint.as_deref(),
        Some("check that this is the right key, and that it may use this model")
    );
    assert_eq!(stub.requests().len(), 1, "no other try");
}

#[test]
fn a_redirect_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let other = Stub::start(|_, request| openai_answer(request));
        let location = format!("location: {}/v1/embeddings\r\n", other.url());
        let (_, problem) =
            complaint(move |_, _| Reply::Full(status, location.clone(), String::new()));
        assert!(problem.message.contains(&format!("points to {}", other.url())), "{problem}");
        assert!(other.requests().is_empty(), "{status}");
    }
}

#[test]
fn an_answer_without_vectors_is_rejected() {
    let bodies = [
        "",
        "{",
        "[]",
        "{\"data\":7}",
        "{\"data\":[{\"embedding\":\"AAAA\"}]}",
        "{\"data\":[{\"embedding\":[NaN]}]}",
    ];
    for body in bodies {
        let (stub, problem) = complaint(move |_, _| Reply::status(200, body));
        assert!(
            problem.message.contains("/v1/embeddings does not answer with vectors ("),
            "{problem}"
        );
        assert_eq!(stub.requests().len(), 1);
    }
    let (_, problem) = complaint(|_, _| Reply::status(200, r#"{"error":"Unexpected endpoint"}"#));
    assert!(problem.message.ends_with(": Unexpected endpoint"), "{problem}");
}

#[test]
fn wrong_vectors_are_rejected() {
    let good = json!({"embedding": [1, 2, 3]});
    for (rows, expected) in [
        (
            json!([good]),
            "answers with 1 vectors for 2 texts, asked for one of the texts 1 to 2 of 2",
        ),
        (json!([good, good, good]), "answers with 3 vectors for 2 texts"),
        (json!([good, {"embedding": [1, 2]}]), "the vector of text 2 of 2 has 2 numbers, not 3"),
        (json!([{"embedding": [0, 0, 0]}, good]), "the vector of text 1 of 2 has no direction"),
        (
            json!([{"embedding": [0, null, 0]}, good]),
            "the vector of text 1 of 2 has no finite number at position 2",
        ),
        (
            json!([{"embedding": vec![1; 5000]}, good]),
            "the vector of text 1 of 2 has 5000 numbers, more than 4096",
        ),
        (json!([{"index": 5, "embedding": [1, 2, 3]}, good]), "answers with index"),
    ] {
        let (_, problem) = complaint(move |_, _| data(&rows));
        assert!(problem.message.contains(expected), "{problem}");
    }
    let stub = Stub::start(|_, _| data(&json!([{"embedding": vec![1; 4097]}])));
    let problem = open(&stub, EmbeddingOptions::default()).unwrap_err();
    assert!(problem.message.contains("4097 numbers, more than 4096"), "{problem}");
}

#[test]
fn a_dimension_that_changes_is_rejected() {
    let stub = Stub::start(|number, request| match number {
        0 | 1 => ollama_answer(request),
        _ => Reply::json(&json!({"embeddings": [[1, 2, 3, 4]]})),
    });
    let embedder = ollama(&stub).unwrap();
    let problem = embedder.embed(&["x"], Purpose::Query).unwrap_err();
    assert!(
        problem.message.contains("the vector of text 1 of 1 has 4 numbers, not 3"),
        "{problem}"
    );
}

#[test]
fn a_huge_answer_is_not_read_to_its_end() {
    let (stub, problem) = complaint(|_, _| Reply::Huge(usize::MAX >> 1));
    assert!(problem.message.ends_with("answered with more than 16 MB"), "{problem}");
    assert_eq!(stub.requests().len(), 1);
    let (_, problem) = complaint(|_, _| Reply::Full(400, String::new(), "x".repeat(1 << 20)));
    assert!(problem.message.chars().count() < 400, "{problem}");
}

#[test]
fn a_slow_server_meets_the_timeout() {
    for handler in [|| Reply::Silence(Duration::from_secs(5)), || Reply::Drip] {
        let stub = Stub::start(move |_, _| handler());
        let hasty = Settings { timeout: Some(Duration::from_millis(500)), ..at(&stub, "/v1") };
        let embedder = ServiceEmbedder::open("openai:small", &hasty, silent()).unwrap();
        let problem = embedder.embed(&["x"], Purpose::Query).unwrap_err();
        assert!(problem.message.ends_with("did not answer within 0.5 s"), "{problem}");
        assert_eq!(stub.requests().len(), 1);
    }
}

#[test]
fn a_refused_connection_is_reported_with_the_address() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let base_url = format!("http://{address}");
    let settings = Settings { base_url: Some(base_url.clone()), ..Settings::default() };
    let opened = ServiceEmbedder::open("ollama:nomic", &settings, EmbeddingOptions::default());
    let problem = opened.unwrap_err();
    assert!(problem.message.ends_with("refused the connection"), "no other try: {problem}");
    assert_eq!(problem.hint, Some(format!("check that the server is running at {base_url}")));
}
