//! Where a model service is, and with which keys. Reads the environment, and sends nothing.

use std::env;

use kapsa_http::{Key, Provider, Settings};

use crate::error::{CliError, Result};

/// The environment variables that say where a kind of service is, and with which key.
pub(crate) struct Variables {
    pub(crate) url: &'static str,
    pub(crate) key: &'static str,
}

impl Variables {
    /// How the service behind a name such as `openai:MODEL` is reached.
    pub(crate) fn settings(&self, name: &str) -> Result<Settings> {
        let provider = name.split_once(':').and_then(|(provider, _)| Provider::named(provider));
        let provider_variable = provider.and_then(Provider::key_variable);
        Ok(Settings {
            base_url: variable(self.url)?,
            key: key(self.key)?,
            provider_key: provider_variable.map(key).transpose()?.flatten(),
            key_name: self.key,
            ..Settings::default()
        })
    }
}

fn key(name: &str) -> Result<Option<Key>> {
    variable(name)?.map(|text| Key::new(&text)).transpose().map_err(CliError::from)
}

/// A variable of the environment that is set to something. Its content is never shown: it may be a
/// key.
pub(crate) fn variable(name: &str) -> Result<Option<String>> {
    match env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.trim().is_empty())),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => Err(CliError::usage(format!("{name} is not UTF-8"))),
    }
}
