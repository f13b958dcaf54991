//! `memory-tool`: carries out commands of a model that has the memory tool of Anthropic's API. One
//! JSON object comes for each, and one goes back before the next is read.

use std::io::{self, BufRead, BufReader, Read};

use kapsa_agents::{MemoryCommand, MemoryTool, Refusal};
use kapsa_memory::Error;
use serde_json::error::Category;
use serde_json::{Deserializer, Value};

use super::audit;
use super::embed::New;
use super::text::standard_input;
use crate::app::{App, did};
use crate::args::{MemoryToolArgs, TrustLevel};
use crate::error::{CliError, Done, Result};
use crate::wire::memory_tool::{MemoryCommandIn, MemoryToolOut};

/// Longest command, in bytes: every byte of the longest file may be written as an escape.
const COMMAND_BYTES_MAX: u64 = 8 << 20;

/// `kapsa memory-tool`.
pub(crate) fn run(app: &mut App, args: &MemoryToolArgs) -> Result<()> {
    // A model speaks here, whoever started the program.
    app.global.trust.get_or_insert(TrustLevel::Model);
    let named = args.agent.as_deref().filter(|agent| !agent.trim().is_empty());
    let agent = named.or(app.principal()).unwrap_or_default().to_string();
    if let Some(principal) = app.principal().filter(|principal| *principal != agent) {
        let what = "write into the memory of another agent";
        return Err(Error::AccessDenied { principal: principal.to_string(), what }.into());
    }
    let tool = MemoryTool::new(app.location_when(args.as_of.as_deref())?, agent);
    let tool = match &args.domain {
        Some(domain) => tool.in_domain(domain),
        None => tool,
    };
    let new = New::begin(app, args.embed)?;
    let answered = answer_all(app, &tool);
    // What failed is a warning already: the files are stored.
    let _failed = new.end(app);
    answered
}

fn answer_all(app: &mut App, tool: &MemoryTool) -> Result<()> {
    let mut input = Commands { input: BufReader::new(standard_input()?), left: 0, last: b'\n' };
    let mut broken = None;
    loop {
        let answer = match input.next() {
            Ok(None) => break,
            Ok(Some(value)) => match serde_json::from_value::<MemoryCommandIn>(value) {
                Ok(command) => carry_out(app, tool, &command.into()),
                Err(error) => Err(format!("Error: Invalid command: {error}")),
            },
            Err(error) if error.classify() == Category::Io && !input.is_too_long() => {
                return Err(CliError::io("read standard input", &error.into()));
            }
            // Commands that follow are for somebody else to answer for.
            Err(error) => {
                input.skip_line().map_err(|error| CliError::io("read standard input", &error))?;
                let words = format!("Error: Invalid command: it is not JSON: {error}");
                broken.get_or_insert(error);
                Err(words)
            }
        };
        let is_error = answer.is_err();
        let content = answer.unwrap_or_else(|words| words);
        app.out.json(&MemoryToolOut { content: &content, is_error })?;
        app.out.flush()?;
    }
    broken.map_or(Ok(()), |error| {
        Err(CliError::user("invalid_json", format!("a command is not JSON: {error}")).hint(
            "a command is one JSON object, such as {\"command\":\"view\",\"path\":\"/memories\"}",
        ))
    })
}

fn carry_out(app: &mut App, tool: &MemoryTool, command: &MemoryCommand) -> Result<String, String> {
    let done = tool.call(command);
    if let (Err(Refusal::Memory(Error::AccessDenied { .. })), Some(principal)) =
        (&done, app.principal().map(str::to_string))
    {
        audit::denied(app, &principal, "memory-tool", None);
    }
    if done.is_ok() && !matches!(command, MemoryCommand::View { .. }) {
        did(app, Done::new("changed files of the memory"));
    }
    done.map_err(|refusal| refusal.to_string())
}

/// Commands one after the other, none of which is longer than is allowed.
struct Commands<R> {
    input: R,
    /// Bytes that the command may still have.
    left: u64,
    /// What was read last.
    last: u8,
}

impl<R: BufRead> Commands<R> {
    fn next(&mut self) -> serde_json::Result<Option<Value>> {
        self.left = COMMAND_BYTES_MAX;
        Deserializer::from_reader(self).into_iter::<Value>().next().transpose()
    }

    fn is_too_long(&self) -> bool {
        self.left == 0
    }

    /// Passes over the rest of a line that is broken.
    fn skip_line(&mut self) -> io::Result<()> {
        if self.last != b'\n' {
            self.input.skip_until(b'\n')?;
            self.last = b'\n';
        }
        Ok(())
    }
}

/// Byte for byte, as a parser asks for them: nothing beyond a command is taken.
impl<R: BufRead> Read for Commands<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(first) = buffer.first_mut() else { return Ok(0) };
        if self.left == 0 {
            let reason = format!("it is longer than {} MiB", COMMAND_BYTES_MAX >> 20);
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        let read = self.input.read(std::slice::from_mut(first))?;
        if read > 0 {
            self.left -= 1;
            self.last = *first;
        }
        Ok(read)
    }
}
