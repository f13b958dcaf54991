//! Messages over pipes, a line each. Whoever sent a line that asks for something is answered, even
//! when the line cannot be read: a client that hears nothing waits for ever. Knows nothing of what
//! the messages mean.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    ClientNotification, ErrorCode, ErrorData, JsonRpcMessage, JsonRpcNotification, RequestId,
};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::task::JoinSet;

use crate::shown;

/// Longest message, in bytes.
pub(crate) const LINE_BYTES_MAX: usize = 16 << 20;
/// Most bytes that are kept of the outermost object of a message that is too long.
const SKELETON_BYTES_MAX: usize = 4096;
/// What stands for half a character that lacks its other half, as JSON spells it.
const REPLACEMENT: &[u8] = b"\\ufffd";

/// Reads and writes messages.
pub(crate) struct Lines<R, W> {
    input: BufReader<R>,
    line: Line,
    output: Arc<tokio::sync::Mutex<W>>,
    /// Requests that are not answered yet.
    asked: Arc<Mutex<HashSet<RequestId>>>,
    /// Refusals on their way out: whoever waits for the next message may stop waiting meanwhile.
    refusals: JoinSet<io::Result<()>>,
    failure: Failure,
}

/// Why the input ended, when that was no end.
pub(crate) type Failure = Arc<Mutex<Option<io::Error>>>;

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin + Send + 'static> Lines<R, W> {
    pub(crate) fn new(input: R, output: W, failure: Failure) -> Lines<R, W> {
        Lines {
            input: BufReader::new(input),
            line: Line::default(),
            output: Arc::new(tokio::sync::Mutex::new(output)),
            asked: Arc::default(),
            refusals: JoinSet::new(),
            failure,
        }
    }

    /// The next line; none at the end. It may be left and begun again: what was read is kept.
    async fn next_line(&mut self) -> io::Result<Option<Line>> {
        loop {
            let available = self.input.fill_buf().await?;
            let end = available.iter().position(|&byte| byte == b'\n');
            let taken = end.map_or(available.len(), |at| at + 1);
            if taken == 0 {
                let rest = std::mem::take(&mut self.line);
                return Ok(Some(rest).filter(|rest| !rest.is_empty()));
            }
            self.line.feed(&available[..taken]);
            self.input.consume(taken);
            if end.is_some() {
                return Ok(Some(std::mem::take(&mut self.line)));
            }
        }
    }

    fn refuse(&mut self, refusal: Refusal) {
        let output = Arc::clone(&self.output);
        self.refusals.spawn(async move { write_line(&output, &refusal.to_json()).await });
    }

    /// Takes note of what a message begins or ends.
    fn admit(&self, message: &RxJsonRpcMessage<RoleServer>) -> Result<(), Refusal> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        match message {
            JsonRpcMessage::Request(request) if !asked.insert(request.id.clone()) => {
                // It would be taken for the answer to the first, if it bore the number.
                let message = format!("{} is the id of a call that is not answered", request.id);
                Err(Refusal { id: None, error: ErrorData::invalid_request(message, None) })
            }
            JsonRpcMessage::Notification(JsonRpcNotification {
                notification: ClientNotification::CancelledNotification(cancelled),
                ..
            }) => {
                if let Some(id) = &cancelled.params.request_id {
                    asked.remove(id);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (output, asked) = (Arc::clone(&self.output), Arc::clone(&self.asked));
        async move {
            let answered = match &item {
                JsonRpcMessage::Response(response) => Some(&response.id),
                JsonRpcMessage::Error(error) => error.id.as_ref(),
                _ => None,
            };
            if let Some(id) = answered {
                asked.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
            }
            write_line(&output, &item).await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let line = match self.next_line().await {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(error) => {
                    *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    break;
                }
            };
            match line.read() {
                Ok(Some(message)) => match self.admit(&message) {
                    Ok(()) => return Some(message),
                    Err(refusal) => self.refuse(refusal),
                },
                Ok(None) => {}
                Err(refusal) => self.refuse(refusal),
            }
        }
        // May be dropped: a client that does not read has left.
        while self.refusals.join_next().await.is_some() {}
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.flush().await
    }
}

async fn write_line<W: AsyncWrite + Unpin>(
    output: &tokio::sync::Mutex<W>,
    message: &impl serde::Serialize,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}

/// An answer to what could not be read.
#[derive(Debug, PartialEq)]
struct Refusal {
    /// The number of the request, where it can be made out.
    id: Option<Value>,
    error: ErrorData,
}

impl Refusal {
    /// Without a number that could not be made out, as the protocol has it since 2025-11-25.
    fn to_json(&self) -> Value {
        let mut message = json!({ "jsonrpc": "2.0", "error": self.error });
        if let Some(id) = &self.id {
            message["id"] = id.clone();
        }
        message
    }
}

/// A line, or what is kept of one that is too long.
#[derive(Debug)]
enum Line {
    Whole(Vec<u8>),
    TooLong(Skeleton),
}

impl Default for Line {
    fn default() -> Line {
        Line::Whole(Vec::new())
    }
}

impl Line {
    fn is_empty(&self) -> bool {
        matches!(self, Line::Whole(bytes) if bytes.is_empty())
    }

    fn feed(&mut self, more: &[u8]) {
        match self {
            Line::Whole(bytes) if bytes.len() + more.len() > LINE_BYTES_MAX => {
                let mut skeleton = Skeleton::default();
                skeleton.feed(bytes);
                skeleton.feed(more);
                *self = Line::TooLong(skeleton);
            }
            Line::Whole(bytes) => bytes.extend_from_slice(more),
            Line::TooLong(skeleton) => skeleton.feed(more),
        }
    }

    /// The message; none when the line says nothing that concerns anybody.
    fn read(&self) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Refusal> {
        let bytes = match self {
            Line::Whole(bytes) => bytes,
            Line::TooLong(skeleton) => {
                let message = format!("a message of more than {} MiB", LINE_BYTES_MAX >> 20);
                let error = ErrorData::invalid_request(message, None);
                return Err(Refusal { id: skeleton.id(), error });
            }
        };
        let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii();
        if text.is_empty() {
            return Ok(None);
        }
        let error = match serde_json::from_slice(text) {
            Ok(message) => return Ok(Some(message)),
            Err(error) => error,
        };
        let mended = with_whole_characters(text);
        if let Some(message) = mended.and_then(|text| serde_json::from_slice(&text).ok()) {
            return Ok(Some(message));
        }
        unread(text, &error)
    }
}

/// What is answered to a line that is no message.
fn unread(
    text: &[u8],
    error: &serde_json::Error,
) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Refusal> {
    let refuse = |code, what: &str, id| {
        let message = shown::message(&format!("{what}: {error}"));
        Err(Refusal { id, error: ErrorData::new(code, message, None) })
    };
    let Ok(value) = serde_json::from_slice::<Value>(text) else {
        let mut skeleton = Skeleton::default();
        skeleton.feed(text);
        return refuse(ErrorCode::PARSE_ERROR, "not JSON", skeleton.id());
    };
    let is_answer = value.get("result").is_some() || value.get("error").is_some();
    let is_notification = value.get("method").is_some() && value.get("id").is_none();
    if is_answer || is_notification {
        // Nobody waits to hear of it.
        return Ok(None);
    }
    let id = value.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
    refuse(ErrorCode::INVALID_REQUEST, "not a message of JSON-RPC 2.0", id)
}

/// The outermost object of a JSON text, with `null` for each object and list inside of it: enough
/// to make out the number of a request whose rest is too long or broken.
#[derive(Debug, Default)]
struct Skeleton {
    kept: Vec<u8>,
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

impl Skeleton {
    fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.step(byte);
        }
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.keep_at(1, &[byte]);
            let ends = byte == b'"' && !self.is_escaped;
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            self.in_string = !ends;
            return;
        }
        match byte {
            b'{' | b'[' => {
                self.keep_at(1, b"null");
                self.keep_at(0, &[byte]);
                self.depth += 1;
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.keep_at(0, &[byte]);
            }
            _ => {
                self.in_string = byte == b'"';
                self.keep_at(1, &[byte]);
            }
        }
    }

    fn keep_at(&mut self, depth: usize, bytes: &[u8]) {
        if self.depth == depth && self.kept.len() < SKELETON_BYTES_MAX {
            self.kept.extend_from_slice(bytes);
        }
    }

    fn id(&self) -> Option<Value> {
        // May be dropped: whatever is wrong with it, no number can be made out.
        let object: Value = serde_json::from_slice(&self.kept).ok()?;
        object.get("id").filter(|id| id.is_string() || id.is_number()).cloned()
    }
}

/// JSON in which U+FFFD stands for each half of a character that lacks its other half, as some
/// clients write when they cut a text; none where there is no such half.
fn with_whole_characters(text: &[u8]) -> Option<Vec<u8>> {
    let unit = |at: usize| -> Option<u16> {
        let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        // May be dropped: what is not an escape is left as it is.
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut whole = Vec::with_capacity(text.len());
    let (mut at, mut is_changed) = (0, false);
    while at < text.len() {
        let length = match (text[at], unit(at)) {
            (_, Some(0xD800..=0xDBFF)) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => 12,
            (_, Some(0xD800..=0xDFFF)) => {
                whole.extend_from_slice(REPLACEMENT);
                is_changed = true;
                at += 6;
                continue;
            }
            (b'\\', None) => 2,
            _ => 1,
        };
        let end = (at + length).min(text.len());
        whole.extend_from_slice(&text[at..end]);
        at = end;
    }
    is_changed.then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Value>, (i32, Option<Value>)> {
        let mut line = Line::default();
        line.feed(text.as_bytes());
        let read = line.read();
        read.map(|message| message.map(|m| serde_json::to_value(m).expect("JSON")))
            .map_err(|refusal| (refusal.error.code.0, refusal.id))
    }

    #[test]
    fn every_line_that_asks_is_answered_with_its_number() {
        let ping = json!({ "jsonrpc": "2.0", "id": 7, "method": "ping" });
        assert_eq!(read(&ping.to_string()), Ok(Some(ping.clone())));
        assert_eq!(read(&format!("\u{feff} {ping}\r\n")), Ok(Some(ping)));
        let (broken, shapeless) = (-32700, -32600);
        for (text, code, id) in [
            ("{", broken, None),
            ("no JSON", broken, None),
            (r#"{"jsonrpc":"2.0","id":3,"method":"x","params":{"a":}}"#, broken, Some(json!(3))),
            (
                r#"{"params":{"id":1,"s":"}\"{"x},"id":"a-b","method":"x"}"#,
                broken,
                Some(json!("a-b")),
            ),
            ("[]", shapeless, None),
            ("5", shapeless, None),
            ("{}", shapeless, None),
            (r#"{"id":4,"method":"ping"}"#, shapeless, Some(json!(4))),
            (r#"{"jsonrpc":"1.0","id":4,"method":"ping"}"#, shapeless, Some(json!(4))),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, shapeless, Some(json!(1.5))),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, shapeless, None),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, shapeless, None),
        ] {
            assert_eq!(read(text), Err((code, id)), "{text}");
        }
        for nothing in ["", " \r\n", r#"{"method":"$/setTrace"}"#, r#"{"id":[],"result":1}"#] {
            assert_eq!(read(nothing), Ok(None), "{nothing}");
        }
    }

    #[test]
    fn of_a_line_that_is_too_long_the_number_is_kept() {
        let mut long = Line::default();
        long.feed(br#"{"method":"tools/call","params":{"id":1,"text":["#);
        for _ in 0..=LINE_BYTES_MAX / 1024 {
            long.feed(&[b'7'; 1024]);
        }
        assert!(matches!(&long, Line::TooLong(skeleton) if skeleton.kept.len() < 100));
        long.feed(br#"]},"jsonrpc":"2.0","id":12}"#);
        let refusal = long.read().expect_err("too long");
        assert_eq!(refusal.id, Some(json!(12)));
        assert!(refusal.error.message.contains("16 MiB"), "{refusal:?}");
    }

    #[test]
    fn half_a_character_becomes_a_replacement() {
        let mended = |text: &str| {
            with_whole_characters(text.as_bytes())
                .map(|bytes| String::from_utf8(bytes).expect("ASCII"))
        };
        for (text, whole) in [
            (r"a\ud83d", r"a\ufffd"),
            (r"\ude00\ud83d\ude00", r"\ufffd\ud83d\ude00"),
            (r"\ud83d\ud83d\ude00", r"\ufffd\ud83d\ude00"),
            (r"\\\ud83d", r"\\\ufffd"),
            (r"\uD83Dx", r"\ufffdx"),
        ] {
            assert_eq!(mended(text).as_deref(), Some(whole), "{text}");
        }
        for fine in [r"\\ud83d", r"\ud83d\ude00", "é", r"\u00e9", r"\", r"\u12"] {
            assert_eq!(mended(fine), None, "{fine}");
        }
        let half = r#"{"jsonrpc":"2.0","id":1,"method":"x/y","params":{"t":"a\ud83d"}}"#;
        let message = read(half).expect("read").expect("a message");
        assert_eq!(message["params"]["t"], "a\u{fffd}");
    }
}
