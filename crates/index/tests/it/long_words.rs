//! Words that are too long for a term: found by themselves and by their parts, in a segment and in
//! the tail.

use kapsa_index::{Document, Filter, Query, Searcher, Segment, SegmentBuilder, TailDoc, snippet};

const NONE: [u64; 0] = [];

/// The numbers of the texts that `query` finds, ascending, the same in a segment and in the tail.
fn found(texts: &[&str], query: &str) -> Vec<u64> {
    let document = |text| Document { title: "", text, terms: &[], key_hash: 0, time_us: 0 };
    let mut builder = SegmentBuilder::new(1 << 20).expect("begins");
    texts.iter().for_each(|text| builder.add(&document(text)).expect("has room"));
    let bytes = builder.finish().expect("in memory").into();
    let tail = texts.iter().zip(0..).map(|(text, seq)| TailDoc::new(seq, &document(text)));
    let searchers = [
        Searcher::open(vec![Segment { first_seq: 0, bytes }], Vec::new()).expect("opens"),
        Searcher::open(Vec::new(), tail.collect()).expect("opens"),
    ];
    let query = Query::parse(query).expect("short");
    let [segment, tail] = searchers.map(|searcher| {
        let mut hits = searcher
            .search(&query, &Filter::default(), texts.len(), &mut |candidate| {
                query.phrases_match("", texts[candidate.seq() as usize])
            })
            .expect("undamaged");
        hits.sort_by_key(|hit| hit.seq);
        hits
    });
    assert_eq!(segment, tail, "the same hits with the same scores");
    segment.iter().map(|hit| hit.seq).collect()
}

/// A digest that begins with `first`.
fn sha512(first: char) -> String {
    format!(
        "{first}{}",
        "3c9909afec25354d551dae21590bb26e38d53f2173b8d3dc3eee4c047e7ab1c1eb8b85103e3be7ba613b31bb5c9c36214dc9f14a42fd7a2fdb84856bca5c44"
    )
}

#[test]
fn hashes_are_found_as_a_whole() {
    let (one, other) = (sha512('a'), sha512('b'));
    let texts = [
        &*format!("The file has the digest {one}."),
        &*format!("Another file has {other} as its digest"),
        "a file without any digest",
    ];
    assert_eq!(found(&texts, &one), [0]);
    assert_eq!(found(&texts, &one.to_uppercase()), [0]);
    assert_eq!(found(&texts, &format!("+{other}")), [1]);
    assert_eq!(found(&texts, &format!("digest -{one}")), [1, 2]);
    assert_eq!(found(&texts, &format!("\"digest {one}\"")), [0]);
    assert_eq!(found(&texts, &format!("\"digest {other}\"")), NONE);
    assert_eq!(found(&texts, &format!("digest -\"digest {one}\"")), [1, 2]);
    assert_eq!(found(&texts, &one[..40]), NONE, "no part of a hash is a word");
    assert_eq!(found(&texts, &one[..one.len() - 1]), NONE);
}

#[test]
fn words_with_parts_are_found_by_them() {
    let snake = "test_that_every_word_of_a_name_that_is_far_too_long_to_be_a_term_is_found_by_itself_and_by_its_parts";
    let camel = "AbstractSingletonProxyFactoryBeanDefinitionBuilderConfigurationSupport";
    let texts = [snake, camel, "a word of a bean"];
    assert_eq!(found(&texts, "singleton"), [1]);
    assert_eq!(found(&texts, "far"), [0]);
    assert_eq!(found(&texts, "bean"), [1, 2]);
    assert_eq!(found(&texts, "+word"), [0, 2]);
    for (name, seq) in [(snake, 0), (camel, 1)] {
        assert_eq!(found(&texts, &format!("+{name}")), [seq]);
        assert_eq!(found(&texts, &format!("bean word -{name}")).len(), 2);
        assert!(found(&texts, name).contains(&seq));
    }
    assert_eq!(found(&texts, &format!("+{snake}s")), NONE);
    assert_eq!(found(&texts, "\"proxy factory bean\""), [1]);
}

#[test]
fn the_longest_word_of_a_query_is_found() {
    let long = "kapsa".repeat(kapsa_index::QUERY_BYTES_MAX / 5);
    let endless = "x".repeat(3 << 20);
    let text = format!("before {long} after");
    let texts = [&*text, &endless, "before after"];
    assert_eq!(found(&texts, &long), [0]);
    let query = Query::parse(&long).expect("as long as it may be");
    let shown = snippet(&text, &query, 100);
    assert_eq!(shown.highlights, std::slice::from_ref(&(0..100)));
    assert_eq!(shown.range, 7..107);
    assert_eq!(found(&texts, "\"before after\""), [2], "a long word stands between");
}
