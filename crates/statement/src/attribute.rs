//! Which attribute of an entity a statement is about, as far as common phrases show, and whether an
//! entity has one value of it or many. The table `attributes.txt` lists them.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::tables::{rows, stem};
use super::token::{Token, tokens};

/// Words that a gap in a phrase may stand for.
const GAP_WORDS_MAX: usize = 4;
/// Nouns that end like a plural, or are one, and name a single value.
const SINGLE: [&str; 22] = [
    "terms",
    "hours",
    "headquarters",
    "status",
    "address",
    "news",
    "analytics",
    "business",
    "sales",
    "series",
    "basis",
    "access",
    "process",
    "canvas",
    "bus",
    "days",
    "settings",
    "means",
    "gps",
    "class",
    "tls",
    "dns",
];

/// Participles that name a single value.
const DONE_ONCE: [&str; 6] = ["founded", "located", "started", "created", "married", "speed"];

/// A common attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AttributeId(u16);

struct Attribute {
    name: &'static str,
    many: bool,
    always: bool,
}

struct AttributePhrase {
    attribute: AttributeId,
    /// Stems; none is a gap.
    parts: Vec<Option<String>>,
}

struct AttributeTable {
    all: Vec<Attribute>,
    by_first: HashMap<String, Vec<AttributePhrase>>,
}

fn table() -> &'static AttributeTable {
    static TABLE: LazyLock<AttributeTable> = LazyLock::new(|| {
        let mut table = AttributeTable { all: Vec::new(), by_first: HashMap::new() };
        rows(include_str!("../tables/attributes.txt")).for_each(|row| table.add(row));
        table
    });
    &TABLE
}

impl AttributeTable {
    fn add(&mut self, row: &'static str) {
        let mut words = row.splitn(3, ' ');
        let (Some(name), Some(many), Some(phrases)) = (words.next(), words.next(), words.next())
        else {
            return;
        };
        let attribute = AttributeId(self.all.len() as u16);
        self.all.push(Attribute { name, many: many != "one", always: many == "always" });
        for phrase in phrases.split('|') {
            let parts: Vec<Option<String>> = phrase
                .split_whitespace()
                .flat_map(|word| match word {
                    "*" => vec![None],
                    _ => tokens(word).into_iter().map(|word| Some(stem(&word.folded))).collect(),
                })
                .collect();
            if let Some(Some(first)) = parts.first() {
                self.by_first
                    .entry(first.clone())
                    .or_default()
                    .push(AttributePhrase { attribute, parts });
            }
        }
    }
}

/// An attribute that a text speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) attribute: AttributeId,
    /// The stem of the one word that says so; none for several.
    word: Option<String>,
}

impl Said {
    /// Whether only a word of these says so.
    pub(crate) fn is_one_of(&self, words: &HashSet<String>) -> bool {
        self.word.as_ref().is_some_and(|word| words.contains(word))
    }
}

/// The attributes whose phrases a text has.
pub(crate) fn attributes(words: &[Token]) -> Vec<Said> {
    let table = table();
    let stems: Vec<String> = words.iter().map(|word| stem(&word.folded)).collect();
    let mut found: Vec<Said> = Vec::new();
    for at in 0..stems.len() {
        for phrase in table.by_first.get(&stems[at]).into_iter().flatten() {
            if matches(&phrase.parts, &stems[at..]) {
                let word = stems[at].clone();
                let word = (phrase.parts.len() == 1).then_some(word);
                found.push(Said { attribute: phrase.attribute, word });
            }
        }
    }
    found
}

fn matches(parts: &[Option<String>], stems: &[String]) -> bool {
    let (mut at, mut gap) = (0, 0);
    for part in parts {
        let Some(part) = part else {
            gap = GAP_WORDS_MAX;
            continue;
        };
        let found = (at..=at + gap).find(|&place| stems.get(place) == Some(part));
        let Some(place) = found else { return false };
        (at, gap) = (place + 1, 0);
    }
    true
}

/// Whether an entity can have many values of an attribute; none when the table does not know it.
#[must_use]
pub fn is_many(attribute: AttributeId) -> Option<bool> {
    table().all.get(usize::from(attribute.0)).map(|attribute| attribute.many)
}

impl AttributeId {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        table().all.get(usize::from(self.0)).map_or("", |attribute| attribute.name)
    }
}

/// Whether the name of an attribute, even in the singular, is that of one of which an entity can
/// have many values.
#[must_use]
pub fn names_many(name: &str) -> bool {
    let said = attributes(&tokens(name));
    let is_always = |said: &Said| {
        table().all.get(usize::from(said.attribute.0)).is_some_and(|attribute| attribute.always)
    };
    !said.is_empty() && said.iter().all(is_always) || says_what_is_done(name)
}

/// Whether a name says what is done with several things: `supported format`.
fn says_what_is_done(name: &str) -> bool {
    let words = tokens(name);
    let Some(first) = words.first().filter(|first| first.folded.ends_with("ed")) else {
        return false;
    };
    let said = attributes(std::slice::from_ref(first));
    words.len() > 1
        && !said.is_empty()
        && said.iter().all(|said| is_many(said.attribute) == Some(true))
}

/// Whether the name of an attribute is a plural, or says what was done to several things
/// (`visited`), so that an entity has many values of it.
#[must_use]
pub fn is_plural(name: &str) -> bool {
    let lower = name.to_lowercase();
    let last = lower.split(|c: char| !c.is_alphanumeric()).rfind(|word| !word.is_empty());
    let Some(last) = last else { return false };
    let is_irregular = ["children", "people", "men", "women", "media", "criteria"].contains(&last);
    let ends = last.ends_with('s') && !["ss", "us", "is"].iter().any(|end| last.ends_with(end));
    let is_done = last.len() > 5 && last.ends_with("ed") && !DONE_ONCE.contains(&last);
    is_irregular || is_done || last.len() > 3 && ends && !SINGLE.contains(&last)
}
