//! Roles described without code. Plain data, checked when a role is made of it; which file it comes
//! from is not known here.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::authority::AuthorityConfig;
use super::error::RoleError;
use super::operator::{Node, Operator, agent_node, llm_node};
use super::role::Role;
use super::scope::MemoryScope;
use super::text::{Text, quoted};
use super::tool::Tool;
use kapsa_agents::TimeSource;
use kapsa_memory::access::{Classification, ClearanceProfile};

/// A role.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoleSpec {
    /// Its id.
    pub id: String,
    /// Who it is.
    pub soul: String,
    /// What it wants.
    pub goals: Vec<String>,
    /// The highest level that it may know in each domain, by name: `public`, `internal`,
    /// `confidential` or `restricted`.
    pub clearance: BTreeMap<String, String>,
    /// What it may do. None: everything on its own.
    pub authority: Option<AuthorityConfig>,
    /// What it can do.
    pub operators: Vec<OperatorSpec>,
}

/// An operator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperatorSpec {
    /// Its id.
    pub id: String,
    /// Its nodes, in the order in which a chain runs them.
    pub nodes: Vec<NodeSpec>,
}

/// What kind of node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeKind {
    /// One request.
    #[default]
    Llm,
    /// Requests and calls of tools until there is an answer.
    Agent,
}

impl NodeKind {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            NodeKind::Llm => "llm",
            NodeKind::Agent => "agent",
        }
    }

    /// The one with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<NodeKind> {
        [NodeKind::Llm, NodeKind::Agent].into_iter().find(|kind| kind.name() == name)
    }
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeSpec {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: NodeKind,
    /// The system prompt, as it is.
    pub system: String,
    /// What is said to the model: a [`super::Template`] of the state.
    pub prompt: String,
    /// The key of the state that the answer goes to. None: the answer is only returned.
    pub output: Option<String>,
    /// A tier or a model's name. None: the provider's own.
    pub model: Option<String>,
    /// How much chance there is in the answer, from 0. None: the provider's own.
    pub temperature: Option<f32>,
    /// Most tokens of each reply. None: the provider's own.
    pub tokens_max: Option<u32>,
    /// Most requests of an agent node. None: [`super::STEPS_DEFAULT`].
    pub steps_max: Option<u32>,
    /// Names of the tools that an agent node may call.
    pub tools: Vec<String>,
    /// What it needs of the memory. None: nothing.
    pub scope: Option<ScopeSpec>,
}

/// What a node needs of a memory: each part a [`super::Template`] of the state, and anything when
/// it is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeSpec {
    /// About this entity.
    pub entity: String,
    /// Of this field of knowledge.
    pub domain: String,
    /// With one of these tags.
    pub tags: Vec<String>,
    /// With this text in it.
    pub query: String,
}

impl RoleSpec {
    /// A role that has nothing but an id and a soul.
    #[must_use]
    pub fn new(id: impl Into<String>, soul: impl Into<String>) -> RoleSpec {
        RoleSpec { id: id.into(), soul: soul.into(), ..RoleSpec::default() }
    }
}

impl OperatorSpec {
    /// An operator of these nodes.
    #[must_use]
    pub fn new(id: impl Into<String>, nodes: impl IntoIterator<Item = NodeSpec>) -> OperatorSpec {
        OperatorSpec { id: id.into(), nodes: nodes.into_iter().collect() }
    }
}

impl NodeSpec {
    /// A node of one request, with its prompt.
    #[must_use]
    pub fn llm(name: impl Into<String>, prompt: impl Into<String>) -> NodeSpec {
        NodeSpec { name: name.into(), prompt: prompt.into(), ..NodeSpec::default() }
    }

    /// A node that may call these tools, with its prompt.
    #[must_use]
    pub fn agent<T: Into<String>>(
        name: impl Into<String>,
        prompt: impl Into<String>,
        tools: impl IntoIterator<Item = T>,
    ) -> NodeSpec {
        let tools = tools.into_iter().map(Into::into).collect();
        NodeSpec { kind: NodeKind::Agent, tools, ..NodeSpec::llm(name, prompt) }
    }

    fn build(&self, operator: &str, tools: &[Arc<dyn Tool>]) -> Result<Node, RoleError> {
        let invalid = |reason: String| {
            RoleError::invalid(format!("node `{}` of operator `{operator}`", self.name), reason)
        };
        if self.prompt.trim().is_empty() {
            return Err(invalid("it has no prompt".to_owned()));
        }
        let prompt = Text::template(&self.prompt);
        let node = match self.kind {
            NodeKind::Llm if !self.tools.is_empty() => {
                return Err(invalid(
                    "it is one request and can call no tools; `agent` can".to_owned(),
                ));
            }
            NodeKind::Llm => llm_node(&self.name, prompt),
            NodeKind::Agent => agent_node(&self.name, prompt, self.chosen(tools).map_err(invalid)?),
        };
        Ok(Node {
            system: self.system.clone(),
            output: self.output.clone(),
            model: self.model.clone(),
            temperature: self.temperature,
            tokens_max: self.tokens_max,
            steps_max: self.steps_max,
            scope: self.scope.as_ref().map(ScopeSpec::build),
            ..node
        })
    }

    fn chosen(&self, tools: &[Arc<dyn Tool>]) -> Result<Vec<Arc<dyn Tool>>, String> {
        let find = |name: &String| tools.iter().find(|tool| &tool.spec().name == name).cloned();
        let unknown: Vec<String> =
            self.tools.iter().filter(|name| find(name).is_none()).cloned().collect();
        if unknown.is_empty() {
            return Ok(self.tools.iter().filter_map(find).collect());
        }
        let known: Vec<String> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { quoted(&known) };
        Err(format!("there is no tool {}; there is {known}", quoted(&unknown)))
    }
}

impl ScopeSpec {
    fn build(&self) -> MemoryScope {
        MemoryScope::new()
            .entity(Text::template(&self.entity))
            .domain(Text::template(&self.domain))
            .tags(self.tags.iter().map(|tag| Text::template(tag)))
            .query(Text::template(&self.query))
    }
}

impl Role {
    /// A role of this description, whose nodes may call `tools` by name. It has no model and no
    /// memory yet: [`super::RoleRuntime::new`] gives it both.
    ///
    /// # Errors
    /// [`RoleError::Invalid`], with the role, operator or node at fault.
    pub fn from_spec(
        spec: &RoleSpec,
        tools: &[Arc<dyn Tool>],
        clock: impl Into<TimeSource>,
    ) -> Result<Role, RoleError> {
        let mut builder = Role::builder(&spec.id, clock).soul(&spec.soul).goals(&spec.goals);
        if let Some(authority) = &spec.authority {
            builder = builder.authority(authority.clone());
        }
        if !spec.clearance.is_empty() {
            builder = builder.clearance(clearance(spec)?);
        }
        for operator in &spec.operators {
            let nodes: Result<Vec<Node>, RoleError> =
                operator.nodes.iter().map(|node| node.build(&operator.id, tools)).collect();
            builder = builder.operator(Operator::new(&operator.id, nodes?)?);
        }
        builder.build()
    }
}

fn clearance(spec: &RoleSpec) -> Result<ClearanceProfile, RoleError> {
    let mut profile = ClearanceProfile::new(&spec.id);
    for (domain, level) in &spec.clearance {
        let Some(level) = Classification::named(level) else {
            let known = Classification::ALL.map(|level| level.name().to_owned());
            let reason =
                format!("`{level}` for `{domain}` is not a level; there are {}", quoted(&known));
            return Err(RoleError::invalid(format!("role `{}`", spec.id), reason));
        };
        profile = profile.with(domain, level);
    }
    Ok(profile)
}
