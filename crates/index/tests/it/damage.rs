//! Damaged bytes give an error, never a panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use kapsa_index::{Error, Filter, Query, Searcher, Segment, TailDoc, merge, verify};

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
            hits += searcher.search(&query, filter, 10, &mut |found| found.key_hash().is_ok_and(|hash| hash > 0))?.len();
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

#[test]
fn the_callers_panic_stays_the_callers() {
    let bytes = Bytes::from(segment(&records(&mut Random::new(4), 50)));
    let segments = vec![Segment { first_seq: 0, bytes: bytes.into() }];
    let searcher = Searcher::open(segments, Vec::new()).expect("open");
    let query = Query::parse("ax").expect("short");
    let panicked = catch_unwind(AssertUnwindSafe(|| searcher.search(&query, &Filter::default(), 3, &mut |_| panic!("mine"))));
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
