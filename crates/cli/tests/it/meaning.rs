//! Search by meaning as its user meets it: with the model that comes with the program, and with one from a folder.

use serde_json::Value;

use crate::support::Sandbox;

fn json(sandbox: &Sandbox, args: &[&str]) -> Value {
    let output = sandbox.command().env("KAPSA_EMBED", "now").arg("--json").args(args).output().expect("it starts");
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
    found["hits"].as_array().expect("hits").iter().map(|hit| hit["snippet"].as_str().expect("a snippet").to_string()).collect()
}

#[test]
fn a_put_is_found_by_its_meaning_at_once() {
    let sandbox = Sandbox::empty();
    json(&sandbox, &["init"]);
    for text in
        ["Our staging environment was broken by an expired TLS certificate", "The cat sleeps on the sofa", "Lunch is at noon"]
    {
        json(&sandbox, &["put", "--text", text]);
    }
    let found = json(&sandbox, &["find", "kitten napping on a couch", "--mode", "explain"]);
    assert_eq!(texts(&found)[0], "The cat sleeps on the sofa");
    assert_eq!((&found["mode"], &found["missing"]), (&"auto".into(), &0.into()));
    let why = &found["hits"][0]["why"];
    assert_eq!(why["meaning"]["rank"], 1);
    assert!(why["points"]["meaning"].as_f64().expect("points") > 0.9);
    assert_eq!(json(&sandbox, &["find", "kitten couch", "--mode", "lex"])["count"], 0);
    let stats = json(&sandbox, &["stats"]);
    assert_eq!((&stats["vectors"]["vectors"], &stats["vectors"]["missing"]), (&3.into(), &0.into()));
    assert_eq!(json(&sandbox, &["model", "list"])["models"][0]["in_force"], true);
}

#[test]
fn what_was_put_for_later_is_embedded_by_embed_and_goes_on_where_it_stopped() {
    let sandbox = Sandbox::empty();
    json(&sandbox, &["init"]);
    for n in 0..3 {
        json(&sandbox, &["put", "--embed", "later", "--text", &format!("the dog number {n} barks")]);
    }
    assert!(json(&sandbox, &["stats"])["vectors"].is_null());
    fails(&sandbox, &["find", "--mode", "sem", "hound"], 1, "no_vectors");
    let part = json(&sandbox, &["embed", "--limit", "2"]);
    assert_eq!((&part["records"], &part["missing"]), (&2.into(), &1.into()));
    let found = json(&sandbox, &["find", "a barking hound"]);
    assert_eq!((&found["covered"], &found["missing"], &found["count"]), (&2.into(), &1.into(), &3.into()));
    assert_eq!(json(&sandbox, &["embed"])["records"], 1);
    assert_eq!(json(&sandbox, &["embed"])["records"], 0);
}

/// A BERT of one layer with made-up weights: enough to be converted, recorded and asked.
fn tiny_model(sandbox: &Sandbox) -> std::path::PathBuf {
    let folder = sandbox.path("tiny");
    std::fs::create_dir(&folder).expect("a folder");
    let config = r#"{"model_type":"bert","hidden_size":32,"num_hidden_layers":1,"num_attention_heads":4,"intermediate_size":64,
        "max_position_embeddings":64,"layer_norm_eps":1e-12,"hidden_act":"gelu"}"#;
    std::fs::write(folder.join("config.json"), config).expect("config");
    let words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\ncat\ndog\nthe\n##s\nbarks\nsleeps\n";
    std::fs::write(folder.join("vocab.txt"), words).expect("vocabulary");
    let mut shapes = vec![
        ("embeddings.word_embeddings.weight".to_string(), vec![10, 32]),
        ("embeddings.position_embeddings.weight".into(), vec![64, 32]),
        ("embeddings.token_type_embeddings.weight".into(), vec![2, 32]),
    ];
    let mut linear = |name: &str, rows: usize, columns: usize| {
        shapes.push((format!("{name}.weight"), vec![rows, columns]));
        shapes.push((format!("{name}.bias"), vec![rows]));
    };
    for part in ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"] {
        linear(&format!("encoder.layer.0.{part}"), 32, 32);
    }
    linear("encoder.layer.0.intermediate.dense", 64, 32);
    linear("encoder.layer.0.output.dense", 32, 64);
    for part in ["embeddings", "encoder.layer.0.attention.output", "encoder.layer.0.output"] {
        shapes.push((format!("{part}.LayerNorm.weight"), vec![32]));
        shapes.push((format!("{part}.LayerNorm.bias"), vec![32]));
    }
    let (mut head, mut data, mut state) = (serde_json::Map::new(), Vec::new(), 1u32);
    for (name, shape) in shapes {
        let start = data.len();
        for _ in 0..shape.iter().product() {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            data.extend_from_slice(&(state as f32 / u32::MAX as f32 - 0.5).to_le_bytes());
        }
        head.insert(name, serde_json::json!({ "dtype": "F32", "shape": shape, "data_offsets": [start, data.len()] }));
    }
    let head = serde_json::to_vec(&head).expect("JSON");
    let file = [&(head.len() as u64).to_le_bytes()[..], &head, &data].concat();
    std::fs::write(folder.join("model.safetensors"), file).expect("weights");
    folder
}

#[test]
fn another_model_is_added_takes_over_and_is_missed_when_it_is_gone() {
    let sandbox = Sandbox::empty();
    let models = sandbox.path("models");
    let call = |args: &[&str]| {
        let output = sandbox.command().env("KAPSA_MODELS", &models).env_remove("KAPSA_EMBED").arg("--json").args(args).output();
        let output = output.expect("it starts");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
    };
    call(&["init"]);
    call(&["put", "--text", "the cat sleeps"]);
    call(&["put", "--text", "the dog barks"]);
    let folder = tiny_model(&sandbox);
    let added = call(&["model", "add", folder.to_str().expect("UTF-8")]);
    assert_eq!((&added["models"][0]["name"], &added["models"][0]["dimension"]), (&"local:tiny".into(), &32.into()));
    let part = call(&["reembed", "--model", "local:tiny", "--limit", "1"]);
    assert_eq!((&part["in_force"], &part["missing"]), (&false.into(), &1.into()));
    let stats = call(&["stats"]);
    assert_eq!((&stats["vectors"]["dimension"], &stats["vectors"]["next_model"]), (&384.into(), &"tiny".into()));
    assert_eq!(call(&["find", "the cat"])["model"], "paraphrase-MiniLM-L3-v2");
    assert_eq!(call(&["reembed", "--model", "local:tiny"])["in_force"], true);
    call(&["put", "--text", "the cats"]);
    let stats = call(&["stats"]);
    assert_eq!((&stats["vectors"]["model"], &stats["vectors"]["vectors"]), (&"tiny".into(), &3.into()));
    assert_eq!(call(&["find", "the cat"])["model"], "tiny");
    call(&["model", "remove", "tiny"]);
    // What was stored is stored, and words find it; only vectors lack.
    call(&["put", "--text", "the dogs"]);
    let found = call(&["find", "dogs"]);
    assert_eq!((&found["mode"], &found["count"]), (&"lex".into(), &2.into()));
    let output = sandbox.command().env("KAPSA_MODELS", &models).args(["embed", "--json"]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("model_missing"));
}

#[test]
fn a_folder_that_is_no_model_is_refused_and_leaves_nothing() {
    let sandbox = Sandbox::empty();
    let folder = tiny_model(&sandbox);
    let path = folder.to_str().expect("UTF-8").to_string();
    let add = || {
        sandbox.command().env("KAPSA_MODELS", sandbox.path("models")).args(["model", "add", &path]).output().expect("it starts")
    };
    let refused = |what: &str| {
        let output = add();
        assert_eq!(output.status.code(), Some(2));
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains(what), "{told}");
        assert!(!sandbox.path("models").exists());
    };
    let weights = std::fs::read(folder.join("model.safetensors")).expect("weights");
    std::fs::write(folder.join("model.safetensors"), &weights[..weights.len() / 2]).expect("cut");
    refused("model.safetensors");
    std::fs::write(folder.join("model.safetensors"), &weights).expect("whole");
    let config = std::fs::read_to_string(folder.join("config.json")).expect("config");
    std::fs::write(folder.join("config.json"), config.replace("\"bert\"", "\"gpt2\"")).expect("other");
    refused("gpt2");
    std::fs::write(folder.join("config.json"), config.replace("\"hidden_size\":32", "\"hidden_size\":99999")).expect("large");
    refused("hidden size");
    std::fs::write(folder.join("config.json"), "{").expect("broken");
    refused("config.json");
}

#[test]
fn words_that_are_required_and_identifiers_are_not_overruled() {
    let sandbox = Sandbox::empty();
    json(&sandbox, &["init"]);
    for text in [
        "compiler error CS0854 in the parser",
        "compiler error CS0855 in the parser",
        "the compiler reports an error about parsing",
    ] {
        json(&sandbox, &["put", "--text", text]);
    }
    assert_eq!(
        texts(&json(&sandbox, &["find", "what is the parsing error CS0854 about"]))[0],
        "compiler error CS0854 in the parser"
    );
    assert_eq!(json(&sandbox, &["find", "\"CS0855 in the\""])["count"], 1);
    assert_eq!(json(&sandbox, &["find", "--", "+error", "-parser"])["count"], 1);
    assert_eq!(json(&sandbox, &["find", "CS0999"])["mode"], "auto");
}
