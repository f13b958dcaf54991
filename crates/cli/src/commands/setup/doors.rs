//! Tries one client's doors: its server, its hooks, its passage. A capsule of its own is written
//! to, so that nobody's memory is.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kapsa_setup::{Client, Doors, EVENTS, Event, Scope, Server, is_own_hook};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::places::Here;
use super::same_file;
use super::server::{PATIENCE, Serving, one_line};
use crate::app::App;
use crate::error::{CliError, Result};
use crate::escape;
use crate::locate::seen_from;
use crate::wire::setup::SetupTrialOut;

/// The variable that names the capsule of a call.
const CAPSULE: &str = "KAPSA_CAPSULE";
/// What stands for a project's folder in entries of programs that name none.
const WORKSPACE_VARIABLE: &str = "${workspaceFolder}";
/// What the variables of this program begin with: an entry may set those.
const OWN_VARIABLES: &str = "KAPSA_";
/// A word that nothing else has.
const WORD: &str = "quizzaciously";
/// How often a hook that runs is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// One client that is tried.
pub(crate) struct Trying<'a> {
    here: &'a Here,
    client: &'static Client,
    scope: Scope,
    folder: TempDir,
}

impl<'a> Trying<'a> {
    pub(crate) fn new(
        app: &App,
        here: &'a Here,
        client: &'static Client,
        scope: Scope,
    ) -> Result<Trying<'a>> {
        let folder =
            tempfile::tempdir().map_err(|error| CliError::io("make a temporary folder", &error))?;
        let trying = Trying { here, client, scope, folder };
        kapsa_memory::create(&trying.capsule(), &app.write_options(None))?;
        Ok(trying)
    }

    fn capsule(&self) -> PathBuf {
        self.folder.path().join("check.kapsa")
    }

    /// Tries everything.
    pub(crate) fn all(&self, doors: &Doors) -> Vec<SetupTrialOut> {
        let mut trials = Vec::new();
        match &doors.server {
            Some(server) => {
                trials.push(self.memory(server));
                self.server(server, &doors.server_file, &mut trials);
            }
            None => {
                let reason = format!("no entry `kapsa` in {}", doors.server_file.display());
                trials.push(fails("server", reason));
            }
        }
        if let Some(file) = &doors.hooks_file {
            self.hooks(doors, file, &mut trials);
        }
        if let Some(file) = &doors.passage_file {
            trials.push(works("passage", file.display().to_string()));
        }
        trials
    }

    /// The capsule that the server uses when nobody checks it.
    fn memory(&self, server: &Server) -> SetupTrialOut {
        let named = server.env.iter().find(|(name, _)| name == CAPSULE);
        let memory = match named {
            Some((_, path)) => {
                let variable = self.client.workspace.unwrap_or(WORKSPACE_VARIABLE);
                Some(PathBuf::from(path.replace(variable, &self.place().to_string_lossy())))
            }
            None => match seen_from(self.place()) {
                Ok(path) => Some(path),
                Err(error) if error.code == "no_capsule" => None,
                Err(error) => return fails("memory", error.message),
            },
        };
        match memory {
            Some(path) if path.exists() => works("memory", path.display().to_string()),
            Some(path) => fails("memory", format!("there is no {}", path.display())),
            None => fails("memory", format!("none in {} or above", self.place().display())),
        }
    }

    /// The folder that the program is in when it starts the server.
    fn place(&self) -> &Path {
        match self.scope {
            Scope::Global => &self.here.places.home,
            Scope::Project => &self.here.places.project,
        }
    }

    fn server(&self, server: &Server, file: &Path, trials: &mut Vec<SetupTrialOut>) {
        let started = self.command(server).and_then(Serving::start);
        let mut serving = match started {
            Ok((serving, named)) => {
                trials.push(works("server", format!("{named}, from {}", file.display())));
                serving
            }
            Err(reason) => {
                trials.push(fails("server", format!("{reason}, from {}", file.display())));
                return;
            }
        };
        if let Err((what, reason)) = self.tools(&mut serving, trials) {
            trials.push(fails(what, serving.end(&reason)));
        } else {
            serving.end("");
        }
    }

    /// The command of an entry. Only this program is started, whatever an entry says.
    fn command(&self, server: &Server) -> Result<Command, String> {
        if server.off {
            return Err("the entry is turned off".to_string());
        }
        let named = Path::new(&server.command);
        let path = if named.is_absolute() {
            named.to_path_buf()
        } else {
            let found =
                self.here.on_path(&server.command).filter(|_| named.components().count() == 1);
            found.ok_or_else(|| format!("`{}` is not on the search path", server.command))?
        };
        self.expect_this(&path)?;
        if let Some((name, _)) =
            server.env.iter().find(|(name, _)| !name.starts_with(OWN_VARIABLES))
        {
            return Err(format!("the entry sets {name}; it is not started"));
        }
        if !is_server(&server.args) {
            let args = server.args.join(" ");
            return Err(format!("the entry runs `{}`; it is not tried", escape::line(&args)));
        }
        let mut command = Command::new(path);
        command.args(&server.args).envs(server.env.iter().map(|(name, value)| (name, value)));
        self.surround(&mut command);
        Ok(command)
    }

    fn expect_this(&self, path: &Path) -> Result<(), String> {
        if !path.exists() {
            return Err(format!("there is no {}", path.display()));
        }
        match same_file(path, Path::new(&self.here.program.path)) {
            true => Ok(()),
            false => Err(format!("{} is another program; run kapsa setup again", path.display())),
        }
    }

    fn surround(&self, command: &mut Command) {
        command.current_dir(self.place()).env(CAPSULE, self.capsule());
    }

    fn tools(
        &self,
        serving: &mut Serving,
        trials: &mut Vec<SetupTrialOut>,
    ) -> Result<(), (&'static str, String)> {
        let listed = serving.call("tools/list", json!({})).map_err(|reason| ("tools", reason))?;
        let names: Vec<&str> = listed["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        trials.push(works("tools", format!("{}: {}", names.len(), names.join(", "))));
        let text = format!("The check of the setup wrote the word {WORD}.");
        let written = call_tool(serving, "memory_write", json!({ "text": text }))
            .map_err(|reason| ("write", reason))?;
        trials.push(works("write", one_line(written.as_bytes())));
        let found = call_tool(serving, "memory_search", json!({ "query": WORD }))
            .map_err(|reason| ("find", reason))?;
        if !found.contains(&text) && !found.contains("wrote the word") {
            return Err(("find", "what was written was not found".to_string()));
        }
        trials.push(works("find", "what was written was found".to_string()));
        Ok(())
    }

    fn hooks(&self, doors: &Doors, file: &Path, trials: &mut Vec<SetupTrialOut>) {
        for event in &EVENTS {
            let what = format!("hook {}", event.name);
            let of_event = doors.hooks.iter().filter(|(name, _)| name == event.name);
            let commands: Vec<&String> = of_event.map(|(_, command)| command).collect();
            trials.push(match commands.as_slice() {
                [] => fails(&what, format!("not in {}", file.display())),
                [command] => match self.hook(command, event) {
                    Ok(said) => works(&what, said),
                    Err(reason) => fails(&what, reason),
                },
                several => fails(&what, format!("{} times in {}", several.len(), file.display())),
            });
        }
    }

    /// Runs a hook as its program would. Gives what it said.
    fn hook(&self, command: &str, event: &Event) -> Result<String, String> {
        if !is_own_hook(command, event, self.client.name) {
            return Err("its command is not the one that setup writes; run kapsa setup".to_string());
        }
        let words = shlex::split(command).unwrap_or_default();
        let program = words.first().cloned().unwrap_or_default();
        let found = match Path::new(&program).is_absolute() {
            true => Some(PathBuf::from(&program)),
            false => self.here.on_path(&program),
        };
        self.expect_this(&found.ok_or_else(|| format!("`{program}` is not on the search path"))?)?;
        let mut shell = Command::new("sh");
        shell.args(["-c", command]);
        self.surround(&mut shell);
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = shell.spawn().map_err(|error| format!("it does not start: {error}"))?;
        if let Some(mut input) = child.stdin.take() {
            // May be dropped: a hook need not read its event to the end.
            let _read_by_the_hook = input.write_all(self.payload(event).to_string().as_bytes());
        }
        wait(&mut child)?;
        let done = child.wait_with_output().map_err(|error| format!("no output: {error}"))?;
        if !done.status.success() {
            return Err(format!("{}: {}", done.status, one_line(&done.stderr)));
        }
        // A hook that fails lets the session go on, and complains.
        if !done.stderr.trim_ascii().is_empty() {
            return Err(one_line(&done.stderr));
        }
        let said = String::from_utf8_lossy(&done.stdout);
        match said.trim() {
            "" => Ok("says nothing".to_string()),
            said if serde_json::from_str::<Value>(said).is_ok() => Ok("answers JSON".to_string()),
            said => Err(format!("it answers no JSON: {}", one_line(said.as_bytes()))),
        }
    }

    /// An event as a program would tell it.
    fn payload(&self, event: &Event) -> Value {
        json!({
            "session_id": "kapsa-setup-check",
            // Nothing is there to be learned from.
            "transcript_path": null,
            "cwd": self.folder.path(),
            "hook_event_name": event.name,
            "source": "startup",
            "prompt": format!("Who wrote the word {WORD}?"),
            "trigger": "auto",
            "reason": "other",
            "stop_hook_active": false,
        })
    }
}

fn wait(child: &mut Child) -> Result<(), String> {
    let until = Instant::now() + PATIENCE;
    loop {
        match child.try_wait() {
            Ok(Some(_)) => return Ok(()),
            Ok(None) if Instant::now() < until => thread::sleep(LOOK),
            Ok(None) => {
                // May be dropped: it is reported as too slow either way.
                let _ended = child.kill();
                return Err(format!("it takes longer than {} s", PATIENCE.as_secs()));
            }
            Err(error) => return Err(format!("it cannot be waited for: {error}")),
        }
    }
}

/// Calls a tool. Gives the text of its answer.
fn call_tool(serving: &mut Serving, name: &str, arguments: Value) -> Result<String, String> {
    let answer = serving.call("tools/call", json!({ "name": name, "arguments": arguments }))?;
    let content = answer["content"].as_array().into_iter().flatten();
    let texts: Vec<&str> = content.filter_map(|part| part["text"].as_str()).collect();
    let text = texts.join("\n");
    match answer["isError"].as_bool() {
        Some(true) => Err(format!("{name}: {}", one_line(text.as_bytes()))),
        _ => Ok(text),
    }
}

fn works(what: &str, detail: String) -> SetupTrialOut {
    SetupTrialOut { what: what.to_string(), works: true, detail }
}

fn fails(what: &str, detail: String) -> SetupTrialOut {
    SetupTrialOut { what: what.to_string(), works: false, detail }
}

/// Whether arguments start a server over pipes, and nothing else: an entry may come with somebody's
/// repository. Which capsule it serves is not theirs to say while it is tried.
fn is_server(args: &[String]) -> bool {
    const HARMLESS: [&str; 5] = ["--as", "--branch", "--lock-timeout", "--min-trust", "--trust"];
    let Some((verb, options)) = args.split_first() else { return false };
    let pairs = options.chunks(2);
    verb == "mcp"
        && pairs.into_iter().all(|pair| pair.len() == 2 && HARMLESS.contains(&pair[0].as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_a_server_over_pipes_is_tried() {
        let is_tried =
            |args: &[&str]| is_server(&args.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert!(is_tried(&["mcp"]) && is_tried(&["mcp", "--as", "guest", "--trust", "tool"]));
        for args in [
            &[][..],
            &["purge", "note/precious", "--yes"],
            &["mcp", "--capsule", "/somewhere"],
            &["mcp", "--http", "127.0.0.1:8787"],
            &["--capsule", "/somewhere", "mcp"],
            &["setup", "codex"],
            &["mcp", "--as"],
        ] {
            assert!(!is_tried(args), "{args:?}");
        }
    }
}
