//! local-memory: a daemon on this machine, asked for its health over HTTP, and a program of the
//! same name that searches and stores.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Deserialize;

use super::{Backend, Note, StoredText, unavailable};
use crate::backend_kind::BackendKind;
use crate::error::{CliError, Result};
use crate::memvid::ended;

/// Where the daemon is, unless the variable says otherwise.
const URL: &str = "http://localhost:3002";
const URL_VARIABLE: &str = "KAPSA_LOCAL_MEMORY_URL";
const HEALTH_PATH: &str = "/api/v1/health";
/// How long it may take to say that it is well.
const HEALTH_TIME_MAX: Duration = Duration::from_millis(750);
/// The program, unless the variable names another.
const PROGRAM: &str = "local-memory";
const PROGRAM_VARIABLE: &str = "KAPSA_LOCAL_MEMORY";
/// How long the program may take, and how much it may answer, in bytes.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// The daemon and its program.
pub(super) struct LocalMemory {
    url: String,
    program: OsString,
}

/// What the program answers.
#[derive(Deserialize)]
struct Reply<T> {
    success: bool,
    data: Option<T>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Results {
    results: Option<Vec<Scored>>,
}

#[derive(Deserialize)]
struct Scored {
    memory: Memory,
    #[serde(default)]
    relevance_score: f64,
}

#[derive(Deserialize)]
struct Memory {
    #[serde(default)]
    id: String,
    #[serde(default)]
    content: String,
    #[serde(default)]
    title: Option<String>,
}

impl LocalMemory {
    pub(super) fn of_environment() -> LocalMemory {
        LocalMemory {
            url: std::env::var(URL_VARIABLE).unwrap_or_else(|_| URL.to_string()),
            program: std::env::var_os(PROGRAM_VARIABLE).unwrap_or_else(|| PROGRAM.into()),
        }
    }

    /// Calls the program, and reads what it answers.
    fn call<T: for<'de> Deserialize<'de>>(&self, args: &[&str]) -> Result<Option<T>> {
        let failed = |error: io::Error| self.failed(&error.to_string());
        let mut answer = tempfile::tempfile().map_err(failed)?;
        let mut command = Command::new(&self.program);
        command.args(args).stdin(Stdio::null()).stderr(Stdio::null());
        command.stdout(answer.try_clone().map_err(failed)?);
        let mut child = command.spawn().map_err(failed)?;
        let status = ended(&mut child, ANSWER_TIME_MAX).map_err(failed)?;
        if status.is_none() {
            let seconds = ANSWER_TIME_MAX.as_secs();
            return Err(self.failed(&format!("it gives no answer in {seconds} s")));
        }
        let said = text_of(&mut answer).map_err(failed)?;
        let reply: Reply<T> = serde_json::from_str(&said)
            .map_err(|error| self.failed(&format!("its answer cannot be read: {error}")))?;
        match reply.success {
            true => Ok(reply.data),
            false => Err(self.failed(reply.error.as_deref().unwrap_or("it says no more"))),
        }
    }

    fn failed(&self, why: &str) -> CliError {
        let program = self.program.to_string_lossy();
        unavailable(BackendKind::LocalMemory, &format!("{program}: {why}"))
    }
}

fn text_of(answer: &mut File) -> io::Result<String> {
    answer.rewind()?;
    let mut bytes = Vec::new();
    answer.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A text as an argument that is no option.
fn plain(text: &str) -> String {
    if text.starts_with('-') { format!(" {text}") } else { text.to_string() }
}

fn stored(memory: Memory, score: f64) -> StoredText {
    let title = memory.title.unwrap_or_default();
    StoredText { id: memory.id, title, text: memory.content, score }
}

impl Backend for LocalMemory {
    fn kind(&self) -> BackendKind {
        BackendKind::LocalMemory
    }

    fn health(&self) -> Result<()> {
        let url = format!("{}{HEALTH_PATH}", self.url.trim_end_matches('/'));
        kapsa_http::health(&url, HEALTH_TIME_MAX)
            .map_err(|why| unavailable(BackendKind::LocalMemory, &format!("{url}: {why}")))
    }

    fn put(&self, note: &Note) -> Result<String> {
        let text = match note.title.as_str() {
            "" => note.text.clone(),
            title => format!("{title}\n{}", note.text),
        };
        let memory: Option<Memory> = self.call(&["remember", &plain(&text), "--json"])?;
        Ok(memory.map(|memory| memory.id).unwrap_or_default())
    }

    fn find(&self, query: &str, limit: usize) -> Result<Vec<StoredText>> {
        let args = ["search", &plain(query), "--limit", &limit.to_string(), "--json"];
        let found: Option<Results> = self.call(&args)?;
        let results = found.and_then(|found| found.results).unwrap_or_default();
        let hits = results.into_iter().map(|hit| stored(hit.memory, hit.relevance_score));
        Ok(hits.take(limit).collect())
    }

    fn get(&self, id: &str) -> Result<Option<StoredText>> {
        let memory: Option<Memory> = self.call(&["get", &plain(id), "--json"])?;
        Ok(memory.map(|memory| stored(memory, 0.0)))
    }
}
