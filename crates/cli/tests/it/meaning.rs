//! Search by meaning as its user meets it: with the model that comes with the program, and with one
//! from a folder.

use std::net::TcpListener;

use kapsa_testkit::stub::{Reply, Stub};
use serde_json::{Value, json};

use crate::support::Sandbox;

fn ask(sandbox: &Sandbox, args: &[&str]) -> Value {
    let output = sandbox
        .command()
        .env("KAPSA_EMBED", "now")
        .arg("--json")
        .args(args)
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("it prints JSON")
}

fn fails(sandbox: &Sandbox, args: &[&str], code: i32, error: &str) {
    let output = sandbox.command().arg("--json").args(args).output().expect("it starts");
    assert_eq!(output.status.code(), Some(code), "{args:?}");
    let told: Value = serde_json::from_slice(&output.stderr).expect("an error in JSON");
    assert_eq!(told["error"]["code"], error, "{told}");
}

fn texts(found: &Value) -> Vec<String> {
    found["hits"]
        .as_array()
        .expect("hits")
        .iter()
        .map(|hit| hit["snippet"].as_str().expect("a snippet").to_string())
        .collect()
}

#[test]
fn a_put_is_found_by_its_meaning_at_once() {
    let sandbox = Sandbox::empty();
    ask(&sandbox, &["init"]);
    for text in [
        "Our staging environment was broken by an expired TLS certificate",
        "The cat sleeps on the sofa",
        "Lunch is at noon",
    ] {
        ask(&sandbox, &["put", "--text", text]);
    }
    let found = ask(&sandbox, &["find", "kitten napping on a couch", "--mode", "explain"]);
    assert_eq!(texts(&found)[0], "The cat sleeps on the sofa");
    assert_eq!((&found["mode"], &found["missing"]), (&"auto".into(), &0.into()));
    let why = &found["hits"][0]["why"];
    assert_eq!(why["meaning"]["rank"], 1);
    assert!(why["points"]["meaning"].as_f64().expect("points") > 0.9);
    assert_eq!(ask(&sandbox, &["find", "kitten couch", "--mode", "lex"])["count"], 0);
    let stats = ask(&sandbox, &["stats"]);
    assert_eq!(
        (&stats["vectors"]["vector_count"], &stats["vectors"]["missing"]),
        (&3.into(), &0.into())
    );
    assert_eq!(ask(&sandbox, &["model", "list"])["models"][0]["in_force"], true);
}

#[test]
fn what_was_put_for_later_is_embedded_by_embed_and_goes_on_where_it_stopped() {
    let sandbox = Sandbox::empty();
    ask(&sandbox, &["init"]);
    for n in 0..3 {
        ask(&sandbox, &["put", "--embed", "later", "--text", &format!("the dog number {n} barks")]);
    }
    assert!(ask(&sandbox, &["stats"])["vectors"].is_null());
    fails(&sandbox, &["find", "--mode", "sem", "hound"], 1, "no_vectors");
    let part = ask(&sandbox, &["embed", "--limit", "2"]);
    assert_eq!((&part["record_count"], &part["missing"]), (&2.into(), &1.into()));
    let found = ask(&sandbox, &["find", "a barking hound"]);
    assert_eq!(
        (&found["covered"], &found["missing"], &found["count"]),
        (&2.into(), &1.into(), &3.into())
    );
    assert_eq!(ask(&sandbox, &["embed"])["record_count"], 1);
    assert_eq!(ask(&sandbox, &["embed"])["record_count"], 0);
}

/// A BERT of one layer with made-up weights: enough to be converted, recorded and asked.
pub(crate) fn tiny_model(sandbox: &Sandbox) -> std::path::PathBuf {
    let folder = sandbox.path("tiny");
    let mut state = 1u32;
    let made_up = |_: &str, _: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state as f32 / u32::MAX as f32 - 0.5
    };
    write_model(&folder, "", &tiny_shapes(), made_up);
    folder
}

/// The tensors of a BERT of one layer.
pub(crate) fn tiny_shapes() -> Vec<(String, Vec<usize>)> {
    let mut shapes = vec![
        ("embeddings.word_embeddings.weight".to_string(), vec![10, 32]),
        ("embeddings.position_embeddings.weight".into(), vec![64, 32]),
        ("embeddings.token_type_embeddings.weight".into(), vec![2, 32]),
    ];
    let mut linear = |name: &str, rows: usize, columns: usize| {
        shapes.push((format!("{name}.weight"), vec![rows, columns]));
        shapes.push((format!("{name}.bias"), vec![rows]));
    };
    for part in [
        "attention.self.query",
        "attention.self.key",
        "attention.self.value",
        "attention.output.dense",
    ] {
        linear(&format!("encoder.layer.0.{part}"), 32, 32);
    }
    linear("encoder.layer.0.intermediate.dense", 64, 32);
    linear("encoder.layer.0.output.dense", 32, 64);
    for part in ["embeddings", "encoder.layer.0.attention.output", "encoder.layer.0.output"] {
        shapes.push((format!("{part}.LayerNorm.weight"), vec![32]));
        shapes.push((format!("{part}.LayerNorm.bias"), vec![32]));
    }
    shapes
}

/// Writes a folder that `model add` takes: `more` is put into its `config.json`, `value` gives the
/// numbers of a tensor by their place.
pub(crate) fn write_model(
    folder: &std::path::Path,
    more: &str,
    shapes: &[(String, Vec<usize>)],
    mut value: impl FnMut(&str, usize) -> f32,
) {
    std::fs::create_dir(folder).expect("a folder");
    let config = r#"{"model_type":"bert","hidden_size":32,"num_hidden_layers":1,"num_attention_heads":4,"intermediate_size":64,
        "max_position_embeddings":64,"layer_norm_eps":1e-12,"hidden_act":"gelu"}"#;
    let config = config.replacen('{', &format!("{{{more}"), 1);
    std::fs::write(folder.join("config.json"), config).expect("config");
    let words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\ncat\ndog\nthe\n##s\nbarks\nsleeps\n";
    std::fs::write(folder.join("vocab.txt"), words).expect("vocabulary");
    let (mut head, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, shape) in shapes {
        let start = data.len();
        for at in 0..shape.iter().product() {
            data.extend_from_slice(&value(name, at).to_le_bytes());
        }
        head.insert(name.clone(), serde_json::json!({ "dtype": "F32", "shape": shape, "data_offsets": [start, data.len()] }));
    }
    let head = serde_json::to_vec(&head).expect("JSON");
    let file = [&(head.len() as u64).to_le_bytes()[..], &head, &data].concat();
    std::fs::write(folder.join("model.safetensors"), file).expect("weights");
}

#[test]
fn another_model_is_added_takes_over_and_is_missed_when_it_is_gone() {
    let sandbox = Sandbox::empty();
    let models = sandbox.path("models");
    let call = |args: &[&str]| {
        let output = sandbox
            .command()
            .env("KAPSA_MODELS", &models)
            .env_remove("KAPSA_EMBED")
            .arg("--json")
            .args(args)
            .output();
        let output = output.expect("it starts");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
    };
    call(&["init"]);
    call(&["put", "--text", "the cat sleeps"]);
    call(&["put", "--text", "the dog barks"]);
    let folder = tiny_model(&sandbox);
    let added = call(&["model", "add", folder.to_str().expect("UTF-8")]);
    assert_eq!(
        (&added["models"][0]["name"], &added["models"][0]["dimension"]),
        (&"local:tiny".into(), &32.into())
    );
    let part = call(&["reembed", "--model", "local:tiny", "--limit", "1"]);
    assert_eq!((&part["in_force"], &part["missing"]), (&false.into(), &1.into()));
    let stats = call(&["stats"]);
    assert_eq!(
        (&stats["vectors"]["dimension"], &stats["vectors"]["next_model"]),
        (&384.into(), &"tiny".into())
    );
    assert_eq!(call(&["find", "the cat"])["model"], "paraphrase-MiniLM-L3-v2");
    assert_eq!(call(&["reembed", "--model", "local:tiny"])["in_force"], true);
    call(&["put", "--text", "the cats"]);
    let stats = call(&["stats"]);
    assert_eq!(
        (&stats["vectors"]["model"], &stats["vectors"]["vector_count"]),
        (&"tiny".into(), &3.into())
    );
    assert_eq!(call(&["find", "the cat"])["model"], "tiny");
    assert_eq!(call(&["model", "info"])["name"], "tiny");
    assert_eq!(call(&["model", "info", "tiny"])["dimension"], 32);
    call(&["model", "remove", "local:tiny"]);
    // What was stored is stored, and words find it; only vectors lack, and both people and programs
    // are told why.
    let put = call(&["put", "--text", "the dogs"]);
    assert_eq!(put["change"], "added");
    assert!(
        put["embedding"]
            .as_str()
            .is_some_and(|told| told.starts_with("failed: ") && told.contains("tiny")),
        "{put}"
    );
    let mut people = sandbox.command();
    people.env("KAPSA_MODELS", &models).args([
        "put",
        "--embed",
        "now",
        "--uri",
        "note/p",
        "--text",
        "for people",
    ]);
    let people = people.output().expect("it starts");
    assert!(people.status.success());
    assert!(String::from_utf8_lossy(&people.stdout).contains("added"));
    assert!(
        String::from_utf8_lossy(&people.stderr).starts_with("warning: stored, without vectors: ")
    );
    let found = call(&["find", "dogs"]);
    assert_eq!((&found["mode"], &found["count"]), (&"lex".into(), &2.into()));
    let output = sandbox
        .command()
        .env("KAPSA_MODELS", &models)
        .args(["embed", "--json"])
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("model_missing"));
}

/// A model with what a larger one declares: the first token's vector, a prefix for queries, and
/// cosines far above 0.
#[test]
fn a_model_declares_its_floor_and_new_capsules_can_use_it() {
    let sandbox = Sandbox::empty();
    let run = |args: &[&str]| {
        let mut command = sandbox.command();
        command.env("KAPSA_MODELS", sandbox.path("models")).env("KAPSA_MODEL", "local:tiny");
        command.env("KAPSA_EMBED", "now").arg("--json").args(args).output().expect("it starts")
    };
    let call = |args: &[&str]| -> Value {
        let output = run(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let error = |args: &[&str]| -> Value {
        let output = run(args);
        assert!(!output.status.success(), "{args:?}");
        serde_json::from_slice::<Value>(&output.stderr).expect("JSON")["error"].clone()
    };
    call(&["init"]);
    let put = call(&["put", "--text", "the cat sleeps"]);
    assert!(
        put["embedding"].as_str().is_some_and(|said| said.contains("no model `tiny`")),
        "{put}"
    );
    let lacking = error(&["embed"]);
    assert!(lacking["hint"].as_str().is_some_and(|hint| hint.contains("kapsa model add")));
    let folder = tiny_model(&sandbox);
    std::fs::create_dir(folder.join("1_Pooling")).expect("a folder");
    std::fs::write(folder.join("1_Pooling/config.json"), r#"{"pooling_mode_cls_token":true}"#)
        .expect("pooling");
    let folder = folder.to_str().expect("UTF-8");
    let floor = ["model", "add", folder, "--query-prefix", "the ", "--cosine-floor"];
    error(&[&floor[..], &["96"]].concat());
    call(&[&floor[..], &["42"]].concat());
    let info = call(&["model", "info", "tiny"]);
    assert_eq!(
        (&info["cosine_floor"], &info["pooling"], &info["query_prefix"]),
        (&42.into(), &"first".into(), &"the ".into())
    );
    let file =
        sandbox.path("models").join(format!("{}.kmodel", info["hash"].as_str().expect("text")));
    error(&["model", "add", file.to_str().expect("UTF-8"), "--cosine-floor", "42"]);
    call(&["embed"]);
    assert_eq!(call(&["stats"])["vectors"]["model"], "tiny");
    assert_eq!(call(&["find", "the cat"])["model"], "tiny");
    let codes = || {
        let report = call(&["doctor"]);
        let found = report["diagnostics"].as_array().expect("a list").clone();
        found.iter().filter_map(|it| it["code"].as_str().map(str::to_string)).collect::<Vec<_>>()
    };
    assert!(!codes().contains(&"model_missing".to_string()));
    call(&["model", "remove", "tiny"]);
    assert!(codes().contains(&"model_missing".to_string()));
}

#[test]
fn a_folder_that_is_no_model_is_refused_and_leaves_nothing() {
    let sandbox = Sandbox::empty();
    let folder = tiny_model(&sandbox);
    let path = folder.to_str().expect("UTF-8").to_string();
    let add = || {
        sandbox
            .command()
            .env("KAPSA_MODELS", sandbox.path("models"))
            .args(["model", "add", &path])
            .output()
            .expect("it starts")
    };
    let refused = |what: &str| {
        let output = add();
        assert_eq!(output.status.code(), Some(1));
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains(what), "{told}");
        assert!(!sandbox.path("models").exists());
    };
    let weights = std::fs::read(folder.join("model.safetensors")).expect("weights");
    std::fs::write(folder.join("model.safetensors"), &weights[..weights.len() / 2]).expect("cut");
    refused("model.safetensors");
    std::fs::write(folder.join("model.safetensors"), &weights).expect("whole");
    let config = std::fs::read_to_string(folder.join("config.json")).expect("config");
    std::fs::write(folder.join("config.json"), config.replace("\"bert\"", "\"gpt2\""))
        .expect("other");
    refused("gpt2");
    std::fs::write(
        folder.join("config.json"),
        config.replace("\"hidden_size\":32", "\"hidden_size\":99999"),
    )
    .expect("large");
    refused("hidden size");
    std::fs::write(folder.join("config.json"), "{").expect("broken");
    refused("config.json");
}

#[test]
fn words_that_are_required_and_identifiers_are_not_overruled() {
    let sandbox = Sandbox::empty();
    ask(&sandbox, &["init"]);
    for text in [
        "compiler error CS0854 in the parser",
        "compiler error CS0855 in the parser",
        "the compiler reports an error about parsing",
    ] {
        ask(&sandbox, &["put", "--text", text]);
    }
    assert_eq!(
        texts(&ask(&sandbox, &["find", "what is the parsing error CS0854 about"]))[0],
        "compiler error CS0854 in the parser"
    );
    let quoted = ask(&sandbox, &["find", "\"CS0855 in the\""]);
    assert_eq!(texts(&quoted)[0], "compiler error CS0855 in the parser");
    assert!(quoted["count"].as_u64() > Some(1), "a phrase in quotes only comes first");
    assert_eq!(ask(&sandbox, &["find", "\"CS0855 in the\"", "--strict"])["count"], 1);
    assert_eq!(ask(&sandbox, &["find", "+\"CS0855 in the\""])["count"], 1);
    assert_eq!(ask(&sandbox, &["find", "--", "+error", "-parser"])["count"], 1);
    assert_eq!(ask(&sandbox, &["find", "CS0999"])["mode"], "auto");
}

/// A put of more than a few records waited for its own lock, and left them without vectors.
#[test]
fn a_large_put_makes_its_vectors_when_it_is_told_to() {
    let sandbox = Sandbox::new();
    let lines: String = (0..70).map(|n| format!("{{\"text\":\"gate {n}\"}}\n")).collect();
    let told = sandbox.json_with(&["put", "-", "--embed", "now"], lines.as_bytes());
    assert_eq!((&told["record_count"], told.get("warnings")), (&70.into(), None), "{told}");
    assert!(sandbox.ok(&["stats"]).contains("70 of 70 records, "));
}

#[test]
fn doctor_and_stats_tell_what_lacks_vectors() {
    let sandbox = Sandbox::new();
    let codes = || {
        let report = ask(&sandbox, &["doctor"]);
        assert_eq!(report["status"], "ok", "{report}");
        let found = report["diagnostics"].as_array().expect("a list").clone();
        found.iter().any(|d| {
            d["code"] == "vectors_missing"
                && d["hint"].as_str().is_some_and(|hint| hint.contains("kapsa embed"))
        })
    };
    assert!(!codes(), "nothing is there yet");
    sandbox.ok(&["put", "--text", "the cat sleeps"]);
    assert!(codes());
    fails(&sandbox, &["model", "info"], 1, "no_vectors");
    sandbox.ok(&["embed"]);
    assert!(!codes());
    assert!(sandbox.ok(&["stats"]).contains("1 of 1 record, paraphrase-MiniLM-L3-v2, "));
}

/// A vector of three numbers for a text.
fn vector(text: &str) -> Value {
    json!([text.len(), 1, 2])
}

/// A server that speaks as Ollama does.
pub(crate) fn ollama() -> Stub {
    Stub::start(|_, request| match request.path.as_str() {
        "/api/embed" => {
            let vectors: Vec<Value> = request.texts().iter().map(|text| vector(text)).collect();
            Reply::json(&json!({ "embeddings": vectors }))
        }
        _ => {
            let details =
                json!({"family": "stub", "parameter_size": "1", "quantization_level": "none"});
            Reply::json(&json!({ "details": details }))
        }
    })
}

/// `OPENAI_API_KEY` used to go to whatever address `KAPSA_EMBED_URL` named.
#[test]
fn the_key_of_openai_does_not_go_to_another_service() {
    let sandbox = Sandbox::empty();
    ask(&sandbox, &["init"]);
    ask(&sandbox, &["put", "--text", "the cat sleeps"]);
    let server = Stub::start(|_, request| {
        let row = |text: &String| json!({ "embedding": vector(text) });
        Reply::json(&json!({ "data": request.texts().iter().map(row).collect::<Vec<Value>>() }))
    });
    let own = ("OPENAI_API_KEY", "sk-own");
    for (variables, sent) in
        [(vec![own], None), (vec![own, ("KAPSA_EMBED_KEY", "sk-given")], Some("Bearer sk-given"))]
    {
        let seen = server.requests().len();
        let mut command = sandbox.command();
        command.env("KAPSA_EMBED_URL", format!("{}/v1", server.url())).envs(variables);
        let output = command.args(["reembed", "--model", "openai:x"]).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let requests = server.requests();
        assert!(requests.len() > seen, "the service is asked");
        assert!(requests[seen..].iter().all(|request| request.header("authorization") == sent));
    }
}

/// The key of an embedding service used to be sent over plain HTTP to any host.
#[test]
fn a_key_is_not_sent_unencrypted_to_another_machine() {
    let sandbox = Sandbox::empty();
    ask(&sandbox, &["init"]);
    let mut command = sandbox.command();
    command.env("KAPSA_EMBED_URL", "http://kapsa.invalid/v1").env("KAPSA_EMBED_KEY", "sk-given");
    let output = command.args(["reembed", "--model", "openai:x"]).output().expect("it starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("http://kapsa.invalid/v1 would receive the key unencrypted"), "{error}");
}

#[test]
fn a_service_takes_over_and_a_put_outlives_it() {
    let sandbox = Sandbox::empty();
    ask(&sandbox, &["init"]);
    ask(&sandbox, &["put", "--text", "the cat sleeps"]);
    let call = |url: &str, args: &[&str]| {
        let output = sandbox
            .command()
            .env("KAPSA_EMBED", "now")
            .env("KAPSA_EMBED_URL", url)
            .arg("--json")
            .args(args)
            .output();
        let output = output.expect("it starts");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
    };
    let server = ollama();
    let url = server.url();
    let report = call(&url, &["reembed", "--model", "ollama:x"]);
    assert_eq!(
        (&report["model"], &report["in_force"], &report["missing"]),
        (&"ollama/x".into(), &true.into(), &0.into())
    );
    call(&url, &["put", "--text", "the dog barks"]);
    let vectors = &call(&url, &["stats"])["vectors"];
    assert_eq!(
        (&vectors["model"], &vectors["dimension"], &vectors["covered"]),
        (&"ollama/x".into(), &3.into(), &2.into())
    );
    // Nobody listens at the port of a listener that is gone.
    let gone = TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a port");
    let put = call(&format!("http://{gone}"), &["put", "--text", "the bird sings"]);
    assert_eq!(put["change"], "added");
    assert!(put["embedding"].as_str().is_some_and(|told| told.starts_with("failed: ")), "{put}");
    assert_eq!(call(&url, &["embed"])["record_count"], 1);
}
