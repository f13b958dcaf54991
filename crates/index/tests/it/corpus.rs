//! Random small corpora of words that no stemmer touches.

use kapsa_index::{Document, Searcher, Segment, SegmentBuilder, TailDoc};

/// A small random number generator, so that a seed says everything.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Small numbers are much more likely.
    pub(crate) fn skewed(&mut self, n: usize) -> usize {
        let first = self.below(n);
        let second = self.below(first + 1);
        self.below(second + 1)
    }
}

pub(crate) const WORDS: [&str; 14] =
    ["ax", "bo", "cu", "de", "ek", "fy", "go", "hu", "iz", "jo", "ka", "lu", "mi", "nu"];

#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) terms: Vec<String>,
    pub(crate) key_hash: u64,
    pub(crate) time_us: i64,
}

impl Record {
    pub(crate) fn document(&self) -> Document<'_> {
        Document {
            title: &self.title,
            text: &self.text,
            terms: &self.terms,
            key_hash: self.key_hash,
            time_us: self.time_us,
        }
    }
}

pub(crate) fn words(random: &mut Random, count: usize) -> String {
    let words: Vec<&str> = (0..count).map(|_| WORDS[random.skewed(WORDS.len())]).collect();
    words.join(" ")
}

pub(crate) fn records(random: &mut Random, count: usize) -> Vec<Record> {
    let len_max = 1 + random.below(20);
    (0..count)
        .map(|number| {
            let title_len = random.below(4);
            let text_len = random.below(len_max + 1);
            Record {
                title: words(random, title_len),
                text: words(random, text_len),
                terms: (0..4).map(|field| format!("f{field}:{}", random.skewed(6))).collect(),
                key_hash: random.next(),
                time_us: number as i64 * 10 + random.below(200) as i64 - 100,
            }
        })
        .collect()
}

pub(crate) fn segment(records: &[Record]) -> Vec<u8> {
    let mut builder = SegmentBuilder::new(1 << 20).expect("builder");
    for record in records {
        builder.add(&record.document()).expect("add");
    }
    builder.finish().expect("finish")
}

/// Records as segments that end at `ends`, the rest as tail; record `n` has sequence `n + base`.
pub(crate) fn searcher(records: &[Record], ends: &[usize], base: u64) -> Searcher {
    let mut segments = Vec::new();
    let mut start = 0;
    for &end in ends {
        let bytes = segment(&records[start..end]).into();
        segments.push(Segment { first_seq: base + start as u64, bytes });
        start = end;
    }
    let tail = records[start..].iter().zip(base + start as u64..);
    let tail = tail.map(|(record, seq)| TailDoc::new(seq, &record.document())).collect();
    Searcher::open(segments, tail).expect("open")
}
