//! local-memory: a daemon on this machine, asked for its health over HTTP, and a program of the
//! same name that searches and stores.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::io::{self, Read as _};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use kapsa_importers::SOURCE_BYTES_MAX;
use serde::Deserialize;
use serde_json::Value;

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
/// Longest text that it can be given, in bytes: texts are arguments, and Linux passes on at most
/// 128 KiB of one (`MAX_ARG_STRLEN`, execve(2)), with the byte that ends it and the space before
/// an option.
const ARGUMENT_BYTES_MAX: usize = (128 << 10) - 2;
/// Most characters of what it says of an error.
const REASON_CHARS_MAX: usize = 400;
/// What is searched to find everything, before words of what was found: the interface has no list.
const FIRST_SEARCHES: [&str; 8] =
    ["*", "the", "is", "decision", "pattern", "project", "error", "test"];
/// Memories asked for at once.
const FOUND_MAX: usize = 500;
/// Searches in a row that bring nothing new, after which there is nothing more.
const QUIET_SEARCHES: usize = 12;
/// Most searches, and most memories.
const SEARCHES_MAX: usize = 300;
const MEMORIES_MAX: usize = 100_000;
/// Words of a text that are searched next, and the shortest of them, in characters.
const WORDS_PER_MEMORY: usize = 3;
const WORD_CHARS_MIN: usize = 5;
/// Longest one, in bytes.
const WORD_BYTES_MAX: usize = 100;
/// Most searches that wait.
const WAITING_MAX: usize = 10_000;

/// The daemon and its program.
pub(crate) struct LocalMemory {
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
struct Results<T> {
    results: Option<Vec<T>>,
}

/// A memory as it is answered.
#[derive(Deserialize)]
struct Answered {
    memory: Value,
}

/// All that was found.
pub(crate) struct Listing {
    /// The memories, by their ids.
    pub(crate) memories: Vec<Value>,
    /// How many searches it took.
    pub(crate) searches: usize,
    /// Whether the last ones brought nothing new.
    pub(crate) is_settled: bool,
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
    pub(crate) fn of_environment() -> LocalMemory {
        LocalMemory {
            url: std::env::var(URL_VARIABLE).unwrap_or_else(|_| URL.to_string()),
            program: std::env::var_os(PROGRAM_VARIABLE).unwrap_or_else(|| PROGRAM.into()),
        }
    }

    /// Calls the program, and reads what it answers.
    fn call<T: for<'de> Deserialize<'de>>(&self, args: &[&str]) -> Result<Option<T>> {
        let failed = |error: io::Error| self.failed(&error.to_string());
        if let Some(long) = args.iter().find(|arg| arg.len() > ARGUMENT_BYTES_MAX) {
            return Err(too_long(long.len()));
        }
        let mut command = Command::new(&self.program);
        command.args(args).stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let (tell, told) = mpsc::channel();
        let answer = child.stdout.take();
        // It reads beside the waiting, and ends with the program or at the limit.
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = answer
                .map_or(Ok(0), |answer| answer.take(ANSWER_BYTES_MAX + 1).read_to_end(&mut bytes));
            // May be dropped: whoever waited has gone.
            let _ = tell.send(read.map(|_| bytes));
        });
        let status = ended(&mut child, ANSWER_TIME_MAX).map_err(failed)?;
        let slow = || {
            let seconds = ANSWER_TIME_MAX.as_secs();
            self.failed(&format!("it gives no answer in {seconds} s"))
        };
        status.ok_or_else(slow)?;
        // A process that it left behind may keep the answer open.
        let said = told.recv_timeout(ANSWER_TIME_MAX).map_err(|_| slow())?.map_err(failed)?;
        if said.len() as u64 > ANSWER_BYTES_MAX {
            return Err(self.failed(&format!("it answers more than {ANSWER_BYTES_MAX} bytes")));
        }
        let said = String::from_utf8_lossy(&said);
        let reply: Reply<T> = serde_json::from_str(&said)
            .map_err(|error| self.failed(&format!("its answer cannot be read: {error}")))?;
        match reply.success {
            true => Ok(reply.data),
            false => Err(self.failed(reply.error.as_deref().unwrap_or("it says no more"))),
        }
    }

    fn search<T: for<'de> Deserialize<'de>>(&self, query: &str, limit: usize) -> Result<Vec<T>> {
        let args = ["search", &plain(query), "--limit", &limit.to_string(), "--json"];
        let found: Option<Results<T>> = self.call(&args)?;
        Ok(found.and_then(|found| found.results).unwrap_or_default())
    }

    /// Everything that searches find: common words first, then words of what was found, until
    /// nothing new comes.
    ///
    /// # Errors
    /// `backend_unavailable`, with what does not answer; `source_too_large` beyond a limit.
    pub(crate) fn all(&self) -> Result<Listing> {
        self.health()?;
        let mut waiting: VecDeque<String> = FIRST_SEARCHES.map(str::to_string).into();
        let mut asked: BTreeSet<String> = waiting.iter().cloned().collect();
        let mut found: BTreeMap<String, Value> = BTreeMap::new();
        let (mut searches, mut quiet, mut bytes) = (0, 0, 0);
        while let Some(query) = waiting.pop_front() {
            if searches == SEARCHES_MAX || quiet == QUIET_SEARCHES {
                let is_settled = quiet == QUIET_SEARCHES;
                return Ok(Listing {
                    memories: found.into_values().collect(),
                    searches,
                    is_settled,
                });
            }
            searches += 1;
            quiet += 1;
            for Answered { memory } in self.search(&query, FOUND_MAX)? {
                let key = key(&memory);
                if found.contains_key(&key) {
                    continue;
                }
                quiet = 0;
                bytes += memory.to_string().len() as u64;
                for word in words(&memory) {
                    if waiting.len() < WAITING_MAX && asked.insert(word.clone()) {
                        waiting.push_back(word);
                    }
                }
                found.insert(key, memory);
            }
            if found.len() > MEMORIES_MAX || bytes > SOURCE_BYTES_MAX {
                let limit = format!("{MEMORIES_MAX} memories or {SOURCE_BYTES_MAX} bytes");
                let message = format!("{} holds more than {limit}", self.kind().name());
                return Err(CliError::user("source_too_large", message));
            }
        }
        Ok(Listing { memories: found.into_values().collect(), searches, is_settled: true })
    }

    fn failed(&self, why: &str) -> CliError {
        let program = self.program.to_string_lossy();
        let why: String = why.chars().take(REASON_CHARS_MAX).collect();
        unavailable(BackendKind::LocalMemory, &format!("{program}: {why}"))
    }
}

fn too_long(bytes: usize) -> CliError {
    let name = BackendKind::LocalMemory.name();
    let message =
        format!("{name} takes at most {ARGUMENT_BYTES_MAX} bytes at once, and this is {bytes}");
    CliError::user("too_large", message).hint("cut the text into several")
}

/// By what two answers are of one memory: its id, and without one all of it.
fn key(memory: &Value) -> String {
    match memory.get("id").and_then(Value::as_str) {
        Some(id) if !id.is_empty() => id.to_string(),
        _ => memory.to_string(),
    }
}

/// What else to search for: its tags and domain, and the longest words of its text.
fn words(memory: &Value) -> Vec<String> {
    let tags = memory.get("tags").and_then(Value::as_array).into_iter().flatten();
    let named = tags.chain(memory.get("domain")).filter_map(Value::as_str).map(str::to_string);
    let text = memory.get("content").and_then(Value::as_str).unwrap_or_default();
    let long = |word: &&str| word.chars().count() >= WORD_CHARS_MIN;
    let mut words: Vec<&str> =
        text.split(|letter: char| !letter.is_alphanumeric()).filter(long).collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words.truncate(WORDS_PER_MEMORY);
    let is_short = |word: &String| !word.is_empty() && word.len() <= WORD_BYTES_MAX;
    named.chain(words.into_iter().map(str::to_lowercase)).filter(is_short).collect()
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
        let id = memory.map(|memory| memory.id).filter(|id| !id.is_empty());
        id.ok_or_else(|| self.failed("it does not say under which id the text is stored"))
    }

    fn find(&self, query: &str, limit: usize) -> Result<Vec<StoredText>> {
        let found: Vec<Scored> = self.search(query, limit)?;
        let hits = found.into_iter().map(|hit| stored(hit.memory, hit.relevance_score));
        Ok(hits.take(limit).collect())
    }

    fn get(&self, id: &str) -> Result<Option<StoredText>> {
        let memory: Option<Memory> = self.call(&["get", &plain(id), "--json"])?;
        Ok(memory.map(|memory| stored(memory, 0.0)))
    }
}
