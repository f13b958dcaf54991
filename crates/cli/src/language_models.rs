//! Which language model answers a role? The one that was asked for, or declared, or set in the environment; keys come from the
//! environment alone, and are never shown.

use std::collections::BTreeMap;
use std::env;
use std::path::{Component, Path};
use std::sync::Arc;

use kapsa_llm::{Key, Settings, from_name};
use kapsa_memory::role::RoleSpec;
use kapsa_model::{BoxFuture, ChatReply, ChatRequest, LanguageModel, ModelError, ModelErrorKind, ScriptedModel};
use serde_json::Value;

use crate::config_file::read_text;
use crate::error::{CliError, Result};

/// Which model answers unless something else is asked for or declared.
pub(crate) const MODEL: &str = "KAPSA_LLM";
/// Where its provider is.
const URL: &str = "KAPSA_LLM_URL";
/// Its key.
const KEY: &str = "KAPSA_LLM_KEY";
/// What the names of models begin with, and where the keys of their providers usually stand.
const PROVIDERS: [(&str, Option<&str>); 4] =
    [("anthropic", Some("ANTHROPIC_API_KEY")), ("openai", Some("OPENAI_API_KEY")), ("ollama", None), ("scripted", None)];
/// Largest script, in bytes.
const SCRIPT_BYTES_MAX: u64 = 1 << 20;

/// What says which model answers.
pub(crate) struct Choice<'a> {
    /// What was typed: all nodes are answered by it.
    pub(crate) asked: Option<&'a str>,
    /// What the role is declared with.
    pub(crate) declared: Option<&'a str>,
    /// Where the file with the declaration lies.
    pub(crate) folder: &'a Path,
}

impl Choice<'_> {
    /// The model of a role and those that its nodes name by provider; none when nobody said which.
    pub(crate) fn of(&self, spec: &RoleSpec) -> Result<Option<Arc<dyn LanguageModel>>> {
        if let Some(name) = self.asked {
            let model = named(name, None)?;
            return Ok(Some(Arc::new(Models { by_name: BTreeMap::new(), other: Some(model), is_only: true })));
        }
        let mut by_name: BTreeMap<String, Box<dyn LanguageModel>> = BTreeMap::new();
        for node in spec.operators.iter().flat_map(|operator| &operator.nodes) {
            if let Some(name) = node.model.as_deref().filter(|name| provider(name).is_some())
                && !by_name.contains_key(name)
            {
                by_name.insert(name.to_string(), named(name, Some(self.folder))?);
            }
        }
        let other = match (self.declared, variable(MODEL)?) {
            (Some(declared), _) => Some(named(declared, Some(self.folder))?),
            (None, Some(set)) => Some(named(&set, None)?),
            (None, None) => None,
        };
        if other.is_none() && by_name.is_empty() {
            return Ok(None);
        }
        Ok(Some(Arc::new(Models { by_name, other, is_only: false })))
    }
}

/// The provider that a name begins with.
fn provider(name: &str) -> Option<(&'static str, Option<&'static str>)> {
    let (provider, _) = name.split_once(':')?;
    PROVIDERS.into_iter().find(|(known, _)| *known == provider)
}

/// A model by its name. A script that a file names lies below that file: what came with a download reads nothing else.
fn named(name: &str, folder: Option<&Path>) -> Result<Box<dyn LanguageModel>> {
    if let Some(("scripted", path)) = name.split_once(':') {
        let path = Path::new(path);
        let is_inside = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if folder.is_some() && !is_inside {
            return Err(CliError::user("invalid_config", format!("`{name}` must be a relative path without `..`"))
                .hint("--model scripted:PATH may be any path"));
        }
        return Ok(Box::new(script(&folder.map_or_else(|| path.to_path_buf(), |folder| folder.join(path)))?));
    }
    let usual = provider(name).and_then(|(_, variable)| variable);
    let key = match (variable(KEY)?, usual) {
        (Some(key), _) => Some(key),
        (None, Some(usual)) => variable(usual)?,
        (None, None) => None,
    };
    let key = key.map(|key| Key::new(&key)).transpose().map_err(failed)?;
    from_name(name, &Settings { base_url: variable(URL)?, key, ..Settings::default() }).map_err(|error| {
        let hint = format!("anthropic:MODEL, openai:MODEL, ollama:MODEL or scripted:FILE; keys and addresses: {KEY}, {URL}");
        CliError { hint: Some(hint), ..failed(error) }
    })
}

/// A script, as JSON or, with the ending `.toml`, as TOML.
fn script(path: &Path) -> Result<ScriptedModel> {
    let text = read_text(path, SCRIPT_BYTES_MAX)?;
    let wrong = |reason: String| CliError::user("invalid_config", format!("{}: {reason}", path.display()));
    let value: Value = if path.extension().is_some_and(|end| end == "toml") {
        toml::from_str(&text).map_err(|error| wrong(error.message().to_string()))?
    } else {
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?
    };
    ScriptedModel::from_json(&value).map_err(|error| wrong(error.message))
}

/// A variable of the environment that is set to something. Its content is never shown: it may be a key.
fn variable(name: &str) -> Result<Option<String>> {
    match env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.trim().is_empty())),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => Err(CliError::usage(format!("{name} is not UTF-8"))),
    }
}

/// The models of a role: some by the name that nodes give them, and one for all else.
struct Models {
    by_name: BTreeMap<String, Box<dyn LanguageModel>>,
    other: Option<Box<dyn LanguageModel>>,
    /// Whether it answers those as well that name another provider.
    is_only: bool,
}

impl LanguageModel for Models {
    fn name(&self) -> &str {
        self.other.as_ref().map_or("none", |model| model.name())
    }

    fn complete<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        let asked = request.model.as_deref();
        let of_provider = asked.filter(|name| provider(name).is_some());
        if let Some(model) = of_provider.and_then(|name| self.by_name.get(name)) {
            let request = ChatRequest { model: None, ..request.clone() };
            return Box::pin(async move { model.complete(&request).await });
        }
        let Some(model) = &self.other else {
            let message = "the role has no model for this node".to_string();
            let hint = "name one: model = … in [role.ID] or the node, --model NAME, or KAPSA_LLM";
            let error = ModelError::new(ModelErrorKind::NotConfigured, message, Some(hint));
            return Box::pin(async move { Err(error) });
        };
        if self.is_only && asked.is_some() {
            // What a node names is a model of another provider, or a size of it.
            let tier = asked.filter(|name| kapsa_llm::TIERS.contains(name)).map(str::to_string);
            let request = ChatRequest { model: tier, ..request.clone() };
            return Box::pin(async move { model.complete(&request).await });
        }
        model.complete(request)
    }
}

/// What a model says went wrong, as an error of the command line.
pub(crate) fn failed(error: ModelError) -> CliError {
    let told = match error.kind {
        ModelErrorKind::NotConfigured | ModelErrorKind::Unauthorized | ModelErrorKind::Refused => {
            CliError::user("model_failed", error.message)
        }
        _ => CliError::system("model_failed", error.message),
    };
    let told = match error.hint {
        Some(hint) => told.hint(hint),
        None => told,
    };
    told.field("tokens_in", error.usage.tokens_in).field("tokens_out", error.usage.tokens_out)
}
