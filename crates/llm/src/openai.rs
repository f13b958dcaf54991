//! How do OpenAI's `/v1/chat/completions`, and the servers that speak as it does, put a conversation and their reply?

use kapsa_model::{ChatReply, ChatRequest, Message, ToolCall, ToolSpec, Usage};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{End, Said, decimal};

/// Where OpenAI itself is.
pub(crate) const ADDRESS: &str = "https://api.openai.com/v1";

/// The body of a request. OpenAI itself knows the limit of a reply by another name than most of the servers that speak as
/// it does.
pub(crate) fn question(request: &ChatRequest, model: &str, is_openai: bool) -> Value {
    let system = (!request.system.is_empty()).then(|| json!({"role": "system", "content": request.system}));
    let messages: Vec<Value> = system.into_iter().chain(request.messages.iter().map(message)).collect();
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

/// Tools, as Ollama wants them too.
pub(crate) fn tools(tools: &[ToolSpec]) -> Value {
    let function = |tool: &ToolSpec| {
        let function = json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters});
        json!({"type": "function", "function": function})
    };
    tools.iter().map(function).collect()
}

/// A tool's words; the protocol has no place for that it failed, so they say it.
pub(crate) fn result(content: &str, is_error: bool) -> String {
    if is_error { format!("Error: {content}") } else { content.to_owned() }
}

fn message(message: &Message) -> Value {
    match message {
        Message::User(text) => json!({"role": "user", "content": text}),
        Message::Assistant { text, tool_calls } if tool_calls.is_empty() => json!({"role": "assistant", "content": text}),
        Message::Assistant { text, tool_calls } => {
            let content = if text.is_empty() { Value::Null } else { json!(text) };
            json!({"role": "assistant", "content": content, "tool_calls": tool_calls.iter().map(call).collect::<Value>()})
        }
        Message::ToolResult { id, content, is_error } => {
            json!({"role": "tool", "tool_call_id": id, "content": result(content, *is_error)})
        }
    }
}

/// A call: its arguments are a text of JSON in this protocol.
fn call(call: &ToolCall) -> Value {
    let function = json!({"name": call.name, "arguments": call.arguments.to_string()});
    json!({"id": call.id, "type": "function", "function": function})
}

#[derive(Deserialize)]
struct Reply {
    #[serde(default)]
    model: String,
    choices: Vec<Choice>,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Choice {
    message: Words,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Words {
    content: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize)]
struct Call {
    id: String,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: Value,
}

#[derive(Deserialize)]
struct Tokens {
    prompt_tokens: u64,
    completion_tokens: u64,
}

/// What the body of a reply says, or what is wrong about it.
pub(crate) fn said(body: &[u8]) -> Result<Said, String> {
    let parsed: Reply = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let choice = parsed.choices.into_iter().next().ok_or("no choices")?;
    let end = match choice.finish_reason.as_deref() {
        Some("length") => End::Cut,
        Some("content_filter") => End::Refused("content filter".to_owned()),
        _ => choice.message.refusal.filter(|why| !why.is_empty()).map_or(End::Whole, End::Refused),
    };
    let usage = parsed
        .usage
        .map_or_else(Usage::default, |tokens| Usage { tokens_in: tokens.prompt_tokens, tokens_out: tokens.completion_tokens });
    let mut reply =
        ChatReply { text: choice.message.content.unwrap_or_default(), usage, model: parsed.model, ..ChatReply::default() };
    if end != End::Whole {
        return Ok(Said { reply, end });
    }
    let calls = choice.message.tool_calls.unwrap_or_default();
    Ok(match calls.into_iter().map(tool_call).collect() {
        Ok(calls) => {
            reply.tool_calls = calls;
            Said { reply, end }
        }
        Err(problem) => Said { reply, end: End::Broken(problem) },
    })
}

/// A call. Its arguments should be a text of JSON; some servers send them as they are, and some send no text for none.
fn tool_call(call: Call) -> Result<ToolCall, String> {
    let arguments = match call.function.arguments {
        Value::String(text) if !text.trim().is_empty() => serde_json::from_str(&text)
            .map_err(|error| format!("the arguments of {} are no JSON: {error}", call.function.name))?,
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
        assert_eq!(question(&request, "m", true), json!({"model": "m", "messages": [], "max_completion_tokens": 7}));
        assert_eq!(question(&request, "m", false), json!({"model": "m", "messages": [], "max_tokens": 7}));
    }
}
