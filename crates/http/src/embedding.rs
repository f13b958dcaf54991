//! Turns texts into vectors through a service. Knows no HTTP: a [`Service`] sends what the
//! protocols put together.
//!
//! The identity of a model is its provider, its name, its dimension and, where the service says so,
//! what its weights are. The address is not part of it: a server that moved serves the same model.

mod batch;
mod ollama;
mod openai;
mod vectors;

use std::time::Duration;

use kapsa_model::{DIMENSION_MAX, EmbedError, Embedder, Model, Pooling, Purpose};

use crate::failure::{Failure, embed_error};
use crate::provider::{ModelName, Provider};
use crate::service::{Request, Service, Settings};
use batch::{Batch, batches};
use vectors::Numbers;

/// How long an answer may take unless [`Settings::timeout`] is set.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Embedded to learn how many numbers a vector has.
const PROBE: &str = "How many numbers does a vector have?";

/// How a model of a service is used.
#[derive(Clone, Debug, Default)]
pub struct EmbeddingOptions {
    /// How many numbers to ask OpenAI's protocol for. Default: as many as a probe shows.
    pub dimensions: Option<u32>,
    /// Put before each query.
    pub query_prefix: String,
    /// Put before each passage.
    pub passage_prefix: String,
}

/// An embedding model at a service.
///
/// A text that is longer than the model reads is refused, never cut.
#[derive(Debug)]
pub struct ServiceEmbedder {
    client: Client,
    model: Model,
}

impl ServiceEmbedder {
    /// The model that a name such as `openai:MODEL` or `ollama:MODEL` means, after asking the
    /// service what it is. Nothing is asked where OpenAI's protocol is spoken and the dimension
    /// is given.
    ///
    /// # Errors
    /// When the name, the settings or the options make no sense, a key is missing or would be sent
    /// where others could read it, or the service does not answer as it should.
    pub fn open(
        name: &str,
        settings: &Settings,
        options: EmbeddingOptions,
    ) -> Result<ServiceEmbedder, EmbedError> {
        let ModelName { provider, model } = ModelName::parse(name).map_err(embed_error)?;
        if provider == Provider::Anthropic {
            return Err(error("anthropic has no embeddings", "use openai:MODEL or ollama:MODEL"));
        }
        let service = Service::new(provider, settings, TIMEOUT).map_err(embed_error)?;
        let dimensions = options.dimensions.filter(|_| provider == Provider::OpenAi);
        if let Some(count) = dimensions.filter(|count| !(1..=DIMENSION_MAX).contains(count)) {
            let message = format!("a vector has 1 to {DIMENSION_MAX} numbers, not {count}");
            return Err(error(message, "ask for fewer dimensions, or for at least one"));
        }
        let client = Client { service, name: model.to_owned(), dimensions };
        let shown = client.shown()?;
        let dimension = match dimensions {
            Some(dimension) => dimension,
            None => client.dimension(&options.passage_prefix)?,
        };
        // Ollama takes a name without a tag for the one with this tag.
        let model = match provider {
            Provider::Ollama => model.strip_suffix(":latest").unwrap_or(model),
            _ => model,
        };
        let model = Model {
            name: format!("{}/{model}", provider.name()),
            hash: identity(provider.name(), model, dimension, shown.weights.as_deref()),
            dimension,
            pooling: Pooling::Remote,
            query_prefix: options.query_prefix,
            passage_prefix: options.passage_prefix,
            tokens_max: shown.tokens_max,
            cosine_floor: 0,
        };
        Ok(ServiceEmbedder { client, model })
    }
}

impl Embedder for ServiceEmbedder {
    fn model(&self) -> &Model {
        &self.model
    }

    fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let prefix = match purpose {
            Purpose::Query => &self.model.query_prefix,
            Purpose::Passage => &self.model.passage_prefix,
        };
        self.client.embed(texts, prefix, Some(self.model.dimension))
    }
}

fn error(message: impl Into<String>, hint: &str) -> EmbedError {
    EmbedError { message: message.into(), hint: Some(hint.to_owned()) }
}

/// BLAKE3 of what is known of a model, each part after its length. The address of the service is
/// left out on purpose.
fn identity(provider: &str, name: &str, dimension: u32, weights: Option<&str>) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let dimension = dimension.to_string();
    for part in ["kapsa remote model 1", provider, name, &dimension].into_iter().chain(weights) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().into()
}

/// What a service says a model is.
struct Shown {
    weights: Option<String>,
    tokens_max: u32,
}

impl Shown {
    const NOTHING: Shown = Shown { weights: None, tokens_max: u32::MAX };
}

/// A model of a service, before its dimension is known.
#[derive(Debug)]
struct Client {
    service: Service,
    name: String,
    dimensions: Option<u32>,
}

impl Client {
    /// How many numbers a vector has, by asking for one.
    fn dimension(&self, prefix: &str) -> Result<u32, EmbedError> {
        let vectors = self.embed(&[PROBE], prefix, None)?;
        let length = vectors.first().map_or(0, Vec::len);
        Ok(u32::try_from(length).expect("a vector has at most DIMENSION_MAX numbers"))
    }

    /// One vector for each text, or none at all.
    fn embed(
        &self,
        texts: &[&str],
        prefix: &str,
        dimension: Option<u32>,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut units = Vec::with_capacity(texts.len());
        for batch in batches(texts, prefix)? {
            let texts = &texts[batch.range.clone()];
            let input: Vec<String> = texts.iter().map(|text| format!("{prefix}{text}")).collect();
            for (at, numbers) in self.ask(&input, &batch)?.into_iter().enumerate() {
                let unit = vectors::unit(&numbers, dimension);
                units.push(unit.map_err(|problem| self.bad_vector(&batch.one(at), &problem))?);
            }
        }
        Ok(units)
    }

    fn path(&self) -> &'static str {
        match self.service.provider() {
            Provider::Ollama => "/api/embed",
            _ => "/embeddings",
        }
    }

    /// The answer to one request, in order and as many as were asked for.
    fn ask(&self, input: &[String], batch: &Batch) -> Result<Vec<Numbers>, EmbedError> {
        let is_ollama = self.service.provider() == Provider::Ollama;
        let question = if is_ollama {
            ollama::question(&self.name, input)
        } else {
            openai::question(&self.name, input, self.dimensions)
        };
        let body =
            self.post(self.path(), question).map_err(|failure| self.refused(failure, batch))?;
        let parsed = if is_ollama { ollama::vectors(&body) } else { openai::vectors(&body) };
        let url = self.service.url(self.path());
        match parsed {
            Ok(answer) => answer.for_texts(input.len()).map_err(|problem| EmbedError {
                message: format!("{url} {problem}, asked for {}", batch.all()),
                hint: None,
            }),
            Err(problem) => {
                let problem = self.service.clean(&problem.to_string());
                let words = self.service.words_of(&body);
                let message = format!("{url} does not answer with vectors ({problem}): {words}");
                Err(error(message, "check that this is the address of an embedding service"))
            }
        }
    }

    fn post(&self, path: &'static str, body: Vec<u8>) -> Result<Vec<u8>, Failure> {
        self.service.post(&Request { path, model: self.name.clone(), body }, &|| true)
    }

    /// Why the service gives no vectors for these texts.
    fn refused(&self, failure: Failure, batch: &Batch) -> EmbedError {
        let EmbedError { message, hint } = embed_error(failure.error);
        if failure.is_too_long {
            let message =
                format!("{}: longer than {} reads at once; {message}", batch.all(), self.name);
            return EmbedError { message, hint };
        }
        EmbedError { message, hint }
    }

    fn bad_vector(&self, text: &str, problem: &str) -> EmbedError {
        let url = self.service.url(self.path());
        error(
            format!("{url}: the vector of {text} {problem}"),
            &format!(
                "check that {} is an embedding model, and that it has not been replaced",
                self.name
            ),
        )
    }

    /// What the service says the model is; nothing when it does not know the question.
    ///
    /// A server that fails is an error: going on without the answer would take the model for
    /// another one.
    fn shown(&self) -> Result<Shown, EmbedError> {
        if self.service.provider() != Provider::Ollama {
            return Ok(Shown::NOTHING);
        }
        match self.post("/api/show", ollama::show_question(&self.name)) {
            Ok(body) => Ok(ollama::shown(&body)),
            Err(failure) if matches!(failure.status, Some(400 | 404 | 405 | 501)) => {
                Ok(Shown::NOTHING)
            }
            Err(failure) => Err(embed_error(failure.error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_is_of_each_part() {
        let base = identity("ollama", "a", 3, None);
        assert_eq!(identity("ollama", "a", 3, None), base);
        for other in [
            identity("openai", "a", 3, None),
            identity("ollama", "b", 3, None),
            identity("ollama", "a", 4, None),
            identity("ollama", "a", 3, Some("")),
            identity("ollama", "a", 3, Some("x")),
        ] {
            assert_ne!(other, base);
        }
    }
}
