//! Names of entities in the form in which they are compared.

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::tables::rows;

/// Longest legal form that has no initial of its own in a short name: `Ltd`, but not `Company`.
const ABBREVIATED_BYTES_MAX: usize = 4;

struct Words {
    /// What is left out at the end of a name: forms of companies.
    legal: Vec<&'static str>,
    /// What is left out at its beginning: titles of people, articles.
    titles: Vec<&'static str>,
    /// Short forms, and what stands for them.
    short: HashMap<&'static str, &'static str>,
}

fn words() -> &'static Words {
    static WORDS: LazyLock<Words> = LazyLock::new(|| {
        let mut words = Words { legal: Vec::new(), titles: Vec::new(), short: HashMap::new() };
        for row in rows(include_str!("../tables/entities.txt")) {
            let mut parts = row.split_whitespace();
            match parts.next() {
                Some("legal") => words.legal.extend(parts),
                Some("title") => words.titles.extend(parts),
                Some(canonical) => words.short.extend(parts.map(|short| (short, canonical))),
                None => {}
            }
        }
        words
    });
    &WORDS
}

/// The name of an entity as it is compared: without case, punctuation, accents, legal forms and
/// titles, short forms written out, its words in one order. `Acme Inc.` and `acme` have the same;
/// a name of which nothing is left has itself.
#[must_use]
pub fn slug(name: &str) -> String {
    let words = words();
    let written_out: BTreeSet<String> = own_parts(name, usize::MAX)
        .into_iter()
        .map(|part| words.short.get(part.as_str()).map_or(part, |full| (*full).to_string()))
        .collect();
    if written_out.is_empty() {
        return name.trim().to_lowercase();
    }
    written_out.into_iter().collect::<Vec<_>>().join("-")
}

/// The parts of a name without titles and legal forms of at most so many bytes; at least one is
/// left.
fn own_parts(name: &str, legal_bytes_max: usize) -> Vec<String> {
    let words = words();
    let is_legal =
        |part: &String| part.len() <= legal_bytes_max && words.legal.contains(&part.as_str());
    let mut parts = parts(name);
    while parts.len() > 1 && parts.last().is_some_and(is_legal) {
        parts.pop();
    }
    while parts.len() > 1 && words.titles.contains(&parts[0].as_str()) {
        parts.remove(0);
    }
    parts
}

/// The first letters of a name of several words: what it may be called for short.
#[must_use]
pub fn initials(name: &str) -> Option<String> {
    let parts = own_parts(name, ABBREVIATED_BYTES_MAX);
    let small = ["of", "the", "and", "for", "der", "die", "das", "und", "de", "la", "du", "des"];
    let letters: String = parts
        .iter()
        .filter(|part| !small.contains(&part.as_str()))
        .filter_map(|part| part.chars().next())
        .collect();
    (letters.chars().count() > 1 && parts.len() > 1).then_some(letters)
}

/// Whether a name is a short one that may stand for the first letters of another: `IBM`.
#[must_use]
pub fn is_numeronym(name: &str) -> bool {
    let name = name.trim();
    (2..=6).contains(&name.chars().count())
        && name.chars().all(char::is_alphanumeric)
        && name.chars().any(char::is_alphabetic)
}

/// The words of a name, folded.
fn parts(name: &str) -> Vec<String> {
    let umlauts = name
        .replace("'s ", " ")
        .to_lowercase()
        .replace('ä', "ae")
        .replace('ö', "oe")
        .replace('ü', "ue")
        .replace('ß', "ss")
        .replace('ø', "o")
        .replace('ł', "l");
    let plain: String = umlauts.nfkd().filter(|c| !is_combining_mark(*c)).collect();
    plain
        .replace(['.', '\''], if plain.contains(". ") || plain.ends_with('.') { "" } else { " " })
        .split(|c: char| !c.is_alphanumeric())
        .filter(|part| !part.is_empty())
        .map(str::to_string)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_entity_have_one_slug() {
        for (a, b) in [
            ("Acme", "ACME Inc."),
            ("Bäcker & Söhne GmbH", "baecker soehne"),
            ("staging-db", "Staging Database"),
            ("Prof. Lena Ortiz", "lena ortiz"),
            ("mail_gateway.prod", "production mail gateway"),
            ("São Tomé", "sao tome"),
            ("GitHub", "github"),
        ] {
            assert_eq!(slug(a), slug(b), "{a} {b}");
        }
        for (a, b) in [("Delta Air", "Delta Rail"), ("Jan Olsen", "Jan Olson"), ("db-1", "db-2")] {
            assert_ne!(slug(a), slug(b), "{a} {b}");
        }
        assert_eq!(slug("?!"), "?!");
        for name in ["National Tram Company", "The National Tram Company Ltd."] {
            assert_eq!(initials(name).as_deref(), Some("ntc"), "{name}");
        }
    }
}
