//! What a statement leaves behind: "switch from A to B", "we dropped A". Read from its words alone.
//! Knows nothing of memories.

use std::collections::BTreeSet;

use kapsa_memory::query::fold_case;

use crate::overlap::Words;

/// Most words of what is left, and of what it is left for.
const NAMED_WORDS_MAX: usize = 4;
/// Most words of an earlier choice besides what is chosen, where the later statement has none of
/// them; more where it says that it is a choice.
const CHOICE_REST_MAX: usize = 2;
/// The same where its own words say that it is a choice.
const CHOSEN_REST_MAX: usize = 5;

/// Words before a name that is left. `*` is a word or two, which is left where nothing follows.
const LEAVING: &[&[&str]] = &[
    &["switch", "from"],
    &["switched", "from"],
    &["switching", "from"],
    &["switch", "away", "from"],
    &["switched", "away", "from"],
    &["move", "from"],
    &["moved", "from"],
    &["moving", "from"],
    &["move", "away", "from"],
    &["moved", "away", "from"],
    &["moving", "away", "from"],
    &["move", "off"],
    &["moved", "off"],
    &["moving", "off"],
    &["migrate", "from"],
    &["migrated", "from"],
    &["migrating", "from"],
    &["change", "from"],
    &["changed", "from"],
    &["go", "from"],
    &["went", "from"],
    &["replace"],
    &["replaced"],
    &["replacing"],
    &["swap"],
    &["swapped"],
    &["drop", "support", "for"],
    &["dropped", "support", "for"],
    &["drop"],
    &["dropped"],
    &["dropping"],
    &["ditch"],
    &["ditched"],
    &["abandon"],
    &["abandoned"],
    &["get", "rid", "of"],
    &["got", "rid", "of"],
    &["stop", "using"],
    &["stopped", "using"],
    &["quit", "using"],
    &["no", "longer", "use"],
    &["no", "longer", "using"],
    &["instead", "of"],
    &["rather", "than"],
    &["mind", "about"],
    &["mind", "on"],
    &["minds", "about"],
    &["done", "with"],
    &["forget", "about"],
    &["forget"],
    &["scrap"],
    &["scrapped"],
    &["no", "more"],
    &["out", "with"],
];

/// Words between what is left and what comes instead, where it is named.
const LEFT_FOR: [&str; 4] = ["to", "with", "by", "for"];

/// Words at which a name ends.
const ENDING: [&str; 21] = [
    "to",
    "with",
    "by",
    "for",
    "in",
    "on",
    "at",
    "because",
    "since",
    "as",
    "and",
    "but",
    "so",
    "now",
    "from",
    "when",
    "if",
    "completely",
    "entirely",
    "again",
    "anymore",
];

/// Words before which none of it is said: it is denied, or done by somebody else.
const DENYING: [&str; 12] = [
    "not", "never", "don", "dont", "t", "cannot", "without", "avoid", "to", "must", "should",
    "before",
];

/// Words with which something is chosen; they say nothing of what is chosen.
const CHOOSING: [&str; 22] = [
    "use", "used", "using", "run", "prefer", "choose", "chose", "chosen", "pick", "go", "going",
    "stick", "stay", "keep", "rely", "default", "decid", "adopt", "go-to", "wants", "like",
    "backed",
];

/// Words that only speak of the turn itself.
const TURNING: [&str; 12] = [
    "chang", "mind", "drop", "ditch", "switch", "mov", "migrat", "replac", "swap", "lets", "plain",
    "abandon",
];

/// What a statement leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Turn {
    /// The words of what is left.
    left: BTreeSet<String>,
    /// What it is left for, and where: the other words of the statement.
    rest: BTreeSet<String>,
    /// Of those, the ones that say where: "for caching".
    scope: BTreeSet<String>,
}

impl Turn {
    /// What a statement leaves behind; none where it leaves nothing, or where the words do not name
    /// it.
    pub(crate) fn of(statement: &str) -> Option<Turn> {
        let clauses = clauses(statement);
        let found = clauses.iter().find_map(|clause| left_in(clause))?;
        let (clause, place) = found;
        let left = Words::of(&clause[place.clone()].join(" ")).into_all();
        if left.is_empty() {
            return None;
        }
        let after = &clause[place.end..];
        let scope = match after.iter().position(|word| matches!(*word, "for" | "in" | "on")) {
            // "Swapped A for B" names what comes instead.
            Some(0) if after[0] == "for" && is_swap(&clause[..place.start]) => BTreeSet::new(),
            Some(at) => Words::of(&after[at + 1..].join(" ")).into_all(),
            None => BTreeSet::new(),
        };
        let all = Words::of(statement).into_all();
        let is_told = |word: &&String| !left.contains(*word) && !TURNING.contains(&word.as_str());
        let rest = all.iter().filter(is_told).cloned().collect();
        Some(Turn { left, rest, scope })
    }

    /// Whether an earlier statement chose what is left here: whether this one takes it back.
    pub(crate) fn takes_back(&self, chosen: &Words) -> bool {
        let is_choice = !chosen.denied().iter().any(|word| CHOOSING.contains(&word.as_str()));
        if !is_choice || !self.left.iter().all(|word| chosen.affirms(word)) {
            return false;
        }
        let rest: Vec<&String> = chosen
            .all()
            .iter()
            .filter(|word| !self.left.contains(*word) && !CHOOSING.contains(&word.as_str()))
            .collect();
        let is_told = |word: &&&String| self.rest.contains(**word);
        let told = rest.iter().filter(is_told).count();
        let is_elsewhere = !self.scope.is_empty()
            && !rest.is_empty()
            && rest.iter().all(|word| !self.scope.contains(*word));
        let is_chosen = chosen.all().iter().any(|word| CHOOSING.contains(&word.as_str()));
        let rest_max = if is_chosen { CHOSEN_REST_MAX } else { CHOICE_REST_MAX };
        !is_elsewhere && (told == rest.len() || rest.len() - told <= rest_max)
    }
}

/// The words of each part of a statement that stands by itself.
fn clauses(statement: &str) -> Vec<Vec<String>> {
    let folded = fold_case(statement);
    let is_end = |c: char| matches!(c, ';' | ':' | ',' | '(' | ')' | '!' | '?' | '\n' | '—' | '–');
    let sentences = folded.split(is_end).flat_map(|part| part.split(". "));
    let is_apart = |c: char| c.is_whitespace() || matches!(c, '"' | '`' | '\'' | '’' | '“' | '”');
    sentences
        .map(|clause| {
            clause
                .split(is_apart)
                .map(|word| word.trim_end_matches('.').to_string())
                .filter(|word| !word.is_empty())
                .collect()
        })
        .collect()
}

/// The words of a clause, and where in them the name stands that is left.
fn left_in(clause: &[String]) -> Option<(Vec<&str>, std::ops::Range<usize>)> {
    let words: Vec<&str> = clause.iter().map(String::as_str).collect();
    for at in 0..words.len() {
        let is_denied = at.checked_sub(1).is_some_and(|before| DENYING.contains(&words[before]));
        let Some(leaving) = LEAVING.iter().find(|leaving| words[at..].starts_with(leaving)) else {
            continue;
        };
        let begin = at + leaving.len();
        let begin = begin + words[begin..].iter().take_while(|word| is_article(word)).count();
        let length = words[begin..].iter().take_while(|word| !ENDING.contains(word)).count();
        let needs_other = matches!(leaving, [one] if one.starts_with("replac") || is_swap(&[*one]));
        let has_other = words.get(begin + length).is_some_and(|word| LEFT_FOR.contains(word));
        if is_denied || length == 0 || length > NAMED_WORDS_MAX || needs_other && !has_other {
            continue;
        }
        return Some((words, begin..begin + length));
    }
    None
}

fn is_swap(words: &[&str]) -> bool {
    words.last().is_some_and(|word| word.starts_with("swap"))
}

fn is_article(word: &str) -> bool {
    matches!(word, "the" | "a" | "an" | "our" | "using")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes_back(later: &str, earlier: &str) -> bool {
        Turn::of(later).is_some_and(|turn| turn.takes_back(&Words::of(earlier)))
    }

    #[test]
    fn a_choice_is_taken_back_in_other_words() {
        for (later, earlier) in [
            ("Let's switch from Redis to Valkey for caching.", "We use Redis for caching."),
            ("lets switch from redis to valkey", "Use Redis for the cache"),
            ("We changed our mind about Redis: Valkey from now on.", "We use Redis for caching."),
            ("We dropped structlog for logging.", "Use structlog for logging."),
            ("We dropped structlog; plain logging it is.", "Use structlog for logging."),
            ("Replace the Makefile with just.", "We use a Makefile."),
            ("Swapped Jest for Vitest", "Tests run with Jest"),
            ("We got rid of Docker Compose", "Use Docker Compose in development"),
            ("We moved away from GitHub Actions", "GitHub Actions is our CI"),
            ("Use pnpm instead of npm", "Use npm for installs"),
            ("We no longer use moment.js.", "Prefer moment.js for dates"),
            ("Stop using black", "Format with black"),
            ("We switched from npm to pnpm.", "We use npm as the package manager in this repo."),
            ("No more npm, please use pnpm from now on.", "Always use npm to install packages."),
            ("No more Redis, we cache in memory now.", "We decided to use Redis for caching."),
            ("Scrap PostgreSQL; from now on we use MySQL.", "We decided to use PostgreSQL."),
            ("Forget PostgreSQL, we're on MySQL now.", "We decided to use PostgreSQL for orders."),
        ] {
            assert!(takes_back(later, earlier), "{later} / {earlier}: {:?}", Turn::of(later));
        }
    }

    #[test]
    fn what_was_not_chosen_or_is_elsewhere_stays() {
        for (later, earlier) in [
            ("We dropped Redis for caching", "Use Redis for the job queue"),
            ("We dropped structlog", "Do not use structlog"),
            ("Never drop the database", "Use the database of the customer"),
            ("Do not switch from Redis to Valkey", "We use Redis for caching"),
            ("Switch from Redis to Valkey", "Use Postgres for everything"),
            ("Replace the logo", "The logo is blue"),
            (
                "We dropped structlog",
                "Requests carry a trace id that structlog adds, and dashboards group by it",
            ),
            ("Drop me a line", "Wrap each line at 100 columns"),
            ("Never forget the license header", "Use the license header of the template"),
            (
                "We switched from npm to pnpm",
                "Redis listens on port 6379 behind npm's proxy, with TLS",
            ),
            ("We use Redis", "We use Redis for caching"),
        ] {
            assert!(!takes_back(later, earlier), "{later} / {earlier}: {:?}", Turn::of(later));
        }
    }
}
