//! What does a person or an agent ask for, in a line of text?
//!
//! | written | means |
//! |---|---|
//! | `word` | counts for ranking; common words count only if there is no other |
//! | `"some words"` | this phrase counts for ranking |
//! | `+word`, `+"some words"` | required |
//! | `-word`, `-"some words"` | excluded |
//! | `kind:fact`, `label:"two words"`, `tag:k=v` | only documents with this exact term |
//! | `title:word` | only documents with this word in the title |
//! | `-kind:fact` | only documents without it |
//!
//! Of several `kind`, `agent`, `run`, `domain` or `uri` clauses one must hold, since a document has
//! one of each; of other fields all must. A required or excluded word with several parts
//! (`+getUserName`) stands for the phrase of its parts. Anything else is words: there is no such
//! thing as a syntax error.

use std::collections::HashSet;

use crate::analyser::with_analyser;
use crate::filter::Filter;
use crate::{Error, Result};

/// Longest query in bytes.
pub const QUERY_BYTES_MAX: usize = 64 << 10;
/// Most words that are ranked by; of more, the rarest are taken.
pub const QUERY_TERMS_MAX: usize = 64;
/// Most words of which the rarest are sought; those after them are ignored.
const TERMS_EXAMINED_MAX: usize = 1024;

/// Fields of which a document has one value.
const SINGLE_FIELDS: [&str; 5] = ["kind", "agent", "run", "domain", "uri"];
/// Fields of which a document may have several.
const MULTIPLE_FIELDS: [&str; 3] = ["label", "tag", "entity"];
const TITLE: &str = "title";

/// Words too common to rank by, as they are indexed.
const STOP_WORDS: [&str; 83] = [
    "a", "about", "am", "an", "and", "ani", "are", "as", "at", "be", "been", "but", "by", "can", "could", "d", "did", "do",
    "doe", "don", "for", "from", "had", "has", "have", "he", "her", "him", "his", "how", "i", "if", "in", "into", "is", "it",
    "ll", "m", "me", "my", "no", "not", "of", "on", "or", "our", "re", "s", "she", "should", "so", "some", "t", "than", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "us", "ve", "was", "we", "were", "what",
    "when", "where", "which", "who", "whom", "whose", "whi", "will", "with", "would", "you", "your",
];

/// A parsed query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    /// Ranked by, none needed.
    pub(crate) should: Vec<Clause>,
    /// All needed, and ranked by.
    pub(crate) must: Vec<Clause>,
    /// None allowed.
    pub(crate) must_not: Vec<Clause>,
    /// From the field clauses.
    pub(crate) filter: Filter,
}

/// Words at positions relative to each other, the first at 0; more than one word is a phrase.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Clause {
    pub(crate) words: Vec<(u32, String)>,
}

impl Clause {
    pub(crate) fn word(text: &str) -> Clause {
        Clause { words: vec![(0, text.to_owned())] }
    }

    pub(crate) fn is_phrase(&self) -> bool {
        self.words.len() > 1
    }
}

impl Query {
    /// Reads a query; see the module's table for what can be written.
    ///
    /// # Errors
    /// [`Error::QueryTooLong`].
    pub fn parse(text: &str) -> Result<Query> {
        if text.len() > QUERY_BYTES_MAX {
            return Err(Error::QueryTooLong { bytes: text.len(), max: QUERY_BYTES_MAX });
        }
        let mut builder = Builder::default();
        for item in items(text) {
            builder.add(&item);
        }
        Ok(builder.finish())
    }

    /// The words ranked by, as they are indexed, each once, in the order of the query.
    pub fn terms(&self) -> impl Iterator<Item = &str> {
        let mut seen = HashSet::new();
        let clauses = self.must.iter().chain(&self.should);
        let words = clauses.flat_map(|clause| &clause.words);
        words.map(|(_, word)| word.as_str()).filter(move |word| seen.insert(*word))
    }

    /// The restrictions that the field clauses ask for.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Does it ask for nothing at all?
    pub fn is_empty(&self) -> bool {
        self.is_unranked() && self.must_not.is_empty() && self.filter.is_empty()
    }

    /// Has it no word to rank by?
    pub(crate) fn is_unranked(&self) -> bool {
        self.should.is_empty() && self.must.is_empty()
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Sign {
    None,
    Must,
    MustNot,
}

/// One blank-separated piece of a query.
struct Item<'a> {
    sign: Sign,
    /// The known field before the colon.
    field: Option<&'a str>,
    text: &'a str,
    quoted: bool,
}

fn items(text: &str) -> impl Iterator<Item = Item<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let (item, after) = next_item(rest)?;
        rest = after;
        Some(item)
    })
}

fn next_item(text: &str) -> Option<(Item<'_>, &str)> {
    text.chars().next()?;
    let (sign, body) = strip_sign(text);
    let (field, body) = strip_field(body);
    let (text, quoted, rest) = match body.strip_prefix('"') {
        Some(quote) => {
            let (inside, rest) = quote.split_once('"').unwrap_or((quote, ""));
            (inside, true, rest)
        }
        None => {
            let end = body.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(body.len());
            (&body[..end], false, &body[end..])
        }
    };
    Some((Item { sign, field, text, quoted }, rest))
}

/// A sign counts only right before a word, and only one: `--flag`, `a - b` and `++i` have none.
fn strip_sign(text: &str) -> (Sign, &str) {
    let sign = match text.as_bytes()[0] {
        b'+' => Sign::Must,
        b'-' => Sign::MustNot,
        _ => return (Sign::None, text),
    };
    let body = &text[1..];
    let signs = |c: char| c == '"' || c.is_alphanumeric() || c == '_';
    if body.starts_with(signs) { (sign, body) } else { (Sign::None, text) }
}

/// A known field counts only with a value after its colon.
fn strip_field(text: &str) -> (Option<&str>, &str) {
    let known = |field: &str| field == TITLE || SINGLE_FIELDS.contains(&field) || MULTIPLE_FIELDS.contains(&field);
    match text.split_once(':') {
        Some((field, value)) if known(field) && value.starts_with(|c: char| !c.is_whitespace()) => (Some(field), value),
        _ => (None, text),
    }
}

/// Words at their positions, and the whole words that span several.
struct Words {
    parts: Vec<(u32, String)>,
    wholes: Vec<String>,
}

fn words_of(text: &str) -> Words {
    let mut words = Words { parts: Vec::new(), wholes: Vec::new() };
    with_analyser(|analyser| {
        analyser.analyse(text, &mut |term| {
            if term.whole {
                words.wholes.push(term.text.to_owned());
            } else {
                words.parts.push((term.position, term.text.to_owned()));
            }
        });
    });
    words
}

#[derive(Default)]
struct Builder {
    query: Query,
    stop_words: Vec<Clause>,
    seen: HashSet<(bool, Clause)>,
}

impl Builder {
    fn add(&mut self, item: &Item<'_>) {
        match (item.field, item.sign) {
            (Some(field), sign) => self.add_field(field, item.text, sign == Sign::MustNot),
            (None, Sign::None) if !item.quoted => self.add_words(item.text),
            (None, sign) => self.add_phrase(item.text, sign),
        }
    }

    fn add_words(&mut self, text: &str) {
        let Words { parts, wholes } = words_of(text);
        let parts = parts.into_iter().map(|(_, word)| word);
        for word in wholes.into_iter().chain(parts) {
            let clause = Clause::word(&word);
            if STOP_WORDS.contains(&word.as_str()) {
                self.stop_words.push(clause);
            } else {
                self.add_should(clause);
            }
        }
    }

    fn add_should(&mut self, clause: Clause) {
        if self.query.should.len() < TERMS_EXAMINED_MAX && self.seen.insert((false, clause.clone())) {
            self.query.should.push(clause);
        }
    }

    fn add_phrase(&mut self, text: &str, sign: Sign) {
        let Some(clause) = phrase_of(text) else {
            return;
        };
        match sign {
            Sign::None => self.add_should(clause),
            Sign::Must if self.seen.insert((true, clause.clone())) => self.query.must.push(clause),
            Sign::Must => {}
            Sign::MustNot => self.query.must_not.push(clause),
        }
    }

    fn add_field(&mut self, field: &str, value: &str, negated: bool) {
        if field == TITLE {
            self.add_title(value, negated);
            return;
        }
        let term = format!("{field}:{value}");
        let same_field = |group: &&mut Vec<String>| {
            SINGLE_FIELDS.contains(&field) && group.iter().all(|term| term.split_once(':').is_some_and(|(f, _)| f == field))
        };
        if negated {
            self.query.filter.none.push(term);
        } else if let Some(group) = self.query.filter.all.iter_mut().find(same_field) {
            group.push(term);
        } else {
            self.query.filter.all.push(vec![term]);
        }
    }

    fn add_title(&mut self, value: &str, negated: bool) {
        let terms = words_of(value).parts.into_iter().map(|(_, word)| format!("title:{word}"));
        if negated {
            self.query.filter.none.extend(terms);
        } else {
            self.query.filter.all.extend(terms.map(|term| vec![term]));
        }
    }

    fn finish(mut self) -> Query {
        if self.query.is_unranked() {
            for clause in std::mem::take(&mut self.stop_words) {
                self.add_should(clause);
            }
        }
        // What is required is ranked by already.
        let Query { must, should, .. } = &mut self.query;
        should.retain(|clause| !must.contains(clause));
        self.query
    }
}

fn phrase_of(text: &str) -> Option<Clause> {
    let mut words = words_of(text).parts;
    let first = words.first()?.0;
    for (position, _) in &mut words {
        *position -= first;
    }
    Some(Clause { words })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(clause: &Clause) -> String {
        let words: Vec<&str> = clause.words.iter().map(|(_, word)| word.as_str()).collect();
        if clause.is_phrase() { format!("\"{}\"", words.join(" ")) } else { words.concat() }
    }

    /// Clauses as `word`, `+must`, `-not`, then `{group|group}`, then `!none`.
    fn check(text: &str, expected: &str) {
        let query = Query::parse(text).expect("short query");
        let mut found: Vec<String> = query.should.iter().map(show).collect();
        found.extend(query.must.iter().map(|clause| format!("+{}", show(clause))));
        found.extend(query.must_not.iter().map(|clause| format!("-{}", show(clause))));
        found.extend(query.filter.all.iter().map(|group| format!("{{{}}}", group.join("|"))));
        found.extend(query.filter.none.iter().map(|term| format!("!{term}")));
        assert_eq!(found.join(" "), expected, "{text}");
        assert_eq!(query.is_empty(), expected.is_empty(), "{text}");
    }

    #[test]
    fn words_and_phrases() {
        check("", "");
        check("  \t ", "");
        check("quick Foxes quick", "quick fox");
        check("\"quick brown foxes\" run", "\"quick brown fox\" run");
        check("+quick -fox", "+quick -fox");
        check("+\"quick fox\" -\"slow dog\"", "+\"quick fox\" -\"slow dog\"");
        check("quick +quick", "+quick");
        check("say\"quick fox", "say \"quick fox\"");
        check("\"", "");
        check("\"\" x", "x");
        check("-\"", "");
        check("a - b + c", "b c");
        check("--release ++i -+x", "releas x");
        check("-", "");
        check("+", "");
    }

    #[test]
    fn stop_words() {
        for word in STOP_WORDS {
            let parts = words_of(word).parts;
            assert_eq!(parts, [(0, word.to_owned())], "in its indexed form");
        }
        check("what is the memory of an agent", "memori agent");
        check("to be or not to be", "to be or not");
        check("+the who", "+the");
        check("\"the who\" is", "\"the who\"");
        check("who -band", "who -band");
    }

    #[test]
    fn identifiers() {
        check("getUserName", "getusernam get user name");
        check("+getUserName", "+\"get user name\"");
        check("-src/main.rs", "-\"src main rs\"");
        check("\"src/main.rs\"", "\"src main rs\"");
        check("東京都", "東京 京都");
    }

    #[test]
    fn fields() {
        check("kind:fact memory", "memori {kind:fact}");
        check("kind:fact kind:event", "{kind:fact|kind:event}");
        check("tag:a tag:k=v", "{tag:a} {tag:k=v}");
        check("label:\"two words\" -kind:fact", "{label:two words} !kind:fact");
        check("+agent:Smith", "{agent:Smith}");
        check("title:\"Running dogs\"", "{title:run} {title:dog}");
        check("-title:dogs", "!title:dog");
        check("http://x foo:bar", "http x foo bar");
        check("kind: fact", "kind fact");
        check("uri:\"kapsa://a b", "{uri:kapsa://a b}");
    }

    #[test]
    fn limits() {
        let long = "x".repeat(QUERY_BYTES_MAX + 1);
        assert!(matches!(Query::parse(&long), Err(Error::QueryTooLong { .. })));
        assert!(Query::parse(&long[1..]).is_ok());
        let many: Vec<String> = (0..5000).map(|n| format!("w{n}x")).collect();
        let query = Query::parse(&many.join(" ")[..QUERY_BYTES_MAX.min(30_000)]).expect("fits");
        assert_eq!(query.terms().count(), TERMS_EXAMINED_MAX);
    }
}
