//! The peer memvid-core: one `.mv2` file with its lexical index, a commit per put.

use std::path::Path;

use anyhow::{Result, bail};
use kapsa_bench_common::peer::{Request, records, single};
use kapsa_bench_common::record::Record;
use memvid_core::{Memvid, PutManyOpts, PutOptions};

fn main() -> Result<()> {
    match Request::from_args()? {
        Request::Load(store, _) => load(&store),
        Request::Put(store, text) => put(&store, &single(text)),
        Request::Find(..) => bail!("memvid takes part in puts only"),
    }
}

fn load(store: &Path) -> Result<()> {
    let mut memory = Memvid::create(store)?;
    memory.enable_lex()?;
    memory.begin_batch(PutManyOpts::default())?;
    for record in records() {
        insert(&mut memory, &record?)?;
    }
    memory.end_batch()?;
    Ok(memory.commit()?)
}

fn put(store: &Path, record: &Record) -> Result<()> {
    let mut memory = Memvid::open(store)?;
    insert(&mut memory, record)?;
    Ok(memory.commit()?)
}

/// Puts the text as it is, without the extractions that memvid would add by default.
fn insert(memory: &mut Memvid, record: &Record) -> Result<()> {
    let mut options = PutOptions::builder().title(&record.title).label(&record.label).build();
    options.auto_tag = false;
    options.extract_dates = false;
    options.extract_triplets = false;
    memory.put_bytes_with_options(record.text.as_bytes(), options)?;
    Ok(())
}
