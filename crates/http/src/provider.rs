//! The services that are known, where each is, and how it takes a key. Sends nothing.

use kapsa_model::ModelError;

use crate::failure::not_configured;

/// A kind of service. Its protocol may be spoken at other addresses than the provider's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic: conversations.
    Anthropic,
    /// OpenAI and the servers that speak its protocols, such as llama.cpp, vLLM, LM Studio and
    /// text-embeddings-inference: conversations and embeddings.
    OpenAi,
    /// Ollama: conversations and embeddings.
    Ollama,
}

/// How a protocol takes its key, and the headers that it needs besides.
#[derive(Clone, Copy)]
pub(crate) struct Auth {
    pub(crate) header: &'static str,
    pub(crate) scheme: &'static str,
    pub(crate) others: &'static [(&'static str, &'static str)],
}

/// The version of Anthropic's protocol that is spoken.
const ANTHROPIC_VERSION: &str = "2023-06-01";

impl Provider {
    /// Every provider.
    pub const ALL: [Provider; 3] = [Provider::Anthropic, Provider::OpenAi, Provider::Ollama];

    /// The name that model names begin with, such as `openai`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Provider::Anthropic => "anthropic",
            Provider::OpenAi => "openai",
            Provider::Ollama => "ollama",
        }
    }

    /// The provider of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Provider> {
        Provider::ALL.into_iter().find(|provider| provider.name() == name)
    }

    /// The provider's own address.
    #[must_use]
    pub fn address(self) -> &'static str {
        match self {
            Provider::Anthropic => "https://api.anthropic.com",
            Provider::OpenAi => "https://api.openai.com/v1",
            Provider::Ollama => "http://127.0.0.1:11434",
        }
    }

    /// The environment variable that usually holds the provider's own key, for callers that read
    /// the environment. It belongs into
    /// [`Settings::provider_key`](crate::Settings::provider_key). A provider without one needs no
    /// key.
    #[must_use]
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Provider::Anthropic => Some("ANTHROPIC_API_KEY"),
            Provider::OpenAi => Some("OPENAI_API_KEY"),
            Provider::Ollama => None,
        }
    }

    pub(crate) fn auth(self) -> Auth {
        match self {
            Provider::Anthropic => {
                let others = &[("anthropic-version", ANTHROPIC_VERSION)];
                Auth { header: "x-api-key", scheme: "", others }
            }
            Provider::OpenAi | Provider::Ollama => {
                Auth { header: "authorization", scheme: "Bearer ", others: &[] }
            }
        }
    }

    /// What to try when there is nothing at the address of `model`.
    pub(crate) fn missing_hint(self, model: &str) -> String {
        match self {
            Provider::Anthropic => format!("check that the provider has a model `{model}`"),
            Provider::OpenAi => format!(
                "check that the server has a model `{model}`; the address of most servers ends in /v1"
            ),
            Provider::Ollama => format!("try `ollama pull {model}`"),
        }
    }
}

/// A model of a provider.
#[derive(Debug)]
pub(crate) struct ModelName<'a> {
    pub(crate) provider: Provider,
    pub(crate) model: &'a str,
}

impl<'a> ModelName<'a> {
    /// Reads `PROVIDER:MODEL`.
    pub(crate) fn parse(name: &'a str) -> Result<ModelName<'a>, ModelError> {
        let (provider, model) = name.split_once(':').unwrap_or((name, ""));
        let Some(provider) = Provider::named(provider) else {
            let message = format!("`{}` is not a known provider", provider.escape_debug());
            return Err(not_configured(
                message,
                "use anthropic:MODEL, openai:MODEL or ollama:MODEL",
            ));
        };
        let model = model.trim();
        if model.is_empty() {
            let hint = format!("use {}:MODEL", provider.name());
            return Err(not_configured(format!("no model of {} is named", provider.name()), &hint));
        }
        Ok(ModelName { provider, model })
    }
}
