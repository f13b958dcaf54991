//! The seed's tests of scopes and of what is recorded of a node, and what else a prompt depends on.

use std::sync::Arc;

use kapsa_model::{Message, block_on};
use kapsa_roles::{
    CONTEXT_TOKENS_DEFAULT, MemoryScope, Operator, Scope, Text, agent_node, llm_node,
};
use serde_json::{Value, json};

use super::{Lists, NOW, last, qualify, runtime, saying, scoped, state};

fn acme() -> kapsa_roles::State {
    state(json!({"lead": "Acme", "company": "acme_corp"}))
}

#[test]
fn memory_scope_resolved_and_assembled() {
    let (model, memory) = (saying("output"), Lists::new());
    block_on(runtime(scoped(), &model).with_assembler(memory.clone()).run("qualify", &mut acme()))
        .unwrap();
    let expected = Scope {
        entity: "acme_corp".into(),
        domain: "revenue".into(),
        tags: vec!["qualification".into()],
        query: String::new(),
        sessions_about: None,
    };
    assert_eq!(memory.scopes(), [(expected, CONTEXT_TOKENS_DEFAULT)]);
}

/// The whole prompt, and nothing but it: the same parts always make the same text.
#[test]
fn memory_scope_injected_into_system_prompt() {
    let (model, memory) = (saying("output"), Lists::of(&[("revenue", "Test insight")]));
    let runtime = runtime(scoped(), &model).with_assembler(memory).with_soul("You are the CRO.\n");
    for _ in 0..2 {
        block_on(runtime.run("qualify", &mut acme())).unwrap();
        let expected = "You are the CRO.\n\nYou are a lead qualifier.\n\n## Insights\n- Test insight (confidence: 0.9)";
        assert_eq!(last(&model).system, expected);
        assert_eq!(last(&model).messages, [Message::User("Score: Acme".into())]);
        assert_eq!(last(&model).model.as_deref(), Some("sonnet"));
    }
}

#[test]
fn no_memory_scope_backward_compat() {
    let node = llm_node("process", "process this")
        .system("You are a processor.")
        .model("haiku")
        .output("out");
    let (model, memory) = (saying("done"), Lists::of(&[("", "not asked for")]));
    let mut state = state(json!({"input": "x"}));
    let runtime =
        runtime(Operator::new("simple", [node]).unwrap(), &model).with_assembler(memory.clone());
    block_on(runtime.run("process", &mut state)).unwrap();
    assert_eq!(state["out"], "done");
    assert_eq!(last(&model).system, "You are a processor.");
    assert_eq!(memory.scopes(), [], "a node without a scope asks no memory");
}

#[test]
fn no_assembler_memory_scope_ignored() {
    let model = saying("output");
    let mut state = acme();
    block_on(runtime(scoped(), &model).run("qualify", &mut state)).unwrap();
    assert!(state.contains_key("score"));
    assert_eq!(last(&model).system, "You are a lead qualifier.");
}

#[test]
fn nothing_is_appended_when_the_memory_has_nothing() {
    let model = saying("output");
    block_on(runtime(scoped(), &model).with_assembler(Lists::new()).run("qualify", &mut acme()))
        .unwrap();
    assert_eq!(last(&model).system, "You are a lead qualifier.");
}

#[test]
fn episode_auto_recorded() {
    let (model, memory) = (saying("{\"score\": 85}"), Lists::new());
    let mut state = acme();
    super::set_clock();
    let operator =
        runtime(scoped(), &model).with_assembler(memory.clone()).with_recorder(memory.clone());
    let run = block_on(operator.run("qualify", &mut state)).unwrap();
    let episodes = memory.episodes();
    assert_eq!(episodes.len(), 1);
    let episode = &episodes[0];
    assert!(episode.id.starts_with("ep_") && episode.id.len() > 10, "{}", episode.id);
    assert_eq!((episode.agent_id.as_str(), episode.operator_id.as_str()), ("", "scoped"));
    assert_eq!((episode.node_name.as_str(), episode.action.as_str()), ("qualify", "qualify"));
    assert_eq!((episode.entity.as_str(), episode.domain.as_str()), ("acme_corp", "revenue"));
    assert_eq!(episode.tags, ["qualification"]);
    assert_eq!((episode.tokens_in, episode.tokens_out), (10, 20));
    assert_eq!((episode.timestamp, episode.duration_ms), (NOW, 40));
    assert_eq!(
        (episode.input_summary.as_str(), episode.output_summary.as_str()),
        ("Score: Acme", "{\"score\":85}")
    );
    assert_eq!(Value::Object(episode.outcome.clone()), json!({"score": {"score": 85}}));
    assert_eq!(
        (run.output, run.answered, run.steps, run.duration_ms),
        (json!({"score": 85}), true, 1, 40)
    );
    assert!(run.unrecorded.is_none());
}

#[test]
fn no_recorder_no_error() {
    let run = block_on(runtime(scoped(), &saying("output")).run("qualify", &mut acme())).unwrap();
    assert!(run.unrecorded.is_none());
}

/// The scope belongs to the episode also where nobody assembles.
#[test]
fn an_episode_has_its_scope_without_an_assembler() {
    let memory = Lists::new();
    let mut no_company = state(json!({"lead": "Acme", "company": null}));
    block_on(
        runtime(scoped(), &saying("output"))
            .with_recorder(memory.clone())
            .run("qualify", &mut no_company),
    )
    .unwrap();
    let episode = &memory.episodes()[0];
    assert_eq!(
        (episode.entity.as_str(), episode.domain.as_str()),
        ("", "revenue"),
        "none is nothing"
    );
}

#[test]
fn a_node_without_a_key_changes_nothing() {
    let memory = Lists::new();
    let operator = Operator::new("o", [llm_node("say", "Say.")]).unwrap();
    let mut state = acme();
    let run = block_on(
        runtime(operator, &saying("Hello.")).with_recorder(memory.clone()).run("say", &mut state),
    )
    .unwrap();
    assert_eq!((run.output, &state), (json!("Hello."), &acme()));
    assert!(memory.episodes()[0].outcome.is_empty());
}

#[test]
fn agent_node_memory_scope() {
    let (model, memory) = (saying("research results"), Lists::of(&[("revenue", "Agent insight")]));
    let mut state = state(json!({"topic": "AI"}));
    block_on(
        runtime(investigator(), &model)
            .with_assembler(memory.clone())
            .run("investigate", &mut state),
    )
    .unwrap();
    assert_eq!(memory.scopes()[0].0.domain, "revenue");
    assert_eq!(
        last(&model).system,
        "You are a research analyst.\n\n## Insights\n- Agent insight (confidence: 0.9)"
    );
    assert_eq!(state["research"], "research results");
}

#[test]
fn agent_node_episode_recorded() {
    let memory = Lists::new();
    let mut state = state(json!({"topic": "AI"}));
    block_on(
        runtime(investigator(), &saying("done"))
            .with_recorder(memory.clone())
            .run("investigate", &mut state),
    )
    .unwrap();
    let episodes = memory.episodes();
    assert_eq!(episodes.len(), 1);
    assert_eq!(
        (episodes[0].node_name.as_str(), episodes[0].domain.as_str()),
        ("investigate", "revenue")
    );
}

fn investigator() -> Operator {
    let node = agent_node("investigate", Text::template("Research: {topic}"), [])
        .system("You are a research analyst.")
        .output("research")
        .scope(MemoryScope::new().domain("revenue"));
    Operator::new("agent_scoped", [node]).unwrap()
}

#[test]
fn every_part_of_a_scope_follows_the_state() {
    let scope = MemoryScope::new()
        .entity(Text::template("{company}"))
        .domain(Text::with(|state| state["kind"].as_str().map(str::to_lowercase)))
        .tags_with(|state| vec![state["kind"].to_string(), String::new()])
        .query(Text::template("about {company}"))
        .token_budget(100);
    let operator = Operator::new("o", [llm_node("n", "x").scope(scope)]).unwrap();
    let memory = Lists::new();
    let runtime = runtime(operator, &saying("")).with_assembler(memory.clone());
    for (company, kind) in [("acme", "Sales"), ("apex", "Ops")] {
        block_on(runtime.run("n", &mut state(json!({"company": company, "kind": kind})))).unwrap();
        let (scope, budget) = memory.scopes().pop().unwrap();
        let expected = Scope {
            entity: company.into(),
            domain: kind.to_lowercase(),
            tags: vec![format!("\"{kind}\"")],
            query: format!("about {company}"),
            sessions_about: None,
        };
        assert_eq!((scope, budget), (expected, 100));
    }
}

#[test]
fn nodes_make_a_chain_over_one_state() {
    let grade = llm_node("grade", Text::template("Grade {score.score} of {lead}")).output("grade");
    let operator = Operator::new("ops", [qualify(), grade]).unwrap();
    let model = kapsa_model::ScriptedModel::new()
        .then(super::reply("{\"score\": 85}", 1, 2))
        .then(super::reply("A", 3, 4));
    let (model, memory) = (Arc::new(model), Lists::new());
    let mut state = acme();
    let runtime = runtime(operator, &model).with_recorder(memory.clone());
    let runs = block_on(runtime.run_all(&mut state)).unwrap();
    let told: Vec<(&str, u64)> =
        runs.iter().map(|run| (run.node.as_str(), run.usage.tokens_out)).collect();
    assert_eq!(told, [("qualify", 2), ("grade", 4)]);
    assert_eq!(last(&model).messages, [Message::User("Grade 85 of Acme".into())]);
    assert_eq!(
        Value::Object(state),
        json!({"lead": "Acme", "company": "acme_corp", "score": {"score": 85}, "grade": "A"})
    );
    assert_eq!(memory.episodes().len(), 2);
}

/// Whoever has a runtime may drive a node on any thread.
#[test]
fn a_node_runs_on_any_thread() {
    let runtime = runtime(scoped(), &saying("85")).with_recorder(Lists::new());
    let mut state = acme();
    let future = runtime.run("qualify", &mut state);
    fn sendable<T: Send>(future: T) -> T {
        future
    }
    let run =
        std::thread::scope(|scope| scope.spawn(|| block_on(sendable(future))).join().unwrap());
    assert_eq!(run.unwrap().output, json!(85));
}
