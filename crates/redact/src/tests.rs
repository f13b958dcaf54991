//! What goes and what stays. The secrets are made up, and joined from parts so that no scanner of
//! repositories takes them for real ones.

mod secrets;

use super::*;

/// So many letters and digits without an order.
fn drawn(length: usize) -> String {
    "q7Zk3Qm81xYtR5vB9cLw2NfHs6DgJp4aUe0oXiWb".chars().cycle().take(length).collect()
}

fn token() -> String {
    format!("{}_{}", "ghp", drawn(36))
}

#[test]
fn what_goes_is_replaced_by_its_rule() {
    let text = format!("é {} und post@kapsa-memory.dev, é", token());
    let redacted = redact(&text);
    assert_eq!(redacted.text, "é [REDACTED:github_token] und [REDACTED:email], é");
    assert_eq!(redacted.spans.len(), 2);
    assert!(matches!(redact("nothing here").text, Cow::Borrowed(_)));
}

#[test]
fn addresses_go() {
    for address in [
        "jo.doe+list@mail.co.uk",
        "o_neill@sub-domain.kapsa-memory.dev",
        "noreply2@kapsa-memory.dev",
        "JO@KAPSA-MEMORY.DEV",
    ] {
        let text = format!("Write to <{address}>, or not.");
        let found: Vec<&str> = spans(&text).iter().map(|span| &text[span.range.clone()]).collect();
        assert_eq!(found, [address]);
    }
}

#[test]
fn what_only_looks_like_an_address_stays() {
    for text in [
        "icon@2x.png and logo@3x-dark.svg",
        "git@github.com:org/repository.git",
        "ssh://deploy@build.kapsa-memory.dev/srv",
        "scp notes.txt deploy@build.kapsa-memory.dev:/srv",
        "npm install left-pad@1.3.0 @types/node@20.1",
        "someone@example.com, someone@mail.example.org",
        "noreply@kapsa-memory.dev, 12+jo@users.noreply.kapsa-memory.test",
        "admin@localhost, user@host, systemctl start getty@tty1.service",
        "@property @app.route a@b a@.com",
    ] {
        assert_eq!(spans(text), [], "{text}");
    }
}

#[test]
fn what_is_longer_than_expected_goes_whole() {
    let key = format!("{}-proj-{}", "sk", drawn(700));
    assert_eq!(redact(&format!("key {key} end")).text, "key [REDACTED:model_api_key] end");
    let value = drawn(900);
    assert_eq!(redact(&format!("A_TOKEN={value}.")).text, "A_TOKEN=[REDACTED:assigned_secret].");
}

#[test]
fn what_overlaps_goes_in_one() {
    let text = format!("SECRET_TOKEN='{}:{}@x.dev'", token(), drawn(20));
    let spans = spans(&text);
    assert!(spans.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
    assert!(!redact(&text).text.contains(&drawn(20)[..12]), "{}", redact(&text).text);
}

#[test]
fn json_stays_json_and_its_other_bytes_as_they_were() {
    let arguments = serde_json::json!({ "command": format!("curl -H 'x: {}' \"q\"", token()) });
    let line = format!(
        "{{ \"n\" : 1.50, \"arguments\":{}, \"to\": [\"jo@kapsa-memory.dev\"] }}",
        serde_json::json!(arguments.to_string())
    );
    let redacted = redact_json(&line);
    let value: serde_json::Value = serde_json::from_str(&redacted.text).expect("JSON stays JSON");
    assert!(redacted.text.starts_with("{ \"n\" : 1.50, \"arguments\":\"{"), "{}", redacted.text);
    let inner: serde_json::Value =
        serde_json::from_str(value["arguments"].as_str().expect("a string")).expect("JSON inside");
    assert_eq!(inner["command"], "curl -H 'x: [REDACTED:github_token]' \"q\"");
    assert_eq!(value["to"][0], "[REDACTED:email]");
}

#[test]
fn passwords_on_command_lines_are_found() {
    let password = "kJ8sPq2LmX9v";
    for line in [
        "sshpass -p kJ8sPq2LmX9v ssh root@10.0.0.1",
        "mysql -u root -pkJ8sPq2LmX9v shop < dump.sql",
        "mysqldump --user=root --password=kJ8sPq2LmX9v shop",
        "curl -s -u admin:kJ8sPq2LmX9v https://example.com/api",
        "curl --user 'admin:kJ8sPq2LmX9v' https://example.com/api",
        "docker login -u ci -p kJ8sPq2LmX9v registry.example.com",
    ] {
        let redacted = redact(line).text;
        assert!(!redacted.contains(password), "{redacted}");
        assert!(redacted.contains("[REDACTED:"), "{redacted}");
    }
    for line in [
        "sshpass -p $PASSWORD ssh root@10.0.0.1",
        "mysql -u root -p shop2 < dump.sql",
        "curl -u $USER:$TOKEN1 https://example.com/v2",
        "curl -u admin: https://example.com/v2",
        "docker login -p <password1>",
        "docker run -p 8080:8080 mysql:8.0",
        "curl -L https://example.com/install2.sh | sh -s -- -u user1",
    ] {
        assert_eq!(redact(line).text, line);
    }
}

#[test]
fn secrets_behind_escapes_are_found() {
    let token = token();
    let escaped: String = token.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    assert_eq!(redact_json(&format!("[\"{escaped}\"]")).text, "[\"[REDACTED:github_token]\"]");
    let key = format!("-----BEGIN {k}-----\n{}\n-----END {k}-----", drawn(64), k = "PRIVATE KEY");
    let line = serde_json::json!({ "pem": key }).to_string();
    assert_eq!(redact_json(&line).text, "{\"pem\":\"[REDACTED:private_key]\"}");
}

#[test]
fn the_name_of_a_field_is_the_name_of_its_value() {
    let value = drawn(24);
    let line = format!("{{\"client_secret\": \"{value}\", \"id\": \"{value}\"}}");
    let expected =
        format!("{{\"client_secret\": \"[REDACTED:assigned_secret]\", \"id\": \"{value}\"}}");
    assert_eq!(redact_json(&line).text, expected);
    let other = format!("{{\"client_secret\": 1, \"{value}\": 2}}");
    assert_eq!(redact_json(&other).text, other);
}

#[test]
fn json_that_is_cut_or_damaged_is_redacted() {
    let token = token();
    for line in [
        format!("{{\"text\": \"my {token}"),
        format!("{{\"text\": \"\\q {token}\"}}"),
        format!("\u{1}{{\"text\": \"a\u{2} {token}\", \"\\"),
        format!("\"\\\" {token}"),
    ] {
        let redacted = redact_json(&line);
        assert!(!redacted.text.contains(&token[8..]), "{line} -> {}", redacted.text);
    }
    assert_eq!(redact_json("\"").text, "\"");
}

#[test]
fn a_token_in_two_messages_is_found() {
    let token = token();
    let (one, two) = token.split_at(20);
    let parts = [format!("My token is {one}"), format!("{two}. Keep it."), "Yes.".to_string()];
    let texts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let found = spans_across(&texts);
    let kept: Vec<String> =
        texts.iter().zip(&found).map(|(text, spans)| without(text, spans)).collect();
    let mark = "[REDACTED:github_token]";
    assert_eq!(kept, [format!("My token is {mark}"), format!("{mark}. Keep it."), "Yes.".into()]);
    assert_eq!(spans_across(&["My token is", " nothing", ""]), [vec![], vec![], vec![]]);
}

#[test]
fn the_next_message_is_no_part_of_what_ends_the_one_before() {
    let ends = format!("My token is {}", token());
    for before in ["The maintainer is jo@acme-corp.io", "Ask jo@acme-corp.io.", &ends] {
        for after in ["Never edit this by hand.", "always run make", "You, too"] {
            let found = spans_across(&[before, after]);
            assert_eq!(found[1], [], "{before} / {after}");
        }
    }
}

#[test]
fn a_token_in_many_messages_is_found() {
    let token = token();
    let texts: Vec<&str> = (0..token.len()).map(|at| &token[at..=at]).collect();
    let found = spans_across(&texts);
    assert!(found.iter().all(|spans| spans.len() == 1), "{found:?}");
}

#[test]
fn a_key_in_two_messages_is_found() {
    let (header, body) = (format!("-----BEGIN {}-----\n", "PRIVATE KEY"), drawn(64));
    let end = format!("{}\n-----END {}-----", drawn(64), "PRIVATE KEY");
    let parts = [format!("é {header}{body}\n"), end];
    let texts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let found = spans_across(&texts);
    assert_eq!(without(texts[0], &found[0]), "é [REDACTED:private_key]");
    assert_eq!(without(texts[1], &found[1]), "[REDACTED:private_key]");
}
