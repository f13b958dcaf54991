//! The layers of the workspace: which crate may depend on which, and on what from outside.
//!
//! Dependencies of tests and examples are free. What a crate must not call (the environment, the
//! clock, the terminal) is held by clippy with `clippy.toml`; this file checks that each library
//! turns those lints on.

use toml::{Table, Value};

use super::problem::{Problem, Text};

/// A crate and the crates of the workspace that it may depend on.
struct Layer {
    /// The folder below `crates/`, or the folder itself.
    name: &'static str,
    uses: &'static [&'static str],
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Prints nothing, and is given the time and the environment.
    Library,
    /// The program.
    Program,
    /// Never part of the program.
    Development,
}

const LAYERS: [Layer; 24] = [
    Layer { name: "capsule", uses: &[], kind: Kind::Library },
    Layer { name: "index", uses: &[], kind: Kind::Library },
    Layer { name: "model", uses: &[], kind: Kind::Library },
    Layer { name: "redact", uses: &[], kind: Kind::Library },
    Layer { name: "setup", uses: &[], kind: Kind::Library },
    Layer { name: "statement", uses: &["redact"], kind: Kind::Library },
    Layer { name: "ingest", uses: &["redact"], kind: Kind::Library },
    Layer {
        name: "extract",
        uses: &["ingest", "model", "redact", "statement"],
        kind: Kind::Library,
    },
    Layer { name: "notes", uses: &[], kind: Kind::Library },
    Layer { name: "http", uses: &["model"], kind: Kind::Library },
    Layer { name: "embed", uses: &["model"], kind: Kind::Library },
    Layer {
        name: "memory",
        uses: &["capsule", "index", "model", "statement"],
        kind: Kind::Library,
    },
    Layer { name: "importers", uses: &["memory", "notes"], kind: Kind::Library },
    Layer { name: "documents", uses: &[], kind: Kind::Library },
    Layer { name: "agents", uses: &["memory", "model", "statement"], kind: Kind::Library },
    Layer { name: "roles", uses: &["agents", "memory", "model"], kind: Kind::Library },
    Layer { name: "runs", uses: &["memory", "model"], kind: Kind::Library },
    Layer {
        name: "traces",
        uses: &["agents", "extract", "ingest", "memory", "model", "notes", "redact"],
        kind: Kind::Library,
    },
    Layer {
        name: "server",
        uses: &["agents", "extract", "memory", "model", "traces"],
        kind: Kind::Library,
    },
    Layer { name: "cli", uses: EVERY_LIBRARY, kind: Kind::Program },
    Layer { name: "testkit", uses: &["capsule"], kind: Kind::Development },
    Layer { name: "recall", uses: EVERY_LIBRARY, kind: Kind::Development },
    Layer { name: "fuzz/targets", uses: EVERYTHING, kind: Kind::Development },
    Layer { name: "xtask", uses: &[], kind: Kind::Development },
];
const EVERY_LIBRARY: &[&str] = &[
    "capsule",
    "index",
    "model",
    "redact",
    "setup",
    "statement",
    "ingest",
    "extract",
    "notes",
    "http",
    "embed",
    "memory",
    "importers",
    "documents",
    "agents",
    "roles",
    "runs",
    "server",
    "traces",
];
const EVERYTHING: &[&str] = &[
    "capsule",
    "index",
    "model",
    "redact",
    "setup",
    "statement",
    "ingest",
    "extract",
    "notes",
    "http",
    "embed",
    "memory",
    "importers",
    "documents",
    "agents",
    "roles",
    "runs",
    "server",
    "traces",
    "cli",
    "testkit",
];

/// Edges between crates that are still there, and shall go.
const STILL_THERE: [&str; 0] = [];

/// A dependency from outside that only some crates may have; a trailing `*` stands for any ending.
struct Confined {
    dependency: &'static str,
    to: &'static [&'static str],
}

const CONFINED: [Confined; 26] = [
    Confined { dependency: "age", to: &["cli"] },
    Confined { dependency: "clap*", to: &["cli", "recall"] },
    Confined { dependency: "csv", to: &["documents"] },
    Confined { dependency: "encoding_rs", to: &["documents"] },
    Confined { dependency: "html5gum", to: &["documents"] },
    Confined { dependency: "ignore", to: &["cli"] },
    Confined { dependency: "indicatif", to: &["cli"] },
    Confined { dependency: "libc", to: &["capsule", "cli", "xtask"] },
    Confined { dependency: "lopdf", to: &["documents"] },
    Confined { dependency: "mail-parser", to: &["documents"] },
    Confined { dependency: "memmap2", to: &["capsule"] },
    Confined { dependency: "quick-xml", to: &["documents"] },
    Confined { dependency: "reqwest", to: &[] },
    Confined { dependency: "rmcp", to: &["server"] },
    Confined { dependency: "rpassword", to: &["cli"] },
    Confined { dependency: "rusqlite", to: &["importers", "ingest"] },
    Confined { dependency: "rustyline", to: &["cli"] },
    Confined { dependency: "safetensors", to: &["embed"] },
    Confined { dependency: "serde*", to: BUT_CAPSULE_AND_INDEX },
    Confined { dependency: "tantivy*", to: &["index"] },
    Confined { dependency: "tokio*", to: &["server"] },
    Confined { dependency: "toml", to: &["cli", "xtask"] },
    Confined { dependency: "tree-sitter*", to: &["documents"] },
    Confined { dependency: "ureq", to: &["http"] },
    Confined { dependency: "zip", to: &["documents"] },
    Confined { dependency: "zstd", to: &["capsule", "ingest", "fuzz/targets"] },
];
const BUT_CAPSULE_AND_INDEX: &[&str] = &[
    "model",
    "redact",
    "setup",
    "ingest",
    "extract",
    "notes",
    "http",
    "embed",
    "memory",
    "importers",
    "agents",
    "roles",
    "runs",
    "server",
    "traces",
    "cli",
    "testkit",
    "recall",
    "fuzz/targets",
    "xtask",
];

/// The lints that keep the terminal, the environment and the clock out of a library; `clippy.toml`
/// says which calls those are.
const LIBRARY_LINTS: &str = "#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout, clippy::print_stderr)]";

/// Whatever the manifests and the roots of the crates do against the layers.
pub(super) fn problems<'a>(texts: &'a [Text], folders: &[&'a str]) -> Vec<Problem> {
    let mut edges = Edges { packages: Vec::new(), found: Vec::new(), problems: Vec::new() };
    let manifests: Vec<Manifest> = folders
        .iter()
        .filter_map(|folder| Manifest::read(texts, folder, &mut edges.problems))
        .collect();
    edges.packages = manifests
        .iter()
        .map(|manifest| (manifest.package.clone(), manifest.layer.to_owned()))
        .collect();
    for manifest in &manifests {
        edges.check(manifest);
    }
    let mut problems = edges.stale();
    problems.extend(manifests.iter().filter_map(|manifest| root(manifest.layer, texts)).flatten());
    problems
}

/// The manifest of a package.
struct Manifest<'a> {
    text: &'a Text,
    /// Its name in `LAYERS`.
    layer: &'a str,
    package: String,
    dependencies: Vec<String>,
}

impl<'a> Manifest<'a> {
    fn read(texts: &'a [Text], folder: &'a str, problems: &mut Vec<Problem>) -> Option<Self> {
        let name = format!("{folder}/Cargo.toml");
        let text = texts.iter().find(|text| text.name == name)?;
        let table: Table = match text.content.parse() {
            Ok(table) => table,
            Err(error) => {
                problems.push(Problem::new(&name, 1, error.to_string()));
                return None;
            }
        };
        let package =
            table.get("package").and_then(|package| package.get("name")).and_then(Value::as_str);
        let package = package.unwrap_or_default().to_owned();
        let layer = folder.strip_prefix("crates/").unwrap_or(folder);
        Some(Self { text, layer, package, dependencies: dependencies(&table) })
    }

    fn line_of(&self, dependency: &str) -> usize {
        let lines = self.text.content.lines();
        lines.into_iter().position(|line| line.starts_with(dependency)).map_or(1, |at| at + 1)
    }
}

/// The packages that end up in the crate or its build script.
fn dependencies(manifest: &Table) -> Vec<String> {
    let mut tables = vec![manifest];
    let targets = manifest.get("target").and_then(Value::as_table);
    tables.extend(
        targets.into_iter().flat_map(|targets| targets.values().filter_map(Value::as_table)),
    );
    let mut found = Vec::new();
    for table in tables {
        for kind in ["dependencies", "build-dependencies"] {
            let entries = table.get(kind).and_then(Value::as_table);
            found.extend(entries.into_iter().flatten().map(|(name, value)| {
                let renamed = value.get("package").and_then(Value::as_str);
                renamed.unwrap_or(name).to_owned()
            }));
        }
    }
    found
}

/// Compares dependencies with the layers.
struct Edges {
    /// The packages of the workspace with their layers.
    packages: Vec<(String, String)>,
    /// Edges of `STILL_THERE` that were met.
    found: Vec<String>,
    problems: Vec<Problem>,
}

impl Edges {
    fn check(&mut self, manifest: &Manifest) {
        let Some(layer) = LAYERS.iter().find(|layer| layer.name == manifest.layer) else {
            let message = format!("{} has no row in the layers of {}", manifest.layer, file!());
            self.problems.push(Problem::new(&manifest.text.name, 1, message));
            return;
        };
        for dependency in &manifest.dependencies {
            let allowed = match self.packages.iter().find(|(package, _)| package == dependency) {
                Some((_, used)) => layer.uses.contains(&used.as_str()),
                None => is_free(layer, dependency),
            };
            let edge = format!("{} → {dependency}", layer.name);
            if !allowed && STILL_THERE.contains(&edge.as_str()) {
                self.found.push(edge);
            } else if !allowed {
                let message = format!("{} must not depend on {dependency}", layer.name);
                self.problems.push(Problem::new(
                    &manifest.text.name,
                    manifest.line_of(dependency),
                    message,
                ));
            }
        }
    }

    /// All problems, with the allowances that nothing needs any more.
    fn stale(self) -> Vec<Problem> {
        let gone = STILL_THERE.iter().filter(|edge| !self.found.iter().any(|found| found == *edge));
        let gone = gone.map(|edge| {
            Problem::new(file!(), 1, format!("{edge} is gone: remove it from STILL_THERE"))
        });
        gone.chain(self.problems).collect()
    }
}

fn is_free(layer: &Layer, dependency: &str) -> bool {
    let matches = |rule: &Confined| match rule.dependency.strip_suffix('*') {
        Some(start) => dependency.starts_with(start),
        None => rule.dependency == dependency,
    };
    CONFINED.iter().find(|rule| matches(rule)).is_none_or(|rule| rule.to.contains(&layer.name))
}

/// Whether the root turns the lints on, however the attribute is broken into lines.
fn has_library_lints(content: &str) -> bool {
    let bare = |text: &str| text.replace(char::is_whitespace, "").replace(",)]", ")]");
    bare(content).contains(&bare(LIBRARY_LINTS))
}

/// What the root of a library must say: what it does not know, and the lints that hold it to that.
fn root(name: &str, texts: &[Text]) -> Option<Vec<Problem>> {
    let layer = LAYERS.iter().find(|layer| layer.name == name && name != "xtask")?;
    let text = texts.iter().find(|text| text.name.ends_with(&format!("{name}/src/lib.rs")))?;
    let mut problems = Vec::new();
    if layer.kind != Kind::Development && !says_what_it_forbids(&text.content) {
        let message = "the first paragraph must say what the crate forbids (\"Knows nothing of …\", \"Forbids …\")";
        problems.push(Problem::new(&text.name, 1, message));
    }
    if layer.kind == Kind::Library && !has_library_lints(&text.content) {
        problems.push(Problem::new(
            &text.name,
            1,
            format!("a library turns these lints on: {LIBRARY_LINTS}"),
        ));
    }
    Some(problems)
}

fn says_what_it_forbids(root: &str) -> bool {
    let comment = root
        .lines()
        .take_while(|line| line.strip_prefix("//!").is_some_and(|rest| !rest.trim().is_empty()));
    let paragraph = comment
        .map(|line| line.trim_start_matches("//!").trim())
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase();
    ["knows no", "forbids"].iter().any(|words| paragraph.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(manifests: &[(&str, &str)], expected: &[&str]) {
        let manifests: Vec<Text> = manifests
            .iter()
            .map(|(folder, dependencies)| {
                let package = folder.strip_prefix("crates/").unwrap_or(folder);
                let manifest = format!("[package]\nname = \"kapsa-{package}\"\n{dependencies}");
                Text::new(&format!("{folder}/Cargo.toml"), &manifest)
            })
            .collect();
        let folders: Vec<&str> =
            manifests.iter().filter_map(|text| text.name.strip_suffix("/Cargo.toml")).collect();
        let found = problems(&manifests, &folders);
        let found: Vec<String> = found
            .iter()
            .map(Problem::to_string)
            .filter(|line| !line.starts_with("xtask"))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn upward_edges_fire() {
        let memory =
            ("crates/memory", "[dependencies]\nkapsa-capsule = { path = \"../capsule\" }\n");
        check(&[memory, ("crates/capsule", "")], &[]);
        let capsule = (
            "crates/capsule",
            "[target.'cfg(unix)'.dependencies]\nkapsa-memory.workspace = true\n",
        );
        let problem = "crates/capsule/Cargo.toml:4: capsule must not depend on kapsa-memory";
        check(&[("crates/memory", ""), capsule], &[problem]);
    }

    #[test]
    fn dependencies_of_tests_are_free() {
        check(&[("crates/capsule", "[dev-dependencies]\nserde = \"1\"\ntantivy = \"0.2\"\n")], &[]);
    }

    #[test]
    fn confined_dependencies_fire() {
        check(&[("crates/index", "[dependencies]\ntantivy-fst = \"1\"\nbytes = \"1\"\n")], &[]);
        check(
            &[("crates/agents", "[dependencies]\nweb = { package = \"reqwest\" }\n")],
            &["crates/agents/Cargo.toml:1: agents must not depend on reqwest"],
        );
        check(
            &[("crates/runs", "[build-dependencies]\ntantivy-fst = \"1\"\n")],
            &["crates/runs/Cargo.toml:4: runs must not depend on tantivy-fst"],
        );
    }

    #[test]
    fn a_crate_without_a_row_fires() {
        let found = problems(
            &[Text::new("crates/new/Cargo.toml", "[package]\nname = \"new\"\n")],
            &["crates/new"],
        );
        assert!(
            found.iter().any(|problem| problem.message.starts_with("new has no row")),
            "{found:?}"
        );
    }

    #[test]
    fn a_library_says_what_it_forbids() {
        let check = |root: &str| {
            let manifest =
                Text::new("crates/index/Cargo.toml", "[package]\nname = \"kapsa-index\"\n");
            let texts = [manifest, Text::new("crates/index/src/lib.rs", root)];
            problems(&texts, &["crates/index"])
                .iter()
                .filter(|problem| problem.file.ends_with("lib.rs"))
                .count()
        };
        assert_eq!(
            check(&format!("//! Searches. Knows\n//! nothing of files.\n{LIBRARY_LINTS}")),
            0
        );
        assert_eq!(
            check(&format!("//! Searches.\n//!\n//! Knows nothing of files.\n{LIBRARY_LINTS}")),
            1
        );
        assert_eq!(check("//! Searches.\n"), 2);
    }
}
