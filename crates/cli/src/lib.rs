//! `kapsa`, a memory for AI agents in one file, from the command line.
//! The only crate that knows the terminal, the environment, the clock and JSON shapes; knows
//! nothing of the bytes of a file or of ranking, which belong to the libraries.
//!
//! A call goes: `args` says what was typed, one module under `commands` does it through the
//! library, `output` prints it, `error` decides the exit code.
//!
//! A library, so that its readers of foreign bytes can be tested from outside; the program is
//! [`main`] and nothing else.

mod app;
mod args;
mod backend_kind;
mod backends;
mod calendar;
mod command_model;
mod commands;
mod completion;
mod config_file;
mod conflict;
mod editor;
mod error;
mod escape;
mod examples;
#[doc(hidden)]
pub mod fuzzing;
mod git_exclude;
mod holder;
mod json_input;
mod language_models;
mod lines;
mod locate;
mod log_graph;
mod memvid;
mod models;
mod moment;
mod open_json;
mod out_file;
mod output;
mod progress;
mod render;
mod role_config;
mod run_config;
#[doc(hidden)]
pub mod schema;
mod sealed;
mod services;
mod shell;
mod signing_key;
mod ssh;
mod sys;
mod trace_config;
mod typed_time;
mod upkeep;
mod watching;
mod wire;

/// The Rust blocks of the documentation, compiled and run.
#[cfg(doctest)]
mod documentation {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/agents.md")]
    struct Agents;
}

use std::collections::HashSet;
use std::ffi::OsString;
use std::mem::ManuallyDrop;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, ColorChoice, Command, CommandFactory, FromArgMatches, ValueEnum};

use crate::app::{App, Status};
use crate::args::{Cli, Global, HookArgs, HookVerb, RunArgs, RunVerb, Verb};
use crate::error::{CliError, Place, Result};
use crate::output::ErrorStyle;

/// Exit code of a wrong call of `svc`, as the clients of that interface know it.
const EXIT_USAGE_SVC: u8 = 2;
/// Exit code of a hook that failed: programs that call hooks go on after any other.
const EXIT_BLOCKS: u8 = 2;

/// The program: reads the process's arguments, does what they ask for, and says how it ended.
#[must_use]
pub fn main() -> ExitCode {
    sys::ignore_file_size_signal();
    sys::unset_empty_variables();
    match completion::answer() {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(error) => return ExitCode::from(fail(&error, ErrorStyle::People)),
    }
    let typed = arguments(std::env::args_os().skip(1));
    if let Some(verb) = open_hook(&typed) {
        hook_that_fails_open(verb, &typed);
        return ExitCode::SUCCESS;
    }
    let style = error_style(&typed);
    let failed = |code: u8, error: &CliError| match typed_verb(&typed) {
        _ if code == 0 => 0,
        Some("hook") => EXIT_BLOCKS,
        Some(verb) if TRACE_VERBS.contains(&verb) => trace_exit_code(error),
        _ if is_strict(&typed) && INVALID.contains(&error.code) => EXIT_INVALID,
        _ => code,
    };
    let code = match parse(&typed) {
        Ok(cli) => {
            run(cli).map_or_else(|error| failed(fail(&error, style), &error), Status::exit_code)
        }
        Err(error) => match refuse(&error, style, &typed, Place::default()) {
            0 => 0,
            code => match typed_verb(&typed) {
                Some("hook") => EXIT_BLOCKS,
                Some(verb) if TRACE_VERBS.contains(&verb) => EXIT_USAGE_TRACES,
                _ => code,
            },
        },
    };
    ExitCode::from(code)
}

/// The hook that is called, if it is one that fails open.
fn open_hook(typed: &[OsString]) -> Option<&str> {
    let at = typed.iter().position(|word| word == "hook")?;
    commands::open_verb(&typed[at + 1..]).filter(|_| typed_verb(typed) == Some("hook"))
}

/// Calls a hook that fails open: what is wrong with the call is said in one line as well.
fn hook_that_fails_open(verb: &str, typed: &[OsString]) {
    commands::fail_open();
    let failed = match parse(typed) {
        Ok(cli) => run(cli).err().map(|error| error.message),
        Err(error)
            if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) =>
        {
            refuse(&error, ErrorStyle::People, typed, Place::default());
            None
        }
        Err(error) => Some(usage_error(&explained(&error, typed)).message),
    };
    if let Some(message) = failed {
        commands::tell_failed(verb, &message);
    }
}

/// Exit code of what does not fit its rules, where it is asked for.
const EXIT_INVALID: u8 = 3;
/// Codes of errors that say so.
const INVALID: [&str; 5] =
    ["unknown_event_type", "invalid_record", "invalid_json", "not_a_capsule", "corrupt"];
/// The variable that asks for it.
const STRICT_EXIT: &str = "KAPSA_STRICT_EXIT";

/// Whether exit code 3 is asked for.
fn is_strict(typed: &[OsString]) -> bool {
    let no = ["", "0", "n", "no", "f", "false", "off"];
    let by_variable = || {
        let value = std::env::var(STRICT_EXIT).unwrap_or_default().to_ascii_lowercase();
        !no.contains(&value.as_str())
    };
    let mut flags = typed.iter().take_while(|arg| *arg != "--");
    flags.any(|arg| arg == "--strict-exit") || by_variable()
}

/// Verbs of session traces, whose exit codes are those of the first programs of their kind.
const TRACE_VERBS: [&str; 5] = ["sync", "trace", "status", "connect", "maintain"];
const EXIT_USAGE_TRACES: u8 = 2;
const EXIT_LOCK_BUSY: u8 = 4;

fn trace_exit_code(error: &CliError) -> u8 {
    match error.code {
        "usage" => EXIT_USAGE_TRACES,
        "locked_by_writer" | "already_watched" => EXIT_LOCK_BUSY,
        _ => 1,
    }
}

/// The first word that is neither a global option nor the value of one.
fn typed_verb(typed: &[OsString]) -> Option<&str> {
    let command = Cli::command();
    let takes_value = |word: &str| {
        word.strip_prefix("--").is_some_and(|name| {
            command.get_arguments().any(|argument| {
                argument.get_long() == Some(name) && argument.get_action().takes_values()
            })
        })
    };
    let mut words = typed.iter().skip(1);
    loop {
        let word = words.next()?.to_str()?;
        if takes_value(word) {
            words.next();
        } else if !word.starts_with('-') {
            return Some(word);
        }
    }
}

/// Everything that can be typed, for tests that walk through it.
#[doc(hidden)]
#[must_use]
pub fn command() -> Command {
    let mut command = args::command();
    command.build();
    command
}

fn parse(typed: &[OsString]) -> Result<Cli, clap::Error> {
    if let Some(cli) = parse_frequent(typed) {
        return Ok(cli);
    }
    whole_tree(typed).or_else(|error| {
        let moved = text_last(typed, &error).and_then(|moved| whole_tree(&moved).ok());
        moved.ok_or(error)
    })
}

/// Reads a call with the tree of all verbs.
fn whole_tree(typed: &[OsString]) -> Result<Cli, clap::Error> {
    // Taking the tree of commands apart would cost a short call as much as reading the arguments
    // does; the process ends soon anyway.
    let mut command = ManuallyDrop::new(args::command());
    let mut matches = command.try_get_matches_from_mut(typed)?;
    Cli::from_arg_matches_mut(&mut matches)
}

/// Reads a well-formed call of a verb that agents call all the time, without the tree of all verbs,
/// which would cost more than the put itself. Whatever is odd about the call, help included, is
/// left to the whole tree.
fn parse_frequent(typed: &[OsString]) -> Option<Cli> {
    let (verb, arguments) = typed.get(1..)?.split_first()?;
    match verb.to_str()? {
        "put" | "add" => parse_alone(arguments, |put| Verb::Put(Box::new(put))),
        "get" => parse_alone(arguments, Verb::Get),
        "find" | "search" => parse_alone(arguments, |find| Verb::Find(Box::new(find))),
        "context" => parse_alone(arguments, |context| Verb::Context(Box::new(context))),
        "stats" | "info" => parse_alone(arguments, Verb::Stats),
        "timeline" => parse_alone(arguments, |timeline| Verb::Timeline(Box::new(timeline))),
        "history" => parse_alone(arguments, Verb::History),
        "forget" => parse_alone(arguments, Verb::Forget),
        "run" => parse_run(arguments),
        "hook" => parse_hook(arguments),
        _ => None,
    }
}

fn parse_run(arguments: &[OsString]) -> Option<Cli> {
    let run = |verb| Verb::Run(Box::new(RunArgs { verb }));
    let (verb, arguments) = arguments.split_first()?;
    match verb.to_str()? {
        "record" => parse_alone(arguments, |record| run(RunVerb::Record(record))),
        "context" => parse_alone(arguments, |context| run(RunVerb::Context(context))),
        _ => None,
    }
}

fn parse_hook(arguments: &[OsString]) -> Option<Cli> {
    let hook = |verb| Verb::Hook(HookArgs { verb });
    let (verb, arguments) = arguments.split_first()?;
    match verb.to_str()? {
        "session-start" | "SessionStart" => {
            parse_alone(arguments, |args| hook(HookVerb::SessionStart(args)))
        }
        "user-prompt-submit" | "UserPromptSubmit" => {
            parse_alone(arguments, |args| hook(HookVerb::UserPromptSubmit(args)))
        }
        "pre-compact" | "PreCompact" => {
            parse_alone(arguments, |args| hook(HookVerb::PreCompact(args)))
        }
        "stop" | "Stop" => parse_alone(arguments, |args| hook(HookVerb::Stop(args))),
        "session-end" | "SessionEnd" => {
            parse_alone(arguments, |args| hook(HookVerb::SessionEnd(args)))
        }
        "subagent-stop" | "SubagentStop" => {
            parse_alone(arguments, |args| hook(HookVerb::SubagentStop(args)))
        }
        "pre-tool-use" | "PreToolUse" => {
            parse_alone(arguments, |args| hook(HookVerb::PreToolUse(args)))
        }
        _ => None,
    }
}

fn parse_alone<A: Args>(arguments: &[OsString], verb: impl FnOnce(A) -> Verb) -> Option<Cli> {
    let command = Global::augment_args(A::augment_args(Command::new("kapsa").no_binary_name(true)));
    let mut command = ManuallyDrop::new(command);
    let mut matches = command.try_get_matches_from_mut(arguments).ok()?;
    let verb = verb(A::from_arg_matches_mut(&mut matches).ok()?);
    Some(Cli { global: Global::from_arg_matches_mut(&mut matches).ok()?, verb: Some(verb) })
}

fn run(cli: Cli) -> Result<Status> {
    let Some(verb) = cli.verb else {
        output::help(&args::command().render_help(), cli.global.color)?;
        return Ok(Status::Done);
    };
    let mut app = App::new(cli.global);
    let ended = commands::run(&mut app, verb);
    let ended = ended.and_then(|status| app.out.flush().map(|()| status));
    ended.map_err(|error| app::failed(&mut app, error))
}

/// Modules of Python whose call is another verb than `svc`, by the last part of their names.
const MODULES: [(&str, [&str; 2]); 2] = [
    ("extract_pipeline", ["trace", "extract"]),
    ("summarization_pipeline", ["trace", "summarise"]),
];

/// What was typed, with `-m <module> …` turned into `svc …` or the verb that stands for the module:
/// a client made for a Python module runs unchanged.
fn arguments(typed: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut rest = typed.peekable();
    let mut all = vec![OsString::from("kapsa")];
    if rest.next_if(|first| first == "-m").is_some() {
        let module = rest.next().unwrap_or_default();
        let last = module.to_str().and_then(|module| module.rsplit('.').next());
        match MODULES.iter().find(|(name, _)| last == Some(name)) {
            Some((_, verb)) => all.extend(verb.map(OsString::from)),
            None => all.push("svc".into()),
        }
    }
    all.extend(rest);
    questions_last(all)
}

/// Verbs whose words are a text of its own, such as a question or a fact.
const TEXT_VERBS: [&str; 5] = ["find", "search", "fact", "episode", "insight"];

/// A call whose text begins with a dash, such as `find "-rf in a script"`, with the text behind
/// `--`: no flag has blanks in it. What follows an option is the option's.
fn questions_last(typed: Vec<OsString>) -> Vec<OsString> {
    let is_question = |arg: &OsString| {
        let text = arg.to_string_lossy();
        let name = text.split('=').next().unwrap_or_default();
        text.starts_with('-') && name.contains(char::is_whitespace)
    };
    let end = typed.iter().position(|arg| arg == "--").unwrap_or(typed.len());
    let takes_text = || typed_verb(&typed).is_some_and(|verb| TEXT_VERBS.contains(&verb));
    if !typed[..end].iter().any(is_question) || !takes_text() {
        return typed;
    }
    let options = options_with_values();
    let is_value = |at: usize| {
        let option = typed[at - 1].to_str().and_then(|word| word.strip_prefix("--"));
        option.is_some_and(|option| options.contains(option))
    };
    let (mut flags, mut questions) = (Vec::new(), Vec::new());
    for (at, arg) in typed[..end].iter().enumerate() {
        let is_text = is_question(arg) && !is_value(at);
        let side = if is_text { &mut questions } else { &mut flags };
        side.push(arg.clone());
    }
    if questions.is_empty() {
        return typed;
    }
    flags.push("--".into());
    flags.extend(questions);
    flags.extend(typed.into_iter().skip(end + 1));
    flags
}

/// Names of all options that take a value, of whichever verb.
fn options_with_values() -> HashSet<String> {
    fn collect(command: &Command, names: &mut HashSet<String>) {
        let options = command.get_arguments().filter(|arg| arg.get_action().takes_values());
        names.extend(options.filter_map(|arg| arg.get_long().map(str::to_string)));
        command.get_subcommands().for_each(|verb| collect(verb, names));
    }
    let mut names = HashSet::new();
    collect(&command(), &mut names);
    names
}

/// A call whose only text begins with a dash and has no blanks, such as `find -x`, with the text
/// behind `--`; none where something else is wrong with it. Where there is other text, an unknown
/// flag is a mistake.
fn text_last(typed: &[OsString], error: &clap::Error) -> Option<Vec<OsString>> {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    if error.kind() != ErrorKind::UnknownArgument || typed.iter().any(|arg| arg == "--") {
        return None;
    }
    typed_verb(typed).filter(|verb| TEXT_VERBS.contains(verb))?;
    let is_meant = |arg: &OsString| {
        let text = arg.to_string_lossy();
        text == *unknown || !text.starts_with("--") && text.starts_with(unknown.as_str())
    };
    let at = typed.iter().position(is_meant)?;
    let mut rest = typed.to_vec();
    let text = rest.remove(at);
    let missing = whole_tree(&rest).err()?.kind() == ErrorKind::MissingRequiredArgument;
    rest.extend(["--".into(), text]);
    missing.then_some(rest)
}

/// How failures are reported, known before the call is parsed, since that may be what fails.
fn error_style(typed: &[OsString]) -> ErrorStyle {
    let mut flags = typed.iter().skip(1).take_while(|arg| *arg != "--");
    if typed.get(1).is_some_and(|verb| verb == "svc") {
        ErrorStyle::Svc
    } else if flags.any(|arg| arg == "--json") {
        ErrorStyle::Json
    } else {
        ErrorStyle::People
    }
}

/// When to use colour, known before the call is parsed, for help and errors.
fn color_choice(typed: &[OsString]) -> ColorChoice {
    let mut words =
        typed.iter().skip(1).take_while(|arg| *arg != "--").filter_map(|arg| arg.to_str());
    let mut choice = ColorChoice::Auto;
    while let Some(word) = words.next() {
        let value = if word == "--color" { words.next() } else { word.strip_prefix("--color=") };
        choice = value.and_then(|value| ColorChoice::from_str(value, false).ok()).unwrap_or(choice);
    }
    choice
}

/// Reports a failure. Returns the exit code.
fn fail(error: &CliError, style: ErrorStyle) -> u8 {
    if error.kind == error::Kind::Quiet {
        return 0;
    }
    output::error(error, style);
    match style {
        ErrorStyle::Svc => 1,
        ErrorStyle::People | ErrorStyle::Json => error.exit_code(),
    }
}

/// Answers a call that is not a command: help, version, or a mistake. Returns the exit code.
fn refuse(error: &clap::Error, style: ErrorStyle, typed: &[OsString], place: Place) -> u8 {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return output::help(&error.render(), color_choice(typed))
            .map_or_else(|error| fail(&error, style), |()| 0);
    }
    let text = explained(error, typed);
    let placed = place.before(&text);
    match style {
        ErrorStyle::Json => output::error(&place.of(usage_error(&text)), style),
        ErrorStyle::People => output::usage(&placed),
        ErrorStyle::Svc if text.contains("Usage:") => output::usage(&placed),
        ErrorStyle::Svc => output::usage(&format!("{placed}\n{}\n", svc_usage(typed))),
    }
    if style == ErrorStyle::Svc { EXIT_USAGE_SVC } else { 1 }
}

/// What the parser says of a mistake. Its tip that an unknown word could be meant as a value is
/// kept only where that may be so: not for an option, and not for a negative number after one.
fn explained(error: &clap::Error, typed: &[OsString]) -> String {
    let text = error.render().to_string();
    let unknown = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(unknown)) if error.kind() == ErrorKind::UnknownArgument => {
            unknown
        }
        _ => return text,
    };
    if unknown.starts_with("--") {
        let tip = format!("  tip: to pass '{unknown}' as a value, use '-- {unknown}'\n\n");
        return text.replace(&tip, "");
    }
    let is_number = unknown.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    let words: Vec<&str> = typed.iter().filter_map(|word| word.to_str()).collect();
    let taken = |pair: &&[&str]| pair[0].starts_with("--") && pair[1].starts_with(unknown.as_str());
    match (words.windows(2).find(taken), text.split_once("Usage:")) {
        (Some([option, value]), Some((_, usage))) if is_number => {
            format!("error: {option} does not take a negative value: {value}\n\nUsage:{usage}")
        }
        _ => text,
    }
}

/// The usage of the verb of `svc` that was typed.
fn svc_usage(typed: &[OsString]) -> String {
    let mut command = args::command();
    command.build();
    let verb = typed.get(2).and_then(|verb| verb.to_str()).unwrap_or_default();
    let usage = command
        .find_subcommand_mut("svc")
        .and_then(|svc| svc.find_subcommand_mut(verb))
        .map(clap::Command::render_usage);
    usage.map_or_else(|| "Usage: kapsa svc <COMMAND>".to_string(), |usage| usage.to_string())
}

/// The first paragraph of the parser's text is the message; the usage of the verb is the hint.
fn usage_error(text: &str) -> CliError {
    let (first, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    let message =
        first.trim().trim_start_matches("error: ").split_whitespace().collect::<Vec<_>>().join(" ");
    let called = rest.lines().find(|line| line.starts_with("Usage:")).unwrap_or("kapsa --help");
    CliError::usage(message).hint(called.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(args: &[&str]) -> Vec<OsString> {
        arguments(args.iter().map(OsString::from))
    }

    #[test]
    fn a_module_call_is_a_service_call() {
        assert_eq!(typed(&["-m", "src", "create", "x"]), ["kapsa", "svc", "create", "x"]);
        assert_eq!(typed(&["find", "-m", "x"]), ["kapsa", "find", "-m", "x"]);
        assert_eq!(typed(&["-m"]), ["kapsa", "svc"]);
        assert_eq!(
            typed(&["-m", "acreta.memory.extract_pipeline", "--output", "x"]),
            ["kapsa", "trace", "extract", "--output", "x"]
        );
        assert_eq!(
            typed(&["-m", "acreta.memory.summarization_pipeline"]),
            ["kapsa", "trace", "summarise"]
        );
        assert_eq!(typed(&["-m", "extract_pipeline.x", "info"]), ["kapsa", "svc", "info"]);
    }

    #[test]
    fn a_text_may_begin_with_a_dash_and_an_unknown_flag_beside_text_is_a_mistake() {
        let read = |args: &[&str]| parse(&typed(args)).is_ok();
        for call in [
            &["find", "-x"][..],
            &["find", "-rf", "--json"],
            &["find", "-rf in a script", "-k", "3"],
            &["fact", "add", "-x is bad", "--entity", "e"],
            &["fact", "add", "--x"],
            &["fact", "add", "x", "--entity", "-e and more"],
            &["episode", "add", "- did it", "--agent", "a"],
            &["context", "--query", "-x"],
            &["commit", "--label", "-x"],
            &["put", "--title", "-t", "--text", "-x", "--label", "-l"],
            &["run", "task", "start", "t1", "--title", "-t", "--description", "-d"],
        ] {
            assert!(read(call), "{call:?}");
        }
        for call in [&["find", "lock", "-n", "5"][..], &["find", "lock", "--limt", "5"]] {
            assert!(!read(call), "{call:?}");
        }
    }

    #[test]
    fn the_style_of_errors_is_known_from_the_words_alone() {
        assert_eq!(error_style(&typed(&["-m", "src", "info"])), ErrorStyle::Svc);
        assert_eq!(error_style(&typed(&["get", "--json"])), ErrorStyle::Json);
        assert_eq!(error_style(&typed(&["find", "--", "--json"])), ErrorStyle::People);
    }

    #[test]
    fn the_colour_is_known_from_the_words_alone() {
        for (args, want) in [
            (&["find", "x"][..], ColorChoice::Auto),
            (&["--color", "always", "find", "x"], ColorChoice::Always),
            (&["find", "x", "--color=never"], ColorChoice::Never),
            (&["find", "--", "--color=never"], ColorChoice::Auto),
            (&["find", "--color", "loud"], ColorChoice::Auto),
        ] {
            assert_eq!(color_choice(&typed(args)), want, "{args:?}");
        }
    }

    /// The short way and the whole tree read the same calls alike, and the short way leaves the odd
    /// ones alone.
    #[test]
    fn frequent_calls_are_read_as_the_whole_tree_reads_them() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        let calls = [
            "kapsa put --text x",
            "kapsa put --text x --json --capsule a.kapsa --tag a=b --lock-timeout 3",
            "kapsa put a.md docs --kind doc",
            "kapsa get note/x --seq 3 --json",
            "kapsa search which port -k 3 --color never",
            "kapsa add --text x",
            "kapsa find which port -k 3 --kind fact --since 7d",
            "kapsa info",
            "kapsa stats --json --capsule a.kapsa",
            "kapsa timeline --limit 3 --reverse",
            "kapsa history note/x --json",
            "kapsa forget note/x",
            "kapsa run record --task t --role builder --text x --run 17",
            "kapsa run context --role builder --budget 99 --format json",
        ];
        for call in calls {
            let mut matches = args::command().try_get_matches_from(words(call)).expect("valid");
            let whole = Cli::from_arg_matches_mut(&mut matches).expect("valid");
            let short = parse_frequent(&words(call)).expect("read");
            // A relative time is read twice, at two moments.
            let settled = |cli: &Cli| format!("{cli:?}").split("since").next().map(str::to_string);
            assert_eq!(settled(&short), settled(&whole), "{call}");
        }
        for odd in [
            "kapsa",
            "kapsa put --help",
            "kapsa put --nonsense",
            "kapsa --json put --text x",
            "kapsa get",
            "kapsa history",
            "kapsa doctor",
            "kapsa run",
            "kapsa run context --nonsense",
            "kapsa run list",
        ] {
            assert!(parse_frequent(&words(odd)).is_none(), "{odd}");
        }
    }
}
