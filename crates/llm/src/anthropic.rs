//! How does Anthropic's `/v1/messages` put a conversation, and its reply?

use kapsa_model::{ChatReply, ChatRequest, Message, ToolCall, ToolSpec, Usage};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{End, Said, decimal};

/// Most tokens of a reply when a request does not say: the protocol wants a number.
pub const TOKENS_MAX_DEFAULT: u32 = 8192;
/// The version of the protocol that is spoken.
pub(crate) const VERSION: &str = "2023-06-01";

/// The body of a request.
pub(crate) fn question(request: &ChatRequest, model: &str) -> Value {
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
        let tool = |tool: &ToolSpec| json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters});
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    body
}

/// Results of one turn belong into one message, or the model learns to call one tool at a time.
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

/// What the model said; the protocol knows no turn in which nothing was.
fn assistant(text: &str, tool_calls: &[ToolCall]) -> Option<Value> {
    let words = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
    let calls =
        tool_calls.iter().map(|call| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}));
    let blocks: Vec<Value> = words.into_iter().chain(calls).collect();
    (!blocks.is_empty()).then(|| json!({"role": "assistant", "content": blocks}))
}

#[derive(Deserialize)]
struct Reply {
    model: String,
    content: Vec<Block>,
    stop_reason: Option<String>,
    usage: Tokens,
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
struct Tokens {
    input_tokens: u64,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: u64,
}

/// What the body of a reply says, or what is wrong about it.
pub(crate) fn said(body: &[u8]) -> Result<Said, String> {
    let parsed: Reply = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let cached = [parsed.usage.cache_creation_input_tokens, parsed.usage.cache_read_input_tokens];
    let tokens_in = cached.into_iter().flatten().fold(parsed.usage.input_tokens, u64::saturating_add);
    let usage = Usage { tokens_in, tokens_out: parsed.usage.output_tokens };
    let mut reply = ChatReply { usage, model: parsed.model, ..ChatReply::default() };
    for block in parsed.content {
        match block {
            Block::Text { text } => reply.text.push_str(&text),
            Block::ToolUse { id, name, input } => reply.tool_calls.push(ToolCall { id, name, arguments: input }),
            Block::Other => {}
        }
    }
    let end = match parsed.stop_reason.as_deref() {
        Some("max_tokens" | "model_context_window_exceeded") => End::Cut,
        Some("refusal") => End::Refused("refusal".to_owned()),
        _ => End::Whole,
    };
    Ok(Said { reply, end })
}
