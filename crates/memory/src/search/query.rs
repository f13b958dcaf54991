//! What a query is made of: the words of one text that are looked for in others.

pub use kapsa_index::{QUERY_BYTES_MAX, Query, TOKEN_BYTES_MAX, fold_case, terms_in};

use crate::records::request::Clock;
use crate::records::tokens::first_bytes;

/// Whether a query speaks of a time, so that it matters how whoever asks reckons days.
#[must_use]
pub fn speaks_of_time(query: &str, clock: &Clock) -> bool {
    !kapsa_index::periods(query, clock.now, &clock.calendar).is_empty()
}

/// Words that [`plain_query`] takes of a description, besides the title.
const DESCRIPTION_WORDS_MAX: usize = 48;

/// The query that a task is: its title and the first words of its description, without anything
/// that a search would take for more than words. A whole description would find what is like its
/// phrases, brackets have broken searches elsewhere, and a plus or a colon would demand instead of
/// ask.
#[must_use]
pub fn plain_query(title: &str, description: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '\'');
    let mut words: Vec<&str> = Vec::new();
    for (text, most) in [(title, usize::MAX), (description, DESCRIPTION_WORDS_MAX)] {
        let end = words.len().saturating_add(most);
        for word in text.split(|c| !is_part(c)).map(|word| word.trim_matches(['-', '.', '/', '\'']))
        {
            if !word.is_empty() && words.len() < end && !words.contains(&word) {
                words.push(word);
            }
        }
    }
    first_bytes(&words.join(" "), QUERY_BYTES_MAX).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_words_and_nothing_that_demands() {
        let query = plain_query;
        assert_eq!(query("Fix (login) [retry] {x}", ""), "Fix login retry x");
        assert_eq!(
            query("+must -not \"quoted\" kind:fact std::fs", ""),
            "must not quoted kind fact std fs"
        );
        assert_eq!(
            query("Add add-user", "add-user to src/app.rs, don't break it."),
            "Add add-user to src/app.rs don't break it"
        );
        let long = (0..1000).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ");
        assert_eq!(query("title", &long).split(' ').count(), 49);
        assert_eq!(query("", "()[]{}"), "");
    }
}
