//! Time and memory of a whole process.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// What a finished process left behind.
#[derive(Debug)]
pub struct Ran {
    /// Wall time from spawn to the end of the wait, in milliseconds.
    pub ms: f64,
    /// All that it printed.
    pub stdout: String,
}

/// Runs `command` to its end; a failure carries what the process said.
pub fn run(command: &mut Command) -> Result<Ran> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let start = Instant::now();
    let output = command.spawn().and_then(std::process::Child::wait_with_output);
    let ms = start.elapsed().as_secs_f64() * 1e3;
    let output = output.with_context(|| format!("failed to start {}", name(command)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{} failed ({}): {}", name(command), output.status, first_paragraph(&said));
    }
    Ok(Ran { ms, stdout: String::from_utf8_lossy(&output.stdout).into_owned() })
}

/// Runs `command` through the launcher and also returns its peak resident set in bytes.
///
/// Linux carries the peak of the process that spawned over to its child, so the one that spawns
/// must be small: `launcher` is.
pub fn run_with_peak(
    launcher: &Path,
    command: &Command,
    report: &Path,
    stdin: Option<&Path>,
) -> Result<(Ran, u64)> {
    let mut launched = Command::new(launcher);
    launched.arg(report).arg(command.get_program()).args(command.get_args());
    if let Some(stdin) = stdin {
        launched.stdin(open(stdin)?);
    }
    let ran = run(&mut launched)?;
    let kib: u64 =
        fs::read_to_string(report)?.trim().parse().context("the launcher's report is a number")?;
    Ok((ran, kib * 1024))
}

/// Runs `command` with `stdin` read from a file, stopping it when it takes longer than `limit`;
/// `None` means it did.
pub fn run_within(command: &mut Command, stdin: &Path, limit: Duration) -> Result<Option<f64>> {
    let start = Instant::now();
    let child = command.stdin(open(stdin)?).stdout(Stdio::null()).spawn();
    let mut child = child.with_context(|| format!("failed to start {}", name(command)))?;
    loop {
        if let Some(status) = child.try_wait()? {
            return if status.success() {
                Ok(Some(start.elapsed().as_secs_f64()))
            } else {
                bail!("{} failed ({status})", name(command))
            };
        }
        if start.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn open(path: &Path) -> Result<fs::File> {
    fs::File::open(path).with_context(|| format!("failed to open {}", path.display()))
}

/// What a program said, without the backtrace that may follow.
fn first_paragraph(said: &str) -> &str {
    said.trim().split("\n\n").next().unwrap_or_default()
}

fn name(command: &Command) -> String {
    Path::new(command.get_program()).display().to_string()
}

/// The programs that a benchmark starts.
#[derive(Debug, Clone)]
pub struct Tools {
    folder: PathBuf,
    kapsa: Option<PathBuf>,
}

impl Tools {
    /// Finds the peer programs beside this one and `kapsa` at its path (`None`: measure the peers
    /// alone).
    pub fn find(kapsa: Option<PathBuf>) -> Result<Self> {
        let own = std::env::current_exe()?;
        let folder = own.parent().context("a program lies in a folder")?.to_path_buf();
        if let Some(path) = kapsa.as_deref().filter(|path| !path.is_file()) {
            bail!(
                "no kapsa at {}: build it (`cargo build --release`), pass --kapsa PATH, or measure the peers alone (--peers-only)",
                path.display()
            );
        }
        Ok(Self { folder, kapsa: kapsa.map(fs::canonicalize).transpose()? })
    }

    /// The path of `kapsa`, when it takes part.
    pub fn kapsa(&self) -> Option<&Path> {
        self.kapsa.as_deref()
    }

    /// The path of `kapsa`, or the reason why there is nothing to measure.
    pub fn require_kapsa(&self) -> Result<&Path> {
        self.kapsa()
            .context("this benchmark measures kapsa alone: --peers-only leaves nothing to do")
    }

    /// A command of the peer program `name`.
    pub fn peer(&self, name: &str) -> Result<Command> {
        Ok(Command::new(self.peer_path(name)?))
    }

    /// The path of the peer program `name`.
    pub fn peer_path(&self, name: &str) -> Result<PathBuf> {
        let mut file = OsString::from(name);
        file.push(std::env::consts::EXE_SUFFIX);
        let path = self.folder.join(file);
        if !path.is_file() {
            bail!(
                "no {name} beside this program: build all of them with `cargo build --release --manifest-path bench/Cargo.toml` (memvid: --features memvid)"
            );
        }
        Ok(path)
    }
}

/// Bytes of a file, or of all files below a folder.
pub fn disk_bytes(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else {
        return fs::metadata(path).map_or(0, |metadata| metadata.len());
    };
    entries.flatten().map(|entry| disk_bytes(&entry.path())).sum()
}

/// Drops the page cache; `false` when that is not allowed here.
pub fn drop_caches() -> bool {
    sync_all();
    fs::write("/proc/sys/vm/drop_caches", "1").is_ok()
}

/// Waits until everything written so far is on the disk, so that one row does not pay for another.
pub fn sync_all() {
    // A row that starts with dirty pages is only noisier.
    if let Err(error) = Command::new("sync").status() {
        eprintln!("note: could not run sync: {error}");
    }
}
