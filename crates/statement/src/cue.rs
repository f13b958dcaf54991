//! Cues: words that say what a statement is to earlier ones. The table `cues.txt` lists them.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::tables::rows;
use super::token::{Token, is_han, tokens};

/// Words that a gap in a phrase may stand for.
const GAP_WORDS_MAX: usize = 6;

/// What words say of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cue {
    /// Something is no longer as it was.
    Change,
    /// Something becomes another, now or later.
    Becoming,
    /// What was said was wrong.
    Correction,
    /// Something has ended.
    Retraction,
    /// It comes to what holds already.
    Addition,
    /// It is to come.
    Future,
    /// It depends on something.
    Condition,
    /// It is not certain.
    Doubt,
    /// It holds for a short time.
    Passing,
    /// It denies something.
    Negation,
}

impl Cue {
    const ALL: [(&'static str, Cue); 10] = [
        ("change", Cue::Change),
        ("becoming", Cue::Becoming),
        ("correction", Cue::Correction),
        ("retraction", Cue::Retraction),
        ("addition", Cue::Addition),
        ("future", Cue::Future),
        ("condition", Cue::Condition),
        ("doubt", Cue::Doubt),
        ("passing", Cue::Passing),
        ("negation", Cue::Negation),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Cue::ALL.iter().find(|(_, cue)| *cue == self).map_or("", |(name, _)| name)
    }
}

/// The cues of a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cues(Vec<Cue>);

impl Cues {
    /// Whether this one is among them.
    #[must_use]
    pub fn has(&self, cue: Cue) -> bool {
        self.0.contains(&cue)
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|cue| cue.name())
    }

    fn add(&mut self, cue: Cue) {
        if !self.has(cue) {
            self.0.push(cue);
        }
    }
}

/// A part of a phrase.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Word(String),
    Comma,
    Gap,
    End,
}

struct Phrase {
    cue: Cue,
    parts: Vec<Part>,
    /// Words after which it does not count.
    not_after: Vec<String>,
}

struct Table {
    by_first: HashMap<String, Vec<Phrase>>,
    with_comma: Vec<Phrase>,
    /// Phrases of scripts without spaces, looked for anywhere.
    anywhere: Vec<(Cue, String)>,
}

fn table() -> &'static Table {
    static TABLE: LazyLock<Table> = LazyLock::new(|| {
        let mut table =
            Table { by_first: HashMap::new(), with_comma: Vec::new(), anywhere: Vec::new() };
        let mut cue = Cue::Change;
        for row in rows(include_str!("../tables/cues.txt")) {
            if let Some(name) = row.strip_prefix('[').and_then(|row| row.strip_suffix(']')) {
                let named = Cue::ALL.iter().find(|(its, _)| *its == name);
                cue = named.map_or(cue, |(_, cue)| *cue);
                continue;
            }
            row.split('|').map(str::trim).filter(|p| !p.is_empty()).for_each(|p| table.add(cue, p));
        }
        table
    });
    &TABLE
}

impl Table {
    fn add(&mut self, cue: Cue, phrase: &str) {
        if phrase.chars().any(|c| is_han(c) || ('ぁ'..='ゟ').contains(&c) || is_hangul(c)) {
            self.anywhere.push((cue, phrase.to_string()));
            return;
        }
        let (phrase, excluded) = phrase.split_once('!').unwrap_or((phrase, ""));
        let not_after = excluded.split_whitespace().map(str::to_string).collect();
        let mut parts = Vec::new();
        for word in phrase.split_whitespace() {
            match word {
                "*" => parts.push(Part::Gap),
                "," => parts.push(Part::Comma),
                "$" => parts.push(Part::End),
                // What a text has only as a part of a word: `n't`, `n'`.
                _ if word.starts_with("n'") && word.len() <= "n't".len() => {
                    parts.push(Part::Word(word.to_string()));
                }
                _ => parts.extend(tokens(word).into_iter().map(|token| Part::Word(token.folded))),
            }
        }
        match parts.first() {
            Some(Part::Word(first)) => {
                self.by_first.entry(first.clone()).or_default().push(Phrase {
                    cue,
                    parts,
                    not_after,
                });
            }
            _ => self.with_comma.push(Phrase { cue, parts, not_after }),
        }
    }
}

fn is_hangul(c: char) -> bool {
    ('\u{ac00}'..='\u{d7af}').contains(&c)
}

/// The cues of a text, and which of its words belong to one that is not a negation.
pub(crate) fn cues(text: &str, words: &[Token]) -> (Cues, Vec<bool>) {
    let table = table();
    let mut found = Cues::default();
    let mut taken = vec![false; words.len()];
    for at in 0..words.len() {
        let here = table.by_first.get(&words[at].folded).into_iter().flatten();
        for phrase in here.chain(table.with_comma.iter()) {
            let Some(places) = places(&phrase.parts, words, at) else { continue };
            let before = at.checked_sub(1).map(|at| &words[at].folded);
            if before.is_some_and(|before| phrase.not_after.contains(before)) {
                continue;
            }
            if phrase.cue == Cue::Negation && words[at].after_comma {
                // `24, not 12`: it denies what was said, not what is.
                continue;
            }
            found.add(phrase.cue);
            if phrase.cue == Cue::Becoming {
                found.add(Cue::Change);
            }
            if phrase.cue != Cue::Negation {
                places.into_iter().for_each(|place| taken[place] = true);
            }
        }
    }
    for (cue, phrase) in &table.anywhere {
        if text.contains(phrase.as_str()) {
            found.add(*cue);
            for (word, taken) in words.iter().zip(&mut taken) {
                *taken |= *cue != Cue::Negation && phrase.contains(&word.folded);
            }
        }
    }
    (found, taken)
}

/// Where the words of a phrase stand that begins at `at`.
fn places(parts: &[Part], words: &[Token], at: usize) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    let mut next = at;
    let mut gap = 0;
    for part in parts {
        match part {
            Part::Gap => gap = GAP_WORDS_MAX,
            Part::Comma => {
                if !words.get(next)?.after_comma {
                    return None;
                }
            }
            Part::End => {
                let is_end = words.get(next).is_none() || words[next - 1].before_comma;
                if !is_end {
                    return None;
                }
            }
            Part::Word(word) => {
                let place = (next..=next + gap)
                    .find(|&place| words.get(place).is_some_and(|token| token.folded == *word))?;
                found.push(place);
                (next, gap) = (place + 1, 0);
            }
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Cues {
        cues(text, &tokens(text)).0
    }

    #[test]
    fn cues_are_seen_in_several_languages() {
        for (text, cue) in [
            ("The lamp is now green", Cue::Change),
            ("Correction: the lamp is green", Cue::Correction),
            ("The lamp does not burn any more", Cue::Retraction),
            ("Die Lampe brennt nicht mehr", Cue::Retraction),
            ("La lampe n'est plus verte", Cue::Retraction),
            ("La lámpara ya no está", Cue::Retraction),
            ("She paints too.", Cue::Addition),
            ("The lamp will be green", Cue::Future),
            ("If it rains, the lamp is off", Cue::Condition),
            ("Perhaps the lamp is green", Cue::Doubt),
            ("The lamp isn't green", Cue::Negation),
            ("工場は移転しました", Cue::Change),
        ] {
            assert!(of(text).has(cue), "{text}: {:?}", of(text));
        }
        assert!(!of("It is too bright").has(Cue::Addition));
        assert!(!of("It weighs 7 kg, not 8").has(Cue::Negation));
    }
}
