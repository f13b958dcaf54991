//! How is a provider asked, and how often? Knows HTTP, keys and waits, and nothing of what is said.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{ErrorKind, Read};
use std::net::IpAddr;
use std::thread;
use std::time::Duration;

use kapsa_model::{ModelError, ModelErrorKind};
use serde_json::Value;
use ureq::Timeout;
use ureq::http::header::{ACCEPT, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use ureq::http::{HeaderMap, StatusCode, Uri};

use super::{Key, Settings, not_configured};

/// The wait before the second try is half of this at least, and all of it at most; each further one is twice as long.
pub const BACKOFF_FIRST: Duration = Duration::from_millis(500);
/// The longest wait before a try that the provider did not ask for.
pub const BACKOFF_MAX: Duration = Duration::from_secs(8);
/// The longest wait that a provider may ask for. Whoever asks for more is not tried again.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);
/// Most bytes of a reply.
pub const REPLY_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Most bytes of a refusal that are read.
const REFUSAL_BYTES_MAX: u64 = 64 * 1024;
/// Most characters of a provider's words in an error.
const SAID_CHARS_MAX: usize = 300;

/// How a protocol wants its key, and which headers it wants besides.
#[derive(Clone, Copy)]
pub(crate) struct Auth {
    pub(crate) header: &'static str,
    pub(crate) scheme: &'static str,
    pub(crate) others: &'static [(&'static str, &'static str)],
}

/// One request.
pub(crate) struct Call {
    pub(crate) path: &'static str,
    pub(crate) body: Vec<u8>,
    /// What to try when there is nothing at the address.
    pub(crate) missing: String,
}

/// A provider at an address.
pub(crate) struct Service {
    agent: ureq::Agent,
    base: String,
    auth: Auth,
    key: Option<Key>,
    timeout: Duration,
    retries: u32,
}

/// What a provider answered to one try.
struct Answer {
    status: u16,
    body: Vec<u8>,
    retry_after: Option<Duration>,
    location: Option<String>,
}

impl Answer {
    /// Whether another try may help.
    fn is_passing(&self) -> bool {
        self.status == 429 || self.status >= 500
    }
}

impl Service {
    /// A provider at `base`. Nothing is sent yet.
    pub(crate) fn new(base: &str, settings: &Settings, auth: Auth) -> Result<Service, ModelError> {
        let base = base.trim().trim_end_matches('/');
        let uri = address(base)?;
        let is_here = uri.host().is_some_and(is_this_machine);
        if settings.key.is_some() && !is_here && uri.scheme_str() != Some("https") {
            let hint = "give an address that begins with https://, or no key";
            return Err(not_configured(format!("{base} would get the key in the clear"), hint));
        }
        let mut config = ureq::Agent::config_builder()
            .timeout_global(Some(settings.timeout))
            .timeout_connect(Some(settings.connect_timeout))
            .http_status_as_error(false)
            // A redirect could take the key and the conversation to somebody else.
            .max_redirects(0)
            .user_agent(concat!("kapsa/", env!("CARGO_PKG_VERSION")));
        if is_here {
            // A proxy has nothing to do with a server on this machine.
            config = config.proxy(None);
        }
        Ok(Service {
            agent: config.build().new_agent(),
            base: base.to_owned(),
            auth,
            key: settings.key.clone(),
            timeout: settings.timeout,
            retries: settings.retries,
        })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Whether this is the provider at that address.
    pub(crate) fn is_at(&self, address: &str) -> bool {
        self.base.eq_ignore_ascii_case(address)
    }

    /// What the provider replies in the end: what may pass is tried again, as long as somebody waits for it.
    pub(crate) fn post(&self, call: &Call, is_awaited: &dyn Fn() -> bool) -> Result<Vec<u8>, ModelError> {
        let mut tries = 0;
        loop {
            let outcome = self.send(call);
            tries += 1;
            let wait = match &outcome {
                Ok(answer) if answer.is_passing() => Some(answer.retry_after.unwrap_or_default()),
                Err(problem) if is_broken(problem) => Some(Duration::ZERO),
                _ => None,
            };
            match wait {
                Some(wait) if tries <= self.retries && wait <= RETRY_AFTER_MAX && is_awaited() => {
                    thread::sleep(wait + backoff(tries, chance()));
                }
                _ => return self.result(call, outcome, tries),
            }
        }
    }

    fn send(&self, call: &Call) -> Result<Answer, ureq::Error> {
        let request = self.agent.post(self.url(call.path));
        let mut request = request.header(CONTENT_TYPE, "application/json").header(ACCEPT, "application/json");
        for (name, value) in self.auth.others {
            request = request.header(*name, *value);
        }
        if let Some(key) = &self.key {
            request = request.header(self.auth.header, key.header(self.auth.scheme));
        }
        let mut response = request.send(&call.body)?;
        let status = response.status().as_u16();
        let retry_after = header(response.headers(), RETRY_AFTER.as_str()).and_then(|text| seconds(&text));
        let location = header(response.headers(), LOCATION.as_str());
        let body = if status == 200 {
            response.body_mut().with_config().limit(REPLY_BYTES_MAX).read_to_vec()?
        } else {
            let mut said = Vec::new();
            // The status counts; words that break off are words.
            let _ = response.body_mut().as_reader().take(REFUSAL_BYTES_MAX).read_to_end(&mut said);
            said
        };
        Ok(Answer { status, body, retry_after, location })
    }

    fn result(&self, call: &Call, outcome: Result<Answer, ureq::Error>, tries: u32) -> Result<Vec<u8>, ModelError> {
        match outcome {
            Ok(answer) if answer.status == 200 => Ok(answer.body),
            Ok(answer) => Err(self.refusal(call, &answer, tries)),
            Err(problem) => Err(self.failure(call, &problem, tries)),
        }
    }

    /// Why there is no answer at all.
    fn failure(&self, call: &Call, problem: &ureq::Error, tries: u32) -> ModelError {
        let (url, said, tries) = (self.url(call.path), self.clean(&problem.to_string()), tried(tries));
        let (kind, message, hint) = match problem {
            ureq::Error::Timeout(Timeout::Connect | Timeout::Resolve) => (
                ModelErrorKind::Timeout,
                format!("{url} could not be connected to in time{tries}"),
                "is the address right, and is there a network?".to_owned(),
            ),
            _ if is_timeout(problem) => (
                ModelErrorKind::Timeout,
                format!("{url} did not answer within {} s", self.timeout.as_secs_f64()),
                "a long answer takes its time: allow more, or ask for less at once".to_owned(),
            ),
            ureq::Error::BodyExceedsLimit(_) => (
                ModelErrorKind::BadReply,
                format!("{url} answers with more than {} MB", REPLY_BYTES_MAX >> 20),
                "is this the address of a provider?".to_owned(),
            ),
            ureq::Error::Io(io) if io.kind() == ErrorKind::ConnectionRefused => (
                ModelErrorKind::Unavailable,
                format!("{url} refuses the connection{tries}"),
                format!("is the server running at {}?", self.base),
            ),
            ureq::Error::HostNotFound => (
                ModelErrorKind::Unavailable,
                format!("{url} cannot be found"),
                "is the address right, and is there a network?".to_owned(),
            ),
            _ if is_broken(problem) => (
                ModelErrorKind::Unavailable,
                format!("{url} breaks the connection off{tries}: {said}"),
                "look at the server's log, or try again later".to_owned(),
            ),
            _ => (
                ModelErrorKind::Unavailable,
                format!("{url} cannot be asked: {said}"),
                "is this the address of a provider?".to_owned(),
            ),
        };
        ModelError::new(kind, message, Some(&hint))
    }

    /// Why the provider does not reply.
    fn refusal(&self, call: &Call, answer: &Answer, tries: u32) -> ModelError {
        let status = StatusCode::from_u16(answer.status).map_or_else(|_| answer.status.to_string(), |status| status.to_string());
        let status = status.trim_end_matches(" <unknown status code>");
        let mut message = format!("{} answers {status}{}", self.url(call.path), tried(tries));
        if let Some(location) = answer.location.as_ref().filter(|_| (300..400).contains(&answer.status)) {
            message.push_str(&format!(" and points to {}", self.clean(location)));
        }
        if let Some(wait) = answer.retry_after.filter(|&wait| wait > RETRY_AFTER_MAX) {
            message.push_str(&format!(" and asks to wait {} s", wait.as_secs()));
        }
        let said = self.said(&answer.body);
        if !said.is_empty() {
            message.push_str(&format!(": {said}"));
        }
        let (kind, hint) = match answer.status {
            401 | 403 if self.key.is_some() => {
                (ModelErrorKind::Unauthorized, "is this the right key, and may it use this model?")
            }
            401 | 403 => (ModelErrorKind::Unauthorized, "the provider wants a key, and none was given"),
            404 => (ModelErrorKind::Refused, call.missing.as_str()),
            429 => (
                ModelErrorKind::RateLimited { retry_after: answer.retry_after },
                "too much was asked for, or more than is paid for: wait, and try again",
            ),
            300..=399 => (ModelErrorKind::Refused, "redirects are not followed: give the address that is meant"),
            400..=499 => (ModelErrorKind::Refused, "the same request will be refused again"),
            500.. => (ModelErrorKind::Unavailable, "the provider has a problem of its own: try again later"),
            _ => (ModelErrorKind::BadReply, "is this the address of a provider?"),
        };
        ModelError::new(kind, message, Some(hint))
    }

    /// What a provider says, from the usual places of an answer.
    pub(crate) fn said(&self, body: &[u8]) -> String {
        let body = &body[..body.len().min(REFUSAL_BYTES_MAX as usize)];
        let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
        let places = ["/error/message", "/error", "/message", "/detail"];
        let message = places.iter().find_map(|place| parsed.pointer(place)?.as_str());
        match message {
            Some(message) => self.clean(message),
            None => self.clean(&String::from_utf8_lossy(body)),
        }
    }

    /// Foreign words on one line, without the key, without characters that act on a terminal, and not too many.
    pub(crate) fn clean(&self, text: &str) -> String {
        let mut text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        text.retain(|c| !c.is_control() && !is_format(c));
        if let Some(key) = &self.key {
            text = key.blot_out(&text);
        }
        match text.char_indices().nth(SAID_CHARS_MAX) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}

/// How often it was tried, for a message.
fn tried(tries: u32) -> String {
    if tries > 1 { format!(" after {tries} tries") } else { String::new() }
}

/// How long to wait after so many tries. `chance`, from 0 to 1, keeps those apart who failed at the same moment.
fn backoff(tries: u32, chance: f64) -> Duration {
    let doubled = BACKOFF_FIRST.saturating_mul(1u32.checked_shl(tries.saturating_sub(1)).unwrap_or(u32::MAX));
    doubled.min(BACKOFF_MAX).mul_f64(0.5 + chance / 2.0)
}

/// A number from 0 to 1 that nobody needs to be unable to guess.
fn chance() -> f64 {
    RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64
}

/// The seconds of a `Retry-After`. A date there is not understood.
fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}

fn is_timeout(problem: &ureq::Error) -> bool {
    match problem {
        ureq::Error::Timeout(_) => true,
        ureq::Error::Io(io) => io.kind() == ErrorKind::TimedOut,
        _ => false,
    }
}

/// Whether there was no connection, or it was lost, so that another one may do better.
fn is_broken(problem: &ureq::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, UnexpectedEof};
    match problem {
        ureq::Error::Io(io) => {
            [BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, UnexpectedEof].contains(&io.kind())
        }
        ureq::Error::Timeout(when) => matches!(when, Timeout::Connect | Timeout::Resolve),
        _ => false,
    }
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.trim().to_owned())
}

/// Characters that turn the direction of text or are drawn as nothing.
fn is_format(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// An address that paths can be put behind.
fn address(base: &str) -> Result<Uri, ModelError> {
    // Not shown when it may hold a password.
    if base.contains(['@', '?', '#']) {
        let hint = "give the key as the key; a name, a password or a query in the address is not understood";
        return Err(not_configured("the address of the provider has more than a host, a port and a path", hint));
    }
    let hint = "an address looks like https://api.example.org/v1 or http://127.0.0.1:11434";
    let uri: Uri = base.parse().map_err(|_| not_configured(format!("`{}` is no address", base.escape_debug()), hint))?;
    let known = matches!(uri.scheme_str(), Some("http" | "https"));
    if !known || uri.host().is_none_or(str::is_empty) {
        return Err(not_configured(format!("`{base}` is no address that begins with http:// or https://"), hint));
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

    const AUTH: Auth = Auth { header: "x-api-key", scheme: "", others: &[] };

    fn service(base: &str, key: Option<&str>) -> Result<Service, ModelError> {
        Service::new(base, &Settings { key: key.map(|key| Key::new(key).unwrap()), ..Settings::default() }, AUTH)
    }

    #[test]
    fn foreign_words_are_made_harmless() {
        let service = service("http://127.0.0.1:1/", Some("secret")).unwrap();
        assert_eq!(service.clean("a\u{1b}[31m\u{202e}b\r\n c"), "a[31mb c");
        assert_eq!(service.clean("key se\u{0}cret, Bearer secret!"), "key (key), Bearer (key)!");
        assert_eq!(service.clean(&format!("{}secret", "é".repeat(297))), format!("{}(ke…", "é".repeat(297)));
    }

    #[test]
    fn words_are_found_in_their_usual_places() {
        let service = service("http://127.0.0.1:1", Some("k-1")).unwrap();
        assert_eq!(service.said(br#"{"type":"error","error":{"type":"x","message":"one"}}"#), "one");
        assert_eq!(service.said(br#"{"error":"two k-1"}"#), "two (key)");
        assert_eq!(service.said(br#"{"detail":"three"}"#), "three");
        assert_eq!(service.said(b"<p>\xff</p>"), "<p>\u{fffd}</p>");
    }

    #[test]
    fn addresses_are_checked() {
        for good in ["http://localhost:8080/v1", "https://example.org", "HTTP://[::1]:1"] {
            assert!(address(good).is_ok(), "{good}");
        }
        for bad in ["", "localhost", "localhost:11434", "/v1", "ftp://example.org", "http://", "http://a b"] {
            assert_eq!(address(bad).unwrap_err().kind, ModelErrorKind::NotConfigured, "{bad}");
        }
        for secret in ["http://me:hidden@example.org", "http://example.org/?key=hidden"] {
            assert!(!address(secret).unwrap_err().message.contains("hidden"), "{secret}");
        }
    }

    #[test]
    fn a_key_goes_in_the_clear_to_this_machine_only() {
        for good in ["http://localhost:1", "http://127.1.2.3", "http://[::1]:1", "https://example.org", "HTTPS://example.org"] {
            assert!(service(good, Some("secret")).is_ok(), "{good}");
        }
        for bad in ["http://example.org", "http://10.0.0.1", "http://localhost.example.org", "http://[::ffff:10.0.0.1]:1"] {
            let error = service(bad, Some("secret")).err().unwrap();
            assert!(error.kind == ModelErrorKind::NotConfigured && error.message.contains("in the clear"), "{error}");
            assert!(service(bad, None).is_ok(), "{bad}");
        }
    }

    #[test]
    fn waits_double_up_to_their_limit() {
        let waits = [1, 2, 3, 4, 5, 6, 40].map(|tries| backoff(tries, 1.0).as_millis());
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 8000, 8000]);
        assert_eq!(backoff(1, 0.0).as_millis(), 250);
        assert!((0..100).map(|_| chance()).all(|chance| (0.0..=1.0).contains(&chance)));
        assert_ne!(chance(), chance());
    }

    #[test]
    fn a_wait_is_asked_for_in_seconds() {
        assert_eq!(seconds("7"), Some(Duration::from_secs(7)));
        assert_eq!(seconds("0.5"), Some(Duration::from_millis(500)));
        for other in ["", "-1", "NaN", "inf", "1e300", "Wed, 21 Oct 2026 07:28:00 GMT"] {
            assert_eq!(seconds(other), None, "{other}");
        }
    }
}
