//! What does a server of this process answer? An HTTP/1.1 server on this machine that writes down what it was asked.

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
    pub path: String,
    /// As sent, but with names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What to answer.
pub enum Reply {
    /// A status, further header lines, a body.
    Full(u16, String, String),
    /// Nothing: the connection ends.
    Close,
    /// A body that ends before its length.
    Half(String),
    /// Nothing for this long, and then nothing.
    Silence(Duration),
    /// A status and then a byte now and then.
    Drip,
    /// This many bytes, in pieces, until nobody listens.
    Huge(usize),
}

impl Reply {
    pub fn json(body: &Value) -> Reply {
        Reply::Full(200, String::new(), body.to_string())
    }

    pub fn status(status: u16, body: &str) -> Reply {
        Reply::Full(status, String::new(), body.to_owned())
    }
}

type Handler = dyn Fn(usize, &Request) -> Reply + Send + Sync;

pub struct Stub {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    ends: Arc<AtomicBool>,
}

impl Stub {
    /// A server that answers its first request with `handler(0, …)`.
    pub fn start(handler: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static) -> Stub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
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
                thread::spawn(move || serve(connection.unwrap(), &log, &*handler));
            }
        });
        Stub { address, requests, ends }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(connection: TcpStream, log: &Mutex<Vec<Request>>, handler: &Handler) {
    connection.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    while let Some(request) = read(&mut reader) {
        let number = {
            let mut log = log.lock().unwrap();
            log.push(request.clone());
            log.len() - 1
        };
        if answer(&connection, handler(number, &request)).is_none() {
            return;
        }
    }
}

fn read(reader: &mut impl BufRead) -> Option<Request> {
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|&length| length > 0)?;
    let path = first.strip_prefix("POST ").unwrap().split(' ').next().unwrap().to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|&length| length > 0)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").unwrap().1.parse().unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { path, headers, body: serde_json::from_slice(&body).unwrap() })
}

/// Answers; nothing when the connection is at its end.
fn answer(mut to: &TcpStream, reply: Reply) -> Option<()> {
    let head = |status: u16, more: &str, length: usize| format!("HTTP/1.1 {status} S\r\ncontent-length: {length}\r\n{more}\r\n");
    match reply {
        Reply::Full(status, more, body) => to.write_all(format!("{}{body}", head(status, &more, body.len())).as_bytes()).ok(),
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
