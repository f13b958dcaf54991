//! Conversations that fail: what is tried again, what is given up, and what an error says.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Barrier;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use kapsa_http::{BACKOFF_FIRST, REPLY_BYTES_MAX, RETRY_AFTER_MAX, Settings, language_model};
use kapsa_model::{ModelError, ModelErrorKind, Usage, block_on};
use kapsa_testkit::stub::{Reply, Request, Stub};
use serde_json::{Value, json};

use crate::samples::{KEY, PROVIDERS, answer, anthropic, cut, model, model_with, openai, user};

/// Why the provider that the stub plays gives no reply.
fn complaint(
    provider: &str,
    handler: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static,
) -> (Stub, ModelError) {
    let stub = Stub::start(handler);
    let model = model(&stub, provider);
    let error = block_on(model.complete(&user("Hello!"))).unwrap_err();
    assert!(!format!("{error} {error:?}").contains(KEY), "{error:?}");
    (stub, error)
}

#[test]
fn a_wrong_key_is_reported_once_and_not_shown() {
    let said = [
        json!({"type": "error", "error": {"type": "authentication_error", "message": format!("invalid x-api-key {KEY}")}}),
        json!({"error": {"message": format!("Incorrect API key provided: {KEY}."), "code": "invalid_api_key"}}),
        json!({"error": format!("unauthorized: Bearer {KEY}")}),
    ];
    let expected = [
        "invalid x-api-key (key)",
        "Incorrect API key provided: (key).",
        "unauthorized: Bearer (key)",
    ];
    for (((provider, _, _), said), expected) in PROVIDERS.into_iter().zip(said).zip(expected) {
        for (status, name) in [(401, "401 Unauthorized"), (403, "403 Forbidden")] {
            let said = said.to_string();
            let (stub, error) = complaint(provider, move |_, _| Reply::status(status, &said));
            assert_eq!(error.kind, ModelErrorKind::Unauthorized, "{error}");
            assert!(error.message.ends_with(&format!("answered {name}: {expected}")), "{error}");
            assert_eq!(
                error.hint.as_deref(),
                Some("check that this is the right key, and that it may use this model")
            );
            assert_eq!(stub.requests().len(), 1, "no other try");
        }
    }
    let stub = Stub::start(|_, _| Reply::status(401, ""));
    let keyless = model_with(&stub, "openai", |settings| Settings { key: None, ..settings });
    let error = block_on(keyless.complete(&user("x"))).unwrap_err();
    assert_eq!(
        error.hint.as_deref(),
        Some("set the service's own key; OPENAI_API_KEY is sent to https://api.openai.com/v1 only")
    );
}

#[test]
fn a_request_that_is_refused_is_not_sent_again() {
    for (provider, name, _) in PROVIDERS {
        for status in [400, 402, 404, 408, 413, 422] {
            let (stub, error) = complaint(provider, move |_, _| {
                Reply::status(status, r#"{"error":{"message":"no"}}"#)
            });
            assert_eq!(error.kind, ModelErrorKind::Refused, "{error}");
            assert!(error.message.ends_with(": no"), "{error}");
            assert_eq!(stub.requests().len(), 1);
            assert_eq!(status == 404, error.hint.as_ref().unwrap().contains(name), "{error:?}");
        }
    }
}

#[test]
fn a_wait_that_is_asked_for_is_waited() {
    for (provider, _, _) in PROVIDERS {
        let stub = Stub::start(move |number, _| match number {
            0 => Reply::Full(
                429,
                "retry-after: 1\r\n".to_owned(),
                r#"{"error":{"message":"slow down"}}"#.to_owned(),
            ),
            _ => Reply::json(&answer(provider, "Hi.")),
        });
        let before = Instant::now();
        assert_eq!(block_on(model(&stub, provider).complete(&user("x"))).unwrap().text, "Hi.");
        assert!(before.elapsed() >= Duration::from_secs(1), "{:?}", before.elapsed());
        let requests = stub.requests();
        assert_eq!((requests.len(), &requests[0].body), (2, &requests[1].body), "the same again");
    }
}

#[test]
fn a_long_wait_is_reported_instead_of_waited() {
    let long = RETRY_AFTER_MAX.as_secs() + 1;
    let (stub, error) = complaint("anthropic", move |_, _| {
        Reply::Full(429, format!("retry-after: {long}\r\n"), String::new())
    });
    assert_eq!(
        error.kind,
        ModelErrorKind::RateLimited { retry_after: Some(RETRY_AFTER_MAX + Duration::from_secs(1)) }
    );
    assert!(
        error.message.ends_with("answered 429 Too Many Requests and asks to wait 61 s"),
        "{error}"
    );
    assert_eq!(stub.requests().len(), 1);
}

#[test]
fn a_limit_that_stays_is_given_up() {
    let stub = Stub::start(|_, _| Reply::status(429, "later"));
    let once = model_with(&stub, "openai", |settings| Settings { retries: 1, ..settings });
    let error = block_on(once.complete(&user("x"))).unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::RateLimited { retry_after: None });
    assert!(error.message.ends_with("429 Too Many Requests after 2 tries: later"), "{error}");
    assert_eq!(stub.requests().len(), 2);
}

#[test]
fn transient_failures_are_tried_again_after_longer_and_longer() {
    let stub = Stub::start(|number, _| match number {
        0 => Reply::status(500, "x"),
        1 => Reply::status(
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        ),
        2 => Reply::Close,
        3 => Reply::Half("{\"content\":[".to_owned()),
        _ => Reply::json(&answer("anthropic", "Hi.")),
    });
    let patient = model_with(&stub, "anthropic", |settings| Settings { retries: 4, ..settings });
    let before = Instant::now();
    assert_eq!(block_on(patient.complete(&user("x"))).unwrap().text, "Hi.");
    let least = BACKOFF_FIRST.mul_f64(0.5 * (1.0 + 2.0 + 4.0 + 8.0));
    assert!(before.elapsed() >= least, "{:?}", before.elapsed());
    assert_eq!(stub.requests().len(), 5);
}

#[test]
fn a_failure_that_stays_is_given_up() {
    let (stub, error) = complaint("ollama", |_, _| {
        Reply::status(500, r#"{"error":"llama runner process has terminated"}"#)
    });
    assert_eq!(error.kind, ModelErrorKind::Unavailable);
    let end = "/api/chat answered 500 Internal Server Error after 4 tries: llama runner process has terminated";
    assert!(error.message.ends_with(end), "{error}");
    assert_eq!(stub.requests().len(), 4);

    let stub = Stub::start(|_, _| Reply::Half("{".to_owned()));
    let once = model_with(&stub, "openai", |settings| Settings { retries: 0, ..settings });
    let error = block_on(once.complete(&user("x"))).unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Unavailable);
    assert!(error.message.contains("closed the connection"), "{error}");
    assert_eq!(stub.requests().len(), 1);
}

#[test]
fn a_refused_connection_is_reported_with_the_address() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let base_url = format!("http://{address}");
    let settings = Settings { base_url: Some(base_url.clone()), ..Settings::default() };
    let error =
        block_on(language_model("ollama:llama3.2", &settings).unwrap().complete(&user("x")))
            .unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Unavailable);
    assert!(error.message.ends_with("refused the connection"), "{error}");
    assert_eq!(error.hint, Some(format!("check that the server is running at {base_url}")));
}

#[test]
fn a_slow_server_meets_the_timeout() {
    for handler in [|| Reply::Silence(Duration::from_secs(5)), || Reply::Drip] {
        let stub = Stub::start(move |_, _| handler());
        let hasty = model_with(&stub, "openai", |settings| Settings {
            timeout: Some(Duration::from_millis(500)),
            ..settings
        });
        let error = block_on(hasty.complete(&user("x"))).unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Timeout, "{error}");
        assert!(error.message.ends_with("did not answer within 0.5 s"), "{error}");
        assert_eq!(stub.requests().len(), 1, "no other try: it would take as long");
    }
}

/// A server whose queue of connections is full answers none: the kernel of Linux leaves further
/// ones waiting.
#[cfg(target_os = "linux")]
#[test]
fn a_server_that_cannot_be_connected_to_meets_its_own_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let connect = |_| TcpStream::connect_timeout(&address, Duration::from_millis(300)).ok();
    let full: Vec<TcpStream> = (0..10_000).map_while(connect).collect();
    assert!(full.len() < 10_000);
    let connect_timeout = Duration::from_millis(300);
    let settings = Settings {
        base_url: Some(format!("http://{address}")),
        connect_timeout,
        retries: 1,
        ..Settings::default()
    };
    let error =
        block_on(language_model("ollama:llama3.2", &settings).unwrap().complete(&user("x")))
            .unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Timeout);
    assert!(error.message.ends_with("/api/chat in time after 2 tries"), "{error}");
}

#[test]
fn a_huge_reply_is_not_read_to_its_end() {
    let most = REPLY_BYTES_MAX as usize;
    for bytes in [most + (1 << 16), usize::MAX >> 1] {
        let (stub, error) = complaint("anthropic", move |_, _| Reply::Huge(bytes));
        assert_eq!(error.kind, ModelErrorKind::BadReply);
        assert!(error.message.ends_with("answered with more than 16 MB"), "{error}");
        assert_eq!(stub.requests().len(), 1);
    }
    let (_, error) = complaint("anthropic", move |_, _| Reply::Huge(most));
    assert!(
        error.message.contains("does not answer as anthropic does"),
        "read to its end: {error}"
    );
    let (_, error) =
        complaint("openai", |_, _| Reply::Full(400, String::new(), "x".repeat(1 << 20)));
    assert!(error.message.chars().count() < 400, "{error}");
}

#[test]
fn what_is_not_a_reply_is_rejected() {
    let html = "<!DOCTYPE html>\n<html><head><title>Sign in</title>\u{1b}[2J</head></html>";
    let bodies = [
        html,
        "",
        "{",
        "[]",
        "7",
        "{}",
        r#"{"content": 7}"#,
        r#"{"choices": []}"#,
        r#"{"message": "no"}"#,
    ];
    for (provider, _, _) in PROVIDERS {
        for body in bodies {
            let (stub, error) = complaint(provider, move |_, _| Reply::status(200, body));
            assert_eq!(error.kind, ModelErrorKind::BadReply, "{error}");
            assert!(
                error.message.contains(&format!("does not answer as {provider} does (")),
                "{error}"
            );
            assert!(!error.message.contains(char::is_control), "{error:?}");
            assert_eq!(stub.requests().len(), 1);
        }
        let (_, error) = complaint(provider, move |_, _| Reply::status(200, html));
        assert!(
            error
                .message
                .ends_with(": <!DOCTYPE html> <html><head><title>Sign in</title>[2J</head></html>"),
            "{error}"
        );
        let (_, error) = complaint(provider, |_, _| Reply::status(204, ""));
        assert_eq!(error.kind, ModelErrorKind::BadReply, "{error}");
    }
}

#[test]
fn half_an_answer_is_not_taken_for_a_whole_one() {
    for (provider, name, _) in PROVIDERS {
        let (stub, error) =
            complaint(provider, move |_, _| Reply::json(&cut(provider, "The answer is")));
        assert_eq!(
            (error.kind, error.usage),
            (ModelErrorKind::BadReply, Usage { tokens_in: 12, tokens_out: 6 })
        );
        assert_eq!(error.message, format!("{provider}:{name} was cut off after 6 tokens"));
        assert_eq!(stub.requests().len(), 1);
    }
}

#[test]
fn a_model_that_refuses_is_reported_as_such() {
    let refused = |body: Value| move |_: usize, _: &Request| Reply::json(&body);
    for (provider, body, expected) in [
        ("anthropic", anthropic(&json!([]), "refusal"), "refusal"),
        (
            "openai",
            openai(
                &json!({"role": "assistant", "content": null, "refusal": "I can't help."}),
                "stop",
            ),
            "I can't help.",
        ),
        (
            "openai",
            openai(&json!({"role": "assistant", "content": ""}), "content_filter"),
            "content filter",
        ),
    ] {
        let (_, error) = complaint(provider, refused(body));
        assert_eq!((error.kind, error.usage.tokens_in), (ModelErrorKind::Refused, 12));
        assert!(error.message.ends_with(&format!("refuses to answer: {expected}")), "{error}");
    }
}

#[test]
fn arguments_that_are_not_json_are_rejected() {
    let function = json!({"name": "f", "arguments": "{\"a\": oops}"});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", "function": function}]});
    let (_, error) = complaint("openai", move |_, _| Reply::json(&openai(&message, "tool_calls")));
    assert_eq!((error.kind, error.usage.tokens_out), (ModelErrorKind::BadReply, 6));
    assert!(error.message.contains("the arguments of f are not JSON: expected value"), "{error}");
}

#[test]
fn a_redirect_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let other = Stub::start(|_, _| Reply::json(&answer("openai", "Hi.")));
        let location = format!("location: {}/v1/chat/completions\r\n", other.url());
        let (_, error) =
            complaint("openai", move |_, _| Reply::Full(status, location.clone(), String::new()));
        assert_eq!(error.kind, ModelErrorKind::Refused);
        assert!(error.message.contains(&format!("points to {}", other.url())), "{error}");
        assert!(other.requests().is_empty(), "{status}");
    }
}

#[test]
fn a_server_without_encryption_is_not_spoken_to_in_the_clear() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = Some(format!("https://{}", listener.local_addr().unwrap()));
    let server = thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut heard = [0; 1024];
        let length = connection.read(&mut heard).unwrap();
        let _ = connection.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        heard[..length].to_vec()
    });
    let settings =
        Settings { base_url, key: Some(kapsa_http::Key::new(KEY).unwrap()), ..Settings::default() };
    let error = block_on(language_model("openai:gpt-4.1", &settings).unwrap().complete(&user("x")))
        .unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Unavailable);
    assert!(error.message.contains("failed"), "{error}");
    assert_eq!(server.join().unwrap()[0], 0x16, "a TLS handshake");
}

#[test]
fn nothing_is_sent_before_or_after_somebody_waits() {
    let stub = Stub::start(|_, _| Reply::status(500, ""));
    let model = model(&stub, "openai");
    let request = user("x");
    let mut future = model.complete(&request);
    thread::sleep(Duration::from_millis(100));
    assert!(stub.requests().is_empty(), "a future is asked for first");
    assert!(matches!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending));
    while stub.requests().is_empty() {
        thread::sleep(Duration::from_millis(1));
    }
    drop(future);
    thread::sleep(BACKOFF_FIRST * 4);
    assert!(
        stub.requests().len() <= 2,
        "at most the try that had begun: {}",
        stub.requests().len()
    );
}

#[test]
fn many_are_asked_at_once() {
    let all = Barrier::new(8);
    let stub = Stub::start(move |_, request| {
        all.wait();
        Reply::json(&answer("anthropic", request.body["messages"][0]["content"].as_str().unwrap()))
    });
    let model = model(&stub, "anthropic");
    let requests: Vec<_> = (0..8).map(|number| user(&number.to_string())).collect();
    let mut asked: Vec<_> = requests.iter().map(|request| model.complete(request)).collect();
    let mut waiting = Context::from_waker(Waker::noop());
    assert!(asked.iter_mut().all(|future| future.as_mut().poll(&mut waiting).is_pending()));
    let texts: Vec<String> =
        asked.into_iter().map(|future| block_on(future).unwrap().text).collect();
    assert_eq!(texts, ["0", "1", "2", "3", "4", "5", "6", "7"]);
}
