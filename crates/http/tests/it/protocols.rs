//! Conversations: each protocol is spoken exactly, and each reply understood.

use kapsa_model::{
    ChatReply, ChatRequest, Message, ModelErrorKind, Usage, block_on, complete_json,
};
use kapsa_testkit::stub::{Reply, Stub};
use serde_json::{Value, json};

use crate::samples::{
    KEY, PROVIDERS, answer, anthropic, calls, model, model_with, ollama, openai, schema, user,
    weather, weather_call,
};

/// Everything that a request can hold, but tools.
fn full() -> ChatRequest {
    ChatRequest {
        system: "Be brief.".to_owned(),
        messages: vec![
            Message::User("Hello!".to_owned()),
            Message::Assistant { text: "Hi.".to_owned(), tool_calls: Vec::new() },
            Message::User("How are you? é\n\"".to_owned()),
        ],
        temperature: Some(0.2),
        tokens_max: Some(100),
        ..ChatRequest::default()
    }
}

/// What the stub is asked first, and the reply to it.
fn asked(
    provider: &str,
    request: &ChatRequest,
    body: Value,
) -> (kapsa_testkit::stub::Request, ChatReply) {
    let stub = Stub::start(move |_, _| Reply::json(&body));
    let model = model(&stub, provider);
    let reply = block_on(model.complete(request)).unwrap();
    (stub.requests()[0].clone(), reply)
}

#[test]
fn anthropic_is_asked_as_it_wants() {
    let (request, reply) = asked("anthropic", &full(), answer("anthropic", "Fine."));
    assert_eq!(request.path, "/v1/messages");
    assert_eq!(request.header("x-api-key"), Some(KEY));
    assert_eq!(request.header("authorization"), None);
    assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    let expected = json!({
        "model": "claude-sonnet-4-5", "max_tokens": 100, "system": "Be brief.", "temperature": 0.2,
        "messages": [
            {"role": "user", "content": "Hello!"},
            {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]},
            {"role": "user", "content": "How are you? é\n\""}
        ]
    });
    assert_eq!(request.body, expected);
    let usage = Usage { tokens_in: 12, tokens_out: 6 };
    let model = "claude-sonnet-4-5-20250929".to_owned();
    assert_eq!(reply, ChatReply { text: "Fine.".to_owned(), tool_calls: Vec::new(), usage, model });

    let (request, _) = asked("anthropic", &user("x"), answer("anthropic", "y"));
    let expected = json!({"model": "claude-sonnet-4-5", "max_tokens": 8192, "messages": [{"role": "user", "content": "x"}]});
    assert_eq!(
        request.body, expected,
        "a limit is always sent, and nothing else that was not asked for"
    );
}

#[test]
fn openai_is_asked_as_it_wants() {
    let (request, reply) = asked("openai", &full(), answer("openai", "Fine."));
    assert_eq!(request.path, "/v1/chat/completions");
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let expected = json!({
        "model": "gpt-4.1", "max_tokens": 100, "temperature": 0.2,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello!"},
            {"role": "assistant", "content": "Hi."},
            {"role": "user", "content": "How are you? é\n\""}
        ]
    });
    assert_eq!(request.body, expected);
    let usage = Usage { tokens_in: 12, tokens_out: 6 };
    assert_eq!(
        reply,
        ChatReply {
            text: "Fine.".to_owned(),
            tool_calls: Vec::new(),
            usage,
            model: "gpt-4.1-2025-04-14".to_owned()
        }
    );

    let (request, _) = asked("openai", &user("x"), answer("openai", "y"));
    assert_eq!(
        request.body,
        json!({"model": "gpt-4.1", "messages": [{"role": "user", "content": "x"}]})
    );
}

#[test]
fn ollama_is_asked_as_it_wants() {
    let (request, reply) = asked("ollama", &full(), answer("ollama", "Fine."));
    assert_eq!(request.path, "/api/chat");
    let expected = json!({
        "model": "llama3.2", "stream": false, "options": {"temperature": 0.2, "num_predict": 100},
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello!"},
            {"role": "assistant", "content": "Hi."},
            {"role": "user", "content": "How are you? é\n\""}
        ]
    });
    assert_eq!(request.body, expected);
    let usage = Usage { tokens_in: 12, tokens_out: 6 };
    assert_eq!(
        reply,
        ChatReply {
            text: "Fine.".to_owned(),
            tool_calls: Vec::new(),
            usage,
            model: "llama3.2".to_owned()
        }
    );

    let stub = Stub::start(|_, _| Reply::json(&answer("ollama", "y")));
    let keyless =
        model_with(&stub, "ollama", |settings| kapsa_http::Settings { key: None, ..settings });
    block_on(keyless.complete(&user("x"))).unwrap();
    let request = &stub.requests()[0];
    assert_eq!(
        request.body,
        json!({"model": "llama3.2", "stream": false, "messages": [{"role": "user", "content": "x"}]})
    );
    assert_eq!(request.header("authorization"), None);
}

/// A question, the calls that answer it, their results, and the answer to those: what the stub was
/// asked the second time.
fn round_trip(provider: &'static str, ids: [&str; 2], text: &str) -> Value {
    let stub = Stub::start(move |number, _| match number {
        0 => Reply::json(&calls(provider)),
        _ => Reply::json(&answer(provider, "Sunny in Paris.")),
    });
    let model = model(&stub, provider);
    let mut request = ChatRequest { tools: vec![weather()], ..user("What is the weather?") };
    let first = block_on(model.complete(&request)).unwrap();
    assert_eq!(first.text, text);
    assert_eq!(first.tool_calls, [weather_call(ids[0], "Paris"), weather_call(ids[1], "Boston")]);
    let result = |id: &str, content: &str, is_error| Message::ToolResult {
        id: id.to_owned(),
        content: content.to_owned(),
        is_error,
    };
    let results = [result(ids[0], "sunny", false), result(ids[1], "no such place", true)];
    request.messages.push(Message::Assistant { text: first.text, tool_calls: first.tool_calls });
    request.messages.extend(results);
    let second = block_on(model.complete(&request)).unwrap();
    assert_eq!((second.text.as_str(), second.tool_calls.len()), ("Sunny in Paris.", 0));
    stub.requests()[1].body.clone()
}

fn function() -> Value {
    let described = json!({
        "name": "get_current_weather", "description": "Get the current weather for a location", "parameters": schema()
    });
    json!({"type": "function", "function": described})
}

#[test]
fn anthropic_calls_tools_and_hears_of_them() {
    let ids = ["toolu_01A09q90qw90lq917835lq9", "toolu_01T1x1fJ34qAmk2tNTrN7Up6"];
    let body = round_trip("anthropic", ids, "I'll check the current weather for you.");
    let expected = json!({
        "model": "claude-sonnet-4-5", "max_tokens": 8192,
        "tools": [{
            "name": "get_current_weather", "description": "Get the current weather for a location", "input_schema": schema()
        }],
        "messages": [
            {"role": "user", "content": "What is the weather?"},
            {"role": "assistant", "content": [
                {"type": "text", "text": "I'll check the current weather for you."},
                {"type": "tool_use", "id": ids[0], "name": "get_current_weather", "input": {"location": "Paris"}},
                {"type": "tool_use", "id": ids[1], "name": "get_current_weather", "input": {"location": "Boston"}}
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": ids[0], "content": "sunny"},
                {"type": "tool_result", "tool_use_id": ids[1], "content": "no such place", "is_error": true}
            ]}
        ]
    });
    assert_eq!(body, expected);
}

#[test]
fn openai_calls_tools_and_hears_of_them() {
    let body = round_trip("openai", ["call_abc123", "call_abc124"], "");
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "get_current_weather", "arguments": arguments}});
    let expected = json!({
        "model": "gpt-4.1", "tools": [function()],
        "messages": [
            {"role": "user", "content": "What is the weather?"},
            {"role": "assistant", "content": null, "tool_calls": [
                call("call_abc123", "{\"location\":\"Paris\"}"), call("call_abc124", "{\"location\":\"Boston\"}")
            ]},
            {"role": "tool", "tool_call_id": "call_abc123", "content": "sunny"},
            {"role": "tool", "tool_call_id": "call_abc124", "content": "Error: no such place"}
        ]
    });
    assert_eq!(body, expected);
}

#[test]
fn ollama_calls_tools_and_hears_of_them() {
    let body = round_trip("ollama", ["call_1", "call_2"], "");
    let call = |location: &str| json!({"function": {"name": "get_current_weather", "arguments": {"location": location}}});
    let expected = json!({
        "model": "llama3.2", "stream": false, "tools": [function()],
        "messages": [
            {"role": "user", "content": "What is the weather?"},
            {"role": "assistant", "content": "", "tool_calls": [call("Paris"), call("Boston")]},
            {"role": "tool", "tool_name": "get_current_weather", "content": "sunny"},
            {"role": "tool", "tool_name": "get_current_weather", "content": "Error: no such place"}
        ]
    });
    assert_eq!(body, expected);
}

#[test]
fn calls_of_ollama_have_ids_of_their_own_in_a_conversation() {
    let stub = Stub::start(|_, _| Reply::json(&calls("ollama")));
    let model = model(&stub, "ollama");
    let said = Message::Assistant {
        text: String::new(),
        tool_calls: vec![weather_call("call_1", "Rome"), weather_call("x", "Oslo")],
    };
    let request = ChatRequest { messages: vec![said], ..ChatRequest::default() };
    let ids: Vec<String> = block_on(model.complete(&request))
        .unwrap()
        .tool_calls
        .into_iter()
        .map(|call| call.id)
        .collect();
    assert_eq!(ids, ["call_3", "call_4"]);
}

#[test]
fn anthropic_gets_no_empty_turn_and_results_before_words() {
    let result = |id: &str| Message::ToolResult {
        id: id.to_owned(),
        content: "r".to_owned(),
        is_error: false,
    };
    let messages = vec![
        Message::User("a".to_owned()),
        Message::Assistant { text: String::new(), tool_calls: Vec::new() },
        result("1"),
        Message::User("b".to_owned()),
        result("2"),
    ];
    let (request, _) = asked(
        "anthropic",
        &ChatRequest { messages, ..ChatRequest::default() },
        answer("anthropic", "y"),
    );
    let result = |id: &str| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "r"}]});
    let expected = json!([{"role": "user", "content": "a"}, result("1"), {"role": "user", "content": "b"}, result("2")]);
    assert_eq!(request.body["messages"], expected);
}

#[test]
fn unknown_parts_of_a_reply_are_left_out() {
    let content = json!([{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
    let (_, reply) = asked("anthropic", &user("x"), anthropic(&content, "end_turn"));
    assert_eq!(reply.text, "ab");
    let (_, reply) = asked(
        "ollama",
        &user("x"),
        ollama(&json!({"role": "assistant", "thinking": "hm", "content": "a"}), "stop"),
    );
    assert_eq!(reply.text, "a");
}

#[test]
fn servers_that_speak_nearly_as_openai_does_are_understood() {
    let call = |arguments: Value| json!({"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}});
    let arguments = [json!({"a": 1}), json!(""), Value::Null, json!("{\"a\": 1}")];
    let message = json!({"role": "assistant", "tool_calls": arguments.map(call)});
    let mut body = openai(&message, "stop");
    body["usage"] = Value::Null;
    body.as_object_mut().unwrap().remove("model");
    let (_, reply) = asked("openai", &user("x"), body);
    let arguments: Vec<Value> = reply.tool_calls.into_iter().map(|call| call.arguments).collect();
    assert_eq!(arguments, [json!({"a": 1}), json!({}), json!({}), json!({"a": 1})]);
    assert_eq!((reply.usage, reply.model.as_str()), (Usage::default(), ""), "nothing is guessed");
}

#[test]
fn json_in_a_fence_is_found_and_other_words_are_repaired() {
    for (provider, _, _) in PROVIDERS {
        let stub = Stub::start(move |number, _| match number {
            0 => Reply::json(&answer(provider, "Here it is: port = 5433")),
            _ => Reply::json(&answer(provider, "```json\n{\"port\": 5433}\n```")),
        });
        let model = model(&stub, provider);
        let (value, usage) =
            block_on(complete_json(model.as_ref(), &user("Which port? Answer in JSON."))).unwrap();
        assert_eq!(
            (value, usage),
            (json!({"port": 5433}), Usage { tokens_in: 24, tokens_out: 12 })
        );
        let requests = stub.requests();
        assert_eq!(requests.len(), 2);
        let asked = requests[1].body["messages"][0]["content"].as_str().unwrap();
        assert!(
            asked.starts_with("Which port? Answer in JSON.\n\n")
                && asked.contains("\"Here it is: port = 5433\""),
            "{asked}"
        );
    }
}

#[test]
fn json_that_does_not_come_is_given_up() {
    let stub = Stub::start(|_, _| Reply::json(&answer("openai", "I will not.")));
    let error =
        block_on(complete_json(model(&stub, "openai").as_ref(), &user("JSON!"))).unwrap_err();
    assert_eq!(
        (error.kind, error.usage),
        (ModelErrorKind::BadReply, Usage { tokens_in: 24, tokens_out: 12 })
    );
    assert_eq!(stub.requests().len(), 2);
}
