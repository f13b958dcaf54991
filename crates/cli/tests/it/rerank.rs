//! A re-ranker as its user meets it: one of a few made-up weights, which prefers texts with the
//! word `sleeps`.

use serde_json::{Value, json};

use crate::meaning::{tiny_shapes, write_model};
use crate::support::Sandbox;

/// Each word has a number of its own; the first token takes the mean of all; the logit is that of
/// `sleeps`.
pub(crate) fn tiny_reranker(sandbox: &Sandbox) -> std::path::PathBuf {
    const SLEEPS: usize = 9;
    let folder = sandbox.path("tiny-reranker");
    let mut shapes = tiny_shapes();
    shapes.extend([
        ("pooler.dense.weight".to_string(), vec![32, 32]),
        ("pooler.dense.bias".into(), vec![32]),
        ("classifier.weight".into(), vec![1, 32]),
        ("classifier.bias".into(), vec![1]),
    ]);
    let is_diagonal = |at: usize| at / 32 == at % 32;
    let value = |name: &str, at: usize| match name {
        "embeddings.word_embeddings.weight" if is_diagonal(at) => 1.0,
        "encoder.layer.0.attention.self.value.weight"
        | "encoder.layer.0.attention.output.dense.weight"
        | "pooler.dense.weight"
            if is_diagonal(at) =>
        {
            1.0
        }
        "classifier.weight" if at == SLEEPS => 12.0,
        "classifier.bias" => -6.0,
        _ if name.ends_with("LayerNorm.weight") => 1.0,
        _ => 0.0,
    };
    let more = r#""architectures":["BertForSequenceClassification"],"#;
    write_model(&folder, more, &shapes, value);
    folder
}

struct World {
    sandbox: Sandbox,
}

impl World {
    fn new() -> World {
        let world = World { sandbox: Sandbox::empty() };
        world.call(&["init"]);
        world
    }

    fn output(&self, args: &[&str], variable: Option<&str>) -> std::process::Output {
        let mut command = self.sandbox.command();
        command.env("KAPSA_MODELS", self.sandbox.path("models")).args(args);
        if let Some(value) = variable {
            command.env("KAPSA_RERANK", value);
        }
        command.output().expect("it starts")
    }

    fn call_with(&self, args: &[&str], variable: Option<&str>) -> Value {
        let output = self.output(&[&["--json"], args].concat(), variable);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    fn call(&self, args: &[&str]) -> Value {
        self.call_with(args, None)
    }

    fn fails(&self, args: &[&str], variable: Option<&str>) -> Value {
        let output = self.output(&[&["--json"], args].concat(), variable);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        serde_json::from_slice::<Value>(&output.stderr).expect("JSON")["error"].clone()
    }

    /// Adds the re-ranker, from its folder.
    fn add(&self) -> Value {
        let folder = tiny_reranker(&self.sandbox);
        self.call(&["model", "add", folder.to_str().expect("UTF-8")])
    }
}

fn texts(found: &Value) -> Vec<&str> {
    let hits = found["hits"].as_array().expect("hits");
    hits.iter().map(|hit| hit["snippet"].as_str().expect("a snippet")).collect()
}

const TEXTS: [&str; 3] = ["the cat", "the cat barks", "the cat sleeps on the sofa all day long"];

#[test]
fn find_is_in_the_order_of_the_reranker_where_that_is_wanted() {
    let world = World::new();
    for text in TEXTS {
        world.call(&["put", "--text", text, "--tag", "session=s1"]);
    }
    for (args, variable) in [
        (&["find", "the cat", "--rerank"][..], None),
        (&["find", "the cat"], Some("1")),
        (&["context", "--query", "the cat", "--rerank"], None),
    ] {
        let error = world.fails(args, variable);
        assert_eq!(error["code"], "no_reranker");
        assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("kapsa model add")));
    }
    world.add();
    let plain = world.call(&["find", "the cat"]);
    assert_eq!(plain.get("reranked"), None);
    assert_ne!(texts(&plain)[0], TEXTS[2]);
    let found = world.call(&["find", "the cat", "--rerank", "--explain"]);
    assert_eq!((texts(&found)[0], &found["reranked"]), (TEXTS[2], &json!("tiny-reranker")));
    assert_eq!(texts(&found).len(), texts(&plain).len());
    let points = |at: usize| found["hits"][at]["why"]["points"]["rerank"].as_f64();
    assert!(points(0) > points(1), "{found}");
    // Words alone, too.
    let found = world.call(&["find", "the cat", "--rerank", "--mode", "lex"]);
    assert_eq!(texts(&found)[0], TEXTS[2]);
    // The variable asks for it, and the flag says it is not wanted.
    assert_eq!(texts(&world.call_with(&["find", "the cat"], Some("1")))[0], TEXTS[2]);
    assert_eq!(world.call_with(&["find", "the cat", "--rerank=0"], Some("1")), plain);
    assert_eq!(world.call_with(&["find", "the cat"], Some("0")), plain);
}

#[test]
fn context_takes_a_reranker_that_is_installed() {
    let world = World::new();
    // The last one comes first where nothing else decides.
    for text in TEXTS.into_iter().rev() {
        world.call(&["fact", "add", text, "--entity", text]);
    }
    let first = |told: &Value| told["lines"][0]["text"].as_str().expect("a line").to_string();
    let ask = ["context", "--query", "the cat"];
    let plain = world.call(&ask);
    world.add();
    let told = world.call(&ask);
    assert!(first(&told).contains("sleeps"), "{told}");
    assert_eq!(told["reranked"], "tiny-reranker");
    assert!(!first(&plain).contains("sleeps"), "{plain}");
    assert_eq!(world.call_with(&ask, Some("0")), plain);
    assert_eq!(world.call(&[&ask[..], &["--rerank=0"]].concat()), plain);
    // Without a query there is nothing to compare with.
    assert_eq!(world.call(&["context"]).get("reranked"), None);
}

#[test]
fn a_reranker_is_listed_as_one_and_makes_no_vectors() {
    let world = World::new();
    let added = world.add();
    assert_eq!(added["models"][0]["kind"], "reranker");
    let listed = world.call(&["model", "list"]);
    let kinds: Vec<&Value> =
        listed["models"].as_array().expect("models").iter().map(|model| &model["kind"]).collect();
    assert_eq!(kinds, ["embedder", "reranker"]);
    let people = world.output(&["model", "list"], None);
    let people = String::from_utf8_lossy(&people.stdout).into_owned();
    assert!(people.contains("bundled  embedder  384 dimensions"), "{people}");
    assert!(people.contains("local:tiny-reranker  re-ranker  "), "{people}");
    assert_eq!(world.call(&["model", "info", "tiny-reranker"])["kind"], "reranker");
    world.call(&["put", "--text", "the cat"]);
    let error = world.output(&["reembed", "--model", "local:tiny-reranker"], None);
    let error = String::from_utf8_lossy(&error.stderr).into_owned();
    assert!(error.contains("is a re-ranker"), "{error}");
    // What is stored is a model file, and can be added elsewhere as it is.
    let models = world.sandbox.path("models");
    let file = std::fs::read_dir(&models)
        .expect("the models")
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.extension().is_some_and(|end| end == "kmodel"))
        .expect("the re-ranker");
    let elsewhere = world.sandbox.path("tiny.kmodel");
    std::fs::copy(&file, &elsewhere).expect("a copy");
    world.call(&["model", "remove", "tiny-reranker"]);
    let path = elsewhere.to_str().expect("UTF-8");
    assert_eq!(world.call(&["model", "add", path])["models"], added["models"]);
    assert_eq!(world.fails(&["model", "add", path, "--name", "other"], None)["code"], "usage");
}

#[test]
fn a_damaged_reranker_is_refused_or_told_of() {
    let world = World::new();
    // The last one comes first where nothing else decides.
    for text in TEXTS.into_iter().rev() {
        world.call(&["fact", "add", text, "--entity", text]);
    }
    let ask = ["context", "--query", "the cat"];
    let plain = world.call(&ask);
    let added = world.add();
    let hash = added["models"][0]["hash"].as_str().expect("a hash");
    let file = world.sandbox.path("models").join(format!("{hash}.kmodel"));
    let bytes = std::fs::read(&file).expect("the re-ranker");
    std::fs::write(&file, &bytes[..bytes.len() - 4]).expect("cut short");
    let output = world.output(&["find", "the cat", "--rerank"], None);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("cut short"));
    // Nobody asked for it here.
    let output = world.output(&ask, None);
    assert!(output.status.success());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("warning: ordered without the re-ranker"), "{told}");
    let mut told = world.call(&ask);
    told.as_object_mut().expect("an object").remove("warnings");
    assert_eq!(told, plain);
}
