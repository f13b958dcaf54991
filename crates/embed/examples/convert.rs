//! Makes a model file of a folder with a BERT encoder: `convert FOLDER NAME ORIGIN TOKENS OUT
//! [FLOOR]`, the last being the cosine floor in hundredths.
//! With `time FILE` it prints how long that model takes on one core for texts of some lengths.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Instant;

use kapsa_embed::{ConvertOptions, LocalEmbedder, convert};
use kapsa_model::{Embedder, Purpose};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["time", file] => time(&LocalEmbedder::from_bytes(fs::read(file)?.into())?.with_threads(1)),
        ["time"] => time(&LocalEmbedder::bundled()?.with_threads(1)),
        [folder, name, origin, tokens, out, ref floor @ ..] if floor.len() < 2 => {
            let options = ConvertOptions {
                name: Some(name.into()),
                origin: origin.into(),
                tokens_max: Some(tokens.parse()?),
                cosine_floor: floor.first().map_or(Ok(0), |floor| floor.parse())?,
                ..ConvertOptions::default()
            };
            Ok(fs::write(out, convert(Path::new(folder), &options)?)?)
        }
        _ => {
            Err("usage: convert FOLDER NAME ORIGIN TOKENS OUT [FLOOR] | convert time [FILE]".into())
        }
    }
}

/// Prints medians of a hundred texts each.
fn time(embedder: &LocalEmbedder) -> Result<(), Box<dyn Error>> {
    for (what, words) in [
        ("a question of 12 words", 12),
        ("a passage of 60 words", 60),
        ("a passage of 125 words", 125),
    ] {
        let text = "memory ".repeat(words);
        let mut times = Vec::new();
        for _ in 0..100 {
            let begin = Instant::now();
            embedder.embed(&[&text], Purpose::Passage)?;
            times.push(begin.elapsed());
        }
        times.sort();
        println!("{what}: p50 {:.2} ms", times[50].as_secs_f64() * 1e3);
    }
    Ok(())
}
