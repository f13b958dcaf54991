//! Knows no provider, store, file, run, network, terminal, environment or wall clock: a role speaks
//! to a model and to a memory through traits.
//!
//! Roles: who acts, by what steps, and within which limits.
//!
//! A [`Node`] is one question to a model, or a conversation in which the model calls tools. An
//! [`Operator`] is a set of nodes; an [`OperatorRuntime`] runs them over a JSON object. A [`Role`]
//! has operators, speaks with its soul, remembers through a [`RoleMemory`], and knows what it may
//! do ([`AuthorityConfig`]). A [`RoleRuntime`] holds roles that share a model and a workspace.
//!
//! ```
//! use std::sync::Arc;
//!
//! use kapsa_model::{ChatReply, ScriptedModel, block_on};
//! use kapsa_roles::{AuthorityConfig, Operator, Permission, Role, Text, llm_node};
//! use serde_json::json;
//!
//! let qualify = llm_node("qualify", Text::template("Score: {lead}"))
//!     .system("You are a lead qualifier.")
//!     .output("score");
//! let model = Arc::new(ScriptedModel::new().rule("Acme", ChatReply::text(r#"{"score": 85}"#)));
//! let cro = Role::builder("cro", || 1_767_225_600_000_000)
//!     .soul("You are the CRO. Data-driven.")
//!     .operator(Operator::new("revenue_ops", [qualify])?)
//!     .authority(AuthorityConfig::new().forbidden(["sign_contracts"]))
//!     .model(model.clone())
//!     .build()?;
//!
//! let mut state = json!({"lead": "Acme"}).as_object().unwrap().clone();
//! block_on(cro.operator("revenue_ops")?.run("qualify", &mut state))?;
//! assert_eq!(state["score"], json!({"score": 85}));
//! let system = "You are the CRO. Data-driven.\n\nYou are a lead qualifier.";
//! assert_eq!(model.requests()[0].system, system);
//! assert_eq!(cro.can_act("sign_contracts"), Permission::Forbidden);
//! # Ok::<(), kapsa_roles::RoleError>(())
//! ```

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod answer;
mod authority;
mod config;
mod episode;
mod error;
mod memory;
mod notes;
mod operator;
mod operator_runtime;
mod prompt;
mod role;
mod runtime;
mod schedule;
mod scope;
mod shared;
mod team;
mod text;
mod tool;
mod tools;
mod turns;

pub use authority::{AuthorityConfig, Permission};
pub use config::{NodeKind, NodeSpec, OperatorSpec, RoleSpec, ScopeSpec};
pub use error::{RoleError, StepCause, StepError};
pub use memory::{
    Assembled, ContextAssembler, EpisodeRecorder, InsightSource, MemoryFactory, Reflect, RoleMemory,
};
pub use notes::{NOTES_MAX, NoteSource, Notes};
pub use operator::{Node, Operator, STEPS_DEFAULT, agent_node, llm_node};
pub use operator_runtime::{ChainError, NodeRun, OperatorRuntime};
pub use role::{RESPOND_INSIGHTS_MAX, Response, Role, RoleBuilder};
pub use runtime::RoleRuntime;
pub use schedule::{
    IntervalScheduler, Job, JobDone, JobRun, LastRuns, RunsOfProcess, Scheduler, Work,
};
pub use scope::{CONTEXT_TOKENS_DEFAULT, MemoryScope, Scope};
pub use shared::Shared;
pub use team::TeamMemories;
pub use text::{MissingKeys, State, Template, Text, text_at};
pub use tool::{TOOL_RESULT_BYTES_MAX, Tool, ToolError, function_tool};
pub use tools::{SEARCH_TOKENS_MAX, memory_tools};

/// What a program of roles with a memory begins with.
///
/// ```
/// use kapsa_roles::prelude::*;
///
/// let clock = || 1_767_225_600_000_000;
/// let memory = AgentMemory::new("cro", clock).with_workspace(WorkspaceMemory::new(clock).into());
/// memory.store_insight(Insight::new("i1", "cro", "A VP as sponsor predicts a deal", 0))?;
/// let cro = Role::builder("cro", clock).memory(std::sync::Arc::new(memory)).build()?;
/// assert_eq!(cro.id(), "cro");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod prelude {
    pub use kapsa_agents::{
        AgentMemory, Episode, Fact, Insight, MemoryFilesystem, WorkspaceMemory,
    };
    pub use kapsa_memory::access::{Classification, ClearanceProfile};

    pub use crate::{
        AuthorityConfig, Operator, OperatorRuntime, Role, RoleRuntime, agent_node, llm_node,
    };
}
