//! Checks whether a record has the phrases of a query.
//!
//! Positions would be half of the index, and phrases are rare: they are looked for in the text of
//! the few documents that have their words and score well enough.

use std::collections::HashMap;
use std::fmt;

use crate::analyser::{Progress, Role, Term, is_unspaced, with_analyser};
use crate::spelling::lone_character;

/// Words at positions relative to each other, ascending from 0: at least two, or one character of a
/// script without spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Phrase {
    words: Vec<(u32, String)>,
}

impl Phrase {
    /// Of words at ascending positions in a text.
    pub(crate) fn new(mut words: Vec<(u32, String)>) -> Phrase {
        assert!(!words.is_empty(), "a phrase has words");
        debug_assert!(
            words.is_sorted_by_key(|(position, _)| *position),
            "in the order of the text"
        );
        let first = words.first().map_or(0, |(position, _)| *position);
        words.iter_mut().for_each(|(position, _)| *position -= first);
        Phrase { words }
    }
}

impl fmt::Display for Phrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.words.iter().map(|(_, word)| word.as_str()).collect();
        write!(f, "\"{}\"", words.join(" "))
    }
}

/// Whether each phrase of `required` is in one of `texts`, and none of `forbidden` in any.
pub(crate) fn matches(required: &[Phrase], forbidden: &[Phrase], texts: &[&str]) -> bool {
    let mut finder = Finder::new(required, forbidden);
    texts.iter().for_each(|text| finder.read(text));
    finder.missing == 0 && !finder.refused
}

/// Looks for phrases in one text after the other.
struct Finder<'a> {
    /// Number of each word that is in a phrase.
    numbers: HashMap<&'a str, usize>,
    /// By number.
    words: Vec<Word>,
    wanted: Vec<Sought>,
    /// Required phrases not found yet.
    missing: usize,
    /// Whether a forbidden phrase is found.
    refused: bool,
    /// Whether there are forbidden phrases.
    forbids: bool,
    /// Whether a word of a phrase is one character of a script without spaces, to be found in
    /// pairs.
    characters: bool,
}

#[derive(Default)]
struct Word {
    /// Where it is in the text so far, ascending.
    positions: Vec<u32>,
    /// Phrases that it is the last word of.
    ends: Vec<usize>,
}

struct Sought {
    /// How far before the last word each other word is, with its number.
    before: Vec<(u32, usize)>,
    forbidden: bool,
    found: bool,
}

impl<'a> Finder<'a> {
    fn new(required: &'a [Phrase], forbidden: &'a [Phrase]) -> Finder<'a> {
        let mut finder = Finder {
            numbers: HashMap::new(),
            words: Vec::new(),
            wanted: Vec::new(),
            missing: required.len(),
            refused: false,
            forbids: !forbidden.is_empty(),
            characters: false,
        };
        required.iter().for_each(|phrase| finder.want(phrase, false));
        forbidden.iter().for_each(|phrase| finder.want(phrase, true));
        finder
    }

    fn want(&mut self, phrase: &'a Phrase, forbidden: bool) {
        let Some(((end, last), before)) = phrase.words.split_last() else {
            return;
        };
        let last = self.number(last);
        self.words[last].ends.push(self.wanted.len());
        let before =
            before.iter().map(|(offset, word)| (end - offset, self.number(word))).collect();
        self.wanted.push(Sought { before, forbidden, found: false });
    }

    fn number(&mut self, word: &'a str) -> usize {
        let next = self.words.len();
        let number = *self.numbers.entry(word).or_insert(next);
        if number == next {
            self.characters |= lone_character(word).is_some();
            self.words.push(Word::default());
        }
        number
    }

    /// Whether nothing is left to learn.
    fn is_decided(&self) -> bool {
        self.refused || (self.missing == 0 && !self.forbids)
    }

    fn read(&mut self, text: &str) {
        self.words.iter_mut().for_each(|word| word.positions.clear());
        let mut progress = Progress::default();
        with_analyser(|analyser| {
            while !self.is_decided()
                && analyser.step(text, &mut progress, &mut |term: Term<'_>| self.see(&term))
            {
            }
        });
    }

    fn see(&mut self, term: &Term<'_>) {
        if term.role == Role::Inside {
            return;
        }
        self.see_word(term.text, term.position);
        // Both characters at the one position of the pair: either may touch the next word of the
        // phrase.
        if self.characters && term.text.starts_with(is_unspaced) {
            term.text
                .chars()
                .for_each(|c| self.see_word(c.encode_utf8(&mut [0; 4]), term.position));
        }
    }

    fn see_word(&mut self, word: &str, position: u32) {
        let Some(&number) = self.numbers.get(word) else {
            return;
        };
        let Finder { words, wanted, .. } = self;
        for &ord in &words[number].ends {
            let wanted = &mut wanted[ord];
            let is_there = |&(back, word): &(u32, usize)| {
                let at = position.checked_sub(back);
                at.is_some_and(|at| words[word].positions.binary_search(&at).is_ok())
            };
            debug_assert!(
                wanted.found || wanted.forbidden || self.missing > 0,
                "what was not found is missing"
            );
            if !wanted.found && wanted.before.iter().all(is_there) {
                wanted.found = true;
                if wanted.forbidden { self.refused = true } else { self.missing -= 1 }
            }
        }
        let positions = &mut self.words[number].positions;
        debug_assert!(positions.last().is_none_or(|&last| last <= position), "positions ascend");
        positions.push(position);
    }
}

#[cfg(test)]
mod tests {
    use crate::query::Query;

    fn check(query: &str, title: &str, text: &str, expected: bool) {
        let query = Query::parse(query).expect("short");
        assert_eq!(query.phrases_match(title, text), expected, "{query:?} {title:?} {text:?}");
    }

    #[test]
    fn words_in_order() {
        check("\"quick fox\"", "", "a quick fox", true);
        check("\"quick foxes\"", "", "The Quick, fox!", true);
        check("\"quick fox\"", "", "a fox quick", false);
        check("\"quick fox\"", "", "quick brown fox", false);
        check("\"quick fox\"", "quick", "fox", false);
        check("\"quick fox\"", "quick fox", "", true);
        check("\"a b a b c\"", "", "a b a b a b c", true);
        check("\"a b a b c\"", "", "a b b a b c", false);
        check("\"a a\"", "", "a", false);
        check("\"a a\"", "", "b a a", true);
    }

    #[test]
    fn several() {
        check("\"a b\" \"c d\"", "c d", "a b", true);
        check("\"a b\" \"b c\"", "", "a b c", true);
        check("\"a b\" \"c d\"", "", "a b d c", false);
        check("\"a b\" -\"c d\"", "", "a b d c", true);
        check("\"a b\" -\"c d\"", "", "a b c d", false);
        check("\"a b\" -\"c d\"", "c d", "a b", false);
        check("-\"c d\"", "", "", true);
        check("\"a b\" \"a b\"", "", "a b", true);
        check("no phrase", "", "", true);
    }

    #[test]
    fn identifiers_and_gaps() {
        for text in ["getUserName()", "get_user_name", "get user name", "GET-USER-NAME"] {
            check("+getUserName", "", text, true);
            check("\"user name\"", "", text, true);
            check("-getUserName", "", text, false);
        }
        check("+getUserName", "", "get the user name", false);
        check("\"fast JavaScript code\"", "", "fast java script code", true);
        check("\"fast javascript\"", "", "fast JavaScript", true);
        let long = "x".repeat(100);
        check(&format!("\"a {long} b\""), "", &format!("a {long} b"), true);
        check(&format!("\"a {long} b\""), "", &format!("a {long}y b"), false);
        check(&format!("\"a {long} b\""), "", "a b", false);
    }

    #[test]
    fn scripts_without_spaces() {
        check("\"東京都\"", "", "これは東京都です", true);
        check("\"東京都\"", "", "東京と京都", false);
        check("\"東京都庁\"", "東京都庁", "", true);
        check("-\"東京都\"", "", "東京都", false);
        check("\"猫\"", "", "白い猫がいる", true);
        check("\"猫\"", "", "白い犬がいる", false);
        check("-猫", "", "白い猫がいる", false);
        check("\"Rust 本\"", "", "Rust本の話", true);
        check("\"Rust 本\"", "", "本とRust", false);
    }
}
