//! How does Ollama's `/api/chat` put a conversation, and its reply?

use kapsa_model::{ChatReply, ChatRequest, Message, ToolCall, Usage};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::openai::{result, tools};
use super::{End, Said, decimal};

/// The body of a request.
pub(crate) fn question(request: &ChatRequest, model: &str) -> Value {
    let system = (!request.system.is_empty()).then(|| json!({"role": "system", "content": request.system}));
    let messages = request.messages.iter().enumerate().map(|(at, message)| turn(message, &request.messages[..at]));
    let messages: Vec<Value> = system.into_iter().chain(messages).collect();
    let mut body = json!({"model": model, "messages": messages, "stream": false});
    let temperature = request.temperature.map(|temperature| ("temperature".to_owned(), decimal(temperature)));
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
            json!({"role": "tool", "tool_name": tool_name(id, before), "content": result(content, *is_error)})
        }
    }
}

fn calls(messages: &[Message]) -> impl DoubleEndedIterator<Item = &ToolCall> {
    messages.iter().flat_map(|message| match message {
        Message::Assistant { tool_calls, .. } => tool_calls.as_slice(),
        _ => &[],
    })
}

/// The tool of the last call with this id: this protocol tells results by their tool.
fn tool_name<'a>(id: &'a str, before: &'a [Message]) -> &'a str {
    calls(before).rev().find(|call| call.id == id).map_or(id, |call| call.name.as_str())
}

#[derive(Deserialize)]
struct Reply {
    model: String,
    message: Words,
    done_reason: Option<String>,
    #[serde(default)]
    prompt_eval_count: u64,
    #[serde(default)]
    eval_count: u64,
}

#[derive(Deserialize)]
struct Words {
    #[serde(default)]
    content: String,
    tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize)]
struct Call {
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    arguments: Value,
}

/// What the body of a reply says, or what is wrong about it. Calls have no id in this protocol: they get one by their number
/// in the conversation.
pub(crate) fn said(body: &[u8], request: &ChatRequest) -> Result<Said, String> {
    let parsed: Reply = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let first = calls(&request.messages).count() + 1;
    let called = parsed.message.tool_calls.unwrap_or_default().into_iter().enumerate();
    let tool_calls = called.map(|(at, call)| ToolCall {
        id: format!("call_{}", first + at),
        name: call.function.name,
        arguments: call.function.arguments,
    });
    let usage = Usage { tokens_in: parsed.prompt_eval_count, tokens_out: parsed.eval_count };
    let reply = ChatReply { text: parsed.message.content, tool_calls: tool_calls.collect(), usage, model: parsed.model };
    let end = if parsed.done_reason.as_deref() == Some("length") { End::Cut } else { End::Whole };
    Ok(Said { reply, end })
}
