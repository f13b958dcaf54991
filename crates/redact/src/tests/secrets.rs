//! What the rules for secrets find, where. The secrets are made up, and joined here from parts so
//! that no scanner of repositories takes them for real ones.

use super::drawn;
use crate::secrets;

/// What is found: the rule and the secret.
fn found(text: &str) -> Vec<(&'static str, String)> {
    let spans = secrets(text);
    spans.into_iter().map(|span| (span.rule, text[span.range].to_string())).collect()
}

#[track_caller]
fn check(before: &str, secret: &str, after: &str, rule: &'static str) {
    let text = format!("{before}{secret}{after}");
    assert_eq!(found(&text), [(rule, secret.to_string())], "{text}");
}

#[test]
fn tokens_are_known_by_their_shape() {
    let rules = [
        ("github_token", format!("{}_{}", "ghp", drawn(36))),
        ("github_token", format!("{}_{}", "github_pat", drawn(82))),
        ("gitlab_token", format!("{}-{}", "glpat", drawn(20))),
        ("slack_token", format!("{}-2345678901-{}", "xoxb", drawn(24))),
        ("stripe_key", format!("{}_{}", "sk_live", drawn(24))),
        ("stripe_key", format!("{}_{}", "rk_live", drawn(24))),
        ("model_api_key", format!("{}-ant-api03-{}", "sk", drawn(40))),
        ("model_api_key", format!("{}-proj-{}", "sk", drawn(48))),
        ("google_api_key", format!("{}{}", "AIza", drawn(35))),
        ("npm_token", format!("{}_{}", "npm", drawn(36))),
        ("pypi_token", format!("{}-AgEIcHlwaS5vcmc{}", "pypi", drawn(60))),
        ("hugging_face_token", format!("{}_{}", "hf", drawn(34))),
        ("aws_access_key", format!("{}{}", "AKIA", "Q7ZK3QM81XYTR5VB")),
        ("aws_access_key", format!("{}{}", "ASIA", "Q7ZK3QM81XYTR5VB")),
    ];
    for (rule, secret) in rules {
        check("The key is ", &secret, ", keep it", rule);
        check("", &secret, "", rule);
    }
    check(
        "https://hooks.slack.com/services/",
        &format!("T0/B1/{}", drawn(24)),
        " posts",
        "slack_webhook",
    );
}

#[test]
fn private_keys_are_taken_to_their_end() {
    let body = format!("{}\n{}", drawn(64), drawn(40));
    let whole =
        format!("-----BEGIN RSA {k}-----\n{body}\n-----END RSA {k}-----", k = "PRIVATE KEY");
    check("My key:\n", &whole, "\nThat was it.", "private_key");
    let open = format!("-----BEGIN OPENSSH {}-----\n{body}", "PRIVATE KEY");
    check("", &open, "\nThe rest is lost.", "private_key");
    let escaped =
        format!("-----BEGIN {k}-----\\n{}\\n-----END {k}-----", drawn(64), k = "PRIVATE KEY");
    check("{\"pem\": \"", &escaped, "\"}", "private_key");
}

#[test]
fn signed_tokens_name_their_algorithm() {
    let token = format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.{}", drawn(43));
    check("cookie=", &token, "; path=/", "json_web_token");
    assert_eq!(found(&format!("eyJmb28iOiJiYXIiMTIz.eyJzdWIiOiI0MiJ9.{}", drawn(43))), []);
}

#[test]
fn passwords_in_urls_and_bearer_tokens_are_found() {
    check("postgres://app:", "tr0ub4dor", "@db.internal:5432/app", "url_password");
    check("redis://:", "wet-Lamp-91", "@cache:6379", "url_password");
    check("Authorization: Bearer ", &drawn(32), "", "bearer_token");
    assert_eq!(found("Bearer authentication-is-required-here"), []);
    assert_eq!(found("http://localhost:8080/@scope/package"), []);
}

#[test]
fn assigned_values_are_secrets_when_they_look_like_some() {
    let rule = "assigned_secret";
    check("ACME_API_KEY=", &drawn(32), "", rule);
    check("export DEPLOY_TOKEN=\"", &drawn(20), "\"", rule);
    check("DB_PASSWORD = ", "correct-horse-battery-staple", "", rule);
    check("password: ", "Tr0ub4dor&3", ".", rule);
    check("\"client_secret\": \"", &drawn(24), "\",", rule);
    check("apiKey: '", &drawn(24), "',", rule);
    check("DATA_KEY=", &drawn(24), "", rule);
    for ordinary in [
        "API_KEY=changeme-changeme-changeme",
        "SECRET=xxxxxxxxxxxxxxxxxxxxxxxx",
        "token: authentication-middleware",
        "api_key = config.providers.default.key",
        "SECRET_KEY=<generate one with openssl>",
        "apiKey: process.env.OPENAI_API_KEY_1",
        "AUTH_TOKEN=$(cat /run/secrets/token_2)",
        "TOKEN_FILE=/run/secrets/token_file_1",
        "CACHE_KEY=user:17:profile:settings:v2",
        "public_key = q7Zk3Qm81xYtR5vB9cLw2NfHs6DgJp4a",
        "if token == previous_token_value_1 {",
        "password: string",
        "monkey: q7Zk3Qm81xYtR5vB9cLw2NfHs6DgJp4a",
    ] {
        assert_eq!(found(ordinary), [], "{ordinary}");
    }
}

#[test]
fn spans_are_ascending_and_apart() {
    let (one, two) = (format!("{}_{}", "ghp", drawn(36)), drawn(32));
    let text = format!("GITHUB_TOKEN={one} and PASSWORD='{two}', é {one}");
    let spans = secrets(&text);
    assert_eq!(spans.len(), 3, "{spans:?}");
    assert!(spans.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
    assert!(spans.iter().all(|span| text.get(span.range.clone()).is_some()));
    assert_eq!(spans[0].rule, "github_token");
}
