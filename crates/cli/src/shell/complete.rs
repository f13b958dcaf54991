//! What may follow on a line of the shell: verbs and flags of the tree of arguments; branches,
//! checkpoints, labels, runs and URIs of the capsule.

use clap::builder::ValueHint;
use clap::{Arg, Command, CommandFactory};

use super::names::{NameKind, Names};
use super::{ENDINGS, line};
use crate::args::Cli;

/// What may stand where the cursor is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Offer {
    /// These words, instead of what begins at this byte of the line.
    Words(usize, Vec<String>),
    /// A file or a folder.
    Path,
}

/// Completes lines by the tree of all verbs and the names of a capsule.
pub(super) struct Completion<N> {
    tree: Command,
    names: N,
}

impl<N: Names> Completion<N> {
    pub(super) fn new(names: N) -> Completion<N> {
        let mut tree = Cli::command();
        tree.build();
        Completion { tree, names }
    }

    /// What may follow `before`, the line up to the cursor.
    pub(super) fn offer(&self, before: &str) -> Offer {
        let start = last_word(before);
        let (Some(start), Ok(words)) = (start, line::words(&before[..start.unwrap_or(0)])) else {
            return Offer::Words(before.len(), Vec::new());
        };
        let word = &before[start..];
        let place = Walk::along(&self.tree, &words);
        if let Some(flag) = place.flag {
            return self.values(flag, start, word);
        }
        if let Some((name, value)) = word
            .strip_prefix("--")
            .filter(|_| place.may_be_flag)
            .and_then(|flag| flag.split_once('='))
        {
            let flag = place.command.get_arguments().find(|arg| arg.get_long() == Some(name));
            return flag.map_or(Offer::Words(start, Vec::new()), |flag| {
                self.values(flag, before.len() - value.len(), value)
            });
        }
        if place.may_be_flag && word.starts_with('-') {
            return Offer::Words(start, beginning(word, flags(place.command)));
        }
        if place.may_be_verb {
            let verbs =
                verbs(place.command, before[..start].trim().is_empty() && word.starts_with('/'));
            let endings =
                ENDINGS.iter().filter(|_| words.is_empty()).map(|ending| (*ending).to_string());
            return Offer::Words(start, beginning(word, verbs.into_iter().chain(endings)));
        }
        place
            .argument()
            .map_or(Offer::Words(start, Vec::new()), |argument| self.values(argument, start, word))
    }

    fn values(&self, argument: &Arg, start: usize, word: &str) -> Offer {
        let known = argument.get_possible_values();
        let values = if !known.is_empty() {
            beginning(
                word,
                known
                    .iter()
                    .filter(|value| !value.is_hide_set())
                    .map(|value| value.get_name().to_string()),
            )
        } else if let Some(what) = NameKind::by(argument) {
            self.names.beginning(what, word)
        } else if matches!(
            argument.get_value_hint(),
            ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath
        ) {
            return Offer::Path;
        } else {
            Vec::new()
        };
        Offer::Words(
            start,
            values
                .iter()
                .filter_map(|value| Some(shlex::try_quote(value).ok()?.into_owned()))
                .collect(),
        )
    }
}

/// Where the word begins that the cursor is at the end of; none inside of quotes, where a word is
/// not offered.
fn last_word(before: &str) -> Option<usize> {
    let start = before.rfind([' ', '\t']).map_or(0, |at| at + 1);
    let quoted =
        before[start..].contains(['\'', '"', '\\']) || shlex::split(&before[..start]).is_none();
    (!quoted).then_some(start)
}

fn beginning(word: &str, all: impl IntoIterator<Item = String>) -> Vec<String> {
    all.into_iter().filter(|name| name.starts_with(word)).collect()
}

fn flags(command: &Command) -> Vec<String> {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    shown.filter_map(Arg::get_long).map(|flag| format!("--{flag}")).collect()
}

fn verbs(command: &Command, slash: bool) -> Vec<String> {
    let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let names =
        shown.flat_map(|verb| std::iter::once(verb.get_name()).chain(verb.get_visible_aliases()));
    names.map(|name| if slash { format!("/{name}") } else { name.to_string() }).collect()
}

/// How far the words of a line lead into the tree.
struct Walk<'a> {
    command: &'a Command,
    /// The flag whose value comes next.
    flag: Option<&'a Arg>,
    arguments: usize,
    may_be_verb: bool,
    may_be_flag: bool,
}

impl<'a> Walk<'a> {
    fn along(tree: &'a Command, words: &[String]) -> Walk<'a> {
        let may_be_verb = tree.has_subcommands();
        let mut walk =
            Walk { command: tree, flag: None, arguments: 0, may_be_verb, may_be_flag: true };
        words.iter().for_each(|word| walk.step(word));
        walk
    }

    fn step(&mut self, word: &str) {
        if self.flag.take().is_some() {
            return;
        }
        if self.may_be_flag && word == "--" {
            self.may_be_flag = false;
        } else if self.may_be_flag && word.len() > 1 && word.starts_with('-') {
            self.flag = self.flag_that_waits(word);
        } else if let Some(verb) = self.command.find_subcommand(word).filter(|_| self.may_be_verb) {
            self.command = verb;
            self.may_be_verb = verb.has_subcommands();
        } else {
            self.may_be_verb = false;
            self.arguments += 1;
        }
    }

    /// The flag that `word` is, when its value is the next word.
    fn flag_that_waits(&self, word: &str) -> Option<&'a Arg> {
        let is_it = |arg: &&Arg| match word.strip_prefix("--") {
            Some(long) => arg.get_long() == Some(long),
            None => {
                arg.get_short().is_some_and(|short| word[1..] == *short.encode_utf8(&mut [0; 4]))
            }
        };
        self.command.get_arguments().find(is_it).filter(|arg| arg.get_action().takes_values())
    }

    /// The argument that stands here. The last one takes all that follow where it takes several.
    fn argument(&self) -> Option<&'a Arg> {
        let all: Vec<_> = self.command.get_positionals().collect();
        let several = |last: &&&Arg| {
            last.get_num_args().is_some_and(|n| n.max_values() > 1) || is_appended(last)
        };
        all.get(self.arguments).or_else(|| all.last().filter(several)).copied()
    }
}

fn is_appended(argument: &Arg) -> bool {
    matches!(argument.get_action(), clap::ArgAction::Append)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Known;

    impl Names for Known {
        fn beginning(&self, what: NameKind, prefix: &str) -> Vec<String> {
            let names: &[&str] = match what {
                NameKind::Branch => &["main", "run/a", "run/b"],
                NameKind::Uri => &["note/locks", "note/it's", "fact/port"],
                NameKind::Run => &["a", "b"],
                NameKind::Checkpoint => &["v1", "v2"],
                NameKind::Side => &["main", "run/a", "v1"],
                NameKind::Label => &["builder"],
            };
            beginning(prefix, names.iter().map(|name| (*name).to_string()))
        }
    }

    fn offered(before: &str) -> (usize, Vec<String>) {
        match Completion::new(Known).offer(before) {
            Offer::Words(start, words) => (start, words),
            Offer::Path => panic!("{before}: a path"),
        }
    }

    fn words(before: &str) -> Vec<String> {
        offered(before).1
    }

    #[test]
    fn verbs_are_offered_where_a_verb_may_stand() {
        assert_eq!(offered("  sta"), (2, vec!["stats".to_string(), "status".to_string()]));
        assert_eq!(words("/checkp"), ["/checkpoint", "/checkpoints"]);
        assert_eq!(words("inf"), ["info"], "another name of stats");
        assert_eq!(words("qu"), ["quit"]);
        assert_eq!(words("--capsule a.kapsa verif"), ["verify"]);
        assert_eq!(words("kapsa verif"), ["verify"]);
        assert_eq!(words("svc ti"), ["timeline"]);
        assert_eq!(words("branch arch"), ["archive"]);
        assert_eq!(words("help sta"), ["stats", "status"]);
        assert_eq!(words("find sta"), [] as [&str; 0]);
        let all = words("");
        assert!(
            Cli::command()
                .get_subcommands()
                .filter(|verb| !verb.is_hide_set())
                .all(|verb| all.contains(&verb.get_name().to_string())),
            "{all:?}"
        );
    }

    #[test]
    fn flags_are_those_of_the_verb_and_of_every_verb() {
        assert_eq!(words("put --te"), ["--text"]);
        assert_eq!(words("put --text x --confi"), ["--confidence"]);
        assert_eq!(words("svc put --stri"), ["--strict-exit", "--strict"]);
        for before in ["--lock", "stats --lock", "branch create --lock"] {
            assert_eq!(words(before), ["--lock-timeout"], "{before}");
        }
        assert_eq!(words("stats --te"), [] as [&str; 0]);
        assert_eq!(words("find -- --k"), [] as [&str; 0]);
    }

    #[test]
    fn values_are_those_that_the_argument_takes() {
        assert_eq!(words("completions z"), ["zsh"]);
        assert_eq!(words("svc find a.mv2 --mode l"), ["lex"]);
        for before in [
            "stats --branch run/",
            "merge --from run/",
            "merge --to run/",
            "branch create x --from run/",
        ] {
            assert_eq!(words(before), ["run/a", "run/b"], "{before}");
        }
        assert_eq!(offered("stats --branch=run/b"), (15, vec!["run/b".to_string()]));
        for before in [
            "get no",
            "forget no",
            "history no",
            "purge no",
            "put --text x --uri no",
            "resolve-uri no",
        ] {
            assert_eq!(words(before), ["note/locks", "\"note/it's\""], "{before}");
        }
        for before in
            ["stats --as-of v", "events --since-checkpoint v", "fact list --as-of v", "revert v"]
        {
            assert_eq!(words(before), ["v1", "v2"], "{before}");
        }
        assert_eq!(words("diff ru"), ["run/a"]);
        assert_eq!(words("diff main v"), ["v1"]);
        assert_eq!(words("merge run/"), ["run/a", "run/b"]);
        assert_eq!(words("find x --label b"), ["builder"]);
        assert_eq!(words("graph add-edge --from no"), ["note/locks", "\"note/it's\""]);
        for before in
            ["find x --run ", "run status --run ", "replay run --run ", "put --text x --run "]
        {
            assert_eq!(words(before), ["a", "b"], "{before}");
        }
        assert_eq!(words("checkpoint --label b"), [] as [&str; 0], "a label is new");
        assert_eq!(words("get note/locks no"), [] as [&str; 0], "get takes one");
        assert_eq!(words("put --text no"), [] as [&str; 0]);
    }

    #[test]
    fn files_are_offered_where_a_path_is_taken() {
        for before in ["put RE", "put README.md do", "--capsule te", "create te"] {
            assert_eq!(Completion::new(Known).offer(before), Offer::Path, "{before}");
        }
    }

    #[test]
    fn nothing_is_offered_within_quotes() {
        for before in ["get 'no", "put --text \"a --k", "get no\\"] {
            assert_eq!(words(before), [] as [&str; 0], "{before}");
        }
    }
}
