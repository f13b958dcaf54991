//! Damaged bytes give an error, never a panic.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use kapsa_index::{
    CheckError, Checks, Error, Filter, Hit, Query, Searcher, Segment, SegmentBytes, TailDoc, merge,
    verify,
};

use crate::corpus::{Random, Record, records, segment};

fn search(bytes: Bytes) -> Result<usize, Error> {
    let segments = vec![Segment { first_seq: 0, bytes: bytes.into() }];
    let searcher = Searcher::open(segments, Vec::new())?;
    let all = Filter::default();
    let filter = Filter { all: vec![vec!["f0:1".into(), "f0:2".into()]], ..Filter::default() };
    let mut hits = 0;
    for text in ["ax bo cu", "+ax +bo", "\"ax bo\" de", "nu -ax"] {
        let query = Query::parse(text)?;
        for filter in [&all, &filter] {
            hits += searcher
                .search(&query, filter, 10, &mut |found| {
                    found.key_hash().is_ok_and(|hash| hash > 0)
                })?
                .len();
        }
    }
    Ok(hits + searcher.newest(&filter, 10, None, &mut |_| true)?.len())
}

#[test]
fn every_truncation_is_an_error() {
    let bytes = Bytes::from(segment(&records(&mut Random::new(1), 300)));
    assert!(search(bytes.clone()).expect("whole") > 0);
    assert!(verify(&bytes).is_ok());
    for len in 0..bytes.len() {
        let cut = bytes.slice(..len);
        assert!(verify(&cut).is_err());
        assert!(search(cut.clone()).is_err(), "{len}");
    }
    assert!(merge(&[bytes.slice(..bytes.len() - 1).into()]).is_err());
}

#[test]
fn every_flip_is_verified_and_none_panics() {
    let whole = segment(&records(&mut Random::new(2), 300));
    let mut random = Random::new(3);
    std::panic::set_hook(Box::new(|_| {}));
    let mut panics = 0;
    // Searching what `verify` refuses is a mistake, which may even never end; these do.
    for _ in 0..3000 {
        let mut bytes = whole.clone();
        let at = random.below(bytes.len());
        let bit = 1 << random.below(8);
        bytes[at] ^= bit;
        let bytes = Bytes::from(bytes);
        let padding = verify(&bytes).is_ok();
        assert!(!padding || whole[at] == 0, "an unverified flip at {at}");
        panics += usize::from(catch_unwind(AssertUnwindSafe(|| search(bytes))).is_err());
    }
    drop(std::panic::take_hook());
    assert_eq!(panics, 0);
}

/// Knows what the bytes should be, one by one.
#[derive(Debug)]
struct Original {
    whole: Vec<u8>,
    damaged: Bytes,
}

impl Checks for Original {
    fn check(&self, range: Range<usize>) -> Result<(), CheckError> {
        let same = self.whole[range.clone()] == self.damaged[range];
        if same { Ok(()) } else { Err(Arc::new(std::io::Error::other("a byte differs"))) }
    }
}

/// Ranked, filtered and listed results, and columns.
fn answers(bytes: SegmentBytes) -> Result<Vec<Vec<Hit>>, Error> {
    let searcher = Searcher::open(vec![Segment { first_seq: 0, bytes }], Vec::new())?;
    let term = Filter { all: vec![vec!["f0:1".into(), "f9:absent".into()]], ..Filter::default() };
    let window = Filter { since_us: Some(400), until_us: Some(1900), ..Filter::default() };
    let mut found = Vec::new();
    for (text, filter) in
        [("ax bo cu", &window), ("+ax +bo", &term), ("cu zz -hu", &Filter::default())]
    {
        found.push(searcher.search(&Query::parse(text)?, filter, 10, &mut |_| true)?);
    }
    let mut hashes = Vec::new();
    searcher.newest(&window, 10, None, &mut |found| {
        hashes.push(found.key_hash());
        true
    })?;
    let hashes: Result<Vec<u64>, Error> = hashes.into_iter().collect();
    found.push(hashes?.into_iter().map(|seq| Hit { seq, score: 0.0 }).collect());
    Ok(found)
}

/// Whoever checks each byte here answers for that byte alone, so a byte that is read without asking
/// shows.
#[test]
fn nothing_is_believed_that_was_not_checked() {
    let whole = segment(&records(&mut Random::new(6), 300));
    let right = answers(whole.clone().into()).expect("whole");
    assert!(right.iter().all(|hits| !hits.is_empty()));
    let mut random = Random::new(7);
    let (mut errors, mut same) = (0, 0);
    for _ in 0..6000 {
        let at = random.below(whole.len());
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << random.below(8);
        let damaged = Bytes::from(damaged);
        let checks = Original { whole: whole.clone(), damaged: damaged.clone() };
        match answers(SegmentBytes::checked_by(Arc::new(checks), damaged)) {
            Err(Error::Check(why)) => {
                assert!(why.to_string().contains("a byte differs"), "{at}: {why}");
                errors += 1;
            }
            Err(error) => panic!("{at}: {error}"),
            Ok(found) => {
                assert_eq!(found, right, "{at}");
                same += 1;
            }
        }
    }
    assert!(errors > 500 && same > 500, "{errors} errors, {same} without effect");
}

#[test]
fn the_callers_panic_stays_the_callers() {
    let bytes = Bytes::from(segment(&records(&mut Random::new(4), 50)));
    let segments = vec![Segment { first_seq: 0, bytes: bytes.into() }];
    let searcher = Searcher::open(segments, Vec::new()).expect("open");
    let query = Query::parse("ax").expect("short");
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        searcher.search(&query, &Filter::default(), 3, &mut |_| panic!("mine"))
    }));
    let panic = panicked.expect_err("the rule panics");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"mine"));
}

#[test]
fn order_is_checked() {
    let bytes = Bytes::from(segment(&records(&mut Random::new(5), 10)));
    let at = |first_seq| Segment { first_seq, bytes: bytes.clone().into() };
    let record = Record::default();
    let tail = |seq| vec![TailDoc::new(seq, &record.document())];
    assert!(Searcher::open(vec![at(0), at(10)], tail(20)).is_ok());
    assert!(matches!(Searcher::open(vec![at(0), at(9)], Vec::new()), Err(Error::Order { seq: 9 })));
    assert!(matches!(Searcher::open(vec![at(0)], tail(9)), Err(Error::Order { seq: 9 })));
    assert!(matches!(Searcher::open(vec![at(u64::MAX)], Vec::new()), Err(Error::Order { .. })));
}
