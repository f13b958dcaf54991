//! The model that a name means.

use kapsa_http::{Key, Settings, TIERS, language_model};
use kapsa_model::{ChatRequest, ModelErrorKind, block_on};
use kapsa_testkit::stub::{Reply, Stub};

use crate::samples::{KEY, PROVIDERS, answer, model, user};

/// The model that the stub is asked for when a request names `asked`.
fn meant(asked: Option<&str>) -> String {
    let stub = Stub::start(|_, _| Reply::json(&answer("anthropic", "Hi.")));
    let request = ChatRequest { model: asked.map(str::to_owned), ..user("x") };
    block_on(model(&stub, "anthropic").complete(&request)).unwrap();
    stub.requests()[0].body["model"].as_str().unwrap().to_owned()
}

#[test]
fn a_tier_is_the_model_configured_and_any_other_name_is_a_model() {
    assert_eq!(meant(None), "claude-sonnet-4-5");
    for tier in TIERS {
        assert_eq!(meant(Some(tier)), "claude-sonnet-4-5");
    }
    assert_eq!(meant(Some("claude-opus-4-1")), "claude-opus-4-1");
}

#[test]
fn a_name_is_a_provider_and_its_model() {
    let stub = Stub::start(|_, _| Reply::Close);
    for (provider, name, _) in PROVIDERS {
        assert_eq!(model(&stub, provider).name(), format!("{provider}:{name}"));
    }
    let tagged = language_model("ollama:llama3.2:1b", &Settings::default()).unwrap();
    assert_eq!(tagged.name(), "ollama:llama3.2:1b");
}

#[test]
fn a_name_or_setting_that_makes_no_sense_is_rejected() {
    let keyed = || Settings { key: Some(Key::new(KEY).unwrap()), ..Settings::default() };
    let at = |address: &str| Settings { base_url: Some(address.to_owned()), ..keyed() };
    for (name, settings, expected) in [
        ("", keyed(), "`` is not a known provider"),
        ("gemini:x", keyed(), "`gemini` is not a known provider"),
        ("a\u{1b}[2J:x", keyed(), "`a\\u{1b}[2J` is not a known provider"),
        ("claude-sonnet-4-5", keyed(), "`claude-sonnet-4-5` is not a known provider"),
        ("anthropic", keyed(), "no model of anthropic is named"),
        ("ollama: ", keyed(), "no model of ollama is named"),
        ("anthropic:x", Settings::default(), "anthropic requires a key, and none is set"),
        ("openai:x", Settings::default(), "openai requires a key, and none is set"),
        (
            "openai:x",
            at("http://example.org/v1"),
            "http://example.org/v1 would receive the key unencrypted",
        ),
        (
            "openai:x",
            at("example.org"),
            "`example.org` does not begin with http:// or https:// and a host",
        ),
    ] {
        let error = language_model(name, &settings).err().unwrap();
        assert_eq!((error.kind, error.message.as_str()), (ModelErrorKind::NotConfigured, expected));
        assert!(error.hint.is_some_and(|hint| !hint.contains(KEY)));
    }
    let base_url = Some("http://127.0.0.1:1/v1".to_owned());
    assert!(language_model("openai:x", &Settings { base_url, ..Settings::default() }).is_ok());
}
