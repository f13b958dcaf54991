//! Logits of a re-ranker: `rerank FILE QUERY TEXT...`. With the file alone it prints how long 20
//! turns of about 25 words take on all cores, and on one.

use std::error::Error;
use std::fs;
use std::time::Instant;

use kapsa_embed::LocalReranker;
use kapsa_model::Reranker;

const QUERY: &str = "When was the database moved to the new server?";
const TURNS: [&str; 4] = [
    "Anna: I moved the database to the new server on Tuesday night, and since then nobody has \
     complained about slow searches in the morning or lost work.",
    "Ben: That is great news! I was afraid that the backups would take the whole weekend, so I \
     had told my sister I could not come.",
    "Anna: We still have to tell the people in the other office how they can reach it, because \
     their old addresses stop working next month.",
    "Ben: The cat has learned how to open the door of the kitchen, which means that no cheese is \
     safe, and she looks very proud.",
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (file, rest) = arguments.split_first().ok_or("usage: rerank FILE [QUERY TEXT...]")?;
    let begin = Instant::now();
    let reranker = LocalReranker::from_bytes(fs::read(file)?)?;
    if let [query, texts @ ..] = rest {
        for (logit, text) in reranker.score(query, texts)?.into_iter().zip(texts) {
            println!("{logit:.4} {text}");
        }
        return Ok(());
    }
    println!("load: {:.1} ms", begin.elapsed().as_secs_f64() * 1e3);
    time("all cores", &reranker)?;
    time("one core", &reranker.with_threads(1))
}

/// Prints the median and the least of some calls.
fn time(what: &str, reranker: &LocalReranker) -> Result<(), Box<dyn Error>> {
    let turns: Vec<&str> = TURNS.into_iter().cycle().take(20).collect();
    let mut times = Vec::new();
    for _ in 0..15 {
        let begin = Instant::now();
        reranker.score(QUERY, &turns)?;
        times.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    println!("{what}: p50 {:.1} ms, least {:.1} ms", times[7], times[0]);
    Ok(())
}
