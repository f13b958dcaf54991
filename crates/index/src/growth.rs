//! Tests that the work of analysis grows with the length of a text and not faster, by counting
//! steps.

use crate::query::Query;
use crate::schema::Document;
use crate::segment::SegmentBuilder;
use crate::steps;
use crate::tail::TailDoc;
use crate::{Filter, has_code_word, snippet, terms_in};

/// Bytes of the shorter text.
const TEXT_BYTES: usize = 1 << 17;
/// By how much more than twice the work may grow for twice the text, in percent.
const TOLERANCE_PERCENT: usize = 3;
const SNIPPET_CHARS: usize = 300;

/// Characters of an alphabet, drawn with xorshift.
fn drawn(alphabet: &str, bytes: usize) -> String {
    let alphabet: Vec<char> = alphabet.chars().collect();
    let mut number = 88_172_645_463_325_252_u64;
    let mut text = String::with_capacity(bytes + 4);
    while text.len() < bytes {
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        text.push(alphabet[(number >> 32) as usize % alphabet.len()]);
    }
    text
}

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";

/// Texts that are hard to take apart.
fn texts(bytes: usize) -> Vec<(&'static str, String)> {
    let range = |first: char, last: char| String::from_iter(first..=last);
    let upper = LOWER.to_uppercase();
    vec![
        ("letters", drawn(LOWER, bytes)),
        ("one letter", "e".repeat(bytes)),
        ("letters and digits", drawn(&format!("{LOWER}0123456789"), bytes)),
        ("camelCase", "getUserName".repeat(bytes / 11)),
        ("every case", drawn(&format!("{LOWER}{upper}"), bytes)),
        ("snake_case", drawn("abcdefgh_", bytes)),
        ("CJK", drawn(&range('一', '鿿'), bytes)),
        ("one ideograph", "東".repeat(bytes / 3)),
        ("Thai", drawn(&range('ก', 'ฮ'), bytes)),
        ("Greek", drawn(&range('α', 'ω'), bytes)),
        ("accents", format!("e{}", "\u{301}".repeat(bytes / 2))),
        ("emoji", drawn(&range('😀', '😿'), bytes)),
        ("base64", drawn(&format!("{LOWER}{upper}0123456789+/"), bytes)),
        ("hex", drawn("0123456789abcdef", bytes)),
        ("versions", "1.".repeat(bytes / 2)),
        ("punctuation", drawn("!?.,;:-()[]{}/'\"", bytes)),
        ("words", drawn("abcdefghijklm      ", bytes)),
        ("one word", "name ".repeat(bytes / 5)),
    ]
}

/// Names a kind of work, and counts its steps for a text.
type Work = (&'static str, fn(&str) -> usize);

fn document(text: &str) -> Document<'_> {
    Document { title: "", text, terms: &[], key_hash: 0, time_us: 0 }
}

fn asked(text: &str) -> Query {
    let known = text.chars().take(40).collect::<String>();
    Query::parse(&format!("{known} name eagle 東 \u{3b1}\u{3b2}")).expect("short")
}

const WORK: [Work; 5] = [
    ("to index", |text| {
        steps::of(|| {
            let mut builder = SegmentBuilder::new(1 << 20).expect("begins");
            builder.add(&document(text)).expect("has room");
        })
    }),
    ("to search the tail", |text| {
        let tail = TailDoc::new(1, &document(text));
        let query = asked(text);
        steps::of(|| drop(tail.analysed(&query, &Filter::default())))
    }),
    ("to cut a snippet", |text| {
        let query = asked(text);
        steps::of(|| drop(snippet(text, &query, SNIPPET_CHARS)))
    }),
    ("to find terms", |text| {
        let query = asked(text);
        steps::of(|| drop(terms_in(text, &query)))
    }),
    ("to find code", |text| {
        let word = format!("{}_1", text.chars().take(40).collect::<String>());
        steps::of(|| assert!(!has_code_word(text, &word)))
    }),
];

#[test]
fn twice_the_text_is_twice_the_work() {
    for ((kind, short), (_, long)) in texts(TEXT_BYTES).into_iter().zip(texts(2 * TEXT_BYTES)) {
        for (work, count) in WORK {
            let (once, twice) = (count(&short), count(&long));
            assert!(once >= TEXT_BYTES / 4, "{work} in {kind}: {once} steps are not all of them");
            assert!(
                twice * 100 <= once * (200 + TOLERANCE_PERCENT),
                "{work} in {kind}: {once} steps for {TEXT_BYTES} bytes, {twice} for twice as many"
            );
        }
    }
}

/// Queries are short, but not so short that the square of their length were nothing.
#[test]
fn twice_the_query_is_twice_the_work() {
    let bytes = crate::QUERY_BYTES_MAX / 2;
    for ((kind, short), (_, long)) in texts(bytes).into_iter().zip(texts(2 * bytes - 4)) {
        let count = |text: &str| steps::of(|| drop(Query::parse(text).expect("short enough")));
        let (once, twice) = (count(&short), count(&long));
        assert!(
            twice * 100 <= once * (200 + TOLERANCE_PERCENT),
            "{kind}: {once} steps for {bytes} bytes, {twice} for twice as many"
        );
    }
}
