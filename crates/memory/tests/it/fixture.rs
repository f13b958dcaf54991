//! A capsule in a folder of its own, for the tests of this crate and of those above it.

#![allow(dead_code, reason = "each crate's tests use a part of it")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};

use kapsa_memory::{FindRequest, NewRecord, Reader, Uri, WriteOptions, Writer, create};

static NOW: AtomicI64 = AtomicI64::new(1_767_225_600_000_000);

/// A clock that ticks a second at each look.
pub fn clock() -> i64 {
    NOW.fetch_add(1_000_000, Ordering::Relaxed)
}

/// A capsule in a folder of its own.
pub struct Fixture {
    // Held for its drop.
    _folder: tempfile::TempDir,
    pub path: PathBuf,
}

impl Fixture {
    pub fn new() -> Fixture {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("m.kapsa");
        create(&path, &WriteOptions::new(clock)).expect("created");
        Fixture { _folder: folder, path }
    }

    pub fn writer(&self) -> Writer {
        Writer::open(&self.path, WriteOptions::new(clock)).expect("opens for writing")
    }

    pub fn reader(&self) -> Reader {
        Reader::open(&self.path).expect("opens")
    }

    pub fn texts(&self, query: &str) -> Vec<String> {
        let found = self.reader().find(&FindRequest::new(query)).expect("any query is answered");
        found.hits.into_iter().map(|hit| hit.record.text).collect()
    }

    pub fn assert_whole(&self) {
        let report =
            kapsa_memory::check::verify(&self.path, &mut |_, _| {}).expect("can be checked");
        assert_eq!(report.problems, []);
    }
}

pub fn uri(text: &str) -> Uri {
    Uri::parse(text).expect("a valid URI")
}

pub fn named(name: &str, text: &str) -> NewRecord {
    NewRecord { uri: Some(uri(name)), ..NewRecord::text(text) }
}
