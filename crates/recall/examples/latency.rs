//! The time of a search by words and meaning: `latency CAPSULE [COUNT]` makes a capsule of COUNT
//! records (100,000) with synthetic texts, then searches it.
//!
//! The passages' vectors are made up, since embedding that many takes minutes; those of the
//! questions are the bundled model's. What is measured does not depend on the numbers in them.
//! Prints medians of 200 questions, warm, in this process.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use kapsa_embed::LocalEmbedder;
use kapsa_memory::{
    EmbedRequest, FindRequest, NewRecord, Reader, SearchMode, WriteOptions, Writer, create, embed,
};
use kapsa_model::{EmbedError, Embedder, Model, Purpose};

const NOW: i64 = 1_767_225_600_000_000;
const QUESTIONS: usize = 200;

struct Noise(u64);

impl Noise {
    /// xorshift64* (Vigna 2016).
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33
    }

    /// Words by a law like that of natural texts: the `n`th is about `1/n` as frequent as the
    /// first.
    fn text(&mut self, words: usize) -> String {
        let number = |noise: &mut Noise| {
            (20_000f64.powf(noise.next() as f64 / (1u64 << 31) as f64)) as usize
        };
        (0..words).map(|_| word(number(self)) + " ").collect()
    }
}

/// A word that can be spoken, for each number below 68,921.
fn word(number: usize) -> String {
    const SYLLABLES: &[u8] =
        b"babebibocacecicodadedidofafefifolalelilomamemimonanenoniparapepiposasesisotatetito";
    let syllable = |at: usize| {
        SYLLABLES
            .chunks_exact(2)
            .nth(at % 41)
            .map(|two| String::from_utf8_lossy(two))
            .unwrap_or_default()
    };
    format!("{}{}{}", syllable(number), syllable(number / 41), syllable(number / 1681))
}

/// The bundled model for questions, made-up vectors for passages.
struct Fast(LocalEmbedder);

impl Embedder for Fast {
    fn model(&self) -> &Model {
        self.0.model()
    }

    fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        if purpose == Purpose::Query {
            return self.0.embed(texts, purpose);
        }
        let vector = |text: &&str| {
            let seed = text
                .bytes()
                .fold(1u64, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)));
            let mut noise = Noise(seed | 1);
            let vector: Vec<f32> = (0..self.model().dimension)
                .map(|_| noise.next() as f32 / (1u64 << 30) as f32 - 1.0)
                .collect();
            let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            vector.iter().map(|x| x / length).collect()
        };
        Ok(texts.iter().map(vector).collect())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = Path::new(arguments.first().ok_or("usage: latency CAPSULE [COUNT]")?);
    let count: usize = arguments.get(1).map_or(Ok(100_000), |count| count.parse())?;
    let embedder = Fast(LocalEmbedder::bundled()?.with_threads(1));
    if !path.exists() {
        make(path, count, &embedder)?;
    }
    let reader = Reader::open(path)?;
    for (name, mode) in
        [("words", SearchMode::Words), ("meaning", SearchMode::Meaning), ("both", SearchMode::Auto)]
    {
        let mut noise = Noise(99);
        let mut times = Vec::new();
        for _ in 0..QUESTIONS {
            let request =
                FindRequest { mode, ..FindRequest::new(format!("where is {}", noise.text(6))) };
            let begin = Instant::now();
            reader.find_with(&request, Some(&embedder))?;
            times.push(begin.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        println!(
            "{name}: p50 {:.2} ms, p99 {:.2} ms",
            times[QUESTIONS / 2],
            times[QUESTIONS * 99 / 100]
        );
    }
    Ok(())
}

fn make(path: &Path, count: usize, embedder: &Fast) -> Result<(), Box<dyn Error>> {
    let options = WriteOptions::new(|| NOW);
    create(path, &options)?;
    let mut writer = Writer::open(path, options.clone())?;
    let mut noise = Noise(7);
    for start in (0..count).step_by(10_000) {
        let records =
            (start..count.min(start + 10_000)).map(|_| NewRecord::text(noise.text(40))).collect();
        writer.put_many(records)?;
    }
    drop(writer);
    embed(path, &options, embedder, &EmbedRequest::default(), &mut |_, _| ())?;
    kapsa_memory::optimize(path, &options, &mut |_, _| ())?;
    Ok(())
}
