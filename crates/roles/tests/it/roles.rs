//! The seed's tests of roles.

use std::sync::Arc;

use kapsa_memory::access::{Classification, ClearanceProfile};
use kapsa_model::{LanguageModel, block_on};
use kapsa_roles::{
    AuthorityConfig, MemoryScope, NoteSource, Notes, Operator, Permission, Role, RoleBuilder, Text,
    llm_node, text_at,
};
use serde_json::json;

use super::{Lists, clock, last, saying, shared, state};

pub fn revenue_ops() -> Operator {
    let lead = |state: &kapsa_roles::State| {
        format!("Score: {}", text_at(state, "lead").unwrap_or_default())
    };
    let scope =
        MemoryScope::new().domain("revenue").entity(Text::with(|state| text_at(state, "company")));
    let qualify = llm_node("qualify", Text::with(lead))
        .system("You are a lead qualifier.")
        .model("sonnet")
        .output("score")
        .scope(scope);
    Operator::new("revenue_ops", [qualify]).unwrap()
}

pub fn cro() -> RoleBuilder {
    let authority = AuthorityConfig::new()
        .autonomous(["qualify_lead"])
        .needs_approval(["change_pricing"])
        .forbidden(["sign_contracts"]);
    let clearance = ClearanceProfile::new("cro")
        .with("revenue", Classification::Confidential)
        .with("customer", Classification::Internal);
    Role::builder("cro", clock)
        .soul("You are the CRO. Data-driven.")
        .operator(revenue_ops())
        .authority(authority)
        .clearance(clearance)
}

fn qualify(role: &Role) {
    block_on(
        role.operator("revenue_ops").unwrap().run("qualify", &mut state(json!({"lead": "Acme"}))),
    )
    .unwrap();
}

#[test]
fn role_can_act_autonomous() {
    assert_eq!(cro().build().unwrap().can_act("qualify_lead"), Permission::Autonomous);
}

#[test]
fn role_can_act_forbidden() {
    let role = cro().build().unwrap();
    assert_eq!(role.can_act("sign_contracts"), Permission::Forbidden);
    assert_eq!(role.can_act("something else"), Permission::NeedsApproval);
}

#[test]
fn role_can_act_no_authority() {
    assert_eq!(
        Role::builder("noauth", clock).build().unwrap().can_act("anything"),
        Permission::Autonomous
    );
}

#[test]
fn operator_gets_memory_assembler() {
    let memory = Lists::of(&[("revenue", "Revenue insight")]);
    let role = cro().memory(shared(&memory)).build().unwrap();
    assert!(role.operator("revenue_ops").unwrap().assembler().is_some());
    assert!(cro().build().unwrap().operator("revenue_ops").unwrap().assembler().is_none());
}

#[test]
fn operator_gets_episode_recorder() {
    let (model, memory) = (saying("85"), Lists::new());
    let role = cro().model(model).memory(shared(&memory)).build().unwrap();
    assert!(role.operator("revenue_ops").unwrap().recorder().is_some());
    qualify(&role);
    assert_eq!(memory.episodes()[0].agent_id, "cro");
    assert!(cro().build().unwrap().operator("revenue_ops").unwrap().recorder().is_none());
}

#[test]
fn memory_scope_assembled_via_role() {
    let (model, memory) = (
        saying("85"),
        Lists::of(&[("revenue", "Test insight for revenue"), ("hr", "not for this")]),
    );
    qualify(&cro().model(model.clone()).memory(shared(&memory)).build().unwrap());
    let expected = "You are the CRO. Data-driven.\n\nYou are a lead qualifier.\n\n\
                    ## Insights\n- Test insight for revenue (confidence: 0.9)";
    assert_eq!(last(&model).system, expected);
}

#[test]
fn role_aware_llm_soul_only_with_agent_memory() {
    let (model, notes) = (saying("85"), Notes::new());
    notes.store("cro", "m1", "Webinar leads convert 2x");
    qualify(
        &cro()
            .model(model.clone())
            .memory(shared(&Lists::new()))
            .notes(Arc::new(notes))
            .build()
            .unwrap(),
    );
    assert_eq!(last(&model).system, "You are the CRO. Data-driven.\n\nYou are a lead qualifier.");
}

/// Recall looks for the message in the notes, where it does not stand; the role is told all of its
/// notes then.
#[test]
fn v1_memory_still_works() {
    let (model, notes) = (saying("85"), Notes::new());
    notes.store("cro", "m1", "Webinar leads convert 2x");
    notes.store("cmo", "m1", "Not for the CRO");
    let role = Role::builder("cro", clock).soul("You are the CRO.").operator(revenue_ops());
    qualify(&role.model(model.clone()).notes(Arc::new(notes)).build().unwrap());
    let expected = "You are the CRO.\n\nYou are a lead qualifier.\n\n## Relevant Memories\n- Webinar leads convert 2x";
    assert_eq!(last(&model).system, expected);
}

#[test]
fn notes_that_fit_are_the_only_ones() {
    let (model, notes) = (saying("85"), Notes::new());
    notes.store("cro", "m1", "Webinar leads convert 2x");
    notes.store("cro", "m2", "After score: acme was angry");
    let role =
        cro().model(model.clone()).notes(Arc::new(notes) as Arc<dyn NoteSource>).build().unwrap();
    qualify(&role);
    assert!(
        last(&model).system.ends_with("## Relevant Memories\n- After score: acme was angry"),
        "{}",
        last(&model).system
    );
    block_on(role.respond("leads convert")).unwrap();
    assert_eq!(
        last(&model).system,
        "You are the CRO. Data-driven.\n\n## Relevant Memories\n- Webinar leads convert 2x"
    );
}

#[test]
fn unknown_operator_names_role_and_operator() {
    let error = cro().build().unwrap().operator("marketing").unwrap_err();
    assert_eq!(error.to_string(), "role `cro` has no operator `marketing`");
}

#[test]
fn operators_are_listed_in_order() {
    let other = Operator::new("admin", []).unwrap();
    assert_eq!(cro().operator(other).build().unwrap().list_operators(), ["revenue_ops", "admin"]);
    assert_eq!(Role::builder("x", clock).build().unwrap().list_operators(), [""; 0]);
}

#[test]
fn a_role_without_a_model_can_be_asked_everything_else() {
    let role = cro().build().unwrap();
    let operator = role.operator("revenue_ops").unwrap();
    let error = block_on(operator.run("qualify", &mut state(json!({})))).unwrap_err();
    assert_eq!(error.to_string(), "operator `revenue_ops` has no model to ask");
    assert_eq!(role.clearance().domains.len(), 2);
}

#[test]
fn a_role_that_cannot_be_is_refused() {
    let check = |role: RoleBuilder, expected: &str| {
        assert_eq!(role.build().unwrap_err().to_string(), expected)
    };
    check(Role::builder("", clock), "a role: it has no id");
    check(
        cro().operator(revenue_ops()),
        "role `cro`: two of its operators are called `revenue_ops`",
    );
    check(
        cro().clearance(ClearanceProfile::new("cfo")),
        "role `cro`: its clearance is that of `cfo`",
    );
}

#[test]
fn the_soul_begins_every_prompt() {
    let model = saying("85");
    let role = cro()
        .model(Arc::clone(&model) as Arc<dyn LanguageModel>)
        .memory(shared(&Lists::new()))
        .build()
        .unwrap();
    qualify(&role);
    block_on(role.respond("hello")).unwrap();
    assert!(
        model
            .requests()
            .iter()
            .all(|request| request.system.starts_with("You are the CRO. Data-driven."))
    );
    assert_eq!(model.requests().len(), 2);
}
