//! A model that answers from a script, for examples and tests: the same requests get the same
//! replies.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use super::{
    BoxFuture, ChatReply, ChatRequest, LanguageModel, Message, ModelError, ModelErrorKind,
    ToolCall, Usage,
};

/// Answers by the first rule that matches, else with the next reply of a queue. Records each
/// request.
///
/// A rule matches when its text occurs in the request: in the system prompt, a message, or the name
/// or arguments of a tool call. A conversation grows, so rules for later turns come first.
#[derive(Debug, Default)]
pub struct ScriptedModel {
    rules: Vec<(String, ChatReply)>,
    queue: Mutex<VecDeque<ChatReply>>,
    requests: Mutex<Vec<ChatRequest>>,
}

impl ScriptedModel {
    /// A model without replies.
    #[must_use]
    pub fn new() -> ScriptedModel {
        ScriptedModel::default()
    }

    /// Answers with `reply` when the request contains `contained` and no earlier rule matches.
    #[must_use]
    pub fn rule(mut self, contained: impl Into<String>, reply: ChatReply) -> ScriptedModel {
        self.rules.push((contained.into(), reply));
        self
    }

    /// Answers once with `reply`, after the replies already queued.
    #[must_use]
    pub fn then(self, reply: ChatReply) -> ScriptedModel {
        lock(&self.queue).push_back(reply);
        self
    }

    /// A script from JSON: the lists `rules` and `replies`, each optional. The items of both are
    /// replies; a rule also has `contains`.
    ///
    /// ```
    /// # use kapsa_model::ScriptedModel;
    /// let script = serde_json::json!({
    ///     "rules": [
    ///         {"contains": "port 5433", "text": "It listens on port 5433."},
    ///         {"contains": "which port",
    ///          "tool_calls": [{"id": "1", "name": "find", "arguments": {"query": "port"}}]}
    ///     ],
    ///     "replies": [{"text": "I do not know.", "usage": {"tokens_in": 12, "tokens_out": 4}}]
    /// });
    /// let model = ScriptedModel::from_json(&script)?;
    /// # Ok::<(), kapsa_model::ModelError>(())
    /// ```
    ///
    /// # Errors
    /// [`ModelErrorKind::NotConfigured`] when the script has another shape or an unknown field.
    pub fn from_json(script: &Value) -> Result<ScriptedModel, ModelError> {
        let fields = object(script, "the script", &["rules", "replies"])?;
        let mut model = ScriptedModel::new();
        for (number, rule) in list(fields, "rules", "the script")?.iter().enumerate() {
            let place = format!("rule {}", number + 1);
            let known = object(rule, &place, &["contains", "text", "tool_calls", "usage"])?;
            let contained = known.get("contains").and_then(Value::as_str);
            let contained =
                contained.ok_or_else(|| wrong(format!("{place} has no string `contains`")))?;
            model = model.rule(contained, reply(known, &place)?);
        }
        for (number, queued) in list(fields, "replies", "the script")?.iter().enumerate() {
            let place = format!("reply {}", number + 1);
            model = model
                .then(reply(object(queued, &place, &["text", "tool_calls", "usage"])?, &place)?);
        }
        Ok(model)
    }

    /// The requests so far, oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<ChatRequest> {
        lock(&self.requests).clone()
    }

    fn answer(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        lock(&self.requests).push(request.clone());
        let rule = self.rules.iter().find(|(contained, _)| is_in(contained, request));
        let reply = rule.map(|(_, reply)| reply.clone()).or_else(|| lock(&self.queue).pop_front());
        let mut reply =
            reply.ok_or_else(|| wrong("the script has no reply for this request".to_owned()))?;
        if reply.model.is_empty() {
            reply.model = self.name().to_owned();
        }
        Ok(reply)
    }
}

impl LanguageModel for ScriptedModel {
    fn name(&self) -> &str {
        "scripted"
    }

    fn complete<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(async move { self.answer(request) })
    }
}

/// A thread that panicked left nothing half done: each change is one call.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_in(contained: &str, request: &ChatRequest) -> bool {
    let in_message = |message: &Message| match message {
        Message::User(text) | Message::ToolResult { content: text, .. } => text.contains(contained),
        Message::Assistant { text, tool_calls } => {
            let in_call = |call: &ToolCall| {
                call.name.contains(contained) || call.arguments.to_string().contains(contained)
            };
            text.contains(contained) || tool_calls.iter().any(in_call)
        }
    };
    request.system.contains(contained) || request.messages.iter().any(in_message)
}

fn reply(fields: &Map<String, Value>, place: &str) -> Result<ChatReply, ModelError> {
    let text = match fields.get("text") {
        None => "",
        Some(text) => {
            text.as_str().ok_or_else(|| wrong(format!("`text` of {place} is not a string")))?
        }
    };
    let calls = list(fields, "tool_calls", place)?;
    let tool_calls = calls.iter().map(|call| tool_call(call, place)).collect::<Result<_, _>>()?;
    let usage = match fields.get("usage") {
        None => Usage::default(),
        Some(usage) => {
            let known =
                object(usage, &format!("`usage` of {place}"), &["tokens_in", "tokens_out"])?;
            Usage {
                tokens_in: count(known, "tokens_in", place)?,
                tokens_out: count(known, "tokens_out", place)?,
            }
        }
    };
    Ok(ChatReply { text: text.to_owned(), tool_calls, usage, model: String::new() })
}

fn tool_call(call: &Value, place: &str) -> Result<ToolCall, ModelError> {
    let known = object(call, &format!("a tool call of {place}"), &["id", "name", "arguments"])?;
    let text = |field: &str| {
        let found = known.get(field).and_then(Value::as_str).map(str::to_owned);
        found.ok_or_else(|| wrong(format!("a tool call of {place} has no string `{field}`")))
    };
    let arguments = known.get("arguments").cloned().unwrap_or_else(|| Value::Object(Map::new()));
    Ok(ToolCall { id: text("id")?, name: text("name")?, arguments })
}

fn count(fields: &Map<String, Value>, name: &str, place: &str) -> Result<u64, ModelError> {
    let found = fields.get(name).map_or(Some(0), Value::as_u64);
    found.ok_or_else(|| wrong(format!("`{name}` of {place} is not a number of tokens")))
}

fn list<'a>(
    fields: &'a Map<String, Value>,
    name: &str,
    place: &str,
) -> Result<&'a [Value], ModelError> {
    match fields.get(name) {
        None => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(wrong(format!("`{name}` of {place} is not a list"))),
    }
}

fn object<'a>(
    value: &'a Value,
    place: &str,
    known: &[&str],
) -> Result<&'a Map<String, Value>, ModelError> {
    let fields = value.as_object().ok_or_else(|| wrong(format!("{place} is not a JSON object")))?;
    match fields.keys().find(|field| !known.contains(&field.as_str())) {
        None => Ok(fields),
        Some(other) => {
            Err(wrong(format!("{place} has an unknown field `{}`", other.escape_debug())))
        }
    }
}

fn wrong(message: String) -> ModelError {
    ModelError::new(
        ModelErrorKind::NotConfigured,
        message,
        Some("a script has `rules` and `replies`; each rule has `contains`"),
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::super::block_on;
    use super::*;

    fn ask(model: &ScriptedModel, messages: Vec<Message>) -> Result<ChatReply, ModelError> {
        block_on(model.complete(&ChatRequest {
            system: "Be brief.".to_owned(),
            messages,
            ..ChatRequest::default()
        }))
    }

    fn user(text: &str) -> Message {
        Message::User(text.to_owned())
    }

    #[test]
    fn rules_come_before_the_queue() {
        let model = ScriptedModel::new()
            .then(ChatReply::text("first"))
            .then(ChatReply::text("second"))
            .rule("port", ChatReply::text("5433"))
            .rule("staging port", ChatReply::text("never"));
        let texts = ["hello", "which staging port", "hello", "a port"]
            .map(|text| ask(&model, vec![user(text)]).unwrap().text);
        assert_eq!(texts, ["first", "5433", "second", "5433"]);
        let error = ask(&model, vec![user("hello")]).unwrap_err();
        assert_eq!(
            (error.kind, error.message.as_str()),
            (ModelErrorKind::NotConfigured, "the script has no reply for this request")
        );
        assert_eq!(model.requests().len(), 5, "those that got no reply too");
        assert_eq!(model.requests()[1].messages, [user("which staging port")]);
    }

    #[test]
    fn a_script_plays_a_tool_call() {
        let model = ScriptedModel::from_json(&json!({"rules": [
            {"contains": "listens on 5433", "text": "5433", "usage": {"tokens_out": 3}},
            {"contains": "which port", "text": "Looking.", "tool_calls": [{"id": "1", "name": "find", "arguments": {"query": "port"}}]},
        ]}))
        .unwrap();
        let first = ask(&model, vec![user("which port?")]).unwrap();
        assert_eq!(
            (first.text.as_str(), first.tool_calls[0].name.as_str(), first.model.as_str()),
            ("Looking.", "find", "scripted")
        );
        assert_eq!(first.tool_calls[0].arguments, json!({"query": "port"}));
        let said = Message::Assistant { text: first.text, tool_calls: first.tool_calls };
        let result = Message::ToolResult {
            id: "1".to_owned(),
            content: "it listens on 5433".to_owned(),
            is_error: false,
        };
        let second = ask(&model, vec![user("which port?"), said, result]).unwrap();
        assert_eq!(
            (second.text.as_str(), second.usage),
            ("5433", Usage { tokens_in: 0, tokens_out: 3 })
        );
    }

    #[test]
    fn rules_look_everywhere() {
        for contained in ["Be brief", "asked", "said", "find", "{\"query\":\"x\"}", "given", ""] {
            let model = ScriptedModel::new().rule(contained, ChatReply::text("yes"));
            let call = ToolCall {
                id: "1".to_owned(),
                name: "find".to_owned(),
                arguments: json!({"query": "x"}),
            };
            let said = Message::Assistant { text: "said".to_owned(), tool_calls: vec![call] };
            let given = Message::ToolResult {
                id: "1".to_owned(),
                content: "given".to_owned(),
                is_error: true,
            };
            assert!(ask(&model, vec![user("asked"), said, given]).is_ok(), "{contained}");
        }
    }

    #[test]
    fn a_script_of_another_shape_says_where() {
        for (script, expected) in [
            (json!([]), "the script is not a JSON object"),
            (json!({"rule": []}), "the script has an unknown field `rule`"),
            (json!({"rules": {}}), "`rules` of the script is not a list"),
            (
                json!({"rules": [{"contains": "a"}, {"text": "b"}]}),
                "rule 2 has no string `contains`",
            ),
            (json!({"replies": [{"contains": "a"}]}), "reply 1 has an unknown field `contains`"),
            (json!({"replies": [{"text": 7}]}), "`text` of reply 1 is not a string"),
            (
                json!({"replies": [{"tool_calls": [{"name": "f"}]}]}),
                "a tool call of reply 1 has no string `id`",
            ),
            (
                json!({"replies": [{"usage": {"tokens_in": -1}}]}),
                "`tokens_in` of reply 1 is not a number of tokens",
            ),
            (
                json!({"replies": [{"usage": {"tokens": 1}}]}),
                "`usage` of reply 1 has an unknown field `tokens`",
            ),
        ] {
            let error = ScriptedModel::from_json(&script).unwrap_err();
            assert_eq!(
                (error.kind, error.message.as_str()),
                (ModelErrorKind::NotConfigured, expected)
            );
        }
        assert!(ScriptedModel::from_json(&json!({})).is_ok());
    }
}
