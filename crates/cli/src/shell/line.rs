//! Runs one line of the shell, which does what the same words would do as a call of their own.

use std::ffi::OsString;
use std::io::{self, Write};

use clap::parser::ValueSource;
use clap::{ArgMatches, FromArgMatches};

use super::ENDINGS;
use crate::app::Status;
use crate::args::{Cli, Global, Verb};
use crate::error::{CliError, Kind, Place, Result};
use crate::output::ErrorStyle;

/// How a line ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// With this exit code; what went wrong was reported.
    Code(u8),
    /// It asked for the end of the shell, or nobody reads its answers any more.
    Shell,
}

/// Runs one line. `held` are the flags of the shell itself.
pub(super) fn run(line: &str, held: &Global, place: Place) -> Ended {
    let style_of = |typed: &[OsString]| match crate::error_style(typed) {
        ErrorStyle::People if held.json => ErrorStyle::Json,
        style => style,
    };
    let words = match words(line) {
        Ok(words) => words,
        Err(error) => return Ended::Code(crate::fail(&place.of(error), style_of(&[]))),
    };
    match &words[..] {
        [] => return Ended::Code(0),
        [only] if ENDINGS.contains(&only.as_str()) => return Ended::Shell,
        _ => {}
    }
    let typed = crate::arguments(words.into_iter().map(OsString::from));
    let style = style_of(&typed);
    let ended = match parse(&typed, held) {
        Err(error) => Ended::Code(crate::refuse(&error, style, &typed, place)),
        Ok(cli) => tell(call(cli), style, place),
    };
    // Whatever was printed is out before the next line runs. When it cannot be, the next line says
    // so.
    let _the_next_line_says_so = io::stdout().flush();
    ended
}

/// The words of a line, without the `kapsa` or the `/` that may stand before its verb.
pub(super) fn words(line: &str) -> Result<Vec<String>> {
    let mut words = shlex::split(line).ok_or_else(|| {
        CliError::usage("a quote is not closed")
            .hint("put text in quotes, and a quote itself in quotes of the other kind")
    })?;
    if words.first().is_some_and(|word| word == "kapsa") {
        words.remove(0);
    }
    if let Some(verb) = words.first_mut().filter(|word| word.len() > 1 && word.starts_with('/')) {
        verb.remove(0);
    }
    Ok(words)
}

/// Reads the words of a line by the tree of all verbs.
fn parse(typed: &[OsString], held: &Global) -> Result<Cli, clap::Error> {
    let mut matches = crate::args::command().try_get_matches_from(typed)?;
    let given = Given::of(&matches);
    let mut cli = Cli::from_arg_matches_mut(&mut matches)?;
    given.hold(&mut cli.global, held);
    Ok(cli)
}

/// Which flags of every verb a line gives itself.
struct Given {
    capsule: bool,
    branch: bool,
    json: bool,
    lock_timeout: bool,
    principal: bool,
    color: bool,
}

impl Given {
    fn of(matches: &ArgMatches) -> Given {
        let given = |flag| matches.value_source(flag) == Some(ValueSource::CommandLine);
        Given {
            capsule: given("capsule"),
            branch: given("branch"),
            json: given("json"),
            lock_timeout: given("lock_timeout"),
            principal: given("principal"),
            color: given("color"),
        }
    }

    /// Fills in what the line does not give.
    fn hold(&self, global: &mut Global, held: &Global) {
        if !self.capsule {
            global.capsule.clone_from(&held.capsule);
        }
        if !self.branch {
            global.branch.clone_from(&held.branch);
        }
        if !self.json {
            global.json = held.json;
        }
        if !self.lock_timeout {
            global.lock_timeout = held.lock_timeout;
        }
        if !self.principal {
            global.principal.clone_from(&held.principal);
        }
        if !self.color {
            global.color = held.color;
        }
    }
}

fn call(cli: Cli) -> Result<Status> {
    match &cli.verb {
        Some(Verb::Shell(_)) => {
            Err(CliError::usage("this is already a shell").hint("type a verb, or exit to leave"))
        }
        _ => crate::run(cli),
    }
}

fn tell(ended: Result<Status>, style: ErrorStyle, place: Place) -> Ended {
    match ended {
        Ok(Status::Unwell) if place.0.is_some() => {
            Ended::Code(crate::fail(&place.of(unwell()), style))
        }
        Ok(status) => Ended::Code(status.exit_code()),
        Err(error) if error.kind == Kind::Quiet => Ended::Shell,
        Err(error) => Ended::Code(crate::fail(&place.of(error), style)),
    }
}

/// On a terminal the answer says it; in a script the line has to be named.
fn unwell() -> CliError {
    CliError::system("unwell", "the capsule has a problem")
        .hint("the output of that line shows what is wrong")
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use super::*;

    fn read(line: &str, held: &Global) -> Cli {
        let words = words(line).unwrap_or_else(|error| panic!("{line}: {error:?}"));
        parse(&crate::arguments(words.into_iter().map(OsString::from)), held)
            .unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    fn held() -> Global {
        Global {
            capsule: Some("held.kapsa".into()),
            branch: Some("run/x".into()),
            principal: None,
            trust: None,
            min_trust: None,
            json: true,
            lock_timeout: Some(Duration::from_secs(3)),
            strict_exit: false,
            color: clap::ColorChoice::Never,
        }
    }

    #[test]
    fn a_verb_may_have_a_slash_or_the_programs_name_before_it() {
        for line in
            ["stats --count", "/stats --count", "kapsa stats --count", "  kapsa /stats  --count "]
        {
            assert_eq!(words(line).ok(), Some(vec!["stats".into(), "--count".into()]), "{line}");
        }
        assert_eq!(
            words("put '/a b' \"c d\"").ok(),
            Some(vec!["put".into(), "/a b".into(), "c d".into()])
        );
        assert_eq!(words(" ").ok(), Some(Vec::new()));
        assert_eq!(words("put --text 'open").expect_err("open").code, "usage");
    }

    #[test]
    fn flags_of_the_shell_hold_unless_a_line_gives_its_own() {
        let kept = read("stats", &held()).global;
        assert_eq!(
            (kept.capsule, kept.branch, kept.json, kept.lock_timeout),
            (
                Some(PathBuf::from("held.kapsa")),
                Some("run/x".into()),
                true,
                Some(Duration::from_secs(3))
            )
        );
        for line in [
            "--capsule own.kapsa stats --lock-timeout 9",
            "stats --capsule own.kapsa --lock-timeout 9 --branch main",
        ] {
            let own = read(line, &held()).global;
            assert_eq!(
                (own.capsule.as_deref(), own.lock_timeout),
                (Some(Path::new("own.kapsa")), Some(Duration::from_secs(9)))
            );
            assert!(own.json && own.color == clap::ColorChoice::Never, "{line}");
        }
        assert_eq!(read("stats --branch main", &held()).global.branch.as_deref(), Some("main"));
    }
}
