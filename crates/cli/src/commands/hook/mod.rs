//! `hook`: what programs of agents call at points of a session.
//!
//! All but `write-guard` fail open: whatever goes wrong ends with exit code 0 and one line on
//! standard error, since those programs take any other for a reason to stop or to complain. None
//! waits for the end of standard input, for a lock, or for what it has started.

mod capture;
mod deadline;
mod drain;
mod event;
mod guard;
mod once;
mod regular;
mod told;
mod write_guard;

use std::env;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf, absolute};

use crate::app::App;
use crate::args::HookVerb;
use crate::command_model::MARK;
use crate::error::{CliError, Result};
use crate::{locate, output, sys};

use deadline::Deadline;
use event::Event;

/// The verb whose failure keeps a tool from being used.
const CLOSED: &str = "write-guard";
/// The verb of the process that a hook leaves behind.
const DRAIN: &str = "drain";
/// Most letters that differ where somebody meant the guard.
const TYPOS_MAX: usize = 4;
/// The verbs that fail open, by the names that are typed and by those of the events.
const OPEN: [(&str, &str); 7] = [
    ("session-start", "SessionStart"),
    ("user-prompt-submit", "UserPromptSubmit"),
    ("pre-compact", "PreCompact"),
    ("stop", "Stop"),
    ("session-end", "SessionEnd"),
    ("subagent-stop", "SubagentStop"),
    ("pre-tool-use", "PreToolUse"),
];

/// The verb of a call of `hook` that fails open, by the words after `hook`: those above, and any
/// other name, since programs have events of their own. What may be the guard's name, misspelt, is
/// none of them: a guard that lets everything pass is worse than one that blocks.
pub(crate) fn open_verb(words: &[OsString]) -> Option<&str> {
    let mut words = words.iter().filter_map(|word| word.to_str());
    let verb = words.clone().find(|word| !word.starts_with('-'))?;
    let is_open = OPEN.iter().any(|(name, event)| *name == verb || *event == verb);
    (is_open || verb != DRAIN && !words.any(is_like_guard)).then_some(verb)
}

/// Whether a word is the guard's name, or is near to it.
fn is_like_guard(word: &str) -> bool {
    let word = word.to_lowercase();
    word.contains("guard") || strsim::osa_distance(&word, CLOSED) <= TYPOS_MAX
}

/// Says in one line why a hook that fails open did nothing.
pub(crate) fn tell_failed(verb: &str, message: &str) {
    output::failed_open(&format!("kapsa hook {verb}: {message}"));
}

/// Before a hook that fails open: a panic is told by it, in one line, and a page that is lost ends
/// it well.
pub(crate) fn fail_open() {
    std::panic::set_hook(Box::new(|_| {}));
    sys::end_well_on_lost_page();
}

/// `kapsa hook …`.
pub(crate) fn run(app: &mut App, verb: HookVerb) -> Result<()> {
    match verb {
        HookVerb::WriteGuard(args) => write_guard::run(app, &args),
        HookVerb::Drain(args) => drain::run(app, &args),
        verb => {
            answer(app, verb);
            Ok(())
        }
    }
}

/// Answers a hook that fails open.
fn answer(app: &mut App, verb: HookVerb) {
    let name = name_of(&verb);
    // The sessions of programs that this one asks for memories bring none and get none.
    if env::var_os(MARK).is_some() {
        return nothing(app);
    }
    let deadline = Deadline::begin(name);
    let answered = catch_unwind(AssertUnwindSafe(|| work(app, verb, &deadline)))
        .unwrap_or_else(|_panic| Err(CliError::system("internal", "the hook itself failed")));
    if let Err(error) = answered {
        deadline.answers(|| tell_failed(name, &error.message));
    }
}

fn work(app: &mut App, verb: HookVerb, deadline: &Deadline) -> Result<()> {
    match verb {
        HookVerb::SessionStart(args) => told::session_start(app, &args, deadline),
        HookVerb::UserPromptSubmit(args) => told::user_prompt_submit(app, &args, deadline),
        HookVerb::PreToolUse(_) => guard::run(app, deadline),
        HookVerb::PreCompact(_)
        | HookVerb::Stop(_)
        | HookVerb::SessionEnd(_)
        | HookVerb::SubagentStop(_) => capture::run(app, deadline),
        HookVerb::WriteGuard(_) | HookVerb::Drain(_) => Ok(()),
    }
}

/// The name of a verb, as it is typed.
fn name_of(verb: &HookVerb) -> &'static str {
    let at = match verb {
        HookVerb::SessionStart(_) => 0,
        HookVerb::UserPromptSubmit(_) => 1,
        HookVerb::PreCompact(_) => 2,
        HookVerb::Stop(_) => 3,
        HookVerb::SessionEnd(_) => 4,
        HookVerb::SubagentStop(_) => 5,
        HookVerb::PreToolUse(_) => 6,
        HookVerb::WriteGuard(_) | HookVerb::Drain(_) => return CLOSED,
    };
    OPEN[at].0
}

/// Has the call work where the session does, from where the capsule is looked for. Returns the
/// capsule; none where the folder has none, which is no failure: hooks that are set up for all
/// folders are called in those without a memory as well.
fn capsule(app: &mut App, event: &Event) -> Result<Option<PathBuf>> {
    let named = app.global.capsule.take().filter(|path| !path.as_os_str().is_empty());
    app.global.capsule = named.map(|path| full(&path)).transpose()?;
    if let Some(cwd) = &event.cwd {
        if !cwd.is_absolute() {
            return Err(event::malformed("cwd is not an absolute path"));
        }
        match env::set_current_dir(cwd) {
            Ok(()) => {}
            // Where there is no folder there is no memory, unless one is named.
            Err(_) if app.global.capsule.is_none() => return Ok(None),
            Err(_) => {}
        }
    }
    match locate::capsule(app.global.capsule.as_deref()) {
        Ok(path) => {
            let path = full(&path)?;
            app.global.capsule = Some(path.clone());
            Ok(Some(path))
        }
        Err(error) if error.code == "no_capsule" => Ok(None),
        Err(error) => Err(error),
    }
}

fn full(path: &Path) -> Result<PathBuf> {
    absolute(path).map_err(|error| CliError::io(&format!("find {}", path.display()), &error))
}

/// The answer of a hook that has nothing to say: none, and for programs that ask for one an empty
/// object.
fn nothing(app: &mut App) {
    if app.out.is_json() {
        // May be dropped: who does not read that there is nothing misses nothing.
        let _ = app.out.json(&crate::wire::hook::NothingOut {}).and_then(|()| app.out.flush());
    }
}
