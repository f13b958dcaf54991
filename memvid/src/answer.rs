//! Lines of JSON on standard output, and why there are no more.

use std::io::{BufWriter, Stdout, Write as _, stdout};

use memvid_core::MemvidError;
use serde_json::{Value, json};

/// Why a request could not be served.
#[derive(Debug)]
pub(crate) struct Failure {
    code: &'static str,
    message: String,
}

impl Failure {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into() }
    }
}

impl From<MemvidError> for Failure {
    fn from(error: MemvidError) -> Failure {
        let code = match &error {
            MemvidError::Io { .. } => "io",
            MemvidError::EncryptedFile { .. } => "encrypted",
            MemvidError::CapacityExceeded { .. } => "capacity",
            MemvidError::Lock(_) | MemvidError::Locked(_) => "locked",
            _ => "damaged",
        };
        Failure::new(code, error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::new("io", error.to_string())
    }
}

/// What is answered, line by line.
pub(crate) struct Answer {
    out: BufWriter<Stdout>,
}

impl Answer {
    pub(crate) fn new() -> Answer {
        Answer { out: BufWriter::new(stdout()) }
    }

    pub(crate) fn line(&mut self, name: &str, value: Value) -> Result<(), Failure> {
        writeln!(self.out, "{}", json!({ name: value })).map_err(Failure::from)
    }

    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(Failure::from)
    }

    /// Tells what failed, as far as anybody still listens.
    pub(crate) fn fail(&mut self, failure: &Failure) {
        let error = json!({ "code": failure.code, "message": failure.message });
        if self.line("error", error).and_then(|()| self.finish()).is_err() {
            eprintln!("{}", failure.message);
        }
    }
}
