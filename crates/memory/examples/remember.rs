//! Everything the command line does, from a program: put, revise, find, look back, forget, check,
//! keep small. `cargo run -p kapsa-memory --example remember`

use std::error::Error;
use std::time::{SystemTime, UNIX_EPOCH};

use kapsa_memory::{
    FindRequest, NewRecord, Reader, TimelineRequest, Uri, WriteOptions, Writer, check, create,
    document, optimize, put_source,
};

fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is after 1970");
    i64::try_from(since.as_micros()).expect("the clock is before the year 294,000")
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("memory.kapsa");
    let options = WriteOptions::new(now_us);
    create(&path, &options)?;

    // One writer at a time; each call is one commit, on disk when it returns.
    let mut writer = Writer::open(&path, options.clone())?;
    let port = Uri::parse("fact/staging-port")?;
    let fact = |text: &str| NewRecord {
        uri: Some(port.clone()),
        kind: "fact".to_string(),
        ..NewRecord::text(text)
    };
    let first = writer.put(fact("The staging database listens on port 5433."))?;
    writer.put(fact("Since the move the staging database listens on port 5434."))?;
    let text =
        "# Deploying\nRun the checks first.\n\n# Rolling back\nPromote the previous image.\n";
    put_source(&mut writer, "handbook.md", document::cut("handbook.md", text)?)?;
    drop(writer);

    // Any number of readers, each with its own unchanging view.
    let reader = Reader::open(&path)?;
    for hit in reader.find(&FindRequest::new("how do I roll back a deployment?"))?.hits {
        let place = hit
            .record
            .source
            .map(|s| format!(" ({}:{})", s.path, s.line_start))
            .unwrap_or_default();
        println!("{:.2}  {}{place}", hit.score, hit.record.uri);
    }
    println!("now:  {}", reader.get(&port)?.text);
    println!("then: {}", reader.record(first.sequence)?.text);
    println!("{} revisions of it", reader.history(&port)?.len());

    let mut writer = Writer::open(&path, options.clone())?;
    writer.forget(&port)?;
    drop(writer);
    let left = Reader::open(&path)?.timeline(&TimelineRequest::default())?;
    println!("{} records are visible", left.len());

    optimize(&path, &options, &mut |_, _| {})?;
    Writer::open(&path, options)?.compact(&mut |_, _| {})?;
    let report = check::verify(&path, &mut |_, _| {})?;
    println!(
        "{} records in {} commits, {} problems",
        report.records,
        report.commits,
        report.problems.len()
    );
    Ok(())
}
