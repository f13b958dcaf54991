//! Derived segments: added, replaced, dropped; reopened, rewritten, damaged, misused.

use kapsa_capsule::{
    DERIVED_SEGMENTS_MAX, DerivedDraft, Error, Salvage, SegmentMeta, Snapshot, Stored, verify,
};

use crate::{assert_whole, bodies, derived, fixture, put, segment, writer};

fn open(f: &crate::Fixture) -> Snapshot {
    Snapshot::open(&f.path).expect("opens")
}

fn content(snapshot: &Snapshot, index: usize) -> Vec<u8> {
    let section = snapshot.derived_section(index, *b"annex   ").expect("whole").expect("there");
    section.read_all().expect("whole").to_vec()
}

fn ranges(derived: &[SegmentMeta]) -> Vec<(u64, u64)> {
    derived.iter().map(|derived| (derived.first_sequence, derived.next_sequence)).collect()
}

fn manifest_version(f: &crate::Fixture) -> u32 {
    let file = std::fs::read(&f.path).expect("there");
    let word =
        |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().expect("eight bytes")) as usize;
    let pointer = [4096, 8192].into_iter().max_by_key(|&slot| word(slot + 8)).expect("two slots");
    let manifest = word(word(pointer + 16) + 72 + 56);
    u32::from_le_bytes(file[manifest + 72..manifest + 76].try_into().expect("four bytes"))
}

#[test]
fn a_derived_segment_comes_with_records_or_alone_is_replaced_and_dropped() {
    let f = fixture();
    let mut w = writer(&f.path);
    put(&mut w, &[b"one", b"two"]);
    let mut t = w.begin().expect("begins");
    t.append(b"three").expect("appends");
    t.add_derived(derived(2, 4, b"of two and three"), &[]).expect("fits");
    let with_records = t.commit(8).expect("commits");
    let mut t = w.begin().expect("begins");
    t.add_derived(derived(1, 2, &[7; 10_000]), &[]).expect("fits");
    t.add_derived(derived(1, 4, b"of all"), &[]).expect("may overlap");
    assert_eq!(
        t.commit(9).expect("commits"),
        with_records,
        "no records: number, time and chain stay"
    );
    let s = open(&f);
    assert_eq!(ranges(s.derived()), [(2, 4), (1, 2), (1, 4)]);
    assert_eq!((s.segments().len(), s.tail().start, s.tail()), (0, 1, 1..4));
    assert_eq!((content(&s, 0), content(&s, 1)), (b"of two and three".to_vec(), vec![7; 10_000]));
    assert_eq!(content(&s, 2), b"of all");
    assert!(s.derived_section(0, *b"nothing ").expect("whole").is_none());
    assert!(s.derived_section(0, *b"recdir  ").expect("whole").is_none());
    assert_eq!(bodies(&s), [b"one".to_vec(), b"two".to_vec(), b"three".to_vec()]);

    let ids: Vec<u64> = s.derived().iter().map(|derived| derived.id).collect();
    let mut t = w.begin().expect("begins");
    t.add_derived(derived(3, 4, b"of three"), &ids[..2]).expect("fits");
    let new = t.derived()[1].id;
    t.commit(9).expect("commits");
    assert_eq!(w.snapshot().expect("opens").derived(), open(&f).derived());
    assert_eq!(ranges(open(&f).derived()), [(1, 4), (3, 4)]);
    assert_eq!(ranges(s.derived()).len(), 3, "an older view keeps its own");
    assert_eq!(content(&s, 0), b"of two and three");
    assert_eq!(manifest_version(&f), 2);

    put(&mut w, &[b"four"]);
    drop(w);
    let mut w = writer(&f.path);
    let mut t = w.begin().expect("begins");
    assert_eq!(ranges(t.derived()), [(1, 4), (3, 4)], "the next writer knows them");
    t.add_segment(segment(1, 5, b"index")).expect("joins");
    t.drop_derived(&[ids[2]]).expect("in force");
    t.commit(9).expect("commits");
    let s = open(&f);
    assert_eq!((ranges(s.derived()), content(&s, 0)), (vec![(3, 4)], b"of three".to_vec()));
    assert_eq!((s.tail().start, bodies(&s).len()), (5, 4));
    let mut t = w.begin().expect("begins");
    t.drop_derived(&[new]).expect("in force");
    t.commit(9).expect("commits");
    assert_eq!(
        (open(&f).derived().len(), open(&f).segments().len(), manifest_version(&f)),
        (0, 1, 1)
    );
    let report = assert_whole(&f.path);
    assert_eq!((report.commits, report.records), (3, 4));
}

#[test]
fn a_derived_segment_of_one_transaction_may_be_replaced_in_it() {
    let f = fixture();
    let mut w = writer(&f.path);
    let mut t = w.begin().expect("begins");
    t.append(b"one").expect("appends");
    t.add_derived(derived(1, 2, b"first"), &[]).expect("fits");
    let first = t.derived()[0].id;
    t.add_derived(derived(1, 2, b"second"), &[first]).expect("fits");
    t.commit(1).expect("commits");
    assert_eq!((open(&f).derived().len(), content(&open(&f), 0)), (1, b"second".to_vec()));
    assert_whole(&f.path);
}

#[test]
fn a_derived_segment_may_be_empty_large_or_of_many_sections() {
    let f = fixture();
    let mut w = writer(&f.path);
    put(&mut w, &[b"one"]);
    let large: Vec<u8> =
        (0..3_000_000u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let tag =
        |i: usize| -> [u8; 8] { format!("s{i:07}").into_bytes().try_into().expect("eight bytes") };
    let many = (0..64).map(|i| (tag(i), vec![i as u8; i])).collect();
    let mut t = w.begin().expect("begins");
    t.add_derived(DerivedDraft { first_sequence: 1, next_sequence: 2, sections: Vec::new() }, &[])
        .expect("fits");
    t.add_derived(derived(1, 2, &large), &[]).expect("fits");
    t.add_derived(DerivedDraft { first_sequence: 1, next_sequence: 2, sections: many }, &[])
        .expect("fits");
    t.commit(1).expect("commits");
    put(&mut w, &[b"two"]);
    let s = open(&f);
    assert!(s.derived_section(0, *b"annex   ").expect("whole").is_none());
    let section = s.derived_section(1, *b"annex   ").expect("whole").expect("there");
    assert_eq!(section.read(5_000_000..5_000_100).expect("whole"), &large[5_000_000..5_000_100]);
    assert_eq!(content(&s, 1), large);
    for i in 0..64 {
        let section = s.derived_section(2, tag(i)).expect("whole").expect("there");
        assert_eq!(section.read_all().expect("whole"), vec![i as u8; i]);
    }
    assert_eq!(bodies(&s).len(), 2);
    assert_whole(&f.path);
}

#[test]
fn there_may_be_many_but_not_too_many() {
    let f = fixture();
    let mut w = writer(&f.path);
    put(&mut w, &[b"one".as_slice(); 200]);
    let mut t = w.begin().expect("begins");
    for i in 0..DERIVED_SEGMENTS_MAX as u64 {
        let first = i % 200 + 1;
        t.add_derived(derived(first, 201, &i.to_le_bytes()), &[]).expect("fits");
    }
    assert!(matches!(t.add_derived(derived(1, 2, b"x"), &[]), Err(Error::Misuse { .. })));
    t.commit(1).expect("commits");
    let s = open(&f);
    assert_eq!(s.derived().len(), DERIVED_SEGMENTS_MAX);
    for i in [0, 1, 777, DERIVED_SEGMENTS_MAX - 1] {
        assert_eq!(
            (content(&s, i), s.derived()[i].first_sequence),
            (i.to_le_bytes().to_vec(), i as u64 % 200 + 1)
        );
    }
    let mut t = w.begin().expect("begins");
    assert!(matches!(t.add_derived(derived(1, 2, b"x"), &[]), Err(Error::Misuse { .. })));
    t.add_derived(derived(1, 2, b"x"), &[s.derived()[5].id]).expect("one goes");
    let ids: Vec<u64> =
        t.derived()[..DERIVED_SEGMENTS_MAX - 2].iter().map(|derived| derived.id).collect();
    t.drop_derived(&ids).expect("in force");
    t.commit(1).expect("commits");
    let s = open(&f);
    assert_eq!((s.derived().len(), content(&s, 1)), (2, b"x".to_vec()));
    assert_whole(&f.path);
}

#[test]
fn what_cannot_be_is_misuse_and_changes_nothing() {
    let f = fixture();
    let mut w = writer(&f.path);
    put(&mut w, &[b"one"]);
    let mut t = w.begin().expect("begins");
    t.add_derived(derived(1, 2, b"kept"), &[]).expect("fits");
    t.commit(1).expect("commits");
    let before = std::fs::read(&f.path).expect("there");
    let mut t = w.begin().expect("begins");
    let id = t.derived()[0].id;
    t.append(b"two").expect("appends");
    for (first, next) in [(0, 2), (1, 1), (2, 1), (1, 4), (3, 4), (u64::MAX, u64::MAX)] {
        let refused = t.add_derived(derived(first, next, b"x"), &[]);
        assert!(matches!(refused, Err(Error::Misuse { .. })), "{first}..{next}");
    }
    let with_sections = |sections| DerivedDraft { first_sequence: 1, next_sequence: 2, sections };
    let refused = [
        t.add_derived(derived(1, 2, b"x"), &[id + 8]),
        t.add_derived(derived(1, 2, b"x"), &[id, 0]),
        t.add_derived(with_sections(vec![(*b"recdir  ", Vec::new())]), &[]),
        t.add_derived(with_sections(vec![(*b"annex   ", Vec::new()); 65]), &[]),
        t.drop_derived(&[id, 0]),
    ];
    refused
        .iter()
        .for_each(|refused| assert!(matches!(refused, Err(Error::Misuse { .. })), "{refused:?}"));
    assert_eq!(t.derived().len(), 1);
    t.add_derived(derived(1, 3, b"covers the new record"), &[]).expect("fits");
    drop(t);
    assert_eq!(std::fs::read(&f.path).expect("there"), before, "dropped, it leaves nothing");
    let s = w.snapshot().expect("opens");
    assert_eq!((s.derived().len(), content(&s, 0)), (1, b"kept".to_vec()));
}

#[test]
fn a_rewrite_has_the_derived_segments_that_it_is_given() {
    let f = fixture();
    let mut w = writer(&f.path);
    put(&mut w, &[b"one", b"two"]);
    let mut t = w.begin().expect("begins");
    t.add_derived(derived(1, 3, b"old"), &[]).expect("fits");
    let before = t.commit(1).expect("commits");
    for covered in [true, false] {
        let mut rewrite = w.rewrite().expect("begins");
        let old = rewrite.old().clone();
        assert!(
            matches!(rewrite.add_derived(derived(1, 2, b"x"), &[]), Err(Error::Misuse { .. })),
            "no record yet"
        );
        for record in old.records(1) {
            rewrite.append(record.expect("readable").stored()).expect("appends");
        }
        rewrite.add_segment(segment(1, 3, b"s")).expect("joins");
        if covered {
            rewrite.add_derived(derived(2, 3, b"new"), &[]).expect("fits");
        }
        assert_eq!(rewrite.finish(&mut w).expect("finishes"), before);
        let s = w.snapshot().expect("opens");
        assert_eq!(ranges(s.derived()), if covered { vec![(2, 3)] } else { vec![] });
        if covered {
            assert_eq!(content(&s, 0), b"new");
        }
        assert_whole(&f.path);
    }
    put(&mut w, &[b"three"]);
    assert_eq!(bodies(&open(&f)).len(), 3);
}

#[test]
fn a_damaged_derived_segment_is_named_by_verify_refused_by_reads_and_dropped_by_salvage() {
    let f = fixture();
    let mut w = writer(&f.path);
    put(&mut w, &[b"one", b"two"]);
    let mut t = w.begin().expect("begins");
    t.add_segment(segment(1, 3, b"index")).expect("joins");
    t.add_derived(derived(1, 3, &[b'v'; 9000]), &[]).expect("fits");
    t.add_derived(derived(2, 3, &[b'w'; 20]), &[]).expect("fits");
    t.commit(1).expect("commits");
    put(&mut w, &[b"three"]);
    drop(w);
    let good = std::fs::read(&f.path).expect("there");
    let metas = open(&f).derived().to_vec();
    let name = format!("derived segment {} of records 1 to 2", metas[0].id);
    let (start, end) = (metas[0].id as usize, (metas[0].id + 72 + metas[0].payload_len) as usize);
    for position in (start..end).step_by(61).chain([start, start + 72, end - 1]) {
        let mut bytes = good.clone();
        bytes[position] ^= 0x20;
        std::fs::write(&f.path, &bytes).expect("written");
        let problems = verify(&f.path, &mut |_, _| {}).expect("can be checked").problems;
        assert!(
            problems.iter().any(|problem| problem.what.contains(&name)),
            "byte {position}: {problems:?}"
        );
        let s = open(&f);
        let read = s
            .derived_section(0, *b"annex   ")
            .and_then(|section| section.expect("there").read_all());
        match read {
            Ok(read) => assert_eq!(read, vec![b'v'; 9000], "byte {position}"),
            Err(error) => {
                assert!(matches!(error, Error::Corrupt { .. }), "byte {position}: {error}")
            }
        }
        if (end - 9000..end).contains(&position) {
            let section =
                s.derived_section(0, *b"annex   ").expect("its head is whole").expect("there");
            assert!(section.read_all().is_err(), "byte {position}");
        }
        assert_eq!((content(&s, 1), bodies(&s).len()), (vec![b'w'; 20], 3), "the rest is whole");
        let salvage = Salvage::open_in(&kapsa_capsule::FileSystem, &f.path, &mut |_, _| {})
            .expect("readable");
        let mut salvaged = Vec::new();
        let visited = salvage.each::<Error>(&mut |met| {
            if let kapsa_capsule::Salvaged::Record { stored: Stored::Body(body), .. } = met {
                salvaged.push(body.to_vec());
            }
            Ok(())
        });
        visited.expect("readable");
        assert_eq!(salvaged, bodies(&s));
    }
}

#[test]
fn a_capsule_without_derived_segments_has_a_manifest_of_version_1() {
    let f = fixture();
    let mut w = writer(&f.path);
    put(&mut w, &[b"one"]);
    let mut t = w.begin().expect("begins");
    t.add_segment(segment(1, 2, b"index")).expect("joins");
    t.drop_derived(&[]).expect("none");
    t.commit(1).expect("commits");
    assert_eq!(manifest_version(&f), 1);
}
