//! The conversation and the reply in the terms of Anthropic's `/v1/messages`. Sends nothing.

use kapsa_model::{ChatReply, ChatRequest, Message, ToolCall, ToolSpec, Usage};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Completion, End, decimal};

/// Most tokens of a reply when a request sets no limit: the protocol requires one.
pub const TOKENS_MAX_DEFAULT: u32 = 8192;

/// The body of a request.
pub(super) fn question(request: &ChatRequest, model: &str) -> Value {
    let mut body = json!({
        "model": model,
        "max_tokens": request.tokens_max.unwrap_or(TOKENS_MAX_DEFAULT),
        "messages": messages(&request.messages),
    });
    if !request.system.is_empty() {
        body["system"] = json!(request.system);
    }
    if let Some(temperature) = request.temperature {
        body["temperature"] = decimal(temperature);
    }
    if !request.tools.is_empty() {
        let tool = |tool: &ToolSpec| {
            let schema = &tool.parameters;
            json!({"name": tool.name, "description": tool.description, "input_schema": schema})
        };
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    body
}

/// The results of one turn belong in one message; otherwise the model learns to call one tool at a
/// time.
fn messages(messages: &[Message]) -> Vec<Value> {
    let mut turns: Vec<Value> = Vec::new();
    let mut results: Vec<Value> = Vec::new();
    for message in messages {
        if let Message::ToolResult { id, content, is_error } = message {
            let mut result = json!({"type": "tool_result", "tool_use_id": id, "content": content});
            if *is_error {
                result["is_error"] = json!(true);
            }
            results.push(result);
            continue;
        }
        turns.extend(take_results(&mut results));
        match message {
            Message::User(text) => turns.push(json!({"role": "user", "content": text})),
            Message::Assistant { text, tool_calls } => turns.extend(assistant(text, tool_calls)),
            Message::ToolResult { .. } => {}
        }
    }
    turns.extend(take_results(&mut results));
    turns
}

fn take_results(results: &mut Vec<Value>) -> Option<Value> {
    (!results.is_empty()).then(|| json!({"role": "user", "content": std::mem::take(results)}))
}

/// What the model said; the protocol has no empty turns.
fn assistant(text: &str, tool_calls: &[ToolCall]) -> Option<Value> {
    let words = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
    let call = |call: &ToolCall| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments});
    let calls = tool_calls.iter().map(call);
    let blocks: Vec<Value> = words.into_iter().chain(calls).collect();
    (!blocks.is_empty()).then(|| json!({"role": "assistant", "content": blocks}))
}

#[derive(Deserialize)]
struct AnthropicReply {
    model: String,
    content: Vec<Block>,
    stop_reason: Option<String>,
    usage: AnthropicTokens,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct AnthropicTokens {
    input_tokens: u64,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: u64,
}

/// The answer in the body of a reply, or what is wrong with it.
pub(super) fn answer(body: &[u8]) -> Result<Completion, String> {
    let parsed: AnthropicReply = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let cached = [parsed.usage.cache_creation_input_tokens, parsed.usage.cache_read_input_tokens];
    let tokens_in =
        cached.into_iter().flatten().fold(parsed.usage.input_tokens, u64::saturating_add);
    let usage = Usage { tokens_in, tokens_out: parsed.usage.output_tokens };
    let mut reply = ChatReply { usage, model: parsed.model, ..ChatReply::default() };
    for block in parsed.content {
        match block {
            Block::Text { text } => reply.text.push_str(&text),
            Block::ToolUse { id, name, input } => {
                reply.tool_calls.push(ToolCall { id, name, arguments: input })
            }
            Block::Other => {}
        }
    }
    let end = match parsed.stop_reason.as_deref() {
        Some("max_tokens" | "model_context_window_exceeded") => End::Cut,
        Some("refusal") => End::Refused("refusal".to_owned()),
        _ => End::Whole,
    };
    Ok(Completion { reply, end })
}
