//! Runs an operator. Brings its nodes together with a model, a memory and a clock; where those come
//! from is not known here.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::answer::answer_of;
use super::episode::{Outcome, Recorded, Step};
use super::error::{RoleError, StepCause, StepError};
use super::memory::{Assembled, ContextAssembler, EpisodeRecorder};
use super::notes::{self, NoteSource};
use super::operator::{Node, Operator};
use super::prompt::paragraphs;
use super::scope::Scope;
use super::text::{MissingKeys, State, text_of};
use super::turns::{Turns, talk};
use kapsa_agents::{Secrets, TimeSource};
use kapsa_memory::Error;
use kapsa_memory::record::Micros;
use kapsa_model::{ChatRequest, LanguageModel, Message, Usage};

/// An operator with what it needs to run.
///
/// One that belongs to a role comes from [`Role::operator`](crate::Role::operator) and speaks with
/// the role's soul and memory.
#[derive(Clone)]
pub struct OperatorRuntime {
    operator: Operator,
    clock: TimeSource,
    pub(super) role: String,
    soul: String,
    model: Option<Arc<dyn LanguageModel>>,
    assembler: Option<Arc<dyn ContextAssembler>>,
    recorder: Option<Arc<dyn EpisodeRecorder>>,
    notes: Option<Arc<dyn NoteSource>>,
}

/// What a node did.
#[derive(Debug)]
pub struct NodeRun {
    /// The node.
    pub node: String,
    /// Its answer: a JSON value when it is one, otherwise a text.
    pub output: Value,
    /// Whether the model came to an end. False when the limit of steps was reached; the output is
    /// what it said last then.
    pub answered: bool,
    /// Requests that were answered.
    pub steps: u32,
    /// Tokens of all of them.
    pub usage: Usage,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Id of the episode of it; none when there is none.
    pub episode: Option<String>,
    /// Why it is not among the episodes; none when it is, or nobody records.
    pub unrecorded: Option<Error>,
}

/// A chain that broke.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct ChainError {
    /// The nodes before; their answers are in the state.
    pub done: Vec<NodeRun>,
    /// Why the next one failed.
    #[source]
    pub error: RoleError,
}

/// What is known of a node's call while it goes on.
#[derive(Default)]
struct NodeCall {
    scope: Scope,
    secrets: Secrets,
    input: String,
    turns: Turns,
}

impl OperatorRuntime {
    /// An operator that has nothing yet. The clock gives microseconds since 1970.
    #[must_use]
    pub fn new(operator: Operator, clock: impl Into<TimeSource>) -> OperatorRuntime {
        OperatorRuntime {
            operator,
            clock: clock.into(),
            role: String::new(),
            soul: String::new(),
            model: None,
            assembler: None,
            recorder: None,
            notes: None,
        }
    }

    /// Who is asked. Default: nobody, and no node can run.
    #[must_use]
    pub fn with_model(mut self, model: Arc<dyn LanguageModel>) -> OperatorRuntime {
        self.model = Some(model);
        self
    }

    /// What every prompt begins with. Default: nothing.
    #[must_use]
    pub fn with_soul(mut self, soul: impl Into<String>) -> OperatorRuntime {
        self.soul = soul.into();
        self
    }

    /// Who knows what is in a node's scope. Default: nobody, and scopes mean nothing.
    #[must_use]
    pub fn with_assembler(mut self, assembler: Arc<dyn ContextAssembler>) -> OperatorRuntime {
        self.assembler = Some(assembler);
        self
    }

    /// Who keeps an episode of each call. Default: nobody.
    #[must_use]
    pub fn with_recorder(mut self, recorder: Arc<dyn EpisodeRecorder>) -> OperatorRuntime {
        self.recorder = Some(recorder);
        self
    }

    /// The role's notes, which every prompt ends with. Default: none.
    #[must_use]
    pub fn with_notes(mut self, notes: Arc<dyn NoteSource>) -> OperatorRuntime {
        self.notes = Some(notes);
        self
    }

    /// The operator.
    #[must_use]
    pub fn operator(&self) -> &Operator {
        &self.operator
    }

    /// Who knows what is in a node's scope.
    #[must_use]
    pub fn assembler(&self) -> Option<&dyn ContextAssembler> {
        self.assembler.as_deref()
    }

    /// Who keeps the episodes.
    #[must_use]
    pub fn recorder(&self) -> Option<&dyn EpisodeRecorder> {
        self.recorder.as_deref()
    }

    /// Runs a node; its answer goes into the state under its key. A node that fails leaves the
    /// state as it was, and one whose future is dropped leaves no episode.
    ///
    /// # Errors
    /// [`RoleError::UnknownNode`] and [`RoleError::NoModel`], of which nothing is recorded;
    /// [`RoleError::Step`] when the node failed.
    pub async fn run(&self, node: &str, state: &mut State) -> Result<NodeRun, RoleError> {
        let node = self.operator.node(node)?;
        let who = || format!("operator `{}`", self.operator.id());
        let model = self.model.as_deref().ok_or_else(|| RoleError::NoModel { who: who() })?;

        let started = self.clock.now();
        let mut call = NodeCall::default();
        let result = self.ask(model, node, state, &mut call).await;
        let ended = self.clock.now();

        let step = self.step(node, &call, started, ended, outcome(node, &call.turns, &result));
        let duration_ms = step.duration_ms();
        let Recorded { episode, problem: unrecorded } = step.record(self.recorder());
        let Turns { steps, usage, answered, .. } = call.turns;
        let node_name = node.name.clone();
        match result {
            Ok(output) => {
                if let Some(key) = &node.output {
                    state.insert(key.clone(), output.clone());
                }
                Ok(NodeRun {
                    node: node_name,
                    output,
                    answered,
                    steps,
                    usage,
                    duration_ms,
                    episode,
                    unrecorded,
                })
            }
            Err(cause) => {
                let (role, operator) = (self.role.clone(), self.operator.id().to_owned());
                Err(Box::new(StepError {
                    role,
                    operator,
                    node: node_name,
                    cause,
                    usage,
                    unrecorded,
                })
                .into())
            }
        }
    }

    /// Runs nodes one after the other over one state, so that each sees what the ones before
    /// answered.
    ///
    /// # Errors
    /// As [`OperatorRuntime::run`], with what was done before. When a name is unknown nothing is
    /// run.
    pub async fn run_chain(
        &self,
        nodes: &[&str],
        state: &mut State,
    ) -> Result<Vec<NodeRun>, ChainError> {
        let mut done = Vec::with_capacity(nodes.len());
        if let Some(error) = nodes.iter().find_map(|node| self.operator.node(node).err()) {
            return Err(ChainError { done, error });
        }
        for node in nodes {
            match self.run(node, state).await {
                Ok(run) => done.push(run),
                Err(error) => return Err(ChainError { done, error }),
            }
        }
        Ok(done)
    }

    /// Runs all nodes in the order in which the operator has them.
    ///
    /// # Errors
    /// As [`OperatorRuntime::run_chain`].
    pub async fn run_all(&self, state: &mut State) -> Result<Vec<NodeRun>, ChainError> {
        let nodes: Vec<&str> = self.operator.nodes().iter().map(Node::name).collect();
        self.run_chain(&nodes, state).await
    }

    async fn ask(
        &self,
        model: &dyn LanguageModel,
        node: &Node,
        state: &State,
        call: &mut NodeCall,
    ) -> Result<Value, StepCause> {
        let request = self.request(node, state, call)?;
        let tools = node.tools.as_deref().unwrap_or_default();
        talk(model, request, tools, node.steps(), &mut call.turns).await?;
        // A node that is one request has its answer, whatever else the model wanted.
        call.turns.answered |= node.tools.is_none();
        Ok(answer_of(&call.turns.text))
    }

    /// The first request of a node. What is found out on the way is kept in `call`, for the episode
    /// of a node that fails.
    fn request(
        &self,
        node: &Node,
        state: &State,
        call: &mut NodeCall,
    ) -> Result<ChatRequest, StepCause> {
        let (input, mut missing) = node.prompt.fill(state);
        call.input = input;
        if self.assembler.is_some() || self.recorder.is_some() {
            let (scope, lacks) =
                node.scope.as_ref().map(|scope| scope.fill(state)).unwrap_or_default();
            call.scope = scope;
            // A part that is unknown only to the episode is not a reason to fail.
            missing.extend(lacks.into_iter().filter(|_| self.assembler.is_some()));
        }
        MissingKeys::check(missing)?;
        Ok(ChatRequest {
            system: self.system(node, call)?,
            messages: vec![Message::User(call.input.clone())],
            model: node.model.clone(),
            temperature: node.temperature,
            tokens_max: node.tokens_max,
            tools: node.tools.iter().flatten().map(|tool| tool.spec().clone()).collect(),
        })
    }

    fn system(&self, node: &Node, call: &mut NodeCall) -> Result<String, Error> {
        let context = match (&self.assembler, &node.scope) {
            (Some(assembler), Some(scope)) => assembler.assemble(&call.scope, scope.budget())?,
            _ => Assembled::default(),
        };
        call.secrets = context.secrets;
        let notes = match &self.notes {
            Some(notes) => notes::section(&notes.recall(&self.role, &call.input)?),
            None => String::new(),
        };
        Ok(paragraphs(&[&self.soul, &node.system, &context.text, &notes]))
    }

    fn step<'a>(
        &'a self,
        node: &'a Node,
        call: &'a NodeCall,
        started: Micros,
        ended: Micros,
        result: Outcome,
    ) -> Step<'a> {
        let mut secrets = call.secrets.clone();
        node.tools.iter().flatten().for_each(|tool| secrets.join(&tool.secrets()));
        Step {
            role: &self.role,
            operator: self.operator.id(),
            node: &node.name,
            started,
            ended,
            usage: call.turns.usage,
            scope: call.scope.clone(),
            secrets,
            input: &call.input,
            result,
        }
    }
}

fn outcome(node: &Node, turns: &Turns, result: &Result<Value, StepCause>) -> Outcome {
    let output = match result {
        Ok(output) => output,
        Err(cause) => return Outcome::failed(cause),
    };
    let mut values = Map::new();
    if !turns.answered {
        values.insert(
            "stopped".to_owned(),
            Value::from(format!("no answer after {} steps", turns.steps)),
        );
    }
    if let Some(key) = &node.output {
        values.insert(key.clone(), output.clone());
    }
    Outcome { summary: text_of(output), values }
}

impl fmt::Debug for OperatorRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OperatorRuntime")
            .field("role", &self.role)
            .field("operator", &self.operator)
            .finish_non_exhaustive()
    }
}
