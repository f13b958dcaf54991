//! The conversation and the reply in the terms of Ollama's `/api/chat`. Sends nothing.

use kapsa_model::{ChatReply, ChatRequest, Message, ToolCall, Usage};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::openai::{result, system, tools};
use super::{Completion, End, decimal};

/// The body of a request.
pub(super) fn question(request: &ChatRequest, model: &str) -> Value {
    let turns = request.messages.iter().enumerate();
    let turns = turns.map(|(at, message)| turn(message, &request.messages[..at]));
    let messages: Vec<Value> = system(request).chain(turns).collect();
    let mut body = json!({"model": model, "messages": messages, "stream": false});
    let temperature = request.temperature.map(|number| ("temperature".to_owned(), decimal(number)));
    let tokens = request.tokens_max.map(|tokens| ("num_predict".to_owned(), json!(tokens)));
    let options: Map<String, Value> = temperature.into_iter().chain(tokens).collect();
    if !options.is_empty() {
        body["options"] = Value::Object(options);
    }
    if !request.tools.is_empty() {
        body["tools"] = tools(&request.tools);
    }
    body
}

fn turn(message: &Message, before: &[Message]) -> Value {
    match message {
        Message::User(text) => json!({"role": "user", "content": text}),
        Message::Assistant { text, tool_calls } => {
            let mut turn = json!({"role": "assistant", "content": text});
            if !tool_calls.is_empty() {
                let call = |call: &ToolCall| json!({"function": {"name": call.name, "arguments": call.arguments}});
                turn["tool_calls"] = tool_calls.iter().map(call).collect();
            }
            turn
        }
        Message::ToolResult { id, content, is_error } => {
            let (tool, content) = (tool_name(id, before), result(content, *is_error));
            json!({"role": "tool", "tool_name": tool, "content": content})
        }
    }
}

fn calls(messages: &[Message]) -> impl DoubleEndedIterator<Item = &ToolCall> {
    messages.iter().flat_map(|message| match message {
        Message::Assistant { tool_calls, .. } => tool_calls.as_slice(),
        _ => &[],
    })
}

/// The tool of the last call with this id: this protocol identifies results by their tool.
fn tool_name<'a>(id: &'a str, before: &'a [Message]) -> &'a str {
    calls(before).rev().find(|call| call.id == id).map_or(id, |call| call.name.as_str())
}

#[derive(Deserialize)]
struct OllamaReply {
    model: String,
    message: OllamaMessage,
    done_reason: Option<String>,
    #[serde(default)]
    prompt_eval_count: u64,
    #[serde(default)]
    eval_count: u64,
}

#[derive(Deserialize)]
struct OllamaMessage {
    #[serde(default)]
    content: String,
    tool_calls: Option<Vec<OllamaCall>>,
}

#[derive(Deserialize)]
struct OllamaCall {
    function: OllamaFunction,
}

#[derive(Deserialize)]
struct OllamaFunction {
    name: String,
    arguments: Value,
}

/// The answer in the body of a reply, or what is wrong with it. Calls have no id in this protocol:
/// they are numbered through the conversation.
pub(super) fn answer(body: &[u8], request: &ChatRequest) -> Result<Completion, String> {
    let parsed: OllamaReply = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let first = calls(&request.messages).count() + 1;
    let called = parsed.message.tool_calls.unwrap_or_default().into_iter().enumerate();
    let tool_calls = called.map(|(at, call)| ToolCall {
        id: format!("call_{}", first + at),
        name: call.function.name,
        arguments: call.function.arguments,
    });
    let usage = Usage { tokens_in: parsed.prompt_eval_count, tokens_out: parsed.eval_count };
    let reply = ChatReply {
        text: parsed.message.content,
        tool_calls: tool_calls.collect(),
        usage,
        model: parsed.model,
    };
    let is_cut = parsed.done_reason.as_deref() == Some("length");
    let end = if is_cut { End::Cut } else { End::Whole };
    Ok(Completion { reply, end })
}
