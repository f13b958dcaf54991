//! Conversations with tools: what is counted, where they stop, and what a model learns of its
//! mistakes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use kapsa_model::{
    BoxFuture, ChatReply, Message, ModelError, ScriptedModel, ToolCall, ToolSpec, Usage, block_on,
};
use kapsa_roles::{
    NodeRun, Operator, STEPS_DEFAULT, Tool, ToolError, agent_node, function_tool, llm_node,
};
use serde_json::{Map, Value, json};

use super::{Lists, reply, runtime, state};

fn calls(calls: &[(&str, Value)]) -> ChatReply {
    let call = |(at, (name, arguments)): (usize, &(&str, Value))| ToolCall {
        id: format!("call-{at}"),
        name: (*name).to_owned(),
        arguments: arguments.clone(),
    };
    ChatReply {
        tool_calls: calls.iter().enumerate().map(call).collect(),
        ..reply("Looking.", 10, 5)
    }
}

/// Ports of services, and how often it was asked.
fn ports(asked: &Arc<AtomicUsize>) -> Arc<dyn Tool> {
    let asked = Arc::clone(asked);
    function_tool("port", "The port of a service.", json!({"type": "object"}), move |arguments| {
        asked.fetch_add(1, Ordering::Relaxed);
        match arguments["service"].as_str() {
            Some("staging") => Ok("5433".into()),
            _ => Err("there is no such service".into()),
        }
    })
}

struct Run {
    run: NodeRun,
    model: Arc<ScriptedModel>,
    memory: Arc<Lists>,
    asked: usize,
    state: Value,
}

impl Run {
    /// Results of tools in the last request, each with whether it is an error.
    fn results(&self) -> Vec<(String, bool)> {
        let messages = self.model.requests().pop().unwrap().messages;
        let result = |message: Message| match message {
            Message::ToolResult { content, is_error, .. } => Some((content, is_error)),
            _ => None,
        };
        messages.into_iter().filter_map(result).collect()
    }
}

fn run(steps_max: Option<u32>, model: ScriptedModel) -> Run {
    let (asked, model, memory) = (Arc::new(AtomicUsize::new(0)), Arc::new(model), Lists::new());
    let node = agent_node("find", "Which port?", [ports(&asked)]).output("port");
    let node = match steps_max {
        Some(steps) => node.steps_max(steps),
        None => node,
    };
    let runtime =
        runtime(Operator::new("ops", [node]).unwrap(), &model).with_recorder(memory.clone());
    let mut state = state(json!({}));
    let run = block_on(runtime.run("find", &mut state)).unwrap();
    Run { run, model, memory, asked: asked.load(Ordering::Relaxed), state: Value::Object(state) }
}

#[test]
fn tokens_of_every_turn_are_counted() {
    let staging = json!({"service": "staging"});
    let model = ScriptedModel::new()
        .then(calls(&[("port", staging.clone())]))
        .then(calls(&[("port", staging)]))
        .then(reply("5433", 30, 1));
    let done = run(None, model);
    let usage = Usage { tokens_in: 50, tokens_out: 11 };
    assert_eq!((done.run.usage, done.run.steps, done.run.answered), (usage, 3, true));
    let episodes = done.memory.episodes();
    assert_eq!(episodes.len(), 1, "one episode a node, however many turns");
    assert_eq!((episodes[0].tokens_in, episodes[0].tokens_out), (50, 11));
    assert_eq!(done.state, json!({"port": 5433}));
}

#[test]
fn a_conversation_grows_turn_by_turn() {
    let call = calls(&[("port", json!({"service": "staging"})), ("port", json!({"service": "x"}))]);
    let done = run(None, ScriptedModel::new().then(call.clone()).then(ChatReply::text("done")));
    let requests = done.model.requests();
    assert_eq!(requests[0].messages, [Message::User("Which port?".into())]);
    assert_eq!(
        requests[1].messages[..2],
        [
            Message::User("Which port?".into()),
            Message::Assistant { text: "Looking.".into(), tool_calls: call.tool_calls },
        ]
    );
    let result = |id: &str, content: &str, is_error| Message::ToolResult {
        id: id.into(),
        content: content.into(),
        is_error,
    };
    assert_eq!(
        requests[1].messages[2..],
        [result("call-0", "5433", false), result("call-1", "there is no such service", true),]
    );
    assert_eq!(requests[1].tools, requests[0].tools);
    assert_eq!(requests[0].tools[0].name, "port");
}

#[test]
fn errors_go_back_to_the_model_as_data() {
    let wrong = calls(&[
        ("port", json!({"service": "x"})),
        ("prot", json!({})),
        ("port", json!(["staging"])),
    ]);
    let done =
        run(None, ScriptedModel::new().then(wrong).then(ChatReply::text("I could not find it.")));
    let error = |text: &str| (text.to_owned(), true);
    assert_eq!(
        done.results(),
        [
            error("there is no such service"),
            error("there is no tool `prot`: the tools are `port`"),
            error("the arguments of `port` must be a JSON object, and are a list"),
        ]
    );
    assert_eq!(done.asked, 1, "arguments that are no object never reach a tool");
    assert_eq!(done.state, json!({"port": "I could not find it."}));
}

#[test]
fn the_limit_of_steps_ends_a_conversation() {
    let staging = || calls(&[("port", json!({"service": "staging"}))]);
    let done = run(
        Some(2),
        ScriptedModel::new().then(staging()).then(staging()).then(ChatReply::text("never")),
    );
    assert_eq!((done.run.steps, done.run.answered, done.model.requests().len()), (2, false, 2));
    assert_eq!(
        done.asked, 1,
        "what is called in the last step is not done: nobody would read the result"
    );
    assert_eq!(done.state, json!({"port": "Looking."}), "what it said last");
    let outcome = Value::Object(done.memory.episodes()[0].outcome.clone());
    assert_eq!(outcome, json!({"port": "Looking.", "stopped": "no answer after 2 steps"}));
    assert_eq!(done.run.usage, Usage { tokens_in: 20, tokens_out: 10 });
}

#[test]
fn a_limit_is_there_also_when_nobody_set_one() {
    let done = run(None, ScriptedModel::new().rule("", calls(&[("port", json!({}))])));
    assert_eq!((done.run.steps, done.run.answered), (STEPS_DEFAULT, false));
}

/// The first of these nodes crashed on the reply that was not there.
#[test]
fn no_steps_do_not_crash() {
    let done = run(Some(0), ScriptedModel::new());
    assert_eq!((done.run.steps, done.run.answered, done.run.output), (0, false, json!("")));
    assert_eq!(done.model.requests().len(), 0);
    assert_eq!(done.state, json!({"port": ""}));
    let episode = &done.memory.episodes()[0];
    assert_eq!(
        (episode.input_summary.as_str(), episode.output_summary.as_str()),
        ("Which port?", "")
    );
    assert_eq!(
        Value::Object(episode.outcome.clone()),
        json!({"port": "", "stopped": "no answer after 0 steps"})
    );
}

#[test]
fn one_step_is_one_request() {
    let done = run(Some(1), ScriptedModel::new().then(ChatReply::text("5433")));
    assert_eq!((done.run.steps, done.run.answered), (1, true));
}

/// Nobody offered it a tool; its words are the answer.
#[test]
fn a_node_of_one_request_has_its_answer_whatever_the_model_calls() {
    let model = Arc::new(ScriptedModel::new().then(calls(&[("port", json!({}))])));
    let operator = Operator::new("o", [llm_node("n", "x").output("out")]).unwrap();
    let memory = Lists::new();
    let run = block_on(
        runtime(operator, &model).with_recorder(memory.clone()).run("n", &mut state(json!({}))),
    )
    .unwrap();
    assert_eq!((run.output, run.answered, run.steps), (json!("Looking."), true, 1));
    assert_eq!(Value::Object(memory.episodes()[0].outcome.clone()), json!({"out": "Looking."}));
}

/// Answers only when it is woken from another thread.
struct Slow(ToolSpec, Mutex<Vec<Value>>);

impl Tool for Slow {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<String, ToolError>> {
        self.1.lock().unwrap().push(Value::Object(arguments.clone()));
        let mut polls = 0;
        Box::pin(std::future::poll_fn(move |context| {
            polls += 1;
            let waker = context.waker().clone();
            std::thread::spawn(move || waker.wake());
            if polls < 3 {
                std::task::Poll::Pending
            } else {
                std::task::Poll::Ready(Ok("slowly".to_owned()))
            }
        }))
    }
}

#[test]
fn a_tool_may_take_its_time() {
    let spec = ToolSpec {
        name: "slow".into(),
        description: String::new(),
        parameters: json!({"type": "object"}),
    };
    let tool = Arc::new(Slow(spec, Mutex::default()));
    let node = agent_node("n", "x", [Arc::clone(&tool) as Arc<dyn Tool>]);
    let model = Arc::new(
        ScriptedModel::new()
            .rule("slowly", ChatReply::text("yes"))
            .rule("", calls(&[("slow", json!({"a": 1}))])),
    );
    let run = block_on(
        runtime(Operator::new("o", [node]).unwrap(), &model).run("n", &mut state(json!({}))),
    )
    .unwrap();
    assert_eq!((run.output, tool.1.lock().unwrap().clone()), (json!("yes"), vec![json!({"a": 1})]));
}

/// Tokens that were paid for are told, also when the conversation breaks.
#[test]
fn a_broken_conversation_tells_what_it_took() {
    struct Breaks;

    impl kapsa_model::LanguageModel for Breaks {
        fn name(&self) -> &str {
            "breaks"
        }

        fn complete<'a>(
            &'a self,
            request: &'a kapsa_model::ChatRequest,
        ) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
            let first = request.messages.len() == 1;
            let error = ModelError::new(kapsa_model::ModelErrorKind::BadReply, "cut off", None);
            let result = if first {
                Ok(calls(&[("port", json!({}))]))
            } else {
                Err(error.with_usage(Usage { tokens_in: 7, tokens_out: 3 }))
            };
            Box::pin(async move { result })
        }
    }

    let memory = Lists::new();
    let node = agent_node("find", "Which port?", [ports(&Arc::default())]);
    let operator = Operator::new("ops", [node]).unwrap();
    let runtime = kapsa_roles::OperatorRuntime::new(operator, super::clock)
        .with_model(Arc::new(Breaks))
        .with_recorder(memory.clone());
    let error = block_on(runtime.run("find", &mut state(json!({})))).unwrap_err();
    assert_eq!(error.to_string(), "node `find` of operator `ops` failed: cut off");
    let kapsa_roles::RoleError::Step(error) = error else { panic!("{error:?}") };
    assert_eq!(error.usage, Usage { tokens_in: 17, tokens_out: 8 });
    let episode = &memory.episodes()[0];
    assert_eq!((episode.tokens_in, episode.tokens_out), (17, 8));
    assert_eq!(
        (episode.output_summary.as_str(), &episode.outcome["error"]),
        ("failed: cut off", &json!("cut off"))
    );
}
