//! The server of the conformance suite for MCP servers: the tools, resources and prompts that its
//! scenarios ask for, behind the same HTTP as the memory.
//!
//! `cargo run -p kapsa-server --example conformance -- 127.0.0.1:8788`, or
//! `cargo xtask conformance`, which runs the suite against it and against the program.

#![expect(deprecated, reason = "the suite still tests logging, sampling and roots")]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::ServerHandler;
use rmcp::model::*;
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A red pixel, as PNG.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// No sound, as WAV.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
/// What the states of this server begin with, so that others are not taken for them.
const STATE: &str = "conformance/";
/// Between two notifications of one call.
const PAUSE: Duration = Duration::from_millis(50);

/// The protocol's own types are read from the JSON in which the suite describes them.
fn typed<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("what the suite describes")
}

#[derive(Clone, Default)]
struct Fixture {
    watched: Arc<Mutex<BTreeSet<String>>>,
    changes: Arc<tokio::sync::Notify>,
}

/// Tools without arguments, and what each answers.
fn simple(name: &str) -> Option<Value> {
    let text = |text: &str| json!({ "type": "text", "text": text });
    let image = json!({ "type": "image", "data": PNG, "mimeType": "image/png" });
    let content = match name {
        "test_simple_text" => json!([text("This is a simple text response for testing.")]),
        "test_image_content" => json!([image]),
        "test_audio_content" => json!([{ "type": "audio", "data": WAV, "mimeType": "audio/wav" }]),
        "test_embedded_resource" => json!([{ "type": "resource", "resource": {
            "uri": "test://embedded-resource",
            "mimeType": "text/plain",
            "text": "This is an embedded resource content.",
        }}]),
        "test_multiple_content_types" => {
            let resource = json!({ "type": "resource", "resource": {
                "uri": "test://mixed-content-resource",
                "mimeType": "application/json",
                "text": "{\"test\":\"data\",\"value\":123}",
            }});
            json!([text("Multiple content types test:"), image, resource])
        }
        "json_schema_2020_12_tool" => json!([text("JSON Schema 2020-12")]),
        "test_custom_headers" => json!([text("headers")]),
        "test_reconnection" => json!([text("Reconnection test completed")]),
        "test_streaming_elicitation" => json!([text("streamed")]),
        _ => return None,
    };
    Some(json!({ "resultType": "complete", "content": content, "isError": false }))
}

/// Questions to the user or the client, by the tool that asks them first.
fn questions(name: &str) -> Option<(Value, Option<&'static str>)> {
    let form = |message: &str, field: &str, kind: &str| {
        json!({ "method": "elicitation/create", "params": {
            "message": message,
            "requestedSchema": {
                "type": "object",
                "properties": { field: { "type": kind } },
                "required": [field],
            },
        }})
    };
    let sampling = |text: &str, tokens: u64| {
        json!({ "method": "sampling/createMessage", "params": {
            "messages": [{ "role": "user", "content": { "type": "text", "text": text } }],
            "maxTokens": tokens,
        }})
    };
    let roots = json!({ "method": "roots/list", "params": {} });
    Some(match name {
        "test_input_required_result_elicitation" => {
            (json!({ "user_name": form("What is your name?", "name", "string") }), None)
        }
        "test_input_required_result_sampling" => {
            (json!({ "capital_question": sampling("What is the capital of France?", 100) }), None)
        }
        "test_input_required_result_list_roots" => (json!({ "client_roots": roots }), None),
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => {
            (json!({ "confirm": form("Please confirm", "ok", "boolean") }), Some("one"))
        }
        "test_input_required_result_multiple_inputs" => (
            json!({
                "user_name": form("What is your name?", "name", "string"),
                "greeting": sampling("Generate a greeting", 50),
                "client_roots": roots,
            }),
            Some("one"),
        ),
        "test_input_required_result_multi_round" => {
            (json!({ "step1": form("Step 1: What is your name?", "name", "string") }), Some("one"))
        }
        "test_input_required_result_capabilities" => (
            json!({
                "user_name": form("What is your name?", "name", "string"),
                "greeting": sampling("Generate a greeting", 50),
            }),
            None,
        ),
        "test_input_required_result_prompt" => (
            {
                let asked = form("What context should the prompt use?", "context", "string");
                json!({ "user_context": asked })
            },
            None,
        ),
        _ => return None,
    })
}

/// What a call of several rounds answers: the next questions, or the text that ends it.
fn round(
    name: &str,
    responses: Option<&InputResponses>,
    state: Option<&str>,
    capabilities: Option<&ClientCapabilities>,
) -> Option<Result<Result<String, InputRequiredResult>, ErrorData>> {
    let (mut asked, mut next) = questions(name)?;
    if let Some(state) = state
        && ![format!("{STATE}one"), format!("{STATE}two")].contains(&state.to_string())
    {
        return Some(Err(ErrorData::invalid_params("requestState is not this server's", None)));
    }
    let second = json!({ "step2": { "method": "elicitation/create", "params": {
        "message": "Step 2: What is your favorite color?",
        "requestedSchema": {
            "type": "object",
            "properties": { "color": { "type": "string" } },
            "required": ["color"],
        },
    }}});
    let is_second = name.ends_with("multi_round") && state == Some(&format!("{STATE}two"));
    if is_second {
        (asked, next) = (second.clone(), Some("two"));
    }
    if name.ends_with("capabilities")
        && let Some(asked) = asked.as_object_mut()
    {
        let may = |method: &str| match method {
            "elicitation/create" => capabilities.is_some_and(|all| all.elicitation.is_some()),
            "sampling/createMessage" => capabilities.is_some_and(|all| all.sampling.is_some()),
            _ => true,
        };
        asked.retain(|_, question| may(question["method"].as_str().unwrap_or_default()));
    }
    let keys: Vec<String> =
        asked.as_object().map(|asked| asked.keys().cloned().collect()).unwrap_or_default();
    let answered =
        |key: &String| responses.and_then(|all| all.get(key)).filter(|one| one.is_object());
    let is_whole = responses.is_some() && keys.iter().all(|key| answered(key).is_some());
    if !is_whole {
        let required = json!({
            "resultType": "input_required",
            "inputRequests": asked,
            "requestState": next.map(|next| format!("{STATE}{next}")),
        });
        return Some(Ok(Err(typed(required))));
    }
    if name.ends_with("multi_round") && !is_second {
        let required = json!({
            "resultType": "input_required",
            "inputRequests": second,
            "requestState": format!("{STATE}two"),
        });
        return Some(Ok(Err(typed(required))));
    }
    let said: Vec<String> =
        keys.iter().filter_map(answered).map(|answer| answer.to_string()).collect();
    let name_of = responses.and_then(|all| all.get("user_name")?["content"]["name"].as_str());
    Some(Ok(Ok(match name_of {
        Some(user) if name.ends_with("result_elicitation") => format!("Hello, {user}!"),
        _ => format!("state-ok {}", said.join(" ")),
    })))
}

fn input_schema(name: &str) -> Value {
    match name {
        "test_sampling" => {
            json!({ "type": "object", "properties": { "prompt": { "type": "string" } }, "required": ["prompt"] })
        }
        "test_elicitation" => {
            json!({ "type": "object", "properties": { "message": { "type": "string" } }, "required": ["message"] })
        }
        "test_custom_headers" => json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
        }}),
        "json_schema_2020_12_tool" => json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": { "address": { "$anchor": "addressDef", "type": "object", "properties": {
                "street": { "type": "string" },
                "city": { "type": "string" },
            }}},
            "properties": {
                "name": { "type": "string" },
                "address": { "$ref": "#/$defs/address" },
                "contactMethod": { "type": "string", "enum": ["phone", "email"] },
                "phone": { "type": "string" },
                "email": { "type": "string" },
            },
            "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
            "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
            "then": { "required": ["phone"] },
            "else": { "required": ["email"] },
            "additionalProperties": false,
        }),
        _ => json!({ "type": "object", "properties": {} }),
    }
}

const TOOLS: [&str; 30] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_error_handling",
    "test_tool_with_progress",
    "test_sampling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "json_schema_2020_12_tool",
    "test_custom_headers",
    "test_reconnection",
    "test_streaming_elicitation",
    "test_missing_capability",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_logging_tool",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
    "test_input_required_result_unused",
    "test_client_elicitation_defaults",
];

fn text(text: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

impl Fixture {
    async fn logged(&self, context: &RequestContext<RoleServer>) {
        for said in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
            let told = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(said));
            // May be dropped: the suite says what it missed.
            let _ = context.peer.notify_logging_message(told).await;
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn stepped(&self, context: &RequestContext<RoleServer>) {
        for step in [0.0, 50.0, 100.0] {
            if let Some(token) = context.meta.get_progress_token() {
                let told = ProgressNotificationParam::new(token, step).with_total(100.0);
                // May be dropped: the suite says what it missed.
                let _ = context.peer.notify_progress(told).await;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn elicited(
        &self,
        context: &RequestContext<RoleServer>,
        begin: &str,
        params: Value,
    ) -> Result<CallToolResponse, ErrorData> {
        let answer = context.peer.create_elicitation(typed(params)).await;
        let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let action = serde_json::to_value(&answer.action).unwrap_or_default();
        let content = answer.content.unwrap_or_default();
        Ok(text(format!(
            "{begin}: action={}, content={content}",
            action.as_str().unwrap_or_default()
        )))
    }
}

fn form(message: &str, properties: Value, required: Value) -> Value {
    json!({
        "mode": "form",
        "message": message,
        "requestedSchema": { "type": "object", "properties": properties, "required": required },
    })
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = json!({
            "tools": { "listChanged": true },
            "resources": { "subscribe": true, "listChanged": true },
            "prompts": { "listChanged": true },
            "completions": {},
            "logging": {},
        });
        ServerConfig::new(typed(capabilities))
            .with_server_info(Implementation::new("kapsa-conformance", env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools: Vec<Tool> = TOOLS
            .iter()
            .map(|name| {
                typed(json!({
                    "name": name,
                    "description": format!("Does what the scenario of {name} asks for"),
                    "inputSchema": input_schema(name),
                }))
            })
            .collect();
        Ok(ListToolsResult::with_all_items(tools)
            .with_ttl_ms(1000)
            .with_cache_scope(CacheScope::Public))
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each tool of the suite")]
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.to_string();
        let argument = |name: &str| {
            let arguments = request.arguments.as_ref()?;
            Some(arguments.get(name)?.as_str()?.to_string())
        };
        if let Some(answer) = simple(&name) {
            return Ok(CallToolResponse::Complete(typed(answer)));
        }
        let capabilities = context.client_capabilities();
        if let Some(round) = round(
            &name,
            request.input_responses.as_ref(),
            request.request_state.as_deref(),
            capabilities.as_ref(),
        ) {
            return round.map(|round| round.map_or_else(CallToolResponse::from, text));
        }
        match name.as_str() {
            "test_tool_with_logging" => {
                self.logged(&context).await;
                Ok(text("Tool with logging executed"))
            }
            "test_logging_tool" => Ok(text("nothing is logged that was not asked for")),
            "test_tool_with_progress" => {
                self.stepped(&context).await;
                Ok(text("Tool with progress executed"))
            }
            "test_error_handling" => {
                let said = "This tool intentionally returns an error for testing";
                Ok(CallToolResult::error(vec![ContentBlock::text(said)]).into())
            }
            "test_missing_capability" => {
                if capabilities.is_some_and(|all| all.sampling.is_some()) {
                    return Ok(text("the capability is there"));
                }
                let needed: ClientCapabilities = typed(json!({ "sampling": {} }));
                Err(ErrorData::missing_required_client_capability(needed))
            }
            "test_trigger_tool_change" | "test_trigger_prompt_change" => {
                self.changes.notify_waiters();
                Ok(text("changed"))
            }
            "test_sampling" => {
                let asked = json!({
                    "messages": [{ "role": "user", "content": {
                        "type": "text",
                        "text": argument("prompt").unwrap_or_default(),
                    }}],
                    "maxTokens": 100,
                });
                let answer = context.peer.create_message(typed(asked)).await;
                let answer =
                    answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
                let said = serde_json::to_value(&answer).unwrap_or_default();
                let said = said["content"]["text"].as_str().unwrap_or_default().to_string();
                Ok(text(format!("LLM response: {said}")))
            }
            "test_elicitation" => {
                let message = argument("message").unwrap_or_default();
                let properties = json!({
                    "username": { "type": "string", "description": "User's response" },
                    "email": { "type": "string", "description": "User's email address" },
                });
                let asked = form(&message, properties, json!(["username", "email"]));
                self.elicited(&context, "User response", asked).await
            }
            "test_elicitation_sep1034_defaults" | "test_client_elicitation_defaults" => {
                let properties = json!({
                    "name": { "type": "string", "default": "John Doe" },
                    "age": { "type": "integer", "default": 30 },
                    "score": { "type": "number", "default": 95.5 },
                    "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
                    "verified": { "type": "boolean", "default": true },
                });
                let asked = form("Please confirm the defaults", properties, json!([]));
                self.elicited(&context, "Elicitation completed", asked).await
            }
            "test_elicitation_sep1330_enums" => {
                let titled = |names: [(&str, &str); 3]| {
                    names.map(|(value, title)| json!({ "const": value, "title": title }))
                };
                let options = titled([
                    ("value1", "First Option"),
                    ("value2", "Second Option"),
                    ("value3", "Third Option"),
                ]);
                let choices = titled([
                    ("value1", "First Choice"),
                    ("value2", "Second Choice"),
                    ("value3", "Third Choice"),
                ]);
                let properties = json!({
                    "untitledSingle": {
                        "type": "string",
                        "enum": ["option1", "option2", "option3"],
                    },
                    "titledSingle": { "type": "string", "oneOf": options },
                    "legacyEnum": {
                        "type": "string",
                        "enum": ["opt1", "opt2", "opt3"],
                        "enumNames": ["Option One", "Option Two", "Option Three"],
                    },
                    "untitledMulti": { "type": "array", "items": { "type": "string", "enum": ["option1", "option2", "option3"] } },
                    "titledMulti": { "type": "array", "items": { "anyOf": choices } },
                });
                let asked = form("Please choose", properties, json!([]));
                self.elicited(&context, "Elicitation completed", asked).await
            }
            _ => Err(ErrorData::invalid_params(format!("there is no tool {name}"), None)),
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = json!([
            { "uri": "test://static-text", "name": "static-text", "description": "A text", "mimeType": "text/plain" },
            { "uri": "test://static-binary", "name": "static-binary", "description": "A pixel", "mimeType": "image/png" },
            { "uri": "test://watched-resource", "name": "watched-resource", "description": "A text to watch", "mimeType": "text/plain" },
        ]);
        let page = ListResourcesResult::with_all_items(typed(resources));
        Ok(page.with_ttl_ms(1000).with_cache_scope(CacheScope::Private))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = json!([{
            "uriTemplate": "test://template/{id}/data",
            "name": "template",
            "description": "Data of an id",
            "mimeType": "application/json",
        }]);
        let page = ListResourceTemplatesResult::with_all_items(typed(templates));
        Ok(page.with_ttl_ms(1000).with_cache_scope(CacheScope::Public))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.as_str();
        let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        let content = match (uri, id) {
            ("test://static-text", _) => {
                json!({ "uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource." })
            }
            ("test://watched-resource", _) => {
                json!({ "uri": uri, "mimeType": "text/plain", "text": "Watched." })
            }
            ("test://static-binary", _) => {
                json!({ "uri": uri, "mimeType": "image/png", "blob": PNG })
            }
            (_, Some(id)) => {
                let data =
                    json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
                json!({ "uri": uri, "mimeType": "application/json", "text": data.to_string() })
            }
            _ => {
                let data = Some(json!({ "uri": uri }));
                return Err(ErrorData::resource_not_found("Resource not found", data));
            }
        };
        let result = ReadResourceResult::new(vec![typed(content)]);
        Ok(result.with_ttl_ms(1000).with_cache_scope(CacheScope::Private).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.watched.lock().expect("no thread panics").insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.watched.lock().expect("no thread panics").remove(&request.uri);
        Ok(())
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = json!([
            { "name": "test_simple_prompt", "description": "A prompt" },
            { "name": "test_prompt_with_arguments", "description": "A prompt with arguments", "arguments": [
                { "name": "arg1", "description": "The first", "required": true },
                { "name": "arg2", "description": "The second", "required": true },
            ]},
            { "name": "test_prompt_with_embedded_resource", "description": "A prompt with a resource", "arguments": [
                { "name": "resourceUri", "description": "The resource", "required": true },
            ]},
            { "name": "test_prompt_with_image", "description": "A prompt with an image" },
            { "name": "test_input_required_result_prompt", "description": "It asks back" },
        ]);
        let page = ListPromptsResult::with_all_items(typed(prompts));
        Ok(page.with_ttl_ms(1000).with_cache_scope(CacheScope::Public))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let argument = |name: &str| {
            let arguments = request.arguments.as_ref();
            arguments.and_then(|all| all.get(name)?.as_str()).unwrap_or_default().to_string()
        };
        let said =
            |text: &str| json!({ "role": "user", "content": { "type": "text", "text": text } });
        let (responses, state) =
            (request.input_responses.as_ref(), request.request_state.as_deref());
        if request.name == "test_input_required_result_prompt"
            && let Some(round) = round(&request.name, responses, state, None)
        {
            return round.map(|round| match round {
                Ok(text) => GetPromptResult::new(typed(json!([said(&text)]))).into(),
                Err(required) => required.into(),
            });
        }
        let messages = match request.name.as_str() {
            "test_simple_prompt" => json!([said("This is a simple prompt for testing.")]),
            "test_prompt_with_arguments" => {
                let (one, two) = (argument("arg1"), argument("arg2"));
                json!([said(&format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))])
            }
            "test_prompt_with_embedded_resource" => json!([
                { "role": "user", "content": { "type": "resource", "resource": {
                    "uri": argument("resourceUri"),
                    "mimeType": "text/plain",
                    "text": "Embedded resource content for testing.",
                }}},
                said("Please process the embedded resource above."),
            ]),
            "test_prompt_with_image" => json!([
                { "role": "user", "content": {
                    "type": "image",
                    "data": PNG,
                    "mimeType": "image/png",
                }},
                said("Please analyze the image above."),
            ]),
            other => {
                return Err(ErrorData::invalid_params(format!("there is no prompt {other}"), None));
            }
        };
        Ok(GetPromptResult::new(typed(messages)).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let values = ["paris", "park", "party"].into_iter().map(str::to_string);
        let values: Vec<String> =
            values.filter(|value| value.starts_with(&request.argument.value)).collect();
        let info = CompletionInfo::with_all_values(values);
        Ok(CompleteResult::new(info.map_err(|error| ErrorData::internal_error(error, None))?))
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {}

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.changes.notified() => {
                    // May be dropped: only what was asked for is sent.
                    let _ = context.sink().notify_tool_list_changed().await;
                    let _ = context.sink().notify_prompt_list_changed().await;
                }
            }
        }
    }
}

fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8788".to_string());
    let options = kapsa_server::http::Options {
        address: address.parse().map_err(std::io::Error::other)?,
        token: None,
        hosts: Vec::new(),
        origins: Vec::new(),
        tls: None,
    };
    let fixture = Fixture::default();
    kapsa_server::http::serve(
        move || fixture.clone(),
        &options,
        |address| {
            eprintln!("serving http://{address}{}", kapsa_server::http::PATH);
            Ok(())
        },
    )
}
