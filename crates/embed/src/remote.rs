//! How does a service elsewhere turn texts into vectors?
//!
//! Two kinds are known: servers that speak as OpenAI's does, and Ollama. The identity of a model is its kind, its name, its
//! dimension and, where the service tells, what its weights are. The address is not part of it: a server that moved serves
//! the same model.

mod answer;
mod service;

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use kapsa_model::{DIMENSION_MAX, EmbedError, Embedder, Model, Pooling, Purpose};
use serde::Serialize;
use serde_json::Value;

use answer::{Numbers, OllamaAnswer, OpenAiAnswer};
use service::{Answer, Service};

/// Most texts in a request.
const BATCH_TEXTS: usize = 64;
/// Most bytes that the texts of a request take as JSON.
const BATCH_BYTES: usize = 512 * 1024;
/// How long a request may take, unless said otherwise.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Embedded to learn how many numbers a vector has.
const PROBE: &str = "How many numbers does a vector have?";

/// Which model of which server that speaks as OpenAI's does: llama.cpp, vLLM, LM Studio, text-embeddings-inference.
#[derive(Clone)]
pub struct OpenAiOptions {
    /// Where the service is; of most servers it ends in `/v1`.
    pub base_url: String,
    /// The model, as the service calls it.
    pub model: String,
    /// What the service asks for to let one in. Never shown; white space around it is no part of it.
    pub key: Option<String>,
    /// How many numbers to ask for. Without it a text is embedded to learn how many there are.
    pub dimensions: Option<u32>,
    /// Put before each query.
    pub query_prefix: String,
    /// Put before each passage.
    pub passage_prefix: String,
    /// How long a request may take.
    pub timeout: Duration,
}

impl Default for OpenAiOptions {
    fn default() -> Self {
        OpenAiOptions {
            base_url: "https://api.openai.com/v1".to_owned(),
            model: String::new(),
            key: None,
            dimensions: None,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            timeout: TIMEOUT,
        }
    }
}

impl fmt::Debug for OpenAiOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiOptions")
            .field("base_url", &self.base_url)
            .field("model", &self.model)
            .field("key", &self.key.as_ref().map(|_| "(hidden)"))
            .field("dimensions", &self.dimensions)
            .field("query_prefix", &self.query_prefix)
            .field("passage_prefix", &self.passage_prefix)
            .field("timeout", &self.timeout)
            .finish()
    }
}

/// Which model of an Ollama server.
#[derive(Clone, Debug)]
pub struct OllamaOptions {
    /// Where the server is.
    pub base_url: String,
    /// The model, as `ollama list` calls it.
    pub model: String,
    /// Put before each query.
    pub query_prefix: String,
    /// Put before each passage.
    pub passage_prefix: String,
    /// How long a request may take.
    pub timeout: Duration,
}

impl Default for OllamaOptions {
    fn default() -> Self {
        OllamaOptions {
            base_url: "http://127.0.0.1:11434".to_owned(),
            model: String::new(),
            query_prefix: String::new(),
            passage_prefix: String::new(),
            timeout: TIMEOUT,
        }
    }
}

/// Asks a server that speaks as OpenAI's does.
///
/// The service does not tell how many tokens its model reads: [`Model::tokens_max`] is [`u32::MAX`].
#[derive(Debug)]
pub struct OpenAiEmbedder {
    client: Client,
    model: Model,
}

impl OpenAiEmbedder {
    /// An embedder, after a first request unless the dimension is given.
    ///
    /// # Errors
    /// When the options make no sense, or the service does not answer as it should.
    pub fn new(options: OpenAiOptions) -> Result<OpenAiEmbedder, EmbedError> {
        let service = Service::new(&options.base_url, options.key.as_deref(), options.timeout)?;
        let client = Client::new(Kind::OpenAi { dimensions: options.dimensions }, service, options.model)?;
        let dimension = match options.dimensions {
            Some(given) if (1..=DIMENSION_MAX).contains(&given) => given,
            Some(given) => {
                return Err(error(format!("a vector of {given} numbers is asked for, not of 1 to {DIMENSION_MAX}"), None));
            }
            None => client.dimension(&options.passage_prefix)?,
        };
        let prefixes = [options.query_prefix, options.passage_prefix];
        let model = model("openai", &client.name, dimension, None, prefixes, u32::MAX);
        Ok(OpenAiEmbedder { client, model })
    }
}

impl Embedder for OpenAiEmbedder {
    fn model(&self) -> &Model {
        &self.model
    }

    fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.client.embed(texts, prefix(&self.model, purpose), Some(self.model.dimension))
    }
}

/// Asks an Ollama server.
///
/// A text that is longer than the model reads is refused, never cut.
#[derive(Debug)]
pub struct OllamaEmbedder {
    client: Client,
    model: Model,
}

impl OllamaEmbedder {
    /// An embedder, after asking what the model is and how many numbers its vectors have.
    ///
    /// # Errors
    /// When the options make no sense, or the service does not answer as it should.
    pub fn new(options: OllamaOptions) -> Result<OllamaEmbedder, EmbedError> {
        let service = Service::new(&options.base_url, None, options.timeout)?;
        let client = Client::new(Kind::Ollama, service, options.model)?;
        let shown = client.shown()?;
        let dimension = client.dimension(&options.passage_prefix)?;
        // Ollama takes a name without a tag for the one with this tag.
        let name = client.name.strip_suffix(":latest").unwrap_or(&client.name);
        let prefixes = [options.query_prefix, options.passage_prefix];
        let model = model("ollama", name, dimension, shown.weights.as_deref(), prefixes, shown.tokens_max);
        Ok(OllamaEmbedder { client, model })
    }
}

impl Embedder for OllamaEmbedder {
    fn model(&self) -> &Model {
        &self.model
    }

    fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.client.embed(texts, prefix(&self.model, purpose), Some(self.model.dimension))
    }
}

fn error(message: impl Into<String>, hint: Option<String>) -> EmbedError {
    EmbedError { message: message.into(), hint }
}

fn prefix(model: &Model, purpose: Purpose) -> &str {
    match purpose {
        Purpose::Query => &model.query_prefix,
        Purpose::Passage => &model.passage_prefix,
    }
}

fn model(
    kind: &str,
    name: &str,
    dimension: u32,
    weights: Option<&str>,
    [query_prefix, passage_prefix]: [String; 2],
    tokens_max: u32,
) -> Model {
    let hash = identity(kind, name, dimension, weights);
    let name = format!("{kind}/{name}");
    Model { name, hash, dimension, pooling: Pooling::Remote, query_prefix, passage_prefix, tokens_max }
}

/// BLAKE3 of what is known of a model, each part after its length. The address of the service is left out on purpose.
fn identity(kind: &str, name: &str, dimension: u32, weights: Option<&str>) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let dimension = dimension.to_string();
    for part in ["kapsa remote model 1", kind, name, &dimension].into_iter().chain(weights) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().into()
}

/// How a service is spoken to.
#[derive(Clone, Copy, Debug)]
enum Kind {
    OpenAi { dimensions: Option<u32> },
    Ollama,
}

#[derive(Serialize)]
struct OpenAiQuestion<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<u32>,
}

#[derive(Serialize)]
struct OllamaQuestion<'a> {
    model: &'a str,
    input: &'a [String],
    truncate: bool,
}

#[derive(Serialize)]
struct ShowQuestion<'a> {
    model: &'a str,
}

/// What a server says a model is.
struct Shown {
    weights: Option<String>,
    tokens_max: u32,
}

/// A model of a service.
#[derive(Debug)]
struct Client {
    kind: Kind,
    service: Service,
    name: String,
}

impl Client {
    fn new(kind: Kind, service: Service, name: String) -> Result<Client, EmbedError> {
        if name.trim().is_empty() {
            return Err(error("no model is named", Some("name one that the service has".to_owned())));
        }
        Ok(Client { kind, service, name })
    }

    /// How many numbers a vector has, by asking for one.
    fn dimension(&self, prefix: &str) -> Result<u32, EmbedError> {
        let vectors = self.embed(&[PROBE], prefix, None)?;
        let length = vectors.first().map_or(0, Vec::len);
        u32::try_from(length).map_err(|_| error("a vector is too long", None))
    }

    /// One vector for each text, or none at all.
    fn embed(&self, texts: &[&str], prefix: &str, dimension: Option<u32>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for range in batches(texts, prefix)? {
            let input: Vec<String> = texts[range.clone()].iter().map(|text| format!("{prefix}{text}")).collect();
            let place = Place { range, total: texts.len() };
            let answers = self.ask(&input, &place)?;
            for (at, numbers) in answers.into_iter().enumerate() {
                let unit = answer::unit(&numbers, dimension).map_err(|problem| {
                    error(
                        format!("{}: the vector of {} {problem}", self.service.url(self.path()), place.one(at)),
                        Some(format!("is {} a model for embeddings, and still the same one?", self.name)),
                    )
                })?;
                vectors.push(unit);
            }
        }
        Ok(vectors)
    }

    fn path(&self) -> &'static str {
        match self.kind {
            Kind::OpenAi { .. } => "/embeddings",
            Kind::Ollama => "/api/embed",
        }
    }

    /// The answer to one request, in order and as many as were asked for.
    fn ask(&self, input: &[String], place: &Place) -> Result<Vec<Numbers>, EmbedError> {
        let path = self.path();
        let answer = match self.kind {
            Kind::OpenAi { dimensions } => {
                self.service.post(path, &OpenAiQuestion { model: &self.name, input, encoding_format: "float", dimensions })
            }
            Kind::Ollama => self.service.post(path, &OllamaQuestion { model: &self.name, input, truncate: false }),
        }?;
        if answer.status != 200 {
            return Err(self.refusal(path, &answer, &place.all()));
        }
        let parsed = match self.kind {
            Kind::OpenAi { .. } => serde_json::from_slice(&answer.body).map(|parsed: OpenAiAnswer| parsed.in_order(input.len())),
            Kind::Ollama => serde_json::from_slice(&answer.body).map(|parsed: OllamaAnswer| parsed.in_order(input.len())),
        };
        match parsed {
            Ok(Ok(numbers)) => Ok(numbers),
            Ok(Err(problem)) => Err(error(format!("{} {problem}, asked for {}", self.service.url(path), place.all()), None)),
            Err(problem) => Err(error(
                format!(
                    "{} does not answer with vectors ({}): {}",
                    self.service.url(path),
                    self.service.clean(&problem.to_string()),
                    self.service.said(&answer.body)
                ),
                Some("is this the address of a service for embeddings?".to_owned()),
            )),
        }
    }

    /// Why the service gives no vectors.
    fn refusal(&self, path: &str, answer: &Answer, texts: &str) -> EmbedError {
        let said = self.service.refusal(path, answer);
        if answer.is_too_long() {
            let hint = "put shorter texts, or take a model (or a setting of the server) with a longer context";
            return error(format!("{texts}: longer than {} reads at once; {said}", self.name), Some(hint.to_owned()));
        }
        let hint = match (answer.status, self.kind) {
            (401 | 403, _) if self.service.has_key() => Some("is this the right key, and may it use this model?".to_owned()),
            (401 | 403, Kind::OpenAi { .. }) => Some("the service wants a key, and none was given".to_owned()),
            (404, Kind::OpenAi { .. }) => {
                Some(format!("has the service a model `{}`? The address of most servers ends in /v1", self.name))
            }
            (404, Kind::Ollama) => Some(format!("try `ollama pull {}`", self.name)),
            (300..=399, _) => Some("redirects are not followed: give the address that is meant".to_owned()),
            (429, _) => Some("too much was asked for, or more than is paid for: wait, and try again".to_owned()),
            (500..=599, _) => Some("the service has a problem of its own: try again later".to_owned()),
            _ => None,
        };
        error(said, hint)
    }

    /// What the server says the model is; nothing when it does not know the question.
    ///
    /// A server that fails is an error: whoever goes on without the answer takes the model for another one.
    fn shown(&self) -> Result<Shown, EmbedError> {
        let path = "/api/show";
        let answer = self.service.post(path, &ShowQuestion { model: &self.name })?;
        match answer.status {
            200 => {
                let shown: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
                Ok(Shown { weights: weights(&shown), tokens_max: tokens_max(&shown) })
            }
            400 | 404 | 405 | 501 => Ok(Shown { weights: None, tokens_max: u32::MAX }),
            _ => Err(self.refusal(path, &answer, "what the model is")),
        }
    }
}

/// What a model's weights are: their digest, else the kind and size of the model.
///
/// The digest of an answer stands in its `modelfile`, in the name of the file after `FROM`.
fn weights(shown: &Value) -> Option<String> {
    let digest = shown["digest"].as_str().filter(|digest| !digest.is_empty()).map(str::to_owned);
    let named = || {
        let lines = shown["modelfile"].as_str()?.lines().map(str::trim).filter(|line| line.starts_with("FROM "));
        let digests: Vec<&str> = lines.filter_map(digest_in).collect();
        (!digests.is_empty()).then(|| digests.join(" "))
    };
    let details = || {
        let details = &shown["details"];
        let parts = ["family", "parameter_size", "quantization_level"].map(|key| details[key].as_str().unwrap_or_default());
        parts.iter().any(|part| !part.is_empty()).then(|| parts.join("/"))
    };
    digest.or_else(named).or_else(details)
}

/// The SHA-256 that a line names, in hexadecimal.
fn digest_in(line: &str) -> Option<&str> {
    let (_, rest) = line.rsplit_once("sha256")?;
    let digest = rest.get(1..65)?;
    digest.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(digest)
}

/// How many tokens the model reads.
fn tokens_max(shown: &Value) -> u32 {
    let fields = shown["model_info"].as_object();
    let mut lengths = fields.into_iter().flatten().filter(|(key, _)| key.ends_with(".context_length"));
    let length = lengths.find_map(|(_, value)| value.as_u64()).filter(|&length| length > 0);
    length.and_then(|length| u32::try_from(length).ok()).unwrap_or(u32::MAX)
}

/// Which of all texts a request is about, told from 1.
struct Place {
    range: Range<usize>,
    total: usize,
}

impl Place {
    fn one(&self, at: usize) -> String {
        format!("text {} of {}", self.range.start + at + 1, self.total)
    }

    fn all(&self) -> String {
        if self.range.len() == 1 {
            return self.one(0);
        }
        format!("one of the texts {} to {} of {}", self.range.start + 1, self.range.end, self.total)
    }
}

/// Which texts go into which request.
fn batches(texts: &[&str], prefix: &str) -> Result<Vec<Range<usize>>, EmbedError> {
    let mut batches: Vec<Range<usize>> = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, text) in texts.iter().enumerate() {
        let more = json_length(prefix) + json_length(text) + 3;
        if more > BATCH_BYTES {
            let place = Place { range: at..at + 1, total: texts.len() };
            return Err(error(
                format!("{} takes {more} bytes; a request may have {BATCH_BYTES}", place.one(0)),
                Some("put shorter texts".to_owned()),
            ));
        }
        if at - start == BATCH_TEXTS || bytes + more > BATCH_BYTES {
            batches.push(start..at);
            (start, bytes) = (at, 0);
        }
        bytes += more;
    }
    if start < texts.len() {
        batches.push(start..texts.len());
    }
    Ok(batches)
}

/// Bytes of a text as JSON, at most.
fn json_length(text: &str) -> usize {
    let escaped = |byte| match byte {
        b'"' | b'\\' => 2,
        0..=0x1f => 6,
        _ => 1,
    };
    text.bytes().map(escaped).sum()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
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

    #[test]
    fn weights_are_the_best_that_is_known() {
        let hex = "0123456789abcdef".repeat(4);
        let file = format!("# made by \"ollama show\"\nFROM /some/where/blobs/sha256-{hex}\nTEMPLATE x\n");
        let details = serde_json::json!({"family": "bert", "parameter_size": "137M", "quantization_level": "F16"});
        let shown = serde_json::json!({"modelfile": file, "details": details, "modified_at": "now"});
        assert_eq!(weights(&shown), Some(hex));
        let shown = serde_json::json!({"modelfile": "FROM ./é-sha256-é", "details": details});
        assert_eq!(weights(&shown).as_deref(), Some("bert/137M/F16"));
        assert_eq!(weights(&serde_json::json!({"digest": "d"})).as_deref(), Some("d"));
        assert_eq!(weights(&serde_json::json!({"details": 7})), None);
        assert_eq!(weights(&Value::Null), None);
    }

    #[test]
    fn batches_hold_their_limits() {
        assert!(batches(&[], "p").unwrap().is_empty());
        assert_eq!(batches(&["a"; 65], "").unwrap(), [0..64, 64..65]);
        let third = "x".repeat(BATCH_BYTES / 3);
        assert_eq!(batches(&[third.as_str(); 4], "").unwrap(), [0..2, 2..4]);
        let escaped = "\u{1}".repeat(BATCH_BYTES / 6);
        let problem = batches(&["a", &escaped], "").unwrap_err();
        assert!(problem.message.starts_with("text 2 of 2 takes"), "{problem}");
    }
}
