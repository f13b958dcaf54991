//! Writes the candidates of traces as files: `cargo run -p kapsa-extract --example extract --
//! FOLDER TRACE…` makes `FOLDER/<stem of the trace>.json` for each, as a list.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use kapsa_extract::{Candidate, extract};
use serde_json::{Value, json};

fn main() {
    let mut args = std::env::args().skip(1);
    let folder = args.next().expect("the first argument is the folder to write to");
    fs::create_dir_all(&folder).expect("the folder can be made");
    for trace in args {
        let mut kept = Vec::new();
        let reading = kapsa_ingest::sessions(Path::new(&trace), &mut |session| {
            kept.extend(extract(&session).candidates.iter().filter(|it| !it.reversed).map(shown));
            ControlFlow::Continue(())
        });
        if let Err(error) = reading {
            println!("error: {error}");
        }
        let stem = Path::new(&trace).file_stem().expect("a file has a name").to_string_lossy();
        let file = Path::new(&folder).join(format!("{stem}.json"));
        fs::write(file, Value::Array(kept).to_string()).expect("the file can be written");
    }
}

fn shown(candidate: &Candidate) -> Value {
    let evidence: Vec<String> = candidate.evidence.iter().map(ToString::to_string).collect();
    json!({
        "type": candidate.kind.name(),
        "title": candidate.title,
        "body": candidate.body,
        "confidence": candidate.confidence,
        "evidence": evidence,
        "tags": candidate.tags,
    })
}
