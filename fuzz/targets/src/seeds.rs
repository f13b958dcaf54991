//! The inputs that fuzzing begins with: valid ones that reach every reader, generated rather than
//! kept.

use std::collections::BTreeMap;

use kapsa_capsule::{Snapshot, Stored};
use kapsa_importers::PRODUCTS;
use kapsa_memory::{NewRecord, Source, Uri, WriteOptions, Writer, create, purge};

use crate::document::DOCUMENTS;
use crate::exchange::conversations;
use crate::import::SOURCES;
use crate::memory_raw::folder;
use crate::note::NOTES;
use crate::samples::samples;
use crate::trace::TRACES;

/// An input: its target, its name, its bytes.
pub type Seed = (&'static str, String, Vec<u8>);

/// Edits of every sample; bytes as [`crate::capsule_structured`] reads them.
const EDITS: [&[u8]; 9] = [
    &[],
    // Commit pointers dropped; a field of the first frame's payload at its largest.
    &[6, 0],
    &[6, 0, 0, 4, 1, 0xa0],
    // The newest commit's indexed, tail offset and manifest.
    &[0, 6, 9, 0xa0],
    &[0, 8, 8, 0x41, 5, 0],
    &[0, 8, 7, 0x42],
    // A run of bytes inside a packed body.
    &[4, 4, 40, 0, 3, 1, 2, 3],
    // One record more in the first frame; a byte cut off the end; bytes after the end.
    &[3, 4, 1, 1],
    &[7, 1, 9, 7, 2, 80, 0, b'K', b'F', b'R', b'M', 1],
];
const QUERIES: [&str; 12] = [
    "which port does the staging database use?",
    "+quick -fox \"brown fox\"",
    "title:fox kind:fact kind:note -kind:note tag:n=1",
    "-\"quick brown\"",
    "getUserName HTTP2Server v1.2.3-rc4 crates/index/src/query.rs",
    "\"東京都\" 京都 Привет ÜNÏCODE Straße İstanbul ﬁ",
    "+getUserName -\"name get\"",
    "the of and",
    "label:\"two words\" uri:note/3 entity:",
    "\"never closed +a -b",
    "a-b_c.d:e/f\\g user@example.org 127.0.0.1:5433 0xdeadbeef",
    "",
];
const JSON: [&str; 14] = [
    r#"{"text":"t","title":"T","label":"l","kind":"fact","uri":"note/a","tags":{"a":"b"},"metadata":{"n":{"m":[1,2.5e3,null,true]}},"entity":"e","domain":"d","agent":"ag","run":"r","confidence":0.5,"created_at":"1970-01-01T00:00:01Z","source":{"path":"p.md","line_start":2,"line_end":3,"content_hash":"x"}}"#,
    "{\"text\":\"one\"}\n\n{\"text\":\"two\",\"tags\":[\"a=b\",\"c\"],\"created_at\":5}\n",
    "\u{feff}\n{\n\"text\":\n\"spread \\u00e9 \\ud83e\\udd8a {[\"\n}\n",
    "{\"text\":\"a\"}{\"text\":\"b\"}",
    r#"{"titel":"x","text":"y"}"#,
    "[1,2]",
    "{\"text\":\"\\ud800\"}",
    "{\"text\":\"a\",\"created_at\":9223372036854775807}",
    "{\"text\":\"a\",\"metadata\":{\"x\":1e999}}",
    "{\"text\":\"a\",\"text\":\"b\"}",
    "{\"a\":\n{\"a\":\n{\"a\":\n",
    "{\"text\":\"a\",\"tags\":{\"k\":1}}",
    "{\"text\":\"a\",\"uri\":\"mv2://other/x/../y\"}",
    "",
];
const URIS: [&str; 9] = [
    "note/abc",
    "mv2://default/note/abc",
    "mv2://other/spec/run/type/path",
    "mv2://ws",
    "http://x/y",
    "a//b/./../c",
    "ěščř/日本/%2e%2e",
    "a\u{202e}b\u{200b}c",
    "Hello, World! İ ﬁ ẞ ..- -.",
];

/// Secrets and addresses, made up and in pieces; a unit separator is between messages.
const REDACTED: [&[&str]; 7] = [
    &[
        "my token is ghp",
        "_q7Zk3Qm81xYtR5vB9cLw2NfHs6DgJp4aUe0o, write to jo@mail.kapsa-memory.dev",
    ],
    &["-----BEGIN ", "PRIVATE KEY-----\nq7Zk3Qm81xYtR5vB9cLw2NfHs6\n-----END ", "PRIVATE KEY-----"],
    &["postgres://app:", "tr0ub4dor", "@db.internal:5432/app Basic YXBwOnRyMHViNGRvcjE="],
    &[
        "{\"arguments\":\"{\\\"api_key\\\": \\\"q7Zk3Qm81xYtR5vB9cLw2NfH\\\"}\",\"n\":[1,\"a@b.de\"]}",
    ],
    &["sk-proj-q7Zk3Qm8\u{1f}1xYtR5vB9cLw2NfHs6DgJp4a\u{1f}\u{1f}Ue0oXiWb"],
    &["DB_PASSWORD='correct-horse-bättery-staple' bearer q7Zk3Qm81xYtR5vB9cLw2NfHs6\u{e9}"],
    &["icon@2x.png git@host.org:a/b \"\\"],
];

/// Every seed.
#[must_use]
pub fn seeds() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (number, sample) in samples().iter().enumerate() {
        seeds.push(("capsule_raw", format!("sample-{number}"), sample.file.clone()));
        for (edit, bytes) in EDITS.iter().enumerate() {
            seeds.push((
                "capsule_structured",
                format!("sample-{number}-edit-{edit}"),
                [&[number as u8, 0], *bytes].concat(),
            ));
        }
    }
    for (number, bodies) in memories().iter().enumerate() {
        for indexed in [0, 1] {
            seeds.push((
                "memory_raw",
                format!("memory-{number}-{indexed}"),
                joined(indexed, bodies),
            ));
        }
    }
    for (number, table) in tables().into_iter().enumerate() {
        seeds.push(("memory_sections", format!("table-{number}"), table));
    }
    let texts = [
        ("query", &QUERIES[..]),
        ("json_input", &JSON),
        ("trace", &TRACES),
        ("note", &NOTES),
        ("uri", &URIS),
    ];
    for (target, texts) in texts {
        let head: &[u8] = if target == "query" { &[10, 0] } else { &[] };
        let named = texts
            .iter()
            .enumerate()
            .map(|(number, text)| (format!("seed-{number}"), [head, text.as_bytes()].concat()));
        seeds.extend(named.map(|(name, bytes)| (target, name, bytes)));
    }
    let sources = SOURCES.iter().map(|(name, text)| {
        let place = PRODUCTS.iter().position(|product| product.name == *name);
        let place = place.and_then(|place| u8::try_from(place).ok()).expect("a known product");
        [&[place], text.as_bytes()].concat()
    });
    seeds.extend(sources.enumerate().map(|(n, bytes)| ("import", format!("seed-{n}"), bytes)));
    let documents = DOCUMENTS.iter().map(|(format, bytes)| [&[*format], *bytes].concat());
    seeds.extend(documents.enumerate().map(|(n, bytes)| ("document", format!("seed-{n}"), bytes)));
    let said = conversations().into_iter().enumerate();
    seeds.extend(said.map(|(n, bytes)| ("exchange", format!("seed-{n}"), bytes)));
    let redacted = REDACTED.iter().enumerate();
    seeds.extend(
        redacted.map(|(number, parts)| ("redact", format!("seed-{number}"), parts.concat().into())),
    );
    let deep = [62, 63, 65].map(|levels| {
        format!(r#"{{"text":"t","metadata":{{"x":{}{}}}}}"#, "[".repeat(levels), "]".repeat(levels))
    });
    seeds.extend(
        deep.into_iter()
            .enumerate()
            .map(|(n, text)| ("json_input", format!("deep-{n}"), text.into_bytes())),
    );
    seeds
}

/// URI tables, levels and replacements as [`crate::memory_sections`] reads them: whole, empty, out
/// of order and out of bounds.
fn tables() -> [Vec<u8>; 4] {
    let hash = |uri: &str| Uri::parse(uri).expect("valid").hash();
    let mut keys: Vec<(u64, u32)> =
        ["note/a", "note/b", "note/a", "note/c"].into_iter().map(hash).zip(0..).collect();
    keys.sort_unstable();
    // Two groups, of nobody and of whoever knows a term, and the group of each of four records.
    let levels =
        [[2u32, 1, 4].map(u32::to_le_bytes).concat(), vec![0; 2 * 12 + 4 * 16], vec![1, 0, 1, 0]]
            .concat();
    let table = |keys: &[(u64, u32)], replaced: &[u64]| {
        let hashes = keys.iter().flat_map(|key| key.0.to_le_bytes());
        let places = keys.iter().flat_map(|key| key.1.to_le_bytes());
        let pairs = replaced.iter().flat_map(|sequence| sequence.to_le_bytes());
        let levels = [(levels.len() / 4) as u8].into_iter().chain(levels.iter().copied());
        [(keys.len() * 3) as u8]
            .into_iter()
            .chain(hashes)
            .chain(places)
            .chain(levels)
            .chain(pairs)
            .collect()
    };
    let reversed: Vec<(u64, u32)> = keys.iter().rev().copied().collect();
    let outside: Vec<(u64, u32)> =
        keys.iter().map(|&(hash, place)| (hash, place.wrapping_sub(1))).collect();
    [
        table(&keys, &[1, 3]),
        table(&[], &[]),
        table(&reversed, &[4, 4, 1, 1]),
        table(&outside, &[u64::MAX, 1]),
    ]
}

/// Records as [`crate::memory_raw`] reads them.
fn joined(first: u8, bodies: &[Vec<u8>]) -> Vec<u8> {
    let mut out = vec![first];
    for body in bodies {
        out.extend_from_slice(&(body.len() as u16).to_le_bytes());
        out.extend_from_slice(body);
    }
    out
}

/// The bodies of the records that some puts leave.
fn memories() -> [Vec<Vec<u8>>; 3] {
    let of =
        |uri: &str, text: &str| NewRecord { uri: Uri::parse(uri).ok(), ..NewRecord::text(text) };
    let full = NewRecord {
        title: "Title".to_owned(),
        kind: "fact".to_owned(),
        label: "builder".to_owned(),
        tags: BTreeMap::from([("a".to_owned(), "1".to_owned()), ("b".to_owned(), String::new())]),
        metadata: serde_json::Map::from_iter([(
            "x".to_owned(),
            serde_json::json!([1, {"y": null}]),
        )]),
        entity: "acme".to_owned(),
        domain: "sales".to_owned(),
        agent: "cro".to_owned(),
        run: "r1".to_owned(),
        confidence: Some(0.25),
        created_at: Some(-5),
        source: Some(Source {
            path: "a/b.md".to_owned(),
            line_start: 3,
            line_end: 900,
            content_hash: format!("{:032x}", 77),
        }),
        ..of("doc/full", "text \u{1b}[31m é")
    };
    [
        bodies(|writer| vec![writer.put(full).map(|_| ())]),
        bodies(|writer| {
            let puts = vec![
                of("note/a", "the text a b"),
                NewRecord::text("made uri"),
                of("note/b", "a fox"),
            ];
            let more = vec![of("note/a", "another text"), of("note/a", "the last text, a fox")];
            vec![writer.put_many(puts).map(|_| ()), writer.put_many(more).map(|_| ())]
        }),
        bodies(|writer| {
            let uri = Uri::parse("note/a").expect("valid");
            let other = Uri::parse("note/b").expect("valid");
            vec![
                writer.put_many(vec![of("note/a", "gone"), of("note/b", "erased")]).map(|_| ()),
                writer.forget(&uri).map(|_| ()),
                purge(writer, &other).map(|_| ()),
                writer.put(of("note/a", "back")).map(|_| ()),
            ]
        }),
    ]
}

/// The bodies of the records that `steps` leave.
pub(crate) fn bodies(
    steps: impl FnOnce(&mut Writer) -> Vec<kapsa_memory::Result<()>>,
) -> Vec<Vec<u8>> {
    let folder = folder();
    let path = folder.path().join("seed.kapsa");
    create(&path, &WriteOptions::new(|| 0)).expect("the folder is empty");
    let mut writer = Writer::open(&path, WriteOptions::new(|| 0)).expect("the capsule is new");
    for step in steps(&mut writer) {
        step.expect("the records are within their limits");
    }
    let snapshot = Snapshot::open(&path).expect("the capsule is whole");
    let body = |stored: Stored<'_>| match stored {
        Stored::Body(body) => body.to_vec(),
        Stored::Purged(_) => Vec::new(),
    };
    snapshot.records(1).map(|record| body(record.expect("the capsule is whole").stored())).collect()
}
