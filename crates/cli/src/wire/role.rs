//! JSON of `role`.

use std::path::Path;

use kapsa_memory::access::ClearanceProfile;
use kapsa_roles::{NodeRun, Permission, Response, RoleSpec, State};
use serde_json::{Map, Value, json};

/// `role list`: `{"file"?,"count","roles":[role]}`.
pub(crate) fn roles_out(file: Option<&Path>, specs: &[RoleSpec]) -> Value {
    let roles: Vec<Value> = specs.iter().map(|spec| role_out(spec, None, None)).collect();
    json!({ "file": file.map(|file| file.display().to_string()), "count": roles.len(), "roles": roles })
}

/// A role: `{"id","soul","goals","model"?,"clearance"?,"authority"?,"operators":[{"id","nodes":[{"name","kind"}]}]}`. Its clearance is
/// what it may know in this capsule; `role list` has none.
pub(crate) fn role_out(spec: &RoleSpec, model: Option<&str>, clearance: Option<&ClearanceProfile>) -> Value {
    let operators = spec.operators.iter().map(|operator| {
        let nodes = operator.nodes.iter().map(|node| json!({ "name": node.name, "kind": node.kind.name() }));
        json!({ "id": operator.id, "nodes": nodes.collect::<Vec<_>>() })
    });
    let mut value = json!({ "id": spec.id, "soul": spec.soul, "goals": spec.goals, "operators": operators.collect::<Vec<_>>() });
    if let Some(model) = model {
        value["model"] = model.into();
    }
    if let Some(clearance) = clearance {
        let domains = clearance.domains.iter().map(|(domain, level)| (domain.clone(), Value::from(level.name())));
        value["clearance"] = Value::Object(domains.collect::<Map<_, _>>());
    }
    if let Some(lists) = &spec.authority {
        value["authority"] =
            json!({ "autonomous": lists.autonomous, "needs_approval": lists.needs_approval, "forbidden": lists.forbidden });
    }
    value
}

/// `role can`: `{"role","action","permission"}`, permission one of `autonomous`, `needs_approval`, `forbidden`.
pub(crate) fn permission(role: &str, action: &str, permission: Permission) -> Value {
    json!({ "role": role, "action": action, "permission": permission.name() })
}

/// `role run`: `{"role","operator","runs":[run],"state"}`; a run is `{"node","output","answered","steps","tokens_in","tokens_out",
/// "duration_ms","cost"?,"episode"?,"unrecorded"?}`.
pub(crate) fn ran(role: &str, operator: &str, runs: &[NodeRun], costs: &[Option<f64>], state: &State) -> Value {
    let run = |(run, cost): (&NodeRun, &Option<f64>)| {
        let mut value = json!({
            "node": run.node,
            "output": run.output,
            "answered": run.answered,
            "steps": run.steps,
            "tokens_in": run.usage.tokens_in,
            "tokens_out": run.usage.tokens_out,
            "duration_ms": run.duration_ms,
        });
        more(&mut value, *cost, run.episode.as_deref(), run.unrecorded.as_ref());
        value
    };
    let runs: Vec<Value> = runs.iter().zip(costs).map(run).collect();
    json!({ "role": role, "operator": operator, "runs": runs, "state": state })
}

/// `role respond`: `{"role","text","tokens_in","tokens_out","duration_ms","cost"?,"episode"?,"unrecorded"?}`.
pub(crate) fn answered(role: &str, said: &Response, cost: Option<f64>) -> Value {
    let mut value = json!({
        "role": role,
        "text": said.text,
        "tokens_in": said.usage.tokens_in,
        "tokens_out": said.usage.tokens_out,
        "duration_ms": said.duration_ms,
    });
    more(&mut value, cost, said.episode.as_deref(), said.unrecorded.as_ref());
    value
}

fn more(value: &mut Value, cost: Option<f64>, episode: Option<&str>, unrecorded: Option<&kapsa_memory::Error>) {
    if let Some(cost) = cost {
        value["cost"] = cost.into();
    }
    if let Some(episode) = episode {
        value["episode"] = episode.into();
    }
    if let Some(error) = unrecorded {
        value["unrecorded"] = error.to_string().into();
    }
}
