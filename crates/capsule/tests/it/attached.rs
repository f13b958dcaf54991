//! What is attached to the records of small transactions.

use kapsa_capsule::{Error, SMALL_COMMIT_BYTES_MAX, Snapshot, Writer};

use crate::{
    assert_whole, bodies, derived, dictionaries, fixture, put, rewrite_all, segment, writer,
};

fn put_attached(writer: &mut Writer, records: &[&[u8]], attachment: &[u8]) {
    let mut transaction = writer.begin().expect("begins");
    for body in records {
        transaction.append(body).expect("appends");
    }
    transaction.attach(attachment.to_vec()).expect("small");
    transaction.commit(7).expect("commits");
}

/// First and next sequence and content of each attachment.
fn attachments(snapshot: &Snapshot) -> Vec<(u64, u64, Vec<u8>)> {
    let all = snapshot.attachments().expect("readable").iter();
    all.map(|a| (a.first_sequence, a.next_sequence, a.bytes.to_vec())).collect()
}

#[test]
fn attachments_are_in_force_until_a_segment_covers_their_records() {
    let f = fixture();
    let mut w = writer(&f.path);
    put_attached(&mut w, &[b"one", b"two"], b"of both");
    put(&mut w, &[b"three"]);
    put_attached(&mut w, &[b"four"], b"of four");
    let s = Snapshot::open(&f.path).expect("opens");
    let all = [(1, 3, b"of both".to_vec()), (4, 5, b"of four".to_vec())];
    assert_eq!(attachments(&s), all);
    assert_eq!(bodies(&s), [b"one".as_slice(), b"two", b"three", b"four"]);
    for (first, next, left) in [(1, 2, 2), (2, 3, 1), (3, 5, 0)] {
        let mut t = w.begin().expect("begins");
        t.add_segment(segment(first, next, b"index")).expect("joins");
        t.commit(7).expect("commits");
        let s = Snapshot::open(&f.path).expect("opens");
        assert_eq!(attachments(&s), all[2 - left..], "indexed up to {next}");
        assert_eq!(bodies(&s).len(), 4);
    }
    assert_eq!(attachments(&s), all, "an older view keeps its own");
    assert_eq!(assert_whole(&f.path).records, 4);
    put_attached(&mut w, &[b"five"], b"of five");
    assert_eq!(rewrite_all(&mut w), 5);
    assert_eq!(attachments(&Snapshot::open(&f.path).expect("opens")), []);
}

#[test]
fn only_a_small_transaction_takes_an_attachment_and_nothing_after_it() {
    let f = fixture();
    let mut w = writer(&f.path);
    let mut t = w.begin().expect("begins");
    assert!(matches!(t.attach(b"x".to_vec()), Err(Error::Misuse { .. })), "no records");
    t.append(b"one").expect("appends");
    assert!(matches!(t.attach(Vec::new()), Err(Error::Misuse { .. })), "no bytes");
    let large = vec![1; SMALL_COMMIT_BYTES_MAX];
    assert!(!t.is_small_with(large.len()) && t.is_small_with(1000));
    assert!(matches!(t.attach(large), Err(Error::Misuse { .. })));
    t.attach(b"x".to_vec()).expect("small");
    assert!(matches!(t.append(b"two"), Err(Error::Misuse { .. })));
    assert!(matches!(t.add_derived(derived(1, 2, b"d"), &[]), Err(Error::Misuse { .. })));
    assert!(matches!(t.add_segment(segment(1, 2, b"i")), Err(Error::Misuse { .. })));
    t.commit(1).expect("what was complete is written");
    assert_eq!(bodies(&Snapshot::open(&f.path).expect("opens")), [b"one"]);
}

/// A first dictionary is learned when the tail gets its segment, and makes later commits smaller.
#[test]
fn small_commits_are_packed_with_what_earlier_ones_taught() {
    let f = fixture();
    let mut w = writer(&f.path);
    let text = |n: u64| {
        format!("Note {n}: the deployment of service {} finished in region {}.", n % 7, n % 5)
            .repeat(3)
    };
    let length = || std::fs::metadata(&f.path).expect("there").len();
    let cost = |w: &mut Writer, n: u64| {
        let before = length();
        put(w, &[text(n).as_bytes()]);
        length() - before
    };
    let before = (1..=200).map(|n| cost(&mut w, n)).max().expect("some");
    let mut t = w.begin().expect("begins");
    t.add_segment(segment(1, 201, b"index")).expect("joins");
    t.commit(7).expect("commits");
    drop(w);
    let mut w = writer(&f.path);
    let after = (201..=300).map(|n| cost(&mut w, n)).max().expect("some");
    assert!(after + 100 < before, "{after} bytes instead of {before}");
    let s = Snapshot::open(&f.path).expect("opens");
    let expected: Vec<_> = (1..=300).map(|n| text(n).into_bytes()).collect();
    assert_eq!(bodies(&s), expected);
    assert_eq!(assert_whole(&f.path).records, 300);
}

/// The lengths of the records, and what is beside them, are bytes too.
#[test]
fn a_transaction_is_small_as_long_as_everything_fits_into_its_frame() {
    const BESIDE: usize = 1 << 10;
    let f = fixture();
    let mut w = writer(&f.path);
    let room = SMALL_COMMIT_BYTES_MAX - BESIDE;
    let mut t = w.begin().expect("begins");
    for _ in 0..room / 4 {
        t.append(b"").expect("appends");
    }
    assert!(t.is_small_with(0) && !t.is_small_with(1));
    t.append(b"").expect("appends");
    assert!(!t.is_small_with(0));
    t.commit(1).expect("commits");
    let mut random = kapsa_testkit::Random::new(1);
    let noise: Vec<u8> = (0..room - 4).map(|_| random.number() as u8).collect();
    let mut t = w.begin().expect("begins");
    t.append(&noise).expect("appends");
    assert!(t.is_small_with(0) && !t.is_small_with(1));
    t.commit(1).expect("commits");
    let s = Snapshot::open(&f.path).expect("opens");
    assert_eq!(bodies(&s).last(), Some(&noise));
    assert_whole(&f.path);
}

#[test]
fn a_dictionary_is_learned_once_and_from_enough_text() {
    const ENOUGH: usize = 16 << 10;
    const RECORDS: usize = 64;
    let text = |n: usize, len: usize| {
        let note = format!("Note {n}: service {} was deployed in region {}. ", n % 7, n % 5);
        note.repeat(10).into_bytes()[..len].to_vec()
    };
    for (missing, expected) in [(1, 0), (0, 1)] {
        let f = fixture();
        let len = |n: usize| ENOUGH / RECORDS - if n == 0 { missing } else { 0 };
        let mut next = 1;
        for round in 0..2 {
            let mut w = writer(&f.path);
            let first = next;
            for n in 0..RECORDS {
                next = put(&mut w, &[&text(round * RECORDS + n, len(n))]);
            }
            // One that knows of a dictionary only what the newest commit names.
            drop(w);
            let mut w = writer(&f.path);
            let mut t = w.begin().expect("begins");
            t.add_segment(segment(first, next, b"index")).expect("joins");
            t.commit(7).expect("commits");
            assert_eq!(dictionaries(&f.path), expected, "{missing} bytes missing");
        }
        assert_whole(&f.path);
    }
}
