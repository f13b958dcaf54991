//! An operator: a set of named nodes, each a question to a model; who asks, and with which memory,
//! is not known here.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use super::error::RoleError;
use super::scope::MemoryScope;
use super::text::Text;
use super::tool::Tool;
use kapsa_memory::access::ClearanceProfile;

/// Most requests of an agent node by default.
pub const STEPS_DEFAULT: u32 = 10;

/// One question to a model.
///
/// Its system prompt is made of the role's soul, its own, and what the memory knows in its scope;
/// its message is made from the state; its answer goes into the state. See [`llm_node`] and
/// [`agent_node`].
#[derive(Clone)]
pub struct Node {
    pub(super) name: String,
    pub(super) system: String,
    pub(super) prompt: Text,
    pub(super) model: Option<String>,
    pub(super) temperature: Option<f32>,
    pub(super) tokens_max: Option<u32>,
    pub(super) scope: Option<MemoryScope>,
    pub(super) output: Option<String>,
    /// None for a node that is one request.
    pub(super) tools: Option<Vec<Arc<dyn Tool>>>,
    pub(super) steps_max: Option<u32>,
}

/// A node that is one request, with what is said to the model.
///
/// ```
/// use kapsa_roles::{MemoryScope, Text, llm_node, text_at};
///
/// let qualify = llm_node("qualify", Text::template("Score: {lead}"))
///     .system("You are a lead qualifier.")
///     .model("sonnet")
///     .scope(
///         MemoryScope::new()
///             .domain("revenue")
///             .entity(Text::with(|state| text_at(state, "company"))),
///     )
///     .output("score");
/// ```
pub fn llm_node(name: impl Into<String>, prompt: impl Into<Text>) -> Node {
    Node {
        name: name.into(),
        system: String::new(),
        prompt: prompt.into(),
        model: None,
        temperature: None,
        tokens_max: None,
        scope: None,
        output: None,
        tools: None,
        steps_max: None,
    }
}

/// A node whose model may call tools until it answers, with what is said to the model first.
pub fn agent_node(
    name: impl Into<String>,
    prompt: impl Into<Text>,
    tools: impl IntoIterator<Item = Arc<dyn Tool>>,
) -> Node {
    Node { tools: Some(tools.into_iter().collect()), ..llm_node(name, prompt) }
}

impl Node {
    /// The system prompt, before the message. Default: nothing.
    #[must_use]
    pub fn system(mut self, system: impl Into<String>) -> Node {
        self.system = system.into();
        self
    }

    /// A tier such as `sonnet`, or a model's name. Default: the provider's own.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Node {
        self.model = Some(model.into());
        self
    }

    /// How much chance there is in the answer, from 0. Default: the provider's own.
    #[must_use]
    pub fn temperature(mut self, temperature: f32) -> Node {
        self.temperature = Some(temperature);
        self
    }

    /// Most tokens of each reply. Default: the provider's own.
    #[must_use]
    pub fn tokens_max(mut self, tokens_max: u32) -> Node {
        self.tokens_max = Some(tokens_max);
        self
    }

    /// What it needs of the memory. Default: nothing. Without a memory it means nothing.
    #[must_use]
    pub fn scope(mut self, scope: MemoryScope) -> Node {
        self.scope = Some(scope);
        self
    }

    /// The key of the state that the answer goes to: as a JSON value when it is one. Default: none,
    /// the answer is only returned.
    #[must_use]
    pub fn output(mut self, key: impl Into<String>) -> Node {
        self.output = Some(key.into());
        self
    }

    /// Most requests of an agent node; with 0 nothing is asked and the answer is empty. Default:
    /// [`STEPS_DEFAULT`].
    #[must_use]
    pub fn steps_max(mut self, steps_max: u32) -> Node {
        self.steps_max = Some(steps_max);
        self
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many requests it may take.
    pub(super) fn steps(&self) -> u32 {
        if self.tools.is_some() { self.steps_max.unwrap_or(STEPS_DEFAULT) } else { 1 }
    }

    fn problem(&self) -> Option<String> {
        if self.name.is_empty() {
            return Some("it has no name".to_owned());
        }
        if self.temperature.is_some_and(|temperature| !(0.0..f32::INFINITY).contains(&temperature))
        {
            return Some("a temperature must not be negative".to_owned());
        }
        match &self.tools {
            None if self.steps_max.is_some() => {
                Some("it is one request and has no limit of steps".to_owned())
            }
            None => None,
            Some(tools) => problem_of(tools),
        }
    }
}

fn problem_of(tools: &[Arc<dyn Tool>]) -> Option<String> {
    let mut names = HashSet::new();
    for name in tools.iter().map(|tool| tool.spec().name.as_str()) {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(is_plain) {
            return Some(format!(
                "`{}` is not a name for a tool: letters, digits, `_` and `-`",
                name.escape_debug()
            ));
        }
        if !names.insert(name) {
            return Some(format!("two of its tools are called `{name}`"));
        }
    }
    None
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A set of named nodes.
#[derive(Clone, Debug)]
pub struct Operator {
    id: String,
    nodes: Arc<[Node]>,
}

impl Operator {
    /// The same, whose tools know no more than this.
    pub(super) fn within(&self, clearance: &ClearanceProfile) -> Operator {
        let mut nodes = self.nodes.to_vec();
        for tool in nodes.iter_mut().flat_map(|node| node.tools.iter_mut().flatten()) {
            if let Some(narrower) = tool.within(clearance) {
                *tool = narrower;
            }
        }
        Operator { id: self.id.clone(), nodes: nodes.into() }
    }

    /// An operator of these nodes.
    ///
    /// # Errors
    /// [`RoleError::Invalid`] when something has no name, two nodes or two tools of a node have the
    /// same, or a node is given what it cannot do.
    pub fn new(
        id: impl Into<String>,
        nodes: impl IntoIterator<Item = Node>,
    ) -> Result<Operator, RoleError> {
        let operator = Operator { id: id.into(), nodes: nodes.into_iter().collect() };
        let what = format!("operator `{}`", operator.id);
        if operator.id.is_empty() {
            return Err(RoleError::invalid("an operator", "it has no id"));
        }
        let mut names = HashSet::new();
        for node in operator.nodes.iter() {
            if let Some(problem) = node.problem() {
                return Err(RoleError::invalid(format!("node `{}` of {what}", node.name), problem));
            }
            if !names.insert(&node.name) {
                return Err(RoleError::invalid(
                    what,
                    format!("two of its nodes are called `{}`", node.name),
                ));
            }
        }
        Ok(operator)
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its nodes, in the order in which they were given.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The node with this name.
    ///
    /// # Errors
    /// [`RoleError::UnknownNode`].
    pub fn node(&self, name: &str) -> Result<&Node, RoleError> {
        let unknown =
            || RoleError::UnknownNode { operator: self.id.clone(), node: name.to_owned() };
        self.nodes.iter().find(|node| node.name == name).ok_or_else(unknown)
    }
}
