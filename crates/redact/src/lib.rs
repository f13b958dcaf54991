//! Knows no trace, record, file, network or terminal: texts go in, what must not be kept of them
//! comes out.
//!
//! What in a text must be neither stored nor sent: passwords, keys, tokens and addresses of mail.
//! [`spans`] finds them, [`redact`] replaces each by `[REDACTED:rule]`, [`redact_json`] does so in
//! the strings of JSON, whatever they were escaped as, and [`spans_across`] finds what begins in
//! one message and ends in the next.

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod across;
mod json;
mod mail;
mod secret;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use regex_automata::meta::{self, Regex};
use regex_automata::util::syntax;

pub use across::spans_across;
pub use json::redact_json;
pub use secret::{may_have_secrets, secrets, secrets_described};

/// The version of the rules: what was redacted by older ones may hold what newer ones find.
pub const RULES_VERSION: u32 = 2;

/// What must not be kept, in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its bytes.
    pub range: Range<usize>,
    /// The rule that found it, such as `github_token`.
    pub rule: &'static str,
}

/// A text without what must not be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redacted<'t> {
    /// The text, with `[REDACTED:rule]` where something was; the original if there was nothing.
    pub text: Cow<'t, str>,
    /// What was taken out, by its place in the original; in JSON, the place of the whole string.
    pub spans: Vec<Span>,
}

/// What must not be kept of a text: ascending, not overlapping.
#[must_use]
pub fn spans(text: &str) -> Vec<Span> {
    let mut all = secret::secrets(text);
    all.extend(mail::addresses(text));
    joined(all)
}

/// A text without what must not be kept.
#[must_use]
pub fn redact(text: &str) -> Redacted<'_> {
    let spans = spans(text);
    let text = match spans.is_empty() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(without(text, &spans)),
    };
    Redacted { text, spans }
}

/// A text with a mark in the place of each span; the spans ascend and do not overlap.
#[must_use]
pub fn without(text: &str, spans: &[Span]) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    for span in spans {
        kept.push_str(&text[at..span.range.start]);
        kept.push_str("[REDACTED:");
        kept.push_str(span.rule);
        kept.push(']');
        at = span.range.end;
    }
    kept.push_str(&text[at..]);
    kept
}

/// Spans in order, with those that overlap in one: of two that begin together the first given
/// names it.
#[must_use]
pub fn joined(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| span.range.start);
    let mut apart: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match apart.last_mut() {
            Some(last) if span.range.start < last.range.end => {
                last.range.end = last.range.end.max(span.range.end);
            }
            _ => apart.push(span),
        }
    }
    apart
}

/// A pattern over bytes, whose `^` and `$` are the ends of lines.
fn build(source: &str) -> Result<Regex, Box<regex_automata::meta::BuildError>> {
    let config = syntax::Config::new().unicode(false).utf8(false).multi_line(true);
    // What is tried on a few bytes near its keyword is slower to build as an automaton than to run.
    let meta = meta::Config::new().hybrid(false);
    Regex::builder().configure(meta).syntax(config).build(source).map_err(Box::new)
}
