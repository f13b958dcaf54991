//! Copies the repository's own documents to where the tour can embed them, so that a binary without
//! its repository still has something to remember; and links the program at a fixed address on
//! Linux, with the functions of frequent calls side by side.

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
    if is_linux_with_glibc() {
        link_at_fixed_address();
        link_frequent_functions_together(&out)?;
    }
    Ok(())
}

fn is_linux_with_glibc() -> bool {
    let target = |key: &str| env::var(key).unwrap_or_default();
    target("CARGO_CFG_TARGET_OS") == "linux" && target("CARGO_CFG_TARGET_ENV") == "gnu"
}

/// A program that runs for a millisecond spends a third of it being relocated: 22,000 entries, each
/// page of them copied. At a fixed address there is nothing to relocate. Heap, stack and libraries
/// stay at random addresses.
fn link_at_fixed_address() {
    println!("cargo::rustc-link-arg-bins=-no-pie");
}

/// Sections of functions that frequent calls run, one pattern per line, the most frequent first;
/// `cargo xtask frequent` makes it. What it names in vain is passed over.
const FREQUENT: &str = "link/frequent-functions.txt";

/// The code of a put is spread over thirty megabytes, and each page of it that is met first is a
/// page fault, which is most of what a short call costs. Side by side they share their pages.
fn link_frequent_functions_together(out: &Path) -> io::Result<()> {
    println!("cargo::rerun-if-changed={FREQUENT}");
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let is_chosen = env::var_os("RUSTC_LINKER").is_some() || flags.contains("link");
    // A linker that somebody chose may not know how; and nobody waits for a debug build's pages.
    if is_chosen || env::var("PROFILE").is_ok_and(|profile| profile != "release") {
        return Ok(());
    }
    let sections: String = fs::read_to_string(FREQUENT)?
        .lines()
        .map(|name| format!("    *(.text.{name} .text.unlikely.{name})\n"))
        .collect();
    let script = out.join("frequent.ld");
    fs::write(
        &script,
        format!("SECTIONS {{\n  .text.frequent : {{\n{sections}  }}\n}} INSERT BEFORE .text;\n"),
    )?;
    println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", script.display());
    Ok(())
}
