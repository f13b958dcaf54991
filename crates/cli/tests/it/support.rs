//! A temporary folder to call the binary in, and what it answered.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A folder of its own for one test.
pub(crate) struct Sandbox {
    folder: TempDir,
}

/// What one call answered.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Sandbox {
    /// An empty folder.
    pub(crate) fn empty() -> Sandbox {
        Sandbox { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    /// A folder with a capsule.
    pub(crate) fn new() -> Sandbox {
        let sandbox = Sandbox::empty();
        sandbox.ok(&["init"]);
        sandbox
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn capsule(&self) -> PathBuf {
        self.path(".kapsa/workspace.kapsa")
    }

    /// Writes a file, making its folders.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder above")).expect("folders");
        std::fs::write(&path, content).expect("a file");
        path
    }

    /// The command, not yet started, free of the caller's settings.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kapsa"));
        command
            .current_dir(self.folder.path())
            .env("TMPDIR", self.folder.path())
            .env("XDG_CONFIG_HOME", self.folder.path().join("config"))
            .env("KAPSA_EMBED", "later")
            .env("KAPSA_UPKEEP", "off");
        for name in [
            "KAPSA_CAPSULE",
            "KAPSA_AGENT",
            "KAPSA_RUN",
            "KAPSA_TASK",
            "KAPSA_PRINCIPAL",
            "KAPSA_ROLE",
            "KAPSA_TRUST",
            "KAPSA_MIN_TRUST",
            "KAPSA_RUN_ENABLED",
            "KAPSA_RUN_LAYOUT",
            "KAPSA_RUN_DIR",
            "KAPSA_RUN_REPO_ROOT_PATH",
            "KAPSA_RUN_STRICT",
            "KAPSA_RUN_STORE_EXTENSION",
            "KAPSA_STRICT_EXIT",
            "KAPSA_BRANCH",
            "KAPSA_PASSPHRASE",
            "KAPSA_SIGNING_KEY",
            "KAPSA_MODE",
            "KAPSA_MODEL",
            "KAPSA_EMBED_URL",
            "KAPSA_EMBED_KEY",
            "KAPSA_LLM",
            "KAPSA_LLM_URL",
            "KAPSA_LLM_KEY",
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "NO_COLOR",
            "CLICOLOR_FORCE",
        ] {
            command.env_remove(name);
        }
        command
    }

    /// Calls with nothing on standard input.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Run {
        self.run_with(args, b"")
    }

    /// Calls with `stdin` on standard input.
    pub(crate) fn run_with<S: AsRef<OsStr>>(&self, args: &[S], stdin: &[u8]) -> Run {
        let mut command = self.command();
        command.args(args);
        output(command, stdin).into()
    }

    /// Calls and expects success; gives standard output.
    pub(crate) fn ok<S: AsRef<OsStr> + std::fmt::Debug>(&self, args: &[S]) -> String {
        self.run(args).success(args)
    }

    /// Calls with `--json` and expects success; gives the one JSON value printed.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        self.json_with(args, b"")
    }

    pub(crate) fn json_with(&self, args: &[&str], stdin: &[u8]) -> Value {
        let args: Vec<_> = args.iter().copied().chain(["--json"]).collect();
        let out = self.run_with(&args, stdin).success(&args);
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{args:?}: {error} in {out}"))
    }

    /// Calls with `--json` and expects a failure; gives the exit code and the error object. Nothing
    /// may be on standard output.
    pub(crate) fn error(&self, args: &[&str]) -> (i32, Value) {
        self.error_with(args, b"")
    }

    pub(crate) fn error_with(&self, args: &[&str], stdin: &[u8]) -> (i32, Value) {
        let args: Vec<_> = ["--json"].into_iter().chain(args.iter().copied()).collect();
        let run = self.run_with(&args, stdin);
        assert_eq!(run.out, "", "{args:?}");
        let value: Value = serde_json::from_str(&run.err)
            .unwrap_or_else(|error| panic!("{args:?}: {error} in {:?}", run.err));
        assert!(
            value["error"]["message"]
                .as_str()
                .is_some_and(|message| !message.is_empty() && !message.ends_with('.')),
            "{value}"
        );
        (run.code.expect("no signal"), value["error"].clone())
    }

    /// Expects a failure with this exit code and error code.
    pub(crate) fn fails(&self, args: &[&str], exit: i32, code: &str) -> Value {
        self.fails_with(args, b"", exit, code)
    }

    pub(crate) fn fails_with(&self, args: &[&str], stdin: &[u8], exit: i32, code: &str) -> Value {
        let (actual, error) = self.error_with(args, stdin);
        assert_eq!((actual, error["code"].as_str()), (exit, Some(code)), "{args:?}: {error}");
        error
    }

    /// How many records are live.
    pub(crate) fn count(&self) -> u64 {
        self.json(&["timeline", "--limit", "10000"])["count"].as_u64().expect("a count")
    }

    /// Starts a writer that has stored one record and keeps the lock until its standard input
    /// closes.
    pub(crate) fn hold_lock(&self) -> Child {
        let mut command = self.command();
        command
            .args(["put", "-", "--batch", "1", "--run", "run-7"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().expect("the binary starts");
        let pipe = child.stdin.as_mut().expect("a pipe");
        pipe.write_all(b"{\"text\":\"held\"}\n{\"text\":\"waiting\"}\n").expect("the writer reads");
        let stored = (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            self.count() > 0
        });
        if !stored {
            child.kill().and_then(|()| child.wait()).expect("it can be ended");
            panic!("the writer stored nothing");
        }
        child
    }
}

/// Runs a command to its end with `stdin` on standard input.
pub(crate) fn output(mut command: Command, stdin: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    let stdin = stdin.to_vec();
    let feeder = std::thread::spawn(move || pipe.write_all(&stdin).ok());
    let output = child.wait_with_output().expect("the binary ends");
    feeder.join().expect("the feeder ends");
    output
}

impl Run {
    pub(crate) fn success(self, args: impl std::fmt::Debug) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{args:?} printed {}", self.out);
        self.out
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Run {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8 output");
        Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// The bytes of a file.
pub(crate) fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("a readable file")
}

/// Makes a FIFO.
pub(crate) fn fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().expect("mkfifo starts");
    assert!(made.success());
}
