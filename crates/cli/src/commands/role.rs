//! `role`: what the roles of `kapsa.toml` are, do, say and learn.

use std::path::Path;
use std::sync::Arc;

use kapsa_agents::{AgentMemory, InsightQuery, WorkspaceMemory, bounds};
use kapsa_memory::access::ClearanceProfile;
use kapsa_memory::{Micros, Provenance, Trust};
use kapsa_model::{Price, Usage, block_on, cost};
use kapsa_roles::{
    ChainError, JobRun, MemoryFactory, NodeRun, Permission, Role, RoleError, RoleMemory,
    RoleRuntime, RoleSpec, Scheduler, Shared, State, StepCause, memory_tools,
};

use super::insight::{learned_done, published_done, tell_learned, tell_published};
use super::schedule;
use crate::app::{App, Status, did};
use crate::args::{Asking, RoleRespond, RoleRun, RoleVerb};
use crate::commands::embed::New;
use crate::commands::text::plain_text;
use crate::config_file::read_text;
use crate::error::{CliError, Done, Result};
use crate::language_models::{self, Choice};
use crate::out_file::OutFile;
use crate::render::counted;
use crate::role_config::Declared;
use crate::wire::agent::ReflectedOut;
use crate::wire::role::{AnsweredOut, PermissionOut, RanOut, RoleOut, RolesOut};
use crate::{escape, json_input, moment, render};

/// Largest state, in bytes (16 MiB).
const STATE_BYTES_MAX: u64 = 16 << 20;

/// `kapsa role`.
pub(crate) fn run(app: &mut App, verb: RoleVerb) -> Result<Status> {
    let declared = Declared::find()?;
    if let RoleVerb::Can(args) = &verb {
        return can(app, &declared, &args.role.id, &args.action);
    }
    if let RoleVerb::Schedule(args) = &verb {
        return schedule::run(app, &declared, args);
    }
    act(app, &declared, verb)?;
    Ok(Status::Done)
}

/// Prints what a role may do by itself; exit code 1 when it may not, so that scripts can ask.
fn can(app: &mut App, declared: &Declared, role: &str, action: &str) -> Result<Status> {
    let spec = declared.spec(role)?;
    let role = Role::from_spec(&RoleSpec { operators: Vec::new(), ..spec }, &[], moment::now)
        .map_err(|error| declared.wrong(role, &error.to_string()))?;
    let may = role.can_act(action);
    if app.out.is_json() {
        app.out.json(&PermissionOut::of(role.id(), action, may))?;
    } else {
        app.out.line(may.name())?;
    }
    Ok(if may == Permission::Autonomous { Status::Done } else { Status::Told(1) })
}

fn act(app: &mut App, declared: &Declared, verb: RoleVerb) -> Result<()> {
    match verb {
        // Answered before: their answer is an exit code as well.
        RoleVerb::Can(_) | RoleVerb::Schedule(_) => Ok(()),
        RoleVerb::List => list(app, declared),
        RoleVerb::Show(args) => show(app, declared, &args.id),
        RoleVerb::Run(args) => run_nodes(app, declared, &args),
        RoleVerb::Respond(args) => respond(app, declared, &args),
        RoleVerb::Reflect(args) => {
            let acting = Acting::begin(app, declared, &args.role.id, &args.asking)?;
            let learned = block_on(acting.role()?.reflect()).map_err(failed)?;
            learned_done(app, &learned);
            acting.end(app);
            if let Some(problem) = &learned.problem {
                app.out.warn("learned_nothing", &format!("learned nothing: {problem}"));
            }
            if app.out.is_json() {
                return app.out.json(&ReflectedOut::of(&args.role.id, &learned));
            }
            tell_learned(app, &learned, "nothing new")
        }
        RoleVerb::Publish(args) => {
            let asking = Asking { model: None, embed: args.embed };
            let acting = Acting::begin(app, declared, &args.role.id, &asking)?;
            let published = acting.memory.publish_to_workspace(args.min_confidence)?;
            published_done(app, &published);
            let left_out = acting.left_out(args.min_confidence, published.len())?;
            acting.end(app);
            if left_out > 0 {
                let many = counted(left_out, "insight");
                let message =
                    format!("left out {many} of domains that {} may not write to", args.role.id);
                app.out.warn("left_out", &message);
            }
            tell_published(app, &published)
        }
    }
}

/// A role with its memory in the capsule and its model.
pub(super) struct Acting {
    runtime: RoleRuntime,
    id: String,
    memory: Arc<AgentMemory>,
    price: Option<Price>,
    new: New,
}

impl Acting {
    fn begin(app: &App, declared: &Declared, id: &str, asking: &Asking) -> Result<Acting> {
        Acting::made(app, declared, id, asking, None)
    }

    /// As it does what is due.
    pub(super) fn scheduled(
        app: &App,
        declared: &Declared,
        id: &str,
        asking: &Asking,
        scheduler: Arc<dyn Scheduler>,
    ) -> Result<Acting> {
        Acting::made(app, declared, id, asking, Some(scheduler))
    }

    /// Does what is due now.
    pub(super) async fn run_due(&self, now: Micros) -> Result<Vec<JobRun>, RoleError> {
        self.runtime.run_due(now).await
    }

    fn made(
        app: &App,
        declared: &Declared,
        id: &str,
        asking: &Asking,
        scheduler: Option<Arc<dyn Scheduler>>,
    ) -> Result<Acting> {
        let spec = declared.spec(id)?;
        let (model, price) = declared.model(id)?;
        let choice =
            Choice { asked: asking.model.as_deref(), declared: model, folder: &declared.folder };
        let new = New::begin(app, asking.embed)?;
        let memory = Arc::new(memory(app, declared.effective(app, id)?)?);
        let role = Role::from_spec(&spec, &memory_tools(&memory, moment::now), moment::now);
        let role = role.map_err(|error| declared.wrong(id, &error.to_string()))?;
        let model = choice.of(&spec)?;
        let shared = Arc::clone(&memory);
        let memories =
            move |_: &str, _: &ClearanceProfile| Ok(Arc::clone(&shared) as Arc<dyn RoleMemory>);
        let memories: Arc<dyn MemoryFactory> = Arc::new(memories);
        let shared = Shared { model, memories: Some(memories), scheduler, ..Shared::default() };
        let runtime = RoleRuntime::new([role], &shared).map_err(failed)?;
        // Whoever asks another model than the declared one pays another price.
        let price = price.filter(|_| asking.model.is_none());
        Ok(Acting { runtime, id: id.to_string(), memory, price, new })
    }

    fn role(&self) -> Result<&Role> {
        self.runtime.role(&self.id).map_err(failed)
    }

    /// How many insights were not published that are sure enough.
    fn left_out(&self, confidence_min: f64, published: usize) -> Result<u64> {
        let query =
            InsightQuery { confidence_min, limit: usize::MAX, ..self.memory.insight_query() };
        Ok(self.memory.recall_insights(&query)?.len().saturating_sub(published) as u64)
    }

    fn cost(&self, usage: Usage) -> Option<f64> {
        cost(usage, self.price)
    }

    /// After all that it did: what it wrote gets vectors.
    pub(super) fn end(self, app: &mut App) {
        self.new.end(app);
    }
}

fn memory(app: &App, clearance: ClearanceProfile) -> Result<AgentMemory> {
    // A model writes what a role writes.
    let provenance =
        Provenance { trust: Trust::Model, principal: clearance.principal.clone(), review: None };
    let location = app.location()?.brought_by(provenance);
    let workspace = WorkspaceMemory::in_capsule(location.clone(), moment::now);
    let memory = AgentMemory::in_capsule(&clearance.principal, &location, moment::now)
        .with_workspace(workspace.into());
    Ok(bounds::bound(memory.with_clearance(clearance)))
}

fn list(app: &mut App, declared: &Declared) -> Result<()> {
    let specs: Vec<RoleSpec> = declared.ids().map(|id| declared.spec(id)).collect::<Result<_>>()?;
    if app.out.is_json() {
        return app.out.json(&RolesOut::of(declared.file.as_deref(), &specs));
    }
    for spec in &specs {
        app.out.strong(&escape::line(&spec.id))?;
        let soul = spec.soul.lines().next().unwrap_or_default();
        let operators: Vec<&str> =
            spec.operators.iter().map(|operator| operator.id.as_str()).collect();
        app.out.line(&format!("  {}", escape::line(&render::shortened(soul, 80))))?;
        if !operators.is_empty() {
            app.out.line(&format!("    {}", escape::line(&operators.join(", "))))?;
        }
    }
    match &declared.file {
        Some(file) if specs.is_empty() => {
            app.out.note(&format!("{} declares no role", file.display()))
        }
        None => app.out.note("no kapsa.toml here or in any parent folder"),
        Some(_) => {}
    }
    Ok(())
}

fn show(app: &mut App, declared: &Declared, id: &str) -> Result<()> {
    let spec = declared.spec(id)?;
    let clearance = declared.effective(app, id)?;
    let (model, _) = declared.model(id)?;
    if app.out.is_json() {
        return app.out.json(&RoleOut::of(&spec, model, Some(&clearance)));
    }
    app.out.strong(&escape::line(id))?;
    app.out.line(&format!("  {}", escape::body(&spec.soul)))?;
    for goal in &spec.goals {
        app.out.line(&format!("goal        {}", escape::line(goal)))?;
    }
    app.out.line(&format!(
        "model       {}",
        escape::line(model.unwrap_or("(--model, or KAPSA_LLM)"))
    ))?;
    let domains: Vec<String> =
        clearance.domains.iter().map(|(domain, level)| format!("{domain}={level}")).collect();
    let known = if domains.is_empty() { "public records".to_string() } else { domains.join(" ") };
    app.out.line(&format!("may know    {}", escape::line(&known)))?;
    match &spec.authority {
        None => app.out.line("may do      everything on its own")?,
        Some(lists) => {
            let all = [
                ("on its own", &lists.autonomous),
                ("if approved", &lists.needs_approval),
                ("never", &lists.forbidden),
            ];
            for (how, actions) in all.into_iter().filter(|(_, actions)| !actions.is_empty()) {
                app.out.line(&format!("{how:<12}{}", escape::line(&actions.join(", "))))?;
            }
        }
    }
    for operator in &spec.operators {
        let nodes: Vec<String> = operator
            .nodes
            .iter()
            .map(|node| format!("{} ({})", node.name, node.kind.name()))
            .collect();
        app.out.line(&format!(
            "operator    {}: {}",
            escape::line(&operator.id),
            escape::line(&nodes.join(", "))
        ))?;
    }
    Ok(())
}

/// What was meant by the name of a node or an operator.
pub(super) struct Target {
    pub(super) operator: String,
    /// None for all of them.
    pub(super) node: Option<String>,
}

impl Target {
    pub(super) fn find(spec: &RoleSpec, name: &str) -> Result<Target> {
        let mut meant = Vec::new();
        for operator in &spec.operators {
            let id = &operator.id;
            if name == id || name.strip_suffix(".*") == Some(id) {
                meant.push((format!("{id}.*"), Target { operator: id.clone(), node: None }));
            }
            for node in operator.nodes.iter().map(|node| &node.name) {
                let whole = format!("{id}.{node}");
                if name == node || name == whole {
                    meant.push((whole, Target { operator: id.clone(), node: Some(node.clone()) }));
                }
            }
        }
        if meant.len() > 1 {
            let names: Vec<String> = meant.into_iter().map(|(name, _)| name).collect();
            let message = format!("`{name}` is ambiguous: {}", names.join(", "));
            return Err(CliError::user("ambiguous_node", message).hint("name one of these in full"));
        }
        meant.pop().map(|(_, target)| target).ok_or_else(|| {
            let all = spec.operators.iter().flat_map(|operator| {
                operator.nodes.iter().map(|node| format!("{}.{}", operator.id, node.name))
            });
            let all: Vec<String> = all.collect();
            let hint = if all.is_empty() {
                "it has no operators".to_string()
            } else {
                format!("it has {}", all.join(", "))
            };
            CliError::user(
                "node_not_found",
                format!("role {} has no node or operator {name}", spec.id),
            )
            .hint(hint)
            .field("node", name)
        })
    }
}

fn run_nodes(app: &mut App, declared: &Declared, args: &RoleRun) -> Result<()> {
    let id = &args.role.id;
    let target = Target::find(&declared.spec(id)?, &args.target)?;
    let mut state = args.state.as_deref().map(state).transpose()?.unwrap_or_default();
    // Before anything is asked and paid for.
    let out = args.out.as_deref().map(|out| OutFile::at(out, &app.capsule()?)).transpose()?;
    let acting = Acting::begin(app, declared, id, &args.asking)?;
    let operator = acting.role()?.operator(&target.operator).map_err(failed)?;
    let result = match &target.node {
        Some(node) => block_on(operator.run_chain(&[node], &mut state)),
        None => block_on(operator.run_all(&mut state)),
    };
    // Also of a chain that broke, and reported last: what was answered was paid for.
    let written = out.map_or(Ok(()), |out| out.write(&pretty(&state)?));
    let (runs, broken) = match result {
        Ok(runs) => (runs, None),
        Err(ChainError { done, error }) => (done, Some(failed(error))),
    };
    if broken.is_none() && runs.iter().any(|run| run.episode.is_some()) {
        did(
            app,
            Done::new(format!("{} ran and were recorded", counted(runs.len() as u64, "node"))),
        );
    }
    if app.out.is_json() && broken.is_none() {
        let costs: Vec<Option<f64>> = runs.iter().map(|run| acting.cost(run.usage)).collect();
        app.out.json(&RanOut::of(id, &target.operator, &runs, &costs, &state))?;
    }
    runs.iter().try_for_each(|run| told(app, &acting, run))?;
    if !app.out.is_json() {
        app.out.flush()?;
    }
    acting.end(app);
    match broken {
        Some(error) => {
            Err(error.field("done", runs.iter().map(|run| run.node.as_str()).collect::<Vec<_>>()))
        }
        None => written,
    }
}

/// A state as a file holds it.
fn pretty(state: &State) -> Result<Vec<u8>> {
    let text = serde_json::to_vec_pretty(state);
    let mut text = text.map_err(|error| CliError::io("write the state", &error.into()))?;
    text.push(b'\n');
    Ok(text)
}

/// What a node answered, and what it took.
fn told(app: &mut App, acting: &Acting, run: &NodeRun) -> Result<()> {
    lacking(app, run);
    if app.out.is_json() {
        return Ok(());
    }
    let output = run.output.as_str().map_or_else(|| run.output.to_string(), str::to_string);
    app.out.strong(&escape::line(&run.node))?;
    app.out.line(&format!(": {}", escape::body(&output)))?;
    took(app, run.usage, run.duration_ms, acting.cost(run.usage), run.episode.as_deref())
}

/// Says what a run of a node lacks.
fn lacking(app: &mut App, run: &NodeRun) {
    if !run.answered {
        let steps = counted(run.steps.into(), "step");
        let message =
            format!("{} gave no final answer after {steps}: this is its last one", run.node);
        app.out.warn("no_final_answer", &message);
    }
    unrecorded(app, run.unrecorded.as_ref());
}

/// `  10 tokens in, 20 out; 40 ms; cost 0.0003; episode ep_1f0c`.
fn took(
    app: &mut App,
    usage: Usage,
    duration_ms: u64,
    cost: Option<f64>,
    episode: Option<&str>,
) -> Result<()> {
    let mut parts = vec![
        format!("{} tokens in, {} out", usage.tokens_in, usage.tokens_out),
        format!("{duration_ms} ms"),
    ];
    parts.extend(cost.map(|cost| format!("cost {cost:.6}")));
    parts.extend(episode.map(|episode| format!("episode {episode}")));
    app.out.faint(&format!("  {}", escape::line(&parts.join("; "))))?;
    app.out.line("")
}

fn unrecorded(app: &mut App, error: Option<&kapsa_memory::Error>) {
    if let Some(error) = error {
        app.out.warn("episode_not_recorded", &format!("the episode was not recorded: {error}"));
    }
}

fn respond(app: &mut App, declared: &Declared, args: &RoleRespond) -> Result<()> {
    let acting = Acting::begin(app, declared, &args.role.id, &args.asking)?;
    let said = block_on(acting.role()?.respond(&args.message.join(" "))).map_err(failed)?;
    let cost = acting.cost(said.usage);
    did(
        app,
        said.episode
            .as_ref()
            .map(|id| Done::new(format!("stored episode {id}")).field("id", id.as_str())),
    );
    acting.end(app);
    unrecorded(app, said.unrecorded.as_ref());
    if app.out.is_json() {
        return app.out.json(&AnsweredOut::of(&args.role.id, &said, cost));
    }
    app.out.line(&said.text)?;
    took(app, said.usage, said.duration_ms, cost, said.episode.as_deref())
}

/// The object in a file, or on standard input for `-`.
fn state(path: &Path) -> Result<State> {
    let text =
        if path.as_os_str() == "-" { plain_text()? } else { read_text(path, STATE_BYTES_MAX)? };
    json_input::object(text.as_bytes()).map_err(|fault| {
        CliError::usage(format!(
            "the state in {} is not a JSON object: {}",
            path.display(),
            fault.message
        ))
    })
}

/// What went wrong with a role, as an error of the command line.
pub(super) fn failed(error: RoleError) -> CliError {
    let message = error.to_string();
    match error {
        RoleError::NoModel { .. } => {
            let hint = format!(
                "name one: --model NAME, model = … in [role.ID] of kapsa.toml, or {}",
                language_models::MODEL
            );
            CliError::user("no_model", message).hint(hint)
        }
        RoleError::Step(step) => {
            let usage = step.usage;
            let told = match step.cause {
                StepCause::Model(error) => error.into(),
                StepCause::Memory(error) => error.into(),
                StepCause::MissingKeys(_) => {
                    CliError::user("missing_keys", "").hint("set them in the state: --state FILE")
                }
                _ => CliError::system("internal", ""),
            };
            CliError { message, ..told }
                .field("tokens_in", usage.tokens_in)
                .field("tokens_out", usage.tokens_out)
        }
        RoleError::Reflect { source, .. } => match source {
            kapsa_agents::ReflectError::Model(error) => {
                CliError { message, ..CliError::from(error) }
            }
            kapsa_agents::ReflectError::Store(error) => {
                CliError { message, ..CliError::from(error) }
            }
        },
        RoleError::Memory { source, .. } => CliError { message, ..source.into() },
        RoleError::Invalid { .. } => CliError::user("invalid_config", message),
        _ => CliError::user("role_failed", message),
    }
}
