//! Completion on a command line of bash, zsh, fish, elvish or PowerShell.
//!
//! `kapsa completions SHELL` prints a short script; at each Tab it calls kapsa itself with
//! [`VARIABLE`] set, so that branches, labels, runs and URIs are those of the capsule that the line
//! names. Knows nothing of `kapsa shell`.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use clap::{Command, FromArgMatches};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, ValueCompleter};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};

use crate::args::{self, Cli, Global};
use crate::error::{CliError, Result};
use crate::shell::{CapsuleNames, NameKind, Names};

/// Set by the scripts: which shell asks.
const VARIABLE: &str = "KAPSA_COMPLETE";
/// Options that say which names are meant.
const NAMING: [&str; 3] = ["--capsule", "--branch", "--as"];

/// Answers a shell, where it is one that calls. Returns whether it was.
pub(crate) fn answer() -> Result<bool> {
    if env::var_os(VARIABLE).is_none_or(|shell| shell.is_empty()) {
        return Ok(false);
    }
    // May be dropped: where the shell's folder was removed, words are completed without its files.
    let here = env::current_dir().ok();
    let complete = CompleteEnv::with_factory(|| tree(env::args_os())).var(VARIABLE);
    let answered = complete.try_complete(env::args_os(), here.as_deref());
    answered.map_err(|error| CliError::usage(error.to_string().trim().to_string()))
}

/// The script that makes a shell ask.
pub(crate) fn script(shell: Shell) -> Result<Vec<u8>> {
    let name = shell.to_string();
    let shells = Shells::builtins();
    let known = shells
        .completer(&name)
        .ok_or_else(|| CliError::usage(format!("{name} has no completions")))?;
    let mut script = Vec::new();
    let written = known.write_registration(VARIABLE, "kapsa", "kapsa", &program(), &mut script);
    written.map_err(|error| CliError::io("write the completion script", &error))?;
    Ok(script)
}

/// How this program was called: by name where it is found on the PATH, else by its whole path.
fn program() -> String {
    let called = env::args_os().next().unwrap_or_default();
    let path = Path::new(&called);
    let found = if path.components().count() > 1 { std::path::absolute(path).ok() } else { None };
    found.map_or_else(|| "kapsa".to_string(), |path| path.to_string_lossy().into_owned())
}

/// The tree of all arguments, in which those that name something of the capsule know its names.
fn tree(words: impl Iterator<Item = OsString>) -> Command {
    let mut command = args::command();
    // Arguments of verbs exist only when the tree is built.
    command.build();
    match held(words) {
        Some(held) => with_names(command, &Arc::new(CapsuleNames::new(&held))),
        None => command,
    }
}

fn with_names(command: Command, names: &Arc<CapsuleNames>) -> Command {
    let command = command.mut_args(|arg| match NameKind::by(&arg) {
        Some(what) => arg.add(ArgValueCompleter::new(FromCapsule { names: names.clone(), what })),
        None => arg,
    });
    command.mut_subcommands(|verb| with_names(verb, names))
}

/// Names of one sort, as the completion engine asks for them.
struct FromCapsule {
    names: Arc<CapsuleNames>,
    what: NameKind,
}

impl ValueCompleter for FromCapsule {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let names = current
            .to_str()
            .map_or_else(Vec::new, |prefix| self.names.beginning(self.what, prefix));
        // A shell takes what is offered as it is: a name that needs quotes is left out.
        let safe = names
            .into_iter()
            .filter(|name| shlex::try_quote(name).is_ok_and(|quoted| quoted == *name));
        safe.map(CompletionCandidate::new).collect()
    }
}

/// The global options of the line, and of the environment.
fn held(words: impl Iterator<Item = OsString>) -> Option<Global> {
    let mut typed = vec![OsString::from("kapsa")];
    let mut words = words.skip_while(|word| word != "--").skip(2).peekable();
    while let Some(word) = words.next() {
        let Some(text) = word.to_str() else { continue };
        if NAMING.contains(&text) {
            if let Some(value) = words.peek().filter(|value| !value.is_empty()) {
                typed.push(with_value(text, &home_expanded(value)));
            }
        } else if text.split_once('=').is_some_and(|(flag, _)| NAMING.contains(&flag)) {
            typed.push(word);
        }
    }
    let whole = Cli::from_arg_matches(&args::command().try_get_matches_from(&typed).ok()?).ok()?;
    Some(whole.global)
}

fn with_value(flag: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(format!("{flag}="));
    word.push(value);
    word
}

/// A path as the shell would read it: it expands `~` only when the line is run.
fn home_expanded(word: &OsStr) -> OsString {
    let below = word.to_str().and_then(|text| text.strip_prefix("~/"));
    match (below, env::var_os("HOME")) {
        (Some(below), Some(home)) => Path::new(&home).join(below).into_os_string(),
        _ => word.to_os_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_which_capsule_is_meant() {
        let held = |line: &str| {
            let words = line.split(' ').map(OsString::from).collect::<Vec<_>>();
            held(words.into_iter()).expect("global options")
        };
        let given = held("kapsa -- kapsa get --capsule a.kapsa --branch=run/1 no");
        assert_eq!(
            (given.capsule.as_deref(), given.branch.as_deref()),
            (Some(Path::new("a.kapsa")), Some("run/1"))
        );
        assert_eq!(
            held("kapsa -- kapsa get --branch").branch,
            held("kapsa -- kapsa get").branch,
            "a value under way is none"
        );
    }
}
