//! A language model that is a program: it reads a prompt on its standard input and answers on its
//! standard output, such as `claude -p` or `codex exec -`. The agent that a person already pays
//! for does the work, and no key is needed here.
//!
//! No shell is involved: the words after `command:` are the program and its arguments.

use std::fs::{self, DirBuilder};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kapsa_model::{
    BoxFuture, ChatReply, ChatRequest, LanguageModel, Message, ModelError, ModelErrorKind,
};

/// What the name of such a model begins with.
pub(crate) const COMMAND: &str = "command";
/// Set for the program, so that hooks of the agent that it starts can tell.
pub(crate) const MARK: &str = "KAPSA_EXTRACTION";

/// Where Claude Code keeps its settings and sessions, if that is set.
const CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";

/// How long an answer may take.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(300);
/// Who may read the sessions of a program: their owner.
const CONFIG_DIR_MODE: u32 = 0o700;

/// How often a running program is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Longest answer, in bytes.
const ANSWER_BYTES_MAX: usize = 4 << 20;
/// How much of what a program complains about is shown, in bytes.
const COMPLAINT_BYTES_MAX: usize = 400;

/// A program that answers.
pub(crate) struct CommandModel {
    name: String,
    program: String,
    args: Vec<String>,
    time_max: Duration,
    /// Where the program keeps its sessions; none for the place that it chooses.
    config_dir: Option<PathBuf>,
}

impl CommandModel {
    /// The model that a name such as `command:claude -p` stands for.
    pub(crate) fn named(name: &str) -> Result<CommandModel, ModelError> {
        let line = name.split_once(':').map_or("", |(_, line)| line);
        let wrong = |what: &str| {
            let hint = Some("write the program and its arguments, as in \"command:claude -p\"");
            Err(ModelError::new(ModelErrorKind::NotConfigured, format!("`{name}` {what}"), hint))
        };
        let Some(mut words) = shlex::split(line) else { return wrong("has an open quote") };
        if words.is_empty() {
            return wrong("names no program");
        }
        let program = words.remove(0);
        let time_max = ANSWER_TIME_MAX;
        Ok(CommandModel {
            name: name.to_string(),
            program,
            args: words,
            time_max,
            config_dir: None,
        })
    }

    /// The same model, whose program keeps its sessions in `folder`, which is made. Nothing is set
    /// for anybody else.
    pub(crate) fn with_sessions_in(self, folder: &Path) -> Result<CommandModel, ModelError> {
        let failed = |error: io::Error| {
            let message = format!("failed to make {}: {error}", folder.display());
            ModelError::new(ModelErrorKind::NotConfigured, message, None)
        };
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        match DirBuilder::new().mode(CONFIG_DIR_MODE).create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed(error));
            }
            _ => {}
        }
        // A link would lead the program's sessions elsewhere.
        if !fs::symlink_metadata(folder).map_err(failed)?.is_dir() {
            return Err(failed(io::ErrorKind::NotADirectory.into()));
        }
        Ok(CommandModel { config_dir: Some(folder.to_path_buf()), ..self })
    }

    fn answer(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let mut child = self.start()?;
        let mut stdin = child.stdin.take();
        let prompt = prompt(request);
        // A program may answer before it has read everything.
        let writing = thread::spawn(move || match stdin.as_mut() {
            Some(stdin) => stdin.write_all(prompt.as_bytes()),
            None => Ok(()),
        });
        let answer = reading(child.stdout.take(), ANSWER_BYTES_MAX, false);
        let complaint = reading(child.stderr.take(), ANSWER_BYTES_MAX, true);
        let begun = Instant::now();
        let status = self.wait(&mut child, begun)?;
        // What it started may hold its output open for longer than itself.
        let answer = self.joined(answer, begun)?.map_err(|error| self.unavailable(&error))?;
        let complaint = self.joined(complaint, begun)?.map_err(|error| self.unavailable(&error))?;
        match self.joined(writing, begun)? {
            Ok(()) => {}
            // A program that ends without reading all of its input has answered all the same.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Err(error) => return Err(self.unavailable(&error)),
        }
        if answer.len() > ANSWER_BYTES_MAX {
            let message = format!("`{}` answered with more than 4 MiB", self.program);
            return Err(ModelError::new(ModelErrorKind::BadReply, message, None));
        }
        if !status {
            let said = String::from_utf8_lossy(&complaint);
            let from = said.len().saturating_sub(COMPLAINT_BYTES_MAX);
            let from = (from..=said.len()).find(|at| said.is_char_boundary(*at)).unwrap_or(0);
            let said = kapsa_redact::redact(said[from..].trim()).text.into_owned();
            let said = if said.is_empty() { "it says nothing" } else { said.as_str() };
            let message = format!("`{}` failed: {}", self.program, said.replace('\n', " "));
            return Err(ModelError::new(ModelErrorKind::Unavailable, message, None));
        }
        let text = String::from_utf8_lossy(&answer).into_owned();
        Ok(ChatReply { model: self.name.clone(), ..ChatReply::text(text) })
    }

    fn start(&self) -> Result<Child, ModelError> {
        let mut command = Command::new(&self.program);
        command.args(&self.args).env(MARK, "1");
        if let Some(folder) = &self.config_dir {
            command.env(CONFIG_DIR, folder);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(
            |error| {
                let message = format!("failed to start `{}`: {error}", self.program);
                let hint = Some("install it, or name another model");
                ModelError::new(ModelErrorKind::NotConfigured, message, hint)
            },
        )
    }

    /// Waits for the end of the program; says whether it succeeded.
    fn wait(&self, child: &mut Child, begun: Instant) -> Result<bool, ModelError> {
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status.success()),
                Ok(None) if begun.elapsed() < self.time_max => thread::sleep(LOOK_EVERY),
                Ok(None) => {
                    stop(child).map_err(|error| self.unavailable(&error))?;
                    return Err(self.late());
                }
                Err(error) => return Err(self.unavailable(&error)),
            }
        }
    }

    /// What a thread ends with, if it ends in time.
    fn joined<T>(&self, thread: thread::JoinHandle<T>, begun: Instant) -> Result<T, ModelError> {
        while !thread.is_finished() {
            if begun.elapsed() >= self.time_max {
                return Err(self.late());
            }
            thread::sleep(LOOK_EVERY);
        }
        Ok(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }

    fn late(&self) -> ModelError {
        let seconds = self.time_max.as_secs();
        let message = format!("`{}` gave no answer in {seconds} s", self.program);
        ModelError::new(ModelErrorKind::Timeout, message, None)
    }

    fn unavailable(&self, error: &io::Error) -> ModelError {
        let message = format!("failed to talk to `{}`: {error}", self.program);
        ModelError::new(ModelErrorKind::Unavailable, message, None)
    }
}

impl LanguageModel for CommandModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn complete<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(async move { self.answer(request) })
    }
}

/// Ends a program that takes too long.
fn stop(child: &mut Child) -> io::Result<()> {
    child.kill()?;
    child.wait().map(drop)
}

/// Reads what comes, and keeps one byte more than the limit at most. Beyond it nobody listens any
/// more, which ends a program that writes on, unless it `may_go_on`.
fn reading(
    source: Option<impl Read + Send + 'static>,
    bytes_max: usize,
    may_go_on: bool,
) -> thread::JoinHandle<io::Result<Vec<u8>>> {
    thread::spawn(move || {
        let mut kept = Vec::new();
        let Some(mut source) = source else { return Ok(kept) };
        let mut piece = vec![0; 64 * 1024];
        loop {
            let read = source.read(&mut piece)?;
            if read == 0 {
                return Ok(kept);
            }
            let room = (bytes_max + 1).saturating_sub(kept.len()).min(read);
            kept.extend_from_slice(&piece[..room]);
            if kept.len() > bytes_max && !may_go_on {
                return Ok(kept);
            }
        }
    })
}

/// The conversation as one text.
fn prompt(request: &ChatRequest) -> String {
    let mut text = request.system.clone();
    for message in &request.messages {
        let said = match message {
            Message::User(text) | Message::Assistant { text, .. } => text,
            Message::ToolResult { content, .. } => content,
        };
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(said);
    }
    text
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use kapsa_model::block_on;

    use super::*;

    fn ask(name: &str) -> Result<ChatReply, ModelError> {
        let request = ChatRequest {
            system: "Repeat.".to_string(),
            messages: vec![Message::User("\"quoted\" $HOME; `id`".to_string())],
            ..ChatRequest::default()
        };
        let mut model = CommandModel::named(name).unwrap();
        model.time_max = Duration::from_millis(1500);
        block_on(model.complete(&request))
    }

    #[test]
    fn the_prompt_goes_in_and_the_answer_comes_out_untouched() {
        let reply = ask("command:cat").unwrap();
        assert_eq!(reply.text, "Repeat.\n\n\"quoted\" $HOME; `id`");
    }

    #[test]
    fn a_program_that_does_not_read_answers_all_the_same() {
        assert_eq!(ask("command:echo '[]'").unwrap().text, "[]\n");
    }

    #[test]
    fn what_goes_wrong_is_named() {
        let kind = |name: &str| ask(name).unwrap_err().kind;
        assert_eq!(kind("command:no-such-program-here"), ModelErrorKind::NotConfigured);
        assert_eq!(kind("command:false"), ModelErrorKind::Unavailable);
        assert_eq!(kind("command:sleep 30"), ModelErrorKind::Timeout);
        // It ends at once, and what it started goes on and holds its output.
        assert_eq!(kind("command:sh -c 'sleep 30 & echo []'"), ModelErrorKind::Timeout);
        assert!(CommandModel::named("command:").is_err());
        assert!(CommandModel::named("command:a 'b").is_err());
    }

    #[test]
    fn an_endless_answer_is_refused() {
        for endless in ["command:head -c 5000000 /dev/zero", "command:yes"] {
            assert_eq!(ask(endless).unwrap_err().kind, ModelErrorKind::BadReply, "{endless}");
        }
    }
}
