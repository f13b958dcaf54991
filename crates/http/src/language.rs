//! Continues a conversation through a service. Knows no HTTP: a [`Service`] sends what the
//! protocols put together.

mod anthropic;
mod ollama;
mod openai;

use std::sync::Arc;
use std::time::Duration;

use kapsa_model::{BoxFuture, ChatReply, ChatRequest, LanguageModel, ModelError, ModelErrorKind};
use serde_json::Value;

pub use anthropic::TOKENS_MAX_DEFAULT;

use crate::promise;
use crate::provider::{ModelName, Provider};
use crate::service::{Request, Service, Settings};

/// Names in a request that mean a size of model, not a model. They stand for the model that is
/// configured.
pub const TIERS: [&str; 3] = ["haiku", "sonnet", "opus"];
/// How long a reply may take unless [`Settings::timeout`] is set.
const TIMEOUT: Duration = Duration::from_secs(300);

/// The model that a name such as `anthropic:MODEL`, `openai:MODEL` or `ollama:MODEL` means. Nothing
/// is sent yet.
///
/// A request that names one of [`TIERS`] gets that model; any other name is taken for a model of
/// the provider.
///
/// # Errors
/// [`ModelErrorKind::NotConfigured`] when the name or the settings make no sense, or a key is
/// missing or would be sent where others could read it.
pub fn language_model(
    name: &str,
    settings: &Settings,
) -> Result<Box<dyn LanguageModel>, ModelError> {
    let ModelName { provider, model } = ModelName::parse(name)?;
    let service = Service::new(provider, settings, TIMEOUT)?;
    Ok(Box::new(ServiceModel {
        name: format!("{}:{model}", provider.name()),
        model: model.to_owned(),
        service: Arc::new(service),
    }))
}

/// A language model at a service.
struct ServiceModel {
    name: String,
    model: String,
    service: Arc<Service>,
}

impl LanguageModel for ServiceModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn complete<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.ask(request))
    }
}

impl ServiceModel {
    async fn ask(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let sent = self.request(request);
        let path = sent.path;
        let service = Arc::clone(&self.service);
        let lost = |what: &str| {
            ModelError::new(ModelErrorKind::Unavailable, format!("{}: {what}", self.name), None)
        };
        let reply = promise::on_thread(move |is_awaited| service.post(&sent, is_awaited))
            .map_err(|error| lost(&format!("cannot start a thread: {error}")))?
            .await
            .ok_or_else(|| lost("the thread of the request failed"))?;
        self.read(path, &reply.map_err(|failure| failure.error)?, request)
    }

    fn request(&self, request: &ChatRequest) -> Request {
        let model = self.model_for(request);
        let (path, body) = match self.service.provider() {
            Provider::Anthropic => ("/v1/messages", anthropic::question(request, model)),
            Provider::OpenAi => {
                ("/chat/completions", openai::question(request, model, self.service.is_own()))
            }
            Provider::Ollama => ("/api/chat", ollama::question(request, model)),
        };
        Request { path, model: model.to_owned(), body: body.to_string().into_bytes() }
    }

    /// The provider's name of the model that a request names.
    fn model_for<'a>(&'a self, request: &'a ChatRequest) -> &'a str {
        match request.model.as_deref() {
            Some(name) if !TIERS.contains(&name) => name,
            _ => &self.model,
        }
    }

    fn read(
        &self,
        path: &str,
        body: &[u8],
        request: &ChatRequest,
    ) -> Result<ChatReply, ModelError> {
        let provider = self.service.provider();
        let parsed = match provider {
            Provider::Anthropic => anthropic::answer(body),
            Provider::OpenAi => openai::answer(body),
            Provider::Ollama => ollama::answer(body, request),
        };
        let answer = parsed.map_err(|problem| {
            let (problem, words) = (self.service.clean(&problem), self.service.words_of(body));
            let (url, provider) = (self.service.url(path), provider.name());
            let message = format!("{url} does not answer as {provider} does ({problem}): {words}");
            let hint = "check that this is the address of such a service";
            ModelError::new(ModelErrorKind::BadReply, message, Some(hint))
        })?;
        self.whole(answer)
    }

    /// The reply, if the model completed it.
    fn whole(&self, answer: Completion) -> Result<ChatReply, ModelError> {
        let (name, usage) = (&self.name, answer.reply.usage);
        let (kind, message, hint) = match answer.end {
            End::Whole => return Ok(answer.reply),
            End::Cut => {
                let message = format!("{name} was cut off after {} tokens", usage.tokens_out);
                (ModelErrorKind::BadReply, message, "allow more tokens, or ask for less at once")
            }
            End::Broken(why) => {
                let message =
                    format!("the answer of {name} cannot be used: {}", self.service.clean(&why));
                (ModelErrorKind::BadReply, message, "try again, or use another model")
            }
            End::Refused(why) => {
                let message = format!("{name} refuses to answer: {}", self.service.clean(&why));
                (ModelErrorKind::Refused, message, "ask in other words, or use another model")
            }
        };
        Err(ModelError::new(kind, message, Some(hint)).with_usage(usage))
    }
}

/// What a service answered, and how the answer came to an end.
struct Completion {
    reply: ChatReply,
    end: End,
}

/// Why a model stopped.
#[derive(Debug, PartialEq)]
enum End {
    /// It was done.
    Whole,
    /// It had no tokens left.
    Cut,
    /// A part of the answer is not what it should be, for this reason.
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
