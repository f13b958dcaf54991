//! JSON whose fields may have any type, or be missing: read once, borrowed where possible, never
//! deeper or larger than the limits. Knows nothing of formats.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::limits::{
    ARGUMENT_CHARS_MAX, ARGUMENTS_BYTES_MAX, CONTENT_DEPTH_MAX, ELEMENTS_MAX, RECORD_BYTES_MAX,
};
use crate::text;

/// A value that was found to be JSON and not looked into.
pub(crate) type Raw<'a> = &'a RawValue;

/// A text, or what stands for one: a number or a truth value as it is written. Anything else is as
/// if it were missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Text<'a>(Option<Cow<'a, str>>);

impl<'a> Text<'a> {
    pub(crate) fn get(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }

    pub(crate) fn is(&self, word: &str) -> bool {
        self.0.as_deref() == Some(word)
    }

    pub(crate) fn or_empty(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    fn into_cow(self) -> Option<Cow<'a, str>> {
        self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor).map(Self)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(if value { "true" } else { "false" })))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

/// An object's members, in their order and not looked into; at most [`ELEMENTS_MAX`].
#[derive(Debug, Default)]
pub(crate) struct Object<'a>(Vec<(Cow<'a, str>, Raw<'a>)>);

impl<'a> Object<'a> {
    /// Of a text; nothing if it is not an object.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok() // The caller counts it.
    }

    /// Of a value; empty if it is not an object.
    pub(crate) fn of(raw: Raw<'a>) -> Self {
        Self::parse(raw.get()).unwrap_or_default()
    }

    pub(crate) fn get(&self, name: &str) -> Option<Raw<'a>> {
        let found = self.0.iter().find(|(known, _)| known == name).map(|(_, raw)| *raw);
        found.filter(|raw| raw.get() != "null")
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// A text that is not empty, or a number as one.
    pub(crate) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        string(self.get(name)?).filter(|text| !text.is_empty())
    }

    /// The first of several names that has a text.
    pub(crate) fn any_text(&self, names: &[&str]) -> Option<Cow<'a, str>> {
        names.iter().find_map(|name| self.text(name))
    }

    pub(crate) fn object(&self, name: &str) -> Object<'a> {
        self.get(name).map(Object::of).unwrap_or_default()
    }

    pub(crate) fn list(&self, name: &str) -> Vec<Raw<'a>> {
        self.get(name).map(list).unwrap_or_default()
    }

    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|raw| raw.get() == "true")
    }

    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        self.text(name)?.parse().ok() // Not a number is as if it were missing.
    }

    pub(crate) fn time(&self, name: &str) -> Option<i64> {
        crate::time::micros(&self.text(name)?)
    }

    pub(crate) fn into_members(self) -> Vec<(Cow<'a, str>, Raw<'a>)> {
        self.0
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, Raw<'a>)> {
        self.0.iter().map(|(name, raw)| (name.as_ref(), *raw))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(name) = map.next_key::<Text<'de>>()? {
                    let raw = map.next_value::<Raw<'de>>()?;
                    if members.len() < ELEMENTS_MAX {
                        members.push((name.into_cow().unwrap_or_default(), raw));
                    }
                }
                Ok(Object(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

struct List<'a>(Vec<Raw<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for List<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Elements;
        impl<'de> Visitor<'de> for Elements {
            type Value = List<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut elements = Vec::new();
                while let Some(raw) = list.next_element::<Raw<'de>>()? {
                    if elements.len() < ELEMENTS_MAX {
                        elements.push(raw);
                    }
                }
                Ok(List(elements))
            }
        }
        deserializer.deserialize_seq(Elements)
    }
}

/// A list's elements, at most [`ELEMENTS_MAX`]; none if it is not a list.
pub(crate) fn list(raw: Raw<'_>) -> Vec<Raw<'_>> {
    // Anything else than a list has no elements.
    serde_json::from_str::<List<'_>>(raw.get()).map(|list| list.0).unwrap_or_default()
}

/// A text, or a number or truth value as one.
pub(crate) fn string(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    if raw.get().starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str::<Text<'_>>(raw.get()).ok()?.into_cow() // Anything else is no text.
}

/// A value of a given shape; the shape's default if it is another one.
pub(crate) fn shaped<'a, T: Deserialize<'a> + Default>(raw: Option<Raw<'a>>) -> T {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default() // See above.
}

/// Whether it is a list.
pub(crate) fn is_list(raw: Raw<'_>) -> bool {
    raw.get().starts_with('[')
}

/// The words of a content of any shape: a text, a list of texts or of parts with a `text`, or an
/// object that holds one of these.
pub(crate) fn words(raw: Raw<'_>) -> String {
    let mut words = String::new();
    gather(raw, 0, &mut words);
    words
}

/// What holds the words of a part, in the order in which they are sought.
const HOLDERS: [&str; 14] = [
    "text",
    "output",
    "content",
    "parts",
    "result",
    "value",
    "response",
    "responseParts",
    "functionResponse",
    "error",
    "message",
    "stdout",
    "node",
    "children",
];

fn gather(raw: Raw<'_>, depth: usize, words: &mut String) {
    if depth > CONTENT_DEPTH_MAX || words.len() > RECORD_BYTES_MAX {
        return;
    }
    match raw.get().as_bytes().first() {
        Some(b'[') => list(raw).into_iter().for_each(|part| gather(part, depth + 1, words)),
        Some(b'{') => {
            let object = Object::of(raw);
            if let Some(inner) = HOLDERS.iter().find_map(|name| object.get(name)) {
                gather(inner, depth + 1, words);
            } else if !object.has("type") && !object.0.is_empty() {
                append(raw.get(), words);
            }
        }
        Some(b'n') | None => {}
        _ => append(&string(raw).unwrap_or_default(), words),
    }
}

fn append(text: &str, words: &mut String) {
    if !words.is_empty() && !words.ends_with('\n') && !text.is_empty() {
        words.push('\n');
    }
    words.push_str(text);
}

/// The arguments of a call: decoded also if they are JSON in a text, with long texts shortened.
pub(crate) fn arguments(raw: Option<Raw<'_>>) -> Value {
    let Some(raw) = raw else { return Value::Null };
    if raw.get().starts_with('"') {
        let text = string(raw).unwrap_or_default();
        return match text.trim_start().as_bytes().first() {
            Some(b'{' | b'[') => decoded(&text),
            _ => Value::String(text::elided(&text, ARGUMENT_CHARS_MAX)),
        };
    }
    decoded(raw.get())
}

/// A text of JSON as a value; as it is, shortened, where it is too long, too deep or not JSON.
pub(crate) fn decoded(text: &str) -> Value {
    let value = if text.len() <= ARGUMENTS_BYTES_MAX {
        serde_json::from_str(text)
    } else {
        Err(serde_json::Error::custom("too long"))
    };
    match value {
        Ok(mut value) => {
            shorten(&mut value);
            value
        }
        Err(_) => Value::String(text::elided(text, ARGUMENT_CHARS_MAX)), // Kept as a text.
    }
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > ARGUMENT_CHARS_MAX => {
            *text = text::elided(text, ARGUMENT_CHARS_MAX);
        }
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(members) => members.values_mut().for_each(shorten),
        _ => {}
    }
}

/// How many bytes a value takes, roughly.
pub(crate) fn weight(value: &Value) -> usize {
    size_of::<Value>()
        + match value {
            Value::String(text) => text.len(),
            Value::Array(values) => values.iter().map(weight).sum(),
            Value::Object(members) => {
                members.iter().map(|(name, value)| MEMBER_BYTES + name.len() + weight(value)).sum()
            }
            _ => 0,
        }
}

/// Bytes that a member takes beside its name and value: the name's place, and those of the map.
const MEMBER_BYTES: usize = 64;

/// The text with raw control characters in strings escaped, and those outside of strings as spaces;
/// nothing if it has none.
pub(crate) fn mended(text: &str) -> Option<String> {
    text.bytes().any(|byte| byte < b' ' && byte != b'\n').then_some(())?;
    let mut mended = String::with_capacity(text.len() + text.len() / 8);
    let mut in_string = false;
    let mut escaped = false;
    for character in text.chars() {
        match character {
            _ if character >= ' ' => {
                if character == '"' && !escaped {
                    in_string = !in_string;
                }
                escaped = in_string && character == '\\' && !escaped;
                mended.push(character);
            }
            _ if in_string => {
                if std::mem::take(&mut escaped) {
                    mended.push('\\');
                }
                mended.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            _ => mended.push(' '),
        }
    }
    Some(mended)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        serde_json::from_str(text).expect("JSON")
    }

    #[test]
    fn fields_may_have_any_type() {
        let object = Object::parse(r#"{"a":1,"b":"two","c":null,"d":{"e":[1,"x"]},"f":true}"#);
        let object = object.expect("an object");
        assert_eq!(object.text("a").as_deref(), Some("1"));
        assert_eq!(object.text("b").as_deref(), Some("two"));
        assert_eq!(object.text("c"), None);
        assert!(!object.has("c") && object.is_true("f"));
        assert_eq!(object.object("d").list("e").len(), 2);
        assert_eq!(object.text("d"), None);
        assert!(Object::parse("[1]").is_none());
    }

    #[test]
    fn words_of_any_shape() {
        for (content, expected) in [
            (r#""as it is""#, "as it is"),
            (r#"[{"type":"text","text":"one"},{"type":"text","text":"two"}]"#, "one\ntwo"),
            (r#"{"output":"done"}"#, "done"),
            (r#"[{"type":"image","source":{}}]"#, ""),
            (r#"{"a":1}"#, r#"{"a":1}"#),
            ("null", ""),
        ] {
            assert_eq!(words(&raw(content)), expected);
        }
    }

    #[test]
    fn nesting_ends() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(words(&raw(&deep)), "");
        assert!(arguments(Some(&raw(&deep))).is_string(), "too deep to decode");
    }

    #[test]
    fn arguments_are_decoded_and_shortened() {
        let text = r#""{\"cmd\":\"ls\"}""#;
        assert_eq!(arguments(Some(&raw(text))), serde_json::json!({"cmd": "ls"}));
        let long = serde_json::json!({"content": "x".repeat(10_000)}).to_string();
        let Value::Object(members) = arguments(Some(&raw(&long))) else { panic!("an object") };
        assert!(members["content"].as_str().expect("a text").len() < 5_000);
        assert_eq!(arguments(Some(&raw(r#""{broken""#))), Value::String("{broken".to_owned()));
    }

    #[test]
    fn control_characters_are_mended() {
        let text = "{\"a\":\"one\ttwo\u{0}\\\"\\\u{1}\",\u{0}\"b\":2}";
        let mended = mended(text).expect("control characters");
        let value: Value = serde_json::from_str(&mended).expect("JSON");
        assert_eq!(value["a"], "one\ttwo\u{0}\"\\\u{1}");
        assert_eq!(super::mended("{\"a\":1}"), None);
    }
}
