//! The helper program that reads and writes `.mv2` files: where it is, and one call of it. It is a
//! process of its own, so that what it takes is bounded: it works on a copy, within a time, and
//! sets itself limits of memory and output. Knows nothing of what its lines of JSON mean.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kapsa_importers::SOURCE_BYTES_MAX;
use serde_json::Value;
use tempfile::TempDir;

use crate::error::{CliError, Result};

/// The program, and what names it instead.
pub(crate) const PROGRAM: &str = "kapsa-memvid";
const PROGRAM_VARIABLE: &str = "KAPSA_MEMVID";
/// Names the seconds that one call may take.
const SECONDS_VARIABLE: &str = "KAPSA_MEMVID_SECONDS";
/// Seconds that reading may take, and writing: a commit of Memvid's takes longer the more it holds.
const READ_SECONDS: u64 = 10;
const WRITE_SECONDS: u64 = 120;
/// How often a running program is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How a file of Memvid's begins, and the ending of its name.
const MAGIC: [u8; 4] = *b"MV2\0";
const ENDING: &str = "mv2";
/// How a capsule begins, and one that is sealed: their names may have that ending as well.
const OTHERS: [[u8; 4]; 2] = [*b"\x89KAP", *b"age-"];
/// How much of what the program complains about is shown, in bytes.
const COMPLAINT_BYTES_MAX: u64 = 400;
/// What the program calls a file that another process holds.
const LOCKED: &str = "locked";
const HOW_TO_BUILD: &str = "cargo build --release --manifest-path memvid/Cargo.toml builds it; put \
                            it beside kapsa or on the PATH, or name it in KAPSA_MEMVID";

/// What is asked of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Read,
    Write,
    Put,
    Find,
}

impl Request {
    fn name(self) -> &'static str {
        match self {
            Request::Read => "read",
            Request::Write => "write",
            Request::Put => "put",
            Request::Find => "find",
        }
    }

    fn seconds(self) -> u64 {
        match self {
            Request::Read | Request::Find => READ_SECONDS,
            Request::Write | Request::Put => WRITE_SECONDS,
        }
    }
}

/// Whether a file is one of Memvid's: by its first bytes, or by its name if they are nobody's.
pub(crate) fn is_memvid(path: &Path) -> bool {
    let mut first = [0; MAGIC.len()];
    let is_file = fs::metadata(path).is_ok_and(|found| found.is_file());
    let read = is_file && File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok();
    let is_named = path.extension() == Some(OsStr::new(ENDING));
    match read {
        true => first == MAGIC || is_named && !OTHERS.contains(&first),
        false => is_file && is_named,
    }
}

/// The program.
pub(crate) struct Helper {
    program: PathBuf,
}

impl Helper {
    /// Finds it: named by the environment, beside this program, or on the PATH.
    pub(crate) fn find() -> Result<Helper> {
        if let Some(program) = std::env::var_os(PROGRAM_VARIABLE) {
            return Ok(Helper { program: program.into() });
        }
        // May be dropped: without it the PATH is left.
        let own = std::env::current_exe().ok();
        let beside = own.and_then(|own| Some(own.parent()?.to_path_buf()));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = beside.into_iter().chain(std::env::split_paths(&path));
        let found = folders.map(|folder| folder.join(PROGRAM)).find(|program| program.is_file());
        let program = found.ok_or_else(|| {
            CliError::user("no_memvid_helper", format!("there is no program {PROGRAM}"))
                .hint(HOW_TO_BUILD)
        })?;
        Ok(Helper { program })
    }

    /// What it says of a copy of the file at `path`, which itself is only read.
    pub(crate) fn read(&self, path: &Path) -> Result<BufReader<File>> {
        let folder =
            tempfile::tempdir().map_err(|error| CliError::io("make a temporary folder", &error))?;
        let copy = folder.path().join("copy.mv2");
        copy_of(path, &copy)?;
        let answer = self.call(Request::Read, &copy, path, Stdio::null(), &folder)?;
        Ok(BufReader::new(answer))
    }

    /// Has it write `to` of records as lines of JSON.
    pub(crate) fn write(&self, records: &Path, to: &Path) -> Result<()> {
        let folder =
            tempfile::tempdir().map_err(|error| CliError::io("make a temporary folder", &error))?;
        let input = File::open(records)
            .map_err(|error| CliError::io(&format!("read {}", records.display()), &error))?;
        let to = std::path::absolute(to)
            .map_err(|error| CliError::io(&format!("write {}", to.display()), &error))?;
        let answer = self.call(Request::Write, &to, &to, input.into(), &folder)?;
        lines(answer).map(drop)
    }

    /// Asks it something about a file of its own. Returns the lines of the answer.
    pub(crate) fn ask(&self, request: Request, file: &Path, input: &Value) -> Result<Vec<Value>> {
        let failed = |error: io::Error| CliError::io("ask the program", &error);
        let folder = tempfile::tempdir().map_err(failed)?;
        let file = std::path::absolute(file).map_err(failed)?;
        let mut asked = tempfile::tempfile().map_err(failed)?;
        writeln!(asked, "{input}").and_then(|()| asked.rewind()).map_err(failed)?;
        lines(self.call(request, &file, &file, asked.into(), &folder)?)
    }

    /// One call. Returns its standard output, whole; a failure that it tells there is for the
    /// reader.
    fn call(
        &self,
        request: Request,
        file: &Path,
        shown: &Path,
        input: Stdio,
        folder: &TempDir,
    ) -> Result<File> {
        let seconds = seconds(request)?;
        let [answer, complaint] = ["answer", "complaint"].map(|name| {
            let path = folder.path().join(name);
            File::options().read(true).write(true).create_new(true).open(path)
        });
        let failed = |error: io::Error| CliError::io(&format!("start {PROGRAM}"), &error);
        let (mut answer, complaint) = (answer.map_err(failed)?, complaint.map_err(failed)?);
        let mut command = Command::new(&self.program);
        command
            .arg(request.name())
            .arg(file)
            .args(["--seconds", &seconds.to_string()])
            // It needs nothing of this process but a place for temporary files.
            .env_clear()
            .env("TMPDIR", folder.path())
            .env("MEMVID_TELEMETRY", "0")
            .current_dir(folder.path())
            .stdin(input)
            .stdout(answer.try_clone().map_err(failed)?)
            .stderr(complaint.try_clone().map_err(failed)?);
        let mut child = command.spawn().map_err(|error| {
            let message = format!("cannot start {}: {error}", self.program.display());
            CliError::user("no_memvid_helper", message).hint(HOW_TO_BUILD)
        })?;
        let status = ended(&mut child, Duration::from_secs(seconds)).map_err(failed)?;
        let length = answer.metadata().map_err(failed)?.len();
        answer.rewind().map_err(failed)?;
        match status {
            None => {
                let message = format!("{} took longer than {seconds} s", shown.display());
                Err(CliError::user("memvid_timeout", message)
                    .hint(format!("it may be damaged; {SECONDS_VARIABLE} allows more")))
            }
            Some(status) if !status.success() && !is_told(&answer, length) => {
                Err(broken(shown, status, complaint))
            }
            Some(_) => Ok(answer),
        }
    }
}

/// The lines of an answer that is whole, or what it says went wrong.
fn lines(answer: File) -> Result<Vec<Value>> {
    let mut all = Vec::new();
    for line in BufReader::new(answer).lines() {
        let line = line.map_err(|error| CliError::io("read what it answers", &error))?;
        let said: Value = serde_json::from_str(&line).unwrap_or_default();
        if let Some(error) = said.get("error") {
            let text = |name: &str| error[name].as_str().unwrap_or_default();
            let message = format!("{PROGRAM}: {} ({})", text("message"), text("code"));
            let is_locked = text("code") == LOCKED;
            let code = if is_locked { "locked_by_writer" } else { "memvid_failed" };
            return Err(CliError::user(code, message));
        }
        all.push(said);
    }
    match all.last().is_some_and(|last| last.get("end").is_some()) {
        true => Ok(all),
        false => Err(CliError::user("memvid_failed", format!("{PROGRAM} ended before the end"))),
    }
}

/// Whether the answer ends as one that tells why: with a line.
fn is_told(mut answer: &File, length: u64) -> bool {
    let mut last = [0];
    let read = length > 0
        && answer.seek(io::SeekFrom::End(-1)).and_then(|_| answer.read_exact(&mut last)).is_ok();
    // The reader begins at the beginning, as before.
    read && last == *b"\n" && answer.rewind().is_ok()
}

/// The program ended without saying why: it ran into a limit, or the library has an error.
fn broken(shown: &Path, status: ExitStatus, mut complaint: File) -> CliError {
    let mut said = Vec::new();
    // May be dropped: then nothing is known but how it ended.
    let _ = complaint
        .rewind()
        .and_then(|()| complaint.take(COMPLAINT_BYTES_MAX).read_to_end(&mut said));
    let said = String::from_utf8_lossy(&said);
    let said = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
    let message = format!("{}: {PROGRAM} broke off ({status}): {said}", shown.display());
    CliError::user("memvid_failed", message)
        .hint("the file is damaged, or asks for more memory than a call may take")
}

/// Waits for the end of a program; none when that takes too long, and the program is ended.
pub(crate) fn ended(child: &mut Child, longest: Duration) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begun.elapsed() >= longest {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK_EVERY);
    }
}

fn seconds(request: Request) -> Result<u64> {
    let Ok(named) = std::env::var(SECONDS_VARIABLE) else { return Ok(request.seconds()) };
    match named.parse() {
        Ok(seconds) if seconds > 0 => Ok(seconds),
        _ => Err(CliError::user(
            "invalid_argument",
            format!("{SECONDS_VARIABLE} is no number of seconds: {named}"),
        )),
    }
}

/// Copies a file of at most so many bytes: the library opens a file to write, even to read it.
fn copy_of(from: &Path, to: &Path) -> Result<()> {
    let failed = |error: io::Error| CliError::io(&format!("read {}", from.display()), &error);
    let found = fs::metadata(from).map_err(failed)?;
    let refused =
        |reason: &str| CliError::user("foreign_source", format!("{}: {reason}", from.display()));
    if !found.is_file() {
        return Err(refused("it is not a file"));
    }
    let too_large = || {
        let message = format!("{}: more than {SOURCE_BYTES_MAX} bytes", from.display());
        CliError::user("source_too_large", message)
    };
    if found.len() > SOURCE_BYTES_MAX {
        return Err(too_large());
    }
    let mut source = File::open(from).map_err(failed)?.take(SOURCE_BYTES_MAX + 1);
    let mut copy = File::create_new(to).map_err(failed)?;
    let copied = io::copy(&mut source, &mut copy).map_err(failed)?;
    if copied > SOURCE_BYTES_MAX {
        return Err(too_large());
    }
    copy.flush().map_err(failed)
}
