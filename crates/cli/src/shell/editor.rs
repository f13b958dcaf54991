//! Lines typed on a terminal: the prompt, the keys, the history. Nothing that fails here ends the
//! shell but the terminal itself.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::config::{CompletionType, Config};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::{Hinter, HistoryHinter};
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{ColorMode, Context, Editor, Helper};

use super::complete::{Completion, Offer};
use super::history;
use super::line::{self, Ended};
use super::names::CapsuleNames;
use crate::app::{App, Status, known_branch};
use crate::error::{CliError, Place, Result};
use crate::escape;

/// Reads and runs lines until the user ends it.
pub(super) fn run(app: &mut App) -> Result<Status> {
    let mut lines = Lines::new(app)?;
    app.out.note("help lists the verbs, Tab completes, Ctrl-D leaves");
    while let Some(typed) = lines.next(&prompt(app))? {
        if line::run(&typed, &app.global, Place::default()) == Ended::Shell {
            break;
        }
    }
    Ok(Status::Done)
}

/// `kapsa workspace (run/x)> `: the capsule's name and, off `main`, its branch.
fn prompt(app: &App) -> String {
    // Where there is no capsule, the verb that is typed next says why; a prompt that failed would
    // keep people from `init`.
    let Ok(capsule) = app.capsule() else { return "kapsa> ".to_string() };
    let name = capsule.file_stem().map(|name| format!(" {}", name.to_string_lossy()));
    let shown = [name, current_branch(app, &capsule).map(|branch| format!(" ({branch})"))];
    format!("kapsa{}> ", escape::line(&shown.into_iter().flatten().collect::<String>()))
}

/// The branch that lines work on; none on `main`, or where it cannot be told: the verb that needs
/// it says why.
fn current_branch(app: &App, capsule: &Path) -> Option<String> {
    known_branch(app, capsule).unwrap_or_default()
}

/// The lines of a terminal.
struct Lines {
    editor: Editor<Keys, FileHistory>,
    history: Option<PathBuf>,
}

impl Lines {
    fn new(app: &App) -> Result<Lines> {
        let mut editor = Editor::with_config(config().map_err(unusable)?).map_err(unusable)?;
        editor.set_helper(Some(Keys::new(app)));
        let history = history::file();
        // Without a history of earlier sessions, this one begins its own.
        if let Some(file) = &history {
            let _begins_without_it = editor.load_history(file);
        }
        Ok(Lines { editor, history })
    }

    /// The next line; none at the end.
    fn next(&mut self, prompt: &str) -> Result<Option<String>> {
        loop {
            match self.editor.readline(prompt) {
                Ok(line) => {
                    self.keep(&line);
                    return Ok(Some(line));
                }
                Err(ReadlineError::Interrupted) => {}
                Err(ReadlineError::Eof) => return Ok(None),
                Err(error) => return Err(unusable(error)),
            }
        }
    }

    /// A line that cannot be kept runs all the same.
    fn keep(&mut self, line: &str) {
        let kept = self.editor.add_history_entry(line).unwrap_or(false);
        if let Some(file) = self.history.as_ref().filter(|_| kept) {
            let _runs_all_the_same = self.editor.append_history(file);
        }
    }
}

fn config() -> rustyline::Result<Config> {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let config = Config::builder()
        .max_history_size(history::LINES_MAX)?
        .history_ignore_space(true)
        .history_ignore_dups(true)?
        .completion_type(CompletionType::List)
        .color_mode(if plain { ColorMode::Disabled } else { ColorMode::Enabled });
    Ok(config.build())
}

fn unusable(error: ReadlineError) -> CliError {
    match error {
        ReadlineError::Io(error) => CliError::io("read from the terminal", &error),
        other => CliError::io("read from the terminal", &io::Error::other(other)),
    }
}

/// What the keys of a line do beyond typing.
struct Keys {
    completion: Completion<CapsuleNames>,
    paths: FilenameCompleter,
    hints: HistoryHinter,
}

impl Keys {
    fn new(app: &App) -> Keys {
        let completion = Completion::new(CapsuleNames::new(&app.global));
        Keys { completion, paths: FilenameCompleter::new(), hints: HistoryHinter::new() }
    }
}

impl Completer for Keys {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        cursor: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        match self.completion.offer(&line[..cursor]) {
            Offer::Path => {
                let (start, mut paths) = self.paths.complete_path(line, cursor)?;
                paths.retain(|path| {
                    escape::is_plain(&path.display) && escape::is_plain(&path.replacement)
                });
                Ok((start, paths))
            }
            Offer::Words(start, words) => Ok((start, candidates(words, cursor == line.len()))),
        }
    }
}

/// The words as the editor takes them. After the only one that fits, the next word may begin at
/// once.
fn candidates(words: Vec<String>, at_the_end: bool) -> Vec<Pair> {
    let space = if at_the_end && words.len() == 1 { " " } else { "" };
    words
        .into_iter()
        .map(|word| Pair { replacement: format!("{word}{space}"), display: word })
        .collect()
}

impl Hinter for Keys {
    type Hint = String;

    fn hint(&self, line: &str, cursor: usize, context: &Context<'_>) -> Option<String> {
        self.hints.hint(line, cursor, context).filter(|hint| escape::is_plain(hint))
    }
}

impl Highlighter for Keys {
    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(format!("\x1b[2m{hint}\x1b[0m"))
    }
}

impl Validator for Keys {}

impl Helper for Keys {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser;

    #[test]
    fn the_prompt_names_the_capsule_and_the_branch_and_nothing_that_acts() {
        let with = |arguments: &[&str]| {
            let words = ["kapsa"].iter().chain(arguments).chain(&["stats"]);
            prompt(&App::new(
                Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).global,
            ))
        };
        assert_eq!(with(&["--capsule", "a/team.kapsa", "--branch", "main"]), "kapsa team> ");
        assert_eq!(
            with(&["--capsule", "a/team.kapsa", "--branch", "run/x"]),
            "kapsa team (run/x)> "
        );
        assert_eq!(
            with(&["--capsule", "a\x1b[31m.kapsa", "--branch", "main"]),
            "kapsa a\\x1b[31m> "
        );
    }

    #[test]
    fn a_space_follows_the_only_word_that_fits() {
        let replaced = |words: &[&str], at_the_end| {
            let words = words.iter().map(|word| (*word).to_string()).collect();
            candidates(words, at_the_end)
                .into_iter()
                .map(|pair| pair.replacement)
                .collect::<Vec<_>>()
        };
        assert_eq!(replaced(&["stats"], true), ["stats "]);
        assert_eq!(replaced(&["stats"], false), ["stats"]);
        assert_eq!(replaced(&["get", "getx"], true), ["get", "getx"]);
    }
}
