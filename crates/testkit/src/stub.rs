//! An HTTP/1.1 server in this process that answers by a script and records what it was asked: the
//! one stand-in for services that run models. Knows no protocol above HTTP with JSON bodies.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// What was asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// The path of the address.
    pub path: String,
    /// The headers as sent, with their names in lower case.
    pub headers: Vec<(String, String)>,
    /// Bytes of the body.
    pub bytes: usize,
    /// The body.
    pub body: Value,
}

impl Request {
    /// The value of the header with this name, in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The texts of a request for embeddings: the list `input`.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        let texts = self.body["input"].as_array().expect("a list of texts");
        texts.iter().map(|text| text.as_str().expect("a text").to_owned()).collect()
    }
}

/// What to answer.
pub enum Reply {
    /// A status, further header lines (each with its line end) and a body.
    Full(u16, String, String),
    /// Nothing: the connection is closed.
    Close,
    /// A body that ends halfway to its declared length.
    Half(String),
    /// Nothing for this long, and then a closed connection.
    Silence(Duration),
    /// A status, and then one byte every 20 ms.
    Drip,
    /// This many bytes, in pieces, until nobody reads them.
    Huge(usize),
}

impl Reply {
    /// A status of 200 with this body.
    #[must_use]
    pub fn json(body: &Value) -> Reply {
        Reply::Full(200, String::new(), body.to_string())
    }

    /// A status with this body.
    #[must_use]
    pub fn status(status: u16, body: &str) -> Reply {
        Reply::Full(status, String::new(), body.to_owned())
    }
}

type Handler = dyn Fn(usize, &Request) -> Reply + Send + Sync;

/// A server at a port of its own, until it is dropped.
pub struct Stub {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    ends: Arc<AtomicBool>,
}

impl Stub {
    /// A server that answers its first request with `handler(0, …)`, the next with `handler(1, …)`.
    ///
    /// # Panics
    /// When this machine has no free port.
    #[must_use]
    pub fn start(handler: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static) -> Stub {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let ends = Arc::new(AtomicBool::new(false));
        let handler: Arc<Handler> = Arc::new(handler);
        let (log, ending) = (Arc::clone(&requests), Arc::clone(&ends));
        thread::spawn(move || {
            for connection in listener.incoming() {
                if ending.load(Ordering::Relaxed) {
                    return;
                }
                let (log, handler) = (Arc::clone(&log), Arc::clone(&handler));
                thread::spawn(move || serve(&connection.expect("a connection"), &log, &*handler));
            }
        });
        Stub { address, requests, ends }
    }

    /// The address, such as `http://127.0.0.1:40123`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was asked so far, in order.
    ///
    /// # Panics
    /// When a request could not be read.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("no request failed").clone()
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(connection: &TcpStream, log: &Mutex<Vec<Request>>, handler: &Handler) {
    connection.set_read_timeout(Some(Duration::from_secs(60))).expect("the timeout is not zero");
    let mut reader = BufReader::new(connection.try_clone().expect("a second handle"));
    while let Some(request) = read(&mut reader) {
        let number = {
            let mut log = log.lock().expect("no request failed");
            log.push(request.clone());
            log.len() - 1
        };
        if answer(connection, handler(number, &request)).is_none() {
            return;
        }
    }
}

fn read(reader: &mut impl BufRead) -> Option<Request> {
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|&length| length > 0)?;
    let path = first.strip_prefix("POST ").and_then(|rest| rest.split(' ').next());
    let path = path.expect("every request is a POST").to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|&length| length > 0)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).expect("the length of the body");
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).expect("a body of JSON");
    Some(Request { path, headers, bytes: length, body })
}

/// Answers; none when the connection is at its end.
fn answer(mut to: &TcpStream, reply: Reply) -> Option<()> {
    let head = |status: u16, more: &str, length: usize| {
        format!("HTTP/1.1 {status} S\r\ncontent-length: {length}\r\n{more}\r\n")
    };
    match reply {
        Reply::Full(status, more, body) => {
            to.write_all(format!("{}{body}", head(status, &more, body.len())).as_bytes()).ok()
        }
        Reply::Close => None,
        Reply::Half(body) => {
            let _ = to.write_all(format!("{}{body}", head(200, "", body.len() * 2)).as_bytes());
            None
        }
        Reply::Silence(long) => {
            thread::sleep(long);
            None
        }
        Reply::Drip => {
            to.write_all(head(200, "", 1000).as_bytes()).ok()?;
            for _ in 0..1000 {
                to.write_all(b" ").ok()?;
                thread::sleep(Duration::from_millis(20));
            }
            None
        }
        Reply::Huge(bytes) => {
            to.write_all(b"HTTP/1.1 200 S\r\nconnection: close\r\n\r\n").ok()?;
            let piece = [b' '; 1 << 16];
            for _ in 0..bytes.div_ceil(piece.len()) {
                to.write_all(&piece).ok()?;
            }
            None
        }
    }
}
