//! What a node's model may call: the host's functions, each with the description that the model
//! gets.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::text::quoted;
use kapsa_agents::Secrets;
use kapsa_memory::access::ClearanceProfile;
use kapsa_memory::tokens;
use kapsa_model::{BoxFuture, Message, ToolCall, ToolSpec};

/// Most bytes of a tool's result that a model is given.
pub const TOOL_RESULT_BYTES_MAX: usize = 64 * 1024;

/// A function of the host that a model may call.
pub trait Tool: Send + Sync {
    /// Its description for the model.
    fn spec(&self) -> &ToolSpec;

    /// The levels and domains of what it has disclosed so far: what comes of it spreads no further.
    /// Default: nothing but what is public.
    fn secrets(&self) -> Secrets {
        Secrets::default()
    }

    /// The same for a role that is cleared for no more than this. Default: none, it knows nothing
    /// that a clearance limits.
    fn within(&self, _clearance: &ClearanceProfile) -> Option<Arc<dyn Tool>> {
        None
    }

    /// Calls it. The arguments are an object; nothing else about them was checked against the
    /// schema.
    ///
    /// # Errors
    /// What the model is to read: it may try again, otherwise.
    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<String, ToolError>>;
}

/// Why a tool gave nothing, in words for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

impl From<String> for ToolError {
    fn from(message: String) -> ToolError {
        ToolError(message)
    }
}

impl From<&str> for ToolError {
    fn from(message: &str) -> ToolError {
        ToolError(message.to_owned())
    }
}

/// A tool from a function that answers at once.
///
/// ```
/// use kapsa_roles::function_tool;
/// use serde_json::json;
///
/// let properties = json!({"name": {"type": "string"}});
/// let parameters = json!({"type": "object", "properties": properties, "required": ["name"]});
/// let port = function_tool("port", "The port of a service.", parameters, |arguments| {
///     match arguments["name"].as_str() {
///         Some("staging") => Ok("5433".to_owned()),
///         _ => Err("no such service".into()),
///     }
/// });
/// assert_eq!(port.spec().name, "port");
/// ```
pub fn function_tool<F>(
    name: impl Into<String>,
    description: impl Into<String>,
    parameters: Value,
    function: F,
) -> Arc<dyn Tool>
where
    F: Fn(&Value) -> Result<String, ToolError> + Send + Sync + 'static,
{
    Arc::new(FunctionTool {
        spec: ToolSpec { name: name.into(), description: description.into(), parameters },
        function,
    })
}

struct FunctionTool<F> {
    spec: ToolSpec,
    function: F,
}

impl<F: Fn(&Value) -> Result<String, ToolError> + Send + Sync> Tool for FunctionTool<F> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async move { (self.function)(&Value::Object(arguments.clone())) })
    }
}

/// What a call gave, or why it gave nothing, for the model to read.
pub(super) async fn answer(tools: &[Arc<dyn Tool>], call: &ToolCall) -> Message {
    let result = give(tools, call).await;
    let is_error = result.is_err();
    let content = cut(result.unwrap_or_else(|error| error.0));
    Message::ToolResult { id: call.id.clone(), content, is_error }
}

async fn give(tools: &[Arc<dyn Tool>], call: &ToolCall) -> Result<String, ToolError> {
    let Some(tool) = tools.iter().find(|tool| tool.spec().name == call.name) else {
        return Err(unknown(tools, &call.name));
    };
    let Value::Object(arguments) = &call.arguments else {
        return Err(format!(
            "the arguments of `{}` must be a JSON object, and are {}",
            call.name,
            kind(&call.arguments)
        )
        .into());
    };
    tool.call(arguments).await
}

fn unknown(tools: &[Arc<dyn Tool>], name: &str) -> ToolError {
    let names: Vec<String> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
    let known = if names.is_empty() {
        "there are no tools".to_owned()
    } else {
        format!("the tools are {}", quoted(&names))
    };
    format!("there is no tool `{}`: {known}", tokens::first_chars(name, 100)).into()
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// At most [`TOOL_RESULT_BYTES_MAX`] bytes, and a line that says what was cut.
fn cut(content: String) -> String {
    let kept = tokens::first_bytes(&content, TOOL_RESULT_BYTES_MAX);
    if kept.len() == content.len() {
        return content;
    }
    format!("{kept}\n[cut: the first {} of {} bytes]", kept.len(), content.len())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;
    use kapsa_model::block_on;

    fn echo() -> Arc<dyn Tool> {
        function_tool("echo", "Says it again.", json!({"type": "object"}), |arguments| {
            match arguments["text"].as_str() {
                Some(text) => Ok(text.to_owned()),
                None => Err("there is no `text`".into()),
            }
        })
    }

    fn check(name: &str, arguments: Value, content: &str, is_error: bool) {
        let call = ToolCall { id: "7".into(), name: name.into(), arguments };
        let expected = Message::ToolResult { id: "7".into(), content: content.into(), is_error };
        assert_eq!(block_on(answer(&[echo()], &call)), expected);
    }

    #[test]
    fn results_and_errors_are_data() {
        check("echo", json!({"text": "hello"}), "hello", false);
        check("echo", json!({}), "there is no `text`", true);
        check("Echo", json!({}), "there is no tool `Echo`: the tools are `echo`", true);
        for (arguments, kind) in [
            (json!([]), "a list"),
            (json!("x"), "a text"),
            (Value::Null, "null"),
            (json!(1), "a number"),
        ] {
            check(
                "echo",
                arguments,
                &format!("the arguments of `echo` must be a JSON object, and are {kind}"),
                true,
            );
        }
        let call = ToolCall { id: "1".into(), name: "x".repeat(1000), arguments: json!({}) };
        let Message::ToolResult { content, .. } = block_on(answer(&[], &call)) else {
            panic!("a result")
        };
        assert_eq!(content, format!("there is no tool `{}`: there are no tools", "x".repeat(100)));
    }

    #[test]
    fn a_long_result_is_cut_and_says_so() {
        let long = format!("x{}", "é".repeat(TOOL_RESULT_BYTES_MAX / 2));
        let kept = format!("x{}", "é".repeat(TOOL_RESULT_BYTES_MAX / 2 - 1));
        check(
            "echo",
            json!({"text": long}),
            &format!("{kept}\n[cut: the first 65535 of 65537 bytes]"),
            false,
        );
        check("echo", json!({"text": kept.clone()}), &kept, false);
    }
}
