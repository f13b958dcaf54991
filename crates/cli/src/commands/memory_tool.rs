//! `memory-tool`: carries out commands of a model that has the memory tool of Anthropic's API. One
//! JSON object comes for each, and one goes back before the next is read.

use std::cell::Cell;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use kapsa_agents::{MemoryCommand, MemoryTool, Refusal};
use kapsa_memory::Error;
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
    let left = Rc::new(Cell::new(COMMAND_BYTES_MAX));
    let input = Bounded { input: BufReader::new(standard_input()?), left: Rc::clone(&left) };
    for value in Deserializer::from_reader(input).into_iter::<Value>() {
        let value = value.map_err(|error| {
            CliError::user("invalid_json", format!("a command is not JSON: {error}"))
                .hint("a command is one JSON object, such as {\"command\":\"view\",\"path\":\"/memories\"}")
        })?;
        left.set(COMMAND_BYTES_MAX);
        let answer = match serde_json::from_value::<MemoryCommandIn>(value) {
            Ok(command) => carry_out(app, tool, &command.into()),
            Err(error) => Err(format!("Error: Invalid command: {error}")),
        };
        let is_error = answer.is_err();
        let content = answer.unwrap_or_else(|words| words);
        app.out.json(&MemoryToolOut { content: &content, is_error })?;
        app.out.flush()?;
    }
    Ok(())
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

/// Input of which one command is not longer than is allowed.
struct Bounded<R> {
    input: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(left) = self.left.get().checked_sub(buffer.len() as u64) else {
            let reason = format!("it is longer than {} MiB", COMMAND_BYTES_MAX >> 20);
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        };
        self.left.set(left);
        self.input.read(buffer)
    }
}
