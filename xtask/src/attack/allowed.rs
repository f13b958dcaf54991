//! The differences that are allowed, each with its reason. Everything else is a finding.

use std::ffi::OsString;

use super::answer::Reply;
use super::attempt::Attempt;
use super::world::{Level, Place, Side};

/// A difference that is allowed.
pub(super) struct Allowed {
    pub(super) name: &'static str,
    /// Where the documentation says so.
    pub(super) reason: &'static str,
    explains: fn(&Attempt<'_>, &[Reply; 3]) -> bool,
}

/// Differences in the numbers of sequences alone are not compared at all.
pub(super) const GAPS: Allowed = Allowed {
    name: "gaps",
    reason: "docs/access.md does not promise that sequences have no gaps: sequences are compared by \
             their place, and names that are drawn from them not at all",
    explains: |_, _| false,
};

/// All of them.
pub(super) const ALLOWED: [&Allowed; 5] = [
    &GAPS,
    &Allowed {
        name: "moment by number",
        reason: "docs/access.md does not promise that sequences have no gaps: the same number names \
                 another moment where more was written before it",
        explains: is_moment_by_number,
    },
    &Allowed {
        name: "taken name",
        reason: "docs/access.md: a name that is refused for a new record belongs to something hidden",
        explains: is_taken_name,
    },
    &Allowed {
        name: "hidden side",
        reason: "docs/access.md: whoever ends what counts under a name ends all of it, and is refused \
                 where a side of a conflict is hidden",
        explains: is_hidden_side,
    },
    &Allowed {
        name: "branches",
        reason: "docs/access.md: whoever may read records without a domain may read branches and checkpoints by name",
        explains: is_branch,
    },
];

/// The entry that explains why these answers differ.
pub(super) fn explained(attempt: &Attempt<'_>, answers: &[Reply; 3]) -> Option<&'static Allowed> {
    ALLOWED.into_iter().find(|allowed| (allowed.explains)(attempt, answers))
}

/// The sides whose secrets the attempt names.
fn named(attempt: &Attempt<'_>) -> [bool; 3] {
    Side::ALL.map(|side| side.words().any(|word| attempt.names(&word)))
}

/// Somebody reads as of a number that does not stand for the same record in all three.
fn is_moment_by_number(attempt: &Attempt<'_>, _: &[Reply; 3]) -> bool {
    let words: Vec<OsString> = attempt.words(Side::Hidden).collect();
    let is_number = |word: &OsString| {
        let text = word.to_string_lossy();
        let digits = text.strip_prefix('#').unwrap_or(&text);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    words.windows(2).any(|pair| pair[0] == *"--as-of" && is_number(&pair[1]))
}

/// Somebody writes under a name that one capsule has given to something hidden, and is refused
/// there.
fn is_taken_name(attempt: &Attempt<'_>, answers: &[Reply; 3]) -> bool {
    const WRITING: [&str; 9] = [
        "put",
        "fact add",
        "fact supersede",
        "episode add",
        "insight add",
        "fs write",
        "shell",
        "fact attribute",
        "mcp",
    ];
    let (named, sides) = (named(attempt), [0, 1, 2]);
    let others: Vec<&Reply> =
        sides.into_iter().filter(|side| !named[*side]).map(|side| &answers[side]).collect();
    WRITING.contains(&attempt.row.verb)
        && others.windows(2).all(|pair| pair[0] == pair[1])
        && sides.into_iter().filter(|side| named[*side]).all(|side| {
            others.first().is_some_and(|other| *other == &answers[side])
                || answers[side].is_denied()
                || matches!(attempt.row.verb, "mcp" | "shell")
        })
}

/// Somebody forgets the fact that has a hidden side, and is refused in the capsules where it has.
fn is_hidden_side(attempt: &Attempt<'_>, answers: &[Reply; 3]) -> bool {
    const ENDING: [&str; 3] = ["forget", "mcp", "shell"];
    let is_it = |word: OsString| ["c", "fact/c"].iter().any(|name| word == *name);
    let names_it = attempt.words(Side::Without).any(is_it)
        || String::from_utf8_lossy(&attempt.input).contains("fact/c");
    ENDING.contains(&attempt.row.verb)
        && names_it
        && (matches!(attempt.row.verb, "mcp" | "shell")
            || answers[..2].iter().all(Reply::is_denied))
}

/// Somebody who may read branches names one, or a checkpoint.
fn is_branch(attempt: &Attempt<'_>, answers: &[Reply; 3]) -> bool {
    let nowhere = Place { domain: String::new(), level: Level::Internal, named: Vec::new() };
    let (named, sides) = (named(attempt), [0, 1, 2]);
    let names_one = ["branch", "point", "run", "task"].iter().any(|word| {
        [Side::Hidden, Side::Other]
            .iter()
            .any(|side| attempt.names(&format!("{}{word}", side.prefix())))
    });
    let others: Vec<&Reply> =
        sides.into_iter().filter(|side| !named[*side]).map(|side| &answers[side]).collect();
    names_one
        && attempt.principal.may_read(&nowhere)
        && others.windows(2).all(|pair| pair[0] == pair[1])
}
