//! Whether the answer of a model is a JSON value or a text. A text that merely holds JSON somewhere
//! is a text.

use serde_json::Value;

/// The JSON value that an answer is, by itself or as the only thing in one code block; otherwise
/// its text.
pub(super) fn answer_of(text: &str) -> Value {
    let trimmed = text.trim();
    let json = code_block(trimmed).unwrap_or(trimmed);
    serde_json::from_str(json)
        .ok()
        .filter(|value| is_exact(value, json))
        .unwrap_or_else(|| Value::String(text.to_owned()))
}

/// What is in the code block that the whole text is, when nothing or JSON is said to be in it.
fn code_block(text: &str) -> Option<&str> {
    let (label, inside) = text.strip_prefix("```")?.strip_suffix("```")?.split_once('\n')?;
    let label = label.trim();
    (label.is_empty() || label.eq_ignore_ascii_case("json")).then_some(inside)
}

/// Whether the value is what was written: a whole number of too many digits is not, an account's
/// for one.
fn is_exact(value: &Value, json: &str) -> bool {
    !value.is_f64() || json.contains(['.', 'e', 'E'])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, expected: Value) {
        assert_eq!(answer_of(text), expected, "{text}");
    }

    #[test]
    fn json_alone_is_a_value() {
        check("{\"score\": 85}", json!({"score": 85}));
        check(" [1, 2]\n", json!([1, 2]));
        check("85", json!(85));
        check("8.50", json!(8.5));
        check("```json\n{\"score\": 85}\n```", json!({"score": 85}));
        check("```\n[1]\n```\n", json!([1]));
    }

    #[test]
    fn everything_else_is_a_text() {
        for text in [
            "",
            "done",
            "As [1] says, the port is 5433.",
            "Here it is: {\"score\": 85}",
            "```python\n[1]\n```",
            "```json\n{}\n```\nor\n```json\n[]\n```",
            "```json\n{\n```",
            "```",
            "{\"score\": 85",
            "0049123456",
            "123456789012345678901234",
        ] {
            check(text, Value::from(text));
        }
    }
}
