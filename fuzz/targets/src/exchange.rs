//! Target: whatever comes through the pipe from another capsule, records that check out are taken,
//! or an error is given, and what was here stays.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use kapsa_memory::{
    ContentNames, FileSystem, LocalPeer, NewRecord, PipePeer, Reader, TimelineRequest, Uri,
    WriteOptions, Writer, check, create_unlocked, remote, serve, split_content, sync,
};
use tempfile::TempDir;

use crate::memory_raw::folder;

/// What both sides say first.
const GREETING: &[u8] = b"kapsa exchange 1";
/// What is in the capsule before anything comes.
const KEPT: &str = "what was here";

/// The first byte says whether the rest answers a fetch or asks a capsule.
pub fn exchange(data: &[u8]) {
    let Some((&first, stream)) = data.split_first() else { return };
    let (_folder, path) = capsule(KEPT);
    let stream = [GREETING, stream].concat();
    if first.is_multiple_of(2) {
        let mut writer = writer(&path);
        remote::add(&mut writer, "other", "elsewhere").expect("the name is free");
        if let Ok(mut peer) = PipePeer::open(stream.as_slice(), io::sink()) {
            // May be dropped: any bytes may be refused.
            let _refused = sync::fetch(&mut writer, "other", &mut peer, &mut |_, _| {});
        }
    } else {
        let mut peer = LocalPeer::of(writer(&path)).expect("it opens");
        // May be dropped, likewise.
        let _refused = serve(&mut peer, stream.as_slice(), io::sink());
    }
    let reader = Reader::open(&path).expect("it opens");
    let kept = reader.get(&Uri::parse("note/kept").expect("a URI"));
    if first.is_multiple_of(2) {
        assert_eq!(kept.expect("a fetch changes no branch").text, KEPT);
    }
    let report = check::verify(&path, &mut |_, _| {}).expect("it can be checked");
    assert_eq!(report.problems, []);
    let all = TimelineRequest { limit: usize::MAX, ..TimelineRequest::default() };
    reader.timeline(&all).expect("every record is one");
}

fn writer(path: &Path) -> Writer {
    Writer::open_unlocked(Arc::new(FileSystem), path, WriteOptions::new(|| 1)).expect("it opens")
}

/// A capsule with a note of this text, and a file.
fn capsule(text: &str) -> (TempDir, PathBuf) {
    let folder = folder();
    let path = folder.path().join("fuzzed.kapsa");
    create_unlocked(&FileSystem, &path, &WriteOptions::new(|| 1)).expect("the folder is empty");
    let mut writer = writer(&path);
    let names = ContentNames::default();
    let content = split_content(names, &mut &[0xff, 0][..], &mut |_| {}, &mut |blobs| {
        blobs.store(&mut writer).map(drop)
    });
    let named =
        |uri: &str, text: &str| NewRecord { uri: Uri::parse(uri).ok(), ..NewRecord::text(text) };
    let file = NewRecord { content: content.ok(), ..named("file/a", text) };
    writer.put_many(vec![named("note/kept", text), file]).expect("the disk does not fail");
    (folder, path)
}

/// What each side says in a fetch and a push between two capsules.
pub(crate) fn conversations() -> [Vec<u8>; 2] {
    let (_here, near) = capsule("here");
    let (_there, far) = capsule("there");
    let (asks, answers) = UnixStream::pair().expect("a pair");
    let answering = thread::spawn(move || {
        let mut heard = Tee { inner: answers.try_clone().expect("one more"), passed: Vec::new() };
        let mut peer = LocalPeer::of(writer(&far)).expect("it opens");
        serve(&mut peer, &mut heard, answers).expect("it is asked well");
        heard.passed
    });
    let mut writer = writer(&near);
    remote::add(&mut writer, "other", "elsewhere").expect("the name is free");
    let mut heard = Tee { inner: asks.try_clone().expect("one more"), passed: Vec::new() };
    let mut peer = PipePeer::open(&mut heard, &asks).expect("it answers");
    sync::fetch(&mut writer, "other", &mut peer, &mut |_, _| {}).expect("fetched");
    let reader = writer.reader().expect("it opens");
    // May be dropped: what matters are the questions.
    let _refused = sync::push(&reader, "other", "main", &mut peer, &mut |_, _| {});
    asks.shutdown(std::net::Shutdown::Both).expect("it is open");
    let asked = answering.join().expect("it ended");
    let after = |stream: Vec<u8>, first: u8| [&[first], &stream[GREETING.len()..]].concat();
    [after(heard.passed, 0), after(asked, 1)]
}

/// Keeps what passes.
struct Tee<R> {
    inner: R,
    passed: Vec<u8>,
}

impl<R: Read> Read for Tee<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(out)?;
        self.passed.write_all(&out[..count])?;
        Ok(count)
    }
}
