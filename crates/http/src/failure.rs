//! Why a service did not answer, and what of its words may be shown. The one mapping of errors;
//! sends nothing.

use std::io::ErrorKind;

use kapsa_model::{EmbedError, ModelError, ModelErrorKind};
use serde_json::Value;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
use ureq::Timeout;
use ureq::http::StatusCode;

use crate::service::{REPLY_BYTES_MAX, RETRY_AFTER_MAX, Request, Response, Service};

/// Most bytes of a refusal that are read.
pub(crate) const REFUSAL_BYTES_MAX: usize = 64 * 1024;
/// Most characters of a service's words in an error.
const QUOTE_CHARS_MAX: usize = 300;

/// Why a service did not answer.
pub(crate) struct Failure {
    pub(crate) error: ModelError,
    /// The status that the service answered with, if it answered.
    pub(crate) status: Option<u16>,
    /// Whether the request has more tokens than the model reads.
    pub(crate) is_too_long: bool,
}

pub(crate) fn not_configured(message: impl Into<String>, hint: &str) -> ModelError {
    ModelError::new(ModelErrorKind::NotConfigured, message, Some(hint))
}

pub(crate) fn embed_error(error: ModelError) -> EmbedError {
    EmbedError { message: error.message, hint: error.hint }
}

/// Whether the connection was lost, so that another one may do better. A refused connection does
/// not count: a server that is not running will not be a second later, and whoever waits for it has
/// words to search by.
pub(crate) fn is_broken(problem: &ureq::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    match problem {
        ureq::Error::Io(io) => {
            [BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof].contains(&io.kind())
        }
        ureq::Error::Timeout(when) => matches!(when, Timeout::Connect | Timeout::Resolve),
        _ => false,
    }
}

impl Response {
    /// Whether another try may help. Some servers refuse a text that is too long as if the fault
    /// were theirs.
    pub(crate) fn is_transient(&self) -> bool {
        (self.status == 429 || self.status >= 500) && self.status != 501 && !self.is_too_long()
    }

    /// Whether the service refuses because the request has more tokens than the model reads.
    fn is_too_long(&self) -> bool {
        const WORDS: [&str; 5] = [
            "context length",
            "context size",
            "context window",
            "input is too large",
            "too many tokens",
        ];
        // "Too many tokens" in a minute is another matter.
        let is_refusal = self.status >= 400 && self.status != 429;
        let said = String::from_utf8_lossy(&self.body).to_ascii_lowercase();
        is_refusal && WORDS.iter().any(|words| said.contains(words))
    }
}

impl Service {
    /// Why there is no answer at all.
    pub(crate) fn no_answer(
        &self,
        request: &Request,
        problem: &ureq::Error,
        tries: u32,
    ) -> Failure {
        let (url, tries) = (self.url(request.path), tried(tries));
        let said = self.clean(&problem.to_string());
        let (kind, message, hint) = match problem {
            ureq::Error::Timeout(Timeout::Connect | Timeout::Resolve) => (
                ModelErrorKind::Timeout,
                format!("could not connect to {url} in time{tries}"),
                "check the address and the network".to_owned(),
            ),
            _ if is_timeout(problem) => (
                ModelErrorKind::Timeout,
                format!("{url} did not answer within {} s", self.timeout().as_secs_f64()),
                "the model may be loading: try again, or ask for less at once".to_owned(),
            ),
            ureq::Error::BodyExceedsLimit(_) => (
                ModelErrorKind::BadReply,
                format!("{url} answered with more than {} MB", REPLY_BYTES_MAX >> 20),
                "check that this is the address of a model service".to_owned(),
            ),
            ureq::Error::Io(io) if io.kind() == ErrorKind::ConnectionRefused => (
                ModelErrorKind::Unavailable,
                format!("{url} refused the connection"),
                format!("check that the server is running at {}", self.base()),
            ),
            ureq::Error::HostNotFound => (
                ModelErrorKind::Unavailable,
                format!("the host of {url} cannot be found"),
                "check the address and the network".to_owned(),
            ),
            _ if is_broken(problem) => (
                ModelErrorKind::Unavailable,
                format!("{url} closed the connection{tries}: {said}"),
                "look at the server's log, or try again later".to_owned(),
            ),
            _ => (
                ModelErrorKind::Unavailable,
                format!("the request to {url} failed: {said}"),
                "check that this is the address of a model service".to_owned(),
            ),
        };
        let error = ModelError::new(kind, message, Some(&hint));
        Failure { error, status: None, is_too_long: false }
    }

    /// Why the service refused.
    pub(crate) fn refusal(&self, request: &Request, response: &Response, tries: u32) -> Failure {
        let is_too_long = response.is_too_long();
        let (kind, hint) = if is_too_long {
            let hint = "send less text, or use a model (or a server setting) with a longer context";
            (ModelErrorKind::Refused, hint.to_owned())
        } else {
            self.meaning(request, response)
        };
        let error = ModelError::new(kind, self.status_line(request, response, tries), Some(&hint));
        Failure { error, status: Some(response.status), is_too_long }
    }

    /// What a status means, and what to try.
    fn meaning(&self, request: &Request, response: &Response) -> (ModelErrorKind, String) {
        let (kind, hint) = match response.status {
            401 | 403 => return (ModelErrorKind::Unauthorized, self.key_hint()),
            404 => return (ModelErrorKind::Refused, self.provider().missing_hint(&request.model)),
            429 => (
                ModelErrorKind::RateLimited { retry_after: response.retry_after },
                "the rate limit or the quota is used up: wait, then try again",
            ),
            300..=399 => {
                (ModelErrorKind::Refused, "redirects are not followed: set the final address")
            }
            400..=499 => {
                (ModelErrorKind::Refused, "the service would refuse the same request again")
            }
            500.. => (ModelErrorKind::Unavailable, "the service has a problem: try again later"),
            _ => (ModelErrorKind::BadReply, "check that this is the address of a model service"),
        };
        (kind, hint.to_owned())
    }

    /// A refusal in one line.
    fn status_line(&self, request: &Request, response: &Response, tries: u32) -> String {
        let status = StatusCode::from_u16(response.status);
        let status =
            status.map_or_else(|_| response.status.to_string(), |status| status.to_string());
        let status = status.trim_end_matches(" <unknown status code>");
        let mut line = format!("{} answered {status}{}", self.url(request.path), tried(tries));
        if let Some(location) =
            response.location.as_ref().filter(|_| (300..400).contains(&response.status))
        {
            line.push_str(&format!(" and points to {}", self.clean(location)));
        }
        if let Some(wait) = response.retry_after.filter(|&wait| wait > RETRY_AFTER_MAX) {
            line.push_str(&format!(" and asks to wait {} s", wait.as_secs()));
        }
        let said = self.words_of(&response.body);
        if said.is_empty() { line } else { format!("{line}: {said}") }
    }

    /// What a service says, from the usual places of an answer.
    pub(crate) fn words_of(&self, body: &[u8]) -> String {
        let body = &body[..body.len().min(REFUSAL_BYTES_MAX)];
        let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
        let places = ["/error/message", "/error", "/message", "/detail"];
        match places.iter().find_map(|place| parsed.pointer(place)?.as_str()) {
            Some(message) => self.clean(message),
            None => self.clean(&String::from_utf8_lossy(body)),
        }
    }

    /// Foreign words on one line, without the key, without characters that act on a terminal, and
    /// not too many.
    pub(crate) fn clean(&self, text: &str) -> String {
        let mut text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        text.retain(|c| !is_hidden(c));
        let text = self.redact(&text);
        match text.char_indices().nth(QUOTE_CHARS_MAX) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}

/// How often it was tried, for a message.
fn tried(tries: u32) -> String {
    if tries > 1 { format!(" after {tries} tries") } else { String::new() }
}

fn is_timeout(problem: &ureq::Error) -> bool {
    match problem {
        ureq::Error::Timeout(_) => true,
        ureq::Error::Io(io) => io.kind() == ErrorKind::TimedOut,
        _ => false,
    }
}

/// Characters that act on a terminal, turn the direction of text or are drawn as nothing.
fn is_hidden(c: char) -> bool {
    use GeneralCategory::{Control, Format, LineSeparator, ParagraphSeparator};
    matches!(c.general_category(), Control | Format | LineSeparator | ParagraphSeparator)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::provider::Provider;
    use crate::{Key, Settings};

    fn service(key: &str) -> Service {
        let key = Some(Key::new(key).unwrap());
        let base_url = Some("http://127.0.0.1:1/".to_owned());
        let settings = Settings { base_url, key, ..Settings::default() };
        Service::new(Provider::OpenAi, &settings, Duration::ZERO).unwrap()
    }

    #[test]
    fn foreign_words_are_made_harmless() {
        let service = service("secret");
        assert_eq!(service.clean("a\u{1b}[31m\u{202e}b\r\n c"), "a[31mb c");
        assert_eq!(service.clean("\u{ad}\u{200b}\u{2066}\u{feff}\u{e0041}x"), "x");
        assert_eq!(service.clean("key se\u{0}cret, Bearer secret!"), "key (key), Bearer (key)!");
        let long = service.clean(&format!("{}secret", "é".repeat(297)));
        assert_eq!(long, format!("{}(ke…", "é".repeat(297)));
    }

    #[test]
    fn words_are_found_in_their_usual_places() {
        let service = service("k-1");
        assert_eq!(
            service.words_of(br#"{"type":"error","error":{"type":"x","message":"one"}}"#),
            "one"
        );
        assert_eq!(service.words_of(br#"{"error":"two k-1"}"#), "two (key)");
        assert_eq!(service.words_of(br#"{"detail":"three"}"#), "three");
        assert_eq!(service.words_of(b"<p>\xff</p>"), "<p>\u{fffd}</p>");
    }

    #[test]
    fn too_long_is_not_too_often() {
        let response = |status, body: &str| Response {
            status,
            body: body.as_bytes().to_vec(),
            retry_after: None,
            location: None,
        };
        for status in [400, 413, 500] {
            let response = response(status, "the input length exceeds the Context Length");
            assert!(response.is_too_long() && !response.is_transient(), "{status}");
        }
        let often = response(429, "Too many tokens, please wait before trying again");
        assert!(!often.is_too_long() && often.is_transient());
        assert!(response(503, "busy").is_transient() && !response(501, "").is_transient());
    }
}
