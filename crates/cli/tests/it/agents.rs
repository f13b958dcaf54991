//! Facts, episodes and insights, through the command line.

use serde_json::{Value, json};

use crate::support::Sandbox;

const PORT: [&str; 6] = ["--entity", "db", "--attribute", "port", "--domain", "ops"];

/// Tells something about the port of the database.
fn tell(sandbox: &Sandbox, text: &str, more: &[&str]) -> Value {
    sandbox.json(&[&["fact", "add", text], &PORT[..], more].concat())
}

fn ids(answer: &Value) -> Vec<&str> {
    answer["facts"]
        .as_array()
        .expect("facts")
        .iter()
        .filter_map(|fact| fact["id"].as_str())
        .collect()
}

#[test]
fn the_answer_says_what_became_of_a_fact_and_why() {
    let sandbox = Sandbox::new();
    let first = tell(&sandbox, "It listens on port 5433", &["--id", "f1", "--source", "ops"]);
    assert_eq!((&first["verdict"], &first["fact"]["id"]), (&json!("new"), &json!("f1")));
    let same = tell(&sandbox, "it LISTENS on: port 5433", &["--source", "dev"]);
    assert_eq!(
        (&same["verdict"], &same["other"], &same["fact"]["id"]),
        (&json!("same"), &json!("f1"), &json!("f1"))
    );
    assert_eq!(same["fact"]["evidence"][0]["source"], "dev", "a second source is kept");
    let again = tell(&sandbox, "Port 5433 is where it listens", &["--source", "ops"]);
    assert_eq!((&again["verdict"], &again["fact"]["evidence_count"]), (&json!("same"), &json!(3)));
    let contested = tell(&sandbox, "It listens on port 5434", &["--id", "f2", "--source", "dev"]);
    assert_eq!(
        (&contested["verdict"], &contested["fact"]["conflicts_with"]),
        (&json!("contests"), &json!(["f1"]))
    );
    assert!(
        contested["reason"].as_str().is_some_and(|reason| reason.contains("another source")),
        "{contested}"
    );
    assert_eq!(ids(&sandbox.json(&["fact", "list", "--contested"])), ["f1", "f2"]);
    let told = sandbox.ok(&["fact", "list", "--entity", "db"]);
    assert!(
        told.contains("f2  It listens on port 5434  [db · port · ops; by dev; CONTESTED with f1]"),
        "{told}"
    );
    let settled = sandbox.json(&["fact", "resolve", "f2"]);
    assert_eq!(
        (ids(&settled), &settled["facts"][1]["superseded_by"]),
        (vec!["f2", "f1"], &json!("f2"))
    );
    assert_eq!(ids(&sandbox.json(&["fact", "list"])), ["f2"]);
    assert_eq!(ids(&sandbox.json(&["fact", "list", "--all"])), ["f1", "f2"]);
    let newer = tell(&sandbox, "It listens on port 5435", &["--id", "f3", "--source", "dev"]);
    assert_eq!((&newer["verdict"], &newer["other"]), (&json!("supersedes"), &json!("f2")));
    assert_eq!(
        tell(&sandbox, "It listens on port 5435", &["--id", "f4", "--compare", "none"])["verdict"],
        "stored"
    );
    assert_eq!(ids(&sandbox.json(&["fact", "query", "LISTENS on"])), ["f3", "f4"]);
    let versions = sandbox.json(&["history", "fact/f1"]);
    assert_eq!(
        versions["records"].as_array().map(Vec::len),
        Some(5),
        "added, twice the same, contested, superseded: {versions}"
    );
}

/// What the words do not decide is marked, and somebody decides.
#[test]
fn a_pending_fact_waits_for_a_decision() {
    let sandbox = Sandbox::new();
    tell(&sandbox, "The lamp glows like a ripe apple", &["--id", "f1"]);
    let told = tell(&sandbox, "Its light is crimson", &["--id", "f2"]);
    assert_eq!(told["verdict"], "pending", "{told}");
    assert_eq!(told["fact"]["pending"]["verdict"], told["proposed"]);
    assert_eq!(told["fact"]["pending_with"], json!(["f1"]));
    assert_eq!(ids(&sandbox.json(&["fact", "list", "--pending"])), ["f1", "f2"]);
    assert!(sandbox.ok(&["fact", "list"]).contains("PENDING"));
    assert!(sandbox.ok(&["context"]).contains("(pending)"));
    let decided = sandbox.json(&["fact", "resolve", "f2", "--coexist", "--by", "ann"]);
    let decision = &decided["facts"][0]["decision"];
    assert_eq!((&decision["answer"], &decision["by"]), (&json!("coexists"), &json!("ann")));
    assert_eq!(sandbox.json(&["fact", "list", "--pending"])["count"], 0);
    assert_eq!(ids(&sandbox.json(&["fact", "list"])), ["f1", "f2"]);
}

/// An entity is found by all its names, and attributes are declared.
#[test]
fn a_capsule_declares_names_and_attributes() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["fact", "add", "The tram runs late", "--id", "f1", "--entity", "Tram Works Ltd"]);
    let names = sandbox.json(&["entity", "alias", "tram works", "The Reds"]);
    assert_eq!(names["aliases"], json!(["The Reds"]));
    assert_eq!(ids(&sandbox.json(&["fact", "list", "--entity", "reds"])), ["f1"]);
    assert_eq!(sandbox.json(&["entity", "show", "REDS"])["name"], "tram works");
    assert_eq!(sandbox.ok(&["entity", "list"]), "tram works = The Reds\n");
    sandbox.ok(&["entity", "unalias", "tram works", "the reds"]);
    assert_eq!(sandbox.json(&["entity", "list"])["count"], 0);
    let many = sandbox.json(&["fact", "attribute", "line", "--many", "--domain", "ops"]);
    assert_eq!((&many["many"], &many["domain"]), (&json!(true), &json!("ops")));
    assert_eq!(sandbox.ok(&["fact", "attributes"]), "line  many values  [ops]\n");
}

/// Records are found by all names of their entity, as facts are, and so are cards and edges.
#[test]
fn every_verb_knows_all_names_of_an_entity() {
    let sandbox = Sandbox::new();
    let put = |uri: &str, text: &str, entity: &str| {
        sandbox.ok(&["put", "--uri", uri, "--text", text, "--entity", entity]);
    };
    put("n/1", "The tram runs late", "Tram Works Ltd");
    put("n/2", "The tram is red", "The Reds");
    put("n/3", "The tram is a toy", "Toy Shop");
    sandbox.ok(&["fact", "add", "The tram hums", "--id", "f1", "--entity", "the reds"]);
    let episode = ["episode", "add", "--agent", "ann", "--entity", "Reds"];
    sandbox.ok(&[&episode[..], &["Rode the tram"]].concat());
    sandbox.ok(&["entity", "alias", "tram works", "The Reds"]);
    let uris = |args: &[&str]| {
        let answer = sandbox.json(args);
        let list = ["hits", "records"].iter().find_map(|list| answer[*list].as_array().cloned());
        let mut uris: Vec<String> = list
            .expect("a list")
            .iter()
            .map(|record| record["uri"].as_str().unwrap_or_default().replace("mv2://default/", ""))
            .filter(|uri| uri.starts_with("n/") || uri.starts_with("fact/"))
            .collect();
        uris.sort();
        uris
    };
    for name in ["Tram Works Ltd", "tram works", "THE REDS", "reds", "Tram Works"] {
        assert_eq!(uris(&["find", "tram", "--entity", name]), ["fact/f1", "n/1", "n/2"], "{name}");
        assert_eq!(uris(&["timeline", "--entity", name]), ["fact/f1", "n/1", "n/2"], "{name}");
        assert_eq!(uris(&["list", "--entity", name]), ["fact/f1", "n/1", "n/2"], "{name}");
        assert_eq!(ids(&sandbox.json(&["fact", "list", "--entity", name])), ["f1"], "{name}");
        let episodes = sandbox.json(&["episode", "list", "--agent", "ann", "--entity", name]);
        assert_eq!(episodes["count"], 1, "{name}");
        assert!(!sandbox.run(&["list", "--entity", name]).err.contains("no record"), "{name}");
    }
    let unknown = sandbox.run(&["list", "--entity", "Tram Wrks Ltd"]);
    assert!(unknown.err.contains("there is Tram Works Ltd"), "{}", unknown.err);
    let card = ["graph", "add-card", "--type", "component", "--title"];
    sandbox.ok(&[&card[..], &["Tram Works", "--fact", "seats=9:number"]].concat());
    sandbox.ok(&[&card[..], &["The Reds", "--fact", "doors=2:number"]].concat());
    assert_eq!(sandbox.json(&["graph", "query", "--type", "component"])["count"], 1);
    let edge = ["graph", "add-edge", "--type", "owns", "--from"];
    sandbox.ok(&[&edge[..], &["firm/tram-works", "--to", "line/one"]].concat());
    sandbox.ok(&[&edge[..], &["town/hall", "--to", "firm/the-reds"]].concat());
    for uri in ["firm/tram-works", "firm/the-reds", "firm/reds"] {
        assert_eq!(sandbox.json(&["graph", "query", "--uri", uri])["count"], 2, "{uri}");
    }
    let far = ["graph", "query", "--uri", "town/hall", "--direction", "out", "--depth", "2"];
    assert_eq!(sandbox.json(&far)["count"], 2);
    sandbox.ok(&["entity", "unalias", "tram works", "The Reds"]);
    assert_eq!(uris(&["list", "--entity", "tram works"]), ["n/1"]);
}

/// Of two notes that give different values of one property the newer comes first.
#[test]
fn the_newer_of_two_notes_comes_first() {
    let sandbox = Sandbox::new();
    for (uri, day, port) in [("note/a", "2030-01-01", 7001), ("note/b", "2030-03-01", 7002)] {
        let text = format!("The mirror listens on port {port}");
        let note = json!({"uri": uri, "text": text, "created_at": format!("{day}T00:00:00Z")});
        sandbox.json_with(&["put", "-"], format!("{note}\n").as_bytes());
    }
    sandbox.ok(&["put", "--text", "The archive listens on port 7001"]);
    let found = sandbox.json(&["find", "mirror listens on port 7001", "--mode", "lex"]);
    assert_eq!(found["hits"][0]["snippet"], "The mirror listens on port 7002", "{found}");
    let older: Vec<&Value> = found["hits"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|hit| hit["newer"].is_u64())
        .map(|hit| &hit["snippet"])
        .collect();
    assert_eq!(older, ["The mirror listens on port 7001"], "{found}");
}

/// What did we believe on Monday about June?
#[test]
fn two_times_are_asked_for_apart() {
    let sandbox = Sandbox::new();
    tell(&sandbox, "It is 1", &["--id", "f1", "--valid-from", "2026-01-01"]);
    sandbox.ok(&["commit", "--label", "monday"]);
    sandbox.ok(&["fact", "supersede", "f1", "It is 2", "--id", "f2", "--valid-from", "2026-06-01"]);
    let told = |when: &[&str]| {
        let answer = sandbox.json(&[&["fact", "query", "--all"], when].concat());
        ids(&answer).into_iter().map(str::to_string).collect::<Vec<_>>()
    };
    let june = ["--valid-at", "2026-06-15"];
    assert_eq!(told(&june), ["f2"]);
    assert_eq!(told(&["--valid-at", "2026-05-15"]), ["f1"]);
    assert_eq!(
        told(&[&june[..], &["--as-of", "monday"]].concat()),
        ["f1"],
        "nobody knew better then"
    );
    assert_eq!(told(&["--valid-at", "2025-12-31"]), [""; 0]);
    let (code, error) = sandbox.error(&["fact", "supersede", "f1", "It is 3"]);
    assert_eq!((code, &error["message"]), (1, &json!("fact f1 was already superseded by f2")));
    let new = sandbox.json(&["fact", "get", "f2"]);
    assert_eq!(
        (&new["entity"], &new["domain"], &new["supersedes"]),
        (&json!("db"), &json!("ops"), &json!("f1"))
    );
    let (code, error) = sandbox.error(&[
        "fact",
        "add",
        "x",
        "--valid-from",
        "2026-06-01",
        "--valid-to",
        "2026-05-01",
    ]);
    assert_eq!(
        (code, &error["message"]),
        (1, &json!("--valid-to must be later than --valid-from"))
    );
}

#[test]
fn an_agent_learns_and_tells_its_team_no_further_than_it_may() {
    let sandbox = Sandbox::new();
    let add = |text: &str, level: &str| {
        let call = [
            "episode", "add", text, "--agent", "cro", "--action", "qualify", "--entity", "acme",
            "--domain", "revenue",
        ];
        sandbox.json(&[&call[..], &["--classification", level]].concat())
    };
    add("score 85", "internal");
    add("Score  85", "confidential");
    let last = add("score 85", "internal");
    let listed = sandbox.json(&["episode", "list", "--agent", "cro", "--limit", "2"]);
    assert_eq!(
        (&listed["count"], &listed["episodes"][0]["id"]),
        (&json!(2), &last["id"]),
        "newest first"
    );
    assert_eq!(sandbox.json(&["episode", "list", "--agent", "cmo"])["count"], 0);
    let learned = sandbox.json(&["insight", "reflect", "--agent", "cro"]);
    let insight = &learned["new"][0];
    assert_eq!(
        (&insight["evidence_count"], &insight["classification"]),
        (&json!(3), &json!("confidential")),
        "{learned}"
    );
    let id = insight["id"].as_str().expect("an id");
    let again = sandbox.json(&["insight", "reflect", "--agent", "cro"]);
    let nothing =
        json!({ "agent": "cro", "new": [], "strengthened": [], "tokens_in": 0, "tokens_out": 0 });
    assert_eq!(again, nothing);
    let confirmed = sandbox.json(&["insight", "confirm", id, "--agent", "cro"]);
    assert_eq!((&confirmed["confidence"], &confirmed["evidence_count"]), (&json!(0.7), &json!(4)));
    let (code, error) = sandbox.error(&[
        "insight",
        "publish",
        id,
        "--agent",
        "cro",
        "--classification",
        "internal",
    ]);
    assert_eq!((code, &error["code"]), (1, &json!("access_denied")), "{error}");
    let published =
        sandbox.json(&["insight", "publish", "--agent", "cro", "--min-confidence", "0.7"]);
    assert_eq!(
        (&published["count"], &published["facts"][0]["classification"]),
        (&json!(1), &json!("confidential"))
    );
    assert_eq!(published["facts"][0]["id"], format!("pub_{id}"));
    sandbox.json(&["insight", "retire", id, "--agent", "cro"]);
    assert_eq!(sandbox.json(&["insight", "list", "--agent", "cro"])["count"], 0);
    assert_eq!(
        sandbox.json(&["insight", "list", "--agent", "cro", "--all"])["insights"][0]["status"],
        "retired"
    );
    let episode = listed["episodes"][1]["id"].as_str().expect("an id");
    let from = ["insight", "add", "It is warm", "--agent", "cro", "--from", episode];
    let (code, error) = sandbox.error(&[&from[..], &["--classification", "internal"]].concat());
    assert_eq!(
        (code, error["message"].as_str().is_some_and(|m| m.contains("confidential"))),
        (1, true),
        "{error}"
    );
    assert_eq!(sandbox.json(&from)["classification"], "confidential");
    let (code, error) = sandbox.error(&["insight", "confirm", "ins_none", "--agent", "cro"]);
    assert_eq!((code, &error["code"]), (1, &json!("insight_not_found")));
    let (code, error) = sandbox.error(&["episode", "list"]);
    assert_eq!(
        (code, error["hint"].as_str()),
        (1, Some("name it with --agent NAME or KAPSA_AGENT"))
    );
}

/// What comes of a secret of one domain is told to nobody in another.
#[test]
fn an_insight_stays_in_the_domain_of_its_secrets() {
    fn call<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&["insight", "add", "Acme shrinks", "--agent", "ceo"][..], more].concat()
    }

    let sandbox = Sandbox::new();
    for (id, domain, level) in [
        ("hr", "hr", "confidential"),
        ("ops", "ops", "confidential"),
        ("sales", "sales", "internal"),
        ("more", "sales", "internal"),
    ] {
        let call = ["episode", "add", "Staff is let go", "--agent", "ceo", "--id", id];
        sandbox.ok(&[&call[..], &["--domain", domain, "--classification", level]].concat());
    }
    let add = |more: &[&str]| {
        let kept = sandbox.json(&call(more));
        let text = |name: &str| kept[name].as_str().unwrap_or_default().to_string();
        (text("domain"), text("classification"))
    };
    let pair = |domain: &str, level: &str| (domain.to_string(), level.to_string());
    for more in [
        &["--from", "hr", "--domain", "sales"][..],
        &["--from", "hr", "--domain", ""],
        &["--from", "hr", "--domain", "sales", "--classification", "confidential"],
        &["--from", "hr", "--from", "sales"],
        &["--from", "hr", "--from", "ops", "--domain", "hr"],
    ] {
        let error = sandbox.fails(&call(more), 1, "usage");
        let told = |what: &str| error[what].as_str().unwrap_or_default().to_string();
        assert!(told("message").contains("secrets of hr"), "{error}");
        assert!(told("hint").contains("--classification restricted"), "{error}");
    }
    assert_eq!(add(&["--from", "hr"]), pair("hr", "confidential"), "the domain of its episodes");
    assert_eq!(
        add(&["--from", "hr", "--from", "sales", "--domain", "hr"]),
        pair("hr", "confidential")
    );
    let alone = ["--from", "hr", "--domain", "sales", "--classification", "restricted"];
    assert_eq!(add(&alone), pair("sales", "restricted"));
    assert_eq!(add(&["--from", "sales", "--from", "more"]), pair("sales", "internal"));
    assert_eq!(
        add(&["--from", "sales", "--domain", "ops"]),
        pair("ops", "internal"),
        "what is internal may be told elsewhere"
    );
}

/// A principal sees the facts that it may, writes as itself, and is told of the rest in the words
/// of what is not there.
#[test]
fn facts_are_guarded() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["clearance", "set", "cro", "ops=internal"]);
    tell(&sandbox, "It listens on port 5433", &["--id", "open"]);
    tell(
        &sandbox,
        "The password of port 5433 is sesame",
        &["--id", "secret", "--classification", "confidential"],
    );
    let listed = sandbox.json(&["fact", "list", "--as", "cro"]);
    assert_eq!(ids(&listed), ["open"]);
    assert_eq!(ids(&sandbox.json(&["fact", "query", "sesame", "--as", "cro"])), [""; 0]);
    let refused = |id: &str| {
        let (code, error) = sandbox.error(&["fact", "get", id, "--as", "cro"]);
        (code, error.to_string().replace(id, "X"))
    };
    assert_eq!(refused("secret"), refused("never"));
    let of_boss = [&["fact", "add", "x", "--as", "cro", "--source", "boss"], &PORT[..]].concat();
    assert_eq!(sandbox.error(&of_boss).1["field"], "source", "it speaks for nobody else");
    let told = tell(&sandbox, "It listens on port 5434", &["--as", "cro"]);
    assert_eq!(
        (&told["fact"]["source"], &told["other"]),
        (&json!("cro"), &json!("open")),
        "it speaks for itself"
    );
    let above =
        [&["fact", "add", "x", "--as", "cro"], &PORT[..], &["--classification", "confidential"]]
            .concat();
    assert_eq!(sandbox.error(&above).1["code"], "access_denied");
    let (_, error) =
        sandbox.error(&["episode", "add", "x", "--domain", "ops", "--agent", "cmo", "--as", "cro"]);
    assert_eq!(error["code"], "access_denied", "of nobody else");
    assert_eq!(
        sandbox.json(&["episode", "add", "x", "--domain", "ops", "--as", "cro"])["agent"],
        "cro"
    );
    let audit = sandbox.json(&["timeline", "--kind", "audit"]);
    assert_eq!(audit["records"].as_array().map(Vec::len), Some(4), "{audit}");
    assert_eq!(audit["records"][0]["metadata"]["asked"], "fact/secret");
}

/// A small team: facts of each level, an insight and an episode.
fn team() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok(&["clearance", "set", "cro", "revenue=confidential", "ops=internal"]);
    let fact = |text: &str, more: &[&str]| sandbox.ok(&[&["fact", "add", text], more].concat());
    fact(
        "Acme has 200 employees",
        &["--id", "f1", "--entity", "acme", "--classification", "public"],
    );
    fact(
        "Acme pays late",
        &[
            "--id",
            "f2",
            "--entity",
            "acme",
            "--domain",
            "revenue",
            "--classification",
            "confidential",
        ],
    );
    fact(
        "Payroll of Acme",
        &["--id", "f3", "--entity", "acme", "--domain", "hr", "--importance", "1"],
    );
    sandbox.ok(&[
        "insight",
        "add",
        "Late payers churn",
        "--id",
        "i1",
        "--agent",
        "cro",
        "--domain",
        "revenue",
        "--confidence",
        "0.8",
    ]);
    sandbox.ok(&[
        "episode", "add", "score 85", "--id", "e1", "--agent", "cro", "--action", "qualify",
        "--domain", "revenue",
    ]);
    sandbox
}

#[test]
fn a_context_is_what_its_agent_may_know() {
    let sandbox = team();
    let cro = "## Insights\n- Late payers churn (confidence: 0.8)\n\n## Context\n- Acme pays late\n- Acme has 200 employees\n\n\
               ## Recent Activity\n- qualify: score 85\n";
    let asked = ["context", "--query", "Who of them pays late?"];
    assert_eq!(
        sandbox.ok(&[&asked[..], &["--agent", "cro"]].concat()),
        cro,
        "the owner asks for an agent"
    );
    assert_eq!(
        sandbox.ok(&[&asked[..], &["--as", "cro"]].concat()),
        cro,
        "the agent asks for itself"
    );
    assert_eq!(
        sandbox.ok(&["context", "--as", "stranger"]),
        "## Context\n- Acme has 200 employees\n"
    );
    let owner = sandbox.ok(&["context"]);
    assert_eq!(
        owner, "## Context\n- Payroll of Acme\n- Acme pays late\n- Acme has 200 employees\n",
        "the owner knows all facts"
    );
    assert_eq!(
        sandbox.ok(&["context", "--agent", "cro", "--entity", "acme", "--domain", "revenue"]),
        "## Insights\n- Late payers churn (confidence: 0.8)\n\n## Context\n- Acme pays late\n"
    );
    let nothing = sandbox.run(&["context", "--domain", "none"]);
    assert_eq!(
        (nothing.code, nothing.out.as_str(), nothing.err.as_str()),
        (Some(0), "", "nothing to show\n")
    );
}

#[test]
fn a_context_for_programs() {
    let sandbox = team();
    let told = sandbox.json(&["context", "--agent", "cro", "--uris", "--entity", "acme"]);
    let text = "## Context\n- Acme pays late [fact/f2]\n- Acme has 200 employees [fact/f1]";
    let line = json!({"section": "facts", "id": "f2", "text": "- Acme pays late [fact/f2]", "uri": "mv2://default/fact/f2"});
    assert_eq!(
        (&told["text"], &told["lines"][0], &told["agent"]),
        (&json!(text), &line, &json!("cro"))
    );
    assert_eq!(
        (&told["tokens"], &told["budget"], &told["left_out"]),
        (&json!(text.len().div_ceil(4)), &json!(2000), &json!(0))
    );
    let cut = sandbox.json(&["context", "--agent", "cro", "--budget", "13"]);
    assert_eq!((&cut["left_out"], &cut["tokens"]), (&json!(3), &json!(13)));
    let nothing = sandbox.json(&["context", "--tag", "none"]);
    assert_eq!((&nothing["text"], &nothing["lines"]), (&Value::Null, &json!([])));
    let cut = sandbox.run(&["context", "--agent", "cro", "--budget", "13"]);
    assert_eq!(cut.err, "3 more did not fit the budget of 13 tokens\n");
}

/// To read is no use that is counted, and needs no turn at writing.
#[test]
fn a_context_writes_nothing_and_knows_the_past() {
    let sandbox = team();
    let before = sandbox.json(&["stats"])["commit_count"].clone();
    sandbox.ok(&["commit", "--label", "then"]);
    sandbox.ok(&["fact", "supersede", "f1", "Acme has 300 employees"]);
    assert!(sandbox.ok(&["context", "--as-of", "then"]).contains("\n- Acme has 200 employees\n"));
    assert_eq!(
        sandbox.ok(&["context", "--as", "stranger"]),
        "## Context\n- Acme has 300 employees\n"
    );
    let after = sandbox.json(&["stats"])["commit_count"].clone();
    assert_eq!(
        after.as_u64(),
        before.as_u64().map(|count| count + 2),
        "the checkpoint and the fact"
    );
}

/// What ended since held then.
#[test]
fn a_context_of_the_past_tells_what_held_then() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["fact", "add", "It is open", "--id", "f1", "--valid-to", "2999-01-01"]);
    sandbox.ok(&["commit", "--label", "then"]);
    std::thread::sleep(std::time::Duration::from_millis(2));
    let now = sandbox.json(&["timeline"])["records"][0]["committed_at"]
        .as_str()
        .expect("a time")
        .to_string();
    sandbox.ok(&["fact", "add", "It was open", "--id", "f1", "--valid-to", &now]);
    let told = |more: &[&str]| sandbox.json(&[&["context"], more].concat())["text"].clone();
    assert_eq!(told(&[]), Value::Null);
    assert_eq!(told(&["--as-of", "then"]), "## Context\n- It is open");
    let sequence = sandbox.json(&["history", "fact/f1"])["records"][1]["sequence"].to_string();
    assert_eq!(told(&["--as-of", &sequence]), Value::Null, "it had ended then");
}

/// Nobody writes in another's name or memory, whichever verb it uses.
#[test]
fn principals_forge_nothing() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["clearance", "set", "evil", "sales=restricted"]);
    sandbox.ok(&["clearance", "set", "cro", "sales=restricted"]);
    sandbox.ok(&["insight", "add", "true", "--id", "i1", "--as", "cro", "--domain", "sales"]);
    sandbox.ok(&["episode", "add", "did x", "--id", "e1", "--as", "cro", "--domain", "sales"]);
    sandbox.ok(&[
        "fact",
        "add",
        "told by erp",
        "--id",
        "f1",
        "--source",
        "erp",
        "--domain",
        "sales",
    ]);
    let sales = ["--domain", "sales", "--text", "FORGED", "--as", "evil"];
    for call in [
        &["put", "--uri", "insight/cro/i1", "--kind", "insight", "--agent", "cro"][..],
        &["put", "--uri", "insight/cro/i2", "--kind", "insight"],
        &["put", "--uri", "episode/cro/e2", "--kind", "episode"],
        &["put", "--uri", "fact/q1", "--kind", "fact", "--agent", "erp"],
        &["put", "--uri", "fact/f1", "--kind", "fact", "--agent", "erp"],
        &["put", "--uri", "access/f1", "--kind", "access"],
        &["put", "--kind", "audit"],
    ] {
        let (code, error) = sandbox.error(&[call, &sales].concat());
        assert_eq!((code, &error["code"]), (1, &json!("access_denied")), "{call:?}");
    }
    for uri in ["insight/cro/i1", "episode/cro/e1"] {
        assert_eq!(
            sandbox.error(&["forget", uri, "--as", "evil"]).1["code"],
            "access_denied",
            "{uri}"
        );
    }
    assert_eq!(sandbox.json(&["insight", "list", "--as", "cro"])["insights"][0]["text"], "true");
    sandbox.ok(&[
        "put", "--uri", "fact/own", "--kind", "fact", "--agent", "evil", "--domain", "sales",
        "--text", "x", "--as", "evil",
    ]);
    let both = [
        "put",
        "--uri",
        "fact/res",
        "--domain",
        "sales",
        "--classification",
        "restricted",
        "--text",
        "x",
    ];
    sandbox.ok(&[&both[..], &["--named", "cro", "--named", "evil"]].concat());
    let wider = [&both[..], &["--named", "evil", "--named", "sal", "--as", "evil"]].concat();
    assert_eq!(sandbox.error(&wider).1["code"], "access_denied", "a list of names is not widened");
    for nobody in ["", " "] {
        let (code, error) = sandbox.error(&["timeline", "--as", nobody]);
        assert_eq!((code, &error["code"]), (1, &json!("usage")), "nobody is not the owner");
    }
}

/// Who does not see what a fact is to others cannot undo it, and who does not see all that counts
/// under a name cannot end it.
#[test]
fn what_is_hidden_survives_those_who_do_not_see_it() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["clearance", "set", "low", "=internal"]);
    sandbox.ok(&["fact", "add", "Beta is red", "--id", "g1", "--entity", "beta"]);
    sandbox.ok(&["fact", "supersede", "g1", "Beta is blue", "--id", "g2"]);
    sandbox.ok(&[
        "fact",
        "add",
        "Beta is blue",
        "--id",
        "g2",
        "--classification",
        "confidential",
        "--compare",
        "none",
    ]);
    sandbox.ok(&["fact", "add", "harmless", "--id", "h", "--as", "low"]);
    sandbox.run(&["fact", "contest", "g1", "h", "--as", "low"]);
    sandbox.run(&["fact", "supersede", "g1", "Beta is green", "--as", "low"]);
    assert_eq!(sandbox.json(&["fact", "get", "g1"])["superseded_by"], "g2");
    sandbox.ok(&["put", "--uri", "fact/n", "--kind", "fact", "--text", "base"]);
    sandbox.ok(&["branch", "create", "c"]);
    sandbox.ok(&[
        "--branch",
        "c",
        "put",
        "--uri",
        "fact/n",
        "--kind",
        "fact",
        "--text",
        "open side",
    ]);
    let secret = [
        "put",
        "--uri",
        "fact/n",
        "--kind",
        "fact",
        "--text",
        "SECRET side",
        "--classification",
        "confidential",
    ];
    sandbox.ok(&secret);
    sandbox.ok(&["merge", "--from", "c", "--contested"]);
    let context = sandbox.ok(&["context", "--as", "low"]);
    assert!(context.contains("- open side\n"), "not marked: {context}");
    // Its own side is replaced; the one that it does not see stays and goes on contesting.
    sandbox.ok(&["put", "--uri", "fact/n", "--text", "x", "--as", "low"]);
    assert_ne!(sandbox.run(&["forget", "fact/n", "--as", "low"]).code, Some(0));
    assert_eq!(
        sandbox.json(&["find", "SECRET", "--mode", "lex"])["hits"].as_array().map(Vec::len),
        Some(1)
    );
}

#[test]
fn what_is_not_said_anew_stays() {
    let sandbox = Sandbox::new();
    let first = [
        "fact",
        "add",
        "margin 40",
        "--id",
        "um",
        "--entity",
        "u",
        "--attribute",
        "margin",
        "--domain",
        "revenue",
    ];
    sandbox.ok(&[
        &first[..],
        &["--classification", "confidential", "--source", "erp", "--tag", "t"],
    ]
    .concat());
    let again = sandbox.json(&["fact", "add", "margin 41", "--id", "um"]);
    let fact = &again["fact"];
    assert_eq!((&again["verdict"], &fact["text"]), (&json!("revised"), &json!("margin 41")));
    assert_eq!(
        (&fact["classification"], &fact["domain"], &fact["source"]),
        (&json!("confidential"), &json!("revenue"), &json!("erp"))
    );
    sandbox.ok(&[
        "episode",
        "add",
        "x",
        "--id",
        "e",
        "--agent",
        "a",
        "--domain",
        "d",
        "--classification",
        "confidential",
    ]);
    let again = sandbox.json(&["episode", "add", "y", "--id", "e", "--agent", "a"]);
    assert_eq!((&again["domain"], &again["classification"]), (&json!("d"), &json!("confidential")));
    let missing = sandbox.error(&["fact", "list", "--capsule", "nofile.kapsa"]);
    assert_eq!(
        (missing.0, &missing.1["code"]),
        (1, &json!("capsule_not_found")),
        "no empty memory in place of a wrong path"
    );
    for n in 0..12 {
        let text = format!("number {n}");
        sandbox.ok(&["fact", "add", &text, "--entity", "many", "--compare", "none"]);
    }
    let listed = sandbox.json(&["fact", "list", "--entity", "many"]);
    assert_eq!((&listed["count"], &listed["more"]), (&json!(10), &json!(true)));
    sandbox.ok(&["insight", "add", "x", "--id", "i", "--agent", "a"]);
    assert_eq!(sandbox.json(&["insight", "weaken", "i", "--agent", "a"])["confidence"], 0.4);
    sandbox.ok(&["insight", "retire", "i", "--agent", "a"]);
    let (_, error) = sandbox.error(&["insight", "confirm", "i", "--agent", "a"]);
    assert_eq!(error["message"], "insight i has retired");
    sandbox.ok(&["clearance", "remove", "cro"]);
    assert_eq!(sandbox.json(&["clearance", "show", "cro"])["domains"], json!({}));
}

#[test]
fn an_insight_that_is_known_keeps_what_is_not_said_anew() {
    let sandbox = Sandbox::new();
    let more = [
        "--id",
        "i",
        "--agent",
        "a",
        "--domain",
        "revenue",
        "--classification",
        "confidential",
        "--confidence",
        "0.9",
    ];
    sandbox.ok(&[&["insight", "add", "first"], &more[..]].concat());
    let again = sandbox.json(&["insight", "add", "second", "--id", "i", "--agent", "a"]);
    assert_eq!(
        (&again["text"], &again["classification"]),
        (&json!("second"), &json!("confidential"))
    );
    assert_eq!((&again["domain"], &again["confidence"]), (&json!("revenue"), &json!(0.9)));
    sandbox.ok(&["insight", "publish", "i", "--agent", "a"]);
    let retired = sandbox.run(&["insight", "retire", "i", "--agent", "a"]);
    assert!(retired.err.contains("kapsa forget fact/pub_i"), "{}", retired.err);
}

#[test]
fn a_search_marks_facts_whose_place_another_took() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["fact", "add", "The CTO is Fox", "--id", "old"]);
    sandbox.ok(&["fact", "supersede", "old", "The CTO is Kent", "--id", "new"]);
    let find = ["find", "cto", "--mode", "lex"];
    assert!(!sandbox.ok(&find).contains("fact/old"), "left out unless asked for");
    let found = sandbox.ok(&[&find[..], &["--include-superseded"]].concat());
    let heads: Vec<&str> = found.lines().filter(|line| line.contains("fact/")).collect();
    let marked: Vec<bool> = heads.iter().map(|head| head.ends_with("superseded by new")).collect();
    assert_eq!(heads.len(), 2, "{found}");
    assert!(
        heads.iter().zip(&marked).all(|(head, marked)| head.contains("fact/old") == *marked),
        "{found}"
    );
}

/// An agent whose variable was never set does not get the owner's view.
#[test]
fn a_context_of_nobody_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["fact", "add", "the rate is 40", "--classification", "confidential"]);
    for empty in ["", " "] {
        sandbox.fails(&["context", "--agent", empty], 1, "usage");
    }
}

/// What is asked for by its id or its words was read; what is listed, or read of the past, was not.
#[test]
fn facts_that_are_asked_for_count_as_read() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["fact", "add", "Acme pays late", "--entity", "acme", "--id", "f1"]);
    let count = || sandbox.json(&["fact", "list"])["facts"][0]["access_count"].clone();
    assert_eq!(count(), 0);
    assert_eq!(sandbox.json(&["fact", "get", "f1"])["access_count"], 0, "as it was before");
    sandbox.ok(&["fact", "get", "f1"]);
    sandbox.ok(&["fact", "query", "pays"]);
    assert_eq!(count(), 3);
    sandbox.ok(&["fact", "get", "f1", "--as-of", "#1"]);
    sandbox.run(&["fact", "query", "nothing of it"]);
    assert_eq!(count(), 3);
    let mut holder = sandbox.hold_lock();
    sandbox.ok(&["fact", "get", "f1"]);
    holder.kill().expect("it ends");
    holder.wait().expect("it ended");
    assert_eq!(count(), 3, "a read does not wait for a writer");
}
