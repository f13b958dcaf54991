//! One attempt: who calls what. Words that name a sequence differ between the three capsules.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use super::build::Trio;
use super::rows::{COMPLETION, VerbRow};
use super::values::Values;
use super::world::{Principal, Side};
use crate::harness::random::Random;
use crate::harness::tree::{Flag, Verb};

/// Options that are not drawn: they lead elsewhere, or print help.
const LEFT_OUT: [&str; 5] = ["--help", "--capsule", "--branch", "--as", "--json"];

/// A word of a call.
#[derive(Clone, Debug)]
pub(super) enum Word {
    Same(OsString),
    /// A sequence after this, in each of the three.
    Sequence(&'static str, [u64; 3]),
}

/// An attempt.
pub(super) struct Attempt<'a> {
    pub(super) row: &'static VerbRow,
    pub(super) principal: &'a Principal,
    pub(super) words: Vec<Word>,
    pub(super) input: Vec<u8>,
    /// Variables beside the principal.
    pub(super) variables: Vec<(&'static str, OsString)>,
}

impl<'a> Attempt<'a> {
    /// A random call of a verb by a principal of the stage's family.
    pub(super) fn random(
        random: &mut Random,
        stage: &'a Trio,
        row: &'static VerbRow,
        verb: Option<&Verb>,
    ) -> Attempt<'a> {
        let principals = stage.family.principals;
        let principal = &principals[random.index(principals.len()).expect("there are some")];
        let mut making = Making { values: Values { stage, principal, random }, words: Vec::new() };
        making.front(row);
        let template = making.values.one_of(row.calls);
        let (words, input) = template.split_once('<').unwrap_or((template, ""));
        words.split_whitespace().for_each(|word| making.word(word));
        if let Some(verb) = verb.filter(|_| !template.contains("--help")) {
            making.options(&verb.flags);
        }
        let input = making.values.filled(input.trim()).into_vec();
        let variables = making.variables(row);
        Attempt { row, principal, words: making.words, input, variables }
    }

    /// The words for one of the capsules.
    pub(super) fn words(&self, side: Side) -> impl Iterator<Item = OsString> + '_ {
        self.words.iter().map(move |word| match word {
            Word::Same(text) => text.clone(),
            Word::Sequence(before, all) => format!("{before}{}", all[side.index()]).into(),
        })
    }

    /// The sequences that it names in this capsule.
    pub(super) fn given(&self, side: Side) -> Vec<u64> {
        let given = self.words.iter().filter_map(|word| match word {
            Word::Same(_) => None,
            Word::Sequence(_, all) => Some(all[side.index()]),
        });
        given.collect()
    }

    /// Whether a word is part of what is given.
    pub(super) fn names(&self, marker: &str) -> bool {
        let holds = |text: &OsString| text.to_string_lossy().contains(marker);
        self.words(Side::Hidden).any(|word| holds(&word))
            || self.variables.iter().any(|(_, value)| holds(value))
            || String::from_utf8_lossy(&self.input).contains(marker)
    }

    /// As it would be typed in a shell.
    pub(super) fn typed(&self) -> String {
        let words: Vec<String> = self
            .words(Side::Hidden)
            .map(|word| word.to_string_lossy().chars().take(80).collect::<String>())
            .map(|word| {
                if word.contains([' ', '"', '\'']) || word.is_empty() {
                    format!("{word:?}")
                } else {
                    word
                }
            })
            .collect();
        let variables: String =
            self.variables.iter().map(|(name, value)| format!("{name}={value:?} ")).collect();
        let input = String::from_utf8_lossy(&self.input);
        let input = if input.is_empty() { String::new() } else { format!(" < {input:?}") };
        format!(
            "{variables}KAPSA_PRINCIPAL={:?} kapsa {}{input}",
            self.principal.name,
            words.join(" ")
        )
    }
}

struct Making<'a, 'r> {
    values: Values<'a, 'r>,
    words: Vec<Word>,
}

impl Making<'_, '_> {
    /// What comes before everything else: global options, and the verb.
    fn front(&mut self, row: &VerbRow) {
        if row.verb == COMPLETION.verb {
            self.words.extend(["--", "kapsa"].map(|word| Word::Same(word.into())));
            return;
        }
        for (percent, option, kind) in [
            (60, "--json", ""),
            (6, "--branch", "branch"),
            (3, "--as", "principal"),
            (2, "--as", "own-name"),
        ] {
            if self.values.random.percent(percent) {
                self.words.push(Word::Same(option.into()));
                if !kind.is_empty() {
                    let value = self.values.drawn(kind);
                    self.words.push(value);
                }
            }
        }
        self.words.extend(row.verb.split(' ').map(|word| Word::Same(word.into())));
    }

    /// A word of a template.
    fn word(&mut self, word: &str) {
        let drawn = match word.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(kind) => self.values.drawn(kind),
            None => Word::Same(self.values.filled(word)),
        };
        self.words.push(drawn);
    }

    fn options(&mut self, flags: &[Flag]) {
        let count = [0, 0, 0, 0, 1, 1, 2, 3][self.values.random.index(8).expect("eight")];
        for _ in 0..count {
            let Some(index) = self.values.random.index(flags.len()) else { break };
            let flag = &flags[index];
            if LEFT_OUT.contains(&flag.name.as_str()) {
                continue;
            }
            self.words.push(Word::Same(OsString::from(&flag.name)));
            if let Some(name) = &flag.value {
                let value = self.values.of_flag(&flag.name, name);
                self.words.push(value);
            }
        }
    }

    fn variables(&mut self, row: &VerbRow) -> Vec<(&'static str, OsString)> {
        let mut variables = Vec::new();
        if row.verb == COMPLETION.verb {
            variables.push(("KAPSA_COMPLETE", OsString::from("fish")));
        }
        for (name, kind) in [
            ("KAPSA_AGENT", "agent"),
            ("KAPSA_BRANCH", "branch"),
            ("KAPSA_RUN", "run"),
            ("KAPSA_ROLE", "agent"),
        ] {
            if self.values.random.percent(2)
                && let Word::Same(value) = self.values.drawn(kind)
            {
                variables.push((name, value));
            }
        }
        variables
    }
}
