//! The part of a memory that a node needs. Knows a node's state, and nothing of how a memory is
//! kept or searched.

use std::fmt;
use std::sync::Arc;

use super::text::{FromState, MissingKeys, State, Text};
pub use kapsa_agents::{CONTEXT_TOKENS_DEFAULT, Scope};

/// A [`Scope`] before the state is known: each part is a value or comes from the state.
///
/// ```
/// use kapsa_roles::{MemoryScope, Text, text_at};
///
/// let scope = MemoryScope::new()
///     .domain("revenue")
///     .entity(Text::with(|state| text_at(state, "company")))
///     .query(Text::template("{lead}"))
///     .tags(["qualification"]);
/// ```
#[derive(Clone, Debug)]
pub struct MemoryScope {
    entity: Text,
    domain: Text,
    tags: Tags,
    query: Text,
    token_budget: usize,
}

#[derive(Clone)]
enum Tags {
    Each(Vec<Text>),
    Function(FromState<Vec<String>>),
}

impl Default for MemoryScope {
    fn default() -> MemoryScope {
        MemoryScope::new()
    }
}

impl MemoryScope {
    /// Anything, in [`CONTEXT_TOKENS_DEFAULT`] tokens at most.
    #[must_use]
    pub fn new() -> MemoryScope {
        MemoryScope {
            entity: Text::default(),
            domain: Text::default(),
            tags: Tags::Each(Vec::new()),
            query: Text::default(),
            token_budget: CONTEXT_TOKENS_DEFAULT,
        }
    }

    /// About this entity. Default: any.
    #[must_use]
    pub fn entity(mut self, entity: impl Into<Text>) -> MemoryScope {
        self.entity = entity.into();
        self
    }

    /// Of this field of knowledge. Default: any.
    #[must_use]
    pub fn domain(mut self, domain: impl Into<Text>) -> MemoryScope {
        self.domain = domain.into();
        self
    }

    /// With one of these tags; empty ones are left out. Default: any.
    #[must_use]
    pub fn tags<T: Into<Text>>(mut self, tags: impl IntoIterator<Item = T>) -> MemoryScope {
        self.tags = Tags::Each(tags.into_iter().map(Into::into).collect());
        self
    }

    /// With one of the tags that a function makes of the state; empty ones are left out.
    #[must_use]
    pub fn tags_with(
        mut self,
        tags: impl Fn(&State) -> Vec<String> + Send + Sync + 'static,
    ) -> MemoryScope {
        self.tags = Tags::Function(Arc::new(tags));
        self
    }

    /// What has words of this text comes first. Default: nothing is asked.
    #[must_use]
    pub fn query(mut self, query: impl Into<Text>) -> MemoryScope {
        self.query = query.into();
        self
    }

    /// At most so many tokens of it. Default: [`CONTEXT_TOKENS_DEFAULT`].
    #[must_use]
    pub fn token_budget(mut self, tokens: usize) -> MemoryScope {
        self.token_budget = tokens;
        self
    }

    pub(super) fn budget(&self) -> usize {
        self.token_budget
    }

    /// The scope for this state.
    ///
    /// # Errors
    /// When a template asks for keys that the state does not have: an empty part would ask for
    /// anything, which nobody meant.
    pub fn resolve(&self, state: &State) -> Result<Scope, MissingKeys> {
        let (scope, missing) = self.fill(state);
        MissingKeys::check(missing).map(|()| scope)
    }

    /// The scope, with nothing in place of what is missing, and the missing keys.
    pub(super) fn fill(&self, state: &State) -> (Scope, Vec<String>) {
        let mut missing = Vec::new();
        let mut text = |text: &Text| {
            let (text, lacks) = text.fill(state);
            missing.extend(lacks);
            text
        };
        let (entity, domain) = (text(&self.entity), text(&self.domain));
        let mut tags = match &self.tags {
            Tags::Each(tags) => tags.iter().map(&mut text).collect(),
            Tags::Function(function) => function(state),
        };
        tags.retain(|tag| !tag.is_empty());
        let query = text(&self.query);
        (Scope { entity, domain, tags, query, sessions_about: None }, missing)
    }
}

impl fmt::Debug for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tags::Each(tags) => tags.fmt(f),
            Tags::Function(_) => f.write_str("Function"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::super::text::text_at;
    use super::*;

    fn state() -> State {
        json!({"company": "acme", "kinds": ["a", "b"], "none": null}).as_object().unwrap().clone()
    }

    #[test]
    fn parts_are_values_functions_or_templates() {
        let scope = MemoryScope::new()
            .domain("revenue")
            .entity(Text::with(|state| text_at(state, "company")))
            .query(Text::with(|state| text_at(state, "nothing")))
            .tags([Text::fixed("x"), Text::template("of-{company}"), Text::template("{none}")]);
        let expected = Scope {
            entity: "acme".into(),
            domain: "revenue".into(),
            tags: vec!["x".into(), "of-acme".into()],
            query: String::new(),
            sessions_about: None,
        };
        assert_eq!(scope.resolve(&state()), Ok(expected));
        assert_eq!(MemoryScope::default().resolve(&state()), Ok(Scope::default()));
    }

    #[test]
    fn tags_come_from_a_function() {
        let of = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let scope = MemoryScope::new()
            .tags_with(move |state| state["kinds"].as_array().unwrap().iter().map(of).collect());
        assert_eq!(scope.resolve(&state()).unwrap().tags, ["a", "b"]);
    }

    #[test]
    fn a_missing_key_never_widens_a_scope() {
        let scope = MemoryScope::new()
            .entity(Text::template("{customer}"))
            .tags([Text::template("{kind}")]);
        assert_eq!(scope.resolve(&state()).unwrap_err().keys, ["customer", "kind"]);
        assert_eq!(scope.fill(&state()).0, Scope::default());
    }
}
