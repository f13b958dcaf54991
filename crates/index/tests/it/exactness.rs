//! Every search must be exact, however the records are spread over segments and tail.

use kapsa_index::{
    Candidate, Filter, Hit, Query, Searcher, Segment, SegmentBytes, Sequences, merge,
};

use crate::corpus::{Random, Record, WORDS, records, searcher, segment};
use crate::naive::{self, Pieces};

fn clause(random: &mut Random) -> Vec<&'static str> {
    let len = if random.chance(25) { 2 + random.below(2) } else { 1 };
    (0..len).map(|_| WORDS[random.skewed(WORDS.len())]).collect()
}

fn clauses(random: &mut Random, count_max: usize) -> Vec<Vec<&'static str>> {
    let count = random.below(count_max + 1);
    (0..count).map(|_| clause(random)).collect()
}

fn pieces(random: &mut Random) -> Pieces {
    let mut pieces = Pieces { should: clauses(random, 6), ..Pieces::default() };
    if random.chance(30) {
        pieces.must = clauses(random, 3);
    }
    if random.chance(20) {
        pieces.must_not = clauses(random, 2);
    }
    if random.chance(40) {
        // Only words, so that pruning is possible.
        pieces.should.iter_mut().chain(&mut pieces.must).for_each(|clause| clause.truncate(1));
    }
    if pieces.should.is_empty() && pieces.must.is_empty() {
        pieces.should.push(clause(random));
    }
    pieces
}

fn term(random: &mut Random) -> String {
    match random.below(5) {
        4 => format!("title:{}", WORDS[random.skewed(WORDS.len())]),
        field => format!("f{field}:{}", random.skewed(7)),
    }
}

fn filter(random: &mut Random, base: u64, count: usize) -> Filter {
    let mut filter = Filter::default();
    if random.chance(50) {
        return filter;
    }
    for _ in 0..random.below(3) {
        let len = 1 + random.below(3);
        filter.all.push((0..len).map(|_| term(random)).collect());
    }
    if random.chance(30) {
        filter.none.push(term(random));
    }
    let time = |random: &mut Random| Some(random.below(count * 10 + 1) as i64);
    filter.since_us = if random.chance(25) { time(random) } else { None };
    filter.until_us = if random.chance(25) { time(random) } else { None };
    if random.chance(40) {
        filter.seqs = Some(sequences(random, base, count));
    }
    filter
}

/// Some ranges of the corpus, the last record always among them: so that the statistics are those
/// of the whole.
fn sequences(random: &mut Random, base: u64, count: usize) -> Sequences {
    let mut ranges = Vec::new();
    let end = base + count as u64;
    ranges.push(end - 1..end + random.below(3) as u64);
    for _ in 0..random.below(6) {
        let start = base + random.below(count) as u64;
        ranges.push(start..start + random.skewed(count) as u64);
    }
    Sequences::new(ranges)
}

/// Sorted places to cut at, perhaps fewer than asked for.
fn cuts(random: &mut Random, count: usize) -> Vec<usize> {
    let mut ends: Vec<usize> = (0..random.below(5)).map(|_| random.below(count + 1)).collect();
    if random.chance(50) {
        ends.push(count);
    }
    ends.sort_unstable();
    ends
}

fn check(seed: u64, count: usize) {
    let mut random = Random::new(seed);
    let records = records(&mut random, count);
    let base = random.below(1000) as u64;
    let ends = cuts(&mut random, count);
    let spread = searcher(&records, &ends, base);
    let whole = searcher(&records, &[count], base);
    assert_eq!(spread.document_count(), count as u64);
    for round in 0..30 {
        let pieces = pieces(&mut random);
        let filter = filter(&mut random, base, count);
        let k = 1 + random.skewed(25);
        let parity = random.chance(50).then(|| random.next() % 2);
        let refused = |record: &Record| parity.is_some_and(|parity| record.key_hash % 2 == parity);
        let mut expected = naive::search(&records, &pieces, &filter, base);
        expected.retain(|hit| !refused(&records[(hit.seq - base) as usize]));
        expected.truncate(k);
        let query = Query::parse(&pieces.text()).expect("short");
        for searcher in [&spread, &whole] {
            let found = searcher.search(&query, &filter, k, &mut |candidate| {
                let record = &records[(candidate.seq() - base) as usize];
                assert_eq!(candidate.key_hash().expect("whole"), record.key_hash);
                assert_eq!(candidate.time_us().expect("whole"), record.time_us);
                !refused(record) && query.phrases_match(&record.title, &record.text)
            });
            let found = found.expect("search");
            assert_eq!(
                found, expected,
                "seed {seed} round {round} ends {ends:?} {pieces:?} {filter:?} k {k}"
            );
        }
        check_listing(&mut random, &spread, &records, &filter, base);
    }
}

fn check_listing(
    random: &mut Random,
    searcher: &Searcher,
    records: &[Record],
    filter: &Filter,
    base: u64,
) {
    let k = 1 + random.skewed(50);
    let bound = base + random.below(records.len() + 1) as u64;
    let seqs = base..base + records.len() as u64;
    let passed = |seq: &u64| naive::passes(&records[(seq - base) as usize], *seq, filter);
    let even = |seq: &u64| seq.is_multiple_of(2);
    let newest: Vec<u64> =
        seqs.clone().rev().filter(|seq| *seq < bound).filter(passed).filter(even).take(k).collect();
    let oldest: Vec<u64> =
        seqs.filter(|seq| *seq > bound).filter(passed).filter(even).take(k).collect();
    let mut accept = |candidate: Candidate<'_>| even(&candidate.seq());
    assert_eq!(searcher.newest(filter, k, Some(bound), &mut accept).expect("newest"), newest);
    assert_eq!(searcher.oldest(filter, k, Some(bound), &mut accept).expect("oldest"), oldest);
}

#[test]
fn small_corpora() {
    for seed in 0..60 {
        let count = 1 + (seed as usize * 7) % 90;
        check(seed, count);
    }
}

/// Long enough for blocks of postings, which pruning skips.
#[test]
fn large_corpora() {
    for seed in 1000..1010 {
        check(seed, 1500 + seed as usize % 7 * 500);
    }
}

#[test]
fn merging_changes_nothing() {
    let mut random = Random::new(7);
    let records = records(&mut random, 700);
    let parts: Vec<SegmentBytes> = records.chunks(150).map(|chunk| segment(chunk).into()).collect();
    let merged = Segment { first_seq: 5, bytes: merge(&parts).expect("merge").into() };
    let merged = Searcher::open(vec![merged], Vec::new()).expect("open");
    let apart = searcher(&records, &[150, 300, 450, 600, 700], 5);
    assert_eq!(merged.document_count(), 700);
    for _ in 0..200 {
        let query = Query::parse(&pieces(&mut random).text()).expect("short");
        let filter = filter(&mut random, 5, records.len());
        let hits = |searcher: &Searcher| -> Vec<Hit> {
            searcher.search(&query, &filter, 12, &mut |_| true).expect("search")
        };
        assert_eq!(hits(&merged), hits(&apart));
    }
}

/// A search that ends at a sequence number finds what a searcher of only the records before it
/// finds, in the same order; the scores differ a little, because tokens of a segment that goes on
/// are taken to be spread evenly.
#[test]
fn a_search_as_of_then_ranks_as_then() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let count = 40 + random.below(900);
        let records = records(&mut random, count);
        let ends = cuts(&mut random, count);
        let now = searcher(&records, &ends, 1);
        let until = 1 + random.below(count);
        let then = searcher(&records[..until], &[until / 2], 1);
        for _ in 0..10 {
            let query = Query::parse(&pieces(&mut random).text()).expect("short");
            let filter =
                Filter { seqs: Some(Sequences::from(0..until as u64 + 1)), ..Filter::default() };
            let hits = |searcher: &Searcher, filter: &Filter| {
                searcher.search(&query, filter, 2000, &mut |_| true).expect("search")
            };
            let (past, want) = (hits(&now, &filter), hits(&then, &Filter::default()));
            let mut seqs: Vec<[u64; 2]> =
                past.iter().zip(&want).map(|(a, b)| [a.seq, b.seq]).collect();
            assert_eq!(past.len(), want.len());
            let score = |hits: &[Hit], seq| {
                hits.iter().find(|hit| hit.seq == seq).expect("found by both").score
            };
            seqs.retain(|[a, b]| a != b);
            for [a, b] in seqs {
                let (a, b) = (score(&want, a), score(&want, b));
                assert!((a - b).abs() <= 0.05 * a.max(b), "seed {seed}: {a} {b}");
            }
        }
    }
}

#[test]
fn nothing_to_merge() {
    let empty: SegmentBytes = merge(&[]).expect("merge").into();
    let again: SegmentBytes = merge(&[empty.clone(), empty]).expect("merge").into();
    let segments = vec![Segment { first_seq: 3, bytes: again }];
    let searcher = Searcher::open(segments, Vec::new()).expect("open");
    assert_eq!(searcher.document_count(), 0);
    let query = Query::parse("ax").expect("short");
    assert_eq!(searcher.search(&query, &Filter::default(), 3, &mut |_| true).expect("search"), []);
}

#[test]
fn only_negations_list_the_newest() {
    let mut random = Random::new(11);
    let records = records(&mut random, 400);
    let searcher = searcher(&records, &[100, 390], 1);
    for text in ["-\"ax\"", "-\"ax bo\"", "-\"ax\" -\"bo\""] {
        let query = Query::parse(text).expect("short");
        let mut accept = |candidate: Candidate<'_>| {
            let record = &records[candidate.seq() as usize - 1];
            query.phrases_match(&record.title, &record.text)
        };
        let found = searcher.search(&query, &Filter::default(), 20, &mut accept).expect("search");
        let unwanted = |record: &Record| match text {
            "-\"ax bo\"" => {
                [&record.title, &record.text].iter().any(|value| value.contains("ax bo"))
            }
            _ => format!("{} {}", record.title, record.text).contains("ax"),
        };
        assert!(!found.is_empty());
        assert!(found.iter().all(|hit| !unwanted(&records[hit.seq as usize - 1])), "{text}");
    }
}

#[test]
fn more_words_than_are_ranked_by() {
    let mut records = Vec::new();
    for number in 0..100 {
        let text = (0..=number).map(|word| format!("q{word}z")).collect::<Vec<_>>().join(" ");
        records.push(Record { text, ..Record::default() });
    }
    let searcher = searcher(&records, &[60], 0);
    let query: Vec<String> = (0..100).map(|word| format!("q{word}z")).collect();
    let query = Query::parse(&query.join(" ")).expect("short");
    let found = searcher.search(&query, &Filter::default(), 1000, &mut |_| true).expect("search");
    // Word n is in the 100 - n last documents; each gives a whole and three parts.
    assert!(found.iter().any(|hit| hit.seq == 99));
    assert!(found.iter().all(|hit| hit.score > 0.0));
}

/// Sequence numbers found by a caller that keeps the texts, with the records in segments and tail.
fn found_by_text(texts: &[&str], query: &str) -> Vec<u64> {
    let records: Vec<Record> =
        texts.iter().map(|text| Record { text: (*text).to_owned(), ..Record::default() }).collect();
    let query = Query::parse(query).expect("short");
    let mut found = Vec::new();
    for ends in [&[][..], &[1], &[2, texts.len()]] {
        let mut accept = |candidate: Candidate<'_>| {
            query.phrases_match("", &records[candidate.seq() as usize].text)
        };
        let hits = searcher(&records, ends, 0)
            .search(&query, &Filter::default(), 10, &mut accept)
            .expect("search");
        found.push(hits.into_iter().map(|hit| hit.seq).collect::<Vec<u64>>());
    }
    assert!(found.iter().all(|seqs| *seqs == found[0]), "{query:?} {found:?}");
    let mut seqs = found.remove(0);
    seqs.sort_unstable();
    seqs
}

#[test]
fn phrases_through_accept() {
    let texts = [
        "call getUserName now",
        "the user name, get it",
        "東京都の天気",
        "京都と東京",
        "get_user_name",
    ];
    for (query, expected) in [
        ("\"get user name\"", &[0, 4][..]),
        ("+getUserName", &[0, 4]),
        ("getUserName", &[0, 1, 4]),
        ("user -getUserName", &[1]),
        ("\"user name\" -\"get it\"", &[0, 4]),
        ("user -\"name get\"", &[0, 4]),
        ("\"東京都\"", &[2]),
        ("東京都", &[2, 3]),
        ("京都 -\"東京都\"", &[3]),
        ("-\"user name\"", &[2, 3]),
        ("\"name user\"", &[]),
        ("\"name user", &[0, 1, 4]),
    ] {
        assert_eq!(found_by_text(&texts, query), expected, "{query}");
    }
}
