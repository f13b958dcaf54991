//! Sends requests to a service: with which key, and how often. Knows HTTP, keys and waits, and
//! nothing of what is said.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::io::Read;
use std::thread;
use std::time::Duration;

use kapsa_model::ModelError;
use ureq::http::HeaderMap;
use ureq::http::header::{ACCEPT, CONTENT_TYPE, HeaderName, LOCATION, RETRY_AFTER};

use crate::address::Address;
use crate::failure::{Failure, REFUSAL_BYTES_MAX, is_broken, not_configured};
use crate::key::Key;
use crate::provider::Provider;

/// The wait before the second try is between half of this and all of it; each further wait is twice
/// as long.
pub const BACKOFF_FIRST: Duration = Duration::from_millis(500);
/// The longest wait before a try that the service did not ask for.
pub const BACKOFF_MAX: Duration = Duration::from_secs(8);
/// The longest wait that a service may ask for; one that asks for more is not tried again.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);
/// Most bytes of a reply: a request's 64 vectors of 4096 numbers take less than half of it.
pub const REPLY_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// How a service is reached.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the service is. Default: the provider's own address. The address of most servers that
    /// speak OpenAI's protocols ends in `/v1`.
    pub base_url: Option<String>,
    /// The key of the service in use, whatever its address. It takes precedence over
    /// `provider_key`. Default: none.
    pub key: Option<Key>,
    /// The provider's own key: it is sent only to the provider's own address, never to
    /// [`Settings::base_url`] when that is another one. Default: none.
    pub provider_key: Option<Key>,
    /// What the user calls `key`, such as `KAPSA_LLM_KEY`, for hints.
    pub key_name: &'static str,
    /// How long one try may take, from connecting to the last byte. Default: 300 s for a
    /// conversation, 60 s for embeddings.
    pub timeout: Option<Duration>,
    /// How long connecting may take. Default: 10 s.
    pub connect_timeout: Duration,
    /// How often a transient failure is tried again. Default: 3.
    pub retries: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            base_url: None,
            key: None,
            provider_key: None,
            key_name: "the service's own key",
            timeout: None,
            connect_timeout: Duration::from_secs(10),
            retries: 3,
        }
    }
}

/// One request.
pub(crate) struct Request {
    pub(crate) path: &'static str,
    /// The model that is asked, for hints.
    pub(crate) model: String,
    pub(crate) body: Vec<u8>,
}

/// What a service answered to one try.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) location: Option<String>,
}

/// A service at an address.
pub(crate) struct Service {
    agent: ureq::Agent,
    provider: Provider,
    address: Address,
    key: Option<Key>,
    key_name: &'static str,
    timeout: Duration,
    retries: u32,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Service");
        shown.field("provider", &self.provider).field("base", &self.base()).field("key", &self.key);
        shown.finish_non_exhaustive()
    }
}

impl Service {
    /// A service of `provider`. Nothing is sent yet.
    pub(crate) fn new(
        provider: Provider,
        settings: &Settings,
        timeout_default: Duration,
    ) -> Result<Service, ModelError> {
        let address = Address::parse(settings.base_url.as_deref().unwrap_or(provider.address()))?;
        let key = key_for(provider, &address, settings)?;
        let timeout = settings.timeout.unwrap_or(timeout_default);
        let mut config = ureq::Agent::config_builder()
            .timeout_global(Some(timeout))
            .timeout_connect(Some(settings.connect_timeout))
            .http_status_as_error(false)
            // A redirect could take the key and the texts to somebody else.
            .max_redirects(0)
            .user_agent(concat!("kapsa/", env!("CARGO_PKG_VERSION")));
        if address.is_loopback() {
            // A proxy has nothing to do with a server on this machine.
            config = config.proxy(None);
        }
        let agent = config.build().new_agent();
        let (key_name, retries) = (settings.key_name, settings.retries);
        Ok(Service { agent, provider, address, key, key_name, timeout, retries })
    }

    pub(crate) fn provider(&self) -> Provider {
        self.provider
    }

    pub(crate) fn base(&self) -> &str {
        self.address.base()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        self.address.url(path)
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Whether this is the provider itself, and not another server that speaks its protocol.
    pub(crate) fn is_own(&self) -> bool {
        self.address.is_of(self.provider)
    }

    /// `text` without the key.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.redact(text))
    }

    /// What to try when the service denies access.
    pub(crate) fn key_hint(&self) -> String {
        if self.key.is_some() {
            return "check that this is the right key, and that it may use this model".to_owned();
        }
        missing_key_hint(self.provider, self.is_own(), self.key_name)
    }

    /// The body of a reply. Transient failures are tried again, as long as somebody waits for the
    /// reply.
    pub(crate) fn post(
        &self,
        request: &Request,
        is_awaited: &dyn Fn() -> bool,
    ) -> Result<Vec<u8>, Failure> {
        let mut tries = 0;
        loop {
            let outcome = self.send(request);
            tries += 1;
            let wait = match &outcome {
                Ok(response) if response.is_transient() => {
                    Some(response.retry_after.unwrap_or_default())
                }
                Err(problem) if is_broken(problem) => Some(Duration::ZERO),
                _ => None,
            };
            match wait {
                Some(wait) if tries <= self.retries && wait <= RETRY_AFTER_MAX && is_awaited() => {
                    thread::sleep(wait + backoff(tries, chance()));
                    if !is_awaited() {
                        return self.result(request, outcome, tries);
                    }
                }
                _ => return self.result(request, outcome, tries),
            }
        }
    }

    fn send(&self, request: &Request) -> Result<Response, ureq::Error> {
        let builder = self.agent.post(self.url(request.path));
        let mut builder =
            builder.header(CONTENT_TYPE, "application/json").header(ACCEPT, "application/json");
        let auth = self.provider.auth();
        for (name, value) in auth.others {
            builder = builder.header(*name, *value);
        }
        if let Some(key) = &self.key {
            debug_assert!(self.address.is_private(), "a key is sent where nobody else can read it");
            builder = builder.header(auth.header, key.header(auth.scheme));
        }
        let mut response = builder.send(&request.body)?;
        let status = response.status().as_u16();
        let retry_after = header(response.headers(), &RETRY_AFTER).and_then(|text| seconds(&text));
        let location = header(response.headers(), &LOCATION);
        let body = if status == 200 {
            response.body_mut().with_config().limit(REPLY_BYTES_MAX).read_to_vec()?
        } else {
            let mut said = Vec::new();
            let mut reader = response.body_mut().as_reader().take(REFUSAL_BYTES_MAX as u64);
            // The status is the error that is reported; its text is shown as far as it came.
            let _the_status_counts = reader.read_to_end(&mut said);
            said
        };
        Ok(Response { status, body, retry_after, location })
    }

    fn result(
        &self,
        request: &Request,
        outcome: Result<Response, ureq::Error>,
        tries: u32,
    ) -> Result<Vec<u8>, Failure> {
        match outcome {
            Ok(response) if response.status == 200 => Ok(response.body),
            Ok(response) => Err(self.refusal(request, &response, tries)),
            Err(problem) => Err(self.no_answer(request, &problem, tries)),
        }
    }
}

/// The key that goes to `address`: the one rule for all services.
///
/// The key given for the service in use goes to its address, else the provider's own key to the
/// provider's own address; neither goes where others could read it.
fn key_for(
    provider: Provider,
    address: &Address,
    settings: &Settings,
) -> Result<Option<Key>, ModelError> {
    let is_own = address.is_of(provider);
    let own = settings.provider_key.as_ref().filter(|_| is_own);
    let key = settings.key.as_ref().or(own);
    if key.is_some() && !address.is_private() {
        let hint = "use an address that begins with https://, or no key";
        return Err(not_configured(
            format!("{} would receive the key unencrypted", address.base()),
            hint,
        ));
    }
    if key.is_none() && is_own && provider.key_variable().is_some() {
        let message = format!("{} requires a key, and none is set", provider.name());
        return Err(not_configured(
            message,
            &missing_key_hint(provider, is_own, settings.key_name),
        ));
    }
    Ok(key.cloned())
}

fn missing_key_hint(provider: Provider, is_own: bool, key_name: &str) -> String {
    match provider.key_variable() {
        Some(variable) if is_own => format!("set {key_name} or {variable}"),
        Some(variable) => {
            format!("set {key_name}; {variable} is sent to {} only", provider.address())
        }
        None => format!("set {key_name}"),
    }
}

/// How long to wait after so many tries. `chance`, from 0 to 1, separates those that failed at the
/// same moment.
fn backoff(tries: u32, chance: f64) -> Duration {
    let factor = 1u32.checked_shl(tries.saturating_sub(1)).unwrap_or(u32::MAX);
    BACKOFF_FIRST.saturating_mul(factor).min(BACKOFF_MAX).mul_f64(0.5 + chance / 2.0)
}

/// A number from 0 to 1. Being able to guess it does no harm.
fn chance() -> f64 {
    RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64
}

/// The seconds of a `Retry-After`. A date there is not understood.
fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}

fn header(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.trim().to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use kapsa_model::ModelErrorKind;

    use super::*;

    /// The key that a service gets: with a key of its own and the provider's, with the provider's
    /// alone, with none.
    fn keys_sent(provider: Provider, url: &str) -> [String; 3] {
        let key = |text: &str| Some(Key::new(text).unwrap());
        let both = Settings { key: key("given"), provider_key: key("own"), ..Settings::default() };
        let own = Settings { key: None, ..both.clone() };
        [both, own, Settings::default()].map(|settings| {
            let address = Address::parse(url).unwrap();
            match key_for(provider, &address, &settings) {
                Ok(None) => "-".to_owned(),
                Ok(Some(key)) => key.header("").to_str().unwrap().to_owned(),
                Err(error) => {
                    assert_eq!(error.kind, ModelErrorKind::NotConfigured);
                    let why =
                        if error.message.ends_with("unencrypted") { "open" } else { "missing" };
                    why.to_owned()
                }
            }
        })
    }

    /// The embedding service used to send a key over plain HTTP to any host, and `OPENAI_API_KEY`
    /// to any address.
    #[test]
    fn one_rule_says_which_key_goes_where() {
        use Provider::{Anthropic, Ollama, OpenAi};
        for (provider, url, expected) in [
            (OpenAi, "https://api.openai.com/v1", ["given", "own", "missing"]),
            (OpenAi, "https://example.org/v1", ["given", "-", "-"]),
            (OpenAi, "https://api.openai.com:8443/v1", ["given", "-", "-"]),
            (OpenAi, "http://127.0.0.1:8080/v1", ["given", "-", "-"]),
            (OpenAi, "http://api.openai.com/v1", ["open", "-", "-"]),
            (OpenAi, "http://10.0.0.1/v1", ["open", "-", "-"]),
            (Anthropic, "https://api.anthropic.com", ["given", "own", "missing"]),
            (Anthropic, "https://api.openai.com/v1", ["given", "-", "-"]),
            (Ollama, "http://127.0.0.1:11434", ["given", "own", "-"]),
            (Ollama, "http://example.org:11434", ["open", "-", "-"]),
        ] {
            assert_eq!(keys_sent(provider, url), expected, "{provider:?} at {url}");
        }
    }

    #[test]
    fn a_hint_names_the_key_that_is_missing() {
        let settings = Settings { key_name: "KAPSA_LLM_KEY", ..Settings::default() };
        let error = Service::new(Provider::OpenAi, &settings, Duration::ZERO).unwrap_err();
        assert_eq!(error.message, "openai requires a key, and none is set");
        assert_eq!(error.hint.as_deref(), Some("set KAPSA_LLM_KEY or OPENAI_API_KEY"));
        let base_url = Some("https://example.org/v1".to_owned());
        let settings = Settings { base_url, ..settings };
        let service = Service::new(Provider::OpenAi, &settings, Duration::ZERO).unwrap();
        let hint = "set KAPSA_LLM_KEY; OPENAI_API_KEY is sent to https://api.openai.com/v1 only";
        assert_eq!(service.key_hint(), hint);
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
