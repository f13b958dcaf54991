//! Copies the repository's own documents to where the tour can embed them, so that a binary without
//! its repository still has something to remember; and links the program at a fixed address on
//! Linux.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The documents, relative to the repository's root.
const DOCUMENTS: [&str; 2] = ["README.md", "CHANGELOG.md"];
/// What stands for a document that the source package does not hold.
const STAND_IN: &str =
    "# Kapsa\n\nA memory for AI agents in one append-only file, called a capsule.\n";

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR for build scripts"));
    for name in DOCUMENTS {
        let source = root.join(name);
        println!("cargo::rerun-if-changed={}", source.display());
        let text = fs::read_to_string(&source).unwrap_or_else(|_| STAND_IN.to_string());
        fs::write(out.join(name), text)?;
    }
    link_at_fixed_address();
    Ok(())
}

/// A program that runs for a millisecond spends a third of it being relocated: 22,000 entries, each
/// page of them copied. At a fixed address there is nothing to relocate. Heap, stack and libraries
/// stay at random addresses.
fn link_at_fixed_address() {
    let target = |key: &str| env::var(key).unwrap_or_default();
    if target("CARGO_CFG_TARGET_OS") == "linux" && target("CARGO_CFG_TARGET_ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
