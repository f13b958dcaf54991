//! Target: what is redacted of any text keeps every other character, and JSON stays JSON.

use kapsa_redact::{Span, redact, redact_json, spans_across, without};
use serde_json::Value;

/// Reads the bytes as a text, as JSON, and as messages that follow each other.
pub fn redact_texts(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let redacted = redact(&text);
    check(&text, &redacted.spans);
    assert_eq!(redacted.text, without(&text, &redacted.spans));
    let json = redact_json(&text);
    // Several may be of one string there.
    assert!(json.spans.iter().all(|span| text.get(span.range.clone()).is_some()));
    assert_eq!(json.spans.is_empty(), json.text == text, "changed where something was found");
    if serde_json::from_str::<Value>(&text).is_ok() {
        let after = serde_json::from_str::<Value>(&json.text);
        assert!(after.is_ok(), "{text:?} became {:?}", json.text);
    }
    let parts: Vec<&str> = text.split('\u{1f}').collect();
    for (part, spans) in parts.iter().zip(spans_across(&parts)) {
        check(part, &spans);
    }
}

fn check(text: &str, spans: &[Span]) {
    let whole = spans.iter().all(|span| {
        text.get(span.range.clone()).is_some_and(|part| !part.is_empty()) && !span.rule.is_empty()
    });
    let apart = spans.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start);
    assert!(whole && apart, "{text:?}: {spans:?}");
}
