//! Replies in the shapes of the providers' public documentation, and conversations to ask for them.

use std::time::Duration;

use kapsa_http::{Key, Settings, language_model};
use kapsa_model::{ChatRequest, LanguageModel, Message, ToolCall, ToolSpec};
use kapsa_testkit::stub::Stub;
use serde_json::{Value, json};

pub const KEY: &str = "sk-very-secret-0123456789";
/// A provider, its model, and where its paths begin.
pub const PROVIDERS: [(&str, &str, &str); 3] = [
    ("anthropic", "claude-sonnet-4-5", ""),
    ("openai", "gpt-4.1", "/v1"),
    ("ollama", "llama3.2", ""),
];

pub fn settings(stub: &Stub, begins: &str) -> Settings {
    let key = Some(Key::new(KEY).unwrap());
    let base_url = Some(format!("{}{begins}/", stub.url()));
    Settings { base_url, key, timeout: Some(Duration::from_secs(20)), ..Settings::default() }
}

/// The model of a provider that the stub plays.
pub fn model(stub: &Stub, provider: &str) -> Box<dyn LanguageModel> {
    model_with(stub, provider, |settings| settings)
}

pub fn model_with(
    stub: &Stub,
    provider: &str,
    change: impl Fn(Settings) -> Settings,
) -> Box<dyn LanguageModel> {
    let (_, model, begins) = PROVIDERS.into_iter().find(|(name, _, _)| *name == provider).unwrap();
    language_model(&format!("{provider}:{model}"), &change(settings(stub, begins))).unwrap()
}

pub fn user(text: &str) -> ChatRequest {
    ChatRequest { messages: vec![Message::User(text.to_owned())], ..ChatRequest::default() }
}

pub fn weather() -> ToolSpec {
    ToolSpec {
        name: "get_current_weather".to_owned(),
        description: "Get the current weather for a location".to_owned(),
        parameters: schema(),
    }
}

pub fn schema() -> Value {
    json!({"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]})
}

pub fn weather_call(id: &str, location: &str) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: "get_current_weather".to_owned(),
        arguments: json!({"location": location}),
    }
}

/// A plain answer of 12 tokens in and 6 out.
pub fn answer(provider: &str, text: &str) -> Value {
    match provider {
        "anthropic" => anthropic(&json!([{"type": "text", "text": text}]), "end_turn"),
        "openai" => openai(
            &json!({"role": "assistant", "content": text, "refusal": null, "annotations": []}),
            "stop",
        ),
        _ => ollama(&json!({"role": "assistant", "content": text}), "stop"),
    }
}

/// The same answer, cut off after its first tokens.
pub fn cut(provider: &str, text: &str) -> Value {
    let mut answer = answer(provider, text);
    match provider {
        "anthropic" => answer["stop_reason"] = json!("max_tokens"),
        "openai" => answer["choices"][0]["finish_reason"] = json!("length"),
        _ => answer["done_reason"] = json!("length"),
    }
    answer
}

/// An answer that calls the weather of two places.
pub fn calls(provider: &str) -> Value {
    match provider {
        "anthropic" => anthropic(
            &json!([
                {"type": "text", "text": "I'll check the current weather for you."},
                {"type": "tool_use", "id": "toolu_01A09q90qw90lq917835lq9", "name": "get_current_weather", "input": {"location": "Paris"}},
                {"type": "tool_use", "id": "toolu_01T1x1fJ34qAmk2tNTrN7Up6", "name": "get_current_weather", "input": {"location": "Boston"}}
            ]),
            "tool_use",
        ),
        "openai" => openai(
            &json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": "call_abc123", "type": "function",
                 "function": {"name": "get_current_weather", "arguments": "{\n\"location\": \"Paris\"\n}"}},
                {"id": "call_abc124", "type": "function",
                 "function": {"name": "get_current_weather", "arguments": "{\"location\":\"Boston\"}"}}
            ]}),
            "tool_calls",
        ),
        _ => ollama(
            &json!({"role": "assistant", "content": "", "tool_calls": [
                {"function": {"name": "get_current_weather", "arguments": {"location": "Paris"}}},
                {"function": {"name": "get_current_weather", "arguments": {"location": "Boston"}}}
            ]}),
            "stop",
        ),
    }
}

pub fn anthropic(content: &Value, stop_reason: &str) -> Value {
    json!({
        "id": "msg_01XFDUDYJgAACzvnptvVoYEL", "type": "message", "role": "assistant", "content": content,
        "model": "claude-sonnet-4-5-20250929", "stop_reason": stop_reason, "stop_sequence": null,
        "usage": {
            "input_tokens": 10, "cache_creation_input_tokens": 2, "cache_read_input_tokens": null, "output_tokens": 6,
            "service_tier": "standard"
        }
    })
}

pub fn openai(message: &Value, finish_reason: &str) -> Value {
    json!({
        "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT", "object": "chat.completion", "created": 1_741_569_952,
        "model": "gpt-4.1-2025-04-14",
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason}],
        "usage": {
            "prompt_tokens": 12, "completion_tokens": 6, "total_tokens": 18,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0}
        },
        "service_tier": "default"
    })
}

pub fn ollama(message: &Value, done_reason: &str) -> Value {
    json!({
        "model": "llama3.2", "created_at": "2023-12-12T14:13:43.416799Z", "message": message, "done_reason": done_reason,
        "done": true, "total_duration": 5_191_566_416_u64, "load_duration": 2_154_458, "prompt_eval_count": 12,
        "prompt_eval_duration": 383_809_000, "eval_count": 6, "eval_duration": 4_799_921_000_u64
    })
}
