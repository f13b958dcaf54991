//! A server of tools as a program of agents starts it: a process that is asked on its standard
//! input and answers on its standard output, one object of JSON on each line.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long a server or a hook may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// Version of the protocol that is asked for.
const PROTOCOL: &str = "2025-11-25";
/// Longest line that is read of a server, in bytes.
const LINE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Most bytes of what a process complains that are shown.
pub(crate) const COMPLAINT_BYTES_MAX: usize = 400;

/// A server that was started.
pub(crate) struct Serving {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    complaint: thread::JoinHandle<String>,
    until: Instant,
    calls: u64,
}

impl Serving {
    /// Starts a server and greets it. Gives its name and version too.
    pub(crate) fn start(mut command: Command) -> Result<(Serving, String), String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("it does not start: {error}"))?;
        let missing = || "it has no standard input and output".to_string();
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = child.stdout.take().ok_or_else(missing)?;
        let errors = child.stderr.take().ok_or_else(missing)?;
        let (send, lines) = channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            loop {
                let mut line = Vec::new();
                match output.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => return,
                    Ok(_) if send.send(String::from_utf8_lossy(&line).into_owned()).is_err() => {
                        return;
                    }
                    Ok(_) => {}
                }
            }
        });
        let complaint = thread::spawn(move || complaint_of(errors));
        let until = Instant::now() + PATIENCE;
        let mut serving = Serving { child, input, lines, complaint, until, calls: 0 };
        let greeting = json!({
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": { "name": "kapsa-setup", "version": env!("CARGO_PKG_VERSION") },
        });
        match serving.greet(greeting) {
            Ok(named) => Ok((serving, named)),
            Err(reason) => Err(serving.end(&reason)),
        }
    }

    fn greet(&mut self, greeting: Value) -> Result<String, String> {
        let answer = self.call("initialize", greeting)?;
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        let of = |name: &str| answer["serverInfo"][name].as_str().unwrap_or("?").to_string();
        Ok(format!("{} {}", of("name"), of("version")))
    }

    /// Calls a method and waits for its answer.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.calls += 1;
        let id = self.calls;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let wait = self.until.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(wait).map_err(|error| match error {
                RecvTimeoutError::Timeout => {
                    format!("no answer to {method} within {} s", PATIENCE.as_secs())
                }
                RecvTimeoutError::Disconnected => format!("it ended before it answered {method}"),
            })?;
            let Ok(answer) = serde_json::from_str::<Value>(&line) else {
                let shown: String = line.chars().take(COMPLAINT_BYTES_MAX).collect();
                return Err(format!("a line that is no JSON: {}", shown.trim_end()));
            };
            if answer["id"] != json!(id) {
                continue;
            }
            if let Some(error) = answer.get("error") {
                let message = error["message"].as_str().unwrap_or("an error without message");
                return Err(format!("{method}: {message}"));
            }
            return Ok(answer["result"].clone());
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        let line = format!("{message}\n");
        let sent = self.input.write_all(line.as_bytes()).and_then(|()| self.input.flush());
        sent.map_err(|_| "it ended before it was asked everything".to_string())
    }

    /// Ends the server. Gives the reason with what the server complained.
    pub(crate) fn end(mut self, reason: &str) -> String {
        drop(self.input);
        // May be dropped: a server that ended already is what is wanted.
        let _ended = self.child.kill();
        let _ended = self.child.wait();
        let complaint = self.complaint.join().unwrap_or_default();
        if complaint.is_empty() { reason.to_string() } else { format!("{reason} ({complaint})") }
    }
}

/// What a process complained, at most so much of it, on one line.
fn complaint_of(errors: impl Read) -> String {
    let mut bytes = Vec::new();
    // May be dropped: what was read until then is shown.
    let _until_then = errors.take(LINE_BYTES_MAX).read_to_end(&mut bytes);
    one_line(&bytes)
}

/// The last lines of an output on one.
pub(crate) fn one_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let skipped = line.chars().count().saturating_sub(COMPLAINT_BYTES_MAX);
    line.chars().skip(skipped).collect()
}
