//! Roles of `kapsa.toml` as real processes, with scripted models and with a service on this
//! machine.

use kapsa_testkit::stub::{Reply, Stub};
use serde_json::{Value, json};

use crate::support::{Run, Sandbox};

const CONFIG: &str = r#"
[run]
layout = "branches"

[role.cro]
soul = "You are the CRO. Data-driven."
goals = ["Grow revenue without losses"]
model = "scripted:models/cro.json"
price = { per_million_in = 3.0, per_million_out = 15.0 }
clearance = { revenue = "confidential", ops = "internal" }
authority = { autonomous = ["qualify_lead"], needs_approval = ["change_pricing"], forbidden = ["sign_contract"] }

[[role.cro.operators]]
id = "revenue_ops"

[[role.cro.operators.nodes]]
name = "qualify"
system = "Answer as {\"score\": 0}."
prompt = "Score {lead}."
output = "score"
model = "sonnet"
temperature = 0.2
scope = { entity = "{lead}", domain = "revenue" }

[[role.cro.operators.nodes]]
name = "grade"
prompt = "Grade {score.score} of {lead}"
output = "grade"

[[role.cro.operators]]
id = "research"

[[role.cro.operators.nodes]]
name = "look"
prompt = "What is known of {lead}?"
tools = ["memory_search", "memory_read", "memory_write"]
output = "known"

[[role.cro.operators.nodes]]
name = "grade"
prompt = "Grade again"

[role.intern]
soul = "You are the intern."
"#;

const SCRIPT: &str = r#"{"rules": [
    {"contains": "You are reflecting", "text": "[{\"content\": \"Late payers churn\", \"confidence\": 0.8}]"},
    {"contains": "Grade 85 of acme", "text": "A", "usage": {"tokens_in": 5, "tokens_out": 1}},
    {"contains": "Score acme", "text": "{\"score\": 85}", "usage": {"tokens_in": 1000, "tokens_out": 200}},
    {"contains": "kept as", "text": "They pay late.", "usage": {"tokens_in": 30, "tokens_out": 4}},
    {"contains": "Acme pays late [", "tool_calls": [{"id": "2", "name": "memory_write", "arguments": {"content": "Acme is slow", "domain": "revenue"}}]},
    {"contains": "What is known", "tool_calls": [{"id": "1", "name": "memory_search", "arguments": {"query": "acme"}}]},
    {"contains": "who are you", "text": "I am the CRO.\u001b[31m"}
]}"#;

/// A capsule with facts and declared roles.
fn team() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("kapsa.toml", CONFIG);
    sandbox.write("models/cro.json", SCRIPT);
    sandbox.write("state.json", r#"{"lead": "acme"}"#);
    let fact = |text: &str, id: &str, domain: &str, level: &str| {
        sandbox.ok(&[
            "fact",
            "add",
            text,
            "--id",
            id,
            "--entity",
            "acme",
            "--domain",
            domain,
            "--classification",
            level,
        ]);
    };
    fact("Acme pays late", "f1", "revenue", "confidential");
    fact("Acme hires", "f2", "hr", "internal");
    sandbox
}

fn warned(run: &Run) -> (Option<i32>, &str) {
    (run.code, run.err.as_str())
}

#[test]
fn a_node_runs_over_a_state_and_is_remembered() {
    let sandbox = team();
    let ran = sandbox.json(&[
        "role",
        "run",
        "cro",
        "qualify",
        "--state",
        "state.json",
        "--out",
        "after.json",
    ]);
    let run = &ran["nodes"][0];
    assert_eq!(
        (&ran["role"], &ran["operator"], &run["node"]),
        (&json!("cro"), &json!("revenue_ops"), &json!("qualify"))
    );
    assert_eq!(
        (&run["output"], &run["tokens_in"], &run["tokens_out"]),
        (&json!({"score": 85}), &json!(1000), &json!(200))
    );
    assert_eq!(
        (&run["cost"], &run["answered"], &run["step_count"]),
        (&json!(0.006), &json!(true), &json!(1))
    );
    assert_eq!(ran["state"], json!({"lead": "acme", "score": {"score": 85}}));
    let written: Value =
        serde_json::from_slice(&crate::support::bytes(&sandbox.path("after.json"))).expect("JSON");
    assert_eq!(written, ran["state"]);
    let episodes = sandbox.json(&["episode", "list", "--agent", "cro"]);
    let episode = &episodes["episodes"][0];
    assert_eq!(
        (&episode["id"], &episode["entity"], &episode["domain"]),
        (&run["episode"], &json!("acme"), &json!("revenue"))
    );
    assert_eq!(episode["classification"], "confidential", "its prompt held something confidential");

    let told = sandbox.ok(&["role", "run", "cro", "revenue_ops", "--state", "state.json"]);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(
        (lines[0].replace("**", ""), lines.len()),
        ("qualify: {\"score\":85}".into(), 4),
        "{told}"
    );
    assert!(
        lines[1].contains("1000 tokens in, 200 out")
            && lines[1].contains("cost 0.006000; episode ep_"),
        "{told}"
    );
    assert_eq!(lines[2].replace("**", ""), "grade: A");
}

#[test]
fn an_agent_node_uses_the_roles_memory() {
    let sandbox = team();
    let ran = sandbox.json(&["role", "run", "cro", "research.look", "--state", "state.json"]);
    assert_eq!(
        (&ran["nodes"][0]["output"], &ran["nodes"][0]["step_count"]),
        (&json!("They pay late."), &json!(3))
    );
    let insights = sandbox.json(&["insight", "list", "--agent", "cro"]);
    let insight = &insights["insights"][0];
    assert_eq!(
        (&insight["text"], &insight["classification"]),
        (&json!("Acme is slow"), &json!("confidential"))
    );
}

#[test]
fn what_is_meant_is_found_or_asked_for() {
    let sandbox = team();
    let run =
        |name: &str| ["role", "run", "cro", name, "--state", "state.json"].map(str::to_string);
    let fails = |name: &str, code: &str| {
        let run = run(name);
        sandbox.fails(&run.each_ref().map(String::as_str), 1, code)
    };
    let error = fails("grade", "ambiguous_node");
    assert_eq!(error["message"], "`grade` is ambiguous: revenue_ops.grade, research.grade");
    let error = fails("score", "node_not_found");
    assert_eq!(
        error["hint"],
        "it has revenue_ops.qualify, revenue_ops.grade, research.look, research.grade"
    );
    let error = fails("revenue_ops.grade", "missing_keys");
    assert_eq!(
        error["message"],
        "node `grade` of operator `revenue_ops` failed: the state has no `score.score`"
    );
    let ran = sandbox.json_with(
        &["role", "run", "cro", "revenue_ops.*", "--state", "-"],
        b"{\"lead\": \"acme\"}",
    );
    assert_eq!(ran["state"]["grade"], "A");
    let error = sandbox.fails(&["role", "run", "cto", "x"], 1, "role_not_found");
    assert!(
        error["hint"]
            .as_str()
            .is_some_and(|hint| hint.ends_with("kapsa.toml declares cro, intern")),
        "{error}"
    );
    sandbox.write("state.json", "[1]");
    sandbox.fails(&["role", "run", "cro", "qualify", "--state", "state.json"], 1, "usage");
    sandbox.write("state.json", "{}");
    let error = sandbox.fails(
        &["role", "run", "intern", "x", "--state", "state.json"],
        1,
        "node_not_found",
    );
    assert_eq!(error["hint"], "it has no operators");
    let error = sandbox.fails(&["role", "respond", "intern", "hello"], 1, "no_model");
    assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("--model NAME")), "{error}");
}

#[test]
fn a_role_answers_learns_and_tells() {
    let sandbox = team();
    let said = sandbox.json(&["role", "respond", "cro", "who", "are", "you"]);
    assert_eq!((&said["text"], &said["role"]), (&json!("I am the CRO.\u{1b}[31m"), &json!("cro")));
    assert!(said["episode"].as_str().is_some_and(|id| id.starts_with("ep_")), "{said}");
    let told = sandbox.ok(&["role", "respond", "cro", "who are you"]);
    assert!(told.starts_with("I am the CRO.\\x1b[31m\n"), "nothing acts on a terminal: {told:?}");
    sandbox.ok(&["role", "run", "cro", "qualify", "--state", "state.json"]);
    let learned = sandbox.json(&["role", "reflect", "cro"]);
    let insight = &learned["new"][0];
    assert_eq!(
        (&insight["text"], &insight["classification"]),
        (&json!("Late payers churn"), &json!("confidential"))
    );
    let published = sandbox.json(&["role", "publish", "cro", "--min-confidence", "0.7"]);
    assert_eq!(
        (&published["count"], &published["facts"][0]["classification"]),
        (&json!(1), &json!("confidential"))
    );
    assert_eq!(
        sandbox.run(&["role", "publish", "cro", "--min-confidence", "0.9"]).err,
        "nothing to publish: no insight reaches the minimum confidence\n"
    );
}

/// Without a model a role learns by counting.
#[test]
fn a_role_without_a_model_learns_by_counting() {
    let sandbox = team();
    for n in 0..3 {
        sandbox.ok(&[
            "episode",
            "add",
            "late",
            "--agent",
            "intern",
            "--action",
            "pay",
            "--id",
            &format!("e{n}"),
        ]);
    }
    let learned = sandbox.json(&["role", "reflect", "intern"]);
    assert_eq!(learned["new"][0]["text"], "pay came to the same result again and again: late");
    let again = sandbox.run(&["role", "reflect", "intern"]);
    assert_eq!(warned(&again), (Some(0), "nothing new\n"));
}

#[test]
fn roles_are_listed_and_shown() {
    let sandbox = team();
    let listed = sandbox.json(&["role", "list"]);
    assert_eq!((&listed["count"], &listed["roles"][0]["id"]), (&json!(2), &json!("cro")));
    assert_eq!(
        listed["roles"][0]["operators"][1]["nodes"][0],
        json!({"name": "look", "kind": "agent"})
    );
    let shown = sandbox.json(&["role", "show", "cro"]);
    assert_eq!(
        shown["clearance"],
        json!({"revenue": "confidential", "ops": "internal"}),
        "as it is declared"
    );
    // What the capsule says narrows it, and what it does not say is closed.
    sandbox.ok(&["clearance", "set", "cro", "revenue=internal", "hr=restricted"]);
    assert_eq!(sandbox.json(&["role", "show", "cro"])["clearance"], json!({"revenue": "internal"}));
    let told = sandbox.ok(&["role", "show", "cro"]);
    for line in [
        "goal        Grow revenue",
        "may know    revenue=internal",
        "never       sign_contract",
        "operator    research: look (agent), grade (llm)",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    assert_eq!(
        sandbox.run(&["context", "--agent", "cro"]).err,
        "nothing to show\n",
        "contexts go by the same"
    );
    for (action, want) in [
        ("qualify_lead", "autonomous"),
        ("sign_contract", "forbidden"),
        ("other", "needs_approval"),
    ] {
        let run = sandbox.run(&["role", "can", "cro", action]);
        let code = if want == "autonomous" { 0 } else { 1 };
        assert_eq!(
            (run.code, run.out.as_str()),
            (Some(code), format!("{want}\n").as_str()),
            "scripts can ask"
        );
        let json = sandbox.run(&["role", "can", "cro", action, "--json"]);
        assert!(json.out.contains(&format!("\"permission\":\"{want}\"")), "{}", json.out);
    }
    assert_eq!(sandbox.ok(&["role", "can", "intern", "anything"]), "autonomous\n");
}

#[test]
fn a_declaration_that_cannot_be_is_told_with_its_place() {
    for (from, to, told) in [
        (
            "prompt = \"Score {lead}.\"",
            "promt = \"x\"",
            "in [[role.cro.operators.nodes]]: unknown field `promt`",
        ),
        (
            "soul = \"You are the CRO",
            "sole = \"You are the CRO",
            "in [role.cro]: unknown field `sole`",
        ),
        (
            "revenue = \"confidential\"",
            "revenue = \"secret\"",
            "in [role.cro]: role `cro`: `secret` for `revenue` is not a level",
        ),
        (
            "tools = [\"memory_search\"",
            "tools = [\"memory_sing\"",
            "node `look` of operator `research`: there is no tool `memory_sing`",
        ),
        (
            "temperature = 0.2",
            "temperature = -1.0",
            "node `qualify` of operator `revenue_ops`: a temperature",
        ),
        (
            "model = \"sonnet\"",
            "kind = \"chat\"",
            "node `qualify` of operator `revenue_ops`: its kind is llm or agent",
        ),
        (
            "scripted:models/cro.json",
            "scripted:../cro.json",
            "must be a relative path without `..`",
        ),
        ("scripted:models/cro.json", "oracle:1", "`oracle` is not a known provider"),
        ("price = {", "price = { per_token = 1,", "unknown field `per_token`"),
        (
            "[role.intern]",
            "[role.\"../x\"]",
            "kapsa.toml, in [role.\"../x\"]: its id cannot name an agent: ",
        ),
        (
            "[role.intern]",
            "[role.\"\"]",
            "kapsa.toml, in [role.\"\"]: its id cannot name an agent: ",
        ),
    ] {
        let sandbox = team();
        sandbox.write("kapsa.toml", CONFIG.replacen(from, to, 1));
        let run = sandbox.run(&["role", "run", "cro", "qualify", "--state", "state.json"]);
        assert_eq!(run.code, Some(1), "{told}: {}", run.err);
        assert!(run.err.contains(told), "{told}: {}", run.err);
        // Run memory reads the same file, and minds its own table alone.
        sandbox.ok(&["run", "config"]);
    }
}

#[test]
fn roles_are_the_owners() {
    let sandbox = team();
    sandbox.fails(&["role", "list", "--as", "cro"], 1, "access_denied");
}

/// A role that nobody can be is not listed as if it could act.
#[test]
fn an_id_that_names_nobody_is_refused_when_the_file_is_read() {
    for id in ["../x", "", "a b", ".."] {
        let sandbox = team();
        sandbox
            .write("kapsa.toml", CONFIG.replacen("[role.intern]", &format!("[role.\"{id}\"]"), 1));
        let error = sandbox.fails(&["role", "list"], 1, "invalid_config");
        assert_eq!(error["role"], id);
    }
}

/// A state is written whole and in the place of a file alone, and what cannot be written is found
/// out before a model is asked.
#[test]
fn a_state_replaces_a_file_and_nothing_else() {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    let sandbox = team();
    let run = |out: &str| {
        sandbox.run(&["role", "run", "cro", "qualify", "--state", "state.json", "--out", out])
    };
    crate::support::fifo(&sandbox.path("pipe"));
    symlink(sandbox.capsule(), sandbox.path("link")).expect("a link");
    fs::hard_link(sandbox.capsule(), sandbox.path("name")).expect("a name");
    symlink(sandbox.path("nowhere"), sandbox.path("dangling")).expect("a link");
    let before = crate::support::bytes(&sandbox.capsule());
    for (out, why) in [
        (".kapsa/workspace.kapsa", "it belongs to the capsule"),
        (".kapsa/../.kapsa/workspace.kapsa", "it belongs to the capsule"),
        (".kapsa/workspace.kapsa.lock", "it belongs to the capsule"),
        (".kapsa/workspace.kapsa.new", "it belongs to the capsule"),
        ("link", "it belongs to the capsule"),
        ("name", "it belongs to the capsule"),
        ("pipe", "not a regular file"),
        ("models", "not a regular file"),
        ("/dev/null", "not a regular file"),
        ("dangling", "it is a link that leads nowhere"),
    ] {
        let run = run(out);
        assert!(run.code == Some(1) && run.err.contains(why), "{out}: {run:?}");
    }
    assert!(
        before == crate::support::bytes(&sandbox.capsule()),
        "nothing was written and nobody asked"
    );

    fs::remove_file(sandbox.path("name")).expect("the other name goes");
    sandbox.write("real.json", "old");
    fs::set_permissions(sandbox.path("real.json"), fs::Permissions::from_mode(0o640))
        .expect("permissions");
    fs::hard_link(sandbox.path("real.json"), sandbox.path("kept.json")).expect("a second name");
    symlink("real.json", sandbox.path("via.json")).expect("a link");
    run("via.json").success("via.json");
    let written: Value =
        serde_json::from_slice(&crate::support::bytes(&sandbox.path("real.json"))).expect("JSON");
    assert_eq!(written["score"], json!({"score": 85}));
    assert_eq!(
        crate::support::bytes(&sandbox.path("kept.json")),
        b"old",
        "a new file took the place of the old one"
    );
    let mode = fs::metadata(sandbox.path("real.json")).expect("there").permissions().mode();
    assert_eq!((mode & 0o777, sandbox.path("via.json").is_symlink()), (0o640, true));
    let left = fs::read_dir(sandbox.path(""))
        .expect("a folder")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    assert!(
        !left.into_iter().any(|name| name.starts_with(".kapsa-state-")),
        "nothing is left beside it"
    );
}

/// A pipe is not waited for.
#[test]
fn states_and_scripts_are_regular_files() {
    let sandbox = team();
    crate::support::fifo(&sandbox.path("pipe"));
    let calls: [&[&str]; 2] = [
        &["role", "run", "cro", "qualify", "--state", "pipe"],
        &["role", "run", "cro", "qualify", "--state", "state.json", "--model", "scripted:pipe"],
    ];
    for call in calls {
        let error = sandbox.fails(call, 1, "not_a_file");
        assert_eq!(error["message"], "cannot read pipe: not a regular file");
    }
    sandbox.fails(&["role", "run", "cro", "qualify", "--state", "models"], 1, "not_a_file");
    let given = sandbox
        .run_with(&["role", "run", "cro", "qualify", "--state", "-"], br#"{"lead": "acme"}"#);
    given.success("standard input");
}

/// A chain that breaks keeps what was answered, which was paid for.
#[test]
fn a_chain_that_breaks_keeps_what_was_answered() {
    let sandbox = team();
    sandbox.write(
        "models/cro.json",
        r#"{"rules": [{"contains": "Score acme", "text": "{\"score\": 1}"}]}"#,
    );
    let args =
        ["role", "run", "cro", "revenue_ops", "--state", "state.json", "--out", "after.json"];
    let error = sandbox.fails(&args, 1, "model_failed");
    assert_eq!((&error["done"], &error["tokens_in"]), (&json!(["qualify"]), &json!(0)));
    let message =
        "node `grade` of operator `revenue_ops` failed: the script has no reply for this request";
    assert_eq!(error["message"], message);
    let written: Value =
        serde_json::from_slice(&crate::support::bytes(&sandbox.path("after.json"))).expect("JSON");
    assert_eq!(written, json!({"lead": "acme", "score": {"score": 1}}));
    let run = sandbox.run(&args);
    assert!(run.out.contains("qualify") && run.err.starts_with("error: node `grade`"), "{run:?}");
    let lost = sandbox.run(&[
        "role",
        "run",
        "cro",
        "qualify",
        "--state",
        "state.json",
        "--out",
        "/proc/self/state.json",
    ]);
    assert!(
        lost.out.contains("{\"score\":1}") && lost.err.contains("cannot write /proc/self"),
        "{lost:?}"
    );
    assert_eq!(sandbox.json(&["episode", "list", "--agent", "cro"])["count"], 5);
}

/// A real service: what is asked and answered, which key goes where, and that it is shown and
/// stored nowhere.
#[test]
fn a_service_answers_and_its_key_stays_with_it() {
    const KEY: &str = "sk-very-secret-0123456789";
    let sandbox = team();
    let server = Stub::start(|number, _| match number {
        0 => Reply::json(&json!({
            "model": "gpt-x", "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "{\"score\": 70}"}}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 6, "total_tokens": 18}
        })),
        _ => Reply::status(401, &format!("{{\"error\": {{\"message\": \"bad key {KEY}\"}}}}")),
    });
    let ask = |args: &[&str]| -> Run {
        let mut command = sandbox.command();
        command.args(args).env("KAPSA_LLM_URL", format!("{}/v1", server.url()));
        command.env("KAPSA_LLM_KEY", KEY).env("OPENAI_API_KEY", "sk-of-openai-itself");
        command.output().expect("it runs").into()
    };
    let args = [
        "role",
        "run",
        "cro",
        "qualify",
        "--state",
        "state.json",
        "--model",
        "openai:gpt-x",
        "--json",
    ];
    let run = ask(&args);
    assert_eq!(warned(&run), (Some(0), ""));
    let ran: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(
        (&ran["state"]["score"], &ran["nodes"][0]["tokens_in"]),
        (&json!({"score": 70}), &json!(12))
    );
    assert_eq!(ran["nodes"][0].get("cost"), None, "the price is that of another model");
    let asked = &server.requests()[0];
    assert_eq!(
        (asked.path.as_str(), asked.header("authorization")),
        ("/v1/chat/completions", Some(&*format!("Bearer {KEY}")))
    );
    assert_eq!((&asked.body["model"], &asked.body["temperature"]), (&json!("gpt-x"), &json!(0.2)));
    let system = asked.body["messages"][0]["content"].as_str().expect("a system prompt");
    let want = "You are the CRO. Data-driven.\n\n## Goals\n- Grow revenue without losses\n\nAnswer as {\"score\": 0}.\n\n## Context\n- Acme pays late";
    assert_eq!(system, want);

    let refused = ask(&args);
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""), "{}", refused.err);
    let failed: Value = serde_json::from_str(&refused.err).expect("JSON");
    assert_eq!(failed["error"]["code"], "model_failed");
    let episodes = sandbox.ok(&["episode", "list", "--agent", "cro"]);
    assert!(episodes.contains("failed: "), "what failed is remembered: {episodes}");
    let stored = crate::support::bytes(&sandbox.capsule());
    for (place, text) in [
        ("capsule", String::from_utf8_lossy(&stored).into_owned()),
        ("output", run.out),
        ("error", refused.err),
        ("episodes", sandbox.ok(&["episode", "list", "--agent", "cro", "--json"])),
    ] {
        assert!(!text.contains(KEY), "the key is in the {place}");
    }
}

/// What is due is done once, whatever was missed; what fails does not stop the rest.
#[test]
fn a_schedule_does_what_is_due_and_remembers_it() {
    let sandbox = Sandbox::new();
    let config = r#"
        [role.cro]
        soul = "You are the CRO."
        model = "scripted:cro.json"
        clearance = { ops = "internal" }
        [[role.cro.operators]]
        id = "sales"
        nodes = [{ name = "score", prompt = "Score {lead}.", output = "score" }]
        [[role.cro.schedule]]
        every = "1h"
        run = "sales.score"
        state = { lead = "acme" }
        [[role.cro.schedule]]
        every = "1h"
        run = "sales"
        [[role.cro.schedule]]
        every = "1s"
        run = "reflect"
        [role.idle]
        soul = "You rest."
    "#;
    sandbox.write("kapsa.toml", config);
    let rules = r#"{"rules": [
        {"contains": "You are reflecting", "text": "[]"},
        {"contains": "Score acme", "text": "85"}
    ]}"#;
    sandbox.write("cro.json", rules);
    sandbox.fails(&["role", "schedule", "idle"], 1, "no_schedule");
    let jobs = |answer: &Value| -> Vec<(String, bool)> {
        let all = answer["jobs"].as_array().expect("a list").iter();
        all.map(|job| {
            let name = job["job"].as_str().expect("a name").to_string();
            (name, job["ran"].as_bool().expect("a boolean"))
        })
        .collect()
    };
    let of = |score, sales, reflect| {
        [("sales.score", score), ("sales", sales), ("reflect", reflect)]
            .map(|(name, ran)| (name.to_string(), ran))
    };
    assert_eq!(jobs(&sandbox.json(&["role", "schedule", "--dry-run"])), of(false, false, false));
    let run = sandbox.run(&["role", "schedule", "--json"]);
    assert_eq!(run.code, Some(1), "one of them fails: {}", run.err);
    let first: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(jobs(&first), of(true, true, true));
    assert_eq!(first["jobs"][0]["node_count"], 1);
    assert!(first["jobs"][1]["error"].as_str().is_some_and(|error| error.contains("lead")));
    let episodes = sandbox.json(&["episode", "list", "--agent", "cro"])["count"].clone();
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let second = sandbox.json(&["role", "schedule", "cro"]);
    assert_eq!(jobs(&second), of(false, false, true), "only what is due again");
    assert_eq!(sandbox.json(&["episode", "list", "--agent", "cro"])["count"], episodes);
    let last = sandbox.json(&["history", "kapsa/schedule/cro/reflect"]);
    assert_eq!(last["count"], 2);
    sandbox.fails(&["role", "schedule", "--as", "cro"], 1, "access_denied");
}
