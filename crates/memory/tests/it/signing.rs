//! Signed history against somebody who may write the file and can recompute every checksum.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kapsa_capsule::{NewCapsule, Snapshot, Stored};
use kapsa_memory::access::{Classification, ClearanceProfile};
use kapsa_memory::{
    EventRequest, EventType, Fault, FindRequest, KeyError, KeySource, LocalPeer, MergeRequest,
    MergeResult, NewCheckpoint, NewEvent, NewRecord, PublicKey, Reader, Relation, SharedWriter,
    SignatureReport, SigningKey, TimelineRequest, Undo, WriteOptions, Writer, audit, branch, check,
    checkpoint, clone, event, history, merge, purge, remote, salvage, stats, sync,
};

use crate::{Fixture, clock, named, uri};

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn trusted() -> [PublicKey; 1] {
    [key(1).public()]
}

fn options(key: Option<SigningKey>) -> WriteOptions {
    let signing = key.map_or(KeySource::Unsigned, |key| KeySource::Key(Box::new(key)));
    WriteOptions { signing, ..WriteOptions::new(clock) }
}

fn signer(path: &Path) -> Writer {
    Writer::open(path, options(Some(key(1)))).expect("opens for writing")
}

fn stranger(path: &Path) -> Writer {
    Writer::open(path, options(None)).expect("opens for writing")
}

fn checked(path: &Path) -> SignatureReport {
    let whole = check::verify(path, &mut |_, _| {}).expect("can be checked");
    assert_eq!(whole.problems, [], "checksums and chain are right, whoever made them");
    audit::audit(path, &trusted(), &mut |_, _| {}).expect("checked")
}

fn chain(path: &Path) -> [u8; 32] {
    Snapshot::open(path).expect("opens").commit().chain
}

/// A capsule with two commits of before there was a key, and three signed ones.
fn signed() -> Fixture {
    let fixture = Fixture::new();
    let mut writer = stranger(&fixture.path);
    writer.put(named("port", "The port is 5433.")).expect("put");
    writer.put(named("host", "The host is alpha.")).expect("put");
    drop(writer);
    let mut writer = signer(&fixture.path);
    writer.put(named("port", "The port is 5434.")).expect("put");
    writer
        .put_many((0..5).map(|n| named(&format!("n/{n}"), "one of five")).collect())
        .expect("put");
    writer.forget(&uri("n/3")).expect("forgotten");
    drop(writer);
    fixture
}

/// A copy that somebody made with the means of the file format alone: each commit at its time, with
/// the bodies that `alter` makes of those it had, and every checksum and chain right.
fn forged(path: &Path, alter: impl Fn(u64, Vec<Vec<u8>>) -> Vec<Vec<u8>>) -> PathBuf {
    let from = Snapshot::open(path).expect("opens");
    let to = path.with_file_name("forged.kapsa");
    let (capsule_id, created_us) = (from.file().capsule_id, from.file().created_us);
    kapsa_capsule::create_unlocked(
        &kapsa_capsule::FileSystem,
        &to,
        NewCapsule { capsule_id, created_us },
    )
    .expect("created");
    let mut writer = kapsa_capsule::Writer::open_unlocked(Arc::new(kapsa_capsule::FileSystem), &to)
        .expect("opens");
    for span in from.commits().expect("listed") {
        let count = (span.next_sequence - span.first_sequence) as usize;
        let body = |record: kapsa_capsule::Result<kapsa_capsule::StoredRecord>| match record
            .expect("readable")
            .stored()
        {
            Stored::Body(body) => body.to_vec(),
            Stored::Purged(_) => panic!("nothing is erased here"),
        };
        let bodies = from.records(span.first_sequence).take(count).map(body).collect();
        let mut transaction = writer.begin().expect("begun");
        for body in alter(span.number, bodies) {
            transaction.append(&body).expect("appended");
        }
        transaction.commit(span.time_us).expect("committed");
    }
    to
}

fn replaced(body: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let at = body.windows(old.len()).position(|bytes| bytes == old).expect("it is there");
    [&body[..at], new, &body[at + old.len()..]].concat()
}

fn faults(report: &SignatureReport) -> Vec<(u64, Fault)> {
    report.faults.iter().map(|fault| (fault.number, fault.what)).collect()
}

#[test]
fn each_commit_of_a_writer_with_a_key_is_signed() {
    let fixture = signed();
    let report = checked(&fixture.path);
    assert_eq!((report.commits, report.signed, report.first_signed), (5, 3, Some(3)));
    assert!(report.is_trusted(), "{report:?}");
    let other = audit::audit(&fixture.path, &[key(2).public()], &mut |_, _| {}).expect("checked");
    assert_eq!((other.signed, other.is_trusted()), (0, false));
    let unsigned = forged(&fixture.path, |_, bodies| bodies);
    assert_eq!(checked(&unsigned), report, "a faithful copy is as good");
}

#[test]
fn a_record_that_is_rewritten_with_all_checksums_is_found() {
    let fixture = signed();
    let anchor = chain(&fixture.path);
    // Before the first signature, which vouches for it, and after.
    for text in ["5433", "5434"] {
        let forged = forged(&fixture.path, |_, bodies| {
            let is_it = |body: &Vec<u8>| body.windows(4).any(|bytes| bytes == text.as_bytes());
            let alter = |body: Vec<u8>| match is_it(&body) {
                true => replaced(&body, text.as_bytes(), b"9999"),
                false => body,
            };
            bodies.into_iter().map(alter).collect()
        });
        let report = checked(&forged);
        assert!(!report.is_trusted(), "{text}: {report:?}");
        assert_eq!((report.signed, report.first_signed), (0, None), "{text}");
        assert_eq!(audit::find_chain(&forged, &anchor).expect("looked"), None, "{text}");
        std::fs::remove_file(forged).expect("removed");
    }
    // In the middle: what came before is still vouched for.
    let forged = forged(&fixture.path, |number, mut bodies| {
        if number == 4 {
            bodies[0] = replaced(&bodies[0], b"one of five", b"one of nine");
        }
        bodies
    });
    let report = checked(&forged);
    assert_eq!((report.signed, report.first_signed), (1, Some(3)));
    assert_eq!(faults(&report), [(4, Fault::BadSignature), (5, Fault::BadSignature)]);
}

#[test]
fn a_history_that_is_written_anew_is_found() {
    for key in [None, Some(key(2))] {
        let fixture = Fixture::new();
        let mut writer = Writer::open(&fixture.path, options(key)).expect("opens");
        writer.put(named("port", "The port is 9999.")).expect("put");
        drop(writer);
        let report = checked(&fixture.path);
        assert_eq!((report.first_signed, report.is_trusted()), (None, false));
    }
}

#[test]
fn what_others_add_to_a_signed_history_is_found() {
    let fixture = signed();
    stranger(&fixture.path).put(named("x", "unsigned")).expect("put");
    let mut other = Writer::open(&fixture.path, options(Some(key(2)))).expect("opens");
    other.put(named("y", "signed by somebody else")).expect("put");
    drop(other);
    let expected = [(6, Fault::Unsigned), (7, Fault::OtherKey(key(2).public()))];
    assert_eq!(faults(&checked(&fixture.path)), expected);
    // A later signature does not make up for it.
    signer(&fixture.path).put(named("z", "signed again")).expect("put");
    let report = checked(&fixture.path);
    assert_eq!((report.signed, report.fault_count), (4, 2));
    let both = [key(1).public(), key(2).public()];
    let both = audit::audit(&fixture.path, &both, &mut |_, _| {}).expect("checked");
    assert_eq!(faults(&both), [(6, Fault::Unsigned)]);
}

/// A signature's own record is signed by nobody, so that it must be exactly the one record that a
/// writer makes.
#[test]
fn a_signature_holds_for_no_other_record_and_no_other_place() {
    let fixture = signed();
    let told = |name: &str, alter: &dyn Fn(u64, Vec<Vec<u8>>) -> Vec<Vec<u8>>| {
        let forged = forged(&fixture.path, alter);
        let report = checked(&forged);
        std::fs::remove_file(forged).expect("removed");
        assert!(!report.is_trusted(), "{name}: {report:?}");
        faults(&report)
    };
    let last = |number: u64, mut bodies: Vec<Vec<u8>>, alter: &dyn Fn(&[u8]) -> Vec<u8>| {
        if number == 5 {
            let signature = bodies.pop().expect("a signature");
            bodies.push(alter(&signature));
        }
        bodies
    };
    // Without the field `system` it would be a memory that everybody finds.
    let open = told("a memory", &|n, bodies| last(n, bodies, &|b| replaced(b, &[34, 0], &[])));
    assert_eq!(open, [(5, Fault::BadSignature)]);
    let kind = told("another kind", &|n, bodies| {
        last(n, bodies, &|body| replaced(body, b"\x0a\x09signature", b"\x0a\x09decisions"))
    });
    assert_eq!(kind, [(5, Fault::BadSignature)]);
    let more = told("a field more", &|n, bodies| {
        last(n, bodies, &|body| [body, &[43, 4], b"evil"].concat())
    });
    assert_eq!(more, [(5, Fault::BadSignature)]);
    let after = told("a record after it", &|number, mut bodies| {
        if number == 5 {
            let first = bodies[0].clone();
            bodies.push(first);
        }
        bodies
    });
    assert_eq!(after, [(5, Fault::Unsigned)]);
    let swapped = told("two records change places", &|number, mut bodies| {
        if number == 4 {
            bodies.swap(0, 1);
        }
        bodies
    });
    assert_eq!(swapped, [(4, Fault::BadSignature), (5, Fault::BadSignature)]);
    let gone = told("without it", &|number, mut bodies| {
        if number == 5 {
            bodies.pop();
        }
        bodies
    });
    assert_eq!(gone, [(5, Fault::Unsigned)]);
}

/// An older copy is in order by itself: only an anchor that was kept elsewhere shows what is
/// missing.
#[test]
fn a_rollback_is_found_by_an_anchor() {
    let fixture = signed();
    let (old, old_chain) = (fixture.path.with_file_name("old.kapsa"), chain(&fixture.path));
    std::fs::copy(&fixture.path, &old).expect("copied");
    signer(&fixture.path).put(named("port", "The port is 5435.")).expect("put");
    let anchor = chain(&fixture.path);
    assert!(checked(&old).is_trusted());
    assert_eq!(audit::find_chain(&old, &anchor).expect("looked"), None);
    let found = |chain| audit::find_chain(&fixture.path, chain).expect("looked").expect("found");
    assert_eq!((found(&anchor).number, found(&anchor).later), (6, 0));
    assert_eq!((found(&old_chain).number, found(&old_chain).later), (5, 1));
    // Cut, and gone on with.
    signer(&old).put(named("port", "The port is 5436.")).expect("put");
    assert!(checked(&old).is_trusted());
    assert_eq!(audit::find_chain(&old, &anchor).expect("looked"), None);
}

#[test]
fn signatures_outlive_all_that_keeps_the_history() {
    let fixture = signed();
    let path = &fixture.path;
    purge(&mut signer(path), &uri("port")).expect("marked");
    let report = checked(path);
    assert_eq!((report.signed, report.is_trusted()), (4, true));
    let old = path.with_file_name("behind.kapsa");
    clone(path, &old, &mut |_, _| {}).expect("cloned");
    assert_eq!(checked(&old), report);
    signer(path).compact(&mut |_, _| {}).expect("compacted");
    assert!(fixture.reader().record(1).expect("there").purged, "what was purged is gone");
    assert_eq!(checked(path), report);
    signer(path).put(named("later", "after the compaction")).expect("put");
    // A capsule without a key takes the commits as they are.
    let pulled = sync::catch_up(&mut stranger(&old), path, &mut |_, _| {}).expect("pulled");
    assert_eq!((pulled.relation, pulled.records), (Relation::FastForward, 2));
    assert_eq!((chain(&old), checked(&old).is_trusted()), (chain(path), true));
    let saved = path.with_file_name("saved.kapsa");
    salvage(path, &saved, &options(None), &mut |_, _| {}).expect("salvaged");
    assert_eq!(checked(&saved), checked(path));
}

#[test]
fn signatures_are_nobodys_memories() {
    let fixture = signed();
    let (plain, path) = (Fixture::new(), &fixture.path);
    for (path, key) in [(&plain.path, None), (path, Some(key(1)))] {
        let mut writer = Writer::open(path, options(key)).expect("opens");
        branch::create(&mut writer, "try", "main", None).expect("made");
        // More than the tail holds: what an index segment says of them counts too.
        for n in 0..300 {
            writer.put(named(&format!("many/{n}"), "one of many")).expect("put");
        }
    }
    let mut signed = signer(path);
    let reader = signed.reader().expect("opens");
    let all = TimelineRequest { limit: 1000, ..TimelineRequest::default() };
    let mut kinds: Vec<String> =
        reader.timeline(&all).expect("listed").into_iter().map(|record| record.kind).collect();
    kinds.dedup();
    assert_eq!(kinds, ["note"]);
    let mut asked = all.clone();
    asked.filter.kinds = vec!["signature".to_string(), "event".to_string()];
    assert_eq!(reader.timeline(&asked).expect("listed"), []);
    let logged = history::log(&reader, 1000, true).expect("listed");
    assert!(logged.iter().all(|record| record.kind != "signature"));
    assert_eq!(history::log(&reader, 7, false).expect("listed").len(), 7);
    for query in ["signature", "kind:signature", "uri:signature/3"] {
        let found = reader.find(&FindRequest::new(query)).expect("answered");
        assert_eq!(found.hits.len(), 0, "{query}");
    }
    let counted = stats(&reader, true).expect("counted");
    assert_eq!((counted.uri_count, counted.event_count), (Some(306), Some(0)));
    let mut record = NewRecord { kind: "signature".to_string(), ..NewRecord::text("mine") };
    signed.put(record.clone()).expect("a kind alone makes no signature");
    record.uri = Some(uri("signature/700"));
    assert!(signed.put(record).is_err(), "the name is the capsule's");
    assert!(signed.forget(&uri("signature/4")).is_err());
    assert!(purge(&mut signed, &uri("signature/4")).is_err());
    drop(signed);
    fixture.assert_whole();
}

/// Where both went on, the other's records become commits of this capsule, which signs them itself.
#[test]
fn signatures_do_not_come_with_the_records_of_a_fork() {
    let fixture = signed();
    let there = fixture.path.with_file_name("there.kapsa");
    clone(&fixture.path, &there, &mut |_, _| {}).expect("cloned");
    signer(&fixture.path).put(named("a", "here")).expect("put");
    let mut writer = signer(&there);
    writer.put(named("a", "there")).expect("put");
    writer.put(named("b", "after the fork")).expect("put");
    drop(writer);
    let mut here = signer(&fixture.path);
    remote::add(&mut here, "other", "there").expect("added");
    let fetch = |here: &mut Writer| {
        let mut peer = LocalPeer::open(&there).expect("opens");
        sync::fetch(here, "other", &mut peer, &mut |_, _| {}).expect("fetched").records
    };
    assert_eq!(fetch(&mut here), 2);
    assert!(checked(&fixture.path).is_trusted());
    let reader = Reader::open(&fixture.path).expect("opens").on("other/main", None);
    let reader = reader.expect("a branch");
    assert_eq!(reader.get(&uri("b")).expect("there").text, "after the fork");
    assert_eq!(fetch(&mut here), 0);
}

/// Whatever commits records signs them, and gives back what was asked for.
#[test]
fn all_that_commits_signs() {
    let fixture = Fixture::new();
    let mut writer = signer(&fixture.path);
    let events = vec![NewEvent::new(EventType::DebugTrace), NewEvent::new(EventType::DebugTrace)];
    assert_eq!(event::emit(&mut writer, events).expect("told").len(), 2);
    let label = NewCheckpoint { label: "v1".to_string(), ..NewCheckpoint::default() };
    let made = checkpoint::make(&mut writer, &label).expect("made");
    let put = writer.put(named("a", "on main")).expect("put");
    branch::create(&mut writer, "try", "main", Some(&kapsa_memory::AsOf::checkpoint("v1")))
        .expect("made");
    writer.switch("try").expect("open");
    writer.put(named("b", "on the branch")).expect("put");
    let request =
        MergeRequest { from: "try".to_string(), to: "main".to_string(), ..MergeRequest::default() };
    assert!(matches!(merge::merge(&mut writer, &request), Ok(MergeResult::Done(_))));
    writer.switch("main").expect("open");
    writer.alias(&uri("c"), &uri("b")).expect("aliased");
    let undo = Undo::Commit(put.sequence);
    history::revert(&mut writer, &undo, "me", "a test").expect("undone");
    assert!(writer.forget(&uri("a")).is_err(), "undone");
    writer.forget(&uri("b")).expect("forgotten");
    let mut profile = ClearanceProfile::new("low");
    profile.domains.insert(String::new(), Classification::Internal);
    writer.as_principal(profile).put(named("d", "by a principal")).expect("put");
    let report = checked(&fixture.path);
    assert_eq!((report.signed, report.is_trusted()), (report.commits, true));
    let seen = event::list(&fixture.reader(), &EventRequest::default()).expect("listed");
    assert!(seen.len() > 2 && made.sequence == 4, "{seen:?}");
}

#[test]
fn commits_that_threads_share_are_signed() {
    let fixture = Fixture::new();
    let shared = SharedWriter::new(signer(&fixture.path));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let shared = shared.clone();
            scope.spawn(move || {
                for n in 0..40 {
                    shared.put(named(&format!("t{thread}/{n}"), "shared")).expect("put");
                }
            });
        }
    });
    drop(shared);
    let report = checked(&fixture.path);
    assert_eq!((report.signed, report.is_trusted()), (report.commits, true));
    let counted = stats(&fixture.reader(), true).expect("counted");
    assert_eq!(counted.uri_count, Some(160));
    assert_eq!(counted.last_sequence, 160 + report.commits);
}

#[test]
fn a_key_that_cannot_be_used_keeps_everything_from_the_file() {
    fn broken() -> Result<Option<SigningKey>, KeyError> {
        Err(KeyError { message: "it is not a key".to_string(), hint: "mend it".to_string() })
    }
    fn none() -> Result<Option<SigningKey>, KeyError> {
        Ok(None)
    }
    fn found() -> Result<Option<SigningKey>, KeyError> {
        Ok(Some(key(1)))
    }
    let fixture = Fixture::new();
    let with = |find| {
        let signing = KeySource::AtFirstCommit(find);
        Writer::open(&fixture.path, WriteOptions { signing, ..WriteOptions::new(clock) })
            .expect("opens")
    };
    let mut writer = with(broken);
    assert!(matches!(writer.put(NewRecord::text("x")), Err(kapsa_memory::Error::SigningKey(_))));
    drop(writer);
    assert_eq!(stats(&fixture.reader(), false).expect("counted").last_sequence, 0);
    with(none).put(NewRecord::text("x")).expect("put");
    assert_eq!(checked(&fixture.path).signed, 0);
    with(found).put(NewRecord::text("y")).expect("put");
    assert!(checked(&fixture.path).is_trusted());
}
