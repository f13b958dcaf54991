//! The JSON value in a model's reply. Knows how models wrap JSON, and nothing of what it means.

use serde_json::{Deserializer, Value};

/// Most bytes of a reply that is searched for JSON.
pub const JSON_BYTES_MAX: usize = 1 << 20;

/// Why a reply does not contain exactly one JSON value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// Longer than [`JSON_BYTES_MAX`].
    #[error("it has {bytes} bytes, more than {JSON_BYTES_MAX}")]
    TooLong {
        /// Bytes of the reply.
        bytes: usize,
    },
    /// No JSON, or only a bare word, number or string among other words.
    #[error("there is no JSON object or array in it")]
    Missing,
    /// More than one value.
    #[error("there are {count} JSON values in it, not one")]
    Several {
        /// How many.
        count: usize,
    },
    /// Something begins like JSON and is not valid.
    #[error("it is not valid JSON: {reason}")]
    Invalid {
        /// What the parser says, with line and column counted from where the value begins.
        reason: String,
    },
}

/// The one JSON value of a reply: the whole reply, the content of its one code block, or its one
/// object or array among other words. A part of a value is never returned as the whole.
///
/// # Errors
/// When there is none, more than one, or one that is broken, cut or nested too deeply; when the
/// reply is too long.
pub fn json_in(text: &str) -> Result<Value, JsonError> {
    if text.len() > JSON_BYTES_MAX {
        return Err(JsonError::TooLong { bytes: text.len() });
    }
    if let Ok(value) = serde_json::from_str(text.trim()) {
        return Ok(value);
    }
    match code_block(text).map(serde_json::from_str) {
        Some(Ok(value)) => Ok(value),
        _ => between_words(text),
    }
}

/// The content of the only code block labelled JSON; without any such, of the only one without a
/// label.
fn code_block(text: &str) -> Option<&str> {
    let blocks = code_blocks(text);
    let only = |wanted: &str| {
        let mut found = blocks
            .iter()
            .filter(|(label, _)| label.eq_ignore_ascii_case(wanted))
            .map(|(_, inside)| *inside);
        (found.next(), found.next())
    };
    match only("json") {
        (None, _) => match only("") {
            (inside, None) => inside,
            _ => None,
        },
        (inside, None) => inside,
        _ => None,
    }
}

/// Each code block's label and content. An unclosed block extends to the end of the text.
fn code_blocks(text: &str) -> Vec<(&str, &str)> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, &str, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (fence, rest) = fence(line.trim());
        match open {
            Some((opening, label, start)) if fence.starts_with(opening) && rest.is_empty() => {
                blocks.push((label, &text[start..at]));
                open = None;
            }
            None if !fence.is_empty() && !rest.contains('`') => {
                open = Some((fence, label(rest), at + line.len()))
            }
            _ => {}
        }
        at += line.len();
    }
    blocks.extend(open.map(|(_, label, start)| (label, &text[start..])));
    blocks
}

/// The first word after a fence.
fn label(rest: &str) -> &str {
    rest.split_whitespace().next().unwrap_or_default()
}

/// The three or more backticks or tildes that a line begins with, and the rest of it.
fn fence(line: &str) -> (&str, &str) {
    let first = line.chars().next().filter(|first| matches!(first, '`' | '~'));
    let length = first.map_or(0, |first| line.len() - line.trim_start_matches(first).len());
    line.split_at(if length < 3 { 0 } else { length })
}

/// The only object or array in a text that is not inside another.
fn between_words(text: &str) -> Result<Value, JsonError> {
    let mut found = None;
    let (mut count, mut at) = (0, 0);
    while let Some(start) = text[at..].find(['{', '[']).map(|next| at + next) {
        let mut values = Deserializer::from_str(&text[start..]).into_iter::<Value>();
        let length = match values.next() {
            Some(Ok(value)) => {
                found = Some(value);
                count += 1;
                Some(values.byte_offset())
            }
            Some(Err(error)) if begins_as_json(&text[start..]) => {
                return Err(JsonError::Invalid { reason: error.to_string() });
            }
            _ => bracketed(&text[start..]),
        };
        match length {
            Some(length) => at = start + length,
            None => break,
        }
    }
    match found {
        Some(value) if count == 1 => Ok(value),
        Some(_) => Err(JsonError::Several { count }),
        None => Err(JsonError::Missing),
    }
}

/// Whether what follows the bracket could be JSON. `{name}` and `[see above]` are words.
fn begins_as_json(bracket: &str) -> bool {
    let inside = bracket[1..].trim_start();
    let literal = ["true", "false", "null"].iter().any(|literal| inside.starts_with(literal));
    match bracket.as_bytes()[0] {
        b'{' => inside.is_empty() || inside.starts_with(['"', '}']),
        _ => {
            inside.is_empty()
                || literal
                || inside.starts_with(|c: char| "{[]\"-".contains(c) || c.is_ascii_digit())
        }
    }
}

/// Bytes from a bracket to the one that closes it; none when it is not closed.
fn bracketed(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, expected: Value) {
        assert_eq!(json_in(text), Ok(expected), "{text}");
    }

    fn fails(text: &str, expected: &str) {
        let error = json_in(text).map_err(|error| error.to_string());
        assert!(
            error.as_ref().is_err_and(|error| error.starts_with(expected)),
            "{text}: {error:?}"
        );
    }

    #[test]
    fn a_whole_reply_is_any_value() {
        check(" {\"a\": [1, {}]}\n", json!({"a": [1, {}]}));
        check("\"yes\"", json!("yes"));
        check("null", Value::Null);
        check("-1.5", json!(-1.5));
    }

    #[test]
    fn code_blocks_are_opened() {
        let value = json!({"a": 1});
        for text in [
            "```json\n{\"a\": 1}\n```",
            "```\n{\"a\": 1}\n```\n",
            "~~~\n{\"a\": 1}\n~~~",
            "~~~~ JSON \r\n{\"a\": 1}\r\n~~~~~\r\n",
            "Here [1] it is:\n\n  ```json\n  {\"a\":\n  1}\n  ```\nAnything else {you} want?",
            "```json\n{\"a\": 1}",
            "```json {\"a\": 1} ```",
            "```json {\"a\":\n1}\n```",
            "~~~json {.small}\n{\"a\": 1}\n~~~",
            "Run\n```sh\n[ -f x ]\n```\n```json\n{\"a\": 1}\n```",
            "```python\nx = [2]\n```\n```\n{\"a\": 1}\n```",
        ] {
            check(text, value.clone());
        }
        check("It is:\n```json\n\"word\"\n```", json!("word"));
        check("It is, as [1] says:\n~~~\n\"word\"\n~~~", json!("word"));
        check("````json\n{\"a\": \"```\"}\n````", json!({"a": "```"}));
        check("```json\n{\"a\": \"~~~ `x` ```json\"}\n```", json!({"a": "~~~ `x` ```json"}));
    }

    #[test]
    fn words_around_a_value_are_left_out() {
        check("Sure! {\"a\": \"} ] {\"} Anything else?", json!({"a": "} ] {"}));
        check("The list [see above] of {name} is: [[1], [2]].", json!([[1], [2]]));
        check("(it's {not \"this} but) {\"é\": \"ü\"}", json!({"é": "ü"}));
        check("{}}", json!({}));
    }

    #[test]
    fn a_part_is_never_taken_for_the_whole() {
        fails("{\"a\": [1, 2], \"b\": oops}", "it is not valid JSON: expected value");
        fails("Here: {\"a\": [1, 2]", "it is not valid JSON: EOF while parsing");
        fails("```json\n{\"a\": {\"b\": 1},}\n```", "it is not valid JSON: trailing comma");
        fails("{a: [1, 2]}", "there is no JSON object or array");
        fails("{a: [1, 2]", "there is no JSON object or array");
        fails("{'a': [1]}", "there is no JSON object or array");
        fails("[{\"a\": 1}, {\"a\": 2", "it is not valid JSON: EOF");
    }

    #[test]
    fn one_value_is_meant_or_none() {
        fails("", "there is no JSON object or array");
        fails("I do not know.", "there is no JSON object or array");
        fails("The answer is 42.", "there is no JSON object or array");
        fails("{\"a\": 1}\n{\"a\": 2}\n[3]", "there are 3 JSON values in it");
        fails(
            "```json\n{\"a\": 1}\n```\nor\n```json\n{\"a\": 2}\n```",
            "there are 2 JSON values in it",
        );
        fails("```json\n{\"a\": 1}\n```\nor\n```json\n{\"a\": 2,}\n```", "it is not valid JSON");
    }

    #[test]
    fn hostile_replies_meet_limits() {
        fails(
            &format!("\"{}\"", "x".repeat(JSON_BYTES_MAX)),
            "it has 1048578 bytes, more than 1048576",
        );
        let most = format!("\"{}\"", "x".repeat(JSON_BYTES_MAX - 2));
        assert!(json_in(&most).is_ok());
        fails(&"[".repeat(JSON_BYTES_MAX), "it is not valid JSON: recursion limit exceeded");
        fails(&"{".repeat(JSON_BYTES_MAX), "there is no JSON");
        fails(&"{a} ".repeat(JSON_BYTES_MAX / 4), "there is no JSON");
        fails(&"{} ".repeat(JSON_BYTES_MAX / 3), "there are 349525 JSON values");
        fails("```\u{0}\n\u{feff}{é", "there is no JSON");
    }
}
