//! Texts that depend on a state: templates and functions; nothing here knows what the text is for.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

/// What the nodes of an operator read and write: a JSON object.
pub type State = Map<String, Value>;

/// A function of a state.
pub(super) type FromState<T> = Arc<dyn Fn(&State) -> T + Send + Sync>;

/// The value under `key`, as text: a text as it is, `null` and a missing one as none, anything else
/// as JSON.
#[must_use]
pub fn text_at(state: &State, key: &str) -> Option<String> {
    state.get(key).filter(|value| !value.is_null()).map(text_of)
}

/// A value as text: a text as it is, `null` as nothing, anything else as JSON.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Keys that a template asks for and the state does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the state has no {}", quoted(keys))]
pub struct MissingKeys {
    /// Each once, in the order in which they were asked for.
    pub keys: Vec<String>,
}

impl MissingKeys {
    /// Nothing is wrong when no keys are missing.
    pub(super) fn check(keys: Vec<String>) -> Result<(), MissingKeys> {
        let mut each = Vec::with_capacity(keys.len());
        for key in keys {
            if !each.contains(&key) {
                each.push(key);
            }
        }
        if each.is_empty() { Ok(()) } else { Err(MissingKeys { keys: each }) }
    }
}

/// The names, each in backticks.
pub(super) fn quoted(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// A text with places for values of a state.
///
/// `{key}` stands for the value under `key`, `{lead.name}` for the value of `name` in the object
/// under `lead`. A name is made of letters, digits, `_`, `-` and `.`, and begins with a letter or
/// `_`; any other brace is itself, so that JSON can be written as it is. `{{key}}` is `{key}` and
/// no place. A value is put in as it is: braces in it mean nothing.
///
/// ```
/// use kapsa_roles::Template;
/// use serde_json::json;
///
/// let state = json!({"lead": {"name": "Acme"}});
/// let template = Template::new(r#"Score {lead.name} as {"score": 0}."#);
/// let text = template.render(state.as_object().unwrap())?;
/// assert_eq!(text, r#"Score Acme as {"score": 0}."#);
/// # Ok::<(), kapsa_roles::MissingKeys>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Words(String),
    Key(String),
}

impl Template {
    /// Reads a template; any text is one.
    #[must_use]
    pub fn new(text: &str) -> Template {
        let (mut pieces, mut words, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find('{') {
            words.push_str(&rest[..at]);
            let here = &rest[at..];
            let length = if let Some(name) = name_between(here, "{{", "}}") {
                words.push_str(&here[1..name.len() + 3]);
                name.len() + 4
            } else if let Some(name) = name_between(here, "{", "}") {
                pieces.push(Piece::Words(std::mem::take(&mut words)));
                pieces.push(Piece::Key(name.to_owned()));
                name.len() + 2
            } else {
                words.push('{');
                1
            };
            rest = &here[length..];
        }
        words.push_str(rest);
        pieces.push(Piece::Words(words));
        Template { pieces }
    }

    /// The text for this state.
    ///
    /// # Errors
    /// When the state lacks keys: all of them are named. A key whose value is `null` is there, and
    /// is nothing.
    pub fn render(&self, state: &State) -> Result<String, MissingKeys> {
        let (text, missing) = self.fill(state);
        MissingKeys::check(missing).map(|()| text)
    }

    /// The text, with nothing in place of what is missing, and the missing keys.
    fn fill(&self, state: &State) -> (String, Vec<String>) {
        let (mut text, mut missing) = (String::new(), Vec::new());
        for piece in &self.pieces {
            match piece {
                Piece::Words(words) => text.push_str(words),
                Piece::Key(key) => match look_up(state, key) {
                    Some(value) => text.push_str(&text_of(value)),
                    None => missing.push(key.clone()),
                },
            }
        }
        (text, missing)
    }
}

/// The name at the start of a text, between these braces.
fn name_between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let inside = text.strip_prefix(open)?;
    let end = inside.find(|c: char| !(c.is_alphanumeric() || "_-.".contains(c)))?;
    let (name, rest) = inside.split_at(end);
    let begins = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    (begins && rest.starts_with(close)).then_some(name)
}

/// The value under this key; or else, where it has points, the value at the end of that path
/// through objects.
fn look_up<'a>(state: &'a State, key: &str) -> Option<&'a Value> {
    if let Some(value) = state.get(key) {
        return Some(value);
    }
    let mut names = key.split('.');
    let first = state.get(names.next()?)?;
    names.try_fold(first, |value, name| value.get(name))
}

/// A text that may depend on the state: fixed, from a template, or from a function.
#[derive(Clone)]
pub struct Text(Kind);

#[derive(Clone)]
enum Kind {
    Fixed(String),
    Template(Template),
    Function(FromState<Option<String>>),
}

impl Text {
    /// This text whatever the state; braces are braces.
    #[must_use]
    pub fn fixed(text: impl Into<String>) -> Text {
        Text(Kind::Fixed(text.into()))
    }

    /// A [`Template`].
    #[must_use]
    pub fn template(text: &str) -> Text {
        Text(Kind::Template(Template::new(text)))
    }

    /// What a function makes of the state: a `String`, or an `Option<String>` whose none is the
    /// empty text.
    #[must_use]
    pub fn with<T: Into<Option<String>>>(
        function: impl Fn(&State) -> T + Send + Sync + 'static,
    ) -> Text {
        Text(Kind::Function(Arc::new(move |state| function(state).into())))
    }

    /// The text for this state.
    ///
    /// # Errors
    /// As [`Template::render`].
    pub fn render(&self, state: &State) -> Result<String, MissingKeys> {
        let (text, missing) = self.fill(state);
        MissingKeys::check(missing).map(|()| text)
    }

    /// The text, with nothing in place of what is missing, and the missing keys.
    pub(super) fn fill(&self, state: &State) -> (String, Vec<String>) {
        match &self.0 {
            Kind::Fixed(text) => (text.clone(), Vec::new()),
            Kind::Template(template) => template.fill(state),
            Kind::Function(function) => (function(state).unwrap_or_default(), Vec::new()),
        }
    }
}

impl Default for Text {
    fn default() -> Text {
        Text::fixed("")
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text::fixed(text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text::fixed(text)
    }
}

impl From<Template> for Text {
    fn from(template: Template) -> Text {
        Text(Kind::Template(template))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Fixed(text) => f.debug_tuple("Fixed").field(text).finish(),
            Kind::Template(template) => template.fmt(f),
            Kind::Function(_) => f.write_str("Function"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn state() -> State {
        let state = json!({
            "lead": "Acme", "n": 3, "none": null, "list": [1, "a"], "deep": {"name": {"first": "Ada"}}, "a.b": "flat", "a": {"b": "deep"},
            "braces": "{lead} {{lead}}", "žluť": "yellow",
        });
        state.as_object().unwrap().clone()
    }

    fn check(template: &str, expected: &str) {
        assert_eq!(Template::new(template).render(&state()).as_deref(), Ok(expected), "{template}");
    }

    #[test]
    fn places_are_filled_once() {
        check("Score {lead}, {lead}!", "Score Acme, Acme!");
        check("{n} {none} {list}", "3  [1,\"a\"]");
        check("{deep.name.first} {deep.name}", "Ada {\"first\":\"Ada\"}");
        check("{a.b}", "flat");
        check("{braces}", "{lead} {{lead}}");
        check("{žluť}", "yellow");
        check("", "");
    }

    #[test]
    fn other_braces_are_themselves() {
        for text in [
            "{",
            "}",
            "{}",
            "{{}}",
            "{ lead }",
            "{\"a\": {\"b\": 1}}",
            "{1}",
            "{lead",
            "{lead ",
            "fn f() {\n}",
            "{-a}",
            "{é",
        ] {
            check(text, text);
        }
        check("{{lead}} {{{lead}}}", "{lead} {{lead}}");
        check("{\"a\": {lead}}", "{\"a\": Acme}");
        check("{{lead} {lead}}", "{Acme Acme}");
    }

    #[test]
    fn missing_keys_are_all_named() {
        let error = Template::new("{x} {lead} {deep.y} {x} {lead.z}").render(&state()).unwrap_err();
        assert_eq!(error.keys, ["x", "deep.y", "lead.z"]);
        assert_eq!(error.to_string(), "the state has no `x`, `deep.y`, `lead.z`");
    }

    #[test]
    fn texts_are_fixed_or_come_from_the_state() {
        let of = |text: Text| text.render(&state());
        assert_eq!(of(Text::from("{lead}")).as_deref(), Ok("{lead}"));
        assert_eq!(of(Text::template("{lead}")).as_deref(), Ok("Acme"));
        assert_eq!(of(Text::with(|state| text_at(state, "lead"))).as_deref(), Ok("Acme"));
        assert_eq!(of(Text::with(|state| text_at(state, "none"))).as_deref(), Ok(""));
        assert_eq!(of(Text::with(|state| format!("{}!", state.len()))).as_deref(), Ok("9!"));
        assert!(of(Text::template("{gone}")).is_err());
        assert_eq!(
            Text::template("a {gone} b").fill(&state()),
            ("a  b".to_owned(), vec!["gone".to_owned()])
        );
    }
}
