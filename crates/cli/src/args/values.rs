//! Values that are typed the same way at several verbs. Knows no verb.

use serde_json::{Map, Value};

/// A number from `min` to `max`.
pub(super) fn bounded(text: &str, min: usize, max: usize) -> Result<usize, String> {
    let number = text.parse::<usize>().ok().filter(|n| (min..=max).contains(n));
    number.ok_or_else(|| format!("not a number from {min} to {max}"))
}

/// How many are wanted at most. Nobody asks for none.
pub(super) fn count(text: &str) -> Result<usize, String> {
    let number = text.parse::<usize>().ok().filter(|&n| n > 0);
    number.ok_or_else(|| "not a number from 1 on".to_string())
}

/// Reads `name=value`, or a bare `name` whose value is empty.
pub(crate) fn tag(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    if name.is_empty() {
        return Err("a tag needs a name before the `=`".to_string());
    }
    Ok((name.to_string(), value.to_string()))
}

/// A run, by its bare id.
pub(super) fn run_name(text: &str) -> Result<String, std::convert::Infallible> {
    Ok(kapsa_memory::branch::run_name(text).to_string())
}

/// A JSON object.
pub(super) fn object(text: &str) -> Result<Map<String, Value>, String> {
    crate::json_input::object(text.as_bytes()).map_err(|fault| fault.message)
}
