//! Whether the arguments of a call are what its tool takes, said so that a model can mend them:
//! which argument, what came, what is expected. Knows no tool; it goes by the schema that the model
//! read.

use rmcp::model::JsonObject;
use serde_json::{Map, Value};

use crate::host::Problem;
use crate::shown;

/// Longest part of a value that is repeated, in characters.
const VALUE_CHARS_MAX: usize = 40;
/// How alike a name must be to one that is known to be taken for it, 0 to 1.
const LIKENESS_MIN: f64 = 0.7;

/// The arguments as they are read: without those that are null, which stand for none.
///
/// # Errors
/// `invalid_argument` with the first that is wrong.
pub(crate) fn checked(schema: &JsonObject, args: Value) -> Result<Value, Problem> {
    let Value::Object(args) = args else {
        return Err(wrong("the arguments", &args, "an object of arguments by name"));
    };
    let args = without_nulls(args);
    fields(schema, "", &args)?;
    Ok(Value::Object(args))
}

fn without_nulls(mut args: Map<String, Value>) -> Map<String, Value> {
    args.retain(|_, value| !value.is_null());
    for value in args.values_mut() {
        let Value::Array(items) = value else { continue };
        for item in items {
            if let Value::Object(fields) = item {
                *fields = without_nulls(std::mem::take(fields));
            }
        }
    }
    args
}

/// The fields of an object at `place`, which is empty at the top.
fn fields(schema: &JsonObject, place: &str, given: &Map<String, Value>) -> Result<(), Problem> {
    let nothing = Map::new();
    let known = schema.get("properties").and_then(Value::as_object).unwrap_or(&nothing);
    let at = |name: &str| match place {
        "" => name.to_string(),
        place => format!("{place}.{name}"),
    };
    let others = schema.get("additionalProperties");
    for (name, value) in given {
        match (known.get(name).and_then(Value::as_object), others) {
            (Some(schema), _) => self::value(schema, &at(name), value)?,
            (None, Some(Value::Object(schema))) => self::value(schema, &at(name), value)?,
            (None, Some(Value::Bool(false))) => return Err(unknown(&at(name), name, known)),
            (None, _) => {}
        }
    }
    let required = schema.get("required").and_then(Value::as_array);
    let mut required = required.into_iter().flatten().filter_map(Value::as_str);
    let Some(name) = required.find(|name| !given.contains_key(*name)) else { return Ok(()) };
    let schema = known.get(name).and_then(Value::as_object).unwrap_or(&nothing);
    let message = format!("{} is missing: {}", at(name), expected(schema));
    let hint = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    Err(Problem::new("invalid_argument", message).hint(hint))
}

fn value(schema: &JsonObject, place: &str, given: &Value) -> Result<(), Problem> {
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    let fits = match (kind, given) {
        ("string", Value::String(_))
        | ("boolean", Value::Bool(_))
        | ("number", Value::Number(_))
        | ("array", Value::Array(_))
        | ("object", Value::Object(_))
        | ("", _) => true,
        ("integer", Value::Number(number)) => number.is_u64() || number.is_i64(),
        _ => false,
    };
    let is_too_small = || {
        let least = schema.get("minimum").and_then(Value::as_f64);
        least.zip(given.as_f64()).is_some_and(|(least, given)| given < least)
    };
    let choices = choices(schema);
    let is_choice = || choices.is_empty() || choices.iter().any(|one| given == one);
    if !fits || is_too_small() || !is_choice() {
        return Err(wrong(place, given, &expected(schema)));
    }
    match given {
        Value::Object(given) => fields(schema, place, given),
        Value::Array(items) => {
            let Some(schema) = schema.get("items").and_then(Value::as_object) else {
                return Ok(());
            };
            let mut items = items.iter().enumerate();
            items.try_for_each(|(at, item)| value(schema, &format!("{place}[{at}]"), item))
        }
        _ => Ok(()),
    }
}

/// The values of which one is expected; empty where any is.
fn choices(schema: &JsonObject) -> Vec<&str> {
    let one_of = schema.get("oneOf").and_then(Value::as_array);
    let constants = one_of.into_iter().flatten().filter_map(|one| one.get("const"));
    let listed = schema.get("enum").and_then(Value::as_array);
    listed.into_iter().flatten().chain(constants).filter_map(Value::as_str).collect()
}

/// What an argument must be, in words.
fn expected(schema: &JsonObject) -> String {
    let choices = choices(schema);
    if !choices.is_empty() {
        return format!("one of {}", choices.join(", "));
    }
    let items = || schema.get("items").and_then(|items| items.get("type")?.as_str());
    match schema.get("type").and_then(Value::as_str).unwrap_or_default() {
        "string" => "a text".to_string(),
        "boolean" => "true or false".to_string(),
        "integer" => "a whole number, 0 or more, without quotes".to_string(),
        "number" => "a number, without quotes".to_string(),
        "array" if items() == Some("object") => "a list of objects".to_string(),
        "array" => "a list of texts, such as [\"one\"]".to_string(),
        "object" if schema.contains_key("properties") => "an object".to_string(),
        "object" => "texts by name, such as {\"name\": \"value\"}".to_string(),
        _ => "another value".to_string(),
    }
}

fn wrong(place: &str, given: &Value, expected: &str) -> Problem {
    let kind = match given {
        Value::Null => "nothing".to_string(),
        Value::Bool(_) | Value::Number(_) => given.to_string(),
        Value::String(text) => {
            format!("the text {}", Value::from(shown::cut(text, VALUE_CHARS_MAX)))
        }
        Value::Array(_) => "a list".to_string(),
        Value::Object(_) => "an object".to_string(),
    };
    Problem::new("invalid_argument", format!("{place} is {kind}, and must be {expected}"))
}

/// An argument that the tool does not take, with the one that was probably meant.
fn unknown(place: &str, name: &str, known: &Map<String, Value>) -> Problem {
    let likeness = |other: &&String| strsim::jaro_winkler(name, other);
    let nearest = known.keys().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let all = || known.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let hint = match nearest.filter(|nearest| likeness(nearest) >= LIKENESS_MIN) {
        Some(nearest) => format!("{nearest} is taken; so are {}", all()),
        None => format!("these are taken: {}", all()),
    };
    let place = shown::cut(place, VALUE_CHARS_MAX);
    Problem::new("invalid_argument", format!("{place} is not an argument here")).hint(hint)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> JsonObject {
        let schema = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["query"],
            "properties": {
                "query": { "type": "string", "description": "What to look for." },
                "limit": { "type": "integer", "minimum": 0 },
                "sure": { "type": "number" },
                "history": { "type": "boolean" },
                "kinds": { "type": "array", "items": { "type": "string" } },
                "tags": { "type": "object", "additionalProperties": { "type": "string" } },
                "action": { "oneOf": [{ "const": "list" }, { "const": "diff" }] },
                "candidates": { "type": "array", "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["title"],
                    "properties": {
                        "title": { "type": "string" },
                        "type": { "type": "string", "enum": ["fact", "decision"] },
                    },
                } },
            },
        });
        schema.as_object().expect("an object").clone()
    }

    #[test]
    fn what_is_wrong_is_named_with_what_came_and_what_is_expected() {
        for (given, message) in [
            (json!({}), "query is missing: a text"),
            (json!({ "query": 7 }), "query is 7, and must be a text"),
            (
                json!({ "query": "x", "limit": "ten" }),
                "limit is the text \"ten\", and must be a whole number, 0 or more, without quotes",
            ),
            (
                json!({ "query": "x", "limit": -1 }),
                "limit is -1, and must be a whole number, 0 or more, without quotes",
            ),
            (
                json!({ "query": "x", "history": "yes" }),
                "history is the text \"yes\", and must be true or false",
            ),
            (
                json!({ "query": "x", "kinds": "fact" }),
                "kinds is the text \"fact\", and must be a list of texts, such as [\"one\"]",
            ),
            (json!({ "query": "x", "kinds": ["fact", 1] }), "kinds[1] is 1, and must be a text"),
            (
                json!({ "query": "x", "tags": ["a"] }),
                "tags is a list, and must be texts by name, such as {\"name\": \"value\"}",
            ),
            (json!({ "query": "x", "tags": { "a": 1 } }), "tags.a is 1, and must be a text"),
            (
                json!({ "query": "x", "action": "merge" }),
                "action is the text \"merge\", and must be one of list, diff",
            ),
            (
                json!({ "query": "x", "candidates": [{ "title": "y", "type": "z" }] }),
                "candidates[0].type is the text \"z\", and must be one of fact, decision",
            ),
            (json!({ "query": "x", "candidates": [{}] }), "candidates[0].title is missing: a text"),
            (
                json!({ "query": "x", "candidates": [{ "titel": "y" }] }),
                "candidates[0].titel is not an argument here",
            ),
            (json!({ "query": "x", "kind": "fact" }), "kind is not an argument here"),
        ] {
            let problem = checked(&schema(), given.clone()).expect_err("it is wrong");
            assert_eq!(problem.message, message, "{given}");
        }
    }

    #[test]
    fn an_unknown_argument_comes_with_the_one_that_was_meant() {
        let hint = |name: &str| {
            let given = json!({ "query": "x", name: 1 });
            checked(&schema(), given).expect_err("it is not known").hint.expect("a hint")
        };
        for (given, meant) in [("kind", "kinds"), ("Limit", "limit"), ("histroy", "history")] {
            assert!(hint(given).starts_with(&format!("{meant} is taken")), "{}", hint(given));
        }
        assert!(hint("zzz").starts_with("these are taken: action, "), "{}", hint("zzz"));
    }

    #[test]
    fn what_is_null_is_not_there() {
        let given =
            json!({ "query": "x", "limit": null, "candidates": [{ "title": "y", "type": null }] });
        let read = checked(&schema(), given).expect("it is right");
        assert_eq!(read, json!({ "query": "x", "candidates": [{ "title": "y" }] }));
        let missing = checked(&schema(), json!({ "query": null })).expect_err("nothing is asked");
        assert_eq!(missing.message, "query is missing: a text");
        assert_eq!(missing.hint.as_deref(), Some("What to look for."));
    }
}
