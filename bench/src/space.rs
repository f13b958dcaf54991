//! What single puts leave on the disk: bytes of the store for each byte of text, from an empty one
//! on and without anybody compacting it.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::dataset::{Dataset, remove};
use crate::engine::Engine;
use crate::process::{Tools, run};
use crate::table::Table;

/// Bytes of each text.
const TEXT_BYTES: usize = 250;

/// Fills an empty store of each engine by `puts` processes of one record each.
pub fn measure(tools: &Tools, dataset: &Dataset, engines: &[Engine], puts: usize) -> Result<Table> {
    let texts = texts(dataset, puts)?;
    let written: usize = texts.iter().map(String::len).sum();
    let mut table = Table::new(["single puts", "bytes to a byte of text"]);
    for &engine in engines {
        let ways: &[(&str, &str)] = match engine {
            Engine::Kapsa => &[("", "later"), (", with vectors", "now")],
            _ => &[("", "")],
        };
        for (name, embed) in ways {
            let store = dataset.scratch(engine.store_name())?;
            for suffix in ["", "-wal", "-shm", ".lock"] {
                remove(Path::new(&format!("{}{suffix}", store.display())))?;
            }
            engine.create(tools, &store)?;
            for text in &texts {
                run(engine.put(tools, &store, text)?.env("KAPSA_EMBED", embed))?;
            }
            let ratio = disk_bytes(&store)? as f64 / written as f64;
            table.row([format!("{}{name}", engine.name()), format!("{ratio:.2}")]);
        }
    }
    Ok(table)
}

/// Texts of [`TEXT_BYTES`] each, cut from those that are not in the corpus.
fn texts(dataset: &Dataset, count: usize) -> Result<Vec<String>> {
    let long = dataset.extra_texts()?;
    let pieces = long.iter().flat_map(|text| {
        let words: Vec<&str> = text.split_whitespace().collect();
        let joined = words.join(" ");
        let bytes = joined.into_bytes();
        let pieces: Vec<String> = bytes
            .chunks_exact(TEXT_BYTES)
            .map(|piece| String::from_utf8_lossy(piece).replace(char::REPLACEMENT_CHARACTER, "?"))
            .collect();
        pieces
    });
    let texts: Vec<String> = pieces.filter(|text| !text.starts_with('-')).take(count).collect();
    ensure!(texts.len() == count, "there are texts for {} puts only", texts.len());
    Ok(texts)
}

/// Bytes of a file, or of all files of a folder, and of what lies beside a file of that name.
fn disk_bytes(store: &Path) -> Result<u64> {
    if store.is_dir() {
        let entries = std::fs::read_dir(store)?.collect::<std::io::Result<Vec<_>>>()?;
        return entries.iter().map(|entry| disk_bytes(&entry.path())).sum();
    }
    let wal = std::fs::metadata(format!("{}-wal", store.display())).map_or(0, |file| file.len());
    let file = std::fs::metadata(store).with_context(|| store.display().to_string())?;
    Ok(file.len() + wal)
}
