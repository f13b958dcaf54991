//! What must hold for any bytes that a stranger may have written: one function for each reader of
//! such bytes; it panics when a promise is broken.
//!
//! The same functions run under libFuzzer (`fuzz/`), where hangs and large allocations are found by
//! its limits, and in `cargo test` over the inputs kept in `fuzz/corpus/`.

mod capsule_raw;
mod capsule_structured;
mod document;
mod edit;
mod exchange;
mod exercise;
mod import;
mod input;
mod json_input;
mod layout;
mod memory_raw;
mod memory_sections;
mod note;
mod query;
mod redact;
mod samples;
mod seeds;
mod trace;
mod uri;

pub use capsule_raw::capsule_raw;
pub use capsule_structured::capsule_structured;
pub use document::document;
pub use exchange::exchange;
pub use import::import;
pub use json_input::json_input;
pub use memory_raw::memory_raw;
pub use memory_sections::memory_sections;
pub use note::note;
pub use query::query;
pub use redact::redact_texts;
pub use seeds::{Seed, seeds};
pub use trace::trace;
pub use uri::uri;

/// A target: any bytes go in, and a panic means that a promise was broken.
pub type Target = fn(&[u8]);

/// Every target under its name, which is that of its folder in `fuzz/corpus/` as well.
pub const TARGETS: [(&str, Target); 13] = [
    ("capsule_raw", capsule_raw),
    ("capsule_structured", capsule_structured),
    ("memory_raw", memory_raw),
    ("memory_sections", memory_sections),
    ("query", query),
    ("json_input", json_input),
    ("trace", trace),
    ("note", note),
    ("document", document),
    ("import", import),
    ("exchange", exchange),
    ("redact", redact_texts),
    ("uri", uri),
];
