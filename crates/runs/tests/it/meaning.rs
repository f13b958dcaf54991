//! Search by meaning in the context of a run. The model is a stand-in that finds everything alike.

use kapsa_memory::{EmbedRequest, WriteOptions, embed};
use kapsa_model::{EmbedError, Embedder, Model, Pooling, Purpose};
use kapsa_runs::{NewOutput, Role, RunConfig, RunId, RunMemory, RunStore, TaskId};

struct Plain {
    model: Model,
}

impl Plain {
    fn new() -> Plain {
        let model = Model {
            name: "plain".to_string(),
            hash: [5; 32],
            dimension: 4,
            pooling: Pooling::Mean,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            tokens_max: 128,
            cosine_floor: 0,
        };
        Plain { model }
    }
}

impl Embedder for Plain {
    fn model(&self) -> &Model {
        &self.model
    }

    fn embed(&self, texts: &[&str], _: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let vector = |text: &&str| {
            if text.contains("broken") {
                return Err(EmbedError {
                    message: "this text breaks the model".into(),
                    hint: None,
                });
            }
            Ok(vec![0.5; 4])
        };
        texts.iter().map(vector).collect()
    }
}

fn options() -> WriteOptions {
    WriteOptions::new(|| 1_800_000_000_000_000)
}

/// A context whose model was not at hand, or failed, once went by words without a word of why.
#[test]
fn a_context_says_why_meaning_had_no_say() {
    let folder = tempfile::tempdir().expect("it works");
    let path = folder.path().join("a.kapsa");
    let store = RunStore::branches(&path, options());
    let (run, task, role) =
        (RunId::parse("17").expect("an id"), TaskId::parse("a").expect("an id"), Role::builder());
    let text = "a cat on the port".to_string();
    let output = NewOutput {
        task: Some(task),
        role: role.clone(),
        text,
        confidence: None,
        agent: String::new(),
    };
    store.record(&run, output).expect("recorded");
    let all = EmbedRequest::default();
    embed(&path, &options(), &Plain::new(), &all, &mut |_, _| ()).expect("embedded");
    let memory = RunMemory::new(
        RunConfig::default(),
        RunStore::branches(&path, options()),
        Box::new(|_, _| {}),
    );
    let told = |query: &str, at_hand: bool| {
        let models = |_: &Model| match at_hand {
            true => Ok(Box::new(Plain::new()) as Box<dyn Embedder>),
            false => Err("the model is not on this machine".to_string()),
        };
        let mut request = memory.request(None, &role, Some(&models));
        request.query = Some(query);
        let context = store.context(&run, &request).expect("a context");
        assert_eq!(context.lines.len(), 1, "words answer: {context:?}");
        context
            .skipped
            .iter()
            .map(|skipped| format!("{}: {}", skipped.store, skipped.reason))
            .collect::<Vec<_>>()
    };
    assert!(told("cat", true).is_empty());
    assert_eq!(told("broken cat", true), ["search by meaning: this text breaks the model"]);
    assert_eq!(told("cat", false), ["search by meaning: the model is not on this machine"]);
}
