//! Revisions, tombstones, erasure; before and after indexing, optimising and compacting.

use kapsa_memory::{
    Change, Error, FindRequest, NewRecord, Reader, TimelineRequest, WriteOptions, document,
    optimize, purge, put_source, stats,
};

use crate::{Fixture, clock, named, uri};

/// Runs `check` on the capsule as it is, with its tail indexed, optimised, and compacted.
fn in_every_layout(f: &Fixture, check: impl Fn(&Reader)) {
    check(&f.reader());
    f.writer().optimize(&mut |_, _| {}).expect("optimises");
    check(&f.reader());
    f.writer().compact(&mut |_, _| {}).expect("compacts");
    check(&f.reader());
    f.assert_whole();
}

#[test]
fn the_newest_revision_counts_and_the_others_stay_readable() {
    let f = Fixture::new();
    let mut w = f.writer();
    let first = w.put(named("fact/port", "the port is 5433")).expect("put");
    let second = w.put(named("fact/port", "the port is 5434 now")).expect("put");
    assert_eq!((first.change, second.change), (Change::Added, Change::Revised));
    drop(w);
    in_every_layout(&f, |reader| {
        assert_eq!(reader.get(&uri("fact/port")).expect("there").text, "the port is 5434 now");
        assert_eq!(reader.record(first.sequence).expect("there").text, "the port is 5433");
        assert_eq!(reader.history(&uri("fact/port")).expect("there").len(), 2);
        let found = reader.find(&FindRequest::new("port")).expect("found");
        assert_eq!(
            found.hits.iter().map(|h| h.record.sequence).collect::<Vec<_>>(),
            [second.sequence]
        );
        assert_eq!(reader.timeline(&TimelineRequest::default()).expect("listed").len(), 1);
        assert_eq!(stats(reader, true).expect("counted").uri_count, Some(1));
    });
}

#[test]
fn forgetting_hides_everywhere_and_remembering_again_shows() {
    let f = Fixture::new();
    f.writer().put(named("a", "apples and pears")).expect("put");
    f.writer().put(named("b", "apples alone")).expect("put");
    assert_eq!(f.writer().forget(&uri("a")).expect("forgotten").change, Change::Forgotten);
    assert!(matches!(f.writer().forget(&uri("a")), Err(Error::UriNotFound { .. })));
    assert!(matches!(f.writer().forget(&uri("never")), Err(Error::UriNotFound { .. })));
    in_every_layout(&f, |reader| {
        assert!(matches!(reader.get(&uri("a")), Err(Error::UriNotFound { .. })));
        assert_eq!(reader.find(&FindRequest::new("apples")).expect("found").hits.len(), 1);
        assert_eq!(reader.history(&uri("a")).expect("kept").len(), 2);
        assert_eq!(stats(reader, true).expect("counted").uri_count, Some(1));
    });
    assert_eq!(f.writer().put(named("a", "apples again")).expect("put").change, Change::Added);
    in_every_layout(&f, |reader| {
        assert_eq!(reader.get(&uri("a")).expect("there").text, "apples again");
        assert_eq!(reader.find(&FindRequest::new("apples")).expect("found").hits.len(), 2);
        assert_eq!(stats(reader, true).expect("counted").uri_count, Some(2));
    });
}

#[test]
fn purging_leaves_no_byte_after_compaction() {
    let f = Fixture::new();
    let canary = "xyzzyplugh";
    for i in 0..300 {
        f.writer()
            .put(named(&format!("n/{i}"), &format!("ordinary note number {i}")))
            .expect("put");
    }
    f.writer()
        .put(NewRecord {
            title: canary.to_string(),
            ..named("secret", &format!("the {canary} token"))
        })
        .expect("put");
    f.writer().put(named("secret", &format!("another {canary}"))).expect("put");
    f.writer().optimize(&mut |_, _| {}).expect("optimises");
    assert_eq!(purge(&mut f.writer(), &uri("secret")).expect("purged"), 2);
    assert!(f.texts(canary).is_empty(), "hidden at once");
    let report = f.writer().compact(&mut |_, _| {}).expect("compacts");
    assert_eq!(report.purged, 2);
    for entry in std::fs::read_dir(f.path.parent().expect("has one")).expect("readable") {
        let bytes = std::fs::read(entry.expect("there").path()).expect("readable");
        assert!(!bytes.windows(canary.len()).any(|w| w.eq_ignore_ascii_case(canary.as_bytes())));
    }
    f.assert_whole();
    let reader = f.reader();
    assert!(reader.record(301).expect("a blank").purged);
    assert!(reader.record(301).expect("a blank").text.is_empty());
    assert_eq!(stats(&reader, true).expect("counted").uri_count, Some(300));
    assert!(
        matches!(purge(&mut f.writer(), &uri("secret")), Err(Error::UriNotFound { .. })),
        "nothing left to erase"
    );
    f.writer().compact(&mut |_, _| {}).expect("compacts again");
    f.assert_whole();
}

#[test]
fn a_document_put_again_changes_only_what_changed() {
    let f = Fixture::new();
    let put = |text: &str| {
        put_source(&mut f.writer(), "notes.md", document::cut("notes.md", text).expect("few"))
            .expect("put")
    };
    let changes = |report: &kapsa_memory::SourceReport| {
        report.puts.iter().map(|p| p.change).collect::<Vec<_>>()
    };
    let old = "# A\nalpha\n# B\nbeta\n# C\ngamma\n";
    assert_eq!(changes(&put(old)), [Change::Added; 3]);
    let size = std::fs::metadata(&f.path).expect("there").len();
    assert_eq!(changes(&put(old)), [Change::Unchanged; 3]);
    assert_eq!(std::fs::metadata(&f.path).expect("there").len(), size, "nothing was written");
    let report = put("# A\nalpha\n# C\ngamma, changed\n# D\ndelta\n");
    let mut kinds = changes(&report);
    kinds.sort_by_key(|change| *change as u8);
    assert_eq!(kinds, [Change::Added, Change::Revised, Change::Unchanged]);
    assert_eq!(
        report.forgotten.iter().map(|p| p.uri.short()).collect::<Vec<_>>(),
        ["doc/notes.md/b"]
    );
    assert!(f.texts("beta").is_empty());
    let hit = f.reader().find(&FindRequest::new("gamma")).expect("found").hits.remove(0);
    let source = hit.record.source.expect("documents have one");
    assert_eq!((source.path.as_str(), source.line_start, source.line_end), ("notes.md", 3, 4));
}

#[test]
fn a_batch_is_all_or_nothing() {
    let f = Fixture::new();
    let bad = vec![
        NewRecord::text("good"),
        NewRecord { confidence: Some(2.0), ..NewRecord::text("bad") },
    ];
    assert!(matches!(
        f.writer().put_many(bad),
        Err(Error::InvalidRecord { field: "confidence", .. })
    ));
    assert_eq!(stats(&f.reader(), true).expect("counted").last_sequence, 0);
}

#[test]
fn one_batch_may_revise_what_it_adds() {
    let f = Fixture::new();
    let batch: Vec<NewRecord> =
        (0..20_000).map(|i| named(&format!("k/{}", i % 7000), &format!("value {i}"))).collect();
    let puts = f.writer().put_many(batch).expect("put");
    assert_eq!(puts.iter().filter(|p| p.change == Change::Added).count(), 7000);
    in_every_layout(&f, |reader| {
        assert_eq!(stats(reader, true).expect("counted").uri_count, Some(7000));
        assert_eq!(reader.get(&uri("k/5")).expect("there").text, "value 14005");
        assert_eq!(reader.history(&uri("k/5")).expect("there").len(), 3);
        assert_eq!(
            reader.find(&FindRequest::new("+value +\"14005\"")).expect("found").hits.len(),
            1
        );
        assert!(reader.find(&FindRequest::new("+value +\"7005\"")).expect("found").hits.is_empty());
    });
}

#[test]
fn optimising_beside_a_writer_loses_nothing() {
    let f = Fixture::new();
    let mut options = WriteOptions::new(clock);
    options.lock_timeout = std::time::Duration::from_secs(60);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for i in 0..600 {
                let mut w =
                    kapsa_memory::Writer::open(&f.path, options.clone()).expect("its turn comes");
                w.put(named(&format!("n/{i}"), &format!("note {i}"))).expect("put");
            }
        });
        for _ in 0..10 {
            optimize(&f.path, &options, &mut |_, _| {}).expect("optimises");
        }
    });
    optimize(&f.path, &options, &mut |_, _| {}).expect("optimises");
    let stats = stats(&f.reader(), true).expect("counted");
    assert_eq!((stats.last_sequence, stats.uri_count, stats.segment_count), (600, Some(600), 1));
    f.assert_whole();
}

/// A refused call left the writer with a view from before `optimize`, and the next large batch was
/// indexed by it: "a segment does not join the ones in force".
#[test]
fn a_batch_after_optimising_is_indexed_by_the_newest_view() {
    let f = Fixture::new();
    let many =
        |name: &str| (0..200).map(|i| named(&format!("{name}/{i}"), "many")).collect::<Vec<_>>();
    let mut w = f.writer();
    w.put_many(many("first")).expect("put, and indexed");
    w.put(named("a", "in the tail")).expect("put");
    assert!(matches!(w.forget(&uri("never")), Err(Error::UriNotFound { .. })));
    w.optimize(&mut |_, _| {}).expect("indexes the tail and merges");
    w.put_many(many("second")).expect("put");
    drop(w);
    assert_eq!(stats(&f.reader(), true).expect("counted").uri_count, Some(401));
}
