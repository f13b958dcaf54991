//! Sources that are not what they claim to be end in an error with a name, and take nothing.

use std::fs;

use kapsa_importers::{FILE_BYTES_MAX, PRODUCTS, Product};

#[test]
fn what_is_not_a_source_is_refused_or_skipped_and_nothing_hangs() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("source.md");
    let deep = "[".repeat(100_000);
    let cut_database = [&b"SQLite format 3\0"[..], &[7; 4096]].concat();
    for bytes in [
        &b""[..],
        b"\0\0\0",
        b"{",
        b"null",
        b"[1, 2, null]",
        b"{\"agents\": 5, \"results\": {}, \"episodes\": \"x\"}",
        deep.as_bytes(),
        &cut_database,
        b"---\n---\n---\n",
        &[0xff; 64],
    ] {
        fs::write(&file, bytes).expect("written");
        for product in PRODUCTS {
            if let Ok(source) = product.read(&file) {
                let made = source.items.iter().map(|item| item.record.check());
                assert!(made.into_iter().all(|checked| checked.is_ok()), "{}", product.name);
            }
        }
    }
    // A pipe is not waited for, wherever it lies.
    let pipe = folder.path().join("pipe.md");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    for product in PRODUCTS {
        let read = product.read(&pipe);
        let is_taken = read.as_ref().is_ok_and(|source| !source.items.is_empty());
        assert!(!is_taken, "{}: {read:?}", product.name);
    }
    let has_files =
        |product: &&Product| product.helper().is_none() && product.read_memories(&[]).is_none();
    for product in PRODUCTS.iter().filter(has_files) {
        let missing = product.read(&folder.path().join("none")).expect_err("nothing is there");
        assert_eq!(missing.code(), "io", "{}", product.name);
    }
}

#[test]
fn links_are_not_followed_and_long_files_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret.txt");
    fs::write(&secret, "secret").expect("written");
    let vault = folder.path().join("vault");
    fs::create_dir(&vault).expect("made");
    std::os::unix::fs::symlink(&secret, vault.join("link.md")).expect("linked");
    std::os::unix::fs::symlink(folder.path(), vault.join("up")).expect("linked");
    fs::write(vault.join("a.md"), "a").expect("written");
    let long = fs::File::create(vault.join("long.md")).expect("made");
    long.set_len(FILE_BYTES_MAX + 1).expect("long");
    let source =
        kapsa_importers::Product::named("obsidian").expect("known").read(&vault).expect("read");
    assert_eq!((source.items.len(), source.skipped.len()), (1, 1), "{source:?}");
    assert!(source.skipped[0].reason.contains("more than"), "{:?}", source.skipped);
}

#[test]
fn a_long_text_of_memvid_may_say_any_number_of_pages() {
    let frame = |id: u64, uri: &str, text: &str, rest: &str| {
        format!(
            "{{\"frame\":{{\"id\":{id},\"status\":\"active\",\"uri\":\"{uri}\",\
             \"text\":\"{text}\",\"metadata\":{{\"kapsa\":{rest}}}}}}}\n"
        )
    };
    let product = Product::named("memvid").expect("known");
    let folder = tempfile::tempdir().expect("a folder");
    for total in ["0", "1", "18446744073709551615"] {
        let answer = frame(1, "mv2://a", "one", &format!("{{\"parts\":{total}}}"))
            + &frame(2, "mv2://a#2", "two", "{\"part_of\":\"mv2://a\",\"part\":2}")
            + "{\"end\":{}}\n";
        let source = product.read_answer(folder.path(), &mut answer.as_bytes()).expect("read");
        assert_eq!(source.count(), 1, "{total}: {source:?}");
        let is_whole = source.items.first().is_some_and(|item| item.record.text == "one");
        assert_eq!(is_whole, total.len() == 1, "{total}: {source:?}");
    }
}
