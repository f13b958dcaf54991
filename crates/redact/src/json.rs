//! The strings of JSON without what must not be kept, and the rest of it byte by byte as it was.
//!
//! Knows nothing of what the JSON means: it reads strings, not values, so that a text that is cut
//! or damaged is redacted as well. A string that holds JSON of its own, as the arguments of calls
//! do, is read like that in its turn. The name of a field counts as the name of its value.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr2;

use crate::{Redacted, Span, redact, secret, without};

/// How deep JSON in strings of JSON is followed; deeper, its text is read as it stands.
const NESTING_MAX: usize = 8;

/// Longest value that is looked at under the name of its field, in bytes.
const NAMED_BYTES_MAX: usize = 4 * 1024;

/// JSON, or lines of it, without what must not be kept of its strings.
#[must_use]
pub fn redact_json(text: &str) -> Redacted<'_> {
    nested(text, 0)
}

fn nested(text: &str, depth: usize) -> Redacted<'_> {
    let mut kept = String::new();
    let mut copied = 0;
    let mut spans = Vec::new();
    // The last name of a field, and where it ends.
    let mut name: Option<(Cow<str>, usize)> = None;
    let mut at = 0;
    while let Some(string) = next_string(text, at) {
        at = string.end;
        let value = decoded(&text[string.clone()]);
        let is_name = text[at..].trim_start().starts_with(':');
        let its_name = name.as_ref().filter(|(_, end)| text[*end..string.start].trim() == ":");
        let redacted = of_string(its_name.map(|(name, _)| &**name), &value, depth);
        if let Some((with, found)) = redacted {
            kept.push_str(&text[copied..string.start]);
            kept.push_str(&encoded(&with));
            copied = string.end;
            spans.extend(found.into_iter().map(|rule| Span { range: string.clone(), rule }));
        }
        name = is_name.then_some((value, at));
    }
    if spans.is_empty() {
        return Redacted { text: Cow::Borrowed(text), spans };
    }
    kept.push_str(&text[copied..]);
    Redacted { text: Cow::Owned(kept), spans }
}

/// A string without what must not be kept, and the rules that found it; nothing if it may stay.
fn of_string(name: Option<&str>, value: &str, depth: usize) -> Option<(String, Vec<&'static str>)> {
    let is_json = value.starts_with(['{', '[']) && value.contains('"') && depth < NESTING_MAX;
    let redacted = if is_json { nested(value, depth + 1) } else { redact(value) };
    if !redacted.spans.is_empty() {
        let rules = redacted.spans.iter().map(|span| span.rule).collect();
        return Some((redacted.text.into_owned(), rules));
    }
    let span = named(name?, value)?;
    let rules = vec![span.rule];
    Some((without(value, &[span]), rules))
}

/// What a value is under the name of its field: `"password": "…"`.
fn named(name: &str, value: &str) -> Option<Span> {
    if value.len() > NAMED_BYTES_MAX || !secret::is_keyword_in(name) {
        return None;
    }
    let before = format!("{name}: \"");
    let text = format!("{before}{value}\"");
    let of_value = |span: &Span| span.range.start >= before.len();
    let span = secret::secrets(&text).into_iter().find(of_value)?;
    let range = span.range.start - before.len()..(span.range.end - before.len()).min(value.len());
    Some(Span { range, rule: span.rule })
}

/// The next string with its quotes; one that is cut reaches to the end of the text.
fn next_string(text: &str, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let start = from + memchr::memchr(b'"', &bytes[from..])?;
    let mut at = start + 1;
    loop {
        let Some(found) = memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) else {
            return (start + 1 < text.len()).then_some(start..text.len());
        };
        at += found;
        if bytes[at] == b'"' {
            return Some(start..at + 1);
        }
        at += 2;
    }
}

/// What a string says; what is no valid string says what it is written as.
fn decoded(string: &str) -> Cow<'_, str> {
    let inner = string.strip_prefix('"').unwrap_or(string);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    // Not an error: damaged strings are redacted as they stand.
    serde_json::from_str::<String>(string).map_or(Cow::Borrowed(inner), Cow::Owned)
}

fn encoded(value: &str) -> String {
    serde_json::Value::from(value).to_string()
}
