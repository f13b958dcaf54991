//! The models that make the vector of a query, each opened and asked once.

use std::sync::OnceLock;

use kapsa_model::{EmbedError, Embedder, Model, Purpose};

use crate::app::AnyReader;
use crate::error::{CliError, Result};
use crate::models;

/// The models that one query is put to, in however many capsules: each is opened once and asked
/// once, and one that failed is left alone, since a service that does not answer is waited for
/// long.
#[derive(Default)]
pub(crate) struct Asked(Vec<(Model, Result<Question>)>);

impl Asked {
    pub(super) fn question(&mut self, model: Model, reader: &AnyReader) -> Result<&Question> {
        let known = self.0.iter().position(|(known, _)| *known == model);
        let at = known.unwrap_or(self.0.len());
        if known.is_none() {
            let in_force = reader.model().map_err(CliError::from);
            let embedder = in_force.and_then(|model| models::for_capsule(model.as_ref()));
            self.0.push((
                model,
                embedder.map(|embedder| Question { embedder, answer: OnceLock::new() }),
            ));
        }
        self.0[at].1.as_ref().map_err(Clone::clone)
    }
}

/// A model that is only ever asked for the vector of one query.
pub(super) struct Question {
    embedder: Box<dyn Embedder>,
    answer: OnceLock<Result<Vec<Vec<f32>>, EmbedError>>,
}

impl Embedder for Question {
    fn model(&self) -> &Model {
        self.embedder.model()
    }

    fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let answer = self.answer.get_or_init(|| self.embedder.embed(texts, purpose));
        answer.as_ref().cloned().map_err(|error| EmbedError {
            message: error.message.clone(),
            hint: error.hint.clone(),
        })
    }
}
