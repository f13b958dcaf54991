//! The content of files: stored in blobs, read back byte for byte, wherever a record goes.

use std::io::{Cursor, Read};
use std::path::Path;

use kapsa_memory::{
    Content, ContentNames, Error, ExportRequest, LocalPeer, MergeRequest, MergeResult, NewRecord,
    Reader, WriteOptions, Writer, branch, clone, export, merge, open_content, purge, remote, serve,
    split_content, stats, sync,
};

use crate::meaning::{Plain, fill};
use crate::{Fixture, clock, named, uri};

const MIB: usize = 1 << 20;

/// Bytes that no compression makes smaller, the same for the same name.
fn random(name: &str, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(name.as_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

/// Stores bytes, and returns how many of them were new.
fn store(writer: &mut Writer, bytes: &[u8]) -> (Content, u64) {
    let names = ContentNames {
        name: "a.bin".to_string(),
        media_type: "application/octet-stream".to_string(),
    };
    let mut new = 0;
    let content = split_content(names, &mut Cursor::new(bytes), &mut |_| {}, &mut |blobs| {
        new += blobs.store(writer)?;
        Ok(())
    });
    (content.expect("stored"), new)
}

fn file(name: &str, content: Content) -> NewRecord {
    NewRecord { content: Some(content), ..named(name, "a file") }
}

fn put(writer: &mut Writer, name: &str, bytes: &[u8]) {
    let (content, _) = store(writer, bytes);
    writer.put(file(name, content)).expect("put");
}

fn merging(from: &str) -> MergeRequest {
    let (from, to) = (from.to_string(), "main".to_string());
    MergeRequest { from, to, ..MergeRequest::default() }
}

fn read(reader: &Reader, name: &str) -> std::io::Result<Vec<u8>> {
    let record = reader.get(&uri(name)).expect("there");
    let content = record.content.expect("a file");
    let mut bytes = Vec::new();
    open_content(reader.raw(), &content).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn read_at(path: &Path, name: &str) -> Vec<u8> {
    read(&Reader::open(path).expect("opens"), name).expect("readable")
}

fn writer(path: &Path) -> Writer {
    Writer::open(path, WriteOptions::new(clock)).expect("opens for writing")
}

#[test]
fn content_comes_back_byte_for_byte_in_every_layout() {
    let f = Fixture::new();
    let files = [random("large", 11 * MIB + 7), random("small", 3), Vec::new(), vec![0; 9 * MIB]];
    for (at, bytes) in files.iter().enumerate() {
        put(&mut f.writer(), &format!("file/{at}"), bytes);
    }
    let check = || {
        for (at, bytes) in files.iter().enumerate() {
            assert!(read(&f.reader(), &format!("file/{at}")).expect("readable") == *bytes, "{at}");
        }
        f.assert_whole();
        assert_eq!(f.texts("file").len(), 1, "alike in their words, and found by them");
        assert_eq!(stats(&f.reader(), true).expect("counted").uri_count, Some(4));
    };
    check();
    f.writer().optimize(&mut |_, _| {}).expect("optimises");
    check();
    f.writer().compact(&mut |_, _| {}).expect("compacts");
    check();
    put(&mut f.writer(), "file/1", b"another");
    assert_eq!(read(&f.reader(), "file/1").expect("readable"), b"another");
    assert_eq!(f.reader().history(&uri("file/1")).expect("known").len(), 2);
}

#[test]
fn blobs_need_no_vectors() {
    let f = Fixture::new();
    let model = Plain::new("plain");
    f.writer().put(named("a", "a cat sleeps")).expect("put");
    fill(&f.path, &model);
    put(&mut f.writer(), "file/large", &random("large", 9 * MIB));
    assert_eq!(f.reader().coverage().expect("counted").missing, 1, "the record of the file");
    fill(&f.path, &model);
    assert_eq!(f.reader().coverage().expect("counted").missing, 0);
}

#[test]
fn what_files_share_is_stored_once() {
    let f = Fixture::new();
    let bytes = random("shared", 16 * MIB);
    let (_, first) = store(&mut f.writer(), &bytes);
    assert_eq!(first, 16 * MIB as u64);
    assert_eq!(store(&mut f.writer(), &bytes).1, 0, "the same again");
    let edited = [b"inserted", &bytes[..5 * MIB], b"in the middle", &bytes[5 * MIB..]].concat();
    let (content, new) = store(&mut f.writer(), &edited);
    assert!(new < 8 * MIB as u64, "{new} bytes of two edits");
    f.writer().put(file("file/edited", content)).expect("put");
    assert!(read(&f.reader(), "file/edited").expect("readable") == edited);
}

#[test]
fn content_goes_where_its_record_goes() {
    let f = Fixture::new();
    let (main, run) = (random("main", 3 * MIB), random("run", 5 * MIB));
    let mut w = f.writer();
    put(&mut w, "file/main", &main);
    branch::create(&mut w, "run/7", "main", None).expect("made");
    w.switch("run/7").expect("there");
    put(&mut w, "file/run", &run);
    drop(w);
    let on_run = f.reader().on("run/7", None).expect("there");
    assert!(read(&on_run, "file/main").expect("readable") == main);
    assert!(f.reader().get(&uri("file/run")).is_err());

    // An export of the run alone.
    let request = ExportRequest { run: Some("7".to_string()), ..ExportRequest::default() };
    let exported = f.path.with_file_name("exported.kapsa");
    let export = export::gather(&on_run, &request).expect("gathered");
    assert_eq!((export.uri_count, export.records().count()), (1, 1));
    export.write_capsule(&exported).expect("written");
    assert_eq!(kapsa_memory::content_hash(&exported).expect("hashed"), export.content_hash);
    assert!(read_at(&exported, "file/run") == run);
    assert!(!contains(&exported, &main[..64]), "nothing of what stayed");

    // A merge, with a compaction after it.
    let mut w = f.writer();
    let request = merging("run/7");
    assert!(matches!(merge::merge(&mut w, &request).expect("merged"), MergeResult::Done(_)));
    w.compact(&mut |_, _| {}).expect("compacts");
    assert!(read_at(&f.path, "file/run") == run);

    // A clone.
    let copy = f.path.with_file_name("copy.kapsa");
    clone(&f.path, &copy, &mut |_, _| {}).expect("cloned");
    assert!(read_at(&copy, "file/run") == run);
}

#[test]
fn only_blobs_that_are_missing_travel() {
    let (here, there) = (Fixture::new(), Fixture::new());
    let shared = random("shared", 6 * MIB);
    let edited = [&shared[..], &random("end", MIB)].concat();
    put(&mut here.writer(), "file/known", &shared);
    put(&mut there.writer(), "file/new", &edited);
    let location = there.path.display().to_string();
    remote::add(&mut here.writer(), "other", &location).expect("added");
    let mut peer = LocalPeer::open(&there.path).expect("opens");
    let fetched =
        sync::fetch(&mut here.writer(), "other", &mut peer, &mut |_, _| {}).expect("fetched");
    assert!(fetched.bytes < 6 * MIB as u64, "{} bytes", fetched.bytes);
    let followed = here.reader().on("other/main", None).expect("there");
    assert!(read(&followed, "file/new").expect("readable") == edited);

    // The other way, with both sides of a pipe.
    let mut w = here.writer();
    let request = merging("other/main");
    merge::merge(&mut w, &request).expect("merged");
    drop(w);
    let (near, far) = std::os::unix::net::UnixStream::pair().expect("a pair");
    let answering = std::thread::spawn({
        let path = there.path.clone();
        move || {
            let mut peer = LocalPeer::of(writer(&path)).expect("opens");
            serve(&mut peer, &far, &far).expect("answers")
        }
    });
    let mut peer = kapsa_memory::PipePeer::open(&near, &near).expect("greeted");
    sync::push(&here.reader(), "other", "main", &mut peer, &mut |_, _| {}).expect("pushed");
    drop(near);
    answering.join().expect("ended");
    assert!(read_at(&there.path, "file/known") == shared);
    here.assert_whole();
    there.assert_whole();
}

#[test]
fn purged_content_is_gone_after_compaction_unless_others_have_it() {
    let f = Fixture::new();
    let (secret, shared) = (random("secret", 2 * MIB), random("shared", 9 * MIB));
    let both = [secret.clone(), shared.clone()].concat();
    put(&mut f.writer(), "file/secret", &secret);
    put(&mut f.writer(), "file/both", &both);
    put(&mut f.writer(), "file/shared", &shared);
    // Nothing refers to what a put left that was interrupted.
    let orphan = random("orphan", MIB);
    store(&mut f.writer(), &orphan);
    purge(&mut f.writer(), &uri("file/secret")).expect("purged");
    purge(&mut f.writer(), &uri("file/both")).expect("purged");
    assert!(contains(&f.path, &secret[..64]));
    f.writer().compact(&mut |_, _| {}).expect("compacts");
    for gone in [&secret, &orphan] {
        assert!(gone.chunks(MIB / 2).all(|part| !contains(&f.path, &part[..64])));
    }
    assert!(read(&f.reader(), "file/shared").expect("readable") == shared);
    f.assert_whole();
    // It can be stored again.
    put(&mut f.writer(), "file/secret", &secret);
    assert!(read(&f.reader(), "file/secret").expect("readable") == secret);
}

#[test]
fn content_that_is_not_there_is_refused_and_damage_is_named() {
    let (f, other) = (Fixture::new(), Fixture::new());
    let bytes = random("elsewhere", MIB);
    let (content, _) = store(&mut other.writer(), &bytes);
    let refused = f.writer().put(file("file/x", content)).expect_err("refused");
    assert!(matches!(refused, Error::ContentMissing), "{refused}");

    put(&mut f.writer(), "file/y", &bytes);
    let mut stored = std::fs::read(&f.path).expect("readable");
    let at =
        stored.windows(64).position(|part| *part == bytes[1000..1064]).expect("stored plainly");
    stored[at] ^= 1;
    std::fs::write(&f.path, stored).expect("written");
    assert!(read(&f.reader(), "file/y").is_err());
}

#[test]
fn a_file_of_which_a_part_was_lost_is_named() {
    let f = Fixture::new();
    put(&mut f.writer(), "file/x", &random("x", 9 * MIB));
    put(&mut f.writer(), "file/y", &random("y", MIB));
    let bytes = random("x", 9 * MIB);
    let mut stored = std::fs::read(&f.path).expect("readable");
    let part = &bytes[5 * MIB..5 * MIB + 64];
    let at = stored.windows(64).position(|found| found == part).expect("stored plainly");
    stored[at..at + 64].fill(0);
    std::fs::write(&f.path, stored).expect("written");
    let saved = f.path.with_file_name("saved.kapsa");
    kapsa_memory::salvage(&f.path, &saved, &WriteOptions::new(clock), &mut |_, _| {})
        .expect("salvaged");
    let report = kapsa_memory::check::verify(&saved, &mut |_, _| {}).expect("can be checked");
    let problems: Vec<&str> = report.problems.iter().map(|one| one.what.as_str()).collect();
    assert!(problems.is_empty(), "{problems:?}");
    let lost = kapsa_memory::check::lost_files(&saved).expect("can be looked at");
    let lost: Vec<_> = lost.iter().map(|file| (file.uri.as_str(), file.sequence)).collect();
    assert_eq!(lost, [("file/x", 7)]);
    assert!(read_at(&saved, "file/y") == random("y", MIB));
}

fn contains(path: &Path, part: &[u8]) -> bool {
    std::fs::read(path).expect("readable").windows(part.len()).any(|window| window == part)
}

#[test]
fn files_of_the_same_size_are_different_when_their_bytes_are() {
    let f = Fixture::new();
    put(&mut f.writer(), "file/x", &random("one", 1000));
    branch::create(&mut f.writer(), "b", "main", None).expect("made");
    let mut w = f.writer();
    w.switch("b").expect("open");
    put(&mut w, "file/x", &random("two", 1000));
    drop(w);
    let other = f.reader().on("b", None).expect("a branch");
    let differences = kapsa_memory::history::differences(&f.reader(), &other).expect("compared");
    assert_eq!(differences.len(), 1, "{differences:?}");
    merge::merge(&mut f.writer(), &merging("b")).expect("merged");
    assert!(read(&f.reader(), "file/x").expect("readable") == random("two", 1000));
}

#[test]
fn two_who_revise_a_file_contest_it() {
    let (here, there) = (Fixture::new(), Fixture::new());
    put(&mut there.writer(), "file/x", &random("one", 1000));
    fetched(&here, "other", &there);
    merge::merge(&mut here.writer(), &merging("other/main")).expect("merged");
    put(&mut here.writer(), "file/x", &random("two", 1000));
    put(&mut there.writer(), "file/x", &random("three", 1000));
    fetched(&here, "other", &there);
    let plan = merge::plan(&here.reader(), &merging("other/main")).expect("planned");
    assert_eq!(plan.items.len(), 1, "{plan:?}");
    assert_eq!(plan.items[0].outcome, merge::MergeOutcome::Conflict);
}

#[test]
fn purged_bytes_do_not_come_back_by_a_fetch() {
    let (here, there) = (Fixture::new(), Fixture::new());
    let bytes = random("secret", 1000);
    put(&mut here.writer(), "file/x", &bytes);
    fetched(&there, "here", &here);
    merge::merge(&mut there.writer(), &merging("here/main")).expect("merged");
    purge(&mut here.writer(), &uri("file/x")).expect("marked");
    // Marked and not erased yet, then erased; from a remote that is known, and from a new one.
    for (turn, name) in ["there", "again"].into_iter().enumerate() {
        fetched(&here, name, &there);
        fetched(&here, name, &there);
        here.writer().compact(&mut |_, _| {}).expect("compacted");
        assert!(!contains(&here.path, &bytes[100..164]), "turn {turn}");
    }
    fetched(&here, "third", &there);
    assert!(!contains(&here.path, &bytes[100..164]));
    assert!(contains(&there.path, &bytes[100..164]), "which is how it would be found");
}

#[test]
fn an_exchange_names_the_file_of_which_a_part_was_lost() {
    let (f, here) = (Fixture::new(), Fixture::new());
    let bytes = random("x", 1000);
    put(&mut f.writer(), "file/x", &bytes);
    let mut stored = std::fs::read(&f.path).expect("readable");
    let at = stored.windows(64).position(|found| *found == bytes[..64]).expect("stored plainly");
    stored[at] ^= 1;
    std::fs::write(&f.path, stored).expect("written");
    let saved = f.path.with_file_name("saved.kapsa");
    kapsa_memory::salvage(&f.path, &saved, &WriteOptions::new(clock), &mut |_, _| {})
        .expect("salvaged");
    let location = saved.display().to_string();
    remote::add(&mut here.writer(), "saved", &location).expect("added");
    let mut peer = LocalPeer::open(&saved).expect("opens");
    let refused = sync::fetch(&mut here.writer(), "saved", &mut peer, &mut |_, _| {})
        .expect_err("a part is missing")
        .to_string();
    assert!(refused.contains("file/x") && refused.contains("put the same file"), "{refused}");
    let saved = Reader::open(&saved).expect("opens");
    let refused = export::gather(&saved, &ExportRequest::default()).expect_err("a part is missing");
    assert!(refused.to_string().contains("file/x"), "{refused}");
}

#[test]
fn nothing_takes_the_place_of_a_blob() {
    let f = Fixture::new();
    put(&mut f.writer(), "file/x", &random("x", 1000));
    let blob = blake3::hash(&random("x", 1000)).to_hex();
    let name = kapsa_memory::Uri::parse(&format!("kapsa/blob/{blob}")).expect("a URI");
    let refused = f.writer().alias(&uri("file/q"), &name);
    assert!(matches!(refused, Err(Error::InvalidOperation { .. })), "{refused:?}");
}

/// Fetches from a capsule that is known by this name, or is from now on.
fn fetched(to: &Fixture, name: &str, from: &Fixture) {
    let location = from.path.display().to_string();
    // Refused where it is known already.
    drop(remote::add(&mut to.writer(), name, &location));
    let mut peer = LocalPeer::open(&from.path).expect("opens");
    sync::fetch(&mut to.writer(), name, &mut peer, &mut |_, _| {}).expect("fetched");
}
