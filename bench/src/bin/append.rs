//! The least that a durable put can cost: open a file, append bytes, one fdatasync, exit:
//! `bench-append FILE BYTES`.

use std::fs::OpenOptions;
use std::io::{self, Error, Write};

fn main() -> io::Result<()> {
    let mut args = std::env::args().skip(1);
    let usage = || Error::other("usage: bench-append FILE BYTES");
    let path = args.next().ok_or_else(usage)?;
    let bytes: usize = args.next().and_then(|bytes| bytes.parse().ok()).ok_or_else(usage)?;
    let mut file = OpenOptions::new().append(true).open(path)?;
    file.write_all(&vec![b'x'; bytes])?;
    file.sync_data()
}
