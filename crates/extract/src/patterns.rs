//! Patterns of ASCII over texts of any kind.

use regex_automata::MatchKind;
use regex_automata::meta::{Config, Regex};
use regex_automata::util::syntax;

/// One automaton of patterns that are part of the program.
pub(crate) fn built(patterns: &[&str]) -> Regex {
    Regex::builder()
        // Every pattern that matches counts, not only the first.
        .configure(Config::new().match_kind(MatchKind::All))
        .syntax(syntax::Config::new().unicode(false).utf8(false))
        .build_many(patterns)
        .expect("the patterns are fixed")
}
