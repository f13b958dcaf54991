//! A role: who it is, what it may do, and what it says. Knows the role's parts; how nodes run is
//! not known here.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::authority::{AuthorityConfig, Permission};
use super::episode::{Outcome, Recorded, Step};
use super::error::{RoleError, StepCause, StepError};
use super::memory::{ContextAssembler, EpisodeRecorder, MemoryFactory, RoleMemory};
use super::notes::{self, NoteSource};
use super::operator::Operator;
use super::operator_runtime::OperatorRuntime;
use super::prompt::{self, paragraphs};
use super::scope::Scope;
use super::shared::Shared;
use kapsa_agents::{AgentMemory, Insight, MemoryFilesystem, Reflection, Secrets, TimeSource};
use kapsa_memory::Error;
use kapsa_memory::access::ClearanceProfile;
use kapsa_model::{ChatRequest, LanguageModel, Message, Usage};

/// Most insights that an answer to a message is given.
pub const RESPOND_INSIGHTS_MAX: usize = 5;
/// The step that answers a message, as episodes name it.
const RESPOND: &str = "respond";

/// Somebody who acts: a soul, operators, an authority, and a memory of its own.
#[derive(Clone)]
pub struct Role {
    id: String,
    soul: String,
    goals: Vec<String>,
    operators: Vec<Operator>,
    authority: Option<AuthorityConfig>,
    clearance: Option<ClearanceProfile>,
    model: Option<Arc<dyn LanguageModel>>,
    memory: Option<Arc<dyn RoleMemory>>,
    notes: Option<Arc<dyn NoteSource>>,
    clock: TimeSource,
}

/// A role that is being described; see [`Role::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct RoleBuilder {
    role: Role,
}

impl RoleBuilder {
    /// Who it is; every prompt begins with it. Default: nothing.
    pub fn soul(mut self, soul: impl Into<String>) -> RoleBuilder {
        self.role.soul = soul.into();
        self
    }

    /// Adds goals, which every prompt lists after the soul.
    pub fn goals<S: Into<String>>(mut self, goals: impl IntoIterator<Item = S>) -> RoleBuilder {
        self.role.goals.extend(goals.into_iter().map(Into::into));
        self
    }

    /// Adds an operator.
    pub fn operator(mut self, operator: Operator) -> RoleBuilder {
        self.role.operators.push(operator);
        self
    }

    /// What it may do. Default: none, it may do everything on its own.
    pub fn authority(mut self, authority: AuthorityConfig) -> RoleBuilder {
        self.role.authority = Some(authority);
        self
    }

    /// What it may know; where its memory allows less, that. Default: what its memory allows,
    /// and what is public without one.
    pub fn clearance(mut self, clearance: ClearanceProfile) -> RoleBuilder {
        self.role.clearance = Some(clearance);
        self
    }

    /// Who is asked. Default: nobody, or whom its runtime has.
    pub fn model(mut self, model: Arc<dyn LanguageModel>) -> RoleBuilder {
        self.role.model = Some(model);
        self
    }

    /// Its memory. Default: none, or what its runtime gives it.
    pub fn memory(mut self, memory: Arc<dyn RoleMemory>) -> RoleBuilder {
        self.role.memory = Some(memory);
        self
    }

    /// Its notes, which count when it has no memory. Default: none.
    pub fn notes(mut self, notes: Arc<dyn NoteSource>) -> RoleBuilder {
        self.role.notes = Some(notes);
        self
    }

    /// The role.
    ///
    /// # Errors
    /// [`RoleError::Invalid`] when it has no id, two operators have the same, or the clearance is
    /// somebody else's.
    pub fn build(self) -> Result<Role, RoleError> {
        let role = self.role;
        let invalid =
            |reason: String| Err(RoleError::invalid(format!("role `{}`", role.id), reason));
        if role.id.is_empty() {
            return Err(RoleError::invalid("a role", "it has no id"));
        }
        if let Some(clearance) =
            role.clearance.as_ref().filter(|clearance| clearance.principal != role.id)
        {
            return invalid(format!("its clearance is that of `{}`", clearance.principal));
        }
        for (at, operator) in role.operators.iter().enumerate() {
            if role.operators[..at].iter().any(|other| other.id() == operator.id()) {
                return invalid(format!("two of its operators are called `{}`", operator.id()));
            }
        }
        Ok(role.narrowed())
    }
}

/// What a role said.
#[derive(Debug)]
pub struct Response {
    /// In its words.
    pub text: String,
    /// Tokens that it took.
    pub usage: Usage,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Id of the episode of it; none when there is none.
    pub episode: Option<String>,
    /// Why it is not among the episodes; none when it is, or the role has no memory.
    pub unrecorded: Option<Error>,
}

impl Role {
    /// Begins to describe a role. The clock gives microseconds since 1970.
    pub fn builder(id: impl Into<String>, clock: impl Into<TimeSource>) -> RoleBuilder {
        let role = Role {
            id: id.into(),
            soul: String::new(),
            goals: Vec::new(),
            operators: Vec::new(),
            authority: None,
            clearance: None,
            model: None,
            memory: None,
            notes: None,
            clock: clock.into(),
        };
        RoleBuilder { role }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Who it is.
    #[must_use]
    pub fn soul(&self) -> &str {
        &self.soul
    }

    /// What it wants.
    #[must_use]
    pub fn goals(&self) -> &[String] {
        &self.goals
    }

    /// What every prompt of it begins with: the soul, and the goals below.
    fn identity(&self) -> String {
        let goals = prompt::list("Goals", self.goals.iter().map(String::as_str));
        paragraphs(&[&self.soul, &goals])
    }

    /// What it may know: of its own clearance and its memory's the lower; nothing but what is
    /// public, unless something else was said.
    #[must_use]
    pub fn clearance(&self) -> ClearanceProfile {
        let of_memory = || self.agent_memory().map(|memory| memory.clearance().clone());
        self.clearance.clone().or_else(of_memory).unwrap_or_else(|| ClearanceProfile::new(&self.id))
    }

    /// Its memory.
    #[must_use]
    pub fn memory(&self) -> Option<&Arc<dyn RoleMemory>> {
        self.memory.as_ref()
    }

    /// Its memory as that of an agent, which can publish; none when it has no memory, or one of
    /// another kind.
    #[must_use]
    pub fn agent_memory(&self) -> Option<&AgentMemory> {
        self.memory.as_deref()?.agent()
    }

    /// Its memory, soul and goals as a file system, with traces of its own; none when it has no
    /// memory of an agent.
    #[must_use]
    pub fn memory_fs(&self) -> Option<MemoryFilesystem> {
        let files = MemoryFilesystem::of_agent(self.agent_memory()?.clone());
        Some(files.with_soul(&self.soul).with_goals(&self.goals))
    }

    /// Whether it may act so. A role without an authority may do everything on its own.
    #[must_use]
    pub fn can_act(&self, action: &str) -> Permission {
        self.authority
            .as_ref()
            .map_or(Permission::Autonomous, |authority| authority.can_act(action))
    }

    /// The ids of its operators, in the order in which they were given.
    #[must_use]
    pub fn list_operators(&self) -> Vec<&str> {
        self.operators.iter().map(Operator::id).collect()
    }

    /// An operator, with the role's soul, model and memory. Notes come with it when there is no
    /// memory.
    ///
    /// # Errors
    /// [`RoleError::UnknownOperator`].
    pub fn operator(&self, id: &str) -> Result<OperatorRuntime, RoleError> {
        let unknown =
            || RoleError::UnknownOperator { role: self.id.clone(), operator: id.to_owned() };
        let operator =
            self.operators.iter().find(|operator| operator.id() == id).ok_or_else(unknown)?;
        let mut runtime =
            OperatorRuntime::new(operator.clone(), self.clock.clone()).with_soul(self.identity());
        runtime.role.clone_from(&self.id);
        if let Some(model) = &self.model {
            runtime = runtime.with_model(Arc::clone(model));
        }
        if let Some(memory) = &self.memory {
            let assembler: Arc<dyn ContextAssembler> = Arc::clone(memory) as _;
            let recorder: Arc<dyn EpisodeRecorder> = Arc::clone(memory) as _;
            runtime = runtime.with_assembler(assembler).with_recorder(recorder);
        } else if let Some(notes) = &self.notes {
            runtime = runtime.with_notes(Arc::clone(notes));
        }
        Ok(runtime)
    }

    /// What the role says to a message, knowing its soul and up to [`RESPOND_INSIGHTS_MAX`]
    /// insights that have the message in them. An episode of it is kept where there is a memory.
    ///
    /// # Errors
    /// [`RoleError::NoModel`], of which nothing is recorded; [`RoleError::Step`] when the memory or
    /// the model failed.
    pub async fn respond(&self, message: &str) -> Result<Response, RoleError> {
        let model = self.asked()?;
        let started = self.clock.now();
        let (mut usage, mut secrets) = (Usage::default(), Secrets::default());
        let result = self.say(model, message, &mut usage, &mut secrets).await;
        let ended = self.clock.now();

        let outcome = match &result {
            Ok(text) => said(text),
            Err(cause) => Outcome::failed(cause),
        };
        let (role, operator, node) = (self.id.as_str(), "", RESPOND);
        let step = Step {
            role,
            operator,
            node,
            started,
            ended,
            usage,
            scope: Scope::default(),
            secrets,
            input: message,
            result: outcome,
        };
        let duration_ms = step.duration_ms();
        let recorder = self.memory.as_deref().map(|memory| memory as &dyn EpisodeRecorder);
        let Recorded { episode, problem: unrecorded } = step.record(recorder);
        match result {
            Ok(text) => Ok(Response { text, usage, duration_ms, episode, unrecorded }),
            Err(cause) => {
                let (role, operator, node) = (self.id.clone(), String::new(), RESPOND.to_owned());
                Err(Box::new(StepError { role, operator, node, cause, usage, unrecorded }).into())
            }
        }
    }

    /// Learns from what was done, with the model or, where there is none, by the memory's own
    /// rules. Without a memory there is nothing to learn from.
    ///
    /// # Errors
    /// [`RoleError::Reflect`] when the memory or the model failed.
    pub async fn reflect(&self) -> Result<Reflection, RoleError> {
        let Some(memory) = &self.memory else {
            return Ok(Reflection::default());
        };
        let identity = self.identity();
        let learned = memory.reflect(self.model.as_deref(), &identity).await;
        learned.map_err(|source| RoleError::Reflect { role: self.id.clone(), source })
    }

    fn asked(&self) -> Result<&dyn LanguageModel, RoleError> {
        self.model
            .as_deref()
            .ok_or_else(|| RoleError::NoModel { who: format!("role `{}`", self.id) })
    }

    async fn say(
        &self,
        model: &dyn LanguageModel,
        message: &str,
        usage: &mut Usage,
        secrets: &mut Secrets,
    ) -> Result<String, StepCause> {
        let messages = vec![Message::User(message.to_owned())];
        let request = ChatRequest {
            system: self.system_for(message, secrets)?,
            messages,
            ..ChatRequest::default()
        };
        let reply = model.complete(&request).await.inspect_err(|error| *usage = error.usage)?;
        *usage = reply.usage;
        Ok(reply.text)
    }

    fn system_for(&self, message: &str, secrets: &mut Secrets) -> Result<String, Error> {
        let wanted = message.trim();
        let known = match (&self.memory, &self.notes) {
            // Every text has the empty one in it.
            (Some(_), _) if wanted.is_empty() => String::new(),
            (Some(memory), _) => {
                let insights = memory.matching(wanted, RESPOND_INSIGHTS_MAX)?;
                insights
                    .iter()
                    .for_each(|insight| secrets.add(&insight.domain, insight.classification));
                list(&insights)
            }
            (None, Some(notes)) => notes::section(&notes.recall(&self.id, message)?),
            (None, None) => String::new(),
        };
        Ok(paragraphs(&[&self.identity(), &known]))
    }

    /// The same role with what it shares with others and does not have itself.
    pub(super) fn equipped(
        mut self,
        shared: &Shared,
        memories: Option<&dyn MemoryFactory>,
    ) -> Result<Role, RoleError> {
        self.model = self.model.or_else(|| shared.model.clone());
        self.notes = self.notes.or_else(|| shared.notes.clone());
        if let (None, Some(memories)) = (&self.memory, memories) {
            let memory = memories.memory(&self.id, &self.clearance());
            self.memory =
                Some(memory.map_err(|source| RoleError::Memory { role: self.id.clone(), source })?);
        }
        Ok(self.narrowed())
    }

    /// The same role, where neither it nor its memory nor a tool is cleared for more than the
    /// others.
    fn narrowed(mut self) -> Role {
        let Some(mut lower) = self.clearance.clone() else { return self };
        if let Some(memory) = self.agent_memory() {
            lower = lower.within(memory.clearance());
            if lower != *memory.clearance() {
                self.memory = Some(Arc::new(memory.clone().with_clearance(lower.clone())));
            }
        }
        self.operators = self.operators.iter().map(|one| one.within(&lower)).collect();
        self.clearance = Some(lower);
        self
    }

    pub(super) fn clock(&self) -> TimeSource {
        self.clock.clone()
    }
}

fn said(text: &str) -> Outcome {
    let values: Map<String, Value> =
        [("response".to_owned(), Value::from(text))].into_iter().collect();
    Outcome { summary: text.to_owned(), values }
}

fn list(insights: &[Insight]) -> String {
    let line =
        |insight: &Insight| format!("{} (confidence: {:.1})", insight.content, insight.confidence);
    let lines: Vec<String> = insights.iter().take(RESPOND_INSIGHTS_MAX).map(line).collect();
    prompt::list("Insights", lines.iter().map(String::as_str))
}

impl fmt::Debug for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Role")
            .field("id", &self.id)
            .field("operators", &self.operators)
            .finish_non_exhaustive()
    }
}
