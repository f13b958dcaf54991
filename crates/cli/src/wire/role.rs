//! The JSON of `role`.

use std::collections::BTreeMap;
use std::path::Path;

use kapsa_memory::Micros;
use kapsa_memory::access::ClearanceProfile;
use kapsa_roles::{NodeRun, OperatorSpec, Permission, Response, RoleSpec, State};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{Extent, Time, access, show};

/// The roles that `kapsa.toml` declares.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RolesOut<'a> {
    /// The `kapsa.toml` in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(flatten)]
    extent: Extent,
    /// The roles.
    roles: Vec<RoleOut<'a>>,
}

impl<'a> RolesOut<'a> {
    pub(crate) fn of(file: Option<&Path>, specs: &'a [RoleSpec]) -> RolesOut<'a> {
        let roles = specs.iter().map(|spec| RoleOut::of(spec, None, None)).collect();
        RolesOut { file: file.map(show), extent: Extent::whole(specs.len()), roles }
    }
}

/// A role.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Role")]
pub(crate) struct RoleOut<'a> {
    /// Its id.
    id: &'a str,
    /// Who it is.
    soul: &'a str,
    /// What it wants.
    goals: &'a [String],
    /// Model that answers for it, where one is declared; `role list` leaves it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    /// The highest classification that it may read in each domain of this capsule; `role list`
    /// leaves it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    clearance: Option<BTreeMap<&'a str, &'static str>>,
    /// What it may do; left out where it may do everything on its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    authority: Option<AuthorityOut<'a>>,
    /// What it can do.
    operators: Vec<OperatorOut<'a>>,
}

/// What a role may do. An action that is in no list needs approval.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Authority")]
struct AuthorityOut<'a> {
    /// Actions that it may take on its own.
    autonomous: &'a [String],
    /// Actions that somebody must approve.
    needs_approval: &'a [String],
    /// Actions that it must never take.
    forbidden: &'a [String],
}

/// An operator: nodes that run one after the other.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Operator")]
struct OperatorOut<'a> {
    /// Its id.
    id: &'a str,
    /// Its nodes.
    nodes: Vec<NodeOut<'a>>,
}

/// A node of an operator.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Node")]
struct NodeOut<'a> {
    /// Its name.
    name: &'a str,
    /// Whether it is one request to a model, or a loop of requests and calls of tools.
    #[schemars(extend("enum" = ["llm", "agent"]))]
    kind: &'static str,
}

impl<'a> RoleOut<'a> {
    pub(crate) fn of(
        spec: &'a RoleSpec,
        model: Option<&'a str>,
        clearance: Option<&'a ClearanceProfile>,
    ) -> RoleOut<'a> {
        RoleOut {
            id: &spec.id,
            soul: &spec.soul,
            goals: &spec.goals,
            model,
            clearance: clearance.map(access::domains),
            authority: spec.authority.as_ref().map(|lists| AuthorityOut {
                autonomous: &lists.autonomous,
                needs_approval: &lists.needs_approval,
                forbidden: &lists.forbidden,
            }),
            operators: spec.operators.iter().map(OperatorOut::from).collect(),
        }
    }
}

impl<'a> From<&'a OperatorSpec> for OperatorOut<'a> {
    fn from(operator: &'a OperatorSpec) -> OperatorOut<'a> {
        let nodes =
            operator.nodes.iter().map(|node| NodeOut { name: &node.name, kind: node.kind.name() });
        OperatorOut { id: &operator.id, nodes: nodes.collect() }
    }
}

/// Whether a role may do something. If it may not on its own, the exit code is 1.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PermissionOut<'a> {
    /// The role.
    role: &'a str,
    /// The action.
    action: &'a str,
    /// Whether it may.
    #[schemars(extend("enum" = ["autonomous", "needs_approval", "forbidden"]))]
    permission: &'static str,
}

impl<'a> PermissionOut<'a> {
    pub(crate) fn of(role: &'a str, action: &'a str, permission: Permission) -> PermissionOut<'a> {
        PermissionOut { role, action, permission: permission.name() }
    }
}

/// What the nodes of an operator answered.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RanOut<'a> {
    /// The role.
    role: &'a str,
    /// The operator.
    operator: &'a str,
    /// The nodes that ran, in order.
    nodes: Vec<NodeRunOut<'a>>,
    /// What the nodes read and wrote.
    state: &'a State,
}

/// What a node answered.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NodeRun")]
struct NodeRunOut<'a> {
    /// The node.
    node: &'a str,
    /// Its answer: the JSON value that the model wrote, else its text.
    output: &'a Value,
    /// Whether the model came to an end; if not, `output` is what it wrote last.
    answered: bool,
    /// Number of requests to the model.
    step_count: u32,
    #[serde(flatten)]
    spent: Spent<'a>,
}

/// What an answer of a model cost.
#[derive(Debug, Serialize, JsonSchema)]
struct Spent<'a> {
    /// Tokens that the model read.
    tokens_in: u64,
    /// Tokens that the model wrote.
    tokens_out: u64,
    /// How long it took, in milliseconds.
    duration_ms: u64,
    /// What it cost, where the price of the model is declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    /// Id of the episode that records it.
    #[serde(skip_serializing_if = "Option::is_none")]
    episode: Option<&'a str>,
    /// Why no episode records it.
    #[serde(skip_serializing_if = "Option::is_none")]
    unrecorded: Option<String>,
}

impl<'a> RanOut<'a> {
    /// `costs` are those of the runs.
    pub(crate) fn of(
        role: &'a str,
        operator: &'a str,
        runs: &'a [NodeRun],
        costs: &[Option<f64>],
        state: &'a State,
    ) -> RanOut<'a> {
        let one = |(run, cost): (&'a NodeRun, &Option<f64>)| NodeRunOut {
            node: &run.node,
            output: &run.output,
            answered: run.answered,
            step_count: run.steps,
            spent: Spent {
                tokens_in: run.usage.tokens_in,
                tokens_out: run.usage.tokens_out,
                duration_ms: run.duration_ms,
                cost: *cost,
                episode: run.episode.as_deref(),
                unrecorded: run.unrecorded.as_ref().map(ToString::to_string),
            },
        };
        RanOut { role, operator, nodes: runs.iter().zip(costs).map(one).collect(), state }
    }
}

/// What a role answered.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AnsweredOut<'a> {
    /// The role.
    role: &'a str,
    /// The answer.
    text: &'a str,
    #[serde(flatten)]
    spent: Spent<'a>,
}

impl<'a> AnsweredOut<'a> {
    pub(crate) fn of(role: &'a str, said: &'a Response, cost: Option<f64>) -> AnsweredOut<'a> {
        let spent = Spent {
            tokens_in: said.usage.tokens_in,
            tokens_out: said.usage.tokens_out,
            duration_ms: said.duration_ms,
            cost,
            episode: said.episode.as_deref(),
            unrecorded: said.unrecorded.as_ref().map(ToString::to_string),
        };
        AnsweredOut { role, text: &said.text, spent }
    }
}

/// What roles are scheduled to do.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ScheduleOut {
    #[serde(flatten)]
    extent: Extent,
    /// The jobs, by role.
    jobs: Vec<JobOut>,
}

impl ScheduleOut {
    pub(crate) fn of(jobs: Vec<JobOut>) -> ScheduleOut {
        ScheduleOut { extent: Extent::whole(jobs.len()), jobs }
    }
}

/// Something that a role is scheduled to do.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Job")]
pub(crate) struct JobOut {
    /// The role.
    pub(crate) role: String,
    /// What it does: `reflect`, an operator, or an operator and a node of it.
    pub(crate) job: String,
    /// Whether this call did it.
    pub(crate) ran: bool,
    /// When it is due next.
    pub(crate) next_at: Time,
    /// Number of nodes that ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "node_count")]
    pub(crate) nodes: Option<u64>,
    /// Number of insights that are new.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "insight_count")]
    pub(crate) learned: Option<u64>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

impl JobOut {
    /// A job that did not run.
    pub(crate) fn planned(role: &str, job: String, next: Micros) -> JobOut {
        let role = role.to_string();
        let next_at = Time(next);
        JobOut { role, job, ran: false, next_at, nodes: None, learned: None, error: None }
    }

    pub(crate) fn ran(&mut self, nodes: u64) {
        (self.ran, self.nodes) = (true, Some(nodes));
    }

    pub(crate) fn learned(&mut self, insights: u64) {
        (self.ran, self.learned) = (true, Some(insights));
    }

    pub(crate) fn failed(&mut self, error: String) {
        (self.ran, self.error) = (true, Some(error));
    }
}
