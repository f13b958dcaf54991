//! Two roles sell together: what each knows, learns and teaches the other.
//!
//! `cargo run --example crm [CAPSULE]` tells a story and checks every claim in it; a claim that
//! fails ends it with exit code 1. The models are scripts, so it needs no key and no network.
//! `docs/agents.md` describes it.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use kapsa_agents::{AgentMemory, ContextOptions, Fact, Scope, StoreLocation};
use kapsa_memory::access::{Classification, ClearanceProfile};
use kapsa_memory::{Micros, WriteOptions, check};
use kapsa_model::{ChatReply, ScriptedModel, block_on};
use kapsa_roles::{
    AuthorityConfig, MemoryScope, Operator, Permission, Role, RoleRuntime, Shared, State,
    TeamMemories, Text, llm_node,
};
use serde_json::{Map, Value, json};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const LEADS: [&str; 3] = ["acme", "bolt", "cibo"];

fn main() -> ExitCode {
    match story() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn story() -> Result {
    let folder = std::env::temp_dir().join(format!("kapsa-crm-{}", std::process::id()));
    let path = std::env::args_os().nth(1).map_or_else(|| folder.join("crm.kapsa"), PathBuf::from);
    claim("the capsule is new", !path.exists())?;
    if let Some(above) = path.parent() {
        std::fs::create_dir_all(above)?;
    }
    let told = first_day(&path).and_then(|()| next_day(&path));
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    told
}

/// The team works, learns and publishes.
fn first_day(path: &Path) -> Result {
    chapter("What the team knows, and how far it may spread");
    let team = team(path);
    for fact in facts() {
        println!("  {:<12} {}", fact.classification.name(), fact.content);
        team.workspace().remember(fact)?;
    }

    chapter("Three leads: the SDR qualifies each, the CRO decides");
    let models = Models::new();
    let runtime = runtime(&team, &models)?;
    for lead in LEADS {
        let mut state = state(lead);
        for (role, operator) in [("sdr", "qualification"), ("cro", "deals")] {
            block_on(runtime.role(role)?.operator(operator)?.run_all(&mut state))?;
        }
        println!("  {lead}: score {}, {}", state["score"]["score"], state["terms"]);
    }
    claim("Acme, which the CRO knows to pay late, has to pay first", models.answers_differ())?;
    claim(
        "no prompt of the SDR contained what only the CRO may read",
        !models.sdr_was_told("pays late"),
    )?;
    claim(
        "no prompt contained what the board decided",
        !models.sdr_was_told("board") && !models.cro_was_told("board"),
    )?;

    chapter("What each may do");
    for (role, action, want) in [
        ("sdr", "qualify_lead", Permission::Autonomous),
        ("sdr", "send_offer", Permission::NeedsApproval),
        ("cro", "sign_contract", Permission::Forbidden),
    ] {
        let may = runtime.role(role)?.can_act(action);
        println!("  {role} {action}: {may}");
        claim("as declared", may == want)?;
    }

    chapter("They reflect and publish");
    for role in ["sdr", "cro"] {
        let learned = block_on(runtime.role(role)?.reflect())?;
        for fact in memory(&runtime, role)?.publish_to_workspace(0.5)? {
            println!("  {role} learned, as {}: {}", fact.classification, fact.content);
        }
        claim(
            "each learned one insight, from all three leads",
            learned.new.len() == 1 && learned.new[0].source_episode_ids.len() == 3,
        )?;
    }
    each_sees_what_it_may(&runtime)
}

/// Everything was dropped; all that is known now comes from the file.
fn next_day(path: &Path) -> Result {
    chapter("The next day, from the file alone");
    let (team, models) = (team(path), Models::new());
    let runtime = runtime(&team, &models)?;
    for role in ["sdr", "cro"] {
        let memory = memory(&runtime, role)?;
        let episodes = memory.recall_episodes(&memory.episode_query())?;
        println!(
            "  {role} remembers {} episodes and {} insight",
            episodes.len(),
            memory.recall_insights(&memory.insight_query())?.len()
        );
        claim("the three leads", episodes.len() == LEADS.len())?;
    }
    each_sees_what_it_may(&runtime)?;
    block_on(runtime.role("sdr")?.operator("planning")?.run_all(&mut State::new()))?;
    claim(
        "the next prompt of the SDR contains what it learned",
        models.sdr_was_told("More employees, higher score"),
    )?;
    let report = check::verify(path, &mut |_, _| {})?;
    claim("every byte of the capsule is intact", report.problems.is_empty())
}

fn each_sees_what_it_may(runtime: &RoleRuntime) -> Result {
    for (role, domain) in
        [("sdr", "customer"), ("cro", "customer"), ("cro", "revenue"), ("sdr", "revenue")]
    {
        let told = context(runtime, role, domain)?;
        println!("\n  {role}, about {domain}:");
        told.lines().for_each(|line| println!("    {line}"));
        if told.is_empty() {
            println!("    (nothing)");
        }
    }
    println!();
    claim(
        "the CRO knows what the SDR published",
        context(runtime, "cro", "customer")?.contains("More employees, higher score"),
    )?;
    claim(
        "the SDR does not know what the CRO learned from secrets",
        !context(runtime, "sdr", "revenue")?.contains("prepay"),
    )?;
    claim("the CRO does", context(runtime, "cro", "revenue")?.contains("prepay"))
}

/// The facts known at first. The last one is for nobody in the team.
fn facts() -> Vec<Fact> {
    let fact =
        |id: &str, content: &str, entity: &str, domain: &str, classification: Classification| {
            Fact {
                entity: entity.into(),
                domain: domain.into(),
                classification,
                source: "import".into(),
                ..Fact::new(id, content, now())
            }
        };
    vec![
        fact("acme-size", "Acme has 200 employees", "acme", "customer", Classification::Public),
        fact("bolt-size", "Bolt has 12 employees", "bolt", "customer", Classification::Public),
        fact("cibo-size", "Cibo has 60 employees", "cibo", "customer", Classification::Internal),
        fact("acme-pays", "Acme pays late", "acme", "revenue", Classification::Confidential),
        Fact {
            named: vec!["ceo".into()],
            ..fact(
                "acme-board",
                "The board wants to buy Acme",
                "acme",
                "revenue",
                Classification::Restricted,
            )
        },
    ]
}

fn team(path: &Path) -> TeamMemories {
    TeamMemories::in_capsule(&StoreLocation::new(path, WriteOptions::new(now)), now)
}

/// Two roles that share a workspace; each has its own memory, limited by its clearance.
fn runtime(team: &TeamMemories, models: &Models) -> Result<RoleRuntime> {
    let qualify = llm_node("qualify", Text::template("Score {lead} from 0 to 100."))
        .system("Answer as {\"score\": 0}.")
        .scope(MemoryScope::new().entity(Text::template("{lead}")).domain("customer"))
        .output("score");
    let plan = llm_node("plan", "Which leads do we look for?")
        .scope(MemoryScope::new().domain("customer"));
    let decide = llm_node("decide", Text::template("{lead} has score {score.score}. Which terms?"))
        .scope(MemoryScope::new().entity(Text::template("{lead}")).domain("revenue"))
        .output("terms");
    let sdr = Role::builder("sdr", now)
        .soul("You are the SDR. Curious and fair.")
        .clearance(ClearanceProfile::new("sdr").with("customer", Classification::Internal))
        .authority(AuthorityConfig::new().autonomous(["qualify_lead"]).forbidden(["sign_contract"]))
        .operator(Operator::new("qualification", [qualify])?)
        .operator(Operator::new("planning", [plan])?)
        .model(models.sdr.clone())
        .build()?;
    let cro = Role::builder("cro", now)
        .soul("You are the CRO. Data-driven.")
        .goals(["Grow revenue without losses"])
        .clearance(
            ClearanceProfile::new("cro")
                .with("customer", Classification::Internal)
                .with("revenue", Classification::Restricted),
        )
        .authority(AuthorityConfig::new().autonomous(["set_terms"]).forbidden(["sign_contract"]))
        .operator(Operator::new("deals", [decide])?)
        .model(models.cro.clone())
        .build()?;
    let shared = Shared { memories: Some(Arc::new(team.clone())), ..Shared::default() };
    Ok(RoleRuntime::new([sdr, cro], &shared)?)
}

/// Scripts that replace models: their answers depend on what the prompt contains.
struct Models {
    sdr: Arc<ScriptedModel>,
    cro: Arc<ScriptedModel>,
}

impl Models {
    fn new() -> Models {
        let learned = |content: &str| {
            ChatReply::text(json!([{"content": content, "confidence": 0.8}]).to_string())
        };
        let sdr = ScriptedModel::new()
            .rule("You are reflecting", learned("More employees, higher score"))
            .rule("200 employees", ChatReply::text(r#"{"score": 85}"#))
            .rule("60 employees", ChatReply::text(r#"{"score": 60}"#))
            .rule("", ChatReply::text(r#"{"score": 40}"#));
        let cro = ScriptedModel::new()
            .rule("You are reflecting", learned("Late payers agree to prepay"))
            .rule("pays late", ChatReply::text("prepayment"))
            .rule("", ChatReply::text("30 days"));
        Models { sdr: Arc::new(sdr), cro: Arc::new(cro) }
    }

    fn sdr_was_told(&self, text: &str) -> bool {
        self.sdr.requests().iter().any(|request| request.system.contains(text))
    }

    fn cro_was_told(&self, text: &str) -> bool {
        self.cro.requests().iter().any(|request| request.system.contains(text))
    }

    /// Whether only the prompt about Acme contained the secret.
    fn answers_differ(&self) -> bool {
        let told: Vec<bool> = self
            .cro
            .requests()
            .iter()
            .map(|request| request.system.contains("pays late"))
            .collect();
        told == [true, false, false]
    }
}

fn memory<'a>(runtime: &'a RoleRuntime, role: &str) -> Result<&'a AgentMemory> {
    Ok(runtime.role(role)?.agent_memory().ok_or("every role of a team has a memory")?)
}

fn context(runtime: &RoleRuntime, role: &str, domain: &str) -> Result<String> {
    let scope = Scope { domain: domain.into(), ..Scope::default() };
    Ok(memory(runtime, role)?.context(&scope, &ContextOptions::default())?.text())
}

fn state(lead: &str) -> State {
    Map::from_iter([("lead".to_string(), Value::from(lead))])
}

fn chapter(title: &str) {
    println!("\n== {title}");
}

fn claim(what: &str, holds: bool) -> Result {
    if !holds {
        return Err(format!("claim failed: {what}").into());
    }
    println!("  ok: {what}");
    Ok(())
}

/// Microseconds since 1970.
fn now() -> Micros {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Micros::try_from(since.as_micros()).unwrap_or(Micros::MAX)
}
