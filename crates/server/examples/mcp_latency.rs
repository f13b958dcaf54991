//! How long a search takes over pipes, beside the same search in process; how soon a server
//! answers first, and how much memory it has while nobody asks.
//!
//! `cargo run --release -p kapsa-server --example mcp_latency -- PROGRAM CAPSULE [ROUNDS]`, with
//! the program `kapsa` and a capsule with some records.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use kapsa_embed::LocalEmbedder;
use kapsa_memory::request::{Clock, FindRequest, TimelineRequest};
use kapsa_memory::{Models, Reader};
use kapsa_model::Embedder;
use serde_json::{Value, json};

/// Records whose words are asked for.
const ASKED: usize = 200;
/// Words of a question.
const WORDS: usize = 4;
/// Starts of the server that are measured.
const STARTS: usize = 20;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Server {
    fn start(program: &str, capsule: &str) -> Result<Server> {
        let mut child = Command::new(program)
            .args(["--capsule", capsule, "mcp"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().ok_or("no pipe")?;
        let output = BufReader::new(child.stdout.take().ok_or("no pipe")?);
        let mut server = Server { child, input, output, asked: 0 };
        let greeting = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "latency", "version": "1" },
        });
        server.ask("initialize", &greeting)?;
        writeln!(
            server.input,
            "{}",
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
        )?;
        Ok(server)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<String> {
        self.asked += 1;
        let id = self.asked;
        writeln!(
            self.input,
            "{}",
            json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
        )?;
        let begin = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},");
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                return Err("the server ended".into());
            }
            if line.starts_with(&begin) {
                return Ok(line);
            }
        }
    }

    fn resident_kib(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // May be dropped: it has ended, or ends with this process.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn part(times: &mut [Duration], share: f64) -> Duration {
    times.sort();
    times[((times.len() as f64 * share) as usize).min(times.len() - 1)]
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let [_, program, capsule, rest @ ..] = &args[..] else {
        return Err("usage: latency PROGRAM CAPSULE [ROUNDS]".into());
    };
    let rounds: usize = rest.first().map_or(Ok(5), |rounds| rounds.parse())?;
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let begin = Instant::now();
        let server = Server::start(program, capsule)?;
        starts.push(begin.elapsed());
        drop(server);
    }
    let reader = Reader::open(capsule.as_ref())?;
    let newest = TimelineRequest { limit: ASKED, reverse: true, ..TimelineRequest::default() };
    let questions: Vec<String> = reader
        .timeline(&newest)?
        .iter()
        .map(|record| record.text.split_whitespace().take(WORDS).collect::<Vec<_>>().join(" "))
        .filter(|question| !question.is_empty())
        .collect();
    let embedder = LocalEmbedder::bundled()?;
    let has_vectors = reader.coverage()?.model.as_ref() == Some(embedder.model());
    let models =
        Models { embedder: has_vectors.then_some(&embedder as &dyn Embedder), reranker: None };
    let mut server = Server::start(program, capsule)?;
    std::thread::sleep(Duration::from_millis(200));
    let idle = server.resident_kib()?;
    let (mut inside, mut over) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        for question in &questions {
            let request = FindRequest {
                k: 11,
                time: Some(Clock::utc(1_767_225_600_000_000)),
                or_plain: true,
                valid_at: Some(1_767_225_600_000_000),
                ..FindRequest::new(question.clone())
            };
            let begin = Instant::now();
            reader.renewed()?.find_by(&request, models)?;
            let first = begin.elapsed();
            let params = json!({ "name": "memory_search", "arguments": { "query": question } });
            let begin = Instant::now();
            server.ask("tools/call", &params)?;
            // The first round warms both up.
            if round > 0 {
                inside.push(first);
                over.push(begin.elapsed());
            }
        }
    }
    let ratio = part(&mut over, 0.5).as_secs_f64() / part(&mut inside, 0.5).as_secs_f64();
    println!(
        "{} searches {}: in process p50 {:?} p99 {:?} · over pipes p50 {:?} p99 {:?} · {ratio:.2}×",
        over.len(),
        if has_vectors { "by words and meaning" } else { "by words" },
        part(&mut inside, 0.5),
        part(&mut inside, 0.99),
        part(&mut over, 0.5),
        part(&mut over, 0.99),
    );
    println!("first answer after {:?} (median of {STARTS} starts)", part(&mut starts, 0.5));
    println!("resident: {idle} KiB idle, {} KiB after the searches", server.resident_kib()?);
    Ok(())
}
