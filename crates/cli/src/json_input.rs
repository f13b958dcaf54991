//! Makes records of JSON that somebody else wrote. Strict, with limits, and with errors that name
//! the place.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use kapsa_memory::access::{Access, Classification};
use kapsa_memory::{Error, Micros, NewRecord, Trust, Uri, wide_integer};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::args;
use crate::moment;

/// Deepest nesting of objects and arrays accepted, the record itself included.
pub const JSON_DEPTH_MAX: usize = 64;
/// The fields of a record, as JSON names them.
const FIELDS: [&str; 17] = [
    "text",
    "title",
    "label",
    "kind",
    "uri",
    "tags",
    "metadata",
    "entity",
    "domain",
    "agent",
    "run",
    "confidence",
    "created_at",
    "source",
    "classification",
    "named",
    "trust",
];
/// What the lines of an export that are not records describe.
const SYSTEM_LINES: [&str; 3] = ["alias", "checkpoint", "event"];
/// Names that other stores use, and what they are called here.
const OTHER_NAMES: [(&str, &str); 12] = [
    ("content", "text"),
    ("body", "text"),
    ("message", "text"),
    ("id", "uri"),
    ("key", "uri"),
    ("type", "kind"),
    ("meta", "metadata"),
    ("time", "created_at"),
    ("timestamp", "created_at"),
    ("ts", "created_at"),
    ("author", "agent"),
    ("run_id", "run"),
];

/// What is wrong with a piece of JSON, and where in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// Line in the piece from 1, and column from 1; 0 where there is no such place.
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Fault {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Fault {
        Fault { code, message: message.into(), hint: None, line: 1, column: 0 }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Fault {
        self.hint = Some(hint.into());
        self
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        let code = if matches!(error, Error::InvalidUri { .. }) {
            "invalid_uri"
        } else {
            "invalid_record"
        };
        Fault::new(code, error.to_string())
    }
}

/// Reads one record. Its limits are the caller's to check, once the defaults are in.
pub(crate) fn record(bytes: &[u8]) -> Result<NewRecord, Fault> {
    expect_object(bytes, "a record")?;
    check_depth(bytes)?;
    check_integers(bytes)?;
    let wire: RecordIn = serde_json::from_slice(bytes).map_err(|error| explain(bytes, &error))?;
    wire.into_record()
}

/// Whether a piece is one of those lines of an export that no put can take: `{"system":"event", …}`
/// and the like.
pub(crate) fn is_system(bytes: &[u8]) -> bool {
    let map = serde_json::from_slice::<Map<String, Value>>(bytes).unwrap_or_default();
    map.get("system").and_then(Value::as_str).is_some_and(|what| SYSTEM_LINES.contains(&what))
}

/// Reads one JSON object.
pub(crate) fn object(bytes: &[u8]) -> Result<Map<String, Value>, Fault> {
    expect_object(bytes, "this")?;
    check_depth(bytes)?;
    check_integers(bytes)?;
    serde_json::from_slice(bytes).map_err(|error| syntax(&error))
}

fn expect_object(bytes: &[u8], what: &str) -> Result<(), Fault> {
    let first = bytes.iter().find(|b| !b.is_ascii_whitespace());
    let found = match first {
        Some(b'{') => return Ok(()),
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(_) => "text that is not JSON",
        None => "nothing",
    };
    let hint = match first {
        Some(b'[') => "jq -c '.[]' turns an array into one object per line",
        _ => "store plain text with --plain or --text",
    };
    Err(Fault::new("invalid_json", format!("{what} must be a JSON object, but found {found}"))
        .hint(hint))
}

fn check_depth(bytes: &[u8]) -> Result<(), Fault> {
    let opened = bytes.iter().filter(|b| matches!(b, b'{' | b'[')).count();
    if opened <= JSON_DEPTH_MAX {
        return Ok(());
    }
    Nesting::default().feed(bytes).map(|_| ())
}

/// Refuses integers that would be remembered as other numbers.
fn check_integers(bytes: &[u8]) -> Result<(), Fault> {
    let Some(found) = wide_integer(bytes) else { return Ok(()) };
    let before = &bytes[..found.offset];
    let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    Err(Fault {
        line: 1 + before.iter().filter(|&&byte| byte == b'\n').count(),
        column: found.offset - line_start + 1,
        ..Fault::new("invalid_json", format!("`{}` is an integer beyond 64 bits", found.field))
            .hint("give it as a string")
    })
}

/// Follows how deep a JSON text is nested, piece by piece, without parsing it.
#[derive(Debug, Default)]
pub(crate) struct Nesting {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Nesting {
    /// Takes the next piece. `true` once everything that was opened is closed again.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<bool, Fault> {
        let mut closed = false;
        for &byte in bytes {
            if self.in_string {
                self.step_in_string(byte);
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' if self.depth == JSON_DEPTH_MAX => return Err(too_deep()),
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            closed |= self.depth == 0 && matches!(byte, b'}' | b']');
        }
        Ok(closed)
    }

    fn step_in_string(&mut self, byte: u8) {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => self.in_string = false,
            _ => {}
        }
    }
}

fn too_deep() -> Fault {
    Fault::new("invalid_json", format!("the JSON is nested deeper than {JSON_DEPTH_MAX} levels"))
}

/// Finds the words for what the parser refused. Only ever runs after a failure, so it may look
/// twice.
fn explain(bytes: &[u8], error: &serde_json::Error) -> Fault {
    let unknown = serde_json::from_slice::<Map<String, Value>>(bytes).ok().and_then(|map| {
        map.into_iter().map(|(key, _)| key).find(|key| !FIELDS.contains(&key.as_str()))
    });
    let place = syntax(error);
    let Some(key) = unknown else { return place };
    let hint = did_you_mean(&key).map_or_else(
        || "anything of your own goes into `metadata`".to_string(),
        |name| format!("did you mean `{name}`? anything of your own goes into `metadata`"),
    );
    Fault {
        line: place.line,
        column: place.column,
        ..Fault::new("unknown_field", format!("a record has no field `{key}`")).hint(hint)
    }
}

fn syntax(error: &serde_json::Error) -> Fault {
    let text = error.to_string();
    let message = text.rfind(" at line ").map_or(text.as_str(), |at| &text[..at]);
    Fault {
        line: error.line().max(1),
        column: error.column(),
        ..Fault::new("invalid_json", message)
    }
}

/// The field that a mistyped name most likely means.
fn did_you_mean(key: &str) -> Option<&'static str> {
    let lower: String = key.chars().take(32).collect::<String>().to_lowercase();
    let known = OTHER_NAMES.iter().find(|(other, _)| *other == lower).map(|(_, field)| *field);
    known.or_else(|| {
        FIELDS
            .into_iter()
            .map(|field| (distance(&lower, field), field))
            .min()
            .filter(|(d, _)| *d <= 2)
            .map(|(_, field)| field)
    })
}

/// Levenshtein distance, by the two-row method.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.chars().enumerate() {
            let substitute = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[row.len() - 1]
}

/// A record as JSON gives it. `null` counts as absent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordIn {
    text: Option<String>,
    title: Option<String>,
    label: Option<String>,
    kind: Option<String>,
    uri: Option<String>,
    tags: Option<Tags>,
    metadata: Option<Map<String, Value>>,
    entity: Option<String>,
    domain: Option<String>,
    agent: Option<String>,
    run: Option<String>,
    confidence: Option<f64>,
    created_at: Option<Moment>,
    source: Option<SourceIn>,
    classification: Option<String>,
    trust: Option<String>,
    named: Option<Vec<String>>,
}

/// Where a passage was read, as `get --json` prints it; so that what one capsule printed another
/// can take.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceIn {
    path: String,
    #[serde(default)]
    line_start: u32,
    #[serde(default)]
    line_end: u32,
    #[serde(default)]
    content_hash: String,
}

impl RecordIn {
    fn into_record(self) -> Result<NewRecord, Fault> {
        let access = access(self.classification.as_deref(), self.named)?;
        Ok(NewRecord {
            access,
            uri: self.uri.as_deref().map(Uri::parse).transpose()?,
            title: self.title.unwrap_or_default(),
            text: self
                .text
                .ok_or_else(|| Fault::new("invalid_record", "the record has no `text`"))?,
            kind: self.kind.unwrap_or_default(),
            label: self.label.unwrap_or_default(),
            tags: self.tags.unwrap_or_default().0,
            metadata: self.metadata.unwrap_or_default(),
            entity: self.entity.unwrap_or_default(),
            domain: self.domain.unwrap_or_default(),
            agent: self.agent.unwrap_or_default(),
            run: self.run.unwrap_or_default(),
            confidence: self.confidence,
            created_at: self.created_at.map(|moment| moment.0),
            source: self.source.map(SourceIn::into_source),
            trust: self.trust.as_deref().map(trust).transpose()?,
            content: None,
        })
    }
}

/// How far a record is believed, by its JSON.
fn trust(name: &str) -> Result<Trust, Fault> {
    Trust::named(name).ok_or_else(|| {
        let names = Trust::ALL.map(Trust::name).join(", ");
        Fault::new("invalid_record", format!("`trust` is one of {names}"))
    })
}

/// How far a record may spread, by its JSON.
fn access(level: Option<&str>, named: Option<Vec<String>>) -> Result<Option<Access>, Fault> {
    let named = named.unwrap_or_default();
    let Some(name) = level else {
        return if named.is_empty() {
            Ok(None)
        } else {
            Err(Fault::new("invalid_record", "`named` needs a `classification`"))
        };
    };
    let level = Classification::named(name).ok_or_else(|| {
        Fault::new(
            "invalid_record",
            "`classification` is public, internal, confidential or restricted",
        )
    })?;
    Ok(Some(Access { level, named }))
}

impl SourceIn {
    fn into_source(self) -> kapsa_memory::Source {
        kapsa_memory::Source {
            path: self.path,
            line_start: self.line_start,
            line_end: self.line_end,
            content_hash: self.content_hash,
        }
    }
}

/// Tags as an object of strings, or as an array of `name=value` and `name`.
#[derive(Debug, Default)]
struct Tags(BTreeMap<String, String>);

impl<'de> Deserialize<'de> for Tags {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tags, D::Error> {
        deserializer.deserialize_any(TagsVisitor).map(Tags)
    }
}

struct TagsVisitor;

impl<'de> Visitor<'de> for TagsVisitor {
    type Value = BTreeMap<String, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tags as an object of strings or an array of \"name=value\"")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut tags = BTreeMap::new();
        while let Some((name, value)) = map.next_entry()? {
            tags.insert(name, value);
        }
        Ok(tags)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut tags = BTreeMap::new();
        while let Some(text) = seq.next_element::<String>()? {
            let (name, value) = args::tag(&text).map_err(de::Error::custom)?;
            tags.insert(name, value);
        }
        Ok(tags)
    }
}

/// A moment as RFC 3339, or as microseconds since the epoch; a number that looks like seconds or
/// milliseconds is taken as such.
#[derive(Debug)]
struct Moment(Micros);

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Moment, D::Error> {
        deserializer.deserialize_any(MomentVisitor)
    }
}

struct MomentVisitor;

impl Visitor<'_> for MomentVisitor {
    type Value = Moment;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time such as \"2026-11-01T10:00:00Z\", or seconds, milliseconds or microseconds since 1970")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Moment, E> {
        let wrong = || E::invalid_value(de::Unexpected::Str(text), &self);
        let number = text.parse::<i64>().ok().and_then(moment::from_number);
        let number = number.or_else(|| text.parse().ok().and_then(moment::from_fraction));
        let stamp = || text.parse::<Timestamp>().ok().map(Timestamp::as_microsecond);
        number.filter(|at| moment::is_valid(*at)).or_else(stamp).map(Moment).ok_or_else(wrong)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Moment, E> {
        let at = moment::from_number(number).filter(|at| moment::is_valid(*at));
        at.map(Moment).ok_or_else(|| E::invalid_value(de::Unexpected::Signed(number), &self))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Moment, E> {
        let at = moment::from_fraction(number).filter(|at| moment::is_valid(*at));
        at.map(Moment).ok_or_else(|| E::invalid_value(de::Unexpected::Float(number), &self))
    }

    fn visit_u64<E: de::Error>(self, at: u64) -> Result<Moment, E> {
        let signed =
            i64::try_from(at).map_err(|_| E::invalid_value(de::Unexpected::Unsigned(at), &self))?;
        self.visit_i64(signed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(json: &str) -> Fault {
        record(json.as_bytes()).expect_err(json)
    }

    #[test]
    fn every_field_is_read() {
        let json = r#"{"text":"t","title":"T","label":"l","kind":"fact","uri":"note/a","tags":{"a":"b"},"metadata":{"n":{"m":1}},
            "entity":"e","domain":"d","agent":"ag","run":"r","confidence":0.5,"created_at":"1970-01-01T00:00:01Z",
            "source":{"path":"p.md","line_start":2,"line_end":3,"content_hash":"x"}}"#;
        let record = record(json.as_bytes()).expect("valid");
        assert_eq!(record.uri.expect("a URI").short(), "note/a");
        assert_eq!((record.created_at, record.confidence), (Some(1_000_000), Some(0.5)));
        assert_eq!(record.tags["a"], "b");
        assert_eq!(record.metadata["n"]["m"], 1);
        assert_eq!(record.source.map(|s| s.line_end), Some(3));
    }

    #[test]
    fn tags_and_times_have_two_forms_and_null_is_absent() {
        let record =
            record(br#"{"text":"t","tags":["a=b=c","d"],"created_at":1767225600,"title":null}"#)
                .expect("valid");
        assert_eq!(
            record.tags,
            BTreeMap::from([("a".into(), "b=c".into()), ("d".into(), String::new())])
        );
        assert_eq!(record.created_at, Some(1_767_225_600_000_000));
    }

    #[test]
    fn a_mistyped_field_is_named_with_the_likely_one() {
        let fault = fault(r#"{"text":"t","titel":"x"}"#);
        assert_eq!(
            (fault.code, fault.message.as_str()),
            ("unknown_field", "a record has no field `titel`")
        );
        assert!(fault.hint.is_some_and(|hint| hint.contains("`title`")));
        assert_eq!(did_you_mean("content"), Some("text"));
        assert_eq!(did_you_mean("zzzzzz"), None);
    }

    #[test]
    fn what_is_no_record_is_refused_with_its_place() {
        assert_eq!(fault(r#"{"text":"t",}"#).column, 13);
        assert_eq!(fault("{\"text\":\n5}").line, 2);
        for bad in [
            "",
            "[]",
            "5",
            "\"x\"",
            "{}",
            "{\"text\":null}",
            r#"{"text":"a"} x"#,
            r#"{"text":"a"#,
            r#"{"text":"a","text":"b"}"#,
            r#"{"text":"a","tags":{"k":1}}"#,
            r#"{"text":"a","tags":["=x"]}"#,
            r#"{"text":"a","tags":"k"}"#,
            r#"{"text":"a","metadata":[]}"#,
            r#"{"text":"a","created_at":"yesterday"}"#,
            r#"{"text":"a","created_at":1.5}"#,
            r#"{"text":"a","created_at":5}"#,
            r#"{"text":"a","created_at":"5"}"#,
            r#"{"text":"a","created_at":9223372036854775807}"#,
            r#"{"text":"a","uri":"a//b"}"#,
            r#"{"text":"a","confidence":"high"}"#,
            r#"{"text":"\ud800"}"#,
            r#"{"text":"a","metadata":{"x":1e999}}"#,
        ] {
            assert!(!fault(bad).message.is_empty(), "{bad}");
        }
        assert!(record(b"{\"text\":\"\xff\"}").is_err());
    }

    #[test]
    fn depth_has_a_limit_and_strings_do_not_count() {
        let nested = |levels: usize| {
            format!(
                r#"{{"text":"t","metadata":{{"x":{}{}}}}}"#,
                "[".repeat(levels),
                "]".repeat(levels)
            )
        };
        assert!(record(nested(JSON_DEPTH_MAX - 2).as_bytes()).is_ok());
        assert!(fault(&nested(JSON_DEPTH_MAX - 1)).message.contains("deeper than 64"));
        assert!(fault(&nested(1_000_000)).message.contains("deeper than 64"));
        assert!(record(format!(r#"{{"text":"{}\"{{"}}"#, "[{".repeat(500)).as_bytes()).is_ok());
    }
}
