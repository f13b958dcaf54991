//! Patterns of ASCII over texts of any kind.

use regex_automata::meta::{Config, Regex};
use regex_automata::util::syntax;
use regex_automata::{Input, MatchKind, PatternSet};

/// One automaton of patterns that are part of the program.
pub(crate) fn built(patterns: &[&str]) -> Regex {
    Regex::builder()
        // Every pattern that matches counts, not only the first.
        .configure(Config::new().match_kind(MatchKind::All))
        .syntax(syntax::Config::new().unicode(false).utf8(false))
        .build_many(patterns)
        .expect("the patterns are fixed")
}

/// Patterns with a gap (`.*`) in one automaton: each of them may be under way at any place, and
/// together they have more states than are worth keeping.
const GAPS_AT_ONCE: usize = 4;
/// Patterns without one.
const OTHERS_AT_ONCE: usize = 24;

/// Many patterns, of which each that matches is told.
pub(crate) struct Patterns {
    /// Automata, and the places of their patterns.
    groups: Vec<(Vec<usize>, Regex)>,
}

impl Patterns {
    /// Patterns that are part of the program.
    pub(crate) fn new(patterns: &[&str]) -> Patterns {
        let has_gap = |at: &usize| [".*", ".+", "]+"].iter().any(|gap| patterns[*at].contains(gap));
        let (gaps, others): (Vec<usize>, Vec<usize>) = (0..patterns.len()).partition(has_gap);
        // An automaton whose patterns all stand at the start ends where none of them goes on.
        let is_at_start = |at: &usize| patterns[*at].starts_with('^');
        let (first, anywhere): (Vec<usize>, Vec<usize>) = gaps.into_iter().partition(is_at_start);
        let gaps = first.chunks(GAPS_AT_ONCE).chain(anywhere.chunks(GAPS_AT_ONCE));
        let groups = gaps.chain(others.chunks(OTHERS_AT_ONCE));
        let group = |places: &[usize]| {
            let texts: Vec<&str> = places.iter().map(|at| patterns[*at]).collect();
            (places.to_vec(), built(&texts))
        };
        Patterns { groups: groups.map(group).collect() }
    }

    /// The places of those that match, in their order.
    pub(crate) fn matching(&self, text: &str) -> Vec<usize> {
        let mut all = Vec::new();
        let input = Input::new(text);
        for (places, built) in &self.groups {
            let mut set = PatternSet::new(built.pattern_len());
            built.which_overlapping_matches(&input, &mut set);
            all.extend(set.iter().map(|pattern| places[pattern.as_usize()]));
        }
        all.sort_unstable();
        all
    }
}
