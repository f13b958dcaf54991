//! Roles that are described by data alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use kapsa_memory::access::Classification;
use kapsa_model::{ChatReply, Message, ScriptedModel, ToolCall, block_on};
use kapsa_roles::{
    AuthorityConfig, NodeKind, NodeSpec, OperatorSpec, Permission, Role, RoleRuntime, RoleSpec,
    ScopeSpec, Shared, Tool, function_tool,
};
use serde_json::json;

use super::{Lists, clock, shared, state};

fn port() -> Arc<dyn Tool> {
    function_tool(
        "port",
        "The port of a service.",
        json!({"type": "object"}),
        |_| Ok("5433".into()),
    )
}

fn spec() -> RoleSpec {
    let scope = ScopeSpec {
        entity: "{company}".into(),
        domain: "revenue".into(),
        tags: vec!["lead-{lead}".into(), "all".into()],
        query: "{lead}".into(),
    };
    let qualify = NodeSpec {
        system: "Answer as {\"score\": 0}, and {company} stays as it is.".into(),
        output: Some("score".into()),
        model: Some("sonnet".into()),
        temperature: Some(0.2),
        tokens_max: Some(300),
        scope: Some(scope),
        ..NodeSpec::llm("qualify", "Score {lead} as {\"score\": 0}")
    };
    let look = NodeSpec {
        output: Some("port".into()),
        steps_max: Some(2),
        ..NodeSpec::agent("look", "Which port has {lead}, scored {score.score}?", ["port"])
    };
    RoleSpec {
        clearance: BTreeMap::from([("revenue".into(), "confidential".into())]),
        authority: Some(AuthorityConfig::new().forbidden(["sign"])),
        operators: vec![OperatorSpec::new("ops", [qualify, look])],
        ..RoleSpec::new("cro", "You are the CRO.")
    }
}

#[test]
fn a_description_becomes_a_role_that_runs() {
    let call = ToolCall { id: "1".into(), name: "port".into(), arguments: json!({}) };
    let model = ScriptedModel::new()
        .then(ChatReply::text("{\"score\": 85}"))
        .then(ChatReply { tool_calls: vec![call], ..ChatReply::default() })
        .then(ChatReply::text("It is 5433."));
    let (model, memory) = (Arc::new(model), Lists::of(&[("revenue", "VP sponsors decide")]));
    let behind = Arc::clone(&memory);
    let factory = move |_: &str, clearance: &kapsa_memory::access::ClearanceProfile| {
        assert_eq!(clearance.domains["revenue"], Classification::Confidential);
        Ok(shared(&behind))
    };
    let sharing = Shared {
        model: Some(model.clone()),
        memories: Some(Arc::new(factory)),
        ..Shared::default()
    };
    let runtime =
        RoleRuntime::new([Role::from_spec(&spec(), &[port()], clock).unwrap()], &sharing).unwrap();
    let role = runtime.role("cro").unwrap();
    let mut state = state(json!({"lead": "Acme", "company": "acme_corp"}));
    block_on(role.operator("ops").unwrap().run_all(&mut state)).unwrap();

    let request = &model.requests()[0];
    let system = "You are the CRO.\n\nAnswer as {\"score\": 0}, and {company} stays as it is.\n\n\
                  ## Insights\n- VP sponsors decide (confidence: 0.9)";
    assert_eq!(request.system, system);
    assert_eq!(request.messages, [Message::User("Score Acme as {\"score\": 0}".into())]);
    assert_eq!(
        (request.model.as_deref(), request.temperature, request.tokens_max),
        (Some("sonnet"), Some(0.2), Some(300))
    );
    assert_eq!(
        model.requests()[1].messages,
        [Message::User("Which port has Acme, scored 85?".into())]
    );
    let (scope, _) = &memory.scopes()[0];
    assert_eq!(
        (scope.entity.as_str(), scope.domain.as_str(), scope.query.as_str()),
        ("acme_corp", "revenue", "Acme")
    );
    assert_eq!(scope.tags, ["lead-Acme", "all"]);
    assert_eq!(state["port"], "It is 5433.");
    assert_eq!(role.can_act("sign"), Permission::Forbidden);
    assert_eq!(memory.scopes().len(), 1, "a node without a scope asks no memory");
}

#[test]
fn a_role_of_a_soul_alone_may_do_everything_and_know_what_is_public() {
    let role = Role::from_spec(&RoleSpec::new("cro", "You are the CRO."), &[], clock).unwrap();
    assert_eq!(
        (role.soul(), role.can_act("anything")),
        ("You are the CRO.", Permission::Autonomous)
    );
    assert!(role.clearance().domains.is_empty());
    assert_eq!(role.goals(), [""; 0]);
    let driven = RoleSpec { goals: vec!["Grow".into()], ..RoleSpec::new("cro", "") };
    assert_eq!(Role::from_spec(&driven, &[], clock).unwrap().goals(), ["Grow"]);
    let strict = RoleSpec { authority: Some(AuthorityConfig::new()), ..RoleSpec::new("cro", "") };
    assert_eq!(
        Role::from_spec(&strict, &[], clock).unwrap().can_act("anything"),
        Permission::NeedsApproval
    );
}

#[test]
fn what_cannot_be_is_named() {
    let check = |change: &dyn Fn(&mut RoleSpec), expected: &str| {
        let mut spec = spec();
        change(&mut spec);
        assert_eq!(Role::from_spec(&spec, &[port()], clock).unwrap_err().to_string(), expected);
    };
    check(&|spec| spec.id.clear(), "a role: it has no id");
    check(
        &|spec| drop(spec.clearance.insert("hr".into(), "secret".into())),
        "role `cro`: `secret` for `hr` is not a level; there are `public`, `internal`, `confidential`, `restricted`",
    );
    check(
        &|spec| spec.operators[0].nodes[1].tools = vec!["prot".into(), "port".into()],
        "node `look` of operator `ops`: there is no tool `prot`; there is `port`",
    );
    check(
        &|spec| spec.operators[0].nodes[0].tools = vec!["port".into()],
        "node `qualify` of operator `ops`: it is one request and can call no tools; `agent` can",
    );
    check(
        &|spec| spec.operators[0].nodes[0].steps_max = Some(3),
        "node `qualify` of operator `ops`: it is one request and has no limit of steps",
    );
    check(
        &|spec| spec.operators[0].nodes[0].prompt = " ".into(),
        "node `qualify` of operator `ops`: it has no prompt",
    );
    check(
        &|spec| spec.operators[0].nodes[1].name = "qualify".into(),
        "operator `ops`: two of its nodes are called `qualify`",
    );
    check(
        &|spec| spec.operators.push(OperatorSpec::new("ops", [])),
        "role `cro`: two of its operators are called `ops`",
    );
    let error = Role::from_spec(&spec(), &[], clock).unwrap_err();
    assert_eq!(
        error.to_string(),
        "node `look` of operator `ops`: there is no tool `port`; there is none"
    );
}

#[test]
fn kinds_have_names() {
    for kind in [NodeKind::Llm, NodeKind::Agent] {
        assert_eq!(NodeKind::named(kind.name()), Some(kind));
    }
    assert_eq!(NodeKind::named("LLM"), None);
}

#[test]
fn a_key_that_the_state_lacks_is_named_with_its_node() {
    let model = Arc::new(ScriptedModel::new());
    let sharing = Shared { model: Some(model.clone()), ..Shared::default() };
    let runtime =
        RoleRuntime::new([Role::from_spec(&spec(), &[port()], clock).unwrap()], &sharing).unwrap();
    let operator = runtime.role("cro").unwrap().operator("ops").unwrap();
    let error = block_on(operator.run("look", &mut state(json!({"score": 1})))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "node `look` of operator `ops` failed: the state has no `lead`, `score.score`"
    );
    assert_eq!(model.requests().len(), 0);
}
