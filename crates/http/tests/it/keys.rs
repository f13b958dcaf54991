//! Keys: the same rule for conversations and for embeddings.

use kapsa_http::{EmbeddingOptions, Key, ServiceEmbedder, Settings, language_model};
use kapsa_model::{Embedder, Purpose, block_on};
use kapsa_testkit::stub::{Reply, Stub};
use serde_json::json;

use crate::samples::{KEY, answer, user};

fn key(text: &str) -> Option<Key> {
    Some(Key::new(text).unwrap())
}

/// The authorization that a service of each kind gets with these settings: for a conversation, for
/// embeddings.
fn sent(settings: &Settings) -> [Option<String>; 2] {
    let stub = Stub::start(|_, request| match request.path.as_str() {
        "/v1/embeddings" => Reply::json(&json!({"data": [{"embedding": [1, 2, 3]}]})),
        _ => Reply::json(&answer("openai", "Hi.")),
    });
    let settings = Settings { base_url: Some(format!("{}/v1", stub.url())), ..settings.clone() };
    let model = language_model("openai:x", &settings).unwrap();
    block_on(model.complete(&user("x"))).unwrap();
    let options = EmbeddingOptions { dimensions: Some(3), ..EmbeddingOptions::default() };
    let embedder = ServiceEmbedder::open("openai:x", &settings, options).unwrap();
    embedder.embed(&["x"], Purpose::Query).unwrap();
    let requests = stub.requests();
    assert_eq!(requests.len(), 2);
    [0, 1].map(|at| requests[at].header("authorization").map(str::to_owned))
}

/// The embedding service used to send `OPENAI_API_KEY` to whatever address it was given.
#[test]
fn the_providers_own_key_does_not_go_to_another_address() {
    let own = Settings { provider_key: key("sk-own"), ..Settings::default() };
    assert_eq!(sent(&own), [None, None]);
    let both = Settings { key: key(KEY), ..own };
    let expected = Some(format!("Bearer {KEY}"));
    assert_eq!(sent(&both), [expected.clone(), expected]);
}

/// The embedding service used to send its key over plain HTTP to any host.
#[test]
fn a_key_is_not_sent_unencrypted_to_another_machine() {
    let base_url = Some("http://192.0.2.1:9/v1".to_owned());
    let settings = Settings { base_url, key: key(KEY), ..Settings::default() };
    let message = "http://192.0.2.1:9/v1 would receive the key unencrypted";
    assert_eq!(language_model("openai:x", &settings).err().unwrap().message, message);
    for name in ["openai:x", "ollama:x"] {
        let opened = ServiceEmbedder::open(name, &settings, EmbeddingOptions::default());
        assert_eq!(opened.unwrap_err().message, message, "{name}: nothing is sent");
    }
}
