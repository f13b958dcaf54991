//! Measures how fast and how exact the scan is, beside a scan of 32-bit numbers. `vectors [COUNT]
//! [DIMENSION]`, made-up vectors in 2,000 clusters. Prints medians of 100 questions, the share of
//! the ten nearest found, and the same with only one record in a hundred allowed.

use std::error::Error;
use std::time::Instant;

use kapsa_index::{Entry, Sequences, Vectors, VectorsBuilder, nearest};

const CLUSTERS: usize = 2000;
const QUESTIONS: usize = 100;
const K: usize = 10;

struct Noise(u64);

impl Noise {
    /// Uniform, from 0 to 1 (xorshift64*, Vigna 2016).
    fn uniform(&mut self) -> f32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 40) as f32 / (1 << 24) as f32
    }

    /// About normal: the sum of four uniform ones.
    fn vector(&mut self, around: &[f32], spread: f32, out: &mut [f32]) {
        for (out, centre) in out.iter_mut().zip(around) {
            let sum: f32 = (0..4).map(|_| self.uniform() - 0.5).sum();
            *out = centre + sum * spread;
        }
        let length = out.iter().map(|x| x * x).sum::<f32>().sqrt();
        out.iter_mut().for_each(|x| *x /= length);
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<usize> =
        std::env::args().skip(1).map(|argument| argument.parse()).collect::<Result<_, _>>()?;
    let count = arguments.first().copied().unwrap_or(100_000);
    let dimension = arguments.get(1).copied().unwrap_or(384);
    let mut noise = Noise(42);
    let zero = vec![0.0; dimension];
    let mut centres = vec![0.0; CLUSTERS * dimension];
    centres.chunks_exact_mut(dimension).for_each(|centre| noise.vector(&zero, 1.0, centre));
    let mut plain = vec![0.0f32; count * dimension];
    let mut builder = VectorsBuilder::new(b"made up", dimension as u32, 0);
    let mut around = vec![0.0; dimension];
    let mut mix = |noise: &mut Noise, out: &mut [f32]| {
        let mut pick = || (noise.uniform() * CLUSTERS as f32) as usize % CLUSTERS * dimension;
        let (a, b) = (pick(), pick());
        around
            .iter_mut()
            .enumerate()
            .for_each(|(at, x)| *x = centres[a + at] + 0.6 * centres[b + at]);
        noise.vector(&around, 2.0 / (dimension as f32).sqrt(), out);
    };
    for (at, row) in plain.chunks_exact_mut(dimension).enumerate() {
        mix(&mut noise, row);
        builder.add(Entry { seq: at as u64 + 1, passage: 0..1, hash: 0 }, row);
    }
    let block = Vectors::open(builder.finish().into())?;
    let few = Sequences::new((1..=count as u64).step_by(100).map(|seq| seq..seq + 1).collect());
    let (mut ours, mut theirs, mut filtered, mut found) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let mut question = vec![0.0; dimension];
    for _ in 0..QUESTIONS {
        mix(&mut noise, &mut question);
        let begin = Instant::now();
        let near = nearest(&[&block], &question, K, None, &mut |_| true)?;
        ours.push(begin.elapsed().as_secs_f64() * 1e3);
        let begin = Instant::now();
        let right = exact(&plain, &question);
        theirs.push(begin.elapsed().as_secs_f64() * 1e3);
        found += near.iter().filter(|near| right.contains(&(near.seq - 1))).count();
        let begin = Instant::now();
        nearest(&[&block], &question, K, Some(&few), &mut |_| true)?;
        filtered.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    let (ours, theirs) = (median(ours), median(theirs));
    println!(
        "{count} vectors of {dimension}: p50 {ours:.2} ms; a scan of 32-bit numbers {theirs:.2} ms; {:.2}x of it",
        ours / theirs
    );
    println!(
        "recall@{K} {:.4}; one in a hundred allowed: p50 {:.2} ms",
        found as f64 / (QUESTIONS * K) as f64,
        median(filtered)
    );
    Ok(())
}

/// The places of the nearest, by 32-bit numbers in eight lanes.
fn exact(rows: &[f32], question: &[f32]) -> Vec<u64> {
    let mut scores: Vec<(f32, u64)> = Vec::with_capacity(rows.len() / question.len());
    for (at, row) in rows.chunks_exact(question.len()).enumerate() {
        let mut lanes = [0.0f32; 8];
        for (a, b) in row.as_chunks::<8>().0.iter().zip(question.as_chunks::<8>().0) {
            lanes.iter_mut().zip(a.iter().zip(b)).for_each(|(lane, (a, b))| *lane += a * b);
        }
        scores.push((lanes.iter().sum(), at as u64));
    }
    scores.select_nth_unstable_by(K - 1, |a, b| b.0.total_cmp(&a.0));
    scores[..K].iter().map(|(_, at)| *at).collect()
}
