//! Roles with the memories that they really have: those of a team, that live as long as the process
//! or in a capsule.

use std::sync::Arc;

use kapsa_agents::{AgentMemory, Fact, Insight, InsightQuery, StoreLocation, bounds};
use kapsa_memory::WriteOptions;
use kapsa_memory::access::{Classification, ClearanceProfile};
use kapsa_model::{ChatReply, LanguageModel, Message, ScriptedModel, block_on};
use kapsa_roles::{
    AuthorityConfig, MemoryScope, Notes, Operator, OperatorRuntime, Permission, Role, RoleRuntime,
    Shared, TeamMemories, Text, agent_node, llm_node,
};
use serde_json::json;

use super::roles::{cro, revenue_ops};
use super::{Fixture, NOW, clock, last, reply, saying, state};

/// A team in memory, and one in a capsule that each call opens again.
fn each(check: impl Fn(&dyn Fn() -> TeamMemories)) {
    let team = TeamMemories::new(clock);
    check(&|| team.clone());
    let f = Fixture::new();
    check(&|| {
        TeamMemories::in_capsule(&StoreLocation::new(&f.path, WriteOptions::new(clock)), clock)
    });
    f.assert_whole();
}

fn runtime(
    roles: impl IntoIterator<Item = Role>,
    team: TeamMemories,
    model: &Arc<ScriptedModel>,
) -> RoleRuntime {
    let model = Arc::clone(model) as Arc<dyn LanguageModel>;
    RoleRuntime::new(
        roles,
        &Shared { model: Some(model), memories: Some(Arc::new(team)), ..Shared::default() },
    )
    .unwrap()
}

fn of(team: &TeamMemories, agent: &str) -> AgentMemory {
    team.agent(&ClearanceProfile::new(agent))
}

fn fact(id: &str, content: &str, classification: Classification) -> Fact {
    Fact {
        entity: "acme_corp".into(),
        domain: "revenue".into(),
        classification,
        ..Fact::new(id, content, NOW)
    }
}

fn qualify(runtime: &RoleRuntime, role: &str) {
    let mut state = state(json!({"lead": "Acme Corp", "company": "acme_corp"}));
    block_on(
        runtime.role(role).unwrap().operator("revenue_ops").unwrap().run("qualify", &mut state),
    )
    .unwrap();
}

fn intern() -> Role {
    Role::builder("intern", clock)
        .soul("You are the intern.")
        .operator(revenue_ops())
        .build()
        .unwrap()
}

#[test]
fn full_v2_stack() {
    each(|team| {
        team()
            .workspace()
            .store_fact(&fact("f1", "Acme Corp has 200 employees", Classification::Public))
            .unwrap();
        let known = Insight {
            confidence: 0.9,
            domain: "revenue".into(),
            ..Insight::new("ins1", "cro", "VP sponsor predicts conversion", NOW)
        };
        of(&team(), "cro").store_insight(known).unwrap();

        let model = saying("{\"score\": 85}");
        let runtime = runtime([cro().build().unwrap()], team(), &model);
        let role = runtime.role("cro").unwrap();
        let mut state = state(json!({"lead": "Acme Corp", "company": "acme_corp"}));
        let run =
            block_on(role.operator("revenue_ops").unwrap().run("qualify", &mut state)).unwrap();
        assert_eq!(state["score"], json!({"score": 85}));
        let system = "You are the CRO. Data-driven.\n\nYou are a lead qualifier.\n\n## Insights\n\
                      - VP sponsor predicts conversion (confidence: 0.9)\n\n## Context\n- Acme Corp has 200 employees";
        assert_eq!(last(&model).system, system);
        let memory = of(&team(), "cro");
        let episodes = memory.recall_episodes(&memory.episode_query()).unwrap();
        assert_eq!((episodes.len(), Some(&episodes[0].id)), (1, run.episode.as_ref()));
        let episode = &episodes[0];
        assert_eq!(
            (episode.agent_id.as_str(), episode.operator_id.as_str()),
            ("cro", "revenue_ops")
        );
        assert_eq!((episode.node_name.as_str(), episode.domain.as_str()), ("qualify", "revenue"));
        assert_eq!(
            (episode.entity.as_str(), episode.tokens_in, episode.tokens_out),
            ("acme_corp", 10, 20)
        );
        assert_eq!(role.can_act("qualify_lead"), Permission::Autonomous);
        assert_eq!(role.can_act("sign_contracts"), Permission::Forbidden);
        drop(runtime);
        let read = team().workspace().store().get("f1").unwrap().map(|fact| fact.access_count);
        assert_eq!(read, Some(1), "what a node is told was read");
    });
}

/// Two roles, one workspace: each is told what its clearance allows, and of the other's own memory
/// nothing.
#[test]
fn roles_share_a_workspace_behind_their_clearances() {
    each(|team| {
        team()
            .workspace()
            .store_fact(&fact("f1", "Acme has 200 employees", Classification::Public))
            .unwrap();
        team()
            .workspace()
            .store_fact(&fact("f2", "Acme pays late", Classification::Confidential))
            .unwrap();
        let model = saying("85");
        let runtime = runtime([cro().build().unwrap(), intern()], team(), &model);
        qualify(&runtime, "intern");
        let told = last(&model).system;
        assert!(told.contains("200 employees") && !told.contains("pays late"), "{told}");
        qualify(&runtime, "cro");
        let told = last(&model).system;
        assert!(told.contains("200 employees") && told.contains("pays late"), "{told}");
        assert!(!told.contains("Recent Activity"), "the intern's episode is its own: {told}");
        for agent in ["cro", "intern"] {
            let memory = of(&team(), agent);
            let episodes = memory.recall_episodes(&memory.episode_query()).unwrap();
            assert_eq!((episodes.len(), episodes[0].agent_id.as_str()), (1, agent));
        }
    });
}

/// Episodes teach, insights are published, and nothing spreads further than what it comes from.
#[test]
fn what_is_learned_from_secrets_stays_secret() {
    each(|team| {
        team()
            .workspace()
            .store_fact(&fact("f2", "Acme pays late", Classification::Confidential))
            .unwrap();
        let model = saying("85");
        let runtime = runtime([cro().build().unwrap(), intern()], team(), &model);
        for _ in 0..3 {
            qualify(&runtime, "cro");
        }
        let memory = of(&team(), "cro");
        let rules =
            Role::builder("cro", clock).memory(Arc::new(of(&team(), "cro"))).build().unwrap();
        let learned = block_on(rules.reflect()).unwrap();
        assert_eq!(
            learned.new[0].classification,
            Classification::Confidential,
            "the prompts held something confidential"
        );
        let published = memory.publish_to_workspace(0.5).unwrap();
        assert_eq!(
            (published[0].classification, published[0].domain.as_str()),
            (Classification::Confidential, "revenue")
        );
        qualify(&runtime, "intern");
        assert!(!last(&model).system.contains("again and again"), "{}", last(&model).system);
        qualify(&runtime, "cro");
        assert!(last(&model).system.contains("again and again"), "{}", last(&model).system);
    });
}

/// Everything again from the file alone.
#[test]
fn a_team_goes_on_after_a_restart() {
    let f = Fixture::new();
    let team =
        || TeamMemories::in_capsule(&StoreLocation::new(&f.path, WriteOptions::new(clock)), clock);
    let insights = r#"[{"content": "Late payers churn", "confidence": 0.9, "domain": "revenue"}]"#;
    let model = Arc::new(
        ScriptedModel::new()
            .rule("reflecting", ChatReply::text(insights))
            .rule("", reply("85", 10, 20)),
    );
    {
        let runtime = runtime([cro().build().unwrap()], team(), &model);
        qualify(&runtime, "cro");
        let role = runtime.role("cro").unwrap();
        let learned = block_on(role.reflect()).unwrap();
        assert_eq!((learned.new.len(), learned.new[0].source_episode_ids.len()), (1, 1));
        assert_eq!(role.agent_memory().unwrap().publish_to_workspace(0.5).unwrap().len(), 1);
    }
    let runtime = runtime([cro().build().unwrap()], team(), &model);
    qualify(&runtime, "cro");
    let system = last(&model).system;
    for told in
        ["## Insights\n- Late payers churn (confidence: 0.9)", "## Recent Activity\n- qualify: 85"]
    {
        assert!(system.contains(told), "{told}: {system}");
    }
    let memory = runtime.role("cro").unwrap().agent_memory().unwrap();
    assert_eq!(memory.recall_episodes(&memory.episode_query()).unwrap().len(), 2);
    let insight = memory.recall_insights(&InsightQuery::of("")).unwrap().remove(0);
    let published = team().workspace().store().get(&format!("pub_{}", insight.id)).unwrap();
    assert_eq!(published.map(|fact| fact.content).as_deref(), Some("Late payers churn"));
    f.assert_whole();
}

/// Nobody has to ask for a memory; only notes, which count without one, are in its place.
#[test]
fn a_runtime_gives_every_role_a_memory() {
    let model = saying("85");
    let shared = Shared { model: Some(model.clone()), ..Shared::default() };
    let runtime = RoleRuntime::new([cro().build().unwrap(), intern()], &shared).unwrap();
    let memory = |role: &str| runtime.role(role).unwrap().agent_memory().expect("it has one");
    assert_eq!(memory("cro").clearance(), &cro().build().unwrap().clearance());
    assert_eq!(memory("intern").clearance(), &ClearanceProfile::new("intern"));
    memory("intern")
        .workspace()
        .unwrap()
        .store_fact(&fact("f1", "Acme pays", Classification::Public))
        .unwrap();
    qualify(&runtime, "cro");
    assert!(last(&model).system.contains("Acme pays"), "one workspace for all");
    let noted = Shared { notes: Some(Arc::new(Notes::new())), ..shared };
    assert!(
        RoleRuntime::new([intern()], &noted).unwrap().role("intern").unwrap().memory().is_none()
    );
}

#[test]
fn respond_uses_the_own_insights_and_remembers() {
    each(|team| {
        of(&team(), "cro").store_insight(Insight::new("i1", "cro", "Acme pays late", NOW)).unwrap();
        of(&team(), "cmo")
            .store_insight(Insight::new("i1", "cmo", "Acme likes webinars", NOW))
            .unwrap();
        let model = saying("They pay late.");
        let runtime = runtime([cro().build().unwrap()], team(), &model);
        let said = block_on(runtime.role("cro").unwrap().respond("acme")).unwrap();
        let system =
            "You are the CRO. Data-driven.\n\n## Insights\n- Acme pays late (confidence: 0.5)";
        assert_eq!((last(&model).system.as_str(), said.text.as_str()), (system, "They pay late."));
        let episode =
            of(&team(), "cro").episode(&said.episode.expect("recorded")).unwrap().expect("there");
        assert_eq!(
            (episode.action.as_str(), episode.output_summary.as_str()),
            ("respond", "They pay late.")
        );
    });
}

#[test]
fn goals_follow_the_soul_in_every_prompt() {
    let model = saying("85");
    let role = cro().goals(["Grow revenue by a tenth", "No surprises"]).build().unwrap();
    assert_eq!(role.goals(), ["Grow revenue by a tenth", "No surprises"]);
    let runtime = runtime([role], TeamMemories::new(clock), &model);
    qualify(&runtime, "cro");
    block_on(runtime.role("cro").unwrap().respond("hello")).unwrap();
    let begin =
        "You are the CRO. Data-driven.\n\n## Goals\n- Grow revenue by a tenth\n- No surprises";
    assert!(
        model.requests().iter().all(|request| request.system.starts_with(begin)),
        "{:?}",
        model.requests()
    );
}

/// A node's words of a question reach facts of which the question is no part.
#[test]
fn a_query_of_a_scope_is_words() {
    each(|team| {
        for (id, content) in [("f1", "Payments of Acme come late"), ("f2", "The office is in Brno")]
        {
            let known = Fact {
                classification: Classification::Public,
                importance: 0.5,
                ..Fact::new(id, content, NOW)
            };
            team()
                .workspace()
                .store_fact(&Fact { importance: if id == "f2" { 1.0 } else { 0.1 }, ..known })
                .unwrap();
        }
        let ask = llm_node("ask", Text::template("{question}"))
            .scope(MemoryScope::new().query(Text::template("{question}")).token_budget(15));
        let role =
            Role::builder("x", clock).operator(Operator::new("o", [ask]).unwrap()).build().unwrap();
        let model = saying("x");
        let runtime = runtime([role], team(), &model);
        let mut asked = state(json!({"question": "When does the payment of Acme come in?"}));
        block_on(runtime.role("x").unwrap().operator("o").unwrap().run("ask", &mut asked)).unwrap();
        assert_eq!(last(&model).system, "## Context\n- Payments of Acme come late");
        assert_eq!(
            last(&model).messages,
            [Message::User("When does the payment of Acme come in?".into())]
        );
    });
}

/// The seed's names; that it compiles is the test.
#[test]
fn v2_public_api_exports() {
    let node = [llm_node("a", "x"), agent_node("b", "x", [])];
    let operator: Operator = Operator::new("o", node).unwrap();
    let _: OperatorRuntime = OperatorRuntime::new(operator.clone(), clock);
    let role: Role = Role::builder("r", clock)
        .operator(operator)
        .authority(AuthorityConfig::new())
        .build()
        .unwrap();
    let _: RoleRuntime = RoleRuntime::new([role], &Shared::default()).unwrap();
    let _: Option<(kapsa_agents::Fact, kapsa_agents::Episode, kapsa_agents::Insight)> = None;
    let _: (ClearanceProfile, Classification) =
        (ClearanceProfile::new("r"), Classification::default());
    let _: Option<(kapsa_agents::WorkspaceMemory, kapsa_agents::AgentMemory)> = None;
    let _: Option<kapsa_agents::MemoryFilesystem> = None;
}

/// The first of these lets the model look, read and write; what it writes is as secret as what it
/// read.
#[test]
fn an_agent_node_uses_its_memory_within_its_clearance() {
    each(|team| {
        team()
            .workspace()
            .store_fact(&fact("f/1", "Acme pays late\nsince 2020", Classification::Confidential))
            .unwrap();
        let hidden =
            Fact { domain: "hr".into(), ..fact("f2", "Acme hires", Classification::Internal) };
        team().workspace().store_fact(&hidden).unwrap();
        let profile = ClearanceProfile::new("cro").with("revenue", Classification::Confidential);
        let memory = Arc::new(team().agent(&profile));
        let model = ScriptedModel::new()
            .then(call("1", "memory_search", json!({"query": "does Acme pay?"})))
            .then(call("2", "memory_read", json!({"uri": "fact/f%2F1"})))
            .then(call("3", "memory_read", json!({"uri": "fact/f2"})))
            .then(call("4", "memory_read", json!({"uri": "fact/none"})))
            .then(call(
                "5",
                "memory_write",
                json!({"content": "Acme is slow", "domain": "revenue", "confidence": 0.9, "tags": ["pay"]}),
            ))
            .then(call("6", "memory_write", json!({"content": "x", "confidence": 2})))
            .then(ChatReply::text("done"));
        let model = Arc::new(model);
        let tools = kapsa_roles::memory_tools(&memory, clock);
        let node = agent_node("look", "How does Acme pay?", tools);
        let role = Role::builder("cro", clock)
            .operator(Operator::new("o", [node]).unwrap())
            .model(model.clone())
            .memory(Arc::clone(&memory) as _)
            .build()
            .unwrap();
        block_on(role.operator("o").unwrap().run("look", &mut state(json!({})))).unwrap();
        let results: Vec<(String, bool)> = last(&model)
            .messages
            .into_iter()
            .filter_map(|message| match message {
                Message::ToolResult { content, is_error, .. } => Some((content, is_error)),
                _ => None,
            })
            .collect();
        assert_eq!(
            results[0],
            ("## Context\n- Acme pays late since 2020 [fact/f%2F1]".into(), false)
        );
        assert_eq!(results[1], ("Acme pays late\nsince 2020\n(confidence 1.00)".into(), false));
        assert_eq!(results[2], ("there is nothing under `fact/f2`".into(), true), "hidden");
        assert_eq!(
            results[3],
            ("there is nothing under `fact/none`".into(), true),
            "and never there: the same words"
        );
        assert!(results[4].0.starts_with("kept as insight/cro/ins_"), "{results:?}");
        assert_eq!(results[5], ("`confidence` is 0 to 1".into(), true));
        let learned = of(&team(), "cro").recall_insights(&InsightQuery::of("")).unwrap();
        assert_eq!(
            (learned.len(), learned[0].content.as_str(), learned[0].confidence),
            (1, "Acme is slow", 0.9)
        );
        assert_eq!(
            (learned[0].classification, learned[0].tags.len()),
            (Classification::Confidential, 1)
        );
        let episodes = memory.recall_episodes(&memory.episode_query()).unwrap();
        assert_eq!(
            episodes[0].classification,
            Classification::Confidential,
            "its conversation held something confidential"
        );
    });
}

fn call(id: &str, name: &str, arguments: serde_json::Value) -> ChatReply {
    let call = kapsa_model::ToolCall { id: id.into(), name: name.into(), arguments };
    ChatReply { tool_calls: vec![call], ..ChatReply::default() }
}

/// A role that is cleared for two domains, and tells what it knows of one in the other, whatever
/// way is open to it: nobody who is cleared for the other alone learns it.
#[test]
fn secrets_of_one_domain_are_not_told_in_another() {
    each(|team| {
        let secret = Fact {
            domain: "hr".into(),
            ..fact("f1", "Acme lays off staff", Classification::Confidential)
        };
        team().workspace().store_fact(&secret).unwrap();
        let cleared = |who: &str, domains: &[&str]| {
            let profile = ClearanceProfile::new(who);
            domains
                .iter()
                .fold(profile, |profile, domain| profile.with(*domain, Classification::Restricted))
        };
        let memory = Arc::new(team().agent(&cleared("ceo", &["", "hr", "sales"])));
        let write = |id: &str, domain: &str| {
            call(
                id,
                "memory_write",
                json!({"content": format!("Acme shrinks, say {id}"), "domain": domain, "confidence": 0.9}),
            )
        };
        let model = ScriptedModel::new()
            .then(call("1", "memory_search", json!({"query": "acme"})))
            .then(write("2", "sales"))
            .then(write("3", ""))
            .then(write("4", "hr"))
            .then(ChatReply::text("Acme shrinks"));
        let tools = kapsa_roles::memory_tools(&memory, clock);
        let sell =
            agent_node("sell", "What is new?", tools).scope(MemoryScope::new().domain("sales"));
        let role = Role::builder("ceo", clock)
            .operator(Operator::new("o", [sell]).unwrap())
            .model(Arc::new(model))
            .memory(Arc::clone(&memory) as _)
            .build()
            .unwrap();
        block_on(role.operator("o").unwrap().run("sell", &mut state(json!({})))).unwrap();

        let episode = memory.recall_episodes(&memory.episode_query()).unwrap().remove(0);
        assert_eq!(
            (episode.domain.as_str(), episode.classification),
            ("sales", Classification::Restricted)
        );
        let mut kept: Vec<(String, Classification)> = memory
            .recall_insights(&memory.insight_query())
            .unwrap()
            .into_iter()
            .map(|insight| (insight.domain, insight.classification))
            .collect();
        kept.sort();
        let (open, shut) = (Classification::Confidential, Classification::Restricted);
        assert_eq!(
            kept,
            [("hr".into(), open), ("hr".into(), open), ("sales".into(), shut)],
            "what has no domain takes hr"
        );

        memory.publish_to_workspace(0.5).unwrap();
        let known = |who: &str, domains: &[&str]| {
            let profile = cleared(who, domains);
            let facts =
                team().workspace().query(&profile, &kapsa_agents::FactQuery::default()).unwrap();
            facts.iter().filter(|fact| fact.content.starts_with("Acme shrinks")).count()
        };
        assert_eq!(
            known("seller", &["", "sales"]),
            0,
            "cleared for sales, and for what has no domain"
        );
        assert_eq!(known("hr_lead", &["hr"]), 2);
        assert_eq!(known("ceo", &["", "hr", "sales"]), 3, "the one in sales names the agent");
    });
}

/// The same of what stands in a prompt: the scope of a node without a domain reaches all of them.
#[test]
fn a_prompt_with_secrets_gives_an_episode_in_their_domain() {
    each(|team| {
        let profile = ClearanceProfile::new("ceo")
            .with("hr", Classification::Confidential)
            .with("ops", Classification::Confidential);
        let ask = |n: usize| {
            let model = saying("x");
            let node = llm_node("ask", "?").scope(MemoryScope::new().tags(["t"]));
            let role = Role::builder("ceo", clock)
                .clearance(profile.clone())
                .operator(Operator::new("o", [node]).unwrap())
                .build()
                .unwrap();
            let runtime = runtime([role], team(), &model);
            block_on(
                runtime
                    .role("ceo")
                    .unwrap()
                    .operator("o")
                    .unwrap()
                    .run("ask", &mut state(json!({}))),
            )
            .unwrap();
            let memory = of(&team(), "ceo");
            let episodes = memory.recall_episodes(&memory.episode_query()).unwrap();
            assert_eq!(episodes.len(), n);
            // Of the same moment the order is nobody's: the most secret is the last.
            let told = episodes.into_iter().map(|episode| (episode.classification, episode.domain));
            told.max().unwrap()
        };
        let known = |id: &str, domain: &str, level| {
            let known = Fact {
                domain: domain.into(),
                tags: vec!["t".into()],
                ..fact(id, &format!("{id} of {domain}"), level)
            };
            team().workspace().store_fact(&known).unwrap();
        };
        known("f1", "ops", Classification::Internal);
        assert_eq!(
            ask(1),
            (Classification::Internal, String::new()),
            "what is internal changes nothing"
        );
        known("f2", "hr", Classification::Confidential);
        assert_eq!(ask(2), (Classification::Confidential, "hr".into()));
        known("f3", "ops", Classification::Confidential);
        assert_eq!(ask(3), (Classification::Restricted, String::new()));
    });
}

/// An answer to a message has no domain either.
#[test]
fn an_answer_with_secrets_is_an_episode_in_their_domain() {
    each(|team| {
        let known = |id: &str, domain: &str| {
            let secret = Classification::Confidential;
            let insight = Insight::new(id, "ceo", "Acme lays off staff", NOW);
            of(&team(), "ceo")
                .store_insight(Insight { domain: domain.into(), classification: secret, ..insight })
                .unwrap();
        };
        let answer = || {
            let runtime =
                runtime([Role::builder("ceo", clock).build().unwrap()], team(), &saying("x"));
            let said = block_on(runtime.role("ceo").unwrap().respond("acme")).unwrap();
            let episode = of(&team(), "ceo").episode(&said.episode.unwrap()).unwrap().unwrap();
            (episode.domain, episode.classification)
        };
        known("i1", "hr");
        assert_eq!(answer(), ("hr".into(), Classification::Confidential));
        known("i2", "ops");
        assert_eq!(answer(), (String::new(), Classification::Restricted));
    });
}

#[test]
fn a_role_with_the_memory_of_an_agent_has_its_files() {
    let memory = AgentMemory::new("cro", clock);
    let learned =
        Insight { domain: "revenue".into(), ..Insight::new("ins1", "cro", "Learned", NOW) };
    memory.store_insight(learned).expect("stored");
    let role =
        Role::builder("cro", clock).soul("You are the CRO.").goals(["Win ten deals", "Lose none"]);
    assert!(role.clone().build().expect("a role").memory_fs().is_none());
    let role = role.memory(Arc::new(memory.clone())).build().expect("a role");
    let fs = role.memory_fs().expect("files");
    let names = |folder: &str| -> Vec<String> {
        fs.browse(folder).expect("listed").names().into_iter().map(str::to_string).collect()
    };
    assert_eq!(names("/"), ["identity", "goals", "knowledge", "experience", "references"]);
    assert_eq!(names("/goals"), ["1.md", "2.md"]);
    assert_eq!(fs.read("/goals/2.md").expect("read"), "Lose none");
    assert_eq!(fs.read("/goals/3.md").expect("read"), "");
    let found = fs.search("lose", "/goals").expect("searched");
    assert_eq!(found.hits.into_iter().map(|hit| hit.path).collect::<Vec<_>>(), ["/goals/2.md"]);
    fs.write("/knowledge/revenue/new", "Written by a role").expect("written");
    let query = InsightQuery { domain: Some("revenue".into()), ..memory.insight_query() };
    assert_eq!(memory.recall_insights(&query).expect("recalled").len(), 2);
}

/// Of a role and its memory the one that is cleared for less decides, however they come together.
#[test]
fn a_role_is_cleared_for_no_more_than_its_memory() {
    let wide = ClearanceProfile::new("cro")
        .with("revenue", Classification::Restricted)
        .with("hr", Classification::Confidential);
    let narrow = ClearanceProfile::new("cro").with("revenue", Classification::Internal);
    for (role, memory) in [(&wide, &narrow), (&narrow, &wide)] {
        let team = TeamMemories::new(clock);
        let secret = fact("f1", "Acme pays late", Classification::Confidential);
        team.workspace().store_fact(&secret).unwrap();
        let builder = || Role::builder("cro", clock).clearance(role.clone());
        let built = builder().memory(Arc::new(team.agent(memory))).build().unwrap();
        let given = team.agent(memory);
        let factory = move |_: &str, _: &ClearanceProfile| Ok(Arc::new(given.clone()) as _);
        let shared = Shared { memories: Some(Arc::new(factory)), ..Shared::default() };
        let equipped = RoleRuntime::new([builder().build().unwrap()], &shared).unwrap();
        for role in [&built, equipped.role("cro").unwrap()] {
            assert_eq!(role.clearance(), narrow);
            let memory = role.agent_memory().expect("it has one");
            assert_eq!(memory.clearance(), &narrow);
            let scope = kapsa_agents::Scope::default();
            let told = memory.context(&scope, &kapsa_agents::ContextOptions::default()).unwrap();
            assert!(!told.text().contains("pays late"), "{}", told.text());
        }
    }
    let team = TeamMemories::new(clock);
    let secret = fact("f1", "Acme pays late", Classification::Confidential);
    team.workspace().store_fact(&secret).unwrap();
    let model = ScriptedModel::new()
        .then(call("1", "memory_read", json!({"uri": "fact/f1"})))
        .then(ChatReply::text("done"));
    let model = Arc::new(model);
    let tools = kapsa_roles::memory_tools(&Arc::new(team.agent(&wide)), clock);
    let role = Role::builder("cro", clock)
        .clearance(narrow.clone())
        .operator(Operator::new("o", [agent_node("look", "Look", tools)]).unwrap())
        .model(model.clone())
        .build()
        .unwrap();
    block_on(role.operator("o").unwrap().run("look", &mut state(json!({})))).unwrap();
    let told = format!("{:?}", last(&model).messages);
    assert!(told.contains("there is nothing") && !told.contains("pays late"), "{told}");
    let unsaid = Role::builder("cro", clock);
    let memory = Arc::new(TeamMemories::new(clock).agent(&narrow));
    assert_eq!(unsaid.memory(memory).build().unwrap().clearance(), narrow, "its memory says it");
}

/// What a role writes by itself is within its clearance, whichever way it writes.
#[test]
fn a_role_writes_within_its_clearance() {
    each(|team| {
        let profile = ClearanceProfile::new("cro").with("revenue", Classification::Internal);
        let memory = Arc::new(team().agent(&profile));
        let write = |id: &str, arguments: serde_json::Value| call(id, "memory_write", arguments);
        let model = ScriptedModel::new()
            .then(write("1", json!({"content": "FORGED", "domain": "hr"})))
            .then(write("2", json!({"content": "unnamed"})))
            .then(ChatReply::text("done"));
        let tools = kapsa_roles::memory_tools(&memory, clock);
        let node = agent_node("tell", "Tell hr", tools)
            .scope(MemoryScope::new().domain(Text::fixed("hr")));
        let role = Role::builder("cro", clock)
            .operator(Operator::new("o", [node]).unwrap())
            .model(Arc::new(model))
            .memory(Arc::clone(&memory) as _)
            .build()
            .unwrap();
        block_on(role.operator("o").unwrap().run("tell", &mut state(json!({})))).unwrap();
        let insights = memory.recall_insights(&InsightQuery::of("")).unwrap();
        let kept: Vec<_> = insights.iter().map(|one| (&*one.content, &*one.domain)).collect();
        assert_eq!(kept, [("unnamed", "revenue")]);
        let episodes = memory.recall_episodes(&memory.episode_query()).unwrap();
        let kept = (episodes[0].domain.as_str(), episodes[0].classification);
        assert_eq!(kept, ("hr", Classification::Restricted), "nobody else reads it there");
        let files = role.memory_fs().expect("files");
        assert!(files.write("/knowledge/hr/x", "FORGED").is_err());
        assert!(files.write("/knowledge/revenue/x", "its own").is_ok());
        for domain in ["hr", ""] {
            let insight = Insight::new(format!("i{domain}"), "cro", "FORGED", NOW);
            memory.store_insight(Insight { domain: domain.into(), ..insight }).unwrap();
            let insight = memory.insight(&format!("i{domain}")).unwrap().expect("there");
            let denied = memory.publish(&[insight], None).expect_err("not its domain");
            assert!(matches!(denied, kapsa_memory::Error::AccessDenied { .. }), "{denied}");
        }
        let none = bounds::bound(team().agent(&ClearanceProfile::new("x")));
        assert!(bounds::may_write(&none, "", Classification::Public).is_err());
    });
}

/// A question is not a part of any insight: its words find them.
#[test]
fn respond_finds_insights_by_the_words_of_a_question() {
    each(|team| {
        let memory = of(&team(), "cro");
        for (id, content) in [
            ("a", "A VP as sponsor predicts a deal"),
            ("b", "Sponsors change jobs in spring"),
            ("c", "The canteen serves soup"),
        ] {
            memory.store_insight(Insight::new(id, "cro", content, NOW)).unwrap();
        }
        let model = saying("x");
        let runtime = runtime([cro().build().unwrap()], team(), &model);
        let role = runtime.role("cro").unwrap();
        block_on(role.respond("Which sponsor predicts that we close a deal?")).unwrap();
        let system = last(&model).system;
        let first = system.find("A VP as sponsor").expect("it has most of the words");
        assert!(system.find("Sponsors change").is_none_or(|second| first < second), "{system}");
        assert!(!system.contains("canteen"), "{system}");
    });
}

/// A job is due when it never ran and then once per interval, however many were missed; one that
/// fails has run.
#[test]
fn a_scheduler_counts_from_when_a_job_ran_last() {
    use kapsa_roles::{IntervalScheduler, Job, RunsOfProcess, Scheduler, State, Work};
    const HOUR: i64 = 3_600_000_000;
    let job = |work| Job { role: "cro".into(), work };
    let missing = Work::Run { operator: "none".into(), node: None, state: State::new() };
    let scheduler = IntervalScheduler::new(RunsOfProcess::default())
        .every(HOUR, job(Work::Reflect))
        .every(2 * HOUR, job(missing));
    let scheduler: Arc<dyn Scheduler> = Arc::new(scheduler);
    let shared = Shared { scheduler: Some(Arc::clone(&scheduler)), ..Shared::default() };
    let runtime = RoleRuntime::new([cro().build().unwrap()], &shared).unwrap();
    let ran = |now: i64| {
        let runs = block_on(runtime.run_due(now)).unwrap();
        runs.iter().map(|run| (run.job.name(), run.result.is_ok())).collect::<Vec<_>>()
    };
    let (reflect, none) = (("reflect".to_owned(), true), ("none".to_owned(), false));
    assert_eq!(ran(NOW), [reflect.clone(), none.clone()]);
    assert_eq!(ran(NOW + HOUR - 1), []);
    assert_eq!(ran(NOW + HOUR), [reflect.clone()]);
    assert_eq!(ran(NOW + 9 * HOUR), [reflect, none], "what was missed is done once");
    let bare = RoleRuntime::new([cro().build().unwrap()], &Shared::default()).unwrap();
    assert!(block_on(bare.run_due(NOW)).unwrap().is_empty());
}
