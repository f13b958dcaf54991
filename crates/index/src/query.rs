//! What a person or an agent asks for, in a line of text.
//!
//! | written | means |
//! |---|---|
//! | `word` | counts for ranking; common words count only if there is no other |
//! | `"some words"`, `+"some words"` | required: these words in this order, in title or text |
//! | `+word` | required |
//! | `-word`, `-"some words"` | excluded |
//! | `kind:fact`, `label:"two words"`, `tag:k=v` | only documents with this exact term |
//! | `title:word` | only documents with this word in the title |
//! | `-kind:fact` | only documents without it |
//!
//! Of several `kind`, `agent`, `run`, `domain` or `uri` clauses one must hold, since a document
//! has one of each; of other fields all must. A required or excluded word with several parts
//! (`+getUserName`) stands for the phrase of its parts. A quote that is never closed is ignored,
//! with its sign. Anything else is words: there is no such thing as a syntax error.
//!
//! Words that only count for ranking are also looked for in other spellings: `e-mail` as `email`,
//! `πόλη` as `ΠΟΛΗ`, `ёж` as `еж`.
//!
//! The index knows which words a document has, not where: of a required phrase it requires the
//! words, each ranked by as a required word, of an excluded phrase nothing. The rest is a matter
//! of [`Query::phrases_match`].

use std::collections::HashSet;

use crate::analyser::{Role, is_hash, is_unspaced, with_analyser};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::phrase::{self, Phrase};
use crate::spelling::{lone_character, neighbours, spellings};
use crate::steps;

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
pub(crate) const STOP_WORDS: [&str; 83] = [
    "a", "about", "am", "an", "and", "ani", "are", "as", "at", "be", "been", "but", "by", "can",
    "could", "d", "did", "do", "doe", "don", "for", "from", "had", "has", "have", "he", "her",
    "him", "his", "how", "i", "if", "in", "into", "is", "it", "ll", "m", "me", "my", "no", "not",
    "of", "on", "or", "our", "re", "s", "she", "should", "so", "some", "t", "than", "that", "the",
    "their", "them", "then", "there", "these", "they", "this", "those", "to", "us", "ve", "was",
    "we", "were", "what", "when", "where", "which", "who", "whom", "whose", "whi", "will", "with",
    "would", "you", "your",
];

/// A parsed query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    /// Words ranked by, none needed.
    pub(crate) should: Vec<String>,
    /// Words all needed, and ranked by; among them those of `phrases`.
    pub(crate) must: Vec<String>,
    /// Words of which none is allowed.
    pub(crate) must_not: Vec<String>,
    /// All needed.
    phrases: Vec<Phrase>,
    /// None allowed.
    phrases_not: Vec<Phrase>,
    /// From the field clauses.
    pub(crate) filter: Filter,
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
        let mut builder = Builder { unspaced: text.contains(is_unspaced), ..Builder::default() };
        for item in items(text) {
            steps::note(item.text.len());
            builder.add(&item);
        }
        Ok(builder.finish())
    }

    /// The words ranked by, as they are indexed, each once, in the order of the query, other
    /// spellings last.
    pub fn terms(&self) -> impl Iterator<Item = &str> {
        self.must.iter().chain(&self.should).map(String::as_str)
    }

    /// The same query, ranked by fewer words: of those that are not required the `count` that
    /// tell most, none of which tells less than half of what the first does. `rarities` are
    /// those of [`Query::terms`].
    #[must_use]
    pub fn telling(&self, rarities: &[f32], count: usize) -> Query {
        let told = |at: usize| rarities.get(self.must.len() + at).copied().unwrap_or_default();
        let mut order: Vec<usize> = (0..self.should.len()).collect();
        order.sort_by(|&a, &b| told(b).total_cmp(&told(a)));
        let least = order.first().map_or(0.0, |&first| told(first) / 2.0);
        order.retain(|&at| told(at) >= least);
        order.truncate(count);
        order.sort_unstable();
        debug_assert!(
            order.len() <= self.should.len().min(count),
            "a query is never ranked by more words"
        );
        Query {
            should: order.into_iter().map(|at| self.should[at].clone()).collect(),
            ..self.clone()
        }
    }

    /// Whether it asks for phrases, required or excluded. They are not the index's to check.
    pub fn has_phrases(&self) -> bool {
        !self.phrases.is_empty() || !self.phrases_not.is_empty()
    }

    /// Whether a record with this title and text has every required phrase, in one of the two,
    /// and no excluded one.
    ///
    /// To be asked in the `accept` of a [search](crate::Searcher::search), which returns
    /// documents that have the words of the required phrases, in whatever order.
    pub fn phrases_match(&self, title: &str, text: &str) -> bool {
        phrase::matches(&self.phrases, &self.phrases_not, &[title, text])
    }

    /// Whether it requires or excludes words or phrases. Then likeness alone is no answer.
    pub fn is_strict(&self) -> bool {
        !self.must.is_empty() || !self.must_not.is_empty() || self.has_phrases()
    }

    /// The restrictions that the field clauses ask for.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Whether it asks for nothing at all.
    pub fn is_empty(&self) -> bool {
        self.is_unranked()
            && self.must_not.is_empty()
            && !self.has_phrases()
            && self.filter.is_empty()
    }

    /// Whether it has no word to rank by.
    pub(crate) fn is_unranked(&self) -> bool {
        self.should.is_empty() && self.must.is_empty()
    }
}

/// What is asked about a piece of a query.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Sign {
    None,
    Must,
    MustNot,
}

/// One blank-separated piece of a query.
pub(crate) struct Item<'a> {
    pub(crate) sign: Sign,
    /// The known field before the colon.
    pub(crate) field: Option<&'a str>,
    pub(crate) text: &'a str,
    quoted: bool,
}

pub(crate) fn items(text: &str) -> impl Iterator<Item = Item<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let (item, after) = next_item(rest)?;
        assert!(after.len() < rest.len(), "a piece of a query has bytes");
        rest = after;
        Some(item)
    })
}

fn next_item(text: &str) -> Option<(Item<'_>, &str)> {
    text.chars().next()?;
    let (sign, body) = strip_sign(text);
    let (field, body) = strip_field(body);
    let Some(quote) = body.strip_prefix('"') else {
        let end = body.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(body.len());
        return Some((Item { sign, field, text: &body[..end], quoted: false }, &body[end..]));
    };
    match quote.split_once('"') {
        Some((text, rest)) => Some((Item { sign, field, text, quoted: true }, rest)),
        // The value of a field goes on to the end; no phrase does.
        None if field.is_some() => Some((Item { sign, field, text: quote, quoted: true }, "")),
        None => Some((Item { sign: Sign::None, field, text: "", quoted: false }, quote)),
    }
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
    let known = [TITLE].into_iter().chain(SINGLE_FIELDS).chain(MULTIPLE_FIELDS);
    let value = |field: &str| text.strip_prefix(field)?.strip_prefix(':');
    known
        .filter_map(|field| Some((Some(field), value(field)?)))
        .find(|(_, value)| value.starts_with(|c: char| !c.is_whitespace()))
        .unwrap_or((None, text))
}

/// Words at their positions, the whole words that span several, and what is inside of words that
/// are too long.
#[derive(Default)]
struct Words {
    parts: Vec<(u32, String)>,
    wholes: Vec<String>,
    inside: Vec<String>,
}

fn words_of(text: &str) -> Words {
    let mut words = Words::default();
    with_analyser(|analyser| {
        analyser.analyse(text, &mut |term| {
            let word = term.text.to_owned();
            match term.role {
                Role::Part => words.parts.push((term.position, word)),
                Role::Whole => words.wholes.push(word),
                Role::Inside => words.inside.push(word),
            }
        });
    });
    words
}

#[derive(Default)]
struct Builder {
    query: Query,
    stop_words: Vec<String>,
    /// Other spellings of words to rank by.
    spellings: Vec<String>,
    /// Parts inside of words that are too long.
    inside: Vec<String>,
    /// Characters that stand alone here, and in the index only in pairs.
    alone: Vec<char>,
    /// Whether something of the query is in a script without spaces.
    unspaced: bool,
    seen: HashSet<String>,
    seen_must: HashSet<String>,
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
        let Words { parts, wholes, inside } = words_of(text);
        let parts = parts.into_iter().map(|(_, word)| word);
        if self.has_room() {
            self.spellings.extend(spellings(text, self.unspaced));
            self.inside.extend(inside);
        }
        // The `年` of `2024年` is a unit, not what is asked for.
        let counted = text.contains(char::is_numeric);
        for word in wholes.into_iter().chain(parts) {
            self.alone.extend(lone_character(&word).filter(|_| !counted));
            if STOP_WORDS.contains(&word.as_str()) {
                self.stop_words.push(word);
            } else {
                self.add_should(word);
            }
        }
    }

    fn add_should(&mut self, word: String) {
        if self.query.should.len() < TERMS_EXAMINED_MAX && self.seen.insert(word.clone()) {
            self.query.should.push(word);
        }
    }

    /// Whether there can be more words to rank by without leaving out others.
    fn has_room(&self) -> bool {
        self.query.should.len() < QUERY_TERMS_MAX
    }

    fn add_must(&mut self, word: &str) {
        if self.seen_must.insert(word.to_owned()) {
            self.query.must.push(word.to_owned());
        }
    }

    /// A phrase, or, of one word, that word. Characters that stand alone are indexed in pairs,
    /// and older segments lack the hashes of long words, so that only the text tells.
    fn add_phrase(&mut self, text: &str, sign: Sign) {
        let parts = words_of(text).parts;
        let excluded = sign == Sign::MustNot;
        let mut alone = false;
        for (_, word) in &parts {
            let character = lone_character(word);
            alone |= character.is_some();
            match character {
                _ if excluded => {}
                Some(character) => {
                    self.alone.push(character);
                    self.add_should(word.clone());
                }
                None if is_hash(word) && parts.len() > 1 => self.add_should(word.clone()),
                None => self.add_must(word),
            }
        }
        match parts.as_slice() {
            [] => {}
            [(_, word)] if excluded && !alone => self.query.must_not.push(word.clone()),
            [_] if !alone => {}
            _ if excluded => self.query.phrases_not.push(Phrase::new(parts)),
            _ => self.query.phrases.push(Phrase::new(parts)),
        }
    }

    fn add_field(&mut self, field: &str, value: &str, negated: bool) {
        if field == TITLE {
            self.add_title(value, negated);
            return;
        }
        let term = format!("{field}:{value}");
        let same_field = |group: &&mut Vec<String>| {
            SINGLE_FIELDS.contains(&field)
                && group.iter().all(|term| term.split_once(':').is_some_and(|(f, _)| f == field))
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

    /// Adds what is inside of long words, and other spellings, as far as no word of the query
    /// itself has to make way for them.
    fn add_spellings(&mut self) {
        let inside = std::mem::take(&mut self.inside).into_iter();
        for word in inside.filter(|word| !STOP_WORDS.contains(&word.as_str())) {
            if self.has_room() {
                self.add_should(word);
            }
        }
        let pairs = std::mem::take(&mut self.alone).into_iter().flat_map(neighbours);
        for text in std::mem::take(&mut self.spellings).into_iter().chain(pairs) {
            if !self.has_room() {
                break;
            }
            let Words { parts, wholes, .. } = words_of(&text);
            let words = if wholes.is_empty() {
                parts.into_iter().map(|(_, word)| word).collect()
            } else {
                wholes
            };
            for word in words.into_iter().filter(|word| !STOP_WORDS.contains(&word.as_str())) {
                self.add_should(word);
            }
        }
    }

    fn finish(mut self) -> Query {
        if self.query.is_unranked() {
            for word in std::mem::take(&mut self.stop_words) {
                self.add_should(word);
            }
        }
        self.add_spellings();
        // What is required is ranked by already.
        self.query.should.retain(|word| !self.seen_must.contains(word));
        assert!(self.query.should.len() <= TERMS_EXAMINED_MAX, "no more words are examined");
        debug_assert!(
            self.query.must.iter().all(|word| !self.query.should.contains(word)),
            "no word is ranked by twice"
        );
        self.query
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words and phrases as `word`, `+must`, `+"phrase"`, `-not`, `-"phrase"`, then
    /// `{group|group}`, then `!none`.
    fn check(text: &str, expected: &str) {
        let query = Query::parse(text).expect("short query");
        let mut found = query.should.clone();
        found.extend(query.must.iter().map(|word| format!("+{word}")));
        found.extend(query.phrases.iter().map(|phrase| format!("+{phrase}")));
        found.extend(query.must_not.iter().map(|word| format!("-{word}")));
        found.extend(query.phrases_not.iter().map(|phrase| format!("-{phrase}")));
        found.extend(query.filter.all.iter().map(|group| format!("{{{}}}", group.join("|"))));
        found.extend(query.filter.none.iter().map(|term| format!("!{term}")));
        assert_eq!(found.join(" "), expected, "{text}");
        assert_eq!(query.is_empty(), expected.is_empty(), "{text}");
        assert_eq!(query.has_phrases(), expected.contains('"'), "{text}");
    }

    #[test]
    fn few_words_tell_most() {
        let query = Query::parse("+must common rare rarer half -not").expect("short query");
        assert_eq!(query.terms().collect::<Vec<_>>(), ["must", "common", "rare", "rarer", "half"]);
        let told = |count: usize| query.telling(&[9.0, 1.0, 4.0, 5.0, 2.5], count);
        let words = |query: &Query| query.terms().map(str::to_string).collect::<Vec<_>>();
        assert_eq!(
            words(&told(9)),
            ["must", "rare", "rarer", "half"],
            "what tells less than half as much as the first is left out"
        );
        assert_eq!(words(&told(2)), ["must", "rare", "rarer"], "in the order of the query");
        assert_eq!(words(&told(1)), ["must", "rarer"]);
        assert_eq!(told(9).must_not, query.must_not);
        assert_eq!(query.telling(&[], 9), query, "words of which nothing is known are all alike");
        assert_eq!(Query::default().telling(&[], 3), Query::default());
    }

    #[test]
    fn words_and_phrases() {
        check("", "");
        check("  \t ", "");
        check("quick Foxes quick", "quick fox");
        check("\"quick brown foxes\" run", "run +quick +brown +fox +\"quick brown fox\"");
        check("\"Foxes\" run -\"dogs\"", "run +fox -dog");
        check("quick \"the quick fox\" +fox", "+the +quick +fox +\"the quick fox\"");
        check("+quick -fox", "+quick -fox");
        check("+\"quick fox\" -\"slow dog\"", "+quick +fox +\"quick fox\" -\"slow dog\"");
        check("-\"slow dog\"", "-\"slow dog\"");
        check("quick +quick", "+quick");
        check("say\"quick fox", "say quick fox");
        check("+\"quick fox", "quick fox");
        check("-\"slow +dog", "slow +dog");
        check("\"quick fox\" \"slow dog", "slow dog +quick +fox +\"quick fox\"");
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
        check("\"the who\" is", "+the +who +\"the who\"");
        check("who -band", "who -band");
    }

    #[test]
    fn identifiers() {
        check("getUserName", "getusernam get user name");
        check("+getUserName", "+get +user +name +\"get user name\"");
        check("-src/main.rs", "-\"src main rs\"");
        check("\"src/main.rs\"", "+src +main +rs +\"src main rs\"");
        check("\"東京都\"", "+東京 +京都 +\"東京 京都\"");
        check("東京都", "東京 京都");
    }

    #[test]
    fn other_spellings() {
        check("e-mail", "e mail email");
        check("\"e-mail\" GPU", "gpu gpus +e +mail +\"e mail\"");
        check("to-do", "to do todo");
        check("Müller -Müller", "muller mueller -muller");
        check("2024年", "2024 年 ２０２４");
        check("-猫", "-\"猫\"");
        let query = Query::parse("\"猫\"").expect("short");
        assert!(
            query.must.is_empty()
                && query.should.starts_with(&["猫".to_owned(), "猫は".to_owned()])
        );
        let many: Vec<String> = (0..QUERY_TERMS_MAX).map(|n| format!("w{n}x")).collect();
        let query = Query::parse(&format!("{} e-mail 猫", many.join("_ "))).expect("short");
        assert!(!query.should.contains(&"email".to_owned()), "no word makes way");
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
