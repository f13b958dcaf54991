//! The rules of `tables/flags.txt`: which of them a folded text answers to.
//!
//! Knows nothing of what a rule means. All keywords of all rules are sought in one pass; a pattern
//! is built, and tried, only near the first keywords of its rule, where the others are there too.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};

use super::FlagKind;
use super::order::is_order;
use crate::tables::rows;

/// What a space in a pattern stands for: what may lie between two words.
const GAP: &str = r#"(?:[ \n,*"'`()_-]{1,4})"#;

/// How far back the words before a match say whether it is an order, in bytes.
const BEFORE_BYTES_MAX: usize = 96;

/// How far before a keyword of its rule's first list a match may begin, in bytes.
const START_BYTES_MAX: usize = 64;

/// How much of what was seen a reason quotes, in characters.
const QUOTE_CHARS_MAX: usize = 56;

/// One rule.
pub(super) struct Rule {
    pub(super) kind: FlagKind,
    /// For tests, which name the rule that a text is an example of.
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests name rules"))]
    pub(super) name: &'static str,
    /// What it finds, for a person.
    pub(super) reason: &'static str,
    /// How many lists of keywords it has: one word of each must be there.
    lists: u32,
    patterns: Vec<Pattern>,
}

struct Pattern {
    source: String,
    /// Whether what it finds counts only as an order, not as a report of one.
    as_order: bool,
    built: OnceLock<Regex>,
}

/// What a rule found.
pub(super) struct Seen<'t> {
    pub(super) rule: &'static Rule,
    text: &'t [u8],
}

impl Seen<'_> {
    /// The reason, with the words that were found.
    pub(super) fn shown(&self) -> String {
        let text = String::from_utf8_lossy(self.text).replace('\n', " ");
        let mut quote: String = text.trim().chars().take(QUOTE_CHARS_MAX).collect();
        if quote.len() < text.trim().len() {
            quote.push('…');
        }
        format!("{}: “{quote}”", self.rule.reason)
    }
}

struct Rules {
    rules: Vec<Rule>,
    keywords: AhoCorasick,
    /// For each keyword, the rules and the lists that it is of.
    uses: Vec<Vec<Use>>,
}

#[derive(Clone, Copy)]
struct Use {
    rule: usize,
    list: u32,
}

static RULES: LazyLock<Rules> = LazyLock::new(|| read(include_str!("../../tables/flags.txt")));

/// What is seen in a folded text: the first rule of each kind that it answers to.
pub(super) fn seen(folded: &str) -> Vec<Seen<'_>> {
    let mut all: Vec<Seen> = Vec::new();
    for Candidate { rule, starts } in candidates(folded) {
        if !all.iter().any(|seen| seen.rule.kind == rule.kind) {
            all.extend(rule.find(folded, &starts).map(|text| Seen { rule, text }));
        }
    }
    all
}

/// The names of all rules, and of those that a folded text answers to.
#[cfg(test)]
pub(super) fn names(folded: Option<&str>) -> Vec<&'static str> {
    match folded {
        None => RULES.rules.iter().map(|rule| rule.name).collect(),
        Some(text) => candidates(text)
            .filter(|Candidate { rule, starts }| rule.find(text, starts).is_some())
            .map(|Candidate { rule, .. }| rule.name)
            .collect(),
    }
}

/// A rule whose keywords are in a text, and where those of its first list begin, ascending.
struct Candidate {
    rule: &'static Rule,
    starts: Vec<usize>,
}

fn candidates(folded: &str) -> impl Iterator<Item = Candidate> {
    let mut lists = vec![0u32; RULES.rules.len()];
    let mut firsts: Vec<(usize, usize)> = Vec::new();
    for found in RULES.keywords.find_overlapping_iter(folded) {
        for place in &RULES.uses[found.pattern().as_usize()] {
            lists[place.rule] |= 1 << place.list;
            if place.list == 0 {
                firsts.push((place.rule, found.start()));
            }
        }
    }
    let rules = RULES.rules.iter().zip(lists).enumerate();
    let complete = rules.filter(|(_, (rule, found))| found.count_ones() == rule.lists);
    complete.map(move |(at, (rule, _))| {
        let its = firsts.iter().filter(|(of, _)| *of == at);
        let mut starts: Vec<usize> = its.map(|(_, start)| *start).collect();
        starts.sort_unstable();
        Candidate { rule, starts }
    })
}

impl Rule {
    fn find<'t>(&self, folded: &'t str, keywords: &[usize]) -> Option<&'t [u8]> {
        let text = folded.as_bytes();
        let mut starts: Vec<usize> = Vec::new();
        for keyword in keywords {
            let tried = starts.last().map_or(0, |last| last + 1);
            let from = keyword.saturating_sub(START_BYTES_MAX).max(tried);
            starts.extend((from..=*keyword).filter(|at| at == keyword || is_start(text, *at)));
        }
        self.patterns.iter().find_map(|pattern| pattern.find(text, &starts))
    }
}

/// Whether a match may begin here: at a word, a sign, a space or a line end.
fn is_start(text: &[u8], at: usize) -> bool {
    let follows_word = at.checked_sub(1).is_some_and(|at| text[at].is_ascii_alphanumeric());
    match text[at] {
        byte if byte.is_ascii_alphanumeric() => !follows_word,
        byte => byte.is_ascii(),
    }
}

impl Pattern {
    fn find<'t>(&self, text: &'t [u8], starts: &[usize]) -> Option<&'t [u8]> {
        let regex = self
            .built
            .get_or_init(|| build(&self.source).expect("a test builds every pattern of the table"));
        starts.iter().find_map(|start| {
            let input = Input::new(text).range(*start..).anchored(Anchored::Yes);
            let found = regex.find(input)?;
            let before = &text[found.start().saturating_sub(BEFORE_BYTES_MAX)..found.start()];
            let counts = !self.as_order || is_order(&String::from_utf8_lossy(before));
            counts.then(|| &text[found.range()])
        })
    }
}

/// A pattern over bytes, whose `^` and `$` are the ends of lines.
pub(super) fn build(source: &str) -> Result<Regex, Box<regex_automata::meta::BuildError>> {
    let config = syntax::Config::new().unicode(false).utf8(false).multi_line(true);
    Regex::builder().syntax(config).build(source).map_err(Box::new)
}

/// Reads the table; its head says what a row means.
fn read(table: &'static str) -> Rules {
    let mut groups: HashMap<&str, String> = HashMap::new();
    let mut rules: Vec<Rule> = Vec::new();
    let mut keywords: Vec<String> = Vec::new();
    let mut uses: Vec<Vec<Use>> = Vec::new();
    for row in rows(table) {
        if let Some((name, group)) = row.strip_prefix('@').and_then(|row| row.split_once(" = ")) {
            let group = spelled(group, &groups);
            groups.entry(name).and_modify(|all| *all = format!("{all}|{group}")).or_insert(group);
        } else if let Some(rule) = row.strip_prefix('[') {
            rules.push(headed(rule));
        } else if let Some(list) = row.strip_prefix("? ") {
            let place = rules.len().saturating_sub(1);
            let rule = rules.last_mut().expect("keywords belong to a rule");
            for keyword in list.split('|').map(|word| word.replace('~', " ").replace('¦', "|")) {
                let known = keywords.iter().position(|known| *known == keyword);
                let at = known.unwrap_or_else(|| {
                    keywords.push(keyword);
                    uses.push(Vec::new());
                    keywords.len() - 1
                });
                uses[at].push(Use { rule: place, list: rule.lists });
            }
            rule.lists += 1;
        } else {
            let as_order = row.starts_with("=!");
            let source = row.trim_start_matches("=!").trim_start_matches('=').trim();
            let source = spelled(source, &groups);
            let pattern = Pattern { source, as_order, built: OnceLock::new() };
            rules.last_mut().expect("a pattern belongs to a rule").patterns.push(pattern);
        }
    }
    let keywords = AhoCorasick::new(&keywords).expect("the keywords fit into an automaton");
    Rules { rules, keywords, uses }
}

/// `kind/name] reason`.
fn headed(row: &'static str) -> Rule {
    let (place, reason) = row.split_once("] ").expect("a rule has a reason");
    let (kind, name) = place.split_once('/').expect("a rule has a kind and a name");
    let kind = FlagKind::named(kind).expect("a rule has a known kind");
    Rule { kind, name, reason, lists: 0, patterns: Vec::new() }
}

/// A pattern with its groups and gaps written out.
fn spelled(pattern: &str, groups: &HashMap<&str, String>) -> String {
    let mut spelled = String::new();
    for (at, part) in pattern.split('~').enumerate() {
        match groups.get(part) {
            Some(group) if at % 2 == 1 => {
                spelled.push_str("(?:");
                spelled.push_str(group);
                spelled.push(')');
            }
            _ => spell_gaps(part, &mut spelled),
        }
    }
    spelled
}

/// A space in a class of characters is itself.
fn spell_gaps(part: &str, spelled: &mut String) {
    let mut in_class = false;
    let mut escaped = false;
    for c in part.chars() {
        match c {
            ' ' if !in_class => spelled.push_str(GAP),
            _ => spelled.push(c),
        }
        if !escaped {
            in_class = (in_class || c == '[') && c != ']';
        }
        escaped = !escaped && c == '\\';
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_builds_and_names_only_groups_that_exist() {
        for rule in &RULES.rules {
            assert!(!rule.patterns.is_empty() && rule.lists > 0, "{}", rule.name);
            for pattern in &rule.patterns {
                assert!(!pattern.source.contains('~'), "{}: {}", rule.name, pattern.source);
                let built = build(&pattern.source);
                assert!(built.is_ok(), "{}: {:?}", rule.name, built.err());
            }
        }
    }
}
