//! Which providers of language models can be asked? The only crate that asks one; knows no capsule, prints nothing, and is
//! told the environment.
//!
//! By hand over `ureq`, not with `genai` 0.7.2. One release program each, three protocols with tools: 27 crates, 2.7 MB and
//! 62 s of CPU to build, beside 146 crates, 8.9 MB and 268 s. Both do tools, timeouts, Retry-After and a server on this
//! machine; `genai` neither tries again nor limits a reply, and `ureq` is in the program already.

mod anthropic;
mod key;
mod ollama;
mod openai;
mod promise;
mod service;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kapsa_model::{BoxFuture, ChatReply, ChatRequest, LanguageModel, ModelError, ModelErrorKind};
use serde_json::Value;

pub use anthropic::TOKENS_MAX_DEFAULT;
pub use key::Key;
pub use service::{BACKOFF_FIRST, BACKOFF_MAX, REPLY_BYTES_MAX, RETRY_AFTER_MAX};

use service::{Auth, Call, Service};

/// Names in a request that mean a size of model and no model. Without a mapping of their own they mean the one configured.
pub const TIERS: [&str; 3] = ["haiku", "sonnet", "opus"];

/// How a provider is reached.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the provider is. Default: `https://api.anthropic.com`, `https://api.openai.com/v1` (the address of most servers
    /// of its kind ends in `/v1`) or `http://127.0.0.1:11434`.
    pub base_url: Option<String>,
    /// What the provider asks for to let one in. Default: none. Over `http://` it is only sent to this machine.
    pub key: Option<Key>,
    /// How long one try may take, from connecting to the last byte. Default: 300 s.
    pub timeout: Duration,
    /// How long connecting may take. Default: 10 s.
    pub connect_timeout: Duration,
    /// How often what may pass is tried again: 429, 5xx, a connection that is refused or lost. Default: 3.
    pub retries: u32,
    /// The provider's names of the models that requests name, such as `haiku` for a small one.
    pub models: BTreeMap<String, String>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            base_url: None,
            key: None,
            timeout: Duration::from_secs(300),
            connect_timeout: Duration::from_secs(10),
            retries: 3,
            models: BTreeMap::new(),
        }
    }
}

/// The model that a name such as `anthropic:MODEL`, `openai:MODEL` or `ollama:MODEL` means. Nothing is sent yet.
///
/// A request that names one of [`TIERS`] gets that model, unless [`Settings::models`] has another for it; any other name is
/// taken for a model of the provider.
///
/// # Errors
/// [`ModelErrorKind::NotConfigured`] when the name or the settings make no sense, or a key is missing or would be sent
/// where it could be read.
pub fn from_name(name: &str, settings: &Settings) -> Result<Box<dyn LanguageModel>, ModelError> {
    let (provider, model) = name.split_once(':').unwrap_or((name, ""));
    let protocol = Protocol::ALL.into_iter().find(|protocol| protocol.name() == provider).ok_or_else(|| {
        let message = format!("no provider of language models is called `{}`", provider.escape_debug());
        not_configured(message, "name one of anthropic:MODEL, openai:MODEL, ollama:MODEL")
    })?;
    let model = model.trim();
    if model.is_empty() {
        let hint = format!("name a model that the provider has: {provider}:MODEL");
        return Err(not_configured(format!("no model of {provider} is named"), &hint));
    }
    if settings.key.is_none() && settings.base_url.is_none() && protocol != Protocol::Ollama {
        let hint = "give the key that the provider gave you, or the address of a server that wants none";
        return Err(not_configured(format!("{provider} wants a key, and none was given"), hint));
    }
    let service = Service::new(settings.base_url.as_deref().unwrap_or(protocol.address()), settings, protocol.auth())?;
    let name = format!("{provider}:{model}");
    Ok(Box::new(Provider {
        protocol,
        name,
        model: model.to_owned(),
        models: settings.models.clone(),
        service: Arc::new(service),
    }))
}

fn not_configured(message: impl Into<String>, hint: &str) -> ModelError {
    ModelError::new(ModelErrorKind::NotConfigured, message, Some(hint))
}

/// How a provider is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Anthropic,
    OpenAi,
    Ollama,
}

impl Protocol {
    const ALL: [Protocol; 3] = [Protocol::Anthropic, Protocol::OpenAi, Protocol::Ollama];

    fn name(self) -> &'static str {
        match self {
            Protocol::Anthropic => "anthropic",
            Protocol::OpenAi => "openai",
            Protocol::Ollama => "ollama",
        }
    }

    fn address(self) -> &'static str {
        match self {
            Protocol::Anthropic => "https://api.anthropic.com",
            Protocol::OpenAi => openai::ADDRESS,
            Protocol::Ollama => "http://127.0.0.1:11434",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Protocol::Anthropic => "/v1/messages",
            Protocol::OpenAi => "/chat/completions",
            Protocol::Ollama => "/api/chat",
        }
    }

    fn auth(self) -> Auth {
        match self {
            Protocol::Anthropic => Auth { header: "x-api-key", scheme: "", others: &[("anthropic-version", anthropic::VERSION)] },
            Protocol::OpenAi | Protocol::Ollama => Auth { header: "authorization", scheme: "Bearer ", others: &[] },
        }
    }

    fn missing(self, model: &str) -> String {
        match self {
            Protocol::Anthropic => format!("has the provider a model `{model}`?"),
            Protocol::OpenAi => format!("has the server a model `{model}`? The address of most servers ends in /v1"),
            Protocol::Ollama => format!("try `ollama pull {model}`"),
        }
    }
}

/// A model of a provider.
struct Provider {
    protocol: Protocol,
    name: String,
    model: String,
    models: BTreeMap<String, String>,
    service: Arc<Service>,
}

impl LanguageModel for Provider {
    fn name(&self) -> &str {
        &self.name
    }

    fn complete<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.ask(request))
    }
}

impl Provider {
    async fn ask(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let model = self.model(request.model.as_deref());
        let body = match self.protocol {
            Protocol::Anthropic => anthropic::question(request, model),
            Protocol::OpenAi => openai::question(request, model, self.service.is_at(openai::ADDRESS)),
            Protocol::Ollama => ollama::question(request, model),
        };
        let call =
            Call { path: self.protocol.path(), body: body.to_string().into_bytes(), missing: self.protocol.missing(model) };
        let service = Arc::clone(&self.service);
        let lost = |what: &str| ModelError::new(ModelErrorKind::Unavailable, format!("{}: {what}", self.name), None);
        let asked = promise::on_thread(move |is_awaited| service.post(&call, is_awaited));
        let answered = asked.map_err(|error| lost(&format!("no thread for a request: {error}")))?.await;
        let body = answered.ok_or_else(|| lost("the request's thread broke off"))??;
        self.read(&body, request)
    }

    /// The provider's name of the model that a request names.
    fn model<'a>(&'a self, asked: Option<&'a str>) -> &'a str {
        match asked {
            Some(asked) => match self.models.get(asked) {
                Some(mapped) => mapped,
                None if TIERS.contains(&asked) => &self.model,
                None => asked,
            },
            None => &self.model,
        }
    }

    fn read(&self, body: &[u8], request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let said = match self.protocol {
            Protocol::Anthropic => anthropic::said(body),
            Protocol::OpenAi => openai::said(body),
            Protocol::Ollama => ollama::said(body, request),
        };
        let url = self.service.url(self.protocol.path());
        let said = said.map_err(|problem| {
            let (problem, words) = (self.service.clean(&problem), self.service.said(body));
            let message = format!("{url} does not answer as {} does ({problem}): {words}", self.protocol.name());
            ModelError::new(ModelErrorKind::BadReply, message, Some("is this the address of such a provider?"))
        })?;
        let (kind, message, hint) = match said.end {
            End::Whole => return Ok(said.reply),
            End::Cut => {
                let message = format!("{} was cut off after {} tokens", self.name, said.reply.usage.tokens_out);
                (ModelErrorKind::BadReply, message, "allow the answer more tokens, or ask for less at once")
            }
            End::Broken(why) => {
                let message = format!("{} answers what cannot be used: {}", self.name, self.service.clean(&why));
                (ModelErrorKind::BadReply, message, "try again, or take another model")
            }
            End::Refused(why) => {
                let message = format!("{} refuses to answer: {}", self.name, self.service.clean(&why));
                (ModelErrorKind::Refused, message, "ask in other words, or another model")
            }
        };
        Err(ModelError::new(kind, message, Some(hint)).with_usage(said.reply.usage))
    }
}

/// What a provider said, and how it came to an end.
struct Said {
    reply: ChatReply,
    end: End,
}

/// Why a model said no more.
#[derive(Debug, PartialEq)]
enum End {
    /// It was done.
    Whole,
    /// It had no tokens left.
    Cut,
    /// It said something that is not what it should be: this is wrong about it.
    Broken(String),
    /// It would not answer, for this reason.
    Refused(String),
}

/// A number as it is written, not as it is stored: 0.2 and not 0.20000000298023224.
fn decimal(number: f32) -> Value {
    number.to_string().parse::<f64>().map_or(Value::Null, Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_sent_as_they_are_written() {
        assert_eq!(decimal(0.2).to_string(), "0.2");
        assert_eq!(decimal(1.0).to_string(), "1.0");
        assert_eq!(decimal(f32::NAN), Value::Null);
    }
}
