//! What a runtime of roles gives its roles, and what it refuses; the seed's other tests of it are
//! those of `team`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use kapsa_memory::access::{Classification, ClearanceProfile};
use kapsa_model::{LanguageModel, ScriptedModel, block_on};
use kapsa_roles::{
    MemoryFactory, Notes, Operator, Role, RoleMemory, RoleRuntime, Shared, llm_node,
};
use serde_json::json;

use super::roles::{cro, revenue_ops};
use super::{Lists, broken, clock, last, saying, shared, state};

/// Gives each role a memory, and notes for whom.
#[derive(Default)]
struct Memories {
    given: Mutex<BTreeMap<String, (ClearanceProfile, Arc<Lists>)>>,
}

impl MemoryFactory for Memories {
    fn memory(
        &self,
        role_id: &str,
        clearance: &ClearanceProfile,
    ) -> kapsa_memory::Result<Arc<dyn RoleMemory>> {
        let lists = Lists::of(&[("revenue", "VP sponsor predicts conversion")]);
        let memory = shared(&lists);
        self.given.lock().unwrap().insert(role_id.to_owned(), (clearance.clone(), lists));
        Ok(memory)
    }
}

fn sharing(model: &Arc<ScriptedModel>, memories: &Arc<Memories>) -> Shared {
    let model = Arc::clone(model) as Arc<dyn LanguageModel>;
    Shared { model: Some(model), memories: Some(Arc::clone(memories) as _), ..Shared::default() }
}

/// With or without a clearance; whoever declared none knows what is public.
#[test]
fn every_role_gets_a_memory_of_its_own() {
    let memories = Arc::new(Memories::default());
    let intern = Role::builder("intern", clock).operator(revenue_ops()).build().unwrap();
    let runtime =
        RoleRuntime::new([cro().build().unwrap(), intern], &sharing(&saying("85"), &memories))
            .unwrap();
    let intern = runtime.role("intern").unwrap();
    block_on(intern.operator("revenue_ops").unwrap().run("qualify", &mut state(json!({}))))
        .unwrap();
    let given = memories.given.lock().unwrap();
    assert_eq!(given["intern"].0, ClearanceProfile::new("intern"));
    assert_eq!(given["cro"].0.domains["revenue"], Classification::Confidential);
    assert_eq!((given["intern"].1.episodes().len(), given["cro"].1.episodes().len()), (1, 0));
}

#[test]
fn a_role_keeps_what_it_has() {
    let (own_model, own_memory) = (saying("own"), Lists::new());
    let (model, memories) = (saying("shared"), Arc::new(Memories::default()));
    let role = cro().model(own_model.clone()).memory(shared(&own_memory)).build().unwrap();
    let runtime = RoleRuntime::new([role], &sharing(&model, &memories)).unwrap();
    assert_eq!(block_on(runtime.role("cro").unwrap().respond("hello")).unwrap().text, "own");
    assert_eq!(own_memory.episodes().len(), 1);
    assert!(memories.given.lock().unwrap().is_empty());
}

#[test]
fn a_runtime_that_cannot_be_is_refused() {
    let runtime = RoleRuntime::new([cro().build().unwrap()], &Shared::default()).unwrap();
    assert_eq!(runtime.role("cmo").unwrap_err().to_string(), "there is no role `cmo`");
    let twice = [cro().build().unwrap(), cro().build().unwrap()];
    let error = RoleRuntime::new(twice, &Shared::default()).unwrap_err();
    assert_eq!(error.to_string(), "role `cro`: there are two of that id");
    let fails = |_: &str, _: &ClearanceProfile| Err(broken());
    let sharing = Shared { memories: Some(Arc::new(fails)), ..Shared::default() };
    let error = RoleRuntime::new([cro().build().unwrap()], &sharing).unwrap_err();
    assert_eq!(error.to_string(), "role `cro` has no memory: the disk is full");
}

#[test]
fn v1_backward_compat() {
    let (model, notes) = (saying("v1 output"), Notes::new());
    notes.store("simple", "m1", "V1 memory");
    let process =
        llm_node("process", "process").system("You are simple.").model("haiku").output("out");
    let operator = Operator::new("simple", [process]).unwrap();
    let role =
        Role::builder("simple", clock).soul("Simple soul.").operator(operator).build().unwrap();
    let sharing =
        Shared { model: Some(model.clone()), notes: Some(Arc::new(notes)), ..Shared::default() };
    let runtime = RoleRuntime::new([role], &sharing).unwrap();
    let mut state = state(json!({"x": 1}));
    block_on(
        runtime.role("simple").unwrap().operator("simple").unwrap().run("process", &mut state),
    )
    .unwrap();
    assert_eq!(state["out"], "v1 output");
    assert_eq!(
        last(&model).system,
        "Simple soul.\n\nYou are simple.\n\n## Relevant Memories\n- V1 memory"
    );
}
