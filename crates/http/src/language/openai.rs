//! The conversation and the reply in the terms of OpenAI's `/v1/chat/completions`, which many
//! servers speak. Sends nothing.

use kapsa_model::{ChatReply, ChatRequest, Message, ToolCall, ToolSpec, Usage};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Completion, End, decimal};

/// The body of a request. OpenAI itself has another name for the limit of a reply than most servers
/// that speak its protocol.
pub(super) fn question(request: &ChatRequest, model: &str, is_openai: bool) -> Value {
    let messages: Vec<Value> =
        system(request).chain(request.messages.iter().map(message)).collect();
    let mut body = json!({"model": model, "messages": messages});
    if let Some(temperature) = request.temperature {
        body["temperature"] = decimal(temperature);
    }
    if let Some(tokens) = request.tokens_max {
        body[if is_openai { "max_completion_tokens" } else { "max_tokens" }] = json!(tokens);
    }
    if !request.tools.is_empty() {
        body["tools"] = tools(&request.tools);
    }
    body
}

/// The message of the system, if there is one, in the form that Ollama takes too.
pub(super) fn system(request: &ChatRequest) -> impl Iterator<Item = Value> {
    let text = Some(&request.system).filter(|text| !text.is_empty());
    text.into_iter().map(|text| json!({"role": "system", "content": text}))
}

/// Tools, in the form that Ollama takes too.
pub(super) fn tools(tools: &[ToolSpec]) -> Value {
    let function = |tool: &ToolSpec| {
        let (name, description) = (&tool.name, &tool.description);
        let function =
            json!({"name": name, "description": description, "parameters": tool.parameters});
        json!({"type": "function", "function": function})
    };
    tools.iter().map(function).collect()
}

/// What a tool returned. The protocol has no field for a failure, so the text says so.
pub(super) fn result(content: &str, is_error: bool) -> String {
    if is_error { format!("Error: {content}") } else { content.to_owned() }
}

fn message(message: &Message) -> Value {
    match message {
        Message::User(text) => json!({"role": "user", "content": text}),
        Message::Assistant { text, tool_calls } if tool_calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, tool_calls } => {
            let content = if text.is_empty() { Value::Null } else { json!(text) };
            let calls: Value = tool_calls.iter().map(call).collect();
            json!({"role": "assistant", "content": content, "tool_calls": calls})
        }
        Message::ToolResult { id, content, is_error } => {
            json!({"role": "tool", "tool_call_id": id, "content": result(content, *is_error)})
        }
    }
}

/// A call: its arguments are JSON in a string in this protocol.
fn call(call: &ToolCall) -> Value {
    let function = json!({"name": call.name, "arguments": call.arguments.to_string()});
    json!({"id": call.id, "type": "function", "function": function})
}

#[derive(Deserialize)]
struct OpenAiReply {
    #[serde(default)]
    model: String,
    choices: Vec<Choice>,
    usage: Option<OpenAiTokens>,
}

#[derive(Deserialize)]
struct Choice {
    message: OpenAiMessage,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct OpenAiMessage {
    content: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<OpenAiCall>>,
}

#[derive(Deserialize)]
struct OpenAiCall {
    id: String,
    function: OpenAiFunction,
}

#[derive(Deserialize)]
struct OpenAiFunction {
    name: String,
    #[serde(default)]
    arguments: Value,
}

#[derive(Deserialize)]
struct OpenAiTokens {
    prompt_tokens: u64,
    completion_tokens: u64,
}

/// The answer in the body of a reply, or what is wrong with it.
pub(super) fn answer(body: &[u8]) -> Result<Completion, String> {
    let parsed: OpenAiReply = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let choice = parsed.choices.into_iter().next().ok_or("no choices")?;
    let end = match choice.finish_reason.as_deref() {
        Some("length") => End::Cut,
        Some("content_filter") => End::Refused("content filter".to_owned()),
        _ => choice.message.refusal.filter(|why| !why.is_empty()).map_or(End::Whole, End::Refused),
    };
    let usage = parsed.usage.map_or_else(Usage::default, |tokens| Usage {
        tokens_in: tokens.prompt_tokens,
        tokens_out: tokens.completion_tokens,
    });
    let text = choice.message.content.unwrap_or_default();
    let mut reply = ChatReply { text, usage, model: parsed.model, ..ChatReply::default() };
    if end != End::Whole {
        return Ok(Completion { reply, end });
    }
    let calls = choice.message.tool_calls.unwrap_or_default();
    Ok(match calls.into_iter().map(tool_call).collect() {
        Ok(calls) => {
            reply.tool_calls = calls;
            Completion { reply, end }
        }
        Err(problem) => Completion { reply, end: End::Broken(problem) },
    })
}

/// A call. Its arguments should be JSON in a string; some servers send them as they are, and some
/// an empty string for none.
fn tool_call(call: OpenAiCall) -> Result<ToolCall, String> {
    let arguments = match call.function.arguments {
        Value::String(text) if !text.trim().is_empty() => {
            serde_json::from_str(&text).map_err(|error| {
                format!("the arguments of {} are not JSON: {error}", call.function.name)
            })?
        }
        Value::String(_) | Value::Null => json!({}),
        arguments => arguments,
    };
    Ok(ToolCall { id: call.id, name: call.function.name, arguments })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_a_reply_has_two_names() {
        let request = ChatRequest { tokens_max: Some(7), ..ChatRequest::default() };
        let own = json!({"model": "m", "messages": [], "max_completion_tokens": 7});
        assert_eq!(question(&request, "m", true), own);
        let other = json!({"model": "m", "messages": [], "max_tokens": 7});
        assert_eq!(question(&request, "m", false), other);
    }
}
