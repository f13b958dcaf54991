//! Tests of failures: neither an answer nor the fact that something failed is ever lost.

use std::sync::Arc;

use kapsa_agents::SUMMARY_CHARS_MAX;
use kapsa_model::{ChatReply, ScriptedModel, block_on};
use kapsa_roles::{
    MemoryScope, Operator, OperatorRuntime, RoleError, StepCause, Text, agent_node, function_tool,
    llm_node,
};
use serde_json::{Value, json};

use super::{Lists, clock, qualify, runtime, saying, scoped, state};

fn unwritable() -> Arc<Lists> {
    Arc::new(Lists { unwritable: true, ..Lists::default() })
}

fn unreadable() -> Arc<Lists> {
    Arc::new(Lists { unreadable: true, ..Lists::default() })
}

#[test]
fn a_recorder_that_fails_costs_no_answer() {
    let mut state = state(json!({"lead": "Acme"}));
    let run = block_on(
        runtime(scoped(), &saying("85")).with_recorder(unwritable()).run("qualify", &mut state),
    )
    .unwrap();
    assert_eq!((run.output, &state["score"]), (json!(85), &json!(85)));
    assert_eq!(run.unrecorded.map(|error| error.to_string()).as_deref(), Some("the disk is full"));
}

#[test]
fn a_failure_that_could_not_be_recorded_says_both() {
    let model = Arc::new(ScriptedModel::new());
    let error = block_on(
        runtime(scoped(), &model).with_recorder(unwritable()).run("qualify", &mut state(json!({}))),
    )
    .unwrap_err();
    let expected = "node `qualify` of operator `scoped` failed: the script has no reply for this request; \
                    the failure could not be recorded either: the disk is full";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_node_that_fails_is_remembered_and_leaves_the_state() {
    let (model, memory) = (Arc::new(ScriptedModel::new()), Lists::new());
    let before = state(json!({"lead": "Acme", "company": "acme_corp", "score": "old"}));
    let mut state = before.clone();
    let error = block_on(
        runtime(scoped(), &model).with_recorder(memory.clone()).run("qualify", &mut state),
    )
    .unwrap_err();
    assert!(
        matches!(&error, RoleError::Step(step) if matches!(step.cause, StepCause::Model(_))),
        "{error:?}"
    );
    assert_eq!(state, before);
    let episode = &memory.episodes()[0];
    assert_eq!(
        (episode.input_summary.as_str(), episode.entity.as_str()),
        ("Score: Acme", "acme_corp")
    );
    assert_eq!(episode.output_summary, "failed: the script has no reply for this request");
    assert_eq!(
        Value::Object(episode.outcome.clone()),
        json!({"error": "the script has no reply for this request"})
    );
}

/// An answer without what the node needs to know would look like one with it.
#[test]
fn a_memory_that_cannot_be_read_stops_the_node_before_it_costs_anything() {
    let (model, memory) = (saying("85"), Lists::new());
    let runtime =
        runtime(scoped(), &model).with_assembler(unreadable()).with_recorder(memory.clone());
    let error = block_on(runtime.run("qualify", &mut state(json!({})))).unwrap_err();
    let expected =
        "node `qualify` of operator `scoped` failed: its memory cannot be read: the disk is full";
    assert_eq!(error.to_string(), expected);
    assert_eq!((model.requests().len(), memory.episodes().len()), (0, 1));
}

fn templates() -> Operator {
    let scope =
        MemoryScope::new().entity(Text::template("{company}")).query(Text::template("{lead}"));
    Operator::new("ops", [llm_node("n", Text::template("Score {lead} of {team}")).scope(scope)])
        .unwrap()
}

#[test]
fn missing_keys_are_named_before_anything_is_asked() {
    let model = saying("x");
    let run = |runtime: OperatorRuntime| {
        block_on(runtime.run("n", &mut state(json!({"team": "a"})))).unwrap_err().to_string()
    };
    let alone = run(runtime(templates(), &model));
    assert_eq!(alone, "node `n` of operator `ops` failed: the state has no `lead`");
    let memory = Lists::new();
    let with_memory = run(runtime(templates(), &model)
        .with_assembler(memory.clone())
        .with_recorder(memory.clone()));
    assert_eq!(
        with_memory,
        "node `n` of operator `ops` failed: the state has no `lead`, `company`"
    );
    assert_eq!((model.requests().len(), memory.scopes().len()), (0, 0));
    assert_eq!(memory.episodes()[0].input_summary, "Score  of a");
}

/// A scope that nobody reads stops nothing; the episode has what is known of it.
#[test]
fn a_scope_without_an_assembler_stops_nothing() {
    let memory = Lists::new();
    let mut state = state(json!({"lead": "Acme", "team": "a"}));
    block_on(runtime(templates(), &saying("x")).with_recorder(memory.clone()).run("n", &mut state))
        .unwrap();
    assert_eq!(memory.episodes()[0].entity, "");
}

#[test]
fn summaries_are_cut_between_characters() {
    let long = "ž".repeat(SUMMARY_CHARS_MAX + 1);
    let memory = Lists::new();
    let operator = Operator::new("o", [llm_node("n", Text::template("{long}"))]).unwrap();
    let mut state = state(json!({"long": long}));
    block_on(runtime(operator, &saying(&long)).with_recorder(memory.clone()).run("n", &mut state))
        .unwrap();
    let (episode, cut) = (&memory.episodes()[0], "ž".repeat(SUMMARY_CHARS_MAX));
    assert_eq!((&episode.input_summary, &episode.output_summary), (&cut, &cut));
}

#[test]
fn who_has_no_model_is_told_and_nothing_is_recorded() {
    let memory = Lists::new();
    let runtime = OperatorRuntime::new(scoped(), clock).with_recorder(memory.clone());
    let error = block_on(runtime.run("qualify", &mut state(json!({})))).unwrap_err();
    assert_eq!(error.to_string(), "operator `scoped` has no model to ask");
    let error = block_on(runtime.run("other", &mut state(json!({})))).unwrap_err();
    assert_eq!(error.to_string(), "operator `scoped` has no node `other`");
    assert_eq!(memory.episodes().len(), 0);
}

#[test]
fn a_chain_that_breaks_keeps_what_was_done() {
    let fails = llm_node("fails", Text::template("{gone}"));
    let operator = Operator::new("ops", [qualify(), fails, llm_node("never", "x")]).unwrap();
    let model = Arc::new(ScriptedModel::new().then(ChatReply::text("85")));
    let mut answered = state(json!({"lead": "Acme"}));
    let runtime = runtime(operator, &model).with_recorder(unwritable());
    let error = block_on(runtime.run_all(&mut answered)).unwrap_err();
    assert_eq!((error.done.len(), &answered["score"]), (1, &json!(85)));
    assert!(error.done[0].unrecorded.is_some(), "what could not be recorded is told of each");
    assert!(
        error
            .to_string()
            .starts_with("node `fails` of operator `ops` failed: the state has no `gone`"),
        "{error}"
    );

    let error =
        block_on(runtime.run_chain(&["qualify", "typo"], &mut state(json!({})))).unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), error.done.len()),
        ("operator `ops` has no node `typo`", 0)
    );
    assert_eq!(model.requests().len(), 1, "nothing is asked when a name is unknown");
}

#[test]
fn an_operator_that_cannot_be_is_refused() {
    let tool =
        |name: &str| function_tool(name, "", json!({"type": "object"}), |_| Ok(String::new()));
    let node = |name: &str| llm_node(name, "x");
    let check = |id: &str, nodes: Vec<kapsa_roles::Node>, expected: &str| {
        assert_eq!(Operator::new(id, nodes).unwrap_err().to_string(), expected);
    };
    check("", vec![], "an operator: it has no id");
    check("o", vec![node("")], "node `` of operator `o`: it has no name");
    check(
        "o",
        vec![node("a"), node("b"), node("a")],
        "operator `o`: two of its nodes are called `a`",
    );
    check(
        "o",
        vec![node("a").steps_max(3)],
        "node `a` of operator `o`: it is one request and has no limit of steps",
    );
    for temperature in [-0.1, f32::NAN, f32::INFINITY] {
        check(
            "o",
            vec![node("a").temperature(temperature)],
            "node `a` of operator `o`: a temperature must not be negative",
        );
    }
    check(
        "o",
        vec![agent_node("a", "x", [tool("t"), tool("t")])],
        "node `a` of operator `o`: two of its tools are called `t`",
    );
    let expected =
        "node `a` of operator `o`: `t\\n` is not a name for a tool: letters, digits, `_` and `-`";
    check("o", vec![agent_node("a", "x", [tool("t\n")])], expected);
}
