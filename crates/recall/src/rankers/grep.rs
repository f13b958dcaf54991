//! An agent without an index: documents with the most query words, newest first among equals.

use std::cmp::Reverse;

use super::{Ranker, best};
use crate::collection::{Result, Scope};
use crate::words::{is_common, words};

/// Looks for words as parts of the text, as `grep -i` does.
#[derive(Default)]
pub(super) struct Grep {
    /// Texts in lower case.
    texts: Vec<String>,
}

impl Ranker for Grep {
    fn name(&self) -> String {
        "grep".to_string()
    }

    fn prepare(&mut self, scope: &Scope) -> Result<u64> {
        self.texts = scope.documents.iter().map(|document| document.text.to_lowercase()).collect();
        Ok(0)
    }

    fn rank(&mut self, scope: &Scope, query: &str, k: usize) -> Result<Vec<usize>> {
        let mut words = words(query);
        words.retain(|word| !is_common(word));
        words.sort();
        words.dedup();
        let count =
            |text: &String| words.iter().filter(|word| text.contains(word.as_str())).count();
        let counts = self.texts.iter().map(count).enumerate();
        let scored =
            counts.filter(|&(_, count)| count > 0).map(|(at, count)| (at, count as f64)).collect();
        let age = |document: usize| Reverse((scope.documents[document].time, document));
        Ok(best(scored, k, |a, b| age(a).cmp(&age(b))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collection::tests::doc;

    #[test]
    fn most_words_first_then_newest() {
        let texts = ["the red boat", "a boat", "Boats", "nothing", "the"];
        let documents =
            texts.iter().enumerate().map(|(at, text)| doc(&at.to_string(), "", text)).collect();
        let mut scope = Scope { name: String::new(), documents, questions: Vec::new() };
        scope.documents[1].time = Some(9);
        let mut grep = Grep::default();
        grep.prepare(&scope).expect("it has all it needs");
        assert_eq!(grep.rank(&scope, "Where is the red boat?", 9).expect("as before"), [0, 1, 2]);
        assert_eq!(grep.rank(&scope, "Where is the red boat?", 2).expect("as before"), [0, 1]);
    }
}
