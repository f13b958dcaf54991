//! A ranker: anything that puts documents in order for a question.

mod bm25;
mod grep;
mod kapsa;

pub(crate) use kapsa::Kapsa;
use kapsa_memory::SearchMode;

use crate::collection::{Result, Scope};

/// Documents that are asked for, so that one group is among them.
const DOCUMENTS_PER_GROUP: usize = 10;

/// Puts the documents of one scope at a time in order.
pub(crate) trait Ranker {
    /// Name, as `--ranker` takes it.
    fn name(&self) -> String;

    /// Name of the model that it uses; empty when it uses none.
    fn model(&self) -> String {
        String::new()
    }

    /// Makes `scope` ready to be searched, in place of the scope before; returns the size of what
    /// was made, in bytes.
    ///
    /// # Errors
    /// Whatever keeps the ranker from it; the run ends.
    fn prepare(&mut self, scope: &Scope) -> Result<u64>;

    /// At most `k` documents of the scope prepared last, best first, as indices into
    /// `scope.documents`.
    ///
    /// # Errors
    /// Whatever keeps the ranker from it; the run ends.
    fn rank(&mut self, scope: &Scope, query: &str, k: usize) -> Result<Vec<usize>>;

    /// Documents of at least `groups` groups, as far as it goes: where only the groups count, a
    /// ranker that can returns one document of each.
    ///
    /// # Errors
    /// As [`Ranker::rank`].
    fn rank_groups(&mut self, scope: &Scope, query: &str, groups: usize) -> Result<Vec<usize>> {
        self.rank(scope, query, DOCUMENTS_PER_GROUP * groups)
    }
}

/// Where the model file of a re-ranker is, which `cargo xtask model --reranker` makes: the rankers
/// that use it are there only with it.
const RERANKER: &str = "KAPSA_RERANKER";

/// Where the model file of another embedder is, which `cargo xtask model --embedder` makes: the
/// rankers that use it are there only with it.
pub(crate) const EMBEDDER: &str = "KAPSA_EMBEDDER";

/// Every ranker, baselines first.
pub(crate) fn all() -> Vec<Box<dyn Ranker>> {
    let mut all: Vec<Box<dyn Ranker>> = vec![
        Box::new(grep::Grep::default()),
        Box::new(bm25::Bm25::default()),
        Box::new(kapsa::Kapsa::new("kapsa lex", SearchMode::Words)),
        Box::new(kapsa::Kapsa::new("kapsa sem", SearchMode::Meaning)),
        Box::new(kapsa::Kapsa::new("kapsa", SearchMode::Auto)),
    ];
    if let Some(file) = std::env::var_os(RERANKER) {
        for (name, mode) in
            [("kapsa lex rerank", SearchMode::Words), ("kapsa rerank", SearchMode::Auto)]
        {
            all.push(Box::new(kapsa::Kapsa::reranked(name, mode, file.clone().into())));
        }
    }
    if let Some(file) = std::env::var_os(EMBEDDER) {
        for (name, mode) in
            [("kapsa sem embedder", SearchMode::Meaning), ("kapsa embedder", SearchMode::Auto)]
        {
            all.push(Box::new(kapsa::Kapsa::embedded(name, mode, file.clone().into())));
        }
    }
    all
}

/// The best `k` of scored documents, best first; of equals the one that `later` puts first.
fn best(
    mut scored: Vec<(usize, f64)>,
    k: usize,
    later: impl Fn(usize, usize) -> std::cmp::Ordering,
) -> Vec<usize> {
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| later(a.0, b.0)));
    scored.into_iter().take(k).map(|(document, _)| document).collect()
}
