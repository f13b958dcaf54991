//! What a statement leaves behind: "switch from A to B", "we dropped A", "it is B now, not A",
//! "forget the rule about A". Read from its words alone. Knows nothing of memories.

use std::collections::BTreeSet;
use std::ops::Range;

use kapsa_memory::query::fold_case;

use crate::overlap::Words;

/// Most words of what is left, and of what it is left for.
const NAMED_WORDS_MAX: usize = 4;
/// Most words of an earlier choice besides what is chosen, where the later statement has none of
/// them; more where it says that it is a choice.
const CHOICE_REST_MAX: usize = 2;
/// The same where its own words say that it is a choice.
const CHOSEN_REST_MAX: usize = 5;

/// The same where what is left is an identifier: the earlier statement names the very same one.
const NAMING_REST_MAX: usize = 3;
/// Most words of what a rule is named by that is left.
const RULE_WORDS_MAX: usize = 10;
/// Least number of words that a rule and what says that it holds no more have in common, where
/// that names no rule.
const RULE_SHARED_MIN: usize = 2;

/// Words before a name that is left, the longer ones first.
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
    &["we", "re", "off"],
    &["we", "are", "off"],
    &["gave", "up", "on"],
    &["given", "up", "on"],
    &["never", "mind", "about"],
    &["never", "mind"],
    &["nevermind"],
    &["retired"],
    &["forget", "about"],
    &["forget"],
    &["scrap"],
    &["scrapped"],
    &["no", "more"],
    &["out", "with"],
    &["vergiss", "das", "mit"],
    &["vergiss", "die", "sache", "mit"],
    &["vergiss"],
    &["vergesst"],
    &["streich"],
    &["streicht"],
    &["weg", "von"],
    &["anstelle", "von"],
    &["anstatt"],
    &["statt"],
    &["kein"],
    &["keine"],
    &["keinen"],
];

/// Words with which the end of a sentence says what something is not, beside what it is now.
const NO_MORE: &[&[&str]] =
    &[&["no", "longer"], &["not"], &["nicht", "mehr"], &["nicht", "länger"], &["nicht"]];

/// Words that say of something that it has changed.
const CHANGED: [&str; 9] =
    ["now", "nowadays", "anymore", "longer", "jetzt", "nun", "inzwischen", "künftig", "mehr"];

/// Words after a name that say that it is left.
const LEFT_AFTER: &[&[&str]] = &[
    &["is", "gone"],
    &["is", "dead"],
    &["is", "history"],
    &["is", "retired"],
    &["is", "out"],
    &["are", "gone"],
    &["are", "history"],
    &["ist", "weg"],
    &["ist", "raus"],
    &["ist", "geschichte"],
];

/// Words after the name of a rule that say that it holds no more.
const LIFTED: &[&[&str]] = &[
    &["no", "longer", "applies"],
    &["no", "longer", "apply"],
    &["no", "longer", "holds"],
    &["doesn", "t", "apply"],
    &["does", "not", "apply"],
    &["is", "lifted"],
    &["is", "gone"],
    &["is", "void"],
    &["is", "off"],
    &["is", "history"],
    &["is", "dropped"],
    &["was", "lifted"],
    &["was", "dropped"],
    &["has", "been", "lifted"],
    &["has", "been", "dropped"],
    &["gilt", "nicht", "mehr"],
    &["gelten", "nicht", "mehr"],
    &["ist", "aufgehoben"],
];

/// Words for rules.
const RULES: [&str; 24] = [
    "rule",
    "rules",
    "ban",
    "bans",
    "restriction",
    "restrictions",
    "convention",
    "conventions",
    "requirement",
    "requirements",
    "policy",
    "policies",
    "guideline",
    "guidelines",
    "freeze",
    "regel",
    "regeln",
    "verbot",
    "vorgabe",
    "vorgaben",
    "konvention",
    "richtlinie",
    "vorschrift",
    "einschränkung",
];

/// Words between what is left and what comes instead, where it is named.
const LEFT_FOR: [&str; 4] = ["to", "with", "by", "for"];

/// Words at which a name ends.
const ENDING: &[&str] = &[
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
    "we",
    "wir",
    "jetzt",
    "nun",
    "nehmen",
    "nutzen",
    "mehr",
    "auf",
    "zu",
    "für",
    "bei",
    "im",
    "und",
    "aber",
    "weil",
    "ab",
];

/// Words before which none of it is said: it is denied, or done by somebody else.
const DENYING: [&str; 12] = [
    "not", "never", "don", "dont", "t", "cannot", "without", "avoid", "to", "must", "should",
    "before",
];

/// Words right after it with which none of it is said: "vergiss nicht" is "remember".
const DENYING_AFTER: [&str; 3] = ["nicht", "not", "to"];

/// Words with which something is chosen; they say nothing of what is chosen.
const CHOOSING: &[&str] = &[
    "use",
    "used",
    "using",
    "run",
    "prefer",
    "choose",
    "chose",
    "chosen",
    "pick",
    "go",
    "going",
    "stick",
    "stay",
    "keep",
    "rely",
    "default",
    "decid",
    "adopt",
    "go-to",
    "wants",
    "like",
    "backed",
    "nehmen",
    "nimm",
    "nutzen",
    "nutz",
    "benutzen",
    "benutz",
    "verwenden",
    "verwend",
];

/// Words that only speak of the turn itself.
const TURNING: [&str; 12] = [
    "chang", "mind", "drop", "ditch", "switch", "mov", "migrat", "replac", "swap", "lets", "plain",
    "abandon",
];

/// How a statement leaves something behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Manner {
    /// It names what was chosen: "we dropped A".
    #[default]
    Choice,
    /// It names what was so: "it is B now, not A".
    Value,
    /// It names a rule: "forget the rule about A".
    Rule,
}

/// What a statement leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Turn {
    manner: Manner,
    /// The words of what is left; none for a rule that is not named.
    left: BTreeSet<String>,
    /// What is left, as it is written, where it is an identifier.
    identifier: Option<String>,
    /// What it is left for, and where: the other words of the statement.
    rest: BTreeSet<String>,
    /// Of those, the ones that are denied.
    denied: BTreeSet<String>,
    /// The ones that say where: "for caching".
    scope: BTreeSet<String>,
}

impl Turn {
    /// What a statement leaves behind; none where it leaves nothing, or where the words do not name
    /// it.
    pub(crate) fn of(statement: &str) -> Option<Turn> {
        let clauses = clauses(statement);
        let has_changed = clauses.iter().flatten().any(|word| CHANGED.contains(&word.as_str()));
        let clauses: Vec<Vec<&str>> =
            clauses.iter().map(|clause| clause.iter().map(String::as_str).collect()).collect();
        let lifted =
            || clauses.iter().find_map(|clause| Some((Manner::Rule, clause, rule_in(clause)?)));
        let left =
            || clauses.iter().find_map(|clause| Some((Manner::Choice, clause, left_in(clause)?)));
        let value =
            || clauses.iter().find_map(|clause| Some((Manner::Value, clause, denied_in(clause)?)));
        let (manner, clause, place) =
            lifted().or_else(left).or_else(|| has_changed.then(value).flatten())?;
        let name = &clause[place.clone()];
        let mut left = Words::of(&name.join(" ")).into_all();
        if manner == Manner::Rule {
            left = Words::of(&without_rules(name).join(" ")).into_all();
        } else if left.is_empty() {
            return None;
        }
        let after = &clause[place.end..];
        let scope = match after.iter().position(|word| matches!(*word, "for" | "in" | "on" | "für"))
        {
            // "Swapped A for B" names what comes instead.
            Some(0) if after[0] == "for" && is_swap(&clause[..place.start]) => BTreeSet::new(),
            Some(at) => Words::of(&after[at + 1..].join(" ")).into_all(),
            None => BTreeSet::new(),
        };
        let identifier = match name {
            [one] if is_identifier(one) => Some((*one).to_string()),
            _ => None,
        };
        let all = Words::of(statement);
        let is_told = |word: &&String| !left.contains(*word) && !TURNING.contains(&word.as_str());
        let rest = all.all().iter().filter(is_told).cloned().collect();
        let denied = all.denied().iter().filter(is_told).cloned().collect();
        Some(Turn { manner, left, identifier, rest, denied, scope })
    }

    /// Whether an earlier statement says what is left here: whether this one takes it back.
    pub(crate) fn takes_back(&self, earlier: &str) -> bool {
        let words = Words::of(earlier);
        let is_choice = !words.denied().iter().any(|word| CHOOSING.contains(&word.as_str()));
        let rest: Vec<&String> = words
            .all()
            .iter()
            .filter(|word| !self.left.contains(*word) && !CHOOSING.contains(&word.as_str()))
            .collect();
        let told = rest.iter().filter(|word| self.rest.contains(**word)).count();
        let untold = rest.len() - told;
        let is_about = match self.manner {
            Manner::Choice => is_choice,
            Manner::Value => is_choice && (told > 0 || rest.is_empty()),
            Manner::Rule => return self.lifts(&words, told, untold),
        };
        let names_it = match &self.identifier {
            Some(identifier) => names(earlier, identifier),
            None => self.left.iter().all(|word| words.affirms(word)),
        };
        if !is_about || !names_it {
            return false;
        }
        let is_elsewhere = !self.scope.is_empty()
            && !rest.is_empty()
            && rest.iter().all(|word| !self.scope.contains(*word));
        let is_chosen = words.all().iter().any(|word| CHOOSING.contains(&word.as_str()));
        let rest_max = match (self.manner, &self.identifier) {
            (Manner::Value, Some(_)) => NAMING_REST_MAX,
            (Manner::Choice, _) if is_chosen => CHOSEN_REST_MAX,
            _ => CHOICE_REST_MAX,
        };
        !is_elsewhere && untold <= rest_max
    }

    /// Whether the rule that holds no more is an earlier statement, that has so many words besides
    /// what the rule is named by in common with this one, and so many that this one has not.
    fn lifts(&self, earlier: &Words, told: usize, untold: usize) -> bool {
        let is_named = self.left.iter().all(|word| earlier.all().contains(word));
        let bans = |word: &String| self.rest.contains(word) || self.left.contains(word);
        let is_opposite = earlier.denied().iter().any(bans)
            || self.denied.iter().any(|word| earlier.affirms(word));
        match self.left.len() {
            0 if is_opposite && untold == 0 => told > 0,
            0 if is_opposite => told >= RULE_SHARED_MIN && untold <= told,
            0 => told >= RULE_SHARED_MIN && untold <= told / 2,
            1 => is_named && is_opposite && untold <= CHOSEN_REST_MAX,
            _ => is_named,
        }
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

/// Where in a clause the name stands of what is left.
fn left_in(words: &[&str]) -> Option<Range<usize>> {
    if let Some(length) = ends_with(words, LEFT_AFTER) {
        let begin = words[..length].iter().take_while(|word| is_article(word)).count();
        return (begin < length && length - begin <= NAMED_WORDS_MAX).then_some(begin..length);
    }
    for at in 0..words.len() {
        let is_denied = at.checked_sub(1).is_some_and(|before| DENYING.contains(&words[before]));
        let Some(leaving) = LEAVING.iter().find(|leaving| words[at..].starts_with(leaving)) else {
            continue;
        };
        let begin = at + leaving.len();
        let begin = begin + words[begin..].iter().take_while(|word| is_article(word)).count();
        let length = words[begin..].iter().take_while(|word| !ENDING.contains(word)).count();
        let end = words.get(begin + length);
        let is_other = match leaving {
            // "Replace the logo" leaves no logo.
            [one] if one.starts_with("replac") || is_swap(&[*one]) => {
                end.is_some_and(|word| LEFT_FOR.contains(word))
            }
            [one] if one.starts_with("kein") => end == Some(&"mehr"),
            _ => true,
        };
        let is_kept = words.get(begin).is_some_and(|word| DENYING_AFTER.contains(word));
        if is_denied || is_kept || length == 0 || length > NAMED_WORDS_MAX || !is_other {
            continue;
        }
        return Some(begin..begin + length);
    }
    None
}

/// Where in a clause the name stands of what is not so any more: the clause says nothing else.
fn denied_in(words: &[&str]) -> Option<Range<usize>> {
    let denying = NO_MORE.iter().find(|denying| words.starts_with(denying))?;
    let begin = denying.len();
    let begin = begin + words[begin..].iter().take_while(|word| is_article(word)).count();
    let length = words[begin..].iter().take_while(|word| !ENDING.contains(word)).count();
    let is_name = (1..=NAMED_WORDS_MAX).contains(&length) && begin + length == words.len();
    is_name.then_some(begin..begin + length)
}

/// Where in a clause the name stands of a rule that holds no more.
fn rule_in(words: &[&str]) -> Option<Range<usize>> {
    let names_rule = |range: &Range<usize>| {
        range.len() <= RULE_WORDS_MAX
            && words[range.clone()].iter().any(|word| RULES.contains(word))
    };
    if let Some(length) = ends_with(words, LIFTED) {
        return Some(0..length).filter(names_rule);
    }
    let at = (0..words.len()).find_map(|at| {
        let leaving = LEAVING.iter().find(|leaving| words[at..].starts_with(leaving))?;
        let is_denied = at.checked_sub(1).is_some_and(|before| DENYING.contains(&words[before]));
        (!is_denied).then_some(at + leaving.len())
    })?;
    let is_kept = words.get(at).is_some_and(|word| DENYING_AFTER.contains(word));
    Some(at..words.len()).filter(|range| !is_kept && names_rule(range))
}

/// The words of a rule's name without those that say that it is a rule: "the 80 column rule".
fn without_rules<'a>(words: &[&'a str]) -> Vec<&'a str> {
    words.iter().filter(|word| !RULES.contains(word)).copied().collect()
}

/// How many words stand before one of these at the end of a clause.
fn ends_with(words: &[&str], ends: &[&[&str]]) -> Option<usize> {
    let end = ends.iter().find(|end| words.ends_with(end))?;
    Some(words.len() - end.len())
}

/// Whether a word is a name that only a program reads: `X-Shop-Key`, `eu-1`, `5432`, `log.txt`.
fn is_identifier(word: &str) -> bool {
    let is_sign = |c: char| matches!(c, '-' | '_' | '/' | '.' | ':') || c.is_ascii_digit();
    word.contains(is_sign) && word.contains(char::is_alphanumeric)
}

/// Whether a text has this identifier as a word of its own.
fn names(text: &str, identifier: &str) -> bool {
    let text = fold_case(text);
    let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    text.match_indices(identifier).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + identifier.len()..]);
        !before.ends_with(is_inner) && !after.starts_with(is_inner)
    })
}

fn is_swap(words: &[&str]) -> bool {
    words.last().is_some_and(|word| word.starts_with("swap"))
}

fn is_article(word: &str) -> bool {
    ["the", "a", "an", "our", "using", "der", "die", "das", "den", "dem", "unser", "unsere"]
        .contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes_back(later: &str, earlier: &str) -> bool {
        Turn::of(later).is_some_and(|turn| turn.takes_back(earlier))
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
            ("Forget about Fly, we use Render now.", "We deploy with Fly."),
            ("Forget about Redis, we cache in memory now.", "We use Redis for caching."),
            ("never mind Celery, use RQ instead", "Background jobs run on Celery"),
            ("Nevermind Yarn, use pnpm instead.", "Use Yarn for installs"),
            ("instead of Jenkins we now use GitHub Actions", "Our CI is Jenkins"),
            ("We're off Heroku, it's Fly now.", "We deploy to Heroku"),
            ("We gave up on Kubernetes, everything runs on Nomad now.", "We run on Kubernetes"),
            ("Lint with ruff now, flake8 is gone.", "Lint with flake8"),
            ("Vergiss Jenkins, wir nehmen jetzt GitHub Actions.", "Unsere CI ist Jenkins."),
            ("Vergiss das mit Redis, wir cachen jetzt im Speicher.", "Wir nutzen Redis als Cache."),
            ("statt Yarn jetzt pnpm", "Nimm Yarn für alle Pakete"),
            ("Wir nutzen jetzt Postgres statt MySQL.", "Wir nutzen MySQL."),
            ("Kein Docker mehr, wir nehmen Podman.", "Wir nutzen Docker in der Entwicklung"),
        ] {
            assert!(takes_back(later, earlier), "{later} / {earlier}: {:?}", Turn::of(later));
        }
    }

    #[test]
    fn what_is_otherwise_now_is_taken_back() {
        for (later, earlier) in [
            ("The API key header is X-Store-Key now, not X-Shop-Key", "The header is X-Shop-Key"),
            (
                "The API key header is X-Store-Key now, not X-Shop-Key",
                "Requests carry the API key in the X-Shop-Key header.",
            ),
            ("The staging port is 5433 now, not 5432.", "Staging listens on port 5432"),
            ("The bucket is called shop-media now, no longer shop-assets", "Bucket: `shop-assets`"),
            ("We use Valkey now, not Redis", "We use Redis"),
            ("Der Port ist jetzt 5433, nicht mehr 5432.", "Der Port ist 5432."),
        ] {
            assert!(takes_back(later, earlier), "{later} / {earlier}: {:?}", Turn::of(later));
        }
        for (later, earlier) in [
            ("The port is 5433 now, not 5432.", "The proxy of the docs waits 5432 ms"),
            ("The header is X-Store-Key now, not X-Shop-Key", "The header X-Shop-Key-Id is signed"),
            ("The header is X-Store-Key now, not X-Shop-Key", "The shop needs a key"),
            ("Tests run with nextest now, not cargo test", "Cargo caches what a test builds in CI"),
            ("Use pnpm, not npm", "Use npm"),
            ("Releases are on mondays now, not at night", "Backups run at night"),
        ] {
            assert!(!takes_back(later, earlier), "{later} / {earlier}: {:?}", Turn::of(later));
        }
    }

    #[test]
    fn a_rule_that_holds_no_more_is_taken_back() {
        for (later, earlier) in [
            ("You can commit directly to main now, forget about that rule", "Never commit to main"),
            (
                "You can commit directly to main now, forget about that rule",
                "Please don't commit directly to main, open a PR instead.",
            ),
            ("You can push to main again, forget about the ban.", "Do not push to main."),
            ("Forget about the 80 column rule.", "Wrap lines at 80 columns"),
            ("Forget the rule about conventional commits.", "Use conventional commits"),
            ("Drop the rule that every PR needs two reviews.", "Every PR needs two reviews."),
            ("The rule about squash commits no longer applies.", "Always squash commits"),
            ("The ban on force pushes is lifted", "Never use force pushes"),
            ("It's fine to use lodash now, forget that rule.", "Don't use lodash"),
            ("Vergiss die Regel mit den Squash-Commits.", "Keine Squash-Commits ohne Review."),
            ("Das Verbot von Mocks gilt nicht mehr.", "Wir nutzen keine Mocks"),
        ] {
            assert!(takes_back(later, earlier), "{later} / {earlier}: {:?}", Turn::of(later));
        }
        for (later, earlier) in [
            (
                "You can commit directly to main now, forget about that rule",
                "Commit messages on main are in English",
            ),
            ("You can push to main again, forget about the ban.", "Never push tags by hand"),
            ("Forget about the test policy.", "Tests run with nextest"),
            ("Forget about the 80 column rule.", "The table has 12 columns"),
            ("Don't forget the rule about squash commits", "Always squash commits"),
            ("Vergiss nicht die Regel mit den Mocks", "Wir nutzen keine Mocks"),
        ] {
            assert!(!takes_back(later, earlier), "{later} / {earlier}: {:?}", Turn::of(later));
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
            ("Don't forget to run make proto", "Run make proto before the build"),
            ("Vergiss nicht, Redis zu starten", "Wir nutzen Redis"),
            ("Forget about Redis, we cache in memory now.", "Keep secrets out of the repository"),
            ("Never mind the warnings", "Fix warnings before a release, and tell the team why"),
        ] {
            assert!(!takes_back(later, earlier), "{later} / {earlier}: {:?}", Turn::of(later));
        }
    }
}
