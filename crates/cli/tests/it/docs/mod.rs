//! README.md and the pages of `docs/` are true: their commands are typed, their comments checked.
//!
//! How to write a block:
//!
//! - A page is one session of `sh`. Its `sh` blocks are typed in order, in a fresh clone of some of
//!   the repository's documents. Every command succeeds, prints something and writes nothing to
//!   standard error, unless its comment says otherwise.
//! - A **comment behind a command is a claim**: `# prints: TEXT`, `# prints nothing` (on standard
//!   output), `# warns: TEXT` (on standard error), `# exit code N`, or several with `; ` between.
//!   Any other words are a claim too: `claims.sh` has commands that check them, under the same
//!   words. A claim without a check fails the test, and so does a check without a claim.
//! - A **comment on a line of its own explains** and is not checked.
//! - A `text` block right below a shell block is everything that the block's last command prints;
//!   `[..]` stands for any text within a line.
//! - `toml FILE` and `json FILE` behind a fence write the file for the commands below. JSON parses.
//! - `rust` blocks are compiled and run by `cargo test --doc`; `crates/cli/src/lib.rs` includes
//!   their pages.
//! - `<!-- not typed: REASON -->` before a block keeps it from being typed; [`NOT_TYPED`] lists
//!   all.
//!
//! `cargo` is a stand-in, since a test cannot wait for builds: it starts what is built already.

mod claims;
mod page;
mod session;

use std::path::{Path, PathBuf};

use self::page::{Block, blocks};

/// Every block that is not typed: its page and the reason.
const NOT_TYPED: &[(&str, &str)] = &[
    ("README.md", "needs a downloaded model and a network service"),
    ("docs/benchmarks.md", "takes hours and a release build"),
    ("docs/benchmarks.md", "takes hours and a release build"),
    (
        "docs/benchmarks.md",
        "needs a release build, and packages with the original of the bundled model",
    ),
    ("docs/benchmarks.md", "takes hours and a release build"),
    ("docs/benchmarks.md", "needs labelled traces and a release build"),
    ("docs/import.md", "needs the daemon of local-memory"),
    ("docs/import.md", "needs the program kapsa-memvid, which takes minutes to build"),
    ("docs/mutants.md", "takes hours and a release build"),
    ("docs/search.md", "needs a downloaded model"),
    ("docs/search.md", "needs a downloaded model"),
    ("docs/traces.md", "goes on until it is stopped"),
];

/// The most explanations over all pages: the only words in shell blocks that nothing checks.
const EXPLANATIONS_MAX: usize = 24;

/// The languages of blocks. A `text` block that follows no shell block is a drawing.
const LANGUAGES: [&str; 6] = ["sh", "text", "json", "jsonl", "toml", "rust"];

macro_rules! pages {
    ($($name:ident $page:literal)*) => {
        const PAGES: &[&str] = &[$($page),*];
        $(#[test] fn $name() { session::check($page); })*
    };
}

pages! {
    readme "README.md"
    access "docs/access.md"
    agents "docs/agents.md"
    architecture "docs/architecture.md"
    backends "docs/backends.md"
    benchmarks "docs/benchmarks.md"
    documents "docs/documents.md"
    filesystem "docs/filesystem.md"
    format "docs/format.md"
    glossary "docs/glossary.md"
    hooks "docs/hooks.md"
    import "docs/import.md"
    mcp "docs/mcp.md"
    memory_tool "docs/memory-tool.md"
    mutants "docs/mutants.md"
    reliability "docs/reliability.md"
    runs "docs/runs.md"
    search "docs/search.md"
    security "docs/security.md"
    setup "docs/setup.md"
    traces "docs/traces.md"
    versions "docs/versions.md"
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("two folders above")
        .to_path_buf()
}

fn read(page: &str) -> String {
    std::fs::read_to_string(repository().join(page))
        .unwrap_or_else(|error| panic!("{page}: {error}"))
}

/// All blocks of all pages, each with its page.
fn all_blocks() -> impl Iterator<Item = (&'static str, Block)> {
    PAGES.iter().flat_map(|page| blocks(&read(page)).into_iter().map(move |block| (*page, block)))
}

/// `docs/json.md` is generated from the types, and checked where they are.
#[test]
fn every_page_is_typed() {
    let docs = std::fs::read_dir(repository().join("docs")).expect("the folder");
    let names =
        docs.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"));
    for name in names.filter(|name| name.ends_with(".md") && name != "json.md") {
        assert!(
            PAGES.contains(&format!("docs/{name}").as_str()),
            "docs/{name} is not typed by any test"
        );
    }
}

#[test]
fn every_block_has_a_known_language() {
    for (page, block) in all_blocks() {
        let language = &block.language;
        assert!(LANGUAGES.contains(&language.as_str()), "{page}:{}: `{language}`", block.line);
    }
}

#[test]
fn blocks_that_are_not_typed_are_few_and_known() {
    let skipped: Vec<_> = all_blocks()
        .filter_map(|(page, block)| Some((page.to_string(), block.not_typed?)))
        .collect();
    let known: Vec<_> =
        NOT_TYPED.iter().map(|(page, why)| (page.to_string(), why.to_string())).collect();
    assert_eq!(skipped, known);
}

#[test]
fn explanations_are_few() {
    let shell = all_blocks().filter(|(_, block)| block.language == "sh");
    let count: usize = shell.map(|(_, block)| page::explanations(&block)).sum();
    assert!(count <= EXPLANATIONS_MAX, "{count} comments on lines of their own");
}

/// `cargo test --doc` runs them, if the library includes their page.
#[test]
fn every_rust_block_is_compiled_and_run() {
    let library =
        std::fs::read_to_string(repository().join("crates/cli/src/lib.rs")).expect("the library");
    for (page, block) in all_blocks().filter(|(_, block)| block.language.starts_with("rust")) {
        assert_eq!(block.language, "rust", "{page}:{}: nothing checks it", block.line);
        assert!(
            library.contains(&format!("include_str!(\"../../../{page}\")")),
            "{page}:{}",
            block.line
        );
    }
}
