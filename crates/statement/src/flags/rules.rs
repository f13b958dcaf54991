//! The rules of `tables/flags.txt`: which of them a folded text answers to.
//!
//! Knows nothing of what a rule means. A pattern is spelled out, built and tried only near the
//! first keywords of its rule, where the others are there too. A process often looks at one short
//! note, so keywords are sought one by one: an automaton of them all takes longer to build than
//! they take to seek.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use memchr::memmem;
use regex_automata::meta::{self, Regex};
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
    /// Lists of keywords, as the table writes them: one word of each must be there.
    keywords: Vec<&'static str>,
    patterns: Vec<Pattern>,
}

struct Pattern {
    /// As the table writes it.
    source: &'static str,
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
    /// The alternatives of each group, as the table writes them.
    groups: HashMap<&'static str, Vec<&'static str>>,
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
    RULES.rules.iter().filter_map(|rule| rule.candidate(folded.as_bytes()))
}

/// The words of a list of keywords, as the table writes them.
fn words(list: &'static str) -> impl Iterator<Item = Cow<'static, str>> {
    list.split('|').map(|word| match word.contains(['~', '¦']) {
        true => Cow::Owned(word.replace('~', " ").replace('¦', "|")),
        false => Cow::Borrowed(word),
    })
}

impl Rule {
    /// Where the words of its first list begin, if a word of each list is in the text.
    fn candidate(&'static self, folded: &[u8]) -> Option<Candidate> {
        let (first, others) = self.keywords.split_first()?;
        let mut starts: Vec<usize> = words(first)
            .flat_map(|word| memmem::find_iter(folded, word.as_bytes()).collect::<Vec<_>>())
            .collect();
        let is_there = |word: Cow<str>| memmem::find(folded, word.as_bytes()).is_some();
        if starts.is_empty() || !others.iter().all(|list| words(list).any(is_there)) {
            return None;
        }
        starts.sort_unstable();
        Some(Candidate { rule: self, starts })
    }

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
    /// With its groups and gaps written out.
    fn spelled(&self) -> String {
        spelled(self.source, &RULES.groups)
    }

    fn find<'t>(&self, text: &'t [u8], starts: &[usize]) -> Option<&'t [u8]> {
        let regex = self.built.get_or_init(|| {
            build(&self.spelled()).expect("a test builds every pattern of the table")
        });
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
fn build(source: &str) -> Result<Regex, Box<regex_automata::meta::BuildError>> {
    let config = syntax::Config::new().unicode(false).utf8(false).multi_line(true);
    // What is tried on a few bytes near its keyword is slower to build as an automaton than to run.
    let meta = meta::Config::new().hybrid(false);
    Regex::builder().configure(meta).syntax(config).build(source).map_err(Box::new)
}

/// Reads the table; its head says what a row means.
fn read(table: &'static str) -> Rules {
    let mut groups: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut rules: Vec<Rule> = Vec::new();
    for row in rows(table) {
        if let Some((name, group)) = row.strip_prefix('@').and_then(|row| row.split_once(" = ")) {
            groups.entry(name).or_default().push(group);
        } else if let Some(rule) = row.strip_prefix('[') {
            rules.push(headed(rule));
        } else if let Some(list) = row.strip_prefix("? ") {
            rules.last_mut().expect("keywords belong to a rule").keywords.push(list);
        } else {
            let as_order = row.starts_with("=!");
            let source = row.trim_start_matches("=!").trim_start_matches('=').trim();
            let pattern = Pattern { source, as_order, built: OnceLock::new() };
            rules.last_mut().expect("a pattern belongs to a rule").patterns.push(pattern);
        }
    }
    Rules { rules, groups }
}

/// `kind/name] reason`.
fn headed(row: &'static str) -> Rule {
    let (place, reason) = row.split_once("] ").expect("a rule has a reason");
    let (kind, name) = place.split_once('/').expect("a rule has a kind and a name");
    let kind = FlagKind::named(kind).expect("a rule has a known kind");
    Rule { kind, name, reason, keywords: Vec::new(), patterns: Vec::new() }
}

/// A pattern with its groups and gaps written out; a group names none that names it.
fn spelled(pattern: &str, groups: &HashMap<&str, Vec<&str>>) -> String {
    let mut text = String::new();
    for (at, part) in pattern.split('~').enumerate() {
        match groups.get(part) {
            Some(rows) if at % 2 == 1 => {
                let rows: Vec<String> = rows.iter().map(|row| spelled(row, groups)).collect();
                text.push_str("(?:");
                text.push_str(&rows.join("|"));
                text.push(')');
            }
            _ => spell_gaps(part, &mut text),
        }
    }
    text
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
            assert!(!rule.patterns.is_empty() && !rule.keywords.is_empty(), "{}", rule.name);
            for pattern in &rule.patterns {
                let source = pattern.spelled();
                assert!(!source.contains('~'), "{}: {source}", rule.name);
                let built = build(&source);
                assert!(built.is_ok(), "{}: {:?}", rule.name, built.err());
            }
        }
    }
}
