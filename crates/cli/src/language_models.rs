//! Chooses the language model that answers a role: the one that was asked for, or declared, or set
//! in the environment; keys come from the environment alone, and are never shown.

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::sync::Arc;

use kapsa_http::{Provider, TIERS, language_model};
use kapsa_model::{
    BoxFuture, ChatReply, ChatRequest, LanguageModel, ModelError, ModelErrorKind, ScriptedModel,
};
use kapsa_roles::RoleSpec;
use serde_json::Value;

use crate::command_model::{COMMAND, CommandModel};
use crate::config_file::read_text;
use crate::error::{CliError, Result};
use crate::services::{Variables, variable};

/// Which model answers unless something else is asked for or declared.
pub(crate) const MODEL: &str = "KAPSA_LLM";
/// Where its provider is, and the key of it.
const SERVICE: Variables = Variables { url: "KAPSA_LLM_URL", key: "KAPSA_LLM_KEY" };
/// What the name of a model that answers from a file begins with.
const SCRIPTED: &str = "scripted";
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
            return Ok(Some(Arc::new(Models {
                by_name: BTreeMap::new(),
                other: Some(model),
                is_only: true,
            })));
        }
        let mut by_name: BTreeMap<String, Box<dyn LanguageModel>> = BTreeMap::new();
        for node in spec.operators.iter().flat_map(|operator| &operator.nodes) {
            if let Some(name) = node.model.as_deref().filter(|name| has_provider(name))
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

/// Whether a name begins with a provider.
fn has_provider(name: &str) -> bool {
    let provider = name.split_once(':').map(|(provider, _)| provider);
    provider.is_some_and(|known| {
        known == SCRIPTED || known == COMMAND || Provider::named(known).is_some()
    })
}

/// A model by its name; one that is a program keeps its sessions in `folder`.
pub(crate) fn named_with_sessions_in(name: &str, folder: &Path) -> Result<Box<dyn LanguageModel>> {
    if name.split_once(':').is_some_and(|(provider, _)| provider == COMMAND) {
        return Ok(Box::new(CommandModel::named(name)?.with_sessions_in(folder)?));
    }
    named(name, None)
}

/// A model by its name. A script that a file names lies below that file: what came with a download
/// reads nothing else.
pub(crate) fn named(name: &str, folder: Option<&Path>) -> Result<Box<dyn LanguageModel>> {
    if name.split_once(':').is_some_and(|(provider, _)| provider == COMMAND) {
        if folder.is_some() {
            let message = format!("`{name}` would start a program that a file names");
            return Err(CliError::user("invalid_config", message)
                .hint("name it with --model or KAPSA_LLM, if you trust it"));
        }
        return Ok(Box::new(CommandModel::named(name)?));
    }
    if let Some((SCRIPTED, path)) = name.split_once(':') {
        let path = Path::new(path);
        let is_inside =
            path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if folder.is_some() && !is_inside {
            return Err(CliError::user(
                "invalid_config",
                format!("`{name}` must be a relative path without `..`"),
            )
            .hint("--model scripted:PATH may be any path"));
        }
        return Ok(Box::new(script(
            &folder.map_or_else(|| path.to_path_buf(), |folder| folder.join(path)),
        )?));
    }
    language_model(name, &SERVICE.settings(name)?).map_err(|error| {
        let error = CliError::from(error);
        if has_provider(name) {
            return error;
        }
        error.hint(
            "use anthropic:MODEL, openai:MODEL, ollama:MODEL, \"command:PROGRAM ARGS\" or \
             scripted:FILE",
        )
    })
}

/// A script, as JSON or, with the ending `.toml`, as TOML.
fn script(path: &Path) -> Result<ScriptedModel> {
    let text = read_text(path, SCRIPT_BYTES_MAX)?;
    let wrong =
        |reason: String| CliError::user("invalid_config", format!("{}: {reason}", path.display()));
    let value: Value = if path.extension().is_some_and(|end| end == "toml") {
        toml::from_str(&text).map_err(|error| wrong(error.message().to_string()))?
    } else {
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?
    };
    ScriptedModel::from_json(&value).map_err(|error| wrong(error.message))
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

    fn complete<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        let asked = request.model.as_deref();
        let of_provider = asked.filter(|name| has_provider(name));
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
            let tier = asked.filter(|name| TIERS.contains(name)).map(str::to_string);
            let request = ChatRequest { model: tier, ..request.clone() };
            return Box::pin(async move { model.complete(&request).await });
        }
        model.complete(request)
    }
}
