//! Target: any bytes as the memory of another product give records that can be put, each with a
//! name of its own, and the same ones again.

use std::fs;

use kapsa_importers::PRODUCTS;

use crate::memory_raw::folder;

/// Sources of the products, each with the name of its product.
pub(crate) const SOURCES: [(&str, &str); 13] = [
    ("basic-memory", "---\ntitle: A\ntags: [x, y]\n---\n- [method] one #two\n- relates_to [[B]]\n"),
    (
        "beads",
        "{\"id\":\"bd-1\",\"title\":\"t\",\"comments\":[{\"author\":\"a\",\"text\":\"b\"}]}\n{\"id\":",
    ),
    (
        "chatgpt",
        "[{\"mapping\":{\"a\":{\"message\":{\"recipient\":\"bio\",\"content\":{\"parts\":[\"x\"]}}}}}]",
    ),
    ("claude", "[{\"conversations_memory\":\"x\",\"project_memories\":{\"p\":\"y\",\"q\":null}}]"),
    ("claude-code", "# Title\n\nText with [[a link\n"),
    ("codex", "\u{feff}---\nname: n\n---\n"),
    (
        "graphiti",
        "{\"episodes\":[{\"content\":\"x\"}],\"edges\":[{\"fact\":\"f\",\"valid_at\":1e300}]}",
    ),
    (
        "letta",
        "{\"agents\":[{\"name\":\"a\",\"core_memory\":[{\"label\":\"l\",\"value\":\"v\"}]}]}",
    ),
    (
        "mem0",
        "{\"results\":[{\"id\":\"1\",\"memory\":\"m\",\"metadata\":{\"k\":[]},\"created_at\":0}]}",
    ),
    (
        "memvid",
        "{\"frame\":{\"status\":\"active\",\"uri\":\"mv2://a/b\",\"text\":\"x\",\"tags\":[\"a=b\"]}}\n{\"card\":{\"entity\":\"a\",\"slot\":\"b\",\"value\":\"c\"}}\n{\"end\":{}}",
    ),
    (
        "memvid",
        "{\"frame\":{\"uri\":\"a\",\"text\":\"x\",\"metadata\":{\"kapsa\":{\"parts\":1}}}}\n{\"frame\":{\"uri\":\"b\",\"text\":\"y\",\"metadata\":{\"kapsa\":{\"part_of\":\"a\",\"part\":2}}}}\n{\"end\":{}}",
    ),
    ("obsidian", "[[A|b]] [[#c]] ]] [["),
    (
        "server-memory",
        "{\"type\":\"entity\",\"name\":\"a\",\"observations\":[1,null,\"x\"]}\n{\"from\":\"a\",\"to\":\"b\"}",
    ),
];

/// Reads the bytes, but for the first, as the memory of the product that the first one names.
pub fn import(data: &[u8]) {
    let Some((&first, source)) = data.split_first() else { return };
    let product = PRODUCTS[usize::from(first) % PRODUCTS.len()];
    let folder = folder();
    let path = folder.path().join("source.md");
    fs::write(&path, source).expect("the folder is there");
    // What a helper program answers is read as what it is: any bytes.
    let read = || match product.helper() {
        Some(_) => product.read_answer(&path, &mut &source[..]),
        None => product.read(&path),
    };
    let Ok(found) = read() else { return };
    assert_eq!(found.count(), found.items.len() + found.skipped.len());
    for item in &found.items {
        for record in item.older.iter().chain([&item.record]) {
            let checked = record.check();
            assert!(checked.is_ok(), "{checked:?}: {item:?}");
        }
        assert!(item.record.uri.is_some(), "{item:?}");
        assert!(item.record.metadata.contains_key("imported_from"), "{item:?}");
    }
    let again = read().expect("it was read before");
    let records = |source: &kapsa_importers::Source| {
        source.items.iter().map(|item| item.record.clone()).collect::<Vec<_>>()
    };
    assert_eq!(records(&found), records(&again), "the same bytes give the same records");
}
