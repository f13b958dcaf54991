//! Measures how the time to analyse one text grows with its length, for kinds of text that are
//! hard to take apart.
//!
//! `growth [KIND...] [MEGABYTES...]` prints, for each kind and length, seconds to index a record,
//! to search one that is not indexed yet, to cut a snippet of it, and to look for an identifier
//! in it.

use std::hint::black_box;
use std::time::Instant;

use kapsa_index::{
    Document, Filter, Query, Searcher, SegmentBuilder, TailDoc, has_code_word, snippet,
};

const MEGABYTE: usize = 1 << 20;
/// A length is left out if the one before took longer.
const SECONDS_MAX: f64 = 8.0;
const SNIPPET_CHARS: usize = 300;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32) % n
    }

    fn of(&mut self, alphabet: &str, bytes: usize) -> String {
        let alphabet: Vec<char> = alphabet.chars().collect();
        let mut text = String::with_capacity(bytes + 4);
        while text.len() < bytes {
            text.push(alphabet[self.below(alphabet.len() as u32) as usize]);
        }
        text
    }

    fn between(&mut self, first: char, count: u32, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 4);
        while text.len() < bytes {
            text.extend(char::from_u32(first as u32 + self.below(count)));
        }
        text
    }
}

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const DIGITS: &str = "0123456789";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn texts(bytes: usize) -> Vec<(&'static str, String)> {
    let mut random = Random(7);
    let camel: String =
        (0..bytes).map(|at| random.of(LOWER, 1).replace(|_| at % 6 == 0, "X")).collect();
    vec![
        ("letters", random.of(LOWER, bytes)),
        ("one letter", "e".repeat(bytes)),
        ("letters, digits", random.of(&format!("{LOWER}{DIGITS}"), bytes)),
        ("camelCase", camel),
        ("snake_case", random.of("abcdefgh_", bytes)),
        ("CJK", random.between('一', 20_000, bytes)),
        ("Thai", random.between('ก', 46, bytes)),
        ("Greek", random.between('α', 25, bytes)),
        ("emoji", random.between('😀', 60, bytes)),
        ("base64", random.of(BASE64, bytes)),
        ("hex", random.of("0123456789abcdef", bytes)),
        ("punctuation", random.of("!?.,;:-()[]{}/", bytes)),
        ("words", random.of("abcdefghijklm      ", bytes)),
    ]
}

fn timed<T>(task: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    black_box(task());
    start.elapsed().as_secs_f64()
}

fn measure(text: &str) -> [f64; 4] {
    let document = Document { title: "", text, terms: &[], key_hash: 0, time_us: 0 };
    let query = Query::parse("eagle xyz 東京 สวัสดี getUserName αβγ").expect("short");
    let word = format!("e{}1_", "e".repeat(1000));
    [
        timed(|| {
            let mut builder = SegmentBuilder::new(MEGABYTE).expect("begins");
            builder.add(&document).expect("has room");
            builder.finish().expect("in memory")
        }),
        {
            let tail = vec![TailDoc::new(1, &document)];
            let searcher = Searcher::open(Vec::new(), tail).expect("opens");
            timed(|| {
                searcher.search(&query, &Filter::default(), 10, &mut |_| true).expect("no segment")
            })
        },
        timed(|| snippet(text, &query, SNIPPET_CHARS)),
        timed(|| has_code_word(text, &word)),
    ]
}

fn main() {
    let (sizes, wanted): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.parse::<usize>().is_ok());
    let mut sizes: Vec<usize> = sizes.iter().filter_map(|size| size.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![1, 2, 4, 8];
    }
    println!(
        "{:<16} {:>4} {:>9} {:>9} {:>9} {:>9}",
        "", "MB", "segment", "tail", "snippet", "code"
    );
    let kinds: Vec<&str> = texts(1).into_iter().map(|(name, _)| name).collect();
    for (kind, name) in kinds.into_iter().enumerate() {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == name) {
            continue;
        }
        for &size in &sizes {
            let (_, text) = texts(size * MEGABYTE).swap_remove(kind);
            let times = measure(&text);
            let columns: Vec<String> = times.iter().map(|time| format!("{time:>9.3}")).collect();
            println!("{name:<16} {size:>4} {}", columns.join(" "));
            if times.iter().any(|&time| time > SECONDS_MAX) {
                break;
            }
        }
    }
}
