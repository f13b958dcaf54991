//! Against the plain truth: every vector multiplied with the question.

use super::*;
use crate::seqs::Sequences;

struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn vector(&mut self, dimension: usize) -> Vec<f32> {
        let mut vector: Vec<f32> =
            (0..dimension).map(|_| self.next() as f32 / 2f32.powi(30) - 1.0).collect();
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|x| *x /= length);
        vector
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn entry(seq: u64, start: u32) -> Entry {
    Entry { seq, passage: start..start + 10, hash: seq * 100 + u64::from(start) }
}

#[test]
fn the_nearest_are_those_of_the_plain_truth() {
    let mut noise = Noise(7);
    for dimension in [384, 100, 1024] {
        let (mut blocks, mut truth) = (Vec::new(), Vec::new());
        // Three blocks, records with one to three passages, every seventh record without any.
        for block in 0..3u64 {
            let mut builder = VectorsBuilder::new(b"model", dimension, 3);
            for seq in block * 500..block * 500 + 500 {
                for passage in (0..seq % 3 + 1).filter(|_| seq % 7 > 0) {
                    let vector = noise.vector(dimension as usize);
                    builder.add(entry(seq, passage as u32 * 8), &vector);
                    truth.push((seq, passage as u32 * 8, vector));
                }
            }
            builder.cover(block * 500..block * 500 + 500);
            blocks.push(Vectors::open(builder.finish().into()).expect("it works"));
        }
        let blocks: Vec<&Vectors> = blocks.iter().collect();
        let some =
            Sequences::new((0..1500).filter(|seq| seq % 11 < 2).map(|seq| seq..seq + 1).collect());
        for round in 0..20 {
            let question = noise.vector(dimension as usize);
            for (seqs, k) in [
                (None, 10),
                (Some(&some), 10),
                (None, 400),
                (None, 5000),
                (Some(&Sequences::default()), 3),
            ] {
                let allowed =
                    |seq: u64| seqs.is_none_or(|seqs| seqs.contains(seq)) && seq % 5 != round % 5;
                let found = nearest(&blocks, &question, k, seqs, &mut |seq| allowed(seq))
                    .expect("it works");
                let mut best: std::collections::BTreeMap<u64, (f32, u32)> =
                    std::collections::BTreeMap::new();
                for (seq, start, vector) in truth.iter().filter(|(seq, ..)| allowed(*seq)) {
                    let score = dot(vector, &question);
                    let kept = best.entry(*seq).or_insert((score, *start));
                    *kept = if score > kept.0 { (score, *start) } else { *kept };
                }
                let mut right: Vec<f32> = best.values().map(|(score, _)| *score).collect();
                right.sort_by(|a, b| b.total_cmp(a));
                assert_eq!(found.len(), k.min(right.len()));
                for (near, right) in found.iter().zip(right) {
                    assert!((near.score - right).abs() < 0.006, "{} {right}", near.score);
                    let (score, start) = best[&near.seq];
                    assert!((near.score - score).abs() < 0.006);
                    assert!(near.passage == (start..start + 10) || k > 10 || dimension == 100);
                }
            }
        }
    }
}

#[test]
fn a_block_gives_back_what_was_put_in() {
    let mut noise = Noise(1);
    let mut builder = VectorsBuilder::new("name: žluť".as_bytes(), 70, 9);
    let vectors: Vec<Vec<f32>> = (0..50).map(|_| noise.vector(70)).collect();
    // In any order.
    for (at, vector) in vectors.iter().enumerate().rev() {
        builder.add(entry(at as u64, 0), vector);
    }
    builder.cover(0..20);
    builder.cover(20..60);
    let block = Vectors::open(builder.finish().into()).expect("it works");
    assert_eq!(
        (block.label(), block.dimension(), block.epoch(), block.len()),
        ("name: žluť".as_bytes(), 70, 9, 50)
    );
    assert_eq!(*block.covered(), Sequences::from(0..60));
    assert_eq!(block.find(4200).expect("it works"), Some(42));
    assert_eq!(block.find(1).expect("it works"), None);
    for (at, vector) in vectors.iter().enumerate() {
        assert_eq!(block.entry(at).expect("it works"), entry(at as u64, 0));
        let largest = vector.iter().fold(0.0f32, |largest, x| largest.max(x.abs()));
        assert!(
            block
                .vector(at)
                .expect("it works")
                .iter()
                .zip(vector)
                .all(|(a, b)| (a - b).abs() <= largest / 253.0)
        );
    }
    let mut again = VectorsBuilder::new(block.label(), 70, 9);
    again.add_from(entry(77, 3), &block, 42).expect("it works");
    let again = Vectors::open(again.finish().into()).expect("it works");
    assert_eq!(again.vector(0).expect("it works"), block.vector(42).expect("it works"));
    assert_eq!(again.entry(0).expect("it works"), entry(77, 3));
}

#[test]
fn damaged_bytes_are_refused_or_harmless() {
    let mut builder = VectorsBuilder::new(b"m", 64, 0);
    let mut noise = Noise(5);
    (0..9).for_each(|seq| builder.add(entry(seq, 0), &noise.vector(64)));
    builder.cover(0..9);
    let bytes = builder.finish();
    let question = noise.vector(64);
    for len in 0..bytes.len() {
        assert!(Vectors::open(bytes[..len].to_vec().into()).is_err(), "{len}");
    }
    for bit in 0..bytes.len() * 8 {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let Ok(block) = Vectors::open(bytes.into()) else { continue };
        // An error is as good as an answer here; what counts is that there is one.
        let near = nearest(&[&block], &question, 5, Some(&(2..7).into()), &mut |_| true);
        assert!(near.is_err() || near.is_ok_and(|near| near.len() <= 5), "bit {bit}");
    }
}
