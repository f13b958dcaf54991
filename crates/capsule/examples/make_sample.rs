//! Writes the sample capsule that `tests/it/golden.rs` opens for ever. Run once for each new format
//! version: `cargo run -p kapsa-capsule --example make_sample --
//! crates/capsule/tests/samples/v1.kapsa`

use std::error::Error;
use std::path::PathBuf;

use kapsa_capsule::{NewCapsule, SegmentDraft, Stored, Writer, WriterOptions, create};

fn main() -> Result<(), Box<dyn Error>> {
    let path = PathBuf::from(std::env::args().nth(1).ok_or("usage: make_sample NEW_FILE")?);
    if !create(&path, NewCapsule { capsule_id: [3; 16], created_us: 5 }, &WriterOptions::default())?
    {
        return Err("a sample is never written again".into());
    }
    let mut writer = Writer::open(&path, &WriterOptions::default())?;
    let first = ["sample record one", "sample record two", "sample record three, to be purged"];
    put(&mut writer, first.iter().map(|text| (*text).to_string()), 7)?;
    put(
        &mut writer,
        (0..999).map(|i| format!("sample record of a batch, number {i}, {}", "text ".repeat(20))),
        7,
    )?;
    let mut rewrite = writer.rewrite()?;
    for record in rewrite.old().clone().records(1) {
        let record = record?;
        let hash = record.stored().hash();
        rewrite.append(if record.sequence() == 3 {
            Stored::Purged(&hash)
        } else {
            record.stored()
        })?;
    }
    rewrite.add_segment(segment(1, 500, b"first"))?;
    rewrite.finish(&mut writer)?;
    let mut transaction = writer.begin()?;
    transaction.append(b"after compaction")?;
    transaction.add_segment(segment(500, 1004, b"second"))?;
    transaction.commit(9)?;
    Ok(())
}

fn put(
    writer: &mut Writer,
    texts: impl Iterator<Item = String>,
    time_us: i64,
) -> kapsa_capsule::Result<()> {
    let mut transaction = writer.begin()?;
    for text in texts {
        transaction.append(text.as_bytes())?;
    }
    transaction.commit(time_us).map(drop)
}

fn segment(first_sequence: u64, next_sequence: u64, content: &[u8]) -> SegmentDraft {
    SegmentDraft { first_sequence, next_sequence, sections: vec![(*b"test    ", content.to_vec())] }
}
