//! Target: any text as a query finds the best few in order, however the records are spread.

use std::collections::HashSet;
use std::sync::OnceLock;

use kapsa_index::{
    Document, Filter, Hit, QUERY_BYTES_MAX, QUERY_TERMS_MAX, Query, Searcher, Segment,
    SegmentBuilder, TOKEN_BYTES_MAX, TailDoc, highlight, snippet,
};

use crate::input::Input;

/// Titles and texts that are searched.
const RECORDS: [(&str, &str); 12] = [
    ("Staging", "The staging database listens on port 5433, and port 5433 only."),
    ("", "the quick brown fox jumps over the lazy dog"),
    ("getUserName", "call getUserName() or get_user_name; the user's name is cached"),
    ("東京", "東京都の天気は晴れ。京都と東京は近い。"),
    ("", "a b c a b c a b c"),
    ("Fox", "Foxes, foxes everywhere: fox after fox after fox"),
    ("", "Ünïcode naïve café — \u{1f98a} emoji, ﬁ ligature, Straße, İstanbul"),
    (
        "crates/index/src/query.rs",
        "fn parse(text: &str) -> Result<Query> { HTTP2Server::new(v1.2.3-rc4) }",
    ),
    ("", ""),
    ("quick", "database dog quick café 東京 port"),
    ("Привет", "быстрая коричневая лиса прыгает через ленивую собаку"),
    ("", "0xdeadbeef 127.0.0.1:5433 user@example.org https://example.org/a?b=c#d"),
];
const FIRST_SEQUENCE: u64 = 1;

/// The first byte says how many hits are wanted, the second whose records are refused; the rest is
/// the query.
pub fn query(data: &[u8]) {
    let mut input = Input::new(data);
    let k = usize::from(input.byte() % 16);
    let refused = u64::from(input.byte() % 16);
    let text = String::from_utf8_lossy(input.rest());
    let query = match Query::parse(&text) {
        Ok(query) => query,
        Err(_) => {
            return assert!(
                text.len() > QUERY_BYTES_MAX,
                "a query of {} bytes is refused",
                text.len()
            );
        }
    };
    assert!(text.len() <= QUERY_BYTES_MAX, "a query of {} bytes is taken", text.len());
    check_terms(&query, text.len());
    let [spread, tail, merged] = searchers();
    let hits = search(spread, &query, k, refused);
    check_hits(&hits, &query, k, refused);
    assert_eq!(
        hits,
        search(tail, &query, k, refused),
        "segments and tail find {text:?} differently"
    );
    assert_eq!(
        hits,
        search(merged, &query, k, refused),
        "two segments and one find {text:?} differently"
    );
    for (_, shown) in RECORDS.iter().copied().chain([("", text.as_ref())]) {
        check_snippet(shown, &query, k * 7);
    }
}

fn check_terms(query: &Query, bytes: usize) {
    let mut seen = HashSet::new();
    for term in query.terms() {
        assert!((1..=TOKEN_BYTES_MAX).contains(&term.len()), "the term {term:?}");
        assert!(seen.insert(term), "the term {term:?} twice");
    }
    // A word gives itself, the parts that it is made of, and its other spellings while there is
    // room for them.
    assert!(seen.len() <= QUERY_TERMS_MAX + 2 * bytes, "{} terms from {bytes} bytes", seen.len());
}

fn check_hits(hits: &[Hit], query: &Query, k: usize, refused: u64) {
    assert!(hits.len() <= k, "{} hits for {k}", hits.len());
    let ranked = query.terms().next().is_some();
    for hit in hits {
        assert!(hit.score.is_finite(), "{hit:?}");
        assert_eq!(hit.score > 0.0, ranked, "{hit:?}");
        assert_ne!(hit.seq, refused, "a refused record is found");
        let words = &words()[(hit.seq - FIRST_SEQUENCE) as usize];
        assert!(
            !ranked || query.terms().any(|term| words.contains(term)),
            "{hit:?} has no word of {query:?}"
        );
    }
    let in_order = |pair: &[Hit]| {
        pair[0].score > pair[1].score || pair[0].score == pair[1].score && pair[0].seq > pair[1].seq
    };
    assert!(hits.windows(2).all(in_order), "{hits:?}");
}

fn check_snippet(text: &str, query: &Query, chars: usize) {
    let piece = snippet(text, query, chars);
    let shown = text.get(piece.range.clone()).expect("a snippet ends between characters");
    assert!(shown.chars().count() <= chars, "{} characters for {chars}", shown.chars().count());
    check_marks(shown, &piece.highlights);
    check_marks(text, &highlight(text, query));
}

fn check_marks(text: &str, marks: &[std::ops::Range<usize>]) {
    assert!(
        marks.iter().all(|mark| !mark.is_empty() && text.get(mark.clone()).is_some()),
        "{marks:?} of {text:?}"
    );
    assert!(marks.windows(2).all(|pair| pair[0].end <= pair[1].start), "{marks:?} of {text:?}");
}

fn search(searcher: &Searcher, query: &Query, k: usize, refused: u64) -> Vec<Hit> {
    let mut accept = |candidate: kapsa_index::Candidate<'_>| {
        let (title, text) = RECORDS[(candidate.seq() - FIRST_SEQUENCE) as usize];
        candidate.seq() != refused && query.phrases_match(title, text)
    };
    searcher.search(query, &Filter::default(), k, &mut accept).expect("an undamaged index answers")
}

/// The words of each record, stop words and parts of words included.
fn words() -> &'static [HashSet<String>] {
    static WORDS: OnceLock<Vec<HashSet<String>>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let of = |&(title, text): &(&str, &str)| {
            let plain = format!("{title} {text}").replace(['"', ':', '+', '-'], " ");
            [plain.clone(), format!("{title} {text}"), format!("+\"{plain}\"")]
                .iter()
                .flat_map(|text| terms(text))
                .collect::<HashSet<String>>()
        };
        RECORDS.iter().map(of).collect()
    })
}

fn terms(text: &str) -> Vec<String> {
    Query::parse(text).expect("the records are short").terms().map(str::to_owned).collect()
}

/// The records in two segments and a tail, in a tail alone, and in one segment alone.
fn searchers() -> &'static [Searcher; 3] {
    static SEARCHERS: OnceLock<[Searcher; 3]> = OnceLock::new();
    SEARCHERS.get_or_init(|| [searcher(&[4, 8]), searcher(&[]), searcher(&[RECORDS.len()])])
}

/// A searcher over segments that end at `ends`, and a tail of the rest.
fn searcher(ends: &[usize]) -> Searcher {
    let mut segments = Vec::new();
    let mut start = 0;
    for &end in ends {
        segments.push(Segment {
            first_seq: FIRST_SEQUENCE + start as u64,
            bytes: segment(start..end).into(),
        });
        start = end;
    }
    let tail = (start..RECORDS.len())
        .map(|place| TailDoc::new(FIRST_SEQUENCE + place as u64, &document(place, &exact(place))));
    Searcher::open(segments, tail.collect()).expect("the parts are in order")
}

fn segment(places: std::ops::Range<usize>) -> Vec<u8> {
    let mut builder = SegmentBuilder::new(1 << 20).expect("there is memory for a small segment");
    places.for_each(|place| {
        builder.add(&document(place, &exact(place))).expect("a small segment has room")
    });
    builder.finish().expect("a small segment can be built")
}

fn exact(place: usize) -> Vec<String> {
    let kind = if place.is_multiple_of(2) { "fact" } else { "note" };
    vec![
        format!("kind:{kind}"),
        format!("tag:n={place}"),
        "tag:n".to_owned(),
        format!("uri:note/{place}"),
    ]
}

fn document(place: usize, terms: &[String]) -> Document<'_> {
    let (title, text) = RECORDS[place];
    Document { title, text, terms, key_hash: place as u64, time_us: place as i64 * 1000 }
}
