//! Which model does a name mean?

use std::collections::BTreeMap;

use kapsa_llm::{Key, Settings, TIERS, from_name};
use kapsa_model::{ChatRequest, ModelErrorKind, block_on};

use crate::samples::{KEY, PROVIDERS, answer, model, model_with, user};
use crate::stub::{Reply, Stub};

/// The model that the stub is asked for when a request names `asked`.
fn meant(asked: Option<&str>, models: &[(&str, &str)]) -> String {
    let stub = Stub::start(|_, _| Reply::json(&answer("anthropic", "Hi.")));
    let models: BTreeMap<String, String> = models.iter().map(|&(tier, name)| (tier.to_owned(), name.to_owned())).collect();
    let model = model_with(&stub, "anthropic", |settings| Settings { models: models.clone(), ..settings });
    let request = ChatRequest { model: asked.map(str::to_owned), ..user("x") };
    block_on(model.complete(&request)).unwrap();
    stub.requests()[0].body["model"].as_str().unwrap().to_owned()
}

#[test]
fn a_tier_is_the_model_configured_unless_it_has_its_own() {
    assert_eq!(meant(None, &[]), "claude-sonnet-4-5");
    for tier in TIERS {
        assert_eq!(meant(Some(tier), &[]), "claude-sonnet-4-5");
        assert_eq!(meant(Some(tier), &[(tier, "claude-other")]), "claude-other");
    }
    assert_eq!(meant(Some("sonnet"), &[("haiku", "claude-haiku-4-5")]), "claude-sonnet-4-5");
    assert_eq!(meant(Some("claude-opus-4-1"), &[]), "claude-opus-4-1");
    assert_eq!(meant(Some("large"), &[("large", "claude-opus-4-1")]), "claude-opus-4-1");
}

#[test]
fn a_name_is_a_provider_and_its_model() {
    let stub = Stub::start(|_, _| Reply::Close);
    for (provider, name, _) in PROVIDERS {
        assert_eq!(model(&stub, provider).name(), format!("{provider}:{name}"));
    }
    let tagged = from_name("ollama:llama3.2:1b", &Settings::default()).unwrap();
    assert_eq!(tagged.name(), "ollama:llama3.2:1b");
}

#[test]
fn a_name_or_setting_that_makes_no_sense_is_told() {
    let keyed = || Settings { key: Some(Key::new(KEY).unwrap()), ..Settings::default() };
    let at = |address: &str| Settings { base_url: Some(address.to_owned()), ..keyed() };
    for (name, settings, expected) in [
        ("", keyed(), "no provider of language models is called ``"),
        ("gemini:x", keyed(), "no provider of language models is called `gemini`"),
        ("a\u{1b}[2J:x", keyed(), "no provider of language models is called `a\\u{1b}[2J`"),
        ("claude-sonnet-4-5", keyed(), "no provider of language models is called `claude-sonnet-4-5`"),
        ("anthropic", keyed(), "no model of anthropic is named"),
        ("ollama: ", keyed(), "no model of ollama is named"),
        ("anthropic:x", Settings::default(), "anthropic wants a key, and none was given"),
        ("openai:x", Settings::default(), "openai wants a key, and none was given"),
        ("openai:x", at("http://example.org/v1"), "http://example.org/v1 would get the key in the clear"),
        ("openai:x", at("example.org"), "`example.org` is no address that begins with http:// or https://"),
    ] {
        let error = from_name(name, &settings).err().unwrap();
        assert_eq!((error.kind, error.message.as_str()), (ModelErrorKind::NotConfigured, expected));
        assert!(error.hint.is_some_and(|hint| !hint.contains(KEY)));
    }
    assert!(
        from_name("openai:x", &Settings { base_url: Some("http://127.0.0.1:1/v1".to_owned()), ..Settings::default() }).is_ok()
    );
}
