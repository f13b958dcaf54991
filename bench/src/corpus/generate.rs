//! The record at an index of the corpus.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};

use super::Pool;
use super::time::rfc3339;
use crate::rng::Rng;
use kapsa_bench_common::record::Record;

/// Bytes of a record's text: median, spread of the logarithm (which gives a mean of 1 KB), and the
/// bounds.
const TEXT_BYTES_MEDIAN: f64 = 700.0;
const TEXT_BYTES_SIGMA: f64 = 0.845;
const TEXT_BYTES_MIN: f64 = 200.0;
const TEXT_BYTES_MAX: f64 = 20_000.0;
/// How often the next paragraph comes from elsewhere instead of the same document.
const JUMP_CHANCE: f64 = 0.35;
/// How often a record names a ticket: the rare words that people search for.
const TICKET_CHANCE: f64 = 0.2;
/// Words of a title at most.
const TITLE_WORDS_MAX: usize = 8;
/// 2024-01-01, the time of the first record.
const FIRST_SECOND: u64 = 1_704_067_200;

const KINDS: [&str; 5] = ["fact", "note", "decision", "learning", "insight"];
const LABELS: [&str; 6] = ["api", "build", "design", "incident", "review", "testing"];
const DOMAINS: [&str; 5] = ["engineering", "finance", "operations", "research", "support"];
const LANGUAGES: [&str; 4] = ["c", "perl", "python", "rust"];
const AGENTS: usize = 24;
const ENTITIES: usize = 2_000;

/// Bytes of the text of a record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sizes {
    /// Log-normal: 0.2 to 20 KB, 1 KB on average.
    Documents,
    /// As many for each.
    Fixed(usize),
    /// Between the two, all alike frequent.
    Between(usize, usize),
}

/// Makes records from a pool of paragraphs.
#[derive(Debug)]
pub struct Generator<'a> {
    pool: &'a Pool,
    seed: u64,
}

impl<'a> Generator<'a> {
    /// A generator over `pool`, which must not be empty.
    pub fn new(pool: &'a Pool, seed: u64) -> Self {
        assert!(!pool.is_empty(), "a corpus needs paragraphs");
        Self { pool, seed }
    }

    /// The record at `index`.
    pub fn record(&self, index: u64, sizes: Sizes) -> Record {
        let mut rng = Rng::new(self.seed, index);
        let bytes = match sizes {
            Sizes::Documents => {
                let bytes = rng.log_normal(TEXT_BYTES_MEDIAN, TEXT_BYTES_SIGMA);
                bytes.clamp(TEXT_BYTES_MIN, TEXT_BYTES_MAX) as usize
            }
            Sizes::Fixed(bytes) => bytes,
            Sizes::Between(least, most) => least + rng.below(most - least + 1),
        };
        self.make(index, bytes, &mut rng)
    }

    /// Writes the records of `range` to `path` as JSON Lines.
    pub fn write(&self, range: Range<u64>, sizes: Sizes, path: &Path) -> Result<()> {
        let file =
            File::create(path).with_context(|| format!("failed to create {}", path.display()))?;
        let mut out = BufWriter::with_capacity(1 << 20, file);
        for index in range {
            serde_json::to_writer(&mut out, &self.record(index, sizes))?;
            out.write_all(b"\n")?;
        }
        Ok(out.flush()?)
    }

    fn make(&self, index: u64, bytes: usize, rng: &mut Rng) -> Record {
        let text = self.text(bytes, rng);
        Record {
            title: title(&text),
            text,
            kind: (*rng.pick(&KINDS)).to_owned(),
            label: (*rng.pick(&LABELS)).to_owned(),
            tags: tags(index, rng),
            agent: format!("agent-{:02}", rng.below(AGENTS)),
            entity: format!("entity-{:04}", rng.below(ENTITIES)),
            domain: (*rng.pick(&DOMAINS)).to_owned(),
            created_at: rfc3339(FIRST_SECOND + index * 60 + rng.below(60) as u64),
        }
    }

    /// Paragraphs in a row, now and then from another document, cut to `bytes` at a word.
    fn text(&self, bytes: usize, rng: &mut Rng) -> String {
        let mut text = String::with_capacity(bytes + 64);
        if rng.chance(TICKET_CHANCE) {
            text.push_str(&format!("Ticket OPS-{}. ", 10_000 + rng.below(900_000)));
        }
        let mut at = rng.below(self.pool.len());
        while text.len() < bytes {
            text.push_str(self.pool.paragraph(at));
            text.push_str("\n\n");
            at = if rng.chance(JUMP_CHANCE) {
                rng.below(self.pool.len())
            } else {
                (at + 1) % self.pool.len()
            };
        }
        cut_at_word(&mut text, bytes);
        text
    }
}

fn cut_at_word(text: &mut String, bytes: usize) {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if let Some(space) = text[..end].rfind(char::is_whitespace).filter(|space| space * 2 > end) {
        end = space;
    }
    text.truncate(end);
    text.truncate(text.trim_end().len());
}

fn title(text: &str) -> String {
    let words = text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric));
    let mut title = words.take(TITLE_WORDS_MAX).collect::<Vec<_>>().join(" ");
    if title.len() > 100 {
        cut_at_word(&mut title, 100);
    }
    title
}

/// The tags of a record: the two samples fall evenly over the corpus, exactly 1 in 100 and 1 in 10.
fn tags(index: u64, rng: &mut Rng) -> BTreeMap<String, String> {
    let mut tags = BTreeMap::from([("lang".to_owned(), (*rng.pick(&LANGUAGES)).to_owned())]);
    if index % 100 == 37 {
        tags.insert("sample".to_owned(), "one".to_owned());
    }
    if index % 10 == 3 {
        tags.insert("decile".to_owned(), "d".to_owned());
    }
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> Pool {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let paragraph = |i: usize| {
            format!("Paragraph {i} tells about snapshots, segments and the log. ").repeat(3)
        };
        let body = (0..50).map(paragraph).collect::<Vec<_>>().join("\n\n");
        std::fs::write(folder.path().join("a.txt"), body).expect("written");
        Pool::read(&[folder.path().to_path_buf()]).expect("paragraphs")
    }

    #[test]
    fn samples_are_exact_and_records_repeat() {
        let pool = pool();
        let generator = Generator::new(&pool, 3);
        let records: Vec<Record> =
            (0..1_000).map(|i| generator.record(i, Sizes::Documents)).collect();
        let with =
            |key: &str| records.iter().filter(|record| record.tags.contains_key(key)).count();
        assert_eq!((with("sample"), with("decile")), (10, 100));
        let seventh = |seed| Generator::new(&pool, seed).record(7, Sizes::Documents);
        assert_eq!(records[7], seventh(3));
        assert_ne!(records[7].text, seventh(4).text);
    }

    #[test]
    fn texts_stay_within_their_bounds() {
        let pool = pool();
        let generator = Generator::new(&pool, 1);
        for index in 0..2_000 {
            let record = generator.record(index, Sizes::Documents);
            assert!((100..=20_000).contains(&record.text.len()), "{} bytes", record.text.len());
            assert!(!record.title.is_empty());
            let short = generator.record(index, Sizes::Between(100, 1_000));
            assert!((50..=1_000).contains(&short.text.len()), "{} bytes", short.text.len());
        }
    }

    #[test]
    fn cuts_fall_on_characters() {
        let mut text = "ééééé".to_owned();
        cut_at_word(&mut text, 3);
        assert_eq!(text, "é");
    }
}
