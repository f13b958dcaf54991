//! How is a service asked, and how often?

use std::fmt;
use std::io::{ErrorKind, Read};
use std::net::IpAddr;
use std::thread;
use std::time::Duration;

use kapsa_model::EmbedError;
use serde::Serialize;
use serde_json::Value;
use ureq::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use ureq::http::{HeaderMap, HeaderValue, StatusCode, Uri};

use super::error;

/// Waits before the second, third and fourth try.
const WAITS: [Duration; 3] = [Duration::from_millis(250), Duration::from_secs(1), Duration::from_secs(4)];
/// The longest wait that a service may ask for.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// Most bytes of an answer.
const ANSWER_BYTES: u64 = 64 * 1024 * 1024;
/// Most bytes of a refusal that are read.
const REFUSAL_BYTES: u64 = 64 * 1024;
/// Most characters of a service's words in an error.
const SAID_MAX: usize = 300;

/// A service at an address.
pub(super) struct Service {
    agent: ureq::Agent,
    base: String,
    key: Option<Key>,
    timeout: Duration,
}

/// What lets one in: as given, and as sent.
struct Key {
    text: String,
    header: HeaderValue,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key.as_ref().map(|_| "(hidden)");
        f.debug_struct("Service").field("base", &self.base).field("key", &key).field("timeout", &self.timeout).finish()
    }
}

/// What a service answered at its last try.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
    tries: usize,
    wait: Option<Duration>,
    location: Option<String>,
}

impl Answer {
    /// Whether it refuses because a text has more tokens than the model reads.
    pub(super) fn is_too_long(&self) -> bool {
        let said = String::from_utf8_lossy(&self.body).to_ascii_lowercase();
        let words = ["context length", "context size", "context window", "input is too large", "too many tokens"];
        self.status != 200 && words.iter().any(|words| said.contains(words))
    }

    /// Whether another try may help. Some servers refuse a text that is too long as if the fault were theirs.
    fn is_passing(&self) -> bool {
        (self.status == 429 || self.status >= 500) && !self.is_too_long()
    }
}

impl Service {
    /// A service at `base`. Nothing is sent yet.
    pub(super) fn new(base: &str, key: Option<&str>, timeout: Duration) -> Result<Service, EmbedError> {
        let base = base.trim().trim_end_matches('/');
        let uri = address(base)?;
        let key = key.map(str::trim).filter(|key| !key.is_empty()).map(Key::new).transpose()?;
        let mut config = ureq::Agent::config_builder()
            .timeout_global(Some(timeout))
            .http_status_as_error(false)
            // A redirect could take the key and the texts to somebody else.
            .max_redirects(0)
            .user_agent(concat!("kapsa/", env!("CARGO_PKG_VERSION")));
        if uri.host().is_some_and(is_this_machine) {
            // A proxy has nothing to do with a server on this machine.
            config = config.proxy(None);
        }
        Ok(Service { agent: config.build().new_agent(), base: base.to_owned(), key, timeout })
    }

    pub(super) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// What the service answers in the end: what may pass is tried again, up to four times in all.
    pub(super) fn post(&self, path: &str, question: &impl Serialize) -> Result<Answer, EmbedError> {
        let url = self.url(path);
        let body = serde_json::to_vec(question).map_err(|problem| error(format!("a request is no JSON: {problem}"), None))?;
        let mut tries = 0;
        loop {
            let outcome = self.send(&url, &body);
            tries += 1;
            let asked = match &outcome {
                Ok(answer) if answer.is_passing() => answer.wait.unwrap_or_default(),
                Err(problem) if is_broken(problem) => Duration::ZERO,
                _ => Duration::MAX,
            };
            match WAITS.get(tries - 1) {
                Some(&wait) if asked <= WAIT_MAX => thread::sleep(wait.max(asked)),
                _ => {
                    return outcome
                        .map(|answer| Answer { tries, ..answer })
                        .map_err(|problem| self.failure(&url, &problem, tries));
                }
            }
        }
    }

    fn send(&self, url: &str, body: &[u8]) -> Result<Answer, ureq::Error> {
        let mut request = self.agent.post(url).header(CONTENT_TYPE, "application/json").header(ACCEPT, "application/json");
        if let Some(key) = &self.key {
            request = request.header(AUTHORIZATION, key.header.clone());
        }
        let mut response = request.send(body)?;
        let status = response.status().as_u16();
        let wait = header(response.headers(), RETRY_AFTER.as_str()).and_then(|text| text.parse().ok()).map(Duration::from_secs);
        let location = header(response.headers(), LOCATION.as_str());
        let body = if status == 200 {
            response.body_mut().with_config().limit(ANSWER_BYTES).read_to_vec()?
        } else {
            let mut said = Vec::new();
            // The status counts; words that break off are words.
            let _ = response.body_mut().as_reader().take(REFUSAL_BYTES).read_to_end(&mut said);
            said
        };
        Ok(Answer { status, body, tries: 1, wait, location })
    }

    /// Why there is no answer at all.
    fn failure(&self, url: &str, problem: &ureq::Error, tries: usize) -> EmbedError {
        let said = self.clean(&problem.to_string());
        match problem {
            ureq::Error::Timeout(_) => error(
                format!("{url} did not answer within {} s", self.timeout.as_secs_f64()),
                Some("a model that is being loaded takes its time: try again, or allow more".to_owned()),
            ),
            ureq::Error::BodyExceedsLimit(_) => error(format!("{url} answers with more than {} MB", ANSWER_BYTES >> 20), None),
            ureq::Error::Io(io) if io.kind() == ErrorKind::ConnectionRefused => {
                error(format!("{url} refuses the connection"), Some(format!("is the server running at {}?", self.base)))
            }
            ureq::Error::HostNotFound => {
                error(format!("{url} cannot be found"), Some("is the address right, and is there a network?".to_owned()))
            }
            _ if is_broken(problem) => error(
                format!("{url} breaks the connection off ({tries} tries): {said}"),
                Some("look at the server's log".to_owned()),
            ),
            _ => error(format!("{url} cannot be asked: {said}"), None),
        }
    }

    /// A refusal in one line.
    pub(super) fn refusal(&self, path: &str, answer: &Answer) -> String {
        let status = StatusCode::from_u16(answer.status).map_or_else(|_| answer.status.to_string(), |status| status.to_string());
        let mut line = format!("{} answers {}", self.url(path), status.trim_end_matches(" <unknown status code>"));
        if answer.tries > 1 {
            line.push_str(&format!(" after {} tries", answer.tries));
        }
        if let Some(location) = answer.location.as_ref().filter(|_| (300..400).contains(&answer.status)) {
            line.push_str(&format!(" and points to {}", self.clean(location)));
        }
        if let Some(wait) = answer.wait.filter(|&wait| wait > WAIT_MAX) {
            line.push_str(&format!(" and asks to wait {} s", wait.as_secs()));
        }
        let said = self.said(&answer.body);
        if said.is_empty() { line } else { format!("{line}: {said}") }
    }

    /// What a service says, from the usual places of an answer.
    pub(super) fn said(&self, body: &[u8]) -> String {
        let body = &body[..body.len().min(REFUSAL_BYTES as usize)];
        let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
        let places = ["/error/message", "/error", "/message", "/detail"];
        let message = places.iter().find_map(|place| parsed.pointer(place)?.as_str());
        match message {
            Some(message) => self.clean(message),
            None => self.clean(&String::from_utf8_lossy(body)),
        }
    }

    /// Foreign words on one line, without the key, without characters that act on a terminal, and not too many.
    pub(super) fn clean(&self, text: &str) -> String {
        let mut text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        text.retain(|c| !c.is_control() && !is_format(c));
        if let Some(key) = &self.key {
            text = text.replace(&key.text, "(key)");
        }
        match text.char_indices().nth(SAID_MAX) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}

impl Key {
    fn new(text: &str) -> Result<Key, EmbedError> {
        let refused = || error("the key holds a character that no key may hold", None);
        let header = HeaderValue::from_str(&format!("Bearer {text}"));
        let plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        let mut header = header.ok().filter(|_| plain).ok_or_else(refused)?;
        header.set_sensitive(true);
        Ok(Key { text: text.to_owned(), header })
    }
}

/// Characters that turn the direction of text or are drawn as nothing.
fn is_format(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Whether the connection was lost, so that another one may do better.
fn is_broken(problem: &ureq::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let kinds = [BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof];
    matches!(problem, ureq::Error::Io(io) if kinds.contains(&io.kind()))
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.trim().to_owned())
}

/// An address that paths can be put behind.
fn address(base: &str) -> Result<Uri, EmbedError> {
    // Not shown when it may hold a password.
    if base.contains(['@', '?', '#']) {
        let hint = "give the key as the key; a name, a password or a query in the address is not understood";
        return Err(error("the address of the service has more than a host, a port and a path", Some(hint.to_owned())));
    }
    let hint = || Some("an address looks like http://127.0.0.1:11434".to_owned());
    let uri: Uri = base.parse().map_err(|_| error(format!("`{}` is no address", base.escape_debug()), hint()))?;
    let known = matches!(uri.scheme_str(), Some("http" | "https"));
    if !known || uri.host().is_none_or(str::is_empty) {
        return Err(error(format!("`{base}` is no address that begins with http:// or https://"), hint()));
    }
    Ok(uri)
}

fn is_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn service(key: &str) -> Service {
        Service::new("http://127.0.0.1:1/", Some(key), Duration::from_secs(1)).unwrap()
    }

    #[test]
    fn foreign_words_are_made_harmless() {
        let service = service(" secret\n");
        assert_eq!(service.clean("a\u{1b}[31m\u{202e}b\r\n c"), "a[31mb c");
        assert_eq!(service.clean("key se\u{0}cret, Bearer secret!"), "key (key), Bearer (key)!");
        let long = service.clean(&format!("{}secret", "é".repeat(297)));
        assert_eq!(long, format!("{}(ke…", "é".repeat(297)));
        assert!(!format!("{service:?}").contains("secret"));
    }

    #[test]
    fn words_are_found_in_their_usual_places() {
        let service = service("k-1");
        assert_eq!(service.said(br#"{"error":{"message":"one"}}"#), "one");
        assert_eq!(service.said(br#"{"error":"two"}"#), "two");
        assert_eq!(service.said(br#"{"detail":"three"}"#), "three");
        assert_eq!(service.said(b"<p>\xff</p>"), "<p>\u{fffd}</p>");
    }

    #[test]
    fn addresses_are_checked() {
        for good in ["http://localhost:8080/v1", "https://example.org", "HTTP://[::1]:1"] {
            assert!(address(good).is_ok(), "{good}");
        }
        for bad in ["", "localhost", "localhost:11434", "/v1", "ftp://example.org", "http://", "http://a b"] {
            assert!(address(bad).is_err(), "{bad}");
        }
        for secret in ["http://me:hidden@example.org", "http://example.org/?key=hidden"] {
            assert!(!address(secret).unwrap_err().message.contains("hidden"), "{secret}");
        }
        assert!(is_this_machine("[::1]") && is_this_machine("127.1.2.3") && !is_this_machine("10.0.0.1"));
    }

    #[test]
    fn a_key_that_cannot_be_sent_is_not_shown() {
        for key in ["hid\nden", "hid  den", "hidé"] {
            let problem = Service::new("http://127.0.0.1:1", Some(key), Duration::from_secs(1)).unwrap_err();
            assert_eq!(problem.message, "the key holds a character that no key may hold");
        }
    }
}
